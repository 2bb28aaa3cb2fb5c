//! Values of numbers, where rounding and suffixes are delicate.

use syntax::ast::{Builtin, IntLit};
use syntax::literal::{number, NumberLit};

fn float(text: &str) -> f64 {
    match number(text) {
        Ok(NumberLit::Float(float)) => float.value,
        other => unreachable!("{text}: {other:?}"),
    }
}

#[test]
fn hexadecimal_floats_are_rounded_once() {
    assert_eq!(float("0x1p0"), 1.0);
    assert_eq!(float("0x.8p1"), 1.0);
    assert_eq!(float("0x1.8p-1"), 0.75);
    assert_eq!(float("0xABC.DEFp4").to_bits(), (0xABCDEF as f64 / 256.0).to_bits());
    // Ties go to even; a digit far to the right breaks the tie.
    assert_eq!(float("0x1.fffffffffffff8p0"), 2.0);
    assert_eq!(float("0x1.00000000000008p0"), 1.0);
    assert_eq!(float("0x1.000000000000080000000000000000001p0").to_bits(), 1.0f64.to_bits() + 1);
    // The edges of the range.
    assert_eq!(float("0x1p-1074"), f64::from_bits(1));
    assert_eq!(float("0x1p-1075"), 0.0);
    assert_eq!(float("0x1.8p-1075"), f64::from_bits(1));
    assert_eq!(float("0x1p-1022"), f64::MIN_POSITIVE);
    assert_eq!(float("0x1.fffffffffffffp1023"), f64::MAX);
    assert_eq!(float("0x1.fffffffffffff8p1023"), f64::INFINITY);
    assert_eq!(float("0x1p99999999999999999999"), f64::INFINITY);
    assert_eq!(float("0x1p-99999999999999999999"), 0.0);
    assert_eq!(float("0x0p99999"), 0.0);
}

#[test]
fn suffixes_give_types() {
    let types = [
        ("1.", Builtin::Double),
        ("1.f", Builtin::Float),
        ("1e5L", Builtin::LongDouble),
        ("1.0F64x", Builtin::Float64x),
        ("1e1f32", Builtin::Float32),
        ("1.f64", Builtin::Float64),
        (".5F32x", Builtin::Float32x),
    ];
    for (text, ty) in types {
        assert!(matches!(number(text), Ok(NumberLit::Float(float)) if float.ty == ty), "{text}");
    }
    let ints = [("1", false, 0, false), ("1U", true, 0, false), ("0x1LL", false, 2, true), ("010uL", true, 1, true)];
    for (text, unsigned, longs, non_decimal) in ints {
        let Ok(NumberLit::Int(int)) = number(text) else { unreachable!("{text}") };
        let IntLit { unsigned: u, longs: l, non_decimal: n, .. } = int;
        assert_eq!((u, l, n), (unsigned, longs, non_decimal), "{text}");
    }
}

#[test]
fn what_is_no_number_is_refused() {
    for text in [
        "1lL",
        "1uu",
        "08",
        "0b2",
        "0x",
        "0x1.0",
        "1e",
        "1e+",
        "1.0z",
        "1...3",
        "1_000",
        "0b",
        "1.0.0",
        "0x1p",
        "12345678901234567890123",
    ] {
        assert!(number(text).is_err(), "{text}");
    }
}
