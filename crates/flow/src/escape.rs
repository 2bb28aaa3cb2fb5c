//! Interim region rule (issue 2, item 9), until regions are types: where the target of a pointer local may live, and that it
//! goes nowhere that outlives it.
//!
//! Lattice: heap < parameters < block. The heap (globals and literals included) lives for ever. What an unannotated
//! pointer parameter points to lives as long as the call. A local lives until its block ends; of two blocks the inner one
//! counts. One origin for each pointer local, for the whole body: flow-insensitive, because a pointer variable that holds a
//! stack address at one time and leaves the function at another is better written as two.
//!
//! All pointers in memory (fields, elements, globals, pointer variables whose address is taken) point into the heap. So only
//! pointer locals whose address is not taken have an origin, and a load is always heap. An address that is only handed to
//! the `out` parameter of an `end_into` function (`strtol(s, &end, 10)`) does not count as taken.
//!
//! Needs: dead branches removed. Changes: nothing. Guarantees: outside `unsafe`, no pointer is kept where it can be used after
//! its target's block has ended.

use crate::codes::OUTLIVES;
use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::ir::*;
use mir::visit::rvalue_operands;
use source::{Diagnostic, Sink, Span};
use std::rc::Rc;
use typing::types::{FuncTy, Region, Ty, TyKind};

/// Where the target of a pointer may live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Origin {
    /// Parameters that it may come from, by number; the last bit stands for all from there on.
    params: u64,
    /// The innermost local that it may point to.
    block: Option<Local>,
}

const HEAP: Origin = Origin { params: 0, block: None };

impl Origin {
    fn param(number: u32) -> Origin {
        Origin { params: 1 << number.min(63), block: None }
    }

    fn is_heap(self) -> bool {
        self == HEAP
    }
}

/// A place that keeps a pointer for longer than its target may live.
#[derive(Clone, Debug)]
enum Keeper {
    /// The caller.
    Return,
    /// Memory behind a pointer.
    Memory,
    /// A global.
    Global(source::Symbol),
    /// A field or element of a local.
    Part(Local),
    /// A variable whose address is taken.
    Taken(Local),
    /// A variable declared `@heap`.
    Heap(Local),
    /// A variable of an outer block.
    Outer(Local),
    /// A parameter that wants a heap pointer, by number.
    Parameter(u32),
    /// A use behind the end of the block.
    Later,
}

struct Escape<'a> {
    program: &'a Program,
    body: &'a Body,
    /// Depth of each scope.
    depths: Vec<u32>,
    /// Pointer locals with an origin of their own.
    tracked: BitSet,
    origins: Vec<Origin>,
    /// For temporaries that hold the address of a pointer local for `end_into`: that local.
    outs: Vec<Option<Local>>,
}

/// Checks one body. Variables in `reported` get no report.
pub fn run(program: &Program, body: &Body, sink: &mut Sink, reported: &mut BitSet) {
    let cfg = Cfg::new(body);
    let mut escape = Escape {
        program,
        body,
        depths: scope_depths(body),
        tracked: BitSet::empty(body.locals.len()),
        origins: vec![HEAP; body.locals.len()],
        outs: vec![None; body.locals.len()],
    };
    escape.find_outs(&cfg);
    escape.track();
    escape.solve(&cfg);
    escape.check(&cfg, sink, reported);
}

fn scope_depths(body: &Body) -> Vec<u32> {
    let mut depths: Vec<u32> = vec![];
    for scope in &body.scopes {
        let parent = scope.parent.and_then(|p| depths.get(p.0 as usize));
        depths.push(parent.map_or(0, |d| d + 1));
    }
    depths
}

/// The statements that control gets to, in order.
fn reachable<'a>(body: &'a Body, cfg: &'a Cfg) -> impl Iterator<Item = &'a Stmt> {
    cfg.reverse_postorder().iter().filter_map(|b| body.blocks.get(b.0 as usize)).flat_map(|block| &block.stmts)
}

// ---- origins
impl<'a> Escape<'a> {
    fn decl(&self, local: Local) -> Option<&'a LocalDecl> {
        self.body.locals.get(local.0 as usize)
    }

    /// A pointer to an object. Functions live for ever.
    fn is_pointer(&self, ty: Ty) -> bool {
        let target = self.program.types.as_pointer(ty).map(|p| self.program.types.kind(p.target.ty));
        target.is_some_and(|kind| !matches!(kind, TyKind::Func(_)))
    }

    fn is_pointer_local(&self, local: Local) -> bool {
        self.decl(local).is_some_and(|d| self.is_pointer(d.ty.ty))
    }

    /// Finds temporaries that take a pointer local's address for nothing but `end_into` arguments.
    fn find_outs(&mut self, cfg: &Cfg) {
        let body = self.body;
        let mut spoiled = BitSet::empty(body.locals.len());
        for stmt in reachable(body, cfg) {
            if let StmtKind::Assign(dest, Rvalue::AddrOf(of)) = &stmt.kind {
                let target = of.as_local().filter(|&l| self.is_pointer_local(l));
                let temp = dest.as_local().filter(|&t| self.decl(t).is_some_and(|d| d.kind == LocalKind::Temp));
                match (target, temp.and_then(|t| self.outs.get_mut(t.0 as usize))) {
                    (Some(target), Some(slot)) if slot.is_none_or(|l| l == target) => *slot = Some(target),
                    (Some(target), _) => {
                        spoiled.insert(target.0 as usize);
                    }
                    (None, _) => {}
                }
            }
        }
        // Any other use of such a temporary spoils it.
        for stmt in reachable(body, cfg) {
            let allowed = self.out_argument(&stmt.kind);
            let is_address = matches!(&stmt.kind, StmtKind::Assign(_, Rvalue::AddrOf(_)));
            mir::visit::stmt_places(&stmt.kind, &mut |place, access| {
                let target = place.base_local().and_then(|l| *self.outs.get(l.0 as usize)?);
                let defines = is_address && access == mir::visit::Access::Write;
                if let Some(target) = target.filter(|_| !defines && place.base_local() != allowed) {
                    spoiled.insert(target.0 as usize);
                }
            });
        }
        for out in &mut self.outs {
            if out.is_some_and(|l| spoiled.contains(l.0 as usize)) {
                *out = None;
            }
        }
    }

    /// The local passed as the `out` argument of an `end_into` call.
    fn out_argument(&self, stmt: &StmtKind) -> Option<Local> {
        let StmtKind::Call { args, ty, .. } = stmt else { return None };
        let (_, out) = self.func_ty(*ty)?.end_into?;
        crate::framework::whole_local(args.get(out as usize)?)
    }

    fn func_ty(&self, ty: Ty) -> Option<Rc<FuncTy>> {
        self.program.types.as_func(ty)
    }

    fn track(&mut self) {
        let outs: Vec<Local> = self.outs.iter().flatten().copied().collect();
        for (n, decl) in self.body.locals.iter().enumerate() {
            let local = Local(n as u32);
            if self.is_pointer(decl.ty.ty) && (!decl.address_taken || outs.contains(&local)) {
                self.tracked.insert(n);
            }
        }
        for n in 0..self.body.params {
            let origin = self.param_origin(n);
            self.join(Local(n), origin);
        }
    }

    /// A parameter's region is its own if it is the outermost pointer of an unannotated parameter.
    fn param_origin(&self, number: u32) -> Origin {
        let decl = self.decl(Local(number));
        let pointer = decl.and_then(|d| self.program.types.as_pointer(d.ty.ty));
        match pointer {
            Some(p) if p.region == Region::Var && !decl.is_some_and(|d| d.heap || !self.is_pointer(d.ty.ty)) => {
                Origin::param(number)
            }
            _ => HEAP,
        }
    }

    fn depth(&self, local: Local) -> u32 {
        let scope = self.decl(local).map_or(0, |d| d.scope.0 as usize);
        self.depths.get(scope).copied().unwrap_or(0)
    }

    fn both(&self, a: Origin, b: Origin) -> Origin {
        let block = match (a.block, b.block) {
            (Some(x), Some(y)) => Some(if self.depth(y) > self.depth(x) { y } else { x }),
            (x, y) => x.or(y),
        };
        Origin { params: a.params | b.params, block }
    }

    /// Adds to a local's origin; true if that changed it.
    fn join(&mut self, local: Local, origin: Origin) -> bool {
        let n = local.0 as usize;
        if !self.tracked.contains(n) {
            return false;
        }
        let Some(&old) = self.origins.get(n) else { return false };
        let new = self.both(old, origin);
        if let Some(slot) = self.origins.get_mut(n) {
            *slot = new;
        }
        new != old
    }

    fn of_local(&self, local: Local) -> Origin {
        if !self.tracked.contains(local.0 as usize) {
            return HEAP;
        }
        self.origins.get(local.0 as usize).copied().unwrap_or(HEAP)
    }

    fn operand(&self, operand: &Operand) -> Origin {
        crate::framework::whole_local(operand).map_or(HEAP, |l| self.of_local(l))
    }

    fn value(&self, value: &Rvalue) -> Origin {
        match value {
            Rvalue::AddrOf(place) => self.address(place),
            Rvalue::Use(_)
            | Rvalue::Bits(..)
            | Rvalue::Part(_, Part::Ptr | Part::Lo | Part::Hi, _)
            | Rvalue::MakeTypedVoid(..)
            | Rvalue::MakeFat { .. }
            | Rvalue::MakeCounted { .. }
            | Rvalue::Offset(..) => {
                let mut origin = HEAP;
                rvalue_operands(value, &mut |operand| origin = self.both(origin, self.operand(operand)));
                origin
            }
            _ => HEAP,
        }
    }

    fn address(&self, place: &Place) -> Origin {
        let PlaceBase::Local(local) = place.base else { return HEAP };
        match place.proj.iter().rposition(|step| *step == Proj::Deref) {
            None => Origin { params: 0, block: Some(local) },
            // Through the pointer local itself; a pointer loaded on the way is heap.
            Some(0) => self.of_local(local),
            Some(_) => HEAP,
        }
    }

    /// The origin of a call's result and of what its `end_into` stores: local and origin.
    fn call(&self, args: &[Operand], ty: Ty) -> (Origin, Option<(Local, Origin)>) {
        let Some(func) = self.func_ty(ty) else { return (HEAP, None) };
        let arg = |n: u32| args.get(n as usize).map_or(HEAP, |a| self.operand(a));
        let mut result = func.into.map_or(HEAP, arg);
        let Some((from, out)) = func.end_into else { return (result, None) };
        let target = args
            .get(out as usize)
            .and_then(crate::framework::whole_local)
            .and_then(|t| *self.outs.get(t.0 as usize)?);
        let Some(target) = target else { return (result, None) };
        // A later call may go on from what the earlier one left there (`strtok_r(NULL, ...)`).
        if func.into.is_some() {
            result = self.both(result, self.of_local(target));
        }
        (result, Some((target, arg(from))))
    }

    /// Joins until nothing changes. Statements in reverse postorder: two rounds but for odd loops.
    fn solve(&mut self, cfg: &Cfg) {
        let body = self.body;
        loop {
            let mut changed = false;
            for stmt in reachable(body, cfg) {
                // What `unsafe` code makes is its own affair.
                if stmt.is_unsafe {
                    continue;
                }
                match &stmt.kind {
                    StmtKind::Assign(dest, value) => {
                        if let Some(local) = dest.as_local() {
                            let origin = self.value(value);
                            changed |= self.join(local, origin);
                        }
                    }
                    StmtKind::Call { dest, args, ty, .. } => {
                        let (result, out) = self.call(args, *ty);
                        if let Some(local) = dest.as_ref().and_then(Place::as_local) {
                            changed |= self.join(local, result);
                        }
                        if let Some((local, origin)) = out {
                            changed |= self.join(local, origin);
                        }
                    }
                    _ => {}
                }
            }
            if !changed {
                return;
            }
        }
    }
}

// ---- what is wrong with it
impl Escape<'_> {
    fn check(&self, cfg: &Cfg, sink: &mut Sink, reported: &mut BitSet) {
        let mut found: Vec<(Span, Origin, Keeper)> = vec![];
        for n in 0..self.body.params {
            self.taken_parameter(Local(n), &mut found);
        }
        for stmt in reachable(self.body, cfg) {
            if !stmt.is_unsafe {
                self.stmt(stmt, &mut found);
            }
        }
        for &block in cfg.reverse_postorder() {
            let Some(block) = self.body.blocks.get(block.0 as usize) else { continue };
            if let TermKind::Return(Some(operand)) = &block.term.kind {
                self.returned(operand, block.term.span, &mut found);
            }
        }
        crate::escape_later::find(self.body, cfg, &|l| self.of_local(l).block, &mut |span, target| {
            found.push((span, Origin { params: 0, block: Some(target) }, Keeper::Later));
        });
        found.sort_by_key(|(span, ..)| *span);
        for (span, origin, keeper) in &found {
            self.report(*span, *origin, keeper, sink, reported);
        }
    }

    /// A parameter whose address is taken is memory from the start, so it must hold a heap pointer.
    fn taken_parameter(&self, local: Local, found: &mut Vec<(Span, Origin, Keeper)>) {
        let Some(decl) = self.decl(local).filter(|d| d.address_taken) else { return };
        let origin = self.param_origin(local.0);
        if !origin.is_heap() && !self.tracked.contains(local.0 as usize) {
            found.push((decl.span, origin, Keeper::Taken(local)));
        }
    }

    fn stmt(&self, stmt: &Stmt, found: &mut Vec<(Span, Origin, Keeper)>) {
        match &stmt.kind {
            StmtKind::Assign(dest, value) => {
                let origin = self.value(value);
                self.stored(dest, origin, stmt.span, found);
            }
            StmtKind::Call { dest, callee, args, ty } => {
                let (result, out) = self.call(args, *ty);
                self.arguments(callee, args, *ty, stmt.span, found);
                if let Some(dest) = dest {
                    self.stored(dest, result, stmt.span, found);
                }
                match out {
                    Some((local, origin)) => self.stored(&Place::local(local), origin, stmt.span, found),
                    None => self.end_stored(args, *ty, stmt.span, found),
                }
            }
            _ => {}
        }
    }

    /// `end_into` stores through a pointer to no known local: into memory.
    fn end_stored(&self, args: &[Operand], ty: Ty, span: Span, found: &mut Vec<(Span, Origin, Keeper)>) {
        let Some((from, out)) = self.func_ty(ty).and_then(|f| f.end_into) else { return };
        let origin = args.get(from as usize).map_or(HEAP, |a| self.operand(a));
        let stores = !matches!(args.get(out as usize), None | Some(Operand::Const(Const::Null(_))));
        if stores && !origin.is_heap() {
            found.push((span, origin, Keeper::Memory));
        }
    }

    fn stored(&self, dest: &Place, origin: Origin, span: Span, found: &mut Vec<(Span, Origin, Keeper)>) {
        if origin.is_heap() || !self.keeps_pointer(dest) {
            return;
        }
        let keeper = match (dest.base, dest.as_local()) {
            _ if dest.has_deref() => Some(Keeper::Memory),
            (PlaceBase::Global(g), _) => {
                let name = self.program.globals.get(g.0 as usize).map(|g| g.name);
                Some(name.map_or(Keeper::Memory, Keeper::Global))
            }
            (PlaceBase::Str(_), _) => Some(Keeper::Memory),
            (PlaceBase::Local(local), None) => Some(Keeper::Part(local)),
            (_, Some(local)) => self.kept_by_local(local, origin),
        };
        if let Some(keeper) = keeper {
            found.push((span, origin, keeper));
        }
    }

    /// An integer made from a pointer keeps nothing.
    fn keeps_pointer(&self, dest: &Place) -> bool {
        mir::ty::place_ty(self.program, self.body, dest).is_ok_and(|qty| self.is_pointer(qty.ty))
    }

    fn kept_by_local(&self, local: Local, origin: Origin) -> Option<Keeper> {
        let decl = self.decl(local)?;
        if decl.heap {
            return Some(Keeper::Heap(local));
        }
        if !self.tracked.contains(local.0 as usize) {
            return Some(Keeper::Taken(local));
        }
        let target = self.decl(origin.block?)?;
        (!self.encloses(target.scope, decl.scope)).then_some(Keeper::Outer(local))
    }

    /// Whether `inner` is `outer` or lies in it.
    fn encloses(&self, outer: ScopeId, inner: ScopeId) -> bool {
        let mut at = Some(inner);
        while let Some(scope) = at {
            if scope == outer {
                return true;
            }
            // Parents stand before their children; anything else ends the walk.
            at = self.body.scopes.get(scope.0 as usize).and_then(|s| s.parent).filter(|p| p.0 < scope.0);
        }
        false
    }

    fn arguments(
        &self,
        callee: &Callee,
        args: &[Operand],
        ty: Ty,
        span: Span,
        found: &mut Vec<(Span, Origin, Keeper)>,
    ) {
        let Some(func) = self.func_ty(ty) else { return };
        // A parameter of a type that is a type parameter is checked once for all types: as if it were kept.
        let generic = match callee {
            Callee::Direct(f) if !f.args.is_empty() => {
                self.program.functions.get(f.func.0 as usize).and_then(|f| self.func_ty(f.ty))
            }
            _ => None,
        };
        for (n, arg) in args.iter().enumerate() {
            let origin = self.operand(arg);
            let Some(param) = func.params.get(n).filter(|_| !origin.is_heap()) else { continue };
            let wants_heap = self.program.types.as_pointer(param.ty).is_some_and(|p| p.region == Region::Heap);
            let own = generic.as_ref().and_then(|g| g.params.get(n));
            let is_generic = own.is_some_and(|p| matches!(self.program.types.kind(p.ty), TyKind::Param(_)));
            if wants_heap || is_generic {
                found.push((span, origin, Keeper::Parameter(n as u32)));
            }
        }
    }

    fn returned(&self, operand: &Operand, span: Span, found: &mut Vec<(Span, Origin, Keeper)>) {
        let origin = self.operand(operand);
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let into = function.and_then(|f| self.func_ty(f.ty)).and_then(|f| f.into);
        let allowed = into.map_or(0, |n| Origin::param(n).params);
        if origin.block.is_some() || origin.params & !allowed != 0 {
            found.push((span, origin, Keeper::Return));
        }
    }

    fn name(&self, local: Local) -> Option<String> {
        self.decl(local)?.name.map(|n| n.to_string())
    }

    fn report(&self, span: Span, origin: Origin, keeper: &Keeper, sink: &mut Sink, reported: &mut BitSet) {
        let source = origin.block.unwrap_or(Local(origin.params.trailing_zeros()));
        // One report for each target, and none for what follows from a variable that was reported.
        let kept_in = match keeper {
            Keeper::Part(l) | Keeper::Taken(l) | Keeper::Heap(l) | Keeper::Outer(l) => Some(*l),
            _ => None,
        };
        let follows = kept_in.is_some_and(|l| reported.contains(l.0 as usize) && self.is_pointer_local(l));
        if follows || !reported.insert(source.0 as usize) {
            return;
        }
        let decl = self.decl(source);
        let what = self.describe(source, origin);
        let message = self.message(&what, origin, keeper);
        let mut diagnostic = Diagnostic::error(OUTLIVES, span, message);
        if let Some(decl) = decl {
            let name = self.name(source).map_or("it".into(), |n| format!("`{n}`"));
            let text = if origin.block.is_some() {
                format!("{name} lives until the end of its block")
            } else {
                format!("{name} is not declared `@heap`: it may point into the caller's frame")
            };
            diagnostic = diagnostic.label(decl.span, text);
        }
        if let Some(decl) = kept_in.and_then(|l| self.decl(l)).filter(|d| d.name.is_some()) {
            diagnostic = diagnostic.label(decl.span, "it is kept here");
        }
        let help = if origin.block.is_some() {
            "allocate it in the heap with `new` or `malloc`, or let the caller pass the memory"
        } else {
            "declare the parameter `@heap` (`T *@heap p`): callers then pass heap pointers only"
        };
        sink.push(diagnostic.help(help));
    }

    /// `&x`, an array by its name, or what a parameter points to.
    fn describe(&self, source: Local, origin: Origin) -> String {
        let Some(name) = self.name(source) else { return "the address of a temporary object".into() };
        if origin.block.is_none() {
            return format!("what `{name}` points to");
        }
        let is_array =
            self.decl(source).is_some_and(|d| matches!(self.program.types.kind(d.ty.ty), TyKind::Array { .. }));
        if is_array {
            format!("`{name}`")
        } else {
            format!("`&{name}`")
        }
    }

    fn message(&self, what: &str, origin: Origin, keeper: &Keeper) -> String {
        let does = if origin.block.is_some() { "does" } else { "may" };
        let named = |l: &Local| self.name(*l).map_or("a variable".into(), |n| format!("`{n}`"));
        match keeper {
            Keeper::Return => format!("{what} {does} not outlive the function: it is returned"),
            Keeper::Memory => format!("{what} {does} not outlive the memory that it is stored in"),
            Keeper::Global(name) => format!("{what} {does} not outlive the global `{name}` that it is stored in"),
            Keeper::Part(l) => {
                format!("{what} is stored in a part of {}, and pointers in memory may outlive it", named(l))
            }
            Keeper::Taken(l) => {
                format!("{what} is stored in {}, whose address is taken: pointers in memory may outlive it", named(l))
            }
            Keeper::Heap(l) => format!("{what} {does} not outlive the heap, and {} is `@heap`", named(l)),
            Keeper::Outer(l) => format!("{what} does not outlive {}, which is declared outside its block", named(l)),
            Keeper::Parameter(n) => {
                format!("{what} is passed as argument {}, which wants a heap pointer and may outlive it", n + 1)
            }
            Keeper::Later => format!("{what} is used after its block has ended, which it does not outlive"),
        }
    }
}
