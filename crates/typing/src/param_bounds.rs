//! Bounds of parameters of `static` functions that no word tells.
//!
//! ```c
//! static int sum(const int *a, int n) { ... s += a[i]; ... }
//! static int parse(int argc, char **argv) { ... strcmp(argv[i], "-v") ... }
//! ```
//!
//! All callers of such a function are in the file, if its address is not taken. Where its body needs
//! bounds of a thin parameter, the unit is checked again with `fat` there; where it needs a string, with
//! `null_terminated`, also of what the parameter points to. If a call gives what has no bounds, or is
//! no string, the parameter stays as it is written, and the body's need is reported. A parameter that
//! is passed on to such a one needs what that needs.
//!
//! Nothing is trusted: what was inferred is checked like what is written.

use crate::checker::Checker;
use crate::inferred_before::Facts;
use crate::read_only::Parameter;
use crate::tree::*;
use crate::types::*;
use rustc_hash::{FxHashMap, FxHashSet};
use source::Symbol;

/// What a parameter has to bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    bounds: bool,
    string: bool,
    /// What it points to are strings.
    strings: bool,
    /// It steps back: a string has to have its beginning, too.
    back: bool,
}

impl Need {
    const NOTHING: Need = Need { bounds: false, string: false, strings: false, back: false };
    pub const BOUNDS: Need = Need { bounds: true, ..Need::NOTHING };
    pub const STRING: Need = Need { string: true, ..Need::NOTHING };
    pub const STRINGS: Need = Need { strings: true, ..Need::NOTHING };
    /// Of C's functions, which ask for a zero within the bounds.
    pub const C_STRING: Need = Need { bounds: true, strings: true, ..Need::NOTHING };
    pub const OBJECT: Need = Need { string: true, back: true, ..Need::NOTHING };
    const BACK: Need = Need { back: true, ..Need::NOTHING };

    fn and(self, other: Need) -> Need {
        Need {
            bounds: self.bounds || other.bounds,
            string: self.string || other.string,
            strings: self.strings || other.strings,
            back: self.back || other.back,
        }
    }
}

/// What was learnt of parameters in earlier passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LearntBounds {
    needs: FxHashMap<Parameter, Need>,
    /// Calls do not bring what the body needs.
    refused: FxHashSet<Parameter>,
    /// Nothing is to be learnt any more.
    pub(crate) settled: bool,
}

impl LearntBounds {
    /// Adds what is known to the facts of each function.
    pub(crate) fn by_function(&self, all: &mut FxHashMap<Symbol, Facts>) {
        for ((name, at), need) in &self.needs {
            all.entry(*name).or_default().needs.push((*at, *need));
        }
        all.values_mut().for_each(|facts| facts.needs.sort_unstable_by_key(|(at, _)| *at));
        for (name, at) in &self.refused {
            all.entry(*name).or_default().needs_refused |= Facts::bit(*at);
        }
    }

    /// What the next pass is to know, if that is something else.
    pub(crate) fn next(&self, found: &FoundBounds, addressed: &FxHashSet<Symbol>, last: bool) -> Option<LearntBounds> {
        if self.settled {
            return None;
        }
        let mut needs = self.needs.clone();
        for (parameter, need) in &found.needs {
            let known = needs.entry(*parameter).or_default();
            *known = known.and(*need);
        }
        let mut refused = self.refused.clone();
        refused.extend(&found.refused);
        // Whoever has the function's address may call it.
        refused.extend(needs.keys().filter(|parameter| addressed.contains(&parameter.0)));
        needs.retain(|parameter, _| !refused.contains(parameter));
        if needs == self.needs && refused == self.refused {
            return None;
        }
        // What is known stays, and what is missing is reported.
        Some(LearntBounds { needs, refused, settled: last })
    }
}

/// What a pass finds.
#[derive(Debug, Default)]
pub(crate) struct FoundBounds {
    pub needs: FxHashMap<Parameter, Need>,
    refused: FxHashSet<Parameter>,
}

impl FoundBounds {
    fn add(&mut self, parameter: Parameter, need: Need) {
        let known = self.needs.entry(parameter).or_default();
        *known = known.and(need);
    }
}

impl Checker<'_> {
    /// The type of a function with what its parameters were found to need.
    pub(crate) fn with_learnt_bounds(&mut self, name: Symbol, ty: Ty) -> Ty {
        let known = &self.read_only.learnt.bounds;
        if known.needs.is_empty() || self.read_only.learnt.addressed.contains(&name) {
            return ty;
        }
        let Some(mut fty) = self.program.types.as_func(ty).map(|f| (*f).clone()) else { return ty };
        for at in 0..fty.params.len() {
            let Some(need) = self.read_only.learnt.bounds.needs.get(&(name, at as u32)).copied() else { continue };
            let Some(param) = fty.params.get(at).map(|param| param.ty) else { continue };
            let Some(mut p) = self.program.types.as_pointer(param) else { continue };
            if need.strings {
                if let Some(inner) = self.program.types.as_pointer(p.target.ty) {
                    let string = Pointer { bounds: Bounds::Terminated, ..inner };
                    p.target.ty = self.types().pointer(string);
                }
            }
            match p.bounds {
                Bounds::Thin if need.string && (need.back || need.bounds) => p.bounds = Bounds::FatTerminated,
                Bounds::Thin if need.string => p.bounds = Bounds::Terminated,
                Bounds::Thin if need.bounds => p.bounds = Bounds::Fat,
                Bounds::Terminated if need.back => p.bounds = Bounds::FatTerminated,
                _ => {}
            }
            let ty = self.types().pointer(p);
            if let Some(param) = fty.params.get_mut(at) {
                param.ty = ty;
            }
        }
        self.types().intern(TyKind::Func(std::rc::Rc::new(fty)))
    }

    /// The value needs bounds, or has to be a string, and is not: whether a parameter that it comes
    /// from can give it what it needs.
    pub(crate) fn learn_need(&mut self, e: &Expr, need: Need) -> bool {
        if self.options.words_wanted || self.read_only.learnt.bounds.settled || !self.checked() {
            return false;
        }
        let Some((local, depth)) = self.source_of(e, 0) else { return need.bounds && self.want_result(e) };
        let need = match depth {
            0 => Need { strings: false, ..need },
            1 if need.string || need.strings || self.is_character_pointer(e) => Need::STRINGS,
            _ => return false,
        };
        self.learn(local, need)
    }

    fn learn(&mut self, local: LocalId, need: Need) -> bool {
        let Some((parameter, bounds)) = self.learnable(local) else { return false };
        let known = self.read_only.learnt.bounds.needs.get(&parameter).copied().unwrap_or_default();
        // What it has got already does not help, and a word that is written stays.
        let written = !(known.bounds || known.string || bounds == Bounds::Thin);
        let begins = need == Need::BACK && bounds == Bounds::Terminated;
        if known.and(need) == known || (written && need != Need::STRINGS && !begins) {
            return false;
        }
        if self.muted == 0 {
            self.read_only.bounds.add(parameter, need);
        }
        true
    }

    /// A parameter without bounds that goes to one with bounds, as it is.
    pub(crate) fn thin_parameter(&self, e: &Expr, to: Ty) -> Option<LocalId> {
        let types = &self.program.types;
        let wanted = types.as_pointer(to).is_some_and(|q| matches!(q.bounds, Bounds::Fat | Bounds::Counted(_)));
        let thin = types.as_pointer(e.ty.ty).is_some_and(|p| p.bounds == Bounds::Thin);
        let open = wanted && thin && !self.options.words_wanted && !self.read_only.learnt.bounds.settled;
        match self.source_of(e, 0).filter(|_| open && self.checked())? {
            (local, 0) => Some(local),
            _ => None,
        }
    }

    /// Such a parameter is passed as one element. If that may not be enough, bounds would be better: if
    /// a call has none, it stays as it is, and nothing is reported.
    pub(crate) fn wish_bounds(&mut self, fty: &FuncTy, args: &[(Expr, Ty)], at: usize, local: LocalId) {
        let types = &self.program.types;
        let Some(to) = fty.params.get(at).and_then(|param| types.as_pointer(param.ty)) else { return };
        let Some(from) = args.get(at).and_then(|(_, ty)| types.as_pointer(*ty)) else { return };
        let size = |ty| types.layout(ty).map_or(1, |layout| i128::from(layout.size));
        let unit = if matches!(self.kind(to.target.ty), TyKind::Void) { 1 } else { size(to.target.ty) };
        let enough = match to.bounds {
            Bounds::Counted(count) => {
                self.count_of_args(count, args).is_some_and(|n| n.saturating_mul(unit) <= size(from.target.ty))
            }
            _ => false,
        };
        if !enough {
            self.learn(local, Need::BOUNDS);
        }
    }

    fn count_of_args(&self, count: CountId, args: &[(Expr, Ty)]) -> Option<i128> {
        let of = |id| self.count_of_args(id, args);
        match *self.program.types.count_expr(count) {
            CountExpr::Const(n) => Some(i128::from(n)),
            CountExpr::Param(n) => args.get(n as usize).and_then(|(e, _)| self.int_of(e)),
            CountExpr::Field(_) => None,
            CountExpr::Add(a, b) => of(a)?.checked_add(of(b)?),
            CountExpr::Sub(a, b) => of(a)?.checked_sub(of(b)?),
            CountExpr::Mul(a, b) => of(a)?.checked_mul(of(b)?),
            CountExpr::Div(a, n) => of(a)?.checked_div(i128::from(n)),
        }
    }

    fn is_character_pointer(&self, e: &Expr) -> bool {
        let types = &self.program.types;
        types.as_pointer(e.ty.ty).is_some_and(|p| types.is_character(p.target.ty))
    }

    /// An argument goes to a parameter that was found to need something in this pass: so does the
    /// parameter that it comes from.
    pub(crate) fn passes_on(&mut self, e: &Expr) {
        let Some(parameter) = self.read_only.passing else { return };
        let Some(need) = self.read_only.bounds.needs.get(&parameter).copied() else { return };
        if self.program.types.as_pointer(e.ty.ty).is_some_and(|p| p.bounds == Bounds::Thin) {
            self.learn_need(e, need);
        }
    }

    /// A local steps back: if a string of a parameter is in it, that has to have its beginning. A
    /// parameter that is a string by its type is given bounds only where it is read only, as a
    /// local is ([`crate::steps_back`]).
    pub(crate) fn learn_back(&mut self, local: LocalId) {
        let Some(f) = &self.f else { return };
        let source = match local.0 < f.params {
            true => Some(local),
            false => {
                let state = f.local_keys.get(&local).and_then(|key| f.inferred.get(key));
                state.and_then(|state| state.from).filter(|from| from.1 == 0).map(|from| from.0)
            }
        };
        let Some(source) = source else { return };
        let Some((parameter, bounds)) = self.learnable(source) else { return };
        let found = self.read_only.learnt.bounds.needs.get(&parameter).is_some_and(|need| need.string);
        let read = source == local && bounds == Bounds::Terminated && self.is_read_only_string(source);
        let settled = self.options.words_wanted || self.read_only.learnt.bounds.settled;
        if found || (read && !settled) {
            self.learn(source, Need::BACK);
        }
    }

    /// Whether a local is a `const char *`.
    fn is_read_only_string(&self, local: LocalId) -> bool {
        let types = &self.program.types;
        let ty = self.f.as_ref().and_then(|f| f.locals.get(local.0 as usize)).map(|local| local.ty.ty);
        let p = ty.and_then(|ty| types.as_pointer(ty));
        p.is_some_and(|p| p.target.quals.is_const && types.is_character(p.target.ty))
    }

    /// Whether the parameter is a string by its type that got its beginning because it steps back.
    pub(crate) fn got_beginning(&self, local: LocalId) -> bool {
        let Some((parameter, Bounds::FatTerminated)) = self.learnable(local) else { return false };
        self.read_only.learnt.bounds.needs.get(&parameter).is_some_and(|need| need.back && !need.string)
    }

    /// The address of a local is taken: what gets it knows the parameter by the type that is
    /// written.
    pub(crate) fn keep_written_string(&mut self, place: &Expr) {
        let ExprKind::Local(local) = *place.kind else { return };
        if self.muted > 0 || self.f.as_ref().is_some_and(|f| f.keep_inferred) {
            return;
        }
        if let Some((parameter, _)) = self.learnable(local) {
            let needs = [&self.read_only.learnt.bounds.needs, &self.read_only.bounds.needs];
            let other = needs.iter().filter_map(|needs| needs.get(&parameter)).any(|need| need.string || need.bounds);
            if !other && self.is_read_only_string(local) {
                self.read_only.bounds.refused.insert(parameter);
            }
        }
    }

    /// Whether the argument at hand goes to a parameter that steps back.
    pub(crate) fn passes_back(&self) -> bool {
        let Some(parameter) = self.read_only.passing else { return false };
        let needs = [&self.read_only.learnt.bounds.needs, &self.read_only.bounds.needs];
        let back = needs.iter().any(|needs| needs.get(&parameter).is_some_and(|need| need.back));
        back && !self.read_only.learnt.bounds.refused.contains(&parameter)
    }

    /// The argument has no bounds, or is not a string, though its parameter was found to need that.
    pub(crate) fn passes_without(&mut self, e: &Expr, need: Need) {
        let Some(parameter) = self.read_only.passing else { return };
        if !self.read_only.learnt.bounds.needs.contains_key(&parameter) || self.muted > 0 {
            return;
        }
        if self.is_null_constant(e) {
            return;
        }
        let learnt = match self.source_of(e, 0) {
            Some((local, 0)) => self.learn(local, need),
            Some(_) => self.learn_need(e, need),
            None => false,
        };
        if !learnt {
            self.read_only.bounds.refused.insert(parameter);
        }
    }

    /// A string is passed. If the parameter was found to need bounds, it is a string with bounds: those
    /// of characters that are written end before the zero, which the body may look for.
    pub(crate) fn passes_string(&mut self, to: &Pointer) {
        let cut = to.bounds == Bounds::Fat && !to.target.quals.is_const;
        let Some(parameter) = self.read_only.passing.filter(|_| cut && self.muted == 0) else { return };
        if self.read_only.learnt.bounds.needs.get(&parameter).is_some_and(|need| need.bounds && !need.string) {
            self.read_only.bounds.add(parameter, Need::STRING);
        }
    }

    /// Strings are passed to a parameter that was found to need bounds: its elements are strings.
    pub(crate) fn passes_strings(&mut self, e: &Expr) -> bool {
        let Some(parameter) = self.read_only.passing.filter(|_| self.muted == 0) else { return false };
        let types = &self.program.types;
        let inner = types.as_pointer(e.ty.ty).and_then(|p| types.as_pointer(p.target.ty));
        let known = self.read_only.learnt.bounds.needs.get(&parameter).is_some_and(|need| need.bounds && !need.strings);
        if !known || inner.is_none_or(|p| p.bounds != Bounds::Terminated) {
            return false;
        }
        self.read_only.bounds.add(parameter, Need::STRINGS);
        true
    }

    /// Whether what is passed goes to a parameter that was found to be a string with bounds.
    pub(crate) fn passes_to_inferred_string(&self) -> bool {
        let needs = &self.read_only.learnt.bounds.needs;
        self.read_only
            .passing
            .is_some_and(|parameter| needs.get(&parameter).is_some_and(|need| need.string || need.back))
    }

    /// The parameter that a value comes from, and behind how many pointers it was read there.
    pub(crate) fn source_of(&self, e: &Expr, depth: u32) -> Option<(LocalId, u32)> {
        match &*e.kind {
            ExprKind::Load(place) => match &*place.kind {
                ExprKind::Local(id) => {
                    let f = self.f.as_ref()?;
                    if id.0 < f.params {
                        return Some((*id, depth));
                    }
                    let state = f.local_keys.get(id).and_then(|key| f.inferred.get(key))?;
                    state.from.map(|(source, own)| (source, own + depth))
                }
                ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) if depth == 0 => self.source_of(p, 1),
                _ => None,
            },
            ExprKind::IncDec(place, ..) | ExprKind::AssignOp(_, _, place, _) => match &*place.kind {
                ExprKind::Local(id) if self.f.as_ref().is_some_and(|f| id.0 < f.params) => Some((*id, depth)),
                _ => None,
            },
            ExprKind::Convert(Conv::Pointer, inner) | ExprKind::PtrAdd(inner, ..) => self.source_of(inner, depth),
            _ => None,
        }
    }

    /// The local as a parameter of a function all of whose callers are seen, and its bounds in this pass.
    fn learnable(&self, local: LocalId) -> Option<(Parameter, Bounds)> {
        let id = self.f.as_ref().filter(|f| local.0 < f.params)?.func?;
        let function = self.program.functions.get(id.0 as usize)?;
        let fty = self.program.types.as_func(function.ty)?;
        let p = self.program.types.as_pointer(fty.params.get(local.0 as usize)?.ty)?;
        let parameter = (function.name, local.0);
        let known = &self.read_only.learnt;
        let open = !known.bounds.refused.contains(&parameter) && !known.addressed.contains(&function.name);
        let shared =
            p.own == Own::Shared && !p.raw && !matches!(self.kind(p.target.ty), TyKind::Void | TyKind::Func(_));
        (callers_are_seen(function, &fty) && open && shared && !self.options.plain_c).then_some((parameter, p.bounds))
    }
}

/// Whether a function is `static`, and so called in its file only, by its declared type.
pub(crate) fn callers_are_seen(function: &Function, fty: &FuncTy) -> bool {
    let ours = function.linkage == Linkage::Internal && function.trust == Trust::Checked;
    ours && function.type_params == 0 && !function.is_process && !fty.variadic && fty.abi == Abi::Leeward
}
