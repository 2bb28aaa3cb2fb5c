//! Results of `static` functions that point to what a parameter points to, where no word tells.
//!
//! ```c
//! static char *trim(char *s) { ... return s; }
//! static struct item *find(struct item *items, int n, int key) { ... return &items[i]; }
//! ```
//!
//! A result that says nothing of a region is a pointer to the heap. All callers of such a function
//! are in the file, if its address is not taken. So the unit is checked again as if more were
//! written, in one of two ways:
//!
//! * If all that is returned is null or points into one parameter's object, then `[[lee::into(p)]]`
//!   if the parameter has bounds and its elements are characters, or a caller needs bounds of the
//!   result; else `T *@a p` and `T *@a` in the result.
//! * If only some of it does, which the analyses report (L0504, [`Options::returned`]), the result
//!   gets the parameter's region. Of several parameters all get one.
//!
//! A word that is written stays. Nothing is trusted: what was inferred is checked like what is
//! written.

use crate::checker::{Checker, Options};
use crate::inferred_before::Facts;
use crate::param_bounds::callers_are_seen;
use crate::tree::*;
use crate::types::*;
use crate::walk::{self, Part};
use rustc_hash::{FxHashMap, FxHashSet};
use source::Symbol;
use syntax::ast;

/// Passes in which an argument that is a result may wait for its bounds: so many functions of a chain
/// may be called before they are defined.
const MOST_WAITS: u32 = 4;

/// What was learnt of results in earlier passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LearntResults {
    /// Functions that return nothing but null and pointers into this parameter's object.
    into: FxHashMap<Symbol, u32>,
    /// Those that turned out to return other things.
    refused: FxHashSet<Symbol>,
    /// Callers need bounds of the result.
    wanted: FxHashSet<Symbol>,
    /// Passes in which something waited for what others find.
    waited: u32,
    /// Parameters that are returned, of which the analyses told.
    returned: FxHashMap<Symbol, Vec<u32>>,
}

/// What a pass finds.
#[derive(Debug, Default)]
pub(crate) struct FoundResults {
    pub into: FxHashMap<Symbol, Points>,
    wanted: FxHashSet<Symbol>,
    /// What a `return` needs was left to the next pass.
    pub postponed: bool,
    /// It mattered whether something has waited, or may wait.
    pub waits: bool,
}

impl LearntResults {
    /// What is known before the first pass.
    pub fn new(unit: &ast::Unit, options: &Options) -> LearntResults {
        LearntResults { returned: returned(unit, options), ..LearntResults::default() }
    }

    /// Whether they are the same but for how long results have waited.
    pub fn is_but_for_waiting(&self, other: &LearntResults) -> bool {
        *self == LearntResults { waited: self.waited, ..other.clone() }
    }

    /// Whether nothing has waited yet, and whether something may still wait: no more is asked of how
    /// long it was.
    pub fn patience(&self) -> (bool, bool) {
        (self.waited == 0, self.waited < MOST_WAITS)
    }

    /// `self` is known after a pass that knew `before`. If they differ only in how long results have
    /// waited, and no pass asks for the difference, the next ones would find the same until nothing
    /// may wait any more. So that is what the next one knows.
    pub fn give_up_waiting(&mut self, before: &LearntResults) {
        if self.waited != before.waited && self.patience() == before.patience() {
            self.waited = MOST_WAITS;
        }
    }

    /// Adds what is known to the facts of each function.
    pub fn by_function(&self, all: &mut FxHashMap<Symbol, Facts>) {
        self.into.iter().for_each(|(name, at)| all.entry(*name).or_default().into = Some(*at));
        self.refused.iter().for_each(|name| all.entry(*name).or_default().result_refused = true);
        self.wanted.iter().for_each(|name| all.entry(*name).or_default().result_wanted = true);
        self.returned.iter().for_each(|(name, from)| all.entry(*name).or_default().returned.clone_from(from));
    }

    /// What the next pass is to know, if that is something else.
    pub fn next(&self, found: &FoundResults, addressed: &FxHashSet<Symbol>, last: bool) -> Option<LearntResults> {
        let mut next = self.clone();
        next.waited += u32::from(found.postponed && self.waited < MOST_WAITS);
        if !last {
            for (name, points) in &found.into {
                match points {
                    Points::Parameter(at) => _ = next.into.insert(*name, *at),
                    Points::Elsewhere if self.into.contains_key(name) => _ = next.refused.insert(*name),
                    Points::Nowhere | Points::Elsewhere => {}
                }
            }
            next.wanted.extend(&found.wanted);
        }
        // Whoever has the function's address calls it by its declared type.
        next.into.retain(|name, _| !next.refused.contains(name) && !addressed.contains(name));
        next.returned.retain(|name, _| !addressed.contains(name));
        next.wanted.retain(|name| next.into.contains_key(name));
        (next != *self).then_some(next)
    }
}

/// The parameters of [`Options::returned`].
fn returned(unit: &ast::Unit, options: &Options) -> FxHashMap<Symbol, Vec<u32>> {
    let mut all = FxHashMap::<Symbol, Vec<u32>>::default();
    if options.returned.is_empty() || options.words_wanted {
        return all;
    }
    for item in &unit.items {
        let ast::ItemKind::Function(def) = &item.kind else { continue };
        let (Some(name), Some(ast::Derived::Function(list))) = (def.declarator.name, def.declarator.derived.first())
        else {
            continue;
        };
        if def.specs.storage != Some(ast::Storage::Static) || def.generics.is_some() {
            continue;
        }
        for (at, param) in list.params.iter().enumerate() {
            if param.declarator.name.is_some_and(|name| options.returned.contains(&name.span)) {
                all.entry(name.name).or_default().push(at as u32);
            }
        }
    }
    all
}

/// Where the values of a pointer lead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Points {
    /// All are null.
    Nowhere,
    /// Into the object of this parameter, as it was passed.
    Parameter(u32),
    /// Perhaps elsewhere.
    Elsewhere,
}

impl Points {
    fn or(self, other: Points) -> Points {
        match (self, other) {
            (Points::Nowhere, other) | (other, Points::Nowhere) => other,
            (a, b) if a == b => a,
            _ => Points::Elsewhere,
        }
    }
}

/// The values of a body on which it depends where its result leads.
#[derive(Default)]
struct Values<'a> {
    /// What is assigned to locals.
    assigned: Vec<(LocalId, &'a Expr)>,
    /// What is returned.
    returned: Vec<&'a Expr>,
    /// Locals that may be written through their addresses.
    strays: FxHashSet<LocalId>,
}

impl<'a> Values<'a> {
    fn of(body: &'a Body) -> Values<'a> {
        let mut values = Values::default();
        let mut visit = |part: Part<'a>| {
            match part {
                Part::Expr(e) => match &*e.kind {
                    ExprKind::Assign(place, value) => {
                        values.assigned.extend(local_of(place).map(|id| (id, value)));
                    }
                    ExprKind::AddrOf(place) => values.strays.extend(local_of(place)),
                    _ => {}
                },
                Part::Stmt(s) => match &s.kind {
                    StmtKind::Declare(id, Some(Init::Expr(value))) => values.assigned.push((*id, value)),
                    StmtKind::Return(Some(value)) => values.returned.push(value),
                    StmtKind::Swap(a, b) => values.strays.extend([a, b].into_iter().filter_map(local_of)),
                    _ => {}
                },
            }
            false
        };
        for stmt in &body.block.stmts {
            walk::any(Part::Stmt(stmt), &mut visit);
        }
        values
    }
}

impl Checker<'_> {
    /// The type of a function with what is known of its result.
    pub(crate) fn with_learnt_result(&mut self, name: Symbol, ty: Ty, declarator: &ast::Declarator) -> Ty {
        let known = &self.read_only.learnt.results;
        let from = match known.into.get(&name) {
            Some(at) => vec![*at],
            None => known.returned.get(&name).cloned().unwrap_or_default(),
        };
        let (into, wanted) = (known.into.contains_key(&name), known.wanted.contains(&name));
        if from.is_empty() || self.read_only.learnt.addressed.contains(&name) {
            return ty;
        }
        let Some(mut fty) = self.program.types.as_func(ty).map(|f| (*f).clone()) else { return ty };
        let Some(mut result) = self.open_result(&fty, declarator) else { return ty };
        let regions: Vec<Region> = from.iter().filter_map(|at| self.region_of_parameter(&fty, *at)).collect();
        let Some(&region) = regions.first() else { return ty };
        let param = from.first().and_then(|at| fty.params.get(*at as usize));
        let param = param.and_then(|param| self.program.types.as_pointer(param.ty));
        let characters = |ty: Ty| self.program.types.is_character(ty);
        let bounds = param.is_some_and(|p| {
            let same = self.program.types.same_modulo_regions(p.target.ty, result.target.ty);
            let both = characters(p.target.ty) && characters(result.target.ty);
            p.bounds != Bounds::Thin && (both || same && wanted)
        });
        if into && bounds {
            fty.into = from.first().copied();
            if !result.target.quals.is_const {
                result.bounds = Bounds::Thin;
            }
        } else {
            // Of several, one region for all: a variable that stands nowhere any more does no harm.
            let mut one = |r: Region, depth: u8| match (r, region) {
                (Region::Bound(level, n), Region::Bound(_, first))
                    if level == depth && regions.contains(&Region::Bound(0, n)) =>
                {
                    Region::Bound(depth, first)
                }
                _ => r,
            };
            for param in &mut fty.params {
                param.ty = self.program.types.map_regions(param.ty, &mut one);
            }
            result.region = region;
        }
        fty.ret = self.types().pointer(result);
        self.types().intern(TyKind::Func(std::rc::Rc::new(fty)))
    }

    /// The result, if it is a shared pointer of which no word says where it leads.
    fn open_result(&self, fty: &FuncTy, declarator: &ast::Declarator) -> Option<Pointer> {
        let written = |d: &ast::Derived| match d {
            ast::Derived::Pointer(q) => {
                let bounds = q.fat.is_some() || q.null_terminated.is_some() || q.counted_by.is_some();
                bounds || q.region.is_some() || q.own.is_some()
            }
            _ => false,
        };
        let promises = fty.into.is_some() || fty.end_into.is_some() || fty.keeps_string.is_some();
        let result = self.program.types.as_pointer(fty.ret)?;
        let open = result.region == Region::Heap && result.own == Own::Shared && !result.raw && !promises;
        let data = !matches!(self.kind(result.target.ty), TyKind::Void | TyKind::Func(_));
        (open && data && !declarator.derived.get(1).is_some_and(written)).then_some(result)
    }

    fn region_of_parameter(&self, fty: &FuncTy, at: u32) -> Option<Region> {
        let p = self.program.types.as_pointer(fty.params.get(at as usize)?.ty)?;
        (matches!(p.region, Region::Bound(0, _)) && p.own == Own::Shared && !p.raw).then_some(p.region)
    }

    fn function_at_hand(&self) -> Option<&Function> {
        self.program.functions.get(self.f.as_ref()?.func?.0 as usize)
    }

    /// A value that is not a string is returned from a function whose result is one, unless more is
    /// inferred of it. Whether to wait for what the first pass finds.
    pub(crate) fn postpones_result(&mut self) -> bool {
        let ours = self.function_at_hand().is_some_and(|f| f.linkage == Linkage::Internal && f.trust == Trust::Checked);
        self.read_only.results.waits |= ours;
        let waits = ours && self.read_only.learnt.results.waited == 0 && !self.options.words_wanted;
        self.read_only.results.postponed |= waits;
        waits
    }

    /// Bounds are needed of a value that a `static` function returned without any. Whether it has
    /// some in the next pass.
    pub(crate) fn want_result(&mut self, e: &Expr) -> bool {
        let Some(name) = self.result_of(e).filter(|_| !self.options.words_wanted) else { return false };
        let known = &self.read_only.learnt.results;
        let found = matches!(self.read_only.results.into.get(&name), Some(Points::Parameter(_)));
        let learns = !known.wanted.contains(&name) && (known.into.contains_key(&name) || found);
        if learns && self.muted == 0 {
            self.read_only.results.wanted.insert(name);
        }
        learns
    }

    /// The same, or whether that is not known yet.
    pub(crate) fn result_may_have_bounds(&mut self, e: &Expr) -> bool {
        let is_result = self.result_of(e).is_some();
        self.read_only.results.waits |= is_result;
        let early = self.read_only.learnt.results.waited < MOST_WAITS;
        let waits = early && is_result && !self.options.words_wanted;
        self.read_only.results.postponed |= waits;
        self.want_result(e) || waits
    }

    /// Whether all that the function at hand returns points into one parameter's object.
    pub(crate) fn returns_into(&self) -> bool {
        self.function_at_hand().is_some_and(|f| self.read_only.learnt.results.into.contains_key(&f.name))
    }

    /// The `static` function that the value is a result of, perhaps by way of a local.
    pub(crate) fn result_of(&self, e: &Expr) -> Option<Symbol> {
        match &*e.kind {
            ExprKind::Convert(_, inner) | ExprKind::PtrAdd(inner, ..) => self.result_of(inner),
            ExprKind::Load(place) => {
                let f = self.f.as_ref()?;
                f.inferred.get(f.local_keys.get(&local_of(place)?)?)?.result
            }
            ExprKind::Call(Callee::Direct(f), ..) => {
                let function = self.program.functions.get(f.func.0 as usize);
                function.filter(|f| f.linkage == Linkage::Internal).map(|f| f.name)
            }
            _ => None,
        }
    }

    /// Finds where the results of a function lead whose body was checked.
    pub(crate) fn note_result(&mut self, id: FuncId, declarator: &ast::Declarator) {
        let Some(function) = self.program.functions.get(id.0 as usize) else { return };
        let Some(fty) = self.program.types.as_func(function.ty) else { return };
        let known = &self.read_only.learnt;
        let inferred = known.results.into.contains_key(&function.name);
        if !callers_are_seen(function, &fty) || self.options.plain_c || self.options.words_wanted || self.muted > 0 {
            return;
        }
        if known.addressed.contains(&function.name) || !inferred && self.open_result(&fty, declarator).is_none() {
            return;
        }
        let Some(body) = &function.body else { return };
        // Of a function that calls itself, the other returns say where its results lead.
        let values = Values::of(body);
        let points = match self.points_of(body, &values, (id, None)) {
            Points::Parameter(at) => self.points_of(body, &values, (id, Some(at))),
            other => other,
        };
        let stands = match points {
            Points::Parameter(at) => inferred || self.region_of_parameter(&fty, at).is_some(),
            Points::Nowhere | Points::Elsewhere => true,
        };
        if stands {
            let name = function.name;
            self.read_only.results.into.insert(name, points);
        }
    }

    /// Where the values that a body returns lead. `own`: the body's function, and the parameter into
    /// whose object its own results point; without one, they do not count.
    fn points_of(&self, body: &Body, values: &Values, own: (FuncId, Option<u32>)) -> Points {
        let mut points = vec![Points::Nowhere; body.locals.len()];
        for (at, of) in points.iter_mut().enumerate() {
            if at < body.params as usize {
                *of = Points::Parameter(at as u32);
            }
            if values.strays.contains(&LocalId(at as u32)) {
                *of = Points::Elsewhere;
            }
        }
        // Each can change twice.
        for _ in 0..=2 * body.locals.len() {
            let before = points.clone();
            for (local, value) in &values.assigned {
                let to = self.leads(value, &points, own);
                if let Some(of) = points.get_mut(local.0 as usize) {
                    *of = of.or(to);
                }
            }
            if points == before {
                break;
            }
        }
        values.returned.iter().fold(Points::Nowhere, |all, value| all.or(self.leads(value, &points, own)))
    }

    fn leads(&self, e: &Expr, points: &[Points], own: (FuncId, Option<u32>)) -> Points {
        let of = |id: LocalId| points.get(id.0 as usize).copied().unwrap_or(Points::Elsewhere);
        match &*e.kind {
            ExprKind::Null | ExprKind::Error => Points::Nowhere,
            ExprKind::Load(place) | ExprKind::IncDec(place, ..) | ExprKind::AssignOp(_, _, place, _) => {
                local_of(place).map_or(Points::Elsewhere, of)
            }
            ExprKind::Assign(_, value) | ExprKind::Comma(_, value) => self.leads(value, points, own),
            ExprKind::PtrAdd(inner, ..)
            | ExprKind::Convert(Conv::Pointer | Conv::SameBits | Conv::ProveNonnull, inner) => {
                self.leads(inner, points, own)
            }
            ExprKind::AddrOf(place) => match &*place.kind {
                ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) => self.leads(p, points, own),
                _ => Points::Elsewhere,
            },
            ExprKind::Cond(_, a, b) => self.leads(a, points, own).or(self.leads(b, points, own)),
            ExprKind::CondOmitted(_, a, b) => self.leads(a, points, own).or(self.leads(b, points, own)),
            ExprKind::Call(callee, _, args) => {
                let itself = matches!(callee, Callee::Direct(f) if f.func == own.0);
                let into = match own.1 {
                    None if itself => return Points::Nowhere,
                    Some(at) if itself => Some(at),
                    _ => self.argument_pointed_into(e),
                };
                let into = into.and_then(|n| args.get(n as usize));
                into.map_or(Points::Elsewhere, |arg| self.leads(arg, points, own))
            }
            _ => Points::Elsewhere,
        }
    }
}

fn local_of(place: &Expr) -> Option<LocalId> {
    match *place.kind {
        ExprKind::Local(id) => Some(id),
        _ => None,
    }
}
