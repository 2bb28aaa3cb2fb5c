//! Intervals of what functions return, bottom-up.

use super::parameters::Parameters;
use super::widened;
use crate::program::{is_internal, symbol};
use crate::recursion::{groups, is_cycle};
use crate::rules::Rule;
use crate::verdict::key;
use escape::privacy::is_never_written;
use flow::framework::Point;
use flow::ranges::terms::int_range;
use flow::ranges::{whole, Compared, Range, Ranges, Summaries};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::{FuncId, FuncRef};

/// Functions with more blocks are not asked for what they return: that is rarely narrow.
const MOST_BLOCKS: usize = 24;
/// Rounds over a group of functions that call each other, before what they return is widened.
const PATIENCE: usize = 8;
/// Rounds over a group of functions that call each other, after which nothing is known of them.
const MOST_ROUNDS: usize = 40;

/// A result that is farther from an argument says nothing about it.
const NEAR: i128 = 64;

/// What functions return, by key (`verdict::key`), if that says more than the type.
pub type Results = FxHashMap<String, Returned>;

/// What a function returns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Returned {
    /// Its interval, if it is narrower than the type.
    pub range: Option<Range>,
    /// How it compares with its arguments.
    pub compared: Vec<Compared>,
}

/// A body, and what it is called with as far as that is known.
#[derive(Clone, Copy)]
struct Member<'a> {
    body: &'a Body,
    with: &'a [Option<Range>],
}

impl Returned {
    fn note(&self, func: &FuncRef, summaries: &mut Summaries) {
        if let Some(range) = self.range {
            summaries.note(func, range);
        }
        summaries.note_compared(func, self.compared.clone());
    }
}

/// The results that concern a unit, for the analysis of its bodies.
pub fn of_program(all: &Results, program: &Program, unit: usize) -> Summaries {
    let mut summaries = Summaries::default();
    for n in 0..program.functions.len() {
        let func = FuncRef { func: FuncId(n as u32), args: [].into() };
        if let Some(known) = all.get(&key(program, unit, &func)) {
            known.note(&func, &mut summaries);
        }
    }
    summaries
}

/// Those that concern a unit.
pub fn concerning(all: &Results, program: &Program, unit: usize) -> Results {
    let funcs = (0..program.functions.len()).map(|n| FuncRef { func: FuncId(n as u32), args: [].into() });
    let keys = funcs.map(|func| key(program, unit, &func));
    keys.filter_map(|key| Some((key.clone(), all.get(&key)?.clone()))).collect()
}

/// Adds what the functions of a unit return. `others`: what those of other units do; `parameters`:
/// what the functions are called with, as far as that is known.
pub fn collect(program: &Program, unit: usize, (others, parameters): (&Results, &Parameters), found: &mut Results) {
    let bodies: Vec<&Body> = program.bodies.iter().filter(|b| is_wanted(program, b)).collect();
    let numbers: FxHashMap<&FuncRef, usize> = bodies.iter().enumerate().map(|(n, b)| (&b.func, n)).collect();
    let callees = |body: &Body| {
        let stmts = body.blocks.iter().flat_map(|b| &b.stmts);
        stmts.filter_map(|s| numbers.get(s.kind.called()?).copied()).collect::<Vec<usize>>()
    };
    let next: Vec<Vec<usize>> = bodies.iter().map(|b| callees(b)).collect();
    let with = |body: &Body| parameters.get(&key(program, unit, &body.func)).map_or(&[][..], |with| with);
    let mut known = of_program(others, program, unit);
    for group in groups(&next) {
        let members: Vec<Member> =
            group.iter().filter_map(|&n| bodies.get(n).map(|body| Member { body, with: with(body) })).collect();
        let all: Vec<Returned> = match is_cycle(&next, &group) {
            true => {
                let ranges = together(program, &members, &mut known);
                ranges.into_iter().map(|range| Returned { range, ..Returned::default() }).collect()
            }
            false => members.iter().map(|member| alone(program, *member, &known)).collect(),
        };
        for (Member { body, .. }, mut returned) in members.iter().zip(all) {
            returned.range = returned.range.filter(|&r| whole(program, body) != Some(r));
            if returned != Returned::default() {
                returned.note(&body.func, &mut known);
                found.insert(key(program, unit, &body.func), returned);
            }
        }
    }
}

/// What a body returns that does not call itself.
fn alone(program: &Program, Member { body, with }: Member, known: &Summaries) -> Returned {
    let Some(ranges) = Ranges::with_params(program, body, known, with) else { return Returned::default() };
    let range = Summaries::returned(body, &ranges).flatten();
    // Without a prototype the argument may be wider than the parameter, and change on the way.
    let old = program.functions.get(body.func.func.0 as usize).is_none_or(|f| f.old_style);
    let is_number = |n: &u32| {
        let decl = body.locals.get(*n as usize);
        decl.is_some_and(|d| int_range(&program.types, d.ty.ty).is_some()) && !old
    };
    let kept = (0..body.params).filter(is_number).filter(|&n| is_never_written(body, Local(n)));
    let compared = kept.filter_map(|n| compared(body, &ranges, n)).collect();
    Returned { range, compared }
}

/// How all that a body returns compares with a parameter, which has its value all along.
fn compared(body: &Body, ranges: &Ranges, param: u32) -> Option<Compared> {
    let argument = Operand::local(Local(param));
    let (mut above, mut below) = (None, None);
    for (n, block) in body.blocks.iter().enumerate() {
        let at = Point { block: BlockId(n as u32), stmt: block.stmts.len() };
        let Some(result) = block.term.kind.returned().filter(|_| ranges.is_reached(at.block)) else { continue };
        let most = ranges.difference_at(at, result, &argument)?;
        let least = ranges.difference_at(at, &argument, result)?;
        above = Some(above.unwrap_or(most).max(most));
        below = Some(below.unwrap_or(least).max(least));
    }
    let near = |c: Option<i128>| c.filter(|c| c.abs() <= NEAR);
    let compared = Compared { param, above: near(above), below: near(below) };
    (compared.above.is_some() || compared.below.is_some()).then_some(compared)
}

/// Whether the function is one to ask: small, and no other body can stand in its place.
fn is_wanted(program: &Program, body: &Body) -> bool {
    let replaced = program.functions.get(body.func.func.0 as usize).is_none_or(|f| f.is_replaceable());
    body.blocks.len() <= MOST_BLOCKS && (!replaced || !Rule::Replaced.holds()) && whole(program, body).is_some()
}

/// What a body returns, with what is known; `Some(None)`: no path of it does.
fn returned(program: &Program, Member { body, with }: Member, known: &Summaries) -> Option<Option<Range>> {
    Summaries::returned(body, &Ranges::with_params(program, body, known, with)?)
}

/// What the bodies of a group return that call each other; `None`: anything.
fn together(program: &Program, members: &[Member], known: &mut Summaries) -> Vec<Option<Range>> {
    let forget = |known: &mut Summaries| {
        for Member { body, .. } in members {
            known.suppose_never(&body.func, false);
            known.forget(&body.func);
        }
    };
    let nothing = vec![None; members.len()];
    let mut grown: Vec<Option<Range>> = vec![None; members.len()];
    members.iter().for_each(|member| known.suppose_never(&member.body.func, true));
    let mut settled = false;
    for round in 0..MOST_ROUNDS {
        let mut changed = false;
        for (member, slot) in members.iter().zip(&mut grown) {
            let Some(found) = returned(program, *member, known) else {
                forget(known);
                return nothing;
            };
            let Some(found) = found else { continue };
            let both = slot.map_or(found, |old| old.hull(found));
            if *slot == Some(both) {
                continue;
            }
            let range = slot.filter(|_| round > PATIENCE).map_or(both, |old| widened(old, both));
            *slot = Some(range);
            known.suppose_never(&member.body.func, false);
            known.note(&member.body.func, range);
            changed = true;
        }
        settled = !changed || !Rule::ResultsFixed.holds();
        if settled {
            break;
        }
    }
    if !settled {
        forget(known);
        return nothing;
    }
    // Downwards again. What never returns is left alone.
    let lowered: Vec<Option<Range>> =
        members.iter().map(|member| returned(program, *member, known).flatten()).collect();
    forget(known);
    lowered
}

/// The results of functions that other units may call; of two with one name none.
pub fn exported(program: &Program, unit: usize, own: &Results, all: &mut Results, several: &mut FxHashSet<String>) {
    for body in program.bodies.iter().filter(|b| !is_internal(program, &b.func)) {
        let Some(name) = symbol(program, &body.func) else { continue };
        if !several.insert(name.clone()) {
            all.remove(&name);
        } else if let Some(returned) = own.get(&key(program, unit, &body.func)) {
            all.insert(name, returned.clone());
        }
    }
}
