//! C's integer types, as far as random expressions need them.

/// An integer type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Int {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

use Int::*;

/// All of them.
pub const ALL: [Int; 8] = [I8, U8, I16, U16, I32, U32, I64, U64];

impl Int {
    /// Its name in both preludes.
    pub fn name(self) -> &'static str {
        match self {
            I8 => "i8",
            U8 => "u8",
            I16 => "i16",
            U16 => "u16",
            I32 => "i32",
            U32 => "u32",
            I64 => "i64",
            U64 => "u64",
        }
    }

    /// How a pointer to a block of it is declared. A block of characters would be a string object
    /// by inference, whose hidden zero may be read.
    pub fn pointer(self) -> String {
        if self.bits() == 8 {
            format!("{} *fat", self.name())
        } else {
            format!("{} *", self.name())
        }
    }

    /// Its width.
    pub fn bits(self) -> u32 {
        match self {
            I8 | U8 => 8,
            I16 | U16 => 16,
            I32 | U32 => 32,
            I64 | U64 => 64,
        }
    }

    /// Whether it has negative numbers.
    pub fn signed(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    /// The type that it has in arithmetic.
    pub fn promoted(self) -> Int {
        if self.bits() < 32 {
            I32
        } else {
            self
        }
    }

    /// The type of `a + b`.
    pub fn common(a: Int, b: Int) -> Int {
        let (a, b) = (a.promoted(), b.promoted());
        if a.bits() != b.bits() {
            return if a.bits() > b.bits() { a } else { b };
        }
        if a.signed() {
            b
        } else {
            a
        }
    }

    /// Its least value.
    pub fn min(self) -> i64 {
        if self.signed() {
            i64::MIN >> (64 - self.bits())
        } else {
            0
        }
    }

    /// Its greatest value, or the greatest that an `i64` holds.
    pub fn max(self) -> i64 {
        match self {
            U64 => i64::MAX,
            _ if self.signed() => i64::MAX >> (64 - self.bits()),
            _ => (1i64 << self.bits()) - 1,
        }
    }

    /// Whether all of `low..=high` are among its values.
    pub fn holds(self, low: i64, high: i64) -> bool {
        low >= self.min() && high <= self.max()
    }
}
