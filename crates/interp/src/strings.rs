//! <string.h>, <strings.h>, and numbers from text.

use crate::code::*;
use crate::library::*;
use crate::machine::*;
use crate::memory::*;

impl Machine<'_> {
    /// A function of <string.h>, <strings.h> or one that reads numbers, if it is one.
    pub fn strings(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        match name {
            "memcpy" | "memmove" | "mempcpy" | "__builtin_memcpy" | "__builtin_memmove" => {
                let (to, from, n) = (a.ptr(0), a.ptr(1), a.size(2));
                self.copy_bytes(to, from, n)?;
                ptr(if name == "mempcpy" { to + n } else { to })
            }
            "bcopy" => {
                self.copy_bytes(a.ptr(1), a.ptr(0), a.size(2))?;
                int(0)
            }
            "memset" | "__builtin_memset" => {
                let (to, n) = (a.ptr(0), a.size(2));
                self.fill(to, n, a.int(1) as u8)?;
                ptr(to)
            }
            "explicit_bzero" | "bzero" => {
                self.fill(a.ptr(0), a.size(1), 0)?;
                int(0)
            }
            "memccpy" => {
                let (to, from, c, n) = (a.ptr(0), a.ptr(1), a.int(2) as u8, a.size(3));
                let mut out = vec![];
                let mut found = false;
                while (out.len() as u64) < n && !found {
                    let b = self.byte(from + out.len() as u64)?;
                    out.push(b);
                    found = b == c;
                }
                self.put_bytes(to, &out)?;
                ptr(if found { to + out.len() as u64 } else { 0 })
            }
            "memcmp" | "bcmp" | "__builtin_memcmp" => {
                let (x, y) = (self.bytes(a.ptr(0), a.size(2))?, self.bytes(a.ptr(1), a.size(2))?);
                int(order(x.cmp(&y)))
            }
            "memchr" | "memrchr" => {
                let bytes = self.bytes(a.ptr(0), a.size(2))?;
                let c = a.int(1) as u8;
                let at = match name {
                    "memchr" => bytes.iter().position(|&b| b == c),
                    _ => bytes.iter().rposition(|&b| b == c),
                };
                ptr(at.map_or(0, |n| a.ptr(0) + n as u64))
            }
            "memmem" => {
                let (x, y) = (self.bytes(a.ptr(0), a.size(1))?, self.bytes(a.ptr(2), a.size(3))?);
                ptr(find(&x, &y).map_or(0, |n| a.ptr(0) + n as u64))
            }
            "strlen" | "__builtin_strlen" => int(self.string(a.ptr(0))?.len() as i64),
            "strnlen" => int(self.string_within(a.ptr(0), a.size(1))?.len() as i64),
            "strcmp" => {
                let (x, y) = (self.string(a.ptr(0))?, self.string(a.ptr(1))?);
                int(order(x.cmp(&y)))
            }
            "strncmp" => {
                let n = a.size(2);
                let (x, y) = (self.string_within(a.ptr(0), n)?, self.string_within(a.ptr(1), n)?);
                int(order(x.cmp(&y)))
            }
            "strcasecmp" => {
                let (x, y) = (self.string(a.ptr(0))?, self.string(a.ptr(1))?);
                int(order(x.to_ascii_lowercase().cmp(&y.to_ascii_lowercase())))
            }
            "strncasecmp" => {
                let n = a.size(2);
                let (x, y) = (self.string_within(a.ptr(0), n)?, self.string_within(a.ptr(1), n)?);
                int(order(x.to_ascii_lowercase().cmp(&y.to_ascii_lowercase())))
            }
            "strchr" | "strrchr" | "strchrnul" | "index" | "rindex" => {
                let mut text = self.string(a.ptr(0))?;
                let end = text.len() as u64;
                text.push(0);
                let c = a.int(1) as u8;
                let at = match name {
                    "strrchr" | "rindex" => text.iter().rposition(|&b| b == c),
                    _ => text.iter().position(|&b| b == c),
                };
                let none = if name == "strchrnul" { a.ptr(0) + end } else { 0 };
                ptr(at.map_or(none, |n| a.ptr(0) + n as u64))
            }
            "strstr" | "strcasestr" => {
                let (mut x, mut y) = (self.string(a.ptr(0))?, self.string(a.ptr(1))?);
                if name == "strcasestr" {
                    x.make_ascii_lowercase();
                    y.make_ascii_lowercase();
                }
                ptr(find(&x, &y).map_or(0, |n| a.ptr(0) + n as u64))
            }
            "strpbrk" => {
                let (x, set) = (self.string(a.ptr(0))?, self.string(a.ptr(1))?);
                ptr(x.iter().position(|b| set.contains(b)).map_or(0, |n| a.ptr(0) + n as u64))
            }
            "strspn" | "strcspn" => {
                let (x, set) = (self.string(a.ptr(0))?, self.string(a.ptr(1))?);
                let want = name == "strspn";
                int(x.iter().take_while(|b| set.contains(b) == want).count() as i64)
            }
            "lee_strcpy" | "lee_stpcpy" => {
                let text = self.string(a.ptr(1))?;
                let end = self.put_string(a.words(0), 0, &text)?;
                ptr(if name == "lee_strcpy" { a.ptr(0) } else { end })
            }
            "lee_strcat" | "lee_strncat" => {
                let text = match name {
                    "lee_strcat" => self.string(a.ptr(1))?,
                    _ if a.size(2) == 0 => vec![],
                    _ if a.ptr(1) == 0 => return fault("null pointer"),
                    _ => self.string_within(a.ptr(1), a.size(2))?,
                };
                let room = self.room(a.words(0))?;
                let have = self.string_within(a.ptr(0), room)?.len() as u64;
                if have == room {
                    return fault("no terminating zero within bounds");
                }
                self.put_string(a.words(0), have, &text)?;
                ptr(a.ptr(0))
            }
            "lee_strncpy" | "lee_stpncpy" => {
                let (to, n) = (a.ptr(0), a.size(2));
                let mut end = to;
                if n > 0 {
                    if a.ptr(1) == 0 || to == 0 {
                        return fault("null pointer");
                    }
                    if n > self.options.memory {
                        return fault("more bytes are written than any object has");
                    }
                    let mut text = self.string_within(a.ptr(1), n)?;
                    end += text.len() as u64;
                    text.resize(n as usize, 0);
                    self.put_bytes(to, &text)?;
                }
                ptr(if name == "lee_strncpy" { to } else { end })
            }
            "lee_strlcpy" | "lee_strlcat" => {
                let (to, n) = (a.ptr(0), a.size(2));
                let text = self.string(a.ptr(1))?;
                let have = match name {
                    "lee_strlcat" if n > 0 => self.string_within(to, n)?.len() as u64,
                    _ => 0,
                };
                if have < n {
                    let kept = (text.len() as u64).min(n - have - 1) as usize;
                    let mut bytes = text.get(..kept).unwrap_or(&[]).to_vec();
                    bytes.push(0);
                    self.put_bytes(to + have, &bytes)?;
                }
                int(have as i64 + text.len() as i64)
            }
            "lee_strtok_r" => {
                let (mut s, save) = (a.ptr(0), a.ptr(2));
                if save == 0 || a.ptr(1) == 0 {
                    return fault("null pointer");
                }
                let delimiters = self.string(a.ptr(1))?;
                if s == 0 {
                    s = self.read_word(self.mem.place(save))?;
                }
                if s == 0 {
                    return ptr(0);
                }
                let text = self.string(s)?;
                let skip = text.iter().take_while(|b| delimiters.contains(b)).count();
                let length = text.iter().skip(skip).take_while(|b| !delimiters.contains(b)).count();
                let (start, end) = (s + skip as u64, s + (skip + length) as u64);
                if length == 0 {
                    self.put_bytes(save, &end.to_le_bytes())?;
                    return ptr(0);
                }
                let last = skip + length == text.len();
                if !last {
                    self.put_bytes(end, &[0])?;
                }
                let next = if last { end } else { end + 1 };
                self.put_bytes(save, &next.to_le_bytes())?;
                ptr(start)
            }
            "lee_strsep" => {
                if a.ptr(0) == 0 {
                    return fault("null pointer");
                }
                let delimiters = self.string(a.ptr(1))?;
                let s = self.read_word(self.mem.place(a.ptr(0)))?;
                if s == 0 {
                    return ptr(0);
                }
                let text = self.string(s)?;
                let length = text.iter().take_while(|b| !delimiters.contains(b)).count();
                let next = if length == text.len() {
                    0
                } else {
                    self.put_bytes(s + length as u64, &[0])?;
                    s + length as u64 + 1
                };
                self.put_bytes(a.ptr(0), &next.to_le_bytes())?;
                ptr(s)
            }
            "lee_strdup" => {
                let text = self.string(a.ptr(0))?;
                self.new_string(&text, true).map(Some)
            }
            "lee_strndup" => {
                if a.ptr(0) == 0 {
                    return fault("null pointer");
                }
                let text = self.string_within(a.ptr(0), a.size(1))?;
                self.new_string(&text, true).map(Some)
            }
            "lee_strerror" | "lee_strsignal" => {
                let text = match name {
                    "lee_strerror" => crate::format::error_text(a.int(0) as i32),
                    _ => format!("Signal {}", a.int(0)),
                };
                let words = self.new_string(text.as_bytes(), false)?;
                ptr(words.addr())
            }
            "lee_strerror_r" => {
                let text = crate::format::error_text(a.int(0) as i32);
                let n = a.size(2);
                if n > 0 {
                    let kept = text.len().min(n as usize - 1);
                    let mut bytes = text.as_bytes().get(..kept).unwrap_or(&[]).to_vec();
                    bytes.push(0);
                    self.put_bytes(a.ptr(1), &bytes)?;
                }
                int(if text.len() as u64 >= n { libc::ERANGE } else { 0 })
            }
            "atoi" => int(self.integer_at(a.ptr(0), 10, i128::from(i64::MIN), i128::from(i64::MAX))?.0 as i32),
            "atol" | "atoll" => {
                int(self.integer_at(a.ptr(0), 10, i128::from(i64::MIN), i128::from(i64::MAX))?.0 as i64)
            }
            "strtol" | "strtoll" | "lee_strtol" | "lee_strtoll" => {
                self.read_integer(a, i128::from(i64::MIN), i128::from(i64::MAX))
            }
            "strtoul" | "strtoull" | "lee_strtoul" | "lee_strtoull" => self.read_integer(a, 0, i128::from(u64::MAX)),
            "atof" => {
                let text = self.string(a.ptr(0))?;
                Ok(Some(Val::Float(double_at(&text).0)))
            }
            "strtod" | "strtold" | "strtof" => {
                let text = self.string(a.ptr(0))?;
                let (value, used) = double_at(&text);
                if a.ptr(1) != 0 {
                    self.put_bytes(a.ptr(1), &(a.ptr(0) + used as u64).to_le_bytes())?;
                }
                if value.is_infinite() && !text.to_ascii_lowercase().windows(3).any(|w| w == b"inf") {
                    self.set_errno(libc::ERANGE);
                }
                Ok(Some(Val::Float(if name == "strtof" { f64::from(value as f32) } else { value })))
            }
            _ => Ok(None),
        }
    }

    fn fill(&mut self, to: u64, n: u64, byte: u8) -> R<()> {
        match n <= LARGEST {
            true => self.put_bytes(to, &vec![byte; n as usize]),
            false if to == 0 => fault("null pointer"),
            false => report(crate::ReportKind::OutOfBounds, "more is written than any object has"),
        }
    }

    /// `memmove`: what is owned does not pass on by bytes.
    pub fn copy_bytes(&mut self, to: u64, from: u64, n: u64) -> R<()> {
        if n == 0 {
            return Ok(());
        }
        let (data, marks) = self.raw(from, n)?;
        let loc = self.mem.place(to);
        match self.mem.writable(loc, n) {
            Ok(obj) => {
                obj.write(loc.off, &data);
                if !marks.is_empty() {
                    obj.set_marks(loc.off, &marks, n);
                }
                Ok(())
            }
            Err(bad) => self.refuse(bad, loc, n, "the library's write"),
        }
    }

    fn room(&self, [p, lo, hi]: [u64; 3]) -> R<u64> {
        if p == 0 {
            return fault("null pointer");
        }
        let (have, at) = (hi.wrapping_sub(lo), p.wrapping_sub(lo));
        if at > have {
            return crate::checks::pointer_fault([p, lo, hi], 1);
        }
        Ok(have - at)
    }

    /// Puts a string into what a fat pointer has, `skip` bytes on; where its zero is.
    fn put_string(&mut self, words: [u64; 3], skip: u64, text: &[u8]) -> R<u64> {
        let room = self.room(words)? - skip;
        if text.len() as u64 >= room {
            return crate::checks::range_fault(text.len() as i128 + 1, room);
        }
        let mut bytes = text.to_vec();
        bytes.push(0);
        self.put_bytes(words[0] + skip, &bytes)?;
        Ok(words[0] + skip + text.len() as u64)
    }

    fn read_integer(&mut self, a: &Args, least: i128, most: i128) -> R<Option<Val>> {
        let (value, used, over) = self.integer_at(a.ptr(0), a.int(2) as u32, least, most)?;
        if a.ptr(1) != 0 {
            self.put_bytes(a.ptr(1), &(a.ptr(0) + used as u64).to_le_bytes())?;
        }
        if over {
            self.set_errno(libc::ERANGE);
        }
        Ok(Some(Val::Int(if least == 0 { i128::from(value as u64) } else { value })))
    }

    /// An integer at the beginning of a string: value, characters, whether it was out of range.
    fn integer_at(&mut self, address: u64, base: u32, least: i128, most: i128) -> R<(i128, usize, bool)> {
        let text = self.string(address)?;
        if base == 1 || base > 36 {
            self.set_errno(libc::EINVAL);
            return Ok((0, 0, false));
        }
        let mut i = text.iter().take_while(|b| space(**b)).count();
        let negative = text.get(i) == Some(&b'-');
        if matches!(text.get(i), Some(b'-' | b'+')) {
            i += 1;
        }
        let mut base = base;
        let hex = text.get(i) == Some(&b'0')
            && matches!(text.get(i + 1), Some(b'x' | b'X'))
            && text.get(i + 2).is_some_and(u8::is_ascii_hexdigit);
        if (base == 0 || base == 16) && hex {
            base = 16;
            i += 2;
        } else if base == 0 {
            base = if text.get(i) == Some(&b'0') { 8 } else { 10 };
        }
        let start = i;
        let mut value = 0i128;
        while let Some(d) = text.get(i).and_then(|&b| (b as char).to_digit(base)) {
            value = value.saturating_mul(i128::from(base)).saturating_add(i128::from(d));
            i += 1;
        }
        if i == start {
            return Ok((0, 0, false));
        }
        if least == 0 {
            let over = value > most;
            let value = if over {
                most
            } else if negative {
                -value
            } else {
                value
            };
            return Ok((value, i, over));
        }
        let value = if negative { -value } else { value };
        let over = value < least || value > most;
        Ok((value.clamp(least, most), i, over))
    }
}

fn space(b: u8) -> bool {
    b == b' ' || (9..14).contains(&b)
}

/// A number at the beginning of a string after blanks: value and characters.
fn double_at(text: &[u8]) -> (f64, usize) {
    let skip = text.iter().take_while(|b| space(**b)).count();
    let (value, used) = parse_double(text.get(skip..).unwrap_or(&[]));
    (value, if used == 0 { 0 } else { skip + used })
}

/// The number that the text begins with: value and characters.
pub fn parse_double(text: &[u8]) -> (f64, usize) {
    let mut owned = text.to_vec();
    owned.push(0);
    let mut end = std::ptr::null_mut();
    // SAFETY: the text ends with a zero, and `end` points into it afterwards.
    let value = unsafe { libc::strtod(owned.as_ptr().cast(), &mut end) };
    let used = end as usize - owned.as_ptr() as usize;
    (value, used)
}

fn order(o: std::cmp::Ordering) -> i32 {
    match o {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    if what.is_empty() {
        return Some(0);
    }
    text.windows(what.len()).position(|w| w == what)
}
