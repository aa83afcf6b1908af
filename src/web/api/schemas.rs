//! `/api/v1/schemas` and `/api/v1/types`: what messages are made of.

use std::{collections::BTreeSet, sync::Arc};

use axum::{Json, extract::State, http::StatusCode, response::IntoResponse};
use payload_codec::schema::SchemaProblem;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    reply::{Bytes, made_at},
    words,
};
use crate::{
    domain::schema::{SchemaId, SchemaRecord, SchemaSource},
    services::{
        decoding::catalogue::{Catalogue, SchemaVersion, TypeEntry},
        schemas::{Delivery, SchemaError},
    },
    web::{
        error::{
            WebError,
            codes::FaultCode,
            fault::{Fault, Place},
        },
        input::{
            Query,
            path_id::{PathId, missing},
            upload::{Files, NamedFiles, Naming},
        },
        query::{Page, Paging, Parameters, form, parameters},
        state::AppState,
        view::time::timestamp,
        visitor::CurrentUser,
    },
};

/// Every version that is kept: those that count first, each part with the newest upload first.
#[derive(Serialize, ToSchema)]
pub struct SchemaList {
    items: Vec<SchemaItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Versions on all pages.
    total: usize,
}

/// One version of a schema.
#[derive(Serialize, ToSchema)]
pub struct SchemaItem {
    id: Uuid,
    name: String,
    /// Whether it counts, or a newer version of the same files does.
    current: bool,
    /// The version that took its place.
    superseded_by: Option<Uuid>,
    /// When that was uploaded.
    #[schema(format = DateTime)]
    superseded_at: Option<String>,
    #[schema(value_type = words::SchemaSource)]
    source: &'static str,
    /// Of its descriptors.
    hash: String,
    /// Of its descriptors, bytes.
    size: u64,
    /// Names of the files it describes.
    files: BTreeSet<String>,
    /// How many messages it describes; null for an old version that is not held in memory.
    types: Option<usize>,
    /// Files that are imported and not in it.
    missing_imports: Vec<String>,
    /// Types that are used and not in it; fields of them are shown raw.
    missing_types: Vec<String>,
    /// What else keeps it from being whole.
    problems: Vec<ProblemItem>,
    /// Types that another current schema describes differently.
    disagreements: Vec<String>,
    #[schema(format = DateTime)]
    uploaded_at: String,
    uploaded_by: String,
}

/// The problem with a file.
#[derive(Serialize, ToSchema)]
pub struct ProblemItem {
    file: Option<String>,
    /// Counted from 1.
    line: Option<usize>,
    /// Counted from 1.
    column: Option<usize>,
    what: String,
    /// What to do about it.
    remedy: String,
}

impl From<&SchemaProblem> for ProblemItem {
    fn from(problem: &SchemaProblem) -> Self {
        let SchemaProblem { file, line, column, what, remedy } = problem.clone();
        Self { file, line, column, what, remedy }
    }
}

impl SchemaItem {
    fn new(version: &SchemaVersion, catalogue: &Catalogue) -> Self {
        let (record, schema) = (&version.record, version.schema.as_deref());
        let successor = version.superseded_by.and_then(|id| catalogue.version(id));
        let faults = schema.map(|schema| schema.faults()).unwrap_or_default();
        Self {
            id: record.id.as_uuid(),
            name: record.name.clone(),
            current: version.is_current(),
            superseded_by: version.superseded_by.map(SchemaId::as_uuid),
            superseded_at: successor.map(|successor| timestamp(successor.record.uploaded_at)),
            source: record.source.as_str(),
            hash: record.hash.clone(),
            size: record.size,
            files: record.files.keys().cloned().collect(),
            types: schema.map(|schema| schema.types().len()),
            missing_imports: schema.into_iter().flat_map(|schema| schema.missing_files().keys().cloned()).collect(),
            missing_types: schema.into_iter().flat_map(|schema| schema.missing_types().keys().cloned()).collect(),
            problems: faults.iter().chain(&version.unreadable).map(ProblemItem::from).collect(),
            disagreements: catalogue.disagreements(record.id).map(|entry| entry.name.clone()).collect(),
            uploaded_at: timestamp(record.uploaded_at),
            uploaded_by: record.uploaded_by.as_str().to_owned(),
        }
    }
}

/// The schemas that are kept
#[utoipa::path(get, path = "/schemas", operation_id = "list_schemas", tag = "schemas", params(Paging),
    responses((status = OK, body = SchemaList)))]
pub async fn schemas(
    State(app): State<Arc<AppState>>,
    Query(paging): Query<Paging>,
) -> Result<Json<SchemaList>, WebError> {
    let catalogue = app.schemas.catalogue();
    let all: Vec<&SchemaVersion> = catalogue.versions().iter().collect();
    let Page { items, next_cursor, total } = paging.page("schemas", all, |one| one.record.id.to_string())?;
    let items = items.into_iter().map(|one| SchemaItem::new(one, &catalogue)).collect();
    Ok(Json(SchemaList { items, next_cursor, total }))
}

/// One version of a schema
#[utoipa::path(get, path = "/schemas/{id}", operation_id = "get_schema", tag = "schemas",
    params(PathId<SchemaRecord>), responses((status = OK, body = SchemaItem)))]
pub async fn schema(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<SchemaRecord>,
) -> Result<Json<SchemaItem>, WebError> {
    let catalogue = app.schemas.catalogue();
    let version = catalogue.version(id).ok_or_else(missing::<SchemaRecord>)?;
    Ok(Json(SchemaItem::new(version, &catalogue)))
}

/// Files of one schema.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a form")]
pub struct UploadForm {
    /// What people call the schema; made from the names of the files if left out.
    name: Option<String>,
    /// `.proto` sources with their paths, or descriptor sets.
    #[schema(value_type = Vec<String>, format = Binary)]
    files: Vec<Vec<u8>>,
}

/// Add a schema: a FileDescriptorSet, `.proto` sources as multipart, or a zip of either
///
/// A newer set that describes the same files, or more, counts from then on; the older one stays. The same set again makes it count again.
#[utoipa::path(post, path = "/schemas", operation_id = "upload_schema", tag = "schemas", params(Naming),
    request_body(description = "A FileDescriptorSet as protoc or buf write it, or sources",
        content((inline(Bytes) = "application/octet-stream"), (inline(Bytes) = "application/zip"), (UploadForm = "multipart/form-data"))),
    responses(
        (status = CREATED, body = SchemaItem),
        (status = OK, description = "It was uploaded before", body = SchemaItem),
    ))]
pub async fn add(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    NamedFiles(Files { files, name }): NamedFiles,
) -> Result<impl IntoResponse, WebError> {
    let delivery = Delivery { files, name, source: SchemaSource::Upload, by: user.clone() };
    let uploaded = app.schemas.upload(delivery).await.map_err(refusal)?;
    let catalogue = app.schemas.catalogue();
    let version = catalogue.version(uploaded.id);
    let gone = || WebError::conflict("It was added, and removed again by somebody else.");
    let item = SchemaItem::new(version.ok_or_else(gone)?, &catalogue);
    let status = if uploaded.was_known { StatusCode::OK } else { StatusCode::CREATED };
    // Where it is, whether it is new or was there.
    let (_, place, body) = made_at("schemas", uploaded.id.as_uuid(), Json(item));
    Ok((status, place, body))
}

/// What is wrong with an upload, one line for each.
fn refusal(error: SchemaError) -> WebError {
    /// Lines; whoever mends these sees the others next.
    const MOST: usize = 30;
    let problems = match error {
        SchemaError::Store(error) => return error.into(),
        SchemaError::Invalid(problems) => problems,
    };
    let mut lines: Vec<String> = problems.iter().take(MOST).map(ToString::to_string).collect();
    if problems.len() > MOST {
        lines.push(format!("And {} more.", problems.len() - MOST));
    }
    let faults = lines.iter().map(|line| Fault::new(Place::Body(Vec::new()), FaultCode::Invalid, line)).collect();
    WebError::of_faults(StatusCode::UNPROCESSABLE_ENTITY, faults)
}

/// Remove a schema; one whose place it took counts again
#[utoipa::path(delete, path = "/schemas/{id}", operation_id = "delete_schema", tag = "schemas", params(PathId<SchemaRecord>), responses(
    (status = NO_CONTENT),
))]
pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<SchemaRecord>,
) -> Result<StatusCode, WebError> {
    let was_there = app.schemas.remove(id, &user).await?;
    was_there.then_some(StatusCode::NO_CONTENT).ok_or_else(missing::<SchemaRecord>)
}

/// Message types by name.
#[derive(Serialize, ToSchema)]
pub struct TypeList {
    items: Vec<TypeItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// How many there are in all.
    total: usize,
}

/// A message type.
#[derive(Serialize, ToSchema)]
pub struct TypeItem {
    /// Its full name.
    name: String,
    /// The schema that counts for it.
    schema: Uuid,
    /// Others that describe it.
    also_in: Vec<Uuid>,
    /// Whether these describe it differently.
    disagrees: bool,
}

impl From<&TypeEntry> for TypeItem {
    fn from(entry: &TypeEntry) -> Self {
        let mut schemas = entry.schemas.iter().map(|id| id.as_uuid());
        Self {
            name: entry.name.clone(),
            schema: schemas.next().unwrap_or_default(),
            also_in: schemas.collect(),
            disagrees: entry.disagrees,
        }
    }
}

parameters! {
    /// Which types.
    pub Wanted {
        /// Words that the full name contains, whatever their case; all types if left out.
        "q" query: Option<String> as form::One,
    }
}

/// The message types that current schemas describe, best matches first
#[utoipa::path(get, path = "/types", operation_id = "list_types", tag = "schemas", params(Wanted, Paging),
    responses((status = OK, body = TypeList)))]
pub async fn types(
    State(app): State<Arc<AppState>>,
    Query((wanted, paging)): Query<(Wanted, Paging)>,
) -> Result<Json<TypeList>, WebError> {
    let catalogue = app.schemas.catalogue();
    let found = catalogue.search(wanted.query.as_deref().unwrap_or_default());
    let page = paging.page_of("types", &wanted.pairs(), found, |entry| entry.name.clone())?;
    let items = page.items.into_iter().map(TypeItem::from).collect();
    Ok(Json(TypeList { items, next_cursor: page.next_cursor, total: page.total }))
}
