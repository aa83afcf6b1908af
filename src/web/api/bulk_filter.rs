//! Which letters an action is about: the words of the list, as JSON.

use std::collections::BTreeMap;

use amqp_message::time::Timestamp;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    domain::{command::Command, filter::LetterFilter},
    web::{
        error::WebError,
        query::{LetterQuery, Pairs, Parameters},
    },
};

/// The words of `GET letters` but for `sort`, `limit` and `cursor`: `{"group": "…", "status": "open"}`. Each takes a text,
/// with several values by comma, or a list of texts. At least one has to be there.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub struct BulkFilter(BTreeMap<String, Values>);

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Several(Vec<String>),
}

/// What a list may say besides, which is nothing that letters are filtered by.
const NO_FILTER: [&str; 3] = ["sort", "limit", "cursor"];

/// What a filter may say.
fn words() -> impl Iterator<Item = &'static str> {
    LetterQuery::names().into_iter().filter(|name| !NO_FILTER.contains(name))
}

impl BulkFilter {
    /// The letters that it lets through at this moment. Where it says nothing of the status, those that take the command.
    pub fn read(&self, command: &Command, now: Timestamp) -> Result<LetterFilter, WebError> {
        let mut text = url::form_urlencoded::Serializer::new(String::new());
        for (name, values) in &self.0 {
            if !words().any(|word| word == name) {
                let known = words().collect::<Vec<_>>().join(", ");
                return Err(WebError::unprocessable(format!("filter.{name}: there is no such word; it takes {known}")));
            }
            let values = match values {
                Values::One(value) => std::slice::from_ref(value),
                Values::Several(values) => values,
            };
            values.iter().for_each(|value| _ = text.append_pair(name, value));
        }
        let mut pairs = Pairs::parse(text.finish().as_bytes());
        if pairs.iter().next().is_none() {
            let everything =
                "filter: it takes at least one condition; {\"status\": \"open\"} stands for all that is open";
            return Err(WebError::unprocessable(everything));
        }
        let query = LetterQuery::take(&mut pairs)
            .map_err(|error| WebError::unprocessable(format!("filter.{}", error.detail)))?;
        let mut filter = query.filter(now);
        if query.statuses.is_none() {
            filter.statuses = command.allowed_in().to_vec();
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::letter::{Importance, Status};

    const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

    fn read(json: &str) -> Result<LetterFilter, String> {
        let filter: BulkFilter = serde_json::from_str(json).expect(json);
        filter.read(&Command::Reopen, NOW).map_err(|error| error.detail)
    }

    #[test]
    fn it_takes_the_words_of_the_list() {
        let filter = read(r#"{"queue": ["a", "b,c"], "importance": "high,low", "status": "open", "since": "1h"}"#);
        let expected = LetterFilter {
            queues: ["a", "b", "c"].map(str::to_owned).into(),
            importances: vec![Importance::High, Importance::Low],
            statuses: vec![Status::Open],
            since: Some(NOW.minus(std::time::Duration::from_secs(3_600))),
            ..LetterFilter::default()
        };
        assert_eq!(filter, Ok(expected));
    }

    #[test]
    fn without_a_status_it_means_what_takes_the_command() {
        assert_eq!(read(r#"{"queue": "a"}"#).map(|filter| filter.statuses), Ok(Command::Reopen.allowed_in().to_vec()));
        assert_eq!(read(r#"{"status": "all"}"#).map(|filter| filter.statuses), Ok(Vec::new()));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        let check = |json, part: &str| {
            let error = read(json).expect_err(json);
            assert!(error.contains(part), "{json}: {error}");
        };
        check("{}", "at least one condition");
        check(r#"{"queue": ""}"#, "at least one condition");
        check(r#"{"limit": "5"}"#, "filter.limit: there is no such word; it takes status");
        check(r#"{"status": "opne"}"#, "filter.status");
        check(r#"{"group": "x"}"#, "filter.group");
        check(r#"{"since": ["1h", "2h"]}"#, "filter.since");
    }
}
