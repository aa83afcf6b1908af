//! How a retry is to be held back, as a form or a call says it.

use std::time::Duration;

use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    domain::{
        number::exact,
        pacing::{Canary, Pace, Pacing},
    },
    web::{
        error::{Gathered, WebError, codes::FaultCode, fault::Fault},
        query::Pairs,
    },
};

/// Messages a second: more than a broker takes from one sender is no limit.
const FASTEST: u32 = 10_000;
/// The longest time over which letters are spread.
const LONGEST_SPREAD: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The longest time that is waited for the first ones to fail.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
const MOST_FIRST: u64 = 100_000;

/// The first few messages go alone; the others follow if these do well.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CanaryOrder {
    /// So many are sent first.
    #[schema(minimum = 1, maximum = 100_000, example = 25)]
    first: u64,
    /// How long the last of them has to show whether it fails again: `30s`, `5m`, at most a day.
    #[schema(format = "delay", example = "1m")]
    wait: String,
    /// The others follow if at most so many in a hundred have failed again, else the retry stops.
    #[schema(minimum = 0, maximum = 99, example = 10)]
    at_most_failed_percent: u64,
}

/// The same field by field, by the names that calls have for them.
#[derive(Clone, Debug, Default)]
pub struct PacingOrder {
    pub rate: Option<u64>,
    pub spread: Option<String>,
    pub canary: Option<CanaryOrder>,
}

impl PacingOrder {
    /// Takes the fields of a form: of its radio buttons one is chosen, and the fields of the others are of no matter.
    ///
    /// # Errors
    /// All that is wrong with it, by the labels of the form.
    pub fn take(pairs: &mut Pairs) -> Result<FormPacing, WebError> {
        let mut word = |name| Ok::<_, WebError>(pairs.take(name)?.unwrap_or_default());
        let (pace, rate, spread) = (word("pace")?, word("rate")?, word("spread")?);
        let (first, wait, percent, then) = (word("first")?, word("wait")?, word("percent")?, word("then_rate")?);
        let is_canary = pace == "canary";
        let mut gathered = Gathered::default();
        let mut number = |name, text: &str| {
            let read = text.trim().parse::<u64>().map_err(|_| not_a_number(name, text));
            gathered.take(read.map_err(|error| on_page(error, is_canary)))
        };
        let rate = match &*pace {
            "rate" => Some(number("rate", &rate)),
            "canary" if !then.trim().is_empty() => Some(number("rate", &then)),
            _ => None,
        };
        let canary = is_canary.then(|| CanaryOrder {
            first: number("canary.first", &first),
            wait,
            at_most_failed_percent: number("canary.at_most_failed_percent", &percent),
        });
        gathered.end()?;
        match &*pace {
            "" | "all" | "rate" | "spread" | "canary" => {}
            other => {
                let why = format!("{other:?} is not possible; it takes one of all, rate, spread, canary");
                return Err(WebError::field("pace", FaultCode::Choice, why));
            }
        }
        let spread = (pace == "spread").then_some(spread);
        Ok(FormPacing(Self { rate, spread, canary }))
    }

    /// What it comes to.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(&self) -> Result<Pacing, WebError> {
        let mut gathered = Gathered::default();
        if self.rate.is_some() && self.spread.is_some() {
            gathered.add(WebError::field("spread", FaultCode::Excluded, "rate, spread: it takes one of them"));
        }
        let rate = self.rate.map(|rate| gathered.take(read_rate(rate)));
        let spread = self.spread.as_deref();
        let spread = spread.map(|text| gathered.take(read_time("spread", text, LONGEST_SPREAD)));
        let canary = self.canary.as_ref().map(|canary| canary.read(&mut gathered));
        gathered.end()?;
        let pace = match (rate, spread) {
            (Some(rate), _) => Pace::PerSecond(rate),
            (None, Some(time)) => Pace::Over(time),
            (None, None) => Pace::AtOnce,
        };
        Ok(Pacing { pace, canary })
    }
}

/// What a form says.
#[derive(Debug)]
pub struct FormPacing(PacingOrder);

impl FormPacing {
    /// What it comes to.
    ///
    /// # Errors
    /// All that is wrong with it, by the labels of the form.
    pub fn read(&self) -> Result<Pacing, WebError> {
        self.0.read().map_err(|error| on_page(error, self.0.canary.is_some()))
    }
}

/// The same by what stands in `_pace.html`: the names of fields and what is written beside them.
fn on_page(error: WebError, is_canary: bool) -> WebError {
    let named = |fault: Fault| match fault.place.pointer().as_deref() {
        Some("/rate") if is_canary => fault.on_page("then_rate", "Canary, then … per second"),
        Some("/rate") => fault.on_page("rate", "So many per second"),
        Some("/spread") => fault.on_page("spread", "Spread evenly over"),
        Some("/canary/first") => fault.on_page("first", "Canary, … first"),
        Some("/canary/wait") => fault.on_page("wait", "Canary, wait"),
        Some("/canary/at_most_failed_percent") => fault.on_page("percent", "Canary, at most … % failed again"),
        _ => fault,
    };
    WebError::of_faults(error.status, error.faults.into_iter().map(named).collect())
}

impl CanaryOrder {
    fn read(&self, gathered: &mut Gathered) -> Canary {
        if !(1..=MOST_FIRST).contains(&self.first) {
            let why = format!("it takes a number from 1 to {MOST_FIRST}");
            gathered.add(WebError::field("canary.first", FaultCode::Range, why));
        }
        let percent = u8::try_from(self.at_most_failed_percent).ok().filter(|percent| *percent < 100);
        if percent.is_none() {
            let why = "it takes a number from 0 to 99";
            gathered.add(WebError::field("canary.at_most_failed_percent", FaultCode::Range, why));
        }
        let wait = gathered.take(read_time("canary.wait", &self.wait, LONGEST_WAIT));
        Canary { first: self.first, wait, at_most_failed_percent: percent.unwrap_or_default() }
    }
}

fn not_a_number(name: &str, text: &str) -> WebError {
    WebError::field(name, FaultCode::Format, format!("{text:?} is no number"))
}

fn read_rate(rate: u64) -> Result<u32, WebError> {
    let why =
        format!("it takes a number of messages a second from 1 to {FASTEST}; what is slower is spread over a time");
    let rate = u32::try_from(rate).ok().filter(|rate| (1..=FASTEST).contains(rate));
    rate.ok_or_else(|| WebError::field("rate", FaultCode::Range, why))
}

fn read_time(name: &str, text: &str, longest: Duration) -> Result<Duration, WebError> {
    let read = humantime::parse_duration(text.trim());
    let why = format!("{text:?} is no length of time; it takes 30s, 10m, 2h");
    let time = read.map_err(|_| WebError::field(name, FaultCode::Format, why))?;
    if time < Duration::from_secs(1) || time > longest {
        // `30d`, as it is typed.
        let longest = exact(longest).replace(' ', "");
        let why = format!("it takes a time from 1s to {longest}");
        return Err(WebError::field(name, FaultCode::Range, why));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of the form that are wrong, and what a person reads.
    fn refused(fields: &[(&str, &str)]) -> (Vec<String>, String) {
        let mut pairs = Pairs::exact(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let error = PacingOrder::take(&mut pairs).and_then(|pacing| pacing.read()).unwrap_err();
        let fields = error.faults.iter().filter_map(|fault| fault.place.pointer()).collect();
        (fields, error.detail)
    }

    #[test]
    fn a_person_reads_the_labels_of_the_page() {
        let check = |fields: &[(&str, &str)], field: &str, text: &str| {
            let (places, detail) = refused(fields);
            assert_eq!((places, detail.as_str()), (vec![format!("/{field}")], text));
        };
        let rate = "it takes a number of messages a second from 1 to 10000; what is slower is spread over a time";
        check(&[("pace", "rate"), ("rate", "0")], "rate", &format!("So many per second: {rate}"));
        check(&[("pace", "rate"), ("rate", "x")], "rate", "So many per second: \"x\" is no number");
        check(&[("pace", "spread"), ("spread", "99d")], "spread", "Spread evenly over: it takes a time from 1s to 30d");
        let canary = |name, value| {
            let usual = [("pace", "canary"), ("first", "25"), ("wait", "1m"), ("percent", "10"), ("then_rate", "")];
            usual.map(|(field, usual)| (field, if field == name { value } else { usual }))
        };
        check(&canary("first", "0"), "first", "Canary, … first: it takes a number from 1 to 100000");
        check(&canary("wait", "3d"), "wait", "Canary, wait: it takes a time from 1s to 1d");
        check(&canary("percent", "100"), "percent", "Canary, at most … % failed again: it takes a number from 0 to 99");
        check(&canary("then_rate", "0"), "then_rate", &format!("Canary, then … per second: {rate}"));
        let (places, _) = refused(&[("pace", "canary"), ("first", "x"), ("percent", "y")]);
        assert_eq!(places, ["/first", "/percent"], "all at once");
    }
}
