//! Sets of small numbers (locals, blocks) as bits.

/// A set of numbers below a fixed size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// The empty set over `0..size`.
    pub fn empty(size: usize) -> BitSet {
        BitSet { words: vec![0; size.div_ceil(64)] }
    }

    /// All of `0..size`, rounded up to whole words: compare only sets that were made alike.
    pub fn full(size: usize) -> BitSet {
        BitSet { words: vec![!0; size.div_ceil(64)] }
    }

    /// Whether `n` is in; numbers out of range are not.
    pub fn contains(&self, n: usize) -> bool {
        self.words.get(n / 64).is_some_and(|w| w & (1 << (n % 64)) != 0)
    }

    /// Adds `n`; true if it was not in. Numbers out of range are ignored.
    pub fn insert(&mut self, n: usize) -> bool {
        let Some(word) = self.words.get_mut(n / 64) else {
            return false;
        };
        let bit = 1 << (n % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Takes `n` out.
    pub fn remove(&mut self, n: usize) {
        if let Some(word) = self.words.get_mut(n / 64) {
            *word &= !(1 << (n % 64));
        }
    }

    /// Adds all of `other`; true if that changed anything.
    pub fn union(&mut self, other: &BitSet) -> bool {
        self.combine(other, |a, b| a | b)
    }

    /// Keeps what is in both; true if that changed anything.
    pub fn intersect(&mut self, other: &BitSet) -> bool {
        self.combine(other, |a, b| a & b)
    }

    /// Takes out all of `other`; true if that changed anything.
    pub fn subtract(&mut self, other: &BitSet) -> bool {
        self.combine(other, |a, b| a & !b)
    }

    fn combine(&mut self, other: &BitSet, op: impl Fn(u64, u64) -> u64) -> bool {
        let mut changed = false;
        for (word, &with) in self.words.iter_mut().zip(&other.words) {
            let new = op(*word, with);
            changed |= new != *word;
            *word = new;
        }
        changed
    }

    /// The numbers in the set, rising.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_behave_as_sets() {
        let mut a = BitSet::empty(130);
        assert!(a.insert(0) && a.insert(64) && a.insert(129) && !a.insert(64));
        assert!(!a.insert(500), "out of range is ignored");
        assert_eq!(a.iter().collect::<Vec<_>>(), [0, 64, 129]);
        let mut b = BitSet::full(130);
        assert!(b.contains(77) && b.intersect(&a) && b == a);
        b.remove(0);
        assert!(!b.contains(0) && b.union(&a) && !b.union(&a));
        assert!(b.subtract(&a));
        assert_eq!(b, BitSet::empty(130));
    }
}
