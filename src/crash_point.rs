//! Places where a test lets the process die, as if killed, to show that nothing is lost there.
//!
//! Compiled in only with the feature `crash-points`, which no release has. `DLO_TEST_CRASH_AT=NAME:N` ends the process
//! without any cleaning up when it comes to the place of that name for the Nth time. With the same feature pages wait
//! longer for what they ask for, so that no test depends on how fast the machine is.

use std::time::Duration;

/// How long a page waits for something that usually takes a moment and goes on without it: `usual`, but in tests as long
/// as these wait for anything.
pub const fn patience(usual: Duration) -> Duration {
    if cfg!(feature = "crash-points") { Duration::from_secs(180) } else { usual }
}

/// How long something is waited for that holds others up: `usual`, but longer in tests, of which many ask at once.
pub const fn short_patience(usual: Duration) -> Duration {
    if cfg!(feature = "crash-points") { Duration::from_secs(10) } else { usual }
}

/// Dies here if a test says so.
#[cfg(not(feature = "crash-points"))]
pub const fn point(_name: &str) {}

/// Dies here if a test says so.
#[cfg(feature = "crash-points")]
pub fn point(name: &str) {
    use std::sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    };
    static PASSED: AtomicU64 = AtomicU64::new(0);
    static WANTED: LazyLock<Option<(String, u64)>> = LazyLock::new(|| {
        let wanted = std::env::var("DLO_TEST_CRASH_AT").ok()?;
        let (name, times) = wanted.rsplit_once(':')?;
        Some((name.to_owned(), times.parse().ok()?))
    });
    let Some((wanted, times)) = &*WANTED else { return };
    if name == wanted && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *times {
        std::process::abort();
    }
}
