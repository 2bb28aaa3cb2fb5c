//! Names in scope.

use crate::tree::{FuncId, GlobalId, LocalId};
use crate::types::{EnumId, Qty, RecordId, Ty, TypeParam};
use rustc_hash::FxHashMap;
use source::{Span, Symbol};

/// What an ordinary name stands for.
#[derive(Clone, Debug)]
pub enum Entity {
    /// A typedef.
    Typedef(Qty),
    /// A local or parameter.
    Local(LocalId),
    /// A global or static local.
    Global(GlobalId),
    /// A function.
    Func(FuncId),
    /// An enumeration constant.
    Constant(i128, Ty),
    /// A type parameter.
    TypeParam(Ty),
    /// Something whose declaration was in error or comes with a later issue: uses are not reported again.
    Poison,
}

/// What a tag stands for.
#[derive(Clone, Copy, Debug)]
pub enum Tag {
    /// A struct, union or tagged union.
    Record(RecordId),
    /// A generic one, by number.
    Generic(u32),
    /// An enumeration.
    Enum(EnumId),
}

/// A generic record.
#[derive(Clone, Debug)]
pub struct GenericRecord {
    /// Its parameters.
    pub params: Vec<TypeParam>,
    /// Its instance at its own parameters.
    pub this: RecordId,
}

/// One level of names.
#[derive(Default, Debug)]
struct Level {
    names: FxHashMap<Symbol, (Entity, Span)>,
    tags: FxHashMap<Symbol, Tag>,
}

/// All levels, the outermost first.
#[derive(Debug)]
pub struct Scopes {
    levels: Vec<Level>,
}

impl Default for Scopes {
    fn default() -> Self {
        Scopes { levels: vec![Level::default()] }
    }
}

impl Scopes {
    /// Opens a level.
    pub fn push(&mut self) {
        self.levels.push(Level::default());
    }

    /// Closes the innermost level; the file's stays.
    pub fn pop(&mut self) {
        if self.levels.len() > 1 {
            self.levels.pop();
        }
    }

    /// Number of levels: 1 at file scope.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Drops levels until `depth` are left.
    pub fn truncate(&mut self, depth: usize) {
        self.levels.truncate(depth.max(1));
    }

    /// What `name` means here.
    pub fn lookup(&self, name: Symbol) -> Option<&Entity> {
        self.levels.iter().rev().find_map(|l| l.names.get(&name)).map(|(e, _)| e)
    }

    /// What `name` means in the innermost level, and where it is declared.
    pub fn lookup_here(&self, name: Symbol) -> Option<&(Entity, Span)> {
        self.levels.last()?.names.get(&name)
    }

    /// What `name` means at file scope.
    pub fn lookup_file(&self, name: Symbol) -> Option<&(Entity, Span)> {
        self.levels.first()?.names.get(&name)
    }

    /// Declares `name` in the innermost level.
    pub fn declare(&mut self, name: Symbol, entity: Entity, span: Span) {
        if let Some(level) = self.levels.last_mut() {
            level.names.insert(name, (entity, span));
        }
    }

    /// Declares `name` at file scope.
    pub fn declare_file(&mut self, name: Symbol, entity: Entity, span: Span) {
        if let Some(level) = self.levels.first_mut() {
            level.names.insert(name, (entity, span));
        }
    }

    /// What the tag means here.
    pub fn tag(&self, name: Symbol) -> Option<Tag> {
        self.levels.iter().rev().find_map(|l| l.tags.get(&name)).copied()
    }

    /// What the tag means in the innermost level.
    pub fn tag_here(&self, name: Symbol) -> Option<Tag> {
        self.levels.last()?.tags.get(&name).copied()
    }

    /// Declares a tag in the innermost level.
    pub fn declare_tag(&mut self, name: Symbol, tag: Tag) {
        if let Some(level) = self.levels.last_mut() {
            level.tags.insert(name, tag);
        }
    }

    /// All names in scope, for "did you mean".
    pub fn names(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.levels.iter().flat_map(|l| l.names.keys().copied())
    }
}
