//! What the generator knows while it writes a body: variables, what their paths own, what is lent,
//! which regions there are. This is a second statement of the rules, from `language.md` and not
//! from the compiler, and narrower than they are: where it is not sure it does not write the
//! program.

use std::collections::BTreeMap;

/// What a place holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum St {
    /// Something, not null when the program runs.
    Live,
    /// Null, and the compiler knows.
    Null,
    /// Something or null.
    Maybe,
    /// It was moved out.
    Moved,
}

/// The state of a path, and of those below it that are not simply whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Own {
    /// Of the place itself.
    pub st: St,
    /// By field number.
    pub kids: BTreeMap<usize, Own>,
}

impl Own {
    /// Whole below.
    pub fn new(st: St) -> Own {
        Own { st, kids: BTreeMap::new() }
    }

    /// Whether nothing below was moved out.
    pub fn is_whole(&self) -> bool {
        self.kids.values().all(|k| k.st != St::Moved && k.is_whole())
    }
}

/// A region: its number in `Body::regions`.
pub type RegionId = usize;

/// The heap's number.
pub const HEAP: RegionId = 0;

/// Types of variables. Numbers are those of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    /// `struct P *unique`
    Unique(usize),
    /// `struct P *rc`
    Rc(usize),
    /// `struct P`, which owns parts.
    Val(usize),
    /// `struct P *@heap`
    Heap(usize),
    /// A shared pointer to what somebody else owns for longer.
    Borrow(usize),
    /// `struct P *view`
    View(usize),
    /// `struct P *any`
    Any(usize),
    /// `struct P *unique *`, a slot of the caller.
    Out(usize),
    /// `struct P *unique a[N]`
    Many(usize, usize),
    /// `struct R<@r> *@r`
    List(RegionId),
    /// `struct N *@r`, which owns nothing.
    Plain(RegionId),
    /// `struct Q<@r> *unique @r`
    Queue(RegionId),
    /// `struct N *rc @r`
    Counted(RegionId),
    /// A key.
    Key(RegionId),
    /// A struct that hides a region and its key.
    Pack,
    /// `struct box<struct P *unique>`
    Boxed(usize),
    /// `tagged union V`: one path, whichever member is there. `St::Null` says that the member owns
    /// nothing.
    Variant,
    /// `struct U *unique`, with a union whose tag is a field.
    Bound,
    /// `struct E *@exchange`
    Block,
    /// `struct cell<...> *unique`: a list of what is owned.
    Cells(Elem),
    /// `struct hold<...>`: an owner of that kind.
    Hold(bool),
    /// `struct L<@i> *@i`, which keeps what outlives its region.
    Low(RegionId),
    /// `struct node<E, @r> *unique @r`, a list of `E`, which is what `Queue` is.
    Stored(RegionId),
    /// `struct vec<E, @r>`
    Row(RegionId),
    /// `struct N *nonnull @r`
    Sure(RegionId),
    /// `struct fn<@r>`, a function with what only it may get.
    Env(RegionId),
    /// `S.imp:READY`, an end that a process serves.
    Server,
    /// `T.imp:READY`, an end that a task serves.
    Keeper,
}

/// What a generic list holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elem {
    /// `struct P *unique`
    Unique(usize),
    /// `struct P *rc`
    Rc(usize),
    /// `tagged union V`
    Variant,
}

impl Elem {
    /// As a type.
    pub fn ty(self) -> Ty {
        match self {
            Elem::Unique(p) => Ty::Unique(p),
            Elem::Rc(p) => Ty::Rc(p),
            Elem::Variant => Ty::Variant,
        }
    }
}

impl Ty {
    /// Whether it moves.
    pub fn is_owned(self) -> bool {
        self.owes() || matches!(self, Ty::Queue(_) | Ty::Stored(_) | Ty::Counted(_))
    }

    /// Whether it must be given up.
    pub fn owes(self) -> bool {
        matches!(
            self,
            Ty::Unique(_)
                | Ty::Rc(_)
                | Ty::Val(_)
                | Ty::Key(_)
                | Ty::Pack
                | Ty::Boxed(_)
                | Ty::Variant
                | Ty::Bound
                | Ty::Block
                | Ty::Cells(_)
                | Ty::Hold(_)
                | Ty::Server
                | Ty::Keeper
        )
    }
}

/// A variable in scope.
#[derive(Clone, Debug)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// What it owns.
    pub own: Own,
    /// A parameter that is lent: not moved, assigned or exchanged.
    pub is_lent: bool,
    /// A `defer` will free it.
    pub is_deferred: bool,
    /// What a cursor is at: it is whole when the cursor advances or its block is left, and others
    /// own it then.
    pub is_place: bool,
    /// Number of scopes around it.
    pub depth: usize,
}

/// A path: a variable, then fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// Index of the variable.
    pub root: usize,
    /// Field numbers.
    pub steps: Vec<usize>,
}

impl Path {
    /// A variable.
    pub fn var(root: usize) -> Path {
        Path { root, steps: vec![] }
    }

    /// A field of it.
    pub fn field(&self, n: usize) -> Path {
        let mut steps = self.steps.clone();
        steps.push(n);
        Path { root: self.root, steps }
    }

    /// Whether one leads to the other.
    pub fn is_related(&self, other: &Path) -> bool {
        self.root == other.root && self.steps.iter().zip(&other.steps).all(|(a, b)| a == b)
    }
}

/// How something is lent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lending {
    /// As shared pointers.
    Borrow,
    /// As views.
    View,
    /// To one user, or as the compiler likes.
    Exclusive,
}

/// Something that is lent until a scope ends.
#[derive(Clone, Debug)]
pub struct Pin {
    /// What.
    pub path: Path,
    /// How.
    pub how: Lending,
}

/// Kinds of region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `@heap`
    Heap,
    /// `arena r;`
    Arena,
    /// `reap r;`
    Reap,
    /// `arena r`, a parameter.
    ParamArena,
    /// `reap r`, a parameter.
    ParamReap,
    /// Of a key.
    Key(KeyKind),
    /// The block of a local.
    Block,
}

/// Kinds of key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyKind {
    /// `key`
    Arena,
    /// `reap_key`
    Reap,
    /// `rc_key`
    RcArena,
    /// `rc_reap_key`
    RcReap,
    /// `exchange_key`
    Exchange,
}

impl KeyKind {
    /// All five.
    pub const ALL: [KeyKind; 5] = [KeyKind::Arena, KeyKind::Reap, KeyKind::RcArena, KeyKind::RcReap, KeyKind::Exchange];

    /// The word of the type.
    pub fn word(self) -> &'static str {
        match self {
            KeyKind::Arena => "key",
            KeyKind::Reap => "reap_key",
            KeyKind::RcArena => "rc_key",
            KeyKind::RcReap => "rc_reap_key",
            KeyKind::Exchange => "exchange_key",
        }
    }

    /// What makes one.
    pub fn maker(self) -> &'static str {
        match self {
            KeyKind::Arena => "new_arena()",
            KeyKind::Reap => "new_reap()",
            KeyKind::RcArena => "new_rc_arena()",
            KeyKind::RcReap => "new_rc_reap()",
            KeyKind::Exchange => "new_exchange_arena()",
        }
    }

    /// Whether it is given up by `release`.
    pub fn is_counted(self) -> bool {
        matches!(self, KeyKind::RcArena | KeyKind::RcReap)
    }

    /// Whether objects can be freed one by one.
    pub fn is_reap(self) -> bool {
        matches!(self, KeyKind::Reap | KeyKind::RcReap)
    }
}

/// A region that is in scope.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its name, without `@`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The handle, if it is live and has one.
    pub handle: Option<String>,
    /// Number of scopes around its begin; of a key's: around the `open` that is in force.
    pub depth: usize,
    /// When it was made live, to order regions of one scope.
    pub order: usize,
}

impl Region {
    /// Whether memory in it may be touched.
    pub fn is_live(&self) -> bool {
        !matches!(self.kind, Kind::Key(_)) || self.handle.is_some()
    }

    /// Whether `new(h) T` is unique there in a useful way, and `rfree` works.
    pub fn is_reap(&self) -> bool {
        match self.kind {
            Kind::Reap | Kind::ParamReap => true,
            Kind::Key(k) => k.is_reap(),
            _ => false,
        }
    }
}
