//! Statements over unique pointers and structs that own.

use crate::body::Body;
use crate::model::{Path, St, Ty};
use crate::types::Holds;

impl Body<'_> {
    /// Whether the path is a counted field of the record's own type: only what is new is put there,
    /// so that counted objects form no cycles.
    pub fn is_ring(&self, path: &Path) -> bool {
        let Some((_, above)) = path.steps.split_last() else { return false };
        let above = Path { root: path.root, steps: above.to_vec() };
        match (self.ty(&above), self.ty(path)) {
            (Ty::Unique(p) | Ty::Val(p), Ty::Rc(q)) => p == q,
            _ => false,
        }
    }
}

fn is_pointer(ty: Ty) -> bool {
    matches!(ty, Ty::Unique(_)) || matches!(ty, Ty::Rc(p) if p != usize::MAX)
}

impl Body<'_> {
    /// One statement that moves, makes, takes apart or frees.
    pub fn unique_statement(&mut self) -> bool {
        match self.random.below(18) {
            0..=2 => self.make(),
            3 => self.give(),
            4 | 5 => self.move_on(),
            6 | 7 => self.exchange(),
            8 => self.take_part(),
            9 => self.put_part(),
            10 | 11 => self.look(),
            12 => self.share(),
            13 => self.write_numbers(),
            14 => self.value(),
            15 => self.pop_list(),
            16 => self.long_list(),
            _ => self.raw_memory(),
        }
    }

    /// A new variable.
    fn make(&mut self) -> bool {
        let p = self.some_record();
        let (x, of) = (self.name("u"), self.types.name(p).to_string());
        let d = self.small(4);
        let word = self.declared(Ty::Unique(p), &x);
        let (text, st) = match self.random.below(9) {
            0 => (format!("{word} = nullptr;"), St::Null),
            1 => (format!("{word} = may_{of}({d});"), St::Maybe),
            2 => {
                let condition = self.condition();
                (format!("{word} = {condition} ? mk_{of}({d}) : nullptr;"), St::Maybe)
            }
            3 => {
                let condition = self.condition();
                (format!("{word} = {condition} ? mk_{of}(0) : mk_{of}({d});"), St::Live)
            }
            4 => {
                let inside = self.types.initialiser(p, "1");
                (format!("{word} = new struct {of}{{ {inside} }};"), St::Live)
            }
            5 => {
                let inside = self.types.initialiser(p, "0");
                (format!("{word} = new? struct {of}{{ {inside} }};"), St::Maybe)
            }
            _ => (format!("{word} = mk_{of}({d});"), St::Live),
        };
        self.line(text);
        self.declare(x, Ty::Unique(p), st);
        true
    }

    fn give(&mut self) -> bool {
        let found = self.some(|b, p| {
            let own = b.own(p);
            let ty = b.ty(p);
            matches!(own.st, St::Live | St::Maybe)
                && b.is_free(p)
                && matches!(ty, Ty::Unique(_) | Ty::Rc(_))
                && ty != Ty::Rc(usize::MAX)
        });
        let Some(path) = found else { return false };
        self.drop_path(&path);
        true
    }

    /// To a new variable, or one that has nothing.
    fn move_on(&mut self) -> bool {
        let Some(from) = self.movable(|t| is_pointer(t) || matches!(t, Ty::Val(_) | Ty::Pack)) else { return false };
        let (ty, text) = (self.ty(&from), self.text(&from));
        if ty == Ty::Pack && !from.steps.is_empty() {
            return false;
        }
        let empty = self.some(|b, p| {
            b.ty(p) == ty
                && matches!(b.own(p).st, St::Moved | St::Null)
                && b.is_free(p)
                && !p.is_related(&from)
                && !b.is_ring(p)
        });
        match empty {
            Some(to) if self.random.chance(60) => {
                let to_text = self.text(&to);
                self.line(format!("{to_text} = {text};"));
                self.set_st(&to, St::Live);
            }
            _ => {
                let x = self.name("m");
                let word = self.declared(ty, &x);
                self.line(format!("{word} = {text};"));
                self.declare(x, ty, St::Live);
            }
        }
        self.set_st(&from, St::Moved);
        true
    }

    /// `a :=: b`.
    fn exchange(&mut self) -> bool {
        let fits = |b: &Body, p: &Path| {
            let own = b.own(p);
            is_pointer(b.ty(p)) && own.st != St::Moved && own.is_whole() && b.is_free(p) && !b.is_ring(p)
        };
        let Some(a) = self.some(fits) else { return false };
        let ty = self.ty(&a);
        let Some(b) = self.some(|b, p| fits(b, p) && b.ty(p) == ty && !p.is_related(&a)) else { return false };
        let (x, y) = (self.text(&a), self.text(&b));
        self.line(format!("{x} :=: {y};"));
        let (sx, sy) = (self.own(&a).st, self.own(&b).st);
        self.set_st(&a, sy);
        self.set_st(&b, sx);
        // What is known of null goes along, but need not.
        for path in [a, b] {
            if self.own(&path).st == St::Null {
                self.set_st(&path, St::Maybe);
            }
        }
        true
    }

    /// Something owned below: into a variable.
    fn take_part(&mut self) -> bool {
        let found = self.some(|b, p| {
            let own = b.own(p);
            !p.steps.is_empty() && is_pointer(b.ty(p)) && own.st != St::Moved && own.is_whole() && b.is_free(p)
        });
        let Some(path) = found else { return false };
        let (ty, text, x) = (self.ty(&path), self.text(&path), self.name("t"));
        let word = self.declared(ty, &x);
        self.line(format!("{word} = {text};"));
        let st = if self.own(&path).st == St::Live { St::Live } else { St::Maybe };
        self.declare(x, ty, st);
        self.set_st(&path, St::Moved);
        if self.random.chance(40) {
            self.line(format!("{text} = nullptr;"));
            self.set_st(&path, St::Maybe);
        }
        true
    }

    /// Something new where something was taken out.
    fn put_part(&mut self) -> bool {
        let found = self.some(|b, p| b.own(p).st == St::Moved && is_pointer(b.ty(p)) && b.is_free(p) && b.reaches(p));
        let Some(path) = found else { return false };
        let (ty, text) = (self.ty(&path), self.text(&path));
        let given = self.movable(|t| t == ty).filter(|g| !g.is_related(&path));
        match given {
            Some(given) if self.random.chance(60) && !self.is_ring(&path) => {
                let from = self.text(&given);
                self.line(format!("{text} = {from};"));
                self.set_st(&given, St::Moved);
            }
            _ => {
                let new = self.fresh(ty);
                self.line(format!("{text} = {new};"));
            }
        }
        self.set_st(&path, St::Live);
        true
    }

    /// Whether what leads to the path lives.
    pub fn reaches(&self, path: &Path) -> bool {
        let mut above = Path::var(path.root);
        for &step in &path.steps {
            if self.own(&above).st != St::Live {
                return false;
            }
            above = above.field(step);
        }
        true
    }

    /// Reads and checks.
    pub fn look(&mut self) -> bool {
        let found =
            self.some(|b, p| b.own(p).st == St::Live && matches!(b.ty(p), Ty::Unique(_) | Ty::Rc(_)) && b.may_look(p));
        let Some(path) = found.filter(|p| self.ty(p) != Ty::Rc(usize::MAX)) else { return false };
        let (ty, text) = (self.ty(&path), self.text(&path));
        let (Ty::Unique(p) | Ty::Rc(p)) = ty else { return false };
        let of = self.types.name(p).to_string();
        let is_whole = self.own(&path).is_whole();
        let is_unlent = !self.pins.iter().any(|pin| pin.path.is_related(&path));
        match self.random.below(6) {
            0 if is_whole && is_unlent && matches!(ty, Ty::Unique(_)) => self.line(format!("use(walk_{of}({text}));")),
            1 if is_whole && is_unlent => self.line(format!("ck_{of}({text});")),
            2 if is_whole && is_unlent => self.line(format!("bump_{of}({text});")),
            3 => self.line(format!("if ({text} && {text}->id > 3 && {text}->sum != mix({text}->id)) bad(__LINE__);")),
            _ => self.line(format!("if ({text}->sum != mix({text}->id)) bad(__LINE__); else use({text}->id);")),
        }
        true
    }

    /// To the collector.
    fn share(&mut self) -> bool {
        let types = self.types;
        let Some(path) = self.movable(|t| matches!(t, Ty::Unique(p) if types.may_give(p))) else { return false };
        let Ty::Unique(p) = self.ty(&path) else { return false };
        if !path.steps.is_empty() && self.random.chance(50) {
            return false;
        }
        let (text, x) = (self.text(&path), self.name("s"));
        let t = self.types.tag.clone();
        self.line(format!("{t}_given += wits_{}({text});", self.types.name(p)));
        let word = self.declared(Ty::Heap(p), &x);
        self.line(format!("{word} = share({text});"));
        self.set_st(&path, St::Moved);
        self.declare(x, Ty::Heap(p), St::Live);
        true
    }

    fn write_numbers(&mut self) -> bool {
        let found = self.some(|b, p| b.own(p).st == St::Live && matches!(b.ty(p), Ty::Unique(_)) && b.is_free(p));
        let Some(path) = found else { return false };
        let text = self.text(&path);
        let Ty::Unique(p) = self.ty(&path) else { return false };
        let numbers = self.types.records[p].fields.iter().find_map(|f| match f.holds {
            Holds::Numbers(n) => Some((f.name.clone(), n)),
            _ => None,
        });
        match numbers {
            Some((field, n)) => {
                let value = self.small(100);
                self.line(format!("{text}->{field}[fresh() % {n}] += {value};"));
                self.line(format!("use({text}->{field}[{}]);", n - 1));
            }
            None => {
                self.line(format!("{text}->id = fresh();"));
                self.line(format!("{text}->sum = mix({text}->id);"));
            }
        }
        true
    }

    /// A struct with owners by value.
    fn value(&mut self) -> bool {
        let p = self.some_record();
        if !self.types.is_plain_value(p) {
            return false;
        }
        let (x, of) = (self.name("v"), self.types.name(p).to_string());
        let d = self.small(3);
        if self.random.chance(50) {
            self.line(format!("struct {of} {x} = val_{of}({d});"));
        } else {
            let inside = self.types.initialiser(p, "1");
            self.line(format!("struct {of} {x} = {{ {inside} }};"));
        }
        self.declare(x, Ty::Val(p), St::Live);
        true
    }

    /// Takes a list apart by a loop.
    fn pop_list(&mut self) -> bool {
        let found = self.some(|b, p| p.steps.is_empty() && b.is_whole_list(p));
        let Some(path) = found else { return false };
        let Ty::Unique(p) = self.ty(&path) else { return false };
        let Some(n) = self.list_field(p) else { return false };
        let (text, of, x) = (self.text(&path), self.types.name(p).to_string(), self.name("n"));
        let field = self.types.records[p].fields[n].name.clone();
        self.line(format!("while ({text}) {{"));
        self.line(format!("    struct {of} *unique {x} = {text}->{field};"));
        self.line(format!("    use({text}->id);"));
        self.line(format!("    free({text});"));
        self.line(format!("    {text} = {x};"));
        self.line("}");
        self.set_st(&path, St::Maybe);
        true
    }

    /// A list that is deep, whose end is one `free`.
    fn long_list(&mut self) -> bool {
        if self.trips > 2 {
            return false;
        }
        let p = self.some_record();
        let Some(n) = self.list_field(p) else { return false };
        let (of, x) = (self.types.name(p).to_string(), self.name("l"));
        let field = self.types.records[p].fields[n].name.clone();
        let (i, length) = (self.name("i"), self.random.between(2, 300));
        self.line(format!("struct {of} *unique {x} = nullptr;"));
        self.line(format!("for (int {i} = 0; {i} < {length}; {i}++) {{"));
        let e = self.name("e");
        self.line(format!("    struct {of} *unique {e} = mk_{of}(0);"));
        self.line(format!("    {e}->{field} :=: {x};"));
        self.line(format!("    {x} :=: {e};"));
        self.line(format!("    free({e});"));
        self.line("}");
        self.cost += self.trips * length;
        self.declare(x, Ty::Unique(p), St::Maybe);
        true
    }

    /// C's functions, and arrays.
    fn raw_memory(&mut self) -> bool {
        let (x, n) = (self.name("a"), self.random.between(1, 9));
        let more = n + self.small(20);
        let i = self.name("i");
        let first = match self.random.below(4) {
            0 => format!("long *{x} = malloc({n} * sizeof *{x});"),
            1 => format!("long *{x} = calloc({n}, sizeof(long));"),
            2 => format!("long *fat unique {x} = new long[{n}];"),
            _ => format!("long *{x} = malloc?({n} * sizeof(long));\nif (!{x}) return;"),
        };
        if first.contains("return") {
            // A failure would have to leave: that is a function of its own.
            return false;
        }
        self.line(first);
        self.line(format!("for (int {i} = 0; {i} < {n}; {i}++) {x}[{i}] = {i};"));
        if more > n && self.random.chance(60) {
            let y = self.name("a");
            self.line(format!("long *{y} = realloc({x}, {more} * sizeof *{y});"));
            self.line(format!("if ({y}[{}] != {}) bad(__LINE__);", n - 1, n - 1));
            self.line(format!("{y}[{}] = 1;", more - 1));
            self.line(format!("free({y});"));
        } else {
            self.line(format!("use({x}[{}]);", n - 1));
            self.line(format!("free({x});"));
        }
        true
    }
}
