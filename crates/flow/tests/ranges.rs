//! Asks the range analysis about the MIR of `tests/mir/ranges.mir`.
//!
//! Cases as in `mir.rs`. `//? bb2 0 _1 = 0..9` says which values local 1 may have before
//! statement 0 of block 2 (a stride follows as `by 3`); `//? bb2 0 _1 - _2 <= -1` what bound of
//! their difference is known; `//? bb2 unreached` that control does not reach it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use flow::framework::Point;
use flow::ranges::{Ranges, Summaries};
use mir::ir::{BlockId, Local, Operand};

fn local(word: &str) -> Operand {
    Operand::local(Local(word.trim_start_matches('_').parse().unwrap()))
}

fn answers(ranges: &Ranges, question: &str) -> bool {
    let words: Vec<&str> = question.split_whitespace().collect();
    let block = BlockId(words[0].trim_start_matches("bb").parse().unwrap());
    let mut reached = false;
    let mut right = false;
    ranges.visit(&mut |at: Point, view, _| {
        reached |= at.block == block;
        if at.block != block || words[1] == "unreached" || at.stmt != words[1].parse::<usize>().unwrap() {
            return;
        }
        if words[3] == "=" {
            let (lo, hi) = words[4].split_once("..").unwrap_or((words[4], words[4]));
            let range = view.value(&local(words[2])).unwrap();
            let step = words.get(6).map_or(u64::from(lo != hi), |s| s.parse().unwrap());
            right = (range.lo, range.hi, range.step) == (lo.parse().unwrap(), hi.parse().unwrap(), step);
            if !right {
                eprintln!("{question}: found {range:?}");
            }
        } else {
            let bound: i128 = words[6].parse().unwrap();
            let found = view.difference(&local(words[2]), &local(words[4]));
            right = found == Some(bound);
            if !right {
                eprintln!("{question}: found {found:?}");
            }
        }
    });
    if words[1] == "unreached" {
        return !reached;
    }
    right
}

#[test]
fn ranges() {
    let text = include_str!("mir/ranges.mir");
    let mut parts = text.split("//---");
    let prelude = parts.next().unwrap();
    let (mut cases, mut wrong) = (0, vec![]);
    for part in parts {
        let (name, body) = part.split_once('\n').unwrap();
        let program = mir::parse::program(&format!("{prelude}{body}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(mir::verify::program(&program).is_empty(), "{name}: {:?}", mir::verify::program(&program));
        let summaries = Summaries::default();
        let ranges = Ranges::of(&program, &program.bodies[0], &summaries).unwrap();
        for question in body.lines().filter_map(|l| l.split_once("//? ")).map(|q| q.1) {
            if !answers(&ranges, question) {
                wrong.push(format!("{name}: {question}"));
            }
        }
        cases += 1;
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(cases >= 14, "only {cases} cases");
}
