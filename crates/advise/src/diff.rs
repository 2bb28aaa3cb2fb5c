//! Unified diffs, as `git apply` and `patch` take them.

use crate::edits::Edit;
use std::fmt::Write;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Lines that change: `lo..hi` of the old text become `new`.
struct Block {
    lo: usize,
    hi: usize,
    new: String,
}

/// The diff of a file; empty if nothing changes.
pub fn diff(name: &str, text: &str, edits: &[Edit]) -> String {
    let mut starts: Vec<usize> = vec![0];
    starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(n, _)| n + 1));
    if starts.last() == Some(&text.len()) {
        starts.pop();
    }
    let start = |line: usize| starts.get(line).copied().unwrap_or(text.len());
    let line_of = |at: usize| starts.partition_point(|&s| s <= at).saturating_sub(1);
    let mut blocks: Vec<Block> = vec![];
    // Edits of common lines make one block.
    let mut n = 0;
    while let Some(first) = edits.get(n) {
        let lo = line_of(first.lo);
        let end =
            |e: &Edit| if e.hi > e.lo && start(line_of(e.hi)) == e.hi { line_of(e.hi) } else { line_of(e.hi) + 1 };
        let mut hi = end(first).max(lo);
        let mut new = String::new();
        let mut at = start(lo);
        while let Some(edit) = edits.get(n).filter(|e| line_of(e.lo) < hi || e.lo == first.lo) {
            new.push_str(text.get(at..edit.lo).unwrap_or(""));
            new.push_str(&edit.text);
            at = edit.hi;
            hi = hi.max(end(edit));
            n += 1;
        }
        new.push_str(text.get(at..start(hi).max(at)).unwrap_or(""));
        blocks.push(Block { lo, hi, new });
    }
    let line = |n: usize| text.get(start(n)..start(n + 1)).unwrap_or("");
    let mut out = String::new();
    let mut shift: i64 = 0;
    let mut n = 0;
    while let Some(first) = blocks.get(n) {
        let from = first.lo.saturating_sub(CONTEXT);
        let mut m = n;
        while let (Some(a), Some(b)) = (blocks.get(m), blocks.get(m + 1)) {
            if b.lo > a.hi + 2 * CONTEXT {
                break;
            }
            m += 1;
        }
        let Some(group) = blocks.get(n..=m) else { break };
        let last = group.last().map_or(from, |b| b.hi);
        let to = (last + CONTEXT).min(starts.len());
        let (mut body, mut old, mut new) = (String::new(), 0, 0);
        let mut at = from;
        for block in group {
            for k in at..block.lo {
                put(&mut body, ' ', line(k));
                (old, new) = (old + 1, new + 1);
            }
            for k in block.lo..block.hi {
                put(&mut body, '-', line(k));
                old += 1;
            }
            for text in block.new.split_inclusive('\n') {
                put(&mut body, '+', text);
                new += 1;
            }
            at = block.hi;
        }
        for k in at..to {
            put(&mut body, ' ', line(k));
            (old, new) = (old + 1, new + 1);
        }
        let _ = write!(out, "@@ -{},{old} +{},{new} @@\n{body}", from + 1, from as i64 + 1 + shift);
        shift += i64::from(new) - i64::from(old);
        n = m + 1;
    }
    if out.is_empty() {
        return out;
    }
    let name = name.trim_start_matches('/').trim_start_matches("./");
    format!("--- a/{name}\n+++ b/{name}\n{out}")
}

fn put(out: &mut String, sign: char, line: &str) {
    out.push(sign);
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_and_one_changes() {
        let text = "a\nb\nc\nd\ne\nf\ng\n";
        let edits = [Edit { lo: 2, hi: 4, text: String::new() }, Edit { lo: 8, hi: 9, text: "E\nE2".into() }];
        let wanted = "--- a/x\n+++ b/x\n@@ -1,7 +1,7 @@\n a\n-b\n c\n d\n-e\n+E\n+E2\n f\n g\n";
        assert_eq!(diff("x", text, &edits), wanted);
    }

    #[test]
    fn the_last_line_may_have_no_end() {
        let edits = [Edit { lo: 2, hi: 3, text: "B".into() }];
        let wanted =
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n";
        assert_eq!(diff("x", "a\nb", &edits), wanted);
    }
}
