//! What a random program consists of while it is written: names in scope, and random expressions
//! over them.
//!
//! Nothing here needs to be right about ranges. The generator aims inside the bounds; the C twin
//! decides whether it hit.

use crate::ints::{Int, ALL};
use crate::rng::{mixed, Random};
use crate::text::Writer;

/// An expression.
#[derive(Clone, Debug)]
pub struct Ex {
    /// In the words of text.rs.
    pub text: String,
    /// Its type.
    pub ty: Int,
    /// Has effects, or may fault: its order matters.
    pub moves: bool,
    /// Made of constants only: a compiler may know it, and refuse what it knows to be wrong.
    pub fixed: bool,
}

/// An integer variable.
#[derive(Clone, Debug)]
pub struct Var {
    pub name: String,
    pub ty: Int,
    /// It is believed to be in `low..=high`.
    pub low: i64,
    pub high: i64,
    /// Below the length that has this text.
    pub below: Option<String>,
    /// Statements may assign it.
    pub free: bool,
}

/// How a buffer is reached.
#[derive(Clone, Debug)]
pub enum Reach {
    /// A C array by this name.
    Array(String),
    /// Rows of a matrix.
    Matrix(String, i64, i64),
    /// A fat pointer in C's sense of twin.h.
    Fat(String),
    /// A counted field `items` with the count `n` after the pointer.
    Counted(String),
}

/// Elements to be indexed.
#[derive(Clone, Debug)]
pub struct Buf {
    pub reach: Reach,
    pub elem: Int,
    /// At least so many elements.
    pub least: i64,
    /// At most so many.
    pub most: i64,
    /// The length as the program says it.
    pub length: Option<String>,
    pub write: bool,
}

impl Buf {
    /// An element.
    pub fn at(&self, index: &str) -> String {
        match &self.reach {
            Reach::Array(name) => format!("AT({name}, {index})"),
            Reach::Matrix(name, ..) => format!("ATM({name}, {index}, 0)"),
            Reach::Fat(name) => format!("PAT({name}, {index})"),
            Reach::Counted(name) => format!("CAT({name}, items, n, {index})"),
        }
    }

    /// The buffer as a fat pointer value.
    pub fn fat(&self) -> String {
        match &self.reach {
            Reach::Array(name) => format!("OFARR({}, {name})", self.elem.name()),
            Reach::Matrix(name, ..) => format!("OFARR({}, AT({name}, 0))", self.elem.name()),
            Reach::Fat(name) => name.clone(),
            Reach::Counted(name) => format!("OFCNT({}, {name}, items, n)", self.elem.name()),
        }
    }

    /// Its length.
    pub fn length(&self) -> String {
        self.length.clone().unwrap_or_else(|| self.least.to_string())
    }

    pub fn is_matrix(&self) -> bool {
        matches!(self.reach, Reach::Matrix(..))
    }
}

/// A parameter.
#[derive(Clone, Debug)]
pub enum Param {
    Int,
    /// `T *fat`, at least so many elements.
    Fat(Int, i64),
    /// `T *counted_by(n)`, and `n` after it.
    Counted(Int, i64),
}

/// A function that was written.
#[derive(Clone, Debug)]
pub struct Fun {
    pub name: String,
    pub params: Vec<Param>,
    pub result: Int,
}

/// A place that can be assigned.
pub struct Place {
    pub text: String,
    pub ty: Int,
    /// A bit-field: no address.
    pub bits: bool,
}

/// A program being written.
pub struct Gen {
    pub random: Random,
    pub out: Writer,
    /// Makes names unique in the file.
    pub tag: String,
    names: u32,
    /// Places where a fault can be put in, so far.
    pub sites: u32,
    /// The one where it is.
    pub push: Option<u32>,
    /// How far, and in which direction.
    pub force: u64,
    pub vars: Vec<Var>,
    pub bufs: Vec<Buf>,
    pub funs: Vec<Fun>,
    /// Generic functions.
    pub generics: Vec<String>,
    /// Fields of structs in scope: text, type, whether a bit-field.
    pub fields: Vec<(String, Int, bool)>,
    /// How often the statement being written runs, at most.
    pub trips: i64,
    /// Numbers for `say`.
    pub tags: u32,
    /// Statements that may still be written.
    pub budget: i64,
    /// The type of the function's result; `None` in the entry.
    pub result: Option<Int>,
}

impl Gen {
    pub fn new(seed: u64, tag: &str, push: Option<u32>, force: u64) -> Gen {
        Gen {
            random: Random(mixed(seed ^ 0x5eed)),
            out: Writer::default(),
            tag: tag.to_string(),
            names: 0,
            sites: 0,
            push,
            force,
            vars: vec![],
            bufs: vec![],
            funs: vec![],
            generics: vec![],
            fields: vec![],
            trips: 1,
            tags: 0,
            budget: 0,
            result: None,
        }
    }

    /// A new name.
    pub fn name(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}_{}", self.names, self.tag)
    }

    /// A short name for a local.
    pub fn local(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}_{}", self.names)
    }

    /// Whether the fault is to be put in here.
    pub fn pushed(&mut self) -> bool {
        self.sites += 1;
        self.push == Some(self.sites)
    }

    /// What is added to an index: nothing, or what pushes it.
    pub fn off(&mut self) -> String {
        if !self.pushed() {
            return String::new();
        }
        let by = [1, 1, 1, 2, -1, -1, -2, 3, 7, 20, -20, 1000, -1000, 100_000, -100_000, 0x4000_0000, 0x7fff_fff0];
        let by = by[(self.force % by.len() as u64) as usize];
        if by < 0 {
            format!(" - {}", -by)
        } else {
            format!(" + {by}")
        }
    }

    /// What is added to a bound: nothing, or a few more.
    pub fn more(&mut self) -> String {
        if !self.pushed() {
            return String::new();
        }
        format!(" + {}", [1, 1, 1, 2, 5][(self.force % 5) as usize])
    }

    pub fn int(&mut self) -> Int {
        // `int` and `long` are what programs are made of.
        if self.random.chance(40) {
            *self.random.pick(&[Int::I32, Int::I32, Int::U64, Int::I64, Int::U32])
        } else {
            *self.random.pick(&ALL)
        }
    }

    pub fn literal(&mut self) -> Ex {
        let shown = |text: String, ty| Ex { text, ty, moves: false, fixed: true };
        match self.random.below(14) {
            0..=6 => {
                let n = self.random.below(20);
                shown(n.to_string(), Int::I32)
            }
            7 => shown(format!("(-{})", 1 + self.random.0 % 30), Int::I32),
            8 => shown(format!("{}u", self.random.below(100)), Int::U32),
            9 => {
                let edge = ["127", "128", "255", "256", "32767", "32768", "65535", "65536", "2147483647"];
                shown(self.random.pick(&edge).to_string(), Int::I32)
            }
            10 => shown("(-2147483647 - 1)".into(), Int::I32),
            11 => {
                let edge = ["4294967295u", "2147483648u", "4294967289u"];
                shown(self.random.pick(&edge).to_string(), Int::U32)
            }
            12 => {
                let edge =
                    ["9223372036854775807", "(-9223372036854775807 - 1)", "4294967296", "1099511627776", "(-1l)"];
                shown(self.random.pick(&edge).to_string(), Int::I64)
            }
            _ => {
                let edge = ["18446744073709551615ul", "9223372036854775808ul", "3ul"];
                shown(self.random.pick(&edge).to_string(), Int::U64)
            }
        }
    }

    /// Any expression.
    pub fn ex(&mut self, depth: u32) -> Ex {
        if depth == 0 || self.random.chance(15) {
            return self.leaf();
        }
        match self.random.below(32) {
            0..=8 => self.arithmetic(depth),
            9 | 10 => self.shift(depth),
            11 | 12 => self.division(depth),
            13 | 14 => self.comparison(depth),
            15 => {
                let (a, b) = (self.ex(depth - 1), self.ex(depth - 1));
                let op = self.random.pick(&["&&", "||"]);
                joined(format!("({} {op} {})", a.text, b.text), Int::I32, &[&a, &b])
            }
            16 => {
                let a = self.ex(depth - 1);
                let op = self.random.pick(&["-", "~", "!"]);
                let ty = if *op == "!" { Int::I32 } else { a.ty.promoted() };
                joined(format!("({op}{})", a.text), ty, &[&a])
            }
            17..=19 => {
                let (a, ty) = (self.ex(depth - 1), self.int());
                joined(format!("(({}){})", ty.name(), a.text), ty, &[&a])
            }
            20 => {
                let (c, a, b) = (self.ex(depth - 1), self.ex(depth - 1), self.ex(depth - 1));
                let ty = Int::common(a.ty, b.ty);
                joined(format!("({} ? {} : {})", c.text, a.text, b.text), ty, &[&c, &a, &b])
            }
            21..=26 => self.element(depth - 1),
            27 => self.called(depth - 1),
            28 => self.assignment(depth - 1),
            29 => self.stepped(),
            30 => self.saturated(depth - 1),
            _ => self.leaf(),
        }
    }

    fn leaf(&mut self) -> Ex {
        let choice = self.random.below(10);
        if choice < 6 && !self.vars.is_empty() {
            let var = self.some_var();
            return Ex { text: var.name, ty: var.ty, moves: false, fixed: false };
        }
        if choice < 8 && !self.fields.is_empty() {
            let (text, ty, bits) = self.random.pick(&self.fields).clone();
            let text = if bits { format!("({text} + 0)") } else { text };
            let ty = if bits { Int::I32 } else { ty };
            // A field behind a pointer may fault.
            let moves = text.contains("NN(") || text.contains("AT(");
            return Ex { text, ty, moves, fixed: false };
        }
        self.literal()
    }

    fn some_var(&mut self) -> Var {
        // The newest are the most interesting ones: loop counters.
        let n = self.vars.len() as i64;
        let at = if self.random.chance(50) { n - 1 - self.random.below(n.min(4)) } else { self.random.below(n) };
        self.vars[at as usize].clone()
    }

    /// Two operands in order.
    pub fn ordered(&self, op: &str, a: &Ex, b: &Ex, ty: Int) -> Ex {
        let text = if a.moves || b.moves {
            format!("ORD({op}, {}, {})", a.text, b.text)
        } else {
            format!("({} {op} {})", a.text, b.text)
        };
        joined(text, ty, &[a, b])
    }

    fn arithmetic(&mut self, depth: u32) -> Ex {
        let (a, b) = (self.ex(depth - 1), self.ex(depth - 1));
        let op = *self.random.pick(&["+", "+", "-", "-", "*", "&", "|", "^"]);
        self.ordered(op, &a, &b, Int::common(a.ty, b.ty))
    }

    fn comparison(&mut self, depth: u32) -> Ex {
        let (a, b) = (self.ex(depth - 1), self.ex(depth - 1));
        let op = *self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
        self.ordered(op, &a, &b, Int::I32)
    }

    fn shift(&mut self, depth: u32) -> Ex {
        let a = self.ex(depth - 1);
        let b = if self.random.chance(60) { self.literal() } else { self.ex(depth - 1) };
        let word = self.random.pick(&["SHL", "SHR"]);
        joined(format!("{word}({}, {})", a.text, b.text), a.ty.promoted(), &[&a, &b])
    }

    /// A division whose divisor is not zero, if nobody pushes it there.
    fn division(&mut self, depth: u32) -> Ex {
        let a = self.ex(depth - 1);
        let mut b = if self.random.chance(40) { self.literal() } else { self.ex(depth - 1) };
        let word = *self.random.pick(&["DIV", "REM"]);
        let pushed = self.pushed();
        let text = if b.fixed {
            b.ty = Int::I32;
            (1 + self.random.below(12)).to_string()
        } else if self.random.chance(70) {
            let mask = [1, 3, 7, 15][self.random.below(4) as usize];
            let one = if pushed { "" } else { " + 1" };
            format!("(({} & {mask}){one})", b.text)
        } else {
            let one = if pushed { "& 1" } else { "| 1" };
            format!("({} {one})", b.text)
        };
        let ty = Int::common(a.ty, b.ty);
        let mut made = joined(format!("{word}({}, {text})", a.text), ty, &[&a, &b]);
        made.moves |= !b.fixed;
        made
    }

    /// A buffer.
    pub fn some_buf(&mut self) -> Option<Buf> {
        let n = self.bufs.len() as i64;
        if n == 0 {
            return None;
        }
        let at = if self.random.chance(50) { n - 1 - self.random.below(n.min(3)) } else { self.random.below(n) };
        Some(self.bufs[at as usize].clone())
    }

    /// A buffer that is not a matrix.
    pub fn some_row(&mut self) -> Option<Buf> {
        (0..6).find_map(|_| self.some_buf().filter(|b| !b.is_matrix()))
    }

    /// A row that may be written.
    pub fn some_target(&mut self) -> Option<Buf> {
        (0..6).find_map(|_| self.some_buf().filter(|b| !b.is_matrix() && b.write))
    }

    fn element(&mut self, depth: u32) -> Ex {
        let Some(buf) = self.some_buf() else { return self.leaf() };
        let text = self.element_of(&buf, depth);
        Ex { text, ty: buf.elem, moves: true, fixed: false }
    }

    /// Some element of the buffer.
    pub fn element_of(&mut self, buf: &Buf, depth: u32) -> String {
        if let Reach::Matrix(name, rows, columns) = &buf.reach {
            let (i, j) = (self.index(*rows, None, depth), self.index(*columns, None, depth));
            return format!("ATM({name}, {}, {})", i.text, j.text);
        }
        let index = self.index(buf.least, buf.length.clone(), depth);
        buf.at(&index.text)
    }

    /// An index into `least` elements, or into as many as `length` says.
    pub fn index(&mut self, least: i64, length: Option<String>, depth: u32) -> Ex {
        let mut index = self.inner_index(least, length, depth);
        if self.random.chance(12) {
            let ty = self.int();
            if ty.bits() >= 16 {
                index = joined(format!("(({}){})", ty.name(), index.text), ty, &[&index]);
            }
        }
        if !index.fixed {
            let off = self.off();
            if !off.is_empty() {
                index = joined(format!("({}{off})", index.text), index.ty.promoted(), &[&index]);
            }
        }
        index
    }

    fn inner_index(&mut self, least: i64, length: Option<String>, depth: u32) -> Ex {
        let plain = |text: String, ty, moves| Ex { text, ty, moves, fixed: false };
        if self.random.chance(70) {
            if let Some(found) = self.affine(least, length.as_deref()) {
                return found;
            }
        }
        if least < 1 {
            // Nothing is known: the length itself bounds it, if it is not zero.
            let e = self.ex(depth.min(1));
            let n = length.unwrap_or_else(|| "1".into());
            return plain(format!("REM((u64){}, ({n} | 1))", e.text), Int::U64, true);
        }
        match self.random.below(10) {
            0 | 1 => {
                let n = self.random.below(least);
                Ex { text: n.to_string(), ty: Int::I32, moves: false, fixed: true }
            }
            2 | 3 => {
                let e = self.ex(depth);
                let mask = (63 - (least as u64).leading_zeros()).min(30);
                let ty = Int::common(e.ty, Int::I32);
                joined(format!("({} & {})", e.text, (1u64 << mask) - 1), ty, &[&e])
            }
            4 | 5 => {
                let e = self.ex(depth);
                joined(format!("((u32){} % {least}u)", e.text), Int::U32, &[&e])
            }
            6 => {
                let e = self.ex(depth);
                let text = format!("REM((REM((i32){}, {least}) + {least}), {least})", e.text);
                joined(text, Int::I32, &[&e])
            }
            7 => {
                let e = self.ex(depth);
                joined(format!("(SHR((u8){}, 1) * {least} / 128)", e.text), Int::I32, &[&e])
            }
            8 if !self.vars.is_empty() => {
                let var = self.some_var();
                let text = format!("({0} >= 0 && {0} < {least} ? {0} : 0)", var.name);
                plain(text, var.ty.promoted(), false)
            }
            _ => {
                let e = self.ex(depth);
                joined(format!("((u64){} % {least})", e.text), Int::U64, &[&e])
            }
        }
    }

    /// An index made of a variable whose range is known.
    fn affine(&mut self, least: i64, length: Option<&str>) -> Option<Ex> {
        let mut choices: Vec<(String, Int)> = vec![];
        for var in self.vars.iter().rev().take(6) {
            let Var { name, ty, low, high, below, .. } = var;
            if length.is_some() && below.as_deref() == length {
                choices.push((name.clone(), *ty));
            }
            if least == 0 || high.saturating_sub(*low) > 4096 || *low < -4096 {
                continue;
            }
            let wide = ty.promoted();
            if *low >= 0 && *high < least {
                choices.push((name.clone(), *ty));
                choices.push((format!("({} - {name})", least - 1), wide));
                if high * 2 + 1 < least {
                    choices.push((format!("(2 * {name} + 1)"), wide));
                    choices.push((format!("SHL({name}, 1)"), wide));
                }
                if high * 3 < least {
                    choices.push((format!("({name} * 3 + {})", least - 1 - high * 3), wide));
                }
            }
            if high - low < least && *low != 0 {
                let down = if *low > 0 { format!("({name} - {low})") } else { format!("({name} + {})", -low) };
                choices.push((down, wide));
            }
            if *low >= 0 && *high < least - 1 {
                choices.push((format!("({name} + {})", least - 1 - high), wide));
                choices.push((format!("({name} + 1)"), wide));
            }
            if *low >= 1 && high - 1 < least {
                choices.push((format!("({name} - 1)"), wide));
            }
            if *low >= 0 && high / 2 < least {
                choices.push((format!("({name} / 2)"), wide));
                choices.push((format!("SHR({name}, 1)"), wide));
            }
            if *low >= 0 && *high >= least {
                choices.push((format!("({name} % {least})"), wide));
            }
        }
        // Two variables at once: rows and columns in one buffer.
        if self.vars.len() >= 2 {
            let (a, b) = (&self.vars[self.vars.len() - 2], &self.vars[self.vars.len() - 1]);
            let width = b.high.saturating_add(1);
            let small = a.low >= 0 && b.low >= 0 && a.high < 4096 && width < 4096;
            if small && a.high * width + b.high < least {
                choices.push((format!("({} * {width} + {})", a.name, b.name), Int::common(a.ty, b.ty)));
            }
        }
        if choices.is_empty() {
            return None;
        }
        let (text, ty) = self.random.pick(&choices).clone();
        Some(Ex { text, ty, moves: false, fixed: false })
    }

    /// A place that is assigned.
    pub fn place(&mut self, depth: u32) -> Option<Place> {
        let choice = self.random.below(10);
        if choice < 4 {
            let free: Vec<&Var> = self.vars.iter().filter(|v| v.free).collect();
            if !free.is_empty() {
                let var = (*self.random.pick(&free)).clone();
                return Some(Place { text: var.name, ty: var.ty, bits: false });
            }
        }
        if choice < 6 && !self.fields.is_empty() {
            let (text, ty, bits) = self.random.pick(&self.fields).clone();
            return Some(Place { text, ty, bits });
        }
        let buf = (0..6).find_map(|_| self.some_buf().filter(|b| b.write))?;
        let text = self.element_of(&buf, depth);
        Some(Place { text, ty: buf.elem, bits: false })
    }

    fn assignment(&mut self, depth: u32) -> Ex {
        let Some(place) = self.place(depth.min(1)) else { return self.leaf() };
        let e = self.ex(depth);
        if place.bits {
            return e;
        }
        Ex { text: format!("ASG({}, {})", place.text, e.text), ty: place.ty, moves: true, fixed: false }
    }

    fn stepped(&mut self) -> Ex {
        let free: Vec<&Var> = self.vars.iter().filter(|v| v.free).collect();
        if free.is_empty() {
            return self.leaf();
        }
        let var = (*self.random.pick(&free)).clone();
        let text = match self.random.below(4) {
            0 => format!("{}++", var.name),
            1 => format!("{}--", var.name),
            2 => format!("++{}", var.name),
            _ => format!("--{}", var.name),
        };
        Ex { text: format!("({text})"), ty: var.ty, moves: true, fixed: false }
    }

    /// Through floating point and back.
    fn saturated(&mut self, depth: u32) -> Ex {
        let (e, ty) = (self.ex(depth), self.int());
        let scale = self.random.pick(&["1.5", "0.25", "-3.0", "1e6", "1e30"]);
        joined(format!("CONVERT({}, ((double){} * {scale}))", ty.name(), e.text), ty, &[&e])
    }

    /// A call of a function that was written before.
    pub fn called(&mut self, depth: u32) -> Ex {
        if self.funs.is_empty() || self.trips > 300 {
            return self.leaf();
        }
        let fun = self.random.pick(&self.funs).clone();
        let mut arguments = vec![];
        for param in &fun.params {
            match param {
                Param::Int => arguments.push(self.ex(depth.min(1)).text),
                Param::Fat(elem, least) | Param::Counted(elem, least) => {
                    let fits = |b: &&Buf| b.elem == *elem && b.least >= *least && b.write && !b.is_matrix();
                    let found: Vec<&Buf> = self.bufs.iter().filter(fits).collect();
                    if found.is_empty() {
                        return self.leaf();
                    }
                    let buf = (*self.random.pick(&found)).clone();
                    if matches!(param, Param::Fat(..)) {
                        arguments.push(buf.fat());
                    } else {
                        let n = self.random.between(*least, buf.least).to_string();
                        let n = if self.random.chance(50) { buf.length() } else { n };
                        let n = format!("(i32){n}{}", self.off());
                        arguments.push(format!("CNTARG({}, {n})", buf.fat()));
                        arguments.push(n);
                    }
                }
            }
        }
        let text = match arguments.len() {
            0 => format!("{}()", fun.name),
            n => format!("CALL{n}({}, {})", fun.name, arguments.join(", ")),
        };
        Ex { text, ty: fun.result, moves: true, fixed: false }
    }
}

/// An expression over others.
pub fn joined(text: String, ty: Int, parts: &[&Ex]) -> Ex {
    Ex { text, ty, moves: parts.iter().any(|p| p.moves), fixed: parts.iter().all(|p| p.fixed) }
}
