//! Breaks accepted programs, one thing at a time. A mutant that is accepted must do no harm: it is
//! run under the sanitizers, and the program itself reports wrong values and objects that were lost
//! or dropped twice.

// All kinds have one signature.
#![allow(clippy::ptr_arg)]

use crate::commands::{build_sanitized, head, run_sanitized, Outcome};
use crate::program::{program, Program};
use crate::rng::{mixed, Random};
use crate::run::{check, file_of, CC};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Some mutants never end.
const PATIENCE: Duration = Duration::from_secs(20);

type Mutation = fn(&mut Random, &mut Vec<String>) -> Option<()>;

/// The kinds: name, what is done to the lines of the functions.
const KINDS: &[(&str, Mutation)] = &[
    ("drop a move", drop_move),
    ("swap two regions", swap_regions),
    ("remove a retain", remove_retain),
    ("reorder a free", reorder_free),
    ("use after a move", use_after),
    ("free twice", free_twice),
    ("lose what is owned", lose),
    ("return a borrow", return_borrow),
    ("widen a borrow", widen_borrow),
    ("free through the wrong owner", wrong_owner),
    ("skip a null", skip_null),
    ("change a consume", change_consume),
    ("store instead of exchanging", unswap),
    ("keep a borrow in a global", escape),
    ("another variable", rename),
    ("delete a line", delete_line),
    ("repeat a line", repeat_line),
    ("exchange two lines", exchange_lines),
    ("move a line out of its block", hoist),
    ("change a tag under an owner", change_tag),
    ("call with another consume", change_pointer),
    ("swap two arguments", swap_arguments),
    ("drop an outlives", drop_outlives),
    ("change the place of a cursor", under_cursor),
    ("join later", join_later),
    ("start what borrows", start_call),
];

/// What became of the mutants of one kind.
#[derive(Default, Clone, Copy)]
struct Counts {
    made: u64,
    rejected: u64,
    harmless: u64,
    faults: u64,
    endless: u64,
    harmful: u64,
}

/// Makes and judges mutants of the programs of some seeds. Gives the lines about what went wrong,
/// how many were made, and a table.
pub fn mutate(lee: &Path, folder: &Path, from: u64, count: u64, mutants: u64) -> (Vec<String>, u64, String) {
    let mut table: BTreeMap<usize, Counts> = BTreeMap::new();
    let mut wrong = vec![];
    let mut made = 0;
    let _ = fs::create_dir_all(folder);
    for seed in from..from + count {
        let original = program(seed);
        for n in 0..mutants {
            let mut random = Random(mixed(seed.wrapping_mul(0x1_0003).wrapping_add(n)));
            // One after the other, so that each kind has its share.
            let kind = ((seed * mutants + n) % KINDS.len() as u64) as usize;
            let mut lines: Vec<String> = original.functions.lines().map(String::from).collect();
            let Some((name, change)) = KINDS.get(kind) else { continue };
            if change(&mut random, &mut lines).is_none() || lines.join("\n") == original.functions.trim_end() {
                continue;
            }
            made += 1;
            let counts = table.entry(kind).or_default();
            counts.made += 1;
            let text = file_of(&[with_functions(&original, &lines)]);
            let file = folder.join(format!("m{seed}_{n}.lee"));
            let _ = fs::write(&file, text);
            let found = judge(lee, folder, &file, seed, counts);
            match found {
                Some(why) => wrong.push(format!("seed {seed}, mutant {n} ({name}): {}: {why}", file.display())),
                None => drop(fs::remove_file(&file)),
            }
        }
    }
    (wrong, made, shown(&table))
}

fn with_functions(original: &Program, lines: &[String]) -> Program {
    Program {
        types: original.types.clone(),
        functions: format!("{}\n", lines.join("\n")),
        entry: original.entry.clone(),
        count: original.count,
    }
}

/// Runs a mutant if it is accepted; says what harm it does.
fn judge(lee: &Path, folder: &Path, file: &Path, seed: u64, counts: &mut Counts) -> Option<String> {
    let checked = check(lee, file);
    if checked.status == "1" {
        counts.rejected += 1;
        return None;
    }
    if !checked.is_fine() {
        counts.harmful += 1;
        return Some(format!("the compiler ends with {}: {}", checked.status, head(&checked.errors)));
    }
    let binary = folder.join(format!("m{seed}"));
    let built = build_sanitized(lee, CC, file, &binary, false);
    if !built.is_fine() {
        counts.harmful += 1;
        return Some(format!("is accepted and cannot be built: {}", head(&built.errors)));
    }
    let plain = run_sanitized(&binary, 0, false, false, PATIENCE);
    let ran = if plain.is_fine() { run_sanitized(&binary, 3, true, true, PATIENCE) } else { plain };
    let _ = fs::remove_file(&binary);
    classify(&ran, counts)
}

fn classify(ran: &Outcome, counts: &mut Counts) -> Option<String> {
    let text = format!("{}\n{}", ran.output, ran.errors);
    if ran.status == "too long" {
        counts.endless += 1;
        return None;
    }
    let reported = text.contains("AddressSanitizer") || text.contains("runtime error:") || text.contains("bad:");
    if ran.status == "134" && text.contains("fault:") && !reported {
        counts.faults += 1;
        return None;
    }
    // Whether it does what the original does is not its duty.
    if ran.is_fine() && !reported {
        counts.harmless += 1;
        return None;
    }
    counts.harmful += 1;
    let bad = ran.output.lines().filter(|l| l.contains("bad:")).collect::<Vec<_>>().join("; ");
    Some(format!("ends with {}: {bad} {}", ran.status, head(&ran.errors)))
}

fn shown(table: &BTreeMap<usize, Counts>) -> String {
    let mut out = String::from(
        "| mutation | made | rejected | harmless | faults | endless | harmful |\n|---|---|---|---|---|---|---|\n",
    );
    let mut row = |name: &str, c: &Counts| {
        out.push_str(&format!(
            "| {name} | {} | {} | {} | {} | {} | {} |\n",
            c.made, c.rejected, c.harmless, c.faults, c.endless, c.harmful
        ));
    };
    let mut sum = Counts::default();
    for (kind, c) in table {
        row(KINDS.get(*kind).map_or("?", |k| k.0), c);
        sum.made += c.made;
        sum.rejected += c.rejected;
        sum.harmless += c.harmless;
        sum.faults += c.faults;
        sum.endless += c.endless;
        sum.harmful += c.harmful;
    }
    row("all", &sum);
    out
}

// ---- finding lines

/// Lines inside functions that are the program's own: not those that count objects or compute
/// checksums.
fn own(line: &str) -> bool {
    let t = line.trim();
    let counts = ["_given", "_tok", "->sum =", "->id =", "->id *=", "said(", "last", "bad(__LINE__)", "static "];
    line.starts_with("    ") && t.ends_with(';') && !counts.iter().any(|w| t.contains(w))
}

/// The number of one of the lines that fit.
fn some(random: &mut Random, lines: &[String], fits: impl Fn(&str) -> bool) -> Option<usize> {
    let entry = lines.iter().position(|l| l.contains("_main(void) {")).unwrap_or(lines.len());
    pick_line(random, entry, |n| own(&lines[n]) && fits(lines[n].trim()))
}

/// One of the first `count` lines.
fn pick_line(random: &mut Random, count: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let found: Vec<usize> = (0..count).filter(|&n| fits(n)).collect();
    (!found.is_empty()).then(|| *random.pick(&found))
}

/// First and last line of the function around a line.
fn function_of(lines: &[String], at: usize) -> (usize, usize) {
    let first = (0..=at).rev().find(|&n| lines[n].starts_with("static ")).unwrap_or(0);
    let last = (at..lines.len()).find(|&n| lines[n] == "}").unwrap_or(lines.len() - 1);
    (first, last)
}

fn is_free(t: &str) -> bool {
    let words = ["free(", "release(", "rfree(", "free_arena(", "drop_"];
    words.iter().any(|w| t.starts_with(w)) || t.contains("_K_free(")
}

/// What a line gives up: the last argument of its call.
fn given(t: &str) -> Option<String> {
    let inside = t.split_once('(')?.1.strip_suffix(");")?;
    Some(inside.rsplit(',').next()?.trim().to_string())
}

/// Words that are variables: a letter or more, then digits.
fn variables(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_variable = |w: &&str| {
        let stem = w.trim_end_matches(|c: char| c.is_ascii_digit());
        !stem.is_empty() && stem.len() < w.len() && stem.chars().all(|c| c.is_ascii_lowercase())
    };
    let mut found: Vec<String> = words.filter(is_variable).map(String::from).collect();
    found.sort();
    found.dedup();
    found
}

/// Replaces a whole word, the `n`th time that it stands there.
fn replaced(line: &str, word: &str, by: &str, n: usize) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut seen = 0;
    for (at, _) in line.match_indices(word) {
        let before = line[..at].chars().next_back().is_some_and(is_word);
        let after = line[at + word.len()..].chars().next().is_some_and(is_word);
        if before || after {
            continue;
        }
        if seen == n {
            return format!("{}{by}{}", &line[..at], &line[at + word.len()..]);
        }
        seen += 1;
    }
    line.to_string()
}

fn margin(line: &str) -> String {
    line.chars().take_while(|c| *c == ' ').collect()
}

// ---- mutations

fn drop_move(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let plain = |v: &str| !v.is_empty() && v.chars().all(|c| c.is_ascii_alphanumeric() || "_->.".contains(c));
    let n = some(random, lines, |t| {
        let value = t.rsplit_once(" = ").map(|(_, v)| v.trim_end_matches(';'));
        value.is_some_and(|v| plain(v) && v != "nullptr" && v.chars().any(|c| c.is_ascii_alphabetic()))
    })?;
    let (head, _) = lines[n].rsplit_once(" = ")?;
    lines[n] = format!("{head} = nullptr;");
    Some(())
}

fn swap_regions(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| t.contains('@') || t.starts_with("open ") || t.contains("new("))?;
    let (first, last) = function_of(lines, n);
    let text = lines[first..=last].join(" ");
    let mut names: Vec<String> = text
        .split('@')
        .skip(1)
        .map(|part| part.chars().take_while(|c| c.is_ascii_alphanumeric()).collect())
        .filter(|name: &String| !name.is_empty())
        .collect();
    names.push("heap".into());
    names.sort();
    names.dedup();
    let here: Vec<String> = names.iter().filter(|w| replaced(&lines[n], w, "", 0) != lines[n]).cloned().collect();
    if here.is_empty() {
        return None;
    }
    let old = random.pick(&here).clone();
    let new = random.pick(&names).clone();
    let at = random.below(2) as usize;
    lines[n] = replaced(&lines[n], &old, &new, at);
    Some(())
}

fn remove_retain(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| t.contains("retain("))?;
    let (head, tail) = lines[n].split_once("retain(")?;
    let (inside, rest) = tail.split_once(')')?;
    lines[n] = format!("{head}{inside}{rest}");
    Some(())
}

fn reorder_free(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, is_free)?;
    let line = lines.remove(n);
    let up = random.between(1, 6) as usize;
    let to = if random.chance(75) { n.saturating_sub(up) } else { (n + up).min(lines.len()) };
    let (first, last) = function_of(lines, n.min(lines.len() - 1));
    lines.insert(to.clamp(first + 1, last), line);
    Some(())
}

fn use_after(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| is_free(t) || t.contains("share(") || t.contains("_pass(") || t.contains("_put("))?;
    let t = lines[n].trim().to_string();
    let what = match t.split_once(" = ") {
        Some((_, value)) => given(value)?.trim_end_matches(')').to_string(),
        None => given(&t)?,
    };
    let use_it = match random.below(3) {
        0 => format!("use({what}->id);"),
        1 => format!("auto again = {what}; use(again->id);"),
        _ => format!("{what}->num[0]++;"),
    };
    let use_it = if use_it.contains("num") { format!("use({what}->id + 1);") } else { use_it };
    let line = format!("{}{use_it}", margin(&lines[n]));
    lines.insert(n + 1, line);
    Some(())
}

fn free_twice(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, is_free)?;
    let line = lines[n].clone();
    let to = if random.chance(60) { n + 1 } else { n + 1 + random.below(4) as usize };
    let (_, last) = function_of(lines, n);
    lines.insert(to.min(last), line);
    Some(())
}

fn lose(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, is_free)?;
    lines.remove(n);
    Some(())
}

fn return_borrow(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| t.starts_with("return "))?;
    let (first, last) = function_of(lines, n);
    let names = variables(&lines[first..=last].join(" "));
    if names.is_empty() {
        return None;
    }
    let name = random.pick(&names).clone();
    let value = match random.below(4) {
        0 => format!("&*{name}"),
        1 => format!("{name}->next0"),
        _ => name,
    };
    lines[n] = format!("{}return {value};", margin(&lines[n]));
    Some(())
}

fn widen_borrow(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let borrows = |t: &str| {
        t.starts_with("borrow ") || t.contains(" *view ") || t.starts_with("cursor ") || t.starts_with("long *a")
    };
    let opens = |n: usize| lines[n].trim() == "{" && lines.get(n + 1).is_some_and(|l| borrows(l.trim()));
    let n = pick_line(random, lines.len(), opens)?;
    let close = format!("{}}}", margin(&lines[n]));
    let end = (n + 1..lines.len()).find(|&m| lines[m] == close)?;
    let brace = lines.remove(end);
    lines.remove(n);
    // As far as it is a block: to some line further on.
    let (_, last) = function_of(lines, n);
    let to = (end - 1 + random.between(1, 4) as usize).min(last);
    if random.chance(50) {
        lines.insert(n, format!("{}{{", margin(&brace)));
        lines.insert((to + 1).min(lines.len()), brace);
    }
    Some(())
}

fn wrong_owner(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, is_free)?;
    let what = given(lines[n].trim())?;
    let (first, last) = function_of(lines, n);
    let handles: Vec<String> = variables(&lines[first..=last].join(" "))
        .into_iter()
        .filter(|v| v.starts_with('r') || v.starts_with('o'))
        .collect();
    let handle = if handles.is_empty() { "ra".to_string() } else { random.pick(&handles).clone() };
    let call = match random.below(6) {
        0 => format!("free({what});"),
        1 => format!("release({what});"),
        2 => format!("free_arena({what});"),
        3 => format!("release({handle}, {what});"),
        _ => format!("rfree({handle}, {what});"),
    };
    lines[n] = format!("{}{call}", margin(&lines[n]));
    Some(())
}

fn skip_null(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| t.ends_with("= nullptr;"))?;
    if lines[n].contains('*') && lines[n].trim().starts_with("struct") {
        let (head, _) = lines[n].rsplit_once(" = ")?;
        lines[n] = format!("{head};");
    } else {
        lines.remove(n);
    }
    Some(())
}

fn change_consume(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let heads: Vec<usize> =
        (0..lines.len()).filter(|&n| lines[n].starts_with("static ") && lines[n].contains("arg0")).collect();
    if heads.is_empty() {
        return None;
    }
    let n = *random.pick(&heads);
    let (head, params) = lines[n].split_once('(')?;
    let mut params: Vec<String> = params.split(", ").map(String::from).collect();
    let k = random.below(params.len() as i64) as usize;
    params[k] = match params[k].strip_prefix("consume ") {
        Some(rest) => rest.to_string(),
        None => match random.below(3) {
            0 => format!("consume {}", params[k]),
            1 => params[k].replace(" *unique ", " *"),
            _ => params[k].replace(" *view ", " *").replace(" *any ", " *unique "),
        },
    };
    lines[n] = format!("{head}({}", params.join(", "));
    Some(())
}

fn unswap(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| t.contains(" :=: "))?;
    lines[n] = lines[n].replace(" :=: ", " = ");
    Some(())
}

/// A global keeps a pointer that a variable has; the entry looks through it.
fn escape(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| {
        t.starts_with("struct ") && t.contains(" *") && t.contains(" = ") && !t.contains("[]")
    })?;
    let t = lines[n].trim().to_string();
    let record = t.split_whitespace().nth(1)?.split('<').next()?.to_string();
    if !record.contains("_P") && !record.contains("_N") {
        return None;
    }
    let name = t.split(" = ").next()?.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?.to_string();
    let how = match random.below(3) {
        0 => format!("kept = {name};"),
        1 => format!("{{ struct {record} *k = {name}; kept = k; }}"),
        _ => format!("{{ borrow k = {name}; kept = k; }}"),
    };
    let line = format!("{}{how}", margin(&lines[n]));
    lines.insert(n + 1, line);
    let entry = lines.iter().position(|l| l.contains("_all();"))?;
    lines.insert(entry + 1, "    if (kept) use(kept->id);".into());
    lines.insert(0, format!("static struct {record} *kept;"));
    Some(())
}

fn rename(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| !variables(t).is_empty())?;
    let (first, last) = function_of(lines, n);
    let here = variables(&lines[n]);
    let old = random.pick(&here).clone();
    let all = variables(&lines[first..=last].join(" "));
    let stem = |w: &str| w.trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
    let alike: Vec<&String> =
        all.iter().filter(|w| **w != old && (stem(w) == stem(&old) || random.0 % 3 == 0)).collect();
    if alike.is_empty() {
        return None;
    }
    let new = (*random.pick(&alike)).clone();
    let at = random.below(2) as usize;
    lines[n] = replaced(&lines[n], &old, &new, at);
    Some(())
}

fn delete_line(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |_| true)?;
    lines.remove(n);
    Some(())
}

fn repeat_line(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| !t.starts_with("struct ") && !t.starts_with("int "))?;
    let line = lines[n].clone();
    lines.insert(n, line);
    Some(())
}

fn exchange_lines(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |_| true)?;
    if own(lines.get(n + 1)?) {
        lines.swap(n, n + 1);
        return Some(());
    }
    None
}

/// A statement is moved past the end of its block, or before its start.
fn hoist(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| !t.starts_with("break") && !t.starts_with("continue"))?;
    let line = lines[n].clone();
    let inner = margin(&line).len();
    let outer = " ".repeat(inner.checked_sub(4).filter(|m| *m >= 4)?);
    let is_brace = |l: &String, first: char| margin(l).len() == outer.len() && l.trim().starts_with(first);
    let moved = format!("{outer}{}", line.trim());
    if random.chance(60) {
        let end = (n..lines.len()).find(|&m| is_brace(&lines[m], '}'))?;
        lines.insert(end + 1, moved);
        lines.remove(n);
    } else {
        let begin = (0..n).rev().find(|&m| margin(&lines[m]).len() == outer.len() && lines[m].ends_with('{'))?;
        lines.remove(n);
        lines.insert(begin, moved);
    }
    Some(())
}

// ---- unions, pointers to functions, cursors, tasks

/// The member of a union that was lent or taken is overwritten: by its tag, by another member, or
/// by the whole.
fn change_tag(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| t.contains("->u.own;") || t.contains(" *view w") || t.starts_with("release(t"))?;
    let t = lines[n].trim().to_string();
    let change = if let Some((head, _)) = t.split_once("->u.own;") {
        let path = head.rsplit(' ').next()?;
        match random.below(5) {
            0 => format!("{path}->kind = 1;"),
            1 => format!("{path}->kind++;"),
            2 => format!("{path}->u.own = nullptr;"),
            3 => format!("{{ auto other = {path}->u.own; free(other); }}"),
            _ => format!("{path} :=: {path}->next;"),
        }
    } else {
        let head = (0..n).rev().find(|&m| lines[m].trim().starts_with("switch ("))?;
        let path = lines[head].trim().strip_prefix("switch (")?.strip_suffix(") {")?.to_string();
        match random.below(5) {
            0 => format!("{path}.num = 1;"),
            1 => format!("{path}.own = nullptr;"),
            2 => format!("{{ auto other = {path}; }}"),
            3 => format!("switch ({path}) {{ case .own(p): free(p); break; default: break; }}"),
            _ => format!("{path} :=: {path};"),
        }
    };
    let line = format!("{}{change}", margin(&lines[n]));
    let to = n + 1 + random.below(3) as usize;
    let (_, last) = function_of(lines, n);
    lines.insert(to.min(last), line);
    Some(())
}

/// The type of a pointer to a function says something else.
fn change_pointer(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let through = |n: usize| lines[n].contains("(*") && lines[n].contains(" arg") && lines[n].starts_with("static ");
    let n = pick_line(random, lines.len(), through)?;
    let line = lines[n].clone();
    let changes = [
        ("consume ", ""),
        (")(struct", ")(consume struct"),
        (" *unique arg", " *arg"),
        (" *any arg", " *unique arg"),
        (" *view arg", " *arg"),
        (" *arg", " *@heap arg"),
        (" *arg", " *view arg"),
        ("*@heap arg", "*arg"),
        (" *rc arg", " *unique arg"),
        (" *unique *arg", " *unique arg"),
    ];
    let fits: Vec<&(&str, &str)> = changes.iter().filter(|(from, _)| line.contains(from)).collect();
    if fits.is_empty() {
        return None;
    }
    let (from, to) = **random.pick(&fits);
    lines[n] = line.replacen(from, to, 1);
    Some(())
}

/// Two arguments of a call change places.
fn swap_arguments(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = some(random, lines, |t| t.contains(", ") && t.ends_with(");") && !t.contains('{'))?;
    let line = lines[n].clone();
    let (head, inside) = line.strip_suffix(");")?.split_once('(')?;
    let mut args: Vec<&str> = inside.split(", ").collect();
    if args.len() < 2 {
        return None;
    }
    let a = random.below(args.len() as i64) as usize;
    let b = random.below(args.len() as i64) as usize;
    args.swap(a, b);
    lines[n] = format!("{head}({});", args.join(", "));
    Some(())
}

/// A prototype promises less, or the opposite.
fn drop_outlives(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = pick_line(random, lines.len(), |n| lines[n].contains("@up outlives @lo"))?;
    let fact = if random.chance(50) { "generic <@lo outlives @up>" } else { "" };
    lines[n] = lines[n].replace("generic <@up outlives @lo>", fact);
    Some(())
}

/// While a cursor is on a place, something happens to it.
fn under_cursor(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = pick_line(random, lines.len(), |n| lines[n].trim().starts_with("cursor c"))?;
    let t = lines[n].trim().to_string();
    let (name, place) = t.strip_prefix("cursor ")?.strip_suffix(';')?.split_once(" = &")?;
    let what = if random.chance(50) { format!("(*{name})") } else { place.to_string() };
    let change = match random.below(8) {
        0 => format!("free({what});"),
        1 => format!("{what} = nullptr;"),
        2 => format!("{{ auto other = {what}; use(other->id); }}"),
        3 => format!("{name} = &{what}->next0;"),
        4 => format!("{{ cursor other = &{what}; *other = nullptr; }}"),
        5 => format!("{{ borrow other = {what}; {what} = nullptr; use(other->id); }}"),
        6 => format!("{what} :=: {place};"),
        _ => format!("{{ auto other = &{what}; *other = nullptr; }}"),
    };
    let (_, last) = function_of(lines, n);
    let end = (n..last).find(|&m| margin(&lines[m]).len() < margin(&lines[n]).len()).unwrap_or(last);
    let to = n + 1 + random.below((end - n).max(1) as i64) as usize;
    let line = format!("{}{change}", margin(&lines[n]));
    lines.insert(to.min(end), line);
    Some(())
}

/// A task runs for longer.
fn join_later(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let n = pick_line(random, lines.len(), |n| lines[n].contains("if (!join(task"))?;
    let name = lines[n].split_once("join(")?.1.split_once(')')?.0.to_string();
    let tag = lines.iter().find_map(|l| Some(l.split_once("_keep(")?.0.rsplit(' ').next()?.to_string()));
    let tag = tag.or_else(|| {
        let entry = lines.iter().find(|l| l.contains("_main(void) {"))?;
        Some(entry.split_once("_main(")?.0.rsplit(' ').next()?.to_string())
    })?;
    lines[n] = format!("{}{tag}_keep({name});", margin(&lines[n]));
    Some(())
}

/// A call is made by a task.
fn start_call(random: &mut Random, lines: &mut Vec<String>) -> Option<()> {
    let calls = ["ck_", "bump_", "drop_", "_f"];
    let n = some(random, lines, |t| {
        t.ends_with(");")
            && calls.iter().any(|c| t.starts_with(c) || t.starts_with('s') && t.contains("_f"))
            && !t.contains(" = ")
    })?;
    let call = lines[n].trim().strip_suffix(';')?.to_string();
    let how = match random.below(3) {
        0 => format!("join(start {call});"),
        1 => format!("{{ task *other = start {call}; join(other); }}"),
        _ => format!("{{ task *other = start {call}; yield(); join(other); }}"),
    };
    lines[n] = format!("{}{how}", margin(&lines[n]));
    Some(())
}
