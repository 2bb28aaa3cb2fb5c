//! What the analysis of states reports: in which state an end is, what it can do there, and where
//! it entered that state.

use mir::ir::*;
use source::{Diagnostic, Span};
use typing::contracts::{Contract, MessageId, Side, StateId};
use typing::types::Endpoint;

use super::{sender, At, States, Typestate};
use crate::codes::{MISSING_CASE, STATE};
use crate::names::place_name;

/// A mistake.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub span: Span,
    /// The variable that it is about.
    pub local: Option<Local>,
    message: String,
    /// Where the end entered its state.
    since: Option<(Span, String)>,
    help: String,
    missing: bool,
}

impl Finding {
    fn new(span: Span, local: Option<Local>, message: String, help: String) -> Finding {
        Finding { span, local, message, since: None, help, missing: false }
    }

    fn of_end(
        t: &Typestate,
        place: &Place,
        span: Span,
        (at, since): (At, Span),
        message: impl FnOnce(&str, &str) -> String,
    ) -> Finding {
        let name = name_of(t, place);
        let local = t.variable(t.named(place)).map(|(local, _)| local);
        let (words, can) = match t.end_at(place).and_then(|end| Some((end, t.contract(end)?))) {
            Some((end, contract)) => (words(contract, at), can_do(contract, end.side, at, &name)),
            None => (String::new(), String::new()),
        };
        let mut finding = Finding::new(span, local, message(&name, &words), can);
        let text = match at {
            At::Closed => "its peer was found closed here",
            _ => "it got into this state here",
        };
        finding.since = (since != span).then(|| (since, text.to_string()));
        finding
    }

    /// An end that is not in the state that its new place wants.
    pub(super) fn elsewhere(
        t: &Typestate,
        place: &Place,
        span: Span,
        at: (At, Span),
        want: Option<StateId>,
        to: &str,
    ) -> Finding {
        let contract = t.end_at(place).and_then(|end| t.contract(end));
        let want = match (contract, want) {
            (Some(contract), Some(want)) => format!("must be {}", words(contract, At::State(want))),
            _ => "has no state in its type".to_string(),
        };
        let mut found =
            Finding::of_end(t, place, span, at, |name, words| format!("{name} is {words}, and what goes {to} {want}"));
        let is_param = found.local.is_some_and(|local| local.0 < t.body.params);
        if at.0 == At::Closed && is_param && to == "back to the caller" {
            let name = name_of(t, place);
            found.help = format!(
                "a lent end comes back in its state: declare the parameter {name} `consume`, and free it here; the caller gives the end away"
            );
        }
        found
    }

    /// An end that becomes one of a contract that does not know its state.
    pub(super) fn not_in_base(t: &Typestate, place: &Place, span: Span, at: (At, Span), base: &Contract) -> Finding {
        let finding = Finding::of_end(t, place, span, at, |name, words| {
            format!("{name} is {words}, which `{}` does not have", base.name)
        });
        let help = format!("convert it in a state of `{}`", base.name);
        Finding { help, ..finding }
    }

    pub(super) fn cannot_send(t: &Typestate, place: &Place, span: Span, at: (At, Span), message: MessageId) -> Finding {
        let message = message_name(t, place, message);
        Finding::of_end(t, place, span, at, |name, words| format!("{name} is {words}, so it cannot send `{message}`"))
    }

    pub(super) fn cannot_receive(
        t: &Typestate,
        place: &Place,
        span: Span,
        at: (At, Span),
        message: MessageId,
    ) -> Finding {
        let message = message_name(t, place, message);
        Finding::of_end(t, place, span, at, |name, words| {
            format!("{name} is {words}, so it cannot receive `{message}`")
        })
    }

    pub(super) fn cannot_wait(t: &Typestate, place: &Place, span: Span, at: (At, Span)) -> Finding {
        Finding::of_end(t, place, span, at, |name, words| format!("{name} is {words}, so there is nothing to receive"))
    }

    /// A case for what cannot come.
    pub(super) fn never_comes(t: &Typestate, place: &Place, span: Span, head: Head, heads: &[Head]) -> Finding {
        let (name, local) = (name_of(t, place), t.variable(place).map(|(local, _)| local));
        let what = head_text(t, place, head);
        let can: Vec<String> = heads.iter().map(|head| format!("`{}`", head_text(t, place, *head))).collect();
        Finding::new(
            span,
            local,
            format!("`{what}` cannot come here: it is not in the state that {name} is in"),
            format!("drop the case; what can come is {}", can.join(", ")),
        )
    }

    /// A state that a `switch (state d)` has no case for.
    pub(super) fn no_case(t: &Typestate, place: &Place, span: Span, at: (At, Span)) -> Finding {
        let missing = !matches!(at.0, At::Unknown);
        let finding = Finding::of_end(t, place, span, at, |name, words| match missing {
            true => format!("this switch is not exhaustive: {name} may be {words}"),
            false => format!("{name} is {words}"),
        });
        let named = match (at.0, t.end_at(place).and_then(|end| t.contract(end))) {
            (At::State(id), Some(contract)) => contract.state(id).and_then(|state| state.name),
            _ => None,
        };
        let help = match (named, at.0) {
            (_, At::Unknown) => finding.help,
            (Some(name), _) => format!("add `case {name}:`, or a `default:`"),
            (None, _) => "add a `default:`".to_string(),
        };
        Finding { missing, help, ..finding }
    }

    /// A case of a `switch (state d)` for a state that the end is never in.
    pub(super) fn never_in(t: &Typestate, place: &Place, span: Span, id: StateId, states: &States) -> Finding {
        let (name, local) = (name_of(t, place), t.variable(place).map(|(local, _)| local));
        let Some(contract) = t.end_at(place).and_then(|end| t.contract(end)) else {
            return Finding::new(span, local, String::new(), String::new());
        };
        let can: Vec<String> = states.keys().map(|at| words(contract, *at)).collect();
        Finding::new(
            span,
            local,
            format!("{name} is never {} here", words(contract, At::State(id))),
            format!("drop the case: {name} is {}", can.join(" or ")),
        )
    }

    pub(super) fn missing(span: Span, missing: &[String]) -> Finding {
        let all: Vec<String> = missing.iter().map(|heads| format!("`{heads}`")).collect();
        let first = missing.first().map_or("", String::as_str);
        Finding {
            missing: true,
            ..Finding::new(
                span,
                None,
                format!("no case can be taken for {}", all.join(", ")),
                format!("add `case {first}:`, or a `default`"),
            )
        }
    }

    /// An end that is not a variable is used.
    pub(super) fn no_variable(t: &Typestate, place: &Place, end: Endpoint, span: Span) -> Finding {
        let (name, local) = (name_of(t, place), None);
        let ty =
            t.program.types.contract(end.contract).map_or("auto".into(), |c| format!("{}.{}", c.name, end.side.word()));
        let what = name.trim_matches('`');
        Finding::new(
            span,
            local,
            format!("{name} is no variable, so its state cannot change: it stays in the one that its type names"),
            format!("take it into a variable, and put it back in that state: `{ty} end = {what};` ... `{what} = end;`"),
        )
    }

    /// The address of a variable whose state others could change.
    pub(super) fn address(local: Local, span: Span) -> Finding {
        Finding::new(
            span,
            Some(local),
            "the address of an endpoint's variable is taken, and its state would not be known any more".to_string(),
            "pass the endpoint itself: a parameter lends it, and says what state it comes back in".to_string(),
        )
    }
}

pub(super) fn diagnostic(t: &Typestate, finding: &Finding) -> Diagnostic {
    let code = if finding.missing { MISSING_CASE } else { STATE };
    let mut d = Diagnostic::error(code, finding.span, finding.message.clone());
    if let Some((span, text)) = &finding.since {
        let is_param = finding.local.is_some_and(|local| {
            let decl = t.body.locals.get(local.0 as usize);
            local.0 < t.body.params && decl.is_some_and(|decl| decl.span == *span)
        });
        d = d.label(*span, if is_param { "its state is declared here".to_string() } else { text.clone() });
    }
    if finding.help.is_empty() {
        d
    } else {
        d.help(finding.help.clone())
    }
}

fn name_of(t: &Typestate, place: &Place) -> String {
    place_name(t.program, t.body, t.named(place)).map_or("the endpoint".to_string(), |name| format!("`{name}`"))
}

/// The same without quotes; of a set, what stands for a member.
pub(super) fn bare_name(t: &Typestate, place: &Place) -> String {
    let name = name_of(t, place).trim_matches('`').to_string();
    match t.set_at(place) {
        Some(set) if set.value.is_some() => format!("(d, v in {name})"),
        Some(_) => format!("(d in {name})"),
        None => name,
    }
}

fn message_name(t: &Typestate, place: &Place, message: MessageId) -> String {
    let end = t.end_at(place).or_else(|| t.set_at(place).map(|set| set.end));
    let contract = end.and_then(|end| t.contract(end));
    contract.and_then(|c| c.message(message)).map_or("?".into(), |m| m.name.to_string())
}

fn head_text(t: &Typestate, place: &Place, head: Head) -> String {
    let name = bare_name(t, place);
    match head {
        Head::Message(message) => format!("{name}.{}", message_name(t, place, message)),
        Head::Closed => format!("{name}.closed"),
        Head::Empty => format!("{}.empty", name_of(t, place).trim_matches('`')),
        Head::Any => format!("{name}.any"),
    }
}

/// What an end is like: `in state OPEN`, `in the state before Ok!`.
fn words(contract: &Contract, at: At) -> String {
    match at {
        At::State(id) => {
            let named = contract.state(id).is_some_and(|s| s.name.is_some());
            let text = contract.state_text(id);
            if named {
                format!("in state `{text}`")
            } else {
                format!("in the state {text}")
            }
        }
        At::Closed => "closed by its peer (a state in which only `free` is left)".to_string(),
        At::Unknown => "in a state that is not known".to_string(),
    }
}

/// What can be done with an end.
fn can_do(contract: &Contract, side: Side, at: At, name: &str) -> String {
    let bare = name.trim_matches('`');
    let At::State(id) = at else {
        return match at {
            At::Closed => format!("`free({bare})`"),
            _ => "write its state where it comes from: `C.exp:STATE`".to_string(),
        };
    };
    let Some(state) = contract.state(id) else { return String::new() };
    let messages: Vec<String> =
        state.alternatives.iter().filter_map(|(m, _)| contract.message(*m)).map(|m| format!("`{}`", m.name)).collect();
    let list = messages.join(" or ");
    match sender(contract, id) {
        Some(who) if who == side => format!("here {name} can send {list}"),
        Some(_) => format!("here {name} can receive {list}"),
        None => format!("the conversation has ended: `free({bare})`"),
    }
}
