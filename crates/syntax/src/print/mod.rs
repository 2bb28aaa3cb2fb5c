//! `--emit ast`: the tree as indented text. Items and statements have a line each; types read from
//! the name outwards; expressions are in prefix form.

mod channel;
mod expression;
mod types;

use crate::ast::*;
use expression::{expr, init, init_items};
use std::fmt::Write;
use types::{attributes, declared, generics, specs_extra};

/// The whole unit as text.
pub fn print(unit: &Unit) -> String {
    let mut out = Printer { text: String::new(), indent: 0 };
    for item in &unit.items {
        out.item(item);
    }
    out.text
}

/// Only the items that are Leeward's own: what a person wants to see of a file that includes
/// headers.
pub fn print_own(unit: &Unit) -> String {
    let mut out = Printer { text: String::new(), indent: 0 };
    for item in unit.items.iter().filter(|item| item.origin == Origin::Leeward) {
        out.item(item);
    }
    out.text
}

struct Printer {
    text: String,
    indent: usize,
}

impl Printer {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.text, "{:1$}{2}", "", self.indent * 2, text.as_ref());
    }

    fn nested(&mut self, body: impl FnOnce(&mut Self)) {
        self.indent += 1;
        body(self);
        self.indent -= 1;
    }

    fn item(&mut self, item: &Item) {
        let foreign = if item.origin == Origin::Foreign { "foreign " } else { "" };
        match &item.kind {
            ItemKind::Decl(decl) => self.decl(foreign, decl),
            ItemKind::Function(function) => self.function(foreign, function),
            ItemKind::StaticAssert(assert) => self.static_assert(assert),
            ItemKind::Asm(text) => self.line(format!("asm {:?}", String::from_utf8_lossy(text))),
            ItemKind::Contract(contract) => self.contract(contract),
        }
    }

    fn static_assert(&mut self, assert: &StaticAssert) {
        let message = assert.message.as_ref().map_or(String::new(), |m| format!(" {:?}", String::from_utf8_lossy(m)));
        self.line(format!("static_assert {}{message}", expr(&assert.condition)));
    }

    fn prefix(foreign: &str, trusted: bool, given: &Option<Generics>) -> String {
        let trusted = if trusted { "trusted " } else { "" };
        let generic = given.as_ref().map_or(String::new(), |g| format!("{} ", generics(g)));
        format!("{foreign}{trusted}{generic}")
    }

    fn decl(&mut self, foreign: &str, decl: &Decl) {
        let prefix = Self::prefix(foreign, decl.trusted, &decl.generics);
        if decl.declarators.is_empty() {
            self.line(format!("{prefix}declare {}{}", specs_extra(&decl.specs), types::base(&decl.specs)));
            self.members(&decl.specs);
            return;
        }
        for (index, one) in decl.declarators.iter().enumerate() {
            let what = match decl.specs.storage {
                Some(Storage::Typedef) => "typedef",
                _ => "declare",
            };
            let init = one.init.as_ref().map_or(String::new(), |i| format!(" = {}", init(i)));
            let extra = specs_extra(&decl.specs);
            self.line(format!("{prefix}{what} {extra}{}{init}", declared(&decl.specs, &one.declarator)));
            if index == 0 {
                self.members(&decl.specs);
            }
        }
    }

    /// Members of a record or enumerators that the specifiers define.
    fn members(&mut self, specs: &DeclSpecs) {
        match &specs.ty {
            TypeSpec::Record(record) => {
                let fields = record.fields.iter().flatten();
                self.nested(|p| fields.for_each(|field| p.field(field)));
            }
            TypeSpec::Enum(enumeration) => {
                let items = enumeration.items.iter().flatten();
                self.nested(|p| {
                    for Enumerator { name, value, attrs } in items {
                        let value = value.as_ref().map_or(String::new(), |v| format!(" = {}", expr(v)));
                        let attrs = if attrs.is_empty() { String::new() } else { format!(" {}", attributes(attrs)) };
                        p.line(format!("enumerator {}{attrs}{value}", name.name));
                    }
                });
            }
            _ => {}
        }
    }

    fn field(&mut self, item: &FieldItem) {
        match item {
            FieldItem::StaticAssert(assert) => self.static_assert(assert),
            FieldItem::Exists { name, by } => {
                let by = by.map_or(String::new(), |r| format!(" outlived by @{}", r.name));
                self.line(format!("exists @{}{by}", name.name));
            }
            FieldItem::Fields(decl) => {
                if decl.fields.is_empty() {
                    self.line(format!("anonymous {}", types::base(&decl.specs)));
                    self.members(&decl.specs);
                }
                for (index, field) in decl.fields.iter().enumerate() {
                    let width = field.width.as_ref().map_or(String::new(), |w| format!(" : {}", expr(w)));
                    let tagged = field.tagged_by.as_ref().map_or(String::new(), tagged_by);
                    self.line(format!("field {}{width}{tagged}", declared(&decl.specs, &field.declarator)));
                    if index == 0 {
                        self.members(&decl.specs);
                    }
                }
            }
        }
    }

    fn function(&mut self, foreign: &str, function: &FunctionDef) {
        let prefix = Self::prefix(foreign, function.trusted, &function.generics);
        let extra = specs_extra(&function.specs);
        self.line(format!("{prefix}function {extra}{}", declared(&function.specs, &function.declarator)));
        self.nested(|p| {
            for decl in &function.old_style {
                p.decl("old-style ", decl);
            }
            p.block(&function.body);
        });
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
    }

    fn body(&mut self, stmt: &Stmt) {
        self.nested(|p| p.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if !stmt.attrs.is_empty() {
            self.line(attributes(&stmt.attrs));
        }
        match &stmt.kind {
            StmtKind::Empty => self.line("empty"),
            StmtKind::Expr(e) => self.line(expr(e)),
            StmtKind::Decl(decl) => self.decl("", decl),
            StmtKind::Function(function) => self.function("nested ", function),
            StmtKind::StaticAssert(assert) => self.static_assert(assert),
            StmtKind::Block(block) => {
                self.line("block");
                self.nested(|p| p.block(block));
            }
            StmtKind::If { .. } => self.if_chain(stmt),
            StmtKind::While(cond, body) => {
                self.line(format!("while {}", expr(cond)));
                self.body(body);
            }
            StmtKind::DoWhile(body, cond) => {
                self.line("do");
                self.body(body);
                self.line(format!("while {}", expr(cond)));
            }
            StmtKind::For { init, cond, step, body } => {
                self.line("for");
                self.nested(|p| {
                    init.iter().for_each(|init| p.stmt(init));
                    cond.iter().for_each(|cond| p.line(format!("test {}", expr(cond))));
                    step.iter().for_each(|step| p.line(format!("step {}", expr(step))));
                    p.stmt(body);
                });
            }
            StmtKind::Switch(value, body) => {
                self.line(format!("switch {}", expr(value)));
                self.body(body);
            }
            StmtKind::Case(..) | StmtKind::CaseMember { .. } | StmtKind::Default(_) | StmtKind::Label(..) => {
                self.labels(stmt);
            }
            _ if self.channel_stmt(&stmt.kind) => {}
            _ => self.jump_or_special(&stmt.kind),
        }
    }

    fn jump_or_special(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Break => self.line("break"),
            StmtKind::Continue => self.line("continue"),
            StmtKind::Return(value) => {
                let value = value.as_ref().map_or(String::new(), |v| format!(" {}", expr(v)));
                self.line(format!("return{value}"));
            }
            StmtKind::Goto(label) => self.line(format!("goto {}", label.name)),
            StmtKind::GotoComputed(e) => self.line(format!("goto * {}", expr(e))),
            StmtKind::Defer(body) => {
                self.line("defer");
                self.body(body);
            }
            StmtKind::Unsafe(block) => {
                self.line("unsafe");
                self.nested(|p| p.block(block));
            }
            StmtKind::Swap(a, b) => self.line(format!("(:=: {} {})", expr(a), expr(b))),
            StmtKind::Asm(asm) => self.line(format!("asm {:?}", String::from_utf8_lossy(&asm.template))),
            StmtKind::Arena { reap, names } => {
                let names: Vec<&str> = names.iter().map(|n| n.name.as_str()).collect();
                self.line(format!("{} {}", handle_word(*reap), names.join(", ")));
            }
            StmtKind::Borrow(name, value) => self.line(format!("borrow {} = {}", name.name, expr(value))),
            StmtKind::Cursor(name, place) => self.line(format!("cursor {} = {}", name.name, expr(place))),
            StmtKind::Expose { name, value, body } => {
                let name = name.map_or(String::new(), |n| format!("{} = ", n.name));
                self.line(format!("expose {name}{}", expr(value)));
                self.nested(|p| p.stmt(body));
            }
            StmtKind::Open { reap, name, key } => {
                self.line(format!("open {} {} = {}", handle_word(*reap), name.name, expr(key)));
            }
            StmtKind::Unpack { place, regions, bindings } => {
                let regions = regions.iter().map(|r| format!("@{}", r.name));
                let bindings = bindings.iter().map(|(field, name)| format!("{}: {}", field.name, name.name));
                let all: Vec<String> = regions.chain(bindings).collect();
                self.line(format!("unpack {} as {{{}}}", expr(place), all.join(", ")));
            }
            _ => {}
        }
    }

    /// `else if` chains are as long as they like: a loop, not a recursion.
    fn if_chain(&mut self, stmt: &Stmt) {
        let mut word = "if";
        let mut next = stmt;
        while let StmtKind::If { cond, then, other } = &next.kind {
            self.line(format!("{word} {}", expr(cond)));
            self.body(then);
            match other {
                None => return,
                Some(other) => next = other,
            }
            word = "else if";
        }
        self.line("else");
        self.body(next);
    }

    fn labels(&mut self, stmt: &Stmt) {
        let mut next = stmt;
        loop {
            let body = match &next.kind {
                StmtKind::Case(first, None, body) => {
                    self.line(format!("case {}", expr(first)));
                    body
                }
                StmtKind::Case(first, Some(last), body) => {
                    self.line(format!("case {} ... {}", expr(first), expr(last)));
                    body
                }
                StmtKind::CaseMember { member, binding, body } => {
                    let binding = binding.map_or(String::new(), |b| format!("({})", b.name));
                    self.line(format!("case .{}{binding}", member.name));
                    body
                }
                StmtKind::Default(body) => {
                    self.line("default");
                    body
                }
                StmtKind::Label(name, body) => {
                    self.line(format!("label {}", name.name));
                    body
                }
                _ => break,
            };
            next = body;
        }
        self.body(next);
    }
}

fn handle_word(reap: bool) -> &'static str {
    if reap {
        "reap"
    } else {
        "arena"
    }
}

fn tagged_by(binding: &TaggedBy) -> String {
    let arms: Vec<String> =
        binding.arms.iter().map(|(value, name)| format!("{}: {}", expr(value), name.name)).collect();
    format!(" tagged_by({}) {{{}}}", binding.tag.name, arms.join(", "))
}

/// Braces around the elements of an initialiser.
fn braced(items: &[InitItem]) -> String {
    format!("{{{}}}", init_items(items))
}

/// A block inside an expression, on one line.
fn inline_block(block: &Block) -> String {
    let mut out = Printer { text: String::new(), indent: 0 };
    out.block(block);
    let lines: Vec<&str> = out.text.lines().map(str::trim).collect();
    format!("{{{}}}", lines.join("; "))
}
