//! `/activity`: who did what, the newest first.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    filters::Choice,
    fragment,
    part::parts,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{activity::Area, actor::Actor},
    web::{
        AppState, audit_subjects,
        error::WebError,
        input::QueryPairs,
        query::{ActivityQuery, Parameters, When},
        view::activity::ActivityRow,
    },
};

/// Lines of a page, unless the address says otherwise.
const ROWS: usize = 50;

parts! {
    Part {
        /// What a changed filter changes; the filter's own fields stay as they are.
        Results = "results",
    }
}

#[derive(Template)]
#[template(path = "activity/page.html", blocks = ["results"])]
struct ActivityPage {
    shell: Shell,
    areas: Vec<Choice>,
    people: Vec<Choice>,
    times: Vec<Choice>,
    subject: String,
    rows: Vec<ActivityRow>,
    is_filtered: bool,
    /// Older lines, and the newest.
    next: Option<String>,
    first: Option<String>,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let query = ActivityQuery::take(&mut pairs)?;
    let before = pairs.take_parsed("before")?;
    let part = pairs.take_parsed::<Part>("part")?;
    pairs.finish(&format!("{}, before, part", ActivityQuery::names()))?;
    let mut page = load(&app, &query, before).await?;
    if part.is_some() {
        page.shell.is_fragment = true;
        return Ok(fragment::of_page(page.as_results().render()?, &page.shell));
    }
    page.shell.toast = Toast::from_cookie(&headers, "/letters");
    Ok(fragment::whole(page.render()?, &page.shell))
}

async fn load(app: &AppState, query: &ActivityQuery, before: Option<i64>) -> Result<ActivityPage, WebError> {
    let now = app.clock.now();
    let (filter, limit) = (query.filter(now), query.limit.unwrap_or(ROWS));
    // One more than is shown tells whether there are older ones.
    let (facets, mut entries, people) =
        tokio::try_join!(app.store.facets(), app.store.activity(&filter, before, limit + 1), app.store.actors(),)?;
    let has_older = entries.len() > limit;
    entries.truncate(limit);
    let subjects = audit_subjects::load(app, &entries).await?;
    let last = entries.last().map(|entry| entry.seq).filter(|_| has_older);
    Ok(ActivityPage {
        areas: area_choices(&query.areas),
        people: people_choices(&query.by, &people),
        times: time_choices(query),
        subject: query.subject.clone().unwrap_or_default(),
        rows: entries.iter().map(|entry| ActivityRow::new(entry, &subjects, now)).collect(),
        is_filtered: !query.is_open(),
        next: last.map(|seq| query.href(Some(seq))),
        first: before.map(|_| query.href(None)),
        shell: Shell { here: query.href(before), ..Shell::new(app, Page::Activity, &facets).await? },
    })
}

fn choices(any: &str, chosen: &str, offered: Vec<(String, String)>) -> Vec<Choice> {
    let any = Choice { value: String::new(), label: any.to_owned(), is_selected: chosen.is_empty() };
    let is_known = chosen.is_empty() || offered.iter().any(|(value, _)| value == chosen);
    let own = (!is_known).then(|| Choice { value: chosen.to_owned(), label: chosen.to_owned(), is_selected: true });
    let choice = |(value, label): (String, String)| Choice { is_selected: value == chosen, value, label };
    std::iter::once(any).chain(own).chain(offered.into_iter().map(choice)).collect()
}

fn area_choices(chosen: &[Area]) -> Vec<Choice> {
    let label = |area: Area| match area {
        Area::Letters => "Letters",
        Area::Groups => "Groups",
        Area::Rules => "Rules",
        Area::Policies => "Policies",
        Area::Schemas => "Schemas",
        Area::Mappings => "Types by queue",
        Area::Digests => "Digests",
    };
    let offered = Area::ALL.iter().map(|area| (area.to_string(), label(*area).to_owned())).collect();
    let chosen: Vec<String> = chosen.iter().map(Area::to_string).collect();
    choices("Everything", &chosen.join(","), offered)
}

/// Several by the address stay as they are only as long as the form is not sent: a field takes one.
fn people_choices(chosen: &[String], people: &[Actor]) -> Vec<Choice> {
    let label = |actor: &Actor| match actor.as_str() {
        Actor::SYSTEM => "dlo itself".to_owned(),
        name => name.to_owned(),
    };
    let offered = people.iter().map(|actor| (actor.as_str().to_owned(), label(actor))).collect();
    choices("Anybody", chosen.first().map_or("", String::as_str), offered)
}

fn time_choices(query: &ActivityQuery) -> Vec<Choice> {
    const OFFERED: [(&str, &str); 4] =
        [("1h", "Last hour"), ("24h", "Last 24 h"), ("7d", "Last 7 days"), ("30d", "Last 30 days")];
    let since = query.since.as_ref().map(When::to_string).unwrap_or_default();
    let offered = OFFERED.map(|(value, label)| (value.to_owned(), label.to_owned())).to_vec();
    choices("Any time", &since, offered)
}
