//! A whole random program: types, globals, a few functions, and the entry that runs it.

use crate::gen::{Buf, Gen, Param, Reach, Var};
use crate::rng::mixed;

/// A program in both languages.
pub struct Program {
    /// Its entry's name.
    pub entry: String,
    /// The text for Leeward.
    pub lee: String,
    /// The text for C.
    pub c: String,
    /// Lines of the text for Leeward.
    pub lines: usize,
    /// Places where a fault could be put in.
    pub sites: u32,
}

/// The program of that seed. With a variant above 0, something in it is pushed out of range.
pub fn program(seed: u64, variant: u32, line: usize) -> Program {
    if variant == 0 {
        return written(seed, variant, None, line);
    }
    let sites = written(seed, variant, None, line).sites;
    let choice = mixed(seed.wrapping_mul(0x1_0001).wrapping_add(u64::from(variant)));
    let site = 1 + (choice % u64::from(sites.max(1))) as u32;
    written(seed, variant, Some(site), line)
}

fn written(seed: u64, variant: u32, push: Option<u32>, line: usize) -> Program {
    let tag = if variant == 0 { format!("{seed}") } else { format!("{seed}v{variant}") };
    let force = mixed(seed ^ u64::from(variant) << 32);
    let mut g = Gen::new(seed, &tag, push, force);
    g.out.lines = line;
    g.globals();
    if g.random.chance(40) {
        g.generic();
    }
    for _ in 0..g.random.between(1, 2) {
        g.function();
    }
    let entry = g.entry();
    Program { entry, lines: g.out.lines - line, lee: g.out.lee, c: g.out.c, sites: g.sites }
}

impl Gen {
    fn function(&mut self) {
        let mark = self.mark();
        let (name, result) = (self.name("f"), self.int());
        let mut params = vec![];
        let (mut lee, mut c): (Vec<String>, Vec<String>) = (vec![], vec![]);
        let wanted = self.random.between(0, 2);
        for _ in 0..wanted {
            match self.random.below(3) {
                0 => {
                    let (ty, x) = (self.int(), self.local("x"));
                    params.push(Param::Int);
                    lee.push(format!("{} {x}", ty.name()));
                    c.push(format!("{} {x}", ty.name()));
                    let (low, high) = (ty.min(), ty.max());
                    self.vars.push(Var { name: x, ty, low, high, below: None, free: true });
                }
                1 => {
                    let (elem, a, least) = (self.int(), self.local("a"), self.random.between(0, 4));
                    let t = elem.name();
                    params.push(Param::Fat(elem, least));
                    lee.push(format!("{t} *fat {a}"));
                    c.push(format!("F_{t} {a}"));
                    let length = Some(format!("LEN({a})"));
                    let reach = Reach::Fat(a);
                    self.bufs.push(Buf { reach, elem, least, most: 24, length, write: true });
                }
                _ => {
                    let (elem, a, n) = (self.int(), self.local("a"), self.local("n"));
                    let (t, least) = (elem.name(), self.random.between(0, 4));
                    params.push(Param::Counted(elem, least));
                    lee.push(format!("{t} *counted_by({n}) {a}, i32 {n}"));
                    c.push(format!("F_{t} {a}, i32 {n}"));
                    let reach = Reach::Fat(a);
                    self.bufs.push(Buf { reach, elem, least, most: 24, length: Some(n), write: true });
                }
            }
        }
        let (lee, c) = if params.is_empty() { ("void".into(), "void".into()) } else { (lee.join(", "), c.join(", ")) };
        let r = result.name();
        self.out.pair(&format!("static {r} {name}({lee}) {{"), &format!("static {r} {name}({c}) {{"));
        self.out.line("u64 h = 1;");
        self.result = Some(result);
        self.trips = 20;
        self.budget = self.random.between(4, 11);
        let count = self.budget;
        self.stmts(count, 3);
        self.out.line(&format!("return ({r})h;"));
        self.out.line("}");
        self.trips = 1;
        self.back(mark);
        self.funs.push(crate::gen::Fun { name, params, result });
    }

    fn entry(&mut self) -> String {
        let name = self.name("run");
        self.out.line(&format!("static void {name}(void) {{"));
        self.out.line("u64 h = 1;");
        self.result = None;
        self.declare_buffer();
        self.budget = self.random.between(9, 20);
        while self.budget > 0 {
            if self.random.chance(8) {
                self.budget -= 1;
                self.instance();
            }
            self.stmt(3);
        }
        self.out.line("say(0, (i64)h);");
        let ends: Vec<String> = self.bufs.iter().filter(|b| b.least > 0).map(|b| b.at("0")).collect();
        for (n, end) in ends.into_iter().enumerate().take(6) {
            self.out.line(&format!("say({}, (i64){end});", 1000 + n));
        }
        let ends: Vec<String> = self.vars.iter().map(|v| v.name.clone()).collect();
        for (n, end) in ends.into_iter().enumerate().take(6) {
            self.out.line(&format!("say({}, (i64){end});", 2000 + n));
        }
        self.out.line("}");
        name
    }
}
