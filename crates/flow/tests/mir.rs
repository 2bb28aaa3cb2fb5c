//! Runs the MIR files of `tests/mir` through all passes.
//!
//! A file holds cases after `//--- name`; the text before the first is put before each.
//! `//~ CODE words` at the end of a line expects a report there whose message holds the words;
//! there must be no others. `//> stmt` and `//< stmt`: the body that comes out has, or has not, a
//! line that reads so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use source::{Diagnostic, Sink};
use std::path::Path;

fn cases(text: &str) -> Vec<(String, String)> {
    let mut parts = text.split("//---");
    let prelude = parts.next().unwrap_or("").to_string();
    let case = |part: &str| {
        let (name, body) = part.split_once('\n').unwrap_or((part, ""));
        (name.trim().to_string(), format!("{prelude}{body}"))
    };
    parts.map(case).collect()
}

fn line_of(text: &str, at: u32) -> usize {
    text.bytes().take(at as usize).filter(|&b| b == b'\n').count() + 1
}

fn check_case(name: &str, text: &str) -> Vec<String> {
    let mut program = match mir::parse::program(text) {
        Ok(program) => program,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let mut sink = Sink::default();
    let report = flow::check(&mut program, &mut sink, flow::Options { verify: true, ..flow::Options::default() });
    let mut wrong: Vec<String> = report.verify.iter().map(|e| format!("{name}: verifier: {e}")).collect();
    let mut left: Vec<&Diagnostic> = sink.all.iter().collect();
    for (n, line) in text.lines().enumerate() {
        let Some((_, want)) = line.split_once("//~ ") else { continue };
        let (code, words) = want.split_once(' ').unwrap_or((want, ""));
        let found = left
            .iter()
            .position(|d| line_of(text, d.span.lo) == n + 1 && d.code.id == code && d.message.contains(words.trim()));
        match found {
            Some(at) => drop(left.remove(at)),
            None => wrong.push(format!("{name}: line {}: expected {want}", n + 1)),
        }
    }
    for d in left {
        wrong.push(format!("{name}: line {}: unexpected {} {}", line_of(text, d.span.lo), d.code.id, d.message));
    }
    let printed = mir::print::program(&program, None);
    let has = |want: &str| printed.lines().any(|line| line.trim() == want);
    for line in text.lines() {
        if let Some((_, want)) = line.split_once("//> ") {
            if !has(want.trim()) {
                wrong.push(format!("{name}: `{want}` is missing in\n{printed}"));
            }
        }
        if let Some((_, not)) = line.split_once("//< ") {
            if has(not.trim()) {
                wrong.push(format!("{name}: `{not}` is still there"));
            }
        }
    }
    wrong
}

fn run_file(file: &str, least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mir").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let cases = cases(&text);
    let wrong: Vec<String> = cases.iter().flat_map(|(name, case)| check_case(name, case)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(cases.len() >= least, "only {} cases in {file}", cases.len());
}

#[test]
fn initialised() {
    run_file("initialised.mir", 15);
}

#[test]
fn null_facts() {
    run_file("null_facts.mir", 15);
}

#[test]
fn null_facts_of_paths() {
    run_file("null_paths.mir", 10);
}

#[test]
fn regions_of_blocks() {
    run_file("regions_blocks.mir", 15);
}

#[test]
fn regions() {
    run_file("regions.mir", 30);
}

#[test]
fn ownership() {
    run_file("ownership.mir", 15);
}

#[test]
fn moved() {
    run_file("moved.mir", 3);
}

#[test]
fn lending() {
    run_file("lending.mir", 15);
}

#[test]
fn every_file_is_run() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mir");
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    // `ranges.rs` reads the one of that name.
    assert_eq!(
        names,
        [
            "initialised.mir",
            "lending.mir",
            "moved.mir",
            "null_facts.mir",
            "null_paths.mir",
            "ownership.mir",
            "ranges.mir",
            "regions.mir",
            "regions_blocks.mir",
            "typestate.mir"
        ]
    );
}

/// How much is looked at to check a function of so many blocks, with as many variables, regions and
/// loops.
fn work_for(blocks: usize) -> u64 {
    let mut locals =
        String::from("  region @r0 - param scope 0\n  param c_0: int scope 0\n  param p_1: *[@r0]int scope 0\n");
    let mut code = String::new();
    for n in 0..blocks {
        let (i, q, t) = (3 * n + 2, 3 * n + 3, 3 * n + 4);
        locals.push_str(&format!(
            "  var x_{i}: int scope 0\n  var q_{q}: *[@i{n}]int scope 0\n  temp _{t}: int scope 0\n"
        ));
        let back = n / 7 * 7;
        code.push_str(&format!(
            "bb{n}:\n  live x_{i}\n  live q_{q}\n  x_{i} = add(c_0, {n}:int, int)\n  q_{q} = p_1\n  _{t} = ne(q_{q}, null:*int, *int)\n  dead q_{q}\n  dead x_{i}\n  if _{t} bb{} else bb{back}\n",
            n + 1
        ));
    }
    let text = format!(
        "function f#0: fn[regions 1](int, *[@b0.0]int) -> int\nbody f#0 params 2 infer {blocks} {{\n  scope 0\n{locals}{code}bb{blocks}:\n  return c_0\n}}\n"
    );
    let mut program = mir::parse::program(&text).unwrap();
    let mut sink = Sink::default();
    let report = flow::check(&mut program, &mut sink, flow::Options::default());
    assert!(sink.all.is_empty(), "{:?}", sink.all);
    report.work
}

/// Large functions are quick: what is looked at grows as they do, and is little for each block.
#[test]
fn large_functions_are_quick() {
    let (half, whole) = (work_for(1_500), work_for(3_000));
    assert!(whole < 3_000 * 100, "{whole}");
    assert!(whole < half * 9 / 4, "{half} {whole}");
}

/// How much is looked at to check a function with so many owners that are lent, each in eight
/// statements. All variables are declared at its beginning, as in C.
fn work_of_loans(loans: usize) -> u64 {
    let (mut locals, mut live) = (String::new(), String::new());
    let (mut code, mut dead) = (String::new(), String::new());
    for n in 0..loans {
        let (x, q, t) = (3 * n, 3 * n + 1, 3 * n + 2);
        add(&mut locals, format!("  var x_{x}: *[unique]node%0 scope 0\n"));
        add(&mut locals, format!("  var q_{q}: *[@i{n}]node%0 scope 0\n  temp _{t}: int scope 0\n"));
        add(&mut live, format!("  live x_{x}\n  live q_{q}\n"));
        add(&mut code, format!("  x_{x} = call node#1(): fn() -> *[unique]node%0\n"));
        add(&mut code, format!("  q_{q} = borrow(shared, x_{x}, *[@i{n}]node%0)\n"));
        add(&mut code, format!("  q_{q}.*.0 = {n}:int\n  _{t} = q_{q}.*.0\n  dispose(move x_{x})\n"));
        add(&mut dead, format!("  dead q_{q}\n  dead x_{x}\n"));
    }
    let text = format!(
        "struct node%0 {{\n  \"n\": int\n}}\nfunction f#0: fn() -> int\nfunction node#1: fn() -> *[unique]node%0\nbody f#0 params 0 infer {loans} {{\n  scope 0\n{locals}bb0:\n{live}{code}{dead}  return 0:int\n}}\n"
    );
    let mut program = mir::parse::program(&text).unwrap();
    let mut sink = Sink::default();
    let report = flow::check(&mut program, &mut sink, flow::Options::default());
    assert!(sink.all.is_empty(), "{:?}", sink.all);
    report.work
}

fn add(to: &mut String, text: String) {
    to.push_str(&text);
}

/// A function of twice the size, with twice as many loans, is little more than twice the work.
#[test]
fn many_loans_are_quick() {
    let (half, whole) = (work_of_loans(250), work_of_loans(500));
    assert!(whole < half * 23 / 10, "{half} {whole}");
}

#[test]
fn typestate() {
    run_file("typestate.mir", 20);
}
