//! Slots that are not reached through a pointer: globals, arrays of owned values, out-parameters;
//! counted objects; words in slots, which functions of C get as arguments; initialisers that are
//! left.

use crate::body::Body;
use crate::families::Part;
use crate::model::{St, Ty};
use crate::types::Holds;

/// Owned words in slots.
pub const WORDS: Part = (
    "struct $_word { char *unique null_terminated text; long n; };
static char *unique null_terminated $_said;
static struct $_word $_words[3];
static void $_word_set(struct $_word *w) {
    w->text = fresh() & 1 ? strdup(\"one\") : strdup(\"another\");
    w->n = (long)strlen(w->text);
}
static void $_word_ck(struct $_word *w) {
    if (w->text && strlen(w->text) != (unsigned long)w->n) bad(__LINE__);
    if (w->text) use(w->text[0]);
}
static void $_word_add(struct $_word *w) {
    if (!w->text) return;
    char room[40] = {};
    snprintf(room, sizeof room, \"%s+%ld\", w->text, w->n);
    w->text = strdup(room);
    w->n = (long)strlen(room);
}
",
    "",
);

impl Body<'_> {
    /// One statement with globals, arrays, out-parameters.
    pub fn slot_statement(&mut self) -> bool {
        let t = self.types.tag.clone();
        match self.random.below(8) {
            6 => self.array_in_value(),
            7 => self.left_initialiser(),
            0 => {
                let p = self.some_record();
                let counted = self.random.chance(30);
                let ty = if counted { Ty::Rc(p) } else { Ty::Unique(p) };
                let stem = if counted { "gc" } else { "g" };
                self.slot(&format!("{t}_{stem}{p}"), ty)
            }
            1 => {
                let p = self.some_record();
                let i = self.small(3);
                self.slot(&format!("{t}_ga{p}[{i}]"), Ty::Unique(p))
            }
            2 => self.array(),
            3 => self.rows(),
            _ => {
                let found = self.some_var(|_, v| matches!(v.ty, Ty::Out(_) | Ty::Many(..)));
                let Some(n) = found else { return false };
                let name = self.vars[n].name.clone();
                match self.vars[n].ty {
                    Ty::Out(p) => self.slot(&format!("*{name}"), Ty::Unique(p)),
                    Ty::Many(p, size) => {
                        let j = self.name("j");
                        self.line(format!("int {j} = fresh() % {size};"));
                        self.slot(&format!("{name}[{j}]"), Ty::Unique(p))
                    }
                    _ => false,
                }
            }
        }
    }

    /// One statement with words in slots.
    pub fn word_statement(&mut self) -> bool {
        let t = self.types.tag.clone();
        let j = self.name("j");
        let slot = match self.random.below(3) {
            0 => {
                self.line(format!("int {j} = fresh() % 3;"));
                format!("{t}_words[{j}]")
            }
            1 => {
                let w = self.name("w");
                self.line(format!("struct {t}_word *{w} = new struct {t}_word{{ strdup(\"new\"), 3 }};"));
                format!("(*{w})")
            }
            _ => {
                let w = self.name("w");
                self.line(format!("struct {t}_word {w}[2] = {{ {{ strdup(\"there\"), 5 }} }};"));
                format!("{w}[fresh() & 1]")
            }
        };
        match self.random.below(7) {
            0 => self.line(format!("{t}_word_set(&{slot});")),
            1 => self.line(format!("{t}_word_ck(&{slot});")),
            2 => self.line(format!("{t}_word_add(&{slot});")),
            3 => {
                self.line(format!("{t}_said = strdup(\"said\");"));
                self.line(format!("use((long)strlen({t}_said) + strcmp({t}_said, \"sail\"));"));
            }
            4 => {
                let z = self.name("z");
                self.line(format!("char *unique null_terminated {z} = nullptr;"));
                self.line(format!("{z} :=: {t}_said;"));
                self.line(format!("if ({z}) use((long)strlen({z}));"));
                self.line(format!("free({z});"));
            }
            5 => {
                let n = self.random.between(1, 4);
                self.line(format!("for (int i{j} = 0; i{j} < {n}; i{j}++) {{"));
                self.line(format!("    {t}_said = {t}_said && fresh() & 1 ? strdup({t}_said) : strdup(\"again\");"));
                self.line("}");
            }
            _ => self.line(format!("{t}_said = nullptr;")),
        }
        true
    }

    /// An array of owners in a struct that is a local.
    fn array_in_value(&mut self) -> bool {
        let array = |b: &Body, ty: Ty| match ty {
            Ty::Val(p) => b.types.records[p].fields.iter().find_map(|f| match f.holds {
                Holds::Many(k, size) => Some((f.name.clone(), k, size)),
                _ => None,
            }),
            _ => None,
        };
        let found = self.some(|b, p| b.own(p).st == St::Live && b.is_free(p) && array(b, b.ty(p)).is_some());
        let Some(path) = found else { return false };
        let Some((field, k, size)) = array(self, self.ty(&path)) else { return false };
        let (text, j) = (self.text(&path), self.name("j"));
        self.line(format!("int {j} = fresh() % {size};"));
        self.slot(&format!("{text}.{field}[{j}]"), Ty::Unique(k))
    }

    /// A loop whose initialisers are left in the middle: what was made so far is dropped.
    fn left_initialiser(&mut self) -> bool {
        if self.trips > 4 {
            return false;
        }
        let (p, x, i) = (self.some_record(), self.name("h"), self.name("i"));
        let of = self.types.name(p).to_string();
        let size = self.random.between(2, 4);
        let (word, condition) = (["break", "continue"][self.random.below(2) as usize], self.condition());
        let at = self.random.below(size);
        let parts: Vec<String> = (0..size)
            .map(|n| match n == at {
                true => format!("({{ if ({condition}) {word}; mk_{of}(0); }})"),
                false => format!("mk_{of}({})", n & 1),
            })
            .collect();
        self.open(format!("for (int {i} = 0; {i} < 3; {i}++) {{"));
        self.line(format!("struct {of} *unique {x}[{size}] = {{ {} }};", parts.join(", ")));
        self.line(format!("use({x}[{}]->id + {x}[0]->id);", size - 1));
        self.pop();
        self.line("}");
        self.cost += 3 * size * self.trips;
        true
    }

    /// A local array, which frees what it holds.
    fn array(&mut self) -> bool {
        let (p, size) = (self.some_record(), self.random.between(2, 5) as usize);
        let (x, i, of) = (self.name("h"), self.name("i"), self.types.name(p).to_string());
        self.line(format!("struct {of} *unique {x}[{size}] = {{}};"));
        if self.random.chance(70) {
            self.line(format!("for (int {i} = 0; {i} < {}; {i}++) {x}[{i} % {size}] = mk_{of}({i} & 1);", size + 2));
        }
        self.declare(x, Ty::Many(p, size), St::Live);
        true
    }

    /// An array of owners in the heap.
    fn rows(&mut self) -> bool {
        let (p, size) = (self.some_record(), self.random.between(1, 6));
        let (x, i, of) = (self.name("rows"), self.name("i"), self.types.name(p).to_string());
        self.line(format!("struct {of} *unique *fat unique {x} = new struct {of} *unique[{size}];"));
        self.line(format!("for (int {i} = 0; {i} < {size}; {i}++) if ({i} % 3 != 1) {x}[{i}] = mk_{of}(1);"));
        let z = self.name("z");
        self.line(format!("struct {of} *unique {z} = nullptr;"));
        self.line(format!("{z} :=: {x}[{}];", size - 1));
        self.line(format!("if ({x}[0]) use({x}[0]->id);"));
        self.line(format!("free({x});"));
        self.declare(z, Ty::Unique(p), St::Maybe);
        true
    }

    /// One statement with counted pointers.
    pub fn counted_statement(&mut self) -> bool {
        let choice = self.random.below(8);
        if choice < 2 {
            let p = self.some_record();
            let (x, of, d) = (self.name("r"), self.types.name(p).to_string(), self.small(3));
            if self.random.chance(50) {
                self.line(format!("struct {of} *rc {x} = mkc_{of}({d});"));
            } else {
                let inside = self.types.initialiser(p, "1");
                self.line(format!("struct {of} *rc {x} = new rc struct {of}{{ {inside} }};"));
            }
            self.declare(x, Ty::Rc(p), St::Live);
            return true;
        }
        let found = self
            .some(|b, q| matches!(b.ty(q), Ty::Rc(p) if p != usize::MAX) && b.own(q).st == St::Live && b.may_look(q));
        let Some(path) = found else { return false };
        let Ty::Rc(p) = self.ty(&path) else { return false };
        let (text, of) = (self.text(&path), self.types.name(p).to_string());
        let is_unlent = !self.pins.iter().any(|pin| pin.path.is_related(&path));
        match choice {
            2 | 3 => {
                let x = self.name("r");
                self.line(format!("struct {of} *rc {x} = retain({text});"));
                self.declare(x, Ty::Rc(p), St::Live);
                true
            }
            4 if self.is_free(&path) => {
                self.line(format!("release({text});"));
                self.set_st(&path, St::Moved);
                true
            }
            5 if is_unlent => {
                self.line(format!("ck_{of}({text});"));
                true
            }
            _ if is_unlent => self.slot_behind(&text, p),
            _ => false,
        }
    }

    /// One statement with generics over ownership.
    pub fn generic_statement(&mut self) -> bool {
        let t = self.types.tag.clone();
        match self.random.below(6) {
            0 => {
                let p = self.some_record();
                let given = self.movable(|ty| ty == Ty::Unique(p));
                let x = self.name("box");
                let word = self.declared(Ty::Boxed(p), &x);
                let value = match given {
                    Some(path) => {
                        let text = self.text(&path);
                        self.set_st(&path, St::Moved);
                        text
                    }
                    None => self.fresh(Ty::Unique(p)),
                };
                if self.random.chance(50) {
                    self.line(format!("{word} = {{ {value}, fresh() }};"));
                } else {
                    self.line(format!("{word} = {t}_put({value});"));
                }
                let n = self.declare(x, Ty::Boxed(p), St::Live);
                self.set_st(&crate::model::Path::var(n).field(0), St::Live);
                true
            }
            1 => {
                let Some(path) = self.movable(|ty| matches!(ty, Ty::Boxed(_))) else { return false };
                let Ty::Boxed(p) = self.ty(&path) else { return false };
                let (text, x) = (self.text(&path), self.name("m"));
                let word = self.declared(Ty::Unique(p), &x);
                let through = if self.random.chance(50) {
                    format!("{t}_unbox({text})")
                } else {
                    format!("{t}_unbox({t}_pass({text}))")
                };
                self.line(format!("{word} = {through};"));
                self.set_st(&path, St::Moved);
                self.declare(x, Ty::Unique(p), St::Maybe);
                true
            }
            2 => {
                let found = self.movable(|ty| matches!(ty, Ty::Unique(_) | Ty::Rc(_)) && ty != Ty::Rc(usize::MAX));
                let Some(path) = found else { return false };
                let (ty, text, x) = (self.ty(&path), self.text(&path), self.name("m"));
                let word = self.declared(ty, &x);
                self.line(format!("{word} = {t}_pass({text});"));
                self.set_st(&path, St::Moved);
                self.declare(x, ty, St::Live);
                true
            }
            3 => {
                let p = self.some_record();
                let (x, of) = (self.name("box"), self.types.name(p).to_string());
                let new = self.fresh(Ty::Unique(p));
                self.line(format!("struct {t}_box<struct {of} *unique> *unique {x} = {t}_lift({t}_put({new}));"));
                self.line(format!("use({x}->value->id);"));
                self.line(format!("free({x});"));
                true
            }
            4 => {
                let x = self.name("hold");
                let (word, new, end) = match self.random.below(3) {
                    0 => ("unique", format!("new struct {t}_N"), format!("free({x}.p);")),
                    1 => ("rc", format!("new rc struct {t}_N"), format!("release({x}.p);")),
                    _ => ("shared", format!("new struct {t}_N"), String::new()),
                };
                if word == "shared" {
                    return false;
                }
                self.line(format!(
                    "struct {t}_hold<{word}> {x} = {{ fresh(), {new}{{ .id = ids, .sum = mix(ids) }} }};"
                ));
                self.line(format!("use({t}_held_id(&{x}));"));
                self.line(end);
                true
            }
            _ => {
                // Through a slot of a caller's kind: the address of an owned variable.
                let found = self.some(|b, q| {
                    q.steps.is_empty()
                        && matches!(b.ty(q), Ty::Unique(_))
                        && b.own(q).st != St::Moved
                        && b.own(q).is_whole()
                        && b.is_free(q)
                });
                let Some(path) = found else { return false };
                let (ty, text, x) = (self.ty(&path), self.text(&path), self.name("m"));
                let new = self.fresh(ty);
                let word = self.declared(ty, &x);
                self.line(format!("{word} = {t}_first({new}, &{text});"));
                self.declare(x, ty, St::Maybe);
                self.set_st(&path, St::Maybe);
                true
            }
        }
    }
}
