//! Programs under the oracle, `lee run --interpret`: each prints what it prints when it is
//! compiled, faults at the same line, and breaks nothing. And programs that do break memory safety,
//! with the analyses left out: the oracle says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{directives, files, lee, root, run_limited, Ran, SECONDS_MOST};

/// Programs that the oracle cannot judge yet, and why. Each is run as well: one that it has learned
/// by now fails, to be taken off.
const UNKNOWN: &[(&str, &str)] = &[
    ("attack/library_arguments", "starts itself again by execv"),
    ("library/owners_freed_in_reaps", "compares the addresses of freed memory, which the oracle never uses again"),
    ("library/small_programs", "functions that only small programs call"),
    ("library/try_without_memory", "LEE_MEMORY: a heap that is full until it is collected"),
    ("run/custodian_bill", "what a custodian is charged"),
    ("run/custodian_holds_others", "what a custodian is charged"),
    ("run/custodian_keys", "what a custodian is charged"),
    ("run/custodian_windows", "what a custodian is charged"),
    ("run/custodians", "requirements of custodians"),
    ("run/dead_owners_counts", "compares the addresses of freed memory, which the oracle never uses again"),
    ("run/fifo_open_flood", "`open` of a FIFO, which waits for its other end"),
    ("run/intrinsics_unsafe", "functions of the C compiler's own headers"),
    ("run/one_process_only", "threads, handlers and timers of a compiled program"),
    ("run/process_calls_give_way", "datagrams"),
    ("run/process_kill_and_c_kill", "C's `wait` for children"),
    ("run/process_kill_and_c_kill_reversed", "C's `wait` for children"),
    ("run/process_one_open_file", "`open` of a FIFO, which waits for its other end"),
    ("run/process_preempted", "runs more statements than the limit"),
    ("run/process_whole_program", "functions that change the whole program"),
    ("run/processes_many", "what a custodian is charged"),
    ("run/signal_before_wait", "signals that a program sends itself"),
    ("run/udp_waits", "datagrams"),
];

/// Statements that a program runs at most.
const STEPS: &str = "150000000";

/// Seconds that a program of `UNKNOWN` runs at most: two run until they meet a limit.
const UNKNOWN_SECONDS: u64 = 12;

/// The status when memory safety was broken.
const REPORTED: i32 = 86;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![];
    let tests = root().join("tests");
    for (name, _) in UNKNOWN {
        assert!(tests.join(format!("{name}.lee")).is_file(), "there is no {name}: take it off the list `UNKNOWN`");
    }
    for folder in ["run", "fault", "attack", "rules", "library"] {
        for file in files(&tests.join(folder), "lee") {
            let rejected = fs::read_to_string(&file).is_ok_and(|text| !directives(&text, "reject").is_empty());
            if rejected {
                continue;
            }
            let name = format!("{folder}/{}", file.file_stem().unwrap_or_default().to_string_lossy());
            match UNKNOWN.iter().find(|(known, _)| *known == name) {
                Some((_, why)) => {
                    let run = move || unknown(&file).map_err(Failed::from);
                    trials.push(Trial::test(format!("{name} ({why})"), run));
                }
                None => {
                    // What the transforms made of it, where they move what is owned.
                    if folder == "rules" {
                        let file = file.clone();
                        let name = format!("{name}, transformed");
                        let run = move || accepted(&file, "--interpret=transformed").map_err(Failed::from);
                        trials.push(Trial::test(name, run));
                    }
                    trials.push(Trial::test(name, move || accepted(&file, "--interpret").map_err(Failed::from)));
                }
            }
        }
    }
    for file in files(&root().join("crates/interp/tests/holes"), "lee") {
        let name = format!("holes/{}", file.file_stem().unwrap_or_default().to_string_lossy());
        trials.push(Trial::test(name, move || hole(&file).map_err(Failed::from)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Interprets a file as its directives say.
fn interpreted(file: &Path, text: &str, how: &str, seconds: u64) -> Ran {
    let mut command = Command::new(lee());
    command.args(["run", how, "--steps", STEPS]).arg(file);
    command.args(directives(text, "args").join(" ").split_whitespace());
    command.current_dir(file.parent().unwrap_or(Path::new(".")));
    for setting in directives(text, "env") {
        if let Some((name, value)) = setting.split_once('=') {
            command.env(name, value);
        }
    }
    let input: String = directives(text, "in").iter().map(|line| format!("{line}\n")).collect();
    run_limited(&mut command, &input, seconds)
}

/// An accepted program does what its comments say, and is safe.
fn accepted(file: &Path, how: &str) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|e| e.to_string())?;
    does_what_it_says(file, &text, &interpreted(file, &text, how, SECONDS_MOST))
}

/// A run does what the program's comments say.
fn does_what_it_says(file: &Path, text: &str, ran: &Ran) -> Result<(), String> {
    let said = || format!("status {}; {}", ran.status, ran.err);
    if let Some(word) = directives(text, "fault").first() {
        if ran.status != 134 || !ran.err.contains(word.as_str()) {
            return Err(format!("no fault `{word}`: {}", said()));
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let marked: Vec<String> = text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.trim_end().ends_with("//~"))
            .map(|(n, _)| format!("{name}:{}:", n + 1))
            .collect();
        return match marked.is_empty() || marked.iter().any(|place| ran.err.contains(place)) {
            true => Ok(()),
            false => Err(format!("the fault is not at {marked:?}: {}", said())),
        };
    }
    let wanted = directives(text, "status").first().map_or(0, |s| s.parse().unwrap_or(0));
    if ran.status != wanted {
        return Err(said());
    }
    let mut lines = ran.out.lines();
    for line in directives(text, "out") {
        if !lines.any(|l| l.trim_end() == line) {
            return Err(format!("does not print `{line}` (in this order): {}", ran.out));
        }
    }
    Ok(())
}

/// A program that the oracle cannot judge fails for as long as that is so. It breaks nothing even so.
fn unknown(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|e| e.to_string())?;
    let ran = interpreted(file, &text, "--interpret", UNKNOWN_SECONDS);
    match does_what_it_says(file, &text, &ran) {
        Ok(()) => Err("the oracle runs it by now: take it off the list `UNKNOWN`".into()),
        Err(_) if ran.status == REPORTED => Err(format!("the oracle reports: {}", ran.err)),
        Err(_) => Ok(()),
    }
}

/// A program that breaks memory safety is reported.
fn hole(file: &PathBuf) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|e| e.to_string())?;
    let ran = interpreted(file, &text, "--interpret=bypass", SECONDS_MOST);
    let kind = directives(&text, "report").first().cloned().unwrap_or_default();
    match ran.status == REPORTED && ran.err.contains(&format!("oracle: {kind}: ")) {
        true => Ok(()),
        false => Err(format!("no report `{kind}`: status {}; {}", ran.status, ran.err)),
    }
}
