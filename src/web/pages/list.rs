//! The list of letters: rows, filter, chart, and what to say when there is nothing.

use std::collections::HashMap;

use amqp_message::time::Timestamp;

use super::{filters::Filters, in_common, next_step::NextStep, search_box::SearchBox, sort_menu::SortMenu};
use crate::{
    domain::{
        filter::{Counted, HistogramBar, LetterCounts, LetterFilter, LetterPage, PageRequest, Sort},
        group::Group,
        letter::{Importance, LetterId, LetterSummary, Status},
        search::{Mistake, Search},
    },
    services::columns,
    web::{
        error::WebError,
        query::{LetterQuery, Listed, Pager},
        shared::{
            marks::{may_be_about, with_marks},
            saved_views, search,
        },
        state::AppState,
        view::{
            chart::{Chart, Window},
            number,
            row::Row,
            run::{Entry, folded},
            tally::Tally,
            text, time,
        },
    },
};

#[derive(Default)]
pub struct List {
    pub filters: Filters,
    pub search: SearchBox,
    /// Whether there are too many to be shown over time, and by status and importance.
    pub is_uncounted: bool,
    pub chart: Option<Chart>,
    pub rows: Vec<Entry>,
    /// What stands above the fields, where columns are chosen.
    pub columns: Vec<String>,
    /// Where columns are chosen.
    pub choose_columns: String,
    /// `1,284 letters`
    pub total: String,
    /// Of the same letters: `1,284 open · 3 critical · oldest 2 d`
    pub subtitle: String,
    pub pager: Pager,
    pub sort: SortMenu,
    pub empty: Option<Empty>,
    /// Whether rows differ in status, and so have to say theirs.
    pub shows_status: bool,
    /// Where the page asks for what has come in since, as long as it shows the newest.
    pub feed: String,
    /// The address of the list, where there are more than the page shows.
    pub matching: Option<String>,
    /// How many there are, as a number.
    pub n: String,
    /// The list as it is saved.
    pub saved: String,
    /// Where the page asks what they have in common, where there is something to compare.
    pub causes: Option<String>,
    /// What the addresses of exports say of them.
    pub exported: String,
}

/// Why a list is empty: that may be the best news of the day.
pub enum Empty {
    /// Nothing is open, and letters do arrive.
    AllDone { decided: String },
    /// Nothing ever came.
    NothingYet(NextStep),
    /// It was not looked for any: the search cannot be understood.
    NotSearched,
    /// There are letters, but not these.
    FilterTooNarrow { everything: String },
}

/// What is read of the database for one list.
struct Loaded<'a> {
    facets: &'a LetterCounts,
    /// Those that are counted anew, where the filter asks for groups or types, or has a search.
    within: Option<LetterCounts>,
    /// A search finds too many.
    is_uncounted: bool,
    mistakes: Vec<Mistake>,
    page: LetterPage,
    said: HashMap<LetterId, Vec<String>>,
    groups: Vec<Group>,
    by_status: Vec<(Status, u64)>,
    total: Counted,
    critical: u64,
    oldest: Vec<(Importance, Timestamp)>,
    window: Window,
    bars: Vec<HistogramBar>,
}

pub async fn load_list(
    app: &AppState,
    query: &LetterQuery,
    selected: Option<LetterId>,
    facets: &LetterCounts,
) -> Result<List, WebError> {
    let now = app.clock.now();
    let mistakes = search::mistakes(app, query);
    let mut filter = query.page_filter(now);
    if !mistakes.is_empty() {
        filter.search = Some(Search::nothing());
    }
    let request = PageRequest { sort: query.sort, after: query.place()?, limit: query.limit() };
    let oldest = app.store().oldest_open().await?;
    let store = app.store();
    let within: Option<LetterCounts> = match (&filter.search, filter.is_of_groups()) {
        _ if !mistakes.is_empty() => None,
        (Some(_), _) => store.facets_found(&filter).await?.map(LetterCounts::from),
        (None, true) => Some(store.facets_within(&filter).await?.into()),
        (None, false) => None,
    };
    let is_uncounted = within.is_none() && filter.search.is_some();
    let first = if is_uncounted || filter.since.is_some() || filter.statuses == [Status::Open] {
        oldest.iter().map(|(_, at)| *at).min()
    } else {
        store.first_received(&filter).await?
    };
    let window = Window::asked(filter.since, filter.until, first, now).in_bars_of(store.bar_width(&filter).await?);
    let (mut page, bars, groups, by_status) = tokio::try_join!(
        async { Ok(store.letters(&filter, &request).await?) },
        async {
            let is_shown = !is_uncounted;
            Ok(if is_shown { store.histogram(&filter, window.from, window.to, window.step).await? } else { Vec::new() })
        },
        async { Ok(store.groups_by_id(&query.groups).await?) },
        async {
            if is_uncounted {
                Ok(Vec::new())
            } else {
                count_by_status(app, within.as_ref().unwrap_or(facets), &filter).await
            }
        },
    )?;
    app.reader.hide_in_lists(&mut page.items).await;
    let said = columns::of_letters(&store, &app.reader, &page.items, &query.columns).await?;
    let (total, critical) = if is_uncounted {
        (store.count_most(&filter).await?, 0)
    } else {
        let total = Counted { n: total(&by_status, &filter), is_least: false };
        (total, count_critical(app, within.as_ref().unwrap_or(facets), &filter).await?)
    };
    let loaded = Loaded {
        facets,
        within,
        is_uncounted,
        mistakes,
        page,
        said,
        groups,
        by_status,
        total,
        critical,
        oldest,
        window,
        bars,
    };
    let mut list = make(app, query, &filter, selected, loaded);
    if let Some(chart) = list.chart.take() {
        list.chart = Some(with_marks(app, (chart, window), |marker| may_be_about(marker, &filter)).await?);
    }
    Ok(list)
}

/// The kept counts know no times; with a time in the filter the database has to count. Those of groups were counted already.
async fn count_by_status(
    app: &AppState,
    facets: &LetterCounts,
    filter: &LetterFilter,
) -> Result<Vec<(Status, u64)>, WebError> {
    let mut counts = Vec::new();
    for &status in Status::ALL {
        let count = if filter.is_counted_anew() || (filter.since.is_none() && filter.until.is_none()) {
            Tally::new(facets, filter).of_status(status)
        } else {
            app.store().count(&LetterFilter { statuses: vec![status], ..filter.clone() }).await?
        };
        counts.push((status, count));
    }
    Ok(counts)
}

/// Those of them whose status the filter lets through.
fn total(by_status: &[(Status, u64)], filter: &LetterFilter) -> u64 {
    let counted = |status: &Status| filter.statuses.is_empty() || filter.statuses.contains(status);
    by_status.iter().filter(|(status, _)| counted(status)).map(|(_, count)| count).sum()
}

/// Critical letters among those that the filter lets through.
async fn count_critical(app: &AppState, facets: &LetterCounts, filter: &LetterFilter) -> Result<u64, WebError> {
    if !(filter.importances.is_empty() || filter.importances.contains(&Importance::Critical)) {
        return Ok(0);
    }
    let critical = LetterFilter { importances: vec![Importance::Critical], ..filter.clone() };
    Ok(total(&count_by_status(app, facets, &critical).await?, filter))
}

fn make(
    app: &AppState,
    query: &LetterQuery,
    filter: &LetterFilter,
    selected: Option<LetterId>,
    loaded: Loaded<'_>,
) -> List {
    let now = app.clock.now();
    let href = |id: LetterId| query.href_with(&[("letter", &id.to_string())]);
    let row = |letter: &LetterSummary| {
        let row = Row::new(letter, href(letter.id), selected == Some(letter.id), now);
        let row = row.with_columns(&query.columns, loaded.said.get(&letter.id));
        if query.sort == Sort::Size { row.with_size(letter.size) } else { row }
    };
    List {
        rows: folded(loaded.page.items.iter().map(row).collect()),
        columns: query.columns.iter().map(|column| text::one_line(column.name())).collect(),
        choose_columns: format!("/letters/columns{}", query.with(|_| ()).href().trim_start_matches("/letters")),
        search: SearchBox::new(query, &loaded.mistakes),
        is_uncounted: loaded.is_uncounted && loaded.mistakes.is_empty(),
        chart: (!loaded.is_uncounted).then(|| Chart::new(loaded.window, &loaded.bars, now, query)),
        total: number::counted(loaded.total, "dead letter"),
        subtitle: subtitle(&loaded, filter, now),
        pager: query.pager(loaded.page.next),
        sort: SortMenu::new(query),
        empty: (loaded.total.n == 0).then(|| why_empty(app, query, &loaded)),
        shows_status: filter.statuses.len() != 1,
        saved: saved_views::written(query),
        causes: in_common::address(query, loaded.total),
        feed: news_address(query, &loaded.page, now),
        matching: (loaded.total.n > loaded.page.items.len() as u64).then(|| query.with(|_| ()).href()),
        n: format!("{}{}", number::thousands(loaded.total.n), if loaded.total.is_least { "+" } else { "" }),
        exported: query.exported(&filter.statuses),
        filters: Filters::new(
            app,
            query,
            filter,
            loaded.within.as_ref().unwrap_or(loaded.facets),
            &loaded.by_status,
            &loaded.groups,
        ),
    }
}

fn subtitle(loaded: &Loaded, filter: &LetterFilter, now: Timestamp) -> String {
    let open = LetterFilter { statuses: vec![Status::Open], ..LetterFilter::default() };
    // When the oldest came in is only known of all that are open.
    let oldest = loaded.oldest.iter().map(|(_, at)| *at).min().filter(|_| *filter == open);
    if !loaded.mistakes.is_empty() {
        return "not searched".to_owned();
    }
    let least = if loaded.total.is_least { "at least " } else { "" };
    let total = if filter.statuses == open.statuses {
        format!("{least}{} open", number::thousands(loaded.total.n))
    } else {
        number::counted(loaded.total, "dead letter")
    };
    let parts = [
        Some(total),
        (loaded.critical > 0).then(|| format!("{} critical", number::thousands(loaded.critical))),
        oldest.map(|at| format!("oldest {}", time::span(now.since(at)))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn why_empty(app: &AppState, query: &LetterQuery, loaded: &Loaded) -> Empty {
    if !loaded.mistakes.is_empty() {
        return Empty::NotSearched;
    }
    if loaded.facets.is_empty() {
        return Empty::NothingYet(NextStep::of(app));
    }
    if query.with(|query| query.columns.clear()) == LetterQuery::default() {
        let decided = Tally::new(loaded.facets, &LetterFilter::default()).total();
        return Empty::AllDone { decided: number::plural(decided, "dead letter") };
    }
    let everything = LetterQuery { statuses: Some(Vec::new()), ..LetterQuery::default() };
    Empty::FilterTooNarrow { everything: everything.href() }
}

/// What came in after the newest letter shown is news.
fn news_address(query: &LetterQuery, page: &LetterPage, now: Timestamp) -> String {
    let newest = page.items.iter().map(|letter| letter.received_at).max();
    let shows_newest = query.sort == Sort::Newest && query.cursor.is_none();
    let seen = newest.filter(|_| shows_newest).map_or(now.as_micros(), |at| at.as_micros().saturating_add(1));
    query.with(|_| ()).href_with(&[("seen", &seen.to_string())])
}
