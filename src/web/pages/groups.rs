//! `/groups`: similar failures, the most important first.

use std::{collections::HashMap, sync::Arc};

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    fragment::{self, answer},
    group_filters::{Filters, about, count},
    last_visit::LastVisit,
    next_step::NextStep,
    part::parts,
    refresh::is_refresh,
    shell::{Page, Shell},
};
use crate::{
    domain::{
        group::{Group, GroupCounts, GroupFilter, GroupId, GroupPage, Hour},
        version::{Version, Versioned},
    },
    web::{
        error::WebError,
        query::{GroupQuery, Listed, Pager, form, parameters},
        state::AppState,
        view::{
            group::GroupRow,
            number,
            spark::{Span, Spark},
            time::Moment,
        },
        visitor::CurrentUser,
    },
};

parts! {
    pub Part {
        /// All that changes from page to page.
        Main = "main",
        /// What a changed filter changes; the filter's own fields stay as they are.
        Results = "results",
        /// That the list is another by now.
        News = "news",
    }
}

parameters! {
    /// What else there is to see.
    pub Beside {
        /// Stands for the list as it is shown.
        "shown" shown: Option<String> as form::One,
    }
}

type Visit = super::visit::Visit<(GroupQuery, Beside), Part>;

/// The line that says that the list is another by now.
#[derive(Template)]
#[template(path = "groups/_news.html")]
struct News {
    href: String,
}

#[derive(Template)]
#[template(path = "groups/page.html", blocks = ["title", "main", "about", "results", "nav"])]
struct GroupsPage {
    shell: Shell,
    /// `37 groups with open letters`
    count: String,
    /// What the list shows, where that is not plain.
    about: &'static str,
    /// Where the page asks whether the list is another by now.
    feed: String,
    /// How many of them are new since the last visit, and when that was.
    news: Option<(String, Moment)>,
    filters: Filters,
    rows: Vec<GroupRow>,
    empty: Option<Empty>,
    pager: Pager,
}

/// Why a list is empty.
enum Empty {
    /// Nothing is open, and there are groups.
    AllDone {
        everything: String,
    },
    NothingYet(NextStep),
    FilterTooNarrow,
    /// None is in the state that is asked for.
    NoneInState,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    visit: Visit,
) -> Result<Response, WebError> {
    if visit.part == Some(Part::News) {
        return Ok(fragment::only(news(&app, &visit).await?));
    }
    let last = LastVisit::of(&headers, &user, app.clock.now());
    let page = load(&app, &visit, last.before).await?;
    let mut response = answer!(page, visit.part,
        Part::Main => main,
        Part::Results | Part::News => of_page as_about as_results,
    );
    if !is_refresh(&headers) {
        last.keep(&mut response);
    }
    Ok(response)
}

async fn load(app: &AppState, visit: &Visit, before: Option<Timestamp>) -> Result<GroupsPage, WebError> {
    let query = &visit.query.0;
    let filter = query.page_filter();
    let store = app.store();
    let (facets, counts, (page, rows)) = tokio::try_join!(
        async { Ok(store.counts_overall().await?) },
        async { Ok(store.count_groups(&filter).await?) },
        load_rows(app, query, &filter, before),
    )?;
    let new = rows.iter().filter(|row| row.is_new).count() as u64;
    Ok(GroupsPage {
        shell: visit.at(query.href(), Shell::new(app, Page::Groups, &facets).await?),
        count: count(page.total, query, &filter),
        about: about(query),
        feed: query.href_with(&[("shown", &shown(&page).to_string())]),
        news: before.filter(|_| new > 0).map(|at| (number::thousands(new), Moment::new(at, app.clock.now()))),
        filters: Filters::new(app, query, &counts, &facets),
        empty: (page.total == 0).then(|| why_empty(app, query, &counts)),
        rows,
        pager: query.pager(page.next),
    })
}

/// Stands for which groups a page shows, and how far people are with them.
fn shown(page: &GroupPage) -> Version {
    Version::of(&page.items.iter().map(|group| (group.id, group.state.version())).collect::<Vec<_>>())
}

/// Whether the list is another by now; nothing where it is the same.
async fn news(app: &AppState, visit: &Visit) -> Result<String, WebError> {
    let (query, Beside { shown: was }) = &visit.query;
    let pending_since = app.clock.now().minus(app.settings.succeeded_after);
    let filter = query.page_filter();
    let page = app.store().groups(&filter, query.sort, query.place()?, query.limit(), pending_since).await?;
    if was.as_ref().is_some_and(|was| *was == shown(&page).to_string()) {
        return Ok(String::new());
    }
    Ok(News { href: query.href() }.render()?)
}

async fn load_rows(
    app: &AppState,
    query: &GroupQuery,
    filter: &GroupFilter,
    seen: Option<Timestamp>,
) -> Result<(GroupPage, Vec<GroupRow>), WebError> {
    let (now, policies) = (app.clock.now(), app.policies.book());
    let pending_since = now.minus(app.settings.succeeded_after);
    let page = app.store().groups(filter, query.sort, query.place()?, query.limit(), pending_since).await?;
    let span = Span::of(&page.items, now);
    let received = received(app, &page.items, span).await?;
    let spark = |group: &Group| Spark::new(received.get(&group.id).map(Vec::as_slice).unwrap_or_default(), span);
    let rows = page.items.iter().map(|group| GroupRow::new(group, spark(group), &policies, (seen, now))).collect();
    Ok((page, rows))
}

/// How many letters each group got, and from when on.
async fn received(
    app: &AppState,
    groups: &[Group],
    span: Span,
) -> Result<HashMap<GroupId, Vec<(Timestamp, u64)>>, WebError> {
    let ids: Vec<_> = groups.iter().map(|group| group.id).collect();
    if !span.is_in_hours() {
        return Ok(app.store().group_arrivals(&ids, span.since, span.step).await?);
    }
    let hours = app.store().group_hours(&ids, span.since).await?;
    let received = |hours: Vec<Hour>| hours.into_iter().map(|hour| (hour.start, hour.received)).collect();
    Ok(hours.into_iter().map(|(group, hours)| (group, received(hours))).collect())
}

/// The groups that a person should look at first.
pub async fn first_rows(app: &AppState, most: usize) -> Result<Vec<GroupRow>, WebError> {
    let query = GroupQuery { limit: Some(most), ..GroupQuery::default() };
    let (_, rows) = load_rows(app, &query, &query.page_filter(), None).await?;
    Ok(rows.into_iter().map(|row| GroupRow { is_picked: false, ..row }).collect())
}

/// Those of one queue: the first of them, and the list of all.
pub async fn rows_of_queue(app: &AppState, broker: &str, queue: &str, most: usize) -> Result<QueueGroups, WebError> {
    let query = GroupQuery {
        brokers: vec![broker.to_owned()],
        queues: vec![queue.to_owned()],
        limit: Some(most),
        ..GroupQuery::default()
    };
    let (page, rows) = load_rows(app, &query, &query.page_filter(), None).await?;
    Ok(QueueGroups {
        rows: rows.into_iter().map(|row| GroupRow { is_picked: false, ..row }).collect(),
        total: number::thousands(page.total),
        href: query.with(|query| query.limit = None).href(),
    })
}

/// Groups of one queue that need attention.
pub struct QueueGroups {
    pub rows: Vec<GroupRow>,
    pub total: String,
    pub href: String,
}

fn why_empty(app: &AppState, query: &GroupQuery, counts: &GroupCounts) -> Empty {
    let unfiltered = GroupQuery {
        all: query.all,
        phases: query.phases.clone(),
        sort: query.sort,
        limit: query.limit,
        ..GroupQuery::default()
    };
    if query.with(|_| ()) != unfiltered {
        return Empty::FilterTooNarrow;
    }
    if counts.all == 0 {
        return Empty::NothingYet(NextStep::of(app));
    }
    if !query.phases.is_empty() {
        return Empty::NoneInState;
    }
    Empty::AllDone { everything: query.with(|query| query.all = Some(true)).href() }
}
