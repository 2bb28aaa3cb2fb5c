//! What conditions around an access say of its index.

use crate::amount::Amount;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::{BinOp, Body, Callee, Conv, Expr, ExprKind, Init, LocalId, Program, Stmt, StmtKind};
use typing::types::{Ty, TyKind, TypeStore};
use typing::walk::{children, stmt_children, Part};

/// How a local changes in its function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes {
    /// It is assigned, stepped or its address is taken (a declaration with an initialiser aside).
    pub changed: bool,
    /// It gets something but constants that are not negative, and rising steps.
    pub may_fall: bool,
    /// Its address is taken.
    pub exposed: bool,
    /// It is stepped up, or something is added to it.
    pub rises: bool,
    /// It is stepped down, or something is taken from it.
    pub falls: bool,
    /// Elements beside the one that it points to are reached through it.
    pub spreads: bool,
}

/// What an index is below: an amount of locals that do not change.
pub type Limit = Amount<LocalId>;

/// What holds at a place in a function.
#[derive(Default)]
pub struct Facts {
    /// How its locals change.
    pub changes: FxHashMap<LocalId, Changes>,
    /// Indices with what they are below, innermost last.
    pub below: Vec<(LocalId, Limit)>,
    /// Locals that get lengths of strings.
    lengths: FxHashSet<LocalId>,
    /// The amounts that locals which never change begin with.
    values: FxHashMap<LocalId, Limit>,
    /// A jump may lead past a condition, so conditions say nothing.
    jumps: bool,
}

/// The value without conversions between integer types that keep it, as long as it is not negative.
pub fn number<'e>(types: &TypeStore, e: &'e Expr) -> &'e Expr {
    match &*e.kind {
        ExprKind::Convert(Conv::Numeric, inner) => {
            let keeps = match (types.as_int(inner.ty.ty), types.as_int(e.ty.ty)) {
                _ if matches!(types.kind(e.ty.ty), TyKind::Bool) => false,
                (Some(from), Some(to)) if to.size() == from.size() => from.signed() || !to.signed(),
                (Some(from), Some(to)) => to.size() > from.size(),
                _ => false,
            };
            if keeps {
                number(types, inner)
            } else {
                e
            }
        }
        _ => e,
    }
}

/// The local that is read.
pub fn read_local(types: &TypeStore, e: &Expr) -> Option<LocalId> {
    match &*number(types, e).kind {
        ExprKind::Load(place) => match *place.kind {
            ExprKind::Local(id) => Some(id),
            _ => None,
        },
        _ => None,
    }
}

/// The constant that a value is: the checker has folded conversions.
pub fn constant(e: &Expr) -> Option<i128> {
    match *e.kind {
        ExprKind::Int(n) => Some(n),
        _ => None,
    }
}

impl Facts {
    /// Reads how the locals of a function change.
    pub fn of(tree: &Program, body: &Body) -> Facts {
        let mut facts = Facts::default();
        body.block.stmts.iter().for_each(|s| facts.stmt(s));
        let mut lengths = FxHashMap::default();
        body.block.stmts.iter().for_each(|s| lengths_of_stmt(tree, s, &mut lengths));
        facts.lengths = lengths.into_iter().filter(|(id, all)| *all && id.0 >= body.params).map(|(id, _)| id).collect();
        body.block.stmts.iter().for_each(|s| facts.begin(tree, s));
        facts.jumps = body.block.stmts.iter().any(|s| jumps_past_conditions(s, false, false));
        facts
    }

    fn stmt(&mut self, s: &Stmt) {
        if let StmtKind::Declare(local, Some(Init::Expr(e))) = &s.kind {
            let fine = constant(e).is_some_and(|n| n >= 0);
            self.changes.entry(*local).or_default().may_fall |= !fine;
        }
        stmt_children(s, &mut |part| match part {
            Part::Expr(e) => self.expr(e),
            Part::Stmt(s) => self.stmt(s),
        });
    }

    /// Notes what locals begin with that never change.
    fn begin(&mut self, tree: &Program, s: &Stmt) {
        if let StmtKind::Declare(local, Some(Init::Expr(e))) = &s.kind {
            let known = self.exact(&tree.types, e).filter(|_| self.is_steady(*local) && !self.jumps);
            self.values.extend(known.map(|amount| (*local, amount)));
        }
        stmt_children(s, &mut |part| match part {
            Part::Stmt(s) => self.begin(tree, s),
            Part::Expr(_) => {}
        });
    }

    fn expr(&mut self, e: &Expr) {
        let local = |place: &Expr| match *place.kind {
            ExprKind::Local(id) => Some(id),
            _ => None,
        };
        let mut note = |id: LocalId, fine: bool, exposed: bool| {
            let changes = self.changes.entry(id).or_default();
            changes.changed = true;
            changes.may_fall |= !fine;
            changes.exposed |= exposed;
        };
        match &*e.kind {
            ExprKind::Assign(place, v) => {
                local(place).into_iter().for_each(|id| note(id, constant(v).is_some_and(|n| n >= 0), false));
            }
            ExprKind::AssignOp(op, _, place, v) => {
                let rises = *op == BinOp::Add && constant(v).is_some_and(|n| n >= 0);
                local(place).into_iter().for_each(|id| note(id, rises, false));
                self.moves(place, *op == BinOp::Add, *op == BinOp::Sub);
            }
            ExprKind::IncDec(place, up, _) => {
                local(place).into_iter().for_each(|id| note(id, *up, false));
                self.moves(place, *up, !*up);
            }
            ExprKind::AddrOf(place) | ExprKind::Borrow(_, place) | ExprKind::Free(place) => {
                typing::walk::root(place).into_iter().for_each(|id| note(id, false, true));
            }
            ExprKind::PtrAdd(p, n, _) | ExprKind::IndexPointer(p, n) if constant(n) != Some(0) => {
                if let ExprKind::Load(place) = &*crate::flows::pointer(p).kind {
                    local(place).into_iter().for_each(|id| self.changes.entry(id).or_default().spreads = true);
                }
            }
            ExprKind::StmtExpr(block, _) => block.stmts.iter().for_each(|s| self.stmt(s)),
            _ => {}
        }
        children(e, &mut |child| self.expr(child));
    }

    fn moves(&mut self, place: &Expr, up: bool, down: bool) {
        if let ExprKind::Local(id) = *place.kind {
            let changes = self.changes.entry(id).or_default();
            changes.rises |= up;
            changes.falls |= down;
        }
    }

    /// Whether the pointer is stepped up, and only what it points to is reached.
    pub fn rises(&self, id: LocalId) -> bool {
        self.changes.get(&id).is_some_and(|c| c.rises && !c.falls && !c.spreads)
    }

    /// Whether the local is stepped down, and never up.
    pub fn falls(&self, id: LocalId) -> bool {
        self.changes.get(&id).is_some_and(|c| c.falls && !c.rises)
    }

    /// Whether a value is the length of a string, or less.
    pub fn is_length(&self, tree: &Program, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Convert(Conv::Numeric, inner) | ExprKind::Binary(BinOp::Sub | BinOp::Div, inner, _) => {
                self.is_length(tree, inner)
            }
            ExprKind::Load(place) => matches!(&*place.kind, ExprKind::Local(id) if self.lengths.contains(id)),
            _ => is_strlen(tree, e),
        }
    }

    /// Whether the local has the value of its declaration, or of the call, throughout.
    pub fn is_steady(&self, id: LocalId) -> bool {
        self.changes.get(&id).is_none_or(|c| !c.changed)
    }

    /// Whether the local is never negative, as long as it does not wrap.
    fn is_natural(&self, types: &TypeStore, id: LocalId, ty: Ty) -> bool {
        let unsigned = types.as_int(ty).is_some_and(|int| !int.signed());
        unsigned || self.changes.get(&id).is_some_and(|c| !c.may_fall && !c.exposed)
    }

    /// What a condition that is true says; `body` is where it has to hold.
    pub fn assume(&mut self, types: &TypeStore, condition: &Expr, body: &Stmt) {
        if self.jumps {
            return;
        }
        match &*condition.kind {
            ExprKind::And(a, b) => {
                self.assume(types, a, body);
                self.assume(types, b, body);
            }
            ExprKind::Convert(Conv::ToBool | Conv::Numeric, inner) => self.assume(types, inner, body),
            ExprKind::Binary(op @ (BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge), a, b) => {
                let (low, high) = if matches!(op, BinOp::Lt | BinOp::Le) { (a, b) } else { (b, a) };
                let more = i64::from(matches!(op, BinOp::Le | BinOp::Ge));
                let Some(id) = read_local(types, low) else { return };
                let ty = number(types, low).ty.ty;
                if !self.is_natural(types, id, ty) || assigns(body, id) {
                    return;
                }
                let Some(limit) = self.at_most(types, high).and_then(|limit| limit.plus(more)) else { return };
                self.below.push((id, limit));
            }
            _ => {}
        }
    }

    /// The amount that a value is, or is less than. `n - 1` is less only as a signed number.
    pub fn at_most(&self, types: &TypeStore, e: &Expr) -> Option<Limit> {
        if let ExprKind::Binary(BinOp::Sub, a, b) = &*number(types, e).kind {
            let signed = |e: &Expr| types.as_int(e.ty.ty).is_some_and(|int| int.signed());
            let less = constant(b).filter(|n| *n >= 0 && signed(e) && signed(number(types, e)))?;
            return self.exact(types, a)?.plus(-i64::try_from(less).ok()?);
        }
        self.exact(types, e)
    }

    /// The amount that a value is, whenever it is computed. A value that wraps is less.
    pub fn exact(&self, types: &TypeStore, e: &Expr) -> Option<Limit> {
        if let Some(n) = constant(e) {
            return u64::try_from(n).ok().map(Amount::constant);
        }
        if let Some(id) = read_local(types, e) {
            let known = || self.values.get(&id).copied().unwrap_or_else(|| Amount::of(id));
            return self.is_steady(id).then(known);
        }
        match &*number(types, e).kind {
            ExprKind::Binary(BinOp::Add, a, b) => {
                let (a, b) = (self.exact(types, a)?, self.exact(types, b)?);
                match (a.as_constant(), b.as_constant()) {
                    (_, Some(n)) => a.plus(n),
                    (Some(n), _) => b.plus(n),
                    _ => None,
                }
            }
            ExprKind::Binary(BinOp::Mul, a, b) => self.exact(types, a)?.times(self.exact(types, b)?),
            _ => None,
        }
    }

    /// What an index is known to be below.
    pub fn limits(&self, types: &TypeStore, index: &Expr) -> Vec<Limit> {
        if let Some(n) = constant(index) {
            return u64::try_from(n + 1).ok().filter(|n| *n > 0).map(Amount::constant).into_iter().collect();
        }
        if let Some(id) = read_local(types, index) {
            return self.below.iter().filter(|(i, _)| *i == id).map(|(_, limit)| *limit).collect();
        }
        let index = number(types, index);
        match &*index.kind {
            ExprKind::Binary(BinOp::Add, a, b) => {
                let (a, b) = if constant(a).is_some() { (b, a) } else { (a, b) };
                if let Some(n) = constant(b) {
                    let more = |limit: Limit| limit.plus(i64::try_from(n).ok().filter(|n| *n >= 0)?);
                    let alone = self.limits(types, a).into_iter().filter_map(more);
                    return self.rows(types, a, b).into_iter().chain(alone).collect();
                }
                [self.rows(types, a, b), self.rows(types, b, a)].concat()
            }
            ExprKind::Binary(BinOp::Mul, ..) => self.rows(types, index, index),
            _ => vec![],
        }
    }

    /// What `i * width + j` is below: `i` is below a number of rows, and `j` below the width. The
    /// same expression twice stands for `i * width` alone.
    fn rows(&self, types: &TypeStore, start: &Expr, column: &Expr) -> Vec<Limit> {
        let ExprKind::Binary(BinOp::Mul, a, b) = &*number(types, start).kind else { return vec![] };
        let mut all = vec![];
        for (row, width) in [(a, b), (b, a)] {
            let Some(wide) = self.exact(types, width) else { continue };
            let within = |limit: &Limit| wide.covers(limit);
            if std::ptr::eq(start, column) || self.limits(types, column).iter().any(within) {
                all.extend(self.limits(types, row).into_iter().filter_map(|rows| rows.times(wide)));
            }
        }
        all
    }
}

/// Whether a value is the length of a string, or less.
fn is_strlen(tree: &Program, e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Convert(Conv::Numeric, inner) | ExprKind::Binary(BinOp::Sub, inner, _) => is_strlen(tree, inner),
        ExprKind::Call(Callee::Direct(f), ..) => {
            let function = tree.functions.get(f.func.0 as usize);
            function.is_some_and(|f| matches!(f.name.as_str(), "strlen" | "lee_strlen"))
        }
        _ => false,
    }
}

/// Notes for each local that gets a value whether all of them are lengths of strings, or less.
fn lengths_of_stmt(tree: &Program, s: &Stmt, all: &mut FxHashMap<LocalId, bool>) {
    if let StmtKind::Declare(local, Some(Init::Expr(e))) = &s.kind {
        *all.entry(*local).or_insert(true) &= is_strlen(tree, e);
    }
    stmt_children(s, &mut |part| match part {
        Part::Expr(e) => lengths_of_expr(tree, e, all),
        Part::Stmt(s) => lengths_of_stmt(tree, s, all),
    });
}

fn lengths_of_expr(tree: &Program, e: &Expr, all: &mut FxHashMap<LocalId, bool>) {
    let mut note = |place: &Expr, is_length: bool| {
        if let ExprKind::Local(id) = *place.kind {
            *all.entry(id).or_insert(true) &= is_length;
        }
    };
    match &*e.kind {
        ExprKind::Assign(place, value) => note(place, is_strlen(tree, value)),
        ExprKind::AssignOp(op, _, place, _) => note(place, *op == BinOp::Sub),
        ExprKind::IncDec(place, up, _) => note(place, !up),
        ExprKind::AddrOf(place) => note(place, false),
        ExprKind::StmtExpr(block, _) => block.stmts.iter().for_each(|s| lengths_of_stmt(tree, s, all)),
        _ => {}
    }
    children(e, &mut |child| lengths_of_expr(tree, child, all));
}

/// Whether a statement has a label that is `within` a condition of the function, or a `case` that
/// is within one of its `switch` (`of_case`).
fn jumps_past_conditions(s: &Stmt, within: bool, of_case: bool) -> bool {
    let (within, of_case) = match s.kind {
        StmtKind::Label(..) if within => return true,
        StmtKind::Case(..) | StmtKind::Default(_) if of_case => return true,
        StmtKind::For(..) | StmtKind::While(..) | StmtKind::If(..) => (true, true),
        StmtKind::Switch(..) => (within, false),
        _ => (within, of_case),
    };
    let mut found = false;
    stmt_children(s, &mut |part| match part {
        Part::Stmt(s) => found |= jumps_past_conditions(s, within, of_case),
        Part::Expr(_) => {}
    });
    found
}

/// Whether a statement changes a local.
fn assigns(s: &Stmt, id: LocalId) -> bool {
    let mut facts = Facts::default();
    facts.stmt(s);
    facts.changes.get(&id).is_some_and(|c| c.changed)
}
