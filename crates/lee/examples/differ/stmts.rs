//! Random statements: declarations, assignments, conditions, loops of all kinds, switches, jumps,
//! `defer`.

use crate::gen::{Buf, Gen, Reach, Var};
use crate::ints::Int;

/// Loops run at most so often, all levels together.
const TRIPS: i64 = 3000;
/// Output inside of loops only up to here.
const CHATTY: i64 = 120;

/// What is in scope, to go back to.
pub struct Mark(usize, usize, usize);

impl Gen {
    pub fn mark(&self) -> Mark {
        Mark(self.vars.len(), self.bufs.len(), self.fields.len())
    }

    pub fn back(&mut self, mark: Mark) {
        self.vars.truncate(mark.0);
        self.bufs.truncate(mark.1);
        self.fields.truncate(mark.2);
    }

    /// Some statements.
    pub fn stmts(&mut self, count: i64, depth: u32) {
        for _ in 0..count {
            if self.budget <= 0 {
                return;
            }
            self.stmt(depth);
        }
    }

    /// A block's inside; what it declares is forgotten after it.
    pub fn inside(&mut self, count: i64, depth: u32) {
        let mark = self.mark();
        self.stmts(count, depth);
        self.back(mark);
    }

    /// One statement.
    pub fn stmt(&mut self, depth: u32) {
        self.budget -= 1;
        let nested = depth > 0;
        match self.random.below(40) {
            0..=3 => self.declare(),
            4..=9 => self.assign(),
            10..=12 => self.mix(),
            13 | 14 => self.say(),
            15 | 16 if nested => self.branch(depth),
            17..=20 if nested => self.count_loop(depth),
            21 | 22 if nested => self.walk_buffer(depth),
            23 if nested => self.wrapping_loop(depth),
            24 if nested => self.while_loop(depth),
            25 if nested => self.two_ends(depth),
            26 if nested => self.switch(depth),
            27 if nested => self.deferred(depth),
            28 if nested => self.jump(depth),
            29 => self.pointer_walk(),
            30 => self.exchange(),
            31..=34 if nested => self.shape(),
            35..=38 => self.data(depth),
            _ => self.assign(),
        }
    }

    pub fn declare(&mut self) {
        let (e, ty) = (self.ex(3), self.int());
        let name = self.local("x");
        self.out.line(&format!("{} {name} = {};", ty.name(), e.text));
        self.vars.push(Var { name, ty, low: ty.min(), high: ty.max(), below: None, free: true });
    }

    pub fn assign(&mut self) {
        let Some(place) = self.place(2) else { return self.declare() };
        let e = self.ex(3);
        if self.random.chance(50) || place.bits {
            return self.out.line(&format!("SET({}, {});", place.text, e.text));
        }
        let text = match self.random.below(12) {
            0 => format!("FNSET({}, SHL, <<, {})", place.text, e.text),
            1 => format!("FNSET({}, SHR, >>, {})", place.text, e.text),
            2 | 3 => {
                let (word, op) = *self.random.pick(&[("DIV", "/"), ("REM", "%")]);
                let one = if e.fixed || !self.pushed() { "| 1" } else { "& 1" };
                format!("FNSET({}, {word}, {op}, ({} {one}))", place.text, e.text)
            }
            _ => {
                let op = *self.random.pick(&["+", "-", "*", "&", "|", "^", "+"]);
                format!("OPSET({}, {op}, {})", place.text, e.text)
            }
        };
        self.out.line(&format!("{text};"));
    }

    /// What the function will give back depends on this.
    pub fn mix(&mut self) {
        let e = self.ex(3);
        self.out.line(&format!("SET(h, h * 31 + (u64){});", e.text));
    }

    pub fn say(&mut self) {
        if self.trips > CHATTY {
            return self.mix();
        }
        let e = self.ex(3);
        self.tags += 1;
        self.out.line(&format!("say({}, (i64){});", self.tags, e.text));
    }

    /// Also in loops that run often, but then seldom.
    pub fn tell(&mut self, value: &str) {
        if self.trips <= CHATTY {
            self.tags += 1;
            self.out.line(&format!("say({}, (i64){value});", self.tags));
        } else {
            self.out.line(&format!("SET(h, h * 33 + (u64){value});"));
        }
    }

    fn branch(&mut self, depth: u32) {
        // A guard makes facts that range analysis believes: x < n, x >= 0 && x < n.
        let mark = self.mark();
        let guarded = self.random.chance(50) && !self.vars.is_empty();
        if guarded {
            let at = self.random.below(self.vars.len() as i64) as usize;
            let var = self.vars[at].clone();
            let (low, high) = (self.random.between(0, 3), self.random.between(3, 20));
            let (low, high) = (low.max(var.ty.min()), high);
            let text = match self.random.below(4) {
                0 => format!("{0} >= {low} && {0} <= {high}", var.name),
                1 => format!("!({0} < {low} || {0} > {high})", var.name),
                2 => format!("{low} <= {0} && {0} < {1}", var.name, high + 1),
                _ => format!("(u64){0} - {low}u <= {1}u", var.name, high - low),
            };
            self.out.line(&format!("if ({text}) {{"));
            self.vars.push(Var { low, high, below: None, free: false, ..var });
        } else {
            let e = self.ex(3);
            self.out.line(&format!("if ({}) {{", e.text));
        }
        let count = self.random.between(1, 3);
        self.stmts(count, depth - 1);
        self.back(mark);
        if self.random.chance(35) {
            self.out.line("}");
            self.out.line("else {");
            let count = self.random.between(1, 2);
            self.inside(count, depth - 1);
        }
        self.out.line("}");
    }

    /// A loop's counter.
    pub fn counter(&mut self, name: &str, ty: Int, low: i64, high: i64, below: Option<String>) {
        self.vars.push(Var { name: name.into(), ty, low, high, below, free: false });
    }

    /// A body between braces that are written already.
    pub fn body(&mut self, trips: i64, depth: u32) {
        let before = self.trips;
        self.trips = before.saturating_mul(trips.max(1));
        let count = self.random.between(1, 3);
        self.stmts(count, depth - 1);
        if self.random.chance(20) {
            let e = self.ex(2);
            let word = *self.random.pick(&["break", "continue", "break"]);
            self.out.line(&format!("if ({}) {word};", e.text));
            self.stmts(1, depth - 1);
        }
        self.trips = before;
    }

    fn room(&self, trips: i64) -> bool {
        self.trips * trips <= TRIPS
    }

    /// `for` with a known number of rounds, up or down.
    fn count_loop(&mut self, depth: u32) {
        let n = self.random.between(1, 14);
        if !self.room(n) {
            return self.assign();
        }
        let mark = self.mark();
        let low = if self.random.chance(60) { 0 } else { self.random.between(0, 4) };
        let step = if self.random.chance(75) { 1 } else { self.random.between(2, 4) };
        let high = low + (n - 1) * step;
        let ty = loop {
            let ty = self.int();
            if ty.holds(low - 4, high + 8) || (low == 0 && !ty.signed()) {
                break ty;
            }
        };
        let (t, i) = (ty.name(), self.local("i"));
        let more = self.more();
        let head = match self.random.below(7) {
            0 | 1 => format!("{t} {i} = {low}; {i} < {}{more}; {i} += {step}", high + 1),
            2 => format!("{t} {i} = {low}; {i} <= {high}{more}; {i} += {step}"),
            3 if ty.signed() => format!("{t} {i} = {high}{more}; {i} >= {low}; {i} -= {step}"),
            4 if !ty.signed() && step == 1 => format!("{t} {i} = {}{more}; {i}-- > {low};", high + 1),
            5 => format!("{t} {i} = {low}; {i} != {}; {i} += {step}", low + n * step),
            _ if step == 1 => format!("{t} {i} = {low}; {i} < {}{more}; {i}++", high + 1),
            _ => format!("{t} {i} = {low}; {i} < {}{more}; {i} = {i} + {step}", high + 1),
        };
        self.out.line(&format!("for ({head}) {{"));
        self.counter(&i, ty, low, high, None);
        self.body(n, depth);
        self.out.line("}");
        self.back(mark);
    }

    /// Over all elements of a buffer, by its own length.
    fn walk_buffer(&mut self, depth: u32) {
        let Some(buf) = self.some_row() else { return self.declare() };
        if !self.room(buf.most) || buf.most == 0 {
            return self.assign();
        }
        let mark = self.mark();
        let ty = *self.random.pick(&[Int::I32, Int::U32, Int::I64, Int::U64, Int::I32, Int::U64, Int::U16]);
        let (t, i) = (ty.name(), self.local("i"));
        let (n, more) = (buf.length(), self.more());
        let (mut n_text, mut below) = (n.clone(), buf.length.clone());
        if self.random.chance(40) {
            // The bound in a variable of its own, which may be of another type.
            let name = self.local("n");
            let nt = *self.random.pick(&[Int::I32, Int::U32, Int::I64, Int::U64]);
            self.out.line(&format!("{} {name} = {n}{more};", nt.name()));
            if self.random.chance(30) {
                let free = self.random.chance(50);
                self.vars.push(Var {
                    name: name.clone(),
                    ty: nt,
                    low: buf.least,
                    high: buf.most,
                    below: None,
                    free: false,
                });
                if free && buf.least > 1 {
                    self.out.line(&format!("{name} -= 1;"));
                }
            }
            (n_text, below) = (name.clone(), below.or(Some(name)));
        } else {
            n_text.push_str(&more);
        }
        let head = match self.random.below(5) {
            0 if !ty.signed() => format!("{t} {i} = {n_text}; {i}-- > 0;"),
            0 | 1 if ty.signed() => format!("{t} {i} = ({t})({n_text}) - 1; {i} >= 0; {i}--"),
            2 => format!("{t} {i} = 0; ({t})({n_text}) > {i}; ++{i}"),
            3 => format!("{t} {i} = 0; {i} + 1 <= ({t})({n_text}); {i}++"),
            _ => format!("{t} {i} = 0; {i} < ({t})({n_text}); {i}++"),
        };
        self.out.line(&format!("for ({head}) {{"));
        self.counter(&i, ty, 0, buf.most - 1, below);
        let off = self.off();
        let element = buf.at(&format!("{i}{off}"));
        match self.random.below(4) {
            0 if buf.write => {
                let e = self.ex(2);
                self.out.line(&format!("SET({element}, {});", e.text));
            }
            1 if buf.write => {
                let e = self.ex(2);
                self.out.line(&format!("OPSET({element}, +, {});", e.text));
            }
            2 if self.trips * buf.most <= CHATTY => {
                self.tags += 1;
                self.out.line(&format!("say({}, (i64){element});", self.tags));
            }
            _ => self.out.line(&format!("SET(h, h * 31 + (u64){element});")),
        }
        self.body(buf.most, depth);
        self.out.line("}");
        self.back(mark);
    }

    /// A counter that passes its type's end.
    fn wrapping_loop(&mut self, depth: u32) {
        let ty = *self.random.pick(&[Int::U8, Int::I8, Int::U8, Int::U16, Int::I16, Int::U32, Int::I32, Int::U64]);
        let n = self.random.between(2, 12);
        if !self.room(n) {
            return self.assign();
        }
        let mark = self.mark();
        let ahead = self.random.between(1, n);
        let (t, i, left) = (ty.name(), self.local("i"), self.local("left"));
        let (start, end) = match ty {
            Int::U64 => (format!("-{ahead}ul"), format!("{}", n - ahead)),
            _ => (format!("{}", ty.max() - ahead + 1), format!("({t})({}u + {}u)", ty.max(), n - ahead + 1)),
        };
        let up = self.random.chance(60);
        let (from, to, step) = if up { (start, end, "++") } else { (end, start, "--") };
        if self.random.chance(50) {
            self.out.line(&format!("for ({t} {i} = {from}; {i} != {to}; {i}{step}) {{"));
        } else {
            self.out.line(&format!("i32 {left} = {n};"));
            self.out.line(&format!("for ({t} {i} = {from}; {left}-- > 0; {i}{step}) {{"));
        }
        self.counter(&i, ty, ty.min(), ty.max(), None);
        // What is small enough of the counter is an index as it stands.
        if let Some(buf) = self.some_row().filter(|b| b.least > 0) {
            let text = format!("({i} >= 0 && {i} < {} ? (i64){i} : {})", buf.least, buf.least - 1);
            let off = self.off();
            let element = buf.at(&format!("({text}{off})"));
            self.out.line(&format!("SET(h, h * 31 + (u64){element});"));
        }
        self.body(n, depth);
        self.out.line("}");
        self.back(mark);
    }

    /// `while` and `do`, with a step at the end or in the middle.
    fn while_loop(&mut self, depth: u32) {
        let n = self.random.between(1, 12);
        if !self.room(n) {
            return self.assign();
        }
        let mark = self.mark();
        let ty = *self.random.pick(&[Int::I32, Int::U32, Int::I64, Int::U64, Int::I16]);
        let (t, i) = (ty.name(), self.local("w"));
        let more = self.more();
        self.out.line(&format!("{t} {i} = 0;"));
        let first = self.random.chance(50);
        let by_do = self.random.chance(40);
        if by_do {
            self.out.line("do {");
        } else {
            self.out.line(&format!("while ({i} < {n}{more}) {{"));
        }
        if first {
            self.out.line(&format!("{i}++;"));
            self.counter(&i, ty, 1, n, None);
        } else {
            self.counter(&i, ty, 0, n - 1, None);
        }
        // A `continue` would pass the step at the end, so there is none.
        let before = self.trips;
        self.trips *= n;
        let count = self.random.between(1, 3);
        self.stmts(count, depth - 1);
        if self.random.chance(25) {
            let e = self.ex(2);
            self.out.line(&format!("if ({}) break;", e.text));
        }
        self.trips = before;
        if !first {
            let step = if self.random.chance(70) { 1 } else { 2 };
            self.out.line(&format!("{i} += {step};"));
        }
        if by_do {
            self.out.pair(&format!("}} while ({i} < {n}{more});"), &format!("}} while ({i} < {n}{more});"));
        } else {
            self.out.line("}");
        }
        self.back(mark);
    }

    /// Two counters that come towards each other.
    fn two_ends(&mut self, depth: u32) {
        let Some(buf) = self.some_target().filter(|b| b.least > 1) else { return self.assign() };
        if !self.room(buf.most / 2 + 1) {
            return self.assign();
        }
        let mark = self.mark();
        let ty = *self.random.pick(&[Int::I32, Int::U64, Int::I64, Int::U32]);
        let (t, i, j) = (ty.name(), self.local("i"), self.local("j"));
        let (n, off) = (buf.length(), self.off());
        self.out.line(&format!("for ({t} {i} = 0, {j} = {n} - 1; {i} < {j}; {i}++, {j}--) {{"));
        self.counter(&i, ty, 0, buf.most - 1, None);
        self.counter(&j, ty, 0, buf.most - 1, None);
        let (a, b) = (buf.at(&i), buf.at(&format!("{j}{off}")));
        self.out.line(&format!("EXCHANGE({a}, {b});"));
        self.body(buf.most / 2 + 1, depth);
        self.out.line("}");
        self.back(mark);
    }

    fn switch(&mut self, depth: u32) {
        let e = self.ex(2);
        self.out.line(&format!("switch ((i32)({} & 7)) {{", e.text));
        let mut next = 0;
        while next < 7 && self.random.chance(75) {
            let wide = self.random.chance(25);
            let label = if wide { format!("case {next} ... {}: {{", next + 1) } else { format!("case {next}: {{") };
            next += 1 + i64::from(wide) + self.random.below(2);
            self.out.line(&label);
            let count = self.random.between(1, 2);
            self.inside(count, depth - 1);
            self.out.line("}");
            if self.random.chance(70) {
                self.out.line("break;");
            }
        }
        self.out.line("default: {");
        self.inside(1, depth - 1);
        self.out.line("}");
        self.out.line("}");
    }

    /// A block that says something when it is left.
    fn deferred(&mut self, depth: u32) {
        let mark = self.mark();
        self.out.line("do {");
        let (e, id) = (self.ex(2), self.local("d"));
        let statement = if self.trips <= CHATTY {
            self.tags += 1;
            format!("say({}, (i64){})", self.tags, e.text)
        } else {
            format!("SET(h, h * 7 + (u64){})", e.text)
        };
        let lee = format!("defer {{ {}; }}", crate::text::leeward(&statement));
        let c = format!("void {id}(int *u) {{ {statement}; }} int {id}v __attribute__((cleanup({id})));");
        self.out.pair(&lee, &c);
        let count = self.random.between(1, 3);
        self.stmts(count, depth - 1);
        if self.random.chance(40) {
            let e = self.ex(2);
            match self.result {
                Some(_) if self.random.chance(30) => {
                    self.out.line(&format!("if ({}) return h;", e.text));
                }
                _ => self.out.line(&format!("if ({}) break;", e.text)),
            }
            self.stmts(1, depth - 1);
        }
        self.out.line("} while (0);");
        self.back(mark);
    }

    /// Forwards over statements, or backwards a few times.
    fn jump(&mut self, depth: u32) {
        let label = self.local("l");
        let e = self.ex(2);
        if self.random.chance(50) {
            self.out.line(&format!("if ({}) goto {label};", e.text));
            self.out.line("{");
            self.inside(2, depth - 1);
            self.out.line("}");
            self.out.line(&format!("{label}:;"));
            return;
        }
        let n = self.random.between(1, 6);
        if !self.room(n) {
            return self.assign();
        }
        let i = self.local("g");
        self.out.line(&format!("i32 {i} = 0;"));
        self.out.line(&format!("{label}:;"));
        let mark = self.mark();
        self.counter(&i, Int::I32, 0, n - 1, None);
        self.out.line("{");
        let before = self.trips;
        self.trips *= n;
        self.inside(2, depth - 1);
        self.trips = before;
        self.out.line("}");
        self.back(mark);
        let more = self.more();
        self.out.line(&format!("if (++{i} < {n}{more}) goto {label};"));
    }

    /// A pointer that walks over a buffer.
    fn pointer_walk(&mut self) {
        let Some(buf) = self.some_row().filter(|b| b.least > 0 && self.trips * b.most <= TRIPS) else {
            return self.declare();
        };
        let (p, end, t) = (self.local("p"), self.local("e"), buf.elem.name());
        let (n, k) = (buf.length(), self.random.between(1, 2));
        let constant = if buf.write { "" } else { "const " };
        self.out.line("{");
        let declare = |g: &mut Gen, name: &str, value: &str| {
            let lee = format!("{constant}{t} *{name} = {};", crate::text::leeward(value));
            g.out.pair(&lee, &format!("F_{t} {name} = {value};"));
        };
        declare(self, &p, &buf.fat());
        match self.random.below(5) {
            0 => {
                let more = self.more();
                declare(self, &end, &format!("ADD({p}, ({n}{more}))"));
                self.out.line(&format!("for (; PCMP(<, {p}, {end}); MOVE({p}, {k})) {{"));
                let off = self.off();
                self.out.line(&format!("SET(h, h * 31 + (u64)PAT({p}, 0{off}));"));
                self.tell(&format!("PDIFF({p}, {})", buf.fat()));
                self.out.line("}");
            }
            1 => {
                let more = self.more();
                let left = self.local("k");
                self.out.line(&format!("for (i64 {left} = {n}{more}; {left} > 0; {left}--) {{"));
                if buf.write {
                    let e = self.ex(1);
                    self.out.line(&format!("SET(STARINC({p}), {});", e.text));
                } else {
                    self.out.line(&format!("SET(h, h * 5 + (u64)STARINC({p}));"));
                }
                self.out.line("}");
            }
            2 => {
                let more = self.more();
                let left = self.local("k");
                self.out.line(&format!("MOVE({p}, {n});"));
                self.out.line(&format!("for (u64 {left} = {n}{more}; {left}-- > 0;) {{"));
                self.out.line(&format!("SET(h, h * 5 + (u64)STARDEC({p}));"));
                self.out.line("}");
            }
            3 => {
                let start = self.random.below(buf.least);
                self.out.line(&format!("MOVE({p}, {start});"));
                let i = self.local("i");
                self.out.line(&format!("for (i32 {i} = -{start}; {i} < {}; {i}++) {{", buf.least - start));
                let off = self.off();
                self.out.line(&format!("SET(h, h * 3 + (u64)PAT({p}, {i}{off}));"));
                self.out.line("}");
                self.out.line(&format!("SET(h, h + LEN({p}));"));
            }
            _ => {
                let e = self.ex(1);
                self.out.line(&format!("MOVE({p}, ((u32){} % {}u));", e.text, buf.least));
                let off = self.off();
                self.out.line(&format!("SET(h, h * 3 + (u64)PAT({p}, 0{off}));"));
                if buf.write {
                    self.out.line(&format!("OPSET(STAR({p}), ^, 5);"));
                }
            }
        }
        self.out.line("}");
    }

    fn exchange(&mut self) {
        let Some(buf) = self.some_target() else { return self.assign() };
        let (a, b) = (self.index(buf.least, buf.length.clone(), 1), self.index(buf.least, buf.length.clone(), 1));
        // The places are computed once both indices are, which C's macro cannot do; so the indices
        // come first.
        let (i, j) = (self.local("i"), self.local("j"));
        self.out.line(&format!("i64 {i} = {}, {j} = {};", a.text, b.text));
        self.out.line(&format!("EXCHANGE({}, {});", buf.at(&i), buf.at(&j)));
    }

    /// Declares a buffer: on the stack, or from the heap.
    pub fn declare_buffer(&mut self) {
        let elem = self.int();
        let (t, n, name) = (elem.name(), self.random.between(2, 20), self.local("a"));
        let mut buf = Buf { reach: Reach::Array(name.clone()), elem, least: n, most: n, length: None, write: true };
        match self.random.below(6) {
            0 | 1 => {
                let first: Vec<String> = (0..self.random.below(n + 1)).map(|_| self.literal().text).collect();
                if first.is_empty() {
                    self.out.line(&format!("{t} {name}[{n}] ZEROED();"));
                } else {
                    self.out.line(&format!("{t} {name}[{n}] = {{ {} }};", first.join(", ")));
                }
            }
            2 => {
                let columns = self.random.between(2, 6);
                let rows = self.random.between(2, 6);
                self.out.line(&format!("{t} {name}[{rows}][{columns}] ZEROED();"));
                buf.reach = Reach::Matrix(name, rows, columns);
                (buf.least, buf.most) = (rows, rows);
            }
            3 => {
                let less = self.off_down();
                self.heap(&mut buf, &format!("HEAP({t}, {n}{less})"), name);
            }
            4 => {
                let count = self.local("n");
                let nt = *self.random.pick(&[Int::I32, Int::U64, Int::I64, Int::U8]);
                let less = self.off_down();
                self.out.line(&format!("{} {count} = {n}{less};", nt.name()));
                self.heap(&mut buf, &format!("HEAP({t}, {count})"), name);
                buf.length = Some(count);
            }
            _ => {
                let less = self.off_down();
                self.heap(&mut buf, &format!("FRESH({t}, {n}{less})"), name.clone());
                buf.length = Some(format!("LEN({name})"));
            }
        }
        self.bufs.push(buf);
    }

    fn heap(&mut self, buf: &mut Buf, value: &str, name: String) {
        let t = buf.elem.name();
        let lee = format!("{} {name} = {};", buf.elem.pointer(), crate::text::leeward(value));
        self.out.pair(&lee, &format!("F_{t} {name} = {value};"));
        buf.reach = Reach::Fat(name);
    }

    /// One less than a program needs, if pushed.
    pub fn off_down(&mut self) -> String {
        if self.pushed() {
            " - 1".into()
        } else {
            String::new()
        }
    }
}
