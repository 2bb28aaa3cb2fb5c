//! `printf`'s formats.

use crate::code::*;
use crate::machine::*;
use crate::ReportKind;

/// A conversion of a format.
#[derive(Clone, Debug, Default)]
struct Spec {
    minus: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
    length: Vec<u8>,
}

impl Machine<'_> {
    /// The text of a format with its arguments.
    pub fn format(&self, format: &[u8], args: &[(Val, Repr)]) -> R<Vec<u8>> {
        let mut out = vec![];
        let mut rest = args.iter();
        let mut next = || match rest.next() {
            Some(arg) => Ok(arg.clone()),
            None => report(ReportKind::VarArgs, "a format asks for more arguments than there are"),
        };
        let mut i = 0;
        while let Some(&c) = format.get(i) {
            i += 1;
            if c != b'%' {
                out.push(c);
                continue;
            }
            let mut spec = Spec::default();
            while let Some(&c) = format.get(i) {
                match c {
                    b'-' => spec.minus = true,
                    b'+' => spec.plus = true,
                    b' ' => spec.space = true,
                    b'#' => spec.alternate = true,
                    b'0' => spec.zero = true,
                    b'\'' => {}
                    _ => break,
                }
                i += 1;
            }
            if format.get(i) == Some(&b'*') {
                i += 1;
                let n = next()?.0.int();
                spec.minus |= n < 0;
                spec.width = Some(n.unsigned_abs() as usize);
            } else {
                spec.width = number(format, &mut i);
            }
            if format.get(i) == Some(&b'.') {
                i += 1;
                if format.get(i) == Some(&b'*') {
                    i += 1;
                    let n = next()?.0.int();
                    spec.precision = usize::try_from(n).ok();
                } else {
                    spec.precision = Some(number(format, &mut i).unwrap_or(0));
                }
            }
            while let Some(&c) = format.get(i).filter(|c| b"hlLqjztZ".contains(c)) {
                spec.length.push(c);
                i += 1;
            }
            let Some(&conversion) = format.get(i) else { break };
            i += 1;
            if spec.width.is_some_and(|w| w > 1 << 24) || spec.precision.is_some_and(|p| p > 1 << 24) {
                return unsupported("a format of more than 16 MB");
            }
            match conversion {
                b'%' => out.push(b'%'),
                b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'b' | b'B' => {
                    let value = next()?.0.int();
                    integer(&mut out, &spec, conversion, value);
                }
                b'c' => {
                    let value = next()?.0.int();
                    padded(&mut out, &spec, &[value as u8]);
                }
                b's' if spec.length.contains(&b'l') => return unsupported("a wide string in a format"),
                b's' => {
                    let address = next()?.0.addr();
                    let text = match (address, spec.precision) {
                        // What glibc prints where C leaves it open.
                        (0, Some(n)) if n < b"(null)".len() => vec![],
                        (0, _) => b"(null)".to_vec(),
                        (_, Some(n)) => self.string_within(address, n as u64)?,
                        _ => self.string(address)?,
                    };
                    padded(&mut out, &spec, &text);
                }
                b'p' => {
                    let address = next()?.0.addr();
                    let text = if address == 0 { "(nil)".to_string() } else { format!("{address:#x}") };
                    padded(&mut out, &spec, text.as_bytes());
                }
                b'm' => padded(&mut out, &spec, error_text(self.errno()).as_bytes()),
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                    let value = next()?.0.float();
                    out.extend(float(&spec, conversion, value));
                }
                other => return unsupported(format!("the conversion `%{}`", other as char)),
            }
        }
        Ok(out)
    }
}

/// The text of an error number.
pub fn error_text(number: i32) -> String {
    let mut buffer = [0 as libc::c_char; 256];
    // SAFETY: the buffer has the length that is given.
    unsafe { libc::strerror_r(number, buffer.as_mut_ptr(), buffer.len()) };
    let bytes: Vec<u8> = buffer.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn number(format: &[u8], i: &mut usize) -> Option<usize> {
    let mut n: Option<usize> = None;
    while let Some(c) = format.get(*i).filter(|c| c.is_ascii_digit()) {
        n = Some(n.unwrap_or(0).saturating_mul(10).saturating_add(usize::from(c - b'0')));
        *i += 1;
    }
    n
}

fn padded(out: &mut Vec<u8>, spec: &Spec, text: &[u8]) {
    let fill = spec.width.unwrap_or(0).saturating_sub(text.len());
    if !spec.minus {
        out.resize(out.len() + fill, b' ');
    }
    out.extend_from_slice(text);
    if spec.minus {
        out.resize(out.len() + fill, b' ');
    }
}

fn integer(out: &mut Vec<u8>, spec: &Spec, conversion: u8, value: i128) {
    let bits = match spec.length.as_slice() {
        b"hh" => 8,
        b"h" => 16,
        b"" => 32,
        _ => 64,
    };
    let mask = (1i128 << bits) - 1;
    let signed = matches!(conversion, b'd' | b'i');
    let (negative, magnitude) = if signed {
        let wrapped = (value << (128 - bits)) >> (128 - bits);
        (wrapped < 0, wrapped.unsigned_abs())
    } else {
        (false, (value & mask) as u128)
    };
    let mut digits = match conversion {
        b'o' => format!("{magnitude:o}"),
        b'x' => format!("{magnitude:x}"),
        b'X' => format!("{magnitude:X}"),
        b'b' | b'B' => format!("{magnitude:b}"),
        _ => magnitude.to_string(),
    };
    if spec.precision == Some(0) && magnitude == 0 {
        digits.clear();
    }
    if let Some(least) = spec.precision {
        if digits.len() < least {
            digits.insert_str(0, &"0".repeat(least - digits.len()));
        }
    }
    let mut prefix = String::new();
    if negative {
        prefix.push('-');
    } else if signed && spec.plus {
        prefix.push('+');
    } else if signed && spec.space {
        prefix.push(' ');
    }
    if spec.alternate {
        match conversion {
            b'x' if magnitude != 0 => prefix.push_str("0x"),
            b'X' if magnitude != 0 => prefix.push_str("0X"),
            b'b' if magnitude != 0 => prefix.push_str("0b"),
            b'o' if !digits.starts_with('0') => digits.insert(0, '0'),
            _ => {}
        }
    }
    if spec.zero && !spec.minus && spec.precision.is_none() {
        let have = prefix.len() + digits.len();
        let fill = spec.width.unwrap_or(0).saturating_sub(have);
        digits.insert_str(0, &"0".repeat(fill));
    }
    padded(out, spec, format!("{prefix}{digits}").as_bytes());
}

/// A floating value: the digits are libc's, which rounds exactly.
fn float(spec: &Spec, conversion: u8, value: f64) -> Vec<u8> {
    let mut format = String::from("%");
    for (set, flag) in [(spec.minus, '-'), (spec.plus, '+'), (spec.space, ' '), (spec.alternate, '#'), (spec.zero, '0')]
    {
        if set {
            format.push(flag);
        }
    }
    if let Some(width) = spec.width {
        format.push_str(&width.to_string());
    }
    if let Some(precision) = spec.precision {
        format.push_str(&format!(".{precision}"));
    }
    format.push(conversion as char);
    format.push('\0');
    let mut room = vec![0u8; 400 + spec.width.unwrap_or(0) + spec.precision.unwrap_or(0)];
    // SAFETY: the format has one conversion, of a `double`, and ends with a zero; the buffer has
    // the length that is given.
    let n =
        unsafe { libc::snprintf(room.as_mut_ptr().cast(), room.len(), format.as_ptr().cast::<libc::c_char>(), value) };
    room.truncate(usize::try_from(n).unwrap_or(0));
    room
}
