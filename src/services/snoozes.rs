//! Waking groups that were snoozed: by the clock, and when their letters are other than they were.
//!
//! Letters that come wake groups by themselves, in the transaction in which they come (`store::groups::waking`).

use std::{collections::HashMap, sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    change_feed::ChangeFeed,
    worker::{Next, Worker},
};
use crate::{
    clock::Clock,
    domain::{
        filter::{LetterFilter, PageRequest, Sort},
        group::{Group, GroupId},
        group_state::{Known, Traits},
        letter::{Importance, Letter},
    },
    store::{Store, StoreError, Waiting},
};

/// How often the clock is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// Letters are compared no more often.
const COMPARED_EVERY: Duration = Duration::from_secs(5);
/// Letters from before, and from after, that are compared at most.
const SAMPLE: usize = 50;
/// Bytes of a body above which its letter has no part in that.
const LARGEST: u64 = 256 * 1024;

pub struct Snoozes {
    store: Arc<Store>,
    clock: Clock,
    feed: ChangeFeed,
    compared_at: Option<Instant>,
    /// What was compared, and until when.
    compared: HashMap<GroupId, Timestamp>,
}

impl Worker for Snoozes {
    const NAME: &'static str = "snoozes";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        let woken = self.store.wake_groups(self.clock.now()).await?;
        self.feed.changed(woken);
        if self.compared_at.is_none_or(|at| at.elapsed() >= COMPARED_EVERY) {
            self.compare().await?;
            self.compared_at = Some(Instant::now());
        }
        Ok(Next::Later)
    }
}

impl Snoozes {
    pub fn new(store: Arc<Store>, clock: Clock, feed: ChangeFeed) -> Self {
        Self { store, clock, feed, compared_at: None, compared: HashMap::new() }
    }

    /// Wakes those that wait for a change, where there is one.
    pub async fn compare(&mut self) -> Result<(), StoreError> {
        let waiting = self.store.groups_to_compare().await?;
        self.compared.retain(|group, _| waiting.iter().any(|it| it.group.id == *group));
        for Waiting { group, since } in waiting {
            let Some(what) = self.what_changed(&group, since).await? else { continue };
            if self.store.wake_changed(group.id, &what, self.clock.now()).await? {
                tracing::info!(group = %group.id, what, "a snoozed group has changed");
                self.feed.changed(1);
            }
        }
        Ok(())
    }

    async fn what_changed(&mut self, group: &Group, since: Timestamp) -> Result<Option<String>, StoreError> {
        if let Some(other) = self.store.newly_alike(group, since).await? {
            // Which queue that is may be no business of who sees this group.
            let what = if other.key.queue == group.key.queue { "with another type" } else { "in another queue" };
            return Ok(Some(format!("the same error began {what}")));
        }
        let known = self.known(group, since).await?;
        let is_compared = self.compared.get(&group.id).is_some_and(|until| *until >= group.last_seen);
        if group.last_seen <= since || is_compared {
            return Ok(None);
        }
        let now = self.sample(&LetterFilter { since: Some(just_after(since)), ..of(group) }).await?;
        self.compared.insert(group.id, group.last_seen);
        Ok(what_is_new(&known, &now))
    }

    /// What was known of its letters when it was snoozed. It is kept when it is looked at first: later they may have been
    /// retried and come again, or be gone.
    async fn known(&self, group: &Group, since: Timestamp) -> Result<Known, StoreError> {
        let known = group.state.progress.known.clone().unwrap_or_default();
        if known.traits.is_some() {
            return Ok(known);
        }
        let mut before = self.sample(&LetterFilter { until: Some(just_after(since)), ..of(group) }).await?;
        if before.is_empty() {
            // All have come again within seconds.
            before = self.sample(&of(group)).await?;
        }
        let importance = known.importance.or_else(|| most_important(&before));
        let known = Known { importance, traits: Some(traits(&before)) };
        self.store.keep_known(group.id, since, &known).await?;
        Ok(known)
    }

    async fn sample(&self, filter: &LetterFilter) -> Result<Vec<Letter>, StoreError> {
        let page = PageRequest { sort: Sort::Newest, after: None, limit: SAMPLE };
        let mut letters = self.store.letters(filter, &page).await?.items;
        letters.retain(|letter| letter.size <= LARGEST);
        self.store.with_contents(letters).await
    }
}

/// The letters of a group.
fn of(group: &Group) -> LetterFilter {
    LetterFilter { groups: vec![group.id], ..LetterFilter::default() }
}

fn just_after(at: Timestamp) -> Timestamp {
    at.plus(Duration::from_micros(1))
}

fn most_important(letters: &[Letter]) -> Option<Importance> {
    letters.iter().map(|letter| letter.summary.importance).min()
}

/// What letters say that was not known: in words, without values that may be hidden.
fn what_is_new(known: &Known, now: &[Letter]) -> Option<String> {
    let most = most_important(now)?;
    if let Some(least) = known.importance.filter(|least| most < *least) {
        return Some(format!("a dead letter is {most}, and none was above {least}"));
    }
    let traits = traits(now);
    let name = known.traits.as_ref()?.new_in(&traits)?;
    Some(format!("{name} has a new value"))
}

/// Where messages come from, by what tells that: each with the values that it has.
fn traits(letters: &[Letter]) -> Traits {
    let mut traits = Traits::default();
    for letter in letters {
        let message = &letter.message;
        let headers = message.headers.iter().filter(|(name, _)| says_version(name));
        let headers = headers.filter_map(|(name, value)| Some((format!("the header {name}"), value.as_str()?)));
        let publisher = message.properties.app_id.as_deref().map(|id| ("the publisher (app_id)".to_owned(), id));
        let exchange = ("the exchange".to_owned(), &*letter.summary.exchange);
        for (name, value) in [exchange].into_iter().chain(publisher).chain(headers) {
            traits.add(name, value);
        }
    }
    traits
}

/// `app-version`, `x-service-version`, but not the version of a protocol.
fn says_version(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    // It is named in the activity, which takes no NUL on Postgres.
    let is_plain = !name.chars().any(char::is_control);
    is_plain && name.ends_with("version") && !name.contains("protocol") && !name.contains("schema") && name.len() <= 100
}
