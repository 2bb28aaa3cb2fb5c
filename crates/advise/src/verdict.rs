//! The verdict on each site of a unit.

use crate::allocators::{Entry, Role};
use crate::events::{Event, Events, Kind};
use crate::fields::{field_of, is_list_node, Fields};
use crate::finding::{Finding, Note, Place, Verdict};
use crate::follow::{follow, Seed};
use crate::intervals::parameters::Parameters;
use crate::intervals::results::{self, Results};
use crate::known::known;
use crate::options::Options;
use crate::program::{is_internal, symbol, Context};
use crate::proof::{Inside, Wrap};
use crate::rules::Rule;
use crate::sites::{sites, Site};
use crate::summary::Frees;
use crate::unit::Unit;
use flow::framework::Point;
use flow::ranges::Ranges;
use mir::cfg::Cfg;
use mir::ir::*;
use mir::twice::returns_twice;
use source::Span;
use std::sync::Arc;
use typing::types::{Ty, TyKind};

/// Bytes of an object that is advised to be static, at most.
const MOST_STATIC: u64 = 64 << 10;

/// Bytes at least and at most, if that is known.
type Bytes = (Option<u64>, Option<u64>);

/// The one field that has an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// `tag.field`, as in `Fields`.
    pub name: String,
    /// The type of the owner.
    pub ty: Ty,
    /// Bytes of what the field points at.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
}

/// A call that releases the object.
#[derive(Clone, Copy, Debug)]
pub struct Freed {
    /// The call.
    pub span: Span,
    /// Whether it may get another object.
    pub other: bool,
    /// Which of its arguments the object is.
    pub argument: usize,
}

/// A site that something is advised for, with what a patch needs.
#[derive(Clone)]
pub struct Candidate {
    /// What is said.
    pub finding: Finding,
    /// The body that it is in.
    pub body: usize,
    /// The call.
    pub site: Site,
    /// Releases that are in the function itself.
    pub frees: Vec<Freed>,
    /// Locals that may hold the object.
    pub holders: Vec<Local>,
    /// The strictest alignment that anything wants of it.
    pub align: u64,
    /// Accesses lie inside if this step of the computation of the size does not wrap: a patch must
    /// compare what the step is made of instead.
    pub supposes: Option<Wrap>,
    /// Of an object that is returned: whether every access of the function is proven to stay
    /// inside it.
    pub inside: Option<bool>,
    /// Of an `embed`: the owner, unless it is what is listed.
    pub owner: Option<Owner>,
}

impl Candidate {
    /// Whether it is a call of a helper to which a buffer can be passed.
    pub fn calls_helper(&self, helper: &str) -> bool {
        self.finding.verdict == Verdict::Caller && self.site.entry.is_none() && self.site.name == helper
    }

    /// Whether its object is that of the field.
    pub fn is_member_named(&self, field: &str) -> bool {
        self.finding.verdict == Verdict::Embed && self.owner.as_ref().is_some_and(|o| o.name == field)
    }
}

/// What is known about the surroundings of the functions of a unit.
pub struct Surroundings<'a> {
    /// Number of the unit.
    pub number: usize,
    /// Intervals of parameters.
    pub parameters: &'a Parameters,
    /// Intervals of results.
    pub results: Arc<Results>,
    /// Fields through which objects are released.
    pub fields: &'a Fields,
    /// Functions that may call themselves, by key (`key`).
    pub recursive: &'a rustc_hash::FxHashSet<String>,
    /// Functions that a call through a pointer may get to, by key: callbacks, and bodies of threads
    /// and of signal handlers.
    pub reached: &'a rustc_hash::FxHashSet<String>,
}

/// The name of a function in the whole program: internal ones are distinguished by their unit.
pub fn key(program: &Program, unit: usize, func: &typing::tree::FuncRef) -> String {
    let name = symbol(program, func).unwrap_or_default();
    if is_internal(program, func) {
        format!("{unit}:{name}")
    } else {
        name
    }
}

/// Judges every site of the unit, or those of the function `only`.
pub fn judge(
    unit: &Unit,
    cx: &Context,
    around: &Surroundings,
    options: &Options,
    only: Option<&str>,
) -> Vec<Candidate> {
    let mut all = vec![];
    let summaries = results::of_program(&around.results, &unit.program, around.number);
    for (number, body) in unit.program.bodies.iter().enumerate() {
        let other = |only: &str| symbol(&unit.program, &body.func).as_deref() != Some(only);
        if unit.map.is_system(body.span.lo) || only.is_some_and(other) {
            continue;
        }
        let found = sites(cx, body);
        if found.is_empty() {
            continue;
        }
        let cfg = Cfg::new(body);
        let function = key(&unit.program, around.number, &body.func);
        let params = around.parameters.get(&function);
        let needs = found.iter().any(|s| cfg.is_reachable(s.at.block));
        let ranges = needs.then(|| Ranges::with_params(cx.program, body, &summaries, params.map_or(&[], |p| p)));
        let judge = Judge {
            unit,
            cx,
            body,
            cfg: &cfg,
            ranges: ranges.flatten(),
            options,
            recursive: around.recursive.contains(&function),
            reached: around.reached.contains(&function),
            setjmp: returns_twice(cx.program, body),
            number: around.number,
            fields: around.fields,
        };
        for site in found {
            if judge.ranges.as_ref().is_some_and(|r| !r.is_reached(site.at.block)) || !cfg.is_reachable(site.at.block) {
                continue;
            }
            if let Some(mut candidate) = judge.site(site) {
                candidate.body = number;
                all.push(candidate);
            }
        }
    }
    helpers_prove(&mut all);
    all
}

/// The accesses of a helper count too, if its caller's buffer is to take what it makes.
fn helpers_prove(all: &mut [Candidate]) {
    let made = |c: &Candidate| Some((c.finding.function.clone(), c.inside?));
    let made: Vec<(String, bool)> = all.iter().filter_map(made).collect();
    for candidate in all.iter_mut().filter(|c| c.finding.verdict == Verdict::Caller) {
        let mut own = made.iter().filter(|(name, _)| *name == candidate.site.name).peekable();
        let known = own.peek().is_some() && own.all(|(_, inside)| *inside);
        candidate.finding.proven &= known || !Rule::HelperInside.holds();
    }
}

struct Judge<'a> {
    unit: &'a Unit,
    cx: &'a Context<'a>,
    body: &'a Body,
    cfg: &'a Cfg,
    ranges: Option<Ranges<'a>>,
    options: &'a Options,
    recursive: bool,
    reached: bool,
    setjmp: bool,
    number: usize,
    fields: &'a Fields,
}

impl Judge<'_> {
    /// The verdict; `None`: there is nothing to say (the site is as it should be).
    fn site(&self, site: Site) -> Option<Candidate> {
        let events = follow(self.cx, self.body, self.cfg, Seed::Call { at: site.at, never_fails: site.never_fails });
        let range = site.range(self.cx, self.ranges.as_ref());
        let top = i128::from(u32::MAX);
        let most = range.map(|r| r.hi).filter(|&hi| (0..=top).contains(&hi)).map(|n| n as u64);
        let least = range.map(|r| r.lo).filter(|&lo| lo >= 0).map(|n| n as u64);
        let place = Place::of(&self.unit.map, site.span);
        let finding = Finding {
            unit: self.number,
            place,
            function: symbol(self.cx.program, &self.body.func).unwrap_or_default(),
            allocator: site.name.clone(),
            variable: self.variable(&events.holders),
            verdict: Verdict::Declined,
            proven: false,
            size: self.size_text(&site),
            bytes: (least, most),
            reason: String::new(),
            notes: vec![],
            in_loop: self.in_loop(site.at),
            stack: 0,
            patch: None,
            no_patch: None,
            saved: None,
        };
        let mut candidate = Candidate {
            finding,
            body: 0,
            frees: self.frees(&events),
            holders: events.holders.clone(),
            align: events.align(),
            supposes: None,
            inside: None,
            owner: None,
            site,
        };
        self.decide(&mut candidate, &events)?;
        // A helper's own site is reported at its own place; a call of the helper only if there is
        // advice, or if it counts as an allocator.
        let helper = candidate.site.entry.is_none() && candidate.finding.verdict == Verdict::Declined;
        if helper && !self.options.infer_allocators {
            return None;
        }
        Some(candidate)
    }

    fn decide(&self, candidate: &mut Candidate, events: &Events) -> Option<()> {
        let freed = events.any(|k| matches!(k, Kind::Freed(_)));
        let (least, most) = candidate.finding.bytes;
        if !events.unused && !events.full {
            if let Some((reason, owner)) = self.embeds(events, (least, most)) {
                candidate.finding.verdict = Verdict::Embed;
                candidate.finding.reason = reason;
                candidate.owner = owner;
                return Some(());
            }
        }
        let mut decline = |why: String, at: Option<&Event>| {
            candidate.finding.reason = why;
            if let Some(event) = at {
                let place = Place::of(&self.unit.map, event.span);
                candidate.finding.notes.push(Note { place, text: event.why.clone() });
            }
            Some(())
        };
        if events.unused {
            return decline("nothing takes the object, so it is lost".into(), None);
        }
        if events.full {
            return decline("the function has too many paths to follow".into(), None);
        }
        if let Some(event) = events.kept() {
            let why = match event.kind {
                Kind::Stored => format!("it escapes: {}", event.why),
                Kind::Resized => "it is resized".to_string(),
                Kind::Again => "two objects of this site may be in use at the same time".to_string(),
                _ => event.why.clone(),
            };
            return decline(why, Some(event));
        }
        if let Some(event) = events.find(|k| matches!(k, Kind::ReturnedInside) && Rule::ReturnedInside.holds()) {
            return decline(event.why.clone(), Some(event));
        }
        if let Some(event) = events.find(|k| matches!(k, Kind::Returned) && Rule::Returned.holds()) {
            let (ranges, bytes) = (self.ranges.as_ref(), least.unwrap_or(0));
            let site = &candidate.site;
            let body = (self.body, self.cfg, self.unit.source.wraps());
            let inside = crate::proof::stays_inside(self.cx, body, ranges, events, bytes, site);
            let said = decline("it is returned, and lives longer than the function".into(), Some(event));
            candidate.inside = Some(inside == Inside::Always);
            return said;
        }
        if let Some(event) = events.find(|k| matches!(k, Kind::Left) && Rule::Left.holds()) {
            let why = match freed {
                true => "it is freed on some paths only: a possible leak",
                false => "it is never freed: a possible leak",
            };
            return decline(why.into(), Some(event));
        }
        if !freed {
            return decline("no path frees it".into(), None);
        }
        for (_, event) in &events.all {
            let Kind::Freed(Some(by)) = &event.kind else { continue };
            if !self.is_plain_release(by) && Rule::PlainRelease.holds() {
                return decline(format!("`{by}` frees it and does more than that"), None);
            }
        }
        if self.setjmp && Rule::Setjmp.holds() {
            return decline("the function calls setjmp or the like, after which locals may be lost".into(), None);
        }
        if self.recursive && Rule::Recursive.holds() {
            return decline("the function may call itself: each level would need the bytes".into(), None);
        }
        if candidate.finding.variable.is_none() && Rule::NoVariable.holds() {
            return decline("no variable of the function has it, so there is no place for a buffer".into(), None);
        }
        self.choose(candidate, events, least, most)
    }

    fn choose(&self, candidate: &mut Candidate, events: &Events, least: Option<u64>, most: Option<u64>) -> Option<()> {
        let options = self.options;
        let has_buffer = self.has_local_buffer(&candidate.holders);
        if has_buffer {
            // A buffer on the stack with the heap for what is larger: as it should be.
            return None;
        }
        match most {
            Some(bytes) if bytes <= options.max_size => {
                candidate.finding.verdict = Verdict::Stack;
                candidate.finding.stack = bytes.max(1);
            }
            Some(bytes) if least == most && self.may_be_static(bytes) => {
                candidate.finding.verdict = Verdict::Static;
                candidate.finding.stack = bytes;
            }
            Some(bytes) if least == most && Rule::TooBig.holds() => {
                candidate.finding.reason = format!("{bytes} bytes are more than --max-size {}", options.max_size);
                return Some(());
            }
            _ if least.is_some_and(|n| n > options.hybrid_size) && Rule::NeverFits.holds() => {
                candidate.finding.reason = format!("it never fits into --hybrid-size {}", options.hybrid_size);
                return Some(());
            }
            _ => {
                candidate.finding.verdict = Verdict::Hybrid;
                candidate.finding.stack = options.hybrid_size;
            }
        }
        if candidate.site.entry.is_none() {
            candidate.finding.verdict = Verdict::Caller;
        }
        let proven_for = if Rule::Least.holds() { least } else { most }.unwrap_or(0);
        let ranges = self.ranges.as_ref();
        let wraps = self.unit.source.wraps();
        let body = (self.body, self.cfg, wraps);
        let inside = crate::proof::stays_inside(self.cx, body, ranges, events, proven_for, &candidate.site);
        let plain = matches!(candidate.site.entry, Some(Entry { role: Role::Allocate { .. }, .. }));
        let hybrid = plain && candidate.finding.verdict == Verdict::Hybrid;
        candidate.supposes = match inside {
            Inside::UnlessItWraps(wrap) if hybrid => Some(wrap),
            _ => None,
        };
        candidate.finding.proven = inside == Inside::Always || candidate.supposes.is_some();
        let map = &self.unit.map;
        for freed in &candidate.frees {
            candidate.finding.notes.push(Note { place: Place::of(map, freed.span), text: "freed here".into() });
        }
        if candidate.site.entry.is_some_and(|e| e.replaceable) {
            candidate.finding.reason = format!("the program may replace `{}` at run time", candidate.site.name);
        }
        Some(())
    }

    /// Whether an object that is too big for the stack may be in static storage: at most one call
    /// of the function is ever active. That is so if the program is whole, the function does not
    /// call itself, and no call through a pointer gets to it: threads, signal handlers, coroutines
    /// and callbacks all begin at a function whose address is taken.
    fn may_be_static(&self, bytes: u64) -> bool {
        self.options.whole_program
            && bytes <= MOST_STATIC
            && !self.recursive
            && (!self.reached || !Rule::Reached.holds())
    }

    /// Why the object could be a member of its owner, if it could: it is small, of one size, and
    /// either a list node beside its data, or stored in one field only, through which the program
    /// releases what is there.
    fn embeds(&self, events: &Events, (least, most): Bytes) -> Option<(String, Option<Owner>)> {
        most.filter(|&n| n <= self.options.hybrid_size)?;
        let mut owner: Option<Owner> = None;
        let mut again = false;
        for (at, event) in &events.all {
            match event.kind {
                Kind::Stored => {}
                Kind::Again => {
                    again = true;
                    continue;
                }
                Kind::Escapes | Kind::Resized | Kind::Returned | Kind::ReturnedInside => return None,
                _ => continue,
            }
            let block = self.body.blocks.get(at.block.0 as usize)?;
            let (place, _) = block.stmts.get(at.stmt)?.kind.as_assign()?;
            let target = mir::ty::place_ty(self.cx.program, self.body, place).ok()?.ty;
            let target = self.cx.program.types.as_pointer(target)?.target.ty;
            if is_list_node(self.cx, target) {
                let reason = "it is a list node beside its data: what is listed can have the links";
                return (!again).then(|| (reason.to_string(), None));
            }
            let types = &self.cx.program.types;
            let name = field_of(self.cx, self.body, *at, place)?;
            let tag = types.record(types.as_record(target)?).tag?;
            // A link to the next of its kind is not an owner.
            if name.split('.').next() == Some(tag.as_str()) || owner.as_ref().is_some_and(|o| o.name != name) {
                return None;
            }
            let (_, outer) = place.proj.split_last()?;
            let ty = mir::ty::prefix_ty(self.cx.program, self.body, place, outer.len()).ok()?.ty;
            let layout = types.layout(target)?;
            // A member of the type would be too small for what the field gets, or the type is only
            // the beginning of what is there.
            if (least, most) != (Some(layout.size), Some(layout.size)) && Rule::MemberSize.holds() {
                return None;
            }
            owner = Some(Owner { name, ty, size: layout.size, align: layout.align });
        }
        let owner = owner.filter(|o| self.fields.contains(&o.name))?;
        // A loop may give each element of an array its own.
        if again && !owner.name.ends_with("[]") {
            return None;
        }
        Some((format!("`{}` alone has it, and it is released through that", owner.name), Some(owner)))
    }

    /// Whether the function called by this name is known to do nothing but release.
    fn is_plain_release(&self, name: &str) -> bool {
        self.body.blocks.iter().flat_map(|b| &b.stmts).any(|s| {
            let releases = |call: Call| self.cx.summary(call.callee).is_some_and(|s| s.only_releases);
            s.kind.called().is_some_and(|f| symbol(self.cx.program, f).as_deref() == Some(name))
                && s.kind.as_call().is_some_and(releases)
        })
    }

    /// Whether one of the locals may point at a local array.
    fn has_local_buffer(&self, holders: &[Local]) -> bool {
        let stmts = self.body.blocks.iter().flat_map(|b| &b.stmts);
        let mut points: Vec<Local> = vec![];
        for stmt in stmts {
            let Some((dest, value)) = stmt.kind.as_assign() else { continue };
            if let Some(place) = value.as_address_of() {
                if matches!(place.base, PlaceBase::Local(_)) && !place.has_deref() {
                    points.extend(dest.as_local());
                }
            }
        }
        loop {
            let before = points.len();
            for stmt in self.body.blocks.iter().flat_map(|b| &b.stmts) {
                let copied = stmt.kind.as_assign().and_then(|(dest, value)| Some((dest, value.same_bits()?)));
                let returned = || {
                    let call = stmt.kind.as_call()?;
                    let known = symbol(self.cx.program, stmt.kind.called()?).and_then(|name| known(&name));
                    Some((call.dest.as_ref()?, call.args.get(known?.returns? as usize)?))
                };
                let Some((dest, from)) = copied.or_else(returned) else { continue };
                let from = from.place().and_then(local_of);
                if let (Some(from), Some(dest)) = (from, dest.as_local()) {
                    if points.contains(&from) && !points.contains(&dest) {
                        points.push(dest);
                    }
                }
            }
            if points.len() == before {
                return holders.iter().any(|h| points.contains(h));
            }
        }
    }

    fn variable(&self, holders: &[Local]) -> Option<String> {
        let local = holders.iter().find_map(|l| {
            let decl = self.body.locals.get(l.0 as usize)?;
            let types = &self.cx.program.types;
            let is_array = matches!(types.kind(decl.ty.ty), TyKind::Array { .. });
            let holds = types.as_pointer(decl.ty.ty).is_some() || types.as_record(decl.ty.ty).is_some() || is_array;
            (decl.kind != LocalKind::Temp && holds).then_some(decl)
        });
        local.and_then(|d| d.name).map(|n| n.as_str().to_string())
    }

    fn size_text(&self, site: &Site) -> String {
        let text = self.unit.map.snippet(site.span);
        let inner = text.find('(').zip(text.rfind(')')).and_then(|(a, b)| text.get(a + 1..b)).unwrap_or("");
        let one_line = inner.split_whitespace().collect::<Vec<_>>().join(" ");
        match site.entry.map(|e| e.role) {
            Some(Role::Duplicate { .. }) => format!("strlen({one_line}) + 1"),
            _ => one_line,
        }
    }

    /// Calls that release the object, each once.
    fn frees(&self, events: &Events) -> Vec<Freed> {
        let mut all: Vec<(Point, Freed)> = vec![];
        for (at, event) in &events.all {
            if matches!(event.kind, Kind::Freed(_)) && !all.iter().any(|f| f.0 == *at) {
                let other = events.all.iter().any(|(p, e)| p == at && e.kind == Kind::OtherFreed);
                let argument = self.released(*at).unwrap_or(0);
                all.push((*at, Freed { span: event.span, other, argument }));
            }
        }
        all.into_iter().map(|f| f.1).collect()
    }

    /// Which argument a call releases.
    fn released(&self, at: Point) -> Option<usize> {
        let stmt = self.body.blocks.get(at.block.0 as usize)?.stmts.get(at.stmt)?;
        let Call { callee, args, .. } = stmt.kind.as_call()?;
        match self.cx.entry(self.body, at, callee, args).map(|e| e.role) {
            Some(Role::Release { object }) => Some(object as usize),
            _ => self.cx.summary(callee)?.params.iter().position(|p| p.frees != Frees::Never),
        }
    }

    fn in_loop(&self, at: Point) -> bool {
        let mut seen = vec![false; self.body.blocks.len()];
        let mut work: Vec<BlockId> = self.cfg.successors(at.block).to_vec();
        while let Some(block) = work.pop() {
            if block == at.block {
                return true;
            }
            if !std::mem::replace(seen.get_mut(block.0 as usize).unwrap_or(&mut true), true) {
                work.extend(self.cfg.successors(block));
            }
        }
        false
    }
}

fn local_of(place: &mir::ir::Place) -> Option<Local> {
    place.as_local()
}
