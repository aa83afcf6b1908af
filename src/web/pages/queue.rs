//! `/queues/{broker}/{queue}`: one queue, what is the matter with it, and what dlo does next.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    fragment,
    groups::{QueueGroups, rows_of_queue},
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{filter::LetterCounts, letter::Status},
    web::{
        error::WebError,
        input::FormPairs,
        orders::{letters::read_note, queue_pausing},
        query::{
            LetterQuery, Listed, WaitingQuery,
            queue_path::{self, QueuePath},
        },
        shared::{
            marks::{is_about, with_marks},
            queue_details::{DAYS, QueueDetails},
            queue_health::{UnhealthyQueues, missing_settings},
            recent::Recent,
        },
        state::AppState,
        view::{
            chart::Chart,
            number,
            queue_page::{BadgeView, PolicyTimeline, SuggestionView},
            small_chart::SmallChart,
            text,
            time::Moment,
            watch::{ConcernLine, LevelCells},
        },
        visitor::CurrentUser,
    },
};

/// Groups that are shown; the list has all of them.
const GROUPS: usize = 8;

#[derive(Template)]
#[template(path = "queue/page.html")]
struct QueuePage {
    shell: Shell,
    name: String,
    broker: String,
    badges: Vec<BadgeView>,
    next: Vec<String>,
    suggestion: Option<SuggestionView>,
    /// What was reported of it, and settings that are likely missing.
    concerns: Vec<ConcernLine>,
    level: Option<LevelCells>,
    /// `quorum, holds 50,000 messages at most`
    kind: String,
    looked_at: Option<Moment>,
    is_watched: bool,
    is_ours: bool,
    open: String,
    letters: String,
    scheduled: String,
    scheduled_href: String,
    received: Chart,
    /// `last 24 hours`
    received_in: String,
    /// Depth and consumers over the last 24 hours, as far as they were told.
    samples: Vec<SmallChart>,
    days: Vec<SmallChart>,
    n_days: u32,
    succeeded_after: String,
    groups: QueueGroups,
    policies: Vec<PolicyTimeline>,
    pause: Option<PauseView>,
    /// Where forms are sent.
    here: String,
}

/// Who has paused retries, and why.
struct PauseView {
    until_consumers: bool,
    by: String,
    at: Moment,
    note: String,
}

/// Pauses retries into the queue.
pub async fn pause(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    path: QueuePath,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let until_consumers = pairs.take("until")?.as_deref() == Some("consumers");
    let note = read_note(&pairs.take("note")?.unwrap_or_default())?;
    queue_pausing::pause(&app, &path, until_consumers, note, &user).await?;
    let until = if until_consumers { " until it has a consumer" } else { "" };
    let toast = Toast::done(format!("Nothing is retried into {}{until}.", text::one_line(&path.queue)));
    Ok(redirect(&queue_path::href(&path.broker, &path.queue), &toast, &headers))
}

/// Resumes them.
pub async fn resume(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    path: QueuePath,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let queue = text::one_line(&path.queue);
    let toast = match queue_pausing::resume(&app, &path, &user).await? {
        true => Toast::done(format!("Retries into {queue} go on.")),
        false => Toast::done(format!("Retries into {queue} were not paused.")),
    };
    Ok(redirect(&queue_path::href(&path.broker, &path.queue), &toast, &headers))
}

pub async fn show(State(app): State<Arc<AppState>>, path: QueuePath, headers: HeaderMap) -> Result<Response, WebError> {
    let mut page = load(&app, path).await?;
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

async fn load(app: &AppState, path: QueuePath) -> Result<QueuePage, WebError> {
    let now = app.clock.now();
    let facets = app.store().facets().await?;
    let details = QueueDetails::load(app, path, &facets).await?;
    let QueuePath { broker, queue } = &details.path;
    let brokers = vec![broker.clone()];
    let letters = LetterQuery { brokers: brokers.clone(), ..LetterQuery::of_queue(Some(queue)) };
    let everything = letters.with(|query| query.statuses = Some(Vec::new()));
    let store = app.store();
    let filter = everything.filter(now);
    let (recent, groups, concerns) = tokio::try_join!(
        async { Ok(Recent::load(&store, &filter, now).await?) },
        rows_of_queue(app, broker, queue, GROUPS),
        concerns(app, broker, queue),
    )?;
    let facts = &details.facts;
    let days = |title, class, of| SmallChart::of_days((title, class), &details.days, of);
    let received = (recent.chart(now, &everything), recent.window);
    let received = with_marks(app, received, |marker| is_about(marker, broker, Some(queue))).await?;
    let book = app.policies.book();
    Ok(QueuePage {
        name: text::one_line(queue),
        broker: text::one_line(broker),
        badges: facts.badges().into_iter().map(BadgeView::from).collect(),
        next: facts.next(),
        suggestion: facts.suggestion().map(SuggestionView::from),
        concerns,
        level: details.watched.as_ref().map(|watched| LevelCells::new(watched, now)),
        kind: kind(&details),
        looked_at: details.looked_at.map(|at| Moment::new(at, now)),
        is_watched: details.is_watched,
        is_ours: details.is_ours,
        open: number::thousands(details.counts.of(Status::Open)),
        letters: letters.href(),
        scheduled: number::thousands(details.counts.of(Status::Scheduled)),
        scheduled_href: WaitingQuery { brokers, ..WaitingQuery::of_queue(Some(queue)) }.href(),
        received,
        received_in: recent.told(),
        samples: SmallChart::of_samples(&details.samples, now),
        days: vec![
            days("Failed", "alarm", |day| day.failed),
            days("Succeeded", "ok", |day| day.succeeded),
            days("Exhausted", "warn", |day| day.exhausted),
        ],
        n_days: DAYS,
        succeeded_after: number::span(app.settings.succeeded_after),
        groups,
        policies: if details.is_ours { Vec::new() } else { PolicyTimeline::all(queue, &book) },
        pause: facts.pause.as_ref().map(|pause| PauseView {
            until_consumers: pause.until_consumers,
            by: text::one_line(pause.by.as_str()),
            at: Moment::new(pause.at, now),
            note: text::one_line(&pause.note),
        }),
        here: queue_path::href(broker, queue),
        shell: Shell { here: queue_path::href(broker, queue), ..shell(app, facets).await? },
    })
}

async fn shell(app: &AppState, facets: Vec<crate::domain::filter::FacetCount>) -> Result<Shell, WebError> {
    Shell::new(app, Page::Queues, &LetterCounts::from(facets)).await
}

/// What was found out about it that no badge says.
async fn concerns(app: &AppState, broker: &str, queue: &str) -> Result<Vec<ConcernLine>, WebError> {
    let named = [(broker.to_owned(), queue.to_owned())];
    let (mut lines, missing) = tokio::try_join!(UnhealthyQueues::reported_of(app, broker, queue), async {
        missing_settings(app, &named).await
    })?;
    let page = queue_path::href(broker, queue);
    let is_of_it = |line: &ConcernLine| line.queue.as_ref().is_some_and(|(_, href)| *href == page);
    lines.extend(missing.into_iter().filter(is_of_it));
    Ok(lines)
}

fn kind(details: &QueueDetails) -> String {
    let Some(level) = details.watched.as_ref().map(|watched| &watched.level) else { return String::new() };
    let limit = level.max_length.map(|limit| format!("holds {} at most", number::plural(limit, "message")));
    let policy = level.policy.as_deref().map(|policy| format!("RabbitMQ policy {}", text::one_line(policy)));
    let parts: Vec<_> = [Some(level.kind.to_string()), limit, policy].into_iter().flatten().collect();
    parts.join(", ")
}
