//! Names in scope.

use crate::tree::{FuncId, GlobalId, LocalId};
use crate::types::{EnumId, Own, Qty, RecordId, Region, Ty, TypeParam};
use rustc_hash::FxHashMap;
use source::{Span, Symbol};
use std::rc::Rc;

/// What an ordinary name stands for.
#[derive(Clone, Debug)]
pub enum Entity {
    /// A typedef.
    Typedef(Qty),
    /// A generic typedef: its parameters, and the type over them.
    GenericTypedef(Rc<[GenericParam]>, Qty),
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
    /// An ownership parameter.
    OwnParam(Own),
    /// Something whose declaration was in error or belongs to a later issue: uses are not reported
    /// again.
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
    pub params: Vec<GenericParam>,
    /// Its instance at its own parameters.
    pub this: RecordId,
}

/// A parameter of a generic item. All kinds are numbered together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GenericParam {
    /// `T`
    Type(TypeParam),
    /// `own q`
    Own(Symbol),
    /// `@r` of a struct
    Region(Symbol),
}

impl GenericParam {
    /// Its name.
    pub fn name(&self) -> Symbol {
        match self {
            GenericParam::Type(p) => p.name,
            GenericParam::Own(name) | GenericParam::Region(name) => *name,
        }
    }
}

/// One level of names.
#[derive(Default, Debug)]
struct Level {
    names: FxHashMap<Symbol, (Entity, Span)>,
    tags: FxHashMap<Symbol, Tag>,
    regions: FxHashMap<Symbol, (Region, Span)>,
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

    /// Closes levels until `depth` are left; names and tags that they declared go to the innermost
    /// of those.
    pub fn hoist(&mut self, depth: usize) {
        while self.levels.len() > depth.max(1) {
            let Some(level) = self.levels.pop() else { return };
            if let Some(outer) = self.levels.last_mut() {
                outer.names.extend(level.names);
                outer.tags.extend(level.tags);
            }
        }
    }

    /// Drops levels until `depth` are left.
    pub fn truncate(&mut self, depth: usize) {
        self.levels.truncate(depth.max(1));
    }

    /// What `name` means here.
    pub fn lookup(&self, name: Symbol) -> Option<&Entity> {
        self.levels.iter().rev().find_map(|l| l.names.get(&name)).map(|(e, _)| e)
    }

    /// Where what `name` means is declared.
    pub fn place_of(&self, name: Symbol) -> Option<Span> {
        self.levels.iter().rev().find_map(|l| l.names.get(&name)).map(|(_, span)| *span)
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

    /// Takes the declaration of `name` at `span` back, and puts what it hid in its level in its
    /// place.
    pub fn withdraw(&mut self, name: Symbol, span: Span, hidden: Option<(Entity, Span)>) {
        for level in self.levels.iter_mut().rev() {
            if level.names.get(&name).is_some_and(|(_, at)| *at == span) {
                level.names.remove(&name);
                level.names.extend(hidden.map(|old| (name, old)));
                return;
            }
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

    /// What the tag means at file level.
    pub fn file_tag(&self, name: Symbol) -> Option<Tag> {
        self.levels.first()?.tags.get(&name).copied()
    }

    /// Declares a tag at file level.
    pub fn declare_file_tag(&mut self, name: Symbol, tag: Tag) {
        if let Some(level) = self.levels.first_mut() {
            level.tags.insert(name, tag);
        }
    }

    /// The region that `name` means here, and where it is declared.
    pub fn region(&self, name: Symbol) -> Option<(Region, Span)> {
        self.levels.iter().rev().find_map(|l| l.regions.get(&name)).copied()
    }

    /// Declares a region's name in the innermost level.
    pub fn declare_region(&mut self, name: Symbol, region: Region, span: Span) {
        if let Some(level) = self.levels.last_mut() {
            level.regions.insert(name, (region, span));
        }
    }

    /// Declares a region's name in the level of the function's parameters.
    pub fn declare_outer_region(&mut self, name: Symbol, region: Region, span: Span) {
        let at = usize::from(self.levels.len() > 1);
        if let Some(level) = self.levels.get_mut(at) {
            level.regions.insert(name, (region, span));
        }
    }

    /// All names in scope, for "did you mean".
    pub fn names(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.levels.iter().flat_map(|l| l.names.keys().copied())
    }
}
