//! Files that come with a request.

use axum::{
    Extension,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Multipart, Request, multipart::MultipartError},
    http::{HeaderMap, StatusCode, header},
};
use payload_codec::schema::Upload;

use super::{BodyLimit, Query, body_limit};
use crate::web::{
    error::{Gathered, WebError, codes::FaultCode, head_faults::HeadFaults},
    query::{form, parameters},
};

/// What one upload may take: more than anything inside of it may unpack to, since sources pack well. Bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Parts of one form: files, and what else it says.
const MAX_PARTS: usize = 10_000;

/// Lets the calls that take files take large ones.
pub fn limit() -> (DefaultBodyLimit, Extension<BodyLimit>) {
    body_limit(MAX_BYTES)
}

/// Files, by a form or as the body itself.
#[derive(Debug, Default)]
pub struct Files {
    pub files: Vec<Upload>,
    /// The field `name` of a form.
    pub name: Option<String>,
}

impl<S: Send + Sync> FromRequest<S> for Files {
    type Rejection = WebError;

    async fn from_request(request: Request, state: &S) -> Result<Self, WebError> {
        let head = HeadFaults::of(request.extensions());
        head.with(Self::read(request, state).await)
    }
}

impl Files {
    async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Self, WebError> {
        match media_type(request.headers()).as_str() {
            "multipart/form-data" => {
                let form = Multipart::from_request(request, state).await;
                let broken = |why| WebError::body(StatusCode::BAD_REQUEST, FaultCode::Format, why);
                read_form(form.map_err(|rejection| broken(rejection.body_text()))?).await
            }
            "application/json" | "application/x-www-form-urlencoded" => Err(WebError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Send a FileDescriptorSet as application/octet-stream, sources as multipart/form-data, or a zip of \
                 them as application/zip.",
            )),
            _ => {
                let bytes =
                    Bytes::from_request(request, state).await.map_err(|rejection| refused(rejection.status()))?;
                Ok(Self { files: vec![Upload { name: String::new(), bytes: bytes.into() }], name: None })
            }
        }
    }
}

parameters! {
    /// How to call it.
    pub Naming {
        /// What people call the schema; made from the names of the files if left out.
        "name" name: Option<String> as form::One,
    }
}

/// Files, and what they are called, by the query or by a field of their form.
pub struct NamedFiles(pub Files);

impl<S: Send + Sync> FromRequest<S> for NamedFiles {
    type Rejection = WebError;

    async fn from_request(request: Request, state: &S) -> Result<Self, WebError> {
        let (mut parts, body) = request.into_parts();
        let naming = Query::<Naming>::from_request_parts(&mut parts, state).await;
        let files = Files::from_request(Request::from_parts(parts, body), state).await;
        let (Query(naming), files) = WebError::both(naming, files)?;
        Ok(Self(Files { name: naming.name.or(files.name), ..files }))
    }
}

async fn read_form(mut form: Multipart) -> Result<Files, WebError> {
    let (mut read, mut gathered, mut n_parts) = (Files::default(), Gathered::default(), 0);
    while let Some(part) = form.next_field().await.map_err(|error| broken(&error))? {
        n_parts += 1;
        if n_parts > MAX_PARTS {
            let why = format!("these are more than {MAX_PARTS} parts; send files as a zip");
            gathered.add(WebError::field("files", FaultCode::Length, why));
            break;
        }
        let field = part.name().unwrap_or_default().to_owned();
        let file = part.file_name().map(str::to_owned);
        let bytes = part.bytes().await.map_err(|error| broken(&error))?;
        match (file, &*field) {
            // A form without a chosen file sends one without a name.
            (Some(name), _) if name.is_empty() && bytes.is_empty() => {}
            (Some(name), _) => read.files.push(Upload { name, bytes: bytes.into() }),
            (None, "name") => read.name = Some(gathered.take(name_of(&bytes))).filter(|name| !name.is_empty()),
            (None, _) => {
                let why = "there is no such field; there are name and files";
                gathered.add(WebError::field(&field, FaultCode::Unknown, why));
            }
        }
    }
    gathered.end().map(|()| read)
}

fn name_of(bytes: &[u8]) -> Result<String, WebError> {
    match std::str::from_utf8(bytes) {
        Ok(name) if !name.contains('\0') => Ok(name.trim().to_owned()),
        _ => Err(WebError::field("name", FaultCode::Format, "it takes text in UTF-8")),
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn broken(error: &MultipartError) -> WebError {
    refused(error.status())
}

fn refused(status: StatusCode) -> WebError {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let detail = "That is more than the 64 MiB that an upload may have. Send sources as a zip, or leave out what no \
                      message here is made of.";
        return WebError::new(status, detail);
    }
    WebError::body(StatusCode::BAD_REQUEST, FaultCode::Format, "The files did not arrive whole.")
}
