//! Takes from a preprocessed program what nothing in it can need: declarations of headers that
//! neither its own text nor an operator names. Most of a program is headers, and each mutant goes
//! through all passes; so this is done once, and the passes have little left to do.
//!
//! An item of a header is needed if it declares a word that occurs in the program's own text, in
//! the operators' sources, or in an item that is needed. The caller looks whether the program is
//! still the same.

use crate::corpus::is_marker;
use crate::operators;
use source::{Span, Symbol};
use std::collections::{HashMap, HashSet};
use syntax::ast::*;

/// What programs call without its name: typing gives views to `%.*s` by it, if it is declared.
const UNNAMED: &str = "lee_string_within";

/// The text without the items before `own` that are not needed, and where its own part begins now.
/// `unit` is the text's tree.
pub fn pruned(text: &str, own: u32, unit: &Unit) -> (String, u32) {
    let candidates: Vec<&Item> = unit.items.iter().filter(|item| item.span.hi <= own).collect();
    let mut declarers: HashMap<Symbol, Vec<usize>> = HashMap::new();
    let mut declarations = Declarations::default();
    for (number, item) in candidates.iter().enumerate() {
        declarations.item(item);
        declarations.0.drain(..).for_each(|name| declarers.entry(name).or_default().push(number));
    }
    let mut kept = vec![false; candidates.len()];
    let mut texts = vec![&text[own as usize..]];
    texts.extend(operators::SOURCES);
    texts.push(UNNAMED);
    for (number, item) in candidates.iter().enumerate() {
        if matches!(item.kind, ItemKind::Asm(_)) {
            kept[number] = true;
            texts.push(&text[item.span.lo as usize..item.span.hi as usize]);
        }
    }
    let mut seen = HashSet::new();
    while let Some(next) = texts.pop() {
        for word in words(next).filter(|word| seen.insert(*word)) {
            for &number in declarers.get(&Symbol::new(word)).into_iter().flatten() {
                if !std::mem::replace(&mut kept[number], true) {
                    let span = candidates[number].span;
                    texts.push(&text[span.lo as usize..span.hi as usize]);
                }
            }
        }
    }
    // Of a wrapper there are two items of one span.
    let needed: HashSet<Span> = candidates.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(i, _)| i.span).collect();
    let mut gone: Vec<Span> = candidates.iter().map(|item| item.span).filter(|span| !needed.contains(span)).collect();
    gone.sort_by_key(|span| span.lo);
    gone.dedup();
    let mut head = String::new();
    let mut at = 0;
    for span in gone.into_iter().filter(|span| span.lo < span.hi) {
        if (span.lo as usize) < at {
            continue;
        }
        let before = &text[at..span.lo as usize];
        head.push_str(before);
        // The item may be all that a linkage is about.
        if before.trim_end().ends_with("extern \"C\"") {
            head.push_str(" { }");
        }
        let inside = &text[span.lo as usize..span.hi as usize];
        for line in inside.lines().skip(1).filter(|line| line.starts_with('#')) {
            head.push('\n');
            head.push_str(line);
            head.push('\n');
        }
        at = span.hi as usize;
    }
    head.push_str(&text[at..own as usize]);
    let mut out = without_empty_files(&head);
    let begins = out.len() as u32;
    out.push_str(&text[own as usize..]);
    (out, begins)
}

/// Leaves out lines with nothing on them, files with nothing in them, and markers that are followed
/// by markers. What stands before the program's own text keeps its file, not its line.
fn without_empty_files(text: &str) -> String {
    let mut lines: Vec<String> = vec![];
    for line in text.lines() {
        if line.trim().is_empty() || line.trim() == ";" {
            continue;
        }
        let mut line = line.to_string();
        if is_marker(&line) {
            if flags(&line).contains(&"2") {
                // Back to the marker that entered the file, if nothing else stands between.
                let plain =
                    lines.iter().rev().take_while(|l| is_marker(l) && flags(l).iter().all(|f| *f == "3")).count();
                let entered = lines.len().checked_sub(plain + 1);
                if let Some(at) = entered.filter(|&at| is_marker(&lines[at]) && flags(&lines[at]).contains(&"1")) {
                    lines.truncate(at);
                    line = without_leave(&line);
                }
            }
            let plain = |l: &str| is_marker(l) && flags(l).iter().all(|f| *f == "3");
            if plain(&line) && lines.last().is_some_and(|last| plain(last)) {
                lines.pop();
            }
        }
        lines.push(line);
    }
    lines.iter().fold(String::with_capacity(text.len()), |all, line| all + line + "\n")
}

/// The flags of a marker.
fn flags(marker: &str) -> Vec<&str> {
    marker.rsplit('"').next().unwrap_or("").split_whitespace().collect()
}

/// The marker without the flag that leaves a file.
fn without_leave(marker: &str) -> String {
    let end = marker.rfind('"').map_or(marker.len(), |at| at + 1);
    let rest: Vec<&str> = flags(marker).into_iter().filter(|flag| *flag != "2").collect();
    format!("{} {}", &marker[..end], rest.join(" ")).trim_end().to_string()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Names that items declare.
#[derive(Default)]
struct Declarations(Vec<Symbol>);

impl Declarations {
    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Decl(decl) => {
                self.specs(&decl.specs, decl.declarators.is_empty());
                decl.declarators.iter().for_each(|d| self.declarator(&d.declarator));
            }
            ItemKind::Function(def) => {
                self.specs(&def.specs, false);
                self.declarator(&def.declarator);
            }
            ItemKind::Contract(def) => self.0.push(def.name.name),
            ItemKind::StaticAssert(_) | ItemKind::Asm(_) => {}
        }
    }

    fn declarator(&mut self, d: &Declarator) {
        self.0.extend(d.name.map(|name| name.name));
        for step in &d.derived {
            if let Derived::Function(list) = step {
                list.params.iter().for_each(|param| self.specs(&param.specs, false));
            }
        }
    }

    /// `alone`: without a declarator, so that a tag without members is declared, too.
    fn specs(&mut self, specs: &DeclSpecs, alone: bool) {
        match &specs.ty {
            TypeSpec::Record(record) => {
                if record.fields.is_some() || alone {
                    self.0.extend(record.tag.map(|tag| tag.name));
                }
                for field in record.fields.iter().flatten() {
                    if let FieldItem::Fields(fields) = field {
                        self.specs(&fields.specs, false);
                    }
                }
            }
            TypeSpec::Enum(e) => {
                self.0.extend(e.tag.map(|tag| tag.name));
                self.0.extend(e.items.iter().flatten().map(|item| item.name.name));
            }
            _ => {}
        }
    }
}
