//! `/policies`: what is retried by itself, how, and who said so.

use std::sync::Arc;

use amqp_message::{death::Reason, time::Timestamp};
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    actions::redirect,
    choices::queue_names,
    fragment,
    part::parts,
    policy_form::{FORM_WORDS, PolicyForm},
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::policy::{ActivePolicy, Origin, Policy, PolicyBook},
    web::{
        AppState,
        draft::{Refused, Wrong},
        error::WebError,
        input::{FormPairs, QueryPairs},
        policy_effect::{self, Force, known_queues},
        query::Pairs,
        security::CurrentUser,
        view::{
            policy::{OriginView, in_full, meaning, reason_words, remarks, target},
            queue::set_href,
            text,
        },
    },
};

parts! {
    Part {
        /// What the form would mean.
        Preview = "preview",
    }
}

#[derive(Template)]
#[template(path = "policies/page.html", blocks = ["preview"])]
struct PoliciesPage {
    shell: Shell,
    policies: Vec<PolicyRow>,
    form: PolicyForm,
    preview: Preview,
    /// Names to choose from.
    queues: Vec<String>,
}

struct PolicyRow {
    /// As it is sent to take it back.
    queues: String,
    reason: &'static str,
    shown: String,
    shown_reason: &'static str,
    is_for_any_reason: bool,
    meaning: String,
    remarks: String,
    origin: OriginView,
    force: Force,
    edit: String,
}

/// What the policy in the form would mean.
enum Preview {
    /// Nothing is named yet.
    Empty,
    Wrong(Wrong),
    Means {
        text: String,
        force: Force,
        /// One that is there already and would be replaced.
        replaces: String,
    },
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let part: Option<Part> = pairs.take_parsed("part")?;
    let (queues, reason, typed) = PolicyForm::take(&mut pairs)?;
    pairs.finish(&format!("{FORM_WORDS}, part"))?;
    let form = typed.unwrap_or_else(|| suggested(&app.policies.book(), queues, reason));
    let mut page = load(&app, form).await?;
    if part.is_some() {
        return Ok(fragment::only(page.as_preview().render()?));
    }
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let (_, _, form) = PolicyForm::take(&mut pairs)?;
    let form = form.ok_or_else(|| WebError::bad_request("kind: it takes listed or exponential"))?;
    let set = async {
        let policy = form.policy()?;
        app.policies.set(&policy, &user).await.map(|()| policy).map_err(Refused::from)
    };
    match set.await {
        Ok(policy) => {
            let toast = Toast::done(format!("In force for {}: {}.", target(&policy), meaning(&policy)));
            Ok(redirect("/policies", &toast, &headers))
        }
        Err(Refused::Wrong(wrong)) => {
            let page = load(&app, PolicyForm { wrong: Some(wrong), ..form }).await?;
            Ok(fragment::refused(page.render()?, &page.shell))
        }
        Err(Refused::Error(error)) => Err(error),
    }
}

pub async fn unset(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let (queues, reason) = take_target(&mut pairs)?;
    let was_there = app.policies.unset(&queues, reason, &user).await?;
    let shown = text::name(&queues, 60);
    let toast = if was_there {
        let book = app.policies.book();
        let now = policy_effect::next(&book, &queues, reason).map_or_else(
            || "There is no automatic retry there now.".to_owned(),
            |next| format!("In force there now, from {}: {}.", target(&next.policy), meaning(&next.policy)),
        );
        Toast::done(format!("Removed the policy of {shown}. {now}"))
    } else {
        Toast::failed(format!("There is no policy of {shown}."))
    };
    Ok(redirect("/policies", &toast, &headers))
}

fn take_target(pairs: &mut Pairs) -> Result<(String, Option<Reason>), WebError> {
    Ok((pairs.need("queues")?, pairs.take_parsed("reason")?))
}

/// The policy that stands for exactly these, or else the one in force for them, to begin with.
fn suggested(book: &PolicyBook, queues: String, reason: Option<Reason>) -> PolicyForm {
    let exact = |active: &&Arc<ActivePolicy>| active.policy.queues == queues && active.policy.reason == reason;
    let active = book.all().iter().find(exact).map(|active| &**active);
    let active =
        active.or_else(|| policy_effect::next(book, &queues, reason)).or_else(|| book.all().last().map(|last| &**last));
    let form = active.map_or_else(PolicyForm::default, |active| PolicyForm::of(&active.policy));
    let reason = reason.map(|reason| reason.as_str().to_owned()).unwrap_or_default();
    PolicyForm { queues, reason, ..form }
}

async fn load(app: &AppState, form: PolicyForm) -> Result<PoliciesPage, WebError> {
    let (facets, known) = tokio::try_join!(async { Ok(app.store.facets().await?) }, known_queues(app))?;
    let (book, now) = (app.policies.book(), app.clock.now());
    let forces = policy_effect::all(&book, &known);
    let rows = book.all().iter().zip(forces).map(|(active, force)| PolicyRow::new(active, force, now));
    Ok(PoliciesPage {
        policies: rows.collect(),
        preview: Preview::new(&form, &book, &known),
        queues: queue_names(&facets),
        form,
        shell: Shell::new(app, Page::Policies, &facets).await?,
    })
}

impl PolicyRow {
    fn new(active: &ActivePolicy, force: Force, now: Timestamp) -> Self {
        let policy = &active.policy;
        Self {
            queues: policy.queues.clone(),
            reason: policy.reason.map_or("", Reason::as_str),
            shown: text::one_line(&policy.queues),
            shown_reason: reason_words(policy.reason),
            is_for_any_reason: policy.reason.is_none(),
            meaning: meaning(policy),
            remarks: remarks(policy).join(" · "),
            origin: OriginView::new(active, now),
            force,
            edit: format!("{}#set", set_href(&policy.queues, policy.reason)),
        }
    }
}

impl Preview {
    fn new(form: &PolicyForm, book: &PolicyBook, known: &[String]) -> Self {
        if form.queues.is_empty() && form.wrong.is_none() {
            return Self::Empty;
        }
        match form.policy() {
            Err(wrong) => Self::Wrong(wrong),
            Ok(policy) => Self::means(policy, book, known),
        }
    }

    fn means(policy: Policy, book: &PolicyBook, known: &[String]) -> Self {
        let is_same = |other: &Policy| other.queues == policy.queues && other.reason == policy.reason;
        let replaced = book.all().iter().find(|active| is_same(&active.policy));
        let replaces = replaced.filter(|active| active.policy != policy);
        let others = book.all().iter().filter(|active| !is_same(&active.policy)).map(|active| (**active).clone());
        // Whose it is makes no difference to where it applies.
        let draft = ActivePolicy { policy: policy.clone(), origin: Origin::Configuration };
        let with_it = PolicyBook::new(&[], others.chain([draft]).collect());
        let place = with_it.all().iter().position(|active| is_same(&active.policy));
        Self::Means {
            text: in_full(&policy),
            replaces: replaces.map(|active| in_full(&active.policy)).unwrap_or_default(),
            force: place
                .and_then(|place| policy_effect::all(&with_it, known).into_iter().nth(place))
                .unwrap_or_default(),
        }
    }
}
