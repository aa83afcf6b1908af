//! From likelihoods and prior to a ranking with confidences.

use super::prior::{Members, Prior};

/// Log likelihoods are divided by this: fields are not as independent as they are scored.
const TEMPERATURE: f64 = 1.3;
/// What reads the body worse than the best by so many nats adds next to nothing to the evidence.
const NEGLIGIBLE: f64 = 15.0;

/// All candidates that count.
pub(super) struct Ranked {
    /// Best first.
    pub best: Vec<Placed>,
    /// How many types besides those may be it.
    pub others: usize,
    /// How much better the types read the body than nothing does, in nats.
    pub evidence: f64,
}

/// Types of one class that are equally likely.
pub(super) struct Placed {
    pub types: Vec<u32>,
    /// Of all of them together.
    pub confidence: f64,
}

impl Ranked {
    /// The best `most` by log likelihoods. `opaque` is what the body costs without a descriptor.
    pub fn new(members: &Members, prior: &Prior, scored: &[(u32, f64)], opaque: f64, most: usize) -> Self {
        let likeliest = scored.iter().fold(f64::NEG_INFINITY, |most, &(_, log)| if log > most { log } else { most });
        let mut top = Top { most, entries: Vec::with_capacity(most) };
        let mut types = 0;
        // All that follows is relative to the scale of the prior and to the likeliest class.
        let (mut read, mut believed) = (0.0, 0.0);
        let (mut last, mut plain, mut tempered) = (f64::NAN, 0.0, 0.0);
        for &(class, likelihood) in scored {
            let below = rounded(likelihood - likeliest);
            // Neighbours are often alike.
            if below != last {
                last = below;
                plain = if below > -NEGLIGIBLE { below.exp() } else { 0.0 };
                tempered = (below / TEMPERATURE).exp();
            }
            for group in members.of_class(class, prior) {
                let weight = group.weight * group.types.len() as f64;
                types += group.types.len();
                read += weight * plain;
                believed += weight * tempered;
                top.offer(Entry { belief: group.weight * tempered, types: &group.types });
            }
        }
        let evidence = read.ln() + prior.log_scale + likeliest + opaque;
        believed += (prior.log_not_uploaded - prior.log_scale - (opaque + likeliest) / TEMPERATURE).exp();
        let place = |Entry { belief, types }: &Entry| Placed {
            types: types.to_vec(),
            confidence: belief / believed * types.len() as f64,
        };
        let best: Vec<Placed> = top.entries.iter().map(place).collect();
        let shown: usize = best.iter().map(|placed| placed.types.len()).sum();
        Self { others: types - shown, best, evidence }
    }
}

/// Rounds to 2⁻³¹, so that sums of the same terms tie in whatever order they were added.
fn rounded(log: f64) -> f64 {
    // Doubles of this size are so far apart.
    const SIZE: f64 = 3.0 * (1 << 20) as f64;
    (log + SIZE) - SIZE
}

/// Equally likely types.
struct Entry<'a> {
    /// In each of them, not normalized.
    belief: f64,
    types: &'a [u32],
}

/// The entries believed most, best first; equals as they came.
struct Top<'a> {
    most: usize,
    entries: Vec<Entry<'a>>,
}

impl<'a> Top<'a> {
    fn offer(&mut self, entry: Entry<'a>) {
        if self.entries.len() >= self.most {
            if self.entries.last().is_none_or(|last| entry.belief <= last.belief) {
                return;
            }
            self.entries.pop();
        }
        let place = self.entries.iter().rposition(|other| other.belief >= entry.belief).map_or(0, |last| last + 1);
        self.entries.insert(place, entry);
    }
}
