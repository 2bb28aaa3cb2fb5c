//! What a unit must hold: everything that an external definition reaches.

use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::{ConstAddr, ConstInit, FuncId, FuncRef, Function, Global, GlobalId, Linkage, Trust};
use typing::types::Ty;

/// The used part of a program, in the order of the source as far as there is one.
#[derive(Default)]
pub struct Reach {
    /// Functions and instances.
    pub functions: Vec<FuncRef>,
    /// Globals.
    pub globals: Vec<GlobalId>,
    /// The function types that functions are called through.
    pub called_as: FxHashMap<FuncRef, Ty>,
    /// Functions whose address is used as a value.
    pub address_taken: FxHashSet<FuncRef>,
}

struct Walk<'a> {
    program: &'a Program,
    bodies: &'a FxHashMap<FuncRef, &'a Body>,
    functions: FxHashSet<FuncRef>,
    globals: FxHashSet<GlobalId>,
    work: Vec<Item>,
    reach: Reach,
}

enum Item {
    Function(FuncRef),
    Global(GlobalId),
}

/// The body of each function and instance.
pub fn bodies(program: &Program) -> FxHashMap<FuncRef, &Body> {
    program.bodies.iter().chain(&program.instances).map(|body| (body.func.clone(), body)).collect()
}

/// Finds what is used.
pub fn reach(program: &Program, bodies: &FxHashMap<FuncRef, &Body>) -> Reach {
    let mut walk = Walk {
        program,
        bodies,
        functions: FxHashSet::default(),
        globals: FxHashSet::default(),
        work: vec![],
        reach: Reach::default(),
    };
    for body in &program.bodies {
        if let Some(function) = program.functions.get(body.func.func.0 as usize) {
            if is_root(function) && body.func.args.is_empty() {
                walk.function(&body.func);
            }
        }
    }
    for (n, global) in program.globals.iter().enumerate() {
        if global.init.is_some() && is_root_global(global) {
            walk.global(GlobalId(n as u32));
        }
    }
    while let Some(item) = walk.work.pop() {
        match item {
            Item::Function(func) => walk.function_parts(&func),
            Item::Global(id) => walk.global_parts(id),
        }
    }
    let Walk { functions, globals, mut reach, .. } = walk;
    reach.functions = functions.into_iter().collect();
    reach.functions.sort_by(|a, b| (a.func, &a.args).cmp(&(b.func, &b.args)));
    reach.globals = globals.into_iter().collect();
    reach.globals.sort();
    reach
}

fn is_root(function: &Function) -> bool {
    function.type_params == 0
        && ((function.linkage == Linkage::External && !function.inline.only()) || kept(&function.attrs))
}

fn is_root_global(global: &Global) -> bool {
    let foreign = global.trust == Trust::Foreign && !global.used;
    (global.linkage == Linkage::External && global.owner.is_none() && !foreign) || kept(&global.attrs)
}

/// Attributes that make something used although nobody names it.
fn kept(attrs: &[String]) -> bool {
    attrs
        .iter()
        .any(|a| ["used", "constructor", "destructor", "retain", "alias", "ifunc"].iter().any(|word| a.contains(word)))
}

impl Walk<'_> {
    fn function(&mut self, func: &FuncRef) {
        if self.functions.insert(func.clone()) {
            self.work.push(Item::Function(func.clone()));
        }
    }

    fn global(&mut self, id: GlobalId) {
        if self.globals.insert(id) {
            self.work.push(Item::Global(id));
        }
    }

    fn global_parts(&mut self, id: GlobalId) {
        if let Some(init) = self.program.globals.get(id.0 as usize).and_then(|g| g.init.as_ref()) {
            self.init(init);
        }
    }

    fn init(&mut self, init: &ConstInit) {
        match init {
            ConstInit::Addr(addr, _) | ConstInit::Fat(addr, ..) | ConstInit::TypedVoid(addr, ..) => match addr {
                ConstAddr::Global(id) => self.global(*id),
                ConstAddr::Func(func) => {
                    self.reach.address_taken.insert(func.clone());
                    self.function(func);
                }
                ConstAddr::Str(_) | ConstAddr::Label(_) | ConstAddr::Absolute => {}
            },
            ConstInit::Aggregate(parts) => parts.iter().for_each(|(_, part)| self.init(part)),
            ConstInit::Tagged(_, value) => self.init(value),
            ConstInit::Zero | ConstInit::Int(_) | ConstInit::Float(_) | ConstInit::Str(_) => {}
        }
    }

    fn function_parts(&mut self, func: &FuncRef) {
        let Some(&body) = self.bodies.get(func) else { return };
        visit(body, &mut |part| match part {
            Part::Call(func, ty) => {
                self.reach.called_as.insert(func.clone(), ty);
                self.function(func);
            }
            Part::Func(func) => {
                self.reach.address_taken.insert(func.clone());
                self.function(func);
            }
            Part::Global(id) => self.global(id),
        });
        // Static locals with labels in them are emitted with their function.
        let owned: Vec<GlobalId> = self.owned_with_labels(func.func);
        owned.into_iter().for_each(|id| self.global(id));
    }

    fn owned_with_labels(&self, func: FuncId) -> Vec<GlobalId> {
        let globals = self.program.globals.iter().enumerate();
        globals
            .filter(|(_, g)| g.owner == Some(func) && g.used && g.init.as_ref().is_some_and(has_label))
            .map(|(n, _)| GlobalId(n as u32))
            .collect()
    }
}

/// Whether an initialiser holds the address of a label.
pub fn has_label(init: &ConstInit) -> bool {
    match init {
        ConstInit::Addr(ConstAddr::Label(_), _) => true,
        ConstInit::Aggregate(parts) => parts.iter().any(|(_, part)| has_label(part)),
        ConstInit::Tagged(_, value) => has_label(value),
        _ => false,
    }
}

/// What a body names outside itself.
pub enum Part<'b> {
    /// Called through the type.
    Call(&'b FuncRef, Ty),
    /// Used as a value.
    Func(&'b FuncRef),
    /// A global.
    Global(GlobalId),
}

/// Shows everything that the body names.
pub fn visit<'b>(body: &'b Body, see: &mut dyn FnMut(Part<'b>)) {
    for block in &body.blocks {
        for stmt in &block.stmts {
            if let StmtKind::Call { callee, ty, .. } = &stmt.kind {
                match callee {
                    Callee::Direct(func) => see(Part::Call(func, *ty)),
                    Callee::Start(func) | Callee::Spawn(func, _) => see(Part::Func(func)),
                    Callee::Builtin(_) | Callee::Pointer(_) => {}
                }
            }
            operands(&stmt.kind, &mut |input| match input {
                Input::Operand(operand) => visit_operand(operand, see),
                Input::Read(place) | Input::Written(place) => visit_place(place, see),
            });
        }
        if let TermKind::If(operand, ..)
        | TermKind::Switch(operand, ..)
        | TermKind::Return(Some(operand))
        | TermKind::GotoComputed(operand) = &block.term.kind
        {
            visit_operand(operand, see);
        }
    }
}

fn visit_operand<'b>(operand: &'b Operand, see: &mut dyn FnMut(Part<'b>)) {
    match operand {
        Operand::Copy(place) | Operand::Move(place) => visit_place(place, see),
        Operand::Const(Const::Func(func)) => see(Part::Func(func)),
        Operand::Const(Const::Addr(ConstAddrKey::Global(id), ..)) => see(Part::Global(*id)),
        Operand::Const(_) => {}
    }
}

fn visit_place<'b>(place: &'b Place, see: &mut dyn FnMut(Part<'b>)) {
    if let PlaceBase::Global(id) = place.base {
        see(Part::Global(id));
    }
    for step in &place.proj {
        if let Proj::Index(index) = step {
            visit_operand(index, see);
        }
    }
}

/// An input or output of a statement.
pub enum Input<'b> {
    /// Read as a value.
    Operand(&'b Operand),
    /// A place that is read, or whose address is taken.
    Read(&'b Place),
    /// A place that is written.
    Written(&'b Place),
}

/// Shows the operands and places of a statement, each once.
pub fn operands<'b>(kind: &'b StmtKind, see: &mut dyn FnMut(Input<'b>)) {
    match kind {
        StmtKind::Assign(place, value) => {
            see(Input::Written(place));
            value_operands(value, see);
        }
        StmtKind::Call { dest, callee, args, .. } => {
            if let Callee::Pointer(operand) = callee {
                see(Input::Operand(operand));
            }
            args.iter().for_each(|a| see(Input::Operand(a)));
            if let Some(place) = dest {
                see(Input::Written(place));
            }
        }
        StmtKind::Check(check) => check_operands(check, see),
        StmtKind::Zero(place) | StmtKind::SetTag(place, _) | StmtKind::VaStart(place) | StmtKind::VaEnd(place) => {
            see(Input::Written(place));
        }
        StmtKind::Dispose { value, handle, .. } => {
            see(Input::Operand(value));
            handle.iter().for_each(|h| see(Input::Operand(h)));
        }
        StmtKind::Open(_, place, _) | StmtKind::DropSlot(place) | StmtKind::CursorBegin(_, place) => {
            see(Input::Read(place));
        }
        StmtKind::Swap(a, b) => {
            for place in [a, b] {
                see(Input::Read(place));
                see(Input::Written(place));
            }
        }
        StmtKind::ChannelNew { imp, exp, .. } => {
            see(Input::Written(imp));
            see(Input::Written(exp));
        }
        StmtKind::Send { end, args, .. } => {
            args.iter().for_each(|a| see(Input::Operand(a)));
            see(Input::Read(end));
        }
        StmtKind::Select { dest, cases, .. } => {
            for case in cases {
                match case {
                    SelectCase::Heads(heads) => heads.iter().for_each(|(end, _)| see(Input::Read(end))),
                    SelectCase::After(time) => see(Input::Operand(time)),
                }
            }
            see(Input::Written(dest));
        }
        StmtKind::Receive { end, binds, .. } => {
            see(Input::Read(end));
            binds.iter().for_each(|bind| see(Input::Written(bind)));
        }
        // The key never left its place.
        StmtKind::Close(..) => {}
        StmtKind::ArenaBegin(..) | StmtKind::ArenaEnd(..) => {}
        // These are about types.
        StmtKind::Pack(..) | StmtKind::Unpack { .. } => {}
        StmtKind::CopyElements { to, from, count } => {
            [to, from, count].into_iter().for_each(|o| see(Input::Operand(o)));
        }
        StmtKind::VaCopy(to, from) => {
            see(Input::Written(to));
            see(Input::Read(from));
        }
        StmtKind::Asm(asm) => {
            asm.inputs.iter().for_each(|(_, _, o)| see(Input::Operand(o)));
            asm.outputs.iter().for_each(|(_, _, p)| see(Input::Written(p)));
        }
        // A proof is not code.
        StmtKind::Prove(_) | StmtKind::StorageLive(_) | StmtKind::StorageDead(_) | StmtKind::Nop => {}
    }
}

fn value_operands<'b>(value: &'b Rvalue, see: &mut dyn FnMut(Input<'b>)) {
    match value {
        Rvalue::Use(a)
        | Rvalue::Unary(_, a)
        | Rvalue::Numeric(a, _)
        | Rvalue::Bits(a, _)
        | Rvalue::Part(a, ..)
        | Rvalue::MakeTypedVoid(a, ..)
        | Rvalue::Remaining(a)
        | Rvalue::Measure(a)
        | Rvalue::Clamp(a)
        | Rvalue::BlockSize(a)
        | Rvalue::Retain(a)
        | Rvalue::Truth(a) => see(Input::Operand(a)),
        Rvalue::Borrow(_, place, _) => see(Input::Read(place)),
        Rvalue::NewKey(..) => {}
        Rvalue::Binary(_, a, b, _) | Rvalue::Offset(a, b) | Rvalue::Difference(a, b) | Rvalue::CountArith(_, a, b) => {
            see(Input::Operand(a));
            see(Input::Operand(b));
        }
        Rvalue::AddrOf(place) | Rvalue::Tag(place) | Rvalue::VaArg(place, _) => see(Input::Read(place)),
        Rvalue::MakeFat { ptr, lo, hi, .. } => [ptr, lo, hi].into_iter().for_each(|o| see(Input::Operand(o))),
        Rvalue::MakeCounted { ptr, count, .. } => [ptr, count].into_iter().for_each(|o| see(Input::Operand(o))),
        Rvalue::Alloc { count, extra, handle, reuse, .. } => {
            see(Input::Operand(count));
            reuse.iter().for_each(|o| see(Input::Operand(o)));
            handle.iter().for_each(|h| see(Input::Operand(h)));
            if let Some(extra) = extra {
                see(Input::Operand(extra));
            }
        }
        Rvalue::Builtin(_, args, _) => args.iter().for_each(|a| see(Input::Operand(a))),
        Rvalue::LabelAddr(..) => {}
    }
}

fn check_operands<'b>(check: &'b Check, see: &mut dyn FnMut(Input<'b>)) {
    match check {
        Check::Index(a, b)
        | Check::Access(a, b)
        | Check::Near(a, b)
        | Check::Divide(a, b)
        | Check::Terminator(a, b)
        | Check::Count(a, b)
        | Check::Enough { want: a, have: b } => {
            see(Input::Operand(a));
            see(Input::Operand(b));
        }
        Check::Element(e) => {
            for operand in [&e.base, &e.index, &e.count] {
                see(Input::Operand(operand));
            }
        }
        Check::Within(a)
        | Check::NotNull(a)
        | Check::Type(a, _)
        | Check::Container(a, ..)
        | Check::TagValue(a, ..)
        | Check::HasTerminator(a)
        | Check::View(a, _)
        | Check::Step(a)
        | Check::Multiple(a, _) => see(Input::Operand(a)),
        Check::Tag(place, _) => see(Input::Read(place)),
        Check::Unreachable => {}
    }
}
