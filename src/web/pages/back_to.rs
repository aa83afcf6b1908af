//! Where a form leads back to.

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::web::{error::WebError, input::QueryPairs, query::Pairs};

/// The page one came from; none where the address does not say.
pub struct BackTo(pub Option<String>);

impl<S: Sync> FromRequestParts<S> for BackTo {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, WebError> {
        let QueryPairs(mut pairs) = QueryPairs::from_request_parts(parts, state).await?;
        let back = if pairs.has("back") { Some(take_back(&mut pairs)?) } else { None };
        pairs.finish("back").map(|()| Self(back))
    }
}

/// Where a form leads back to.
pub fn take_back(pairs: &mut Pairs) -> Result<String, WebError> {
    let back = pairs.take("back")?.unwrap_or_else(|| "/letters".to_owned());
    let elsewhere = || WebError::bad_request("back: it takes the address of a list or of a letter");
    leads_back(&back).then_some(back).ok_or_else(elsewhere)
}

/// Whether a form may lead back there: only to a list, a letter or a group, so that none can lead anybody to another site.
pub fn leads_back(address: &str) -> bool {
    let is_list = |list: &str| address.strip_prefix(list).is_some_and(|rest| rest.is_empty() || rest.starts_with('?'));
    is_list("/letters")
        || is_list("/groups")
        || is_list("/scheduled")
        || is_list("/jobs")
        || is_list("/get-started")
        || ["/letters/", "/groups/", "/jobs/"].iter().any(|page| address.starts_with(page))
}
