//! The answer of a program, as lines of fields between tabs.

use crate::failure::{reason, Failure, Outcome};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A program does not answer within four seconds if it is not between two tasks for so long.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a program may send; the runtime stops at 1 MB.
const MOST: u64 = 4 << 20;

/// How much of something there is, and how much there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    pub now: u64,
    pub most: Option<u64>,
}

/// What `LEE_GROUP_...` counts, in the order of the lines.
pub const KINDS: [&str; 5] = ["bytes", "processes", "tasks", "descriptors", "endpoints"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Custodian {
    pub id: u64,
    /// 0: it is the first.
    pub parent: u64,
    pub uses: [Use; KINDS.len()],
    /// Nanoseconds that its processes ran.
    pub ran: u64,
    pub weight: u64,
    /// Processes in it and below that wait for their turn.
    pub ready: u64,
    pub shut: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    pub id: u64,
    pub custodian: u64,
    pub state: String,
    pub bytes: u64,
    pub tasks: u64,
    pub endpoints: u64,
    /// That have arrived and were not received.
    pub messages: u64,
    /// What it began with: its place in the program's file, as memory has it; 0: not known.
    pub entry: u64,
    /// Of the function that it began with, if the program's file says so.
    pub name: Option<String>,
    pub waits: Option<Waits>,
    /// The worker that runs it.
    pub worker: Option<u64>,
}

/// A thread that runs processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worker {
    pub id: u64,
    /// It runs a process, looks for one, or sleeps.
    pub state: String,
    /// Processes that wait for their turn on it, without those of custodians that share time.
    pub queued: u64,
}

/// An end of a channel that a process has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    pub contract: String,
    pub process: u64,
    /// That has the other end; 0: it was closed, or is on its way in a message.
    pub peer: u64,
    /// Messages that have arrived, and how many there may be.
    pub held: u64,
    pub most: u64,
    pub state: String,
}

/// What a process waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waits {
    /// A message of a contract, from a process.
    Message { contract: String, from: u64 },
    /// The end of a process.
    End(u64),
    /// A task of its own.
    Task,
    /// A finalizer queue.
    Queue,
    /// A descriptor, a time, or a message or end of no process.
    Outside,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Answer {
    pub pid: u64,
    /// Nanoseconds of a clock.
    pub time: u64,
    /// Processes of custodians that wait for their turn.
    pub ready: u64,
    /// Each before those below it.
    pub custodians: Vec<Custodian>,
    pub processes: Vec<Process>,
    pub workers: Vec<Worker>,
    pub ends: Vec<End>,
    /// There was more than an answer holds.
    pub cut: bool,
}

/// Asks the program whose socket is at the path what its processes and custodians do.
pub fn ask(path: &Path) -> Outcome<Answer> {
    let text = request(path, "list\n")?;
    parse(&text).ok_or_else(|| strange(path))
}

/// What it answers is something else, or ends too early.
pub fn strange(path: &Path) -> Failure {
    Failure::error(format!("what '{}' sends is not for this 'lee top'", path.display()))
}

/// What the program whose socket is at the path answers.
pub fn request(path: &Path, line: &str) -> Outcome<String> {
    let failed = |error: &std::io::Error| {
        Failure::error(format!("no program answers at '{}': {}", path.display(), reason(error)))
    };
    let mut stream = UnixStream::connect(path).map_err(|error| failed(&error))?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(|error| failed(&error))?;
    // One that sends without being asked may have left already; what it sent tells.
    let _ = stream.write_all(line.as_bytes());
    let mut bytes = vec![];
    stream.take(MOST).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&bytes);
    if text == "busy\n" {
        return Err(Failure::error("the program did not answer: it is in a call of C that lasts"));
    }
    Ok(text.into_owned())
}

/// None if it is something else, or ends too early.
pub fn parse(text: &str) -> Option<Answer> {
    let mut answer = Answer::default();
    let mut ended = false;
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let word = |at: usize| Some((*fields.get(at)?).to_string());
        match *fields.first()? {
            "program" => (answer.pid, answer.time, answer.ready) = (number(1)?, number(2)?, number(3)?),
            "custodian" => {
                let mut uses = [Use { now: 0, most: None }; KINDS.len()];
                for (kind, one) in uses.iter_mut().enumerate() {
                    let most = *fields.get(4 + 2 * kind)?;
                    let most = if most == "-" { None } else { Some(most.parse().ok()?) };
                    *one = Use { now: number(3 + 2 * kind)?, most };
                }
                answer.custodians.push(Custodian {
                    id: number(1)?,
                    parent: number(2)?,
                    uses,
                    ran: number(13)?,
                    weight: number(14)?,
                    ready: number(15)?,
                    shut: *fields.get(16)? == "shut",
                });
            }
            "process" => answer.processes.push(Process {
                id: number(1)?,
                custodian: number(2)?,
                state: (*fields.get(3)?).to_string(),
                bytes: number(4)?,
                tasks: number(5)?,
                endpoints: number(6)?,
                messages: number(7)?,
                entry: number(8)?,
                name: None,
                waits: waits(&fields)?,
                worker: match *fields.get(12)? {
                    "-" => None,
                    _ => Some(number(12)?),
                },
            }),
            "worker" => {
                answer.workers.push(Worker { id: number(1)?, state: word(2)?, queued: number(3)? });
            }
            "end" if fields.len() > 1 => answer.ends.push(End {
                contract: word(1)?,
                process: number(2)?,
                peer: number(3)?,
                held: number(4)?,
                most: number(5)?,
                state: word(6)?,
            }),
            "end" => ended = true,
            "cut" => (ended, answer.cut) = (true, true),
            _ => return None,
        }
    }
    (ended && answer.pid != 0).then_some(answer)
}

/// None if the fields say nothing that is known.
fn waits(fields: &[&str]) -> Option<Option<Waits>> {
    let [kind, contract, process] = fields.get(9..12)? else { return None };
    let process = process.parse::<u64>().ok()?;
    Some(match *kind {
        "-" => None,
        "message" => Some(Waits::Message { contract: (*contract).to_string(), from: process }),
        "end" => Some(Waits::End(process)),
        "task" => Some(Waits::Task),
        "queue" => Some(Waits::Queue),
        "outside" => Some(Waits::Outside),
        _ => return None,
    })
}
