//! The queues of a virtual host, page by page.

use std::{collections::HashSet, time::Duration};

use reqwest::StatusCode;
use url::Url;

use super::{
    Management, ManagementError,
    answer::{Page, Refusal},
    call::Answered,
};
use crate::domain::queue_level::QueueLevel;

/// What is asked for; without this a page is six times as large.
const COLUMNS: &str = "name,type,state,messages,messages_ready,messages_unacknowledged,consumers,idle_since,policy,\
                       arguments.x-max-length,effective_policy_definition.max-length,exclusive,auto_delete,\
                       arguments.x-message-ttl,effective_policy_definition.message-ttl,\
                       arguments.x-dead-letter-exchange,arguments.x-dead-letter-routing-key,\
                       effective_policy_definition.dead-letter-exchange,\
                       effective_policy_definition.dead-letter-routing-key,\
                       message_stats.publish_details.rate,message_stats.deliver_get_details.rate,\
                       message_stats.redeliver_details.rate,message_stats.ack_details.rate";

/// Queues of a page: the most that the API takes. For each page it goes through all queues, so few pages are cheap.
const PAGE_SIZE: u64 = 500;

/// How many queues are read at most.
const MOST: usize = 100_000;

/// How long the whole list may take. Ten thousand queues take 3 to 7 s on a small machine.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) async fn all(management: &Management) -> Result<Vec<QueueLevel>, ManagementError> {
    let late = |_| ManagementError::TooSlow {
        address: management.address().to_owned(),
        vhost: management.vhost.clone(),
        limit: TIMEOUT,
    };
    tokio::time::timeout(TIMEOUT, read_all(management)).await.map_err(late)?
}

pub(super) async fn count(management: &Management) -> Result<u64, ManagementError> {
    let page = page(management, 1, 1).await?;
    Ok(page.map_or(0, |page| page.total_count))
}

async fn read_all(management: &Management) -> Result<Vec<QueueLevel>, ManagementError> {
    let (mut levels, mut names) = (Vec::new(), HashSet::new());
    let mut number = 1;
    while let Some(page) = page(management, number, PAGE_SIZE).await? {
        levels.extend(page.items.into_iter().map(QueueLevel::from).filter(|level| names.insert(level.name.clone())));
        if levels.len() > MOST {
            let (address, vhost) = (management.address().to_owned(), management.vhost.clone());
            return Err(ManagementError::TooMany { address, vhost, limit: MOST });
        }
        // Whatever number of pages it claims to have, asking comes to an end.
        if number >= page.page_count.min(MOST as u64 / PAGE_SIZE + 1) {
            break;
        }
        number += 1;
    }
    Ok(levels)
}

/// `None` when there is no such page, say because queues were deleted since the one before.
async fn page(management: &Management, number: u64, size: u64) -> Result<Option<Page>, ManagementError> {
    let caller = &management.caller;
    let answered = caller.call(address(&management.queues, number, size)).await?;
    if answered.status == StatusCode::OK {
        return caller.read(&answered.body).map(Some);
    }
    let refusal = serde_json::from_slice::<Refusal>(&answered.body).unwrap_or_default();
    if number > 1 && refusal.error == "page_out_of_range" {
        return Ok(None);
    }
    Err(refused(management, &answered, &refusal))
}

fn address(queues: &Url, number: u64, size: u64) -> Url {
    let mut url = queues.clone();
    url.query_pairs_mut()
        .append_pair("page", &number.to_string())
        .append_pair("page_size", &size.to_string())
        .append_pair("columns", COLUMNS)
        // Where statistics are off, this still gets the counts of messages; elsewhere it changes nothing.
        .append_pair("enable_queue_totals", "true");
    url
}

fn refused(management: &Management, answered: &Answered, refusal: &Refusal) -> ManagementError {
    let (address, vhost) = (management.address().to_owned(), management.vhost.clone());
    let user = management.caller.user().to_owned();
    match answered.status {
        StatusCode::UNAUTHORIZED if refusal.reason == "User not authorised to access virtual host" => {
            ManagementError::NoPermission { address, user, vhost }
        }
        // 4.3 says this, too, when the user may not enter.
        StatusCode::NOT_FOUND if !refusal.error.is_empty() => ManagementError::NoVhost { address, user, vhost },
        _ => management.caller.refused(answered),
    }
}
