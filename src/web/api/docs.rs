//! `/api/docs`: the calls as a page, from the same description as `openapi.json`, to read and to try.

use askama::Template;
use axum::{
    http::Method,
    response::{Html, IntoResponse, Response},
};
use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

use super::doc_schema::{FieldDoc, Schemas, plain};
use crate::{
    rabbitmq::topology::shell,
    web::{
        error::{
            WebError,
            codes::{FaultCode, ProblemCode},
        },
        pages::shell::{Page, Shell},
        security::missing_right,
        state::AppState,
        visitor::Visitor,
    },
};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

#[derive(Template)]
#[template(path = "api/docs.html")]
struct DocsPage {
    shell: Shell,
    sections: Vec<Section>,
    /// A call to begin with.
    first: String,
    /// Programs have to say who they are.
    asks: bool,
    /// The kinds of errors. `type` of an answer leads to one of these.
    problems: &'static [ProblemCode],
    /// The kinds of single mistakes.
    faults: &'static [FaultCode],
}

/// Calls about the same.
struct Section {
    name: String,
    about: String,
    calls: Vec<Call>,
}

struct Call {
    id: String,
    method: String,
    path: String,
    summary: String,
    /// In paragraphs.
    about: Vec<String>,
    /// Why whoever looks may not do it; empty where they may.
    refusal: String,
    parameters: Vec<ParameterDoc>,
    fields: Vec<FieldDoc>,
    /// An example of its body; empty where it takes no JSON.
    body: String,
    curl: String,
    answers: Vec<(String, String)>,
    /// An example of what it answers; empty where that is no JSON.
    answer: String,
}

struct ParameterDoc {
    field: FieldDoc,
    /// `path`, `query` or `header`
    place: String,
    /// What it is filled with at first: without it there is no such address.
    value: String,
    /// What there is to choose from; nothing where anything can be typed.
    choices: Vec<String>,
    takes_several: bool,
}

impl Call {
    /// What takes a file is tried elsewhere.
    fn can_be_tried(&self) -> bool {
        self.id != "upload_schema"
    }
}

pub async fn show(app: &AppState, description: &OpenApi) -> Result<Response, WebError> {
    let document = serde_json::to_value(description).unwrap_or_default();
    let base = app.settings.public_url.as_str().trim_end_matches('/').to_owned();
    let reader = Reader { document: &document, schemas: Schemas::of(&document), base: &base };
    let sections = reader.sections();
    let shell = Shell { here: "/letters".to_owned(), ..Shell::load(app, Page::Api).await? };
    let asks = document["security"].as_array().is_some_and(|schemes| !schemes.is_empty());
    let first = shell::line(&["curl", &format!("{base}/api/v1/letters?status=open&importance=critical")]);
    let (problems, faults) = (ProblemCode::ALL, FaultCode::ALL);
    Ok(Html(DocsPage { shell, sections, first, asks, problems, faults }.render()?).into_response())
}

/// Reads the description.
struct Reader<'d> {
    document: &'d Value,
    schemas: Schemas<'d>,
    base: &'d str,
}

impl<'d> Reader<'d> {
    fn sections(&self) -> Vec<Section> {
        let tags = self.document["tags"].as_array().into_iter().flatten();
        tags.map(|tag| Section {
            name: word(&tag["name"]),
            about: word(&tag["description"]),
            calls: self
                .operations()
                .filter(|(.., call)| call["tags"][0] == tag["name"])
                .map(|it| self.call(it))
                .collect(),
        })
        .collect()
    }

    fn operations(&self) -> impl Iterator<Item = (&'static str, &'d String, &'d Value)> {
        let paths = self.document["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, item)| {
            METHODS.into_iter().filter_map(move |method| Some((method, path, item.get(method)?)))
        })
    }

    fn call(&self, (method, path, call): (&str, &String, &'d Value)) -> Call {
        let method = method.to_uppercase();
        let schema = &call["requestBody"]["content"]["application/json"]["schema"];
        let is_json = !schema.is_null();
        let body = if is_json { pretty(&self.body(call, schema)) } else { String::new() };
        let parameters: Vec<_> =
            call["parameters"].as_array().into_iter().flatten().map(|parameter| self.parameter(parameter)).collect();
        let about = word(&call["description"]);
        Call {
            id: word(&call["operationId"]),
            summary: plain(&word(&call["summary"])),
            about: about.split("\n\n").filter(|part| !part.is_empty()).map(plain).collect(),
            refusal: refusal(&method, path),
            fields: if is_json { self.schemas.fields(schema) } else { Vec::new() },
            curl: self.curl(&method, path, &parameters, &body),
            answers: self.answers(call),
            answer: self.answer(call),
            parameters,
            path: path.clone(),
            method,
            body,
        }
    }

    fn parameter(&self, parameter: &'d Value) -> ParameterDoc {
        let (place, is_required) = (word(&parameter["in"]), parameter["required"] == true);
        let example = if is_required { self.schemas.example(&parameter["schema"], false) } else { Value::Null };
        let schema = &parameter["schema"];
        let field = FieldDoc {
            name: word(&parameter["name"]),
            kind: self.schemas.kind(schema),
            is_required,
            about: plain(parameter["description"].as_str().unwrap_or_default()),
        };
        let (choices, takes_several) = (self.schemas.choices(schema), self.schemas.takes_several(schema));
        ParameterDoc { field, place, value: word(&example), choices, takes_several }
    }

    /// An example that is taken as it is, where somebody puts in what there is.
    fn body(&self, call: &'d Value, schema: &'d Value) -> Value {
        match call["operationId"].as_str() {
            Some("start_action") => json!({ "action": "retry", "filter": { "queue": ["orders"] }, "rate": 20 }),
            Some("preview_action") => json!({ "action": "retry", "filter": { "queue": ["orders"] } }),
            _ => self.schemas.example(schema, false),
        }
    }

    fn curl(&self, method: &str, path: &str, parameters: &[ParameterDoc], body: &str) -> String {
        let in_path = parameters.iter().filter(|parameter| parameter.place == "path");
        let path = in_path.fold(path.to_owned(), |path, parameter| {
            path.replace(&format!("{{{}}}", parameter.field.name), &parameter.value)
        });
        let mut words = vec!["curl".to_owned()];
        if method != "GET" {
            words.extend(["-X".to_owned(), method.to_owned()]);
        }
        words.push(format!("{}{path}", self.base));
        if !body.is_empty() {
            words.extend(["-H", "content-type: application/json", "--data", body].map(str::to_owned));
        }
        shell::line(&words)
    }

    /// What each status means.
    fn answers(&self, call: &'d Value) -> Vec<(String, String)> {
        let about = |answer: &'d Value| {
            let named = answer["$ref"].as_str().and_then(|path| self.document.pointer(path.strip_prefix('#')?));
            plain(&word(&named.unwrap_or(answer)["description"]))
        };
        let answers = call["responses"].as_object().into_iter().flatten();
        answers.map(|(status, answer)| (status.clone(), about(answer))).collect()
    }

    fn answer(&self, call: &'d Value) -> String {
        let mut answers = call["responses"].as_object().into_iter().flatten();
        let good = answers.find(|(status, _)| status.starts_with('2')).map(|(_, answer)| answer);
        let schema = good.map(|answer| &answer["content"]["application/json"]["schema"]);
        schema
            .filter(|schema| !schema.is_null())
            .map_or_else(String::new, |schema| pretty(&self.schemas.example(schema, true)))
    }
}

/// Why whoever looks at the page may not make the call.
fn refusal(method: &str, path: &str) -> String {
    let (Some(visitor), Ok(method)) = (Visitor::current(), Method::try_from(method)) else { return String::new() };
    let missing = missing_right(&method, path, |right| visitor.may(right));
    missing.map_or_else(String::new, |right| visitor.refusal(right))
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
