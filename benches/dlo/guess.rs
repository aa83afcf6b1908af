//! Guessing the type of a protobuf message: how often right, and how fast, beside prototext on the same messages.

use std::time::{Duration, Instant};

use payload_codec::guess::{Guess, Hints, TypeIndex};
use prost_reflect::{DescriptorPool, MessageDescriptor};

use crate::{
    prototext::{Prototext, Ranking},
    samples::{self, Corpus, Sample},
};

/// How many times faster than prototext a guess among many types is to be, in the median. Among few both are fast.
const PROMISED: f64 = 10.0;
/// How often each message is guessed.
const RUNS: usize = 4;
/// How many types the curve is measured at.
const SIZES: [usize; 6] = [50, 200, 1_000, 2_500, 5_000, 10_000];

pub fn run() {
    println!("\nguessing the type of a protobuf message, of so many types, without hints");
    println!(
        "{:>22} {:>9} {:>9} {:>9} {:>10} {:>9}",
        "right first, of 3", "strong", "right", "median", "95th", "slowest"
    );
    let small = samples::small();
    compare("small", &small, None);
    match samples::large() {
        Some(large) => {
            compare("large", &large, Some(PROMISED));
            println!("\nby the number of types, messages of those types");
            SIZES.iter().for_each(|&types| curve(&samples::subset(&large.descriptors, types), &large.samples));
        }
        None => {
            println!("(DLO_TEST_CORPUS does not name a folder with a large corpus)");
            println!("\nby the number of types, which are made up, messages of none of them");
            SIZES.iter().for_each(|&types| curve(&samples::synthetic(types), &small.samples));
        }
    }
}

/// Ours and theirs on the same messages.
fn compare(name: &str, corpus: &Corpus, promised: Option<f64>) {
    let (pool, index) = open(name, &corpus.descriptors);
    let samples: Vec<&Sample> = corpus.samples.iter().collect();
    let ours = measure(&samples, |sample| Outcome::of_guess(&index, sample));
    let prototext = Prototext::new(&pool, is_candidate);
    let theirs = measure(&samples, |sample| Outcome::of_ranking(&prototext.rank(&sample.body), sample));
    ours.print("dlo");
    theirs.print("prototext");
    let ratio = theirs.quantile(0.5).as_secs_f64() / ours.quantile(0.5).as_secs_f64();
    let verdict = match promised {
        Some(promised) if ratio >= promised => format!("promised {promised:.1}  kept"),
        Some(promised) => format!("promised {promised:.1}  MISSED"),
        None => String::new(),
    };
    println!("{name:<44} ratio {ratio:>5.1}  {verdict}");
}

fn curve(descriptors: &[u8], samples: &[Sample]) {
    let (pool, index) = open("set", descriptors);
    let mut known: Vec<&Sample> =
        samples.iter().filter(|sample| pool.get_message_by_name(&sample.full_name).is_some()).collect();
    if known.is_empty() {
        known = samples.iter().collect();
    }
    measure(&known, |sample| Outcome::of_guess(&index, sample)).print("dlo");
}

/// Decodes and indexes a set, and says how long that takes.
fn open(name: &str, descriptors: &[u8]) -> (DescriptorPool, TypeIndex) {
    let start = Instant::now();
    let pool = DescriptorPool::decode(descriptors).expect("a descriptor set");
    let decoded = start.elapsed();
    let start = Instant::now();
    let index = TypeIndex::new(std::slice::from_ref(&pool));
    println!("{name} of {} types: decoded in {decoded:.1?}, indexed in {:.1?}", index.len(), start.elapsed());
    (pool, index)
}

fn is_candidate(message: &MessageDescriptor) -> bool {
    !message.is_map_entry() && !message.full_name().starts_with("google.protobuf.")
}

/// How good one answer was, and how long it took.
struct Outcome {
    first: f64,
    first_three: f64,
    strong: bool,
    right: bool,
    took: Duration,
}

impl Outcome {
    fn of_guess(index: &TypeIndex, sample: &Sample) -> Self {
        let start = Instant::now();
        let guess = index.guess(&sample.body, &Hints::default());
        let took = start.elapsed();
        let (before, tied) = place(&guess, &sample.full_name);
        let strong = guess.strong();
        let right = strong.is_some_and(|strong| strong.name.full_name == sample.full_name);
        Self {
            first: first(before, tied),
            first_three: first_three(before, tied),
            strong: strong.is_some(),
            right,
            took,
        }
    }

    /// Its strong answer is a single best type.
    fn of_ranking(ranking: &Ranking, sample: &Sample) -> Self {
        let best = ranking.scores.iter().map(|(_, score)| *score).max();
        let unique = ranking.scores.iter().filter(|(_, score)| Some(*score) == best).count() == 1;
        let truth = ranking.scores.iter().find(|(name, _)| *name == sample.full_name).map(|(_, score)| *score);
        let count = |is_it: &dyn Fn(i64, i64) -> bool| {
            truth.map_or(0, |truth| ranking.scores.iter().filter(|(_, score)| is_it(*score, truth)).count())
        };
        let (before, tied) = (count(&|score, truth| score > truth), count(&|score, truth| score == truth));
        let right = unique && truth.is_some() && truth == best;
        Self {
            first: first(before, tied),
            first_three: first_three(before, tied),
            strong: unique,
            right,
            took: ranking.took,
        }
    }
}

/// How many types stand before the right one, and how many beside it; none if it is not among them.
fn place(guess: &Guess, full_name: &str) -> (usize, usize) {
    let mut before = 0;
    for candidate in &guess.candidates {
        let tied = candidate.types().count();
        if candidate.types().any(|name| name.full_name == full_name) {
            return (before, tied);
        }
        before += tied;
    }
    (before, 0)
}

/// Ties are broken at random.
fn first(before: usize, tied: usize) -> f64 {
    if before == 0 && tied > 0 { 1.0 / tied as f64 } else { 0.0 }
}

fn first_three(before: usize, tied: usize) -> f64 {
    let left = 3_usize.saturating_sub(before) as f64;
    if tied > 0 { (left / tied as f64).min(1.0) } else { 0.0 }
}

struct Table {
    outcomes: Vec<Outcome>,
}

/// Each message at its fastest of several runs over all of them, so that what else the machine does is left out. A message
/// never follows itself: caches hold what the others left there.
fn measure(samples: &[&Sample], guess: impl Fn(&Sample) -> Outcome) -> Table {
    let run = || samples.iter().map(|sample| guess(sample));
    let mut outcomes: Vec<Outcome> = run().collect();
    for _ in 1..RUNS {
        outcomes.iter_mut().zip(run()).for_each(|(outcome, again)| outcome.took = outcome.took.min(again.took));
    }
    outcomes.sort_by_key(|outcome| outcome.took);
    Table { outcomes }
}

impl Table {
    fn quantile(&self, share: f64) -> Duration {
        let last = self.outcomes.len().saturating_sub(1);
        self.outcomes.get((last as f64 * share) as usize).map(|outcome| outcome.took).unwrap_or_default()
    }

    fn print(&self, name: &str) {
        let count = self.outcomes.len() as f64;
        let percent = |of: &dyn Fn(&Outcome) -> f64| 100.0 * self.outcomes.iter().map(of).sum::<f64>() / count;
        let strong = percent(&|outcome| f64::from(u8::from(outcome.strong)));
        let right = percent(&|outcome| f64::from(u8::from(outcome.right))) / strong.max(f64::MIN_POSITIVE) * 100.0;
        println!(
            "{name:<10} {:>4.1} %, {:>4.1} % {strong:>7.1} % {right:>7.1} % {:>9.1?} {:>9.1?} {:>9.1?}",
            percent(&|outcome| outcome.first),
            percent(&|outcome| outcome.first_three),
            self.quantile(0.5),
            self.quantile(0.95),
            self.quantile(1.0),
        );
    }
}
