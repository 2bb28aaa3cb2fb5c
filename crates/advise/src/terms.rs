//! Numbers as terms over variables: `each * count + extra`.
//!
//! A term follows what an operand was computed from in its block. The value of the operand and that
//! of the term are the same modulo the width of the operand's type, and the same if the type is
//! signed, because there an overflow is undefined.

use crate::program::Context;
use crate::rules::Rule;
use flow::framework::Point;
use flow::ranges::terms::int_range;
use flow::ranges::{Range, Ranges};
use mir::cfg::Cfg;
use mir::effects::{stmt_places, Access};
use mir::ir::*;
use typing::types::Ty;

/// How many steps back a term is followed.
const DEPTH: u32 = 8;

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
        self.back(at, at, operand, DEPTH, &mut all);
        all
    }

    fn back(&self, at: Point, end: Point, operand: &Operand, depth: u32, all: &mut Vec<Term>) {
        let Some((made, value)) = self.defined(at, operand).filter(|_| depth > 0) else { return };
        let mut from = |a: &Operand, change: &dyn Fn(Term) -> Option<Term>| {
            let unchanged = a.place().is_none_or(|p| !self.written(p, made, end));
            let mut below = vec![];
            if unchanged {
                below.push(Term { count: a.clone(), each: 1, extra: 0 });
            }
            self.back(made, end, a, depth - 1, &mut below);
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
        } else if let Some((op, a, b, _)) = value.as_binary() {
            match (op, self.constant(a), self.constant(b)) {
                (BinOp::Mul, _, Some(k)) if k > 0 => from(a, &|t| t.times(k)),
                (BinOp::Mul, Some(k), _) if k > 0 => from(b, &|t| t.times(k)),
                (BinOp::Shl, _, Some(k @ 0..=30)) => from(a, &|t| t.times(1 << k)),
                (BinOp::Add, _, Some(k)) => from(a, &|t| t.plus(k)),
                (BinOp::Add, Some(k), _) => from(b, &|t| t.plus(k)),
                (BinOp::Sub, _, Some(k)) => from(a, &|t| t.plus(-k)),
                _ => {}
            }
        }
    }

    /// The constant that an operand is multiplied with to give this one.
    pub fn factor(&self, at: Point, operand: &Operand) -> Option<i128> {
        let (_, value) = self.defined(at, operand)?;
        match value.as_binary()? {
            (BinOp::Mul, a, b, _) => self.constant(b).or(self.constant(a)).filter(|k| *k > 0),
            _ => None,
        }
    }

    /// What a temporary was assigned earlier in the block, and where.
    fn defined(&self, at: Point, operand: &Operand) -> Option<(Point, &'a Rvalue)> {
        let local = operand.place()?.as_local()?;
        self.body.locals.get(local.0 as usize).filter(|l| l.kind == LocalKind::Temp)?;
        let block = self.body.blocks.get(at.block.0 as usize)?;
        let last = block.stmts.get(..at.stmt)?.iter().enumerate().rev().find(|(_, s)| writes(&s.kind, local));
        let (stmt, found) = last?;
        let (dest, value) = found.kind.as_assign()?;
        (dest.as_local() == Some(local)).then_some((Point { block: at.block, stmt }, value))
    }

    /// Whether the place is no private local, or is written between two statements of a block.
    fn written(&self, place: &Place, from: Point, to: Point) -> bool {
        let Some(local) = self.private(place) else { return true };
        let stmts = self.body.blocks.get(from.block.0 as usize).and_then(|b| b.stmts.get(from.stmt..to.stmt));
        stmts.is_none_or(|stmts| stmts.iter().any(|s| writes(&s.kind, local)))
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
            // The end of a block is no statement.
            let ends = self.body.blocks.get(to.block.0 as usize).is_none_or(|b| to.stmt >= b.stmts.len());
            !met && !ends
        })
    }

    /// Visits the statements that control may get to from a point without passing `stop`.
    fn reach(&self, from: Point, stop: Point, see: &mut dyn FnMut(Point, &Stmt)) {
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
