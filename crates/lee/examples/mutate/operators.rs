//! The operators: each changes one thing of a program, as edits of its text.

use crate::edit::{around, insert, replace, Edit};
use crate::rng::Random;
use crate::sites::{Class, Declared, Expression, Sites, Sort, Statement, Variable};
use source::Span;

/// An operator makes edits, or finds nothing to change.
pub type Operator = fn(&mut Draw) -> Option<Vec<Edit>>;

/// All operators by name.
pub const OPERATORS: &[(&str, Operator)] = &[
    ("replace", replace_expression),
    ("duplicate", duplicate),
    ("copy-far", copy_far),
    ("move", move_statement),
    ("delete", delete),
    ("exchange", exchange),
    ("loop", wrap_loop),
    ("branch", wrap_branch),
    ("goto", wrap_goto),
    ("defer", wrap_defer),
    ("statement-expression", statement_expression),
    ("early-exit", early_exit),
    ("choice", choice),
    ("comma", comma),
    ("field", into_field),
    ("element", into_element),
    ("member", into_member),
    ("slot", into_slot),
    ("object", into_object),
    ("global", into_global),
    ("outline", outline),
    ("outline-address", outline_address),
    ("borrow", borrow),
    ("cursor", cursor),
    ("alias", alias),
    ("keep", keep),
    ("identity", identity),
    ("through-struct", through_struct),
    ("through-pointer", through_function_pointer),
    ("address", address),
    ("integer", through_integer),
    ("qualifiers", qualifiers),
    ("consume", consume),
    ("outwards", outwards),
    ("uninitialised", uninitialised),
    ("free", free),
    ("null", null),
    ("assign", assign),
    ("swap", swap),
    ("take", take),
    ("stale", stale),
    ("outlive", outlive),
    ("kept", kept),
    ("number", number),
    ("comparison", comparison),
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
const BOX: &str = "generic <T: move> struct m_box { T v; };\n\
    generic <T: move> static struct m_box<T> m_wrap(consume T x) { return (struct m_box<T>){ x }; }\n";

impl<'a> Draw<'a> {
    fn text(&self, span: Span) -> &'a str {
        &self.text[span.lo as usize..span.hi as usize]
    }

    /// Whether the text at a span is a part of what `whole` names, or lies behind it.
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

fn replace_expression(d: &mut Draw) -> Option<Vec<Edit>> {
    let only = d.random.chance(75);
    let pointer = |e: &Expression| !only || matches!(e.class, Class::Pointer | Class::Owner);
    let e = d.expression(|e| e.ty.is_some() && !e.callee && e.number.is_none() && pointer(e))?;
    let other = if d.random.chance(10) { "nullptr".to_string() } else { d.other(e)? };
    Some(vec![replace(e.span, other)])
}

fn duplicate(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    Some(vec![insert(s.span.hi, format!(" {}", d.text(s.span)))])
}

fn copy_far(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    let to = d.one(&d.sites.statements, |t| t.function == s.function && !contains(s.span, t.span))?;
    let at = if to.sort == Sort::Jump { to.span.lo } else { to.span.hi };
    Some(vec![insert(at, format!(" {} ", d.text(s.span)))])
}

fn move_statement(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    let to = d.one(&d.sites.statements, |t| t.function == s.function && !contains(s.span, t.span))?;
    let at = if d.random.chance(50) { to.span.lo } else { to.span.hi };
    Some(vec![replace(s.span, ";"), insert(at, format!(" {} ", d.text(s.span)))])
}

fn delete(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    Some(vec![replace(s.span, ";")])
}

fn exchange(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    let next = d.sites.statements.iter().find(|t| t.block == s.block && t.span.lo >= s.span.hi)?;
    Some(vec![replace(s.span, d.text(next.span)), replace(next.span, d.text(s.span))])
}

fn wrap_loop(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    let name = d.name();
    Some(match d.random.below(3) {
        0 => {
            d.need(ONE);
            around(s.span, format!("for (int {name} = 0; {name} <= m_one; {name}++) {{ "), " }")
        }
        1 => around(s.span, "do { ", " } while (0);"),
        _ => {
            d.need(COUNT);
            around(s.span, "while (m_count++ < 3) { ", " }")
        }
    })
}

fn wrap_branch(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    let condition = d.unknown();
    let pointer = d.pointer_at(s.span.lo, s.function);
    Some(match (d.random.below(3), pointer) {
        (0, Some(p)) => around(s.span, format!("if ({}) {{ ", p.name), " }"),
        (1, _) => around(s.span, format!("switch ({condition}) {{ case 0: ; default: "), " }"),
        _ => around(s.span, format!("if ({condition}) {{ "), " }"),
    })
}

fn wrap_goto(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    let name = d.name();
    let condition = d.unknown();
    Some(match d.random.below(2) {
        0 => {
            d.need(COUNT);
            around(s.span, format!("{name}: ; "), format!(" if (m_count++ < 2) goto {name};"))
        }
        _ => around(s.span, format!("if ({condition}) goto {name}; "), format!(" {name}: ;")),
    })
}

fn wrap_defer(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    Some(around(s.span, "defer { ", " }"))
}

fn statement_expression(d: &mut Draw) -> Option<Vec<Edit>> {
    if d.random.chance(40) {
        let s = d.statement()?;
        return Some(around(s.span, "(void)({ ", " 0; });"));
    }
    let e = d.value()?;
    let s = d.one(&d.sites.statements, |s| s.function == e.function && s.sort == Sort::Expr)?;
    let before = if d.random.chance(30) { d.text(s.span) } else { "" };
    Some(around(e.span, format!("({{ {before} "), "; })"))
}

fn early_exit(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    let condition = d.unknown();
    let function = &d.sites.functions[s.function];
    let exit = match d.random.below(3) {
        0 if s.in_loop => "break".to_string(),
        1 if s.in_loop => "continue".to_string(),
        _ if function.void => "return".to_string(),
        _ if function.returns.is_empty() => "return 0".to_string(),
        _ => {
            let span = *d.random.pick(&function.returns);
            format!("return {}", d.text(span))
        }
    };
    Some(vec![insert(s.span.lo, format!("if ({condition}) {exit}; "))])
}

fn choice(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.value()?;
    let other = d.other(e)?;
    let condition = d.unknown();
    Some(around(e.span, format!("({condition} ? {other} : "), ")"))
}

fn comma(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.value()?;
    let s = d.one(&d.sites.statements, |s| s.function == e.function && s.sort == Sort::Expr)?;
    let before = d.text(s.span).trim_end_matches(';');
    Some(around(e.span, format!("({before}, "), ")"))
}

/// The initialiser as a member's.
fn member_value(d: &Draw, l: &Declared) -> Option<String> {
    l.init.map(|init| d.text(init).to_string())
}

fn renamed(uses: Vec<Span>, to: &str) -> Vec<Edit> {
    uses.into_iter().map(|span| replace(span, to)).collect()
}

fn into_field(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    let name = d.name();
    let init = member_value(d, &l).map_or("= { 0 }".to_string(), |init| format!("= {{ {init} }}"));
    let pad = if d.random.chance(50) { "int before; " } else { "" };
    let init = if pad.is_empty() { init } else { init.replacen("= {", "= { 0,", 1) };
    let text = format!("struct {{ {pad}{} {}; }} {name} {init};", d.text(l.specs), d.text(l.declarator));
    let mut edits = renamed(uses, &format!("{name}.{}", v.name));
    edits.push(replace(l.whole, text));
    Some(edits)
}

fn into_element(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    let index = d.random.below(2);
    let init = member_value(d, &l).map_or("{ 0 }".to_string(), |init| format!("{{ [{index}] = {init} }}"));
    let (from, to) = (l.declarator.lo as usize, l.declarator.hi as usize);
    let (lo, hi) = (l.name.lo as usize, l.name.hi as usize);
    let declarator = format!("{}{}[2]{}", &d.text[from..lo], v.name, &d.text[hi..to]);
    let mut edits = renamed(uses, &format!("{}[{index}]", v.name));
    edits.push(replace(l.whole, format!("{} {declarator} = {init};", d.text(l.specs))));
    Some(edits)
}

fn into_member(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    let name = d.name();
    let init = match (member_value(d, &l), l.list) {
        (Some(init), _) => format!("= {{ .{} = {init} }}", v.name),
        (None, _) => "= { .other = 0 }".to_string(),
    };
    let kind = if d.random.chance(75) { "tagged union" } else { "union" };
    let text = format!("{kind} {{ {} {}; long other; }} {name} {init};", d.text(l.specs), d.text(l.declarator));
    let mut edits = renamed(uses, &format!("{name}.{}", v.name));
    edits.push(replace(l.whole, text));
    Some(edits)
}

fn into_slot(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    let name = d.name();
    let init = member_value(d, &l).unwrap_or_default();
    let text = format!(
        "struct {name}s {{ {} {}; }}; struct {name}s *{name} = new struct {name}s{{ {init} }};",
        d.text(l.specs),
        d.text(l.declarator)
    );
    let mut edits = renamed(uses, &format!("{name}->{}", v.name));
    edits.push(replace(l.whole, text));
    Some(edits)
}

fn into_object(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    let name = d.name();
    let init = member_value(d, &l).unwrap_or_default();
    let text = format!(
        "struct {name}s {{ {} {}; }}; struct {name}s *unique {name} = new struct {name}s{{ {init} }}; \
         defer free({name});",
        d.text(l.specs),
        d.text(l.declarator)
    );
    let mut edits = renamed(uses, &format!("{name}->{}", v.name));
    edits.push(replace(l.whole, text));
    Some(edits)
}

fn into_global(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    if l.list {
        return None;
    }
    let name = d.name();
    let (from, to) = (l.declarator.lo as usize, l.declarator.hi as usize);
    let (lo, hi) = (l.name.lo as usize, l.name.hi as usize);
    let declarator = format!("{}{name}{}", &d.text[from..lo], &d.text[hi..to]);
    let mut edits = renamed(uses, &name);
    edits.push(match l.init {
        Some(init) => replace(l.whole, format!("{name} = {};", d.text(init))),
        None => replace(l.whole, ";"),
    });
    let function = &d.sites.functions[v.function];
    edits.push(insert(function.span.lo, format!("static {} {declarator};\n", d.text(l.specs))));
    Some(edits)
}

/// A statement as a function of its own, and the locals that it uses.
fn outlined(d: &mut Draw) -> Option<(Span, usize, Vec<Variable>)> {
    let s = d.one(&d.sites.statements, |s| matches!(s.sort, Sort::Expr | Sort::Other))?;
    let function = &d.sites.functions[s.function];
    let text = d.text(s.span);
    let jumps = ["return", "goto", "break", "continue"].iter().any(|w| text.contains(w));
    if function.generic || jumps {
        return None;
    }
    let mut used: Vec<Variable> = vec![];
    for e in d.sites.expressions.iter().filter(|e| contains(s.span, e.span)) {
        let Some(name) = e.name else { continue };
        let declared: Vec<&Variable> = d.variables_at(s.span.lo, s.function).filter(|v| v.name == name).collect();
        let Some(v) = declared.last() else { continue };
        if used.iter().all(|u| u.name != name) {
            used.push((*v).clone());
        }
    }
    if used.is_empty() || used.iter().any(|v| v.shown.is_empty()) {
        return None;
    }
    Some((s.span, s.function, used))
}

fn outline(d: &mut Draw) -> Option<Vec<Edit>> {
    let (span, function, used) = outlined(d)?;
    let name = d.name();
    let mode = d.random.below(3);
    let mut params = vec![];
    for v in &used {
        let owner = v.class == Class::Owner;
        params.push(match mode {
            0 if owner => format!("consume {}", v.shown),
            1 if owner => v.shown.replacen("unique", "view", 1),
            _ => v.shown.clone(),
        });
    }
    let arguments: Vec<&str> = used.iter().map(|v| v.name.as_str()).collect();
    let at = d.sites.functions[function].span.lo;
    Some(vec![
        insert(at, format!("static void {name}({}) {{ {} }}\n", params.join(", "), d.text(span))),
        replace(span, format!("{name}({});", arguments.join(", "))),
    ])
}

fn outline_address(d: &mut Draw) -> Option<Vec<Edit>> {
    let (span, function, used) = outlined(d)?;
    let name = d.name();
    let chosen = used[d.random.below(used.len() as i64) as usize].clone();
    let mut params = vec![];
    for v in &used {
        let by_address = v.name == chosen.name;
        let shown = &v.shown;
        params.push(match (by_address, shown.strip_suffix(v.name.as_str())) {
            (true, Some(ty)) => format!("{ty} *{}", v.name),
            (true, None) => return None,
            _ => shown.clone(),
        });
    }
    let arguments: Vec<String> =
        used.iter().map(|v| if v.name == chosen.name { format!("&{}", v.name) } else { v.name.to_string() }).collect();
    let lo = span.lo as usize;
    let mut body = String::new();
    let mut at = lo;
    let inside = |e: &&Expression| contains(span, e.span) && e.name == Some(chosen.name);
    let mut places: Vec<Span> = d.sites.expressions.iter().filter(inside).map(|e| e.span).collect();
    places.sort();
    for place in places {
        body.push_str(&d.text[at..place.lo as usize]);
        body.push_str(&format!("(*{})", chosen.name));
        at = place.hi as usize;
    }
    body.push_str(&d.text[at..span.hi as usize]);
    let position = d.sites.functions[function].span.lo;
    Some(vec![
        insert(position, format!("static void {name}({}) {{ {body} }}\n", params.join(", "))),
        replace(span, format!("{name}({});", arguments.join(", "))),
    ])
}

/// A use of a pointer variable, and the statement that it stands in.
fn used_pointer<'a>(d: &mut Draw<'a>) -> Option<(&'a Expression, &'a Statement)> {
    let pointer = |e: &Expression| e.name.is_some() && matches!(e.class, Class::Pointer | Class::Owner);
    let e = d.expression(|e| pointer(e) && !e.callee)?;
    let s = d.sites.statements.iter().rfind(|s| contains(s.span, e.span) && s.function == e.function)?;
    Some((e, s))
}

fn borrow(d: &mut Draw) -> Option<Vec<Edit>> {
    let (e, s) = used_pointer(d)?;
    let name = d.name();
    let text = d.text(e.span);
    let mut edits = vec![insert(s.span.lo, format!("borrow {name} = {text}; ")), replace(e.span, &*name)];
    if d.random.chance(50) {
        let later = d.one(&d.sites.expressions, |l| l.ty == e.ty && l.function == e.function && l.span.lo >= s.span.hi);
        edits.extend(later.map(|l| replace(l.span, &*name)));
    }
    Some(edits)
}

fn cursor(d: &mut Draw) -> Option<Vec<Edit>> {
    let owner = d.random.chance(90);
    let e = d.expression(|e| e.simple && (e.class == Class::Owner || !owner) && e.ty.is_some())?;
    let s = d.sites.statements.iter().rfind(|s| contains(s.span, e.span) && s.function == e.function)?;
    let name = d.name();
    let text = d.text(e.span);
    let begin = format!("cursor {name} = &{text}; ");
    Some(match d.random.below(3) {
        0 => {
            vec![insert(s.span.lo, format!("{{ {begin}")), replace(e.span, format!("*{name}")), insert(s.span.hi, " }")]
        }
        1 => vec![insert(s.span.lo, begin), replace(e.span, format!("(*{name})"))],
        _ => vec![insert(s.span.lo, format!("{{ {begin}")), insert(s.span.hi, " }")],
    })
}

/// A value is kept in a variable before a statement, and used where another of its type was.
fn alias(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.expression(|e| e.simple && e.ty.is_some() && matches!(e.class, Class::Pointer | Class::Owner))?;
    let s = d.one(&d.sites.statements, |s| s.function == e.function)?;
    let later = d.one(&d.sites.expressions, |l| {
        l.ty == e.ty && l.function == e.function && l.span.lo >= s.span.hi && !l.callee && contains(s.block, l.span)
    })?;
    let name = d.name();
    let declared = match d.random.below(3) {
        0 => format!("auto {name} = {}; ", d.text(e.span)),
        1 => format!("typeof(*{}) *{name} = {}; ", d.text(e.span), d.text(e.span)),
        _ => format!("const typeof(*{}) *{name} = {}; ", d.text(e.span), d.text(e.span)),
    };
    Some(vec![insert(s.span.lo, declared), replace(later.span, name)])
}

/// A value is kept in a global before a statement, and used where another of its type was.
fn keep(d: &mut Draw) -> Option<Vec<Edit>> {
    let wanted = |v: &Variable| matches!(v.class, Class::Pointer | Class::Owner) && !v.shown.is_empty();
    let v = d.one(&d.sites.variables, wanted)?;
    if d.sites.functions[v.function].generic {
        return None;
    }
    let s = d.one(&d.sites.statements, |s| s.function == v.function && contains(v.scope, s.span))?;
    let later = d.one(&d.sites.expressions, |l| {
        l.ty == v.ty && l.function == v.function && l.span.lo >= s.span.hi && !l.callee
    })?;
    let name = d.name();
    let ty = v.shown.strip_suffix(v.name.as_str())?;
    let ty = if d.random.chance(50) { ty.replacen(" unique", "", 1).replacen("unique", "", 1) } else { ty.to_string() };
    let at = d.sites.functions[v.function].span.lo;
    Some(vec![
        insert(at, format!("static {ty}{name};\n")),
        insert(s.span.hi, format!(" {name} = {};", v.name)),
        replace(later.span, name),
    ])
}

fn identity(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.value()?;
    let owner = e.class == Class::Owner || d.random.chance(30);
    d.need(if owner { SAME } else { COPY });
    Some(around(e.span, if owner { "m_same(" } else { "m_copy(" }, ")"))
}

fn through_struct(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.value()?;
    d.need(BOX);
    if d.random.chance(50) {
        return Some(around(e.span, "m_wrap(", ").v"));
    }
    let s = d.sites.statements.iter().rfind(|s| contains(s.span, e.span) && s.function == e.function)?;
    let name = d.name();
    Some(vec![
        insert(s.span.lo, format!("auto {name} = m_wrap({}); ", d.text(e.span))),
        replace(e.span, format!("{name}.v")),
    ])
}

fn through_function_pointer(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.expression(|e| e.callee && e.name.is_some())?;
    let s = d.sites.statements.iter().rfind(|s| contains(s.span, e.span) && s.function == e.function)?;
    let text = d.text(e.span);
    Some(match d.random.below(3) {
        0 => vec![replace(e.span, format!("(*&{text})"))],
        1 => {
            d.need(ONE);
            vec![replace(e.span, format!("(m_one ? {text} : {text})"))]
        }
        _ => {
            let name = d.name();
            vec![insert(s.span.lo, format!("auto {name} = {text}; ")), replace(e.span, name)]
        }
    })
}

fn address(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.expression(|e| e.simple && e.ty.is_some() && !e.callee)?;
    if d.random.chance(50) {
        return Some(around(e.span, "(*&", ")"));
    }
    let s = d.sites.statements.iter().rfind(|s| contains(s.span, e.span) && s.function == e.function)?;
    let name = d.name();
    Some(vec![insert(s.span.lo, format!("auto {name} = &{}; ", d.text(e.span))), replace(e.span, format!("(*{name})"))])
}

fn through_integer(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.expression(|e| e.condition && matches!(e.class, Class::Pointer | Class::Owner))?;
    let cast = *d.random.pick(&["(unsigned long)", "(unsigned char)(unsigned long)", "(bool)", "0 != (long)"]);
    Some(around(e.span, format!("({cast}("), "))"))
}

fn qualifiers(d: &mut Draw) -> Option<Vec<Edit>> {
    let span = *d.one(&d.sites.pointers, |_| true)?;
    let now = d.text(span);
    let words: Vec<&str> = now.trim_start_matches('*').split_whitespace().collect();
    let word = *d.random.pick(&["unique", "view", "any", "nonnull", "const", "@heap", "fat", "rc", "null_terminated"]);
    let mut kept: Vec<&str> = words.clone();
    match d.random.below(3) {
        0 if !kept.is_empty() => {
            let at = d.random.below(kept.len() as i64) as usize;
            kept.remove(at);
        }
        1 if !kept.is_empty() => {
            let at = d.random.below(kept.len() as i64) as usize;
            kept[at] = word;
        }
        _ => kept.push(word),
    }
    Some(vec![replace(span, format!("*{}", kept.join(" ")))]).filter(|_| kept != words)
}

fn consume(d: &mut Draw) -> Option<Vec<Edit>> {
    let owned = |v: &Variable| v.local.is_none() && v.shown.contains("unique");
    let v = d.one(&d.sites.variables, owned)?;
    let function = &d.sites.functions[v.function];
    let named = |span: Span| d.text(span).trim_end_matches(|c| c == ']' || c == '[').ends_with(v.name.as_str());
    let (param, word) = *function.params.iter().find(|(span, _)| named(*span))?;
    let mut edits = match word {
        Some(word) => vec![replace(word, "")],
        None => vec![insert(param.lo, "consume ")],
    };
    let frees = format!("free({});", v.name);
    let whole = d.random.chance(80);
    match word {
        // The body keeps what it is lent, and frees what it is given.
        Some(_) if whole => {
            let free = |s: &&Statement| s.function == v.function && d.text(s.span) == frees;
            edits.extend(d.sites.statements.iter().filter(free).map(|s| replace(s.span, ";")));
        }
        None if whole && d.random.chance(50) => edits.push(insert(function.body.lo + 1, format!(" defer {frees}"))),
        None if whole => edits.push(insert(function.body.hi - 1, format!(" {frees} "))),
        _ => {}
    }
    Some(edits)
}

fn outwards(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    if l.list {
        return None;
    }
    let name = d.name();
    let (from, to) = (l.declarator.lo as usize, l.declarator.hi as usize);
    let (lo, hi) = (l.name.lo as usize, l.name.hi as usize);
    let declarator = format!("{}{name}{}", &d.text[from..lo], &d.text[hi..to]);
    let mut edits = renamed(uses, &name);
    edits.push(match l.init {
        Some(init) => replace(l.whole, format!("{name} = {};", d.text(init))),
        None => replace(l.whole, ";"),
    });
    let body = d.sites.functions[v.function].body;
    let zero = if d.random.chance(30) { " = { 0 }" } else { "" };
    edits.push(insert(body.lo + 1, format!(" {} {declarator}{zero};", d.text(l.specs))));
    Some(edits)
}

fn uninitialised(d: &mut Draw) -> Option<Vec<Edit>> {
    let (_, l, _) = d.local()?;
    l.init?;
    let (specs, declarator) = (d.text(l.specs), d.text(l.declarator));
    Some(vec![replace(l.whole, format!("{specs} {declarator};"))])
}

fn free(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    let plain = d.random.chance(25);
    let owner = |v: &&Variable| v.class == Class::Owner || plain && v.class == Class::Pointer;
    let found: Vec<&Variable> = d.variables_at(s.span.lo, s.function).filter(owner).collect();
    // A statement that frees something happens elsewhere.
    let frees = |t: &&Statement| t.function == s.function && d.text(t.span).contains("free(");
    let moved = d.sites.statements.iter().find(frees);
    if let (true, Some(moved)) = (d.random.chance(40), moved) {
        if !contains(moved.span, s.span) && !contains(s.span, moved.span) {
            let at = if s.sort == Sort::Jump { s.span.lo } else { s.span.hi };
            return Some(vec![replace(moved.span, ";"), insert(at, format!(" {} ", d.text(moved.span)))]);
        }
    }
    if found.is_empty() {
        return None;
    }
    let name = d.random.pick(&found).name;
    Some(vec![insert(
        s.span.lo,
        match d.random.below(6) {
            0 => format!("release({name}); "),
            1 => format!("(void)share({name}); "),
            2 | 3 => format!("free({name}); {name} = nullptr; "),
            _ => format!("free({name}); "),
        },
    )])
}

/// What an owner holds is freed or given away before a statement.
fn take(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.expression(|e| e.simple && e.class == Class::Owner)?;
    let s = d.one(&d.sites.statements, |s| s.function == e.function)?;
    let text = d.text(e.span);
    let name = d.name();
    d.need(DROP);
    let before = match d.random.below(5) {
        0 => format!("free({text}); "),
        1 => format!("m_drop({text}); "),
        2 => format!("m_drop({text}); {text} = nullptr; "),
        3 => format!("auto {name} = {text}; free({name}); "),
        _ => format!("{{ typeof({text}) {name} = nullptr; {name} :=: {text}; free({name}); }} "),
    };
    Some(vec![insert(s.span.lo, before)])
}

/// An owner is lent, what it owns is given up or replaced, and the loan is used.
fn stale(d: &mut Draw) -> Option<Vec<Edit>> {
    let owner = d.expression(|e| e.simple && e.class == Class::Owner)?;
    let text = d.text(owner.span);
    let reads = |e: &Expression| e.class == Class::Int && e.simple && d.is_part(text, e.span);
    let read = d.sites.expressions.iter().filter(|e| reads(e)).map(|e| e.span).collect::<Vec<_>>();
    let (name, rest) = match read.as_slice() {
        [] => (d.name(), String::new()),
        spans => {
            let span = *d.random.pick(spans);
            (d.name(), d.text(span)[text.len()..].to_string())
        }
    };
    let used = if rest.is_empty() { format!("*{name}") } else { format!("{name}{rest}") };
    let loan = match d.random.below(6) {
        0 => format!("borrow {name} = {text}; "),
        1 => format!("const typeof(*{text}) *view {name} = {text}; "),
        2 => format!("typeof(*{text}) *{name} = nullptr; {{ cursor {name}c = &{text}; {name} = *{name}c; }} "),
        3 if rest.starts_with("->") => {
            let field = rest.trim_start_matches("->");
            let change = d.change(text);
            d.need(COUNT);
            let s = d.one(&d.sites.statements, |s| s.function == owner.function)?;
            let before =
                format!("{{ auto {name} = &{text}->{field}; {change}m_count += *{name}; }} {text} = nullptr; ");
            return Some(vec![insert(s.span.lo, before)]);
        }
        4 => format!("struct {{ typeof(*{text}) *p; }} {name}s = {{ {text} }}; typeof(*{text}) *{name} = {name}s.p; "),
        _ => format!("typeof(*{text}) *{name} = {text}; "),
    };
    let change = d.change(text);
    d.need(COUNT);
    let s = d.one(&d.sites.statements, |s| s.function == owner.function)?;
    let after = if d.random.chance(70) { format!("{text} = nullptr; ") } else { String::new() };
    Some(vec![insert(s.span.lo, format!("{{ {loan}{change}m_count += (int)({used}); }} {after}"))])
}

/// A pointer of an inner block is declared before the block, and used after it.
fn outlive(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    let inside = |s: &&Statement| s.function == v.function && contains(s.span, l.whole) && s.span != l.whole;
    let outer = d.sites.statements.iter().rfind(|s| inside(s) && s.span.lo < v.scope.lo && v.scope.hi <= s.span.hi)?;
    if l.list {
        return None;
    }
    let name = d.name();
    let own = v.name.as_str();
    let star = format!("*{own}");
    let reads = |e: &&Expression| {
        e.class == Class::Int
            && contains(v.scope, e.span)
            && (d.is_part(own, e.span) || d.text(e.span) == star || e.name == Some(v.name))
    };
    let found: Vec<&Expression> = d.sites.expressions.iter().filter(reads).collect();
    let read = if found.is_empty() {
        star
    } else {
        let span = d.random.pick(&found).span;
        d.text(span).to_string()
    };
    let read = read.replacen(own, &name, 1);
    let (from, to) = (l.declarator.lo as usize, l.declarator.hi as usize);
    let (lo, hi) = (l.name.lo as usize, l.name.hi as usize);
    let declarator = format!("{}{name}{}", &d.text[from..lo], &d.text[hi..to]);
    let mut edits = renamed(uses, &name);
    edits.push(match l.init {
        Some(init) => replace(l.whole, format!("{name} = {};", d.text(init))),
        None => replace(l.whole, ";"),
    });
    d.need(COUNT);
    let specs = d.text(l.specs);
    edits.push(insert(outer.span.lo, format!("{specs} {declarator} = {{ 0 }}; ")));
    edits.push(insert(outer.span.hi, format!(" m_count += (int)({read});")));
    Some(edits)
}

/// The address of a local, or a pointer, is kept in a global, and followed when control comes back.
fn kept(d: &mut Draw) -> Option<Vec<Edit>> {
    let v = d.one(&d.sites.variables, |v| !v.shown.is_empty() && v.class != Class::Other)?;
    if d.sites.functions[v.function].generic {
        return None;
    }
    let s = d.one(&d.sites.statements, |s| s.function == v.function && contains(v.scope, s.span))?;
    let name = d.name();
    d.need(COUNT);
    let at = d.sites.functions[v.function].span.lo;
    let ty = v.shown.strip_suffix(v.name.as_str())?;
    let plain = ty.replacen("unique ", "", 1);
    let (global, value) = match v.class {
        Class::Int => (format!("static {ty} *{name};\n"), format!("&{}", v.name)),
        _ => (format!("static {plain}{name};\n"), v.name.to_string()),
    };
    let read = format!("if ({name}) m_count += (int)*{name}; ");
    Some(vec![
        insert(at, global),
        insert(s.span.lo, format!("{read}{name} = {value}; ")),
        insert(d.sites.functions[v.function].body.lo + 1, format!(" {read}")),
    ])
}

fn null(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    let pointer = |e: &Expression| e.simple && matches!(e.class, Class::Pointer | Class::Owner);
    let e = d.one(&d.sites.expressions, |e| e.function == s.function && pointer(e))?;
    Some(vec![insert(s.span.lo, format!("{} = nullptr; ", d.text(e.span)))])
}

/// Two expressions of one type at a statement.
fn pair(d: &mut Draw) -> Option<(Span, String, String)> {
    let s = d.any_statement()?;
    let pointer = |e: &Expression| e.simple && matches!(e.class, Class::Pointer | Class::Owner | Class::Other);
    let a = d.one(&d.sites.expressions, |e| e.function == s.function && pointer(e) && e.ty.is_some())?;
    // Often a part of the first one.
    let (span, ty, text) = (a.span, a.ty, d.text(a.span));
    let part = |e: &Expression| e.function == s.function && e.ty == ty && e.span != span && d.is_part(text, e.span);
    let parts: Vec<&Expression> = d.sites.expressions.iter().filter(|e| part(e)).collect();
    let b = match parts.as_slice() {
        [] => d.other(a)?,
        parts => {
            let span = d.random.pick(parts).span;
            d.text(span).to_string()
        }
    };
    Some((s.span, text.to_string(), b))
}

fn assign(d: &mut Draw) -> Option<Vec<Edit>> {
    let (span, a, b) = pair(d)?;
    Some(vec![insert(span.lo, format!("{a} = {b}; "))])
}

fn swap(d: &mut Draw) -> Option<Vec<Edit>> {
    let (span, a, b) = pair(d)?;
    Some(vec![insert(span.lo, format!("{a} :=: {b}; "))])
}

fn number(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.expression(|e| e.number.is_some())?;
    let n = e.number?;
    let text = match d.random.below(6) {
        0 => "0".to_string(),
        1 => (n + 1).to_string(),
        2 => n.saturating_sub(1).to_string(),
        3 => "-1".to_string(),
        4 => (n * 2 + 3).to_string(),
        _ => {
            d.need(ONE);
            format!("(m_one + {})", n)
        }
    };
    Some(vec![replace(e.span, text)])
}

fn comparison(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.expression(|e| e.comparison.is_some())?;
    let span = e.comparison?;
    let now = d.text(span).trim();
    let other = match now {
        "<" => "<=",
        "<=" => "<",
        ">" => ">=",
        ">=" => ">",
        _ => return None,
    };
    Some(vec![replace(span, format!(" {other} "))])
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.lo <= inner.lo && inner.hi <= outer.hi
}
