//! A whole program: types, functions that call those before them, and the entry that runs them
//! and counts at the end.

use crate::body::Body;
use crate::model::{KeyKind, Kind, Lending, Path, St, Ty, HEAP};
use crate::rng::Random;
use crate::types::Types;

/// A parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Param {
    /// `struct P *unique p`
    Lent(usize),
    /// `consume struct P *unique p`
    Consume(usize),
    /// `struct P *p`
    Shared(usize),
    /// `struct P *view p`
    View(usize),
    /// `struct P *any p`
    Any(usize),
    /// `struct P *rc p`
    Counted(usize),
    /// `consume struct P *rc p`
    Release(usize),
    /// `struct P *unique *out`
    Out(usize),
    /// `struct P *@heap p`
    Heap(usize),
    /// `struct P p`
    Value(usize),
    /// `consume struct P p`
    Whole(usize),
    /// `arena r`, `struct R *@r l`
    Arena,
    /// `reap r`, `consume struct Q *unique @r q`
    Reap,
    /// `reap r`, `struct Q *unique @r q`
    ReapLent,
    /// `struct R *l`
    List,
    /// `key<@d> k`, `struct R *@d l`
    Key(KeyKind),
    /// `consume` the same
    GiveKey(KeyKind),
    /// The package.
    Pack,
    /// `consume` the same
    GivePack,
    /// `struct L<@lo> *@lo l, struct N *@up n`, with `@up` outliving `@lo`
    Low,
    /// `consume tagged union V v`
    Variant,
    /// `struct U *unique u`
    Bound,
    /// `consume struct E *@exchange e`
    Block,
}

/// A result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ret {
    /// `void`
    None,
    /// `struct P *unique`
    Unique(usize),
    /// `struct P *rc`
    Rc(usize),
    /// `struct P`
    Val(usize),
    /// The package.
    Pack,
    /// `struct R *@r` of the arena parameter; in bodies the number is the region's.
    List(usize),
    /// `struct Q *unique @r` of the reap parameter.
    Queue(usize),
    /// `struct P *@p`: the shared parameter, whose variable has the number.
    Lent(usize),
}

impl Ret {
    /// As a type.
    pub fn owned_type(self) -> Ty {
        match self {
            Ret::Unique(p) => Ty::Unique(p),
            Ret::Rc(p) => Ty::Rc(p),
            Ret::Val(p) => Ty::Val(p),
            Ret::Queue(r) => Ty::Queue(r),
            _ => Ty::Pack,
        }
    }
}

/// A function that may be called.
#[derive(Clone, Debug)]
pub struct Fun {
    /// Its name.
    pub name: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// The result; the record of a lent one.
    pub ret: Ret,
    /// What a call costs, about.
    pub cost: i64,
    /// What stands before the arguments of a call.
    pub calls: Vec<String>,
}

/// A program's parts.
pub struct Program {
    /// Types and helpers.
    pub types: String,
    /// Functions.
    pub functions: String,
    /// The entry's name.
    pub entry: String,
    /// Functions in it, helpers not counted.
    pub count: u64,
}

/// The program of that seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random(crate::rng::mixed(seed ^ 0x0e4e));
    let types = Types::random(&mut random, &format!("s{seed}"));
    let t = types.tag.clone();
    let mut functions = String::new();
    for n in 0..types.records.len() {
        let p = types.name(n);
        functions.push_str(&format!("static struct {p} *unique {t}_g{n};\n"));
        functions.push_str(&format!("static struct {p} *unique {t}_ga{n}[3];\n"));
        functions.push_str(&format!("static struct {p} *rc {t}_gc{n};\n"));
    }
    let mut funs: Vec<Fun> = vec![];
    let count = random.between(3, 6);
    for n in 0..count {
        let (fun, text) = function(&mut random, &types, &funs, format!("{t}_f{n}"));
        functions.push_str(&text);
        funs.push(fun);
    }
    // One that calls them all: no parameters.
    let (last, text) = closed(&mut random, &types, &funs, format!("{t}_all"));
    functions.push_str(&text);
    let mut entry =
        format!("static void {t}_main(void) {{\n    {t}_tok = new rc struct W{{ 1 }};\n    {}();\n", last.name);
    if types.families.tasks {
        entry.push_str(&format!("    {t}_join();\n"));
    }
    if types.families.servers || types.families.tasks {
        // Tasks that keep something learn that nothing more comes, and those that nobody joined end.
        entry.push_str("    for (int i = 0; i < 64; i++) yield();\n");
    }
    if types.families.unions {
        entry.push_str(&format!("    {t}_gv.num = 0;\n"));
    }
    for n in 0..types.records.len() {
        entry.push_str(&format!("    {t}_g{n} = nullptr; {t}_gc{n} = nullptr;\n"));
        entry.push_str(&format!("    for (int i = 0; i < 3; i++) {t}_ga{n}[i] = nullptr;\n"));
    }
    entry.push_str(&format!(
        "    struct W *rc last = nullptr;\n    last :=: {t}_tok;\n    said(\"{t}\", holders(last) - 1, {t}_given);\n    release(last);\n}}\n"
    ));
    functions.push_str(&entry);
    Program { types: types.text(), functions, entry: format!("{t}_main"), count: count as u64 + 2 }
}

fn closed(random: &mut Random, types: &Types, funs: &[Fun], name: String) -> (Fun, String) {
    let mut body = Body::new(random, types, funs, Ret::None);
    body.scope(None, false);
    body.block(6);
    for n in (0..funs.len()).rev() {
        body.call(n);
        if body.random.chance(50) {
            body.block(2);
        }
    }
    let _ = body.may_leave(&[]);
    body.write_return();
    let text = format!("static void {name}(void) {{\n{}\n}}\n", body.lines.join("\n"));
    (Fun { name, params: vec![], ret: Ret::None, cost: body.cost, calls: vec![] }, text)
}

fn function(random: &mut Random, types: &Types, funs: &[Fun], name: String) -> (Fun, String) {
    let mut params = vec![];
    let n = types.records.len() as i64;
    for _ in 0..random.between(0, 3) {
        let p = random.below(n) as usize;
        let kind = *random.pick(&KeyKind::ALL);
        let has_reap = params.iter().any(|p| matches!(p, Param::Reap | Param::ReapLent));
        let f = &types.families;
        params.push(match random.below(24) {
            20 if f.outlives && !params.contains(&Param::Low) => Param::Low,
            21 if f.unions => Param::Variant,
            22 if f.unions => Param::Bound,
            23 if f.exchange => Param::Block,
            0 | 1 => Param::Lent(p),
            2..=4 => Param::Consume(p),
            5 | 6 => Param::Shared(p),
            7 => Param::View(p),
            8 => Param::Any(p),
            9 => Param::Counted(p),
            10 => Param::Release(p),
            11 => Param::Out(p),
            12 if types.may_give(p) => Param::Heap(p),
            13 if types.is_plain_value(p) => Param::Value(p),
            14 if types.is_plain_value(p) => Param::Whole(p),
            15 if !params.contains(&Param::Arena) => Param::Arena,
            16 if !has_reap => Param::Reap,
            17 if !has_reap => Param::ReapLent,
            18 if !params.iter().any(|p| matches!(p, Param::Key(_) | Param::GiveKey(_))) => {
                if random.chance(50) {
                    Param::Key(kind)
                } else {
                    Param::GiveKey(kind)
                }
            }
            19 => {
                if random.chance(50) {
                    Param::Pack
                } else {
                    Param::GivePack
                }
            }
            _ => Param::List,
        });
    }
    let p = random.below(n) as usize;
    let shared = params.iter().position(|p| matches!(p, Param::Shared(_)));
    let ret = match random.below(9) {
        0 | 1 => Ret::Unique(p),
        2 => Ret::Rc(p),
        3 if types.is_plain_value(p) => Ret::Val(p),
        4 => Ret::Pack,
        5 | 6 if params.contains(&Param::Arena) => Ret::List(0),
        5 | 6 if params.iter().any(|p| matches!(p, Param::Reap | Param::ReapLent)) => Ret::Queue(0),
        7 if shared.is_some() => Ret::Lent(shared.unwrap_or(0)),
        _ => Ret::None,
    };
    let mut body = Body::new(random, types, funs, ret);
    let mut words: Vec<String> = vec![];
    let t = types.tag.clone();
    let before = if params.contains(&Param::Low) { "generic <@up outlives @lo>\n" } else { "" };
    let mut result = ret;
    body.scope(None, false);
    for (n, param) in params.iter().enumerate() {
        let x = format!("arg{n}");
        let of = |p: usize| format!("struct {}", types.name(p));
        let mut lent = false;
        let (word, ty) = match *param {
            Param::Lent(p) => {
                lent = true;
                (format!("{} *unique {x}", of(p)), Ty::Unique(p))
            }
            Param::Consume(p) => (format!("consume {} *unique {x}", of(p)), Ty::Unique(p)),
            Param::Shared(p) => {
                if ret == Ret::Lent(n) {
                    result = Ret::Lent(body.vars.len());
                    (format!("{} *@z{n} {x}", of(p)), Ty::Borrow(p))
                } else {
                    (format!("{} *{x}", of(p)), Ty::Borrow(p))
                }
            }
            Param::View(p) => (format!("{} *view {x}", of(p)), Ty::View(p)),
            Param::Any(p) => (format!("{} *any {x}", of(p)), Ty::Any(p)),
            Param::Counted(p) => {
                lent = true;
                (format!("{} *rc {x}", of(p)), Ty::Rc(p))
            }
            Param::Release(p) => (format!("consume {} *rc {x}", of(p)), Ty::Rc(p)),
            Param::Out(p) => (format!("{} *unique *{x}", of(p)), Ty::Out(p)),
            Param::Heap(p) => (format!("{} *@heap {x}", of(p)), Ty::Heap(p)),
            Param::Value(p) => {
                lent = true;
                (format!("{} {x}", of(p)), Ty::Val(p))
            }
            Param::Whole(p) => (format!("consume {} {x}", of(p)), Ty::Val(p)),
            Param::Arena => {
                let r = body.add_region("ra".into(), Kind::ParamArena, Some("ra".into()));
                if matches!(ret, Ret::List(_)) {
                    result = Ret::List(r);
                }
                (format!("arena ra, struct {t}_R *@ra {x}"), Ty::List(r))
            }
            Param::Reap | Param::ReapLent => {
                lent = *param == Param::ReapLent;
                let r = body.add_region("rr".into(), Kind::ParamReap, Some("rr".into()));
                if matches!(ret, Ret::Queue(_)) {
                    result = Ret::Queue(r);
                }
                let consume = if lent { "" } else { "consume " };
                (format!("reap rr, {consume}struct {t}_Q *unique @rr {x}"), Ty::Queue(r))
            }
            Param::List => {
                let r = body.add_region(format!("li{n}"), Kind::ParamArena, None);
                (format!("struct {t}_R *@li{n} {x}"), Ty::List(r))
            }
            Param::Key(kind) | Param::GiveKey(kind) => {
                lent = matches!(param, Param::Key(_));
                let r = body.add_region("kd".into(), Kind::Key(kind), None);
                let key = format!("key{n}");
                let index = body.declare(key.clone(), Ty::Key(r), St::Live);
                body.vars[index].is_lent = lent;
                let consume = if lent { "" } else { "consume " };
                lent = false;
                (format!("{consume}{}<@kd> {key}, struct {t}_R *@kd {x}", kind.word()), Ty::List(r))
            }
            Param::Pack => {
                lent = true;
                (format!("struct {t}_K {x}"), Ty::Pack)
            }
            Param::GivePack => (format!("consume struct {t}_K {x}"), Ty::Pack),
            Param::Low => {
                let up = body.add_region("up".into(), Kind::ParamArena, None);
                let lo = body.add_region("lo".into(), Kind::ParamArena, None);
                body.facts.push((up, lo));
                body.declare("older".into(), Ty::Plain(up), St::Live);
                words.push(format!("struct {t}_N *@up older"));
                (format!("struct {t}_L *@lo {x}"), Ty::Low(lo))
            }
            Param::Variant => (format!("consume tagged union {t}_V {x}"), Ty::Variant),
            Param::Bound => {
                lent = true;
                (format!("struct {t}_U *unique {x}"), Ty::Bound)
            }
            Param::Block => (format!("consume struct {t}_E *@exchange {x}"), Ty::Block),
        };
        let index = body.declare(x, ty, St::Live);
        body.vars[index].is_lent = lent;
        words.push(word);
    }
    body.ret = result;
    body.block(8);
    body.write_return();
    let of = |p: usize| format!("struct {}", types.name(p));
    let back = match result {
        Ret::None => "void ".into(),
        Ret::Unique(p) => format!("{} *unique ", of(p)),
        Ret::Rc(p) => format!("{} *rc ", of(p)),
        Ret::Val(p) => format!("{} ", of(p)),
        Ret::Pack => format!("struct {t}_K "),
        Ret::List(_) => format!("struct {t}_R *@ra "),
        Ret::Queue(_) => format!("struct {t}_Q *unique @rr "),
        Ret::Lent(_) => match ret {
            Ret::Lent(n) => match params[n] {
                Param::Shared(p) => format!("{} *@z{n} ", of(p)),
                _ => "void ".into(),
            },
            _ => "void ".into(),
        },
    };
    // A parameter's name is its last word.
    let names: Vec<String> = words
        .iter()
        .flat_map(|w| w.split(", "))
        .filter_map(|w| Some(w.rsplit([' ', '*']).next()?.to_string()))
        .collect();
    let head = if words.is_empty() { "void".into() } else { words.join(", ") };
    let mut text = format!("{before}static {back}{name}({head}) {{\n{}\n}}\n", body.lines.join("\n"));
    let cost = body.cost;
    let mut calls = vec![format!("{name}(")];
    if types.families.pointers {
        let (more, others) = crate::pointers::others(random, &name, before, &back, &words, &names);
        text.push_str(&more);
        calls.extend(others);
    }
    (Fun { name, params, ret, cost, calls }, text)
}

impl Body<'_> {
    /// Declares something that can be passed for a parameter.
    fn provide(&mut self, param: Param) {
        let t = self.types.tag.clone();
        let ty = match param {
            Param::Lent(p) | Param::Shared(p) | Param::View(p) | Param::Any(p) | Param::Out(p) => Ty::Unique(p),
            Param::Counted(p) => Ty::Rc(p),
            Param::Value(p) => Ty::Val(p),
            Param::Pack => Ty::Pack,
            Param::Bound => Ty::Bound,
            Param::Low => return self.provide_low(),
            Param::Heap(p) => {
                let (of, u, s) = (self.types.name(p).to_string(), self.name("u"), self.name("s"));
                self.line(format!("struct {of} *unique {u} = mk_{of}(1);"));
                self.line(format!("{t}_given += wits_{of}({u});"));
                self.line(format!("struct {of} *@heap {s} = share({u});"));
                self.declare(s, Ty::Heap(p), St::Live);
                return;
            }
            Param::Arena | Param::Reap | Param::ReapLent => {
                let is_reap = param != Param::Arena;
                let (word, kind) = if is_reap { ("reap", Kind::Reap) } else { ("arena", Kind::Arena) };
                let (r, x) = (self.name("r"), self.name("x"));
                self.line(format!("{word} {r};"));
                let n = self.add_region(r.clone(), kind, Some(r.clone()));
                let (ty, of) = if is_reap { (Ty::Queue(n), "Q") } else { (Ty::List(n), "R") };
                let word = self.declared(ty, &x);
                self.line(format!("{word} = new({r}) struct {t}_{of}{{ .id = fresh(), .sum = mix(ids) }};"));
                self.declare(x, ty, St::Live);
                return;
            }
            Param::Key(kind) | Param::GiveKey(kind) => {
                self.key_of(kind);
                return;
            }
            _ => return,
        };
        let x = self.name("u");
        let (word, new) = (self.declared(ty, &x), self.fresh(ty));
        self.line(format!("{word} = {new};"));
        self.declare(x, ty, St::Live);
    }

    /// A call of some function.
    pub fn call_statement(&mut self) -> bool {
        if self.funs.is_empty() {
            return false;
        }
        let n = self.random.below(self.funs.len() as i64) as usize;
        self.call(n)
    }

    /// A call, if there is, or can be made, what it takes.
    pub fn call(&mut self, n: usize) -> bool {
        let fun = self.funs[n].clone();
        // A function may let other tasks run, or be called by its address.
        if self.slot_cursors > 0 || self.cost + self.trips * fun.cost > 6000 {
            return false;
        }
        for param in fun.params.clone() {
            if self.random.chance(70) {
                self.provide(param);
            }
        }
        let t = self.types.tag.clone();
        let mut words: Vec<String> = vec![];
        let mut used: Vec<Path> = vec![];
        let mut after: Vec<(Path, St)> = vec![];
        let mut region = HEAP;
        let mut lends: Option<(Path, usize)> = None;
        for (at, param) in fun.params.iter().enumerate() {
            let taken = used.clone();
            let apart = move |b: &Body, p: &Path| {
                let _ = b;
                !taken.iter().any(|u| u.root == p.root)
            };
            let lent = |b: &mut Body, how: Lending, ty: Ty| {
                b.some(|b, p| {
                    b.ty(p) == ty
                        && b.own(p).st == St::Live
                        && b.own(p).is_whole()
                        && b.may_lend(p, how)
                        && b.region_is_live(ty)
                        && apart(b, p)
                })
            };
            let moved = |b: &mut Body, ty: Ty| {
                b.some(|b, p| {
                    b.ty(p) == ty
                        && b.own(p).st == St::Live
                        && b.own(p).is_whole()
                        && b.is_free(p)
                        && b.region_is_live(ty)
                        && apart(b, p)
                })
            };
            match *param {
                Param::Lent(p) | Param::Any(p) | Param::View(p) | Param::Shared(p) => {
                    let how = match param {
                        Param::View(_) => Lending::View,
                        Param::Shared(_) => Lending::Borrow,
                        _ => Lending::Exclusive,
                    };
                    let Some(path) = lent(self, how, Ty::Unique(p)) else { return false };
                    words.push(self.text(&path));
                    if fun.ret == Ret::Lent(at) {
                        lends = Some((path.clone(), p));
                    }
                    used.push(path);
                }
                Param::Counted(p) => {
                    let Some(path) = lent(self, Lending::Exclusive, Ty::Rc(p)) else { return false };
                    words.push(self.text(&path));
                    used.push(path);
                }
                Param::Value(p) => {
                    let Some(path) = lent(self, Lending::Exclusive, Ty::Val(p)) else { return false };
                    words.push(self.text(&path));
                    used.push(path);
                }
                Param::Pack => {
                    let Some(path) = lent(self, Lending::Exclusive, Ty::Pack) else { return false };
                    words.push(self.text(&path));
                    used.push(path);
                }
                Param::Bound => {
                    let Some(path) = lent(self, Lending::Exclusive, Ty::Bound) else { return false };
                    words.push(self.text(&path));
                    used.push(path);
                }
                Param::Low => {
                    let low = self.some_var(|b, v| match v.ty {
                        Ty::Low(i) => {
                            b.regions[i].is_live()
                                && b.vars
                                    .iter()
                                    .any(|w| matches!(w.ty, Ty::Plain(o) if b.regions[o].is_live() && b.outlives(o, i)))
                        }
                        _ => false,
                    });
                    let Some(low) = low else { return false };
                    let Ty::Low(i) = self.vars[low].ty else { return false };
                    let Some(older) = self.outliving(i) else { return false };
                    words.push(self.vars[older].name.clone());
                    words.push(self.vars[low].name.clone());
                }
                Param::Consume(_)
                | Param::Release(_)
                | Param::Whole(_)
                | Param::GivePack
                | Param::Variant
                | Param::Block => {
                    let ty = match *param {
                        Param::Consume(p) => Ty::Unique(p),
                        Param::Variant => Ty::Variant,
                        Param::Block => Ty::Block,
                        Param::Release(p) => Ty::Rc(p),
                        Param::Whole(p) => Ty::Val(p),
                        _ => Ty::Pack,
                    };
                    match moved(self, ty) {
                        Some(path) if self.random.chance(60) && (ty != Ty::Pack || path.steps.is_empty()) => {
                            words.push(self.text(&path));
                            after.push((path.clone(), St::Moved));
                            used.push(path);
                        }
                        _ => {
                            let new = self.fresh(ty);
                            words.push(new);
                        }
                    }
                }
                Param::Out(p) => {
                    let found = self.some(|b, q| {
                        q.steps.is_empty()
                            && b.ty(q) == Ty::Unique(p)
                            && b.own(q).st != St::Moved
                            && b.own(q).is_whole()
                            && b.is_free(q)
                            && apart(b, q)
                    });
                    let Some(path) = found else { return false };
                    words.push(format!("&{}", self.text(&path)));
                    after.push((path.clone(), St::Maybe));
                    used.push(path);
                }
                Param::Heap(p) => {
                    let Some(n) = self.some_var(|_, v| v.ty == Ty::Heap(p)) else { return false };
                    words.push(self.vars[n].name.clone());
                }
                Param::Arena => {
                    let found = self.some_var(|b, v| match v.ty {
                        Ty::List(r) => {
                            b.handle(r).is_some()
                                && match b.regions[r].kind {
                                    Kind::Key(k) => !k.is_reap(),
                                    k => matches!(k, Kind::Arena | Kind::ParamArena),
                                }
                        }
                        _ => false,
                    });
                    let Some(n) = found else { return false };
                    let Ty::List(r) = self.vars[n].ty else { return false };
                    region = r;
                    words.push(self.handle(r).unwrap_or_default());
                    words.push(self.vars[n].name.clone());
                }
                Param::Reap | Param::ReapLent => {
                    let found = self.some(|b, p| match b.ty(p) {
                        Ty::Queue(r) => {
                            let own = b.own(p);
                            let handle = b.handle(r).is_some() && b.regions[r].is_reap();
                            handle && own.st == St::Live && own.is_whole() && b.is_free(p) && p.steps.is_empty()
                        }
                        _ => false,
                    });
                    let Some(path) = found else { return false };
                    let Ty::Queue(r) = self.ty(&path) else { return false };
                    if fun.params.contains(&Param::Arena) && matches!(fun.ret, Ret::List(_)) {
                        // The result's region is the arena's.
                    } else {
                        region = r;
                    }
                    words.push(self.handle(r).unwrap_or_default());
                    words.push(self.text(&path));
                    if *param == Param::Reap {
                        after.push((path.clone(), St::Moved));
                    }
                    used.push(path);
                }
                Param::List => {
                    let found = self.some_var(|b, v| matches!(v.ty, Ty::List(_)) && b.region_is_live(v.ty));
                    let Some(n) = found else { return false };
                    words.push(self.vars[n].name.clone());
                }
                Param::Key(kind) | Param::GiveKey(kind) => {
                    let gives = matches!(param, Param::GiveKey(_));
                    let depth = self.scopes.len();
                    let found = self.some(|b, p| match b.ty(p) {
                        Ty::Key(r) => {
                            b.regions[r].kind == Kind::Key(kind)
                                && b.regions[r].handle.is_none()
                                && b.own(p).st == St::Live
                                && b.may_lend(p, Lending::Exclusive)
                                && (!gives || (b.is_free(p) && b.vars[p.root].depth == depth))
                        }
                        _ => false,
                    });
                    let Some(path) = found else { return false };
                    let Ty::Key(r) = self.ty(&path) else { return false };
                    let Some(n) = self.some_var(|_, v| v.ty == Ty::List(r)) else { return false };
                    words.push(self.text(&path));
                    words.push(self.vars[n].name.clone());
                    if gives {
                        after.push((path.clone(), St::Moved));
                    }
                    used.push(path);
                }
            }
        }
        let call = if fun.calls.len() > 1 && self.random.chance(50) {
            let begin = self.random.pick(&fun.calls).clone();
            // Without arguments nothing follows the function.
            format!("{begin}{})", words.join(", "))
        } else {
            format!("{}({})", fun.name, words.join(", "))
        };
        for (path, st) in &after {
            self.set_st(path, *st);
        }
        self.cost += self.trips * fun.cost;
        match fun.ret {
            Ret::None => self.line(format!("{call};")),
            Ret::Unique(_) | Ret::Rc(_) | Ret::Val(_) | Ret::Pack => {
                let (ty, x) = (fun.ret.owned_type(), self.name("y"));
                let word = self.declared(ty, &x);
                self.line(format!("{word} = {call};"));
                self.declare(x, ty, St::Live);
            }
            Ret::List(_) => {
                let x = self.name("x");
                if self.random.chance(50) {
                    self.line(format!("struct {t}_R *{x} = {call};"));
                } else {
                    let word = self.declared(Ty::List(region), &x);
                    self.line(format!("{word} = {call};"));
                }
                self.declare(x, Ty::List(region), St::Live);
            }
            Ret::Queue(_) => {
                let x = self.name("q");
                let word = self.declared(Ty::Queue(region), &x);
                self.line(format!("{word} = {call};"));
                self.declare(x, Ty::Queue(region), St::Live);
            }
            Ret::Lent(_) => {
                let Some((path, p)) = lends else { return false };
                let x = self.name("p");
                let of = self.types.name(p).to_string();
                self.open("{");
                self.line(format!("struct {of} *{x} = {call}; bump_{of}({x});"));
                self.pin(path, Lending::Exclusive);
                self.declare(x, Ty::Borrow(p), St::Live);
                self.block(3);
                self.close("}");
            }
        }
        true
    }
}
