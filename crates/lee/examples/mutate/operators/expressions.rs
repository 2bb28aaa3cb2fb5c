//! Edits of expressions: others of their type, by other ways, with other constants.

use super::{contains, Draw, BOX, COPY, ONE, SAME};
use crate::edit::{around, insert, replace, Edit};
use crate::sites::{Class, Expression, Sort};
use source::Span;

pub(super) fn replace_expression(d: &mut Draw) -> Option<Vec<Edit>> {
    let only = d.random.chance(75);
    let pointer = |e: &Expression| !only || matches!(e.class, Class::Pointer | Class::Owner);
    let e = d.expression(|e| e.ty.is_some() && !e.callee && e.number.is_none() && pointer(e))?;
    let other = if d.random.chance(10) { "nullptr".to_string() } else { d.other(e)? };
    Some(vec![replace(e.span, other)])
}

pub(super) fn statement_expression(d: &mut Draw) -> Option<Vec<Edit>> {
    if d.random.chance(40) {
        let s = d.statement()?;
        return Some(around(s.span, "(void)({ ", " 0; });"));
    }
    let e = d.value()?;
    let s = d.one(&d.sites.statements, |s| s.function == e.function && s.sort == Sort::Expr)?;
    let before = if d.random.chance(30) { d.text(s.span) } else { "" };
    Some(around(e.span, format!("({{ {before} "), "; })"))
}

pub(super) fn choice(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.value()?;
    let other = d.other(e)?;
    let condition = d.unknown();
    Some(around(e.span, format!("({condition} ? {other} : "), ")"))
}

pub(super) fn comma(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.value()?;
    let s = d.one(&d.sites.statements, |s| s.function == e.function && s.sort == Sort::Expr)?;
    let before = d.text(s.span).trim_end_matches(';');
    Some(around(e.span, format!("({before}, "), ")"))
}

pub(super) fn identity(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.value()?;
    let owner = e.class == Class::Owner || d.random.chance(30);
    d.need(if owner { SAME } else { COPY });
    Some(around(e.span, if owner { "m_same(" } else { "m_copy(" }, ")"))
}

pub(super) fn through_struct(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn through_function_pointer(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn address(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.expression(|e| e.simple && e.ty.is_some() && !e.callee)?;
    if d.random.chance(50) {
        return Some(around(e.span, "(*&", ")"));
    }
    let s = d.sites.statements.iter().rfind(|s| contains(s.span, e.span) && s.function == e.function)?;
    let name = d.name();
    Some(vec![insert(s.span.lo, format!("auto {name} = &{}; ", d.text(e.span))), replace(e.span, format!("(*{name})"))])
}

pub(super) fn through_integer(d: &mut Draw) -> Option<Vec<Edit>> {
    let e = d.expression(|e| e.condition && matches!(e.class, Class::Pointer | Class::Owner))?;
    let cast = *d.random.pick(&["(unsigned long)", "(unsigned char)(unsigned long)", "(bool)", "0 != (long)"]);
    Some(around(e.span, format!("({cast}("), "))"))
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

pub(super) fn assign(d: &mut Draw) -> Option<Vec<Edit>> {
    let (span, a, b) = pair(d)?;
    Some(vec![insert(span.lo, format!("{a} = {b}; "))])
}

pub(super) fn swap(d: &mut Draw) -> Option<Vec<Edit>> {
    let (span, a, b) = pair(d)?;
    Some(vec![insert(span.lo, format!("{a} :=: {b}; "))])
}

pub(super) fn number(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn comparison(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn null(d: &mut Draw) -> Option<Vec<Edit>> {
    let s = d.any_statement()?;
    let pointer = |e: &Expression| e.simple && matches!(e.class, Class::Pointer | Class::Owner);
    let e = d.one(&d.sites.expressions, |e| e.function == s.function && pointer(e))?;
    Some(vec![insert(s.span.lo, format!("{} = nullptr; ", d.text(e.span)))])
}
