//! The ownership verifier on MIR that the analyses reject: it finds, by its own technique, those
//! mistakes that do harm when the program runs. What it lets pass breaks a rule of the language
//! without any use of what is gone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use flow::verify_ownership::Opinion;
use std::path::Path;

/// Nothing that is gone is used in these bodies themselves: they break a promise to callers, or a
/// rule of lending that later code would rely on. The analyses alone know.
const HARMLESS: &[&str] = &[
    "u5 null is moved once",
    "u14 what a swap takes out is owed",
    "u19 a part is moved on some ways, then all is freed",
    "a slot is kept",
    "an out parameter fills a variable",
    "the place of a cursor is used",
    "null below a lent path is forgotten",
    "a key is made twice",
    "r12 what is behind a pointer keeps its region",
    "e1 two regions are hidden as one",
    "a pointer whose address is taken",
    "the end of a number is kept",
    "a later call goes on from an earlier one",
];

fn cases(file: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mir").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let mut parts = text.split("//---");
    let prelude = parts.next().unwrap_or("").to_string();
    parts
        .map(|part| {
            let (name, body) = part.split_once('\n').unwrap();
            (name.trim().to_string(), format!("{prelude}{body}"))
        })
        .collect()
}

fn found(text: &str) -> Vec<String> {
    opinions(text).iter().flat_map(|opinion| &opinion.errors).map(|e| e.to_string()).collect()
}

/// What it says of each body.
fn opinions(text: &str) -> Vec<Opinion> {
    let program = mir::parse::program(text).unwrap();
    let known = flow::Known::new(&program);
    program.bodies.iter().map(|body| flow::verify_ownership::body(&program, &known, body)).collect()
}

#[test]
fn wrong_programs_are_caught() {
    let mut caught = 0;
    let mut missed = vec![];
    for file in ["ownership.mir", "lending.mir", "regions.mir", "regions_blocks.mir"] {
        for (name, text) in cases(file) {
            let wrong = text.contains("//~ ");
            let errors = found(&text);
            match (wrong, errors.is_empty()) {
                (true, true) => missed.push(name),
                (true, false) => caught += 1,
                (false, _) => assert!(errors.is_empty(), "{name}: {errors:?}"),
            }
        }
    }
    assert_eq!(missed, HARMLESS, "caught {caught}");
    assert!(caught >= 80, "only {caught}");
}

/// Each file of `tests/verifier` is one mistake, which no front end makes: the verifier finds it by
/// itself, in the words after `//!`.
#[test]
fn its_own_wrong_files_are_caught() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verifier");
    let (mut seen, mut missed) = (0, vec![]);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        let wanted = first.trim_start_matches("//!").trim();
        let errors = found(rest);
        if wanted.is_empty() || !errors.iter().any(|e| e.contains(wanted)) {
            missed.push(format!("{}: {errors:?}", path.display()));
        }
        seen += 1;
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(seen >= 50, "only {seen} files");
}

/// A function with so many paths that no walk takes them all: states differ by which of the
/// pointers are null, and none comes twice. The walk ends within its budget; without one it would
/// not end. It goes deep before it goes wide, so it finds what is lost on the last path.
#[test]
fn a_walk_ends_within_its_budget() {
    const WAYS: usize = 200;
    let mut text =
        String::from("function f#0: fn(int) -> int\nbody f#0 params 1 {\n  scope 0\n  param c_0: int scope 0\n");
    for n in 1..=WAYS {
        text.push_str(&format!("  var p_{n}: *[unique]int scope 0\n"));
    }
    for n in 1..=WAYS {
        let (here, full, empty, next) = (3 * n - 3, 3 * n - 2, 3 * n - 1, 3 * n);
        text.push_str(&format!(
            "bb{here}:\n  live p_{n}\n  if c_0 bb{full} else bb{empty}\n\
             bb{full}:\n  p_{n} = alloc(int, 1:long)\n  goto bb{next}\n\
             bb{empty}:\n  p_{n} = null:*[unique]int\n  goto bb{next}\n"
        ));
    }
    text.push_str(&format!("bb{}:\n", 3 * WAYS));
    let ends = |text: &str, lost: usize| {
        let mut text = text.to_string();
        for n in (1..=WAYS).rev() {
            let release = if n == lost { String::new() } else { format!("  dispose(move p_{n})\n") };
            text.push_str(&format!("{release}  dead p_{n}\n"));
        }
        text + "  return 0:int\n}\n"
    };
    let whole = opinions(&ends(&text, 0));
    assert!(whole.iter().all(|opinion| opinion.errors.is_empty() && opinion.is_cut), "{whole:?}");
    assert!(whole.iter().all(|opinion| opinion.cells < 500_000), "states may take memory without a bound: {whole:?}");
    let errors = found(&ends(&text, WAYS));
    assert!(errors.iter().all(|e| e.contains("drops something owned")) && !errors.is_empty(), "{errors:?}");
}

/// A list that a loop makes longer, after a function was lent the first node: the argument's
/// temporary holds that node for good, and what lies in front of it is like other nodes all the
/// same. Each turn was a new state, one node longer than the one before.
#[test]
fn a_list_behind_what_was_lent_is_quick() {
    let text = "struct n%0 {\n  \"next\": *[unique]n%0\n}\n\
        function see#0: fn(*[unique]n%0) -> void\n\
        function f#1: fn(int) -> void\n\
        body f#1 params 1 {\n  scope 0\n  param c_0: int scope 0\n  var list_1: *[unique]n%0 scope 0\n  \
          var m_2: *[unique]n%0 scope 0\n  temp _3: *[unique]n%0 scope 0\n\
        bb0:\n  live list_1\n  list_1 = alloc(n%0, 1:long)\n  _3 = list_1\n  \
          call see#0(_3): fn(*[unique]n%0) -> void\n  goto bb1\n\
        bb1:\n  if c_0 bb2 else bb3\n\
        bb2:\n  live m_2\n  m_2 = alloc(n%0, 1:long)\n  m_2.*.0 = move list_1\n  list_1 = move m_2\n  \
          dead m_2\n  goto bb1\n\
        bb3:\n  dispose(move list_1)\n  dead list_1\n  return\n}\n";
    let opinions = opinions(text);
    assert!(opinions.iter().all(|opinion| opinion.errors.is_empty() && !opinion.is_cut), "{opinions:?}");
    assert!(opinions.iter().all(|opinion| opinion.cells < 200), "{opinions:?}");
}
