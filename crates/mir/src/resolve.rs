//! Which place a pointer temporary leads to.
//!
//! Lowering computes the pointer of `v->items[i].name` in temporaries, so the store itself names
//! only the last of them. An analysis that asks whether the store touches `v` needs the place as
//! the program wrote it. The table answers that: it follows temporaries that are assigned once back
//! to the place that their pointer was read from, or whose address it is. One that is also assigned
//! null, as a conversion with a test for null does, leads to the same place or nowhere.
//!
//! The elements of an array behind a pointer are not distinguished: `p + i` leads to `*p` for every
//! `i`.

use crate::ir::*;

/// Where the pointer of a temporary comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// It was read from this place, and possibly moved within the object.
    Read(Place),
    /// It is the address of this place.
    Address(Place),
}

/// The sources of all temporaries of a body.
#[derive(Debug, Default)]
pub struct Resolver {
    sources: Vec<Option<Source>>,
}

impl Resolver {
    /// Reads the body once.
    pub fn new(body: &Body) -> Resolver {
        let mut sources: Vec<Option<Source>> = vec![None; body.locals.len()];
        let mut assigned = vec![0u32; body.locals.len()];
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            let is_null = stmt.kind.as_assign().is_some_and(|(_, value)| value.is_null());
            let mut count = |local: Option<Local>| {
                if let Some(times) = local.and_then(|l| assigned.get_mut(l.0 as usize)).filter(|_| !is_null) {
                    *times += 1;
                }
            };
            crate::effects::stmt_places(&stmt.kind, &mut |place, access| {
                if access == crate::effects::Access::Write {
                    count(place.as_local());
                }
            });
            let Some((dest, value)) = stmt.kind.as_assign() else { continue };
            if let (Some(local), Some(source)) = (dest.as_local(), source(value)) {
                if let Some(slot) = sources.get_mut(local.0 as usize) {
                    *slot = Some(source);
                }
            }
        }
        for ((slot, times), decl) in sources.iter_mut().zip(assigned).zip(&body.locals) {
            if times != 1 || decl.kind != LocalKind::Temp {
                *slot = None;
            }
        }
        Resolver { sources }
    }

    /// The place that the temporary's pointer was read from; `None` if it is the address of a place,
    /// or not known.
    pub fn read_from(&self, temp: Local) -> Option<&Place> {
        match self.sources.get(temp.0 as usize)? {
            Some(Source::Read(from)) => Some(from),
            Some(Source::Address(_)) | None => None,
        }
    }

    /// The place with temporaries at its base that are addresses replaced by what they are the
    /// address of: `*&p` is `p`.
    pub fn of_address(&self, place: &Place) -> Place {
        let mut place = place.clone();
        // As below, the count is a guard.
        for _ in 0..self.sources.len() {
            let Some(base) = place.base_local().filter(|_| place.proj.first() == Some(&Proj::Deref)) else { break };
            let Some(Some(Source::Address(of))) = self.sources.get(base.0 as usize) else { break };
            let rest = place.proj.get(1..).unwrap_or(&[]);
            place = Place { base: of.base, proj: of.proj.iter().chain(rest).cloned().collect() };
        }
        place
    }

    /// The place with the pointer temporaries at its base replaced by what they were computed from.
    pub fn place(&self, place: &Place) -> Place {
        let mut place = place.clone();
        // Each step goes to a temporary that was assigned before; the count guards against an
        // ill-formed body.
        for _ in 0..self.sources.len() {
            let Some(base) = place.base_local().filter(|_| place.proj.first() == Some(&Proj::Deref)) else { break };
            let (from, steps) = match self.sources.get(base.0 as usize) {
                Some(Some(Source::Read(from))) => (from, place.proj.as_slice()),
                Some(Some(Source::Address(of))) => (of, place.proj.get(1..).unwrap_or(&[])),
                _ => break,
            };
            place = Place { base: from.base, proj: from.proj.iter().chain(steps).cloned().collect() };
        }
        place
    }
}

fn source(value: &Rvalue) -> Option<Source> {
    match value.points_at() {
        Some((place, true)) => Some(Source::Address(place.clone())),
        Some((place, false)) => Some(Source::Read(place.clone())),
        None => value.same_object()?.place().cloned().map(Source::Read),
    }
}
