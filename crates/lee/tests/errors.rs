//! The error index: each code has a page, whose rejected program gets the code and whose corrected
//! program is accepted. The other pages are those of `docs.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use libtest_mimic::{Arguments, Trial};
use std::collections::BTreeSet;
use std::fs;
use support::{field, files, fresh, lee_in, root};

fn main() {
    let arguments = Arguments::from_args();
    let known: BTreeSet<&str> = driver::commands::codes().iter().map(|code| code.id).collect();
    let mut trials = vec![];
    for code in driver::commands::codes() {
        trials.push(Trial::test(format!("{} {}", code.id, code.title), move || {
            page(code.id, code.title).map_err(Into::into)
        }));
    }
    for file in files(&root().join("docs/errors"), "md") {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !known.contains(name.as_str()) && name.starts_with('L') {
            trials
                .push(Trial::test(name.clone(), move || Err(format!("no stage gives {name}: remove its page").into())));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn page(id: &str, title: &str) -> Result<(), String> {
    let file = root().join(format!("docs/errors/{id}.md"));
    let text = fs::read_to_string(&file).map_err(|_| format!("docs/errors/{id}.md is missing"))?;
    let head = format!("# {id}: {title}");
    if text.lines().next() != Some(&head) {
        return Err(format!("the first line is not '{head}'"));
    }
    // What is reported under an option only comes after a fence that says so.
    let option = ["--no-gc", "--stack-notes"].into_iter().find(|o| text.contains(&format!("```lee reject {o}")));
    let flags: Vec<&str> = option.into_iter().collect();
    let mut rejected = blocks(&text, "```lee reject");
    rejected.extend(option.map_or(vec![], |option| blocks(&text, &format!("```lee reject {option}"))));
    let accepted = blocks(&text, "```lee accept");
    let mut rejected: Vec<(&str, String)> = rejected.into_iter().map(|program| ("lee", program)).collect();
    rejected.extend(blocks(&text, "```c reject").into_iter().map(|program| ("c", program)));
    if rejected.is_empty() || accepted.is_empty() {
        return Err("a '```lee reject' and a '```lee accept' block are wanted".to_string());
    }
    let folder = fresh(&format!("page-{id}"));
    for (number, (language, program)) in rejected.iter().enumerate() {
        let name = format!("reject{number}.{language}");
        fs::write(folder.join(&name), program).map_err(|e| e.to_string())?;
        let ran =
            lee_in(&folder, &[&["check", "--message-format", "json"], flags.as_slice(), &[name.as_str()]].concat());
        let codes: BTreeSet<String> = ran.out.lines().filter_map(|line| field(line, "code")).collect();
        // The page of a warning shows a program that is warned of.
        let is_error = ran.out.lines().any(|line| field(line, "level").is_some_and(|l| l == "error"));
        if !codes.contains(id) || ran.status != i32::from(is_error) {
            return Err(format!("rejected program {number} gives {codes:?}, status {}: {}", ran.status, ran.err));
        }
    }
    for (number, program) in accepted.iter().enumerate() {
        let name = format!("accept{number}.lee");
        fs::write(folder.join(&name), program).map_err(|e| e.to_string())?;
        let ran = lee_in(&folder, &["check", &name]);
        if ran.status != 0 || ran.err.contains(id) {
            return Err(format!("accepted program {number}: {}", ran.err));
        }
    }
    Ok(())
}

/// The texts of the blocks that a fence opens.
fn blocks(text: &str, fence: &str) -> Vec<String> {
    let mut all = vec![];
    let mut lines = text.lines();
    while lines.by_ref().any(|line| line.trim_end() == fence) {
        all.push(lines.by_ref().take_while(|line| line.trim_end() != "```").map(|line| format!("{line}\n")).collect());
    }
    all
}
