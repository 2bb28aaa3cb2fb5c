//! The verifier's part about channels: ends have the contract's types, and messages are sent in the
//! direction that the contract says. Which state an end is in is left to the typestate analysis.

use crate::ir::*;
use crate::ty::ValueTy;
use crate::verify::Verifier;
use typing::contracts::{ContractId, MessageId, Side};
use typing::types::{Endpoint, Ty, TyKind};

pub(crate) fn stmt(verifier: &mut Verifier, kind: &StmtKind) {
    match kind {
        StmtKind::ChannelNew { contract, state, imp, exp } => {
            let found = verifier.program.types.contract(*contract);
            if found.is_none_or(|c| c.state(*state).is_none()) {
                verifier.error(format!("there is no state {} of contract {}", state.0, contract.0));
            }
            for (place, side) in [(imp, Side::Imp), (exp, Side::Exp)] {
                if let Some(end) = end(verifier, place) {
                    if end.contract != *contract || end.side != side {
                        verifier.error("an end of a new channel has another type");
                    }
                }
            }
        }
        StmtKind::Send { end: place, message, args } => {
            let Some(end) = end(verifier, place) else { return };
            let Some(params) = params(verifier, end.contract, *message, end.side) else { return };
            count(verifier, args.len(), params.len());
            for (arg, param) in args.iter().zip(params) {
                verifier.want_ty(arg, param);
            }
        }
        StmtKind::Select { dest, cases, .. } => {
            let int = verifier.program.types.common.int;
            verifier.store(dest, ValueTy::Known(int));
            for case in cases {
                match case {
                    SelectCase::Heads(heads) => case_heads(verifier, heads),
                    SelectCase::After(time) => verifier.want_int(time),
                }
            }
        }
        StmtKind::Receive { end: place, head, binds, .. } => {
            let params = match (end(verifier, place), head) {
                (None, _) => return,
                (Some(_), Head::Closed) => vec![],
                (Some(end), Head::Message(message)) => {
                    let Some(found) = params(verifier, end.contract, *message, end.side.other()) else { return };
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
        _ => {}
    }
}

fn case_heads(verifier: &mut Verifier, heads: &[(Place, Head)]) {
    for (n, (place, head)) in heads.iter().enumerate() {
        let Some(end) = end(verifier, place) else { continue };
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
