//! Calls of the OpenID provider.

use openidconnect::{HttpRequest, HttpResponse};
use thiserror::Error;
use url::{Host, Url};

use crate::notify::{OutOfReach, Reach};

/// Bytes of an answer of the provider.
const LARGEST: usize = 1 << 20;

#[derive(Debug, Error)]
pub(super) enum HttpError {
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    #[error(transparent)]
    OutOfReach(#[from] OutOfReach),
    #[error("the answer has more than {LARGEST} bytes")]
    TooLarge,
    #[error(transparent)]
    Response(#[from] axum::http::Error),
}

/// How the provider is called.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) http: reqwest::Client,
    pub(super) reach: Reach,
    /// The host that the configuration names.
    pub(super) issuer: Option<Host>,
}

impl Caller {
    /// The provider says itself where tokens and keys are.
    pub(super) fn check(&self, address: &Url) -> Result<(), OutOfReach> {
        let is_its_own = address.host().is_some_and(|host| Some(host.to_owned()) == self.issuer);
        if is_its_own { Ok(()) } else { self.reach.check(address) }
    }
}

pub(super) async fn call(caller: Caller, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let request: reqwest::Request = request.try_into()?;
    caller.check(request.url())?;
    let answer = caller.http.execute(request).await?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut response = axum::http::Response::builder().status(status).body(body(answer).await?)?;
    *response.headers_mut() = headers;
    Ok(response)
}

pub(super) async fn body(mut answer: reqwest::Response) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > LARGEST {
            return Err(HttpError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
