//! `/queues`: every queue that letters came from, with its policy and what comes of it.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    filters::queue_names,
    fragment,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::glob::Globs,
    web::{
        Office,
        error::WebError,
        force::{DAYS, counted_since},
        input::QueryPairs,
        view::{
            healing, number,
            queue::QueueRow,
            tally::{self, QueueCounts, QueueKey},
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
    /// `1,234 queues`
    total: String,
    /// How many the page does not show.
    hidden: String,
    is_filtered: bool,
    shows_broker: bool,
    dead_letter_exchange: String,
}

pub async fn show(
    State(office): State<Arc<Office>>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let patterns = pairs.take_names("queue");
    pairs.finish("queue")?;
    let mut page = load(&office, &patterns).await?;
    page.shell.toast = Toast::from_cookie(&headers, "/letters");
    Ok(fragment::whole(page.render()?, &page.shell))
}

async fn load(office: &Office, patterns: &[String]) -> Result<QueuesPage, WebError> {
    let since = counted_since(office.clock.now());
    let (facets, counts) = tokio::try_join!(office.store.facets(), office.store.retry_counts(since))?;
    let (healing, book) = (healing::by_queue(&counts), office.policies.book());
    let globs = Globs::new(patterns);
    let queues = tally::queues_with(&facets, healing.keys().copied());
    let found: Vec<&(QueueKey<'_>, QueueCounts)> =
        queues.iter().filter(|((_, queue), _)| globs.matches(queue.unwrap_or_default())).collect();
    let row = |(key, counts): &(QueueKey<'_>, QueueCounts)| {
        QueueRow::new(*key, counts, healing.get(key).unwrap_or(&healing::Healing::default()), &book)
    };
    let hidden = found.len().saturating_sub(MOST) as u64;
    Ok(QueuesPage {
        rows: found.iter().take(MOST).map(|queue| row(queue)).collect(),
        queue: patterns.join(","),
        queues: queue_names(&facets),
        days: DAYS,
        total: number::plural(found.len() as u64, "queue"),
        hidden: if hidden > 0 { number::thousands(hidden) } else { String::new() },
        is_filtered: !patterns.is_empty(),
        shows_broker: office.brokers.all().len() > 1,
        dead_letter_exchange: office.settings.dead_letter_exchange.clone(),
        shell: Shell::new(office, Page::Queues, &facets).await?,
    })
}
