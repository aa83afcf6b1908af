//! What is done on the page of rules.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use uuid::Uuid;

use super::{
    actions::redirect,
    fragment,
    rule_form::RuleForm,
    rules::{RulesPage, load},
    toast::Toast,
};
use crate::{
    domain::{actor::Actor, rule::RuleId},
    services::rules::{Draft, RuleError},
    web::{
        AppState,
        error::WebError,
        input::FormPairs,
        query::Pairs,
        security::CurrentUser,
        view::{number, rule::RULES, text},
    },
};

pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let form = RuleForm::take(&mut pairs)?;
    let applies = pairs.take("then")?.is_some_and(|then| then == "apply");
    let Draft { id, rule, place } = match form.draft() {
        Ok(draft) => draft,
        Err(wrong) => return refuse(&app, RuleForm { wrong: Some(wrong), ..form }).await,
    };
    if let Err(error) = app.rules.set(id, &rule, place, &user).await {
        return refuse(&app, form.refused(error)?).await;
    }
    let name = text::shortened(&text::one_line(rule.name.trim()), 60);
    let then = if applies { begin(&app, &user).await? } else { "It applies to new dead letters.".to_owned() };
    let toast = Toast::done(format!("Saved the rule {name}. {then}"), Vec::new());
    Ok(redirect(RULES, &toast, &headers))
}

/// The page again, with what is wrong beside the form.
async fn refuse(app: &AppState, form: RuleForm) -> Result<Response, WebError> {
    let page: RulesPage = load(app, form).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, fragment::whole(askama::Template::render(&page)?, &page.shell))
        .into_response())
}

pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id = take_id(&mut pairs)?;
    let toast = match app.rules.remove(id, &user).await {
        Ok(rule) => {
            let name = text::shortened(&text::one_line(&rule.name), 60);
            Toast::done(
                format!("Removed the rule {name}. What it matched stays as it is until rules are applied."),
                Vec::new(),
            )
        }
        Err(RuleError::Gone) => Toast::failed("There is no such rule any more.".to_owned()),
        Err(error) => return Err(error.into()),
    };
    Ok(redirect(RULES, &toast, &headers))
}

pub async fn step(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id = take_id(&mut pairs)?;
    let earlier = match pairs.take("to")?.as_deref() {
        Some("earlier") => true,
        Some("later") => false,
        _ => return Err(WebError::bad_request("to: it takes earlier or later")),
    };
    let toast = match app.rules.step(id, earlier, &user).await {
        Ok(()) => Toast::done("The rules are tried in another order now.".to_owned(), Vec::new()),
        Err(RuleError::Gone) => Toast::failed("There is no such rule any more.".to_owned()),
        Err(error) => return Err(error.into()),
    };
    Ok(redirect(RULES, &toast, &headers))
}

fn take_id(pairs: &mut Pairs) -> Result<RuleId, WebError> {
    pairs.take_parsed("id")?.ok_or_else(|| WebError::bad_request("id: it is needed"))
}

pub async fn apply(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let toast = Toast::done(begin(&app, &user).await?, Vec::new());
    Ok(redirect(RULES, &toast, &headers))
}

async fn begin(app: &AppState, by: &Actor) -> Result<String, WebError> {
    let job = app.rules.apply(by).await?;
    let total = app.store.job(job).await?.map_or(0, |job| job.total);
    Ok(format!("The rules are being applied to {}.", number::plural(total, "dead letter")))
}

pub async fn cancel(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let job: Uuid = pairs.take_parsed("job")?.ok_or_else(|| WebError::bad_request("job: it is needed"))?;
    let toast = if app.triage.cancel(job, &user).await? {
        Toast::done("Stopped. Changes made so far stay.".to_owned(), Vec::new())
    } else {
        Toast::failed("That had ended already.".to_owned())
    };
    Ok(redirect(RULES, &toast, &headers))
}
