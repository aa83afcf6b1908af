//! What is wrong with the server, at the top of every page. It asks nobody, and so says it also while the database hangs.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    response::{Html, IntoResponse, Response},
};

use crate::{
    domain::health::{Condition, Status},
    services::health::fingerprint,
    web::{
        error::WebError,
        state::AppState,
        view::{text, time::Moment},
    },
};

#[derive(Template)]
#[template(path = "_banner.html")]
struct Fragment {
    banner: Banner,
}

/// All that is wrong.
#[derive(Default)]
pub struct Banner {
    /// Stands for what is wrong; see [`events`](crate::web::events).
    pub changes: String,
    /// The database is: nothing else is asked for until it is back.
    pub is_away: bool,
    pub items: Vec<BannerItem>,
}

pub struct BannerItem {
    /// `unready`, `degraded`
    pub status: &'static str,
    pub title: String,
    pub since: Moment,
    pub why: String,
    pub what_to_do: String,
}

impl Banner {
    pub fn of(app: &AppState) -> Self {
        let (conditions, now) = (app.health.conditions(), app.clock.now());
        let item = |condition: &Condition| BannerItem {
            status: condition.kind.status().as_str(),
            title: text::one_line(&condition.title()),
            since: Moment::new(condition.since, now),
            why: text::one_line(&condition.why),
            what_to_do: condition.what_to_do(),
        };
        let mut items: Vec<BannerItem> = conditions.iter().map(item).collect();
        // What follows from the one above is wrong for the same reason.
        for at in (1..items.len()).rev() {
            if items[at].why == items[at - 1].why {
                items[at].why.clear();
            }
        }
        Self { changes: changes(fingerprint(&conditions)), is_away: app.health.is_database_away(), items }
    }
}

impl BannerItem {
    pub fn is_unready(&self) -> bool {
        self.status == Status::Unready.as_str()
    }
}

/// As pages and events write it.
pub fn changes(fingerprint: u64) -> String {
    format!("{fingerprint:x}")
}

pub async fn show(State(app): State<Arc<AppState>>) -> Result<Response, WebError> {
    Ok(Html(Fragment { banner: Banner::of(&app) }.render()?).into_response())
}
