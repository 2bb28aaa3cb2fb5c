//! Edits that lend what is owned, keep what was lent, and give up what is lent.

use super::{contains, Draw, COPY, COUNT, DROP};
use crate::edit::{insert, replace, Edit};
use crate::sites::{Class, Expression, Sort, Statement, Variable};

/// A use of a pointer variable, and the statement that it stands in.
fn used_pointer<'a>(d: &mut Draw<'a>) -> Option<(&'a Expression, &'a Statement)> {
    let pointer = |e: &Expression| e.name.is_some() && matches!(e.class, Class::Pointer | Class::Owner);
    let e = d.expression(|e| pointer(e) && !e.callee)?;
    let s = d.sites.statements.iter().rfind(|s| contains(s.span, e.span) && s.function == e.function)?;
    Some((e, s))
}

pub(super) fn borrow(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn cursor(d: &mut Draw) -> Option<Vec<Edit>> {
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
pub(super) fn alias(d: &mut Draw) -> Option<Vec<Edit>> {
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
pub(super) fn keep(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn free(d: &mut Draw) -> Option<Vec<Edit>> {
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
pub(super) fn take(d: &mut Draw) -> Option<Vec<Edit>> {
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
pub(super) fn stale(d: &mut Draw) -> Option<Vec<Edit>> {
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
    let used = if rest.is_empty() {
        d.need(COPY);
        format!("(m_copy(*{name}), 1)")
    } else {
        format!("{name}{rest}")
    };
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
    let s = d.one(&d.sites.statements, |s| s.function == owner.function && s.span.hi >= owner.span.lo)?;
    let after = if d.random.chance(70) { format!("{text} = nullptr; ") } else { String::new() };
    let using = format!("m_count += (int)({used}); ");
    // The loan ends before the change in some.
    let order = if d.random.chance(25) { [using, change] } else { [change, using] };
    Some(vec![insert(s.span.lo, format!("{{ {loan}{} }} {after}", order.concat()))])
}

/// A pointer of an inner block is declared before the block, and used after it.
pub(super) fn outlive(d: &mut Draw) -> Option<Vec<Edit>> {
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
    let (declarator, mut edits) = d.moved_declaration(&l, &name, uses);
    d.need(COUNT);
    let specs = d.text(l.specs);
    edits.push(insert(outer.span.lo, format!("{specs} {declarator} = {{ 0 }}; ")));
    edits.push(insert(outer.span.hi, format!(" m_count += (int)({read});")));
    Some(edits)
}

/// The address of a local, or a pointer, is kept in a global, and followed when control comes back.
pub(super) fn kept(d: &mut Draw) -> Option<Vec<Edit>> {
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
