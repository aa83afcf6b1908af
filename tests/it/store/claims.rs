//! What is claimed, on a Postgres that plans its queries in its worst way.

use std::time::Duration;

use dead_letter_office::store::Store;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::{
    database::{RETRY_NOW, TestDatabase},
    make::later,
};

/// What stands behind an IN is carried out for each row. With few rows and new statistics Postgres plans that by itself
/// now and then.
const WORST: [&str; 5] = ["enable_material", "enable_hashjoin", "enable_mergejoin", "enable_hashagg", "enable_sort"];

#[tokio::test]
async fn a_claim_takes_no_more_than_it_asks_for_however_it_is_planned() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let mut connection = PgConnection::connect(database.url()).await.unwrap();
    let (name,): (String,) =
        sqlx::query_as("SELECT current_database()::text").fetch_one(&mut connection).await.unwrap();
    for setting in WORST {
        let set = format!("ALTER DATABASE \"{name}\" SET {setting} = off");
        connection.execute(AssertSqlSafe(set)).await.unwrap();
    }
    let ids = database.take_in_many(5).await;
    database.does(&RETRY_NOW, &ids).await;
    connection.execute("ANALYZE retries").await.unwrap();
    let store = Store::open(database.url()).await.unwrap();
    let claimed = store.claim_due_retries("main", later(1), Duration::from_secs(60), 1).await.unwrap();
    assert_eq!(claimed.len(), 1);
    let claimed = store.claim_due_retries("main", later(1), Duration::from_secs(60), 3).await.unwrap();
    assert_eq!(claimed.len(), 3, "the others were left alone");
    for setting in WORST {
        let reset = format!("ALTER DATABASE \"{name}\" RESET {setting}");
        connection.execute(AssertSqlSafe(reset)).await.unwrap();
    }
}
