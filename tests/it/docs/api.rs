//! The page of the API, made from its OpenAPI document.

use serde_json::{Map, Value};

use super::{check_part, code, table};
use crate::web::{desk::Desk, sign_in::by_password};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

#[tokio::test]
async fn the_page_of_the_api() {
    // Where people sign in there is more to say of each call.
    let desk = Desk::where_people_sign_in(by_password()).await;
    let document = desk.get("/api/openapi.json").await.expect(200).json();
    let calls: Vec<String> = members(&document["paths"]).flat_map(|(path, item)| calls(path, item)).collect();
    check_part("api.md", "calls", &calls.join("\n"));
    let schemas = &document["components"]["schemas"];
    let objects: Vec<String> = members(schemas).map(|(name, its)| object(schemas, name, its)).collect();
    check_part("api.md", "objects", &objects.join("\n"));
}

fn calls(path: &str, item: &Value) -> Vec<String> {
    let call = |method: &&str| Some(call(&method.to_uppercase(), path, item.get(method)?));
    METHODS.iter().filter_map(call).collect()
}

fn call(method: &str, path: &str, call: &Value) -> String {
    let about = ["summary", "description"].map(|key| sentence(&call[key]));
    let parameters: Vec<[String; 2]> = elements(&call["parameters"])
        .map(|parameter| [code(text(&parameter["name"])), one_line(&parameter["description"])])
        .collect();
    let parameters =
        if parameters.is_empty() { String::new() } else { table(["parameter", "meaning"], parameters) + "\n" };
    let takes: Vec<String> = members(&call["requestBody"]["content"])
        .map(|(kind, body)| format!("{} as `{kind}`", kind_of(&body["schema"])))
        .collect();
    let takes = if takes.is_empty() { String::new() } else { format!("Takes {}.\n\n", takes.join(" or ")) };
    let answers: Vec<String> = members(&call["responses"]).map(|(status, answer)| answered(status, answer)).collect();
    format!(
        "### `{method} {path}`\n\n{}\n\n{parameters}{takes}Answers {}.\n",
        about.join(" ").trim(),
        answers.join(", ")
    )
}

fn answered(status: &str, answer: &Value) -> String {
    let bodies: Vec<String> = members(&answer["content"]).map(|(_, body)| kind_of(&body["schema"])).collect();
    let with = if bodies.is_empty() { String::new() } else { format!(" with {}", bodies.join(" or ")) };
    format!("{status}{with}")
}

#[tokio::test]
async fn an_object_lists_the_fields_that_it_takes_over() {
    let document = Desk::open().await.get("/api/openapi.json").await.expect(200).json();
    let schemas = &document["components"]["schemas"];
    for (name, own, taken_over) in [("FullGroup", "hours", "importance"), ("FullLetter", "history", "status")] {
        let found: Vec<&str> = fields(schemas, &schemas[name]).into_iter().map(|(name, _)| &**name).collect();
        assert!(found.contains(&own) && found.contains(&taken_over), "{name}: {found:?}");
    }
}

fn object(schemas: &Value, name: &str, schema: &Value) -> String {
    let rows =
        fields(schemas, schema).into_iter().map(|(name, its)| [code(name), kind_of(its), one_line(description(its))]);
    let table = table(["field", "type", "meaning"], rows);
    let about = sentence(&schema["description"]);
    let table = if table.lines().count() > 2 { format!("\n{table}") } else { String::new() };
    format!("### `{name}`\n\n{about}\n{table}")
}

/// The fields of an object, those that it takes over from others first.
fn fields<'a>(schemas: &'a Value, schema: &'a Value) -> Vec<(&'a String, &'a Value)> {
    if let Some(name) = referred(schema) {
        return fields(schemas, &schemas[name]);
    }
    let own = members(&schema["properties"]);
    elements(&schema["allOf"]).flat_map(|part| fields(schemas, part)).chain(own).collect()
}

/// The name of the schema that stands here by reference.
fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit_once('/').map(|(_, name)| name)
}

/// One that has a schema of its own and may be null is described beside the reference to that.
fn description(schema: &Value) -> &Value {
    let within = elements(&schema["oneOf"]).map(|its| &its["description"]).find(|its| its.is_string());
    if schema["description"].is_string() { &schema["description"] } else { within.unwrap_or(&Value::Null) }
}

/// What a value is, in a word or two.
fn kind_of(schema: &Value) -> String {
    if let Some(name) = referred(schema) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let kinds = |kinds: Vec<String>| kinds.into_iter().filter(|kind| !kind.is_empty()).collect::<Vec<_>>().join(" or ");
    if schema["oneOf"].is_array() {
        return kinds(elements(&schema["oneOf"]).map(kind_of).collect());
    }
    match &schema["type"] {
        Value::String(kind) if kind == "string" && schema["format"] == "binary" => "bytes".to_owned(),
        Value::String(kind) if kind == "array" => format!("array of {}", kind_of(&schema["items"])),
        Value::String(kind) => kind.clone(),
        Value::Array(names) => kinds(names.iter().map(|name| text(name).to_owned()).collect()),
        _ => "any".to_owned(),
    }
}

fn sentence(value: &Value) -> String {
    let text = one_line(value);
    if text.is_empty() || text.ends_with('.') { text } else { text + "." }
}

fn one_line(value: &Value) -> String {
    text(value).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
