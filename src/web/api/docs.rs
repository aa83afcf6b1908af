//! `/api/docs`: the calls as a page, from the same description as `openapi.json`.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    response::{Html, IntoResponse, Response},
};
use utoipa::openapi::{
    OpenApi, PathItem, Ref, RefOr, Schema,
    path::{Operation, Parameter},
    request_body::RequestBody,
    schema::Object,
};

use crate::web::{
    AppState,
    codes::{FaultCode, ProblemCode},
    error::WebError,
    pages::shell::{Page, Shell},
};

#[derive(Template)]
#[template(path = "api/docs.html")]
struct DocsPage {
    shell: Shell,
    calls: Vec<Call>,
    base: String,
    /// The kinds of errors. `type` of an answer leads to one of these.
    problems: &'static [ProblemCode],
    /// The kinds of single mistakes.
    faults: &'static [FaultCode],
}

struct Call {
    method: &'static str,
    path: String,
    summary: String,
    /// Its parameters, and the fields of the JSON it takes; each with what they are.
    takes: [(&'static str, Vec<Field>); 2],
    answers: Vec<String>,
}

struct Field {
    name: String,
    description: String,
}

pub async fn show(State(app): State<Arc<AppState>>, description: &OpenApi) -> Result<Response, WebError> {
    let calls = description.paths.paths.iter().flat_map(|(path, item)| calls(description, path, item)).collect();
    let shell = Shell { here: "/letters".to_owned(), ..Shell::load(&app, Page::Api).await? };
    let base = app.settings.public_url.as_str().trim_end_matches('/').to_owned();
    let (problems, faults) = (ProblemCode::ALL, FaultCode::ALL);
    Ok(Html(DocsPage { shell, calls, base, problems, faults }.render()?).into_response())
}

fn calls(description: &OpenApi, path: &str, item: &PathItem) -> Vec<Call> {
    let operations = [
        ("GET", &item.get),
        ("POST", &item.post),
        ("PUT", &item.put),
        ("PATCH", &item.patch),
        ("DELETE", &item.delete),
    ];
    let call = |(method, operation): (_, &Option<Operation>)| {
        operation.as_ref().map(|operation| call(description, method, path, operation))
    };
    operations.into_iter().filter_map(call).collect()
}

fn call(description: &OpenApi, method: &'static str, path: &str, operation: &Operation) -> Call {
    Call {
        method,
        path: path.to_owned(),
        summary: operation.summary.clone().unwrap_or_default(),
        takes: [
            ("Parameter", operation.parameters.iter().flatten().filter_map(parameter).collect()),
            ("Field of the body", body_schema(description, operation).map(fields).unwrap_or_default()),
        ],
        answers: operation.responses.responses.keys().cloned().collect(),
    }
}

/// All of ours stand where they belong, none is a reference.
fn parameter(parameter: &RefOr<Parameter>) -> Option<Field> {
    let RefOr::T(parameter) = parameter else { return None };
    Some(field(&parameter.name, parameter.description.as_deref()))
}

/// The schema of the body, which is kept under its name apart from the calls.
fn body_schema<'a>(description: &'a OpenApi, operation: &Operation) -> Option<&'a Object> {
    let RefOr::T(RequestBody { content, .. }) = operation.request_body.as_ref()? else { return None };
    let RefOr::T(content) = content.values().next()? else { return None };
    let RefOr::Ref(Ref { ref_location, .. }) = content.schema.as_ref()? else { return None };
    let (_, name) = ref_location.rsplit_once('/')?;
    match description.components.as_ref()?.schemas.get(name)? {
        RefOr::T(Schema::Object(object)) => Some(object),
        _ => None,
    }
}

fn fields(object: &Object) -> Vec<Field> {
    let field = |(name, schema): (&String, &RefOr<Schema>)| match schema {
        RefOr::T(Schema::Object(object)) => field(name, object.description.as_deref()),
        // One that has a schema of its own and may be left out is described beside the reference to that.
        RefOr::T(Schema::OneOf(one_of)) => field(name, one_of.items.iter().find_map(described)),
        _ => field(name, None),
    };
    object.properties.iter().map(field).collect()
}

fn described(schema: &RefOr<Schema>) -> Option<&str> {
    match schema {
        RefOr::Ref(reference) => Some(&*reference.description),
        RefOr::T(_) => None,
    }
}

/// Descriptions are written for generators of documents, with backticks around words.
fn field(name: &str, description: Option<&str>) -> Field {
    Field { name: name.to_owned(), description: description.unwrap_or_default().replace('`', "") }
}
