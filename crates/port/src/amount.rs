//! Numbers of elements as products and sums: `n`, `n + 1`, `rows * columns`, `2 * n + 3`.

/// `factor * a * b + more`, of variables that are never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Amount<V> {
    /// The variables; those that are there come first, and rise.
    vars: [Option<V>; 2],
    factor: u64,
    more: i64,
}

/// Anyone who writes a larger constant does not mean a count.
const LARGEST: u64 = 1 << 31;

impl<V: Copy + Ord> Amount<V> {
    /// A constant.
    pub fn constant(n: u64) -> Amount<V> {
        Amount { vars: [None, None], factor: 0, more: i64::try_from(n).unwrap_or(i64::MAX) }
    }

    /// A variable.
    pub fn of(v: V) -> Amount<V> {
        Amount { vars: [Some(v), None], factor: 1, more: 0 }
    }

    fn checked(self) -> Option<Amount<V>> {
        (self.factor <= LARGEST && self.more.unsigned_abs() <= LARGEST).then_some(self)
    }

    /// The number, if it is constant.
    pub fn as_constant(&self) -> Option<i64> {
        self.vars[0].is_none().then_some(self.more)
    }

    /// Whether it may be what one access needs rather than how many elements there are: a constant, or
    /// `i + 1`.
    pub fn is_of_an_index(&self) -> bool {
        self.as_constant().is_some() || self.more != 0
    }

    /// What to order by, from the simple to the complicated.
    pub fn rank(&self) -> (usize, u64, u64, [Option<V>; 2]) {
        (self.vars().count(), self.more.unsigned_abs(), self.factor, self.vars)
    }

    /// The same, if not less: anyone who means `n` does not write `n - 1`.
    pub fn rounded(self) -> Amount<V> {
        Amount { more: self.more.max(0), ..self }
    }

    /// The variables in it.
    pub fn vars(&self) -> impl Iterator<Item = V> + '_ {
        self.vars.iter().flatten().copied()
    }

    /// So much more, or less.
    pub fn plus(self, n: i64) -> Option<Amount<V>> {
        Amount { more: self.more.checked_add(n)?, ..self }.checked()
    }

    /// The product, if it can be told.
    pub fn times(self, other: Amount<V>) -> Option<Amount<V>> {
        if let Some(n) = other.as_constant() {
            let (factor, more) = (self.factor.checked_mul(u64::try_from(n).ok()?)?, self.more.checked_mul(n)?);
            let vars = if factor == 0 { [None, None] } else { self.vars };
            return Amount { vars, factor, more }.checked();
        }
        if self.as_constant().is_some() {
            return other.times(self);
        }
        match (self, other) {
            (
                Amount { vars: [Some(a), None], factor: x, more: 0 },
                Amount { vars: [Some(b), None], factor: y, more: 0 },
            ) => Amount { vars: [Some(a.min(b)), Some(a.max(b))], factor: x.checked_mul(y)?, more: 0 }.checked(),
            _ => None,
        }
    }

    /// The same in parts of `n`: bytes become elements.
    pub fn divided(self, n: u64) -> Option<Amount<V>> {
        let size = i64::try_from(n).ok().filter(|n| *n > 0)?;
        let whole = self.factor % n == 0 && self.more % size == 0;
        whole.then(|| Amount { factor: self.factor / n, more: self.more / size, ..self })
    }

    /// Whether it is at least as much, whatever the variables are.
    pub fn covers(&self, other: &Amount<V>) -> bool {
        let same = self.vars == other.vars && self.factor >= other.factor;
        (same || other.vars[0].is_none()) && self.more >= other.more
    }

    /// With amounts in place of the variables.
    pub fn with<W: Copy + Ord>(self, of: impl Fn(V) -> Option<Amount<W>>) -> Option<Amount<W>> {
        let mut all = Amount::constant(if self.vars[0].is_some() { self.factor } else { 0 });
        for v in self.vars() {
            all = all.times(of(v)?)?;
        }
        all.plus(self.more)
    }

    /// How it is written.
    pub fn text(&self, name: impl Fn(V) -> Option<String>) -> Option<String> {
        let mut factors: Vec<String> = self.vars().map(&name).collect::<Option<_>>()?;
        if self.factor > 1 {
            factors.insert(0, self.factor.to_string());
        }
        let mut parts = vec![factors.join(" * ")];
        if self.more > 0 || factors.is_empty() {
            parts.push(self.more.to_string());
        }
        parts.retain(|part| !part.is_empty());
        (self.more >= 0).then(|| parts.join(" + "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Count = Amount<usize>;

    fn text(count: Option<Count>) -> Option<String> {
        count?.text(|v| Some(["w", "h", "n"].get(v)?.to_string()))
    }

    #[test]
    fn amounts_are_written_as_in_c() {
        let (w, h) = (Count::of(0), Count::of(1));
        assert_eq!(text(h.times(w)).as_deref(), Some("w * h"));
        assert_eq!(text(w.plus(1)).as_deref(), Some("w + 1"));
        assert_eq!(text(w.times(Count::constant(4)).and_then(|a| a.plus(3))).as_deref(), Some("4 * w + 3"));
        assert_eq!(text(Some(Count::constant(7))).as_deref(), Some("7"));
        assert_eq!(text(w.times(h).and_then(|a| a.times(w))), None);
    }

    #[test]
    fn only_what_is_never_less_covers() {
        let (w, h) = (Count::of(0), Count::of(1));
        let longer = w.plus(1).unwrap_or(w);
        assert!(longer.covers(&w) && longer.covers(&Count::constant(1)));
        assert!(!w.covers(&longer) && !w.covers(&h) && !w.covers(&Count::constant(1)));
        assert!(!Count::constant(100).covers(&w));
        let shorter = w.plus(-1).unwrap_or(w);
        assert!(w.covers(&shorter) && !shorter.covers(&w) && shorter.rounded() == w);
        assert_eq!(text(longer.with(|_| Some(shorter))).as_deref(), Some("w"));
    }

    #[test]
    fn variables_are_replaced_by_amounts() {
        let area = Count::of(0).times(Count::of(1));
        let given = [Some(Count::constant(3)), Count::of(2).plus(0)];
        let replaced = area.and_then(|a| a.with(|v| *given.get(v)?));
        assert_eq!(text(replaced).as_deref(), Some("3 * n"));
        assert_eq!(text(replaced.and_then(|a| a.divided(3))).as_deref(), Some("n"));
    }
}
