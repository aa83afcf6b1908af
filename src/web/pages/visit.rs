//! Visits to pages of which parts can be asked for.

use std::str::FromStr;

use axum::{extract::FromRequestParts, http::request::Parts};

use super::{shell::Shell, toast::Toast};
use crate::web::{
    error::{WebError, codes::FaultCode},
    input::QueryPairs,
    query::Parameters,
};

/// What an address says, which part of the page it asks for, and what the page before left to say.
pub struct Visit<Q, P> {
    pub query: Q,
    pub part: Option<P>,
    toast: Option<Toast>,
}

impl<Q: Parameters, P: FromStr<Err = String>, S: Sync> FromRequestParts<S> for Visit<Q, P> {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, WebError> {
        let QueryPairs(mut pairs) = QueryPairs::from_request_parts(parts, state).await?;
        let query = Q::take(&mut pairs)?;
        let word = pairs.take("part")?;
        let unknown = |why: String| WebError::parameter("part", FaultCode::Choice, why);
        // Other parts have no place for it; it waits for the next page.
        let takes_toast = word.as_deref().is_none_or(|part| part == "main");
        Ok(Self {
            query,
            part: word.map(|word| word.parse().map_err(unknown)).transpose()?,
            toast: if takes_toast { Toast::from_cookie(&parts.headers) } else { None },
        })
    }
}

/// A visit without a word.
impl<Q: Default, P> Default for Visit<Q, P> {
    fn default() -> Self {
        Self { query: Q::default(), part: None, toast: None }
    }
}

impl<Q, P> Visit<Q, P> {
    /// What surrounds the page, which is at `here`.
    pub fn at(&self, here: String, shell: Shell) -> Shell {
        let toast = self.toast.clone().map(|toast| toast.on(&here));
        let mut views = shell.views;
        views.mark(&here);
        Shell { toast, is_fragment: self.part.is_some(), here, views, ..shell }
    }
}
