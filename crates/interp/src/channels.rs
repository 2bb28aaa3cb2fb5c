//! Channels: ends, messages that are on their way, sets of ends, and what waits for them.
//!
//! The state of each end is followed here, from the contract's declaration alone. So an operation
//! that typestate allowed and the contract does not is a report, *protocol*.
//!
//! An end is an object without bytes, with an owner like any other (memory.rs). What a message
//! carries lies in objects that no program has a pointer to, and which own what it owns.

use crate::code::*;
use crate::machine::*;
use crate::memory::*;
use crate::tasks::Key;
use crate::types;
use crate::ReportKind;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};
use typing::contracts::{Contract, ContractId, Head, MessageId, Side, StateId};
use typing::types::*;

/// Which state an end is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// In one of its contract.
    State(StateId),
    /// Its peer was found closed: it can only be freed.
    Closed,
}

/// A part of a message, or the value of a map: where it lies, and its type.
pub type Part = (ObjId, Ty);

/// A message that was not received yet.
#[derive(Debug)]
struct Message {
    id: MessageId,
    parts: Vec<Part>,
}

/// An end of a channel.
#[derive(Debug)]
pub struct End {
    /// With which the channel was made.
    contract: ContractId,
    side: Side,
    at: At,
    peer: ObjId,
    queue: VecDeque<Message>,
    open: bool,
    /// The set that it is in.
    set: ObjId,
    /// When its head last changed, or it came into its set.
    since: u64,
}

/// A set of ends.
#[derive(Debug)]
struct Set {
    end: Endpoint,
    /// With the values of a map.
    members: FxHashMap<ObjId, Option<Part>>,
    /// By what stands at their heads (`rank`), and since when.
    order: BTreeSet<(u32, u64, ObjId)>,
}

/// The order of lists in a set: idle members, those whose peer is closed, those with a message.
fn rank(head: Option<Head>) -> u32 {
    match head {
        None => 0,
        Some(Head::Message(id)) => id.0.saturating_add(2),
        Some(Head::Closed | Head::Empty | Head::Any) => 1,
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct Channels {
    ends: FxHashMap<ObjId, End>,
    sets: FxHashMap<ObjId, Set>,
    /// Counts what happens, for the order in sets.
    count: u64,
}

/// What a case of a `switch receive` may come to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Case {
    Never,
    Later,
    Now,
}

impl Set {
    /// The member that has had this head longest; of none: that is idle.
    fn first(&self, head: Option<Head>) -> Option<(u32, u64, ObjId)> {
        let rank = rank(head);
        self.order.range((rank, 0, 0)..=(rank, u64::MAX, ObjId::MAX)).next().copied()
    }
}

impl Channels {
    /// The ends that are open.
    pub fn ends(&self) -> impl Iterator<Item = ObjId> + '_ {
        self.ends.iter().filter(|(_, end)| end.open).map(|(&id, _)| id)
    }

    /// Whether the object is a set.
    pub fn is_set(&self, id: ObjId) -> bool {
        self.sets.contains_key(&id)
    }

    /// The members of a set, and what their values lie in, in the order of their numbers.
    pub fn members_of(&self, set: ObjId) -> Vec<(ObjId, Option<Part>)> {
        let members = self.sets.get(&set).map(|set| set.members.iter());
        let mut members: Vec<_> = members.into_iter().flatten().map(|(&id, &part)| (id, part)).collect();
        members.sort_unstable_by_key(|&(id, _)| id);
        members
    }

    fn next_count(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

fn protocol<T>(message: impl Into<String>) -> R<T> {
    report(ReportKind::Protocol, message)
}

impl Machine<'_> {
    // ---- ends

    fn contract(&self, id: ContractId) -> R<&Contract> {
        match self.program.types.contract(id) {
            Some(contract) => Ok(contract),
            None => unsupported("a contract that is not here"),
        }
    }

    /// The object of an end or a set that the running process has.
    fn end_object(&self, address: u64) -> R<ObjId> {
        if address == 0 {
            return fault("null pointer");
        }
        let loc = self.mem.place(address);
        match self.mem.obj(loc.obj).filter(|o| o.kind == Kind::End && loc.obj != 0) {
            Some(obj) if obj.state != State::Live => {
                report(ReportKind::UseAfterEnd, "use of an end of a channel, or a set, that was freed")
            }
            Some(obj) if !self.mem.is_here(obj) => {
                report(ReportKind::Isolation, "use of an end of a channel that another process has")
            }
            Some(_) => Ok(loc.obj),
            None => report(ReportKind::Wild, "what is used as an end of a channel is none"),
        }
    }

    fn end(&self, id: ObjId) -> R<&End> {
        match self.channels.ends.get(&id) {
            Some(end) => Ok(end),
            None => report(ReportKind::Wild, "what is used as an end of a channel is a set"),
        }
    }

    fn end_mut(&mut self, id: ObjId) -> R<&mut End> {
        match self.channels.ends.get_mut(&id) {
            Some(end) => Ok(end),
            None => report(ReportKind::Wild, "what is used as an end of a channel is a set"),
        }
    }

    fn set(&mut self, id: ObjId) -> R<&mut Set> {
        match self.channels.sets.get_mut(&id) {
            Some(set) => Ok(set),
            None => report(ReportKind::Wild, "what is used as a set of ends is none"),
        }
    }

    /// The end or set in a place.
    fn end_at(&self, place: &Place) -> R<ObjId> {
        let loc = self.locate(place, true)?;
        self.end_object(self.read_word(loc)?)
    }

    /// `channel C:STATE (imp, exp);`
    pub fn channel_new(&mut self, contract: ContractId, state: StateId, imp: &Place, exp: &Place) -> R<()> {
        let ids = [0; 2].map(|_| self.mem.make(Kind::End, 0, 16, self.span));
        let since = self.channels.next_count();
        for (id, peer, side) in [(ids[0], ids[1], Side::Imp), (ids[1], ids[0], Side::Exp)] {
            let at = At::State(state);
            let end = End { contract, side, at, peer, queue: VecDeque::new(), open: true, set: 0, since };
            self.channels.ends.insert(id, end);
        }
        for (id, place) in [(ids[0], imp), (ids[1], exp)] {
            let address = self.mem.address(Loc { obj: id, off: 0 });
            self.store(place, &Val::ptr(address), As::Owner)?;
        }
        self.within_count(self.tasks.custodian(), crate::custodians::Counted::Ends)
    }

    /// What stands at the head of an end's queue; none if there is nothing yet.
    fn head(&self, id: ObjId) -> R<Option<Head>> {
        let end = self.end(id)?;
        Ok(match end.queue.front() {
            Some(message) => Some(Head::Message(message.id)),
            None if self.channels.ends.get(&end.peer).is_none_or(|peer| !peer.open) => Some(Head::Closed),
            None => None,
        })
    }

    /// The head of an end's queue changed.
    fn notice(&mut self, id: ObjId) {
        let count = self.channels.next_count();
        let Some(end) = self.channels.ends.get_mut(&id) else { return };
        let before = std::mem::replace(&mut end.since, count);
        let set = end.set;
        self.wake(Key::End(id));
        if set != 0 {
            let now = rank(self.head(id).ok().flatten());
            if let Some(set) = self.channels.sets.get_mut(&set) {
                // It was idle: a head changes once while its end is in a set.
                set.order.remove(&(0, before, id));
                set.order.insert((now, count, id));
            }
            self.wake(Key::End(set));
        }
    }

    /// What an end is called in reports.
    fn end_text(&self, id: ObjId) -> R<String> {
        let end = self.end(id)?;
        let contract = self.contract(end.contract)?;
        let state = match end.at {
            At::State(state) => contract.state_text(state),
            At::Closed => "its peer closed".into(),
        };
        Ok(format!("the {}'s end of a channel of {} in state {state}", end.side.title(), contract.name))
    }

    // ---- messages

    /// An object for a part of a message, which owns what it owns.
    fn part(&mut self, value: &Val, ty: Ty) -> R<Part> {
        let (size, align) = (types::size(&self.program.types, ty), types::align(&self.program.types, ty));
        let repr = types::repr(&self.program.types, ty);
        let id = self.mem.make(Kind::Local, size, align, self.span);
        let owns = mir::ty::owns(&self.program.types, ty);
        let loc = Loc { obj: id, off: 0 };
        self.store_at(loc, ty, repr, size, owns, value, As::Owner)?;
        self.ends_are_as_typed(loc, ty)?;
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.home = SHARED;
        }
        Ok((id, ty))
    }

    /// Takes a part out of its object.
    fn out_of_part(&mut self, (id, ty): Part) -> R<Val> {
        let size = types::size(&self.program.types, ty);
        let loc = Loc { obj: id, off: 0 };
        let value = self.read(loc, types::repr(&self.program.types, ty), size, None)?;
        if mir::ty::owns(&self.program.types, ty) {
            self.take(loc, ty, false)?;
        }
        self.mem.end(id, State::Left, self.span);
        Ok(value)
    }

    /// A part that nothing will take: what it owns ends.
    fn drop_part(&mut self, (id, ty): Part) -> R<()> {
        let loc = Loc { obj: id, off: 0 };
        self.give(loc, ty, self.mem.running)?;
        self.drop_slot(loc, ty)?;
        self.mem.end(id, State::Left, self.span);
        Ok(())
    }

    /// `send end.M(args);`
    pub fn send(&mut self, place: &Place, message: MessageId, args: &[Op]) -> R<()> {
        let mut values = vec![];
        for arg in args {
            values.push(self.load(arg, false)?);
        }
        let id = self.end_at(place)?;
        let end = self.end(id)?;
        let (contract, peer) = (self.contract(end.contract)?, end.peer);
        let local = contract.local;
        let next = match end.at {
            At::State(state) if contract.state(state).and_then(|s| s.sender) == Some(end.side) => {
                contract.next(state, message)
            }
            _ => None,
        };
        let Some(next) = next else {
            let (text, name) = (self.end_text(id)?, self.contract(end.contract)?.message_text(message));
            return protocol(format!("{name} is sent by {text}"));
        };
        self.end_mut(id)?.at = At::State(next);
        // The runtime copies the message; the statement does not read or write it.
        let noting = self.mem.pause();
        let sent = self.enqueue(peer, message, local, args, values);
        self.mem.resume(noting);
        sent
    }

    fn enqueue(&mut self, peer: ObjId, id: MessageId, local: bool, args: &[Op], values: Vec<Val>) -> R<()> {
        let mut parts = vec![];
        for (arg, value) in args.iter().zip(values) {
            parts.push(self.part(&value, arg.ty)?);
        }
        if !self.end(peer)?.open {
            return parts.into_iter().try_for_each(|part| self.drop_part(part));
        }
        if !local {
            for (part, ty) in &parts {
                self.give(Loc { obj: *part, off: 0 }, *ty, AWAY)?;
            }
        }
        let first = self.end(peer)?.queue.is_empty();
        self.end_mut(peer)?.queue.push_back(Message { id, parts });
        if first {
            self.notice(peer);
        }
        Ok(())
    }

    /// A `Receive`.
    pub fn receive(&mut self, place: &Place, wanted: Head, binds: &[Place], waits: bool) -> R<()> {
        let id = self.end_at(place)?;
        let message = match wanted {
            Head::Message(message) => message,
            Head::Closed => {
                if self.head(id)? != Some(Head::Closed) {
                    return protocol("an end whose peer is open is taken as closed");
                }
                self.end_mut(id)?.at = At::Closed;
                return Ok(());
            }
            Head::Empty | Head::Any => return protocol("an end is received from as a set"),
        };
        let end = self.end(id)?;
        let contract = self.contract(end.contract)?;
        let name = contract.message(message).map_or("?", |m| m.name.as_str());
        let next = match end.at {
            At::State(state) if contract.state(state).and_then(|s| s.sender) == Some(end.side.other()) => {
                contract.next(state, message)
            }
            _ => None,
        };
        let Some(next) = next else {
            let text = self.end_text(id)?;
            return protocol(format!("{name} is received from {text}"));
        };
        match self.head(id)? {
            Some(head) if head == wanted => {}
            _ if !waits => return protocol(format!("{name} is received and is not there")),
            None => return self.tasks.wait_for(vec![Key::End(id)], None),
            Some(Head::Message(came)) => {
                let came = contract.message(came).map_or("?", |m| m.name.as_str());
                let words = "came and is not what is received, in a channel of";
                return fault(format!("receive: {came} {words} {}", contract.name));
            }
            Some(_) => {
                let words = "receive: the other end was closed before";
                return fault(format!("{words} {name} came, in a channel of {}", contract.name));
            }
        }
        let noting = self.mem.pause();
        let taken = self.take_message(id, next);
        self.mem.resume(noting);
        for (place, value) in binds.iter().zip(taken?) {
            self.store(place, &value, As::Owner)?;
        }
        Ok(())
    }

    fn take_message(&mut self, id: ObjId, next: StateId) -> R<Vec<Val>> {
        let count = self.channels.next_count();
        let end = self.end_mut(id)?;
        end.at = At::State(next);
        end.since = count;
        let parts = end.queue.pop_front().map(|m| m.parts).unwrap_or_default();
        let mut values = vec![];
        for (part, ty) in parts {
            self.give(Loc { obj: part, off: 0 }, ty, self.mem.running)?;
            values.push(self.out_of_part((part, ty))?);
        }
        Ok(values)
    }

    /// An end is closed: what it did not receive is dropped.
    pub fn close_end(&mut self, address: u64) -> R<()> {
        let loc = self.mem.place(address);
        match self.mem.obj(loc.obj).filter(|o| o.kind == Kind::End) {
            Some(obj) if obj.state != State::Live => {
                return report(ReportKind::DoubleFree, "an end of a channel is freed that was freed already");
            }
            _ => {}
        }
        let id = self.end_object(address)?;
        let noting = self.mem.pause();
        let closed = self.close(id);
        self.mem.resume(noting);
        self.mem.end(id, State::Freed, self.span);
        closed
    }

    fn close(&mut self, id: ObjId) -> R<()> {
        let end = self.end_mut(id)?;
        end.open = false;
        let (queue, peer) = (std::mem::take(&mut end.queue), end.peer);
        for part in queue.into_iter().flat_map(|message| message.parts) {
            self.drop_part(part)?;
        }
        match self.channels.ends.get(&peer) {
            Some(other) if other.open => {
                if other.queue.is_empty() {
                    self.notice(peer);
                }
            }
            _ => {
                self.channels.ends.remove(&peer);
                self.channels.ends.remove(&id);
            }
        }
        Ok(())
    }

    // ---- `switch receive`

    /// Whether the head that is wanted of an end or a set stands there.
    fn case_of(&self, id: ObjId, wanted: Head) -> R<Case> {
        let Some(set) = self.channels.sets.get(&id) else {
            return Ok(match self.head(id)? {
                Some(head) if head == wanted => Case::Now,
                Some(_) => Case::Never,
                None => Case::Later,
            });
        };
        let yes = |there: bool| if there { Case::Now } else { Case::Never };
        match wanted {
            Head::Empty => return Ok(yes(set.members.is_empty())),
            Head::Any => return Ok(yes(!set.members.is_empty())),
            Head::Message(_) | Head::Closed => {}
        }
        Ok(match (set.first(Some(wanted)), set.first(None)) {
            (Some(_), _) => Case::Now,
            (None, Some(_)) => Case::Later,
            (None, None) => Case::Never,
        })
    }

    /// A `Select`.
    pub fn select(
        &mut self,
        dest: &Place,
        cases: &[Vec<(Place, Head)>],
        after: Option<&Op>,
        has_default: bool,
    ) -> R<()> {
        let (mut keys, mut best, mut taken, mut sets) = (vec![], Case::Never, None, false);
        for (n, case) in cases.iter().enumerate() {
            let mut all = Case::Now;
            for (place, head) in case {
                let id = self.end_at(place)?;
                sets |= self.channels.sets.contains_key(&id);
                self.waits_for_its_turn(id)?;
                keys.push(Key::End(id));
                all = all.min(self.case_of(id, *head)?);
            }
            if all == Case::Now && taken.is_none() {
                taken = Some(n as i64);
            }
            best = best.max(all);
        }
        let time = match after {
            Some(op) => Some(self.peek(op)?.int() as i64),
            None => None,
        };
        if taken.is_none() && best == Case::Never {
            match (has_default, time) {
                (true, _) => taken = Some(-1),
                // What may come to a set that is empty is for the run time.
                (false, None) if sets => return fault("receive: no case can match any more"),
                (false, None) => return protocol("no case of a `switch receive` can be taken any more"),
                (false, Some(_)) => {}
            }
        }
        if taken.is_none() && time.is_some_and(|time| self.is_late(time)) {
            taken = Some(cases.len() as i64);
        }
        let Some(number) = taken else { return self.tasks.wait_for(keys, self.tasks.deadline()) };
        self.tasks.no_deadline();
        self.store(dest, &Val::Int(i128::from(number)), As::Owner)
    }

    /// An end that is waited for must be in a state in which it receives.
    fn waits_for_its_turn(&self, id: ObjId) -> R<()> {
        let Some(end) = self.channels.ends.get(&id) else { return Ok(()) };
        let contract = self.contract(end.contract)?;
        let receives = match end.at {
            At::State(state) => contract.state(state).and_then(|s| s.sender) == Some(end.side.other()),
            At::Closed => false,
        };
        match receives {
            true => Ok(()),
            false => protocol(format!("a `switch receive` waits for {}", self.end_text(id)?)),
        }
    }

    // ---- sets and maps

    /// `eset<E> s;`
    pub fn set_new(&mut self, place: &Place) -> R<()> {
        let Some(ty) = self.program.types.as_end_set(place.ty) else { return unsupported("a set of what is no end") };
        let id = self.mem.make(Kind::End, 0, 16, self.span);
        self.channels.sets.insert(id, Set { end: ty.end, members: FxHashMap::default(), order: BTreeSet::new() });
        let address = self.mem.address(Loc { obj: id, off: 0 });
        self.store(place, &Val::ptr(address), As::Owner)
    }

    /// `eset_add(s, d);`, `emap_add(m, d, v);`
    pub fn set_add(&mut self, set: &Place, end: &Op, value: Option<&Op>) -> R<()> {
        let member = self.load(end, false)?.addr();
        let value = match value {
            Some(op) => Some((self.load(op, false)?, op.ty)),
            None => None,
        };
        let set = self.end_at(set)?;
        let member = self.end_object(member)?;
        let want = self.set(set)?.end;
        self.end_is_as_typed(member, want)?;
        let noting = self.mem.pause();
        let part = value.map(|(value, ty)| self.part(&value, ty)).transpose();
        self.mem.resume(noting);
        let part = part?;
        let since = self.channels.next_count();
        let head = self.head(member)?;
        let end = self.end_mut(member)?;
        end.set = set;
        end.since = since;
        let of = self.set(set)?;
        of.members.insert(member, part);
        of.order.insert((rank(head), since, member));
        if head.is_some() {
            self.wake(Key::End(set));
        }
        Ok(())
    }

    /// Takes a member out of a set.
    pub fn set_take(&mut self, set: &Place, wanted: Head, end: &Place, value: Option<&Place>) -> R<()> {
        let id = self.end_at(set)?;
        let set = self.set(id)?;
        let found = match wanted {
            Head::Any => set.order.first().copied(),
            _ => set.first(Some(wanted)),
        };
        let Some(found) = found else { return protocol("a member is taken out of a set that has none such") };
        set.order.remove(&found);
        let (_, _, member) = found;
        let part = set.members.remove(&member).flatten();
        self.end_mut(member)?.set = 0;
        let address = self.mem.address(Loc { obj: member, off: 0 });
        self.store(end, &Val::ptr(address), As::Owner)?;
        if let (Some(place), Some(part)) = (value, part) {
            let noting = self.mem.pause();
            let taken = self.out_of_part(part);
            self.mem.resume(noting);
            self.store(place, &taken?, As::Owner)?;
        }
        Ok(())
    }

    /// A set ends: its members are closed, what its values own ends.
    pub fn free_set(&mut self, address: u64) -> R<()> {
        let loc = self.mem.place(address);
        if self.mem.obj(loc.obj).is_some_and(|o| o.kind == Kind::End && o.state != State::Live) {
            return report(ReportKind::DoubleFree, "a set of ends is freed that was freed already");
        }
        let id = self.end_object(address)?;
        let order = std::mem::take(&mut self.set(id)?.order);
        let mut members = std::mem::take(&mut self.set(id)?.members);
        self.channels.sets.remove(&id);
        for (_, _, member) in order {
            let part = members.remove(&member).flatten();
            let address = self.mem.address(Loc { obj: member, off: 0 });
            self.close_end(address)?;
            let noting = self.mem.pause();
            let dropped = part.map_or(Ok(()), |part| self.drop_part(part));
            self.mem.resume(noting);
            dropped?;
        }
        self.mem.end(id, State::Freed, self.span);
        Ok(())
    }

    // ---- states

    /// The ends in a value are in the states that its type names.
    pub fn ends_are_as_typed(&mut self, loc: Loc, ty: Ty) -> R<()> {
        if self.channels.ends.is_empty() {
            return Ok(());
        }
        for (_, slot, address, mark) in self.slots(loc, ty) {
            let Some(want) = self.program.types.as_endpoint(slot.ty) else { continue };
            let id = self.mem.place(address).obj;
            // One that has ended, or is another process's, is found when it is used.
            if self.channels.ends.contains_key(&id) && (mark == INIT || mark == LENT) {
                self.end_is_as_typed(id, want)?;
            }
        }
        Ok(())
    }

    /// The end is in the state that a type names.
    pub fn end_is_as_typed(&self, id: ObjId, want: Endpoint) -> R<()> {
        let end = self.end(id)?;
        match want.state {
            Some(state) if end.at != At::State(state) => {
                let name = self.contract(want.contract)?.state_text(state);
                protocol(format!("{} goes where the type says {name}", self.end_text(id)?))
            }
            _ => Ok(()),
        }
    }

    /// What a function gives back: its result, and the ends that it was lent.
    pub fn ends_given_back(&mut self, value: Option<&Val>, code: &Code) -> R<()> {
        if self.channels.ends.is_empty() || code.unchecked {
            return Ok(());
        }
        if let (Some(want), Some(value)) = (self.program.types.as_endpoint(code.ty.ret), value) {
            if value.addr() != 0 {
                let id = self.end_object(value.addr())?;
                self.end_is_as_typed(id, want)?;
            }
        }
        for (n, param) in code.ty.params.iter().enumerate().filter(|(_, p)| !p.consume) {
            let Some(end) = self.program.types.as_endpoint(param.ty) else { continue };
            let Some(local) = code.locals.get(n) else { continue };
            let loc = self.local_loc(n as u32, local);
            let address = self.mem.aside(|| self.read_word(loc))?;
            if address != 0 {
                let id = self.end_object(address)?;
                self.end_is_as_typed(id, Endpoint { state: param.becomes.or(end.state), ..end })?;
            }
        }
        Ok(())
    }

    /// The cast back to a contract that extends others.
    pub fn check_contract(&self, address: u64, want: Endpoint) -> R<()> {
        let id = self.end_object(address)?;
        self.end_is_as_typed(id, want)?;
        let made = self.end(id)?.contract;
        if self.program.types.contract_extends(made, want.contract) {
            return Ok(());
        }
        let (made, want) = (self.contract(made)?.name, self.contract(want.contract)?.name);
        fault(format!("contract: the channel is one of {made}, not of {want}"))
    }

    /// What a `switch (state d)` found is so.
    pub fn end_found(&self, end: &Op, states: &[StateId], closed: bool) -> R<()> {
        let address = self.peek(end)?.addr();
        if address == 0 {
            return Ok(());
        }
        let id = self.end_object(address)?;
        let good = match self.end(id)?.at {
            At::State(state) => states.contains(&state),
            At::Closed => closed,
        };
        match good {
            true => Ok(()),
            false => protocol(format!("a `switch (state d)` takes another case than that of {}", self.end_text(id)?)),
        }
    }
}
