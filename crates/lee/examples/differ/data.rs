//! Programs' data: globals, structs, counted fields, tagged unions, strings, nodes, and statements
//! over them.

use crate::gen::{Buf, Gen, Reach, Var};
use crate::ints::{Int, ALL};
use crate::text::leeward;

impl Gen {
    /// Types and globals of the program.
    pub fn globals(&mut self) {
        let tag = self.tag.clone();
        self.out
            .line(&format!("struct cell_{tag} {{ i32 value; u8 small; i64 row[4]; u32 low : 5; i32 high : 11; }};"));
        self.out.line(&format!("struct node_{tag} {{ i32 value; struct node_{tag} *next; }};"));
        for t in ["i32", "u8", "i64"] {
            self.out.pair(
                &format!("struct vec_{t}_{tag} {{ {t} *counted_by(n) items; i32 n; }};"),
                &format!("struct vec_{t}_{tag} {{ {t} *items; i32 n; i64 room; }};"),
            );
        }
        self.out.pair(
            &format!("tagged union value_{tag} {{ i32 number; i64 wide; u8 small; }};"),
            &format!("struct value_{tag} {{ int tag; union {{ i32 number; i64 wide; u8 small; }}; }};"),
        );
        self.out.pair(
            &format!("struct item_{tag} {{ i32 kind; union {{ i64 n; i32 pair[2]; u8 c; }} u tagged_by(kind) {{ 1: n, 2: pair, 3: c }}; }};"),
            &format!("struct item_{tag} {{ i32 kind; union {{ i64 n; i32 pair[2]; u8 c; }} u; }};"),
        );
        for _ in 0..self.random.between(1, 3) {
            let (ty, name) = (self.int(), self.name("g"));
            let first = self.literal();
            self.out.line(&format!("static {} {name} = ({}){};", ty.name(), ty.name(), first.text));
            self.vars.push(Var { name, ty, low: ty.min(), high: ty.max(), below: None, free: true });
        }
        for _ in 0..self.random.between(1, 3) {
            let (elem, n, name) = (self.int(), self.random.between(3, 24), self.name("ga"));
            self.out.line(
                &format!("static {} {name}[{n}] = {{ 3, 1, 4, 1, 5 }};", elem.name())
                    .replace("{ 3, 1, 4, 1, 5 }", if n < 5 { "{ 3, 1 }" } else { "{ 3, 1, 4, 1, 5 }" }),
            );
            self.bufs.push(Buf {
                reach: Reach::Array(name.clone()),
                elem,
                least: n,
                most: n,
                length: None,
                write: true,
            });
            if self.random.chance(30) {
                // The same elements by another name.
                let alias = self.name("gp");
                let t = elem.name();
                self.out.pair(
                    &format!("static {t} *fat {alias} = {name};"),
                    &format!("static F_{t} {alias} = {{ {name}, 0, {n} }};"),
                );
                let length = if self.random.chance(50) { Some(format!("LEN({alias})")) } else { None };
                let reach = Reach::Fat(alias);
                self.bufs.push(Buf { reach, elem, least: n, most: n, length, write: true });
            }
        }
        let name = self.name("gs");
        self.out.line(&format!("static struct cell_{tag} {name};"));
        self.cell_fields(&name);
    }

    /// The fields of a struct value (or of what a text with `->` left out leads to).
    fn cell_fields(&mut self, name: &str) {
        let field = |f: &str| format!("{name}.{f}");
        self.fields.push((field("value"), Int::I32, false));
        self.fields.push((field("small"), Int::U8, false));
        self.fields.push((field("low"), Int::U32, true));
        self.fields.push((field("high"), Int::I32, true));
        let reach = Reach::Array(field("row"));
        self.bufs.push(Buf { reach, elem: Int::I64, least: 4, most: 4, length: None, write: true });
    }

    /// A statement about data.
    pub fn data(&mut self, depth: u32) {
        match self.random.below(14) {
            0..=3 => self.declare_buffer(),
            4 | 5 => self.vector(),
            6 | 7 => self.vector_change(),
            8 => self.cells(),
            9 => self.nodes(),
            10 => self.tagged(),
            11 => self.kinds(),
            12 => self.string(),
            _ if depth > 0 => self.stack(),
            _ => self.declare_buffer(),
        }
    }

    /// A struct with a counted field.
    fn vector(&mut self) {
        let tag = self.tag.clone();
        let elem = *self.random.pick(&[Int::I32, Int::U8, Int::I64]);
        let (t, name, n) = (elem.name(), self.local("v"), self.random.between(2, 16));
        let value = self.local("s");
        self.out.pair(
            &format!("struct vec_{t}_{tag} {value} = {{ nullptr, 0 }};"),
            &format!("struct vec_{t}_{tag} {value} = {{ NULL, 0, 0 }};"),
        );
        self.out.line(&format!("struct vec_{t}_{tag} *{name} = &{value};"));
        self.grown(elem, &name, "0", n);
        let length = if self.random.chance(70) { Some(format!("{name}->n")) } else { None };
        self.bufs.push(Buf { reach: Reach::Counted(name), elem, least: n, most: n, length, write: true });
    }

    /// `realloc` to `n` elements, those after `old` filled.
    fn grown(&mut self, elem: Int, name: &str, old: &str, n: i64) {
        let (t, i, less) = (elem.name(), self.local("i"), self.off_down());
        self.out.line(&format!("GROW({t}, {name}, items, {n}{less});"));
        self.out.line(&format!("SETROOM({name}, items, n, {n});"));
        let a = self.random.between(1, 9);
        self.out.line(&format!("for (i32 {i} = {old}; {i} < {n}; {i}++) SET(CAT({name}, items, n, {i}), {i} * {a});"));
    }

    /// The count of a vector in scope shrinks, or it grows.
    fn vector_change(&mut self) {
        let counted: Vec<Buf> =
            self.bufs.iter().filter(|b| matches!(b.reach, Reach::Counted(_)) && b.most < 40).cloned().collect();
        if counted.is_empty() {
            return self.vector();
        }
        let buf = self.random.pick(&counted).clone();
        let Reach::Counted(name) = &buf.reach else { return };
        if self.random.chance(50) {
            let more = self.more();
            if self.random.chance(60) {
                // Never below what others rely on, except by chance: then C says where the fault
                // is.
                let least = if self.random.chance(80) { buf.least } else { buf.least - 1 };
                self.out.line(&format!("if ({name}->n > {least}) SETN({name}, items, n, {name}->n - 1{more});"));
            } else {
                self.out.line(&format!("SETN({name}, items, n, {name}->n{more});"));
            }
            return;
        }
        let n = buf.most;
        let old = self.local("old");
        self.out.line(&format!("i32 {old} = {name}->n;"));
        self.grown(buf.elem, name, &old, n);
    }

    /// Structs by value, in arrays, and behind pointers.
    fn cells(&mut self) {
        let tag = self.tag.clone();
        let (name, n) = (self.local("c"), self.random.between(2, 6));
        match self.random.below(3) {
            0 => {
                let e = self.ex(1);
                self.out.line(&format!("struct cell_{tag} {name} = {{ .value = (i32){}, .low = 3 }};", e.text));
                self.cell_fields(&name);
            }
            1 => {
                self.out.line(&format!("struct cell_{tag} {name}[{n}] ZEROED();"));
                let index = self.index(n, None, 1);
                let element = format!("AT({name}, {})", index.text);
                let e = self.ex(2);
                self.out.line(&format!("SET({element}.value, {});", e.text));
                let (i, more, off) = (self.local("i"), self.more(), self.off());
                self.out.line(&format!("for (i32 {i} = 0; {i} < {n}{more}; {i}++) {{"));
                let row = format!("AT(AT({name}, {i}).row, ({i} & 3){off})");
                self.out.line(&format!("OPSET({row}, +, AT({name}, {i}).value);"));
                self.out.line("}");
                let (a, b) = (self.random.below(n), self.random.below(n));
                self.out.line(&format!("SET(AT({name}, {a}), AT({name}, {b}));"));
                self.out.line(&format!("SET(h, h * 31 + (u64)AT(AT({name}, {a}).row, 1));"));
            }
            _ => {
                let other = self.local("c");
                self.out.line(&format!("struct cell_{tag} {other} = {{ .value = 5, .row = {{ 1, 2, 3, 4 }} }};"));
                let target = if self.pushed() { "NULLPTR()".to_string() } else { format!("&{other}") };
                self.out.line(&format!("struct cell_{tag} *{name} = {target};"));
                let e = self.ex(2);
                self.out.line(&format!("SET(h, h * 31 + (u64)NN({name})->value);"));
                self.tell(&format!("NN({name})->small"));
                self.out.line(&format!("SET(NN({name})->value, {});", e.text));
                let index = self.index(4, None, 1);
                self.out.line(&format!("OPSET(AT(NN({name})->row, {}), ^, 9);", index.text));
                self.tell(&format!("NN({name})->value"));
                self.cell_fields(&other);
            }
        }
    }

    /// A list of nodes, walked as far as it goes, or one step too far.
    fn nodes(&mut self) {
        if self.trips > 60 {
            return self.assign();
        }
        let tag = self.tag.clone();
        let (n, list, p, k) = (self.random.between(1, 6), self.local("list"), self.local("p"), self.local("k"));
        self.out.line(&format!("struct node_{tag} *{list} = NULLPTR();"));
        self.out.line(&format!("for (i32 {k} = 0; {k} < {n}; {k}++) {{"));
        let fresh = self.local("f");
        self.out.pair(
            &format!("struct node_{tag} *{fresh} = new struct node_{tag}{{ {k} * 3, {list} }};"),
            &format!("struct node_{tag} *{fresh} = malloc(sizeof *{fresh}); *{fresh} = (struct node_{tag}){{ {k} * 3, {list} }};"),
        );
        self.out.line(&format!("{list} = {fresh};"));
        self.out.line("}");
        if self.pushed() {
            self.out.line(&format!("struct node_{tag} *{p} = {list};"));
            self.out.line(&format!("for (i32 {k} = 0; {k} < {}; {k}++) {{", n + 1));
        } else {
            self.out.line(&format!("for (struct node_{tag} *{p} = {list}; {p}; {p} = {p}->next) {{"));
        }
        self.tags += 1;
        self.out.line(&format!("say({}, NN({p})->value);", self.tags));
        if self.push == Some(self.sites) {
            self.out.line(&format!("{p} = NN({p})->next;"));
        }
        self.out.line("}");
    }

    fn tagged(&mut self) {
        let tag = self.tag.clone();
        let u = self.local("u");
        let e = self.ex(2);
        self.out.pair(
            &format!("tagged union value_{tag} {u} = {{ .number = 3 }};"),
            &format!("struct value_{tag} {u} = {{ 0, {{ .number = 3 }} }};"),
        );
        let members = [("number", 0), ("wide", 1), ("small", 2)];
        let (member, k) = *self.random.pick(&members);
        self.out.line(&format!("TSET({u}, {member}, {k}, {});", e.text));
        let c = self.ex(2);
        let (other, l) = *self.random.pick(&members);
        self.out.line(&format!("if ({}) TSET({u}, {other}, {l}, 7);", c.text));
        let (x, lee_u) = (self.local("x"), u.clone());
        self.out.pair(&format!("switch ({lee_u}) {{"), &format!("switch ({u}.tag) {{"));
        for (member, k) in members {
            self.out
                .pair(&format!("case .{member}({x}): {{"), &format!("case {k}: {{ __auto_type {x} = {u}.{member};"));
            // The C line ends differently, but opens the same block.
            self.tell(&x);
            self.out.line("}");
            self.out.line("break;");
        }
        self.out.line("}");
        if self.pushed() {
            self.tell(&format!("TGET({u}, {other}, {l})"));
        } else {
            let text = format!("TSET({u}, {member}, {k}, 1);");
            self.out.line(&text);
            self.tell(&format!("TGET({u}, {member}, {k})"));
        }
    }

    fn kinds(&mut self) {
        let tag = self.tag.clone();
        let s = self.local("k");
        let (e, c) = (self.ex(2), self.ex(2));
        self.out.line(&format!("struct item_{tag} {s} ZEROED();"));
        self.out.line(&format!("BTAG({s}, 1);"));
        self.out.line(&format!("BSET({s}, n, 1, {});", e.text));
        let again = self.random.between(1, 3);
        self.out.line(&format!("if ({}) BTAG({s}, {again});", c.text));
        if self.pushed() {
            self.tell(&format!("BGET({s}, c, 3)"));
        }
        self.out.line(&format!("if ({s}.kind == 1) {{"));
        self.tell(&format!("BGET({s}, n, 1)"));
        self.out.line("}");
        self.out.line(&format!("else if ({s}.kind == 2) {{"));
        let off = self.off();
        let index = if off.is_empty() { "1".to_string() } else { format!("({s}.kind - 1{off})") };
        self.out.line(&format!("SET(h, h + (u64)AT(BGET({s}, pair, 2), {index}));"));
        self.out.line("}");
    }

    fn string(&mut self) {
        let words = ["leeward", "a", "two words", "0123456789", "x,y,z"];
        let word = *self.random.pick(&words);
        let s = self.local("s");
        self.out.line(&format!("const char *{s} = \"{word}\";"));
        match self.random.below(3) {
            0 => {
                self.out.line(&format!("while (*{s}) {{"));
                self.out.line(&format!("SET(h, h * 31 + (u8)*{s});"));
                self.out.line(&format!("SINC({s});"));
                self.out.line("}");
                if self.pushed() {
                    // The step is tested where the pointer is used.
                    self.out.line(&format!("SINC({s});"));
                    self.out.line(&format!("SET(h, h + (u8)*{s});"));
                }
            }
            1 => {
                let (i, more) = (self.local("i"), self.more());
                self.out.line(&format!("for (i32 {i} = 0; {i} < {}{more}; {i}++) {{", word.len() + 1));
                self.out.line(&format!("SET(h, h * 31 + (u8)SAT({s}, {i}));"));
                self.out.line("}");
            }
            _ => {
                let index = self.index(word.len() as i64, None, 1);
                self.out.line(&format!("SET(h, h * 31 + (u8)SAT({s}, {}));", index.text));
            }
        }
    }

    /// A stack that grows by `realloc` when it is full.
    fn stack(&mut self) {
        if self.trips > 30 {
            return self.assign();
        }
        let tag = self.tag.clone();
        let elem = *self.random.pick(&[Int::I32, Int::U8, Int::I64]);
        let t = elem.name();
        let (v, s, used, room) = (self.local("v"), self.local("s"), self.local("used"), self.local("room"));
        self.out.pair(
            &format!("struct vec_{t}_{tag} {s} = {{ nullptr, 0 }};"),
            &format!("struct vec_{t}_{tag} {s} = {{ NULL, 0, 0 }};"),
        );
        self.out.line(&format!("struct vec_{t}_{tag} *{v} = &{s};"));
        let ut = *self.random.pick(&["i32", "u64", "i64", "u8"]);
        self.out.line(&format!("{ut} {used} = 0;"));
        let i = self.local("i");
        self.out.line(&format!("for (i32 {i} = 0; {i} < {}; {i}++) {{", self.trips.min(1) * 14));
        let more = self.more();
        self.out.line(&format!("if ({used} == {v}->n{more}) {{"));
        self.out.line(&format!("i32 {room} = {v}->n ? 2 * {v}->n : 2;"));
        self.out.line(&format!("GROW({t}, {v}, items, {room});"));
        self.out.line(&format!("SETROOM({v}, items, n, {room});"));
        self.out.line("}");
        let e = self.ex(2);
        self.out.line(&format!("SET(CAT({v}, items, n, {used}++), {});", e.text));
        self.out.line("}");
        let off = self.off();
        self.out.line(&format!("while ({used} > 0) {{"));
        self.out.line(&format!("SET(h, h * 31 + (u64)CAT({v}, items, n, --{used}{off}));"));
        self.out.line("}");
        if self.random.chance(50) {
            self.tell(&format!("CATS({s}, items, n, 1)"));
        }
    }

    /// A generic function and calls of it, with several types.
    pub fn generic(&mut self) {
        let (name, off, more) = (self.name("gen"), self.off(), self.more());
        let lines: Vec<String> = match self.random.below(3) {
            0 => vec![
                format!("for (i32 i = 0; i < n{more}; i++)"),
                format!("SET(PAT(a, i), value);"),
                format!("return PAT(a, n - 1{off});"),
            ],
            1 => vec![
                format!("for (i32 i = 0, j = n - 1{off}; i < j; i++, j--)"),
                format!("EXCHANGE(PAT(a, i), PAT(a, j));"),
                format!("SET(PAT(a, 0), value);"),
                format!("return PAT(a, n / 2);"),
            ],
            _ => vec![
                format!("for (i32 i = 1; i < n{more}; i++)"),
                format!("SET(PAT(a, i - 1), PAT(a, i{off}));"),
                format!("SET(PAT(a, n - 1), value);"),
                format!("return PAT(a, 0);"),
            ],
        };
        self.out.pair(&format!("generic <T> T {name}(T *counted_by(n) a, i32 n, T value) {{"), "");
        let first = self.out.lines;
        for line in &lines {
            self.out.pair(&leeward(line), "");
        }
        self.out.pair("}", "");
        let mut c = String::new();
        for ty in ALL {
            let t = ty.name();
            c.push_str(&format!("#line {first}\nstatic {t} {name}_{t}(F_{t} a, i32 n, {t} value) {{\n"));
            c.push_str(&format!("{}\n}}\n", lines.join("\n")));
        }
        self.out.only_c(&c);
        self.generics.push(name);
    }

    /// A call of the generic function.
    pub fn instance(&mut self) {
        if self.generics.is_empty() || self.trips > 100 {
            return self.assign();
        }
        let name = self.random.pick(&self.generics).clone();
        let Some(buf) = self.some_target().filter(|b| b.least > 0) else { return self.assign() };
        let (t, e) = (buf.elem.name(), self.ex(1));
        let n = format!("{}{}", self.random.between(1, buf.least), self.off());
        let (value, x) = (self.local("x"), self.local("x"));
        self.out.line(&format!("{t} {value} = {};", e.text));
        let c = format!("{t} {x} = {name}_{t}(CNTARG({}, {n}), {n}, {value});", buf.fat());
        let lee = format!("{t} {x} = {name}({}, {n}, {value});", leeward(&buf.fat()));
        self.out.pair(&lee, &c);
        self.out.line(&format!("SET(h, h * 31 + (u64){x});"));
    }
}
