//! Bodies against their own description: everything that is wrong with one is found at once, and what the API describes is
//! what it takes.

mod repeated;

use std::{
    any::TypeId,
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::formats;
use crate::web::error::{
    MOST_FAULTS,
    codes::FaultCode,
    fault::{Fault, NO_NUL, Place},
};

/// What bodies of one type are to be like.
pub struct BodySchema {
    root: Value,
    /// What it refers to, by name.
    named: HashMap<String, Value>,
}

impl BodySchema {
    /// That of `T`; made once.
    pub fn of<T: ToSchema + 'static>() -> Arc<Self> {
        static MADE: LazyLock<Mutex<HashMap<TypeId, Arc<BodySchema>>>> = LazyLock::new(Mutex::default);
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(made.entry(TypeId::of::<T>()).or_insert_with(|| {
            let mut named = Vec::new();
            T::schemas(&mut named);
            let read = |schema| serde_json::to_value(schema).unwrap_or_default();
            let named = named.into_iter().map(|(name, schema)| (name, read(schema))).collect();
            Arc::new(Self { root: read(T::schema()), named })
        }))
    }

    /// Everything that is wrong with a body, as far as it is told.
    pub fn faults(&self, body: &Value) -> Vec<Fault> {
        let mut check = Check { schema: self, steps: Vec::new(), faults: Vec::new() };
        check.value(&self.root, body);
        check.faults
    }

    /// A body without what is wrong with it: fields that are at fault are blank, and so can be read.
    pub fn mended(&self, mut body: Value, faults: &[Fault]) -> Value {
        for fault in faults {
            if let Place::Body(steps) = &fault.place {
                self.mend(&self.root, &mut body, steps);
            }
        }
        body
    }

    fn mend(&self, schema: &Value, value: &mut Value, steps: &[String]) {
        let schema = self.object_of(schema);
        // Of a list nothing is left.
        let (Some((step, further)), Value::Object(fields)) = (steps.split_first(), &mut *value) else {
            *value = self.blank(schema);
            return;
        };
        let Some(described) = schema["properties"].get(step) else {
            fields.remove(step);
            return;
        };
        self.mend(described, fields.entry(step).or_insert(Value::Null), further);
    }

    /// What a reference leads to; of several descriptions that which is not null.
    fn object_of<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(choices) = schema["oneOf"].as_array() {
            let is_some = |choice: &&Value| choice["type"] != "null";
            return choices.iter().find(is_some).map_or(schema, |choice| self.object_of(choice));
        }
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        name.and_then(|name| self.named.get(name)).map_or(schema, |schema| self.object_of(schema))
    }

    fn blank(&self, schema: &Value) -> Value {
        let schema = self.object_of(schema);
        match types(schema).into_iter().find(|name| *name != "null") {
            Some("string") => Value::from(""),
            Some("integer" | "number") => Value::from(0),
            Some("boolean") => Value::from(false),
            Some("array") => Value::Array(Vec::new()),
            Some("object") => {
                let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                needed.map(|name| (name.to_owned(), self.blank(&schema["properties"][name]))).collect()
            }
            _ => Value::Null,
        }
    }
}

struct Check<'a> {
    schema: &'a BodySchema,
    /// To the value that is looked at.
    steps: Vec<String>,
    faults: Vec<Fault>,
}

impl Check<'_> {
    fn fault(&mut self, code: FaultCode, detail: impl ToString) {
        self.faults.push(Fault::new(Place::of_steps(&self.steps), code, detail));
    }

    /// Looks at nothing more once there is more than is told.
    fn within(&mut self, step: &str, check: impl FnOnce(&mut Self)) {
        if self.faults.len() > MOST_FAULTS {
            return;
        }
        self.steps.push(step.to_owned());
        check(self);
        self.steps.pop();
    }

    fn value(&mut self, schema: &Value, value: &Value) {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            let named = self.schema;
            return named.named.get(name).into_iter().for_each(|schema| self.value(schema, value));
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            return self.one_of(choices, value);
        }
        if let Some(words) = schema["enum"].as_array() {
            if !words.contains(value) {
                let takes: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                self.fault(FaultCode::Choice, format!("{value} is not possible; it takes one of {}", takes.join(", ")));
            }
            return;
        }
        if !is_of_type(schema, value) {
            return self.fault(FaultCode::Type, format!("it takes {}", in_words(schema)));
        }
        match value {
            Value::Object(fields) => self.object(schema, fields),
            Value::Array(items) => self.array(schema, items),
            Value::String(text) => self.text(schema, text),
            Value::Number(number) => self.number(schema, number.as_f64().unwrap_or_default()),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Of several descriptions the one that a value comes nearest to says what is wrong with it.
    fn one_of(&mut self, choices: &[Value], value: &Value) {
        let tried = choices.iter().map(|choice| {
            let mut check = Check { schema: self.schema, steps: self.steps.clone(), faults: Vec::new() };
            check.value(choice, value);
            check.faults
        });
        let depth = |faults: &Vec<Fault>| match faults.first().map(|fault| (&fault.place, fault.code)) {
            None => 0,
            Some((Place::Body(steps), code)) if steps.len() > self.steps.len() || code != FaultCode::Type => 1,
            Some(_) => 2,
        };
        let nearest = tried.min_by_key(depth).unwrap_or_default();
        let is_type = depth(&nearest) == 2;
        if is_type {
            let takes: Vec<String> = choices.iter().map(|choice| self.words_of(choice)).collect();
            return self.fault(FaultCode::Type, format!("it takes {}", takes.join(", or ")));
        }
        self.faults.extend(nearest);
    }

    fn words_of(&self, schema: &Value) -> String {
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        in_words(name.and_then(|name| self.schema.named.get(name)).unwrap_or(schema))
    }

    fn object(&mut self, schema: &Value, fields: &Map<String, Value>) {
        let known = schema["properties"].as_object();
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.within(name, |check| check.fault(FaultCode::Required, "it is needed"));
            }
        }
        for (name, value) in fields {
            let described = known.and_then(|known| known.get(name));
            self.within(name, |check| match (described, &schema["additionalProperties"]) {
                (Some(described), _) => check.value(described, value),
                (None, further @ Value::Object(_)) => check.value(further, value),
                (None, Value::Bool(false)) => {
                    let names: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                    check.fault(FaultCode::Unknown, format!("there is no such field; there are {there}"));
                }
                (None, _) => check.value(&Value::Null, value),
            });
            if name.contains('\0') {
                self.within(name, |check| check.fault(FaultCode::Format, NO_NUL));
            }
        }
    }

    fn array(&mut self, schema: &Value, items: &[Value]) {
        let n = items.len() as f64;
        if let Some(least) = schema["minItems"].as_f64().filter(|least| n < *least) {
            self.fault(FaultCode::Length, format!("it takes at least {least}"));
        }
        if let Some(most) = schema["maxItems"].as_f64().filter(|most| n > *most) {
            // Its items would hide what else is wrong.
            return self.fault(FaultCode::Length, format!("it takes {most} at most"));
        }
        for (place, item) in items.iter().enumerate() {
            self.within(&place.to_string(), |check| check.value(&schema["items"], item));
        }
    }

    fn text(&mut self, schema: &Value, text: &str) {
        let n = text.chars().count() as f64;
        if schema["minLength"].as_f64().is_some_and(|least| n < least) {
            self.fault(FaultCode::Length, "it takes at least one character");
        }
        if let Some(most) = schema["maxLength"].as_f64().filter(|most| n > *most) {
            self.fault(FaultCode::Length, format!("it takes {most} characters at most"));
        }
        let formats = ["format", "contentEncoding"].into_iter().filter_map(|key| schema[key].as_str());
        for why in formats.filter_map(|format| formats::check(format, text).err()) {
            self.fault(FaultCode::Format, why);
        }
        if text.contains('\0') {
            self.fault(FaultCode::Format, NO_NUL);
        }
    }

    fn number(&mut self, schema: &Value, number: f64) {
        let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
            let range = match (least, most) {
                (Some(least), Some(most)) => format!("{least} to {most}"),
                (Some(least), None) => format!("{least} or more"),
                (None, most) => format!("{} at most", most.unwrap_or_default()),
            };
            self.fault(FaultCode::Range, format!("{number} is out of range; it takes {range}"));
        }
    }
}

/// The types that a schema names; none is any.
fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    let types = types(schema);
    let is = |name: &&str| match (*name, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    };
    types.is_empty() || types.iter().any(is)
}

fn in_words(schema: &Value) -> String {
    let word = |name: &&str| match *name {
        "null" => "null",
        "boolean" => "true or false",
        "number" => "a number",
        "integer" => "a whole number",
        "string" => "text",
        "array" => "a list",
        _ => "an object",
    };
    types(schema).iter().map(word).collect::<Vec<_>>().join(", or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    #[derive(ToSchema)]
    #[expect(dead_code, reason = "describes a body")]
    #[serde(deny_unknown_fields)]
    struct Order {
        #[schema(min_length = 1, max_length = 3)]
        name: String,
        #[schema(minimum = 1, maximum = 9)]
        count: Option<u32>,
        ids: Option<Vec<Uuid>>,
        parts: Option<Vec<Part>>,
        part: Option<Part>,
    }

    #[derive(ToSchema)]
    #[expect(dead_code, reason = "describes a body")]
    #[serde(deny_unknown_fields)]
    struct Part {
        is_new: bool,
    }

    /// So that all the rest can be told, too.
    #[test]
    fn what_is_wrong_can_be_left_blank() {
        let check = |body: Value, expected: Value| {
            let schema = BodySchema::of::<Order>();
            assert_eq!(schema.mended(body.clone(), &schema.faults(&body)), expected, "{body}");
        };
        check(json!([]), json!({"name": ""}));
        check(json!({"count": "x", "nane": 1}), json!({"name": "", "count": 0}));
        check(
            json!({"name": "a", "ids": ["x"], "part": 7}),
            json!({"name": "a", "ids": [], "part": {"is_new": false}}),
        );
        check(json!({"name": "a", "part": {"is_new": 1}}), json!({"name": "a", "part": {"is_new": false}}));
        check(json!({"name": "a", "parts": [{"is_new": 1}]}), json!({"name": "a", "parts": []}));
    }

    #[test]
    fn everything_that_is_wrong_is_found() {
        let check = |body: Value, expected: &[&str]| {
            let faults = BodySchema::of::<Order>().faults(&body);
            let faults: Vec<_> = faults.iter().map(|fault| format!("{} {fault}", fault.code)).collect();
            assert_eq!(faults, expected, "{body}");
        };
        check(json!({"name": "abc", "count": 1, "ids": [Uuid::nil()], "part": {"is_new": true}}), &[]);
        check(json!({"name": "a", "count": null, "part": null}), &[]);
        check(json!([]), &["type it takes an object"]);
        check(
            json!({"count": 10, "nane": "a", "ids": ["x"]}),
            &[
                "required name: it is needed",
                "range count: 10 is out of range; it takes 1 to 9",
                "unknown nane: there is no such field; there are count, ids, name, part, parts",
                "format ids[0]: \"x\" is no id; an id is a UUID",
            ],
        );
        check(
            json!({"name": "abcd", "count": 1.5}),
            &["length name: it takes 3 characters at most", "type count: it takes a whole number, or null"],
        );
        check(json!({"name": "a", "parts": [{"is_new": 1}]}), &["type parts[0].is_new: it takes true or false"]);
        check(json!({"name": "a", "part": {"is_new": 1}}), &["type part.is_new: it takes true or false"]);
        check(json!({"name": "a", "part": 7}), &["type part: it takes an object, or null"]);
        check(json!({"name": "a\0"}), &["format name: it holds a NUL character (U+0000), which no text here can have"]);
    }

    /// Each takes some hundred bytes of memory, and two of a body are enough for one.
    #[test]
    fn no_more_is_found_than_is_told() {
        let n_faults = |body: Value| BodySchema::of::<Order>().faults(&body).len();
        assert_eq!(n_faults(json!({"name": "a", "ids": vec![1; 100_000]})), MOST_FAULTS + 1);
        let unknown: Map<String, Value> = (0..100_000).map(|n| (n.to_string(), Value::Null)).collect();
        assert!((MOST_FAULTS..MOST_FAULTS + 3).contains(&n_faults(unknown.into())));
        let parts = vec![json!({"is_new": 1, "is_old": 1}); 100_000];
        assert!((MOST_FAULTS..MOST_FAULTS + 3).contains(&n_faults(json!({"name": "a", "parts": parts}))));
    }
}
