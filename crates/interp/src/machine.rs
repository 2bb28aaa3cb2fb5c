//! The machine: memory, calls, tasks, and what reads and writes places.

use crate::code::*;
use crate::memory::*;
use crate::table::Note;
use crate::types::{self, in_heap, owned};
use crate::{End, Options, Report, ReportKind};
use mir::ir::{Body, Program};
use rustc_hash::FxHashMap;
use source::Span;
use std::rc::Rc;
use typing::tree::{ConstAddr, ConstInit, FuncRef, GlobalId, StrId};
use typing::types::*;

/// Why a statement did not run to its end.
#[derive(Debug)]
pub enum Stop {
    /// The program's own check failed, or the runtime's.
    Fault(String),
    /// Memory safety is broken.
    Report(ReportKind, String),
    /// `exit`
    Exit(i32),
    /// Something that the oracle does not know.
    Unsupported(String),
    /// A limit was reached.
    Limit(&'static str),
    /// The task waits; the statement runs again.
    Wait,
    /// The process that ran is over.
    Gone,
}

/// What a step gives.
pub type R<T> = Result<T, Box<Stop>>;

/// A fault with its message.
pub fn fault<T>(message: impl Into<String>) -> R<T> {
    Err(Box::new(Stop::Fault(message.into())))
}

/// A report.
pub fn report<T>(kind: ReportKind, message: impl Into<String>) -> R<T> {
    Err(Box::new(Stop::Report(kind, message.into())))
}

/// What the oracle does not know.
pub fn unsupported<T>(what: impl Into<String>) -> R<T> {
    Err(Box::new(Stop::Unsupported(what.into())))
}

/// A cursor on a slot: the content is out for the cursor's life.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The cursor's local.
    pub cursor: u32,
    /// The slot.
    pub slot: u64,
    /// What holds the content.
    pub holder: ObjId,
    /// The slot's type.
    pub ty: Ty,
}

/// A call.
#[derive(Debug)]
pub struct Frame {
    /// The function.
    pub code: Rc<Code>,
    /// Registers.
    pub regs: ObjId,
    /// The objects of locals that have one.
    pub objects: Vec<ObjId>,
    /// Where it is.
    pub block: u32,
    /// The statement of the block.
    pub stmt: usize,
    /// Cursors on slots.
    pub taken: Vec<Taken>,
    /// What came through `...`.
    pub rest: Vec<(Val, Repr)>,
    /// What runs is not asked to give its result to the caller's statement.
    pub detached: bool,
    /// The arguments of a call of the library that waits: they are read once.
    pub pending: Option<Vec<Val>>,
}

/// How a value comes into a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum As {
    /// The place owns what is owned in it.
    Owner,
    /// It is lent.
    Lent,
}

/// The machine.
pub struct Machine<'p> {
    /// What runs.
    pub program: &'p Program,
    /// What was asked for.
    pub options: Options,
    /// Memory.
    pub mem: Memory,
    /// Those of the process that runs; 0 for those that it has not named yet.
    pub globals: Vec<ObjId>,
    literals: Vec<ObjId>,
    functions: FxHashMap<FuncRef, u64>,
    /// Functions by the number in their object.
    pub function_list: Vec<FuncRef>,
    bodies: FxHashMap<FuncRef, &'p Body>,
    codes: FxHashMap<FuncRef, Rc<Code>>,
    /// The calls of the task that runs.
    pub frames: Vec<Frame>,
    /// Bytes that they take, for the overflow of the stack.
    pub stack: usize,
    /// Registers of the innermost call.
    pub regs: ObjId,
    /// Tasks and processes.
    pub tasks: crate::tasks::Tasks,
    /// Custodians.
    pub custodians: Vec<crate::custodians::Custodian>,
    /// Channels.
    pub channels: crate::channels::Channels,
    /// What lies in each arena.
    pub arenas: FxHashMap<ObjId, Vec<ObjId>>,
    /// Lists of `va_list`s.
    pub lists: Vec<Vec<(Val, Repr)>>,
    /// Statements so far.
    pub steps: u64,
    /// Where it is.
    pub span: Span,
    /// What was found and did not end the run.
    pub reports: Vec<Report>,
    /// Files and directories.
    pub io: crate::files::Io,
    /// The collector.
    pub gc: crate::collect::Collector,
    /// What runs stands in `unsafe`.
    pub in_unsafe: bool,
    /// The type behind the last pointer argument of a builtin.
    pub target_kind: Option<IntKind>,
    /// State of other parts of the library.
    pub lib: crate::library::Library,
}

/// How many owners up is asked whether an object owns itself.
const OWNERS: usize = 16;

/// The number of bytes that calls may take together, as on a stack of 8 MB.
const STACK: usize = 7 << 20;

impl<'p> Machine<'p> {
    /// A machine for the program.
    pub fn new(program: &'p Program, options: Options) -> Machine<'p> {
        let mut bodies: FxHashMap<FuncRef, &'p Body> = FxHashMap::default();
        for body in program.bodies.iter().chain(&program.instances) {
            bodies.insert(body.func.clone(), body);
        }
        let io = crate::files::Io::new(&options);
        let mut machine = Machine {
            program,
            mem: Memory::new(),
            globals: vec![0; program.globals.len()],
            literals: vec![0; program.strings.len()],
            functions: FxHashMap::default(),
            function_list: vec![],
            bodies,
            codes: FxHashMap::default(),
            frames: vec![],
            stack: 0,
            regs: 0,
            tasks: crate::tasks::Tasks::new(&options),
            custodians: vec![],
            channels: crate::channels::Channels::default(),
            arenas: FxHashMap::default(),
            lists: vec![],
            steps: 0,
            span: Span::NONE,
            reports: vec![],
            io,
            gc: crate::collect::Collector::default(),
            in_unsafe: false,
            target_kind: None,
            lib: crate::library::Library::default(),
            options,
        };
        machine.lib.start(&mut machine.mem);
        machine
    }

    /// The type of a function.
    pub fn func_ty(&self, _func: &FuncRef, ty: Ty) -> Option<Rc<FuncTy>> {
        match self.program.types.kind(ty) {
            TyKind::Func(f) => Some(f.clone()),
            TyKind::Ptr(p) => self.program.types.as_func(p.target.ty),
            _ => None,
        }
    }

    /// The function in the form that runs, if it is defined here.
    pub fn code(&mut self, func: &FuncRef) -> Option<Rc<Code>> {
        if let Some(code) = self.codes.get(func) {
            return Some(code.clone());
        }
        let body = match self.bodies.get(func) {
            Some(body) => *body,
            None if func.args.is_empty() => {
                // Declared again in a block: the definition stands elsewhere.
                let declared = self.program.functions.get(func.func.0 as usize)?;
                let same = |f: &&FuncRef| {
                    let defined = self.program.functions.get(f.func.0 as usize);
                    // A static one may have the name of a function of the library.
                    let is_same = |g: &typing::tree::Function| g.name == declared.name && g.linkage == declared.linkage;
                    f.args.is_empty() && defined.is_some_and(is_same)
                };
                let other = self.bodies.keys().find(same)?;
                *self.bodies.get(other)?
            }
            None => return None,
        };
        let code = Rc::new(self.compile(body));
        self.codes.insert(func.clone(), code.clone());
        Some(code)
    }

    // ---- what is always there

    /// The address of a function.
    pub fn function_address(&mut self, func: &FuncRef) -> u64 {
        if let Some(&address) = self.functions.get(func) {
            return address;
        }
        let id = self.mem.make(Kind::Function, 0, 16, Span::NONE);
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.count = self.function_list.len() as u32;
        }
        self.function_list.push(func.clone());
        let address = self.mem.address(Loc { obj: id, off: 0 });
        self.functions.insert(func.clone(), address);
        address
    }

    /// The object of a literal.
    pub fn literal(&mut self, id: StrId) -> ObjId {
        if let Some(&obj) = self.literals.get(id.0 as usize).filter(|&&o| o != 0) {
            return obj;
        }
        let Some(literal) = self.program.strings.get(id.0 as usize) else { return 0 };
        let width = self.program.types.as_int(literal.elem).map_or(1, IntKind::size) as usize;
        let bytes: Vec<u8> = literal.units.iter().flat_map(|u| u.to_le_bytes().into_iter().take(width)).collect();
        let obj = self.mem.make(Kind::Literal, bytes.len() as u64, width as u64, Span::NONE);
        if let Some(o) = self.mem.obj_mut(obj) {
            o.write(0, &bytes);
            o.constant = true;
        }
        if let Some(slot) = self.literals.get_mut(id.0 as usize) {
            *slot = obj;
        }
        obj
    }

    /// The number of a global's definition, where it is declared again in a block.
    pub fn defined(&self, id: GlobalId) -> GlobalId {
        let globals = &self.program.globals;
        let Some(global) = globals.get(id.0 as usize).filter(|global| global.init.is_none()) else { return id };
        let same = |g: &typing::tree::Global| g.init.is_some() && g.name == global.name && g.owner.is_none();
        globals.iter().position(same).map_or(id, |n| GlobalId(n as u32))
    }

    /// The object of a global that the process has named.
    #[inline]
    pub fn global_object(&self, number: u32) -> ObjId {
        self.globals.get(number as usize).copied().unwrap_or(0)
    }

    /// The object of a global, in the process that runs.
    pub fn global(&mut self, id: GlobalId) -> ObjId {
        let id = self.defined(id);
        if let Some(&obj) = self.globals.get(id.0 as usize).filter(|&&o| o != 0) {
            return obj;
        }
        let Some(global) = self.program.globals.get(id.0 as usize) else { return 0 };
        let types = &self.program.types;
        let align = types::align(types, global.ty.ty).max(global.align.unwrap_or(1));
        let mut size = types::size(types, global.ty.ty);
        // A flexible array at the end has the elements of its initialiser.
        if let (Some(id), Some(ConstInit::Aggregate(parts))) = (types.as_record(global.ty.ty), &global.init) {
            if let Some((n, elem, _)) = types.flexible_member(id) {
                if let Some((_, ConstInit::Aggregate(items))) = parts.iter().find(|(at, _)| *at == u64::from(n)) {
                    let count = items.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
                    size += count * types::size(types, elem.ty);
                }
            }
        }
        let obj = self.mem.make(Kind::Global, size, align, global.span);
        if let Some(slot) = self.globals.get_mut(id.0 as usize) {
            *slot = obj;
        }
        if let Some(o) = self.mem.obj_mut(obj) {
            o.elem = global.ty.ty.0 + 1;
        }
        if let Some(init) = &global.init {
            self.init(obj, 0, global.ty.ty, init);
        }
        if let Some(o) = self.mem.obj_mut(obj) {
            o.constant = global.ty.quals.is_const;
        }
        obj
    }

    fn put(&mut self, obj: ObjId, off: u64, bytes: &[u8]) {
        if let Some(o) = self.mem.obj_mut(obj) {
            o.write(off as i64, bytes);
        }
    }

    fn init(&mut self, obj: ObjId, off: u64, ty: Ty, init: &ConstInit) {
        let types = &self.program.types;
        let repr = types::repr(types, ty);
        match init {
            ConstInit::Zero => {}
            ConstInit::Int(n) => {
                let value = match repr {
                    Repr::F32 | Repr::F64 | Repr::F80 => Val::Float(*n as f64),
                    _ => Val::Int(*n),
                };
                let bytes = encode(&value, repr);
                self.put(obj, off, &bytes);
            }
            ConstInit::Float(text) => {
                let value = match repr {
                    Repr::F32 => f64::from(crate::arith::parse_float32(text.as_str())),
                    _ => crate::arith::parse_float(text.as_str()),
                };
                let bytes = encode(&Val::Float(value), repr);
                self.put(obj, off, &bytes);
            }
            ConstInit::Addr(addr, offset) => {
                let value = self.const_address(addr, *offset, *offset, Some(*offset), ty);
                let bytes = encode(&value, repr);
                self.put(obj, off, &bytes);
            }
            ConstInit::Fat(addr, ptr, lo, hi) => {
                let value = self.const_address(addr, *ptr, *lo, Some(*hi), ty);
                let bytes = encode(&value, repr);
                self.put(obj, off, &bytes);
            }
            ConstInit::TypedVoid(addr, offset, of) => {
                let address = self.const_address(addr, *offset, *offset, None, ty).addr();
                let bytes = encode(&Val::Words([address, type_word(*of), 0]), repr);
                self.put(obj, off, &bytes);
            }
            ConstInit::Aggregate(parts) => match types.kind(ty) {
                TyKind::Array { elem, .. } => {
                    let (elem, step) = (elem.ty, types::size(types, elem.ty));
                    for (at, part) in parts {
                        self.init(obj, off + at * step, elem, part);
                    }
                }
                TyKind::Record(id) => {
                    let Some((_, places)) = types.record_layout(*id) else { return };
                    let Some(fields) = types.record(*id).fields.clone() else { return };
                    for (at, part) in parts {
                        let (Some(place), Some(field)) = (places.get(*at as usize), fields.get(*at as usize)) else {
                            continue;
                        };
                        match (field.width, part) {
                            (Some(width), ConstInit::Int(n)) => {
                                let loc = Loc { obj, off: (off + place.offset) as i64 };
                                self.put_bits(loc, place.bit, width, *n);
                            }
                            _ => self.init(obj, off + place.offset, field.ty.ty, part),
                        }
                    }
                }
                _ => {
                    if let Some((_, part)) = parts.first() {
                        self.init(obj, off, ty, part);
                    }
                }
            },
            ConstInit::Tagged(member, value) => {
                self.put(obj, off, &member.to_le_bytes());
                let Some(id) = types.as_record(ty) else { return };
                let place = types.record_layout(id).and_then(|(_, p)| p.get(*member as usize).copied());
                let field = types.record(id).fields.as_ref().and_then(|f| f.get(*member as usize).cloned());
                if let (Some(place), Some(field)) = (place, field) {
                    self.init(obj, off + place.offset, field.ty.ty, value);
                }
            }
            ConstInit::Str(id) => {
                let Some(literal) = self.program.strings.get(id.0 as usize) else { return };
                let width = types.as_int(literal.elem).map_or(1, IntKind::size) as usize;
                let mut bytes: Vec<u8> =
                    literal.units.iter().flat_map(|u| u.to_le_bytes().into_iter().take(width)).collect();
                bytes.truncate(types::size(types, ty) as usize);
                self.put(obj, off, &bytes);
            }
        }
    }

    fn const_address(&mut self, addr: &ConstAddr, ptr: i64, lo: i64, hi: Option<i64>, ty: Ty) -> Val {
        match addr {
            ConstAddr::Global(g) => {
                let obj = self.global(*g);
                self.fixed_pointer(obj, ptr, lo, hi, ty)
            }
            ConstAddr::Str(s) => {
                let obj = self.literal(*s);
                self.fixed_pointer(obj, ptr, lo, hi, ty)
            }
            ConstAddr::Func(f) => Val::ptr(self.function_address(f)),
            ConstAddr::Label(_) => Val::Int(0),
            ConstAddr::Absolute => Val::ptr(ptr as u64),
        }
    }

    /// A pointer of the type into an object that is always there. Without an end the bounds are the
    /// whole object.
    pub fn fixed_pointer(&mut self, obj: ObjId, ptr: i64, lo: i64, hi: Option<i64>, ty: Ty) -> Val {
        let at = |this: &Self, off: i64| this.mem.address(Loc { obj, off });
        if self.program.types.words(ty) != 3 {
            return Val::ptr(at(self, ptr));
        }
        let (lo, hi) = match hi {
            Some(hi) => (lo, hi),
            None => {
                let size = self.mem.obj(obj).map_or(0, |o| o.size) as i64;
                let pointer = self.program.types.as_pointer(ty);
                let elem = pointer.map_or(1, |p| types::size(&self.program.types, p.target.ty)) as i64;
                let hidden = pointer.is_some_and(|p| p.bounds.is_terminated());
                (0, if hidden { size - elem } else { size })
            }
        };
        Val::Words([at(self, ptr), at(self, lo), at(self, hi)])
    }

    // ---- reading and writing

    /// Why an access is wrong, as a fault (null) or a report.
    pub fn refuse<T>(&self, bad: Bad, loc: Loc, size: u64, what: &str) -> R<T> {
        match bad {
            Bad::Nowhere if (0..0x100000).contains(&loc.off) => fault("null pointer"),
            Bad::Nowhere => report(ReportKind::Wild, format!("{what} through a pointer to nothing ({:#x})", loc.off)),
            Bad::Ended(state) => {
                let why = match state {
                    State::Live => "is gone",
                    State::Freed => "was freed",
                    State::Left => "was a local of a scope that was left",
                    State::WithArena => "ended with its arena",
                    State::Collected => "a collection found unreachable",
                    State::WithProcess => "ended with its process",
                };
                Err(Box::new(Stop::Report(ReportKind::UseAfterEnd, format!("{what} of an object that {why}"))))
            }
            Bad::Outside(off, have) => report(
                ReportKind::OutOfBounds,
                format!("{what} of {size} bytes at offset {off} of an object of {have} bytes"),
            ),
            Bad::Constant => fault("write to a constant"),
            Bad::Foreign => {
                let away = self.mem.obj(loc.obj).is_some_and(|o| o.home == AWAY);
                let whose = if away { "that was sent" } else { "of another process" };
                report(ReportKind::Isolation, format!("{what} of an object {whose}"))
            }
        }
    }

    /// An address at a place.
    #[inline]
    pub fn read_word(&self, loc: Loc) -> R<u64> {
        let obj = match self.mem.readable(loc, 8) {
            Ok(obj) => obj,
            Err(bad) => return self.refuse(bad, loc, 8, "read"),
        };
        check_marks(obj.marks(loc.off, 8))?;
        let mut word = [0u8; 8];
        word.copy_from_slice(obj.bytes(loc.off, 8));
        Ok(u64::from_le_bytes(word))
    }

    /// Where the way to a place begins; object 0 for a local that is not live.
    pub fn base(&self, place: &Place) -> Loc {
        let obj = match place.base {
            Base::Reg => self.regs,
            Base::Local(n) => self.frames.last().and_then(|f| f.objects.get(n as usize)).copied().unwrap_or(0),
            Base::Global(n) => self.global_object(n),
            Base::Fixed(obj) => obj,
        };
        Loc { obj, off: place.off }
    }

    /// The bytes of the pointer at a place, whatever its marks say.
    pub fn pointer_at(&self, loc: Loc) -> Option<u64> {
        let mut word = [0u8; 8];
        word.copy_from_slice(self.mem.readable(loc, 8).ok()?.bytes(loc.off, 8));
        Some(u64::from_le_bytes(word))
    }

    /// Where a place is. `access`: it will be read or written, so indices must be good.
    pub fn locate(&self, place: &Place, access: bool) -> R<Loc> {
        let mut loc = self.base(place);
        if loc.obj == 0 && matches!(place.base, Base::Local(_)) {
            return report(ReportKind::UseAfterEnd, "use of a local that is not live");
        }
        for step in &place.steps {
            match step {
                Step::Deref(more) => {
                    let address = self.read_word(loc)?;
                    loc = self.mem.place(address);
                    loc.off = loc.off.wrapping_add(*more);
                }
                Step::Index(op, stride, len, more) => {
                    let i = self.peek(op)?.int();
                    if let Some(n) = len.filter(|_| access) {
                        if i < 0 || i >= i128::from(n) {
                            return report(ReportKind::OutOfBounds, format!("element {i} of an array of {n}"));
                        }
                    }
                    loc.off = loc.off.wrapping_add((i as i64).wrapping_mul(*stride as i64)).wrapping_add(*more);
                }
            }
        }
        Ok(loc)
    }

    /// Where a place is, whatever the marks say; none if a pointer on the way is null or bad.
    pub fn locate_raw(&self, place: &Place) -> Option<Loc> {
        self.mem.aside(|| self.follow(place))
    }

    fn follow(&self, place: &Place) -> Option<Loc> {
        let mut loc = self.base(place);
        for step in &place.steps {
            match step {
                Step::Deref(more) => {
                    let address = self.pointer_at(loc).filter(|address| *address != 0)?;
                    loc = self.mem.place(address);
                    loc.off = loc.off.wrapping_add(*more);
                }
                Step::Index(op, stride, _, more) => {
                    let i = self.peek(op).ok()?.int();
                    loc.off = loc.off.wrapping_add((i as i64).wrapping_mul(*stride as i64)).wrapping_add(*more);
                }
            }
        }
        Some(loc)
    }

    /// The value at a place.
    pub fn read(&self, loc: Loc, repr: Repr, size: u64, bits: Option<(u32, u32)>) -> R<Val> {
        let obj = match self.mem.readable(loc, size) {
            Ok(obj) => obj,
            // `unsafe` code may look at the count before an object (docs/internals/abi.md).
            Err(Bad::Outside(-8, _)) if self.in_unsafe && size == 8 => {
                return match self.mem.obj(loc.obj).map(|o| o.count) {
                    Some(count) if count > 0 => Ok(Val::Int(i128::from(count))),
                    _ => self.refuse(Bad::Outside(-8, 0), loc, size, "read"),
                };
            }
            Err(bad) => return self.refuse(bad, loc, size, "read"),
        };
        let marks = obj.marks(loc.off, size);
        let data = obj.bytes(loc.off, size);
        if repr == Repr::Blob {
            return Ok(Val::Blob(Rc::new(Blob { data: data.to_vec(), marks: marks.to_vec() })));
        }
        check_marks(marks)?;
        if let Some((bit, width)) = bits {
            return Ok(Val::Int(get_bits(data, bit, width, repr)));
        }
        Ok(decode(data, repr))
    }

    /// Reads an operand; nothing is moved.
    pub fn peek(&self, op: &Op) -> R<Val> {
        match &op.kind {
            OpKind::Const(value) => Ok(value.clone()),
            OpKind::Address(global, far, fat) => Ok(self.global_pointer(*global, *far, *fat)),
            OpKind::Place(place, _) => {
                let loc = self.locate(place, true)?;
                self.read(loc, place.repr, place.size, place.bits)
            }
        }
    }

    fn global_pointer(&self, global: u32, far: [u64; 3], fat: bool) -> Val {
        let start = self.mem.address(Loc { obj: self.global_object(global), off: 0 });
        match fat {
            true => Val::Words(far.map(|bytes| start.wrapping_add(bytes))),
            false => Val::ptr(start.wrapping_add(far[0])),
        }
    }

    /// Reads an operand; a move leaves its source empty. `lent`: what is lent may be given on.
    pub fn load(&mut self, op: &Op, lent: bool) -> R<Val> {
        match &op.kind {
            OpKind::Const(value) => Ok(value.clone()),
            OpKind::Address(global, far, fat) => Ok(self.global_pointer(*global, *far, *fat)),
            OpKind::Place(place, moves) => {
                let loc = self.locate(place, true)?;
                let value = self.read(loc, place.repr, place.size, place.bits)?;
                if *moves && place.owns {
                    self.take(loc, place.ty, lent)?;
                }
                Ok(value)
            }
        }
    }

    /// What is owned in a place was moved away.
    pub fn take(&mut self, loc: Loc, ty: Ty, lent: bool) -> R<()> {
        for (at, slot, address, mark) in self.slots(loc, ty) {
            if address == 0 {
                continue;
            }
            match mark {
                LENT if lent => {}
                LENT => return report(ReportKind::LentGiven, "what is lent to this function is given away"),
                MOVED if slot.size < crate::types::size(&self.program.types, ty) => {
                    // A part that was moved before; what holds it ends without it.
                }
                _ => {
                    if let Some(obj) = self.mem.obj_mut(at.obj) {
                        obj.mark(at.off, slot.size, MOVED);
                    }
                }
            }
        }
        Ok(())
    }

    /// The owned parts of a value in memory: place, type, first word, mark.
    pub fn slots(&self, loc: Loc, ty: Ty) -> Vec<(Loc, crate::types::Owned, u64, u8)> {
        let types = &self.program.types;
        let size = types::size(types, ty);
        let Ok(obj) = self.mem.aside(|| self.mem.readable(loc, size)) else { return vec![] };
        let data = obj.bytes(loc.off, size);
        owned(types, ty, data, usize::MAX)
            .into_iter()
            .map(|slot| {
                let off = loc.off + slot.off as i64;
                let mut word = [0u8; 8];
                for (to, from) in word.iter_mut().zip(obj.bytes(off, 8)) {
                    *to = *from;
                }
                let mark = obj.marks(off, 8).first().copied().unwrap_or(INIT);
                (Loc { obj: loc.obj, off }, slot, u64::from_le_bytes(word), mark)
            })
            .collect()
    }

    /// Stores a value in a place.
    pub fn store(&mut self, place: &Place, value: &Val, how: As) -> R<()> {
        let loc = self.locate(place, true)?;
        if let Some((bit, width)) = place.bits {
            if let Err(bad) = self.mem.writable(loc, place.size) {
                return self.refuse(bad, loc, place.size, "write");
            }
            self.put_bits(loc, bit, width, value.int());
            return Ok(());
        }
        self.store_at(loc, place.ty, place.repr, place.size, place.owns, value, how)?;
        if place.owns && !place.local {
            self.ends_are_as_typed(loc, place.ty)?;
        }
        Ok(())
    }

    /// Stores a value at an address.
    #[allow(clippy::too_many_arguments)]
    pub fn store_at(&mut self, loc: Loc, ty: Ty, repr: Repr, size: u64, owns: bool, value: &Val, how: As) -> R<()> {
        if matches!(repr, Repr::Ptr | Repr::Words(_)) && value.addr() == 0 && self.is_nonnull(ty) {
            return report(ReportKind::Wild, "a null pointer is stored where the type says `nonnull`");
        }
        if owns {
            self.overwritten(loc, ty)?;
        }
        let obj = match self.mem.writable(loc, size) {
            Ok(obj) => obj,
            Err(bad) => return self.refuse(bad, loc, size, "write"),
        };
        match (value, repr) {
            (Val::Blob(blob), _) => {
                let n = blob.data.len().min(size as usize);
                obj.write(loc.off, blob.data.get(..n).unwrap_or(&[]));
                if !blob.marks.is_empty() {
                    obj.set_marks(loc.off, blob.marks.get(..n).unwrap_or(&[]), n as u64);
                }
                if n < size as usize {
                    obj.write(loc.off + n as i64, &vec![0; size as usize - n]);
                }
            }
            (value, Repr::Blob) => {
                // A scalar of a type that has one member.
                let mut bytes = value.addr().to_le_bytes().to_vec();
                bytes.resize(size as usize, 0);
                obj.write(loc.off, &bytes);
            }
            (value, repr) => encode_into(value, repr, |bytes| obj.write(loc.off, bytes)),
        }
        if owns {
            self.arrived(loc, ty, how)?;
        }
        Ok(())
    }

    /// Whether the type promises checked code that a pointer is not null.
    fn is_nonnull(&self, ty: Ty) -> bool {
        let checked = self.frames.last().is_none_or(|frame| !frame.code.unchecked);
        checked && self.program.types.as_pointer(ty).is_some_and(|p| p.nonnull)
    }

    /// What is owned in a value has come to a place.
    pub fn arrived(&mut self, loc: Loc, ty: Ty, how: As) -> R<()> {
        for (at, slot, address, mark) in self.slots(loc, ty) {
            if address == 0 || mark == MOVED || mark == UNINIT {
                continue;
            }
            if how == As::Lent {
                if let Some(obj) = self.mem.obj_mut(at.obj) {
                    obj.mark(at.off, slot.size, LENT);
                }
                continue;
            }
            if mark == LENT {
                if let Some(obj) = self.mem.obj_mut(at.obj) {
                    obj.mark(at.off, slot.size, INIT);
                }
            }
            if !self.is_single(slot.ty) {
                continue;
            }
            let here = self.mem.address(at);
            let target = self.mem.place(address);
            let Some(before) = self
                .mem
                .obj(target.obj)
                .filter(|o| o.state == State::Live && matches!(o.kind, Kind::Heap | Kind::Arena | Kind::End))
                .map(|o| o.owner)
            else {
                continue;
            };
            if self.options.owners && before != 0 && before != here && self.still_owns(before, address) {
                return report(ReportKind::TwoOwners, "an object gets a second owner while the first one still has it");
            }
            if let Some(obj) = self.mem.obj_mut(target.obj) {
                obj.owner = here;
            }
        }
        Ok(())
    }

    /// What came to a path by an exchange must not own the path.
    pub fn no_circle(&mut self, loc: Loc, ty: Ty) {
        for (_, slot, address, mark) in self.slots(loc, ty) {
            let target = self.mem.place(address).obj;
            if self.options.leaks && mark == INIT && self.is_owed(slot.ty) && self.owns_itself(target) {
                self.leak("an object comes to own itself, and nothing else frees it", target);
            }
        }
    }

    /// Whether the owner of an object is in the object, or in what that owns. Only the nearest
    /// owners are asked: long lists grow at their ends.
    fn owns_itself(&self, object: ObjId) -> bool {
        let mut at = object;
        for _ in 0..OWNERS {
            let Some(owner) = self.mem.obj(at).filter(|o| o.kind == Kind::Heap).map(|o| o.owner) else { return false };
            if owner == 0 || !self.still_owns(owner, self.mem.address(Loc { obj: at, off: 0 })) {
                return false;
            }
            at = self.mem.place(owner).obj;
            if at == object {
                return true;
            }
        }
        false
    }

    /// Whether the owner of the type is the only one: `unique` and keys that are not counted.
    fn is_single(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) => p.own == Own::Unique,
            TyKind::Key(kind, _) => !kind.is_rc(),
            TyKind::Endpoint(_) | TyKind::EndSet(_) => true,
            _ => false,
        }
    }

    /// Whether the place that owned an object still has it.
    fn still_owns(&self, owner: u64, address: u64) -> bool {
        let loc = self.mem.place(owner);
        let Ok(obj) = self.mem.aside(|| self.mem.readable(loc, 8)) else { return false };
        obj.bytes(loc.off, 8) == address.to_le_bytes() && obj.marks(loc.off, 8).iter().all(|&m| m == INIT)
    }

    /// A place is written over, or ends: what it still owns is lost.
    pub fn overwritten(&mut self, loc: Loc, ty: Ty) -> R<()> {
        self.lost(loc, ty, false, "an owner is written over while it still has its object")
    }

    /// What a place still owns is lost; `scope`: with the scope of a local, which is lost in the
    /// heap whatever region its type names.
    pub fn lost(&mut self, loc: Loc, ty: Ty, scope: bool, message: &str) -> R<()> {
        if !self.options.leaks {
            return Ok(());
        }
        for (at, slot, address, mark) in self.slots(loc, ty) {
            let target = self.mem.place(address);
            let Some(obj) = self.mem.obj(target.obj).filter(|_| address != 0 && mark == INIT) else { continue };
            // What the type says lies in an arena may lie in the heap: then nothing else frees it.
            let in_heap = obj.kind == Kind::Heap && obj.arena == 0 && !obj.exchange;
            let single = self.is_single(slot.ty);
            if !(self.is_owed(slot.ty) || scope && in_heap && single) {
                continue;
            }
            let here = self.mem.address(at);
            let freed = matches!(obj.kind, Kind::Heap | Kind::Arena | Kind::End);
            let lost = obj.state == State::Live && freed && (!single || obj.owner == here);
            // No option allows to lose blocks and ends.
            let always = obj.exchange || obj.kind == Kind::End;
            if lost && (always || self.frames.last().is_none_or(|f| !f.code.leaks)) {
                self.leak(message, target.obj);
            }
        }
        Ok(())
    }

    /// Whether what an owner of the type has must be freed by it.
    fn is_owed(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) => in_heap(p),
            TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => true,
            _ => false,
        }
    }

    /// Notes a leak.
    pub fn leak(&mut self, message: &str, obj: ObjId) {
        if self.reports.len() < 20 {
            let born = self.mem.obj(obj).map_or(Span::NONE, |o| o.born);
            let report = Report {
                kind: ReportKind::Leak,
                message: message.to_string(),
                span: self.span,
                made: Some(born).filter(|s| *s != Span::NONE),
            };
            self.reports.push(report);
        }
    }

    /// Writes a bit-field.
    pub fn put_bits(&mut self, loc: Loc, bit: u32, width: u32, value: i128) {
        let Some(obj) = self.mem.obj_mut(loc.obj) else { return };
        let mut unit = [0u8; 16];
        let n = (bit + width).div_ceil(8).min(16);
        for (to, from) in unit.iter_mut().zip(obj.bytes(loc.off, u64::from(n))) {
            *to = *from;
        }
        let mask = if width >= 128 { u128::MAX } else { (1u128 << width) - 1 };
        let old = u128::from_le_bytes(unit);
        let new = (old & !(mask << bit)) | ((value as u128 & mask) << bit);
        if let Some(bytes) = new.to_le_bytes().get(..n as usize) {
            obj.write(loc.off, bytes);
        }
    }

    // ---- calls

    /// Begins a call. `lent`: which arguments are lent.
    pub fn enter(&mut self, code: Rc<Code>, args: Vec<Val>, lent: &[bool], rest: Vec<(Val, Repr)>) -> R<()> {
        self.stack = self.stack.saturating_add(code.frame);
        if self.stack > STACK || self.frames.len() > 60_000 {
            return fault("stack overflow");
        }
        if self.tasks.processes.len() > 1 {
            // It may have been compiled in another process.
            for id in &code.globals {
                self.global(*id);
            }
        }
        let regs = self.mem.registers(code.registers);
        let mut objects = vec![0; code.locals.len()];
        for (n, local) in code.locals.iter().enumerate() {
            if local.object && !local.scoped {
                let id = self.mem.make(Kind::Local, local.size, local.align, local.span);
                if let Some(obj) = self.mem.obj_mut(id) {
                    obj.mark(0, local.size, UNINIT);
                    obj.elem = local.ty.0 + 1;
                }
                if let Some(slot) = objects.get_mut(n) {
                    *slot = id;
                }
            }
        }
        self.frames.push(Frame {
            code: code.clone(),
            regs,
            objects,
            block: 0,
            stmt: 0,
            taken: vec![],
            rest,
            detached: false,
            pending: None,
        });
        self.regs = regs;
        for (n, value) in args.into_iter().enumerate().take(code.params as usize) {
            let Some(local) = code.locals.get(n) else { break };
            let loc = self.local_loc(n as u32, local);
            let how = if lent.get(n) == Some(&true) { As::Lent } else { As::Owner };
            let repr = types::repr(&self.program.types, local.ty);
            self.store_at(loc, local.ty, repr, local.size, local.owns, &value, how)?;
            if local.owns {
                self.ends_are_as_typed(loc, local.ty)?;
            }
        }
        Ok(())
    }

    /// Where a local of the innermost call lies.
    pub fn local_loc(&self, n: u32, local: &Local) -> Loc {
        if local.object {
            let obj = self.frames.last().and_then(|f| f.objects.get(n as usize)).copied().unwrap_or(0);
            Loc { obj, off: 0 }
        } else {
            Loc { obj: self.regs, off: local.off }
        }
    }

    /// A local comes to life.
    pub fn live(&mut self, n: u32) -> R<()> {
        self.mem.note(Note::Storage(n));
        let Some(code) = self.frames.last().map(|f| f.code.clone()) else { return Ok(()) };
        let Some(local) = code.locals.get(n as usize) else { return Ok(()) };
        if local.object {
            let id = self.mem.make(Kind::Local, local.size, local.align, local.span);
            if let Some(obj) = self.mem.obj_mut(id) {
                obj.mark(0, local.size, UNINIT);
                obj.elem = local.ty.0 + 1;
            }
            let old =
                self.frames.last_mut().and_then(|f| f.objects.get_mut(n as usize)).map(|s| std::mem::replace(s, id));
            if let Some(old) = old.filter(|&o| o != 0) {
                self.mem.end(old, State::Left, self.span);
            }
        } else if let Some(obj) = self.mem.obj_mut(self.regs) {
            obj.mark(local.off, local.size, UNINIT);
        }
        Ok(())
    }

    /// A local's scope ends.
    pub fn dead(&mut self, n: u32) -> R<()> {
        self.mem.note(Note::Storage(n));
        let Some(code) = self.frames.last().map(|f| f.code.clone()) else { return Ok(()) };
        let Some(local) = code.locals.get(n as usize) else { return Ok(()) };
        let loc = self.local_loc(n, local);
        if local.owns {
            self.lost(loc, local.ty, true, "the scope of an owner ends while it still has its object")?;
        }
        if local.object {
            self.mem.end(loc.obj, State::Left, self.span);
            if let Some(slot) = self.frames.last_mut().and_then(|f| f.objects.get_mut(n as usize)) {
                *slot = 0;
            }
        } else if let Some(obj) = self.mem.obj_mut(loc.obj) {
            obj.mark(loc.off, local.size, UNINIT);
        }
        Ok(())
    }

    /// Leaves the innermost call.
    pub fn leave(&mut self) -> R<Option<Frame>> {
        if let Some(code) = self.frames.last().map(|f| f.code.clone()) {
            for (n, local) in code.locals.iter().enumerate() {
                if local.owns && (!local.object || self.frames.last().is_some_and(|f| f.objects.get(n) != Some(&0))) {
                    let loc = self.local_loc(n as u32, local);
                    self.lost(loc, local.ty, false, "a function ends while an owner in it still has its object")?;
                }
            }
        }
        Ok(self.drop_frame())
    }

    /// Takes the innermost call away.
    pub fn drop_frame(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        for &obj in frame.objects.iter().filter(|&&o| o != 0) {
            self.mem.end(obj, State::Left, self.span);
        }
        self.mem.give_back(frame.regs);
        self.stack = self.stack.saturating_sub(frame.code.frame);
        self.regs = self.frames.last().map_or(0, |f| f.regs);
        Some(frame)
    }

    /// Runs the program to its end.
    pub fn run(&mut self) -> End {
        match self.start_main() {
            Ok(()) => {}
            Err(stop) => return self.ended(*stop),
        }
        loop {
            match self.run_task() {
                Ok(status) => {
                    if let Some(status) = status {
                        return self.finish(status);
                    }
                }
                Err(stop) => match *stop {
                    Stop::Exit(status) => return self.finish(status),
                    other => return self.ended(other),
                },
            }
        }
    }

    /// The program ends by itself: what `atexit` was told runs, files are flushed.
    fn finish(&mut self, status: i32) -> End {
        while let Some(function) = self.lib.at_exit.pop() {
            while self.drop_frame().is_some() {}
            let called = self.function_at(function).and_then(|f| match self.code(&f) {
                Some(code) => self.enter(code, vec![], &[], vec![]),
                None => Ok(()),
            });
            if let Err(stop) = called.and_then(|()| self.run_task().map(|_| ())) {
                match *stop {
                    Stop::Exit(_) => {}
                    other => return self.ended(other),
                }
            }
        }
        self.io.flush_all();
        End::Exit(status)
    }

    fn ended(&mut self, stop: Stop) -> End {
        self.io.flush_all();
        match stop {
            Stop::Fault(message) => End::Fault { message, span: self.user_span() },
            Stop::Report(kind, message) => {
                let span = self.user_span();
                self.reports.push(Report { kind, message, span, made: None });
                End::Reported
            }
            Stop::Exit(status) => End::Exit(status),
            Stop::Unsupported(what) => End::Unsupported(what),
            Stop::Limit(what) => End::Limit(what),
            Stop::Wait | Stop::Gone => End::Unsupported("a wait outside a task".into()),
        }
    }

    fn user_span(&self) -> Span {
        self.span
    }

    /// The function behind a pointer.
    pub fn function_at(&self, address: u64) -> R<FuncRef> {
        let loc = self.mem.place(address);
        if loc.obj == 0 {
            return match (0..0x100000).contains(&loc.off) {
                true => fault("null pointer"),
                false => report(ReportKind::Wild, "a call through a pointer to no function"),
            };
        }
        let found = self.mem.obj(loc.obj).filter(|o| o.kind == Kind::Function && loc.off == 0);
        match found.and_then(|o| self.function_list.get(o.count as usize)) {
            Some(func) => Ok(func.clone()),
            None => report(ReportKind::Wild, "a call through a pointer to no function"),
        }
    }
}

/// The word that stands for a remembered type.
pub fn type_word(ty: Ty) -> u64 {
    0x7e00_0000_0000_0000 | u64::from(ty.0)
}

/// The type behind such a word.
pub fn word_type(word: u64) -> Option<Ty> {
    (word >> 32 == 0x7e00_0000).then_some(Ty(word as u32))
}

/// A scalar must not be read from bytes without a value.
#[inline]
fn check_marks(marks: &[u8]) -> R<()> {
    if !marks.is_empty()
        && marks.iter().fold(0, |all, &m| all | m) != INIT
        && marks.iter().any(|&m| m == UNINIT || m == MOVED)
    {
        return match marks.contains(&UNINIT) {
            true => report(ReportKind::Uninitialised, "read of memory that holds no value"),
            false => report(ReportKind::UseAfterMove, "use of an owner after its object was moved away"),
        };
    }
    Ok(())
}

fn get_bits(data: &[u8], bit: u32, width: u32, repr: Repr) -> i128 {
    let mut unit = [0u8; 16];
    for (to, from) in unit.iter_mut().zip(data) {
        *to = *from;
    }
    let mask = if width >= 128 { u128::MAX } else { (1u128 << width) - 1 };
    let value = ((u128::from_le_bytes(unit) >> bit) & mask) as i128;
    let signed = matches!(repr, Repr::Int(kind) if kind.signed());
    if signed && width > 0 && value >> (width - 1) & 1 == 1 {
        value - (1i128 << width)
    } else {
        value
    }
}

/// The word at the beginning of some bytes.
#[inline]
fn first_word(data: &[u8]) -> u64 {
    match data.get(..8).map(<[u8; 8]>::try_from) {
        Some(Ok(word)) => u64::from_le_bytes(word),
        _ => {
            let mut word = [0u8; 8];
            for (to, from) in word.iter_mut().zip(data) {
                *to = *from;
            }
            u64::from_le_bytes(word)
        }
    }
}

/// A scalar from its bytes.
#[inline]
pub fn decode(data: &[u8], repr: Repr) -> Val {
    let word = |n: usize| first_word(data.get(8 * n..).unwrap_or(&[]));
    match repr {
        Repr::None => Val::Int(0),
        Repr::Bool => Val::Int(i128::from(data.first() != Some(&0))),
        Repr::Int(kind) => match (kind.size(), data) {
            (1, &[a, ..]) => Val::Int(if kind.signed() { i128::from(a as i8) } else { i128::from(a) }),
            (4, &[a, b, c, d, ..]) => {
                let n = u32::from_le_bytes([a, b, c, d]);
                Val::Int(if kind.signed() { i128::from(n as i32) } else { i128::from(n) })
            }
            (8, _) => {
                let n = word(0);
                Val::Int(if kind.signed() { i128::from(n as i64) } else { i128::from(n) })
            }
            (16, _) => Val::Int((u128::from(word(0)) | u128::from(word(1)) << 64) as i128),
            _ => Val::Int(kind.wrap(i128::from(word(0)))),
        },
        Repr::F32 => Val::Float(f64::from(f32::from_bits(word(0) as u32))),
        Repr::F64 | Repr::F80 => Val::Float(f64::from_bits(word(0))),
        Repr::Ptr => Val::ptr(word(0)),
        Repr::Words(_) => Val::Words([word(0), word(1), word(2)]),
        Repr::Blob => Val::Blob(Rc::new(Blob { data: data.to_vec(), marks: vec![] })),
    }
}

/// The bytes of a scalar.
pub fn encode(value: &Val, repr: Repr) -> Vec<u8> {
    let mut out = vec![];
    encode_into(value, repr, |bytes| out.extend_from_slice(bytes));
    out
}

#[inline]
fn encode_into(value: &Val, repr: Repr, mut put: impl FnMut(&[u8])) {
    match repr {
        Repr::None | Repr::Blob => {}
        Repr::Bool => put(&[u8::from(value.int() != 0)]),
        Repr::Int(kind) => {
            let bytes = value.int().to_le_bytes();
            put(bytes.get(..kind.size() as usize).unwrap_or(&[]));
        }
        Repr::F32 => put(&(value.float() as f32).to_le_bytes()),
        Repr::F64 => put(&value.float().to_le_bytes()),
        Repr::F80 => {
            let mut bytes = [0u8; 16];
            if let Some(to) = bytes.get_mut(..8) {
                to.copy_from_slice(&value.float().to_le_bytes());
            }
            put(&bytes);
        }
        Repr::Ptr => put(&value.addr().to_le_bytes()),
        Repr::Words(n) => {
            let mut bytes = [0u8; 24];
            for (to, word) in bytes.chunks_exact_mut(8).zip(value.words()) {
                to.copy_from_slice(&word.to_le_bytes());
            }
            put(bytes.get(..8 * n as usize).unwrap_or(&[]));
        }
    }
}
