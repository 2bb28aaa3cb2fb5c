//! <math.h>

use crate::code::*;
use crate::library::*;
use crate::machine::*;

extern "C" {
    fn erf(x: f64) -> f64;
    fn erfc(x: f64) -> f64;
    fn lgamma(x: f64) -> f64;
    fn tgamma(x: f64) -> f64;
    fn logb(x: f64) -> f64;
    fn remainder(x: f64, y: f64) -> f64;
    fn nextafter(x: f64, y: f64) -> f64;
    fn nextafterf(x: f32, y: f32) -> f32;
    fn ilogb(x: f64) -> i32;
    fn ldexp(x: f64, n: i32) -> f64;
    fn frexp(x: f64, n: *mut i32) -> f64;
    fn exp10(x: f64) -> f64;
    fn fdim(x: f64, y: f64) -> f64;
    fn rint(x: f64) -> f64;
    fn log1p(x: f64) -> f64;
    fn expm1(x: f64) -> f64;
    fn asinh(x: f64) -> f64;
    fn acosh(x: f64) -> f64;
    fn atanh(x: f64) -> f64;
    fn fmin(x: f64, y: f64) -> f64;
    fn fmax(x: f64, y: f64) -> f64;
}

/// A function of numbers by its C name, if it is one.
pub fn call(name: &str, a: &Args) -> Option<Val> {
    let plain = name.strip_prefix("__builtin_").unwrap_or(name);
    let single = plain.ends_with('f') && !matches!(plain, "erf" | "modf" | "inf");
    let stem = if single || (plain.ends_with('l') && !matches!(plain, "ceil" | "huge_val")) {
        plain.get(..plain.len() - 1).unwrap_or(plain)
    } else {
        plain
    };
    let (x, y) = (a.float(0), a.float(1));
    let n = a.int(1) as i32;
    // SAFETY: these functions of libm take and give numbers only.
    let value = unsafe {
        match stem {
            "sin" => x.sin(),
            "cos" => x.cos(),
            "tan" => x.tan(),
            "asin" => x.asin(),
            "acos" => x.acos(),
            "atan" => x.atan(),
            "sinh" => x.sinh(),
            "cosh" => x.cosh(),
            "tanh" => x.tanh(),
            "asinh" => asinh(x),
            "acosh" => acosh(x),
            "atanh" => atanh(x),
            "exp" => x.exp(),
            "exp2" => x.exp2(),
            "exp10" => exp10(x),
            "expm1" => expm1(x),
            "log" => x.ln(),
            "log10" => x.log10(),
            "log2" => x.log2(),
            "log1p" => log1p(x),
            "logb" => logb(x),
            "sqrt" => x.sqrt(),
            "cbrt" => x.cbrt(),
            "fabs" => x.abs(),
            "floor" => x.floor(),
            "ceil" => x.ceil(),
            "trunc" => x.trunc(),
            "round" => x.round(),
            "rint" | "nearbyint" => rint(x),
            "erf" => erf(x),
            "erfc" => erfc(x),
            "lgamma" => lgamma(x),
            "tgamma" => tgamma(x),
            "pow" => x.powf(y),
            "atan2" => x.atan2(y),
            "hypot" => x.hypot(y),
            "fmod" => x % y,
            "remainder" => remainder(x, y),
            "copysign" => x.copysign(y),
            "fdim" => fdim(x, y),
            "fmin" => fmin(x, y),
            "fmax" => fmax(x, y),
            "fma" => x.mul_add(y, a.float(2)),
            "nextafter" | "nexttoward" if single => f64::from(nextafterf(x as f32, y as f32)),
            "nextafter" | "nexttoward" => nextafter(x, y),
            "ldexp" | "scalbn" | "scalbln" => ldexp(x, n),
            "lround" | "llround" => return Some(Val::Int(x.round() as i64 as i128)),
            "lrint" | "llrint" => return Some(Val::Int(rint(x) as i64 as i128)),
            "ilogb" => return Some(Val::Int(i128::from(ilogb(x)))),
            _ => return None,
        }
    };
    Some(Val::Float(if single { f64::from(value as f32) } else { value }))
}

impl Machine<'_> {
    /// The functions that write through a pointer.
    pub fn math_with_memory(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        let plain = name.strip_prefix("__builtin_").unwrap_or(name);
        match plain {
            "frexp" | "frexpf" | "frexpl" => {
                let mut n = 0;
                // SAFETY: `n` is a variable of ours.
                let value = unsafe { frexp(a.float(0), &mut n) };
                self.put_bytes(a.ptr(1), &n.to_le_bytes())?;
                Ok(Some(Val::Float(value)))
            }
            "modf" | "modff" | "modfl" => {
                let x = a.float(0);
                let whole = x.trunc();
                let repr = match plain {
                    "modf" => Repr::F64,
                    "modff" => Repr::F32,
                    _ => Repr::F80,
                };
                let bytes = encode(&Val::Float(whole), repr);
                self.put_bytes(a.ptr(1), &bytes)?;
                let rest = if x.is_infinite() { 0.0 } else { x - whole };
                Ok(Some(Val::Float(rest.copysign(x))))
            }
            _ => Ok(None),
        }
    }
}
