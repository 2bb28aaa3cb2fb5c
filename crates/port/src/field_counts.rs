//! Which field counts the elements that a field of the same struct points to.
//!
//! What speaks for a count: the field gets memory for so many elements, an index is held below it,
//! or both fields are passed together. What speaks against it: an access at the count itself or
//! after it, a count that grows alone (of a buffer with a capacity it is the length), memory whose
//! size is something else. A count is made of fields and constants: `n`, `n + 1`, `rows * columns`.

use crate::facts::{constant, number, read_local};
use crate::flows::pointer;
use crate::slots::place_of;
use crate::{Place, Unit};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use typing::tree::*;
use typing::types::{Bounds, CountExpr, RecordId, Ty};
use typing::walk::{children, stmt_children, Part};

/// What is known of one pointer field.
#[derive(Default)]
struct Votes {
    /// How often memory was allocated for so many elements.
    made: BTreeMap<String, usize>,
    /// How often a use fits the count.
    fits: BTreeMap<String, usize>,
    /// Memory of another size was allocated.
    other: bool,
}

/// All that was seen, by where fields are declared.
#[derive(Default)]
struct Seen {
    pointers: BTreeMap<Place, Votes>,
    /// Counts, each of a pointer, that an access reaches or passes.
    beyond: BTreeSet<(Place, String)>,
    /// Integer fields that get more while no pointer beside them is assigned.
    grows: BTreeSet<Place>,
}

/// The count of each pointer field that has one, as it is written.
pub fn solve(units: &[Unit]) -> FxHashMap<Place, String> {
    let mut seen = Seen::default();
    for unit in units {
        for function in &unit.tree.functions {
            let Some(body) = function.body.as_ref().filter(|_| !unit.map.is_system(function.span.lo)) else {
                continue;
            };
            let mut walk = Walk { unit, out: &mut seen, same: vec![], below: vec![], assigned: vec![] };
            body.block.stmts.iter().for_each(|s| walk.names(s));
            body.block.stmts.iter().for_each(|s| walk.stmt(s));
        }
    }
    let mut found = FxHashMap::default();
    for (place, votes) in &seen.pointers {
        let stands = |text: &&String| {
            let grows = |name: &Place| name.0 == place.0 && text.split(' ').any(|word| word == name_at(units, name));
            !seen.beyond.contains(&(place.clone(), (*text).clone())) && !seen.grows.iter().any(grows)
        };
        let from = if votes.made.is_empty() && !votes.other { &votes.fits } else { &votes.made };
        let best = from.iter().filter(|(text, _)| stands(text)).max_by(|a, b| (a.1, b.0).cmp(&(b.1, a.0)));
        let best = best.filter(|(text, _)| !votes.other || votes.fits.contains_key(*text));
        found.extend(best.map(|(text, _)| (place.clone(), text.clone())));
    }
    found
}

/// The field's name, which stands at its place.
fn name_at(units: &[Unit], place: &Place) -> String {
    let line = units.iter().find_map(|unit| unit.map.source_line(&place.0, place.1)).unwrap_or_default();
    let rest = line.get(place.2 as usize - 1..).unwrap_or_default();
    rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

struct Walk<'a, 'f> {
    unit: &'a Unit<'a>,
    out: &'f mut Seen,
    /// Locals that have the value of a field: which local, of which struct, and the field.
    same: Vec<(LocalId, String, u32)>,
    /// Locals that conditions around hold below something, or at it.
    below: Vec<(LocalId, &'a Expr, bool)>,
    /// Pointer fields of which structs the function assigns.
    assigned: Vec<String>,
}

/// A field of a struct: how the function reaches the struct, its type, and which field.
struct Member {
    path: String,
    record: RecordId,
    field: u32,
}

impl<'a> Walk<'a, '_> {
    /// How an expression reaches an object, if it is by variables, members and indices in locals.
    fn path(&self, e: &Expr) -> Option<String> {
        match &*e.kind {
            ExprKind::Local(id) => Some(format!("l{}", id.0)),
            ExprKind::Global(id) => Some(format!("g{}", id.0)),
            ExprKind::Field(base, n) => Some(format!("{}.{n}", self.path(base)?)),
            ExprKind::Deref(p) => match &*pointer(p).kind {
                ExprKind::Load(place) => Some(format!("{}*", self.path(place)?)),
                ExprKind::AddrOf(place) => self.path(place),
                _ => None,
            },
            ExprKind::IndexPointer(p, i) => match &*pointer(p).kind {
                ExprKind::Load(place) => {
                    Some(format!("{}*[{}]", self.path(place)?, read_local(&self.unit.tree.types, i)?.0))
                }
                _ => None,
            },
            ExprKind::IndexArray(a, i) => {
                Some(format!("{}[{}]", self.path(a)?, read_local(&self.unit.tree.types, i)?.0))
            }
            _ => None,
        }
    }

    fn member(&self, place: &Expr) -> Option<Member> {
        let ExprKind::Field(base, field) = &*place.kind else { return None };
        let record = self.unit.tree.types.as_record(base.ty.ty)?;
        Some(Member { path: self.path(base)?, record, field: *field })
    }

    /// The member that a value is read from.
    fn read(&self, e: &Expr) -> Option<Member> {
        match &*e.kind {
            ExprKind::Load(place) => self.member(place),
            _ => None,
        }
    }

    fn place(&self, member: &Member) -> Option<Place> {
        let field = self.unit.tree.types.record(member.record).fields.as_ref()?.get(member.field as usize)?.span;
        (!self.unit.map.is_system(field.lo)).then(|| place_of(self.unit, field))
    }

    /// The name of an integer field that may count.
    fn counter(&self, record: RecordId, field: u32) -> Option<&'static str> {
        let field = self.unit.tree.types.record(record).fields.as_ref()?.get(field as usize)?;
        let counts = self.unit.tree.types.as_int(field.ty.ty).is_some() && field.width.is_none();
        field.name.filter(|_| counts).map(|name| name.as_str())
    }

    /// The number of a field of the same struct that a value is, or had when it was kept.
    fn sibling(&self, e: &Expr, of: &Member) -> Option<u32> {
        let e = number(&self.unit.tree.types, e);
        if let Some(member) = self.read(e) {
            return (member.path == of.path && member.record == of.record).then_some(member.field);
        }
        let local = read_local(&self.unit.tree.types, e)?;
        self.same.iter().find(|(id, path, _)| *id == local && *path == of.path).map(|(_, _, field)| *field)
    }

    /// A number of elements in fields of the same struct, as a count is written.
    fn count(&self, e: &Expr, of: &Member) -> Option<String> {
        let e = number(&self.unit.tree.types, e);
        let name = |e: &Expr| Some((self.sibling(e, of)?, self.counter(of.record, self.sibling(e, of)?)?));
        if let Some((_, name)) = name(e) {
            return Some(name.to_string());
        }
        match &*e.kind {
            ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => {
                let (_, name) = name(a)?;
                let n = constant(b).filter(|n| (1..=64).contains(n))?;
                Some(format!("{name} {} {n}", if *op == BinOp::Add { '+' } else { '-' }))
            }
            ExprKind::Binary(BinOp::Mul, a, b) => {
                let (a, b) = (name(a)?, name(b)?);
                let (a, b) = if a.0 <= b.0 { (a, b) } else { (b, a) };
                Some(format!("{} * {}", a.1, b.1))
            }
            _ => None,
        }
    }

    /// How many elements of a type so many bytes are.
    fn elements<'e>(&self, bytes: &'e Expr, elem: Ty) -> Option<&'e Expr> {
        let size = i128::from(self.unit.tree.types.layout(elem)?.size);
        let bytes = number(&self.unit.tree.types, bytes);
        match &*bytes.kind {
            _ if size == 1 => Some(bytes),
            ExprKind::Binary(BinOp::Mul, a, b) if constant(b) == Some(size) => Some(a),
            ExprKind::Binary(BinOp::Mul, a, b) if constant(a) == Some(size) => Some(b),
            _ => None,
        }
    }

    fn fits(&mut self, of: &Member, count: String) {
        if let Some(place) = self.place(of) {
            *self.out.pointers.entry(place).or_default().fits.entry(count).or_default() += 1;
        }
    }

    fn beyond(&mut self, of: &Member, count: String) {
        self.out.beyond.extend(self.place(of).map(|place| (place, count)));
    }

    /// Notes which locals and fields have the same value, and which structs get pointers.
    fn names(&mut self, s: &Stmt) {
        if let StmtKind::Declare(local, Some(Init::Expr(e))) = &s.kind {
            let member = self.read(number(&self.unit.tree.types, e));
            self.same.extend(member.map(|member| (*local, member.path, member.field)));
        }
        stmt_children(s, &mut |part| match part {
            Part::Expr(e) => self.names_of(e),
            Part::Stmt(s) => self.names(s),
        });
    }

    fn names_of(&mut self, e: &Expr) {
        if let ExprKind::Assign(place, value) = &*e.kind {
            if let Some(member) = self.member(place) {
                let local = read_local(&self.unit.tree.types, value);
                if self.unit.tree.types.as_pointer(place.ty.ty).is_some() {
                    self.assigned.push(member.path);
                } else {
                    self.same.extend(local.map(|local| (local, member.path, member.field)));
                }
            }
        }
        children(e, &mut |child| self.names_of(child));
    }

    fn under(&mut self, condition: &'a Expr, body: &'a Stmt) {
        let before = self.below.len();
        self.assume(condition);
        self.stmt(body);
        self.below.truncate(before);
    }

    fn assume(&mut self, condition: &'a Expr) {
        match &*condition.kind {
            ExprKind::And(a, b) => {
                self.assume(a);
                self.assume(b);
            }
            ExprKind::Convert(Conv::ToBool | Conv::Numeric, inner) => self.assume(inner),
            ExprKind::Binary(op @ (BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge), a, b) => {
                let (low, high) = if matches!(op, BinOp::Lt | BinOp::Le) { (a, b) } else { (b, a) };
                let reaches = matches!(op, BinOp::Le | BinOp::Ge);
                let low = read_local(&self.unit.tree.types, low);
                self.below.extend(low.map(|id| (id, high, reaches)));
            }
            _ => {}
        }
    }

    fn stmt(&mut self, s: &'a Stmt) {
        match &s.kind {
            StmtKind::For(start, Some(condition), step, body) => {
                start.iter().for_each(|s| self.stmt(s));
                self.expr(condition);
                self.under(condition, body);
                step.iter().for_each(|e| self.expr(e));
            }
            StmtKind::If(condition, then, other) => {
                self.expr(condition);
                self.under(condition, then);
                other.iter().for_each(|s| self.stmt(s));
            }
            StmtKind::While(condition, body) => {
                self.expr(condition);
                self.under(condition, body);
            }
            _ => stmt_children(s, &mut |part| match part {
                Part::Expr(e) => self.expr(e),
                Part::Stmt(s) => self.stmt(s),
            }),
        }
    }

    fn expr(&mut self, e: &'a Expr) {
        match &*e.kind {
            ExprKind::Assign(place, value) => self.assign(place, value),
            ExprKind::IncDec(place, true, _) | ExprKind::AssignOp(BinOp::Add | BinOp::Mul, _, place, _) => {
                self.grow(place);
            }
            ExprKind::IndexPointer(base, index) => self.access(base, index),
            ExprKind::Call(_, ty, args) => self.call(*ty, args),
            ExprKind::StmtExpr(block, _) => block.stmts.iter().for_each(|s| self.stmt(s)),
            _ => {}
        }
        children(e, &mut |child| self.expr(child));
    }

    /// An integer field gets another value. It may do so together with the pointer that it counts.
    fn grow(&mut self, place: &Expr) {
        let Some(member) = self.member(place) else { return };
        if self.counter(member.record, member.field).is_some() && !self.assigned.contains(&member.path) {
            self.out.grows.extend(self.place(&member));
        }
    }

    fn assign(&mut self, place: &Expr, value: &Expr) {
        let Some(member) = self.member(place) else { return };
        let ExprKind::Alloc(alloc) = &*pointer(value).kind else {
            if constant(value) != Some(0) {
                self.grow(place);
            }
            return;
        };
        let asked = match &alloc.size {
            AllocSize::Bytes(bytes) => self.elements(bytes, alloc.elem),
            AllocSize::Product(count, size) => {
                let whole = self.unit.tree.types.layout(alloc.elem).map(|l| i128::from(l.size));
                (constant(size) == whole).then_some(count)
            }
        };
        let count = asked.and_then(|asked| self.count(asked, &member));
        let Some(at) = self.place(&member) else { return };
        let votes = self.out.pointers.entry(at).or_default();
        match count {
            Some(count) => *votes.made.entry(count).or_default() += 1,
            None => votes.other = true,
        }
    }

    fn access(&mut self, base: &Expr, index: &Expr) {
        let Some(member) = self.read(pointer(base)) else { return };
        let index = number(&self.unit.tree.types, index);
        let at = match &*index.kind {
            ExprKind::IncDec(place, ..) => self.member(place),
            _ => self.read(index),
        };
        if let Some(at) = at.filter(|at| at.path == member.path && at.record == member.record) {
            let name = self.counter(at.record, at.field);
            name.into_iter().for_each(|name| self.beyond(&member, name.to_string()));
        }
        if let ExprKind::Binary(BinOp::Sub, n, less) = &*index.kind {
            if let Some(count) = self.count(n, &member).filter(|_| constant(less).is_some_and(|n| n > 0)) {
                self.fits(&member, count);
            }
        }
        let Some(local) = read_local(&self.unit.tree.types, index) else { return };
        let limits: Vec<(&Expr, bool)> = self.below.iter().filter(|b| b.0 == local).map(|b| (b.1, b.2)).collect();
        for (limit, reaches) in limits {
            match self.count(limit, &member) {
                Some(count) if reaches => self.beyond(&member, count),
                Some(count) => self.fits(&member, count),
                None => {}
            }
        }
    }

    /// A pointer is passed with a number of its elements.
    fn call(&mut self, ty: Ty, args: &[Expr]) {
        let types = &self.unit.tree.types;
        let Some(prototype) = types.as_func(ty) else { return };
        for (n, arg) in args.iter().enumerate() {
            let Some(member) = self.read(pointer(arg)) else { continue };
            let Some(field) = types.as_pointer(pointer(arg).ty.ty) else { continue };
            let Some(param) = prototype.params.get(n).and_then(|p| types.as_pointer(p.ty)) else { continue };
            let Bounds::Counted(count) = param.bounds else { continue };
            let CountExpr::Param(at) = types.count_expr(count) else { continue };
            let Some(asked) = args.get(*at as usize) else { continue };
            let bytes = types.layout(param.target.ty).is_none_or(|l| l.size == 1);
            let asked = if bytes { self.elements(asked, field.target.ty) } else { Some(asked) };
            if let Some(count) = asked.and_then(|asked| self.count(asked, &member)) {
                self.fits(&member, count);
            }
        }
    }
}
