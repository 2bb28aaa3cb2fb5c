//! Reads bodies, statements and operands of the MIR notation (see `print`).

use crate::ir::*;
use crate::parse::{Parser, Res};
use source::{Span, Symbol};
use typing::contracts::{ContractId, MessageId, StateId};
use typing::tree::{BorrowKind, GlobalId, RegionDecl, RegionKind, StrId};
use typing::types::{KeyKind, Region, Ty};

impl Parser<'_> {
    /// After the word `body` or `instance`.
    pub(crate) fn body(&mut self, start: usize) -> Res<Body> {
        let func = self.func_ref()?;
        if !self.take_word("params") {
            return self.error("expected `params`");
        }
        let params = self.number()?;
        let unchecked = self.take_word("unchecked");
        let format = if self.take_word("format") { Some(self.format()?) } else { None };
        let infer_regions = if self.take_word("infer") { self.number()? } else { 0 };
        self.want("{")?;
        let mut body = Body {
            func,
            locals: vec![],
            params,
            scopes: vec![],
            blocks: vec![],
            unchecked,
            format,
            regions: vec![],
            infer_regions,
            infer_owes: vec![],
            address_labels: vec![],
            span: self.span_from(start),
            end: Span::NONE,
        };
        while self.header_line(&mut body)? {}
        loop {
            self.skip();
            let at = self.at;
            if self.take("}") {
                body.end = self.span_from(at);
                return Ok(body);
            }
            let number = self.block_id()?.0;
            if number as usize != body.blocks.len() {
                return self.error(format!("expected block {}", body.blocks.len()));
            }
            self.want(":")?;
            let block = self.block()?;
            body.blocks.push(block);
        }
    }

    /// A scope, local or label before the blocks; false if there is none.
    fn header_line(&mut self, body: &mut Body) -> Res<bool> {
        self.skip();
        let start = self.at;
        let kind = match self.peek_word() {
            "scope" => {
                self.word()?;
                let number: usize = self.number()?;
                if number != body.scopes.len() {
                    return self.error(format!("expected scope {}", body.scopes.len()));
                }
                let parent = if self.take_word("in") { Some(ScopeId(self.number()?)) } else { None };
                body.scopes.push(Scope { parent, span: self.span_from(start) });
                return Ok(true);
            }
            "region" => {
                self.word()?;
                let region = self.body_region(start, body.regions.len())?;
                body.regions.push(region);
                return Ok(true);
            }
            "label" => {
                self.word()?;
                let name = self.quoted()?;
                let block = self.block_id()?;
                body.address_labels.push((name, block));
                return Ok(true);
            }
            "param" => LocalKind::Param,
            "var" => LocalKind::Var,
            "temp" => LocalKind::Temp,
            "cell" => LocalKind::Cell,
            _ => return Ok(false),
        };
        self.word()?;
        let decl = self.local_decl(start, kind, body.locals.len())?;
        body.locals.push(decl);
        Ok(true)
    }

    fn body_region(&mut self, start: usize, expected: usize) -> Res<BodyRegion> {
        if self.region_number()? as usize != expected {
            return self.error(format!("expected region {expected}"));
        }
        let name = self.optional_name()?;
        let word = self.word()?;
        let Some(kind) = region_kind(word) else {
            return self.error("expected what the region is");
        };
        if !self.take_word("scope") {
            return self.error("expected `scope`");
        }
        let scope = ScopeId(self.number()?);
        Ok(BodyRegion { decl: RegionDecl { name, kind, span: self.span_from(start) }, scope })
    }

    /// `@r3`
    fn region_number(&mut self) -> Res<u32> {
        match self.region()? {
            Region::Body(n) => Ok(n),
            _ => self.error("expected a region of the body"),
        }
    }

    fn local_decl(&mut self, start: usize, kind: LocalKind, expected: usize) -> Res<LocalDecl> {
        let word = self.peek_word();
        let Some((name, number)) = split_local(word) else {
            return self.error("expected a local");
        };
        if number as usize != expected {
            return self.error(format!("expected local number {expected}"));
        }
        self.at += word.len();
        self.want(":")?;
        let mut decl = LocalDecl {
            name: (!name.is_empty()).then(|| Symbol::new(name)),
            ty: self.qty()?,
            kind,
            scope: ScopeId(0),
            address_taken: false,
            slot: false,
            heap: false,
            align: None,
            span: Span::NONE,
            uses: vec![],
        };
        while !self.at_line_end() {
            match self.word()? {
                "scope" => decl.scope = ScopeId(self.number()?),
                "address" => decl.address_taken = true,
                "slot" => decl.slot = true,
                "heap" => decl.heap = true,
                "align" => decl.align = Some(self.number()?),
                other => return self.error(format!("`{other}` says nothing about a local")),
            }
        }
        decl.span = self.span_from(start);
        Ok(decl)
    }

    fn block_id(&mut self) -> Res<BlockId> {
        let word = self.peek_word();
        let Some(number) = word.strip_prefix("bb").and_then(|n| n.parse().ok()) else {
            return self.error("expected a block");
        };
        self.at += word.len();
        Ok(BlockId(number))
    }

    fn block(&mut self) -> Res<Block> {
        let mut stmts = vec![];
        loop {
            self.skip();
            let start = self.at;
            if let Some(kind) = self.term()? {
                return Ok(Block { stmts, term: Terminator { kind, span: self.span_from(start) } });
            }
            let is_unsafe = self.take_word("unsafe");
            let kind = self.stmt()?;
            stmts.push(Stmt { kind, span: self.span_from(start), is_unsafe });
        }
    }

    /// The terminator that comes next, if it is one.
    fn term(&mut self) -> Res<Option<TermKind>> {
        let word = self.peek_word();
        let known = matches!(word, "goto" | "if" | "switch" | "return" | "missing_return" | "unreachable");
        if !known || matches!(self.mark_behind_word(), b'#' | b'@') {
            return Ok(None);
        }
        self.at += word.len();
        let kind = match word {
            "goto" if self.take("*") => TermKind::GotoComputed(self.operand()?),
            "goto" => TermKind::Goto(self.block_id()?),
            "if" => {
                let condition = self.operand()?;
                let yes = self.block_id()?;
                if !self.take_word("else") {
                    return self.error("expected `else`");
                }
                TermKind::If(condition, yes, self.block_id()?)
            }
            "switch" => self.switch()?,
            "return" if self.at_line_end() => TermKind::Return(None),
            "return" => TermKind::Return(Some(self.operand()?)),
            "missing_return" => TermKind::MissingReturn,
            _ => TermKind::Unreachable,
        };
        Ok(Some(kind))
    }

    fn switch(&mut self) -> Res<TermKind> {
        let operand = self.operand()?;
        self.want("{")?;
        let mut arms = vec![];
        while !self.take_word("else") {
            let lo = self.number()?;
            let hi = if self.take("..") { self.number()? } else { lo };
            self.want(":")?;
            arms.push((lo, hi, self.block_id()?));
            self.want(",")?;
        }
        self.want(":")?;
        let other = self.block_id()?;
        self.want("}")?;
        Ok(TermKind::Switch(operand, arms, other))
    }

    fn stmt(&mut self) -> Res<StmtKind> {
        let word = self.peek_word();
        let is_place = word.is_empty() || split_local(word).is_some() || self.mark_behind_word() == b'@';
        if is_place {
            let place = self.place()?;
            self.want("=")?;
            if self.take_word("call") {
                return self.call(Some(place));
            }
            return Ok(StmtKind::Assign(place, self.value()?));
        }
        self.at += word.len();
        let kind = match word {
            "call" => self.call(None)?,
            "check" => StmtKind::Check(self.check()?),
            "prove" => {
                let word = self.word()?;
                self.want("(")?;
                let operand = self.operand()?;
                let proof = match word {
                    "nonnull" => Proof::NonNull(operand),
                    "end_cases" => {
                        let (states, has_default) = self.states("default")?;
                        Proof::EndCases { end: operand, states, has_default }
                    }
                    "end_found" => {
                        let (states, closed) = self.states("closed")?;
                        Proof::EndFound { end: operand, states, closed }
                    }
                    _ => return self.error("expected `nonnull`, `end_cases` or `end_found`"),
                };
                self.want(")")?;
                StmtKind::Prove(proof)
            }
            "live" => StmtKind::StorageLive(self.local()?),
            "dead" => StmtKind::StorageDead(self.local()?),
            "zero" => StmtKind::Zero(self.place()?),
            "copy_elements" => {
                let [to, from, count] = self.three()?;
                StmtKind::CopyElements { to, from, count }
            }
            "set_tag" => {
                self.want("(")?;
                let place = self.place()?;
                self.want(",")?;
                let member = self.number()?;
                self.want(")")?;
                StmtKind::SetTag(place, member)
            }
            "va_start" => StmtKind::VaStart(self.one_place()?),
            "va_end" => StmtKind::VaEnd(self.one_place()?),
            "va_copy" => {
                self.want("(")?;
                let to = self.place()?;
                self.want(",")?;
                let from = self.place()?;
                self.want(")")?;
                StmtKind::VaCopy(to, from)
            }
            "arena_begin" | "arena_end" => {
                self.want("(")?;
                let local = self.local()?;
                self.want(",")?;
                let region = self.region_number()?;
                self.want(")")?;
                match word {
                    "arena_begin" => StmtKind::ArenaBegin(local, region),
                    _ => StmtKind::ArenaEnd(local, region),
                }
            }
            "open" | "close" => {
                self.want("(")?;
                let local = self.local()?;
                self.want(",")?;
                let key = self.place()?;
                self.want(",")?;
                let region = self.region()?;
                self.want(")")?;
                match word {
                    "open" => StmtKind::OpenBegin(local, key, region),
                    _ => StmtKind::Close(local, key, region),
                }
            }
            "dispose" => self.dispose()?,
            "drop_slot" => StmtKind::DropSlot(self.one_place()?),
            "swap" => {
                self.want("(")?;
                let a = self.place()?;
                self.want(",")?;
                let b = self.place()?;
                self.want(")")?;
                StmtKind::Exchange(a, b)
            }
            "cursor_begin" => {
                self.want("(")?;
                let local = self.local()?;
                self.want(",")?;
                let place = self.place()?;
                self.want(")")?;
                StmtKind::CursorBegin(local, place)
            }
            "cursor_end" => {
                self.want("(")?;
                let local = self.local()?;
                self.want(")")?;
                StmtKind::CursorEnd(local)
            }
            "pack" => {
                let (place, regions) = self.place_and_list(Self::region)?;
                StmtKind::Pack(place, regions)
            }
            "unpack_move" | "unpack_lend" => {
                let (place, regions) = self.place_and_list(Self::region_number)?;
                StmtKind::UnpackBegin { place, regions, moves: word == "unpack_move" }
            }
            "unpack_end" => {
                let (place, regions) = self.place_and_list(Self::region_number)?;
                StmtKind::UnpackEnd(place, regions)
            }
            "asm" => StmtKind::Assembly(Box::new(self.asm()?)),
            "channel" => self.channel()?,
            "send" => {
                self.want("(")?;
                let end = self.place()?;
                self.want(",")?;
                let message = MessageId(self.number()?);
                self.want(",")?;
                self.want("[")?;
                let args = self.list("]", Self::operand)?;
                self.want(")")?;
                StmtKind::Send { end, message, args }
            }
            "select" | "select_default" => {
                let (dest, cases) = self.place_and_list(Self::select_case)?;
                StmtKind::Select { dest, cases, has_default: word == "select_default" }
            }
            "receive" | "take" => {
                self.want("(")?;
                let end = self.place()?;
                self.want(",")?;
                let head = self.head()?;
                self.want(",")?;
                self.want("[")?;
                let binds = self.list("]", Self::place)?;
                self.want(")")?;
                StmtKind::Receive { end, head, binds, waits: word == "receive" }
            }
            "set_new" => StmtKind::SetNew(self.one_place()?),
            "set_add" => {
                let (set, values) = self.place_and_list(Self::operand)?;
                let mut values = values.into_iter();
                let Some(end) = values.next() else { return self.error("expected an endpoint") };
                StmtKind::SetAdd { set, end, value: values.next() }
            }
            "set_take" => {
                self.want("(")?;
                let set = self.place()?;
                self.want(",")?;
                let head = self.head()?;
                self.want(",")?;
                self.want("[")?;
                let mut dests = self.list("]", Self::place)?.into_iter();
                self.want(")")?;
                let Some(end) = dests.next() else { return self.error("expected a local for the endpoint") };
                StmtKind::SetTake { set, head, end, value: dests.next() }
            }
            "nop" => StmtKind::Nop,
            other => return self.error(format!("`{other}` is no statement")),
        };
        Ok(kind)
    }

    fn dispose(&mut self) -> Res<StmtKind> {
        self.want("(")?;
        let value = self.operand()?;
        let (mut handle, mut moved) = (None, vec![]);
        while self.take(",") {
            match self.word()? {
                "handle" => handle = Some(self.operand()?),
                "moved" => {
                    self.want("{")?;
                    moved = self.list("}", |p| {
                        p.skip();
                        p.steps()
                    })?;
                }
                _ => return self.error("expected `handle` or `moved`"),
            }
        }
        self.want(")")?;
        Ok(StmtKind::Dispose { value, handle, moved })
    }

    fn channel(&mut self) -> Res<StmtKind> {
        self.want("(")?;
        let contract = ContractId(self.numbered('^')?);
        self.want(",")?;
        let state = StateId(self.number()?);
        self.want(",")?;
        let imp = self.place()?;
        self.want(",")?;
        let exp = self.place()?;
        self.want(")")?;
        Ok(StmtKind::ChannelNew { contract, state, imp, exp })
    }

    fn select_case(&mut self) -> Res<SelectCase> {
        match self.word()? {
            "heads" => {
                self.want("(")?;
                let heads = self.list(")", |p| {
                    p.skip();
                    let end = p.place()?;
                    p.want(":")?;
                    Ok((end, p.head()?))
                })?;
                Ok(SelectCase::Heads(heads))
            }
            "after" => {
                self.want("(")?;
                let time = self.operand()?;
                self.want(")")?;
                Ok(SelectCase::After(time))
            }
            _ => self.error("expected `heads` or `after`"),
        }
    }

    fn head(&mut self) -> Res<Head> {
        if self.take_word("closed") {
            return Ok(Head::Closed);
        }
        if self.take_word("empty") {
            return Ok(Head::Empty);
        }
        if self.take_word("any") {
            return Ok(Head::Any);
        }
        Ok(Head::Message(MessageId(self.number()?)))
    }

    /// `, [0, 2]` with a word after it that may be missing.
    fn states(&mut self, last: &str) -> Res<(Vec<StateId>, bool)> {
        self.want(",")?;
        self.want("[")?;
        let states = self.list("]", |parser| parser.number().map(StateId))?;
        let more = self.take(",");
        if more && !self.take_word(last) {
            return self.error(format!("expected `{last}`"));
        }
        Ok((states, more))
    }

    /// `(place, [a, b])`
    fn place_and_list<T>(&mut self, item: impl FnMut(&mut Self) -> Res<T>) -> Res<(Place, Vec<T>)> {
        self.want("(")?;
        let place = self.place()?;
        self.want(",")?;
        self.want("[")?;
        let items = self.list("]", item)?;
        self.want(")")?;
        Ok((place, items))
    }

    fn one_place(&mut self) -> Res<Place> {
        self.want("(")?;
        let place = self.place()?;
        self.want(")")?;
        Ok(place)
    }

    fn call(&mut self, dest: Option<Place>) -> Res<StmtKind> {
        let callee = if self.take("*") {
            Callee::Pointer(self.operand()?)
        } else if self.mark_behind_word() != b'#' && self.take_word("builtin") {
            Callee::Builtin(self.quoted()?)
        } else if self.mark_behind_word() != b'#' && self.take_word("start") {
            Callee::Start(self.func_ref()?)
        } else if self.mark_behind_word() != b'#' && self.take_word("spawn") {
            let question = self.take("?");
            Callee::Spawn(self.func_ref()?, question)
        } else {
            Callee::Direct(self.func_ref()?)
        };
        self.want("(")?;
        let args = self.list(")", Self::operand)?;
        self.want(":")?;
        Ok(StmtKind::Call { dest, callee, args, ty: self.ty()? })
    }

    fn asm(&mut self) -> Res<Asm> {
        let volatile = self.take_word("volatile");
        let template = self.bytes()?;
        self.want("(")?;
        let outputs = self.list(")", |p| Ok((p.optional_name()?, p.bytes()?, p.place()?)))?;
        self.want("(")?;
        let inputs = self.list(")", |p| Ok((p.optional_name()?, p.bytes()?, p.operand()?)))?;
        self.want("(")?;
        let clobbers = self.list(")", Self::bytes)?;
        let mut labels = vec![];
        if self.take_word("goto") {
            self.want("(")?;
            labels = self.list(")", |p| p.bytes().map(|b| Symbol::new(&String::from_utf8_lossy(&b))))?;
        }
        Ok(Asm { volatile, template, outputs, inputs, clobbers, labels })
    }

    fn local(&mut self) -> Res<Local> {
        let word = self.peek_word();
        let Some((_, number)) = split_local(word) else {
            return self.error("expected a local");
        };
        self.at += word.len();
        Ok(Local(number))
    }

    pub(crate) fn place(&mut self) -> Res<Place> {
        let base = if self.take("$") {
            PlaceBase::Str(StrId(self.number()?))
        } else if self.mark_behind_word() == b'@' {
            PlaceBase::Global(GlobalId(self.numbered('@')?))
        } else {
            PlaceBase::Local(self.local()?)
        };
        Ok(Place { base, proj: self.steps()? })
    }

    fn steps(&mut self) -> Res<Vec<Proj>> {
        let mut proj = vec![];
        loop {
            let rest = self.rest();
            if rest.starts_with(".*") {
                self.at += 2;
                proj.push(Proj::Deref);
            } else if rest.starts_with('.') && !rest.starts_with("..") {
                self.at += 1;
                proj.push(Proj::Field(self.number()?));
            } else if rest.starts_with('[') {
                self.at += 1;
                self.enter()?;
                let index = self.operand()?;
                self.depth -= 1;
                self.want("]")?;
                proj.push(Proj::Index(index));
            } else {
                return Ok(proj);
            }
        }
    }

    pub(crate) fn operand(&mut self) -> Res<Operand> {
        if self.take("&") {
            return self.address();
        }
        self.skip();
        let first = self.rest().as_bytes().first().copied().unwrap_or(0);
        if first.is_ascii_digit() || first == b'-' {
            let value = self.number()?;
            self.want(":")?;
            return Ok(Operand::Const(Const::Int(value, self.ty()?)));
        }
        if self.mark_behind_word() == b'#' {
            return Ok(Operand::Const(Const::Func(self.func_ref()?)));
        }
        let word = self.peek_word();
        if word.is_empty() || split_local(word).is_some() || self.mark_behind_word() == b'@' {
            return Ok(Operand::Copy(self.place()?));
        }
        self.at += word.len();
        let constant = match word {
            "move" => return Ok(Operand::Move(self.place()?)),
            "float" => {
                let text = self.quoted()?;
                self.want(":")?;
                Const::Float(text, self.ty()?)
            }
            "null" => {
                self.want(":")?;
                Const::Null(self.ty()?)
            }
            "sizeof" => Const::SizeOf(self.one_ty()?),
            "alignof" => Const::AlignOf(self.one_ty()?),
            "offsetof" => {
                self.want("(")?;
                let ty = self.ty()?;
                self.want(",")?;
                let mut path = vec![self.number()?];
                while self.take(".") {
                    path.push(self.number()?);
                }
                self.want(")")?;
                Const::OffsetOf(ty, path)
            }
            other => return self.error(format!("`{other}` is no operand")),
        };
        Ok(Operand::Const(constant))
    }

    fn address(&mut self) -> Res<Operand> {
        let key = if self.take("$") {
            ConstAddrKey::Str(StrId(self.number()?))
        } else {
            ConstAddrKey::Global(GlobalId(self.numbered('@')?))
        };
        self.want("+")?;
        let offset = self.number()?;
        self.want(":")?;
        Ok(Operand::Const(Const::Addr(key, offset, self.ty()?)))
    }

    fn one_ty(&mut self) -> Res<Ty> {
        self.want("(")?;
        let ty = self.ty()?;
        self.want(")")?;
        Ok(ty)
    }

    fn one(&mut self) -> Res<Operand> {
        self.want("(")?;
        let operand = self.operand()?;
        self.want(")")?;
        Ok(operand)
    }

    fn two(&mut self) -> Res<[Operand; 2]> {
        self.want("(")?;
        let a = self.operand()?;
        self.want(",")?;
        let b = self.operand()?;
        self.want(")")?;
        Ok([a, b])
    }

    fn three(&mut self) -> Res<[Operand; 3]> {
        self.want("(")?;
        let a = self.operand()?;
        self.want(",")?;
        let b = self.operand()?;
        self.want(",")?;
        let c = self.operand()?;
        self.want(")")?;
        Ok([a, b, c])
    }

    fn operand_and_ty(&mut self) -> Res<(Operand, Ty)> {
        self.want("(")?;
        let operand = self.operand()?;
        self.want(",")?;
        let ty = self.ty()?;
        self.want(")")?;
        Ok((operand, ty))
    }

    fn value(&mut self) -> Res<Rvalue> {
        let word = self.peek_word();
        if word.is_empty() || self.rest().as_bytes().get(word.len()) != Some(&b'(') {
            return Ok(Rvalue::Use(self.operand()?));
        }
        let start = self.at;
        self.at += word.len();
        if let Some(op) = binary(word) {
            self.want("(")?;
            let a = self.operand()?;
            self.want(",")?;
            let b = self.operand()?;
            self.want(",")?;
            let ty = self.ty()?;
            self.want(")")?;
            return Ok(Rvalue::Binary(op, a, b, ty));
        }
        if let Some(op) = unary(word) {
            return Ok(Rvalue::Unary(op, self.one()?));
        }
        if let Some(op) = word.strip_prefix("count_").and_then(binary) {
            let [a, b] = self.two()?;
            return Ok(Rvalue::CountArith(op, a, b));
        }
        Ok(match word {
            "numeric" => {
                let (a, ty) = self.operand_and_ty()?;
                Rvalue::Numeric(a, ty)
            }
            "bits" => {
                let (a, ty) = self.operand_and_ty()?;
                Rvalue::Bits(a, ty)
            }
            "addr" => Rvalue::AddrOf(self.one_place()?),
            "tag" => Rvalue::Tag(self.one_place()?),
            "remaining" => Rvalue::Remaining(self.one()?),
            "measure" => Rvalue::Measure(self.one()?),
            "truth" => Rvalue::Truth(self.one()?),
            "clamp" => Rvalue::Clamp(self.one()?),
            "block_size" => Rvalue::BlockSize(self.one()?),
            "offset" => {
                let [a, b] = self.two()?;
                Rvalue::Offset(a, b)
            }
            "difference" => {
                let [a, b] = self.two()?;
                Rvalue::Difference(a, b)
            }
            "retain" => Rvalue::Retain(self.one()?),
            "fat" | "counted" | "alloc" | "part" | "typed" | "va_arg" | "builtin" | "label" | "borrow" | "new_key" => {
                self.typed_value(word)?
            }
            _ => {
                self.at = start;
                Rvalue::Use(self.operand()?)
            }
        })
    }

    /// Values whose arguments mix types and operands.
    fn typed_value(&mut self, word: &str) -> Res<Rvalue> {
        self.want("(")?;
        let value = match word {
            "fat" => {
                let ty = self.ty()?;
                self.want(",")?;
                let ptr = self.operand()?;
                self.want(",")?;
                let lo = self.operand()?;
                self.want(",")?;
                Rvalue::MakeFat { ty, ptr, lo, hi: self.operand()? }
            }
            "counted" => {
                let ptr = self.operand()?;
                self.want(",")?;
                let count = self.operand()?;
                self.want(",")?;
                Rvalue::MakeCounted { ty: self.ty()?, ptr, count }
            }
            "alloc" => self.alloc()?,
            "borrow" => {
                let word = self.word()?;
                let Some(kind) = borrow_kind(word) else {
                    return self.error("expected how the path is lent");
                };
                self.want(",")?;
                let place = self.place()?;
                self.want(",")?;
                Rvalue::Borrow(kind, place, self.ty()?)
            }
            "new_key" => {
                let word = self.word()?;
                let Some(kind) = KEY_KINDS.into_iter().find(|kind| kind.word() == word) else {
                    return self.error("expected a kind of key");
                };
                self.want(",")?;
                Rvalue::NewKey(kind, self.ty()?)
            }
            "part" => {
                let a = self.operand()?;
                self.want(",")?;
                let part = match self.word()? {
                    "ptr" => Part::Ptr,
                    "lo" => Part::Lo,
                    "hi" => Part::Hi,
                    "type" => Part::Type,
                    _ => return self.error("expected `ptr`, `lo`, `hi` or `type`"),
                };
                self.want(",")?;
                Rvalue::Part(a, part, self.ty()?)
            }
            "typed" => {
                let a = self.operand()?;
                self.want(",")?;
                let of = self.ty()?;
                self.want(",")?;
                Rvalue::MakeTypedVoid(a, of, self.ty()?)
            }
            "va_arg" => {
                let place = self.place()?;
                self.want(",")?;
                Rvalue::VaArg(place, self.ty()?)
            }
            "builtin" => {
                let name = self.quoted()?;
                self.want(",")?;
                let ty = self.ty()?;
                let mut args = vec![];
                while self.take(",") {
                    args.push(self.operand()?);
                }
                Rvalue::Builtin(name, args, ty)
            }
            _ => {
                let block = self.block_id()?;
                self.want(",")?;
                Rvalue::LabelAddr(block, self.ty()?)
            }
        };
        self.want(")")?;
        Ok(value)
    }

    fn alloc(&mut self) -> Res<Rvalue> {
        let elem = self.ty()?;
        self.want(",")?;
        let count = self.operand()?;
        let (mut extra, mut hidden_zero, mut fallible) = (None, false, false);
        let (mut handle, mut counted, mut reuse) = (None, false, None);
        while self.take(",") {
            match self.word()? {
                "extra" => extra = Some(self.operand()?),
                "hidden_zero" => hidden_zero = true,
                "fallible" => fallible = true,
                "handle" => handle = Some(self.operand()?),
                "counted" => counted = true,
                "reuse" => reuse = Some(self.operand()?),
                _ => return self.error("expected `extra`, `handle`, `reuse`, `counted`, `hidden_zero` or `fallible`"),
            }
        }
        Ok(Rvalue::Alloc { elem, count, extra, hidden_zero, fallible, handle, counted, reuse })
    }

    fn check(&mut self) -> Res<Check> {
        let word = self.word()?;
        match Check::read(word, self)? {
            Some(check) => Ok(check),
            None => self.error(format!("`{word}` is no check")),
        }
    }
}

/// Name and number of `name_3`.
fn split_local(word: &str) -> Option<(&str, u32)> {
    let (name, digits) = word.rsplit_once('_')?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let number = digits.parse().ok().filter(|_| canonical && !digits.starts_with('+'))?;
    Some((name, number))
}

const KEY_KINDS: [KeyKind; 5] = [KeyKind::Arena, KeyKind::Reap, KeyKind::RcArena, KeyKind::RcReap, KeyKind::Exchange];

fn borrow_kind(word: &str) -> Option<BorrowKind> {
    use BorrowKind::*;
    [Shared, View, Any, Lend, Slot, Sight, Read, Look].into_iter().find(|&kind| crate::print::borrow_word(kind) == word)
}

fn region_kind(word: &str) -> Option<RegionKind> {
    use RegionKind::*;
    [Param, ParamKey, Block, Lifo(false), Lifo(true), Dynamic, Hidden, Loan]
        .into_iter()
        .find(|&kind| crate::print::region_kind_word(kind) == word)
}

fn binary(word: &str) -> Option<BinOp> {
    use BinOp::*;
    [Mul, Div, Rem, Add, Sub, Shl, Shr, BitAnd, BitXor, BitOr, Lt, Gt, Le, Ge, Eq, Ne]
        .into_iter()
        .find(|&op| crate::print::bin_word(op) == word)
}

fn unary(word: &str) -> Option<UnOp> {
    use UnOp::*;
    [Neg, BitNot, Not, Real, Imag].into_iter().find(|&op| crate::print::un_word(op) == word)
}
