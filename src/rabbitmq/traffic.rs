//! Whether anything comes to a session.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// When something was last delivered, acknowledged or put off.
pub(super) struct Traffic(Mutex<Instant>);

impl Default for Traffic {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Traffic {
    pub fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub fn silence(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_silent_since_something_last_came() {
        const MINUTE: Duration = Duration::from_secs(60);
        let traffic = Traffic::default();
        tokio::time::advance(MINUTE).await;
        assert_eq!(traffic.silence(), MINUTE);
        traffic.note();
        assert_eq!(traffic.silence(), Duration::ZERO);
    }
}
