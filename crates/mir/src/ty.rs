//! Types of places, operands and values, computed from the IR alone. Nothing here depends on the
//! front end, so the verifier that builds on it is a second opinion on what lowering did.

use crate::ir::*;
use typing::types::{
    ArrayLen, Bounds, KeyKind, Own, Pointer, Qty, Quals, RecordId, RecordKind, Region, Ty, TyKind, TypeStore,
};

/// Why a place or value has no type.
pub type TyError = String;

/// The type of a value as far as its rvalue determines it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueTy {
    /// Exactly this type.
    Known(Ty),
    /// A thin pointer to this; nullness, region and ownership are left to the destination.
    ThinTo(Qty),
}

/// How many machine words a pointer has, and what they mean. Values of one class can be copied into
/// each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerClass {
    /// One word: thin, terminated, counted, raw.
    One,
    /// Three words.
    Fat,
    /// Address and remembered type.
    TypedVoid,
}

/// The class of a pointer type.
pub fn pointer_class(types: &TypeStore, pointer: &Pointer) -> PointerClass {
    if pointer.bounds.is_fat() {
        PointerClass::Fat
    } else if types.is_typed_void(pointer) {
        PointerClass::TypedVoid
    } else {
        PointerClass::One
    }
}

/// The declaration of a local, by number.
pub fn local(body: &Body, local: Local) -> Result<&LocalDecl, TyError> {
    body.locals.get(local.0 as usize).ok_or_else(|| format!("there is no local _{}", local.0))
}

/// The type of a place, with its qualifiers.
pub fn place_ty(program: &Program, body: &Body, place: &Place) -> Result<Qty, TyError> {
    let mut ty = base_ty(program, body, place.base)?;
    for step in &place.proj {
        ty = step_ty(&program.types, body, program, ty, step)?;
    }
    Ok(ty)
}

/// The type of the place that the first `steps` projections lead to.
pub fn prefix_ty(program: &Program, body: &Body, place: &Place, steps: usize) -> Result<Qty, TyError> {
    let mut ty = base_ty(program, body, place.base)?;
    for step in place.proj.iter().take(steps) {
        ty = step_ty(&program.types, body, program, ty, step)?;
    }
    Ok(ty)
}

fn base_ty(program: &Program, body: &Body, base: PlaceBase) -> Result<Qty, TyError> {
    match base {
        PlaceBase::Local(l) => Ok(local(body, l)?.ty),
        PlaceBase::Global(g) => program
            .globals
            .get(g.0 as usize)
            .map(|global| global.ty)
            .ok_or_else(|| format!("there is no global @{}", g.0)),
        PlaceBase::Str(s) => {
            let literal = program.strings.get(s.0 as usize).ok_or_else(|| format!("there is no string ${}", s.0))?;
            Ok(literal_ty(&program.types, literal))
        }
    }
}

/// The array type of a literal if it is interned, else its element type's error twin. Lowering
/// interns the array types of the literals that it indexes.
fn literal_ty(types: &TypeStore, literal: &typing::tree::StringLit) -> Qty {
    let len = ArrayLen::Const(literal.units.len() as u64);
    let found = types.all().find(
        |&ty| matches!(types.kind(ty), TyKind::Array { elem, len: l, .. } if elem.ty == literal.elem && *l == len),
    );
    Qty::plain(found.unwrap_or(types.common.error))
}

fn step_ty(types: &TypeStore, body: &Body, program: &Program, ty: Qty, step: &Proj) -> Result<Qty, TyError> {
    let kind = types.kind(ty.ty);
    if *kind == TyKind::Error {
        return Ok(ty);
    }
    match (step, kind) {
        (Proj::Deref, TyKind::Ptr(p)) => match types.kind(p.target.ty) {
            TyKind::Void if !p.raw => Err("dereference of a typed `void *`".into()),
            _ => Ok(p.target),
        },
        (Proj::Deref, _) => Err("dereference of what is no pointer".into()),
        (Proj::Field(n), TyKind::Record(r)) => {
            let fields = types
                .records
                .get(r.0 as usize)
                .and_then(|record| record.fields.clone())
                .ok_or("field of an incomplete record")?;
            let field = fields.get(*n as usize).ok_or_else(|| format!("the record has no field {n}"))?;
            Ok(with_quals(field.ty, ty.quals))
        }
        (Proj::Field(_), _) => Err("field of what is no record".into()),
        (Proj::Index(index), TyKind::Array { elem, .. }) => {
            let index_ty = operand_ty(program, body, index)?;
            if types.as_int(index_ty).is_none() && *types.kind(index_ty) != TyKind::Error {
                return Err("the index is no integer".into());
            }
            Ok(with_quals(*elem, ty.quals))
        }
        (Proj::Index(_), _) => Err("index into what is no array".into()),
    }
}

/// Qualifiers of an outer place hold for its parts.
fn with_quals(part: Qty, outer: Quals) -> Qty {
    Qty {
        ty: part.ty,
        quals: Quals {
            is_const: part.quals.is_const || outer.is_const,
            is_volatile: part.quals.is_volatile || outer.is_volatile,
            is_atomic: part.quals.is_atomic,
        },
    }
}

/// The type of an operand.
pub fn operand_ty(program: &Program, body: &Body, operand: &Operand) -> Result<Ty, TyError> {
    let types = &program.types;
    match operand {
        Operand::Copy(place) | Operand::Move(place) => Ok(place_ty(program, body, place)?.ty),
        Operand::Const(constant) => match constant {
            Const::Int(_, ty) | Const::Float(_, ty) | Const::Null(ty) | Const::Addr(_, _, ty) => Ok(*ty),
            Const::Func(f) => program
                .functions
                .get(f.func.0 as usize)
                .map(|function| types.substituted(function.ty, &f.args).unwrap_or(function.ty))
                .ok_or_else(|| format!("there is no function #{}", f.func.0)),
            Const::SizeOf(_) | Const::AlignOf(_) | Const::OffsetOf(..) => Ok(types.common.ulong),
        },
    }
}

/// The type of a value.
pub fn rvalue_ty(program: &Program, body: &Body, value: &Rvalue) -> Result<ValueTy, TyError> {
    let common = &program.types.common;
    let known = |ty| Ok(ValueTy::Known(ty));
    match value {
        Rvalue::Use(operand) => known(operand_ty(program, body, operand)?),
        Rvalue::Unary(UnOp::Not, _) | Rvalue::Truth(_) | Rvalue::Tag(_) => known(common.int),
        Rvalue::Unary(UnOp::Real | UnOp::Imag, operand) => {
            let ty = operand_ty(program, body, operand)?;
            known(match program.types.kind(ty) {
                TyKind::Complex(kind) => float_ty(&program.types, *kind),
                _ => ty,
            })
        }
        Rvalue::Unary(_, operand) => known(operand_ty(program, body, operand)?),
        Rvalue::Binary(op, _, _, ty) => known(if is_comparison(*op) { common.int } else { *ty }),
        Rvalue::Numeric(_, ty)
        | Rvalue::Bits(_, ty)
        | Rvalue::Part(_, _, ty)
        | Rvalue::MakeTypedVoid(_, _, ty)
        | Rvalue::VaArg(_, ty)
        | Rvalue::Builtin(_, _, ty)
        | Rvalue::LabelAddr(_, ty)
        | Rvalue::MakeFat { ty, .. } => known(*ty),
        Rvalue::AddrOf(place) => Ok(ValueTy::ThinTo(place_ty(program, body, place)?)),
        Rvalue::Offset(pointer, _) => known(operand_ty(program, body, pointer)?),
        Rvalue::Difference(..) => known(common.long),
        Rvalue::MakeCounted { ty, .. } => known(*ty),
        Rvalue::CountArith(..) => known(common.long),
        Rvalue::Remaining(_) | Rvalue::Measure(_) | Rvalue::Clamp(_) | Rvalue::BlockSize(_) => known(common.ulong),
        Rvalue::Borrow(_, _, ty) | Rvalue::NewKey(_, ty) => known(*ty),
        Rvalue::Retain(operand) => known(operand_ty(program, body, operand)?),
        Rvalue::Alloc { elem, .. } => Ok(ValueTy::ThinTo(Qty::plain(*elem))),
    }
}

fn float_ty(types: &TypeStore, kind: typing::types::FloatKind) -> Ty {
    types.all().find(|&ty| *types.kind(ty) == TyKind::Float(kind)).unwrap_or(types.common.error)
}

/// Whether the operator gives a truth value.
pub fn is_comparison(op: BinOp) -> bool {
    matches!(op, BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge | BinOp::Eq | BinOp::Ne)
}

/// Whether a value of type `value` may be stored in a place of type `dest` as it is: the same type
/// up to qualifiers and to what a pointer promises (nullness, region, and bounds of one class).
pub fn assignable(types: &TypeStore, dest: Ty, value: ValueTy) -> bool {
    match value {
        ValueTy::Known(ty) => same_shape(types, dest, ty),
        ValueTy::ThinTo(target) => match types.kind(dest) {
            TyKind::Error => true,
            TyKind::Ptr(p) => pointer_class(types, p) == PointerClass::One && same_shape(types, p.target.ty, target.ty),
            _ => false,
        },
    }
}

/// Whether two types are the same up to qualifiers and to what pointers promise.
pub fn same_shape(types: &TypeStore, a: Ty, b: Ty) -> bool {
    if a == b {
        return true;
    }
    match (types.kind(a), types.kind(b)) {
        (TyKind::Error, _) | (_, TyKind::Error) => true,
        (TyKind::NullPtr, TyKind::Ptr(_)) | (TyKind::Ptr(_), TyKind::NullPtr) => true,
        (TyKind::Int(x), TyKind::Int(y)) => x == y,
        (TyKind::Enum(_), TyKind::Enum(_) | TyKind::Int(_)) | (TyKind::Int(_), TyKind::Enum(_)) => {
            types.as_int(a) == types.as_int(b)
        }
        (TyKind::Ptr(p), TyKind::Ptr(q)) => {
            pointer_class(types, p) == pointer_class(types, q) && same_shape(types, p.target.ty, q.target.ty)
        }
        // A function used as a value is a pointer to it.
        (TyKind::Ptr(p), TyKind::Func(_)) => same_shape(types, p.target.ty, b),
        (TyKind::Func(_), TyKind::Ptr(q)) => same_shape(types, a, q.target.ty),
        (TyKind::Key(x, _), TyKind::Key(y, _)) => x == y,
        // An exporter's end serves as one of a contract that its own extends.
        (TyKind::Endpoint(x), TyKind::Endpoint(y)) => {
            x.side == y.side
                && (types.contract_extends(x.contract, y.contract) || types.contract_extends(y.contract, x.contract))
        }
        (TyKind::EndSet(x), TyKind::EndSet(y)) => x == y,
        (TyKind::Handle(x, _), TyKind::Handle(y, _)) => x == y,
        (TyKind::RegionArg(_), TyKind::RegionArg(_)) => true,
        (TyKind::Record(r), TyKind::Record(s)) => same_record(types, *r, *s),
        (TyKind::Array { elem: x, len: m, .. }, TyKind::Array { elem: y, len: n, .. }) => {
            same_shape(types, x.ty, y.ty) && same_length(*m, *n)
        }
        (TyKind::Func(f), TyKind::Func(g)) => {
            same_shape(types, f.ret, g.ret)
                && (f.unprototyped
                    || g.unprototyped
                    || f.params.len() == g.params.len()
                        && f.params.iter().zip(&g.params).all(|(x, y)| same_shape(types, x.ty, y.ty)))
        }
        _ => false,
    }
}

/// Whether two records differ in their regions only: instances of one generic. (Records of MIR text
/// have lost their generic; there the tag and the place of declaration decide.)
fn same_record(types: &TypeStore, a: RecordId, b: RecordId) -> bool {
    let (Some(x), Some(y)) = (types.records.get(a.0 as usize), types.records.get(b.0 as usize)) else { return false };
    let generic = |id| types.instance_of.get(&id);
    let one_generic = x.tag == y.tag && x.span == y.span && generic(a) == generic(b);
    let same_args = || x.args.iter().zip(&y.args).all(|(&p, &q)| same_shape(types, p, q));
    one_generic && !x.args.is_empty() && x.args.len() == y.args.len() && same_args()
}

fn same_length(a: ArrayLen, b: ArrayLen) -> bool {
    a == b || !matches!((a, b), (ArrayLen::Const(_), ArrayLen::Const(_)))
}

/// Whether a value of the type owns something: moved when it is read, and owed. `T: move` may.
pub fn owns(types: &TypeStore, ty: Ty) -> bool {
    holds_owned(types, ty, 0)
}

fn holds_owned(types: &TypeStore, ty: Ty, depth: u32) -> bool {
    // As in `holds_nonnull`.
    if depth > 100 {
        return false;
    }
    match types.kind(ty) {
        TyKind::Ptr(p) => matches!(p.own, Own::Unique | Own::Rc | Own::Param(_)),
        TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => true,
        TyKind::Param(p) => p.moves,
        TyKind::Array { elem, .. } => holds_owned(types, elem.ty, depth + 1),
        TyKind::Record(r) => {
            let fields = types.records.get(r.0 as usize).and_then(|record| record.fields.as_ref());
            fields.is_some_and(|fields| fields.iter().any(|f| holds_owned(types, f.ty.ty, depth + 1)))
        }
        _ => false,
    }
}

/// Whether a type is a number, a truth value, an enumeration or a pointer.
pub fn is_scalar(types: &TypeStore, ty: Ty) -> bool {
    matches!(
        types.kind(ty),
        TyKind::Bool
            | TyKind::Int(_)
            | TyKind::Float(_)
            | TyKind::Complex(_)
            | TyKind::Enum(_)
            | TyKind::Ptr(_)
            | TyKind::NullPtr
    )
}

/// Whether a value of the type holds a `nonnull` pointer that all zero bytes would break: such a
/// type must be assigned whole. Of a union the first member counts, which zero bytes select.
pub fn has_nonnull(types: &TypeStore, ty: Ty) -> bool {
    holds_nonnull(types, ty, 0)
}

fn holds_nonnull(types: &TypeStore, ty: Ty, depth: u32) -> bool {
    // By-value nesting is finite in every correct type; the limit guards against what an error left
    // behind.
    if depth > 100 {
        return false;
    }
    match types.kind(ty) {
        TyKind::Ptr(p) => p.nonnull,
        TyKind::Param(p) => p.nonnull,
        TyKind::Array { elem, .. } => holds_nonnull(types, elem.ty, depth + 1),
        TyKind::Record(r) => {
            let Some(record) = types.records.get(r.0 as usize) else { return false };
            let Some(fields) = &record.fields else { return false };
            let count = if record.kind == RecordKind::Struct { fields.len() } else { 1 };
            fields.iter().take(count).any(|f| holds_nonnull(types, f.ty.ty, depth + 1))
        }
        _ => false,
    }
}

/// Whether the pointer can be compared, tested and dereferenced as one word.
pub fn is_one_word(types: &TypeStore, ty: Ty) -> bool {
    matches!(types.kind(ty), TyKind::Ptr(p) if pointer_class(types, p) == PointerClass::One)
}

/// Whether the type's bounds are those of a terminated string of one word.
pub fn is_terminated(types: &TypeStore, ty: Ty) -> bool {
    matches!(types.kind(ty), TyKind::Ptr(p) if p.bounds == Bounds::Terminated)
}

/// Whether a value of the type holds counted pointers to the heap or counted keys: a count goes
/// down when it ends. Regions are erased.
pub fn holds_counts(types: &TypeStore, ty: Ty) -> bool {
    match types.kind(ty) {
        TyKind::Ptr(p) => p.own == Own::Rc && p.region == Region::Heap,
        TyKind::Key(kind, _) => kind.is_rc() || *kind == KeyKind::Exchange,
        TyKind::Array { elem, .. } => holds_counts(types, elem.ty),
        TyKind::Record(id) => {
            let fields = types.record(*id).fields.clone();
            fields.iter().flat_map(|fields| fields.iter()).any(|field| holds_counts(types, field.ty.ty))
        }
        _ => false,
    }
}

/// Whether a conversion of the operand, a number, to the type keeps all bits that it has.
pub fn keeps_all_bits(program: &Program, body: &Body, operand: &Operand, to: Ty) -> bool {
    let types = &program.types;
    let size = |ty: Ty| types.as_int(ty).map(|kind| kind.size());
    let from = operand_ty(program, body, operand).ok().and_then(size);
    // `bool` is 1 for every number that is not zero.
    matches!(types.kind(to), TyKind::Bool) || from.zip(size(to)).is_some_and(|(from, to)| to >= from)
}
