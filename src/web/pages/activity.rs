//! `/activity`: who did what, the newest first.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};

use super::{
    choices::Choice,
    fragment::answer,
    part::parts,
    shell::{Page, Shell},
};
use crate::{
    domain::{activity::Area, actor::Actor},
    web::{
        error::WebError,
        query::{ActivityQuery, Listed, Pager},
        shared::audit_subjects,
        state::AppState,
        view::activity::ActivityRow,
    },
};

parts! {
    pub Part {
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
    /// What the address of an export says of which entries it has.
    exported: String,
    rows: Vec<ActivityRow>,
    is_filtered: bool,
    pager: Pager,
}

type Visit = super::visit::Visit<ActivityQuery, Part>;

pub async fn show(State(app): State<Arc<AppState>>, visit: Visit) -> Result<Response, WebError> {
    let page = load(&app, &visit).await?;
    Ok(answer!(page, visit.part, Part::Results => of_page as_results))
}

async fn load(app: &AppState, visit: &Visit) -> Result<ActivityPage, WebError> {
    let (now, query) = (app.clock.now(), &visit.query);
    let (filter, before, limit) = (query.filter(now), query.place()?, query.limit());
    // One more than is shown tells whether there are older ones.
    let store = app.store();
    let (facets, mut entries, people) =
        tokio::try_join!(store.counts_overall(), store.activity(&filter, before, limit + 1), store.actors())?;
    let has_older = entries.len() > limit;
    entries.truncate(limit);
    let subjects = audit_subjects::load(&app.store(), &entries).await?;
    let last = entries.last().map(|entry| entry.seq).filter(|_| has_older);
    Ok(ActivityPage {
        shell: visit.at(query.href(), Shell::new(app, Page::Activity, &facets).await?),
        areas: area_choices(query.areas.get(..1).unwrap_or_default()),
        people: people_choices(&query.by, &people),
        times: time_choices(query),
        subject: query.subject.clone().unwrap_or_default(),
        exported: ActivityQuery { limit: None, cursor: None, ..query.clone() }
            .href()
            .trim_start_matches("/activity")
            .to_owned(),
        rows: entries.iter().map(|entry| ActivityRow::new(entry, &subjects, now)).collect(),
        is_filtered: !query.is_open(),
        pager: query.pager(last),
    })
}

fn area_choices(chosen: &[Area]) -> Vec<Choice> {
    let label = |area: Area| match area {
        Area::Letters => "Letters",
        Area::Groups => "Groups",
        Area::Rules => "Rules",
        Area::GroupingRules => "Grouping rules",
        Area::Policies => "Policies",
        Area::Queues => "Queues",
        Area::Schemas => "Schemas",
        Area::Mappings => "Types by queue",
        Area::Digests => "Digests",
        Area::Markers => "Markers",
        Area::Views => "Saved views",
        Area::Users => "Users",
        Area::Tokens => "API tokens",
    };
    let offered = Area::ALL.iter().map(|area| (area.to_string(), label(*area).to_owned()));
    Choice::list("Everything", chosen, offered)
}

/// Several by the address stay as they are only as long as the form is not sent: a field takes one.
fn people_choices(chosen: &[String], people: &[Actor]) -> Vec<Choice> {
    let label = |actor: &Actor| match actor.as_str() {
        Actor::SYSTEM => "dlo itself".to_owned(),
        name => name.to_owned(),
    };
    let offered = people.iter().map(|actor| (actor.as_str().to_owned(), label(actor)));
    Choice::list("Anybody", chosen.get(..1).unwrap_or_default(), offered)
}

fn time_choices(query: &ActivityQuery) -> Vec<Choice> {
    const OFFERED: [(&str, &str); 4] =
        [("1h", "Last hour"), ("24h", "Last 24 h"), ("7d", "Last 7 days"), ("30d", "Last 30 days")];
    let offered = OFFERED.map(|(value, label)| (value.to_owned(), label.to_owned()));
    Choice::list("Any time", query.since.as_slice(), offered)
}
