//! Numbers as terms over variables: `each * count + extra`.
//!
//! A term follows what an operand was computed from: by the last assignment in its block, or by the
//! only one of the body. The value of the operand and that of the term are the same modulo the
//! width of the operand's type, and the same if the type is signed, because there an overflow is
//! undefined (unless the C compiler is told that it wraps).

use crate::program::Context;
use crate::rules::Rule;
use flow::framework::{points, Point};
use flow::ranges::terms::int_range;
use flow::ranges::{Range, Ranges};
use mir::cfg::Cfg;
use mir::effects::{stmt_places, Access};
use mir::ir::*;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use typing::types::Ty;

/// How many steps back a term is followed.
const DEPTH: usize = 8;

/// `each * count + extra`.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    /// A local, or a constant.
    pub count: Operand,
    /// Its factor, positive.
    pub each: i128,
    /// What is added.
    pub extra: i128,
}

impl Term {
    /// So many times as much; `k` is positive.
    pub fn times(self, k: i128) -> Option<Term> {
        Some(Term { each: self.each.checked_mul(k)?, extra: self.extra.checked_mul(k)?, ..self })
    }

    /// So much more.
    pub fn plus(self, k: i128) -> Option<Term> {
        Some(Term { extra: self.extra.checked_add(k)?, ..self })
    }
}

/// What terms are made with.
pub struct Terms<'a> {
    /// The unit.
    pub cx: &'a Context<'a>,
    /// The body.
    pub body: &'a Body,
    /// Its graph.
    pub cfg: &'a Cfg,
    /// Its intervals; `None`: nothing is known of them.
    pub ranges: Option<&'a Ranges<'a>>,
    /// Whether signed arithmetic wraps, too (`-fwrapv`).
    pub wraps: bool,
    /// Where a local is written, if one statement alone does that; asked for when it is needed.
    pub only_writes: OnceCell<FxHashMap<Local, Option<Point>>>,
}

impl<'a> Terms<'a> {
    /// The values of an operand before a statement.
    pub fn value(&self, at: Point, operand: &Operand) -> Option<Range> {
        match operand {
            Operand::Const(Const::Int(n, _)) => Some(Range::single(*n)),
            Operand::Const(Const::SizeOf(ty)) => {
                self.cx.program.types.layout(*ty).map(|l| Range::single(i128::from(l.size)))
            }
            _ => self.ranges?.value_at(at, operand),
        }
    }

    fn constant(&self, operand: &Operand) -> Option<i128> {
        match operand {
            Operand::Const(_) => self.value(Point { block: BlockId(0), stmt: 0 }, operand)?.constant(),
            Operand::Copy(_) | Operand::Move(_) => None,
        }
    }

    fn type_range(&self, ty: Ty) -> Option<Range> {
        int_range(&self.cx.program.types, ty)
    }

    /// The values of a term.
    pub fn bounds(&self, at: Point, term: &Term) -> Option<Range> {
        let count = self.value(at, &term.count)?;
        Some(count.times(Range::single(term.each)).plus(Range::single(term.extra)))
    }

    /// The terms of an operand before a statement: the operand itself, and what it was computed
    /// from, as far as those variables have the values of then.
    pub fn of(&self, at: Point, operand: &Operand) -> Vec<Term> {
        let mut all = vec![Term { count: operand.clone(), each: 1, extra: 0 }];
        self.back(&[at], operand, &mut all);
        all
    }

    /// `way`: the points where the numbers in between were computed, from the one that is asked
    /// about back to where `operand` is used.
    fn back(&self, way: &[Point], operand: &Operand, all: &mut Vec<Term>) {
        let Some(&at) = way.last().filter(|_| way.len() <= DEPTH) else { return };
        let Some((made, value)) = self.assigned(at, operand) else { return };
        let way: Vec<Point> = way.iter().copied().chain([made]).collect();
        let mut from = |a: &Operand, change: &dyn Fn(Term) -> Option<Term>| {
            let mut below = vec![];
            if self.stays(a, &way) {
                below.push(Term { count: a.clone(), each: 1, extra: 0 });
            }
            self.back(&way, a, &mut below);
            all.extend(below.into_iter().filter_map(change));
        };
        if let Some(a) = value.as_use() {
            from(a, &Some);
        } else if let Some((a, to)) = value.as_numeric() {
            let ty = mir::ty::operand_ty(self.cx.program, self.body, a).ok();
            let (Some(have), Some(to)) = (ty.and_then(|ty| self.type_range(ty)), self.type_range(to)) else { return };
            from(a, &|term| {
                let fits = |r: Range| self.bounds(made, &term).is_some_and(|b| r.covers(b));
                // To a type without a sign that is as wide: the same bits, from a sign too.
                let same_bits = to.lo == 0 && to.hi >= have.hi && (have.lo < 0 || to.hi == have.hi);
                (same_bits || fits(have) && fits(to) || !Rule::Wraps.holds()).then_some(term)
            });
        } else if let Some((op, a, b, ty)) = value.as_binary() {
            let whole = self.type_range(ty);
            let exact = |term: Option<Term>| {
                let fits = |t: &Term| whole.is_some_and(|w| self.bounds(made, t).is_some_and(|b| w.covers(b)));
                let wraps = self.wraps && whole.is_none_or(|w| w.lo < 0);
                term.filter(|t| !wraps || fits(t))
            };
            match (op, self.constant(a), self.constant(b)) {
                (BinOp::Mul, _, Some(k)) if k > 0 => from(a, &|t| exact(t.times(k))),
                (BinOp::Mul, Some(k), _) if k > 0 => from(b, &|t| exact(t.times(k))),
                (BinOp::Shl, _, Some(k @ 0..=30)) => from(a, &|t| exact(t.times(1 << k))),
                (BinOp::Add, _, Some(k)) => from(a, &|t| exact(t.plus(k))),
                (BinOp::Add, Some(k), _) => from(b, &|t| exact(t.plus(k))),
                (BinOp::Sub, _, Some(k)) => from(a, &|t| exact(t.plus(-k))),
                _ => {}
            }
        }
    }

    /// Whether an operand that was used at the last point of the way had the same value at all
    /// points before.
    pub fn stays(&self, operand: &Operand, way: &[Point]) -> bool {
        let Some(place) = operand.place() else { return true };
        way.windows(2).all(|hop| match *hop {
            [to, from] if from.block == to.block && from.stmt < to.stmt => !self.written(place, from, to),
            [to, from] => self.lasts(operand, from, to),
            _ => false,
        })
    }

    /// The constant that an operand is multiplied with to give this one.
    pub fn factor(&self, at: Point, operand: &Operand) -> Option<i128> {
        let (_, value) = self.assigned(at, operand)?;
        match value.as_binary()? {
            (BinOp::Mul, a, b, _) => self.constant(b).or(self.constant(a)).filter(|k| *k > 0),
            _ => None,
        }
    }

    /// The constant that is added to something to give this operand.
    pub fn addend(&self, at: Point, operand: &Operand) -> Option<i128> {
        let (_, value) = self.assigned(at, operand)?;
        match value.as_binary()? {
            (BinOp::Add, a, b, _) => self.constant(b).or(self.constant(a)).filter(|k| *k > 0),
            _ => None,
        }
    }

    /// The operand of 64 bits without a sign that this one of 64 bits with a sign was made of, and
    /// where.
    pub fn unsigned(&self, at: Point, operand: &Operand) -> Option<(Point, &'a Operand)> {
        let (made, value) = self.assigned(at, operand)?;
        let (from, to) = value.as_numeric()?;
        let have = mir::ty::operand_ty(self.cx.program, self.body, from).ok()?;
        let wide = self.type_range(have)?.hi == i128::from(u64::MAX) && self.type_range(to)?.hi == i128::from(i64::MAX);
        wide.then_some((made, from))
    }

    /// What a private local was assigned, and where: the last assignment earlier in the block, or
    /// else the only one of the body.
    fn assigned(&self, at: Point, operand: &Operand) -> Option<(Point, &'a Rvalue)> {
        let (made, found) = self.defined(at, operand)?;
        Some((made, found.kind.as_assign()?.1))
    }

    /// The statement that gave a private local what it has at a point.
    pub fn defined(&self, at: Point, operand: &Operand) -> Option<(Point, &'a Stmt)> {
        let local = self.private(operand.place()?)?;
        let stmts = |block: BlockId| self.body.blocks.get(block.0 as usize).map_or(&[][..], |b| &b.stmts);
        let here = stmts(at.block).get(..at.stmt)?.iter().enumerate().rev().find(|(_, s)| writes(&s.kind, local));
        let (block, stmt, found) = match here {
            Some((stmt, found)) => (at.block, stmt, found),
            None if local.0 < self.body.params => return None,
            None => {
                let only = self.only_writes.get_or_init(|| self.only_writes());
                let at = (*only.get(&local)?)?;
                (at.block, at.stmt, stmts(at.block).get(at.stmt)?)
            }
        };
        let dest = found.kind.as_assign().map(|(dest, _)| dest).or(found.kind.as_call().and_then(|c| c.dest.as_ref()));
        (dest?.as_local() == Some(local)).then_some((Point { block, stmt }, found))
    }

    fn only_writes(&self) -> FxHashMap<Local, Option<Point>> {
        let mut found: FxHashMap<Local, Option<Point>> = FxHashMap::default();
        for (at, s) in points(self.body) {
            stmt_places(&s.kind, &mut |place, access| {
                if let (PlaceBase::Local(local), true) = (place.base, access != Access::Read) {
                    let slot = found.entry(local).or_insert(Some(at));
                    *slot = slot.filter(|p| *p == at);
                }
            });
        }
        found
    }

    /// Whether the place is not a private local, or is written between two statements of a block.
    fn written(&self, place: &Place, from: Point, to: Point) -> bool {
        let Some(local) = self.private(place) else { return true };
        let stmts = self.body.blocks.get(from.block.0 as usize).and_then(|b| b.stmts.get(from.stmt..to.stmt));
        stmts.is_none_or(|stmts| stmts.iter().any(|s| writes(&s.kind, local)))
    }

    /// Whether the place is a local that nothing else can reach.
    pub fn is_private(&self, place: &Place) -> bool {
        self.private(place).is_some()
    }

    /// The local that the place is, if nothing else can reach it.
    fn private(&self, place: &Place) -> Option<Local> {
        let local = place.as_local()?;
        let decl = self.body.locals.get(local.0 as usize)?;
        (!decl.address_taken && !decl.ty.quals.is_volatile).then_some(local)
    }

    /// Whether the operand has at `to` the value that it had at the last time that control was at
    /// `from`, whatever way it went.
    pub fn lasts(&self, operand: &Operand, from: Point, to: Point) -> bool {
        let Some(place) = operand.place() else { return true };
        let Some(local) = self.private(place) else { return false };
        let after = |p: Point| Point { stmt: p.stmt + 1, ..p };
        let mut writes_seen = vec![];
        self.reach(after(from), from, &mut |at, stmt| {
            if writes(&stmt.kind, local) {
                writes_seen.push(at);
            }
        });
        writes_seen.into_iter().all(|at| {
            let mut met = false;
            self.reach(after(at), from, &mut |p, _| met |= p == to);
            // The end of a block is not a statement.
            let ends = self.body.blocks.get(to.block.0 as usize).is_none_or(|b| to.stmt >= b.stmts.len());
            !met && !ends
        })
    }

    /// Visits the statements that control may get to from a point without passing `stop`.
    pub fn reach(&self, from: Point, stop: Point, see: &mut dyn FnMut(Point, &Stmt)) {
        let mut seen = vec![false; self.body.blocks.len()];
        let mut work = vec![from];
        while let Some(at) = work.pop() {
            let Some(block) = self.body.blocks.get(at.block.0 as usize) else { continue };
            let mut stopped = false;
            for (stmt, s) in block.stmts.iter().enumerate().skip(at.stmt) {
                let here = Point { block: at.block, stmt };
                if here == stop {
                    stopped = true;
                    break;
                }
                see(here, s);
            }
            if stopped {
                continue;
            }
            for &next in self.cfg.successors(at.block) {
                if !std::mem::replace(seen.get_mut(next.0 as usize).unwrap_or(&mut true), true) {
                    work.push(Point { block: next, stmt: 0 });
                }
            }
        }
    }
}

fn writes(kind: &StmtKind, local: Local) -> bool {
    let mut found = false;
    stmt_places(kind, &mut |place, access| {
        found |= place.base == PlaceBase::Local(local) && access != Access::Read;
    });
    found
}
