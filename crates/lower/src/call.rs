//! Calls: arguments in order, then what their counts ask for, then the call; results that point
//! into an argument get its bounds.

use crate::builder::Lower;
use crate::effects;
use crate::place::{const_int, read_of};
use mir::ir::*;
use std::rc::Rc;
use typing::tree::{self, Conv, Expr, ExprKind};
use typing::types::*;

/// An evaluated argument.
struct Arg {
    /// What is passed (a fat value for a counted parameter, until the counts are checked).
    op: Operand,
    /// The operand with the widest bounds that the passed one was made from.
    source: Operand,
}

/// A pointer that a call sets through a parameter, `[[lee::end_into]]`.
struct EndInto {
    /// Where the program wants it, and the pointer there, unless that is known not to be null.
    out: Place,
    guard: Option<Operand>,
    /// The type there.
    wanted: Ty,
    /// What C writes.
    raw: Local,
}

/// Whether the argument lends a variable, or a field of one, by its address.
fn lends_variable(arg: &Expr) -> bool {
    match &*arg.kind {
        ExprKind::Borrow(kind, place) => kind.by_address() && is_in_variable(place),
        ExprKind::Convert(Conv::Pointer, inner) => lends_variable(inner),
        _ => false,
    }
}

/// Whether the place is a variable, or a field of one: its address does not depend on when it is
/// taken.
fn is_in_variable(place: &Expr) -> bool {
    match &*place.kind {
        ExprKind::Local(_) => true,
        ExprKind::Field(base, _) => is_in_variable(base),
        _ => false,
    }
}

impl<'t> Lower<'t, '_> {
    /// A call; the result goes to `dest`.
    pub fn call(&mut self, e: &'t Expr, callee: &'t tree::Callee, through: Ty, args: &'t [Expr], dest: Option<Local>) {
        let error = self.common().error;
        let (callee, fty, guard) = match callee {
            tree::Callee::Direct(f) => {
                let ty = self.program.functions.get(f.func.0 as usize).map_or(error, |f| f.ty);
                let ty = self.program.types.subst(ty, &f.args);
                (Callee::Direct(f.clone()), ty, None)
            }
            tree::Callee::Start(f) => (Callee::Start(f.clone()), through, None),
            tree::Callee::Spawn(f, question) => (Callee::Spawn(f.clone(), *question), through, None),
            tree::Callee::Pointer(p) => {
                let op = self.operand(p);
                let op = if args.iter().any(effects::has_effects) { self.freeze(op) } else { op };
                match self.pointer_of(p.ty.ty) {
                    // A function named in a roundabout way.
                    Some(pointer) if matches!(op, Operand::Const(Const::Func(_))) => match op {
                        Operand::Const(Const::Func(f)) => (Callee::Direct(f), pointer.target.ty, None),
                        op => (Callee::Pointer(op), pointer.target.ty, None),
                    },
                    Some(pointer) => {
                        let guard = (!pointer.nonnull).then(|| op.clone());
                        (Callee::Pointer(op), pointer.target.ty, guard)
                    }
                    None => (Callee::Pointer(op), p.ty.ty, None),
                }
            }
        };
        let fty = if self.program.types.as_func(through).is_some() { through } else { fty };
        let Some(func) = self.program.types.as_func(fty) else { return self.unreachable() };
        let interesting: Vec<u32> = [func.into, func.end_into.map(|(p, _)| p)].into_iter().flatten().collect();
        let mut values: Vec<Arg> = vec![];
        let mut postponed = vec![];
        let mut lent = vec![];
        for (i, arg) in args.iter().enumerate() {
            let later: Vec<&Expr> = args.iter().skip(i + 1).collect();
            let whole = func.copies.is_some() || func.fills.is_some();
            let keep = interesting.contains(&(i as u32)) || whole;
            let at_most = func.params.get(i).and_then(|p| p.at_most);
            // What makes an array a string must hold when the call is made, not when the argument
            // is evaluated.
            match &*arg.kind {
                // C sets a temporary, and the variable is set afterwards: its address is not taken.
                _ if self.set_variable(&func, i, arg).is_some() => {
                    let null = Operand::Const(Const::Null(arg.ty.ty));
                    values.push(Arg { op: null.clone(), source: null });
                }
                // The variable is lent to the call, not while the other arguments are evaluated: so
                // that `push(&v, last(&v))` works.
                _ if lends_variable(arg) && !later.is_empty() => {
                    let null = Operand::Const(Const::Null(arg.ty.ty));
                    values.push(Arg { op: null.clone(), source: null });
                    lent.push((i, arg));
                }
                ExprKind::Convert(Conv::Pointer, inner)
                    if self.becomes_string(inner, arg) && (at_most.is_some() || disturbed(&later)) =>
                {
                    let value = self.argument(inner, &later, keep);
                    let value = Arg { op: self.freeze(value.op), source: self.freeze(value.source) };
                    postponed.push((i, inner.ty.ty, arg));
                    values.push(value);
                }
                _ => {
                    self.begins_anew(&func, i, arg, &mut values);
                    values.push(self.argument(arg, &later, keep));
                }
            }
        }
        for (i, from, node) in postponed {
            let Some(op) = values.get(i).map(|a| a.op.clone()) else { continue };
            let at_most = func.params.get(i).and_then(|p| p.at_most);
            let most = at_most.and_then(|n| values.get(n as usize)).map(|a| a.op.clone());
            let saved = self.enter(node.span, node.is_unsafe);
            let op = match most {
                Some(most) if self.is_fat(from) => self.string_of(op, most, node.ty.ty),
                _ => self.convert(Conv::Pointer, op, from, node.ty.ty),
            };
            self.leave(saved);
            if let Some(slot) = values.get_mut(i) {
                slot.op = op;
            }
        }
        for (i, arg) in lent {
            let value = self.argument(arg, &[], false);
            if let Some(slot) = values.get_mut(i) {
                *slot = value;
            }
        }
        self.check_args(&func, args, &mut values);
        let end_into = self.prepare_end_into(&func, args, &mut values);
        if let Some(pointer) = guard {
            self.check_nonnull(pointer);
        }
        let operands: Vec<Operand> = values.iter().map(|a| self.out_of_hold(a.op.clone())).collect();
        let is_void = self.is_void(func.ret);
        let (raw, wanted) = match dest {
            None => (None, None),
            Some(_) if is_void => (None, None),
            Some(dest) if self.needs_bounds(func.ret, e.ty.ty) => (Some(self.temp(func.ret)), Some(dest)),
            Some(dest) => (Some(dest), None),
        };
        self.emit(StmtKind::Call { dest: raw.map(Place::local), callee, args: operands, ty: fty });
        if func.noreturn {
            self.terminate(TermKind::Unreachable);
            return;
        }
        if let Some(end) = end_into {
            let into = func.end_into.and_then(|(p, _)| values.get(p as usize)).map(|a| a.source.clone());
            let store = |this: &mut Self| {
                let value = this.with_bounds(Operand::local(end.raw), into, end.wanted, true);
                this.assign(end.out, Rvalue::Use(value));
            };
            match end.guard {
                Some(pointer) => self.when(pointer, store),
                None => store(self),
            }
        }
        if let (Some(raw), Some(dest)) = (raw, wanted) {
            let into = func.into.and_then(|p| values.get(p as usize)).map(|a| a.source.clone());
            let value = self.with_bounds(Operand::local(raw), into, e.ty.ty, func.abi == Abi::C);
            self.assign(Place::local(dest), Rvalue::Use(value));
        }
    }

    /// A buffer as a string of which at most so many characters are read: it needs a zero only if
    /// it has fewer.
    fn string_of(&mut self, buffer: Operand, most: Operand, to: Ty) -> Operand {
        let buffer = self.simple(buffer);
        if !self.checks_off() {
            let (ulong, int) = (self.common().ulong, self.common().int);
            let most = self.numeric(most, ulong);
            let have = self.temp_of(Rvalue::Remaining(buffer.clone()), ulong);
            let short = self.temp_of(Rvalue::Binary(BinOp::Lt, have, most, ulong), int);
            let string = buffer.clone();
            self.when(short, |this| this.check(Check::HasTerminator(string)));
        }
        self.address(buffer, to)
    }

    /// Whether a conversion looks for a zero within bounds.
    fn becomes_string(&self, from: &Expr, to: &Expr) -> bool {
        match (self.pointer_of(from.ty.ty), self.pointer_of(to.ty.ty)) {
            (Some(p), Some(q)) => q.bounds.is_terminated() && !p.bounds.is_terminated(),
            _ => false,
        }
    }

    /// Whether a result of type `raw` is not yet a value of type `wanted`.
    fn needs_bounds(&self, raw: Ty, wanted: Ty) -> bool {
        match (self.pointer_of(raw), self.pointer_of(wanted)) {
            (Some(r), Some(w)) => {
                r.bounds.is_fat() != w.bounds.is_fat()
                    || mir::ty::pointer_class(&self.program.types, &r)
                        != mir::ty::pointer_class(&self.program.types, &w)
                    || !mir::ty::same_shape(&self.program.types, raw, wanted)
            }
            _ => false,
        }
    }

    /// Evaluates an argument. `keep`: what its bounds were is needed after the call.
    fn argument(&mut self, arg: &'t Expr, later: &[&'t Expr], keep: bool) -> Arg {
        let mut conversions = vec![];
        let mut inner = arg;
        if keep {
            while let ExprKind::Convert(conv @ (Conv::Pointer | Conv::View | Conv::ProveNonnull), from) = &*inner.kind {
                if self.pointer_of(from.ty.ty).is_none() {
                    break;
                }
                conversions.push((*conv, inner));
                inner = from;
            }
        }
        let (mut source, mut from) = match conversions.last() {
            Some((Conv::View, _)) if matches!(&*inner.kind, ExprKind::Decay(_)) => self.viewed(inner),
            _ => (self.operand_before(inner, later), inner.ty.ty),
        };
        let mut op = source.clone();
        while let Some((conv, node)) = conversions.pop() {
            let saved = self.enter(node.span, node.is_unsafe);
            op = self.convert(conv, op, from, node.ty.ty);
            from = node.ty.ty;
            if self.is_fat(from) && !self.is_fat(self.operand_ty(&source)) {
                source = op.clone();
            }
            self.leave(saved);
        }
        Arg { op, source }
    }

    /// `strtok_r(s, delimiters, &save)` begins anew if there is an `s`, whatever `save` was: it is set
    /// to null before its address is taken, so that what it pointed into is not used any more.
    fn begins_anew(&mut self, func: &FuncTy, number: usize, arg: &Expr, values: &mut [Arg]) -> Option<()> {
        let string = func.keeps_string? as usize;
        let mut arg = arg;
        while let ExprKind::Convert(Conv::Pointer, from) = &*arg.kind {
            arg = from;
        }
        let ExprKind::AddrOf(place) = &*arg.kind else { return None };
        let ExprKind::Local(variable) = *place.kind else { return None };
        let walked = self.pointer_of(self.pointer_of(func.params.get(number)?.ty)?.target.ty)?;
        let is_position = walked.region == self.pointer_of(func.params.get(string)?.ty)?.region;
        let is_null = matches!(values.get(string)?.op, Operand::Const(_));
        if self.body.unchecked || !is_position || is_null {
            return None;
        }
        // The string may be in the variable itself, and so may the delimiters.
        for value in values.iter_mut() {
            value.source = self.freeze(value.source.clone());
            value.op = self.freeze(value.op.clone());
        }
        let (given, variable) = (values.get(string)?.op.clone(), self.local(variable));
        let null = Operand::Const(Const::Null(self.local_ty(variable)));
        self.when(given, |this| this.assign(Place::local(variable), Rvalue::Use(null)));
        Some(())
    }

    /// Checks each argument of a counted parameter against its count, and passes its address.
    fn check_args(&mut self, func: &Rc<FuncTy>, args: &'t [Expr], values: &mut [Arg]) {
        let plain: Vec<Operand> = values.iter().map(|a| a.op.clone()).collect();
        let mut cut = vec![];
        for (i, param) in func.params.iter().enumerate() {
            let (Some(value), Some(arg)) = (plain.get(i).cloned(), args.get(i)) else { continue };
            let Some(Pointer { bounds: Bounds::Counted(id), .. }) = self.pointer_of(param.ty) else {
                let passed = self.same_words(value, param.ty);
                if let Some(slot) = values.get_mut(i) {
                    slot.op = passed;
                }
                continue;
            };
            let saved = self.enter(arg.span, arg.is_unsafe);
            let value = self.in_bytes(value, param.ty);
            let fat = self.is_fat(self.operand_ty(&value));
            if fat && !self.checks_off() {
                self.check_huge_counts(id, &plain);
                let count = self.count_of_args(id, &plain);
                let copies = func.copies.is_some_and(|(to, from)| to == i as u32 || from == i as u32)
                    || func.fills.is_some_and(|(p, _)| p == i as u32);
                if copies {
                    self.check_copies(&count, values.get(i).map(|v| v.source.clone()));
                }
                let cuts = func.cuts == Some(i as u32);
                let ends = cuts || func.terminates == Some(i as u32) || zeroes(func, i as u32, &plain);
                let whole = ends.then(|| whole_string(self, arg)).flatten();
                let known = match (const_int(&count), whole.or_else(|| known_length(self, arg))) {
                    (Some(want), Some(have)) => want <= i128::from(have),
                    _ => false,
                };
                let string =
                    ends && self.pointer_of(self.operand_ty(&value)).is_some_and(|p| p.bounds == Bounds::FatTerminated);
                if cuts && (whole.is_some() || string) {
                    cut.push((id, whole, read_of(&value), arg));
                }
                if !known {
                    let want = self.clamp(count);
                    let pointer = read_of(&value);
                    let check = |this: &mut Self| {
                        let ulong = this.common().ulong;
                        let have = match whole {
                            Some(all) => this.int(i128::from(all), ulong),
                            None if string => this.remaining_with_zero(pointer),
                            None => this.temp_of(Rvalue::Remaining(pointer), ulong),
                        };
                        this.check(Check::Enough(want, have));
                    };
                    if param.optional {
                        self.when(read_of(&value), check);
                    } else {
                        check(self);
                    }
                }
            }
            if let Some(slot) = values.get_mut(i) {
                slot.op = self.address(value, param.ty);
            }
            self.leave(saved);
        }
        for (count, whole, pointer, arg) in cut {
            let saved = self.enter(arg.span, arg.is_unsafe);
            self.leave_zero(count, whole, pointer, values);
            self.leave(saved);
        }
    }

    /// What is left of a string, its hidden zero counted, over which a zero may be written; none of
    /// an empty one, which may be null.
    fn remaining_with_zero(&mut self, pointer: Operand) -> Operand {
        let (ulong, int) = (self.common().ulong, self.common().int);
        let left = self.temp_of(Rvalue::Remaining(pointer), ulong);
        let zero = self.int(0, ulong);
        let some = self.temp_of(Rvalue::Binary(BinOp::Gt, left.clone(), zero, ulong), int);
        let some = self.numeric(some, ulong);
        self.temp_of(Rvalue::Binary(BinOp::Add, left, some, ulong), ulong)
    }

    /// The count of a call that may write a string's hidden zero (`strncpy(b, s, sizeof b)`), which the
    /// check allowed: the call does not count it, so the zero stays.
    fn leave_zero(&mut self, count: CountId, whole: Option<u64>, pointer: Operand, values: &mut [Arg]) {
        let CountExpr::Param(n) = *self.program.types.count_expr(count) else { return };
        let Some(slot) = values.get_mut(n as usize) else { return };
        let (ulong, int) = (self.common().ulong, self.common().int);
        let given = self.simple(slot.op.clone());
        let ty = self.operand_ty(&given);
        slot.op = match (const_int(&given), whole) {
            (Some(given), Some(whole)) => self.int(given.min(i128::from(whole) - 1), ty),
            (_, whole) => {
                let room = match whole {
                    Some(whole) => self.int(i128::from(whole) - 1, ulong),
                    None => self.temp_of(Rvalue::Remaining(pointer), ulong),
                };
                let given = self.simple(given);
                let wide = self.numeric(given.clone(), ulong);
                let over = self.temp_of(Rvalue::Binary(BinOp::Gt, wide, room, ulong), int);
                let over = self.numeric(over, ty);
                self.temp_of(Rvalue::Binary(BinOp::Sub, given, over, ty), ty)
            }
        };
    }

    /// Counts are signed; an unsigned one that does not fit in a signed number is larger than any
    /// object, not negative.
    fn check_huge_counts(&mut self, count: CountId, args: &[Operand]) {
        match *self.program.types.count_expr(count) {
            CountExpr::Param(n) => {
                let Some(arg) = args.get(n as usize).cloned() else { return };
                let ty = self.operand_ty(&arg);
                let wide = self.program.types.as_int(ty).is_some_and(|k| k.size() >= 8 && !k.signed());
                let known = matches!(&arg, Operand::Const(Const::Int(n, _)) if i64::try_from(*n).is_ok())
                    || matches!(&arg, Operand::Const(Const::SizeOf(_)));
                if wide && !known {
                    let most = self.int(i128::from(i64::MAX), self.common().ulong);
                    let want = self.numeric(arg, self.common().ulong);
                    self.check(Check::Enough(want, most));
                }
            }
            CountExpr::Add(a, b) | CountExpr::Sub(a, b) | CountExpr::Mul(a, b) => {
                self.check_huge_counts(a, args);
                self.check_huge_counts(b, args);
            }
            CountExpr::Div(a, _) => self.check_huge_counts(a, args),
            CountExpr::Const(_) | CountExpr::Field(_) => {}
        }
    }

    /// A value for a parameter that is not counted: with the parameter's words.
    fn same_words(&mut self, value: Operand, param: Ty) -> Operand {
        let ty = self.operand_ty(&value);
        if !self.is_fat(ty) || mir::ty::same_shape(&self.program.types, ty, param) || self.pointer_of(param).is_none() {
            return value;
        }
        if self.is_fat(param) {
            let bytes = self.in_bytes(value, param);
            let from = self.operand_ty(&bytes);
            return self.convert_unchecked(bytes, from, param);
        }
        self.address(value, param)
    }

    /// What is passed to a `void *` is counted in bytes.
    fn in_bytes(&mut self, value: Operand, param: Ty) -> Operand {
        let ty = self.operand_ty(&value);
        let (Some(from), Some(to)) = (self.pointer_of(ty), self.pointer_of(param)) else { return value };
        if !from.bounds.is_fat() || !self.is_void(to.target.ty) || self.program.types.is_character(from.target.ty) {
            return value;
        }
        let target = Qty { ty: self.common().uchar, ..from.target };
        let bytes = self.program.types.pointer(Pointer { target, bounds: Bounds::Fat, ..from });
        self.convert_view(value, ty, bytes)
    }

    /// What is not plain data is copied in whole elements.
    fn check_copies(&mut self, count: &Operand, source: Option<Operand>) {
        let Some(source) = source else { return };
        let ty = self.operand_ty(&source);
        let Some(pointer) = self.pointer_of(ty) else { return };
        let elem = pointer.target.ty;
        if self.is_void(elem) || self.program.types.is_plain(elem) {
            return;
        }
        let bytes = self.clamp(count.clone());
        self.check(Check::Multiple(bytes, elem));
    }

    /// A parameter that C sets to a pointer of one word where the program wants bounds: C gets a
    /// temporary.
    fn prepare_end_into(&mut self, func: &Rc<FuncTy>, args: &'t [Expr], values: &mut [Arg]) -> Option<EndInto> {
        let (_, out) = func.end_into?;
        let param = func.params.get(out as usize)?.ty;
        let arg = args.get(out as usize)?;
        let value = values.get(out as usize)?;
        let given = self.pointer_of(self.operand_ty(&value.op)).or_else(|| self.pointer_of(arg.ty.ty))?;
        let word = self.pointer_of(param)?.target.ty;
        let variable = self.set_variable(func, out as usize, arg);
        let wanted = variable.map_or(given.target.ty, |v| self.local_ty(v));
        let value = values.get_mut(out as usize)?;
        let is_null = matches!(value.op, Operand::Const(Const::Null(_))) && variable.is_none();
        if !self.needs_bounds(word, wanted) || is_null {
            return None;
        }
        let raw = self.temp(word);
        let null = Operand::Const(Const::Null(word));
        self.assign(Place::local(raw), Rvalue::Use(null));
        self.take_address(&Place::local(raw));
        let mut op = self.simple(value.op.clone());
        if self.is_fat(self.operand_ty(&op)) {
            let thin = self.thin(self.operand_ty(&op));
            op = self.address(op, thin);
        }
        let passed = self.temp(param);
        let nonnull = variable.is_some() || given.nonnull;
        if nonnull {
            self.assign(Place::local(passed), Rvalue::AddrOf(Place::local(raw)));
        } else {
            let null = Operand::Const(Const::Null(param));
            self.assign(Place::local(passed), Rvalue::Use(null));
            self.when(op.clone(), |this| {
                this.assign(Place::local(passed), Rvalue::AddrOf(Place::local(raw)));
            });
        }
        value.op = Operand::local(passed);
        let out = match variable {
            Some(variable) => Place::local(variable),
            None => op.place()?.then(Proj::Deref),
        };
        Some(EndInto { out, guard: (!nonnull).then_some(op), wanted, raw })
    }

    /// The variable whose address is the argument that C sets to a pointer of one word, if the
    /// variable has bounds. (Its type may have been found after the address was written.)
    fn set_variable(&mut self, func: &FuncTy, number: usize, arg: &Expr) -> Option<Local> {
        func.end_into.filter(|(_, out)| *out as usize == number)?;
        let ExprKind::AddrOf(place) = &*arg.kind else { return None };
        let ExprKind::Local(id) = *place.kind else { return None };
        let word = self.pointer_of(func.params.get(number)?.ty)?.target.ty;
        let variable = self.local(id);
        self.needs_bounds(word, self.local_ty(variable)).then_some(variable)
    }

    /// A pointer that points into the object of `source` as a value of type `to`, with its bounds;
    /// null stays null.
    fn with_bounds(&mut self, raw: Operand, source: Option<Operand>, to: Ty, trusted: bool) -> Operand {
        let from = self.operand_ty(&raw);
        let source_fat = source.filter(|s| self.is_fat(self.operand_ty(s)));
        let Some(source) = source_fat.filter(|_| self.is_fat(to) && !self.is_fat(from)) else {
            if self.is_fat(from) == self.is_fat(to) && !self.is_fat(to) && !self.is_typed_void(to) {
                return self.address(raw, to);
            }
            if self.is_fat(from) || self.is_typed_void(from) || self.is_typed_void(to) {
                return self.convert_pointer(raw, from, to);
            }
            let word = self.thin(to);
            let raw = self.address(raw, word);
            return self.convert_pointer(raw, from, to);
        };
        let out = self.temp(to);
        let null = Operand::Const(Const::Null(to));
        self.assign(Place::local(out), Rvalue::Use(null));
        self.when(raw.clone(), |this| {
            let thin = this.thin(to);
            let ptr = this.address(raw, thin);
            let lo = this.temp_of(Rvalue::Part(source.clone(), Part::Lo, thin), thin);
            let hi = this.temp_of(Rvalue::Part(source, Part::Hi, thin), thin);
            this.assign(Place::local(out), Rvalue::MakeFat { ty: to, ptr, lo, hi });
            if !trusted {
                this.check(Check::Within(Operand::local(out)));
            }
        });
        Operand::local(out)
    }

    /// A C builtin.
    pub fn builtin(&mut self, e: &'t Expr) -> Rvalue {
        let ExprKind::Builtin(name, args) = &*e.kind else {
            return Rvalue::Use(self.int(0, self.common().int));
        };
        let mut operands = vec![];
        for (i, arg) in args.iter().enumerate() {
            let later: Vec<&Expr> = args.iter().skip(i + 1).collect();
            operands.push(self.operand_before(arg, &later));
        }
        let ty = e.ty.ty;
        let pure = args.iter().all(|a| self.pointer_of(a.ty.ty).is_none());
        if pure && !self.checks_off() && !self.is_void(ty) {
            return Rvalue::Builtin(*name, operands, ty);
        }
        // In plain C and unsafe code it may be any function of the C compiler.
        let params = args.iter().map(|a| ParamTy::new(a.ty.ty)).collect();
        let result = self.call_builtin(*name, operands, params, ty);
        Rvalue::Use(result.unwrap_or_else(|| self.int(0, self.common().int)))
    }

    /// A call of what the C compiler, or the runtime's header, has under that name. None: the
    /// result is `void`.
    pub fn call_builtin(
        &mut self,
        name: source::Symbol,
        args: Vec<Operand>,
        params: Vec<ParamTy>,
        ty: Ty,
    ) -> Option<Operand> {
        let func = FuncTy::new(ty, params, Abi::C);
        let func = self.program.types.intern(TyKind::Func(Rc::new(func)));
        let dest = if self.is_void(ty) { None } else { Some(self.temp(ty)) };
        self.emit(StmtKind::Call { dest: dest.map(Place::local), callee: Callee::Builtin(name), args, ty: func });
        dest.map(Operand::local)
    }
}

/// The number of elements behind an argument that is an array, if it is constant: its bytes if seen
/// as bytes.
fn known_length(lower: &Lower, arg: &Expr) -> Option<u64> {
    match &*arg.kind {
        ExprKind::Decay(array) => match *lower.program.types.kind(array.ty.ty) {
            TyKind::Array { len: ArrayLen::Const(n), terminated, .. } => Some(n.saturating_sub(u64::from(terminated))),
            _ => None,
        },
        ExprKind::Convert(Conv::Pointer, inner) if lower.is_fat(inner.ty.ty) => known_length(lower, inner),
        ExprKind::Convert(Conv::View, inner) if lower.is_fat(inner.ty.ty) => {
            let size = |ty| {
                let target = lower.pointer_of(ty)?.target.ty;
                if lower.is_void(target) {
                    return Some(1);
                }
                lower.program.types.layout(target).map(|l| l.size)
            };
            let (from, to) = (size(inner.ty.ty)?, size(arg.ty.ty)?);
            known_length(lower, inner)?.checked_mul(from)?.checked_div(to)
        }
        _ => None,
    }
}

/// The elements of an argument that is a whole `null_terminated` array, its hidden zero counted.
fn whole_string(lower: &Lower, arg: &Expr) -> Option<u64> {
    match &*arg.kind {
        ExprKind::Decay(array) => match *lower.program.types.kind(array.ty.ty) {
            TyKind::Array { len: ArrayLen::Const(n), terminated: true, .. } => Some(n),
            _ => None,
        },
        ExprKind::Convert(Conv::Pointer | Conv::View, inner) => whole_string(lower, inner),
        _ => None,
    }
}

/// Whether a call fills this argument with zeros (`[[lee::fills]]`): what it writes over the zero
/// of a string is one.
fn zeroes(func: &FuncTy, at: u32, args: &[Operand]) -> bool {
    let Some((_, value)) = func.fills.filter(|(p, _)| *p == at) else { return false };
    value.is_none_or(|value| args.get(value as usize).and_then(const_int) == Some(0))
}

/// Whether evaluating one of the expressions may write to memory.
fn disturbed(later: &[&Expr]) -> bool {
    later.iter().any(|e| effects::has_effects(e))
}
