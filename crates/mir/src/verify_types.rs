//! The verifier's part about types: every statement is well-typed up to qualifiers and to what
//! pointers promise.

use crate::ir::*;
use crate::print;
use crate::ty::{self, assignable, is_comparison, is_scalar, pointer_class, same_shape, PointerClass, ValueTy};
use crate::verify::Verifier;
use crate::verify_channels;
use typing::contracts::Side;
use typing::tree::{BorrowKind, RegionKind};
use typing::types::{FuncTy, Pointer, RecordKind, Region, Ty, TyKind};

pub(crate) fn run(verifier: &mut Verifier) {
    verifier.each(Verifier::stmt_types, Verifier::term_types);
}

impl<'a> Verifier<'a> {
    pub(crate) fn kind(&self, ty: Ty) -> &'a TyKind {
        self.program.types.kind(ty)
    }

    pub(crate) fn show(&self, ty: Ty) -> String {
        crate::print_types::ty(&self.program.types, ty)
    }

    /// The type of a place; reported once if it has none, then `None`.
    pub(crate) fn place(&mut self, place: &Place) -> Option<Ty> {
        for step in &place.proj {
            if let Some(operand) = step.index() {
                self.index_operand(operand);
            }
        }
        match ty::place_ty(self.program, self.body, place) {
            Ok(found) => Some(found.ty),
            Err(message) => {
                let text = print::place(self.program, self.body, place);
                self.error(format!("{message}: {text}"));
                None
            }
        }
    }

    fn index_operand(&mut self, operand: &Operand) {
        let simple = match operand {
            Operand::Copy(place) | Operand::Move(place) => place.proj.is_empty(),
            Operand::Const(_) => true,
        };
        if !simple {
            self.error("an index is neither a local nor a constant");
        }
    }

    fn operand(&mut self, operand: &Operand) -> Option<Ty> {
        match operand {
            Operand::Copy(place) | Operand::Move(place) => self.place(place),
            Operand::Const(Const::Func(func)) => {
                self.func_ref(func);
                self.const_ty(operand)
            }
            Operand::Const(constant) => {
                self.constant(constant);
                self.const_ty(operand)
            }
        }
    }

    fn const_ty(&mut self, operand: &Operand) -> Option<Ty> {
        ty::operand_ty(self.program, self.body, operand).map_err(|m| self.error(m)).ok()
    }

    fn constant(&mut self, constant: &Const) {
        let types = &self.program.types;
        let ok = match constant {
            Const::Int(_, ty) => types.as_int(*ty).is_some(),
            Const::Float(_, ty) => matches!(self.kind(*ty), TyKind::Float(_) | TyKind::Complex(_)),
            Const::Null(ty) => {
                matches!(self.kind(*ty), TyKind::Ptr(_) | TyKind::NullPtr | TyKind::Endpoint(_) | TyKind::EndSet(_))
            }
            Const::Addr(key, _, ty) => {
                let there = match key {
                    ConstAddrKey::Global(g) => (g.0 as usize) < self.program.globals.len(),
                    ConstAddrKey::Str(s) => (s.0 as usize) < self.program.strings.len(),
                };
                there && ty::is_one_word(types, *ty)
            }
            Const::Func(_) | Const::SizeOf(_) | Const::AlignOf(_) | Const::OffsetOf(..) => true,
        };
        let error = match constant {
            Const::Int(_, ty) | Const::Float(_, ty) | Const::Null(ty) | Const::Addr(_, _, ty) => {
                *self.kind(*ty) == TyKind::Error
            }
            _ => false,
        };
        if !ok && !error {
            let text = print::operand(self.program, self.body, &Operand::Const(constant.clone()));
            self.error(format!("a constant of the wrong type: {text}"));
        }
    }

    fn func_ref(&mut self, func: &typing::tree::FuncRef) {
        match self.program.functions.get(func.func.0 as usize) {
            Some(f) if f.type_params as usize != func.args.len() => {
                self.error(format!("{} type arguments, expected {}", func.args.len(), f.type_params))
            }
            Some(_) => {}
            None => self.error(format!("there is no function #{}", func.func.0)),
        }
    }

    /// Requires that the operand's type passes `test`.
    fn want(&mut self, operand: &Operand, what: &str, test: impl Fn(&Self, Ty) -> bool) -> Option<Ty> {
        let found = self.operand(operand)?;
        if *self.kind(found) != TyKind::Error && !test(self, found) {
            let text = print::operand(self.program, self.body, operand);
            self.error(format!("expected {what}: {text} is {}", self.show(found)));
        }
        Some(found)
    }

    pub(crate) fn want_int(&mut self, operand: &Operand) {
        self.want(operand, "an integer", |this, ty| this.program.types.as_int(ty).is_some());
    }

    fn want_number(&mut self, operand: &Operand) {
        self.want(operand, "a number", Self::is_number);
    }

    fn want_scalar(&mut self, operand: &Operand) {
        // Of a function the address is asked for: a weak one may have none.
        let function = |this: &Self, ty| matches!(this.kind(ty), TyKind::Func(_));
        let scalar = |this: &Self, ty| is_scalar(&this.program.types, ty) || this.is_param(ty) || function(this, ty);
        self.want(operand, "a scalar", scalar);
    }

    pub(crate) fn want_size(&mut self, operand: &Operand) {
        self.want(operand, "a size_t", |this, ty| ty == this.program.types.common.ulong);
    }

    fn want_class(&mut self, operand: &Operand, class: PointerClass) -> Option<Ty> {
        let what = match class {
            PointerClass::One => "a one-word pointer",
            PointerClass::Fat => "a fat pointer",
            PointerClass::TypedVoid => "a typed `void *`",
        };
        self.want(operand, what, |this, ty| this.class(ty) == Some(class))
    }

    pub(crate) fn want_fat(&mut self, operand: &Operand) {
        self.want_class(operand, PointerClass::Fat);
    }

    pub(crate) fn want_typed_void(&mut self, operand: &Operand) {
        self.want_class(operand, PointerClass::TypedVoid);
    }

    pub(crate) fn want_one_word(&mut self, operand: &Operand) {
        self.want_class(operand, PointerClass::One);
    }

    pub(crate) fn want_pointer(&mut self, operand: &Operand) {
        self.want(operand, "a pointer", |this, ty| this.class(ty).is_some());
    }

    pub(crate) fn want_ty(&mut self, operand: &Operand, ty: Ty) {
        let wanted = self.show(ty);
        self.want(operand, &wanted, |this, found| same_shape(&this.program.types, ty, found));
    }

    fn pointer(&self, ty: Ty) -> Option<Pointer> {
        match self.kind(ty) {
            TyKind::Ptr(p) => Some(*p),
            _ => None,
        }
    }

    /// A function's name is a one-word pointer to it.
    fn class(&self, ty: Ty) -> Option<PointerClass> {
        match self.kind(ty) {
            TyKind::Ptr(p) => Some(pointer_class(&self.program.types, p)),
            TyKind::Func(_) | TyKind::NullPtr => Some(PointerClass::One),
            _ => None,
        }
    }

    fn is_param(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Param(_))
    }

    fn is_number(&self, ty: Ty) -> bool {
        self.program.types.as_int(ty).is_some() || matches!(self.kind(ty), TyKind::Float(_) | TyKind::Complex(_))
    }

    pub(crate) fn store(&mut self, dest: &Place, value: ValueTy) {
        if matches!(dest.base, PlaceBase::Str(_)) && !dest.has_deref() {
            self.error("a string literal is written");
        }
        let Some(to) = self.place(dest) else { return };
        if !assignable(&self.program.types, to, value) {
            let from = match value {
                ValueTy::Known(ty) => self.show(ty),
                ValueTy::ThinTo(target) => format!("a thin pointer to {}", self.show(target.ty)),
            };
            self.error(format!("{from} is assigned to {}", self.show(to)));
        }
    }

    fn stmt_types(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Assign(dest, value) => {
                let before = self.errors.len();
                self.value(value);
                if self.errors.len() > before {
                    return;
                }
                match ty::rvalue_ty(self.program, self.body, value) {
                    Ok(ty) => self.store(dest, ty),
                    Err(message) => self.error(message),
                }
            }
            StmtKind::Call { dest, callee, args, ty } => self.call(dest.as_ref(), callee, args, *ty),
            StmtKind::Check(check) => check.verify(self),
            StmtKind::Prove(Proof::NonNull(operand)) => {
                self.want_pointer(operand);
                if operand.place().is_some_and(|place| place.as_local().is_none()) {
                    self.error("the pointer to prove is no local");
                }
            }
            StmtKind::Prove(Proof::EndCases { end, states, .. } | Proof::EndFound { end, states, .. }) => {
                verify_channels::states(self, end, states);
            }
            StmtKind::Zero(place) => {
                self.place(place);
            }
            StmtKind::CopyElements { to, from, count } => {
                self.want_class(to, PointerClass::One);
                self.want(from, "a pointer with one word or bounds", |this, ty| {
                    matches!(this.class(ty), Some(PointerClass::One | PointerClass::Fat))
                });
                self.want_size(count);
            }
            StmtKind::SetTag(place, member) => self.want_member(place, member),
            StmtKind::VaStart(place) | StmtKind::VaEnd(place) => self.va_list(place),
            StmtKind::VaCopy(to, from) => {
                self.va_list(to);
                self.va_list(from);
            }
            StmtKind::Assembly(asm) => {
                for (_, _, place) in &asm.outputs {
                    self.place(place);
                }
                for (_, _, operand) in &asm.inputs {
                    self.operand(operand);
                }
            }
            StmtKind::ArenaBegin(l, region) | StmtKind::ArenaEnd(l, region) => self.arena(*l, *region),
            StmtKind::OpenBegin(l, key, region) | StmtKind::Close(l, key, region) => self.open(*l, key, *region),
            StmtKind::Dispose { value, handle, .. } => {
                self.want(value, "what can be owned", Self::can_be_owned);
                if let Some(handle) = handle {
                    self.want_handle(handle);
                }
            }
            StmtKind::DropSlot(place) => {
                self.place(place);
            }
            StmtKind::Exchange(a, b) => {
                let types = (self.place(a), self.place(b));
                if let (Some(a), Some(b)) = types {
                    if !same_shape(&self.program.types, a, b) {
                        self.error(format!("{} is swapped with {}", self.show(a), self.show(b)));
                    }
                }
            }
            StmtKind::CursorBegin(cursor, of) => self.cursor(*cursor, of),
            StmtKind::CursorEnd(cursor) => {
                let body = self.body;
                let is_cursor = |local| crate::cursors::is_cursor(body, local);
                let of = crate::cursors::beginning(body, *cursor);
                if !of.is_some_and(|of| crate::cursors::takes_out(self.program, body, of, &is_cursor)) {
                    self.error(format!("_{} is no cursor that took out what a slot held", cursor.0));
                }
            }
            StmtKind::Pack(place, regions) => {
                for region in regions {
                    self.region(*region);
                }
                self.hidden(place, regions.len());
            }
            StmtKind::UnpackBegin { place, regions, .. } => {
                for &region in regions {
                    self.region(Region::Body(region));
                }
                self.hidden(place, regions.len());
            }
            StmtKind::UnpackEnd(place, regions) => {
                let mut stmts = self.body.blocks.iter().flat_map(|block| &block.stmts);
                if !stmts.any(|stmt| stmt.kind.as_unpack() == Some((place, regions, false))) {
                    self.error("no `unpack` that lends this begins what ends here");
                }
            }
            StmtKind::ChannelNew { contract, state, imp, exp } => {
                verify_channels::new(self, *contract, *state, [(imp, Side::Imp), (exp, Side::Exp)]);
            }
            StmtKind::Send { end, message, args } => verify_channels::send(self, end, *message, args),
            StmtKind::Select { dest, cases, .. } => verify_channels::select(self, dest, cases),
            StmtKind::Receive { end, head, binds, .. } => verify_channels::receive(self, end, *head, binds),
            StmtKind::SetNew(place) => drop(verify_channels::set(self, place)),
            StmtKind::SetAdd { set, end, value } => verify_channels::set_add(self, set, end, value.as_ref()),
            StmtKind::SetTake { set, head, end, value } => {
                verify_channels::set_take(self, set, *head, end, value.as_ref());
            }
            StmtKind::StorageLive(_) | StmtKind::StorageDead(_) | StmtKind::Nop => {}
        }
    }

    fn region(&mut self, region: Region) {
        match region {
            Region::Body(n) if n as usize >= self.body.regions.len() => self.error(format!("there is no region @r{n}")),
            Region::Infer(n) if n >= self.body.infer_regions => self.error(format!("there is no region @i{n}")),
            _ => {}
        }
    }

    fn handle_local(&mut self, local: Local) -> Option<bool> {
        let ty = ty::local(self.body, local).ok()?.ty.ty;
        match self.kind(ty) {
            TyKind::Handle(reap, _) => Some(*reap),
            _ => {
                self.error(format!("_{} is no handle", local.0));
                None
            }
        }
    }

    fn arena(&mut self, handle: Local, region: u32) {
        self.region(Region::Body(region));
        let reap = self.handle_local(handle);
        let kind = self.body.regions.get(region as usize).map(|r| r.decl.kind);
        if let (Some(reap), Some(kind)) = (reap, kind) {
            if kind != RegionKind::Lifo(reap) {
                self.error(format!("@r{region} is not what the handle _{} is", handle.0));
            }
        }
    }

    fn open(&mut self, handle: Local, key: &Place, region: Region) {
        self.region(region);
        let reap = self.handle_local(handle);
        let Some(ty) = self.place(key) else { return };
        match (self.kind(ty), reap) {
            (TyKind::Key(kind, _), Some(reap)) if kind.is_reap() != reap => {
                self.error(format!("a {} is opened as the other kind", kind.word()))
            }
            (TyKind::Key(..) | TyKind::Error, _) => {}
            _ => self.error(format!("{} is no key", self.show(ty))),
        }
    }

    fn cursor(&mut self, cursor: Local, of: &Place) {
        let Some(ty) = self.place(of) else { return };
        let Ok(decl) = ty::local(self.body, cursor) else { return };
        match self.pointer(decl.ty.ty) {
            Some(p) if same_shape(&self.program.types, p.target.ty, ty) => {}
            _ => self.error(format!("_{} is no cursor over {}", cursor.0, self.show(ty))),
        }
    }

    /// The place is a struct with so many hidden regions.
    fn hidden(&mut self, place: &Place, regions: usize) {
        let Some(ty) = self.place(place) else { return };
        let record = self.program.types.as_record(ty).and_then(|id| self.program.types.records.get(id.0 as usize));
        if record.is_none_or(|r| r.exists.len() != regions) {
            self.error(format!("{} does not hide {regions} regions", self.show(ty)));
        }
    }

    fn want_handle(&mut self, operand: &Operand) {
        self.want(operand, "a handle", |this, ty| matches!(this.kind(ty), TyKind::Handle(..)));
    }

    /// Owned pointers, keys, ends of channels, and what may hold them. (What is owned by its type
    /// alone is for the ownership verifier.)
    fn can_be_owned(&self, ty: Ty) -> bool {
        matches!(
            self.kind(ty),
            TyKind::Ptr(_)
                | TyKind::Key(..)
                | TyKind::Endpoint(_)
                | TyKind::EndSet(_)
                | TyKind::Record(_)
                | TyKind::Param(_)
        )
    }

    /// A `va_list` parameter may also have decayed to a pointer.
    fn va_list(&mut self, place: &Place) {
        let Some(ty) = self.place(place) else { return };
        if !matches!(self.kind(ty), TyKind::VaList | TyKind::Error) {
            self.error("the place is no `va_list`");
        }
    }

    pub(crate) fn want_member(&mut self, place: &Place, &member: &u32) {
        let Some(ty) = self.place(place) else { return };
        let fields = match self.kind(ty) {
            TyKind::Record(r) => self.program.types.records.get(r.0 as usize),
            _ => None,
        };
        match fields {
            Some(record) if record.kind == RecordKind::Tagged => {
                let count = record.fields.as_ref().map_or(0, |f| f.len());
                if member as usize >= count {
                    self.error(format!("the tagged union has no member {member}"));
                }
            }
            _ if *self.kind(ty) == TyKind::Error => {}
            _ => self.error("the place is no tagged union"),
        }
    }

    fn value(&mut self, value: &Rvalue) {
        match value {
            Rvalue::Use(operand) => {
                self.operand(operand);
            }
            Rvalue::Unary(UnOp::Not, a) | Rvalue::Truth(a) => self.want_scalar(a),
            Rvalue::Unary(UnOp::BitNot, a) => {
                self.want(a, "a number", Self::is_number);
            }
            Rvalue::Unary(_, a) => self.want_number(a),
            Rvalue::Binary(op, a, b, ty) => self.binary(*op, a, b, *ty),
            Rvalue::Numeric(a, ty) => {
                self.want_number(a);
                if !self.is_number(*ty) && *self.kind(*ty) != TyKind::Error {
                    self.error(format!("numeric conversion to {}", self.show(*ty)));
                }
            }
            Rvalue::Bits(a, ty) => {
                self.want(a, "one word", Self::is_word);
                if !self.is_word(*ty) && *self.kind(*ty) != TyKind::Error {
                    self.error(format!("same bits as {}, which is not one word", self.show(*ty)));
                }
            }
            Rvalue::AddrOf(place) => self.address(place),
            Rvalue::MakeFat { ty, ptr, lo, hi } => {
                for operand in [ptr, lo, hi] {
                    self.want_class(operand, PointerClass::One);
                }
                self.result_class(*ty, PointerClass::Fat);
            }
            Rvalue::Part(a, part, ty) => self.part(a, *part, *ty),
            Rvalue::MakeTypedVoid(a, _, ty) => {
                self.want_class(a, PointerClass::One);
                self.result_class(*ty, PointerClass::TypedVoid);
            }
            Rvalue::Offset(a, n) => {
                self.want(a, "a one-word or fat pointer", |this, ty| {
                    matches!(this.class(ty), Some(PointerClass::One | PointerClass::Fat))
                });
                self.want_int(n);
            }
            Rvalue::MakeCounted { ty, ptr, count } => {
                self.want_class(ptr, PointerClass::One);
                self.want_int(count);
                self.result_class(*ty, PointerClass::Fat);
            }
            Rvalue::Clamp(a) => self.want_int(a),
            Rvalue::CountArith(op, a, b) => {
                if !matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div) {
                    self.error("the operator is not for counts");
                }
                self.want_int(a);
                self.want_int(b);
            }
            Rvalue::BlockSize(a) => {
                self.want_class(a, PointerClass::One);
            }
            Rvalue::Difference(a, b) => {
                self.want_pointer(a);
                self.want_pointer(b);
            }
            Rvalue::Remaining(a) => {
                self.want_class(a, PointerClass::Fat);
            }
            Rvalue::Measure(a) => {
                self.want_class(a, PointerClass::One);
            }
            Rvalue::Alloc { count, extra, handle, reuse, .. } => {
                if let Some(old) = reuse {
                    self.want_class(old, PointerClass::One);
                }
                self.want_int(count);
                if let Some(extra) = extra {
                    self.want_size(extra);
                }
                if let Some(handle) = handle {
                    self.want_handle(handle);
                }
            }
            Rvalue::Borrow(kind, place, ty) => self.borrow(*kind, place, *ty),
            Rvalue::Retain(a) => {
                self.want(a, "a counted pointer or a key", Self::can_be_owned);
            }
            Rvalue::NewKey(kind, ty) => {
                if !matches!(self.kind(*ty), TyKind::Key(k, _) if k == kind) {
                    self.error(format!("{} is no {}", self.show(*ty), kind.word()));
                }
            }
            Rvalue::Tag(place) => self.want_member(place, &0),
            Rvalue::VaArg(place, _) => self.va_list(place),
            Rvalue::Builtin(_, args, _) => {
                for arg in args {
                    self.operand(arg);
                }
            }
            Rvalue::LabelAddr(block, _) => {
                if !self.body.address_labels.iter().any(|(_, b)| b == block) {
                    self.error(format!("bb{} has no label whose address is taken", block.0));
                }
            }
        }
    }

    fn is_word(&self, ty: Ty) -> bool {
        self.class(ty) == Some(PointerClass::One) || self.program.types.as_int(ty).is_some()
    }

    fn result_class(&mut self, ty: Ty, class: PointerClass) {
        if self.class(ty) != Some(class) && *self.kind(ty) != TyKind::Error {
            self.error(format!("{} is no result of this value", self.show(ty)));
        }
    }

    fn part(&mut self, operand: &Operand, part: Part, ty: Ty) {
        match part {
            Part::Lo | Part::Hi => {
                self.want_class(operand, PointerClass::Fat);
            }
            Part::Type => {
                self.want_class(operand, PointerClass::TypedVoid);
            }
            Part::Ptr => {
                self.want_pointer(operand);
            }
        }
        if part != Part::Type {
            self.result_class(ty, PointerClass::One);
        }
    }

    fn address(&mut self, place: &Place) {
        self.place(place);
        if let Some(local) = place.local_part() {
            let taken = self.body.locals.get(local.0 as usize).is_none_or(|d| d.address_taken);
            if !taken {
                self.error(format!("the address of _{} is taken, but it is not marked so", local.0));
            }
        }
        if let Some((n, _)) = place.last_field() {
            let owner = ty::prefix_ty(self.program, self.body, place, place.proj.len() - 1);
            let record = owner.ok().and_then(|q| self.program.types.as_record(q.ty));
            let fields =
                record.and_then(|r| self.program.types.records.get(r.0 as usize)).and_then(|r| r.fields.clone());
            if fields.is_some_and(|f| f.get(n as usize).is_some_and(|f| f.width.is_some())) {
                self.error("the address of a bit-field is taken");
            }
        }
    }

    /// A slot is lent by its address, all else by its value.
    fn borrow(&mut self, kind: BorrowKind, place: &Place, ty: Ty) {
        let Some(from) = self.place(place) else { return };
        if kind.by_address() {
            let fits = self.pointer(ty).is_some_and(|p| same_shape(&self.program.types, p.target.ty, from));
            if !fits {
                self.error(format!("a slot of {} is lent as {}", self.show(from), self.show(ty)));
            }
        } else if !same_shape(&self.program.types, ty, from) {
            self.error(format!("{} is lent as {}", self.show(from), self.show(ty)));
        }
        if kind.is_look() && ty::owns(&self.program.types, ty) {
            self.error(format!("a look at {} owns", self.show(from)));
        }
    }

    fn binary(&mut self, op: BinOp, a: &Operand, b: &Operand, ty: Ty) {
        let types = &self.program.types;
        let ok = match self.kind(ty) {
            TyKind::Error => return,
            TyKind::Bool | TyKind::Int(_) | TyKind::Enum(_) => true,
            TyKind::Float(_) | TyKind::Complex(_) => {
                matches!(op, BinOp::Mul | BinOp::Div | BinOp::Add | BinOp::Sub) || is_comparison(op)
            }
            _ => is_comparison(op) && is_scalar(types, ty),
        };
        if !ok {
            self.error(format!("the operator is not for {}", self.show(ty)));
        }
        if ok && is_comparison(op) && self.class(ty).is_some() {
            // Addresses are compared: what the pointers promise, and their classes, do not matter.
            self.want_pointer(a);
            self.want_pointer(b);
            return;
        }
        self.want_ty(a, ty);
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            self.want_int(b);
        } else {
            self.want_ty(b, ty);
        }
    }

    fn call(&mut self, dest: Option<&Place>, callee: &Callee, args: &[Operand], ty: Ty) {
        match callee {
            Callee::Direct(func) | Callee::Start(func) | Callee::Spawn(func, _) => self.func_ref(func),
            Callee::Pointer(operand) => {
                self.want(operand, "a function pointer", |this, ty| {
                    this.pointer(ty).is_some_and(|p| matches!(this.kind(p.target.ty), TyKind::Func(_)))
                });
            }
            Callee::Builtin(_) => {}
        }
        let TyKind::Func(func) = self.kind(ty) else {
            if *self.kind(ty) != TyKind::Error {
                self.error("the type called through is no function type");
            }
            return;
        };
        if let Callee::Direct(direct) | Callee::Start(direct) | Callee::Spawn(direct, _) = callee {
            self.same_arity(direct, func);
        }
        if !func.unprototyped {
            let (given, wanted) = (args.len(), func.params.len());
            if given < wanted || given > wanted && !func.variadic {
                self.error(format!("{given} arguments, expected {wanted}"));
            }
        }
        for (n, arg) in args.iter().enumerate() {
            match func.params.get(n) {
                Some(param) => self.want_ty(arg, param.ty),
                None => {
                    self.operand(arg);
                }
            }
        }
        if dest.is_some_and(|place| place.as_local().is_none()) {
            self.error("the result of a call does not go to a whole local");
        }
        match (dest, self.kind(func.ret)) {
            (Some(_), TyKind::Void) => self.error("the result of a void call is stored"),
            (Some(dest), _) => self.store(dest, ValueTy::Known(func.ret)),
            (None, _) => {}
        }
    }

    fn same_arity(&mut self, direct: &typing::tree::FuncRef, through: &FuncTy) {
        let declared = self.program.functions.get(direct.func.0 as usize).map(|f| self.kind(f.ty));
        if let Some(TyKind::Func(own)) = declared {
            let differs = own.params.len() != through.params.len() || own.variadic != through.variadic;
            if differs && !own.unprototyped && !through.unprototyped {
                self.error("the type called through is not the function's");
            }
        }
    }

    pub(crate) fn want_endpoint(&mut self, end: &Operand, ty: &Ty) {
        if self.program.types.as_endpoint(*ty).is_none() {
            self.error("a contract is asked for by an endpoint's type");
        }
        self.want_ty(end, *ty);
    }

    pub(crate) fn want_element(&mut self, check: &ElementCheck) {
        self.want_one_word(&check.base);
        self.want_int(&check.index);
        self.want_int(&check.count);
    }

    fn term_types(&mut self, term: &'a Terminator) {
        match &term.kind {
            TermKind::If(a, ..) => self.want_scalar(a),
            TermKind::Switch(a, arms, _) => {
                self.want_int(a);
                self.arms(arms);
            }
            TermKind::Return(value) => self.returns(value.as_ref()),
            TermKind::GotoComputed(a) => {
                self.want_class(a, PointerClass::One);
                if self.body.address_labels.is_empty() {
                    self.error("a computed jump without a label whose address is taken");
                }
            }
            TermKind::Goto(_) | TermKind::MissingReturn | TermKind::Unreachable => {}
        }
    }

    fn arms(&mut self, arms: &[(i128, i128, BlockId)]) {
        let mut ranges: Vec<(i128, i128)> = arms.iter().map(|&(lo, hi, _)| (lo, hi)).collect();
        ranges.sort_unstable();
        if ranges.iter().any(|(lo, hi)| lo > hi) {
            self.error("an empty range of a switch");
        }
        if ranges.windows(2).any(|pair| matches!(pair, [a, b] if a.1 >= b.0)) {
            self.error("two ranges of a switch overlap");
        }
    }

    fn returns(&mut self, value: Option<&Operand>) {
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let Some(TyKind::Func(func)) = function.map(|f| self.kind(f.ty)) else {
            return;
        };
        let is_void = *self.kind(func.ret) == TyKind::Void;
        match value {
            Some(_) if is_void => self.error("a value is returned from a void function"),
            // The types of an instance mention the generic's parameters only in the declaration.
            Some(value) if self.body.func.args.is_empty() => self.want_ty(value, func.ret),
            Some(value) => {
                self.operand(value);
            }
            None if !is_void && !self.body.unchecked => self.error("no value is returned"),
            None => {}
        }
    }
}
