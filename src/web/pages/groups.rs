//! `/groups`: similar failures, the most important first.

use std::{collections::HashMap, sync::Arc};

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    filters::{Chip, Choice, broker_choices, queue_names, reason_choices_of},
    fragment,
    part::ListPart,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{
        filter::FacetCount,
        group::{Group, GroupCounts, GroupFilter, GroupPage, GroupSort, Hour},
        letter::Importance,
    },
    web::{
        AppState,
        error::WebError,
        input::QueryPairs,
        query::{GroupQuery, Pairs, Parameters},
        view::{group::GroupRow, number, spark::Spark},
    },
};

/// Rows of a page, unless the address says otherwise.
const ROWS: usize = 50;

/// What the address says.
struct Asked {
    query: GroupQuery,
    part: Option<ListPart>,
}

impl Asked {
    fn take(mut pairs: Pairs) -> Result<Self, WebError> {
        let asked = Self { query: GroupQuery::take(&mut pairs)?, part: pairs.take_parsed("part")? };
        pairs.finish(&format!("{}, part", GroupQuery::names()))?;
        Ok(asked)
    }

    /// The page opens on what has open letters.
    fn filter(&self) -> GroupFilter {
        self.query.filter(false)
    }
}

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
    shows_broker: bool,
    empty: Option<Empty>,
    next: Option<String>,
    first: Option<String>,
}

struct Filters {
    statuses: Vec<Chip>,
    importances: Vec<Chip>,
    queue: String,
    queues: Vec<String>,
    message_type: String,
    brokers: Vec<Choice>,
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

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let asked = Asked::take(pairs)?;
    let page = load(&app, &asked, &headers).await?;
    Ok(match asked.part {
        None => fragment::whole(page.render()?, &page.shell),
        Some(ListPart::Main) => {
            let blocks = [page.as_title().render()?, page.as_main().render()?, page.as_nav().render()?];
            fragment::main(blocks, &page.shell)
        }
        Some(ListPart::Results) => fragment::of_page(page.as_results().render()?, &page.shell),
        Some(ListPart::Count) => fragment::only(page.as_count().render()?),
    })
}

async fn load(app: &AppState, asked: &Asked, headers: &HeaderMap) -> Result<GroupsPage, WebError> {
    let (query, filter, now) = (&asked.query, asked.filter(), app.clock.now());
    let wanted = Wanted { filter: &filter, query, limit: query.limit.unwrap_or(ROWS) };
    let (facets, counts, (page, rows)) = tokio::try_join!(
        async { Ok(app.store.facets().await?) },
        async { Ok(app.store.count_groups(&filter).await?) },
        load_rows(app, &wanted, now),
    )?;
    let here = query.href();
    let toast = Toast::from_cookie(headers, &here).filter(|_| ListPart::takes_toast(asked.part));
    let shell = Shell::new(app, Page::Groups, &facets).await?;
    let brokers = app.brokers.all();
    Ok(GroupsPage {
        count: count(page.total, filter.only_open),
        recount: query.with(|_| ()).href(),
        filters: Filters::new(query, &filter, &counts, &facets, broker_choices(&query.brokers, &facets, &brokers)),
        empty: (page.total == 0).then(|| why_empty(app, query, &counts)),
        rows,
        shows_broker: brokers.len() > 1 && query.brokers.len() != 1,
        next: page.next.map(|cursor| query.with(|query| query.cursor = Some(cursor)).href()),
        first: query.cursor.map(|_| query.with(|_| ()).href()),
        shell: Shell { toast, here, is_fragment: asked.part.is_some(), ..shell },
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
        query: &GroupQuery,
        filter: &GroupFilter,
        counts: &GroupCounts,
        facets: &[FacetCount],
        brokers: Vec<Choice>,
    ) -> Self {
        let unfiltered = GroupQuery { all: query.all, sort: query.sort, ..GroupQuery::default() };
        let beside = |query: &mut GroupQuery| {
            (query.brokers, query.queues, query.types, query.reasons) = Default::default();
            query.sort = GroupSort::default();
        };
        Self {
            statuses: status_chips(query, filter, counts),
            importances: importance_chips(query, counts),
            queue: query.queues.join(","),
            queues: queue_names(facets),
            message_type: query.types.join(","),
            brokers,
            reasons: reason_choices_of(&query.reasons),
            sorts: sort_choices(query.sort),
            beside: query.with(beside).pairs(),
            clear: (query.with(|query| query.limit = None) != unfiltered).then(|| unfiltered.href()),
        }
    }
}

fn status_chips(query: &GroupQuery, filter: &GroupFilter, counts: &GroupCounts) -> Vec<Chip> {
    let chip = |label, count, all: Option<bool>, is_current| Chip {
        label,
        class: "",
        count: number::thousands(count),
        href: query.with(|query| (query.all, query.importances) = (all, Vec::new())).href(),
        is_current,
    };
    let is_any = query.importances.is_empty();
    vec![
        chip("With open dead letters", counts.open, None, filter.only_open && is_any),
        chip("All groups", counts.all, Some(true), !filter.only_open),
    ]
}

fn importance_chips(query: &GroupQuery, counts: &GroupCounts) -> Vec<Chip> {
    let chip = |(&importance, count): (&Importance, u64)| Chip {
        label: importance.as_str(),
        class: importance.as_str(),
        count: number::thousands(count),
        href: query
            .with(|query| {
                let others = query.importances.iter().copied().filter(|other| *other != importance);
                let mut chosen: Vec<Importance> = others.collect();
                chosen.extend((!query.importances.contains(&importance)).then_some(importance));
                chosen.sort();
                query.importances = chosen;
            })
            .href(),
        is_current: query.importances.contains(&importance),
    };
    Importance::ALL.iter().zip(counts.by_importance).map(chip).collect()
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
