//! What the functions of a unit are called with.
//!
//! Of a `static` function that is only ever called by its name, all calls are in the unit, so what
//! each of them passes is all that its parameters can be: the interval of each, and how far two of
//! them are apart at most. With that as what holds at its entry `removal` proves more.
//!
//! A fixed point is computed upwards: first nothing is known to be called; what the analysis of a
//! body finds to be passed by its calls, under what is known of its own, is joined in until nothing
//! changes. Then each body was gone through with all that is passed to it, so what is known holds in
//! every call, by induction on the number of calls made so far: the first one comes from a function
//! that others may call, of which nothing is supposed. What keeps growing is widened.
//!
//! Needs: the bodies that are emitted, behind `counted`. Changes nothing.

use flow::framework::Item;
use flow::ranges::{Range, Ranges, Summaries, View};
use mir::effects;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::{FuncRef, Function, Linkage};
use typing::types::Ty;

/// How often a body is gone through before what is passed to it is widened.
const PATIENCE: u32 = 3;
/// How often it is gone through before anything may be passed to it.
const MOST_VISITS: u32 = 10;
/// Functions with more parameters are not asked how far these are apart.
const MOST_COMPARED: u32 = 8;
/// Parameters that are further apart say nothing of each other.
const FAR: i128 = 1 << 40;
/// Bodies with more statements are not searched for what they pass.
const MOST_STATEMENTS: usize = 4000;

/// Attributes with which a function is still called by its name only.
const HARMLESS: [&str; 8] = ["noinline", "always_inline", "cold", "hot", "flatten", "unused", "const", "pure"];

/// What a function is called with. The default: anything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Passed {
    /// By parameter; `None`, and what is not there: any value.
    pub values: Vec<Option<Range>>,
    /// Of two parameters the first less the second is at most this; sorted.
    pub apart: Vec<(u32, u32, i128)>,
}

/// What is passed to each function that only calls of the unit reach.
#[derive(Debug, Default)]
pub struct Params {
    known: FxHashMap<FuncRef, Passed>,
    anything: Passed,
}

impl Params {
    /// What a function is called with.
    pub fn of(&self, func: &FuncRef) -> &Passed {
        self.known.get(func).unwrap_or(&self.anything)
    }

    /// Goes through the bodies that are emitted, callers first. `others` are those that no analysis
    /// looks into.
    pub fn find(
        program: &Program,
        (bodies, others): (&[&Body], &[&Body]),
        callers_first: &[usize],
        summaries: &Summaries,
    ) -> Params {
        let wanted = wanted(program, bodies, others);
        if wanted.is_empty() {
            return Params::default();
        }
        let mut search = Search { program, summaries, wanted, found: FxHashMap::default() };
        let mut visits: Vec<(Option<Passed>, u32)> = vec![(None, 0); bodies.len()];
        let mut again = true;
        while again {
            again = false;
            for &n in callers_first {
                let (Some(body), Some((before, visited))) = (bodies.get(n), visits.get_mut(n)) else { continue };
                let with = match search.wanted.contains_key(&body.func) {
                    true => search.found.get(&body.func).cloned(),
                    false => Some(Passed::default()),
                };
                let Some(mut with) = with.filter(|with| before.as_ref() != Some(with)) else { continue };
                if *visited >= MOST_VISITS {
                    with = Passed::default();
                } else if let Some(before) = before.as_ref().filter(|_| *visited >= PATIENCE) {
                    with = before.widened(&with, &compared(body));
                }
                if search.wanted.contains_key(&body.func) {
                    search.found.insert(body.func.clone(), with.clone());
                }
                *visited += 1;
                again |= search.body(body, &with);
                *before = Some(with);
            }
        }
        Params { known: search.found, anything: Passed::default() }
    }
}

impl Passed {
    /// What holds in both; whether that is less.
    fn meet(&mut self, other: &Passed) -> bool {
        let before = self.clone();
        self.values.truncate(other.values.len());
        for (old, new) in self.values.iter_mut().zip(&other.values) {
            *old = old.zip(*new).map(|(a, b)| a.hull(b));
        }
        self.apart.retain_mut(|d| {
            let there = other.apart.iter().find(|o| (o.0, o.1) == (d.0, d.1));
            d.2 = there.map_or(d.2, |o| o.2.max(d.2));
            there.is_some()
        });
        *self != before
    }

    /// Holds wherever `next` does, which holds wherever this does, and is one of few. `compared`:
    /// what the body compares with.
    fn widened(&self, next: &Passed, compared: &[i128]) -> Passed {
        let values = self.values.iter().zip(&next.values);
        let wider = |(old, new): (&Option<Range>, &Option<Range>)| match (old, new) {
            (Some(old), Some(new)) if old != new => Some(widened(*old, *new, compared)),
            _ => *new,
        };
        Passed {
            values: values.map(wider).collect(),
            apart: next.apart.iter().filter(|d| self.apart.contains(d)).copied().collect(),
        }
    }
}

/// An interval that holds `both`, which holds `old`, of few that there are: an end that moved goes
/// to the next of the numbers that the body compares with, or of the ends of types.
fn widened(old: Range, both: Range, compared: &[i128]) -> Range {
    const ENDS: [i128; 11] = [
        i64::MIN as i128,
        i32::MIN as i128,
        i16::MIN as i128,
        i8::MIN as i128,
        0,
        i8::MAX as i128,
        u8::MAX as i128,
        i16::MAX as i128,
        u16::MAX as i128,
        i32::MAX as i128,
        u32::MAX as i128,
    ];
    let known = || ENDS.iter().chain(compared).copied();
    let below = |n: i128| known().filter(|&k| k <= n).max().unwrap_or(i128::from(i64::MIN));
    let above = |n: i128| known().chain([i64::MAX.into()]).filter(|&k| k >= n).min().unwrap_or(i128::from(u64::MAX));
    let lo = if both.lo < old.lo { below(both.lo) } else { both.lo };
    let hi = if both.hi > old.hi { above(both.hi) } else { both.hi };
    Range::new(lo, hi)
}

/// The numbers that a body compares with.
fn compared(body: &Body) -> Vec<i128> {
    let mut found = vec![];
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        let Some((_, a, b, _)) = stmt.kind.value().and_then(Rvalue::comparison) else { continue };
        for operand in [a, b] {
            if let Operand::Const(Const::Int(n, _)) = operand {
                found.extend([n - 1, *n, n + 1]);
            }
        }
    }
    found
}

struct Search<'a> {
    program: &'a Program,
    summaries: &'a Summaries,
    /// The functions that are asked about.
    wanted: FxHashMap<FuncRef, &'a Body>,
    found: FxHashMap<FuncRef, Passed>,
}

impl Search<'_> {
    /// Adds what a body passes on that is called with this; whether that changes anything.
    fn body(&mut self, body: &Body, with: &Passed) -> bool {
        let stmts = || body.blocks.iter().flat_map(|b| &b.stmts);
        if !stmts().any(|s| s.kind.called().is_some_and(|f| self.wanted.contains_key(f))) {
            return false;
        }
        let small = stmts().count() <= MOST_STATEMENTS;
        let of = || Ranges::called_with(self.program, body, self.summaries, &with.values, &with.apart);
        let mut passed: Vec<(&FuncRef, Passed)> = vec![];
        match small.then(of).flatten() {
            Some(ranges) => ranges.visit(&mut |at, view, _: Item| {
                let stmt = body.blocks.get(at.block.0 as usize).and_then(|b| b.stmts.get(at.stmt));
                let Some(call) = stmt.and_then(|s| s.kind.as_call()) else { return };
                let Callee::Direct(func) = call.callee else { return };
                if let Some(callee) = self.wanted.get(func) {
                    passed.push((func, self.observe(body, callee, &view, call.args)));
                }
            }),
            None => {
                let called = stmts().filter_map(|s| s.kind.called());
                passed.extend(called.filter(|f| self.wanted.contains_key(*f)).map(|f| (f, Passed::default())));
            }
        }
        let mut changed = false;
        for (func, passed) in passed {
            changed |= match self.found.get_mut(func) {
                Some(known) => known.meet(&passed),
                None => self.found.insert(func.clone(), passed).is_none(),
            };
        }
        changed
    }

    /// What a call passes.
    fn observe(&self, body: &Body, callee: &Body, view: &View, args: &[Operand]) -> Passed {
        if args.len() != callee.params as usize {
            return Passed::default();
        }
        let types = &self.program.types;
        let is_pointer = |ty: Ty| types.as_pointer(ty).is_some();
        // A number arrives as it is if it has the parameter's type.
        let arrives = |(n, arg): (usize, &Operand)| {
            let ty = mir::ty::operand_ty(self.program, body, arg).ok()?;
            let wants = callee.locals.get(n)?.ty.ty;
            (ty == wants || is_pointer(ty) && is_pointer(wants)).then_some(())
        };
        let arrives: Vec<bool> = args.iter().enumerate().map(|a| arrives(a).is_some()).collect();
        let value = |(arg, arrives): (&Operand, &bool)| view.value(arg).filter(|r| *arrives && r.lo <= r.hi);
        let values: Vec<Option<Range>> = args.iter().zip(&arrives).map(value).collect();
        let mut apart = vec![];
        if callee.params <= MOST_COMPARED {
            let is_number = |n: usize| callee.locals.get(n).is_some_and(|d| types.as_int(d.ty.ty).is_some());
            let numbers: Vec<usize> =
                (0..args.len()).filter(|&n| arrives.get(n) == Some(&true) && is_number(n)).collect();
            for &a in &numbers {
                for &b in numbers.iter().filter(|&&b| b != a) {
                    let most = args.get(a).zip(args.get(b)).and_then(|(x, y)| view.difference(x, y));
                    apart.extend(most.filter(|most| most.abs() < FAR).map(|most| (a as u32, b as u32, most)));
                }
            }
        }
        Passed { values, apart }
    }
}

/// The functions that only calls in the unit reach, and in which something could be proven, or is
/// passed on to one that is such.
fn wanted<'a>(program: &Program, bodies: &[&'a Body], others: &[&Body]) -> FxHashMap<FuncRef, &'a Body> {
    // Assembly, and names that stand for other functions, call functions by ways that no name shows.
    let renamed = |attrs: &[String]| attrs.iter().any(|a| ["alias", "ifunc", "cleanup"].iter().any(|w| a.contains(w)));
    let mut stmts = bodies.iter().chain(others).flat_map(|b| &b.blocks).flat_map(|b| &b.stmts);
    let hidden = !program.asm.is_empty()
        || stmts.any(|s| s.kind.as_asm().is_some())
        || program.functions.iter().any(|f| renamed(&f.attrs))
        || program.globals.iter().any(|g| renamed(&g.attrs));
    if hidden {
        return FxHashMap::default();
    }
    let mut open: FxHashSet<FuncRef> = FxHashSet::default();
    for global in &program.globals {
        global.init.iter().for_each(|init| init.each_function(&mut |f| _ = open.insert(f.clone())));
    }
    let mut callers: FxHashMap<&FuncRef, Vec<&'a Body>> = FxHashMap::default();
    for body in bodies {
        effects::functions(body, &mut |f, called| match called {
            true => callers.entry(f).or_default().push(body),
            false => _ = open.insert(f.clone()),
        });
    }
    for body in others {
        effects::functions(body, &mut |f, _| _ = open.insert(f.clone()));
    }
    let is_closed = |body: &Body| {
        let function = program.functions.get(body.func.func.0 as usize);
        function.is_some_and(|f| is_closed(program, f)) && !open.contains(&body.func) && body.params > 0
    };
    let gains = |body: &&&'a Body| {
        let stmts = body.blocks.iter().flat_map(|b| &b.stmts);
        stmts.filter_map(|s| s.kind.as_check()).any(Check::is_ranged)
    };
    let mut found: FxHashMap<FuncRef, &'a Body> = FxHashMap::default();
    let mut work: Vec<&'a Body> = bodies.iter().filter(gains).copied().collect();
    while let Some(body) = work.pop() {
        if is_closed(body) && found.insert(body.func.clone(), body).is_none() {
            work.extend(callers.get(&body.func).into_iter().flatten());
        }
    }
    found
}

/// Whether nothing but its name leads to the function.
fn is_closed(program: &Program, function: &Function) -> bool {
    let harmless = |attr: &String| HARMLESS.iter().any(|word| attr.trim_matches('_') == *word);
    let fixed = program.types.as_func(function.ty).is_some_and(|f| !f.variadic && !f.unprototyped);
    function.linkage == Linkage::Internal
        && !function.old_style
        && !function.is_process
        && fixed
        && function.attrs.iter().all(harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(values: &[(i128, i128)], apart: &[(u32, u32, i128)]) -> Passed {
        Passed { values: values.iter().map(|v| Some(Range::new(v.0, v.1))).collect(), apart: apart.to_vec() }
    }

    #[test]
    fn every_call_counts() {
        let mut known = passed(&[(0, 3), (5, 5)], &[(0, 1, -2), (1, 0, 5)]);
        assert!(known.meet(&passed(&[(2, 9), (6, 6)], &[(0, 1, 2)])));
        assert_eq!(known, passed(&[(0, 9), (5, 6)], &[(0, 1, 2)]));
        assert!(!known.meet(&passed(&[(0, 0), (6, 6)], &[(0, 1, -1)])));
        assert!(known.meet(&Passed::default()));
        assert_eq!(known, Passed::default());
    }

    #[test]
    fn what_grows_ends() {
        let mut known = passed(&[(0, 0)], &[(0, 1, 0)]);
        for n in 1..20 {
            let hi = known.values.iter().flatten().map(|r| r.hi).max();
            let next = passed(&[(0, hi.map_or(0, |hi| hi + 1))], &[(0, 1, n)]);
            known = known.widened(&next, &[40]);
            if n == 1 {
                assert_eq!(known, passed(&[(0, 40)], &[]));
            }
        }
        assert_eq!(known, passed(&[(0, u64::MAX.into())], &[]));
    }
}
