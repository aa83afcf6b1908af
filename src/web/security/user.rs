//! Who asks.

use std::{convert::Infallible, ops::Deref};

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::domain::actor::Actor;

/// Who asks; every handler that changes something takes it. The one place that knows how people sign in: as long as
/// nobody does, whoever reaches this server is its local user.
pub struct CurrentUser(Actor);

impl<S: Sync> FromRequestParts<S> for CurrentUser {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(Actor::local()))
    }
}

impl Deref for CurrentUser {
    type Target = Actor;

    fn deref(&self) -> &Actor {
        &self.0
    }
}
