//! `lee advise` on the programs of `tests/advise`: a comment `advise: VERDICT WORDS` says what is
//! said of the site on its line, and what the report must contain, the reason for no patch included
//! (`nopatch`: that there is no patch; `has:TEXT`: what the patch writes); sites without one must
//! not be mentioned. Programs that run (`int main` and no `declined` in the name) are patched, and
//! must print the same afterwards, with gcc and clang, at -O0 and -O2, under the sanitizers.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::tools;

type Done = Result<(), String>;

fn lee() -> Command {
    Command::new(support::lee())
}

/// The command without a rule of its analysis, if one is named.
fn lee_without(rule: Option<&str>) -> Command {
    let mut command = lee();
    command.env("LEE_ADVISE_WITHOUT", rule.unwrap_or(""));
    command
}

/// Patches are made where tokens come from gcc's preprocessor. Notes that the test is skipped
/// without it.
fn lacks_gcc(test: &str) -> bool {
    let missing = tools::missing(tools::Family::Gcc);
    missing.inspect(|name| tools::skip(name, test, true)).is_some()
}

fn ran(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("{command:?}: {}\n{out}{err}", output.status))
}

fn leeward_programs() -> Vec<PathBuf> {
    support::files(&support::root().join("tests/advise"), "lee")
}

fn programs() -> Vec<PathBuf> {
    support::files(&support::root().join("tests/advise"), "c")
}

/// Line, verdict, and words that must be said.
type Wanted = (usize, String, String);

fn wanted(text: &str) -> Vec<Wanted> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(n, line)| {
            let (_, said) = line.split_once("// advise: ")?;
            let (verdict, words) = said.split_once(' ').unwrap_or((said, ""));
            Some((n + 1, verdict.to_string(), words.to_string()))
        })
        .collect()
}

/// Options that the first lines of a program ask for: `//@ options: --max-size 8`.
fn options(text: &str) -> Vec<String> {
    let line = text.lines().find_map(|l| l.strip_prefix("//@ options: "));
    line.unwrap_or("").split_whitespace().map(str::to_string).collect()
}

fn said(file: &Path, text: &str, without: Option<&str>) -> Done {
    let mut command = lee_without(without);
    let output =
        ran(command.arg("advise").args(options(text)).args(["--explain", "--message-format", "json"]).arg(file))?;
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let found = document["findings"].as_array().cloned().unwrap_or_default();
    let mut wanted = wanted(text);
    let mut wrong = String::new();
    for finding in &found {
        let line = finding["at"]["line"].as_u64().unwrap_or(0) as usize;
        let verdict = finding["verdict"].as_str().unwrap_or("");
        let proven = if finding["proven"].as_bool() == Some(true) { "proven" } else { "likely" };
        let said = |word: &str| finding[word].as_str().unwrap_or("").to_string();
        let all = format!("{proven} {} {}", said("reason"), said("no_patch"));
        match wanted.iter().position(|w| w.0 == line) {
            Some(n) => {
                let (_, v, words) = wanted.remove(n);
                let patched = words != "nopatch";
                let (words, written) = words.split_once("has:").unwrap_or((&words, ""));
                let edits = finding["patch"]["edits"].as_array().cloned().unwrap_or_default();
                let writes = |e: &serde_json::Value| e["text"].as_str().is_some_and(|t| t.contains(written));
                if !written.is_empty() && !edits.iter().any(writes) {
                    wrong += &format!("{}:{line}: the patch does not have {written}\n", file.display());
                }
                if v != verdict || patched && !all.contains(words.trim_end()) {
                    wrong += &format!("{}:{line}: wanted {v} {words}, got {verdict} {all}\n", file.display());
                }
                if matches!(verdict, "stack" | "hybrid") && finding["patch"].is_null() == patched {
                    wrong += &format!("{}:{line}: patch: {}\n", file.display(), finding["no_patch"]);
                }
            }
            None => wrong += &format!("{}:{line}: {verdict} {all} is said of no site\n", file.display()),
        }
    }
    for (line, verdict, _) in wanted {
        wrong += &format!("{}:{line}: {verdict} is not said\n", file.display());
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong)
    }
}

#[test]
fn each_site_gets_its_verdict() -> Done {
    if lacks_gcc("each_site_gets_its_verdict") {
        return Ok(());
    }
    let mut wrong = String::new();
    for file in programs().into_iter().chain(leeward_programs()) {
        let text = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        if let Err(why) = said(&file, &text, None) {
            wrong += &why;
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong)
    }
}

/// A file that has errors is named; the others are analysed.
#[test]
fn leeward_that_is_refused_is_an_error() -> Done {
    let scratch = Scratch::new("leeward")?;
    std::fs::write(scratch.0.join("bad.lee"), "int f(void) { return x; }\n").map_err(|e| e.to_string())?;
    let good = "#include <stdlib.h>\nint f(void) { int *unique p = new int{ 1 }; int r = *p; free(p); return r; }\n";
    std::fs::write(scratch.0.join("good.lee"), good).map_err(|e| e.to_string())?;
    let done = lee().current_dir(&scratch.0).args(["advise", "--explain", "bad.lee", "good.lee"]).output();
    let done = done.map_err(|e| e.to_string())?;
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let named = err.contains("bad.lee:1") && out.contains("good.lee:2") && out.contains("on the stack by itself");
    match done.status.code() == Some(1) && named {
        true => Ok(()),
        false => Err(format!("{}\n{out}{err}", done.status)),
    }
}

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Scratch, String> {
        let path = std::env::temp_dir().join(format!("lee-advise-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| e.to_string())?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Patches a program, and compares what it prints before and after.
fn prints_the_same(file: &Path, text: &str, without: Option<&str>) -> Done {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let scratch = Scratch::new(&name)?;
    std::fs::write(scratch.0.join(&name), text).map_err(|e| e.to_string())?;
    let mut command = lee_without(without);
    ran(command.current_dir(&scratch.0).arg("advise").args(options(text)).args(["--patch", "p.diff", &name]))?;
    let build = |to: &str, cc: &str, level: &str| -> Result<Vec<u8>, String> {
        let flags = ["-w", "-g", "-fsanitize=address,undefined", level, "-o", to, &name];
        ran(Command::new(cc).current_dir(&scratch.0).args(flags))?;
        let mut run = Command::new(scratch.0.join(to));
        run.env("ASAN_OPTIONS", "detect_stack_use_after_return=1").env("UBSAN_OPTIONS", "halt_on_error=1");
        Ok(ran(&mut run)?.stdout)
    };
    let before = build("before", "gcc", "-O0")?;
    ran(Command::new("git").current_dir(&scratch.0).args(["apply", "p.diff"]))?;
    for cc in [tools::gcc(), tools::clang()].into_iter().flatten() {
        for level in ["-O0", "-O2"] {
            let after = build("after", cc, level)?;
            if before != after {
                return Err(format!("{name}: {cc} {level}: the patched program prints something else"));
            }
        }
    }
    Ok(())
}

/// Whether the program is one that runs.
fn runs(file: &Path) -> bool {
    let declined = file.file_name().unwrap_or_default().to_string_lossy().starts_with("declined");
    !declined && std::fs::read_to_string(file).is_ok_and(|text| text.contains(" main("))
}

#[test]
fn patched_programs_print_the_same() -> Done {
    if lacks_gcc("patched_programs_print_the_same") {
        return Ok(());
    }
    for file in programs().into_iter().filter(|f| runs(f)) {
        let text = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        prints_the_same(&file, &text, None)?;
    }
    Ok(())
}

/// Without any one rule of the analysis a program gets another verdict or patch, or does not do the
/// same when it is patched. Takes some minutes: `cargo test -p lee --test advise -- --ignored`.
#[test]
#[ignore = "opt-in: ./dev advise --rules"]
fn each_rule_is_needed() -> Done {
    if lacks_gcc("each_rule_is_needed") {
        return Ok(());
    }
    let mut all = vec![];
    for file in programs() {
        let text = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        all.push((file, text));
    }
    let mut missed = vec![];
    for &(_, word, says) in advise::rules::ALL {
        // The program that names the rule comes first.
        let names = |text: &str| text.split("rule: ").skip(1).any(|t| t.split_whitespace().next() == Some(word));
        let mut order: Vec<&(PathBuf, String)> = all.iter().collect();
        order.sort_by_key(|(_, text)| !names(text));
        let by_verdict = order.iter().find(|(file, text)| said(file, text, Some(word)).is_err());
        let by_run =
            || order.iter().filter(|f| runs(&f.0)).find(|(f, text)| prints_the_same(f, text, Some(word)).is_err());
        match (by_verdict, by_verdict.map_or_else(by_run, |_| None)) {
            (Some((file, _)), _) => println!("{word}: seen by the verdicts of {}", file.display()),
            (None, Some((file, _))) => println!("{word}: seen by running {}", file.display()),
            (None, None) => missed.push(format!("{word}: {says}")),
        }
    }
    let (caught, wanted) = (advise::rules::ALL.len() - missed.len(), advise::rules::ALL.len());
    println!("{caught} of {wanted} rules are missed when they are switched off");
    if missed.is_empty() {
        Ok(())
    } else {
        Err(missed.join("\n"))
    }
}

/// The replacements of SARIF's `fixes`, in lines and columns, give the text that the patch gives.
#[test]
fn fixes_of_sarif_are_the_patch() -> Done {
    if lacks_gcc("fixes_of_sarif_are_the_patch") {
        return Ok(());
    }
    for file in programs() {
        let text = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let scratch = Scratch::new(&format!("sarif-{name}"))?;
        std::fs::write(scratch.0.join(&name), &text).map_err(|e| e.to_string())?;
        fixes_are_the_patch(&scratch.0, &[&name])?;
    }
    let scratch = whole_program("sarif-whole")?;
    let changed = fixes_are_the_patch(&scratch.0, &["--whole-program", "list.c", "main.c", "fill.c", "--", "-Iinc"])?;
    match changed {
        5 => Ok(()),
        _ => Err(format!("the fixes change {changed} files of the whole program")),
    }
}

/// Asks for the fixes and the patch of files in a folder, and applies both. How many files change.
fn fixes_are_the_patch(folder: &Path, words: &[&str]) -> Result<usize, String> {
    let mut command = lee();
    command.current_dir(folder).args(["advise", "--message-format", "sarif", "--patch", "p.diff"]);
    let said = ran(command.args(words))?;
    let log: serde_json::Value = serde_json::from_slice(&said.stdout).map_err(|e| e.to_string())?;
    if log["version"] != "2.1.0" || log["runs"][0]["tool"]["driver"]["name"] != "lee advise" {
        return Err(format!("{words:?}: not SARIF"));
    }
    // By file: lines and columns from which and to which there is another text.
    type Replacement = ((u64, u64), (u64, u64), String);
    let mut all: std::collections::BTreeMap<String, Vec<Replacement>> = Default::default();
    let changes = log["runs"][0]["results"].as_array().into_iter().flatten();
    for change in changes.flat_map(|r| r["fixes"][0]["artifactChanges"].as_array().into_iter().flatten()) {
        let slot = all.entry(change["artifactLocation"]["uri"].as_str().unwrap_or("").to_string()).or_default();
        for replacement in change["replacements"].as_array().into_iter().flatten() {
            let region = &replacement["deletedRegion"];
            let at =
                |line: &str, column: &str| (region[line].as_u64().unwrap_or(1), region[column].as_u64().unwrap_or(1));
            let text = replacement["insertedContent"]["text"].as_str().unwrap_or("").to_string();
            slot.push((at("startLine", "startColumn"), at("endLine", "endColumn"), text));
        }
    }
    let mut fixed: Vec<(String, String)> = vec![];
    for (file, mut edits) in all {
        let text = std::fs::read_to_string(folder.join(&file)).map_err(|e| format!("{file}: {e}"))?;
        let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(n, _)| n + 1)).collect();
        // The programs are ASCII, so a column is a byte.
        let offset =
            |(line, column): (u64, u64)| starts.get(line as usize - 1).copied().unwrap_or(0) + column as usize - 1;
        edits.sort();
        let (mut new, mut at) = (String::new(), 0);
        for (lo, hi, with) in edits {
            new += text.get(at..offset(lo)).ok_or_else(|| format!("{file}: fixes overlap"))?;
            new += &with;
            at = offset(hi);
        }
        new += text.get(at..).unwrap_or("");
        fixed.push((file, new));
    }
    if !fixed.is_empty() {
        ran(Command::new("git").current_dir(folder).args(["apply", "p.diff"]))?;
    }
    for (file, new) in &fixed {
        if std::fs::read_to_string(folder.join(file)).map_err(|e| e.to_string())? != *new {
            return Err(format!("{file}: the fixes give another text than the patch"));
        }
    }
    let diff = std::fs::read_to_string(folder.join("p.diff")).map_err(|e| e.to_string())?;
    match diff.matches("\n+++ ").count() == fixed.len() {
        true => Ok(fixed.len()),
        false => Err(format!("{words:?}: the fixes change {} files, and the patch others", fixed.len())),
    }
}

/// A site in a header is listed once, with what the file that allows least says of it.
#[test]
fn a_site_in_a_header_is_listed_once() -> Done {
    let scratch = Scratch::new("header")?;
    let write = |name: &str, text: &str| std::fs::write(scratch.0.join(name), text).map_err(|e| e.to_string());
    write(
        "own.h",
        "#include <stdlib.h>\nchar *kept;\nstatic int both(int n) {\n    char *p = malloc(8);\n    if (!p) return 0;\n    \
         p[0] = n;\n    n = p[0];\n    free(p);\n    return n;\n}\nstatic int either(int n) {\n    char *p = malloc(8);\n    \
         if (!p) return 0;\n    p[0] = n;\n#ifdef KEEP\n    kept = p;\n#else\n    free(p);\n#endif\n    return n;\n}\n",
    )?;
    write("a.c", "#include \"own.h\"\nint a(int n) { return both(n) + either(n); }\n")?;
    write("b.c", "#define KEEP\n#include \"own.h\"\nint b(int n) { return both(n) + either(n); }\n")?;
    let mut command = lee();
    let wanted = ["advise", "--explain", "--message-format", "json", "a.c", "b.c"];
    let output = ran(command.current_dir(&scratch.0).args(wanted))?;
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let said = |f: &serde_json::Value| format!("{}:{} {}", f["at"]["file"], f["at"]["line"], f["verdict"]);
    let said: Vec<String> = document["findings"].as_array().into_iter().flatten().map(said).collect();
    match said == [r#""own.h":4 "stack""#, r#""own.h":12 "declined""#] {
        true => Ok(()),
        false => Err(format!("{said:?}")),
    }
}

/// The files of `tests/advise/whole` in a folder of their own.
fn whole_program(name: &str) -> Result<Scratch, String> {
    let from = support::root().join("tests/advise/whole");
    let scratch = Scratch::new(name)?;
    std::fs::create_dir_all(scratch.0.join("inc")).map_err(|e| e.to_string())?;
    for file in ["list.c", "main.c", "fill.c", "inc/list.h", "inc/queue.h"] {
        std::fs::copy(from.join(file), scratch.0.join(file)).map_err(|e| e.to_string())?;
    }
    Ok(scratch)
}

/// With `--whole-program` one patch changes a helper, its header, and all files that call it, and
/// the struct that gets a member; without it, neither.
#[test]
fn patches_change_several_files() -> Done {
    if lacks_gcc("patches_change_several_files") {
        return Ok(());
    }
    let scratch = whole_program("whole")?;
    let files = ["list.c", "main.c", "fill.c"];
    let advised = |more: &[&str], flags: &[&str]| -> Result<Vec<(String, bool, String)>, String> {
        let mut command = lee();
        command.current_dir(&scratch.0).args(["advise", "--message-format", "json", "--patch", "p.diff"]);
        let output = ran(command.args(more).args(files).arg("--").args(flags))?;
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        let text = |f: &serde_json::Value, key: &str| f[key].as_str().unwrap_or("").to_string();
        let one = |f: &serde_json::Value| (text(f, "verdict"), !f["patch"].is_null(), text(f, "no_patch"));
        Ok(document["findings"].as_array().into_iter().flatten().map(one).filter(|f| f.0 != "declined").collect())
    };
    let alone = advised(&[], &["-Iinc"])?;
    let refused = |f: &(String, bool, String)| !f.1 && f.2.contains("another file");
    if alone.len() != 2 || !alone.iter().all(refused) {
        return Err(format!("without --whole-program: {alone:?}"));
    }
    let build = |to: &str| -> Result<Vec<u8>, String> {
        let flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize=leak", "-Iinc", "-o", to];
        ran(Command::new("gcc").current_dir(&scratch.0).args(flags).args(files))?;
        let mut run = Command::new(scratch.0.join(to));
        run.env("ASAN_OPTIONS", "detect_stack_use_after_return=1:detect_leaks=0");
        Ok(ran(&mut run)?.stdout)
    };
    let before = build("before")?;
    // Headers are found by a path from the folder, and by an absolute one.
    let absolute = format!("-I{}", scratch.0.join("inc").display());
    let check = "gcc -w -Iinc -o tried list.c main.c fill.c && ./tried";
    for flags in [&[&*absolute][..], &["-Iinc"]] {
        let found = advised(&["--whole-program", "--verify", check], flags)?;
        if found.len() != 2 || !found.iter().all(|f| f.1) {
            return Err(format!("with --whole-program and {flags:?}: {found:?}"));
        }
    }
    ran(Command::new("git").current_dir(&scratch.0).args(["apply", "p.diff"]))?;
    let header = std::fs::read_to_string(scratch.0.join("inc/queue.h")).map_err(|e| e.to_string())?;
    match header.contains("struct list first_object;") && build("after")? == before {
        true => Ok(()),
        false => Err(format!("the patched program prints something else, or {header}")),
    }
}

/// One more file that uses the helper, the struct or the field in another way keeps all as they
/// are.
#[test]
fn another_file_may_forbid_a_patch() -> Done {
    if lacks_gcc("another_file_may_forbid_a_patch") {
        return Ok(());
    }
    let scratch = whole_program("another")?;
    let uses = [
        ("list_new", "struct list *(*maker)(int) = list_new;\n"),
        ("list_end", "#define END list_end\n"),
        ("an owner is copied", "struct queue copy(const struct queue *q) { return *q; }\n"),
        ("also gets other objects", "static struct list one;\nvoid set(struct queue *q) { q->first = &one; }\n"),
        ("not of the simple form", "#define first second\n#include \"inc/queue.h\"\n"),
    ];
    for (why, text) in uses {
        let first = if why == "not of the simple form" { "" } else { "#include \"inc/queue.h\"\n" };
        let more = format!("{first}{text}");
        std::fs::write(scratch.0.join("more.c"), more).map_err(|e| e.to_string())?;
        let mut command = lee();
        command.current_dir(&scratch.0).args(["advise", "--whole-program", "--patch", "p.diff"]);
        command.args(["--message-format", "json", "list.c", "main.c", "fill.c", "more.c", "--", "-Iinc"]);
        let output = ran(&mut command)?;
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        let embed = document["findings"].as_array().into_iter().flatten().find(|f| f["verdict"] == "embed");
        let Some(embed) = embed else { return Err(format!("{text}: no embed")) };
        if !embed["no_patch"].as_str().is_some_and(|said| said.contains(why)) {
            return Err(format!("{text}: {}", embed["no_patch"]));
        }
    }
    Ok(())
}

/// A patch with which the command fails is dropped, with the reason; the others stay.
#[test]
fn verify_drops_what_fails() -> Done {
    if lacks_gcc("verify_drops_what_fails") {
        return Ok(());
    }
    let scratch = Scratch::new("verify")?;
    let text = "#include <stdlib.h>\nint f(int n) {\n    char *p = malloc(8);\n    if (!p) return 0;\n    p[0] = n;\n    n = p[0];\n    free(p);\n    return n;\n}\n\
                int g(int n) {\n    char *wrong = malloc(8);\n    if (!wrong) return 0;\n    wrong[0] = n;\n    n = wrong[0];\n    free(wrong);\n    return n;\n}\n";
    std::fs::write(scratch.0.join("a.c"), text).map_err(|e| e.to_string())?;
    let mut command = lee();
    let check = "gcc -w -c a.c && ! grep -q wrong_buffer a.c";
    ran(command.current_dir(&scratch.0).args(["advise", "--verify", check, "--patch", "p.diff", "a.c"]))?;
    let diff = std::fs::read_to_string(scratch.0.join("p.diff")).map_err(|e| e.to_string())?;
    let kept = diff.contains("p_buffer") && !diff.contains("wrong_buffer");
    let untouched = std::fs::read_to_string(scratch.0.join("a.c")).is_ok_and(|now| now == text);
    if kept && untouched {
        Ok(())
    } else {
        Err(format!("the diff is {diff}"))
    }
}

/// What each patch saves by itself is counted, and the findings are ranked by it. A patch with which
/// the command fails is dropped, and so is one that fails beside another.
#[test]
fn measure_ranks_by_what_each_patch_saves() -> Done {
    if lacks_gcc("measure_ranks_by_what_each_patch_saves") {
        return Ok(());
    }
    let scratch = Scratch::new("measure")?;
    let function = |name: &str| {
        format!(
            "int {name}(int n) {{\n    char *{name}s = malloc(8);\n    if (!{name}s) return 0;\n    {name}s[0] = n;\n    \
             n = {name}s[0];\n    free({name}s);\n    return n;\n}}\n"
        )
    };
    let text = format!(
        "#include <stdlib.h>\n{}{}{}{}int main(void) {{\n    int r = 0;\n    for (int i = 0; i < 3; i++) r += rare(i);\n    \
         for (int i = 0; i < 50; i++) r += often(i);\n    return r == 1228 + 0 * (wrong(r) + later(r)) ? 0 : 1;\n}}\n",
        function("rare"),
        function("often"),
        function("wrong"),
        function("later")
    );
    std::fs::write(scratch.0.join("a.c"), text).map_err(|e| e.to_string())?;
    let check = "gcc -w -O0 -o a a.c && ! grep -q wrongs_buffer a.c && ! { grep -q oftens_buffer a.c && grep -q laters_buffer a.c; }";
    let said = |format: &str| -> Result<String, String> {
        let mut command = lee();
        let words = ["advise", "--verify", check, "--measure", "./a", "--message-format", format, "a.c"];
        Ok(String::from_utf8_lossy(&ran(command.current_dir(&scratch.0).args(words))?.stdout).into_owned())
    };
    let human = said("human")?;
    let at = |words: &str| human.find(words).ok_or_else(|| format!("no {words}: {human}"));
    let (often, rare) = (at("saves 50 of 55 calls of the allocator")?, at("saves 3 of 55 calls of the allocator")?);
    let order = at("in `often`")? < often && often < at("in `rare`")? && at("in `rare`")? < rare;
    let dropped = [at("with it '")?, at("with it and the patches before it '")?];
    if !order || dropped.iter().any(|d| *d < rare) || at("with all patches: saves 53 of 55 calls")? < rare {
        return Err(human);
    }
    let json: serde_json::Value = serde_json::from_str(&said("json")?).map_err(|e| e.to_string())?;
    let sarif: serde_json::Value = serde_json::from_str(&said("sarif")?).map_err(|e| e.to_string())?;
    let one = json["findings"].as_array().and_then(|all| all.iter().find(|f| f["function"] == "often"));
    let first = &sarif["runs"][0]["results"][0]["properties"]["saved"];
    let all =
        [one.map(|f| &f["saved"]), Some(first), Some(&json["saved"]), Some(&sarif["runs"][0]["properties"]["saved"])];
    let calls: Vec<_> = all.into_iter().flatten().map(|s| (s["calls"].as_i64(), s["of_calls"].as_i64())).collect();
    match calls == [(Some(50), Some(55)), (Some(50), Some(55)), (Some(53), Some(55)), (Some(53), Some(55))] {
        true => Ok(()),
        false => Err(format!("{calls:?}")),
    }
}

/// A program for the options: its allocators are its own.
const POOL: &str = "#include <stddef.h>\n#include <string.h>\nvoid *pool_get(int tag, size_t n);\nvoid *pool_zeroed(size_t n, size_t m);\n\
    char *pool_text(int tag, const char *s);\nvoid *pool_grow(void *p, size_t n);\nvoid pool_put(int tag, void *p);\n\
    struct hooks { void *(*allocate)(size_t); } hooks;\n\
    int got(int n) {\n    char *p = pool_get(1, 8);\n    p[0] = n;\n    n = p[0];\n    pool_put(1, p);\n    return n;\n}\n\
    int zeroed(void) {\n    int *p = pool_zeroed(2, 4);\n    int n = p ? p[1] : 0;\n    pool_put(2, p);\n    return n;\n}\n\
    int text(const char *s) {\n    char *p = pool_text(3, s);\n    int n = p ? p[0] : 0;\n    pool_put(3, p);\n    return n;\n}\n\
    int grown(void) {\n    char *p = pool_get(4, 4);\n    p = pool_grow(p, 8);\n    int n = p != 0;\n    pool_put(4, p);\n    return n;\n}\n\
    int hooked(void) {\n    char *p = hooks.allocate(6);\n    if (!p) return 0;\n    p[1] = 1;\n    int n = p[1];\n    pool_put(5, p);\n    return n;\n}\n\
    static char *made(void) { return pool_get(6, 5); }\n\
    char *kept;\nvoid keeps(void) { kept = made(); }\n";

const ROLES: &str =
    "pool_get allocate 1 never-fails\npool_zeroed zeroed 0 1\npool_text duplicate 1\npool_grow resize 0\n\
    pool_put release 1\nhooks.allocate allocate 0 replaceable # a hook\n";

/// A `caller` patch clears as many bytes as the allocator does, whose other arguments are no sizes;
/// and a release keeps its other arguments.
#[test]
fn allocators_may_have_more_arguments() -> Done {
    if lacks_gcc("allocators_may_have_more_arguments") {
        return Ok(());
    }
    let scratch = Scratch::new("arguments")?;
    let text = "#include <stddef.h>\n#include <string.h>\nvoid *pool_zeroed(int tag, size_t n);\nvoid pool_put(int tag, void *p);\n\
        static int *made(void) {\n    return pool_zeroed(7, 16);\n}\nint f(void) {\n    int *p = made();\n    if (!p) return -1;\n    int n = p[3];\n    \
        pool_put(7, p);\n    return n;\n}\nint g(int n, size_t size) {\n    char *p = pool_zeroed(8, size + 1);\n    if (!p) return -1;\n    \
        n = p[0];\n    pool_put(8, p);\n    return n;\n}\n";
    std::fs::write(scratch.0.join("a.c"), text).map_err(|e| e.to_string())?;
    let roles = "pool_zeroed zeroed 1 1\npool_put release 1\n";
    std::fs::write(scratch.0.join("roles"), roles).map_err(|e| e.to_string())?;
    let mut command = lee();
    let words = ["advise", "--allocators", "roles", "--message-format", "json", "--patch", "p.diff", "a.c"];
    ran(command.current_dir(&scratch.0).args(words))?;
    let diff = std::fs::read_to_string(scratch.0.join("p.diff")).map_err(|e| e.to_string())?;
    let wanted = [
        "memset(object_buffer, 0, (16))",
        "+    if (p != p_buffer)\n+        pool_put(8, p);",
        "-    pool_put(7, p);\n",
    ];
    match wanted.iter().all(|w| diff.contains(w)) {
        true => Ok(()),
        false => Err(diff),
    }
}

/// Each option changes what is said as the help says, and `--deny` the status.
#[test]
fn options_do_what_they_say() -> Done {
    let scratch = Scratch::new("options")?;
    let write = |name: &str, text: &str| std::fs::write(scratch.0.join(name), text).map_err(|e| e.to_string());
    write("a.c", POOL)?;
    write("roles", ROLES)?;
    let chain = "#include <stdlib.h>\nstatic int leaf(int n) {\n    char *p = malloc(40);\n    if (!p) return 0;\n    p[1] = n;\n    \
                 n = p[1];\n    free(p);\n    return n;\n}\nint top(int n) {\n    char *p = malloc(30);\n    if (!p) return 0;\n    p[1] = n;\n    \
                 n = leaf(p[1]);\n    free(p);\n    return n;\n}\n";
    write("chain.c", chain)?;
    write("none.c", "int nothing;\n")?;
    let roles = &["--allocators", "roles", "a.c"][..];
    // Words, status, what is said, and what is not.
    type Case<'a> = (Vec<&'a str>, i32, &'a [&'a str], &'a [&'a str]);
    let with = |more: &[&'static str], last: &[&'static str]| [more, last].concat();
    let cases: Vec<Case> = vec![
        (vec!["a.c"], 0, &["advice for 0 sites"], &[]),
        (
            roles.to_vec(),
            0,
            &[
                "in `got`: 8 bytes",
                "in `zeroed`: 8 bytes",
                "hybrid (proven): `p` from `pool_text`",
                "the program may replace `hooks.allocate`",
                "advice for 4 sites",
            ],
            &["`grown`"],
        ),
        (with(&["--explain"], roles), 0, &["in `grown`", "it is resized"], &["`keeps`"]),
        (with(&["--explain", "--infer-allocators"], roles), 0, &["`made` in `keeps`"], &[]),
        (
            with(&["--max-size", "7"], roles),
            0,
            &["stack (proven): `p` from `hooks.allocate`", "advice for 2 sites"],
            &[],
        ),
        (vec!["chain.c"], 0, &["advice for 2 sites"], &[]),
        (vec!["--stack-budget", "69", "--explain", "chain.c"], 0, &["advice for 1 site", "--stack-budget is 69"], &[]),
        (vec!["--stack-budget", "70", "chain.c"], 0, &["advice for 2 sites"], &[]),
        (vec!["--deny", "chain.c"], 1, &["advice for 2 sites"], &[]),
        (vec!["--deny", "none.c"], 0, &["advice for 0 sites"], &[]),
    ];
    for (words, status, wanted, absent) in cases {
        let mut command = lee();
        let output = command.current_dir(&scratch.0).arg("advise").args(&words).output().map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let missing: Vec<_> = wanted.iter().filter(|w| !said.contains(**w)).collect();
        let wrong: Vec<_> = absent.iter().filter(|w| said.contains(**w)).collect();
        if output.status.code() != Some(status) || !missing.is_empty() || !wrong.is_empty() {
            let err = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{words:?}: {}\n{said}{err}\nmissing {missing:?}, wrong {wrong:?}", output.status));
        }
    }
    Ok(())
}

/// What is wrong is said in one line, with the status of wrong usage or of an error.
#[test]
fn wrong_usage_and_bad_files_are_told_apart() -> Done {
    let scratch = Scratch::new("usage")?;
    std::fs::write(scratch.0.join("bad.c"), "int f( {").map_err(|e| e.to_string())?;
    std::fs::write(scratch.0.join("db.json"), "[{}]").map_err(|e| e.to_string())?;
    std::fs::write(scratch.0.join("roles"), "x release").map_err(|e| e.to_string())?;
    let cases: [(&[&str], i32, &str); 8] = [
        (&[], 2, "needs files of C or Leeward"),
        (&["--max-size", "x", "a.c"], 2, "not a number"),
        (&["--message-format", "xml", "a.c"], 2, "human, json or sarif"),
        (&["missing.c"], 1, "missing.c"),
        (&["missing.lee"], 1, "missing.lee"),
        (&["bad.c"], 1, "bad.c"),
        (&["-p", "db.json"], 1, "db.json"),
        (&["--allocators", "roles", "bad.c"], 1, "line 1"),
    ];
    for (words, status, text) in cases {
        let mut command = lee();
        let output = command.current_dir(&scratch.0).arg("advise").args(words).output().map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() != Some(status) || !said.contains(text) {
            return Err(format!("{words:?}: {} {said}", output.status));
        }
    }
    Ok(())
}
