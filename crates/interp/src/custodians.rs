//! Custodians: who ends with whom. Their tree, and what a shutdown ends, are as in the runtime.
//! What a custodian is charged is not known, for it depends on when the heap is collected; so a
//! limit that could strike ends the run as something that the oracle does not know.

use crate::code::Val;
use crate::library::{int, ptr, Args};
use crate::machine::*;
use crate::memory::*;

/// A custodian. Number 0 is the first one of the first process.
#[derive(Debug, Default)]
pub struct Custodian {
    parent: Option<usize>,
    shut: bool,
    /// Bytes; `u64::MAX`: none.
    limit: u64,
    /// What stands for it.
    address: u64,
}

impl Machine<'_> {
    /// A new custodian: its number.
    pub fn new_custodian(&mut self, parent: Option<usize>) -> usize {
        let n = self.custodians.len();
        let shut = parent.is_some_and(|p| self.is_shut(p));
        let address = self.stands_for(n);
        self.custodians.push(Custodian { parent, shut, limit: u64::MAX, address });
        n
    }

    /// Whether it was shut down.
    pub fn is_shut(&self, n: usize) -> bool {
        self.custodians.get(n).is_some_and(|c| c.shut)
    }

    /// Whether a custodian is another one or below it.
    pub fn is_inside(&self, n: usize, top: usize) -> bool {
        let mut at = Some(n);
        while let Some(n) = at {
            if n == top {
                return true;
            }
            at = self.custodians.get(n).and_then(|c| c.parent);
        }
        false
    }

    /// So many bytes more are asked for. What all tasks together have bounds what one custodian
    /// may be charged.
    pub fn within_limits(&self, bytes: u64) -> R<()> {
        let mut at = self.tasks.list.get(self.tasks.current).map(|task| task.custodian);
        while let Some(custodian) = at.and_then(|n| self.custodians.get(n)) {
            if self.mem.bytes.saturating_add(bytes) > custodian.limit {
                return unsupported("a limit of a custodian that may strike");
            }
            at = custodian.parent;
        }
        Ok(())
    }

    fn given_custodian(&self, address: u64) -> R<usize> {
        if address == 0 {
            return Ok(self.tasks.entered());
        }
        let loc = self.mem.place(address);
        match self.mem.obj(loc.obj).filter(|o| o.kind == Kind::Opaque && loc.obj != 0) {
            Some(obj) => Ok(obj.count as usize),
            None => report(crate::ReportKind::Wild, "what is used as a custodian is none"),
        }
    }

    /// Limits are set from above.
    fn check_authority(&self, n: usize) -> R<()> {
        let own = self.tasks.list.get(self.tasks.current).map_or(0, |task| task.custodian);
        match n != own && self.is_inside(n, own) {
            true => Ok(()),
            false => fault("custodian: a limit or requirement is set by a task of a custodian above, not by its own"),
        }
    }

    /// Whether the running task may have a custodian pay.
    pub fn covers(&self, n: usize) -> bool {
        let own = self.tasks.list.get(self.tasks.current).map_or(0, |task| task.custodian);
        self.is_inside(n, own) || self.is_inside(n, self.tasks.entered())
    }

    fn shut_down(&mut self, top: usize) -> R<()> {
        let below: Vec<usize> = (0..self.custodians.len()).filter(|&n| self.is_inside(n, top)).collect();
        for &n in &below {
            if let Some(custodian) = self.custodians.get_mut(n) {
                custodian.shut = true;
            }
        }
        for n in self.processes_in(&below) {
            if n != self.tasks.process {
                self.process_shut(n)?;
            }
        }
        let current = self.tasks.current;
        for n in self.tasks.tasks_in(self.tasks.process, &below) {
            if self.tasks.is_first(n) {
                self.first_shut()?;
            }
            if n != current {
                self.end_task(n);
            }
        }
        self.io.close_in(&below);
        for slot in &mut self.lib.directories {
            if slot.as_ref().is_some_and(|directory| below.contains(&directory.custodian)) {
                *slot = None;
            }
        }
        let closed = self.io.numbers.close_in(&below);
        closed.into_iter().for_each(|fd| self.wake_number(fd));
        let own = self.tasks.list.get(current).is_some_and(|task| below.contains(&task.custodian));
        match own {
            true => {
                self.end_task(current);
                Err(Box::new(Stop::Gone))
            }
            false => Ok(()),
        }
    }

    /// <lee/custodian.lh>, if it is one of its functions.
    pub fn custodian_call(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        let number = match name.strip_prefix("lee_custodian_") {
            Some("current" | "policy") => 0,
            Some("new" | "enter" | "shutdown" | "is_shut" | "limit" | "require" | "limit_count" | "share") => {
                self.given_custodian(a.ptr(0))?
            }
            _ => return Ok(None),
        };
        let address = |this: &Self, n: usize| this.custodians.get(n).map_or(0, |c| c.address);
        match name {
            "lee_custodian_current" => ptr(address(self, self.tasks.entered())),
            "lee_custodian_new" => {
                let n = self.new_custodian(Some(number));
                ptr(address(self, n))
            }
            "lee_custodian_enter" => {
                let before = self.tasks.enter(number);
                self.io.custodian = number;
                ptr(address(self, before))
            }
            "lee_custodian_shutdown" => {
                let noting = self.mem.pause();
                let done = self.shut_down(number);
                self.mem.resume(noting);
                done.and_then(|()| int(0))
            }
            "lee_custodian_is_shut" => int(self.is_shut(number)),
            "lee_custodian_limit" => {
                self.check_authority(number)?;
                if let Some(custodian) = self.custodians.get_mut(number) {
                    custodian.limit = u64::try_from(a.int(1)).unwrap_or(u64::MAX);
                }
                int(0)
            }
            "lee_custodian_share" => {
                self.check_authority(number)?;
                int(0)
            }
            "lee_custodian_policy" => {
                let own = self.tasks.list.get(self.tasks.current).map_or(0, |task| task.custodian);
                match self.custodians.get(own).is_some_and(|c| c.parent.is_none()) {
                    true => int(0),
                    false => fault("custodian: the policy is set by a task of the first custodian"),
                }
            }
            _ => {
                self.check_authority(number)?;
                unsupported(format!("`{name}`"))
            }
        }
    }
}
