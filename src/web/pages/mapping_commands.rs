//! What is done with mappings on the page of schemas.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    back_to::take_back,
    fragment,
    mapping_form::{MappingForm, Unmapping},
    redirect::redirect,
    schemas::load,
    toast::Toast,
};
use crate::{
    domain::{
        mapping::Carrier,
        version::{Changed, Expected},
    },
    services::schemas::MappingError,
    web::{
        error::WebError,
        htmx::is_htmx,
        input::{FormPairs, seen},
        orders::policy::{Refused, Wrong},
        state::AppState,
        view::{conflict::ConflictView, schema::carrier_words, text},
        visitor::CurrentUser,
    },
};

pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let form = MappingForm::take(&mut pairs)?;
    let back = if pairs.has("back") { take_back(&mut pairs)? } else { "/schemas".to_owned() };
    let mapping = match form.mapping() {
        Ok(mapping) => mapping,
        Err(wrong) => return refuse(&app, form, wrong).await,
    };
    match app.schemas.map(&mapping, &form.expected(&mapping), &user).await {
        Ok(()) => {
            let (carrier, pattern) = (carrier_words(mapping.carrier), text::one_line(&mapping.pattern));
            let toast = Toast::done(format!("Messages of {carrier} {pattern} have the type {}.", mapping.message_type));
            Ok(redirect(&back, &toast, &headers))
        }
        // What htmx asks for comes from another page, which has no room for the question.
        Err(MappingError::Changed(changed)) if is_htmx(&headers) => {
            let now = ConflictView::sentence(&changed);
            Err(WebError::conflict(format!("{now} To replace it, use the page Schemas.")))
        }
        Err(MappingError::Changed(changed)) => {
            app.schemas.reload().await?;
            let form = form.overtaken(&mapping, &changed, app.clock.now());
            let page = load(&app, String::new(), form).await?;
            Ok(fragment::conflicting(page.render()?, &page.shell))
        }
        Err(error) => match Refused::from(error) {
            Refused::Wrong(wrong) => refuse(&app, form, wrong).await,
            Refused::Error(error) => Err(error),
        },
    }
}

/// The page again, with what is wrong beside the form.
async fn refuse(app: &AppState, form: MappingForm, wrong: Wrong) -> Result<Response, WebError> {
    let page = load(app, String::new(), MappingForm { wrong: Some(wrong), ..form }).await?;
    Ok(fragment::refused(page.render()?, &page.shell))
}

pub async fn unset(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let (carrier, pattern): (Carrier, String) = (pairs.need("carrier")?, pairs.need("pattern")?);
    let broker = pairs.take("broker")?;
    let key = (broker.as_deref(), carrier.as_str(), &*pattern);
    let expected = pairs.take("seen")?.map_or(Expected::Anything, |token| seen::expected(&token, &key));
    let unmapped = app.schemas.unmap(broker.as_deref(), carrier, &pattern, &expected, &user).await;
    let was_there = match unmapped {
        Err(MappingError::Changed(Changed(Some(there)))) => {
            app.schemas.reload().await?;
            let mut page = load(&app, String::new(), MappingForm::default()).await?;
            let conflict = ConflictView::new(&Changed(Some(there.clone())), app.clock.now());
            page.unmapping = Some(Unmapping { conflict: Some(conflict), ..Unmapping::new(&there) });
            return Ok(fragment::conflicting(page.render()?, &page.shell));
        }
        unmapped => unmapped.map_err(Refused::from)?,
    };
    let shown = text::name(&pattern, 60);
    let toast = if was_there {
        Toast::done(format!("Removed the mapping of {} {shown}.", carrier_words(carrier)))
    } else {
        Toast::failed(format!("There is no mapping of {} {shown}.", carrier_words(carrier)))
    };
    Ok(redirect("/schemas", &toast, &headers))
}
