//! Which connections there are, and which of them are at work.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::body::Body;
use tokio_util::sync::CancellationToken;

use super::held_body::holding;
use crate::web::state::limits::Limits;

/// All connections of a server.
pub struct Connections {
    limits: Limits,
    all: Mutex<HashMap<u64, Entry>>,
    /// Grows with everything that happens; the lower it was, the longer ago.
    steps: AtomicU64,
}

struct Entry {
    /// Whose it is; none for whoever asks for others, too.
    peer: Option<IpAddr>,
    given_up: CancellationToken,
    /// Requests that are not answered yet to their last byte.
    at_work: usize,
    /// When it began to wait for the next.
    since: u64,
}

impl Connections {
    pub fn new(limits: Limits) -> Self {
        Self { limits, all: Mutex::default(), steps: AtomicU64::new(0) }
    }

    /// A new one; where there are too many, or too many of one peer, it takes the place of the one that waits longest. `None`
    /// where all are at work and the reserve is used up, too.
    pub fn open(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<Connection> {
        let mut all = self.lock();
        // One alone must not keep out everybody else.
        let has_its_share = |all: &HashMap<u64, Entry>| {
            let its = all.values().filter(|entry| peer.is_some() && entry.peer == peer).count();
            its >= self.limits.connections.div_ceil(2)
        };
        if has_its_share(&all) {
            give_up_one(&mut all, |entry| entry.peer == peer);
        }
        if all.len() >= self.limits.connections {
            give_up_one(&mut all, |_| true);
        }
        let is_reserve = all.len() >= self.limits.connections || has_its_share(&all);
        if all.len() >= self.limits.connections + self.limits.reserve {
            return None;
        }
        let (id, given_up) = (self.step(), CancellationToken::new());
        all.insert(id, Entry { peer, given_up: given_up.clone(), at_work: 0, since: id });
        Some(Connection { id, given_up, is_reserve, all: Arc::clone(self) })
    }

    /// Gives up the one that waits longest.
    pub fn make_room(&self) {
        give_up_one(&mut self.lock(), |_| true);
    }

    fn step(&self) -> u64 {
        self.steps.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one of these that waits longest, if one does.
fn give_up_one(all: &mut HashMap<u64, Entry>, is_meant: impl Fn(&Entry) -> bool) {
    let waiting = all.iter().filter(|(_, entry)| entry.at_work == 0 && is_meant(entry));
    let longest = waiting.min_by_key(|(_, entry)| entry.since).map(|(id, _)| *id);
    if let Some(entry) = longest.and_then(|id| all.remove(&id)) {
        entry.given_up.cancel();
    }
}

/// One connection; it is closed where it is dropped.
pub struct Connection {
    id: u64,
    given_up: CancellationToken,
    is_reserve: bool,
    all: Arc<Connections>,
}

impl Connection {
    /// Cancelled when another one takes its place.
    pub fn given_up(&self) -> CancellationToken {
        self.given_up.clone()
    }

    /// Whether it is one of those that only probes can use.
    pub const fn is_reserve(&self) -> bool {
        self.is_reserve
    }

    /// Begins to work at a request.
    pub fn begin(self: &Arc<Self>) -> Busy {
        if let Some(entry) = self.all.lock().get_mut(&self.id) {
            entry.at_work += 1;
        }
        Busy(Arc::clone(self))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.lock().remove(&self.id);
    }
}

/// A connection at work, until it is dropped.
pub struct Busy(Arc<Connection>);

impl Busy {
    /// It is at work until this is sent.
    pub fn around(self, body: Body) -> Body {
        holding(body, self)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let connections = &self.0.all;
        if let Some(entry) = connections.lock().get_mut(&self.0.id) {
            entry.at_work = entry.at_work.saturating_sub(1);
            entry.since = connections.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections() -> Arc<Connections> {
        Arc::new(Connections::new(Limits { connections: 2, reserve: 1, ..Limits::default() }))
    }

    #[test]
    fn the_one_that_waits_longest_makes_room() {
        let all = connections();
        let (first, second) = (Arc::new(all.open(None).unwrap()), Arc::new(all.open(None).unwrap()));
        drop(first.begin());
        let third = all.open(None).unwrap();
        assert!(second.given_up().is_cancelled(), "the first was at work since");
        assert!(!first.given_up().is_cancelled() && !third.is_reserve());
    }

    #[test]
    fn one_peer_has_half_of_them_at_most() {
        let all = Arc::new(Connections::new(Limits { connections: 4, reserve: 4, ..Limits::default() }));
        let (eve, ada) = (Some([192, 0, 2, 1].into()), Some([192, 0, 2, 2].into()));
        let open = |peer| Arc::new(all.open(peer).unwrap());
        let (first, second) = (open(eve), open(eve));
        let busy = first.begin();
        let third = open(eve);
        assert!(second.given_up().is_cancelled() && !third.is_reserve(), "of its own the one that waits");
        let third = third.begin();
        assert!(open(eve).is_reserve());
        assert!(!open(ada).is_reserve());
        let proxied: Vec<_> = std::iter::repeat_with(|| open(None)).take(2).collect();
        assert!(proxied.iter().all(|connection| !connection.is_reserve()), "whoever asks for others has no such limit");
        drop((busy, third));
    }

    #[test]
    fn while_all_are_at_work_there_is_a_reserve() {
        let all = connections();
        let working: Vec<_> = std::iter::repeat_with(|| Arc::new(all.open(None).unwrap())).take(2).collect();
        let busy: Vec<_> = working.iter().map(Connection::begin).collect();
        let further = all.open(None).unwrap();
        assert!(further.is_reserve());
        let further = Arc::new(further);
        let probe = further.begin();
        assert!(all.open(None).is_none());
        drop(probe);
        assert!(all.open(None).unwrap().is_reserve(), "the reserve makes room, too");
        drop(busy);
        assert!(!all.open(None).unwrap().is_reserve());
    }
}
