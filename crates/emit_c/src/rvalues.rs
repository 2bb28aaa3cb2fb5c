//! Right sides of assignments.

use crate::body::Emitter;
use crate::exprs::{int_text, Ex, Level};
use crate::layouts::Allocation;
use crate::owned::From;
use crate::pending::Element;
use crate::prelude;
use mir::ir::*;
use typing::types::*;

/// A computed value.
pub struct Value {
    /// Its words.
    pub words: Vec<Ex>,
    /// Computing it does nothing else, so it may wait, or be dropped.
    pub pure: bool,
}

impl Value {
    fn pure(word: Ex) -> Value {
        Value { words: vec![word], pure: true }
    }

    pub fn effect(word: Ex) -> Value {
        Value { words: vec![word], pure: false }
    }
}

impl Emitter<'_, '_> {
    /// The value of a right side.
    pub fn rvalue(&mut self, value: &Rvalue) -> Value {
        match value {
            Rvalue::Use(operand) => {
                let volatile = self.is_volatile(operand);
                Value { words: self.operand(operand, false), pure: !volatile }
            }
            Rvalue::Unary(op, a) => Value::pure(self.unary(*op, a)),
            Rvalue::Binary(op, a, b, ty) => Value::pure(self.binary(*op, a, b, *ty)),
            Rvalue::Numeric(a, ty) => Value::pure(self.numeric(a, *ty)),
            Rvalue::Bits(a, ty) => self.bits(a, *ty),
            Rvalue::AddrOf(place) => {
                let loc = self.place(place, false);
                Value::pure(self.address(&loc))
            }
            Rvalue::MakeFat { ty, ptr, lo, hi } => {
                let cast = self.unit.c.cast(*ty);
                let words = [ptr, lo, hi].into_iter().map(|o| self.value(o).coerce(&cast)).collect();
                Value { words, pure: true }
            }
            Rvalue::Part(a, part, ty) => Value::pure(self.part(a, *part, *ty)),
            Rvalue::MakeTypedVoid(a, of, _) => {
                let address = self.value(a);
                let descriptor = self.unit.descriptor(*of);
                Value { words: vec![address.coerce(&"void *".into()), Ex::atom(format!("&{descriptor}"))], pure: true }
            }
            Rvalue::Offset(a, n) => Value { words: self.offset(a, n), pure: true },
            Rvalue::Difference(a, b) => Value::pure(self.difference(a, b)),
            Rvalue::Remaining(a) => Value::pure(self.remaining(a)),
            Rvalue::Measure(a) => Value::pure(self.measure(a)),
            Rvalue::MakeCounted { ty, ptr, count } => self.counted(*ty, ptr, count),
            Rvalue::Clamp(a) => {
                let a = self.value_twice(a);
                Value::pure(Ex {
                    text: format!("{} > 0 ? (size_t){} : 0", a.at(Level::Unary), a.at(Level::Unary)),
                    level: Level::Any,
                    atom: false,
                    ..a
                })
            }
            Rvalue::CountArith(op, a, b) => Value::effect(self.count_arith(*op, a, b)),
            Rvalue::BlockSize(a) => {
                let target = self.target(self.operand_ty(a));
                let align = self.unit.large_alignment(target);
                let a = self.value(a);
                let mut out = match align {
                    Some(align) => Ex::call("lee_heap_aligned_size", &[&a, &Ex::atom(align.to_string())]),
                    None => Ex::call("lee_heap_block_size", &[&a]),
                };
                out.deps.memory = true;
                Value::pure(out)
            }
            Rvalue::Alloc { elem, reuse: Some(old), .. } => Value::effect(self.reuse(*elem, old)),
            Rvalue::Alloc { elem, count, extra, hidden_zero, fallible, handle, counted, reuse: None } => {
                let from = From { handle: handle.as_ref(), counted: *counted };
                Value::effect(self.alloc(*elem, count, extra.as_ref(), *hidden_zero, *fallible, from))
            }
            Rvalue::Borrow(kind, place, ty) => Value { words: self.borrow(*kind, place, *ty), pure: true },
            Rvalue::Retain(a) => Value { words: self.retain(a), pure: false },
            Rvalue::NewKey(kind, _) => Value::effect(self.new_key(*kind)),
            Rvalue::Tag(place) => {
                let loc = self.place(place, false);
                let tag = Ex::new(self.tag_text(&loc), Level::Primary).with(&loc.deps);
                Value::pure(tag.cast("int"))
            }
            Rvalue::Truth(a) => Value::pure(self.truth(a)),
            Rvalue::VaArg(place, ty) => {
                let loc = self.place(place, false);
                let cast = self.unit.c.cast(*ty);
                let text = format!("__builtin_va_arg({}, {cast})", self.lvalue(&loc));
                Value::effect(Ex { pointer: Some(cast), ..Ex::new(text, Level::Primary).with(&loc.deps) })
            }
            Rvalue::Builtin(name, args, ty) => {
                let args: Vec<Ex> = args.iter().map(|a| self.value(a)).collect();
                let call = Ex::call(name.as_str(), &args.iter().collect::<Vec<_>>());
                let cast = self.unit.c.cast(*ty);
                Value::pure(call.cast(&cast))
            }
            Rvalue::LabelAddr(block, ty) => {
                let cast = self.unit.c.cast(*ty);
                Value::pure(Ex::new(format!("&&b{}", block.0), Level::Unary).cast(&cast))
            }
        }
    }

    /// Whether reading the operand is an effect of its own.
    fn is_volatile(&self, operand: &Operand) -> bool {
        let Some(place) = operand.place() else { return false };
        mir::ty::place_ty(self.unit.program, self.body, place).is_ok_and(|q| q.quals.is_volatile || q.quals.is_atomic)
    }

    fn unary(&mut self, op: UnOp, a: &Operand) -> Ex {
        let ty = self.operand_ty(a);
        let value = self.value(a);
        let plain = |e: Ex| Ex { pointer: None, atom: false, ..e };
        match op {
            UnOp::Neg => {
                let negated = value.prefix("-");
                self.narrow(negated, ty)
            }
            UnOp::BitNot => {
                let inverted = value.prefix("~");
                self.narrow(inverted, ty)
            }
            UnOp::Not if value.solid => Ex::atom("0"),
            UnOp::Not => plain(value.prefix("!")),
            UnOp::Real => {
                plain(Ex { text: format!("__real__ {}", value.at(Level::Unary)), level: Level::Unary, ..value })
            }
            UnOp::Imag => {
                plain(Ex { text: format!("__imag__ {}", value.at(Level::Unary)), level: Level::Unary, ..value })
            }
        }
    }

    /// C computes small integers as `int`; the result is of the small type here.
    fn narrow(&mut self, value: Ex, ty: Ty) -> Ex {
        let small = self.unit.types.as_int(ty).is_some_and(|k| k.size() < 4);
        if small {
            let cast = self.unit.c.cast(ty);
            value.cast(&cast)
        } else {
            value
        }
    }

    fn binary(&mut self, op: BinOp, a: &Operand, b: &Operand, ty: Ty) -> Ex {
        let operator = op.in_c();
        if mir::ty::is_comparison(op) {
            return self.compare(operator, a, b);
        }
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            return self.shift(op, a, b, ty);
        }
        let (left, right) = (self.value(a), self.value(b));
        let result = left.binary(operator, &right);
        self.narrow(result, ty)
    }

    fn compare(&mut self, operator: &str, a: &Operand, b: &Operand) -> Ex {
        let types = self.unit.types;
        let is_pointer = |ty: Ty| matches!(types.kind(ty), TyKind::Ptr(_) | TyKind::NullPtr | TyKind::Func(_));
        let function = |o: &Operand| matches!(o, Operand::Const(Const::Func(_)));
        let null = |o: &Operand| matches!(o, Operand::Const(Const::Null(_)));
        let pointers = is_pointer(self.operand_ty(a)) || is_pointer(self.operand_ty(b)) || function(a) || function(b);
        let equality = matches!(operator, "==" | "!=");
        let (left, right) = (self.value(a), self.value(b));
        if equality && ((left.solid && null(b)) || (right.solid && null(a))) {
            return Ex::atom(if operator == "==" { "0" } else { "1" });
        }
        if !pointers || (equality && (null(a) || null(b))) {
            return left.binary(operator, &right);
        }
        left.address().binary(operator, &right.address())
    }

    fn shift(&mut self, op: BinOp, a: &Operand, b: &Operand, ty: Ty) -> Ex {
        let kind = self.unit.types.as_int(ty).unwrap_or(IntKind::Int);
        let mask = i128::from(kind.size() * 8 - 1);
        let mut left = self.value(a);
        let right = match b {
            Operand::Const(Const::Int(n, _)) => int_text(n & mask, IntKind::Int),
            _ => {
                let count = self.value(b);
                count.binary("&", &int_text(mask, IntKind::Int))
            }
        };
        // A constant that is negative, or shifted beyond its sign, would make compilers warn.
        if matches!(a, Operand::Const(_)) && op == BinOp::Shl && kind.signed() && kind.size() >= 4 {
            let unsigned = match kind {
                IntKind::Int => "unsigned",
                IntKind::Int128 => "unsigned __int128",
                _ => "unsigned long",
            };
            left = left.cast(unsigned);
            let cast = self.unit.c.cast(ty);
            return left.binary("<<", &right).cast(&cast);
        }
        let result = left.binary(op.in_c(), &right);
        self.narrow(result, ty)
    }

    fn numeric(&mut self, a: &Operand, ty: Ty) -> Ex {
        let types = self.unit.types;
        let from = self.operand_ty(a);
        let cast = self.unit.c.cast(ty);
        if let (TyKind::Float(source), Some(target), false) = (types.kind(from), types.as_int(ty), self.body.unchecked)
        {
            if *types.kind(ty) != TyKind::Bool {
                return self.saturate(a, *source, target).cast(&cast);
            }
        }
        let value = self.value(a);
        if *types.kind(ty) == TyKind::Bool {
            let zero = Ex::atom("0");
            return value.binary("!=", &zero);
        }
        if let TyKind::Ptr(_) = types.kind(from) {
            return value.address().cast(&cast);
        }
        value.cast(&cast)
    }

    /// Float to integer: what is out of range becomes the nearest value; NaN becomes 0.
    fn saturate(&mut self, a: &Operand, source: FloatKind, target: IntKind) -> Ex {
        let value = self.value(a);
        let (word, float) = match source.standard() {
            FloatKind::LongDouble => ("l", "long double"),
            FloatKind::Float128 => ("q", "__float128"),
            _ => ("d", "double"),
        };
        let bits = target.size() * 8;
        let sign = if target.signed() { "s" } else { "u" };
        let name = format!("lee__{word}_to_{sign}{bits}");
        self.unit.saturation(&name, float, target);
        Ex::call(&name, &[&value])
    }

    fn bits(&mut self, a: &Operand, ty: Ty) -> Value {
        let types = self.unit.types;
        let from = self.operand_ty(a);
        let cast = self.unit.c.cast(ty);
        let is_pointer = |ty: Ty| matches!(types.kind(ty), TyKind::Ptr(_) | TyKind::NullPtr | TyKind::Func(_));
        let words = types.words(ty);
        if words > 1 && types.words(from) == words {
            let parts = self.operand(a, false);
            let recast = |(n, w): (usize, Ex)| if words == 3 || n == 0 { w.coerce(&cast) } else { w };
            return Value { words: parts.into_iter().enumerate().map(recast).collect(), pure: true };
        }
        let function = matches!(a, Operand::Const(Const::Func(_)));
        let value = self.value(a);
        if is_pointer(ty) && (is_pointer(from) || function) {
            return Value::pure(if value.pointer.as_ref() == Some(&cast) { value } else { value.cast(&cast) });
        }
        if is_pointer(ty) || is_pointer(from) {
            return Value::pure(value.address().cast(&cast));
        }
        Value::pure(value.cast(&cast))
    }

    fn part(&mut self, a: &Operand, part: Part, ty: Ty) -> Ex {
        let words = self.operand(a, false);
        let index = match part {
            Part::Ptr => 0,
            Part::Lo | Part::Type => 1,
            Part::Hi => 2,
        };
        let cast = self.unit.c.cast(ty);
        match words.into_iter().nth(index) {
            Some(word) if part == Part::Type => word.cast(&cast),
            Some(word) => word.coerce(&cast),
            None => Ex::atom("NULL"),
        }
    }

    /// The element type behind a pointer.
    pub fn target(&self, ty: Ty) -> Ty {
        self.unit.types.as_pointer(ty).map_or(self.unit.types.common.char_, |p| p.target.ty)
    }

    fn offset(&mut self, a: &Operand, n: &Operand) -> Vec<Ex> {
        let ty = self.operand_ty(a);
        let words = self.unit.types.words(ty);
        let target = self.target(ty);
        let cast = self.unit.c.cast(ty);
        let size = self.unit.types.layout(target).map(|l| l.size);
        let even = size.is_some_and(u64::is_power_of_two);
        let count = self.value(n);
        // Plain C has no bounds that a product that wraps could come back into.
        if words == 3 && !even && !self.unit.options.plain {
            let mut parts = self.operand(a, true).into_iter();
            let (Some(ptr), Some(lo), Some(hi)) = (parts.next(), parts.next(), parts.next()) else { return vec![] };
            let helper = self.unit.helper(&prelude::OFFSET);
            let size = Ex::atom(self.unit.c.sizeof_text(target));
            let moved = Ex::call(helper, &[&ptr, &lo, &count, &size]).cast(&cast);
            return vec![moved, lo, hi];
        }
        self.unit.c.need(target);
        let mut parts = self.operand(a, false).into_iter();
        let Some(ptr) = parts.next() else { return vec![] };
        let ptr = if ptr.pointer.is_none() { ptr.cast(&cast) } else { ptr.coerce(&cast) };
        let opaque = matches!(self.unit.types.kind(target), TyKind::Void | TyKind::Func(_) | TyKind::Error);
        let moved = if opaque || self.unit.c.has_variable(target) {
            let size = Ex::atom(self.unit.c.sizeof_text(target));
            let bytes = if opaque { count } else { count.binary("*", &size) };
            ptr.cast("char *").binary("+", &bytes).cast(&cast)
        } else if let Some(back) = count.text.strip_prefix('-').filter(|_| count.atom) {
            ptr.binary("-", &Ex { text: back.to_string(), ..count.clone() })
        } else {
            ptr.binary("+", &count)
        };
        let moved = moved.of_pointer(cast);
        [moved].into_iter().chain(parts).collect()
    }

    /// The element at an offset of a fat pointer, if the temporary that holds its address is only
    /// checked and dereferenced.
    pub fn element(&mut self, local: Local, pointer: &Operand, count: &Operand) -> Option<Element> {
        let checks = self.uses.element_checks.get(local.0 as usize).copied().unwrap_or(0);
        let ty = self.operand_ty(pointer);
        let target = self.target(ty);
        let sized = self.unit.types.layout(target).is_some_and(|l| l.size > 0);
        if checks == 0 || !self.may_wait(local) || self.unit.types.words(ty) != 3 || !sized {
            return None;
        }
        let cast = self.unit.c.cast(ty);
        let size = self.unit.c.sizeof_text(target);
        let words = self.operand(pointer, true);
        let words = if words.iter().all(is_steady) { words } else { self.once(words, Qty::plain(ty)) };
        let mut words = words.into_iter().map(|w| if w.pointer.is_none() { w.cast(&cast) } else { w.coerce(&cast) });
        let (base, lo, hi) = (words.next()?, words.next()?, words.next()?);
        let index = self.value_twice(count);
        let long = self.unit.types.common.long;
        let index = if is_steady(&index) { index } else { self.once(vec![index], Qty::plain(long)).pop()? };
        Some(Element { base, lo, hi, index, size, checks })
    }

    fn difference(&mut self, a: &Operand, b: &Operand) -> Ex {
        let target = self.target(self.operand_ty(a));
        let (left, right) = (self.value(a), self.value(b));
        let bytes = left.address().binary("-", &right.address()).cast("ptrdiff_t");
        let size = self.unit.c.sizeof_text(target);
        match self.unit.types.layout(target).map(|l| l.size) {
            Some(0) => Ex::atom("0"),
            Some(1) => bytes,
            _ if size == "1" => bytes,
            _ => bytes.binary("/", &Ex::atom(size).cast("ptrdiff_t")),
        }
    }

    fn remaining(&mut self, a: &Operand) -> Ex {
        let target = self.target(self.operand_ty(a));
        let words = self.operand(a, false);
        let sized = self.unit.types.layout(target).is_some_and(|l| l.size > 0) && !self.unit.c.has_variable(target);
        if let ([first, lower, end], true) = (words.as_slice(), sized) {
            if first.text == lower.text && first.pointer.is_some() && first.pointer == end.pointer {
                self.unit.c.need(target);
                return Ex { pointer: None, ..end.binary("-", first) }.cast("size_t");
            }
        }
        let helper = self.unit.helper(&prelude::LEFT);
        let size = Ex::atom(self.unit.c.sizeof_text(target));
        let mut args: Vec<&Ex> = words.iter().collect();
        args.push(&size);
        Ex::call(helper, &args)
    }

    fn measure(&mut self, a: &Operand) -> Ex {
        let target = self.target(self.operand_ty(a));
        let value = self.value(a);
        let width = self.unit.types.layout(target).map_or(1, |l| l.size);
        let mut out = if width > 1 {
            let helper = self.unit.helper(&prelude::WIDE_LENGTH);
            Ex::call(helper, &[&value, &Ex::atom(width.to_string())])
        } else {
            let value = value.coerce(&"char *".into());
            Ex::call("lee_strlen", &[&value])
        };
        out.deps.memory = true;
        out.deps.trap = true;
        out
    }

    fn counted(&mut self, ty: Ty, ptr: &Operand, count: &Operand) -> Value {
        let cast = self.unit.c.cast(ty);
        let target = self.target(ty);
        self.unit.c.need(target);
        let constant = matches!(count, Operand::Const(_));
        let address = self.value_twice(ptr);
        let address = match is_steady(&address) || address.text == "NULL" {
            true => address,
            false => self.once(vec![address], Qty::plain(ty)).pop().unwrap_or_else(|| Ex::atom("NULL")),
        };
        // The number of elements of a new block is not negative, and the block is there.
        let made = ptr.place().and_then(Place::as_local).and_then(|l| *self.blocks_made.get(l.0 as usize)?);
        let made = made == Some(count);
        let count = self.value_twice(count);
        let address = if address.pointer.is_none() { address.cast(&cast) } else { address.coerce(&cast) };
        let some = match made || (constant && !count.text.starts_with('-')) {
            true => count.clone(),
            false => Ex {
                level: Level::Any,
                ..Ex::new(format!("{} > 0 ? {} : 0", count.at(Level::Unary), count.text), Level::Any).with(&count.deps)
            },
        };
        let opaque = matches!(self.unit.types.kind(target), TyKind::Void);
        let end =
            if opaque { address.cast("char *").binary("+", &some).cast(&cast) } else { address.binary("+", &some) };
        let text = match address.solid || made {
            true => end.at(Level::Binary),
            false => format!("{} != NULL ? {} : NULL", address.at(Level::Unary), end.text),
        };
        let hi = Ex::new(text, Level::Any).with(&end.deps).of_pointer(cast);
        Value { words: vec![address.clone(), address, hi], pure: true }
    }

    fn count_arith(&mut self, op: BinOp, a: &Operand, b: &Operand) -> Ex {
        let site = Ex::atom(self.unit.site(self.span));
        self.unit.helper(&prelude::COUNT);
        let (left, right) = (self.value(a), self.value(b));
        let name = match op {
            BinOp::Sub => "lee__count_sub",
            BinOp::Mul => "lee__count_mul",
            BinOp::Div => "lee__count_div",
            _ => "lee__count_add",
        };
        Ex::call(name, &[&site, &left, &right])
    }

    fn alloc(
        &mut self,
        elem: Ty,
        count: &Operand,
        extra: Option<&Operand>,
        hidden_zero: bool,
        fallible: bool,
        from: From,
    ) -> Ex {
        let one = matches!(count, Operand::Const(Const::Int(1, _)));
        let size = Ex { level: Level::Unary, ..Ex::atom(self.unit.c.sizeof_text(elem)) };
        let allocation = self.unit.allocation(elem, extra.is_some());
        let mut rest = extra.map(|e| self.value(e));
        if hidden_zero {
            rest = Some(match rest {
                Some(rest) => rest.binary("+", &size),
                None => size.clone(),
            });
        }
        if from.counted || from.handle.is_some() {
            return self.alloc_owned(elem, count, rest, fallible, from);
        }
        let align = self.unit.large_alignment(elem).map(|align| Ex::atom(align.to_string()));
        if let Some(align) = &align {
            self.unit.drops.used = true;
            // What is just past the elements of a cell without a header is still its own.
            let past =
                Ex::atom(if matches!(allocation, Allocation::Plain | Allocation::Asked(..)) { "1" } else { "0" });
            let more = align.binary("+", &past);
            rest = Some(rest.map_or(more.clone(), |rest| rest.binary("+", &more)));
        }
        let count = self.value(count);
        let site = (!fallible).then(|| Ex::atom(self.unit.site(self.span)));
        let mut args: Vec<&Ex> = site.iter().collect();
        let name = match (one && rest.is_none(), fallible) {
            (true, false) => "lee_heap_alloc",
            (true, true) => "lee_heap_try_alloc",
            (false, false) => "lee_heap_alloc_array",
            (false, true) => "lee_heap_try_alloc_array",
        };
        let none = Ex::atom("0");
        if one && rest.is_none() {
            args.push(&size);
        } else {
            args.extend([&count, &size, rest.as_ref().unwrap_or(&none)]);
        }
        if let Allocation::Typed(layout) | Allocation::Asked(_, layout) = &allocation {
            self.unit.allocates(layout, self.span);
        }
        let with = |layout: &str| {
            let layout = Ex::atom(format!("&{layout}"));
            let args: Vec<&Ex> = args.iter().copied().chain([&layout]).collect();
            Ex::call(&format!("{name}_typed"), &args)
        };
        let call = match &allocation {
            Allocation::Plain => Ex::call(&format!("{name}_plain"), &args),
            Allocation::Typed(layout) => with(layout),
            Allocation::Asked(test, layout) => asked(test, with(layout), Ex::call(&format!("{name}_plain"), &args)),
            Allocation::Conservative => Ex::call(name, &args),
        };
        let call = match &align {
            Some(align) => Ex::call("lee_align", &[&call, align]),
            None => call,
        };
        call.of_pointer("void *".into())
    }

    /// One element, in the memory of an object that is no longer used if it fits.
    fn reuse(&mut self, elem: Ty, old: &Operand) -> Ex {
        if self.unit.large_alignment(elem).is_some() {
            let free = Ex::call("lee_free_aligned", &[&self.value(old)]);
            let one = Operand::Const(Const::Int(1, self.unit.types.common.long));
            let fresh = self.alloc(elem, &one, None, false, false, From { handle: None, counted: false });
            let both = Ex::new(format!("({}, {})", free.text, fresh.text), Level::Primary);
            return both.with(&free.deps).with(&fresh.deps).of_pointer("void *".into());
        }
        let size = Ex { level: Level::Unary, ..Ex::atom(self.unit.c.sizeof_text(elem)) };
        let (site, old) = (Ex::atom(self.unit.site(self.span)), self.value(old));
        let plain = Ex::call("lee_heap_reuse_plain", &[&site, &old, &size]);
        let with =
            |layout: &str| Ex::call("lee_heap_reuse_typed", &[&site, &old, &size, &Ex::atom(format!("&{layout}"))]);
        let allocation = self.unit.allocation(elem, false);
        if let Allocation::Typed(layout) | Allocation::Asked(_, layout) = &allocation {
            self.unit.allocates(layout, self.span);
        }
        let call = match allocation {
            Allocation::Plain => plain,
            Allocation::Typed(layout) => with(&layout),
            Allocation::Asked(test, layout) => asked(&test, with(&layout), plain),
            Allocation::Conservative => with("lee_layout_conservative"),
        };
        call.of_pointer("void *".into())
    }

    /// Whether a scalar is not zero.
    pub fn truth(&mut self, a: &Operand) -> Ex {
        let is_pointer = matches!(self.unit.types.kind(self.operand_ty(a)), TyKind::Ptr(_) | TyKind::NullPtr);
        let value = self.value(a);
        if value.solid {
            return Ex::atom("1");
        }
        value.binary("!=", &Ex::atom(if is_pointer { "NULL" } else { "0" }))
    }
}

/// One of two calls with the same arguments, as `container_of` needs it.
fn asked(test: &str, typed: Ex, plain: Ex) -> Ex {
    Ex::new(format!("{test} ? {} : {}", typed.text, plain.text), Level::Any).with(&plain.deps)
}

/// Whether the value is the same wherever it is written.
fn is_steady(e: &Ex) -> bool {
    e.atom && !e.deps.memory
}
