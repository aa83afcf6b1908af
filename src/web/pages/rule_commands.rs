//! What is done on the page of rules.

use std::sync::Arc;

use axum::{extract::State, http::HeaderMap, response::Response};
use uuid::Uuid;

use super::{
    fragment,
    redirect::redirect,
    rule_form::RuleForm,
    rules::{RulesPage, load},
    toast::Toast,
};
use crate::{
    domain::{
        actor::Actor,
        job::JobRefusal,
        rule::{ActiveRule, RuleId},
        rule_order::RulePlace,
        version::{Changed, Expected},
    },
    services::rules::{Draft, RuleError},
    web::{
        error::WebError,
        input::FormPairs,
        orders::jobs::refused,
        state::AppState,
        view::{conflict::ConflictView, number, rule::RULES, text},
        visitor::CurrentUser,
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
    let place = place.map(|at| RulePlace { at, order: Expected::seen(&form.order) });
    match app.rules.set(id, &rule, place.as_ref(), &form.expected(), &user).await {
        Ok(_) => {}
        Err(RuleError::Reordered) => {
            let form = RuleForm { order: String::new(), ..form };
            return show_order(&app, form, "Nothing is saved yet, and your text is below. Check its position.").await;
        }
        Err(RuleError::Changed(changed)) => return overtake(&app, form, &changed).await,
        Err(RuleError::Gone) => return overtake(&app, form, &Changed(None)).await,
        Err(error) => return refuse(&app, form.refused(error)?).await,
    }
    let name = text::name(rule.name.trim(), 60);
    let then = if applies { begin(&app, &user).await? } else { "It applies to new dead letters.".to_owned() };
    let toast = Toast::done(format!("Saved the rule {name}. {then}"));
    Ok(redirect(RULES, &toast, &headers))
}

/// The page again, with what is wrong beside the form.
async fn refuse(app: &AppState, form: RuleForm) -> Result<Response, WebError> {
    let page: RulesPage = load(app, form).await?;
    Ok(fragment::refused(askama::Template::render(&page)?, &page.shell))
}

/// The page again, with what somebody else has made of the rule.
async fn overtake(app: &AppState, form: RuleForm, changed: &Changed<ActiveRule>) -> Result<Response, WebError> {
    app.rules.reload().await?;
    let page: RulesPage = load(app, form.overtaken(changed, app.clock.now())).await?;
    Ok(fragment::conflicting(askama::Template::render(&page)?, &page.shell))
}

pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id: RuleId = pairs.need("id")?;
    let form = RuleForm { version: pairs.take("version")?.unwrap_or_default(), ..RuleForm::default() };
    let toast = match app.rules.remove(id, &form.expected(), &user).await {
        Ok(rule) => {
            let name = text::name(&rule.name, 60);
            Toast::done(format!("Removed the rule {name}. What it matched stays as it is until rules are applied."))
        }
        Err(RuleError::Gone) => Toast::failed("There is no such rule any more."),
        Err(RuleError::Changed(changed)) => return ask_again(&app, id, &changed).await,
        Err(error) => return Err(error.into()),
    };
    Ok(redirect(RULES, &toast, &headers))
}

/// The question again, about what the rule is now.
async fn ask_again(app: &AppState, id: RuleId, changed: &Changed<ActiveRule>) -> Result<Response, WebError> {
    app.rules.reload().await?;
    let mut page: RulesPage = load(app, RuleForm::default()).await?;
    page.ask_to_remove(Some(id))?;
    page.conflict = Some(ConflictView::new(changed, app.clock.now()));
    Ok(fragment::conflicting(askama::Template::render(&page)?, &page.shell))
}

pub async fn step(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id: RuleId = pairs.need("id")?;
    let earlier = match pairs.take("to")?.as_deref() {
        Some("earlier") => true,
        Some("later") => false,
        _ => return Err(WebError::bad_request("to: it takes earlier or later")),
    };
    let expected = Expected::seen(&pairs.take("order")?.unwrap_or_default());
    let toast = match app.rules.step(id, earlier, &expected, &user).await {
        Ok(()) => Toast::done("The rules are tried in another order now."),
        Err(RuleError::Gone) => Toast::failed("There is no such rule any more."),
        Err(RuleError::Reordered) => return show_order(&app, RuleForm::default(), "Nothing was moved.").await,
        Err(error) => return Err(error.into()),
    };
    Ok(redirect(RULES, &toast, &headers))
}

/// The page again, with the order in which somebody else has put the rules, and what that means.
async fn show_order(app: &AppState, form: RuleForm, reordered: &'static str) -> Result<Response, WebError> {
    app.rules.reload().await?;
    let mut page: RulesPage = load(app, form).await?;
    page.reordered = reordered;
    Ok(fragment::conflicting(askama::Template::render(&page)?, &page.shell))
}

pub async fn apply(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let toast = Toast::done(begin(&app, &user).await?);
    Ok(redirect(RULES, &toast, &headers))
}

async fn begin(app: &AppState, by: &Actor) -> Result<String, WebError> {
    let job = app.rules.apply(by).await?;
    let total = app.store().job(job).await?.map_or(0, |job| job.total);
    Ok(format!("The rules are being applied to {}.", number::plural(total, "dead letter")))
}

pub async fn cancel(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let job: Uuid = pairs.need("job")?;
    let toast = match app.triage.cancel(job, &user).await? {
        Ok(true) => Toast::done("Stopped. Changes made so far stay."),
        // It is kept for a while only.
        Ok(false) | Err(JobRefusal::NotFound) => Toast::failed("That had ended already."),
        Err(refusal) => return Err(refused(refusal)),
    };
    Ok(redirect(RULES, &toast, &headers))
}
