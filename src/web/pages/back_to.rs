//! Where a form leads back to, as its address says.

use axum::{extract::FromRequestParts, http::request::Parts};

use super::actions::take_back;
use crate::web::{error::WebError, input::QueryPairs};

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
