//! What functions of this unit return, as far as their own bodies say it.

use super::interval::Range;
use super::terms::int_range;
use super::Ranges;
use crate::framework::Item;
use mir::ir::*;
use rustc_hash::FxHashMap;
use typing::tree::{FuncRef, Linkage};

/// Functions with more blocks are not summarised: what they return is rarely narrow.
const MOST_BLOCKS: usize = 12;

/// Ranges of results, by function.
#[derive(Debug, Default)]
pub struct Summaries {
    results: FxHashMap<FuncRef, Range>,
}

impl Summaries {
    /// The range of what a function returns, if it is narrower than its type.
    pub fn result(&self, func: &FuncRef) -> Option<Range> {
        self.results.get(func).copied()
    }

    /// Summarises a small function that no other object can replace. Functions that it calls should come first.
    pub fn add(&mut self, program: &Program, body: &Body) {
        let Some(function) = program.functions.get(body.func.func.0 as usize) else { return };
        if function.linkage != Linkage::Internal || body.blocks.len() > MOST_BLOCKS || body.unchecked {
            return;
        }
        let returned = |term: &TermKind| match term {
            TermKind::Return(Some(operand)) => {
                mir::ty::operand_ty(program, body, operand).ok().and_then(|ty| int_range(&program.types, ty))
            }
            _ => None,
        };
        let Some(whole) = body.blocks.iter().find_map(|b| returned(&b.term.kind)) else { return };
        let Some(ranges) = Ranges::of(program, body, self) else { return };
        let mut result: Option<Range> = None;
        let mut known = true;
        ranges.visit(&mut |_, view, item| {
            let Item::Term(Terminator { kind: TermKind::Return(Some(operand)), .. }) = item else { return };
            match view.value(operand) {
                Some(range) => result = Some(result.map_or(range, |r| r.hull(range))),
                None => known = false,
            }
        });
        if let Some(result) = result.filter(|&r| known && r != whole) {
            self.results.insert(body.func.clone(), result);
        }
    }
}
