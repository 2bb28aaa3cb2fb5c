//! Reads MIR text (see `print`) back. Spans of what is read are places in the MIR text itself, so
//! that reports of analyses on MIR files point at MIR lines.

use crate::ir::Program;
use crate::print_types::is_word;
use source::{Span, Symbol};
use std::rc::Rc;
use typing::contracts::{Contract, ContractId, Direction, Message, MessageId, Side, State, StateId};
use typing::tree::{
    ConstAddr, ConstInit, FuncId, Function, Global, GlobalId, LabelId, Linkage, StrId, StringLit, Trust,
};
use typing::types::*;

/// What is wrong with a MIR text, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// What was expected.
    pub message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

pub(crate) type Res<T> = Result<T, ParseError>;

/// Parses a whole MIR file.
pub fn program(text: &str) -> Result<Program, ParseError> {
    let mut parser = Parser { text, at: 0, depth: 0, program: Program::default() };
    parser.reserve_numbers();
    while !parser.at_end() {
        parser.item()?;
    }
    Ok(parser.program)
}

/// A cursor over the text, and what was read so far.
pub(crate) struct Parser<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    pub(crate) depth: u32,
    pub(crate) program: Program,
}

// ---- the cursor
impl<'a> Parser<'a> {
    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Res<T> {
        let before = self.text.as_bytes().get(..self.at).unwrap_or(&[]);
        let line = before.iter().filter(|&&b| b == b'\n').count() as u32 + 1;
        Err(ParseError { line, message: message.into() })
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn blank(&mut self, lines: bool) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() && (lines || c != '\n'));
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Whether nothing but blanks and a comment is left on the line.
    pub(crate) fn at_line_end(&mut self) -> bool {
        self.blank(false);
        matches!(self.rest().as_bytes().first(), None | Some(b'\n'))
    }

    fn at_end(&mut self) -> bool {
        self.blank(true);
        self.rest().is_empty()
    }

    pub(crate) fn skip(&mut self) {
        self.blank(true);
    }

    /// Takes the punctuation if it comes next; else stays, so that an end of line is still seen.
    pub(crate) fn take(&mut self, text: &str) -> bool {
        let start = self.at;
        self.skip();
        let found = self.rest().starts_with(text);
        self.at = if found { self.at + text.len() } else { start };
        found
    }

    pub(crate) fn want(&mut self, text: &str) -> Res<()> {
        if self.take(text) {
            return Ok(());
        }
        self.error(format!("expected `{text}`"))
    }

    /// The word that comes next, not taken; empty if there is none.
    pub(crate) fn peek_word(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or("");
        if is_word(word) {
            word
        } else {
            ""
        }
    }

    /// Takes the word if it comes next, and is not the name part of a numbered thing.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    pub(crate) fn word(&mut self) -> Res<&'a str> {
        let word = self.peek_word();
        if word.is_empty() {
            return self.error("expected a word");
        }
        self.at += word.len();
        Ok(word)
    }

    pub(crate) fn number<T: std::str::FromStr>(&mut self) -> Res<T> {
        self.skip();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest.get(sign..).unwrap_or("");
        let len = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        match rest.get(..sign + len).unwrap_or("").parse() {
            Ok(n) => {
                self.at += sign + len;
                Ok(n)
            }
            Err(_) => self.error("expected a number"),
        }
    }

    /// `name MARK number`: the number of a function, global, record or enumeration; the name is
    /// skipped.
    pub(crate) fn numbered(&mut self, mark: char) -> Res<u32> {
        self.at += self.peek_word().len();
        if !self.rest().starts_with(mark) {
            return self.error(format!("expected `{mark}` and a number"));
        }
        self.at += mark.len_utf8();
        self.number()
    }

    /// The character right after the word that comes next.
    pub(crate) fn mark_behind_word(&mut self) -> u8 {
        let len = self.peek_word().len();
        self.rest().as_bytes().get(len).copied().unwrap_or(0)
    }

    pub(crate) fn bytes(&mut self) -> Res<Vec<u8>> {
        self.want("\"")?;
        let mut out = vec![];
        loop {
            let rest = self.rest().as_bytes();
            let (byte, len) = match (rest.first(), rest.get(1)) {
                (Some(b'"'), _) => {
                    self.at += 1;
                    return Ok(out);
                }
                (Some(b'\\'), Some(b'x')) => {
                    let hex = self.rest().get(2..4).and_then(|h| u8::from_str_radix(h, 16).ok());
                    match hex {
                        Some(byte) => (byte, 4),
                        None => return self.error("expected two hexadecimal digits"),
                    }
                }
                (Some(b'\\'), Some(&byte)) => (byte, 2),
                (Some(&byte), _) if byte != b'\n' && byte.is_ascii() => (byte, 1),
                _ => return self.error("the quotes are not closed"),
            };
            out.push(byte);
            self.at += len;
        }
    }

    pub(crate) fn quoted(&mut self) -> Res<Symbol> {
        let bytes = self.bytes()?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(Symbol::new(text)),
            Err(_) => self.error("a name is no UTF-8"),
        }
    }

    /// A quoted name or `-`.
    pub(crate) fn optional_name(&mut self) -> Res<Option<Symbol>> {
        if self.take("-") {
            return Ok(None);
        }
        self.quoted().map(Some)
    }

    /// Comma-separated things up to `end`, which is taken.
    pub(crate) fn list<T>(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Res<T>) -> Res<Vec<T>> {
        let mut out = vec![];
        if self.take(end) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.take(end) {
                return Ok(out);
            }
            self.want(",")?;
        }
    }

    pub(crate) fn span_from(&self, lo: usize) -> Span {
        Span::new(lo as u32, self.at as u32)
    }
}

// ---- the tables
impl Parser<'_> {
    /// Records and enumerations may be mentioned before their entry; their numbers exist from the
    /// start.
    fn reserve_numbers(&mut self) {
        for line in self.text.lines() {
            let first = line.split_whitespace().next().unwrap_or("");
            match first {
                "struct" | "union" | "tagged" => self.program.types.records.push(Record {
                    kind: RecordKind::Struct,
                    tag: None,
                    args: vec![],
                    fields: None,
                    packed: false,
                    align: None,
                    vector: false,
                    underaligned: false,
                    foreign: false,
                    exists: vec![],
                    span: Span::NONE,
                }),
                "enum" => self.program.types.enums.push(Enum {
                    tag: None,
                    underlying: IntKind::Int,
                    items: vec![],
                    attrs: vec![],
                    complete: false,
                    span: Span::NONE,
                }),
                _ => {}
            }
        }
    }

    fn item(&mut self) -> Res<()> {
        let start = self.at;
        match self.word()? {
            "struct" => self.record(RecordKind::Struct),
            "union" => self.record(RecordKind::Union),
            "tagged" => self.record(RecordKind::Tagged),
            "enum" => self.enumeration(),
            "contract" => self.contract(start),
            "string" => self.string(),
            "function" => self.function(start),
            "global" => self.global(start),
            "asm" => {
                let text = self.bytes()?;
                self.program.asm.push(text);
                Ok(())
            }
            "body" => {
                let body = self.body(start)?;
                self.program.bodies.push(body);
                Ok(())
            }
            "instance" => {
                let body = self.body(start)?;
                self.program.instances.push(body);
                Ok(())
            }
            other => self.error(format!("`{other}` begins nothing")),
        }
    }

    /// The name before a mark, if there is one.
    fn name_before(&mut self, mark: char) -> Res<(Option<Symbol>, u32)> {
        let word = self.peek_word();
        let number = self.numbered(mark)?;
        Ok(((!word.is_empty()).then(|| Symbol::new(word)), number))
    }

    fn record(&mut self, kind: RecordKind) -> Res<()> {
        let (tag, number) = self.name_before('%')?;
        let mut record = Record {
            kind,
            tag,
            args: vec![],
            fields: None,
            packed: false,
            align: None,
            vector: false,
            underaligned: false,
            foreign: false,
            exists: vec![],
            span: Span::NONE,
        };
        if self.take("<") {
            record.args = self.list(">", Self::ty)?;
        }
        let mut has_fields = false;
        while !self.at_line_end() {
            if self.take("{") {
                has_fields = true;
                break;
            }
            match self.word()? {
                "packed" => record.packed = true,
                "foreign" => record.foreign = true,
                "align" => record.align = Some(self.number()?),
                "exists" => record.exists.push(None),
                "exists_by" => record.exists.push(Some(self.region()?)),
                _ => return self.error("expected `packed`, `foreign`, `align`, `exists`, `exists_by` or `{`"),
            }
        }
        if has_fields {
            let mut fields = vec![];
            while !self.take("}") {
                fields.push(self.field()?);
            }
            record.fields = Some(Rc::new(fields));
        }
        match self.program.types.records.get_mut(number as usize) {
            Some(slot) => *slot = record,
            None => return self.error("records are not numbered from 0 without gaps"),
        }
        Ok(())
    }

    fn field(&mut self) -> Res<Field> {
        self.skip();
        let start = self.at;
        let name = self.optional_name()?;
        self.want(":")?;
        let ty = self.qty()?;
        let mut field = Field { name, ty, width: None, align: None, packed: false, tagged_by: None, span: Span::NONE };
        while !self.at_line_end() {
            match self.word()? {
                "width" => field.width = Some(self.number()?),
                "align" => field.align = Some(self.number()?),
                "packed" => field.packed = true,
                "tagged_by" => {
                    let tag = self.number()?;
                    self.want("{")?;
                    let arms = self.list("}", |p| {
                        let value = p.number()?;
                        p.want(":")?;
                        Ok((value, p.number()?))
                    })?;
                    field.tagged_by = Some(Rc::new(TaggedBy { tag, arms }));
                }
                _ => return self.error("expected `width`, `align`, `packed` or `tagged_by`"),
            }
        }
        field.span = self.span_from(start);
        Ok(field)
    }

    fn enumeration(&mut self) -> Res<()> {
        let (tag, number) = self.name_before('^')?;
        let word = self.word()?;
        let Some(underlying) = int_kind(word) else {
            return self.error("expected an integer type");
        };
        let mut found = Enum { tag, underlying, items: vec![], attrs: vec![], complete: false, span: Span::NONE };
        if !self.at_line_end() {
            self.want("{")?;
            found.complete = true;
            found.items = self.list("}", |p| Ok((p.quoted()?, p.number()?)))?;
        }
        match self.program.types.enums.get_mut(number as usize) {
            Some(slot) => *slot = found,
            None => return self.error("enumerations are not numbered from 0 without gaps"),
        }
        Ok(())
    }

    fn contract(&mut self, start: usize) -> Res<()> {
        let (name, number) = self.name_before('^')?;
        self.next_number(number, self.program.types.contracts.len())?;
        let mut contract = Contract {
            name: name.unwrap_or(Symbol::new("")),
            span: Span::NONE,
            local: false,
            extends: None,
            messages: vec![],
            states: vec![],
            start: StateId(0),
            places: [1, 1],
        };
        while !self.take("{") {
            match self.word()? {
                "local" => contract.local = true,
                "extends" => contract.extends = Some(ContractId(self.number()?)),
                "start" => contract.start = StateId(self.number()?),
                "places" => contract.places = [self.number()?, self.number()?],
                _ => return self.error("expected `local`, `extends`, `start`, `places` or `{`"),
            }
        }
        while !self.take("}") {
            self.skip();
            let start = self.at;
            match self.word()? {
                "message" => {
                    let mut message = self.message()?;
                    message.span = self.span_from(start);
                    contract.messages.push(message);
                }
                "state" => {
                    let mut state = self.state()?;
                    state.span = self.span_from(start);
                    contract.states.push(state);
                }
                _ => return self.error("expected `message`, `state` or `}`"),
            }
        }
        contract.span = self.span_from(start);
        self.program.types.contracts.push(contract);
        Ok(())
    }

    /// The struct of the arguments comes before the contract.
    fn message(&mut self) -> Res<Message> {
        let number = self.number()?;
        let direction = match self.word()? {
            "in" => Direction::In,
            "out" => Direction::Out,
            _ => return self.error("expected `in` or `out`"),
        };
        let name = self.quoted()?;
        let mut message = Message { name, span: Span::NONE, direction, params: vec![], number, layout: None };
        if !self.at_line_end() {
            let id = RecordId(self.numbered('%')?);
            let fields = self.program.types.records.get(id.0 as usize).and_then(|r| r.fields.clone());
            let Some(fields) = fields else { return self.error("expected a struct that is known") };
            let nameless = Symbol::new("");
            message.params = fields.iter().map(|f| (f.name.unwrap_or(nameless), f.ty.ty, f.span)).collect();
            message.layout = Some(id);
        }
        Ok(message)
    }

    fn state(&mut self) -> Res<State> {
        let name = self.optional_name()?;
        let sender = match self.word()? {
            "exp" => Some(Side::Exp),
            "imp" => Some(Side::Imp),
            "end" => None,
            _ => return self.error("expected `exp`, `imp` or `end`"),
        };
        self.want("{")?;
        let alternatives = self.list("}", |p| {
            let message = MessageId(p.number()?);
            p.want("->")?;
            Ok((message, StateId(p.number()?)))
        })?;
        Ok(State { name, span: Span::NONE, alternatives, sender })
    }

    fn next_number(&self, number: u32, len: usize) -> Res<()> {
        if number as usize == len {
            return Ok(());
        }
        self.error(format!("expected number {len}"))
    }

    fn string(&mut self) -> Res<()> {
        let number = self.numbered('$')?;
        self.next_number(number, self.program.strings.len())?;
        let elem = self.ty()?;
        let units = if self.take("[") {
            self.list("]", Self::number)?
        } else {
            self.bytes()?.into_iter().map(u32::from).collect()
        };
        let len = ArrayLen::Const(units.len() as u64);
        self.program.types.intern(TyKind::Array { elem: Qty::plain(elem), len, terminated: true });
        self.program.strings.push(StringLit { units, elem });
        Ok(())
    }

    fn function(&mut self, start: usize) -> Res<()> {
        let (name, number) = self.name_before('#')?;
        self.next_number(number, self.program.functions.len())?;
        self.want(":")?;
        let mut function = Function {
            name: name.unwrap_or(Symbol::new("")),
            symbol: None,
            ty: self.ty()?,
            type_params: 0,
            linkage: Linkage::External,
            trust: Trust::Checked,
            attrs: vec![],
            param_names: vec![],
            inline: Default::default(),
            old_style: false,
            allows: Default::default(),
            reentrant: false,
            body: None,
            is_process: false,
            used: true,
            span: Span::NONE,
        };
        while !self.at_line_end() {
            match self.word()? {
                "generic" => function.type_params = self.number()?,
                "unused" => function.used = false,
                "symbol" => function.symbol = Some(self.quoted()?),
                "attr" => function.attrs.push(self.quoted()?.to_string()),
                "params" => {
                    self.want("(")?;
                    function.param_names = self.list(")", Self::optional_name)?;
                }
                word => match (linkage(word), trust(word)) {
                    (Some(l), _) => function.linkage = l,
                    (_, Some(t)) => function.trust = t,
                    _ => return self.error(format!("`{word}` says nothing about a function")),
                },
            }
        }
        function.span = self.span_from(start);
        self.program.functions.push(function);
        Ok(())
    }

    fn global(&mut self, start: usize) -> Res<()> {
        let (name, number) = self.name_before('@')?;
        self.next_number(number, self.program.globals.len())?;
        self.want(":")?;
        let mut global = Global {
            name: name.unwrap_or(Symbol::new("")),
            symbol: None,
            ty: self.qty()?,
            linkage: Linkage::External,
            trust: Trust::Checked,
            init: None,
            thread_local: false,
            align: None,
            attrs: vec![],
            owner: None,
            used: true,
            span: Span::NONE,
        };
        while !self.at_line_end() {
            if self.take("=") {
                global.init = Some(self.init()?);
                break;
            }
            match self.word()? {
                "unused" => global.used = false,
                "thread_local" => global.thread_local = true,
                "align" => global.align = Some(self.number()?),
                "owner" => global.owner = Some(FuncId(self.numbered('#')?)),
                "symbol" => global.symbol = Some(self.quoted()?),
                "attr" => global.attrs.push(self.quoted()?.to_string()),
                word => match (linkage(word), trust(word)) {
                    (Some(l), _) => global.linkage = l,
                    (_, Some(t)) => global.trust = t,
                    _ => return self.error(format!("`{word}` says nothing about a global")),
                },
            }
        }
        global.span = self.span_from(start);
        self.program.globals.push(global);
        Ok(())
    }

    fn init(&mut self) -> Res<ConstInit> {
        self.enter()?;
        let init = self.init_inner();
        self.depth -= 1;
        init
    }

    fn init_inner(&mut self) -> Res<ConstInit> {
        if self.take("{") {
            let parts = self.list("}", |p| {
                let index = p.number()?;
                p.want(":")?;
                Ok((index, p.init()?))
            })?;
            return Ok(ConstInit::Aggregate(parts));
        }
        if self.take("$") {
            return Ok(ConstInit::Str(StrId(self.number()?)));
        }
        let word = self.peek_word();
        self.at += word.len();
        match word {
            "" => Ok(ConstInit::Int(self.number()?)),
            "zero" => Ok(ConstInit::Zero),
            "float" => Ok(ConstInit::Float(self.quoted()?)),
            "tagged" => Ok(ConstInit::Tagged(self.number()?, Box::new(self.init()?))),
            "addr" | "fat" | "typed" => {
                self.want("(")?;
                let addr = self.const_addr()?;
                self.want(",")?;
                let offset = self.number()?;
                let init = match word {
                    "addr" => ConstInit::Addr(addr, offset),
                    "fat" => {
                        self.want(",")?;
                        let lo = self.number()?;
                        self.want(",")?;
                        ConstInit::Fat(addr, offset, lo, self.number()?)
                    }
                    _ => {
                        self.want(",")?;
                        ConstInit::TypedVoid(addr, offset, self.ty()?)
                    }
                };
                self.want(")")?;
                Ok(init)
            }
            _ => self.error("expected an initialiser"),
        }
    }

    fn const_addr(&mut self) -> Res<ConstAddr> {
        if self.take("$") {
            return Ok(ConstAddr::Str(StrId(self.number()?)));
        }
        match self.mark_behind_word() {
            b'@' => Ok(ConstAddr::Global(GlobalId(self.numbered('@')?))),
            b'#' => Ok(ConstAddr::Func(self.func_ref()?)),
            _ if self.take_word("absolute") => Ok(ConstAddr::Absolute),
            _ if self.take_word("label") => Ok(ConstAddr::Label(LabelId(self.number()?))),
            _ => self.error("expected an address"),
        }
    }
}

/// The integer type that a word of the notation names.
pub(crate) fn int_kind(word: &str) -> Option<IntKind> {
    Some(match word {
        "char" => IntKind::Char,
        "schar" => IntKind::SChar,
        "uchar" => IntKind::UChar,
        "short" => IntKind::Short,
        "ushort" => IntKind::UShort,
        "int" => IntKind::Int,
        "uint" => IntKind::UInt,
        "long" => IntKind::Long,
        "ulong" => IntKind::ULong,
        "llong" => IntKind::LongLong,
        "ullong" => IntKind::ULongLong,
        "i128" => IntKind::Int128,
        "u128" => IntKind::UInt128,
        _ => return None,
    })
}

fn linkage(word: &str) -> Option<Linkage> {
    match word {
        "internal" => Some(Linkage::Internal),
        "shared" => Some(Linkage::Shared),
        _ => None,
    }
}

fn trust(word: &str) -> Option<Trust> {
    match word {
        "trusted" => Some(Trust::Trusted),
        "foreign" => Some(Trust::Foreign),
        "exported" => Some(Trust::Exported),
        _ => None,
    }
}
