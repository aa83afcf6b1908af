//! Waking a worker that would otherwise look only every so often.

use std::sync::Arc;

use tokio::sync::Notify;

/// Notified when there is something to do at once; whoever is not listening hears it when it listens next.
#[derive(Clone, Debug, Default)]
pub struct Wakeup(Arc<Notify>);

impl Wakeup {
    pub fn notify(&self) {
        self.0.notify_waiters();
        self.0.notify_one();
    }

    /// Waits until it is notified.
    pub async fn notified(&self) {
        self.0.notified().await;
    }
}
