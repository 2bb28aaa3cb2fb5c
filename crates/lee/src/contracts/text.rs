//! A contract as text.

use super::titles;
use std::fmt::Write;
use typing::contracts::{Contract, ContractId, Side};
use typing::TypeStore;

/// Messages, then states with what can happen in each.
pub fn write(types: &TypeStore, id: ContractId, contract: &Contract) -> String {
    let mut out = String::new();
    let local = if contract.local { "local " } else { "" };
    let base = contract.extends.and_then(|id| types.contract(id)).map(|c| format!(" extends {}", c.name));
    let _ = writeln!(out, "{local}contract {}{}", contract.name, base.unwrap_or_default());
    let [importer, exporter] = contract.places;
    let _ = writeln!(out, "at most {} to the importer, {} to the exporter", messages(importer), messages(exporter));
    if !contract.local {
        let _ = writeln!(out, "digest 0x{:016x}", typing::digest::contract_digest(types, id));
    }
    let _ = writeln!(out, "\nmessages");
    for message in &contract.messages {
        let params: Vec<String> = message
            .params
            .iter()
            .map(|(name, ty, _)| types.show_declaration(typing::Qty::plain(*ty), name.as_str()))
            .collect();
        let _ = writeln!(out, "  {:3} {}({})", message.direction.word(), message.name, params.join(", "));
    }
    let titles = titles(contract);
    let _ = writeln!(out, "\nstates");
    for (number, (state, title)) in contract.states.iter().zip(&titles).enumerate() {
        let start = if contract.start.0 as usize == number { ", where a channel begins" } else { "" };
        let sender = match state.sender {
            Some(Side::Exp) => "the exporter sends",
            Some(Side::Imp) => "the importer sends",
            None => "the conversation is over",
        };
        let _ = writeln!(out, "  {title}: {sender}{start}");
        let width = state.alternatives.iter().map(|(m, _)| contract.message_text(*m).len()).max().unwrap_or(0);
        for (message, to) in &state.alternatives {
            let to = titles.get(to.0 as usize).map_or("?", String::as_str);
            let _ = writeln!(out, "    {:width$} -> {to}", contract.message_text(*message));
        }
    }
    out
}

fn messages(count: u32) -> String {
    if count == 1 {
        "1 message is on its way".to_string()
    } else {
        format!("{count} messages are on their way")
    }
}
