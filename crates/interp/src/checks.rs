//! Run-time checks: a failed one is the program's own fault, and correct behaviour.

use crate::code::*;
use crate::exec::{count_message, left};
use crate::machine::*;
use crate::memory::*;
use crate::types;
use typing::types::*;

impl Machine<'_> {
    /// Runs a check.
    pub fn check(&mut self, test: &Test) -> R<()> {
        match test {
            Test::Index(index, length) => {
                let (i, n) = (self.peek(index)?.int(), self.peek(length)?.int());
                if i < 0 || i >= n {
                    return fault(format!("index {} out of bounds for length {n}", shown(i)));
                }
            }
            Test::Access(pointer, count, size) => {
                let words = self.peek(pointer)?.words();
                let signed = matches!(count.repr, Repr::Int(k) if k.signed());
                let n = self.peek(count)?.int();
                if matches!(count.kind, OpKind::Const(Val::Int(1))) {
                    let [p, lo, hi] = words;
                    if p.wrapping_sub(lo) >= hi.wrapping_sub(lo) {
                        return pointer_fault(words, *size);
                    }
                    return Ok(());
                }
                let have = left(words, *size);
                let n = if signed { n.max(0) } else { i128::from(n as u64) };
                if n > i128::from(have) {
                    return range_fault(n, have);
                }
            }
            Test::Element(e) => {
                let (base, i, n) =
                    (self.peek(&e.base)?.addr(), self.peek(&e.index)?.int() as i64, self.peek(&e.count)?.int() as i64);
                if base == 0 {
                    return fault("null pointer");
                }
                if i < 0 || i >= n {
                    return fault(format!("index {i} out of bounds for length {}", n.max(0)));
                }
            }
            Test::Within(pointer, size) => {
                let words = self.peek(pointer)?.words();
                let [p, lo, hi] = words;
                if p.wrapping_sub(lo) > hi.wrapping_sub(lo) {
                    return pointer_fault(words, *size);
                }
            }
            Test::Enough(want, have) => {
                let signed = matches!(want.repr, Repr::Int(k) if k.signed());
                let (w, h) = (self.peek(want)?.int(), self.peek(have)?.int());
                let w = if signed { w.max(0) } else { w };
                if w > h {
                    return range_fault(w, h as u64);
                }
            }
            Test::NotNull(pointer) => {
                if self.peek(pointer)?.addr() == 0 {
                    return fault("null pointer");
                }
            }
            Test::Divide(a, b) => {
                let divisor = self.peek(b)?.int();
                if divisor == 0 {
                    return fault("division by zero");
                }
                if let Repr::Int(kind) = b.repr {
                    let least =
                        if kind == IntKind::Int128 { i128::MIN } else { -(1i128 << (kind.size() * 8 - 1).min(126)) };
                    if kind.signed() && divisor == -1 && self.peek(a)?.int() == least {
                        return fault("division overflow (INT_MIN / -1)");
                    }
                }
            }
            Test::Type(pointer, want) => {
                let [p, word, _] = self.peek(pointer)?.words();
                if p != 0 && !word_type(word).is_some_and(|have| want.iter().any(|&want| self.same_type(have, want))) {
                    let have = word_type(word).map_or("an unknown type".to_string(), |t| self.program.types.show(t));
                    return fault(format!(
                        "type: a pointer to {have} is used as a pointer to {}",
                        want.first().map_or(String::new(), |&want| self.program.types.show(want))
                    ));
                }
            }
            Test::Container(pointer, record, off) => {
                let p = self.peek(pointer)?.addr();
                if p != 0 {
                    self.check_container(p, *record, *off)?;
                }
            }
            Test::Contract(end, ty) => {
                let address = self.peek(end)?.addr();
                self.check_contract(address, *ty)?;
            }
            Test::Tag(place, member, names) => {
                let loc = self.locate(place, true)?;
                let tag = self.read(loc, Repr::Int(IntKind::UInt), 4, None)?.int() as u32;
                if tag != *member {
                    let name = |n: u32| names.get(n as usize).cloned().unwrap_or_default();
                    return fault(format!("tag: member {} is active, {} is read", name(tag), name(*member)));
                }
            }
            Test::TagValue(op, values, name, arms) => {
                let value = self.peek(op)?.int();
                if !values.contains(&value) {
                    return match arms.iter().find(|(n, _)| *n == value) {
                        Some((_, active)) => fault(format!("tag: member {active} is active, {name} is read")),
                        None => fault(format!("tag: no member is active, {name} is read")),
                    };
                }
            }
            Test::HasTerminator(pointer, width) => {
                let [p, lo, hi] = self.peek(pointer)?.words();
                if p != 0 {
                    let have = left([p, lo, hi], *width);
                    for n in 0..have {
                        let loc = self.mem.place(p + n * width);
                        let unit = self.read(loc, unit_repr(*width), *width, None)?;
                        if unit.int() == 0 {
                            return Ok(());
                        }
                    }
                    return fault("no terminating zero within bounds");
                }
            }
            Test::Terminator(old, new) => {
                if self.peek(old)?.int() == 0 && self.peek(new)?.int() != 0 {
                    return fault("a string's terminator is out of bounds for writing");
                }
            }
            Test::Count(new, there) => {
                let unsigned = matches!(new.repr, Repr::Int(k) if k.size() == 8 && !k.signed());
                let (n, t) = (self.peek(new)?.int(), self.peek(there)?.int());
                let t = if unsigned { i128::from(t as u64) } else { t };
                if n > t && n > 0 {
                    return fault(count_message(n.min(i128::from(i64::MAX)) as i64, t as i64));
                }
            }
            Test::View(pointer, size, align) => {
                let p = self.peek(pointer)?.addr();
                let _ = size;
                if p % (*align).max(1) != 0 {
                    return fault(format!("cast: address {p:#x} is not aligned to {align} bytes"));
                }
            }
            Test::Step(pointer, width) => {
                let p = self.peek(pointer)?.addr();
                let loc = self.mem.place(p);
                if self.read(loc, unit_repr(*width), *width, None)?.int() == 0 {
                    return range_fault(1, 0);
                }
            }
            Test::Multiple(bytes, size) => {
                let n = self.peek(bytes)?.int();
                if *size != 0 && n % i128::from(*size) != 0 {
                    return fault(format!("cast: {n} bytes are not a whole number of elements of {size} bytes"));
                }
            }
            Test::Unreachable => return fault("unreachable code reached"),
        }
        Ok(())
    }

    /// Whether two types are the same without their regions.
    pub fn same_type(&self, a: Ty, b: Ty) -> bool {
        a == b || self.program.types.same_modulo_regions(a, b)
    }

    /// The pointer must be to the member at `off` of a live object of the record type.
    fn check_container(&mut self, p: u64, record: Ty, off: u64) -> R<()> {
        let loc = self.mem.place(p);
        let size = types::size(&self.program.types, record);
        let start = loc.off - off as i64;
        let found = self.mem.obj(loc.obj).is_some_and(|o| {
            o.state == State::Live
                && start >= 0
                && start as u64 + size <= o.data.len() as u64
                && o.elem != 0
                && self.holds_at(Ty(o.elem - 1), start as u64, record, 0, o.kind == Kind::Heap)
        });
        match found {
            true => Ok(()),
            false => fault(format!(
                "container_of: the pointer is not to that member of a {}",
                self.program.types.show(record)
            )),
        }
    }

    /// Whether an object of the type has one of the record type at the offset.
    fn holds_at(&self, ty: Ty, off: u64, record: Ty, depth: u32, many: bool) -> bool {
        let types = &self.program.types;
        let size = types::size(types, ty);
        if depth > 50 || size == 0 {
            return false;
        }
        let flexible = types.as_record(ty).is_some_and(|id| types.flexible_member(id).is_some());
        let off = if many && !flexible { off % size } else { off };
        if off == 0 && self.same_type(ty, record) {
            return true;
        }
        match types.kind(ty) {
            TyKind::Array { elem, .. } => {
                let step = types::size(types, elem.ty).max(1);
                off < size && self.holds_at(elem.ty, off % step, record, depth + 1, false)
            }
            // A union that may hold pointers need not hold the member that is asked for.
            TyKind::Record(id) if types.record(*id).kind != RecordKind::Struct && !types.is_plain(ty) => false,
            TyKind::Record(id) => {
                let (Some(fields), Some((_, places))) = (types.record(*id).fields.clone(), types.record_layout(*id))
                else {
                    return false;
                };
                fields.iter().zip(places).any(|(field, place)| {
                    let size = types::size(types, field.ty.ty);
                    (place.offset..place.offset + size).contains(&off)
                        && self.holds_at(field.ty.ty, off - place.offset, record, depth + 1, false)
                })
            }
            _ => false,
        }
    }

    /// The characters before the zero.
    pub fn string_length(&self, address: u64, width: u64) -> R<u64> {
        let mut n = 0;
        loop {
            let loc = self.mem.place(address + n * width);
            if self.read(loc, unit_repr(width), width, None)?.int() == 0 {
                return Ok(n);
            }
            n += 1;
        }
    }
}

/// Characters of a width.
pub fn unit_repr(width: u64) -> Repr {
    Repr::Int(match width {
        2 => IntKind::UShort,
        4 => IntKind::UInt,
        8 => IntKind::ULong,
        _ => IntKind::UChar,
    })
}

fn shown(i: i128) -> i128 {
    i.clamp(i128::from(i64::MIN), i128::from(i64::MAX))
}

/// The fault of a pointer that is not at an element.
pub fn pointer_fault<T>([p, lo, hi]: [u64; 3], size: u64) -> R<T> {
    if lo == 0 {
        return fault("null pointer");
    }
    let size = size.max(1) as i64;
    let offset = p.wrapping_sub(lo) as i64 / size;
    let length = hi.wrapping_sub(lo) as i64 / size;
    fault(format!("access at element offset {offset} out of bounds for length {length}"))
}

/// The fault of too few elements.
pub fn range_fault<T>(want: i128, have: u64) -> R<T> {
    let elements = if want == 1 { "element" } else { "elements" };
    fault(format!("{want} {elements} wanted, out of bounds for length {have}"))
}
