//! Writes of more than there is room for, found before they run: through a pointer without bounds,
//! which leads to one element, and of a literal into an array that it does not fit. Their checks
//! are the callee's own, or their counts are not known, so ranges do not find them.
//!
//! Needs: arguments are made in the block of their call, as lowering does. Changes nothing.

use crate::codes;
use mir::ir::*;
use source::{Diagnostic, Span, Symbol};
use typing::tree::{StrId, Trust};
use typing::types::Ty;

/// Functions of C that write their second argument, a string, and its zero into the object of the
/// first.
const WRITERS: [&str; 3] = ["strcpy", "stpcpy", "strcat"];

/// What a pointer leads to.
struct Room {
    /// Elements.
    count: i128,
    elem: Ty,
    /// The variable: the array, or the pointer.
    name: Symbol,
    /// It is a pointer without bounds.
    thin: bool,
}

struct Look<'a> {
    program: &'a Program,
    body: &'a Body,
    /// The statements before the one at hand, in its block.
    before: &'a [Stmt],
}

/// The warnings of a body.
pub fn warnings(program: &Program, body: &Body) -> Vec<Diagnostic> {
    let mut all = vec![];
    if body.unchecked || !body.func.args.is_empty() {
        return all;
    }
    for block in &body.blocks {
        for (stmt, at) in block.stmts.iter().zip(0..).filter(|(stmt, _)| !stmt.is_unsafe) {
            let look = Look { program, body, before: block.stmts.get(..at).unwrap_or(&[]) };
            let (wanted, call) = (stmt.kind.as_check().and_then(Check::as_enough), stmt.kind.as_call());
            let found = match (wanted, stmt.kind.called().zip(call)) {
                (Some((want, have)), _) => look.enough(want, have, stmt.span),
                (None, Some((func, call))) => look.string_write(func, call.args, stmt.span),
                (None, None) => None,
            };
            all.extend(found);
        }
    }
    all
}

impl<'a> Look<'a> {
    /// What the local of an operand was made from.
    fn made(&self, operand: &Operand) -> Option<&'a Rvalue> {
        let local = operand.place()?.as_local()?;
        self.before.iter().rev().find_map(|stmt| stmt.kind.assigned_to(local))
    }

    /// The variable that an operand reads, or that it is the address of.
    fn name(&self, operand: &Operand) -> Option<(Symbol, bool)> {
        let named = |place: &Place| match place.base {
            PlaceBase::Local(local) => self.body.locals.get(local.0 as usize)?.name,
            PlaceBase::Global(id) => self.program.globals.get(id.0 as usize).map(|g| g.name),
            PlaceBase::Str(_) => None,
        };
        match operand.place().and_then(named) {
            Some(name) if operand.place()?.proj.is_empty() => Some((name, true)),
            _ => {
                let place = self.made(operand)?.as_address_of()?;
                let element = place.proj.len() == 1 && place.indices().next().is_some();
                element.then_some((named(place)?, false))
            }
        }
    }

    fn room(&self, operand: &Operand) -> Option<Room> {
        let value = self.made(operand)?;
        if let Some((ty, ptr, count)) = value.as_make_counted() {
            let Operand::Const(Const::Int(count, _)) = count else { return None };
            let (name, thin) = self.name(ptr)?;
            let elem = self.program.types.as_pointer(ty)?.target.ty;
            // A variable with bounds keeps them; of one without the count is one.
            return (!thin || *count == 1).then_some(Room { count: *count, elem, name, thin });
        }
        match value.made_of()? {
            (from, Way::Same | Way::Word(_) | Way::Fat) => self.room(from),
            (_, Way::Bits | Way::Number | Way::Typed | Way::Counted | Way::Moved | Way::Retained) => None,
        }
    }

    fn size(&self, ty: Ty) -> Option<i128> {
        self.program.types.layout(ty).map(|layout| i128::from(layout.size)).filter(|&size| size > 0)
    }

    /// A check that `have` elements are as many as `want`.
    fn enough(&self, want: &Operand, have: &Operand, span: Span) -> Option<Diagnostic> {
        let pointer = self.made(have)?.as_remaining()?;
        let room = self.room(pointer).filter(|room| room.thin)?;
        let step = mir::ty::operand_ty(self.program, self.body, pointer).ok()?;
        let unit = self.size(self.program.types.as_pointer(step)?.target.ty)?;
        let bytes = self.size(room.elem)?;
        let text = self.program.types.show(room.elem);
        let name = room.name;
        let message = match self.wanted(want)? {
            (1, constant) if constant * unit > bytes => {
                format!(
                    "{} bytes wanted, and `{name}` points to one `{text}` of {bytes}: this faults whenever it runs",
                    constant * unit
                )
            }
            (factor, 0) if factor * unit == bytes && bytes > 1 => {
                format!("`{name}` has no bounds, so it points to one `{text}`: this faults for any larger count")
            }
            _ => return None,
        };
        Some(self.report(&room, span, message))
    }

    /// A constant count as (1, count); one that is a variable times a constant as (constant, 0).
    fn wanted(&self, want: &Operand) -> Option<(i128, i128)> {
        if let Operand::Const(Const::Int(count, _)) = want {
            return Some((1, *count));
        }
        let value = self.made(want)?;
        if let Some(from) = value.same_number().or(value.as_clamp()) {
            return self.wanted(from);
        }
        let plain = value.as_binary().map(|(op, a, b, _)| (op, a, b));
        match plain.or(value.as_count_arith())? {
            (BinOp::Mul, Operand::Const(Const::Int(n, _)), other)
            | (BinOp::Mul, other, Operand::Const(Const::Int(n, _)))
                if !matches!(other, Operand::Const(_)) =>
            {
                Some((*n, 0))
            }
            _ => None,
        }
    }

    /// A call of `strcpy` and its like.
    fn string_write(&self, func: &typing::tree::FuncRef, args: &[Operand], span: Span) -> Option<Diagnostic> {
        let function = self.program.functions.get(func.func.0 as usize)?;
        let [to, from] = args else { return None };
        if function.trust != Trust::Trusted || !WRITERS.contains(&function.name.as_str()) {
            return None;
        }
        let room = self.room(to).filter(|room| self.size(room.elem) == Some(1))?;
        let (name, count) = (room.name, room.count);
        let length = self.literal(from);
        let message = match (length, room.thin) {
            (Some(length), true) if length > 0 => {
                format!(
                    "{} characters and a zero, and `{name}` points to one `char`: this faults whenever it runs",
                    length
                )
            }
            (None, true) => {
                format!(
                    "`{name}` has no bounds, so it points to one `char`: this faults for any string but an empty one"
                )
            }
            (Some(length), false) if length >= count => {
                format!(
                    "{length} characters and a zero, out of bounds for length {count}: this faults whenever it runs"
                )
            }
            _ => return None,
        };
        Some(self.report(&room, span, message))
    }

    /// The characters of a literal, its zero aside.
    fn literal(&self, operand: &Operand) -> Option<i128> {
        let text = |id: StrId| {
            let units = &self.program.strings.get(id.0 as usize)?.units;
            Some(units.iter().position(|&unit| unit == 0).unwrap_or(units.len()) as i128)
        };
        match operand {
            Operand::Const(Const::Addr(ConstAddrKey::Str(id), 0, _)) => text(*id),
            Operand::Const(_) => None,
            Operand::Copy(_) | Operand::Move(_) => {
                let value = self.made(operand)?;
                match (value.as_address_of().map(|place| place.base), value.made_of()) {
                    (Some(PlaceBase::Str(id)), _) => text(id),
                    (_, Some((from, Way::Same | Way::Word(_) | Way::Fat | Way::Counted))) => self.literal(from),
                    (_, Some((_, Way::Bits | Way::Number | Way::Typed | Way::Moved | Way::Retained))) => None,
                    (Some(PlaceBase::Local(_) | PlaceBase::Global(_)) | None, None) => None,
                }
            }
        }
    }

    fn report(&self, room: &Room, span: Span, message: String) -> Diagnostic {
        let warning = Diagnostic::warning(codes::CERTAIN, span, message);
        let (text, name) = (self.program.types.show(room.elem), room.name);
        match room.thin {
            true => warning.help(format!("declare it with bounds: `{text} *fat {name}`, or `{text} *counted_by(n) {name}` with the count beside it")),
            false => warning.help("make the array larger"),
        }
    }
}
