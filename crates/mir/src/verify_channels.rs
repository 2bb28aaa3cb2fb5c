//! The verifier's part about channels: ends have the contract's types, and messages are sent in the
//! direction that the contract says. Which state an end is in is left to the typestate analysis.

use crate::ir::*;
use crate::ty::ValueTy;
use crate::verify::Verifier;
use typing::contracts::{ContractId, MessageId, Side, StateId};
use typing::types::{EndSet, Endpoint, Ty, TyKind};

/// `channel C:STATE (imp, exp);`
pub(crate) fn new(verifier: &mut Verifier, contract: ContractId, state: StateId, ends: [(&Place, Side); 2]) {
    let found = verifier.program.types.contract(contract);
    if found.is_none_or(|c| c.state(state).is_none()) {
        verifier.error(format!("there is no state {} of contract {}", state.0, contract.0));
    }
    for (place, side) in ends {
        if let Some(end) = end(verifier, place) {
            if end.contract != contract || end.side != side {
                verifier.error("an end of a new channel has another type");
            }
        }
    }
}

pub(crate) fn send(verifier: &mut Verifier, place: &Place, message: MessageId, args: &[Operand]) {
    let Some(end) = end(verifier, place) else { return };
    let Some(params) = params(verifier, end.contract, message, end.side) else { return };
    count(verifier, args.len(), params.len());
    for (arg, param) in args.iter().zip(params) {
        verifier.want_ty(arg, param);
    }
}

pub(crate) fn select(verifier: &mut Verifier, dest: &Place, cases: &[SelectCase]) {
    let int = verifier.program.types.common.int;
    verifier.store(dest, ValueTy::Known(int));
    for case in cases {
        match case {
            SelectCase::Heads(heads) => case_heads(verifier, heads),
            SelectCase::After(time) => verifier.want_int(time),
        }
    }
}

pub(crate) fn receive(verifier: &mut Verifier, place: &Place, head: Head, binds: &[Place]) {
    let params = match (end(verifier, place), head) {
        (None, _) => return,
        (Some(_), Head::Closed) => vec![],
        (Some(_), Head::Empty | Head::Any) => return verifier.error("such a head has no message"),
        (Some(end), Head::Message(message)) => {
            let Some(found) = params(verifier, end.contract, message, end.side.other()) else { return };
            found
        }
    };
    count(verifier, binds.len(), params.len());
    for (bind, param) in binds.iter().zip(params) {
        if bind.as_local().is_none() {
            verifier.error("an argument does not go to a whole local");
        }
        verifier.store(bind, ValueTy::Known(param));
    }
}

pub(crate) fn set_add(verifier: &mut Verifier, place: &Place, end: &Operand, value: Option<&Operand>) {
    let Some(kind) = set(verifier, place) else { return };
    let types = &verifier.program.types;
    let (member, wanted) = (types.find(&TyKind::Endpoint(kind.end)), types.map_value(&kind));
    if let Some(member) = member {
        verifier.want_ty(end, member);
    }
    count(verifier, usize::from(value.is_some()), usize::from(wanted.is_some()));
    if let (Some(value), Some(wanted)) = (value, wanted) {
        verifier.want_ty(value, wanted);
    }
}

pub(crate) fn set_take(verifier: &mut Verifier, place: &Place, head: Head, member: &Place, value: Option<&Place>) {
    let Some(kind) = set(verifier, place) else { return };
    if head == Head::Empty || member.as_local().is_none() {
        verifier.error("a member of a set does not go to a whole local");
    }
    if end(verifier, member).is_some_and(|e| e.contract != kind.end.contract || e.side != kind.end.side) {
        verifier.error("a member of a set has another type");
    }
    let wanted = verifier.program.types.map_value(&kind);
    count(verifier, usize::from(value.is_some()), usize::from(wanted.is_some()));
    if let (Some(value), Some(wanted)) = (value, wanted) {
        verifier.store(value, ValueTy::Known(wanted));
    }
}

/// What a `switch (state d)` says of an end, which is a variable.
pub(crate) fn states(verifier: &mut Verifier, operand: &Operand, states: &[StateId]) {
    let Some(place) = operand.place().filter(|place| place.as_local().is_some()) else {
        return verifier.error("the end whose state is asked for is no local");
    };
    let Some(end) = end(verifier, place) else { return };
    let contract = verifier.program.types.contract(end.contract);
    if contract.is_none_or(|c| states.iter().any(|state| c.state(*state).is_none())) {
        verifier.error("a case has a state that is not the contract's");
    }
}

fn case_heads(verifier: &mut Verifier, heads: &[(Place, Head)]) {
    for (n, (place, head)) in heads.iter().enumerate() {
        let ty = verifier.place(place);
        let kind = ty.and_then(|ty| verifier.program.types.as_end_set(ty));
        let end = match kind {
            Some(kind) => Some(kind.end),
            None if matches!(head, Head::Empty | Head::Any) => {
                verifier.error("such a head is asked of a set");
                continue;
            }
            None => end(verifier, place),
        };
        let Some(end) = end else { continue };
        if let Head::Message(message) = head {
            params(verifier, end.contract, *message, end.side.other());
        }
        if heads.iter().take(n).any(|(other, _)| other == place) {
            verifier.error("an end stands twice in a case");
        }
    }
    if heads.is_empty() {
        verifier.error("a case waits for nothing");
    }
}

/// The set at a place.
pub(crate) fn set(verifier: &mut Verifier, place: &Place) -> Option<EndSet> {
    let ty = verifier.place(place)?;
    let set = verifier.program.types.as_end_set(ty);
    if set.is_none() && *verifier.kind(ty) != TyKind::Error {
        let text = verifier.show(ty);
        verifier.error(format!("{text} is no set of endpoints"));
    }
    set
}

fn end(verifier: &mut Verifier, place: &Place) -> Option<Endpoint> {
    let ty = verifier.place(place)?;
    match verifier.kind(ty) {
        TyKind::Endpoint(end) => Some(*end),
        TyKind::Error => None,
        _ => {
            let text = verifier.show(ty);
            verifier.error(format!("{text} is no end of a channel"));
            None
        }
    }
}

/// The types of the arguments of a message that the side sends.
fn params(verifier: &mut Verifier, contract: ContractId, message: MessageId, sender: Side) -> Option<Vec<Ty>> {
    let program = verifier.program;
    let Some(found) = program.types.contract(contract).and_then(|c| c.message(message)) else {
        verifier.error(format!("there is no message {} of contract {}", message.0, contract.0));
        return None;
    };
    if found.direction.sender() != sender {
        verifier.error(format!("message {} goes the other way", message.0));
    }
    Some(found.params.iter().map(|(_, ty, _)| *ty).collect())
}

fn count(verifier: &mut Verifier, given: usize, wanted: usize) {
    if given != wanted {
        verifier.error(format!("{given} arguments, expected {wanted}"));
    }
}
