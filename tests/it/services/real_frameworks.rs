//! A few real frameworks that fail in other ways than with a plain reject. `make frameworks` runs all of them.

use super::desk::PATIENCE;
use crate::support::{clients, process::Leash, rabbit::Rabbit};

/// Recognised without headers of ours; dropped by their own limit; counted by the framework; handed over by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_frameworks_do_what_is_expected_of_them() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(command) = clients::few_frameworks(rabbit, env!("CARGO_BIN_EXE_dlo")) else { return };
    let runner = Leash::on(command).spawn();
    let status = runner.exited(PATIENCE).await;
    assert!(status.success(), "{}", runner.lines().join("\n"));
}
