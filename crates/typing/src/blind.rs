//! Functions of the file that cannot see what waits in a group of counts ([`crate::spread_counts`]).
//!
//! ```c
//! b->data = malloc(n);
//! log("made");
//! b->capacity = n;
//! ```
//!
//! `log` finds the fields as they were before the group, where C has the new pointer. So it must not be
//! able to tell: nothing that it names, or is given, leads to such a struct. That is read off its
//! text, as the preprocessor left it, and that of all functions that it names. They stand before
//! the group's, so what they name is known.

use crate::checker::Checker;
use crate::scope::Entity;
use crate::spread_counts::{is_called, words};
use crate::tree::{FuncId, Linkage, Trust};
use crate::types::{RecordId, Ty, TyKind};
use rustc_hash::FxHashSet;
use source::{Span, Symbol};

/// How many functions are read at most.
const MOST: usize = 32;

/// Words of a text after which other code may run, or this one does not come back.
const REFUSED: [&str; 23] = [
    "asm",
    "__asm__",
    "__asm",
    "weak",
    "alias",
    "ifunc",
    "unsafe",
    "trusted",
    "yield",
    "start",
    "join",
    "spawn",
    "send",
    "receive",
    "wait",
    "longjmp",
    "siglongjmp",
    "_longjmp",
    "raise",
    "kill",
    "container_of",
    "extern",
    "defer",
];

/// Words before a bracket that call nothing.
const NO_CALLS: [&str; 12] =
    ["if", "while", "for", "switch", "return", "sizeof", "typeof", "lengthof", "alignof", "_Alignof", "else", "do"];

impl Checker<'_> {
    /// Whether a function that stands before the one at hand can neither see nor change a struct of
    /// the type but by its arguments.
    pub(crate) fn is_blind(&self, name: Symbol, record: RecordId) -> bool {
        let Some(here) = self.f.as_ref().map(|f| f.text.lo) else { return false };
        let mut seen = vec![name];
        let mut at = 0;
        while let Some(&name) = seen.get(at) {
            at += 1;
            let Some(&text) = self.bodies.get(&name).filter(|text| text.hi <= here) else { return false };
            if at > MOST || self.may_be_replaced(name) || !self.names_none(text, record, &mut seen) {
                return false;
            }
        }
        true
    }

    /// Whether the linker may take another body than this one.
    fn may_be_replaced(&self, name: Symbol) -> bool {
        let Some((Entity::Func(id), _)) = self.scopes.lookup_file(name) else { return true };
        self.program.functions.get(id.0 as usize).is_none_or(|f| {
            f.linkage == Linkage::Shared || f.attrs.iter().any(|a| a.contains("weak") || a.contains("alias"))
        })
    }

    /// Whether nothing that the text of a function names leads to such a struct. Other functions that
    /// it names are added.
    fn names_none(&self, text: Span, record: RecordId, seen: &mut Vec<Symbol>) -> bool {
        let text = self.map.snippet(text);
        if calls_a_value(text) {
            return false;
        }
        let body = text.find('{').unwrap_or(text.len());
        words(text).all(|(at, word)| {
            let calls = is_called(text, at, word);
            let before = text.get(..at).unwrap_or("").trim_end();
            if before.ends_with('.') || before.ends_with("->") {
                // A field; a pointer in it is not called.
                return !calls;
            }
            // What is kept from one call to the next was not seen here.
            if REFUSED.contains(&word) || (word == "static" && at > body) {
                return false;
            }
            let symbol = Symbol::new(word);
            match self.scopes.lookup_file(symbol).map(|(entity, _)| entity) {
                Some(Entity::Func(id)) if self.is_of_library(*id) => true,
                Some(Entity::Func(_)) => {
                    if !seen.contains(&symbol) {
                        seen.push(symbol);
                    }
                    true
                }
                Some(Entity::Global(id)) => {
                    let global = self.program.globals.get(id.0 as usize);
                    !calls && global.is_some_and(|global| !self.leads_to(global.ty.ty, record))
                }
                Some(Entity::Poison) => false,
                _ => !calls || NO_CALLS.contains(&word) || self.is_allocator(symbol),
            }
        })
    }

    pub(crate) fn is_of_library(&self, id: FuncId) -> bool {
        self.program.functions.get(id.0 as usize).is_some_and(|f| f.trust == Trust::Trusted)
    }

    /// Whether a value of the type may lead to such a struct, or to code.
    pub(crate) fn leads_to(&self, ty: Ty, record: RecordId) -> bool {
        let mut seen = FxHashSet::default();
        self.leads_on(ty, record, &mut seen)
    }

    fn leads_on(&self, ty: Ty, record: RecordId, seen: &mut FxHashSet<Ty>) -> bool {
        if !seen.insert(ty) {
            return false;
        }
        let types = &self.program.types;
        match *types.kind(ty) {
            TyKind::Bool | TyKind::Int(_) | TyKind::Float(_) | TyKind::Complex(_) | TyKind::Enum(_) => false,
            TyKind::Ptr(p) => self.leads_on(p.target.ty, record, seen),
            TyKind::Array { elem, .. } => self.leads_on(elem.ty, record, seen),
            TyKind::Record(id) if id == record => true,
            TyKind::Record(id) => {
                let mut fields = types.record(id).fields.iter().flat_map(|fields| fields.iter());
                fields.any(|field| self.leads_on(field.ty.ty, record, seen))
            }
            _ => true,
        }
    }
}

/// Whether a text calls something other than a name: `(*f)(x)`, `table[i](x)`. A cast in front of brackets looks
/// like that, too.
fn calls_a_value(text: &str) -> bool {
    let mut last = ' ';
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        if c == '(' && matches!(last, ')' | ']') {
            return true;
        }
        last = c;
    }
    false
}
