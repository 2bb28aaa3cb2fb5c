//! Sets and maps of endpoints: `eset<E>`, `emap<E, V>`, what is added to them, and what a case of
//! `switch receive` takes out.

use crate::checker::Checker;
use crate::codes;
use crate::contracts::*;
use crate::convert::Why;
use crate::specs::{Place, Role};
use crate::tree::*;
use crate::types::*;
use source::{with_article, Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// `eset<C.exp:STATE>`, `emap<C.exp:STATE, V>`
    pub(crate) fn end_set_type(&mut self, word: ast::Ident, args: &[ast::GenericArg]) -> Ty {
        let error = self.program.types.common.error;
        let is_map = word.name.as_str() == "emap";
        let place = Place { role: Role::Field, foreign: false, trusted: false };
        let types: Vec<Ty> = args
            .iter()
            .filter_map(|arg| match arg {
                ast::GenericArg::Type(name) => Some(self.argument_type(name, place)),
                _ => None,
            })
            .collect();
        let (end, value) = match (types.as_slice(), is_map) {
            ([end], false) if args.len() == 1 => (*end, None),
            ([end, value], true) if args.len() == 2 => (*end, Some(*value)),
            _ => {
                let (text, help) = match is_map {
                    true => {
                        ("a map of endpoints has two types: of an endpoint, and of a value", "emap<C.exp:STATE, V>")
                    }
                    false => ("a set of endpoints has one type, of an endpoint", "eset<C.exp:STATE>"),
                };
                self.error_help(codes::CONTRACT, word.span, text, format!("write `{help}`"));
                return error;
            }
        };
        if self.is_error(end) || value.is_some_and(|value| self.is_error(value)) {
            return error;
        }
        let Some(end) = self.set_member_type(end, word.span) else { return error };
        let value = match value {
            Some(value) if self.value_fails(value, word.span) => return error,
            Some(value) => Some(self.map_value_record(value, word.span)),
            None => None,
        };
        self.types().intern(TyKind::EndSet(EndSet { end, value }))
    }

    /// The members of a set are in a state in which they receive. None if not, which is reported.
    fn set_member_type(&mut self, ty: Ty, span: Span) -> Option<Endpoint> {
        let text = self.show(ty);
        let Some(end) = self.program.types.as_endpoint(ty) else {
            let text = format!("the members of a set are endpoints, and this is {}", with_article(&text));
            self.error_help(codes::CONTRACT, span, text, "write `C.exp:STATE`");
            return None;
        };
        let contract = self.program.types.contract(end.contract)?;
        let receives = |s: &State| s.sender == Some(end.side.other());
        if end.state.and_then(|id| contract.state(id)).is_some_and(receives) {
            return Some(end);
        }
        let fits: Vec<String> =
            contract.states.iter().filter(|s| receives(s)).filter_map(|s| s.name).map(|n| format!("`{n}`")).collect();
        let help = match fits.is_empty() {
            true => format!("the {} never receives first: keep its endpoints in variables", end.side.title()),
            false => format!("name a state in which the {} receives: {}", end.side.title(), fits.join(", ")),
        };
        let text = format!("a set waits for messages to its members, and nothing is received in `{text}`");
        self.error_help(codes::CONTRACT, span, text, help);
        None
    }

    /// A map may hold what a message of a local contract may carry.
    fn value_fails(&mut self, ty: Ty, span: Span) -> bool {
        let types = &self.program.types;
        let stays = |r: Region| !matches!(r, Region::Heap | Region::Exchange);
        let odd = matches!(
            types.kind(ty),
            TyKind::Handle(..)
                | TyKind::VaList
                | TyKind::Void
                | TyKind::Func(_)
                | TyKind::Array { .. }
                | TyKind::EndSet(_)
        );
        let seen = types.as_pointer(ty).is_some_and(|p| matches!(p.own, Own::View | Own::Any) || p.raw);
        let fits = types.is_complete(ty) && !types.mentions_param(ty);
        if fits && !odd && !seen && !types.mentions_region(ty, &stays) {
            return false;
        }
        let text = self.show(ty);
        self.error_help(
            codes::CONTRACT,
            span,
            format!("a map of endpoints holds what lasts as long as it, and `{text}` does not"),
            "use a number, a struct, or a pointer into the heap or the exchange heap",
        );
        true
    }

    /// The struct that the value of a map is laid out as.
    fn map_value_record(&mut self, ty: Ty, span: Span) -> RecordId {
        if let Some(id) = self.program.types.map_values.get(&ty) {
            return *id;
        }
        let tag = format!("lee_map_value_{}", self.program.types.records.len());
        let id = self.layout_record(&tag, &[(Symbol::new("value"), ty, span)], span);
        self.types().map_values.insert(ty, id);
        id
    }

    /// The place of a set. None if it is none, which is reported.
    pub(crate) fn set_place(&mut self, e: &ast::Expr, what: &str) -> Option<(Expr, EndSet)> {
        let place = self.expr(e);
        if self.is_error(place.ty.ty) {
            return None;
        }
        let Some(set) = self.program.types.as_end_set(place.ty.ty) else {
            let text = self.show(place.ty.ty);
            let text = format!("{what}, and this is {}", with_article(&text));
            self.error_help(codes::CHANNEL, e.span, text, "declare one: `eset<C.exp:STATE> s;`");
            return None;
        };
        if !place.is_place() || place.ty.quals.is_const {
            let text = format!("{what}, and this is no variable or field of one that changes");
            self.error_help(codes::CHANNEL, e.span, text, "keep the set in a variable that is not `const`");
            return None;
        }
        if self.checked() && (self.guarded_place(&place) || self.unguarded_union(&place).is_some()) {
            return None;
        }
        Some((place, set))
    }

    /// `eset_add(s, d);` and `emap_add(m, d, v);` as statements. None if it is neither.
    pub(crate) fn set_statement(&mut self, e: &ast::Expr) -> Option<StmtKind> {
        let ast::ExprKind::Call { callee, args, .. } = &e.kind else { return None };
        let ast::ExprKind::Ident(name) = callee.kind else { return None };
        let is_map = match name.as_str() {
            "eset_add" => false,
            "emap_add" => true,
            _ => return None,
        };
        if self.scopes.lookup(name).is_some() || self.f.as_ref().is_none_or(|f| f.unchecked) {
            return None;
        }
        let Some((first, rest)) = args.split_first() else {
            let help = if is_map { "emap_add(m, d, value);" } else { "eset_add(s, d);" };
            let text = format!("`{name}` takes a set and an endpoint");
            self.error_help(codes::ARGUMENTS, e.span, text, format!("write `{help}`"));
            return Some(StmtKind::Empty);
        };
        let found = self.set_place(first, &format!("`{name}` adds to a set of endpoints"));
        let found = found.filter(|(_, set)| {
            let fits = set.value.is_some() == is_map;
            if !fits {
                let (word, other) = if is_map { ("a set", "eset_add(s, d);") } else { ("a map", "emap_add(m, d, v);") };
                let text = format!("this is {word} of endpoints");
                self.error_help(codes::CHANNEL, first.span, text, format!("write `{other}`"));
            }
            fits
        });
        let Some((set, kind)) = found else {
            rest.iter().for_each(|arg| drop(self.value(arg)));
            return Some(StmtKind::Empty);
        };
        let end = self.types().intern(TyKind::Endpoint(kind.end));
        let wanted = [Some(end), self.program.types.map_value(&kind)];
        let params = wanted.into_iter().flatten().map(|ty| {
            let consume = self.program.types.owns(ty);
            ParamTy { consume, ..ParamTy::new(ty) }
        });
        let fty = FuncTy::new(self.program.types.common.void, params.collect(), Abi::Leeward);
        let values = self.arguments(&fty, rest, Why::Store, e.span, Some(name));
        if values.len() != fty.params.len() {
            return Some(StmtKind::Empty);
        }
        let mut values = values.into_iter().map(|(value, _)| value);
        let end = values.next()?;
        Some(StmtKind::SetAdd { set, end, value: values.next() })
    }

    /// `(d in s).M(x)`, `(d, v in m).M(x)` in a case.
    pub(crate) fn member_conjunct(
        &mut self,
        pattern: &ast::Pattern,
        name: ast::Ident,
        value: Option<ast::Ident>,
        set: &ast::Expr,
    ) -> Option<Conjunct> {
        let (place, set) = self.set_place(set, "a case takes a member out of a set of endpoints")?;
        let map_value = self.program.types.map_value(&set);
        if map_value.is_some() != value.is_some() {
            let (text, help) = match map_value {
                Some(_) => ("a map has a value for each endpoint, which is named too", "(d, v in m)"),
                None => ("a set has no values for its endpoints", "(d in s)"),
            };
            self.error_help(codes::CHANNEL, pattern.span, text, format!("write `{help}`"));
            return None;
        }
        let (head, binds) = match pattern.message.name.as_str() {
            "empty" => {
                let text = "a set that is empty has no member to be named";
                self.error_help(codes::CHANNEL, pattern.span, text, "write `case s.empty():`");
                return None;
            }
            "any" => {
                self.no_arguments(pattern)?;
                (Head::Any, vec![])
            }
            _ => self.wanted_head(pattern, set.end)?,
        };
        let member = self.types().intern(TyKind::Endpoint(Endpoint { state: None, ..set.end }));
        let member = self.bind(name, member);
        let value = value.zip(map_value).map(|(name, ty)| self.bind(name, ty));
        Some(Conjunct { end: place, member: Some((member, value)), head, binds, span: pattern.span })
    }
}
