//! A few real frameworks that fail in other ways than with a plain reject. `make frameworks` runs all of them.

use super::desk::PATIENCE;
use crate::support::{clients, process::Leash, rabbit::Rabbit};

/// What the runner prints at the end, whatever came out.
const END: &str = "as expected; all that was seen is in";

/// Copies without our headers, tries that a framework counts or makes by itself, and a limit that has passed.
#[test]
fn a_few_frameworks_do_what_is_expected_of_them() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(command) = clients::few_frameworks(rabbit, env!("CARGO_BIN_EXE_dlo")) else { return };
    let runner = Leash::on(command).spawn();
    runner.line_with(END, PATIENCE);
    let lines = runner.lines();
    assert!(!lines.iter().any(|line| line.starts_with("FAILED")), "{}", lines.join("\n"));
}
