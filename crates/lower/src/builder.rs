//! The state of lowering one function, and the small steps that all else is made of.

use crate::effects;
use crate::place::only_read;
use crate::scopes::LiveNode;
use mir::effects::PartMut;
use mir::ir::{self, *};
use rustc_hash::{FxHashMap, FxHashSet};
use source::Span;
use std::rc::Rc;
use typing::tree::{self, BorrowKind, FuncId, FuncRef, LocalId};
use typing::types::*;

/// Lowers one function.
pub(crate) struct Lower<'t, 'p> {
    /// Types, functions, globals and literals.
    pub program: &'p mut Program,
    /// What is lowered.
    pub tree: &'t tree::Body,
    /// What comes out.
    pub body: ir::Body,
    /// The block that statements go to.
    pub current: BlockId,
    /// The span of what is being lowered.
    pub span: Span,
    /// Whether it stands in `unsafe` code.
    pub is_unsafe: bool,
    /// The innermost scope.
    pub scope: ScopeId,
    /// Innermost of what the scopes around hold: a path in the tree `lives`.
    pub live: usize,
    /// How many blocks and statements of statements are around.
    pub nesting: u32,
    /// All locals and defers in their nesting.
    pub lives: Vec<LiveNode<'t>>,
    /// Where each tree local is.
    pub locals: Vec<Local>,
    /// Tree locals whose address is taken.
    pub taken: Vec<bool>,
    /// Labels: block and what is live there, once seen.
    pub labels: Vec<(Option<BlockId>, Option<usize>)>,
    /// Jumps to labels, finished at the end.
    pub gotos: Vec<Jump>,
    /// Loops and switches around.
    pub frames: Vec<Frame>,
    /// The switch statements around.
    pub switches: Vec<Switch>,
    /// Cursors: what they point at is an owned path, not a slot.
    pub cursors: Vec<Local>,
    /// Those of them that take out what a slot holds.
    pub taking: Vec<Local>,
    /// Each `open`: handle, key, region.
    pub opened: Vec<(Local, Place, Region)>,
    /// What each `unpack` that lends has unpacked, and its regions.
    pub unpacked: Vec<(Place, Vec<u32>)>,
    /// Regions that have their scope: those of keys and borrows with the local that introduced
    /// them.
    pub introduced: FxHashMap<u32, Option<Local>>,
    /// The variables that hold the states of ends, of those that a `switch (state d)` is over.
    pub end_states: FxHashMap<Local, Local>,
    /// Temporaries that have what is lent to a call: they own nothing, whatever their types say.
    pub lent: FxHashSet<Local>,
    /// The variables of values whose slots free what they hold, by the expressions that give them.
    pub unnamed: FxHashMap<*const tree::Expr, Local>,
}

/// A jump whose target's scopes are not known yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    /// The block of the jump.
    pub block: BlockId,
    /// What is live at the jump.
    pub live: usize,
    /// The scope of the jump.
    pub scope: ScopeId,
    /// The label.
    pub label: u32,
    /// The jump.
    pub span: Span,
}

/// Where `break` and `continue` go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// After the statement.
    pub on_break: BlockId,
    /// The next round; `None` for `switch`.
    pub on_continue: Option<BlockId>,
    /// What is live there.
    pub live: usize,
}

/// A `switch` being lowered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Switch {
    /// Ranges, blocks and what is live at the label.
    pub cases: Vec<(i128, i128, BlockId, usize)>,
    /// `default`
    pub default: Option<(BlockId, usize)>,
    /// The place of a tagged switch.
    pub place: Option<(Place, Qty)>,
    /// The end of a `switch (state d)`.
    pub end: Option<Place>,
    /// The binding of the last label.
    pub binding: Option<Binding>,
}

/// The variable that a `case .member(variable):` binds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    /// What is live before it.
    pub before: usize,
    /// What is live with it.
    pub live: usize,
    /// How deep the label stands.
    pub nesting: u32,
}

impl<'t, 'p> Lower<'t, 'p> {
    /// Lowers the body of function `number`.
    pub fn function(program: &'p mut Program, number: u32, tree: &'t tree::Body) -> ir::Body {
        let span = program.functions.get(number as usize).map_or(Span::NONE, |f| f.span);
        let body = ir::Body {
            func: FuncRef { func: FuncId(number), args: Rc::from([]) },
            locals: vec![],
            params: tree.params,
            scopes: vec![Scope { parent: None, span: span.to(tree.end) }],
            blocks: vec![],
            unchecked: tree.unchecked,
            format: tree.format,
            regions: vec![],
            infer_regions: tree.infer_regions,
            infer_owes: vec![],
            address_labels: vec![],
            span,
            end: tree.end,
        };
        let mut this = Lower {
            program,
            tree,
            body,
            current: BlockId(0),
            span,
            is_unsafe: tree.is_unsafe,
            scope: ScopeId(0),
            live: 0,
            nesting: 0,
            lives: vec![LiveNode::root()],
            locals: vec![],
            taken: effects::address_taken(tree),
            labels: vec![(None, None); tree.labels.len()],
            gotos: vec![],
            frames: vec![],
            switches: vec![],
            cursors: vec![],
            taking: vec![],
            opened: vec![],
            unpacked: vec![],
            introduced: FxHashMap::default(),
            end_states: FxHashMap::default(),
            lent: FxHashSet::default(),
            unnamed: FxHashMap::default(),
        };
        this.declare_regions();
        this.entry();
        this.keep_consumed();
        this.block_stmts(&tree.block);
        this.function_end();
        this.finish_gotos();
        this.address_labels(number);
        crate::end_states::follow(this.program, &mut this.body, &this.end_states);
        crate::control::prune(&mut this.body);
        this.body
    }

    /// Declares the locals, copies counted parameters into fat variables.
    fn entry(&mut self) {
        self.current = self.new_block();
        let params: Vec<Ty> = self.func_ty().map_or(vec![], |f| f.params.iter().map(|p| p.ty).collect());
        let mut counted = vec![];
        for (i, local) in self.tree.locals.iter().enumerate() {
            let is_param = (i as u32) < self.tree.params;
            let mut ty = local.ty;
            if is_param {
                if let Some(&outside) = params.get(i) {
                    if self.is_counted(outside) && !self.is_counted(ty.ty) {
                        ty = Qty { ty: outside, ..ty };
                        counted.push(i);
                    }
                }
            }
            self.body.locals.push(LocalDecl {
                name: local.name,
                ty,
                kind: if is_param { LocalKind::Param } else { LocalKind::Var },
                scope: ScopeId(0),
                address_taken: self.taken.get(i).copied().unwrap_or(false),
                slot: false,
                heap: local.heap,
                align: local.align,
                span: local.span,
                uses: vec![],
            });
            self.locals.push(Local(i as u32));
        }
        if !self.body.unchecked && self.taken.contains(&true) {
            let reached = effects::reached(self.tree, &self.program.types);
            for (decl, reached) in self.body.locals.iter_mut().zip(reached) {
                decl.slot = reached && mir::ty::owns(&self.program.types, decl.ty.ty);
            }
        }
        let arrived: Vec<Operand> = (0..self.tree.params).map(|i| Operand::local(Local(i))).collect();
        for i in counted {
            self.counted_param(i, &arrived);
        }
    }

    /// A `counted_by` parameter becomes a fat variable; its count is read here, at entry.
    fn counted_param(&mut self, i: usize, arrived: &[Operand]) {
        let Some(tree_local) = self.tree.locals.get(i) else { return };
        let param = Local(i as u32);
        let counted = self.local_ty(param);
        let var = Local(self.body.locals.len() as u32);
        let mut decl = self.body.locals[i].clone();
        decl.ty = tree_local.ty;
        decl.kind = LocalKind::Var;
        self.body.locals.push(decl);
        self.body.locals[i].address_taken = false;
        self.locals[i] = var;
        let saved = self.enter(tree_local.span, false);
        if let Some(Pointer { bounds: Bounds::Counted(id), .. }) = self.pointer_of(counted) {
            let count = self.count_of_args(id, arrived);
            self.declare_live(var);
            let value = self.counted_value(i, id, count, tree_local.ty.ty);
            self.assign(Place::local(var), value);
        }
        self.leave(saved);
    }

    /// The fat value of counted parameter `i`. Leeward callers have checked that the elements are
    /// there, so null comes with a count of 0, and an unsigned count is at most the size of an
    /// object: only C's callers need more tests.
    fn counted_value(&mut self, i: usize, id: CountId, count: Operand, ty: Ty) -> Rvalue {
        let param = Operand::local(Local(i as u32));
        let func = self.func_ty();
        let declared = func.as_ref().and_then(|f| f.params.get(i));
        // What is only lent moves as well: the variable is lent in place of the parameter.
        if self.program.types.owns(ty) {
            return Rvalue::MakeCounted { ty, ptr: Operand::Move(Place::local(Local(i as u32))), count };
        }
        if declared.is_none_or(|p| p.optional) || func.is_none_or(|f| f.abi != Abi::Leeward) {
            return Rvalue::MakeCounted { ty, ptr: param, count };
        }
        let negative = match *self.program.types.count_expr(id) {
            CountExpr::Param(n) => {
                let ty = self.local_ty(Local(n));
                self.program.types.as_int(ty).is_none_or(|k| k.signed())
            }
            CountExpr::Const(n) => n < 0,
            _ => true,
        };
        let long = self.common().long;
        let count = if negative { self.clamp(count) } else { count };
        let count = self.numeric(count, long);
        let thin = self.thin(ty);
        let ptr = self.address(param, thin);
        let hi = self.temp_of(Rvalue::Offset(ptr.clone(), count), thin);
        Rvalue::MakeFat { ty, ptr: ptr.clone(), lo: ptr, hi }
    }

    /// The function's type.
    pub fn func_ty(&self) -> Option<Rc<FuncTy>> {
        let function = self.program.functions.get(self.body.func.func.0 as usize)?;
        self.program.types.as_func(function.ty)
    }

    // ---- statements and blocks

    /// A new, empty block.
    pub fn new_block(&mut self) -> BlockId {
        let id = BlockId(self.body.blocks.len() as u32);
        let term = Terminator { kind: TermKind::Unreachable, span: self.span };
        self.body.blocks.push(ir::Block { stmts: vec![], term });
        id
    }

    /// Statements go to `block` from now on.
    pub fn start(&mut self, block: BlockId) {
        self.current = block;
    }

    /// Adds a statement.
    pub fn emit(&mut self, kind: StmtKind) {
        let stmt = ir::Stmt { kind, span: self.span, is_unsafe: self.is_unsafe };
        if let Some(block) = self.body.blocks.get_mut(self.current.0 as usize) {
            block.stmts.push(stmt);
        }
    }

    /// Ends the block; what follows goes to a block that nothing reaches yet.
    pub fn terminate(&mut self, kind: TermKind) {
        let term = Terminator { kind, span: self.span };
        if let Some(block) = self.body.blocks.get_mut(self.current.0 as usize) {
            block.term = term;
        }
        self.current = self.new_block();
    }

    /// Ends the block with a jump and continues at `next`.
    pub fn goto_and_start(&mut self, target: BlockId, next: BlockId) {
        self.set_term(TermKind::Goto(target));
        self.current = next;
    }

    /// Ends the block without starting another.
    pub fn set_term(&mut self, kind: TermKind) {
        let term = Terminator { kind, span: self.span };
        if let Some(block) = self.body.blocks.get_mut(self.current.0 as usize) {
            block.term = term;
        }
    }

    /// `place = value`
    pub fn assign(&mut self, place: Place, value: Rvalue) {
        let of =
            |a: &Operand| matches!(a, Operand::Copy(from) if from.as_local().is_some_and(|l| self.lent.contains(&l)));
        let lent =
            value.as_borrow().is_some_and(|(kind, ..)| kind.is_for_call()) || value.same_address().is_some_and(of);
        self.lent.extend(place.as_local().filter(|&local| lent && self.is_temp(local)));
        let stored = self.looking(place, only_read(value));
        self.emit(stored);
    }

    /// `place = value`. If that copies an owned pointer into what does not own, it is a look: the
    /// owner stays, and the result is for one access. What is made of the pointer (an element's
    /// address, a word of it) is made of the look.
    fn looking(&mut self, place: Place, value: Rvalue) -> StmtKind {
        let Some(Operand::Copy(from)) = value.same_object() else { return StmtKind::Assign(place, value) };
        let place_ty = |place: &Place| mir::ty::place_ty(self.program, &self.body, place).ok().map(|q| q.ty);
        let types = &self.program.types;
        let pointer = |ty: Option<Ty>| ty.and_then(|ty| Some((ty, types.as_pointer(ty)?, mir::ty::owns(types, ty))));
        let (Some((_, owner, true)), Some((to, _, false))) = (pointer(place_ty(from)), pointer(place_ty(&place)))
        else {
            return StmtKind::Assign(place, value);
        };
        let from = from.clone();
        if value.as_use().is_some() {
            return StmtKind::Assign(place, Rvalue::Borrow(BorrowKind::Look, from, to));
        }
        let ty = self.program.types.pointer(Pointer { own: Own::Shared, ..owner });
        let look = self.temp(ty);
        self.emit(StmtKind::set(look, Rvalue::Borrow(BorrowKind::Look, from.clone(), ty)));
        let mut stored = StmtKind::Assign(place, value);
        mir::effects::parts_mut(&mut stored, &mut |part| {
            if let PartMut::Operand(operand @ Operand::Copy(_), _) = part {
                if operand.place() == Some(&from) {
                    *operand = Operand::local(look);
                }
            }
        });
        stored
    }

    /// A check, unless checks are off.
    pub fn check(&mut self, check: Check) {
        if !self.checks_off() {
            self.emit(StmtKind::Check(check));
        }
    }

    /// Fills a place with zeros.
    pub fn fill_zero(&mut self, place: Place) {
        self.emit(StmtKind::Zero(place));
    }

    /// A check that the pointer is not null.
    pub fn check_nonnull(&mut self, pointer: Operand) {
        self.check(Check::NotNull(pointer));
    }

    /// `__builtin_unreachable()`, or a jump to nowhere.
    pub fn unreachable(&mut self) {
        if !self.body.unchecked {
            self.emit(StmtKind::Check(Check::Unreachable));
        }
        self.terminate(TermKind::Unreachable);
    }

    /// A tree that the checker should not have let through: the program ends if it gets here.
    pub fn impossible(&mut self) {
        self.emit(StmtKind::Check(Check::Unreachable));
        self.terminate(TermKind::Unreachable);
    }

    /// Whether checks are off: `unsafe`, plain C.
    pub fn checks_off(&self) -> bool {
        self.is_unsafe || self.body.unchecked
    }

    /// Enters a node: statements carry its span and mode until `leave`.
    pub fn enter(&mut self, span: Span, is_unsafe: bool) -> (Span, bool) {
        let saved = (self.span, self.is_unsafe);
        if span != Span::NONE {
            self.span = span;
        }
        self.is_unsafe |= is_unsafe;
        saved
    }

    /// Leaves a node.
    pub fn leave(&mut self, saved: (Span, bool)) {
        (self.span, self.is_unsafe) = saved;
    }

    /// Runs `then` only if the operand is not null or zero.
    pub fn when(&mut self, op: Operand, then: impl FnOnce(&mut Self)) {
        let yes = self.new_block();
        let join = self.new_block();
        self.set_term(TermKind::If(op, yes, join));
        self.start(yes);
        then(self);
        self.goto_and_start(join, join);
    }

    // ---- locals and operands

    /// A new temporary.
    pub fn temp(&mut self, ty: Ty) -> Local {
        let local = Local(self.body.locals.len() as u32);
        self.body.locals.push(LocalDecl::temp(ty, self.scope, self.span));
        local
    }

    /// The value in a new temporary.
    pub fn temp_of(&mut self, value: Rvalue, ty: Ty) -> Operand {
        let temp = self.temp(ty);
        self.assign(Place::local(temp), value);
        self.give(temp)
    }

    /// What is copied or moved as it is; any other value in a new temporary.
    pub fn operand_of(&mut self, value: Rvalue, ty: Ty) -> Operand {
        match value.as_use() {
            Some(op) => op.clone(),
            None => self.temp_of(value, ty),
        }
    }

    /// The value of a temporary for its one use: what it owns moves on, what is lent to a call stays
    /// where it is.
    pub fn give(&mut self, temp: Local) -> Operand {
        let place = Place::local(temp);
        if mir::ty::owns(&self.program.types, self.local_ty(temp)) && !self.lent.contains(&temp) {
            Operand::Move(place)
        } else {
            Operand::Copy(place)
        }
    }

    /// Where a tree local is.
    pub fn local(&mut self, id: LocalId) -> Local {
        self.locals.get(id.0 as usize).copied().unwrap_or(Local(0))
    }

    /// The type of a MIR local.
    pub fn local_ty(&self, local: Local) -> Ty {
        self.body.locals.get(local.0 as usize).map_or(self.program.types.common.error, |l| l.ty.ty)
    }

    /// The type of an operand.
    pub fn operand_ty(&self, op: &Operand) -> Ty {
        mir::ty::operand_ty(self.program, &self.body, op).unwrap_or(self.program.types.common.error)
    }

    /// Whether an operand may stay as it is while other statements run that do not assign to it: a
    /// constant or (a field of) a local that is not volatile.
    pub fn is_simple(&self, op: &Operand) -> bool {
        match op {
            Operand::Const(_) => true,
            Operand::Move(place) => place.as_local().is_some_and(|l| self.is_temp(l)),
            Operand::Copy(place) => match place.base {
                PlaceBase::Local(l) => {
                    place.proj.iter().all(Proj::is_field)
                        && self.body.locals.get(l.0 as usize).is_some_and(|decl| !decl.ty.quals.is_volatile)
                }
                _ => false,
            },
        }
    }

    /// The operand, in a temporary unless it is simple.
    pub fn simple(&mut self, op: Operand) -> Operand {
        if self.is_simple(&op) {
            return op;
        }
        self.held(op)
    }

    /// The operand in a new temporary. What only looks at an owned pointer does not own.
    fn held(&mut self, op: Operand) -> Operand {
        let ty = self.operand_ty(&op);
        let ty = if matches!(op, Operand::Move(_)) { ty } else { self.unowned(ty) };
        self.temp_of(Rvalue::Use(op), ty)
    }

    fn is_temp(&self, local: Local) -> bool {
        self.body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp)
    }

    /// The operand in a temporary if it reads a variable.
    pub fn freeze(&mut self, op: Operand) -> Operand {
        match &op {
            Operand::Const(_) => op,
            Operand::Copy(p) | Operand::Move(p) => match p.as_local() {
                Some(l) if self.is_temp(l) => op,
                _ => self.held(op),
            },
        }
    }

    /// The operand, in a temporary unless it is a constant or a whole local.
    pub fn whole(&mut self, op: Operand) -> Operand {
        let op = self.simple(op);
        if op.place().is_none_or(|place| place.as_local().is_some()) {
            return op;
        }
        self.freeze(op)
    }

    /// Notes that a place's address is taken.
    pub fn take_address(&mut self, place: &Place) {
        if place.proj.contains(&Proj::Deref) {
            return;
        }
        if let PlaceBase::Local(l) = place.base {
            if let Some(decl) = self.body.locals.get_mut(l.0 as usize) {
                decl.address_taken = true;
            }
        }
    }

    // ---- constants and types

    /// Often used types.
    pub fn common(&self) -> Common {
        self.program.types.common
    }

    /// An integer constant.
    pub fn int(&self, value: i128, ty: Ty) -> Operand {
        Operand::Const(Const::Int(value, ty))
    }

    /// A `size_t` constant.
    pub fn size(&self, value: u64) -> Operand {
        self.int(i128::from(value), self.common().ulong)
    }

    /// `sizeof` as an operand, a number if it is known.
    pub fn size_of(&self, ty: Ty) -> Operand {
        match self.program.types.layout(ty) {
            Some(layout) if !self.is_variable(ty) => self.size(layout.size),
            _ => Operand::Const(Const::SizeOf(ty)),
        }
    }

    fn is_variable(&self, ty: Ty) -> bool {
        matches!(self.program.types.kind(ty), TyKind::Array { len: ArrayLen::Variable(_), .. })
    }

    /// The pointer shape of a type.
    pub fn pointer_of(&self, ty: Ty) -> Option<Pointer> {
        self.program.types.as_pointer(ty)
    }

    /// Whether the type is a one-word `counted_by` pointer.
    pub fn is_counted(&self, ty: Ty) -> bool {
        matches!(self.pointer_of(ty), Some(Pointer { bounds: Bounds::Counted(_), .. }))
    }

    /// Whether the type is a pointer with bounds words.
    pub fn is_fat(&self, ty: Ty) -> bool {
        self.pointer_of(ty).is_some_and(|p| p.bounds.is_fat())
    }

    /// Whether the type is Leeward's two-word `void *`.
    pub fn is_typed_void(&self, ty: Ty) -> bool {
        self.pointer_of(ty).is_some_and(|p| self.program.types.is_typed_void(&p))
    }

    /// The one-word pointer to the same target (its `raw` form for `void`).
    pub fn thin(&mut self, ty: Ty) -> Ty {
        match self.pointer_of(ty) {
            Some(p) => {
                let own = if p.own.is_owned() { Own::Shared } else { p.own };
                self.thin_in(p.target, own, p.region)
            }
            None => ty,
        }
    }

    /// The one-word pointer that owns what a pointer of the type owns.
    pub fn thin_owner(&mut self, ty: Ty) -> Ty {
        match self.pointer_of(ty) {
            Some(p) => self.thin_in(p.target, p.own, p.region),
            None => ty,
        }
    }

    /// The pointer type without its ownership: what looks at an owned value.
    pub fn unowned(&mut self, ty: Ty) -> Ty {
        match self.pointer_of(ty) {
            Some(p) if p.own.is_owned() => self.program.types.pointer(Pointer { own: Own::Shared, ..p }),
            _ => ty,
        }
    }

    /// A one-word pointer to `target`.
    pub fn thin_to(&mut self, target: Qty) -> Ty {
        self.thin_in(target, Own::Shared, Region::Heap)
    }

    fn thin_in(&mut self, target: Qty, own: Own, region: Region) -> Ty {
        let raw = matches!(self.program.types.kind(target.ty), TyKind::Void);
        self.program.types.pointer(Pointer { target, bounds: Bounds::Thin, nonnull: false, own, region, raw })
    }

    /// Zero or null of a scalar type.
    pub fn zero(&self, ty: Ty) -> Option<Operand> {
        Some(Operand::Const(match self.program.types.kind(ty) {
            TyKind::Bool | TyKind::Int(_) | TyKind::Enum(_) => Const::Int(0, ty),
            TyKind::Float(_) => Const::Float("0.0".into(), ty),
            TyKind::Ptr(_) | TyKind::NullPtr => Const::Null(ty),
            _ => return None,
        }))
    }

    /// Whether the type is an array, struct or union: what is zeroed when it is not initialised.
    pub fn is_aggregate(&self, ty: Ty) -> bool {
        matches!(self.program.types.kind(ty), TyKind::Array { .. } | TyKind::Record(_))
    }

    /// The fields of a record type.
    pub fn fields_of(&self, ty: Ty) -> Option<(RecordId, Rc<Vec<Field>>)> {
        let id = self.program.types.as_record(ty)?;
        let fields = self.program.types.record(id).fields.clone()?;
        Some((id, fields))
    }
}
