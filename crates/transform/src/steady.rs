//! Memory that nothing in a loop changes.
//!
//! A counted field and the fields of its count are changed only under their own names, or with the
//! whole struct: their addresses are never taken (L0221), and a struct that holds a pointer is
//! never looked at as bytes or as part of an untagged union. So a store of a number or a pointer to
//! another place leaves them as they are, wherever that is. Any other memory is taken to stay as it
//! is in loops that store nothing.

use crate::uses;
use mir::ir::*;
use rustc_hash::FxHashSet;
use typing::tree::{FuncRef, Linkage};
use typing::types::*;

/// The fields that count, or are counted, by record and number.
#[derive(Debug, Default)]
pub struct Guarded {
    fields: FxHashSet<(RecordId, u32)>,
    /// Records that are a part of a union by value, where another member may be stored over them.
    in_unions: FxHashSet<RecordId>,
    /// Functions that change no memory but their own variables.
    quiet: FxHashSet<FuncRef>,
}

impl Guarded {
    /// Looks at all records.
    pub fn of(types: &TypeStore) -> Guarded {
        let mut guarded = Guarded::default();
        for (n, record) in types.records.iter().enumerate() {
            let id = RecordId(n as u32);
            for (field, f) in record.fields.iter().flat_map(|f| f.iter()).enumerate() {
                if record.kind != RecordKind::Struct {
                    parts(types, f.ty.ty, &mut guarded.in_unions);
                } else if let Some(Pointer { bounds: Bounds::Counted(count), .. }) = types.as_pointer(f.ty.ty) {
                    guarded.fields.insert((id, field as u32));
                    count_fields(types, count, &mut |n| _ = guarded.fields.insert((id, n)));
                }
            }
        }
        guarded
    }

    /// Notes whether the function changes no memory; those that it calls were noted. One that other
    /// objects see might be replaced by theirs.
    pub fn note(&mut self, program: &Program, body: &Body) {
        let function = program.functions.get(body.func.func.0 as usize);
        if body.unchecked || function.is_none_or(|f| f.linkage != Linkage::Internal) {
            return;
        }
        let stmts = || body.blocks.iter().flat_map(|b| &b.stmts);
        let quiet = stmts().all(|s| {
            let own = |places: Vec<&Place>| places.iter().all(|p| p.local_part().is_some());
            !s.is_unsafe && writes(&s.kind, &self.quiet).is_some_and(own)
        });
        if quiet {
            self.quiet.insert(body.func.clone());
        }
    }

    /// Whether no store but one to this field, or to a whole struct, changes the place.
    fn is_guarded(&self, program: &Program, body: &Body, place: &Place) -> bool {
        let Some((record, field)) = field_of(program, body, place) else { return false };
        self.fields.contains(&(record, field)) && !self.in_unions.iter().any(|&u| alike(&program.types, u, record))
    }
}

/// Adds the records that are stored in a value of the type.
fn parts(types: &TypeStore, ty: Ty, found: &mut FxHashSet<RecordId>) {
    if let TyKind::Array { elem, .. } = types.kind(ty) {
        return parts(types, elem.ty, found);
    }
    let Some(id) = types.as_record(ty) else { return };
    if found.insert(id) {
        let fields = types.record(id).fields.clone();
        fields.iter().flat_map(|f| f.iter()).for_each(|f| parts(types, f.ty.ty, found));
    }
}

fn count_fields(types: &TypeStore, count: CountId, see: &mut dyn FnMut(u32)) {
    match *types.count_expr(count) {
        CountExpr::Field(n) => see(n),
        CountExpr::Add(a, b) | CountExpr::Sub(a, b) | CountExpr::Mul(a, b) => {
            count_fields(types, a, see);
            count_fields(types, b, see);
        }
        CountExpr::Div(a, _) => count_fields(types, a, see),
        CountExpr::Const(_) | CountExpr::Param(_) => {}
    }
}

/// The struct and the number of the field that a place ends with.
fn field_of(program: &Program, body: &Body, place: &Place) -> Option<(RecordId, u32)> {
    let (n, _) = place.last_field()?;
    let record = mir::ty::prefix_ty(program, body, place, place.proj.len() - 1).ok()?;
    Some((program.types.as_record(record.ty)?, n))
}

/// What a loop does to memory.
pub struct Steady<'a> {
    program: &'a Program,
    body: &'a Body,
    guarded: &'a Guarded,
    /// Places that the loop writes; none if it does what may change any memory.
    written: Option<Vec<&'a Place>>,
}

impl<'a> Steady<'a> {
    /// Looks at the blocks.
    pub fn of(program: &'a Program, body: &'a Body, guarded: &'a Guarded, blocks: &[usize]) -> Steady<'a> {
        let mut written = Some(vec![]);
        for block in blocks.iter().filter_map(|&b| body.blocks.get(b)) {
            for stmt in &block.stmts {
                written = written.filter(|_| !stmt.is_unsafe).and_then(|mut all: Vec<&Place>| {
                    all.extend(writes(&stmt.kind, &guarded.quiet)?);
                    Some(all)
                });
            }
        }
        Steady { program, body, guarded, written }
    }

    /// Whether the place, a number or a pointer of one word, holds the same as long as the loop
    /// runs. Its base is unwritten there.
    pub fn holds(&self, place: &Place) -> bool {
        let Some(written) = &self.written else { return false };
        let guarded = self.guarded.is_guarded(self.program, self.body, place);
        let field = field_of(self.program, self.body, place);
        written.iter().all(|dest| {
            if dest.local_part().and_then(|l| self.body.locals.get(l.0 as usize)).is_some_and(|d| !d.address_taken) {
                return dest.base != place.base || place.proj.first() == Some(&Proj::Deref);
            }
            guarded && !self.same_field(dest, field) && self.is_harmless(dest)
        })
    }

    /// Whether the place may be the field, of this struct or another instance of the same generic
    /// one.
    fn same_field(&self, place: &Place, field: Option<(RecordId, u32)>) -> bool {
        match (field_of(self.program, self.body, place), field) {
            (Some((a, m)), Some((b, n))) => m == n && alike(&self.program.types, a, b),
            _ => false,
        }
    }

    /// Whether the place is a number or pointer, or a record without guarded fields.
    fn is_harmless(&self, place: &Place) -> bool {
        let types = &self.program.types;
        let Ok(ty) = mir::ty::place_ty(self.program, self.body, place) else { return false };
        match types.kind(ty.ty) {
            TyKind::Bool | TyKind::Int(_) | TyKind::Float(_) | TyKind::Ptr(_) | TyKind::Enum(_) => true,
            TyKind::Record(_) => {
                let mut found = FxHashSet::default();
                parts(types, ty.ty, &mut found);
                let held = |record: &RecordId| found.iter().any(|&f| alike(types, f, *record));
                !self.guarded.fields.iter().any(|(record, _)| held(record))
            }
            _ => false,
        }
    }
}

/// Whether two records may be one but for regions.
fn alike(types: &TypeStore, a: RecordId, b: RecordId) -> bool {
    let (x, y) = (types.record(a), types.record(b));
    a == b || x.tag == y.tag && x.fields.as_ref().map(|f| f.len()) == y.fields.as_ref().map(|f| f.len())
}

/// The places that a statement writes; none if it may write others.
fn writes<'b>(kind: &'b StmtKind, quiet: &FxHashSet<FuncRef>) -> Option<Vec<&'b Place>> {
    match kind.action() {
        Action::Call => {
            quiet.contains(kind.called()?).then_some(())?;
            Some(kind.as_call()?.dest.iter().collect())
        }
        Action::None | Action::Check | Action::Storage => Some(vec![]),
        Action::Fill => Some(vec![kind.as_zero()?]),
        Action::Assign => {
            let (place, value) = kind.as_assign()?;
            is_quiet(value).then(|| vec![place])
        }
        Action::Assembly
        | Action::Copy
        | Action::Arguments
        | Action::Owner
        | Action::Region
        | Action::Send
        | Action::Channel => None,
    }
}

/// Whether computing the value changes no memory.
fn is_quiet(value: &Rvalue) -> bool {
    match value {
        Rvalue::Use(Operand::Move(from)) => uses::whole(&Operand::Move(from.clone())).is_some(),
        Rvalue::Use(_)
        | Rvalue::Unary(..)
        | Rvalue::Binary(..)
        | Rvalue::Numeric(..)
        | Rvalue::Bits(..)
        | Rvalue::AddrOf(_)
        | Rvalue::MakeFat { .. }
        | Rvalue::Part(..)
        | Rvalue::Offset(..)
        | Rvalue::Difference(..)
        | Rvalue::Remaining(_)
        | Rvalue::MakeCounted { .. }
        | Rvalue::Clamp(_)
        | Rvalue::CountArith(..)
        | Rvalue::Truth(_)
        | Rvalue::Builtin(..) => true,
        Rvalue::MakeTypedVoid(..)
        | Rvalue::Measure(_)
        | Rvalue::BlockSize(_)
        | Rvalue::Alloc { .. }
        | Rvalue::Borrow(..)
        | Rvalue::Retain(_)
        | Rvalue::NewKey(..)
        | Rvalue::Tag(_)
        | Rvalue::VaArg(..)
        | Rvalue::LabelAddr(..) => false,
    }
}
