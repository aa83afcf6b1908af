//! Somebody who has signed in, in one browser.

use std::time::Duration;

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::UserId;

/// When a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// After so long without a request.
    pub idle: Duration,
    /// After so long, whatever is done.
    pub length: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Names it where it is listed; who knows it cannot use it.
    pub id: Uuid,
    pub user: UserId,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    /// From where it was seen last.
    pub address: String,
    /// What the browser calls itself.
    pub agent: String,
}

impl Session {
    pub fn is_over(&self, now: Timestamp, limits: SessionLimits) -> bool {
        now.since(self.seen_at) >= limits.idle || now.since(self.created_at) >= limits.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_nobody_uses_it_and_after_its_time() {
        let limits = SessionLimits { idle: Duration::from_secs(10), length: Duration::from_secs(100) };
        let at = Timestamp::from_seconds;
        let session = |created_at, seen_at| Session {
            id: Uuid::nil(),
            user: UserId::from_uuid(Uuid::nil()),
            created_at: at(created_at),
            seen_at: at(seen_at),
            address: String::new(),
            agent: String::new(),
        };
        assert!(!session(0, 0).is_over(at(9), limits) && session(0, 0).is_over(at(10), limits));
        assert!(!session(0, 95).is_over(at(99), limits) && session(0, 95).is_over(at(100), limits));
    }
}
