//! A clock for servers that can be put forward and back while they run.

use std::{fs, sync::Arc, time::Duration};

use tempfile::TempDir;

use crate::support::faketime;

/// The clock of all servers of a run; cheap to clone.
#[derive(Clone)]
pub struct ServerClock {
    library: String,
    directory: Arc<TempDir>,
}

impl ServerClock {
    /// `None` where tests for it may be skipped.
    pub fn right() -> Option<Self> {
        let library = faketime()?.to_str().expect("a path that is text").to_owned();
        let clock = Self { library, directory: Arc::new(tempfile::tempdir().unwrap()) };
        clock.put_right();
        Some(clock)
    }

    pub fn put_ahead(&self, by: Duration) {
        self.write('+', by);
    }

    pub fn put_behind(&self, by: Duration) {
        self.write('-', by);
    }

    pub fn put_right(&self) {
        self.write('+', Duration::ZERO);
    }

    /// By which a program goes by this clock. How long something takes it still sees as it is.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("LD_PRELOAD", self.library.clone()),
            ("FAKETIME_TIMESTAMP_FILE", self.file()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }

    fn file(&self) -> String {
        self.directory.path().join("offset").to_str().expect("a path that is text").to_owned()
    }

    /// At once: a server may read it at any moment.
    fn write(&self, sign: char, offset: Duration) {
        let (file, new) = (self.file(), self.directory.path().join("new"));
        fs::write(&new, format!("{sign}{}\n", offset.as_secs())).unwrap();
        fs::rename(new, file).unwrap();
    }
}
