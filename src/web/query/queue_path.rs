//! One queue in an address: its broker and its name, each in one segment of the path.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use utoipa::{
    IntoParams,
    openapi::{
        ObjectBuilder, Required, Type,
        path::{Parameter, ParameterBuilder, ParameterIn},
    },
};

use crate::web::error::WebError;

/// Bytes of a name; neither AMQP nor the configuration has longer ones. Nor can Postgres be asked for one with a NUL.
const LONGEST: usize = 255;

/// The queue that a path names, whether it is there or not.
#[derive(Clone)]
pub struct QueuePath {
    pub broker: String,
    pub queue: String,
}

/// Nothing is known of a queue of that name.
pub fn missing() -> WebError {
    WebError::not_found("There is no such queue: no dead letter came from it, and no watched broker has it.")
}

impl<S: Send + Sync> FromRequestParts<S> for QueuePath {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, WebError> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((broker, queue)) = path.map_err(|_| missing())?;
        let (broker, queue) = (name(broker), name(queue));
        if [&broker, &queue].iter().any(|name| name.len() > LONGEST || name.contains('\0')) {
            return Err(missing());
        }
        Ok(Self { broker, queue })
    }
}

impl IntoParams for QueuePath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = |name: &str, description: &str| {
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .description(Some(description))
                .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
                .build()
        };
        let queue = "The name of the queue in one segment: a slash in it is written `%2F`. One or two dots, which \
                     clients take out of a path, have a `~` before them: `~..`. So a name that is `~..` has one more.";
        vec![text("broker", "Its broker, as the configuration names it."), text("queue", queue)]
    }
}

/// Where its page is.
pub fn href(broker: &str, queue: &str) -> String {
    format!("/queues/{}/{}", segment(broker), segment(queue))
}

/// The same of what may not be known; empty where it is not.
pub fn href_of(broker: &str, queue: Option<&str>) -> String {
    queue.map(|queue| href(broker, queue)).unwrap_or_default()
}

/// All but what stands for itself in any address is escaped. Clients take dots out of a path, escaped ones too
/// (<https://url.spec.whatwg.org/#path-state>), but for those after a tilde.
fn segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    if is_dots(name) {
        segment.push('~');
    }
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

/// The name that a segment stands for, once nothing in it is escaped.
fn name(segment: String) -> String {
    match segment.strip_prefix('~') {
        Some(name) if is_dots(name) => name.to_owned(),
        _ => segment,
    }
}

/// Whether it is what clients take out of a path, or could be taken for that with a tilde before it.
fn is_dots(name: &str) -> bool {
    matches!(name.trim_start_matches('~'), "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_one_segment() {
        assert_eq!(href("main", "texts.persist"), "/queues/main/texts.persist");
        assert_eq!(href("eu 1", "a/b%2F?#ö"), "/queues/eu%201/a%2Fb%252F%3F%23%C3%B6");
    }

    #[test]
    fn no_client_takes_a_name_out_of_a_path() {
        let check = |queue: &str, expected: &str| {
            let address = href(queue, queue);
            assert_eq!(address, format!("/queues/{expected}/{expected}"));
            let asked = url::Url::parse("http://dlo.test").and_then(|server| server.join(&address));
            assert_eq!(asked.as_ref().map(url::Url::path), Ok(&*address));
            assert_eq!(name(segment(queue)), queue);
        };
        check(".", "~.");
        check("..", "~..");
        check("~.", "~~.");
        check("~~..", "~~~..");
        for usual in ["...", "..a", "~", "~a", ".~", "~..."] {
            check(usual, usual);
        }
    }
}
