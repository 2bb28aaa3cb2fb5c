//! `T: nonnull`: type arguments whose zero is not a value, owned ones too; and structs that hide a
//! region with a bound (`exists @e outlived by @x`): a function with what only it may get.

use crate::body::Body;
use crate::families::Part;
use crate::model::{St, Ty, HEAP};

/// Generics over what is never null.
pub const SURE: Part = (
    "generic <T: nonnull> struct $_pair { T a, b; };
generic <T: nonnull> static T $_same(T x) { return x; }
generic <T: nonnull> static struct $_pair<T> $_both(T a, T b) { struct $_pair<T> p = { a, b }; return p; }
generic <T: nonnull> static struct $_pair<T> $_turned(struct $_pair<T> p) {
    T a = p.a;
    return (struct $_pair<T>){ p.b, a };
}
generic <T: nonnull> static T $_late(T a, T b, long k) {
    T x;
    if (k & 1) x = a;
    else x = b;
    return x;
}
generic <T: nonnull> static void $_change(T *a, T *b) { *a :=: *b; }
generic <T: move + nonnull> struct $_sure { T value; long n; };
generic <T: move + nonnull> static T $_open(consume struct $_sure<T> s) { return s.value; }
generic <T: move + nonnull> static T $_replace(consume T x, T *slot) { x :=: *slot; return x; }
",
    "",
);

/// Functions with what only they may get.
pub const ENVIRONMENTS: Part = (
    "struct $_fn<@x> { exists @e outlived by @x; void (*call)(struct $_N *@e env, long n); struct $_N *@e env; };
static void $_touch(struct $_N *env, long n) {
    if (env->sum != mix(env->id)) bad(__LINE__);
    env->num[n % 3] += n;
}
static void $_glance(struct $_N *env, long n) { if (env->sum != mix(env->id)) bad(__LINE__); use(env->num[0] + n); }
static void $_each(struct $_fn f, long n) {
    unpack f as {@e, call, env};
    for (long i = 0; i < n; i++) call(env, i);
}
static struct $_fn<@x> $_either(struct $_fn<@x> a, struct $_fn<@x> b) { return fresh() & 1 ? a : b; }
",
    "",
);

impl Body<'_> {
    /// A region where plain objects lie: live, or the heap.
    fn plain_region(&mut self) -> usize {
        let found: Vec<usize> = (1..self.regions.len()).filter(|&n| self.regions[n].handle.is_some()).collect();
        if found.is_empty() || self.random.chance(30) {
            return HEAP;
        }
        *self.random.pick(&found)
    }

    /// One statement with what is never null.
    pub fn sure_statement(&mut self) -> bool {
        let t = self.types.tag.clone();
        if self.random.chance(25) {
            return self.sure_owner();
        }
        let found = self.some_var(|b, v| matches!(v.ty, Ty::Sure(_)) && b.region_is_live(v.ty));
        let Some(n) = found.filter(|_| self.random.chance(75)) else {
            let r = self.plain_region();
            let x = self.name("n");
            let handle = self.handle(r).map_or(String::new(), |handle| format!("({handle})"));
            let word = self.declared(Ty::Sure(r), &x);
            self.line(format!("{word} = new{handle} struct {t}_N{{ .id = fresh(), .sum = mix(ids) }};"));
            self.declare(x, Ty::Sure(r), St::Live);
            return true;
        };
        let ty = self.vars[n].ty;
        let Ty::Sure(r) = ty else { return false };
        let x = self.vars[n].name.clone();
        let other = self.some_var(|_, v| v.ty == ty).map_or(x.clone(), |m| self.vars[m].name.clone());
        let of = self.declared(ty, "").trim_end().to_string();
        match self.random.below(7) {
            0 => self.line(format!("ck_{t}_N({t}_same({x}));")),
            1 => {
                let p = self.name("p");
                self.line(format!("struct {t}_pair<{of}> {p} = {t}_turned({t}_both({x}, {other}));"));
                self.line(format!("if ({p}.a->sum != mix({p}.a->id) || {p}.b != {x}) bad(__LINE__);"));
            }
            2 => {
                let y = self.name("n");
                let word = self.declared(ty, &y);
                self.line(format!("{word} = {t}_late({x}, {other}, fresh());"));
                self.declare(y, ty, St::Live);
            }
            3 => {
                let p = self.name("p");
                self.line(format!("struct {t}_pair<{of}> {p} = {{ {x}, {other} }};"));
                self.line(format!("{t}_change(&{p}.a, &{p}.b);"));
                self.line(format!("ck_{t}_N({p}.a);"));
            }
            4 => {
                let y = self.name("p");
                let word = self.declared(Ty::Plain(r), &y);
                self.line(format!("{word} = {x};"));
                self.declare(y, Ty::Plain(r), St::Live);
            }
            5 => {
                let all = self.name("p");
                self.line(format!("{of} {all}[2] = {{ {x}, {other} }};"));
                self.line(format!("use({all}[fresh() & 1]->id);"));
            }
            _ => self.line(format!("{x} = {other};")),
        }
        true
    }

    /// An owner that is never null, through generics.
    fn sure_owner(&mut self) -> bool {
        let t = self.types.tag.clone();
        let p = self.some_record();
        let of = format!("struct {} *unique nonnull", self.types.name(p));
        let (x, y) = (self.name("u"), self.name("u"));
        let inside = self.types.initialiser(p, "1");
        let new = format!("new struct {}{{ {inside} }}", self.types.name(p));
        self.line(format!("{of} {x} = {new};"));
        match self.random.below(3) {
            0 => self.line(format!("{of} {y} = {t}_open((struct {t}_sure<{of}>){{ {x}, 1 }});")),
            1 => {
                let s = self.name("s");
                self.line(format!("struct {t}_sure<{of}> {s} = {{ {x}, fresh() }};"));
                self.line(format!("use({s}.value->id);"));
                self.line(format!("{of} {y} = {s}.value;"));
            }
            _ => {
                let z = self.name("s");
                self.line(format!("struct {t}_sure<{of}> {z} = {{ {new}, 2 }};"));
                self.line(format!("{of} {y} = {t}_replace({x}, &{z}.value);"));
                self.line(format!("free({z}.value);"));
            }
        }
        self.line(format!("bump_{}({y});", self.types.name(p)));
        self.line(format!("free({y});"));
        true
    }

    /// One statement with functions that have an environment.
    pub fn environment_statement(&mut self) -> bool {
        // What is called through a pointer may let other tasks run.
        if self.slot_cursors > 0 {
            return false;
        }
        let t = self.types.tag.clone();
        let found = self.some_var(|b, v| matches!(v.ty, Ty::Env(_)) && b.region_is_live(v.ty));
        let function = ["touch", "glance"][self.random.below(2) as usize];
        let Some(n) = found.filter(|_| self.random.chance(65)) else {
            let found = self.some_var(|b, v| matches!(v.ty, Ty::Plain(_)) && b.region_is_live(v.ty));
            let Some(env) = found else { return false };
            let Ty::Plain(from) = self.vars[env].ty else { return false };
            let to: Vec<usize> = (0..self.regions.len())
                .filter(|&r| (r == from || self.outlives(from, r)) && self.regions[r].is_live())
                .filter(|&r| r != HEAP || from == HEAP)
                .collect();
            if to.is_empty() {
                return false;
            }
            let r = *self.random.pick(&to);
            let (x, env) = (self.name("fn"), self.vars[env].name.clone());
            let word = self.declared(Ty::Env(r), &x);
            self.line(format!("{word} = {{ {t}_{function}, {env} }};"));
            self.declare(x, Ty::Env(r), St::Live);
            return true;
        };
        let ty = self.vars[n].ty;
        let Ty::Env(r) = ty else { return false };
        let x = self.vars[n].name.clone();
        match self.random.below(5) {
            0 | 1 => {
                let times = self.random.between(1, 3);
                self.line(format!("{t}_each({x}, {times});"));
            }
            2 => {
                let (e, call, env) = (self.name("e"), self.name("c"), self.name("v"));
                self.open("{");
                self.line(format!("unpack {x} as {{@{e}, call: {call}, env: {env}}};"));
                self.line(format!("{call}({env}, fresh() % 100);"));
                self.line(format!("if ({env}->sum != mix({env}->id)) bad(__LINE__);"));
                self.pop();
                self.line("}");
            }
            3 => {
                let found = self.some_var(
                    |b, v| matches!(v.ty, Ty::Plain(o) if (o == r || b.outlives(o, r)) && b.regions[o].is_live()),
                );
                let Some(m) = found else { return false };
                let (env, of) = (self.vars[m].name.clone(), self.declared(ty, ""));
                self.line(format!("{x} = ({}){{ {t}_{function}, {env} }};", of.trim_end()));
            }
            _ => {
                let Some(m) = self.some_var(|_, v| v.ty == ty) else { return false };
                let (other, y) = (self.vars[m].name.clone(), self.name("fn"));
                let word = self.declared(ty, &y);
                self.line(format!("{word} = {t}_either({x}, {other});"));
                self.declare(y, ty, St::Live);
            }
        }
        true
    }
}
