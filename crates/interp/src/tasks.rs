//! Tasks: each has its calls; one runs until it waits, in the order of the runtime.

use crate::code::*;
use crate::machine::*;
use crate::memory::*;
use std::collections::VecDeque;

/// A task that does not run.
#[derive(Debug, Default)]
pub struct Task {
    frames: Vec<Frame>,
    stack: usize,
    done: bool,
    waiters: Vec<usize>,
    waits_for: Option<usize>,
}

/// All tasks; number 0 is the first.
#[derive(Debug, Default)]
pub struct Tasks {
    list: Vec<Task>,
    current: usize,
    ready: VecDeque<usize>,
    /// The task that runs gives way.
    pub switch: bool,
    /// The task that the running one waits for.
    pub wait_for: usize,
    /// What `main` returned.
    pub status: i32,
}

impl Tasks {
    /// The first task.
    pub fn begin(&mut self) {
        self.list.push(Task::default());
    }

    /// Whether the first task runs.
    pub fn is_main(&self) -> bool {
        self.current == 0
    }

    /// Whether the task has ended.
    pub fn is_done(&self, n: usize) -> bool {
        self.list.get(n).is_none_or(|t| t.done)
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
        if let Some(task) = self.tasks.list.get_mut(n) {
            self.frames = std::mem::take(&mut task.frames);
            self.stack = task.stack;
            task.waits_for = None;
        }
        self.regs = self.frames.last().map_or(0, |f| f.regs);
    }

    /// The task that runs gives way to the next one.
    pub fn yield_now(&mut self) -> R<()> {
        self.tasks.switch = false;
        if let Some(next) = self.tasks.ready.pop_front() {
            self.tasks.ready.push_back(self.tasks.current);
            self.switch_to(next);
        }
        Ok(())
    }

    /// The task that runs waits for another one.
    pub fn wait_now(&mut self) -> R<()> {
        let (current, target) = (self.tasks.current, self.tasks.wait_for);
        if let Some(task) = self.tasks.list.get_mut(target) {
            task.waiters.push(current);
        }
        if let Some(task) = self.tasks.list.get_mut(current) {
            task.waits_for = Some(target);
        }
        match self.tasks.ready.pop_front() {
            Some(next) => {
                self.switch_to(next);
                Ok(())
            }
            None => fault("deadlock: every task waits"),
        }
    }

    /// The task that runs has ended.
    pub fn task_ended(&mut self) -> R<()> {
        let current = self.tasks.current;
        if let Some(task) = self.tasks.list.get_mut(current) {
            task.done = true;
            let waiters = std::mem::take(&mut task.waiters);
            self.tasks.ready.extend(waiters);
        }
        match self.tasks.ready.pop_front() {
            Some(next) => {
                self.switch_to(next);
                Ok(())
            }
            None => fault("deadlock: every task waits"),
        }
    }

    /// A new task whose first call is this one; the address of what stands for it.
    pub fn new_task(&mut self, code: std::rc::Rc<Code>, args: Vec<Val>, lent: &[bool]) -> R<u64> {
        let (frames, stack, regs) = (std::mem::take(&mut self.frames), std::mem::take(&mut self.stack), self.regs);
        let entered = self.enter(code, args, lent, vec![]);
        let own = std::mem::replace(&mut self.frames, frames);
        let own_stack = std::mem::replace(&mut self.stack, stack);
        self.regs = regs;
        entered?;
        let n = self.tasks.list.len();
        self.tasks.list.push(Task { frames: own, stack: own_stack, ..Task::default() });
        self.tasks.ready.push_back(n);
        let id = self.mem.make(Kind::Opaque, 0, 16, self.span);
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.count = n as u32;
        }
        Ok(self.mem.address(Loc { obj: id, off: 0 }))
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
            return Ok(Val::Int(1));
        }
        self.tasks.wait_for = n;
        Err(Box::new(Stop::Wait))
    }
}
