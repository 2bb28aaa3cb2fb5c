//! C's "struct hack": a struct that ends in an array of one element, allocated with room for more.
//! Here the array has one element, however large the block is, so each access beyond it would be a
//! fault.

use crate::checker::Checker;
use crate::codes;
use crate::tree::*;
use crate::types::*;
use crate::walk::without_conversions;
use source::Diagnostic;

impl Checker<'_> {
    /// Refuses a block that is to hold more elements of the last array of its struct than that has.
    pub(crate) fn tail_fits(&mut self, block: Expr) -> Expr {
        let ExprKind::Alloc(Alloc { elem, size: AllocSize::Bytes(size), .. }) = &*block.kind else { return block };
        let Some((record, field)) = self.program.types.as_record(*elem).zip(self.last_of_one(*elem)) else {
            return block;
        };
        let (Some(whole), Some(start)) = (
            self.program.types.layout(*elem).map(|l| i128::from(l.size)),
            self.program.types.field_offset(record, field).map(i128::from),
        ) else {
            return block;
        };
        if !self.checked() || !self.exceeds(size, start, whole) {
            return block;
        }
        let fields = self.program.types.record(record).fields.clone().unwrap_or_default();
        let Some(last) = fields.get(field as usize) else { return block };
        let TyKind::Array { elem: item, .. } = self.kind(last.ty.ty) else { return block };
        let (text, item, name) = (self.show(*elem), self.show(item.ty), last.name.map_or("", |n| n.as_str()));
        let mut counts = fields.iter().filter(|f| self.program.types.as_int(f.ty.ty).is_some() && f.width.is_none());
        let (count, which) = match (counts.next().and_then(|f| f.name), counts.next()) {
            (Some(only), None) => (only.as_str(), format!("if `{only}` is its length")),
            _ => ("n", "with the field that holds its length for `n`".to_string()),
        };
        let message =
            format!("this block is larger than `{text}`, but `{name}` has one element: the rest is never reached");
        self.report(
            Diagnostic::error(codes::ALLOCATION, size.span, message)
                .label(last.span, "the array that is to be longer")
                .note(format!("with a flexible array such a block has the size `sizeof({text}) + n * sizeof({item})`"))
                .help(format!("declare it `{item} {name}[] counted_by({count});`, {which}")),
        );
        self.error_node(block.span)
    }

    /// The number of the last field of a struct, if that is an array of one element.
    fn last_of_one(&self, ty: Ty) -> Option<u32> {
        let record = self.program.types.record(self.program.types.as_record(ty)?);
        let fields = record.fields.as_ref().filter(|_| record.kind == RecordKind::Struct)?;
        let last = fields.last().filter(|f| f.name.is_some())?;
        let is_one = matches!(self.kind(last.ty.ty), TyKind::Array { len: ArrayLen::Const(1), .. });
        is_one.then(|| fields.len() as u32 - 1)
    }

    /// Whether a size is that of the struct, or of what is in front of its last array, and something
    /// else that is not a number of such structs.
    fn exceeds(&self, size: &Expr, start: i128, whole: i128) -> bool {
        if let Some(bytes) = self.int_of(size) {
            return bytes > whole && bytes % whole != 0;
        }
        let mut terms = vec![];
        terms_of(size, &mut terms);
        let of_struct = |term: &&Expr| self.int_of(term).is_some_and(|n| n >= start.max(1) && n <= whole);
        let of_structs = |term: &&Expr| match &*without_conversions(term).kind {
            ExprKind::Binary(BinOp::Mul, a, b) => self.int_of(a) == Some(whole) || self.int_of(b) == Some(whole),
            _ => false,
        };
        terms.iter().any(of_struct) && !terms.iter().any(of_structs)
    }
}

/// The terms that are added up; of a difference what something is taken from.
fn terms_of<'e>(e: &'e Expr, terms: &mut Vec<&'e Expr>) {
    let e = without_conversions(e);
    match &*e.kind {
        ExprKind::Binary(BinOp::Add, a, b) => {
            terms_of(a, terms);
            terms_of(b, terms);
        }
        ExprKind::Binary(BinOp::Sub, a, _) => terms_of(a, terms),
        _ => terms.push(e),
    }
}
