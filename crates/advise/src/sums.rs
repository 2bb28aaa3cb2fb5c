//! Sizes that are sums of lengths of strings: `strlen(a) + strlen(b) + 2` bytes take what
//! `strcpy`, `strcat`, `sprintf` and `memcpy` write of `a` and `b`.
//!
//! A sum is taken apart into lengths and a constant. What is written fits if each of its lengths is
//! also one of the size's, each used once, and its constant is at most the size's. A length is the
//! same if it is the same number, or if the string has not changed in between.

use crate::proof::Proof;
use crate::rules::Rule;
use crate::sites::Size;
use crate::situation::Text;
use flow::framework::Point;
use mir::ir::*;

/// How many steps back a sum is followed.
const DEPTH: usize = 12;
/// Lengths in one sum, at most. No string of a process is longer than its addresses allow, 2^56
/// bytes, so that many do not wrap 64 bits.
const MOST_LENGTHS: usize = 16;
/// Other numbers in a sum are at most this.
const MOST_NUMBER: i128 = 1 << 32;

/// The length of a string.
#[derive(Clone, Debug)]
struct Length {
    /// The pointer to the string.
    string: Operand,
    /// The statement before which the string is as long.
    at: Point,
    /// What `strlen` gave there, and the point where that number was used.
    number: Option<(Operand, Point)>,
}

/// Lengths of strings and a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    lengths: Vec<Length>,
    lo: i128,
    hi: i128,
}

impl Sum {
    fn constant(n: i128) -> Sum {
        Sum { lengths: vec![], lo: n, hi: n }
    }

    fn plus(mut self, other: Sum) -> Option<Sum> {
        self.lengths.extend(other.lengths);
        self.lo += other.lo;
        self.hi += other.hi;
        (self.lengths.len() <= MOST_LENGTHS).then_some(self)
    }

    /// So many bytes more.
    pub(crate) fn and(self, bytes: i128) -> Sum {
        Sum { lo: self.lo + bytes, hi: self.hi + bytes, ..self }
    }
}

impl Proof<'_> {
    /// An operand before a statement as a sum.
    fn sum(&self, at: Point, operand: &Operand) -> Option<Sum> {
        let mut left = DEPTH;
        let sum = self.sum_back(&[at], operand, &mut left)?;
        // Then it is the number itself, and not only modulo 2^64.
        (sum.lo >= 0 && sum.hi <= MOST_NUMBER).then_some(sum)
    }

    /// `way`: the points where the numbers in between were computed, from the one that is asked
    /// about back to where `operand` is used. `left`: how many steps are left.
    fn sum_back(&self, way: &[Point], operand: &Operand, left: &mut usize) -> Option<Sum> {
        let (&root, &at) = (way.first()?, way.last()?);
        *left = left.checked_sub(1)?;
        let values = self.terms.value(at, operand).filter(|r| r.lo.abs() <= MOST_NUMBER && r.hi.abs() <= MOST_NUMBER);
        let number = || {
            let values = values.filter(|_| self.terms.stays(operand, way))?;
            Some(Sum { lengths: vec![], lo: values.lo, hi: values.hi })
        };
        if operand.place().is_none() || !self.is_word(operand) {
            return number();
        }
        let Some((made, stmt)) = self.terms.defined(at, operand) else { return number() };
        if let Some(call) = stmt.kind.as_call() {
            let Some(string) = self.measured(made, &call) else { return number() };
            let stays = self.terms.stays(operand, way);
            let length = Length { string, at: made, number: Some((operand.clone(), root)) };
            return stays.then(|| Sum { lengths: vec![length], ..Sum::default() });
        }
        let (_, value) = stmt.kind.as_assign()?;
        let way: Vec<Point> = way.iter().copied().chain([made]).collect();
        let from = value.same_bits().or_else(|| value.as_numeric().map(|(from, _)| from));
        if let Some(from) = from {
            return match self.is_word(from) {
                true => self.sum_back(&way, from, left),
                false => number(),
            };
        }
        match value.as_binary() {
            Some((BinOp::Add, a, b, _)) => self.sum_back(&way, a, left)?.plus(self.sum_back(&way, b, left)?),
            Some((BinOp::Sub, a, b, _)) => {
                let b = self.sum_back(&way, b, left).filter(|b| b.lengths.is_empty())?;
                let a = self.sum_back(&way, a, left)?;
                Some(Sum { lo: a.lo - b.hi, hi: a.hi - b.lo, ..a })
            }
            _ => number(),
        }
    }

    /// Whether an operand is an integer of 64 bits.
    fn is_word(&self, operand: &Operand) -> bool {
        let cx = self.terms.cx;
        let ty = mir::ty::operand_ty(cx.program, self.terms.body, operand).ok();
        ty.is_some_and(|ty| {
            cx.program.types.as_int(ty).is_some() && cx.program.types.layout(ty).is_some_and(|l| l.size == 8)
        })
    }

    /// The string whose length the call gives.
    fn measured(&self, at: Point, call: &Call) -> Option<Operand> {
        let name = self.library(at, call)?;
        call.args.first().filter(|_| name == "strlen").cloned()
    }

    /// The name of a function of the C library that is called.
    pub(crate) fn library(&self, at: Point, call: &Call) -> Option<String> {
        let name = self.terms.cx.callee_name(self.terms.body, at, call.callee)?;
        let name = name.strip_prefix("__builtin_").unwrap_or(&name).to_string();
        let direct = !matches!(call.callee, Callee::Pointer(_));
        (direct && self.terms.cx.summary(call.callee).is_none()).then_some(name)
    }

    fn call_at(&self, at: Point) -> Option<Call<'_>> {
        self.terms.body.blocks.get(at.block.0 as usize)?.stmts.get(at.stmt)?.kind.as_call()
    }

    /// The size of the object, at least.
    fn size(&self) -> Option<Sum> {
        match &self.site.size {
            Size::Bytes(size) => self.sum(self.site.at, size),
            Size::Text(string) => {
                let length = Length { string: string.clone(), at: self.site.at, number: None };
                Some(Sum { lengths: vec![length], lo: 1, hi: 1 })
            }
            Size::Fixed(bytes) => Some(Sum::constant(i128::from(*bytes))),
            Size::Product(a, b) => match (self.terms.cx.constant(a), self.terms.cx.constant(b)) {
                (_, Some(1)) => self.sum(self.site.at, a),
                (Some(1), _) => self.sum(self.site.at, b),
                _ => None,
            },
            Size::Unknown => None,
        }
    }

    /// What the size is at least, whatever the lengths in it are.
    pub(crate) fn least_sum(&self) -> i128 {
        self.size().map_or(0, |size| size.lo)
    }

    /// Whether so many bytes from the start lie in the object.
    fn takes(&self, at: Point, need: &Sum) -> bool {
        if need.lengths.is_empty() && (need.hi <= self.bytes || self.is_long_enough(at, need.hi)) {
            return true;
        }
        let Some(size) = self.size() else { return false };
        if !Rule::Sums.holds() {
            return true;
        }
        let mut unused = size.lengths;
        let all = need.lengths.iter().all(|length| {
            let same = unused.iter().position(|own| self.is_same_length(own, length));
            same.map(|n| unused.swap_remove(n)).is_some()
        });
        all && need.hi <= size.lo
    }

    /// Whether a length in what is written is at most that one of the size.
    fn is_same_length(&self, own: &Length, length: &Length) -> bool {
        let site = self.site.at;
        // The number that was counted when the object was made is the last one.
        let lasts = |at: Point| {
            let number = own.number.as_ref();
            number.is_none_or(|(n, _)| self.terms.lasts(n, site, at)) || !Rule::LengthLasts.holds()
        };
        match &length.number {
            Some((_, used)) if own.at == length.at => lasts(*used),
            // It may have been measured before.
            Some((_, used)) => {
                lasts(*used) && lasts(length.at) && self.is_same_string(own, length) && self.is_same_string(length, own)
            }
            None => lasts(length.at) && self.is_same_string(own, length),
        }
    }

    /// Whether the string of `later` is that of `earlier` and has not changed, if control was at
    /// `earlier` before.
    fn is_same_string(&self, earlier: &Length, later: &Length) -> bool {
        let sources = self.sources(later.at, &later.string);
        self.is_string(earlier.at, &earlier.string, later.at, &sources)
    }

    /// Whether the statement writes a string that fits, at the end of the one that is there.
    pub(crate) fn fits_string(&self, at: Point, before: &Text) -> bool {
        let (Text::Written(parts) | Text::Copied(parts)) = before else { return false };
        let copied = matches!(before, Text::Written(_)) || self.is_string_there(before);
        let mut sum = Some(Sum::constant(1));
        for part in parts.iter().chain([&at]) {
            sum = sum.and_then(|sum| sum.plus(self.written(*part)?));
        }
        copied && sum.is_some_and(|sum| self.takes(at, &sum))
    }

    /// Whether the object certainly has a string.
    pub(crate) fn is_string_there(&self, text: &Text) -> bool {
        match text {
            Text::Unknown => false,
            Text::Ends | Text::Written(_) => true,
            Text::Copied(parts) => parts.first().is_some_and(|at| self.copied(*at).is_some()),
        }
    }

    /// The length of the string that a statement writes, or of the string that it leaves if it
    /// writes the end of one.
    fn written(&self, at: Point) -> Option<Sum> {
        let Some(call) = self.call_at(at) else { return self.ended(at) };
        if at == self.site.at {
            return self.size().map(|size| size.and(-1));
        }
        match self.library(at, &call)?.as_str() {
            "strcpy" | "stpcpy" | "strcat" => self.length(at, call.args.get(1)?),
            "sprintf" => self.printed(at, call.args.get(1)?, call.args.get(2..)?),
            "snprintf" | "vsnprintf" => Some(Sum::constant(i128::from(self.terms.cx.constant(call.args.get(1)?)?) - 1)),
            "memcpy" | "memmove" => self.copied(at),
            _ => None,
        }
    }

    /// The length of a string, literals included.
    fn length(&self, at: Point, string: &Operand) -> Option<Sum> {
        let literal = self.sources(at, string).iter().find_map(|s| self.literal(&s.0));
        let length = Length { string: string.clone(), at, number: None };
        Some(literal.map_or(Sum { lengths: vec![length], ..Sum::default() }, Sum::constant))
    }

    /// Characters before the end of a literal.
    fn literal(&self, operand: &Operand) -> Option<i128> {
        Some(self.terms.cx.literal(operand)?.units.iter().position(|&u| u == 0)? as i128)
    }

    /// Where the copy of bytes ends, less one, if it copies the end of a string.
    fn copied(&self, at: Point) -> Option<Sum> {
        let call = self.call_at(at)?;
        let [to, from, bytes] = call.args.as_slice() else { return None };
        let bytes = self.sum(at, bytes)?;
        let literal = self.sources(at, from).iter().find_map(|s| self.literal(&s.0));
        let whole = match (literal, bytes.lengths.as_slice()) {
            (Some(length), []) => bytes.lo > length,
            (None, [length]) if bytes.lo >= 1 => {
                let own = Length { string: from.clone(), at, number: None };
                self.is_same_string(length, &own)
            }
            _ => false,
        };
        if !whole && Rule::CopiedEnd.holds() {
            return None;
        }
        self.offset(at, to)?.plus(bytes.and(-1))
    }

    /// Where a statement puts the zero that ends a string.
    fn ended(&self, at: Point) -> Option<Sum> {
        let stmt = self.terms.body.blocks.get(at.block.0 as usize)?.stmts.get(at.stmt)?;
        let (place, _) = stmt.kind.as_assign()?;
        if place.proj != [Proj::Deref] {
            return None;
        }
        let base = Operand::Copy(Place { base: place.base, proj: vec![] });
        self.offset(at, &base)
    }

    /// Bytes from the start of the object to where a pointer into it points.
    pub(crate) fn offset(&self, at: Point, pointer: &Operand) -> Option<Sum> {
        self.offset_back(at, pointer, DEPTH)
    }

    fn offset_back(&self, at: Point, pointer: &Operand, left: usize) -> Option<Sum> {
        let left = left.checked_sub(1)?;
        if self.is_start(at, pointer) {
            return Some(Sum::default());
        }
        let (made, stmt) = self.terms.defined(at, pointer)?;
        if !self.terms.lasts(pointer, made, at) {
            return None;
        }
        let (_, value) = stmt.kind.as_assign()?;
        if let Some(from) = value.same_bits() {
            return self.offset_back(made, from, left);
        }
        let (from, by) = value.as_offset()?;
        let types = &self.terms.cx.program.types;
        let ty = mir::ty::operand_ty(self.terms.cx.program, self.terms.body, from).ok()?;
        let of_bytes = types.layout(types.as_pointer(ty)?.target.ty)?.size == 1;
        let start = self.offset_back(made, from, left).filter(|_| of_bytes)?;
        start.plus(self.sum(made, by)?)
    }

    /// Whether a pointer has the start of the object, by the statements that gave it that.
    fn is_start(&self, at: Point, pointer: &Operand) -> bool {
        let all = self.sources(at, pointer);
        all.iter().any(|(operand, way)| {
            let here = way.last().copied().unwrap_or(at);
            self.terms.defined(here, operand).is_some_and(|(made, _)| made == self.site.at)
        })
    }

    /// The length of what a format prints at most.
    fn printed(&self, at: Point, format: &Operand, args: &[Operand]) -> Option<Sum> {
        let format = self.sources(at, format).iter().find_map(|s| self.terms.cx.literal(&s.0))?;
        let mut units = format.units.iter().take_while(|&&u| u != 0).map(|&u| char::from_u32(u).unwrap_or('\0'));
        let mut args = args.iter();
        let mut sum = Sum::default();
        while let Some(c) = units.next() {
            if c != '%' {
                sum = sum.and(1);
                continue;
            }
            let mut longs = 0;
            let conversion = loop {
                match units.next()? {
                    'l' | 'z' | 'j' | 't' => longs += 1,
                    'h' => {}
                    // Flags, widths and precisions are left alone.
                    c => break c,
                }
            };
            let digits = |short, long| if longs > 0 { long } else { short };
            sum = match conversion {
                '%' if longs == 0 => sum.and(1),
                's' if longs == 0 => sum.plus(self.length(at, args.next()?)?)?,
                'c' if longs == 0 => args.next().map(|_| sum.and(1))?,
                'd' | 'i' => args.next().map(|_| sum.and(digits(11, 20)))?,
                'u' => args.next().map(|_| sum.and(digits(10, 20)))?,
                'x' | 'X' => args.next().map(|_| sum.and(digits(8, 16)))?,
                _ => return None,
            };
        }
        Some(sum)
    }

    /// Whether a use of so many bytes through a pointer stays inside.
    pub(crate) fn fits_sum(&self, at: Point, pointer: &Operand, bytes: &Operand, from_start: bool) -> bool {
        let start = if from_start { Some(Sum::default()) } else { self.offset(at, pointer) };
        let need = start.and_then(|start| start.plus(self.sum(at, bytes)?));
        need.is_some_and(|need| self.takes(at, &need))
    }

    /// Whether an access of so many bytes after an index stays inside.
    pub(crate) fn fits_index(&self, at: Point, by: &Operand, bytes: i128) -> bool {
        self.sum(at, by).is_some_and(|sum| self.takes(at, &sum.and(bytes)))
    }
}
