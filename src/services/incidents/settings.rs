//! When users are notified of incidents.

use std::time::Duration;

use url::Url;

use crate::{
    config::PageConfig,
    domain::{letter::Importance, schedule::QuietHours},
};

/// When users are notified.
pub struct Settings {
    /// Where links lead.
    pub public_url: Url,
    pub remind_every: Duration,
    pub quiet_hours: Option<QuietHours>,
    /// What waits in quiet hours.
    pub quiet: Vec<Importance>,
    /// More groups than this within a minute are one incident; 0: never.
    pub collect_above: usize,
}

impl Settings {
    /// # Errors
    /// What is wrong with the quiet hours.
    pub fn new(page: &PageConfig, public_url: Url) -> Result<Self, String> {
        Ok(Self {
            public_url,
            remind_every: page.remind_every,
            quiet_hours: page.quiet_hours.hours()?,
            quiet: page.quiet_hours.importance.clone(),
            collect_above: page.collect_above,
        })
    }
}
