//! What functions do with the pointers they are given, and whether they return a fresh object:
//! bottom-up.
//!
//! A summary starts as if the function did nothing and only grows (`Summary::join`), so recursion
//! ends at the least fixed point, which is what every run obeys: a pointer is kept only by a finite
//! chain of calls.

use crate::allocators::{Role, Table};
use crate::events::{Events, Kind};
use crate::follow::{follow, Seed};
use crate::privacy::{is_looked_through, is_never_written};
use crate::program::{Context, Externals};
use crate::rules::Rule;
use crate::situation::Value;
use flow::framework::points;
use flow::ranges::Range;
use mir::cfg::Cfg;
use mir::effects::{stmt_places, Access};
use mir::ir::*;
use std::hash::{Hash, Hasher};
use typing::types::TyKind;

/// Whether a function releases an argument.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum Frees {
    /// On no path.
    #[default]
    Never,
    /// On every path that returns.
    Always,
    /// On some paths.
    Sometimes,
}

/// What a function does with one pointer argument.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub struct Param {
    /// Why it may keep it, if it may.
    pub kept: Option<String>,
    /// Whether it releases it.
    pub frees: Frees,
    /// Whether it may return a pointer to or into it.
    pub returned: bool,
    /// Whether it returns nothing but the argument as it was.
    pub gives_back: bool,
    /// The strictest alignment that it wants of what is pointed at.
    pub align: u64,
    /// Which of its bytes are read or written.
    pub touched: Touched,
    /// The functions that get it: of a parameter with a function, and the number of the argument.
    pub calls: Vec<(u32, u32)>,
    /// Of the address of a pointer variable: why the function may keep or change what that has, if
    /// it may. It may read and write the object without a bound.
    pub inner_kept: Option<String>,
    /// The alignment that it wants of that object.
    pub inner_align: u64,
    /// Of a list of arguments: why it may keep what it takes from it, if it may.
    pub list_kept: Option<String>,
}

/// Which bytes of an object a function reads or writes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub struct Touched {
    /// Without a bound that is known.
    pub open: bool,
    /// So many from the start.
    pub bytes: u64,
    /// As many from the start as these arguments say.
    pub lengths: Vec<u32>,
    /// A string from the start, which is read.
    pub text: bool,
}

impl Param {
    /// Anything may become of it.
    fn unknown(why: &str) -> Param {
        let kept = Some(why.to_string());
        Param {
            kept: kept.clone(),
            touched: Touched { open: true, ..Touched::default() },
            inner_kept: kept.clone(),
            list_kept: kept,
            ..Param::default()
        }
    }
}

impl Touched {
    /// Whether it writes nothing, because it reads a string at most.
    pub fn only_reads_text(&self) -> bool {
        !self.open && self.bytes == 0 && self.lengths.is_empty()
    }

    fn join(&mut self, old: &Touched) {
        self.open |= old.open;
        self.bytes = self.bytes.max(old.bytes);
        self.text |= old.text;
        self.lengths.extend(&old.lengths);
        self.lengths.sort_unstable();
        self.lengths.dedup();
    }
}

/// A fresh object that a function returns.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Fresh {
    /// Bytes, if that is a constant.
    pub bytes: Option<u64>,
    /// The parameter that is the size, if the function passes it on unchanged.
    pub size_param: Option<u32>,
    /// Whether it never returns null.
    pub never_fails: bool,
    /// Whether the object is zeroed by its allocator.
    pub zeroed: bool,
}

/// What is known of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub struct Summary {
    /// By parameter.
    pub params: Vec<Param>,
    /// Why it may keep what it is given among variable arguments, if it may.
    pub rest_kept: Option<String>,
    /// Whether it returns a fresh object, or null, and does nothing else with it.
    pub fresh: Option<Fresh>,
    /// Whether it never returns.
    pub never_returns: bool,
    /// Whether all it does is release its first argument.
    pub only_releases: bool,
    /// Of an external function: the unit that defines it.
    pub unit: Option<usize>,
    /// Of an external function: whether several units define it.
    pub several: bool,
}

impl Summary {
    /// Whether the result may point to or into argument `n`.
    pub fn returns(&self, n: usize) -> bool {
        self.params.get(n).is_some_and(|p| p.returned)
    }

    /// Adds what the definition in a unit says to what is known under its name; true if that changes
    /// something. Of definitions in several units (programs of one folder, say) any may be meant;
    /// then each fact only gets weaker, so that the exchange between units ends.
    pub fn add(&mut self, new: &Summary, unit: usize) -> bool {
        let mut both = Summary { unit: Some(unit), several: self.several, ..new.clone() };
        if self.unit.is_some_and(|other| other != unit) {
            both.several = true;
        }
        if self.params.len() != both.params.len() {
            both.params = vec![Param::unknown("it is defined in two ways"); self.params.len().max(both.params.len())];
            both.fresh = None;
        }
        if both.several {
            both.unit = self.unit;
            both.fresh = both.fresh.filter(|f| self.fresh.as_ref() == Some(f));
            both.never_returns &= self.never_returns;
            both.only_releases &= self.only_releases;
            for (new, old) in both.params.iter_mut().zip(&self.params) {
                new.gives_back &= old.gives_back;
                // Freed by one and not by the other.
                if new.frees != old.frees {
                    new.frees = Frees::Sometimes;
                }
            }
        }
        self.join(both)
    }

    /// What both say. Once something may happen it stays so.
    fn join(&mut self, mut new: Summary) -> bool {
        for (old, new) in self.params.iter().zip(&mut new.params) {
            if old.kept.is_some() {
                new.kept.clone_from(&old.kept);
            }
            new.frees = new.frees.max(old.frees);
            new.gives_back &= old.gives_back || !old.returned;
            new.returned |= old.returned;
            new.align = new.align.max(old.align);
            new.touched.join(&old.touched);
            new.calls.extend(&old.calls);
            new.calls.sort_unstable();
            new.calls.dedup();
            new.inner_align = new.inner_align.max(old.inner_align);
            if old.inner_kept.is_some() {
                new.inner_kept.clone_from(&old.inner_kept);
            }
            if old.list_kept.is_some() {
                new.list_kept.clone_from(&old.list_kept);
            }
        }
        if self.rest_kept.is_some() {
            new.rest_kept.clone_from(&self.rest_kept);
        }
        let changed = *self != new;
        *self = new;
        changed
    }
}

/// How often the functions of a unit are gone through before recursion is given up.
const MOST_ROUNDS: usize = 12;

/// Summaries of the functions that a unit defines, and from what they were computed.
#[derive(Debug, Default)]
pub struct Summaries {
    /// By `FuncId`; `None`: not defined here.
    pub own: Vec<Option<Summary>>,
    /// By body: a hash of the summaries of its callees that its own was computed from.
    inputs: Vec<Option<u64>>,
}

/// Summaries of all functions that the unit defines. A body whose callees have the summaries that
/// they had when it was summed up last is not gone through again.
pub fn summarise(program: &Program, table: &Table, externals: &Externals, all: &mut Summaries) {
    let Summaries { own, inputs } = all;
    if own.len() != program.functions.len() {
        *own = vec![None; program.functions.len()];
        *inputs = vec![None; program.bodies.len()];
        for body in &program.bodies {
            let params = vec![Param::default(); body.params as usize];
            if let Some(slot) = own.get_mut(body.func.func.0 as usize) {
                *slot = Some(Summary { params, ..Summary::default() });
            }
        }
    }
    let order = callees_first(program);
    for round in 0..MOST_ROUNDS {
        let mut changed = false;
        for &n in &order {
            let Some(body) = program.bodies.get(n) else { continue };
            let cx = Context { program, table, own, externals };
            let input = Some(input(&cx, body));
            if inputs.get(n) == Some(&input) {
                continue;
            }
            let new = of_body(&cx, body);
            if let Some(slot) = inputs.get_mut(n) {
                *slot = input;
            }
            let Some(Some(old)) = own.get_mut(body.func.func.0 as usize) else { continue };
            changed |= old.join(new);
            if round + 1 == MOST_ROUNDS && changed {
                let unknown = Param::unknown("its recursion is too deep to follow");
                old.params.iter_mut().for_each(|p| p.clone_from(&unknown));
                old.rest_kept = Some("its recursion is too deep to follow".to_string());
                old.fresh = None;
                old.never_returns = false;
            }
        }
        if !changed || !Rule::FixedPoint.holds() {
            return;
        }
    }
}

/// A hash of what is known of the functions that a body names.
fn input(cx: &Context, body: &Body) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        stmt_places(&stmt.kind, &mut |place, _| {
            crate::tables::each_function(cx.program, place, &mut |f| {
                cx.summary(&Callee::Direct(f.clone())).hash(&mut hasher);
            });
        });
        if let Some(Call { callee, args, .. }) = stmt.kind.as_call() {
            cx.summary(callee).hash(&mut hasher);
            // Comparisons that qsort calls.
            args.iter().for_each(|a| named(cx, a, &mut hasher));
        }
        if let Some(value) = stmt.kind.value() {
            mir::effects::rvalue_operands(value, &mut |a| named(cx, a, &mut hasher));
        }
    }
    hasher.finish()
}

fn named(cx: &Context, operand: &Operand, hasher: &mut rustc_hash::FxHasher) {
    if let Operand::Const(Const::Func(func)) = operand {
        cx.summary(&Callee::Direct(func.clone())).hash(hasher);
    }
}

/// Bodies, each after those that it calls but for recursion.
pub fn callees_first(program: &Program) -> Vec<usize> {
    let mut body_of = vec![usize::MAX; program.functions.len()];
    for (n, body) in program.bodies.iter().enumerate() {
        if let Some(slot) = body_of.get_mut(body.func.func.0 as usize) {
            *slot = n;
        }
    }
    let callees: Vec<Vec<usize>> = program
        .bodies
        .iter()
        .map(|body| {
            let stmts = body.blocks.iter().flat_map(|b| &b.stmts);
            let called = stmts.filter_map(|s| body_of.get(s.kind.called()?.func.0 as usize).copied());
            called.filter(|&n| n != usize::MAX).collect()
        })
        .collect();
    let mut order = vec![];
    let mut seen = vec![false; program.bodies.len()];
    for root in 0..program.bodies.len() {
        let mut stack = vec![(root, 0usize)];
        if std::mem::replace(seen.get_mut(root).unwrap_or(&mut true), true) {
            continue;
        }
        while let Some((body, next)) = stack.last_mut() {
            let body = *body;
            let callee = callees.get(body).and_then(|c| c.get(*next)).copied();
            *next += 1;
            match callee {
                None => {
                    order.push(body);
                    stack.pop();
                }
                Some(callee) => {
                    if !std::mem::replace(seen.get_mut(callee).unwrap_or(&mut true), true) {
                        stack.push((callee, 0));
                    }
                }
            }
        }
    }
    order
}

/// The summary of a body, with what is known of those that it calls.
pub fn of_body(cx: &Context, body: &Body) -> Summary {
    let cfg = Cfg::new(body);
    let types = &cx.program.types;
    let mut summary = Summary { params: vec![], ..Summary::default() };
    for n in 0..body.params {
        let decl = body.locals.get(n as usize);
        let ty = decl.map(|d| d.ty.ty);
        let is_word = ty.is_some_and(|ty| mir::ty::is_scalar(types, ty));
        let holds_pointer = ty.is_some_and(|ty| {
            types.as_pointer(ty).is_some()
                || Rule::NumberParameter.holds() && types.layout(ty).is_some_and(|l| l.size >= 8)
        });
        if !holds_pointer {
            summary.params.push(Param::default());
            continue;
        }
        let local = Local(n);
        let list_kept = match ty.map(|ty| types.kind(ty)) {
            Some(TyKind::VaList) => list_kept(cx, body, vec![PlaceBase::Local(local)]),
            _ => Some("it gets the address of the list".to_string()),
        };
        if !is_word || decl.is_some_and(|d| d.address_taken) && Rule::TakenParameter.holds() {
            summary.params.push(Param { list_kept, ..Param::unknown("its address is taken") });
            continue;
        }
        let mut found = param(cx, body, &follow(cx, body, &cfg, Seed::Param(n)));
        let target = ty.and_then(|ty| types.as_pointer(ty)).map(|p| p.target.ty);
        let layout = target.and_then(|ty| types.layout(ty));
        found.align = found.align.max(layout.map_or(1, |l| l.align));
        found.list_kept = list_kept;
        let is_variable = target.is_some_and(|ty| types.as_pointer(ty).is_some());
        match is_variable && is_looked_through(body, local) {
            true => through(&mut found, &follow(cx, body, &cfg, Seed::Through(n))),
            false => found.inner_kept = Some("its address is used".to_string()),
        }
        summary.params.push(found);
    }
    summary.rest_kept = list_kept(cx, body, vec![]);
    summary.never_returns = never_returns(cx, body, &cfg);
    summary.fresh = fresh(cx, body, &cfg);
    summary.only_releases = only_releases(cx, body);
    summary
}

fn param(cx: &Context, body: &Body, events: &Events) -> Param {
    if events.full {
        return Param::unknown("it has too many paths to follow");
    }
    let mut param = Param { touched: touched(cx, body, events), ..Param::default() };
    let freed = events.any(|k| matches!(k, Kind::Freed(_)));
    let left = events.any(|k| matches!(k, Kind::Left | Kind::Returned | Kind::ReturnedInside));
    param.frees = match (freed, left) {
        (false, _) => Frees::Never,
        (true, false) => Frees::Always,
        (true, true) => Frees::Sometimes,
    };
    param.returned = events.any(|k| matches!(k, Kind::Returned | Kind::ReturnedInside));
    let other = |k: &Kind| matches!(k, Kind::Left | Kind::ReturnedInside | Kind::ReturnedOther | Kind::Freed(_));
    param.gives_back = param.returned && !events.any(other);
    param.align = events.align();
    param.kept = events.kept().map(|e| e.why.clone());
    for (_, event) in &events.all {
        if let Kind::Calls(m, k) = event.kind {
            param.calls.push((m, k));
        }
    }
    param.calls.sort_unstable();
    param.calls.dedup();
    param
}

/// What becomes of an object in a variable whose address arrives in the parameter.
fn through(param: &mut Param, events: &Events) {
    let ends = |k: &Kind| matches!(k, Kind::Left | Kind::Freed(_));
    param.inner_align = events.align();
    param.inner_kept = match (events.full, events.kept(), events.any(ends)) {
        (true, ..) => Some("it has too many paths to follow".to_string()),
        (_, Some(event), _) => Some(event.why.clone()),
        (.., true) if Rule::Through.holds() => Some("it is changed through its address".to_string()),
        _ => None,
    };
}

/// Which bytes the events touch, of an object that arrives in a parameter.
fn touched(cx: &Context, body: &Body, events: &Events) -> Touched {
    let mut touched = Touched::default();
    for (_, event) in &events.all {
        match &event.kind {
            Kind::Access(place, value) => match last_byte(cx, body, place, *value) {
                Some(end) => touched.bytes = touched.bytes.max(end),
                None => touched.open = true,
            },
            Kind::Extent(_, bounds, true) => {
                for (bytes, times) in bounds {
                    let number = cx.constant(bytes);
                    let param = bytes.place().and_then(Place::as_local).filter(|l| l.0 < body.params);
                    match (number, param.filter(|&l| is_never_written(body, l)), times) {
                        (Some(n), _, None) => touched.bytes = touched.bytes.max(n),
                        (None, Some(length), None) => touched.lengths.push(length.0),
                        _ => touched.open = true,
                    }
                }
            }
            Kind::Extent(.., false) | Kind::Open | Kind::TextWritten(_) => touched.open = true,
            Kind::Text(_) => touched.text = true,
            _ => {}
        }
    }
    touched.lengths.sort_unstable();
    touched.lengths.dedup();
    touched
}

/// Where an access ends, in bytes from the start of the object, if that is a constant.
fn last_byte(cx: &Context, body: &Body, place: &Place, value: Value) -> Option<u64> {
    let Value::At(start) = value else { return None };
    let start = u64::try_from(start).ok()?;
    let index = |operand: &Operand| cx.constant(operand).map(|n| Range::single(i128::from(n)));
    let (offset, size) = part(cx, body, place, index)?;
    u64::try_from(i128::from(start) + offset.hi + i128::from(size)).ok()
}

/// Where the part of an object is that a place names below the first pointer in it, in bytes from
/// what that points at, and its size. `index`: the values of an index.
pub fn part(
    cx: &Context,
    body: &Body,
    place: &Place,
    index: impl Fn(&Operand) -> Option<Range>,
) -> Option<(Range, u64)> {
    let types = &cx.program.types;
    let mut offset = Range::single(0);
    let first = place.proj.iter().position(|p| *p == Proj::Deref)?;
    for (n, step) in place.proj.iter().enumerate().skip(first + 1) {
        offset = offset.plus(match step {
            Proj::Field(field) => {
                let outer = mir::ty::prefix_ty(cx.program, body, place, n).ok()?;
                let at = types.field_offset(types.as_record(outer.ty)?, *field)?;
                Range::single(if Rule::FieldOffset.holds() { i128::from(at) } else { 0 })
            }
            Proj::Index(operand) => {
                let elem = mir::ty::prefix_ty(cx.program, body, place, n + 1).ok()?;
                let size = types.layout(elem.ty)?.size;
                let each = if Rule::IndexRange.holds() { i128::from(size) } else { 1 };
                index(operand)?.times(Range::single(each))
            }
            Proj::Deref => return None,
        });
    }
    let ty = mir::ty::place_ty(cx.program, body, place).ok()?;
    Some((offset, types.layout(ty.ty)?.size))
}

/// Why a body may keep what it takes from a list of variable arguments, its own or the `lists` that
/// arrive in parameters, if it may. It may not if all that it does with them is to pass them to
/// `vprintf` and the like, or to functions of which the same is known, or to take numbers that are
/// too narrow for an address.
fn list_kept(cx: &Context, body: &Body, mut lists: Vec<PlaceBase>) -> Option<String> {
    let types = &cx.program.types;
    let mut takes = false;
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        if stmt.kind.action() == Action::Arguments {
            stmt_places(&stmt.kind, &mut |place, access| {
                lists.extend((access == Access::Write).then_some(place.base));
            });
        }
        if let Some((_, ty)) = stmt.kind.value().and_then(Rvalue::as_va_arg) {
            takes |= types.layout(ty).is_none_or(|l| l.size >= 8);
        }
    }
    if takes && Rule::VariableBody.holds() {
        return Some("it takes an argument that may be an address".to_string());
    }
    // Temporaries that have the list, or its address.
    loop {
        let before = lists.len();
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            let Some((dest, value)) = stmt.kind.as_assign() else { continue };
            let mut from = false;
            stmt_places(&stmt.kind, &mut |p, access| {
                from |= lists.contains(&p.base) && access != Access::Write;
            });
            if !from || value.as_va_arg().is_some() || lists.contains(&dest.base) {
                continue;
            }
            if dest.has_deref() || !matches!(dest.base, PlaceBase::Local(_)) {
                return Some("it stores its list of arguments".to_string());
            }
            lists.push(dest.base);
        }
        if lists.len() == before {
            break;
        }
    }
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        let Some(Call { callee, args, .. }) = stmt.kind.as_call() else { continue };
        let is_list = |a: &Operand| a.place().is_some_and(|p| lists.contains(&p.base));
        if !args.iter().any(is_list) {
            continue;
        }
        if let Some(summary) = cx.summary(callee) {
            let keeps = |n: usize| match summary.params.get(n) {
                Some(param) => param.list_kept.is_some() && Rule::ListPassed.holds(),
                None => true,
            };
            if args.iter().enumerate().any(|(n, a)| is_list(a) && keeps(n)) {
                return Some("it passes its list of arguments on".to_string());
            }
            continue;
        }
        let name = match callee {
            Callee::Direct(f) => crate::program::symbol(cx.program, f),
            Callee::Builtin(name) => Some(name.as_str().to_string()),
            _ => None,
        };
        if !name.is_some_and(|n| is_list_printer(&n)) {
            return Some("it passes its list of arguments on".to_string());
        }
    }
    None
}

/// Functions that print a list of arguments, and keep none.
fn is_list_printer(name: &str) -> bool {
    let name = name.strip_prefix("__builtin_").unwrap_or(name);
    let name = name.strip_prefix("__").and_then(|n| n.strip_suffix("_chk")).unwrap_or(name);
    matches!(name, "vprintf" | "vfprintf" | "vsprintf" | "vsnprintf" | "vdprintf" | "vsyslog" | "va_end")
}

/// Whether no path returns.
fn never_returns(cx: &Context, body: &Body, cfg: &Cfg) -> bool {
    let mut seen = vec![false; body.blocks.len()];
    let mut work = vec![BlockId(0)];
    while let Some(block) = work.pop() {
        if std::mem::replace(seen.get_mut(block.0 as usize).unwrap_or(&mut true), true) {
            continue;
        }
        let Some(code) = body.blocks.get(block.0 as usize) else { continue };
        let ends = code.stmts.iter().any(|s| s.kind.as_call().is_some_and(|call| cx.never_returns(call.callee)));
        if ends {
            continue;
        }
        if code.term.kind.leaves() {
            return false;
        }
        work.extend(cfg.successors(block));
    }
    // A body that runs in circles says nothing about calls that end it.
    true
}

/// Whether the body does nothing but release its first parameter, perhaps after a test for null.
fn only_releases(cx: &Context, body: &Body) -> bool {
    let mut releases = 0;
    for (at, s) in points(body) {
        match s.kind.action() {
            Action::Call => {
                let Some(Call { callee, args, .. }) = s.kind.as_call() else { return false };
                let entry = cx.entry(body, at, callee, args);
                let plain = entry.is_some_and(|e| matches!(e.role, Role::Release { .. }));
                if !plain && !cx.summary(callee).is_some_and(|s| s.only_releases) {
                    return false;
                }
                releases += 1;
            }
            Action::Assign => {
                if s.kind.as_assign().is_some_and(|(place, _)| place.as_local().is_none()) {
                    return false;
                }
            }
            Action::Storage | Action::None => {}
            Action::Check
            | Action::Fill
            | Action::Assembly
            | Action::Copy
            | Action::Arguments
            | Action::Owner
            | Action::Region
            | Action::Send
            | Action::Channel => return false,
        }
    }
    releases == 1
}

/// A fresh object that is returned: one site, whose object is stored nowhere else, and nothing but
/// that or null is returned.
fn fresh(cx: &Context, body: &Body, cfg: &Cfg) -> Option<Fresh> {
    let mut found = None;
    for site in crate::sites::sites(cx, body) {
        let events = follow(cx, body, cfg, Seed::Call { at: site.at, never_fails: site.never_fails });
        if events.full || events.unused {
            return None;
        }
        if !events.any(|k| matches!(k, Kind::Returned)) {
            continue;
        }
        let bad = |k: &Kind| matches!(k, Kind::ReturnedOther | Kind::ReturnedInside | Kind::Left | Kind::Freed(_));
        if found.is_some() || events.kept().is_some() || events.any(bad) {
            return None;
        }
        let bytes = site.constant_bytes(cx);
        let size_param = site.size_param(body);
        found = Some(Fresh { bytes, size_param, never_fails: site.never_fails, zeroed: site.is_zeroed() });
    }
    found
}
