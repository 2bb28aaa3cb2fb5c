//! MIR to the form that runs.

use crate::code::*;
use crate::machine::Machine;
use crate::memory::Loc;
use crate::table::Claims;
use crate::types::{align, repr, size};
use mir::effects;
use mir::ir::{self, Const, ConstAddrKey, Operand, PlaceBase, Proj, Proof, Rvalue, SelectCase, StmtKind, TermKind};
use mir::ty::{operand_ty, owns, place_ty};
use std::rc::Rc;
use typing::tree::GlobalId;

/// Bytes of the stack that a call takes beside its locals.
const FRAME: u64 = 200;
use typing::types::*;

impl<'p> Machine<'p> {
    /// The function in the form that runs.
    pub fn compile(&mut self, body: &'p ir::Body) -> Code {
        let types = &self.program.types;
        let function = self.program.functions.get(body.func.func.0 as usize);
        let ty = function
            .and_then(|f| self.func_ty(&body.func, f.ty))
            .unwrap_or_else(|| Rc::new(FuncTy::new(types.common.void, vec![], Abi::Leeward)));
        let mut locals: Vec<Local> = body
            .locals
            .iter()
            .map(|decl| Local {
                off: 0,
                object: decl.address_taken || decl.kind == ir::LocalKind::Cell,
                size: size(types, decl.ty.ty),
                align: align(types, decl.ty.ty).max(decl.align.unwrap_or(1)),
                ty: decl.ty.ty,
                owns: owns(types, decl.ty.ty),
                span: decl.span,
                scoped: false,
            })
            .collect();
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            addressed(&stmt.kind, &mut locals);
        }
        let mut registers = 0u64;
        for local in locals.iter_mut().filter(|l| !l.object) {
            registers = registers.next_multiple_of(local.align.clamp(1, 16));
            local.off = registers as i64;
            registers += local.size;
        }
        let objects = locals.iter().filter(|l| l.object).fold(0u64, |sum, l| sum.saturating_add(l.size));
        let frame = registers.saturating_add(objects).saturating_add(FRAME) as usize;
        let mut compiler = Compiler { machine: self, body, locals: &locals, globals: vec![] };
        let blocks = body.blocks.iter().map(|b| compiler.block(b)).collect();
        let globals = compiler.globals;
        Code {
            globals,
            params: body.params,
            registers: registers as usize,
            frame,
            blocks,
            ty,
            unchecked: body.unchecked,
            leaks: function.is_some_and(|f| f.allows.leaks),
            locals,
        }
    }
}

/// Marks the locals whose address a statement takes, and those that have a scope.
fn addressed(kind: &StmtKind, locals: &mut [Local]) {
    let mut mark = |place: &ir::Place| {
        let PlaceBase::Local(local) = place.base else { return };
        if !place.proj.contains(&Proj::Deref) {
            if let Some(local) = locals.get_mut(local.0 as usize) {
                local.object = true;
            }
        }
    };
    // Not from the table, which the oracle compares with what happens.
    let address = kind.value().and_then(Rvalue::address_of);
    address.or(kind.as_cursor().map(|(_, place)| place)).into_iter().for_each(&mut mark);
    if let Some(local) = kind.begins().and_then(|local| locals.get_mut(local.0 as usize)) {
        local.scoped = true;
    }
}

struct Compiler<'m, 'p> {
    machine: &'m mut Machine<'p>,
    body: &'p ir::Body,
    locals: &'m [Local],
    globals: Vec<GlobalId>,
}

impl Compiler<'_, '_> {
    fn types(&self) -> &TypeStore {
        &self.machine.program.types
    }

    fn block(&mut self, block: &ir::Block) -> Block {
        let stmts = block.stmts.iter().map(|s| (self.stmt(&s.kind), s.span, s.is_unsafe)).collect();
        let term = match &block.term.kind {
            TermKind::Goto(b) => Term::Goto(b.0),
            TermKind::If(op, yes, no) => Term::If(self.op(op), yes.0, no.0),
            TermKind::Switch(op, arms, other) => {
                Term::Switch(self.op(op), arms.iter().map(|(lo, hi, b)| (*lo, *hi, b.0)).collect(), other.0)
            }
            TermKind::Return(op) => Term::Return(op.as_ref().map(|op| self.op(op))),
            TermKind::MissingReturn => Term::Missing,
            TermKind::Unreachable => Term::Unreachable,
            TermKind::GotoComputed(op) => Term::Computed(self.op(op)),
        };
        let claims = if self.machine.options.table { self.claims(block) } else { vec![] };
        Block { stmts, claims, term, span: block.term.span }
    }

    /// What the table says of each statement and of the terminator.
    fn claims(&mut self, block: &ir::Block) -> Vec<Claims> {
        let mut all = vec![];
        for stmt in &block.stmts {
            let mut claims = Claims::new();
            effects::accesses(&stmt.kind, &mut |place, kind, _| self.claim(&mut claims, place, kind));
            claims.flags(effects::flags(&stmt.kind));
            all.push(claims);
        }
        let mut claims = Claims::new();
        effects::term_accesses(&block.term.kind, &mut |place, kind, _| self.claim(&mut claims, place, kind));
        all.push(claims);
        all
    }

    fn claim(&mut self, claims: &mut Claims, place: &ir::Place, kind: effects::Kind) {
        match (kind, place.as_local()) {
            (effects::Kind::Begin | effects::Kind::End, Some(local)) => claims.storage(local.0),
            _ => claims.access(self.place(place), kind),
        }
    }

    fn stmt(&mut self, kind: &StmtKind) -> Stmt {
        match kind {
            StmtKind::Assign(place, value) => match self.value(value) {
                Ok(mut value) => {
                    let place = self.place(place);
                    if let Value::Alloc(alloc) = &mut value {
                        let pointer = self.types().as_pointer(place.ty);
                        alloc.exchange = pointer.is_some_and(|p| p.region == Region::Exchange);
                    }
                    Stmt::Assign(place, value)
                }
                Err(what) => Stmt::Unsupported(what),
            },
            StmtKind::Call { dest, callee, args, ty } => {
                let callee = match callee {
                    ir::Callee::Spawn(f, _) => Callee::Spawn(f.clone()),
                    ir::Callee::Direct(f) => Callee::Direct(f.clone()),
                    ir::Callee::Pointer(op) => Callee::Pointer(self.op(op)),
                    ir::Callee::Builtin(name) => Callee::Builtin(*name),
                    ir::Callee::Start(f) => Callee::Start(f.clone()),
                };
                let ty = self.signature(*ty);
                Stmt::Call {
                    dest: dest.as_ref().map(|p| self.place(p)),
                    callee,
                    args: args.iter().map(|a| self.op(a)).collect(),
                    ty,
                }
            }
            StmtKind::Check(check) => self.check(check),
            StmtKind::Prove(Proof::EndFound { end, states, closed }) => {
                Stmt::EndFound(self.op(end), states.clone(), *closed)
            }
            StmtKind::Prove(Proof::NonNull(_) | Proof::EndCases { .. })
            | StmtKind::Nop
            | StmtKind::Pack(..)
            | StmtKind::UnpackBegin { .. }
            | StmtKind::UnpackEnd(..) => Stmt::Nop,
            StmtKind::StorageLive(local) => Stmt::Live(local.0),
            StmtKind::StorageDead(local) => Stmt::Dead(local.0),
            StmtKind::Zero(place) => Stmt::Zero(self.place(place)),
            StmtKind::CopyElements { to, from, count } => {
                let elem = self.target(to);
                let size = size(self.types(), elem);
                let left = operand_ty(self.machine.program, self.body, from)
                    .is_ok_and(|ty| self.types().as_pointer(ty).is_some_and(|p| p.bounds.is_fat()));
                Stmt::CopyElements { to: self.op(to), from: self.op(from), count: self.op(count), elem, size, left }
            }
            StmtKind::SetTag(place, member) => Stmt::SetTag(self.place(place), *member),
            StmtKind::VaStart(place) => Stmt::VaStart(self.place(place)),
            StmtKind::VaEnd(place) => Stmt::VaEnd(self.place(place)),
            StmtKind::VaCopy(to, from) => Stmt::VaCopy(self.place(to), self.place(from)),
            StmtKind::ChannelNew { contract, state, imp, exp } => {
                Stmt::ChannelNew { contract: *contract, state: *state, imp: self.place(imp), exp: self.place(exp) }
            }
            StmtKind::Send { end, message, args } => {
                let args = args.iter().map(|a| self.op(a)).collect();
                Stmt::Send { end: self.place(end), message: *message, args }
            }
            StmtKind::Select { dest, cases, has_default } => {
                let (mut heads, mut after) = (vec![], None);
                for case in cases {
                    match case {
                        SelectCase::Heads(wanted) => {
                            heads.push(wanted.iter().map(|(place, head)| (self.place(place), *head)).collect());
                        }
                        SelectCase::After(time) => after = Some(self.op(time)),
                    }
                }
                Stmt::Select { dest: self.place(dest), cases: heads, after, has_default: *has_default }
            }
            StmtKind::Receive { end, head, binds, waits } => {
                let binds = binds.iter().map(|place| self.place(place)).collect();
                Stmt::Receive { end: self.place(end), head: *head, binds, waits: *waits }
            }
            StmtKind::SetNew(place) => Stmt::SetNew(self.place(place)),
            StmtKind::SetAdd { set, end, value } => {
                let (end, value) = (self.op(end), value.as_ref().map(|value| self.op(value)));
                Stmt::SetAdd { set: self.place(set), end, value }
            }
            StmtKind::SetTake { set, head, end, value } => {
                let value = value.as_ref().map(|value| self.place(value));
                Stmt::SetTake { set: self.place(set), head: *head, end: self.place(end), value }
            }
            StmtKind::Assembly(_) => Stmt::Unsupported("inline assembly"),
            StmtKind::ArenaBegin(local, _) => Stmt::ArenaBegin(self.place(&ir::Place::local(*local))),
            StmtKind::ArenaEnd(local, _) => Stmt::ArenaEnd(self.place(&ir::Place::local(*local))),
            StmtKind::OpenBegin(local, key, _) => Stmt::Open(self.place(&ir::Place::local(*local)), self.place(key)),
            StmtKind::Close(..) => Stmt::Nop,
            StmtKind::Dispose { value, handle, moved } => {
                let mut places = vec![];
                if let Some(place) = value.place() {
                    for path in moved {
                        let mut place = place.then(Proj::Deref);
                        place.proj.extend(path.iter().cloned());
                        places.push(self.place(&place));
                    }
                }
                Stmt::Dispose { value: self.op(value), handle: handle.as_ref().map(|h| self.op(h)), moved: places }
            }
            StmtKind::DropSlot(place) => Stmt::DropSlot(self.place(place)),
            StmtKind::Exchange(a, b) => Stmt::Swap(self.place(a), self.place(b), self.is_path(a) && self.is_path(b)),
            StmtKind::CursorEnd(cursor) => Stmt::CursorEnd(cursor.0),
            StmtKind::CursorBegin(cursor, of) => {
                let is_cursor = |local| mir::cursors::is_cursor(self.body, local);
                let slot = mir::cursors::takes_out(self.machine.program, self.body, of, &is_cursor);
                Stmt::CursorBegin(cursor.0, self.place(&ir::Place::local(*cursor)), self.place(of), slot)
            }
        }
    }

    fn signature(&self, ty: Ty) -> Rc<FuncTy> {
        let types = self.types();
        let func = match types.kind(ty) {
            TyKind::Ptr(p) => types.as_func(p.target.ty),
            _ => types.as_func(ty),
        };
        func.unwrap_or_else(|| Rc::new(FuncTy::new(types.common.void, vec![], Abi::C)))
    }

    /// What a pointer operand points to.
    fn target(&self, op: &Operand) -> Ty {
        let ty = operand_ty(self.machine.program, self.body, op).unwrap_or(self.types().common.error);
        self.types().as_pointer(ty).map_or(self.types().common.char_, |p| p.target.ty)
    }

    /// Bytes of what a pointer operand points to; of what has none, 1.
    fn stride(&self, op: &Operand) -> u64 {
        let target = self.target(op);
        match self.types().kind(target) {
            TyKind::Void | TyKind::Func(_) | TyKind::Error => 1,
            _ => size(self.types(), target),
        }
    }

    // ---- places

    fn place(&mut self, place: &ir::Place) -> Place {
        let program = self.machine.program;
        let types = &program.types;
        let (base, mut off) = match place.base {
            PlaceBase::Local(local) => match self.locals.get(local.0 as usize) {
                Some(local) if !local.object => (Base::Reg, local.off),
                _ => (Base::Local(local.0), 0),
            },
            PlaceBase::Global(global) => (Base::Global(self.global(global).0), 0),
            PlaceBase::Str(literal) => (Base::Fixed(self.machine.literal(literal)), 0),
        };
        let mut steps: Vec<Step> = vec![];
        let mut bits = None;
        for (n, step) in place.proj.iter().enumerate() {
            let ty = mir::ty::prefix_ty(program, self.body, place, n).map_or(types.common.error, |q| q.ty);
            let mut add = |bytes: i64| match steps.last_mut() {
                Some(Step::Deref(more) | Step::Index(_, _, _, more)) => *more += bytes,
                None => off += bytes,
            };
            bits = None;
            match step {
                Proj::Deref => steps.push(Step::Deref(0)),
                Proj::Field(n) => {
                    let id = types.as_record(ty);
                    let layout = id.and_then(|id| types.record_layout(id));
                    let at = layout.and_then(|(_, places)| places.get(*n as usize).copied());
                    add(at.map_or(0, |p| p.offset as i64));
                    let field =
                        id.and_then(|id| types.record(id).fields.clone()).and_then(|f| f.get(*n as usize).cloned());
                    if let (Some(field), Some(at)) = (field, at) {
                        bits = field.width.map(|width| (at.bit, width));
                    }
                }
                Proj::Index(index) => {
                    let (elem, len) = match types.kind(ty) {
                        TyKind::Array { elem, len, .. } => (elem.ty, *len),
                        _ => (ty, ArrayLen::Unknown),
                    };
                    let len = match len {
                        ArrayLen::Const(n) if !self.body.unchecked => Some(n),
                        _ => None,
                    };
                    let stride = size(types, elem);
                    match index {
                        Operand::Const(Const::Int(i, _)) if len.is_none_or(|n| (0..i128::from(n)).contains(i)) => {
                            add((*i as i64).wrapping_mul(stride as i64));
                        }
                        _ => {
                            let op = self.op(index);
                            steps.push(Step::Index(op, stride, len, 0));
                        }
                    }
                }
            }
        }
        let ty = place_ty(program, self.body, place).map_or(types.common.error, |q| q.ty);
        Place {
            base,
            off,
            steps: steps.into(),
            ty,
            repr: repr(types, ty),
            // A bit-field's unit may end behind a packed struct.
            size: bits.map_or_else(|| size(types, ty), |(bit, width)| u64::from((bit + width).div_ceil(8))),
            bits,
            owns: owns(types, ty),
            local: place.as_local().is_some(),
        }
    }

    /// The number of a global's definition; the function names it.
    fn global(&mut self, global: GlobalId) -> GlobalId {
        let id = self.machine.defined(global);
        self.machine.global(id);
        if !self.globals.contains(&id) {
            self.globals.push(id);
        }
        id
    }

    // ---- operands

    fn op(&mut self, operand: &Operand) -> Op {
        let program = self.machine.program;
        let ty = operand_ty(program, self.body, operand).unwrap_or(program.types.common.error);
        let kind = match operand {
            Operand::Copy(place) => OpKind::Place(self.place(place), false),
            Operand::Move(place) => OpKind::Place(self.place(place), true),
            Operand::Const(Const::Addr(ConstAddrKey::Global(global), offset, ty)) => {
                let id = self.global(*global);
                let obj = self.machine.global(id);
                let words = self.machine.fixed_pointer(obj, *offset, *offset, None, *ty);
                let start = self.machine.mem.address(Loc { obj, off: 0 });
                let far = words.words().map(|word| word.wrapping_sub(start));
                OpKind::Address(id.0, far, matches!(words, Val::Words(_)))
            }
            Operand::Const(constant) => OpKind::Const(self.constant(constant)),
        };
        Op { kind, ty, repr: repr(&program.types, ty) }
    }

    fn constant(&mut self, constant: &Const) -> Val {
        let types = &self.machine.program.types;
        match constant {
            Const::Int(n, ty) => match repr(types, *ty) {
                Repr::F32 | Repr::F64 | Repr::F80 => Val::Float(*n as f64),
                _ => Val::Int(types.as_int(*ty).map_or(*n, |k| k.wrap(*n))),
            },
            Const::Float(text, ty) => {
                let value = crate::arith::parse_float(text.as_str());
                Val::Float(if repr(types, *ty) == Repr::F32 {
                    f64::from(crate::arith::parse_float32(text.as_str()))
                } else {
                    value
                })
            }
            Const::Null(_) => Val::Int(0),
            Const::Func(func) => Val::ptr(self.machine.function_address(func)),
            Const::SizeOf(ty) => Val::Int(i128::from(size(types, *ty))),
            Const::AlignOf(ty) => Val::Int(i128::from(align(types, *ty))),
            Const::OffsetOf(ty, path) => Val::Int(i128::from(self.offset_of(*ty, path))),
            Const::Addr(key, offset, ty) => {
                let obj = match key {
                    // Each process has its own: `op` takes care of these.
                    ConstAddrKey::Global(g) => self.machine.global(*g),
                    ConstAddrKey::Str(s) => self.machine.literal(*s),
                };
                self.machine.fixed_pointer(obj, *offset, *offset, None, *ty)
            }
        }
    }

    fn offset_of(&self, ty: Ty, path: &[u32]) -> u64 {
        let (mut at, mut sum) = (ty, 0);
        for &n in path {
            let Some(id) = self.types().as_record(at) else { break };
            sum += self.types().field_offset(id, n).unwrap_or(0);
            match self.types().record(id).fields.as_ref().and_then(|f| f.get(n as usize)) {
                Some(field) => at = field.ty.ty,
                None => break,
            }
        }
        sum
    }

    // ---- right sides

    fn value(&mut self, value: &Rvalue) -> Result<Value, &'static str> {
        let repr_of = |this: &Self, ty: Ty| repr(this.types(), ty);
        Ok(match value {
            Rvalue::Use(a) => Value::Use(self.op(a)),
            Rvalue::Unary(op, a) => {
                let a = self.op(a);
                if a.repr == Repr::Blob {
                    return Err("complex arithmetic");
                }
                Value::Unary(*op, a)
            }
            Rvalue::Binary(op, a, b, ty) => {
                let (a, b) = (self.op(a), self.op(b));
                if a.repr == Repr::Blob {
                    return Err("complex arithmetic");
                }
                Value::Binary(*op, a, b, repr_of(self, *ty))
            }
            Rvalue::Numeric(a, ty) => {
                let a = self.op(a);
                let to = repr_of(self, *ty);
                if a.repr == Repr::Blob || to == Repr::Blob {
                    return Err("complex arithmetic");
                }
                Value::Numeric(a, to)
            }
            Rvalue::Bits(a, ty) => Value::Bits(self.op(a), repr_of(self, *ty)),
            Rvalue::AddrOf(place) => Value::AddrOf(self.place(place)),
            Rvalue::MakeFat { ptr, lo, hi, .. } => Value::MakeFat(self.op(ptr), self.op(lo), self.op(hi)),
            Rvalue::Part(a, part, _) => {
                let word = match part {
                    ir::Part::Ptr => 0,
                    ir::Part::Lo | ir::Part::Type => 1,
                    ir::Part::Hi => 2,
                };
                Value::Part(self.op(a), word)
            }
            Rvalue::MakeTypedVoid(a, of, _) => Value::MakeTypedVoid(self.op(a), *of),
            Rvalue::Offset(a, n) => {
                let stride = self.stride(a);
                Value::Offset(self.op(a), self.op(n), stride)
            }
            Rvalue::Difference(a, b) => {
                let stride = self.stride(a);
                Value::Difference(self.op(a), self.op(b), stride)
            }
            Rvalue::Remaining(a) => {
                let stride = self.stride(a);
                Value::Remaining(self.op(a), stride)
            }
            Rvalue::Measure(a) => {
                let stride = self.stride(a);
                Value::Measure(self.op(a), stride)
            }
            Rvalue::MakeCounted { ty, ptr, count } => {
                let target = self.types().as_pointer(*ty).map(|p| p.target.ty);
                let stride = match target.map(|t| self.types().kind(t)) {
                    Some(TyKind::Void) | None => 1,
                    Some(_) => target.map_or(1, |t| size(self.types(), t)),
                };
                Value::MakeCounted(self.op(ptr), self.op(count), stride)
            }
            Rvalue::Clamp(a) => Value::Clamp(self.op(a)),
            Rvalue::CountArith(op, a, b) => Value::CountArith(*op, self.op(a), self.op(b)),
            Rvalue::BlockSize(a) => Value::BlockSize(self.op(a)),
            Rvalue::Alloc { elem, count, extra, hidden_zero, fallible, handle, counted, reuse } => {
                Value::Alloc(Box::new(Alloc {
                    elem: *elem,
                    size: size(self.types(), *elem),
                    align: align(self.types(), *elem),
                    count: self.op(count),
                    extra: extra.as_ref().map(|e| self.op(e)),
                    hidden_zero: *hidden_zero,
                    fallible: *fallible,
                    handle: handle.as_ref().map(|h| self.op(h)),
                    counted: *counted,
                    reuse: reuse.as_ref().map(|r| self.op(r)),
                    exchange: false,
                }))
            }
            Rvalue::Borrow(kind, place, _) => match kind.by_address() {
                true => Value::AddrOf(self.place(place)),
                false => {
                    let op = self.op(&Operand::Copy(place.clone()));
                    Value::Borrow(op, *kind == typing::tree::BorrowKind::Lend)
                }
            },
            Rvalue::Retain(a) => Value::Retain(self.op(a)),
            Rvalue::NewKey(..) => Value::NewKey,
            Rvalue::Tag(place) => Value::Tag(self.place(place)),
            Rvalue::Truth(a) => Value::Truth(self.op(a)),
            Rvalue::VaArg(place, ty) => {
                let size = size(self.types(), *ty);
                Value::VaArg(self.place(place), repr_of(self, *ty), size)
            }
            Rvalue::Builtin(name, args, ty) => {
                let args = args.iter().map(|a| self.op(a)).collect();
                Value::Builtin(*name, args, repr_of(self, *ty))
            }
            Rvalue::LabelAddr(block, _) => Value::Label(block.0),
        })
    }

    /// The names of the members of the union that a tag field binds, by value.
    fn arms(&self, tag: &Operand, member: source::Symbol) -> Vec<(i128, source::Symbol)> {
        let Some((number, outer)) = tag.place().and_then(ir::Place::last_field) else { return vec![] };
        let Some(base) = tag.place().map(|p| p.base) else { return vec![] };
        let outer = ir::Place { base, proj: outer.to_vec() };
        let fields_of = |ty: Ty| self.types().as_record(ty).and_then(|id| self.types().record(id).fields.clone());
        let record = place_ty(self.machine.program, self.body, &outer).ok().and_then(|q| fields_of(q.ty));
        for field in record.iter().flat_map(|fields| fields.iter()) {
            let Some(tagged) = field.tagged_by.as_ref().filter(|t| t.tag == number) else { continue };
            let Some(members) = fields_of(field.ty.ty) else { continue };
            if members.iter().any(|m| m.name == Some(member)) {
                let named = |&(n, m): &(i128, u32)| Some((n, members.get(m as usize)?.name?));
                return tagged.arms.iter().filter_map(named).collect();
            }
        }
        vec![]
    }

    /// Whether the place is reached from a local through fields and unique pointers only.
    fn is_path(&self, place: &ir::Place) -> bool {
        let unique = |n: usize| {
            let before = ir::Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
            let pointer = place_ty(self.machine.program, self.body, &before).ok();
            pointer.and_then(|ty| self.types().as_pointer(ty.ty)).is_some_and(|p| p.own == Own::Unique)
        };
        let step = |(n, step): (usize, &Proj)| step.is_field() || *step == Proj::Deref && unique(n);
        matches!(place.base, PlaceBase::Local(_)) && place.proj.iter().enumerate().all(step)
    }

    fn check(&mut self, check: &ir::Check) -> Stmt {
        use mir::ir::Check;
        let test = match check {
            Check::Index(i, n) => Test::Index(self.op(i), self.op(n)),
            Check::Access(p, n) => {
                let stride = self.stride(p);
                Test::Access(self.op(p), self.op(n), stride)
            }
            Check::Element(e) => Test::Element(Box::new(ElementTest {
                base: self.op(&e.base),
                index: self.op(&e.index),
                count: self.op(&e.count),
            })),
            Check::Near(p, _) => {
                let stride = self.stride(p);
                let one = Operand::Const(Const::Int(1, self.types().common.ulong));
                Test::Access(self.op(p), self.op(&one), stride)
            }
            Check::Within(p) => {
                let stride = self.stride(p);
                Test::Within(self.op(p), stride)
            }
            Check::Enough(want, have) => Test::Enough(self.op(want), self.op(have)),
            Check::NotNull(p) => Test::NotNull(self.op(p)),
            Check::Divide(a, b) => Test::Divide(self.op(a), self.op(b)),
            Check::Type(p, types) => Test::Type(self.op(p), types.clone()),
            Check::Container(p, ty, path) => {
                let off = self.offset_of(*ty, path);
                Test::Container(self.op(p), *ty, off)
            }
            Check::Contract(end, ty) => match self.types().as_endpoint(*ty) {
                Some(ty) => Test::Contract(self.op(end), ty),
                None => Test::NotNull(self.op(end)),
            },
            Check::Tag(place, member) => {
                let place = self.place(place);
                let names = self.types().as_record(place.ty).and_then(|id| self.types().record(id).fields.clone());
                let names = names
                    .map_or(vec![], |f| f.iter().map(|f| f.name.map_or(String::new(), |n| n.to_string())).collect());
                Test::Tag(place, *member, Rc::new(names))
            }
            Check::TagValue(op, values, name) => {
                let arms = self.arms(op, *name);
                Test::TagValue(self.op(op), values.clone(), *name, arms)
            }
            Check::HasTerminator(p) => {
                let stride = self.stride(p);
                Test::HasTerminator(self.op(p), stride)
            }
            Check::Terminator(old, new) => Test::Terminator(self.op(old), self.op(new)),
            Check::Count(new, there) => Test::Count(self.op(new), self.op(there)),
            Check::View(p, ty) => {
                let (size, align) = (size(self.types(), *ty), align(self.types(), *ty));
                Test::View(self.op(p), size, align)
            }
            Check::Step(p) => {
                let stride = self.stride(p);
                Test::Step(self.op(p), stride)
            }
            Check::Multiple(bytes, ty) => {
                let size = size(self.types(), *ty);
                Test::Multiple(self.op(bytes), size)
            }
            Check::Unreachable => Test::Unreachable,
        };
        Stmt::Check(test)
    }
}
