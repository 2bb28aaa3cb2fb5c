//! What words the declarations of a C program need, found by looking at all files named.
//!
//! Values of pointer type flow between *slots*: parameters, results, fields, globals and locals.
//! What a value is used for at one slot (it is indexed, or read as a string) all slots need that it
//! came from; this is the constraint graph of CCured (Necula et al., TOPLAS 2005) and 3C (Machiry
//! et al., OOPSLA 2022). Slots that need bounds and have none get a count where loops and calls
//! relate the pointer to one (`counts`), else `fat`. A finding is *sure* if all accesses and all
//! values that come in are known to fit, in all files named.

pub mod agree;
pub mod amount;
pub mod constants;
pub mod counts;
pub mod declarators;
pub mod facts;
pub mod field_counts;
pub mod flows;
pub mod hooks;
pub mod lost;
pub mod read_only;
pub mod regions;
pub mod rewrites;
pub mod slots;
pub mod words;

use source::{Code, Diagnostic, Lack, Level, PlacedFix, SourceMap, Span, Symbol};
use syntax::ast;
use typing::tree::Program;

/// One file named, with what was read of it.
pub struct Unit<'a> {
    /// Its text.
    pub map: &'a SourceMap,
    /// Its syntax tree.
    pub ast: &'a ast::Unit,
    /// Its typed tree. It may have errors.
    pub tree: &'a Program,
    /// Where the trees lack something because of an error.
    pub mistakes: Vec<Span>,
    /// Whether the parser skipped text.
    pub skipped: bool,
    /// Calls of `sprintf`.
    pub unbounded: Vec<Span>,
    /// Functions of the malloc family as values.
    pub allocators: Vec<Span>,
    /// Parameters, by their names' places, that lack a word of regions.
    pub lacks: Vec<(Span, Lack)>,
}

impl<'a> Unit<'a> {
    /// A unit with what was reported of it.
    pub fn new(map: &'a SourceMap, ast: &'a ast::Unit, tree: &'a Program, reports: &[Diagnostic]) -> Unit<'a> {
        let of = |codes: &[Code], d: &Diagnostic| codes.iter().any(|code| code.id == d.code.id);
        let is_syntax = |d: &Diagnostic| of(syntax::codes::ALL, d);
        let errors = || reports.iter().filter(|d| d.level == Level::Error);
        // A report about missing words leaves the tree as it is, or an expression without a type,
        // which is seen; so does what the analyses after the types say.
        use typing::codes::{BOUNDS, CONST, TERMINATOR, UNSAFE};
        // What only unsafe code may do is in the tree all the same, assembly of the file aside.
        let whole = |d: &Diagnostic| of(&[UNSAFE], d) && tree.asm.is_empty();
        let words = |d: &Diagnostic| d.subject.is_some() || of(&[BOUNDS, TERMINATOR, CONST], d) || whole(d);
        let mistaken = |d: &&Diagnostic| is_syntax(d) || of(typing::codes::ALL, d) && !words(d);
        Unit {
            map,
            ast,
            tree,
            mistakes: errors().filter(mistaken).map(|d| d.span).collect(),
            skipped: errors().any(is_syntax),
            unbounded: errors()
                .filter(|d| of(&[UNSAFE], d) && matches!(map.snippet(d.span), "sprintf" | "vsprintf"))
                .map(|d| d.span)
                .collect(),
            allocators: errors()
                .filter(|d| of(&[typing::codes::UNKNOWN_NAME], d))
                .filter(|d| matches!(map.snippet(d.span), "malloc" | "calloc" | "realloc" | "free"))
                .map(|d| d.span)
                .collect(),
            lacks: errors().filter_map(|d| Some((d.subject?, d.lacks?))).collect(),
        }
    }
}

/// The kinds of findings, in the order in which they are applied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A definition in the style before ANSI C gets a prototype.
    Prototype,
    /// `sprintf` becomes `snprintf`.
    Bounded,
    /// Allocators behind pointers are called by name.
    Hooks,
    /// Declarations of one function or variable get the same words.
    Agree,
    /// `const`
    Const,
    /// `@heap`
    Heap,
    /// `null_terminated`
    String,
    /// `counted_by(n)`
    Count,
    /// `fat`
    Fat,
    /// `@name`: the result lives as long as a parameter.
    Region,
    /// What a single report says.
    Report,
}

impl Kind {
    /// Whether such a finding has nothing to do with pointers that flow into others.
    pub fn is_alone(self) -> bool {
        matches!(self, Kind::Prototype | Kind::Bounded | Kind::Hooks | Kind::Agree | Kind::Report)
    }

    /// What it is called in reports.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Prototype => "prototype",
            Kind::Bounded => "snprintf",
            Kind::Hooks => "allocator hooks",
            Kind::Agree => "declarations agree",
            Kind::Const => "const",
            Kind::Heap => "@heap",
            Kind::String => "null_terminated",
            Kind::Count => "counted_by",
            Kind::Fat => "fat",
            Kind::Region => "regions",
            Kind::Report => "as the report says",
        }
    }
}

/// A place in a user's file: file, line, column.
pub type Place = (String, u32, u32);

/// What one declaration should say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Which kind.
    pub kind: Kind,
    /// Where the names of the declarations stand.
    pub subjects: Vec<Place>,
    /// What code calls it: its own name, and its function's.
    pub names: Vec<Symbol>,
    /// Which part of the declaration it is about, of those that have the same names.
    pub part: usize,
    /// The words.
    pub words: String,
    /// The edits, at all declarations.
    pub fix: PlacedFix,
    /// Findings of one cluster are about pointers that flow into each other: none may be right
    /// without the others.
    pub cluster: usize,
}

impl Finding {
    /// With each edit and each subject once, in order.
    fn sorted(mut self) -> Finding {
        self.fix.edits.sort();
        self.fix.edits.dedup();
        self.subjects.sort();
        self.subjects.dedup();
        self
    }
}

/// Looks at all files named. `closed` says whether no file but those named includes a header;
/// `complete`, whether all files named could be read. Nothing is sure otherwise.
pub fn findings(units: &[Unit], closed: &dyn Fn(&str) -> bool, complete: bool) -> Vec<Finding> {
    let slots = slots::Slots::collect(units);
    let mut flows = flows::collect(units, slots);
    flows.taint(units);
    flows.broken |= !complete;
    let mut all = rewrites::findings(units);
    all.extend(hooks::findings(units));
    all.extend(agree::findings(units, &flows.slots, closed));
    all.extend(words::choose(units, &flows, closed));
    all
}
