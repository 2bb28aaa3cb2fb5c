//! Each program that is refused because something is lent has a twin that is not: the one without
//! the later use that the message names. So a loan is in force as long as it is used, and no
//! longer.
//!
//! The twin is made from the message: in the span of "`end` is used here, so it is lent until then"
//! the variable is replaced by a null pointer of its type. That is done until no message at this
//! place says so, for there may be further uses. Then nothing at the place is an L0509.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::{files, lee, root, run};

/// A report of `lee check --message-format json`, as far as it matters here.
struct Report {
    code: String,
    line: usize,
    /// The variable, and where it is used.
    used: Option<(String, Span)>,
}

/// Lines and columns from 1; the end is exclusive.
#[derive(Clone, Copy)]
struct Span {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// Uses that are removed from one program, at most.
const ROUNDS: usize = 100;

fn span_of(label: &serde_json::Value) -> Span {
    let number = |key: &str| label[key].as_u64().expect("a number") as usize;
    Span {
        line: number("line"),
        column: number("column"),
        end_line: number("end_line"),
        end_column: number("end_column"),
    }
}

fn check(file: &Path) -> Vec<Report> {
    let ran = run(Command::new(lee()).args(["check", "--message-format", "json"]).arg(file));
    let lines = ran.err.lines().chain(ran.out.lines()).filter(|l| l.starts_with('{'));
    lines
        .map(|line| {
            let report: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let labels = report["labels"].as_array().cloned().unwrap_or_default();
            let used = labels.iter().find_map(|label| {
                let text = label["message"].as_str()?.strip_suffix(" is used here, so it is lent until then")?;
                Some((text.trim_matches('`').to_string(), span_of(label)))
            });
            let code = report["code"].as_str().unwrap_or_default().to_string();
            Report { code, line: report["line"].as_u64().unwrap_or(0) as usize, used }
        })
        .collect()
}

/// Replaces the variable in the span by a null pointer of its type; none if it is not written
/// there.
fn without_use(source: &[String], name: &str, at: Span) -> Option<Vec<String>> {
    let mut twin = source.to_vec();
    let mut found = false;
    for n in at.line..=at.end_line {
        let line = source.get(n - 1)?;
        let from = if n == at.line { at.column - 1 } else { 0 };
        let to = if n == at.end_line { (at.end_column - 1).min(line.len()) } else { line.len() };
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let starts: Vec<usize> = line
            .match_indices(name)
            .map(|(i, _)| i)
            .filter(|&i| i >= from && i + name.len() <= to)
            .filter(|&i| {
                let before = line[..i].chars().next_back();
                !is_word(before)
                    && !matches!(before, Some('.' | '>'))
                    && !is_word(line[i + name.len()..].chars().next())
            })
            .collect();
        let text = twin.get_mut(n - 1)?;
        for &i in starts.iter().rev() {
            text.replace_range(i..i + name.len(), &format!("({{ typeof({name}) twin_ = {{}}; twin_; }})"));
            found = true;
        }
    }
    found.then_some(twin)
}

/// The twins of one program: how many there are, and what is wrong with them.
fn twins_of(file: &Path, scratch: &Path, wrong: &mut Vec<String>) -> usize {
    let text = fs::read_to_string(file).expect("the program");
    let mut source: Vec<String> = text.lines().map(str::to_string).collect();
    let mut reports = check(file);
    let first: BTreeSet<usize> = reports.iter().filter(|r| r.used.is_some()).map(|r| r.line).collect();
    let mut skipped = BTreeSet::new();
    for _ in 0..ROUNDS {
        let uses = reports.iter().filter(|r| first.contains(&r.line) && !skipped.contains(&r.line));
        let Some((line, (name, at))) = uses.filter_map(|r| Some((r.line, r.used.clone()?))).next() else { break };
        let made = without_use(&source, &name, at).map(|twin| {
            fs::write(scratch, twin.join("\n")).expect("written");
            (twin, check(scratch))
        });
        // What stands there may be no value, or one that cannot be null.
        let is_typed = |reports: &[Report]| {
            !reports.iter().any(|r| (at.line..=at.end_line).contains(&r.line) && r.code.as_str() < "L05")
        };
        match made.filter(|(_, reports)| is_typed(reports)) {
            Some((twin, checked)) => (source, reports) = (twin, checked),
            None => drop(skipped.insert(line)),
        }
    }
    let left: BTreeSet<usize> = reports.iter().filter(|r| r.code == "L0509").map(|r| r.line).collect();
    for line in first.iter().filter(|l| !skipped.contains(l) && left.contains(l)) {
        wrong.push(format!("{}:{line}", file.display()));
    }
    first.len() - skipped.len()
}

#[test]
fn what_is_lent_is_not_without_its_later_use() {
    let scratch = std::env::temp_dir().join(format!("lee-twins-{}.lee", std::process::id()));
    let mut wrong = vec![];
    let mut twins = 0;
    for folder in ["reject", "attack", "rules", "library"] {
        for file in files(&root().join("tests").join(folder), "lee") {
            let told = fs::read_to_string(file.with_extension("stderr")).unwrap_or_default();
            if told.contains("so it is lent until then") {
                twins += twins_of(&file, &scratch, &mut wrong);
            }
        }
    }
    let _ = fs::remove_file(&scratch);
    assert!(wrong.is_empty(), "still lent without a later use: {wrong:#?}");
    assert!(twins >= 80, "{twins} twins");
}
