//! What shells and `man` know of the command line. It asks no configuration.

use std::{fs, io, path::Path};

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;

/// The script that completes the words of `dlo` in that shell.
pub(super) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "dlo", &mut script);
    script
}

/// Writes a page for `dlo` and one for each command.
pub(super) fn man_pages(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // Nobody looks up dlo-help(1).
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder)
}
