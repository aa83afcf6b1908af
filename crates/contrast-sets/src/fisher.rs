//! Fisher's exact test, one-sided, and Tarone's correction for many tests.

/// The test for two samples of these sizes.
pub struct Fisher {
    here: usize,
    elsewhere: usize,
    /// The logarithms of the factorials.
    ln_factorial: Vec<f64>,
}

impl Fisher {
    pub fn new(here: usize, elsewhere: usize) -> Self {
        let logs = (1..=here + elsewhere).scan(0.0, |sum, n| {
            *sum += (n as f64).ln();
            Some(*sum)
        });
        Self { here, elsewhere, ln_factorial: std::iter::once(0.0).chain(logs).collect() }
    }

    /// The logarithm of the chance that, of `total` documents drawn from both samples, `here` or more are from the first.
    pub fn ln_tail(&self, here: usize, total: usize) -> f64 {
        let most = total.min(self.here);
        if here > most {
            return f64::NEG_INFINITY;
        }
        // Fewer there cannot be.
        let here = here.max(total.saturating_sub(self.elsewhere));
        let first = self.ln_choose(self.here, here) + self.ln_choose(self.elsewhere, total - here)
            - self.ln_choose(self.here + self.elsewhere, total);
        let (mut sum, mut term) = (1.0, 1.0);
        for x in here..most {
            // How much likelier one more is.
            let more = (self.here - x) as f64 * (total - x) as f64;
            let fewer = (x + 1) as f64 * (self.elsewhere + x + 1 - total) as f64;
            term *= more / fewer;
            sum += term;
        }
        (first + f64::ln(sum)).min(0.0)
    }

    /// The least that [`ln_tail`](Self::ln_tail) can be for so many documents, however they are distributed.
    pub fn ln_least(&self, total: usize) -> f64 {
        self.ln_tail(total.min(self.here), total)
    }

    fn ln_choose(&self, n: usize, k: usize) -> f64 {
        let ln = |n: usize| self.ln_factorial.get(n).copied().unwrap_or(f64::INFINITY);
        ln(n) - ln(k) - ln(n.saturating_sub(k))
    }
}

/// The logarithm of the level at which one of many tests is significant, so that by chance any of them is with a
/// probability of `alpha` at most. `least` are the logarithms of what each could reach.
pub fn ln_level(alpha: f64, mut least: Vec<f64>) -> f64 {
    least.sort_by(f64::total_cmp);
    let level = |k: usize| (alpha / k as f64).ln();
    let is_enough = |k: &usize| least.partition_point(|least| *least <= level(*k)) <= *k;
    (1..=least.len()).find(is_enough).map_or_else(|| alpha.ln(), level)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By drawing every subset.
    fn enumerated(here: u32, elsewhere: u32, at_least: u32, total: u32) -> f64 {
        let of_here = (1_u32 << here) - 1;
        let subsets = (0..1_u32 << (here + elsewhere)).filter(|subset| subset.count_ones() == total);
        let (hits, all) = subsets.fold((0_u32, 0_u32), |(hits, all), subset| {
            (hits + u32::from((subset & of_here).count_ones() >= at_least), all + 1)
        });
        f64::from(hits) / f64::from(all)
    }

    #[test]
    fn the_tail_is_that_of_all_ways_to_draw() {
        for (here, elsewhere) in [(5, 4), (1, 6), (6, 1), (3, 3)] {
            let fisher = Fisher::new(here as usize, elsewhere as usize);
            for total in 0..=here + elsewhere {
                for at_least in 0..=total.min(here) {
                    let expected = enumerated(here, elsewhere, at_least, total);
                    let told = fisher.ln_tail(at_least as usize, total as usize).exp();
                    assert!((told - expected).abs() < 1e-9, "{here} {elsewhere} {total} {at_least}: {told} {expected}");
                }
            }
        }
    }

    #[test]
    fn the_tail_of_large_samples_stays_a_number() {
        let fisher = Fisher::new(5_000, 5_000);
        assert!(fisher.ln_tail(5_000, 5_000).is_finite());
        assert!(fisher.ln_tail(5_000, 5_000) < -6_000.0);
        assert!((fisher.ln_tail(0, 5_000)).abs() < 1e-6);
        assert_eq!(fisher.ln_least(5_000), fisher.ln_tail(5_000, 5_000));
    }

    #[test]
    fn tests_that_cannot_be_significant_do_not_count() {
        let hopeless = vec![0.5_f64.ln(); 1_000];
        assert_eq!(ln_level(0.01, hopeless.clone()), 0.01_f64.ln());
        let with_ten = hopeless.into_iter().chain([-50.0; 10]).collect();
        assert_eq!(ln_level(0.01, with_ten), (0.01_f64 / 10.0).ln());
        assert_eq!(ln_level(0.01, vec![-50.0; 1_000]), (0.01_f64 / 1_000.0).ln());
    }
}
