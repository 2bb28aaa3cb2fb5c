//! Statements over arenas, reaps and keys.

use crate::body::Body;
use crate::model::{KeyKind, Kind, Lending, Path, Region, St, Ty, HEAP};

impl Body<'_> {
    /// Adds a region to the innermost scope.
    pub fn add_region(&mut self, name: String, kind: Kind, handle: Option<String>) -> usize {
        let (depth, order) = (self.scopes.len(), self.regions.len());
        self.regions.push(Region { name, kind, handle, depth, order });
        self.regions.len() - 1
    }

    /// Whether region `a` outlives `b`, as far as this model says.
    pub fn outlives(&self, a: usize, b: usize) -> bool {
        if a == b || self.facts.contains(&(a, b)) {
            return true;
        }
        let (x, y) = (&self.regions[a], &self.regions[b]);
        let nests = |k: Kind| matches!(k, Kind::Arena | Kind::Reap | Kind::Block);
        match (x.kind, y.kind) {
            (Kind::Heap, Kind::Key(k)) => k != KeyKind::Exchange,
            (Kind::Heap, k) => nests(k),
            (k, l) if nests(k) && nests(l) => x.depth < y.depth || (x.depth == y.depth && x.order < y.order),
            (Kind::ParamArena | Kind::ParamReap, k) => nests(k),
            (Kind::Key(k), l) if nests(l) && k != KeyKind::Exchange => x.handle.is_some() && x.depth < y.depth,
            _ => false,
        }
    }

    fn live_region(&mut self, fits: impl Fn(&Region) -> bool) -> Option<usize> {
        let found: Vec<usize> =
            (1..self.regions.len()).filter(|&n| self.regions[n].handle.is_some() && fits(&self.regions[n])).collect();
        if found.is_empty() {
            return None;
        }
        Some(*self.random.pick(&found))
    }

    /// One statement with regions.
    pub fn region_statement(&mut self) -> bool {
        match self.random.below(14) {
            0..=2 => self.begin(),
            3..=5 => self.list(),
            6 => self.plain(),
            7 => self.across(),
            8 | 9 => self.queue(),
            10 => self.counted_there(),
            11 => self.block_region(),
            _ => self.list_use(),
        }
    }

    /// A LIFO arena or reap, in this scope or one of its own.
    fn begin(&mut self) -> bool {
        if self.regions.len() > 5 {
            return false;
        }
        let is_reap = self.random.chance(50);
        let (word, kind) = if is_reap { ("reap", Kind::Reap) } else { ("arena", Kind::Arena) };
        let r = self.name("r");
        let own_scope = self.random.chance(60) && self.scopes.len() < 6;
        if own_scope {
            self.open("{");
        }
        self.line(format!("{word} {r};"));
        self.add_region(r.clone(), kind, Some(r));
        if self.random.chance(80) {
            self.list();
        }
        if own_scope {
            self.block(5);
            self.close("}");
        }
        true
    }

    /// An object of a list.
    fn list(&mut self) -> bool {
        let Some(r) = self.live_region(|_| true) else { return false };
        let t = self.types.tag.clone();
        let (x, handle, at) = (self.name("x"), self.handle(r).unwrap_or_default(), self.regions[r].name.clone());
        let mut parts = vec![".id = fresh()".to_string(), ".sum = mix(ids)".into()];
        for field in ["next", "other"] {
            if let Some(n) = self.some_var(|_, v| v.ty == Ty::List(r)) {
                let name = self.vars[n].name.clone();
                parts.push(format!(".{field} = {name}"));
            }
        }
        let value = format!("new({handle}) struct {t}_R{{ {} }}", parts.join(", "));
        let existing = self.some_var(|_, v| v.ty == Ty::List(r) && !v.is_lent);
        match existing {
            Some(n) if self.random.chance(40) => {
                let name = self.vars[n].name.clone();
                self.line(format!("{name} = {value};"));
            }
            _ => {
                let word = match self.random.below(3) {
                    0 => format!("struct {t}_R *{x}"),
                    1 => format!("struct {t}_R<@{at}> *@{at} {x}"),
                    _ => format!("struct {t}_R *@{at} {x}"),
                };
                self.line(format!("{word} = {value};"));
                self.declare(x, Ty::List(r), St::Live);
            }
        }
        true
    }

    /// Reads, links, fills.
    fn list_use(&mut self) -> bool {
        let Some(n) = self.some_var(|b, v| matches!(v.ty, Ty::List(_)) && b.region_is_live(v.ty)) else {
            return false;
        };
        let t = self.types.tag.clone();
        let (x, ty) = (self.vars[n].name.clone(), self.vars[n].ty);
        match self.random.below(5) {
            0 | 1 => self.line(format!("ck_{t}_R({x});")),
            2 => self.line(format!("if ({x}->sum != mix({x}->id)) bad(__LINE__); else use({x}->id);")),
            3 => {
                let Some(m) = self.some_var(|_, v| v.ty == ty) else { return false };
                let y = self.vars[m].name.clone();
                let field = if self.random.chance(50) { "next" } else { "other" };
                self.line(format!("{x}->{field} = {y};"));
            }
            _ => {
                let i = self.name("i");
                let Ty::List(r) = ty else { return false };
                let Some(handle) = self.handle(r) else { return false };
                let size = self.random.between(1, 40);
                self.line(format!(
                    "for (int {i} = 0; {i} < 3; {i}++) {{ long *fat {i}a = new({handle}) long[{size}]; {i}a[{}] = fresh(); use({i}a[{}]); }}",
                    size - 1,
                    size - 1
                ));
            }
        }
        true
    }

    /// Plain objects, which move between regions by outlives.
    fn plain(&mut self) -> bool {
        let t = self.types.tag.clone();
        let x = self.name("p");
        let source = self.some_var(|b, v| matches!(v.ty, Ty::Plain(_)) && b.region_is_live(v.ty));
        match source {
            Some(n) if self.random.chance(50) => {
                let Ty::Plain(from) = self.vars[n].ty else { return false };
                let to: Vec<usize> = (1..self.regions.len())
                    .filter(|&s| {
                        self.outlives(from, s) && self.regions[s].is_live() && self.regions[s].kind != Kind::Block
                    })
                    .collect();
                let name = self.vars[n].name.clone();
                if to.is_empty() || self.random.chance(40) {
                    self.line(format!("ck_{t}_N({name});"));
                    return true;
                }
                let s = *self.random.pick(&to);
                let at = self.regions[s].name.clone();
                self.line(format!("struct {t}_N *@{at} {x} = {name};"));
                self.declare(x, Ty::Plain(s), St::Live);
            }
            _ => {
                let region = if self.random.chance(30) { None } else { self.live_region(|_| true) };
                let (handle, at) = match region {
                    Some(r) => (format!("({})", self.handle(r).unwrap_or_default()), self.regions[r].name.clone()),
                    None => (String::new(), "heap".into()),
                };
                let word = if self.random.chance(40) {
                    format!("struct {t}_N *{x}")
                } else {
                    format!("struct {t}_N *@{at} {x}")
                };
                self.line(format!("{word} = new{handle} struct {t}_N{{ .id = fresh(), .sum = mix(ids) }};"));
                self.declare(x, Ty::Plain(region.unwrap_or(HEAP)), St::Live);
            }
        }
        true
    }

    /// An object that points into two regions.
    fn across(&mut self) -> bool {
        let Some(inner) = self.live_region(|r| matches!(r.kind, Kind::Arena | Kind::Reap)) else { return false };
        let up = self.some_var(|b, v| match v.ty {
            Ty::List(r) => r != inner && b.outlives(r, inner) && b.regions[r].is_live(),
            _ => false,
        });
        let Some(n) = up else { return false };
        let Ty::List(outer) = self.vars[n].ty else { return false };
        let t = self.types.tag.clone();
        let (o, i) = (self.regions[outer].name.clone(), self.regions[inner].name.clone());
        let (m, k, name) = (self.name("m"), self.name("m"), self.vars[n].name.clone());
        let handle = self.handle(inner).unwrap_or_default();
        let of = format!("struct {t}_M<@{o}, @{i}>");
        self.line(format!("{of} *@{i} {m} = new({handle}) {of}{{ .id = fresh(), .sum = mix(ids), .up = {name} }};"));
        self.line(format!(
            "{of} *{k} = new({handle}) {of}{{ .id = fresh(), .sum = mix(ids), .up = {m}->up, .next = {m} }};"
        ));
        self.line(format!("if ({k}->next->sum != mix({m}->id)) bad(__LINE__);"));
        self.line(format!("ck_{t}_R({k}->next->up);"));
        true
    }

    /// A unique object in an arena or reap.
    fn queue(&mut self) -> bool {
        let t = self.types.tag.clone();
        if self.random.chance(50) {
            let Some(r) = self.live_region(|_| true) else { return false };
            if matches!(self.regions[r].kind, Kind::Key(KeyKind::Exchange)) {
                return false;
            }
            let (x, handle) = (self.name("q"), self.handle(r).unwrap_or_default());
            let given = self.movable(|ty| ty == Ty::Queue(r));
            let next = match &given {
                Some(path) if self.random.chance(60) => {
                    let text = self.text(path);
                    self.set_st(path, St::Moved);
                    format!(", .next = {text}")
                }
                _ => String::new(),
            };
            let word = self.declared(Ty::Queue(r), &x);
            self.line(format!("{word} = new({handle}) struct {t}_Q{{ .id = fresh(), .sum = mix(ids){next} }};"));
            self.declare(x, Ty::Queue(r), St::Live);
            return true;
        }
        let Some(path) = self.movable(|ty| matches!(ty, Ty::Queue(_))) else { return false };
        let (ty, text) = (self.ty(&path), self.text(&path));
        let Ty::Queue(r) = ty else { return false };
        match self.random.below(6) {
            0 if self.regions[r].is_reap() => {
                let Some(handle) = self.handle(r) else { return false };
                self.line(format!("rfree({handle}, {text});"));
                self.set_st(&path, St::Moved);
            }
            1 => {
                let Some(other) = self.movable(|t| t == ty).filter(|o| !o.is_related(&path)) else { return false };
                let y = self.text(&other);
                self.line(format!("{text} :=: {y};"));
            }
            2 => {
                let x = self.name("q");
                let word = self.declared(ty, &x);
                self.line(format!("{word} = {text};"));
                self.set_st(&path, St::Moved);
                self.declare(x, ty, St::Live);
            }
            3 => {
                let x = self.name("q");
                let word = self.declared(ty, &x);
                self.line(format!("{word} = {text}->side;"));
                self.set_st(&path.field(1), St::Moved);
                self.declare(x, ty, St::Maybe);
                if self.random.chance(50) {
                    self.line(format!("{text}->side = nullptr;"));
                    self.set_st(&path.field(1), St::Maybe);
                }
            }
            4 => self.line(format!("ck_{t}_Q({text});")),
            _ => self.line(format!("if ({text}->sum != mix({text}->id)) bad(__LINE__); else use({text}->id);")),
        }
        true
    }

    /// Counted objects in a reap.
    fn counted_there(&mut self) -> bool {
        let t = self.types.tag.clone();
        let found = self.movable(|ty| matches!(ty, Ty::Counted(_)));
        match found {
            Some(path) if self.random.chance(70) => {
                let (ty, text) = (self.ty(&path), self.text(&path));
                let Ty::Counted(r) = ty else { return false };
                match self.random.below(3) {
                    0 => {
                        let x = self.name("c");
                        let word = self.declared(ty, &x);
                        self.line(format!("{word} = retain({text});"));
                        self.declare(x, ty, St::Live);
                    }
                    1 => {
                        let Some(handle) = self.handle(r) else { return false };
                        self.line(format!("release({handle}, {text});"));
                        self.set_st(&path, St::Moved);
                    }
                    _ => self.line(format!("ck_{t}_N({text});")),
                }
            }
            _ => {
                let Some(r) = self.live_region(|r| r.is_reap()) else { return false };
                let (x, handle) = (self.name("c"), self.handle(r).unwrap_or_default());
                let word = self.declared(Ty::Counted(r), &x);
                self.line(format!("{word} = new({handle}) rc struct {t}_N{{ .id = fresh(), .sum = mix(ids) }};"));
                self.declare(x, Ty::Counted(r), St::Live);
            }
        }
        true
    }

    /// A labelled block whose local is pointed to.
    fn block_region(&mut self) -> bool {
        let (label, n, p) = (self.name("B"), self.name("n"), self.name("p"));
        let t = self.types.tag.clone();
        self.open(format!("{label}: {{"));
        self.line(format!("struct {t}_N {n} = {{ .id = fresh(), .sum = mix(ids) }};"));
        let r = self.add_region(label.clone(), Kind::Block, None);
        self.line(format!("struct {t}_N *@{label} {p} = &{n};"));
        self.declare(p, Ty::Plain(r), St::Live);
        self.block(4);
        self.close("}");
        true
    }

    // ---- keys

    /// One statement with a key or a package.
    pub fn key_statement(&mut self) -> bool {
        match self.random.below(8) {
            0 | 1 => self.new_key(),
            2..=4 => self.opened(),
            5 => self.key_moves(),
            _ => self.package(),
        }
    }

    fn new_key(&mut self) -> bool {
        if self.regions.iter().filter(|r| matches!(r.kind, Kind::Key(_))).count() > 3 {
            return false;
        }
        let kind = *self.random.pick(&KeyKind::ALL);
        self.key_of(kind);
        true
    }

    /// A new key, and mostly something in its arena.
    pub fn key_of(&mut self, kind: KeyKind) {
        let (d, k, l) = (self.name("d"), self.name("k"), self.name("x"));
        let t = self.types.tag.clone();
        self.line(format!("{}<@{d}> {k} = {};", kind.word(), kind.maker()));
        let r = self.add_region(d, Kind::Key(kind), None);
        self.declare(k, Ty::Key(r), St::Live);
        if self.random.chance(70) {
            let word = self.declared(Ty::List(r), &l);
            self.line(format!("{word} = nullptr;"));
            // Null is not in the model: something is put there at once, or it is never used.
            let n = self.vars.len() - 1;
            self.open_key(&Path::var(n), |b, h| {
                b.line(format!("{l} = new({h}) struct {t}_R{{ .id = fresh(), .sum = mix(ids) }};"));
            });
            self.declare(l, Ty::List(r), St::Live);
        }
    }

    /// Opens a key for what `inside` writes.
    pub fn open_key(&mut self, path: &Path, inside: impl FnOnce(&mut Body, &str)) {
        let Ty::Key(r) = self.ty(path) else { return };
        let (text, h) = (self.text(path), self.name("o"));
        let word = if self.regions[r].is_reap() && self.random.chance(80) { "reap" } else { "arena" };
        let Kind::Key(kind) = self.regions[r].kind else { return };
        let word = if kind.is_reap() { "reap" } else { word };
        self.open("{");
        self.line(format!("open {word} {h} = {text};"));
        let before = (self.regions[r].handle.clone(), self.regions[r].depth);
        self.regions[r].handle = Some(h.clone());
        self.regions[r].depth = self.scopes.len();
        self.pin(path.clone(), Lending::Exclusive);
        let states = self.states();
        inside(self, &h);
        // What lies in the region is as it was, for a join further out could not make it again.
        for (n, own) in states.iter().enumerate() {
            if matches!(self.vars[n].ty, Ty::Queue(q) | Ty::Stored(q) | Ty::Counted(q) if q == r) && before.0.is_none()
            {
                self.restore_one(n, own);
            }
        }
        self.line(format!("(void){h};"));
        self.give_up_scope();
        self.regions[r].handle = before.0;
        self.regions[r].depth = before.1;
        self.pop();
        self.line("}");
    }

    fn opened(&mut self) -> bool {
        let found = self.some(|b, p| {
            matches!(b.ty(p), Ty::Key(r) if b.regions[r].handle.is_none())
                && b.own(p).st == St::Live
                && b.may_lend(p, Lending::Exclusive)
        });
        let Some(path) = found else { return false };
        self.open_key(&path, |b, _| b.block(5));
        true
    }

    fn key_moves(&mut self) -> bool {
        let depth = self.scopes.len();
        let found = self.some(|b, p| {
            matches!(b.ty(p), Ty::Key(_)) && b.own(p).st == St::Live && b.is_free(p) && b.vars[p.root].depth == depth
        });
        let Some(path) = found else { return false };
        let (ty, text) = (self.ty(&path), self.text(&path));
        let Ty::Key(r) = ty else { return false };
        let Kind::Key(kind) = self.regions[r].kind else { return false };
        let x = self.name("k");
        let word = self.declared(ty, &x);
        match self.random.below(3) {
            0 if kind.is_counted() => {
                self.line(format!("{word} = retain({text});"));
                self.declare(x, ty, St::Live);
            }
            1 => {
                self.drop_path(&path);
            }
            _ => {
                self.line(format!("{word} = {text};"));
                self.set_st(&path, St::Moved);
                self.declare(x, ty, St::Live);
            }
        }
        true
    }

    /// A struct that hides a region.
    fn package(&mut self) -> bool {
        let t = self.types.tag.clone();
        let found =
            self.some(|b, p| b.ty(p) == Ty::Pack && b.own(p).st == St::Live && b.is_free(p) && p.steps.is_empty());
        let key = self.types.pack_key;
        match found {
            Some(path) if self.random.chance(75) => {
                let text = self.text(&path);
                match self.random.below(4) {
                    0 => {
                        self.line(format!("{text} = {t}_K_push({text});"));
                    }
                    1 => self.line(format!("{t}_K_ck({text});")),
                    2 => {
                        // Out, used, and in again.
                        let (d, k, top, h) = (self.name("d"), self.name("k"), self.name("x"), self.name("o"));
                        let word = if key.is_reap() { "reap" } else { "arena" };
                        self.open("{");
                        self.line(format!("unpack {text} as {{@{d}, k: {k}, top: {top}}};"));
                        self.open("{");
                        self.line(format!("open {word} {h} = {k};"));
                        self.line(format!(
                            "{top} = new({h}) struct {t}_R{{ .id = fresh(), .sum = mix(ids), .next = {top} }};"
                        ));
                        self.line(format!("ck_{t}_R({top});"));
                        self.pop();
                        self.line("}");
                        self.line(format!("{text} = (struct {t}_K){{ {k}, {top}, fresh() }};"));
                        self.pop();
                        self.line("}");
                    }
                    _ => {
                        self.drop_path(&path);
                    }
                }
            }
            _ => {
                let x = self.name("pack");
                let value =
                    if self.random.chance(50) { format!("{t}_K_new()") } else { format!("{t}_K_push({t}_K_new())") };
                self.line(format!("struct {t}_K {x} = {value};"));
                self.declare(x, Ty::Pack, St::Live);
            }
        }
        true
    }
}
