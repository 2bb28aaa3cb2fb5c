//! Ownership of values: what moves, what is lent, what becomes shared (language reference,
//! "Ownership").

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::tree::*;
use crate::types::*;
use crate::walk::{any, Part};
use source::Diagnostic;

impl Checker<'_> {
    /// Whether code here follows the rules of ownership: not in plain C.
    pub(crate) fn tracked(&self) -> bool {
        self.f.as_ref().is_some_and(|f| !f.unchecked)
    }

    /// A value that is only looked at (compared, dereferenced, dropped): its place keeps what it
    /// owns.
    pub(crate) fn looked(&mut self, e: Expr) -> Expr {
        let (ty, span, is_unsafe) = (e.ty, e.span, e.is_unsafe);
        let kind = match *e.kind {
            ExprKind::Move(place) => ExprKind::Load(place),
            ExprKind::Convert(conv, inner) => ExprKind::Convert(conv, self.looked(inner)),
            other => other,
        };
        Expr { kind: Box::new(kind), ty, span, is_unsafe }
    }

    /// The place that a value is moved out of, or an `any` pointer is read from.
    pub(crate) fn lendable(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Move(_) => true,
            ExprKind::Load(_) => self.program.types.as_pointer(e.ty.ty).is_some_and(|p| p.own == Own::Any),
            ExprKind::Convert(_, inner) | ExprKind::Comma(_, inner) => self.lendable(inner),
            ExprKind::Cond(_, a, b) => self.lendable(a) || self.lendable(b),
            _ => false,
        }
    }

    /// Lends what the value would move: a pointer into a new loan. Values that come from no place
    /// stay as they are, with the ownership `own`.
    pub(crate) fn lend(&mut self, e: Expr, kind: BorrowKind, own: Own) -> Expr {
        let Some(p) = self.program.types.as_pointer(e.ty.ty) else { return e };
        let (span, is_unsafe) = (e.span, e.is_unsafe);
        let (kind, region) = match *e.kind {
            ExprKind::Move(place) => (ExprKind::Borrow(kind, place), self.fresh_region()),
            ExprKind::Load(place) if p.own == Own::Any => (ExprKind::Borrow(kind, place), self.fresh_region()),
            ExprKind::Convert(conv, inner) => {
                let inner = self.lend(inner, kind, own);
                let region = self.program.types.as_pointer(inner.ty.ty).map_or(p.region, |p| p.region);
                (ExprKind::Convert(conv, inner), region)
            }
            ExprKind::Comma(a, b) => {
                let b = self.lend(b, kind, own);
                let region = self.program.types.as_pointer(b.ty.ty).map_or(p.region, |p| p.region);
                (ExprKind::Comma(a, b), region)
            }
            ExprKind::Cond(c, a, b) => {
                let (a, b) = (self.lend(a, kind, own), self.lend(b, kind, own));
                (ExprKind::Cond(c, a, b), self.fresh_region())
            }
            other => (other, p.region),
        };
        let ty = self.types().pointer(Pointer { own, region, ..p });
        Expr { kind: Box::new(kind), ty: Qty::plain(ty), span, is_unsafe }
    }

    /// An owned value as the shared pointer that arithmetic, addresses and variable arguments work
    /// on: a borrow.
    pub(crate) fn borrowed(&mut self, e: Expr) -> Expr {
        let own = self.program.types.as_pointer(e.ty.ty).map(|p| p.own);
        match own {
            Some(Own::Unique | Own::Rc | Own::Any | Own::Param(_)) => self.lend(e, BorrowKind::Shared, Own::Shared),
            _ => e,
        }
    }

    /// An argument for a parameter that is not `consume`: what it owns is lent for the call.
    pub(crate) fn lent_argument(&mut self, e: Expr) -> Expr {
        if let ExprKind::Move(place) = *e.kind {
            return Expr { kind: Box::new(ExprKind::Borrow(BorrowKind::Lend, place)), ..e };
        }
        if self.lendable(&e) || self.is_null_constant(&e) || self.is_error(e.ty.ty) || !self.program.types.owns(e.ty.ty)
        {
            return e;
        }
        if self.program.types.as_pointer(e.ty.ty).is_some_and(|p| matches!(p.own, Own::Unique | Own::Rc)) {
            self.error_help(
                codes::OWNERSHIP,
                e.span,
                "leak: a new owned value is only lent to this parameter, and nothing takes it afterwards",
                "keep it in a variable and free it, or declare the parameter `consume`",
            );
        }
        e
    }

    /// The value with the ownership that its destination wants; `None` if it cannot have it, which
    /// is reported.
    pub(crate) fn take_ownership(&mut self, e: Expr, to: &Pointer, why: Why) -> Option<Expr> {
        let p = self.program.types.as_pointer(e.ty.ty)?;
        let from = p.own;
        if from == to.own && from != Own::Any {
            return Some(e);
        }
        if let Some(seen) = self.seen_value(&e, to) {
            return self.take_ownership(seen, to, why);
        }
        let place = self.lendable(&e);
        let short = matches!(why, Why::Local | Why::Arg | Why::TrustedArg | Why::Cast);
        match (from, to.own) {
            (Own::Unique | Own::Rc | Own::Any | Own::Param(_), Own::Any) => {
                Some(self.lend(e, BorrowKind::Any, Own::Any))
            }
            (Own::Shared | Own::View, Own::Any) => Some(self.with_own(e, Own::Any)),
            (Own::Unique, Own::View) => {
                self.note_slot_lent(&e);
                Some(self.lend(e, BorrowKind::View, Own::View))
            }
            (Own::Unique, Own::Shared) if place => {
                let fixed = why != Why::Local && to.region == Region::Heap;
                if why == Why::Return && to.region == Region::Heap && self.lends_result(&e) {
                    return Some(self.lend(e, BorrowKind::Shared, Own::Shared));
                }
                if short && !fixed {
                    if why != Why::TrustedArg {
                        self.note_slot_lent(&e);
                    }
                    return Some(self.lend(e, BorrowKind::Shared, Own::Shared));
                }
                // The collector takes it over.
                self.note_kept(&e);
                Some(self.with_own(e, Own::Shared))
            }
            (Own::Unique | Own::Rc, Own::Shared) if !place => Some(self.with_own(e, Own::Shared)),
            (Own::Rc | Own::Any | Own::Param(_), Own::Shared) if place && short => {
                Some(self.lend(e, BorrowKind::Shared, Own::Shared))
            }
            (Own::View, Own::Shared) => {
                let is_const = to.target.quals.is_const;
                let harmless = is_const && !self.program.types.owns(p.target.ty);
                // One that need not be a view becomes a borrow, which more may be done with.
                let blamed = |this: &mut Self| !this.needs_view(&e) && this.blame_view(&e);
                if harmless || blamed(self) || is_const && self.passes_to_reader() || self.blame_view(&e) {
                    return Some(self.with_own(e, Own::Shared));
                }
                self.ownership_mismatch(&e, to);
                None
            }
            (Own::Shared | Own::View, Own::Unique | Own::Rc) if self.note_given(&e, to.own) => {
                Some(self.with_own(e, to.own))
            }
            _ => {
                if (from, to.own) == (Own::Shared, Own::View) {
                    self.note_no_view(&e);
                }
                self.ownership_mismatch(&e, to);
                None
            }
        }
    }

    /// Whether what a `return` gives out of slots is lent to the caller: a `static` function may do
    /// that, since all its callers are known. An element whose count goes down is taken instead.
    fn lends_result(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Convert(_, inner) | ExprKind::Comma(_, inner) => self.lends_result(inner),
            ExprKind::Cond(_, a, b) => {
                let lends = |e: &Expr| self.is_null_constant(e) || self.lends_result(e);
                lends(a) && lends(b)
            }
            ExprKind::Move(place) => {
                let function = self.f.as_ref().and_then(|f| f.func).and_then(|id| {
                    let function = self.program.functions.get(id.0 as usize)?;
                    Some(function.linkage == Linkage::Internal && function.type_params == 0 && !function.is_process)
                });
                let down = |part: Part| match part {
                    Part::Expr(e) => {
                        matches!(*e.kind, ExprKind::IncDec(_, false, _) | ExprKind::AssignOp(BinOp::Sub, ..))
                    }
                    Part::Stmt(_) => false,
                };
                let counts_down =
                    self.f.as_ref().is_some_and(|f| f.counts_down) || any(Part::Expr(place), &mut { down });
                function == Some(true) && self.path_root(place).is_none() && !counts_down
            }
            _ => false,
        }
    }

    /// A number is made less. In memory that may be what counts the elements of an array: then what
    /// is read next is an element that is not there any more.
    pub(crate) fn note_counted_down(&mut self, place: &Expr) {
        if let Some(f) = self.f.as_mut().filter(|_| !matches!(*place.kind, ExprKind::Local(_))) {
            f.counts_down = true;
        }
    }

    /// The same value with another word of ownership.
    pub(crate) fn with_own(&mut self, e: Expr, own: Own) -> Expr {
        let Some(p) = self.program.types.as_pointer(e.ty.ty) else { return e };
        if p.own == own {
            return e;
        }
        let ty = self.types().pointer(Pointer { own, ..p });
        match *e.kind {
            // A new object is what its first pointer says.
            ExprKind::New(_) | ExprKind::Alloc(_) => Expr { ty: Qty::plain(ty), ..e },
            _ => self.convert(Conv::Pointer, e, ty),
        }
    }

    fn ownership_mismatch(&mut self, e: &Expr, to: &Pointer) {
        let Some(p) = self.program.types.as_pointer(e.ty.ty) else { return };
        let word = |own: Own| match own {
            Own::Shared => "shared",
            Own::Unique => "`unique`",
            Own::Rc => "`rc`",
            Own::View => "a `view`",
            Own::Any => "`any`",
            Own::Param(_) => "of the ownership that a parameter stands for",
        };
        let help = match (p.own, to.own) {
            (Own::Shared, Own::Unique) => {
                "declare where it comes from `unique`: a shared pointer may have copies, so it is never the only one"
            }
            (Own::View, Own::Unique | Own::Rc) => "a view is read only: move the owner itself",
            (Own::View, _) => "take it as a `view` too, or borrow the owner for writing: `borrow b = x;`",
            (Own::Shared, Own::View) => "a view is made from something owned; take it as a shared pointer to `const`",
            (Own::Rc, Own::Shared) => "give an `rc` pointer where one is stored: `retain(p)`",
            (Own::Rc, Own::View) | (Own::Any, _) => "borrow it: `borrow b = x;`",
            (_, Own::Rc) => "a counted object is made by `new rc`, and copied by `retain`",
            _ => "make the two agree",
        };
        let message = format!("this pointer is {}, and {} is needed here", word(p.own), word(to.own));
        let passed = self.passed_to().filter(|_| p.own == Own::View && to.own == Own::Shared);
        let mut report = Diagnostic::error(codes::OWNERSHIP, e.span, message);
        report = match passed {
            Some((name, at)) if to.target.quals.is_const => report
                .label(at, format!("`{name}` may do more than read it"))
                .help(format!("declare that parameter of `{name}` a `view`, if its body only reads it")),
            Some((name, at)) => report
                .label(at, format!("`{name}` may change it"))
                .help(format!("declare that parameter of `{name}` a `view`, or borrow the owner: `borrow b = x;`")),
            None => report.help(help),
        };
        self.report(report);
    }

    /// The view that a place lies behind: its region.
    pub(crate) fn view_around(&self, place: &Expr) -> Option<Region> {
        match &*place.kind {
            ExprKind::Field(base, _) | ExprKind::IndexArray(base, _) => self.view_around(base),
            ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) => {
                self.program.types.as_pointer(p.ty.ty).filter(|p| p.own == Own::View).map(|p| p.region)
            }
            _ => None,
        }
    }

    /// The pointer value that a place goes through last.
    pub(crate) fn pointer_below(place: &Expr) -> Option<&Expr> {
        match &*place.kind {
            ExprKind::Field(base, _) | ExprKind::IndexArray(base, _) => Self::pointer_below(base),
            ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) => Some(p),
            _ => None,
        }
    }

    /// A place as it is seen: behind a view everything is const, and `unique` pointers are views
    /// too.
    pub(crate) fn seen(&mut self, place: Expr) -> Expr {
        let Some(region) = self.view_around(&place) else { return place };
        let mut ty = place.ty;
        ty.quals.is_const = true;
        if let Some(p) = self.program.types.as_pointer(ty.ty).filter(|p| p.own == Own::Unique) {
            ty.ty = self.types().pointer(Pointer { own: Own::View, region, ..p });
        }
        Expr { ty, ..place }
    }

    /// An owned value as an argument that has no parameter: it is looked at.
    pub(crate) fn shown(&mut self, e: Expr) -> Expr {
        let pointer = self.program.types.as_pointer(e.ty.ty);
        let looked = pointer.map(|p| Pointer { own: Own::Shared, target: p.target.with_const(), ..p });
        match looked.and_then(|to| Some((self.seen_value(&e, &to)?, to))) {
            Some((seen, to)) => self.take_ownership(seen, &to, Why::Arg).unwrap_or(e),
            None => self.borrowed(e),
        }
    }

    /// What is in a slot that an owned path leads to (`v.items[i]`), where only looking is wanted:
    /// through a view of the path.
    fn seen_value(&mut self, e: &Expr, to: &Pointer) -> Option<Expr> {
        let looks = to.own == Own::View || to.own == Own::Shared && to.target.quals.is_const;
        let ExprKind::Move(place) = &*e.kind else { return None };
        let plain = self.program.types.as_pointer(e.ty.ty).is_some_and(|p| !self.program.types.owns(p.target.ty));
        if !looks || !(plain || to.own == Own::View) || self.path_root(place).is_some() {
            return None;
        }
        let seen = self.seen_slot(place)?;
        Some(self.rvalue(seen))
    }

    /// The place with a view of the owned path before it.
    fn seen_slot(&mut self, place: &Expr) -> Option<Expr> {
        let view = |this: &mut Self, p: &Expr| {
            let pointer = this.program.types.as_pointer(p.ty.ty).filter(|p| p.own == Own::Unique)?;
            let ExprKind::Load(path) = &*p.kind else { return None };
            this.path_root(path)?;
            let region = this.fresh_region();
            let ty = this.types().pointer(Pointer { own: Own::View, region, ..pointer });
            let kind = Box::new(ExprKind::Borrow(BorrowKind::View, path.clone()));
            Some(Expr { kind, ty: Qty::plain(ty), ..p.clone() })
        };
        let kind = match &*place.kind {
            ExprKind::Field(base, n) => ExprKind::Field(self.seen_slot(base)?, *n),
            ExprKind::IndexArray(base, i) => ExprKind::IndexArray(self.seen_slot(base)?, i.clone()),
            ExprKind::Deref(p) => ExprKind::Deref(view(self, p)?),
            ExprKind::IndexPointer(p, i) => ExprKind::IndexPointer(view(self, p)?, i.clone()),
            _ => return None,
        };
        Some(self.seen(Expr { kind: Box::new(kind), ..place.clone() }))
    }

    /// Whether reading the place gives a view of what a `unique` pointer there owns.
    pub(crate) fn is_seen_owner(&self, place: &Expr) -> bool {
        let view = self.program.types.as_pointer(place.ty.ty).is_some_and(|p| p.own == Own::View);
        if !view || self.view_around(place).is_none() {
            return false;
        }
        let declared = match &*place.kind {
            ExprKind::Field(base, n) => self.program.types.as_record(base.ty.ty).and_then(|id| {
                let fields = self.program.types.record(id).fields.as_ref()?;
                fields.get(*n as usize).map(|f| f.ty.ty)
            }),
            ExprKind::IndexArray(base, _) => match self.kind(base.ty.ty) {
                TyKind::Array { elem, .. } => Some(elem.ty),
                _ => None,
            },
            ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) => {
                self.program.types.as_pointer(p.ty.ty).map(|p| p.target.ty)
            }
            _ => None,
        };
        declared.and_then(|ty| self.program.types.as_pointer(ty)).is_some_and(|p| p.own == Own::Unique)
    }

    /// A write to a place: if it lies behind a view, either the view is only inferred and becomes a
    /// borrow, or it is reported.
    pub(crate) fn write_behind_view(&mut self, place: &Expr) -> bool {
        if self.view_around(place).is_none() || !self.checked() {
            return false;
        }
        let Some(view) = Self::pointer_below(place).cloned() else { return false };
        if self.blame_view(&view) {
            return true;
        }
        self.error_help(
            codes::OWNERSHIP,
            place.span,
            "what lies behind a `view` is read only",
            "borrow the owner instead: `borrow b = x;`, or take it as a shared pointer",
        );
        true
    }

    /// The place of an address: owned pointers on the way are borrowed, so that the address lives
    /// in a loan.
    pub(crate) fn lent_place(&mut self, place: Expr) -> Expr {
        let (ty, span, is_unsafe) = (place.ty, place.span, place.is_unsafe);
        let kind = match *place.kind {
            ExprKind::Field(base, n) => ExprKind::Field(self.lent_place(base), n),
            ExprKind::IndexArray(base, i) => ExprKind::IndexArray(self.lent_place(base), i),
            ExprKind::Deref(p) => ExprKind::Deref(self.lent_pointer(p)),
            ExprKind::IndexPointer(p, i) => ExprKind::IndexPointer(self.lent_pointer(p), i),
            other => other,
        };
        Expr { kind: Box::new(kind), ty, span, is_unsafe }
    }

    /// A pointer that was looked at (`Load` of an owned place), borrowed.
    pub(crate) fn lent_pointer(&mut self, e: Expr) -> Expr {
        let owned = self
            .program
            .types
            .as_pointer(e.ty.ty)
            .is_some_and(|p| matches!(p.own, Own::Unique | Own::Rc | Own::Any | Own::Param(_)));
        if !owned || !self.tracked() {
            return e;
        }
        let moved = self.moved(e);
        self.note_slot_lent(&moved);
        self.borrowed(moved)
    }

    /// The opposite of `looked`.
    fn moved(&mut self, e: Expr) -> Expr {
        let (ty, span, is_unsafe) = (e.ty, e.span, e.is_unsafe);
        let kind = match *e.kind {
            ExprKind::Load(place) => ExprKind::Move(place),
            ExprKind::Convert(conv, inner) => ExprKind::Convert(conv, self.moved(inner)),
            other => other,
        };
        Expr { kind: Box::new(kind), ty, span, is_unsafe }
    }

    /// The region that the address of a place is in.
    pub(crate) fn place_region(&mut self, place: &Expr) -> Region {
        match &*place.kind {
            ExprKind::Field(base, _) | ExprKind::IndexArray(base, _) => self.place_region(base),
            ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) => {
                self.program.types.as_pointer(p.ty.ty).map_or(Region::Heap, |p| p.region)
            }
            ExprKind::Global(_) | ExprKind::StrLit(_) => Region::Heap,
            _ => self.fresh_region(),
        }
    }

    /// The ownership that the address of a place has: behind a view it is one.
    pub(crate) fn place_own(&self, place: &Expr) -> Own {
        match self.view_around(place) {
            Some(_) => Own::View,
            None => Own::Shared,
        }
    }
}
