//! `/groups`: what failed alike, the weightiest first.

use std::{collections::HashMap, sync::Arc};

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, response::Response};

use super::{
    choices::{Chip, Choice, NameFields},
    fragment::answer,
    part::ListPart,
    shell::{Page, Shell},
    visit::Visit,
};
use crate::{
    domain::{
        filter::FacetCount,
        group::{Group, GroupCounts, GroupFilter, GroupPage, GroupSort, Hour},
    },
    web::{
        AppState,
        error::WebError,
        query::{GroupQuery, Pager, Parameters},
        view::{group::GroupRow, number, spark::Spark},
    },
};

#[derive(Template)]
#[template(path = "groups/page.html", blocks = ["title", "main", "results", "nav", "count"])]
struct GroupsPage {
    shell: Shell,
    /// `37 groups with open letters`
    count: String,
    /// Where the page asks how many there are by now.
    recount: String,
    filters: Filters,
    rows: Vec<GroupRow>,
    empty: Option<Empty>,
    pager: Pager,
}

struct Filters {
    statuses: Vec<Chip>,
    importances: Vec<Chip>,
    names: NameFields,
    message_type: String,
    reasons: Vec<Choice>,
    sorts: Vec<Choice>,
    /// What the form carries along unseen.
    beside: Vec<(&'static str, String)>,
    /// The page without any of this; none when nothing is set.
    clear: Option<String>,
}

/// Why a list is empty.
enum Empty {
    /// Nothing is open, and there are groups.
    AllDone {
        everything: String,
    },
    NothingYet {
        exchange: String,
    },
    FilterTooNarrow,
}

pub async fn show(State(app): State<Arc<AppState>>, visit: Visit<GroupQuery, ListPart>) -> Result<Response, WebError> {
    let page = load(&app, &visit).await?;
    Ok(answer!(page, visit.part,
        ListPart::Main => main,
        ListPart::Results => of_page as_results,
        ListPart::Count => only as_count,
    ))
}

async fn load(app: &AppState, visit: &Visit<GroupQuery, ListPart>) -> Result<GroupsPage, WebError> {
    // The page opens on what has open letters.
    let (query, filter, now) = (&visit.query, visit.query.filter(false), app.clock.now());
    let wanted = Wanted { filter: &filter, query, limit: query.limit() };
    let (facets, counts, (page, rows)) = tokio::try_join!(
        async { Ok(app.store.facets().await?) },
        async { Ok(app.store.count_groups(&filter).await?) },
        load_rows(app, &wanted, now),
    )?;
    Ok(GroupsPage {
        shell: visit.at(query.href(), Shell::new(app, Page::Groups, &facets).await?),
        count: count(page.total, filter.only_open),
        recount: query.with(|_| ()).href(),
        filters: Filters::new(app, query, &filter, &counts, &facets),
        empty: (page.total == 0).then(|| why_empty(app, query, &counts)),
        rows,
        pager: query.pager(page.next),
    })
}

/// Which groups, and how many of them.
struct Wanted<'a> {
    filter: &'a GroupFilter,
    query: &'a GroupQuery,
    limit: usize,
}

async fn load_rows(
    app: &AppState,
    wanted: &Wanted<'_>,
    now: Timestamp,
) -> Result<(GroupPage, Vec<GroupRow>), WebError> {
    let pending_since = now.minus(app.settings.succeeded_after);
    let Wanted { filter, query, limit } = wanted;
    let page = app.store.groups(filter, query.sort, query.cursor, *limit, pending_since).await?;
    let rows = rows(app, &page.items, now).await?;
    Ok((page, rows))
}

/// The groups that a person should look at first.
pub async fn first_rows(app: &AppState, most: usize) -> Result<Vec<GroupRow>, WebError> {
    let query = GroupQuery::default();
    let wanted = Wanted { filter: &query.filter(false), query: &query, limit: most };
    Ok(load_rows(app, &wanted, app.clock.now()).await?.1)
}

async fn rows(app: &AppState, groups: &[Group], now: Timestamp) -> Result<Vec<GroupRow>, WebError> {
    let ids: Vec<_> = groups.iter().map(|group| group.id).collect();
    let hours: HashMap<_, Vec<Hour>> = app.store.group_hours(&ids, Spark::since(now)).await?;
    let of = |group: &Group| hours.get(&group.id).map(Vec::as_slice).unwrap_or_default();
    Ok(groups.iter().map(|group| GroupRow::new(group, of(group), now)).collect())
}

fn count(total: u64, only_open: bool) -> String {
    match (total, only_open) {
        (0, true) => "no group has open dead letters".to_owned(),
        (_, true) => format!("{} with open dead letters", number::plural(total, "group")),
        (_, false) => number::plural(total, "group"),
    }
}

fn why_empty(app: &AppState, query: &GroupQuery, counts: &GroupCounts) -> Empty {
    let unfiltered = GroupQuery { all: query.all, sort: query.sort, limit: query.limit, ..GroupQuery::default() };
    if query.with(|_| ()) != unfiltered {
        return Empty::FilterTooNarrow;
    }
    if counts.all == 0 {
        return Empty::NothingYet { exchange: app.settings.dead_letter_exchange.clone() };
    }
    Empty::AllDone { everything: query.with(|query| query.all = Some(true)).href() }
}

impl Filters {
    fn new(
        app: &AppState,
        query: &GroupQuery,
        filter: &GroupFilter,
        counts: &GroupCounts,
        facets: &[FacetCount],
    ) -> Self {
        let unfiltered = GroupQuery { all: query.all, sort: query.sort, ..GroupQuery::default() };
        let beside = |query: &mut GroupQuery| {
            (query.brokers, query.queues, query.types, query.reasons) = Default::default();
            query.sort = GroupSort::default();
        };
        Self {
            statuses: status_chips(query, filter, counts),
            importances: Chip::importances(
                &query.importances,
                |importance| number::thousands(counts.by_importance[importance as usize]),
                |chosen| query.with(|query| query.importances = chosen).href(),
            ),
            names: NameFields::new(app, &query.queues, &query.brokers, facets),
            message_type: query.types.join(","),
            reasons: Choice::reasons(&query.reasons),
            sorts: sort_choices(query.sort),
            beside: query.with(beside).pairs(),
            clear: (query.with(|query| query.limit = None) != unfiltered).then(|| unfiltered.href()),
        }
    }
}

fn status_chips(query: &GroupQuery, filter: &GroupFilter, counts: &GroupCounts) -> Vec<Chip> {
    let chip = |label, count, all: Option<bool>, is_current| {
        let href = query.with(|query| (query.all, query.importances) = (all, Vec::new())).href();
        Chip::new(label, number::thousands(count), href, is_current)
    };
    let is_any = query.importances.is_empty();
    vec![
        chip("With open dead letters", counts.open, None, filter.only_open && is_any),
        chip("All groups", counts.all, Some(true), !filter.only_open),
    ]
}

fn sort_choices(chosen: GroupSort) -> Vec<Choice> {
    let choice = |&sort: &GroupSort| Choice {
        value: if sort == GroupSort::default() { String::new() } else { sort.to_string() },
        label: match sort {
            GroupSort::Importance => "Most important first",
            GroupSort::Biggest => "Most open first",
            GroupSort::Newest => "Latest first",
        }
        .to_owned(),
        is_selected: sort == chosen,
    };
    GroupSort::ALL.iter().map(choice).collect()
}
