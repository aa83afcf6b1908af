//! `/queues`: every queue that letters came from, with its policy and what comes of it.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    choices::queue_names,
    fragment,
    next_step::NextStep,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{
        filter::{LetterCounts, Names},
        queue_pause::is_paused,
    },
    web::{
        error::WebError,
        input::QueryPairs,
        query::{Parameters, form, parameters},
        shared::{
            policy_effect::DAYS,
            queue_health::{UnhealthyQueues, levels, missing_settings, retry_figures},
        },
        state::AppState,
        view::{
            number,
            queue::QueueRow,
            retry_outcomes::QueueOutcomes,
            tally::{self, QueueCounts, QueueKey},
            watch::{ConcernLine, LevelCells, WatchLine},
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
    /// Settings of services that are likely missing.
    missing: Vec<ConcernLine>,
    /// How far the queues of each broker are known.
    watch: Vec<WatchLine>,
    next: NextStep,
}

parameters! {
    /// Which queues.
    Asked {
        "queue" queues: Vec<String> as form::Repeated,
        "queue_glob" queue_globs: Vec<String> as form::Repeated,
    }
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let Asked { queues, queue_globs } = Asked::take(&mut pairs)?;
    let mut page = load(&app, &Names { exact: queues, globs: queue_globs }).await?;
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

async fn load(app: &AppState, asked: &Names) -> Result<QueuesPage, WebError> {
    let now = app.clock.now();
    let store = app.store();
    let (facets, pauses, figures, shell) = tokio::try_join!(
        async { Ok(store.facets().await?) },
        async { Ok(store.queue_pauses().await?) },
        retry_figures(app),
        Shell::load(app, Page::Queues),
    )?;
    let all = LetterCounts::from(facets);
    let (outcomes, book, matcher) = (figures.by_queue(), app.policies.book(), asked.matcher());
    let letters = tally::queues_with(&all.facets, outcomes.keys().copied());
    let names: Vec<&str> = letters.iter().take(MOST).filter_map(|((_, queue), _)| *queue).collect();
    let levels = levels(app, &names, !asked.is_empty()).await?;
    let mut found = tally::queues_with(&all.facets, outcomes.keys().copied().chain(levels.keys()));
    found.retain(|((_, queue), _)| matcher.matches(queue.unwrap_or_default()));
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
        .paused(key.1.is_some_and(|queue| is_paused(&pauses, key.0, queue)))
    };
    let hidden = found.len().saturating_sub(MOST) as u64;
    let brokers = app.brokers.all();
    let store = app.store();
    let known = found.iter().filter_map(|((broker, queue), _)| Some(((*broker).to_owned(), (*queue)?.to_owned())));
    let known: Vec<_> = known.take(MOST).collect();
    let (unhealthy, watched, missing) = tokio::try_join!(
        UnhealthyQueues::load(app),
        async { Ok(store.watched_brokers().await?) },
        missing_settings(app, &known),
    )?;
    let is_set_up = |name: &str| app.settings.watch.contains_key(name);
    Ok(QueuesPage {
        rows: found.iter().take(MOST).map(row).collect(),
        queue: asked.exact.iter().chain(&asked.globs).next().cloned().unwrap_or_default(),
        queues: queue_names(&all),
        days: DAYS,
        succeeded_after: number::span(app.settings.succeeded_after),
        total: number::plural(found.len() as u64, "queue"),
        hidden: if hidden > 0 { number::thousands(hidden) } else { String::new() },
        is_filtered: !asked.is_empty(),
        shows_broker: brokers.len() > 1,
        has_levels: !app.settings.watch.is_empty(),
        unhealthy,
        missing,
        watch: brokers.iter().map(|broker| WatchLine::new(broker, is_set_up(&broker.name), &watched, now)).collect(),
        next: NextStep::of(app),
        shell,
    })
}

fn is_ours(app: &AppState, (broker, queue): QueueKey<'_>) -> bool {
    app.settings.watch.get(broker).zip(queue).is_some_and(|(settings, queue)| settings.is_ours(queue))
}
