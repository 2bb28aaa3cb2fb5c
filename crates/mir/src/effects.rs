//! The one account of what a statement does: which places it accesses and how, which types and
//! functions it names, and whether it may collect, run other code or wait.
//!
//! Analyses, transforms and emission read it. The table is `effects/table.rs` for places, types and
//! functions, `checks.rs` for those of checks, and `effects/flags.rs` for the rest; each of its
//! lines has a name ([`Line`]).
//!
//! One traversal serves reading and changing. It shows the parts of a statement in the order in
//! which they are used: what is read before what is written.

mod flags;
mod table;

pub use flags::{flags, Code, Flags};
pub use table::{Line, Part, PartMut, LINES};

use crate::ir::*;
use std::cell::Cell;
use table::{rvalue_lines, stmt_lines, stmt_lines_mut, term_lines, term_lines_mut};
use typing::tree::{BorrowKind, FuncRef};
use typing::types::Ty;

/// What becomes of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Its value is looked at; nothing keeps it.
    Read,
    /// Its value is read and goes on: into the result, to a callee.
    Copy,
    /// Its value goes on, and the place holds nothing any more.
    Move,
    /// Its value is replaced.
    Write,
    /// Its value goes elsewhere and another takes its place.
    Exchange,
    /// A list of arguments is read and steps on.
    Step,
    /// Its own address goes on.
    Address(Loan),
    /// The pointer in it goes on, as a loan of what it points to.
    Lend(Loan),
    /// What it owns is released; the place itself stays as it is.
    Drop,
    /// Its value is moved out and released.
    Free,
    /// The storage of the local begins.
    Begin,
    /// The storage of the local ends.
    End,
    /// Only its type matters: nothing happens to it here.
    Mention,
}

/// How a place is lent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loan {
    /// Others may use it meanwhile.
    Shared,
    /// No one else uses it meanwhile.
    Exclusive,
}

/// What most analyses tell apart: [`Kind`] without its finer distinctions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads the value.
    Read,
    /// Moves the value out.
    Move,
    /// Replaces the value (or the part that the place names).
    Write,
    /// Takes the address.
    Address,
}

impl Kind {
    /// The accesses that it comes to, in order. Storage is none.
    pub fn accesses(self) -> &'static [Access] {
        match self {
            Kind::Read | Kind::Copy | Kind::Lend(_) | Kind::Drop | Kind::Step => &[Access::Read],
            Kind::Move | Kind::Free => &[Access::Move],
            Kind::Write => &[Access::Write],
            Kind::Exchange => &[Access::Read, Access::Write],
            Kind::Address(_) => &[Access::Address],
            Kind::Begin | Kind::End | Kind::Mention => &[],
        }
    }

    /// Of an operand in this role: what becomes of the place that it moves.
    fn moved(self) -> Kind {
        if self == Kind::Drop {
            Kind::Free
        } else {
            Kind::Move
        }
    }

    fn borrow(kind: BorrowKind) -> Kind {
        match kind {
            BorrowKind::Shared | BorrowKind::View | BorrowKind::Any | BorrowKind::Read => Kind::Lend(Loan::Shared),
            BorrowKind::Lend => Kind::Lend(Loan::Exclusive),
            BorrowKind::Slot => Kind::Address(Loan::Exclusive),
            BorrowKind::Sight => Kind::Address(Loan::Shared),
            // What is made of it is a pointer for one access.
            BorrowKind::Look => Kind::Copy,
        }
    }
}

/// How a function is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// Called through the type.
    Called(Ty),
    /// As what a task or process begins with.
    Started,
}

thread_local! {
    static LEFT_OUT: Cell<Option<Line>> = const { Cell::new(None) };
}

/// Runs with one line of the table left out on this thread: for tests, which see whether anything
/// notices. Does nothing in a build without debug assertions.
pub fn without<T>(line: Line, run: impl FnOnce() -> T) -> T {
    LEFT_OUT.set(Some(line));
    let result = run();
    LEFT_OUT.set(None);
    result
}

#[inline]
fn keeps(line: Line) -> bool {
    !cfg!(debug_assertions) || LEFT_OUT.get() != Some(line)
}

// ---- readers

/// Shows every part of the statement.
pub fn parts<'a>(kind: &'a StmtKind, see: &mut dyn FnMut(Part<'a>)) {
    stmt_lines(kind, &mut |line, part| {
        if keeps(line) {
            see(part);
        }
    });
}

/// The same for a terminator.
pub fn term_parts<'a>(kind: &'a TermKind, see: &mut dyn FnMut(Part<'a>)) {
    term_lines(kind, &mut |line, part| {
        if keeps(line) {
            see(part);
        }
    });
}

/// Shows each function that a body names, and whether it is called there.
pub fn functions<'b>(body: &'b Body, see: &mut dyn FnMut(&'b FuncRef, bool)) {
    fn in_operand<'b>(operand: &'b Operand, see: &mut dyn FnMut(&'b FuncRef, bool)) {
        match operand {
            Operand::Copy(place) | Operand::Move(place) => in_place(place, see),
            Operand::Const(Const::Func(f)) => see(f, false),
            Operand::Const(_) => {}
        }
    }
    fn in_place<'b>(place: &'b Place, see: &mut dyn FnMut(&'b FuncRef, bool)) {
        place.indices().for_each(|index| in_operand(index, see));
    }
    for block in &body.blocks {
        let mut show = |part: Part<'b>| match part {
            Part::Function(f, Named::Called(_)) => see(f, true),
            Part::Function(f, Named::Started) => see(f, false),
            Part::Operand(operand, _) => in_operand(operand, see),
            Part::Place(place, _) => in_place(place, see),
            Part::Local(..) | Part::Type(_) => {}
        };
        block.stmts.iter().for_each(|stmt| parts(&stmt.kind, &mut show));
        term_parts(&block.term.kind, &mut show);
    }
}

/// Every part of the statement, to be changed.
pub fn parts_mut(kind: &mut StmtKind, change: &mut dyn FnMut(PartMut)) {
    stmt_lines_mut(kind, &mut |_, part| change(part));
}

/// The same for a terminator.
pub fn term_parts_mut(kind: &mut TermKind, change: &mut dyn FnMut(PartMut)) {
    term_lines_mut(kind, &mut |_, part| change(part));
}

/// Every access of the statement: each place with what becomes of it, storage included. What an
/// index in a place reads comes before the place.
pub fn accesses(kind: &StmtKind, visit: &mut dyn FnMut(&Place, Kind, Line)) {
    stmt_lines(kind, &mut |line, part| {
        if keeps(line) {
            part_kinds(&part, &mut |place, kind| visit(place, kind, line));
        }
    });
}

/// The same for a terminator.
pub fn term_accesses(kind: &TermKind, visit: &mut dyn FnMut(&Place, Kind, Line)) {
    term_lines(kind, &mut |line, part| {
        if keeps(line) {
            part_kinds(&part, &mut |place, kind| visit(place, kind, line));
        }
    });
}

fn part_kinds(part: &Part, visit: &mut dyn FnMut(&Place, Kind)) {
    match part {
        Part::Operand(operand, kind) => operand_kinds(operand, *kind, visit),
        Part::Place(at, kind) => place_kinds(at, *kind, visit),
        Part::Local(local, kind) => visit(&Place::local(**local), *kind),
        Part::Type(_) | Part::Function(..) => {}
    }
}

fn operand_kinds<'a>(operand: &'a Operand, kind: Kind, visit: &mut dyn FnMut(&'a Place, Kind)) {
    match operand {
        Operand::Copy(from) => place_kinds(from, kind, visit),
        Operand::Move(from) => place_kinds(from, kind.moved(), visit),
        Operand::Const(_) => {}
    }
}

fn place_kinds<'a>(at: &'a Place, kind: Kind, visit: &mut dyn FnMut(&'a Place, Kind)) {
    for index in at.indices() {
        operand_kinds(index, Kind::Read, visit);
    }
    visit(at, kind);
}

/// Every place whose value or address the statement uses, in the order in which they are used:
/// reads before the write. Operands in index positions come as reads of their own.
pub fn stmt_places(kind: &StmtKind, visit: &mut dyn FnMut(&Place, Access)) {
    accesses(kind, &mut |place, kind, _| {
        for &access in kind.accesses() {
            visit(place, access);
        }
    });
}

/// Every place that the terminator reads.
pub fn term_places<'a>(kind: &'a TermKind, visit: &mut dyn FnMut(&'a Place, Access)) {
    term_lines(kind, &mut |line, part| lasting_places(line, part, visit));
}

/// Every place that the value names.
pub fn rvalue_places<'a>(value: &'a Rvalue, visit: &mut dyn FnMut(&'a Place, Access)) {
    rvalue_lines(value, &mut |line, part| lasting_places(line, part, visit));
}

/// Every place that the check reads.
pub fn check_places<'a>(check: &'a Check, visit: &mut dyn FnMut(&'a Place, Access)) {
    check.lines(&mut |line, part| lasting_places(line, part, visit));
}

fn lasting_places<'a>(line: Line, part: Part<'a>, visit: &mut dyn FnMut(&'a Place, Access)) {
    let mut each = |place: &'a Place, kind: Kind| {
        for &access in kind.accesses() {
            visit(place, access);
        }
    };
    match part {
        _ if !keeps(line) => {}
        Part::Operand(operand, kind) => operand_kinds(operand, kind, &mut each),
        Part::Place(at, kind) => place_kinds(at, kind, &mut each),
        Part::Local(..) | Part::Type(_) | Part::Function(..) => {}
    }
}

/// The operands of a value, left to right; not the places of `AddrOf`, `Borrow`, `Tag`, `VaArg`.
pub fn rvalue_operands<'a>(value: &'a Rvalue, visit: &mut dyn FnMut(&'a Operand)) {
    rvalue_lines(value, &mut |line, part| match part {
        Part::Operand(operand, _) if keeps(line) => visit(operand),
        Part::Operand(..) | Part::Place(..) | Part::Local(..) | Part::Type(_) | Part::Function(..) => {}
    });
}

/// The operands of a check.
pub fn check_operands<'a>(check: &'a Check, visit: &mut dyn FnMut(&'a Operand)) {
    check.lines(&mut |line, part| match part {
        Part::Operand(operand, _) if keeps(line) => visit(operand),
        Part::Operand(..) | Part::Place(..) | Part::Local(..) | Part::Type(_) | Part::Function(..) => {}
    });
}

/// What the place's indices read, then the place.
pub fn place<'a>(at: &'a Place, kind: Kind, visit: &mut dyn FnMut(&'a Place, Access)) {
    place_kinds(at, kind, &mut |place, kind| kind.accesses().iter().for_each(|&access| visit(place, access)));
}

// ---- changing

/// Calls `change` for every place that the statement names, those in index positions included.
pub fn change_places(kind: &mut StmtKind, change: &mut dyn FnMut(&mut Place)) {
    parts_mut(kind, &mut |part| part_places_mut(part, change));
}

/// The same for a terminator.
pub fn change_term_places(kind: &mut TermKind, change: &mut dyn FnMut(&mut Place)) {
    term_parts_mut(kind, &mut |part| part_places_mut(part, change));
}

/// The same for an operand.
pub fn change_operand(operand: &mut Operand, change: &mut dyn FnMut(&mut Place)) {
    match operand {
        Operand::Copy(from) | Operand::Move(from) => change_place(from, change),
        Operand::Const(_) => {}
    }
}

fn part_places_mut(part: PartMut, change: &mut dyn FnMut(&mut Place)) {
    match part {
        PartMut::Operand(operand, _) => change_operand(operand, change),
        PartMut::Place(at, _) => change_place(at, change),
        PartMut::Local(..) | PartMut::Type(_) | PartMut::Function(..) => {}
    }
}

fn change_place(at: &mut Place, change: &mut dyn FnMut(&mut Place)) {
    for index in at.proj.iter_mut().filter_map(Proj::index_mut) {
        change_operand(index, change);
    }
    change(at);
}
