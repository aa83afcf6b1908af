//! Sets of documents by their numbers.

/// For which documents something holds, a bit for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocumentSet(Vec<u64>);

impl DocumentSet {
    pub fn empty(documents: usize) -> Self {
        Self(vec![0; documents.div_ceil(64)])
    }

    pub fn insert(&mut self, document: usize) {
        if let Some(word) = self.0.get_mut(document / 64) {
            *word |= 1 << (document % 64);
        }
    }

    pub fn contains(&self, document: usize) -> bool {
        self.0.get(document / 64).is_some_and(|word| word & (1 << (document % 64)) != 0)
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Jaccard's index: what is in both, as a share of what is in either.
    pub fn similarity(&self, other: &Self) -> f64 {
        let count = |bits: fn(u64, u64) -> u64| {
            self.0.iter().zip(&other.0).map(|(a, b)| bits(*a, *b).count_ones()).sum::<u32>()
        };
        let (both, either) = (count(|a, b| a & b), count(|a, b| a | b));
        if either == 0 { 1.0 } else { f64::from(both) / f64::from(either) }
    }

    /// How many of the first `n` documents are in it.
    pub fn count_before(&self, n: usize) -> usize {
        let whole: u32 = self.0.iter().take(n / 64).map(|word| word.count_ones()).sum();
        let part = self.0.get(n / 64).map_or(0, |word| (word & ((1 << (n % 64)) - 1)).count_ones());
        (whole + part) as usize
    }

    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_what_is_in_it() {
        arbtest::arbtest(|u| {
            let members: std::collections::BTreeSet<u8> = u.arbitrary()?;
            let n = usize::from(u.arbitrary::<u8>()?);
            let mut set = DocumentSet::empty(256);
            members.iter().for_each(|member| set.insert(usize::from(*member)));
            assert_eq!(set.count(), members.len());
            assert!((0..256).all(|one| set.contains(one) == members.contains(&(one as u8))));
            assert_eq!(set.count_before(n), members.iter().filter(|member| usize::from(**member) < n).count());
            assert_eq!(set.count_before(256), members.len());
            Ok(())
        });
    }
}
