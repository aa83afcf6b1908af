//! `/groups`: similar failures, the most important first.

use std::{collections::HashMap, sync::Arc};

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
        filter::LetterCounts,
        group::{Group, GroupCounts, GroupFilter, GroupPage, GroupSort, Hour},
    },
    web::{
        AppState,
        error::WebError,
        query::{GroupQuery, Listed, Pager, Parameters},
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
    let (query, filter) = (&visit.query, visit.query.filter(false));
    let store = app.store();
    let (facets, counts, (page, rows)) = tokio::try_join!(
        async { Ok(store.counts_overall().await?) },
        async { Ok(store.count_groups(&filter).await?) },
        load_rows(app, query, &filter),
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

async fn load_rows(
    app: &AppState,
    query: &GroupQuery,
    filter: &GroupFilter,
) -> Result<(GroupPage, Vec<GroupRow>), WebError> {
    let now = app.clock.now();
    let pending_since = now.minus(app.settings.succeeded_after);
    let page = app.store().groups(filter, query.sort, query.place()?, query.limit(), pending_since).await?;
    let ids: Vec<_> = page.items.iter().map(|group| group.id).collect();
    let hours: HashMap<_, Vec<Hour>> = app.store().group_hours(&ids, Spark::since(now)).await?;
    let of = |group: &Group| hours.get(&group.id).map(Vec::as_slice).unwrap_or_default();
    let rows = page.items.iter().map(|group| GroupRow::new(group, of(group), now)).collect();
    Ok((page, rows))
}

/// The groups that a person should look at first.
pub async fn first_rows(app: &AppState, most: usize) -> Result<Vec<GroupRow>, WebError> {
    let query = GroupQuery { limit: Some(most), ..GroupQuery::default() };
    Ok(load_rows(app, &query, &query.filter(false)).await?.1)
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
        facets: &LetterCounts,
    ) -> Self {
        let unfiltered = GroupQuery { all: query.all, sort: query.sort, ..GroupQuery::default() };
        let (names, mut beside) = NameFields::new(app, query, facets);
        let message_type = match (&*query.types, &*query.type_globs, query.type_unknown) {
            ([], [glob], None) => glob.clone(),
            ([name], [], None) if !name.contains(['*', '?']) => name.clone(),
            _ => String::new(),
        };
        if !message_type.is_empty() {
            (beside.types, beside.type_globs) = Default::default();
        }
        if query.reasons.len() < 2 {
            beside.reasons.clear();
        }
        Self {
            statuses: status_chips(query, filter, counts),
            importances: Chip::importances(
                &query.importances,
                |importance| number::thousands(counts.by_importance[importance as usize]),
                |chosen| query.with(|query| query.importances = chosen).href(),
            ),
            names,
            message_type,
            reasons: Choice::reasons(&query.reasons),
            sorts: sort_choices(query.sort),
            beside: beside.with(|query| query.sort = GroupSort::default()).pairs(),
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
