//! The fixed words of the API, for its description: answers write them as text.

use std::borrow::Cow;

use payload_codec::unwrap::Kind;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, SchemaFormat, Type},
};

use crate::domain;

macro_rules! words {
    ($($(#[doc = $about:literal])+ $name:ident = $all:expr;)+) => {
        $(
            $(#[doc = $about])+
            pub struct $name;

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    let about = concat!($($about),+).trim();
                    let words = ObjectBuilder::new().schema_type(Type::String).enum_values(Some($all));
                    words.description(Some(about)).build().into()
                }
            }

            impl ToSchema for $name {
                fn name() -> Cow<'static, str> {
                    stringify!($name).into()
                }
            }
        )+
    };
}

macro_rules! all {
    ($word:ty) => {
        <$word>::ALL.iter().map(|word| word.as_str())
    };
}

/// Like `10s`, `5m` or `2h`.
pub struct LengthOfTime;

impl PartialSchema for LengthOfTime {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::Custom("length-of-time".to_owned());
        let text = ObjectBuilder::new().schema_type(Type::String).format(Some(format));
        text.description(Some("Like `10s`, `5m` or `2h`.")).build().into()
    }
}

impl ToSchema for LengthOfTime {}

words! {
    /// How far people are with a group; `snoozed` and `resolved` ones are open again by themselves.
    GroupState = all!(domain::group_state::Phase);
    /// What can be done with several groups by one call.
    GroupCommand = all!(crate::web::orders::groups::GroupAction);
    /// How important a letter is, the most important first.
    Importance = all!(domain::letter::Importance);
    /// `open`: it needs attention; `scheduled`: a retry is due at `retry_at`.
    Status = all!(domain::letter::Status);
    /// Why a message was dead-lettered.
    Reason = all!(amqp_message::death::Reason);
    /// Where the type of a message is known from.
    TypeSource = all!(domain::letter::TypeSource);
    /// An encoding around a payload.
    Encoding = Kind::ALL.map(Kind::as_str);
    /// What happened to a letter.
    Event = all!(domain::history::Event);
    /// What was changed.
    Area = all!(domain::activity::Area);
    /// By what somebody asked.
    Asking = all!(domain::actor::Via);
    /// How far a job has come; `failed`: it ended, and some of it could not be done; `stopped`: too many of the first letters
    /// of a retry failed again, and the rest was left as it was.
    JobState = all!(domain::job::JobState);
    /// `all`: at once; `canary`: a few first; `wait`: not now; `discard`: none of them can be retried.
    Suggestion = ["all", "canary", "wait", "discard"];
    /// How far a retry that is held back has come.
    JobStage = all!(domain::pacing::Stage);
    /// What happened.
    MarkerKind = all!(domain::marker::MarkerKind);
    /// Where a message waits for its automatic retry.
    Via = all!(domain::policy::Via);
    /// Where a schema comes from.
    SchemaSource = all!(domain::schema::SchemaSource);
    /// What groups of a digest have in common.
    SectionKind = all!(domain::digest::report::SectionKind);
    /// The status of a digest; `quiet`: there was nothing to report.
    DigestState = ["quiet", "waiting", "delivered", "refused"];
    /// What holds for a field; `is`, `at_least` and `at_most` compare with a value.
    CommonCondition = ["missing", "empty", "present", "is", "at_least", "at_most"];
    /// What of a field is compared: its number, how many items it has, or how many characters.
    CommonMeasure = ["value", "items", "length"];
    /// What can be done with many letters by one call.
    BulkCommand = crate::web::orders::letters::Action::OF_MANY.iter().map(|action| action.as_str());
}
