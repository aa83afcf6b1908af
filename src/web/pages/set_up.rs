//! Where the first admin is made, by a link that stands in the log.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::{Extensions, HeaderMap, StatusCode},
    response::{Html, IntoResponse, Response},
};

use super::{
    shell::Shell,
    sign_in::{told, welcome},
};
use crate::{
    services::sign_in::SHORTEST,
    web::{
        error::WebError,
        input::{FormPairs, QueryPairs},
        security::{Peer, client_of},
        state::AppState,
    },
};

#[derive(Template)]
#[template(path = "set_up.html")]
struct SetUpPage {
    shell: Shell,
    link: String,
    name: String,
    problem: String,
    shortest: usize,
}

impl SetUpPage {
    fn answer(status: StatusCode, link: String, name: String, problem: String) -> Result<Response, WebError> {
        let page = Self { shell: Shell::bare(), link, name, problem, shortest: SHORTEST };
        Ok((status, Html(page.render()?)).into_response())
    }
}

pub async fn show(State(app): State<Arc<AppState>>, QueryPairs(mut pairs): QueryPairs) -> Result<Response, WebError> {
    let Some(link) = pairs.take("link")? else {
        return Err(WebError::not_found("The link is in the log of the server, as long as it has no user."));
    };
    if !app.sign_in.is_setup_link(&link).await? {
        return Err(WebError::not_found("This link was used already, or its time is over."));
    }
    SetUpPage::answer(StatusCode::OK, link, String::new(), String::new())
}

pub async fn add(
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    extensions: Extensions,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let mut field = |name| Ok::<_, WebError>(pairs.take(name)?.unwrap_or_default());
    let (link, name, password) = (field("link")?, field("user")?, field("password")?);
    let client = client_of(&app, Peer::of(&extensions), &headers);
    match app.sign_in.set_up(&link, &name, &password, &client).await {
        Ok(secret) => Ok(welcome(&app, &secret, "/")),
        Err(error) => {
            let (status, problem) = told(error)?;
            SetUpPage::answer(status, link, name, problem)
        }
    }
}
