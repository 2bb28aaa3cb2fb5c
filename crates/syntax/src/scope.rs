//! Which names are types: all that C's grammar needs to know about declarations.

use rustc_hash::FxHashMap;
use source::Symbol;

/// What a name stands for, as far as the grammar asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// An object, function, enumerator or parameter.
    Ordinary,
    /// A typedef name or generic type parameter.
    Type,
    /// A generic typedef: `<` after it opens arguments.
    GenericType,
    /// An `own` parameter of a `generic <...>`.
    Own,
    /// A contract.
    Contract,
    /// Used as a type without a declaration, and reported.
    UnknownType,
}

/// The scopes, as a table of what is visible and a log of what it hid.
#[derive(Default)]
pub(crate) struct Names {
    visible: FxHashMap<Symbol, NameKind>,
    hidden: Vec<(Symbol, Option<NameKind>)>,
    scopes: Vec<usize>,
}

impl Names {
    /// What `name` stands for here.
    pub fn get(&self, name: Symbol) -> Option<NameKind> {
        self.visible.get(&name).copied()
    }

    /// Declares `name` in the innermost scope.
    pub fn declare(&mut self, name: Symbol, kind: NameKind) {
        let before = self.visible.insert(name, kind);
        if !self.scopes.is_empty() {
            self.hidden.push((name, before));
        }
    }

    /// How many scopes are open.
    pub fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Opens a scope.
    pub fn enter(&mut self) {
        self.scopes.push(self.hidden.len());
    }

    /// Closes the innermost scope; what it declared is forgotten.
    pub fn leave(&mut self) {
        let Some(mark) = self.scopes.pop() else { return };
        while self.hidden.len() > mark {
            match self.hidden.pop() {
                Some((name, Some(kind))) => drop(self.visible.insert(name, kind)),
                Some((name, None)) => drop(self.visible.remove(&name)),
                None => break,
            }
        }
    }
}
