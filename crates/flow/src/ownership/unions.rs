//! Unions that own something: a union on an owned path is one path, whichever member is there. Its
//! tag tells whether that member owns anything.

use mir::ir::*;
use mir::ty::owns;
use source::Span;
use typing::types::{RecordKind, Ty, TyKind};

use super::effects::Report;
use super::paths::{NodeId, Step};
use super::report::{Lost, Verb};
use super::state::{State, Test, MOVED, NULL, UNSET};
use super::Ownership;
use crate::framework::Point;

impl Ownership<'_> {
    /// A switch over a local takes a branch on which its value satisfies `taken`.
    pub fn switched(&self, s: &mut State, at: Point, operand: &Operand, taken: &dyn Fn(i128) -> bool) {
        let Some(local) = operand.place().and_then(Place::as_local) else { return };
        let tests: Vec<Test> = s.tests.iter().copied().filter(|t| t.local() == local).collect();
        for test in tests {
            if let Test::Tag(_, node) = test {
                self.selected(s, at, node, taken);
            }
        }
    }

    /// What selects the member of a union satisfies `taken`: if no such member owns anything,
    /// neither does the union.
    pub fn selected(&self, s: &mut State, at: Point, node: NodeId, taken: &dyn Fn(i128) -> bool) {
        if self.is_certain(s, at, node)
            && !s.has(node, MOVED | UNSET)
            && !self.members(node).iter().any(|&(value, owns)| owns && taken(value))
        {
            s.set(&self.paths, node, NULL, 0);
        }
    }

    /// By value of the tag: whether the member that it selects owns something.
    fn members(&self, node: NodeId) -> Vec<(i128, bool)> {
        let types = &self.program.types;
        let at = &self.paths.nodes[node];
        let Some(fields) = self.fields(at.ty) else { return vec![] };
        let member_owns = |n: usize| fields.get(n).is_some_and(|f| owns(types, f.ty.ty));
        let is_tagged = types.as_record(at.ty).is_some_and(|r| types.record(r).kind == RecordKind::Tagged);
        if is_tagged {
            return (0..fields.len()).map(|n| (n as i128, member_owns(n))).collect();
        }
        let (Some(parent), Some(Step::Field(field))) = (at.parent, at.step) else { return vec![] };
        let Some(outer) = self.fields(self.paths.nodes[parent].ty) else { return vec![] };
        let bound = outer.get(field as usize).and_then(|f| f.tagged_by.clone());
        bound.map_or(vec![], |t| t.arms.iter().map(|&(value, n)| (value, member_owns(n as usize))).collect())
    }

    fn fields(&self, ty: Ty) -> Option<std::rc::Rc<Vec<typing::types::Field>>> {
        match self.program.types.kind(ty) {
            TyKind::Record(r) => self.program.types.record(*r).fields.clone(),
            _ => None,
        }
    }

    /// The path whose pointer is in the place: of a member of a union, if that is what it owns.
    pub fn tested(&self, place: &Place) -> Option<NodeId> {
        self.find(place).filter(|f| f.exact && !self.is_plain_member(place, f.node)).map(|f| f.node)
    }

    /// The temporary or variable now says what selects the member of unions.
    pub fn remember_tag(&self, s: &mut State, at: Point, local: Local, value: &Rvalue) {
        let tests: Vec<Test> = if let Some(place) = value.as_tag() {
            let found = self.find(place).filter(|f| f.exact && self.paths.nodes[f.node].is_union);
            found.map(|f| Test::Tag(local, f.node)).into_iter().collect()
        } else if let Some(a) = value.same_number() {
            let to = value.as_numeric().map(|(_, ty)| ty);
            self.tags_in(s, a, to).into_iter().map(|node| Test::Tag(local, node)).collect()
        } else if let Some((a, not_zero)) = value.tested() {
            self.tag_tests(s, local, a, 0, !not_zero)
        } else {
            match value.as_binary() {
                Some((op @ (BinOp::Eq | BinOp::Ne), a, Operand::Const(Const::Int(n, _)), _))
                | Some((op @ (BinOp::Eq | BinOp::Ne), Operand::Const(Const::Int(n, _)), a, _)) => {
                    self.tag_tests(s, local, a, *n, op == BinOp::Eq)
                }
                _ => vec![],
            }
        };
        tests.into_iter().for_each(|test| self.learn(s, at, test));
    }

    fn tag_tests(&self, s: &State, local: Local, operand: &Operand, value: i128, same: bool) -> Vec<Test> {
        let mut tests: Vec<Test> =
            self.tags_in(s, operand, None).into_iter().map(|node| Test::Is(local, node, value, same)).collect();
        // Whether a comparison holds, compared in its turn.
        let from = operand.place().and_then(Place::as_local);
        for test in s.tests.iter().filter(|t| value == 0 && Some(t.local()) == from) {
            if let Test::Is(_, node, wanted, holds) = *test {
                tests.push(Test::Is(local, node, wanted, holds != same));
            }
        }
        tests
    }

    /// The unions whose member the operand selects, also if it is converted to a type.
    fn tags_in(&self, s: &State, operand: &Operand, to: Option<Ty>) -> Vec<NodeId> {
        let Operand::Copy(place) = operand else { return vec![] };
        let mut nodes = self.unions_of(place);
        if let Some(local) = place.as_local() {
            nodes.extend(s.tests.iter().filter_map(|t| match t {
                Test::Tag(l, node) if *l == local => Some(*node),
                _ => None,
            }));
        }
        let types = &self.program.types;
        let size = |ty: Ty| types.as_int(ty).map_or(0, |kind| kind.size());
        let from = mir::ty::place_ty(self.program, self.body, place).map_or(0, |q| size(q.ty));
        // Values that are tags stay what they are, and no other becomes one.
        let kept = |value: i128| (0..1i128 << (8 * from).saturating_sub(1).min(63)).contains(&value);
        nodes.retain(|&node| from > 0 && self.members(node).iter().all(|&(value, _)| kept(value)));
        nodes.retain(|_| to.is_none_or(|ty| size(ty) >= from));
        nodes
    }

    /// The unions on owned paths whose member the place selects.
    pub fn unions_of(&self, place: &Place) -> Vec<NodeId> {
        let Some((n, rest)) = place.last_field() else { return vec![] };
        let whole = Place { base: place.base, proj: rest.to_vec() };
        let Some(found) = self.find(&whole).filter(|f| f.exact) else { return vec![] };
        let Some(fields) = self.fields(self.paths.nodes[found.node].ty) else { return vec![] };
        let is_bound = |&&child: &&NodeId| match self.paths.step(child) {
            Some(Step::Field(f)) => {
                fields.get(f as usize).and_then(|f| f.tagged_by.as_ref()).is_some_and(|t| t.tag == n)
            }
            _ => false,
        };
        self.paths.children(found.node).iter().filter(is_bound).copied().collect()
    }

    /// Another value is stored where it selects the member of unions: what tests showed about them
    /// no longer holds.
    pub fn tag_stored(&self, s: &mut State, place: &Place) {
        for node in self.unions_of(place) {
            s.untest(node);
        }
    }

    /// A tag is set before its member is assigned: what another member, or this one, held is lost.
    pub fn set_tag(&self, s: &mut State, at: Point, place: &Place, span: Span, report: Report) {
        self.through(s, at, place, span, report);
        let Some(found) = self.find(place).filter(|f| f.exact && self.paths.nodes[f.node].owned) else {
            if self.keeps_lent_value(place, span, Verb::Assigned, report) {
                self.conflicts(s, at, place, Verb::Assigned, span, report);
            }
            return;
        };
        let node = found.node;
        if s.of(node) != UNSET {
            if self.is_lent_root(node) {
                report(super::report::Finding::lent_root(span, node, Verb::Assigned));
            }
            self.conflicts(s, at, place, Verb::Assigned, span, report);
            self.lost(s, at, node, span, Lost::Overwritten, report);
        }
        s.set(&self.paths, node, NULL, 0);
        self.part_set(s, node);
    }

    /// A test of the tag of a tagged union, or of what selects in another, succeeded: the member is
    /// there.
    pub fn tag_checked(&self, s: &mut State, at: Point, check: &Check) {
        if let Some((place, member)) = check.as_tag() {
            if let Some(found) = self.find(place).filter(|f| f.exact && self.paths.nodes[f.node].is_union) {
                self.selected(s, at, found.node, &|value| value == i128::from(member));
            }
        }
        if let Some((Operand::Copy(place), values, _)) = check.as_tag_value() {
            for node in self.unions_of(place) {
                self.selected(s, at, node, &|value| values.contains(&value));
            }
        }
    }

    /// Whether the place is a member of a union path, and owns nothing itself.
    pub fn is_plain_member(&self, place: &Place, node: NodeId) -> bool {
        self.paths.nodes[node].is_union && !self.owns_place(place)
    }
}
