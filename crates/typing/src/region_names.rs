//! Names of regions, regions that are not written, and the region variables of prototypes.

use crate::checker::Checker;
use crate::codes;
use crate::regions::FREE;
use crate::specs::{Place, Role};
use crate::tree::*;
use crate::types::*;
use source::{Diagnostic, Span, Symbol};
use syntax::ast;

/// Region variables of prototypes that are being read. Names belong to the outermost function type,
/// regions that are not written to their own.
#[derive(Debug, Default)]
pub struct Protos {
    /// Names of the outermost one, while one is read.
    names: Option<Vec<(Symbol, Span, u32)>>,
    /// `generic <@a outlives @b>`
    outlives: Vec<(Region, Region)>,
    /// `generic <T: move @r>`
    owns_in: Vec<(Ty, Region)>,
    /// Function types that are open, and the unnamed variables of each.
    levels: Vec<Vec<u32>>,
    /// Variables so far.
    next: u32,
}

/// A region variable of a function as its prototype names it.
pub type VariableName = Option<(Symbol, Span)>;

impl Checker<'_> {
    /// Begins a declaration that may mention region variables before its parameters are read (in
    /// the result). Whether it is the outermost one; `end_prototype` wants that.
    pub(crate) fn begin_prototype(&mut self, has_function: bool) -> bool {
        let begins = has_function && self.protos.names.is_none();
        if begins {
            self.protos.names = Some(vec![]);
        }
        begins
    }

    /// Ends what `begin_prototype` began.
    pub(crate) fn end_prototype(&mut self, begun: bool) {
        if begun {
            self.protos.names = None;
            self.protos.outlives.clear();
            self.protos.owns_in.clear();
        }
    }

    /// Whether a declarator derives a function.
    pub(crate) fn derives_function(declarator: &ast::Declarator) -> bool {
        declarator.derived.iter().any(|d| matches!(d, ast::Derived::Function(_)))
    }

    fn free_region(&mut self) -> u32 {
        self.protos.next += 1;
        self.protos.next - 1
    }

    /// A variable of its own for a region of a parameter that is not written.
    fn unnamed_variable(&mut self) -> Region {
        let id = self.free_region();
        match self.protos.levels.last_mut() {
            Some(level) => {
                level.push(id);
                Region::Bound(FREE, id)
            }
            None => Region::Heap,
        }
    }

    /// The region variable `name` of the prototype that is being read.
    pub(crate) fn named_variable(&mut self, name: Symbol, span: Span) -> Option<Region> {
        let names = self.protos.names.as_ref()?;
        if let Some(&(_, _, id)) = names.iter().find(|(n, ..)| *n == name) {
            return Some(Region::Bound(FREE, id));
        }
        let id = self.free_region();
        if let Some(names) = &mut self.protos.names {
            names.push((name, span, id));
        }
        Some(Region::Bound(FREE, id))
    }

    /// `@a outlives @b` of a `generic <...>`.
    pub(crate) fn declare_outlives(&mut self, a: Region, b: Region) {
        self.protos.outlives.push((a, b));
    }

    /// `T: move @r` of a `generic <...>`.
    pub(crate) fn declare_owns_in(&mut self, owner: Ty, region: Region) {
        self.protos.owns_in.push((owner, region));
    }

    /// Opens a function type.
    pub(crate) fn open_prototype(&mut self) {
        self.protos.levels.push(vec![]);
    }

    /// Closes the innermost function type: its variables get their numbers, in order of first
    /// occurrence.
    pub(crate) fn close_prototype(&mut self, f: &mut FuncTy) -> Vec<VariableName> {
        let mut own = self.protos.levels.pop().unwrap_or_default();
        let names = self.protos.names.clone().unwrap_or_default();
        let outermost = self.protos.levels.is_empty();
        if outermost {
            own.extend(names.iter().map(|n| n.2));
        }
        let mut order: Vec<u32> = vec![];
        let mut number = |r: Region, depth: u8| match r {
            Region::Bound(FREE, id) if own.contains(&id) => {
                let n = order.iter().position(|&o| o == id).unwrap_or_else(|| {
                    order.push(id);
                    order.len() - 1
                });
                Region::Bound(depth, n as u32)
            }
            other => other,
        };
        for p in &mut f.params {
            p.ty = self.program.types.map_regions(p.ty, &mut number);
        }
        f.ret = self.program.types.map_regions(f.ret, &mut number);
        if outermost {
            f.outlives = self.protos.outlives.iter().map(|&(a, b)| (number(a, 0), number(b, 0))).collect();
            f.owns_in = self.protos.owns_in.iter().map(|&(owner, r)| (owner, number(r, 0))).collect();
        }
        f.regions = order.len() as u32;
        order.iter().map(|id| names.iter().find(|n| n.2 == *id).map(|n| (n.0, n.1))).collect()
    }

    /// The region that a written name means here.
    pub(crate) fn resolve_region(&mut self, name: ast::Ident) -> Region {
        match name.name.as_str() {
            "heap" => return Region::Heap,
            "exchange" => return Region::Exchange,
            _ => {}
        }
        if let Some((region, _)) = self.scopes.region(name.name) {
            return region;
        }
        if let Some(region) = self.named_variable(name.name, name.span) {
            return region;
        }
        let own = self.f.as_ref().is_some_and(|f| f.result_name == Some(name.name));
        if own {
            // Parameters live in the region named after the function.
            let span = name.span;
            if let Some(region) = self.new_region(Some(name.name), RegionKind::Block, span) {
                self.scopes.declare_outer_region(name.name, region, span);
                return region;
            }
        }
        self.error_help(
            codes::REGION,
            name.span,
            format!("the region `@{}` is not declared here", name.name),
            "regions are those of arenas, keys, borrows and labelled blocks in scope, of the parameters, `@heap` and `@exchange`",
        );
        Region::Heap
    }

    /// A new region of the body at hand.
    pub(crate) fn new_region(&mut self, name: Option<Symbol>, kind: RegionKind, span: Span) -> Option<Region> {
        let f = self.f.as_mut()?;
        let n = f.regions.len() as u32;
        f.regions.push(RegionDecl { name, kind, span });
        Some(Region::Body(n))
    }

    /// Declares the name of a new region; one that is in scope may not be hidden.
    pub(crate) fn declare_region(&mut self, name: ast::Ident, kind: RegionKind) -> Region {
        let hidden = self.scopes.region(name.name).map(|(_, span)| span);
        let fixed = matches!(name.name.as_str(), "heap" | "exchange");
        if hidden.is_some() || fixed {
            let message = format!("the region name `@{}` hides one that is in scope", name.name);
            let mut report = Diagnostic::error(codes::REGION, name.span, message).help("choose another name");
            if let Some(span) = hidden {
                report = report.label(span, "declared here");
            }
            self.report(report);
        }
        let region = self.new_region(Some(name.name), kind, name.span).unwrap_or(Region::Heap);
        self.scopes.declare_region(name.name, region, name.span);
        region
    }

    /// A region that `flow` is to solve; in plain C and outside functions there is nothing to
    /// solve.
    pub(crate) fn fresh_region(&mut self) -> Region {
        match &mut self.f {
            Some(f) if !f.unchecked => {
                f.infer_regions += 1;
                Region::Infer(f.infer_regions - 1)
            }
            _ => Region::Heap,
        }
    }

    /// Fills in the regions that a declaration does not write (language reference, "Defaults").
    pub(crate) fn settle(&mut self, ty: Ty, place: Place) -> Ty {
        if !self.program.types.mentions_region(ty, &|r| r == Region::Var) {
            return ty;
        }
        if self.options.plain_c {
            return self.types().map_regions(ty, &mut |_, _| Region::Heap);
        }
        self.settle_at(ty, place, None, true)
    }

    /// Fills in the regions of an object that lives in `around`: a struct's own are that one, its
    /// pointers are `@heap`.
    pub(crate) fn settle_stored(&mut self, ty: Ty, around: Region) -> Ty {
        let place = Place { role: Role::Field, foreign: false, trusted: false };
        if !self.program.types.mentions_region(ty, &|r| r == Region::Var) {
            return ty;
        }
        self.settle_at(ty, place, Some(around), true)
    }

    /// Whether the type is an instance of a generic struct with arguments that are not regions.
    fn has_type_arguments(&self, ty: Ty) -> bool {
        let Some(id) = self.program.types.as_record(ty) else { return false };
        let args = &self.program.types.record(id).args;
        args.iter().any(|&arg| !matches!(self.kind(arg), TyKind::RegionArg(_)))
    }

    fn settle_at(&mut self, ty: Ty, place: Place, around: Option<Region>, outermost: bool) -> Ty {
        let inferred = matches!(place.role, Role::Local | Role::TypeName) && !place.foreign && self.f.is_some();
        match self.kind(ty).clone() {
            TyKind::Ptr(p) => {
                let function = matches!(self.kind(p.target.ty), TyKind::Func(_));
                let region = match p.region {
                    Region::Var if function => Region::Heap,
                    Region::Var if inferred => self.fresh_region(),
                    // Open files are in the heap, wherever a program got them from: it may keep them.
                    Region::Var if p.own == Own::Shared && self.program.types.is_handle_of_runtime(p.target.ty) => {
                        Region::Heap
                    }
                    Region::Var if place.role == Role::Param && outermost => match p.own {
                        Own::Shared | Own::Any | Own::View => self.unnamed_variable(),
                        Own::Unique | Own::Rc | Own::Param(_) => Region::Heap,
                    },
                    Region::Var => Region::Heap,
                    known => known,
                };
                // A container that its type arguments name is in the heap, wherever the struct
                // itself lies.
                let around = match p.region {
                    Region::Var if self.has_type_arguments(p.target.ty) => (!inferred).then_some(Region::Heap),
                    _ => Some(region),
                };
                let target = Qty { ty: self.settle_at(p.target.ty, place, around, false), ..p.target };
                self.types().pointer(Pointer { target, region, ..p })
            }
            TyKind::Array { elem, len, terminated } => {
                let elem = Qty { ty: self.settle_at(elem.ty, place, around, outermost), ..elem };
                self.types().intern(TyKind::Array { elem, len, terminated })
            }
            TyKind::Record(id) => {
                let Some(&generic) = self.program.types.instance_of.get(&id) else { return ty };
                let args = self.program.types.record(id).args.clone();
                let container = self.has_type_arguments(ty);
                let mut settled = vec![];
                for arg in args {
                    settled.push(match *self.kind(arg) {
                        TyKind::RegionArg(Region::Var) => {
                            let region = match around {
                                Some(region) => region,
                                None if inferred => self.fresh_region(),
                                None if place.role == Role::Param && !container => self.unnamed_variable(),
                                None => Region::Heap,
                            };
                            self.types().intern(TyKind::RegionArg(region))
                        }
                        TyKind::RegionArg(_) | TyKind::OwnArg(_) => arg,
                        _ => self.settle_at(arg, place, None, false),
                    });
                }
                let id = self.types().instance(generic, settled);
                self.types().intern(TyKind::Record(id))
            }
            _ => ty,
        }
    }
}
