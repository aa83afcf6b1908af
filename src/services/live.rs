//! Values of the configuration that may be replaced while they are in use.

use std::sync::Arc;

use tokio::sync::watch;

/// A value that may be replaced. Whoever works with it takes it once, so that it does not change within a piece of work.
/// Cheap to clone; all clones are one.
#[derive(Debug)]
pub struct Live<T>(watch::Sender<Arc<T>>);

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Live<T> {
    pub fn new(value: T) -> Self {
        Self(watch::Sender::new(Arc::new(value)))
    }

    pub fn now(&self) -> Arc<T> {
        Arc::clone(&self.0.borrow())
    }

    pub fn replace(&self, value: T) {
        self.0.send_replace(Arc::new(value));
    }
}
