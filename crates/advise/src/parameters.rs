//! Intervals of parameters, top-down: what every caller passes.
//!
//! Each round starts from intervals that hold on every run and gives such again, so any number of
//! rounds is sound.

use crate::recursion::Edges;
use crate::rules::Rule;
use crate::unit::Unit;
use crate::verdict::{key, Parameters};
use flow::framework::Item;
use flow::ranges::{Range, Ranges, Summaries};
use mir::ir::*;

/// Bodies with more statements are not searched for what they pass: their arguments may be
/// anything.
const MOST_STATEMENTS: usize = 4000;

/// Adds what the calls of a unit pass. Only functions that allocate are considered; `everything`:
/// other units' functions, too.
pub fn collect(unit: &Unit, number: usize, known: &Parameters, everything: bool, found: &mut Parameters) {
    let program = &unit.program;
    let summaries = Summaries::default();
    for body in &program.bodies {
        let everything = everything || !Rule::Exported.holds();
        let wanted = |f: &typing::tree::FuncRef| everything || crate::program::is_internal(program, f);
        let calls = body
            .blocks
            .iter()
            .flat_map(|b| &b.stmts)
            .any(|s| direct_call(&s.kind).is_some_and(|(f, args)| wanted(f) && !args.is_empty()));
        if !calls {
            continue;
        }
        let own = known.get(&key(program, number, &body.func));
        let small = body.blocks.iter().map(|b| b.stmts.len()).sum::<usize>() <= MOST_STATEMENTS;
        let ranges = small.then(|| Ranges::with_params(program, body, &summaries, own.map_or(&[], |p| p))).flatten();
        let mut note = |f: &typing::tree::FuncRef, values: Vec<Option<Range>>| {
            let slot = found.entry(key(program, number, f));
            join(slot.or_insert_with(|| values.clone()), &values);
        };
        match ranges {
            Some(ranges) => ranges.visit(&mut |_, view, item| {
                let Item::Stmt(stmt) = item else { return };
                let Some((f, args)) = direct_call(&stmt.kind) else { return };
                if wanted(f) {
                    note(f, args.iter().map(|a| view.value(a)).collect());
                }
            }),
            None => {
                for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
                    if let Some((f, args)) = direct_call(&stmt.kind) {
                        note(f, vec![None; args.len()]);
                    }
                }
            }
        }
    }
}

/// The function that is called by its name, and the arguments.
fn direct_call(kind: &StmtKind) -> Option<(&typing::tree::FuncRef, &Vec<Operand>)> {
    Some((kind.called()?, kind.as_call()?.args))
}

fn join(into: &mut Vec<Option<Range>>, from: &[Option<Range>]) {
    into.truncate(from.len());
    for (a, b) in into.iter_mut().zip(from) {
        *a = a.zip(*b).map(|(a, b)| a.hull(b));
    }
}

/// Adds what another thread found.
pub fn merge(into: &mut Parameters, from: Parameters) {
    for (name, values) in from {
        join(into.entry(name).or_insert_with(|| values.clone()), &values);
    }
}

/// Keeps the functions all of whose callers are seen: internal ones whose address is not taken,
/// and the others too if the program is whole.
pub fn keep_known(all: &mut Parameters, edges: &Edges, whole_program: bool) {
    all.retain(|name, _| {
        let internal = name.split_once(':').is_some_and(|(unit, _)| unit.parse::<usize>().is_ok());
        let addressed = edges.addressed.contains(name) && Rule::Addressed.holds();
        (internal || whole_program || !Rule::Exported.holds()) && name != "main" && !addressed
    });
}
