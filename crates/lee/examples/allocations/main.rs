//! Writes C programs that allocate in many ways, lets `lee advise` patch them, and compares the
//! patched programs with the originals.
//!
//! ```sh
//! cargo run -p lee --example allocations -- 200            # programs 0 to 199
//! cargo run -p lee --example allocations -- --from 1000 200 --keep DIR
//! ```
//!
//! A program is a set of functions with one entry, with at least three sites; some twenty go into
//! one file, so that the C compiler is started less often. Each site is known to be one that may be
//! patched, or one that must be declined. Patched files are built by gcc and clang, -O0 and -O2,
//! under AddressSanitizer with `detect_stack_use_after_return=1`, and must print what the original
//! prints. The summary says how many sites were patched.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// Not all of its choices are wanted here.
#[allow(dead_code)]
#[path = "../differ/rng.rs"]
mod rng;
mod write;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use write::{program, Program};

/// Programs in one file.
const BATCH: u64 = 25;

#[derive(Default)]
struct Totals {
    programs: u64,
    sites: usize,
    bad: usize,
    patched: usize,
}

fn main() -> ExitCode {
    let mut from = 0;
    let mut count = 100;
    let mut keep = None;
    let mut lee = std::env::var_os("LEE").map_or_else(|| PathBuf::from("target/debug/lee"), PathBuf::from);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--from" => from = words.next().and_then(|w| w.parse().ok()).unwrap_or(0),
            "--keep" => keep = words.next().map(PathBuf::from),
            "--lee" => lee = words.next().map_or(lee, PathBuf::from),
            number => match number.parse() {
                Ok(n) => count = n,
                Err(_) => {
                    eprintln!("usage: allocations [--from N] [--keep DIR] [--lee PROGRAM] [COUNT]");
                    return ExitCode::from(2);
                }
            },
        }
    }
    let lee = lee.canonicalize().unwrap_or(lee);
    let mut totals = Totals::default();
    let mut wrong = 0;
    let mut seed = from;
    while seed < from + count {
        let end = (seed + BATCH).min(from + count);
        let folder = std::env::temp_dir().join(format!("lee-allocations-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        if let Err(why) = batch(&lee, &folder, seed..end, &mut totals) {
            wrong += 1;
            println!("programs {seed} to {}: {why}", end - 1);
            if let Some(keep) = &keep {
                let _ = std::fs::create_dir_all(keep);
                for file in ["a.c", "b.c", "p.diff"] {
                    let _ = std::fs::copy(folder.join(file), keep.join(format!("{seed}-{file}")));
                }
            }
        }
        let _ = std::fs::remove_dir_all(&folder);
        seed = end;
    }
    let Totals { programs, sites, bad, patched } = totals;
    let share = (patched * 100).checked_div(sites).unwrap_or(0);
    println!("{programs} programs, {sites} sites, {bad} of them to be declined, {patched} patched ({share} %), {wrong} files wrong");
    ExitCode::from(u8::from(wrong > 0))
}

fn batch(lee: &Path, folder: &Path, seeds: std::ops::Range<u64>, totals: &mut Totals) -> Result<(), String> {
    let programs: Vec<Program> = seeds.clone().map(program).collect();
    let mut text = String::from(write::HEAD);
    let mut bad_lines = vec![];
    for program in &programs {
        for line in program.text.lines() {
            text.push_str(line);
            text.push('\n');
            if line.ends_with("// bad") {
                bad_lines.push(text.lines().count() as u64);
            }
        }
        totals.sites += program.text.matches("// good").count() + program.text.matches("// bad").count();
    }
    text.push_str("int main(void) {\n");
    for seed in seeds {
        text.push_str(&format!(
            "    for (int n = -1; n < 40; n += 3) printf(\"%d %d %ld\\n\", {seed}, n, run_{seed}(n));\n"
        ));
    }
    // What stays in the heap shows a release that is lost; the optimiser may remove leaks.
    text.push_str(
        "#ifndef __OPTIMIZE__\n    printf(\"live %zu\\n\", __sanitizer_get_current_allocated_bytes());\n#endif\n",
    );
    text.push_str("    return 0;\n}\n");
    totals.programs += programs.len() as u64;
    totals.bad += bad_lines.len();
    std::fs::write(folder.join("a.c"), &text).map_err(|e| e.to_string())?;
    let before = built(folder, "gcc", "-O0", "a.c")?;
    let said = run(Command::new(lee).current_dir(folder).args([
        "advise",
        "--message-format",
        "json",
        "--stack-budget",
        "1000000",
        "--patch",
        "p.diff",
        "a.c",
    ]))?;
    let document: serde_json::Value = serde_json::from_slice(&said).map_err(|e| e.to_string())?;
    for finding in document["findings"].as_array().into_iter().flatten() {
        let line = finding["at"]["line"].as_u64().unwrap_or(0);
        if finding["patch"].is_object() {
            totals.patched += 1;
            if bad_lines.contains(&line) {
                return Err(format!("line {line} must be declined, but is patched"));
            }
        }
    }
    std::fs::copy(folder.join("a.c"), folder.join("b.c")).map_err(|e| e.to_string())?;
    let diff = std::fs::read_to_string(folder.join("p.diff")).map_err(|e| e.to_string())?;
    if diff.is_empty() {
        return Ok(());
    }
    std::fs::write(folder.join("p.diff"), diff.replace("/a.c", "/b.c")).map_err(|e| e.to_string())?;
    run(Command::new("git").current_dir(folder).args(["apply", "p.diff"]))?;
    for cc in ["gcc", "clang-19"] {
        for level in ["-O0", "-O2"] {
            let after = built(folder, cc, level, "b.c")?;
            let same = match (cc, level) {
                ("gcc", "-O0") => after == before,
                _ => without_live(&after) == without_live(&before),
            };
            if !same {
                return Err(format!("{cc} {level}: the patched program prints something else"));
            }
        }
    }
    Ok(())
}

/// What a program prints, but for the line about the heap, which compilers may change.
fn without_live(said: &[u8]) -> &[u8] {
    let at = said.windows(5).rposition(|w| w == b"live ");
    said.get(..at.unwrap_or(said.len())).unwrap_or(said)
}

/// What the program prints, built under the sanitizer.
fn built(folder: &Path, cc: &str, level: &str, file: &str) -> Result<Vec<u8>, String> {
    run(Command::new(cc).current_dir(folder).args([
        "-w",
        "-g1",
        "-fwrapv",
        level,
        "-fsanitize=address",
        "-o",
        "program",
        file,
    ]))?;
    let mut command = Command::new(folder.join("program"));
    run(command.env("ASAN_OPTIONS", "detect_stack_use_after_return=1:detect_leaks=0"))
}

fn run(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}\n{}", output.status, said.lines().take(30).collect::<Vec<_>>().join("\n")))
}
