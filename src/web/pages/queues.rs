//! `/queues`: every queue that letters came from, with its policy and what comes of it.

use std::sync::Arc;

use amqp_message::glob::Globs;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    choices::queue_names,
    fragment,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::filter::LetterCounts,
    web::{
        AppState,
        error::WebError,
        input::QueryPairs,
        policy_effect::DAYS,
        queue_health::{UnhealthyQueues, levels, retry_figures},
        view::{
            number,
            queue::QueueRow,
            retry_outcomes::QueueOutcomes,
            tally::{self, QueueCounts, QueueKey},
            watch::{LevelCells, WatchLine},
        },
    },
};

/// Queues on the page; of more one sees those with most open letters, and the filter finds the others.
const MOST: usize = 300;

#[derive(Template)]
#[template(path = "queues/page.html")]
struct QueuesPage {
    shell: Shell,
    rows: Vec<QueueRow>,
    queue: String,
    queues: Vec<String>,
    days: u64,
    succeeded_after: String,
    /// `1,234 queues`
    total: String,
    /// How many the page does not show.
    hidden: String,
    is_filtered: bool,
    shows_broker: bool,
    /// Some broker tells how its queues stand.
    has_levels: bool,
    unhealthy: UnhealthyQueues,
    /// How far the queues of each broker are known.
    watch: Vec<WatchLine>,
    dead_letter_exchange: String,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let patterns = pairs.take_names("queue");
    pairs.finish("queue")?;
    let mut page = load(&app, &patterns).await?;
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

async fn load(app: &AppState, patterns: &[String]) -> Result<QueuesPage, WebError> {
    let now = app.clock.now();
    let (facets, figures) = tokio::try_join!(async { Ok(app.store.facets().await?) }, retry_figures(app))?;
    let all = LetterCounts::from(facets);
    let (outcomes, book, globs) = (figures.by_queue(), app.policies.book(), Globs::new(patterns));
    let letters = tally::queues_with(&all.facets, outcomes.keys().copied());
    let names: Vec<&str> = letters.iter().take(MOST).filter_map(|((_, queue), _)| *queue).collect();
    let levels = levels(app, &names, !patterns.is_empty()).await?;
    let mut found = tally::queues_with(&all.facets, outcomes.keys().copied().chain(levels.keys()));
    found.retain(|((_, queue), _)| globs.matches(queue.unwrap_or_default()));
    found.sort_by_key(|(key, _)| levels.urgency(*key));
    let row = |(key, counts): &(QueueKey<'_>, QueueCounts)| {
        let level = levels.get(*key).map(|queue| LevelCells::new(queue, now));
        QueueRow::new(
            *key,
            counts,
            outcomes.get(key).unwrap_or(&QueueOutcomes::default()),
            &book,
            level,
            is_ours(app, *key),
        )
    };
    let hidden = found.len().saturating_sub(MOST) as u64;
    let brokers = app.brokers.all();
    let (unhealthy, watched) =
        tokio::try_join!(UnhealthyQueues::load(app), async { Ok(app.store.watched_brokers().await?) })?;
    let is_set_up = |name: &str| app.settings.watch.contains_key(name);
    Ok(QueuesPage {
        rows: found.iter().take(MOST).map(row).collect(),
        queue: patterns.join(","),
        queues: queue_names(&all),
        days: DAYS,
        succeeded_after: number::span(app.settings.succeeded_after),
        total: number::plural(found.len() as u64, "queue"),
        hidden: if hidden > 0 { number::thousands(hidden) } else { String::new() },
        is_filtered: !patterns.is_empty(),
        shows_broker: brokers.len() > 1,
        has_levels: !app.settings.watch.is_empty(),
        unhealthy,
        watch: brokers.iter().map(|broker| WatchLine::new(broker, is_set_up(&broker.name), &watched, now)).collect(),
        dead_letter_exchange: app.settings.dead_letter_exchange.clone(),
        shell: Shell::new(app, Page::Queues, &all).await?,
    })
}

fn is_ours(app: &AppState, (broker, queue): QueueKey<'_>) -> bool {
    app.settings.watch.get(broker).zip(queue).is_some_and(|(settings, queue)| settings.is_ours(queue))
}
