//! Parses, builds, runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    dead_letter_office::cli::run()
}
