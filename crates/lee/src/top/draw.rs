//! The tables as text, for a terminal's history, a file or a pipe.

use super::rows::{Rows, CUSTODIANS, ENDS, PROCESSES};
use std::fmt::Write;

/// Each of the tables has at most `most` rows.
pub fn text(rows: &Rows, most: usize) -> String {
    let mut out = format!("{}\n", rows.summary);
    for circle in &rows.cycles {
        out += &format!("{circle}\n");
    }
    out.push('\n');
    table(&mut out, &CUSTODIANS, &rows.custodians, most, "custodians");
    out.push('\n');
    table(&mut out, &PROCESSES, &rows.processes, most, "processes");
    if !rows.ends.is_empty() {
        out.push('\n');
        table(&mut out, &ENDS, &rows.ends, most, "ends of channels");
    }
    out
}

pub fn table<const N: usize>(out: &mut String, heads: &[&str; N], rows: &[[String; N]], most: usize, what: &str) {
    let widths = widths(heads, rows);
    line(out, heads, heads, &widths);
    for row in rows.iter().take(most) {
        line(out, heads, row, &widths);
    }
    if rows.len() > most {
        // Writing to a string does not fail.
        let _ = writeln!(out, "          and {} more {what}", rows.len() - most);
    }
}

/// How wide each column is.
pub fn widths<const N: usize>(heads: &[&str; N], rows: &[[String; N]]) -> [usize; N] {
    std::array::from_fn(|n| {
        let cells = rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.chars().count());
        cells.chain(heads.get(n).map(|head| head.len())).max().unwrap_or(0)
    })
}

/// Whether the column is of words, which begin at its left.
pub fn is_text(head: &str) -> bool {
    ["end of", "state", "function", "runs", "waits for", "type", "path", "allocated at"].contains(&head)
}

fn line<const N: usize, T: AsRef<str>>(out: &mut String, heads: &[&str; N], cells: &[T; N], widths: &[usize; N]) {
    let mut line = String::new();
    for ((head, cell), &width) in heads.iter().zip(cells).zip(widths) {
        let cell = cell.as_ref();
        // Writing to a string does not fail.
        let _ = if is_text(head) { write!(line, "{cell:<width$}  ") } else { write!(line, "{cell:>width$}  ") };
    }
    out.push_str(line.trim_end());
    out.push('\n');
}
