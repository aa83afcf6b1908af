//! Telling those who watch that something has changed.

use tokio::sync::watch;

/// What happened since the start; the numbers only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidings {
    /// Letters that came in or came back.
    pub received: u64,
    /// Letters that were moved or marked.
    pub changed: u64,
}

#[derive(Clone, Debug, Default)]
pub struct News(watch::Sender<Tidings>);

impl News {
    pub fn subscribe(&self) -> watch::Receiver<Tidings> {
        self.0.subscribe()
    }

    pub fn received(&self, letters: u64) {
        if letters > 0 {
            self.0.send_modify(|tidings| tidings.received += letters);
        }
    }

    pub fn changed(&self, letters: u64) {
        if letters > 0 {
            self.0.send_modify(|tidings| tidings.changed += letters);
        }
    }
}
