//! Tasks and processes: each task has its calls; one runs until it waits, in the order of the
//! runtime (`runtime/src/task.c`). With a seed the next one is chosen among the first few, as
//! `LEE_SEED` does. The clock is that of statements, and jumps when everything waits for a time.

use crate::code::*;
use crate::custodians::Counted;
use crate::machine::*;
use crate::memory::*;
use crate::processes::Process;
use crate::Options;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What a task waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// That a task ends.
    Task(usize),
    /// That a process ends.
    Process(usize),
    /// That the head of an end changes, or of a member of a set.
    End(ObjId),
    /// That there is something in a cell.
    Full(ObjId),
    /// That there is nothing in a cell.
    Empty(ObjId),
    /// That there is something in a finalizer queue.
    Queue(usize),
    /// That a descriptor can be read, or (`true`) written.
    Descriptor(i32, bool),
    /// That a FIFO is opened.
    Fifo(crate::descriptors::Fifo),
    /// That a signal comes.
    Signal,
}

/// A task.
#[derive(Debug, Default)]
pub struct Task {
    frames: Vec<Frame>,
    stack: usize,
    /// The process that it belongs to.
    pub process: usize,
    /// It has ended.
    pub done: bool,
    /// Its custodian was shut down, which ended it.
    pub shut: bool,
    /// How many `lee_hold` it is in: meanwhile no limit strikes at what it allocates.
    pub holds: u32,
    /// The custodian that it belongs to.
    pub custodian: usize,
    /// The one that what it starts belongs to.
    entered: usize,
    /// What it waits for.
    keys: Vec<Key>,
    /// When the wait that it is in ends.
    deadline: Option<u64>,
    /// How far the call of the system that it waits in has come, in bytes.
    progress: u64,
    /// A signal ended its wait.
    interrupted: bool,
}

/// All tasks; number 0 is the first.
#[derive(Debug, Default)]
pub struct Tasks {
    /// By number.
    pub list: Vec<Task>,
    /// The one that runs.
    pub current: usize,
    /// By number; 0 is the first.
    pub processes: Vec<Process>,
    /// The one that runs.
    pub process: usize,
    /// Those that can run, without the one that does.
    queue: VecDeque<usize>,
    waiters: FxHashMap<Key, VecDeque<usize>>,
    timers: Vec<usize>,
    /// Those that wait for descriptors.
    polling: Vec<usize>,
    /// The task that runs gives way.
    pub switch: bool,
    /// What the running task is about to wait for.
    wanted: Vec<Key>,
    /// What `main` returned.
    pub status: i32,
    /// Nanoseconds that were skipped because everything waited for a time.
    pub skipped: u64,
    /// When the slice of the running process ends, in statements.
    pub slice: u64,
    /// Since when it runs, in statements.
    pub since: u64,
    random: Option<u64>,
}

/// Nanoseconds that a statement counts for.
const STEP: u64 = 20;
/// Statements before another process gets its turn.
const SLICE: u64 = 200_000;
/// Statements that take as long as a call of the system.
const CALL: u64 = 250;
/// Milliseconds that everything may wait for descriptors.
const PATIENCE: i32 = 20_000;
/// Among so many a seed chooses.
const CHOICE: usize = 8;

impl Tasks {
    /// Without any.
    pub fn new(options: &Options) -> Tasks {
        Tasks { random: options.seed, slice: SLICE, ..Tasks::default() }
    }

    /// The first task, of the first process.
    pub fn begin(&mut self) {
        self.list.push(Task::default());
        self.processes.push(Process::default());
    }

    /// Whether the first task runs.
    pub fn is_main(&self) -> bool {
        self.current == 0
    }

    /// Whether the task has ended.
    pub fn is_done(&self, n: usize) -> bool {
        self.list.get(n).is_none_or(|t| t.done)
    }

    /// The custodian that what the running task starts belongs to.
    pub fn entered(&self) -> usize {
        self.list.get(self.current).map_or(0, |task| task.entered)
    }

    /// From now on it is this one; gives the one before.
    pub fn enter(&mut self, custodian: usize) -> usize {
        let task = self.list.get_mut(self.current);
        task.map_or(0, |task| std::mem::replace(&mut task.entered, custodian))
    }

    /// The custodian that the running task belongs to.
    pub fn custodian(&self) -> usize {
        self.list.get(self.current).map_or(0, |task| task.custodian)
    }

    /// The tasks that belong to one of these custodians.
    pub fn tasks_in(&self, custodians: &[usize]) -> Vec<usize> {
        let inside = |(_, task): &(usize, &Task)| !task.done && custodians.contains(&task.custodian);
        self.list.iter().enumerate().filter(inside).map(|(n, _)| n).collect()
    }

    /// Whether the task is the first one of its process.
    pub fn is_first(&self, n: usize) -> bool {
        let process = self.list.get(n).and_then(|task| self.processes.get(task.process));
        process.is_some_and(|process| process.task == n)
    }

    /// The running task waits for one of these, or the time.
    pub fn wait_for<T>(&mut self, keys: Vec<Key>, until: Option<u64>) -> R<T> {
        self.wanted = keys;
        if let Some(task) = self.list.get_mut(self.current) {
            task.deadline = until;
        }
        Err(Box::new(Stop::Wait))
    }

    /// When the wait of the running task ends.
    pub fn deadline(&self) -> Option<u64> {
        self.list.get(self.current).and_then(|task| task.deadline)
    }

    /// The wait of the running task is over.
    pub fn no_deadline(&mut self) {
        if let Some(task) = self.list.get_mut(self.current) {
            task.deadline = None;
        }
    }

    /// How far the call that the running task waited in had come; it begins again with nothing.
    pub fn take_progress(&mut self) -> u64 {
        self.list.get_mut(self.current).map_or(0, |task| std::mem::take(&mut task.progress))
    }

    /// How far the call that the running task is about to wait in has come.
    pub fn set_progress(&mut self, done: u64) {
        if let Some(task) = self.list.get_mut(self.current) {
            task.progress = done;
        }
    }

    /// Whether a signal ended the wait of the running task; once.
    pub fn take_interrupted(&mut self) -> bool {
        self.list.get_mut(self.current).is_some_and(|task| std::mem::take(&mut task.interrupted))
    }

    /// The descriptors that tasks wait for.
    fn polled(&self) -> Vec<(i32, bool)> {
        let keys = self.polling.iter().filter_map(|&n| self.list.get(n)).flat_map(|task| &task.keys);
        keys.filter_map(|key| if let Key::Descriptor(fd, writes) = key { Some((*fd, *writes)) } else { None }).collect()
    }

    /// SplitMix64, as the runtime has it.
    fn below(&mut self, bound: usize) -> usize {
        let Some(state) = &mut self.random else { return 0 };
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = *state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((x ^ (x >> 31)) >> 32) as usize).checked_rem(bound).unwrap_or(0)
    }

    /// The first that can run of a process; with a seed, one of the first.
    fn ready_of(&mut self, process: usize) -> Option<usize> {
        let chosen = match self.random {
            Some(_) => self.below(CHOICE),
            None => 0,
        };
        let ready = &mut self.processes.get_mut(process)?.ready;
        let last = ready.len().checked_sub(1)?;
        ready.remove(chosen.min(last))
    }

    /// A task of another process that can run.
    fn outside(&mut self) -> Option<usize> {
        let chosen = match self.random {
            Some(_) => self.below(CHOICE),
            None => 0,
        };
        let last = self.queue.len().checked_sub(1)?;
        let process = self.queue.remove(chosen.min(last))?;
        self.ready_of(process)
    }

    /// A process that does not run can.
    fn queue(&mut self, process: usize) {
        if !self.queue.contains(&process) {
            self.queue.push_back(process);
        }
    }

    /// A task can run.
    pub fn ready(&mut self, n: usize) {
        let Some(process) = self.list.get(n).map(|task| task.process) else { return };
        if let Some(of) = self.processes.get_mut(process) {
            of.ready.push_back(n);
        }
        if process != self.process {
            self.queue(process);
        }
    }

    /// A task waits for nothing any more.
    fn forget(&mut self, n: usize) {
        let Some(task) = self.list.get_mut(n) else { return };
        for key in std::mem::take(&mut task.keys) {
            if let Some(waiting) = self.waiters.get_mut(&key) {
                waiting.retain(|&t| t != n);
                if waiting.is_empty() {
                    self.waiters.remove(&key);
                }
            }
        }
        self.timers.retain(|&t| t != n);
        self.polling.retain(|&t| t != n);
    }

    /// A task goes on.
    fn resume(&mut self, n: usize) {
        self.forget(n);
        self.ready(n);
    }

    /// The calls of all tasks that do not run.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.list.iter().flat_map(|task| &task.frames)
    }

    /// All tasks of a process end.
    pub fn end_all(&mut self, process: usize) -> Vec<Frame> {
        let mut frames = vec![];
        self.queue.retain(|&p| p != process);
        let Some(of) = self.processes.get_mut(process) else { return frames };
        of.ready.clear();
        for n in std::mem::take(&mut of.tasks) {
            if self.list.get(n).is_some_and(|task| !task.done) {
                self.forget(n);
                if let Some(task) = self.list.get_mut(n) {
                    task.done = true;
                    frames.append(&mut task.frames);
                }
            }
        }
        frames
    }
}

/// Whether a signal ends a wait for this, which is a call of the system.
fn ends_by_signal(key: &Key) -> bool {
    match key {
        Key::Descriptor(..) | Key::Fifo(_) | Key::Signal => true,
        Key::Task(_) | Key::Process(_) | Key::End(_) | Key::Full(_) | Key::Empty(_) | Key::Queue(_) => false,
    }
}

impl Machine<'_> {
    fn switch_to(&mut self, n: usize) {
        let frames = std::mem::take(&mut self.frames);
        let stack = self.stack;
        if let Some(task) = self.tasks.list.get_mut(self.tasks.current) {
            task.frames = frames;
            task.stack = stack;
        }
        self.tasks.current = n;
        let process = self.tasks.list.get(n).map_or(0, |task| task.process);
        self.enter_process(process);
        if let Some(task) = self.tasks.list.get_mut(n) {
            self.frames = std::mem::take(&mut task.frames);
            self.stack = task.stack;
        }
        self.regs = self.frames.last().map_or(0, |f| f.regs);
        self.io.custodian = self.opens_in();
        self.mem.payer = self.tasks.custodian() as u32;
    }

    /// A task ends because its custodian was shut down.
    pub fn end_task(&mut self, n: usize) {
        self.tasks.forget(n);
        let Some(task) = self.tasks.list.get_mut(n) else { return };
        (task.done, task.shut) = (true, true);
        let mut frames = std::mem::take(&mut task.frames);
        let process = task.process;
        if n == self.tasks.current {
            frames.append(&mut self.frames);
            self.stack = 0;
            self.regs = 0;
        }
        if let Some(of) = self.tasks.processes.get_mut(process) {
            of.ready.retain(|&t| t != n);
        }
        self.end_frames(frames);
        self.poison_cells(n);
        self.wake(Key::Task(n));
    }

    /// Calls that are not returned from.
    pub fn end_frames(&mut self, frames: Vec<Frame>) {
        for frame in frames {
            for obj in frame.objects.into_iter().filter(|&obj| obj != 0) {
                self.mem.end(obj, State::Left, self.span);
            }
            self.mem.give_back(frame.regs);
        }
    }

    /// Nanoseconds since the program began.
    pub fn now(&self) -> u64 {
        self.steps.saturating_mul(STEP).saturating_add(self.tasks.skipped)
    }

    /// Whether so many milliseconds went by since the running task first asked.
    pub fn is_late(&mut self, milliseconds: i64) -> bool {
        self.has_passed(u64::try_from(milliseconds).unwrap_or(0).saturating_mul(1_000_000))
    }

    /// Whether so many nanoseconds went by since the running task first asked.
    pub fn has_passed(&mut self, nanoseconds: u64) -> bool {
        let now = self.now();
        let Some(task) = self.tasks.list.get_mut(self.tasks.current) else { return true };
        let deadline = *task.deadline.get_or_insert(now.saturating_add(nanoseconds));
        now >= deadline
    }

    /// The calling task sleeps; what was left when a signal ended that.
    pub fn sleep(&mut self, nanoseconds: u64) -> R<Option<u64>> {
        let interrupted = self.tasks.take_interrupted();
        if self.has_passed(nanoseconds) || interrupted {
            let left = self.tasks.deadline().map(|until| until.saturating_sub(self.now()));
            self.tasks.no_deadline();
            return Ok(left.filter(|_| interrupted));
        }
        let until = self.tasks.deadline();
        self.tasks.wait_for(vec![], until)
    }

    /// Those who wait for this go on.
    pub fn wake(&mut self, key: Key) {
        for n in self.tasks.waiters.remove(&key).unwrap_or_default() {
            self.tasks.resume(n);
        }
    }

    /// The first of those who wait for this goes on.
    pub fn wake_one(&mut self, key: Key) {
        let first = self.tasks.waiters.get(&key).and_then(|waiting| waiting.front().copied());
        if let Some(n) = first {
            self.tasks.resume(n);
        }
    }

    /// Those whose time has come go on.
    fn ring(&mut self) {
        let now = self.now();
        let mut due: Vec<(u64, usize)> = vec![];
        for &n in &self.tasks.timers {
            if let Some(at) = self.tasks.list.get(n).and_then(|task| task.deadline).filter(|&at| at <= now) {
                due.push((at, n));
            }
        }
        due.sort_by_key(|(at, _)| *at);
        due.into_iter().for_each(|(_, n)| self.tasks.resume(n));
        if !self.tasks.polling.is_empty() {
            self.poll(0);
        }
    }

    /// Those whose descriptors are ready within so many milliseconds go on; whether there are any.
    fn poll(&mut self, milliseconds: i32) -> bool {
        let found = crate::descriptors::ready(&self.tasks.polled(), milliseconds);
        for &(fd, writes) in &found {
            self.wake(Key::Descriptor(fd, writes));
        }
        !found.is_empty()
    }

    /// A signal ends the calls of the system that tasks wait in; whether there are any of the first
    /// process.
    pub fn interrupt_all(&mut self) -> bool {
        let waits = |task: &Task| !task.done && task.keys.iter().any(ends_by_signal);
        let mut all: Vec<usize> =
            (0..self.tasks.list.len()).filter(|&n| self.tasks.list.get(n).is_some_and(waits)).collect();
        let sleeps = |n: &usize| self.tasks.list.get(*n).is_some_and(|task| task.keys.is_empty());
        all.extend(self.tasks.timers.iter().copied().filter(sleeps));
        let mut first = false;
        for n in all {
            if let Some(task) = self.tasks.list.get_mut(n) {
                task.interrupted = true;
                first |= task.process == 0;
            }
            self.tasks.resume(n);
        }
        first
    }

    /// The task that runs gives way to the next one: processes take turns, and in each its tasks.
    pub fn yield_now(&mut self) -> R<()> {
        self.tasks.switch = false;
        self.ring();
        let (current, process) = (self.tasks.current, self.tasks.process);
        let outside = !self.tasks.queue.is_empty();
        let own = self.tasks.processes.get(process).is_some_and(|p| !p.ready.is_empty());
        if !outside && !own {
            return Ok(());
        }
        if let Some(of) = self.tasks.processes.get_mut(process) {
            of.ready.push_back(current);
        }
        if outside {
            self.tasks.queue(process);
        }
        let next = if outside { self.tasks.outside() } else { self.tasks.ready_of(process) };
        if let Some(next) = next {
            self.switch_to(next);
        }
        Ok(())
    }

    /// The running process is in the system: its time goes on.
    pub fn call_of_the_system(&mut self) {
        self.tasks.skipped += CALL * STEP;
        self.tasks.slice = self.tasks.slice.saturating_sub(CALL);
    }

    /// Nanoseconds that processes spawned in these custodians have run.
    pub fn time_of(&self, custodians: &[usize]) -> u64 {
        let running = |n: usize| if n == self.tasks.process { self.steps - self.tasks.since } else { 0 };
        let all = self.tasks.processes.iter().enumerate().skip(1);
        let inside = all.filter(|(_, process)| custodians.contains(&process.within));
        inside.map(|(n, process)| process.ran + running(n)).sum::<u64>().saturating_mul(STEP)
    }

    /// The slice of the running process is over: another one runs, if one can.
    pub fn slice_over(&mut self) {
        self.tasks.slice = self.steps + SLICE;
        self.ring();
        if self.tasks.random.is_some() || self.tasks.queue.is_empty() {
            return;
        }
        let (current, process) = (self.tasks.current, self.tasks.process);
        if let Some(of) = self.tasks.processes.get_mut(process) {
            of.ready.push_front(current);
        }
        self.tasks.queue(process);
        if let Some(next) = self.tasks.outside() {
            self.switch_to(next);
        }
    }

    /// The next task runs, after one that does not any more.
    pub fn next(&mut self) -> R<()> {
        self.tasks.slice = self.steps + SLICE;
        let mut collected = false;
        loop {
            self.ring();
            let process = self.tasks.process;
            let own = self.tasks.processes.get(process).is_some_and(|p| !p.ready.is_empty());
            let outside = !self.tasks.queue.is_empty();
            let other = own && outside && self.tasks.random.is_some() && self.tasks.below(2) == 0;
            if other {
                self.tasks.queue(process);
            }
            let next = if own && !other { self.tasks.ready_of(process) } else { self.tasks.outside() };
            if let Some(next) = next {
                self.switch_to(next);
                return Ok(());
            }
            let queues = self.tasks.waiters.keys().any(|key| matches!(key, Key::Queue(_)));
            if queues && !std::mem::replace(&mut collected, true) {
                let noting = self.mem.pause();
                let done = self.collect();
                self.mem.resume(noting);
                done?;
                continue;
            }
            let deadlines = self.tasks.timers.iter().filter_map(|&n| self.tasks.list.get(n)?.deadline);
            let rest = deadlines.min().map(|first| first.saturating_sub(self.now()));
            if !self.tasks.polling.is_empty() {
                let wait = rest.map_or(PATIENCE, |rest| (rest / 1_000_000).min(PATIENCE as u64) as i32);
                let begun = std::time::Instant::now();
                let found = self.poll(wait);
                let waited = begun.elapsed().as_nanos() as u64;
                if found {
                    self.tasks.skipped += waited.min(rest.unwrap_or(u64::MAX));
                    continue;
                }
                if rest.is_none() {
                    return Err(Box::new(Stop::Limit("time")));
                }
            }
            // What these wait for may come from outside.
            let outside = |key: &Key| matches!(key, Key::Fifo(_) | Key::Signal);
            if rest.is_none() && self.tasks.waiters.keys().any(outside) {
                return Err(Box::new(Stop::Limit("time")));
            }
            let Some(rest) = rest else { break };
            self.tasks.skipped += rest;
        }
        if self.tasks.processes.get(self.tasks.process).is_some_and(|p| p.end.is_some()) {
            // It has ended and cannot end again: the program does.
            self.enter_process(0);
        }
        fault("deadlock: every task waits")
    }

    /// The task that runs waits.
    pub fn wait_now(&mut self) -> R<()> {
        let current = self.tasks.current;
        // One entry each: who is woken twice would run twice.
        let mut keys: Vec<Key> = vec![];
        for key in std::mem::take(&mut self.tasks.wanted) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let call = keys.is_empty() || keys.iter().any(ends_by_signal);
        if call && self.tasks.process == 0 && self.io.numbers.take_untold() {
            // The signal came before the call, and ends it.
            if let Some(task) = self.tasks.list.get_mut(current) {
                task.interrupted = true;
            }
            return Ok(());
        }
        if keys.iter().any(|key| matches!(key, Key::Descriptor(..))) {
            self.tasks.polling.push(current);
        }
        for key in &keys {
            self.tasks.waiters.entry(*key).or_default().push_back(current);
        }
        if let Some(task) = self.tasks.list.get_mut(current) {
            task.keys = keys;
            if task.deadline.is_some() {
                self.tasks.timers.push(current);
            }
        }
        self.next()
    }

    /// The task that runs has ended.
    pub fn task_ended(&mut self) -> R<()> {
        let (current, process) = (self.tasks.current, self.tasks.process);
        if self.tasks.processes.get(process).is_some_and(|p| p.task == current) {
            self.process_returned()?;
            return self.next();
        }
        if let Some(task) = self.tasks.list.get_mut(current) {
            task.done = true;
        }
        self.wake(Key::Task(current));
        self.next()
    }

    /// A new task of the process whose first call is this one; its number.
    pub fn make_task(&mut self, process: usize, code: std::rc::Rc<Code>, args: Vec<Val>, lent: &[bool]) -> R<usize> {
        let (frames, stack, regs) = (std::mem::take(&mut self.frames), std::mem::take(&mut self.stack), self.regs);
        let (before, payer) = (self.tasks.process, self.mem.payer);
        self.enter_process(process);
        if process != before {
            self.mem.payer = self.tasks.processes.get(process).map_or(payer, |of| of.custodian as u32);
        }
        let entered = self.enter(code, args, lent, vec![]);
        let entered = entered.and_then(|()| if process == before { Ok(()) } else { self.given(process) });
        self.mem.payer = payer;
        self.enter_process(before);
        let own = std::mem::replace(&mut self.frames, frames);
        let own_stack = std::mem::replace(&mut self.stack, stack);
        self.regs = regs;
        entered?;
        let n = self.tasks.list.len();
        let (custodian, entered) = match process == before {
            true => (self.tasks.entered(), self.tasks.entered()),
            false => {
                let first = self.tasks.processes.get(process).map_or(0, |of| of.custodian);
                (first, first)
            }
        };
        self.within_count(custodian, Counted::Tasks)?;
        let task = Task { frames: own, stack: own_stack, process, custodian, entered, ..Task::default() };
        self.tasks.list.push(task);
        if let Some(of) = self.tasks.processes.get_mut(process) {
            of.tasks.push(n);
        }
        self.tasks.ready(n);
        Ok(n)
    }

    /// A new task; the address of what stands for it.
    pub fn new_task(&mut self, code: std::rc::Rc<Code>, args: Vec<Val>, lent: &[bool]) -> R<u64> {
        if self.is_remote(self.tasks.entered()) {
            return fault(
                "custodian: a task belongs to a custodian of its own process; enter such a one first, or spawn a process",
            );
        }
        let n = self.make_task(self.tasks.process, code, args, lent)?;
        if self.is_shut(self.tasks.entered()) {
            self.end_task(n);
        }
        Ok(self.stands_for(n))
    }

    /// An object that stands for a task or process.
    pub fn stands_for(&mut self, n: usize) -> u64 {
        let id = self.mem.make(Kind::Opaque, 0, 16, self.span);
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.count = n as u32;
        }
        self.mem.address(Loc { obj: id, off: 0 })
    }

    /// `join`: waits until the task has ended.
    pub fn join(&mut self, task: u64) -> R<Val> {
        if task == 0 {
            return fault("null pointer");
        }
        let loc = self.mem.place(task);
        let Some(obj) = self.mem.obj(loc.obj) else { return fault("null pointer") };
        let n = obj.count as usize;
        if self.tasks.is_done(n) {
            let shut = self.tasks.list.get(n).is_some_and(|task| task.shut);
            return Ok(Val::Int(i128::from(!shut)));
        }
        self.tasks.wait_for(vec![Key::Task(n)], None)
    }
}
