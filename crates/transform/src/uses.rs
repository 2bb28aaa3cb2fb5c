//! How often and where locals are written.

use mir::effects::{stmt_places, Access};
use mir::ir::*;

/// A statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct At {
    /// Its block.
    pub block: usize,
    /// Its number in the block.
    pub stmt: usize,
}

/// Writes of each local.
#[derive(Debug, Default)]
pub struct Writes {
    count: Vec<u32>,
    at: Vec<Vec<At>>,
}

impl Writes {
    /// Counts them. A write to a part counts; a parameter's arrival does not.
    pub fn of(body: &Body) -> Writes {
        let mut writes = Writes { count: vec![0; body.locals.len()], at: vec![vec![]; body.locals.len()] };
        for (block, data) in body.blocks.iter().enumerate() {
            for (stmt, s) in data.stmts.iter().enumerate() {
                written(&s.kind, &mut |local| {
                    let n = local.0 as usize;
                    if let (Some(count), Some(at)) = (writes.count.get_mut(n), writes.at.get_mut(n)) {
                        *count += 1;
                        at.push(At { block, stmt });
                    }
                });
            }
        }
        writes
    }

    /// How many statements write the local.
    pub fn count(&self, local: Local) -> u32 {
        self.count.get(local.0 as usize).copied().unwrap_or(u32::MAX)
    }

    /// The only statement that writes the local, whose address is not taken, and what it assigns to
    /// the whole of it.
    pub fn single<'b>(&self, body: &'b Body, local: Local) -> Option<(At, &'b Rvalue)> {
        let decl = body.locals.get(local.0 as usize)?;
        if self.count(local) != 1 || decl.address_taken || decl.kind == LocalKind::Param {
            return None;
        }
        let at = self.places(local).first().copied()?;
        Some((at, body.blocks.get(at.block)?.stmts.get(at.stmt)?.kind.assigned_to(local)?))
    }

    /// The statements that write the local.
    pub fn places(&self, local: Local) -> &[At] {
        self.at.get(local.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// A parameter that keeps the value it arrived with.
    pub fn is_constant_param(&self, body: &Body, local: Local) -> bool {
        self.count(local) == 0
            && body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Param && !d.address_taken)
    }
}

/// Calls `see` with each local that the statement writes, whole or in part.
pub fn written(kind: &StmtKind, see: &mut dyn FnMut(Local)) {
    stmt_places(kind, &mut |place, access| {
        if let (Access::Write, Some(local)) = (access, place.local_part()) {
            see(local);
        }
    });
}

/// The local that an operand reads whole.
pub fn whole(operand: &Operand) -> Option<Local> {
    operand.place().and_then(Place::as_local)
}

/// The local of which one element is checked.
pub fn single_check(kind: &StmtKind) -> Option<Local> {
    let (pointer, count) = kind.as_check()?.as_access()?;
    whole(pointer).filter(|_| matches!(count, Operand::Const(Const::Int(1, _))))
}

/// Makes arithmetic of counts plain, which is on numbers of the type then.
pub fn plain(kind: &mut StmtKind, long: typing::types::Ty) {
    let Some((_, value)) = kind.as_assign_mut() else { return };
    if let Some((op, a, b)) = value.as_count_arith() {
        *value = Rvalue::Binary(op, a.clone(), b.clone(), long);
    }
}
