//! A module's interface as a header that C and Leeward read: its external functions and variables,
//! and the types that these need.
//!
//! Where both would write the same there is one declaration, in Leeward's words, which the header
//! defines away for C. Where C sees other words (a `fat` pointer is three) each has its own, under
//! `#ifdef __LEEWARD__`.

mod words;

use crate::ctype::{members, suffixes, CTypes, Consts};
use mir::ir::Program;
use rustc_hash::FxHashSet;
use source::{SourceMap, Span, Symbol};
use std::fmt::Write;
use typing::c_library::{is_system_symbol, own_symbol};
use typing::tree::{Function, Global, Linkage, Trust};
use typing::types::*;
use words::Siblings;

/// The words that C does not know.
const WORDS: &[&str] = &["counted_by(e)", "fat", "nonnull", "null_terminated"];

/// Where a type is declared.
enum Origin {
    /// In the module: the header defines it.
    Own,
    /// In an interface of Leeward's, or a header of its library: C gets a definition of its own, or
    /// none.
    Leeward(String),
    /// In a header of C's.
    C(String),
}

struct Header<'a> {
    program: &'a Program,
    types: &'a TypeStore,
    map: &'a SourceMap,
    /// The module's file, as its line markers name it.
    file: &'a str,
    c: CTypes<'a>,
    seen: FxHashSet<Ty>,
    /// In an order that C accepts.
    records: Vec<RecordId>,
    enums: Vec<EnumId>,
    includes: Vec<String>,
    /// Includes for Leeward alone.
    own_includes: Vec<String>,
}

/// The header of the module that `source_name` is.
pub fn header(program: &Program, map: &SourceMap, source_name: &str) -> String {
    let mut header = Header {
        program,
        types: &program.types,
        map,
        file: source_name,
        c: CTypes::new(&program.types),
        seen: FxHashSet::default(),
        records: vec![],
        enums: vec![],
        includes: vec![],
        own_includes: vec![],
    };
    header.write()
}

impl Header<'_> {
    fn write(&mut self) -> String {
        let defined: FxHashSet<u32> = self.program.bodies.iter().map(|b| b.func.func.0).collect();
        let mut left_out: Vec<String> = vec![];
        let mut functions: Vec<&Function> = vec![];
        for (n, f) in self.program.functions.iter().enumerate() {
            let exported = defined.contains(&(n as u32)) && f.linkage == Linkage::External && f.name.as_str() != "main";
            if !exported || !self.is_own(f.span) {
                continue;
            }
            if f.type_params > 0 || self.is_generic(f.ty, 0) {
                left_out.push(f.name.to_string());
            } else {
                functions.push(f);
            }
        }
        let own = |g: &&Global| {
            g.init.is_some() && g.linkage == Linkage::External && g.owner.is_none() && self.is_own(g.span)
        };
        let globals: Vec<&Global> = self.program.globals.iter().filter(own).collect();
        let globals: Vec<&Global> = globals.into_iter().filter(|g| !self.is_generic(g.ty.ty, 0)).collect();
        for f in &functions {
            self.visit(f.ty, true);
        }
        for global in &globals {
            self.visit(global.ty.ty, true);
        }
        let mut body = String::new();
        self.definitions(&mut body);
        for global in globals {
            self.global(global, &mut body);
        }
        for f in functions {
            self.function(f, &mut body);
        }
        if !left_out.is_empty() {
            let _ = writeln!(body, "\n/* With parameters that C does not know: {}. */", left_out.join(", "));
        }
        self.around(&body)
    }

    /// The guard, what is included, and the words.
    fn around(&mut self, body: &str) -> String {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        let stem: String = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_uppercase();
        let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let guard = format!("{}_H", stem.chars().map(letters).collect::<String>());
        // A name does not begin with a digit.
        let guard = if guard.starts_with(|c: char| c.is_ascii_digit()) { format!("LEE_{guard}") } else { guard };
        let mut out = format!(
            "/* The interface of {}, for C and for Leeward: written by `lee build --emit header`. */\n\
             #ifndef {guard}\n#define {guard}\n\n#include <stdarg.h>\n#include <stdbool.h>\n#include <stddef.h>\n",
            name.replace("*/", "* /")
        );
        for include in &self.includes {
            let _ = writeln!(out, "#include {include}");
        }
        if !self.own_includes.is_empty() {
            out.push_str("#ifdef __LEEWARD__\n");
            for include in &self.own_includes {
                let _ = writeln!(out, "#include {include}");
            }
            out.push_str("#endif\n");
        }
        let used: Vec<&str> = WORDS.iter().copied().filter(|word| mentions(body, word)).collect();
        if !used.is_empty() {
            // <lee/compat.h> may have been there before.
            let _ = writeln!(out, "\n#if !defined __LEEWARD__ && !defined LEE_COMPAT_H\n#define {guard}_WORDS");
            for word in &used {
                let _ = writeln!(out, "#define {word}");
            }
            out.push_str("#endif\n");
        }
        out.push_str(body);
        if !used.is_empty() {
            let _ = writeln!(out, "\n#ifdef {guard}_WORDS\n#undef {guard}_WORDS");
            for word in &used {
                let _ = writeln!(out, "#undef {}", word.split('(').next().unwrap_or(word));
            }
            out.push_str("#endif\n");
        }
        out.push_str("\n#endif\n");
        out
    }

    // ---- what is needed ----

    fn is_own(&self, span: Span) -> bool {
        self.map.file_at(span.lo) == self.file
    }

    fn origin(&self, span: Span) -> Origin {
        let place = self.map.locate(span);
        // The line in the module that leads there.
        let include = place.included_from.iter().rev().find(|(file, _)| file == self.file);
        let line = include.and_then(|(file, line)| self.map.source_line(file, *line));
        let name = line.as_deref().and_then(|l| l.split_once("include")).map(|(_, name)| name.trim().to_string());
        let Some(name) = name.filter(|n| n.starts_with(['<', '"'])) else { return Origin::Own };
        let end = if name.starts_with('<') { '>' } else { '"' };
        let name = name
            .get(1..)
            .and_then(|n| n.split(end).next())
            .map_or(name.clone(), |inner| format!("{}{inner}{end}", if end == '>' { '<' } else { '"' }));
        let library = self.map.is_system(span.lo) && !place.file.starts_with("/usr/");
        if library || place.file.ends_with(".lh") {
            Origin::Leeward(name)
        } else {
            Origin::C(name)
        }
    }

    /// Whether a generic's instance, which C has no name for, is part of the type.
    fn is_generic(&self, ty: Ty, depth: u32) -> bool {
        if depth > 8 {
            return false;
        }
        match self.types.kind(ty) {
            TyKind::Ptr(p) => matches!(p.own, Own::Param(_)) || self.is_generic(p.target.ty, depth + 1),
            TyKind::Array { elem, .. } => self.is_generic(elem.ty, depth + 1),
            TyKind::Func(f) => {
                self.is_generic(f.ret, depth + 1) || f.params.iter().any(|p| self.is_generic(p.ty, depth + 1))
            }
            TyKind::Record(id) => {
                let record = self.types.record(*id);
                let inside = |f: &Field| self.is_generic(f.ty.ty, depth + 1);
                !record.args.is_empty() || record.fields.as_ref().is_some_and(|f| f.iter().any(inside))
            }
            TyKind::Param(_) | TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => true,
            TyKind::RegionArg(_) | TyKind::OwnArg(_) => true,
            _ => false,
        }
    }

    /// Notes the records and enumerations of a type, those that are held by value first.
    fn visit(&mut self, ty: Ty, outer: bool) {
        if !self.seen.insert(ty) {
            return;
        }
        match self.types.kind(ty).clone() {
            TyKind::Ptr(p) => self.visit(p.target.ty, outer),
            TyKind::Array { elem, .. } => self.visit(elem.ty, outer),
            TyKind::Func(f) => {
                self.visit(f.ret, outer);
                for param in &f.params {
                    self.visit(param.ty, outer);
                }
            }
            TyKind::Enum(id) => {
                let span = self.types.enumeration(id).span;
                match self.origin(span) {
                    Origin::Own => self.enums.push(id),
                    Origin::Leeward(name) => {
                        self.own_include(name);
                        self.enums.push(id);
                    }
                    Origin::C(name) => self.include(name),
                }
            }
            TyKind::Record(id) => self.visit_record(id, outer),
            _ => {}
        }
    }

    fn visit_record(&mut self, id: RecordId, outer: bool) {
        let record = self.types.record(id);
        let fields = record.fields.clone();
        let define = match self.origin(record.span) {
            Origin::Own => true,
            Origin::Leeward(name) => {
                let system = self.map.is_system(record.span.lo);
                self.own_include(name);
                !system
            }
            Origin::C(name) => {
                self.include(name);
                return;
            }
        };
        if record.tag.is_some() {
            self.c.record_text(id);
        }
        let Some(fields) = fields.filter(|_| define) else { return };
        // By value first, then what is pointed to: that may come later.
        for field in fields.iter() {
            let mut ty = field.ty.ty;
            while let TyKind::Array { elem, .. } = self.types.kind(ty) {
                ty = elem.ty;
            }
            if !matches!(self.types.kind(ty), TyKind::Ptr(_)) {
                self.visit(ty, outer);
            }
        }
        if record.tag.is_some() {
            self.records.push(id);
        }
        for field in fields.iter() {
            self.visit(field.ty.ty, false);
        }
    }

    fn include(&mut self, name: String) {
        if !self.includes.contains(&name) {
            self.includes.push(name);
        }
    }

    fn own_include(&mut self, name: String) {
        if !self.own_includes.contains(&name) {
            self.own_includes.push(name);
        }
    }

    // ---- whether C and Leeward write the same ----

    fn is_shared(&self, ty: Ty) -> bool {
        match self.types.kind(ty) {
            TyKind::Ptr(p) => {
                let plain = p.own == Own::Shared && p.region != Region::Exchange;
                plain && self.types.words(ty) == 1 && self.is_shared(p.target.ty)
            }
            TyKind::Array { elem, .. } => self.is_shared(elem.ty),
            TyKind::Func(f) => {
                let plain = f.into.is_none()
                    && f.end_into.is_none()
                    && f.copies.is_none()
                    && f.fills.is_none()
                    && f.terminates.is_none()
                    && f.cuts.is_none();
                let params =
                    f.params.iter().all(|p| self.is_shared(p.ty) && !p.optional && !words::heap_word(self.types, p.ty));
                plain && params && self.is_shared(f.ret)
            }
            TyKind::Record(id) => {
                let record = self.types.record(*id);
                match record.tag {
                    Some(_) => record.kind != RecordKind::Tagged,
                    None => self.fields_are_shared(record),
                }
            }
            TyKind::Enum(id) => self.is_natural(*id),
            TyKind::NullPtr => false,
            _ => true,
        }
    }

    fn fields_are_shared(&self, record: &Record) -> bool {
        let same = |f: &Field| f.tagged_by.is_none() && self.is_shared(f.ty.ty);
        record.kind != RecordKind::Tagged && record.fields.as_ref().is_some_and(|f| f.iter().all(same))
    }

    /// Whether C gives the enumeration the type that it has here.
    fn is_natural(&self, id: EnumId) -> bool {
        let e = self.types.enumeration(id);
        let negative = e.items.iter().any(|(_, v)| *v < 0);
        e.tag.is_some() && e.complete && e.underlying == if negative { IntKind::Int } else { IntKind::UInt }
    }

    // ---- writing ----

    fn definitions(&mut self, out: &mut String) {
        for id in self.enums.clone() {
            let e = self.types.enumeration(id);
            let attributes = |name: &Symbol| match e.attrs.iter().find(|(n, texts)| n == name && !texts.is_empty()) {
                Some((_, texts)) => format!(" __attribute__(({}))", texts.join(", ")),
                None => String::new(),
            };
            let item = |(name, value): &(Symbol, i128)| format!("    {name}{} = {value},\n", attributes(name));
            let items: Vec<String> = e.items.iter().map(item).collect();
            let tag = e.tag.map_or(String::new(), |tag| format!(" {tag}"));
            let text = format!("{}enum{tag} {{\n{}}};\n", self.comment(e.span), items.concat());
            let (own, natural) = (self.is_own(e.span), self.is_natural(id));
            let lee =
                if natural { text.clone() } else { text.replacen(" {", &format!(" : {} {{", e.underlying.name()), 1) };
            // Where the type differs, C has the constants.
            let c = if natural { text.clone() } else { text.replacen(&format!("enum{tag}"), "enum", 1) };
            self.guarded(own, &tag, &lee, &c, out);
        }
        // Fat pointers in memory are known once all that holds one is written.
        let mut rest = String::new();
        for id in self.records.clone() {
            self.record(id, &mut rest);
        }
        let mentioned = self.c.mentioned.clone();
        let mut forward: Vec<String> =
            mentioned.into_iter().map(|id| format!("{};\n", self.c.record_text(id))).collect();
        forward.push("struct lee_type;\n".into());
        let _ = write!(out, "\n#ifndef __LEEWARD__\n{}#endif\n", forward.concat());
        for fat in &self.c.fats {
            let pointer = |word: &str| match self.types.kind(fat.target.ty) {
                TyKind::Array { .. } | TyKind::Func(_) => format!("(*{word})"),
                _ => format!("*{word}"),
            };
            let mut c = CTypes::new(self.types);
            let words: Vec<String> = members(3)
                .iter()
                .map(|word| format!("{};", c.object(fat.target, &pointer(word), Consts::Keep)))
                .collect();
            let name = &fat.name;
            let _ = writeln!(
                out,
                "\n#if !defined __LEEWARD__ && !defined LEE_HAS_{name}\n#define LEE_HAS_{name}\nstruct {name} {{ {} }};\n#endif",
                words.join(" ")
            );
        }
        if self.c.any_used {
            out.push_str("\n#if !defined __LEEWARD__ && !defined LEE_HAS_lee__any\n#define LEE_HAS_lee__any\n");
            out.push_str("struct lee__any { void *p; const struct lee_type *ty; };\n#endif\n");
        }
        out.push_str(&rest);
    }

    fn record(&mut self, id: RecordId, out: &mut String) {
        let record = self.types.record(id);
        let span = record.span;
        let comment = self.comment(span);
        let head = words::base(self.types, &TyKind::Record(id));
        let mut lee = format!("{comment}{head} {};\n", words::body(self.types, record));
        let unnamed =
            self.map.snippet(span).trim_start_matches(|c: char| c.is_alphanumeric()).trim_start().starts_with('{');
        if let Some(tag) = record.tag.filter(|_| unnamed) {
            let _ = writeln!(lee, "typedef {head} {tag};");
        }
        let c = if self.fields_are_shared(record) { lee.clone() } else { self.c_record(id, &comment) };
        let (lee, own) = (if record.foreign { format!("extern \"C\" {{\n{lee}}}\n") } else { lee }, self.is_own(span));
        self.guarded(own, &format!(" {head}"), &lee, &c, out);
    }

    fn c_record(&mut self, id: RecordId, comment: &str) -> String {
        let head = self.c.record_text(id);
        format!("{comment}{head} {};\n", self.c_body(id))
    }

    /// `{ members }` as C has them: several words for some, and the tag of a tagged union in front.
    fn c_body(&mut self, id: RecordId) -> String {
        let record = self.types.record(id);
        let fields = record.fields.clone().unwrap_or_default();
        let lines: String =
            fields.iter().map(|f| format!("    {}\n", self.c_field(f, record.kind).replace('\n', "\n    "))).collect();
        let mut text = match record.kind {
            RecordKind::Tagged => {
                format!("{{\n    unsigned tag;\n    union {{\n    {}}} u;\n}}", lines.replace('\n', "\n    "))
            }
            _ => format!("{{\n{lines}}}"),
        };
        text.push_str(&words::layout_attributes(record));
        text
    }

    fn c_field(&mut self, field: &Field, around: RecordKind) -> String {
        let name = field.name.map_or("", |name| name.as_str());
        let mut more = field.width.map_or(String::new(), |width| format!(" : {width}"));
        if let Some(align) = field.align {
            more.push_str(&format!(" __attribute__((aligned({align})))"));
        }
        if let Some(inner) = self.types.as_record(field.ty.ty).filter(|&id| self.types.record(id).tag.is_none()) {
            let word = if self.types.record(inner).kind == RecordKind::Union { "union" } else { "struct" };
            return format!("{};", format!("{word} {} {name}{more}", self.c_body(inner)).trim_end());
        }
        let count = self.types.words(field.ty.ty);
        if count == 1 {
            return format!("{}{more};", self.c.object(field.ty, name, Consts::Keep));
        }
        let mut out = format!("{};", self.c.word(field.ty, 0, name, Consts::Keep));
        for (n, suffix) in suffixes(count).iter().enumerate() {
            let _ = write!(out, " {};", self.c.word(field.ty, n + 1, &format!("{name}{suffix}"), Consts::Keep));
        }
        // In a union the words would overlie each other.
        if around == RecordKind::Struct {
            out
        } else {
            format!("struct {{ {out} }};")
        }
    }

    /// A definition, once or for each language. What an interface defines, Leeward gets from there.
    fn guarded(&mut self, own: bool, name: &str, lee: &str, c: &str, out: &mut String) {
        out.push('\n');
        if own && lee == c {
            out.push_str(lee);
        } else if own {
            let _ = write!(out, "#ifdef __LEEWARD__\n{lee}#else\n{c}#endif\n");
        } else {
            let name: String = name.trim().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            let _ =
                write!(out, "#if !defined __LEEWARD__ && !defined LEE_HAS_{name}\n#define LEE_HAS_{name}\n{c}#endif\n");
        }
    }

    fn global(&mut self, global: &Global, out: &mut String) {
        let name = global.name.as_str();
        let label = label(global.name, global.symbol, global.trust);
        let comment = self.comment(global.span);
        let thread = if global.thread_local { "_Thread_local " } else { "" };
        let lee = words::declaration(self.types, global.ty, name, Siblings::None);
        let lee = format!("{comment}extern {thread}{lee}{label};\n");
        let c = if self.is_shared(global.ty.ty) {
            lee.clone()
        } else {
            format!("{comment}extern {thread}{}{label};\n", self.c.object(global.ty, name, Consts::Keep))
        };
        self.guarded(true, name, &lee, &c, out);
    }

    fn function(&mut self, f: &Function, out: &mut String) {
        let Some(ty) = self.types.as_func(f.ty) else { return };
        let names: Vec<Option<Symbol>> =
            (0..ty.params.len()).map(|n| f.param_names.get(n).copied().flatten().or(Some(unnamed(n)))).collect();
        let (shared, own) = words::attributes(&ty, &names);
        let label = label(f.name, f.symbol, f.trust);
        let comment = self.comment(f.span);
        let lee = words::function(self.types, &ty, f.name.as_str(), &names);
        // Regions have no words that C could be told to forget.
        let same = self.is_shared(f.ty) && !lee.contains('@');
        // C's calling convention, behind which stands checked code.
        let exported = f.trust == Trust::Exported;
        let trusted = if exported { "trusted " } else { "" };
        let c_alike = format!("{comment}{lee}{label}{shared};\n");
        let lee = format!("{comment}{own}{trusted}{lee}{label}{shared};\n");
        let c = if same {
            c_alike
        } else {
            let split = |n: usize, p: &ParamTy| {
                let name = names.get(n).copied().flatten().map_or("", |s| s.as_str());
                let more = suffixes(self.types.words(p.ty)).iter().map(|suffix| format!("{name}{suffix}"));
                [name.to_string()].into_iter().chain(more).collect::<Vec<String>>()
            };
            let split: Vec<Vec<String>> = ty.params.iter().enumerate().map(|(n, p)| split(n, p)).collect();
            let params = self.c.params(&ty, Some(&split), Consts::Keep);
            let head = self.c.word(Qty::plain(ty.ret), 0, &format!("{}({params})", f.name), Consts::Keep);
            format!("{comment}{head}{label}{shared};\n")
        };
        self.guarded(true, f.name.as_str(), &lee, &c, out);
    }

    /// The comment that stands directly above a declaration.
    fn comment(&self, span: Span) -> String {
        let place = self.map.locate(span);
        let line_at = |n: u32| self.map.source_line(&place.file, n).map(|l| l.trim().to_string());
        let mut lines: Vec<String> = vec![];
        let mut at = place.line.saturating_sub(1);
        let block = line_at(at).is_some_and(|l| l.ends_with("*/"));
        while at > 0 && lines.len() < 60 {
            let Some(line) = line_at(at) else { break };
            if block {
                let begins = line.starts_with("/*");
                lines.push(line);
                if begins {
                    break;
                }
            } else if line.starts_with("//") {
                lines.push(line);
            } else {
                break;
            }
            at -= 1;
        }
        if block && !lines.last().is_some_and(|l| l.starts_with("/*")) {
            return String::new();
        }
        let blank = |l: &String| if l.starts_with('*') { format!(" {l}\n") } else { format!("{l}\n") };
        lines.iter().rev().map(blank).collect()
    }
}

/// A name for a parameter that has none.
fn unnamed(n: usize) -> Symbol {
    Symbol::new(&format!("p{}", n + 1))
}

fn label(name: Symbol, symbol: Option<Symbol>, trust: Trust) -> String {
    match symbol {
        Some(symbol) => format!(" __asm__(\"{symbol}\")"),
        None if trust == Trust::Checked && is_system_symbol(name.as_str()) => {
            format!(" __asm__(\"{}\")", own_symbol(name.as_str()))
        }
        None => String::new(),
    }
}

/// Whether the text has the word, by itself.
fn mentions(text: &str, word: &str) -> bool {
    let word = word.split('(').next().unwrap_or(word);
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|part| part == word)
}
