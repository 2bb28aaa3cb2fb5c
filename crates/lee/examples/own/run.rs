//! Builds a batch of programs under the sanitizers and runs it: as it is, and with a collection at
//! each few allocations; a share of the batches also optimised by another compiler. All runs print
//! the same.

use crate::commands::{build_sanitized, head, run, run_sanitized, Outcome, PATIENCE};
use crate::program::{program, Program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Before every file.
pub const PRELUDE: &str = include_str!("prelude.lee");

/// The text of some programs, as one file.
pub fn file_of(programs: &[Program]) -> String {
    let mut text = PRELUDE.to_string();
    let mut calls = String::new();
    for program in programs {
        text.push_str(&program.types);
        text.push_str(&program.functions);
        calls.push_str(&format!("    {}();\n", program.entry));
    }
    text.push_str(&format!("int main(void) {{\n{calls}    return bads > 0;\n}}\n"));
    text
}

/// The compiler with the sanitizers.
pub const CC: &str = "clang-19";

/// What batches showed.
#[derive(Default)]
pub struct Report {
    /// Programs.
    pub programs: u64,
    /// Functions in them.
    pub functions: u64,
    /// Lines.
    pub lines: u64,
    /// Programs that the compiler rejected.
    pub rejected: u64,
    /// Runs of a batch.
    pub runs: u64,
    /// Programs with something that the oracle does not know.
    pub unknown: u64,
    /// What went wrong.
    pub wrong: Vec<String>,
}

impl crate::batches::Report for Report {
    fn sums(&self) -> (u64, &[String]) {
        (self.programs, &self.wrong)
    }

    fn add(&mut self, other: Report) {
        self.programs += other.programs;
        self.functions += other.functions;
        self.lines += other.lines;
        self.rejected += other.rejected;
        self.runs += other.runs;
        self.unknown += other.unknown;
        self.wrong.extend(other.wrong);
    }
}

/// A batch in a folder of its own.
pub struct Batch<'a> {
    /// The command under test.
    pub lee: &'a Path,
    /// Where files are put.
    pub folder: PathBuf,
    /// First seed.
    pub from: u64,
    /// Seeds.
    pub count: u64,
    /// The number of the batch: it chooses how to run.
    pub number: u64,
    /// Under the oracle alone.
    pub interpret: bool,
}

/// Statements that the oracle runs at most.
const STEPS: &str = "200000000";
/// Its status for what it does not know.
const UNKNOWN: &str = "87";
/// The command's status for what is rejected.
const REJECTED: &str = "1";

impl Batch<'_> {
    /// All of it.
    pub fn run(&self) -> Report {
        let mut report = Report::default();
        if let Err(error) = fs::create_dir_all(&self.folder) {
            report.wrong.push(format!("{}: {error}", self.folder.display()));
            return report;
        }
        let mut programs: Vec<Program> = (self.from..self.from + self.count).map(program).collect();
        report.programs = self.count;
        report.functions = programs.iter().map(|p| p.count).sum();
        let (file, binary) = (self.folder.join("batch.lee"), self.folder.join("batch"));
        let mut text = file_of(&programs);
        report.lines = text.lines().count() as u64;
        let _ = fs::write(&file, &text);
        if self.interpret {
            self.interpreted(programs, &mut report);
            return report;
        }
        let mut built = build_sanitized(self.lee, CC, &file, &binary, self.number % 2 == 0);
        if !built.is_fine() {
            programs = self.accepted(programs, &mut report);
            text = file_of(&programs);
            let _ = fs::write(&file, &text);
            built = build_sanitized(self.lee, CC, &file, &binary, self.number % 2 == 0);
        }
        if !built.is_fine() {
            report.wrong.push(format!("seeds from {}: {}: {}", self.from, built.status, head(&built.errors)));
            return report;
        }
        let plain = run_sanitized(&binary, 0, false, false, PATIENCE);
        report.runs += 1;
        if !plain.is_fine() {
            report.wrong.push(self.shown("", &plain));
            return report;
        }
        // Each collection looks at all that lives: with many objects not at each one of them.
        let objects: u64 = plain.output.lines().filter_map(|l| l.rsplit(' ').next()?.parse::<u64>().ok()).sum();
        let (stress, verify) = (1 + self.number % 8 + objects / 2_000, self.number % 3 == 0);
        let stressed = run_sanitized(&binary, stress, verify, true, PATIENCE);
        self.compare(&format!("LEE_GC_STRESS={stress}"), &plain, &stressed, &mut report);
        if self.number % 4 == 0 {
            let mut command = Command::new(self.lee);
            command.args(["build", "-w", "--release", "--cc", "gcc", "-o"]).arg(&binary).arg(&file);
            let built = run(&mut command);
            if built.is_fine() {
                let optimised = run(Command::new(&binary).env("LEE_GC_STRESS", "3"));
                self.compare("gcc --release", &plain, &optimised, &mut report);
            } else {
                report.wrong.push(self.shown("gcc --release", &built));
            }
        }
        report
    }

    /// Runs the programs under the oracle: all at once, and one by one if it does not know
    /// something in one of them.
    fn interpreted(&self, programs: Vec<Program>, report: &mut Report) {
        let file = self.folder.join("batch.lee");
        for how in ["--interpret", "--interpret=transformed"] {
            report.runs += 1;
            let outcome = run(Command::new(self.lee).args(["run", "-w", how, "--steps", STEPS]).arg(&file));
            if outcome.status == UNKNOWN && programs.len() > 1 {
                for program in programs {
                    let one = vec![program];
                    let _ = fs::write(&file, file_of(&one));
                    self.interpreted(one, report);
                }
                return;
            }
            if outcome.status == UNKNOWN {
                report.unknown += 1;
                return;
            }
            let count = programs.len();
            if outcome.status == REJECTED && count > 1 && outcome.errors.contains("error[") {
                // One of them is rejected, or all in one file are: the others run without it.
                let good = self.accepted(programs, report);
                let alone = good.len() == count;
                let files = if alone { good.into_iter().map(|p| vec![p]).collect() } else { vec![good] };
                for programs in files.into_iter().filter(|programs| !programs.is_empty()) {
                    let _ = fs::write(&file, file_of(&programs));
                    self.interpreted(programs, report);
                }
                return;
            }
            if !outcome.is_fine() {
                report.wrong.push(self.shown(how, &outcome));
            }
        }
    }

    fn compare(&self, name: &str, plain: &Outcome, other: &Outcome, report: &mut Report) {
        report.runs += 1;
        if !other.is_fine() {
            report.wrong.push(self.shown(name, other));
        } else if other.output != plain.output {
            let differs = plain.output.lines().zip(other.output.lines()).find(|(a, b)| a != b);
            report.wrong.push(format!("seeds from {}, {name}: the output differs: {differs:?}", self.from));
        }
    }

    fn shown(&self, name: &str, outcome: &Outcome) -> String {
        let last = outcome.output.lines().last().unwrap_or_default();
        format!(
            "seeds from {}, {name}: ends with {} behind '{last}': {}",
            self.from,
            outcome.status,
            head(&outcome.errors)
        )
    }

    /// Those of the programs that the compiler accepts by themselves.
    fn accepted(&self, programs: Vec<Program>, report: &mut Report) -> Vec<Program> {
        let file = self.folder.join("one.lee");
        let mut good = vec![];
        for program in programs {
            let one = [program];
            let _ = fs::write(&file, file_of(&one));
            let checked = check(self.lee, &file);
            let [program] = one;
            if checked.is_fine() {
                good.push(program);
            } else {
                report.rejected += 1;
                report.wrong.push(format!("{} is rejected: {}", program.entry, head(&checked.errors)));
            }
        }
        good
    }
}

/// What the compiler says of a file; if it accepts it, with its verifiers.
pub fn check(lee: &Path, file: &Path) -> Outcome {
    let found = run(Command::new(lee).args(["check", "-w"]).arg(file).env_remove("LEE_VERIFY"));
    if found.is_fine() {
        return run(Command::new(lee).args(["check", "-w"]).arg(file).env("LEE_VERIFY", "1"));
    }
    found
}
