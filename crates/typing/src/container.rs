//! `container_of`, and casts between a struct and its first member.
//!
//! Guarantees: what comes out has the type that the object has, regions included. The object's type
//! is compared when the program runs, without its regions; so each region in it is `@heap` or
//! stands in the member's type, which is compared here. What owns something is found through a
//! pointer of `@heap` only: a pointer of any other region may be a loan of one member, while others
//! of the same object are used through their owner.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::tree::*;
use crate::types::*;
use source::Span;
use syntax::ast;

impl Checker<'_> {
    /// `container_of(p, T, m)`
    pub(crate) fn container_of(&mut self, p: &ast::Expr, ty: &ast::TypeName, member: ast::Ident, span: Span) -> Expr {
        let value = self.value(p);
        let record = self.type_name(ty).ty;
        if self.is_error(value.ty.ty) || self.is_error(record) {
            return self.error_node(span);
        }
        let text = self.show(record);
        let is_struct = |id: &RecordId| self.program.types.record(*id).kind == RecordKind::Struct;
        let Some(id) = self.program.types.as_record(record).filter(is_struct) else {
            self.error(codes::MEMBER, span, format!("`{text}` is not a struct: it contains nothing"));
            return self.error_node(span);
        };
        let Some(path) = self.find_member(id, member.name) else {
            let message = match self.program.types.record(id).fields {
                Some(_) => format!("`{text}` has no member `{}`", member.name),
                None => format!("`{text}` is not complete here"),
            };
            self.error(codes::MEMBER, member.span, message);
            return self.error_node(span);
        };
        self.container(value, record, path, false, span)
    }

    /// A cast from a pointer to a struct's first member.
    pub(crate) fn first_to_struct(&mut self, e: Expr, q: Pointer, to: Ty, path: Vec<u32>) -> Expr {
        let span = e.span;
        let out = self.container(e, q.target.ty, path, true, span);
        if self.is_error(out.ty.ty) {
            return out;
        }
        self.coerce(out, to, Why::Cast)
    }

    /// The path from a struct to a part of the type at its very beginning.
    pub(crate) fn first_member(&self, record: Ty, part: Ty) -> Option<Vec<u32>> {
        let (mut at, mut path) = (record, vec![]);
        while path.len() < 64 {
            let record = self.program.types.record(self.program.types.as_record(at)?);
            if record.kind != RecordKind::Struct || !record.exists.is_empty() {
                return None;
            }
            let first = record.fields.as_ref()?.first()?;
            at = first.ty.ty;
            path.push(0);
            self.program.types.as_record(at)?;
            if self.program.types.same_modulo_regions(at, part) {
                return Some(path);
            }
        }
        None
    }

    /// `null`: null stays null; else it is a fault.
    fn container(&mut self, value: Expr, record: Ty, path: Vec<u32>, null: bool, span: Span) -> Expr {
        let Some(part) = self.part_at(record, &path) else { return self.error_node(span) };
        let text = self.show(record);
        let Some(p) = self.program.types.as_pointer(value.ty.ty) else {
            self.mismatch_member(&value, part);
            return self.error_node(span);
        };
        if self.program.types.as_record(part.ty).is_none() {
            self.error_help(
                codes::CAST,
                span,
                format!("cast: only members that are structs or unions lead to their `{text}`"),
                "put the member into a struct of its own, or keep a pointer to the outer struct",
            );
            return self.error_node(span);
        }
        if self.checked() && !self.tells_regions(record, &path, p.target.quals.is_const) {
            self.error_help(
                codes::CAST,
                span,
                format!("cast: the member's type does not tell all regions in `{text}`"),
                "give the member the same regions, or keep a pointer to the outer struct",
            );
            return self.error_node(span);
        }
        let owned = self.program.types.owns(record);
        let region = if owned { Region::Heap } else { p.region };
        let own = if self.tracked() { Own::Shared } else { p.own };
        let quals = Quals { is_const: p.target.quals.is_const || part.quals.is_const, ..part.quals };
        let target = Qty { ty: part.ty, quals };
        let thin = Pointer { target, bounds: Bounds::Thin, nonnull: p.nonnull, own, region, raw: false };
        let thin_ty = self.types().pointer(thin);
        let value = self.coerce(value, thin_ty, Why::Cast);
        if self.is_error(value.ty.ty) {
            return value;
        }
        let quals = Quals { is_const: target.quals.is_const, ..Quals::default() };
        let out = Pointer { target: Qty { ty: record, quals }, nonnull: p.nonnull || !null, ..thin };
        let out = self.types().pointer(out);
        if !null && !p.nonnull && self.checked() {
            return self.node(ExprKind::ContainerOf(value, record, path, true), out, span);
        }
        self.node(ExprKind::ContainerOf(value, record, path, false), out, span)
    }

    /// Whether the type of the member says what each region in the struct's arguments is. Behind
    /// `const` regions convert.
    fn tells_regions(&self, record: Ty, path: &[u32], behind_const: bool) -> bool {
        let types = &self.program.types;
        let Some(id) = types.as_record(record) else { return false };
        let Some(generic) = types.instance_of.get(&id).and_then(|n| types.generic_self.get(n)) else { return true };
        let pattern = types.find(&TyKind::Record(*generic)).and_then(|own| self.part_at(own, path));
        let (args, params) = (&types.record(id).args, &types.record(*generic).args);
        args.iter().zip(params).enumerate().all(|(n, (&arg, &param))| match (types.kind(arg), types.kind(param)) {
            (TyKind::OwnArg(_), _) => true,
            (_, TyKind::Param(p)) if p.heap => true,
            (TyKind::RegionArg(_), _) => {
                let told = |part: Qty| types.mentions_region(part.ty, &|r| r == Region::Param(n as u32));
                !behind_const && pattern.is_some_and(told)
            }
            _ => !types.mentions_param(arg) && !types.mentions_region(arg, &|_| true),
        })
    }

    fn part_at(&self, record: Ty, path: &[u32]) -> Option<Qty> {
        let mut at = Qty::plain(record);
        for &n in path {
            let record = self.program.types.record(self.program.types.as_record(at.ty)?);
            at = record.fields.as_ref()?.get(n as usize)?.ty;
        }
        Some(at)
    }

    fn mismatch_member(&mut self, value: &Expr, part: Qty) {
        let to = self.types().pointer_to(part, Bounds::Thin);
        self.mismatch(value, to, Why::Cast);
    }
}
