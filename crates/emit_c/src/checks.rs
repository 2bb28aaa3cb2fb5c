//! Run-time checks: a comparison, and a call that does not come back.

use crate::body::Emitter;
use crate::digest;
use crate::exprs::{int_text, Ex, Level};
use crate::names::escape;
use crate::pending::Element;
use crate::prelude;
use mir::ir::*;
use source::Symbol;
use typing::types::*;

impl Emitter<'_, '_> {
    /// A check statement.
    pub fn check(&mut self, check: &Check) {
        match check {
            Check::Index(index, length) => self.check_index(index, length),
            Check::Access(pointer, count) => self.check_access(pointer, count),
            Check::Element(element) => self.check_counted(element),
            Check::Near(pointer, left) => self.check_near(pointer, left),
            Check::Within(pointer) => {
                let words = self.operand(pointer, true);
                let [p, lo, hi] = words.as_slice() else { return };
                let macro_name = self.unit.helper(&prelude::BEYOND);
                let size = self.size_behind(pointer);
                let condition = Ex::call(macro_name, &[p, lo, hi]).text;
                self.fault_if_raw(&condition, "pointer", &[&p.text, &lo.text, &hi.text, &size]);
            }
            Check::Enough(want, have) => {
                let signed = self.is_signed(want);
                let (want, have) = (self.value_twice(want), self.value_twice(have));
                let condition = exceeds(&want, &have, signed);
                self.fault_if(&condition, "range", &[&want.text, &have.text]);
            }
            Check::NotNull(pointer) => {
                let value = self.value(pointer);
                if !value.solid {
                    let condition = value.binary("==", &Ex::atom("NULL"));
                    self.fault_if(&condition.text, "null", &[]);
                }
            }
            Check::Divide(a, b) => self.check_divide(a, b),
            Check::Type(pointer, want) => self.check_type(pointer, want),
            Check::Container(pointer, record, path) => self.check_container(pointer, *record, path),
            Check::Contract(end, ty) => self.check_contract(end, *ty),
            Check::Tag(place, member) => self.check_tag(place, *member),
            Check::TagValue(tag, values, member) => self.check_tag_value(tag, values, *member),
            Check::HasTerminator(pointer) => self.check_terminator(pointer),
            Check::Terminator(old, new) => {
                let constant = match new {
                    Operand::Const(Const::Int(n, _)) => Some(*n != 0),
                    _ => None,
                };
                let (old, new) = (self.value(old), self.value(new));
                let old = format!("{} == 0", old.at(Level::Unary));
                match constant {
                    Some(false) => {}
                    Some(true) => self.fault_if(&old, "terminator", &[]),
                    None => self.fault_if(&format!("{old} && {} != 0", new.at(Level::Unary)), "terminator", &[]),
                }
            }
            // Nothing is always there.
            Check::Count(Operand::Const(Const::Int(n, _)), _) if *n <= 0 => {}
            Check::Count(new, there) if self.kind_of(new).size() == 8 && !self.is_signed(new) => {
                let (new, there) = (self.value_twice(new), self.value_twice(there));
                let condition = new.binary(">", &there.cast("size_t")).text;
                let n = new.at(Level::Unary);
                let shown = format!("{n} > INT64_MAX ? INT64_MAX : (int64_t){n}");
                self.fault_if(&condition, "count", &[&shown, &there.text]);
            }
            Check::Count(new, there) => {
                let (new, there) = (self.value_twice(new), self.value_twice(there));
                let (n, t) = (new.at(Level::Unary), there.at(Level::Unary));
                self.fault_if(&format!("{n} > {t} && {n} > 0"), "count", &[&new.text, &there.text]);
            }
            Check::View(pointer, ty) => {
                let value = self.value_twice(pointer);
                let size = self.unit.c.sizeof_text(*ty);
                let align = size.replacen("sizeof", "_Alignof", 1);
                let address = value.address().text;
                let condition = format!("({address} & ({align} - 1)) != 0");
                self.fault_if(&condition, "cast", &[&value.text, &size, &size, &align]);
            }
            Check::Step(pointer) => {
                let cast = self.unit.c.cast(self.operand_ty(pointer));
                let value = self.value(pointer);
                let value = if value.pointer.is_none() { value.cast(&cast) } else { value };
                let condition = format!("*{} == 0", value.at(Level::Unary));
                self.fault_if(&condition, "range", &["1", "0"]);
            }
            Check::Multiple(bytes, ty) => {
                let value = self.value_twice(bytes);
                let size = self.unit.c.sizeof_text(*ty);
                let align = size.replacen("sizeof", "_Alignof", 1);
                if self.unit.types.layout(*ty).is_some_and(|l| l.size == 0) {
                    return;
                }
                let condition = format!("{} % {size} != 0", value.at(Level::Unary));
                self.fault_if(&condition, "cast", &["NULL", &value.text, &size, &align]);
            }
            Check::Unreachable => {
                let site = self.unit.site(self.span);
                self.push(&format!("lee_fault_unreachable({site});"));
            }
        }
    }

    /// `if (condition) lee_fault_what(site, arguments);`
    fn fault_if(&mut self, condition: &str, what: &str, args: &[&str]) {
        self.fault_if_raw(&format!("LEE_UNLIKELY({condition})"), what, args);
    }

    fn fault_if_raw(&mut self, condition: &str, what: &str, args: &[&str]) {
        let site = self.unit.site(self.span);
        let args: String = args.iter().map(|a| format!(", {a}")).collect();
        self.push(&format!("if ({condition}) lee_fault_{what}({site}{args});"));
    }

    fn kind_of(&self, operand: &Operand) -> IntKind {
        self.unit.types.as_int(self.operand_ty(operand)).unwrap_or(IntKind::Long)
    }

    fn is_signed(&self, operand: &Operand) -> bool {
        self.kind_of(operand).signed()
    }

    fn size_behind(&mut self, pointer: &Operand) -> String {
        let target = self.target(self.operand_ty(pointer));
        self.unit.c.sizeof_text(target)
    }

    fn check_index(&mut self, index: &Operand, length: &Operand) {
        let kind = self.kind_of(index);
        if let (Operand::Const(Const::Int(i, _)), Operand::Const(Const::Int(n, _))) = (index, length) {
            if (0..*n).contains(i) {
                return;
            }
        }
        let (i, n) = (self.value_twice(index), self.value_twice(length));
        let (condition, shown) = match (kind.size(), kind.signed()) {
            (16, _) => (
                i.cast("unsigned __int128").binary(">=", &n).text,
                format!(
                    "{} > INT64_MAX ? INT64_MAX : {} < INT64_MIN ? INT64_MIN : (int64_t){}",
                    i.at(Level::Unary),
                    i.at(Level::Unary),
                    i.at(Level::Unary)
                ),
            ),
            (8, false) => (
                i.binary(">=", &n).text,
                format!("{} > INT64_MAX ? INT64_MAX : (int64_t){}", i.at(Level::Unary), i.at(Level::Unary)),
            ),
            (_, false) => (i.binary(">=", &n).text, i.text.clone()),
            (_, true) => (i.cast("uint64_t").binary(">=", &n).text, i.text.clone()),
        };
        self.fault_if(&condition, "index", &[&shown, &n.text]);
    }

    fn check_access(&mut self, pointer: &Operand, count: &Operand) {
        let size = self.size_behind(pointer);
        let one = matches!(count, Operand::Const(Const::Int(1, _)));
        let local = pointer.place().and_then(Place::as_local).filter(|_| one);
        if let Some(element) = local.and_then(|l| self.checked_element(l)) {
            self.check_element(&element, None);
            return;
        }
        let words = self.operand(pointer, true);
        let [p, lo, hi] = words.as_slice() else { return };
        if one {
            let macro_name = self.unit.helper(&prelude::OUTSIDE);
            let condition = Ex::call(macro_name, &[p, lo, hi]).text;
            self.fault_if_raw(&condition, "pointer", &[&p.text, &lo.text, &hi.text, &size]);
            return;
        }
        let signed = self.is_signed(count);
        let count = self.value_twice(count);
        let helper = self.unit.helper(&prelude::LEFT);
        let left = Ex::call(helper, &[p, lo, hi, &Ex::atom(size)]);
        let condition = exceeds(&count, &left, signed);
        self.fault_if(&condition, "range", &[&count.text, &left.text]);
    }

    /// One comparison if nothing else is left to test: a negative index is a large one.
    fn check_counted(&mut self, check: &ElementCheck) {
        let base = self.value_twice(&check.base);
        let kind = self.kind_of(&check.index);
        let (i, n) = (self.value_twice(&check.index), self.value_twice(&check.count));
        let constant = matches!(check.index, Operand::Const(_));
        let index = if kind.size() == 8 && kind.signed() || constant { i.clone() } else { i.cast("int64_t") };
        let sign = if check.may_be_negative { check.sign } else { Sign::Unknown };
        let mut condition = match (check.is_below, sign) {
            (true, _) => format!("{} < 0", i.at(Level::Unary)),
            (false, Sign::Natural) => index.cast("int64_t").binary(">=", &n).text,
            (false, Sign::Narrow) => index.cast("uint32_t").cast("int64_t").binary(">=", &n).text,
            (false, Sign::Unknown) => format!("{} >= {}", index.cast("size_t").text, n.cast("size_t").text),
        };
        if check.may_be_negative && sign == Sign::Unknown {
            condition.push_str(&format!(" || {} < 0", n.at(Level::Unary)));
        }
        if check.may_be_null && !base.solid {
            condition.push_str(&format!(" || {} == NULL", base.at(Level::Unary)));
        }
        if matches!(check.index, Operand::Const(Const::Int(0, _))) {
            let size = self.size_behind(&check.base);
            let count = if check.may_be_negative {
                format!("({} < 0 ? 0 : {})", n.at(Level::Unary), n.text)
            } else {
                n.at(Level::Unary)
            };
            let end = format!("(const char *){} + {count} * {size}", base.at(Level::Unary));
            self.fault_if(&condition, "pointer", &[&base.text, &base.text, &end, &size]);
            return;
        }
        let site = self.unit.site(self.span);
        let helper = self.unit.helper(&prelude::FAULT_COUNTED);
        let (base, index, n) = (&base.text, &index.text, &n.text);
        self.push(&format!("if (LEE_UNLIKELY({condition})) {helper}({site}, {index}, {n}, {base});"));
    }

    /// Counted in elements from the first one, no index is so large that it wraps around.
    fn check_element(&mut self, element: &Element, left: Option<Ex>) {
        let Element { base, lo, hi, index, size, .. } = element;
        let position = if base.text == lo.text {
            index.clone()
        } else {
            Ex::new(format!("({} - {})", base.at(Level::Unary), lo.at(Level::Unary)), Level::Primary).binary("+", index)
        };
        let length = format!("(size_t)({} - {})", hi.at(Level::Unary), lo.at(Level::Unary));
        let condition = format!("{} >= {length}", position.cast("size_t").text);
        if let Some(left) = left {
            let condition = index.cast("size_t").binary(">=", &left).text;
            let site = self.unit.site(self.span);
            self.unit.helper(&prelude::FAULT_ELEMENT);
            let helper = self.unit.helper(&prelude::FAR);
            let (index, base, lo, hi) = (&index.text, &base.text, &lo.text, &hi.text);
            let call = format!("{helper}({site}, {index}, {base}, {lo}, {hi}, {size})");
            return self.push(&format!("if (LEE_UNLIKELY({condition})) {call};"));
        }
        let site = self.unit.site(self.span);
        let helper = self.unit.helper(&prelude::FAULT_ELEMENT);
        let (position, lo, hi) = (&position.text, &lo.text, &hi.text);
        self.push(&format!("if (LEE_UNLIKELY({condition})) {helper}({site}, {position}, {lo}, {hi}, {size});"));
    }

    /// The whole test is made only where the short one fails.
    fn check_near(&mut self, pointer: &Operand, left: &Operand) {
        let left = self.value_twice(left);
        let local = pointer.place().and_then(Place::as_local);
        match local.and_then(|l| self.checked_element(l)) {
            Some(element) => self.check_element(&element, Some(left)),
            None => {
                let one = Operand::Const(Const::Int(1, self.unit.types.common.ulong));
                self.check_access(pointer, &one);
            }
        }
    }

    fn check_divide(&mut self, a: &Operand, b: &Operand) {
        let kind = self.kind_of(b);
        if let Operand::Const(Const::Int(n, _)) = b {
            if *n != 0 && (*n != -1 || !kind.signed()) {
                return;
            }
        }
        let divisor = self.value_twice(b);
        let text = divisor.at(Level::Unary);
        self.fault_if(&format!("{text} == 0"), "division", &[]);
        if kind.signed() {
            let dividend = self.value(a);
            let least = int_text(-(1i128 << (kind.size() * 8 - 1).min(126)), kind);
            let least = if kind == IntKind::Int128 { int_text(i128::MIN, kind) } else { least };
            let condition = format!("{text} == -1 && {} == {}", dividend.at(Level::Unary), least.at(Level::Unary));
            self.fault_if(&condition, "overflow", &[]);
        }
    }

    fn check_type(&mut self, pointer: &Operand, types: &[Ty]) {
        let words = self.operand(pointer, true);
        let ([p, have], [want, others @ ..]) = (words.as_slice(), types) else { return };
        let want = self.unit.descriptor(*want);
        let (p, have) = (p.at(Level::Unary), have.at(Level::Unary));
        let others: String = others
            .iter()
            .map(|&ty| format!(" && ({have})->digest != 0x{:016x}u", digest::digest(self.unit.types, ty)))
            .collect();
        let condition = format!(
            "{p} != NULL && {have} != &{want} && ({have} == NULL || ({have})->digest != {want}.digest{others})"
        );
        self.fault_if(&condition, "type", &[&format!("&{want}"), &have]);
    }

    fn check_tag(&mut self, place: &Place, member: u32) {
        let loc = self.place(place, true);
        let Some(id) = self.unit.types.as_record(loc.ty.ty) else { return };
        self.unit.c.need(loc.ty.ty);
        let tag = self.tag_text(&loc);
        let members = self.unit.types.record(id).fields.as_ref().map_or(0, |f| f.len());
        let table = self.unit.tag_table(id);
        let condition = format!("{tag} != {member}");
        let have = format!("{tag} < {members} ? {table}[{tag}] : NULL");
        self.fault_if(&condition, "tag", &[&format!("{table}[{member}]"), &have]);
    }

    fn check_tag_value(&mut self, tag: &Operand, values: &[i128], member: Symbol) {
        let ty = self.operand_ty(tag);
        let value = self.value_twice(tag);
        let tests: Vec<String> = values
            .iter()
            .map(|&n| format!("{} != {}", value.at(Level::Unary), self.int(n, ty).at(Level::Unary)))
            .collect();
        let condition = if tests.is_empty() { "1".to_string() } else { tests.join(" && ") };
        let name = format!("\"{}\"", escape(member.as_str().as_bytes()));
        let active = self.active_member(tag, member, &value);
        self.fault_if(&condition, "tag", &[&name, &active]);
    }

    /// The name of the member that a `tagged_by` field says is active, as a C string; null if it
    /// says none.
    fn active_member(&mut self, tag: &Operand, member: Symbol, value: &Ex) -> String {
        let none = "NULL".to_string();
        let Operand::Copy(place) = tag else { return none };
        let Some((number, outer)) = place.last_field() else { return none };
        let outer = Place { base: place.base, proj: outer.to_vec() };
        let types = self.unit.types;
        let fields_of = |ty: Ty| types.as_record(ty).and_then(|id| types.record(id).fields.as_ref());
        let record = mir::ty::place_ty(self.unit.program, self.body, &outer).ok().and_then(|ty| fields_of(ty.ty));
        // Several unions may have one tag; the one that is read has the member.
        let bound = record.into_iter().flat_map(|fields| fields.iter()).find_map(|field| {
            let tagged = field.tagged_by.as_ref().filter(|tagged| tagged.tag == number)?;
            let members = fields_of(field.ty.ty)?;
            members.iter().any(|m| m.name == Some(member)).then_some((tagged, members))
        });
        let Some((tagged, members)) = bound else { return none };
        let arms: Vec<(i128, Symbol)> = tagged
            .arms
            .iter()
            .filter_map(|&(n, m)| Some((n, members.get(m as usize)?.name?)))
            .filter(|(_, name)| *name != member)
            .collect();
        let ty = self.operand_ty(tag);
        arms.iter().rev().fold(none, |rest, (n, name)| {
            let number = self.int(*n, ty);
            let name = escape(name.as_str().as_bytes());
            format!("{} == {} ? \"{name}\" : {rest}", value.at(Level::Unary), number.at(Level::Unary))
        })
    }

    fn check_terminator(&mut self, pointer: &Operand) {
        let target = self.target(self.operand_ty(pointer));
        let width = self.unit.types.layout(target).map_or(1, |l| l.size);
        let words = self.operand(pointer, false);
        let [p, lo, hi] = words.as_slice() else { return };
        let site = Ex::atom(self.unit.site(self.span));
        if width > 1 {
            let helper = self.unit.helper(&prelude::WIDE_CHECK);
            let call = Ex::call(helper, &[&site, p, lo, hi, &Ex::atom(width.to_string())]);
            self.push(&format!("{};", call.text));
            return;
        }
        // Pointers to other characters than `char` differ in their C type only.
        let text = |w: &Ex| w.clone().coerce(&"char *".into()).text;
        let call = format!("(void)lee_check_string({}, {}, {}, {});", site.text, text(p), text(lo), text(hi));
        self.push(&call);
    }
}

/// Whether `want` is more than `have`; a negative number wants nothing.
fn exceeds(want: &Ex, have: &Ex, signed: bool) -> String {
    let more = want.cast("size_t").binary(">", have).text;
    if signed {
        format!("{} > 0 && {more}", want.at(Level::Unary))
    } else {
        want.binary(">", have).text
    }
}
