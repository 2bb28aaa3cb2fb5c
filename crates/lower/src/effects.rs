//! What evaluating an expression may change, found by looking at the tree.

use typing::tree::{self, Block, Body, BorrowKind, Expr, ExprKind, LocalId, ReceiveOn, Stmt, StmtKind};
use typing::types::{RecordKind, TyKind, TypeStore};
pub(crate) use typing::walk::root;
use typing::walk::{children, init_children, may_leave_in, stmt_children, Part};

/// Whether evaluating `e` may change variables or memory.
pub(crate) fn has_effects(e: &Expr) -> bool {
    disturbs(e, None)
}

/// Whether evaluating `e` may change memory (`None`), or the local `Some(l)` whose address is not
/// taken.
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

/// What an expression holds while it is evaluated, without a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unnamed<'t> {
    /// A compound literal, or what `a ?: b` holds.
    Local(LocalId),
    /// A value of which a part is used, `f()` in `f().x`, or an argument that waits for another, in
    /// which control may leave.
    Value(&'t Expr),
}

/// What evaluating `e` holds. What statements of a statement expression hold belongs to these.
pub(crate) fn unnamed(e: &Expr) -> Vec<Unnamed<'_>> {
    let mut found = vec![];
    let mut work = vec![e];
    while let Some(e) = work.pop() {
        match &*e.kind {
            ExprKind::CompoundLit(l, _) | ExprKind::CondOmitted(l, ..) => found.push(Unnamed::Local(*l)),
            ExprKind::Field(base, _) if !base.is_place() && !matches!(&*base.kind, ExprKind::Field(..)) => {
                found.push(Unnamed::Value(base));
            }
            ExprKind::Call(_, _, args) => {
                let args: Vec<&Expr> = args.iter().collect();
                found.extend(waiting(&args).into_iter().map(Unnamed::Value));
            }
            ExprKind::Assign(place, value) if !matches!(&*place.kind, ExprKind::Local(_)) => {
                found.extend(waiting(&[value, place]).into_iter().map(Unnamed::Value));
            }
            ExprKind::StmtExpr(..) => continue,
            _ => {}
        }
        children(e, &mut |child| work.push(child));
    }
    found
}

/// Of values that are evaluated in this order, those that wait for one in which control may leave.
fn waiting<'t>(values: &[&'t Expr]) -> Vec<&'t Expr> {
    let last = values.iter().skip(1).rposition(|e| may_leave_in(e)).map_or(0, |n| n + 1);
    values.iter().take(last).copied().collect()
}

/// The values of a message, or of a member of a set, that wait for later ones.
pub(crate) fn waiting_in(s: &Stmt) -> Vec<&Expr> {
    use StmtKind::{Send, SetAdd};
    match &s.kind {
        Send { end, args, .. } => waiting(&args.iter().chain([end]).collect::<Vec<_>>()),
        SetAdd { set, end, value } => {
            let values: Vec<&Expr> = [Some(end), value.as_ref(), Some(set)].into_iter().flatten().collect();
            waiting(&values)
        }
        _ => vec![],
    }
}

/// The expressions of a statement that are evaluated in its own scope.
pub(crate) fn own_exprs(s: &Stmt) -> Vec<&Expr> {
    use StmtKind::*;
    match &s.kind {
        Expr(e) | Return(Some(e)) | GotoComputed(e) | VaStart(e) | VaEnd(e) => vec![e],
        If(e, ..) | While(e, _) | DoWhile(_, e) | Switch(e, _) | SwitchTagged(e, _) | SwitchEnd(e, _) => vec![e],
        Declare(_, Some(i)) => {
            let mut all = vec![];
            init_children(i, &mut |e| all.push(e));
            all
        }
        For(_, c, step, _) => c.iter().chain(step).collect(),
        Swap(a, b) | VaCopy(a, b) => vec![a, b],
        Open(_, e, _) | Cursor(_, e) | Unpack { place: e, .. } | Receive { end: e, .. } => vec![e],
        Send { end, args, .. } => std::iter::once(end).chain(args).collect(),
        SetAdd { set, end, value } => [Some(set), Some(end), value.as_ref()].into_iter().flatten().collect(),
        Select { cases, .. } => cases.iter().flat_map(|case| waited_for(&case.on)).collect(),
        CountGroup(list) => list.iter().flat_map(|(a, b)| [a, b]).collect(),
        Asm(asm) => asm.outputs.iter().chain(&asm.inputs).map(|(_, _, e)| e).collect(),
        _ => vec![],
    }
}

/// The ends that a case of `switch receive` names, or its time.
fn waited_for(on: &ReceiveOn) -> Vec<&Expr> {
    match on {
        ReceiveOn::Messages(list) => list.iter().map(|c| &c.end).collect(),
        ReceiveOn::After(time) => vec![time],
    }
}

/// For each local of the body, whether its address is taken anywhere.
pub(crate) fn address_taken(body: &Body) -> Vec<bool> {
    let mut taken = vec![false; body.locals.len()];
    block(&body.block, &mut |place| {
        if let Some(of) = root(place).and_then(|l| taken.get_mut(l.0 as usize)) {
            *of = true;
        }
    });
    taken
}

/// The same, but for addresses of numbers, and of arrays of numbers, in structs: what a struct owns
/// is not reached by these.
pub(crate) fn reached(body: &Body, types: &TypeStore) -> Vec<bool> {
    let mut reached = vec![false; body.locals.len()];
    block(&body.block, &mut |place| {
        if let Some(of) = root(place).filter(|_| !is_apart(place, types)).and_then(|l| reached.get_mut(l.0 as usize)) {
            *of = true;
        }
    });
    reached
}

/// Whether a place is a number, or an array of numbers, in structs.
fn is_apart(place: &Expr, types: &TypeStore) -> bool {
    let ty = match types.kind(place.ty.ty) {
        TyKind::Array { elem, .. } => elem.ty,
        _ => place.ty.ty,
    };
    let mut at = place;
    // An element of such an array.
    if let ExprKind::IndexArray(base, _) = &*at.kind {
        at = base;
    }
    let mut fields = 0;
    while let ExprKind::Field(base, _) = &*at.kind {
        let record = types.as_record(base.ty.ty).map(|id| types.record(id).kind);
        if record != Some(RecordKind::Struct) {
            return false;
        }
        fields += 1;
        at = base;
    }
    types.is_number(ty) && fields > 0 && matches!(*at.kind, ExprKind::Local(_) | ExprKind::CompoundLit(..))
}

type Found<'a> = dyn FnMut(&Expr) + 'a;

fn block(b: &Block, found: &mut Found) {
    for s in &b.stmts {
        stmt(s, found);
    }
}

fn expr(e: &Expr, found: &mut Found) {
    // A work list: chains of operators may be as long as a file.
    let mut work = vec![e];
    while let Some(e) = work.pop() {
        match &*e.kind {
            ExprKind::AddrOf(place) | ExprKind::Decay(place) => found(place),
            ExprKind::StmtExpr(b, _) => block(b, found),
            _ => {}
        }
        children(e, &mut |child| work.push(child));
    }
}

fn stmt(s: &Stmt, found: &mut Found) {
    if let tree::StmtKind::Asm(asm) = &s.kind {
        asm.outputs.iter().for_each(|(_, _, e)| found(e));
    }
    stmt_children(s, &mut |part| match part {
        Part::Expr(e) => expr(e, found),
        Part::Stmt(s) => stmt(s, found),
    });
}
