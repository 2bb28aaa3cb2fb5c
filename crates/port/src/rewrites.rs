//! What C has in another form: definitions with the types of their parameters after the list, which
//! get a prototype, and `sprintf`, which becomes `snprintf`.

use crate::slots::place_of;
use crate::{Finding, Kind, Place, Unit};
use source::{fix, Applicability, Placed, PlacedFix, Sink, Span, Symbol};
use syntax::ast::{self, Derived};
use syntax::token::Kind as Token;
use typing::types::{ArrayLen, TyKind};

/// The findings of all files.
pub fn findings(units: &[Unit]) -> Vec<Finding> {
    let mut all = vec![];
    for unit in units {
        let items = unit.ast.items.iter().filter(|item| !unit.map.is_system(item.span.lo));
        for item in items {
            if let ast::ItemKind::Function(def) = &item.kind {
                all.extend(prototype(unit, def));
            }
        }
        for (n, at) in unit.unbounded.iter().enumerate() {
            let line = |at: &Span| unit.map.line_at(at.lo);
            let before = unit.unbounded.iter().take(n).filter(|other| line(other) == line(at)).count();
            all.extend(bounded(unit, *at).map(|finding| Finding { part: before, ..finding }));
        }
    }
    // A header is read by several units.
    all.sort_by(|a: &Finding, b| a.fix.cmp(&b.fix));
    all.dedup();
    all
}

fn made(
    unit: &Unit,
    kind: Kind,
    applicability: Applicability,
    words: String,
    name: Span,
    edits: Vec<Placed>,
) -> Finding {
    let fix = PlacedFix { applicability, edits };
    let names = vec![Symbol::new(unit.map.snippet(name))];
    Finding { kind, subjects: vec![place_of(unit, name)], names, part: 0, words, fix, cluster: 0 }.sorted()
}

/// `f(a, b) char *a; int b; { ... }` with the types between the parentheses. Where the declarations
/// stood blanks and comments are left.
fn prototype(unit: &Unit, def: &ast::FunctionDef) -> Option<Finding> {
    let name = def.declarator.name?.span;
    let Some(Derived::Function(list)) = def.declarator.derived.first() else { return None };
    if !list.old_style || list.params.is_empty() {
        return None;
    }
    let mut types: Vec<(Symbol, String)> = vec![];
    let mut edits = vec![];
    let mut before = None;
    for decl in &def.old_style {
        let (text, removed) = declared(unit, decl, before.clone())?;
        before = Some((removed.file.clone(), removed.line, removed.end_column));
        types.extend(text);
        edits.push(removed);
    }
    for param in &list.params {
        let own = param.declarator.name?;
        let mut of = types.iter().filter(|(name, _)| *name == own.name);
        let text = match (of.next(), of.next()) {
            (Some((_, text)), None) => text.clone(),
            // What is not declared is an `int`.
            (None, None) => format!("int {}", own.name),
            _ => return None,
        };
        let at = fix::place(unit.map, own.span)?;
        let (column, end_column) = (at.column, at.end_column);
        edits.push(Placed { file: at.file, line: at.line, column, end_column, text });
    }
    Some(made(unit, Kind::Prototype, Applicability::Sure, "prototype".to_string(), name, edits))
}

/// What a declaration of such parameters says of each, as the user wrote it, and its removal. It
/// begins in its line, or after the one `before`.
fn declared(unit: &Unit, decl: &ast::Decl, before: Option<Place>) -> Option<(Vec<(Symbol, String)>, Placed)> {
    let at = unit.map.locate(decl.span);
    let line = unit.map.source_line(&at.file, at.line)?;
    let own = at.column as usize - 1;
    let earlier = before.filter(|(file, row, _)| *file == at.file && *row == at.line).map_or(0, |b| b.2 as usize - 1);
    // Macros may stand in front that leave nothing.
    let words = line.get(earlier..own)?;
    let is_word = |c: char| c.is_whitespace() || c.is_alphanumeric() || c == '_';
    let mut from = if words.chars().all(is_word) { earlier } else { own };
    from += line.get(from..)?.find(|c: char| !c.is_whitespace())?;
    let mut ends = vec![];
    for d in &decl.declarators {
        let place = unit.map.locate(d.declarator.span);
        let whole = place.macro_name.is_none() && place.line == at.line && place.end_line == at.line;
        ends.push((d.declarator.name?.name, place.column as usize, place.end_column as usize));
        if !whole || place.file != at.file || d.init.is_some() {
            return None;
        }
    }
    let specs = line.get(from..ends.first()?.1.checked_sub(1)?)?;
    // What macros leave out (`FAR`) stands there, too; a comment would not stay one.
    if specs.trim().is_empty() || specs.contains("/*") {
        return None;
    }
    let end = ends.last()?.2 - 1;
    let semicolon = end + line.get(end..)?.find(';')?;
    if !line.get(end..semicolon)?.trim().is_empty() {
        return None;
    }
    let specs = specs.split_whitespace().collect::<Vec<_>>().join(" ");
    let text =
        |&(name, lo, hi): &(Symbol, usize, usize)| Some((name, format!("{specs} {}", line.get(lo - 1..hi - 1)?)));
    let texts = ends.iter().map(text).collect::<Option<Vec<_>>>()?;
    let alone = line.get(..from)?.trim().is_empty() && line.get(semicolon + 1..)?.trim().is_empty();
    let (lo, hi) = if alone { (0, line.len()) } else { (from, semicolon + 1) };
    let (column, end_column) = (lo as u32 + 1, hi as u32 + 1);
    Some((texts, Placed { file: at.file, line: at.line, column, end_column, text: String::new() }))
}

/// `snprintf(to, sizeof to, ...)` for `sprintf(to, ...)`.
fn bounded(unit: &Unit, name: Span) -> Option<Finding> {
    let text = unit.map.text.get(name.lo as usize..)?;
    let call = text.get(..text.find(';')?)?;
    let tokens = syntax::lexer::lex(call, &mut Sink::default()).all;
    let mut depth = 0;
    let mut comma = None;
    for (n, token) in tokens.iter().enumerate().skip(1) {
        match token.kind {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::Comma if depth == 1 => comma = comma.or(Some(n)),
            _ => {}
        }
    }
    let comma = comma?;
    let (first, last) = (tokens.get(2)?, tokens.get(comma.checked_sub(1)?)?);
    let target = call.get(first.lo as usize..last.hi as usize)?;
    // What is written twice is computed twice.
    let steps = tokens.get(2..comma)?.windows(2).any(|pair| {
        matches!(pair[0].kind, Token::PlusPlus | Token::MinusMinus)
            || matches!(pair[1].kind, Token::PlusPlus | Token::MinusMinus)
            || pair[1].kind == Token::LParen && pair[0].kind == Token::Ident
    });
    if steps || target.contains('\n') {
        return None;
    }
    let is_array = comma == 3 && is_array(unit, name, first.name);
    let size = if is_array { format!("sizeof {target}, ") } else { format!("lengthof({target}), ") };
    let format = tokens.get(comma + 1)?;
    let called = fix::place(unit.map, name)?;
    let after = fix::place(unit.map, Span::new(name.lo + format.lo, name.lo + format.hi))?;
    let safe = format!("{}n{}", if unit.map.snippet(name).starts_with('v') { "vs" } else { "s" }, "printf");
    let edits = vec![
        Placed {
            file: called.file,
            line: called.line,
            column: called.column,
            end_column: called.end_column,
            text: safe,
        },
        Placed {
            file: after.file,
            line: after.line,
            column: after.column,
            end_column: after.column,
            text: size.clone(),
        },
    ];
    let applicability = if is_array { Applicability::Sure } else { Applicability::Likely };
    Some(made(unit, Kind::Bounded, applicability, size, name, edits))
}

/// Whether a name at a place is that of an array whose length is known.
fn is_array(unit: &Unit, at: Span, name: Symbol) -> bool {
    let array = |ty| matches!(unit.tree.types.kind(ty), TyKind::Array { len: ArrayLen::Const(_), .. });
    let around = |item: &&ast::Item| item.span.lo <= at.lo && at.lo <= item.span.hi;
    let Some(item) = unit.ast.items.iter().find(around) else { return false };
    let function =
        unit.tree.functions.iter().find(|f| item.span.lo <= f.span.lo && f.span.lo <= item.span.hi && f.body.is_some());
    let locals = function.and_then(|f| f.body.as_ref()).map(|body| body.locals.as_slice()).unwrap_or_default();
    let named = || locals.iter().filter(|local| local.name == Some(name));
    // Another block may have one of the same name.
    let statics = || unit.tree.globals.iter().filter(|g| g.name == name);
    let types: Vec<_> = named().map(|l| l.ty.ty).chain(statics().map(|g| g.ty.ty)).collect();
    !types.is_empty() && types.into_iter().all(array)
}
