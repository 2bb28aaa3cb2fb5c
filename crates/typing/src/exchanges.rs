//! `t = a[i]; a[i] = a[j]; a[j] = t;`: three statements that exchange what two places own are `:=:`.
//!
//! Taken one by one, each would move out of a place that others can reach. Together no one can tell
//! them from an exchange: the two places are named again by the same expressions, which have no
//! effect and read nothing that the statements change. The variable has been moved afterwards, as it
//! would have been: of a struct, what owns nothing can be read from it.

use crate::checker::Checker;
use crate::tree::*;
use crate::types::*;
use source::Span;

impl Checker<'_> {
    /// Makes exchanges of such statements of a block.
    pub(crate) fn find_exchanges(&mut self, stmts: &mut Vec<Stmt>) {
        let mut at = 0;
        while at + 3 <= stmts.len() {
            if let Some(group) = stmts.get(at..at + 3).and_then(|three| self.exchange(three)) {
                stmts.splice(at..at + 3, group);
            }
            at += 1;
        }
    }

    fn exchange(&mut self, three: &[Stmt]) -> Option<Vec<Stmt>> {
        let [first, second, third] = three else { return None };
        if three.iter().any(|stmt| stmt.is_unsafe) {
            return None;
        }
        let (t, a) = match &first.kind {
            StmtKind::Declare(t, Some(Init::Expr(value))) => (*t, moved(value)?),
            StmtKind::Expr(e) => {
                let (to, a) = assigned(e)?;
                let ExprKind::Local(t) = *to.kind else { return None };
                (t, a)
            }
            _ => return None,
        };
        let (StmtKind::Expr(second), StmtKind::Expr(put)) = (&second.kind, &third.kind) else { return None };
        let ((a_again, b), (b_again, from)) = (assigned(second)?, assigned(put)?);
        let from_variable = matches!(*from.kind, ExprKind::Local(id) if id == t);
        if !from_variable || !is_same(a, a_again) || !is_same(b, b_again) || !self.is_exchanged(a, b, t) {
            return None;
        }
        let ty = self.f.as_ref()?.locals.get(t.0 as usize)?.ty;
        if !self.program.types.same_modulo_regions(ty.ty, a.ty.ty) {
            return None;
        }
        let plain = match self.program.types.as_pointer(ty.ty) {
            Some(_) => vec![],
            None => self.plain_parts(ty.ty, 0)?,
        };
        let (a, b, from) = (a.clone(), b.clone(), from.clone());
        let t_place = from.clone();
        let empty = self.empty_value(ty.ty, first.span);
        let emptied = match &first.kind {
            StmtKind::Declare(t, _) => StmtKind::Declare(*t, Some(Init::Expr(empty))),
            _ => {
                let value_ty = self.value_type(ty.ty);
                StmtKind::Expr(self.node(ExprKind::Assign(from.clone(), empty), value_ty, first.span))
            }
        };
        let gone = self.new_local(None, Qty::plain(ty.ty), third.span, false);
        let value = self.node(ExprKind::Move(from), ty.ty, third.span);
        let span = first.span.to(third.span);
        let moved = StmtKind::Declare(gone, Some(Init::Expr(value)));
        let mut out = vec![self.stmt_node(emptied, first.span), self.stmt_node(StmtKind::Swap(a, b.clone()), span)];
        // Fields that own nothing can still be read from the variable.
        for part in plain {
            let (to, copied) = (self.part_of(&t_place, &part), self.part_of(&b, &part));
            let copied = self.rvalue(copied);
            let part_ty = to.ty.ty;
            let copy = self.node(ExprKind::Assign(to, copied), part_ty, third.span);
            out.push(self.stmt_node(StmtKind::Expr(copy), third.span));
        }
        out.push(self.stmt_node(moved, third.span));
        Some(out)
    }

    /// The parts of a struct that own nothing, each with its way there; `None` if some cannot be
    /// copied one by one.
    fn plain_parts(&self, ty: Ty, depth: u32) -> Option<Vec<Vec<(u32, Qty)>>> {
        let types = &self.program.types;
        let record = types.as_record(ty).map(|r| types.record(r)).filter(|r| r.kind == RecordKind::Struct)?;
        let mut parts = vec![];
        for (field, n) in record.fields.as_ref()?.iter().zip(0..) {
            let counted = types.as_pointer(field.ty.ty).is_some_and(|p| matches!(p.bounds, Bounds::Counted(_)));
            let array = matches!(self.kind(field.ty.ty), TyKind::Array { .. });
            let is_const = field.ty.quals.is_const || field.ty.quals.is_atomic || field.name.is_none();
            if counted || field.tagged_by.is_some() || array || is_const || depth > 8 {
                return None;
            }
            if !types.owns(field.ty.ty) {
                parts.push(vec![(n, field.ty)]);
            } else if types.as_pointer(field.ty.ty).is_none() {
                let below = self.plain_parts(field.ty.ty, depth + 1)?.into_iter();
                parts.extend(below.map(|way| [vec![(n, field.ty)], way].concat()));
            }
        }
        Some(parts)
    }

    fn part_of(&mut self, whole: &Expr, way: &[(u32, Qty)]) -> Expr {
        way.iter().fold(whole.clone(), |of, (n, ty)| {
            let span = of.span;
            self.place_node(ExprKind::Field(of, *n), *ty, span)
        })
    }

    /// The value of the type that owns nothing.
    pub(crate) fn empty_value(&mut self, ty: Ty, span: Span) -> Expr {
        if self.program.types.as_pointer(ty).is_some() {
            return self.node(ExprKind::Null, ty, span);
        }
        let (init, _) = self.initialiser(&syntax::ast::Initializer::List(vec![], span), ty, span);
        let local = self.new_local(None, Qty::plain(ty), span, false);
        let empty = self.place_node(ExprKind::CompoundLit(local, init), Qty::plain(ty), span);
        self.rvalue(empty)
    }

    /// Whether the places hold something owned of one type, at least one where others can reach it,
    /// and name the same after either was stored to.
    fn is_exchanged(&self, a: &Expr, b: &Expr, t: LocalId) -> bool {
        let types = &self.program.types;
        let is_struct = types.as_record(a.ty.ty).is_some_and(|r| types.record(r).kind == RecordKind::Struct);
        // What a field counts would get the other's bounds.
        let other = types.as_pointer(a.ty.ty).is_some_and(|p| p.nonnull || matches!(p.bounds, Bounds::Counted(_)));
        let held = types.owns(a.ty.ty) && !other && (is_struct || types.as_pointer(a.ty.ty).is_some());
        let plain = |e: &Expr| !e.ty.quals.is_volatile && !e.ty.quals.is_atomic && !e.ty.quals.is_const;
        held && types.same_modulo_regions(a.ty.ty, b.ty.ty)
            && !types.needs_init(a.ty.ty)
            && plain(a)
            && plain(b)
            && (self.path_root(a).is_none() || self.path_root(b).is_none())
            && [a, b].iter().all(|place| self.is_steady(place, &[a, b], t))
    }

    /// Whether the place is the same after the others, and the variable, were stored to.
    fn is_steady(&self, place: &Expr, stored: &[&Expr; 2], t: LocalId) -> bool {
        match &*place.kind {
            ExprKind::Local(id) => *id != t && self.cursor(place).is_none(),
            ExprKind::Global(_) => true,
            ExprKind::Field(base, _) => {
                let types = &self.program.types;
                let record = types.as_record(base.ty.ty).map(|r| types.record(r).kind);
                record == Some(RecordKind::Struct) && self.is_steady(base, stored, t)
            }
            ExprKind::IndexArray(base, index) => {
                self.is_steady(base, stored, t) && self.is_steady_value(index, stored, t)
            }
            ExprKind::IndexPointer(pointer, index) => {
                self.is_steady_value(pointer, stored, t) && self.is_steady_value(index, stored, t)
            }
            ExprKind::Deref(pointer) => self.is_steady_value(pointer, stored, t),
            _ => false,
        }
    }

    fn is_steady_value(&self, value: &Expr, stored: &[&Expr; 2], t: LocalId) -> bool {
        match &*value.kind {
            ExprKind::Int(_) => true,
            ExprKind::Unary(_, a) | ExprKind::Convert(_, a) => self.is_steady_value(a, stored, t),
            ExprKind::Binary(_, a, b) => self.is_steady_value(a, stored, t) && self.is_steady_value(b, stored, t),
            ExprKind::Decay(place) => self.is_steady(place, stored, t),
            ExprKind::Load(place) => {
                // What is named twice is read twice.
                let quals = place.ty.quals;
                let plain = !quals.is_volatile && !quals.is_atomic;
                plain && self.is_steady(place, stored, t) && !self.is_stored_with(place, stored)
            }
            _ => false,
        }
    }

    /// Whether what is read may change when one of the places is stored to.
    fn is_stored_with(&self, read: &Expr, stored: &[&Expr; 2]) -> bool {
        let types = &self.program.types;
        let is_local = matches!(*read.kind, ExprKind::Local(_));
        stored.iter().any(|place| match types.as_record(place.ty.ty) {
            // A variable is not a field of anything.
            None if is_local && matches!(*place.kind, ExprKind::Field(..)) => false,
            None => is_same(place, read) || types.same_modulo_regions(place.ty.ty, read.ty.ty),
            Some(_) => match &*read.kind {
                ExprKind::Local(_) | ExprKind::Global(_) => is_same(place, read),
                ExprKind::Field(base, _) => self.contains(place.ty.ty, base.ty.ty, 0),
                _ => true,
            },
        })
    }

    /// Whether the type is the other, or has parts of it.
    fn contains(&self, whole: Ty, part: Ty, depth: u32) -> bool {
        let types = &self.program.types;
        if types.same_modulo_regions(whole, part) || depth > 100 {
            return true;
        }
        if let TyKind::Array { elem, .. } = self.kind(whole) {
            return self.contains(elem.ty, part, depth + 1);
        }
        let fields = types.as_record(whole).and_then(|r| types.record(r).fields.as_ref());
        fields.is_some_and(|fields| fields.iter().any(|f| self.contains(f.ty.ty, part, depth + 1)))
    }
}

/// The place that an assignment stores to, and the one that its value is moved from.
fn assigned(e: &Expr) -> Option<(&Expr, &Expr)> {
    let ExprKind::Assign(to, value) = &*e.kind else { return None };
    Some((to, moved(value)?))
}

fn moved(value: &Expr) -> Option<&Expr> {
    let ExprKind::Move(place) = &*value.kind else { return None };
    Some(place)
}

/// Whether two expressions are written with the same names, numbers and steps.
fn is_same(a: &Expr, b: &Expr) -> bool {
    match (&*a.kind, &*b.kind) {
        (ExprKind::Local(a), ExprKind::Local(b)) => a == b,
        (ExprKind::Global(a), ExprKind::Global(b)) => a == b,
        (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
        (ExprKind::Deref(a), ExprKind::Deref(b))
        | (ExprKind::Load(a), ExprKind::Load(b))
        | (ExprKind::Decay(a), ExprKind::Decay(b)) => is_same(a, b),
        (ExprKind::Field(a, n), ExprKind::Field(b, m)) => n == m && is_same(a, b),
        (ExprKind::Unary(x, a), ExprKind::Unary(y, b)) => x == y && is_same(a, b),
        (ExprKind::Convert(x, a), ExprKind::Convert(y, b)) => x == y && a.ty == b.ty && is_same(a, b),
        (ExprKind::IndexArray(a, i), ExprKind::IndexArray(b, j))
        | (ExprKind::IndexPointer(a, i), ExprKind::IndexPointer(b, j)) => is_same(a, b) && is_same(i, j),
        (ExprKind::Binary(x, a, i), ExprKind::Binary(y, b, j)) => x == y && is_same(a, b) && is_same(i, j),
        _ => false,
    }
}
