//! Owners in containers in arenas: lists of the program's own and the library's vectors, whose
//! elements own something in the container's region.

use crate::body::Body;
use crate::families::Part;
use crate::model::{KeyKind, Kind, St, Ty};

/// Lists of what is owned in the list's region, by functions for every such region.
pub const STORES: Part = (
    "generic <T: move> struct $_node<@r> { T value; struct $_node<T, @r> *unique @r next; };
generic <T: move @r> static void $_store(arena r, struct $_node<T, @r> *unique @r *list, consume T x) {
    struct $_node<T, @r> *unique @r n = new(r) struct $_node<T, @r>{ .value = x };
    n->next :=: *list;
    *list = n;
}
generic <T: move @r> static T $_instead(struct $_node<T, @r> *list, consume T x) {
    x :=: list->value;
    return x;
}
generic <T: move @r> static struct $_node<T, @r> *unique @r $_back(consume struct $_node<T, @r> *unique @r l) {
    struct $_node<T, @r> *unique @r out = nullptr;
    while (l) {
        struct $_node<T, @r> *unique @r next = l->next;
        l->next = out;
        out = l;
        l = next;
    }
    return out;
}
generic <T: move @r> static long $_stored(const struct $_node<T, @r> *view l) {
    long n = 0;
    for (; l; l = l->next) n++;
    return n;
}
generic <T: move @r> static void $_shift(struct vec<T, @r> *a, struct vec<T, @r> *b) {
    *a :=: *b;
    vec_reverse(a);
}
",
    "",
);

impl Body<'_> {
    /// The type of the elements in a region's containers.
    pub fn stored(&self, region: usize) -> String {
        format!("struct {}_Q<@{at}> *unique @{at}", self.types.tag, at = self.regions[region].name)
    }

    /// A region where objects may own others.
    fn store_region(&mut self) -> Option<usize> {
        let found: Vec<usize> = (1..self.regions.len())
            .filter(|&n| self.regions[n].handle.is_some())
            .filter(|&n| !matches!(self.regions[n].kind, Kind::Key(KeyKind::Exchange)))
            .collect();
        (!found.is_empty()).then(|| *self.random.pick(&found))
    }

    /// One statement with containers in arenas.
    pub fn store_statement(&mut self) -> bool {
        match self.random.below(5) {
            0 => self.new_store(),
            1 | 2 => self.list_of_owners(),
            _ => self.row_of_owners(),
        }
    }

    fn new_store(&mut self) -> bool {
        let Some(r) = self.store_region() else { return false };
        if self.random.chance(50) {
            let x = self.name("row");
            self.line(format!("struct vec<{}, @{}> {x} = {{}};", self.stored(r), self.regions[r].name));
            self.declare(x, Ty::Row(r), St::Live);
            return true;
        }
        let x = self.name("st");
        let (word, new) = (self.declared(Ty::Stored(r), &x), self.fresh(Ty::Stored(r)));
        self.line(format!("{word} = {new};"));
        self.declare(x, Ty::Stored(r), St::Live);
        true
    }

    /// Something owned in the region: what there is, or new.
    fn for_store(&mut self, region: usize) -> String {
        match self.movable(|ty| ty == Ty::Queue(region)) {
            Some(path) if self.random.chance(60) => {
                self.set_st(&path, St::Moved);
                self.text(&path)
            }
            _ => self.fresh(Ty::Queue(region)),
        }
    }

    fn list_of_owners(&mut self) -> bool {
        let t = self.types.tag.clone();
        let Some(path) = self.movable(|ty| matches!(ty, Ty::Stored(_))) else { return false };
        let ty = self.ty(&path);
        let Ty::Stored(r) = ty else { return false };
        let Some(handle) = self.handle(r) else { return false };
        let text = self.text(&path);
        match self.random.below(8) {
            0 | 1 if path.steps.is_empty() => {
                let x = self.for_store(r);
                // The address of a path is taken: what it held may be null afterwards.
                self.line(format!("{t}_store({handle}, &{text}, {x});"));
                self.set_st(&path, St::Maybe);
            }
            2 => {
                let (x, y) = (self.for_store(r), self.name("q"));
                let word = self.declared(Ty::Queue(r), &y);
                self.line(format!("{word} = {t}_instead({text}, {x});"));
                self.declare(y, Ty::Queue(r), St::Maybe);
            }
            3 => {
                self.line(format!("use({t}_stored({text}));"));
                self.line(format!("if ({text}->value) ck_{t}_Q({text}->value);"));
            }
            4 => {
                let x = self.name("st");
                let word = self.declared(ty, &x);
                self.line(format!("{word} = {t}_back({text});"));
                self.set_st(&path, St::Moved);
                self.declare(x, ty, St::Live);
            }
            5 => {
                // Takes it apart: the values are used, the nodes go back if they can.
                let (v, next) = (self.name("q"), self.name("n"));
                let element = self.stored(r);
                let word = self.declared(ty, &next);
                self.open(format!("while ({text}) {{"));
                self.line(format!("{element} {v} = {text}->value;"));
                self.line(format!("{word} = {text}->next;"));
                self.line(format!("if ({v}) ck_{t}_Q({v});"));
                if self.regions[r].is_reap() && self.random.chance(70) {
                    self.line(format!("rfree({handle}, {text});"));
                    self.line(format!("rfree({handle}, {v});"));
                }
                self.line(format!("{text} = {next};"));
                self.pop();
                self.line("}");
                self.set_st(&path, St::Maybe);
            }
            6 => {
                let Some((a, b)) = self.two(ty) else { return false };
                let (a, b) = (self.text(&a), self.text(&b));
                self.line(format!("{a} :=: {b};"));
            }
            _ => {
                let x = self.for_store(r);
                let new = format!("new({handle}) struct {t}_node<{}, @{}>", self.stored(r), self.regions[r].name);
                let y = self.name("st");
                let word = self.declared(ty, &y);
                self.line(format!("{word} = {new}{{ .value = {x}, .next = {text} }};"));
                self.set_st(&path, St::Moved);
                self.declare(y, ty, St::Live);
            }
        }
        true
    }

    fn row_of_owners(&mut self) -> bool {
        let t = self.types.tag.clone();
        let found = self.some_var(|b, v| matches!(v.ty, Ty::Row(r) if b.handle(r).is_some()));
        let Some(n) = found else { return false };
        let Ty::Row(r) = self.vars[n].ty else { return false };
        let (v, handle) = (self.vars[n].name.clone(), self.handle(r).unwrap_or_default());
        let is_reap = self.regions[r].is_reap();
        let how = if is_reap { "reap" } else { "in" };
        let i = self.name("i");
        match self.random.below(9) {
            0..=2 => {
                let x = self.for_store(r);
                self.line(format!("vec_push_{how}({handle}, &{v}, {x});"));
            }
            3 => {
                let element = self.stored(r);
                self.open(format!("if ({v}.length) {{"));
                self.line(format!("{element} {i} = vec_pop(&{v});"));
                self.line(format!("if ({i}) ck_{t}_Q({i});"));
                if is_reap && self.random.chance(50) {
                    self.line(format!("rfree({handle}, {i});"));
                } else if self.random.chance(50) {
                    self.line(format!("vec_insert_{how}({handle}, &{v}, 0, {i});"));
                }
                self.pop();
                self.line("}");
            }
            4 => self.line(format!(
                "for (size_t {i} = 0; {i} < {v}.length; {i}++) if ({v}.items[{i}]) use({v}.items[{i}]->id);"
            )),
            5 => {
                let new = self.fresh(Ty::Queue(r));
                self.line(format!("if ({v}.length) vec_set(&{v}, fresh() % {v}.length, {new});"));
            }
            6 => {
                let Some(path) = self.movable(|ty| ty == Ty::Queue(r)) else { return false };
                let text = self.text(&path);
                self.line(format!("if ({v}.length) {text} :=: {v}.items[{v}.length - 1];"));
                self.set_st(&path, St::Maybe);
            }
            7 => {
                let Some(m) = self.some_var(|_, other| other.ty == Ty::Row(r)).filter(|m| *m != n) else {
                    return false;
                };
                let other = self.vars[m].name.clone();
                self.line(format!("{t}_shift(&{v}, &{other});"));
            }
            _ => self.line(format!("vec_clear(&{v});")),
        }
        true
    }
}
