//! `/groups/{id}/in-common` and `/letters/in-common`: what the letters of a group or a search have in common. The page of the
//! group asks for it when it is shown, since it takes longer than all the rest; the list, when somebody wants to know.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};

use super::{
    fragment::answer,
    group_split,
    part::parts,
    shell::{Page, Shell},
    visit,
};
use crate::{
    domain::{filter::Counted, group::Group},
    services::causes::FEWEST,
    web::{
        error::WebError,
        input::{
            QueryPairs,
            path_id::{PathId, missing},
        },
        query::{LetterQuery, Listed},
        shared::search,
        state::AppState,
        view::{
            group::{Title, href},
            in_common::{Compared, InCommonView},
        },
        visitor::Visitor,
    },
};

parts! {
    pub Part {
        /// All that changes from page to page.
        Main = "main",
        /// What the page of the group shows.
        Panel = "panel",
    }
}

#[derive(Template)]
#[template(path = "group/in_common.html", blocks = ["title", "main", "nav", "panel"])]
struct InCommonPage {
    shell: Shell,
    /// What they are, and where it is.
    of: String,
    of_href: String,
    /// What a link to the list with a cause says.
    leads: &'static str,
    in_common: InCommonView,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Group>,
    QueryPairs(mut pairs): QueryPairs,
) -> Result<Response, WebError> {
    let part: Option<Part> = pairs.take_parsed("part")?;
    let store = app.store();
    let group = store.groups_by_id(&[id]).await?.pop().ok_or_else(missing::<Group>)?;
    Visitor::looks_at_queue(&group.key.broker, group.key.queue.as_deref());
    let found = app.causes.in_common(&store, &group).await?;
    let shell = Shell::new(&app, Page::Groups, &store.counts_overall().await?).await?;
    let page = InCommonPage {
        shell: Shell { is_fragment: part.is_some(), here: format!("{}/in-common", href(id)), ..shell },
        of: Title::new(&group.key).in_words(),
        of_href: href(id),
        leads: "Find them",
        in_common: InCommonView::new(
            Compared::Group,
            &found,
            |search| {
                let list = LetterQuery { statuses: Some(Vec::new()), ..LetterQuery::of_group(id, None) };
                app.settings.is_search_enabled.then(|| list.href_with(&[("q", search)]))
            },
            |field| group.key.part.is_none().then(|| group_split::by_field(id, field)),
        ),
    };
    Ok(answer!(page, part, Part::Main => main, Part::Panel => only as_panel))
}

type Visit = visit::Visit<LetterQuery, Part>;

/// Where it is asked of a list; all letters have nothing to be compared with.
pub fn address(query: &LetterQuery, total: Counted) -> Option<String> {
    let is_narrowed = query.with(|query| query.limit = None) != LetterQuery::default();
    let list = query.with(|_| ()).href();
    (is_narrowed && total.n >= FEWEST as u64).then(|| in_common(&list))
}

fn in_common(list: &str) -> String {
    list.replacen(LetterQuery::PAGE, "/letters/in-common", 1)
}

pub async fn of_search(State(app): State<Arc<AppState>>, visit: Visit) -> Result<Response, WebError> {
    let query = &visit.query;
    search::check(&app, query)?;
    let (store, filter) = (app.store(), query.page_filter(app.clock.now()));
    let found = app.causes.in_common_of(&store, &filter, |attribute| query.asks_for(attribute)).await?;
    let shell = Shell::new(&app, Page::Letters, &store.counts_overall().await?).await?;
    let here = query.href();
    let page = InCommonPage {
        shell: visit.at(in_common(&here), shell),
        of: "Dead letters".to_owned(),
        of_href: here,
        leads: "Add to the search",
        in_common: InCommonView::new(
            Compared::Search,
            &found,
            |term| app.settings.is_search_enabled.then(|| query.and(term).href()),
            |_| None,
        ),
    };
    Ok(answer!(page, visit.part, Part::Main => main, Part::Panel => only as_panel))
}
