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
    /// The tables of kinds of sets.
    sets: FxHashMap<EndSet, String>,
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
        let end = types.as_endpoint(qty.ty).or_else(|| types.as_end_set(qty.ty).map(|set| set.end))?;
        types.contract(end.contract)?.message(message).cloned()
    }

    fn set_at(&self, place: &Place) -> Option<EndSet> {
        let qty = mir::ty::place_ty(self.unit.program, self.body, place).ok()?;
        self.unit.types.as_end_set(qty.ty)
    }

    /// What a pattern wants at the head of an end or of a member of a set.
    fn head_text(&self, place: &Place, head: Head) -> String {
        match head {
            Head::Closed => "LEE_CLOSED".to_string(),
            Head::Empty => "LEE_NO_MEMBER".to_string(),
            Head::Any => "LEE_ANY_MEMBER".to_string(),
            Head::Message(message) => self.message(place, message).map_or(0, |message| message.number).to_string(),
        }
    }

    /// `(B.exp:S)a`: the channel was made with this contract, or one that extends it.
    pub fn check_contract(&mut self, end: &Operand, ty: Ty) {
        let Some(want) = self.unit.types.as_endpoint(ty) else { return };
        self.unit.channels.used = true;
        let (table, site) = (self.unit.contract_table(want.contract), self.unit.site(self.span));
        let end = self.value(end).text;
        self.settle(Effect { memory: true, local: None });
        self.push(&format!("lee_channel_want({site}, {end}, &{table});"));
    }

    /// `eset<E> s;`
    pub fn set_new(&mut self, place: &Place) {
        let Some(set) = self.set_at(place) else { return };
        self.unit.channels.used = true;
        let (kind, site) = (self.unit.set_kind(set), self.unit.site(self.span));
        let loc = self.place(place, false);
        self.settle(effect_of(place, self.body));
        let to = self.lvalue(&loc);
        self.push(&format!("{to} = lee_set_make({site}, &{kind});"));
    }

    /// `eset_add(s, d);`, `emap_add(m, d, v);`
    pub fn set_add(&mut self, place: &Place, end: &Operand, value: Option<&Operand>) {
        let Some(set) = self.set_at(place) else { return };
        let site = self.unit.site(self.span);
        let end = self.value(end).text;
        let ty = self.unit.types.map_value(&set);
        let words = match (value, ty) {
            (Some(value), Some(ty)) => {
                let params = vec![ParamTy::new(ty)];
                let signature = FuncTy::new(self.unit.types.common.void, params, Abi::Leeward);
                self.arguments(std::slice::from_ref(value), Some(&signature), Consts::Drop).0.join(", ")
            }
            _ => String::new(),
        };
        let to = self.end_text(place);
        self.settle(Effect { memory: true, local: None });
        let value = match set.value.and_then(|id| self.unit.record_text(id)) {
            Some(record) => format!("&({record}){{ {words} }}"),
            None => "NULL".to_string(),
        };
        self.push(&format!("lee_set_add({site}, {to}, {end}, {value});"));
    }

    /// Takes a member out, and of a map its value.
    pub fn set_take(&mut self, place: &Place, head: Head, end: &Place, value: Option<&Place>) {
        let Some(set) = self.set_at(place) else { return };
        let (site, head) = (self.unit.site(self.span), self.head_text(place, head));
        let from = self.end_text(place);
        let loc = self.place(end, false);
        let to = self.lvalue(&loc);
        let held = self.scratch.claim("value");
        let record = set.value.and_then(|id| Some((id, self.unit.record_text(id)?)));
        let mut stores = String::new();
        if let (Some((id, _)), Some(value), Some(ty)) = (&record, value, self.unit.types.map_value(&set)) {
            let names = self.unit.c.field_names(*id);
            let name = names.first().cloned().unwrap_or_default();
            stores = self.word_stores(value, ty, &format!("{held}.{name}"));
        }
        self.settle(Effect { memory: true, local: None });
        for place in std::iter::once(end).chain(value) {
            self.settle(effect_of(place, self.body));
        }
        match record {
            Some((_, record)) => {
                self.push(&format!(
                    "{{ {record} {held}; {to} = lee_set_take({site}, {from}, {head}, &{held});{stores} }}"
                ));
            }
            None => self.push(&format!("{to} = lee_set_take({site}, {from}, {head}, NULL);")),
        }
    }

    /// Stores each word of a value of the type, which is in members that begin with `from`.
    fn word_stores(&mut self, to: &Place, ty: Ty, from: &str) -> String {
        let loc = self.place(to, false);
        let words = suffixes(self.unit.types.words(ty));
        let from = [""].iter().chain(words).map(|suffix| format!("{from}{suffix}"));
        let mut stores = String::new();
        for (n, (to, from)) in self.word_texts(&loc).into_iter().zip(from).enumerate() {
            if loc.simple.is_none_or(|l| self.has_word(l, n)) {
                let _ = write!(stores, " {to} = {from};");
            }
        }
        stores
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
        // Ends are numbered first, then sets.
        let (mut ends, mut texts): (Vec<&Place>, Vec<String>) = (vec![], vec![]);
        let (mut sets, mut set_texts): (Vec<&Place>, Vec<String>) = (vec![], vec![]);
        let mut after = None;
        for case in cases {
            match case {
                SelectCase::Heads(heads) => {
                    for (end, _) in heads {
                        let (places, texts) = match self.set_at(end) {
                            Some(_) => (&mut sets, &mut set_texts),
                            None => (&mut ends, &mut texts),
                        };
                        if !places.contains(&end) {
                            texts.push(self.end_text(end));
                            places.push(end);
                        }
                    }
                }
                SelectCase::After(time) => after = Some(self.value(time).text),
            }
        }
        self.unit.channels.used = true;
        let mut wanted = vec![];
        let mut rows = 0;
        for case in cases {
            let SelectCase::Heads(heads) = case else { continue };
            rows += 1;
            let mut and = "";
            for (number, end) in ends.iter().chain(&sets).enumerate() {
                let Some((_, head)) = heads.iter().find(|(place, _)| place == *end) else { continue };
                wanted.push(format!("{{ {}, {number}{and} }}", self.head_text(end, *head)));
                and = " | LEE_AND";
            }
        }
        let array = |ty: &str, texts: &[String]| match texts.is_empty() {
            true => "NULL".to_string(),
            false => format!("({ty}[]){{ {} }}", texts.join(", ")),
        };
        // The table has one address, by which the runtime knows the statement.
        let table = match wanted.is_empty() {
            true => format!("static const struct lee_cases lee__cases = {{ NULL, 0, {rows}, {has_default} }};"),
            false => format!(
                "static const struct lee_wanted lee__wanted[] = {{ {} }}; \
                 static const struct lee_cases lee__cases = {{ lee__wanted, {}, {rows}, {has_default} }};",
                wanted.join(", "),
                wanted.len()
            ),
        };
        let site = self.unit.site(self.span);
        let mut rest = format!("{site}, {}, {}", array("struct lee_endpoint *const", &texts), ends.len());
        if !sets.is_empty() {
            let _ = write!(rest, ", {}, {}", array("struct lee_set *const", &set_texts), sets.len());
        }
        rest.push_str(", &lee__cases");
        let word = if sets.is_empty() { "channel" } else { "set" };
        let text = match after {
            Some(time) => format!("lee_{word}_select_for({rest}, {time})"),
            None => format!("lee_{word}_select({rest})"),
        };
        let loc = self.place(dest, false);
        let dest_text = self.lvalue(&loc);
        let local = dest.as_local().map(|l| l.0);
        self.settle(Effect { memory: true, local });
        self.push(&format!("{{ {table} {dest_text} = {text}; }}"));
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
                stores.push_str(&self.word_stores(bind, *ty, &format!("{held}.{name}")));
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

    /// What the runtime knows of a kind of set.
    fn set_kind(&mut self, set: EndSet) -> String {
        if let Some(name) = self.channels.sets.get(&set) {
            return name.clone();
        }
        let name = format!("lee__set_{}", self.channels.sets.len());
        self.channels.sets.insert(set, name.clone());
        let contract = self.contract_table(set.end.contract);
        let (mut bytes, mut owned, mut scanned) = ("0".to_string(), "NULL".to_string(), false);
        if let Some((id, record)) = set.value.and_then(|id| Some((id, self.record_text(id)?))) {
            bytes = format!("sizeof({record})");
            if let Some(ty) = self.types.find(&TyKind::Record(id)) {
                scanned = self.types.has_pointers(ty);
                if self.types.owns(ty) && self.owns_something(ty, Ends::Heap) {
                    owned = self.parts(ty, Ends::Heap);
                }
            }
        }
        let _ = writeln!(
            self.channels.definitions,
            "static const struct lee_set_kind {name} = {{ &{contract}, {bytes}, {owned}, {scanned} }};"
        );
        name
    }

    /// What the runtime knows of a contract.
    fn contract_table(&mut self, id: ContractId) -> String {
        if let Some(name) = self.channels.names.get(&id) {
            return name.clone();
        }
        let name = format!("lee__contract_{}", self.channels.names.len());
        self.channels.names.insert(id, name.clone());
        let Some(contract) = self.types.contract(id).cloned() else { return name };
        let base = contract.extends.map_or("NULL".to_string(), |base| format!("&{}", self.contract_table(base)));
        let digest = crate::digest::contract_digest(self.types, id);
        let (mut titles, mut owned, mut sizes) = (vec![], vec![], vec!["0".to_string()]);
        for message in &contract.messages {
            titles.push(format!("\"{}\"", message.name));
            let record = message.layout.and_then(|id| Some((id, self.record_text(id)?)));
            let mut how = "NULL".to_string();
            if let Some((id, text)) = record {
                sizes.push(format!("sizeof({text})"));
                let ty = self.types.find(&TyKind::Record(id));
                let named = ty.filter(|&ty| !contract.local && self.types.names_others(ty));
                if let Some(ty) = named {
                    let of_message = format!("{name}_{}", message.number);
                    if let Some((text, owned)) = self.parts_sent(&text, &of_message, &[(ty, "(*it)".to_string())]) {
                        self.channels.definitions.push_str(&text);
                        how = owned;
                    }
                } else if let Some(ty) = ty.filter(|&ty| self.types.owns(ty) && self.owns_something(ty, Ends::Heap)) {
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
             {title_table}, {owned_table}, {}, {base}, {digest:#x}u }};",
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
