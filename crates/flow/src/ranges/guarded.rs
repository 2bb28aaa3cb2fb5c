//! Memory that stores elsewhere leave alone.
//!
//! A counted field and the fields of its count are changed only under their own names, or with the
//! whole struct: their addresses are never taken (L0221), and a struct that holds a pointer is
//! never looked at as bytes or as part of an untagged union. So a store of a number or a pointer to
//! another place leaves them as they are, wherever that is. A function that writes nothing but its
//! own variables leaves all memory as it is; so do C's own that are `trusted` and `pure`.

use mir::ir::*;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use typing::tree::{FuncId, FuncRef, Function, Linkage, Trust};
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

/// A field: its struct and its number.
pub type Field = (RecordId, u32);

impl Guarded {
    /// Looks at all records, and at what C's functions promise.
    pub fn of(types: &TypeStore, functions: &[Function]) -> Guarded {
        let mut guarded = Guarded::default();
        for (n, function) in functions.iter().enumerate() {
            if function.trust == Trust::Trusted && function.attrs.iter().any(|attr| attr == "pure") {
                guarded.quiet.insert(FuncRef { func: FuncId(n as u32), args: Rc::from([]) });
            }
        }
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
            !s.is_unsafe && self.writes(&s.kind).is_some_and(own)
        });
        if quiet {
            self.quiet.insert(body.func.clone());
        }
    }

    /// Whether a call of the function changes no memory.
    pub fn is_quiet(&self, func: &FuncRef) -> bool {
        self.quiet.contains(func)
    }

    /// The field that the place ends with, if no store but one to this field, or to a whole struct,
    /// changes it.
    pub fn guarded_field(&self, program: &Program, body: &Body, place: &Place) -> Option<Field> {
        let field = field_of(program, body, place).filter(|field| self.fields.contains(field))?;
        let in_union = self.in_unions.iter().any(|&u| alike(&program.types, u, field.0));
        (!in_union).then_some(field)
    }

    /// Whether a store to a place of the type changes no guarded field but the one that the place
    /// may be: it is a number, a pointer, or a record without guarded fields.
    pub fn is_harmless(&self, types: &TypeStore, ty: Ty) -> bool {
        match types.kind(ty) {
            TyKind::Bool | TyKind::Int(_) | TyKind::Float(_) | TyKind::Ptr(_) | TyKind::Enum(_) => true,
            TyKind::Record(_) => {
                let mut found = FxHashSet::default();
                parts(types, ty, &mut found);
                let held = |record: &RecordId| found.iter().any(|&f| alike(types, f, *record));
                !self.fields.iter().any(|(record, _)| held(record))
            }
            _ => false,
        }
    }

    /// The places that a statement writes; none if it may write others.
    pub fn writes<'b>(&self, kind: &'b StmtKind) -> Option<Vec<&'b Place>> {
        match kind.action() {
            Action::Call => {
                self.quiet.contains(kind.called()?).then_some(())?;
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
}

/// The struct and the number of the field that a place ends with.
pub fn field_of(program: &Program, body: &Body, place: &Place) -> Option<Field> {
    let (n, _) = place.last_field()?;
    let record = mir::ty::prefix_ty(program, body, place, place.proj.len() - 1).ok()?;
    Some((program.types.as_record(record.ty)?, n))
}

/// Whether two fields may be one, of this struct or another instance of the same generic one.
pub fn may_be_same(types: &TypeStore, a: Option<Field>, b: Option<Field>) -> bool {
    match (a, b) {
        (Some((a, m)), Some((b, n))) => m == n && alike(types, a, b),
        _ => false,
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

/// Whether two records may be one but for regions.
fn alike(types: &TypeStore, a: RecordId, b: RecordId) -> bool {
    let (x, y) = (types.record(a), types.record(b));
    a == b || x.tag == y.tag && x.fields.as_ref().map(|f| f.len()) == y.fields.as_ref().map(|f| f.len())
}

/// Whether computing the value changes no memory.
pub fn is_quiet(value: &Rvalue) -> bool {
    match value {
        Rvalue::Use(Operand::Move(from)) => from.as_local().is_some(),
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
        | Rvalue::MakeTypedVoid(..)
        | Rvalue::Measure(_)
        | Rvalue::BlockSize(_)
        | Rvalue::Tag(_)
        | Rvalue::Builtin(..) => true,
        Rvalue::Alloc { .. }
        | Rvalue::Borrow(..)
        | Rvalue::Retain(_)
        | Rvalue::NewKey(..)
        | Rvalue::VaArg(..)
        | Rvalue::LabelAddr(..) => false,
    }
}
