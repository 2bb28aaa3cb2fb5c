//! Walks over the typed tree, and what an initialiser does with its own variable.

use crate::tree::{self, AllocSize, Callee, Expr, ExprKind, Init, LocalId, ReceiveOn, Stmt, StmtKind};
use source::Span;

/// The local that a place is (a part of), without going through a pointer.
pub fn root(place: &Expr) -> Option<LocalId> {
    match &*base(place).kind {
        ExprKind::Local(l) | ExprKind::CompoundLit(l, _) => Some(*l),
        _ => None,
    }
}

/// What a place is a part of, without going through a pointer.
pub fn base(place: &Expr) -> &Expr {
    match &*place.kind {
        ExprKind::Field(whole, _) | ExprKind::IndexArray(whole, _) => base(whole),
        _ => place,
    }
}

/// Calls `f` for each direct sub-expression (not for those in statements of a statement
/// expression).
pub fn children<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    use ExprKind::*;
    match &*e.kind {
        Error | Local(_) | Global(_) | StrLit(_) | Int(_) | Float(_) | Null | Func(_) | SizeOf(_) | AlignOf(_)
        | OffsetOf(..) | LabelAddr(_) | NewKey(_) | Unreachable => {}
        Deref(a)
        | Field(a, _)
        | Load(a)
        | AddrOf(a)
        | Decay(a)
        | Unary(_, a)
        | IncDec(a, ..)
        | Convert(_, a)
        | VaArg(a)
        | Lengthof(a)
        | ContainerOf(a, ..)
        | Free(a)
        | Move(a)
        | Take(a)
        | Borrow(_, a)
        | Retain(a) => f(a),
        Dispose(a, handle) => {
            f(a);
            handle.iter().for_each(f);
        }
        Pack(_, init) => init_children(init, f),
        IndexArray(a, b)
        | IndexPointer(a, b)
        | Binary(_, a, b)
        | PtrAdd(a, b, _)
        | PtrDiff(a, b)
        | And(a, b)
        | Or(a, b)
        | CondOmitted(_, a, b)
        | Comma(a, b)
        | Assign(a, b)
        | AssignOp(_, _, a, b) => {
            f(a);
            f(b);
        }
        Cond(a, b, c) => {
            f(a);
            f(b);
            f(c);
        }
        CompoundLit(_, init) => init_children(init, f),
        Call(callee, _, args) => {
            if let Callee::Pointer(p) = callee {
                f(p);
            }
            args.iter().for_each(f);
        }
        Builtin(_, args) => args.iter().for_each(f),
        StmtExpr(_, value) => value.iter().for_each(f),
        ExprKind::New(tree::New { count, init, handle, .. }) => {
            handle.iter().for_each(&mut *f);
            count.iter().for_each(&mut *f);
            if let Some(init) = init {
                init_children(init, f);
            }
        }
        ExprKind::Alloc(tree::Alloc { size, old, .. }) => {
            old.iter().for_each(&mut *f);
            match size {
                AllocSize::Bytes(a) => f(a),
                AllocSize::Product(a, b) => {
                    f(a);
                    f(b);
                }
            }
        }
    }
}

/// Calls `f` for each expression of an initialiser.
pub fn init_children<'a>(init: &'a Init, f: &mut dyn FnMut(&'a Expr)) {
    match init {
        Init::Expr(e) => f(e),
        Init::Str(_) => {}
        Init::List(items) => items.iter().for_each(|(_, item)| init_children(item, f)),
        Init::Tagged(_, inner) | Init::Repeat(_, _, inner) => init_children(inner, f),
    }
}

/// A part of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A statement in it.
    Stmt(&'a Stmt),
}

/// Calls `f` for each direct expression and statement of a statement, in the order of the source.
pub fn stmt_children<'a>(s: &'a Stmt, f: &mut dyn FnMut(Part<'a>)) {
    use StmtKind::*;
    match &s.kind {
        Empty | Break | Continue | Goto(_) | Return(None) | Declare(_, None) | Arena(..) => {}
        Channel { .. } => {}
        Open(_, e, _) | Cursor(_, e) | Unpack { place: e, .. } | Receive { end: e, .. } => f(Part::Expr(e)),
        Send { end, args, .. } => {
            f(Part::Expr(end));
            args.iter().for_each(|e| f(Part::Expr(e)));
        }
        SetAdd { set, end, value } => {
            [Some(set), Some(end), value.as_ref()].into_iter().flatten().for_each(|e| f(Part::Expr(e)))
        }
        Select { cases, default, .. } => {
            for case in cases {
                match &case.on {
                    ReceiveOn::Messages(list) => list.iter().for_each(|c| f(Part::Expr(&c.end))),
                    ReceiveOn::After(e) => f(Part::Expr(e)),
                }
                case.body.stmts.iter().for_each(|s| f(Part::Stmt(s)));
            }
            default.iter().flat_map(|b| &b.stmts).for_each(|s| f(Part::Stmt(s)));
        }
        Expr(e) | Return(Some(e)) | GotoComputed(e) | VaStart(e) | VaEnd(e) => f(Part::Expr(e)),
        Declare(_, Some(init)) => init_children(init, &mut |e| f(Part::Expr(e))),
        Block(b) => b.stmts.iter().for_each(|s| f(Part::Stmt(s))),
        If(c, a, b) => {
            f(Part::Expr(c));
            f(Part::Stmt(a));
            b.iter().for_each(|b| f(Part::Stmt(b)));
        }
        While(c, b) | Switch(c, b) | SwitchTagged(c, b) | SwitchEnd(c, b) => {
            f(Part::Expr(c));
            f(Part::Stmt(b));
        }
        DoWhile(b, c) => {
            f(Part::Stmt(b));
            f(Part::Expr(c));
        }
        For(start, c, step, b) => {
            start.iter().for_each(|s| f(Part::Stmt(s)));
            c.iter().chain(step).for_each(|e| f(Part::Expr(e)));
            f(Part::Stmt(b));
        }
        Case(_, _, b) | CaseMember(_, _, b) | Default(b) | Label(_, b) | Defer(b) => f(Part::Stmt(b)),
        Swap(a, b) | VaCopy(a, b) => {
            f(Part::Expr(a));
            f(Part::Expr(b));
        }
        CountGroup(list) => {
            for (a, b) in list {
                f(Part::Expr(a));
                f(Part::Expr(b));
            }
        }
        Asm(asm) => asm.outputs.iter().chain(&asm.inputs).for_each(|(_, _, e)| f(Part::Expr(e))),
    }
}

/// Whether something holds for the part, or for an expression or statement anywhere in it, those in
/// statement expressions included.
pub fn any<'a>(part: Part<'a>, holds: &mut dyn FnMut(Part<'a>) -> bool) -> bool {
    let mut work = vec![part];
    while let Some(part) = work.pop() {
        if holds(part) {
            return true;
        }
        match part {
            Part::Stmt(s) => stmt_children(s, &mut |part| work.push(part)),
            Part::Expr(e) => {
                if let ExprKind::StmtExpr(block, _) = &*e.kind {
                    work.extend(block.stmts.iter().map(Part::Stmt));
                }
                children(e, &mut |child| work.push(Part::Expr(child)));
            }
        }
    }
    false
}

/// What an initialiser does with the variable that it initialises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnUse {
    /// Nothing, or it stores its address unread (`LIST_HEAD_INIT(name)`).
    None,
    /// It passes its address on, or stores to a part of it.
    Address(Span),
    /// It reads its value.
    Read(Span),
}

/// Finds the strongest use. Operands that are not evaluated (`sizeof`) have no expression in the
/// tree.
pub fn own_use(local: LocalId, init: &Init) -> OwnUse {
    let mut found = OwnUse::None;
    init_children(init, &mut |e| items(local, e, &mut found));
    found
}

/// What is converted, if anything is.
pub fn without_conversions(mut e: &Expr) -> &Expr {
    while let ExprKind::Convert(_, inner) = &*e.kind {
        e = inner;
    }
    e
}

/// An item of an initialiser: an address that is its value is stored as it is.
fn items(local: LocalId, e: &Expr, found: &mut OwnUse) {
    let value = without_conversions(e);
    match &*value.kind {
        ExprKind::AddrOf(place) | ExprKind::Decay(place) if reaches(place) == Some(local) => {
            indices(local, place, found);
        }
        _ => uses(local, value, found),
    }
}

/// The local that a place is a part of, elements of arrays that decay included.
fn reaches(place: &Expr) -> Option<LocalId> {
    match &*place.kind {
        ExprKind::Local(l) => Some(*l),
        ExprKind::Field(base, _) | ExprKind::IndexArray(base, _) => reaches(base),
        ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) => match &*p.kind {
            ExprKind::Decay(place) | ExprKind::AddrOf(place) => reaches(place),
            _ => None,
        },
        _ => None,
    }
}

/// The values in a place.
fn indices(local: LocalId, place: &Expr, found: &mut OwnUse) {
    match &*place.kind {
        ExprKind::Field(base, _) => indices(local, base, found),
        ExprKind::IndexArray(base, index) => {
            indices(local, base, found);
            uses(local, index, found);
        }
        ExprKind::IndexPointer(p, index) => {
            uses(local, index, found);
            if let ExprKind::Decay(place) = &*p.kind {
                indices(local, place, found);
            }
        }
        _ => {}
    }
}

fn note(found: &mut OwnUse, use_: OwnUse) {
    if matches!(found, OwnUse::None) || matches!((&*found, use_), (OwnUse::Address(_), OwnUse::Read(_))) {
        *found = use_;
    }
}

fn uses(local: LocalId, e: &Expr, found: &mut OwnUse) {
    let mut work = vec![e];
    while let Some(e) = work.pop() {
        let read = match &*e.kind {
            ExprKind::Load(place) | ExprKind::Move(place) | ExprKind::Take(place) | ExprKind::Free(place) => {
                Some(place)
            }
            _ => None,
        };
        if let Some(place) = read.filter(|place| reaches(place) == Some(local)) {
            note(found, OwnUse::Read(e.span));
            indices(local, place, found);
            continue;
        }
        match &*e.kind {
            ExprKind::Local(l) if *l == local => note(found, OwnUse::Address(e.span)),
            ExprKind::StmtExpr(block, _) => block.stmts.iter().for_each(|s| stmt_uses(local, s, found)),
            _ => {}
        }
        children(e, &mut |child| work.push(child));
    }
}

fn stmt_uses(local: LocalId, s: &Stmt, found: &mut OwnUse) {
    stmt_children(s, &mut |part| match part {
        Part::Expr(e) => uses(local, e, found),
        Part::Stmt(s) => stmt_uses(local, s, found),
    });
}

/// Whether control may leave the initialiser in the middle: it has a statement expression.
pub fn may_leave(init: &Init) -> bool {
    let mut found = false;
    init_children(init, &mut |e| found = found || may_leave_in(e));
    found
}

/// Whether control may leave the expression in the middle.
pub fn may_leave_in(e: &Expr) -> bool {
    let mut work = vec![e];
    while let Some(e) = work.pop() {
        if matches!(&*e.kind, ExprKind::StmtExpr(..)) {
            return true;
        }
        children(e, &mut |child| work.push(child));
    }
    false
}
