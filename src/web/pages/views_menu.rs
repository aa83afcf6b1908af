//! Saved views in the navigation. Pages show what was counted last, so that none is slower for it; where that is old, the
//! navigation asks for it to be counted.

use crate::{
    domain::{filter::Counted, saved_view::SavedView},
    web::{
        error::WebError,
        shared::saved_views::{self, href, keeper},
        state::AppState,
        view::{number, text},
    },
};

/// Views that are shown; their page has all of them.
const MOST: usize = 12;

#[derive(Default)]
pub struct ViewsMenu {
    pub items: Vec<ViewLink>,
    /// How many more there are.
    pub more: usize,
    /// Whether they are to be counted.
    pub is_stale: bool,
}

pub struct ViewLink {
    pub name: String,
    pub href: String,
    /// `38`, `1,000+`; empty where it is not known.
    pub count: String,
    pub is_current: bool,
}

impl ViewLink {
    fn new(view: &SavedView, counted: Option<Counted>) -> Self {
        let count =
            |counted: Counted| format!("{}{}", number::thousands(counted.n), if counted.is_least { "+" } else { "" });
        Self {
            name: text::one_line(&view.content.name),
            href: href(view),
            count: counted.map(count).unwrap_or_default(),
            is_current: false,
        }
    }
}

impl ViewsMenu {
    /// With the counts that are known.
    pub async fn known(app: &AppState) -> Result<Self, WebError> {
        let (views, more) = shown(app).await?;
        let mut menu = Self { more, ..Self::default() };
        for view in &views {
            let known = saved_views::known_count(app, view);
            menu.is_stale |= known.is_stale;
            menu.items.push(ViewLink::new(view, known.counted));
        }
        Ok(menu)
    }

    /// Counted where that was long ago.
    pub async fn counted(app: &AppState) -> Result<Self, WebError> {
        let (views, more) = shown(app).await?;
        let mut menu = Self { more, ..Self::default() };
        for view in &views {
            menu.items.push(ViewLink::new(view, saved_views::count(app, view).await?));
        }
        Ok(menu)
    }

    /// Marks the one that is looked at.
    pub fn mark(&mut self, here: &str) {
        for item in &mut self.items {
            let behind = here.strip_prefix(&*item.href);
            item.is_current = behind.is_some_and(|rest| rest.is_empty() || rest.starts_with("&letter="));
        }
    }
}

async fn shown(app: &AppState) -> Result<(Vec<SavedView>, usize), WebError> {
    let mut views = app.store().views(&keeper()).await?;
    let more = views.len().saturating_sub(MOST);
    views.truncate(MOST);
    Ok((views, more))
}
