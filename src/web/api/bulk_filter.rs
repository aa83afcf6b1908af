//! Which letters an action is about: the words of the list, as JSON.

use std::{borrow::Cow, collections::BTreeMap};

use amqp_message::time::Timestamp;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, OneOfBuilder, RefOr, Schema, Type,
        path::Parameter,
        schema::{AdditionalProperties, ArrayBuilder, ArrayItems},
    },
};

use crate::{
    domain::{command::Command, filter::LetterFilter},
    web::{
        error::{
            Gathered, WebError,
            codes::FaultCode,
            fault::{Fault, Place},
        },
        query::{LetterQuery, Pairs, Parameters, SearchText},
        shared::search,
    },
};

/// The words of `GET letters` but for `sort`, `column`, `limit` and `cursor`.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct BulkFilter(BTreeMap<String, Value>);

/// What a list may say besides, which is nothing that letters are filtered by.
const NO_FILTER: [&str; 4] = ["sort", "column", "limit", "cursor"];

/// What a filter may say.
fn words() -> impl Iterator<Item = &'static str> {
    LetterQuery::names().into_iter().filter(|name| !NO_FILTER.contains(name))
}

impl ToSchema for BulkFilter {
    fn name() -> Cow<'static, str> {
        "BulkFilter".into()
    }
}

impl PartialSchema for BulkFilter {
    fn schema() -> RefOr<Schema> {
        const ABOUT: &str = "The words of `GET letters`. Where several values are possible, it takes one or a list of \
            them. At least one condition has to be there; without `status` those are meant that take the action.";
        let object = ObjectBuilder::new().schema_type(Type::Object).description(Some(ABOUT));
        let object = object.additional_properties(Some(AdditionalProperties::FreeForm(false)));
        let parameters = LetterQuery::into_params(|| None).into_iter();
        let words = parameters.filter(|parameter| !NO_FILTER.contains(&&*parameter.name));
        words.fold(object, |object, parameter| object.property(parameter.name.clone(), property(parameter))).into()
    }
}

/// Where a list is possible, one value is, too.
fn property(parameter: Parameter) -> RefOr<Schema> {
    let about = parameter.description;
    match parameter.schema {
        Some(RefOr::T(Schema::Array(array))) => {
            let ArrayItems::RefOrSchema(one) = array.items.clone() else { return Schema::Array(array).into() };
            let array = ArrayBuilder::from(array).min_items(Some(1));
            OneOfBuilder::new().item(*one).item(array).description(about).into()
        }
        Some(RefOr::T(Schema::Object(object))) => ObjectBuilder::from(object).description(about).into(),
        other => other.unwrap_or_default(),
    }
}

impl BulkFilter {
    /// The letters that it lets through at this moment. Where it says nothing of the status, those that take the command, as
    /// far as that is known.
    pub fn read(&self, command: Option<&Command>, now: Timestamp) -> Result<LetterFilter, WebError> {
        // Alone it would let everything through.
        let (others, said): (Vec<_>, Vec<_>) = self.0.iter().partition(|(name, _)| NO_FILTER.contains(&name.as_str()));
        let mut pairs = Pairs::exact(said.into_iter().flat_map(words_of));
        let searched = match LetterQuery::of_search(&pairs).search.as_ref().map(SearchText::parsed) {
            Some(Err(mistakes)) => search::refused(&Place::field("filter.q"), mistakes),
            _ => Ok(()),
        };
        if self.0.is_empty() {
            let everything = "it takes at least one condition; {\"status\": \"open\"} stands for all that is open";
            return Err(WebError::field("filter", FaultCode::Length, everything));
        }
        let mut gathered = Gathered::default();
        let query = gathered.take(LetterQuery::take(&mut pairs));
        let known = words().collect::<Vec<_>>().join(", ");
        gathered.take(pairs.finish(&known));
        gathered.take(Pairs::exact(others.into_iter().flat_map(words_of)).finish(&known));
        WebError::both(gathered.end().map_err(within_filter), searched)?;
        let mut filter = query.filter(now);
        if query.leaves_status_open() && filter.statuses.is_empty() {
            filter.statuses = command.map(|command| command.allowed_in().to_vec()).unwrap_or_default();
        }
        Ok(filter)
    }
}

/// The words of an address that say the same. Nothing stands for an empty list, as it does for an empty text.
fn words_of((name, value): (&String, &Value)) -> Vec<(String, String)> {
    let word = |value: &Value| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    match value {
        Value::Array(values) if values.is_empty() => vec![(name.clone(), String::new())],
        Value::Array(values) => values.iter().map(word).collect(),
        value => vec![word(value)],
    }
}

/// What is wrong with words of an address is wrong with fields here.
fn within_filter(error: WebError) -> WebError {
    let within = |fault: Fault| match fault.place {
        Place::Parameter(name) => Fault { place: Place::Body(vec!["filter".to_owned(), name]), ..fault },
        Place::Body(_) | Place::Header(_) => fault,
    };
    WebError::of_faults(StatusCode::UNPROCESSABLE_ENTITY, error.faults.into_iter().map(within).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        filter::Names,
        letter::{Importance, Status},
    };

    const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

    fn read(json: &str) -> Result<LetterFilter, String> {
        let filter: BulkFilter = serde_json::from_str(json).expect(json);
        filter.read(Some(&Command::Reopen), NOW).map_err(|error| error.detail)
    }

    /// A script whose variable is unset, or holds a space, must not act on everything.
    #[test]
    fn what_says_nothing_is_refused() {
        for json in ["{}", r#"{"q": ""}"#, r#"{"q": " "}"#, "{\"q\": \"\u{3000}\\n\"}", r#"{"queue": "a", "q": "\t"}"#]
        {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn what_no_letter_is_filtered_by_is_refused() {
        for (name, value) in
            [("column", r#""payload.a""#), ("sort", r#""oldest""#), ("limit", "5"), ("cursor", r#""x""#)]
        {
            let error = read(&format!(r#"{{"{name}": {value}}}"#)).expect_err(name);
            assert!(error.contains(&format!("filter.{name}: there is no such parameter; there are q, ")), "{error}");
        }
    }

    #[test]
    fn it_takes_the_words_of_the_list() {
        let filter = read(
            r#"{"queue": ["a", "b,c"], "queue_glob": "x*", "importance": ["high", "low"], "status": "open", "since": "1h"}"#,
        );
        let expected = LetterFilter {
            queues: Names { exact: ["a", "b,c"].map(str::to_owned).into(), ..Names::globs(["x*"]) },
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
        let known = read(r#"{"queue_unknown": false}"#).map(|filter| filter.queues);
        assert_eq!(known, Ok(Names::globs(["?*"])), "not everything");
        let retried = read(r#"{"q": "boom status:retried"}"#).map(|filter| filter.statuses);
        assert_eq!(retried, Ok(vec![Status::Retried]), "a search may say it, too");
        assert_eq!(read(r#"{"status": "all"}"#).map(|filter| filter.statuses), Ok(Vec::new()));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        let check = |json, part: &str| {
            let error = read(json).expect_err(json);
            assert!(error.contains(part), "{json}: {error}");
        };
        check("{}", "at least one condition");
        check(r#"{"queue": ""}"#, "filter.queue: it is empty");
        check(r#"{"status": "open", "queue": ["a", ""]}"#, "filter.queue: it is empty");
        check(r#"{"status": "open", "queue": []}"#, "filter.queue: it is empty");
        check(r#"{"limti": "5"}"#, "filter.limti: there is no such parameter; there are q, status");
        check(r#"{"status": "opne"}"#, "filter.status");
        check(r#"{"group": "x"}"#, "filter.group");
        check(r#"{"q": "a status:opne"}"#, "filter.q: column 10: \"opne\" is not possible");
        check(r#"{"since": ["1h", "2h"]}"#, "filter.since");
    }
}
