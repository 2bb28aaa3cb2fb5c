//! Channels: the table of each contract that a unit makes channels of, and the calls that send,
//! wait and receive.
//!
//! The arguments of a message lie in a struct (`Message::layout`), whose drop function says what
//! they own: what is never received is released by it.

use crate::body::{effect_of, Emitter};
use crate::ctype::{suffixes, Consts};
use crate::drops::Ends;
use crate::pending::Effect;
use crate::unit::Unit;
use mir::ir::*;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use typing::contracts::{ContractId, Message, MessageId};
use typing::types::*;

/// The contracts of a unit.
#[derive(Default)]
pub struct Channels {
    names: FxHashMap<ContractId, String>,
    definitions: String,
    /// Whether something of lee/channel.h is used.
    pub used: bool,
}

impl Channels {
    /// The tables, which come after the descriptors of what is owned.
    pub fn text(&self) -> &str {
        &self.definitions
    }
}

impl Emitter<'_, '_> {
    fn message(&self, end: &Place, message: MessageId) -> Option<Message> {
        let types = self.unit.types;
        let qty = mir::ty::place_ty(self.unit.program, self.body, end).ok()?;
        types.contract(types.as_endpoint(qty.ty)?.contract)?.message(message).cloned()
    }

    fn end_text(&mut self, end: &Place) -> String {
        self.unit.channels.used = true;
        self.value(&Operand::Copy(end.clone())).text
    }

    /// `channel C (imp, exp);`
    pub fn channel_new(&mut self, contract: ContractId, imp: &Place, exp: &Place) {
        self.unit.channels.used = true;
        let (table, site) = (self.unit.contract_table(contract), self.unit.site(self.span));
        let ends = self.scratch.claim("ends");
        let mut line = format!("{{ struct lee_endpoint *{ends}[2]; lee_channel_make({site}, &{table}, {ends});");
        for (n, place) in [imp, exp].into_iter().enumerate() {
            let loc = self.place(place, false);
            let _ = write!(line, " {} = {ends}[{n}];", self.lvalue(&loc));
            self.settle(effect_of(place, self.body));
        }
        line.push_str(" }");
        self.push(&line);
    }

    /// `send end.M(args);`
    pub fn send(&mut self, end: &Place, message: MessageId, args: &[Operand]) {
        let Some(message) = self.message(end, message) else { return };
        let params = message.params.iter().map(|(_, ty, _)| ParamTy::new(*ty)).collect();
        let signature = FuncTy::new(self.unit.types.common.void, params, Abi::Leeward);
        let (words, _) = self.arguments(args, Some(&signature), Consts::Drop);
        let (end, number) = (self.end_text(end), message.number);
        self.settle(Effect { memory: true, local: None });
        let text = match message.layout.and_then(|id| self.unit.record_text(id)).filter(|_| !words.is_empty()) {
            Some(record) => {
                let words = words.join(", ");
                format!("lee_channel_send({end}, {number}, &({record}){{ {words} }}, sizeof({record}));")
            }
            None => format!("lee_channel_send({end}, {number}, NULL, 0);"),
        };
        self.push(&text);
    }

    /// `switch receive`: the number of the case that can be taken.
    pub fn select(&mut self, dest: &Place, cases: &[SelectCase], has_default: bool) {
        let (mut ends, mut texts): (Vec<&Place>, Vec<String>) = (vec![], vec![]);
        let mut after = None;
        for case in cases {
            match case {
                SelectCase::Heads(heads) => {
                    for (end, _) in heads {
                        if !ends.contains(&end) {
                            texts.push(self.end_text(end));
                            ends.push(end);
                        }
                    }
                }
                SelectCase::After(time) => after = Some(self.value(time).text),
            }
        }
        self.unit.channels.used = true;
        let mut patterns = vec![];
        let mut rows = 0;
        for case in cases {
            let SelectCase::Heads(heads) = case else { continue };
            rows += 1;
            for end in &ends {
                let head = heads.iter().find(|(place, _)| place == *end);
                patterns.push(match head {
                    None => "LEE_EMPTY".to_string(),
                    Some((_, Head::Closed)) => "LEE_CLOSED".to_string(),
                    Some((end, Head::Message(message))) => {
                        self.message(end, *message).map_or(0, |message| message.number).to_string()
                    }
                });
            }
        }
        let (site, count) = (self.unit.site(self.span), ends.len());
        let (ends, patterns) = match count {
            0 => ("NULL".to_string(), "NULL".to_string()),
            _ => (
                format!("(struct lee_endpoint *const[]){{ {} }}", texts.join(", ")),
                format!("(const int32_t[]){{ {} }}", patterns.join(", ")),
            ),
        };
        let rest = format!("{site}, {ends}, {count}, {patterns}, {rows}, {has_default}");
        let text = match after {
            Some(time) => format!("lee_channel_select_for({rest}, {time})"),
            None => format!("lee_channel_select({rest})"),
        };
        let loc = self.place(dest, false);
        let dest_text = self.lvalue(&loc);
        let local = dest.as_local().map(|l| l.0);
        self.settle(Effect { memory: true, local });
        self.push(&format!("{dest_text} = {text};"));
    }

    /// Takes a message, whose arguments go to the locals. Of a closed end nothing is taken.
    pub fn receive(&mut self, end: &Place, head: Head, binds: &[Place], waits: bool) {
        let Head::Message(message) = head else { return };
        let Some(message) = self.message(end, message) else { return };
        let (end, number) = (self.end_text(end), message.number);
        let site = self.unit.site(self.span);
        let record = message.layout.and_then(|id| Some((id, self.unit.record_text(id)?)));
        let mut stores = String::new();
        let held = self.scratch.claim("message");
        if let Some((id, _)) = &record {
            let names = self.unit.c.field_names(*id);
            for ((bind, name), (_, ty, _)) in binds.iter().zip(names.iter()).zip(&message.params) {
                let loc = self.place(bind, false);
                let words = suffixes(self.unit.types.words(*ty));
                let from = [""].iter().chain(words).map(|suffix| format!("{held}.{name}{suffix}"));
                // What owns its target has no variable for its lower bound.
                let at_start = loc.simple.is_some_and(|l| self.stands_at_start(l));
                for (n, (to, from)) in self.word_texts(&loc).into_iter().zip(from).enumerate() {
                    if !(at_start && n == 1) {
                        let _ = write!(stores, " {to} = {from};");
                    }
                }
            }
        }
        self.settle(Effect { memory: true, local: None });
        for bind in binds {
            self.settle(effect_of(bind, self.body));
        }
        let (into, bytes) = match &record {
            Some(_) => (format!("&{held}"), format!("sizeof {held}")),
            None => ("NULL".into(), "0".into()),
        };
        let call = match waits {
            true => format!("lee_channel_receive({site}, {end}, {number}, {into}, {bytes});"),
            false => format!("lee_channel_take({end}, {number}, {into}, {bytes});"),
        };
        match record {
            Some((_, record)) => self.push(&format!("{{ {record} {held}; {call}{stores} }}")),
            None => self.push(&call),
        }
    }
}

impl Unit<'_> {
    /// `struct X` of the arguments of a message.
    fn record_text(&mut self, id: RecordId) -> Option<String> {
        let ty = self.types.find(&TyKind::Record(id))?;
        self.c.need(ty);
        Some(self.c.object(Qty::plain(ty), "", Consts::Drop).trim_end().to_string())
    }

    /// What the runtime knows of a contract.
    fn contract_table(&mut self, id: ContractId) -> String {
        if let Some(name) = self.channels.names.get(&id) {
            return name.clone();
        }
        let name = format!("lee__contract_{}", self.channels.names.len());
        self.channels.names.insert(id, name.clone());
        let Some(contract) = self.types.contract(id).cloned() else { return name };
        let (mut titles, mut owned, mut sizes) = (vec![], vec![], vec!["0".to_string()]);
        for message in &contract.messages {
            titles.push(format!("\"{}\"", message.name));
            let record = message.layout.and_then(|id| Some((id, self.record_text(id)?)));
            let mut how = "NULL".to_string();
            if let Some((id, text)) = record {
                sizes.push(format!("sizeof({text})"));
                let ty = self.types.find(&TyKind::Record(id));
                if let Some(ty) = ty.filter(|&ty| self.types.owns(ty) && self.owns_something(ty, Ends::Heap)) {
                    how = self.parts(ty, Ends::Heap);
                }
            }
            owned.push(how);
        }
        let [to_importer, to_exporter] = contract.places;
        let count = contract.messages.len();
        let out = &mut self.channels.definitions;
        let (mut title_table, mut owned_table) = ("NULL".to_string(), "NULL".to_string());
        if count > 0 {
            title_table = format!("{name}_titles");
            let _ = writeln!(out, "static const char *const {title_table}[] = {{ {} }};", titles.join(", "));
        }
        if owned.iter().any(|how| how != "NULL") {
            owned_table = format!("{name}_owned");
            let _ = writeln!(out, "static const struct lee_owned *const {owned_table}[] = {{ {} }};", owned.join(", "));
        }
        // The largest of the sizes, whatever the C compiler makes of them.
        let _ = writeln!(out, "union {name}_bytes {{ {} }};", bytes_union(&sizes));
        let _ = writeln!(
            out,
            "static const struct lee_contract {name} = {{ \"{}\", {{ {to_importer}, {to_exporter} }}, sizeof(union {name}_bytes), {count}, \
             {title_table}, {owned_table}, {} }};",
            contract.name, contract.local
        );
        name
    }
}

/// Members of a union that is as large as the largest of the sizes.
fn bytes_union(sizes: &[String]) -> String {
    let members = sizes.iter().skip(1).enumerate().map(|(n, size)| format!("char m{n}[{size}]; "));
    let text: String = members.collect();
    if text.is_empty() {
        "char none; ".into()
    } else {
        text
    }
}
