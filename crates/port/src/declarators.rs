//! Where words can be written: the `*`s of the declarators of the user's files.

use rustc_hash::FxHashMap;
use source::{SourceMap, Span, Symbol};
use syntax::ast::{self, Derived};

/// A declarator: its name, and for each step of its type, from the name outwards, the `*` with its
/// qualifiers.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The name, if it has one.
    pub name: Option<Span>,
    /// By depth; `None` where the step is not a pointer.
    pub stars: Vec<Option<Span>>,
}

/// A declaration of a function.
#[derive(Clone, Debug)]
pub struct FunctionSite {
    /// Its name.
    pub name: Span,
    /// The parameters, each with its name.
    pub params: Vec<(Option<Symbol>, Site)>,
    /// What the result's type is made of.
    pub result: Site,
}

/// The declarators of one unit.
#[derive(Debug, Default)]
pub struct Sites {
    /// Fields, globals and locals, by their names.
    pub objects: FxHashMap<Span, Site>,
    /// Variables at file scope, by name, in order.
    pub globals: FxHashMap<Symbol, Vec<Site>>,
    /// Functions, by name, in order.
    pub functions: FxHashMap<Symbol, Vec<FunctionSite>>,
}

fn stars(derived: &[Derived]) -> Vec<Option<Span>> {
    let star = |step: &Derived| match step {
        Derived::Pointer(quals) => Some(quals.span),
        _ => None,
    };
    derived.iter().map(star).collect()
}

impl Sites {
    /// Those that stand in the user's own files.
    pub fn of(unit: &ast::Unit, map: &SourceMap) -> Sites {
        let mut sites = Sites::default();
        for item in unit.items.iter().filter(|item| !map.is_system(item.span.lo)) {
            match &item.kind {
                ast::ItemKind::Decl(decl) => {
                    sites.decl(decl);
                    sites.file_scope(decl);
                }
                ast::ItemKind::Function(def) => {
                    sites.specs(&def.specs);
                    sites.declarator(&def.declarator);
                    sites.block(&def.body);
                }
                _ => {}
            }
        }
        sites
    }

    fn decl(&mut self, decl: &ast::Decl) {
        self.specs(&decl.specs);
        // A typedef's words would be those of all its uses.
        let typedef = decl.specs.storage == Some(ast::Storage::Typedef);
        for d in decl.declarators.iter().filter(|_| !typedef) {
            self.declarator(&d.declarator);
        }
    }

    fn file_scope(&mut self, decl: &ast::Decl) {
        for d in decl.declarators.iter().filter(|_| decl.specs.storage != Some(ast::Storage::Typedef)) {
            let site = d.declarator.name.and_then(|n| Some((n.name, self.objects.get(&n.span)?.clone())));
            if let Some((name, site)) = site {
                self.globals.entry(name).or_default().push(site);
            }
        }
    }

    fn specs(&mut self, specs: &ast::DeclSpecs) {
        let ast::TypeSpec::Record(record) = &specs.ty else { return };
        for item in record.fields.iter().flatten() {
            let ast::FieldItem::Fields(decl) = item else { continue };
            self.specs(&decl.specs);
            for field in &decl.fields {
                self.object(&field.declarator);
            }
        }
    }

    fn object(&mut self, declarator: &ast::Declarator) {
        if let Some(name) = declarator.name {
            self.objects.insert(name.span, Site { name: Some(name.span), stars: stars(&declarator.derived) });
        }
    }

    fn declarator(&mut self, declarator: &ast::Declarator) {
        let (Some(name), Some(Derived::Function(list))) = (declarator.name, declarator.derived.first()) else {
            return self.object(declarator);
        };
        let param = |p: &ast::Param| {
            let name = p.declarator.name;
            (name.map(|n| n.name), Site { name: name.map(|n| n.span), stars: stars(&p.declarator.derived) })
        };
        let result = stars(declarator.derived.get(1..).unwrap_or_default());
        let site = FunctionSite {
            name: name.span,
            params: list.params.iter().map(param).collect(),
            result: Site { name: Some(name.span), stars: result },
        };
        self.functions.entry(name.name).or_default().push(site);
        for p in &list.params {
            self.object(&p.declarator);
        }
    }

    fn block(&mut self, block: &ast::Block) {
        block.stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &ast::Stmt) {
        use ast::StmtKind::*;
        match &stmt.kind {
            Decl(decl) => self.decl(decl),
            Block(block) => self.block(block),
            If { then, other, .. } => {
                self.stmt(then);
                other.iter().for_each(|s| self.stmt(s));
            }
            While(_, body) | DoWhile(body, _) | Switch(_, body) | Case(_, _, body) => self.stmt(body),
            Default(body) | Label(_, body) | Defer(body) => self.stmt(body),
            Unsafe(block) => self.block(block),
            For { init, body, .. } => {
                init.iter().for_each(|s| self.stmt(s));
                self.stmt(body);
            }
            _ => {}
        }
    }
}
