//! Loops that programs are made of, with random parts: those that a compiler analyses, hoists
//! checks out of and vectorises.

use crate::gen::{Buf, Gen, Reach};
use crate::ints::Int;

impl Gen {
    /// One of the well-known loops.
    pub fn shape(&mut self) {
        if self.trips > 40 {
            return self.assign();
        }
        let mark = self.mark();
        self.out.line("{");
        match self.random.below(16) {
            0 => self.multiply(),
            1 => self.stencil(),
            2 => self.histogram(),
            3 => self.sieve(),
            4 => self.binary_search(),
            5 => self.insertion_sort(),
            6 => self.ring(),
            7 => self.triangle(),
            8 => self.strides(),
            9 => self.shrinking_bound(),
            10 => self.bound_in_memory(),
            11 => self.links(),
            12 => self.gather(),
            13 => self.probe(),
            14 => self.copy_rows(),
            _ => self.blocks(),
        }
        self.out.line("}");
        self.back(mark);
    }

    fn index_type(&mut self) -> &'static str {
        self.random.pick::<&'static str>(&["i32", "u64", "i64", "u32", "i32", "u64", "i16"])
    }

    /// An array of its own, filled.
    fn filled(&mut self, elem: Int, n: i64, stem: &str) -> Buf {
        let (t, name, i) = (elem.name(), self.local(stem), self.local("i"));
        let mut buf = Buf { reach: Reach::Array(name.clone()), elem, least: n, most: n, length: None, write: true };
        let mut top = n;
        if self.random.chance(50) {
            self.out.line(&format!("{t} {name}[{n}] ZEROED();"));
        } else {
            let less = if n > 1 { self.off_down() } else { String::new() };
            let value = format!("HEAP({t}, {n}{less})");
            let lee = format!("{} {name} = {};", elem.pointer(), crate::text::leeward(&value));
            self.out.pair(&lee, &format!("F_{t} {name} = {value};"));
            buf.reach = Reach::Fat(name);
            top -= i64::from(!less.is_empty());
        }
        let (a, b) = (self.random.between(1, 90), self.random.between(0, 50));
        self.out.line(&format!("for (i32 {i} = 0; {i} < {top}; {i}++) SET({}, {i} * {a} + {b});", buf.at(&i)));
        buf
    }

    fn multiply(&mut self) {
        let (r, k, c) = (self.random.between(1, 6), self.random.between(1, 6), self.random.between(1, 6));
        let (elem, t) = (self.int(), self.index_type());
        let (a, b, to) =
            (self.filled(elem, r * k, "ma"), self.filled(elem, k * c, "mb"), self.filled(elem, r * c, "mc"));
        let (more, off, off2) = (self.more(), self.off(), self.off());
        self.out.line(&format!("for ({t} i = 0; i < {r}{more}; i++) {{"));
        if self.random.chance(50) {
            self.out.line(&format!("for ({t} j = 0; j < {c}; j++) {{"));
            self.out.line(&format!("{} sum = 0;", elem.name()));
            self.out.line(&format!("for ({t} k = 0; k < {k}; k++)"));
            let (x, y) = (a.at(&format!("i * {k} + k{off}")), b.at(&format!("k * {c} + j{off2}")));
            self.out.line(&format!("OPSET(sum, +, ORD(*, {x}, {y}));"));
            self.out.line(&format!("SET({}, sum);", to.at(&format!("i * {c} + j"))));
            self.out.line("}");
        } else {
            self.out.line(&format!("for ({t} k = 0; k < {k}; k++)"));
            self.out.line(&format!("for ({t} j = 0; j < {c}; j++)"));
            let (x, y) = (a.at(&format!("i * {k} + k{off}")), b.at(&format!("k * {c} + j{off2}")));
            self.out.line(&format!("OPSET({}, +, ORD(*, {x}, {y}));", to.at(&format!("i * {c} + j"))));
        }
        self.tell(&to.at(&format!("i * {c}")));
        self.out.line("}");
    }

    fn stencil(&mut self) {
        let (n, elem, t) = (self.random.between(3, 20), self.int(), self.index_type());
        let (a, b) = (self.filled(elem, n, "s"), self.filled(elem, n, "r"));
        let (more, off) = (self.more(), self.off());
        self.out.line(&format!("for ({t} i = 1; i < {}{more}; i++) {{", n - 1));
        let sum = format!("ORD(+, ORD(+, {}, {}), {})", a.at("i - 1"), a.at("i"), a.at(&format!("i + 1{off}")));
        self.out.line(&format!("SET({}, {sum});", b.at("i")));
        if self.random.chance(50) {
            self.tell(&b.at("i"));
        }
        self.out.line("}");
        self.sum(&b);
    }

    /// All elements into the hash.
    fn sum(&mut self, buf: &Buf) {
        let t = self.index_type();
        let n = buf.least;
        self.out.line(&format!("for ({t} i = 0; i < {n}; i++) SET(h, h * 31 + (u64){});", buf.at("i")));
    }

    fn histogram(&mut self) {
        let (n, bins) = (self.random.between(4, 24), *self.random.pick(&[4, 8, 10, 16]));
        let elem = *self.random.pick(&[Int::U8, Int::I32, Int::U32, Int::I8, Int::U64]);
        let (a, count) = (self.filled(elem, n, "d"), self.filled(Int::I32, bins, "c"));
        let off = self.off();
        let read = a.at("i");
        let bin = match self.random.below(4) {
            0 if bins & (bins - 1) == 0 => format!("({read} & {}){off}", bins - 1),
            1 if elem == Int::U8 => format!("{read} * {bins} / 256{off}"),
            2 if !elem.signed() => format!("REM({read}, {bins}){off}"),
            _ => format!("REM((u64){read}, {bins}){off}"),
        };
        let t = self.index_type();
        self.out.line(&format!("for ({t} i = 0; i < {n}; i++) {{"));
        self.out.line(&format!("OPSET({}, +, 1);", count.at(&bin)));
        self.out.line("}");
        self.sum(&count);
    }

    fn sieve(&mut self) {
        let n = self.random.between(8, 40);
        let (a, t, more) = (self.filled(Int::U8, n, "z"), self.index_type(), self.more());
        self.out.line(&format!("for ({t} i = 0; i < {n}; i++) SET({}, 1);", a.at("i")));
        self.out.line(&format!("for ({t} i = 2; i * i < {n}; i++)"));
        self.out.line(&format!("if ({})", a.at("i")));
        self.out.line(&format!("for ({t} j = i * i; j < {n}{more}; j += i) SET({}, 0);", a.at("j")));
        self.sum(&a);
    }

    fn binary_search(&mut self) {
        let n = self.random.between(1, 20);
        let (a, off) = (self.filled(Int::I32, n, "q"), self.off());
        let t = *self.random.pick(&["i32", "i64", "u32", "u64"]);
        let wanted = self.ex(2);
        self.out.line(&format!("{t} low = 0, high = {n};"));
        self.out.line(&format!("i32 want = (i32)({} & 1023);", wanted.text));
        self.out.line("while (low < high) {");
        let middle = if self.random.chance(50) { "low + (high - low) / 2" } else { "(low + high) / 2" };
        self.out.line(&format!("{t} mid = {middle};"));
        self.out.line(&format!("if ({} < want) low = mid + 1;", a.at(&format!("mid{off}"))));
        self.out.line("else high = mid;");
        self.out.line("}");
        self.out.line(&format!("if (low < {n}) SET(h, h * 3 + (u64){});", a.at("low")));
        self.tell("low");
    }

    fn insertion_sort(&mut self) {
        let (n, elem) = (self.random.between(2, 14), self.int());
        let (a, off) = (self.filled(elem, n, "o"), self.off());
        let t = *self.random.pick(&["i32", "i64"]);
        let scatter = self.random.between(3, 17);
        let mixed = format!("ORD(^, {}, i * {scatter})", a.at("i"));
        self.out.line(&format!("for ({t} i = 0; i < {n}; i++) SET({}, {mixed});", a.at("i")));
        self.out.line(&format!("for ({t} i = 1; i < {n}; i++) {{"));
        self.out.line(&format!("{} key = {};", elem.name(), a.at("i")));
        self.out.line(&format!("{t} j = i;"));
        // The test of j may be the one that is missing.
        let test = if self.pushed() { "1".to_string() } else { "j > 0".to_string() };
        self.out.line(&format!("while ({test} && {} > key) {{", a.at("j - 1")));
        self.out.line(&format!("SET({}, {});", a.at("j"), a.at(&format!("j - 1{off}"))));
        self.out.line("j--;");
        self.out.line("}");
        self.out.line(&format!("SET({}, key);", a.at("j")));
        self.out.line("}");
        self.sum(&a);
    }

    fn ring(&mut self) {
        let (n, elem, t) = (self.random.between(2, 9), self.int(), self.index_type());
        let (a, more) = (self.filled(elem, n, "ring"), self.more());
        self.out.line(&format!("{t} head = 0, tail = 0;"));
        self.out.line(&format!("for (i32 i = 0; i < {}; i++) {{", 2 * n + 3));
        let e = self.ex(1);
        self.out.line(&format!("SET({}, (i + {}));", a.at("head"), e.text));
        if self.random.chance(50) {
            self.out.line(&format!("head = (head + 1) % ({n}{more});"));
        } else {
            self.out.line(&format!("if (++head == {n}{more}) head = 0;"));
        }
        self.out.line("if (i % 3 == 0) {");
        self.tell(&a.at("tail"));
        self.out.line(&format!("tail = tail + 1 == {n} ? 0 : tail + 1;"));
        self.out.line("}");
        self.out.line("}");
    }

    fn triangle(&mut self) {
        let (n, elem, t) = (self.random.between(2, 9), self.int(), self.index_type());
        let a = self.filled(elem, n * n, "t");
        let (more, off) = (self.more(), self.off());
        let inner = match self.random.below(3) {
            0 => format!("{t} j = 0; j <= i{more}; j++"),
            1 => format!("{t} j = i; j < {n}{more}; j++"),
            _ => format!("{t} j = i + 1; j < {n}{more}; j++"),
        };
        self.out.line(&format!("for ({t} i = 0; i < {n}; i++) {{"));
        self.out.line(&format!("for ({inner}) {{"));
        let (x, y) = (a.at(&format!("i * {n} + j{off}")), a.at(&format!("j * {n} + i")));
        self.out.line(&format!("OPSET({x}, +, {y});"));
        self.out.line("}");
        if self.random.chance(50) {
            self.tell(&a.at(&format!("i * {n} + i")));
        }
        self.out.line("}");
        self.sum(&a);
    }

    fn strides(&mut self) {
        let (n, s, elem) = (self.random.between(1, 8), self.random.between(2, 4), self.int());
        let (a, t) = (self.filled(elem, n * s, "v"), self.index_type());
        let (more, off) = (self.more(), self.off());
        if self.random.chance(50) {
            self.out.line(&format!("for ({t} i = 0; i < {n}{more}; i++) {{"));
            let last = a.at(&format!("{s} * i + {}{off}", s - 1));
            self.out.line(&format!("SET({}, {last});", a.at(&format!("{s} * i"))));
        } else {
            self.out.line(&format!("for ({t} i = 0; i + {} < {}{more}; i += {s}) {{", s - 1, n * s));
            let last = a.at(&format!("i + {}{off}", s - 1));
            self.out.line(&format!("OPSET({}, +, {last});", a.at("i")));
        }
        if self.random.chance(40) {
            self.tell(&a.at("i"));
        }
        self.out.line("}");
        self.sum(&a);
    }

    /// The bound goes down inside of the loop, or the counter jumps.
    fn shrinking_bound(&mut self) {
        let (n, elem, t) = (self.random.between(2, 20), self.int(), self.index_type());
        let (a, off, more) = (self.filled(elem, n, "y"), self.off(), self.more());
        self.out.line(&format!("{t} n = {n};"));
        self.out.line(&format!("for ({t} i = 0; i < n{more}; i++) {{"));
        match self.random.below(3) {
            0 => {
                self.out.line(&format!("if ({} & 1) {{", a.at(&format!("i{off}"))));
                self.out.line("n--;");
                self.out.line(&format!("SET({}, {});", a.at("i"), a.at("n")));
                self.out.line("}");
            }
            1 => {
                self.out.line(&format!("if ({} % 3 == 1) i++;", a.at(&format!("i{off}"))));
                self.out.line(&format!("if (i < n) SET({}, i);", a.at("i")));
            }
            _ => {
                self.out.line(&format!("if ({} > 40) n = n / 2 + i / 2;", a.at(&format!("i{off}"))));
                self.out.line(&format!("SET(h, h * 7 + (u64){});", a.at("i / 2")));
            }
        }
        self.tell("n");
        self.out.line("}");
        self.sum(&a);
    }

    /// The bound is an element of what the loop writes.
    fn bound_in_memory(&mut self) {
        let n = self.random.between(3, 16);
        let elem = *self.random.pick(&[Int::I32, Int::U64, Int::U8, Int::I64]);
        let (a, off) = (self.filled(elem, n, "m"), self.off());
        let last = self.random.below(n);
        self.out.line(&format!("SET({}, {n});", a.at(&last.to_string())));
        let t = *self.random.pick(&["i32", "u64", "i64"]);
        self.out.line(&format!("for ({t} i = 0; i < ({t}){} && i < 100; i++) {{", a.at(&last.to_string())));
        self.tell("i");
        let value = match self.random.below(3) {
            0 => format!("{} - i", n),
            1 => "i + 2".to_string(),
            _ => format!("{}", n / 2 + 1),
        };
        self.out.line(&format!("SET({}, {value});", a.at(&format!("i{off}"))));
        self.out.line("}");
        self.sum(&a);
    }

    /// A list in an array: each element says where the next is.
    fn links(&mut self) {
        let n = self.random.between(2, 16);
        let elem = *self.random.pick(&[Int::U8, Int::I32, Int::I16, Int::U64]);
        let (a, t, off) = (self.filled(elem, n, "next"), self.index_type(), self.off());
        let by = self.random.between(1, 5);
        self.out.line(&format!("for ({t} i = 0; i < {n}; i++) SET({}, ((i + {by}) % {n}{off}));", a.at("i")));
        self.out.line(&format!("{} at = 0;", elem.name()));
        self.out.line(&format!("for (i32 k = 0; k < {}; k++) {{", n + 3));
        self.out.line(&format!("SET(at, {});", a.at("at")));
        self.tell("at");
        self.out.line("}");
    }

    fn gather(&mut self) {
        let (n, m, elem) = (self.random.between(2, 14), self.random.between(2, 14), self.int());
        let (a, order, t) = (self.filled(elem, m, "g"), self.filled(Int::I32, n, "order"), self.index_type());
        let off = self.off();
        self.out.line(&format!("for ({t} i = 0; i < {n}; i++) SET({}, (i * 5{off}) % {m});", order.at("i")));
        let off = self.off();
        self.out.line(&format!("for ({t} i = 0; i < {n}; i++) {{"));
        self.out.line(&format!("OPSET({}, +, i);", a.at(&format!("{}{off}", order.at("i")))));
        self.out.line("}");
        self.sum(&a);
    }

    /// A hash table with linear probing.
    fn probe(&mut self) {
        let bits = self.random.between(2, 4);
        let n = 1 << bits;
        let (a, off) = (self.filled(Int::U32, n, "slot"), self.off());
        let t = *self.random.pick(&["u32", "u64", "i32"]);
        self.out.line(&format!("for (i32 i = 0; i < {n}; i++) SET({}, 0);", a.at("i")));
        self.out.line(&format!("for (u32 key = 1; key < {}u; key++) {{", n - 1));
        self.out.line(&format!("{t} at = ({t})((key * 2654435761u) >> {});", 32 - bits));
        if t == "i32" {
            self.out.line(&format!("at &= {};", n - 1));
        }
        self.out.line(&format!("while ({} != 0) at = (at + 1) & {};", a.at(&format!("at{off}")), n - 1));
        self.out.line(&format!("SET({}, key);", a.at("at")));
        self.out.line("}");
        self.sum(&a);
    }

    /// Rows of a matrix, one after another.
    fn copy_rows(&mut self) {
        let (r, c, elem, t) = (self.random.between(2, 7), self.random.between(2, 7), self.int(), self.index_type());
        let (more, off, off2) = (self.more(), self.off(), self.off());
        let name = self.local("grid");
        self.out.line(&format!("{} {name}[{r}][{c}] ZEROED();", elem.name()));
        self.out.line(&format!("for ({t} i = 0; i < {r}; i++)"));
        self.out.line(&format!("for ({t} j = 0; j < {c}; j++) SET(ATM({name}, i, j{off2}), i * 10 + j);"));
        self.out.line(&format!("for ({t} i = 1; i < {r}{more}; i++) {{"));
        self.out.line(&format!("for ({t} j = 0; j < {c}; j++)"));
        self.out.line(&format!("OPSET(ATM({name}, i, j), +, ATM({name}, i - 1, {} - j{off}));", c - 1));
        self.tell(&format!("ATM({name}, i, 0)"));
        self.out.line("}");
    }

    /// Blocks of a buffer, each with its own offset.
    fn blocks(&mut self) {
        let (blocks, size, elem) = (self.random.between(1, 5), self.random.between(1, 6), self.int());
        let (a, t) = (self.filled(elem, blocks * size, "b"), self.index_type());
        let (more, off) = (self.more(), self.off());
        self.out.line(&format!("for ({t} block = 0; block < {blocks}; block++) {{"));
        self.out.line(&format!("{t} start = block * {size}{off};"));
        self.out.line(&format!("for ({t} i = start; i < start + {size}{more}; i++) {{"));
        self.out.line(&format!("OPSET({}, +, block);", a.at("i")));
        self.out.line("}");
        self.tell(&a.at(&format!("block * {size}")));
        self.out.line("}");
    }
}
