//! Runs the MIR files of `tests/mir`: each case parses, prints, parses and prints the same again,
//! and the verifier finds what the case's `//!` comments say, and nothing else.
//!
//! A file holds cases after `//--- name`; the text before the first is put before each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

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

fn check_case(name: &str, text: &str) -> Vec<String> {
    let program = match mir::parse::program(text) {
        Ok(program) => program,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let mut wrong = vec![];
    let printed = mir::print::program(&program, None);
    match mir::parse::program(&printed) {
        Ok(again) if mir::print::program(&again, None) == printed => {}
        Ok(_) => wrong.push(format!("{name}: printed text changes when it is parsed and printed")),
        Err(error) => wrong.push(format!("{name}: printed text does not parse: {error}\n{printed}")),
    }
    let errors: Vec<String> = mir::verify::program(&program).iter().map(ToString::to_string).collect();
    let expected: Vec<&str> = text.lines().filter_map(|l| l.split_once("//!")).map(|(_, e)| e.trim()).collect();
    for want in &expected {
        if !errors.iter().any(|e| e.contains(want)) {
            wrong.push(format!("{name}: expected `{want}`, got {errors:?}"));
        }
    }
    if errors.len() != expected.len() {
        wrong.push(format!("{name}: {} errors, expected {}: {errors:?}", errors.len(), expected.len()));
    }
    wrong
}

#[test]
fn mir_files() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mir");
    let (mut wrong, mut count) = (vec![], 0);
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        for (name, case) in cases(&text) {
            count += 1;
            wrong.extend(check_case(&format!("{file}: {name}"), &case));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count >= 30, "only {count} cases were found");
}

#[test]
fn spans_are_comments() {
    let map = source::SourceMap::new("a.lee", "int f(void) { return 1; }\n".into());
    let mut program =
        mir::parse::program("function f#0: fn() -> int\nbody f#0 params 0 {\n scope 0\nbb0:\n return 1:int\n}\n")
            .unwrap();
    program.bodies[0].blocks[0].term.span = source::Span::new(14, 22);
    let text = mir::print::program(&program, Some(&map));
    assert!(text.contains("  return 1:int  // 1:15\n"), "{text}");
}

#[test]
fn bad_text_is_an_error_with_its_line() {
    for (text, line, part) in [
        ("body f#0 params 0 {\n scope 0\nbb0:\n  frob\n}", 4, "is no statement"),
        ("function f#0: fn() -> floating\n", 1, "is no type"),
        ("struct %0 {\n \"a\": int odd\n}\n", 2, "expected `width`"),
        ("function f#1: fn() -> int\n", 1, "expected number 0"),
        ("string $0 char \"abc\n", 1, "quotes are not closed"),
        ("body f#0 params 0 {\n scope 0\nbb1:\n return\n}", 3, "expected block 0"),
        ("global x@0: int = {0: {0: \n", 2, "expected a number"),
    ] {
        let error = mir::parse::program(text).unwrap_err();
        assert!(error.message.contains(part), "{error}");
        assert_eq!(error.line, line, "{error}");
    }
    let deep = format!("global x@0: {}int\n", "*".repeat(5000));
    assert!(mir::parse::program(&deep).unwrap_err().message.contains("too deeply"));
}

#[test]
fn dominators_of_a_loop() {
    let text = "function f#0: fn(int) -> void
body f#0 params 1 {
  scope 0
  param c_0: int scope 0
bb0:
  if c_0 bb1 else bb2
bb1:
  goto bb3
bb2:
  goto bb3
bb3:
  if c_0 bb4 else bb5
bb4:
  goto bb3
bb5:
  return
bb6:
  goto bb5
}
";
    let program = mir::parse::program(text).unwrap();
    let cfg = mir::cfg::Cfg::new(&program.bodies[0]);
    let dominators = cfg.dominators();
    let b = mir::ir::BlockId;
    assert_eq!(dominators.immediate(b(3)), Some(b(0)));
    assert_eq!(dominators.immediate(b(4)), Some(b(3)));
    assert_eq!(dominators.immediate(b(5)), Some(b(3)));
    assert_eq!(dominators.immediate(b(0)), None);
    assert!(dominators.dominates(b(0), b(5)) && dominators.dominates(b(3), b(3)));
    assert!(!dominators.dominates(b(1), b(3)) && !dominators.dominates(b(4), b(3)));
    assert!(!cfg.is_reachable(b(6)) && cfg.is_reachable(b(5)));
    assert_eq!(cfg.predecessors(b(5)), [b(3), b(6)]);
    assert_eq!(cfg.successors(b(0)), [b(1), b(2)]);
}

#[test]
fn every_form_prints_as_it_was_written() {
    let text = include_str!("notation.mir").split_once('\n').unwrap().1;
    let program = mir::parse::program(text).unwrap();
    let squeeze = |t: &str| t.lines().filter(|l| !l.is_empty()).map(String::from).collect::<Vec<_>>();
    let printed = squeeze(&mir::print::program(&program, None));
    for (line, want) in squeeze(text).iter().enumerate() {
        assert_eq!(printed.get(line), Some(want));
    }
}
