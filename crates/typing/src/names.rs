//! Names and literals.

use crate::checker::{Checker, Known};
use crate::codes;
use crate::scope::Entity;
use crate::tree::*;
use crate::types::*;
use source::{Diagnostic, Span, Symbol};
use std::rc::Rc;
use syntax::ast;

/// How many unknown names of a file are compared with all known ones.
const MAX_SUGGESTIONS: u32 = 50;

impl Checker<'_> {
    pub(crate) fn int_literal_type(&mut self, lit: &ast::IntLit) -> Ty {
        let value = lit.value as i128;
        let candidates: &[IntKind] = match (lit.unsigned, lit.longs, lit.non_decimal) {
            (false, 0, false) => &[IntKind::Int, IntKind::Long],
            (false, 0, true) => &[IntKind::Int, IntKind::UInt, IntKind::Long, IntKind::ULong],
            (true, 0, _) => &[IntKind::UInt, IntKind::ULong],
            (false, 1, false) => &[IntKind::Long],
            (false, 1, true) => &[IntKind::Long, IntKind::ULong],
            (true, 1, _) => &[IntKind::ULong],
            (false, _, false) => &[IntKind::LongLong],
            (false, _, true) => &[IntKind::LongLong, IntKind::ULongLong],
            (true, _, _) => &[IntKind::ULongLong],
        };
        let kind = candidates.iter().copied().find(|k| k.wrap(value) == value).unwrap_or(IntKind::ULong);
        self.types().int(kind)
    }

    pub(crate) fn float_literal(&mut self, lit: &ast::FloatLit, span: Span) -> Expr {
        let c = self.program.types.common;
        let ty = match lit.ty {
            ast::Builtin::Float => c.float,
            ast::Builtin::LongDouble => c.long_double,
            ast::Builtin::Float16 => self.float_ty(FloatKind::Float16),
            ast::Builtin::Float32 => self.float_ty(FloatKind::Float32),
            ast::Builtin::Float32x => self.float_ty(FloatKind::Float32x),
            ast::Builtin::Float64 => self.float_ty(FloatKind::Float64),
            ast::Builtin::Float64x => self.float_ty(FloatKind::Float64x),
            ast::Builtin::Float128 => self.float_ty(FloatKind::Float128),
            _ => c.double,
        };
        let value = self.node(ExprKind::Float(lit.text), ty, span);
        if !lit.imaginary {
            return value;
        }
        let (TyKind::Float(kind), true) = (self.kind(ty).clone(), self.options.plain_c) else {
            self.error(codes::OPERANDS, span, "an imaginary number has no meaning here");
            return self.error_node(span);
        };
        let complex = self.types().intern(TyKind::Complex(kind.standard()));
        let zero = self.node(ExprKind::Float(Symbol::new("0.0")), ty, span);
        self.node(ExprKind::Builtin(Symbol::new("__builtin_complex"), vec![zero, value]), complex, span)
    }

    pub(crate) fn string_literal(&mut self, lit: &ast::StrLit, span: Span) -> Expr {
        let c = self.program.types.common;
        let elem = match lit.encoding {
            ast::Encoding::None => c.char_,
            ast::Encoding::Utf8 => c.uchar,
            ast::Encoding::Utf16 => c.ushort,
            ast::Encoding::Utf32 => c.uint,
            ast::Encoding::Wide => c.int,
        };
        let mut units = lit.units.clone();
        units.push(0);
        let len = ArrayLen::Const(units.len() as u64);
        let id = self.string(units, elem);
        let elem = Qty::plain(elem).with_const();
        let plain_c = self.f.as_ref().map_or(self.options.plain_c, |f| f.unchecked);
        let elem = if plain_c { Qty::plain(elem.ty) } else { elem };
        let ty = self.types().intern(TyKind::Array { elem, len, terminated: true });
        self.place_node(ExprKind::StrLit(id), Qty::plain(ty), span)
    }

    pub(crate) fn name(&mut self, name: Symbol, span: Span, expected: Option<Ty>) -> Expr {
        match self.scopes.lookup(name).cloned() {
            Some(Entity::Local(id)) => {
                let Some(f) = &mut self.f else { return self.error_node(span) };
                f.used.insert(id);
                let ty =
                    f.locals.get(id.0 as usize).map(|l| l.ty).unwrap_or(Qty::plain(self.program.types.common.error));
                let walks = f.walkers.get(&id).copied();
                let place = self.place_node(ExprKind::Local(id), ty, span);
                match self.program.types.as_pointer(ty.ty).zip(walks) {
                    Some((p, reads)) => {
                        let at = self.node(ExprKind::Load(place), ty.ty, span);
                        let mut walker = self.deref_node(at, p, span);
                        // What it is at is declared `const`, what the cursor is at is not.
                        if let Some(p) = self.program.types.as_pointer(walker.ty.ty).filter(|_| reads) {
                            let target = p.target.with_const();
                            walker.ty.ty = self.types().pointer(Pointer { target, ..p });
                        }
                        walker
                    }
                    None => place,
                }
            }
            Some(Entity::Global(id)) => {
                let global = &mut self.program.globals[id.0 as usize];
                global.used = true;
                let (ty, trust) = (global.ty, global.trust);
                if trust == Trust::Foreign && self.checked() {
                    self.error_help(
                        codes::UNSAFE,
                        span,
                        format!("`{name}` is a variable of C: using it is unsafe"),
                        "give it a trusted declaration, or use it in `unsafe { }`",
                    );
                }
                self.place_node(ExprKind::Global(id), ty, span)
            }
            Some(Entity::Func(id)) => self.function_name(id, span, expected),
            Some(Entity::Constant(value, ty)) => self.int_node(value, ty, span),
            Some(Entity::Typedef(_) | Entity::GenericTypedef(..) | Entity::TypeParam(_) | Entity::OwnParam(_)) => {
                self.error(codes::UNKNOWN_NAME, span, format!("`{name}` is a type, and a value is needed here"));
                self.error_node(span)
            }
            Some(Entity::Poison) => self.error_node(span),
            None => self.unknown_name(name, span),
        }
    }

    pub(crate) fn unknown_name(&mut self, name: Symbol, span: Span) -> Expr {
        if matches!(name.as_str(), "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__") {
            if let Some(function) = self.f.as_ref().and_then(|f| f.result_name) {
                let units = function.as_str().bytes().map(u32::from).collect();
                return self.string_literal(&ast::StrLit { encoding: ast::Encoding::None, units }, span);
            }
        }
        if self.has_advice(name) {
            self.foreign_use(name, span);
            self.poison_unknown(name, span);
            return self.error_node(span);
        }
        if let Some(report) = allocation_word(name.as_str(), span) {
            self.report(report);
            return self.error_node(span);
        }
        let mut report = Diagnostic::error(codes::UNKNOWN_NAME, span, format!("`{name}` is not declared here"));
        if let Some(header) = header_of(name.as_str()) {
            report = report.help(format!("add `#include <{header}>`"));
        } else if let Some(&below) = self.bodies.get(&name).filter(|body| body.lo >= span.hi) {
            report = report.label(below, "it stands here").help("declare the function before its first use");
        } else if let Some(near) = self.nearest(name.as_str()) {
            report = report.help(format!("did you mean `{near}`?"));
        }
        self.report(report);
        self.poison_unknown(name, span);
        self.error_node(span)
    }

    /// Whether `library/unsafe.txt` says what to use instead of the function.
    pub(crate) fn has_advice(&self, name: Symbol) -> bool {
        let name = name.as_str();
        self.options.advice.iter().any(|(n, _)| n == name)
    }

    /// One mistake, one error. What is only tried reports nothing, so the mistake is still to come.
    fn poison_unknown(&mut self, name: Symbol, span: Span) {
        if self.muted == 0 {
            self.scopes.declare(name, Entity::Poison, span);
        }
    }

    pub(crate) fn nearest(&mut self, name: &str) -> Option<Symbol> {
        // Looking through all names is worth it for the first mistakes of a file.
        if self.muted > 0 || self.suggestions >= MAX_SUGGESTIONS {
            return None;
        }
        self.suggestions += 1;
        let limit = (name.len() / 3).clamp(1, 3);
        let mut best: Option<(usize, Symbol)> = None;
        for candidate in self.scopes.names() {
            let text = candidate.as_str();
            if text.len().abs_diff(name.len()) > limit || text.starts_with('_') {
                continue;
            }
            let d = distance(name, text);
            if d <= limit && best.is_none_or(|(b, s)| d < b || (d == b && text < s.as_str())) {
                best = Some((d, candidate));
            }
        }
        best.map(|(_, s)| s)
    }

    /// A function by name, as a designator. A generic one takes its arguments from the type that
    /// the context wants.
    pub(crate) fn function_name(&mut self, id: FuncId, span: Span, expected: Option<Ty>) -> Expr {
        let id = self.form_of_name(id, expected);
        let function = &mut self.program.functions[id.0 as usize];
        function.used = true;
        let (ty, trust, name, generic) = (function.ty, function.trust, function.name, function.type_params);
        if function.is_process {
            return self.refuse_process_name(name, span);
        }
        self.read_only.learnt.addressed.insert(name);
        let internal = name.as_str() == crate::format::WITHIN && trust == Trust::Trusted;
        if (trust == Trust::Foreign || internal) && self.checked() {
            self.foreign_use(name, span);
            return self.error_node(span);
        }
        if self.wrapper_of_characters(name).is_some() {
            self.error_help(
                codes::ALLOCATION,
                span,
                format!("`{name}` is a wrapper of an allocator: each call decides the type of the memory, so it has no address"),
                "call it where the type is known, instead of through a pointer",
            );
            return self.error_node(span);
        }
        let args: Rc<[Ty]> = if generic > 0 {
            match self.args_from_expected(id, expected, span) {
                Some(args) => args,
                None => return self.error_node(span),
            }
        } else {
            Rc::from([])
        };
        let ty = self.types().subst(ty, &args);
        self.place_node(ExprKind::Func(FuncRef { func: id, args }), Qty::plain(ty), span)
    }

    /// Of a function of C and one of processes that have one name, the one whose address is wanted.
    fn form_of_name(&self, id: FuncId, expected: Option<Ty>) -> FuncId {
        let Some(other) = self.for_pids.get(&id).copied() else { return id };
        let wanted = expected.map(|ty| self.program.types.as_pointer(ty).map_or(ty, |p| p.target.ty));
        if wanted.is_some_and(|ty| self.is_for_pids(ty)) {
            other
        } else {
            id
        }
    }

    /// Reports the use of a C function in safe code.
    pub(crate) fn foreign_use(&mut self, name: Symbol, span: Span) {
        let advice = self.options.advice.iter().find(|(n, _)| n == name.as_str()).map(|(_, a)| a.clone());
        match advice {
            Some(advice) => self.error(codes::UNSAFE, span, format!("`{name}` is unsafe: {advice}")),
            None => self.error_help(
                codes::UNSAFE,
                span,
                format!("`{name}` is a C function without a trusted declaration: using it is unsafe"),
                format!("call it in `unsafe {{ }}`, or give it a checked type: `trusted ... {name}(...);`"),
            ),
        }
    }

    /// The value of a `const` object with a constant initialiser, where a constant is needed.
    pub(crate) fn known_value(&self, place: &Expr) -> Option<Known> {
        match *place.kind {
            ExprKind::Local(id) => self.f.as_ref()?.known.get(&id).cloned(),
            ExprKind::Global(id) => self.known_globals.get(&id).cloned(),
            _ => None,
        }
    }
}

/// Edit distance.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut left = i + 1;
        let mut diagonal = i;
        for (j, y) in b.iter().enumerate() {
            let up = row[j + 1];
            let cost = diagonal + usize::from(x != *y);
            diagonal = up;
            left = cost.min(up + 1).min(left + 1);
            row[j + 1] = left;
        }
        row[0] = i + 1;
    }
    row.last().copied().unwrap_or(0)
}

/// The header that declares a common name.
pub(crate) fn header_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "printf" | "puts" | "fopen" | "fclose" | "FILE" | "stdin" | "stdout" | "stderr" | "scanf" | "getchar"
        | "putchar" | "fprintf" | "snprintf" | "fgets" | "fputs" | "fread" | "fwrite" | "perror" | "EOF" | "getc"
        | "putc" => "stdio.h",
        "exit" | "abort" | "atoi" | "strtol" | "strtod" | "qsort" | "rand" | "getenv" | "EXIT_SUCCESS"
        | "EXIT_FAILURE" => "stdlib.h",
        "strlen" | "memcpy" | "memset" | "strcmp" | "strncmp" | "strchr" | "strdup" | "strstr" | "memmove"
        | "memcmp" | "strerror" => "string.h",
        "isspace" | "isalpha" | "isdigit" | "toupper" | "tolower" | "isalnum" => "ctype.h",
        "sqrt" | "sin" | "cos" | "pow" | "fabs" | "floor" | "ceil" => "math.h",
        "errno" => "errno.h",
        "assert" => "assert.h",
        "NULL" | "size_t" | "offsetof" => "stddef.h",
        _ => return None,
    })
}

/// A word of allocation as a value: it depends on the type that it is used with, so there is no one
/// function to point to.
fn allocation_word(name: &str, span: Span) -> Option<Diagnostic> {
    let help = match name {
        "free" => "write a function for the type, and point to that: `static void release_item(consume struct item *unique p) { free(p); }`",
        "malloc" | "calloc" | "realloc" => {
            "write a function for the type, and point to that: `static struct item *unique make_item(void) { return new struct item; }`"
        }
        _ => return None,
    };
    let message =
        format!("`{name}` is part of the language, not a function with an address: what it does depends on the type");
    Some(Diagnostic::error(codes::UNKNOWN_NAME, span, message).help(help))
}
