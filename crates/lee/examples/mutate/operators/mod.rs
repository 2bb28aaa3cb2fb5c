//! The operators: each changes one thing of a program, as edits of its text.

mod expressions;
mod loans;
mod messages;
mod scenes;
mod statements;
mod variables;

use crate::edit::{replace, Edit};
use crate::rng::Random;
use crate::sites::{Class, Declared, Expression, Sites, Sort, Statement, Variable};
use source::Span;

/// An operator makes edits, or finds nothing to change.
pub type Operator = fn(&mut Draw) -> Option<Vec<Edit>>;

/// All operators by name.
pub const OPERATORS: &[(&str, Operator)] = &[
    ("replace", expressions::replace_expression),
    ("duplicate", statements::duplicate),
    ("copy-far", statements::copy_far),
    ("move", statements::move_statement),
    ("delete", statements::delete),
    ("exchange", statements::exchange),
    ("loop", statements::wrap_loop),
    ("branch", statements::wrap_branch),
    ("goto", statements::wrap_goto),
    ("defer", statements::wrap_defer),
    ("statement-expression", expressions::statement_expression),
    ("early-exit", statements::early_exit),
    ("choice", expressions::choice),
    ("comma", expressions::comma),
    ("field", variables::into_field),
    ("element", variables::into_element),
    ("member", variables::into_member),
    ("slot", variables::into_slot),
    ("object", variables::into_object),
    ("global", variables::into_global),
    ("outline", statements::outline),
    ("outline-address", statements::outline_address),
    ("borrow", loans::borrow),
    ("cursor", loans::cursor),
    ("alias", loans::alias),
    ("keep", loans::keep),
    ("identity", expressions::identity),
    ("through-struct", expressions::through_struct),
    ("through-pointer", expressions::through_function_pointer),
    ("address", expressions::address),
    ("integer", expressions::through_integer),
    ("qualifiers", variables::qualifiers),
    ("consume", variables::consume),
    ("outwards", variables::outwards),
    ("uninitialised", variables::uninitialised),
    ("free", loans::free),
    ("null", expressions::null),
    ("assign", expressions::assign),
    ("swap", expressions::swap),
    ("take", loans::take),
    ("stale", loans::stale),
    ("outlive", loans::outlive),
    ("kept", loans::kept),
    ("number", expressions::number),
    ("comparison", expressions::comparison),
    ("scene-moves", scenes::moves),
    ("scene-slots", scenes::slots),
    ("scene-loans", scenes::loans),
    ("scene-regions", scenes::regions),
    ("scene-facts", scenes::facts),
    ("scene-channels", messages::channels),
    ("scene-blocks", messages::blocks),
    ("scene-processes", messages::processes),
];

/// The text of all operators: whatever word one of them writes into a program stands here.
pub const SOURCES: [&str; 7] = [
    include_str!("expressions.rs"),
    include_str!("loans.rs"),
    include_str!("messages.rs"),
    include_str!("mod.rs"),
    include_str!("scenes.rs"),
    include_str!("statements.rs"),
    include_str!("variables.rs"),
];

/// What an operator draws from.
pub struct Draw<'a> {
    pub text: &'a str,
    pub sites: &'a Sites,
    pub random: &'a mut Random,
    /// Numbers for fresh names.
    pub fresh: u32,
    /// Declarations that the edits need, each once.
    pub needs: Vec<&'static str>,
}

/// 1 as the program runs; the analyses do not know.
const ONE: &str = "static int m_one = 1;\n";
const COUNT: &str = "static int m_count;\n";
const SAME: &str = "generic <T: move> static T m_same(consume T x) { return x; }\n";
const DROP: &str = "generic <T: move> static void m_drop(consume T *unique x) { free(x); }\n";
const COPY: &str = "generic <T> static T m_copy(T x) { return x; }\n";
const BOTH: &str = "generic <T: move, U> static U m_both(T *unique *s, U *p) { *s = nullptr; return *p; }\n";
const BOX: &str = "generic <T: move> struct m_box { T v; };\n\
    generic <T: move> static struct m_box<T> m_wrap(consume T x) { return (struct m_box<T>){ x }; }\n";

impl<'a> Draw<'a> {
    fn text(&self, span: Span) -> &'a str {
        &self.text[span.lo as usize..span.hi as usize]
    }

    /// Whether the text at a span is a part of what `whole` names, or follows it.
    fn is_part(&self, whole: &str, span: Span) -> bool {
        self.text(span).strip_prefix(whole).is_some_and(|rest| rest.starts_with(['-', '.', '[']))
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("m{}", self.fresh)
    }

    fn need(&mut self, declaration: &'static str) {
        if !self.needs.contains(&declaration) {
            self.needs.push(declaration);
        }
    }

    fn one<'b, T>(&mut self, from: &'b [T], wanted: impl Fn(&T) -> bool) -> Option<&'b T> {
        let found: Vec<&T> = from.iter().filter(|x| wanted(x)).collect();
        (!found.is_empty()).then(|| *self.random.pick(&found))
    }

    /// A statement that can be wrapped or moved.
    fn statement(&mut self) -> Option<&'a Statement> {
        self.one(&self.sites.statements, |s| matches!(s.sort, Sort::Expr | Sort::Other))
    }

    fn any_statement(&mut self) -> Option<&'a Statement> {
        self.one(&self.sites.statements, |_| true)
    }

    fn expression(&mut self, wanted: impl Fn(&Expression) -> bool) -> Option<&'a Expression> {
        self.one(&self.sites.expressions, wanted)
    }

    /// Expressions of pointers are drawn more often than others.
    fn value(&mut self) -> Option<&'a Expression> {
        let pointer = |e: &Expression| matches!(e.class, Class::Pointer | Class::Owner);
        let is_value = |e: &Expression| e.ty.is_some() && !e.place && !e.callee && e.number.is_none();
        let only = self.random.chance(75);
        let found = self.expression(|e| is_value(e) && (!only || pointer(e)));
        found.or_else(|| self.expression(is_value))
    }

    fn variables_at(&self, at: u32, function: usize) -> impl Iterator<Item = &'a Variable> + use<'a> {
        let in_scope = move |v: &&Variable| v.function == function && v.scope.lo <= at && at < v.scope.hi;
        self.sites.variables.iter().filter(in_scope)
    }

    fn pointer_at(&mut self, at: u32, function: usize) -> Option<&'a Variable> {
        let pointers: Vec<&Variable> =
            self.variables_at(at, function).filter(|v| matches!(v.class, Class::Pointer | Class::Owner)).collect();
        (!pointers.is_empty()).then(|| *self.random.pick(&pointers))
    }

    /// Another expression of the same type.
    fn other(&mut self, than: &Expression) -> Option<String> {
        let own = self.text(than.span);
        let mut found: Vec<&str> = self
            .variables_at(than.span.lo, than.function)
            .filter(|v| v.ty == than.ty && v.name.as_str() != own)
            .map(|v| v.name.as_str())
            .collect();
        let like = |e: &&Expression| e.function == than.function && e.ty == than.ty && e.simple;
        found.extend(self.sites.expressions.iter().filter(like).map(|e| self.text(e.span)).filter(|t| *t != own));
        (!found.is_empty()).then(|| (*self.random.pick(&found)).to_string())
    }

    /// The variable's uses, as names of their own.
    fn uses(&self, v: &Variable) -> Option<Vec<Span>> {
        let same = |o: &&Variable| o.function == v.function && o.name == v.name;
        if self.sites.variables.iter().filter(same).count() > 1 {
            return None;
        }
        let inside = |e: &&Expression| e.name == Some(v.name) && v.scope.lo <= e.span.lo && e.span.hi <= v.scope.hi;
        Some(self.sites.expressions.iter().filter(inside).map(|e| e.span).collect())
    }

    /// A local with a declaration of its own, and its uses.
    fn local(&mut self) -> Option<(&'a Variable, Declared, Vec<Span>)> {
        let only = self.random.chance(75);
        let wanted = |v: &Variable| {
            v.local.is_some_and(|l| l.plain) && (!only || matches!(v.class, Class::Pointer | Class::Owner))
        };
        let variable = self.one(&self.sites.variables, wanted)?;
        Some((variable, variable.local?, self.uses(variable)?))
    }

    /// The declarator of a local with another name.
    fn declarator_of(&self, l: &Declared, name: &str) -> String {
        let (from, to) = (l.declarator.lo as usize, l.declarator.hi as usize);
        let (lo, hi) = (l.name.lo as usize, l.name.hi as usize);
        format!("{}{name}{}", &self.text[from..lo], &self.text[hi..to])
    }

    /// The declarator of a local that gets another name and is declared elsewhere, and the edits
    /// that leave its initialiser in its place as an assignment.
    fn moved_declaration(&self, l: &Declared, name: &str, uses: Vec<Span>) -> (String, Vec<Edit>) {
        let mut edits = renamed(uses, name);
        edits.push(match l.init {
            Some(init) => replace(l.whole, format!("{name} = {};", self.text(init))),
            None => replace(l.whole, ";"),
        });
        (self.declarator_of(l, name), edits)
    }

    /// What is done to an owner, so that what was lent from it is gone.
    fn change(&mut self, text: &str) -> String {
        let name = self.name();
        self.need(DROP);
        match self.random.below(6) {
            0 => format!("{text} = nullptr; "),
            1 => format!("m_drop({text}); "),
            2 => format!("{{ typeof({text}) {name} = nullptr; {name} :=: {text}; m_drop({name}); }} "),
            3 => format!("{{ auto {name} = {text}; m_drop({name}); }} "),
            _ => format!("free({text}); "),
        }
    }

    /// A condition that holds or does not, which no analysis knows.
    fn unknown(&mut self) -> &'static str {
        match self.random.below(4) {
            0 => {
                self.need(ONE);
                "m_one"
            }
            1 => {
                self.need(ONE);
                "m_one > 1"
            }
            2 => {
                self.need(COUNT);
                "m_count++ & 1"
            }
            _ => {
                self.need(COUNT);
                "m_count++ > 1"
            }
        }
    }
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.lo <= inner.lo && inner.hi <= outer.hi
}

fn renamed(uses: Vec<Span>, to: &str) -> Vec<Edit> {
    uses.into_iter().map(|span| replace(span, to)).collect()
}
