//! Builtins of the C compiler.

use crate::code::*;
use crate::library::Args;
use crate::machine::*;
use typing::types::IntKind;

impl Machine<'_> {
    /// A builtin by its name.
    pub fn builtin(&mut self, name: &str, args: &[(Val, Repr)], repr: Repr) -> R<Val> {
        let a = Args(args);
        let plain = name.strip_prefix("__builtin_").unwrap_or(name);
        let truth = |t: bool| Ok(Val::Int(i128::from(t)));
        let kind_of = |n: usize| match args.get(n).map(|(_, r)| *r) {
            Some(Repr::Int(kind)) => kind,
            _ => IntKind::Int,
        };
        let (x, y) = (a.float(0), a.float(1));
        let single = matches!(args.first(), Some((_, Repr::F32)));
        match plain {
            "expect" | "expect_with_probability" | "assume_aligned" => return Ok(a.val(0)),
            "constant_p" => return Ok(Val::Int(0)),
            "lee_hold" | "lee_unhold" => return Ok(self.hold(plain == "lee_hold")),
            "unreachable" | "trap" => return fault("unreachable code reached"),
            "isnan" => return truth(x.is_nan()),
            "isinf" => return truth(x.is_infinite()),
            "isinf_sign" => {
                let sign = if x.is_sign_negative() { -1 } else { 1 };
                return Ok(Val::Int(if x.is_infinite() { sign } else { 0 }));
            }
            "isfinite" => return truth(x.is_finite()),
            "isnormal" => return truth(if single { (x as f32).is_normal() } else { x.is_normal() }),
            "signbit" | "signbitf" | "signbitl" => return truth(x.is_sign_negative()),
            "isgreater" => return truth(x > y),
            "isgreaterequal" => return truth(x >= y),
            "isless" => return truth(x < y),
            "islessequal" => return truth(x <= y),
            "islessgreater" => return truth(x.partial_cmp(&y).is_some_and(|o| o.is_ne())),
            "isunordered" => return truth(x.is_nan() || y.is_nan()),
            "fpclassify" => {
                let v = a.float(5);
                let n = match v.classify() {
                    std::num::FpCategory::Nan => 0,
                    std::num::FpCategory::Infinite => 1,
                    std::num::FpCategory::Normal => 2,
                    std::num::FpCategory::Subnormal => 3,
                    std::num::FpCategory::Zero => 4,
                };
                return Ok(a.val(n));
            }
            "inf" | "inff" | "infl" | "huge_val" | "huge_valf" | "huge_vall" => return Ok(Val::Float(f64::INFINITY)),
            "nan" | "nanf" | "nanl" | "nans" => return Ok(Val::Float(f64::NAN)),
            "bswap16" => return Ok(Val::Int(i128::from((a.int(0) as u16).swap_bytes()))),
            "bswap32" => return Ok(Val::Int(crate::arith::fit(i128::from((a.int(0) as u32).swap_bytes()), repr))),
            "bswap64" => return Ok(Val::Int(crate::arith::fit(i128::from((a.int(0) as u64).swap_bytes()), repr))),
            "abs" | "labs" | "llabs" => return Ok(Val::Int(crate::arith::fit(a.int(0).wrapping_abs(), repr))),
            _ => {}
        }
        // Bits of an integer: the suffix says of which type.
        let stem = plain.trim_end_matches('l').trim_end_matches('g');
        let bits = if plain.ends_with('g') {
            kind_of(0).size() as u32 * 8
        } else if plain.ends_with('l') {
            64
        } else {
            32
        };
        let raw = a.int(0) as u128 & if bits == 128 { u128::MAX } else { (1u128 << bits) - 1 };
        let small = |n: u32| Ok(Val::Int(i128::from(n)));
        match stem {
            "clz" if raw == 0 && args.len() > 1 => return Ok(a.val(1)),
            "ctz" if raw == 0 && args.len() > 1 => return Ok(a.val(1)),
            "clz" => return small(raw.leading_zeros() - (128 - bits)),
            "ctz" => return small(raw.trailing_zeros().min(bits)),
            "ffs" => return small(if raw == 0 { 0 } else { raw.trailing_zeros() + 1 }),
            "popcount" => return small(raw.count_ones()),
            "parity" => return small(raw.count_ones() & 1),
            "clrsb" => {
                let signed = ((raw << (128 - bits)) as i128) >> (128 - bits);
                let value = if signed < 0 { !signed } else { signed } as u128;
                return small(value.leading_zeros() - (128 - bits) - 1);
            }
            _ => {}
        }
        if let Some(value) = self.overflow(plain, args)? {
            return Ok(value);
        }
        if let Some(value) = crate::math::call(name, &a) {
            return Ok(value);
        }
        if let Some(value) = self.strings(plain, &a)? {
            return Ok(value);
        }
        unsupported(format!("`{name}`"))
    }

    /// Arithmetic that tells whether it overflowed.
    fn overflow(&mut self, name: &str, args: &[(Val, Repr)]) -> R<Option<Val>> {
        let a = Args(args);
        let (asks, base) = match name.strip_suffix("_p") {
            Some(base) => (true, base),
            None => (false, name),
        };
        let Some(op) = base.strip_suffix("_overflow") else { return Ok(None) };
        let op = op.trim_start_matches(['s', 'u']).trim_end_matches('l');
        let op = if op == "b" || op == "ub" { "sub" } else { op };
        let op = match name {
            _ if name.contains("sub") => "sub",
            _ if name.contains("mul") => "mul",
            _ if name.contains("add") => "add",
            _ => op,
        };
        let (x, y) = (a.int(0), a.int(1));
        let exact = match op {
            "add" => x.checked_add(y),
            "sub" => x.checked_sub(y),
            "mul" => x.checked_mul(y),
            _ => return Ok(None),
        };
        let wrapped = match op {
            "add" => x.wrapping_add(y),
            "sub" => x.wrapping_sub(y),
            _ => x.wrapping_mul(y),
        };
        let kind = if asks {
            match args.get(2).map(|(_, r)| *r) {
                Some(Repr::Int(kind)) => kind,
                _ => IntKind::Int,
            }
        } else {
            match self.target_kind {
                Some(kind) => kind,
                None => return Ok(None),
            }
        };
        let result = kind.wrap(wrapped);
        let over = exact != Some(result);
        if !asks {
            let bytes = result.to_le_bytes();
            self.put_bytes(a.ptr(2), bytes.get(..kind.size() as usize).unwrap_or(&[]))?;
        }
        Ok(Some(Val::Int(i128::from(over))))
    }
}
