//! Statements about channels: `channel`, `send`, `receive`, `switch receive`.
//!
//! Names, sides, numbers and types of arguments are checked here. Which state an endpoint is in
//! depends on the path: `flow` says whether a message may be sent or received there, and which
//! cases are missing.

use crate::checker::Checker;
use crate::codes;
use crate::contracts::*;
use crate::convert::Why;
use crate::function::{LoopKind, SwitchState};
use crate::scope::Entity;
use crate::switches::block_completes;
use crate::tree::*;
use crate::types::*;
use source::{with_article, Diagnostic, Span};
use syntax::ast;

impl Checker<'_> {
    /// `channel C:STATE (c, d);`
    pub(crate) fn channel_stmt(
        &mut self,
        contract: ast::Ident,
        state: Option<ast::Ident>,
        importer: ast::Ident,
        exporter: ast::Ident,
    ) -> StmtKind {
        let Some(&id) = self.contract_ids.get(&contract.name) else {
            let text = format!("`{}` is not a contract", contract.name);
            let help = format!("declare it, `contract {} {{ ... }}`, or include the header that does", contract.name);
            self.error_help(codes::UNKNOWN_NAME, contract.span, text, help);
            self.poison(Some(importer));
            self.poison(Some(exporter));
            return StmtKind::Empty;
        };
        let start = self.program.types.contract(id).map_or(StateId(0), |c| c.start);
        let state = state.and_then(|name| self.contract_state(id, name)).unwrap_or(start);
        self.channel_states.push((id, state));
        let imp = self.new_end(importer, Endpoint { contract: id, side: Side::Imp, state: None });
        let exp = self.new_end(exporter, Endpoint { contract: id, side: Side::Exp, state: None });
        StmtKind::Channel { contract: id, state, imp, exp }
    }

    fn new_end(&mut self, name: ast::Ident, end: Endpoint) -> LocalId {
        let ty = self.types().intern(TyKind::Endpoint(end));
        self.bind(name, ty)
    }

    /// Declares a local of the statement at hand.
    pub(crate) fn bind(&mut self, name: ast::Ident, ty: Ty) -> LocalId {
        self.check_redeclared(name);
        let local = self.new_local(Some(name.name), Qty::plain(ty), name.span, false);
        self.scopes.declare(name.name, Entity::Local(local), name.span);
        if let Some(f) = &mut self.f {
            // A pattern names all arguments, wanted or not; an endpoint that nobody uses is lost,
            // which is reported elsewhere.
            f.used.insert(local);
        }
        local
    }

    /// The place of an endpoint. None if it is none, which is reported.
    fn end_place(&mut self, e: &ast::Expr, what: &str) -> Option<(Expr, Endpoint)> {
        let place = self.expr(e);
        if self.is_error(place.ty.ty) {
            return None;
        }
        if self.program.types.as_end_set(place.ty.ty).is_some() {
            self.error_help(
                codes::CHANNEL,
                e.span,
                format!("{what} goes over one endpoint, and this is a set of them"),
                "take the member out that has a message: `switch receive { case (d in s).M(x): ... }`",
            );
            return None;
        }
        let Some(end) = self.program.types.as_endpoint(place.ty.ty) else {
            let text = self.show(place.ty.ty);
            self.error_help(
                codes::CHANNEL,
                e.span,
                format!("{what} goes over an endpoint of a channel, and this is {}", with_article(&text)),
                "an endpoint is declared by `channel C (c, d);`, or is a parameter `C.exp:STATE d`",
            );
            return None;
        };
        if !place.is_place() || place.ty.quals.is_const {
            let text =
                format!("{what} changes the state of its endpoint: it is a variable or a field that is not `const`");
            self.error_help(codes::CHANNEL, e.span, text, "keep the endpoint in a variable");
            return None;
        }
        if self.checked() && (self.guarded_place(&place) || self.unguarded_union(&place).is_some()) {
            return None;
        }
        Some((place, end))
    }

    /// The message of this name, which the side sends (or receives). None if it is not that, which
    /// is reported.
    fn message_of(&mut self, end: Endpoint, name: ast::Ident, sends: bool) -> Option<(MessageId, Message)> {
        let contract = self.program.types.contract(end.contract)?;
        let sender = if sends { end.side } else { end.side.other() };
        let Some(id) = contract.find_message(name.name) else {
            let fits = contract.messages.iter().filter(|m| m.direction.sender() == sender);
            let names: Vec<String> = fits.map(|m| format!("`{}`", m.name)).collect();
            let text = format!("the contract `{}` has no message `{}`", contract.name, name.name);
            let verb = if sends { "sends" } else { "receives" };
            let help = match names.is_empty() {
                true => format!("the {} {verb} nothing", end.side.title()),
                false => format!("the {} {verb} {}", end.side.title(), names.join(", ")),
            };
            self.error_help(codes::CHANNEL, name.span, text, help);
            return None;
        };
        let message = contract.message(id)?.clone();
        if message.direction.sender() != sender {
            let (side, sent) = (end.side.title(), message.direction.sender().title());
            let text = match sends {
                true => format!("direction: `{}` is sent by the {sent}, and this is the {side}'s end", name.name),
                false => format!("direction: `{}` is sent by the {sent}, and this end is its own", name.name),
            };
            let help = match sends {
                true => format!("receive it here, or declare it as an `{}` message", opposite(message.direction)),
                false => format!("send it here: `send d.{}(...);`", name.name),
            };
            let report = Diagnostic::error(codes::CHANNEL, name.span, text).label(message.span, "declared here");
            self.report(report.help(help));
            return None;
        }
        Some((id, message))
    }

    /// `send d.M(args);`
    pub(crate) fn send_stmt(&mut self, e: &ast::Expr, name: ast::Ident, args: &[ast::Expr], span: Span) -> StmtKind {
        let found = self.end_place(e, "a send");
        let found = found.and_then(|(place, end)| Some((place, self.message_of(end, name, true)?)));
        let Some((place, (id, message))) = found else {
            for arg in args {
                self.value(arg);
            }
            return StmtKind::Empty;
        };
        let params = message.params.iter().map(|&(_, ty, _)| {
            let consume = self.program.types.owns(ty);
            ParamTy { consume, ..ParamTy::new(ty) }
        });
        let fty = FuncTy::new(self.program.types.common.void, params.collect(), Abi::Leeward);
        let values = self.arguments(&fty, args, Why::Store, span, Some(name.name));
        if values.len() != fty.params.len() {
            return StmtKind::Empty;
        }
        let args: Vec<Expr> = values.into_iter().map(|(value, _)| value).collect();
        for arg in &args {
            let moved = match &*arg.kind {
                ExprKind::Move(moved) => moved,
                _ => continue,
            };
            if same_place(moved, &place) {
                self.error_help(
                    codes::CHANNEL,
                    arg.span,
                    "an endpoint is not sent on itself: nobody could receive it",
                    "send it over another channel",
                );
                return StmtKind::Empty;
            }
        }
        StmtKind::Send { end: place, message: id, args }
    }

    /// `receive d.M(x);`
    pub(crate) fn receive_stmt(&mut self, pattern: &ast::Pattern) -> StmtKind {
        let ast::PatternSource::Endpoint(e) = &pattern.source else { return StmtKind::Empty };
        let found = self.end_place(e, "a receive");
        if matches!(pattern.message.name.as_str(), "closed" | "empty" | "any") && found.is_some() {
            self.error_help(
                codes::CHANNEL,
                pattern.message.span,
                format!("`{}` is no message: only `switch receive` waits for it", pattern.message.name),
                "write `switch receive { case d.M(x): ... case d.closed(): ... }`",
            );
            return StmtKind::Empty;
        }
        let found = found.and_then(|(place, end)| Some((place, self.message_of(end, pattern.message, false)?)));
        let binds = found.as_ref().and_then(|(_, (_, message))| self.bind_arguments(pattern, message));
        match (found, binds) {
            (Some((end, (message, _))), Some(binds)) => StmtKind::Receive { end, message, binds },
            _ => {
                pattern.names.iter().for_each(|name| self.poison(Some(*name)));
                StmtKind::Empty
            }
        }
    }

    /// A local for each argument. None if there are more or fewer names, which is reported.
    fn bind_arguments(&mut self, pattern: &ast::Pattern, message: &Message) -> Option<Vec<LocalId>> {
        if pattern.names.len() != message.params.len() {
            let count = message.params.len();
            let names: Vec<String> = message.params.iter().map(|(name, ..)| name.to_string()).collect();
            self.error_help(
                codes::ARGUMENTS,
                pattern.span,
                format!(
                    "`{}` carries {count} argument{}, and {} {} named",
                    message.name,
                    if count == 1 { "" } else { "s" },
                    pattern.names.len(),
                    if pattern.names.len() == 1 { "is" } else { "are" }
                ),
                format!("name each: `{}({})`", message.name, names.join(", ")),
            );
            return None;
        }
        Some(pattern.names.iter().zip(&message.params).map(|(&name, &(_, ty, _))| self.bind(name, ty)).collect())
    }

    /// `switch receive { ... }`
    pub(crate) fn select_stmt(&mut self, head: Span, list: &[ast::ReceiveCase]) -> StmtKind {
        let mut cases: Vec<ReceiveCase> = vec![];
        let (mut default, mut default_at, mut after_at): (Option<Block>, Option<Span>, Option<Span>) =
            (None, None, None);
        let mut complete = true;
        self.push_loop(LoopKind::Switch);
        for case in list {
            self.scopes.push();
            self.open_block();
            let barriers = self.f.as_ref().map_or(0, |f| f.barriers.len());
            let on = match &case.label {
                ast::ReceiveLabel::Messages(patterns) => self.conjuncts(patterns).map(ReceiveOn::Messages),
                ast::ReceiveLabel::After(time) => {
                    self.only_once(&mut after_at, case.span, "after");
                    let time = self.value(time);
                    let int = self.program.types.common.int;
                    Some(ReceiveOn::After(self.coerce(time, int, Why::Store)))
                }
                ast::ReceiveLabel::Default => None,
            };
            let body = self.block_stmts(&case.body);
            if let Some(f) = &mut self.f {
                f.barriers.truncate(barriers);
            }
            self.close_block();
            self.scopes.pop();
            if !matches!(&case.label, ast::ReceiveLabel::Messages(patterns) if patterns.is_empty()) {
                self.check_clause_ends(case, &body);
            }
            match (&case.label, on) {
                (ast::ReceiveLabel::Default, _) => {
                    self.only_once(&mut default_at, case.span, "default");
                    default = Some(body);
                }
                (_, Some(on)) => {
                    self.check_repeated(&on, &cases, case.span);
                    cases.push(ReceiveCase { span: case.span, on, body });
                }
                _ => complete = false,
            }
        }
        self.pop_loop();
        let waits = cases.iter().any(|case| matches!(case.on, ReceiveOn::Messages(_)));
        if !waits && complete {
            self.error_help(
                codes::CHANNEL,
                head,
                "`switch receive` waits for a message, and no case names one",
                "write `case d.M(x):` with an endpoint and one of its messages",
            );
        }
        StmtKind::Select { head, cases, default }
    }

    fn only_once(&mut self, place: &mut Option<Span>, span: Span, word: &str) {
        if let Some(old) = place.replace(span) {
            let report = Diagnostic::error(codes::CASE, span, format!("`{word}` is repeated"));
            self.report(report.label(old, "it stands here already"));
        }
    }

    /// `switch (state d) { case RUNNING: ... }`
    pub(crate) fn state_switch(&mut self, end: &ast::Expr, body: &ast::Stmt) -> StmtKind {
        let barriers = self.f.as_ref().map(|f| f.barriers.clone()).unwrap_or_default();
        let place = self.expr(end);
        let contract = self.program.types.as_endpoint(place.ty.ty).map(|end| end.contract);
        if contract.is_none() && !self.is_error(place.ty.ty) {
            let text = with_article(&self.show(place.ty.ty));
            self.error_help(
                codes::CHANNEL,
                end.span,
                format!("`switch (state d)` asks for the state of an endpoint, and this is {text}"),
                "an endpoint is declared by `channel C (c, d);`, or is a parameter `C.exp:STATE d`",
            );
        } else if contract.is_some() && !matches!(&*place.kind, ExprKind::Local(_)) {
            self.error_help(
                codes::CHANNEL,
                end.span,
                "only the state of a variable changes: here it is the one that the type names",
                "take the endpoint into a variable, or leave the switch out",
            );
            return StmtKind::Empty;
        }
        // Without a contract no case is known; an endpoint of one that was refused has none either.
        let states = Some(contract.unwrap_or(ContractId(u32::MAX)));
        let state = SwitchState { states, barriers, ..SwitchState::default() };
        let body = self.switch_body(state, body).0;
        if contract.is_none() {
            return StmtKind::Empty;
        }
        StmtKind::SwitchEnd(place, body)
    }

    /// The number of the state that a case of `switch (state d)` names.
    pub(crate) fn case_state(&mut self, id: ContractId, low: &ast::Expr, high: Option<&ast::Expr>) -> Option<i128> {
        self.program.types.contract(id)?;
        let ast::ExprKind::Ident(name) = &low.kind else {
            self.error_help(
                codes::CASE,
                low.span,
                "this switch is over the state of an endpoint: its cases are names of states",
                "write `case STATE:`",
            );
            return None;
        };
        if let Some(high) = high {
            self.error_help(codes::CASE, high.span, "states have no ranges", "write a case for each state");
        }
        let name = ast::Ident { name: *name, span: low.span };
        self.contract_state(id, name).map(|state| i128::from(state.0))
    }

    /// A case ends in a jump.
    fn check_clause_ends(&mut self, case: &ast::ReceiveCase, body: &Block) {
        let broken = body.stmts.iter().any(|s| matches!(s.kind, StmtKind::Empty));
        if !broken && block_completes(&self.program.types, body) {
            self.error_help(
                codes::CASE,
                case.span,
                "this case of `switch receive` runs off its end, and there is no fall-through",
                "end it with `break;`, `return`, `continue` or `goto`",
            );
        }
    }

    fn conjuncts(&mut self, patterns: &[ast::Pattern]) -> Option<Vec<Conjunct>> {
        let mut list: Vec<Conjunct> = vec![];
        // Without a pattern it was reported as it was read.
        let mut complete = !patterns.is_empty();
        for pattern in patterns {
            let conjunct = self.conjunct(pattern);
            let Some(conjunct) = conjunct else {
                complete = false;
                pattern.names.iter().for_each(|name| self.poison(Some(*name)));
                continue;
            };
            let is_set = |c: &Conjunct| self.program.types.as_end_set(c.end.ty.ty).is_some();
            if let Some(other) = list.iter().find(|other| is_set(other) && is_set(&conjunct)) {
                let report = Diagnostic::error(codes::CHANNEL, conjunct.span, "a case asks one set of endpoints");
                self.report(
                    report.label(other.span, "the other one").help("receive from the second in a statement of its own"),
                );
                complete = false;
            }
            if let Some(other) = list.iter().find(|other| same_place(&other.end, &conjunct.end)) {
                let report = Diagnostic::error(
                    codes::CHANNEL,
                    conjunct.span,
                    "two messages of one endpoint are not at the head of its queue together",
                );
                self.report(
                    report.label(other.span, "the other one").help("receive the second in a statement of its own"),
                );
                complete = false;
            }
            list.push(conjunct);
        }
        complete.then_some(list)
    }

    fn conjunct(&mut self, pattern: &ast::Pattern) -> Option<Conjunct> {
        let e = match &pattern.source {
            ast::PatternSource::Endpoint(e) => e,
            ast::PatternSource::Member(name, value, set) => {
                let found = self.member_conjunct(pattern, *name, *value, set);
                if found.is_none() {
                    self.poison(Some(*name));
                    self.poison(*value);
                }
                return found;
            }
        };
        let word = pattern.message.name;
        if word.as_str() == "empty" {
            let place = self.set_place(e, "`empty()` is asked of a set of endpoints")?.0;
            self.no_arguments(pattern)?;
            return Some(Conjunct { end: place, member: None, head: Head::Empty, binds: vec![], span: pattern.span });
        }
        let (place, end) = self.end_place(e, "a receive")?;
        let (head, binds) = self.wanted_head(pattern, end)?;
        Some(Conjunct { end: place, member: None, head, binds, span: pattern.span })
    }

    /// What a pattern wants at the head of an end, with a local for each argument.
    pub(crate) fn wanted_head(&mut self, pattern: &ast::Pattern, end: Endpoint) -> Option<(Head, Vec<LocalId>)> {
        if pattern.message.name.as_str() == "closed" {
            self.no_arguments(pattern)?;
            return Some((Head::Closed, vec![]));
        }
        let (id, message) = self.message_of(end, pattern.message, false)?;
        Some((Head::Message(id), self.bind_arguments(pattern, &message)?))
    }

    /// None if the pattern names arguments, which is reported.
    pub(crate) fn no_arguments(&mut self, pattern: &ast::Pattern) -> Option<()> {
        let Some(name) = pattern.names.first() else { return Some(()) };
        let word = pattern.message.name;
        let text = format!("`{word}()` carries nothing");
        self.error_help(codes::ARGUMENTS, name.span, text, format!("write `{word}():`"));
        None
    }

    /// A case whose conjuncts an earlier one wants too is never taken.
    fn check_repeated(&mut self, on: &ReceiveOn, before: &[ReceiveCase], span: Span) {
        let ReceiveOn::Messages(list) = on else { return };
        let covers = |case: &&ReceiveCase| match &case.on {
            ReceiveOn::Messages(old) => old.iter().all(|o| {
                list.iter().any(|c| covers_head(o.head, c.head) && same_place(&c.end, &o.end) && is_steady(&o.end))
            }),
            ReceiveOn::After(_) => false,
        };
        if let Some(old) = before.iter().find(covers) {
            let report = Diagnostic::error(codes::CASE, span, "this case is never taken: one before it wants no more");
            self.report(report.label(old.span, "taken first").help("leave it out, or put it first"));
        }
    }
}

fn opposite(direction: Direction) -> &'static str {
    match direction {
        Direction::Out => "in",
        Direction::In => "out",
    }
}

/// Whether a case that wants `before` is taken wherever one that wants `head` could be.
fn covers_head(before: Head, head: Head) -> bool {
    before == head || before == Head::Any && head != Head::Empty
}

/// Whether two places are written alike: surely one place, if nothing in them changes.
fn same_place(a: &Expr, b: &Expr) -> bool {
    match (&*a.kind, &*b.kind) {
        (ExprKind::Local(x), ExprKind::Local(y)) => x == y,
        (ExprKind::Global(x), ExprKind::Global(y)) => x == y,
        (ExprKind::Int(x), ExprKind::Int(y)) => x == y,
        (ExprKind::Field(x, m), ExprKind::Field(y, n)) => m == n && same_place(x, y),
        (ExprKind::Deref(x), ExprKind::Deref(y)) | (ExprKind::Load(x), ExprKind::Load(y)) => same_place(x, y),
        (ExprKind::Convert(c, x), ExprKind::Convert(d, y)) => c == d && same_place(x, y),
        (ExprKind::IndexArray(x, i), ExprKind::IndexArray(y, j))
        | (ExprKind::IndexPointer(x, i), ExprKind::IndexPointer(y, j)) => same_place(x, y) && same_place(i, j),
        _ => false,
    }
}

/// Whether a place is the same each time it is computed in one statement.
fn is_steady(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Local(_) | ExprKind::Global(_) => true,
        ExprKind::Field(base, _) => is_steady(base),
        _ => false,
    }
}
