//! `switch receive`: that its ends are in states in which they receive, and that for whatever comes
//! some case can be taken.

use mir::ir::*;
use source::Span;
use typing::contracts::{Contract, EndStates, Side};
use typing::types::EndSet;

use super::report::{self, Finding};
use super::{sender, At, Report, State, Typestate};

/// An end of a `switch receive`, or a set, with all that may stand at its head.
pub(crate) struct Waited<'a> {
    pub place: &'a Place,
    pub heads: Vec<Head>,
}

pub(super) fn check(
    typestate: &Typestate,
    s: &State,
    cases: &[SelectCase],
    has_default: bool,
    span: Span,
    tell: Report,
) {
    let mut ends: Vec<Waited> = vec![];
    let mut rows: Vec<Vec<(usize, Head)>> = vec![];
    for case in cases {
        let SelectCase::Heads(heads) = case else { continue };
        let mut row = vec![];
        for (place, head) in heads {
            let n = ends.iter().position(|end| end.place == place).unwrap_or_else(|| {
                ends.push(Waited { place, heads: vec![Head::Closed] });
                ends.len() - 1
            });
            // With any member a case wants no more of a set that has some. What can come to a set
            // that is empty is for the run time.
            if *head != Head::Any {
                row.push((n, *head));
            }
        }
        rows.push(row);
    }
    for end in &mut ends {
        if let Some(set) = typestate.set_at(end.place) {
            let Some(contract) = typestate.contract(set.end) else { return };
            let state = set.end.state.map_or(At::Unknown, At::State);
            end.heads.extend(heads_in(contract, set.end.side, state).unwrap_or_default());
            end.heads.push(Head::Empty);
            continue;
        }
        let Some(ty) = typestate.end_at(end.place) else { return };
        let Some(contract) = typestate.contract(ty) else { return };
        if typestate.variable(end.place).is_none() {
            return tell(Finding::no_variable(typestate, end.place, ty, span));
        }
        for (at, since) in typestate.states(s, end.place, span) {
            match heads_in(contract, ty.side, at) {
                Some(heads) => end.heads.extend(heads.into_iter().filter(|head| *head != Head::Closed)),
                None => return tell(Finding::cannot_wait(typestate, end.place, span, (at, since))),
            }
        }
        end.heads.dedup();
    }
    for row in &rows {
        for (n, head) in row {
            let Some(end) = ends.get(*n) else { return };
            // Of an end that holds nothing, or was reported, nothing is known.
            let known = is_known(typestate, s, end.place);
            if known && !end.heads.contains(head) {
                return tell(Finding::never_comes(typestate, end.place, span, *head, &end.heads));
            }
        }
    }
    let known = ends.iter().all(|end| is_known(typestate, s, end.place));
    if has_default || !known {
        return;
    }
    let named: Vec<EndStates> = ends.iter().filter_map(|end| end_states(typestate, s, end.place)).collect();
    let missing = typing::contracts::missing(&typestate.program.types, &named, &rows);
    if !missing.is_empty() {
        tell(Finding::missing(span, &missing));
    }
}

/// Whether something is known of an end: it holds one, and nothing was reported. Of a set, its
/// type says all.
fn is_known(typestate: &Typestate, s: &State, place: &Place) -> bool {
    typestate.set_at(place).is_some() || !typestate.states(s, place, Span::NONE).is_empty()
}

/// An end with the states that it may be in; a member of a set is in one.
fn end_states(typestate: &Typestate, s: &State, place: &Place) -> Option<EndStates> {
    if let Some(EndSet { end, .. }) = typestate.set_at(place) {
        let name = report::bare_name(typestate, place);
        return Some(EndStates {
            name,
            contract: end.contract,
            side: end.side,
            states: end.state.into_iter().collect(),
        });
    }
    let ty = typestate.end_at(place)?;
    let states = typestate.states(s, place, Span::NONE);
    let states = states.into_keys().filter_map(|at| match at {
        At::State(id) => Some(id),
        _ => None,
    });
    let name = report::bare_name(typestate, place);
    Some(EndStates { name, contract: ty.contract, side: ty.side, states: states.collect() })
}

/// What may stand at the head of an end's queue; none if it is not a state in which the end
/// receives.
fn heads_in(contract: &Contract, side: Side, at: At) -> Option<Vec<Head>> {
    let At::State(id) = at else { return None };
    let state = contract.state(id)?;
    (sender(contract, id)? == side.other()).then(|| state.alternatives.iter().map(|(m, _)| Head::Message(*m)).collect())
}
