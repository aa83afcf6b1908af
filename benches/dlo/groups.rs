//! What pages of groups take at a million letters, against what they take at ten thousand in as many groups.

use crate::{
    database::TestDatabase,
    full::{GROUPS, few_and_many},
    pages::{FEW, MANY},
    server::Server,
    support::rabbit::{Rabbit, Vhost},
};

/// How long a page may take, and how many times as long as at few letters.
const MILLISECONDS: f64 = 50.0;
const RATIO: f64 = 1.5;

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    println!("\npages at {MANY} letters in {GROUPS} groups against {FEW} in as many");
    few_and_many(FEW, MANY, async |name, few, many| compare(name, rabbit, few, many).await).await;
}

async fn compare(database: &str, rabbit: &Rabbit, few: &TestDatabase, many: &TestDatabase) {
    let vhost: Vhost = rabbit.vhost();
    let (few, many) = (Server::start(few, &vhost).await, Server::start(many, &vhost).await);
    let (group_of_few, group_of_many) = (first_group(&few, FEW).await, first_group(&many, MANY).await);
    for (what, path) in [
        ("groups", "/groups"),
        ("groups of some queues", "/groups?queue_glob=service-1*&sort=newest"),
        ("all groups, API", "/api/v1/groups?limit=50"),
        ("one group", "/groups/{id}"),
        ("overview", "/"),
    ] {
        let at_few = few.time(&path.replace("{id}", &group_of_few)).await;
        let at_many = many.time(&path.replace("{id}", &group_of_many)).await;
        let ratio = at_many.median / at_few.median;
        let verdict = if ratio <= RATIO && at_many.p95 <= MILLISECONDS { "kept" } else { "MISSED" };
        println!(
            "{:<44} {:>6.2} ms (p95 {:.2}, promised {MILLISECONDS:.0}) ratio {ratio:>5.2} promised {RATIO:.2}  {verdict}",
            format!("{what}, {database}"),
            at_many.median,
            at_many.p95,
        );
    }
    // Nothing has moved meanwhile.
    first_group(&few, FEW).await;
    first_group(&many, MANY).await;
}

/// The id of the group that is listed first; fails unless so many letters are there, in all groups, and the group counts
/// as many as its list, in which they are counted one by one.
async fn first_group(server: &Server, letters: u32) -> String {
    assert_eq!(server.letters("&status=open").await, u64::from(letters), "letters");
    let groups = server.get("groups?limit=1").await;
    assert_eq!(groups["total"].as_u64(), Some(u64::from(GROUPS)), "groups");
    let group = &groups["items"][0];
    let id = group["id"].as_str().expect("a group");
    let of_group = server.letters(&format!("&status=open&group={id}")).await;
    assert_eq!(group["open"].as_u64(), Some(of_group), "letters of a group");
    id.to_owned()
}
