//! Values of literals: numbers, character constants and strings.

use crate::ast::{Builtin, Encoding, FloatLit, IntLit, StrLit};
use crate::codes;
use source::map::INVALID_BYTE_BASE;
use source::{Code, Symbol};

/// What a number token stands for.
#[derive(Clone, Debug)]
pub enum NumberLit {
    /// Integer constant.
    Int(IntLit),
    /// Floating constant.
    Float(FloatLit),
}

/// Why a literal is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiteralError {
    /// Its page.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<&'static str>,
}

fn number_error(message: impl Into<String>) -> LiteralError {
    LiteralError { code: codes::INVALID_NUMBER, message: message.into(), help: None }
}

fn escape_error(message: impl Into<String>) -> LiteralError {
    LiteralError { code: codes::INVALID_ESCAPE, message: message.into(), help: None }
}

/// The start of a token, for messages.
fn short(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    let rest = if start.len() < text.len() { "..." } else { "" };
    format!("`{start}{rest}`")
}

/// Reads a number token.
pub fn number(text: &str) -> Result<NumberLit, LiteralError> {
    if text.contains("...") {
        let help = Some("put blanks around `...`");
        return Err(LiteralError { help, ..number_error(format!("{} is read as one number", short(text))) });
    }
    let clean: String = text.chars().filter(|&c| c != '\'').collect();
    let lower = clean.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, 2),
        [b'0', b'b', ..] => (2, 2),
        [b'0', ..] => (8, 0),
        _ => (10, 0),
    };
    let body = lower.get(digits..).unwrap_or("");
    let is_float = match radix {
        16 => body.contains(['.', 'p']),
        2 => false,
        _ => float_shape(body),
    };
    if is_float {
        return float(text, &clean, &lower, radix == 16);
    }
    let end = body.find(|c: char| !c.is_digit(radix.max(10))).unwrap_or(body.len());
    let (number, suffix) = (body.get(..end).unwrap_or(""), body.get(end..).unwrap_or(""));
    if number.is_empty() {
        return Err(number_error(format!("{} has no digits", short(text))));
    }
    if let Some(bad) = number.chars().find(|c| !c.is_digit(radix)) {
        let kind = if radix == 8 { "an octal" } else { "a binary" };
        return Err(number_error(format!("`{bad}` is no digit of {kind} number")));
    }
    let Ok(value) = u128::from_str_radix(number, radix) else {
        return Err(number_error(format!("{} is too large for any integer type", short(text))));
    };
    if value > u128::from(u64::MAX) {
        return Err(number_error(format!("{} is too large for any integer type", short(text))));
    }
    int_suffix(text, &clean, suffix, value, radix)
}

/// Whether a decimal number has a point or an exponent before its suffix.
fn float_shape(body: &str) -> bool {
    let end = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
    matches!(body.as_bytes().get(end), Some(b'.' | b'e'))
}

fn int_suffix(text: &str, clean: &str, suffix: &str, value: u128, radix: u32) -> Result<NumberLit, LiteralError> {
    if matches!(suffix, "i" | "j") {
        // GNU complex integers: kept as an imaginary double, the only use they have in practice.
        let text = Symbol::new(clean.get(..clean.len() - 1).unwrap_or(clean));
        return Ok(NumberLit::Float(FloatLit { text, value: value as f64, ty: Builtin::Double, imaginary: true }));
    }
    let (unsigned, longs) = match suffix {
        "" => (false, 0),
        "u" => (true, 0),
        "l" => (false, 1),
        "ul" | "lu" => (true, 1),
        // `lL` and `Ll` are not suffixes.
        "ll" | "ull" | "llu" if !clean.contains("lL") && !clean.contains("Ll") => (suffix.len() == 3, 2),
        "wb" | "uwb" | "wbu" => {
            let message = format!("{}: bit-precise integers (`_BitInt`) are not supported", short(text));
            return Err(number_error(message));
        }
        _ => return Err(number_error(format!("{} is no suffix of an integer", short(suffix)))),
    };
    Ok(NumberLit::Int(IntLit { value, unsigned, longs, non_decimal: radix != 10 }))
}

fn float(text: &str, clean: &str, lower: &str, hex: bool) -> Result<NumberLit, LiteralError> {
    let end = float_end(lower, hex).ok_or_else(|| {
        number_error(format!(
            "{}: {}",
            short(text),
            if hex { "a hexadecimal floating constant needs an exponent: `p0`" } else { "the exponent has no digits" }
        ))
    })?;
    let suffix = lower.get(end..).unwrap_or("");
    let digits = clean.get(..end).unwrap_or("");
    let (suffix, imaginary) = match (suffix.strip_suffix(['i', 'j']), suffix.strip_prefix(['i', 'j'])) {
        (Some(rest), _) | (_, Some(rest)) => (rest, true),
        _ => (suffix, false),
    };
    let ty = match suffix {
        "" => Builtin::Double,
        "f" => Builtin::Float,
        "l" | "w" => Builtin::LongDouble,
        "f32" => Builtin::Float32,
        "f32x" => Builtin::Float32x,
        "f64" => Builtin::Float64,
        "f64x" => Builtin::Float64x,
        "f16" => Builtin::Float16,
        "f128" | "q" => Builtin::Float128,
        "df" | "dd" | "dl" => {
            return Err(number_error(format!("{}: decimal floating types are not supported", short(text))))
        }
        _ => return Err(number_error(format!("{} is no suffix of a floating constant", short(suffix)))),
    };
    let value = if hex { hex_value(lower.get(2..end).unwrap_or("")) } else { digits.parse().unwrap_or(0.0) };
    Ok(NumberLit::Float(FloatLit { text: Symbol::new(digits), value, ty, imaginary }))
}

/// Where the suffix of a floating constant begins.
fn float_end(lower: &str, hex: bool) -> Option<usize> {
    let bytes = lower.as_bytes();
    let mut at = if hex { 2 } else { 0 };
    let mut point = false;
    while let Some(&b) = bytes.get(at) {
        let digit = if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
        if !digit && (b != b'.' || point) {
            break;
        }
        point |= b == b'.';
        at += 1;
    }
    let mark = if hex { b'p' } else { b'e' };
    if bytes.get(at) != Some(&mark) {
        return if hex { None } else { Some(at) };
    }
    at += 1;
    if matches!(bytes.get(at), Some(b'+' | b'-')) {
        at += 1;
    }
    let first = at;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    (at > first).then_some(at)
}

/// Value of a hexadecimal floating constant without `0x`, rounded to nearest, ties to even.
fn hex_value(text: &str) -> f64 {
    let (mantissa, exponent) = text.split_once('p').unwrap_or((text, "0"));
    let mut exponent: i64 = exponent.parse().unwrap_or(if exponent.starts_with('-') { -100_000 } else { 100_000 });
    exponent = exponent.clamp(-100_000, 100_000);
    let mut bits: u64 = 0;
    let mut sticky = false;
    let mut fraction = false;
    for c in mantissa.chars() {
        let Some(digit) = c.to_digit(16) else {
            fraction = true;
            continue;
        };
        if bits >> 59 == 0 {
            bits = bits << 4 | u64::from(digit);
            exponent -= if fraction { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            exponent += if fraction { 0 } else { 4 };
        }
    }
    scale(bits, sticky, exponent)
}

/// `bits * 2^exponent`, with `sticky` for lost digits, rounded once.
fn scale(bits: u64, sticky: bool, exponent: i64) -> f64 {
    if bits == 0 {
        return 0.0;
    }
    let shift = i64::from(bits.leading_zeros());
    let bits = bits << shift;
    let top = exponent - shift + 63;
    if top > 1023 {
        return f64::INFINITY;
    }
    // Keep 53 bits, or fewer below the smallest normal number.
    let drop = if top < -1022 { 11 + (-1022 - top) } else { 11 };
    if drop > 64 {
        return 0.0;
    }
    let (kept, lost) = if drop == 64 { (0, bits) } else { (bits >> drop, bits << (64 - drop)) };
    let half = 1u64 << 63;
    let up = lost > half || (lost == half && (sticky || kept & 1 == 1));
    let kept = kept + u64::from(up);
    // Two exact steps, for 2^-1074 times 2^52 is more than one factor can scale.
    let power = top - 63 + drop;
    kept as f64 * 2f64.powi((power / 2) as i32) * 2f64.powi((power - power / 2) as i32)
}

/// Splits a quoted token into encoding and the text between its quotes.
pub fn split_quoted(text: &str) -> (Encoding, &str) {
    let (encoding, rest) = match text.as_bytes() {
        [b'u', b'8', ..] => (Encoding::Utf8, text.get(2..)),
        [b'u', ..] => (Encoding::Utf16, text.get(1..)),
        [b'U', ..] => (Encoding::Utf32, text.get(1..)),
        [b'L', ..] => (Encoding::Wide, text.get(1..)),
        _ => (Encoding::None, Some(text)),
    };
    let rest = rest.unwrap_or("");
    let quote = rest.get(..1).unwrap_or("");
    let body = rest.get(1..).unwrap_or("");
    (encoding, body.strip_suffix(quote).unwrap_or(body))
}

/// One element of a literal: a character, or a code unit given by number.
enum Piece {
    Char(char),
    Unit(u32),
}

/// Reads the next element of a literal's body at `*at`.
fn piece(body: &str, at: &mut usize) -> Option<Result<Piece, LiteralError>> {
    let rest = body.get(*at..)?;
    let c = rest.chars().next()?;
    *at += c.len_utf8();
    if c != '\\' {
        // Bytes that were not UTF-8 keep their value.
        return Some(Ok(match (c as u32).checked_sub(INVALID_BYTE_BASE) {
            Some(byte) if byte <= 0xff => Piece::Unit(byte),
            _ => Piece::Char(c),
        }));
    }
    let Some(kind) = body.get(*at..).and_then(|r| r.chars().next()) else {
        return Some(Err(escape_error("a backslash stands at the end of the literal")));
    };
    *at += kind.len_utf8();
    let simple = match kind {
        'n' => 10,
        't' => 9,
        'r' => 13,
        '0'..='7' => {
            *at -= 1;
            return Some(Ok(Piece::Unit(digits(body, at, 8, 3) as u32)));
        }
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'v' => 11,
        'e' | 'E' => 27,
        '\\' | '\'' | '"' | '?' => kind as u32,
        'x' => {
            let from = *at;
            let value = digits(body, at, 16, usize::MAX);
            if *at == from {
                return Some(Err(escape_error("`\\x` needs hexadecimal digits")));
            }
            return Some(
                u32::try_from(value).map(Piece::Unit).map_err(|_| escape_error("this escape is out of range")),
            );
        }
        'u' | 'U' => return Some(universal(body, at, if kind == 'u' { 4 } else { 8 })),
        '\n' => return piece(body, at),
        _ => {
            let help = Some("write `\\\\` for a backslash");
            return Some(Err(LiteralError { help, ..escape_error(format!("`\\{kind}` is no escape sequence")) }));
        }
    };
    Some(Ok(Piece::Unit(simple)))
}

fn digits(body: &str, at: &mut usize, radix: u32, most: usize) -> u64 {
    let mut value: u64 = 0;
    let mut count = 0;
    while count < most {
        let Some(digit) = body.as_bytes().get(*at).and_then(|&b| (b as char).to_digit(radix)) else { break };
        value = value.saturating_mul(u64::from(radix)).saturating_add(u64::from(digit));
        *at += 1;
        count += 1;
    }
    value
}

fn universal(body: &str, at: &mut usize, want: usize) -> Result<Piece, LiteralError> {
    let from = *at;
    let value = digits(body, at, 16, want);
    let c = u32::try_from(value).ok().and_then(char::from_u32);
    match c {
        Some(c) if *at - from == want => Ok(Piece::Char(c)),
        _ => Err(escape_error("this universal character name stands for no character")),
    }
}

/// Appends the code units of one element.
fn encode(piece: Piece, encoding: Encoding, units: &mut Vec<u32>) -> Result<(), LiteralError> {
    let most = match encoding {
        Encoding::None | Encoding::Utf8 => 0xff,
        Encoding::Utf16 => 0xffff,
        Encoding::Utf32 | Encoding::Wide => u32::MAX,
    };
    match piece {
        Piece::Unit(unit) if unit > most => return Err(escape_error("this escape is out of range")),
        Piece::Unit(unit) => units.push(unit),
        Piece::Char(c) => match encoding {
            Encoding::None | Encoding::Utf8 => {
                let mut buffer = [0; 4];
                units.extend(c.encode_utf8(&mut buffer).bytes().map(u32::from));
            }
            Encoding::Utf16 => {
                let mut buffer = [0; 2];
                units.extend(c.encode_utf16(&mut buffer).iter().map(|&u| u32::from(u)));
            }
            Encoding::Utf32 | Encoding::Wide => units.push(c as u32),
        },
    }
    Ok(())
}

fn units_of(body: &str, encoding: Encoding, units: &mut Vec<u32>) -> Result<(), LiteralError> {
    let mut at = 0;
    while let Some(next) = piece(body, &mut at) {
        encode(next?, encoding, units)?;
    }
    Ok(())
}

/// Reads a character constant. A plain one has the value of an `int`, as gcc gives it, in two's
/// complement.
pub fn character(text: &str) -> Result<(u32, Encoding), LiteralError> {
    let (encoding, body) = split_quoted(text);
    let mut units = vec![];
    units_of(body, encoding, &mut units)?;
    match (encoding, units.as_slice()) {
        (_, []) => Err(escape_error("this character constant is empty")),
        (Encoding::None, [one]) => Ok((i32::from(*one as u8 as i8) as u32, encoding)),
        (Encoding::None, many) if many.len() <= 4 => {
            Ok((many.iter().fold(0, |value, unit| value << 8 | unit), encoding))
        }
        (_, [one]) => Ok((*one, encoding)),
        _ => Err(escape_error("this character constant has more than one character")),
    }
}

/// Reads adjacent string literals as one.
pub fn string<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Result<StrLit, LiteralError> {
    let mut encoding = Encoding::None;
    for text in texts.clone() {
        let (next, _) = split_quoted(text);
        if encoding != Encoding::None && next != Encoding::None && next != encoding {
            return Err(escape_error("adjacent string literals have different prefixes"));
        }
        if next != Encoding::None {
            encoding = next;
        }
    }
    let mut units = vec![];
    for text in texts {
        units_of(split_quoted(text).1, encoding, &mut units)?;
    }
    Ok(StrLit { encoding, units })
}
