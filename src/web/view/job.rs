//! A job, as pages show it.

use std::time::Duration;

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{
    group, number, silence, text,
    time::{self, Moment},
};
use crate::{
    domain::{
        actor::Actor,
        command::Command,
        group::Group,
        job::{APPLY_RULES, JobLetters, JobOutcome, JobRecord, JobState, NAME_TYPES, check_control},
        letter::LetterId,
        number::exact,
        pacing::{Canary, Pace, Pacing, Stage},
    },
    services::triage::scope,
};

/// The bar is a hundred wide.
const WIDTH: u64 = 100;
/// Characters of what it is about.
const ABOUT: usize = 160;

pub struct JobView {
    pub id: Uuid,
    pub href: String,
    /// `Retry 9,870: OrderPlaced in billing`
    pub title: String,
    /// Its group, where it is about one.
    pub group: Option<String>,
    pub by: String,
    pub at: Moment,
    /// How it is held back; empty where it is not.
    pub how: String,
    pub state: &'static str,
    pub figures: Vec<Figure>,
    /// What the bar shows, for who does not see it.
    pub told: String,
    /// What is going on, in a sentence.
    pub sentence: String,
    pub is_alarming: bool,
    pub is_retry: bool,
    /// It goes on, or some of its letters wait to be sent.
    pub is_under_way: bool,
    /// Whether its figures change with the time.
    pub changes: bool,
    pub can_pause: bool,
    pub can_resume: bool,
    pub can_cancel: bool,
    pub can_undo: bool,
    /// Why whoever looks may do none of that; empty where they may.
    pub refusal: String,
    /// Letters that were refused, where it names them, and why.
    pub refused: Vec<(Option<LetterId>, String)>,
    pub refused_left_out: u64,
}

/// One of its figures, with its share of the bar.
pub struct Figure {
    pub name: &'static str,
    pub class: &'static str,
    pub count: String,
    pub x: u64,
    pub width: u64,
}

pub fn href(job: Uuid) -> String {
    format!("/jobs/{job}")
}

impl JobView {
    pub fn new(record: &JobRecord, letters: &JobLetters, group: Option<&Group>, user: &Actor, now: Timestamp) -> Self {
        let (job, outcome) = (&record.job, record.outcome(letters));
        let is_retry = record.is_retry();
        let counts = if is_retry { of_retry(&outcome, job.skipped) } else { of_others(record) };
        let pacing = record.bulk.as_ref().map(|bulk| bulk.pacing).unwrap_or_default();
        let goes_on = job.goes_on();
        let is_bulk = record.bulk.is_some();
        let is_under_way = goes_on || outcome.to_send > 0;
        Self {
            id: job.id,
            href: href(job.id),
            title: title(record, group),
            group: group.map(|group| group::href(group.id)),
            by: text::one_line(record.by.as_str()),
            at: Moment::new(record.at, now),
            how: how(record, pacing),
            state: state(record, (letters, &outcome), now),
            told: counts
                .iter()
                .map(|(name, _, count)| format!("{} {name}", number::thousands(*count)))
                .collect::<Vec<_>>()
                .join(", "),
            figures: figures(&counts, job.total),
            sentence: [
                sentence(record, &outcome, left(record, letters, &outcome, now)),
                skipped(job.skipped),
                begins(record, &outcome, now),
                held(letters),
                silence::told(record, letters, now),
            ]
            .into_iter()
            .filter(|sentence| !sentence.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
            is_alarming: job.state == JobState::Stopped,
            changes: is_under_way || outcome.pending > 0,
            can_pause: is_retry && is_bulk && (job.state == JobState::Running || is_unsent(job.state, &outcome)),
            can_resume: job.state == JobState::Paused,
            can_cancel: goes_on || (is_retry && is_unsent(job.state, &outcome)),
            can_undo: record.may_be_undone(&outcome),
            refusal: check_control(&record.acts_on, user).err().map(|why| why.to_string()).unwrap_or_default(),
            refused: job.refused().take(20).map(|(letter, why)| (letter, text::one_line(why))).collect(),
            refused_left_out: job.failed.saturating_sub(job.errors.len().min(20) as u64),
            is_retry,
            is_under_way,
        }
    }
}

/// `43 %`
pub fn percent(handled: u64, total: u64) -> String {
    format!("{} %", u128::from(handled.min(total)) * 100 / u128::from(total.max(1)))
}

/// `payloads edited, after 10 min, 20 per second`
fn how(record: &JobRecord, pacing: Pacing) -> String {
    let is_edited = record.bulk.as_ref().is_some_and(|bulk| bulk.edit.is_some());
    let edit = is_edited.then(|| "payloads edited".to_owned());
    let delay = record.bulk.as_ref().map(|bulk| bulk.command.delay()).filter(|delay| !delay.is_zero());
    let delay = delay.map(|delay| format!("after {}", exact(delay)));
    edit.into_iter().chain(delay).chain(pacing.holds().then(|| pacing.in_words())).collect::<Vec<_>>().join(", ")
}

/// Its state, or what its letters wait for. One of which some letters were refused has not failed.
fn state(record: &JobRecord, (letters, outcome): (&JobLetters, &JobOutcome), now: Timestamp) -> &'static str {
    let sends = |state| state == JobState::Running || is_unsent(state, outcome);
    match record.job.state {
        state if sends(state) && begins_at(record, outcome, now).is_some() => "scheduled",
        state if sends(state) && letters.is_held => "waiting",
        state if is_unsent(state, outcome) => "sending",
        JobState::Failed if record.job.done > 0 => "partly done",
        state => state.as_str(),
    }
}

/// All of it is scheduled, and not all is sent.
fn is_unsent(state: JobState, outcome: &JobOutcome) -> bool {
    matches!(state, JobState::Done | JobState::Failed) && outcome.to_send > 0
}

type Count = (&'static str, &'static str, u64);

fn of_retry(outcome: &JobOutcome, skipped: u64) -> Vec<Count> {
    let all = [
        ("succeeded", "ok", outcome.succeeded),
        ("failed again", "warn", outcome.failed_again),
        ("pending", "pending", outcome.pending),
        ("to send", "open-end", outcome.to_send),
    ];
    let others = [("skipped", "open-end", skipped), ("not sent", "open-end", outcome.not_sent.saturating_sub(skipped))];
    all.into_iter().chain(others.into_iter().filter(|(.., count)| *count > 0)).collect()
}

fn of_others(record: &JobRecord) -> Vec<Count> {
    let job = &record.job;
    let left = job.total.saturating_sub(job.over());
    let skipped = Some(("skipped", "open-end", job.skipped)).filter(|(.., count)| *count > 0);
    let all = [("done", "ok", job.done), ("refused", "warn", job.failed), ("to do", "open-end", left)];
    all.into_iter().chain(skipped).collect()
}

fn figures(counts: &[Count], total: u64) -> Vec<Figure> {
    let mut x = 0;
    let figure = |&(name, class, count): &Count| {
        let share = u128::from(count) * u128::from(WIDTH) / u128::from(total.max(1));
        // What is there at all is seen.
        let width = u64::try_from(share).unwrap_or(WIDTH).max(u64::from(count > 0)).min(WIDTH - x);
        let figure = Figure { name, class, count: number::thousands(count), x, width };
        x += width;
        figure
    };
    counts.iter().map(figure).collect()
}

pub fn title(record: &JobRecord, group: Option<&Group>) -> String {
    let n = number::thousands(record.job.total);
    let Some(bulk) = &record.bulk else {
        return match &*record.job.action {
            NAME_TYPES => format!("Detect the types of {n}"),
            APPLY_RULES => format!("Apply the rules to {n}"),
            action => format!("{} {n} selected", text::capitalized(action)),
        };
    };
    let what = match &bulk.command {
        Command::SetImportance(importance) => format!("Set importance {importance} of {n}"),
        Command::ReleaseImportance => format!("Give the importance of {n} back to the rules"),
        command => format!("{} {n}", text::capitalized(command.name())),
    };
    let about = match (group, &*bulk.filter.groups) {
        (Some(group), [_]) => group::Title::new(&group.key).in_words(),
        _ => text::one_line(&scope::describe(&bulk.filter)),
    };
    format!("{what}: {}", text::shortened(&about, ABOUT))
}

fn sentence(record: &JobRecord, outcome: &JobOutcome, left: String) -> String {
    let (job, progress) = (&record.job, &record.progress);
    let n = number::thousands;
    let (sent, failed) = (n(progress.sent), n(progress.failed_again));
    let canary = record.bulk.as_ref().and_then(|bulk| bulk.pacing.canary);
    match (job.state, progress.stage, canary) {
        (JobState::Stopped, ..) => stopped(record),
        (JobState::Cancelled, ..) if record.is_retry() => {
            format!("Cancelled: {sent} sent, {} were not sent.", n(outcome.not_sent))
        }
        (JobState::Paused, ..) => format!("Paused: {sent} sent, {} to send.", n(outcome.to_send)),
        (JobState::Running, Some(Stage::Freezing), _) => "Its dead letters are being written down.".to_owned(),
        (JobState::Running, Some(Stage::Canary), Some(Canary { first, wait, at_most_failed_percent })) => format!(
            "{sent} of the first {} sent, {failed} of them failed again so far. The rest follows {} after these if it is at \
             most {at_most_failed_percent} %.",
            n(first.min(job.total)),
            exact(wait)
        ),
        (JobState::Running, Some(Stage::Rest), _) => {
            let passed = progress.verdict.map(|verdict| {
                format!(
                    "Canary passed with {} of {}. ",
                    n(verdict.sent.saturating_sub(verdict.failed)),
                    n(verdict.sent)
                )
            });
            format!("{}{sent} of {} sent{left}.", passed.unwrap_or_default(), n(job.total))
        }
        _ => String::new(),
    }
}

fn skipped(n: u64) -> String {
    if n == 0 {
        return String::new();
    }
    let n = number::thousands(n);
    format!("{n} skipped: somebody else has dealt with them meanwhile, or they have come in again.")
}

/// When the first of its letters is due, as long as any waits for that.
pub fn begins_at(record: &JobRecord, outcome: &JobOutcome, now: Timestamp) -> Option<Timestamp> {
    let at = record.at.plus(record.bulk.as_ref()?.command.delay());
    (at > now && outcome.to_send > 0).then_some(at)
}

fn begins(record: &JobRecord, outcome: &JobOutcome, now: Timestamp) -> String {
    let Some(at) = begins_at(record, outcome, now) else { return String::new() };
    let wait = Duration::from_secs(at.since(now).as_secs());
    format!("The first is due in {}, at {}.", exact(wait), time::format(at, "%H:%M:%S UTC"))
}

fn stopped(record: &JobRecord) -> String {
    let progress = &record.progress;
    let n = number::thousands;
    let lost = record.job.done.saturating_sub(progress.sent);
    let not_sent = if lost > 0 { format!(", {} could not be sent", n(lost)) } else { String::new() };
    format!(
        "{} sent, {} of them failed again{not_sent}: stopped; nothing else was sent.",
        n(progress.sent),
        n(progress.failed_again)
    )
}

/// Where some of it is not sent for now.
fn held(letters: &JobLetters) -> String {
    let held = if letters.is_held { "Retries into a queue that is paused wait until it is resumed." } else { "" };
    held.to_owned()
}

/// `, about 4 min 43 s left`; nothing as long as it does not send.
fn left(record: &JobRecord, letters: &JobLetters, outcome: &JobOutcome, now: Timestamp) -> String {
    let Some(bulk) = record.bulk.as_ref().filter(|_| !letters.is_held) else { return String::new() };
    if begins_at(record, outcome, now).is_some() {
        return String::new();
    }
    let (to_send, total) = (outcome.to_send, record.job.total);
    let seconds = match bulk.pacing.pace {
        Pace::AtOnce => return String::new(),
        Pace::PerSecond(rate) => to_send / u64::from(rate.max(1)),
        Pace::Over(time) => {
            u64::try_from(u128::from(time.as_secs()) * u128::from(to_send) / u128::from(total.max(1))).unwrap_or(0)
        }
    };
    format!(", about {} left", exact(Duration::from_secs(seconds)))
}
