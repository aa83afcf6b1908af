//! Digests for people: what one says, how one stands, and when the next comes.

use amqp_message::time::Timestamp;

use super::{
    number::thousands,
    text::{one_line, shortened},
    time::Moment,
};
use crate::{
    domain::{
        digest::{DigestGroup, DigestReport, DigestSection, has_several_brokers, rest_words},
        notification::NotificationState,
    },
    services::digests::Plan,
    store::DigestRecord,
    web::query::{LetterQuery, Listed, When},
};

/// Characters of an error and of a note.
const LONGEST_TEXT: usize = 300;

/// A digest as it reads.
pub struct ReportView {
    pub title: String,
    pub period: String,
    /// What it says where nothing happened; empty where something did.
    pub quiet: String,
    pub figures: Vec<Figure>,
    pub sections: Vec<SectionView>,
}

pub struct Figure {
    pub text: String,
    /// The letters that are counted; empty where no page lists them.
    pub href: String,
}

pub struct SectionView {
    pub id: &'static str,
    pub title: &'static str,
    pub meaning: &'static str,
    pub size: String,
    pub groups: Vec<GroupLine>,
    /// What is not shown; empty where all is.
    pub rest: String,
}

pub struct GroupLine {
    pub href: String,
    pub place: String,
    pub cause: String,
    pub figures: String,
    pub note: String,
    pub importance: &'static str,
}

impl ReportView {
    /// With the biggest `most` groups of each section.
    pub fn new(report: &DigestReport, most: usize) -> Self {
        let with_broker = has_several_brokers(report);
        let figures = report.figures().into_iter().map(|text| Figure { text, href: String::new() });
        Self {
            title: one_line(&report.name),
            period: report.period_words(),
            quiet: if report.is_quiet() { report.quiet_words() } else { String::new() },
            figures: figures.collect(),
            sections: report
                .sections
                .iter()
                .map(|section| SectionView::new(section, most, report.period.until, with_broker))
                .collect(),
        }
    }

    /// The same with links to the letters that are counted, which holds only at the moment it was made.
    pub fn linked(report: &DigestReport, most: usize, plan: &Plan) -> Self {
        let open = LetterQuery {
            importances: plan.importances.clone(),
            queue_globs: plan.queues.clone(),
            ..LetterQuery::default()
        };
        let new = report.period.from.map(|from| open.with(|query| query.since = Some(When::At(from))));
        let mut view = Self::new(report, most);
        for (figure, query) in view.figures.iter_mut().zip([Some(open), new]) {
            figure.href = query.map(|query| query.href()).unwrap_or_default();
        }
        view
    }
}

impl SectionView {
    fn new(section: &DigestSection, most: usize, until: Timestamp, with_broker: bool) -> Self {
        let shown = section.groups.len().min(most);
        let (groups, letters) = section.beyond(shown);
        Self {
            id: section.kind.as_str(),
            title: section.kind.title(),
            meaning: section.kind.meaning(),
            size: section.size(),
            groups: section.groups[..shown].iter().map(|group| GroupLine::new(group, until, with_broker)).collect(),
            rest: if groups > 0 { rest_words(groups, letters, shown).concat() } else { String::new() },
        }
    }
}

impl GroupLine {
    fn new(group: &DigestGroup, until: Timestamp, with_broker: bool) -> Self {
        let short = |text: &str| one_line(&shortened(text, LONGEST_TEXT));
        Self {
            href: format!("/groups/{}", group.id),
            place: one_line(&group.place(with_broker)),
            cause: short(group.cause()),
            figures: group.figures(until).join(", "),
            note: group.note.as_deref().map(short).unwrap_or_default(),
            importance: group.importance.as_str(),
        }
    }
}

/// A digest of the configuration.
pub struct PlanView {
    pub name: String,
    /// `At 09:00, Monday through Friday, Europe/London`
    pub schedule: String,
    /// When it comes next, as its own clock shows it; empty where it never does.
    pub next: String,
    pub next_at: Moment,
    /// Empty while there is no Slack.
    pub destination: String,
    /// `dead letters of normal or low importance in all queues`
    pub about: String,
    /// What happens when there is nothing to report.
    pub silence: &'static str,
    pub stuck_after: String,
    pub last: Option<SentView>,
}

impl PlanView {
    pub fn new(plan: &Plan, last: Option<&DigestRecord>, now: Timestamp) -> Self {
        let next = plan.schedule.next_after(now);
        Self {
            name: one_line(&plan.name),
            schedule: plan.schedule.describe(),
            next: next.map(|next| plan.schedule.zone().show(next)).unwrap_or_default(),
            next_at: next.map(|next| Moment::new(next, now)).unwrap_or_default(),
            destination: plan.destination.as_ref().map(|to| one_line(&to.to_string())).unwrap_or_default(),
            about: about(plan),
            silence: if plan.options.all_quiet { "is sent anyway" } else { "is not sent" },
            stuck_after: super::time::span(plan.options.stuck_after),
            last: last.map(|last| SentView::new(last, now)),
        }
    }
}

fn about(plan: &Plan) -> String {
    let mut importances = plan.importances.clone();
    importances.sort_unstable();
    let words: Vec<&str> = importances.iter().map(|importance| importance.as_str()).collect();
    let letters = match words.split_last() {
        None => "no dead letters".to_owned(),
        Some((last, [])) => format!("dead letters of {last} importance"),
        Some((last, rest)) => format!("dead letters of {} or {last} importance", rest.join(", ")),
    };
    let queues = if plan.queues.is_empty() { "all queues".to_owned() } else { one_line(&plan.queues.join(", ")) };
    format!("{letters} in {queues}")
}

/// A digest that was made, and its result.
pub struct SentView {
    pub href: String,
    pub name: String,
    /// `Digest: orders`, and `Digest` of the one that has no name.
    pub title: String,
    pub made: Moment,
    /// `by its schedule`, `asked for by local user`
    pub by: String,
    /// `sent`, `quiet`, `waiting`, `refused`
    pub state: &'static str,
    /// A class of the style.
    pub tone: &'static str,
    /// In words, with how often it was tried.
    pub words: String,
    /// Why Slack has not taken it; empty where nothing is wrong.
    pub problem: String,
}

impl SentView {
    pub fn new(record: &DigestRecord, now: Timestamp) -> Self {
        let (state, tone, words) = state(record, now);
        Self {
            href: format!("/digests/{}", record.id),
            name: one_line(&record.name),
            title: title(&record.name),
            made: Moment::new(record.made_at, now),
            by: match record.slot {
                Some(_) => "by its schedule".to_owned(),
                None => format!("requested by {}", one_line(record.made_by.as_str())),
            },
            state,
            tone,
            words,
            problem: record.problem().map(one_line).unwrap_or_default(),
        }
    }

    pub fn is_in_trouble(&self) -> bool {
        !self.problem.is_empty()
    }
}

fn title(name: &str) -> String {
    if name == Plan::UNNAMED { "Digest".to_owned() } else { format!("Digest: {}", one_line(name)) }
}

fn state(record: &DigestRecord, now: Timestamp) -> (&'static str, &'static str, String) {
    let Some(sending) = &record.sending else {
        return if record.is_quiet {
            ("quiet", "", "nothing to report".to_owned())
        } else {
            ("sent", "ok", String::new())
        };
    };
    let attempts = match sending.attempts {
        0 => String::new(),
        1 => "first attempt".to_owned(),
        n => format!("after {} attempts", thousands(n.into())),
    };
    match sending.state {
        NotificationState::Delivered => ("sent", "ok", attempts),
        NotificationState::Refused => ("refused", "bad", attempts),
        NotificationState::Waiting if sending.attempts == 0 => ("waiting", "pending", String::new()),
        NotificationState::Waiting => {
            let times = match sending.attempts {
                1 => "once".to_owned(),
                n => format!("{} times", thousands(n.into())),
            };
            let next = Moment::new(sending.due_at.max(now), now).relative;
            ("waiting", "pending", format!("tried {times}, next {next}"))
        }
    }
}
