//! Slots: what a pointer is kept in. One slot may be declared in several places (a header and a
//! definition) and seen from several units.

use crate::declarators::{FunctionSite, Site, Sites};
use crate::{Place, Unit};
use rustc_hash::{FxHashMap, FxHashSet};
use source::Symbol;
use std::collections::BTreeMap;
use typing::tree::{FuncId, GlobalId, Linkage, LocalId, Program, Trust};
use typing::types::{Bounds, IntKind, RecordId, Ty, TyKind};

/// Number of a slot.
pub type SlotId = usize;

/// A slot and behind how many pointers or arrays: `(p, 1)` is what `p` points to.
pub type Node = (SlotId, usize);

/// A function of the program: its name, and the file if it is `static`.
pub type Func = (Symbol, Option<String>);

/// What a slot is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// A parameter.
    Param(Func, usize),
    /// What a function returns.
    Result(Func),
    /// A variable that other files may name.
    Global(Symbol),
    /// A field.
    Field(Place),
    /// A `static` variable.
    Static(Place),
    /// A local of a function of a unit.
    Local(usize, FuncId, LocalId),
}

/// A declaration of a slot.
#[derive(Clone, Debug)]
pub struct SlotSite {
    /// The unit that it was read in.
    pub unit: usize,
    /// Where its `*`s stand.
    pub site: Site,
    /// The names of all parameters, if it is a parameter or a result.
    pub params: Vec<Option<Symbol>>,
}

/// One step of a type.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The bounds of a pointer; `None` for an array.
    pub bounds: Option<Bounds>,
    /// Whether it leads to a character.
    pub character: bool,
    /// Whether it leads to a `char`: `const char *` is a string.
    pub text: bool,
    /// Whether what it leads to is `const`.
    pub constant: bool,
    /// Whether it leads to something that can be indexed.
    pub indexable: bool,
}

/// A slot.
#[derive(Clone, Debug)]
pub struct Slot {
    /// What it is.
    pub key: Key,
    /// Its type, step by step.
    pub steps: Vec<Step>,
    /// Its declarations in the user's files.
    pub sites: Vec<SlotSite>,
}

impl Slot {
    /// The name that code uses for it: its function's, if it is a parameter, a result or a local.
    pub fn name(&self, units: &[Unit]) -> Option<Symbol> {
        match &self.key {
            Key::Param(func, _) | Key::Result(func) => Some(func.0),
            Key::Global(name) => Some(*name),
            Key::Local(unit, func, _) => Some(units.get(*unit)?.tree.functions.get(func.0 as usize)?.name),
            Key::Field(_) | Key::Static(_) => {
                let site = self.sites.first()?;
                Some(Symbol::new(units.get(site.unit)?.map.snippet(site.site.name?)))
            }
        }
    }
}

impl Slot {
    /// All names that code may use for it: its own in each declaration, and its function's.
    pub fn names(&self, units: &[Unit]) -> Vec<Symbol> {
        let own = self.sites.iter().filter_map(|site| {
            let name = site.site.name?;
            Some(Symbol::new(units.get(site.unit)?.map.snippet(name)))
        });
        let mut all: Vec<Symbol> = self.name(units).into_iter().chain(own).collect();
        all.dedup();
        all
    }
}

/// All slots.
#[derive(Default)]
pub struct Slots {
    /// By number.
    pub all: Vec<Slot>,
    ids: FxHashMap<Key, SlotId>,
    sites: Vec<Sites>,
    fields: FxHashMap<(usize, RecordId, u32), Option<SlotId>>,
}

/// The steps of a type.
fn steps(program: &Program, mut ty: Ty) -> Vec<Step> {
    let mut all = vec![];
    let types = &program.types;
    while all.len() < 8 {
        match *types.kind(ty) {
            TyKind::Ptr(p) => {
                let target = types.kind(p.target.ty);
                let indexable =
                    !p.raw && !matches!(target, TyKind::Void | TyKind::Func(_)) && types.is_complete(p.target.ty);
                let character = types.is_character(p.target.ty);
                let constant = p.target.quals.is_const;
                let text = matches!(target, TyKind::Int(IntKind::Char));
                all.push(Step { bounds: Some(p.bounds), character, text, constant, indexable });
                ty = p.target.ty;
            }
            TyKind::Array { elem, .. } => {
                all.push(Step { bounds: None, character: false, text: false, constant: false, indexable: true });
                ty = elem.ty;
            }
            _ => break,
        }
    }
    all
}

/// Where a name stands in the user's file.
pub fn place_of(unit: &Unit, span: source::Span) -> Place {
    let at = unit.map.locate(span);
    (at.file, at.line, at.column)
}

impl Slots {
    /// Reads the declarators of all units.
    pub fn collect(units: &[Unit]) -> Slots {
        Slots { sites: units.iter().map(|u| Sites::of(u.ast, u.map)).collect(), ..Slots::default() }
    }

    /// The declarations of each function that other files may name, and of each `static` one of a
    /// unit, in the order of their names.
    pub fn declarations(&self, units: &[Unit]) -> Vec<Vec<(usize, &FunctionSite)>> {
        let mut all: BTreeMap<(&str, usize), Vec<(usize, &FunctionSite)>> = BTreeMap::new();
        for (n, (sites, unit)) in self.sites.iter().zip(units).enumerate() {
            let functions = unit.tree.functions.iter().filter(|f| f.linkage == Linkage::Internal);
            let internal: FxHashSet<Symbol> = functions.map(|f| f.name).collect();
            for (name, list) in &sites.functions {
                let scope = if internal.contains(name) { n + 1 } else { 0 };
                all.entry((name.as_str(), scope)).or_default().extend(list.iter().map(|site| (n, site)));
            }
        }
        all.into_values().collect()
    }

    /// The number of a slot that is known.
    pub fn known(&self, key: &Key) -> Option<SlotId> {
        self.ids.get(key).copied()
    }

    fn intern(&mut self, key: Key, make: impl FnOnce() -> Slot) -> SlotId {
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = self.all.len();
        self.ids.insert(key, id);
        self.all.push(make());
        id
    }

    /// A parameter of the user's own function.
    pub fn param(&mut self, units: &[Unit], unit: usize, id: FuncId, n: usize) -> Option<SlotId> {
        let (func, ty) = own_function(units, unit, id)?;
        let program = units.get(unit)?.tree;
        let ty = program.types.as_func(ty)?.params.get(n)?.ty;
        let key = Key::Param(func.clone(), n);
        if let Some(&known) = self.ids.get(&key) {
            return Some(known);
        }
        let sites = self.function_sites(units, unit, &func, |site| {
            let params: Vec<_> = site.params.iter().map(|p| p.0).collect();
            site.params.get(n).map(|(_, site)| (site.clone(), params))
        });
        Some(self.intern(key.clone(), || Slot { key, steps: steps(program, ty), sites }))
    }

    /// The result of the user's own function.
    pub fn result(&mut self, units: &[Unit], unit: usize, id: FuncId) -> Option<SlotId> {
        let (func, ty) = own_function(units, unit, id)?;
        let program = units.get(unit)?.tree;
        let ty = program.types.as_func(ty)?.ret;
        let key = Key::Result(func.clone());
        if let Some(&known) = self.ids.get(&key) {
            return Some(known);
        }
        let names = |site: &crate::declarators::FunctionSite| site.params.iter().map(|p| p.0).collect();
        let sites = self.function_sites(units, unit, &func, |site| Some((site.result.clone(), names(site))));
        Some(self.intern(key.clone(), || Slot { key, steps: steps(program, ty), sites }))
    }

    /// All declarations of a function, in all units.
    fn function_sites(
        &self,
        units: &[Unit],
        unit: usize,
        func: &Func,
        pick: impl Fn(&crate::declarators::FunctionSite) -> Option<(Site, Vec<Option<Symbol>>)>,
    ) -> Vec<SlotSite> {
        let mut all = vec![];
        for (n, sites) in self.sites.iter().enumerate() {
            // Another unit may have a `static` function of the same name.
            let wanted = func.1.is_none() || n == unit || units.len() == 1;
            for site in sites.functions.get(&func.0).into_iter().flatten().filter(|_| wanted) {
                if let Some((site, params)) = pick(site) {
                    all.push(SlotSite { unit: n, site, params });
                }
            }
        }
        all
    }

    /// A field.
    pub fn field(&mut self, units: &[Unit], unit: usize, record: RecordId, n: u32) -> Option<SlotId> {
        if let Some(known) = self.fields.get(&(unit, record, n)) {
            return *known;
        }
        let found = self.new_field(units, unit, record, n);
        self.fields.insert((unit, record, n), found);
        found
    }

    fn new_field(&mut self, units: &[Unit], unit: usize, record: RecordId, n: u32) -> Option<SlotId> {
        let u = units.get(unit)?;
        let field = u.tree.types.record(record).fields.as_ref()?.get(n as usize)?.clone();
        if u.map.is_system(field.span.lo) {
            return None;
        }
        self.object(units, unit, field.span, field.ty.ty, Key::Field)
    }

    fn object(
        &mut self,
        units: &[Unit],
        unit: usize,
        name: source::Span,
        ty: Ty,
        key: impl Fn(Place) -> Key,
    ) -> Option<SlotId> {
        let u = units.get(unit)?;
        let key = key(place_of(u, name));
        let site = self.sites.get(unit)?.objects.get(&name).cloned();
        let sites = site.map(|site| SlotSite { unit, site, params: vec![] }).into_iter().collect();
        Some(self.intern(key.clone(), || Slot { key, steps: steps(u.tree, ty), sites }))
    }

    /// A global or static local.
    pub fn global(&mut self, units: &[Unit], unit: usize, id: GlobalId) -> Option<SlotId> {
        let u = units.get(unit)?;
        let global = u.tree.globals.get(id.0 as usize)?;
        if u.map.is_system(global.span.lo) || !matches!(global.trust, Trust::Checked | Trust::Exported) {
            return None;
        }
        if global.linkage == Linkage::Internal || global.owner.is_some() {
            return self.object(units, unit, global.span, global.ty.ty, Key::Static);
        }
        let key = Key::Global(global.name);
        let (name, ty) = (global.name, global.ty.ty);
        let site = |(n, sites): (usize, &Sites)| {
            let of_unit = sites.globals.get(&name).cloned().unwrap_or_default();
            of_unit.into_iter().map(move |site| SlotSite { unit: n, site, params: vec![] }).collect::<Vec<_>>()
        };
        let sites = self.sites.iter().enumerate().flat_map(site).collect();
        Some(self.intern(key.clone(), || Slot { key, steps: steps(u.tree, ty), sites }))
    }

    /// A local, or the parameter that it is.
    pub fn local(&mut self, units: &[Unit], unit: usize, func: FuncId, local: LocalId) -> Option<SlotId> {
        let u = units.get(unit)?;
        let body = u.tree.functions.get(func.0 as usize)?.body.as_ref()?;
        if local.0 < body.params {
            return self.param(units, unit, func, local.0 as usize);
        }
        let found = body.locals.get(local.0 as usize)?;
        let key = Key::Local(unit, func, local);
        let site = self.sites.get(unit)?.objects.get(&found.span).cloned();
        let sites = site.map(|site| SlotSite { unit, site, params: vec![] }).into_iter().collect();
        Some(self.intern(key.clone(), || Slot { key, steps: steps(u.tree, found.ty.ty), sites }))
    }
}

/// The function's name and type, if it is the user's own and checked.
pub fn own_function(units: &[Unit], unit: usize, id: FuncId) -> Option<(Func, Ty)> {
    let u = units.get(unit)?;
    let f = u.tree.functions.get(id.0 as usize)?;
    let own = matches!(f.trust, Trust::Checked | Trust::Exported) && !u.map.is_system(f.span.lo);
    if !own || f.type_params > 0 || f.name.as_str() == "main" {
        return None;
    }
    let file = (f.linkage == Linkage::Internal).then(|| u.map.file_at(f.span.lo).to_string());
    Some(((f.name, file), f.ty))
}
