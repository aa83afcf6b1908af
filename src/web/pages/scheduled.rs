//! `/scheduled`: what waits for its retry, soonest first.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    bulk_action::{self, Asked, BulkAction, BulkTarget, Confirmation, Confirmed},
    choices::NameFields,
    fragment::answer,
    letter_links::page_of,
    next_step::NextStep,
    part::ListPart,
    redirect::redirect,
    shell::{Page, Shell},
};
use crate::{
    domain::{filter::LetterCounts, job::Bulk, letter::Status, pacing::Pacing, waiting::Waiting},
    web::{
        error::WebError,
        input::FormPairs,
        orders::letters::Action,
        query::{Listed, Pager, Parameters, WaitingQuery, came_from::CameFrom},
        state::AppState,
        view::{number, tally::Tally, text, waiting::WaitingRow},
        visitor::CurrentUser,
    },
};

type Visit = super::visit::Visit<(WaitingQuery, Asked), ListPart>;

#[derive(Template)]
#[template(path = "scheduled/page.html", blocks = ["title", "main", "about", "results", "nav"])]
struct ScheduledPage {
    shell: Shell,
    /// `1,234 letters wait`
    count: String,
    names: NameFields,
    /// What its form carries along unseen.
    beside: Vec<(&'static str, String)>,
    rows: Vec<WaitingRow>,
    /// Whether there are letters that wait outside of the filter.
    is_filtered: bool,
    /// Where no dead letter has come at all.
    next: Option<NextStep>,
    /// What can be done with all of them, and where one is asked again.
    all: Vec<(&'static str, String)>,
    total: String,
    confirmation: Option<Confirmation>,
    pager: Pager,
}

pub async fn show(State(app): State<Arc<AppState>>, visit: Visit) -> Result<Response, WebError> {
    let page = load(&app, &visit).await?;
    Ok(answer!(page, visit.part,
        ListPart::Main => main,
        ListPart::Results => of_page as_about as_results,
    ))
}

async fn load(app: &AppState, visit: &Visit) -> Result<ScheduledPage, WebError> {
    let (query, Asked { all }) = &visit.query;
    let (filter, place) = (query.filter(), query.place()?);
    let store = app.store();
    let (facets, page, pauses) = tokio::try_join!(
        store.letter_counts(&filter),
        store.waiting(&filter, place, query.limit()),
        store.queue_pauses()
    )?;
    let (now, policies) = (app.clock.now(), app.policies.book());
    let (names, beside) = NameFields::new(app, query, &facets);
    let (total, first) = (Tally::new(&facets, &filter).total(), query.with(|_| ()));
    let here = all.map_or_else(|| query.href(), |all| query.href_with(&[all.as_pair()]));
    let list = CameFrom::Scheduled(query.href());
    let row =
        |waiting: &Waiting| WaitingRow::new(waiting, page_of(waiting.letter.id, Some(&list)), &policies, &pauses, now);
    Ok(ScheduledPage {
        shell: visit.at(here, Shell::new(app, Page::Scheduled, &facets).await?),
        count: count(total),
        names,
        beside: beside.with(|_| ()).pairs(),
        rows: page.items.iter().map(row).collect(),
        is_filtered: !(filter.queues.is_empty() && query.brokers.is_empty()),
        next: facets.is_empty().then(|| NextStep::of(app)),
        all: OFFERED.iter().map(|all| (label(*all), first.href_with(&[all.as_pair()]))).collect(),
        total: number::thousands(total),
        confirmation: all.filter(|_| total > 0).map(|all| confirmation(all, &first, &facets, now.as_micros())),
        pager: query.pager(page.next),
    })
}

/// Does one thing with all that waits and that came in before the question was asked.
pub async fn act(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let query = WaitingQuery::take(&mut pairs)?;
    let Confirmed { command, until, .. } = Confirmed::take(&mut pairs, Action::OF_ALL, &app)?;
    let bulk = Bulk {
        filter: query.filter(),
        until,
        left: None,
        command,
        edit: None,
        pacing: Pacing::default(),
        by: user.clone(),
    };
    let toast = bulk_action::carry_out(&app, bulk).await?;
    Ok(redirect(&query.with(|_| ()).href(), &toast, &headers))
}

/// What can be done with all of them.
const OFFERED: [BulkAction; 3] = [BulkAction::Retry, BulkAction::Reopen, BulkAction::Discard];

const fn label(all: BulkAction) -> &'static str {
    match all {
        BulkAction::Retry => "Retry all now",
        BulkAction::Reopen => "Stop retrying all",
        BulkAction::Discard => "Discard all",
        BulkAction::Importance => "Set importance of all",
    }
}

fn confirmation(all: BulkAction, query: &WaitingQuery, facets: &LetterCounts, now: i64) -> Confirmation {
    let filter = query.filter();
    let waiting = Tally::new(facets, &filter);
    let whole = BulkTarget {
        status: Status::Scheduled,
        count: waiting.total(),
        of: told_queues(&waiting),
        needs_queue: false,
        post: "/scheduled/all".to_owned(),
        fields: query.pairs(),
        until: now,
        cancel: query.href(),
        importances: &[],
    };
    Confirmation::new(all, whole)
}

/// `orders (1,200), texts (34) and 3 other queues`
fn told_queues(waiting: &Tally<'_>) -> String {
    const NAMED: usize = 4;
    const NAME: usize = 60;
    let queues = waiting.by_queue();
    let name = |(queue, count): &(Option<&str>, u64)| {
        let name = queue.map_or_else(|| "an unknown queue".to_owned(), text::one_line);
        format!("{} ({})", text::shortened(&name, NAME), number::thousands(*count))
    };
    let named: Vec<String> = queues.iter().take(NAMED).map(name).collect();
    match queues.len().saturating_sub(NAMED) as u64 {
        0 => named.join(", "),
        others => format!("{} and {}", named.join(", "), number::plural(others, "other queue")),
    }
}

fn count(total: u64) -> String {
    match total {
        0 => "no scheduled retries".to_owned(),
        1 => "1 scheduled retry".to_owned(),
        _ => format!("{} scheduled retries", number::thousands(total)),
    }
}
