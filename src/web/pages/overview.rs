//! `/`: how things stand.

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    digests, fragment,
    groups::first_rows,
    next_step::NextStep,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{
        filter::{LetterCounts, LetterFilter},
        group::{GroupCounts, GroupFilter},
        letter::{Importance, Status},
        queue_pause::{QueuePause, is_paused},
    },
    web::{
        error::WebError,
        query::{GroupQuery, LetterQuery, Listed, queue_path},
        shared::{marks::with_marks, queue_health::UnhealthyQueues, recent::Recent},
        state::AppState,
        view::{
            chart::Chart,
            digest::PlanView,
            group::GroupRow,
            incident::IncidentLine,
            number,
            outcome::OutcomeView,
            tally::{self, QueueCounts, QueueKey, Tally},
            text,
            time::Moment,
        },
    },
};

/// Groups listed; their page has all of them.
const MAX_GROUPS: usize = 6;
/// Incidents listed, the newest.
const MAX_INCIDENTS: usize = 8;
/// Queues listed; the filter of the letters page knows them all.
const MAX_QUEUES: usize = 12;

#[derive(Template)]
#[template(path = "overview/page.html")]
struct OverviewPage {
    shell: Shell,
    today: String,
    tiles: Vec<Tile>,
    /// Those that a person should look at first, and how many there are.
    groups: Vec<GroupRow>,
    n_groups: String,
    shows_broker: bool,
    /// Of the last day.
    outcome: OutcomeView,
    succeeded_after: String,
    totals: Vec<Total>,
    chart: Chart,
    chart_href: String,
    chart_time: String,
    queues: Vec<QueueLine>,
    n_queues: usize,
    has_letters: bool,
    next: NextStep,
    decided: u64,
    digests: Vec<PlanView>,
    watch: WatchPanel,
    incidents: Vec<IncidentLine>,
}

/// What the watch has found.
struct WatchPanel {
    /// Some broker is watched.
    is_on: bool,
    unhealthy: UnhealthyQueues,
}

/// Open letters of one importance.
struct Tile {
    importance: &'static str,
    href: String,
    count: String,
    /// `5 groups`; empty while no letter of it is in a group yet.
    groups: String,
    groups_href: String,
    oldest: Option<Oldest>,
}

struct Oldest {
    href: String,
    at: Moment,
}

struct Total {
    status: &'static str,
    count: String,
    href: String,
}

struct QueueLine {
    name: String,
    is_known: bool,
    /// Its page; empty where it is not known.
    page: String,
    broker: String,
    href: String,
    open: String,
    scheduled: String,
    parts: Vec<BarPart>,
    /// Retries into it are paused.
    is_paused: bool,
    /// The highest importance among its open letters.
    importance: &'static str,
}

/// A piece of a bar that is a hundred wide for the queue with most open letters.
struct BarPart {
    class: &'static str,
    x: u64,
    width: u64,
}

pub async fn show(State(app): State<Arc<AppState>>, headers: HeaderMap) -> Result<Response, WebError> {
    let mut page = load(&app).await?;
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

async fn load(app: &AppState) -> Result<OverviewPage, WebError> {
    const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let now = app.clock.now();
    let (everything, every_group) = (LetterFilter::default(), GroupFilter::default());
    let succeeded_after = app.settings.succeeded_after;
    let store = app.store();
    let (facets, oldest, recent, counts, outcome, pauses) = tokio::try_join!(
        store.letter_counts(&everything),
        store.oldest_open(),
        Recent::load(&store, &everything, now),
        store.count_groups(&every_group),
        store.outcome(now.minus(A_DAY), now.minus(succeeded_after)),
        store.queue_pauses(),
    )?;
    let chart = recent.chart(now, &all_letters());
    let (groups, shell, chart, digests, unhealthy, incidents) = tokio::try_join!(
        first_rows(app, MAX_GROUPS),
        Shell::new(app, Page::Overview, &facets),
        with_marks(app, (chart, recent.window), |_| true),
        digests::plans(&store, &app.digests, now),
        UnhealthyQueues::load(app),
        incidents(app, now),
    )?;
    let tally = Tally::new(&facets, &everything);
    let queues = tally::queues(&facets);
    Ok(OverviewPage {
        shell,
        groups,
        n_groups: number::thousands(counts.open),
        shows_broker: app.brokers.all().len() > 1,
        outcome: OutcomeView::new(&outcome),
        succeeded_after: number::span(succeeded_after),
        today: Moment::new(now, now).absolute,
        tiles: Importance::ALL.iter().map(|importance| tile(*importance, &facets, &counts, &oldest, now)).collect(),
        totals: Status::ALL.iter().map(|status| total(*status, &tally)).collect(),
        chart,
        chart_href: all_letters().href(),
        chart_time: recent.told(),
        n_queues: queues.iter().filter(|(_, counts)| counts.of(Status::Open) > 0).count(),
        queues: queue_lines(&queues, &pauses),
        has_letters: !facets.is_empty(),
        next: NextStep::of(app),
        digests,
        decided: tally.of_status(Status::Retried) + tally.of_status(Status::Discarded),
        watch: WatchPanel { is_on: !app.settings.watch.is_empty(), unhealthy },
        incidents,
    })
}

async fn incidents(app: &AppState, now: Timestamp) -> Result<Vec<IncidentLine>, WebError> {
    let open = app.store().open_incidents().await?;
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let newest: Vec<_> = open.iter().rev().take(MAX_INCIDENTS).collect();
    let keys: Vec<String> = newest.iter().map(|record| record.incident.key.clone()).collect();
    let notifications = app.store().notifications_of_incidents(&keys).await?;
    Ok(newest.into_iter().map(|record| IncidentLine::new(record, &notifications, now)).collect())
}

fn all_letters() -> LetterQuery {
    LetterQuery { statuses: Some(Vec::new()), ..LetterQuery::default() }
}

fn open_letters(importance: Importance) -> LetterQuery {
    LetterQuery { importances: vec![importance], ..LetterQuery::default() }
}

fn tile(
    importance: Importance,
    facets: &LetterCounts,
    groups: &GroupCounts,
    oldest: &[(Importance, Timestamp)],
    now: Timestamp,
) -> Tile {
    let n_groups = groups.by_importance[importance as usize];
    let of_importance = GroupQuery { importances: vec![importance], ..GroupQuery::default() };
    let open = LetterFilter { statuses: vec![Status::Open], ..LetterFilter::default() };
    let query = open_letters(importance);
    let oldest = oldest.iter().find(|(of, _)| *of == importance).map(|(_, at)| Oldest {
        href: query.with(|query| query.sort = crate::domain::filter::Sort::Oldest).href(),
        at: Moment::new(*at, now),
    });
    Tile {
        importance: importance.as_str(),
        href: query.href(),
        count: number::thousands(Tally::new(facets, &open).of_importance(importance)),
        groups: if n_groups > 0 { number::plural(n_groups, "group") } else { String::new() },
        groups_href: of_importance.href(),
        oldest,
    }
}

fn total(status: Status, tally: &Tally) -> Total {
    let query = LetterQuery { statuses: Some(vec![status]), ..LetterQuery::default() };
    Total { status: status.as_str(), count: number::thousands(tally.of_status(status)), href: query.href() }
}

fn queue_lines(queues: &[(QueueKey<'_>, QueueCounts)], pauses: &[QueuePause]) -> Vec<QueueLine> {
    let open = queues.iter().filter(|(_, counts)| counts.of(Status::Open) > 0);
    let most = queues.first().map_or(0, |(_, counts)| counts.of(Status::Open));
    open.take(MAX_QUEUES).map(|(key, counts)| queue_line(*key, counts, most, pauses)).collect()
}

fn queue_line((broker, queue): QueueKey<'_>, counts: &QueueCounts, most: u64, pauses: &[QueuePause]) -> QueueLine {
    let query = LetterQuery { brokers: vec![broker.to_owned()], ..LetterQuery::of_queue(queue) };
    QueueLine {
        name: text::one_line(queue.unwrap_or("queue unknown")),
        is_known: queue.is_some(),
        page: queue_path::href_of(broker, queue),
        broker: text::one_line(broker),
        href: query.href(),
        open: number::thousands(counts.of(Status::Open)),
        scheduled: number::thousands(counts.of(Status::Scheduled)),
        parts: bar_parts(counts, most),
        is_paused: queue.is_some_and(|queue| is_paused(pauses, broker, queue)),
        importance: counts.open_by_importance.keys().next().map_or("low", |importance| importance.as_str()),
    }
}

fn bar_parts(counts: &QueueCounts, most: u64) -> Vec<BarPart> {
    const LEAST: u64 = 2;
    let mut x = 0;
    let mut parts = Vec::new();
    for (importance, count) in &counts.open_by_importance {
        let width = LEAST.max(count.saturating_mul(100 - 4 * LEAST) / most.max(1));
        parts.push(BarPart { class: importance.as_str(), x, width });
        x += width;
    }
    parts
}
