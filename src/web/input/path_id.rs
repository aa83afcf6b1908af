//! What an address names by its id, and what is said where it is not there.

use std::str::FromStr;

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use utoipa::{
    IntoParams,
    openapi::{
        KnownFormat, ObjectBuilder, Required, SchemaFormat, Type,
        path::{Parameter, ParameterBuilder, ParameterIn},
    },
};
use uuid::Uuid;

use crate::{
    domain::{
        group::{Group, GroupId},
        grouping_rule::GroupingRule,
        job::Job,
        letter::{Letter, LetterId},
        mapping::{Mapping, MappingId},
        marker::Marker,
        policy::{Policy, PolicyId},
        rule::{Rule, RuleId},
        saved_view::SavedView,
        schema::{SchemaId, SchemaRecord},
    },
    store::DigestRecord,
    web::error::WebError,
};

/// What has an id.
pub trait Identified {
    /// As it is written, a UUID.
    type Id: FromStr;
    /// What people call it.
    const NAME: &'static str;
    /// Why it may have been there once.
    const REMARK: &'static str = "";
}

macro_rules! identified {
    ($($thing:ty, $id:ty, $name:literal $(, $remark:literal)?;)+) => {
        $(impl Identified for $thing {
            type Id = $id;
            const NAME: &'static str = $name;
            $(const REMARK: &'static str = $remark;)?
        })+
    };
}

identified! {
    Letter, LetterId, "dead letter";
    Group, GroupId, "group", " One that no letter is in any more is forgotten after a while.";
    Rule, RuleId, "rule";
    GroupingRule, Uuid, "grouping rule";
    SchemaRecord, SchemaId, "schema";
    Job, Uuid, "job";
    Mapping, MappingId, "mapping";
    Marker, Uuid, "marker";
    SavedView, Uuid, "view";
    Policy, PolicyId, "policy";
    DigestRecord, Uuid, "digest", " Digests are kept for 90 days.";
}

/// There is none of that id.
pub fn missing<T: Identified>() -> WebError {
    WebError::not_found(format!("There is no such {}.{}", T::NAME, T::REMARK))
}

/// The id in a path. What is no id names nothing.
pub struct PathId<T: Identified>(pub T::Id);

impl<T: Identified, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, WebError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let id = path.ok().and_then(|path| path.parse().ok());
        let unknown = || WebError::not_found(format!("There is no such {}; an id is a UUID.", T::NAME));
        id.map(Self).ok_or_else(unknown)
    }
}

impl<T: Identified> IntoParams for PathId<T> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let uuid = SchemaFormat::KnownFormat(KnownFormat::Uuid);
        let id = ParameterBuilder::new()
            .name("id")
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(format!("The id of the {}.", T::NAME)))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String).format(Some(uuid))));
        vec![id.build()]
    }
}
