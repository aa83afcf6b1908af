//! The ledger, on both databases.

use dead_letter_office::store::Store;

#[tokio::test]
async fn opens_and_migrates() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&format!("sqlite://{}/ledger.db", directory.path().display())).await.unwrap();
    store.migrate().await.unwrap();
    store.check_version().await.unwrap();
    store.check_writable().await.unwrap();
}
