//! Words for what is wrong with ownership.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::Access;
use mir::ir::*;
use source::{Diagnostic, Level, Sink, Span, Symbol};
use typing::tree::BorrowKind;
use typing::types::{Bounds, KeyKind, Own, RecordKind, Ty, TyKind};

use super::lending::Lent;
use super::live::Part;
use super::paths::{is_strict, NodeId, Step};
use super::state::{State, MOVED, OWNED};
use super::{on_edge, Gone, Options, Ownership};
use crate::codes::{LEAK, LENT, MOVED as MOVED_CODE, NOT_LIVE, OUTLIVES, SLOT};
use crate::framework::{Point, Results};
use crate::names::place_name;
use crate::regions::Form;

/// What is done to a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    Moved,
    Freed,
    Assigned,
    Swapped,
    Opened,
    Unpacked,
    Borrowed,
    /// A cursor is put on a `nonnull` slot, which would hold null meanwhile.
    TakenOut,
    Used,
    Advanced,
    Exit,
    Lent(BorrowKind),
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Verb::Moved => "moved",
            Verb::Freed => "freed",
            Verb::Assigned => "assigned",
            Verb::Swapped => "swapped",
            Verb::Opened => "opened",
            Verb::Unpacked => "unpacked",
            Verb::Borrowed => "borrowed",
            Verb::TakenOut => "taken out",
            Verb::Used | Verb::Advanced | Verb::Exit => "used",
            Verb::Lent(BorrowKind::View | BorrowKind::Sight) => "lent as a view",
            Verb::Lent(BorrowKind::Shared | BorrowKind::Any | BorrowKind::Read) => "borrowed again",
            Verb::Lent(_) => "lent exclusively",
        }
    }
}

/// How a path is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lost {
    /// Its scope ends.
    Scope,
    /// The function is left.
    Exit,
    /// It is overwritten.
    Overwritten,
    /// Nothing takes the value.
    Dropped,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Used {
        node: NodeId,
        site: u32,
        some: bool,
    },
    NotWhole {
        node: NodeId,
        part: NodeId,
        site: u32,
        verb: Verb,
    },
    LentRoot {
        node: NodeId,
        verb: Verb,
    },
    /// The same for a place that is in no path.
    LentPart {
        place: Place,
        verb: Verb,
    },
    Lent {
        node: NodeId,
        by: Lent,
        verb: Verb,
    },
    /// The same for a place that is not a path.
    LentSlot {
        place: Place,
        by: Lent,
        verb: Verb,
    },
    /// The storage of a local ends while a pointer into it may still be used.
    Ended {
        local: Local,
        by: Lent,
    },
    Leak {
        node: NodeId,
        lost: Lost,
        some: bool,
        at: Point,
    },
    Slot {
        place: Place,
        verb: Verb,
    },
    /// What a slot holds is needed where something may have emptied the slot.
    SlotEmptied {
        place: Place,
        by: Span,
        lent: Lent,
    },
    SlotKept(Local),
    /// A pointer into an arena is used after the arena.
    RegionEnded(Lent),
    /// What a cursor over a slot was at is used after its block.
    SlotLeft(Lent),
    /// Other tasks may run while a cursor is on a slot.
    SlotWaits {
        cursor: Local,
        started: Option<Span>,
    },
    Copied,
    Unused,
    SwapInside,
}

/// A mistake and its place.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub span: Span,
    pub kind: Kind,
}

impl Finding {
    pub fn used(span: Span, node: NodeId, site: u32, some: bool) -> Finding {
        Finding { span, kind: Kind::Used { node, site, some } }
    }
    pub fn not_whole(span: Span, node: NodeId, part: NodeId, site: u32, verb: Verb) -> Finding {
        Finding { span, kind: Kind::NotWhole { node, part, site, verb } }
    }
    pub fn lent_root(span: Span, node: NodeId, verb: Verb) -> Finding {
        Finding { span, kind: Kind::LentRoot { node, verb } }
    }
    pub fn lent_part(span: Span, place: Place, verb: Verb) -> Finding {
        Finding { span, kind: Kind::LentPart { place, verb } }
    }
    pub fn lent(span: Span, node: NodeId, by: Lent, verb: Verb) -> Finding {
        Finding { span, kind: Kind::Lent { node, by, verb } }
    }
    pub fn lent_slot(span: Span, place: Place, by: Lent, verb: Verb) -> Finding {
        Finding { span, kind: Kind::LentSlot { place, by, verb } }
    }
    pub fn ended(span: Span, local: Local, by: Lent) -> Finding {
        Finding { span, kind: Kind::Ended { local, by } }
    }
    pub fn region_ended(span: Span, by: Lent) -> Finding {
        Finding { span, kind: Kind::RegionEnded(by) }
    }
    pub fn slot_left(span: Span, by: Lent) -> Finding {
        Finding { span, kind: Kind::SlotLeft(by) }
    }
    pub fn slot_waits(span: Span, cursor: Local, started: Option<Span>) -> Finding {
        Finding { span, kind: Kind::SlotWaits { cursor, started } }
    }
    pub fn leak(span: Span, node: NodeId, lost: Lost, some: bool, at: Point) -> Finding {
        Finding { span, kind: Kind::Leak { node, lost, some, at } }
    }
    pub fn slot(span: Span, place: Place, verb: Verb) -> Finding {
        Finding { span, kind: Kind::Slot { place, verb } }
    }
    pub fn slot_emptied(span: Span, place: Place, by: Span, lent: Lent) -> Finding {
        Finding { span, kind: Kind::SlotEmptied { place, by, lent } }
    }
    pub fn slot_kept(span: Span, local: Local) -> Finding {
        Finding { span, kind: Kind::SlotKept(local) }
    }
    pub fn unused(span: Span) -> Finding {
        Finding { span, kind: Kind::Unused }
    }
    pub fn copied(span: Span) -> Finding {
        Finding { span, kind: Kind::Copied }
    }

    fn is_leak(&self) -> bool {
        matches!(self.kind, Kind::Leak { .. })
    }

    /// Number of the deliberate bug that hides it (`source::broken`).
    fn bug(&self) -> u32 {
        match &self.kind {
            Kind::Used { .. } => 1,
            Kind::NotWhole { .. } => 2,
            Kind::LentRoot { verb: Verb::Moved | Verb::Freed, .. } => 3,
            Kind::LentRoot { .. } | Kind::LentPart { .. } => 4,
            Kind::Leak { lost: Lost::Overwritten, .. } => 5,
            Kind::Leak { .. } => 6,
            Kind::Slot { verb: Verb::Moved, .. } => 7,
            Kind::Slot { .. } => 8,
            Kind::SlotKept(_) | Kind::SlotEmptied { .. } => 9,
            Kind::Copied | Kind::Unused => 10,
            Kind::SwapInside => 11,
            Kind::Lent { verb: Verb::Freed, .. } => 12,
            Kind::Lent { verb: Verb::Moved, .. } => 13,
            Kind::Lent { verb: Verb::Assigned, .. } => 14,
            Kind::Lent { verb: Verb::Used, .. } => 16,
            Kind::Lent { verb: Verb::Lent(_), .. } => 17,
            Kind::Lent { .. } => 15,
            Kind::LentSlot { .. } => 18,
            Kind::Ended { .. } => 19,
            Kind::RegionEnded(_) => 26,
            Kind::SlotLeft(_) => 20,
            Kind::SlotWaits { .. } => 41,
        }
    }
}

/// Reports what was found: one report for each path, leaks only of paths without another report.
pub(crate) fn all(
    ownership: &Ownership,
    results: &Results<State>,
    cfg: &Cfg,
    mut found: Vec<Finding>,
    options: Options,
    sink: &mut Sink,
    reported: &mut BitSet,
) {
    found.retain(|f| !source::broken!(f.bug()));
    found.sort_by_key(|f| (f.is_leak(), f.span));
    let words = Words { ownership, results, cfg };
    let mut told: Vec<NodeId> = vec![];
    let mut diagnostics = vec![];
    for finding in &found {
        if let Kind::Lent { by, .. } | Kind::LentSlot { by, .. } | Kind::Ended { by, .. } = finding.kind {
            // What holds the loan was reported: it should not hold it.
            let holders = ownership.regions.loans.get(by.number).map_or(&[][..], |l| &l.holders);
            if holders.iter().any(|l| reported.contains(l.local.0 as usize)) {
                continue;
            }
        }
        if let Kind::Ended { local, by } = finding.kind {
            // A pointer that is returned was reported by the analysis of regions.
            let used = words.next_use(by);
            if sink.all.iter().any(|d| d.code == OUTLIVES && Some(d.span) == used) {
                continue;
            }
            if !reported.insert(local.0 as usize) {
                continue;
            }
        }
        if let Kind::RegionEnded(by) = finding.kind {
            // A call that uses what is not live was reported by the analysis of regions.
            let used = words.next_use(by);
            let site = ownership.regions.loans.get(by.number).map(|loan| loan.span);
            let covers = |span: Span| used.is_some_and(|used| span.holds(used));
            let is_known = sink.all.iter().any(|d| d.code == NOT_LIVE && covers(d.span));
            let is_told = diagnostics.iter().any(|d: &Diagnostic| d.code == OUTLIVES && Some(d.span) == site);
            if is_known || is_told || !reported.insert(by.holder.local.0 as usize) {
                continue;
            }
        }
        if let Kind::SlotEmptied { lent, .. } = finding.kind {
            let is_variable =
                ownership.body.locals.get(lent.holder.local.0 as usize).is_some_and(|d| d.kind != LocalKind::Temp);
            if is_variable && !reported.insert(lent.holder.local.0 as usize) {
                continue;
            }
        }
        let node = words.subject(finding);
        if let Some(node) = node {
            let root = ownership.paths.nodes[node].root.0 as usize;
            let related =
                |&other: &NodeId| ownership.paths.is_prefix(other, node) || ownership.paths.is_prefix(node, other);
            if told.iter().any(related) || reported.contains(root) {
                continue;
            }
            told.push(node);
        }
        diagnostics.push(words.diagnostic(finding, options));
    }
    for node in told {
        reported.insert(ownership.paths.nodes[node].root.0 as usize);
    }
    diagnostics.sort_by_key(|d: &Diagnostic| d.span);
    diagnostics.dedup_by(|a, b| a.span == b.span && a.message == b.message);
    diagnostics.into_iter().for_each(|d| sink.push(d));
}

struct Words<'a, 'b> {
    ownership: &'b Ownership<'a>,
    results: &'b Results<State>,
    cfg: &'b Cfg,
}

impl Words<'_, '_> {
    fn subject(&self, finding: &Finding) -> Option<NodeId> {
        match &finding.kind {
            Kind::Used { node, .. }
            | Kind::LentRoot { node, .. }
            | Kind::Lent { node, .. }
            | Kind::Leak { node, .. } => Some(*node),
            Kind::NotWhole { part, .. } => Some(*part),
            Kind::Slot { place, .. } | Kind::SlotEmptied { place, .. } | Kind::LentSlot { place, .. } => {
                self.ownership.paths.find(&self.ownership.program.types, place).map(|f| f.node)
            }
            Kind::SlotKept(_)
            | Kind::LentPart { .. }
            | Kind::RegionEnded(_)
            | Kind::SlotLeft(_)
            | Kind::SlotWaits { .. }
            | Kind::Copied
            | Kind::Unused
            | Kind::SwapInside
            | Kind::Ended { .. } => None,
        }
    }

    fn name(&self, node: NodeId) -> String {
        let name = self.ownership.paths.name(self.ownership.program, self.ownership.body, node);
        if name.is_empty() {
            "the value".into()
        } else {
            name
        }
    }

    fn local_name(&self, local: Local) -> String {
        let decl = self.ownership.body.locals.get(local.0 as usize);
        decl.and_then(|d| d.name).map_or("a temporary object".into(), |n| format!("`{n}`"))
    }

    /// What releases a value of the path's type.
    fn release(&self, node: NodeId) -> String {
        let (name, ty) = (self.name(node), self.ownership.paths.nodes[node].ty);
        let text = name.trim_matches('`');
        match (self.ending_function(ty), self.untold(node)) {
            (Some(function), _) => format!("{function}({text})"),
            (None, Some((field, ty))) => self.release_of(&format!("{text}.{field}"), ty, 0),
            (None, None) => self.release_of(text, ty, 0),
        }
    }

    /// Of a struct of whose members some are paths of their own: the first of the others that owns
    /// something.
    fn untold(&self, node: NodeId) -> Option<(Symbol, Ty)> {
        let paths = &self.ownership.paths;
        let types = &self.ownership.program.types;
        let at = &paths.nodes[node];
        let id = types.as_record(at.ty).filter(|_| !at.is_union && !at.children.is_empty())?;
        let fields = types.record(id).fields.clone()?;
        let is_path = |n: usize| paths.children(node).iter().any(|&c| paths.step(c) == Some(Step::Field(n as u32)));
        let rest = fields.iter().enumerate().find(|(n, f)| mir::ty::owns(types, f.ty.ty) && !is_path(*n));
        rest.and_then(|(_, f)| Some((f.name?, f.ty.ty)))
    }

    /// A function of the program that takes a struct or union of the type, and nothing else, and
    /// gives nothing back.
    fn ending_function(&self, ty: Ty) -> Option<Symbol> {
        let program = self.ownership.program;
        let types = &program.types;
        let wanted = types.record(types.as_record(ty)?);
        let takes = |f: &&typing::tree::Function| {
            let func = types.as_func(f.ty).filter(|func| matches!(types.kind(func.ret), TyKind::Void));
            let params = func.map_or(vec![], |func| func.params.clone());
            let [param] = params.as_slice() else { return false };
            let record = types.as_record(param.ty).map(|id| types.record(id));
            param.consume && record.is_some_and(|r| (r.tag, r.span) == (wanted.tag, wanted.span))
        };
        program.functions.iter().find(takes).map(|f| f.name)
    }

    /// What releases `text` of a type: of a struct or union, what its first member that owns
    /// something holds.
    fn release_of(&self, text: &str, ty: Ty, depth: u32) -> String {
        let types = &self.ownership.program.types;
        match types.kind(ty) {
            TyKind::Key(KeyKind::RcArena | KeyKind::RcReap, _) => format!("release({text})"),
            TyKind::Key(..) => format!("free_arena({text})"),
            TyKind::Ptr(p) if p.own == Own::Rc => format!("release({text})"),
            TyKind::Record(id) if depth < 8 => {
                let record = types.record(*id);
                let fields = record.fields.clone().unwrap_or_default();
                let Some(field) = fields.iter().find(|f| mir::ty::owns(types, f.ty.ty)) else {
                    return format!("free({text})");
                };
                let name = field.name.map_or("member".to_string(), |n| n.to_string());
                if record.kind == RecordKind::Tagged {
                    let inner = self.release_of("m", field.ty.ty, depth + 1);
                    return format!("switch ({text}) {{ case .{name}(m): {inner}; ... }}");
                }
                let part = match text.strip_prefix('*') {
                    Some(pointer) => format!("{pointer}->{name}"),
                    None => format!("{text}.{name}"),
                };
                self.release_of(&part, field.ty.ty, depth + 1)
            }
            _ => format!("free({text})"),
        }
    }

    fn label_site(&self, d: Diagnostic, site: u32) -> Diagnostic {
        match self.ownership.sites.get(site as usize) {
            Some((span, gone, to)) if site != 0 => {
                let text = match gone {
                    Gone::Moved => "moved here",
                    Gone::Freed => "freed here",
                    Gone::Opened => "its key is open from here on",
                };
                if *span == d.span && *gone != Gone::Opened {
                    return d.note(format!("it is {text} in an earlier round of the loop"));
                }
                let named =
                    to.and_then(|l| self.ownership.body.locals.get(l.0 as usize)).is_some_and(|d| d.name.is_some());
                match to.filter(|_| named) {
                    Some(to) => d.label(*span, format!("{text}, to {}", self.local_name(to))),
                    None => d.label(*span, text),
                }
            }
            _ => d,
        }
    }

    fn diagnostic(&self, finding: &Finding, options: Options) -> Diagnostic {
        let span = finding.span;
        match &finding.kind {
            Kind::Used { node, site, some } => self.used(span, *node, *site, *some),
            Kind::NotWhole { node, part, site, verb } => self.not_whole(span, *node, *part, *site, *verb),
            Kind::LentRoot { node, verb } => {
                let root = self.ownership.paths.nodes[*node].root;
                self.lent_root(span, &self.name(*node), root, *verb)
            }
            Kind::LentPart { place, verb } => {
                let name = place_name(self.ownership.program, self.ownership.body, place);
                let root = place.base_local().unwrap_or(Local(0));
                self.lent_root(span, &name.map_or("the value".to_string(), |n| format!("`{n}`")), root, *verb)
            }
            Kind::Lent { node, by, verb } => self.lent(span, &self.name(*node), *by, *verb),
            Kind::LentSlot { place, by, verb } => {
                let name = place_name(self.ownership.program, self.ownership.body, place);
                let name = name.map_or("what is in the slot".to_string(), |n| format!("`{n}`"));
                self.lent(span, &name, *by, *verb)
            }
            Kind::Ended { local, by } => self.ended(span, *local, *by),
            Kind::Leak { node, lost, some, at } => self.leak(span, *node, *lost, *some, *at, options),
            Kind::Slot { place, verb } => self.slot(span, place, *verb),
            Kind::SlotEmptied { place, by, lent } => self.slot_emptied(span, place, *by, *lent),
            Kind::SwapInside => Diagnostic::error(
                LENT,
                span,
                "one side of `:=:` is, or may be, reached through the other: what it owned would own itself, and be lost",
            )
            .help("take the inner part out first: `T *unique t = nullptr; t :=: x->next;`"),
            Kind::Unused => Diagnostic::error(LEAK, span, "leak: nothing takes this value, which is owned")
                .help("store it in a variable and free it"),
            Kind::Copied => Diagnostic::error(
                MOVED_CODE,
                span,
                "the value of an assignment was moved: what was assigned owns it, and nothing else can",
            )
            .help("write two statements: `y = x; z = y;`"),
            Kind::RegionEnded(by) => self.region_ended(span, *by),
            Kind::SlotLeft(by) => self.slot_left(span, *by),
            Kind::SlotWaits { cursor, started } => self.slot_waits(span, *cursor, *started),
            Kind::SlotKept(local) => Diagnostic::error(
                SLOT,
                span,
                format!("what is in a container slot is kept in {}", self.local_name(*local)),
            )
            .note("a slot is looked at for one access only: others can empty it meanwhile")
            .help("take it out with `:=:`, or use the slot itself each time"),
        }
    }

    fn slot_waits(&self, span: Span, cursor: Local, started: Option<Span>) -> Diagnostic {
        let name = self.local_name(cursor);
        let message =
            format!("this may wait while the cursor {name} is on a slot, and other tasks would find that empty");
        let mut d = Diagnostic::error(SLOT, span, message);
        if let Some(decl) = self.ownership.body.locals.get(cursor.0 as usize) {
            d = d.label(decl.span, "what is in the slot is taken out here, and put back at the end of the block");
        }
        if let Some(at) = started {
            d = d.label(at, "this file starts tasks");
        }
        d.note("what they store there meanwhile would be lost when the cursor puts its content back").help(
            "wait before or after the cursor's block; or take the content out with `:=:`, and put it back afterwards",
        )
    }

    /// The function whose result the loan is.
    fn lender(&self, loan: usize) -> Option<String> {
        let loan = self.ownership.regions.loans.get(loan).filter(|loan| loan.form == Form::Result)?;
        let stmt = self.ownership.body.blocks.get(loan.at.block.0 as usize)?.stmts.get(loan.at.stmt)?;
        let name = self.ownership.program.functions.get(stmt.kind.called()?.func.0 as usize)?.name;
        Some(name.to_string())
    }

    /// What a lender returned is used where it may be gone.
    fn result_gone(&self, span: Span, name: &str, by: Span, lent: Lent) -> Diagnostic {
        let found = format!("`{name}` returns a pointer to what others own");
        let named = self.ownership.body.locals.get(lent.holder.local.0 as usize).is_some_and(|d| d.name.is_some());
        let note = "calls of other functions, stores of what is owned and releases may free what is owned anywhere";
        if !named {
            let message = format!("what `{name}` returned may be gone before it is used");
            let within = by.holds(span);
            let d = Diagnostic::error(SLOT, span, message).label(
                by,
                match within {
                    true => "this may free it",
                    false => "this may free it first",
                },
            );
            return d.note(note).help("pass it to functions of this file that neither store, free nor allocate, and to C functions that call nothing back");
        }
        let holder = self.holder_name(lent.holder);
        let message = format!("what `{name}` returned may be gone before the last use of {holder}");
        let mut d = Diagnostic::error(SLOT, span, message).label(span, found).label(by, "this may free it");
        if let Some(used) = self.next_use(lent).filter(|used| *used != by) {
            d = d.label(used, format!("{holder} is used here"));
        }
        let help = format!(
            "do this after the last use of {holder}, keep what is needed of it in a variable, or call `{name}` again afterwards"
        );
        d.note(note).help(help)
    }

    fn slot_emptied(&self, span: Span, place: &Place, by: Span, lent: Lent) -> Diagnostic {
        if let Some(name) = self.lender(lent.number) {
            return self.result_gone(span, &name, by, lent);
        }
        let named = self.ownership.body.locals.get(lent.holder.local.0 as usize).is_some_and(|d| d.name.is_some());
        if named {
            let name = self.slot_name(place);
            let holder = self.holder_name(lent.holder);
            let message = format!("{name} may be gone before the last use of {holder}, which points to it");
            let mut d = Diagnostic::error(SLOT, span, message).label(by, "this may empty the slot");
            if let Some(used) = self.next_use(lent).filter(|used| *used != by) {
                d = d.label(used, format!("{holder} is used here"));
            }
            d = d.note("calls of other functions, stores of what is owned and releases may empty any slot");
            let before = format!("do this after the last use of {holder}, or keep what is needed of it in a variable");
            return d.help(format!("{before}; else {}", self.looked_through(place)));
        }
        let d = self.slot(span, place, Verb::Borrowed);
        if by.holds(span) {
            return d.note("what a slot holds is taken by C functions that call nothing back and let no other task run (`[[lee::leaf]]`), and by functions of this file that neither store nor free what is owned");
        }
        d.label(by, "this may empty the slot first: do it before, and keep what it gives in a local")
    }

    fn slot_name(&self, place: &Place) -> String {
        let name = place_name(self.ownership.program, self.ownership.body, place);
        name.map_or("what is in a slot".to_string(), |n| format!("what is in the slot `{n}`"))
    }

    /// The variable that the place begins at, if it is a shared pointer.
    fn shared_base(&self, place: &Place) -> Option<&LocalDecl> {
        let decl = self.ownership.body.locals.get(place.base_local()?.0 as usize)?;
        let pointer = self.ownership.program.types.as_pointer(decl.ty.ty)?;
        (decl.name.is_some() && pointer.own == Own::Shared).then_some(decl)
    }

    /// How to use what a slot holds for longer.
    fn looked_through(&self, place: &Place) -> String {
        let name = place_name(self.ownership.program, self.ownership.body, place).unwrap_or("slot".to_string());
        let front = self
            .shared_base(place)
            .and_then(|d| d.name)
            .map_or("the pointer in front".to_string(), |n| format!("`{n}`"));
        let look = format!("to look through it, make {front} a `view` (`T *view`)");
        match self.is_union_member(place) {
            true => format!("{look}; to change what it leads to, take it out with `:=:`"),
            false => format!(
                "{look}; to change what it leads to, walk by a cursor: `cursor pp = &{name};`; or take it out with `:=:`"
            ),
        }
    }

    fn slot(&self, span: Span, place: &Place, verb: Verb) -> Diagnostic {
        let slot = self.slot_name(place);
        let name = place_name(self.ownership.program, self.ownership.body, place).unwrap_or("slot".to_string());
        if verb == Verb::TakenOut {
            return Diagnostic::error(
                SLOT,
                span,
                format!("a cursor cannot go over the slot `{name}`: it is `nonnull`"),
            )
            .note(
                "what a slot holds is taken out while a cursor lives, and anyone who looks there meanwhile finds null",
            )
            .help("declare the slot without `nonnull`, or use it without a cursor");
        }
        let message = match verb {
            Verb::Opened => format!("{slot} is no key that can be opened"),
            verb => format!("{slot} cannot be {}", verb.word()),
        };
        let mut d = Diagnostic::error(SLOT, span, message).note(format!(
            "a slot lies where others can reach it{}: it is looked at for one access only",
            self.why_slot(place)
        ));
        let types = &self.ownership.program.types;
        if let Some(decl) = self.shared_base(place) {
            d = d.label(decl.span, "a shared pointer: there may be others to the same object");
        }
        let held = mir::ty::place_ty(self.ownership.program, self.ownership.body, place).map(|q| q.ty);
        let counted = held.as_ref().ok().and_then(|ty| types.as_pointer(*ty));
        let counted = counted.is_some_and(|p| matches!(p.bounds, Bounds::Counted(_)));
        let ty = held.map_or("T *unique".to_string(), |ty| types.show(ty));
        let space = if ty.ends_with('*') { "" } else { " " };
        d.help(match verb {
            Verb::Freed if !ty.ends_with('*') && !ty.contains('*') => {
                format!("write `{name} = ({ty}){{}}`: a slot frees what it held before")
            }
            Verb::Freed => format!(
                "do not use `{name}` after the `free` before something is stored there; or write `{name} = nullptr`, which frees what it held"
            ),
            Verb::Borrowed => self.looked_through(place),
            // A field that another one counts is not exchanged.
            _ if counted => format!("take it out: `taken = {name}; {name} = nullptr;`, and nothing in between"),
            _ => {
                let nothing = if ty.starts_with("struct ") && !ty.contains('*') { "{}" } else { "nullptr" };
                format!("take it out: `{ty}{space}taken = {nothing}; taken :=: {name};` (use `:=:`)")
            }
        })
    }

    fn is_union_member(&self, place: &Place) -> bool {
        let Some(n) = place.proj.len().checked_sub(1) else { return false };
        let types = &self.ownership.program.types;
        let outer = mir::ty::prefix_ty(self.ownership.program, self.ownership.body, place, n).ok();
        outer.and_then(|q| types.as_record(q.ty)).is_some_and(|r| types.record(r).kind != RecordKind::Struct)
    }

    /// What makes a place a slot.
    fn why_slot(&self, place: &Place) -> &'static str {
        match place.base {
            PlaceBase::Global(_) => " (in a global)",
            _ if place.proj.iter().any(|s| s.index().is_some()) && !place.has_deref() => " (in an array)",
            _ => "",
        }
    }

    fn used(&self, span: Span, node: NodeId, site: u32, some: bool) -> Diagnostic {
        let name = self.name(node);
        let gone = self.ownership.sites.get(site as usize).map_or(Gone::Moved, |s| s.1);
        let message = match (gone, some) {
            (Gone::Opened, _) => {
                format!("{name} is open: it was moved into the open, and comes back at the end of its block")
            }
            (Gone::Moved, false) => format!("{name} was moved, and is used here"),
            (Gone::Moved, true) => format!("{name} was moved on some paths, and is used here"),
            (Gone::Freed, false) => format!("{name} was freed (moved into its release), and is used here"),
            (Gone::Freed, true) => format!("{name} was freed on some paths (moved into its release), and is used here"),
        };
        let mut d = self.label_site(Diagnostic::error(MOVED_CODE, span, message), site);
        if let Some(freed) = self.freed_at(node).filter(|_| gone == Gone::Moved) {
            let owns = "what is freed has one owner, which a copy moves";
            d = match freed == span {
                true => d.note(owns),
                false => d.label(freed, format!("it is freed here: {owns}")),
            };
        }
        d.help(match gone {
            Gone::Opened => "use the handle of the open, or do this after its block".to_string(),
            Gone::Freed => {
                "free it after its last use, keep what is still needed in a variable, or assign it a new value first"
                    .to_string()
            }
            Gone::Moved => {
                "use what it was moved to, lend it instead of moving it, or assign it a new value first".to_string()
            }
        })
    }

    fn not_whole(&self, span: Span, node: NodeId, part: NodeId, site: u32, verb: Verb) -> Diagnostic {
        let types = &self.ownership.program.types;
        let ty = self.ownership.paths.nodes[part].ty;
        let (whole, part) = (self.name(node), self.name(part));
        let root = self.ownership.paths.nodes[node].root;
        let over = self.ownership.cursors.get(&root);
        let is_exposed = over.and_then(|place| place.proj.last()).is_some_and(|step| !step.is_field());
        let message = match verb {
            Verb::Freed => format!("{part} was moved on some paths, so {whole} cannot be freed here"),
            Verb::Exit => format!("{part} was moved out of what is lent, and is not whole again here"),
            Verb::Advanced if is_exposed => format!("{part} was moved, and is not whole again where its `expose` ends"),
            Verb::Advanced => format!("{part} was moved, and the cursor leaves it"),
            verb => format!("{part} was moved, so {whole} is not whole and cannot be {}", verb.word()),
        };
        let d = self.label_site(Diagnostic::error(MOVED_CODE, span, message), site);
        d.help(match verb {
            Verb::Freed => format!("move {part} on every path, or on none"),
            _ => match types.kind(ty) {
                TyKind::Endpoint(_) => {
                    format!("assign {part} first: an end in that state, or none, `({}){{}}`", types.show(ty))
                }
                TyKind::Record(_) => format!("assign {part} first: a new value, or `({}){{}}`", types.show(ty)),
                TyKind::Key(..) => format!("assign {part} first: a new key"),
                _ => format!("assign {part} first: a new value, or `nullptr`"),
            },
        })
    }

    fn lent_root(&self, span: Span, name: &str, root: Local, verb: Verb) -> Diagnostic {
        let locals = &self.ownership.body.locals;
        // A parameter with a count is a variable of its own.
        let declared = locals.get(root.0 as usize).map(|d| (d.name, d.span));
        let mut params = locals.iter().take(self.ownership.body.params as usize);
        let is_param = params.any(|p| Some((p.name, p.span)) == declared);
        let what = if is_param {
            "is lent to this function (no `consume`)"
        } else {
            "belongs to the unpacked struct, which is lent"
        };
        let mut d = Diagnostic::error(LENT, span, format!("{name} {what}, and is {} here", verb.word()));
        if let Some(decl) = locals.get(root.0 as usize) {
            let text = if is_param { "a parameter without `consume` is lent" } else { "unpacked here" };
            d = d.label(decl.span, text);
        }
        d.help(if is_param {
            format!("add `consume` to the parameter {}", self.local_name(root))
        } else {
            "unpack an owned path, so that its parts move".to_string()
        })
    }

    /// A pointer outlives the block of the local that it points into.
    fn slot_left(&self, span: Span, by: Lent) -> Diagnostic {
        let holder = self.holder_name(by.holder);
        let site = self.ownership.regions.loans.get(by.number);
        let message = format!(
            "{holder} is used after the block that gives the slot back its content, which others may free then"
        );
        let mut d = Diagnostic::error(LENT, site.map_or(span, |s| s.span), message).label(span, "the block ends here");
        if let Some(used) = self.next_use(by) {
            d = d.label(used, format!("{holder} is used here, after that"));
        }
        d.help("use it in the block")
    }

    /// A pointer outlives the region that it leads into.
    fn region_ended(&self, span: Span, by: Lent) -> Diagnostic {
        let holder = self.holder_name(by.holder);
        let site = self.ownership.regions.loans.get(by.number);
        let end = site.and_then(|s| s.place.as_local());
        let arena = end.map_or("the arena".to_string(), |local| self.local_name(local));
        let types = &self.ownership.program.types;
        let ty = end.and_then(|local| self.ownership.body.locals.get(local.0 as usize)).map(|decl| decl.ty.ty);
        let is_arena = ty.is_none_or(|ty| matches!(types.kind(ty), TyKind::Handle(..) | TyKind::Key(..)));
        let what = match is_arena {
            true => format!("a pointer into the region of {arena}"),
            false => format!("what was unpacked with {arena}"),
        };
        let message = format!("{what} does not outlive {holder}, which is used after {arena} ends");
        let mut d = Diagnostic::error(OUTLIVES, site.map_or(span, |s| s.span), message);
        d = d.label(span, format!("{arena} ends here"));
        if let Some(used) = self.next_use(by) {
            d = d.label(used, format!("{holder} is used here, after that"));
        }
        let variable = self.local_name(by.holder.local);
        d.help(match is_arena {
            true => format!("declare {arena} before {variable}, or use {variable} only while {arena} lasts"),
            false => format!("use {variable} only in the block of the `unpack`"),
        })
    }

    fn ended(&self, span: Span, local: Local, by: Lent) -> Diagnostic {
        let name = self.local_name(local);
        let holder = self.holder_name(by.holder);
        let lent = self.address_site(local, by);
        let decl = self.ownership.body.locals.get(local.0 as usize);
        let temporary = decl.is_none_or(|d| d.name.is_none());
        let block = if temporary { "its block".to_string() } else { format!("the block of {name}") };
        let message = format!("the address of {name} does not outlive {holder}, which is used after {block}");
        let mut d = Diagnostic::error(OUTLIVES, lent, message).label(span, format!("{block} ends here"));
        if let Some(used) = self.next_use(by) {
            d = d.label(used, format!("{holder} is used here, after that"));
        }
        if let Some(decl) = decl {
            d = d.label(decl.span, if temporary { "made here" } else { "declared here" });
        }
        let declare = if temporary { "declare a variable for it".to_string() } else { format!("declare {name}") };
        d.help(format!("{declare} in the block of {holder}, or allocate it: `new`, `malloc`"))
    }

    /// The last statement before the end of the block, in the order of the source, that takes the
    /// address.
    fn address_site(&self, local: Local, by: Lent) -> Span {
        let body = self.ownership.body;
        let made = self.ownership.regions.loan_at.iter().filter(|(_, &n)| n == by.number);
        let spans = made.filter_map(|(at, _)| Some(body.blocks.get(at.block.0 as usize)?.stmts.get(at.stmt)?.span));
        spans.max().unwrap_or(body.locals.get(local.0 as usize).map_or(Span::NONE, |d| d.span))
    }

    /// The use that keeps a loan in force: the next read of its holder.
    fn next_use(&self, by: Lent) -> Option<Span> {
        let body = self.ownership.body;
        let mut seen = vec![];
        let mut work = std::collections::VecDeque::from([(by.at.block, by.at.stmt)]);
        while let Some((block, from)) = work.pop_front() {
            let code = body.blocks.get(block.0 as usize)?;
            let mut replaced = false;
            for stmt in code.stmts.iter().skip(from) {
                let mut read = false;
                mir::effects::stmt_places(&stmt.kind, &mut |place, access| {
                    read |= by.holder.is_read(place, access);
                    replaced |= by.holder.is_replaced(place, access);
                });
                if read {
                    return Some(stmt.span);
                }
                if replaced {
                    break;
                }
            }
            if replaced {
                continue;
            }
            let mut read = false;
            mir::effects::term_places(&code.term.kind, &mut |place, access| read |= by.holder.is_read(place, access));
            if read {
                return Some(code.term.span);
            }
            for &to in self.cfg.successors(block) {
                if !seen.contains(&to) {
                    seen.push(to);
                    work.push_back((to, 0));
                }
            }
        }
        None
    }

    fn holder_name(&self, holder: Part) -> String {
        let Part { local, field } = holder;
        let named = self.ownership.body.locals.get(local.0 as usize).is_some_and(|d| d.name.is_some());
        let place = Place { base: PlaceBase::Local(local), proj: field.map(Proj::Field).into_iter().collect() };
        match place_name(self.ownership.program, self.ownership.body, &place).filter(|_| named) {
            Some(name) => format!("`{name}`"),
            None => "the expression".to_string(),
        }
    }

    /// The function to which one call passes what the loan lends and what is lent at the point of
    /// the conflict.
    fn called_with_both(&self, by: Lent) -> Option<String> {
        let body = self.ownership.body;
        let code = body.blocks.get(by.at.block.0 as usize)?;
        let at = code.stmts.get(by.at.stmt)?;
        let second = at.kind.as_assign().and_then(|(dest, _)| dest.as_local());
        code.stmts.iter().skip(by.at.stmt).find_map(|stmt| {
            let function = stmt.kind.called()?;
            let (mut one, mut other) = (false, second.is_none());
            mir::effects::stmt_places(&stmt.kind, &mut |place, _| {
                one |= place.as_local() == Some(by.holder.local);
                other |= second.is_some() && place.as_local() == second;
            });
            let function = self.ownership.program.functions.get(function.func.0 as usize)?;
            (one && other).then(|| function.name.to_string())
        })
    }

    /// Where the path is freed.
    fn freed_at(&self, node: NodeId) -> Option<Span> {
        let Ownership { program, body, paths, sites, site_at, .. } = self.ownership;
        let is_freed = |at: &Point| {
            let stmt = body.blocks.get(at.block.0 as usize).and_then(|b| b.stmts.get(at.stmt));
            let mut found = false;
            stmt.into_iter().for_each(|stmt| {
                mir::effects::stmt_places(&stmt.kind, &mut |place, access| {
                    let is_it = paths.find(&program.types, place).is_some_and(|f| f.exact && f.node == node);
                    found |= is_it && access == Access::Move;
                });
            });
            found
        };
        let freed = site_at.iter().filter_map(|(at, &n)| {
            let (span, gone, _) = sites.get(n as usize)?;
            (*gone == Gone::Freed && is_freed(at)).then_some(*span)
        });
        freed.min()
    }

    fn lent(&self, span: Span, name: &str, by: Lent, verb: Verb) -> Diagnostic {
        let site = self.ownership.regions.loans.get(by.number);
        let (kind, form) = site.map_or((BorrowKind::Shared, Form::Borrow), |l| (l.kind, l.form));
        // A cursor over a whole block.
        let exposed = site.is_some_and(|l| l.place.proj.last() == Some(&Proj::Deref));
        let named = self.ownership.body.locals.get(by.holder.local.0 as usize).is_some_and(|d| d.name.is_some());
        let state = match (form, kind) {
            (Form::Cursor, _) if exposed => "it is exposed",
            (Form::Cursor, _) => "a cursor walks over it",
            (Form::Unpack, _) => "it is unpacked",
            (Form::Open, _) => "it is open",
            (_, BorrowKind::Look) => "the expression still uses it",
            (_, BorrowKind::View | BorrowKind::Sight) => "it is lent as a view",
            (_, BorrowKind::Shared | BorrowKind::Any | BorrowKind::Read) => "it is borrowed",
            (_, BorrowKind::Slot) if named => "a variable points into it",
            (_, BorrowKind::Lend | BorrowKind::Slot) => "it is lent to a call",
        };
        let mut d = Diagnostic::error(LENT, span, format!("{name} is lent, and is {} while {state}", verb.word()));
        if let Some(site) = site {
            d = d.label(
                site.span,
                match form {
                    _ if kind.is_look() => "used here",
                    Form::Cursor if exposed => "exposed here",
                    _ => "lent here",
                },
            );
        }
        let holder = self.holder_name(by.holder);
        let called = self.called_with_both(by).filter(|_| matches!(verb, Verb::Lent(_)) && !named);
        let used = self.next_use(by).filter(|_| named && form != Form::Unpack);
        if let Some(used) = used.filter(|used| *used != span) {
            d = d.label(used, format!("{holder} is used here, so it is lent until then"));
        }
        match (form, verb) {
            (Form::Cursor, _) if exposed => d.help("do this in front of the `expose`, or behind its block"),
            (Form::Unpack, _) => d
                .note("it is lent until the block of the `unpack` ends")
                .help("do this before it is lent, or after that block"),
            (Form::Cursor | Form::Open, _) => {
                d.note(format!("it is lent until the block of {holder} ends")).help("do this before it is lent, or after that block")
            }
            (_, Verb::Freed) if used.is_some() => d.help(format!(
                "free it after the last use of {holder}; if only a test is left, keep its result: `bool found = ... != nullptr;`"
            )),
            (_, _) if used.is_some() => d.help(format!("do this before it is lent, or after the last use of {holder}")),
            _ => match called {
                Some(function) => d.help(format!(
                    "`{function}` gets it twice: if it only reads, declare both parameters `view` (`T *view p`); else pass one of them"
                )),
                None => d.help("do this in a statement of its own, before or after this one"),
            },
        }
    }

    fn leak(&self, span: Span, node: NodeId, lost: Lost, some: bool, at: Point, options: Options) -> Diagnostic {
        let name = self.name(node);
        let mut place = span;
        let root = self.ownership.paths.nodes[node].root;
        let decl = self.ownership.body.locals.get(root.0 as usize);
        let mut lost = lost;
        let mut some = some;
        let is_cursor = self.ownership.cursors.contains_key(&root);
        if let Some(unnamed) = decl.filter(|d| d.name.is_none() && lost != Lost::Dropped && !is_cursor) {
            (place, lost, some) = (unnamed.span, Lost::Dropped, false);
        }
        let mut message = match lost {
            Lost::Scope => format!("leak: {name} is still owned when its scope ends"),
            Lost::Exit => format!("leak: {name} is still owned when the function is left"),
            Lost::Overwritten => format!("leak: {name} is overwritten while it is still owned"),
            Lost::Dropped => "leak: nothing takes this value, which is owned".to_string(),
        };
        let (mut condition, mut way) = (false, None);
        if some {
            if let Some((end, is_branch)) = self.branch_end(node, at.block) {
                if !is_branch {
                    place = end;
                }
                condition = is_branch;
                message = format!("leak: {name} is still owned on one path here, and is moved on another");
                if is_branch {
                    way = Some(end);
                }
            } else {
                message = format!("leak: {name} is moved on some paths here, and lost on the others");
            }
        }
        let mut d = Diagnostic::error(LEAK, place, message);
        let types = &self.ownership.program.types;
        let func = self.ownership.body.func.func;
        let function = self.ownership.program.functions.get(func.0 as usize);
        let allowed = options.leaks_are_warnings || function.is_some_and(|f| f.allows.leaks);
        if allowed && !is_strict(types, self.ownership.regions, self.ownership.paths.nodes[node].ty) {
            d.level = Level::Warning;
        }
        if let Some(decl) = decl.filter(|d| d.name.is_some()) {
            d = d.label(decl.span, format!("{} is declared here", self.local_name(root)));
        }
        if place != span && lost != Lost::Dropped {
            d = d.label(span, "it is lost here");
        }
        if let Some(way) = way {
            d = d.label(way, "this path still owns it");
        }
        let release = self.release(node);
        d.help(match (lost, condition) {
            (Lost::Dropped, _) => "store it in a variable and free it".to_string(),
            (Lost::Overwritten, _) => format!("`{release}` first, move it, or exchange it with `:=:`"),
            (_, true) => format!("`{release}` in an `else`, or move it on both paths"),
            (_, false) if release.starts_with("switch") => format!("`{release}` here, or move it"),
            (_, false) => format!("`{release}` here, move it, or `defer {release};` where it is made"),
        })
    }

    /// Where the branch ends that still owned what is moved on another path; and whether it is a
    /// branch without code.
    fn branch_end(&self, node: NodeId, block: BlockId) -> Option<(Span, bool)> {
        let mut seen = vec![block];
        let mut work = std::collections::VecDeque::from([block]);
        while let Some(at) = work.pop_front() {
            let entry = self.results.boundary(at)?;
            if !(entry.has(node, MOVED) && entry.has(node, OWNED)) {
                continue;
            }
            for &from in self.cfg.predecessors(at) {
                let Some(state) = on_edge(self.ownership, self.results, from, at) else { continue };
                if state.has(node, OWNED) && !state.has(node, MOVED) {
                    return self.end_of(from);
                }
                if state.has(node, OWNED) && !seen.contains(&from) {
                    seen.push(from);
                    work.push_back(from);
                }
            }
        }
        None
    }

    fn end_of(&self, block: BlockId) -> Option<(Span, bool)> {
        let block = self.ownership.body.blocks.get(block.0 as usize)?;
        let ends = block.stmts.last().filter(|stmt| stmt.kind.ends().is_some());
        match (block.term.kind.decided_by(), ends) {
            (Some(_), _) => Some((block.term.span, true)),
            (None, Some(stmt)) => Some((stmt.span, false)),
            (None, None) => Some((block.term.span, false)),
        }
    }
}
