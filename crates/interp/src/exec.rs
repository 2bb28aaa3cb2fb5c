//! What each statement does.

use crate::arith;
use crate::code::*;
use crate::machine::*;
use crate::memory::*;
use crate::table::{Note, Watch};
use crate::types::{self, in_heap};
use crate::ReportKind;
use mir::ir::{BinOp, UnOp};
use std::rc::Rc;
use typing::tree::FuncRef;
use typing::types::*;

/// How it continues.
pub enum Flow {
    /// With the next statement.
    Next,
    /// Another call is the innermost one now.
    Called,
}

impl Machine<'_> {
    /// Runs tasks until the first one has ended; its status.
    pub fn run_task(&mut self) -> R<Option<i32>> {
        loop {
            if self.frames.is_empty() {
                if self.tasks.is_main() {
                    return Ok(Some(self.tasks.status));
                }
                self.task_ended()?;
                continue;
            }
            let ran = match self.slice() {
                Ok(()) if self.tasks.switch => self.yield_now(),
                Ok(()) => Ok(()),
                Err(stop) if matches!(*stop, Stop::Wait) => self.wait_now(),
                Err(stop) => Err(stop),
            };
            // What stops a process stops no other; one may stop because another did.
            let mut stopped = ran;
            while let Err(stop) = stopped {
                let last = matches!(*stop, Stop::Report(..) | Stop::Unsupported(_) | Stop::Limit(_));
                if last || self.tasks.process == 0 && !matches!(*stop, Stop::Gone) {
                    return Err(stop);
                }
                stopped = self.stopped(*stop);
            }
        }
    }

    /// Runs the innermost call until another one is.
    fn slice(&mut self) -> R<()> {
        let Some(code) = self.frames.last().map(|f| f.code.clone()) else { return Ok(()) };
        loop {
            let Some(frame) = self.frames.last() else { return Ok(()) };
            let (b, s) = (frame.block, frame.stmt);
            let Some(block) = code.blocks.get(b as usize) else { return unsupported("a broken jump") };
            self.steps += 1;
            if self.steps > self.options.steps {
                return Err(Box::new(Stop::Limit("steps")));
            }
            if self.steps > self.tasks.slice {
                self.slice_over();
                return Ok(());
            }
            if let Some((stmt, span, is_unsafe)) = block.stmts.get(s) {
                self.span = *span;
                self.in_unsafe = *is_unsafe;
                let watch = self.watch(block, s);
                let done = self.statement(stmt, &code);
                if let Some(watch) = watch {
                    self.watched(block, s, watch, &done)?;
                }
                match done? {
                    Flow::Next => {
                        if let Some(frame) = self.frames.last_mut() {
                            frame.stmt += 1;
                        }
                        if self.tasks.switch {
                            return Ok(());
                        }
                    }
                    Flow::Called => return Ok(()),
                }
                continue;
            }
            self.span = block.span;
            if let (Some(watch), Some(op)) = (self.watch(block, s), block.term.operand()) {
                let looked = self.peek(op);
                self.compare(block, s, watch)?;
                looked?;
            }
            let next = match &block.term {
                Term::Goto(b) => *b,
                Term::If(op, yes, no) => {
                    let value = self.peek(op)?;
                    let truth = match &value {
                        Val::Float(f) => *f != 0.0,
                        other => other.int() != 0,
                    };
                    if truth {
                        *yes
                    } else {
                        *no
                    }
                }
                Term::Switch(op, arms, other) => {
                    let value = self.peek(op)?.int();
                    arms.iter().find(|(lo, hi, _)| (*lo..=*hi).contains(&value)).map_or(*other, |(_, _, b)| *b)
                }
                Term::Return(op) => {
                    let value = match op {
                        Some(op) => Some(self.load(op, false)?),
                        None => None,
                    };
                    return self.give_back(value, &code);
                }
                Term::Missing if code.unchecked => return self.give_back(Some(Val::Int(0)), &code),
                Term::Missing | Term::Unreachable => return fault("unreachable code reached"),
                Term::Computed(op) => self.peek(op)?.int() as u32,
            };
            if let Some(frame) = self.frames.last_mut() {
                frame.block = next;
                frame.stmt = 0;
            }
        }
    }

    /// Compares what a statement did with the table, if it ran.
    fn watched(&mut self, block: &Block, at: usize, watch: Watch, done: &R<Flow>) -> R<()> {
        match done {
            Ok(Flow::Called) => self.mem.note(Note::Runs),
            Ok(Flow::Next) if self.tasks.switch => self.mem.note(Note::Waits),
            Err(stop) if matches!(**stop, Stop::Wait) => self.mem.note(Note::Waits),
            Ok(Flow::Next) => {}
            Err(_) => {
                self.mem.note_all(false);
                return Ok(());
            }
        }
        self.compare(block, at, watch)
    }

    fn give_back(&mut self, value: Option<Val>, code: &Code) -> R<()> {
        if code.ty.noreturn && !code.unchecked {
            return fault("unreachable code reached");
        }
        self.ends_given_back(value.as_ref(), code)?;
        let frame = self.leave()?;
        let detached = frame.is_none_or(|f| f.detached);
        if self.frames.is_empty() {
            let status = value.map_or(0, |v| v.int() as i32);
            self.tasks.status = if self.tasks.is_main() { status & 0xff } else { status };
            return Ok(());
        }
        if detached {
            return Ok(());
        }
        let Some(caller) = self.frames.last() else { return Ok(()) };
        let (outer, b, s) = (caller.code.clone(), caller.block, caller.stmt);
        let block = outer.blocks.get(b as usize);
        if let Some((block, (stmt, span, _))) = block.and_then(|b| Some((b, b.stmts.get(s)?))) {
            self.span = *span;
            if let (Stmt::Call { dest: Some(dest), .. }, Some(value)) = (stmt, &value) {
                let watch = self.watch(block, s);
                self.store(dest, value, As::Owner)?;
                if let Some(watch) = watch {
                    self.compare(block, s, watch)?;
                }
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.stmt += 1;
        }
        Ok(())
    }

    fn statement(&mut self, stmt: &Stmt, code: &Rc<Code>) -> R<Flow> {
        match stmt {
            Stmt::Assign(place, value) => {
                let (value, how) = self.value(value)?;
                let local = matches!(place.base, Base::Reg | Base::Local(_));
                if how == As::Lent && place.owns && !(local && place.steps.is_empty()) && value.addr() != 0 {
                    return report(ReportKind::LentGiven, "what is lent to this function is stored");
                }
                self.store(place, &value, how)?;
            }
            Stmt::Call { dest, callee, args, ty } => return self.call(dest.as_ref(), callee, args, ty),
            Stmt::Check(test) => self.check(test)?,
            Stmt::Live(local) => self.live(*local)?,
            Stmt::Dead(local) => self.dead(*local)?,
            Stmt::Zero(place) => {
                let loc = self.locate(place, true)?;
                if place.owns {
                    self.overwritten(loc, place.ty)?;
                }
                match self.mem.writable(loc, place.size) {
                    Ok(obj) => obj.write(loc.off, &vec![0; place.size as usize]),
                    Err(bad) => return self.refuse(bad, loc, place.size, "write"),
                }
            }
            Stmt::CopyElements { to, from, count, elem, size, left: at_most } => {
                let (to, from, mut count) = (self.peek(to)?.addr(), self.peek(from)?, self.peek(count)?.int() as u64);
                if *at_most {
                    count = count.min(left(from.words(), *size));
                }
                let from = from.addr();
                self.copy_elements(to, from, count, *elem, *size)?;
            }
            Stmt::SetTag(place, member) => {
                let loc = self.locate(place, true)?;
                match self.mem.writable(loc, 4) {
                    Ok(obj) => obj.write(loc.off, &member.to_le_bytes()),
                    Err(bad) => return self.refuse(bad, loc, 4, "write"),
                }
            }
            Stmt::VaStart(place) => {
                let rest = self.frames.last().map(|f| f.rest.clone()).unwrap_or_default();
                self.lists.push(rest);
                self.va_set(place, self.lists.len() as u64, 0)?;
            }
            Stmt::VaEnd(place) => self.va_set(place, 0, 0)?,
            Stmt::VaCopy(to, from) => {
                let loc = self.locate(from, true)?;
                let (list, at) = self.va_get(loc)?;
                self.va_set(to, list, at)?;
            }
            Stmt::ArenaBegin(place) => {
                let arena = self.new_arena();
                self.store(place, &Val::ptr(arena), As::Owner)?;
            }
            Stmt::ArenaEnd(place) => {
                let loc = self.locate(place, true)?;
                let handle = self.read_word(loc)?;
                self.end_arena(handle)?;
            }
            Stmt::Open(place, key) => {
                let loc = self.locate(key, true)?;
                let word = self.read_word(loc)?;
                if word == 0 {
                    return fault("null pointer");
                }
                let arena = self.mem.place(word);
                if self.mem.obj(arena.obj).is_none_or(|o| o.kind != Kind::Arena || o.state != State::Live) {
                    return report(ReportKind::UseAfterEnd, "a key is opened whose arena has ended");
                }
                self.store(place, &Val::ptr(word), As::Owner)?;
            }
            Stmt::Nop => {}
            Stmt::Dispose { value, handle, moved } => self.dispose(value, handle.as_ref(), moved)?,
            Stmt::DropSlot(place) => {
                let loc = self.locate(place, true)?;
                self.drop_slot(loc, place.ty)?;
            }
            Stmt::Swap(a, b, paths) => self.swap(a, b, *paths)?,
            Stmt::CursorEnd(local) => self.cursor_end(*local)?,
            Stmt::CursorBegin(local, cursor, of, slot) => self.cursor_begin(*local, cursor, of, *slot)?,
            Stmt::ChannelNew { contract, state, imp, exp } => self.channel_new(*contract, *state, imp, exp)?,
            Stmt::Send { end, message, args } => self.send(end, *message, args)?,
            Stmt::Select { dest, cases, after, has_default } => {
                self.select(dest, cases, after.as_ref(), *has_default)?;
            }
            Stmt::Receive { end, head, binds, waits } => self.receive(end, *head, binds, *waits)?,
            Stmt::SetNew(place) => self.set_new(place)?,
            Stmt::SetAdd { set, end, value } => self.set_add(set, end, value.as_ref())?,
            Stmt::SetTake { set, head, end, value } => self.set_take(set, *head, end, value.as_ref())?,
            Stmt::EndFound(end, states, closed) => self.end_found(end, states, *closed)?,
            Stmt::Unsupported(what) => return unsupported(*what),
        }
        let _ = code;
        Ok(Flow::Next)
    }

    // ---- right sides

    fn value(&mut self, value: &Value) -> R<(Val, As)> {
        let own = |v: Val| Ok((v, As::Owner));
        match value {
            Value::Use(op) => {
                let (value, how) = self.load_how(op)?;
                // A copy of an owner (a key that `unpack` lends) owns nothing.
                let copy = matches!(&op.kind, OpKind::Place(place, false) if place.owns);
                Ok((value, if copy { As::Lent } else { how }))
            }
            Value::Unary(op, a) => {
                let value = self.peek(a)?;
                own(match (op, &value) {
                    (UnOp::Neg, Val::Float(f)) => Val::Float(-f),
                    (UnOp::Neg, v) => Val::Int(arith::fit(v.int().wrapping_neg(), a.repr)),
                    (UnOp::BitNot, v) => Val::Int(arith::fit(!v.int(), a.repr)),
                    (UnOp::Not, Val::Float(f)) => Val::Int(i128::from(*f == 0.0)),
                    (UnOp::Not, v) => Val::Int(i128::from(v.int() == 0)),
                    (UnOp::Real, v) => v.clone(),
                    (UnOp::Imag, _) => Val::Float(0.0),
                })
            }
            Value::Binary(op, a, b, repr) => {
                let (x, y) = (self.peek(a)?, self.peek(b)?);
                match (&x, &y) {
                    (Val::Float(p), Val::Float(q)) => own(arith::floats(*op, *p, *q, *repr)),
                    _ => match arith::integers(*op, x.int(), y.int(), *repr) {
                        Some(n) => own(Val::Int(n)),
                        None => fault("division by zero"),
                    },
                }
            }
            Value::Numeric(a, to) => {
                let value = self.peek(a)?;
                own(arith::convert(&value, a.repr, *to))
            }
            Value::Bits(a, to) => {
                let (value, how) = self.load_how(a)?;
                let with = |v: Val| Ok((v, how));
                with(match (&value, to) {
                    (Val::Words(w), Repr::Words(_)) => Val::Words(*w),
                    (Val::Words(w), _) => Val::ptr(w[0]),
                    (Val::Int(n), Repr::Int(kind)) => Val::Int(kind.wrap(*n)),
                    (Val::Int(n), Repr::Bool) => Val::Int(i128::from(*n != 0)),
                    (Val::Int(n), Repr::Ptr | Repr::Words(_)) => Val::Int(i128::from(*n as u64)),
                    (other, _) => other.clone(),
                })
            }
            Value::AddrOf(place) => {
                let loc = self.locate(place, false)?;
                self.mem.note(Note::Address(loc));
                own(Val::ptr(self.mem.address(loc)))
            }
            Value::MakeFat(p, lo, hi) => {
                let (p, how) = self.load_how(p)?;
                let words = [p.addr(), self.peek(lo)?.addr(), self.peek(hi)?.addr()];
                Ok((Val::Words(words), how))
            }
            Value::Part(a, word) => {
                let (value, how) = self.load_how(a)?;
                let words = value.words();
                Ok((Val::ptr(words.get(*word).copied().unwrap_or(0)), how))
            }
            Value::MakeTypedVoid(a, of) => {
                let (value, how) = self.load_how(a)?;
                Ok((Val::Words([value.addr(), type_word(*of), 0]), how))
            }
            Value::Offset(a, n, stride) => {
                let value = self.load(a, false)?;
                let count = self.peek(n)?.int() as i64;
                own(match value {
                    Val::Words([p, lo, hi]) => {
                        let at = p.wrapping_sub(lo) as i64;
                        let moved = count.checked_mul(*stride as i64).and_then(|step| at.checked_add(step));
                        let at = moved.unwrap_or(-(*stride as i64));
                        Val::Words([lo.wrapping_add(at as u64), lo, hi])
                    }
                    other => Val::ptr(other.addr().wrapping_add((count as u64).wrapping_mul(*stride))),
                })
            }
            Value::Difference(a, b, stride) => {
                let (x, y) = (self.peek(a)?.addr(), self.peek(b)?.addr());
                let bytes = x.wrapping_sub(y) as i64;
                own(Val::Int(if *stride == 0 { 0 } else { i128::from(bytes / *stride as i64) }))
            }
            Value::Remaining(a, stride) => {
                let words = self.peek(a)?.words();
                own(Val::Int(i128::from(left(words, *stride))))
            }
            Value::Measure(a, width) => {
                let address = self.peek(a)?.addr();
                let n = if address == 0 { 0 } else { self.string_length(address, *width)? };
                own(Val::Int(i128::from(n)))
            }
            Value::MakeCounted(ptr, count, stride) => {
                let (value, how) = self.load_how(ptr)?;
                let p = value.addr();
                let n = self.peek(count)?.int().max(0) as u64;
                let hi = if p == 0 { 0 } else { p.wrapping_add(n.wrapping_mul(*stride)) };
                Ok((Val::Words([p, p, hi]), how))
            }
            Value::Clamp(a) => {
                let n = self.peek(a)?.int();
                own(Val::Int(n.max(0)))
            }
            Value::CountArith(op, a, b) => {
                let (x, y) = (self.peek(a)?.int() as i64, self.peek(b)?.int() as i64);
                let result = match op {
                    BinOp::Sub => x.checked_sub(y),
                    BinOp::Mul => x.checked_mul(y),
                    BinOp::Div => x.checked_div(y),
                    _ => x.checked_add(y),
                };
                match result {
                    Some(n) => own(Val::Int(i128::from(n))),
                    None => {
                        let sign = match op {
                            BinOp::Sub => '-',
                            BinOp::Mul => '*',
                            BinOp::Div => '/',
                            _ => '+',
                        };
                        let why = if sign == '/' && y == 0 { "divides by zero" } else { "does not fit in 64 bits" };
                        fault(format!("count {x} {sign} {y} {why}"))
                    }
                }
            }
            Value::BlockSize(a) => {
                let loc = self.mem.place(self.peek(a)?.addr());
                // The heap knows its blocks; what lies in an arena has no size of its own.
                let of_heap = |o: &Obj| o.kind == Kind::Heap && o.state == State::Live && o.arena == 0;
                let obj = self.mem.obj(loc.obj).filter(|o| of_heap(o) && loc.off == 0);
                own(Val::Int(obj.map_or(0, |o| i128::from(o.size))))
            }
            Value::Alloc(alloc) => {
                let value = self.alloc(alloc)?;
                own(value)
            }
            Value::Borrow(op, lend) => {
                let value = self.peek(op)?;
                Ok((value, if *lend { As::Lent } else { As::Owner }))
            }
            Value::Retain(a) => {
                let value = self.peek(a)?;
                self.retain(value.addr())?;
                own(value)
            }
            Value::NewKey => {
                let arena = self.new_arena();
                own(Val::ptr(arena))
            }
            Value::Tag(place) => {
                let loc = self.locate(place, true)?;
                let tag = self.read(loc, Repr::Int(IntKind::UInt), 4, None)?;
                own(Val::Int(i128::from(tag.int() as i32)))
            }
            Value::Truth(a) => {
                let value = self.peek(a)?;
                own(Val::Int(i128::from(match value {
                    Val::Float(f) => f != 0.0,
                    other => other.int() != 0,
                })))
            }
            Value::VaArg(place, repr, size) => {
                let value = self.va_arg(place, *repr, *size)?;
                own(value)
            }
            Value::Builtin(name, args, repr) => {
                let mut values = vec![];
                for arg in args {
                    values.push((self.peek(arg)?, arg.repr));
                }
                let value = self.builtin(name.as_str(), &values, *repr)?;
                own(value)
            }
            Value::Label(block) => own(Val::Int(i128::from(*block))),
        }
    }

    /// Reads an operand; what is lent stays lent.
    fn load_how(&mut self, op: &Op) -> R<(Val, As)> {
        let (place, moves) = match &op.kind {
            OpKind::Place(place, moves) if place.owns => (place, *moves),
            _ => return Ok((self.peek(op)?, As::Owner)),
        };
        let loc = self.locate(place, true)?;
        let lent = self.slots(loc, place.ty).iter().any(|(_, _, address, mark)| *address != 0 && *mark == LENT);
        let value = if moves { self.load(op, true)? } else { self.peek(op)? };
        Ok((value, if lent { As::Lent } else { As::Owner }))
    }

    fn alloc(&mut self, alloc: &Alloc) -> R<Val> {
        let count = self.peek(&alloc.count)?.int() as i64;
        let extra = match &alloc.extra {
            Some(extra) => self.peek(extra)?.int() as u64,
            None => 0,
        };
        if let Some(reuse) = &alloc.reuse {
            let old = self.load(reuse, true)?.addr();
            if old != 0 {
                let target = self.program.types.as_pointer(reuse.ty).map(|p| p.target.ty);
                self.keeps_nothing(self.mem.place(old), target)?;
                self.free_block(old, false)?;
            }
        }
        let hidden = if alloc.hidden_zero { alloc.size } else { 0 };
        let bytes = u64::try_from(count)
            .ok()
            .and_then(|n| n.checked_mul(alloc.size))
            .and_then(|n| n.checked_add(extra))
            .and_then(|n| n.checked_add(hidden))
            .filter(|&n| n <= LARGEST.min(self.options.memory));
        let Some(bytes) = bytes else {
            if alloc.fallible {
                return Ok(Val::Int(0));
            }
            let text = match count {
                1 => format!("out of memory ({} bytes)", alloc.size.saturating_add(extra)),
                n => format!("out of memory ({n} elements of {} bytes)", alloc.size),
            };
            return fault(text);
        };
        self.may_collect(bytes)?;
        self.within_limits(bytes)?;
        if self.mem.bytes + bytes > self.options.memory {
            return Err(Box::new(Stop::Limit("memory")));
        }
        let arena = match &alloc.handle {
            Some(handle) => {
                let address = self.peek(handle)?.addr();
                if address == 0 {
                    return fault("null pointer");
                }
                let loc = self.mem.place(address);
                if self.mem.obj(loc.obj).is_none_or(|o| o.kind != Kind::Arena || o.state != State::Live) {
                    return report(ReportKind::UseAfterEnd, "an allocation in an arena that has ended");
                }
                loc.obj
            }
            None => 0,
        };
        let id = self.mem.make(Kind::Heap, bytes, alloc.align, self.span);
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.elem = alloc.elem.0 + 1;
            obj.arena = arena;
            obj.count = u32::from(alloc.counted);
            obj.counted = alloc.counted;
            obj.exchange = alloc.exchange;
        }
        if arena != 0 {
            self.arenas.entry(arena).or_default().push(id);
        }
        Ok(Val::ptr(self.mem.address(Loc { obj: id, off: 0 })))
    }

    // ---- calls

    fn call(&mut self, dest: Option<&Place>, callee: &Callee, args: &[Op], ty: &Rc<FuncTy>) -> R<Flow> {
        let func = match callee {
            Callee::Direct(func) => func.clone(),
            Callee::Pointer(op) => {
                let address = self.peek(op)?.addr();
                self.function_at(address)?
            }
            Callee::Builtin(name) => {
                let mut values = vec![];
                for arg in args {
                    values.push((self.load(arg, true)?, arg.repr));
                }
                let types = &self.program.types;
                let target = args.last().and_then(|a| types.as_pointer(a.ty)).map(|p| p.target.ty);
                self.target_kind = target.and_then(|t| types.as_int(t));
                let repr = dest.map_or(Repr::None, |d| d.repr);
                let value = self.builtin(name.as_str(), &values, repr)?;
                if let Some(dest) = dest {
                    self.store(dest, &value, As::Owner)?;
                }
                return Ok(Flow::Next);
            }
            Callee::Start(func) => return self.start_task(dest, func, args, ty),
            Callee::Spawn(func) => return self.spawn(dest, func, args, ty),
        };
        let code = self.code(&func);
        let params = code.as_ref().map_or(ty.params.len(), |c| c.params as usize);
        let lent: Vec<bool> = (0..params).map(|n| ty.params.get(n).is_none_or(|p| !p.consume)).collect();
        let mut values = Vec::with_capacity(args.len());
        match self.frames.last_mut().and_then(|frame| frame.pending.take()) {
            // It waited.
            Some(read) => values = read,
            None => {
                for (n, arg) in args.iter().enumerate() {
                    values.push(self.load(arg, lent.get(n) == Some(&true))?);
                }
            }
        }
        match code {
            Some(code) => {
                let rest = if values.len() > params {
                    values.drain(params..).zip(args.iter().skip(params)).map(|(v, a)| (v, a.repr)).collect()
                } else {
                    vec![]
                };
                self.enter(code, values, &lent, rest)?;
                Ok(Flow::Called)
            }
            None => {
                let name = self.symbol(&func);
                let args: Vec<(Val, Repr)> = values.into_iter().zip(args).map(|(v, a)| (v, a.repr)).collect();
                self.mem.note(Note::Runs);
                let value = match self.native(name, &args) {
                    Err(stop) if matches!(*stop, Stop::Wait) => {
                        if let Some(frame) = self.frames.last_mut() {
                            frame.pending = Some(args.into_iter().map(|(value, _)| value).collect());
                        }
                        return Err(stop);
                    }
                    done => done?,
                };
                if let Some(dest) = dest {
                    self.store(dest, &value, As::Owner)?;
                }
                Ok(Flow::Next)
            }
        }
    }

    /// `start f(a)`
    fn start_task(&mut self, dest: Option<&Place>, func: &FuncRef, args: &[Op], ty: &Rc<FuncTy>) -> R<Flow> {
        let Some(code) = self.code(func) else { return unsupported("a task of a function that is not here") };
        let lent: Vec<bool> = (0..args.len()).map(|n| ty.params.get(n).is_none_or(|p| !p.consume)).collect();
        let mut values = vec![];
        for arg in args {
            values.push(self.load(arg, false)?);
        }
        // What the task has of its own is not the statement's.
        let noting = self.mem.pause();
        let task = self.new_task(code, values, &lent);
        self.mem.resume(noting);
        let task = task?;
        if let Some(dest) = dest {
            self.store(dest, &Val::ptr(task), As::Owner)?;
        }
        Ok(Flow::Next)
    }

    /// The C symbol of a function.
    pub fn symbol(&self, func: &FuncRef) -> &'static str {
        let function = self.program.functions.get(func.func.0 as usize);
        function.map_or("?", |f| f.symbol.unwrap_or(f.name).as_str())
    }

    /// Begins with `main`.
    pub fn start_main(&mut self) -> R<()> {
        let main = self.program.functions.iter().position(|f| {
            f.name.as_str() == "main" && f.linkage != typing::tree::Linkage::Internal && f.type_params == 0
        });
        let Some(n) = main else { return unsupported("a program without `main`") };
        let func = FuncRef { func: typing::tree::FuncId(n as u32), args: Rc::from(vec![]) };
        let Some(code) = self.code(&func) else { return unsupported("a program without `main`") };
        let mut words = self.options.arguments.clone();
        if words.is_empty() {
            words.push(b"program".to_vec());
        }
        let argc = words.len() as u64;
        let vector = self.mem.make(Kind::Global, 8 * (argc + 1), 8, self.span);
        for (n, word) in words.iter().enumerate() {
            let text = self.mem.make(Kind::Global, word.len() as u64 + 1, 1, self.span);
            if let Some(obj) = self.mem.obj_mut(text) {
                obj.write(0, word);
            }
            let address = self.mem.address(Loc { obj: text, off: 0 });
            if let Some(obj) = self.mem.obj_mut(vector) {
                obj.write(8 * n as i64, &address.to_le_bytes());
            }
        }
        let at = self.mem.address(Loc { obj: vector, off: 0 });
        let mut args = vec![];
        for (n, param) in code.ty.params.iter().enumerate() {
            args.push(match n {
                0 => Val::Int(i128::from(argc)),
                _ if self.program.types.words(param.ty) == 3 => Val::Words([at, at, at + 8 * (argc + 1)]),
                _ => Val::ptr(at),
            });
        }
        self.tasks.begin();
        self.new_custodian(None);
        self.enter(code, args, &[true, true, true], vec![])?;
        for (_, func) in self.hooks("destructor") {
            let address = self.function_address(&func);
            self.lib.at_exit.push(address);
        }
        // The last call that is entered runs first.
        for (_, func) in self.hooks("constructor").into_iter().rev() {
            if let Some(code) = self.code(&func) {
                self.enter(code, vec![], &[], vec![])?;
                if let Some(frame) = self.frames.last_mut() {
                    frame.detached = true;
                }
            }
        }
        Ok(())
    }

    /// The functions with an attribute of this name, by its priority; those without one come last.
    fn hooks(&self, attribute: &str) -> Vec<(u32, FuncRef)> {
        let mut found = vec![];
        for (n, function) in self.program.functions.iter().enumerate() {
            let rest = function.attrs.iter().find_map(|attr| attr.trim_matches('_').strip_prefix(attribute));
            if let Some(rest) = rest {
                let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
                let func = FuncRef { func: typing::tree::FuncId(n as u32), args: Rc::from(vec![]) };
                found.push((digits.parse().unwrap_or(u32::MAX), func));
            }
        }
        found.sort_by_key(|(priority, _)| *priority);
        found
    }

    // ---- variable arguments

    fn va_set(&mut self, place: &Place, list: u64, at: u64) -> R<()> {
        let loc = self.locate(place, true)?;
        match self.mem.writable(loc, place.size) {
            Ok(obj) => {
                let mut bytes = vec![0; place.size as usize];
                if let Some(to) = bytes.get_mut(..8) {
                    to.copy_from_slice(&list.to_le_bytes());
                }
                if let Some(to) = bytes.get_mut(8..16) {
                    to.copy_from_slice(&at.to_le_bytes());
                }
                obj.write(loc.off, &bytes);
                Ok(())
            }
            Err(bad) => self.refuse(bad, loc, place.size, "write"),
        }
    }

    fn va_get(&self, loc: Loc) -> R<(u64, u64)> {
        Ok((self.read_word(loc)?, self.read_word(Loc { off: loc.off + 8, ..loc })?))
    }

    fn va_arg(&mut self, place: &Place, repr: Repr, size: u64) -> R<Val> {
        let loc = self.locate(place, true)?;
        let (list, at) = self.va_get(loc)?;
        let item = list.checked_sub(1).and_then(|l| self.lists.get(l as usize)).and_then(|l| l.get(at as usize));
        let Some((value, from)) = item.cloned() else {
            return report(ReportKind::VarArgs, "an argument is read that was not passed");
        };
        match self.mem.writable(Loc { off: loc.off + 8, ..loc }, 8) {
            Ok(obj) => obj.write(loc.off + 8, &(at + 1).to_le_bytes()),
            Err(bad) => return self.refuse(bad, loc, 8, "write"),
        }
        let same = match (from, repr) {
            (Repr::Words(_), Repr::Ptr) | (Repr::Ptr, Repr::Words(_)) => true,
            (Repr::F32, Repr::F64) => true,
            (Repr::Int(a), Repr::Int(b)) => a.size() == b.size() || a.size() <= 4 && b.size() <= 4,
            (Repr::Bool, Repr::Int(_)) => true,
            (Repr::Ptr, Repr::Int(k)) | (Repr::Int(k), Repr::Ptr) => k.size() == 8,
            (a, b) => a == b,
        };
        if !same {
            return report(ReportKind::VarArgs, "an argument is read as another type than it was passed as");
        }
        let _ = size;
        Ok(match (&value, repr) {
            (Val::Words(w), Repr::Ptr) => Val::ptr(w[0]),
            (Val::Int(n), Repr::Int(kind)) => Val::Int(kind.wrap(*n)),
            _ => value,
        })
    }

    /// The arguments that are left in a `va_list` value.
    pub fn va_rest(&self, value: &Val) -> R<Vec<(Val, Repr)>> {
        let Val::Blob(blob) = value else { return report(ReportKind::VarArgs, "no list of arguments") };
        let word = |n: usize| {
            let mut w = [0u8; 8];
            for (to, from) in w.iter_mut().zip(blob.data.iter().skip(8 * n)) {
                *to = *from;
            }
            u64::from_le_bytes(w)
        };
        match word(0).checked_sub(1).and_then(|l| self.lists.get(l as usize)) {
            Some(list) => Ok(list.iter().skip(word(1) as usize).cloned().collect()),
            None => report(ReportKind::VarArgs, "a list of arguments is used that was not started"),
        }
    }

    // ---- memory as a whole

    fn copy_elements(&mut self, to: u64, from: u64, count: u64, elem: Ty, size: u64) -> R<()> {
        let bytes = count.wrapping_mul(size);
        if bytes == 0 {
            return Ok(());
        }
        let (to, from) = (self.mem.place(to), self.mem.place(from));
        let blob = match self.mem.readable(from, bytes) {
            Ok(obj) => Blob { data: obj.bytes(from.off, bytes).to_vec(), marks: obj.marks(from.off, bytes).to_vec() },
            Err(bad) => return self.refuse(bad, from, bytes, "read"),
        };
        let owns = mir::ty::owns(&self.program.types, elem);
        if owns && to.obj != from.obj {
            // What is owned goes along.
            for i in 0..count {
                self.take(Loc { off: from.off + (i * size) as i64, ..from }, elem, false)?;
            }
        }
        match self.mem.writable(to, bytes) {
            Ok(obj) => {
                obj.write(to.off, &blob.data);
                if !blob.marks.is_empty() {
                    obj.set_marks(to.off, &blob.marks, bytes);
                }
            }
            Err(bad) => return self.refuse(bad, to, bytes, "write"),
        }
        if owns && to.obj != from.obj {
            for i in 0..count {
                self.arrived(Loc { off: to.off + (i * size) as i64, ..to }, elem, As::Owner)?;
            }
        }
        Ok(())
    }

    fn swap(&mut self, a: &Place, b: &Place, paths: bool) -> R<()> {
        let (x, y) = (self.locate(a, true)?, self.locate(b, true)?);
        let (p, q) = (self.read(x, Repr::Blob, a.size, None)?, self.read(y, Repr::Blob, b.size, None)?);
        for (value, loc, place) in [(&p, y, b), (&q, x, a)] {
            let Val::Blob(blob) = value else { continue };
            match self.mem.writable(loc, place.size) {
                Ok(obj) => {
                    obj.write(loc.off, &blob.data);
                    obj.set_marks(loc.off, &blob.marks, place.size);
                }
                Err(bad) => return self.refuse(bad, loc, place.size, "write"),
            }
        }
        for (loc, place) in [(x, a), (y, b)] {
            if place.owns {
                self.arrived(loc, place.ty, As::Owner)?;
                if !place.local {
                    self.ends_are_as_typed(loc, place.ty)?;
                }
            }
        }
        for (loc, place) in [(x, a), (y, b)].into_iter().filter(|_| paths) {
            self.no_circle(loc, place.ty);
        }
        Ok(())
    }

    // ---- cursors

    fn cursor_begin(&mut self, local: u32, cursor: &Place, of: &Place, slot: bool) -> R<()> {
        let loc = self.locate(of, true)?;
        self.mem.note(Note::Address(loc));
        if !slot {
            let address = self.mem.address(loc);
            return self.store(cursor, &Val::ptr(address), As::Owner);
        }
        let Val::Blob(blob) = self.read(loc, Repr::Blob, of.size, None)? else { return Ok(()) };
        let holder = self.mem.make(Kind::Local, of.size, 16, self.span);
        match self.mem.writable(loc, of.size) {
            Ok(obj) => obj.write(loc.off, &vec![0; of.size as usize]),
            Err(bad) => return self.refuse(bad, loc, of.size, "write"),
        }
        let inside = Loc { obj: holder, off: 0 };
        if let Some(obj) = self.mem.obj_mut(holder) {
            obj.write(0, &blob.data);
            obj.set_marks(0, &blob.marks, of.size);
        }
        if of.owns {
            self.arrived(inside, of.ty, As::Owner)?;
        }
        let slot = self.mem.address(loc);
        if let Some(frame) = self.frames.last_mut() {
            frame.taken.push(Taken { cursor: local, slot, holder, ty: of.ty });
        }
        let address = self.mem.address(inside);
        self.store(cursor, &Val::ptr(address), As::Owner)
    }

    /// A cursor on a slot ends: the slot gets back what the cursor left.
    fn cursor_end(&mut self, local: u32) -> R<()> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        let Some(at) = frame.taken.iter().position(|t| t.cursor == local) else { return Ok(()) };
        let taken = frame.taken.remove(at);
        let size = types::size(&self.program.types, taken.ty);
        let loc = self.mem.place(taken.slot);
        if let Err(bad) = self.mem.writable(loc, size) {
            return self.refuse(bad, loc, size, "a cursor gives back to its slot: write");
        }
        self.drop_slot(loc, taken.ty)?;
        self.mem.note(Note::Wrote(loc, size));
        let Some(obj) = self.mem.obj(taken.holder) else { return Ok(()) };
        let (data, marks) = (obj.bytes(0, size).to_vec(), obj.marks(0, size).to_vec());
        if let Some(obj) = self.mem.obj_mut(loc.obj) {
            obj.write(loc.off, &data);
            obj.set_marks(loc.off, &marks, size);
        }
        self.mem.end(taken.holder, State::Left, self.span);
        if mir::ty::owns(&self.program.types, taken.ty) {
            self.arrived(loc, taken.ty, As::Owner)?;
        }
        Ok(())
    }

    /// Whether an owned pointer is freed with its owner.
    pub fn frees(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) => p.own.is_owned() && in_heap(p),
            TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => true,
            _ => false,
        }
    }
}

/// Whole elements from a pointer to its end.
pub fn left([p, lo, hi]: [u64; 3], size: u64) -> u64 {
    let (have, at) = (hi.wrapping_sub(lo), p.wrapping_sub(lo));
    if at <= have && size != 0 {
        (have - at) / size
    } else {
        0
    }
}

/// The text of a fault about a count.
pub fn count_message(want: i64, have: i64) -> String {
    let there = if have == 1 { "element that is there" } else { "elements that are there" };
    format!("count {want} is larger than the {have} {there}")
}
