//! Edits of statements: copied, moved, left out, wrapped, left early, outlined.

use super::{contains, Draw, COUNT, ONE};
use crate::edit::{around, insert, replace, Edit};
use crate::sites::{Class, Expression, Sort, Variable};
use source::Span;

pub(super) fn duplicate(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    Some(vec![insert(s.span.hi, format!(" {}", d.text(s.span)))])
}

pub(super) fn copy_far(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    let to = d.one(&d.sites.statements, |t| t.function == s.function && !contains(s.span, t.span))?;
    let at = if to.sort == Sort::Jump { to.span.lo } else { to.span.hi };
    Some(vec![insert(at, format!(" {} ", d.text(s.span)))])
}

pub(super) fn move_statement(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    let to = d.one(&d.sites.statements, |t| t.function == s.function && !contains(s.span, t.span))?;
    let at = if d.random.chance(50) { to.span.lo } else { to.span.hi };
    Some(vec![replace(s.span, ";"), insert(at, format!(" {} ", d.text(s.span)))])
}

pub(super) fn delete(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    Some(vec![replace(s.span, ";")])
}

pub(super) fn exchange(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    let next = d.sites.statements.iter().find(|t| t.block == s.block && t.span.lo >= s.span.hi)?;
    Some(vec![replace(s.span, d.text(next.span)), replace(next.span, d.text(s.span))])
}

pub(super) fn wrap_loop(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn wrap_branch(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    let condition = d.unknown();
    let pointer = d.pointer_at(s.span.lo, s.function);
    Some(match (d.random.below(3), pointer) {
        (0, Some(p)) => around(s.span, format!("if ({}) {{ ", p.name), " }"),
        (1, _) => around(s.span, format!("switch ({condition}) {{ case 0: ; default: "), " }"),
        _ => around(s.span, format!("if ({condition}) {{ "), " }"),
    })
}

pub(super) fn wrap_goto(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn wrap_defer(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.statement()?;
    Some(around(s.span, "defer { ", " }"))
}

pub(super) fn early_exit(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn outline(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn outline_address(d: &mut Draw) -> Option<Vec<Edit>> {
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
        // An expression that stands in another of the same name goes with it.
        if (place.lo as usize) < at {
            continue;
        }
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
