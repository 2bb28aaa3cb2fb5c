//! Function definitions: the rounds of inference, parameters, labels.

use crate::checker::{Checker, Known};
use crate::codes;
use crate::contracts::ContractId;
use crate::infer::{Inferred, Phase};
use crate::read_only::Tried;
use crate::scope::Entity;
use crate::specs::{Declared, Place, Role};
use crate::tree::*;
use crate::types::*;
use rustc_hash::{FxHashMap, FxHashSet};
use source::{Diagnostic, Span, Symbol};
use syntax::ast;

/// Inference that has not settled after this many rounds is cut off: the lattice is finite, so this
/// is never reached.
const MAX_ROUNDS: usize = 64;

/// How many steps away from a parameter keys are looked for.
const KEY_STEPS: usize = 9;

/// State of the function at hand.
#[derive(Debug, Default)]
pub struct FnCtx {
    /// Which.
    pub func: Option<FuncId>,
    /// Its result type.
    pub ret: Option<Ty>,
    /// Number of its parameters.
    pub params: u32,
    /// Its locals.
    pub locals: Vec<Local>,
    /// Plain C.
    pub unchecked: bool,
    /// Depth of `unsafe`.
    pub unsafe_depth: u32,
    /// Labels by name.
    pub labels: FxHashMap<Symbol, LabelState>,
    /// Label names by number.
    pub label_names: Vec<Symbol>,
    /// What is known of unannotated pointer locals, by the span of their name.
    pub inferred: FxHashMap<Span, Inferred>,
    /// The key of each such local in this round.
    pub local_keys: FxHashMap<LocalId, Span>,
    /// Parameters that get the address of a local: the name is that of a local of its own, whose
    /// region is solved, and which begins with the parameter's value.
    pub rebound: FxHashSet<LocalId>,
    /// What this round looks for.
    pub phase: Phase,
    /// Whether this round learned something.
    pub changed: bool,
    /// Enclosing statements that `break` and `continue` leave.
    pub loops: Vec<LoopKind>,
    /// Switches around.
    pub switches: Vec<SwitchState>,
    /// `defer` and other scopes that no jump enters: numbers of those that are open.
    pub barriers: Vec<u32>,
    /// Numbers given to barriers so far.
    pub barrier_count: u32,
    /// Variadic format contract.
    pub format: Option<FormatTy>,
    /// Local that is the format parameter.
    pub format_local: Option<LocalId>,
    /// Whether the function is variadic.
    pub variadic: bool,
    /// Numbers of the blocks that are open.
    pub blocks: Vec<u32>,
    /// Blocks so far.
    pub block_count: u32,
    /// Labels and cases so far.
    pub label_count: u32,
    /// `va_list` bookkeeping of a printf-like function: started, uses.
    pub va: VaState,
    /// Locals that are read somewhere.
    pub used: FxHashSet<LocalId>,
    /// `constexpr` locals.
    pub known: FxHashMap<LocalId, Known>,
    /// Taking a local's address does not fix its type for now.
    pub keep_inferred: bool,
    /// How many `defer` bodies are open.
    pub in_defer: u32,
    /// Lengths of arrays that wait to be set: the local and its value.
    pub lengths: Vec<(LocalId, Expr)>,
    /// Its name.
    pub result_name: Option<Symbol>,
    /// Its regions; the first ones are the variables of its type.
    pub regions: Vec<RegionDecl>,
    /// Regions to solve so far.
    pub infer_regions: u32,
    /// Cursors: read through only.
    pub cursors: FxHashSet<LocalId>,
    /// Those of them that the program writes as pointers: `for (struct node *n = head; n; n = n->next)`,
    /// and whether to a `const` type.
    pub walkers: FxHashMap<LocalId, bool>,
    /// Those that the program declares as pointers to pointers: `struct node **pp = &l->head;`.
    pub list_pointers: FxHashSet<LocalId>,
    /// The expression statement, or part of one, whose value is not used.
    pub unused_value: Option<Span>,
    /// What `expose` opens around the code at hand, innermost last.
    pub exposed: Vec<crate::exchange::Exposed>,
    /// The operand of an `expose` that is being checked.
    pub exposing: Option<Span>,
    /// A cursor may be read now: it is dereferenced.
    pub through_cursor: bool,
    /// Parameters that are not `consume`: what they own is lent.
    pub lent: FxHashSet<LocalId>,
    /// Parameters behind which something in a slot is lent.
    pub need_view: FxHashSet<LocalId>,
    /// A count in memory was made less by one, as what takes the last element of an array does.
    pub counts_down: bool,
    /// Arguments of generic calls that were tried in this round, by the address of their node:
    /// calls that nest would be tried again at each level.
    pub probed: FxHashMap<(usize, Span), Expr>,
    /// The text of the function.
    pub text: Span,
}

/// A `va_list`'s life in a printf-like function.
#[derive(Clone, Debug, Default)]
pub struct VaState {
    /// `va_start` was seen.
    pub started: bool,
    /// Uses as an argument of a `v...printf`.
    pub uses: u32,
    /// Loops around `va_start`.
    pub depth: usize,
    /// Labels and cases that stood before it.
    pub labels: u32,
    /// Which `va_list` it started.
    pub local: Option<LocalId>,
    /// The blocks around it.
    pub blocks: Vec<u32>,
}

/// A label.
#[derive(Clone, Debug)]
pub struct LabelState {
    /// Its number.
    pub id: LabelId,
    /// Where it stands, once seen.
    pub defined: Option<Span>,
    /// Open barriers where it stands.
    pub barriers: Vec<u32>,
    /// Jumps to it: place and open barriers there.
    pub jumps: Vec<(Span, Vec<u32>)>,
}

/// What `break` or `continue` leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopKind {
    /// A loop.
    Loop,
    /// A switch.
    Switch,
    /// The body of a `defer`: neither leaves it.
    Defer,
}

/// A switch that is being checked.
#[derive(Clone, Debug, Default)]
pub struct SwitchState {
    /// The record and its constness, of a tagged switch.
    pub tagged: Option<(RecordId, bool)>,
    /// Of `switch (state d)`: the contract whose states its cases are.
    pub states: Option<ContractId>,
    /// What a tagged switch is over, if that owns something.
    pub subject: Option<Expr>,
    /// Ranges seen.
    pub cases: Vec<(i128, i128, Span)>,
    /// Members seen.
    pub members: Vec<u32>,
    /// `default` seen.
    pub default: Option<Span>,
    /// Barriers open at the switch.
    pub barriers: Vec<u32>,
    /// What the last label bound: its name, where, and what that hides in the same block.
    pub bound: Option<Bound>,
}

/// A name that a label declares, where, and the declaration in the same block that it hides.
pub type Bound = (Symbol, Span, Option<(Entity, Span)>);

/// A function whose body is checked.
#[derive(Clone, Copy)]
struct Source<'a> {
    id: FuncId,
    def: &'a ast::FunctionDef,
    declared: &'a Declared,
    fty: &'a FuncTy,
    unchecked: bool,
}

/// What walks over a body have found out.
#[derive(Clone, Default)]
pub(crate) struct Learned {
    pub inferred: FxHashMap<Span, Inferred>,
    /// Parameters behind which something in a slot is lent.
    need_view: FxHashSet<LocalId>,
    /// Parameters that get the address of a local.
    rebound: FxHashSet<LocalId>,
}

impl Checker<'_> {
    /// Checks the body of function `id`.
    pub(crate) fn function_body(&mut self, id: FuncId, def: &ast::FunctionDef, declared: &Declared, foreign: bool) {
        let Some(fty) = self.program.types.as_func(declared.ty.ty) else { return };
        let unchecked = foreign && (self.options.plain_c || self.map.is_system(def.span.lo));
        let (before, mistakes) = (self.sink.all.len(), self.mistakes);
        let need_view = self.checked_body(Source { id, def, declared, fty: &fty, unchecked });
        self.program.checked.push(Checked { func: id, text: def.span, wrong: self.mistakes > mistakes });
        if !unchecked {
            self.note_result(id, &def.declarator);
            let accepted = !self.sink.all.iter().skip(before).any(|d| d.level == source::Level::Error);
            self.try_read_only(id, def, declared, &fty, &Tried { accepted, need_view });
        }
    }

    /// Checks the body and keeps it. Gives the parameters behind which something in a slot is lent.
    fn checked_body(&mut self, source: Source) -> FxHashSet<LocalId> {
        let name = self.program.functions[source.id.0 as usize].name;
        let of = (source.def.span, name);
        let mut learned = match source.unchecked {
            true => Learned::default(),
            false => self.inferred_once(of, |this| this.infer(source)),
        };
        // Nothing to infer: then nothing but these matters.
        let known = learned.inferred.is_empty();
        let mut last = match known {
            true => Learned { rebound: learned.rebound.clone(), ..Learned::default() },
            false => std::mem::take(&mut learned),
        };
        if let Some(body) = self.settled(source, Phase::Final, &mut last) {
            self.program.functions[source.id.0 as usize].body = Some(Box::new(body));
        }
        if known {
            learned.need_view
        } else {
            last.need_view
        }
    }

    /// Walks over the body until nothing more is inferred, without reports.
    fn infer(&mut self, source: Source) -> Learned {
        let mut learned = Learned::default();
        self.muted += 1;
        self.settled(source, Phase::Available, &mut learned);
        if learned.inferred.values().any(Inferred::may_lose_bounds) {
            self.settled(source, Phase::Needed, &mut learned);
        }
        self.muted -= 1;
        learned
    }

    /// Whether the body is accepted with this type. Nothing is reported or kept.
    pub(crate) fn accepts_body(
        &mut self,
        id: FuncId,
        def: &ast::FunctionDef,
        declared: &Declared,
        fty: &FuncTy,
    ) -> bool {
        let source = Source { id, def, declared, fty, unchecked: false };
        let before = self.muted_errors;
        self.muted += 1;
        let mut learned = self.infer(source);
        self.settled(source, Phase::Final, &mut learned);
        self.muted -= 1;
        std::mem::replace(&mut self.muted_errors, before) == 0
    }

    /// The body after as many walks as it takes until nothing more is learned in this phase; `None`
    /// if that takes too many. `muted_errors` counts those of the last walk.
    fn settled(&mut self, source: Source, phase: Phase, learned: &mut Learned) -> Option<Body> {
        let depth = self.scopes.depth();
        for _ in 0..MAX_ROUNDS {
            self.muted_errors = 0;
            let body = self.round(source, phase, learned);
            self.scopes.truncate(depth);
            if body.is_some() {
                return body;
            }
        }
        None
    }

    /// One walk over the body. `None` if something was learned and another round is needed.
    fn round(&mut self, source: Source, phase: Phase, learned: &mut Learned) -> Option<Body> {
        let Source { id, def, declared, fty, unchecked } = source;
        self.f = Some(FnCtx {
            func: Some(id),
            ret: Some(fty.ret),
            params: fty.params.len() as u32,
            unchecked,
            unsafe_depth: u32::from(def.trusted),
            phase,
            inferred: std::mem::take(&mut learned.inferred),
            rebound: std::mem::take(&mut learned.rebound),
            format: fty.format,
            variadic: fty.variadic,
            result_name: Some(self.program.functions[id.0 as usize].name),
            text: def.span,
            ..FnCtx::default()
        });
        self.scopes.push();
        let prologue = self.parameters(def, declared, fty, unchecked);
        let mut block = self.block_stmts(&def.body);
        if !prologue.is_empty() {
            block.stmts.splice(0..0, prologue);
        }
        self.check_labels();
        self.check_returns(def, fty, &block);
        self.report_unused_locals(fty.params.len());
        self.scopes.pop();
        let f = self.f.take()?;
        learned.inferred = f.inferred;
        learned.rebound = f.rebound;
        learned.need_view.extend(f.need_view);
        if f.changed && phase != Phase::Final {
            return None;
        }
        Some(Body {
            locals: f.locals,
            params: fty.params.len() as u32,
            labels: f.label_names,
            block,
            unchecked,
            is_unsafe: def.trusted,
            format: f.format,
            regions: f.regions,
            infer_regions: f.infer_regions,
            end: Span::new(def.body.span.hi.saturating_sub(1), def.body.span.hi),
        })
    }

    /// A variadic function without a format attribute: its last parameter is the format if that is
    /// a string.
    pub(crate) fn implied_format(&self, fty: &FuncTy) -> Option<FormatTy> {
        if !fty.variadic {
            return None;
        }
        let last = fty.params.len().checked_sub(1)?;
        let p = self.program.types.as_pointer(fty.params.get(last)?.ty)?;
        let string = p.bounds.is_terminated() && self.program.types.is_character(p.target.ty);
        string.then_some(FormatTy { scanf: false, format: last as u32, first: Some(last as u32 + 1) })
    }

    /// The region variables of the function's type become the first regions of its body.
    fn declare_variables(&mut self, declared: &Declared, fty: &FuncTy, span: Span) {
        let keyed = self.regions_of_keys(fty.params.iter().map(|p| p.ty).collect());
        for n in 0..fty.regions {
            let name = declared.regions.get(n as usize).copied().flatten();
            let closed = keyed.contains(&Region::Bound(0, n));
            let kind = if closed { RegionKind::ParamKey } else { RegionKind::Param };
            let region = self.new_region(name.map(|n| n.0), kind, name.map_or(span, |n| n.1));
            if let (Some((name, span)), Some(region)) = (name, region) {
                self.scopes.declare_region(name, region, span);
            }
        }
    }

    /// The regions that the types have keys of: themselves, or in what they point to or hold, a few
    /// steps away. Types that several paths lead to are looked into once.
    fn regions_of_keys(&self, types: Vec<Ty>) -> FxHashSet<Region> {
        let mut found = FxHashSet::default();
        let mut seen = FxHashSet::default();
        let mut level = if self.program.types.has_keys() { types } else { vec![] };
        for _ in 0..=KEY_STEPS {
            let mut next = vec![];
            for ty in level {
                if !seen.insert(ty) {
                    continue;
                }
                match self.kind(ty) {
                    TyKind::Key(_, r) => _ = found.insert(*r),
                    TyKind::Ptr(p) => next.push(p.target.ty),
                    TyKind::Array { elem, .. } => next.push(elem.ty),
                    TyKind::Record(id) => {
                        let fields = self.program.types.record(*id).fields.as_ref();
                        next.extend(fields.into_iter().flat_map(|fields| fields.iter()).map(|field| field.ty.ty));
                    }
                    _ => {}
                }
            }
            level = next;
        }
        found
    }

    /// Declares the parameters; gives what is to be computed first.
    fn parameters(&mut self, def: &ast::FunctionDef, declared: &Declared, fty: &FuncTy, unchecked: bool) -> Vec<Stmt> {
        let mut variable = vec![];
        let old_style = if self.options.plain_c { self.old_style_declarator(def) } else { None };
        let declarator = old_style.as_ref().unwrap_or(&def.declarator);
        let params = match declarator.derived.first() {
            Some(ast::Derived::Function(list)) => list.params.as_slice(),
            _ => &[],
        };
        self.declare_variables(declared, fty, def.span);
        let regions: Vec<Region> = (0..fty.regions).map(Region::Body).collect();
        let fty = &self.types().open_function(fty, &regions);
        if let Some(f) = &mut self.f {
            f.ret = Some(fty.ret);
        }
        for (at, param) in fty.params.iter().enumerate() {
            let name = declared.params.get(at).copied().flatten();
            let quals = params.get(at).map(param_quals).unwrap_or_default();
            let mut ty = param.ty;
            if let Some(p) = self.program.types.as_pointer(ty) {
                if matches!(p.bounds, Bounds::Counted(_)) && !unchecked {
                    ty = self.types().pointer(Pointer { bounds: Bounds::Fat, ..p });
                }
            }
            let span = name.map_or(def.span, |n| n.span);
            let heap = self.program.types.as_pointer(param.ty).is_some_and(|p| p.region == Region::Heap);
            let id = self.new_local(name.map(|n| n.name), Qty { ty, quals }, span, heap);
            if let (false, Some(f)) = (param.consume, &mut self.f) {
                f.lent.insert(id);
            }
            if unchecked && self.has_open_length(ty) {
                variable.push((at, id));
            }
            if let Some(name) = name {
                self.scopes.declare(name.name, Entity::Local(id), name.span);
            } else if !unchecked && !self.program.types.is_complete(ty) {
                let text = self.show(ty);
                self.error(codes::INCOMPLETE, span, format!("a parameter cannot have the incomplete type `{text}`"));
            }
            let format = self.f.as_ref().and_then(|f| f.format);
            if format.is_some_and(|f| f.format == at as u32) {
                if let Some(f) = &mut self.f {
                    f.format_local = Some(id);
                }
            }
        }
        // Lengths may mention any parameter.
        for (at, id) in variable {
            let Some(param) = params.get(at) else { continue };
            let place = Place { role: Role::Param, foreign: true, trusted: false };
            let base = self.base_type(&param.specs, place);
            let ty = self.declare_type(base, &param.declarator, place).ty.ty;
            if let Some(local) = self.f.as_mut().and_then(|f| f.locals.get_mut(id.0 as usize)) {
                local.ty.ty = ty;
            }
        }
        let mut first = self.take_lengths(0);
        first.extend(self.rebound_parameters(declared));
        first
    }

    /// A local for each parameter that the body gives the address of a local: `if (!n) n = &unused;`.
    fn rebound_parameters(&mut self, declared: &Declared) -> Vec<Stmt> {
        let Some(f) = &self.f else { return vec![] };
        let mut rebound: Vec<LocalId> = f.rebound.iter().copied().collect();
        rebound.sort_by_key(|id| id.0);
        let mut out = vec![];
        for id in rebound {
            let parameter = self.f.as_ref().and_then(|f| f.locals.get(id.0 as usize)).cloned();
            let name = declared.params.get(id.0 as usize).copied().flatten();
            let (Some(parameter), Some(name)) = (parameter, name) else { continue };
            let Some(p) = self.program.types.as_pointer(parameter.ty.ty) else { continue };
            let region = self.fresh_region();
            let ty = Qty { ty: self.types().pointer(Pointer { region, ..p }), ..parameter.ty };
            let copy = self.new_local(Some(name.name), ty, name.span, false);
            self.scopes.declare(name.name, Entity::Local(copy), name.span);
            if let Some(f) = &mut self.f {
                f.used.insert(copy);
            }
            let place = self.place_node(ExprKind::Local(id), parameter.ty, name.span);
            let value = self.node(ExprKind::Load(place), parameter.ty.ty, name.span);
            out.push(Stmt {
                kind: StmtKind::Declare(copy, Some(Init::Expr(value))),
                span: name.span,
                is_unsafe: false,
            });
        }
        out
    }

    /// Whether the type points to an array whose length a declaration left open.
    fn has_open_length(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) => self.has_open_length(p.target.ty),
            TyKind::Array { len: ArrayLen::Unknown, .. } => true,
            TyKind::Array { elem, .. } => self.has_open_length(elem.ty),
            _ => false,
        }
    }

    /// A new local.
    pub(crate) fn new_local(&mut self, name: Option<Symbol>, ty: Qty, span: Span, heap: bool) -> LocalId {
        let Some(f) = &mut self.f else { return LocalId(0) };
        let id = LocalId(f.locals.len() as u32);
        f.locals.push(Local { name, ty, span, align: None, heap });
        id
    }

    fn check_labels(&mut self) {
        let Some(f) = &self.f else { return };
        let mut labels: Vec<(Symbol, LabelState)> = f.labels.iter().map(|(n, l)| (*n, l.clone())).collect();
        labels.sort_by_key(|(_, l)| l.id.0);
        for (name, label) in labels {
            if label.defined.is_none() {
                if let Some((span, _)) = label.jumps.first() {
                    self.error(codes::JUMP, *span, format!("there is no label `{name}` in this function"));
                }
                continue;
            }
            for (span, open) in &label.jumps {
                if label.barriers.iter().any(|b| !open.contains(b)) {
                    self.report(
                        Diagnostic::error(
                            codes::JUMP,
                            *span,
                            format!(
                                "this jump would enter the scope of a `defer`, an arena, a borrow or a key at `{name}`"
                            ),
                        )
                        .label(label.defined.unwrap_or_default(), "the label stands here")
                        .help("put the label before it, or the jump after it"),
                    );
                }
            }
        }
    }

    fn check_returns(&mut self, def: &ast::FunctionDef, fty: &FuncTy, block: &Block) {
        let _ = block;
        if self.is_error(fty.ret) || self.muted > 0 {
            return;
        }
        let format = self.f.as_ref().map(|f| (f.va.clone(), f.variadic, f.unchecked));
        if let Some((va, true, false)) = format {
            if va.started && va.uses == 0 {
                self.report(Diagnostic::warning(codes::UNUSED, def.span, "the variable arguments are never used"));
            }
        }
    }

    fn report_unused_locals(&mut self, params: usize) {
        if self.muted > 0 {
            return;
        }
        let Some(f) = &self.f else { return };
        if f.unchecked {
            return;
        }
        let unused: Vec<(Symbol, Span)> = f
            .locals
            .iter()
            .enumerate()
            .skip(params)
            .filter(|(at, l)| l.name.is_some() && !f.used.contains(&LocalId(*at as u32)))
            .filter_map(|(_, l)| l.name.map(|n| (n, l.span)))
            .filter(|(_, span)| *span != Span::NONE)
            .collect();
        for (name, span) in unused {
            self.report(Diagnostic::warning(codes::UNUSED, span, format!("the variable `{name}` is never used")));
        }
    }
}

/// Qualifiers of a parameter itself: of its pointer, or of its base type if it is not derived.
fn param_quals(p: &ast::Param) -> Quals {
    let quals = match p.declarator.derived.first() {
        None => p.specs.quals,
        Some(ast::Derived::Pointer(q)) => q.quals,
        Some(ast::Derived::Array(a)) => a.quals,
        Some(ast::Derived::Function(_)) => ast::Quals::default(),
    };
    Quals { is_const: quals.is_const, is_volatile: quals.is_volatile, is_atomic: quals.is_atomic }
}
