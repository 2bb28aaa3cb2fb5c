//! Read-only parameters (reference, borrowing, "Read-only parameters").
//!
//! A parameter `const T *`, where `T` owns something, is *read-only* if the body would be accepted
//! with `view` written there. Calls in the same unit then lend to it what they lend as views, and
//! pass views on to it. A `static` function whose body reaches slots behind such a parameter (`n =
//! n->next`) is accepted as a view only: there `view` is inferred, unless the function's address is
//! taken.
//!
//! A body is tried once more for each such parameter, with `view` written there and its reports
//! muted. What a try passes on to a `const T *` parameter of another function of the unit is an
//! edge: the read-only parameters are the greatest set that the edges do not leave. A call may
//! stand before the definition that it asks about; then the unit is checked again with what was
//! learnt ([`Checker::learnt`]).

use crate::checker::Checker;
use crate::inferred_before::Facts;
use crate::param_bounds::{FoundBounds, LearntBounds};
use crate::results::{FoundResults, LearntResults};
use crate::specs::Declared;
use crate::tree::*;
use crate::types::*;
use rustc_hash::{FxHashMap, FxHashSet};
use source::Symbol;
use syntax::ast;

/// A parameter of a function of the unit: the function's name, and the parameter's number.
pub(crate) type Parameter = (Symbol, u32);

/// What was learnt when the unit was checked before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learnt {
    /// Parameters of `static` functions that are taken as views.
    views: FxHashSet<Parameter>,
    /// Read-only parameters.
    read_only: FxHashSet<Parameter>,
    /// Parameters that are no views, because shared pointers go to them.
    refused: FxHashSet<Parameter>,
    /// Functions whose address is taken: they keep their declared types.
    pub addressed: FxHashSet<Symbol>,
    /// Bounds of parameters of `static` functions.
    pub bounds: LearntBounds,
    /// Where results of `static` functions lead.
    pub results: LearntResults,
}

impl Learnt {
    /// What is known after a pass that knew `before`, without passes that would find the same again.
    pub fn after(mut self, before: &Learnt) -> Learnt {
        let same = self.read_only == before.read_only
            && self.views == before.views
            && self.refused == before.refused
            && self.addressed == before.addressed
            && self.bounds == before.bounds
            && self.results.is_but_for_waiting(&before.results);
        if same {
            self.results.give_up_waiting(&before.results);
        }
        self
    }

    /// The same by function.
    pub fn by_function(&self) -> FxHashMap<Symbol, Facts> {
        let mut all = FxHashMap::<Symbol, Facts>::default();
        for (set, facts) in [
            (&self.views, (|facts| &mut facts.views) as fn(&mut Facts) -> &mut u64),
            (&self.read_only, |facts| &mut facts.read_only),
            (&self.refused, |facts| &mut facts.refused),
        ] {
            set.iter().for_each(|(name, at)| *facts(all.entry(*name).or_default()) |= Facts::bit(*at));
        }
        self.bounds.by_function(&mut all);
        self.results.by_function(&mut all);
        all
    }
}

/// What this pass over the unit finds.
#[derive(Debug, Default)]
pub(crate) struct ReadOnly {
    /// What is known from earlier passes.
    pub learnt: Learnt,
    /// What bodies need of the bounds of their parameters.
    pub bounds: FoundBounds,
    /// Where results lead.
    pub results: FoundResults,
    /// Where the argument at hand is passed to.
    pub passing: Option<Parameter>,
    /// Parameters of which a body that is watched asked whether they are read-only.
    pub asked_of: FxHashSet<Parameter>,
    /// Read-only parameters.
    pub found: FxHashSet<Parameter>,
    /// Parameters whose body is accepted with `view` there, and where it passes the view on to:
    /// whether those are read-only is not known yet.
    waiting: FxHashMap<Parameter, FxHashSet<Parameter>>,
    /// Parameters to be views in the next pass.
    views: FxHashSet<Parameter>,
    /// Parameters that were taken to be read-only, and those that would have to be.
    used: FxHashSet<Parameter>,
    /// Views that a shared pointer was passed to.
    refused: FxHashSet<Parameter>,
    asked: FxHashSet<Parameter>,
    /// A body is being tried: where its view was passed on to.
    trying: Option<FxHashSet<Parameter>>,
}

/// A body that was checked as it is written.
pub(crate) struct Tried {
    /// Nothing was wrong with it.
    pub accepted: bool,
    /// Parameters behind which something in a slot is lent.
    pub need_view: FxHashSet<LocalId>,
}

impl Checker<'_> {
    /// Whether what is passed to a parameter goes nowhere else: its region is its own.
    fn is_not_kept(&self, fty: &FuncTy, at: usize, region: Region) -> bool {
        let elsewhere = |ty: Ty| self.program.types.mentions_region(ty, &|r| r == region);
        matches!(region, Region::Bound(0, _) | Region::Infer(_))
            && !elsewhere(fty.ret)
            && !fty.params.iter().enumerate().any(|(n, other)| n != at && elsewhere(other.ty))
            && !fty.outlives.iter().any(|(a, b)| *a == region || *b == region)
            && !fty.owns_in.iter().any(|(_, r)| *r == region)
            && fty.into != Some(at as u32)
            && fty.end_into.is_none_or(|(from, _)| from != at as u32)
            && fty.keeps_string.is_none()
    }

    /// A parameter that may be read-only: a shared pointer to something `const` that owns.
    fn may_be_read_only(&self, fty: &FuncTy, at: usize) -> bool {
        let param = fty.params.get(at).filter(|p| !p.consume);
        param.and_then(|param| self.program.types.as_pointer(param.ty)).is_some_and(|p| {
            let is_const = p.own == Own::Shared && !p.raw && p.target.quals.is_const;
            is_const && self.program.types.owns(p.target.ty) && self.is_not_kept(fty, at, p.region)
        })
    }

    /// Whether the type of a parameter says that it is read-only: it points to something `const`
    /// that owns nothing.
    fn reads_by_type(&self, fty: &FuncTy, at: usize) -> bool {
        let param = fty.params.get(at).filter(|p| !p.consume);
        param.and_then(|param| self.program.types.as_pointer(param.ty)).is_some_and(|p| {
            let is_const = p.own == Own::Shared && !p.raw && p.target.quals.is_const;
            let plain = !matches!(self.kind(p.target.ty), TyKind::Func(_)) && !self.program.types.owns(p.target.ty);
            is_const && plain && self.is_not_kept(fty, at, p.region)
        })
    }

    /// The function's type with `view` written at a parameter.
    fn with_view(&mut self, fty: &FuncTy, at: usize) -> FuncTy {
        let mut out = fty.clone();
        if let Some(param) = out.params.get_mut(at) {
            if let Some(p) = self.program.types.as_pointer(param.ty) {
                param.ty = self.types().pointer(Pointer { own: Own::View, ..p });
            }
        }
        out
    }

    /// The type of a function with the views that its body was found to need.
    pub(crate) fn with_learnt_views(&mut self, name: Symbol, ty: Ty) -> Ty {
        let views = &self.read_only.learnt.views;
        if views.is_empty() {
            return ty;
        }
        let Some(mut fty) = self.program.types.as_func(ty).map(|f| (*f).clone()) else { return ty };
        for at in 0..fty.params.len() {
            if self.read_only.learnt.views.contains(&(name, at as u32)) && self.may_be_read_only(&fty, at) {
                fty = self.with_view(&fty, at);
            }
        }
        self.types().intern(TyKind::Func(std::rc::Rc::new(fty)))
    }

    /// Tries the body of a function that was just checked with each parameter that may be
    /// read-only as a view.
    pub(crate) fn try_read_only(
        &mut self,
        id: FuncId,
        def: &ast::FunctionDef,
        declared: &Declared,
        fty: &FuncTy,
        tried: &Tried,
    ) {
        let function = &self.program.functions[id.0 as usize];
        let name = function.name;
        let (internal, checked) = (function.linkage == Linkage::Internal, function.trust == Trust::Checked);
        // The linker may take another body than this one.
        let weak = function.attrs.iter().any(|a| a.contains("weak") || a.contains("alias"));
        let replaced = function.linkage == Linkage::Shared || !internal && weak;
        if !checked || replaced || self.options.plain_c || function.is_process {
            return;
        }
        let candidates: Vec<usize> = (0..fty.params.len()).filter(|&at| self.may_be_read_only(fty, at)).collect();
        let need_view = |at: &usize| internal && tried.need_view.contains(&LocalId(*at as u32));
        let (need_view, mut others): (Vec<usize>, Vec<usize>) = candidates.into_iter().partition(need_view);
        // What is need_view behind one parameter may depend on the others.
        if !need_view.is_empty() {
            match self.try_views(id, def, declared, fty, &need_view) {
                Some(_) => self.read_only.views.extend(need_view.into_iter().map(|at| (name, at as u32))),
                None => others.extend(need_view),
            }
        }
        for at in others.into_iter().filter(|_| tried.accepted) {
            if let Some(passed) = self.try_views(id, def, declared, fty, &[at]) {
                self.read_only.waiting.insert((name, at as u32), passed);
            }
        }
        self.settle_read_only();
    }

    /// Something in a slot is lent as a whole: what leads to it would have to be a view.
    pub(crate) fn note_slot_lent(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Convert(_, inner) | ExprKind::Comma(_, inner) => self.note_slot_lent(inner),
            ExprKind::Cond(_, a, b) => {
                self.note_slot_lent(a);
                self.note_slot_lent(b);
            }
            ExprKind::Move(place) if self.path_root(place).is_none() && self.checked() => {
                let Some(local) = self.slot_base(place) else { return };
                self.note_parameter(local);
            }
            _ => {}
        }
    }

    /// A value is read: a body does more than read if `unsafe` code in it has the view.
    pub(crate) fn note_unsafe_view(&mut self, ty: Ty) {
        let view = self.program.types.as_pointer(ty).is_some_and(|p| p.own == Own::View);
        if view && self.read_only.trying.is_some() && !self.checked() {
            self.muted_errors += 1;
        }
    }

    /// The function that an argument is passed to, for messages: its name and where it is declared.
    pub(crate) fn passed_to(&self) -> Option<(Symbol, source::Span)> {
        let (name, _) = self.read_only.passing?;
        let function = self.program.functions.iter().find(|f| f.name == name)?;
        Some((name, function.span))
    }

    /// A view is needed, and the value of a local is not one.
    pub(crate) fn note_no_view(&mut self, e: &Expr) {
        if let Some(local) = self.root_local(e).filter(|_| self.checked()) {
            self.note_parameter(local);
        }
        self.read_only.refused.extend(self.read_only.passing.filter(|_| self.muted == 0));
    }

    /// The local would have to be a view: so would the parameter that it comes from.
    fn note_parameter(&mut self, local: LocalId) {
        let source = self.note_view_needed(local).unwrap_or(local);
        if let Some(f) = self.f.as_mut().filter(|f| source.0 < f.params) {
            f.need_view.insert(source);
        }
    }

    /// The local with a shared pointer that a slot is reached through, by fields, elements and
    /// owners only.
    fn slot_base(&self, place: &Expr) -> Option<LocalId> {
        let mut pointer = Self::pointer_below(place)?;
        loop {
            let own = self.program.types.as_pointer(pointer.ty.ty)?.own;
            pointer = match &*pointer.kind {
                ExprKind::Convert(_, inner) | ExprKind::PtrAdd(inner, ..) => inner,
                ExprKind::Load(place) | ExprKind::Borrow(_, place) => match *place.kind {
                    ExprKind::Local(id) => return (own == Own::Shared).then_some(id),
                    _ if own == Own::Unique => Self::pointer_below(place)?,
                    _ => return None,
                },
                _ => return None,
            };
        }
    }

    /// Tries the body with views at these parameters. If it is accepted, gives the parameters that
    /// it passes them on to.
    fn try_views(
        &mut self,
        id: FuncId,
        def: &ast::FunctionDef,
        declared: &Declared,
        fty: &FuncTy,
        views: &[usize],
    ) -> Option<FxHashSet<Parameter>> {
        let name = self.program.functions[id.0 as usize].name;
        self.tried_before((def.span, name), views, |this| this.try_views_now(id, def, declared, fty, views))
    }

    fn try_views_now(
        &mut self,
        id: FuncId,
        def: &ast::FunctionDef,
        declared: &Declared,
        fty: &FuncTy,
        views: &[usize],
    ) -> Option<FxHashSet<Parameter>> {
        let written = self.program.functions[id.0 as usize].ty;
        let fty = views.iter().fold(fty.clone(), |fty, &at| self.with_view(&fty, at));
        self.program.functions[id.0 as usize].ty = self.types().intern(TyKind::Func(std::rc::Rc::new(fty.clone())));
        self.read_only.trying = Some(FxHashSet::default());
        let accepted = self.accepts_body(id, def, declared, &fty);
        let passed = self.read_only.trying.take().unwrap_or_default();
        self.program.functions[id.0 as usize].ty = written;
        accepted.then_some(passed)
    }

    /// Parameters that wait for each other, and for none that is not read-only, are read-only.
    fn settle_read_only(&mut self) {
        let ReadOnly { found, waiting, .. } = &mut self.read_only;
        let mut reading: FxHashSet<Parameter> = waiting.keys().copied().collect();
        loop {
            let stays = |p: &Parameter| {
                let to = waiting.get(p).into_iter().flatten();
                to.into_iter().all(|to| found.contains(to) || reading.contains(to))
            };
            let rest: FxHashSet<Parameter> = reading.iter().copied().filter(|p| stays(p)).collect();
            if rest.len() == reading.len() {
                break;
            }
            reading = rest;
        }
        waiting.retain(|p, _| !reading.contains(p));
        found.extend(reading);
    }

    /// Whether the parameter that the argument at hand goes to is read-only.
    pub(crate) fn passes_to_reader(&mut self) -> bool {
        let Some(parameter) = self.read_only.passing else { return false };
        if let Some(passed) = &mut self.read_only.trying {
            passed.insert(parameter);
            return true;
        }
        self.knows_reader(parameter)
    }

    /// Whether the parameter is known to be read-only: that it was asked matters in the end.
    pub(crate) fn knows_reader(&mut self, parameter: Parameter) -> bool {
        self.read_only.asked_of.insert(parameter);
        let known = self.read_only.learnt.read_only.contains(&parameter) || self.read_only.found.contains(&parameter);
        match known {
            true => self.read_only.used.insert(parameter),
            false => self.read_only.asked.insert(parameter),
        };
        known
    }

    /// Lends an argument to a read-only parameter: nothing that is lent as a view is in its way.
    pub(crate) fn lend_to_reader(&mut self, e: &mut Expr, fty: &FuncTy, at: usize) {
        if self.tracked() && lends(e) && (self.reads_by_type(fty, at) || self.passes_to_reader()) {
            lend_for_reading(e);
        }
    }

    /// What another pass over the unit would know, if that would change something. The last pass
    /// knows nothing from others if what it would have used turned out to be wrong.
    pub(crate) fn learnt(&self, last: bool) -> Option<Learnt> {
        let ReadOnly { found, used, asked, learnt: known, .. } = &self.read_only;
        let wrong = !used.is_subset(found);
        let bounds = known.bounds.next(&self.read_only.bounds, &known.addressed, last);
        let results = known.results.next(&self.read_only.results, &known.addressed, last);
        let more_bounds = bounds.is_some() || results.is_some();
        let results = results.unwrap_or_else(|| known.results.clone());
        let bounds = bounds.unwrap_or_else(|| known.bounds.clone());
        if last {
            let again = wrong || more_bounds;
            let addressed = known.addressed.clone();
            return again.then(|| Learnt { addressed, bounds, results, ..Learnt::default() });
        }
        let mut learnt = Learnt { read_only: found.clone(), bounds, results, ..known.clone() };
        let fresh = |p: &&Parameter| !known.addressed.contains(&p.0) && !known.refused.contains(*p);
        learnt.views.extend(self.read_only.views.iter().filter(fresh));
        let missed = asked.iter().any(|p| found.contains(p)) || learnt.views.len() > known.views.len();
        if !missed && !wrong {
            learnt.refused.extend(self.read_only.refused.iter().filter(|p| known.views.contains(*p)));
            learnt.views.retain(|p| !learnt.refused.contains(p));
        }
        (missed || wrong || more_bounds || learnt.refused.len() > known.refused.len()).then_some(learnt)
    }
}

/// Whether the value is, or leads through, a loan made for it.
fn lends(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Borrow(kind, _) => kind.given_to_readers() != *kind,
        ExprKind::Convert(_, e) | ExprKind::PtrAdd(e, ..) | ExprKind::AddrOf(e) | ExprKind::Decay(e) => lends(e),
        ExprKind::Field(e, _) | ExprKind::IndexArray(e, _) => lends(e),
        ExprKind::Deref(e) | ExprKind::IndexPointer(e, _) => lends(e),
        ExprKind::Cond(_, a, b) => lends(a) || lends(b),
        _ => false,
    }
}

/// Makes the loans that were made for a value ones that are only read through.
pub(crate) fn lend_for_reading(e: &mut Expr) {
    match &mut *e.kind {
        ExprKind::Borrow(kind, _) => *kind = kind.given_to_readers(),
        ExprKind::Convert(_, e) | ExprKind::PtrAdd(e, ..) | ExprKind::AddrOf(e) | ExprKind::Decay(e) => {
            lend_for_reading(e)
        }
        ExprKind::Field(e, _) | ExprKind::IndexArray(e, _) => lend_for_reading(e),
        ExprKind::Deref(e) | ExprKind::IndexPointer(e, _) => lend_for_reading(e),
        ExprKind::Cond(_, a, b) => {
            lend_for_reading(a);
            lend_for_reading(b);
        }
        _ => {}
    }
}
