//! Declarations of contracts: names, types of arguments, and the types of endpoints.
//!
//! All contracts of a unit get their states and messages before anything else is checked, since
//! they mention one another. The types of a message's arguments are read where the contract stands,
//! when the structs before it are known.

use crate::checker::Checker;
use crate::codes;
use crate::contracts::*;
use crate::machine;
use crate::specs::{Place, Role};
use crate::tree::Expr;
use crate::types::*;
use source::{with_article, Diagnostic, Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// Enters the contracts of the unit.
    pub(crate) fn declare_contracts(&mut self, unit: &ast::Unit) {
        for item in &unit.items {
            let ast::ItemKind::Contract(def) = &item.kind else { continue };
            if let Some(old) = self.contract_named(def.name.name) {
                let there = self.program.types.contract(old).map_or(Span::NONE, |c| c.span);
                let text = format!("the contract `{}` is declared twice", def.name.name);
                self.report(
                    Diagnostic::error(codes::CONFLICT, def.name.span, text).label(there, "declared here already"),
                );
                continue;
            }
            let base_id = def.extends.and_then(|name| self.base_contract(name, def.local));
            let base = base_id.and_then(|id| self.program.types.contract(id).map(|c| (id, c)));
            let expanded = machine::expand(def, base);
            let id = ContractId(self.program.types.contracts.len() as u32);
            self.program.types.contracts.push(expanded.contract);
            self.contract_ids.insert(def.name.name, id);
            let lost = def.extends.is_some() && base_id.is_none();
            if lost || !expanded.reports.is_empty() {
                self.broken_contracts.push(id);
            }
            // Without the contract that it extends, much of this one is not known.
            for report in expanded.reports.into_iter().filter(|_| !lost) {
                self.report(report);
            }
        }
    }

    fn contract_named(&self, name: Symbol) -> Option<ContractId> {
        self.contract_ids.get(&name).copied()
    }

    fn base_contract(&mut self, name: ast::Ident, local: bool) -> Option<ContractId> {
        let Some(id) = self.contract_named(name.name) else {
            let text = format!("`{}` is not a contract that is declared before this one", name.name);
            self.error_help(codes::CONTRACT, name.span, text, "declare the contract that is extended first");
            return None;
        };
        let base = self.program.types.contract(id)?;
        if base.local != local {
            let (text, help) = match local {
                true => ("a local contract extends local ones only", "leave `local` out"),
                false => ("what extends a local contract is local too", "write `local contract`"),
            };
            self.error_help(codes::CONTRACT, name.span, text, help);
            return None;
        }
        Some(id)
    }

    /// A contract where it stands: its messages get their arguments.
    pub(crate) fn contract_item(&mut self, def: &ast::ContractDef) {
        let Some(id) = self.contract_named(def.name.name) else { return };
        // A second declaration of the name was reported.
        if self.program.types.contract(id).is_none_or(|c| c.span != def.name.span) {
            return;
        }
        if let Some((entity, span)) = self.scopes.lookup_file(def.name.name) {
            let _ = entity;
            let text = format!("`{}` is declared as something else already", def.name.name);
            let report = Diagnostic::error(codes::CONFLICT, def.name.span, text).label(*span, "declared here");
            self.report(report);
        }
        self.inherit_arguments(id);
        for message in &def.messages {
            let contract = self.program.types.contract(id);
            let found = contract.and_then(|c| c.messages.iter().position(|m| m.span == message.name.span));
            let Some(number) = found else { continue };
            let params = self.message_params(def, message);
            let layout = self.message_layout(def, message.name, &params);
            let slot = self.program.types.contracts.get_mut(id.0 as usize).and_then(|c| c.messages.get_mut(number));
            if let Some(slot) = slot {
                (slot.params, slot.layout) = (params, layout);
            }
        }
        self.contracts_passed.insert(id);
    }

    /// `contract_digest(C)`: a constant, so all that goes into it stands before.
    pub(crate) fn contract_digest(&mut self, args: &[ast::Expr], span: Span) -> Expr {
        let name = match args {
            [ast::Expr { kind: ast::ExprKind::Ident(name), .. }] => *name,
            _ => {
                self.error(codes::CONTRACT, span, "`contract_digest` wants the name of a contract");
                return self.error_node(span);
            }
        };
        let Some(id) = self.contract_named(name) else {
            let help = format!("declare it, `contract {name} {{ ... }}`, or include the header that does");
            self.error_help(
                codes::UNKNOWN_NAME,
                span,
                format!("the contract `{name}` is not declared in this file"),
                help,
            );
            return self.error_node(span);
        };
        if self.program.types.contract(id).is_some_and(|c| c.local) {
            self.error_help(
                codes::CONTRACT,
                span,
                format!("the local contract `{name}` has no digest"),
                "its two ends never leave a process, so there is nothing to compare",
            );
            return self.error_node(span);
        }
        let (digest, contracts) = crate::digest::contract_digest_with(&self.program.types, id);
        let later = contracts.iter().find(|id| !self.contracts_passed.contains(id));
        if let Some(later) = later.and_then(|id| self.program.types.contract(*id)) {
            let text = format!("the digest of `{name}` is not known before the contract `{}`", later.name);
            self.error_help(codes::CONTRACT, span, text, "move this below the contract");
            return self.error_node(span);
        }
        let ty = self.program.types.common.ulong;
        self.int_node(i128::from(digest), ty, span)
    }

    /// The messages of the contract that is extended are the same.
    fn inherit_arguments(&mut self, id: ContractId) {
        let base = self.program.types.contract(id).and_then(|c| c.extends);
        let base = base.and_then(|base| self.program.types.contract(base));
        let Some(inherited) = base.map(|c| c.messages.clone()) else { return };
        let Some(contract) = self.program.types.contracts.get_mut(id.0 as usize) else { return };
        for (slot, message) in contract.messages.iter_mut().zip(inherited) {
            *slot = message;
        }
    }

    fn message_params(&mut self, def: &ast::ContractDef, message: &ast::MessageDef) -> Vec<(Symbol, Ty, Span)> {
        if message.params.variadic {
            self.error_help(
                codes::CONTRACT,
                message.params.span,
                "a message has as many arguments as it declares",
                "send a vector: `T *fat @exchange items`",
            );
        }
        let place = Place { role: Role::Field, foreign: false, trusted: false };
        let mut params: Vec<(Symbol, Ty, Span)> = vec![];
        for (number, param) in message.params.params.iter().enumerate() {
            let base = self.base_type(&param.specs, place);
            let mut ty = self.declare_type(base, &param.declarator, place).ty.ty;
            let span = param.declarator.name.map_or(param.span, |n| n.span);
            if let Some(word) = param.consume {
                let text = "what a message carries goes with it";
                self.error_help(codes::CONTRACT, word, text, "leave `consume` out");
            }
            if self.message_argument_fails(def, ty, span) {
                ty = self.program.types.common.error;
            }
            let name = param.declarator.name.map_or(Symbol::new(&format!("argument{}", number + 1)), |n| n.name);
            if let Some((_, _, there)) = params.iter().find(|(n, ..)| *n == name) {
                let text = format!("two arguments of this message are named `{name}`");
                self.report(Diagnostic::error(codes::CONFLICT, span, text).label(*there, "the other one"));
            }
            params.push((name, ty, span));
        }
        params
    }

    /// Whether values of the type cannot be an argument of a message, which is reported.
    fn message_argument_fails(&mut self, def: &ast::ContractDef, ty: Ty, span: Span) -> bool {
        if self.is_error(ty) {
            return true;
        }
        let text = self.show(ty);
        let counted = matches!(self.program.types.as_pointer(ty), Some(Pointer { bounds: Bounds::Counted(_), .. }));
        if matches!(self.kind(ty), TyKind::Array { .. }) || counted {
            self.error_help(
                codes::CONTRACT,
                span,
                format!("an argument of a message is not {}", with_article(&text)),
                "put the array into a struct, or send a block that carries its bounds: `T *fat @exchange`",
            );
            return true;
        }
        if !self.program.types.is_complete(ty) {
            self.error(codes::INCOMPLETE, span, format!("an argument cannot have the incomplete type `{text}`"));
            return true;
        }
        if self.missing_state(ty, span) {
            return true;
        }
        if def.local {
            return self.local_argument_fails(ty, &text, span) || self.carries_wrong_end(ty, span);
        }
        if let Some(part) = self.program.types.not_exchangeable(ty) {
            let part_text = self.show(part);
            let mut message = format!("an argument of a message is exchangeable, and `{text}` is not");
            if part != ty {
                message += &format!(": it holds {}", with_article(&part_text));
            }
            let unknown = self.program.types.as_record(part).map(|id| self.program.types.record(id));
            let unknown = unknown.is_some_and(|record| record.fields.is_none());
            if unknown && part != ty {
                message = format!("`{text}` cannot be an argument of a message: `{part_text}` is not declared yet");
            }
            let help = match self.kind(part) {
                TyKind::Ptr(_) if self.program.types.names_others(part) => {
                    "put it into the message itself: in a block, or in a union without a tag, nothing finds it on its way".to_string()
                }
                TyKind::Record(_) if unknown => "declare it, with its fields, before the contract".to_string(),
                TyKind::Ptr(_) => "send a block of the exchange heap: `T *@exchange p`, `T *fat @exchange items`".to_string(),
                TyKind::Endpoint(_) => {
                    "endpoints of a local contract stay in their process: declare this contract `local`, too, or that one without `local`"
                        .to_string()
                }
                TyKind::EndSet(_) => "send the endpoints one by one, each in a state in which its new holder sends".to_string(),
                TyKind::Key(..) => "send the key of an exchange arena: `exchange_key<@d>`".to_string(),
                _ => "send numbers, structs of them, blocks of the exchange heap or endpoints".to_string(),
            };
            self.error_help(codes::CONTRACT, span, message, help);
            return true;
        }
        self.carries_wrong_end(ty, span)
    }

    /// A message of a local contract stays in its process, but outlives what sends it.
    fn local_argument_fails(&mut self, ty: Ty, text: &str, span: Span) -> bool {
        let stays = |r: Region| !matches!(r, Region::Heap | Region::Exchange);
        let odd = matches!(self.kind(ty), TyKind::Handle(..) | TyKind::VaList | TyKind::Void | TyKind::Func(_));
        let seen = self.program.types.as_pointer(ty).is_some_and(|p| matches!(p.own, Own::View | Own::Any));
        let holds_set = self.program.types.holds_end_set(ty);
        if !odd && !seen && !holds_set && !self.program.types.mentions_region(ty, &stays) {
            return false;
        }
        self.error_help(
            codes::CONTRACT,
            span,
            format!("a message of a local contract carries what lives in the heap, and `{text}` does not"),
            "send a number, or a pointer into the heap",
        );
        true
    }

    /// An endpoint in a message is in a state in which its new holder sends: then nothing is on its
    /// way to it while it changes hands.
    fn carries_wrong_end(&mut self, ty: Ty, span: Span) -> bool {
        let mut carried = vec![];
        self.carried_ends(ty, &mut carried, &mut vec![]);
        for end in carried {
            let Some(contract) = self.program.types.contract(end.contract) else { continue };
            let Some(state) = end.state.and_then(|id| contract.state(id)) else { continue };
            if state.sender == Some(end.side) {
                continue;
            }
            let fits = contract.states.iter().filter(|s| s.sender == Some(end.side));
            let names: Vec<String> = fits.filter_map(|s| s.name).map(|n| format!("`{n}`")).collect();
            let name = state.name.map_or(String::new(), |n| n.to_string());
            let text = match state.sender {
                None => format!("an endpoint in state `{name}` is not sent: the conversation is over, and its holder closes it"),
                Some(_) => format!(
                    "an endpoint in a message is in a state in which its new holder sends next, and in `{name}` the {} sends: a message could be on its way while the endpoint changes hands",
                    end.side.other().title()
                ),
            };
            let help = match names.is_empty() {
                true => format!("send the other end, `{}.{}`", contract.name, end.side.other().word()),
                false => format!("name a state in which the {} sends: {}", end.side.title(), names.join(", ")),
            };
            self.error_help(codes::CONTRACT, span, text, help);
            return true;
        }
        false
    }

    fn carried_ends(&self, ty: Ty, out: &mut Vec<Endpoint>, seen: &mut Vec<RecordId>) {
        match self.kind(ty) {
            TyKind::Endpoint(end) => out.push(*end),
            TyKind::Ptr(p) => self.carried_ends(p.target.ty, out, seen),
            TyKind::Array { elem, .. } => self.carried_ends(elem.ty, out, seen),
            TyKind::Record(id) if !seen.contains(id) => {
                seen.push(*id);
                let fields = self.program.types.record(*id).fields.clone();
                for field in fields.iter().flat_map(|f| f.iter()) {
                    self.carried_ends(field.ty.ty, out, seen);
                }
            }
            _ => {}
        }
    }

    /// The struct that a message's arguments are laid out as.
    fn message_layout(
        &mut self,
        def: &ast::ContractDef,
        message: ast::Ident,
        params: &[(Symbol, Ty, Span)],
    ) -> Option<RecordId> {
        if params.is_empty() {
            return None;
        }
        let tag = format!("lee_message_{}_{}", def.name.name, message.name);
        Some(self.layout_record(&tag, params, message.span))
    }

    /// `C.exp:STATE` as a type.
    pub(crate) fn endpoint_type(&mut self, spec: &ast::EndpointSpec, place: Place) -> Ty {
        let error = self.program.types.common.error;
        let Some(id) = self.contract_named(spec.contract.name) else {
            let text = format!("the contract `{}` is not declared in this file", spec.contract.name);
            let help =
                format!("declare it, `contract {} {{ ... }}`, or include the header that does", spec.contract.name);
            self.error_help(codes::UNKNOWN_NAME, spec.contract.span, text, help);
            return error;
        };
        if let Some(becomes) = spec.becomes.filter(|_| place.role != Role::Param) {
            self.error_help(
                codes::CONTRACT,
                becomes.span,
                "only a parameter says which state its endpoint comes back in",
                "leave `->` and the second state out",
            );
        }
        let state = match spec.state {
            Some(name) => match self.contract_state(id, name) {
                Some(state) => Some(state),
                None => return error,
            },
            None => None,
        };
        let side = if spec.exporter { Side::Exp } else { Side::Imp };
        self.types().intern(TyKind::Endpoint(Endpoint { contract: id, side, state }))
    }

    /// `C.exp:FROM -> TO` of a parameter: the state that it comes back in.
    pub(crate) fn becoming(&mut self, param: &ast::Param, ty: Ty) -> Option<StateId> {
        let ast::TypeSpec::Endpoint(spec) = &param.specs.ty else { return None };
        let becomes = spec.becomes?;
        let Some(end) = self.program.types.as_endpoint(ty) else {
            if !self.is_error(ty) {
                self.error_help(
                    codes::CONTRACT,
                    becomes.span,
                    "only a parameter that is an endpoint says which state it comes back in",
                    "leave `->` and the second state out",
                );
            }
            return None;
        };
        if let Some(word) = param.consume {
            let text = "an endpoint that is consumed does not come back in another state";
            self.error_help(codes::CONTRACT, word, text, "leave `consume` or the second state out");
        }
        self.contract_state(end.contract, becomes)
    }

    /// The state of this name, which a type or a `channel` names.
    pub(crate) fn contract_state(&mut self, id: ContractId, name: ast::Ident) -> Option<StateId> {
        let contract = self.program.types.contract(id)?;
        if let Some(state) = contract.find_state(name.name) {
            return Some(state);
        }
        let names: Vec<String> = contract.states.iter().filter_map(|s| s.name).map(|n| format!("`{n}`")).collect();
        let text = format!("the contract `{}` has no state `{}`", contract.name, name.name);
        self.error_help(codes::CONTRACT, name.span, text, format!("its states are {}", names.join(", ")));
        None
    }

    /// Whether an endpoint in the type has no state, which is reported: where it crosses a
    /// function, field or message, it says one.
    pub(crate) fn missing_state(&mut self, ty: Ty, span: Span) -> bool {
        let end = match self.kind(ty) {
            TyKind::Endpoint(end) => *end,
            TyKind::Ptr(p) => return self.missing_state(p.target.ty, span),
            TyKind::Array { elem, .. } => return self.missing_state(elem.ty, span),
            _ => return false,
        };
        if end.state.is_some() {
            return false;
        }
        let text = self.show(ty);
        let start = self.program.types.contract(end.contract).map_or(String::new(), |c| c.state_text(c.start));
        self.error_help(
            codes::CONTRACT,
            span,
            format!("state: `{text}` says its state here; only that of a local variable is inferred"),
            format!("write `{text}:{start}`, or another of its states"),
        );
        true
    }

    /// Whether a variable of static storage would hold an endpoint, which is reported.
    pub(crate) fn static_end(&mut self, ty: Ty, span: Span) -> bool {
        let mut ends = vec![];
        if self.program.types.owns(ty) {
            self.held_ends(ty, &mut ends, 0);
        }
        if ends.is_empty() {
            return false;
        }
        self.error_help(
            codes::CONTRACT,
            span,
            "an endpoint does not lie in a global or static variable: its state would depend on who used it last",
            "keep it in a local variable, and pass it to the functions that use it",
        );
        true
    }

    /// Endpoints that a value of the type holds by itself, not behind pointers.
    fn held_ends(&self, ty: Ty, out: &mut Vec<Endpoint>, depth: u32) {
        match self.kind(ty) {
            _ if depth > 100 => {}
            TyKind::Endpoint(end) | TyKind::EndSet(EndSet { end, .. }) => out.push(*end),
            TyKind::Array { elem, .. } => self.held_ends(elem.ty, out, depth + 1),
            TyKind::Record(id) => {
                let fields = self.program.types.record(*id).fields.clone();
                fields.iter().flat_map(|f| f.iter()).for_each(|f| self.held_ends(f.ty.ty, out, depth + 1));
            }
            _ => {}
        }
    }

    /// At the end of the unit: states that no channel comes into. A header's states may be those
    /// that other files begin channels in.
    pub(crate) fn check_reachable(&mut self) {
        for at in 0..self.program.types.contracts.len() {
            let id = ContractId(at as u32);
            let Some(contract) = self.program.types.contract(id) else { continue };
            if self.broken_contracts.contains(&id) {
                continue;
            }
            if self.map.is_system(contract.span.lo) || self.map.file_at(contract.span.lo).ends_with(".lh") {
                continue;
            }
            let mut unreached = machine::unreachable_states(contract);
            // What can be reached from a state that a channel begins in.
            for state in self.channel_states.iter().filter(|(c, _)| *c == id).map(|(_, s)| *s) {
                let from = Contract { start: state, ..contract.clone() };
                let reached = machine::unreachable_states(&from);
                unreached.retain(|s| reached.contains(s));
            }
            let inherited = contract.extends.and_then(|b| self.program.types.contract(b)).map_or(0, |b| b.states.len());
            let name = contract.name;
            let found: Vec<(String, Span)> = unreached
                .iter()
                .filter(|s| s.0 as usize >= inherited)
                .filter_map(|s| contract.state(*s).map(|state| (contract.state_text(*s), state.span)))
                .collect();
            for (state, span) in found {
                self.error_help(
                    codes::CONTRACT,
                    span,
                    format!("the state `{state}` is never reached"),
                    format!("lead to it, `-> {state}`, begin a channel in it, `channel {name}:{state} (c, d);`, or leave it out"),
                );
            }
        }
    }
}
