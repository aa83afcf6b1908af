//! Programs that read the description of an API, as commands that lack only their arguments.

use std::{path::PathBuf, process::Command};

use super::{find_or_skip, rig_script};

/// Where they are.
pub struct ApiTools {
    root: PathBuf,
}

impl ApiTools {
    /// `None` where tests may be skipped for them.
    pub fn find() -> Option<Self> {
        find_or_skip("api-tools").map(|root| Self { root })
    }

    /// One of those that pip has put there.
    pub fn python(&self, program: &str) -> Command {
        let bin = self.root.join("python/bin");
        let mut command = Command::new(bin.join(program));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin.display()));
        command
    }

    /// One of those that npm has put there.
    pub fn node(&self, program: &str) -> Command {
        Command::new(self.modules().join(".bin").join(program))
    }

    /// What Node finds libraries in.
    pub fn modules(&self) -> PathBuf {
        self.root.join("node_modules")
    }

    /// A file of `tests/rig`.
    pub fn file(name: &str) -> PathBuf {
        rig_script(name)
    }
}
