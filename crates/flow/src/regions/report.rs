//! Words for what is wrong with regions.

use mir::bits::BitSet;
use mir::effects::{accesses, Kind};
use mir::ir::*;
use source::{with_article, Diagnostic, Lack, Sink, Span, Symbol};
use typing::tree::RegionKind;
use typing::types::{Region, TyKind};

use super::build::{Keeper, Solver};
use super::origins::{Form, Origin, OriginId, HEAP};
use super::shape::object_pointer;
use crate::codes::{NOT_LIVE, OUTLIVES, REGION};

/// A mistake and its place.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub span: Span,
    pub problem: Problem,
}

/// Kinds of mistakes.
#[derive(Clone, Debug)]
pub(crate) enum Problem {
    /// The origin reaches a place that wants a pointer into the region, and does not outlive it (or
    /// is another one).
    Kept { origin: OriginId, region: OriginId, exact: bool, keeper: Keeper },
    /// Something in the heap is owned by a field whose region is hidden.
    HiddenOwner,
    /// Two regions are hidden as one.
    Packed(OriginId, OriginId),
    /// The key of a region is made again while the first may exist.
    MadeTwice(u32),
    /// The region of a new key has no name, and is not told from others.
    Unnamed,
    /// A region is used that is not live.
    NotLive { origin: OriginId, local: Option<Local>, call: bool },
}

impl Problem {
    /// Number of the deliberate bug that hides it (`source::broken`).
    fn bug(&self) -> u32 {
        match self {
            Problem::Kept { exact: false, .. } => 24,
            Problem::Kept { .. } => 25,
            Problem::HiddenOwner | Problem::Packed(..) => 27,
            Problem::MadeTwice(_) | Problem::Unnamed => 28,
            Problem::NotLive { .. } => 29,
        }
    }
}

/// Reports what was found, in order: one report for each source, and none for what follows from a
/// reported variable.
pub(crate) fn all(solver: &Solver, found: &[Finding], sink: &mut Sink, reported: &mut BitSet) {
    let mut words = Words { solver, told: BitSet::empty(solver.origins.all.len() + 1), spans: vec![] };
    for finding in found.iter().filter(|f| !source::broken!(f.problem.bug())) {
        if let Some(diagnostic) = words.report(finding, reported) {
            sink.push(diagnostic);
        }
    }
}

struct Words<'a, 'b> {
    solver: &'b Solver<'a>,
    /// Origins that were reported.
    told: BitSet,
    /// Places of reports: one for each statement.
    spans: Vec<Span>,
}

impl Words<'_, '_> {
    fn decl(&self, local: Local) -> Option<&LocalDecl> {
        self.solver.body.locals.get(local.0 as usize)
    }

    fn name(&self, local: Local) -> Option<String> {
        self.decl(local)?.name.map(|n| format!("`{n}`"))
    }

    fn entry(&self, n: u32) -> Option<&BodyRegion> {
        self.solver.body.regions.get(n as usize)
    }

    /// The parameter whose outermost pointer points into the region.
    fn parameter_of(&self, n: u32) -> Option<Local> {
        let types = &self.solver.program.types;
        let params = self.solver.body.locals.iter().take(self.solver.body.params as usize);
        let found = params
            .enumerate()
            .find(|(_, decl)| object_pointer(types, decl.ty.ty).is_some_and(|p| p.region == Region::Body(n)));
        found.map(|(n, _)| Local(n as u32))
    }

    /// The variable that an origin is about.
    fn variable(&self, origin: OriginId) -> Option<Local> {
        match self.solver.origins.get(origin) {
            Origin::Local(l) => Some(l),
            _ => self.unnamed(origin).and_then(|n| self.parameter_of(n)),
        }
    }

    /// A region of the function's type, or of its body, that has no name.
    fn unnamed(&self, origin: OriginId) -> Option<u32> {
        match self.solver.origins.get(origin) {
            Origin::Entry(n) => Some(n).filter(|&n| self.entry(n).is_some_and(|r| r.decl.name.is_none())),
            _ => None,
        }
    }

    /// The region in the program's words.
    fn region(&self, origin: OriginId) -> String {
        match self.solver.origins.get(origin) {
            Origin::Heap => "`@heap`".into(),
            Origin::Exchange => "`@exchange`".into(),
            Origin::Entry(n) => match self.entry(n).and_then(|r| r.decl.name) {
                Some(name) => format!("`@{name}`"),
                None => match self.parameter_of(n).and_then(|l| self.name(l)) {
                    Some(name) => format!("the region of {name}"),
                    None => "the region without a name".into(),
                },
            },
            Origin::Local(l) => format!("the block of {}", self.name(l).unwrap_or("a temporary object".into())),
            Origin::Loan(_) => "the region of a borrow".into(),
            Origin::Odd(Region::Bound(..)) => "the region that each caller chooses".into(),
            Origin::Odd(_) => "the region of a type argument".into(),
            Origin::Unnamed(_) => "the region of a key without a name".into(),
        }
    }

    /// What a pointer from this origin points to.
    fn what(&self, origin: OriginId) -> String {
        match self.solver.origins.get(origin) {
            Origin::Heap => "a heap pointer".into(),
            Origin::Exchange => "an exchange block".into(),
            Origin::Local(l) => self.address(l),
            Origin::Loan(n) if self.lender(n).is_some() => {
                format!("what {} returned", self.lender(n).unwrap_or_default())
            }
            Origin::Loan(n) => {
                let base = self.solver.origins.loans.get(n as usize).and_then(|l| l.place.base_local());
                match base.and_then(|l| self.name(l)) {
                    Some(name) => format!("what is borrowed from {name}"),
                    None => "what is borrowed".into(),
                }
            }
            Origin::Odd(_) => "a pointer into a region of the generic".into(),
            Origin::Unnamed(_) => "a pointer into the region of a key without a name".into(),
            Origin::Entry(n) => {
                let name = self.entry(n).and_then(|r| r.decl.name);
                let kind = self.entry(n).map(|r| r.decl.kind);
                match (kind, name) {
                    (Some(RegionKind::Lifo(_)), Some(name)) => format!("a pointer into the region `@{name}`"),
                    (Some(RegionKind::Loan), Some(name)) => format!("what is borrowed as `{name}`"),
                    (_, Some(name)) => format!("a pointer into the region `@{name}`"),
                    (_, None) => match self.parameter_of(n).and_then(|l| self.name(l)) {
                        Some(name) => format!("what {name} points to"),
                        None => "a pointer into a region without a name".into(),
                    },
                }
            }
        }
    }

    /// The function whose result the loan is.
    fn lender(&self, loan: u32) -> Option<String> {
        let loan = self.solver.origins.loans.get(loan as usize).filter(|loan| loan.form == Form::Result)?;
        let stmt = self.solver.body.blocks.get(loan.at.block.0 as usize)?.stmts.get(loan.at.stmt)?;
        let name = self.solver.program.functions.get(stmt.kind.called()?.func.0 as usize)?.name;
        Some(format!("`{name}`"))
    }

    /// `&x`, or an array by its name.
    fn address(&self, local: Local) -> String {
        let (Some(decl), Some(name)) = (self.decl(local), self.decl(local).and_then(|d| d.name)) else {
            return "the address of a temporary object".into();
        };
        if matches!(self.solver.program.types.kind(decl.ty.ty), TyKind::Array { .. }) {
            format!("`{name}`")
        } else {
            format!("`&{name}`")
        }
    }

    /// What is known of a region variable is only what the prototype says.
    fn does(&self, origin: OriginId) -> &'static str {
        match self.solver.origins.get(origin) {
            Origin::Entry(n) => match self.entry(n).map(|r| r.decl.kind) {
                Some(RegionKind::Param | RegionKind::ParamKey) => "may",
                _ => "does",
            },
            _ => "does",
        }
    }

    fn report(&mut self, finding: &Finding, reported: &mut BitSet) -> Option<Diagnostic> {
        if self.spans.contains(&finding.span) && finding.span != Span::NONE {
            return None;
        }
        let (origin, kept_in) = match &finding.problem {
            Problem::Kept { origin, region, exact, keeper } => {
                // Of an exact region and a set the odd one out is the source.
                let source = if *exact && origin == region { *region } else { *origin };
                let kept = match keeper {
                    Keeper::Local(l) | Keeper::Part(l) => Some(*l),
                    _ => None,
                };
                (Some(source), kept)
            }
            Problem::NotLive { origin, .. } => (Some(*origin), None),
            _ => (None, None),
        };
        let follows = kept_in.is_some_and(|l| {
            let types = &self.solver.program.types;
            reported.contains(l.0 as usize) && self.decl(l).is_some_and(|d| object_pointer(types, d.ty.ty).is_some())
        });
        if follows {
            return None;
        }
        if let Some(origin) = origin {
            let variable = self.variable(origin);
            let known = match variable {
                Some(local) => !reported.insert(local.0 as usize),
                // The heap and named regions occur in many separate mistakes; only errors that
                // follow from one loan or arena count as one.
                None => origin > super::origins::EXCHANGE && !self.told.insert(origin),
            };
            if known {
                return None;
            }
        }
        if let (Some(local), true) = (kept_in, origin.is_some()) {
            reported.insert(local.0 as usize);
        }
        self.spans.push(finding.span);
        Some(self.diagnostic(finding))
    }

    fn diagnostic(&self, finding: &Finding) -> Diagnostic {
        let span = finding.span;
        match &finding.problem {
            Problem::Kept { origin, region, exact: false, keeper } => {
                let message = self.kept(*origin, *region, *keeper);
                self.outlives(span, *origin, message, *keeper, *region)
            }
            Problem::Kept { origin, region, exact: true, keeper } => self.wrong_region(span, *origin, *region, *keeper),
            Problem::Packed(first, second) => Diagnostic::error(
                REGION,
                span,
                format!("the fields hide two regions as one: {} and {}", self.region(*first), self.region(*second)),
            )
            .help("a struct with `exists` hides one region: fill its fields with pointers into that of its key"),
            Problem::HiddenOwner => Diagnostic::error(
                REGION,
                span,
                "what a struct owns in the heap is not hidden in it: nothing could free it when the struct is unpacked",
            )
            .help("declare the field `@heap`, or let it own into the region of a key beside it"),
            Problem::MadeTwice(n) => {
                let name = self.entry(*n).and_then(|r| r.decl.name).map_or("@d".into(), |n| format!("@{n}"));
                let mut d = Diagnostic::error(
                    REGION,
                    span,
                    format!("the region `{name}` is that of another arena already: pointers into it would outlive it"),
                );
                if let Some(entry) = self.entry(*n) {
                    d = d.label(entry.decl.span, format!("`{name}` is introduced here"));
                }
                d.help("declare a key of its own for each arena: `key<@e> other = new_arena();`")
            }
            Problem::Unnamed => Diagnostic::error(
                REGION,
                span,
                "the region of this key has no name, so it could not be told from that of another arena",
            )
            .help("name it by a declaration of the key: `key<@k> k = ...;`; a struct hides the region of its key: `exists @d;`"),
            Problem::NotLive { origin, local, call } => self.not_live(span, *origin, *local, *call),
        }
    }

    fn outlives(&self, span: Span, origin: OriginId, message: String, keeper: Keeper, region: OriginId) -> Diagnostic {
        let mut d = Diagnostic::error(OUTLIVES, span, message);
        d = self.label_origin(d, origin);
        if let Keeper::Local(l) | Keeper::Part(l) = keeper {
            if let Some(decl) = self.decl(l).filter(|d| d.name.is_some()) {
                d = d.label(decl.span, "it is kept here");
            }
        }
        let parameter = self.unnamed(origin).and_then(|n| self.parameter_of(n));
        // A result that has another parameter's region, which no word names, got it by inference.
        let open = region == HEAP || matches!(keeper, Keeper::Return) && self.unnamed(region).is_some();
        if let Some(decl) = parameter.and_then(|local| self.decl(local)).filter(|_| open) {
            let word = if matches!(keeper, Keeper::Return) { Lack::Result } else { Lack::Heap };
            d = d.about(decl.span).lacks(word);
        }
        let help = match self.solver.origins.get(origin) {
            Origin::Local(_) => {
                "allocate it in the heap with `new` or `malloc`, or let the caller pass the memory".to_string()
            }
            Origin::Entry(n) => match self.entry(n).map(|r| (r.decl.kind, r.decl.name)) {
                Some((RegionKind::Param | RegionKind::ParamKey, None)) if region == HEAP => {
                    "declare the parameter `@heap` (`T *@heap p`), so that callers pass heap pointers only, or name its region \
                     (`T *@a p`) and use the name in the result"
                        .to_string()
                }
                Some((RegionKind::Param | RegionKind::ParamKey, _)) => {
                    "say in the prototype which region outlives which: `generic <@a outlives @b>`".to_string()
                }
                Some((RegionKind::Lifo(_), Some(name))) => self.longer(name, keeper, region),
                Some((RegionKind::Loan, _)) => "move the owned pointer instead of borrowing it".to_string(),
                _ => "allocate it in a region that lives longer".to_string(),
            },
            Origin::Loan(_) if matches!(keeper, Keeper::Return) && self.solver.may_be_lent(origin) => {
                "a `static` function may return it if it is called by its name only, and neither stores, frees nor allocates, \
                 nor waits; else move the owned pointer"
                    .to_string()
            }
            Origin::Loan(n) if self.lender(n).is_some() => {
                "use it before something may free it, and look for it again afterwards".to_string()
            }
            Origin::Loan(_) => "move the owned pointer instead of borrowing it, or keep it in this block".to_string(),
            _ => "name the region that both share".to_string(),
        };
        d.help(help)
    }

    /// What to do about a pointer into the arena `name`.
    fn longer(&self, name: Symbol, keeper: Keeper, region: OriginId) -> String {
        match keeper {
            Keeper::Return => {
                format!("let the caller pass the arena: a parameter `arena {name}`, and `@{name}` in the result")
            }
            Keeper::Local(_) => format!("declare `arena {name};` in front of the variable"),
            Keeper::Parameter(_) if region == HEAP => {
                "allocate it in the heap (`new T{...}`), or let the parameter take any region (`T *p`)".to_string()
            }
            Keeper::Memory | Keeper::Global(_) | Keeper::Part(_) if region == HEAP => {
                "allocate it in the heap (`new T{...}`), or give the struct that keeps it a region: `struct s<@r> { T *@r p; };`"
                    .to_string()
            }
            _ => "allocate it in a region that lives longer".to_string(),
        }
    }

    /// A key in a variable that opens the region.
    fn key_of(&self, origin: OriginId) -> Option<(bool, String)> {
        let Origin::Entry(n) = self.solver.origins.get(origin) else { return None };
        self.solver.body.locals.iter().find_map(|decl| match self.solver.program.types.kind(decl.ty.ty) {
            TyKind::Key(kind, Region::Body(m)) if *m == n => Some((kind.is_reap(), decl.name?.to_string())),
            _ => None,
        })
    }

    fn label_origin(&self, d: Diagnostic, origin: OriginId) -> Diagnostic {
        match self.solver.origins.get(origin) {
            Origin::Local(l) => {
                let Some(decl) = self.decl(l) else { return d };
                let name = self.name(l).unwrap_or("it".into());
                d.label(decl.span, format!("{name} lives until the end of its block"))
            }
            Origin::Loan(n) => match self.solver.origins.loans.get(n as usize) {
                Some(loan) if loan.form == Form::Result => d.label(loan.span, "it is found here"),
                Some(loan) => {
                    let d = d.label(loan.span, "it is borrowed here");
                    match loan.place.as_local().and_then(|owner| self.freed_at(owner)) {
                        Some(freed) => {
                            d.label(freed, "the owner is freed here: what is freed has one owner, and all else borrows")
                        }
                        None => d,
                    }
                }
                None => d,
            },
            Origin::Entry(n) => {
                let Some(region) = self.entry(n) else { return d };
                let text = match (region.decl.kind, region.decl.name) {
                    (RegionKind::Param | RegionKind::ParamKey, None) => {
                        let Some(local) = self.parameter_of(n) else { return d };
                        let Some(decl) = self.decl(local) else { return d };
                        let name = self.name(local).unwrap_or("it".into());
                        let text = format!("{name} is not declared `@heap`: it may point into the caller's frame");
                        return d.label(decl.span, text);
                    }
                    (RegionKind::Param, Some(name)) => format!("`@{name}` is a region of the caller's choice"),
                    (RegionKind::ParamKey, Some(name)) => format!("`@{name}` ends with its key"),
                    (RegionKind::Lifo(_), Some(name)) => format!("the arena `{name}` ends with its block"),
                    (RegionKind::Dynamic, Some(name)) => format!("`@{name}` lives while its key is open"),
                    (RegionKind::Hidden, Some(name)) => {
                        format!("`@{name}` is hidden in the struct that is unpacked here")
                    }
                    (RegionKind::Loan, _) => "the borrow ends with its block".to_string(),
                    (_, Some(name)) => format!("`@{name}` ends with its block"),
                    (_, None) => "it ends with its block".to_string(),
                };
                d.label(region.decl.span, text)
            }
            _ => d,
        }
    }

    /// Where what the variable owns is freed.
    fn freed_at(&self, owner: Local) -> Option<Span> {
        let stmts = self.solver.body.blocks.iter().flat_map(|b| &b.stmts);
        let mut freed = stmts.filter(|stmt| {
            let mut is_freed = false;
            accesses(&stmt.kind, &mut |place, kind, _| {
                is_freed |= matches!(kind, Kind::Free | Kind::Drop) && place.as_local() == Some(owner);
            });
            is_freed
        });
        freed.next().map(|stmt| stmt.span)
    }

    fn kept(&self, origin: OriginId, region: OriginId, keeper: Keeper) -> String {
        let (what, does) = (self.what(origin), self.does(origin));
        let named = |l: Local| self.name(l).unwrap_or("a temporary object".into());
        let wants_heap = region == HEAP;
        match keeper {
            Keeper::Return if wants_heap => format!("{what} {does} not outlive the function: it is returned"),
            Keeper::Return => {
                format!("{what} {does} not outlive {}: it is returned as if it did", self.region(region))
            }
            Keeper::Memory if wants_heap => format!("{what} {does} not outlive the memory that it is stored in"),
            Keeper::Memory => {
                format!("{what} {does} not outlive {}, and is stored in memory of that region", self.region(region))
            }
            Keeper::Global(name) => format!("{what} {does} not outlive the global `{name}` that it is stored in"),
            Keeper::Local(l) if wants_heap => {
                format!("{what} {does} not outlive the heap, and {} is `@heap`", named(l))
            }
            Keeper::Part(l) if wants_heap => {
                format!("{what} is stored in a part of {}, which takes heap pointers and may outlive it", named(l))
            }
            Keeper::Local(l) | Keeper::Part(l) => {
                let (known, own) = (self.region(region), format!("the region of {}", named(l)));
                match known == own {
                    true => format!("{what} {does} not outlive {own}"),
                    false => format!("{what} {does} not outlive {known}, {own}"),
                }
            }
            Keeper::Parameter(n) if wants_heap => {
                format!("{what} is passed as argument {}, which wants a heap pointer and may outlive it", n + 1)
            }
            Keeper::Parameter(n) => format!(
                "{what} is passed as argument {}, whose region {} it {does} not outlive",
                n + 1,
                self.region(region)
            ),
            Keeper::Borrow => format!("{what} {does} not outlive the borrow {}", self.region(region)),
            Keeper::Pack => {
                format!(
                    "{what} {does} not outlive {}, and the struct that hides it says it does (`outlived by`)",
                    self.region(region)
                )
            }
            Keeper::Fact => format!(
                "{what} {does} not outlive {}, and the called function relies on it (`outlives`)",
                self.region(region)
            ),
            _ => format!("{what} {does} not outlive {}", self.region(region)),
        }
    }

    fn wrong_region(&self, span: Span, origin: OriginId, region: OriginId, keeper: Keeper) -> Diagnostic {
        let (is, mut wanted) = (self.region(origin), self.region(region));
        if is == wanted {
            // Two regions of one parameter, or two without a name: one text for both would say
            // nothing.
            wanted = match is.strip_prefix("the region of ") {
                Some(name) => format!("another region in the type of {name}"),
                None => format!("another that is {}", is.replacen("the ", "a ", 1)),
            };
        }
        let (message, help) = match keeper {
            Keeper::Dispose if region == HEAP => (
                format!("the object is in the region {is}, so it cannot be freed by itself"),
                "objects in a reap go with `rfree(r, p)`, all others with their arena".to_string(),
            ),
            Keeper::Dispose => (
                format!("the object is in the region {is}, and {wanted} is the region of the handle"),
                "release it with the handle of its own reap, or `free` it if it is in the heap".to_string(),
            ),
            Keeper::Object => (
                format!("an object in the region {wanted} may own only into its own region, not into {is}"),
                "allocate both in one region, or share what it points to".to_string(),
            ),
            Keeper::ObjectOf(name) => (
                format!(
                    "{} may own something in {is}, and an object in the region {wanted} owns only into its own region",
                    with_article(name.as_str())
                ),
                format!("say where it owns: `generic <{name}: move @r>`, with the region of the object"),
            ),
            Keeper::Owner => (
                format!("a type argument owns into the region {is}, and the function wants what objects in {wanted} may own"),
                match region {
                    HEAP => "a function that takes what owns elsewhere says so: `generic <T: move @r>`".to_string(),
                    _ => "an object owns only into its own region: allocate what it owns there, or share it".to_string(),
                },
            ),
            Keeper::Open => (
                format!("the key is that of the region {is}, not of {wanted}"),
                "open the key of that region".to_string(),
            ),
            Keeper::HeapArgument => (
                format!("a pointer into the region {is} stands where all must be in the heap"),
                "only types whose every region is `@heap` go there".to_string(),
            ),
            Keeper::Container => (
                format!("a pointer into the region {is} may be lent by an owner, and the struct that it leads to owns something"),
                "`container_of` of such a struct takes a pointer into the heap: `T *@heap p`".to_string(),
            ),
            Keeper::Fact => (
                "the function relies on one region to outlive another, and the type of the pointer does not say so"
                    .to_string(),
                "write the same `outlives` in both".to_string(),
            ),
            Keeper::Parameter(n) => (
                format!("argument {} needs {is} and {wanted} to be one region, and they are not equal", n + 1),
                "pass what lies in one region, or let the function have a region variable for each".to_string(),
            ),
            Keeper::Function => (
                format!("a function for pointers into {wanted} is used as one for pointers into {is}"),
                "let its parameter take any region (`T *p`, or `T *@a p` where the name is used again)".to_string(),
            ),
            _ => (
                // Of what has no name of its own the words say that it is a region.
                match is.strip_prefix("the ") {
                    Some(_) => {
                        let other = if wanted.starts_with("the ") { "" } else { "the region " };
                        format!("{is} is not {other}{wanted}, and only equal regions will do here")
                    }
                    None => format!("the region {is} is not {wanted}, and only equal regions will do here"),
                },
                "owned pointers, keys, and pointers behind pointers keep their exact region".to_string(),
            ),
        };
        let d = self.label_origin(Diagnostic::error(REGION, span, message), origin);
        // The other place, if it is one of the program's.
        let named = matches!(self.solver.origins.get(region), Origin::Entry(n) if self.entry(n).is_some_and(|r| r.decl.name.is_some()));
        (if named { self.label_origin(d, region) } else { d }).help(help)
    }

    fn not_live(&self, span: Span, origin: OriginId, local: Option<Local>, call: bool) -> Diagnostic {
        let region = self.region(origin);
        let message = match local.and_then(|l| self.name(l)) {
            Some(name) => format!("{name} points into {region}, which is not live here"),
            None if call => format!("the call uses {region}, which is not live here"),
            None => format!("{region} is not live here"),
        };
        let mut d = self.label_origin(Diagnostic::error(NOT_LIVE, span, message), origin);
        // What a struct hides is live with another region.
        let base = self.solver.origins.lives_with(origin).first().copied().filter(|&base| base != origin);
        if let Some(base) = base {
            d = self.label_origin(d, base);
        }
        d.help(match self.key_of(base.unwrap_or(origin)) {
            Some((true, key)) => format!("open its key first, in the block of the use: `open reap h = {key};`"),
            Some((false, key)) => format!("open its key first, in the block of the use: `open arena h = {key};`"),
            None => "open its key first, in the block of the use: `open arena h = k;`".to_string(),
        })
    }
}
