//! Giving up what is owned, and bringing states back to what they were: at the ends of scopes, at
//! joins, before jumps.

use crate::body::Body;
use crate::model::{Elem, Kind, Own, Path, St, Ty};
use crate::program::Ret;
use crate::types::Holds;

impl Body<'_> {
    /// Gives up a variable, whatever it holds.
    pub fn drop_variable(&mut self, n: usize) {
        let var = &self.vars[n];
        if var.is_place {
            self.fill_place(n);
            return;
        }
        if var.is_lent || var.is_deferred {
            if var.is_lent {
                self.fill(&Path::var(n));
            }
            return;
        }
        if var.ty.is_owned() {
            self.drop_path(&Path::var(n));
        }
    }

    /// Makes what a cursor is at whole.
    pub fn fill_place(&mut self, n: usize) {
        let path = Path::var(n);
        if self.own(&path).st != St::Moved {
            return self.fill(&path);
        }
        let (ty, text) = (self.ty(&path), self.text(&path));
        let new = if self.random.chance(50) { "nullptr".into() } else { self.fresh(ty) };
        self.line(format!("{text} = {new};"));
        self.set_st(&path, St::Maybe);
    }

    /// Sets a path to what owns nothing.
    fn clear(&mut self, text: &str, ty: Ty) {
        match ty {
            Ty::Variant => self.line(format!("{text}.num = fresh();")),
            _ => self.line(format!("{text} = nullptr;")),
        }
    }

    /// Gives up what a path holds: afterwards it is moved.
    pub fn drop_path(&mut self, path: &Path) {
        let (own, ty) = (self.own(path), self.ty(path));
        if matches!(own.st, St::Moved | St::Null) {
            return;
        }
        let text = self.text(path);
        match ty {
            Ty::Unique(p) => {
                let is_whole = own.is_whole();
                let choice = self.small(8);
                if own.st == St::Live && choice < 3 {
                    // By hand, part by part; the rest goes with the object.
                    let kids = self.kids(ty);
                    for step in kids {
                        let kid = path.field(step);
                        let is_pointer = matches!(self.ty(&kid), Ty::Unique(_));
                        if is_pointer && self.random.chance(50) {
                            self.drop_path(&kid);
                        }
                    }
                    self.line(format!("free({text});"));
                } else if is_whole && choice < 6 {
                    self.line(format!("drop_{}({text});", self.types.name(p)));
                } else {
                    self.line(format!("free({text});"));
                }
            }
            Ty::Rc(_) => self.line(format!("release({text});")),
            Ty::Val(_) | Ty::Boxed(_) => {
                for step in self.kids(ty) {
                    self.drop_path(&path.field(step));
                }
            }
            Ty::Pack => self.line(format!("{}_K_free({text});", self.types.tag)),
            Ty::Variant => self.end_variant(path),
            Ty::Bound | Ty::Block | Ty::Cells(_) | Ty::Server | Ty::Keeper => self.line(format!("free({text});")),
            Ty::Hold(is_counted) => {
                self.line(format!("{}({text}.p);", if is_counted { "release" } else { "free" }));
            }
            Ty::Key(r) => {
                let counted = matches!(self.regions[r].kind, Kind::Key(k) if k.is_counted());
                self.line(format!("{}({text});", if counted { "release" } else { "free_arena" }));
            }
            // What lies in an arena owes nothing.
            Ty::Queue(r) | Ty::Counted(r) => {
                let word = if matches!(ty, Ty::Queue(_)) { "rfree" } else { "release" };
                match self.handle(r) {
                    Some(handle) if self.regions[r].is_reap() && own.is_whole() && self.random.chance(50) => {
                        self.line(format!("{word}({handle}, {text});"));
                    }
                    _ => return,
                }
            }
            _ => {}
        }
        self.set_st(path, St::Moved);
    }

    /// Makes something new to put where nothing is; an expression.
    pub fn fresh(&mut self, ty: Ty) -> String {
        let t = self.types.tag.clone();
        let d = self.random.below(3);
        match ty {
            Ty::Unique(p) => format!("mk_{}({d})", self.types.name(p)),
            Ty::Rc(p) if p != usize::MAX => format!("mkc_{}({d})", self.types.name(p)),
            Ty::Rc(_) => format!("retain({t}_tok)"),
            Ty::Val(p) => format!("val_{}({d})", self.types.name(p)),
            Ty::Boxed(p) => format!("{t}_put(mk_{}({d}))", self.types.name(p)),
            Ty::Pack => format!("{t}_K_new()"),
            Ty::Variant => format!("{t}_V_new({d})"),
            Ty::Bound => format!("{t}_U_new({d})"),
            Ty::Block => format!("{t}_E_new()"),
            Ty::Server => format!("{t}_S_new()"),
            Ty::Keeper => format!("{t}_T_new()"),
            Ty::Cells(elem) => {
                let new = self.fresh(elem.ty());
                let of = self.element(elem);
                format!("new struct {t}_cell<{of}>{{ {new}, nullptr }}")
            }
            Ty::Hold(is_counted) => {
                let (own, word) = if is_counted { ("rc", " rc") } else { ("unique", "") };
                format!("(struct {t}_hold<{own}>){{ fresh(), new{word} struct {t}_N{{ .id = ids, .sum = mix(ids) }} }}")
            }
            Ty::Stored(r) => {
                let (handle, element) = (self.handle(r).unwrap_or_default(), self.stored(r));
                let at = &self.regions[r].name;
                let new = format!("new({handle}) struct {t}_Q{{ .id = fresh(), .sum = mix(ids) }}");
                format!("new({handle}) struct {t}_node<{element}, @{at}>{{ .value = {new} }}")
            }
            Ty::Queue(r) => {
                let handle = self.handle(r).unwrap_or_default();
                format!("new({handle}) struct {t}_Q{{ .id = fresh(), .sum = mix(ids) }}")
            }
            Ty::Counted(r) => {
                let handle = self.handle(r).unwrap_or_default();
                format!("new({handle}) rc struct {t}_N{{ .id = fresh(), .sum = mix(ids) }}")
            }
            _ => "0".into(),
        }
    }

    /// Makes a lent path whole again, below itself.
    pub fn fill(&mut self, path: &Path) {
        let own = self.own(path);
        for (step, kid) in own.kids {
            let below = path.field(step);
            if kid.st == St::Moved {
                let ty = self.ty(&below);
                if matches!(ty, Ty::Unique(_) | Ty::Queue(_) | Ty::Block | Ty::Bound)
                    || (matches!(ty, Ty::Rc(p) if p != usize::MAX))
                {
                    let text = self.text(&below);
                    self.line(format!("{text} = nullptr;"));
                    self.set_st(&below, St::Maybe);
                } else {
                    self.remake(&below);
                }
            } else {
                self.fill(&below);
            }
        }
    }

    fn remake(&mut self, path: &Path) {
        let (ty, text) = (self.ty(path), self.text(path));
        let new = self.fresh(ty);
        self.line(format!("{text} = {new};"));
        self.set_st(path, St::Live);
    }

    /// Makes the states of the first variables what they were: writes the statements for that.
    /// Those of variables that own nothing do not change.
    pub fn restore(&mut self, target: &[Own]) {
        for (n, own) in target.iter().enumerate() {
            let var = &self.vars[n];
            if var.ty.is_owned() && !var.is_deferred {
                self.restore_path(&Path::var(n), own);
            }
        }
    }

    /// The same for one variable.
    pub fn restore_one(&mut self, n: usize, own: &Own) {
        self.restore_path(&Path::var(n), own);
    }

    fn restore_path(&mut self, path: &Path, target: &Own) {
        let (own, ty) = (self.own(path), self.ty(path));
        if own == *target {
            return;
        }
        let text = self.text(path);
        let handle_gone = matches!(ty, Ty::Queue(r) | Ty::Stored(r) | Ty::Counted(r) if self.handle(r).is_none());
        match (own.st, target.st) {
            (St::Moved, St::Live) if !handle_gone => self.remake(path),
            (St::Null, St::Live) => self.remake(path),
            (St::Maybe, St::Live) => {
                let new = self.fresh(ty);
                self.line(format!("if (!{text}) {text} = {new};"));
                self.set_st(path, St::Live);
            }
            (St::Moved, St::Maybe) => {
                self.line(format!("{text} = nullptr;"));
                self.set_st(path, St::Maybe);
            }
            (St::Moved, St::Null) => {
                self.clear(&text, ty);
                self.set_st(path, St::Null);
            }
            (St::Live | St::Maybe, St::Null) => {
                self.drop_path(path);
                if self.own(path).st != St::Null {
                    self.clear(&text, ty);
                }
                self.set_st(path, St::Null);
            }
            (St::Live | St::Maybe | St::Null, St::Moved) => {
                self.drop_path(path);
                self.set_st(path, St::Moved);
            }
            (St::Live | St::Null, St::Maybe) => {
                self.fill(path);
                self.set_st(path, St::Maybe);
            }
            _ => {}
        }
        // Now the parts.
        if target.st != St::Live || self.own(path).st != St::Live {
            return;
        }
        for step in self.kids(ty) {
            let kid = path.field(step);
            let wanted =
                target.kids.get(&step).cloned().unwrap_or_else(|| Own::new(crate::body::default_state(self.ty(&kid))));
            if self.own(&kid) != wanted {
                self.restore_path(&kid, &wanted);
            }
        }
    }

    // ---- jumps

    /// Whether control may leave to where the states were `target`: nothing that must be given up
    /// or restored for it is lent.
    pub fn may_leave(&self, target: &[Own]) -> bool {
        (0..self.vars.len()).all(|n| {
            let var = &self.vars[n];
            let is_pinned = self.pins.iter().any(|p| p.path.root == n);
            match target.get(n) {
                _ if !is_pinned || var.is_lent || var.is_deferred => true,
                Some(own) => !var.ty.is_owned() || *own == var.own,
                None => !var.ty.owes(),
            }
        })
    }

    /// Gives up and restores for a jump to where the states were `target`. What is known afterwards
    /// does not matter.
    pub fn leave(&mut self, target: &[Own]) {
        for n in (target.len()..self.vars.len()).rev() {
            self.drop_variable(n);
        }
        self.restore(target);
    }

    /// Gives up everything and returns.
    pub fn write_return(&mut self) {
        let value = self.result();
        for n in (0..self.vars.len()).rev() {
            self.drop_variable(n);
        }
        if value.is_empty() {
            self.line("return;");
        } else {
            self.line(format!("return {value};"));
        }
    }

    /// What to return: something that lives, moved, or something new.
    fn result(&mut self) -> String {
        match self.ret {
            Ret::None => String::new(),
            Ret::Unique(_) | Ret::Rc(_) | Ret::Val(_) | Ret::Pack => {
                let ty = self.ret.owned_type();
                let found = if self.random.chance(70) { self.movable(|t| t == ty) } else { None };
                match found {
                    Some(path) => {
                        let name = self.name("out");
                        let (text, word) = (self.text(&path), self.declared(ty, &name));
                        if path.steps.is_empty() && !self.vars[path.root].is_place && self.random.chance(50) {
                            self.set_st(&path, St::Moved);
                            return text;
                        }
                        self.line(format!("{word} = {text};"));
                        self.set_st(&path, St::Moved);
                        name
                    }
                    None => self.fresh(ty),
                }
            }
            Ret::List(r) => {
                let found = self.some_var(|b, v| v.ty == Ty::List(r) && b.regions[r].is_live());
                found.map_or("nullptr".into(), |n| self.vars[n].name.clone())
            }
            Ret::Lent(n) => self.vars[n].name.clone(),
            Ret::Queue(r) => {
                let found = self.movable(|t| t == Ty::Queue(r));
                match found {
                    Some(path) if path.steps.is_empty() && !self.vars[path.root].is_place => {
                        self.set_st(&path, St::Moved);
                        self.text(&path)
                    }
                    _ => self.fresh(Ty::Queue(r)),
                }
            }
        }
    }

    /// A declaration of a variable of the type, without an initialiser.
    pub fn declared(&self, ty: Ty, name: &str) -> String {
        let t = &self.types.tag;
        let of = |p: usize| format!("struct {}", self.types.name(p));
        let at = |r: usize| self.regions[r].name.clone();
        match ty {
            Ty::Unique(p) => format!("{} *unique {name}", of(p)),
            Ty::Rc(p) => format!("{} *rc {name}", of(p)),
            Ty::Val(p) => format!("{} {name}", of(p)),
            Ty::Heap(p) => format!("{} *@heap {name}", of(p)),
            Ty::Borrow(p) => format!("{} *{name}", of(p)),
            Ty::View(p) => format!("{} *view {name}", of(p)),
            Ty::Any(p) => format!("{} *any {name}", of(p)),
            Ty::Out(p) => format!("{} *unique *{name}", of(p)),
            Ty::Many(p, n) => format!("{} *unique {name}[{n}]", of(p)),
            Ty::List(r) => format!("struct {t}_R *@{} {name}", at(r)),
            Ty::Plain(r) => format!("struct {t}_N *@{} {name}", at(r)),
            Ty::Queue(r) => format!("struct {t}_Q *unique @{} {name}", at(r)),
            Ty::Stored(r) => format!("struct {t}_node<{}, @{at}> *unique @{at} {name}", self.stored(r), at = at(r)),
            Ty::Row(r) => format!("struct vec<{}, @{}> {name}", self.stored(r), at(r)),
            Ty::Sure(r) => format!("struct {t}_N *nonnull @{} {name}", at(r)),
            Ty::Env(r) => format!("struct {t}_fn<@{}> {name}", at(r)),
            Ty::Counted(r) => format!("struct {t}_N *rc @{} {name}", at(r)),
            Ty::Key(r) => {
                let word = match self.regions[r].kind {
                    Kind::Key(k) => k.word(),
                    _ => "key",
                };
                format!("{word}<@{}> {name}", at(r))
            }
            Ty::Pack => format!("struct {t}_K {name}"),
            Ty::Boxed(p) => format!("struct {t}_box<struct {} *unique> {name}", self.types.name(p)),
            Ty::Variant => format!("tagged union {t}_V {name}"),
            Ty::Bound => format!("struct {t}_U *unique {name}"),
            Ty::Block => format!("struct {t}_E *@exchange {name}"),
            Ty::Cells(elem) => format!("struct {t}_cell<{}> *unique {name}", self.element(elem)),
            Ty::Hold(is_counted) => {
                format!("struct {t}_hold<{}> {name}", if is_counted { "rc" } else { "unique" })
            }
            Ty::Low(r) => format!("struct {t}_L *@{} {name}", at(r)),
            Ty::Server => format!("{t}_S.imp:READY {name}"),
            Ty::Keeper => format!("{t}_T.imp:READY {name}"),
        }
    }

    /// The type of a generic list's elements.
    pub fn element(&self, elem: Elem) -> String {
        match elem {
            Elem::Unique(p) => format!("struct {} *unique", self.types.name(p)),
            Elem::Rc(p) => format!("struct {} *rc", self.types.name(p)),
            Elem::Variant => format!("tagged union {}_V", self.types.tag),
        }
    }

    /// Whether the record has a unique field of its own type, and which.
    pub fn list_field(&self, p: usize) -> Option<usize> {
        self.types.records[p].fields.iter().position(|f| f.holds == Holds::Unique(p))
    }
}
