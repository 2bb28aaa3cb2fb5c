//! Pointers with bounds that need no variables for them.
//!
//! `*p++` reads `p` into a temporary before it moves `p`. The temporary has `p`'s bounds, and moving
//! `p` keeps them: so wherever the temporary's bounds are read, `p`'s can be. That holds for a
//! temporary that is made from a variable, or from such a temporary, and only used in the block that
//! makes it, as long as the variable gets no pointer with other bounds there.

use crate::pending::count_definitions;
use crate::places::is_owner;
use mir::effects::{accesses, stmt_places, term_places, Kind};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::types::Bounds;

/// A temporary that is made from a pointer with the same bounds.
struct Made {
    temp: Local,
    from: Local,
    block: usize,
    stmt: usize,
}

/// For each local, the variable that has its bounds.
pub fn find(program: &Program, body: &Body, at_start: &[bool]) -> Vec<Option<Local>> {
    let mut roots = vec![None; body.locals.len()];
    let made = made(program, body, at_start);
    if made.is_empty() {
        return roots;
    }
    let last = last_mentions(body, &made);
    let mut bad: FxHashSet<Local> = FxHashSet::default();
    // What is found bad can make others bad.
    loop {
        roots = vec![None; body.locals.len()];
        for m in &made {
            let root = roots.get(m.from.0 as usize).copied().flatten().unwrap_or(m.from);
            let is_variable = body.locals.get(root.0 as usize).is_some_and(|l| l.kind == LocalKind::Var);
            if let (Some(slot), true) = (roots.get_mut(m.temp.0 as usize), is_variable && !bad.contains(&m.temp)) {
                *slot = Some(root);
            }
        }
        let before = bad.len();
        for m in &made {
            let Some(root) = roots.get(m.temp.0 as usize).copied().flatten() else { continue };
            let stays = last.get(&m.temp).is_some_and(|&last| keeps(body, &roots, root, m, last));
            if !stays {
                bad.insert(m.temp);
            }
        }
        if bad.len() == before {
            return roots;
        }
    }
}

/// The pointers with bounds that are stored and never read, as parameters are whose count is compared
/// instead.
pub fn unread(program: &Program, body: &Body) -> Vec<bool> {
    let fat = |l: &LocalDecl| l.kind == LocalKind::Var && program.types.words(l.ty.ty) == 3;
    let plain = |l: &LocalDecl| !l.address_taken && !l.ty.quals.is_volatile && !l.ty.quals.is_atomic;
    let mut found: Vec<bool> = body.locals.iter().map(|l| fat(l) && plain(l)).collect();
    let mut read = |place: &Place| {
        if let PlaceBase::Local(local) = place.base {
            if let Some(slot) = found.get_mut(local.0 as usize) {
                *slot = false;
            }
        }
    };
    for block in &body.blocks {
        for s in &block.stmts {
            let to = s.kind.as_assign().and_then(|(to, _)| to.as_local());
            accesses(&s.kind, &mut |place, kind, _| {
                let stored = kind == Kind::Write && to.is_some() && place.as_local() == to;
                if !stored && !matches!(kind, Kind::Begin | Kind::End) {
                    read(place);
                }
            });
        }
        term_places(&block.term.kind, &mut |place, _| read(place));
    }
    found
}

/// Temporaries that are copies of others, or so many elements from them, in the order of the text.
fn made(program: &Program, body: &Body, at_start: &[bool]) -> Vec<Made> {
    let mut written = vec![0u32; body.locals.len()];
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        count_definitions(&stmt.kind, &mut written);
    }
    let fit = |local: Local| {
        let decl = body.locals.get(local.0 as usize)?;
        let pointer = program.types.as_pointer(decl.ty.ty)?;
        let plain = !decl.address_taken && !decl.ty.quals.is_volatile && !decl.ty.quals.is_atomic;
        let starts = at_start.get(local.0 as usize) == Some(&true) || is_owner(&program.types, decl.ty);
        (pointer.bounds == Bounds::Fat && program.types.words(decl.ty.ty) == 3 && plain && !starts).then_some(decl)
    };
    let mut found = vec![];
    for (block, data) in body.blocks.iter().enumerate() {
        for (stmt, s) in data.stmts.iter().enumerate() {
            let Some((temp, from)) = copied(s) else { continue };
            let (Some(to), Some(source)) = (fit(temp), fit(from)) else { continue };
            let once = written.get(temp.0 as usize) == Some(&1);
            if to.kind == LocalKind::Temp && to.align.is_none() && once && to.ty.ty == source.ty.ty {
                found.push(Made { temp, from, block, stmt });
            }
        }
    }
    found
}

/// The local that a statement gives the bounds of another, and that one.
fn copied(stmt: &Stmt) -> Option<(Local, Local)> {
    let (place, value) = stmt.kind.as_assign()?;
    let from = value.as_use().or_else(|| value.as_offset().map(|(from, _)| from))?;
    Some((place.as_local()?, from.place()?.as_local()?))
}

/// Where each of the temporaries is mentioned last, if that is only in the block that makes it.
fn last_mentions(body: &Body, made: &[Made]) -> FxHashMap<Local, usize> {
    let mut last: FxHashMap<Local, (usize, usize)> = made.iter().map(|m| (m.temp, (m.block, m.stmt))).collect();
    let mut elsewhere: FxHashSet<Local> = FxHashSet::default();
    for (block, data) in body.blocks.iter().enumerate() {
        let mut see = |place: &Place, stmt: usize| {
            let PlaceBase::Local(local) = place.base else { return };
            if let Some((home, at)) = last.get_mut(&local) {
                *at = stmt.max(*at);
                if *home != block {
                    elsewhere.insert(local);
                }
            }
        };
        for (n, s) in data.stmts.iter().enumerate() {
            stmt_places(&s.kind, &mut |place, _| see(place, n));
        }
        term_places(&data.term.kind, &mut |place, _| see(place, data.stmts.len()));
    }
    last.into_iter().filter(|(local, _)| !elsewhere.contains(local)).map(|(local, (_, at))| (local, at)).collect()
}

/// Whether the variable keeps its bounds from where the temporary is made to its last mention.
fn keeps(body: &Body, roots: &[Option<Local>], root: Local, made: &Made, last: usize) -> bool {
    let Some(block) = body.blocks.get(made.block) else { return false };
    block.stmts.iter().take(last + 1).skip(made.stmt + 1).all(|s| {
        let mut written = false;
        each_written(s, &mut |local| written |= local == root);
        let moves = |(to, from): (Local, Local)| {
            to == root && (from == root || roots.get(from.0 as usize).copied().flatten() == Some(root))
        };
        !written || copied(s).is_some_and(moves)
    })
}

/// The locals that a statement writes, all or in part, or whose life it begins or ends.
fn each_written(stmt: &Stmt, see: &mut impl FnMut(Local)) {
    accesses(&stmt.kind, &mut |place, kind, _| {
        let reads = matches!(kind, Kind::Read | Kind::Copy | Kind::Lend(_) | Kind::Step | Kind::Move | Kind::Mention);
        place.local_part().filter(|_| !reads).into_iter().for_each(&mut *see);
    });
}
