//! Calls that take nothing in their query: what is said there is refused as elsewhere, and not left out of account.

use std::{collections::HashSet, sync::Arc};

use axum::{
    extract::{MatchedPath, Request},
    http::{Method, StatusCode},
    middleware::Next,
    response::Response,
};
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{Operation, Parameter, ParameterIn},
};

use crate::web::{
    codes::FaultCode,
    error::WebError,
    fault::{Fault, Place},
};

/// The calls that read a query, by method and path.
#[derive(Clone)]
pub struct TakeQuery(Arc<HashSet<(Method, String)>>);

impl TakeQuery {
    pub fn of(description: &OpenApi) -> Self {
        let reads = |operation: &Option<Operation>| {
            let parameters = operation.iter().flat_map(|operation| operation.parameters.iter().flatten());
            parameters
                .into_iter()
                .any(|one| matches!(one, RefOr::T(Parameter { parameter_in: ParameterIn::Query, .. })))
        };
        let calls = description.paths.paths.iter().flat_map(|(path, item)| {
            let reading = [(Method::GET, reads(&item.get)), (Method::POST, reads(&item.post))];
            reading.into_iter().filter(|(_, reads)| *reads).map(|(method, _)| (method, path.clone()))
        });
        Self(Arc::new(calls.collect()))
    }

    /// Refuses a query where none is read.
    pub async fn check(self, request: Request, next: Next) -> Result<Response, WebError> {
        let query = request.uri().query().unwrap_or_default();
        let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str).unwrap_or_default();
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        if query.is_empty() || self.0.contains(&(method.clone(), path.to_owned())) {
            return Ok(next.run(request).await);
        }
        let fault = |(name, _): (_, _)| {
            Fault::new(Place::Parameter(name), FaultCode::Unknown, "there is no such parameter; there are none")
        };
        let given = url::form_urlencoded::parse(query.as_bytes()).into_owned();
        Err(WebError::of_faults(StatusCode::BAD_REQUEST, given.map(fault).collect()))
    }
}
