//! Variables that are ends of channels.

use crate::ir::*;
use rustc_hash::FxHashMap;

/// The temporaries that an end is lent to a call in, each with the place that it is lent from.
pub fn lent(body: &Body, is_end: impl Fn(Local) -> bool) -> FxHashMap<Local, Place> {
    let stmts = body.blocks.iter().flat_map(|b| &b.stmts);
    let lent = stmts.filter_map(|stmt| stmt.kind.as_lent());
    lent.filter(|(temp, _)| is_end(*temp)).map(|(temp, of)| (temp, of.clone())).collect()
}
