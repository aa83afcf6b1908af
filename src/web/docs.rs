//! The documentation, carried inside the program: pages lead to it wherever dlo runs.

use axum::{
    extract::Path,
    http::header,
    response::{IntoResponse, Response},
};
use rust_embed::RustEmbed;

use super::error::WebError;

#[derive(RustEmbed)]
#[folder = "docs/"]
struct Pages;

/// A page as it is written: plain text.
pub async fn serve(Path(file): Path<String>) -> Result<Response, WebError> {
    let page = Some(file).filter(|file| file.ends_with(".md")).and_then(|file| Pages::get(&file));
    let page = page.ok_or_else(|| WebError::not_found("There is no such page of the documentation."))?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], page.data).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::watch::DocsPage;

    #[test]
    fn what_pages_lead_to_is_there() {
        for page in DocsPage::ALL {
            assert!(Pages::get(page.file).is_some(), "{page:?}");
        }
    }
}
