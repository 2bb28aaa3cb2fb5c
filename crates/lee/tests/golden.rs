//! Golden tests: each file of tests/run, fault, reject, warn, attack, rules and library says in
//! comments what is expected of it, in the words of the conformance cases (shared/cases/README.md).
//! `LEE_GOLDEN=full` runs the whole matrix of compilers and flags, `more` what is not run without
//! it, `shaken` programs with processes in many orders, `aarch64` some for that machine, which is
//! emulated, `aarch64-all` all; `LEE_BLESS=1` writes the expected text of rejections anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::tools::{self, Family};
use support::{directives, field, files, lee, root, run, run_with, Ran};

/// One way to compile, and the ways to run what is made.
struct Way {
    name: &'static str,
    family: Family,
    flags: &'static [&'static str],
    /// Whether faults are looked at too: sanitizers report them in words of their own.
    faults: bool,
    runs: &'static [Run],
}

/// What the program finds in its environment.
struct Run {
    name: &'static str,
    env: &'static [(&'static str, &'static str)],
}

impl Way {
    /// `lee build` by this way's C compiler.
    fn build(&self) -> Command {
        let compiler = if self.name == AARCH64.name { CROSS_COMPILER.into() } else { tools::compiler(self.family) };
        let mut build = Command::new(lee());
        build.args(["build", "--cc"]);
        if self.name == SHAKEN {
            build.arg(root().join("tests/shaken/cc")).env("SHAKEN_CC", compiler);
        } else {
            build.arg(compiler);
        }
        build
    }
}

const PLAIN: Run = Run { name: "plain", env: &[] };
/// A collection at each 20th allocation, checked by a second trace; what died is overwritten.
/// Processes take turns on one thread here and in the next.
const STRESSED: Run =
    Run { name: "stressed", env: &[("LEE_GC_STRESS", "20"), ("LEE_GC_VERIFY", "1"), ("LEE_WORKERS", "1")] };
/// The same, each second time as a snapshot is taken over that was begun 100 allocations before.
const SNAPSHOTS: Run = Run {
    name: "snapshots",
    env: &[("LEE_GC_STRESS", "100"), ("LEE_GC_VERIFY", "1"), ("LEE_GC_SNAPSHOT", "always"), ("LEE_WORKERS", "1")],
};

const GCC_DEBUG: Way = Way { name: "gcc-debug", family: Family::Gcc, flags: &[], faults: true, runs: &[PLAIN] };
const GCC_RELEASE: Way = Way {
    name: "gcc-release",
    family: Family::Gcc,
    flags: &["--release"],
    faults: true,
    runs: &[PLAIN, STRESSED, SNAPSHOTS],
};
const CLANG_DEBUG: Way = Way { name: "clang-debug", family: Family::Clang, flags: &[], faults: true, runs: &[PLAIN] };
const CLANG_RELEASE: Way =
    Way { name: "clang-release", family: Family::Clang, flags: &["--release"], faults: true, runs: &[PLAIN, STRESSED] };
const SANITIZED: Way = Way {
    name: "sanitized",
    family: Family::Clang,
    flags: &["--sanitize", "address,undefined"],
    faults: false,
    runs: &[PLAIN],
};

const AARCH64: Way = Way { name: "aarch64", family: Family::Gcc, flags: &["--release"], faults: true, runs: &[PLAIN] };
const CROSS_COMPILER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: [&str; 3] = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"];
/// What depends on the machine: switches of stacks, traps, backtraces, globals of processes, layouts,
/// `char`, lists of arguments, calls of C.
const OF_THE_MACHINE: [&str; 31] = [
    "fault/division_by_zero",
    "fault/index_array",
    "fault/memory_huge_malloc",
    "fault/null_far_field",
    "fault/null_function",
    "fault/null_thin",
    "fault/stack_overflow",
    "fault/stack_overflow_in_library",
    "fault/task_deadlock",
    "run/contract_digest",
    "fault/task_overflow",
    "library/random_hash_map",
    "library/supervisor",
    "run/channels",
    "run/collected",
    "run/custodian_exchange",
    "run/custodian_processes",
    "run/endpoint_sets",
    "run/extern_c_functions",
    "run/glibc_formats",
    "run/layout",
    "run/process_faults",
    "run/process_given",
    "run/process_large_frames",
    "run/processes_many",
    "run/qsort_and_bsearch",
    "run/tasks",
    "run/variadic_log",
    "run/waiting_echo",
    "run/weak_references",
    "run/wraparound",
];

/// Another process may run before each call into the runtime (tests/shaken/cc).
const SHAKEN: &str = "shaken";
/// The seeds that choose.
const SEEDS: u32 = 40;

fn shaken() -> Way {
    let run = |seed: u32| -> Run {
        let value: &'static str = seed.to_string().leak();
        Run { name: format!("SHAKEN={value}").leak(), env: vec![("SHAKEN", value), ("LEE_WORKERS", "1")].leak() }
    };
    let runs = (0..SEEDS).map(run).collect::<Vec<Run>>().leak();
    let family = if tools::gcc().is_some() { Family::Gcc } else { Family::Clang };
    Way { name: SHAKEN, family, flags: &[], faults: true, runs }
}

/// Which tests are run: `LEE_GOLDEN`.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// Debug by gcc and release by clang; or both by the one that is there.
    Short,
    /// What `Short` does not run.
    More,
    Full,
    /// Programs that spawn, in orders that chance chooses. What they are expected to do may not
    /// depend on who runs first.
    Shaken,
    /// For aarch64, under an emulator: some programs.
    Aarch64,
    /// All.
    Aarch64All,
}

/// The ways of a part.
fn ways(part: Part) -> Vec<Way> {
    let short = match (tools::gcc(), tools::clang()) {
        (Some(_), None) => vec![GCC_DEBUG, GCC_RELEASE, CLANG_RELEASE],
        (None, Some(_)) => vec![GCC_DEBUG, CLANG_DEBUG, CLANG_RELEASE],
        _ => vec![GCC_DEBUG, CLANG_RELEASE],
    };
    let mut more = vec![GCC_RELEASE, CLANG_DEBUG, SANITIZED];
    more.retain(|way| short.iter().all(|s| s.name != way.name));
    match part {
        Part::Short => short,
        Part::More => more,
        Part::Full => short.into_iter().chain(more).collect(),
        // Registers are kept in assembly of x86-64.
        Part::Shaken if cfg!(target_arch = "x86_64") => vec![shaken()],
        Part::Shaken => vec![],
        Part::Aarch64 | Part::Aarch64All => vec![AARCH64],
    }
}

/// A test, or one that is counted as skipped where what it needs is not there.
fn trial(name: String, missing: Option<&str>, test: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    if let Some(tool) = missing {
        tools::skip(tool, &name, false);
    }
    Trial::test(name, || test().map_err(Failed::from)).with_ignored_flag(missing.is_some())
}

/// What a way needs and is not there.
fn missing(way: &Way) -> Option<&'static str> {
    static EMULATED: OnceLock<Option<&str>> = OnceLock::new();
    if way.name == AARCH64.name {
        let find = || {
            let headers = Path::new(EMULATOR[2]).join("include/stdio.h").exists();
            let missing = [CROSS_COMPILER, EMULATOR[0]].into_iter().find(|program| !tools::runs(program));
            missing.or((!headers).then_some("aarch64.h"))
        };
        return *EMULATED.get_or_init(find);
    }
    let family = tools::missing(way.family);
    family.or_else(|| (way.flags.contains(&"--sanitize") && !tools::sanitizes()).then_some("sanitizers"))
}

fn main() {
    let arguments = Arguments::from_args();
    let part = match std::env::var("LEE_GOLDEN").as_deref() {
        Ok("full") => Part::Full,
        Ok("more") => Part::More,
        Ok("shaken") => Part::Shaken,
        Ok("aarch64") => Part::Aarch64,
        Ok("aarch64-all") => Part::Aarch64All,
        _ => Part::Short,
    };
    let ways: &'static [Way] = ways(part).leak();
    let tests = root().join("tests");
    let mut trials = vec![];
    // Attacks try to break memory safety, rules and library accept and reject for each rule and
    // container: each of them is rejected, faults, or does what it says.
    for folder in ["run", "fault", "attack", "rules", "library"] {
        for file in files(&tests.join(folder), "lee") {
            let rejected = fs::read_to_string(&file).is_ok_and(|text| !directives(&text, "reject").is_empty());
            if rejected {
                if matches!(part, Part::Short | Part::Full) {
                    trials.push(trial(format!("{folder}/{}", name(&file)), None, move || says(&file, REJECT)));
                }
                continue;
            }
            if part == Part::Aarch64 && !OF_THE_MACHINE.contains(&&*format!("{folder}/{}", name(&file))) {
                continue;
            }
            let wants_faults = matches!(folder, "fault" | "attack");
            for way in ways.iter().filter(|way| (way.faults || !wants_faults) && fits(&file, way)) {
                let file = file.clone();
                let name = format!("{folder}/{}/{}", name(&file), way.name);
                trials.push(trial(name, missing(way), move || executes(&file, way, wants_faults)));
            }
        }
    }
    if matches!(part, Part::Short | Part::Full) {
        trials.extend(checked(&tests));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Plain C, none of which may need the C compiler's own front end, and what goes to it; programs
/// that are rejected or warned of.
fn checked(tests: &Path) -> Vec<Trial> {
    let mut trials = vec![];
    for (folder, fallback) in [("c", false), ("fallback", true)] {
        for file in files(&tests.join(folder), "c") {
            for (family, level) in [(Family::Gcc, "-O0"), (Family::Gcc, "-O2"), (Family::Clang, "-O1")] {
                let file = file.clone();
                let only = fs::read_to_string(&file).map(|text| directives(&text, "only")).unwrap_or_default();
                let word = tools::name(family);
                if !only.is_empty() && !only.iter().any(|name| name.starts_with(word)) {
                    continue;
                }
                let name = format!("{folder}/{}/{word}{level}", name(&file));
                trials.push(trial(name, tools::missing(family), move || plain_c(&file, family, level, fallback)));
            }
        }
    }
    for (folder, wanted) in [("reject", REJECT), ("warn", WARN)] {
        for file in files(&tests.join(folder), "lee") {
            trials.push(trial(format!("{folder}/{}", name(&file)), None, move || says(&file, wanted)));
        }
    }
    for (folder, ending) in FOLDERS {
        let folder_path = tests.join(folder);
        trials.push(trial(format!("markers/{folder}"), None, move || marked(&folder_path, ending)));
    }
    trials.push(trial("markers/refused".to_string(), None, refused));
    trials
}

/// Whether a program says something in this way. `//@ unsanitized: why`: of what AddressSanitizer's
/// own allocator takes over, arenas above all.
fn fits(file: &Path, way: &Way) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    let unsanitized = !directives(&text, "unsanitized").is_empty();
    let in_order = way.name == SHAKEN && !text.contains("spawn ");
    let refused = unsanitized && way.flags.contains(&"--sanitize");
    !refused && !in_order
}

fn name(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn tail(text: &str) -> String {
    let skip = text.chars().count().saturating_sub(400);
    text.chars().skip(skip).collect()
}

// ---- what a file says of itself ----

/// The folders of golden tests, and how their files end.
const FOLDERS: [(&str, &str); 9] = [
    ("run", "lee"),
    ("fault", "lee"),
    ("c", "c"),
    ("fallback", "c"),
    ("attack", "lee"),
    ("rules", "lee"),
    ("library", "lee"),
    ("reject", "lee"),
    ("warn", "lee"),
];

/// What may follow `//@`.
const KEYS: [&str; 12] =
    ["args", "env", "fault", "flags", "in", "only", "out", "reject", "run", "stress", "unsanitized", "warn"];

/// Checks that each file of a folder says what is expected of it in words that are read.
fn marked(folder: &Path, ending: &str) -> Result<(), String> {
    let mut wrong = vec![];
    for file in files(folder, ending) {
        let text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
        wrong.extend(unread(&text).map(|why| format!("{}: {why}", file.display())));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// The first marker of a file that no test would read: a mistyped one asserts nothing.
fn unread(text: &str) -> Option<String> {
    let says = |key: &str| !directives(text, key).is_empty();
    let places = text.lines().filter(|line| line.trim_end().ends_with("//~")).count();
    for (n, line) in text.lines().enumerate() {
        let key = line.strip_prefix("//@").map(|rest| rest.trim_start().split([':', ' ', '\t']).next().unwrap_or(""));
        if key.is_some_and(|key| !KEYS.contains(&key) || !line.starts_with("//@ ")) {
            return Some(format!("line {}: no test reads `{line}`", n + 1));
        }
        // A comment of nothing but marks at the end of a line.
        let comment = line.trim_end().rsplit_once("//").map_or("", |(_, comment)| comment);
        let is_mark = !comment.is_empty() && comment.chars().all(|c| c.is_ascii_punctuation() && !"/;\"'".contains(c));
        if is_mark && comment != "~" {
            return Some(format!("line {}: no test reads `//{comment}`", n + 1));
        }
    }
    if places > 0 && !["reject", "warn", "fault"].iter().any(|key| says(key)) {
        return Some("a line is marked, and nothing is reported of this program".into());
    }
    (places > 1 && says("fault")).then(|| "a fault has one line, and several are marked".into())
}

/// The check of markers refuses what it should, and nothing else.
fn refused() -> Result<(), String> {
    let bad = [
        "//@ fualt: bounds\n",
        "//@fault: bounds\n",
        "//@ fault: bounds\nint x; //!\n",
        "//@ run\nint x; //~\n",
        "//@ fault: bounds\nint x; //~\nint y; //~\n",
        "//@ reject: cast\nint x; //~~\n",
    ];
    let good = [
        "//@ run\n//@ out: 1\nint x; // one.\n",
        "//@ reject: cast\nint x; //~\nint y; //~\n",
        "char *u = \"http://\";\n",
    ];
    if let Some(text) = bad.iter().find(|text| unread(text).is_none()) {
        return Err(format!("{text:?} is accepted"));
    }
    match good.iter().find_map(|text| Some((text, unread(text)?))) {
        Some((text, why)) => Err(format!("{text:?} is refused: {why}")),
        None => Ok(()),
    }
}

// ---- programs that run ----

/// Builds a program and runs it in all ways; those that only look at faults run it plainly.
fn executes(file: &Path, way: &Way, once: bool) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|e| e.to_string())?;
    let program =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}-{}", name(file), way.name, std::process::id()));
    let mut build = way.build();
    build.args(way.flags).arg("-o").arg(&program).arg(file);
    let built = run(build.env("LEE_VERIFY", "1"));
    if built.status != 0 {
        return Err(format!("build ends with {}: {}", built.status, tail(&built.err)));
    }
    let runs = way.runs.iter().take(if once { 1 } else { usize::MAX });
    let result = runs
        .map(|run| execute(way, &program, &text, file, run).map_err(|why| format!("{}: {why}", run.name)))
        .collect::<Result<Vec<()>, String>>();
    let _ = fs::remove_file(&program);
    result.map(drop)
}

fn execute(way: &Way, program: &Path, text: &str, file: &Path, run: &Run) -> Result<(), String> {
    let input: String = directives(text, "in").iter().map(|line| format!("{line}\n")).collect();
    let arguments = directives(text, "args").join(" ");
    let mut command = if way.name == AARCH64.name { Command::new(EMULATOR[0]) } else { Command::new(program) };
    if way.name == AARCH64.name {
        command.args(&EMULATOR[1..]).arg(program);
    }
    command.args(arguments.split_whitespace()).current_dir(file.parent().unwrap_or(Path::new(".")));
    command
        .env("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0:detect_stack_use_after_return=0")
        .env("UBSAN_OPTIONS", "halt_on_error=1");
    command.envs(run.env.iter().copied());
    let stressed = run.env.iter().any(|(name, _)| *name == "LEE_GC_STRESS");
    if let (Some(every), true) = (directives(text, "stress").first(), stressed) {
        command.env("LEE_GC_STRESS", every);
    }
    for setting in directives(text, "env") {
        if let Some((name, value)) = setting.split_once('=') {
            // A run that is about the collector keeps its own settings of it.
            if !name.starts_with("LEE_GC") || run.env.iter().all(|(own, _)| *own != name) {
                command.env(name, value);
            }
        }
    }
    let ran = run_with(&mut command, &input);
    match directives(text, "fault").first() {
        Some(word) => faults(&ran, word, file),
        None => succeeds(&ran, &directives(text, "out")),
    }
}

/// A program of plain C by `lee cc`: through MIR alone, or by the C compiler, which a note and a
/// line of the report say.
fn plain_c(file: &Path, family: Family, level: &str, fallback: bool) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|e| e.to_string())?;
    let ours = format!("{}{level}-{}-{}", name(file), tools::name(family), std::process::id());
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(ours);
    let flags = directives(&text, "flags").join(" ");
    let report = program.with_extension("tsv");
    let mut build = Command::new(lee());
    build.args(if fallback { ["cc", "--c-through=mir"] } else { ["cc", "--c-through=only"] });
    build.arg(level).args(flags.split_whitespace()).arg(file).arg("-o").arg(&program);
    let built = run(build.env("LEE_VERIFY", "1").env("LEE_CC", tools::compiler(family)).env("LEE_C_REPORT", &report));
    let said = fs::read_to_string(&report).unwrap_or_default();
    let _ = fs::remove_file(&report);
    if built.status != 0 {
        return Err(format!("cc ends with {}: {}", built.status, tail(&built.err)));
    }
    let mut fields = said.split('\t');
    let (way, through, all) = (fields.next(), fields.next(), fields.next().and_then(|n| n.parse::<usize>().ok()));
    let counted = if fallback {
        way == Some("cc") && through == Some("0") && all > Some(0) && built.err.contains("went to the C compiler")
    } else {
        way == Some("mir") && all > Some(0)
    };
    if !counted {
        return Err(format!("the report says {said:?}, the compiler {}", tail(&built.err)));
    }
    let ran = run_with(&mut Command::new(&program), "");
    let _ = fs::remove_file(&program);
    succeeds(&ran, &directives(&text, "out"))
}

fn succeeds(ran: &Ran, wanted: &[String]) -> Result<(), String> {
    if ran.status != 0 {
        return Err(format!("ends with {}: {}", ran.status, tail(&ran.err)));
    }
    let mut lines = ran.out.lines().map(str::trim);
    for want in wanted {
        if !lines.any(|line| line == want) {
            return Err(format!("the output lacks {want:?} (in order); it ends with {:?}", tail(&ran.out)));
        }
    }
    Ok(())
}

fn faults(ran: &Ran, word: &str, file: &Path) -> Result<(), String> {
    if ran.status != 134 {
        return Err(format!("ends with {}, not 134: {}", ran.status, tail(&ran.err)));
    }
    let file_name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let said = ran.err.find("fault:").map_or("", |at| &ran.err[at..]).replace(&file_name, "").to_lowercase();
    let place = format!("{file_name}:");
    let has_line = ran
        .err
        .match_indices(&place)
        .any(|(at, _)| ran.err[at + place.len()..].starts_with(|c: char| c.is_ascii_digit()));
    // Every frame is on a line that the file has, in a column of that line.
    let text = fs::read_to_string(file).unwrap_or_default();
    for (at, _) in ran.err.match_indices(&place) {
        let mut numbers = ran.err[at + place.len()..]
            .lines()
            .next()
            .unwrap_or("")
            .split(':')
            .map(|n| n.trim_end_matches(|c: char| !c.is_ascii_digit()));
        let Some(line) = numbers.next().and_then(|n| n.parse::<usize>().ok()) else { continue };
        let column = numbers.next().and_then(|n| n.parse::<usize>().ok()).unwrap_or(1);
        if text.lines().nth(line.wrapping_sub(1)).is_none_or(|text| column > text.chars().count()) {
            return Err(format!("there is no {line}:{column}: {}", tail(&ran.err)));
        }
    }
    // The first call that is shown is not one inside the runtime or libc, which have no lines.
    if let Some(call) = ran.err.lines().find(|line| line.starts_with("  at ")).filter(|call| !call.contains(':')) {
        return Err(format!("the first call is not the program's: {call}: {}", tail(&ran.err)));
    }
    if !said.contains(&word.to_lowercase()) || !has_line {
        return Err(format!("the report lacks {word:?} or the line: {}", tail(&ran.err)));
    }
    // Where the line matters, the file marks it.
    let marked = text.lines().position(|line| line.trim_end().ends_with("//~"));
    match marked.map(|n| format!("{place}{}:", n + 1)) {
        Some(at) if !ran.err.contains(&at) => Err(format!("the fault is not at {at} {}", tail(&ran.err))),
        _ => Ok(()),
    }
}

// ---- programs that are rejected, or warned of ----

/// What a program is told, and how `lee check` ends.
#[derive(Clone, Copy)]
struct Said {
    directive: &'static str,
    level: &'static str,
    status: i32,
}

const REJECT: Said = Said { directive: "reject", level: "error", status: 1 };
const WARN: Said = Said { directive: "warn", level: "warning", status: 0 };

/// Checks that messages of the level stand on exactly the lines that end in `//~`.
fn says(file: &Path, wanted: Said) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|e| e.to_string())?;
    let check = |format: &str| {
        let mut command = Command::new(lee());
        command
            .args(["check", "--color", "never", "--message-format", format])
            .arg(file.file_name().unwrap_or_default());
        run(command.current_dir(file.parent().unwrap_or(Path::new("."))).env("LEE_VERIFY", "1"))
    };
    let json = check("json");
    let report = check("text");
    if json.status != wanted.status || report.status != wanted.status {
        return Err(format!("check ends with {}, not {}: {}", json.status, wanted.status, tail(&report.err)));
    }
    let messages: Vec<&str> = json.out.lines().filter(|line| line.starts_with('{')).collect();
    let errors = messages.iter().filter(|m| field(m, "level").is_some_and(|l| l == wanted.level));
    let got: BTreeSet<usize> = errors.filter_map(|m| field(m, "line")?.parse().ok()).collect();
    let lines = text.lines().enumerate();
    let want: BTreeSet<usize> =
        lines.filter(|(_, line)| line.trim_end().ends_with("//~")).map(|(n, _)| n + 1).collect();
    if got != want {
        return Err(format!("messages on lines {got:?}, expected {want:?}: {}", tail(&report.err)));
    }
    let said = messages.iter().filter_map(|m| field(m, "message")).collect::<Vec<_>>().join(" ").to_lowercase();
    let word = directives(&text, wanted.directive).into_iter().next().unwrap_or_default();
    if !said.contains(&word.to_lowercase()) {
        return Err(format!("the messages lack {word:?}: {said}"));
    }
    matches_snapshot(&file.with_extension("stderr"), &report.err)
}

fn matches_snapshot(file: &Path, got: &str) -> Result<(), String> {
    let want = fs::read_to_string(file).unwrap_or_default();
    if want == got {
        return Ok(());
    }
    if std::env::var_os("LEE_BLESS").is_some() {
        return fs::write(file, got).map_err(|e| e.to_string());
    }
    Err(format!(
        "the report differs from {} ('./dev bless' accepts it):\n--- expected\n{want}--- got\n{got}",
        file.display()
    ))
}
