//! printf and scanf formats against their arguments.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::scope::Entity;
use crate::tree::*;
use crate::types::*;
use crate::va::is_local;
use source::{with_article, Span, Symbol};
use std::rc::Rc;

/// The library's function that gives a view to `%.*s` as if it were a string. Programs must not
/// call it: the string ends there.
pub(crate) const WITHIN: &str = "lee_string_within";

/// One conversion of a format.
#[derive(Clone, Debug, PartialEq)]
struct Conversion {
    /// `*` as width (printf), or assignment suppressed (scanf).
    star_width: bool,
    /// Width in digits.
    width: Option<u64>,
    /// Precision: none, `*`, or digits.
    precision: Precision,
    /// `hh`, `h`, `l`, `ll`, `j`, `z`, `t`, `L`.
    length: String,
    /// The letter; `[` for a scan set.
    letter: char,
}

#[derive(Clone, Debug, PartialEq)]
enum Precision {
    None,
    Star,
    Digits(i128),
}

impl Checker<'_> {
    /// Checks the arguments of a printf- or scanf-like call against its format.
    pub(crate) fn check_format(&mut self, fty: &FuncTy, format: FormatTy, out: &mut [(Expr, Ty)], span: Span) {
        let Some(first) = format.first else {
            return self.check_v_format(format, out, span);
        };
        if !self.checked() || fty.params.len() > first as usize {
            return;
        }
        let Some((value, _)) = out.get(format.format as usize) else { return };
        let value = value.clone();
        let texts = match self.format_texts(&value) {
            Some(texts) => texts,
            None => {
                if !self.is_error(value.ty.ty) {
                    self.error_help(
                        codes::FORMAT,
                        value.span,
                        "the format is not a literal: its arguments cannot be checked",
                        "write `\"%s\"` as the format and pass the string as its argument",
                    );
                }
                return;
            }
        };
        for text in texts {
            self.check_text(&text, format, first as usize, out, value.span, span);
        }
    }

    /// `vprintf(format, ap)`: the format is the function's own.
    fn check_v_format(&mut self, format: FormatTy, out: &[(Expr, Ty)], span: Span) {
        let own = self.f.as_ref().and_then(|f| f.format_local);
        let fits = out.get(format.format as usize).is_some_and(|(e, _)| is_local(e, own));
        if self.checked() && !(own.is_some() && fits) {
            let _ = span;
            // `va_argument` says what is wrong.
        }
    }

    /// The texts that a format may be: literals, also as arms of `?:`.
    fn format_texts(&self, e: &Expr) -> Option<Vec<String>> {
        match &*e.kind {
            ExprKind::Convert(_, inner) => self.format_texts(inner),
            ExprKind::Decay(place) => match *place.kind {
                ExprKind::StrLit(id) => {
                    let units = &self.program.strings.get(id.0 as usize)?.units;
                    let bytes: Vec<u8> = units.iter().take_while(|&&u| u != 0).map(|&u| u as u8).collect();
                    Some(vec![String::from_utf8_lossy(&bytes).into_owned()])
                }
                _ => None,
            },
            ExprKind::Cond(_, a, b) => {
                let mut all = self.format_texts(a)?;
                all.extend(self.format_texts(b)?);
                Some(all)
            }
            _ => None,
        }
    }

    fn check_text(&mut self, text: &str, format: FormatTy, first: usize, out: &mut [(Expr, Ty)], at: Span, span: Span) {
        let conversions = match parse(text, format.scanf) {
            Ok(conversions) => conversions,
            Err((message, help)) => return self.error_help(codes::FORMAT, at, format!("format: {message}"), help),
        };
        let mut next = first;
        for c in &conversions {
            if format.scanf {
                if !c.star_width {
                    self.scan_argument(c, next, out, at);
                    next += 1;
                }
                continue;
            }
            if c.star_width {
                self.number_argument("*", next, out, 4, at);
                next += 1;
            }
            if c.precision == Precision::Star {
                self.number_argument(".*", next, out, 4, at);
                next += 1;
            }
            self.print_argument(c, next, out, at);
            next += 1;
        }
        if next < out.len() {
            let extra = out.len() - next;
            self.error(
                codes::FORMAT,
                span,
                format!(
                    "the format has {} conversion{}, and {extra} argument{} too many given",
                    next - first,
                    plural(next - first),
                    if extra == 1 { " is" } else { "s are" }
                ),
            );
        }
    }

    fn unsupported(&mut self, c: &Conversion, at: Span) {
        let message = format!("format: `%{}{}` is not supported in safe code", c.length, c.letter);
        self.error_help(codes::FORMAT, at, message, instead_of(c));
    }

    fn missing(&mut self, spelled: &str, at: Span) {
        self.error(codes::FORMAT, at, format!("format: `{spelled}` has no argument"));
    }

    fn number_argument(&mut self, spelled: &str, at: usize, out: &mut [(Expr, Ty)], size: u64, format_at: Span) {
        let Some((value, _)) = out.get(at) else { return self.missing(spelled, format_at) };
        let ty = value.ty.ty;
        let fits = self.program.types.as_int(ty).is_some_and(|k| k.size() == size) && self.is_integer(ty);
        if !fits && !self.is_error(ty) {
            let (text, span) = (self.show(ty), value.span);
            let wanted = match size {
                4 => "int",
                16 => "__int128",
                _ => "long",
            };
            let help = match (self.program.types.as_int(ty).map(|k| k.size()), size) {
                (Some(8), 4) => "use `%ld` or `%zu`, or cast the value",
                (Some(4), 8) => "use `%d`, or cast the value to `long`",
                _ => "make the conversion and the argument agree",
            };
            self.error_help(
                codes::FORMAT,
                span,
                format!("format: `{spelled}` takes {}, and this is {}", with_article(wanted), with_article(&text)),
                help,
            );
        }
    }

    fn print_argument(&mut self, c: &Conversion, at: usize, out: &mut [(Expr, Ty)], format_at: Span) {
        let spelled = format!("%{}{}", c.length, c.letter);
        match c.letter {
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' | 'b' | 'B' => {
                self.number_argument(&spelled, at, out, int_size(&c.length), format_at)
            }
            'c' if c.length.is_empty() => self.number_argument(&spelled, at, out, 4, format_at),
            'a' | 'A' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' if matches!(c.length.as_str(), "" | "l" | "L") => {
                self.float_argument(&spelled, c.length == "L", at, out, format_at)
            }
            's' if c.length.is_empty() => self.string_argument(&spelled, c, at, out, format_at),
            'p' if c.length.is_empty() => self.address_argument(at, out, format_at),
            _ => self.unsupported(c, format_at),
        }
    }

    fn float_argument(&mut self, spelled: &str, long: bool, at: usize, out: &mut [(Expr, Ty)], format_at: Span) {
        let Some((value, _)) = out.get(at) else { return self.missing(spelled, format_at) };
        let kind = if long { FloatKind::LongDouble } else { FloatKind::Double };
        if !matches!(self.kind(value.ty.ty), TyKind::Float(k) if *k == kind) && !self.is_error(value.ty.ty) {
            let (text, span) = (self.show(value.ty.ty), value.span);
            let wanted = if long { "long double" } else { "double" };
            self.error_help(
                codes::FORMAT,
                span,
                format!("format: `{spelled}` takes {}, and this is {}", with_article(wanted), with_article(&text)),
                "make the conversion and the argument agree, or cast the value",
            );
        }
    }

    fn string_argument(&mut self, spelled: &str, c: &Conversion, at: usize, out: &mut [(Expr, Ty)], format_at: Span) {
        let Some((value, _)) = out.get(at) else { return self.missing(spelled, format_at) };
        let value = value.clone();
        if self.is_error(value.ty.ty) {
            return;
        }
        let p = self.program.types.as_pointer(value.ty.ty);
        if !p.is_some_and(|p| self.program.types.is_character(p.target.ty)) {
            let text = self.show(value.ty.ty);
            self.error_help(
                codes::FORMAT,
                value.span,
                format!("format: `{spelled}` takes a string, and this is {}", with_article(&text)),
                "make the conversion and the argument agree",
            );
            return;
        }
        let bounded =
            p.is_some_and(|p| !p.bounds.is_terminated() && (p.bounds.has_bounds() || self.need_bounds(&value)));
        let value = match c.precision {
            Precision::Star if bounded => self.within_precision(value, None, at, out),
            Precision::Digits(n) if bounded => self.within_precision(value, Some(n), at, out),
            _ => value,
        };
        let char_ = self.program.types.common.char_;
        let region = self.fresh_region();
        let string = self.types().pointer(Pointer {
            target: Qty::plain(char_).with_const(),
            bounds: Bounds::Terminated,
            nonnull: false,
            own: Own::Shared,
            region,
            raw: false,
        });
        let value = self.coerce(value, string, Why::TrustedArg);
        if let Some(slot) = out.get_mut(at) {
            slot.0 = value;
        }
    }

    /// `%.*s` of a view of bytes that no zero ends: the precision is checked against the bounds, by
    /// a function of the library.
    fn within_precision(&mut self, value: Expr, digits: Option<i128>, at: usize, out: &mut [(Expr, Ty)]) -> Expr {
        let Some(Entity::Func(func)) = self.scopes.lookup(Symbol::new(WITHIN)).cloned() else {
            return value;
        };
        let c = self.program.types.common;
        let span = value.span;
        let load = match digits {
            Some(n) => self.int_node(IntKind::Int.wrap(n), c.int, span),
            None => {
                let Some(before) = at.checked_sub(1).and_then(|n| out.get_mut(n)) else { return value };
                let local = self.new_local(None, Qty::plain(c.int), Span::NONE, false);
                let place = self.place_node(ExprKind::Local(local), Qty::plain(c.int), span);
                let precision = self.numeric(before.0.clone(), c.int);
                before.0 = self.node(ExprKind::Assign(place.clone(), precision), c.int, span);
                self.node(ExprKind::Load(place), c.int, span)
            }
        };
        let function = &mut self.program.functions[func.0 as usize];
        function.used = true;
        let Some(fty) = self.program.types.as_func(self.program.functions[func.0 as usize].ty) else { return value };
        let Some(param) = fty.params.first() else { return value };
        let fty = self.instantiate(&fty);
        let view = self.coerce(value, fty.params.first().map_or(param.ty, |p| p.ty), Why::TrustedArg);
        let args: Rc<[Ty]> = Rc::from([]);
        let ret = fty.ret;
        let through = self.types().intern(TyKind::Func(Rc::new(fty)));
        self.node(ExprKind::Call(Callee::Direct(FuncRef { func, args }), through, vec![view, load]), ret, span)
    }

    fn address_argument(&mut self, at: usize, out: &mut [(Expr, Ty)], format_at: Span) {
        let Some((value, _)) = out.get(at) else { return self.missing("%p", format_at) };
        let value = value.clone();
        if !matches!(self.kind(value.ty.ty), TyKind::Ptr(_) | TyKind::Error) {
            let text = self.show(value.ty.ty);
            self.error(
                codes::FORMAT,
                value.span,
                format!("format: `%p` takes a pointer, and this is {}", with_article(&text)),
            );
            return;
        }
        let void = self.program.types.common.void;
        let ty = self.raw_void(void);
        let value = self.convert(Conv::Unchecked, value, ty);
        if let Some(slot) = out.get_mut(at) {
            slot.0 = value;
        }
    }

    fn scan_argument(&mut self, c: &Conversion, at: usize, out: &mut [(Expr, Ty)], format_at: Span) {
        let spelled = format!("%{}{}", c.length, c.letter);
        let Some((value, _)) = out.get(at) else { return self.missing(&spelled, format_at) };
        let value = value.clone();
        if self.is_error(value.ty.ty) {
            return;
        }
        let Some(p) = self.program.types.as_pointer(value.ty.ty).filter(|p| !p.target.quals.is_const) else {
            let text = self.show(value.ty.ty);
            self.error_help(
                codes::FORMAT,
                value.span,
                format!("format: `{spelled}` takes the address of a variable, and this is {}", with_article(&text)),
                "is a `&` missing?",
            );
            return;
        };
        let target = p.target.ty;
        let fits = match c.letter {
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' => {
                matches!(self.kind(target), TyKind::Int(k) if k.size() == int_size_exact(&c.length))
            }
            'a' | 'e' | 'f' | 'g' | 'A' | 'E' | 'F' | 'G' => {
                let kind = match c.length.as_str() {
                    "l" => FloatKind::Double,
                    "L" => FloatKind::LongDouble,
                    "" => FloatKind::Float,
                    _ => return self.unsupported(c, format_at),
                };
                matches!(self.kind(target), TyKind::Float(k) if *k == kind)
            }
            's' | '[' | 'c' if c.length.is_empty() => return self.scan_string(c, &spelled, at, value, out),
            _ => return self.unsupported(c, format_at),
        };
        if !fits {
            let text = self.show(value.ty.ty);
            self.error_help(
                codes::FORMAT,
                value.span,
                format!("format: `{spelled}` does not store into {}", with_article(&text)),
                "make the conversion and the argument agree",
            );
            return;
        }
        // The library tests for null.
        let value = self.with_bounds(value, Bounds::Thin);
        if let Some(slot) = out.get_mut(at) {
            slot.0 = value;
        }
    }

    /// `%15s` into an array of at least 16 characters.
    fn scan_string(&mut self, c: &Conversion, spelled: &str, at: usize, value: Expr, out: &mut [(Expr, Ty)]) {
        let is_char =
            self.program.types.as_pointer(value.ty.ty).is_some_and(|p| self.program.types.is_character(p.target.ty));
        if !is_char {
            let text = self.show(value.ty.ty);
            self.error(
                codes::FORMAT,
                value.span,
                format!("format: `{spelled}` stores characters, and this is {}", with_article(&text)),
            );
            return;
        }
        let needed = match (c.letter, c.width) {
            ('c', width) => width.unwrap_or(1),
            (_, Some(width)) => width.saturating_add(1),
            (_, None) => {
                self.error_help(
                    codes::FORMAT,
                    value.span,
                    format!("format: `{spelled}` without a width could write past any array"),
                    "give the width: one less than the array holds, as in `%15s`",
                );
                return;
            }
        };
        // The zero after a string's last character is not there to be overwritten.
        let hidden = u64::from(c.letter == 'c' && ends_with_zero(&self.program.types, &value));
        let room = array_room(&self.program.types, &value).map(|room| room.saturating_sub(hidden));
        let fits = match room {
            Some(room) => room >= needed,
            // A pointer to a string could point at its zero.
            None => {
                c.letter == 'c'
                    && needed == 1
                    && !self.program.types.as_pointer(value.ty.ty).is_some_and(|p| p.bounds.is_terminated())
            }
        };
        if !fits {
            let message = match room {
                Some(room) => format!(
                    "format: `{spelled}` stores up to {needed} characters, out of bounds for an array of {room}"
                ),
                None => format!("format: `{spelled}` needs an array of known length here"),
            };
            self.error_help(codes::FORMAT, value.span, message, "pass an array of at least width + 1 characters");
            return;
        }
        let value = self.with_bounds(value, Bounds::Thin);
        if let Some(slot) = out.get_mut(at) {
            slot.0 = value;
        }
    }
}

/// Whether a value is the start of an array whose last element is always its zero.
fn ends_with_zero(types: &TypeStore, e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Decay(place) => matches!(types.kind(place.ty.ty), TyKind::Array { terminated: true, .. }),
        ExprKind::Convert(_, inner) => ends_with_zero(types, inner),
        _ => false,
    }
}

/// Elements of the array that a value is the start of.
fn array_room(types: &TypeStore, e: &Expr) -> Option<u64> {
    match &*e.kind {
        ExprKind::Decay(place) => match types.kind(place.ty.ty) {
            TyKind::Array { len: ArrayLen::Const(n), .. } => Some(*n),
            _ => None,
        },
        ExprKind::Convert(_, inner) => array_room(types, inner),
        _ => None,
    }
}

fn plural(n: usize) -> &'static str {
    if n == 1 {
        ""
    } else {
        "s"
    }
}

/// A length of glibc's as C writes it: `%Lu` and `%qu` are `%llu`, `%Zu` is `%zu`.
fn as_standard(length: &str, letter: char) -> &str {
    match (length, letter) {
        ("L" | "q", 'd' | 'i' | 'u' | 'o' | 'x' | 'X') => "ll",
        ("Z", _) => "z",
        _ => length,
    }
}

/// What to write for a conversion that safe code has not got.
fn instead_of(c: &Conversion) -> &'static str {
    match (c.length.as_str(), c.letter) {
        ("l", 'c' | 's' | '[') | ("", 'C' | 'S') => "convert wide characters to UTF-8, and use `%c` and `%s`",
        (_, 'a' | 'e' | 'f' | 'g' | 'A' | 'E' | 'F' | 'G') => "`%f` takes a `double`, `%Lf` a `long double`",
        (_, 'p') => "`%p` prints an address; no conversion reads one",
        (_, 'D' | 'U' | 'O') => "write `%ld`, `%lu` or `%lo`",
        _ => "use one of C's conversions: `%d`, `%u`, `%x`, `%c`, `%s`, `%f`, `%g`, `%p`",
    }
}

/// Size of the promoted argument of an integer conversion.
fn int_size(length: &str) -> u64 {
    match length {
        "l" | "ll" | "j" | "z" | "t" | "q" => 8,
        _ => 4,
    }
}

/// Size of the integer that a scanf conversion stores.
fn int_size_exact(length: &str) -> u64 {
    match length {
        "hh" => 1,
        "h" => 2,
        other => int_size(other),
    }
}

fn too_large(what: &str) -> (String, &'static str) {
    (format!("{what} is too large"), "give one that an `int` holds")
}

/// The conversions of a format, or what is wrong with it and what to write.
fn parse(text: &str, scanf: bool) -> Result<Vec<Conversion>, (String, &'static str)> {
    let mut out = vec![];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            continue;
        }
        let mut conversion = Conversion {
            star_width: false,
            width: None,
            precision: Precision::None,
            length: String::new(),
            letter: ' ',
        };
        while !scanf && chars.peek().is_some_and(|c| "-+ #0'I".contains(*c)) {
            chars.next();
        }
        if chars.peek() == Some(&'*') {
            chars.next();
            conversion.star_width = true;
        }
        let mut digits = String::new();
        while let Some(d) = chars.peek().filter(|c| c.is_ascii_digit()) {
            digits.push(*d);
            chars.next();
        }
        if chars.peek() == Some(&'$') {
            let help = "give the arguments in the order in which the format prints them";
            return Err(("numbered arguments (`%1$d`) are not supported".into(), help));
        }
        if !digits.is_empty() {
            conversion.width = Some(digits.parse().map_err(|_| too_large("a width"))?);
        }
        if chars.peek() == Some(&'.') {
            chars.next();
            if chars.peek() == Some(&'*') {
                chars.next();
                conversion.precision = Precision::Star;
            } else {
                let mut digits = String::from("0");
                while let Some(d) = chars.peek().filter(|c| c.is_ascii_digit()) {
                    digits.push(*d);
                    chars.next();
                }
                let n: i32 = digits.parse().map_err(|_| too_large("a precision"))?;
                conversion.precision = Precision::Digits(i128::from(n));
            }
        }
        while let Some(l) = chars.peek().filter(|c| "hlqjztLZ".contains(**c)) {
            conversion.length.push(*l);
            chars.next();
        }
        match chars.next() {
            None => return Err(("it ends inside a conversion".into(), "write `%%` for a percent sign")),
            Some('n') => {
                let message = "`%n` writes through a pointer and is not in the safe language".into();
                let help = match scanf {
                    true => "the number of conversions that were stored is the result of the call",
                    false => "the number of characters that were printed is the result of the call",
                };
                return Err((message, help));
            }
            Some('m') if !scanf => continue,
            Some('[') if scanf => {
                conversion.letter = '[';
                if chars.peek() == Some(&'^') {
                    chars.next();
                }
                if chars.peek() == Some(&']') {
                    chars.next();
                }
                if !chars.by_ref().any(|c| c == ']') {
                    return Err(("a scan set `%[...]` is not closed".into(), "end it with `]`"));
                }
            }
            Some(letter) if letter.is_ascii_alphabetic() => {
                conversion.letter = letter;
                conversion.length = as_standard(&conversion.length, letter).into();
                if !["", "hh", "h", "l", "ll", "j", "z", "t", "L"].contains(&conversion.length.as_str()) {
                    let spelled = format!("`%{}{letter}` is no conversion", conversion.length);
                    return Err((spelled, "the lengths are `hh`, `h`, `l`, `ll`, `j`, `z`, `t` and `L`"));
                }
            }
            Some(other) => return Err((format!("`%{other}` is no conversion"), "write `%%` for a percent sign")),
        }
        out.push(conversion);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_split_into_conversions() {
        let c = parse("%5.*s and %-08ld%%", false).unwrap_or_default();
        assert_eq!(c.len(), 2);
        assert_eq!((c[0].letter, c[0].precision.clone(), c[0].width), ('s', Precision::Star, Some(5)));
        assert_eq!((c[1].letter, c[1].length.as_str()), ('d', "l"));
        assert!(parse("%n", false).is_err());
        assert!(parse("100%", false).is_err());
        assert_eq!(parse("%*d%15[^]x]", true).map(|c| c.len()), Ok(2));
        let lengths: Vec<String> =
            parse("%Lu%qd%Zx%Lf", false).unwrap_or_default().into_iter().map(|c| c.length).collect();
        assert_eq!(lengths, ["ll", "ll", "z", "L"]);
    }
}
