//! The answer as a table: custodians by the time that they took, then processes by memory.

use super::read::{Answer, Custodian};
use std::collections::HashMap;
use std::fmt::Write;

/// Lines of the picture beside the rows of its two tables.
const OTHER_LINES: usize = 7;

/// Rows that each of the two tables may have on the terminal; half of 24 lines if its height is not
/// known.
pub fn rows_of_terminal() -> usize {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call fills the struct, or fails.
    let known = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) } == 0;
    let lines = if known && size.ws_row > 0 { usize::from(size.ws_row) } else { 24 };
    lines.saturating_sub(OTHER_LINES).max(4) / 2
}

/// With what was a moment `before`, shares are of the time since then; without, of all time.
pub fn table(now: &Answer, before: Option<&Answer>, rows: usize) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_table(&mut out, now, before, rows);
    out
}

fn write_table(out: &mut String, now: &Answer, before: Option<&Answer>, rows: usize) -> std::fmt::Result {
    let numbers: HashMap<u64, usize> = now.custodians.iter().enumerate().map(|(number, c)| (c.id, number)).collect();
    let ran_before: HashMap<u64, u64> =
        before.map_or_else(HashMap::new, |b| b.custodians.iter().map(|c| (c.id, c.ran)).collect());
    let took = |c: &Custodian| c.ran.saturating_sub(ran_before.get(&c.id).copied().unwrap_or(0));
    // What is below one is part of it, so these count once.
    let all: u64 = now.custodians.iter().filter(|c| is_outermost(now, &numbers, c)).map(took).sum();
    let count = |state: &str| now.processes.iter().filter(|p| p.state == state).count();
    writeln!(
        out,
        "program {}: {} processes in {} custodians; {} running, {} ready, {} preempted, {} receiving, {} in C{}",
        now.pid,
        now.processes.len(),
        now.custodians.len(),
        count("running"),
        count("ready"),
        count("preempted"),
        count("receiving"),
        count("foreign"),
        if now.cut { "; the answer was cut" } else { "" }
    )?;
    writeln!(
        out,
        "\n{:>9} {:>6} {:>6} {:>7} {:>10} {:>10} {:>9} {:>6} {:>6} {:>6} {:>5}",
        "custodian", "below", "time%", "weight", "ran ms", "KB", "of KB", "procs", "ends", "fds", "ready"
    )?;
    let mut custodians: Vec<&Custodian> = now.custodians.iter().filter(|c| c.ran > 0 || has_limit(c)).collect();
    custodians.sort_by_key(|c| std::cmp::Reverse((took(c), c.uses[0].now)));
    let left_out = custodians.len().saturating_sub(rows);
    for c in custodians.iter().take(rows) {
        let most = c.uses[0].most.map_or("-".to_string(), |most| (most / 1024).to_string());
        writeln!(
            out,
            "{:>9} {:>6} {:>6.1} {:>7} {:>10.1} {:>10} {:>9} {:>6} {:>6} {:>6} {:>5}{}",
            name(&numbers, c.id),
            name(&numbers, c.parent),
            if all == 0 { 0.0 } else { took(c) as f64 * 100.0 / all as f64 },
            c.weight,
            c.ran as f64 / 1e6,
            c.uses[0].now / 1024,
            most,
            c.uses[1].now,
            c.uses[4].now,
            c.uses[3].now,
            c.ready,
            if c.shut { " shut" } else { "" }
        )?;
    }
    more(out, left_out, "custodians")?;
    writeln!(
        out,
        "\n{:>9} {:>9} {:<10} {:>10} {:>6} {:>6} {:>9}",
        "process", "custodian", "state", "KB", "tasks", "ends", "messages"
    )?;
    let mut processes: Vec<_> = now.processes.iter().collect();
    processes.sort_by_key(|p| (rank(&p.state), std::cmp::Reverse((p.messages, p.bytes))));
    for p in processes.iter().take(rows) {
        writeln!(
            out,
            "{:>9x} {:>9} {:<10} {:>10} {:>6} {:>6} {:>9}",
            p.id & 0xff_ffff,
            name(&numbers, p.custodian),
            p.state,
            p.bytes / 1024,
            p.tasks,
            p.endpoints,
            p.messages
        )?;
    }
    more(out, processes.len().saturating_sub(rows), "processes")
}

/// Those that compute come first.
fn rank(state: &str) -> usize {
    ["running", "preempted", "ready", "foreign", "receiving"].iter().position(|&s| s == state).unwrap_or(9)
}

fn more(out: &mut String, count: usize, what: &str) -> std::fmt::Result {
    if count > 0 {
        writeln!(out, "          and {count} more {what}")?;
    }
    Ok(())
}

fn has_limit(c: &Custodian) -> bool {
    c.uses.iter().any(|one| one.most.is_some())
}

/// Whether no custodian above it takes part in the sharing of time, so that what it ran is nowhere
/// else.
fn is_outermost(now: &Answer, numbers: &HashMap<u64, usize>, c: &Custodian) -> bool {
    numbers.get(&c.parent).and_then(|&at| now.custodians.get(at)).is_none_or(|parent| parent.ran == 0)
}

/// Custodians are numbered in the order of the tree.
fn name(numbers: &HashMap<u64, usize>, id: u64) -> String {
    numbers.get(&id).map_or("-".to_string(), |number| format!("c{number}"))
}
