//! One letter in full.

use amqp_message::time::Timestamp;
use url::Url;

use super::{
    edits::{Banner, Linked},
    fields::{self, FieldRow},
    letter_actions::{Actions, Obstacles},
    letter_facts::{Alike, Facts, RetryView, TITLE},
    letter_links::Links,
    payload::{Payload, PayloadContext},
    postmark::Postmark,
    row::Row,
    text,
    timeline::{TimelineLine, timeline},
    why::Why,
};
use crate::{
    domain::letter::{Letter, LetterSummary},
    web::query::letter_tab::LetterTab,
};

pub struct LetterView {
    pub id: String,
    pub links: Links,
    /// Its parts, one of which is shown.
    pub tabs: Vec<TabView>,
    /// The error, or else what RabbitMQ says.
    pub title: String,
    /// Where a retry goes that names no queue; empty where it has to name one.
    pub target: String,
    pub postmark: Postmark,
    pub facts: Facts,
    pub why: Why,
    pub actions: Actions,
    /// What it has to do with edits of it.
    pub edits: Vec<Banner>,
    pub problem: String,
    pub remarks: Vec<String>,
    /// As it was written, for editing.
    pub note: String,
    /// The same with what would deceive the eye named.
    pub note_shown: String,
    pub payload: Payload,
    pub properties: Vec<FieldRow>,
    pub headers: Vec<FieldRow>,
    pub headers_cut: bool,
    pub timeline: Vec<TimelineLine>,
    /// RabbitMQ says nothing of it.
    pub has_no_deaths: bool,
    /// The newest that failed like it.
    pub similar: Vec<Row>,
    /// The command that asks for it by the API.
    pub curl: String,
    /// Empty where it has none.
    pub message_id: String,
}

/// A part of a letter, as a link to it.
pub struct TabView {
    pub tab: LetterTab,
    pub href: String,
    /// How much is in it; empty where that is not a number.
    pub count: String,
    pub is_current: bool,
}

impl LetterView {
    /// Of its title: beside the list it is a part of that page, alone it is what its own page is about.
    pub const fn heading_level(&self) -> u8 {
        if self.links.close.is_some() { 2 } else { 1 }
    }

    /// Of the titles of its parts.
    pub const fn part_level(&self) -> u8 {
        self.heading_level() + 1
    }

    /// What stands beside the payload.
    pub fn latest(&self) -> &[TimelineLine] {
        const LATEST: usize = 5;
        self.timeline.get(..LATEST).unwrap_or(&self.timeline)
    }

    pub fn new(
        letter: &Letter,
        retry: Option<RetryView>,
        payload: &PayloadContext<'_>,
        view: ViewOptions<'_>,
        links: Links,
    ) -> Self {
        let summary = &letter.summary;
        let now = view.now;
        let (headers, headers_cut) = fields::header_rows(&letter.message.headers, !letter.deaths.is_empty());
        let timeline = timeline(letter, payload.history, now);
        let is_by_policy = retry.as_ref().is_some_and(|retry| !retry.which.is_empty());
        let why = Why::new(letter, payload.reading, view.dead_letter_exchange);
        let title = why.title(summary);
        let counts = |tab: LetterTab| match tab {
            LetterTab::Payload => String::new(),
            LetterTab::Headers => letter.message.headers.len().to_string(),
            LetterTab::Timeline => timeline.len().to_string(),
            LetterTab::Similar => view.alike.as_ref().map(|alike| alike.others.clone()).unwrap_or_default(),
        };
        Self {
            id: summary.id.to_string(),
            tabs: tabs(&links, counts),
            title: text::shortened(&title.0, TITLE),
            target: target(summary, retry.as_ref()),
            edits: Banner::all(summary, &view.linked),
            postmark: Postmark::new(summary),
            actions: Actions::new(summary, is_by_policy, &view.obstacles, now),
            facts: Facts::new(summary, &title.1, retry, view.alike, now),
            why,
            problem: summary.problem.as_deref().map(shown_problem).unwrap_or_default(),
            remarks: letter.remarks.iter().map(|remark| text::one_line(remark)).collect(),
            note: summary.note.clone().unwrap_or_default(),
            note_shown: summary.note.as_deref().map(|note| text::visible(note).into_owned()).unwrap_or_default(),
            payload: Payload::new(letter, payload),
            properties: fields::property_rows(&letter.message.properties),
            headers,
            headers_cut,
            timeline,
            has_no_deaths: letter.deaths.is_empty(),
            similar: view.similar,
            curl: curl(view.public_url, summary, view.needs_token),
            message_id: letter.message.properties.message_id.clone().unwrap_or_default(),
            links,
        }
    }
}

fn tabs(links: &Links, count: impl Fn(LetterTab) -> String) -> Vec<TabView> {
    let tab =
        |&tab: &LetterTab| TabView { tab, href: links.of_tab(tab), count: count(tab), is_current: tab == links.tab };
    LetterTab::ALL.iter().map(tab).collect()
}

/// It follows a sentence.
fn shown_problem(problem: &str) -> String {
    text::capitalized(&text::visible(problem))
}

fn target(letter: &LetterSummary, retry: Option<&RetryView>) -> String {
    let elsewhere = retry.map(|retry| retry.goes_to.clone()).filter(|queue| !queue.is_empty());
    elsewhere.or_else(|| letter.queue.as_deref().map(text::one_line)).unwrap_or_default()
}

/// Nothing of it needs quoting for a shell: an id and the address of this server.
fn curl(public_url: &Url, letter: &LetterSummary, needs_token: bool) -> String {
    let token = if needs_token { "-H \"Authorization: Bearer $DLO_TOKEN\" " } else { "" };
    let base = public_url.as_str().trim_end_matches('/');
    format!("curl -fsS {token}'{base}/api/v1/letters/{}'", letter.id)
}

/// What the letter alone does not say.
pub struct ViewOptions<'a> {
    pub obstacles: Obstacles,
    pub linked: Linked,
    pub alike: Option<Alike>,
    /// The newest that failed like it, where they are shown.
    pub similar: Vec<Row>,
    /// Where services send what they cannot process.
    pub dead_letter_exchange: &'a str,
    /// Where this server is.
    pub public_url: &'a Url,
    /// Whether scripts have to show a token.
    pub needs_token: bool,
    pub now: Timestamp,
}
