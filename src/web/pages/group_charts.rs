//! How a group grew, as its page shows it.

use std::time::Duration;

use amqp_message::time::Timestamp;

use crate::{
    domain::{
        filter::LetterFilter,
        group::{Group, Hour},
        marker::Marker,
    },
    web::{
        error::WebError,
        query::LetterQuery,
        shared::{
            marks::{is_about, with_marks},
            recent::Recent,
        },
        state::AppState,
        view::{
            chart::{Chart, Window},
            group_chart::{chart, window},
        },
    },
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) struct GroupCharts {
    pub day: Chart,
    /// `last 24 hours`
    pub day_told: String,
    /// None where all of it is in the last day.
    pub fortnight: Option<Chart>,
}

impl GroupCharts {
    /// What the bars of two weeks stand for.
    pub fn fortnight(now: Timestamp) -> Window {
        window(now, 14 * 24, 6)
    }

    /// Of its hours within two weeks.
    pub async fn load(app: &AppState, group: &Group, hours: &[Hour], now: Timestamp) -> Result<Self, WebError> {
        let letters = LetterQuery::all_of_group(group.id);
        let is_meant = |marker: &Marker| is_about(marker, &group.key.broker, group.key.queue.as_deref());
        if is_young(group, now) {
            let filter = LetterFilter { groups: vec![group.id], ..LetterFilter::default() };
            let recent = Recent::load(&app.store(), &filter, now).await?;
            let day = with_marks(app, (recent.chart(now, &letters), recent.window), is_meant).await?;
            return Ok(Self { day, day_told: recent.told(), fortnight: None });
        }
        let drawn = |window| (chart(group, hours, window, now, &letters), window);
        Ok(Self {
            day: with_marks(app, drawn(window(now, 24, 1)), is_meant).await?,
            day_told: "last 24 hours".to_owned(),
            fortnight: Some(with_marks(app, drawn(Self::fortnight(now)), is_meant).await?),
        })
    }
}

/// Whether all that is in a group came within a day, and can be counted one by one: else it is told by hours.
fn is_young(group: &Group, now: Timestamp) -> bool {
    const MOST_COUNTED: u64 = 20_000;
    group.first_seen > now.minus(DAY) && group.letters() <= MOST_COUNTED
}
