//! Runs the MIR of `tests/mir` through the transforms.
//!
//! A file holds cases after `//--- name`; the text before the first is put before each.
//! `//> stmt`: the result has a line that reads so; `//< stmt`: it has none. `//= N stmt`: it has
//! that many.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

const CHECKS: transform::Options = transform::Options { versions: false, explain: false, checks: true, stack: 0 };

fn run_file(text: &str, options: transform::Options, least: usize) {
    let mut parts = text.split("//---");
    let prelude = parts.next().unwrap();
    let (mut cases, mut wrong) = (0, vec![]);
    for part in parts {
        let (name, body) = part.split_once('\n').unwrap();
        let mut program = mir::parse::program(&format!("{prelude}{body}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(mir::verify::program(&program).is_empty(), "{name}: {:?}", mir::verify::program(&program));
        transform::run(&mut program, options);
        let errors = mir::verify::program(&program);
        let printed = mir::print::program(&program, None);
        assert!(errors.is_empty(), "{name}: {errors:?}\n{printed}");
        let count = |want: &str| printed.lines().filter(|line| line.trim() == want.trim()).count();
        for line in body.lines() {
            let line = line.trim();
            let right = if let Some(want) = line.strip_prefix("//> ") {
                count(want) > 0
            } else if let Some(not) = line.strip_prefix("//< ") {
                count(not) == 0
            } else if let Some(want) = line.strip_prefix("//= ") {
                let (number, want) = want.split_once(' ').unwrap();
                count(want) == number.parse::<usize>().unwrap()
            } else {
                continue;
            };
            if !right {
                wrong.push(format!("{name}: {line}\n{printed}"));
            }
        }
        cases += 1;
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(cases >= least, "only {cases} cases");
}

#[test]
fn counted_pointers_and_removal() {
    run_file(include_str!("mir/removal.mir"), CHECKS, 9);
}

#[test]
fn slots_that_were_emptied() {
    run_file(include_str!("mir/emptied.mir"), CHECKS, 6);
}

#[test]
fn versions_of_loops() {
    run_file(include_str!("mir/versions.mir"), transform::Options { versions: true, ..CHECKS }, 6);
}

#[test]
fn objects_on_the_stack() {
    run_file(include_str!("mir/stack.mir"), transform::Options { checks: false, stack: 48, ..CHECKS }, 24);
}

#[test]
fn fields_that_stores_leave_alone() {
    run_file(include_str!("mir/guarded.mir"), CHECKS, 16);
}

#[test]
fn what_functions_are_called_with() {
    run_file(include_str!("mir/params.mir"), CHECKS, 10);
}
