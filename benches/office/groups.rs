//! What pages of groups take at a million letters, against what they take at ten thousand in as many groups.

use dead_letter_office::{
    domain::{
        filter::{LetterFilter, PageRequest, Sort},
        group::GroupKey,
        letter::LetterSummary,
    },
    grouping,
    store::Sorted,
};

use crate::{
    ledger::Ledger,
    letters::store_letters,
    pages::{FEW, MANY, QUEUES, Server, queue},
    support::{
        postgres::Postgres,
        rabbit::{Rabbit, Vhost},
    },
};

/// Ways to fail in each of the [`QUEUES`]; together five thousand groups.
const ERRORS: u32 = 125;
/// How long a page may take, and how many times as long as at few letters.
const MILLISECONDS: f64 = 50.0;
const RATIO: f64 = 1.5;

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    println!("\npages at {MANY} letters in {} groups against {FEW} in as many", QUEUES * ERRORS);
    compare("SQLite", rabbit, &fill(Ledger::sqlite().await, FEW).await, &fill(Ledger::sqlite().await, MANY).await)
        .await;
    if let Some(postgres) = Postgres::durable() {
        let few = fill(Ledger::postgres(&postgres).await, FEW).await;
        let many = fill(Ledger::postgres(&postgres).await, MANY).await;
        compare("Postgres", rabbit, &few, &many).await;
    }
}

async fn compare(database: &str, rabbit: &Rabbit, few: &Ledger, many: &Ledger) {
    let vhost: Vhost = rabbit.vhost();
    let (few, many) = (Server::start(few, &vhost).await, Server::start(many, &vhost).await);
    for (what, path) in [
        ("groups", "/groups"),
        ("groups of some queues", "/groups?queue=service-1*&sort=newest"),
        ("all groups, API", "/api/v1/groups?limit=50"),
        ("one group", "/groups/{id}"),
        ("overview", "/"),
    ] {
        let at_few = few.time(&path.replace("{id}", &few.first_group().await)).await;
        let at_many = many.time(&path.replace("{id}", &many.first_group().await)).await;
        let ratio = at_many.median / at_few.median;
        let verdict = if ratio <= RATIO && at_many.p95 <= MILLISECONDS { "kept" } else { "MISSED" };
        println!(
            "{:<44} {:>6.2} ms (p95 {:.2}, promised {MILLISECONDS:.0}) ratio {ratio:>5.2} promised {RATIO:.2}  {verdict}",
            format!("{what}, {database}"),
            at_many.median,
            at_many.p95,
        );
    }
}

async fn fill(ledger: Ledger, letters: u32) -> Ledger {
    store_letters(&ledger, letters, queue).await;
    let mut page = PageRequest { sort: Sort::Oldest, after: None, limit: 1_000 };
    let mut number = 0;
    loop {
        let found = ledger.store.letters(&LetterFilter::default(), &page).await.expect("a page");
        let sorted: Vec<Sorted> =
            found.items.iter().zip(number..).map(|(letter, number)| sorted(letter, number)).collect();
        let last = found.items.last().expect("a letter").received_at;
        ledger.store.sort(&sorted, 1, last).await.expect("sorted");
        number += u32::try_from(sorted.len()).expect("a page's length");
        page.after = found.next;
        if page.after.is_none() {
            return ledger;
        }
    }
}

/// Two letters of each queue and importance fail in the next two ways, so that few letters fill all groups.
fn sorted(letter: &LetterSummary, number: u32) -> Sorted {
    let error = (number / (4 * QUEUES) * 2 + number % 2) % ERRORS;
    let key = GroupKey {
        broker: letter.broker.clone(),
        queue: letter.queue.clone(),
        message_type: None,
        reason: letter.reason,
        error: format!("StockError: {} in warehouse", "x".repeat(error as usize + 1)),
    };
    Sorted {
        letter: letter.id,
        received_at: letter.received_at,
        type_by_hand: None,
        message_type: None,
        source: None,
        confidence: None,
        importance: letter.importance,
        importance_by: "default".to_owned(),
        group: grouping::id(&key),
        key,
    }
}
