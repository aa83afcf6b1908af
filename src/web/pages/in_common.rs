//! `/groups/{id}/in-common`: what the letters of a group have in common. The page of the group asks for it when it is
//! shown, since it takes longer than all the rest.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};

use super::{
    fragment::answer,
    part::parts,
    shell::{Page, Shell},
};
use crate::{
    domain::group::Group,
    web::{
        AppState,
        error::WebError,
        input::QueryPairs,
        path_id::{PathId, missing},
        query::{LetterQuery, Listed},
        security::Visitor,
        view::{
            group::{Title, href},
            in_common::InCommonView,
        },
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
    group: String,
    group_href: String,
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
        group: Title::new(&group.key).in_words(),
        group_href: href(id),
        in_common: InCommonView::new(&found, |search| {
            let list = LetterQuery { statuses: Some(Vec::new()), ..LetterQuery::of_group(id, None) };
            app.settings.is_search_enabled.then(|| list.href_with(&[("q", search)]))
        }),
    };
    Ok(answer!(page, part, Part::Main => main, Part::Panel => only as_panel))
}
