//! The description of the API, completed: what is the same for all calls is said here once.

use axum::http::Method;
use url::Url;
use utoipa::openapi::{
    Components, HttpMethod, Info, License, ObjectBuilder, OpenApi, OpenApiBuilder, PathItem, Ref, RefOr, Required,
    Schema, Server, Tag, Type,
    header::HeaderBuilder,
    path::{Operation, Parameter},
    response::Response,
    schema::AdditionalProperties,
    security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
};
use utoipa::{PartialSchema, ToSchema};

use super::{
    faults::{FAULTS, Fault},
    idempotency,
};
use crate::{
    domain::access::{Right, Scope},
    web::{
        problem::Problem,
        security::{Need, need_of},
    },
};

/// The names of the security schemes.
const TOKEN: &str = "token";
const SESSION: &str = "session";
/// Those of OAuth; ours stand in words with each call.
const NO_SCOPES: [String; 0] = [];

/// How callers say who they are; as long as nobody has to, there is none.
#[derive(Clone, Debug, Default)]
pub struct SignInFacts {
    pub asks: bool,
    /// The cookie of a session, where there are sessions.
    pub cookie: Option<String>,
}

impl SignInFacts {
    fn requirements(&self) -> Vec<SecurityRequirement> {
        let session = self.cookie.as_ref().map(|_| SecurityRequirement::new(SESSION, NO_SCOPES));
        let token = self.asks.then(|| SecurityRequirement::new(TOKEN, NO_SCOPES));
        token.into_iter().chain(session).collect()
    }

    fn schemes(&self) -> Vec<(&'static str, SecurityScheme)> {
        let mut token = Http::new(HttpAuthScheme::Bearer);
        token.description =
            Some("A token of dlo, `dlo_…`; its scopes are read, payload, act, markers and admin.".to_owned());
        let about = "Of somebody who has signed in with a browser.";
        let session =
            self.cookie.as_ref().map(|cookie| ApiKey::Cookie(ApiKeyValue::with_description(cookie.as_str(), about)));
        let token = self.asks.then_some((TOKEN, SecurityScheme::Http(token)));
        token.into_iter().chain(session.map(|session| (SESSION, SecurityScheme::ApiKey(session)))).collect()
    }
}

/// What is known before any call is.
pub fn base(public_url: &Url, sign_in: &SignInFacts) -> OpenApi {
    const ABOUT: &str = "The dead letters of RabbitMQ services, and what may be done with them.\n\n\
        Times are RFC 3339 in UTC, always with six digits of a second. Errors are `application/problem+json` (RFC 9457) \
        with a stable `code` and, in `errors`, all that is wrong with a request. A list answers `items` and \
        `next_cursor`: ask again, with the same query and `cursor` set to it. Several values are given by repeating a \
        parameter; no character of a value ends it. An unknown parameter or field is an error, and so is a \
        body where a call takes none.\n\n\
        A `POST` takes an `Idempotency-Key`. What people edit has an `ETag`, and takes `If-Match`.\n\n\
        Where people have to sign in (`auth.mode`), programs send `Authorization: Bearer` with a token that was made on the \
        account page or by `dlo token add`; each call says which scopes it takes. On loopback without sign-in nobody is asked.";
    let mut info = Info::new("Dead Letter Office", env!("CARGO_PKG_VERSION"));
    info.description = Some(ABOUT.to_owned());
    let mut license = License::new("MIT");
    license.identifier = Some("MIT".to_owned());
    info.license = Some(license);
    let tags = [
        ("letters", "Dead letters, one by one"),
        ("actions", "What is done with many letters, and how far it has come"),
        ("groups", "Error groups: similar dead letters"),
        ("queues", "The queues that letters came from"),
        ("policies", "What is retried automatically"),
        ("rules", "What says how important letters are"),
        ("schemas", "What messages are made of"),
        ("views", "Lists of dead letters under a name"),
        ("markers", "What happened at a moment: deploys, flags, incidents"),
        ("digests", "What is sent every so often"),
        ("activity", "Who did what"),
    ];
    let tag = |(name, about): (&str, &str)| {
        let mut tag = Tag::new(name);
        tag.description = Some(about.to_owned());
        tag
    };
    let address = public_url.as_str().trim_end_matches('/');
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([Server::new(address)]))
        .tags(Some(tags.map(tag)))
        .security(Some(sign_in.requirements()))
        .build()
}

/// With all that follows from the calls.
pub fn finished(mut description: OpenApi, sign_in: &SignInFacts) -> OpenApi {
    let components = description.components.get_or_insert_with(Components::new);
    for fault in FAULTS {
        components.responses.insert(fault.name.to_owned(), fault.response().into());
    }
    for (name, scheme) in sign_in.schemes() {
        components.security_schemes.insert(name.to_owned(), scheme.into());
    }
    let mut problem = Vec::new();
    Problem::schemas(&mut problem);
    components.schemas.extend(problem);
    components.schemas.insert("Problem".to_owned(), Problem::schema());
    let taken = taken(&description);
    let components = description.components.get_or_insert_with(Components::new);
    for (name, schema) in &mut components.schemas {
        if !(name.starts_with("Problem") || taken.contains(name)) {
            always_there(schema);
        }
    }
    let optional: Vec<String> =
        components.schemas.iter().filter(|(_, schema)| needs_nothing(schema)).map(|(name, _)| name.clone()).collect();
    // The order of a list is changed beside the list.
    let ordered: Vec<String> =
        description.paths.paths.keys().filter_map(|path| path.strip_suffix("/order")).map(str::to_owned).collect();
    for (path, item) in &mut description.paths.paths {
        let is_edited =
            ordered.contains(path) || operations(item).any(|(_, operation)| has_parameter(operation, "If-Match"));
        for (method, operation) in operations(item) {
            allow_no_body(operation, &optional);
            finish(path, method, operation, is_edited, sign_in.asks);
        }
    }
    description
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (HttpMethod, &mut Operation)> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [
        (HttpMethod::Get, get),
        (HttpMethod::Put, put),
        (HttpMethod::Post, post),
        (HttpMethod::Delete, delete),
        (HttpMethod::Patch, patch),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn has_parameter(operation: &Operation, name: &str) -> bool {
    parameters(operation).any(|parameter| parameter.name == name)
}

fn parameters(operation: &Operation) -> impl Iterator<Item = &Parameter> {
    operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    })
}

fn finish(path: &str, method: HttpMethod, operation: &mut Operation, is_edited: bool, asks: bool) {
    if let Some(scopes) = scopes(path, &method) {
        let about = operation.description.take().map(|about| format!("{about}\n\n")).unwrap_or_default();
        operation.description = Some(format!("{about}{scopes}"));
    }
    let is_keyed = method == HttpMethod::Post && idempotency::takes_key(path);
    if is_keyed {
        operation.parameters.get_or_insert_default().push(idempotency::parameter().into());
    }
    let has_body = operation.request_body.is_some();
    let is_possible = |fault: &Fault| match fault.status {
        401 => asks,
        // A change that another site wants is refused to everybody.
        403 => asks || method != HttpMethod::Get,
        404 => path.contains('{'),
        408 | 413 | 415 => has_body,
        409 => is_keyed,
        412 => has_parameter(operation, "If-Match"),
        422 => has_body || is_keyed,
        _ => true,
    };
    let possible: Vec<&Fault> = FAULTS.iter().filter(|fault| is_possible(fault)).collect();
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        if response.description.is_empty() {
            response.description = meaning(status).to_owned();
        }
        if status.starts_with('2') {
            succeed(status, response, is_edited);
        }
    }
    for fault in possible {
        let answer = || RefOr::Ref(Ref::from_response_name(fault.name));
        operation.responses.responses.entry(fault.status.to_string()).or_insert_with(answer);
    }
}

/// Which scopes a token needs for a call.
fn scopes(path: &str, method: &HttpMethod) -> Option<String> {
    let method = match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
        _ => return None,
    };
    let Ok(Need::Rights(rights)) = need_of(&method, path) else { return None };
    let scope = |right: &Right| Scope::ALL.iter().find(|scope| scope.may(*right)).map(|scope| format!("`{scope}`"));
    let scopes: Vec<String> = rights.iter().filter_map(scope).collect();
    Some(format!("Scope: {}.", scopes.join(" and ")))
}

/// What every success says.
fn succeed(status: &str, response: &mut Response, is_edited: bool) {
    let header = |about: &str| {
        let text = ObjectBuilder::new().schema_type(Type::String).build();
        RefOr::T(HeaderBuilder::new().schema(Some(text)).description(Some(about)).build())
    };
    if is_edited && status != "204" {
        response.headers.insert("ETag".to_owned(), header("Which version this is, for `If-Match`"));
    }
    if matches!(status, "201" | "202") {
        response.headers.insert("Location".to_owned(), header("Where it is"));
    }
}

fn meaning(status: &str) -> &'static str {
    match status {
        "201" => "It was made",
        "202" => "It has begun",
        "204" => "It is gone",
        _ => "How it stands now",
    }
}

/// The schemas of bodies that calls take; what may be left out there is not left out of answers.
fn taken(description: &OpenApi) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let bodies = description.paths.paths.values().flat_map(|item| [&item.post, &item.put, &item.patch]);
    for body in bodies.flatten().filter_map(|operation| operation.request_body.as_ref()) {
        let text = serde_json::to_string(body).unwrap_or_default();
        all.extend(named_in(&text));
    }
    let schemas = description.components.as_ref().map(|components| &components.schemas);
    let mut next = 0;
    while let Some(name) = all.get(next).cloned() {
        next += 1;
        let text = schemas.and_then(|schemas| serde_json::to_string(schemas.get(&name)?).ok()).unwrap_or_default();
        let further: Vec<String> = named_in(&text).filter(|name| !all.contains(name)).collect();
        all.extend(further);
    }
    all
}

fn named_in(json: &str) -> impl Iterator<Item = String> {
    const REFERENCE: &str = "#/components/schemas/";
    json.split(REFERENCE).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned)
}

fn needs_nothing(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if object.required.is_empty())
}

/// No body at all says as much as one without fields.
fn allow_no_body(operation: &mut Operation, optional: &[String]) {
    let Some(RefOr::T(body)) = &mut operation.request_body else { return };
    let text = serde_json::to_string(&body.content).unwrap_or_default();
    if named_in(&text).next().is_some_and(|name| optional.contains(&name)) && !text.contains("multipart") {
        body.required = Some(Required::False);
    }
}

/// Every field of an answer is there, perhaps as null.
fn always_there(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            let has_fields = !object.properties.is_empty();
            object.required = object.properties.keys().cloned().collect();
            if has_fields && object.additional_properties.is_none() {
                object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(true)));
            }
        }
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().for_each(always_there),
        _ => {}
    }
}
