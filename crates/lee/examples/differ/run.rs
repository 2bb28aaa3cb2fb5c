//! Compiles a batch of programs in every way, runs them, and compares what each said with what C
//! said.

use crate::program::{program, Program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Nothing that is generated runs longer than a moment.
const PATIENCE: Duration = Duration::from_secs(20);

const LEE_PRELUDE: &str = "\
#include <stdio.h>
#include <stdlib.h>
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long i64;
typedef unsigned long u64;
static void say(int tag, i64 value) { printf(\"%d %ld\\n\", tag, value); }
";

/// How a program ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// By itself.
    Fine,
    /// With a fault at this line.
    Fault(u32, String),
    /// In a way that none should.
    Wrong(String),
}

/// What a program did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What it printed.
    pub output: String,
    /// Its end.
    pub end: End,
}

/// A way to make a program.
#[derive(Clone, Debug)]
pub struct Way {
    /// For messages.
    pub name: String,
    /// The C compiler.
    pub compiler: String,
    /// Arguments of `lee` before the file.
    pub arguments: Vec<String>,
}

/// The ways of a batch: optimised by gcc, and another one that changes from batch to batch.
pub fn ways(batch: u64) -> Vec<Way> {
    const OTHERS: [(&str, &[&str]); 8] = [
        ("clang-19", &["build", "-w", "--release"]),
        ("gcc", &["build", "-w"]),
        ("clang-19", &["cc", "-w", "-g1", "-O3"]),
        ("gcc", &["cc", "-w", "-g1", "-O1"]),
        ("clang-19", &["build", "-w"]),
        ("gcc", &["cc", "-w", "-g1", "-O3"]),
        ("clang-19", &["cc", "-w", "-g1", "-O1"]),
        ("gcc", &["cc", "-w", "-g1", "-Os"]),
    ];
    let chosen = [("gcc", &["build", "-w", "--release"][..]), OTHERS[(batch % OTHERS.len() as u64) as usize]];
    let made = |(compiler, arguments): (&str, &[&str])| Way {
        name: format!("{compiler} {}", arguments.join(" ")),
        compiler: compiler.to_string(),
        arguments: arguments.iter().map(|a| a.to_string()).collect(),
    };
    chosen.into_iter().filter(|(compiler, _)| runs(compiler)).map(made).collect()
}

fn runs(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// What a batch showed.
#[derive(Default)]
pub struct Report {
    /// Programs, variants not counted.
    pub programs: u64,
    /// Runs of a program or variant that were compared.
    pub compared: u64,
    /// Variants that end with a fault.
    pub faults: u64,
    /// What went wrong.
    pub wrong: Vec<String>,
}

impl crate::batches::Report for Report {
    fn sums(&self) -> (u64, &[String]) {
        (self.programs, &self.wrong)
    }

    fn add(&mut self, other: Report) {
        self.programs += other.programs;
        self.compared += other.compared;
        self.faults += other.faults;
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
    /// Variants with a fault put in, for each seed.
    pub variants: u32,
}

impl Batch<'_> {
    /// All of it.
    pub fn run(&self) -> Report {
        let mut report = Report { programs: self.count, ..Report::default() };
        if let Err(error) = fs::create_dir_all(&self.folder) {
            report.wrong.push(format!("{}: {error}", self.folder.display()));
            return report;
        }
        let names = self.write();
        let twin = self.folder.join("twin");
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=gnu11", "-O0", "-w", "-fwrapv", "-fno-strict-aliasing", "-o"]).arg(&twin).arg(self.file("c"));
        if let Err(why) = made(&mut gcc) {
            report.wrong.push(format!("seeds from {}: C does not compile: {why}", self.from));
            return report;
        }
        let wanted = outcomes(&twin, names.len(), c_fault);
        report.faults = wanted.iter().filter(|o| matches!(o.end, End::Fault(..))).count() as u64;
        for (name, outcome) in names.iter().zip(&wanted) {
            if let End::Wrong(why) = &outcome.end {
                report.wrong.push(format!("{name}: C itself ends with {why}"));
            }
        }
        for way in ways(self.from / self.count.max(1)) {
            self.compare(&way, &names, &wanted, &mut report);
        }
        report
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("batch.{extension}"))
    }

    /// Writes both files; the names of the programs in them.
    fn write(&self) -> Vec<String> {
        let mut lee = LEE_PRELUDE.to_string();
        let mut c = include_str!("twin.h").to_string();
        let (mut names, mut entries) = (vec![], vec![]);
        let mut line = LEE_PRELUDE.lines().count();
        for seed in self.from..self.from + self.count {
            for variant in 0..=self.variants {
                let Program { entry, lee: text, c: twin, lines, .. } = program(seed, variant, line);
                lee.push_str(&text);
                c.push_str(&format!("#line {}\n{twin}", line + 1));
                line += lines;
                entries.push(entry);
                names.push(if variant == 0 {
                    format!("seed {seed}")
                } else {
                    format!("seed {seed} variant {variant}")
                });
            }
        }
        let main = main_function(&entries);
        lee.push_str(&main);
        c.push_str(&main);
        // Not written: the compilers will say so.
        let _ = fs::write(self.file("lee"), lee).and_then(|()| fs::write(self.file("c"), c));
        names
    }

    fn compare(&self, way: &Way, names: &[String], wanted: &[Outcome], report: &mut Report) {
        let program = self.folder.join("program");
        let mut lee = Command::new(self.lee);
        lee.args(&way.arguments).arg("-o").arg(&program).arg(self.file("lee")).env("LEE_CC", &way.compiler);
        if let Err(why) = made(&mut lee) {
            report.wrong.push(format!("seeds from {}, {}: does not compile: {why}", self.from, way.name));
            return;
        }
        let found = outcomes(&program, names.len(), lee_fault);
        for ((name, wanted), found) in names.iter().zip(wanted).zip(&found) {
            report.compared += 1;
            if let Some(why) = difference(wanted, found) {
                report.wrong.push(format!("{name}, {}: {why}", way.name));
            }
        }
    }
}

/// The function that runs all programs, or those from a number on.
fn main_function(entries: &[String]) -> String {
    format!(
        "static void (*const programs[])(void) = {{ {} }};
int main(int argc, char **argv) {{
    for (long k = argc > 1 ? strtol(argv[1], NULL, 10) : 0; k < {}; k++) {{
        printf(\"== %ld\\n\", k);
        programs[k]();
    }}
    return 0;
}}
",
        entries.join(", "),
        entries.len()
    )
}

/// Runs a compiler; what it says if it fails.
fn made(command: &mut Command) -> Result<(), String> {
    let shown = |o: &Output| String::from_utf8_lossy(&o.stderr).lines().take(12).collect::<Vec<_>>().join("\n    ");
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{}\n    {}", output.status, shown(&output))),
        Err(error) => Err(error.to_string()),
    }
}

/// What each of the programs does: they run in one process until one faults, and in another one
/// from there on.
fn outcomes(file: &Path, count: usize, fault: fn(&str) -> Option<(u32, String)>) -> Vec<Outcome> {
    let mut found: Vec<Outcome> = vec![];
    while found.len() < count {
        let first = found.len();
        let (output, errors, status) = run(file, first);
        let mut parts = output.split("== ").skip(1);
        for part in parts.by_ref() {
            let text = part.split_once('\n').map_or("", |(_, text)| text);
            found.push(Outcome { output: text.to_string(), end: End::Fine });
        }
        if found.len() == first {
            found.push(Outcome { output: String::new(), end: End::Wrong(format!("no output; {status}: {errors}")) });
            continue;
        }
        if status == "0" {
            continue;
        }
        if let Some(last) = found.last_mut() {
            last.end = match fault(&errors) {
                Some((line, message)) if status == "134" => End::Fault(line, message),
                _ => End::Wrong(format!("{status}: {}", errors.lines().take(4).collect::<Vec<_>>().join("; "))),
            };
        }
    }
    found.truncate(count);
    found
}

/// Output, errors and status of the programs from one on.
fn run(file: &Path, first: usize) -> (String, String, String) {
    let (out, err) = (file.with_extension("out"), file.with_extension("err"));
    let files = fs::File::create(&out).and_then(|o| fs::File::create(&err).map(|e| (o, e)));
    let Ok((o, e)) = files else { return (String::new(), String::new(), "no files".into()) };
    let started = Command::new(file).arg(first.to_string()).stdin(Stdio::null()).stdout(o).stderr(e).spawn();
    let Ok(mut child) = started else { return (String::new(), String::new(), "does not start".into()) };
    let since = Instant::now();
    let mut pause = Duration::from_micros(200);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.code().map_or(format!("{status}"), |c| c.to_string()),
            Ok(None) if since.elapsed() < PATIENCE => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                break "no end".to_string();
            }
        }
    };
    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    (read(&out), read(&err), status)
}

/// `LINE: message`
fn c_fault(errors: &str) -> Option<(u32, String)> {
    let (line, message) = errors.lines().next()?.split_once(": ")?;
    Some((line.parse().ok()?, message.to_string()))
}

/// `FILE:LINE:COLUMN: fault: message`; a trap knows no column.
fn lee_fault(errors: &str) -> Option<(u32, String)> {
    let (place, message) = errors.lines().next()?.split_once(": fault: ")?;
    let mut numbers = place.rsplit(':').map_while(|part| part.parse().ok());
    let last: u32 = numbers.next()?;
    Some((numbers.next().unwrap_or(last), message.to_string()))
}

/// What is different, if anything is.
fn difference(wanted: &Outcome, found: &Outcome) -> Option<String> {
    let same_end = match (&wanted.end, &found.end) {
        (End::Fault(line, message), End::Fault(at, said)) => {
            line == at && message.strip_prefix('~').map_or(said == message, |part| said.contains(part))
        }
        (wanted, found) => wanted == found,
    };
    if !same_end {
        return Some(format!("{:?} instead of {:?}", found.end, wanted.end));
    }
    if wanted.output != found.output {
        let lines = wanted.output.lines().zip(found.output.lines());
        let first = lines.enumerate().find(|(_, (a, b))| a != b);
        return Some(match first {
            Some((n, (a, b))) => format!("line {} of the output is '{b}' instead of '{a}'", n + 1),
            None => format!("{} bytes of output instead of {}", found.output.len(), wanted.output.len()),
        });
    }
    None
}
