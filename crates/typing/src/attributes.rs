//! Attributes of C in Leeward's code: each is obeyed, is a hint that changes nothing, or is
//! refused.
//!
//! What reaches the C compiler is listed in `decls::attribute_texts`; whatever there takes an
//! argument is checked here, for it is written into C. An attribute that changes what a type, a
//! symbol or a call means, and that MIR does not know, is refused: dropped, it would change the
//! program without a word; passed on, it would leave what was checked.

use crate::c_library::is_system_symbol;
use crate::checker::Checker;
use crate::codes;
use crate::specs::{Declared, Place};
use crate::types::*;
use source::Span;
use syntax::ast;

/// Attributes that change what a type is or how a function is called, and that MIR cannot express.
pub(crate) const NOT_EXPRESSED: &[&str] = &[
    "vector_size",
    "ext_vector_type",
    "neon_vector_type",
    "scalar_storage_order",
    "ms_struct",
    "address_space",
    "ms_abi",
    "regparm",
    "fastcall",
    "stdcall",
    "thiscall",
    "naked",
    "interrupt",
    "overloadable",
    "vector_pcs",
    "aarch64_vector_pcs",
];

/// Attributes that are refused in Leeward's code, each with what to do.
const REFUSED: &[(&str, &str)] = &[
    ("alias", "write a function that calls the other one"),
    ("ifunc", "choose with an `if` in the function, or a pointer to a function"),
    ("weakref", "declare the function in `extern \"C\"`"),
    ("symver", "leave it out"),
    ("copy", "write the attributes out"),
    ("weak", "leave it out: what is checked here cannot be replaced by another file's definition"),
    ("cleanup", "write `defer f(&x);` behind the declaration"),
    ("mode", "write the type of that size, such as `int64_t`"),
    ("noinit", "leave it out: all variables begin as zero"),
    ("persistent", "leave it out"),
    ("sysv_abi", "leave it out"),
    ("pcs", "leave it out"),
    ("preserve_most", "leave it out"),
    ("preserve_all", "leave it out"),
    ("swiftcall", "leave it out"),
    ("vectorcall", "leave it out"),
];

/// Pragmas that change what declarations mean, and that would be lost in emitted C.
const REFUSED_PRAGMAS: &[(&str, &str)] = &[
    ("scalar_storage_order", "keep what needs it in a `.c` file"),
    ("ms_struct", "keep what needs it in a `.c` file"),
    ("weak", "leave it out: what is checked here cannot be replaced by another file's definition"),
    ("redefine_extname", "give C's function its name by `__asm__(\"name\")` at a declaration in `extern \"C\"`"),
];

/// What a declaration that carries attributes declares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Function,
    Constant,
    Variable,
}

impl Checker<'_> {
    /// Reports attributes that would be lost, wherever they stand. `mode` is one, unless a typedef
    /// has it.
    pub(crate) fn refuse_attributes(&mut self, attrs: &[ast::Attribute]) {
        for attr in attrs {
            let name = attr.name.as_str();
            let unknown = NOT_EXPRESSED.contains(&name);
            if self.options.plain_c {
                if unknown || name == "mode" {
                    self.error(codes::LATER, attr.span, format!("the attribute `{name}` is not built"));
                    return;
                }
                continue;
            }
            if self.map.is_system(attr.span.lo) || is_lee(attr) {
                continue;
            }
            let help = REFUSED.iter().find(|(refused, _)| *refused == name).map(|(_, help)| *help);
            if let Some(help) = help.or(unknown.then_some("keep what needs it in a `.c` file")) {
                let message =
                    format!("the attribute `{name}` is not in Leeward: it changes what the declaration means");
                self.error_help(codes::DECLARATION, attr.span, message, help);
            }
        }
    }

    /// Reports pragmas of Leeward's own files that would be lost. In plain C the file goes to the C
    /// compiler.
    pub(crate) fn refuse_pragmas(&mut self) {
        if self.options.plain_c {
            return;
        }
        let mut offset = 0;
        for line in self.map.text.split_inclusive('\n') {
            let at = offset;
            offset += line.len() as u32;
            let Some(rest) = line.strip_prefix("#pragma") else { continue };
            let rest = rest.trim_start();
            let word = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            let Some((_, help)) = REFUSED_PRAGMAS.iter().find(|(name, _)| *name == word) else { continue };
            if !self.map.is_system(at) {
                let message = format!("`#pragma {word}` is not in Leeward: it changes what declarations mean");
                let span = Span::new(at, at + line.trim_end().len() as u32);
                self.error_help(codes::DECLARATION, span, message, *help);
            }
        }
    }

    /// Reports what a function's or a variable's attributes must not say.
    pub(crate) fn check_attributes(
        &mut self,
        declared: &Declared,
        specs: &ast::DeclSpecs,
        declarator: &ast::Declarator,
    ) {
        if self.options.plain_c {
            return;
        }
        let mut ty = declared.ty;
        while let TyKind::Array { elem, .. } = self.kind(ty.ty) {
            ty = *elem;
        }
        let carrier = match self.kind(ty.ty) {
            TyKind::Func(_) => Carrier::Function,
            _ if ty.quals.is_const && !ty.quals.is_volatile && !ty.quals.is_atomic => Carrier::Constant,
            _ => Carrier::Variable,
        };
        // The linker writes the addresses in a constant before the program begins: it is not where
        // other constants are.
        let addresses = carrier == Carrier::Constant && !self.program.types.is_plain(ty.ty);
        let attrs: Vec<&ast::Attribute> = specs.attrs.iter().chain(&declarator.attrs).collect();
        for attr in attrs {
            if self.map.is_system(attr.span.lo) {
                continue;
            }
            match attr.name.as_str() {
                "reentrant" if is_lee(attr) && carrier != Carrier::Function => {
                    let message =
                        "`lee::reentrant` says that a C function may be called in every process; this is a variable";
                    self.error_help(
                        codes::DECLARATION,
                        attr.span,
                        message,
                        "write it at the declaration of the function",
                    );
                }
                "section" => {
                    if addresses {
                        let message = "only a constant of plain numbers has a section of its own";
                        self.error_help(codes::DECLARATION, attr.span, message, "leave the attribute out");
                    } else {
                        self.check_section(attr, carrier, specs.thread_local);
                    }
                }
                "visibility" => {
                    let known = ["default", "hidden", "internal", "protected"];
                    if !string_argument(attr).is_some_and(|s| known.contains(&s.as_str())) {
                        let message = "a visibility is `default`, `hidden`, `internal` or `protected`";
                        self.error(codes::DECLARATION, attr.span, message);
                    }
                }
                "constructor" | "destructor" => self.check_constructor(attr, declared),
                _ => {}
            }
        }
    }

    /// Whether the declaration of a function says `[[lee::reentrant]]`, which is a promise about code
    /// that Leeward did not compile.
    pub(crate) fn is_reentrant(
        &mut self,
        specs: &ast::DeclSpecs,
        declarator: &ast::Declarator,
        place: Place,
        defined: bool,
    ) -> bool {
        let mut attrs = specs.attrs.iter().chain(&declarator.attrs);
        let Some(attr) = attrs.find(|attr| is_lee(attr) && attr.name.as_str() == "reentrant") else { return false };
        let of_c = self.options.plain_c || place.trusted || place.foreign;
        if of_c && !defined {
            return true;
        }
        if !self.options.plain_c && !self.map.is_system(attr.span.lo) {
            let message = "`lee::reentrant` is a promise about a function that Leeward does not compile: each process \
                           has variables of its own for this one";
            let help = match of_c {
                true => "leave the attribute out",
                false => "leave the attribute out, or declare C's function `trusted` or in `extern \"C\"`",
            };
            self.error_help(codes::DECLARATION, attr.span, message, help);
        }
        false
    }

    /// A section is one for data or code of that kind, so that nobody runs data or writes what must
    /// not change.
    fn check_section(&mut self, attr: &ast::Attribute, carrier: Carrier, thread_local: bool) {
        let lead = match carrier {
            Carrier::Function => ".text.",
            Carrier::Constant => ".rodata.",
            Carrier::Variable => ".data.",
        };
        let named = |name: String| {
            let rest = name.strip_prefix(lead)?;
            let good = !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            good.then_some(())
        };
        if thread_local || string_argument(attr).and_then(named).is_none() {
            let what = match carrier {
                Carrier::Function => "a function",
                Carrier::Constant => "a constant",
                Carrier::Variable => "a variable",
            };
            let message = format!("{what} may only be put into a section `{lead}NAME`, with letters, digits and `_`");
            let help = match thread_local {
                true => "leave the section of a `thread_local` variable out".to_string(),
                false => format!("write `section(\"{lead}NAME\")`, or leave it out"),
            };
            self.error_help(codes::DECLARATION, attr.span, message, help);
        }
    }

    /// A constructor is called without arguments, and nobody takes what it returns.
    fn check_constructor(&mut self, attr: &ast::Attribute, declared: &Declared) {
        let Some(f) = self.program.types.as_func(declared.ty.ty) else {
            return self.error(codes::DECLARATION, attr.span, format!("only a function is a {}", attr.name));
        };
        if !f.params.is_empty() || f.variadic || !matches!(self.kind(f.ret), TyKind::Void) {
            let message = format!("a {} takes no parameters and returns nothing", attr.name);
            self.error_help(codes::DECLARATION, attr.span, message, "write `void f(void)`");
        }
        let priority = attr.args.first().map(|e| (e.span, self.try_constant_int(e)));
        match priority {
            Some((span, n)) if !n.is_some_and(|n| (101..=65535).contains(&n)) => {
                self.error(codes::DECLARATION, span, "a priority is a constant from 101 to 65535");
            }
            _ => {}
        }
    }

    /// An `asm` name gives a declaration to C. What Leeward defines, or takes from another file of
    /// Leeward, has its own.
    pub(crate) fn check_asm_label(&mut self, declarator: &ast::Declarator, checked: bool, defined: bool) {
        let (Some(label), Some(name)) = (&declarator.asm_label, declarator.name) else { return };
        if self.options.plain_c || self.map.is_system(name.span.lo) {
            return;
        }
        let good = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b'@');
        if label.is_empty() || !label.iter().all(good) {
            let message = "an `asm` name is made of letters, digits, `_`, `.`, `$` and `@`";
            self.error(codes::DECLARATION, name.span, message);
        } else if checked || defined {
            self.error_help(
                codes::DECLARATION,
                name.span,
                format!("`{}` is Leeward's own: an `asm` name is for what C defines", name.name),
                "leave it out, or declare C's function `trusted` or in `extern \"C\"`",
            );
        }
    }

    /// What is defined for C to use by its name must not take the name of something that C or the
    /// runtime already has.
    pub(crate) fn check_exported_name(&mut self, name: ast::Ident) {
        if !self.options.plain_c && !self.map.is_system(name.span.lo) && is_system_symbol(name.name.as_str()) {
            self.exported_name_error(name.name.as_str(), name.span);
        }
    }

    fn exported_name_error(&mut self, name: &str, span: Span) {
        self.error_help(
            codes::DECLARATION,
            span,
            format!("`{name}` is a name of the C library or the runtime: a definition for C would take its place"),
            "choose another name, or define it outside `extern \"C\"`",
        );
    }
}

fn is_lee(attr: &ast::Attribute) -> bool {
    attr.namespace.is_some_and(|namespace| namespace.as_str() == "lee")
}

fn string_argument(attr: &ast::Attribute) -> Option<String> {
    let [ast::Expr { kind: ast::ExprKind::Str(s), .. }] = attr.args.as_slice() else { return None };
    s.units.iter().map(|&u| char::from_u32(u)).collect()
}
