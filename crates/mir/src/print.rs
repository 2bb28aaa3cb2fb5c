//! MIR as text: one statement a line, tables of types and symbols in front, so that a MIR file
//! stands alone. `parse` reads it back; printing what was parsed gives the same text.

use crate::ir::*;
use crate::print_types::{
    format_text, func_text, global_text, local_text, quoted, quoted_name, region_text, write_args, write_qty,
    write_tables, write_ty,
};
use source::{SourceMap, Span, Symbol};
use std::fmt::Write;
use typing::contracts::StateId;
use typing::tree::{BorrowKind, RegionKind};
use typing::types::Ty;

/// The whole program. With a map, each statement carries its source place as a comment.
pub fn program(program: &Program, map: Option<&SourceMap>) -> String {
    let mut out = String::new();
    write_tables(&mut out, program);
    for (word, bodies) in [("body", &program.bodies), ("instance", &program.instances)] {
        for body in bodies {
            out.push('\n');
            Printer { program, body, map }.body(&mut out, word);
        }
    }
    out
}

/// One body.
pub fn body(program: &Program, body: &Body, map: Option<&SourceMap>) -> String {
    let mut out = String::new();
    Printer { program, body, map }.body(&mut out, "body");
    out
}

/// One statement.
pub fn stmt(program: &Program, body: &Body, stmt: &Stmt) -> String {
    printer(program, body).stmt(stmt)
}

/// One terminator.
pub fn terminator(program: &Program, body: &Body, kind: &TermKind) -> String {
    printer(program, body).term(kind)
}

/// One place.
pub fn place(program: &Program, body: &Body, place: &Place) -> String {
    printer(program, body).place(place)
}

/// One operand.
pub fn operand(program: &Program, body: &Body, operand: &Operand) -> String {
    printer(program, body).operand(operand)
}

fn printer<'a>(program: &'a Program, body: &'a Body) -> Printer<'a> {
    Printer { program, body, map: None }
}

pub(crate) struct Printer<'a> {
    program: &'a Program,
    body: &'a Body,
    map: Option<&'a SourceMap>,
}

/// The notation's word for a binary operator.
pub(crate) fn bin_word(op: BinOp) -> &'static str {
    match op {
        BinOp::Mul => "mul",
        BinOp::Div => "div",
        BinOp::Rem => "rem",
        BinOp::Add => "add",
        BinOp::Sub => "sub",
        BinOp::Shl => "shl",
        BinOp::Shr => "shr",
        BinOp::BitAnd => "and",
        BinOp::BitXor => "xor",
        BinOp::BitOr => "or",
        BinOp::Lt => "lt",
        BinOp::Gt => "gt",
        BinOp::Le => "le",
        BinOp::Ge => "ge",
        BinOp::Eq => "eq",
        BinOp::Ne => "ne",
    }
}

/// The notation's word for a unary operator.
pub(crate) fn un_word(op: UnOp) -> &'static str {
    match op {
        UnOp::Neg => "neg",
        UnOp::BitNot => "bitnot",
        UnOp::Not => "not",
        UnOp::Real => "real",
        UnOp::Imag => "imag",
    }
}

/// The notation's word for a word of a pointer.
pub(crate) fn part_word(part: Part) -> &'static str {
    match part {
        Part::Ptr => "ptr",
        Part::Lo => "lo",
        Part::Hi => "hi",
        Part::Type => "type",
    }
}

/// The notation's word for what a region is.
pub(crate) fn region_kind_word(kind: RegionKind) -> &'static str {
    match kind {
        RegionKind::Param => "param",
        RegionKind::ParamKey => "param_key",
        RegionKind::Block => "block",
        RegionKind::Lifo(false) => "arena",
        RegionKind::Lifo(true) => "reap",
        RegionKind::Dynamic => "dynamic",
        RegionKind::Hidden => "hidden",
        RegionKind::Loan => "loan",
    }
}

/// The notation's word for how a path is lent.
pub(crate) fn borrow_word(kind: BorrowKind) -> &'static str {
    match kind {
        BorrowKind::Shared => "shared",
        BorrowKind::View => "view",
        BorrowKind::Any => "any",
        BorrowKind::Lend => "lend",
        BorrowKind::Slot => "slot",
        BorrowKind::Sight => "sight",
        BorrowKind::Read => "read",
        BorrowKind::Look => "look",
    }
}

impl Printer<'_> {
    fn body(&self, out: &mut String, word: &str) {
        let body = self.body;
        let _ = write!(out, "{word} {}", func_text(self.program, &body.func));
        let _ = write!(out, " params {}", body.params);
        out.push_str(if body.unchecked { " unchecked" } else { "" });
        if let Some(format) = &body.format {
            let _ = write!(out, " format {}", format_text(format));
        }
        if body.infer_regions > 0 {
            let _ = write!(out, " infer {}", body.infer_regions);
        }
        out.push_str(" {");
        self.comment(out, body.span);
        for (n, scope) in body.scopes.iter().enumerate() {
            let _ = write!(out, "  scope {n}");
            if let Some(parent) = scope.parent {
                let _ = write!(out, " in {}", parent.0);
            }
            self.comment(out, scope.span);
        }
        for (n, region) in body.regions.iter().enumerate() {
            let name = region.decl.name.map_or("-".into(), quoted_name);
            let kind = region_kind_word(region.decl.kind);
            let _ = write!(out, "  region @r{n} {name} {kind} scope {}", region.scope.0);
            self.comment(out, region.decl.span);
        }
        for (n, decl) in body.locals.iter().enumerate() {
            self.decl(out, Local(n as u32), decl);
        }
        for (name, block) in &body.address_labels {
            let _ = writeln!(out, "  label {} bb{}", quoted_name(*name), block.0);
        }
        for (n, block) in body.blocks.iter().enumerate() {
            let _ = writeln!(out, "bb{n}:");
            for stmt in &block.stmts {
                let _ = write!(out, "  {}", self.stmt(stmt));
                self.comment(out, stmt.span);
            }
            let _ = write!(out, "  {}", self.term(&block.term.kind));
            self.comment(out, block.term.span);
        }
        out.push('}');
        self.comment(out, body.end);
    }

    fn comment(&self, out: &mut String, span: Span) {
        if let Some(map) = self.map {
            if span != Span::NONE {
                let at = map.locate(span);
                let _ = write!(out, "  // {}:{}", at.line, at.column);
            }
        }
        out.push('\n');
    }

    fn decl(&self, out: &mut String, number: Local, decl: &LocalDecl) {
        let word = match decl.kind {
            LocalKind::Param => "param",
            LocalKind::Var => "var",
            LocalKind::Temp => "temp",
            LocalKind::Cell => "cell",
        };
        let _ = write!(out, "  {word} {}: ", local_text(decl.name, number));
        write_qty(out, &self.program.types, decl.ty);
        let _ = write!(out, " scope {}", decl.scope.0);
        out.push_str(if decl.address_taken { " address" } else { "" });
        out.push_str(if decl.slot { " slot" } else { "" });
        out.push_str(if decl.heap { " heap" } else { "" });
        if let Some(align) = decl.align {
            let _ = write!(out, " align {align}");
        }
        self.comment(out, decl.span);
    }

    pub(crate) fn ty(&self, ty: Ty) -> String {
        let mut out = String::new();
        write_ty(&mut out, &self.program.types, ty);
        out
    }

    fn local(&self, local: Local) -> String {
        let name = self.body.locals.get(local.0 as usize).and_then(|decl| decl.name);
        local_text(name, local)
    }

    pub(crate) fn place(&self, place: &Place) -> String {
        let mut out = match place.base {
            PlaceBase::Local(l) => self.local(l),
            PlaceBase::Global(g) => global_text(self.program, g),
            PlaceBase::Str(s) => format!("${}", s.0),
        };
        out.push_str(&self.steps(&place.proj));
        out
    }

    fn steps(&self, steps: &[Proj]) -> String {
        let mut out = String::new();
        for step in steps {
            match step {
                Proj::Deref => out.push_str(".*"),
                Proj::Field(n) => {
                    let _ = write!(out, ".{n}");
                }
                Proj::Index(index) => {
                    let _ = write!(out, "[{}]", self.operand(index));
                }
            }
        }
        out
    }

    pub(crate) fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Copy(place) => self.place(place),
            Operand::Move(place) => format!("move {}", self.place(place)),
            Operand::Const(constant) => self.constant(constant),
        }
    }

    fn operands(&self, operands: &[Operand]) -> String {
        let texts: Vec<String> = operands.iter().map(|o| self.operand(o)).collect();
        texts.join(", ")
    }

    fn constant(&self, constant: &Const) -> String {
        match constant {
            Const::Int(n, ty) => format!("{n}:{}", self.ty(*ty)),
            Const::Float(text, ty) => format!("float {}:{}", quoted_name(*text), self.ty(*ty)),
            Const::Null(ty) => format!("null:{}", self.ty(*ty)),
            Const::Func(func) => func_text(self.program, func),
            Const::SizeOf(ty) => format!("sizeof({})", self.ty(*ty)),
            Const::AlignOf(ty) => format!("alignof({})", self.ty(*ty)),
            Const::OffsetOf(ty, path) => {
                let steps: Vec<String> = path.iter().map(u32::to_string).collect();
                format!("offsetof({}, {})", self.ty(*ty), steps.join("."))
            }
            Const::Addr(key, offset, ty) => {
                let base = match key {
                    ConstAddrKey::Global(g) => global_text(self.program, *g),
                    ConstAddrKey::Str(s) => format!("${}", s.0),
                };
                format!("&{base}+{offset}:{}", self.ty(*ty))
            }
        }
    }

    fn value(&self, value: &Rvalue) -> String {
        let op = |o: &Operand| self.operand(o);
        match value {
            Rvalue::Use(a) => op(a),
            Rvalue::Unary(word, a) => format!("{}({})", un_word(*word), op(a)),
            Rvalue::Binary(word, a, b, ty) => {
                format!("{}({}, {}, {})", bin_word(*word), op(a), op(b), self.ty(*ty))
            }
            Rvalue::Numeric(a, ty) => format!("numeric({}, {})", op(a), self.ty(*ty)),
            Rvalue::Bits(a, ty) => format!("bits({}, {})", op(a), self.ty(*ty)),
            Rvalue::AddrOf(place) => format!("addr({})", self.place(place)),
            Rvalue::MakeFat { ty, ptr, lo, hi } => {
                format!("fat({}, {}, {}, {})", self.ty(*ty), op(ptr), op(lo), op(hi))
            }
            Rvalue::Part(a, part, ty) => {
                format!("part({}, {}, {})", op(a), part_word(*part), self.ty(*ty))
            }
            Rvalue::MakeTypedVoid(a, of, ty) => {
                format!("typed({}, {}, {})", op(a), self.ty(*of), self.ty(*ty))
            }
            Rvalue::Offset(a, n) => format!("offset({}, {})", op(a), op(n)),
            Rvalue::Difference(a, b) => format!("difference({}, {})", op(a), op(b)),
            Rvalue::Remaining(a) => format!("remaining({})", op(a)),
            Rvalue::Measure(a) => format!("measure({})", op(a)),
            Rvalue::MakeCounted { ty, ptr, count } => format!("counted({}, {}, {})", op(ptr), op(count), self.ty(*ty)),
            Rvalue::Clamp(a) => format!("clamp({})", op(a)),
            Rvalue::CountArith(word, a, b) => format!("count_{}({}, {})", bin_word(*word), op(a), op(b)),
            Rvalue::BlockSize(a) => format!("block_size({})", op(a)),
            Rvalue::Borrow(kind, place, ty) => {
                format!("borrow({}, {}, {})", borrow_word(*kind), self.place(place), self.ty(*ty))
            }
            Rvalue::Retain(a) => format!("retain({})", op(a)),
            Rvalue::NewKey(kind, ty) => format!("new_key({}, {})", kind.word(), self.ty(*ty)),
            Rvalue::Alloc { elem, count, extra, hidden_zero, fallible, handle, counted, reuse } => {
                let mut out = format!("alloc({}, {}", self.ty(*elem), op(count));
                if let Some(extra) = extra {
                    let _ = write!(out, ", extra {}", op(extra));
                }
                if let Some(handle) = handle {
                    let _ = write!(out, ", handle {}", op(handle));
                }
                if let Some(old) = reuse {
                    let _ = write!(out, ", reuse {}", op(old));
                }
                out.push_str(if *counted { ", counted" } else { "" });
                out.push_str(if *hidden_zero { ", hidden_zero" } else { "" });
                out.push_str(if *fallible { ", fallible)" } else { ")" });
                out
            }
            Rvalue::Tag(place) => format!("tag({})", self.place(place)),
            Rvalue::Truth(a) => format!("truth({})", op(a)),
            Rvalue::VaArg(place, ty) => format!("va_arg({}, {})", self.place(place), self.ty(*ty)),
            Rvalue::Builtin(name, args, ty) => {
                let mut out = format!("builtin({}, {}", quoted_name(*name), self.ty(*ty));
                for arg in args {
                    let _ = write!(out, ", {}", op(arg));
                }
                out.push(')');
                out
            }
            Rvalue::LabelAddr(block, ty) => format!("label(bb{}, {})", block.0, self.ty(*ty)),
        }
    }

    fn stmt(&self, stmt: &Stmt) -> String {
        let text = self.stmt_kind(&stmt.kind);
        if stmt.is_unsafe {
            format!("unsafe {text}")
        } else {
            text
        }
    }

    fn stmt_kind(&self, kind: &StmtKind) -> String {
        match kind {
            StmtKind::Assign(place, value) => {
                format!("{} = {}", self.place(place), self.value(value))
            }
            StmtKind::Call { dest, callee, args, ty } => {
                let dest = dest.as_ref().map_or(String::new(), |place| format!("{} = ", self.place(place)));
                let callee = match callee {
                    Callee::Direct(func) => func_text(self.program, func),
                    Callee::Pointer(operand) => format!("*{}", self.operand(operand)),
                    Callee::Builtin(name) => format!("builtin {}", quoted_name(*name)),
                    Callee::Start(func) => format!("start {}", func_text(self.program, func)),
                    Callee::Spawn(func, question) => {
                        format!("spawn{} {}", if *question { "?" } else { "" }, func_text(self.program, func))
                    }
                };
                format!("{dest}call {callee}({}): {}", self.operands(args), self.ty(*ty))
            }
            StmtKind::Check(check) => format!("check {}", check.text(self)),
            StmtKind::Prove(proof) => format!("prove {}", self.proof(proof)),
            StmtKind::StorageLive(l) => format!("live {}", self.local(*l)),
            StmtKind::StorageDead(l) => format!("dead {}", self.local(*l)),
            StmtKind::Zero(place) => format!("zero {}", self.place(place)),
            StmtKind::CopyElements { to, from, count } => {
                format!("copy_elements({}, {}, {})", self.operand(to), self.operand(from), self.operand(count))
            }
            StmtKind::SetTag(place, member) => format!("set_tag({}, {member})", self.place(place)),
            StmtKind::VaStart(place) => format!("va_start({})", self.place(place)),
            StmtKind::VaEnd(place) => format!("va_end({})", self.place(place)),
            StmtKind::VaCopy(to, from) => {
                format!("va_copy({}, {})", self.place(to), self.place(from))
            }
            StmtKind::Assembly(asm) => self.asm(asm),
            StmtKind::ArenaBegin(l, region) => format!("arena_begin({}, @r{region})", self.local(*l)),
            StmtKind::ArenaEnd(l, region) => format!("arena_end({}, @r{region})", self.local(*l)),
            StmtKind::OpenBegin(l, key, region) => {
                format!("open({}, {}, {})", self.local(*l), self.place(key), region_text(*region))
            }
            StmtKind::Close(l, key, region) => {
                format!("close({}, {}, {})", self.local(*l), self.place(key), region_text(*region))
            }
            StmtKind::Dispose { value, handle, moved } => {
                let mut out = format!("dispose({}", self.operand(value));
                if let Some(handle) = handle {
                    let _ = write!(out, ", handle {}", self.operand(handle));
                }
                if !moved.is_empty() {
                    let paths: Vec<String> = moved.iter().map(|path| self.steps(path)).collect();
                    let _ = write!(out, ", moved {{ {} }}", paths.join(", "));
                }
                out.push(')');
                out
            }
            StmtKind::DropSlot(place) => format!("drop_slot({})", self.place(place)),
            StmtKind::Exchange(a, b) => format!("swap({}, {})", self.place(a), self.place(b)),
            StmtKind::CursorEnd(l) => format!("cursor_end({})", self.local(*l)),
            StmtKind::CursorBegin(l, place) => format!("cursor_begin({}, {})", self.local(*l), self.place(place)),
            StmtKind::Pack(place, regions) => {
                let regions: Vec<String> = regions.iter().map(|r| region_text(*r)).collect();
                format!("pack({}, [{}])", self.place(place), regions.join(", "))
            }
            StmtKind::UnpackBegin { place, regions, moves } => {
                let regions: Vec<String> = regions.iter().map(|r| format!("@r{r}")).collect();
                let word = if *moves { "unpack_move" } else { "unpack_lend" };
                format!("{word}({}, [{}])", self.place(place), regions.join(", "))
            }
            StmtKind::UnpackEnd(place, regions) => {
                let regions: Vec<String> = regions.iter().map(|r| format!("@r{r}")).collect();
                format!("unpack_end({}, [{}])", self.place(place), regions.join(", "))
            }
            StmtKind::ChannelNew { contract, state, imp, exp } => {
                let ends = format!("{}, {}", self.place(imp), self.place(exp));
                format!("channel({}, {}, {ends})", contract_text(self.program, *contract), state.0)
            }
            StmtKind::Send { end, message, args } => {
                format!("send({}, {}, [{}])", self.place(end), message.0, self.operands(args))
            }
            StmtKind::Select { dest, cases, has_default } => {
                let cases: Vec<String> = cases.iter().map(|case| self.case(case)).collect();
                let word = if *has_default { "select_default" } else { "select" };
                format!("{word}({}, [{}])", self.place(dest), cases.join(", "))
            }
            StmtKind::Receive { end, head, binds, waits } => {
                let binds: Vec<String> = binds.iter().map(|bind| self.place(bind)).collect();
                let word = if *waits { "receive" } else { "take" };
                format!("{word}({}, {}, [{}])", self.place(end), head_text(*head), binds.join(", "))
            }
            StmtKind::SetNew(set) => format!("set_new({})", self.place(set)),
            StmtKind::SetAdd { set, end, value } => {
                let values: Vec<String> =
                    [Some(end), value.as_ref()].into_iter().flatten().map(|v| self.operand(v)).collect();
                format!("set_add({}, [{}])", self.place(set), values.join(", "))
            }
            StmtKind::SetTake { set, head, end, value } => {
                let dests: Vec<String> =
                    [Some(end), value.as_ref()].into_iter().flatten().map(|p| self.place(p)).collect();
                format!("set_take({}, {}, [{}])", self.place(set), head_text(*head), dests.join(", "))
            }
            StmtKind::Nop => "nop".into(),
        }
    }

    fn case(&self, case: &SelectCase) -> String {
        match case {
            SelectCase::Heads(heads) => {
                let each = |(end, head): &(Place, Head)| format!("{}: {}", self.place(end), head_text(*head));
                format!("heads({})", heads.iter().map(each).collect::<Vec<_>>().join(", "))
            }
            SelectCase::After(time) => format!("after({})", self.operand(time)),
        }
    }

    fn asm(&self, asm: &Asm) -> String {
        let mut out = String::from("asm ");
        out.push_str(if asm.volatile { "volatile " } else { "" });
        out.push_str(&quoted(&asm.template));
        let name = |n: Option<Symbol>| n.map_or("-".into(), quoted_name);
        let outputs: Vec<String> =
            asm.outputs.iter().map(|(n, c, p)| format!("{} {} {}", name(*n), quoted(c), self.place(p))).collect();
        let inputs: Vec<String> =
            asm.inputs.iter().map(|(n, c, o)| format!("{} {} {}", name(*n), quoted(c), self.operand(o))).collect();
        let clobbers: Vec<String> = asm.clobbers.iter().map(|c| quoted(c)).collect();
        let _ = write!(out, " ({}) ({}) ({})", outputs.join(", "), inputs.join(", "), clobbers.join(", "));
        if !asm.labels.is_empty() {
            let labels: Vec<String> = asm.labels.iter().map(|l| quoted(l.as_str().as_bytes())).collect();
            let _ = write!(out, " goto ({})", labels.join(", "));
        }
        out
    }

    fn proof(&self, proof: &Proof) -> String {
        let list = |states: &[StateId]| {
            let numbers: Vec<String> = states.iter().map(|state| state.0.to_string()).collect();
            numbers.join(", ")
        };
        match proof {
            Proof::NonNull(a) => format!("nonnull({})", self.operand(a)),
            Proof::EndCases { end, states, has_default } => {
                let word = if *has_default { ", default" } else { "" };
                format!("end_cases({}, [{}]{word})", self.operand(end), list(states))
            }
            Proof::EndFound { end, states, closed } => {
                let word = if *closed { ", closed" } else { "" };
                format!("end_found({}, [{}]{word})", self.operand(end), list(states))
            }
        }
    }

    fn term(&self, kind: &TermKind) -> String {
        match kind {
            TermKind::Goto(block) => format!("goto bb{}", block.0),
            TermKind::If(a, yes, no) => {
                format!("if {} bb{} else bb{}", self.operand(a), yes.0, no.0)
            }
            TermKind::Switch(a, arms, other) => {
                let mut out = format!("switch {} {{ ", self.operand(a));
                for (lo, hi, block) in arms {
                    if lo == hi {
                        let _ = write!(out, "{lo}: bb{}, ", block.0);
                    } else {
                        let _ = write!(out, "{lo}..{hi}: bb{}, ", block.0);
                    }
                }
                let _ = write!(out, "else: bb{} }}", other.0);
                out
            }
            TermKind::Return(None) => "return".into(),
            TermKind::Return(Some(a)) => format!("return {}", self.operand(a)),
            TermKind::MissingReturn => "missing_return".into(),
            TermKind::Unreachable => "unreachable".into(),
            TermKind::GotoComputed(a) => format!("goto *{}", self.operand(a)),
        }
    }
}

/// A function with type arguments, for messages of tools that list instances.
pub fn func_name(program: &Program, func: &typing::tree::FuncRef) -> String {
    let mut out = program.functions.get(func.func.0 as usize).map_or("?".into(), |f| f.name.to_string());
    if !func.args.is_empty() {
        write_args(&mut out, &program.types, &func.args);
    }
    out
}

fn head_text(head: Head) -> String {
    match head {
        Head::Message(message) => message.0.to_string(),
        Head::Closed => "closed".into(),
        Head::Empty => "empty".into(),
        Head::Any => "any".into(),
    }
}

fn contract_text(program: &Program, id: typing::contracts::ContractId) -> String {
    let name = program.types.contract(id).map_or(String::new(), |contract| contract.name.to_string());
    format!("{name}^{}", id.0)
}
