//! The ownership verifier on MIR that the analyses reject: it finds, by its own technique, those mistakes that do harm when
//! the program runs. What it lets pass breaks a rule of the language without any use of what is gone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

/// Nothing that is gone is used in these bodies themselves: they break a promise to callers, or a rule of lending that later code
/// would rely on. The analyses alone know.
const HARMLESS: &[&str] = &[
    "u13 out of a shared object",
    "u14 what a swap takes out is owed",
    "u19 a part is moved on some ways, then all is freed",
    "u19 a shell is borrowed",
    "b3 a borrow escapes",
    "b4 a prefix is overwritten",
    "b4 a part below is moved",
    "b6 as long as its result",
    "a slot cannot be borrowed",
    "a slot is kept",
    "a borrow while there is a view",
    "a view while there is a borrow",
    "borrows across an owned field",
    "an out parameter fills a variable",
    "the place of a cursor is used",
    "null below a lent path is forgotten",
    "r3 a pointer into an arena is kept outside",
    "r6 a result has the region of its argument",
    "d6 two dynamic arenas are unrelated",
    "a key is made twice",
    "r10 an inner arena does not outlive an outer one",
    "r11 without the fact",
    "r11 what a function may store where the fact allows it",
    "r12 what is behind a pointer keeps its region",
    "h14 an arena object that owns into the heap",
    "e1 two regions are hidden as one",
    "e3 a lent package is not overwritten",
    "a parameter is returned",
    "stored behind a pointer",
    "a parameter stored behind itself",
    "stored in a field of a local",
    "a pointer whose address is taken",
    "a pointer of an outer block",
    "passed where a heap pointer is wanted",
    "passed through a function pointer",
    "a generic gives what it gets",
    "a local declared heap",
    "the end of a number is kept",
    "a later call goes on from an earlier one",
    "an address behind a pointer has its origin",
    "a parameter whose address is taken",
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
    let program = mir::parse::program(text).unwrap();
    let bodies = program.bodies.iter();
    bodies.flat_map(|b| flow::verify_ownership::body(&program, b, true)).map(|e| e.to_string()).collect()
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
    assert!(caught >= 50, "only {caught}");
}
