//! Clean-up: blocks that nothing reaches are dropped and the rest numbered anew; values that only
//! pass through a temporary are written to their destination directly.

use mir::cfg::each_successor_mut;
use mir::effects::{stmt_places, term_places, Access};
use mir::ir::*;

/// Where a chain of empty blocks that only jump on ends.
fn skip_empty(blocks: &[Block], from: BlockId) -> BlockId {
    let mut at = from;
    for _ in 0..blocks.len() {
        let empty = blocks.get(at.0 as usize).filter(|block| block.stmts.is_empty());
        match empty.and_then(|block| block.term.kind.as_goto()) {
            Some(next) => at = next,
            None => return at,
        }
    }
    from
}

/// Drops blocks that cannot be reached and jumps that only lead to jumps.
pub(crate) fn prune(body: &mut Body) {
    let kept: Vec<BlockId> = body.address_labels.iter().map(|(_, b)| *b).collect();
    for i in 0..body.blocks.len() {
        let mut term = body.blocks[i].term.clone();
        each_successor_mut(&mut term.kind, |b| {
            if !kept.contains(b) {
                *b = skip_empty(&body.blocks, *b);
            }
        });
        body.blocks[i].term = term;
    }
    join_chains(body, &kept);
    fold_copies(body);
    let mut reached = vec![false; body.blocks.len()];
    let mut work = vec![BlockId(0)];
    work.extend(&kept);
    while let Some(block) = work.pop() {
        let Some(seen) = reached.get_mut(block.0 as usize) else { continue };
        if !std::mem::replace(seen, true) {
            each_successor_mut(&mut body.blocks[block.0 as usize].term.kind, |b| work.push(*b));
        }
    }
    let mut numbers = vec![BlockId(0); body.blocks.len()];
    let mut next = 0;
    for (i, reached) in reached.iter().enumerate() {
        if *reached {
            numbers[i] = BlockId(next);
            next += 1;
        }
    }
    let old = std::mem::take(&mut body.blocks);
    for (mut block, reached) in old.into_iter().zip(reached) {
        if reached {
            each_successor_mut(&mut block.term.kind, |b| *b = numbers[b.0 as usize]);
            for stmt in &mut block.stmts {
                if let Some(label) = stmt.kind.as_assign_mut().and_then(|(_, value)| value.label_mut()) {
                    *label = numbers[label.0 as usize];
                }
            }
            body.blocks.push(block);
        }
    }
    for (_, block) in &mut body.address_labels {
        *block = numbers[block.0 as usize];
    }
}

/// Appends each block that has one predecessor, which only jumps to it, to that predecessor.
fn join_chains(body: &mut Body, kept: &[BlockId]) {
    let count = body.blocks.len();
    let mut reached = vec![false; count];
    let mut entries = vec![0u32; count];
    let mut work = vec![BlockId(0)];
    work.extend(kept);
    for block in &work {
        entries[block.0 as usize] += 1;
    }
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut reached[block.0 as usize], true) {
            continue;
        }
        each_successor_mut(&mut body.blocks[block.0 as usize].term.kind, |b| {
            entries[b.0 as usize] += 1;
            work.push(*b);
        });
    }
    for i in 0..count {
        if !reached[i] {
            continue;
        }
        while let Some(next) = body.blocks[i].term.kind.as_goto() {
            let n = next.0 as usize;
            if n == i || entries[n] != 1 || !reached[n] {
                break;
            }
            reached[n] = false;
            let unreachable = Terminator { kind: TermKind::Unreachable, span: body.blocks[n].term.span };
            let mut stmts = std::mem::take(&mut body.blocks[n].stmts);
            let term = std::mem::replace(&mut body.blocks[n].term, unreachable);
            body.blocks[i].stmts.append(&mut stmts);
            body.blocks[i].term = term;
        }
    }
}

/// How often each local is named.
pub(crate) fn uses_of_locals(body: &Body) -> Vec<u32> {
    let mut uses = vec![0u32; body.locals.len()];
    let mut count = |place: &Place, _: Access| {
        if let Some(slot) = place.base_local().and_then(|l| uses.get_mut(l.0 as usize)) {
            *slot += 1;
        }
    };
    for block in &body.blocks {
        block.stmts.iter().for_each(|stmt| stmt_places(&stmt.kind, &mut count));
        term_places(&block.term.kind, &mut count);
    }
    uses
}

/// Turns `t = value; place = t` into `place = value` where nothing else uses the temporary.
fn fold_copies(body: &mut Body) {
    let uses = uses_of_locals(body);
    let locals = &body.locals;
    let once = |local: Local| {
        let n = local.0 as usize;
        uses.get(n) == Some(&2) && locals.get(n).is_some_and(|d| d.kind == LocalKind::Temp)
    };
    for block in &mut body.blocks {
        let mut kept: Vec<Stmt> = Vec::with_capacity(block.stmts.len());
        for mut stmt in block.stmts.drain(..) {
            let copied = stmt.kind.value().and_then(Rvalue::as_use).and_then(|operand| match operand {
                Operand::Copy(place) => place.as_local().filter(|l| once(*l)),
                Operand::Move(_) | Operand::Const(_) => None,
            });
            if let (Some(temp), Some(before)) = (copied, kept.last_mut()) {
                let made = before.kind.as_assign_mut().filter(|(dest, _)| dest.as_local() == Some(temp));
                let same = stmt.is_unsafe == before.is_unsafe;
                if let (Some((_, source)), Some((_, value)), true) = (made, stmt.kind.as_assign_mut(), same) {
                    *value = std::mem::replace(source, Rvalue::Use(Operand::local(temp)));
                    stmt.span = before.span;
                    kept.pop();
                }
            }
            kept.push(stmt);
        }
        block.stmts = kept;
    }
}
