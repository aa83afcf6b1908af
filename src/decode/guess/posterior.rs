//! From likelihoods and prior to a ranking with confidences.

use super::prior::{Members, Prior};

/// Log likelihoods are divided by this: fields are not as independent as they are scored.
const TEMPERATURE: f64 = 1.3;
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

struct Entry {
    /// The log of each type's unnormalized posterior.
    log: f64,
    class: u32,
    /// Which of the class's groups, and how many types it has.
    group: u32,
    types: u32,
}

impl Ranked {
    /// The best `most` by log likelihoods. `opaque` is what the body costs without a descriptor.
    pub fn new(members: &Members, prior: &Prior, scored: &[(u32, f64)], opaque: f64, most: usize) -> Self {
        let mut entries = Vec::with_capacity(scored.len());
        let mut evidence = LogSum::new(15.0);
        for &(class, likelihood) in scored {
            for (place, group) in (0..).zip(members.of_class(class, prior)) {
                let log_prior = group.log_weight + prior.log_scale;
                let types = group.types.len() as u32;
                evidence.add(log_prior + likelihood, types);
                entries.push(Entry { log: log_prior + likelihood / TEMPERATURE, class, group: place, types });
            }
        }
        let mut total = LogSum::new(36.0);
        total.add(prior.log_not_uploaded - opaque / TEMPERATURE, 1);
        entries.iter().for_each(|entry| total.add(entry.log, entry.types));
        let types: usize = entries.iter().map(|entry| entry.types as usize).sum();
        let place = |entry: &Entry| Placed {
            types: members.of_class(entry.class, prior)[entry.group as usize].types.clone(),
            confidence: (entry.log - total.log()).exp() * f64::from(entry.types),
        };
        let best: Vec<Placed> = top(&mut entries, most).iter().map(place).collect();
        let shown: usize = best.iter().map(|placed| placed.types.len()).sum();
        Self { others: types - shown, best, evidence: evidence.log() + opaque }
    }
}

/// The first `most`, best first.
fn top(entries: &mut [Entry], most: usize) -> &[Entry] {
    let best_first = |a: &Entry, b: &Entry| b.log.total_cmp(&a.log).then((a.class, a.group).cmp(&(b.class, b.group)));
    if entries.len() > most {
        entries.select_nth_unstable_by(most, best_first);
    }
    let most = most.min(entries.len());
    let best = &mut entries[..most];
    best.sort_by(best_first);
    best
}

/// A sum of numbers whose logarithms are known.
struct LogSum {
    largest: f64,
    /// Relative to the largest.
    sum: f64,
    negligible: f64,
}

impl LogSum {
    /// Numbers are left out that are smaller than the largest by `negligible` nats.
    fn new(negligible: f64) -> Self {
        Self { largest: f64::NEG_INFINITY, sum: 0.0, negligible }
    }

    fn add(&mut self, log: f64, times: u32) {
        if log < self.largest - self.negligible {
            return;
        }
        if log > self.largest {
            self.sum *= (self.largest - log).exp();
            self.largest = log;
        }
        if log > f64::NEG_INFINITY {
            self.sum += (log - self.largest).exp() * f64::from(times);
        }
    }

    fn log(&self) -> f64 {
        self.largest + self.sum.ln()
    }
}
