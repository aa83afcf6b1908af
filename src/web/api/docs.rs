//! `/api/docs`: the calls as a page, from the same description as `openapi.json`.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    response::{Html, IntoResponse, Response},
};
use utoipa::openapi::{
    OpenApi, PathItem, RefOr,
    path::{Operation, Parameter},
};

use crate::web::{
    Office,
    error::WebError,
    pages::shell::{Page, Shell},
};

#[derive(Template)]
#[template(path = "api/docs.html")]
struct DocsPage {
    shell: Shell,
    calls: Vec<Call>,
    base: String,
}

struct Call {
    method: &'static str,
    path: String,
    summary: String,
    parameters: Vec<(String, String)>,
    takes_body: bool,
    answers: Vec<String>,
}

pub async fn show(State(office): State<Arc<Office>>, description: &OpenApi) -> Result<Response, WebError> {
    let calls = description.paths.paths.iter().flat_map(|(path, item)| calls(path, item)).collect();
    let shell = Shell { here: "/letters".to_owned(), ..Shell::load(&office, Page::Api).await? };
    let base = office.settings.public_url.as_str().trim_end_matches('/').to_owned();
    Ok(Html(DocsPage { shell, calls, base }.render()?).into_response())
}

fn calls(path: &str, item: &PathItem) -> Vec<Call> {
    let operations = [("GET", &item.get), ("POST", &item.post), ("PATCH", &item.patch)];
    operations.into_iter().filter_map(|(method, operation)| Some(call(method, path, operation.as_ref()?))).collect()
}

fn call(method: &'static str, path: &str, operation: &Operation) -> Call {
    Call {
        method,
        path: path.to_owned(),
        summary: operation.summary.clone().unwrap_or_default(),
        parameters: operation.parameters.iter().flatten().filter_map(parameter).collect(),
        takes_body: operation.request_body.is_some(),
        answers: operation.responses.responses.keys().cloned().collect(),
    }
}

/// All of ours stand where they belong, none is a reference.
fn parameter(parameter: &RefOr<Parameter>) -> Option<(String, String)> {
    let RefOr::T(parameter) = parameter else { return None };
    Some((parameter.name.clone(), parameter.description.clone().unwrap_or_default()))
}
