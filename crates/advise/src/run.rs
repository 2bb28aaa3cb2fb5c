//! A whole run: units are read and analysed in parallel, summaries are exchanged between them until
//! nothing changes.
//!
//! Each thread keeps the units that it read, because types are shared inside a unit without locks.
//! Threads exchange plain data: summaries, edges of the call graph, intervals of parameters,
//! findings.

use crate::edits::Patch;
use crate::fields::Fields;
use crate::finding::{Finding, Place, Saved, Verdict};
use crate::intervals::parameters::{Caller, Callers, Parameters, Passed};
use crate::intervals::results::{self, Results};
use crate::options::Options;
use crate::origin::tokens;
use crate::patches::Patcher;
use crate::program::{is_internal, symbol, Context, Externals};
use crate::recursion::{reached, recursive, Edges};
use crate::rules::Rule;
use crate::summary::{summarise, Param, Summaries, Summary};
use crate::together::{together, words, Told, Whole};
use crate::unit::{read, Preprocessor, Source, Unit};
use crate::verdict::{judge, Candidate, Surroundings};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

/// How often summaries are exchanged between units before calls from one to another count as
/// unknown.
const MOST_ROUNDS: usize = 40;

/// What a run gives.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Sites, by unit and place.
    pub findings: Vec<Finding>,
    /// Files that could not be read, and why.
    pub errors: Vec<(Source, String)>,
    /// Functions that were analysed.
    pub functions: usize,
    /// What functions return, by key (`verdict::key`).
    pub results: Results,
    /// What functions are called with, likewise.
    pub parameters: Parameters,
    /// What all patches together save, if it was measured.
    pub saved: Option<Saved>,
}

struct Loaded {
    number: usize,
    unit: Unit,
    summaries: Summaries,
    results: Results,
}

struct Shared<'a> {
    sources: &'a [Source],
    preprocessor: &'a dyn Preprocessor,
    options: &'a Options,
    next: AtomicUsize,
    barrier: Barrier,
    changed: AtomicBool,
    widened: AtomicBool,
    externals: Mutex<Externals>,
    edges: Mutex<Edges>,
    /// What exported functions return; and the names of all of them.
    results: Mutex<(Results, FxHashSet<String>)>,
    by_unit: Mutex<FxHashMap<usize, Arc<Results>>>,
    passed: Mutex<Passed>,
    unseen: Mutex<FxHashSet<String>>,
    fields: Mutex<Fields>,
    shared_fields: Mutex<Fields>,
    around: Mutex<Around>,
    outcome: Mutex<Outcome>,
    progress: &'a (dyn Fn(usize, usize) + Sync),
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        // A thread that ended badly ends the run when it is joined.
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// Analyses the sources. `progress` is told how many files of how many were read.
pub fn run(
    sources: &[Source],
    preprocessor: &dyn Preprocessor,
    options: &Options,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Outcome {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = if options.jobs == 0 { available } else { options.jobs }.clamp(1, sources.len().max(1));
    let shared = Shared {
        sources,
        preprocessor,
        options,
        next: AtomicUsize::new(0),
        barrier: Barrier::new(jobs),
        changed: AtomicBool::new(false),
        widened: AtomicBool::new(false),
        externals: Mutex::default(),
        edges: Mutex::default(),
        results: Mutex::default(),
        by_unit: Mutex::default(),
        passed: Mutex::default(),
        unseen: Mutex::default(),
        fields: Mutex::default(),
        shared_fields: Mutex::default(),
        around: Mutex::default(),
        outcome: Mutex::default(),
        progress,
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            // Deep trees need deep stacks.
            let builder = std::thread::Builder::new().stack_size(256 << 20);
            if builder.spawn_scoped(scope, || work(&shared)).is_err() {
                // The barrier waits for every thread; without one the rest would wait for ever.
                std::process::exit(1);
            }
        }
    });
    let mut outcome = std::mem::take(&mut *locked(&shared.outcome));
    outcome.findings.sort_by(|a, b| (a.unit, &a.place).cmp(&(b.unit, &b.place)));
    outcome.findings = listed_once(outcome.findings);
    if options.patches && options.whole_program {
        patch_whole(&shared, &mut outcome);
    }
    crate::budget::keep_within(&mut outcome.findings, &locked(&shared.edges), options.stack_budget);
    keep_apart(&mut outcome.findings);
    outcome
}

/// Leaves one patch of those that change the same place, so that all reports have the same patches,
/// and all of them together can be applied. Proven ones come first.
fn keep_apart(findings: &mut [Finding]) {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|&n| findings.get(n).map(|f| !f.proven));
    let mut kept: Vec<(Patch, Place)> = vec![];
    for n in order {
        let Some(finding) = findings.get_mut(n) else { continue };
        let Some(patch) = &finding.patch else { continue };
        match kept.iter().find(|(other, _)| other.overlaps(patch)) {
            Some((_, Place { file, line, .. })) => {
                let why = format!("it changes what the patch of {file}:{line} changes: apply that, and run again");
                finding.no_patch = Some(why);
                finding.patch = None;
            }
            None => kept.push((patch.clone(), finding.place.clone())),
        }
    }
}

/// The findings with each site once: a function in a header is in many units, and a file may be
/// built in several ways. Units that differ about a site get what is said by the one that allows
/// least.
fn listed_once(findings: Vec<Finding>) -> Vec<Finding> {
    let allows = |f: &Finding| (f.verdict, f.patch.is_none(), !f.proven);
    let mut known: FxHashMap<(Place, String), usize> = FxHashMap::default();
    let mut all: Vec<Finding> = vec![];
    for finding in findings {
        match known.entry((finding.place.clone(), finding.function.clone())) {
            Entry::Vacant(slot) => {
                slot.insert(all.len());
                all.push(finding);
            }
            Entry::Occupied(slot) => {
                let Some(other) = all.get_mut(*slot.get()) else { continue };
                let both = other.patch.is_some() && finding.patch.is_some();
                if both && other.patch != finding.patch {
                    other.patch = None;
                    other.no_patch = Some("another build of the file would need another patch".into());
                } else if allows(&finding) > allows(other) {
                    *other = finding;
                }
            }
        }
    }
    all
}

/// Writes the patches that change several files of the program: the units are read once more, for
/// their trees cannot go from one thread to another.
fn patch_whole(shared: &Shared, outcome: &mut Outcome) {
    let wanted = |f: &Finding| matches!(f.verdict, Verdict::Caller | Verdict::Embed) && f.patch.is_none();
    let edits = outcome.findings.iter().filter_map(|f| f.patch.as_ref()).flat_map(|p| &p.files).flat_map(|f| &f.edits);
    // All words of other patches, so that no name is declared twice.
    let taken: Vec<String> = edits.flat_map(|e| tokens(&e.text).into_iter().map(|t| spelled(&e.text, &t))).collect();
    let mut left: Vec<&mut Finding> = outcome.findings.iter_mut().filter(|f| wanted(f)).collect();
    if left.is_empty() {
        return;
    }
    let mut refuse = |why: &str| left.iter_mut().for_each(|f| f.no_patch = Some(why.to_string()));
    if !outcome.errors.is_empty() {
        return refuse("other files may change with it, and one of them could not be read");
    }
    match caught("patching the program", || whole(shared, taken)).and_then(|told| told) {
        Err(why) => refuse(&why),
        Ok(told) => {
            for (place, function, told) in told {
                if let Some(finding) = left.iter_mut().find(|f| f.place == place && f.function == function) {
                    told.tell(finding);
                }
            }
        }
    }
}

fn spelled(text: &str, token: &syntax::token::Token) -> String {
    text.get(token.lo as usize..token.hi as usize).unwrap_or("").to_string()
}

/// What is said of each site whose patch changes several files: its place, its function, and that.
/// `taken`: names of other patches.
fn whole(shared: &Shared, taken: Vec<String>) -> Result<Vec<(Place, String, Told)>, String> {
    let (options, preprocessor) = (shared.options, shared.preprocessor);
    let externals = locked(&shared.externals).clone();
    let around = locked(&shared.around);
    let mut units = vec![];
    for (number, source) in shared.sources.iter().enumerate() {
        let text = preprocessor.preprocess(source, &[], false).map_err(|e| e.to_string())??;
        let unit = read(source, text)?;
        let mut summaries = Summaries::default();
        summarise(&unit.program, &options.table, &externals, &mut summaries);
        units.push((number, unit, summaries.own));
    }
    let surroundings: Vec<Surroundings> = units.iter().map(|(number, ..)| around.of(*number)).collect();
    let patchers: Vec<Patcher> = units
        .iter()
        .zip(&surroundings)
        .map(|((_, _, own), around)| Patcher { preprocessor, options, own, externals: &externals, around })
        .collect();
    let mut candidates = vec![];
    for ((_, unit, _), patcher) in units.iter().zip(&patchers) {
        candidates.push(judge(unit, &patcher.context(unit), patcher.around, options, None));
    }
    let contexts: Vec<Context> = units.iter().zip(&patchers).map(|((_, u, _), p)| p.context(u)).collect();
    let sites: Vec<(&Context, &[Candidate])> =
        contexts.iter().zip(&candidates).map(|(cx, c)| (cx, c.as_slice())).collect();
    let words = words(&sites);
    let mut all = vec![];
    for (((_, unit, _), patcher), candidates) in units.iter().zip(&patchers).zip(&candidates) {
        if words.iter().any(|w| unit.map.text.contains(w.as_str())) {
            all.push(Whole { patcher, read: patcher.read(unit, &words)?, candidates });
        }
    }
    let told = together(&all, true, taken);
    let site = |(n, m, told): (usize, usize, Told)| {
        let finding = &all.get(n)?.candidates.get(m)?.finding;
        Some((finding.place.clone(), finding.function.clone(), told))
    };
    Ok(told.into_iter().filter_map(site).collect())
}

/// What surrounds all units, as plain data.
#[derive(Default)]
struct Around {
    parameters: Parameters,
    /// By unit: what the functions return that concern it.
    results: FxHashMap<usize, Arc<Results>>,
    fields: Fields,
    recursive: FxHashSet<String>,
    reached: FxHashSet<String>,
}

impl Around {
    fn of(&self, number: usize) -> Surroundings<'_> {
        let Around { parameters, results, fields, recursive, reached } = self;
        let results = results.get(&number).cloned().unwrap_or_default();
        Surroundings { number, parameters, results, fields, recursive, reached }
    }
}

fn work(shared: &Shared) {
    let mut units = load(shared);
    for loaded in &units {
        let program = &loaded.unit.program;
        let mut externals = locked(&shared.externals);
        for body in program.bodies.iter().filter(|b| !is_internal(program, &b.func)) {
            let Some(name) = symbol(program, &body.func) else { continue };
            let params = vec![Param::default(); body.params as usize];
            let bottom = Summary { params, unit: Some(loaded.number), ..Summary::default() };
            externals.entry(name).or_insert(bottom);
        }
        drop(externals);
        crate::recursion::collect(program, loaded.number, &mut locked(&shared.edges));
    }
    shared.barrier.wait();
    settle(shared, &mut units);
    let recursive = recursive(&locked(&shared.edges));
    let reached = reached(&locked(&shared.edges));
    returned(shared, &mut units);
    let parameters = passed(shared, &units);
    if !parameters.is_empty() {
        for loaded in &mut units {
            let mut own = Results::default();
            let known = (&loaded.results, &parameters);
            results::collect(&loaded.unit.program, loaded.number, known, &mut own);
            loaded.results.extend(own);
        }
    }
    let by_unit = units.iter().map(|u| (u.number, Arc::new(u.results.clone())));
    locked(&shared.by_unit).extend(by_unit);
    let mut outcome = locked(&shared.outcome);
    outcome.results.extend(units.iter().flat_map(|u| u.results.clone()));
    outcome.parameters.clone_from(&parameters);
    drop(outcome);
    let externals = locked(&shared.externals).clone();
    for loaded in &units {
        let (program, own) = (&loaded.unit.program, &loaded.summaries.own);
        let cx = Context { program, table: &shared.options.table, own, externals: &externals };
        let mut found = (Fields::default(), Fields::default());
        crate::fields::released(&cx, &mut found.0);
        crate::fields::shared(&cx, &mut found.1);
        locked(&shared.fields).extend(found.0);
        locked(&shared.shared_fields).extend(found.1);
    }
    shared.barrier.wait();
    let mut fields = locked(&shared.fields).clone();
    let several = locked(&shared.shared_fields);
    fields.retain(|f| !several.contains(f));
    drop(several);
    let results = locked(&shared.by_unit).clone();
    let around = Around { parameters, results, fields, recursive, reached };
    for loaded in &units {
        let cx = Context {
            program: &loaded.unit.program,
            table: &shared.options.table,
            own: &loaded.summaries.own,
            externals: &externals,
        };
        let around = around.of(loaded.number);
        let findings = caught("judging it", || {
            let mut candidates = judge(&loaded.unit, &cx, &around, shared.options, None);
            if shared.options.patches {
                let (preprocessor, options) = (shared.preprocessor, shared.options);
                let patcher = Patcher {
                    preprocessor,
                    options,
                    own: &loaded.summaries.own,
                    externals: &externals,
                    around: &around,
                };
                patcher.patch(&loaded.unit, &mut candidates);
            }
            candidates.into_iter().map(|c| c.finding).collect::<Vec<Finding>>()
        });
        let mut outcome = locked(&shared.outcome);
        match findings {
            Ok(findings) => outcome.findings.extend(findings),
            Err(why) => outcome.errors.push((loaded.unit.source.clone(), why)),
        }
    }
    *locked(&shared.around) = around;
}

/// Does the work; a bug in it is an error of this unit and must not keep the other threads waiting
/// at a barrier.
fn caught<T>(what: &str, work: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|_| format!("internal error while {what}"))
}

/// Reads units as long as there are any.
fn load(shared: &Shared) -> Vec<Loaded> {
    let mut units = vec![];
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(source) = shared.sources.get(number) else { return units };
        let text = shared.preprocessor.preprocess(source, &[], false);
        let unit = match text {
            Ok(Ok(text)) => caught("reading it", || read(source, text)).and_then(|unit| unit),
            Ok(Err(said)) => Err(said),
            Err(error) => Err(format!("the preprocessor cannot be run: {error}")),
        };
        match unit {
            Ok(unit) => {
                locked(&shared.outcome).functions += unit.program.bodies.len();
                units.push(Loaded { number, unit, summaries: Summaries::default(), results: Results::default() });
            }
            Err(why) => locked(&shared.outcome).errors.push((source.clone(), why)),
        }
        (shared.progress)(number + 1, shared.sources.len());
    }
}

/// Intervals of what functions return. Those of other units start from all values and are
/// exchanged once.
fn returned(shared: &Shared, units: &mut [Loaded]) {
    for loaded in units.iter_mut() {
        let program = &loaded.unit.program;
        let nothing = (&Results::default(), &Parameters::default());
        results::collect(program, loaded.number, nothing, &mut loaded.results);
        let (all, names) = &mut *locked(&shared.results);
        results::exported(program, loaded.number, &loaded.results, all, names);
    }
    shared.barrier.wait();
    let others = locked(&shared.results).0.clone();
    for loaded in units.iter_mut() {
        let program = &loaded.unit.program;
        let mut own = Results::default();
        let concerning = results::concerning(&others, program, loaded.number);
        if concerning.keys().any(|name| !loaded.results.contains_key(name)) {
            results::collect(program, loaded.number, (&concerning, &Parameters::default()), &mut own);
        } else {
            own = std::mem::take(&mut loaded.results);
        }
        loaded.results = concerning;
        loaded.results.extend(own);
    }
}

/// Intervals of parameters: the units are gone through until none passes anything new to another.
fn passed(shared: &Shared, units: &[Loaded]) -> Parameters {
    let edges = locked(&shared.edges).clone();
    let whole_program = shared.options.whole_program;
    let unseen = if Rule::Unseen.holds() { edges.uncalled() } else { FxHashSet::default() };
    locked(&shared.unseen).extend(unseen.iter().cloned());
    let mut callers = Callers { edges: &edges, whole_program, unseen };
    let known: Vec<flow::ranges::Summaries> =
        units.iter().map(|u| results::of_program(&u.results, &u.unit.program, u.number)).collect();
    let mut all: Vec<Caller> =
        units.iter().zip(&known).map(|(u, known)| Caller::new(&u.unit, u.number, known)).collect();
    let mut settled = false;
    for _ in 0..MOST_ROUNDS {
        let before = locked(&shared.passed).clone();
        let mut own = before.clone();
        for caller in &mut all {
            // A unit must not see what happens to have been gone through before it: what is widened
            // would depend on the threads. Only in a whole program do units see others.
            let mut from = if whole_program { before.clone() } else { std::mem::take(&mut own) };
            caller.settle(&callers, &mut from);
            own.merge(&from);
        }
        shared.barrier.wait();
        if locked(&shared.passed).merge(&own) {
            shared.changed.store(true, Ordering::SeqCst);
        }
        shared.barrier.wait();
        let changed = shared.changed.load(Ordering::SeqCst);
        shared.barrier.wait();
        shared.changed.store(false, Ordering::SeqCst);
        if changed {
            continue;
        }
        if Rule::Unseen.holds() {
            let unseen = all.iter().flat_map(|caller| caller.unseen(&callers, &own));
            locked(&shared.unseen).extend(unseen);
        }
        shared.barrier.wait();
        let unseen = locked(&shared.unseen).clone();
        shared.barrier.wait();
        settled = unseen == callers.unseen;
        callers.unseen = unseen;
        if settled {
            break;
        }
    }
    if !settled {
        return Parameters::default();
    }
    let upper = locked(&shared.passed).clone();
    shared.widened.fetch_or(all.iter().any(|caller| caller.widened), Ordering::SeqCst);
    shared.barrier.wait();
    if !shared.widened.load(Ordering::SeqCst) {
        return upper.known(&callers);
    }
    let mut lower = Passed::default();
    all.iter().for_each(|caller| caller.lower(&callers, &upper, &mut lower));
    if shared.barrier.wait().is_leader() {
        *locked(&shared.passed) = Passed::default();
    }
    shared.barrier.wait();
    locked(&shared.passed).merge(&lower);
    shared.barrier.wait();
    let lowered = locked(&shared.passed).clone();
    lowered.known(&callers)
}

/// Summaries, until nothing changes.
fn settle(shared: &Shared, units: &mut [Loaded]) {
    for round in 0..=MOST_ROUNDS {
        let last = round == MOST_ROUNDS;
        let externals = if last { Externals::default() } else { locked(&shared.externals).clone() };
        shared.barrier.wait();
        for loaded in units.iter_mut() {
            if last {
                loaded.summaries = Summaries::default();
            }
            summarise(&loaded.unit.program, &shared.options.table, &externals, &mut loaded.summaries);
            let program = &loaded.unit.program;
            let mut all = locked(&shared.externals);
            for body in program.bodies.iter().filter(|b| !is_internal(program, &b.func)) {
                let name = symbol(program, &body.func);
                let summary = loaded.summaries.own.get(body.func.func.0 as usize).cloned().flatten();
                let (Some(name), Some(summary)) = (name, summary) else { continue };
                let slot = all.entry(name).or_default();
                if slot.add(&summary, loaded.number) {
                    shared.changed.store(true, Ordering::SeqCst);
                }
            }
        }
        shared.barrier.wait();
        let changed = shared.changed.load(Ordering::SeqCst);
        shared.barrier.wait();
        shared.changed.store(false, Ordering::SeqCst);
        if last && shared.barrier.wait().is_leader() {
            locked(&shared.externals).clear();
        }
        shared.barrier.wait();
        if !changed || last || !Rule::FixedPoint.holds() {
            return;
        }
    }
}
