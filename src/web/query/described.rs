//! What a value of an address may be, for the description of the API.

use amqp_message::death::Reason;
use utoipa::openapi::{
    KnownFormat, Object, ObjectBuilder, RefOr, Required, Schema, SchemaFormat, Type,
    path::{Parameter, ParameterBuilder, ParameterIn},
    schema::ArrayBuilder,
};
use uuid::Uuid;

use super::When;
use crate::{
    domain::{
        activity::Area,
        column::{Column, LONGEST},
        filter::Sort,
        group::{GroupId, GroupSort},
        group_state::{Assignee, Phase},
        job::JobState,
        letter::{Importance, LetterId, Status},
        marker::MarkerKind,
    },
    web::error::codes::FaultCode,
};

/// What can stand in an address, and be described.
pub trait Described {
    /// What a mistake in it is.
    const MISTAKE: FaultCode = FaultCode::Format;

    fn schema() -> Object;
}

/// One of these words.
pub fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).build()
}

/// Any text but the empty one.
pub fn text() -> Object {
    ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).build()
}

/// Of enums of fixed words.
macro_rules! described {
    ($($words:ty),+ $(,)?) => {
        $(impl $crate::web::query::described::Described for $words {
            const MISTAKE: $crate::web::error::codes::FaultCode = $crate::web::error::codes::FaultCode::Choice;

            fn schema() -> utoipa::openapi::Object {
                $crate::web::query::described::words(Self::ALL.iter().map(|word| word.as_str()))
            }
        })+
    };
}
pub(crate) use described;
described!(Area, GroupSort, Importance, MarkerKind, Phase, Reason, Sort, Status, JobState);

fn uuid() -> Object {
    let format = SchemaFormat::KnownFormat(KnownFormat::Uuid);
    ObjectBuilder::new().schema_type(Type::String).format(Some(format)).build()
}

impl Described for GroupId {
    fn schema() -> Object {
        uuid()
    }
}

impl Described for Assignee {
    fn schema() -> Object {
        ObjectBuilder::from(text()).examples(["user:ada"]).pattern(Some("^(user|team):.+$")).build()
    }
}

impl Described for LetterId {
    fn schema() -> Object {
        uuid()
    }
}

impl Described for Uuid {
    fn schema() -> Object {
        uuid()
    }
}

impl Described for String {
    fn schema() -> Object {
        text()
    }
}

impl Described for Column {
    fn schema() -> Object {
        let examples = ["payload.customer.name", "header.x-tenant"];
        let pattern = r"^\s*(payload|header)\..+$";
        ObjectBuilder::from(text()).examples(examples).max_length(Some(LONGEST)).pattern(Some(pattern)).build()
    }
}

impl Described for bool {
    const MISTAKE: FaultCode = FaultCode::Choice;

    fn schema() -> Object {
        ObjectBuilder::new().schema_type(Type::Boolean).build()
    }
}

impl Described for i64 {
    fn schema() -> Object {
        let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
        ObjectBuilder::new().schema_type(Type::Integer).format(Some(format)).build()
    }
}

impl Described for When {
    fn schema() -> Object {
        let examples = ["2026-11-21T10:00:00Z", "24h"];
        ObjectBuilder::from(text()).examples(examples).pattern(Some(When::PATTERN)).build()
    }
}

/// Any number of them, each by a word of its own.
pub fn several(one: Object) -> Schema {
    ArrayBuilder::new().items(one).build().into()
}

/// A parameter, and what is said of it.
pub fn parameter(name: &str, about: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    let about = about.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(about.trim()))
        .schema(Some(schema))
        .build()
}
