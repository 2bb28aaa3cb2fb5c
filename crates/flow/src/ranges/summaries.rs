//! What functions of this unit return, as far as their own bodies say it.

use super::guarded::Guarded;
use super::interval::Range;
use super::terms::int_range;
use super::Ranges;
use crate::framework::Point;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::{FuncRef, Linkage};

/// Functions with more blocks are not summarised: what they return is rarely narrow.
const MOST_BLOCKS: usize = 12;

/// How a result compares with what was passed for a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compared {
    /// The parameter.
    pub param: u32,
    /// The result less the argument is at most this.
    pub above: Option<i128>,
    /// The argument less the result is at most this.
    pub below: Option<i128>,
}

/// Ranges of results and changes of memory, by function.
#[derive(Debug, Default)]
pub struct Summaries {
    /// What stores and calls leave alone; nothing, unless `Guarded::of` has looked.
    pub guarded: Guarded,
    results: FxHashMap<FuncRef, Range>,
    compared: FxHashMap<FuncRef, Vec<Compared>>,
    /// Functions of which no call is known to return.
    never: FxHashSet<FuncRef>,
}

impl Summaries {
    /// The range of what a function returns, if it is narrower than its type.
    pub fn result(&self, func: &FuncRef) -> Option<Range> {
        self.results.get(func).copied()
    }

    /// Whether no call of the function is known to return: what follows one is not reached.
    pub fn never_returns(&self, func: &FuncRef) -> bool {
        self.never.contains(func)
    }

    /// Supposes that the function does not return, or no longer. A fixed point over recursion
    /// starts from this: what is true of every call that ends holds by induction on the depth of
    /// calls in it.
    pub fn suppose_never(&mut self, func: &FuncRef, never: bool) {
        if never {
            self.never.insert(func.clone());
        } else {
            self.never.remove(func);
        }
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
        Summaries::returned(body, ranges)?.filter(|&r| r != whole)
    }

    /// The range of what the body returns; `Some(None)`: no path returns; `None`: it is not an
    /// integer.
    pub fn returned(body: &Body, ranges: &Ranges) -> Option<Option<Range>> {
        let mut result: Option<Range> = None;
        for (n, block) in body.blocks.iter().enumerate() {
            let at = Point { block: BlockId(n as u32), stmt: block.stmts.len() };
            if let (Some(operand), true) = (block.term.kind.returned(), ranges.is_reached(at.block)) {
                if ranges.is_stopped(at) {
                    continue;
                }
                let range = ranges.value_at(at, operand)?;
                result = Some(result.map_or(range, |r| r.hull(range)));
            }
        }
        Some(result)
    }

    /// How the result of a function compares with its arguments.
    pub fn compared(&self, func: &FuncRef) -> &[Compared] {
        self.compared.get(func).map_or(&[], |all| all)
    }

    /// Notes how the result of a function compares with its arguments.
    pub fn note_compared(&mut self, func: &FuncRef, all: Vec<Compared>) {
        self.compared.insert(func.clone(), all);
    }

    /// Forgets what a function returns.
    pub fn forget(&mut self, func: &FuncRef) {
        self.results.remove(func);
    }

    /// Notes the range of what a function returns, for the analysis of those that call it.
    pub fn note(&mut self, func: &FuncRef, range: Range) {
        self.results.insert(func.clone(), range);
    }
}

/// All values of the integer type that the body returns.
pub fn whole(program: &Program, body: &Body) -> Option<Range> {
    body.blocks.iter().find_map(|block| {
        let ty = mir::ty::operand_ty(program, body, block.term.kind.returned()?).ok()?;
        int_range(&program.types, ty)
    })
}
