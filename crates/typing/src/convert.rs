//! Conversions: places to values, promotions, and the conversion of a value to the type that its
//! context wants.

use crate::checker::Checker;
use crate::codes;
use crate::contracts::Side;
use crate::infer::Reach;
use crate::param_bounds::Need;
use crate::tree::*;
use crate::types::*;
use source::{with_article, Diagnostic, Span, Symbol};
use std::rc::Rc;

/// The destination of a value; decides which conversions are open to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Initialiser or assignment of memory: a field, an element, a global.
    Store,
    /// Initialiser or assignment of a whole local.
    Local,
    /// Argument of a trusted foreign function.
    TrustedArg,
    /// Argument of a Leeward function.
    Arg,
    /// Result of the function.
    Return,
    /// A cast that the programmer wrote.
    Cast,
}

impl Checker<'_> {
    /// An expression node with the `unsafe` state of the place where the checker is.
    pub(crate) fn node(&self, kind: ExprKind, ty: Ty, span: Span) -> Expr {
        Expr { kind: Box::new(kind), ty: Qty::plain(ty), span, is_unsafe: !self.checked() }
    }

    /// A place node.
    pub(crate) fn place_node(&self, kind: ExprKind, ty: Qty, span: Span) -> Expr {
        self.scalar_place(Expr { kind: Box::new(kind), ty, span, is_unsafe: !self.checked() })
    }

    /// A node after an error.
    pub(crate) fn error_node(&self, span: Span) -> Expr {
        Expr::new(ExprKind::Error, Qty::plain(self.program.types.common.error), span)
    }

    /// An integer constant node.
    pub(crate) fn int_node(&self, value: i128, ty: Ty, span: Span) -> Expr {
        self.node(ExprKind::Int(value), ty, span)
    }

    /// A conversion node; constants fold.
    pub(crate) fn convert(&mut self, conv: Conv, e: Expr, ty: Ty) -> Expr {
        if let ExprKind::Int(value) = *e.kind {
            let to = self.program.types.as_int(ty);
            match conv {
                Conv::ToBool => return self.int_node(i128::from(value != 0), ty, e.span),
                Conv::Numeric if matches!(self.kind(ty), TyKind::Bool) => {
                    return self.int_node(i128::from(value != 0), ty, e.span);
                }
                Conv::Numeric => {
                    if let Some(kind) = to {
                        return self.int_node(kind.wrap(value), ty, e.span);
                    }
                    if let TyKind::Float(_) = self.kind(ty) {
                        let from = self.show(e.ty.ty);
                        let _ = from;
                        let text = format!("{value}.0");
                        return self.node(ExprKind::Float(Symbol::new(&text)), ty, e.span);
                    }
                }
                _ => {}
            }
        }
        let span = e.span;
        self.node(ExprKind::Convert(conv, e), ty, span)
    }

    /// The value of an expression: reads places, lets arrays and functions decay.
    pub(crate) fn rvalue(&mut self, e: Expr) -> Expr {
        if let TyKind::Func(_) = self.kind(e.ty.ty) {
            return self.function_value(e);
        }
        if let TyKind::Array { elem, len, terminated } = *self.kind(e.ty.ty) {
            return self.decay(e, elem, len, terminated);
        }
        if !e.is_place() {
            self.check_read(&e);
            if matches!(self.program.types.as_pointer(e.ty.ty), Some(Pointer { bounds: Bounds::Counted(_), .. })) {
                self.error_help(
                    codes::COUNT,
                    e.span,
                    "a `counted_by` field of a call's result has its count in the same result",
                    "store the result in a variable first",
                );
                return self.error_node(e.span);
            }
            return Expr { ty: Qty::plain(e.ty.ty), ..e };
        }
        self.load(e)
    }

    /// Reports that the value of a struct whose members are not known is read or assigned.
    pub(crate) fn reject_open_record(&mut self, place: &Expr) -> bool {
        let ty = place.ty.ty;
        let is_open = matches!(self.kind(ty), TyKind::Record(_)) && !self.program.types.is_complete(ty);
        if is_open {
            let text = self.show(ty);
            self.error(codes::INCOMPLETE, place.span, format!("`{text}` is not defined here: it has no value"));
        }
        is_open
    }

    fn load(&mut self, e: Expr) -> Expr {
        if self.reject_open_record(&e) {
            return self.error_node(e.span);
        }
        if self.checked() && self.is_tagged_by(&e) {
            self.error_help(
                codes::TAGGED,
                e.span,
                "a union that is `tagged_by` a field is not read as a whole",
                "copy the whole struct, or read the member that the tag selects",
            );
        }
        let mut ty = e.ty.ty;
        if self.checked() && self.has_counted_tail(ty) {
            self.error_help(
                codes::COUNT,
                e.span,
                "a struct with a counted flexible array is not copied: its elements would stay behind",
                "pass a pointer to it",
            );
        }
        if let Some(p) = self.program.types.as_pointer(ty) {
            let bounds = match p.bounds {
                Bounds::Counted(_) if self.checked() => Bounds::Fat,
                Bounds::Counted(_) => Bounds::Fat,
                other => other,
            };
            ty = self.types().pointer(Pointer { bounds, ..p });
        }
        if let Some(end) = self.program.types.as_endpoint(ty) {
            // The path determines which state the value is in.
            ty = self.types().intern(TyKind::Endpoint(Endpoint { state: None, ..end }));
        }
        let span = e.span;
        self.check_read(&e);
        if self.cursor(&e).is_some() && !self.f.as_ref().is_some_and(|f| f.through_cursor) {
            self.error_help(
                codes::OWNERSHIP,
                span,
                "a cursor is not copied, stored, returned or passed on: it is the only way to its place while it lives",
                "use what it points at: `*cursor`",
            );
            return self.error_node(span);
        }
        self.note_unsafe_view(ty);
        if self.tracked() && self.is_seen_owner(&e) {
            return self.node(ExprKind::Borrow(BorrowKind::View, e), ty, span);
        }
        if self.tracked() && self.program.types.owns(ty) {
            if !self.check_whole(&e) {
                return self.error_node(span);
            }
            return self.node(ExprKind::Move(e), ty, span);
        }
        self.node(ExprKind::Load(e), ty, span)
    }

    /// Reports a read of something that is not plain data out of an untagged union.
    pub(crate) fn check_read(&mut self, e: &Expr) {
        let Some(union) = self.union_pointer(e) else { return };
        let what = self.show(e.ty.ty);
        let at = self.program.types.record(union).span;
        let text = format!("reading {} out of an untagged union is unsafe: it is not plain data", with_article(&what));
        let report = Diagnostic::error(codes::UNSAFE, e.span, text)
            .help("make it a `tagged union`, or bind it to its kind field: `tagged_by(kind) { VALUE: member, ... }`");
        self.report_once(at, 0, report);
    }

    /// The union that nothing guards, if a checked read of `e` takes something out of it that is
    /// not plain data.
    fn union_pointer(&self, e: &Expr) -> Option<RecordId> {
        if !self.checked() || self.program.types.is_plain(e.ty.ty) || self.is_error(e.ty.ty) {
            return None;
        }
        self.unguarded_union(e)
    }

    /// The union without tag that a place lies inside of.
    pub(crate) fn unguarded_union(&self, e: &Expr) -> Option<RecordId> {
        match &*e.kind {
            ExprKind::Field(base, _) => match self.program.types.as_record(base.ty.ty) {
                // The tag of one with a tag may lie in another.
                Some(id) if self.program.types.record(id).kind == RecordKind::Union && !self.is_tagged_by(base) => {
                    Some(id)
                }
                _ => self.unguarded_union(base),
            },
            ExprKind::IndexArray(base, _) => self.unguarded_union(base),
            _ => None,
        }
    }

    /// Whether the union place is bound to a sibling tag field.
    pub(crate) fn is_tagged_by(&self, e: &Expr) -> bool {
        let ExprKind::Field(base, n) = &*e.kind else { return false };
        let Some(id) = self.program.types.as_record(base.ty.ty) else { return false };
        let Some(fields) = &self.program.types.record(id).fields else { return false };
        fields.get(*n as usize).is_some_and(|f| f.tagged_by.is_some())
    }

    fn decay(&mut self, e: Expr, elem: Qty, len: ArrayLen, terminated: bool) -> Expr {
        let span = e.span;
        let quals = Quals {
            is_const: elem.quals.is_const || e.ty.quals.is_const,
            is_volatile: elem.quals.is_volatile || e.ty.quals.is_volatile,
            is_atomic: elem.quals.is_atomic,
        };
        let target = Qty { ty: elem.ty, quals };
        let bounds = match len {
            _ if !self.checked() && self.f.as_ref().is_none_or(|f| f.unchecked) => Bounds::Thin,
            _ if terminated => Bounds::FatTerminated,
            ArrayLen::Const(_) | ArrayLen::Flexible(Some(_)) => Bounds::Fat,
            _ => Bounds::Thin,
        };
        if !e.is_place() {
            self.error(
                codes::PLACE,
                span,
                "an array that is part of a call's result has no address: store the result in a variable first",
            );
            return self.error_node(span);
        }
        if self.checked() && self.guarded_address(&e, span) {
            return self.error_node(span);
        }
        let e = self.lent_place(e);
        let (own, region) = (self.place_own(&e), self.place_region(&e));
        let pointer = Pointer { target, bounds, nonnull: true, own, region, raw: false };
        let ty = self.types().pointer(pointer);
        self.node(ExprKind::Decay(e), ty, span)
    }

    /// A function designator as a pointer value.
    fn function_value(&mut self, e: Expr) -> Expr {
        let span = e.span;
        let target = Qty::plain(e.ty.ty);
        let pointer =
            Pointer { target, bounds: Bounds::Thin, nonnull: true, own: Own::Shared, region: Region::Heap, raw: false };
        let ty = self.types().pointer(pointer);
        match *e.kind {
            ExprKind::Func(f) => self.node(ExprKind::Func(f), ty, span),
            ExprKind::Deref(p) => Expr { ty: Qty::plain(ty), ..p },
            _ => self.error_node(span),
        }
    }

    /// C's integer promotions.
    pub(crate) fn promote(&mut self, e: Expr) -> Expr {
        let c = self.program.types.common;
        let width = self.bit_field_width(&e);
        let to = match self.kind(e.ty.ty) {
            TyKind::Bool => c.int,
            TyKind::Int(k) if k.size() < 4 => c.int,
            TyKind::Int(IntKind::UInt) if width.is_some_and(|w| w < 32) => c.int,
            TyKind::Int(k) if k.size() == 8 && width.is_some_and(|w| w <= 32) => match (k.signed(), width) {
                (false, Some(32)) => c.uint,
                _ => c.int,
            },
            TyKind::Enum(id) => match self.program.types.enumeration(*id).underlying {
                k if k.size() < 4 || width.is_some_and(|w| w < 32) => c.int,
                k => self.types().int(k),
            },
            _ => return e,
        };
        self.convert(Conv::Numeric, e, to)
    }

    /// The bits of a bit-field, of one that is read or assigned, and of a value's member. Compilers
    /// disagree on what `x++` and statement expressions give.
    pub(crate) fn bit_field_width(&self, e: &Expr) -> Option<u32> {
        let (base, n) = match &*e.kind {
            ExprKind::Load(place) | ExprKind::Assign(place, _) | ExprKind::AssignOp(_, _, place, _) => {
                return self.bit_field_width(place);
            }
            ExprKind::IncDec(place, _, true) => return self.bit_field_width(place),
            ExprKind::Comma(_, value) => return self.bit_field_width(value),
            ExprKind::Field(base, n) => (base, n),
            _ => return None,
        };
        let id = self.program.types.as_record(base.ty.ty)?;
        self.program.types.record(id).fields.as_ref()?.get(*n as usize)?.width
    }

    /// C's usual arithmetic conversions.
    pub(crate) fn balance(&mut self, a: Expr, b: Expr) -> (Expr, Expr, Ty) {
        let ty = match (self.float_rank(a.ty.ty), self.float_rank(b.ty.ty)) {
            (Some(x), Some(y)) => {
                let (best, complex) = (x.0.max(y.0), x.1 || y.1);
                self.float_of(best, complex)
            }
            (Some(x), None) | (None, Some(x)) => self.float_of(x.0, x.1),
            (None, None) => {
                let (a2, b2) = (self.promote(a), self.promote(b));
                let ty = self.common_int(a2.ty.ty, b2.ty.ty);
                return (self.numeric(a2, ty), self.numeric(b2, ty), ty);
            }
        };
        (self.numeric(a, ty), self.numeric(b, ty), ty)
    }

    fn float_rank(&self, ty: Ty) -> Option<(FloatKind, bool)> {
        match self.kind(ty) {
            TyKind::Float(FloatKind::Float16) => Some((FloatKind::Float, false)),
            TyKind::Float(k) => Some((*k, false)),
            TyKind::Complex(k) => Some((*k, true)),
            _ => None,
        }
    }

    fn float_of(&mut self, kind: FloatKind, complex: bool) -> Ty {
        if complex {
            self.types().intern(TyKind::Complex(kind.standard()))
        } else {
            self.float_ty(kind)
        }
    }

    /// A floating type.
    pub(crate) fn float_ty(&mut self, kind: FloatKind) -> Ty {
        self.types().intern(TyKind::Float(kind))
    }

    fn common_int(&mut self, a: Ty, b: Ty) -> Ty {
        let (Some(x), Some(y)) = (self.program.types.as_int(a), self.program.types.as_int(b)) else {
            return a;
        };
        if x == y {
            return self.types().int(x);
        }
        let rank = |k: IntKind| match k {
            IntKind::Long | IntKind::ULong => 5,
            IntKind::LongLong | IntKind::ULongLong => 6,
            IntKind::Int128 | IntKind::UInt128 => 7,
            k => k.size(),
        };
        let unsigned = |k: IntKind| match k {
            IntKind::Int => IntKind::UInt,
            IntKind::Long => IntKind::ULong,
            IntKind::LongLong => IntKind::ULongLong,
            IntKind::Int128 => IntKind::UInt128,
            k => k,
        };
        let kind = if x.signed() == y.signed() {
            if rank(x) >= rank(y) {
                x
            } else {
                y
            }
        } else {
            let (s, u) = if x.signed() { (x, y) } else { (y, x) };
            if rank(u) >= rank(s) {
                u
            } else if s.size() > u.size() {
                s
            } else {
                unsigned(s)
            }
        };
        self.types().int(kind)
    }

    /// Numeric conversion if the types differ.
    pub(crate) fn numeric(&mut self, e: Expr, ty: Ty) -> Expr {
        if e.ty.ty == ty || self.is_error(e.ty.ty) {
            return e;
        }
        self.convert(Conv::Numeric, e, ty)
    }

    /// Integer, floating, bool or enumeration type.
    pub(crate) fn is_arithmetic(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Bool | TyKind::Int(_) | TyKind::Float(_) | TyKind::Complex(_) | TyKind::Enum(_))
    }

    /// Integer, bool or enumeration type.
    pub(crate) fn is_integer(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Bool | TyKind::Int(_) | TyKind::Enum(_))
    }

    /// Arithmetic or pointer type.
    pub(crate) fn is_scalar(&self, ty: Ty) -> bool {
        self.is_arithmetic(ty) || matches!(self.kind(ty), TyKind::Ptr(_) | TyKind::NullPtr)
    }

    /// A scalar value as a truth value (`int` 0 or 1).
    pub(crate) fn truth(&mut self, e: Expr) -> Expr {
        let e = self.rvalue(e);
        let e = self.looked(e);
        if self.is_error(e.ty.ty) {
            return e;
        }
        if !self.is_scalar(e.ty.ty) {
            let text = self.show(e.ty.ty);
            self.error(codes::TYPE, e.span, format!("a condition is a number or a pointer, not `{text}`"));
            return self.error_node(e.span);
        }
        let int = self.program.types.common.int;
        match &*e.kind {
            ExprKind::Binary(op, ..) if is_comparison(*op) => return e,
            ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Unary(UnOp::Not, _) => return e,
            _ => {}
        }
        self.convert(Conv::ToBool, e, int)
    }

    /// Whether a value is a null pointer constant.
    pub(crate) fn is_null_constant(&self, e: &Expr) -> bool {
        match &*e.kind {
            // In C, null of a type is a value of that type.
            ExprKind::Null if self.options.plain_c => match self.program.types.as_pointer(e.ty.ty) {
                Some(p) => matches!(self.kind(p.target.ty), TyKind::Void) && p.target.quals == Quals::default(),
                None => true,
            },
            ExprKind::Null => true,
            ExprKind::Int(0) => self.is_integer(e.ty.ty),
            ExprKind::Convert(Conv::Unchecked | Conv::ToTypedVoid, inner) => {
                self.program.types.as_pointer(e.ty.ty).is_some_and(|p| matches!(self.kind(p.target.ty), TyKind::Void))
                    && self.is_null_constant(inner)
            }
            _ => false,
        }
    }

    fn is_unique(&self, ty: Ty) -> bool {
        self.program.types.as_pointer(ty).is_some_and(|p| p.own == Own::Unique)
    }

    /// The address of an owned path, where a view is wanted, lends the path as a view.
    fn sight(&mut self, e: Expr, to: Ty) -> Expr {
        let wanted = self.program.types.as_pointer(to).is_some_and(|p| p.own == Own::View);
        match (*e.kind, self.program.types.as_pointer(e.ty.ty)) {
            (ExprKind::Borrow(BorrowKind::Slot, place), Some(p)) if wanted => {
                let ty = self.types().pointer(Pointer { own: Own::View, ..p });
                Expr { kind: Box::new(ExprKind::Borrow(BorrowKind::Sight, place)), ty: Qty::plain(ty), ..e }
            }
            // `&a[i]` of an owned path `a`.
            (ExprKind::Borrow(BorrowKind::Shared, path), Some(p)) if wanted && self.is_unique(path.ty.ty) => {
                let ty = self.types().pointer(Pointer { own: Own::View, ..p });
                Expr { kind: Box::new(ExprKind::Borrow(BorrowKind::View, path)), ty: Qty::plain(ty), ..e }
            }
            (ExprKind::PtrAdd(base, index, minus), Some(p)) if wanted && p.own == Own::Shared => {
                let base = self.sight(base, to);
                let ty = self.seen_through(p, &base);
                Expr { kind: Box::new(ExprKind::PtrAdd(base, index, minus)), ty: Qty::plain(ty), ..e }
            }
            (ExprKind::Comma(first, last), Some(p)) if wanted && p.own == Own::Shared => {
                let last = self.sight(last, to);
                let ty = self.seen_through(p, &last);
                Expr { kind: Box::new(ExprKind::Comma(first, last)), ty: Qty::plain(ty), ..e }
            }
            // Either both are views or none is; null is either.
            (ExprKind::Cond(test, a, b), Some(p)) if wanted && p.own == Own::Shared => {
                let (mut seen_a, mut seen_b) = (self.sight(a.clone(), to), self.sight(b.clone(), to));
                let is_view = |e: &Expr| self.program.types.as_pointer(e.ty.ty).is_some_and(|p| p.own == Own::View);
                let (null_a, null_b) = (self.is_null_constant(&a), self.is_null_constant(&b));
                if (is_view(&seen_a) || null_a) && (is_view(&seen_b) || null_b) && !(null_a && null_b) {
                    let region = self.fresh_region();
                    let ty = self.types().pointer(Pointer { own: Own::View, region, ..p });
                    for (seen, is_null) in [(&mut seen_a, null_a), (&mut seen_b, null_b)] {
                        if is_null {
                            *seen = self.node(ExprKind::Null, ty, seen.span);
                        }
                    }
                    return Expr { kind: Box::new(ExprKind::Cond(test, seen_a, seen_b)), ty: Qty::plain(ty), ..e };
                }
                Expr { kind: Box::new(ExprKind::Cond(test, a, b)), ..e }
            }
            (kind, _) => Expr { kind: Box::new(kind), ..e },
        }
    }

    /// The type of a pointer that is the other one, or is somewhere in what that points to.
    fn seen_through(&mut self, p: Pointer, other: &Expr) -> Ty {
        let (own, region) = self.program.types.as_pointer(other.ty.ty).map_or((p.own, p.region), |o| (o.own, o.region));
        self.types().pointer(Pointer { own, region, ..p })
    }

    /// Whether the address of an owned path goes to a local as one that is only read through: it
    /// lends the path for as long as the local is used.
    fn keeps_address(&self, to: Ty, why: Why) -> bool {
        let is_const = |p: Pointer| p.target.quals.is_const && self.program.types.as_record(p.target.ty).is_some();
        matches!(why, Why::Local | Why::Cast) && self.program.types.as_pointer(to).is_some_and(is_const)
    }

    /// Converts a value to the type that its context wants, or reports why it cannot.
    pub(crate) fn coerce(&mut self, e: Expr, to: Ty, why: Why) -> Expr {
        let e = self.rvalue(e);
        let e = self.sight(e, to);
        let from = e.ty.ty;
        let span = e.span;
        if self.is_error(from) || self.is_error(to) {
            return Expr { ty: Qty::plain(to), ..e };
        }
        let passed = matches!(why, Why::Arg | Why::TrustedArg) || self.keeps_address(to, why);
        if matches!(&*e.kind, ExprKind::Borrow(BorrowKind::Slot, _)) && !passed {
            let target = self.program.types.as_pointer(from).map(|p| p.target.ty);
            let help = match target.filter(|&ty| matches!(self.kind(ty), TyKind::Record(_))) {
                Some(ty) => format!(
                    "to read it, keep a view: `const {} *view p = &x;`; to change it, name it itself, or pass `&x` to a function",
                    self.show(ty)
                ),
                None => "borrow what it owns: `borrow b = x;`, or walk with `cursor pp = &x;`".to_string(),
            };
            self.error_help(
                codes::OWNERSHIP,
                span,
                "the address of something owned is only an argument: it lends the variable for the call",
                help,
            );
            return self.error_node(span);
        }
        if self.options.plain_c && !self.is_null_constant(&e) && self.refuse_left_out(to, span) {
            return self.error_node(span);
        }
        if self.program.types.same_modulo_regions(from, to)
            && self.program.types.as_pointer(from).is_none_or(|p| p.own != Own::Any)
        {
            return e;
        }
        if let Some(vector) = self.vector_convert(&e, to, why) {
            return vector;
        }
        match (self.kind(from).clone(), self.kind(to).clone()) {
            (_, TyKind::Void) => {
                let e = self.looked(e);
                self.convert(Conv::Void, e, to)
            }
            (_, TyKind::Bool) if self.is_scalar(from) => self.convert(Conv::ToBool, e, to),
            _ if self.is_arithmetic(from) && self.is_arithmetic(to) => self.convert(Conv::Numeric, e, to),
            (_, TyKind::Ptr(q)) => self.coerce_pointer(e, q, to, why),
            (TyKind::Ptr(_), _) if self.is_integer(to) && (why == Why::Cast || !self.checked()) => {
                let e = self.looked(e);
                self.convert(Conv::PtrToInt, e, to)
            }
            (TyKind::Endpoint(x), TyKind::Endpoint(y)) if self.end_fits(x, y) => e,
            (TyKind::Endpoint(x), TyKind::Endpoint(y)) if why == Why::Cast && self.end_may_be(x, y) => {
                self.convert(Conv::Contract, e, to)
            }
            (TyKind::EndSet(x), TyKind::EndSet(y)) if x == y => e,
            (TyKind::NullPtr, TyKind::NullPtr) => e,
            (_, TyKind::Record(id)) if why == Why::Arg && self.transparent.contains(&id) => {
                self.transparent_argument(e, id, to, why)
            }
            _ => {
                self.mismatch(&e, to, why);
                let _ = span;
                self.error_node(span)
            }
        }
    }

    /// Whether an endpoint serves as another type, as far as its state allows: an exporter's end,
    /// as that of a contract that its own extends.
    fn end_fits(&self, from: Endpoint, to: Endpoint) -> bool {
        let extends = from.side == Side::Exp && self.program.types.contract_extends(from.contract, to.contract);
        from.side == to.side && (from.contract == to.contract || extends)
    }

    /// Whether the channel of an exporter's end may have been made with the contract of another
    /// type, which extends its own. The type says which state it is in.
    fn end_may_be(&self, from: Endpoint, to: Endpoint) -> bool {
        let extends = self.program.types.contract_extends(to.contract, from.contract);
        let base = self.program.types.contract(from.contract);
        let known = to.state.is_some_and(|state| base.is_some_and(|base| base.state(state).is_some()));
        from.side == Side::Exp && to.side == Side::Exp && extends && known
    }

    /// An argument for a transparent union: a union whose member of the argument's type is set.
    fn transparent_argument(&mut self, e: Expr, id: RecordId, to: Ty, why: Why) -> Expr {
        let span = e.span;
        let fields = self.program.types.record(id).fields.clone().unwrap_or_default();
        let target = |ty: Ty| self.program.types.as_pointer(ty).map(|p| p.target.ty);
        let exact =
            |f: &&Field| f.ty.ty == e.ty.ty || (target(e.ty.ty).is_some() && target(f.ty.ty) == target(e.ty.ty));
        let loose = |f: &&Field| target(f.ty.ty).is_some();
        let Some(field) = fields.iter().find(exact).or_else(|| fields.iter().find(loose)) else {
            self.mismatch(&e, to, why);
            return self.error_node(span);
        };
        let number = fields.iter().position(|f| std::ptr::eq(f, field)).unwrap_or(0);
        let member = self.coerce(e, field.ty.ty, why);
        let local = self.new_local(None, Qty::plain(to), Span::NONE, false);
        let init = Init::List(vec![(number as u64, Init::Expr(member))]);
        let literal = self.place_node(ExprKind::CompoundLit(local, init), Qty::plain(to), span);
        self.node(ExprKind::Load(literal), to, span)
    }

    /// Reports that a value does not fit.
    pub(crate) fn mismatch(&mut self, e: &Expr, to: Ty, why: Why) {
        let wanted = to;
        if why == Why::Arg && !self.passes_strings(e) {
            self.passes_without(e, Need::STRINGS);
        }
        let (from, to) = (self.show(e.ty.ty), self.show(to));
        let what = match why {
            Why::Store | Why::Local => "is stored where",
            Why::TrustedArg | Why::Arg => "is passed where",
            Why::Return => "is returned where",
            Why::Cast => "is cast where",
        };
        let message = if why == Why::Cast {
            format!("type: `{from}` cannot be cast to `{to}`")
        } else {
            format!("type: {} {what} {} is needed", with_article(&from), with_article(&to))
        };
        match (self.function_behind(e.ty.ty), self.function_behind(wanted)) {
            (Some(given), Some(wanted)) if self.functions_differ_in_regions(&given, &wanted) => self.error_help(
                codes::TYPE,
                e.span,
                format!("{message}, and their regions differ"),
                "the regions of a function's parameters, and which of them outlives which, are part of its type: `generic <@a outlives @b> typedef ...` names one",
            ),
            _ if from == to => {
                let why = self.unlike(e.ty.ty, wanted);
                self.error(codes::TYPE, e.span, format!("{message}: they are written alike, and {why}"));
            }
            _ => match (self.words_of_elements(e.ty.ty, wanted))
                .or_else(|| self.slot_of_owner(e.ty.ty, wanted, why))
                .or_else(|| self.other_side(e.ty.ty, wanted))
            {
                Some(help) => self.error_help(codes::TYPE, e.span, message, help),
                None => self.error(codes::TYPE, e.span, message),
            },
        }
    }

    /// What to write where a pointer stands for what it points to, or the other way round.
    fn other_side(&self, given: Ty, wanted: Ty) -> Option<String> {
        let leads_to = |pointer: Ty, to: Ty| {
            let target = self.program.types.as_pointer(pointer).map(|p| p.target.ty);
            target.is_some_and(|target| target == to && self.program.types.as_record(to).is_some())
        };
        if matches!(self.program.types.kind(wanted), TyKind::Endpoint(_)) && matches!(self.kind(given), TyKind::NullPtr)
        {
            return Some("the null end is `{}` where a variable is declared, and `(C.imp:STATE){}` elsewhere".into());
        }
        match (leads_to(given, wanted), leads_to(wanted, given)) {
            (true, _) => Some("it is a pointer: write `*` before it to mean what it points to".into()),
            (_, true) => Some("it is no pointer: write `&` before it to mean its address".into()),
            _ => None,
        }
    }

    /// What to write where arrays of pointers differ in the words of their elements only: the words
    /// of an element cannot change with the pointer to it, for both would write to it.
    fn words_of_elements(&self, given: Ty, wanted: Ty) -> Option<String> {
        let types = &self.program.types;
        let element = |ty: Ty| types.as_pointer(ty).map(|p| p.target.ty);
        let (given, wanted) = (element(given)?, element(wanted)?);
        let (from, to) = (types.as_pointer(given)?, types.as_pointer(wanted)?);
        let differ = from.target.ty == to.target.ty && from.bounds != to.bounds;
        let wanted = types.show_declaration(Qty::plain(wanted), "elements[]");
        differ.then(|| format!("declare the elements with the words that are wanted: `{wanted}`"))
    }

    /// What to write where the address of an owned pointer is wanted as one of a shared pointer, as
    /// lists in C are changed.
    fn slot_of_owner(&self, given: Ty, wanted: Ty, why: Why) -> Option<String> {
        let types = &self.program.types;
        let element = |ty: Ty| types.as_pointer(ty).map(|p| p.target.ty);
        let (given, wanted) = (element(given)?, element(wanted)?);
        let (from, to) = (types.as_pointer(given)?, types.as_pointer(wanted)?);
        if from.own != Own::Unique || to.own != Own::Shared || from.target.ty != to.target.ty {
            return None;
        }
        Some(match why {
            Why::Store | Why::Local | Why::Cast => {
                "to walk over what is owned, and change it, declare a cursor: `cursor pp = &x;`".into()
            }
            Why::Arg | Why::TrustedArg | Why::Return => {
                let declared = types.show_declaration(Qty::plain(given), "*p");
                format!("what it points to is owned: declare `{declared}`")
            }
        })
    }

    /// What to do where a `void *` would have to know a type that is not complete.
    fn incomplete_help(&self, target: Ty) -> &'static str {
        match self.kind(target) {
            TyKind::Record(_) => "define the struct before this, or put the pointer into a struct of your own, and pass a pointer to that",
            TyKind::Func(_) => "put the function pointer into a struct, and pass a pointer to that",
            _ => "convert it to a pointer to a complete type first",
        }
    }

    /// What tells two types apart that are shown by one text.
    fn unlike(&mut self, a: Ty, b: Ty) -> &'static str {
        match self.types().erase_regions(a) == self.types().erase_regions(b) {
            true => "the regions in them differ",
            false => "they are declared in different places",
        }
    }

    /// The function type that a pointer leads to.
    fn function_behind(&self, ty: Ty) -> Option<Rc<FuncTy>> {
        match self.kind(ty) {
            TyKind::Ptr(p) => self.function_behind(p.target.ty),
            _ => self.program.types.as_func(ty),
        }
    }

    /// Whether one function type is not the other for its regions.
    fn functions_differ_in_regions(&self, a: &FuncTy, b: &FuncTy) -> bool {
        let fits = |x: Ty, y: Ty| self.program.types.same_modulo_regions(x, y);
        a.params.len() == b.params.len()
            && a.params
                .iter()
                .zip(&b.params)
                .all(|(x, y)| x.consume == y.consume && x.becomes == y.becomes && fits(x.ty, y.ty))
            && fits(a.ret, b.ret)
            && !(self.regions_agree(a, b) && self.regions_agree(b, a))
    }

    fn coerce_pointer(&mut self, e: Expr, q: Pointer, to: Ty, why: Why) -> Expr {
        let span = e.span;
        if matches!(self.kind(e.ty.ty), TyKind::NullPtr) && !self.is_null_constant(&e) && !q.nonnull {
            let null = self.node(ExprKind::Null, to, span);
            return self.node(ExprKind::Comma(e, null), to, span);
        }
        if self.is_null_constant(&e) {
            if q.nonnull && self.checked() {
                self.error(
                    codes::NULL,
                    span,
                    format!("null is given where `{}` is needed, which is nonnull", self.show(to)),
                );
            }
            return self.node(ExprKind::Null, to, span);
        }
        let Some(p) = self.program.types.as_pointer(e.ty.ty) else {
            if self.is_integer(e.ty.ty) {
                if !self.checked() {
                    return self.convert(Conv::Unchecked, e, to);
                }
                self.error_help(
                    codes::CAST,
                    span,
                    "cast: an integer does not become a pointer in safe code",
                    "keep the pointer itself, or do this in `unsafe { }`",
                );
                return self.error_node(span);
            }
            self.mismatch(&e, to, why);
            return self.error_node(span);
        };
        let (e, p) = if self.tracked() {
            let Some(e) = self.take_ownership(e, &q, why) else { return self.error_node(span) };
            let Some(p) = self.program.types.as_pointer(e.ty.ty) else { return self.error_node(span) };
            (e, p)
        } else {
            (e, p)
        };
        if !self.checked() {
            return self.unchecked_pointer(e, p, q, to);
        }
        self.note_address(&e, &q);
        let void_from = matches!(self.kind(p.target.ty), TyKind::Void);
        let void_to = matches!(self.kind(q.target.ty), TyKind::Void);
        match (void_from, void_to) {
            (true, true) => self.void_to_void(e, p, q, to, why),
            (false, true) if q.raw => self.as_raw_void(e, p, q, to, why),
            (false, true) => self.as_typed_void(e, p, q, to, why),
            (true, false) => self.out_of_void(e, p, q, to, why),
            (false, false) => self.same_target(e, p, q, to, why),
        }
    }

    /// In `unsafe` code and plain C any pointer becomes any other; words are made or dropped as
    /// needed.
    fn unchecked_pointer(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty) -> Expr {
        let from_typed = self.program.types.is_typed_void(&p);
        let to_typed = self.program.types.is_typed_void(&q);
        if self.program.types.same_modulo_regions(p.target.ty, q.target.ty) && !p.raw && !q.raw {
            if self.program.types.same_modulo_regions(e.ty.ty, to) {
                return e;
            }
            return self.convert(Conv::Pointer, e, to);
        }
        if to_typed && !from_typed {
            let thin = self.with_bounds(e, Bounds::Thin);
            return self.convert(Conv::ToTypedVoid, thin, to);
        }
        self.convert(Conv::Unchecked, e, to)
    }

    /// The value with other bounds, everything else kept.
    pub(crate) fn with_bounds(&mut self, e: Expr, bounds: Bounds) -> Expr {
        let Some(p) = self.program.types.as_pointer(e.ty.ty) else { return e };
        if p.bounds == bounds {
            return e;
        }
        let ty = self.types().pointer(Pointer { bounds, ..p });
        self.convert(Conv::Pointer, e, ty)
    }

    fn const_lost(&mut self, p: &Pointer, q: &Pointer, span: Span) -> bool {
        let lost = (p.target.quals.is_const && !q.target.quals.is_const)
            || (p.target.quals.is_volatile && !q.target.quals.is_volatile);
        if lost {
            let word = if p.target.quals.is_const && !q.target.quals.is_const { "const" } else { "volatile" };
            // Where the word belongs is what C programmers get wrong with pointers to pointers.
            let mut target = q.target;
            target.quals.is_const |= p.target.quals.is_const;
            target.quals.is_volatile |= p.target.quals.is_volatile;
            let wanted = self.types().pointer(Pointer { target, ..*q });
            let wanted = self.show(wanted);
            let help = if matches!(self.kind(p.target.ty), TyKind::Void) {
                format!("write `{wanted}`")
            } else {
                format!("make the destination `{wanted}`; if what is there is written, leave `{word}` out where the pointer is declared, or copy it")
            };
            self.error_help(
                codes::CONST,
                span,
                format!("{word} would be cast away: the pointer is to `{}`", self.program.types.show_qty(p.target)),
                help,
            );
        }
        lost
    }

    fn void_to_void(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty, why: Why) -> Expr {
        let span = e.span;
        if self.const_lost(&p, &q, span) {
            return self.error_node(span);
        }
        if p.raw != q.raw {
            let message = if p.raw {
                "a `void *` of C does not say what it points to: this is unsafe"
            } else {
                "a `void *` is passed to C without its type: this is unsafe unless the type is known"
            };
            self.error_help(codes::VOID_POINTER, span, message, "convert it to a pointer to a type first");
            return self.error_node(span);
        }
        let _ = why;
        self.finish_pointer(e, p, q, to)
    }

    /// Plain data as the `void *` of a trusted function.
    fn as_raw_void(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty, why: Why) -> Expr {
        let span = e.span;
        if why != Why::TrustedArg {
            self.error(codes::UNSAFE, span, "giving a pointer to C's `void *` is unsafe");
            return self.error_node(span);
        }
        if self.const_lost(&p, &q, span) {
            return self.error_node(span);
        }
        if !self.program.types.is_plain(p.target.ty) {
            let text = self.show(p.target.ty);
            self.error_help(
                codes::TYPE,
                span,
                format!("type: only plain data passes through `void *` here, and `{text}` is not: it holds pointers, a bool or an enumeration"),
                "work on its fields, or assign whole values",
            );
            return self.error_node(span);
        }
        let e = self.without_plain_cast(e);
        let e = self.bytes_view(e, q.target.quals);
        let _ = to;
        e
    }

    /// A cast between pointers to plain data without the cast, where only bytes count: its type may
    /// not divide them (`(struct sockaddr *)&in6` is all of `in6`).
    fn without_plain_cast(&self, e: Expr) -> Expr {
        let ExprKind::Convert(Conv::View, inner) = &*e.kind else { return e };
        let plain =
            self.program.types.as_pointer(inner.ty.ty).is_some_and(|p| self.program.types.is_plain(p.target.ty));
        if plain {
            self.without_plain_cast(inner.clone())
        } else {
            e
        }
    }

    /// A pointer to plain data as `fat` bytes.
    pub(crate) fn bytes_view(&mut self, e: Expr, quals: Quals) -> Expr {
        self.need_bounds(&e);
        let c = self.program.types.common;
        let p = self.program.types.as_pointer(e.ty.ty);
        let nonnull = p.is_some_and(|p| p.nonnull);
        let region = p.map_or(Region::Heap, |p| p.region);
        let target = Qty { ty: c.uchar, quals };
        let own = p.map_or(Own::Shared, |p| p.own);
        let bytes = Pointer { target, bounds: Bounds::Fat, nonnull, own, region, raw: false };
        let ty = self.types().pointer(bytes);
        if p.is_some_and(|p| p.target.ty == c.uchar) {
            return if e.ty.ty == ty { e } else { self.convert(Conv::Pointer, e, ty) };
        }
        self.convert(Conv::View, e, ty)
    }

    /// Whether a `void *` remembers this type: a complete one, or, by its name, a struct that the
    /// library or C only names, such as `FILE`. What owns it would not know how it ends.
    fn is_remembered(&self, target: Ty, own: Own) -> bool {
        match self.kind(target) {
            TyKind::Func(_) => false,
            TyKind::Record(id) if !self.program.types.is_complete(target) => {
                let record = self.program.types.record(*id);
                let opaque = record.fields.is_none() && (record.foreign || self.map.is_system(record.span.lo));
                opaque && own == Own::Shared
            }
            _ => self.program.types.is_complete(target),
        }
    }

    fn as_typed_void(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty, why: Why) -> Expr {
        let span = e.span;
        let _ = why;
        if self.const_lost(&p, &q, span) {
            return self.error_node(span);
        }
        if !self.is_remembered(p.target.ty, p.own) {
            let text = self.show(p.target.ty);
            self.error_help(
                codes::VOID_POINTER,
                span,
                format!("a `void *` remembers a complete type, and `{text}` is not one"),
                self.incomplete_help(p.target.ty),
            );
            return self.error_node(span);
        }
        if p.own.is_owned() && self.program.types.layout(p.target.ty).is_some_and(|l| l.align > 16) {
            let text = self.show(p.target.ty);
            self.error_help(
                codes::VOID_POINTER,
                span,
                format!(
                    "an owned `void *` does not remember the alignment of {}, which is more than 16 bytes",
                    with_article(&text)
                ),
                "put the object behind a pointer in a struct of its own, or share it",
            );
            return self.error_node(span);
        }
        if let TyKind::Param(param) = *self.kind(p.target.ty) {
            if !param.heap {
                self.error_help(
                    codes::GENERIC,
                    span,
                    format!("a `void *` hides `{}`, so every region in it must be `@heap`", param.name),
                    format!("declare the parameter `{}: heap`", param.name),
                );
                return self.error_node(span);
            }
        }
        let thin = self.with_bounds(e, Bounds::Thin);
        let thin = self.prove(thin, q.nonnull);
        self.convert(Conv::ToTypedVoid, thin, to)
    }

    fn out_of_void(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty, why: Why) -> Expr {
        let span = e.span;
        if p.raw {
            self.error_help(
                codes::VOID_POINTER,
                span,
                "a `void *` of C does not say what it points to: this is unsafe",
                "cast it in `unsafe { }`, or give the C function a trusted declaration with a type",
            );
            return self.error_node(span);
        }
        if self.const_lost(&p, &q, span) {
            return self.error_node(span);
        }
        if !self.is_remembered(q.target.ty, q.own) {
            let text = self.show(q.target.ty);
            self.error_help(
                codes::VOID_POINTER,
                span,
                format!("a `void *` comes back as a pointer to a complete type, and `{text}` is not one"),
                self.incomplete_help(q.target.ty),
            );
            return self.error_node(span);
        }
        // All inner regions of what a `void *` remembers are `@heap`.
        let target = Qty { ty: self.types().erase_regions(q.target.ty), ..q.target };
        // Open files and the like are in the heap, whatever the region of the `void *`.
        let in_heap = p.own == Own::Shared && self.program.types.is_handle_of_runtime(target.ty);
        let region = if in_heap { Region::Heap } else { p.region };
        let thin = Pointer { target, bounds: Bounds::Thin, nonnull: p.nonnull, region, own: p.own, raw: q.raw };
        let thin_ty = self.types().pointer(thin);
        let e = self.convert(Conv::FromTypedVoid, e, thin_ty);
        if !self.bounds_fit(&e, &thin, &q, why) {
            return self.error_node(span);
        }
        self.finish_pointer(e, thin, q, to)
    }

    fn same_target(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty, why: Why) -> Expr {
        let span = e.span;
        if !self.targets_agree(p.target.ty, q.target.ty, q.target.quals.is_const) {
            return self.other_target(e, p, q, to, why);
        }
        let mut lost = false;
        if self.literal_to_char(&e, &p, &q) {
            let text = "a literal becomes a `char *`: writing to it is a fault";
            self.report(Diagnostic::warning(codes::LITERAL, span, text).help("make the pointer `const char *`"));
        } else {
            lost = self.const_lost(&p, &q, span);
        }
        // One report says enough of one value; its tree stays for those who look for what to write.
        self.muted += u32::from(lost);
        let fits = self.bounds_fit(&e, &p, &q, why);
        self.muted -= u32::from(lost);
        if !fits {
            return self.error_node(span);
        }
        self.finish_pointer(e, p, q, to)
    }

    /// Whether two targets are the same; behind `const`, inner pointers of one representation
    /// convert too.
    pub(crate) fn targets_agree(&self, from: Ty, to: Ty, behind_const: bool) -> bool {
        if self.program.types.same_modulo_regions(from, to) || self.differ_in_alignment(from, to) {
            return true;
        }
        match (self.kind(from), self.kind(to)) {
            (TyKind::Error, _) | (_, TyKind::Error) => true,
            (TyKind::Func(a), TyKind::Func(b)) => self.functions_agree(a, b),
            (TyKind::Ptr(a), TyKind::Ptr(b)) if behind_const => {
                let words = a.bounds == b.bounds
                    || (a.bounds == Bounds::Terminated && b.bounds == Bounds::Thin)
                    || (a.bounds == Bounds::FatTerminated && b.bounds == Bounds::Fat);
                words
                    && a.own == b.own
                    && a.raw == b.raw
                    && (a.nonnull || !b.nonnull)
                    && (b.target.quals.is_const || !a.target.quals.is_const)
                    && self.targets_agree(a.target.ty, b.target.ty, b.target.quals.is_const)
            }
            (TyKind::Ptr(a), TyKind::Ptr(b)) => {
                // Function pointers differ in attributes only, or regions of inner pointers were
                // inferred.
                a.bounds == b.bounds
                    && a.own == b.own
                    && a.nonnull == b.nonnull
                    && a.raw == b.raw
                    && a.target.quals == b.target.quals
                    && self.same_promises(a.target.ty, b.target.ty)
                    && self.targets_agree(a.target.ty, b.target.ty, false)
            }
            (TyKind::Array { elem: a, len: x, terminated: s }, TyKind::Array { elem: b, len: y, terminated: t }) => {
                (x == y || *y == ArrayLen::Unknown) && s == t && self.targets_agree(a.ty, b.ty, behind_const)
            }
            _ => false,
        }
    }

    /// Whether each of two function types promises what the other does: a place that both lead to
    /// may be written through either.
    fn same_promises(&self, a: Ty, b: Ty) -> bool {
        match (self.kind(a), self.kind(b)) {
            (TyKind::Func(a), TyKind::Func(b)) => self.regions_agree(a, b) && self.regions_agree(b, a),
            _ => true,
        }
    }

    /// Whether functions of type `a` may be called as functions of type `b`.
    pub(crate) fn functions_agree(&self, a: &FuncTy, b: &FuncTy) -> bool {
        let one_word = |f: &FuncTy| {
            !f.variadic
                && std::iter::once(f.ret).chain(f.params.iter().map(|p| p.ty)).all(|t| self.program.types.words(t) == 1)
        };
        let abi = a.abi == b.abi || (one_word(a) && one_word(b));
        abi && self.program.types.same_modulo_regions(a.ret, b.ret)
            && a.variadic == b.variadic
            && a.format == b.format
            && (a.into, a.end_into, a.copies, a.fills, a.terminates, a.cuts, a.keeps_string)
                == (b.into, b.end_into, b.copies, b.fills, b.terminates, b.cuts, b.keeps_string)
            && a.params.len() == b.params.len()
            && a.params.iter().zip(&b.params).all(|(x, y)| {
                // Who reads a whole string is not called with less.
                let reads = y.at_most.is_none() || x.at_most == y.at_most;
                x.consume == y.consume && x.becomes == y.becomes && reads && self.parameter_takes(x.ty, y.ty)
            })
            && self.regions_agree(a, b)
    }

    /// Whether a parameter of type `a` takes what one of type `b` does: the same, or a pointer to
    /// `const` takes a view of what owns nothing.
    fn parameter_takes(&self, a: Ty, b: Ty) -> bool {
        let types = &self.program.types;
        if types.same_modulo_regions(a, b) {
            return true;
        }
        let (Some(p), Some(q)) = (types.as_pointer(a), types.as_pointer(b)) else { return false };
        (p.own, q.own) == (Own::Shared, Own::View)
            && p.target.quals == q.target.quals
            && p.target.quals.is_const
            && (p.bounds, p.nonnull, p.raw) == (q.bounds, q.nonnull, q.raw)
            && types.same_modulo_regions(p.target.ty, q.target.ty)
            && !types.owns(p.target.ty)
    }

    /// Whether the region variables of `a` can be chosen so that its prototype promises what that
    /// of `b` does.
    fn regions_agree(&self, a: &FuncTy, b: &FuncTy) -> bool {
        let mut chosen: Vec<Option<Region>> = vec![None; a.regions as usize];
        let mut ok = true;
        // Regions of the body around, and ones that are not known yet: compared where paths are
        // known.
        let later = |r: Region| matches!(r, Region::Body(_) | Region::Infer(_) | Region::Param(_));
        let mut pair = |x: Region, y: Region| match x {
            Region::Bound(0, n) => match chosen.get_mut(n as usize) {
                Some(slot) => {
                    let first = *slot.get_or_insert(y);
                    ok &= first == y || later(first) && later(y);
                }
                None => ok = false,
            },
            _ if later(x) => {}
            _ => ok &= x == y || later(y),
        };
        for (x, y) in a.params.iter().zip(&b.params) {
            self.pair_regions(x.ty, y.ty, &mut pair);
        }
        self.pair_regions(a.ret, b.ret, &mut pair);
        let given = |r: Region| match r {
            Region::Bound(0, n) => chosen.get(n as usize).copied().flatten().unwrap_or(Region::Heap),
            other => other,
        };
        ok && a.outlives.iter().all(|&(x, y)| {
            let (x, y) = (given(x), given(y));
            let of_b = |r| matches!(r, Region::Bound(0, _));
            // Regions of the body around are compared there.
            x == y || b.outlives.contains(&(x, y)) || !of_b(x) && !of_b(y) && (later(x) || later(y))
        })
    }

    /// Walks two types that are equal modulo regions, region by region.
    fn pair_regions(&self, a: Ty, b: Ty, pair: &mut dyn FnMut(Region, Region)) {
        match (self.kind(a), self.kind(b)) {
            (TyKind::Ptr(x), TyKind::Ptr(y)) => {
                pair(x.region, y.region);
                self.pair_regions(x.target.ty, y.target.ty, pair);
            }
            (TyKind::Array { elem: x, .. }, TyKind::Array { elem: y, .. }) => self.pair_regions(x.ty, y.ty, pair),
            (TyKind::Record(x), TyKind::Record(y)) => {
                let (x, y) = (&self.program.types.record(*x).args, &self.program.types.record(*y).args);
                for (&x, &y) in x.iter().zip(y) {
                    self.pair_regions(x, y, pair);
                }
            }
            (TyKind::Key(_, x), TyKind::Key(_, y))
            | (TyKind::Handle(_, x), TyKind::Handle(_, y))
            | (TyKind::RegionArg(x), TyKind::RegionArg(y)) => pair(*x, *y),
            _ => {}
        }
    }

    fn literal_to_char(&self, e: &Expr, p: &Pointer, q: &Pointer) -> bool {
        p.target.quals.is_const
            && !q.target.quals.is_const
            && matches!(&*e.kind, ExprKind::Decay(inner) if matches!(&*inner.kind, ExprKind::StrLit(_)))
    }

    /// Whether the bounds of `p` give those of `q`; reports if not.
    fn bounds_fit(&mut self, e: &Expr, p: &Pointer, q: &Pointer, why: Why) -> bool {
        use Bounds::*;
        let counts = |bounds| matches!(bounds, Fat | Counted(_));
        let is_record = matches!(self.kind(p.target.ty), TyKind::Record(_));
        // Where one element ends. The struct may be defined further down.
        if p.bounds != q.bounds && (counts(p.bounds) || counts(q.bounds)) && is_record && self.muted == 0 {
            self.sizes_needed.push((p.target.ty, e.span));
        }
        match (p.bounds, q.bounds) {
            (a, b) if a == b => true,
            (FatTerminated, _) => {
                if q.bounds != Terminated {
                    self.need_bounds(e);
                }
                self.passes_string(q);
                true
            }
            (Terminated, Thin) => true,
            (Terminated, Fat | Counted(_)) => {
                self.need_bounds(e);
                self.passes_string(q);
                true
            }
            // A string, which is measured, or a local array with a zero in it, which is looked for.
            (Terminated, FatTerminated) if why == Why::Arg && self.passes_to_inferred_string() => true,
            (Fat, FatTerminated) if why == Why::Arg && self.passes_to_inferred_string() && self.rooted_in_local(e) => {
                true
            }
            (Thin, Fat | Counted(_)) => {
                let may_come = self.result_may_have_bounds(e);
                let without = !self.need_bounds(e) && why == Why::Arg && !matches!(*e.kind, ExprKind::AddrOf(_));
                if without && !may_come {
                    self.passes_without(e, Need::BOUNDS);
                }
                true
            }
            (Fat, Thin | Counted(_)) => true,
            (Counted(_), Fat | Thin | Counted(_)) => true,
            (Fat | Counted(_), Terminated) => {
                self.need_bounds(e);
                match why {
                    Why::TrustedArg => true,
                    Why::Arg if self.rooted_in_local(e) => true,
                    Why::Return if self.postpones_result() => true,
                    _ if self.learn_need(e, Need::STRING) => true,
                    _ => {
                        self.passes_without(e, Need::STRING);
                        let message = format!(
                            "`{}` is not null_terminated: a zero could be written over while it is read as a string",
                            self.show(e.ty.ty)
                        );
                        let help = "declare the array `null_terminated`, allocate it with `malloc` or `new char[n]`, or take the parameter as `fat`";
                        self.report_array(e, Diagnostic::error(codes::TERMINATOR, e.span, message), help);
                        false
                    }
                }
            }
            (Thin, Terminated) if why == Why::Return && self.postpones_result() => true,
            (Thin, Terminated) => {
                let need = match why {
                    Why::TrustedArg => Need::C_STRING,
                    // Then the result has those of the argument.
                    Why::Return if self.returns_into() => Need::BOUNDS,
                    _ => Need::STRING,
                };
                if self.need_bounds(e) || self.learn_need(e, need) {
                    return true;
                }
                self.passes_without(e, Need::STRING);
                let message =
                    format!("`{}` is not null_terminated: it points to exactly one element", self.show(e.ty.ty));
                let help = match self.is_from_void(e) {
                    true => "a `void *` leads to one object, not to a string: pass a `char *null_terminated`, or a struct that holds one",
                    false => "declare it `const char *` if it is only read, `char *null_terminated` if its characters are replaced one by one, and `char *fat null_terminated` if it may get longer",
                };
                let report = Diagnostic::error(codes::TERMINATOR, e.span, message).help(help);
                self.report_declared(e, report);
                true
            }
            (_, FatTerminated) => {
                if self.need_bounds(e) || self.learn_need(e, Need::OBJECT) {
                    return true;
                }
                if why == Why::Arg {
                    self.passes_without(e, Need::OBJECT);
                }
                let message =
                    format!("`{}` is not known to be a string object (`fat null_terminated`)", self.show(e.ty.ty));
                let help = "string objects come from `malloc`, `new char[n]` and arrays declared `null_terminated`";
                self.report_array(e, Diagnostic::error(codes::TERMINATOR, e.span, message), help);
                false
            }
            _ => true,
        }
    }

    /// Whether a pointer value is surely into one local of this function.
    pub(crate) fn rooted_in_local(&self, e: &Expr) -> bool {
        matches!(self.reach(e), Reach::One(_))
    }

    /// Pointers to different types.
    fn other_target(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty, why: Why) -> Expr {
        let span = e.span;
        if why == Why::Cast && p.own == Own::Shared && q.own == Own::Shared && q.bounds == Bounds::Thin {
            if let Some(path) = self.first_member(q.target.ty, p.target.ty) {
                return self.first_to_struct(e, q, to, path);
            }
            if self.first_member(p.target.ty, q.target.ty).is_some() && !self.const_lost(&p, &q, span) {
                let e = self.with_bounds(e, Bounds::Thin);
                let same = Pointer { target: q.target, bounds: Bounds::Thin, ..p };
                let ty = self.types().pointer(same);
                let e = self.convert(Conv::SameBits, e, ty);
                return self.finish_pointer(e, same, q, to);
            }
        }
        let plain = self.program.types.is_plain(p.target.ty) && self.program.types.is_plain(q.target.ty);
        let sized = self.program.types.is_complete(p.target.ty) && self.program.types.is_complete(q.target.ty);
        let characters = self.program.types.is_character(p.target.ty) && self.program.types.is_character(q.target.ty);
        if characters && plain && (why == Why::Cast || why == Why::TrustedArg || why == Why::Arg) {
            return self.character_view(e, p, q, to, why);
        }
        if plain && sized && why == Why::Cast {
            if self.const_lost(&p, &q, span) {
                return self.error_node(span);
            }
            return self.plain_view(e, p, q, to);
        }
        if why == Why::Cast {
            let (a, b) = (self.show(e.ty.ty), self.show(to));
            let message = format!("cast: `{a}` cannot be viewed as `{b}` in safe code: views are for plain data only");
            self.error_help(
                codes::CAST,
                span,
                message,
                "use a tagged union, a `void *` that remembers its type, or `unsafe { }`",
            );
        } else {
            self.mismatch(&e, to, why);
        }
        self.error_node(span)
    }

    /// `char`, `signed char` and `unsigned char` sequences as each other: bounds and terminator
    /// stay.
    fn character_view(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty, why: Why) -> Expr {
        let span = e.span;
        if self.const_lost(&p, &q, span) || !self.bounds_fit(&e, &p, &q, why) {
            return self.error_node(span);
        }
        let same = Pointer { target: q.target, ..p };
        let ty = self.types().pointer(same);
        let e = self.convert(Conv::SameBits, e, ty);
        self.finish_pointer(e, same, q, to)
    }

    fn plain_view(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty) -> Expr {
        self.need_bounds(&e);
        let view = Pointer { bounds: Bounds::Fat, nonnull: p.nonnull, region: p.region, ..q };
        let ty = self.types().pointer(view);
        let e = self.convert(Conv::View, e, ty);
        self.finish_pointer(e, view, q, to)
    }

    /// Bounds, nullness and region: the last steps of a conversion that is otherwise settled.
    fn finish_pointer(&mut self, e: Expr, p: Pointer, q: Pointer, to: Ty) -> Expr {
        let e = self.prove(e, q.nonnull);
        if self.program.types.same_modulo_regions(e.ty.ty, to) {
            return e;
        }
        let _ = p;
        let bounds = match q.bounds {
            Bounds::Counted(_) => Bounds::Fat,
            other => other,
        };
        let ty = self.types().pointer(Pointer { bounds, ..q });
        if self.program.types.same_modulo_regions(e.ty.ty, ty) {
            return e;
        }
        self.convert(Conv::Pointer, e, ty)
    }

    /// A nullable pointer as `nonnull`, if that is wanted.
    pub(crate) fn prove(&mut self, e: Expr, wanted: bool) -> Expr {
        let Some(p) = self.program.types.as_pointer(e.ty.ty) else { return e };
        if !wanted || p.nonnull || !self.checked() {
            return e;
        }
        let ty = self.types().pointer(Pointer { nonnull: true, ..p });
        self.convert(Conv::ProveNonnull, e, ty)
    }
}

/// Whether an operator compares.
pub(crate) fn is_comparison(op: BinOp) -> bool {
    matches!(op, BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge | BinOp::Eq | BinOp::Ne)
}
