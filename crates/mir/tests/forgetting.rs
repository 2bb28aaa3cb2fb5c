//! No silent forgetting: a pattern that names a variant of a statement, terminator, value, check,
//! projection or borrow stands in an exhaustive `match`. Where `_`, `if let`, `let ... else` or
//! `matches!` is used instead, a new variant is passed over without a word.
//!
//! Ask a question that MIR answers once (`mir/questions.rs`, `mir/forms.rs`, `mir::effects`), or
//! write the match out. The few places that do neither stand in `forgetting.txt`, by file, with the
//! reason why a variant that is forgotten there does no harm. `MIR_BLESS=1` writes lower counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// `Way` and `Action` are groups of the others.
const ENUMS: [&str; 8] = ["StmtKind", "TermKind", "Rvalue", "Check", "Proj", "BorrowKind", "Way", "Action"];

/// What reads MIR's text names the variants that it means. `syntax` and `port` have enums of these
/// names of their own: the statements of the trees.
const MAKERS: [&str; 3] = ["crates/mir/src/parse", "crates/syntax/src", "crates/port/src"];

/// How to lend is decided in `typing`; the other enums of these names are the trees' there.
const LENDS: [&str; 1] = ["BorrowKind"];

/// The names that count in a file.
fn enums(file: &str) -> &'static [&'static str] {
    match file.starts_with("crates/typing/src") {
        true => &LENDS,
        false => &ENUMS,
    }
}

struct Places {
    lines: Vec<usize>,
    enums: &'static [&'static str],
}

impl Places {
    fn note(&mut self, at: proc_macro2::Span) {
        self.lines.push(at.start().line);
    }

    fn names_variant(&self, pattern: &syn::Pat) -> bool {
        let mut names = Names { found: false, enums: self.enums };
        names.visit_pat(pattern);
        names.found
    }
}

/// Whether a pattern names a variant.
struct Names {
    found: bool,
    enums: &'static [&'static str],
}

impl<'a> Visit<'a> for Names {
    fn visit_path(&mut self, path: &'a syn::Path) {
        let mut words = path.segments.iter().rev().skip(1);
        let variant = words.next().is_some_and(|word| self.enums.iter().any(|name| word.ident == name));
        // The statements of the typed tree.
        let is_tree = words.next().is_some_and(|word| word.ident == "tree");
        self.found |= variant && !is_tree;
    }
}

/// Whether a pattern fits every value.
fn fits_all(pattern: &syn::Pat) -> bool {
    match pattern {
        syn::Pat::Wild(_) => true,
        syn::Pat::Ident(ident) => {
            ident.subpat.is_none() && ident.ident.to_string().starts_with(|c: char| c.is_lowercase() || c == '_')
        }
        syn::Pat::Tuple(parts) => parts.elems.iter().all(fits_all),
        syn::Pat::Reference(inner) => fits_all(&inner.pat),
        syn::Pat::Or(cases) => cases.cases.iter().any(fits_all),
        _ => false,
    }
}

impl<'a> Visit<'a> for Places {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        let tests = item.attrs.iter().any(|a| a.path().is_ident("cfg"));
        if !tests {
            syn::visit::visit_item_mod(self, item);
        }
    }
    fn visit_expr_match(&mut self, found: &'a syn::ExprMatch) {
        if found.arms.iter().any(|arm| self.names_variant(&arm.pat)) && found.arms.iter().any(|arm| fits_all(&arm.pat))
        {
            self.note(found.match_token.span);
        }
        syn::visit::visit_expr_match(self, found);
    }
    fn visit_expr_let(&mut self, found: &'a syn::ExprLet) {
        if self.names_variant(&found.pat) {
            self.note(found.let_token.span);
        }
        syn::visit::visit_expr_let(self, found);
    }
    fn visit_local(&mut self, found: &'a syn::Local) {
        if self.names_variant(&found.pat) {
            self.note(found.let_token.span);
        }
        syn::visit::visit_local(self, found);
    }
    fn visit_macro(&mut self, found: &'a syn::Macro) {
        let text = found.tokens.to_string();
        let matches = found.path.is_ident("matches") || text.contains("matches !");
        // A list of views of one form each: what the macro makes of it has wildcards.
        let views = found.path.is_ident("forms");
        if (matches || views) && self.enums.iter().any(|name| text.contains(&format!("{name} ::"))) {
            self.note(found.path.segments[0].ident.span());
        }
    }
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// The most places that may be listed.
const MOST: usize = 30;

/// The lines of the list: how many places a file has, and why.
fn listed(text: &str) -> BTreeMap<&str, (usize, &str)> {
    text.lines()
        .map(|line| {
            let (count, rest) = line.split_once(' ').expect("a count");
            let (file, reason) = rest.split_once(": ").expect("a reason");
            (file, (count.parse().expect("a count"), reason))
        })
        .collect()
}

#[test]
fn variants_stand_in_exhaustive_matches() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/forgetting.txt");
    let mut files = vec![];
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut now: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if MAKERS.iter().any(|maker| name.starts_with(maker)) || name.ends_with("tests.rs") || name.contains("/tests/")
        {
            continue;
        }
        let mut places = Places { lines: vec![], enums: enums(&name) };
        places.visit_file(&syn::parse_file(&std::fs::read_to_string(&file).unwrap()).unwrap());
        if !places.lines.is_empty() {
            now.insert(name, places.lines);
        }
    }
    let text = std::fs::read_to_string(&list).unwrap();
    let listed = listed(&text);
    if std::env::var_os("MIR_BLESS").is_some() {
        // What is listed, where there are fewer now.
        let lines = now.iter().filter_map(|(file, places)| {
            let (most, reason) = listed.get(file.as_str())?;
            Some(format!("{} {file}: {reason}\n", places.len().min(*most)))
        });
        std::fs::write(&list, lines.collect::<String>()).unwrap();
        return;
    }
    let mut wrong = vec![];
    for (file, places) in &now {
        let most = listed.get(file.as_str()).map_or(0, |(most, _)| *most);
        if places.len() > most {
            wrong.push(format!("{file} has {} such places, {most} are listed: lines {places:?}", places.len()));
        }
    }
    for (file, (most, reason)) in &listed {
        let there = now.get(*file).map_or(0, Vec::len);
        if there < *most {
            wrong.push(format!("{file} has {there}, {most} are listed: run with MIR_BLESS=1"));
        }
        if reason.len() < 20 {
            wrong.push(format!("{file}: a reason is missing"));
        }
    }
    let all: usize = listed.values().map(|(most, _)| most).sum();
    assert!(all <= MOST, "{all} places are listed, {MOST} may be");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
