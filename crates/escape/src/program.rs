//! What analyses of one unit need to know about it and about others.

use crate::allocators::{Entry, Role, Table};
use crate::summary::Summary;
use flow::framework::Point;
use mir::effects::{stmt_places, Access};
use mir::ir::*;
use rustc_hash::FxHashMap;
use typing::tree::{FuncRef, Linkage, StringLit};

/// Summaries of functions with external linkage, of all units, by symbol.
pub type Externals = FxHashMap<String, Summary>;

/// One unit in its surroundings.
pub struct Context<'a> {
    /// The unit.
    pub program: &'a Program,
    /// Allocators.
    pub table: &'a Table,
    /// Summaries of functions that are defined in the unit, by `FuncId`; `None`: not defined here.
    pub own: &'a [Option<Summary>],
    /// Summaries of other units.
    pub externals: &'a Externals,
}

/// The C symbol of a function, or the name in C of one that the runtime wraps.
pub fn symbol(program: &Program, func: &FuncRef) -> Option<String> {
    let f = program.functions.get(func.func.0 as usize)?;
    Some(mir::c_calls::name_in_c(f.symbol.unwrap_or(f.name).as_str()).to_string())
}

/// Whether other units cannot see the function.
pub fn is_internal(program: &Program, func: &FuncRef) -> bool {
    program.functions.get(func.func.0 as usize).map(|f| f.linkage) == Some(Linkage::Internal)
}

impl Context<'_> {
    /// The name under which the table has what is called: of the function, of a global function
    /// pointer, or of a member of a global struct (`hooks.allocate`).
    pub fn callee_name(&self, body: &Body, at: Point, callee: &Callee) -> Option<String> {
        match callee {
            Callee::Direct(f) => symbol(self.program, f),
            Callee::Builtin(name) => Some(name.as_str().to_string()),
            Callee::Pointer(operand) => {
                let place = operand.place()?;
                match place.base {
                    PlaceBase::Global(_) if !place.has_deref() => self.global_name(place),
                    PlaceBase::Local(local) if place.proj.is_empty() => {
                        let block = body.blocks.get(at.block.0 as usize)?;
                        let is_temp = body.locals.get(local.0 as usize)?.kind == LocalKind::Temp;
                        block.stmts.get(..at.stmt)?.iter().rev().filter(|_| is_temp).find_map(|s| {
                            match s.kind.assigned_to(local)?.as_use()? {
                                Operand::Copy(from) => self.global_name(from).or_else(|| self.hook(body, from)),
                                Operand::Move(_) | Operand::Const(_) => None,
                            }
                        })
                    }
                    _ => self.hook(body, place),
                }
            }
            Callee::Start(_) | Callee::Spawn(..) => None,
        }
    }

    /// What the table says of a call. What a hook does depends on its arguments.
    pub fn entry(&self, body: &Body, at: Point, callee: &Callee, args: &[Operand]) -> Option<Entry> {
        let entry = self.table.get(&self.callee_name(body, at, callee)?)?;
        let Role::Hook { object, size } = entry.role else { return Some(entry) };
        let is_zero = |n: u32| args.get(n as usize).is_some_and(|arg| self.is_zero(body, at, arg));
        let role = match (is_zero(object), is_zero(size)) {
            (_, true) => Role::Release { object },
            (true, false) => Role::Allocate { size },
            (false, false) => Role::Resize { object },
        };
        Some(Entry { role, ..entry })
    }

    /// Whether an operand is 0 or null, perhaps by way of temporaries of the block.
    fn is_zero(&self, body: &Body, at: Point, operand: &Operand) -> bool {
        let mut operand = operand;
        let stmts = body.blocks.get(at.block.0 as usize).and_then(|b| b.stmts.get(..at.stmt));
        for stmt in stmts.unwrap_or_default().iter().rev() {
            let Some(local) = operand.place().and_then(Place::as_local) else { break };
            if body.locals.get(local.0 as usize).is_none_or(|l| l.kind != LocalKind::Temp) {
                break;
            }
            let mut written = false;
            stmt_places(&stmt.kind, &mut |p, access| {
                written |= p.base == PlaceBase::Local(local) && access != Access::Read;
            });
            match stmt.kind.assigned_to(local).and_then(Rvalue::same_bits) {
                Some(from) => operand = from,
                None if written => return false,
                None => {}
            }
        }
        matches!(operand, Operand::Const(Const::Null(_) | Const::Int(0, _)))
    }

    /// `tag->field` of a place behind a pointer, if the table has it.
    fn hook(&self, body: &Body, place: &Place) -> Option<String> {
        let (last, before) = place.proj.split_last()?;
        let field = last.as_field().filter(|_| before.last() == Some(&Proj::Deref))?;
        let ty = mir::ty::prefix_ty(self.program, body, place, before.len()).ok()?.ty;
        let record = self.program.types.record(self.program.types.as_record(ty)?);
        let field = record.fields.as_ref()?.get(field as usize)?.name?;
        let name = format!("{}->{}", record.tag?.as_str(), field.as_str());
        self.table.get(&name).is_some().then_some(name)
    }

    /// A number that is written as a constant and is not below zero.
    pub fn constant(&self, operand: &Operand) -> Option<u64> {
        match operand {
            Operand::Const(Const::Int(n, _)) => u64::try_from(*n).ok(),
            Operand::Const(Const::SizeOf(ty)) => self.program.types.layout(*ty).map(|l| l.size),
            _ => None,
        }
    }

    /// The literal whose beginning the operand is.
    pub fn literal(&self, operand: &Operand) -> Option<&StringLit> {
        let Operand::Const(Const::Addr(ConstAddrKey::Str(s), 0, _)) = operand else { return None };
        self.program.strings.get(s.0 as usize)
    }

    fn global_name(&self, place: &Place) -> Option<String> {
        let PlaceBase::Global(global) = place.base else { return None };
        let mut name = self.program.globals.get(global.0 as usize)?.name.as_str().to_string();
        for (n, step) in place.proj.iter().enumerate() {
            let field = step.as_field()?;
            let ty = self.program.globals.get(global.0 as usize)?.ty;
            let record = if n == 0 { self.program.types.as_record(ty.ty)? } else { return None };
            let field = self.program.types.record(record).fields.as_ref()?.get(field as usize)?.name?;
            name = format!("{name}.{}", field.as_str());
        }
        Some(name)
    }

    /// What is known of a function that is called by name.
    pub fn summary(&self, callee: &Callee) -> Option<&Summary> {
        let Callee::Direct(f) = callee else { return None };
        match self.own.get(f.func.0 as usize) {
            Some(Some(summary)) => Some(summary),
            _ if is_internal(self.program, f) => None,
            _ => self.externals.get(&symbol(self.program, f)?),
        }
    }

    /// Whether a call does not return, as far as the callee's body shows (attributes are
    /// in the graph already).
    pub fn never_returns(&self, callee: &Callee) -> bool {
        self.summary(callee).is_some_and(|s| s.never_returns)
    }
}
