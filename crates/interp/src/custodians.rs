//! Custodians: who ends with whom. Their tree, and what a shutdown ends, are as in the runtime.
//! A custodian is charged for what its tasks made and what came to its processes, in bytes of the
//! objects. The runtime charges what is reachable, in pages where a process is concerned: so a
//! limit strikes at another allocation here than there.

use crate::code::Val;
use crate::library::{int, ptr, Args};
use crate::machine::*;
use crate::memory::*;

/// What limits count, in the order of <lee/custodian.lh>.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Processes.
    Processes,
    /// Tasks.
    Tasks,
    /// Files and descriptors.
    Descriptors,
    /// Ends of channels.
    Ends,
}

/// A custodian. Number 0 is the first one of the first process.
#[derive(Debug, Default)]
pub struct Custodian {
    parent: Option<usize>,
    shut: bool,
    /// The process that made it; none if that was below one of another process.
    process: Option<usize>,
    /// Of the first one of a process: the custodian that it was spawned in.
    within: Option<usize>,
    /// Of bytes, and of the number of each kind.
    limits: Vec<Limit>,
    /// What stands for it.
    address: u64,
}

/// What a custodian may have.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// None: bytes.
    kind: Option<Counted>,
    most: u64,
    /// Who is shut down when it has more.
    victim: usize,
    /// The process that set it: no other one changes it.
    by: usize,
}

impl Machine<'_> {
    /// A new custodian: its number.
    pub fn new_custodian(&mut self, parent: Option<usize>) -> usize {
        let n = self.custodians.len();
        let shut = parent.is_some_and(|p| self.is_shut(p));
        let address = self.stands_for(n);
        if let Some(obj) = self.mem.obj_mut(self.mem.place(address).obj) {
            obj.home = SHARED;
        }
        let process = Some(self.tasks.process).filter(|_| parent.is_none_or(|p| !self.is_remote(p)));
        self.custodians.push(Custodian { parent, shut, process, address, ..Custodian::default() });
        n
    }

    /// Whether another process made it.
    pub fn is_remote(&self, n: usize) -> bool {
        self.custodians.get(n).is_some_and(|c| c.process != Some(self.tasks.process))
    }

    /// What the running task opens belongs to it.
    pub fn opens_in(&self) -> usize {
        let entered = self.tasks.entered();
        if self.is_remote(entered) {
            self.tasks.custodian()
        } else {
            entered
        }
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

    /// The custodian above, also that of the process that spawned this one's.
    fn above(&self, n: usize) -> Option<usize> {
        self.custodians.get(n).and_then(|c| c.parent.or(c.within))
    }

    /// Whether a custodian is another one or below it, in whichever process.
    fn is_below(&self, n: usize, top: usize) -> bool {
        let mut at = Some(n);
        while let Some(n) = at {
            if n == top {
                return true;
            }
            at = self.above(n);
        }
        false
    }

    /// What a custodian and those below it are charged.
    fn held(&self, top: usize) -> u64 {
        (0..self.custodians.len()).filter(|&n| self.is_below(n, top)).map(|n| self.mem.charged(n)).sum()
    }

    /// So many bytes more are asked for: a limit that they pass, when all that nothing reaches is
    /// collected, shuts its victim down.
    pub fn within_limits(&mut self, bytes: u64) -> R<()> {
        if self.tasks.list.get(self.tasks.current).is_some_and(|task| task.holds > 0) {
            return Ok(()); // what it stores is not consistent yet; a later allocation is judged
        }
        let mut at = Some(self.tasks.custodian());
        while let Some(n) = at {
            at = self.above(n);
            for Limit { most, victim, .. } in self.limits_of(n, None) {
                let over = |this: &Self| this.held(n).saturating_add(bytes) > most;
                if self.mem.bytes.saturating_add(bytes) <= most || !over(self) {
                    continue;
                }
                let noting = self.mem.pause();
                let struck = self.collect().and_then(|()| match over(self) {
                    true => self.strike(victim, &format!("custodian: more than its limit of {most} bytes")),
                    false => Ok(()),
                });
                self.mem.resume(noting);
                struck?;
            }
        }
        Ok(())
    }

    /// The limits of a kind, the smallest first.
    fn limits_of(&self, n: usize, kind: Option<Counted>) -> Vec<Limit> {
        let limits = self.custodians.get(n).into_iter().flat_map(|c| &c.limits);
        let mut found: Vec<Limit> = limits.filter(|limit| limit.kind == kind).copied().collect();
        found.sort_by_key(|limit| limit.most);
        found
    }

    /// Sets a limit, or lifts it.
    fn set_limit(&mut self, n: usize, kind: Option<Counted>, most: Option<u64>, victim: usize) {
        let by = self.tasks.process;
        let Some(custodian) = self.custodians.get_mut(n) else { return };
        custodian.limits.retain(|limit| limit.kind != kind || limit.victim != victim || limit.by != by);
        custodian.limits.extend(most.map(|most| Limit { kind, most, victim, by }));
    }

    /// `lee_hold` or `lee_unhold` of the running task.
    pub fn hold(&mut self, begins: bool) -> Val {
        if let Some(task) = self.tasks.list.get_mut(self.tasks.current) {
            task.holds = if begins { task.holds + 1 } else { task.holds.saturating_sub(1) };
        }
        Val::Int(0)
    }

    /// One more of a kind is there: a limit that it passes shuts its victim down.
    pub fn within_count(&mut self, of: usize, kind: Counted) -> R<()> {
        let mut at = Some(of);
        while let Some(n) = at {
            at = self.above(n);
            for Limit { most, victim, .. } in self.limits_of(n, Some(kind)) {
                if self.count(n, kind) > most {
                    let names = ["processes", "tasks", "descriptors", "ends of channels"];
                    let what = names.get(kind as usize).unwrap_or(&"");
                    self.strike(victim, &format!("custodian: more than its limit of {most} {what}"))?;
                }
            }
        }
        Ok(())
    }

    /// How many of a kind a custodian and those below it have.
    fn count(&self, top: usize, kind: Counted) -> u64 {
        let below: Vec<usize> = (0..self.custodians.len()).filter(|&n| self.is_below(n, top)).collect();
        let inside = |custodian: usize| below.contains(&custodian);
        let found = match kind {
            Counted::Processes => {
                self.tasks.processes.iter().skip(1).filter(|p| p.end.is_none() && inside(p.within)).count()
            }
            Counted::Tasks => self.tasks.list.iter().filter(|task| !task.done && inside(task.custodian)).count(),
            Counted::Descriptors => self.io.open_in(&below),
            Counted::Ends => {
                self.channels.ends().filter(|&id| self.mem.obj(id).is_some_and(|o| inside(o.payer as usize))).count()
            }
        };
        found as u64
    }

    /// A limit struck.
    fn strike(&mut self, victim: usize, message: &str) -> R<()> {
        if self.is_shut(victim) {
            return Ok(());
        }
        self.shut_down(victim, message)
    }

    /// The first custodian of a process that is spawned within another one.
    pub fn first_custodian(&mut self, within: usize) -> usize {
        let n = self.new_custodian(None);
        if let Some(custodian) = self.custodians.get_mut(n) {
            custodian.within = Some(within);
        }
        n
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
        match n != own && self.is_below(n, own) {
            true => Ok(()),
            false if self.is_remote(n) => fault(
                "custodian: only a task of a custodian above sets its limits and shares; let a process above do it",
            ),
            false => fault("custodian: a limit or requirement is set by a task of a custodian above, not by its own"),
        }
    }

    /// A process cannot get out of the limits that it was spawned under.
    fn check_start(&self, n: usize) -> R<()> {
        let within = match self.tasks.process {
            0 => return Ok(()),
            process => self.tasks.processes.get(process).map_or(0, |p| p.within),
        };
        match n != within && self.is_remote(n) && self.is_below(within, n) {
            true => fault(
                "custodian: a process starts nothing above the custodian that it was spawned in; let a process above do it",
            ),
            false => Ok(()),
        }
    }

    /// Whether the running task may have a custodian pay.
    pub fn covers(&self, n: usize) -> bool {
        let own = self.tasks.list.get(self.tasks.current).map_or(0, |task| task.custodian);
        self.is_inside(n, own) || self.is_inside(n, self.tasks.entered())
    }

    fn shut_down(&mut self, top: usize, message: &str) -> R<()> {
        let below: Vec<usize> = (0..self.custodians.len()).filter(|&n| self.is_below(n, top)).collect();
        for &n in &below {
            if let Some(custodian) = self.custodians.get_mut(n) {
                custodian.shut = true;
            }
        }
        let (current, process) = (self.tasks.current, self.tasks.process);
        let processes = self.processes_in(&below);
        for &n in processes.iter().filter(|&&n| n != process) {
            self.process_shut(n, message)?;
        }
        for n in self.tasks.tasks_in(&below) {
            if self.tasks.is_first(n) {
                let of = self.tasks.list.get(n).map_or(0, |task| task.process);
                if of == 0 {
                    self.enter_process(0); // the fault is its
                    return self.first_shut(message);
                }
                match of == process {
                    true => {} // at the end
                    false => self.process_shut(of, message)?,
                }
            } else if n != current {
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
        if processes.contains(&process) {
            return self.first_shut(message);
        }
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
            Some(
                "new" | "enter" | "shutdown" | "is_shut" | "limit" | "require" | "limit_count" | "share" | "use"
                | "charged" | "time",
            ) => self.given_custodian(a.ptr(0))?,
            _ => return Ok(None),
        };
        let address = |this: &Self, n: usize| this.custodians.get(n).map_or(0, |c| c.address);
        match name {
            "lee_custodian_current" => ptr(address(self, self.tasks.entered())),
            "lee_custodian_new" => {
                self.check_start(number)?;
                let n = self.new_custodian(Some(number));
                ptr(address(self, n))
            }
            "lee_custodian_enter" => {
                self.check_start(number)?;
                let before = self.tasks.enter(number);
                self.io.custodian = self.opens_in();
                ptr(address(self, before))
            }
            "lee_custodian_shutdown" => {
                let noting = self.mem.pause();
                let done = self.shut_down(number, "");
                self.mem.resume(noting);
                done.and_then(|()| int(0))
            }
            "lee_custodian_is_shut" => int(self.is_shut(number)),
            "lee_custodian_limit" => {
                self.check_authority(number)?;
                let victim = if a.ptr(2) == 0 { number } else { self.given_custodian(a.ptr(2))? };
                if !self.is_remote(number) && self.is_remote(victim) {
                    return fault(
                        "custodian: the victim of a limit of bytes is a custodian that this process made, as the limited one is",
                    );
                }
                self.set_limit(number, None, u64::try_from(a.int(1)).ok(), victim);
                int(0)
            }
            "lee_custodian_limit_count" => {
                self.check_authority(number)?;
                let victim = if a.ptr(3) == 0 { number } else { self.given_custodian(a.ptr(3))? };
                let kind = match a.int(1) {
                    1 => Counted::Processes,
                    2 => Counted::Tasks,
                    3 => Counted::Descriptors,
                    4 => Counted::Ends,
                    _ => return unsupported("a limit of another kind"),
                };
                self.set_limit(number, Some(kind), u64::try_from(a.int(2)).ok(), victim);
                int(0)
            }
            "lee_custodian_use" | "lee_custodian_charged" => {
                if name.ends_with("use") {
                    let noting = self.mem.pause();
                    let done = self.collect();
                    self.mem.resume(noting);
                    done?;
                }
                int(self.held(number) as i64)
            }
            "lee_custodian_time" => {
                let below: Vec<usize> = (0..self.custodians.len()).filter(|&n| self.is_below(n, number)).collect();
                int(self.time_of(&below) as i64)
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
                let victim = if a.ptr(2) == 0 { number } else { self.given_custodian(a.ptr(2))? };
                if self.is_remote(number) || self.is_remote(victim) {
                    return fault(
                        "custodian: a requirement is for a custodian that this process made, and so is its victim; \
                         set limits instead",
                    );
                }
                unsupported(format!("`{name}`"))
            }
        }
    }
}
