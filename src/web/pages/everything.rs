//! One thing done with all that waits: asked once more first, then done in the background.

use std::{str::FromStr, sync::Arc, time::Duration};

use axum::{extract::State, http::HeaderMap, response::Response};
use tokio::sync::oneshot;

use super::{actions::redirect, toast::Toast};
use crate::{
    domain::{actor::Actor, command::Command, filter::LetterFilter, job::Job, letter::Status, time::Timestamp},
    store::StoreError,
    web::{
        Office,
        error::WebError,
        input::FormPairs,
        query::WaitingQuery,
        view::{number, tally::Tally, text},
    },
};

/// What can be done with all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Everything {
    Retry,
    HandOver,
    Discard,
}

impl FromStr for Everything {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|all| all.as_str() == word);
        known.ok_or_else(|| format!("{word:?} is not possible; it takes one of retry, reopen, discard"))
    }
}

impl Everything {
    pub const ALL: [Self; 3] = [Self::Retry, Self::HandOver, Self::Discard];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::HandOver => "reopen",
            Self::Discard => "discard",
        }
    }

    /// As it stands in the address that asks once more.
    pub const fn as_pair(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Retry => &[("all", "retry")],
            Self::HandOver => &[("all", "reopen")],
            Self::Discard => &[("all", "discard")],
        }
    }

    pub const fn label(self) -> &'static str {
        match self {
            Self::Retry => "Retry all now",
            Self::HandOver => "Hand all over to a person",
            Self::Discard => "Discard all",
        }
    }

    const fn command(self) -> Command {
        match self {
            Self::Retry => Command::Retry { delay: Duration::ZERO, queue: None },
            Self::HandOver => Command::Reopen,
            Self::Discard => Command::Discard { note: None },
        }
    }

    fn done(self, n: u64) -> String {
        let letters = number::plural(n, "letter");
        match self {
            Self::Retry => format!("Sending {letters} back."),
            Self::HandOver => format!("Handed {letters} over; they are open now."),
            Self::Discard => format!("Discarded {letters}."),
        }
    }
}

/// The question before it is done: what, how many, and of which queues.
pub struct Asking {
    pub action: &'static str,
    /// `Retry all 1,234 now`
    pub button: String,
    pub is_dangerous: bool,
    pub question: String,
    pub consequence: &'static str,
    /// Carried along unseen.
    pub fields: Vec<(&'static str, String)>,
    /// What comes in after this is left alone, in microseconds since the epoch.
    pub until: i64,
    pub cancel: String,
}

impl Asking {
    pub fn new(all: Everything, query: &WaitingQuery, waiting: &Tally<'_>, now: i64) -> Self {
        let n = number::thousands(waiting.total());
        let of = told_queues(waiting);
        let (button, question, consequence) = match all {
            Everything::Retry => (
                format!("Retry all {n} now"),
                format!("Send {n} back now, to {of}?"),
                "They go out as fast as the broker takes them, whatever their policy says.",
            ),
            Everything::HandOver => (
                format!("Hand all {n} over"),
                format!("Hand {n} of {of} over to a person?"),
                "No policy retries them any more; they stand among the open letters.",
            ),
            Everything::Discard => (
                format!("Discard all {n}"),
                format!("Discard {n} of {of}?"),
                "They are kept among the discarded letters and can be reopened there.",
            ),
        };
        Self {
            action: all.as_str(),
            button,
            is_dangerous: all == Everything::Discard,
            question,
            consequence,
            fields: query.pairs(),
            until: now,
            cancel: query.href(),
        }
    }
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

/// How long a page waits for the end; a hundred thousand letters take longer.
const PATIENCE: Duration = Duration::from_secs(3);

pub async fn act(
    State(office): State<Arc<Office>>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let query = WaitingQuery::take(&mut pairs)?;
    let action: Option<Everything> = pairs.take_parsed("action")?;
    let until: Option<i64> = pairs.take_parsed("until")?;
    let missing = || WebError::bad_request("action and until are needed: ask on the page first");
    let (all, until) = action.zip(until).ok_or_else(missing)?;
    let toast = match begin(&office, all, &query, Timestamp::from_micros(until)).await {
        None => Toast::done(
            "It takes a while and goes on by itself; the counts here tell how far it is.".to_owned(),
            Vec::new(),
        ),
        Some(ended) => tell(all, &ended?),
    };
    Ok(redirect(&query.first_page().href(), &toast, &headers))
}

/// Does it in the background; `None` if it is not done yet.
async fn begin(
    office: &Arc<Office>,
    all: Everything,
    query: &WaitingQuery,
    until: Timestamp,
) -> Option<Result<Job, StoreError>> {
    let (tell, ended) = oneshot::channel();
    let filter = LetterFilter { statuses: vec![Status::Scheduled], ..query.filter() };
    let worker = Arc::clone(office);
    office.tasks.spawn(async move {
        let stop = &worker.settings.closing;
        let job = worker.triage.act_on_all(&filter, until, &all.command(), &Actor::local(), stop).await;
        // Nobody waits for it any more.
        if let Err(Err(error)) = tell.send(job) {
            tracing::error!(error = %error, "an action on all that waits was cut short");
        }
    });
    tokio::time::timeout(PATIENCE, ended).await.ok()?.ok()
}

fn tell(all: Everything, job: &Job) -> Toast {
    match (job.done, job.failed) {
        (0, 0) => Toast::failed("Nothing waits there any more.".to_owned()),
        (done, 0) => Toast::done(all.done(done), Vec::new()),
        (done, failed) => {
            let more = "not: they were being sent back at that moment, or had gone.";
            Toast::done(format!("{} {} {more}", all.done(done), number::thousands(failed)), Vec::new())
        }
    }
}
