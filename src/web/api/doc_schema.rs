//! Schemas of the API's description for people: what a value is, in a few words, and an example of it.

use serde_json::{Map, Value, json};

/// How deep an example goes; what is further down is left empty.
const DEEPEST: usize = 6;
/// Choices that are named one by one.
const NAMED: usize = 8;

/// The schemas that a description names.
pub struct Schemas<'d>(&'d Value);

/// A field of a body, or a parameter.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldDoc {
    pub name: String,
    /// `string`, `list of uuid`, `open | scheduled`
    pub kind: String,
    pub is_required: bool,
    pub about: String,
}

impl<'d> Schemas<'d> {
    pub const fn of(description: &'d Value) -> Self {
        Self(description)
    }

    /// What a reference stands for, and of choices the one that is something.
    fn resolve(&self, mut schema: &'d Value) -> &'d Value {
        for _ in 0..DEEPEST {
            let one_of = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
            let something = one_of.and_then(|choices| choices.iter().find(|choice| choice["type"] != "null"));
            let named = schema["$ref"].as_str().and_then(|path| self.0.pointer(path.strip_prefix('#')?));
            match named.or(something) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    /// The fields of a body, the required ones first.
    pub fn fields(&self, schema: &'d Value) -> Vec<FieldDoc> {
        let object = self.resolve(schema);
        let field = |(name, schema): (&String, &'d Value)| FieldDoc {
            name: name.clone(),
            kind: self.kind(schema),
            is_required: is_required(object, name),
            about: plain(about(schema).or_else(|| about(self.resolve(schema))).unwrap_or_default()),
        };
        let mut fields: Vec<_> = object["properties"].as_object().into_iter().flatten().map(field).collect();
        fields.sort_by_key(|field| !field.is_required);
        fields
    }

    /// What a value is.
    pub fn kind(&self, schema: &'d Value) -> String {
        let (resolved, null) = (self.resolve(schema), if may_be_null(schema) { " or null" } else { "" });
        let kind = match resolved["enum"].as_array() {
            Some(words) if words.len() <= NAMED => words.iter().map(word).collect::<Vec<_>>().join(" | "),
            _ => self.kind_of_type(resolved),
        };
        format!("{kind}{null}")
    }

    /// The words that a value is one of, or each of a list of values; none where it takes others.
    pub fn choices(&self, schema: &'d Value) -> Vec<String> {
        let resolved = self.resolve(schema);
        match (type_of(resolved), resolved["enum"].as_array()) {
            (_, Some(words)) => words.iter().filter(|choice| !choice.is_null()).map(word).collect(),
            ("boolean", _) => vec!["true".to_owned(), "false".to_owned()],
            ("array", _) => self.choices(&resolved["items"]),
            _ => Vec::new(),
        }
    }

    /// Whether it takes several values.
    pub fn takes_several(&self, schema: &'d Value) -> bool {
        type_of(self.resolve(schema)) == "array"
    }

    fn kind_of_type(&self, schema: &'d Value) -> String {
        match (type_of(schema), schema["format"].as_str()) {
            ("array", _) => format!("list of {}", self.kind(&schema["items"])),
            ("string", Some("date-time")) => "time in RFC 3339".to_owned(),
            ("string", Some(format)) => format.replace('-', " "),
            (kind @ ("integer" | "number"), _) => format!("{kind}{}", range(schema)),
            ("", _) => "any JSON".to_owned(),
            (kind, _) => kind.to_owned(),
        }
    }

    /// An example of a value; of what may be left out only where `is_full`.
    pub fn example(&self, schema: &'d Value, is_full: bool) -> Value {
        self.example_at(schema, is_full, 0)
    }

    fn example_at(&self, schema: &'d Value, is_full: bool, depth: usize) -> Value {
        let schema = given(schema).map_or_else(|| self.resolve(schema), |_| schema);
        if let Some(given) = given(schema) {
            return given.clone();
        }
        match type_of(schema) {
            "object" if depth < DEEPEST => self.object(schema, is_full, depth),
            "array" if depth < DEEPEST => json!([self.example_at(&schema["items"], is_full, depth + 1)]),
            "object" => json!({}),
            "array" => json!([]),
            "integer" | "number" => schema["minimum"].as_i64().filter(|least| *least > 0).unwrap_or(1).into(),
            "boolean" => true.into(),
            "string" => text(schema).into(),
            _ => Value::Null,
        }
    }

    fn object(&self, schema: &'d Value, is_full: bool, depth: usize) -> Value {
        let properties = schema["properties"].as_object().into_iter().flatten();
        // Of a body that needs nothing, what has an example shows what it takes.
        let needs_nothing = schema["required"].as_array().is_none_or(Vec::is_empty);
        let is_telling = |field: &Value| needs_nothing && depth == 0 && given(field).is_some();
        let shown = properties.filter(|(name, field)| is_full || is_required(schema, name) || is_telling(field));
        let fields: Map<String, Value> =
            shown.map(|(name, field)| (name.clone(), self.example_at(field, is_full, depth + 1))).collect();
        Value::Object(fields)
    }
}

/// Descriptions are written for generators of documents, with backticks around words.
pub fn plain(text: &str) -> String {
    text.replace('`', "")
}

fn about(schema: &Value) -> Option<&str> {
    let choices = || schema["oneOf"].as_array().into_iter().flatten();
    schema["description"].as_str().or_else(|| choices().find_map(|choice| choice["description"].as_str()))
}

fn is_required(object: &Value, name: &str) -> bool {
    object["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
}

fn may_be_null(schema: &Value) -> bool {
    let has_null = |list: &Value| list.as_array().is_some_and(|all| all.iter().any(|one| one == "null"));
    let is_null = |list: &Value| list.as_array().is_some_and(|all| all.iter().any(|one| one["type"] == "null"));
    has_null(&schema["type"]) || is_null(&schema["oneOf"]) || is_null(&schema["anyOf"])
}

fn type_of(schema: &Value) -> &str {
    let of_list =
        || schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str).find(|kind| *kind != "null");
    schema["type"].as_str().or_else(of_list).unwrap_or_default()
}

/// The example that somebody wrote, or the first choice.
fn given(schema: &Value) -> Option<&Value> {
    let first = |list: &'static str| schema[list].as_array().and_then(|all| all.first());
    schema.get("example").or_else(|| first("examples")).or_else(|| schema.get("default")).or_else(|| first("enum"))
}

fn text(schema: &Value) -> &'static str {
    match schema["format"].as_str() {
        Some("date-time" | "point-in-time") => "2026-11-21T10:00:00.000000Z",
        Some("uuid") => "019a8f3e-7c21-7d55-b7e4-2f6a90c1d3e8",
        Some("delay" | "length-of-time") => "10m",
        Some("uri") => "https://example.com",
        _ => "text",
    }
}

fn range(schema: &Value) -> String {
    let bound = |name: &str| schema[name].as_f64().filter(|bound| *bound != 0.0).map(|_| schema[name].to_string());
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> Value {
        json!({ "components": { "schemas": {
            "Word": { "type": "string", "enum": ["open", "done"] },
            "Loop": { "type": "object", "required": ["again"], "properties": { "again": { "$ref": "#/components/schemas/Loop" } } },
            "Order": {
                "type": "object",
                "required": ["word"],
                "properties": {
                    "at": { "type": ["string", "null"], "format": "date-time", "description": "When `it` was." },
                    "n": { "type": "integer", "minimum": 1, "maximum": 9 },
                    "of": { "oneOf": [{ "$ref": "#/components/schemas/Word", "description": "Which." }, { "type": "null" }] },
                    "word": { "$ref": "#/components/schemas/Word" },
                    "ids": { "type": "array", "items": { "type": "string", "format": "uuid" } },
                },
            },
        } } })
    }

    #[test]
    fn fields_say_what_they_are() {
        let description = description();
        let order = json!({ "$ref": "#/components/schemas/Order" });
        let fields = Schemas::of(&description).fields(&order);
        let told: Vec<_> =
            fields.iter().map(|field| (&*field.name, &*field.kind, field.is_required, &*field.about)).collect();
        let expected = [
            ("word", "open | done", true, ""),
            ("at", "time in RFC 3339 or null", false, "When it was."),
            ("n", "integer, 1 to 9", false, ""),
            ("of", "open | done or null", false, "Which."),
            ("ids", "list of uuid", false, ""),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_can_be_chosen_is_told_by_itself() {
        let description = description();
        let schemas = Schemas::of(&description);
        let check = |schema: Value, choices: &[&str], takes_several: bool| {
            let schema: &'static Value = Box::leak(Box::new(schema));
            assert_eq!(
                (schemas.choices(schema), schemas.takes_several(schema)),
                (choices.iter().map(|word| (*word).to_owned()).collect(), takes_several)
            );
        };
        check(json!({ "$ref": "#/components/schemas/Word" }), &["open", "done"], false);
        check(json!({ "type": "array", "items": { "$ref": "#/components/schemas/Word" } }), &["open", "done"], true);
        check(json!({ "type": "boolean" }), &["true", "false"], false);
        check(json!({ "type": "array", "items": { "type": "string" } }), &[], true);
    }

    #[test]
    fn examples_are_of_what_is_needed_or_of_all() {
        let description = description();
        let order = json!({ "$ref": "#/components/schemas/Order" });
        let schemas = Schemas::of(&description);
        assert_eq!(schemas.example(&order, false), json!({ "word": "open" }));
        let full = schemas.example(&order, true);
        assert_eq!(full["ids"], json!(["019a8f3e-7c21-7d55-b7e4-2f6a90c1d3e8"]));
        assert_eq!(full["n"], 1);
    }

    #[test]
    fn a_schema_within_itself_comes_to_an_end() {
        let description = description();
        let reference = json!({ "$ref": "#/components/schemas/Loop" });
        assert!(Schemas::of(&description).example(&reference, false).to_string().len() < 200);
    }
}
