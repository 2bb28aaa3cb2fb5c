//! Constant expressions: integers, floats, addresses.

use crate::checker::{Checker, Known};
use crate::codes;
use crate::convert::Why;
use crate::tree::*;
use crate::types::*;
use source::{with_article, Span, Symbol};
use syntax::ast;

/// The part of an initialiser that is not a constant.
struct NotConstant {
    /// Where; `Span::NONE` for all of it.
    span: Span,
    /// Why it has no value, if it is made of constants.
    why: Option<String>,
}

impl From<Span> for NotConstant {
    fn from(span: Span) -> NotConstant {
        NotConstant { span, why: None }
    }
}

impl Checker<'_> {
    /// An integer constant expression, or a report.
    pub(crate) fn constant_int(&mut self, e: &ast::Expr) -> Option<i128> {
        let before = self.sink.all.len();
        let value = self.value(e);
        if let Some(n) = self.int_of(&value) {
            return Some(n);
        }
        if self.sink.all.len() == before && !self.is_error(value.ty.ty) {
            match self.no_value(&value) {
                Some((span, why)) => self.error(codes::CONSTANT, span, format!("this is not a constant: {why}")),
                None => self.error(
                    codes::CONSTANT,
                    e.span,
                    "this is not an integer constant: its value is not known at compile time",
                ),
            }
        }
        None
    }

    /// The division of constants in an expression that has no value, and why not.
    fn no_value(&self, e: &Expr) -> Option<(Span, String)> {
        match &*e.kind {
            ExprKind::Binary(op @ (BinOp::Div | BinOp::Rem), a, b) => {
                if let (Some(x), Some(y), None) = (self.int_of(a), self.int_of(b), self.int_of(e)) {
                    let sign = if *op == BinOp::Div { '/' } else { '%' };
                    let why = match y {
                        0 => format!("`{x} {sign} 0` divides by zero"),
                        _ => format!(
                            "the quotient of `{x} {sign} {y}` does not fit {}",
                            with_article(&self.show(e.ty.ty))
                        ),
                    };
                    return Some((e.span, why));
                }
                self.no_value(a).or_else(|| self.no_value(b))
            }
            ExprKind::Binary(_, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Comma(a, b) => {
                self.no_value(a).or_else(|| self.no_value(b))
            }
            ExprKind::Cond(c, a, b) => self.no_value(c).or_else(|| self.no_value(a)).or_else(|| self.no_value(b)),
            ExprKind::Unary(_, a) | ExprKind::Convert(_, a) => self.no_value(a),
            _ => None,
        }
    }

    /// An integer constant expression, without a report.
    pub(crate) fn try_constant_int(&mut self, e: &ast::Expr) -> Option<i128> {
        self.muted += 1;
        let value = self.value(e);
        self.muted -= 1;
        self.int_of(&value)
    }

    /// The value of an integer constant.
    pub(crate) fn int_of(&self, e: &Expr) -> Option<i128> {
        match &*e.kind {
            ExprKind::Int(n) => Some(*n),
            ExprKind::Load(place) => match self.known_value(place)? {
                Known::Int(n) => Some(n),
                Known::Float(_) => None,
            },
            ExprKind::Convert(Conv::Numeric, inner) => {
                if matches!(self.kind(inner.ty.ty), TyKind::Float(_)) {
                    let value = self.number_of(inner)?;
                    if matches!(self.kind(e.ty.ty), TyKind::Bool) {
                        return Some(i128::from(value != 0.0));
                    }
                    return Some(self.program.types.as_int(e.ty.ty)?.nearest(value));
                }
                let n = self.int_of(inner)?;
                let kind = self.program.types.as_int(e.ty.ty)?;
                Some(if matches!(self.kind(e.ty.ty), TyKind::Bool) { i128::from(n != 0) } else { kind.wrap(n) })
            }
            ExprKind::Convert(Conv::ToBool, inner) => Some(i128::from(self.truth_of(inner)?)),
            ExprKind::Binary(op, a, b) if matches!(self.kind(a.ty.ty), TyKind::Float(_)) => {
                let (a, b) = (self.number_of(a)?, self.number_of(b)?);
                op.compare(&a, &b).map(i128::from)
            }
            ExprKind::Binary(op, a, b) => {
                let kind = self.program.types.as_int(a.ty.ty)?;
                crate::ops::fold(*op, self.int_of(a)?, self.int_of(b)?, kind)
            }
            ExprKind::Unary(UnOp::Not, a) => Some(i128::from(!self.truth_of(a)?)),
            ExprKind::Unary(op, a) => {
                let n = self.int_of(a)?;
                let kind = self.program.types.as_int(e.ty.ty)?;
                match op {
                    UnOp::Neg => Some(kind.wrap(n.wrapping_neg())),
                    UnOp::BitNot => Some(kind.wrap(!n)),
                    UnOp::Not | UnOp::Real | UnOp::Imag => None,
                }
            }
            ExprKind::Cond(c, a, b) => {
                if self.truth_of(c)? {
                    self.int_of(a)
                } else {
                    self.int_of(b)
                }
            }
            // What is not evaluated need not be constant.
            ExprKind::And(a, b) => Some(i128::from(self.truth_of(a)? && self.truth_of(b)?)),
            ExprKind::Or(a, b) => Some(i128::from(self.truth_of(a)? || self.truth_of(b)?)),
            // Two addresses in one object.
            ExprKind::PtrDiff(a, b) => {
                let ((x, from), (y, to)) = (self.address_of_value(b)?, self.address_of_value(a)?);
                let target = self.program.types.as_pointer(a.ty.ty)?.target.ty;
                let size = self.program.types.layout(target).map_or(1, |l| l.size.max(1));
                (x == y).then(|| (i128::from(to) - i128::from(from)) / i128::from(size))
            }
            // The classic offsetof: the address of a member at null.
            ExprKind::Convert(Conv::PtrToInt, inner) => {
                let (addr, offset) = self.address_of_value(inner)?;
                (addr == ConstAddr::Absolute).then_some(i128::from(offset))
            }
            _ => None,
        }
    }

    /// Whether a constant is not zero.
    fn truth_of(&self, e: &Expr) -> Option<bool> {
        match self.kind(e.ty.ty) {
            TyKind::Float(_) => Some(self.number_of(e)? != 0.0),
            _ => Some(self.int_of(e)? != 0),
        }
    }

    /// The value of a floating constant, where an integer depends on it.
    fn number_of(&self, e: &Expr) -> Option<f64> {
        let value = match &*e.kind {
            ExprKind::Float(text) => float_value(text.as_str())?,
            ExprKind::Load(place) => match self.known_value(place)? {
                Known::Float(text) => float_value(text.as_str())?,
                Known::Int(n) => n as f64,
            },
            ExprKind::Convert(Conv::Numeric, inner) => match self.kind(inner.ty.ty) {
                TyKind::Float(_) => self.number_of(inner)?,
                _ => self.int_of(inner)? as f64,
            },
            ExprKind::Unary(UnOp::Neg, a) => -self.number_of(a)?,
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.number_of(a)?, self.number_of(b)?);
                match op {
                    BinOp::Add => a + b,
                    BinOp::Sub => a - b,
                    BinOp::Mul => a * b,
                    BinOp::Div => a / b,
                    _ => return None,
                }
            }
            ExprKind::Cond(c, a, b) => self.number_of(if self.truth_of(c)? { a } else { b })?,
            _ => return None,
        };
        Some(match self.kind(e.ty.ty) {
            TyKind::Float(FloatKind::Float | FloatKind::Float32) => f64::from(value as f32),
            _ => value,
        })
    }

    /// A floating constant as C text.
    fn float_of_value(&self, e: &Expr) -> Option<String> {
        // Of what is converted to an integer on the way, C's own meaning is not ours.
        if self.program.types.as_int(e.ty.ty).is_some() {
            return self.int_of(e).map(|n| if i32::try_from(n).is_ok() { n.to_string() } else { format!("{n}.0L") });
        }
        match &*e.kind {
            ExprKind::Float(text) => Some(format!("{text}{}", self.float_suffix(e.ty.ty, text.as_str()))),
            ExprKind::Int(n) => Some(n.to_string()),
            ExprKind::Load(place) => match self.known_value(place)? {
                Known::Float(text) => Some(text.to_string()),
                Known::Int(n) => Some(n.to_string()),
            },
            ExprKind::Convert(Conv::Numeric, inner) => {
                let text = self.float_of_value(inner)?;
                let name = match self.kind(e.ty.ty) {
                    TyKind::Float(FloatKind::Float128) => "__float128".to_string(),
                    _ => self.show(e.ty.ty),
                };
                Some(format!("({name})({text})"))
            }
            ExprKind::Unary(UnOp::Neg, a) => Some(format!("(-{})", self.float_of_value(a)?)),
            ExprKind::Cond(c, a, b) => self.float_of_value(if self.truth_of(c)? { a } else { b }),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.float_of_value(a)?, self.float_of_value(b)?);
                let op = match op {
                    BinOp::Add => "+",
                    BinOp::Sub => "-",
                    BinOp::Mul => "*",
                    BinOp::Div => "/",
                    _ => return None,
                };
                Some(format!("({a} {op} {b})"))
            }
            _ => None,
        }
    }

    /// Real and imaginary part of a complex constant as C text.
    fn complex_of_value(&self, e: &Expr) -> Option<(String, String)> {
        if !matches!(self.kind(e.ty.ty), TyKind::Complex(_)) {
            return Some((self.float_of_value(e)?, "0.0".to_string()));
        }
        match &*e.kind {
            ExprKind::Builtin(name, parts) if name.as_str() == "__builtin_complex" => {
                let [real, imaginary] = parts.as_slice() else { return None };
                Some((self.float_of_value(real)?, self.float_of_value(imaginary)?))
            }
            ExprKind::Convert(Conv::Numeric, inner) => self.complex_of_value(inner),
            ExprKind::Unary(UnOp::Neg, a) => {
                let (real, imaginary) = self.complex_of_value(a)?;
                Some((format!("(-({real}))"), format!("(-({imaginary}))")))
            }
            ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => {
                let sign = if *op == BinOp::Add { '+' } else { '-' };
                let ((a, x), (b, y)) = (self.complex_of_value(a)?, self.complex_of_value(b)?);
                Some((format!("({a} {sign} {b})"), format!("({x} {sign} {y})")))
            }
            _ => None,
        }
    }

    fn float_suffix(&self, ty: Ty, text: &str) -> &'static str {
        if text.starts_with('(') {
            return "";
        }
        match self.kind(ty) {
            TyKind::Float(FloatKind::Float | FloatKind::Float32) => "f",
            TyKind::Float(FloatKind::LongDouble | FloatKind::Float64x) => "L",
            TyKind::Float(FloatKind::Float128) => "q",
            _ => "",
        }
    }

    /// The constant address that a pointer value is, with its offset in bytes.
    fn address_of_value(&self, e: &Expr) -> Option<(ConstAddr, i64)> {
        match &*e.kind {
            ExprKind::Null => Some((ConstAddr::Absolute, 0)),
            ExprKind::Func(f) => Some((ConstAddr::Func(FuncRef { func: f.func, args: f.args.clone() }), 0)),
            ExprKind::LabelAddr(l) => Some((ConstAddr::Label(*l), 0)),
            ExprKind::AddrOf(place) | ExprKind::Decay(place) => self.address_of_place(place),
            ExprKind::PtrAdd(p, i, minus) => {
                let (addr, at) = self.address_of_value(p)?;
                let p = self.program.types.as_pointer(p.ty.ty)?;
                let size = self.program.types.layout(p.target.ty).map_or(1, |l| l.size) as i64;
                let n = i64::try_from(self.int_of(i)?).ok()?;
                let bytes = n.checked_mul(size)?;
                Some((addr, if *minus { at.checked_sub(bytes)? } else { at.checked_add(bytes)? }))
            }
            ExprKind::Convert(
                Conv::Unchecked | Conv::Pointer | Conv::View | Conv::SameBits | Conv::ToTypedVoid | Conv::ProveNonnull,
                inner,
            ) => {
                if self.is_integer(inner.ty.ty) {
                    return Some((ConstAddr::Absolute, self.int_of(inner)? as i64));
                }
                self.address_of_value(inner)
            }
            ExprKind::Cond(c, a, b) => {
                if self.int_of(c)? != 0 {
                    self.address_of_value(a)
                } else {
                    self.address_of_value(b)
                }
            }
            _ => None,
        }
    }

    fn address_of_place(&self, e: &Expr) -> Option<(ConstAddr, i64)> {
        match &*e.kind {
            ExprKind::Global(id) => Some((ConstAddr::Global(*id), 0)),
            ExprKind::StrLit(id) => Some((ConstAddr::Str(*id), 0)),
            ExprKind::Field(base, n) => {
                let (addr, at) = self.address_of_place(base)?;
                let id = self.program.types.as_record(base.ty.ty)?;
                Some((addr, at.checked_add(self.program.types.field_offset(id, *n)? as i64)?))
            }
            ExprKind::IndexArray(base, i) => {
                let (addr, at) = self.address_of_place(base)?;
                let TyKind::Array { elem, .. } = self.kind(base.ty.ty) else { return None };
                let size = self.program.types.layout(elem.ty)?.size as i64;
                let n = i64::try_from(self.int_of(i)?).ok()?;
                Some((addr, at.checked_add(n.checked_mul(size)?)?))
            }
            ExprKind::Deref(p) => self.address_of_value(p),
            ExprKind::IndexPointer(p, i) => {
                let (addr, at) = self.address_of_value(p)?;
                let pointer = self.program.types.as_pointer(p.ty.ty)?;
                let size = self.program.types.layout(pointer.target.ty)?.size as i64;
                let n = i64::try_from(self.int_of(i)?).ok()?;
                Some((addr, at.checked_add(n.checked_mul(size)?)?))
            }
            _ => None,
        }
    }

    /// First element and end of the object that a constant fat pointer is into, in bytes from its
    /// base.
    fn extent_of(&self, e: &Expr) -> Option<(i64, i64)> {
        match &*e.kind {
            ExprKind::Decay(place) => {
                let (_, at) = self.address_of_place(place)?;
                let TyKind::Array { elem, len: ArrayLen::Const(n), terminated } = *self.kind(place.ty.ty) else {
                    return None;
                };
                let size = self.program.types.layout(elem.ty)?.size;
                let n = if terminated { n.saturating_sub(1) } else { n };
                Some((at, at.checked_add(i64::try_from(n.checked_mul(size)?).ok()?)?))
            }
            ExprKind::AddrOf(place) => {
                let (_, at) = self.address_of_place(place)?;
                let size = self.program.types.layout(place.ty.ty)?.size as i64;
                Some((at, at.checked_add(size)?))
            }
            ExprKind::PtrAdd(p, ..) => self.extent_of(p),
            ExprKind::Convert(_, inner) => self.extent_of(inner),
            _ => None,
        }
    }

    /// A typed value as a constant initialiser of its type.
    pub(crate) fn const_init(&mut self, e: &Expr) -> Option<ConstInit> {
        let ty = e.ty.ty;
        match self.kind(ty).clone() {
            TyKind::Bool | TyKind::Int(_) | TyKind::Enum(_) => match self.int_of(e) {
                Some(n) => Some(ConstInit::Int(n)),
                None => self.address_as_truth(e).or_else(|| self.address_as_int(e)),
            },
            TyKind::Complex(_) => {
                let (real, imaginary) = self.complex_of_value(e)?;
                let part = |n, text: String| (n, ConstInit::Float(Symbol::new(&text)));
                Some(ConstInit::Aggregate(vec![part(0, real), part(1, imaginary)]))
            }
            TyKind::Float(_) => {
                let text = self.float_of_value(e)?;
                Some(ConstInit::Float(Symbol::new(&text)))
            }
            TyKind::Ptr(p) => self.const_pointer(e, &p),
            TyKind::NullPtr => Some(ConstInit::Zero),
            TyKind::Record(_) => match &*e.kind {
                ExprKind::Load(place) => match &*place.kind {
                    ExprKind::Global(id)
                        if place.ty.quals.is_const || !self.program.globals.get(id.0 as usize)?.used =>
                    {
                        self.program.globals.get(id.0 as usize)?.init.clone()
                    }
                    ExprKind::Global(id) => {
                        let global = self.program.globals.get(id.0 as usize)?;
                        if global.name.as_str().starts_with("literal_") {
                            global.init.clone()
                        } else {
                            None
                        }
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// `_Bool b = &object;`: an address is not null, unless it is that of something weak.
    fn address_as_truth(&self, e: &Expr) -> Option<ConstInit> {
        let ExprKind::Convert(Conv::ToBool, inner) = &*e.kind else { return None };
        let weak = |attrs: &[String]| attrs.iter().any(|a| a.contains("weak"));
        let known = match self.address_of_value(inner)? {
            (ConstAddr::Global(id), 0) => !weak(&self.program.globals.get(id.0 as usize)?.attrs),
            (ConstAddr::Func(f), 0) => !weak(&self.program.functions.get(f.func.0 as usize)?.attrs),
            (ConstAddr::Str(_), 0) => true,
            _ => false,
        };
        known.then_some(ConstInit::Int(1))
    }

    fn address_as_int(&self, e: &Expr) -> Option<ConstInit> {
        let ExprKind::Convert(Conv::PtrToInt, inner) = &*e.kind else { return None };
        let (addr, offset) = self.address_of_value(inner)?;
        Some(ConstInit::Addr(addr, offset))
    }

    fn const_pointer(&mut self, e: &Expr, p: &Pointer) -> Option<ConstInit> {
        let (addr, at) = self.address_of_value(e)?;
        if addr == ConstAddr::Absolute && at == 0 {
            return Some(ConstInit::Zero);
        }
        if p.bounds.is_fat() {
            let (lo, mut hi) = self.extent_of(e)?;
            if p.bounds == Bounds::Fat && p.target.quals.is_const && matches!(addr, ConstAddr::Str(_)) {
                // A literal that is looked at with bounds includes its zero.
                hi += self.program.types.layout(p.target.ty).map_or(1, |l| l.size as i64);
            }
            return Some(ConstInit::Fat(addr, at, lo, hi));
        }
        if self.program.types.is_typed_void(p) {
            let target = pointee(&self.program.types, e)?;
            return Some(ConstInit::TypedVoid(addr, at, target));
        }
        Some(ConstInit::Addr(addr, at))
    }

    /// A static initialiser, and the type with an array's length filled in.
    pub(crate) fn static_initialiser(&mut self, init: &ast::Initializer, ty: Qty, span: Span) -> (ConstInit, Qty) {
        let before = self.sink.all.len();
        // Functions and rounds aside: addresses taken here are of globals.
        let (tree, whole) = match init {
            ast::Initializer::Expr(e) if !self.has_members_to_fill(ty.ty) => {
                let value = self.expr_expecting(e, Some(ty.ty));
                let value = self.coerce(value, ty.ty, Why::Store);
                (Init::Expr(value), ty.ty)
            }
            _ => self.initialiser(init, ty.ty, span),
        };
        let out = self.const_tree(&tree, whole);
        let out = match out {
            Ok(out) => out,
            Err(NotConstant { span: at, why }) => {
                let at = if at == Span::NONE { span } else { at };
                if self.sink.all.len() == before && !self.is_error(whole) {
                    let message = "the initialiser of a static or global is a constant, and this is not one";
                    match why {
                        Some(why) => self.error(codes::CONSTANT, at, format!("{message}: {why}")),
                        None => self.error_help(
                            codes::CONSTANT,
                            at,
                            message,
                            "assign it at run time, for instance at the start of `main`",
                        ),
                    }
                }
                ConstInit::Zero
            }
        };
        (out, Qty { ty: whole, ..ty })
    }

    fn const_tree(&mut self, init: &Init, ty: Ty) -> Result<ConstInit, NotConstant> {
        match init {
            Init::Expr(e) => {
                if let (TyKind::Array { .. }, ExprKind::StrLit(id)) = (self.kind(ty), &*e.kind) {
                    return Ok(ConstInit::Str(*id));
                }
                if let ExprKind::Load(place) = &*e.kind {
                    if let ExprKind::CompoundLit(_, init) = &*place.kind {
                        let init = init.clone();
                        return self.const_tree(&init, ty);
                    }
                }
                if let ExprKind::Pack(_, init) = &*e.kind {
                    let init = init.clone();
                    return self.const_tree(&init, ty);
                }
                // A counted field takes the address alone.
                if let (Some(want), Some(have)) =
                    (self.program.types.as_pointer(ty), self.program.types.as_pointer(e.ty.ty))
                {
                    if matches!(want.bounds, Bounds::Counted(_)) && have.bounds.is_fat() {
                        let (addr, at) = self.address_of_value(e).ok_or(e.span)?;
                        if addr == ConstAddr::Absolute && at == 0 {
                            return Ok(ConstInit::Zero);
                        }
                        // The extent is kept until the counts have been checked.
                        let (lo, hi) = self.extent_of(e).ok_or(e.span)?;
                        return Ok(ConstInit::Fat(addr, at, lo, hi));
                    }
                }
                self.const_init(e).ok_or_else(|| match self.no_value(e) {
                    Some((span, why)) => NotConstant { span, why: Some(why) },
                    None => e.span.into(),
                })
            }
            Init::Str(id) => Ok(ConstInit::Str(*id)),
            Init::Tagged(n, inner) => {
                let ty = self.member_type(ty, u64::from(*n));
                Ok(ConstInit::Tagged(*n, Box::new(self.const_tree(inner, ty)?)))
            }
            Init::List(items) => {
                let mut out: Vec<(u64, ConstInit)> = vec![];
                for (at, item) in items {
                    if let Init::Repeat(lo, hi, value) = item {
                        let inner = self.member_type(ty, *lo);
                        let value = self.const_tree(value, inner)?;
                        if hi - lo > 1 << 20 && value != ConstInit::Zero {
                            return Err(Span::NONE.into());
                        }
                        if value != ConstInit::Zero {
                            out.extend((*lo..=*hi).map(|n| (n, value.clone())));
                        }
                        continue;
                    }
                    let inner = self.member_type(ty, *at);
                    let value = match self.const_tree(item, inner)? {
                        ConstInit::Int(n) => ConstInit::Int(self.program.types.kept(ty, *at, n)),
                        value => value,
                    };
                    out.push((*at, value));
                }
                if !out.windows(2).all(|w| matches!(w, [a, b] if a.0 < b.0)) {
                    // A later designator replaces what an earlier one gave.
                    out.reverse();
                    out.sort_by_key(|(k, _)| *k);
                    out.dedup_by_key(|(k, _)| *k);
                }
                self.check_const_counts(ty, &mut out);
                Ok(ConstInit::Aggregate(out))
            }
            Init::Repeat(..) => Err(Span::NONE.into()),
        }
    }

    /// The type of field or element `n`.
    pub(crate) fn member_type(&mut self, ty: Ty, n: u64) -> Ty {
        let declared = self.declared_member(ty, n);
        match self.packing.iter().rev().find(|(packed, _)| *packed == ty).map(|(_, regions)| regions.clone()) {
            Some(regions) => self.revealed(declared, &regions),
            None => declared,
        }
    }

    fn declared_member(&self, ty: Ty, n: u64) -> Ty {
        match self.kind(ty) {
            TyKind::Array { elem, .. } => elem.ty,
            TyKind::Record(id) => {
                let fields = &self.program.types.record(*id).fields;
                fields.as_ref().and_then(|f| f.get(n as usize)).map_or(self.program.types.common.error, |f| f.ty.ty)
            }
            _ => self.program.types.common.error,
        }
    }

    /// Counts of a constant record must hold: the pointers are to arrays of known length.
    fn check_const_counts(&mut self, ty: Ty, items: &mut [(u64, ConstInit)]) {
        let Some(id) = self.program.types.as_record(ty) else { return };
        let Some(fields) = self.program.types.record(id).fields.clone() else { return };
        for (n, field) in fields.iter().enumerate() {
            let Some(Pointer { bounds: Bounds::Counted(count), target, .. }) =
                self.program.types.as_pointer(field.ty.ty)
            else {
                continue;
            };
            let Some(at) = items.iter().position(|(k, _)| *k == n as u64) else { continue };
            let Some((_, ConstInit::Fat(addr, offset, _, hi))) = items.get(at).cloned() else { continue };
            let size = self.program.types.layout(target.ty).map_or(1, |l| l.size.max(1)) as i128;
            let have = (i128::from(hi) - i128::from(offset)) / size;
            let want = self.const_count(count, items);
            if want.is_none_or(|want| want > have) && self.checked() {
                let name = field.name.map_or("?", |n| n.as_str());
                let message = match want {
                    Some(want) => format!("the count of `{name}` is {want} here, and {have} elements are there"),
                    None => format!("the count of `{name}` is not a constant here"),
                };
                self.error(codes::COUNT, field.span, message);
            }
            if let Some(slot) = items.get_mut(at) {
                slot.1 = ConstInit::Addr(addr, offset);
            }
        }
    }

    fn const_count(&self, count: CountId, items: &[(u64, ConstInit)]) -> Option<i128> {
        match *self.program.types.count_expr(count) {
            CountExpr::Const(n) => Some(i128::from(n)),
            CountExpr::Param(_) => None,
            CountExpr::Field(n) => match items.iter().find(|(k, _)| *k == u64::from(n)) {
                Some((_, ConstInit::Int(v))) => Some(*v),
                None => Some(0),
                _ => None,
            },
            CountExpr::Add(a, b) => Some(self.const_count(a, items)? + self.const_count(b, items)?),
            CountExpr::Sub(a, b) => Some(self.const_count(a, items)? - self.const_count(b, items)?),
            CountExpr::Mul(a, b) => Some(self.const_count(a, items)? * self.const_count(b, items)?),
            CountExpr::Div(a, n) => Some(self.const_count(a, items)? / i128::from(n)),
        }
    }
}

/// What a constant `void *` remembers: the target of the pointer below its conversion.
fn pointee(types: &TypeStore, e: &Expr) -> Option<Ty> {
    match &*e.kind {
        ExprKind::Convert(Conv::ToTypedVoid, inner) => types.as_pointer(inner.ty.ty).map(|p| p.target.ty),
        ExprKind::Convert(_, inner) => pointee(types, inner),
        _ => None,
    }
}

/// The value of a floating constant in C syntax.
fn float_value(text: &str) -> Option<f64> {
    if let Ok(value) = text.parse::<f64>() {
        return Some(value);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let rest = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"))?;
    let (mantissa, exponent) = rest.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value = 0.0f64;
    for c in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(c.to_digit(16)?);
    }
    let scale = exponent.parse::<i32>().ok()? - 4 * fraction.len() as i32;
    Some(sign * value * 2f64.powi(scale))
}
