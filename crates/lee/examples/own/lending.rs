//! Statements that lend: borrows, views, cursors, interior addresses, and what is done through
//! them; slots.

use crate::body::Body;
use crate::model::{Lending, Path, St, Ty};
use crate::types::Holds;

impl Body<'_> {
    /// One statement that lends, or uses what is lent.
    pub fn lending_statement(&mut self) -> bool {
        match self.random.below(12) {
            0 | 1 => self.borrow(),
            2 => self.view(),
            3 => self.implicit(),
            4 => self.address(),
            5 | 6 => self.cursor(),
            7 => self.picked(),
            8 => self.siblings(),
            _ => self.through(),
        }
    }

    fn scoped(&mut self, pins: Vec<(Path, Lending)>, declaration: String, declared: Option<(String, Ty)>) -> bool {
        self.open("{");
        self.line(declaration);
        for (path, how) in pins {
            self.pin(path, how);
        }
        if let Some((name, ty)) = declared {
            self.declare(name, ty, St::Live);
        }
        self.block(4);
        self.close("}");
        true
    }

    fn borrow(&mut self) -> bool {
        let found =
            self.lendable(Lending::Borrow, |t| matches!(t, Ty::Unique(_) | Ty::Rc(_)) && t != Ty::Rc(usize::MAX));
        let Some(path) = found else { return false };
        let (Ty::Unique(p) | Ty::Rc(p)) = self.ty(&path) else { return false };
        let (text, b) = (self.text(&path), self.name("b"));
        self.scoped(vec![(path, Lending::Borrow)], format!("borrow {b} = {text};"), Some((b, Ty::Borrow(p))))
    }

    fn view(&mut self) -> bool {
        let Some(path) = self.lendable(Lending::View, |t| matches!(t, Ty::Unique(_))) else { return false };
        let Ty::Unique(p) = self.ty(&path) else { return false };
        let (text, v, of) = (self.text(&path), self.name("w"), self.types.name(p).to_string());
        self.scoped(vec![(path, Lending::View)], format!("struct {of} *view {v} = {text};"), Some((v, Ty::View(p))))
    }

    /// A local without a word.
    fn implicit(&mut self) -> bool {
        let Some(path) = self.lendable(Lending::Exclusive, |t| matches!(t, Ty::Unique(_))) else { return false };
        let Ty::Unique(p) = self.ty(&path) else { return false };
        let (text, of) = (self.text(&path), self.types.name(p).to_string());
        let n = self.name("n");
        match self.list_field(p) {
            Some(f) if self.random.chance(60) => {
                let field = self.types.records[p].fields[f].name.clone();
                self.line(format!("for (struct {of} *{n} = {text}; {n}; {n} = {n}->{field}) {{"));
                self.line(format!("    if ({n}->sum != mix({n}->id)) bad(__LINE__); else use({n}->id);"));
                self.line("}");
                true
            }
            _ => self.scoped(
                vec![(path, Lending::Exclusive)],
                format!("struct {of} *{n} = {text}; {n}->id = fresh(); {n}->sum = mix({n}->id);"),
                Some((n, Ty::Borrow(p))),
            ),
        }
    }

    /// An address inside of what is owned.
    fn address(&mut self) -> bool {
        let Some(path) = self.lendable(Lending::Exclusive, |t| matches!(t, Ty::Unique(_))) else { return false };
        let Ty::Unique(p) = self.ty(&path) else { return false };
        let (text, a, of) = (self.text(&path), self.name("a"), self.types.name(p).to_string());
        let value = if self.random.chance(50) { format!("&{text}->id") } else { format!("at_{of}({text})") };
        self.open("{");
        self.line(format!("long *{a} = {value};"));
        self.pin(path, Lending::Exclusive);
        self.block(2);
        self.line(format!("if (*{a} > 3 * ids) bad(__LINE__); else use(*{a});"));
        self.close("}");
        true
    }

    /// A result that points into one of two arguments.
    fn picked(&mut self) -> bool {
        let Some(a) = self.lendable(Lending::Exclusive, |t| matches!(t, Ty::Unique(_))) else { return false };
        let ty = self.ty(&a);
        let Some(b) = self.lendable(Lending::Exclusive, |t| t == ty).filter(|b| !b.is_related(&a)) else {
            return false;
        };
        let Ty::Unique(p) = ty else { return false };
        let (x, y, n, of) = (self.text(&a), self.text(&b), self.name("p"), self.types.name(p).to_string());
        self.scoped(
            vec![(a, Lending::Exclusive), (b, Lending::Exclusive)],
            format!("struct {of} *{n} = pick_{of}({x}, {y}); bump_{of}({n});"),
            Some((n, Ty::Borrow(p))),
        )
    }

    /// One part is lent while another one moves.
    fn siblings(&mut self) -> bool {
        let found = self.movable(|t| matches!(t, Ty::Unique(_)));
        let Some(path) = found else { return false };
        let kids: Vec<usize> = self.kids(self.ty(&path));
        let pointers: Vec<Path> =
            kids.into_iter().map(|n| path.field(n)).filter(|k| matches!(self.ty(k), Ty::Unique(_))).collect();
        let [a, b, ..] = pointers.as_slice() else { return false };
        let (a, b) = (a.clone(), b.clone());
        let (Ty::Unique(p), Ty::Unique(q)) = (self.ty(&a), self.ty(&b)) else { return false };
        let (x, y, v, t) = (self.text(&a), self.text(&b), self.name("w"), self.name("t"));
        let (of, other) = (self.types.name(p).to_string(), self.types.name(q).to_string());
        self.open("{");
        self.line(format!("struct {of} *view {v} = {x};"));
        self.line(format!("struct {other} *unique {t} = {y};"));
        self.line(format!("{y} = nullptr;"));
        self.line(format!("use(walk_{of}({v}));"));
        self.line(format!("free({t});"));
        self.pop();
        self.line("}");
        self.set_st(&b, St::Maybe);
        true
    }

    /// Whether the path is a list of unique nodes, all there and not lent; it may be null.
    pub fn is_whole_list(&self, p: &Path) -> bool {
        let own = self.own(p);
        matches!(self.ty(p), Ty::Unique(k) if self.list_field(k).is_some())
            && matches!(own.st, St::Live | St::Maybe)
            && own.is_whole()
            && self.is_free(p)
    }

    /// The walk by the address of the pointer.
    fn cursor(&mut self) -> bool {
        let found = self.some(|b, p| b.is_whole_list(p));
        let Some(path) = found else { return false };
        let Ty::Unique(p) = self.ty(&path) else { return false };
        let text = self.text(&path);
        self.cursor_on(&text, p);
        self.set_st(&path, St::Maybe);
        true
    }

    /// Over a place that holds a list of a record.
    fn cursor_on(&mut self, text: &str, p: usize) {
        let Some(n) = self.list_field(p) else { return };
        let field = self.types.records[p].fields[n].name.clone();
        let (c, x, of) = (self.name("c"), self.name("x"), self.types.name(p).to_string());
        let modulus = self.random.between(2, 4);
        self.line("{");
        self.line(format!("    cursor {c} = &{text};"));
        self.line(format!("    while (*{c}) {{"));
        self.line(format!("        if ((*{c})->sum != mix((*{c})->id)) bad(__LINE__);"));
        match self.random.below(3) {
            0 => {
                self.line(format!("        if ((*{c})->id % {modulus} == 0) {{"));
                self.line(format!("            struct {of} *unique {x} = *{c};"));
                self.line(format!("            *{c} = {x}->{field};"));
                self.line(format!("            free({x});"));
                self.line("        } else {");
                self.line(format!("            {c} = &(*{c})->{field};"));
                self.line("        }");
            }
            1 => {
                self.line(format!("        if ((*{c})->id % {modulus} == 0) break;"));
                self.line(format!("        {c} = &(*{c})->{field};"));
                self.line("    }");
                self.line(format!("    if (!*{c}) {{"));
                self.line(format!("        *{c} = mk_{of}(0);"));
            }
            _ => {
                self.line(format!("        if ((*{c})->id % {modulus} == 1) {{"));
                self.line(format!("            struct {of} *unique {x} = mk_{of}(0);"));
                self.line(format!("            {x}->id *= {modulus};"));
                self.line(format!("            {x}->sum = mix({x}->id);"));
                self.line(format!("            if ({x}->{field}) {{ free({x}->{field}); {x}->{field} = nullptr; }}"));
                self.line(format!("            {x}->{field} :=: *{c};"));
                self.line(format!("            {x} :=: *{c};"));
                self.line(format!("            if ({x}) free({x});"));
                self.line("            break;");
                self.line("        }");
                self.line(format!("        {c} = &(*{c})->{field};"));
            }
        }
        self.line("    }");
        self.line("}");
    }

    /// Something is done through a pointer that does not own: fields behind it are slots.
    fn through(&mut self) -> bool {
        let found = self.some_var(|_, v| matches!(v.ty, Ty::Borrow(_) | Ty::Heap(_) | Ty::View(_) | Ty::Any(_)));
        let Some(n) = found else { return false };
        let (ty, x) = (self.vars[n].ty, self.vars[n].name.clone());
        let (Ty::Borrow(p) | Ty::Heap(p) | Ty::View(p) | Ty::Any(p)) = ty else { return false };
        let of = self.types.name(p).to_string();
        match ty {
            Ty::View(_) => {
                match self.random.below(3) {
                    0 => self.line(format!("use(walk_{of}({x}));")),
                    1 => self.line(format!("ck_{of}({x});")),
                    _ => self.line(format!("if ({x}->sum != mix({x}->id)) bad(__LINE__); else use({x}->id);")),
                }
                true
            }
            Ty::Any(_) => {
                self.line(format!("ck_{of}({x});"));
                true
            }
            _ => {
                let choice = self.random.below(7);
                match choice {
                    0 => self.line(format!("bump_{of}({x});")),
                    1 => self.line(format!("use(*at_{of}({x}));")),
                    2 => self.line(format!("if ({x}->sum != mix({x}->id)) bad(__LINE__); else use({x}->id);")),
                    _ if matches!(ty, Ty::Heap(_)) => return self.shared_slot(&x, p),
                    _ => return self.slot_behind(&x, p),
                }
                true
            }
        }
    }

    /// A slot behind a shared pointer.
    pub fn slot_behind(&mut self, x: &str, p: usize) -> bool {
        let fields: Vec<(String, Holds)> =
            self.types.records[p].fields.iter().map(|f| (f.name.clone(), f.holds)).collect();
        if fields.is_empty() {
            return false;
        }
        let (field, holds) = self.random.pick(&fields).clone();
        match holds {
            Holds::Unique(k) => self.slot(&format!("{x}->{field}"), Ty::Unique(k)),
            // Nothing that may lead back is put into a ring.
            Holds::Rc(k) if k == p => {
                let new = self.fresh(Ty::Rc(k));
                self.line(format!("{x}->{field} = {new};"));
                true
            }
            Holds::Rc(k) => self.slot(&format!("{x}->{field}"), Ty::Rc(k)),
            Holds::Many(k, size) => {
                let i = self.random.below(size as i64);
                let index = if self.random.chance(50) { format!("fresh() % {size}") } else { i.to_string() };
                // The index has an effect: it is written once.
                if index.contains("fresh") {
                    let j = self.name("j");
                    self.line(format!("int {j} = {index};"));
                    return self.slot(&format!("{x}->{field}[{j}]"), Ty::Unique(k));
                }
                self.slot(&format!("{x}->{field}[{index}]"), Ty::Unique(k))
            }
            Holds::Heap(k) => {
                let found = self.some_var(|_, v| v.ty == Ty::Heap(k));
                let Some(n) = found else { return false };
                let from = self.vars[n].name.clone();
                self.line(format!("{x}->{field} = {from};"));
                true
            }
            _ => false,
        }
    }

    /// A slot of an object that the collector has: what goes in and out of it is counted.
    fn shared_slot(&mut self, x: &str, p: usize) -> bool {
        let fields: Vec<(String, usize)> = self.types.records[p]
            .fields
            .iter()
            .filter_map(|f| match f.holds {
                Holds::Unique(k) => Some((f.name.clone(), k)),
                Holds::Many(k, size) => Some((format!("{}[{}]", f.name, size - 1), k)),
                _ => None,
            })
            .collect();
        if fields.is_empty() {
            return false;
        }
        let (field, k) = self.random.pick(&fields).clone();
        let (t, of, z) = (self.types.tag.clone(), self.types.name(k).to_string(), self.name("z"));
        match self.movable(|t| t == Ty::Unique(k)) {
            Some(path) if self.random.chance(50) => {
                let text = self.text(&path);
                self.line(format!("{t}_given += wits_{of}({text});"));
                self.line(format!("{text} :=: {x}->{field};"));
                self.line(format!("{t}_given -= wits_{of}({text});"));
                self.set_st(&path, St::Maybe);
            }
            _ => {
                self.line(format!("struct {of} *unique {z} = nullptr;"));
                self.line(format!("{x}->{field} :=: {z};"));
                self.line(format!("{t}_given -= wits_{of}({z});"));
                self.declare(z, Ty::Unique(k), St::Maybe);
            }
        }
        true
    }

    /// Something is done with a slot: looked at, stored to, exchanged.
    pub fn slot(&mut self, slot: &str, ty: Ty) -> bool {
        let (Ty::Unique(p) | Ty::Rc(p)) = ty else { return false };
        let of = self.types.name(p).to_string();
        match self.random.below(7) {
            0 => {
                let new = self.fresh(ty);
                self.line(format!("{slot} = {new};"));
            }
            1 => self.line(format!("{slot} = nullptr;")),
            2 => {
                let through = if slot.starts_with('*') { format!("({slot})") } else { slot.to_string() };
                self.line(format!("if ({slot}) use({through}->id);"));
            }
            3 => {
                let x = self.name("z");
                let word = self.declared(ty, &x);
                self.line(format!("{word} = nullptr;"));
                self.line(format!("{x} :=: {slot};"));
                self.declare(x, ty, St::Maybe);
            }
            4 => {
                let found = self.movable(|t| t == ty);
                let Some(path) = found.filter(|p| self.is_apart(p, slot)) else { return false };
                let text = self.text(&path);
                self.line(format!("{slot} = {text};"));
                self.set_st(&path, St::Moved);
            }
            5 => {
                let found =
                    self.some(|b, q| b.ty(q) == ty && b.own(q).st != St::Moved && b.own(q).is_whole() && b.is_free(q));
                let Some(path) = found.filter(|p| self.is_apart(p, slot)) else { return false };
                let text = self.text(&path);
                self.line(format!("{slot} :=: {text};"));
                self.set_st(&path, St::Maybe);
            }
            _ => match ty {
                Ty::Rc(_) => {
                    let x = self.name("r");
                    self.line(format!("struct {of} *rc {x} = retain({slot});"));
                    self.declare(x, ty, St::Maybe);
                }
                _ if self.list_field(p).is_some() => self.cursor_on(slot, p),
                _ => return false,
            },
        }
        true
    }

    /// Whether a path is not reached through what the text begins with, nor the other way round.
    fn is_apart(&self, path: &Path, slot: &str) -> bool {
        let root = slot.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').find(|s| !s.is_empty());
        Some(self.vars[path.root].name.as_str()) != root
    }
}
