//! Sets of small numbers.

/// A set of numbers below a bound, a bit each.
#[derive(Clone)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// The empty set of numbers below the bound.
    pub fn none(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)])
    }

    /// The empty set of numbers below the bound of another.
    pub fn none_like(other: &Self) -> Self {
        Self(vec![0; other.0.len()])
    }

    pub fn has(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub fn set(&mut self, number: u32) {
        if let Some(word) = self.0.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
    }

    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Adds all of another set of the same bound.
    pub fn add(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// Adds what is in the first of two other sets of the same bound and not in the second.
    pub fn add_without(&mut self, first: &Self, second: &Self) {
        for (word, (first, second)) in self.0.iter_mut().zip(first.0.iter().zip(&second.0)) {
            *word |= first & !second;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Its numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).step_by(64).zip(&self.0).flat_map(|(base, &word)| {
            std::iter::successors((word != 0).then_some(word), |word| {
                let rest = word & (word - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |word| base + word.trailing_zeros())
        })
    }

    fn words(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

/// Sets by how many of the field numbers so far a class does not declare: none, one, two.
pub struct ByUnknown {
    pub sets: [Bits; 3],
}

impl ByUnknown {
    pub fn new(all: &Bits) -> Self {
        let none = Bits::none_like(all);
        Self { sets: [all.clone(), none.clone(), none] }
    }

    /// Takes one more number into account: some declare it, and of those some so that the value fits.
    pub fn restrict(&mut self, declared: &Bits, fits: &Bits) {
        let [none, one, two] = &mut self.sets;
        let words = none.words().iter_mut().zip(one.words()).zip(two.words());
        for (((none, one), two), (declared, fits)) in words.zip(declared.0.iter().zip(&fits.0)) {
            *two = *two & fits | *one & !declared;
            *one = *one & fits | *none & !declared;
            *none &= fits;
        }
    }

    /// Takes into account a number nobody declares.
    pub fn shift(&mut self) {
        self.sets.rotate_right(1);
        self.sets[0].words().fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u32]) -> Bits {
        let mut bits = Bits::none(200);
        numbers.iter().for_each(|&number| bits.set(number));
        bits
    }

    #[test]
    fn holds_numbers() {
        fn check(numbers: &[u32]) {
            assert_eq!(set(numbers).iter().collect::<Vec<_>>(), numbers);
            assert_eq!(set(numbers).count(), numbers.len());
            assert!((0..200).all(|number| set(numbers).has(number) == numbers.contains(&number)));
        }
        check(&[]);
        check(&[0, 63, 64, 127, 128, 199]);
        let mut both = set(&[1, 70]);
        both.add(&set(&[2, 70]));
        assert_eq!(both.iter().collect::<Vec<_>>(), [1, 2, 70]);
        both.add_without(&set(&[3, 70, 71]), &set(&[3]));
        assert_eq!(both.iter().collect::<Vec<_>>(), [1, 2, 70, 71]);
        assert!(set(&[]).is_empty() && !both.is_empty());
    }

    #[test]
    fn counts_unknown_numbers() {
        fn check(by_unknown: &ByUnknown, expected: [&[u32]; 3]) {
            assert_eq!(
                by_unknown.sets.each_ref().map(|set| set.iter().collect::<Vec<_>>()),
                expected.map(<[_]>::to_vec)
            );
        }
        let mut by_unknown = ByUnknown::new(&set(&[0, 1, 2, 100]));
        check(&by_unknown, [&[0, 1, 2, 100], &[], &[]]);
        // 0 declares it and fits, 1 declares it and does not.
        by_unknown.restrict(&set(&[0, 1]), &set(&[0]));
        check(&by_unknown, [&[0], &[2, 100], &[]]);
        by_unknown.restrict(&set(&[2]), &set(&[2]));
        check(&by_unknown, [&[], &[0, 2], &[100]]);
        by_unknown.shift();
        check(&by_unknown, [&[], &[], &[0, 2]]);
    }
}
