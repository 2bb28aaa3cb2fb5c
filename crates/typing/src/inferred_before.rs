//! What inference found in a body when the unit was checked before.
//!
//! What is learnt of one function may change the types of others, so a unit is checked again until
//! nothing more is learnt ([`crate::checker::check`]). Most of what is learnt touches few bodies. A
//! body that names no function of which something else is known now would go through the same
//! rounds of inference to the same end: so that end is kept, and only the walk that reports is made
//! again.
//!
//! A body depends on the other functions of the unit by their names alone, all of which stand in
//! its text; on what is known of those ([`Facts`]); and on declarations, which are the same in each
//! pass. They could differ where one takes its type or its size from a function (`typeof`,
//! `sizeof`): a unit that has such a one at file scope keeps nothing.

use crate::checker::Checker;
use crate::function::Learned;
use crate::param_bounds::Need;
use crate::read_only::{Learnt, Parameter};
use crate::results::Points;
use crate::scope::Entity;
use crate::types::Bounds;
use rustc_hash::{FxHashMap, FxHashSet};
use source::{Span, Symbol};
use std::rc::Rc;
use syntax::ast;

/// Parameters with larger numbers have no bit in [`Facts`].
const MOST_PARAMETERS: u32 = 64;

/// What is known of a function besides its declaration. Parameters are bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub views: u64,
    pub read_only: u64,
    pub refused: u64,
    pub addressed: bool,
    /// What parameters need, as was learnt or was found in this pass.
    pub needs: Vec<(u32, Need)>,
    pub needs_found: Vec<(u32, Need)>,
    pub needs_refused: u64,
    pub into: Option<u32>,
    pub into_found: Option<Points>,
    pub result_refused: bool,
    pub result_wanted: bool,
    pub returned: Vec<u32>,
}

impl Facts {
    /// The bit of a parameter.
    pub fn bit(parameter: u32) -> u64 {
        if parameter < MOST_PARAMETERS {
            1 << parameter
        } else {
            0
        }
    }
}

/// On what the inference in a body depended.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Depends {
    facts: Vec<Facts>,
    /// Nothing is to be learnt any more.
    settled: bool,
    /// Whether nothing has waited yet for results, and whether something may.
    patience: (bool, bool),
}

/// What happens besides while a body is walked through without reports.
#[derive(Clone, Debug, Default)]
struct Besides {
    /// Parameters of which it was asked whether they are read-only.
    asked: FxHashSet<Parameter>,
    /// Something waits for what others find.
    postponed: bool,
    /// It matters whether results have waited, or may.
    waits: bool,
}

struct Kept<T> {
    depends: Depends,
    besides: Besides,
    found: T,
}

/// A function by its text and name: of a wrapper's text there are two.
type Body = (Span, Symbol);

/// The parameters that a body passes its views on to, if it is accepted with those.
type Accepted = Option<FxHashSet<Parameter>>;

/// What was found in the bodies of the unit.
#[derive(Default)]
pub(crate) struct Before {
    /// What earlier passes learnt, by function.
    learnt: FxHashMap<Symbol, Facts>,
    /// The functions of the unit that each body names.
    named: FxHashMap<Body, Rc<[Symbol]>>,
    bodies: FxHashMap<Body, Kept<Learned>>,
    /// Bodies that were tried with parameters as views.
    views: FxHashMap<(Body, Vec<usize>), Kept<Accepted>>,
    /// Declarations may depend on what is learnt.
    is_open: bool,
    /// Statements that were walked through.
    pub walked: u64,
}

impl Before {
    /// `learnt`: what the pass that begins knows.
    pub fn begin(&mut self, learnt: &Learnt) {
        self.learnt = learnt.by_function();
    }
}

impl Checker<'_> {
    /// Finds whether declarations at file scope may take types or sizes from functions of the unit.
    pub(crate) fn find_open_declarations(&mut self, items: &[ast::Item]) {
        let is_open = |item: &ast::Item| {
            let declaration = match &item.kind {
                _ if item.origin == ast::Origin::Foreign => return false,
                ast::ItemKind::Function(def) => Span { hi: def.body.span.lo, ..item.span },
                _ => item.span,
            };
            let text = self.map.snippet(declaration);
            let takes = ["typeof", "sizeof", "alignof", "auto"].iter().any(|word| text.contains(word));
            takes && !self.functions_named(text).is_empty()
        };
        self.before.is_open = items.iter().any(is_open);
    }

    /// The functions with bodies in the unit that a text names.
    fn functions_named(&self, text: &str) -> FxHashSet<Symbol> {
        let is_word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
        let words = text.as_bytes().split(|c| !is_word(c)).filter(|word| !word.is_empty());
        words.filter_map(|word| self.body_names.get(word)).flatten().copied().collect()
    }

    /// What is inferred of the body, or was before if all that it depends on is as it was.
    pub(crate) fn inferred_once(&mut self, body: Body, infer: impl FnOnce(&mut Self) -> Learned) -> Learned {
        let depends = self.depends(body);
        let kept = self.before.bodies.get(&body);
        if let Some(kept) = kept.filter(|kept| depends.as_ref().is_some_and(|now| kept.stands(now))) {
            let (found, besides) = (kept.found.clone(), kept.besides.clone());
            self.repeat(besides);
            return found;
        }
        let made = self.statics.len() + self.local_records.len() + self.local_enums.len();
        let (found, besides) = self.watched(infer);
        // The first round makes what has a number in the unit. Numbers of counts are those of a pass.
        let makes = self.statics.len() + self.local_records.len() + self.local_enums.len() > made;
        let counted = found.inferred.values().any(|state| matches!(state.fixed, Some(Bounds::Counted(_))));
        match depends.filter(|_| !makes && !counted) {
            Some(depends) => {
                self.before.bodies.insert(body, Kept { depends, besides, found: found.clone() });
            }
            None => _ = self.before.bodies.remove(&body),
        }
        found
    }

    /// The same of a body that is tried with parameters as views.
    pub(crate) fn tried_before(
        &mut self,
        body: Body,
        views: &[usize],
        infer: impl FnOnce(&mut Self) -> Accepted,
    ) -> Accepted {
        let depends = self.depends(body);
        let at = (body, views.to_vec());
        let kept = self.before.views.get(&at);
        if let Some(kept) = kept.filter(|kept| depends.as_ref().is_some_and(|now| kept.stands(now))) {
            let (found, besides) = (kept.found.clone(), kept.besides.clone());
            self.repeat(besides);
            return found;
        }
        let (found, besides) = self.watched(infer);
        match depends {
            Some(depends) => _ = self.before.views.insert(at, Kept { depends, besides, found: found.clone() }),
            None => _ = self.before.views.remove(&at),
        }
        found
    }

    /// Does something, and sees what happens besides.
    fn watched<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, Besides) {
        let asked = std::mem::take(&mut self.read_only.asked_of);
        let results = &mut self.read_only.results;
        let (postponed, waits) = (std::mem::take(&mut results.postponed), std::mem::take(&mut results.waits));
        let found = work(self);
        let asked = std::mem::replace(&mut self.read_only.asked_of, asked);
        let results = &mut self.read_only.results;
        let besides = Besides { asked, postponed: results.postponed, waits: results.waits };
        results.postponed |= postponed;
        results.waits |= waits;
        (found, besides)
    }

    fn repeat(&mut self, besides: Besides) {
        for parameter in besides.asked {
            self.knows_reader(parameter);
        }
        self.read_only.results.postponed |= besides.postponed;
    }

    /// What the body depends on now. `None` if that is not known.
    fn depends(&mut self, body: Body) -> Option<Depends> {
        if self.options.plain_c || self.before.is_open {
            return None;
        }
        let named = self.named_in(body);
        let facts = named.iter().map(|name| self.facts(*name)).collect::<Option<Vec<Facts>>>()?;
        let learnt = &self.read_only.learnt;
        Some(Depends { facts, settled: learnt.bounds.settled, patience: learnt.results.patience() })
    }

    /// The functions of the unit that the text of a body names, its own among them.
    fn named_in(&mut self, body: Body) -> Rc<[Symbol]> {
        if let Some(named) = self.before.named.get(&body) {
            return named.clone();
        }
        let mut named = self.functions_named(self.map.snippet(body.0));
        named.insert(body.1);
        let named: Rc<[Symbol]> = named.into_iter().collect();
        self.before.named.insert(body, named.clone());
        named
    }

    /// What is known of a function.
    fn facts(&self, name: Symbol) -> Option<Facts> {
        let mut facts = self.before.learnt.get(&name).cloned().unwrap_or_default();
        facts.addressed = self.read_only.learnt.addressed.contains(&name);
        facts.into_found = self.read_only.results.into.get(&name).copied();
        let parameters = match self.scopes.lookup_file(name) {
            Some((Entity::Func(id), _)) => {
                let ty = self.program.functions.get(id.0 as usize)?.ty;
                self.program.types.as_func(ty).map_or(0, |fty| fty.params.len() as u32)
            }
            _ => 0,
        };
        if parameters > MOST_PARAMETERS {
            return None;
        }
        for at in 0..parameters {
            if self.read_only.found.contains(&(name, at)) {
                facts.read_only |= Facts::bit(at);
            }
            facts.needs_found.extend(self.read_only.bounds.needs.get(&(name, at)).map(|need| (at, *need)));
        }
        Some(facts)
    }
}

impl<T> Kept<T> {
    fn stands(&self, now: &Depends) -> bool {
        let Depends { facts, settled, patience } = &self.depends;
        *settled == now.settled && (*patience == now.patience || !self.besides.waits) && *facts == now.facts
    }
}
