//! What flows where, and what values are used for.

use crate::amount::Amount;
use crate::counts::{Access, CallSite, Candidate};
use crate::facts::{constant, read_local, Facts, Limit};
use crate::slots::{own_function, Func, Node, SlotId, Slots};
use crate::Unit;
use rustc_hash::{FxHashMap, FxHashSet};
use source::{Span, Symbol};
use typing::tree::*;
use typing::types::{ArrayLen, Bounds, CountExpr, Qty, RecordKind, Ty, TyKind};
use typing::walk::{children, stmt_children, Part};

/// Where a pointer value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A slot.
    Node(Node),
    /// An object whose size is known when the program runs; the number of elements if it is known
    /// now.
    Object(Option<u64>),
    /// A string literal; its length with the zero.
    Literal(u64),
    /// A part of an object: an array in a struct or in an array.
    Part(u64),
    /// The address of one element.
    Single,
    /// Null.
    Null,
    /// Something else.
    Unknown,
}

/// What a pointer is needed for.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Demand {
    /// It is indexed or moved.
    pub bounds: bool,
    /// It moves back.
    pub back: bool,
    /// It is read as a string.
    pub string: bool,
    /// Elements are written that may be after the end of the string there.
    pub filled: bool,
}

impl Demand {
    /// What both are needed for.
    pub fn add(&mut self, other: Demand) {
        self.bounds |= other.bounds;
        self.back |= other.back;
        self.string |= other.string;
        self.filled |= other.filled;
    }
}

/// All that was found.
#[derive(Default)]
pub struct Flows {
    /// The slots.
    pub slots: Slots,
    /// Values that come into a slot.
    pub edges: Vec<(Source, Node)>,
    /// Nodes that are the same memory: what two pointers lead to, of which one is copied to the
    /// other.
    pub same: Vec<(Node, Node)>,
    /// Pointers that are compared with each other: both need bounds, or none does.
    pub compared: Vec<(Node, Node)>,
    /// What slots are needed for.
    pub demands: FxHashMap<Node, Demand>,
    /// Accesses through parameters.
    pub accesses: FxHashMap<SlotId, Vec<Access>>,
    /// What probably counts parameters, though it does not bound what is seen of their uses.
    pub hints: FxHashMap<SlotId, Vec<Candidate>>,
    /// Calls, by what is called.
    pub calls: FxHashMap<Func, Vec<CallSite>>,
    /// Functions whose address is taken: not all of their callers are known.
    pub taken: FxHashSet<Func>,
    /// The integer parameters of each function, which it does not change.
    pub steady: FxHashMap<Func, Vec<usize>>,
    /// Pointers whose targets are written to.
    pub written: FxHashSet<Node>,
    /// Pointers that get a pointer to something `const`, other than a literal.
    pub constants: FxHashSet<Node>,
    /// Nodes whose values go to places that are no slots and are not seen.
    pub leaks: FxHashSet<Node>,
    /// Functions with a part that was not understood.
    pub lost_in: Vec<(usize, Span)>,
    /// Names that stand in what was not understood.
    pub lost: FxHashSet<Symbol>,
    /// What was not understood may concern anything.
    pub broken: bool,
}

/// Walks all functions of all units.
pub fn collect(units: &[Unit], slots: Slots) -> Flows {
    let mut flows = Flows { slots, ..Flows::default() };
    for (n, unit) in units.iter().enumerate() {
        for (id, global) in unit.tree.globals.iter().enumerate() {
            let slot = flows.slots.global(units, n, GlobalId(id as u32));
            let node = slot.map(|slot| (slot, 0));
            // C may write to it.
            if global.trust != Trust::Checked {
                flows.edges.extend(node.map(|node| (Source::Unknown, node)));
            }
            let init = global.init.iter();
            init.for_each(|init| flows.constant(units, n, init, global.ty.ty, node));
        }
        for (id, function) in unit.tree.functions.iter().enumerate() {
            let func = FuncId(id as u32);
            // C may call it.
            if function.trust != Trust::Checked || function.is_process {
                flows.taken.extend(own_function(units, n, func).map(|(func, _)| func));
            }
            let Some(body) = function.body.as_ref().filter(|_| !unit.map.is_system(function.span.lo)) else {
                continue;
            };
            if body.unchecked {
                flows.lost_in.push((n, function.span));
                continue;
            }
            let facts = Facts::of(unit.tree, body);
            if let (Some((key, ty)), Some(_)) = (own_function(units, n, func), unit.tree.functions.get(id)) {
                let params = unit.tree.types.as_func(ty).map(|f| f.params.clone()).unwrap_or_default();
                let whole = |k: &usize| {
                    let integer = params.get(*k).is_some_and(|p| unit.tree.types.as_int(p.ty).is_some());
                    integer && facts.is_steady(LocalId(*k as u32))
                };
                flows.steady.insert(key, (0..params.len()).filter(whole).collect());
            }
            let mut walk =
                Walk { units, unit: n, tree: unit.tree, func, facts, seen: vec![], short: vec![], out: &mut flows };
            body.block.stmts.iter().for_each(|s| walk.stmt(s));
            walk.walkers(body);
        }
    }
    flows
}

struct Walk<'a, 'f> {
    units: &'a [Unit<'a>],
    unit: usize,
    tree: &'a Program,
    func: FuncId,
    facts: Facts,
    /// Elements that conditions around read, innermost last.
    seen: Vec<Element>,
    /// Locals that conditions around hold below the length of a string.
    short: Vec<LocalId>,
    out: &'f mut Flows,
}

/// `p[i]`, or `*p` without an index.
type Element = (Node, Option<LocalId>);

/// A pointer value without conversions that keep its elements.
pub(crate) fn pointer(e: &Expr) -> &Expr {
    match &*e.kind {
        ExprKind::Convert(
            Conv::Pointer | Conv::ProveNonnull | Conv::View | Conv::SameBits | Conv::Unchecked,
            inner,
        ) => pointer(inner),
        _ => e,
    }
}

impl Walk<'_, '_> {
    fn is_pointer(&self, ty: Ty) -> bool {
        self.tree.types.as_pointer(ty).is_some()
    }

    fn place(&mut self, place: &Expr) -> Option<Node> {
        match &*place.kind {
            ExprKind::Local(id) => Some((self.out.slots.local(self.units, self.unit, self.func, *id)?, 0)),
            ExprKind::Global(id) => Some((self.out.slots.global(self.units, self.unit, *id)?, 0)),
            ExprKind::Field(base, n) => {
                let record = self.tree.types.as_record(base.ty.ty)?;
                let node = (self.out.slots.field(self.units, self.unit, record, *n)?, 0);
                // What another member holds may be read.
                if self.tree.types.record(record).kind == RecordKind::Union && self.is_pointer(place.ty.ty) {
                    self.out.edges.push((Source::Unknown, node));
                }
                Some(node)
            }
            ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) => self.behind(p),
            ExprKind::IndexArray(a, _) => self.place(a).map(|(slot, depth)| (slot, depth + 1)),
            _ => None,
        }
    }

    /// The node that a pointer value's target is.
    fn behind(&mut self, p: &Expr) -> Option<Node> {
        let mut all = vec![];
        self.sources(p, &mut all);
        let found = all.iter().find_map(|s| match s {
            Source::Node((slot, depth)) => Some((*slot, depth + 1)),
            _ => None,
        });
        found.or_else(|| match &*pointer(p).kind {
            ExprKind::Decay(place) | ExprKind::AddrOf(place) => match &*place.kind {
                ExprKind::IndexArray(a, _) => self.place(a).map(|(slot, depth)| (slot, depth + 1)),
                _ if matches!(self.tree.types.kind(place.ty.ty), TyKind::Array { .. }) => {
                    self.place(place).map(|(slot, depth)| (slot, depth + 1))
                }
                _ => self.place(place),
            },
            _ => None,
        })
    }

    /// Where a pointer value comes from.
    fn sources(&mut self, e: &Expr, all: &mut Vec<Source>) {
        match &*e.kind {
            ExprKind::Convert(Conv::Pointer | Conv::ProveNonnull | Conv::SameBits, inner)
            | ExprKind::PtrAdd(inner, ..)
            | ExprKind::Comma(_, inner) => self.sources(inner, all),
            ExprKind::Convert(Conv::View, inner) => {
                let from = all.len();
                self.sources(inner, all);
                // Lengths are in elements of another size.
                for source in all.iter_mut().skip(from) {
                    match source {
                        Source::Object(_) | Source::Literal(_) => *source = Source::Object(None),
                        Source::Part(_) | Source::Single => *source = Source::Unknown,
                        _ => {}
                    }
                }
            }
            ExprKind::Convert(..) => all.push(Source::Unknown),
            ExprKind::Load(place) | ExprKind::Move(place) | ExprKind::Take(place) | ExprKind::Borrow(_, place) => {
                all.push(self.place(place).map_or(Source::Unknown, Source::Node));
            }
            ExprKind::Assign(place, _) | ExprKind::AssignOp(_, _, place, _) | ExprKind::IncDec(place, ..) => {
                all.push(self.place(place).map_or(Source::Unknown, Source::Node));
            }
            ExprKind::Cond(_, a, b) | ExprKind::CondOmitted(_, a, b) => {
                self.sources(a, all);
                self.sources(b, all);
            }
            ExprKind::Null => all.push(Source::Null),
            ExprKind::Decay(place) => all.push(self.array(place)),
            ExprKind::AddrOf(place) => match &*place.kind {
                ExprKind::IndexPointer(p, _) | ExprKind::Deref(p) => self.sources(p, all),
                ExprKind::IndexArray(array, _) => all.push(match self.array(array) {
                    Source::Object(_) | Source::Literal(_) => Source::Object(None),
                    _ => Source::Unknown,
                }),
                _ => all.push(Source::Single),
            },
            ExprKind::Alloc(_) | ExprKind::New(_) => all.push(Source::Object(None)),
            ExprKind::Call(Callee::Direct(f), ..) => {
                let known = self.out.slots.result(self.units, self.unit, f.func);
                // Of a string only the part before its zero is known.
                let bounds = self.tree.types.as_pointer(e.ty.ty).map(|p| p.bounds);
                let bounded = matches!(bounds, Some(Bounds::Fat | Bounds::Counted(_)));
                all.push(match known {
                    Some(slot) => Source::Node((slot, 0)),
                    None if bounded => Source::Object(None),
                    None => Source::Unknown,
                });
            }
            _ => all.push(Source::Unknown),
        }
    }

    fn array(&self, place: &Expr) -> Source {
        match self.tree.types.kind(place.ty.ty) {
            // An array of one element at the end of a struct often has more.
            TyKind::Array { len: ArrayLen::Const(0 | 1), .. } if matches!(&*place.kind, ExprKind::Field(..)) => {
                Source::Unknown
            }
            TyKind::Array { len: ArrayLen::Const(n), .. } => match &*place.kind {
                ExprKind::StrLit(_) => Source::Literal(*n),
                ExprKind::Local(_) | ExprKind::Global(_) => Source::Object(Some(*n)),
                _ => Source::Part(*n),
            },
            _ => Source::Unknown,
        }
    }

    /// The function has a part that was not understood.
    fn lose(&mut self) {
        let function = self.tree.functions.get(self.func.0 as usize);
        self.out.lost_in.extend(function.map(|f| (self.unit, f.span)));
    }

    /// The value goes where it is not seen.
    fn leak(&mut self, e: &Expr) {
        let mut all = vec![];
        self.sources(e, &mut all);
        all.into_iter().for_each(|source| {
            if let Source::Node(node) = source {
                self.out.leaks.insert(node);
            }
        });
    }

    /// Whether a pointer value leads to something `const` that is not a literal.
    fn is_constant(&self, e: &Expr) -> bool {
        match &*pointer(e).kind {
            ExprKind::Decay(place) if matches!(*place.kind, ExprKind::StrLit(_)) => false,
            _ => self.tree.types.as_pointer(pointer(e).ty.ty).is_some_and(|p| p.target.quals.is_const),
        }
    }

    /// What a pointer leads to is written.
    fn write_behind(&mut self, e: &Expr) {
        let mut all = vec![];
        self.sources(e, &mut all);
        let nodes = all.iter().filter_map(|source| match source {
            Source::Node(node) => Some(*node),
            _ => None,
        });
        self.out.written.extend(nodes);
    }

    /// A place is written, or may be later.
    fn write(&mut self, place: &Expr) {
        match &*place.kind {
            ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) => self.write_behind(p),
            ExprKind::Field(base, _) | ExprKind::IndexArray(base, _) => self.write(base),
            _ => {}
        }
    }

    fn need(&mut self, e: &Expr, demand: Demand) {
        let mut all = vec![];
        self.sources(e, &mut all);
        for source in all {
            if let Source::Node(node) = source {
                self.need_node(node, demand);
            }
        }
    }

    fn need_node(&mut self, node: Node, demand: Demand) {
        self.out.demands.entry(node).or_default().add(demand);
    }

    fn flow(&mut self, value: &Expr, to: Node) {
        if !self.is_pointer(value.ty.ty) {
            return;
        }
        let mut all = vec![];
        self.sources(value, &mut all);
        all.into_iter().for_each(|source| self.out.edges.push((source, to)));
        if self.is_constant(value) {
            self.out.constants.insert(to);
        }
        if let Some(behind) = self.behind(value) {
            self.out.same.push((behind, (to.0, to.1 + 1)));
        }
    }

    fn initial(&mut self, init: &Init, to: Option<Node>, ty: Qty) {
        match init {
            Init::Expr(e) => {
                if let Some(to) = to {
                    self.flow(e, to);
                }
            }
            Init::List(items) => {
                for (n, item) in items {
                    match *self.tree.types.kind(ty.ty) {
                        TyKind::Record(record) => {
                            let field = self.tree.types.record(record).fields.as_ref();
                            let Some(ty) = field.and_then(|f| f.get(*n as usize)).map(|f| f.ty) else { continue };
                            let slot = self.out.slots.field(self.units, self.unit, record, *n as u32);
                            self.initial(item, slot.map(|slot| (slot, 0)), ty);
                        }
                        TyKind::Array { elem, .. } => self.initial(item, to.map(|(s, d)| (s, d + 1)), elem),
                        _ => {}
                    }
                }
            }
            Init::Repeat(_, _, inner) => {
                if let TyKind::Array { elem, .. } = *self.tree.types.kind(ty.ty) {
                    self.initial(inner, to.map(|(s, d)| (s, d + 1)), elem);
                }
            }
            Init::Tagged(..) | Init::Str(_) => {}
        }
    }

    /// The element that a place is, without conversions.
    fn element(&mut self, place: &Expr) -> Option<Element> {
        let (base, index) = match &*place.kind {
            ExprKind::Deref(base) => (base, None),
            ExprKind::IndexPointer(base, index) => (base, Some(read_local(&self.tree.types, index)?)),
            _ => return None,
        };
        match &*pointer(base).kind {
            ExprKind::Load(place) => Some((self.place(place)?, index)),
            _ => None,
        }
    }

    /// Adds what a condition reads of strings, and what it holds below their lengths.
    fn see(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Load(place) => {
                let element = self.element(place);
                self.seen.extend(element);
            }
            ExprKind::Binary(BinOp::Lt | BinOp::Le, low, high) | ExprKind::Binary(BinOp::Gt | BinOp::Ge, high, low) => {
                let is_short = self.facts.is_length(self.tree, high);
                self.short.extend(read_local(&self.tree.types, low).filter(|_| is_short));
            }
            _ => {}
        }
        children(e, &mut |child| self.see(child));
    }

    /// An element of a pointer is written. What was read as part of a string, or is below its
    /// length, is within it.
    fn fill(&mut self, place: &Expr) {
        let base = match &*place.kind {
            ExprKind::Deref(base) => base,
            ExprKind::IndexPointer(base, index) => {
                let is_short = read_local(&self.tree.types, index).is_some_and(|id| self.short.contains(&id));
                if is_short || constant(index) == Some(0) || self.facts.is_length(self.tree, index) {
                    return;
                }
                base
            }
            _ => return,
        };
        if matches!((&*place.kind, &*pointer(base).kind), (ExprKind::Deref(_), ExprKind::AddrOf(_))) {
            return;
        }
        let element = self.element(place);
        if element.is_none_or(|element| !self.seen.contains(&element)) {
            self.need(base, Demand { filled: true, ..Demand::default() });
        }
    }

    /// A statement that runs where the condition holds.
    fn under(&mut self, condition: &Expr, body: &Stmt) {
        let (below, seen, short) = (self.facts.below.len(), self.seen.len(), self.short.len());
        self.facts.assume(&self.tree.types, condition, body);
        self.see(condition);
        self.stmt(body);
        self.seen.truncate(seen);
        self.short.truncate(short);
        self.facts.below.truncate(below);
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Declare(local, Some(init)) => {
                let slot = self.out.slots.local(self.units, self.unit, self.func, *local);
                let body = self.tree.functions.get(self.func.0 as usize).and_then(|f| f.body.as_ref());
                if let Some(ty) = body.and_then(|b| b.locals.get(local.0 as usize)).map(|l| l.ty) {
                    self.initial(init, slot.map(|slot| (slot, 0)), ty);
                }
            }
            StmtKind::Return(Some(e)) => {
                if let Some(slot) = self.out.slots.result(self.units, self.unit, self.func) {
                    self.flow(e, (slot, 0));
                }
            }
            StmtKind::For(start, Some(condition), step, body) => {
                start.iter().for_each(|s| self.stmt(s));
                self.expr(condition);
                self.under(condition, body);
                step.iter().for_each(|e| self.expr(e));
                return;
            }
            StmtKind::If(condition, then, other) => {
                self.expr(condition);
                self.under(condition, then);
                other.iter().for_each(|s| self.stmt(s));
                return;
            }
            StmtKind::While(condition, body) => {
                self.expr(condition);
                self.under(condition, body);
                return;
            }
            StmtKind::Asm(_) | StmtKind::GotoComputed(_) => self.lose(),
            _ => {}
        }
        stmt_children(s, &mut |part| match part {
            Part::Expr(e) => self.expr(e),
            Part::Stmt(s) => self.stmt(s),
        });
    }

    fn expr(&mut self, e: &Expr) {
        let bounds = Demand { bounds: true, ..Demand::default() };
        match &*e.kind {
            ExprKind::Assign(place, _) => {
                self.write(place);
                self.fill(place);
            }
            ExprKind::AssignOp(_, _, place, _) | ExprKind::IncDec(place, ..) => self.write(place),
            // The address of a part is not followed.
            ExprKind::AddrOf(place) if matches!(*place.kind, ExprKind::Field(..) | ExprKind::IndexArray(..)) => {
                self.write(place);
            }
            ExprKind::Decay(place) => self.write(place),
            ExprKind::Free(place) => {
                let node = self.place(place);
                self.out.written.extend(node);
            }
            _ => {}
        }
        match &*e.kind {
            ExprKind::Error => self.lose(),
            ExprKind::AddrOf(place) => {
                // What has the address of a pointer may write to it.
                if self.is_pointer(place.ty.ty) {
                    let node = self.place(place);
                    self.out.edges.extend(node.map(|node| (Source::Unknown, node)));
                }
                // A pointer that stays, or moves on from there, is more than one access.
                if let ExprKind::IndexPointer(base, index) = &*place.kind {
                    self.need(base, bounds);
                    self.expr(base);
                    self.expr(index);
                    return;
                }
            }
            ExprKind::Convert(Conv::Unchecked, _) => self.lose(),
            ExprKind::IndexPointer(base, index) => {
                let n = constant(index);
                if n != Some(0) {
                    self.need(base, Demand { back: n.is_some_and(|n| n < 0), ..bounds });
                }
                self.access(base, index);
            }
            ExprKind::PtrAdd(base, step, minus) => {
                self.need(base, Demand { back: *minus || constant(step).is_some_and(|n| n < 0), ..bounds });
            }
            ExprKind::IncDec(place, up, _) if self.is_pointer(place.ty.ty) => {
                if let Some(node) = self.place(place) {
                    self.need_node(node, Demand { back: !up, ..bounds });
                }
            }
            ExprKind::AssignOp(op, _, place, _) if self.is_pointer(place.ty.ty) => {
                if let Some(node) = self.place(place) {
                    self.need_node(node, Demand { back: *op == BinOp::Sub, ..bounds });
                }
            }
            ExprKind::Assign(place, value) => {
                if let Some(node) = self.place(place) {
                    self.flow(value, node);
                }
            }
            ExprKind::Func(f) => {
                if let Some((key, _)) = own_function(self.units, self.unit, f.func) {
                    self.out.taken.insert(key);
                }
            }
            // What is read of a parameter is one use; those that are known to fit are taken off.
            ExprKind::Load(place) => {
                if let (ExprKind::Local(id), true) = (&*place.kind, self.is_pointer(e.ty.ty)) {
                    self.used(*id, 1);
                }
            }
            ExprKind::Binary(BinOp::Eq | BinOp::Ne, a, b) if matches!(*pointer(b).kind, ExprKind::Null) => {
                self.looked_at(a);
            }
            ExprKind::Binary(_, a, b) | ExprKind::PtrDiff(a, b) if self.is_pointer(a.ty.ty) => self.compare(a, b),
            ExprKind::Convert(Conv::ToBool, inner) => self.looked_at(inner),
            ExprKind::Call(callee, ty, args) => self.call(callee, *ty, args),
            ExprKind::StmtExpr(block, _) => block.stmts.iter().for_each(|s| self.stmt(s)),
            ExprKind::CompoundLit(local, init) => {
                let slot = self.out.slots.local(self.units, self.unit, self.func, *local);
                self.initial(init, slot.map(|slot| (slot, 0)), e.ty);
            }
            _ => {}
        }
        children(e, &mut |child| self.expr(child));
    }

    /// The parameter that a pointer value is, as it came in.
    fn parameter(&mut self, e: &Expr) -> Option<(SlotId, LocalId)> {
        let id = read_local(&self.tree.types, pointer(e))?;
        let body = self.tree.functions.get(self.func.0 as usize)?.body.as_ref()?;
        if id.0 >= body.params || !self.facts.is_steady(id) {
            return None;
        }
        Some((self.out.slots.param(self.units, self.unit, self.func, id.0 as usize)?, id))
    }

    fn used(&mut self, id: LocalId, count: i64) {
        let body = self.tree.functions.get(self.func.0 as usize).and_then(|f| f.body.as_ref());
        if body.is_some_and(|b| id.0 < b.params) {
            if let Some(slot) = self.out.slots.param(self.units, self.unit, self.func, id.0 as usize) {
                self.out.accesses.entry(slot).or_default().push(Access { uses: count, indexed: false, fits: vec![] });
            }
        }
    }

    fn compare(&mut self, a: &Expr, b: &Expr) {
        let (mut left, mut right) = (vec![], vec![]);
        self.sources(a, &mut left);
        self.sources(b, &mut right);
        for x in &left {
            for y in &right {
                if let (Source::Node(x), Source::Node(y)) = (x, y) {
                    self.out.compared.push((*x, *y));
                }
            }
        }
    }

    /// Pointers that walk forth while an integer behind them in the list falls: `while (n--) *p++`.
    fn walkers(&mut self, body: &Body) {
        let is_pointer = |n: u32| body.locals.get(n as usize).is_some_and(|l| self.is_pointer(l.ty.ty));
        let falls = |n: &u32| !is_pointer(*n) && self.facts.falls(LocalId(*n));
        let walks = (0..body.params).filter(|n| is_pointer(*n) && self.facts.rises(LocalId(*n)));
        let pairs: Vec<(u32, u32)> = walks.filter_map(|p| Some((p, (p + 1..body.params).find(falls)?))).collect();
        for (p, count) in pairs {
            if let Some(slot) = self.out.slots.param(self.units, self.unit, self.func, p as usize) {
                self.out.hints.entry(slot).or_default().push(Amount::of(count as usize));
            }
        }
    }

    /// A pointer is compared with null.
    fn looked_at(&mut self, e: &Expr) {
        if let Some(id) = read_local(&self.tree.types, pointer(e)).filter(|_| self.is_pointer(e.ty.ty)) {
            self.used(id, -1);
        }
    }

    fn access(&mut self, base: &Expr, index: &Expr) {
        let same = matches!((self.tree.types.as_pointer(base.ty.ty), self.tree.types.as_pointer(pointer(base).ty.ty)),
            (Some(a), Some(b)) if a.target.ty == b.target.ty);
        let Some((slot, _)) = self.parameter(base).filter(|_| same) else { return };
        let limits = self.facts.limits(&self.tree.types, index);
        let fits: Vec<_> = limits.into_iter().filter_map(|limit| self.candidate(limit)).collect();
        // The last of `n` elements, if there are any.
        if let (ExprKind::Binary(BinOp::Sub, n, less), true) =
            (&*crate::facts::number(&self.tree.types, index).kind, fits.is_empty())
        {
            let last = self.facts.exact(&self.tree.types, n).filter(|_| constant(less).is_some_and(|n| n > 0));
            let hint = last.and_then(|n| self.candidate(n));
            self.out.hints.entry(slot).or_default().extend(hint);
        }
        self.out.accesses.entry(slot).or_default().push(Access { uses: -1, indexed: true, fits });
    }

    /// The amount in numbers of the function's own parameters.
    fn candidate(&self, limit: Limit) -> Option<Candidate> {
        let body = self.tree.functions.get(self.func.0 as usize)?.body.as_ref()?;
        limit.with(|id| (id.0 < body.params).then(|| Amount::of(id.0 as usize)))
    }

    fn call(&mut self, callee: &Callee, ty: Ty, args: &[Expr]) {
        let direct = match callee {
            Callee::Direct(f) => Some(f.func),
            _ => None,
        };
        let own = direct.and_then(|f| Some((f, own_function(self.units, self.unit, f)?.0)));
        let Some(prototype) = self.tree.types.as_func(ty) else { return };
        if let Some((f, key)) = own {
            let mut site = CallSite::default();
            for (n, arg) in args.iter().enumerate() {
                if let Some(slot) = self.out.slots.param(self.units, self.unit, f, n) {
                    self.flow(arg, (slot, 0));
                }
                let mut all = vec![];
                if self.is_pointer(arg.ty.ty) {
                    self.sources(arg, &mut all);
                }
                // An object that was moved into has fewer elements.
                if matches!(&*pointer(arg).kind, ExprKind::PtrAdd(..)) {
                    all = vec![Source::Unknown];
                }
                site.sources.push(all);
                site.params.push(self.parameter(arg).map(|(slot, _)| slot));
                let number = self.facts.at_most(&self.tree.types, arg);
                site.numbers.push(number.and_then(|limit| self.candidate(limit)));
            }
            self.out.calls.entry(key).or_default().push(site);
            return;
        }
        for (n, arg) in args.iter().enumerate() {
            let Some(p) = prototype.params.get(n).and_then(|p| self.tree.types.as_pointer(p.ty)) else { continue };
            if !p.target.quals.is_const {
                self.write_behind(arg);
            }
            match p.bounds {
                // It has to be an element, whose fields may get any value.
                Bounds::Thin => {
                    self.leak(arg);
                    self.out.exposed(self.units, self.unit, p.target.ty);
                }
                Bounds::Fat => self.need(arg, Demand { bounds: true, ..Demand::default() }),
                Bounds::Terminated | Bounds::FatTerminated => {
                    self.need(arg, Demand { string: true, ..Demand::default() });
                }
                Bounds::Counted(count) => self.counted_argument(arg, args, self.tree.types.count_expr(count).clone()),
            }
        }
    }

    /// An argument of which a function of the library reads or writes so many bytes.
    fn counted_argument(&mut self, arg: &Expr, args: &[Expr], count: CountExpr) {
        let size = self.tree.types.as_pointer(pointer(arg).ty.ty).and_then(|p| self.tree.types.layout(p.target.ty));
        let size = size.map_or(1, |l| i128::from(l.size.max(1)));
        let number = match count {
            CountExpr::Param(n) => args.get(n as usize),
            _ => None,
        };
        if number.and_then(constant).is_some_and(|n| n <= size) {
            return;
        }
        self.need(arg, Demand { bounds: true, ..Demand::default() });
        // `n * sizeof *p` bytes are `n` elements.
        let size = u64::try_from(size).unwrap_or(1);
        let elements = number.and_then(|n| self.facts.exact(&self.tree.types, n)).and_then(|n| n.divided(size));
        if let Some(candidate) = elements.and_then(|n| self.candidate(n)) {
            if let Some((slot, _)) = self.parameter(arg) {
                self.out.accesses.entry(slot).or_default().push(Access {
                    uses: -1,
                    indexed: true,
                    fits: vec![candidate],
                });
            }
        }
    }
}
