//! Heap to stack: a unique object of bounded size that the function itself frees on every path, and
//! that never leaves it, lives in the function's frame.
//!
//! After Choi, Gupta, Serrano, Sreedhar and Midkiff, "Escape Analysis for Java" (OOPSLA 1999);
//! ownership makes it much simpler: only owners need to be followed, which `escape::owners` does,
//! on the lattice that the advisor uses for plain C. If the value of an allocation is moved between
//! locals of the function alone, and each of its paths ends in a `Dispose` there, then no pointer
//! to it is read after its `Dispose`: so none is when the function returns, or when the same
//! allocation runs again. A variable may still hold one there, which nothing reads (a loan ends
//! with the last use of what holds it, not with a scope), so no transform may move a read of such
//! a variable down past a `Dispose`.
//!
//! Needs: bodies whose ownership was checked, without type parameters. Changes: `alloc` becomes the
//! address of a local of kind `Cell`, which is zeroed there as the heap would have done; `Dispose`
//! of it drops what it owns. A cell is `live` from its allocation to its end, and poisoned outside
//! for sanitizers. Guarantees: nothing that a program can see changes but where the object lies.
//! Frames grow by at most [`FRAME_SHARE`] objects' bytes, and not at all in functions that call
//! themselves.

pub mod helpers;
pub mod reuse;

use self::helpers::Helpers;
use escape::owners::{follow_owners, is_owner, spread, Found, Freed, MOST_SITES};
use flow::framework::{points, Point};
use flow::ranges::{Range, Ranges, Summaries};
use mir::ir::*;
use mir::ty::owns;
use rustc_hash::{FxHashMap, FxHashSet};
use source::Span;
use typing::tree::FuncId;
use typing::types::{ArrayLen, Qty, Ty, TyKind, TypeStore};

/// How many objects of the largest size a frame takes.
pub const FRAME_SHARE: u64 = 8;
/// What the heap promises of an address.
const ALIGN: u64 = 16;

/// What became of an allocation, for those who ask.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The allocation.
    pub span: Span,
    /// Where it lies now, or why it stays in the heap.
    pub outcome: Outcome,
}

/// Where an object lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// In the frame: that many bytes, freed at these places.
    Stack(u64, Vec<Span>),
    /// In the heap, for this reason, which is seen there.
    Heap(String, Span),
    /// In the heap, because it may be too large. It dies in its function. Only `judge` says so.
    Large {
        /// Bytes at least.
        least: u64,
        /// Bytes at most, if there is a bound.
        most: Option<u64>,
        /// Where it is freed.
        freed: Vec<Span>,
    },
    /// In the heap, because a function that is called here makes it. It dies in its function. Only
    /// `judge` says so.
    Made {
        /// Bytes at least.
        least: u64,
        /// Bytes at most, if there is a bound.
        most: Option<u64>,
        /// Where it is freed.
        freed: Vec<Span>,
    },
    /// It takes the memory of what was freed there.
    Reused(Span),
}

/// An allocation.
#[derive(Clone, Debug)]
struct Site {
    /// Its statement.
    at: Point,
    /// The local that it is assigned to.
    dest: Local,
    /// Type of the elements.
    elem: Ty,
    /// Elements that there may be, a hidden zero included; 0 if there is no bound.
    elements: u64,
    /// Bytes that it takes at least.
    least: u64,
    /// Bytes that it takes at most, if there is a bound.
    bytes: Option<u64>,
    /// Where it stands.
    span: Span,
    /// Whether it is a call of a function that makes the object.
    called: bool,
}

/// Functions that may be entered again while they run, by direct calls.
#[derive(Debug, Default)]
pub struct Recursion {
    calls: FxHashMap<FuncId, Vec<FuncId>>,
}

impl Recursion {
    /// Reads who calls whom.
    pub fn of<'b>(bodies: impl Iterator<Item = &'b Body>) -> Recursion {
        let mut calls: FxHashMap<FuncId, Vec<FuncId>> = FxHashMap::default();
        for body in bodies {
            let callees = calls.entry(body.func.func).or_default();
            for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
                if let Some(f) = stmt.kind.called() {
                    if !callees.contains(&f.func) {
                        callees.push(f.func);
                    }
                }
            }
        }
        Recursion { calls }
    }

    /// Whether the function gets back to itself.
    fn has(&self, func: FuncId) -> bool {
        let mut seen = FxHashSet::default();
        let mut work: Vec<FuncId> = self.calls.get(&func).cloned().unwrap_or_default();
        while let Some(next) = work.pop() {
            if next == func {
                return true;
            }
            if seen.insert(next) {
                work.extend(self.calls.get(&next).into_iter().flatten());
            }
        }
        false
    }
}

/// Why an object that is too large stays in the heap.
pub const TOO_LARGE: &str = "its size is not known to be small enough";

/// Moves what it can of one body to the stack; `most` is the size in bytes of the largest object.
pub fn run(program: &mut Program, body: &mut Body, most: u64, recursion: &Recursion, placed: &mut Vec<Placed>) {
    let decided = decide(program, body, (most, None), recursion, placed);
    let moved: Vec<(&Site, bool)> = decided.sites.iter().zip(decided.on_stack.iter().copied()).collect();
    if moved.iter().all(|m| !m.1) {
        return;
    }
    let types = &mut program.types;
    let cells: Vec<Option<Local>> =
        moved.iter().map(|(site, moves)| moves.then(|| new_cell(types, body, site))).collect();
    rewrite(program, body, &decided.sites, &cells, &decided.freed);
}

/// Says of every allocation of one body what `run` makes of it, of those that are too large whether
/// they die in the function, and of calls of `helpers` whether what they make dies here.
pub fn judge(program: &Program, body: &Body, most: u64, recursion: &Recursion, helpers: &Helpers) -> Vec<Placed> {
    let mut placed = vec![];
    decide(program, body, (most, Some(&Helpers::default())), recursion, &mut placed);
    if helpers.are_called(body) {
        // Apart, for the compiler does not follow calls.
        let mut more = vec![];
        decide(program, body, (most, Some(helpers)), recursion, &mut more);
        placed.extend(more.into_iter().filter(|p| matches!(p.outcome, Outcome::Made { .. })));
    }
    placed
}

/// What is to be done in a body.
#[derive(Default)]
struct Decided {
    sites: Vec<Site>,
    /// By site.
    on_stack: Vec<bool>,
    freed: Vec<Freed>,
}

/// Decides about the sites of a body; `large`: those that are too large are followed, too, and
/// calls of these helpers.
fn decide(
    program: &Program,
    body: &Body,
    (most, large): (u64, Option<&Helpers>),
    recursion: &Recursion,
    placed: &mut Vec<Placed>,
) -> Decided {
    let sites = sites(program, body, (most, large), placed);
    if sites.is_empty() {
        return Decided::default();
    }
    let stays = |why: &str, at: Span| Outcome::Heap(why.to_string(), at);
    let whole = if recursion.has(body.func.func) {
        Some("the function may call itself, and would need a deeper stack")
    } else if mir::twice::returns_twice(program, body) {
        Some("the function may be returned to twice")
    } else {
        None
    };
    if let Some(why) = whole {
        placed.extend(sites.iter().map(|s| Placed { span: s.span, outcome: stays(why, body.span) }));
        return Decided::default();
    }
    let found = followed(program, body, &sites);
    let mut room = most.saturating_mul(FRAME_SHARE);
    let mut on_stack = vec![false; sites.len()];
    for (n, site) in sites.iter().enumerate() {
        let freed = || found.freed.iter().filter(|f| f.has(n)).map(|f| f.span).collect();
        let small = site.bytes.filter(|&bytes| bytes <= most);
        let outcome = match found.refused.get(n).and_then(Option::as_ref).filter(|_| !source::broken!(38)) {
            Some((why, at)) => stays(why, *at),
            None if site.called => Outcome::Made { least: site.least, most: site.bytes, freed: freed() },
            None => match small {
                None => Outcome::Large { least: site.least, most: site.bytes, freed: freed() },
                Some(bytes) if bytes > room => {
                    stays("the function has many such objects, and frames stay small", body.span)
                }
                Some(bytes) => {
                    room -= bytes;
                    if let Some(slot) = on_stack.get_mut(n) {
                        *slot = true;
                    }
                    Outcome::Stack(bytes, freed())
                }
            },
        };
        placed.push(Placed { span: site.span, outcome });
    }
    // One object that could not go to the stack keeps those in the heap that are freed with it.
    let mixed: Vec<usize> = spread(&found.freed, sites.len(), &|n| on_stack.get(n) != Some(&true));
    for n in mixed {
        if let Some(slot) = on_stack.get_mut(n) {
            *slot = false;
        }
        let span = sites.get(n).map_or(Span::NONE, |s| s.span);
        placed.retain(|p| p.span != span);
        placed.push(Placed { span, outcome: stays("what is freed here may be another object of the heap", span) });
    }
    Decided { sites, on_stack, freed: found.freed }
}

/// Follows the objects. One that owns others must end where it is known which parts are left.
fn followed(program: &Program, body: &Body, sites: &[Site]) -> Found {
    let points: Vec<Point> = sites.iter().map(|s| s.at).collect();
    let mut found = follow_owners(program, body, &points);
    for freed in found.freed.clone() {
        let stmt = body.blocks.get(freed.at.block.0 as usize).and_then(|b| b.stmts.get(freed.at.stmt));
        let Some(Disposal { moved, .. }) = stmt.and_then(|s| s.kind.as_dispose()) else { continue };
        let deep = moved.iter().any(|path| path.contains(&Proj::Deref));
        for n in freed.sites() {
            let owned = sites.get(n).is_some_and(|s| owns(&program.types, s.elem));
            if owned && (deep || freed.only().is_none()) {
                found.refuse(n, "what it owns ends here in a way that only the heap can tell", freed.span);
            }
        }
    }
    found
}

/// Allocations of a size that is small enough; `large`: of any size, and calls of these helpers.
fn sites(
    program: &Program,
    body: &Body,
    (most, large): (u64, Option<&Helpers>),
    placed: &mut Vec<Placed>,
) -> Vec<Site> {
    let mut sites = vec![];
    let mut ranges: Option<Option<Ranges>> = None;
    let summaries = Summaries::default();
    for (at, stmt) in points(body) {
        if let Some((dest, made)) = large.and_then(|helpers| helpers.called(stmt)) {
            if is_owner(program, body, dest) && sites.len() < MOST_SITES && !stmt.is_unsafe {
                sites.push(Site { at, dest, span: stmt.span, called: true, ..made.clone() });
            }
            continue;
        }
        let Some((dest, value)) = stmt.kind.as_assign() else { continue };
        let Some(Allocation {
            elem,
            count,
            extra: None,
            hidden_zero,
            fallible: false,
            handle: None,
            counted: false,
            ..
        }) = value.as_alloc()
        else {
            continue;
        };
        let (Some(dest), false) = (dest.as_local(), stmt.is_unsafe) else { continue };
        if !is_owner(program, body, dest) || sites.len() >= MOST_SITES {
            continue;
        }
        let elements = match count {
            Operand::Const(Const::Int(n, _)) => Some(Range::single(*n)),
            Operand::Const(_) => None,
            _ => {
                let known = ranges.get_or_insert_with(|| Ranges::of(program, body, &summaries));
                known.as_ref().and_then(|r| r.value_at(at, count)).filter(|r| r.lo >= 0)
            }
        };
        let size = program.types.layout(*elem).filter(|l| l.align <= ALIGN).map(|l| l.size);
        let with_end = |n: i128| u64::try_from(n).ok()?.max(1).checked_add(u64::from(hidden_zero));
        let least = elements.and_then(|r| with_end(r.lo)?.checked_mul(size?)).unwrap_or(0);
        let elements = elements.and_then(|r| with_end(r.hi));
        let bytes = elements.zip(size).and_then(|(n, size)| n.checked_mul(size)).filter(|b| *b > 0);
        if large.is_some() || bytes.is_some_and(|b| b <= most) {
            let elements = elements.unwrap_or(0);
            sites.push(Site { at, dest, elem: *elem, elements, least, bytes, span: stmt.span, called: false });
        } else {
            let outcome = Outcome::Heap(TOO_LARGE.to_string(), stmt.span);
            placed.push(Placed { span: stmt.span, outcome });
        }
    }
    sites
}

/// The local that stands for the object.
fn new_cell(types: &mut TypeStore, body: &mut Body, site: &Site) -> Local {
    let elem = Qty::plain(site.elem);
    let ty = match site.elements {
        1 => site.elem,
        n => types.intern(TyKind::Array { elem, len: ArrayLen::Const(n), terminated: false }),
    };
    let local = Local(body.locals.len() as u32);
    body.locals.push(LocalDecl {
        name: None,
        ty: Qty::plain(ty),
        kind: LocalKind::Cell,
        scope: ScopeId(0),
        address_taken: true,
        slot: false,
        heap: false,
        align: Some(ALIGN),
        span: site.span,
        uses: vec![],
    });
    local
}

/// Writes the cells into the body.
fn rewrite(program: &Program, body: &mut Body, sites: &[Site], cells: &[Option<Local>], freed: &[Freed]) {
    let long = program.types.common.long;
    let cell_of = |n: usize| cells.get(n).copied().flatten();
    let made: FxHashMap<_, (usize, Local)> =
        sites.iter().enumerate().filter_map(|(n, s)| Some((s.at, (n, cell_of(n)?)))).collect();
    let ended: FxHashMap<_, &Freed> =
        freed.iter().filter(|f| f.sites().any(|n| cell_of(n).is_some())).map(|f| (f.at, f)).collect();
    for (b, block) in body.blocks.iter_mut().enumerate() {
        let old = std::mem::take(&mut block.stmts);
        for (n, stmt) in old.into_iter().enumerate() {
            let at = Point { block: BlockId(b as u32), stmt: n };
            let (span, is_unsafe) = (stmt.span, stmt.is_unsafe);
            let mut push = |kind| block.stmts.push(Stmt { kind, span, is_unsafe });
            if let Some(&(n, cell)) = made.get(&at) {
                let Some(site) = sites.get(n) else { continue };
                let first = match site.elements {
                    1 => Place::local(cell),
                    _ => Place::local(cell).then(Proj::Index(Operand::Const(Const::Int(0, long)))),
                };
                push(StmtKind::StorageLive(cell));
                push(StmtKind::Zero(Place::local(cell)));
                push(StmtKind::set(site.dest, Rvalue::AddrOf(first)));
            } else if let (Some(freed), Some(Disposal { value, moved, .. })) = (ended.get(&at), stmt.kind.as_dispose())
            {
                // `realloc` frees the old block as bytes: what its elements own went with them.
                let freed_as = value.place().and_then(Place::as_local).and_then(|l| body.locals.get(l.0 as usize));
                let freed_as = freed_as.and_then(|d| program.types.as_pointer(d.ty.ty));
                let as_bytes = freed_as.is_some_and(|p| !owns(&program.types, p.target.ty));
                // Which object it is, is known only where it can be but one.
                let only = freed.only().and_then(|n| Some((sites.get(n)?, cell_of(n)?)));
                let Some((site, cell)) = only else { continue };
                if owns(&program.types, site.elem) && !as_bytes && !moved.iter().any(Vec::is_empty) {
                    for part in moved {
                        let proj = part.clone();
                        push(StmtKind::Zero(Place { base: PlaceBase::Local(cell), proj }));
                    }
                    push(StmtKind::DropSlot(Place::local(cell)));
                }
                push(StmtKind::StorageDead(cell));
            } else {
                block.stmts.push(stmt);
            }
        }
    }
}
