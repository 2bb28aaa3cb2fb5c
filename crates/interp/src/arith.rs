//! Numbers: operators on integers and floating values, conversions, constants.

use crate::code::{Repr, Val};
use mir::ir::BinOp;
use typing::types::IntKind;

/// A floating constant from its C text: a number, or what the front end wrote for a computed one.
pub fn parse_float(text: &str) -> f64 {
    let mut expr = Constant { text: text.as_bytes(), at: 0 };
    expr.sum(0).0
}

/// The same, rounded to `float` once.
pub fn parse_float32(text: &str) -> f32 {
    let (sign, body) = match text.trim().strip_prefix('-') {
        Some(rest) => (-1.0f32, rest),
        None => (1.0, text.trim()),
    };
    let plain = body.trim_end_matches(['f', 'F', 'l', 'L']);
    match plain.parse::<f32>() {
        Ok(value) if !plain.contains(['i', 'n', 'I', 'N']) => sign * value,
        _ => parse_float(text) as f32,
    }
}

/// Reads a constant expression: numbers, `+ - * /`, signs, parentheses, casts.
struct Constant<'a> {
    text: &'a [u8],
    at: usize,
}

impl Constant<'_> {
    fn peek(&mut self) -> u8 {
        while self.text.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// A value, and whether its type is `float`.
    fn sum(&mut self, depth: u32) -> (f64, bool) {
        let mut left = self.product(depth);
        while let op @ (b'+' | b'-') = self.peek() {
            self.at += 1;
            let right = self.product(depth);
            let value = if op == b'+' { left.0 + right.0 } else { left.0 - right.0 };
            left = narrowed(value, left.1 && right.1);
        }
        left
    }

    fn product(&mut self, depth: u32) -> (f64, bool) {
        let mut left = self.unary(depth);
        while let op @ (b'*' | b'/') = self.peek() {
            self.at += 1;
            let right = self.unary(depth);
            let value = if op == b'*' { left.0 * right.0 } else { left.0 / right.0 };
            left = narrowed(value, left.1 && right.1);
        }
        left
    }

    fn unary(&mut self, depth: u32) -> (f64, bool) {
        if depth > 200 {
            return (0.0, false);
        }
        match self.peek() {
            b'-' => {
                self.at += 1;
                let (value, single) = self.unary(depth + 1);
                (-value, single)
            }
            b'+' => {
                self.at += 1;
                self.unary(depth + 1)
            }
            b'(' => {
                let rest = self.text.get(self.at + 1..).unwrap_or(&[]);
                for (name, single) in [("float)", true), ("double)", false), ("long double)", false)] {
                    if rest.starts_with(name.as_bytes()) {
                        self.at += 1 + name.len();
                        let (value, _) = self.unary(depth + 1);
                        return narrowed(value, single);
                    }
                }
                self.at += 1;
                let inner = self.sum(depth + 1);
                if self.peek() == b')' {
                    self.at += 1;
                }
                inner
            }
            _ => {
                let start = self.at;
                let mut before = 0u8;
                let hex = self.text.get(start + 1).is_some_and(|c| matches!(c, b'x' | b'X'));
                while let Some(&c) = self.text.get(self.at) {
                    let exponent = if hex { matches!(before, b'p' | b'P') } else { matches!(before, b'e' | b'E') };
                    let number = self.text.get(start).is_some_and(|c| c.is_ascii_digit() || *c == b'.');
                    let good = c.is_ascii_alphanumeric()
                        || matches!(c, b'.' | b'_')
                        || number && exponent && matches!(c, b'+' | b'-');
                    if !good {
                        break;
                    }
                    before = c;
                    self.at += 1;
                }
                let word = String::from_utf8_lossy(self.text.get(start..self.at).unwrap_or(&[])).into_owned();
                // The arguments of a builtin say nothing.
                if word.starts_with('_') && self.peek() == b'(' {
                    while !matches!(self.peek(), b')' | 0) {
                        self.at += 1;
                    }
                    self.at += 1;
                }
                if word.is_empty() {
                    self.at += 1;
                }
                let single =
                    !hex && word.ends_with(['f', 'F']) && word.starts_with(|c: char| c.is_ascii_digit() || c == '.');
                narrowed(magnitude(&word), single)
            }
        }
    }
}

fn narrowed(value: f64, single: bool) -> (f64, bool) {
    (if single { f64::from(value as f32) } else { value }, single)
}

fn magnitude(text: &str) -> f64 {
    let lower = text.to_ascii_lowercase();
    if lower.contains("inf") || lower.contains("huge_val") {
        return f64::INFINITY;
    }
    if lower.contains("nan") {
        return f64::NAN;
    }
    if let Some(hex) = lower.strip_prefix("0x") {
        return parse_hex(hex);
    }
    let end = lower.find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | '+' | '-')).unwrap_or(lower.len());
    lower.get(..end).unwrap_or("0").parse().unwrap_or(0.0)
}

fn parse_hex(text: &str) -> f64 {
    let (digits, exponent) = match text.split_once('p') {
        Some((d, e)) => (d, e.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse::<i32>().unwrap_or(0)),
        None => (text.trim_end_matches('l'), 0),
    };
    let (mut value, mut scale, mut point) = (0.0f64, exponent, false);
    for c in digits.chars() {
        match c.to_digit(16) {
            Some(d) => {
                value = value * 16.0 + f64::from(d);
                if point {
                    scale -= 4;
                }
            }
            None => point |= c == '.',
        }
    }
    value * 2f64.powi(scale)
}

/// The value in the range of the type.
pub fn fit(value: i128, repr: Repr) -> i128 {
    match repr {
        Repr::Bool => i128::from(value != 0),
        Repr::Int(kind) => kind.wrap(value),
        Repr::Ptr | Repr::Words(_) => i128::from(value as u64),
        _ => value,
    }
}

/// An operator on two integers of a type; comparisons give 0 or 1. `None`: division by zero, which
/// a check should have caught.
pub fn integers(op: BinOp, a: i128, b: i128, repr: Repr) -> Option<i128> {
    let kind = match repr {
        Repr::Int(kind) => kind,
        Repr::Bool => IntKind::UChar,
        _ => IntKind::ULong,
    };
    let truth = |t: bool| Some(i128::from(t));
    let wide = kind == IntKind::UInt128;
    let (x, y) = (a as u128, b as u128);
    let value = match op {
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::Div if b == 0 => return None,
        BinOp::Rem if b == 0 => return None,
        BinOp::Div if wide => (x / y) as i128,
        BinOp::Rem if wide => (x % y) as i128,
        BinOp::Div => a.wrapping_div(b),
        BinOp::Rem => a.wrapping_rem(b),
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Shl => {
            let count = (b as u64 & (kind.size() * 8 - 1)) as u32;
            a.wrapping_shl(count)
        }
        BinOp::Shr => {
            let count = (b as u64 & (kind.size() * 8 - 1)) as u32;
            if wide {
                (x >> count) as i128
            } else {
                a >> count
            }
        }
        BinOp::BitAnd => a & b,
        BinOp::BitXor => a ^ b,
        BinOp::BitOr => a | b,
        BinOp::Lt => return truth(if wide { x < y } else { a < b }),
        BinOp::Gt => return truth(if wide { x > y } else { a > b }),
        BinOp::Le => return truth(if wide { x <= y } else { a <= b }),
        BinOp::Ge => return truth(if wide { x >= y } else { a >= b }),
        BinOp::Eq => return truth(a == b),
        BinOp::Ne => return truth(a != b),
    };
    Some(fit(value, repr))
}

/// An operator on two floating values.
pub fn floats(op: BinOp, a: f64, b: f64, repr: Repr) -> Val {
    let truth = |t: bool| Val::Int(i128::from(t));
    let value = match op {
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Lt => return truth(a < b),
        BinOp::Gt => return truth(a > b),
        BinOp::Le => return truth(a <= b),
        BinOp::Ge => return truth(a >= b),
        BinOp::Eq => return truth(a == b),
        BinOp::Ne => return truth(a != b),
        BinOp::Rem | BinOp::Shl | BinOp::Shr | BinOp::BitAnd | BinOp::BitXor | BinOp::BitOr => f64::NAN,
    };
    Val::Float(round(value, repr))
}

/// The value as its type keeps it. (Of two `float`s the sum, product and quotient in `double` round
/// to what `float` gives.)
pub fn round(value: f64, repr: Repr) -> f64 {
    if repr == Repr::F32 {
        f64::from(value as f32)
    } else {
        value
    }
}

/// A number as another type.
pub fn convert(value: &Val, from: Repr, to: Repr) -> Val {
    match to {
        Repr::Bool => Val::Int(i128::from(match value {
            Val::Float(f) => *f != 0.0,
            other => other.int() != 0,
        })),
        Repr::F32 | Repr::F64 | Repr::F80 => match value {
            Val::Float(f) => Val::Float(round(*f, to)),
            other => {
                let n = other.int();
                let unsigned = from == Repr::Int(IntKind::UInt128);
                let exact = if to == Repr::F32 {
                    f64::from(if unsigned { n as u128 as f32 } else { n as f32 })
                } else if unsigned {
                    n as u128 as f64
                } else {
                    n as f64
                };
                Val::Float(exact)
            }
        },
        Repr::Int(kind) => match value {
            Val::Float(f) => Val::Int(saturate(*f, kind)),
            other => Val::Int(kind.wrap(other.int())),
        },
        _ => Val::Int(fit(value.int(), to)),
    }
}

/// Float to integer: what is out of range becomes the nearest value; NaN becomes 0.
fn saturate(value: f64, kind: IntKind) -> i128 {
    if value.is_nan() {
        return 0;
    }
    let bits = kind.size() * 8;
    if kind == IntKind::UInt128 {
        return value as u128 as i128;
    }
    if kind == IntKind::Int128 {
        return value as i128;
    }
    let (low, high) = match kind.signed() {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    (value as i128).clamp(low, high)
}
