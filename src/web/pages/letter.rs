//! `/letters/{id}`: one letter, full width.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};

use super::{
    back_to::take_back,
    choices::queue_names,
    fragment::{self, answer},
    letter_links::{self, Place, page_of},
    part::{MainPart, parts},
    shell::{Page, Shell},
    visit::Visit,
};
use crate::{
    domain::{
        access::Right,
        actor::Actor,
        filter::{LetterFilter, PageRequest, Sort},
        letter::{Letter, LetterId, LetterSummary},
        mapping::Route,
        queue_pause::QueuePause,
        waiting::WaitingRetry,
    },
    web::{
        error::WebError,
        input::{
            FormPairs,
            path_id::{PathId, missing},
        },
        query::{
            Parameters, borrowed,
            came_from::CameFrom,
            further,
            letter_tab::{FromQuery, LetterTab, TabQuery},
            payload::PayloadQuery,
        },
        shared::{payload, remarks},
        state::AppState,
        view::{
            edits::Linked,
            letter::{LetterView, ViewOptions},
            letter_actions::Obstacles,
            letter_facts::{Alike, RetryView},
            payload::PayloadContext,
            row::Row,
        },
        visitor::{CurrentUser, Visitor},
    },
};

parts! {
    /// The part of the page that a revealing takes the place of.
    RevealedPart { Payload = "payload" }
}

#[derive(Template)]
#[template(path = "letter/page.html", blocks = ["title", "main", "nav"])]
struct LetterPage {
    shell: Shell,
    letter: LetterView,
    /// Offered where a retry may go to another queue.
    queues: Vec<String>,
}

/// What a revealing takes the place of.
#[derive(Template)]
#[template(path = "letter/payload_part.html")]
struct PayloadPart {
    letter: LetterView,
}

type Query = (PayloadQuery, (TabQuery, FromQuery));

pub async fn show(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Letter>,
    visit: Visit<Query, MainPart>,
) -> Result<Response, WebError> {
    let (payload, (tab, from)) = &visit.query;
    let sight = Sight { query: payload.clone(), tab: tab.tab, reveal_to: None };
    let place = Place::Page(from.list.clone());
    let here = payload.href(&further(&page_of(id, from.list.as_ref()), borrowed(&tab.pairs())));
    let page = load(&app, id, &sight, &place, here.clone(), |shell| visit.at(here, shell)).await?;
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
    let sight = Sight { query, tab: LetterTab::Payload, reveal_to: Some(user.clone()) };
    let place = Place::At(back.clone());
    let page = load(&app, id, &sight, &place, back.clone(), |shell| Shell { here: back, ..shell }).await?;
    match part {
        None => Ok(fragment::whole(page.render()?, &page.shell)),
        Some(RevealedPart::Payload) => Ok(fragment::only(PayloadPart { letter: page.letter }.render()?)),
    }
}

async fn load(
    app: &AppState,
    id: LetterId,
    sight: &Sight,
    place: &Place,
    back: String,
    at: impl FnOnce(Shell) -> Shell,
) -> Result<LetterPage, WebError> {
    let facets = async { Ok(app.store().counts_overall().await?) };
    let (letter, shell, facets) =
        tokio::try_join!(view(app, id, sight, place, back), Shell::load(app, Page::Letters), facets)?;
    let letter = letter.ok_or_else(missing::<Letter>)?;
    Ok(LetterPage { shell: at(shell), letter, queues: queue_names(&facets) })
}

/// How a letter is looked at.
#[derive(Default)]
pub struct Sight {
    pub query: PayloadQuery,
    pub tab: LetterTab,
    /// Who is to see hidden values.
    pub reveal_to: Option<Actor>,
}

/// A letter as it is shown here and beside the list. An action leads to `back`.
pub async fn view(
    app: &AppState,
    id: LetterId,
    sight: &Sight,
    place: &Place,
    back: String,
) -> Result<Option<LetterView>, WebError> {
    let store = app.store();
    let Some(letter) = remarks::letter(app, id).await? else { return Ok(None) };
    let letter = Arc::new(letter);
    let reading = payload::read(app, &letter, &sight.query, sight.reveal_to.as_ref()).await?;
    let letter = payload::without_hidden(letter, &reading);
    // Afterwards, so that it tells of who sees this.
    let (history, retry, pauses) = tokio::try_join!(store.history(id), store.waiting_retry(id), store.queue_pauses())?;
    let (now, policies, mappings) = (app.clock.now(), app.policies.book(), app.schemas.mappings());
    let summary = &letter.summary;
    let links = letter_links::links(app, summary, sight.tab, place, back).await?;
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
    let linked = linked(app, summary).await?;
    let options = ViewOptions {
        alike: group.as_ref().map(Alike::new),
        similar: if sight.tab == LetterTab::Similar { similar(app, summary).await? } else { Vec::new() },
        obstacles: obstacles(app, summary, retry.as_ref(), pauses, &linked),
        linked,
        dead_letter_exchange: &app.settings.dead_letter_exchange,
        public_url: &app.settings.public_url,
        needs_token: Visitor::current().is_some_and(|visitor| visitor.user().is_some()),
        now,
    };
    let retry = retry.map(|retry| RetryView::new(summary, &retry, &policies, now));
    Ok(Some(LetterView::new(&letter, retry, &context, options, links)))
}

fn obstacles(
    app: &AppState,
    letter: &LetterSummary,
    retry: Option<&WaitingRetry>,
    pauses: Vec<QueuePause>,
    linked: &Linked,
) -> Obstacles {
    let target = retry.map(|retry| &*retry.queue).or(letter.queue.as_deref());
    Obstacles {
        danger: app.triage.danger(letter),
        not_allowed: target.and_then(|queue| app.triage.targets().check(queue).err()),
        pause: pauses.into_iter().find(|pause| target.is_some_and(|queue| pause.is_of(&letter.broker, queue))),
        is_replaced: linked.in_place.is_some(),
    }
}

/// The newest other letters of its group.
async fn similar(app: &AppState, letter: &LetterSummary) -> Result<Vec<Row>, WebError> {
    const SHOWN: usize = 20;
    let Some(group) = letter.group else { return Ok(Vec::new()) };
    let filter = LetterFilter { groups: vec![group], ..LetterFilter::default() };
    let newest = PageRequest { sort: Sort::Newest, after: None, limit: SHOWN + 1 };
    let mut items = app.store().letters(&filter, &newest).await?.items;
    items.retain(|other| other.id != letter.id);
    items.truncate(SHOWN);
    app.reader.hide_in_lists(&mut items).await;
    let (list, now) = (CameFrom::Group(group), app.clock.now());
    Ok(items.iter().map(|other| Row::new(other, page_of(other.id, Some(&list)), false, now)).collect())
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
