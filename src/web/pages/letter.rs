//! `/letters/{id}`: one letter, full width.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};

use super::{
    actions::take_back,
    choices::queue_names,
    fragment::{self, answer},
    part::{MainPart, parts},
    shell::{Page, Shell},
    visit::Visit,
};
use crate::{
    domain::{
        access::Right,
        actor::Actor,
        letter::{Letter, LetterId, LetterSummary},
        mapping::Route,
    },
    web::{
        AppState,
        error::WebError,
        input::FormPairs,
        path_id::{PathId, missing},
        payload::{self, PayloadQuery},
        query::Parameters,
        remarks,
        security::{CurrentUser, Visitor},
        view::{
            edits::Linked,
            letter::{Alike, LetterView, Links, RetryView, ViewOptions},
            payload::PayloadContext,
        },
    },
};

parts! {
    /// The part of the page that a revealing takes the place of.
    RevealedPart { Payload = "payload" }
}

#[derive(Template)]
#[template(path = "letter/page.html", blocks = ["title", "main", "payload", "nav"])]
struct LetterPage {
    shell: Shell,
    letter: LetterView,
    /// Offered where a retry may go to another queue.
    queues: Vec<String>,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Letter>,
    visit: Visit<PayloadQuery, MainPart>,
) -> Result<Response, WebError> {
    let base = format!("/letters/{id}");
    let here = visit.query.href(&base);
    let links = Links { view_base: base, back: here.clone(), close: None };
    let sight = Sight { query: visit.query.clone(), reveal_to: None };
    let page = load(&app, id, &sight, links, |shell| visit.at(here, shell)).await?;
    Ok(answer!(page, visit.part, MainPart::Main => main))
}

/// Shows hidden values. It is no page that an address leads to: whoever comes back finds them hidden again.
pub async fn reveal(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let query = PayloadQuery::take(&mut pairs)?;
    let part: Option<RevealedPart> = pairs.take_parsed("part")?;
    let back = take_back(&mut pairs)?;
    pairs.finish(&format!("{}, back, part", PayloadQuery::names().join(", ")))?;
    let links = Links { view_base: back.clone(), back: back.clone(), close: None };
    let sight = Sight { query, reveal_to: Some(user.clone()) };
    let page = load(&app, id, &sight, links, |shell| Shell { here: back, ..shell }).await?;
    match part {
        None => Ok(fragment::whole(page.render()?, &page.shell)),
        Some(RevealedPart::Payload) => Ok(fragment::only(page.as_payload().render()?)),
    }
}

async fn load(
    app: &AppState,
    id: LetterId,
    sight: &Sight,
    links: Links,
    at: impl FnOnce(Shell) -> Shell,
) -> Result<LetterPage, WebError> {
    let facets = async { Ok(app.store().counts_overall().await?) };
    let (letter, shell, facets) =
        tokio::try_join!(view(app, id, sight, links), Shell::load(app, Page::Letters), facets)?;
    let letter = letter.ok_or_else(missing::<Letter>)?;
    Ok(LetterPage { shell: at(shell), letter, queues: queue_names(&facets) })
}

/// How the payload of a letter is looked at.
#[derive(Default)]
pub struct Sight {
    pub query: PayloadQuery,
    /// Who is to see hidden values.
    pub reveal_to: Option<Actor>,
}

/// A letter as it is shown here and beside the list.
pub async fn view(app: &AppState, id: LetterId, sight: &Sight, links: Links) -> Result<Option<LetterView>, WebError> {
    let store = app.store();
    let Some(letter) = remarks::letter(app, id).await? else { return Ok(None) };
    let letter = Arc::new(letter);
    let reading = payload::read(app, &letter, &sight.query, sight.reveal_to.as_ref()).await?;
    let letter = payload::without_hidden(letter, &reading);
    // Afterwards, so that it tells of who sees this.
    let (history, retry, pauses) = tokio::try_join!(store.history(id), store.waiting_retry(id), store.queue_pauses())?;
    let (now, policies, mappings) = (app.clock.now(), app.policies.book(), app.schemas.mappings());
    let summary = &letter.summary;
    let route = Route {
        broker: &summary.broker,
        queue: summary.queue.as_deref(),
        exchange: &summary.exchange,
        routing_key: &summary.routing_key,
    };
    let context = PayloadContext {
        reading: &reading,
        query: &sight.query,
        mapping: mappings.find(&route).map(|active| &active.mapping),
        history: &history,
        is_revealed: sight.reveal_to.is_some(),
        withheld: Visitor::need(Right::Payload).err().map(|refusal| refusal.detail),
        base: &links.view_base.clone(),
    };
    let group = store.groups_by_id(summary.group.as_slice()).await?.pop();
    let target = retry.as_ref().map(|retry| &*retry.queue).or(summary.queue.as_deref());
    let options = ViewOptions {
        alike: group.as_ref().map(Alike::new),
        danger: app.triage.danger(summary),
        pause: pauses.into_iter().find(|pause| target.is_some_and(|queue| pause.is_of(&summary.broker, queue))),
        not_allowed: target.and_then(|queue| app.triage.targets().check(queue).err()),
        linked: linked(app, summary).await?,
        dead_letter_exchange: &app.settings.dead_letter_exchange,
        now,
    };
    let retry = retry.map(|retry| RetryView::new(summary, &retry, &policies, now));
    Ok(Some(LetterView::new(&letter, retry, &context, options, links)))
}

async fn linked(app: &AppState, letter: &LetterSummary) -> Result<Linked, WebError> {
    let ids: Vec<LetterId> = letter.edited_from.into_iter().chain(letter.replaced_by).collect();
    if ids.is_empty() {
        return Ok(Linked::default());
    }
    let store = app.store();
    let (others, in_place) = tokio::try_join!(store.summaries(&ids), store.in_place_of(letter.id))?;
    let status = |id: LetterId| others.iter().find(|other| other.id == id).map(|other| (id, other.status));
    Ok(Linked { original: letter.edited_from.and_then(status), copy: letter.replaced_by.and_then(status), in_place })
}
