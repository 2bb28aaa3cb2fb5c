//! Edits of variables and parameters: where they are, and what their types say.

use super::{contains, renamed, Draw};
use crate::edit::{insert, replace, Edit};
use crate::sites::{Declared, Sort, Statement, Variable};
use source::Span;

/// The initialiser as a member's.
fn member_value(d: &Draw, l: &Declared) -> Option<String> {
    l.init.map(|init| d.text(init).to_string())
}

pub(super) fn into_field(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn into_element(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    let index = d.random.below(2);
    let init = member_value(d, &l).map_or("{ 0 }".to_string(), |init| format!("{{ [{index}] = {init} }}"));
    let declarator = d.declarator_of(&l, &format!("{}[2]", v.name));
    let mut edits = renamed(uses, &format!("{}[{index}]", v.name));
    edits.push(replace(l.whole, format!("{} {declarator} = {init};", d.text(l.specs))));
    Some(edits)
}

pub(super) fn into_member(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn into_slot(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn into_object(d: &mut Draw) -> Option<Vec<Edit>> {
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

pub(super) fn into_global(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    if l.list {
        return None;
    }
    let name = d.name();
    let (declarator, mut edits) = d.moved_declaration(&l, &name, uses);
    let function = &d.sites.functions[v.function];
    edits.push(insert(function.span.lo, format!("static {} {declarator};\n", d.text(l.specs))));
    Some(edits)
}

pub(super) fn outwards(d: &mut Draw) -> Option<Vec<Edit>> {
    let (v, l, uses) = d.local()?;
    if l.list {
        return None;
    }
    let name = d.name();
    let (declarator, mut edits) = d.moved_declaration(&l, &name, uses);
    let body = d.sites.functions[v.function].body;
    let zero = if d.random.chance(30) { " = { 0 }" } else { "" };
    edits.push(insert(body.lo + 1, format!(" {} {declarator}{zero};", d.text(l.specs))));
    Some(edits)
}

pub(super) fn uninitialised(d: &mut Draw) -> Option<Vec<Edit>> {
    let (_, l, _) = d.local()?;
    l.init?;
    let (specs, declarator) = (d.text(l.specs), d.text(l.declarator));
    Some(vec![replace(l.whole, format!("{specs} {declarator};"))])
}

pub(super) fn qualifiers(d: &mut Draw) -> Option<Vec<Edit>> {
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

/// A parameter that is lent is given to the function, or the other way round. Calls by name follow
/// in three of four mutants: what was given is null after that, what is lent is freed.
pub(super) fn consume(d: &mut Draw) -> Option<Vec<Edit>> {
    let owned = |v: &Variable| v.local.is_none() && v.shown.contains("unique");
    let v = d.one(&d.sites.variables, owned)?;
    let function = &d.sites.functions[v.function];
    let named = |span: Span| d.text(span).trim_end_matches([']', '[']).ends_with(v.name.as_str());
    let (number, (param, word)) = function.params.iter().enumerate().find(|(_, (span, _))| named(*span))?;
    let mut edits = match word {
        Some(word) => vec![replace(*word, "")],
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
    if d.random.chance(25) {
        return Some(edits);
    }
    let calls = d.sites.expressions.iter().filter(|e| e.callee && e.name.is_some() && e.name == function.name);
    for call in calls {
        let argument = d.sites.arguments.iter().find(|a| a.callee == call.span && a.number == number)?;
        let s = d.sites.statements.iter().rfind(|s| contains(s.span, call.span) && s.function == call.function)?;
        let text = d.text(argument.span);
        let is_path = d.sites.expressions.iter().any(|e| e.span == argument.span && e.simple);
        match (word.is_some(), is_path && s.sort != Sort::Jump) {
            (false, true) => edits.push(insert(s.span.hi, format!(" {text} = nullptr;"))),
            (true, true) => edits.push(insert(s.span.hi, format!(" free({text});"))),
            // What has no owner then would be lost.
            (true, false) if text != "nullptr" => {
                let name = d.name();
                edits.push(insert(s.span.lo, format!("auto {name} = {text}; defer free({name}); ")));
                edits.push(replace(argument.span, name));
            }
            _ => {}
        }
    }
    Some(edits)
}
