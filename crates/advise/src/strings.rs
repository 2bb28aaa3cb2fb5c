//! Strings that have not changed: whether a string is as long as it was when it was measured.

use crate::proof::Proof;
use crate::rules::Rule;
use flow::framework::Point;
use mir::effects::{stmt_places, Access};
use mir::ir::*;

/// Statements that may change a string, between two points, that are looked at.
const MOST_CHANGES: usize = 40;
/// How many copies of a pointer are followed back.
const DEPTH: usize = 6;

/// A pointer that has the value that is asked about at the first of these points, and had it at all
/// of them.
pub(crate) type Source = (Operand, Vec<Point>);

impl Proof<'_> {
    /// Whether the string that `sources` point at before `at` is the one that `argument` pointed at
    /// before `measured`, and is as long.
    pub(crate) fn is_string(&self, measured: Point, argument: &Operand, at: Point, sources: &[Source]) -> bool {
        let before = self.sources(measured, argument);
        self.is_unchanged(measured, at)
            && before.iter().any(|(pointer, way)| {
                let same = |s: &&Source| is_same(&s.0, pointer);
                let Some((_, later)) = sources.iter().find(same) else { return false };
                self.has_lasted(pointer, measured, at) && self.stays(pointer, way) && self.stays(pointer, later)
            })
    }

    /// The operand, and what it was copied from.
    pub(crate) fn sources(&self, at: Point, operand: &Operand) -> Vec<Source> {
        let mut all = vec![(operand.clone(), vec![at])];
        while let Some((last, way)) = all.last().filter(|_| all.len() <= DEPTH) {
            let Some(&here) = way.last() else { break };
            let Some((made, stmt)) = self.terms.defined(here, last) else { break };
            let from = stmt.kind.as_assign().and_then(|(_, value)| value.same_bits());
            let Some(from) = from.cloned() else { break };
            let way = way.iter().copied().chain([made]).collect();
            all.push((from, way));
        }
        all
    }

    /// Whether a pointer had the same value at all points of a way back.
    fn stays(&self, pointer: &Operand, way: &[Point]) -> bool {
        way.windows(2).all(|hop| match *hop {
            [to, from] => self.has_lasted(pointer, from, to),
            _ => false,
        })
    }

    /// Whether a pointer has at `to` the value that it had at the last time that control was at
    /// `from`. In memory it has if nothing was written there.
    fn has_lasted(&self, pointer: &Operand, from: Point, to: Point) -> bool {
        let Some(place) = pointer.place() else { return true };
        let fixed = |p: &Proj| p.index().is_none_or(|i| matches!(i, Operand::Const(_)));
        if place.as_local().is_some() {
            return self.terms.lasts(pointer, from, to);
        }
        let base = match place.base {
            PlaceBase::Local(local) => self.terms.lasts(&Operand::local(local), from, to),
            PlaceBase::Global(_) => true,
            PlaceBase::Str(_) => false,
        };
        base && place.proj.iter().all(fixed) && self.is_unchanged(from, to)
    }

    /// Whether no memory is written on any way from the last time that control was at `from` to
    /// `to`.
    fn is_unchanged(&self, from: Point, to: Point) -> bool {
        if !Rule::TextUnchanged.holds() {
            return true;
        }
        let after = |p: Point| Point { stmt: p.stmt + 1, ..p };
        let mut changes = vec![];
        self.terms.reach(after(from), from, &mut |at, stmt| {
            if self.may_write_memory(at, stmt) {
                changes.push(at);
            }
        });
        let cannot_get_there = |&change: &Point| {
            let mut met = false;
            self.terms.reach(after(change), from, &mut |at, _| met |= at == to);
            !met
        };
        changes.len() <= MOST_CHANGES && changes.iter().filter(|c| **c != to).all(cannot_get_there)
    }

    /// Whether a statement may write memory other than the object, which no string was in that was
    /// measured before the object was made. Writes behind its end are not proven by themselves.
    fn may_write_memory(&self, at: Point, stmt: &Stmt) -> bool {
        if self.writes_object(at, stmt) {
            return false;
        }
        let mut writes = false;
        stmt_places(&stmt.kind, &mut |place, access| {
            let private = || {
                let decl = place.local_part().and_then(|l| self.terms.body.locals.get(l.0 as usize));
                decl.is_some_and(|d| !d.address_taken)
            };
            writes |= matches!(access, Access::Write | Access::Move) && !private();
        });
        match stmt.kind.action() {
            Action::Call => {
                let Some(Call { callee, .. }) = stmt.kind.as_call() else { return true };
                let name = self.terms.cx.callee_name(self.terms.body, at, callee);
                let defined = self.terms.cx.summary(callee).is_some();
                writes || defined || !name.is_some_and(|name| writes_nothing(&name))
            }
            Action::Assign | Action::Fill => writes,
            Action::Storage | Action::None => false,
            Action::Check
            | Action::Assembly
            | Action::Copy
            | Action::Arguments
            | Action::Owner
            | Action::Region
            | Action::Send
            | Action::Channel => true,
        }
    }

    /// Whether all that a statement writes is the object.
    fn writes_object(&self, at: Point, stmt: &Stmt) -> bool {
        if let Some(call) = stmt.kind.as_call() {
            let fills = self.library(at, &call).is_some_and(|name| writes_first(&name));
            let private = call.dest.as_ref().is_none_or(|d| self.terms.is_private(d));
            let own = || call.args.first().is_some_and(|to| self.offset(at, to).is_some() || !Rule::OwnText.holds());
            return fills && private && own();
        }
        let Some((place, _)) = stmt.kind.as_assign() else { return false };
        let derefs = place.proj.iter().filter(|p| **p == Proj::Deref).count();
        let base = Operand::Copy(Place { base: place.base, proj: vec![] });
        place.proj.first() == Some(&Proj::Deref) && derefs == 1 && self.offset(at, &base).is_some()
    }
}

fn is_same(a: &Operand, b: &Operand) -> bool {
    match (a.place(), b.place()) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a == b,
        _ => false,
    }
}

/// Functions of the C library that write what their first argument points at, and nothing else.
fn writes_first(name: &str) -> bool {
    matches!(
        name,
        "memcpy"
            | "memmove"
            | "memset"
            | "strcpy"
            | "stpcpy"
            | "strncpy"
            | "strcat"
            | "strncat"
            | "sprintf"
            | "snprintf"
    )
}

/// Functions of the C library that change no memory that existed before, unless it may no longer be
/// read.
fn writes_nothing(name: &str) -> bool {
    matches!(
        name.strip_prefix("__builtin_").unwrap_or(name),
        "malloc"
            | "calloc"
            | "strdup"
            | "strlen"
            | "strcmp"
            | "strncmp"
            | "strcasecmp"
            | "strncasecmp"
            | "memcmp"
            | "strchr"
            | "strrchr"
            | "strstr"
            | "memchr"
            | "expect"
            | "strspn"
            | "strcspn"
            | "strpbrk"
            | "toupper"
            | "tolower"
            | "puts"
            | "fputs"
            | "putchar"
            | "free"
            | "abs"
            | "abort"
            | "exit"
    )
}
