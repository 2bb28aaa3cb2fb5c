//! What plain C leaves out of declarations that it shares with Leeward.
//!
//! `<lee/compat.h>` keeps Leeward's words as attributes where this front end reads a `.c` file. All
//! but `fat` leave a pointer one word. A `fat` pointer is three, which the file can hold in a
//! struct and pass over, and cannot make or read: it does not know the bounds. So records have
//! their right layout, and each use of such a pointer is an error.

use crate::checker::Checker;
use crate::codes;
use crate::tree::Expr;
use crate::types::*;
use source::{with_article, Diagnostic, Span};
use syntax::ast;

/// What `<lee/compat.h>` makes of `fat`.
pub const FAT: &str = "lee_fat";

impl Checker<'_> {
    /// Whether a pointer of plain C has the word `fat`.
    pub(crate) fn fat_attribute(&self, attrs: &[ast::Attribute]) -> bool {
        self.options.plain_c && attrs.iter().any(|attr| attr.name.as_str() == FAT)
    }

    /// Whether a value of the type, or a call through it, has words that C does not know.
    fn is_left_out(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(p) if p.bounds.is_fat() => true,
            TyKind::Ptr(p) => matches!(self.kind(p.target.ty), TyKind::Func(_)) && self.is_left_out(p.target.ty),
            TyKind::Func(f) => self.is_left_out(f.ret) || f.params.iter().any(|param| self.is_left_out(param.ty)),
            TyKind::Array { elem, .. } => self.is_left_out(elem.ty),
            _ => false,
        }
    }

    /// Reports a use of something of the type in plain C, if C does not know all of its words.
    /// True: it was reported.
    pub(crate) fn refuse_left_out(&mut self, ty: Ty, span: Span) -> bool {
        if !self.options.plain_c || !self.is_left_out(ty) {
            return false;
        }
        let file = self.map.locate(span).file.to_string();
        let text = self.show(ty);
        let message = match self.kind(ty) {
            TyKind::Ptr(p) if p.bounds.is_fat() => {
                format!("{} is three words in Leeward, and C knows only the first", with_article(&text))
            }
            TyKind::Array { .. } => format!("`{text}` has elements of three words, of which C knows only the first"),
            _ => format!("a function of type `{text}` has a pointer of three words, of which C knows only the first"),
        };
        let help = format!(
            "move {file} to Leeward next (`lee port {file}`), or say the bounds with `counted_by`, which keeps one word"
        );
        self.report(Diagnostic::error(codes::LEFT_OUT, span, message).help(help));
        true
    }

    /// The expression, unless plain C cannot know all words of its value.
    pub(crate) fn without_left_out(&mut self, e: Expr) -> Expr {
        if self.refuse_left_out(e.ty.ty, e.span) {
            return self.error_node(e.span);
        }
        e
    }
}
