//! Statements and control flow.

use crate::builder::{Binding, Frame, Jump, Lower, Switch};
use crate::effects;
use crate::init::Before;
use crate::place::Use;
use crate::scopes::{Item, LiveNode};
use mir::ir::{self, *};
use source::Span;
use typing::tree::{self, Bind, Expr, ExprKind, Init, LabelId, LocalId};
use typing::tree::{Stmt, StmtKind as Tree};
use typing::walk;

impl<'t> Lower<'t, '_> {
    /// The statements of a block, in the current scope.
    pub fn block_stmts(&mut self, block: &'t tree::Block) {
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
    }

    /// A statement.
    pub fn stmt(&mut self, s: &'t Stmt) {
        let saved = self.enter(s.span, s.is_unsafe);
        for e in effects::own_exprs(s) {
            self.declare_unnamed(e);
        }
        for e in effects::waiting_in(s) {
            if self.type_has_slots(e.ty.ty) {
                let local = self.unnamed_value(e);
                self.declare_empty(local);
            }
        }
        match &s.kind {
            Tree::Empty => {}
            Tree::Expr(e) => self.effect(e),
            Tree::Declare(local, init) => self.declare(*local, init.as_ref()),
            Tree::Block(block) if block.span == Span::NONE => self.block_stmts(block),
            Tree::Block(block) => {
                let scope = self.open_scope(block.span);
                if let Some(region) = block.region {
                    self.place_region(region);
                }
                self.nesting += 1;
                self.block_stmts(block);
                self.nesting -= 1;
                self.close_scope(scope);
            }
            Tree::If(..) => self.if_chain(s),
            Tree::While(c, body) => {
                let (head, inside, exit) = (self.new_block(), self.new_block(), self.new_block());
                self.goto_and_start(head, head);
                self.branch(c, inside, exit);
                self.start(inside);
                self.loop_body(body, exit, head);
                self.goto_and_start(head, exit);
            }
            Tree::DoWhile(body, c) => {
                let (head, next, exit) = (self.new_block(), self.new_block(), self.new_block());
                self.goto_and_start(head, head);
                self.loop_body(body, exit, next);
                self.goto_and_start(next, next);
                self.branch(c, head, exit);
                self.start(exit);
            }
            Tree::For(start, c, step, body) => self.for_loop(s.span, start, c.as_ref(), step.as_ref(), body),
            Tree::Switch(e, body) => {
                let op = self.operand(e);
                let op = self.freeze(op);
                self.switch(op, Switch::default(), body);
            }
            Tree::SwitchTagged(e, body) => {
                let access = self.place(e, Use::Read);
                let int = self.common().int;
                let tag = self.temp_of(Rvalue::Tag(access.place.clone()), int);
                self.switch(tag, Switch { place: Some((access.place, access.qty)), ..Switch::default() }, body);
            }
            Tree::SwitchEnd(e, body) => {
                let place = self.place(e, Use::Read).place;
                let state = self.end_state(&place);
                self.switch(state, Switch { end: Some(place), ..Switch::default() }, body);
            }
            Tree::Case(lo, hi, inner) => {
                let block = self.case_label();
                let live = self.live;
                if let Some(switch) = self.switches.last_mut() {
                    switch.cases.push((*lo, *hi, block, live));
                }
                self.stmt(inner);
            }
            Tree::Default(inner) => {
                let block = self.case_label();
                let live = self.live;
                if let Some(switch) = self.switches.last_mut() {
                    switch.default = Some((block, live));
                }
                self.stmt(inner);
            }
            Tree::CaseMember(member, binding, inner) => {
                self.case_member(*member, *binding);
                self.stmt(inner);
            }
            Tree::Break => {
                let target = self.frames.last().map(|f| (f.on_break, f.live));
                self.jump(target);
            }
            Tree::Continue => {
                let frame = self.frames.iter().rev().find_map(|f| f.on_continue.map(|b| (b, f.live)));
                self.jump(frame);
            }
            Tree::Return(value) => self.return_(value.as_ref()),
            Tree::Goto(label) => {
                let jump =
                    Jump { block: self.current, live: self.live, scope: self.scope, label: label.0, span: self.span };
                self.gotos.push(jump);
                self.current = self.new_block();
            }
            Tree::GotoComputed(e) => {
                let op = self.operand(e);
                self.terminate(TermKind::GotoComputed(op));
            }
            // A deferred statement that is emitted again: no jump enters it.
            Tree::Label(label, inner) if self.labels.get(label.0 as usize).is_some_and(|l| l.1.is_some()) => {
                self.stmt(inner);
            }
            Tree::Label(label, inner) => {
                let block = self.label_block(*label);
                let live = self.live;
                if let Some(slot) = self.labels.get_mut(label.0 as usize) {
                    slot.1 = Some(live);
                }
                self.goto_and_start(block, block);
                self.stmt(inner);
            }
            Tree::Defer(inner) => {
                self.push_live(Item::Defer(inner));
            }
            Tree::Swap(a, b) => self.swap(a, b),
            Tree::CountGroup(list) => self.count_group(list),
            Tree::Asm(asm) => self.asm(asm),
            Tree::Arena(handle, region) => self.arena(*handle, *region),
            Tree::Open(handle, key, region) => self.open(*handle, key, *region),
            Tree::Cursor(cursor, place) => self.cursor(*cursor, place),
            Tree::Unpack { place, regions, bindings, moves } => self.unpack(place, regions, bindings, *moves),
            Tree::Channel { contract, state, imp, exp } => self.channel(*contract, *state, *imp, *exp),
            Tree::Send { end, message, args } => self.send(end, *message, args),
            Tree::Receive { end, message, binds } => self.receive(end, *message, binds),
            Tree::SetAdd { set, end, value } => self.set_add(set, end, value.as_ref()),
            Tree::Select { head, cases, default } => self.select(*head, cases, default.as_ref()),
            Tree::VaStart(e) => {
                let place = self.place(e, Use::Read).place;
                self.emit(StmtKind::VaStart(place));
            }
            Tree::VaEnd(e) => {
                let place = self.place(e, Use::Read).place;
                self.emit(StmtKind::VaEnd(place));
            }
            Tree::VaCopy(a, b) => {
                let first = self.prepare(a, effects::has_effects(b));
                let from = self.place(b, Use::Read).place;
                let to = self.finish(first, Use::Read).place;
                self.emit(StmtKind::VaCopy(to, from));
            }
        }
        self.leave(saved);
    }

    fn declare(&mut self, id: LocalId, init: Option<&'t Init>) {
        let local = self.local(id);
        self.declare_live(local);
        self.keep_slots(local);
        let Some(tree_local) = self.tree.locals.get(id.0 as usize) else { return };
        let ty = tree_local.ty;
        match init {
            None if self.program.types.as_end_set(ty.ty).is_some() => {
                self.emit(StmtKind::SetNew(Place::local(local)));
            }
            None => self.zero_uninitialised(local),
            Some(init) => {
                // What uses the variable's address before it is whole, or leaves in the middle,
                // finds zeros.
                let (own, slots) = (walk::own_use(id, init) != walk::OwnUse::None, self.has_slots(local));
                let early = own || slots && walk::may_leave(init);
                let early = early && self.is_aggregate(ty.ty) && !self.body.unchecked;
                if early {
                    self.fill_zero(Place::local(local));
                }
                if early && own && slots && self.program.types.as_record(ty.ty).is_some() {
                    // What the initialiser itself stores there is freed.
                    return self.replace_slots(local, ty, init);
                }
                let before = match (early, own) {
                    (false, _) => Before::Unknown,
                    (true, false) => Before::Zeros,
                    (true, true) => Before::Stores,
                };
                self.init_place(&Place::local(local), ty, init, before);
            }
        }
    }

    /// `if` with all its `else if`s, as one loop: the chain may be long.
    fn if_chain(&mut self, first: &'t Stmt) {
        let join = self.new_block();
        let mut at = first;
        while let Tree::If(c, then, otherwise) = &at.kind {
            let saved = self.enter(at.span, at.is_unsafe);
            let yes = self.new_block();
            let no = if otherwise.is_some() { self.new_block() } else { join };
            self.branch(c, yes, no);
            self.start(yes);
            self.sub_stmt(then);
            self.end_branch(then, join, no);
            self.leave(saved);
            match otherwise {
                None => break,
                Some(next) => match &next.kind {
                    // A condition with locals of its own is a statement in its branch.
                    Tree::If(c, ..) if self.unnamed_in(c).is_empty() => at = next,
                    _ => {
                        self.sub_stmt(next);
                        self.end_branch(next, join, join);
                        return;
                    }
                },
            }
        }
        self.start(join);
    }

    /// The jump after a branch has the place of its closing brace, where what is lost there is
    /// reported.
    fn end_branch(&mut self, branch: &Stmt, target: BlockId, next: BlockId) {
        let end = match &branch.kind {
            Tree::Block(block) => Span { lo: block.span.hi.saturating_sub(1).max(block.span.lo), ..block.span },
            _ => branch.span,
        };
        let saved = self.enter(end, false);
        self.goto_and_start(target, next);
        self.leave(saved);
    }

    fn loop_body(&mut self, body: &'t Stmt, on_break: BlockId, on_continue: BlockId) {
        self.frames.push(Frame { on_break, on_continue: Some(on_continue), live: self.live });
        self.sub_stmt(body);
        self.frames.pop();
    }

    /// What evaluating the expression holds in unnamed locals.
    fn unnamed_in(&self, e: &'t Expr) -> Vec<effects::Unnamed<'t>> {
        let mut found = effects::unnamed(e);
        found.retain(|held| match held {
            effects::Unnamed::Local(_) => true,
            effects::Unnamed::Value(e) => self.type_has_slots(e.ty.ty),
        });
        found
    }

    /// Brings the unnamed locals of an expression to life, before its statement and so on every
    /// path through it. Their slots are empty until then, as not every path fills them.
    pub fn declare_unnamed(&mut self, e: &'t Expr) {
        for held in self.unnamed_in(e) {
            let local = match held {
                effects::Unnamed::Local(id) => self.local(id),
                effects::Unnamed::Value(e) => self.unnamed_value(e),
            };
            self.declare_empty(local);
        }
    }

    fn declare_empty(&mut self, local: Local) {
        self.declare_live(local);
        self.clear_slots(local);
        self.keep_slots(local);
    }

    /// The variable for a value that a part is used of.
    fn unnamed_value(&mut self, e: &'t Expr) -> Local {
        let local = Local(self.body.locals.len() as u32);
        let decl = LocalDecl { kind: LocalKind::Var, ..LocalDecl::temp(e.ty.ty, self.scope, e.span) };
        self.body.locals.push(decl);
        self.unnamed.insert(std::ptr::from_ref(e), local);
        local
    }

    /// A statement that is a part of another: as if in braces.
    pub fn sub_stmt(&mut self, s: &'t Stmt) {
        if matches!(s.kind, Tree::Block(_)) {
            return self.stmt(s);
        }
        let before = self.live;
        let outer = self.scope;
        self.nesting += 1;
        self.stmt(s);
        self.nesting -= 1;
        if self.live == before {
            return;
        }
        self.unwind(before);
        let scope = ScopeId(self.body.scopes.len() as u32);
        self.body.scopes.push(Scope { parent: Some(outer), span: s.span });
        while self.live != before && self.live != 0 {
            let LiveNode { item, parent, .. } = self.lives[self.live];
            if let Item::Local(local) = item {
                self.put_in_scope(local, scope);
            }
            self.live = parent;
        }
    }

    fn put_in_scope(&mut self, local: Local, scope: ScopeId) {
        if let Some(decl) = self.body.locals.get_mut(local.0 as usize) {
            decl.scope = scope;
        }
    }

    fn for_loop(&mut self, span: Span, start: &'t [Stmt], c: Option<&'t Expr>, step: Option<&'t Expr>, body: &'t Stmt) {
        let scope = self.open_scope(span);
        for s in start {
            self.stmt(s);
        }
        let (head, inside, next, exit) = (self.new_block(), self.new_block(), self.new_block(), self.new_block());
        self.goto_and_start(head, head);
        match c {
            Some(c) => self.branch(c, inside, exit),
            None => self.set_term(TermKind::Goto(inside)),
        }
        self.start(inside);
        self.loop_body(body, exit, next);
        self.goto_and_start(next, next);
        if let Some(step) = step {
            self.effect(step);
        }
        self.goto_and_start(head, exit);
        self.close_scope(scope);
    }

    fn jump(&mut self, target: Option<(BlockId, usize)>) {
        match target {
            Some((block, live)) => {
                self.unwind(live);
                self.terminate(TermKind::Goto(block));
            }
            None => self.unreachable(),
        }
    }

    fn return_(&mut self, value: Option<&'t Expr>) {
        let result = match value {
            Some(e) if self.is_void(e.ty.ty) || self.func_ty().is_some_and(|f| self.is_void(f.ret)) => {
                self.effect(e);
                None
            }
            Some(e) => {
                let op = self.direct(e);
                // What is taken out of an element or field is taken by a statement.
                let taken = matches!(&op, Operand::Move(place) if place.as_local().is_none());
                Some(if taken || self.anything_live() { self.freeze(op) } else { op })
            }
            None => None,
        };
        self.unwind(0);
        self.terminate(TermKind::Return(result));
    }

    /// What happens after the last statement of the function.
    pub fn function_end(&mut self) {
        let end = self.tree.end;
        let saved = self.enter(end, false);
        self.unwind(0);
        let ret = self.func_ty().map(|f| f.ret);
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let is_main = function.is_some_and(|f| f.name.as_str() == "main");
        let kind = match ret {
            Some(ty) if !self.is_void(ty) => match self.zero(ty) {
                Some(zero) if is_main || self.body.unchecked => TermKind::Return(Some(zero)),
                _ => TermKind::MissingReturn,
            },
            _ => TermKind::Return(None),
        };
        self.set_term(kind);
        self.leave(saved);
    }

    // ---- switch

    fn switch(&mut self, op: Operand, over: Switch, body: &'t Stmt) {
        let head = self.current;
        let exit = self.new_block();
        let outer_live = self.live;
        let is_tagged = over.place.is_some();
        self.frames.push(Frame { on_break: exit, on_continue: None, live: outer_live });
        self.switches.push(over);
        // Before the first label nothing runs.
        self.current = self.new_block();
        self.sub_stmt(body);
        self.goto_and_start(exit, exit);
        self.frames.pop();
        let Switch { cases, default, end, .. } = self.switches.pop().unwrap_or_default();
        if let Some(end) = end {
            self.start(head);
            self.end_edges(op, end, &cases, default);
            self.start(exit);
            return;
        }
        let mut edges = vec![];
        for (lo, hi, block, live) in cases {
            if lo > hi {
                continue;
            }
            let target = self.case_edge(block, live);
            edges.push((lo, hi, target));
        }
        let otherwise = match default {
            Some((block, live)) => self.case_edge(block, live),
            None if is_tagged => {
                // Exhaustive: the checker has made sure of it.
                let never = self.new_block();
                self.start(never);
                self.set_term(TermKind::Unreachable);
                never
            }
            None => exit,
        };
        self.start(head);
        self.set_term(TermKind::Switch(op, edges, otherwise));
        self.start(exit);
    }

    /// The edge from the head of a `switch` to a label: brings to life what it jumps past.
    fn case_edge(&mut self, block: BlockId, live: usize) -> BlockId {
        if live == self.live {
            return block;
        }
        let edge = self.new_block();
        self.start(edge);
        self.travel(live);
        self.set_term(TermKind::Goto(block));
        edge
    }

    /// Starts the block of a label; the one before falls through.
    fn case_label(&mut self) -> BlockId {
        self.end_binding();
        let block = self.new_block();
        self.goto_and_start(block, block);
        block
    }

    /// The variable that the last label bound is gone, unless something else was declared after
    /// it. A label in a statement that stands after that label, such as an `if`, ends nothing: the
    /// variable is still there where that statement ends, so a jump to the label brings it to life.
    fn end_binding(&mut self) {
        let nesting = self.nesting;
        let Some(switch) = self.switches.last_mut() else { return };
        if let Some(binding) = switch.binding.take_if(|binding| binding.nesting == nesting) {
            if binding.live == self.live {
                self.unwind(binding.before);
                self.live = binding.before;
            }
        }
    }

    fn case_member(&mut self, member: u32, binding: Option<(LocalId, Bind)>) {
        self.end_binding();
        let block = self.new_block();
        match binding {
            // Nothing falls into a label that binds.
            Some(_) => {
                self.impossible();
                self.start(block);
            }
            None => self.goto_and_start(block, block),
        }
        let live = self.live;
        let mut place = None;
        if let Some(switch) = self.switches.last_mut() {
            switch.cases.push((i128::from(member), i128::from(member), block, live));
            place = switch.place.clone();
        }
        if let (Some((id, bind)), Some((place, _))) = (binding, place) {
            let local = self.local(id);
            let before = self.live;
            self.declare_live(local);
            let payload = place.then(Proj::Field(member));
            let span = self.body.locals.get(local.0 as usize).map_or(self.span, |decl| decl.span);
            let saved = self.enter(span, self.is_unsafe);
            let value = match bind {
                Bind::Copy => Rvalue::Use(Operand::Copy(payload)),
                Bind::Move => self.move_place(payload, self.local_ty(local)),
                Bind::Borrow(kind, ty) => Rvalue::Borrow(kind, payload, ty),
            };
            self.assign(Place::local(local), value);
            if bind == Bind::Move {
                self.keep_slots(local);
            }
            self.leave(saved);
            let binding = Binding { before, live: self.live, nesting: self.nesting };
            if let Some(switch) = self.switches.last_mut() {
                switch.binding = Some(binding);
            }
        }
    }

    // ---- labels

    /// The block of a label.
    pub fn label_block(&mut self, label: LabelId) -> BlockId {
        if let Some(&(Some(block), _)) = self.labels.get(label.0 as usize) {
            return block;
        }
        let block = self.new_block();
        if let Some(slot) = self.labels.get_mut(label.0 as usize) {
            slot.0 = Some(block);
        }
        block
    }

    /// Lists the labels if the address of one is taken, in code or by a static local.
    pub fn address_labels(&mut self, function: u32) {
        let in_code = self.body.blocks.iter().flat_map(|b| &b.stmts).any(|s| {
            s.kind.value().is_some_and(|value| value.as_label().is_some())
                || s.kind.as_asm().is_some_and(|asm| !asm.labels.is_empty())
        });
        let in_statics =
            self.program.globals.iter().any(|g| {
                g.owner.is_some_and(|owner| owner.0 == function) && g.init.as_ref().is_some_and(mentions_label)
            });
        if !in_code && !in_statics {
            return;
        }
        for (i, name) in self.tree.labels.iter().enumerate() {
            let block = self.label_block(LabelId(i as u32));
            self.body.address_labels.push((*name, block));
        }
    }

    // ---- the rest

    fn swap(&mut self, a: &'t Expr, b: &'t Expr) {
        let first = self.prepare(a, effects::has_effects(b));
        let second = self.prepare(b, false);
        let x = self.finish(first, Use::Read);
        let y = self.finish(second, Use::Read);
        if mir::ty::owns(&self.program.types, x.qty.ty) {
            return self.exchange(x.place, y.place);
        }
        let old_x = self.value_of(&x);
        let old_x = self.freeze(old_x);
        let old_y = self.value_of(&y);
        let old_y = self.freeze(old_y);
        self.store(&x, old_y);
        self.store(&y, old_x);
    }

    fn asm(&mut self, asm: &'t tree::Asm) {
        if !asm.labels.is_empty() && !self.body.unchecked {
            // A jump that the graph does not show: a program that gets here ends.
            return self.impossible();
        }
        let labels = asm.labels.iter().filter_map(|l| self.tree.labels.get(l.0 as usize).copied()).collect();
        let mut inputs = vec![];
        for (name, constraint, e) in &asm.inputs {
            if e.is_place() {
                // A memory operand: the place itself.
                let access = self.place(e, Use::Read);
                self.take_address(&access.place);
                inputs.push((*name, constraint.clone(), Operand::Copy(access.place)));
                continue;
            }
            let op = self.operand(e);
            inputs.push((*name, constraint.clone(), self.freeze(op)));
        }
        let mut outputs = vec![];
        for (name, constraint, e) in &asm.outputs {
            let access = self.place(e, Use::Read);
            self.take_address(&access.place);
            outputs.push((*name, constraint.clone(), access.place));
        }
        let asm = ir::Asm {
            volatile: asm.volatile,
            template: asm.template.clone(),
            outputs,
            inputs,
            clobbers: asm.clobbers.clone(),
            labels,
        };
        self.emit(StmtKind::Assembly(Box::new(asm)));
    }

    /// `free` of a shared pointer: the place is set to null. Of a value: evaluated only.
    pub fn free(&mut self, e: &'t Expr) {
        if e.is_place() {
            let access = self.place(e, Use::Write);
            let null = Operand::Const(Const::Null(access.qty.ty));
            self.store(&access, null);
            return;
        }
        match &*e.kind {
            ExprKind::Load(place) => self.free(place),
            _ => self.effect(e),
        }
    }
}

fn mentions_label(init: &tree::ConstInit) -> bool {
    use tree::{ConstAddr, ConstInit};
    match init {
        ConstInit::Addr(ConstAddr::Label(_), _) => true,
        ConstInit::Aggregate(items) => items.iter().any(|(_, item)| mentions_label(item)),
        ConstInit::Tagged(_, inner) => mentions_label(inner),
        _ => false,
    }
}
