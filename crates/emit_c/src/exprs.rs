//! C expressions as text, with what is needed to put them together and to move them.

use std::rc::Rc;
use typing::types::{FloatKind, IntKind};

/// Binds how tightly. A binary operator's operands are always in parentheses if they are binary
/// themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// `a ? b : c`, assignments.
    Any,
    /// Binary operators.
    Binary,
    /// `-a`, casts.
    Unary,
    /// Names, constants, calls, members, elements.
    Primary,
}

/// What an expression's value depends on.
#[derive(Clone, Default, Debug)]
pub struct Deps {
    /// Memory that stores and calls can change.
    pub memory: bool,
    /// It may trap (a load through a pointer).
    pub trap: bool,
    /// Locals that it reads.
    pub locals: Vec<u32>,
}

impl Deps {
    /// Adds those of another expression.
    pub fn add(&mut self, other: &Deps) {
        self.memory |= other.memory;
        self.trap |= other.trap;
        for &local in &other.locals {
            if !self.locals.contains(&local) {
                self.locals.push(local);
            }
        }
    }
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Ex {
    /// Its text.
    pub text: String,
    /// How tightly it binds.
    pub level: Level,
    /// A name or a constant: as cheap to write twice as once.
    pub atom: bool,
    /// The address of an object: not null.
    pub solid: bool,
    /// What it depends on.
    pub deps: Deps,
    /// What it points to, as an element of an array.
    pub element: Option<String>,
    /// Its C type if it is a pointer, as a cast spells it; empty if it must be cast in any case.
    pub pointer: Option<Rc<str>>,
}

impl Ex {
    /// An expression without dependencies.
    pub fn new(text: impl Into<String>, level: Level) -> Ex {
        Ex { text: text.into(), level, atom: false, solid: false, deps: Deps::default(), element: None, pointer: None }
    }

    /// A name or constant.
    pub fn atom(text: impl Into<String>) -> Ex {
        Ex { atom: true, ..Ex::new(text, Level::Primary) }
    }

    /// With a pointer type.
    pub fn of_pointer(mut self, cast: Rc<str>) -> Ex {
        self.pointer = Some(cast);
        self
    }

    /// With further dependencies.
    pub fn with(mut self, deps: &Deps) -> Ex {
        self.deps.add(deps);
        self
    }

    /// The text, in parentheses if it binds less tightly than asked for.
    pub fn at(&self, level: Level) -> String {
        if self.level >= level {
            self.text.clone()
        } else {
            format!("({})", self.text)
        }
    }

    /// The expression converted to a type.
    pub fn cast(&self, ty: &str) -> Ex {
        let mut out = Ex::new(format!("({ty}){}", self.at(Level::Unary)), Level::Unary).with(&self.deps);
        out.atom = self.atom;
        out.solid = self.solid;
        if ty.ends_with(['*', ')']) {
            out.pointer = Some(ty.into());
        }
        out
    }

    /// The expression as an address that can be compared and computed with.
    pub fn address(&self) -> Ex {
        let mut out = self.cast("uintptr_t");
        out.pointer = None;
        out
    }

    /// The expression converted to the pointer type if it is a pointer of another one.
    pub fn coerce(self, want: &Rc<str>) -> Ex {
        match &self.pointer {
            Some(have) if have != want => self.cast(want),
            _ => self,
        }
    }

    /// A prefix operator.
    pub fn prefix(&self, operator: &str) -> Ex {
        // `- -x`, not `--x`.
        let operand = self.at(Level::Unary);
        let gap = if operand.starts_with(operator) { " " } else { "" };
        Ex::new(format!("{operator}{gap}{operand}"), Level::Unary).with(&self.deps)
    }

    /// An infix operator.
    pub fn binary(&self, operator: &str, right: &Ex) -> Ex {
        let text = format!("{} {operator} {}", self.at(Level::Unary), right.at(Level::Unary));
        Ex::new(text, Level::Binary).with(&self.deps).with(&right.deps)
    }

    /// A call.
    pub fn call(function: &str, args: &[&Ex]) -> Ex {
        let texts: Vec<&str> = args.iter().map(|a| a.text.as_str()).collect();
        let mut out = Ex::new(format!("{function}({})", texts.join(", ")), Level::Primary);
        args.iter().for_each(|a| out.deps.add(&a.deps));
        out
    }
}

/// An integer constant in C's spelling, of the promoted type.
pub fn int_text(value: i128, kind: IntKind) -> Ex {
    let value = kind.wrap(value);
    let suffix = match kind {
        IntKind::UInt => "u",
        IntKind::Long => "l",
        IntKind::ULong => "ul",
        IntKind::LongLong => "ll",
        IntKind::ULongLong => "ull",
        _ => "",
    };
    match kind {
        IntKind::Int128 | IntKind::UInt128 => wide_text(value, kind),
        IntKind::Int if value == i128::from(i32::MIN) => Ex::atom("(-2147483647 - 1)"),
        IntKind::Long | IntKind::LongLong if value == i128::from(i64::MIN) => {
            Ex::atom(format!("(-9223372036854775807{suffix} - 1)"))
        }
        _ if value < 0 => Ex { level: Level::Unary, ..Ex::atom(format!("{value}{suffix}")) },
        _ => Ex::atom(format!("{value}{suffix}")),
    }
}

fn wide_text(value: i128, kind: IntKind) -> Ex {
    let ty = if kind == IntKind::Int128 { "__int128" } else { "unsigned __int128" };
    if let Ok(small) = i64::try_from(value) {
        if small != i64::MIN {
            return Ex { level: Level::Unary, ..Ex::atom(format!("({ty}){small}ll")) };
        }
    }
    let bits = value as u128;
    Ex::atom(format!("(({ty})((unsigned __int128){}ull << 64 | {}ull))", bits >> 64, bits as u64))
}

/// A floating constant in C's spelling.
pub fn float_text(text: &str, kind: FloatKind) -> Ex {
    // What the front end computed, and constants that only a builtin of the compiler names, come as
    // an expression.
    if text.starts_with('(') || text.contains("__builtin") {
        let call = Ex::new(text, Level::Binary);
        let name = if kind == FloatKind::Double { "double" } else { float_word(kind) };
        return Ex { atom: true, ..call.cast(name) };
    }
    let lower = text.to_ascii_lowercase();
    let negative = lower.starts_with('-');
    let body = lower.trim_start_matches(['-', '+']);
    let sign = if negative { "-" } else { "" };
    let level = if negative { Level::Unary } else { Level::Primary };
    let special = if body.starts_with("inf") {
        Some("__builtin_inf()")
    } else if body.starts_with("nan") {
        Some("__builtin_nan(\"\")")
    } else {
        None
    };
    if let Some(call) = special {
        let name = if kind == FloatKind::Double { "double" } else { float_word(kind) };
        return Ex { level: Level::Unary, ..Ex::atom(format!("({name}){sign}{call}")) };
    }
    let hex = body.starts_with("0x");
    let digits = |c: char| if hex { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
    let mantissa = if hex { body.get(2..).unwrap_or("") } else { body };
    let is_integer = !mantissa.is_empty() && mantissa.chars().all(digits);
    let point = match (is_integer, hex) {
        (true, true) => "p0",
        (true, false) => ".0",
        _ => "",
    };
    let has_suffix = !is_integer && body.ends_with(|c: char| c.is_ascii_alphabetic()) && has_suffix(body, hex);
    let suffix = match kind.standard() {
        _ if has_suffix => "",
        FloatKind::Float => "f",
        FloatKind::LongDouble => "L",
        FloatKind::Float128 => "q",
        _ => "",
    };
    let number = Ex { level, ..Ex::atom(format!("{sign}{body}{point}{suffix}")) };
    if kind == kind.standard() {
        number
    } else {
        Ex { atom: true, ..number.cast(float_word(kind)) }
    }
}

/// Whether a floating constant's last letter is a suffix and not a hexadecimal digit.
fn has_suffix(body: &str, hex: bool) -> bool {
    !hex || body.contains('p')
}

fn float_word(kind: FloatKind) -> &'static str {
    match kind {
        FloatKind::Float128 => "__float128",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants() {
        let int = |v, k| int_text(v, k).text;
        assert_eq!(int(5, IntKind::Int), "5");
        assert_eq!(int(-5, IntKind::Long), "-5l");
        assert_eq!(int(i128::from(i32::MIN), IntKind::Int), "(-2147483647 - 1)");
        assert_eq!(int(-1, IntKind::UInt), "4294967295u");
        assert_eq!(int(1 << 64, IntKind::UInt128), "((unsigned __int128)((unsigned __int128)1ull << 64 | 0ull))");
        let float = |t, k| float_text(t, k).text;
        assert_eq!(float("1.5", FloatKind::Double), "1.5");
        assert_eq!(float("3", FloatKind::Double), "3.0");
        assert_eq!(float("1e5", FloatKind::Float), "1e5f");
        assert_eq!(float("0.1f", FloatKind::Float), "0.1f");
        assert_eq!(float("0x1f", FloatKind::Double), "0x1fp0");
        assert_eq!(float("0x1.8p3", FloatKind::LongDouble), "0x1.8p3L");
        assert_eq!(float("-inf", FloatKind::Float), "(float)-__builtin_inf()");
    }

    #[test]
    fn parentheses_keep_the_meaning() {
        let (a, b) = (Ex::atom("a"), Ex::atom("b"));
        let sum = a.binary("+", &b);
        assert_eq!(sum.binary("*", &b).text, "(a + b) * b");
        assert_eq!(sum.cast("long").text, "(long)(a + b)");
        assert_eq!(a.prefix("-").prefix("-").text, "- -a");
    }
}
