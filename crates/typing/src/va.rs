//! printf-like variadic functions: the life of a `va_list` (language.md section 1).

use crate::checker::Checker;
use crate::codes;
use crate::function::VaState;
use crate::tree::*;
use crate::types::*;
use syntax::ast;

impl Checker<'_> {
    /// `va_start(ap, last);` and its kin as statements.
    pub(crate) fn va_statement(&mut self, e: &ast::Expr) -> Option<StmtKind> {
        let ast::ExprKind::Call { callee, args, .. } = &e.kind else { return None };
        let ast::ExprKind::Ident(name) = callee.kind else { return None };
        let which = match name.as_str() {
            "__builtin_va_start" | "__builtin_c23_va_start" | "va_start" => 0,
            "__builtin_va_end" | "va_end" => 1,
            "__builtin_va_copy" | "va_copy" => 2,
            _ => return None,
        };
        if self.scopes.lookup(name).is_some() {
            return None;
        }
        let place = self.expr(args.first()?);
        if !matches!(self.kind(place.ty.ty), TyKind::VaList | TyKind::Error) {
            self.error(codes::VARIADIC, e.span, "the first argument is a `va_list`");
            return Some(StmtKind::Empty);
        }
        match which {
            0 => Some(self.va_start(place, e)),
            1 => {
                if let Some(f) = &mut self.f {
                    f.va.started = false;
                }
                Some(StmtKind::VaEnd(place))
            }
            _ => {
                if self.checked() {
                    self.error(
                        codes::VARIADIC,
                        e.span,
                        "`va_copy` is not in the safe language: start a second `va_list` after `va_end`",
                    );
                }
                let source = self.expr(args.get(1)?);
                Some(StmtKind::VaCopy(place, source))
            }
        }
    }

    fn va_start(&mut self, place: Expr, e: &ast::Expr) -> StmtKind {
        let checked = self.checked();
        let Some(f) = &self.f else { return StmtKind::Empty };
        let started = match *place.kind {
            ExprKind::Local(id) => Some(id),
            _ => None,
        };
        let local = started.is_some();
        if checked && (!f.variadic || !local) {
            self.error(codes::VARIADIC, e.span, "`va_start` stands in a variadic function and sets a local `va_list`");
            return StmtKind::Empty;
        }
        if checked && f.va.started {
            self.error(codes::VARIADIC, e.span, "the `va_list` is started twice: end it first");
        }
        if let Some(f) = &mut self.f {
            let depth = f.loops.len();
            f.va = VaState {
                started: true,
                uses: 0,
                depth,
                labels: f.label_count,
                local: started,
                blocks: f.blocks.clone(),
            };
        }
        StmtKind::VaStart(place)
    }

    /// A `va_list` as an argument: once between start and end, of a trusted `v...printf` function
    /// with the format parameter.
    pub(crate) fn va_argument(&mut self, value: Expr, fty: &FuncTy, before: &[(Expr, Ty)]) -> Expr {
        let span = value.span;
        if !self.checked() {
            return value;
        }
        let own = self.f.as_ref().and_then(|f| f.format_local);
        let scanf = self.f.as_ref().and_then(|f| f.format).map(|f| f.scanf);
        let format = fty
            .format
            .filter(|f| f.first.is_none() && Some(f.scanf) == scanf)
            .and_then(|f| before.get(f.format as usize));
        let passes_format = own.is_some() && format.is_some_and(|(e, _)| is_local(e, own));
        if !passes_format {
            self.error_help(
                codes::VARIADIC,
                span,
                "a `va_list` is passed to a `v...printf` function together with this function's own format parameter only",
                "pass the format parameter unchanged",
            );
            return value;
        }
        let Some(f) = &mut self.f else { return value };
        let local = match &*value.kind {
            ExprKind::Local(id) => Some(*id),
            ExprKind::Load(place) => match *place.kind {
                ExprKind::Local(id) => Some(id),
                _ => None,
            },
            _ => None,
        };
        let same = f.va.started && local.is_some() && local == f.va.local && f.blocks.starts_with(&f.va.blocks);
        let again = f.va.uses > 0 || !same || f.loops.len() != f.va.depth || f.label_count != f.va.labels;
        f.va.uses += 1;
        if again {
            self.error_help(
                codes::VARIADIC,
                span,
                "a `va_list` is used once between `va_start` and `va_end`, in the same loop",
                "start it again for a second use",
            );
        }
        value
    }
}

/// Whether the value is the local, through conversions.
pub(crate) fn is_local(e: &Expr, local: Option<LocalId>) -> bool {
    match &*e.kind {
        ExprKind::Load(place) => matches!(*place.kind, ExprKind::Local(id) if Some(id) == local),
        ExprKind::Convert(_, inner) => is_local(inner, local),
        _ => false,
    }
}
