//! `/scheduled`: what waits for its retry, soonest first.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    actions::redirect,
    bulk_action::{self, BulkAction, BulkTarget, Confirmation, take_confirmed},
    filters::{Choice, broker_choices, queue_names},
    fragment,
    part::ListPart,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{filter::FacetCount, job::Bulk, letter::Status},
    web::{
        AppState,
        error::WebError,
        input::{FormPairs, QueryPairs},
        order::Action,
        query::{Pairs, Parameters, WaitingQuery},
        security::CurrentUser,
        view::{number, tally::Tally, text, waiting::WaitingRow},
    },
};

/// Rows of a page, unless the address says otherwise.
const ROWS: usize = 50;

/// What the address says.
struct Asked {
    query: WaitingQuery,
    /// What is about to be done with all of them.
    bulk_action: Option<BulkAction>,
    part: Option<ListPart>,
}

impl Asked {
    fn take(mut pairs: Pairs) -> Result<Self, WebError> {
        let asked = Self {
            query: WaitingQuery::take(&mut pairs)?,
            bulk_action: pairs.take_parsed("all")?,
            part: pairs.take_parsed("part")?,
        };
        pairs.finish(&format!("{}, all, part", WaitingQuery::names()))?;
        Ok(asked)
    }
}

#[derive(Template)]
#[template(path = "scheduled/page.html", blocks = ["title", "main", "results", "nav", "count"])]
struct ScheduledPage {
    shell: Shell,
    /// `1,234 letters wait`
    count: String,
    /// Where the page asks how many wait by now.
    recount: String,
    queue: String,
    queues: Vec<String>,
    brokers: Vec<Choice>,
    rows: Vec<WaitingRow>,
    shows_broker: bool,
    /// Whether there are letters that wait outside of the filter.
    is_filtered: bool,
    /// What can be done with all of them, and where one is asked again.
    all: Vec<(&'static str, String)>,
    total: String,
    confirmation: Option<Confirmation>,
    next: Option<String>,
    first: Option<String>,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let asked = Asked::take(pairs)?;
    let page = load(&app, &asked, &headers).await?;
    Ok(match asked.part {
        None => fragment::whole(page.render()?, &page.shell),
        Some(ListPart::Main) => {
            let blocks = [page.as_title().render()?, page.as_main().render()?, page.as_nav().render()?];
            fragment::main(blocks, &page.shell)
        }
        Some(ListPart::Results) => fragment::of_page(page.as_results().render()?, &page.shell),
        Some(ListPart::Count) => fragment::only(page.as_count().render()?),
    })
}

async fn load(app: &AppState, asked: &Asked, headers: &HeaderMap) -> Result<ScheduledPage, WebError> {
    let query = &asked.query;
    let filter = query.filter();
    let (facets, page) =
        tokio::try_join!(app.store.facets(), app.store.waiting(&filter, query.cursor, query.limit.unwrap_or(ROWS)),)?;
    let (now, policies) = (app.clock.now(), app.policies.book());
    let total = Tally::new(&facets, &filter).total();
    let here = asked.bulk_action.map_or_else(|| query.href(), |all| query.href_with(&[all.as_pair()]));
    let toast = Toast::from_cookie(headers, &query.href()).filter(|_| ListPart::takes_toast(asked.part));
    let first = query.first_page();
    let brokers = app.brokers.all();
    let shell = Shell::new(app, Page::Scheduled, &facets).await?;
    let shell = Shell { toast, here, is_fragment: asked.part.is_some(), ..shell };
    Ok(ScheduledPage {
        count: count(total),
        recount: first.href(),
        queue: query.queues.join(","),
        queues: queue_names(&facets),
        brokers: broker_choices(&query.brokers, &facets, &brokers),
        rows: page.items.iter().map(|waiting| WaitingRow::new(waiting, &policies, now)).collect(),
        shows_broker: brokers.len() > 1 && query.brokers.len() != 1,
        is_filtered: !(query.queues.is_empty() && query.brokers.is_empty()),
        all: BulkAction::ALL.iter().map(|all| (label(*all), first.href_with(&[all.as_pair()]))).collect(),
        total: number::thousands(total),
        confirmation: asked
            .bulk_action
            .filter(|_| total > 0)
            .map(|all| confirmation(all, &first, &facets, now.as_micros())),
        next: page.next.map(|cursor| query.after(cursor).href()),
        first: query.cursor.map(|_| first.href()),
        shell,
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
    let (command, until) = take_confirmed(&mut pairs, Action::OF_ALL, app.clock.now())?;
    let bulk = Bulk { filter: query.filter(), until, command, by: user.clone() };
    let toast = bulk_action::carry_out(&app, bulk).await?;
    Ok(redirect(&query.first_page().href(), &toast, &headers))
}

const fn label(all: BulkAction) -> &'static str {
    match all {
        BulkAction::Retry => "Retry all now",
        BulkAction::Reopen => "Stop retrying all",
        BulkAction::Discard => "Discard all",
    }
}

fn confirmation(all: BulkAction, query: &WaitingQuery, facets: &[FacetCount], now: i64) -> Confirmation {
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
