//! Laravel by way of laravel-queue-rabbitmq: rejects, and counts in a table of its own.

use amqp_message::message::Message;
use serde::Deserialize;

use super::{
    evidence::{Evidence, number},
    framework::Framework,
    report::FrameworkReport,
};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Laravel",
    records: "attempts, type",
    retried: "its count of attempts is removed",
    read,
    clean,
    advice: "Laravel keeps the exception in its own table failed_jobs, under the job's uuid, and only rejects.",
};

/// What makes a body a job.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Job {
    display_name: Option<String>,
}

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let laravel = evidence.table("laravel");
    if laravel.is_none() && !evidence.mentions(r"Illuminate\\Queue\\CallQueuedHandler@call") {
        return None;
    }
    let attempts = laravel.and_then(|table| table.get("attempts")).and_then(number);
    let message_type = evidence.body::<Job>().and_then(|job| job.display_name);
    Some(FrameworkReport {
        message_type,
        ..FrameworkReport::attempts(attempts.map(|earlier| earlier.saturating_add(1)))
    })
}

/// With the count in place the job would have used up its tries.
fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    // Very old versions counted in a header of this name.
    message.headers.remove_where(|name| name == "laravel" || name == "attempts_count");
    Ok(())
}
