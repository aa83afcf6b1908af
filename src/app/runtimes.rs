//! On which threads what is done.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// How much the background gives way to pages, in steps of nice(2): of a core that both want it gets a tenth.
const GIVES_WAY: i32 = 10;

/// Pages and API are answered on threads of their own, so that no work in the background keeps them waiting.
pub struct Runtimes {
    pub pages: Runtime,
    pub background: Runtime,
}

impl Runtimes {
    pub fn start() -> io::Result<Self> {
        let pages = Builder::new_multi_thread().thread_name("pages").enable_all().build()?;
        // Threads take it over from whoever starts them, those of database drivers too. Where it is not possible the background
        // is merely not as considerate.
        _ = rustix::process::nice(GIVES_WAY);
        let background = Builder::new_multi_thread().thread_name("background").enable_all().build()?;
        Ok(Self { pages, background })
    }
}
