//! What is wrong with the address and the headers of a call, found before anything of it is done. Where a body is read, it
//! is told together with what is wrong there.

use std::collections::HashMap;

use axum::{
    body::{Body, HttpBody},
    extract::{MatchedPath, Request},
    http::{Method, StatusCode},
    middleware::Next,
    response::Response,
};
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{Operation, ParameterIn},
};

use super::idempotency;
use crate::web::{
    error::{
        WebError,
        codes::FaultCode,
        fault::{Fault, Place},
        head_faults::HeadFaults,
    },
    input::{precondition, read_body},
};

/// What a call takes beside its path.
#[derive(Clone, Copy, Default)]
struct Head {
    query: bool,
    version: bool,
    key: bool,
    body: bool,
}

impl Head {
    fn of(path: &str, method: &Method, operation: &Operation) -> Self {
        let parameters = operation.parameters.iter().flatten().filter_map(|one| match one {
            RefOr::T(parameter) => Some(parameter),
            RefOr::Ref(_) => None,
        });
        let key = *method == Method::POST && idempotency::takes_key(path);
        let head = Self { key, body: operation.request_body.is_some(), ..Self::default() };
        parameters.fold(head, |head, one| match one.parameter_in {
            ParameterIn::Query => Self { query: true, ..head },
            ParameterIn::Header => Self { version: true, ..head },
            _ => head,
        })
    }

    /// All that is wrong, but for a query that the call reads itself.
    fn faults(self, request: &Request) -> Vec<Fault> {
        let headers = request.headers();
        let mut faults = if self.query { Vec::new() } else { unknown(request.uri().query().unwrap_or_default()) };
        if self.version {
            faults.extend(precondition::read(headers).err().into_iter().flat_map(|error| error.faults));
        }
        if self.key {
            faults.extend(idempotency::read_key(headers).err().into_iter().flat_map(|error| error.faults));
        }
        faults
    }
}

/// What is said in a query that nobody reads is refused as elsewhere, and not left out of account.
fn unknown(query: &str) -> Vec<Fault> {
    let fault = |(name, _): (_, _)| {
        Fault::new(Place::Parameter(name), FaultCode::Unknown, "there is no such parameter; there are none")
    };
    url::form_urlencoded::parse(query.as_bytes()).into_owned().map(fault).collect()
}

/// What each call takes, by method and path.
pub struct Heads(HashMap<(Method, String), Head>);

impl Heads {
    pub fn of(description: &OpenApi) -> Self {
        let calls = description.paths.paths.iter().flat_map(|(path, item)| {
            let operations = [
                (Method::GET, &item.get),
                (Method::POST, &item.post),
                (Method::PUT, &item.put),
                (Method::PATCH, &item.patch),
                (Method::DELETE, &item.delete),
            ];
            operations.into_iter().filter_map(move |(method, operation)| {
                let head = Head::of(path, &method, operation.as_ref()?);
                Some(((method, path.clone()), head))
            })
        });
        Self(calls.collect())
    }

    /// Refuses what is wrong; whoever reads the body does where there is one.
    pub async fn check(&self, mut request: Request, next: Next) -> Result<Response, WebError> {
        let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str).unwrap_or_default();
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        let head = self.0.get(&(method.clone(), path.to_owned())).copied().unwrap_or_default();
        let faults = HeadFaults(head.faults(&request));
        if head.body {
            request.extensions_mut().insert(faults);
        } else {
            request = faults.with(without_body(request).await)?;
        }
        Ok(next.run(request).await)
    }
}

/// Refuses a body that nobody reads. What clients send that send one with each call says nothing.
async fn without_body(request: Request) -> Result<Request, WebError> {
    if request.body().is_end_stream() {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    let body = read_body(Request::from_parts(parts.clone(), body), &()).await?;
    match body.trim_ascii() {
        b"" | b"{}" | b"null" => Ok(Request::from_parts(parts, Body::empty())),
        _ => Err(WebError::body(StatusCode::BAD_REQUEST, FaultCode::Unknown, "this call takes no body")),
    }
}
