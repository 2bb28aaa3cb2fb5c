//! Types seen as regions: walks two types that are equal up to regions side by side.

use std::rc::Rc;
use typing::types::{FuncTy, KeyKind, Own, Pointer, Region, Ty, TyKind, TypeParam, TypeStore};

use super::build::Ref;
use super::origins::{EXCHANGE, HEAP};

/// How the region of a value must stand to that of the place it goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// It outlives it.
    Outlives,
    /// It is the same: owned pointers, keys, and all behind a pointer that can be written.
    Equal,
}

/// What two types say about their regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Related {
    /// A region of the source stands where one of the destination does.
    Pair(Found, Found, How),
    /// Two regions of the function that is converted: it relies on the first outliving the second.
    Fact(Found, Found),
    /// It relies on more than the type that it is called through promises.
    Unpromised,
}

/// A region of a type, and how many function types lie around it within the type.
pub(crate) type Found = (Region, u8);

/// Types nest finitely; the limit guards against what an error left behind.
const MAX_DEPTH: u32 = 64;

/// Whether a pointer is to an object; functions live for ever.
pub(crate) fn is_object_pointer(types: &TypeStore, p: &Pointer) -> bool {
    !matches!(types.kind(p.target.ty), TyKind::Func(_))
}

/// The pointer shape of a type that points to an object.
pub(crate) fn object_pointer(types: &TypeStore, ty: Ty) -> Option<Pointer> {
    types.as_pointer(ty).filter(|p| is_object_pointer(types, p))
}

/// Whether a pointer of this ownership keeps its exact region.
pub(crate) fn is_exact(own: Own) -> bool {
    matches!(own, Own::Unique | Own::Rc | Own::Param(_))
}

/// The function types of two values that are functions or pointers to functions.
pub(crate) fn functions(types: &TypeStore, source: Ty, dest: Ty) -> Option<(Rc<FuncTy>, Rc<FuncTy>)> {
    let function = |ty| types.as_func(ty).or_else(|| types.as_func(types.as_pointer(ty)?.target.ty));
    Some((function(source)?, function(dest)?))
}

/// The variable number of the converted function that a region is, if it is one of its own.
pub(crate) fn own_variable((region, level): Found) -> Option<u32> {
    match region {
        Region::Bound(at, n) if level == at.saturating_add(1) => Some(n),
        _ => None,
    }
}

/// Calls `emit` for each region inside both types; not for the outermost pointer, which the caller
/// relates. `instance`: a function is converted, whose own region variables may stand for any
/// regions.
pub(crate) fn relate_inner(types: &TypeStore, source: Ty, dest: Ty, instance: bool, emit: &mut dyn FnMut(Related)) {
    if let Some((s, d)) = functions(types, source, dest) {
        let mut chosen = vec![None; if instance { s.regions as usize } else { 0 }];
        let mut note = |related| {
            if let Related::Pair(x, (region, level), _) = related {
                let slot = own_variable(x).and_then(|n| chosen.get_mut(n as usize));
                // As the prototype itself names it.
                slot.into_iter().for_each(|slot| _ = slot.get_or_insert(outward(region, level.saturating_sub(1))));
            }
            emit(related);
        };
        Walk { types, emit: &mut note }.function(&s, &d, 0, 0);
        let given = |r: Region| match r {
            Region::Bound(0, n) => chosen.get(n as usize).copied().flatten().unwrap_or(r),
            other => other,
        };
        // What the function relies on, the type that it is called through must promise; of regions
        // of the body around it must hold there.
        for &(long, short) in &s.outlives {
            let pair = (given(long), given(short));
            let of_type = |r| matches!(r, Region::Bound(0, _));
            if pair.0 == pair.1 || d.outlives.contains(&pair) {
                continue;
            }
            match instance && !of_type(pair.0) && !of_type(pair.1) {
                true => emit(Related::Fact((long, 1), (short, 1))),
                false => emit(Related::Unpromised),
            }
        }
        return;
    }
    let mut walk = Walk { types, emit };
    match (object_pointer(types, source), object_pointer(types, dest)) {
        (Some(s), Some(d)) => {
            if is_void(types, &s) || is_void(types, &d) {
                return;
            }
            let read_only = d.target.quals.is_const;
            walk.pair(s.target.ty, d.target.ty, read_only, 0, 0);
        }
        _ => walk.pair(source, dest, false, 0, 0),
    }
}

/// A region that stands under `levels` more function types, as it is named outside of them.
fn outward(region: Region, levels: u8) -> Region {
    match region {
        Region::Bound(at, n) => Region::Bound(at.saturating_sub(levels), n),
        other => other,
    }
}

fn is_void(types: &TypeStore, p: &Pointer) -> bool {
    matches!(types.kind(p.target.ty), TyKind::Void)
}

struct Walk<'a, 'e> {
    types: &'a TypeStore,
    emit: &'e mut dyn FnMut(Related),
}

impl Walk<'_, '_> {
    fn function(&mut self, s: &FuncTy, d: &FuncTy, level: u8, depth: u32) {
        for (s, d) in s.params.iter().zip(&d.params) {
            self.pair(s.ty, d.ty, false, level + 1, depth + 1);
        }
        self.pair(s.ret, d.ret, false, level + 1, depth + 1);
    }

    /// `read_only`: every level on the way is `const`. `level`: function types around.
    fn pair(&mut self, source: Ty, dest: Ty, read_only: bool, level: u8, depth: u32) {
        if source == dest && !self.mentions(source, depth) || depth > MAX_DEPTH {
            return;
        }
        match (self.types.kind(source).clone(), self.types.kind(dest).clone()) {
            (TyKind::Ptr(s), TyKind::Ptr(d)) => {
                if is_object_pointer(self.types, &s) && is_object_pointer(self.types, &d) {
                    let how = if read_only && !is_exact(d.own) { How::Outlives } else { How::Equal };
                    (self.emit)(Related::Pair((s.region, level), (d.region, level), how));
                }
                let inner = read_only && d.target.quals.is_const;
                self.pair(s.target.ty, d.target.ty, inner, level, depth + 1);
            }
            (TyKind::Array { elem: s, .. }, TyKind::Array { elem: d, .. }) => {
                self.pair(s.ty, d.ty, read_only, level, depth + 1)
            }
            (TyKind::Record(s), TyKind::Record(d)) => {
                let args = |r: typing::types::RecordId| self.types.records.get(r.0 as usize).map(|r| r.args.clone());
                let (s, d) = (args(s).unwrap_or_default(), args(d).unwrap_or_default());
                for (s, d) in s.iter().zip(&d) {
                    // A struct's arguments stay as they are even behind `const`: what its fields
                    // point to can be written.
                    self.pair(*s, *d, false, level, depth + 1);
                }
            }
            (TyKind::RegionArg(s), TyKind::RegionArg(d))
            | (TyKind::Key(_, s), TyKind::Key(_, d))
            | (TyKind::Handle(_, s), TyKind::Handle(_, d)) => {
                (self.emit)(Related::Pair((s, level), (d, level), How::Equal))
            }
            (TyKind::Func(s), TyKind::Func(d)) => {
                self.function(&s, &d, level, depth);
                // What the function relies on, the type that it is called through must promise;
                // what can be written keeps its type.
                let more = |f: &FuncTy, g: &FuncTy| f.outlives.iter().any(|pair| !g.outlives.contains(pair));
                if more(&s, &d) || !read_only && more(&d, &s) {
                    (self.emit)(Related::Unpromised);
                }
            }
            _ => {}
        }
    }

    fn mentions(&self, ty: Ty, depth: u32) -> bool {
        let mut found = false;
        each_region(self.types, ty, depth, 0, &mut |_| found = true);
        found
    }
}

/// Calls `visit` for every region in the type; of a record, those of its arguments.
pub(crate) fn each_region(types: &TypeStore, ty: Ty, depth: u32, level: u8, visit: &mut dyn FnMut(Found)) {
    if depth > MAX_DEPTH {
        return;
    }
    match types.kind(ty) {
        TyKind::Ptr(p) => {
            if is_object_pointer(types, p) {
                visit((p.region, level));
            }
            each_region(types, p.target.ty, depth + 1, level, visit);
        }
        TyKind::Array { elem, .. } => each_region(types, elem.ty, depth + 1, level, visit),
        TyKind::Record(r) => {
            let Some(record) = types.records.get(r.0 as usize) else { return };
            record.args.iter().for_each(|&arg| each_region(types, arg, depth + 1, level, visit));
        }
        TyKind::RegionArg(r) | TyKind::Key(_, r) | TyKind::Handle(_, r) => visit((*r, level)),
        TyKind::Func(f) => {
            f.params.iter().for_each(|p| each_region(types, p.ty, depth + 1, level + 1, visit));
            each_region(types, f.ret, depth + 1, level + 1, visit);
        }
        _ => {}
    }
}

/// Something that a value of a type owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owned {
    /// An owned pointer into the region.
    Pointer(Region),
    /// A key.
    Key(KeyKind),
    /// An end of a channel, or a set of them.
    Endpoint,
    /// A value of generic type, which may own anything in the region of its bound.
    Generic(TypeParam),
}

/// Where an object that holds a key may be, if it is to be in the region: in the heap, and with the
/// key of an exchange arena in a block of the exchange heap, too. Elsewhere the key would be lost
/// with the arena.
pub(crate) fn key_region(kind: KeyKind, region: Ref) -> Ref {
    match region {
        Ref::Fixed(EXCHANGE) if kind == KeyKind::Exchange => region,
        _ => Ref::Fixed(HEAP),
    }
}

/// Calls `visit` for each thing that a value of the type owns itself (not through pointers).
pub(crate) fn each_owned(types: &TypeStore, ty: Ty, depth: u32, visit: &mut dyn FnMut(Owned)) {
    if depth > MAX_DEPTH {
        return;
    }
    match types.kind(ty) {
        TyKind::Ptr(p) if is_exact(p.own) => visit(Owned::Pointer(p.region)),
        TyKind::Key(kind, _) => visit(Owned::Key(*kind)),
        TyKind::Endpoint(_) | TyKind::EndSet(_) => visit(Owned::Endpoint),
        TyKind::Param(p) if p.moves => visit(Owned::Generic(*p)),
        TyKind::Array { elem, .. } => each_owned(types, elem.ty, depth + 1, visit),
        TyKind::Record(r) => {
            let fields = types.records.get(r.0 as usize).and_then(|record| record.fields.clone());
            for field in fields.iter().flat_map(|f| f.iter()) {
                each_owned(types, field.ty.ty, depth + 1, visit);
            }
        }
        _ => {}
    }
}
