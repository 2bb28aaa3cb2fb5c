//! Interned names. Two symbols are equal iff their texts are.

use rustc_hash::FxHashMap;
use std::sync::{LazyLock, RwLock};

/// An interned identifier or other short text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(u32);

#[derive(Default)]
struct Interner {
    by_text: FxHashMap<&'static str, u32>,
    texts: Vec<&'static str>,
}

static INTERNER: LazyLock<RwLock<Interner>> = LazyLock::new(Default::default);

impl Symbol {
    /// The symbol of `text`. Texts live until the program ends.
    pub fn new(text: &str) -> Symbol {
        if let Ok(interner) = INTERNER.read() {
            if let Some(&id) = interner.by_text.get(text) {
                return Symbol(id);
            }
        }
        let mut interner = match INTERNER.write() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        };
        if let Some(&id) = interner.by_text.get(text) {
            return Symbol(id);
        }
        let id = interner.texts.len() as u32;
        let text: &'static str = Box::leak(text.into());
        interner.texts.push(text);
        interner.by_text.insert(text, id);
        Symbol(id)
    }

    /// The text.
    pub fn as_str(self) -> &'static str {
        let interner = match INTERNER.read() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        };
        interner.texts.get(self.0 as usize).copied().unwrap_or("")
    }
}

impl std::fmt::Debug for Symbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl std::fmt::Display for Symbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&str> for Symbol {
    fn from(text: &str) -> Symbol {
        Symbol::new(text)
    }
}
