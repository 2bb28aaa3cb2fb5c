//! One report for one mistake: a pointer that is declared without the bounds that its uses need is
//! reported at its first use, with the declaration and the number of its other uses.

use crate::checker::Checker;
use crate::tree::*;
use source::{Applicability, Diagnostic, Span};

/// A report about a declaration: where it stands among the reports, and how many more uses need the
/// same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blamed {
    report: usize,
    more: u32,
}

impl Checker<'_> {
    /// Reports that the pointer value `e` lacks what a use needs: with its declaration, and once
    /// for each declaration and code.
    pub(crate) fn report_declared(&mut self, e: &Expr, report: Diagnostic) {
        if self.muted > 0 {
            return;
        }
        let Some((at, depth)) = self.declaration_of(e) else { return self.report(report) };
        self.report_once(at, depth, report);
    }

    /// Reports that the declaration at `at` lacks what a use needs, `depth` pointers below it: once
    /// for each code.
    pub(crate) fn report_once(&mut self, at: Span, depth: u32, report: Diagnostic) {
        if self.muted > 0 {
            return;
        }
        let key = (report.code.id, at, depth);
        if let Some(known) = self.blamed.get_mut(&key) {
            known.more += 1;
            self.mistakes += 1;
            return;
        }
        self.blamed.insert(key, Blamed { report: self.sink.all.len(), more: 0 });
        let labelled = at == report.span || report.labels.iter().any(|label| label.span == at);
        let report = if labelled { report } else { report.label(at, "declared here") };
        self.report(report.about(at));
    }

    /// Says of each report about a declaration how many more uses it has.
    pub(crate) fn count_uses(&mut self) {
        for Blamed { report, more } in std::mem::take(&mut self.blamed).into_values() {
            let Some(report) = self.sink.all.get_mut(report).filter(|_| more > 0) else { continue };
            let uses = if more == 1 { "1 more use needs".to_string() } else { format!("{more} more uses need") };
            report.notes.push(format!("{uses} the same of this declaration"));
        }
    }

    /// Reports that a pointer does not lead to a string. If it was made of an array that is declared
    /// by name, the help says to declare that `null_terminated`, with the edit.
    pub(crate) fn report_array(&mut self, e: &Expr, report: Diagnostic, otherwise: &str) {
        if self.muted > 0 {
            return;
        }
        let Some(name) = self.array_of(e) else { return self.report(report.help(otherwise)) };
        let help = format!("declare the array `{}` `null_terminated`", self.map.snippet(name));
        let report = report.help(help).label(name, "declared here");
        let report = match self.after_brackets(name) {
            Some((at, text)) => report.fix(Applicability::Likely, Span::new(at, at), text),
            None => report,
        };
        self.report(report.about(name));
    }

    /// The name in the declaration of the array that a pointer was made of, perhaps with other
    /// bounds.
    fn array_of(&self, e: &Expr) -> Option<Span> {
        match &*e.kind {
            ExprKind::Convert(_, inner) => self.array_of(inner),
            ExprKind::Decay(place) => match self.declaration_of_place(place)? {
                (name, 0) => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// Where `null_terminated` is written after `name[n]`, and how. `None` for arrays of arrays, and
    /// where the brackets stand elsewhere.
    fn after_brackets(&self, name: Span) -> Option<(u32, &'static str)> {
        let rest = self.map.text.get(name.hi as usize..)?;
        let begins = |at: usize, any: &[char]| rest.get(at..).is_some_and(|rest| rest.starts_with(any));
        let open = rest.find(|c: char| !c.is_whitespace()).filter(|&at| begins(at, &['[']))?;
        let mut depth = 0;
        let close = rest.char_indices().skip_while(|(at, _)| *at < open).find_map(|(at, c)| {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(at + 1)
        })?;
        let next = close + rest.get(close..)?.find(|c: char| !c.is_whitespace())?;
        let text = if next == close { " null_terminated" } else { "null_terminated " };
        begins(next, &[';', ',', '=', ')', ':']).then_some((name.hi + next as u32, text))
    }

    /// The declaration that gives a pointer value its type, and behind how many pointers. None if
    /// there is none, or if it is a local whose type is inferred from something else.
    pub(crate) fn declaration_of(&self, e: &Expr) -> Option<(Span, u32)> {
        match &*e.kind {
            ExprKind::Convert(_, inner) | ExprKind::PtrAdd(inner, ..) => self.declaration_of(inner),
            ExprKind::Load(place) | ExprKind::Move(place) | ExprKind::Borrow(_, place) => {
                self.declaration_of_place(place)
            }
            ExprKind::Assign(place, _) | ExprKind::AssignOp(_, _, place, _) | ExprKind::IncDec(place, ..) => {
                self.declaration_of_place(place)
            }
            ExprKind::Call(Callee::Direct(f), ..) => {
                self.program.functions.get(f.func.0 as usize).map(|function| (function.span, 0))
            }
            _ => None,
        }
    }

    pub(crate) fn declaration_of_place(&self, place: &Expr) -> Option<(Span, u32)> {
        match &*place.kind {
            ExprKind::Local(id) => {
                let f = self.f.as_ref()?;
                if let Some(state) = f.local_keys.get(id).and_then(|key| f.inferred.get(key)) {
                    return state.declared;
                }
                f.locals.get(id.0 as usize).map(|local| (local.span, 0))
            }
            ExprKind::Global(id) => self.program.globals.get(id.0 as usize).map(|global| (global.span, 0)),
            ExprKind::Field(base, n) => {
                let id = self.program.types.as_record(base.ty.ty)?;
                let field = self.program.types.record(id).fields.as_ref()?.get(*n as usize)?;
                Some((field.span, 0))
            }
            ExprKind::Deref(pointer) | ExprKind::IndexPointer(pointer, _) => {
                self.declaration_of(pointer).map(|(at, depth)| (at, depth + 1))
            }
            ExprKind::IndexArray(array, _) => self.declaration_of_place(array).map(|(at, depth)| (at, depth + 1)),
            _ => None,
        }
    }
}
