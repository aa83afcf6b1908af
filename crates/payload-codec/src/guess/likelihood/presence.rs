//! How likely it is that of the fields a type declares just these are there.
//!
//! A Beta-binomial for each habit: how often a type's fields are there is not known beforehand, but much the same for
//! all fields of a habit. It is this that makes the smaller of two types that fit the likelier one.

use std::{collections::HashMap, ops::Range};

use super::super::schema::{Field, Habit, Message};

/// The share of a habit's fields that is there, in messages of a middling number of fields.
const SHARES: [f64; Habit::Ruled as usize] = [0.67, 0.52, 0.30, 0.28, 0.88, 0.03];
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

/// What each class declares, as far as presence goes.
///
/// The fields of a class fall into parties, and what a party adds depends on nothing but how many of its fields are there.
/// Classes of the same parties have the same shape.
#[derive(Default)]
pub struct Presence {
    /// The shape and the highest field number of each class.
    classes: Vec<(u32, u32)>,
    /// The parties of each shape.
    shapes: Vec<Range<u32>>,
    parties: Vec<Party>,
    /// What each party is made of; looked at only for fields of high numbers.
    rules: Vec<Rule>,
    /// Log probabilities by how many are there; the same for all parties of a rule, a size and a crowd.
    log_probabilities: Vec<f64>,
}

/// Fields that count together.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Party {
    /// Their numbers below 64.
    numbers: u64,
    /// The log probability that none is there; those of one, two and so on follow it.
    start: u32,
}

/// Which fields count together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Rule {
    Habit(Habit),
    /// Those of the oneof whose first field has this number.
    Oneof(u32),
    Required,
}

/// The field numbers of a message.
#[derive(Clone, Copy)]
pub struct Numbers<'a> {
    /// Bit `n` is set if number `n` is there.
    pub below_64: u64,
    /// The others, each once.
    pub from_64: &'a [u32],
}

impl Presence {
    /// Of classes that are given by one message each.
    pub fn new<'a>(classes: impl Iterator<Item = &'a Message>) -> Self {
        let mut draft = Draft::default();
        classes.for_each(|message| draft.add(message));
        draft.presence
    }

    /// The highest field number a class declares.
    pub fn last_number(&self, class: u32) -> u32 {
        self.classes[class as usize].1
    }

    /// Classes of the same shape have the same log probability, whenever there are no numbers from 64 on.
    pub fn shape(&self, class: u32) -> u32 {
        self.classes[class as usize].0
    }

    /// The log probability that of all fields of the class, whose message this is, just these are there.
    pub fn log_probability(&self, class: u32, message: &Message, numbers: Numbers) -> f64 {
        if !numbers.from_64.is_empty() && self.last_number(class) >= 64 {
            return self.with_high_numbers(class, message, numbers);
        }
        let parties = &self.parties[self.range(class)];
        parties.iter().map(|party| self.of(party, (party.numbers & numbers.below_64).count_ones())).sum()
    }

    fn with_high_numbers(&self, class: u32, message: &Message, numbers: Numbers) -> f64 {
        let high: Vec<Rule> = numbers.from_64.iter().filter_map(|&n| message.field(n)).map(Rule::of).collect();
        let range = self.range(class);
        let parties = self.parties[range.clone()].iter().zip(&self.rules[range]);
        let log_probabilities = parties.map(|(party, rule)| {
            let high = high.iter().filter(|other| *other == rule).count() as u32;
            self.of(party, (party.numbers & numbers.below_64).count_ones() + high)
        });
        log_probabilities.sum()
    }

    #[inline]
    fn of(&self, party: &Party, there: u32) -> f64 {
        self.log_probabilities[(party.start + there) as usize]
    }

    #[inline]
    fn range(&self, class: u32) -> Range<usize> {
        let Range { start, end } = self.shapes[self.shape(class) as usize];
        start as usize..end as usize
    }
}

/// The tables in the making.
#[derive(Default)]
struct Draft {
    presence: Presence,
    shapes: HashMap<Vec<(Rule, Party)>, u32>,
    starts: HashMap<(Rule, usize, usize), u32>,
}

impl Draft {
    fn add(&mut self, message: &Message) {
        let crowd = crowd(message.fields.len());
        let mut parties: Vec<(Rule, Party, usize)> = Vec::new();
        for field in &message.fields {
            let rule = Rule::of(field);
            let at = parties.iter().position(|party| party.0 == rule).unwrap_or_else(|| {
                parties.push((rule, Party { numbers: 0, start: 0 }, 0));
                parties.len() - 1
            });
            let (_, party, size) = &mut parties[at];
            party.numbers |= 1_u64.checked_shl(field.number).unwrap_or_default();
            *size += 1;
        }
        let parties = parties.into_iter().map(|(rule, mut party, size)| {
            party.start = self.start(rule, size, crowd);
            (rule, party)
        });
        let parties = parties.collect();
        let shape = self.shape(parties);
        self.presence.classes.push((shape, message.last_number()));
    }

    fn shape(&mut self, parties: Vec<(Rule, Party)>) -> u32 {
        let presence = &mut self.presence;
        let enter = |parties: &Vec<(Rule, Party)>| {
            let start = presence.parties.len() as u32;
            presence.rules.extend(parties.iter().map(|(rule, _)| *rule));
            presence.parties.extend(parties.iter().map(|(_, party)| party.clone()));
            presence.shapes.push(start..presence.parties.len() as u32);
            presence.shapes.len() as u32 - 1
        };
        *self.shapes.entry(parties).or_insert_with_key(enter)
    }

    /// Where the log probabilities of such a party begin.
    fn start(&mut self, rule: Rule, size: usize, crowd: usize) -> u32 {
        let log_probabilities = &mut self.presence.log_probabilities;
        *self.starts.entry(rule.key(size, crowd)).or_insert_with(|| {
            let start = log_probabilities.len() as u32;
            log_probabilities.extend((0..=size).map(|there| rule.log_probability(crowd, size, there)));
            start
        })
    }
}

impl Rule {
    fn of(field: &Field) -> Self {
        match field {
            Field { is_required: true, .. } => Self::Required,
            Field { oneof: 0, habit, .. } => Self::Habit(*habit),
            Field { oneof, .. } => Self::Oneof(*oneof),
        }
    }

    /// What its log probabilities depend on.
    fn key(self, size: usize, crowd: usize) -> (Self, usize, usize) {
        match self {
            Self::Habit(_) => (self, size, crowd),
            Self::Oneof(_) => (Self::Oneof(0), size, 0),
            Self::Required => (self, size, 0),
        }
    }

    /// Of seeing `there` certain ones of `size` fields.
    fn log_probability(self, crowd: usize, size: usize, there: usize) -> f64 {
        match (self, there) {
            (Self::Required, _) => -MISSING_REQUIRED * (size - there) as f64,
            (Self::Oneof(_), 0) => -ONEOF_UNSET,
            (Self::Oneof(_), _) => -(size as f64).ln() - ONEOF_SET - SECOND_MEMBER * (there - 1) as f64,
            (Self::Habit(habit), _) => log_probability(crowd, habit as usize, size, there),
        }
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
