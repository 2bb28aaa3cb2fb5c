//! Elements of arrays behind pointers, as places: `s->items[i]` is computed in temporaries, each
//! time anew, so that two accesses to one element name different temporaries.
//!
//! A pointer that is a temporary, assigned once, by the sum of an array's pointer and a local or
//! constant, leads to an element. Its place is written as if the index were a step: the place of the
//! array's pointer, through it, and the index. That is a name to compare by, not one to access by:
//! an array's pointer may be more than one word. The same name is the same element as long as
//! nothing on the way changes: the local at its beginning, the pointer, and the index.

use mir::ir::*;
use mir::resolve::Resolver;
use mir::ty::operand_ty;
use rustc_hash::FxHashMap;
use typing::types::Ty;

/// The pointers to elements of one body.
#[derive(Default)]
pub(super) struct Elements {
    resolver: Resolver,
    /// By the temporary: the array's pointer, and the index; none if the index has no name.
    sums: FxHashMap<Local, Option<(Place, Operand)>>,
}

impl Elements {
    pub fn new(program: &Program, body: &Body) -> Elements {
        let resolver = Resolver::new(body);
        let mut sums = FxHashMap::default();
        let mut wide: FxHashMap<Local, Operand> = FxHashMap::default();
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            let Some((dest, value)) = stmt.kind.as_assign() else { continue };
            let Some(to) = dest.as_local() else { continue };
            if let Some((number, ty)) = value.as_numeric() {
                // Assigned twice, or cut off, it says nothing.
                let twice = wide.insert(to, number.clone()).is_some();
                let bytes = |ty: Ty| program.types.as_int(ty).map(|kind| kind.size());
                let from = operand_ty(program, body, number).ok().and_then(bytes);
                let keeps = from.is_some_and(|from| bytes(ty).is_some_and(|to| from <= to));
                if twice || !keeps || !is_variable(body, number) {
                    wide.insert(to, Operand::local(to));
                }
            }
            let Some((array, index)) = value.as_offset() else { continue };
            let index = index.place().and_then(Place::as_local).and_then(|l| wide.get(&l)).unwrap_or(index);
            let once = resolver.read_from(to).is_some();
            let index = Some(index).filter(|index| once && is_variable(body, index));
            sums.insert(to, array.place().cloned().zip(index.cloned()));
        }
        Elements { resolver, sums }
    }

    /// The array that an element behind a pointer lies in.
    pub fn array(&self, place: &Place) -> Place {
        self.resolver.place(place)
    }

    /// The place by its element, if it is in one that is told apart; else as it is.
    pub fn place(&self, place: &Place) -> Place {
        let sum =
            place.base_local().filter(|_| place.proj.first() == Some(&Proj::Deref)).and_then(|l| self.sums.get(&l));
        let Some(Some((array, index))) = sum else { return place.clone() };
        let mut found = array.clone();
        // What makes bounds of a pointer reads it from where it is.
        while let Some(from) = found.as_local().and_then(|local| self.resolver.read_from(local)) {
            if found.as_local().is_some_and(|local| self.sums.contains_key(&local)) {
                return place.clone();
            }
            found = from.clone();
        }
        found.proj.extend([Proj::Deref, Proj::Index(index.clone())]);
        found.proj.extend(place.proj.iter().skip(1).cloned());
        found
    }
}

/// A constant, or a local that the program names.
fn is_variable(body: &Body, index: &Operand) -> bool {
    let Some(place) = index.place() else { return true };
    let decl = place.as_local().and_then(|local| body.locals.get(local.0 as usize));
    decl.is_some_and(|decl| decl.kind != LocalKind::Temp)
}
