//! What statements do to owned paths.

use mir::effects::{check_places, stmt_places, Access};
use mir::ir::*;
use mir::ty::{owns, place_ty};
use source::Span;
use typing::tree::BorrowKind;

use super::paths::{cursor_over, Found, NodeId, Over, Step};
use super::report::{Finding, Kind, Lost, Verb};
use super::state::{Brought, State, Test, MOVED, NULL, OWNED, UNSET};
use super::{bits_of_constant, is_null, Ownership};
use crate::framework::Point;
use crate::regions::Form;

/// Where findings go.
pub(crate) type Report<'r> = &'r mut dyn FnMut(Finding);

/// Whether the second place may be reached through the first: one index may be another, unless both
/// are constants.
fn may_lead_to(x: &Place, y: &Place) -> bool {
    let may_be_same = |(a, b): (&Proj, &Proj)| match (a.index(), b.index()) {
        (Some(Operand::Const(a)), Some(Operand::Const(b))) => a == b,
        (Some(_), Some(_)) => true,
        (Some(_), None) | (None, Some(_)) | (None, None) => a == b,
    };
    x.base == y.base && x.proj.len() < y.proj.len() && x.proj.iter().zip(&y.proj).all(may_be_same)
}

impl Ownership<'_> {
    /// What a statement does; for a `Dispose` gives the parts that are gone already.
    pub fn step(&self, s: &mut State, at: Point, stmt: &Stmt, report: Report) -> Vec<Vec<Proj>> {
        self.slots_emptied(s, at, stmt, report);
        let parts = self.effect(s, at, stmt, report);
        self.live.flow(s, self.body, at, stmt, self.regions.loan_at.get(&at).copied());
        parts
    }

    fn effect(&self, s: &mut State, at: Point, stmt: &Stmt, report: Report) -> Vec<Vec<Proj>> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(dest, value) => {
                let carried = self.carries(s, value);
                let brought = self.value(s, at, value, span, report);
                if let Some(place) = value.as_address_of() {
                    self.lent_address(dest, place, span, report);
                }
                self.store(s, at, dest, &brought, span, report);
                if let (Some(others), Some(found)) = (carried, self.find(dest).filter(|f| f.exact)) {
                    s.carry(found.node, others);
                }
                self.remember(s, at, dest, value);
                if let Some(&loan) = self.regions.loan_at.get(&at) {
                    self.lends_facts(s, loan);
                }
            }
            StmtKind::Call { dest, callee, args, .. } => {
                if let Callee::Pointer(operand) = callee {
                    self.operand(s, at, operand, span, report);
                }
                for arg in args {
                    self.operand(s, at, arg, span, report);
                }
                self.call_begins(s, at, args, report);
                if let Some(dest) = dest {
                    self.store(s, at, dest, &Brought::unknown(OWNED), span, report);
                    if let Some(local) = dest.as_local() {
                        s.forget(local);
                    }
                }
                self.call_empties(s, at, callee, dest.as_ref(), args);
            }
            StmtKind::Dispose { value, handle, .. } => {
                let parts = self.dispose(s, at, value, span, report);
                if let Some(handle) = handle {
                    self.operand(s, at, handle, span, report);
                }
                return parts;
            }
            StmtKind::StorageLive(local) => {
                s.live.insert(local.0 as usize);
                if let Some(root) = self.paths.root(*local) {
                    s.set(&self.paths, root, UNSET, 0);
                }
            }
            StmtKind::StorageDead(local) => self.ends(s, at, *local, span, report),
            StmtKind::ArenaEnd(handle, _) => self.region_ends(s, at, *handle, span, report),
            StmtKind::Zero(place) => self.zero(s, at, place, span, report),
            StmtKind::Exchange(a, b) => self.swap(s, at, a, b, span, report),
            StmtKind::OpenBegin(_, key, _) => self.open(s, at, key, span, report),
            StmtKind::Close(_, key, _) => {
                if let Some(found) = self.find(key).filter(|f| f.exact) {
                    s.set(&self.paths, found.node, OWNED, 0);
                }
            }
            StmtKind::CursorBegin(cursor, place) => self.cursor(s, at, *cursor, place, span, report),
            StmtKind::UnpackBegin { place, moves, .. } => {
                self.read(s, at, place, span, report);
                if !moves {
                    self.lend(s, at, BorrowKind::Lend, place, span, report);
                }
            }
            // What is read element by element stays where it is.
            StmtKind::CopyElements { to, .. } => {
                stmt_places(&stmt.kind, &mut |place, _| self.read(s, at, place, span, report));
                self.elements_copied(s, to);
            }
            StmtKind::DropSlot(place) if !place.has_deref() => {
                self.conflicts(s, at, place, Verb::Freed, span, report);
            }
            StmtKind::SetTag(place, _) => self.set_tag(s, at, place, span, report),
            StmtKind::Check(check) => {
                check_places(check, &mut |place, _| self.read(s, at, place, span, report));
                self.tag_checked(s, at, check);
            }
            // The rest does what the table says.
            other => stmt_places(other, &mut |place, access| match access {
                Access::Read | Access::Address => self.read(s, at, place, span, report),
                Access::Move => {
                    self.take(s, at, place, span, report);
                }
                Access::Write => self.store(s, at, place, &Brought::unknown(OWNED), span, report),
            }),
        }
        vec![]
    }

    /// What the function leaves empty owns nothing after the call.
    fn call_empties(&self, s: &mut State, at: Point, callee: &Callee, dest: Option<&Place>, args: &[Operand]) {
        let after = Point { stmt: at.stmt + 1, ..at };
        for place in self.known.emptied.by_call(callee, dest, args, &self.resolver) {
            let Some(found) = self.find(&place).filter(|f| f.exact && self.paths.nodes[f.node].owned) else { continue };
            if s.of(found.node) & (MOVED | UNSET) == 0 && self.is_certain(s, after, found.node) {
                s.set(&self.paths, found.node, NULL, 0);
            }
        }
    }

    /// What leaving the function does.
    pub fn leave(&self, s: &mut State, at: Point, term: &Terminator, report: Report) {
        let span = term.span;
        match &term.kind {
            TermKind::Return(operand) => {
                if let Some(operand) = operand {
                    self.operand(s, at, operand, span, report);
                }
                for (local, root) in self.paths.roots().collect::<Vec<_>>() {
                    let n = local.0 as usize;
                    let is_temp = self.body.locals.get(n).is_some_and(|d| d.kind == LocalKind::Temp);
                    if self.lent_roots.contains(n) && local.0 < self.body.params {
                        self.whole(s, root, span, Verb::Exit, report);
                    } else if is_temp {
                        let made = self.body.locals.get(n).map_or(span, |d| d.span);
                        self.lost(s, at, root, made, Lost::Dropped, report);
                    } else if local.0 < self.body.params {
                        self.lost(s, at, root, span, Lost::Exit, report);
                    }
                }
            }
            TermKind::If(operand, ..) | TermKind::Switch(operand, ..) | TermKind::GotoComputed(operand) => {
                self.operand(s, at, operand, span, report);
            }
            TermKind::Goto(_) | TermKind::MissingReturn | TermKind::Unreachable => {}
        }
    }

    pub fn find(&self, place: &Place) -> Option<Found> {
        self.paths.find(&self.program.types, place)
    }

    // ---- reading

    /// What is read through, and the place itself if it is a path, must be there.
    pub fn read(&self, s: &mut State, at: Point, place: &Place, span: Span, report: Report) {
        self.through(s, at, place, span, report);
        if let Some(found) = self.find(place).filter(|f| f.exact) {
            self.here(s, found.node, span, report);
        }
    }

    /// The pointers that the place is reached through must be there.
    pub fn through(&self, s: &State, at: Point, place: &Place, span: Span, report: Report) {
        for index in place.indices().filter_map(Operand::place) {
            self.through(s, at, index, span, report);
        }
        let Some(found) = self.find(place) else { return };
        self.accessed(s, at, found, span, report);
        let mut node = found.node;
        let inside = self.paths.nodes[node].is_union;
        if !found.exact && (inside || place.proj.get(found.steps) == Some(&Proj::Deref)) {
            self.here(s, node, span, report);
        }
        while let Some(parent) = self.paths.nodes[node].parent {
            if self.paths.nodes[node].step == Some(Step::Deref) {
                self.here(s, parent, span, report);
            }
            node = parent;
        }
    }

    fn here(&self, s: &State, node: NodeId, span: Span, report: Report) {
        if s.has(node, MOVED) {
            report(Finding::used(span, node, s.sites[node], s.of(node) != MOVED));
        }
    }

    /// Evaluates an operand; what it brings if it is owned.
    pub fn operand(&self, s: &mut State, at: Point, operand: &Operand, span: Span, report: Report) -> Brought {
        match operand {
            Operand::Const(_) => Brought::unknown(bits_of_constant(operand)),
            Operand::Copy(place) => {
                self.read(s, at, place, span, report);
                Brought::unknown(OWNED)
            }
            Operand::Move(place) => self.take(s, at, place, span, report),
        }
    }

    /// If the value is what an allocation gave that may have failed: the paths that are moved if it
    /// has not failed.
    fn carries(&self, s: &State, value: &Rvalue) -> Option<Vec<NodeId>> {
        if value.as_alloc().is_some_and(|made| made.fallible) {
            return Some(vec![]);
        }
        match value.made_of()? {
            (Operand::Move(from), Way::Same | Way::Bits | Way::Word(Part::Ptr) | Way::Counted) => {
                self.find(from).filter(|f| f.exact).and_then(|f| s.carried(f.node))
            }
            (Operand::Copy(_) | Operand::Const(_), _)
            | (_, Way::Word(Part::Lo | Part::Hi | Part::Type) | Way::Number | Way::Typed)
            | (_, Way::Fat | Way::Moved | Way::Retained) => None,
        }
    }

    fn value(&self, s: &mut State, at: Point, value: &Rvalue, span: Span, report: Report) -> Brought {
        if let Some((kind, place, _)) = value.as_borrow() {
            self.lend(s, at, kind, place, span, report);
        } else if let Some(place) = value.as_address_of() {
            self.through(s, at, place, span, report);
        } else if let Some(place) = value.as_tag().or(value.as_va_arg().map(|(list, _)| list)) {
            self.read(s, at, place, span, report);
        }
        // The pointer whose address it has comes first.
        let mut first = None;
        mir::effects::rvalue_operands(value, &mut |operand| {
            let brought = self.operand(s, at, operand, span, report);
            first.get_or_insert(brought);
        });
        match (first, value.same_address(), value.as_alloc()) {
            (Some(brought), Some(_), _) => brought,
            (_, None, Some(_)) => Brought::fresh(),
            (_, _, None) | (None, Some(_), Some(_)) => Brought::unknown(OWNED),
        }
    }

    /// The temporary or variable `dest` now says something about a path.
    fn remember(&self, s: &mut State, at: Point, dest: &Place, value: &Rvalue) {
        let Some(local) = dest.as_local() else { return };
        s.forget(local);
        if self.paths.root(local).is_some() || self.body.locals.get(local.0 as usize).is_none_or(|d| d.address_taken) {
            return;
        }
        let path = |operand: &Operand| match operand {
            Operand::Copy(place) => self.tested(place),
            _ => None,
        };
        let known = |s: &State, operand: &Operand| {
            let from = crate::framework::whole_local(operand)?;
            s.tests.iter().copied().find(|t| matches!(t, Test::Copy(l, _) | Test::Truth(l, _, _) if *l == from))
        };
        let truth = |s: &State, operand: &Operand, same: bool| match (path(operand), known(s, operand)) {
            (Some(node), _) | (None, Some(Test::Copy(_, node))) => Some(Test::Truth(local, node, same)),
            (None, Some(Test::Truth(_, node, when))) => Some(Test::Truth(local, node, when == same)),
            _ => None,
        };
        let borrowed = value.as_borrow().filter(|(kind, ..)| kind.is_look()).map(|(_, place, _)| place);
        let test = if let Some(place) = borrowed {
            self.tested(place).map(|node| Test::Copy(local, node))
        } else if let Some(a) = value.same_bits().or(value.as_pointer_word()) {
            match (path(a), known(s, a)) {
                (Some(node), _) | (None, Some(Test::Copy(_, node))) => Some(Test::Copy(local, node)),
                (None, Some(Test::Truth(_, node, same))) => Some(Test::Truth(local, node, same)),
                _ => None,
            }
        } else if let Some((a, not_zero)) = value.tested() {
            truth(s, a, not_zero)
        } else if let Some((a, ty)) = value.as_numeric() {
            // A conversion says something about the pointer only if it keeps all of its bits.
            let keeps = mir::ty::keeps_all_bits(self.program, self.body, a, ty) || source::broken!(33);
            truth(s, a, true).filter(|_| keeps)
        } else if let Some((op @ (BinOp::Eq | BinOp::Ne), a, b, _)) = value.as_binary() {
            match (is_null(a), is_null(b)) {
                (false, true) => truth(s, a, op == BinOp::Ne),
                (true, false) => truth(s, b, op == BinOp::Ne),
                _ => None,
            }
        } else {
            None
        };
        if let Some(test) = test {
            self.learn(s, at, test);
        }
        self.remember_tag(s, at, local, value);
    }

    // ---- moving

    /// Moves a place out; what it brings.
    fn take(&self, s: &mut State, at: Point, place: &Place, span: Span, report: Report) -> Brought {
        self.through(s, at, place, span, report);
        let Some(found) = self.find(place).filter(|f| f.exact) else {
            if self.owns_place(place) {
                report(Finding::slot(span, place.clone(), Verb::Moved));
            }
            return Brought::unknown(OWNED);
        };
        let node = found.node;
        self.goes(s, at, place, node, span, Verb::Moved, report);
        if s.of(node) & MOVED != 0 {
            // Reported: what follows from it is not.
            return Brought::unknown(OWNED);
        }
        self.whole(s, node, span, Verb::Moved, report);
        let mut brought = s.brought(&self.paths, node);
        brought.bits &= OWNED | NULL;
        brought.parts.iter_mut().filter(|(_, bits, _)| bits & MOVED != 0).for_each(|part| part.1 = OWNED);
        s.gone(&self.paths, node, self.site(at));
        brought
    }

    /// Whether the path is a pointer that is null, so that there is nothing below it.
    fn is_null_pointer(&self, s: &State, node: NodeId) -> bool {
        s.of(node) == NULL && self.program.types.as_pointer(self.paths.nodes[node].ty).is_some()
    }

    /// Whether there is nothing in the path: it is null, or a struct of such.
    fn is_nothing(&self, s: &State, node: NodeId) -> bool {
        let is_part = |&&child: &&NodeId| self.paths.step(child) != Some(Step::Deref);
        s.of(node) == NULL && self.paths.children(node).iter().filter(is_part).all(|&child| self.is_nothing(s, child))
    }

    /// Whether a path that is given up is here, not lent to this function, and not lent away. What
    /// is null is moved once, like all else: nothing but a test says that it is null, and what may
    /// not be null on other paths of control has loans that hold on this one as well.
    #[allow(clippy::too_many_arguments)]
    fn goes(&self, s: &State, at: Point, place: &Place, node: NodeId, span: Span, verb: Verb, report: Report) {
        self.here(s, node, span, report);
        if s.has(node, MOVED) {
            return;
        }
        if self.is_lent_root(node) {
            report(Finding::lent_root(span, node, verb));
        }
        self.conflicts(s, at, place, verb, span, report);
    }

    pub fn is_lent_root(&self, node: NodeId) -> bool {
        let root = self.paths.nodes[node].root.0 as usize;
        self.lent_roots.contains(root) && !self.paths.is_behind_pointer(node)
    }

    /// Nothing below the path may be missing.
    pub fn whole(&self, s: &State, node: NodeId, span: Span, verb: Verb, report: Report) {
        if let Some(part) = self.missing(s, node) {
            report(Finding::not_whole(span, node, part, s.sites[part], verb));
        }
    }

    /// The first part below the path that was moved out.
    pub fn missing(&self, s: &State, node: NodeId) -> Option<NodeId> {
        for &child in &self.paths.nodes[node].children {
            let bits = s.of(child);
            if bits & MOVED != 0 {
                return Some(child);
            }
            if self.is_null_pointer(s, child) {
                continue;
            }
            if let Some(part) = self.missing(s, child) {
                return Some(part);
            }
        }
        None
    }

    fn dispose(&self, s: &mut State, at: Point, value: &Operand, span: Span, report: Report) -> Vec<Vec<Proj>> {
        let place = match value {
            Operand::Move(place) => place,
            other => {
                self.operand(s, at, other, span, report);
                return vec![];
            }
        };
        self.through(s, at, place, span, report);
        let Some(found) = self.find(place).filter(|f| f.exact) else {
            if self.owns_place(place) {
                report(Finding::slot(span, place.clone(), Verb::Freed));
            }
            return vec![];
        };
        let node = found.node;
        self.goes(s, at, place, node, span, Verb::Freed, report);
        if self.paths.nodes[node].is_union && self.is_nothing(s, node) {
            return vec![];
        }
        let mut parts = vec![];
        if s.of(node) & MOVED == 0 {
            self.gone_parts(s, node, node, span, &mut parts, report);
        }
        s.gone(&self.paths, node, self.site(at));
        parts
    }

    /// The parts below that are gone on every path of control; on some only is a mistake.
    fn gone_parts(&self, s: &State, top: NodeId, node: NodeId, span: Span, parts: &mut Vec<Vec<Proj>>, report: Report) {
        for &child in &self.paths.nodes[node].children {
            let bits = s.of(child);
            if bits & MOVED != 0 {
                if bits & OWNED != 0 && !self.all_gone(s, child) {
                    report(Finding::not_whole(span, top, child, s.sites[child], Verb::Freed));
                }
                let mut steps = self.paths.steps_between(top, child);
                if steps.first() == Some(&Proj::Deref) {
                    steps.remove(0);
                }
                parts.push(steps);
            } else if !self.is_null_pointer(s, child) {
                self.gone_parts(s, top, child, span, parts, report);
            }
        }
    }

    /// Whether a struct owns nothing any more: each part that could own is a path, and is not there
    /// on any path of control.
    fn all_gone(&self, s: &State, node: NodeId) -> bool {
        let node = &self.paths.nodes[node];
        let types = &self.program.types;
        let Some(id) = types.as_record(node.ty).filter(|_| !node.is_union) else { return false };
        let Some(fields) = &types.record(id).fields else { return false };
        fields.iter().enumerate().filter(|(_, field)| owns(types, field.ty.ty)).all(|(n, _)| {
            let step = Some(Step::Field(n as u32));
            let part = node.children.iter().find(|&&child| self.paths.nodes[child].step == step);
            part.is_some_and(|&part| s.of(part) & (OWNED | UNSET) == 0 || self.all_gone(s, part))
        })
    }

    // ---- storing

    fn store(&self, s: &mut State, at: Point, dest: &Place, brought: &Brought, span: Span, report: Report) {
        self.through(s, at, dest, span, report);
        self.tag_stored(s, dest);
        let Some(found) = self.find(dest).filter(|f| f.exact) else {
            if self.keeps_lent_value(dest, span, Verb::Assigned, report) {
                self.conflicts(s, at, dest, Verb::Assigned, span, report);
                self.stored_in_content(s, dest);
            }
            return;
        };
        let node = found.node;
        let at_root = self.paths.nodes[node].parent.is_none();
        if !self.paths.nodes[node].owned {
            if at_root {
                self.advance(s, node, span, report);
            }
            return;
        }
        if self.is_plain_member(dest, node) {
            // Its tag was set or tested before: nothing else is there.
            self.conflicts(s, at, dest, Verb::Assigned, span, report);
            s.set(&self.paths, node, NULL, 0);
            self.part_set(s, node);
            return;
        }
        if s.of(node) != UNSET {
            if self.is_lent_root(node) {
                report(Finding::lent_root(span, node, Verb::Assigned));
            }
            self.conflicts(s, at, dest, Verb::Assigned, span, report);
            self.lost(s, at, node, span, Lost::Overwritten, report);
        }
        s.receive(&self.paths, node, brought);
        self.part_set(s, node);
    }

    /// After a part of an aggregate that was never set is set, the rest of it stays as it was.
    pub fn part_set(&self, s: &mut State, node: NodeId) {
        let Some(parent) = self.paths.nodes[node].parent else { return };
        if s.of(parent) == UNSET && self.paths.nodes[node].step != Some(Step::Deref) {
            // Aggregates are zeroed where they are declared, or assigned part by part.
            s.set_one(parent, NULL, 0);
        }
    }

    fn zero(&self, s: &mut State, at: Point, place: &Place, span: Span, report: Report) {
        let Some(found) = self.find(place).filter(|f| f.exact) else {
            // A member of a union in an array, after another one was chosen: what it held is freed.
            if self.owns_place(place) && self.keeps_lent_value(place, span, Verb::Assigned, report) {
                self.conflicts(s, at, place, Verb::Assigned, span, report);
            }
            return;
        };
        if !self.paths.nodes[found.node].owned {
            return;
        }
        if s.of(found.node) & (UNSET | MOVED) == 0 {
            self.conflicts(s, at, place, Verb::Assigned, span, report);
            self.lost(s, at, found.node, span, Lost::Overwritten, report);
        }
        s.set(&self.paths, found.node, NULL, 0);
    }

    fn swap(&self, s: &mut State, at: Point, a: &Place, b: &Place, span: Span, report: Report) {
        let (of_a, of_b) = (self.resolver.place(a), self.resolver.place(b));
        if may_lead_to(&of_a, &of_b) || may_lead_to(&of_b, &of_a) {
            report(Finding { span, kind: Kind::SwapInside });
            return;
        }
        let mut sides = [None, None];
        for (place, side) in [a, b].into_iter().zip(&mut sides) {
            self.through(s, at, place, span, report);
            let Some(found) = self.find(place).filter(|f| f.exact && self.paths.nodes[f.node].owned) else {
                if self.keeps_lent_value(place, span, Verb::Swapped, report) {
                    self.conflicts(s, at, place, Verb::Swapped, span, report);
                    self.stored_in_content(s, place);
                }
                continue;
            };
            let node = found.node;
            self.here(s, node, span, report);
            if self.is_lent_root(node) {
                report(Finding::lent_root(span, node, Verb::Swapped));
            }
            self.conflicts(s, at, place, Verb::Swapped, span, report);
            self.whole(s, node, span, Verb::Swapped, report);
            *side = Some((node, s.brought(&self.paths, node)));
        }
        let [a, b] = sides;
        for (to, from) in [(&a, &b), (&b, &a)] {
            if let Some((node, _)) = to {
                let mut brought = from.as_ref().map_or(Brought::unknown(OWNED), |(_, brought)| brought.clone());
                if brought.bits & (OWNED | NULL) == 0 {
                    brought = Brought::unknown(OWNED);
                }
                brought.bits &= OWNED | NULL;
                s.receive(&self.paths, *node, &brought);
            }
        }
    }

    fn open(&self, s: &mut State, at: Point, key: &Place, span: Span, report: Report) {
        self.through(s, at, key, span, report);
        let Some(found) = self.find(key).filter(|f| f.exact) else {
            report(Finding::slot(span, key.clone(), Verb::Opened));
            return;
        };
        self.here(s, found.node, span, report);
        if s.of(found.node) & MOVED == 0 {
            self.conflicts(s, at, key, Verb::Opened, span, report);
        }
        s.set(&self.paths, found.node, MOVED, self.site(at));
    }

    // ---- cursors

    fn cursor(&self, s: &mut State, at: Point, cursor: Local, place: &Place, span: Span, report: Report) {
        self.through(s, at, place, span, report);
        let mut content = Brought::unknown(OWNED);
        if let Some(found) = self.find(place).filter(|f| f.exact) {
            self.here(s, found.node, span, report);
            let bits = s.of(found.node) & (OWNED | NULL);
            if self.program.types.as_pointer(self.paths.nodes[found.node].ty).is_some() {
                content = Brought::unknown(bits);
            } else {
                // The parts of a struct are what they were.
                content = s.brought(&self.paths, found.node);
                content.bits = if bits == 0 { OWNED } else { bits };
                let gone = |part: &&mut (Vec<_>, u8, bool)| part.1 & (OWNED | NULL) == 0 || part.1 & MOVED != 0;
                content.parts.iter_mut().filter(gone).for_each(|part| part.1 = OWNED);
            }
        }
        match cursor_over(self.program, self.body, &self.resolver, place) {
            Over::Path => {}
            Over::Content => report(Finding::slot(span, place.clone(), Verb::Borrowed)),
            Over::Slot(_) => {
                let ty = place_ty(self.program, self.body, place).ok();
                if ty.is_some_and(|q| self.program.types.needs_init(q.ty)) {
                    report(Finding::slot(span, place.clone(), Verb::TakenOut));
                }
            }
        }
        match self.regions.loan_at.get(&at).and_then(|&n| Some((n, self.regions.loans.get(n)?))) {
            // A slot: the path that it is reached through.
            Some((number, loan)) if loan.form != Form::Cursor => {
                self.keeps_lent_value(place, span, Verb::Lent(BorrowKind::Slot), report);
                self.conflicts(s, at, place, Verb::Lent(BorrowKind::Slot), span, report);
                self.stored_in_content(s, place);
                self.lends_facts(s, number);
                if let Some(found) = self.find(&loan.place).filter(|f| !f.slot) {
                    self.loan_conflicts(s, at, loan.kind, found.node, span, report);
                }
            }
            _ => self.lend(s, at, BorrowKind::Slot, place, span, report),
        }
        if let Some(&node) = self.paths.root(cursor).and_then(|root| self.paths.nodes[root].children.first()) {
            s.receive(&self.paths, node, &content);
        }
    }

    /// A cursor advances: what it was at is whole again.
    fn advance(&self, s: &mut State, root: NodeId, span: Span, report: Report) {
        if let Some(&content) = self.paths.nodes[root].children.first() {
            if s.has(content, MOVED) {
                report(Finding::not_whole(span, root, content, s.sites[content], Verb::Advanced));
            } else {
                self.whole(s, content, span, Verb::Advanced, report);
            }
            s.set(&self.paths, content, OWNED, 0);
        }
    }

    // ---- ends

    fn ends(&self, s: &mut State, at: Point, local: Local, span: Span, report: Report) {
        self.storage_ends(s, at, local, span, report);
        if let Some(root) = self.paths.root(local) {
            if let Some(place) = self.cursors.get(&local) {
                self.advance(s, root, span, report);
                self.cursor_ends(s, at, local, span, report);
                if let Some(found) = self.find(place).filter(|f| f.exact) {
                    s.set(&self.paths, found.node, OWNED, 0);
                }
            } else if self.lent_roots.contains(local.0 as usize) {
                self.whole(s, root, span, Verb::Exit, report);
            } else {
                self.lost(s, at, root, span, Lost::Scope, report);
            }
            s.set(&self.paths, root, UNSET, 0);
        }
        s.live.remove(local.0 as usize);
    }

    /// What is still owned in the path (not behind its pointer) is lost here.
    pub fn lost(&self, s: &State, at: Point, node: NodeId, span: Span, lost: Lost, report: Report) {
        if s.has(node, OWNED) && self.owes(node) {
            let some = s.has(node, MOVED);
            report(Finding::leak(span, node, lost, some, at));
            return;
        }
        for &child in &self.paths.nodes[node].children {
            if self.paths.nodes[child].step != Some(Step::Deref) {
                self.lost(s, at, child, span, lost, report);
            }
        }
    }
}
