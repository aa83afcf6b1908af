//! `/schemas/types/{name}`: one message type, its fields, and where it is seen.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
};
use payload_codec::schema::{Schema, differences};
use prost_reflect::MessageDescriptor;

use super::{
    fragment,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::schema::{SchemaId, SchemaRecord},
    services::{decoding::catalogue::Catalogue, schemas::SchemaError},
    web::{
        error::WebError,
        input::QueryPairs,
        query::{LetterQuery, Listed},
        state::AppState,
        view::{
            number,
            schema::{Comments, EnumView, FieldRow, MappingRow, TypeLink, version_href},
            text,
            time::Moment,
        },
    },
};

/// Queues that are named where a type is seen; those with the most letters.
const MOST_QUEUES: u32 = 20;

#[derive(Template)]
#[template(path = "schemas/type.html")]
struct TypePage {
    shell: Shell,
    name: String,
    last: String,
    comment: String,
    file: String,
    fields: Vec<FieldRow>,
    enums: Vec<EnumView>,
    /// Messages that are declared in this one.
    nested: Vec<TypeLink>,
    /// The schema it is shown from; none for a type that comes with protobuf.
    from: Option<FromView>,
    /// What other versions say of it.
    others: Vec<OtherView>,
    /// Queues with open letters of it.
    seen: Vec<SeenIn>,
    /// What says that messages are of this type.
    mappings: Vec<MappingRow>,
}

/// A queue that has open letters of a type.
struct SeenIn {
    queue: String,
    is_queue_known: bool,
    /// Empty where there is only one.
    broker: String,
    letters: String,
    href: String,
}

struct FromView {
    name: String,
    is_current: bool,
    at: Moment,
}

struct OtherView {
    name: String,
    is_current: bool,
    at: Moment,
    href: String,
    /// Empty where it says the same.
    differences: Vec<String>,
    more: usize,
}

/// A type as one schema describes it.
struct Shown {
    message: MessageDescriptor,
    from: Option<(Arc<SchemaRecord>, bool, Arc<Schema>)>,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    Path(name): Path<String>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let version: Option<SchemaId> = pairs.take_parsed("schema")?;
    let catalogue = app.schemas.catalogue();
    let shown = match version {
        Some(id) => of_version(&app, &catalogue, id, &name).await?,
        None => newest(&catalogue, &name),
    };
    let missing = || WebError::not_found(format!("No schema describes {}.", text::name(&name, 200)));
    let shown = shown.ok_or_else(missing)?;
    let shell = Shell::load(&app, Page::Schemas).await?;
    let seen = app.store().seen(shown.message.full_name(), MOST_QUEUES).await?;
    let mut page = TypePage::new(&shown, &catalogue, &app, shell);
    page.seen = seen.iter().map(|(broker, queue, n)| SeenIn::new(broker, queue, *n, &app)).collect();
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

fn newest(catalogue: &Catalogue, name: &str) -> Option<Shown> {
    let found = catalogue.find(name)?;
    let from = found.version.and_then(|version| {
        Some((Arc::clone(&version.record), version.is_current(), Arc::clone(version.schema.as_ref()?)))
    });
    Some(Shown { message: found.message, from })
}

async fn of_version(
    app: &AppState,
    catalogue: &Catalogue,
    id: SchemaId,
    name: &str,
) -> Result<Option<Shown>, WebError> {
    let schema = app.schemas.open(id).await.map_err(|error| match error {
        SchemaError::Invalid(_) => WebError::conflict("This version cannot be read any more."),
        SchemaError::Store(error) => error.into(),
    })?;
    let shown = catalogue.version(id).zip(schema).and_then(|(version, schema)| {
        let message = schema.message(name)?;
        Some(Shown { message, from: Some((Arc::clone(&version.record), version.is_current(), schema)) })
    });
    Ok(shown)
}

impl TypePage {
    fn new(shown: &Shown, catalogue: &Catalogue, app: &AppState, shell: Shell) -> Self {
        let (message, now) = (&shown.message, app.clock.now());
        let schema = shown.from.as_ref().map(|(_, _, schema)| &**schema);
        let comments = Comments::of_file(&message.parent_file());
        let nested = message.child_messages().filter(|nested| !nested.is_map_entry());
        let book = app.schemas.mappings();
        let about = book.all().iter().filter(|active| active.mapping.message_type == message.full_name());
        Self {
            name: message.full_name().to_owned(),
            last: message.name().to_owned(),
            comment: comments.of(message.path()),
            file: text::one_line(message.parent_file().name()),
            fields: message.fields().map(|field| FieldRow::new(&field, schema, &comments)).collect(),
            enums: EnumView::all(message),
            nested: nested.map(|nested| TypeLink::new(nested.full_name())).collect(),
            from: shown.from.as_ref().map(|(record, is_current, _)| FromView::new(record, *is_current, now)),
            others: others(shown, catalogue, now),
            seen: Vec::new(),
            mappings: about.map(|active| MappingRow::new(active, catalogue, now)).collect(),
            shell,
        }
    }
}

fn others(shown: &Shown, catalogue: &Catalogue, now: Timestamp) -> Vec<OtherView> {
    /// Differences that are told of one version.
    const TOLD: usize = 20;
    let own = shown.from.as_ref().map(|(record, ..)| record.id);
    let versions = catalogue.descriptions(shown.message.full_name()).into_iter();
    let other = versions.filter_map(|found| Some((found.version?, found.message)));
    let other = other.filter(|(version, _)| Some(version.record.id) != own);
    other
        .map(|(version, message)| {
            let all = differences(&shown.message, &message);
            OtherView {
                name: text::one_line(&version.record.name),
                is_current: version.is_current(),
                at: Moment::new(version.record.uploaded_at, now),
                href: version_href(message.full_name(), version.record.id),
                more: all.len().saturating_sub(TOLD),
                differences: all.into_iter().take(TOLD).collect(),
            }
        })
        .collect()
}

impl SeenIn {
    fn new(broker: &str, queue: &str, letters: u64, app: &AppState) -> Self {
        let known = Some(queue).filter(|queue| !queue.is_empty());
        let brokers = if app.brokers.all().len() > 1 { vec![broker.to_owned()] } else { Vec::new() };
        let query = LetterQuery { brokers: brokers.clone(), ..LetterQuery::of_queue(known) };
        Self {
            queue: known.map_or_else(|| "queue unknown".to_owned(), |queue| text::name(queue, 120)),
            is_queue_known: known.is_some(),
            broker: brokers.first().map(|broker| text::one_line(broker)).unwrap_or_default(),
            letters: number::plural(letters, "open dead letter"),
            href: query.href(),
        }
    }
}

impl FromView {
    fn new(record: &SchemaRecord, is_current: bool, now: Timestamp) -> Self {
        Self { name: text::one_line(&record.name), is_current, at: Moment::new(record.uploaded_at, now) }
    }
}
