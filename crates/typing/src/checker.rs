//! The checker's state and the walk over a unit's items.

use crate::blame::Blamed;
use crate::codes;
use crate::contracts::{ContractId, StateId};
use crate::function::FnCtx;
use crate::inferred_before::Before;
use crate::read_only::{Learnt, ReadOnly};
use crate::records::OpenArgument;
use crate::region_names::{Protos, VariableName};
use crate::scope::{Entity, GenericParam, GenericRecord, Scopes};
use crate::specs::Siblings;
use crate::tree::*;
use crate::types::*;
use rustc_hash::{FxHashMap, FxHashSet};
use source::{Code, Diagnostic, Sink, SourceMap, Span, Symbol};
use syntax::ast;

/// What the caller chooses.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Plain C: same types, no checks.
    pub plain_c: bool,
    /// `-Wno-free-shared`: `free` of a shared pointer is a warning.
    pub free_shared: bool,
    /// Bounds of parameters of `static` functions are not inferred.
    pub words_wanted: bool,
    /// Names of parameters that were found to be returned: if the function is `static`, the result
    /// has their region ([`crate::results`]).
    pub returned: Vec<Span>,
    /// GNU's older rules for `inline` (`-std=gnu89`).
    pub gnu89_inline: bool,
    /// Names of foreign functions with advice what to use instead (`library/unsafe.txt`).
    pub advice: Vec<(String, String)>,
    /// Where Leeward's own headers lie: they are checked like a user's files.
    pub library: Option<std::path::PathBuf>,
}

/// Checks a unit. The tree is complete even when errors were reported, but is then not to be
/// lowered.
pub fn check(unit: &ast::Unit, map: &SourceMap, options: &Options, sink: &mut Sink) -> Program {
    let mut learnt = Learnt::default();
    learnt.results = crate::results::LearntResults::new(unit, options);
    let mut before = Before::default();
    // What is learnt about a body may matter to calls that stand before it.
    for left in (0..MAX_PASSES).rev() {
        before.begin(&learnt);
        let mut checker = Checker::new(map, options);
        checker.read_only.learnt = learnt.clone();
        checker.before = before;
        checker.refuse_pragmas();
        checker.declare_contracts(unit);
        checker.items(&unit.items);
        checker.finish();
        checker.silence_disputed();
        match checker.learnt(left <= 1).filter(|_| left > 0) {
            Some(more) => {
                learnt = more.after(&learnt);
                before = checker.before;
            }
            None => {
                sink.all.append(&mut checker.sink.all);
                checker.program.walked = checker.before.walked;
                return checker.program;
            }
        }
    }
    Program::default()
}

/// Passes over a unit at most. What is learnt settles after two or three; the last one knows
/// nothing.
const MAX_PASSES: usize = 12;

/// A value known at compile time, kept for `constexpr` and `const` scalars.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Integer.
    Int(i128),
    /// Floating, as C text.
    Float(Symbol),
}

/// State of the walk.
pub struct Checker<'a> {
    pub(crate) map: &'a SourceMap,
    pub(crate) options: &'a Options,
    pub(crate) sink: Sink,
    /// Generic functions of the unit, among them its allocator wrappers, and their text.
    pub(crate) wrappers: rustc_hash::FxHashMap<Symbol, Span>,
    /// All functions of the unit that have a body, and their text.
    pub(crate) bodies: rustc_hash::FxHashMap<Symbol, Span>,
    /// The same functions by the words that name them: a wrapper's word names two.
    pub(crate) body_names: FxHashMap<&'static [u8], Vec<Symbol>>,
    /// What inference found in bodies in earlier passes.
    pub(crate) before: Before,
    /// Structs whose size bounds need, and where.
    pub(crate) sizes_needed: Vec<(Ty, Span)>,
    /// While above zero, reports are dropped (inference rounds, unevaluated tries).
    pub(crate) muted: u32,
    /// Declarations that were reported to lack something, with the code.
    pub(crate) blamed: FxHashMap<(&'static str, Span, u32), Blamed>,
    /// How many parts of each struct own something.
    pub(crate) owned_in: FxHashMap<RecordId, u64>,
    /// Declarations of functions that do not agree with others, up to the body.
    disputed: Vec<Span>,
    /// Unknown names for which a near one was looked for.
    pub(crate) suggestions: u32,
    pub(crate) program: Program,
    pub(crate) scopes: Scopes,
    pub(crate) generic_records: Vec<GenericRecord>,
    /// Bounds of the type parameters of the generic item at hand.
    pub(crate) type_params: Vec<GenericParam>,
    pub(crate) string_ids: FxHashMap<(Vec<u32>, Ty), StrId>,
    pub(crate) known_globals: FxHashMap<GlobalId, Known>,
    pub(crate) static_counter: u32,
    /// Parameters of each generic function.
    pub(crate) generics_of: FxHashMap<FuncId, Vec<GenericParam>>,
    /// Of C's functions whose names `<lee/process.lh>` gives to others (`kill`, `wait`): the other one.
    pub(crate) for_pids: FxHashMap<FuncId, FuncId>,
    /// Structs with hidden regions that are being initialised, and what those are.
    pub(crate) packing: Vec<(Ty, Vec<Region>)>,
    /// Region variables of the prototype that is being read.
    pub(crate) protos: Protos,
    /// The names that the first prototype of a function gives its region variables.
    pub(crate) region_names: FxHashMap<FuncId, Vec<VariableName>>,
    /// The function at hand.
    pub(crate) f: Option<FnCtx>,
    /// Static locals by declaration, so that inference rounds make them once.
    pub(crate) statics: FxHashMap<Span, GlobalId>,
    /// Records and enumerations defined in function bodies, by the span of their specifier, for the
    /// same reason.
    pub(crate) local_records: FxHashMap<Span, RecordId>,
    pub(crate) local_enums: FxHashMap<Span, EnumId>,
    /// Unions whose members' types are accepted in their place as arguments (`transparent_union`).
    pub(crate) transparent: FxHashSet<RecordId>,
    /// Of typedefs of plain C that give their type a larger alignment than its own: which, by where
    /// they are declared.
    pub(crate) typedef_align: FxHashMap<Span, u64>,
    /// Names from headers for the machine's instructions whose types are not known here.
    pub(crate) unknown_intrinsics: FxHashSet<Symbol>,
    /// Vectors by what they consist of: the type of a lane, their number, the alignment.
    pub(crate) vectors: FxHashMap<(Ty, u64, u64), Ty>,
    /// Scalars with less than their own alignment, by type and alignment.
    pub(crate) underaligned: FxHashMap<(Ty, u64), Ty>,
    /// What `counted_by` may mention.
    pub(crate) siblings: Option<Siblings>,
    /// Parameters of a `generic <...>` that the next record specifier with a tag takes.
    pub(crate) pending_generic: Option<Vec<GenericParam>>,
    /// The parameters of the struct that is being defined, if it has some.
    pub(crate) record_params: Vec<GenericParam>,
    /// Generic tags that are to be declared at file scope when the level of their parameters is
    /// closed.
    pub(crate) generic_tags: Vec<(Symbol, u32)>,
    /// Names of generic typedefs, to be declared again after the level of their parameters.
    pub(crate) generic_typedefs: Vec<(ast::Ident, Entity)>,
    /// Contracts by name; they stand at file scope.
    pub(crate) contract_ids: FxHashMap<Symbol, ContractId>,
    /// Those that stand before what is checked now: their messages have their arguments.
    pub(crate) contracts_passed: FxHashSet<ContractId>,
    /// Those of which something was reported.
    pub(crate) broken_contracts: Vec<ContractId>,
    /// States that channels of this unit begin in.
    pub(crate) channel_states: Vec<(ContractId, StateId)>,
    /// Which parameters are read-only.
    pub(crate) read_only: ReadOnly,
    /// Type arguments that were not complete where they were written.
    pub(crate) open_arguments: Vec<OpenArgument>,
    /// By statement: whether something in it assigns a field of such a name (`spread_counts.rs`).
    pub(crate) stores_fields: FxHashMap<Span, bool>,
    /// Names of the fields of structs in which something is `counted_by` a field.
    pub(crate) counted_fields: FxHashSet<Symbol>,
    /// Errors that were not reported because they are muted.
    pub(crate) muted_errors: u32,
    /// Errors that were found, also those that are told by an earlier report.
    pub(crate) mistakes: u32,
}

impl<'a> Checker<'a> {
    fn new(map: &'a SourceMap, options: &'a Options) -> Checker<'a> {
        Checker {
            map,
            options,
            sink: Sink::default(),
            wrappers: Default::default(),
            bodies: Default::default(),
            body_names: FxHashMap::default(),
            before: Before::default(),
            sizes_needed: vec![],
            muted: 0,
            blamed: FxHashMap::default(),
            owned_in: FxHashMap::default(),
            disputed: vec![],
            suggestions: 0,
            program: Program::default(),
            scopes: Scopes::default(),
            generic_records: vec![],
            type_params: vec![],
            string_ids: FxHashMap::default(),
            known_globals: FxHashMap::default(),
            static_counter: 0,
            generics_of: FxHashMap::default(),
            for_pids: FxHashMap::default(),
            packing: vec![],
            protos: Protos::default(),
            region_names: FxHashMap::default(),
            f: None,
            statics: FxHashMap::default(),
            local_records: FxHashMap::default(),
            local_enums: FxHashMap::default(),
            transparent: FxHashSet::default(),
            typedef_align: FxHashMap::default(),
            unknown_intrinsics: FxHashSet::default(),
            vectors: FxHashMap::default(),
            underaligned: FxHashMap::default(),
            siblings: None,
            pending_generic: None,
            record_params: vec![],
            generic_tags: vec![],
            generic_typedefs: vec![],
            contract_ids: FxHashMap::default(),
            contracts_passed: FxHashSet::default(),
            broken_contracts: vec![],
            channel_states: vec![],
            read_only: ReadOnly::default(),
            open_arguments: vec![],
            stores_fields: FxHashMap::default(),
            counted_fields: FxHashSet::default(),
            muted_errors: 0,
            mistakes: 0,
        }
    }

    /// Reports, unless muted.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        // What plain C may be warned of, its own compiler knows better.
        let unwanted = self.options.plain_c && diagnostic.level != source::Level::Error;
        if self.muted > 0 {
            self.muted_errors += u32::from(diagnostic.level == source::Level::Error);
        } else if !unwanted {
            self.mistakes += u32::from(diagnostic.level == source::Level::Error);
            self.sink.push(diagnostic);
        }
    }

    /// Reports an error.
    pub(crate) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    /// Reports an error with advice.
    pub(crate) fn error_help(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message).help(help));
    }

    /// The types.
    pub(crate) fn types(&mut self) -> &mut TypeStore {
        &mut self.program.types
    }

    /// The shape of a type.
    pub(crate) fn kind(&self, ty: Ty) -> &TyKind {
        self.program.types.kind(ty)
    }

    /// A type as text.
    pub(crate) fn show(&self, ty: Ty) -> String {
        self.name_regions(self.program.types.show(ty))
    }

    /// The type of a function as text, with the region names of its prototype.
    pub(crate) fn show_function(&self, ty: Ty, names: &[VariableName]) -> String {
        let names: Vec<_> = names.iter().map(|name| name.map(|(name, _)| name)).collect();
        self.name_regions(self.program.types.show_function(ty, &names))
    }

    /// Replaces numbers of regions by the names that they have here.
    fn name_regions(&self, mut text: String) -> String {
        let regions = self.f.as_ref().map(|f| f.regions.as_slice()).unwrap_or_default();
        for (n, region) in regions.iter().enumerate().rev() {
            let spelled = format!("@body{n}");
            text = match region.name {
                Some(name) => text.replace(&spelled, &format!("@{name}")),
                None => text.replace(&format!(" {spelled}"), "").replace(&spelled, ""),
            };
        }
        for (n, param) in self.type_params.iter().enumerate().rev() {
            if let GenericParam::Own(name) = param {
                text = text.replace(&format!("own{n}"), name.as_str());
            }
        }
        crate::display::without_numbers(&text)
    }

    /// Whether the type is the error type.
    pub(crate) fn is_error(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Error)
    }

    /// Whether code here is checked: a Leeward function outside `unsafe`.
    pub(crate) fn checked(&self) -> bool {
        match &self.f {
            Some(f) => !f.unchecked && f.unsafe_depth == 0,
            None => !self.options.plain_c,
        }
    }

    /// The string literal's number.
    pub(crate) fn string(&mut self, units: Vec<u32>, elem: Ty) -> StrId {
        let next = StrId(self.program.strings.len() as u32);
        let id = *self.string_ids.entry((units.clone(), elem)).or_insert(next);
        if id == next {
            self.program.strings.push(StringLit { units, elem });
        }
        id
    }

    fn items(&mut self, items: &[ast::Item]) {
        for item in items {
            if let ast::ItemKind::Function(def) = &item.kind {
                let name = def.declarator.name.map(|name| name.name);
                let wrapper = name.filter(|_| def.generics.is_some());
                self.wrappers.extend(wrapper.map(|name| (name, def.span)));
                self.bodies.extend(name.map(|name| (name, def.span)));
                if let Some(name) = name {
                    let word = syntax::wrappers::named_for(name);
                    self.body_names.entry(word.as_bytes()).or_default().push(name);
                }
            }
        }
        if !self.options.plain_c {
            self.find_open_declarations(items);
        }
        let mut is_broken = false;
        for item in items {
            // After the generic function of a wrapper comes that for characters. One mistake, one
            // report.
            let twin = matches!(&item.kind, ast::ItemKind::Function(def)
                if def.declarator.name.is_some_and(|n| syntax::wrappers::is_of_characters(n.name)));
            let muted = u32::from(twin && is_broken);
            let before = self.sink.all.len();
            self.muted += muted;
            self.item(item);
            self.muted -= muted;
            is_broken = self.sink.all.iter().skip(before).any(|d| d.level == source::Level::Error);
        }
    }

    /// Drops what was reported of functions whose declarations do not agree: when they do, it may
    /// be right.
    fn silence_disputed(&mut self) {
        let disputed = std::mem::take(&mut self.disputed);
        let is_disputed = |at: Span| disputed.iter().any(|d| d.lo <= at.lo && at.lo < d.hi);
        self.sink.all.retain(|d| !d.subject.is_some_and(is_disputed));
    }

    /// Remembers that the declaration of a function whose name stands at `name` is not agreed on.
    pub(crate) fn dispute(&mut self, name: Span) {
        let rest = self.map.text.get(name.lo as usize..).unwrap_or_default();
        let length = rest.find([';', '{']).unwrap_or(rest.len());
        self.disputed.push(Span { hi: name.lo + length as u32, ..name });
    }

    fn item(&mut self, item: &ast::Item) {
        let foreign = item.origin == ast::Origin::Foreign || self.options.plain_c;
        match &item.kind {
            ast::ItemKind::Decl(decl) => self.file_decl(decl, foreign),
            ast::ItemKind::Function(def) => self.function_def(def, foreign, item.span),
            ast::ItemKind::StaticAssert(assert) => self.static_assert(assert),
            ast::ItemKind::Asm(text) => {
                if !foreign {
                    self.error(
                        codes::UNSAFE,
                        item.span,
                        "inline assembly is not in the safe language: move it to a C file",
                    );
                }
                self.program.asm.push(text.clone());
            }
            ast::ItemKind::Contract(def) => self.contract_item(def),
        }
    }

    /// Reports a construct of a later issue.
    pub(crate) fn later(&mut self, word: Symbol, span: Span) {
        self.error_help(
            codes::LATER,
            span,
            format!("`{word}` is not built yet"),
            "docs/open-points.md says which parts of the language are still to come",
        );
    }

    pub(crate) fn static_assert(&mut self, assert: &ast::StaticAssert) {
        let value = self.constant_int(&assert.condition);
        if value == Some(0) {
            let text = assert.message.as_ref().map(|m| String::from_utf8_lossy(m).into_owned());
            let message = match text {
                Some(text) => format!("static assertion failed: {text}"),
                None => "static assertion failed".to_string(),
            };
            self.error(codes::STATIC_ASSERT, assert.condition.span, message);
        }
    }

    /// What remains to be said at the end of the unit.
    fn finish(&mut self) {
        self.check_open_arguments(true);
        self.count_uses();
        self.keep_headers();
        self.check_reachable();
        for (ty, span) in std::mem::take(&mut self.sizes_needed) {
            if !self.program.types.is_complete(ty) {
                let text = self.show(ty);
                let message = format!("bounds need the size of `{text}`, which is never defined");
                self.error_help(
                    codes::INCOMPLETE,
                    span,
                    message,
                    "define the struct, or leave the pointers without bounds",
                );
            }
        }
        for at in 0..self.program.globals.len() {
            let global = &self.program.globals[at];
            let (ty, span, defined) = (global.ty, global.span, global.init.is_some());
            if !defined || (global.trust == Trust::Foreign && !self.options.plain_c) {
                continue;
            }
            if let TyKind::Array { elem, len: ArrayLen::Unknown, terminated } = *self.kind(ty.ty) {
                let one = self.types().intern(TyKind::Array { elem, len: ArrayLen::Const(1), terminated });
                self.program.globals[at].ty.ty = one;
            } else if !self.program.types.is_complete(ty.ty) && !self.is_error(ty.ty) {
                let text = self.show(ty.ty);
                self.error(codes::INCOMPLETE, span, format!("the type `{text}` is never completed"));
            } else if !self.options.plain_c {
                self.check_static_size(at);
            }
        }
        for function in &mut self.program.functions {
            // C11 6.7.4p7: one declaration without `inline`, or with `extern`, and the unit defines
            // the symbol.
            let shared = function.linkage == Linkage::Shared && function.type_params == 0;
            if shared && function.trust == Trust::Checked && function.body.is_some() && !function.inline.only() {
                function.linkage = Linkage::External;
            }
        }
        let unused: Vec<(Span, Symbol)> = self
            .program
            .functions
            .iter()
            .filter(|f| {
                f.body.is_some()
                    && !f.used
                    && f.linkage == Linkage::Internal
                    && f.trust == Trust::Checked
                    && !f.attrs.iter().any(|a| is_expected_unused(a))
            })
            .filter(|f| !syntax::wrappers::is_of_characters(f.name))
            // An interface offers functions; nobody needs all of them.
            .filter(|f| !self.map.is_system(f.span.lo) && !self.map.file_at(f.span.lo).ends_with(".lh"))
            .map(|f| (f.span, f.name))
            .collect();
        for (span, name) in unused {
            self.report(Diagnostic::warning(codes::UNUSED, span, format!("the function `{name}` is never used")));
        }
    }

    /// Code reaches static data, the runtime's after the program's, by 32-bit distances.
    fn check_static_size(&mut self, at: usize) {
        const MOST: u64 = 1 << 30;
        let global = &self.program.globals[at];
        let (name, span) = (global.name, global.span);
        let Some(layout) = self.program.types.layout(global.ty.ty).filter(|layout| layout.size > MOST) else { return };
        let message = format!("`{name}` has {} bytes: a static object has at most 1 GB", layout.size);
        self.error_help(codes::DECLARATION, span, message, "allocate it: memory that is not used yet costs nothing");
    }

    /// Declares a name that must not be reported again.
    pub(crate) fn poison(&mut self, name: Option<ast::Ident>) {
        if let Some(name) = name {
            self.scopes.declare(name.name, Entity::Poison, name.span);
        }
    }
}

/// Whether a function with the attribute may well be called by nothing that the unit shows.
fn is_expected_unused(attr: &str) -> bool {
    ["unused", "constructor", "destructor"].iter().any(|word| attr.contains(word))
}
