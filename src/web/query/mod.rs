//! The query part of an address as a filter, and back.
//!
//! Pages and API read the same words. What is not known is refused and the answer names what it takes: a mistyped
//! `staus=open` must not list, or act on, everything.

mod activity;
pub mod came_from;
mod cursor;
pub mod described;
mod digests;
pub mod form;
mod groups;
mod jobs;
pub mod letter_tab;
mod listed;
mod markers;
mod page;
mod pairs;
mod parameters;
pub mod payload;
pub mod queue_path;
mod search;
mod waiting;

use amqp_message::{death::Reason, time::Timestamp};

use listed::listed;

use crate::domain::{
    column::Column,
    filter::{Cursor, LetterFilter, Names, Sort},
    group::GroupId,
    letter::{Importance, Status},
};

pub use activity::{ActivityExport, ActivityQuery};
pub use cursor::Anchor;
pub use digests::DigestQuery;
pub use groups::GroupQuery;
pub use jobs::JobQuery;
pub use listed::{Listed, Pager, ROWS, listed_page};
pub use markers::MarkerQuery;
pub use page::{Page, Paging};
pub use pairs::{Pairs, address, borrowed, further};
pub(crate) use parameters::parameters;
pub use parameters::{Form, Parameters};
pub use search::SearchText;
pub use waiting::WaitingQuery;

pub use crate::domain::when::When;

parameters! {
    /// Which letters an address asks for. It stays as it was written, so that `since=24h` moves with the clock.
    pub LetterQuery {
        /// A search, in the words of the search box: `queue:billing.* error:"no exchange rate" -test`. All else that is
        /// given has to hold as well. See the page Search of the docs.
        "q" search: Option<SearchText> as form::One,
        /// In one of these statuses; in any if left out.
        "status" statuses: Option<Vec<Status>> as form::Statuses,
        /// Of one of these.
        "importance" importances: Vec<Importance> as form::Repeated,
        /// Of one of these brokers.
        "broker" brokers: Vec<String> as form::Repeated,
        /// Names of queues. A name is taken as it is: no character in it stands for another.
        "queue" queues: Vec<String> as form::Repeated,
        /// Patterns for names of queues: `*` is any run of characters, `?` any one. With `queue` and `queue_unknown`: what
        /// one of them lets through.
        "queue_glob" queue_globs: Vec<String> as form::Repeated,
        /// `true`: those that do not say in which queue they failed. `false`: all others.
        "queue_unknown" queue_unknown: Option<bool> as form::One,
        /// Full names of message types, taken as they are.
        "type" types: Vec<String> as form::Repeated,
        /// Patterns for full names of message types, as those of queues.
        "type_glob" type_globs: Vec<String> as form::Repeated,
        /// `true`: those whose type is not known. `false`: all others.
        "type_unknown" type_unknown: Option<bool> as form::One,
        /// Dead-lettered for one of these reasons.
        "reason" reasons: Vec<Reason> as form::Repeated,
        /// Ids of error groups.
        "group" groups: Vec<GroupId> as form::Repeated,
        /// Received at or after: RFC 3339, or how long ago (`24h`).
        "since" since: Option<When> as form::One,
        /// Received before: RFC 3339, or how long ago.
        "until" until: Option<When> as form::One,
        /// What comes first: those received last (`newest`) or first (`oldest`), the most important, what has failed most
        /// often (`attempts`), or the largest body (`size`). What is alike in that is sorted from the newest on.
        "sort" sort: Sort as form::Order,
        /// Fields of payloads (`payload.customer.name`) and headers (`header.x-tenant`) to be told of each, 8 at most. Of
        /// bodies above 64 KiB nothing is told, nor what is hidden.
        "column" columns: Vec<Column> as form::Columns,
        /// Letters of one answer.
        "limit" limit: Option<usize> as form::Limit,
        /// `next_cursor` of the answer before, to the same query.
        "cursor" cursor: Option<Anchor<Cursor>> as form::Cursor,
    }
}

listed!(LetterQuery, "/letters", Cursor, reach);

fn reach(query: &LetterQuery, place: &Cursor) -> String {
    let (time, id) = (place.received_at.as_micros() as u64, place.id.as_uuid().as_u128());
    match query.sort {
        Sort::Oldest => cursor::in_order(&[place.rank, time], id),
        Sort::Importance => cursor::in_order(&[place.rank, !time], !id),
        Sort::Newest | Sort::Attempts | Sort::Size => cursor::in_order(&[!place.rank, !time], !id),
    }
}

impl LetterQuery {
    /// Letters a single answer holds at most.
    pub const MAX_LIMIT: usize = 1_000;

    pub fn filter(&self, now: Timestamp) -> LetterFilter {
        let mut filter = LetterFilter {
            statuses: self.statuses.clone().unwrap_or_default(),
            importances: self.importances.clone(),
            brokers: self.brokers.clone(),
            queues: names(&self.queues, &self.queue_globs, self.queue_unknown),
            types: names(&self.types, &self.type_globs, self.type_unknown),
            reasons: self.reasons.clone(),
            groups: self.groups.clone(),
            since: self.since.as_ref().map(|when| when.resolve(now)),
            until: self.until.as_ref().map(|when| when.resolve(now)),
            search: None,
        };
        if let Some(search) = &self.search {
            search.narrow(&mut filter, now);
        }
        filter
    }

    /// Only the search of an address, as far as it is given once.
    pub fn of_search(pairs: &Pairs) -> Self {
        let mut given = pairs.iter().filter(|(name, _)| name == "q");
        let search = given.next().and_then(|(_, text)| text.parse().ok());
        Self { search: search.filter(|_| given.next().is_none()), ..Self::default() }
    }

    /// The filter of a page: without a word about it, only what is open.
    pub fn page_filter(&self, now: Timestamp) -> LetterFilter {
        let mut filter = self.filter(now);
        if self.leaves_status_open() && filter.statuses.is_empty() {
            filter.statuses = vec![Status::Open];
        }
        filter
    }

    /// Whether its search asks something of that field.
    pub fn asks_for(&self, field: &str) -> bool {
        self.search.as_ref().and_then(|search| search.parsed().ok()).is_some_and(|parsed| parsed.asks_for(field))
    }

    /// The same, narrowed by one more term of the search.
    pub fn and(&self, term: &str) -> Self {
        let parsed = self.search.as_ref().and_then(|search| search.parsed().ok());
        let text = parsed.map_or_else(|| term.to_owned(), |parsed| parsed.and(term));
        self.with(|query| query.search = text.parse().ok())
    }

    /// Whether it does not say which statuses are meant.
    pub fn leaves_status_open(&self) -> bool {
        self.statuses.is_none() && !self.search.as_ref().is_some_and(SearchText::names_status)
    }

    /// The words for the same letters in these statuses, all of them: `?status=open&queue=texts`.
    pub fn exported(&self, statuses: &[Status]) -> String {
        let all = self.with(|query| (query.statuses, query.limit) = (Some(statuses.to_vec()), None));
        all.href().trim_start_matches(Self::PAGE).to_owned()
    }

    /// The letters of one group that are open, or of that status.
    pub fn of_group(group: GroupId, status: Option<Status>) -> Self {
        let statuses = status.filter(|status| *status != Status::Open).map(|status| vec![status]);
        Self { statuses, groups: vec![group], ..Self::default() }
    }

    /// The letters of one group, whatever their status.
    pub fn all_of_group(group: GroupId) -> Self {
        Self { statuses: Some(Vec::new()), ..Self::of_group(group, None) }
    }

    /// The letters of one queue, or those whose queue is unknown.
    pub fn of_queue(queue: Option<&str>) -> Self {
        let (queues, queue_unknown) = queue_words(queue);
        Self { queues, queue_unknown, ..Self::default() }
    }
}

/// The words for one queue, or for what has none that is known.
fn queue_words(queue: Option<&str>) -> (Vec<String>, Option<bool>) {
    (queue.map(str::to_owned).into_iter().collect(), queue.is_none().then_some(true))
}

/// What these words mean; what has no name is kept under the empty one.
fn names(exact: &[String], globs: &[String], is_unknown: Option<bool>) -> Names {
    /// Any name.
    const KNOWN: &str = "?*";
    let unknown = (is_unknown == Some(true)).then(String::new);
    let known = (is_unknown == Some(false) && exact.is_empty() && globs.is_empty()).then(|| KNOWN.to_owned());
    Names { exact: exact.iter().cloned().chain(unknown).collect(), globs: globs.iter().cloned().chain(known).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::letter::LetterId,
        web::error::{WebError, fault::Place},
    };

    fn parse(text: &str) -> Result<LetterQuery, WebError> {
        LetterQuery::read(Pairs::parse(text.as_bytes()))
    }

    #[test]
    fn what_is_written_is_read_again() {
        let check = |text, canonical| {
            let href = parse(text).map(|query| query.href()).ok();
            assert_eq!(href.as_deref().and_then(|href| href.strip_prefix("/letters")), Some(canonical));
        };
        check("", "");
        check("status=&queue=&broker=", "");
        check("status=all", "?status=all");
        check("status=open&status=retried&importance=high", "?status=open&status=retried&importance=high");
        check("queue=texts.*,a%20b&sort=newest", "?queue=texts.*,a+b");
        check("queue_glob=texts.*&queue=a&queue_unknown=true", "?queue=a&queue_glob=texts.*&queue_unknown=true");
        check("since=24h&sort=oldest", "?since=24h&sort=oldest");
        check("column=payload.a+b&sort=size", "?sort=size&column=payload.a+b");
        check("since=2026-11-21T10:00", "?since=2026-11-21T10:00:00Z");
        check("since=2026-11-21T12:00:00%2B02:00", "?since=2026-11-21T10:00:00Z");
        check("q=a+-b&status=all", "?q=a+-b&status=all");
        check("until=2026-11-21&limit=7", "?until=2026-11-21T00:00:00Z&limit=7");
    }

    /// What is blank is no search, but a name; it never means everything.
    #[test]
    fn a_blank_name_is_a_name() {
        let check = |text: &str, canonical: &str| {
            let read = LetterQuery::read(Pairs::parse(text.as_bytes()).without_blanks());
            assert_eq!(read.map(|query| query.href()).ok().as_deref(), Some(canonical), "{text}");
        };
        check("q=+&queue_glob=+&type_glob=%09&since=+&until=+&queue=&type=", "/letters");
        check("queue=+&type=+&broker=++", "/letters?broker=++&queue=+&type=+");
        assert!(LetterQuery::read(Pairs::parse(b"importance=+").without_blanks()).is_err());
    }

    #[test]
    fn how_far_a_page_reaches_is_told_in_the_order_of_its_list() {
        let places = [(0, 7, 1), (0, 7, 2), (1, 5, 1), (1, 9, 0), (2, 7, 1)].map(|(rank, micros, id)| Cursor {
            rank,
            received_at: Timestamp::from_micros(micros),
            id: LetterId::from_uuid(uuid::Uuid::from_u128(id)),
        });
        for &sort in Sort::ALL {
            let query = LetterQuery { sort, ..LetterQuery::default() };
            for (one, other) in places.iter().flat_map(|one| places.iter().map(move |other| (*one, *other))) {
                let told = query.reach(&one).cmp(&query.reach(&other));
                assert_eq!(told, sort.compare(one, other), "{sort}: {one:?}, {other:?}");
            }
            assert!(query.reach(&places[0]).as_str() < "~");
        }
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_it_takes() {
        let check = |text, part: &str| {
            let error = parse(text).expect_err(text);
            assert_eq!(error.status.as_u16(), 400);
            assert!(error.detail.contains(part), "{text}: {}", error.detail);
        };
        check("staus=open", "status, importance");
        check("status=opne", "open, scheduled, retried, discarded");
        check("importance=high&importance=huge", "critical, high, normal, low");
        check("reason=x", "delivery_limit");
        check("since=yesterday", "24h");
        check("limit=0", "1 to 1000");
        check("limit=1001", "1 to 1000");
        check("sort=up", "newest, oldest");
        check("column=name", "payload. or header.");
        let nine = "column=payload.a&".repeat(9);
        check(&nine, "8 at most");
        check("cursor=xyz", "next_cursor");
        check("limit=1&limit=2", "more than once");
    }

    #[test]
    fn all_mistakes_are_told() {
        let error = parse("status=opne&limit=0&staus=open&reason=x&reason=y").unwrap_err();
        let places: Vec<_> = error.faults.iter().map(|fault| fault.place.clone()).collect();
        assert_eq!(places, ["status", "reason", "reason", "limit", "staus"].map(Place::parameter));
    }

    #[test]
    fn every_name_can_be_given() {
        for name in ["a,b", "a*", "?", " a ", "\"\"", "true", "ö&=;"] {
            let href = LetterQuery::of_queue(Some(name)).href();
            let read = parse(href.trim_start_matches("/letters?")).map(|query| query.filter(Timestamp::MAX).queues);
            assert_eq!(read.ok(), Some(Names::exact([name])), "{href}");
        }
        let known = parse("queue_unknown=false").map(|query| query.filter(Timestamp::MAX).queues);
        assert_eq!(known.ok(), Some(Names::globs(["?*"])), "it is a condition, and never none");
        let unknown = LetterQuery::of_queue(None).href();
        assert_eq!(unknown, "/letters?queue_unknown=true");
    }
}
