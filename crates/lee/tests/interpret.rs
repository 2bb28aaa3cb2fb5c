//! Programs under the oracle, `lee run --interpret`: each prints what it prints when it is
//! compiled, faults at the same line, and breaks nothing. And programs that do break memory safety,
//! with the analyses left out: the oracle says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use driver::interpret;
use driver::pipeline::{self, How, Until};
use driver::session::Session;
use driver::timing::Timer;
use interp::{Layouts, ReportKind, Words};
use libtest_mimic::{Arguments, Failed, Trial};
use source::Sink;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{directives, files, fresh, lee, root, run_limited, Ran, SECONDS_MOST};
use typing::types::{Ty, TypeStore};

/// Programs that the oracle cannot judge yet, and why. Each is run as well: one that it has learned
/// by now fails, to be taken off.
const UNKNOWN: &[(&str, &str)] = &[
    ("fault/processes_deadlock_alike", "the circle in the report of a deadlock"),
    ("attack/library_arguments", "starts itself again by execv"),
    ("library/owners_freed_in_reaps", "compares the addresses of freed memory, which the oracle never uses again"),
    ("library/small_programs", "functions that only small programs call"),
    ("library/try_without_memory", "LEE_MEMORY: a heap that is full until it is collected"),
    ("run/custodian_holds_others", "what a custodian is charged"),
    ("run/custodian_keys", "what a custodian is charged"),
    ("run/custodian_windows", "what a custodian is charged"),
    ("run/custodians", "requirements of custodians"),
    ("run/dead_owners_counts", "compares the addresses of freed memory, which the oracle never uses again"),
    ("run/intrinsics_unsafe", "functions of the C compiler's own headers"),
    ("run/one_process_only", "threads, handlers and timers of a compiled program"),
    ("run/process_preempted", "runs more statements than the limit"),
    ("run/processes_many", "what a custodian is charged"),
    ("run/process_popen_left", "`waitpid` for a command"),
    ("run/reports_wait_for_nobody", "a standard error that is another file"),
];

/// How an example is run, and what it says.
struct Example {
    /// Below `examples`, without the ending.
    name: &'static str,
    arguments: &'static [&'static str],
    input: &'static str,
    status: i32,
    /// What it prints, in this order; of a fault, what the fault says.
    says: &'static [&'static str],
}

/// The examples that are programs of one file.
const EXAMPLES: &[Example] = &[
    Example {
        name: "csv/csv",
        arguments: &["--where", "size>10", "--group", "kind", "--count", "--sort", "kind"],
        input: "kind,size\nb,20\na,30\na,5\na,11\n",
        status: 0,
        says: &["kind,count", "a,2", "b,1"],
    },
    Example {
        name: "drivers/stack",
        arguments: &["300"],
        input: "",
        status: 0,
        says: &[
            "300 of 300 datagrams came back as they were sent, over 3 ports",
            "port 53 is in use",
            "the port is closed: its driver was killed",
        ],
    },
    Example {
        name: "events/watch",
        arguments: &["two"],
        input: "one\ntwo words\n",
        status: 0,
        says: &["2 lines, 3 words", "1 lines with two"],
    },
    Example { name: "fft/fft", arguments: &[], input: "1\n0\n0\n0\n", status: 0, says: &["1 0", "1 0", "1 0", "1 0"] },
    Example { name: "grades/grades", arguments: &[], input: "", status: FAULT, says: &["index 10"] },
    Example {
        name: "ini/ini",
        arguments: &["FILE", "b", "x"],
        input: "[a]\nx = 1\n[b]\nx = 2\n",
        status: 0,
        says: &["2"],
    },
    Example {
        name: "ini/owned",
        arguments: &["FILE", "b", "x"],
        input: "[a]\nx = 1\n[b]\nx = 2\n",
        status: 0,
        says: &["2"],
    },
    Example {
        name: "json/json",
        arguments: &["--compact"],
        input: "{ \"a\" : [1, true] }",
        status: 0,
        says: &["{\"a\":[1,true]}"],
    },
    Example {
        name: "log/log_report",
        arguments: &["-k", "1", "-v", "2", "FILE"],
        input: "a 1\nb 5\na 3\n",
        status: 0,
        says: &["2 a FILE:1 2 numbers", "1 b FILE:2"],
    },
    Example {
        name: "lz/lz",
        arguments: &["test", "FILE"],
        input: "abcabcabcabcabcabcabcabc\n",
        status: 0,
        says: &["25"],
    },
    Example {
        name: "sha256/sha256",
        arguments: &[],
        input: "abc",
        status: 0,
        says: &["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -"],
    },
    Example { name: "wc/wc", arguments: &[], input: "one two\n", status: 0, says: &["1       2       8"] },
    Example { name: "wc/word_frequency", arguments: &["-n", "1", "FILE"], input: "a b b\n", status: 0, says: &["b"] },
];

/// Examples that the oracle cannot judge, and why.
const UNKNOWN_EXAMPLES: &[(&str, &str)] = &[
    ("echo/echo", "a server, which a signal from outside ends"),
    ("sqlite/query", "a C library, and two files"),
    ("tenants/host", "a server, and many files"),
    ("zlib/zip", "a C library, and two files"),
];

/// Programs that the oracle cannot judge, in a hundred, at most.
const PERCENT_MOST: usize = 3;

/// Statements between two collections: what the emitted descriptors forget is gone soon.
const COLLECT: &str = "2000";

/// Statements that a program runs at most.
const STEPS: &str = "150000000";

/// Seconds that a program of `UNKNOWN` runs at most: two run until they meet a limit.
const UNKNOWN_SECONDS: u64 = 12;

/// The status when memory safety was broken.
const REPORTED: i32 = 86;

/// The status of a fault.
const FAULT: i32 = 134;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![];
    let tests = root().join("tests");
    for (name, _) in UNKNOWN {
        assert!(tests.join(format!("{name}.lee")).is_file(), "there is no {name}: take it off the list `UNKNOWN`");
    }
    let mut programs = 0;
    for folder in ["run", "fault", "attack", "rules", "library"] {
        for file in files(&tests.join(folder), "lee") {
            let rejected = fs::read_to_string(&file).is_ok_and(|text| !directives(&text, "reject").is_empty());
            if rejected {
                continue;
            }
            programs += 1;
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
    for file in examples() {
        programs += 1;
        let known = |name: &str| root().join(format!("examples/{name}.lee")) == file;
        if UNKNOWN_EXAMPLES.iter().any(|(name, _)| known(name)) {
            continue;
        }
        let found = EXAMPLES.iter().find(|example| known(example.name));
        let example = found.unwrap_or_else(|| panic!("{}: name it in `EXAMPLES`", file.display()));
        let run = move || does_what_is_known(&file, example).map_err(Failed::from);
        trials.push(Trial::test(format!("examples/{}", example.name), run));
    }
    let unknown = UNKNOWN.len() + UNKNOWN_EXAMPLES.len();
    println!("{unknown} of {programs} programs are not judged");
    assert!(unknown * 100 <= PERCENT_MOST * programs, "{unknown} of {programs} programs are not judged: too many");
    trials.push(Trial::test("layouts/the last pointer is forgotten", || forgotten().map_err(Failed::from)));
    for file in files(&root().join("crates/interp/tests/holes"), "lee") {
        let name = format!("holes/{}", file.file_stem().unwrap_or_default().to_string_lossy());
        trials.push(Trial::test(name, move || hole(&file).map_err(Failed::from)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// The examples that are programs.
fn examples() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("examples")).expect("examples").flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = folders.flat_map(|folder| files(&folder, "lee")).collect();
    all.retain(|file| fs::read_to_string(file).is_ok_and(|text| text.contains("\nint main(")));
    all.sort();
    all
}

/// A folder of its own for a run: what a program that does not come to its end leaves is there.
fn scratch(file: &Path, how: &str) -> PathBuf {
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    fresh(&format!("interpret/{folder}-{name}{how}"))
}

/// An example says what is known of it. `FILE` stands for a file with its input.
fn does_what_is_known(file: &Path, example: &Example) -> Result<(), String> {
    let folder = scratch(file, "");
    fs::write(folder.join("FILE"), example.input).map_err(|e| e.to_string())?;
    let mut command = Command::new(lee());
    command.args(["run", "--interpret", "--steps", STEPS]).arg(file).args(example.arguments);
    let ran = run_limited(command.current_dir(folder).env("LEE_GC_STRESS", COLLECT), example.input, SECONDS_MOST);
    let said = if example.status == FAULT { &ran.err } else { &ran.out };
    let mut rest = said.as_str();
    for line in example.says {
        let Some(at) = rest.find(line) else {
            return Err(format!("does not say `{line}` (in this order): {}{}", ran.out, ran.err));
        };
        rest = rest.get(at + line.len()..).unwrap_or("");
    }
    match ran.status == example.status {
        true => Ok(()),
        false => Err(format!("status {}; {}", ran.status, ran.err)),
    }
}

/// The emitted descriptor without its last pointer.
fn short(types: &TypeStore, elem: Ty, flexible: bool) -> Words {
    match interpret::words(types, elem, flexible) {
        Words::Masks(bytes, mut masks) => {
            if let Some(mask) = masks.iter_mut().rev().find(|mask| **mask != 0) {
                *mask &= !(1 << (63 - mask.leading_zeros()));
            }
            Words::Masks(bytes, masks)
        }
        known @ (Words::None | Words::All) => known,
    }
}

/// A pointer that the descriptor of a type does not name shows.
fn forgotten() -> Result<(), String> {
    let file = root().join("crates/interp/tests/layouts/list.lee");
    let session = Session::new(driver::options::Options::default()).unwrap_or_else(|_| panic!("no session"));
    let mut sink = Sink::default();
    let map = session.preprocess(&file, &[], &mut sink).unwrap_or_else(|_| panic!("it is not preprocessed"));
    let settings = session.settings(Until::C, &file);
    let how = How { transforms: false, bypass: false };
    let made = pipeline::interpreted(&map, &settings, how, &mut sink, &mut Timer::default());
    let program = made.expect("no bug").expect("an accepted program");
    let reports = |layouts: Layouts| {
        let options = interp::Options {
            keep_output: true,
            layouts: Some(layouts),
            collect: Some(100),
            ..interp::Options::default()
        };
        interp::run(&program, options).reports.into_iter().map(|report| report.kind).collect::<Vec<_>>()
    };
    match (reports(interpret::words), reports(short)) {
        (whole, cut) if whole.is_empty() && cut == [ReportKind::UseAfterEnd] => Ok(()),
        (whole, cut) => Err(format!("with all pointers {whole:?}, without the last one {cut:?}")),
    }
}

/// Interprets a file as its directives say.
fn interpreted(file: &Path, text: &str, how: &str, seconds: u64) -> Ran {
    let mut command = Command::new(lee());
    command.args(["run", how, "--steps", STEPS]).arg(file);
    command.args(directives(text, "args").join(" ").split_whitespace());
    command.current_dir(scratch(file, how)).env("LEE_GC_STRESS", COLLECT);
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
