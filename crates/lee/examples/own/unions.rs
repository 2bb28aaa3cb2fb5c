//! Statements over unions that own: a union is one path, which moves with the member that is there;
//! a tag that is changed while the union owns something loses it.

use crate::body::Body;
use crate::model::{Lending, Own, Path, St, Ty};

impl Body<'_> {
    /// One statement with a union.
    pub fn union_statement(&mut self) -> bool {
        match self.random.below(14) {
            0 | 1 => self.make_variant(),
            2 | 3 => self.switch_owned(),
            4 => self.switch_lent(),
            5 => self.set_member(),
            6 => self.variant_call(),
            7 => self.variant_slot(),
            8 | 9 => self.make_new(Ty::Bound),
            10 | 11 => self.switch_kind(),
            12 => self.lend_member(),
            _ => self.bound_call(),
        }
    }

    fn make_variant(&mut self) -> bool {
        let t = self.types.tag.clone();
        let first = self.types.name(0).to_string();
        let x = self.name("v");
        let word = self.declared(Ty::Variant, &x);
        let (value, st) = match self.random.below(6) {
            0 => ("{ .num = fresh() }".into(), St::Null),
            1 => (format!("{{ .own = mk_{first}(1) }}"), St::Live),
            2 => (format!("{{ .cnt = mkc_{first}(1) }}"), St::Live),
            3 => (format!("{{ .two = {{ mk_{first}(0), retain({t}_tok) }} }}"), St::Live),
            _ => (self.fresh(Ty::Variant), St::Live),
        };
        self.line(format!("{word} = {value};"));
        self.declare(x, Ty::Variant, st);
        true
    }

    /// Gives up what a union owns: by a call, or in place.
    pub fn end_variant(&mut self, path: &Path) {
        let (text, t) = (self.text(path), self.types.tag.clone());
        if !self.random.chance(40) {
            return self.line(format!("{t}_V_free({text});"));
        }
        let (p, c, w, two) = (self.name("p"), self.name("c"), self.name("w"), self.name("t"));
        let own = match self.random.below(3) {
            0 => format!("free({p});"),
            1 => format!("{t}_g0 = {p};"),
            _ => format!("drop_{}({p});", self.types.name(0)),
        };
        self.line(format!("switch ({text}) {{"));
        self.line(format!("case .own({p}): {own} break;"));
        self.line(format!("case .cnt({c}): release({c}); break;"));
        self.line(format!("case .wit({w}): release({w}); break;"));
        self.line(format!("case .two({two}): free({two}.a); release({two}.w); break;"));
        self.line("case .num: break;");
        self.line("}");
    }

    /// Each case takes the member.
    fn switch_owned(&mut self) -> bool {
        let Some(path) = self.movable(|t| t == Ty::Variant) else { return false };
        let text = self.text(&path);
        self.set_st(&path, St::Moved);
        let before = self.states();
        self.line(format!("switch ({text}) {{"));
        let (p, c, w, two) = (self.name("p"), self.name("c"), self.name("w"), self.name("t"));
        self.arm(&before, format!("case .own({p}): {{"), |b| {
            b.declare(p.clone(), Ty::Unique(0), St::Live);
        });
        self.arm(&before, format!("case .cnt({c}): {{"), |b| {
            b.declare(c.clone(), Ty::Rc(0), St::Live);
        });
        self.line(format!("case .wit({w}): release({w}); break;"));
        self.arm(&before, format!("case .two({two}): {{"), |b| {
            b.line(format!("release({two}.w);"));
            let (of, x) = (b.types.name(0).to_string(), b.name("m"));
            b.line(format!("struct {of} *unique {x} = {two}.a;"));
            b.declare(x, Ty::Unique(0), St::Live);
        });
        let n = self.name("n");
        self.arm(&before, format!("case .num({n}): {{"), |b| b.line(format!("use({n});")));
        self.line("}");
        self.set_states(&before);
        true
    }

    /// One case of a `switch`, after which all is as it was.
    fn arm(&mut self, before: &[Own], head: String, begin: impl FnOnce(&mut Body)) {
        self.set_states(before);
        self.line(head);
        self.scope(None, true);
        begin(self);
        self.block(2);
        self.restore(before);
        self.close("}");
        self.line("break;");
    }

    /// The cases look.
    fn switch_lent(&mut self) -> bool {
        let found =
            self.some(|b, p| b.ty(p) == Ty::Variant && b.own(p).st == St::Live && b.may_lend(p, Lending::Exclusive));
        let Some(path) = found else { return false };
        let (text, of) = (self.text(&path), self.types.name(0).to_string());
        let before = self.states();
        self.line(format!("switch ({text}) {{"));
        let (p, v, c) = (self.name("p"), self.name("w"), self.name("c"));
        self.arm(&before, format!("case .own({p}): {{"), |b| {
            b.line(format!("struct {of} *view {v} = {p};"));
            b.pin(path, Lending::Exclusive);
            b.declare(v, Ty::View(0), St::Live);
        });
        self.line(format!("case .cnt({c}): use({c}->id); break;"));
        self.line("default: break;");
        self.line("}");
        self.set_states(&before);
        true
    }

    /// A member is set where nothing is owned.
    fn set_member(&mut self) -> bool {
        let found = self.some(|b, p| {
            b.ty(p) == Ty::Variant && b.own(p).st != St::Live && b.is_free(p) && (p.steps.is_empty() || b.reaches(p))
        });
        let Some(path) = found else { return false };
        let (text, t, first) = (self.text(&path), self.types.tag.clone(), self.types.name(0).to_string());
        let given = self.movable(|ty| ty == Ty::Unique(0)).filter(|g| g.root != path.root);
        match (self.random.below(5), given) {
            (0, _) => {
                self.line(format!("{text}.num = fresh();"));
                self.set_st(&path, St::Null);
                return true;
            }
            (1, Some(given)) => {
                let from = self.text(&given);
                self.line(format!("{text}.own = {from};"));
                self.set_st(&given, St::Moved);
            }
            (2, _) => self.line(format!("{text}.cnt = mkc_{first}(0);")),
            (3, _) => self.line(format!("{text}.wit = retain({t}_tok);")),
            _ => self.line(format!("{text}.own = mk_{first}(1);")),
        }
        self.set_st(&path, St::Live);
        true
    }

    fn variant_call(&mut self) -> bool {
        let t = self.types.tag.clone();
        match self.random.below(4) {
            0 => {
                let Some(path) = self.lent_whole(Ty::Variant) else { return false };
                let text = self.text(&path);
                self.line(format!("{t}_V_ck({text});"));
            }
            1 => {
                let found = self.movable(|ty| ty == Ty::Variant).filter(|p| !self.vars[p.root].is_lent);
                let Some(path) = found else { return false };
                let text = self.text(&path);
                self.line(format!("{t}_V_set(&{text});"));
            }
            2 => {
                let Some((a, b)) = self.two(Ty::Variant) else { return false };
                let (a, b) = (self.text(&a), self.text(&b));
                self.line(format!("{a} :=: {b};"));
            }
            _ => {
                let Some(path) = self.movable(|ty| ty == Ty::Variant) else { return false };
                let through = if self.random.chance(50) { String::new() } else { format!("{t}_pass") };
                self.move_through(&path, &through);
            }
        }
        true
    }

    /// A union in a slot looks after itself.
    fn variant_slot(&mut self) -> bool {
        let t = self.types.tag.clone();
        let first = self.types.name(0).to_string();
        let slot = match self.slot_with_variant() {
            Some(slot) if self.random.chance(60) => slot,
            _ => format!("{t}_gv"),
        };
        match self.random.below(7) {
            0 => self.line(format!("{slot}.num = fresh();")),
            1 => self.line(format!("{slot}.own = mk_{first}(0);")),
            2 => {
                let new = self.fresh(Ty::Variant);
                self.line(format!("{slot} = {new};"));
            }
            3 if slot.ends_with("_gv") => {
                let Some(path) = self.movable(|ty| ty == Ty::Variant) else { return false };
                let text = self.text(&path);
                self.line(format!("{text} :=: {slot};"));
            }
            4 => self.line(format!("switch ({slot}) {{ case .num(n): use(n); break; default: use(1); break; }}")),
            5 => self.line(format!("{t}_V_set(&{slot});")),
            _ => {
                let x = self.name("v");
                self.line(format!("tagged union {t}_V {x} = {{ .num = 1 }};"));
                self.line(format!("{x} :=: {slot};"));
                self.declare(x, Ty::Variant, St::Live);
            }
        }
        true
    }

    /// A union of an object that is borrowed or counted.
    fn slot_with_variant(&mut self) -> Option<String> {
        let types = self.types;
        let field = |p: usize| types.records[p].fields.iter().find(|f| f.holds == crate::types::Holds::Variant);
        let n = self.some_var(|_, v| matches!(v.ty, Ty::Borrow(p) | Ty::Heap(p) if field(p).is_some()))?;
        let (Ty::Borrow(p) | Ty::Heap(p)) = self.vars[n].ty else { return None };
        Some(format!("{}->{}", self.vars[n].name, field(p)?.name))
    }

    // ---- tagged_by

    fn a_bound(&mut self) -> Option<Path> {
        self.movable(|t| t == Ty::Bound)
    }

    /// What the tag says is taken out, and the tag changed.
    fn switch_kind(&mut self) -> bool {
        let Some(path) = self.a_bound() else { return false };
        let (x, t, of) = (self.text(&path), self.types.tag.clone(), self.types.name(0).to_string());
        let before = self.states();
        let by_if = self.random.chance(40);
        if by_if {
            self.line(format!("if ({x}->kind == 2) {{"));
        } else {
            self.line(format!("switch ({x}->kind) {{"));
            self.arm(&before, "case 1: {".into(), |b| {
                b.line(format!("use({x}->u.n);"));
                b.line(format!("{x}->u.n = fresh();"));
            });
            self.line(format!("case 3: release({x}->u.wit); {x}->kind = 1; {x}->u.n = fresh(); break;"));
        }
        let m = self.name("m");
        let take = |b: &mut Body| {
            b.line(format!("struct {of} *unique {m} = {x}->u.own;"));
            match b.random.below(3) {
                0 => b.line(format!("{x}->u.own = mk_{of}(0);")),
                1 => {
                    b.line(format!("{x}->kind = 3;"));
                    b.line(format!("{x}->u.wit = retain({t}_tok);"));
                }
                _ => {
                    b.line(format!("{x}->kind = 1;"));
                    b.line(format!("{x}->u.n = fresh();"));
                }
            }
            b.declare(m.clone(), Ty::Unique(0), St::Live);
        };
        if by_if {
            self.scope(None, false);
            take(self);
            self.block(2);
            self.restore(&before);
            self.close("}");
        } else {
            self.arm(&before, "case 2: {".into(), take);
            self.line("}");
        }
        self.set_states(&before);
        true
    }

    fn lend_member(&mut self) -> bool {
        let Some(path) = self.a_bound() else { return false };
        let (x, of, b) = (self.text(&path), self.types.name(0).to_string(), self.name("b"));
        self.open(format!("if ({x}->kind == 2) {{"));
        let (text, ty) = match self.random.below(2) {
            0 => (format!("borrow {b} = {x}->u.own;"), Ty::Borrow(0)),
            _ => (format!("struct {of} *view {b} = {x}->u.own;"), Ty::View(0)),
        };
        self.line(text);
        self.pin(path, Lending::Exclusive);
        self.declare(b, ty, St::Live);
        let before = self.states();
        self.block(3);
        self.restore(&before);
        self.close("}");
        true
    }

    fn bound_call(&mut self) -> bool {
        let Some(path) = self.a_bound() else { return false };
        let (x, t) = (self.text(&path), self.types.tag.clone());
        match self.random.below(5) {
            0 => self.line(format!("{t}_U_ck({x});")),
            1 => self.line(format!("{t}_U_set({x});")),
            2 => self.move_through(&path, ""),
            3 => {
                let Some((a, b)) = self.two(Ty::Bound) else { return false };
                let (a, b) = (self.text(&a), self.text(&b));
                self.line(format!("{a} :=: {b};"));
            }
            _ => {
                let y = self.name("m");
                let word = self.declared(Ty::Bound, &y);
                self.line(format!("{word} = {x}->next;"));
                self.set_st(&path.field(0), St::Moved);
                self.declare(y, Ty::Bound, St::Maybe);
                if self.random.chance(50) {
                    self.line(format!("{x}->next = nullptr;"));
                    self.set_st(&path.field(0), St::Maybe);
                }
            }
        }
        true
    }
}
