//! Scopes: what lives where, and what happens when a jump leaves or enters a scope.
//!
//! At each point the locals and defers in force form a path in a tree (`lives`). A jump from one
//! path to another leaves what is not on the common part, in reverse order, and brings to life what
//! it jumps past.

use crate::builder::Lower;
use mir::ir::{Local, Place};
use mir::ir::{LocalKind, Scope, ScopeId, StmtKind, TermKind};
use source::Span;
use typing::tree::Stmt;
use typing::types::{ArrayLen, TyKind};

/// An element of a scope.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item<'t> {
    /// Nothing: the function's own level.
    Root,
    /// A local.
    Local(Local),
    /// A `defer`.
    Defer(&'t Stmt),
    /// A LIFO arena or reap: its handle and region.
    Arena(Local, u32),
    /// An `open`: number of its handle, key and region in `Lower::opened`.
    Open(usize),
    /// An `unpack` that lends: number of its place and regions in `Lower::unpacked`.
    Unpack(usize),
    /// A local with slots that free what they hold.
    Slots(Local),
}

/// A node of the tree of what is live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveNode<'t> {
    /// What was there before.
    pub parent: usize,
    /// Distance from the root.
    pub depth: u32,
    /// What came to life.
    pub item: Item<'t>,
}

impl LiveNode<'_> {
    /// The root.
    pub fn root() -> Self {
        LiveNode { parent: 0, depth: 0, item: Item::Root }
    }
}

/// What to restore when a scope ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedScope {
    scope: ScopeId,
    live: usize,
}

impl<'t> Lower<'t, '_> {
    /// Opens a scope.
    pub fn open_scope(&mut self, span: Span) -> SavedScope {
        let saved = SavedScope { scope: self.scope, live: self.live };
        let id = ScopeId(self.body.scopes.len() as u32);
        self.body.scopes.push(Scope { parent: Some(self.scope), span });
        self.scope = id;
        saved
    }

    /// Closes a scope: runs its defers and ends its locals, last first, at its last character.
    pub fn close_scope(&mut self, saved: SavedScope) {
        let before = self.span;
        if let Some(scope) = self.body.scopes.get(self.scope.0 as usize) {
            let hi = scope.span.hi;
            if hi > 0 {
                self.span = Span::new(hi - 1, hi);
            }
        }
        self.unwind(saved.live);
        self.span = before;
        self.live = saved.live;
        self.scope = saved.scope;
    }

    /// Puts an item on the current path.
    pub fn push_live(&mut self, item: Item<'t>) -> usize {
        let depth = self.lives[self.live].depth + 1;
        self.lives.push(LiveNode { parent: self.live, depth, item });
        self.live = self.lives.len() - 1;
        self.live
    }

    /// A local comes to life in the current scope.
    pub fn declare_live(&mut self, local: Local) {
        let scope = self.scope;
        if let Some(decl) = self.body.locals.get_mut(local.0 as usize) {
            if decl.kind == LocalKind::Var {
                decl.scope = scope;
                self.introduce_region(local);
            }
        }
        self.push_live(Item::Local(local));
        self.emit(StmtKind::StorageLive(local));
    }

    /// Emits the end of all items from the current path down to `target` (a node of the path).
    pub fn unwind(&mut self, target: usize) {
        let here = self.live;
        let mut node = here;
        while node != target && node != 0 {
            let LiveNode { parent, item, .. } = self.lives[node];
            match item {
                Item::Root => {}
                Item::Local(l) => {
                    if self.taking.contains(&l) {
                        self.emit(StmtKind::CursorEnd(l));
                    }
                    self.emit(StmtKind::StorageDead(l));
                }
                Item::Arena(handle, region) => self.emit(StmtKind::ArenaEnd(handle, region)),
                Item::Open(n) => {
                    if let Some((handle, key, region)) = self.opened.get(n).cloned() {
                        self.emit(StmtKind::Close(handle, key, region));
                    }
                }
                Item::Unpack(n) => {
                    if let Some((place, regions)) = self.unpacked.get(n).cloned() {
                        self.emit(StmtKind::UnpackEnd(place, regions));
                    }
                }
                Item::Slots(local) => self.drop_slots(local),
                Item::Defer(stmt) => {
                    // What a defer itself jumps over is what was there when it was met.
                    self.live = parent;
                    self.sub_stmt(stmt);
                    self.live = here;
                }
            }
            node = parent;
        }
    }

    /// Whether anything is live beyond the parameters.
    pub fn anything_live(&self) -> bool {
        self.live != 0
    }

    /// The innermost node on both paths.
    fn common_node(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if self.lives[a].depth >= self.lives[b].depth {
                a = self.lives[a].parent;
            } else {
                b = self.lives[b].parent;
            }
        }
        a
    }

    /// Emits what happens on the edge from the current path to `target`: scopes left end, locals
    /// jumped past come to life (scalars unassigned, aggregates zero).
    pub fn travel(&mut self, target: usize) {
        let common = self.common_node(self.live, target);
        self.unwind(common);
        let mut entered = vec![];
        let mut node = target;
        while node != common {
            entered.push(node);
            node = self.lives[node].parent;
        }
        for node in entered.into_iter().rev() {
            match self.lives[node].item {
                Item::Local(local) => {
                    self.emit(StmtKind::StorageLive(local));
                    self.zero_uninitialised(local);
                }
                // A named one has its value before it is used, or is refused.
                Item::Slots(local) if self.body.locals.get(local.0 as usize).is_some_and(|d| d.name.is_none()) => {
                    self.clear_slots(local);
                }
                _ => {}
            }
        }
    }

    /// Zeroes a local that is declared without an initialiser, if it is an aggregate that may be
    /// all zero.
    pub fn zero_uninitialised(&mut self, local: Local) {
        let ty = self.local_ty(local);
        if self.body.unchecked || !self.is_aggregate(ty) || self.program.types.needs_init(ty) {
            return;
        }
        if matches!(self.program.types.kind(ty), TyKind::Array { len: ArrayLen::Variable(_), .. }) {
            return;
        }
        self.fill_zero(Place::local(local));
    }

    /// Completes the jumps to labels, now that all labels have been seen.
    pub fn finish_gotos(&mut self) {
        // Defers that run on the way may hold jumps of their own, hence the index.
        let mut next = 0;
        while let Some(&jump) = self.gotos.get(next) {
            next += 1;
            self.start(jump.block);
            self.span = jump.span;
            self.is_unsafe = self.tree.is_unsafe;
            self.scope = jump.scope;
            self.live = jump.live;
            match self.labels.get(jump.label as usize) {
                Some(&(Some(block), Some(live))) => {
                    self.travel(live);
                    self.set_term(TermKind::Goto(block));
                }
                _ => self.unreachable(),
            }
        }
    }
}
