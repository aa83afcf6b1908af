//! One line of the log for each change that somebody makes.

use crate::domain::{
    activity::{Area, AuditEntry},
    actor::Actor,
    command::Command,
};

/// What there is to say of it stands in the activity, not here: it may hold what is secret.
pub(super) fn log(AuditEntry { by, area, action, subject, letters, .. }: &AuditEntry) {
    tracing::info!(%area, action, subject, letters, %by, "a change was made");
}

/// The same for a command on letters.
pub(super) fn log_letters(command: &Command, by: &Actor, letters: u64, refused: u64) {
    let what = match (letters, refused) {
        (0, 0) => "nothing to change",
        (0, _) => "a change was refused",
        _ => "a change was made",
    };
    tracing::info!(area = %Area::Letters, action = command.name(), letters, refused, %by, "{what}");
}
