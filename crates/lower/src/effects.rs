//! What evaluating an expression may change, found by looking at the tree.

use typing::tree::{self, AllocSize, Block, Body, BorrowKind, Callee, Expr, ExprKind, Init, LocalId, Stmt, StmtKind};

/// The local that a place is (a part of), without going through a pointer.
pub(crate) fn root(place: &Expr) -> Option<LocalId> {
    match &*place.kind {
        ExprKind::Local(l) | ExprKind::CompoundLit(l, _) => Some(*l),
        ExprKind::Field(base, _) | ExprKind::IndexArray(base, _) => root(base),
        _ => None,
    }
}

/// Whether evaluating `e` may change variables or memory.
pub(crate) fn has_effects(e: &Expr) -> bool {
    disturbs(e, None)
}

/// Whether evaluating `e` may change memory (`None`), or the local `Some(l)` whose address is not taken.
pub(crate) fn disturbs(e: &Expr, local: Option<LocalId>) -> bool {
    let here = match &*e.kind {
        ExprKind::Assign(place, _)
        | ExprKind::AssignOp(_, _, place, _)
        | ExprKind::IncDec(place, ..)
        | ExprKind::Free(place)
        | ExprKind::Move(place)
        | ExprKind::Take(place)
        | ExprKind::VaArg(place) => local.is_none() || root(place) == local,
        // A slot that is lent may be stored to.
        ExprKind::Borrow(BorrowKind::Slot, place) => local.is_some() && root(place) == local,
        ExprKind::Call(..) | ExprKind::Builtin(..) | ExprKind::Dispose(..) | ExprKind::Retain(_) => local.is_none(),
        ExprKind::StmtExpr(..) => true,
        _ => false,
    };
    if here {
        return true;
    }
    let mut found = false;
    children(e, &mut |child| found = found || disturbs(child, local));
    found
}

/// Whether evaluating the expression may allocate.
pub(crate) fn allocates(e: &Expr) -> bool {
    let mut found =
        matches!(&*e.kind, ExprKind::New(_) | ExprKind::Alloc(_) | ExprKind::Call(..) | ExprKind::StmtExpr(..));
    children(e, &mut |child| found = found || allocates(child));
    found
}

/// Calls `f` for each direct sub-expression (not for those in statements of a statement expression).
pub(crate) fn children<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
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

fn init_children<'a>(init: &'a Init, f: &mut dyn FnMut(&'a Expr)) {
    match init {
        Init::Expr(e) => f(e),
        Init::Str(_) => {}
        Init::List(items) => items.iter().for_each(|(_, item)| init_children(item, f)),
        Init::Tagged(_, inner) | Init::Repeat(_, _, inner) => init_children(inner, f),
    }
}

/// The unnamed locals that evaluating `e` initialises: compound literals, and what `a ?: b` holds. Those in statements of a
/// statement expression belong to these.
pub(crate) fn unnamed_locals(e: &Expr) -> Vec<LocalId> {
    let mut found = vec![];
    let mut work = vec![e];
    while let Some(e) = work.pop() {
        match &*e.kind {
            ExprKind::CompoundLit(l, _) | ExprKind::CondOmitted(l, ..) => found.push(*l),
            ExprKind::StmtExpr(..) => continue,
            _ => {}
        }
        children(e, &mut |child| work.push(child));
    }
    found
}

/// The expressions of a statement that are evaluated in its own scope.
pub(crate) fn own_exprs(s: &Stmt) -> Vec<&Expr> {
    use StmtKind::*;
    match &s.kind {
        Expr(e) | Return(Some(e)) | GotoComputed(e) | VaStart(e) | VaEnd(e) => vec![e],
        If(e, ..) | While(e, _) | DoWhile(_, e) | Switch(e, _) | SwitchTagged(e, _) => vec![e],
        Declare(_, Some(i)) => {
            let mut all = vec![];
            init_children(i, &mut |e| all.push(e));
            all
        }
        For(_, c, step, _) => c.iter().chain(step).collect(),
        Swap(a, b) | VaCopy(a, b) => vec![a, b],
        Open(_, e, _) | Cursor(_, e) | Unpack { place: e, .. } => vec![e],
        CountGroup(list) => list.iter().flat_map(|(a, b)| [a, b]).collect(),
        Asm(asm) => asm.outputs.iter().chain(&asm.inputs).map(|(_, _, e)| e).collect(),
        _ => vec![],
    }
}

/// For each local of the body, whether its address is taken anywhere.
pub(crate) fn address_taken(body: &Body) -> Vec<bool> {
    let mut taken = vec![false; body.locals.len()];
    block(&body.block, &mut taken);
    taken
}

fn mark(place: &Expr, taken: &mut [bool]) {
    if let Some(slot) = root(place).and_then(|l| taken.get_mut(l.0 as usize)) {
        *slot = true;
    }
}

fn block(b: &Block, taken: &mut [bool]) {
    for s in &b.stmts {
        stmt(s, taken);
    }
}

fn init(i: &Init, taken: &mut [bool]) {
    let mut all = vec![];
    init_children(i, &mut |e| all.push(e));
    for e in all {
        expr(e, taken);
    }
}

fn expr(e: &Expr, taken: &mut [bool]) {
    // A work list: chains of operators may be as long as a file.
    let mut work = vec![e];
    while let Some(e) = work.pop() {
        match &*e.kind {
            ExprKind::AddrOf(place) | ExprKind::Decay(place) => mark(place, taken),
            ExprKind::StmtExpr(b, _) => block(b, taken),
            _ => {}
        }
        children(e, &mut |child| work.push(child));
    }
}

fn stmt(s: &Stmt, taken: &mut [bool]) {
    use StmtKind::*;
    match &s.kind {
        Empty | Break | Continue | Goto(_) | Return(None) | Declare(_, None) | Arena(..) => {}
        Open(_, e, _) | Cursor(_, e) | Unpack { place: e, .. } => expr(e, taken),
        Expr(e) | Return(Some(e)) | GotoComputed(e) | VaStart(e) | VaEnd(e) => expr(e, taken),
        Declare(_, Some(i)) => init(i, taken),
        Block(b) => block(b, taken),
        If(c, a, b) => {
            expr(c, taken);
            stmt(a, taken);
            if let Some(b) = b {
                stmt(b, taken);
            }
        }
        While(c, b) | DoWhile(b, c) | Switch(c, b) | SwitchTagged(c, b) => {
            expr(c, taken);
            stmt(b, taken);
        }
        For(start, c, step, b) => {
            start.iter().for_each(|s| stmt(s, taken));
            c.iter().chain(step).for_each(|e| expr(e, taken));
            stmt(b, taken);
        }
        Case(_, _, b) | CaseMember(_, _, b) | Default(b) | Label(_, b) | Defer(b) => stmt(b, taken),
        Swap(a, b) | VaCopy(a, b) => {
            expr(a, taken);
            expr(b, taken);
        }
        CountGroup(list) => {
            for (a, b) in list {
                expr(a, taken);
                expr(b, taken);
            }
        }
        Asm(asm) => {
            for (_, _, e) in &asm.outputs {
                mark(e, taken);
                expr(e, taken);
            }
            asm.inputs.iter().for_each(|(_, _, e)| expr(e, taken));
        }
    }
}
