//! The model of memory.

use mir::ir::{Local, Place};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use typing::types::Ty;

/// Something that can end.
pub(crate) type Token = u32;

/// What a pointer may be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Null {
    Yes,
    No,
    Unknown,
}

/// How many pointers away from a local objects are still distinguished where paths meet. What is
/// further away is like any other object of its type: without that limit, a loop that makes a list
/// would never return to a state that it was in.
const FAR: u8 = 4;

/// The step to the tag of a tagged union, which has no field of its own.
pub(crate) const TAG: u32 = u32::MAX;

/// A statement that lends: block, number.
pub(crate) type Loan = (u32, u32);

/// A value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Value {
    /// The object whose owner it is.
    pub owned: Option<Token>,
    /// The object whose first byte it points at, if that is known.
    pub points: Option<Token>,
    /// Tokens that must be alive when it is followed.
    pub needs: BTreeSet<Token>,
    /// Regions that must be live when it is followed.
    pub regions: BTreeSet<u32>,
    /// What was lent for it.
    pub loans: BTreeSet<Loan>,
    /// Null or not.
    pub null: Null,
    /// It was moved out.
    pub gone: bool,
    /// An integer that is not zero iff what the place holds is not null (or null).
    pub test: Option<(Cell, bool)>,
    /// The number that it is: of what selects the member of a union, and of temporaries on the way
    /// from there to a branch.
    pub number: Option<i128>,
    /// Numbers that it is not, as tests on the way said.
    pub not: BTreeSet<i128>,
    /// It is the number in a cell, the tag of unions in a record of this type.
    pub tag: Option<Box<(Cell, Ty)>>,
    /// If it is true (or not), the number in that cell is not this one.
    pub not_if: Option<Box<(Cell, Ty, i128, bool)>>,
}

impl Value {
    /// A value of which nothing is known.
    pub fn unknown() -> Value {
        Value {
            owned: None,
            points: None,
            needs: BTreeSet::new(),
            regions: BTreeSet::new(),
            loans: BTreeSet::new(),
            null: Null::Unknown,
            gone: false,
            test: None,
            number: None,
            not: BTreeSet::new(),
            tag: None,
            not_if: None,
        }
    }
    /// Null, or zero.
    pub fn null() -> Value {
        Value { null: Null::Yes, ..Value::unknown() }
    }
    /// What a moved-out place holds.
    pub fn gone() -> Value {
        Value { gone: true, ..Value::unknown() }
    }
    /// What says something about the number in a cell does so no more.
    pub fn forget_tag(&mut self) {
        self.tag = None;
        self.not_if = None;
    }
    /// The same pointer, without the ownership.
    pub fn without_ownership(&self) -> Value {
        Value { owned: None, gone: false, ..self.clone() }
    }
}

/// Where a cell is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Base {
    Local(Local),
    Object(Token),
}

impl Base {
    fn object(self) -> Option<Token> {
        match self {
            Base::Object(token) => Some(token),
            Base::Local(_) => None,
        }
    }
}

/// A cell of memory that is distinguished: fields from a local or an object.
pub(crate) type Cell = (Base, Vec<u32>);

/// Where a place is.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    /// A cell.
    Cell(Cell),
    /// Somewhere in memory that is not distinguished, reached through a pointer (or in a global).
    Elsewhere(Value),
}

/// What is known of an object or another token.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Thing {
    pub alive: bool,
    /// All in it that is not in a cell is null.
    pub zeroed: bool,
    /// Its release is owed by who owns it.
    pub owed: bool,
    /// It belongs to the caller.
    pub lent: bool,
    /// How many objects lie on the way to it from where it was found.
    pub depth: u8,
}

/// The state of a walk.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Memory {
    pub cells: BTreeMap<Cell, Value>,
    pub things: BTreeMap<Token, Thing>,
    /// Openings in force of each region; arenas that have begun.
    pub open: BTreeMap<u32, u32>,
    /// The token of a local's storage.
    pub storage: BTreeMap<Local, Token>,
    /// Keys that are open: their places.
    pub opened: Vec<(u32, u32)>,
    pub next: Token,
    /// The `unpack`s that lend whose blocks have not ended, and their regions.
    pub unpacked: Vec<(Loan, Vec<u32>)>,
    /// Nothing was lent on the way here.
    pub no_loans: bool,
    /// Tokens of what was looked up in slots: they end where a slot may be emptied.
    pub in_slots: BTreeSet<Token>,
    /// Tokens of looks into slots: they end where other code runs.
    pub looks: BTreeSet<Token>,
}

impl Memory {
    pub fn token(&mut self, thing: Thing) -> Token {
        let token = self.next;
        self.next += 1;
        self.things.insert(token, thing);
        token
    }

    pub fn is_alive(&self, token: Token) -> bool {
        self.things.get(&token).is_none_or(|t| t.alive)
    }

    pub fn kill(&mut self, token: Token) {
        if let Some(thing) = self.things.get_mut(&token) {
            thing.alive = false;
        }
    }

    /// Others may have changed what selects the members of unions, but for those in `hidden` locals.
    pub fn forget_numbers(&mut self, hidden: &FxHashSet<Local>) {
        let others = self.cells.iter_mut().filter(|((base, _), _)| match base {
            Base::Local(local) => !hidden.contains(local),
            Base::Object(_) => true,
        });
        others.for_each(|(_, value)| {
            value.number = None;
            value.not.clear();
        });
        for value in self.cells.values_mut() {
            value.forget_tag();
        }
    }

    /// Forgets what is in the cells of an object: others may have changed it.
    pub fn forget(&mut self, object: Token) {
        if let Some(thing) = self.things.get_mut(&object) {
            thing.zeroed = false;
        }
        let inside: Vec<Cell> = self.cells_of(object).map(|(cell, _)| cell.clone()).collect();
        for cell in inside {
            if let Some(value) = self.cells.remove(&cell) {
                if let Some(token) = value.owned {
                    self.forget(token);
                }
            }
        }
    }

    fn cells_of(&self, object: Token) -> impl Iterator<Item = (&Cell, &Value)> {
        let from = (Base::Object(object), vec![]);
        self.cells.range(from..).take_while(move |((base, _), _)| *base == Base::Object(object))
    }

    /// By object: how many pointers it is away from the nearest local.
    fn distances(&self) -> BTreeMap<Token, u8> {
        let named = |value: &Value| {
            let all = value.owned.into_iter().chain(value.points).chain(value.needs.iter().copied());
            all.collect::<Vec<Token>>()
        };
        let locals = self.cells.iter().filter(|((base, _), _)| matches!(base, Base::Local(_)));
        let mut next: Vec<Token> = locals.flat_map(|(_, value)| named(value)).collect();
        let mut found: BTreeMap<Token, u8> = BTreeMap::new();
        for distance in 1..=u8::MAX {
            // Once each: two pointers to each object double the paths with each step.
            next.sort_unstable();
            next.dedup();
            next.retain(|token| !found.contains_key(token));
            if next.is_empty() {
                break;
            }
            found.extend(next.iter().map(|&token| (token, distance)));
            next = next.iter().flat_map(|&t| self.cells_of(t)).flat_map(|(_, value)| named(value)).collect();
        }
        found
    }

    /// Forgets what is in objects that are far from every local, if nothing near is below them and
    /// nothing in them is missing.
    fn forget_far(&mut self) {
        let distances = self.distances();
        let far = |token: &Token| distances.get(token).is_none_or(|&d| d >= FAR);
        for &object in distances.iter().filter(|(_, &d)| d == FAR).map(|(token, _)| token) {
            let mut below = vec![object];
            let mut at = 0;
            let mut is_like_others = true;
            while let Some(&token) = below.get(at) {
                at += 1;
                for (_, value) in self.cells_of(token) {
                    is_like_others &= !value.gone;
                    if let Some(owned) = value.owned.filter(|t| !below.contains(t)) {
                        is_like_others &= far(&owned);
                        below.push(owned);
                    }
                }
            }
            if is_like_others {
                self.forget(object);
            }
        }
    }

    /// Tokens of slots and looks, and those that have ended, that nothing but the needs of values
    /// names, with the first that each is like: they end together, so one says what all say. A loop
    /// that walks a list in a slot makes one more each time, and would never return to a state that
    /// it was in.
    fn alike(&self) -> BTreeMap<Token, Token> {
        let mut named: BTreeSet<Token> = self.storage.values().copied().collect();
        for ((base, _), value) in &self.cells {
            let tested = value.test.as_ref().map(|((base, _), _)| *base);
            named.extend([Some(*base), tested].into_iter().flatten().filter_map(Base::object));
            named.extend(value.owned.into_iter().chain(value.points));
        }
        let mut first: BTreeMap<(&Thing, bool, bool), Token> = BTreeMap::new();
        let mut alike = BTreeMap::new();
        for (&token, thing) in self.things.iter().filter(|(token, _)| !named.contains(token)) {
            let (in_slot, is_look) = (self.in_slots.contains(&token), self.looks.contains(&token));
            if in_slot || is_look || !thing.alive {
                alike.insert(token, *first.entry((thing, in_slot, is_look)).or_insert(token));
            }
        }
        alike
    }

    /// The state with what can be reached, tokens renumbered, so that equal situations are equal
    /// states.
    pub fn canonical(mut self) -> Memory {
        self.forget_far();
        let mut names: BTreeMap<Token, Token> = BTreeMap::new();
        let mut out = Memory {
            open: self.open.clone(),
            opened: self.opened.clone(),
            unpacked: self.unpacked.clone(),
            no_loans: self.no_loans,
            ..Memory::default()
        };
        let mut order: Vec<Token> = vec![];
        let alike = self.alike();
        let name = |token: Token, names: &mut BTreeMap<Token, Token>, order: &mut Vec<Token>| {
            let token = alike.get(&token).copied().unwrap_or(token);
            *names.entry(token).or_insert_with(|| {
                order.push(token);
                (order.len() - 1) as Token
            })
        };
        let renamed = |value: &Value, names: &mut BTreeMap<Token, Token>, order: &mut Vec<Token>| {
            let mut new = value.clone();
            new.owned = value.owned.map(|t| name(t, names, order));
            new.points = value.points.map(|t| name(t, names, order));
            new.needs = value.needs.iter().map(|&t| name(t, names, order)).collect();
            new.test = value.test.as_ref().map(|((base, path), same)| {
                let base = match base {
                    Base::Object(t) => Base::Object(name(*t, names, order)),
                    local => *local,
                };
                ((base, path.clone()), *same)
            });
            new
        };
        for ((base, path), value) in self.cells.iter().filter(|((b, _), _)| matches!(b, Base::Local(_))) {
            let mut value = renamed(value, &mut names, &mut order);
            if path.is_empty() {
                value.number = None;
                value.not.clear();
            }
            value.forget_tag();
            out.cells.insert((*base, path.clone()), value);
        }
        let mut done = 0;
        while let Some(&token) = order.get(done) {
            let n = done as Token;
            done += 1;
            for ((_, path), value) in self.cells_of(token) {
                let mut value = renamed(value, &mut names, &mut order);
                value.forget_tag();
                out.cells.insert((Base::Object(n), path.clone()), value);
            }
        }
        for (local, token) in &self.storage {
            if let Some(&n) = names.get(token) {
                out.storage.insert(*local, n);
            }
        }
        for (token, n) in &names {
            if let Some(thing) = self.things.get(token) {
                out.things.insert(*n, thing.clone());
            }
        }
        out.in_slots = self.in_slots.iter().filter_map(|t| names.get(t).copied()).collect();
        out.looks = self.looks.iter().filter_map(|t| names.get(t).copied()).collect();
        out.next = names.len() as Token;
        out
    }
}

/// The fields of a place without pointers and indices.
pub(crate) fn plain_path(place: &Place) -> Option<Vec<u32>> {
    place.proj.iter().map(mir::ir::Proj::as_field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_that_differ_in_how_many_slots_were_passed_are_one() {
        let alive = Thing { alive: true, zeroed: false, owed: false, lent: false, depth: 0 };
        let passed = |slots: usize, owned: bool| {
            let mut memory = Memory::default();
            let tokens: Vec<Token> = (0..slots).map(|_| memory.token(alive.clone())).collect();
            memory.in_slots.extend(tokens.iter().copied());
            let owned = tokens.first().copied().filter(|_| owned);
            let value = Value { owned, needs: tokens.into_iter().collect(), ..Value::unknown() };
            memory.cells.insert((Base::Local(Local(0)), vec![]), value);
            memory.canonical()
        };
        assert_eq!(passed(1, false), passed(7, false));
        assert_ne!(passed(0, false), passed(1, false));
        assert_ne!(passed(1, true), passed(2, true));
    }

    #[test]
    fn objects_are_visited_once_however_many_paths_lead_there() {
        let mut memory = Memory::default();
        let alive = Thing { alive: true, zeroed: false, owed: false, lent: false, depth: 0 };
        let tokens: Vec<Token> = (0..60).map(|_| memory.token(alive.clone())).collect();
        let to = |token: Token| Value { points: Some(token), ..Value::unknown() };
        memory.cells.insert((Base::Local(Local(0)), vec![]), to(tokens[0]));
        for pair in tokens.windows(2) {
            // Two pointers to the next: 2^59 paths lead to the last.
            memory.cells.insert((Base::Object(pair[0]), vec![0]), to(pair[1]));
            memory.cells.insert((Base::Object(pair[0]), vec![1]), to(pair[1]));
        }
        assert_eq!(memory.distances().get(&tokens[59]), Some(&60));
    }
}
