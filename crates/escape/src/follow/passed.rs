//! What calls do with the object, or with a variable that has it: by the tables of libraries, by
//! summaries of functions, and by what is known of pointers to functions.

use super::*;
use crate::known::{is_builtin_only, known, Use};
use crate::privacy::is_never_written;
use crate::summary::{Param, Touched};

/// What a call returns, if the object has to do with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// This.
    Is(Value),
    /// This, or something that is not the object.
    MayBe(Value),
}

/// A pointer to a function.
enum Called {
    /// This function.
    Function(typing::tree::FuncRef),
    /// What arrives in this parameter.
    Param(u32),
    /// One of these.
    Table(Vec<typing::tree::FuncRef>),
}

/// A call to which the object is passed.
#[derive(Clone, Copy)]
pub(super) struct Passed<'a> {
    pub(super) at: Point,
    pub(super) callee: &'a Callee,
    pub(super) name: &'a str,
    pub(super) entry: Option<Entry>,
    pub(super) args: &'a [Operand],
}

impl Follow<'_> {
    /// The object is argument `n` of a call. Gives what the call returns, if that is the object.
    pub(super) fn passed(
        &self,
        out: &mut Situation,
        call: &Passed,
        (n, value): (usize, Option<Value>),
        span: Span,
        sink: Sink,
    ) -> Option<Given> {
        let name = call.name;
        let at_start = value == Some(Value::At(0));
        let was_text = std::mem::replace(&mut out.text, Text::Unknown);
        let has_text = if at_start { was_text.clone() } else { Text::Unknown };
        let mut escapes = |rule: Rule, why: String| {
            if rule.holds() {
                sink(Event::new(Kind::Escapes, &why, span));
            }
        };
        if let Some(entry) = call.entry {
            // `strdup(p)` reads.
            let reads = matches!(entry.role, Role::Duplicate { text } if text as usize == n);
            out.text = if reads { was_text } else { Text::Unknown };
            sink(if reads { Event::new(Kind::Text(has_text), "", span) } else { Event::open(span) });
            return None;
        }
        if let Callee::Pointer(operand) = call.callee {
            match self.called(call.at, operand) {
                Some(Called::Function(func)) => {
                    let name = crate::program::symbol(self.cx.program, &func).unwrap_or_default();
                    let callee = Callee::Direct(func);
                    out.text = was_text;
                    return self.passed(out, &Passed { callee: &callee, name: &name, ..*call }, (n, value), span, sink);
                }
                Some(Called::Param(m)) if matches!(self.seed, Seed::Param(_)) => {
                    sink(Event::new(Kind::Calls(m, n as u32), "", span));
                    sink(Event::open(span));
                    return Some(Given::MayBe(Value::Inside));
                }
                Some(Called::Table(all)) => return self.passed_to_any(n, &all, span, sink),
                Some(Called::Param(_)) | None => {}
            }
        }
        if let Some(summary) = self.cx.summary(call.callee) {
            let Some(fact) = summary.params.get(n) else {
                match &summary.rest_kept {
                    Some(why) => escapes(Rule::Variable, format!("`{name}` takes it among variable arguments: {why}")),
                    None => sink(Event::open(span)),
                }
                return None;
            };
            if let Some(why) = &fact.kept {
                escapes(Rule::CalleeKeeps, format!("`{name}` may keep it: {why}"));
            }
            match fact.frees {
                Frees::Never => {}
                Frees::Always => self.released(out, value, Some(name), span, sink),
                Frees::Sometimes => escapes(Rule::CalleeSometimes, format!("`{name}` frees it on some paths")),
            }
            if Rule::CalleeAlign.holds() {
                sink(Event::new(Kind::Cast(fact.align), "", span));
            }
            for &(m, k) in &fact.calls {
                self.called_back(call, (m, k), span, sink);
            }
            if fact.touched.only_reads_text() {
                out.text = was_text;
            }
            self.touched(call, n, &fact.touched, (at_start, has_text), span, sink);
            return match (fact.returned && Rule::CalleeReturns.holds(), fact.gives_back) {
                (false, _) => None,
                (true, true) => value.map(Given::Is),
                (true, false) => Some(Given::MayBe(Value::Inside)),
            };
        }
        if let Some((base, comparator)) = crate::known::calls_back(name) {
            if n != base as usize && n != 0 {
                escapes(Rule::UnknownCall, format!("`{name}` gets it in a way that is not followed"));
                return None;
            }
            if !self.only_looks(call, comparator) {
                escapes(Rule::Comparator, format!("`{name}` passes it to a function that may keep it"));
            }
            sink(Event::open(span));
            return (name == "bsearch" && n == base as usize).then_some(Given::MayBe(Value::Inside));
        }
        let facts = match call.callee {
            Callee::Pointer(_) => None,
            Callee::Builtin(_) => known(name),
            _ if Rule::BuiltinName.holds() && is_builtin_only(name) => None,
            _ => known(name),
        };
        let Some(facts) = facts else {
            match call.callee {
                Callee::Pointer(_) => escapes(
                    Rule::PointerCall,
                    "it is passed to a function that is called through a pointer".to_string(),
                ),
                _ if crate::known::stores_end(name) => return self.end_stored(call, n, span, sink),
                _ => {
                    escapes(Rule::UnknownCall, format!("it is passed to `{name}`, which is not known and may keep it"))
                }
            }
            return None;
        };
        let string = crate::known::string(name, n).filter(|string| match string {
            Use::Formatted(format) => call.args.get(*format as usize).is_some_and(|f| self.reads_strings(call.at, f)),
            Use::Reads | Use::Written | Use::Appended | Use::Printed(_) => true,
        });
        let at = call.at;
        let empty = if at_start { Text::Written(vec![]) } else { Text::Unknown };
        match string {
            Some(Use::Reads | Use::Formatted(_)) => {
                out.text = was_text;
                sink(Event::new(Kind::Text(has_text), "", span));
            }
            Some(Use::Written) => {
                out.text = empty.clone().longer(at);
                sink(Event::new(Kind::TextWritten(empty), "", span));
            }
            Some(Use::Appended) => {
                out.text = has_text.clone().longer(at);
                sink(Event::new(Kind::TextWritten(has_text), "", span));
            }
            Some(Use::Printed(m)) => {
                if call.args.get(m as usize).is_some_and(|a| self.is_positive(a)) {
                    out.text = empty.longer(at);
                }
                sink(Event::bounded(facts, n, call.args, value, span));
            }
            None => {
                if crate::known::only_reads(name, n) || !Rule::TextKept.holds() {
                    out.text = was_text;
                } else if crate::known::copies_bytes(name, n) {
                    // The zero may be anywhere in the object.
                    out.text = Text::Copied(vec![at]);
                }
                sink(Event::bounded(facts, n, call.args, value, span));
            }
        }
        match facts.returns {
            Some(m) if m as usize == n && Rule::KnownReturns.holds() => Some(facts.given(name, value)),
            _ => None,
        }
    }

    /// The object is argument `n` of a call of one of these functions: none of them may keep or
    /// release it.
    fn passed_to_any(&self, n: usize, all: &[typing::tree::FuncRef], span: Span, sink: Sink) -> Option<Given> {
        let seen = if Rule::Table.holds() { all.len() } else { 1 };
        let mut returned = false;
        for func in all.iter().take(seen) {
            let fact = self.cx.summary(&Callee::Direct(func.clone())).and_then(|s| s.params.get(n));
            let looks = |p: &&Param| p.kept.is_none() && p.frees == Frees::Never && p.calls.is_empty();
            let Some(fact) = fact.filter(looks) else {
                let func = crate::program::symbol(self.cx.program, func).unwrap_or_default();
                let why = format!("the table of functions leads to `{func}`, which may keep or free it");
                sink(Event::new(Kind::Escapes, &why, span));
                return None;
            };
            sink(Event::new(Kind::Cast(fact.align), "", span));
            returned |= fact.returned;
        }
        sink(Event::open(span));
        returned.then_some(Given::MayBe(Value::Inside))
    }

    /// `strtol(p, end, base)`: without an end it only reads.
    fn end_stored(&self, call: &Passed, n: usize, span: Span, sink: Sink) -> Option<Given> {
        let null = call.args.get(1).is_some_and(|a| {
            matches!(a, Operand::Const(Const::Null(_) | Const::Int(0, _)))
                || call.args.get(1).and_then(|a| self.constant(call.at, a)).is_some()
        });
        let lent = call.args.get(1).is_some_and(|a| self.privacy.lent_by(a).is_some());
        if n == 0 && (null || lent) {
            sink(Event::open(span));
        } else {
            let why = format!("`{}` stores a pointer into it", call.name);
            sink(Event::new(Kind::Escapes, &why, span));
        }
        None
    }

    /// Whether an operand is a null pointer that a temporary got earlier in the block.
    fn constant(&self, at: Point, operand: &Operand) -> Option<()> {
        let place = operand.place()?;
        self.body.locals.get(place.as_local()?.0 as usize).filter(|l| l.kind == LocalKind::Temp)?;
        let stmts = self.body.blocks.get(at.block.0 as usize)?.stmts.get(..at.stmt)?;
        stmts
            .iter()
            .rev()
            .find_map(|s| {
                let from = s.kind.assigned_to(place.as_local()?)?.same_bits()?;
                Some(matches!(from, Operand::Const(Const::Null(_) | Const::Int(0, _))))
            })?
            .then_some(())
    }

    /// Whether the operand is a constant above zero.
    fn is_positive(&self, operand: &Operand) -> bool {
        self.cx.constant(operand).is_some_and(|n| n > 0)
    }

    /// Whether the operand is a literal that, as a format, only reads strings.
    fn reads_strings(&self, at: Point, operand: &Operand) -> bool {
        let text = self.before(at, operand).and_then(|operand| self.cx.literal(&operand));
        text.is_some_and(|text| crate::known::reads_strings(&text.units))
    }

    /// A call that gets the address of a variable has ended, which it gave back (`Privacy`): as it
    /// was, or with the end of the number that argument 0 begins with, which `ends` says is in the
    /// object.
    pub(super) fn lend(
        &self,
        out: &mut Situation,
        (callee, n): (&Callee, usize),
        (variable, ends): (Local, bool),
        span: Span,
        sink: Sink,
    ) {
        let Some(cell) = self.cells.of_place(&Place::local(variable)) else { return };
        let Some(summary) = self.cx.summary(callee) else {
            return out.set(cell, ends.then_some(Value::Inside));
        };
        if !is_object(out.get(cell)) {
            return out.set(cell, None);
        }
        out.text = Text::Unknown;
        if out.status == Status::Live {
            sink(Event::open(span));
            sink(Event::new(Kind::Cast(summary.params.get(n).map_or(1, |p| p.inner_align)), "", span));
        }
    }

    /// What a callee does with the bytes of the object.
    fn touched(
        &self,
        call: &Passed,
        n: usize,
        touched: &Touched,
        (at_start, has_text): (bool, Text),
        span: Span,
        sink: Sink,
    ) {
        if touched.open && Rule::CalleeOpen.holds() {
            return sink(Event::open(span));
        }
        let Some(pointer) = call.args.get(n) else { return sink(Event::open(span)) };
        if touched.bytes > 0 && Rule::FirstBytes.holds() {
            let bytes = Operand::Const(Const::Int(i128::from(touched.bytes), self.cx.program.types.common.ulong));
            sink(Event::first_bytes(pointer, bytes, at_start, span));
        }
        for &m in &touched.lengths {
            match call.args.get(m as usize) {
                Some(length) => sink(Event::first_bytes(pointer, length.clone(), at_start, span)),
                None => sink(Event::open(span)),
            }
        }
        if touched.text {
            sink(Event::new(Kind::Text(has_text), "", span));
        }
    }

    /// A callee passes the object as argument `k` to the function that it has in its parameter `m`.
    fn called_back(&self, call: &Passed, (m, k): (u32, u32), span: Span, sink: Sink) {
        let func = call.args.get(m as usize).and_then(|a| self.called(call.at, a));
        if let (Some(Called::Param(p)), Seed::Param(_)) = (&func, self.seed) {
            return sink(Event::new(Kind::Calls(*p, k), "", span));
        }
        let fact = match func {
            Some(Called::Function(func)) => {
                self.cx.summary(&Callee::Direct(func)).and_then(|s| s.params.get(k as usize))
            }
            Some(Called::Param(_) | Called::Table(_)) | None => None,
        };
        let looks = |p: &&Param| p.kept.is_none() && p.frees == Frees::Never && p.calls.is_empty();
        match fact.filter(|p| looks(p) || !Rule::Callback.holds()) {
            Some(fact) => sink(Event::new(Kind::Cast(fact.align), "", span)),
            None => {
                let why = format!("`{}` passes it to a function that may keep it", call.name);
                sink(Event::new(Kind::Escapes, &why, span));
            }
        }
    }

    /// What a pointer to a function is, if that is known.
    fn called(&self, at: Point, operand: &Operand) -> Option<Called> {
        match self.before(at, operand)? {
            Operand::Const(Const::Func(func)) => Some(Called::Function(func)),
            Operand::Copy(place) | Operand::Move(place) if matches!(place.base, PlaceBase::Global(_)) => {
                crate::tables::functions(self.cx.program, &place).map(Called::Table)
            }
            Operand::Copy(place) | Operand::Move(place) => {
                let param = place.as_local().filter(|l| l.0 < self.body.params)?;
                is_never_written(self.body, param).then_some(Called::Param(param.0))
            }
            Operand::Const(_) => None,
        }
    }

    /// Whether the function that argument `n` names keeps and releases none of its arguments.
    fn only_looks(&self, call: &Passed, n: u32) -> bool {
        let Some(func) = call.args.get(n as usize).and_then(|a| self.function(call.at, a)) else { return false };
        let callee = Callee::Direct(func);
        match self.cx.summary(&callee) {
            Some(summary) => {
                summary.params.len() == 2 && summary.params.iter().all(|p| p.kept.is_none() && p.frees == Frees::Never)
            }
            None => false,
        }
    }

    /// The function that an operand is, perhaps by way of a temporary of the block.
    fn function(&self, at: Point, operand: &Operand) -> Option<typing::tree::FuncRef> {
        match self.before(at, operand)? {
            Operand::Const(Const::Func(func)) => Some(func),
            _ => None,
        }
    }

    /// What an operand was before it came to temporaries of the block.
    fn before(&self, at: Point, operand: &Operand) -> Option<Operand> {
        let mut operand = operand.clone();
        let stmts = self.body.blocks.get(at.block.0 as usize)?.stmts.get(..at.stmt)?;
        for stmt in stmts.iter().rev() {
            let Some(local) = operand.place().and_then(Place::as_local) else { break };
            if self.body.locals.get(local.0 as usize)?.kind != LocalKind::Temp {
                break;
            }
            if let Some(value) = stmt.kind.assigned_to(local) {
                operand = value.same_bits()?.clone();
                continue;
            }
            let mut written = false;
            stmt_places(&stmt.kind, &mut |p, access| {
                written |= p.base == PlaceBase::Local(local) && access != Access::Read;
            });
            if written {
                return None;
            }
        }
        Some(operand)
    }
}
