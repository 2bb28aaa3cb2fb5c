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
    /// The first word of its base type.
    pub base: Option<Span>,
    /// The names that are declared with the same base type, all of them.
    pub together: Vec<Span>,
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

impl Site {
    fn of(name: Option<Span>, derived: &[Derived], specs: &ast::DeclSpecs, together: &[Span], map: &SourceMap) -> Site {
        Site { name, stars: stars(derived), base: base(specs, map), together: together.to_vec() }
    }
}

fn stars(derived: &[Derived]) -> Vec<Option<Span>> {
    let star = |step: &Derived| match step {
        Derived::Pointer(quals) => Some(quals.span),
        _ => None,
    };
    derived.iter().map(star).collect()
}

/// The first word of the base type among the specifiers.
fn base(specs: &ast::DeclSpecs, map: &SourceMap) -> Option<Span> {
    let text = map.snippet(specs.span);
    // A type that is defined here has a body of its own.
    if text.contains(['{', '(', '#', '[']) {
        return None;
    }
    let storage = ["static", "extern", "register", "auto", "inline", "thread_local", "constexpr"];
    let is_type = |word: &str| !storage.contains(&word.trim_matches('_'));
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let name = word.trim();
        if !name.is_empty() && is_type(name) {
            let lo = specs.span.lo + at as u32;
            return Some(Span::new(lo, lo + name.len() as u32));
        }
        at += word.len();
    }
    None
}

impl Sites {
    /// Those that stand in the user's own files.
    pub fn of(unit: &ast::Unit, map: &SourceMap) -> Sites {
        let mut sites = Sites::default();
        for item in unit.items.iter().filter(|item| !map.is_system(item.span.lo)) {
            match &item.kind {
                ast::ItemKind::Decl(decl) => {
                    sites.decl(decl, map);
                    sites.file_scope(decl);
                }
                ast::ItemKind::Function(def) => {
                    sites.specs(&def.specs, map);
                    sites.declarator(&def.declarator, &def.specs, &[], map);
                    sites.block(&def.body, map);
                }
                _ => {}
            }
        }
        sites
    }

    fn decl(&mut self, decl: &ast::Decl, map: &SourceMap) {
        self.specs(&decl.specs, map);
        // A typedef's words would be those of all its uses.
        let typedef = decl.specs.storage == Some(ast::Storage::Typedef);
        let together: Vec<Span> = decl.declarators.iter().filter_map(|d| d.declarator.name).map(|n| n.span).collect();
        for d in decl.declarators.iter().filter(|_| !typedef) {
            self.declarator(&d.declarator, &decl.specs, &together, map);
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

    fn specs(&mut self, specs: &ast::DeclSpecs, map: &SourceMap) {
        let ast::TypeSpec::Record(record) = &specs.ty else { return };
        for item in record.fields.iter().flatten() {
            let ast::FieldItem::Fields(decl) = item else { continue };
            self.specs(&decl.specs, map);
            let together: Vec<Span> = decl.fields.iter().filter_map(|f| f.declarator.name).map(|n| n.span).collect();
            for field in &decl.fields {
                self.object(&field.declarator, &decl.specs, &together, map);
            }
        }
    }

    fn object(&mut self, declarator: &ast::Declarator, specs: &ast::DeclSpecs, together: &[Span], map: &SourceMap) {
        if let Some(name) = declarator.name {
            self.objects.insert(name.span, Site::of(Some(name.span), &declarator.derived, specs, together, map));
        }
    }

    fn declarator(&mut self, declarator: &ast::Declarator, specs: &ast::DeclSpecs, together: &[Span], map: &SourceMap) {
        let (Some(name), Some(Derived::Function(list))) = (declarator.name, declarator.derived.first()) else {
            return self.object(declarator, specs, together, map);
        };
        let param = |p: &ast::Param| {
            let name = p.declarator.name;
            (name.map(|n| n.name), Site::of(name.map(|n| n.span), &p.declarator.derived, &p.specs, &[], map))
        };
        let result = declarator.derived.get(1..).unwrap_or_default();
        let site = FunctionSite {
            name: name.span,
            params: list.params.iter().map(param).collect(),
            result: Site::of(Some(name.span), result, specs, together, map),
        };
        self.functions.entry(name.name).or_default().push(site);
        for p in &list.params {
            self.object(&p.declarator, &p.specs, &[], map);
        }
    }

    fn block(&mut self, block: &ast::Block, map: &SourceMap) {
        block.stmts.iter().for_each(|s| self.stmt(s, map));
    }

    fn stmt(&mut self, stmt: &ast::Stmt, map: &SourceMap) {
        use ast::StmtKind::*;
        match &stmt.kind {
            Decl(decl) => self.decl(decl, map),
            Block(block) => self.block(block, map),
            If { then, other, .. } => {
                self.stmt(then, map);
                other.iter().for_each(|s| self.stmt(s, map));
            }
            While(_, body) | DoWhile(body, _) | Switch(_, body) | Case(_, _, body) => self.stmt(body, map),
            Default(body) | Label(_, body) | Defer(body) => self.stmt(body, map),
            Unsafe(block) => self.block(block, map),
            For { init, body, .. } => {
                init.iter().for_each(|s| self.stmt(s, map));
                self.stmt(body, map);
            }
            _ => {}
        }
    }
}
