//! What functions of this unit return, as far as their own bodies say it.

use super::interval::Range;
use super::terms::int_range;
use super::Ranges;
use crate::framework::Point;
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

    /// Whether the function is one to summarise: a small one that no other object can replace,
    /// which returns an integer.
    pub fn wants(program: &Program, body: &Body) -> bool {
        let internal = program.functions.get(body.func.func.0 as usize).map(|f| f.linkage) == Some(Linkage::Internal);
        internal && body.blocks.len() <= MOST_BLOCKS && !body.unchecked && whole(program, body).is_some()
    }

    /// The range of what the body returns, if it is narrower than its type.
    pub fn summarise(program: &Program, body: &Body, ranges: &Ranges) -> Option<Range> {
        let whole = whole(program, body)?;
        let mut result: Option<Range> = None;
        for (n, block) in body.blocks.iter().enumerate() {
            let at = Point { block: BlockId(n as u32), stmt: block.stmts.len() };
            if let (Some(operand), true) = (block.term.kind.returned(), ranges.is_reached(at.block)) {
                let range = ranges.value_at(at, operand)?;
                result = Some(result.map_or(range, |r| r.hull(range)));
            }
        }
        result.filter(|&r| r != whole)
    }

    /// Notes the range of what a function returns, for the analysis of those that call it.
    pub fn note(&mut self, func: &FuncRef, range: Range) {
        self.results.insert(func.clone(), range);
    }
}

/// All values of the integer type that the body returns.
fn whole(program: &Program, body: &Body) -> Option<Range> {
    body.blocks.iter().find_map(|block| {
        let ty = mir::ty::operand_ty(program, body, block.term.kind.returned()?).ok()?;
        int_range(&program.types, ty)
    })
}
