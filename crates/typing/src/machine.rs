//! The state machine of a contract, from its declaration: chains are expanded into states, and the
//! rules about messages and states are checked. The types of arguments are not known here
//! (`contract_decls.rs`).

use crate::codes;
use crate::contracts::*;
use source::{Diagnostic, Span, Symbol};
use syntax::ast;

/// Names that a pattern of `switch receive` uses for other things than messages.
const TAKEN: [&str; 3] = ["closed", "empty", "any"];

/// A contract without the types of its arguments.
pub(crate) struct Expanded {
    /// The contract.
    pub contract: Contract,
    /// What is wrong with it.
    pub reports: Vec<Diagnostic>,
}

/// One thing that may happen in a state.
#[derive(Clone, Copy)]
struct Alternative {
    message: MessageId,
    to: StateId,
    span: Span,
}

struct Builder<'a> {
    def: &'a ast::ContractDef,
    base: Option<&'a Contract>,
    messages: Vec<Message>,
    /// Of each message: whether its declaration or its first use says its direction.
    directed: Vec<bool>,
    used: Vec<bool>,
    names: Vec<(Option<Symbol>, Span)>,
    steps: Vec<Vec<Alternative>>,
    reports: Vec<Diagnostic>,
}

/// Expands a declaration. `base`: the contract that it extends, with its id.
pub(crate) fn expand(def: &ast::ContractDef, base: Option<(ContractId, &Contract)>) -> Expanded {
    let mut builder = Builder {
        def,
        base: base.map(|(_, contract)| contract),
        messages: vec![],
        directed: vec![],
        used: vec![],
        names: vec![],
        steps: vec![],
        reports: vec![],
    };
    if let Some(base) = builder.base {
        builder.take_over(base);
    }
    builder.declare_messages();
    builder.declare_states();
    builder.fill_states();
    // What follows from a mistake is not reported.
    for check in [Builder::check_alternatives, Builder::check_used, Builder::check_cycles] {
        if builder.reports.is_empty() {
            check(&mut builder);
        }
    }
    let places = [builder.longest_run(Side::Exp), builder.longest_run(Side::Imp)];
    let states = builder.names.iter().zip(&builder.steps).map(|(&(name, span), steps)| {
        let sender = steps.first().map(|s| builder.sender(s.message));
        State { name, span, alternatives: steps.iter().map(|s| (s.message, s.to)).collect(), sender }
    });
    let contract = Contract {
        name: def.name.name,
        span: def.name.span,
        local: def.local,
        extends: base.map(|(id, _)| id),
        states: states.collect(),
        messages: builder.messages,
        start: base.map_or(StateId(0), |(_, contract)| contract.start),
        places,
    };
    Expanded { contract, reports: builder.reports }
}

/// The named states that no conversation reaches from the start.
pub(crate) fn unreachable_states(contract: &Contract) -> Vec<StateId> {
    let mut reached = vec![false; contract.states.len()];
    let mut work = vec![contract.start];
    while let Some(at) = work.pop() {
        let Some(state) = contract.state(at) else { continue };
        if let Some(slot) = reached.get_mut(at.0 as usize).filter(|slot| !**slot) {
            *slot = true;
            work.extend(state.alternatives.iter().map(|(_, to)| *to));
        }
    }
    let named = contract.states.iter().zip(&reached).enumerate().filter(|(_, (state, _))| state.name.is_some());
    named.filter(|(_, (_, reached))| !**reached).map(|(n, _)| StateId(n as u32)).collect()
}

impl Builder<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.reports.push(Diagnostic::error(codes::CONTRACT, span, message.into()).help(help.into()));
    }

    fn take_over(&mut self, base: &Contract) {
        self.messages = base.messages.clone();
        self.directed = vec![true; self.messages.len()];
        self.used = vec![true; self.messages.len()];
        for state in &base.states {
            let step = |&(message, to): &(MessageId, StateId)| Alternative { message, to, span: state.span };
            self.names.push((state.name, state.span));
            self.steps.push(state.alternatives.iter().map(step).collect());
        }
    }

    fn sender(&self, message: MessageId) -> Side {
        self.messages.get(message.0 as usize).map_or(Side::Exp, |m| m.direction.sender())
    }

    fn name(&self, message: MessageId) -> Symbol {
        self.messages.get(message.0 as usize).map_or(self.def.name.name, |m| m.name)
    }

    fn find_message(&self, name: Symbol) -> Option<MessageId> {
        self.messages.iter().position(|m| m.name == name).map(|n| MessageId(n as u32))
    }

    fn find_state(&self, name: Symbol) -> Option<StateId> {
        self.names.iter().position(|(n, _)| *n == Some(name)).map(|n| StateId(n as u32))
    }

    fn declare_messages(&mut self) {
        for message in &self.def.messages {
            let name = message.name;
            if TAKEN.contains(&name.name.as_str()) {
                let text = format!(
                    "a message is not named `{}`, which a case of `switch receive` has a meaning for",
                    name.name
                );
                self.error(name.span, text, "choose another name");
                continue;
            }
            if let Some(old) = self.find_message(name.name) {
                let there = self.messages.get(old.0 as usize).map_or(Span::NONE, |m| m.span);
                let text = format!("the message `{}` is declared twice", name.name);
                let report = Diagnostic::error(codes::CONTRACT, name.span, text).label(there, "declared here already");
                self.reports.push(report.help("a message has one name in a contract and in those that extend it"));
                continue;
            }
            let direction = match message.direction {
                Some(ast::Direction::In) => Direction::In,
                _ => Direction::Out,
            };
            let number = self.messages.len() as i32 + 1;
            self.messages.push(Message {
                name: name.name,
                span: name.span,
                direction,
                params: vec![],
                number,
                layout: None,
            });
            self.directed.push(message.direction.is_some());
            self.used.push(false);
        }
    }

    fn declare_states(&mut self) {
        let own = self.names.len();
        for state in &self.def.states {
            let name = state.name;
            let old = self.find_state(name.name);
            match old.filter(|old| old.0 as usize >= own) {
                Some(old) => {
                    let there = self.names.get(old.0 as usize).map_or(Span::NONE, |s| s.1);
                    let text = format!("the state `{}` is declared twice", name.name);
                    let report =
                        Diagnostic::error(codes::CONTRACT, name.span, text).label(there, "declared here already");
                    self.reports.push(report.help("write all that can happen in a state between the same braces"));
                }
                None if old.is_none() => {
                    self.names.push((Some(name.name), name.span));
                    self.steps.push(vec![]);
                }
                None => {}
            }
        }
        if self.names.is_empty() {
            let text = format!("the contract `{}` has no state", self.def.name.name);
            self.error(
                self.def.name.span,
                text,
                "write at least one: `state START { ... }`; a channel begins in the first",
            );
        }
    }

    fn fill_states(&mut self) {
        let own = self.base.map_or(0, |base| base.states.len());
        let mut filled = vec![];
        for state in &self.def.states {
            let Some(id) = self.find_state(state.name.name) else { continue };
            if filled.contains(&id) {
                continue;
            }
            filled.push(id);
            let mut steps = vec![];
            for chain in &state.chains {
                steps.extend(self.chain(chain, None));
            }
            if (id.0 as usize) < own {
                self.check_added(id, state, &steps);
            }
            if let Some(slot) = self.steps.get_mut(id.0 as usize) {
                slot.extend(steps);
            }
        }
    }

    /// What a contract adds to a state of the one that it extends: sends of the exporter, of new
    /// messages, where only the exporter sends. So code that knows only the base does not meet them
    /// unless it is the importer, whose type is not converted.
    fn check_added(&mut self, id: StateId, state: &ast::StateDef, steps: &[Alternative]) {
        let Some(base) = self.base else { return };
        let name = state.name;
        if base.state(id).and_then(|s| s.sender) != Some(Side::Exp) {
            let text = format!(
                "nothing is added to the state `{}` of `{}`: the exporter does not send there",
                name.name, base.name
            );
            self.error(
                name.span,
                text,
                "add to a state whose messages the exporter sends (`!`), or declare a state of its own",
            );
            return;
        }
        for step in steps {
            let message = self.name(step.message);
            if self.sender(step.message) != Side::Exp {
                let text =
                    format!("only sends of the exporter are added to the state `{}` of `{}`", name.name, base.name);
                self.error(step.span, text, format!("declare `{message}` as an `out message`"));
            } else if (step.message.0 as usize) < base.messages.len() {
                let text =
                    format!("`{message}` is a message of `{}`: only new ones are added to its states", base.name);
                self.error(step.span, text, format!("declare a new `out message` for the state `{}`", name.name));
            }
        }
    }

    /// What a chain begins with. `follow`: the state after the parenthesis that it stands in.
    fn chain(&mut self, chain: &ast::Chain, follow: Option<StateId>) -> Vec<Alternative> {
        let (target, steps) = self.target(chain, follow);
        let Some(target) = target else { return vec![] };
        let Some((first, rest)) = steps.split_first() else {
            self.error(chain.span, "a chain begins with a message", "write the message that leads here: `M! -> STATE`");
            return vec![];
        };
        let mut next = target;
        for step in rest.iter().rev() {
            let alternatives = self.step(step, next);
            let id = StateId(self.names.len() as u32);
            self.names.push((None, span_of(step)));
            self.steps.push(alternatives);
            next = id;
        }
        self.step(first, next)
    }

    /// The state that a chain leads to, and the steps before it. None if that was reported.
    fn target<'c>(&mut self, chain: &'c ast::Chain, follow: Option<StateId>) -> (Option<StateId>, &'c [ast::Step]) {
        let steps = chain.steps.as_slice();
        if let Some((ast::Step::Name(name, None), before)) = steps.split_last() {
            if let Some(id) = self.find_state(name.name) {
                return (Some(id), before);
            }
            if self.find_message(name.name).is_none() {
                let text = format!("`{}` is neither a state nor a message of this contract", name.name);
                let mut help = format!("declare it: `state {} {{ ... }}`", name.name);
                if let Some(near) = self.near(name.name) {
                    help = format!("is `{near}` meant?");
                }
                self.error(name.span, text, help);
                return (None, steps);
            }
        }
        if follow.is_none() && !steps.last().is_some_and(|step| all_lead_on(step, self)) {
            self.error(
                chain.span,
                "this does not say which state follows",
                "write `-> STATE` behind it; the conversation ends in a state without messages: `state END { }`",
            );
            return (None, steps);
        }
        // A choice of which each alternative says where it leads needs no state after it.
        (Some(follow.unwrap_or(StateId(u32::MAX))), steps)
    }

    /// A declared name that differs in one letter or in case only.
    fn near(&self, name: Symbol) -> Option<Symbol> {
        let known = self.names.iter().filter_map(|(n, _)| *n).chain(self.messages.iter().map(|m| m.name));
        let mut known = known.filter(|n| n.as_str().eq_ignore_ascii_case(name.as_str()));
        known.next()
    }

    fn step(&mut self, step: &ast::Step, next: StateId) -> Vec<Alternative> {
        match step {
            ast::Step::Name(name, sign) => {
                let message = self.message(*name, *sign);
                message.map(|message| Alternative { message, to: next, span: name.span }).into_iter().collect()
            }
            ast::Step::Choice(chains, _) => {
                let follow = (next.0 != u32::MAX).then_some(next);
                let mut all = vec![];
                for chain in chains {
                    all.extend(self.chain(chain, follow));
                }
                all
            }
        }
    }

    /// A message where it is used; its sign agrees with its declaration.
    fn message(&mut self, name: ast::Ident, sign: Option<ast::Direction>) -> Option<MessageId> {
        let Some(id) = self.find_message(name.name) else {
            let text = if self.find_state(name.name).is_some() {
                format!("`{}` is a state: it stands at the end of a chain, without a sign", name.name)
            } else {
                format!("the message `{}` is not declared in this contract", name.name)
            };
            let word = if sign == Some(ast::Direction::In) { "in" } else { "out" };
            let help = match self.near(name.name) {
                Some(near) if near != name.name => format!("is `{near}` meant?"),
                _ => format!("declare it: `{word} message {}();`", name.name),
            };
            self.error(name.span, text, help);
            return None;
        };
        let at = id.0 as usize;
        if let Some(used) = self.used.get_mut(at) {
            *used = true;
        }
        let known = self.directed.get(at).copied().unwrap_or(true);
        let message = self.messages.get_mut(at)?;
        let sign = sign.map(|sign| match sign {
            ast::Direction::Out => Direction::Out,
            ast::Direction::In => Direction::In,
        });
        match sign {
            Some(sign) if !known => {
                message.direction = sign;
                if let Some(known) = self.directed.get_mut(at) {
                    *known = true;
                }
            }
            Some(sign) if sign != message.direction => {
                let (direction, there) = (message.direction, message.span);
                let text = format!(
                    "direction: `{}` is an `{}` message, which the {} sends, and `{}` says that the {} does",
                    name.name,
                    direction.word(),
                    direction.sender().title(),
                    sign.sign(),
                    sign.sender().title()
                );
                let report = Diagnostic::error(codes::CONTRACT, name.span, text).label(there, "declared here");
                let help =
                    format!("write `{}{}`, or declare an `{} message`", name.name, direction.sign(), sign.word());
                self.reports.push(report.help(help));
            }
            None if !known => {
                let text = format!("direction: neither its declaration nor a sign says who sends `{}`", name.name);
                let help = format!(
                    "declare it as an `out message` (the exporter sends) or an `in message`, or write `{0}!` or `{0}?`",
                    name.name
                );
                self.error(name.span, text, help);
                if let Some(known) = self.directed.get_mut(at) {
                    *known = true;
                }
            }
            _ => {}
        }
        Some(id)
    }

    /// In one state one side sends, and each message leads to one state.
    fn check_alternatives(&mut self) {
        for at in 0..self.steps.len() {
            let steps = self.steps.get(at).cloned().unwrap_or_default();
            let Some(first) = steps.first() else { continue };
            let mut kept: Vec<Alternative> = vec![];
            for step in &steps {
                let name = self.name(step.message);
                if let Some(old) = kept.iter().find(|s| s.message == step.message) {
                    let text = format!(
                        "two alternatives of one state begin with `{name}`: who receives it could not tell them apart"
                    );
                    let report = Diagnostic::error(codes::CONTRACT, step.span, text).label(old.span, "the other one");
                    self.reports.push(report.help(format!("write what follows as a choice: `{name} -> (A | B)`")));
                    continue;
                }
                if self.sender(step.message) != self.sender(first.message) {
                    let text = format!(
                        "direction: in one state one side sends, and `{name}` comes from the {}, `{}` from the {}",
                        self.sender(step.message).title(),
                        self.name(first.message),
                        self.sender(first.message).title()
                    );
                    let report = Diagnostic::error(codes::CONTRACT, step.span, text)
                        .label(first.span, "the first of this state");
                    self.reports.push(report.help(
                        "let the sides take turns; what may come at any time goes over a second channel, whose endpoint a message carries",
                    ));
                    continue;
                }
                kept.push(*step);
            }
            if let Some(slot) = self.steps.get_mut(at) {
                *slot = kept;
            }
        }
    }

    fn check_used(&mut self) {
        let unused: Vec<(Symbol, Span)> = self
            .messages
            .iter()
            .zip(&self.used)
            .filter(|(_, used)| !**used)
            .map(|(message, _)| (message.name, message.span))
            .collect();
        for (name, span) in unused {
            let text = format!("the message `{name}` is declared and no state uses it");
            self.error(span, text, "write it into the state in which it is sent, or leave it out");
        }
    }

    fn edges(&self, from: StateId, side: Side) -> Vec<Alternative> {
        let steps = self.steps.get(from.0 as usize).map(Vec::as_slice).unwrap_or_default();
        steps.iter().copied().filter(|s| self.sender(s.message) == side && s.to.0 != u32::MAX).collect()
    }

    /// Every cycle holds messages of both directions. So the messages of one side alone have no
    /// cycle.
    fn check_cycles(&mut self) {
        for side in [Side::Exp, Side::Imp] {
            // 0: not seen, 1: on the way from the root, 2: done.
            let mut colour = vec![0u8; self.steps.len()];
            for root in 0..self.steps.len() {
                if colour.get(root) == Some(&0) {
                    self.find_cycle(StateId(root as u32), side, &mut colour);
                }
            }
        }
    }

    fn find_cycle(&mut self, root: StateId, side: Side, colour: &mut [u8]) {
        let mut stack = vec![(root, self.edges(root, side))];
        if let Some(slot) = colour.get_mut(root.0 as usize) {
            *slot = 1;
        }
        while let Some((at, edges)) = stack.last_mut() {
            let at = *at;
            let Some(edge) = edges.pop() else {
                if let Some(slot) = colour.get_mut(at.0 as usize) {
                    *slot = 2;
                }
                stack.pop();
                continue;
            };
            match colour.get(edge.to.0 as usize) {
                Some(0) => {
                    if let Some(slot) = colour.get_mut(edge.to.0 as usize) {
                        *slot = 1;
                    }
                    let edges = self.edges(edge.to, side);
                    stack.push((edge.to, edges));
                }
                Some(1) => self.report_cycle(edge, side),
                _ => {}
            }
        }
    }

    fn report_cycle(&mut self, edge: Alternative, side: Side) {
        let name = self.name(edge.message);
        let other = side.other().title();
        let state = self.names.get(edge.to.0 as usize).and_then(|(name, _)| *name);
        let to = state.map_or(String::new(), |name| format!(" to `{name}`"));
        let text = format!(
            "cycle: `{name}` leads back{to}, and in this cycle only the {} sends: any number of messages could be on their way",
            side.title()
        );
        let help = format!("put a message of the {other} into the cycle, which tells the {} to go on", side.title());
        self.error(edge.span, text, help);
    }

    /// The most messages that the side sends one after the other: so many places the other side's
    /// queue has. Before one side sends, it has received all that the other sent. At least 1.
    fn longest_run(&self, side: Side) -> u32 {
        let mut known: Vec<Option<u32>> = vec![None; self.steps.len()];
        let mut longest = 1;
        for root in 0..self.steps.len() {
            let mut stack = vec![(StateId(root as u32), false)];
            // A contract with a cycle was refused; the limit ends the walk there.
            let mut budget = 1_000_000u32;
            while let Some((at, done)) = stack.pop() {
                budget = budget.saturating_sub(1);
                if budget == 0 {
                    break;
                }
                let slot = at.0 as usize;
                if known.get(slot).is_none_or(Option::is_some) {
                    continue;
                }
                let edges = self.edges(at, side);
                let run = |to: StateId| known.get(to.0 as usize).copied().flatten();
                if done || edges.iter().all(|e| run(e.to).is_some()) {
                    let best = edges.iter().map(|e| run(e.to).unwrap_or(0).saturating_add(1)).max().unwrap_or(0);
                    longest = longest.max(best);
                    if let Some(slot) = known.get_mut(slot) {
                        *slot = Some(best);
                    }
                    continue;
                }
                stack.push((at, true));
                stack.extend(edges.iter().filter(|e| run(e.to).is_none()).map(|e| (e.to, false)));
            }
        }
        longest
    }
}

fn span_of(step: &ast::Step) -> Span {
    match step {
        ast::Step::Name(name, _) => name.span,
        ast::Step::Choice(_, span) => *span,
    }
}

/// Whether a step is a choice of which each alternative says which state follows.
fn all_lead_on(step: &ast::Step, builder: &Builder) -> bool {
    let ast::Step::Choice(chains, _) = step else { return false };
    chains.iter().all(|chain| match chain.steps.last() {
        Some(ast::Step::Name(name, None)) => builder.find_state(name.name).is_some(),
        Some(last) => all_lead_on(last, builder),
        None => false,
    })
}
