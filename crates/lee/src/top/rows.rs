//! What the answer has to say, as the rows of two tables: custodians, and processes.

use super::read::{Answer, Custodian, End, Process, Waits};
use std::cmp::Reverse;
use std::collections::HashMap;

/// What comes first.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Order {
    /// Those that run, and then those with the most messages.
    #[default]
    Time,
    Memory,
}

pub const CUSTODIANS: [&str; 12] =
    ["custodian", "below", "time%", "weight", "ran ms", "KB", "of KB", "procs", "ends", "fds", "ready", "runs"];
pub const PROCESSES: [&str; 9] =
    ["process", "custodian", "state", "KB", "tasks", "ends", "messages", "function", "waits for"];

pub const ENDS: [&str; 6] = ["end of", "process", "other end", "messages", "of", "state"];

/// The tables, and a line above them.
pub struct Rows {
    pub summary: String,
    /// Processes that wait for each other, a line for each circle.
    pub cycles: Vec<String>,
    pub custodians: Vec<[String; CUSTODIANS.len()]>,
    pub processes: Vec<[String; PROCESSES.len()]>,
    /// Of channels: those with the most messages come first.
    pub ends: Vec<[String; ENDS.len()]>,
}

/// With what was a moment `before`, shares are of the time since then; without, of all time.
pub fn rows(now: &Answer, before: Option<&Answer>, order: Order) -> Rows {
    let numbers: HashMap<u64, usize> = now.custodians.iter().enumerate().map(|(number, c)| (c.id, number)).collect();
    let ran_before: HashMap<u64, u64> =
        before.map_or_else(HashMap::new, |b| b.custodians.iter().map(|c| (c.id, c.ran)).collect());
    let took = |c: &Custodian| c.ran.saturating_sub(ran_before.get(&c.id).copied().unwrap_or(0));
    // What is below one is part of it, so these count once.
    let all: u64 = now.custodians.iter().filter(|c| is_outermost(now, &numbers, c)).map(took).sum();
    let functions = functions(now, &numbers);
    let mut custodians: Vec<&Custodian> = now.custodians.iter().filter(|c| matters(c)).collect();
    custodians.sort_by_key(|c| match order {
        Order::Time => Reverse((took(c), c.uses[0].now)),
        Order::Memory => Reverse((c.uses[0].now, took(c))),
    });
    let custodian = |c: &&Custodian| {
        let share = if all == 0 { 0.0 } else { took(c) as f64 * 100.0 / all as f64 };
        let function = numbers.get(&c.id).and_then(|&at| functions.get(at)).map_or("", |known| known.text());
        [
            name(c.id),
            name(c.parent),
            format!("{share:.1}"),
            c.weight.to_string(),
            format!("{:.1}", c.ran as f64 / 1e6),
            (c.uses[0].now / 1024).to_string(),
            c.uses[0].most.map_or("-".to_string(), |most| (most / 1024).to_string()),
            c.uses[1].now.to_string(),
            c.uses[4].now.to_string(),
            c.uses[3].now.to_string(),
            c.ready.to_string(),
            if c.shut { format!("{function} (shut)") } else { function.to_string() },
        ]
    };
    let mut processes: Vec<&Process> = now.processes.iter().collect();
    processes.sort_by_key(|p| match order {
        Order::Time => (rank(&p.state), Reverse((p.messages, p.bytes))),
        Order::Memory => (0, Reverse((p.bytes, p.messages))),
    });
    let process = |p: &&Process| {
        [
            format!("p{}", p.id),
            name(p.custodian),
            p.state.clone(),
            (p.bytes / 1024).to_string(),
            p.tasks.to_string(),
            p.endpoints.to_string(),
            p.messages.to_string(),
            p.name.clone().unwrap_or_default(),
            p.waits.as_ref().map(waits).unwrap_or_default(),
        ]
    };
    let mut ends: Vec<&End> = now.ends.iter().collect();
    ends.sort_by_key(|end| (Reverse(end.held), end.process));
    let end = |end: &&End| {
        [
            end.contract.clone(),
            format!("p{}", end.process),
            if end.peer == 0 { "-".to_string() } else { format!("p{}", end.peer) },
            end.held.to_string(),
            end.most.to_string(),
            end.state.clone(),
        ]
    };
    Rows {
        summary: summary(now),
        cycles: super::cycles::find(now).iter().map(|circle| super::cycles::text(circle)).collect(),
        custodians: custodians.iter().map(custodian).collect(),
        processes: processes.iter().map(process).collect(),
        ends: ends.iter().map(end).collect(),
    }
}

fn summary(now: &Answer) -> String {
    let count = |state: &str| now.processes.iter().filter(|p| p.state == state).count();
    format!(
        "program {}: {} processes in {} custodians; {} running, {} ready, {} preempted, {} receiving, {} in C, {} dying{}",
        now.pid,
        now.processes.len(),
        now.custodians.len(),
        count("running"),
        count("ready"),
        count("preempted"),
        count("receiving"),
        count("foreign"),
        count("dying"),
        if now.cut { "; the answer was cut" } else { "" }
    ) + &workers(now)
}

/// The workers, and what waits for its turn; nothing of a single one.
fn workers(now: &Answer) -> String {
    if now.workers.len() < 2 {
        return String::new();
    }
    let each = now.workers.iter().map(|worker| {
        let runs = now.processes.iter().find(|p| p.worker == Some(worker.id));
        let does = runs.map_or_else(|| worker.state.clone(), |p| format!("runs p{}", p.id));
        let queued = if worker.queued > 0 { format!(", {} queued", worker.queued) } else { String::new() };
        format!("w{} {does}{queued}", worker.id)
    });
    format!("; {} ready with shares; {}", now.ready, each.collect::<Vec<_>>().join("; "))
}

/// Which functions the processes of a custodian began with.
#[derive(Clone, Copy)]
enum Functions<'a> {
    None,
    One(&'a str),
    Several,
}

impl<'a> Functions<'a> {
    fn text(self) -> &'a str {
        match self {
            Functions::None => "",
            Functions::One(name) => name,
            Functions::Several => "several",
        }
    }

    fn and(self, other: Functions<'a>) -> Functions<'a> {
        match (self, other) {
            (Functions::None, one) | (one, Functions::None) => one,
            (Functions::One(a), Functions::One(b)) if a == b => self,
            _ => Functions::Several,
        }
    }
}

/// Of each custodian, with all below it.
fn functions<'a>(now: &'a Answer, numbers: &HashMap<u64, usize>) -> Vec<Functions<'a>> {
    let mut known = vec![Functions::None; now.custodians.len()];
    let mut add = |id: u64, functions: Functions<'a>| -> Functions<'a> {
        match numbers.get(&id).and_then(|&at| known.get_mut(at)) {
            Some(of) => {
                *of = of.and(functions);
                *of
            }
            None => Functions::None,
        }
    };
    for process in &now.processes {
        add(process.custodian, process.name.as_deref().map_or(Functions::None, Functions::One));
    }
    // Each comes before those below it.
    for custodian in now.custodians.iter().rev() {
        let own = add(custodian.id, Functions::None);
        add(custodian.parent, own);
    }
    known
}

/// Those that compute come first.
fn rank(state: &str) -> usize {
    ["dying", "running", "preempted", "ready", "foreign", "receiving"].iter().position(|&s| s == state).unwrap_or(9)
}

/// It ran or has a limit, and is not an empty one that was shut down.
fn matters(c: &Custodian) -> bool {
    let (empty, limited) = (c.uses.iter().all(|one| one.now == 0), c.uses.iter().any(|one| one.most.is_some()));
    !(c.shut && empty) && (c.ran > 0 || limited)
}

/// Whether no custodian above it takes part in the sharing of time, so that what it ran is nowhere
/// else.
fn is_outermost(now: &Answer, numbers: &HashMap<u64, usize>, c: &Custodian) -> bool {
    numbers.get(&c.parent).and_then(|&at| now.custodians.get(at)).is_none_or(|parent| parent.ran == 0)
}

/// Custodians are numbered as they were made; above the first one there is none.
fn name(id: u64) -> String {
    if id == 0 {
        "-".to_string()
    } else {
        format!("c{id}")
    }
}

fn waits(what: &Waits) -> String {
    match what {
        Waits::Message { contract, from } => format!("{contract} from p{from}"),
        Waits::End(process) => format!("end of p{process}"),
        Waits::Task => "a task".to_string(),
        Waits::Queue => "a finalizer queue".to_string(),
        Waits::Outside => "input or time".to_string(),
    }
}
