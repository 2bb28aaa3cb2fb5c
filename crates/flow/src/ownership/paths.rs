//! Owned paths: places that start at a local and go on through fields and through dereferences of
//! `unique` pointers, numbered.

use mir::effects::{stmt_places, term_places};
use mir::ir::*;
use mir::resolve::Resolver;
use mir::ty::{owns, place_ty, prefix_ty};
use rustc_hash::{FxHashMap, FxHashSet};
use typing::types::{Bounds, KeyKind, Own, Pointer, RecordKind, Region, Ty, TyKind, TypeStore};

use crate::regions::Regions;

/// Number of a path.
pub(crate) type NodeId = usize;

/// A step of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    /// Through a `unique` pointer, or a cursor.
    Deref,
    /// To a field.
    Field(u32),
}

/// A path.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub root: Local,
    pub parent: Option<NodeId>,
    pub step: Option<Step>,
    pub children: Vec<NodeId>,
    pub ty: Ty,
    /// Whether a value of it is owned (the path of a cursor itself is not).
    pub owned: bool,
    /// An untagged or tagged union: its members are one.
    pub is_union: bool,
}

/// Where a place is among the paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    /// The longest path that the place is, or lies in.
    pub node: NodeId,
    /// How many steps of the place it covers.
    pub steps: usize,
    /// Whether the place is the path itself (or a member of the union that it is; what lies in a
    /// member is a slot).
    pub exact: bool,
    /// Whether what is left of the place leads through a pointer or an index: then it is not on an
    /// owned path.
    pub slot: bool,
}

/// How often, and how deep, parts that are distinguished spread through temporaries.
const MIRROR_ROUNDS: u32 = 4;
const MIRROR_DEPTH: u32 = 4;

/// All paths that a body mentions.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    pub nodes: Vec<Node>,
    roots: FxHashMap<Local, NodeId>,
    by_step: FxHashMap<(NodeId, Step), NodeId>,
}

/// The temporaries that have what is lent to a call, as it is or with other bounds. It stays where
/// it is, so they own nothing.
fn lent_to_calls(body: &Body) -> FxHashSet<Local> {
    let mut lent = FxHashSet::default();
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        let of = |a: &Operand| matches!(a, Operand::Copy(from) if from.as_local().is_some_and(|l| lent.contains(&l)));
        let converted = stmt.kind.as_assign().filter(|(_, value)| value.same_address().is_some_and(of));
        let temp = stmt.kind.as_lent().map(|(temp, _)| temp).or(converted.and_then(|(dest, _)| dest.as_local()));
        lent.extend(temp.filter(|l| body.locals.get(l.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp)));
    }
    lent
}

/// The variables to which a pointer may lead that can reach what they own: those whose address is
/// taken, unless it is of numbers in them only. A pointer to a number, or to an element of an array
/// of numbers, stays within that field, and `container_of` finds no struct by it.
fn reached(program: &Program, body: &Body) -> FxHashSet<Local> {
    let is_apart = |place: &Place| {
        let in_struct = |n: usize| {
            let record = prefix_ty(program, body, place, n).ok().and_then(|q| program.types.as_record(q.ty));
            record.is_some_and(|id| program.types.record(id).kind == RecordKind::Struct)
        };
        let field = place.proj.iter().take_while(|step| step.is_field()).count();
        let ty = prefix_ty(program, body, place, field).map_or(program.types.common.error, |q| q.ty);
        let ty = match program.types.kind(ty) {
            TyKind::Array { elem, .. } => elem.ty,
            _ => ty,
        };
        field > 0 && (0..field).all(in_struct) && program.types.is_number(ty)
    };
    let slots = body.locals.iter().enumerate().filter(|(_, decl)| decl.slot);
    let mut reached: FxHashSet<Local> = slots.map(|(n, _)| Local(n as u32)).collect();
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        let address = stmt.kind.value().and_then(Rvalue::as_address_of);
        reached.extend(address.filter(|place| !is_apart(place)).and_then(Place::local_part));
        if stmt.kind.as_asm().is_some() {
            stmt_places(&stmt.kind, &mut |place, _| reached.extend(place.base_local()));
        }
    }
    reached.retain(|local| body.locals.get(local.0 as usize).is_some_and(|decl| decl.address_taken));
    reached
}

impl Paths {
    pub fn new(program: &Program, body: &Body) -> Paths {
        let mut paths = Paths::default();
        let cursors = cursors(body);
        let lent = lent_to_calls(body);
        let reached = reached(program, body);
        for (n, decl) in body.locals.iter().enumerate() {
            let local = Local(n as u32);
            let owned = owns(&program.types, decl.ty.ty) && !lent.contains(&local);
            let is_array = matches!(program.types.kind(decl.ty.ty), TyKind::Array { .. });
            if !is_array && (owned && !reached.contains(&local) || cursors.contains(&local)) {
                paths.add(None, None, local, decl.ty.ty, owned, &program.types);
            }
        }
        if paths.nodes.is_empty() {
            return paths;
        }
        for block in &body.blocks {
            for stmt in &block.stmts {
                stmt_places(&stmt.kind, &mut |place, _| paths.mention(program, body, place));
                let unpacked = stmt.kind.as_unpack().map(|(place, ..)| place);
                if let Some(place) = unpacked.or(stmt.kind.as_pack()) {
                    paths.mention(program, body, place);
                }
            }
            term_places(&block.term.kind, &mut |place, _| paths.mention(program, body, place));
        }
        paths.mirror(program, body);
        paths
    }

    /// What is distinguished in a variable is distinguished in the temporaries on its way there,
    /// and vice versa.
    fn mirror(&mut self, program: &Program, body: &Body) {
        let is_temp = |place: &Place| {
            let decl = place.as_local().and_then(|l| body.locals.get(l.0 as usize));
            decl.is_some_and(|d| d.kind == LocalKind::Temp)
        };
        for _ in 0..MIRROR_ROUNDS {
            let before = self.nodes.len();
            for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
                let Some((dest, value)) = stmt.kind.as_assign() else { continue };
                let from = match value.made_of() {
                    Some((Operand::Move(from), Way::Same | Way::Bits | Way::Word(_) | Way::Counted)) => from,
                    Some((Operand::Copy(_) | Operand::Const(_), _))
                    | Some((_, Way::Number | Way::Typed | Way::Fat | Way::Moved | Way::Retained))
                    | None => continue,
                };
                if !is_temp(dest) && !is_temp(from) {
                    continue;
                }
                let ends = (self.find(&program.types, dest), self.find(&program.types, from));
                if let (Some(a), Some(b)) = ends {
                    if a.exact && b.exact {
                        self.copy_children(&program.types, a.node, b.node, 0);
                        self.copy_children(&program.types, b.node, a.node, 0);
                    }
                }
            }
            if self.nodes.len() == before {
                return;
            }
        }
    }

    fn copy_children(&mut self, types: &TypeStore, from: NodeId, to: NodeId, depth: u32) {
        if depth >= MIRROR_DEPTH {
            return;
        }
        for child in self.nodes[from].children.clone() {
            let Node { step: Some(step), ty, owned, .. } = self.nodes[child] else { continue };
            let proj = match step {
                Step::Deref => Proj::Deref,
                Step::Field(n) => Proj::Field(n),
            };
            if self.path_step(types, to, &proj) != Some(step) {
                continue;
            }
            let there = match self.by_step.get(&(to, step)) {
                Some(&there) => there,
                None => {
                    let root = self.nodes[to].root;
                    self.add(Some(to), Some(step), root, ty, owned, types)
                }
            };
            self.copy_children(types, child, there, depth + 1);
        }
    }

    fn add(
        &mut self,
        parent: Option<NodeId>,
        step: Option<Step>,
        root: Local,
        ty: Ty,
        owned: bool,
        types: &TypeStore,
    ) -> NodeId {
        let id = self.nodes.len();
        let is_union = types
            .as_record(ty)
            .is_some_and(|r| types.records.get(r.0 as usize).is_some_and(|record| record.kind != RecordKind::Struct));
        self.nodes.push(Node { root, parent, step, children: vec![], ty, owned, is_union });
        match (parent, step) {
            (Some(parent), Some(step)) => {
                self.nodes[parent].children.push(id);
                self.by_step.insert((parent, step), id);
            }
            _ => drop(self.roots.insert(root, id)),
        }
        id
    }

    pub fn root(&self, local: Local) -> Option<NodeId> {
        self.roots.get(&local).copied()
    }

    pub fn roots(&self) -> impl Iterator<Item = (Local, NodeId)> + '_ {
        self.nodes.iter().enumerate().filter(|(_, n)| n.parent.is_none()).map(|(id, n)| (n.root, id))
    }

    /// Adds the owned prefixes of a place.
    fn mention(&mut self, program: &Program, body: &Body, place: &Place) {
        let Some(mut node) = place.base_local().and_then(|l| self.root(l)) else { return };
        for (n, step) in place.proj.iter().enumerate() {
            let Some(step) = self.path_step(&program.types, node, step) else { return };
            if let Some(&next) = self.by_step.get(&(node, step)) {
                node = next;
                continue;
            }
            let prefix = Place { base: place.base, proj: place.proj.iter().take(n + 1).cloned().collect() };
            let Ok(qty) = place_ty(program, body, &prefix) else { return };
            let owned = owns(&program.types, qty.ty);
            let is_array = matches!(program.types.kind(qty.ty), TyKind::Array { .. });
            let target = step == Step::Deref;
            if is_array || !(owned || target) {
                return;
            }
            let root = self.nodes[node].root;
            node = self.add(Some(node), Some(step), root, qty.ty, owned, &program.types);
        }
    }

    fn path_step(&self, types: &TypeStore, node: NodeId, step: &Proj) -> Option<Step> {
        let at = self.nodes.get(node)?;
        match step {
            Proj::Field(n) => (!at.is_union).then_some(Step::Field(*n)),
            Proj::Deref => {
                let unique = types.as_pointer(at.ty).is_some_and(|p| is_path_through(types, p));
                let cursor = at.parent.is_none() && !at.owned;
                (unique || cursor).then_some(Step::Deref)
            }
            Proj::Index(_) => None,
        }
    }

    /// Where a place is.
    pub fn find(&self, types: &TypeStore, place: &Place) -> Option<Found> {
        let mut node = self.root(place.base_local()?)?;
        let mut steps = 0;
        for step in &place.proj {
            let next = self.path_step(types, node, step).and_then(|step| self.by_step.get(&(node, step)));
            let Some(&next) = next else { break };
            node = next;
            steps += 1;
        }
        let rest = place.proj.get(steps..).unwrap_or(&[]);
        let in_union = self.nodes[node].is_union && matches!(rest, [step] if step.is_field());
        let slot = rest.iter().any(|s| !s.is_field());
        Some(Found { node, steps, exact: rest.is_empty() || in_union, slot })
    }

    /// The paths one step below.
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        self.nodes.get(node).map_or(&[], |n| &n.children)
    }

    /// The last step of a path.
    pub fn step(&self, node: NodeId) -> Option<Step> {
        self.nodes.get(node)?.step
    }

    /// The node and all below it.
    pub fn below(&self, node: NodeId) -> Vec<NodeId> {
        let mut all = vec![node];
        let mut at = 0;
        while let Some(&next) = all.get(at) {
            all.extend(self.nodes[next].children.iter().copied());
            at += 1;
        }
        all
    }

    /// Whether `a` is `b` or a prefix of it.
    pub fn is_prefix(&self, a: NodeId, b: NodeId) -> bool {
        let mut at = Some(b);
        while let Some(node) = at {
            if node == a {
                return true;
            }
            at = self.nodes[node].parent;
        }
        false
    }

    /// Whether the path from `outer` down to `inner` leads through an owned field.
    pub fn crosses_owned(&self, outer: NodeId, inner: NodeId) -> bool {
        let mut at = inner;
        while at != outer {
            let node = &self.nodes[at];
            // The target of the lent pointer itself is what is lent.
            if node.owned && node.step != Some(Step::Deref) {
                return true;
            }
            match node.parent {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    /// Whether the path from the root to the node leads through a pointer.
    pub fn is_behind_pointer(&self, node: NodeId) -> bool {
        let mut at = Some(node);
        while let Some(n) = at {
            if self.nodes[n].step == Some(Step::Deref) {
                return true;
            }
            at = self.nodes[n].parent;
        }
        false
    }

    /// The steps from `outer` to `inner`, as projections.
    pub fn steps_between(&self, outer: NodeId, inner: NodeId) -> Vec<Proj> {
        let mut steps = vec![];
        let mut at = inner;
        while at != outer {
            match self.nodes[at].step {
                Some(Step::Deref) => steps.push(Proj::Deref),
                Some(Step::Field(n)) => steps.push(Proj::Field(n)),
                None => break,
            }
            match self.nodes[at].parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        steps.reverse();
        steps
    }

    /// Whether something owned in the node is not a path of its own (then the node's state stands
    /// for it).
    pub fn has_rest(&self, types: &TypeStore, node: NodeId) -> bool {
        let at = &self.nodes[node];
        let TyKind::Record(r) = types.kind(at.ty) else { return at.owned };
        if at.is_union {
            return at.owned;
        }
        let fields = types.records.get(r.0 as usize).and_then(|record| record.fields.clone());
        let Some(fields) = fields else { return false };
        fields.iter().enumerate().any(|(n, field)| {
            let tracked = self.by_step.contains_key(&(node, Step::Field(n as u32)));
            !tracked && owes_release(types, field.ty.ty)
        })
    }

    /// Of the cursor of `expose (p)`: what `p` is.
    fn exposed_name(&self, program: &Program, body: &Body, cursor: Local) -> Option<String> {
        let over = mir::cursors::beginning(body, cursor)?;
        let (_, way) = over.proj.split_last().filter(|(last, _)| **last == Proj::Deref)?;
        let pointer = Place { base: over.base, proj: way.to_vec() };
        let found = self.find(&program.types, &pointer).filter(|f| f.exact)?;
        // Cursors lie in each other: their places are shorter each time.
        if self.nodes[found.node].root == cursor {
            return None;
        }
        let name = self.name(program, body, found.node);
        Some(name.trim_matches('`').to_string())
    }

    /// The node in the words of the program.
    pub fn name(&self, program: &Program, body: &Body, node: NodeId) -> String {
        let mut text = body
            .locals
            .get(self.nodes[node].root.0 as usize)
            .and_then(|d| d.name)
            .map_or(String::new(), |n| n.to_string());
        let exposed = if text.is_empty() { self.exposed_name(program, body, self.nodes[node].root) } else { None };
        let is_exposed = exposed.is_some();
        text = exposed.unwrap_or(text);
        if text.is_empty() {
            return String::new();
        }
        let mut chain = vec![];
        let mut at = Some(node);
        while let Some(n) = at {
            chain.push(n);
            at = self.nodes[n].parent;
        }
        chain.reverse();
        let mut pointer = false;
        for (steps, n) in chain.into_iter().enumerate().skip(1) {
            match self.nodes[n].step {
                // The cursor's own.
                Some(Step::Deref) if is_exposed && steps == 1 => {}
                Some(Step::Deref) if pointer => text = format!("(*{text})"),
                Some(Step::Deref) => {}
                Some(Step::Field(field)) => {
                    let record =
                        self.nodes[n].parent.map(|p| self.nodes[p].ty).and_then(|t| program.types.as_record(t));
                    let name = record
                        .and_then(|r| program.types.records.get(r.0 as usize)?.fields.clone())
                        .and_then(|f| f.get(field as usize)?.name);
                    let dot = if pointer { "->" } else { "." };
                    text = format!("{text}{dot}{}", name.map_or("?".to_string(), |n| n.to_string()));
                }
                None => {}
            }
            pointer = self.nodes[n].step == Some(Step::Deref);
        }
        if pointer {
            text = format!("*{text}");
        }
        format!("`{text}`")
    }
}

/// Whether an owned path continues through the pointer. Elements of an array are not distinguished:
/// those that own something are slots, the first one like all others.
pub(crate) fn is_path_through(types: &TypeStore, pointer: Pointer) -> bool {
    pointer.own == Own::Unique && (pointer.bounds == Bounds::Thin || !owns(types, pointer.target.ty))
}

/// The place that a cursor is on.
pub(crate) enum Over {
    /// An owned path.
    Path,
    /// A slot, reached through this owned path, which is lent while the cursor lives.
    Slot(Option<Place>),
    /// Something inside of what a slot holds: it ends as soon as others store to the slot.
    Content,
}

/// What a cursor over the place is on.
pub(crate) fn cursor_over(program: &Program, body: &Body, resolver: &Resolver, place: &Place) -> Over {
    let place = resolver.place(place);
    let mut over = match place.base {
        PlaceBase::Local(_) => Over::Path,
        _ => Over::Slot(None),
    };
    let is_cursor = place.base_local().is_some_and(|l| cursors(body).contains(&l));
    for (n, step) in place.proj.iter().enumerate() {
        let prefix = Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
        let pointer = place_ty(program, body, &prefix).ok().and_then(|q| program.types.as_pointer(q.ty));
        over = match (step, over, pointer) {
            (Proj::Field(_), over, _) => over,
            (Proj::Index(_), Over::Path, _) => Over::Slot(Some(prefix)),
            (Proj::Index(_), over, _) => over,
            (Proj::Deref, Over::Path, _) if n == 0 && is_cursor => Over::Path,
            (Proj::Deref, Over::Path, Some(p)) if is_path_through(&program.types, p) => Over::Path,
            (Proj::Deref, over, Some(Pointer { own: Own::Unique | Own::Rc | Own::Param(_), .. })) => match over {
                Over::Path => Over::Slot(Some(prefix)),
                _ => Over::Content,
            },
            (Proj::Deref, ..) => Over::Slot(None),
        };
    }
    over
}

/// Whether the place lies in a local, or below `unique` pointers to one object in one, in memory
/// that keeps what was stored there.
pub(crate) fn is_kept(program: &Program, body: &Body, cursors: &FxHashSet<Local>, place: &Place) -> bool {
    let decl = place.base_local().and_then(|l| body.locals.get(l.0 as usize));
    let Some(decl) = decl.filter(|d| !d.address_taken) else { return false };
    let is_cursor = place.base_local().is_some_and(|l| cursors.contains(&l));
    let types = &program.types;
    let mut at = decl.ty;
    for (n, step) in place.proj.iter().enumerate() {
        if at.quals.is_volatile || at.quals.is_atomic {
            return false;
        }
        let goes_on = match step {
            Proj::Field(_) => types.as_record(at.ty).is_some_and(|r| types.record(r).kind == RecordKind::Struct),
            Proj::Deref if n == 0 && is_cursor => true,
            Proj::Deref => types.as_pointer(at.ty).is_some_and(|p| p.own == Own::Unique && p.bounds == Bounds::Thin),
            Proj::Index(_) => false,
        };
        let Ok(next) = prefix_ty(program, body, place, n + 1) else { return false };
        if !goes_on {
            return false;
        }
        at = next;
    }
    !at.quals.is_volatile && !at.quals.is_atomic
}

/// Locals that are cursors.
pub(crate) fn cursors(body: &Body) -> Vec<Local> {
    let stmts = body.blocks.iter().flat_map(|b| &b.stmts);
    stmts.filter_map(|s| Some(s.kind.as_cursor()?.0)).collect()
}

/// Whether a value of the type must be released by its holder; what arrays hold does not count,
/// since they release it themselves, but for those in members of unions, which nothing releases.
pub(crate) fn owes_release(types: &TypeStore, ty: Ty) -> bool {
    match types.kind(ty) {
        TyKind::Array { .. } => false,
        TyKind::Record(r) if types.record(*r).kind == RecordKind::Struct => {
            let fields = types.records.get(r.0 as usize).and_then(|record| record.fields.clone());
            fields.is_some_and(|fields| fields.iter().any(|f| owes_release(types, f.ty.ty)))
        }
        _ => owns(types, ty),
    }
}

/// Whether losing a value of the type is an error whatever the options say: exchange blocks and
/// keys, ends of channels.
pub(crate) fn is_strict(types: &TypeStore, regions: &Regions, ty: Ty) -> bool {
    match types.kind(ty) {
        TyKind::Ptr(p) => regions.heap_of(p.region) == Some(Region::Exchange),
        TyKind::Key(kind, _) => *kind == KeyKind::Exchange,
        TyKind::Endpoint(_) | TyKind::EndSet(_) => true,
        TyKind::Record(r) => {
            let fields = types.records.get(r.0 as usize).and_then(|record| record.fields.clone());
            fields.is_some_and(|fields| fields.iter().any(|f| is_strict(types, regions, f.ty.ty)))
        }
        _ => false,
    }
}
