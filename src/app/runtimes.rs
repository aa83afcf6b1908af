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

    /// Lets go of what is still done: nobody waits for a thread that may never end.
    pub fn end(self) {
        self.background.shutdown_background();
        self.pages.shutdown_background();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_keeps_nobody_waiting() {
        let runtimes = Runtimes::start().unwrap();
        for runtime in [&runtimes.background, &runtimes.pages] {
            let (begun, has_begun) = std::sync::mpsc::channel();
            runtime.spawn_blocking(move || {
                begun.send(()).unwrap();
                loop {
                    std::thread::park();
                }
            });
            has_begun.recv().unwrap();
        }
        runtimes.end();
    }
}
