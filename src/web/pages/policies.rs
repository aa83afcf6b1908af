//! `/policies`: what is retried by itself, how, and who said so.

use std::sync::Arc;

use amqp_message::{death::Reason, time::Timestamp};
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    choices::queue_names,
    fragment,
    part::parts,
    policy_form::{PolicyForm, key},
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{
        policy::{ActivePolicy, Origin, Policy, PolicyBook},
        version::{Changed, Expected},
    },
    services::policies::PolicyError,
    web::{
        error::WebError,
        input::{FormPairs, QueryPairs, seen},
        orders::policy::{Refused, Wrong},
        query::Pairs,
        shared::policy_effect::{self, Force, known_queues},
        state::AppState,
        view::{
            conflict::ConflictView,
            policy::{OriginView, in_full, meaning, reason_words, remarks, target},
            queue::set_href,
            text,
        },
        visitor::CurrentUser,
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
    removing: Option<Removing>,
    form: PolicyForm,
    preview: Preview,
    /// Names to choose from.
    queues: Vec<String>,
}

/// A policy that is to be removed.
struct Removing {
    /// As it is sent to take it back.
    queues: String,
    reason: &'static str,
    shown: String,
    meaning: String,
    seen: String,
    conflict: Option<ConflictView>,
}

struct PolicyRow {
    shown: String,
    shown_reason: &'static str,
    is_for_any_reason: bool,
    meaning: String,
    remarks: String,
    origin: OriginView,
    force: Force,
    edit: String,
    /// Where it is asked once more before it is removed.
    remove: String,
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
    let removes = pairs.take("remove")?.is_some();
    let (queues, reason, typed) = PolicyForm::take(&mut pairs)?;
    if removes {
        let mut page = load(&app, PolicyForm::default()).await?;
        page.removing = Some(Removing::new(&app.policies.book(), &queues, reason).ok_or_else(gone)?);
        return Ok(fragment::whole(page.render()?, &page.shell));
    }
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
    let policy = match form.policy() {
        Ok(policy) => policy,
        Err(wrong) => return refuse(&app, form, wrong).await,
    };
    match app.policies.set(&policy, &form.expected(&policy), &user).await {
        Ok(()) => {
            let toast = Toast::done(format!("In force for {}: {}.", target(&policy), meaning(&policy)));
            Ok(redirect("/policies", &toast, &headers))
        }
        Err(PolicyError::Changed(changed)) => {
            app.policies.reload().await?;
            let page = load(&app, form.overtaken(&policy, &changed, app.clock.now())).await?;
            Ok(fragment::conflicting(page.render()?, &page.shell))
        }
        Err(error) => match Refused::from(error) {
            Refused::Wrong(wrong) => refuse(&app, form, vec![wrong]).await,
            Refused::Error(error) => Err(error),
        },
    }
}

/// The page again, with what is wrong beside the form.
async fn refuse(app: &AppState, form: PolicyForm, wrong: Vec<Wrong>) -> Result<Response, WebError> {
    let page = load(app, PolicyForm { wrong, ..form }).await?;
    Ok(fragment::refused(page.render()?, &page.shell))
}

fn gone() -> WebError {
    WebError::not_found("There is no such policy; those of the configuration cannot be removed here.")
}

pub async fn unset(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let (queues, reason) = take_target(&mut pairs)?;
    let expected =
        pairs.take("seen")?.map_or(Expected::Anything, |token| seen::expected(&token, &key(&queues, reason)));
    let was_there = match app.policies.unset(&queues, reason, &expected, &user).await {
        Err(PolicyError::Changed(changed)) => return ask_again(&app, &queues, reason, &changed).await,
        unset => unset.map_err(Refused::from)?,
    };
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

/// The question again, about what the policy is now.
async fn ask_again(
    app: &AppState,
    queues: &str,
    reason: Option<Reason>,
    changed: &Changed<ActivePolicy>,
) -> Result<Response, WebError> {
    app.policies.reload().await?;
    let mut page = load(app, PolicyForm::default()).await?;
    let removing = Removing::new(&app.policies.book(), queues, reason).ok_or_else(gone)?;
    page.removing = Some(Removing { conflict: Some(ConflictView::new(changed, app.clock.now())), ..removing });
    Ok(fragment::conflicting(page.render()?, &page.shell))
}

fn take_target(pairs: &mut Pairs) -> Result<(String, Option<Reason>), WebError> {
    Ok((pairs.need("queues")?, pairs.take_parsed("reason")?))
}

/// The policy that stands for exactly these, or else the one in force for them, to begin with.
fn suggested(book: &PolicyBook, queues: String, reason: Option<Reason>) -> PolicyForm {
    let exact = find(book, &queues, reason);
    let seen = seen::token(&key(&queues, reason), exact.filter(|active| active.origin.is_person()));
    let active =
        exact.or_else(|| policy_effect::next(book, &queues, reason)).or_else(|| book.all().last().map(|last| &**last));
    let form = active.map_or_else(PolicyForm::default, |active| PolicyForm::of(&active.policy));
    let reason = reason.map(|reason| reason.as_str().to_owned()).unwrap_or_default();
    PolicyForm { queues, reason, seen, ..form }
}

/// The policy for exactly these.
fn find<'a>(book: &'a PolicyBook, queues: &str, reason: Option<Reason>) -> Option<&'a ActivePolicy> {
    let exact = |active: &&Arc<ActivePolicy>| active.policy.queues == queues && active.policy.reason == reason;
    book.all().iter().find(exact).map(|active| &**active)
}

async fn load(app: &AppState, form: PolicyForm) -> Result<PoliciesPage, WebError> {
    let store = app.store();
    let (facets, known) = tokio::try_join!(async { Ok(store.counts_overall().await?) }, known_queues(app))?;
    let (book, now) = (app.policies.book(), app.clock.now());
    let forces = policy_effect::all(&book, &known);
    let rows = book.all().iter().zip(forces).map(|(active, force)| PolicyRow::new(active, force, now));
    Ok(PoliciesPage {
        policies: rows.collect(),
        removing: None,
        preview: Preview::new(&form, &book, &known),
        queues: queue_names(&facets),
        form,
        shell: Shell::new(app, Page::Policies, &facets).await?,
    })
}

impl Removing {
    /// `None` where nobody has set one here.
    fn new(book: &PolicyBook, queues: &str, reason: Option<Reason>) -> Option<Self> {
        let active = find(book, queues, reason).filter(|active| active.origin.is_person())?;
        Some(Self {
            queues: queues.to_owned(),
            reason: reason.map_or("", Reason::as_str),
            shown: target(&active.policy),
            meaning: in_full(&active.policy),
            seen: seen::token(&key(queues, reason), Some(active)),
            conflict: None,
        })
    }
}

impl PolicyRow {
    fn new(active: &ActivePolicy, force: Force, now: Timestamp) -> Self {
        let policy = &active.policy;
        Self {
            shown: text::one_line(&policy.queues),
            shown_reason: reason_words(policy.reason),
            is_for_any_reason: policy.reason.is_none(),
            meaning: meaning(policy),
            remarks: remarks(policy).join(" · "),
            origin: OriginView::new(active, now),
            force,
            edit: format!("{}#set", set_href(&policy.queues, policy.reason)),
            remove: format!("{}&remove=yes", set_href(&policy.queues, policy.reason)),
        }
    }
}

impl Preview {
    fn new(form: &PolicyForm, book: &PolicyBook, known: &[String]) -> Self {
        if form.queues.is_empty() && form.wrong.is_empty() {
            return Self::Empty;
        }
        match form.policy() {
            Err(wrong) => wrong.into_iter().next().map_or(Self::Empty, Self::Wrong),
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
