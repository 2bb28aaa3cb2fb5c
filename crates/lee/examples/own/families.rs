//! What only some programs have: exchange blocks, generic lists of owners, structs that keep what
//! outlives their region. Text of types and helpers of these, of unions and of tasks: `$P` is the
//! first record, `$` the program.

use crate::body::Body;
use crate::model::{Elem, Kind, Lending, Path, St, Ty, HEAP};

/// Before the records, and after them.
pub type Part = (&'static str, &'static str);

/// Unions that own. A member that is a pointer is never null.
pub const UNIONS: Part = (
    "struct $_two { struct $P *unique a; struct W *rc w; };
tagged union $_V { long num; struct $P *unique own; struct $P *rc cnt; struct W *rc wit; struct $_two two; };
struct $_U {
    long id;
    unsigned long sum;
    int kind;
    union { long n; struct $P *unique own; struct W *rc wit; } u tagged_by(kind) { 1: n, 2: own, 3: wit };
    struct $_U *unique next;
};
static tagged union $_V $_gv;
",
    "static struct $P *unique mk_$P(long d);
static struct $P *rc mkc_$P(long d);
static tagged union $_V $_V_new(long d) {
    switch (fresh() % 5) {
    case 0: return (tagged union $_V){ .num = d };
    case 1: return (tagged union $_V){ .own = mk_$P(d - 1) };
    case 2: return (tagged union $_V){ .cnt = mkc_$P(d - 1) };
    case 3: return (tagged union $_V){ .wit = retain($_tok) };
    default: return (tagged union $_V){ .two = { mk_$P(0), retain($_tok) } };
    }
}
static void $_V_free(consume tagged union $_V v) {
    switch (v) {
    case .num(n): use(n); break;
    case .own(p): use(p->id); free(p); break;
    case .cnt(c): release(c); break;
    case .wit(w): release(w); break;
    case .two(t): free(t.a); release(t.w); break;
    }
}
static void $_V_ck(tagged union $_V v) {
    switch (v) {
    case .num(n): use(n); break;
    case .own(p): if (p->sum != mix(p->id)) bad(__LINE__); else use(p->id); break;
    case .cnt(c): if (c->sum != mix(c->id)) bad(__LINE__); else use(c->id); break;
    case .wit(w): use(w->n); break;
    case .two: use(2); break;
    }
}
static void $_V_set(tagged union $_V *v) {
    switch (fresh() % 4) {
    case 0: v->num = fresh(); break;
    case 1: v->own = mk_$P(0); break;
    case 2: v->wit = retain($_tok); break;
    default: *v = $_V_new(1); break;
    }
}
static struct $_U *unique $_U_new(long d) {
    struct $_U *unique next = d > 0 ? $_U_new(d - 1) : nullptr;
    switch (fresh() % 3) {
    case 0: return new struct $_U{ .id = fresh(), .sum = mix(ids), .kind = 1, .u.n = d, .next = next };
    case 1: return new struct $_U{ .id = fresh(), .sum = mix(ids), .kind = 2, .u.own = mk_$P(0), .next = next };
    default: return new struct $_U{ .id = fresh(), .sum = mix(ids), .kind = 3, .u.wit = retain($_tok), .next = next };
    }
}
static void $_U_ck(struct $_U *view p) {
    for (int i = 0; p && i < 5; i++, p = p->next) {
        if (p->sum != mix(p->id)) bad(__LINE__);
        if (p->kind == 1) use(p->u.n);
        else if (p->kind == 2) use(p->u.own->id);
        else use(p->u.wit->n);
    }
}
static void $_U_set(struct $_U *p) {
    switch (fresh() % 3) {
    case 0: p->kind = 1; p->u.n = fresh(); break;
    case 1: p->kind = 2; p->u.own = mk_$P(0); break;
    default: p->kind = 3; p->u.wit = retain($_tok); break;
    }
}
",
);

/// Blocks of the exchange heap; they pass through a channel, and through a block that owns them.
pub const EXCHANGE: Part = (
    "struct $_E { long id; unsigned long sum; long num[2]; };
static struct $_E *@exchange $_E_new(void) { return new(exchange) struct $_E{ .id = fresh(), .sum = mix(ids) }; }
static void $_E_ck(struct $_E *any p) { if (p->sum != mix(p->id)) bad(__LINE__); use(p->id); }
static void $_E_look(struct $_E *view p) { if (p->sum != mix(p->id)) bad(__LINE__); use(p->num[1]); }
static void $_E_bump(struct $_E *p) { p->num[1]++; p->id = fresh(); p->sum = mix(p->id); }
static void $_E_free(consume struct $_E *@exchange p) { if (p) $_E_ck(p); free(p); }
static struct $_E *@exchange $_E_pass(consume struct $_E *@exchange p) { p->num[0]++; return p; }
contract $_C { in message Put(struct $_E *@exchange p); state START { Put? -> DONE; } state DONE {} }
static struct $_E *@exchange $_E_send(consume struct $_E *@exchange p) {
    channel $_C (c, s);
    send c.Put(p);
    free(c);
    receive s.Put(got);
    free(s);
    return got;
}
static void $_E_lose(consume struct $_E *@exchange p) {
    channel $_C (c, s);
    send c.Put(p);
    free(s);
    free(c);
}
struct $_X { struct $_E *@exchange in; long n; };
static struct $_E *@exchange $_E_box(consume struct $_E *@exchange p) {
    struct $_X *@exchange x = new(exchange) struct $_X{ p, 1 };
    struct $_E *@exchange out = nullptr;
    expose (x) { out = x->in; x->in = out ? nullptr : $_E_new(); }
    free(x);
    return out;
}
",
    "",
);

/// All tasks are joined at the end.
pub const TASKS: Part = (
    "struct $_TL { task *t; struct $_TL *next; };
static struct $_TL *$_tl;
static void $_keep(task *@heap t) { $_tl = new struct $_TL{ t, $_tl }; }
static void $_join(void) {
    while ($_tl) {
        task *t = $_tl->t;
        $_tl = $_tl->next;
        if (!join(t)) bad(__LINE__);
    }
}
",
    "",
);

/// A struct that keeps what outlives its region.
pub const OUTLIVES: Part = (
    "struct $_L<@i> { long id; unsigned long sum; struct $_N *@i to; struct $_L<@i> *@i next; };
generic <@o outlives @i> static void $_lower(struct $_L<@i> *@i l, struct $_N *@o n) { l->to = n; }
generic <@o outlives @i> static struct $_N *@i $_as(struct $_N *@o n, struct $_L<@i> *@i l) { l->to = n; return l->to; }
generic <@a outlives @b, @b outlives @c> static void $_chain(struct $_N *@a n, struct $_L<@b> *@b l, struct $_L<@c> *@c m) { l->to = n; m->to = l->to; }
static struct $_R *@r $_copy(arena r, struct $_R *@s from, struct $_R *@r rest) {
    for (int i = 0; from && i < 3; i++, from = from->next)
        rest = new(r) struct $_R{ .id = from->id, .sum = from->sum, .next = rest };
    return rest;
}
static void $_L_ck(struct $_L *p) {
    for (int i = 0; p && i < 5; i++, p = p->next)
        if (p->sum != mix(p->id) || (p->to && p->to->sum != mix(p->to->id))) bad(__LINE__); else use(p->id);
}
",
    "",
);

/// Lists of what is owned, for every kind of it.
pub const CELLS: Part = (
    "generic <T: move> struct $_cell { T value; struct $_cell<T> *unique next; };
generic <T: move> void $_push(struct $_cell<T> *unique *list, consume T x) {
    struct $_cell<T> *unique rest = nullptr;
    rest :=: *list;
    *list = new struct $_cell<T>{ x, rest };
}
generic <T: move> T $_swap(struct $_cell<T> *unique list, consume T x) { x :=: list->value; return x; }
generic <T: move> long $_count(struct $_cell<T> *view l) { long n = 0; for (; l; l = l->next) n++; return n; }
generic <T: move> void $_end(consume struct $_cell<T> *unique l, void (*end)(consume T)) {
    while (l) {
        T x = l->value;
        struct $_cell<T> *unique next = l->next;
        free(l);
        end(x);
        l = next;
    }
}
generic <T: move> struct $_cell<T> *unique $_append(consume struct $_cell<T> *unique a, consume struct $_cell<T> *unique b) {
    {
        cursor c = &a;
        while (*c) c = &(*c)->next;
        *c = b;
    }
    return a;
}
generic <T: move> struct $_cell<T> *unique $_turn(consume struct $_cell<T> *unique l) {
    struct $_cell<T> *unique out = nullptr;
    while (l) {
        struct $_cell<T> *unique next = l->next;
        l->next = out;
        out = l;
        l = next;
    }
    return out;
}
generic <T: move> void $_trade(T *a, T *b) { *a :=: *b; }
generic <own q> void $_deal(struct $_hold<q> *a, struct $_hold<q> *b) { a->p :=: b->p; }
generic <own q> struct $_N *q $_held(consume struct $_hold<q> d) { return d.p; }
",
    "",
);

impl Body<'_> {
    /// One statement of a family that the program has.
    pub fn family_statement(&mut self) -> bool {
        let f = self.types.families;
        match self.random.below(14) {
            8 | 9 if f.stores => self.store_statement(),
            10 | 11 if f.sure => self.sure_statement(),
            12 if f.environments => self.environment_statement(),
            13 if f.words => self.word_statement(),
            6 | 7 if f.servers => self.message_statement(),
            0 | 1 if f.unions => self.union_statement(),
            2 if f.exchange => self.exchange_statement(),
            3 if f.tasks => self.task_statement(),
            4 if f.outlives => self.low_statement(),
            5 if f.cells => self.cell_statement(),
            _ => false,
        }
    }

    /// Makes a variable of something new.
    pub fn make_new(&mut self, ty: Ty) -> bool {
        let x = self.name("w");
        let (word, new) = (self.declared(ty, &x), self.fresh(ty));
        self.line(format!("{word} = {new};"));
        self.declare(x, ty, St::Live);
        true
    }

    /// Moves something to a new variable, through `f` if there is one.
    pub fn move_through(&mut self, path: &Path, function: &str) {
        let (ty, text, x) = (self.ty(path), self.text(path), self.name("m"));
        let word = self.declared(ty, &x);
        let value = if function.is_empty() { text } else { format!("{function}({text})") };
        self.line(format!("{word} = {value};"));
        self.set_st(path, St::Moved);
        self.declare(x, ty, St::Live);
    }

    /// Two paths of one type that may be exchanged.
    pub fn two(&mut self, ty: Ty) -> Option<(Path, Path)> {
        let a = self.movable(|t| t == ty)?;
        let b = self.movable(|t| t == ty).filter(|b| !b.is_related(&a))?;
        Some((a, b))
    }

    // ---- exchange

    fn exchange_statement(&mut self) -> bool {
        let t = self.types.tag.clone();
        let found = self.movable(|ty| ty == Ty::Block);
        let Some(path) = found.filter(|_| self.random.chance(75)) else {
            if self.random.chance(25) {
                let (x, n) = (self.name("a"), self.random.between(1, 9));
                self.line(format!("long *fat @exchange {x} = new(exchange) long[{n}];"));
                self.line(format!("{x}[fresh() % {n}] = fresh();"));
                self.line(format!("use({x}[{}]);", n - 1));
                self.line(format!("free({x});"));
                return true;
            }
            return self.make_new(Ty::Block);
        };
        let text = self.text(&path);
        match self.random.below(8) {
            0 => self.line(format!("{t}_E_ck({text});")),
            1 => self.line(format!("{t}_E_look({text});")),
            2 => self.line(format!("{t}_E_bump({text});")),
            3 => self.move_through(&path, &format!("{t}_E_pass")),
            4 => self.move_through(&path, ""),
            // Who sends may wait.
            5 | 6 if self.slot_cursors > 0 => return false,
            5 => {
                let through = ["send", "box"][self.random.below(2) as usize];
                self.move_through(&path, &format!("{t}_E_{through}"));
            }
            6 => {
                self.line(format!("{t}_E_lose({text});"));
                self.set_st(&path, St::Moved);
            }
            _ => {
                let Some((a, b)) = self.two(Ty::Block) else { return false };
                let (a, b) = (self.text(&a), self.text(&b));
                self.line(format!("{a} :=: {b};"));
            }
        }
        true
    }

    // ---- outlives

    /// A variable of a plain pointer whose region outlives another.
    pub fn outliving(&mut self, region: usize) -> Option<usize> {
        self.some_var(|b, v| matches!(v.ty, Ty::Plain(o) if b.outlives(o, region) && b.regions[o].is_live()))
    }

    fn low_statement(&mut self) -> bool {
        let t = self.types.tag.clone();
        let found = self.some_var(|b, v| matches!(v.ty, Ty::Low(i) if b.regions[i].is_live()));
        let Some(n) = found.filter(|_| self.random.chance(75)) else {
            let found: Vec<usize> = (1..self.regions.len()).filter(|&r| self.regions[r].handle.is_some()).collect();
            if found.is_empty() {
                return false;
            }
            let r = *self.random.pick(&found);
            let (x, handle) = (self.name("low"), self.handle(r).unwrap_or_default());
            let to = self.outliving(r).map_or("nullptr".into(), |n| self.vars[n].name.clone());
            let word = self.declared(Ty::Low(r), &x);
            self.line(format!("{word} = new({handle}) struct {t}_L{{ .id = fresh(), .sum = mix(ids), .to = {to} }};"));
            self.declare(x, Ty::Low(r), St::Live);
            return true;
        };
        let Ty::Low(i) = self.vars[n].ty else { return false };
        let x = self.vars[n].name.clone();
        match self.random.below(8) {
            0 | 1 => self.line(format!("{t}_L_ck({x});")),
            2 => {
                let Some(m) = self.outliving(i) else { return false };
                let from = self.vars[m].name.clone();
                self.line(format!("{x}->to = {from};"));
            }
            3 => {
                let Some(m) = self.outliving(i) else { return false };
                let from = self.vars[m].name.clone();
                self.line(format!("{t}_lower({x}, {from});"));
            }
            4 => {
                let Some(m) = self.outliving(i) else { return false };
                let (from, y, at) = (self.vars[m].name.clone(), self.name("p"), self.regions[i].name.clone());
                self.line(format!("struct {t}_N *@{at} {y} = {t}_as({from}, {x});"));
                self.declare(y, Ty::Plain(i), St::Live);
            }
            5 => {
                let found =
                    self.some_var(|b, v| matches!(v.ty, Ty::Low(j) if b.outlives(i, j) && b.regions[j].is_live()));
                let (Some(m), Some(low)) = (self.outliving(i), found) else { return false };
                let (from, low) = (self.vars[m].name.clone(), self.vars[low].name.clone());
                self.line(format!("{t}_chain({from}, {x}, {low});"));
            }
            6 => {
                let Some(m) = self.some_var(|_, v| v.ty == Ty::Low(i)) else { return false };
                let y = self.vars[m].name.clone();
                self.line(format!("{x}->next = {y};"));
            }
            _ => {
                let target = self.some_var(|b, v| match v.ty {
                    Ty::List(r) => b.handle(r).is_some() && matches!(b.regions[r].kind, Kind::Arena | Kind::ParamArena),
                    _ => false,
                });
                let source = self.some_var(|b, v| matches!(v.ty, Ty::List(r) if b.regions[r].is_live()));
                let (Some(target), Some(source)) = (target, source) else { return false };
                let Ty::List(r) = self.vars[target].ty else { return false };
                let (rest, from, y) = (self.vars[target].name.clone(), self.vars[source].name.clone(), self.name("x"));
                let (handle, word) = (self.handle(r).unwrap_or_default(), self.declared(Ty::List(r), &y));
                self.line(format!("{word} = {t}_copy({handle}, {from}, {rest});"));
                self.declare(y, Ty::List(r), St::Live);
            }
        }
        true
    }

    // ---- generic lists

    fn cell_statement(&mut self) -> bool {
        if self.random.chance(25) {
            return self.hold_statement();
        }
        let t = self.types.tag.clone();
        let found = self.movable(|ty| matches!(ty, Ty::Cells(_)));
        let Some(path) = found.filter(|_| self.random.chance(80)) else {
            let p = self.some_record();
            let elem = match self.random.below(3) {
                0 if self.types.families.unions => Elem::Variant,
                1 => Elem::Rc(p),
                _ => Elem::Unique(p),
            };
            return self.make_new(Ty::Cells(elem));
        };
        let Ty::Cells(elem) = self.ty(&path) else { return false };
        let text = self.text(&path);
        match self.random.below(8) {
            0 | 1 => {
                let given = self.movable(|ty| ty == elem.ty()).filter(|g| !self.vars[g.root].is_place);
                let value = match given {
                    Some(given) => {
                        self.set_st(&given, St::Moved);
                        self.text(&given)
                    }
                    None => self.fresh(elem.ty()),
                };
                self.line(format!("{t}_push(&{text}, {value});"));
            }
            2 => {
                let (x, new) = (self.name("m"), self.fresh(elem.ty()));
                let word = self.declared(elem.ty(), &x);
                self.line(format!("{word} = {t}_swap({text}, {new});"));
                self.declare(x, elem.ty(), St::Live);
            }
            3 => self.line(format!("use({t}_count({text}));")),
            4 => {
                let end = match elem {
                    Elem::Unique(p) => format!("drop_{}", self.types.name(p)),
                    Elem::Variant => format!("{t}_V_free"),
                    Elem::Rc(_) => return false,
                };
                self.line(format!("{t}_end({text}, {end});"));
                self.set_st(&path, St::Moved);
            }
            5 => self.move_through(&path, &format!("{t}_turn")),
            6 => {
                let new = self.fresh(Ty::Cells(elem));
                let x = self.name("m");
                let word = self.declared(Ty::Cells(elem), &x);
                self.line(format!("{word} = {t}_append({text}, {new});"));
                self.set_st(&path, St::Moved);
                self.declare(x, Ty::Cells(elem), St::Live);
            }
            _ => {
                let Some((a, b)) = self.two(elem.ty()) else { return false };
                if !a.steps.is_empty() || !b.steps.is_empty() || self.vars[a.root].is_lent || self.vars[b.root].is_lent
                {
                    return false;
                }
                let (a, b) = (self.text(&a), self.text(&b));
                self.line(format!("{t}_trade(&{a}, &{b});"));
                // What a call did to a slot is not known.
            }
        }
        true
    }

    fn hold_statement(&mut self) -> bool {
        let t = self.types.tag.clone();
        let found = self.movable(|ty| matches!(ty, Ty::Hold(_)));
        let Some(path) = found.filter(|_| self.random.chance(75)) else {
            let is_counted = self.random.chance(50);
            return self.make_new(Ty::Hold(is_counted));
        };
        let (ty, text) = (self.ty(&path), self.text(&path));
        let Ty::Hold(is_counted) = ty else { return false };
        match self.random.below(4) {
            0 => self.line(format!("use({t}_held_id(&{text}));")),
            1 => {
                let Some((a, b)) = self.two(ty) else { return false };
                let (a, b) = (self.text(&a), self.text(&b));
                self.line(format!("{t}_deal(&{a}, &{b});"));
            }
            2 => self.move_through(&path, ""),
            _ => {
                let x = self.name("n");
                let (own, end) = if is_counted { ("rc", "release") } else { ("unique", "free") };
                self.line(format!("struct {t}_N *{own} {x} = {t}_held({text});"));
                self.set_st(&path, St::Moved);
                self.line(format!("ck_{t}_N({x});"));
                self.line(format!("{end}({x});"));
            }
        }
        true
    }

    /// What is in an arena of its own, for a parameter that wants it.
    pub fn provide_low(&mut self) {
        let t = self.types.tag.clone();
        let (r, x, p) = (self.name("r"), self.name("low"), self.name("p"));
        let place = self.random.chance(75);
        self.line(format!("arena {r};"));
        let n = self.add_region(r.clone(), Kind::Arena, Some(r.clone()));
        let (from, region) = if place { (format!("({r})"), n) } else { (String::new(), HEAP) };
        let at = self.regions[region].name.clone();
        self.line(format!("struct {t}_N *@{at} {p} = new{from} struct {t}_N{{ .id = fresh(), .sum = mix(ids) }};"));
        self.declare(p, Ty::Plain(region), St::Live);
        let word = self.declared(Ty::Low(n), &x);
        self.line(format!("{word} = new({r}) struct {t}_L{{ .id = fresh(), .sum = mix(ids) }};"));
        self.declare(x, Ty::Low(n), St::Live);
    }

    /// Something lent to one user, whole.
    pub fn lent_whole(&mut self, ty: Ty) -> Option<Path> {
        self.lendable(Lending::Exclusive, |t| t == ty)
    }
}
