//! Which conditions set one sample apart.

use std::collections::HashSet;

use crate::{
    candidates::{Candidate, Condition, candidates},
    document::Document,
    document_set::DocumentSet,
    fisher::{Fisher, ln_level},
};

/// A condition that holds for one sample more often than for the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// Of what it is a condition.
    pub attribute: String,
    /// What holds.
    pub condition: Condition,
    /// For so many documents of the first sample it holds,
    pub here: usize,
    /// and for so many of the other, as far as is known.
    pub elsewhere: usize,
    /// How likely it would be so by chance: the p-value of Fisher's exact test, one-sided, not corrected. Of the other
    /// sample, documents that were cut and may have it count as if they had it.
    pub p_value: f64,
    /// What else holds for nearly the same documents; three at most.
    pub same: Vec<(String, Condition)>,
}

/// What is reported.
#[derive(Clone, Debug)]
pub struct Options {
    /// The chance that something is reported where there is nothing, from 0 to 1.
    pub alpha: f64,
    /// By how much the shares of both samples differ at least, from 0 to 1.
    pub difference: f64,
    /// From which share of common documents on two conditions are told as one, from 0 to 1.
    pub same: f64,
    /// So many contrasts at most.
    pub most: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { alpha: 0.01, difference: 0.15, same: 0.9, most: 8 }
    }
}

/// A condition with what the test says of it.
struct Tested<'a> {
    candidate: Candidate<'a>,
    here: usize,
    elsewhere: usize,
    ln_p: f64,
}

/// What sets `here` apart from `elsewhere`, the least likely by chance first.
pub fn contrasts(here: &[Document], elsewhere: &[Document], options: &Options) -> Vec<Contrast> {
    let documents: Vec<&Document> = here.iter().chain(elsewhere).collect();
    let fisher = Fisher::new(here.len(), elsewhere.len());
    let candidates = candidates(&documents, here.len());
    // What holds for the same documents is one test.
    let distinct: HashSet<_> = candidates.iter().map(|candidate| &candidate.holds).collect();
    let level = ln_level(options.alpha, distinct.iter().map(|holds| fisher.ln_least(holds.count())).collect());
    let tested = candidates.into_iter().filter_map(|candidate| {
        let of_here = candidate.holds.count_before(here.len());
        let of_elsewhere = candidate.holds.count() - of_here;
        // What nobody knows of the others sets nothing apart: it is tested as if it held for them.
        let at_most = of_elsewhere + candidate.unknown;
        let difference = of_here as f64 / here.len() as f64 - at_most as f64 / elsewhere.len() as f64;
        if difference.is_nan() || difference < options.difference {
            return None;
        }
        let ln_p = fisher.ln_tail(of_here, of_here + at_most);
        (ln_p <= level).then_some(Tested { candidate, here: of_here, elsewhere: of_elsewhere, ln_p })
    });
    let mut tested: Vec<Tested<'_>> = tested.collect();
    tested.sort_by(|a, b| {
        let simplicity = |one: &Tested<'_>| {
            let Candidate { attribute, condition, .. } = &one.candidate;
            (condition.complexity(), attribute.matches('.').count(), attribute.len())
        };
        a.ln_p.total_cmp(&b.ln_p).then_with(|| simplicity(a).cmp(&simplicity(b)))
    });
    told(tested, options)
}

/// One contrast for all that hold for nearly the same documents; of one attribute only those that hold for different ones.
fn told(tested: Vec<Tested<'_>>, options: &Options) -> Vec<Contrast> {
    const SAME: usize = 3;
    let mut told: Vec<(DocumentSet, Contrast)> = Vec::new();
    for Tested { candidate: Candidate { attribute, condition, holds, .. }, here, elsewhere, ln_p } in tested {
        // "At least 3" says nothing new behind "is 4".
        if told.iter().any(|(others, contrast)| contrast.attribute == attribute && others.overlaps(&holds)) {
            continue;
        }
        if let Some((_, first)) = told.iter_mut().find(|(others, _)| others.similarity(&holds) >= options.same) {
            if first.same.len() < SAME && first.same.iter().all(|(same, _)| same != attribute) {
                first.same.push((attribute.to_owned(), condition));
            }
        } else if told.len() < options.most {
            let (attribute, p_value) = (attribute.to_owned(), ln_p.exp());
            told.push((holds, Contrast { attribute, condition, here, elsewhere, p_value, same: Vec::new() }));
        }
    }
    told.into_iter().map(|(_, contrast)| contrast).collect()
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        candidates::Measure,
        document::{Fact, tests::document},
    };

    fn documents(n: usize, mut value: impl FnMut(usize) -> Value) -> Vec<Document> {
        (0..n).map(|number| document(&value(number))).collect()
    }

    fn found(here: &[Document], elsewhere: &[Document]) -> Vec<(String, Condition)> {
        let found = contrasts(here, elsewhere, &Options::default());
        found.into_iter().map(|contrast| (contrast.attribute, contrast.condition)).collect()
    }

    /// An order as they usually are.
    fn order(rng: &mut Rng) -> Value {
        let currency = ["EUR", "USD", "ISK"][rng.usize(..3)];
        let items: Vec<Value> = (0..rng.usize(1..4)).map(|_| json!({"sku": rng.u32(..50), "pin": "•••"})).collect();
        json!({"id": rng.u64(..), "currency": currency, "cents": rng.u32(1..100_000), "items": items, "vip": rng.bool()})
    }

    #[test]
    fn the_planted_cause_comes_first() {
        fn check(plant: impl Fn(&mut Value, &mut Rng), attribute: &str, condition: impl Fn(&Condition) -> bool) {
            let mut rng = Rng::with_seed(7);
            let here = documents(200, |_| {
                let mut order = order(&mut rng);
                plant(&mut order, &mut rng);
                order
            });
            let elsewhere = documents(300, |_| order(&mut rng));
            let found = found(&here, &elsewhere);
            assert!(found.first().is_some_and(|(a, c)| a == attribute && condition(c)), "{attribute}: {found:?}");
        }
        let remove = |order: &mut Value, _: &mut Rng| drop(order.as_object_mut().and_then(|o| o.remove("currency")));
        check(remove, "p.currency", |c| *c == Condition::Missing);
        check(|order, _| order["currency"] = json!(""), "p.currency", |c| *c == Condition::Empty);
        let isk = Condition::Is(Fact::Text("ISK".to_owned()));
        check(|order, _| order["currency"] = json!("ISK"), "p.currency", |c| *c == isk);
        let large = |c: &Condition| matches!(c, Condition::AtLeast(Measure::Value, cents) if *cents > 80_000.0);
        check(|order, rng| order["cents"] = json!(rng.u32(90_000..100_000)), "p.cents", large);
        let empty = |order: &mut Value, _: &mut Rng| order["items"] = json!([]);
        check(empty, "p.items", |c| *c == Condition::Empty);
        let long = |c: &Condition| matches!(c, Condition::AtLeast(Measure::Items, _));
        check(|order, _| order["items"] = json!(vec![json!({"sku": 1, "pin": "•••"}); 9]), "p.items", long);
        check(|order, _| order["pin"] = json!("•••"), "p.pin", |c| *c == Condition::Present);
    }

    #[test]
    fn samples_of_the_same_kind_have_no_contrasts() {
        let by_chance = (0..100).filter(|seed| {
            let mut rng = Rng::with_seed(*seed);
            let mut sample = || documents(60, |_| order(&mut rng));
            let (here, elsewhere) = (sample(), sample());
            !found(&here, &elsewhere).is_empty()
        });
        // By `alpha` it is one in a hundred at most; the seeds are fixed.
        assert!(by_chance.count() <= 1);
    }

    #[test]
    fn what_holds_for_nearly_the_same_documents_is_told_once() {
        let here = documents(40, |_| json!({"a": 1}));
        let elsewhere = documents(40, |_| json!({"a": 1, "customer": {"name": "x", "at": {"city": "y"}}}));
        let contrasts = contrasts(&here, &elsewhere, &Options::default());
        assert_eq!(contrasts.len(), 1, "{contrasts:?}");
        assert_eq!((contrasts[0].attribute.as_str(), &contrasts[0].condition), ("p.customer", &Condition::Missing));
        assert_eq!(contrasts[0].same.len(), 3);
    }

    #[test]
    fn a_hidden_value_is_present_or_missing_and_nothing_else() {
        let here = documents(40, |_| json!({"pin": "•••1"}));
        let elsewhere = documents(40, |_| json!({"pin": "•••2"}));
        assert_eq!(found(&here, &elsewhere), []);
    }

    #[test]
    fn few_documents_prove_nothing() {
        let here = documents(3, |_| json!({}));
        let elsewhere = documents(3, |_| json!({"currency": "EUR"}));
        assert_eq!(found(&here, &elsewhere), []);
        assert_eq!(found(&[], &elsewhere), []);
        assert_eq!(found(&here, &[]), []);
    }

    #[test]
    fn nothing_is_missing_from_a_document_that_is_cut() {
        let mut here = documents(40, |_| json!({"a": 1}));
        here.iter_mut().for_each(Document::cut);
        let elsewhere = documents(40, |_| json!({"a": 1, "b": 2}));
        assert!(found(&here, &elsewhere).iter().all(|(_, condition)| *condition != Condition::Missing));
    }

    /// Of documents that are cut nobody knows what else they say: neither what they lack nor what they have sets others
    /// apart.
    #[test]
    fn nothing_is_told_that_documents_which_are_cut_may_have_too() {
        let total = |n: usize| json!({"cents": 100 + n, "currency": "EUR"});
        // Objects with a hundred entries by id, and behind them what is cut off.
        let entries = |n: usize| (0..100).map(|id| (format!("{n}-{id}"), json!({"x": 1}))).collect();
        let cut = |n| json!({"a": 1, "entries": Value::Object(entries(n)), "total": total(n)});
        let tells_of_total = |here: &[Document], elsewhere: &[Document]| {
            found(here, elsewhere).iter().any(|(attribute, _)| attribute.starts_with("p.total"))
        };
        let with = documents(40, |n| json!({"a": 1, "total": total(n)}));
        let without = documents(40, |_| json!({"a": 1}));
        let mut others = documents(40, cut);
        assert!(others.iter().all(|document| document.is_cut && !document.facts.contains_key("p.total")));
        assert!(!tells_of_total(&with, &others));
        // Some of them have it, so that it can be missing.
        others[..3].clone_from_slice(&with[..3]);
        assert!(!tells_of_total(&without, &others));
        assert!(tells_of_total(&with, &without) && tells_of_total(&without, &with));
    }

    #[test]
    fn documents_that_are_cut_are_counted_for_no_condition() {
        let here = documents(60, |_| json!({"a": 1}));
        let mut elsewhere = documents(100, |n| if n < 60 { json!({"a": 1}) } else { json!({"a": 1, "total": 2}) });
        elsewhere[3..60].iter_mut().for_each(Document::cut);
        let told = contrasts(&here, &elsewhere, &Options::default());
        let told: Vec<_> = told.iter().map(|c| (&*c.attribute, &c.condition, c.here, c.elsewhere)).collect();
        assert_eq!(told, [("p.total", &Condition::Missing, 60, 3)]);
    }

    /// They may have any value, which makes different values no more alike.
    #[test]
    fn values_are_told_apart_beside_documents_that_are_cut() {
        let here = documents(60, |n| json!({"kind": if n % 2 == 0 { "a" } else { "b" }}));
        let mut elsewhere = documents(100, |n| if n < 10 { json!({}) } else { json!({"kind": "c"}) });
        elsewhere[..10].iter_mut().for_each(Document::cut);
        let is = |kind: &str| ("p.kind".to_owned(), Condition::Is(Fact::Text(kind.to_owned())));
        assert_eq!(found(&here, &elsewhere), [is("a"), is("b")]);
    }

    #[test]
    fn a_long_text_is_told_by_its_length() {
        let here = documents(40, |_| json!({"note": "x".repeat(400)}));
        let elsewhere = documents(40, |n| json!({"note": "x".repeat(2 * n)}));
        let least = Condition::AtLeast(Measure::Length, 400.0);
        assert_eq!(found(&here, &elsewhere), [("p.note".to_owned(), least)]);
    }

    #[test]
    fn any_documents_can_be_compared() {
        arbtest::arbtest(|u| {
            let mut sample = || -> arbtest::arbitrary::Result<Vec<Document>> {
                let mut documents = vec![Document::default(); usize::from(u.arbitrary::<u8>()? % 40)];
                for document in &mut documents {
                    for _ in 0..u.arbitrary::<u8>()? % 6 {
                        let attribute = ["a", "b", "a.c", ""][usize::from(u.arbitrary::<u8>()? % 4)];
                        let fact = match u.arbitrary::<u8>()? % 6 {
                            0 => Fact::Hidden,
                            1 => Fact::Null,
                            2 => Fact::Bool(u.arbitrary()?),
                            3 => Fact::Number(u.arbitrary()?),
                            4 => Fact::Text(u.arbitrary()?),
                            _ => Fact::Items(usize::from(u.arbitrary::<u8>()?)),
                        };
                        document.add(attribute, fact);
                    }
                }
                Ok(documents)
            };
            let (here, elsewhere) = (sample()?, sample()?);
            for contrast in contrasts(&here, &elsewhere, &Options::default()) {
                assert!(contrast.here <= here.len() && contrast.elsewhere <= elsewhere.len());
                assert!((0.0..=0.01).contains(&contrast.p_value), "{contrast:?}");
            }
            Ok(())
        });
    }
}
