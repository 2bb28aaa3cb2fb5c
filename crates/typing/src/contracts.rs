//! Contracts as the checked program has them: a table of messages and states, which everything
//! after typing reads.
//!
//! A contract is written from the exporter's side. Chains (`a -> (b | c) -> STATE`) are expanded:
//! between two messages of a chain lies a state without a name. So in each state one side sends,
//! and each message that it may send leads to one state.

use crate::types::{RecordId, Ty, TypeStore};
use source::{Span, Symbol};

/// Number of a contract (`TypeStore::contracts`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ContractId(pub u32);

/// Number of a state in its contract.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct StateId(pub u32);

/// Number of a message in its contract, from 0. At run time messages are numbered from 1
/// (`Message::number`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct MessageId(pub u32);

/// The two ends of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Side {
    /// `exp`: from whose side the contract is written.
    Exp,
    /// `imp`
    Imp,
}

impl Side {
    /// The other end.
    pub fn other(self) -> Side {
        match self {
            Side::Exp => Side::Imp,
            Side::Imp => Side::Exp,
        }
    }
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Side::Exp => "exp",
            Side::Imp => "imp",
        }
    }
    /// Its name in sentences.
    pub fn title(self) -> &'static str {
        match self {
            Side::Exp => "exporter",
            Side::Imp => "importer",
        }
    }
}

/// The direction of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// `out`, `!`: exporter to importer.
    Out,
    /// `in`, `?`: importer to exporter.
    In,
}

impl Direction {
    /// Who sends it.
    pub fn sender(self) -> Side {
        match self {
            Direction::Out => Side::Exp,
            Direction::In => Side::Imp,
        }
    }
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Direction::Out => "out",
            Direction::In => "in",
        }
    }
    /// Its sign in a state.
    pub fn sign(self) -> char {
        match self {
            Direction::Out => '!',
            Direction::In => '?',
        }
    }
}

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its name.
    pub name: Symbol,
    /// Where it is declared.
    pub span: Span,
    /// Its direction.
    pub direction: Direction,
    /// Its arguments.
    pub params: Vec<(Symbol, Ty, Span)>,
    /// Its number at run time, from 1. Those of a contract that this one extends keep theirs.
    pub number: i32,
    /// A struct whose fields are the arguments, in order; none if there are no arguments.
    pub layout: Option<RecordId>,
}

/// A state.
#[derive(Clone, Debug)]
pub struct State {
    /// Its name; none inside a chain.
    pub name: Option<Symbol>,
    /// Where it is declared, or the part of the chain that begins here.
    pub span: Span,
    /// The messages that may be sent here, each with the state that it leads to; no message twice.
    pub alternatives: Vec<(MessageId, StateId)>,
    /// Who sends here; nobody at the end of the conversation, where there are no alternatives.
    pub sender: Option<Side>,
}

/// A contract.
#[derive(Clone, Debug)]
pub struct Contract {
    /// Its name.
    pub name: Symbol,
    /// Where it is declared.
    pub span: Span,
    /// `local contract`: between tasks of one process.
    pub local: bool,
    /// The contract whose messages and states it begins with, under the same numbers.
    pub extends: Option<ContractId>,
    /// Messages by number.
    pub messages: Vec<Message>,
    /// States by number.
    pub states: Vec<State>,
    /// Where a channel begins if nothing else is said.
    pub start: StateId,
    /// The most messages that can be on their way at once, to the importer and to the exporter: as
    /// in `struct lee_contract`, at least 1.
    pub places: [u32; 2],
}

impl Contract {
    /// The message with a number.
    pub fn message(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(id.0 as usize)
    }
    /// The state with a number.
    pub fn state(&self, id: StateId) -> Option<&State> {
        self.states.get(id.0 as usize)
    }
    /// The message of this name.
    pub fn find_message(&self, name: Symbol) -> Option<MessageId> {
        self.messages.iter().position(|m| m.name == name).map(|n| MessageId(n as u32))
    }
    /// The state of this name.
    pub fn find_state(&self, name: Symbol) -> Option<StateId> {
        self.states.iter().position(|s| s.name == Some(name)).map(|n| StateId(n as u32))
    }
    /// Where the message leads to from the state, if it may be sent there.
    pub fn next(&self, state: StateId, message: MessageId) -> Option<StateId> {
        let alternatives = &self.state(state)?.alternatives;
        alternatives.iter().find(|(m, _)| *m == message).map(|(_, to)| *to)
    }
    /// A state's name, or for one inside a chain what can happen there: `before Ok! | Bad_size!`.
    pub fn state_text(&self, id: StateId) -> String {
        let Some(state) = self.state(id) else { return "?".into() };
        if let Some(name) = state.name {
            return name.to_string();
        }
        let steps: Vec<String> = state.alternatives.iter().map(|(m, _)| self.message_text(*m)).collect();
        format!("before {}", steps.join(" | "))
    }
    /// A message's name with its sign.
    pub fn message_text(&self, id: MessageId) -> String {
        self.message(id).map_or("?".into(), |m| format!("{}{}", m.name, m.direction.sign()))
    }
}

impl TypeStore {
    /// The contract with a number.
    pub fn contract(&self, id: ContractId) -> Option<&Contract> {
        self.contracts.get(id.0 as usize)
    }

    /// Whether `derived` is `base` or extends it, over any number of steps.
    pub fn contract_extends(&self, derived: ContractId, base: ContractId) -> bool {
        let mut at = Some(derived);
        // As many steps as there are contracts: a circle ends, too.
        for _ in 0..=self.contracts.len() {
            match at {
                Some(id) if id == base => return true,
                Some(id) => at = self.contract(id).and_then(|c| c.extends),
                None => return false,
            }
        }
        false
    }
}

/// What stands at the head of an end's queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Head {
    /// The message.
    Message(MessageId),
    /// Nothing, and nothing will: the other end is closed.
    Closed,
    /// Of a set: it has no member.
    Empty,
    /// Of a set: it has a member, whatever stands at its head.
    Any,
}

/// An endpoint that a `switch receive` waits for.
#[derive(Clone, Debug)]
pub struct EndStates {
    /// How the source names it; a member of a set, `(d in s)`.
    pub name: String,
    /// What it speaks.
    pub contract: ContractId,
    /// Which end it is.
    pub side: Side,
    /// The states that it may be in.
    pub states: Vec<StateId>,
}

impl EndStates {
    /// What may stand at its head: each message that the other side may send in one of its states,
    /// and that the other end is closed.
    pub fn heads(&self, types: &TypeStore) -> Vec<Head> {
        let mut heads = vec![];
        let Some(contract) = types.contract(self.contract) else { return heads };
        let receiving = self.states.iter().filter_map(|s| contract.state(*s)).filter(|s| s.sender != Some(self.side));
        for (message, _) in receiving.flat_map(|s| &s.alternatives) {
            if !heads.contains(&Head::Message(*message)) {
                heads.push(Head::Message(*message));
            }
        }
        heads.push(Head::Closed);
        heads
    }

    /// `d.Bad_size()`, `d.closed()`
    pub fn head_text(&self, types: &TypeStore, head: Head) -> String {
        let name = match head {
            Head::Closed => "closed",
            Head::Empty => "empty",
            Head::Any => "any",
            Head::Message(id) => {
                let message = types.contract(self.contract).and_then(|c| c.message(id));
                message.map_or("?", |m| m.name.as_str())
            }
        };
        format!("{}.{name}()", self.name)
    }
}

/// More combinations than this are not searched.
const MOST_STEPS: u32 = 1_000_000;
/// So many missing combinations are named.
const MOST_NAMED: usize = 8;

/// The combinations of heads for which no case of a `switch receive` can be taken, as the source
/// would write them (the first few). Each case is the ends that it names, by number, with the heads
/// that it wants. Cases with `after` are left out: they do not make the statement exhaustive.
///
/// The ends are taken one by one, as the columns of a pattern matrix; heads that no case
/// names behave alike.
pub fn missing(types: &TypeStore, ends: &[EndStates], cases: &[Vec<(usize, Head)>]) -> Vec<String> {
    let rows: Vec<&[(usize, Head)]> = cases.iter().map(Vec::as_slice).collect();
    let mut search = Search { types, ends, steps: 0, found: vec![] };
    search.end(0, &rows, &mut vec![]);
    if search.steps >= MOST_STEPS && search.found.is_empty() {
        search.found.push("more combinations than can be looked through".into());
    }
    search.found
}

struct Search<'a> {
    types: &'a TypeStore,
    ends: &'a [EndStates],
    steps: u32,
    found: Vec<String>,
}

impl Search<'_> {
    /// `rows`: the cases that can still be taken with the heads chosen for the ends before `at`.
    fn end(&mut self, at: usize, rows: &[&[(usize, Head)]], chosen: &mut Vec<String>) {
        self.steps += 1;
        if self.steps >= MOST_STEPS || self.found.len() >= MOST_NAMED {
            return;
        }
        // A case that wants nothing more is taken, whatever the other heads are.
        if rows.iter().any(|row| row.iter().all(|(end, _)| *end < at)) {
            return;
        }
        let Some(end) = self.ends.get(at).filter(|_| !rows.is_empty()) else {
            self.found.push(chosen.join(" && "));
            return;
        };
        let wanted = |row: &[(usize, Head)]| row.iter().find(|(e, _)| *e == at).map(|(_, head)| *head);
        let mut same: Option<bool> = None;
        for head in end.heads(self.types) {
            let named = rows.iter().any(|row| wanted(row) == Some(head));
            // Whether a head that no case names is covered does not depend on which one it is.
            if !named && same == Some(true) {
                continue;
            }
            let left: Vec<&[(usize, Head)]> =
                rows.iter().copied().filter(|row| wanted(row).is_none_or(|wants| wants == head)).collect();
            let before = self.found.len();
            chosen.push(end.head_text(self.types, head));
            self.end(at + 1, &left, chosen);
            chosen.pop();
            if !named {
                same = Some(self.found.len() == before && self.steps < MOST_STEPS);
            }
        }
    }
}
