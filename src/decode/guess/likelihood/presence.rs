//! How likely it is that of the fields a type declares just these are there.
//!
//! A Beta-binomial for each habit: how often a type's fields are there is not known beforehand, but much the same for
//! all fields of a habit. It is this that makes the smaller of two types that fit the likelier one.

use super::super::schema::{Habit, Message};

const HABITS: usize = Habit::COUNTED.len();

/// The share of a habit's fields that is there, in messages of a middling number of fields.
const SHARES: [f64; HABITS] = [0.67, 0.52, 0.30, 0.28, 0.88, 0.03];
/// How much alike the fields of a habit are: as if that many had been seen before.
const STRENGTH: f64 = 4.0;

/// Types by how many fields they declare, up to so many; and what that does to the log odds of each being there. Nobody sends
/// a message to say nothing, and nobody fills in everything.
const CROWDS: [(usize, f64); 6] = [(1, 1.6), (2, 0.5), (4, 0.2), (8, 0.0), (16, -0.35), (usize::MAX, -0.6)];

const MISSING_REQUIRED: f64 = 6.0;
/// A second member of a oneof: the first is then lost to every reader.
const SECOND_MEMBER: f64 = 7.0;
const ONEOF_UNSET: f64 = 2.2;
const ONEOF_SET: f64 = 0.12;

/// More fields of one habit are looked up as this many.
const TABLE: usize = 32;

/// What a type declares, as far as presence goes.
pub struct Declared {
    /// The numbers below 64 of each habit.
    habits: [u64; HABITS],
    required: u64,
    /// The members of each oneof, and what choosing one of them costs.
    oneofs: Box<[(u64, f64)]>,
    /// A field has a number from 64 on, or there are too many: the numbers above do not tell all.
    is_wide: bool,
    crowd: u8,
    pub last_number: u32,
}

/// The log probabilities of seeing `k` certain ones of `n` fields.
pub struct Presence {
    table: Vec<f32>,
}

impl Declared {
    pub fn new(message: &Message) -> Self {
        let numbers = |is_it: &dyn Fn(&super::super::schema::Field) -> bool| {
            let found = message.fields.iter().filter(|field| is_it(field));
            found.fold(0, |bits, field| bits | 1_u64.checked_shl(field.number).unwrap_or_default())
        };
        let is_wide = message.last_number() >= 64;
        Self {
            habits: Habit::COUNTED.map(|habit| numbers(&|field| field.habit == habit)),
            required: numbers(&|field| field.is_required),
            oneofs: message
                .oneofs
                .iter()
                .map(|&(first, size)| (numbers(&|f| f.oneof == first), oneof_set(size)))
                .collect(),
            is_wide,
            crowd: crowd(message.fields.len()) as u8,
            last_number: message.last_number(),
        }
    }
}

impl Presence {
    pub fn new() -> Self {
        let mut table = vec![0.0; CROWDS.len() * HABITS * TABLE * TABLE];
        for (place, rows) in table.chunks_mut(TABLE * TABLE).enumerate() {
            for n in 0..TABLE {
                for k in 0..=n {
                    rows[n * TABLE + k] = log_probability(place / HABITS, place % HABITS, n, k) as f32;
                }
            }
        }
        Self { table }
    }

    /// The log probability of the numbers below 64 that are there. `others` are the numbers from 64 on.
    pub fn log_probability(&self, message: &Message, declared: &Declared, numbers: u64, others: &[u32]) -> f64 {
        if declared.is_wide {
            return self.of_wide(message, declared.crowd.into(), numbers, others);
        }
        let mut sum = 0.0;
        for (habit, &bits) in declared.habits.iter().enumerate() {
            if bits != 0 {
                sum += self.habit(
                    declared.crowd.into(),
                    habit,
                    bits.count_ones() as usize,
                    (bits & numbers).count_ones() as usize,
                );
            }
        }
        for &(members, set) in &declared.oneofs {
            sum -= oneof((members & numbers).count_ones(), set);
        }
        sum - MISSING_REQUIRED * f64::from((declared.required & !numbers).count_ones())
    }

    #[inline]
    fn habit(&self, crowd: usize, habit: usize, n: usize, k: usize) -> f64 {
        match n {
            0..TABLE => self.table[((crowd * HABITS + habit) * TABLE + n) * TABLE + k].into(),
            _ => log_probability(crowd, habit, n, k),
        }
    }

    fn of_wide(&self, message: &Message, crowd: usize, numbers: u64, others: &[u32]) -> f64 {
        let is_there = |number: u32| match number {
            0..64 => numbers >> number & 1 == 1,
            _ => others.contains(&number),
        };
        let mut there = [0; HABITS];
        let mut members = vec![0; message.oneofs.len()];
        let mut missing = f64::from(message.required);
        for field in message.fields.iter().filter(|field| is_there(field.number)) {
            missing -= f64::from(u8::from(field.is_required));
            if let Some(there) = there.get_mut(field.habit as usize) {
                *there += 1;
            }
            if let Some(at) = message.oneofs.iter().position(|oneof| oneof.0 == field.oneof) {
                members[at] += 1;
            }
        }
        let habits = message.habits.iter().zip(there).enumerate();
        let sum: f64 = habits.map(|(habit, (&n, k))| self.habit(crowd, habit, n.into(), k)).sum();
        let oneofs: f64 =
            message.oneofs.iter().zip(members).map(|(one, members)| oneof(members, oneof_set(one.1))).sum();
        sum - oneofs - MISSING_REQUIRED * missing
    }
}

fn oneof_set(size: u16) -> f64 {
    f64::from(size).ln() + ONEOF_SET
}

fn oneof(members: u32, set: f64) -> f64 {
    match members.checked_sub(1) {
        None => ONEOF_UNSET,
        Some(more) => set + SECOND_MEMBER * f64::from(more),
    }
}

fn crowd(fields: usize) -> usize {
    CROWDS.iter().position(|(most, _)| fields <= *most).unwrap_or_default()
}

fn log_probability(crowd: usize, habit: usize, n: usize, k: usize) -> f64 {
    let log_odds = (SHARES[habit] / (1.0 - SHARES[habit])).ln() + CROWDS[crowd].1;
    let there = STRENGTH / (1.0 + (-log_odds).exp());
    let not_there = STRENGTH - there;
    log_beta(k as f64 + there, (n - k) as f64 + not_there) - log_beta(there, not_there)
}

fn log_beta(a: f64, b: f64) -> f64 {
    log_gamma(a) + log_gamma(b) - log_gamma(a + b)
}

/// The logarithm of the gamma function, by Lanczos' approximation (Numerical Recipes, 6.1).
fn log_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let t = x + 5.5;
    let series = COEFFICIENTS.iter().zip(1..).fold(1.000_000_000_190_015, |sum, (c, j)| sum + c / (x + f64::from(j)));
    (x + 0.5) * t.ln() - t + (2.506_628_274_631_000_5 * series / x).ln()
}
