//! The pages of the documentation: every block of code says what it is, and does what it says.
//!
//! | fence | meaning |
//! | --- | --- |
//! | ` ```lee accept ` | compiles without a report but that something is never used |
//! | ` ```lee warn CODE... ` | compiles with warnings of these codes and no others |
//! | ` ```lee reject CODE... ` | has errors of these codes and no others; if lines have a comment that begins with `error`, on exactly these lines |
//! | ` ```lee run `, ` ```lee run status N ` | ends with status 0, or N, and prints what the next block, ` ```text output `, shows; without one, nothing |
//! | ` ```lee fault WORD... ` | ends with a fault whose message contains the words, on the line whose comment begins with `fault`; without one, in a header |
//! | ` ```c accept ` | is accepted as plain C |
//! | ` ```c run ` | compiled by the C compiler, does what the next block, ` ```lee run `, does |
//! | ` ```c part ` | is linked with the next block, ` ```lee run ` |
//! | ` ```text input ` | what the two blocks before it read |
//! | ` ```lee fragment `, ` ```c fragment ` | cannot stand alone, and is not compiled |
//! | ` ```sh `, ` ```text `, ` ```diff ` | is no program |
//!
//! Words that begin with `-` after the kind are options for `lee`. What the reader need not see
//! stands in comments before the block: `<!-- before`, lines that come before its own, `-->`,
//! and `<!-- after` likewise.
//!
//! The pages of errors have rules of their own: see `errors.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use libtest_mimic::{Arguments, Trial};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{field, files, fresh, lee_in, root, Ran};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![];
    for file in pages() {
        let name = file.strip_prefix(root()).unwrap().with_extension("").to_string_lossy().replace('/', "-");
        let blocks = match blocks(&fs::read_to_string(&file).unwrap()) {
            Ok(blocks) => blocks,
            Err(e) => {
                trials.push(Trial::test(name, move || Err(e.into())));
                continue;
            }
        };
        let (runs, checks): (Vec<Block>, Vec<Block>) =
            blocks.into_iter().partition(|b| matches!(b.kind, Kind::Run { .. } | Kind::Fault(_)));
        for block in runs {
            let name = format!("{name} line {}", block.line);
            trials.push(Trial::test(name.clone(), move || run(&block, &name).map_err(Into::into)));
        }
        trials.push(Trial::test(name.clone(), move || check(&checks, &name).map_err(Into::into)));
    }
    trials.push(Trial::test("contents", || contents().map_err(Into::into)));
    libtest_mimic::run(&arguments, trials).exit();
}

/// The table of contents has all pages, the error index all codes, and every link leads to a file.
fn contents() -> Result<(), String> {
    let docs = root().join("docs");
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let mut wrong = vec![];
    let summary = read(&docs.join("SUMMARY.md"))?;
    let index = read(&docs.join("errors.md"))?;
    for code in driver::commands::codes() {
        if !index.contains(&format!("(errors/{}.md)", code.id)) {
            wrong.push(format!("docs/errors.md does not list {}", code.id));
        }
    }
    for page in pages().into_iter().chain(files(&docs.join("errors"), "md")) {
        let name = page.strip_prefix(&docs).ok().filter(|name| *name != Path::new("SUMMARY.md"));
        if let Some(name) = name.filter(|name| !summary.contains(&format!("({})", name.display()))) {
            wrong.push(format!("docs/SUMMARY.md does not list {}", name.display()));
        }
        let mut in_code = false;
        for line in read(&page)?.lines() {
            in_code ^= line.trim_start().starts_with("```");
            // Odd parts stand between backticks.
            let text: String = line.split('`').step_by(2).collect();
            let links = text.match_indices("](").filter_map(|(at, _)| text.get(at + 2..)?.split([')', '#']).next());
            let missing = |link: &&str| {
                !link.is_empty()
                    && !link.contains("://")
                    && !page.parent().is_some_and(|folder| folder.join(link).exists())
            };
            for link in links.filter(|_| !in_code).filter(missing) {
                wrong.push(format!("{}: the link to {link} leads nowhere", page.display()));
            }
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// All pages but those of errors.
fn pages() -> Vec<PathBuf> {
    let folders = [
        "",
        "docs",
        "docs/reference",
        "docs/reference/library",
        "docs/internals",
        "library",
        "runtime",
        "bench",
        "bench/library",
    ];
    let mut pages: Vec<PathBuf> = folders.iter().flat_map(|folder| files(&root().join(folder), "md")).collect();
    for example in fs::read_dir(root().join("examples")).unwrap().flatten() {
        pages.extend(files(&example.path(), "md"));
    }
    pages
}

/// What a block promises.
#[derive(Clone, PartialEq)]
enum Kind {
    Accept,
    Warn(BTreeSet<String>),
    Reject(BTreeSet<String>),
    Run { status: i32, input: String, output: String },
    Fault(String),
}

impl Kind {
    fn run(status: i32) -> Kind {
        Kind::Run { status, input: String::new(), output: String::new() }
    }
}

struct Block {
    kind: Kind,
    options: Vec<String>,
    /// `lee` or `c`.
    language: &'static str,
    /// The line of the page that the fence stands on.
    line: usize,
    /// How many lines of `text` come before the block's own.
    hidden: usize,
    /// The file of C that is linked with it.
    part: Option<String>,
    /// The program, with what is hidden.
    text: String,
}

impl Block {
    /// The program's lines whose comment begins with this word.
    fn marked(&self, word: &str) -> BTreeSet<usize> {
        let mark = format!("// {word}");
        let lines = self.text.lines().enumerate();
        lines.filter(|(_, line)| line.contains(&mark)).map(|(n, _)| n + 1).collect()
    }

    /// Where a line of the program stands on the page.
    fn on_page(&self, line: usize) -> usize {
        (self.line + line).saturating_sub(self.hidden)
    }
}

/// The blocks of a page that are compiled.
fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut all: Vec<Block> = vec![];
    let (mut before, mut after) = (String::new(), String::new());
    let mut part = None;
    // Whether an output block may follow.
    let mut ran = false;
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut rest_until = |end: &str| -> String {
            lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| line.trim() != end)
                .map(|l| format!("{l}\n"))
                .collect()
        };
        match line {
            "<!-- before" => before = rest_until("-->"),
            "<!-- after" => after = rest_until("-->"),
            _ => {}
        }
        let Some(info) = line.trim_start().strip_prefix("```") else {
            ran &= line.trim().is_empty();
            continue;
        };
        let indent = line.len() - line.trim_start().len();
        let own: String =
            rest_until("```").lines().map(|l| format!("{}\n", l.get(indent..).unwrap_or_default())).collect();
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default();
        let kind = words.next().unwrap_or_default();
        let (options, arguments): (Vec<String>, Vec<String>) =
            words.map(str::to_string).partition(|w| w.starts_with('-'));
        let codes = arguments.iter().cloned().collect();
        let kind = match (language, kind) {
            ("sh" | "diff" | "text", "") | ("lee" | "c", "fragment") => None,
            ("text", "output" | "input") if ran => {
                // The program in C before it does the same.
                let is_c = |b: &Block| b.language == "c" && matches!(b.kind, Kind::Run { .. });
                let pair = if all.iter().rev().nth(1).is_some_and(is_c) { 2 } else { 1 };
                for block in all.iter_mut().rev().take(pair) {
                    if let Kind::Run { input, output, .. } = &mut block.kind {
                        *(if kind == "output" { output } else { input }) = own.clone();
                    }
                }
                ran = kind == "input";
                continue;
            }
            ("text", "output" | "input") => {
                return Err(format!("line {}: {kind} without a block 'lee run' before it", number + 1))
            }
            ("c", "part") => {
                part = Some(own);
                continue;
            }
            ("c", "run") => Some(Kind::run(0)),
            ("lee" | "c", "accept") => Some(Kind::Accept),
            ("lee", "warn") => Some(Kind::Warn(codes)),
            ("lee" | "c", "reject") => Some(Kind::Reject(codes)),
            ("lee", "run") => match arguments.as_slice() {
                [] => Some(Kind::run(0)),
                [word, status] if word == "status" => {
                    let status = status.parse().map_err(|_| format!("line {}: '{status}' is no status", number + 1))?;
                    Some(Kind::run(status))
                }
                _ => return Err(format!("line {}: 'lee run' or 'lee run status N' is meant", number + 1)),
            },
            ("lee", "fault") => Some(Kind::Fault(arguments.join(" "))),
            _ => {
                let what = "say what it is: lee accept, warn, reject, run, fault or fragment; c accept or fragment; sh, text or diff";
                return Err(format!("line {}: '```{info}' is not known: {what}", number + 1));
            }
        };
        ran = matches!(kind, Some(Kind::Run { .. }));
        if matches!(&kind, Some(Kind::Warn(codes) | Kind::Reject(codes)) if codes.is_empty())
            || kind == Some(Kind::Fault(String::new()))
        {
            return Err(format!(
                "line {}: '```{info}' lacks the code of the report, or a word of the fault",
                number + 1
            ));
        }
        let hidden = std::mem::take(&mut before);
        let text = format!("{hidden}{own}{}", std::mem::take(&mut after));
        if let Some(kind) = kind {
            let language = if language == "c" { "c" } else { "lee" };
            let part = part.take_if(|_| language == "lee");
            let hidden = hidden.lines().count();
            all.push(Block { kind, options, language, line: number + 1, hidden, part, text });
        }
    }
    if before.is_empty() && after.is_empty() {
        Ok(all)
    } else {
        Err("a comment 'before' or 'after' has no block".to_string())
    }
}

/// A report of `lee check`.
struct Report {
    is_error: bool,
    code: String,
    line: usize,
    text: String,
}

/// Checks the blocks of a page, those with the same options in one process.
fn check(blocks: &[Block], name: &str) -> Result<(), String> {
    let folder = fresh(&format!("page-{name}"));
    let mut wrong = vec![];
    let options: BTreeSet<&[String]> = blocks.iter().map(|b| b.options.as_slice()).collect();
    for options in options {
        let group: Vec<(String, &Block)> = blocks
            .iter()
            .filter(|b| b.options == options)
            .map(|b| (format!("line{}.{}", b.line, b.language), b))
            .collect();
        for (file, block) in &group {
            fs::write(folder.join(file), &block.text).map_err(|e| e.to_string())?;
        }
        let mut words = vec!["check", "--message-format", "json"];
        words.extend(options.iter().map(String::as_str));
        words.extend(group.iter().map(|(file, _)| file.as_str()));
        let ran = lee_in(&folder, &words);
        if ran.status > 1 {
            return Err(format!("lee check ends with {}: {}", ran.status, ran.err));
        }
        for (file, block) in &group {
            if let Err(e) = judge(block, &reports(&ran, file)) {
                wrong.push(format!("line {}: {e}", block.line));
            }
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// The reports on a file; that something is never used is not a mistake in an example.
fn reports(ran: &Ran, file: &str) -> Vec<Report> {
    let of_file = ran.out.lines().filter(|line| field(line, "file").is_some_and(|f| f == file));
    let all = of_file.map(|line| {
        let text = |key| field(line, key).unwrap_or_default();
        Report {
            is_error: text("level") == "error",
            code: text("code"),
            line: text("line").parse().unwrap_or(0),
            text: text("message"),
        }
    });
    all.filter(|report| report.code != "L0232").collect()
}

fn judge(block: &Block, reports: &[Report]) -> Result<(), String> {
    let all = || -> String {
        reports.iter().map(|r| format!("\n    {} on line {}: {}", r.code, block.on_page(r.line), r.text)).collect()
    };
    let codes =
        |errors| reports.iter().filter(|r| r.is_error == errors).map(|r| r.code.clone()).collect::<BTreeSet<_>>();
    let none = BTreeSet::new();
    let (errors, warnings) = match &block.kind {
        Kind::Warn(codes) => (&none, codes),
        Kind::Reject(codes) => (codes, &none),
        Kind::Accept | Kind::Run { .. } | Kind::Fault(_) => (&none, &none),
    };
    if codes(true) != *errors || (errors.is_empty() && codes(false) != *warnings) {
        return Err(format!("errors {errors:?} and warnings {warnings:?} are expected; the reports are:{}", all()));
    }
    let marked = block.marked("error");
    let lines: BTreeSet<usize> = reports.iter().filter(|r| r.is_error).map(|r| r.line).collect();
    if !marked.is_empty() && marked != lines {
        return Err(format!("the errors are not on the lines that are marked:{}", all()));
    }
    Ok(())
}

/// Compiles and runs the program in C in a folder.
fn run_c(folder: &Path, input: &str) -> Result<Ran, String> {
    let mut cc = Command::new("cc");
    let made = support::run(cc.current_dir(folder).args(["-std=gnu17", "-w", "-o", "example", "example.c"]));
    match made.status {
        0 => Ok(support::run_with(&mut Command::new(folder.join("example")), input)),
        _ => Err(format!("the C compiler rejects it: {}", made.err)),
    }
}

fn run_lee(block: &Block, folder: &Path, input: &str) -> Result<Ran, String> {
    let options = block.options.iter().map(String::as_str);
    let Some(part) = &block.part else {
        let words: Vec<&str> = std::iter::once("run").chain(options).chain(["example.lee"]).collect();
        return Ok(support::lee_in_with(folder, &words, input));
    };
    fs::write(folder.join("part.c"), part).map_err(|e| e.to_string())?;
    let words: Vec<&str> = ["build", "-o", "example"].into_iter().chain(options).collect();
    let made = lee_in(folder, &[words.as_slice(), &["example.lee", "part.c"]].concat());
    match made.status {
        0 => Ok(support::run_with(&mut Command::new(folder.join("example")), input)),
        _ => Ok(made),
    }
}

/// Compiles and runs a block.
fn run(block: &Block, name: &str) -> Result<(), String> {
    let folder = fresh(&format!("page-{}", name.replace(' ', "-")));
    let file = folder.join(format!("example.{}", block.language));
    fs::write(&file, &block.text).map_err(|e| e.to_string())?;
    let ran = match &block.kind {
        Kind::Run { input, .. } if block.language == "c" => run_c(&folder, input)?,
        Kind::Run { input, .. } => run_lee(block, &folder, input)?,
        _ => run_lee(block, &folder, "")?,
    };
    match &block.kind {
        Kind::Run { status, output, .. } => {
            if ran.status != *status || ran.out.trim_end() != output.trim_end() {
                return Err(format!("status {}, output:\n{}\nerrors:\n{}", ran.status, ran.out, ran.err));
            }
        }
        Kind::Fault(word) => {
            let report = ran.err.lines().find_map(|line| line.split_once(": fault: "));
            let Some((place, message)) = report.filter(|_| ran.status == 134) else {
                return Err(format!("no fault, status {}: {}", ran.status, ran.err));
            };
            // A fault in a header of the library has no line here.
            let line = place.strip_prefix("example.lee:").and_then(|place| place.split(':').next()?.parse().ok());
            if !message.contains(word.as_str()) {
                return Err(format!("the fault is '{message}', not one of '{word}'"));
            }
            if block.marked("fault") != line.into_iter().collect() {
                let place = line.map_or(place.to_string(), |line| format!("line {}", block.on_page(line)));
                return Err(format!("the fault is at {place}, and that is not what is marked: {message}"));
            }
        }
        Kind::Accept | Kind::Warn(_) | Kind::Reject(_) => {}
    }
    Ok(())
}
