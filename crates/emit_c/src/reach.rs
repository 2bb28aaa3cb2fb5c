//! What a unit must hold: everything that an external definition reaches.

use mir::effects::{self, Kind, Named};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::{kept_by, ConstAddr, ConstInit, FuncId, FuncRef, Function, Global, GlobalId, Linkage, Trust};
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
        && ((function.linkage == Linkage::External && !function.inline.only()) || kept_by(&function.attrs))
}

fn is_root_global(global: &Global) -> bool {
    let foreign = global.trust == Trust::Foreign && !global.used;
    (global.linkage == Linkage::External && global.owner.is_none() && !foreign) || kept_by(&global.attrs)
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
        let mut show = |part: effects::Part<'b>| match part {
            effects::Part::Operand(operand, _) => visit_operand(operand, see),
            effects::Part::Place(place, _) => visit_place(place, see),
            effects::Part::Function(func, Named::Called(ty)) => see(Part::Call(func, ty)),
            effects::Part::Function(func, Named::Started) => see(Part::Func(func)),
            effects::Part::Local(..) | effects::Part::Type(_) => {}
        };
        block.stmts.iter().for_each(|stmt| effects::parts(&stmt.kind, &mut show));
        effects::term_parts(&block.term.kind, &mut show);
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
        if let Some(index) = step.index() {
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

/// Shows the operands and places that the code of a statement names. (A proof, a `Pack`, an
/// `Unpack` are not code, and the key of an `open` never left its place.)
pub fn operands<'b>(kind: &'b StmtKind, see: &mut dyn FnMut(Input<'b>)) {
    if kind.as_proof().is_some() || kind.as_close().is_some() {
        return;
    }
    effects::parts(kind, &mut |part| match part {
        effects::Part::Operand(_, Kind::Mention) | effects::Part::Place(_, Kind::Mention) => {}
        effects::Part::Operand(operand, _) => see(Input::Operand(operand)),
        effects::Part::Place(place, Kind::Write) => see(Input::Written(place)),
        effects::Part::Place(place, Kind::Exchange) => {
            see(Input::Read(place));
            see(Input::Written(place));
        }
        effects::Part::Place(place, _) => see(Input::Read(place)),
        effects::Part::Local(..) | effects::Part::Type(_) | effects::Part::Function(..) => {}
    });
}
