//! `scanf`'s formats.

use crate::code::*;
use crate::machine::*;
use crate::ReportKind;

/// What is scanned.
pub enum Input {
    /// A stream.
    Stream(usize),
    /// A string and the place in it.
    Text(Vec<u8>, usize),
}

impl Machine<'_> {
    fn scan_next(&mut self, input: &mut Input) -> Option<u8> {
        match input {
            Input::Stream(n) => self.io.next(*n),
            Input::Text(text, at) => {
                let byte = text.get(*at).copied();
                *at += usize::from(byte.is_some());
                byte
            }
        }
    }

    fn scan_back(&mut self, input: &mut Input, byte: Option<u8>) {
        let Some(byte) = byte else { return };
        match input {
            Input::Stream(n) => self.io.back(*n, byte),
            Input::Text(_, at) => *at -= 1,
        }
    }

    /// `scanf`: the number of conversions that were stored, or -1 at the end.
    pub fn scan(&mut self, mut input: Input, format: &[u8], args: &[(Val, Repr)]) -> R<i32> {
        let mut rest = args.iter();
        let (mut stored, mut read) = (0, 0usize);
        let mut i = 0;
        while let Some(&c) = format.get(i) {
            i += 1;
            if c.is_ascii_whitespace() {
                self.skip_space(&mut input, &mut read);
                continue;
            }
            if c != b'%' || format.get(i) == Some(&b'%') {
                if c == b'%' {
                    i += 1;
                    self.skip_space(&mut input, &mut read);
                }
                match self.scan_next(&mut input) {
                    Some(b) if b == c => read += 1,
                    Some(b) => {
                        self.scan_back(&mut input, Some(b));
                        return Ok(stored);
                    }
                    None => return Ok(if stored == 0 { -1 } else { stored }),
                }
                continue;
            }
            let skips = format.get(i) == Some(&b'*');
            i += usize::from(skips);
            let mut width = 0usize;
            while let Some(d) = format.get(i).filter(|c| c.is_ascii_digit()) {
                width = width.saturating_mul(10).saturating_add(usize::from(d - b'0'));
                i += 1;
            }
            let mut length = vec![];
            while let Some(&l) = format.get(i).filter(|c| b"hlLqjztZ".contains(c)) {
                length.push(l);
                i += 1;
            }
            let Some(&conversion) = format.get(i) else { break };
            i += 1;
            let mut set: Option<Vec<bool>> = None;
            if conversion == b'[' {
                set = Some(char_set(format, &mut i));
            }
            let target = if skips {
                0
            } else {
                match rest.next() {
                    Some((value, _)) => value.addr(),
                    None => return report(ReportKind::VarArgs, "a format asks for more arguments than there are"),
                }
            };
            if conversion == b'n' {
                if target != 0 {
                    self.put_number(target, &length, read as i128)?;
                }
                continue;
            }
            if !matches!(conversion, b'c' | b'[') {
                self.skip_space(&mut input, &mut read);
            }
            let first = self.scan_next(&mut input);
            if first.is_none() {
                return Ok(if stored == 0 { -1 } else { stored });
            }
            self.scan_back(&mut input, first);
            let limit = if width == 0 { usize::MAX } else { width };
            match conversion {
                b'c' => {
                    let want = width.max(1);
                    let text = self.take_while(&mut input, want, &mut read, |_| true);
                    if text.len() < want {
                        return Ok(if stored == 0 { -1 } else { stored });
                    }
                    if !skips {
                        self.put_bytes(target, &text)?;
                    }
                }
                b's' | b'[' => {
                    let text = match &set {
                        Some(set) => {
                            self.take_while(&mut input, limit, &mut read, |b| set.get(b as usize) == Some(&true))
                        }
                        None => self.take_while(&mut input, limit, &mut read, |b| !b.is_ascii_whitespace()),
                    };
                    if text.is_empty() {
                        return Ok(stored);
                    }
                    if !skips {
                        self.put_bytes(target, &[text.as_slice(), &[0]].concat())?;
                    }
                }
                b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'p' => {
                    let base = match conversion {
                        b'i' => 0,
                        b'o' => 8,
                        b'x' | b'X' | b'p' => 16,
                        _ => 10,
                    };
                    let Some(value) = self.scan_integer(&mut input, limit, base, &mut read) else { return Ok(stored) };
                    if !skips {
                        self.put_number(target, &length, value)?;
                    }
                }
                b'f' | b'e' | b'g' | b'a' | b'E' | b'F' | b'G' | b'A' => {
                    let mut seen: Vec<u8> = vec![];
                    while seen.len() < limit {
                        let Some(b) = self.scan_next(&mut input) else { break };
                        let sign_ok = seen.is_empty() || matches!(seen.last(), Some(b'e' | b'E' | b'p' | b'P'));
                        let good = b.is_ascii_alphanumeric() || b == b'.' || (matches!(b, b'+' | b'-') && sign_ok);
                        if !good {
                            self.scan_back(&mut input, Some(b));
                            break;
                        }
                        seen.push(b);
                        read += 1;
                    }
                    let (value, used) = crate::strings::parse_double(&seen);
                    if used == 0 {
                        return Ok(stored);
                    }
                    // What is not part of the number is put back.
                    for &b in seen.iter().skip(used).rev() {
                        self.scan_back(&mut input, Some(b));
                        read -= 1;
                    }
                    if !skips {
                        let bytes = match length.as_slice() {
                            b"" => (value as f32).to_le_bytes().to_vec(),
                            b"l" => value.to_le_bytes().to_vec(),
                            _ => encode(&Val::Float(value), Repr::F80),
                        };
                        self.put_bytes(target, &bytes)?;
                    }
                }
                other => return unsupported(format!("the conversion `%{}` of scanf", other as char)),
            }
            stored += i32::from(!skips);
        }
        Ok(stored)
    }

    fn skip_space(&mut self, input: &mut Input, read: &mut usize) {
        while let Some(b) = self.scan_next(input) {
            if !(b.is_ascii_whitespace() || b == 0x0b) {
                return self.scan_back(input, Some(b));
            }
            *read += 1;
        }
    }

    fn take_while(&mut self, input: &mut Input, limit: usize, read: &mut usize, good: impl Fn(u8) -> bool) -> Vec<u8> {
        let mut out = vec![];
        while out.len() < limit {
            let Some(b) = self.scan_next(input) else { break };
            if !good(b) {
                self.scan_back(input, Some(b));
                break;
            }
            out.push(b);
            *read += 1;
        }
        out
    }

    fn scan_integer(&mut self, input: &mut Input, limit: usize, base: u32, read: &mut usize) -> Option<i128> {
        let mut left = limit;
        let (mut negative, mut base, mut any, mut value) = (false, base, false, 0i128);
        let mut next = self.scan_next(input);
        let mut advance = |this: &mut Self, input: &mut Input, left: &mut usize| {
            *read += 1;
            *left -= 1;
            if *left == 0 {
                None
            } else {
                this.scan_next(input)
            }
        };
        if let Some(sign @ (b'+' | b'-')) = next {
            negative = sign == b'-';
            next = advance(self, input, &mut left);
        }
        if next == Some(b'0') && (base == 0 || base == 16) && left > 0 {
            any = true;
            next = advance(self, input, &mut left);
            if matches!(next, Some(b'x' | b'X')) {
                base = 16;
                next = advance(self, input, &mut left);
            } else if base == 0 {
                base = 8;
            }
        }
        if base == 0 {
            base = 10;
        }
        while let Some(b) = next {
            let Some(d) = (b as char).to_digit(base) else { break };
            any = true;
            value = (value * i128::from(base) + i128::from(d)).min(i128::from(u64::MAX));
            next = if left > 0 { advance(self, input, &mut left) } else { None };
        }
        if left > 0 {
            self.scan_back(input, next);
        }
        any.then_some(if negative { -value } else { value })
    }

    fn put_number(&mut self, target: u64, length: &[u8], value: i128) -> R<()> {
        let size = match length {
            b"hh" => 1,
            b"h" => 2,
            b"" => 4,
            _ => 8,
        };
        let bytes = value.to_le_bytes();
        self.put_bytes(target, bytes.get(..size).unwrap_or(&[]))
    }
}

fn char_set(format: &[u8], i: &mut usize) -> Vec<bool> {
    let mut set = vec![false; 256];
    let inverted = format.get(*i) == Some(&b'^');
    *i += usize::from(inverted);
    let mut first = true;
    while let Some(&c) = format.get(*i) {
        *i += 1;
        if c == b']' && !first {
            break;
        }
        first = false;
        let end = match (format.get(*i), format.get(*i + 1)) {
            (Some(b'-'), Some(&end)) if end != b']' => {
                *i += 2;
                end
            }
            _ => c,
        };
        for b in c..=end {
            if let Some(slot) = set.get_mut(b as usize) {
                *slot = true;
            }
        }
    }
    if inverted {
        set.iter_mut().for_each(|b| *b = !*b);
    }
    if let Some(zero) = set.get_mut(0) {
        *zero = false;
    }
    set
}
