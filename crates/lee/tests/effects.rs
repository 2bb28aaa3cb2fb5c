//! The oracle misses every line of the table of `mir::effects` that is left out, if a statement
//! shows it that the oracle runs: the table is compared with what programs do.
//! With `--nocapture` it says which program shows which lines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use driver::pipeline::{self, How, Until};
use driver::session::Session;
use driver::timing::Timer;
use interp::ReportKind;
use mir::effects::{accesses, term_accesses, without, Line, LINES};
use mir::ir::Program;
use source::Sink;
use std::collections::BTreeSet;
use std::path::Path;
use support::root;

/// Programs that together show all lines.
const PROGRAMS: &[&str] = &[
    "tests/run/aligned_objects",
    "tests/run/allocation",
    "tests/run/arena_exits",
    "tests/run/arguments",
    "tests/run/channels_of_one_process_wait",
    "tests/run/channels_one_process",
    "tests/run/collected",
    "tests/run/collected_owners",
    "tests/run/compound_literals",
    "tests/run/container_of",
    "tests/run/contract_way_back",
    "tests/run/counted_owner",
    "tests/run/ctype_functions",
    "tests/run/cursor_in_turns",
    "tests/run/declarators",
    "tests/run/directory_listing",
    "tests/run/endpoint_sets",
    "tests/run/everyday_end_pointers",
    "tests/run/everyday_growing_buffer",
    "tests/run/everyday_kind_union",
    "tests/run/everyday_packet_views",
    "tests/run/operators",
    "tests/run/owning_union_slots",
    "tests/run/owning_unions",
    "tests/run/region_copied_as_bytes",
    "tests/run/strings_null_terminated",
    "tests/run/walked_globals",
];

/// Lines that nothing shows which the oracle runs; `crates/mir/tests/effects.rs` misses them.
const NOT_SHOWN: &[(Line, &str)] = &[
    (Line::AsmInput, "assembly is not known"),
    (Line::AsmOutput, "assembly is not known"),
    (Line::AsmRuns, "assembly is not known"),
    (Line::AsmMemory, "assembly is not known"),
    (Line::Prove, "a proof is not run"),
    (Line::Pack, "about types"),
    (Line::Unpack, "about types"),
    (Line::UnpackEnd, "about types"),
    (Line::CursorEnd, "names the cursor only"),
    (Line::Types, "about types"),
    (Line::Functions, "about names"),
    (Line::DisposeSkips, "the indices are constants"),
    (Line::CloseHandle, "the key stays in its place when it is opened"),
    (Line::CloseKey, "the key stays in its place when it is opened"),
    (Line::GotoComputed, "goto *e is plain C"),
    (Line::StartCollects, "the oracle's runtime takes no room for it"),
    (Line::NewKeyCollects, "the oracle's runtime takes no room for it"),
    (Line::ArenaBeginCollects, "the oracle's runtime takes no room for it"),
    (Line::DisposeCollects, "the oracle's runtime takes no room for it"),
    (Line::DropSlotCollects, "the oracle's runtime takes no room for it"),
    (Line::CursorEndCollects, "the oracle's runtime takes no room for it"),
    (Line::VaCopyFrom, "only plain C copies a list"),
    (Line::VaCopyTo, "only plain C copies a list"),
    (Line::VaArg, "only plain C takes arguments one by one"),
    (Line::CallMemory, "what it calls may do so anyway, and builtins that touch memory are not known"),
];

/// The program before and after transforms.
fn programs(session: &Session, file: &Path) -> Vec<Program> {
    let mut made = vec![];
    for transforms in [false, true] {
        let mut sink = Sink::default();
        let map = session.preprocess(file, &[], &mut sink).unwrap();
        let how = How { transforms, bypass: false };
        let settings = session.settings(Until::C, file);
        let program = pipeline::interpreted(&map, &settings, how, &mut sink, &mut Timer::default());
        made.push(program.unwrap().expect("an accepted program"));
    }
    made
}

/// The lines that are about statements of the program.
fn lines(program: &Program) -> BTreeSet<Line> {
    let mut found: BTreeSet<Line> = LINES.iter().copied().filter(|&line| is_flag(line)).collect();
    for block in program.bodies.iter().chain(&program.instances).flat_map(|body| &body.blocks) {
        for stmt in &block.stmts {
            accesses(&stmt.kind, &mut |_, _, line| {
                found.insert(line);
            });
        }
        term_accesses(&block.term.kind, &mut |_, _, line| {
            found.insert(line);
        });
    }
    found
}

/// Whether a line is about more than one place.
fn is_flag(line: Line) -> bool {
    ["Runs", "Collects", "Memory", "Waits"].iter().any(|word| format!("{line:?}").ends_with(word))
}

/// What a statement does and the table does not say.
fn untold(program: &Program) -> Option<String> {
    let options = interp::Options {
        input: Some(vec![]),
        keep_output: true,
        steps: 100_000,
        leaks: false,
        owners: false,
        table: true,
        ..interp::Options::default()
    };
    let outcome = interp::run(program, options);
    outcome.reports.into_iter().find(|r| r.kind == ReportKind::Table).map(|r| r.message)
}

#[test]
fn every_line_is_missed_by_the_oracle() {
    let session = Session::new(driver::options::Options::default()).unwrap_or_else(|_| panic!("no session"));
    let chosen: Vec<_> = PROGRAMS.iter().map(|name| root().join(format!("{name}.lee"))).collect();
    let mut open: Vec<Line> = LINES.iter().copied().filter(|l| NOT_SHOWN.iter().all(|(n, _)| n != l)).collect();
    for file in chosen {
        for program in programs(&session, &file) {
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            assert_eq!(untold(&program), None, "{name}");
            let there = lines(&program);
            let is_shown = |line: Line| there.contains(&line) && without(line, || untold(&program)).is_some();
            let (shown, rest): (Vec<Line>, Vec<Line>) = open.into_iter().partition(|&line| is_shown(line));
            open = rest;
            println!("{name}: {shown:?}");
        }
    }
    assert!(open.is_empty(), "no program shows these lines: {open:?}");
}
