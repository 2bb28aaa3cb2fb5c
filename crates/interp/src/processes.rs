//! Processes: each has its heap, its variables and its tasks, and uses no memory of another. A
//! fault ends the one that it is in.

use crate::code::*;
use crate::custodians::Counted;
use crate::exec::Flow;
use crate::library::{int, Args};
use crate::machine::*;
use crate::memory::*;
use crate::tasks::Key;
use std::collections::VecDeque;
use std::rc::Rc;
use typing::tree::FuncRef;
use typing::types::FuncTy;

/// How a process ended (`struct process_end` of <lee/process.lh>).
#[derive(Clone, Debug)]
pub struct Ended {
    how: How,
    status: i32,
    message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    Returned,
    Exited,
    Faulted,
    Killed,
    Limit,
}

/// A process.
#[derive(Debug, Default)]
pub struct Process {
    /// Its first task.
    pub task: usize,
    /// Its first custodian.
    pub custodian: usize,
    /// The custodian that it was spawned in, of its spawner.
    pub within: usize,
    /// Statements that it ran, up to when another one did last.
    pub ran: u64,
    /// Its tasks.
    pub tasks: Vec<usize>,
    /// Its tasks that can run.
    pub ready: VecDeque<usize>,
    /// How it ended.
    pub end: Option<Ended>,
    /// Its variables, while another process runs.
    globals: Vec<ObjId>,
    /// Its standard output, while another process runs.
    output: Option<crate::files::Stream>,
    /// The number of the first object that was made after it.
    first: usize,
    /// Older objects that it was given.
    given: Vec<ObjId>,
}

/// The bytes of `struct process_end`, and of its message.
const END: usize = 128;
const MESSAGE: usize = 120;

impl Machine<'_> {
    /// Another process runs.
    pub fn enter_process(&mut self, n: usize) {
        let before = self.tasks.process;
        if n == before {
            return;
        }
        if let Some(process) = self.tasks.processes.get_mut(before) {
            process.globals = std::mem::take(&mut self.globals);
            process.output = self.io.take_output();
            process.ran += self.steps - self.tasks.since;
        }
        self.tasks.since = self.steps;
        self.tasks.process = n;
        self.mem.running = n as u32;
        if let Some(process) = self.tasks.processes.get_mut(n) {
            self.globals = std::mem::take(&mut process.globals);
            if let Some(output) = process.output.take() {
                self.io.print_on(output);
            }
        }
    }

    /// `spawn f(a)`
    pub fn spawn(&mut self, dest: Option<&Place>, func: &FuncRef, args: &[Op], ty: &Rc<FuncTy>) -> R<Flow> {
        let Some(code) = self.code(func) else { return unsupported("a process of a function that is not here") };
        let mut values = vec![];
        for arg in args {
            values.push(self.load(arg, false)?);
        }
        let _ = ty;
        // What the process has of its own is not the statement's.
        let noting = self.mem.pause();
        let made = self.new_process(code, values);
        self.mem.resume(noting);
        let pid = made?;
        if let Some(dest) = dest {
            self.store(dest, &Val::ptr(pid), As::Owner)?;
        }
        Ok(Flow::Next)
    }

    fn new_process(&mut self, code: Rc<Code>, args: Vec<Val>) -> R<u64> {
        let n = self.tasks.processes.len();
        let globals = vec![0; self.program.globals.len()];
        let (within, spawner) = (self.tasks.entered(), self.tasks.process);
        let first = self.mem.len();
        self.tasks.processes.push(Process { globals, first, within, ..Process::default() });
        self.enter_process(n);
        let custodian = self.first_custodian(within);
        self.enter_process(spawner);
        if let Some(process) = self.tasks.processes.get_mut(n) {
            process.custodian = custodian;
        }
        let lent = vec![false; args.len()];
        let task = self.make_task(n, code, args, &lent)?;
        if let Some(process) = self.tasks.processes.get_mut(n) {
            process.task = task;
        }
        let pid = self.stands_for(n);
        if let Some(obj) = self.mem.obj_mut(self.mem.place(pid).obj) {
            obj.home = SHARED;
        }
        if self.is_shut(within) {
            self.process_shut(n, "")?;
        }
        self.within_count(within, Counted::Processes)?;
        Ok(pid)
    }

    /// The processes whose first custodians are among these.
    pub fn processes_in(&self, custodians: &[usize]) -> Vec<usize> {
        let all = self.tasks.processes.iter().enumerate().skip(1);
        all.filter(|(_, p)| p.end.is_none() && custodians.contains(&p.custodian)).map(|(n, _)| n).collect()
    }

    /// A process ends because a custodian above it was shut down, if it has not ended.
    pub fn process_shut(&mut self, n: usize, message: &str) -> R<()> {
        match self.tasks.processes.get(n).is_some_and(|process| process.end.is_none()) {
            true => self.end_process(n, Ended { how: How::Limit, status: 0, message: message.to_string() }),
            false => Ok(()),
        }
    }

    /// The first custodian of the running process was shut down.
    pub fn first_shut(&mut self, message: &str) -> R<()> {
        if self.tasks.process == 0 {
            return fault("custodian: the custodian of main was shut down");
        }
        self.process_shut(self.tasks.process, message)?;
        Err(Box::new(Stop::Gone))
    }

    /// What the innermost call of a new process was given is the process's.
    pub fn given(&mut self, process: usize) -> R<()> {
        let Some(code) = self.frames.last().map(|f| f.code.clone()) else { return Ok(()) };
        for (n, local) in code.locals.iter().enumerate().take(code.params as usize) {
            if local.owns {
                let loc = self.local_loc(n as u32, local);
                self.give(loc, local.ty, process as u32)?;
            }
        }
        Ok(())
    }

    /// Notes that an object came to a process.
    pub fn came(&mut self, id: ObjId, process: u32) {
        if let Some(process) = self.tasks.processes.get_mut(process as usize) {
            self.mem.charge_to(id, process.custodian as u32);
            if (id as usize) < process.first {
                process.given.push(id);
            }
        }
    }

    /// The process that runs is over: its first task returned.
    pub fn process_returned(&mut self) -> R<()> {
        let status = self.tasks.status;
        self.end_process(self.tasks.process, Ended { how: How::Returned, status, message: String::new() })
    }

    /// What stopped the process that runs, which is not the first one, ends it.
    pub fn stopped(&mut self, stop: Stop) -> R<()> {
        let ended = match stop {
            Stop::Gone => return self.next(),
            Stop::Fault(message) => {
                let text = format!("fault: {message}\n");
                self.io.write(2, text.as_bytes());
                Ended { how: How::Faulted, status: 134, message }
            }
            // `abort`
            Stop::Exit(134) => Ended { how: How::Faulted, status: 134, message: "aborted".into() },
            Stop::Exit(status) => Ended { how: How::Exited, status, message: String::new() },
            other => return Err(Box::new(other)),
        };
        self.end_process(self.tasks.process, ended)?;
        self.next()
    }

    /// A process ends, and all that it has.
    fn end_process(&mut self, n: usize, ended: Ended) -> R<()> {
        let noting = self.mem.pause();
        let done = self.end_all_of(n, ended);
        self.mem.resume(noting);
        done
    }

    fn end_all_of(&mut self, n: usize, ended: Ended) -> R<()> {
        let before = self.tasks.process;
        let mut frames = self.tasks.end_all(n);
        if n == before {
            frames.append(&mut self.frames);
            self.stack = 0;
            self.regs = 0;
        }
        self.enter_process(n);
        self.io.flush(1);
        let home = n as u32;
        let process = self.tasks.processes.get_mut(n);
        let (first, given) = process.map_or((usize::MAX, vec![]), |p| {
            p.end = Some(ended);
            (p.first, std::mem::take(&mut p.given))
        });
        let newer = (first..self.mem.len()).map(|id| id as ObjId);
        let mine = |id: &ObjId| self.mem.obj(*id).is_some_and(|o| o.home == home && o.state == State::Live);
        let mut objects: Vec<ObjId> = newer.chain(given).filter(mine).collect();
        // The newest first, as they stand on the process's lists.
        objects.sort_unstable_by(|a, b| b.cmp(a));
        for sets in [true, false] {
            for &obj in &objects {
                let live = self.mem.obj(obj).is_some_and(|o| o.kind == Kind::End && o.state == State::Live);
                if live && self.channels.is_set(obj) == sets {
                    let address = self.mem.address(Loc { obj, off: 0 });
                    self.end_of_process(address, sets)?;
                }
            }
        }
        self.end_frames(frames);
        for id in objects {
            if self.mem.obj(id).is_some_and(|o| o.state == State::Live && o.kind != Kind::Registers) {
                self.arenas.remove(&id);
                self.mem.end(id, State::WithProcess, self.span);
            }
        }
        let closed = self.io.numbers.close_of(home);
        closed.into_iter().for_each(|fd| self.wake_number(fd));
        self.close_lost();
        self.globals = vec![];
        if n != before {
            self.enter_process(before);
        }
        self.wake(Key::Process(n));
        Ok(())
    }

    fn end_of_process(&mut self, address: u64, set: bool) -> R<()> {
        match set {
            true => self.free_set(address),
            false => self.close_end(address),
        }
    }

    fn process_of(&self, pid: u64) -> R<usize> {
        if pid == 0 {
            return fault("null pointer");
        }
        let loc = self.mem.place(pid);
        match self.mem.obj(loc.obj).filter(|o| o.kind == Kind::Opaque && loc.obj != 0) {
            Some(obj) => Ok(obj.count as usize),
            None => report(crate::ReportKind::Wild, "what is used as a `pid` is none"),
        }
    }

    /// <lee/process.lh>, if it is one of its functions.
    pub fn process_call(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        match name {
            "lee_process_kill" => {
                let n = self.process_of(a.ptr(0))?;
                if self.tasks.processes.get(n).is_none_or(|p| p.end.is_some()) {
                    return int(0);
                }
                let itself = n == self.tasks.process;
                self.end_process(n, Ended { how: How::Killed, status: 0, message: String::new() })?;
                match itself {
                    true => Err(Box::new(Stop::Gone)),
                    false => int(0),
                }
            }
            "lee_process_keep_thread" => int(0), // there is one thread
            "lee_process_wait" => {
                let n = self.process_of(a.ptr(0))?;
                let Some(ended) = self.tasks.processes.get(n).and_then(|p| p.end.clone()) else {
                    return self.tasks.wait_for(vec![Key::Process(n)], None);
                };
                let mut data = (ended.how as i32).to_le_bytes().to_vec();
                data.extend(ended.status.to_le_bytes());
                data.extend(ended.message.bytes().take(MESSAGE - 1));
                data.resize(END, 0);
                Ok(Some(Val::Blob(Rc::new(Blob { data, marks: vec![] }))))
            }
            _ => Ok(None),
        }
    }
}
