//! What calls leave empty: after `vec_free(&v)`, where the function ends with `v->items = NULL`, the
//! variable `v` owns nothing.
//!
//! For each function with a body in the file: the fields of what its pointer parameters lead to that
//! are null whenever it returns. The caller's variable is lent to the call exclusively, so what is
//! null at the return is null after the call. And the fields of what it returns, or of what the owned
//! pointer that it returns leads to: after `n = node_new(v)`, `n->next = head;` overwrites nothing.
//!
//! Lattice: the set of places that hold null: parts of a parameter's target, and variables. Join:
//! intersection. A store of null, `free` of what a field holds (it is null then), a test that finds
//! null, and a call that empties, in turn, add to the set; a store of what owns takes out what it may
//! reach, by types, and so does a call of a function that may store such. Functions that call each
//! other are looked at again until nothing is found any more; what is not known empties nothing.
//!
//! Needs: bodies as written. Guarantees: only leaks are judged by it, and tests of null.

use mir::cfg::Cfg;
use mir::ir::*;
use mir::resolve::Resolver;
use mir::ty::{operand_ty, owns, place_ty};
use rustc_hash::FxHashMap;
use typing::tree::FuncId;
use typing::types::{Bounds, Own, RecordKind, Ty};

use crate::framework::{solve, Analysis, Direction, Edge, Item, Point};
use crate::leaf::{is_harmless, Leaves};
use crate::ownership::is_null;

/// Functions are looked at at most so often: calls that are nested deeper are not followed.
const ROUNDS: u32 = 4;
/// Structs are nested at most so deep.
const DEPTH: u32 = 8;

/// What a function leaves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Summary {
    /// Numbers of parameters, and fields below their targets that are null at the end.
    empty: Vec<(usize, Vec<Proj>)>,
    /// Steps from the result to what is null at the end.
    returned: Vec<Vec<Proj>>,
    /// It stores nothing that owns but null.
    fills_nothing: bool,
}

/// What the functions of a program leave empty.
#[derive(Debug, Default)]
pub(crate) struct Emptied {
    functions: FxHashMap<FuncId, Summary>,
}

impl Emptied {
    /// Looks at all bodies as written.
    pub fn new(program: &Program, leaves: &Leaves) -> Emptied {
        let mut emptied = Emptied::default();
        let may_matter = |body: &&Body| {
            let function = program.functions.get(body.func.func.0 as usize);
            !body.unchecked && function.is_some_and(|f| !f.is_replaceable())
        };
        let bodies: Vec<&Body> = program.bodies.iter().filter(may_matter).collect();
        if bodies.iter().all(|body| followed_params(program, body).is_empty() && !returns_owner(program, body)) {
            return emptied;
        }
        for _ in 0..ROUNDS {
            let mut changed = false;
            for body in &bodies {
                let summary = Function::new(program, leaves, &emptied, body).summary();
                let known = emptied.functions.entry(body.func.func).or_default();
                changed |= *known != summary;
                *known = summary;
            }
            if !changed {
                break;
            }
        }
        emptied
    }

    /// The places that the call leaves empty; `resolver` is that of the body that calls.
    pub fn by_call(&self, callee: &Callee, dest: Option<&Place>, args: &[Operand], resolver: &Resolver) -> Vec<Place> {
        let Some(summary) = self.summary(callee) else { return vec![] };
        let returned = summary.returned.iter().filter_map(|way| {
            let mut place = dest.filter(|dest| dest.as_local().is_some())?.clone();
            place.proj.extend(way.iter().cloned());
            Some(place)
        });
        let place = |(n, way): &(usize, Vec<Proj>)| {
            let mut place = target(resolver, args.get(*n)?)?;
            place.proj.extend(way.iter().cloned());
            Some(place)
        };
        summary.empty.iter().filter_map(place).chain(returned).collect()
    }

    fn summary(&self, callee: &Callee) -> Option<&Summary> {
        match callee {
            Callee::Direct(function) => self.functions.get(&function.func),
            Callee::Pointer(_) | Callee::Builtin(_) | Callee::Start(_) | Callee::Spawn(..) => None,
        }
    }
}

/// What the argument leads to.
fn target(resolver: &Resolver, arg: &Operand) -> Option<Place> {
    Some(resolver.place(&arg.place()?.then(Proj::Deref)))
}

/// One function.
struct Function<'a> {
    program: &'a Program,
    leaves: &'a Leaves,
    emptied: &'a Emptied,
    body: &'a Body,
    resolver: Resolver,
    /// `followed_params`.
    params: Vec<Local>,
    /// Variables that own one struct.
    owners: Vec<Local>,
}

/// Whether the function returns something owned that has parts.
fn returns_owner(program: &Program, body: &Body) -> bool {
    let function = program.functions.get(body.func.func.0 as usize);
    let ty = function.and_then(|f| program.types.as_func(f.ty)).map(|f| f.ret);
    ty.is_some_and(|ty| parts_of(program, ty).is_some())
}

/// The struct that owns something and is a value of the type, or what its owned pointer leads to.
fn parts_of(program: &Program, ty: Ty) -> Option<Ty> {
    let types = &program.types;
    let of = match types.as_pointer(ty) {
        Some(p) => (p.own == Own::Unique && p.bounds == Bounds::Thin).then_some(p.target.ty)?,
        None => ty,
    };
    let record = types.as_record(of).filter(|record| types.record(*record).kind == RecordKind::Struct);
    record.filter(|_| owns(types, of)).map(|_| of)
}

/// Variables that own one struct which owns something.
fn owners(program: &Program, body: &Body) -> Vec<Local> {
    let is_owner = |decl: &LocalDecl| {
        let types = &program.types;
        let target = types.as_pointer(decl.ty.ty).filter(|p| p.own == Own::Unique).map(|p| p.target.ty);
        target.is_some_and(|of| parts_of(program, of).is_some() && !decl.address_taken)
    };
    let locals = body.locals.iter().zip(0..).filter(|(_, n)| *n >= body.params);
    locals.filter(|(decl, _)| is_owner(decl)).map(|(_, n)| Local(n)).collect()
}

/// Parameters that are never assigned, and point to structs that own something.
fn followed_params(program: &Program, body: &Body) -> Vec<Local> {
    let assigned = |local: Local| {
        let mut stmts = body.blocks.iter().flat_map(|block| &block.stmts);
        stmts.any(|stmt| stmt.kind.assigned_to(local).is_some())
    };
    let leads = |local: &Local| {
        let Some(decl) = body.locals.get(local.0 as usize) else { return false };
        let pointer = program.types.as_pointer(decl.ty.ty);
        let followed = |ty: Ty| program.types.as_record(ty).is_some() || program.types.as_pointer(ty).is_some();
        let target = pointer.filter(|p| p.own == Own::Shared && followed(p.target.ty));
        target.is_some_and(|p| owns(&program.types, p.target.ty)) && !decl.address_taken && !assigned(*local)
    };
    (0..body.params).map(Local).filter(leads).collect()
}

impl<'a> Function<'a> {
    fn new(program: &'a Program, leaves: &'a Leaves, emptied: &'a Emptied, body: &'a Body) -> Function<'a> {
        let params = followed_params(program, body);
        let owners = if returns_owner(program, body) { owners(program, body) } else { vec![] };
        Function { program, leaves, emptied, owners, body, resolver: Resolver::new(body), params }
    }

    fn summary(&self) -> Summary {
        let stmts = self.body.blocks.iter().flat_map(|block| &block.stmts);
        let fills_nothing = stmts.into_iter().all(|stmt| self.fills(stmt).is_none());
        let mut empty: Option<Vec<Place>> = None;
        let mut returned: Option<Vec<Place>> = None;
        let returns = returns_owner(self.program, self.body);
        if !self.params.is_empty() || returns {
            let also = |known: &mut Option<Vec<Place>>, state: &[Place]| match known {
                Some(all) => *all = both(all, state),
                None => *known = Some(state.to_vec()),
            };
            let results = solve(self, self.body, &Cfg::new(self.body));
            results.visit(self, self.body, &mut |_, state, item| {
                let Item::Term(term) = item else { return };
                if term.kind.leaves() {
                    also(&mut empty, state);
                    if let Some(parts) = self.returned(state, term).filter(|_| returns) {
                        also(&mut returned, &parts);
                    }
                }
            });
        }
        let empty = empty.unwrap_or_default();
        let mut found = vec![];
        for &local in &self.params {
            let target = Place::local(local).then(Proj::Deref);
            if let Ok(q) = place_ty(self.program, self.body, &target) {
                self.collect(&empty, &target, q.ty, DEPTH, &mut found);
            }
        }
        let way = |place: Place| Some((place.base_local()?.0 as usize, place.proj.get(1..)?.to_vec()));
        let returned = returned.unwrap_or_default().into_iter().map(|place| place.proj).collect();
        Summary { empty: found.into_iter().filter_map(way).collect(), returned, fills_nothing }
    }

    /// What is empty of the value that is returned, as parts of local 0; `None` if that is null.
    fn returned(&self, state: &[Place], term: &Terminator) -> Option<Vec<Place>> {
        let Some(operand) = term.kind.returned() else { return Some(vec![]) };
        if is_null(operand) {
            return None;
        }
        let Some(local) = operand.place().and_then(Place::as_local) else { return Some(vec![]) };
        let value = Place::local(local);
        let ty = place_ty(self.program, self.body, &value).map(|q| q.ty);
        let parts = ty.ok().and_then(|ty| Some((parts_of(self.program, ty)?, self.program.types.as_pointer(ty))));
        let Some((of, pointer)) = parts else { return Some(vec![]) };
        let start = match pointer {
            Some(_) if covers(state, &value) => return None,
            Some(_) => value.then(Proj::Deref),
            None => value,
        };
        let mut found = vec![];
        self.collect(state, &start, of, DEPTH, &mut found);
        let at_result = |place: Place| Place { base: PlaceBase::Local(Local(0)), proj: place.proj };
        Some(found.into_iter().map(at_result).collect())
    }

    /// Finds the parts of a place that are empty, whole structs as one; whether all of it is.
    fn collect(&self, empty: &[Place], place: &Place, ty: Ty, depth: u32, found: &mut Vec<Place>) -> bool {
        let types = &self.program.types;
        if !owns(types, ty) {
            return true;
        }
        if covers(empty, place) {
            found.push(place.clone());
            return true;
        }
        let record = types.as_record(ty).map(|record| types.record(record)).filter(|r| r.kind == RecordKind::Struct);
        let Some(fields) = record.and_then(|record| record.fields.as_ref()).filter(|_| depth > 0) else { return false };
        let before = found.len();
        let mut all = true;
        for (n, field) in fields.iter().enumerate() {
            let part = place.clone().then(Proj::Field(n as u32));
            all &= self.collect(empty, &part, field.ty.ty, depth - 1, found);
        }
        if all {
            found.truncate(before);
            found.push(place.clone());
        }
        all
    }

    /// Whether all that the place owns is null.
    fn is_empty(&self, state: &[Place], place: &Place) -> bool {
        let whole = |ty: Ty| self.program.types.as_record(ty).is_some() && owns(&self.program.types, ty);
        let all = |ty: Ty| whole(ty) && self.collect(state, place, ty, DEPTH, &mut vec![]);
        covers(state, place) || place_ty(self.program, self.body, place).is_ok_and(|q| all(q.ty))
    }

    /// Whether the place is one of which it is known whether it is null: part of a parameter's
    /// target, or of a variable.
    fn is_followed(&self, place: &Place) -> bool {
        let Some(local) = place.base_local() else { return false };
        let through = place.proj.first() == Some(&Proj::Deref);
        let plain = place.proj.iter().skip(usize::from(through)).all(Proj::is_field);
        let decl = self.body.locals.get(local.0 as usize);
        plain
            && match through {
                true => self.params.contains(&local) || self.owners.contains(&local),
                false => decl.is_some_and(|d| !d.address_taken),
            }
    }

    /// Where the statement may store something that owns, and is not null.
    fn fills(&self, stmt: &Stmt) -> Option<Filled> {
        if stmt.is_unsafe {
            return Some(Filled::Anything);
        }
        let stored = |place: &Place| {
            let in_variable = place
                .local_part()
                .is_some_and(|l| self.body.locals.get(l.0 as usize).is_some_and(|decl| !decl.address_taken));
            match place_ty(self.program, self.body, place) {
                Ok(q) if !owns(&self.program.types, q.ty) || in_variable => None,
                Ok(_) | Err(_) => Some(Filled::Place(place.clone())),
            }
        };
        let kind = &stmt.kind;
        if let Some((dest, value)) = kind.as_assign() {
            return stored(dest).filter(|_| !value.as_use().is_some_and(is_null));
        }
        if let Some(call) = kind.as_call() {
            let Call { dest, callee, args, .. } = call;
            if let Some(dest) = dest.as_ref().and_then(stored) {
                return Some(dest);
            }
            let known = self.emptied.summary(callee).is_some_and(|summary| summary.fills_nothing);
            let leads = |arg: &Operand| {
                let ty = operand_ty(self.program, self.body, arg);
                arg.place().is_some() && ty.map_or(true, |ty| self.program.types.has_pointers(ty))
            };
            // C functions store nothing that owns where they are given nothing that owns.
            let harmless =
                |arg: &Operand| operand_ty(self.program, self.body, arg).is_ok_and(|ty| is_harmless(self.program, ty));
            let is_c = callee.is_trusted(self.program) && args.iter().all(harmless);
            if known || is_c || self.leaves.is_leaf(self.program, self.body, &call) {
                return None;
            }
            // It reaches what it is given, and of what is lent exclusively nothing else.
            let followed = |arg| target(&self.resolver, arg).filter(|place| self.is_followed(place));
            let given: Option<Vec<Place>> = args.iter().filter(|arg| leads(arg)).map(followed).collect();
            return given.map_or(Some(Filled::Anything), |all| (!all.is_empty()).then_some(Filled::Below(all)));
        }
        if let Some((a, b)) = kind.as_swap() {
            return stored(a).or(stored(b)).map(|_| Filled::Anything);
        }
        match kind.action() {
            // An exchange aside, what owners hold is released.
            Action::None | Action::Check | Action::Storage | Action::Fill | Action::Owner => None,
            Action::Assign
            | Action::Call
            | Action::Assembly
            | Action::Copy
            | Action::Arguments
            | Action::Region
            | Action::Send
            | Action::Channel => Some(Filled::Anything),
        }
    }

    /// Part of what is empty gets something: the rest is named by its fields.
    fn split(&self, state: &mut Vec<Place>, part: &Place) {
        let is_whole = |place: &Place| place.base == part.base && part.proj.len() > place.proj.len();
        while let Some(n) = state.iter().position(|p| is_whole(p) && part.proj.starts_with(&p.proj)) {
            let whole = state.swap_remove(n);
            let record =
                place_ty(self.program, self.body, &whole).ok().and_then(|q| self.program.types.as_record(q.ty));
            let record =
                record.map(|record| self.program.types.record(record)).filter(|r| r.kind == RecordKind::Struct);
            let fields = record.and_then(|r| r.fields.as_ref()).map_or(0, |fields| fields.len() as u32);
            state.extend((0..fields).map(|field| whole.then(Proj::Field(field))).filter(|place| place != part));
        }
    }

    fn insert(&self, state: &mut Vec<Place>, place: &Place) {
        if self.is_followed(place) && !covers(state, place) {
            state.push(place.clone());
        }
    }
}

/// Whether the place is null because it, or what it is part of, is in the set.
fn covers(set: &[Place], place: &Place) -> bool {
    set.iter().any(|whole| whole.base == place.base && place.proj.starts_with(&whole.proj))
}

/// The places that are null by both sets.
fn both(a: &[Place], b: &[Place]) -> Vec<Place> {
    let mut all: Vec<Place> = a.iter().filter(|place| covers(b, place)).cloned().collect();
    all.extend(b.iter().filter(|place| !a.contains(place) && covers(a, place)).cloned());
    all
}

/// Where something that owns may be stored.
#[derive(Debug)]
enum Filled {
    Place(Place),
    Below(Vec<Place>),
    Anything,
}

impl Analysis for Function<'_> {
    type State = Vec<Place>;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> Vec<Place> {
        vec![]
    }

    fn join(&self, into: &mut Vec<Place>, from: &Vec<Place>, _rounds: u32) -> bool {
        let joined = both(into, from);
        let changed = joined != *into;
        *into = joined;
        changed
    }

    fn statement(&self, state: &mut Vec<Place>, _at: Point, stmt: &Stmt) {
        let kind = &stmt.kind;
        let moved = kind.as_assign().and_then(|(_, value)| value.as_use()).and_then(Operand::place);
        let is_empty = moved.is_some_and(|from| self.is_empty(state, from));
        let to = kind.as_assign().and_then(|(dest, _)| dest.as_local());
        let from = kind.value().and_then(Rvalue::made_of).and_then(|(operand, way)| match way {
            Way::Same | Way::Bits | Way::Word(_) | Way::Typed | Way::Fat | Way::Counted => operand.place(),
            Way::Number | Way::Moved | Way::Retained => None,
        });
        let brought: Vec<Place> = match (from.and_then(Place::as_local), to) {
            // The next variable is empty where this one is, and so is what it points to.
            (Some(from), Some(to)) => {
                let behind = state.iter().filter(|place| place.base_local() == Some(from));
                behind.map(|place| Place { base: PlaceBase::Local(to), proj: place.proj.clone() }).collect()
            }
            (None, _) | (_, None) => vec![],
        };
        let overlap = |a: &Place, b: &Place| a.base == b.base && a.proj.iter().zip(&b.proj).all(|(a, b)| a == b);
        match self.fills(stmt) {
            Some(Filled::Anything) => state.clear(),
            Some(Filled::Below(given)) => state.retain(|other| !given.iter().any(|place| overlap(place, other))),
            Some(Filled::Place(place)) => {
                self.split(state, &place);
                let owner = place.base_local().filter(|local| self.owners.contains(local));
                // Another field of the same object is elsewhere.
                let differs = |other: &Place| {
                    let first = other.proj.iter().zip(&place.proj).find(|(a, b)| a != b);
                    other.base == place.base && first.is_some_and(|(a, b)| a.is_field() && b.is_field())
                };
                let apart = |other: &Place| owner.is_some() && other.base != place.base;
                state.retain(|other| !other.has_deref() || apart(other) || differs(other));
            }
            None => {}
        }
        // A variable gets something else.
        mir::effects::accesses(&stmt.kind, &mut |place, kind, _| {
            // A check leaves its operands as they are.
            if crate::moved::changes(kind) && stmt.kind.as_check().is_none() {
                let owner = place.as_local().filter(|local| self.owners.contains(local));
                let below = |other: &Place| owner.is_some() && other.base_local() == owner;
                if !place.has_deref() {
                    self.split(state, place);
                }
                state.retain(|other| !below(other) && (other.has_deref() || !overlap(place, other)));
            }
        });
        if let Some((dest, value)) = kind.as_assign() {
            if is_empty || value.as_use().is_some_and(is_null) {
                self.insert(state, dest);
            }
            if value.as_alloc().is_some() && dest.as_local().is_some() {
                self.insert(state, &dest.then(Proj::Deref));
            }
            brought.into_iter().for_each(|place| self.insert(state, &place));
        } else if let Some(place) = kind.as_zero() {
            self.insert(state, place);
        } else if let Some(disposal) = kind.as_dispose().filter(|d| d.handle.is_none()) {
            let Operand::Move(place) = disposal.value else { return };
            if place.has_deref() {
                self.insert(state, place);
            }
        } else if let Some(call) = kind.as_call() {
            for place in self.emptied.by_call(call.callee, call.dest.as_ref(), call.args, &self.resolver) {
                self.insert(state, &place);
            }
        }
    }

    fn edge(&self, state: &mut Vec<Place>, from: BlockId, _to: BlockId, edge: Edge) -> bool {
        let Edge::Branch(operand, holds) = edge else { return true };
        let Some((place, not_null)) = crate::moved::tested_pointer(self.program, self.body, from, operand) else {
            return true;
        };
        if not_null != holds {
            // There is nothing that a null parameter leads to.
            let is_param = place.as_local().is_some_and(|local| self.params.contains(&local));
            self.insert(state, &if is_param { place.then(Proj::Deref) } else { place });
        }
        true
    }
}
