//! A folder whose schemas are taken in as they change.

use std::{fs, time::Duration};

use dead_letter_office::services::{
    health::WorkerReport,
    schemas::{Folder, Schemas},
    worker,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{answer::Look, desk::Desk, schemas::fixture};
use crate::support::PATIENCE;

struct Scene {
    desk: Desk,
    place: TempDir,
    folder: Folder,
}

impl Scene {
    async fn open() -> Self {
        let (desk, place) = (Desk::open().await, tempfile::tempdir().unwrap());
        let folder = Folder::new(place.path().to_owned(), desk.schemas.clone());
        Self { desk, place, folder }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    async fn read(&mut self) {
        self.desk.clock.advance(Duration::from_secs(1));
        self.folder.read().await;
    }

    /// The names of what counts, the newest first.
    fn current(&self) -> Vec<String> {
        let catalogue = self.desk.schemas.catalogue();
        catalogue.current().map(|standing| standing.record.name.clone()).collect()
    }

    fn problems(&self) -> Vec<String> {
        self.desk.schemas.folder().unwrap().problems.iter().map(ToString::to_string).collect()
    }
}

#[tokio::test]
async fn sets_and_sources_are_taken_in() {
    let mut scene = Scene::open().await;
    scene.write("sets/next.binpb", fixture("editions.binpb"));
    scene.write("a/one.proto", "syntax = \"proto3\"; import \"a/two.proto\"; message One { Two two = 1; }");
    scene.write("a/two.proto", "syntax = \"proto3\"; message Two {}");
    scene.write(".hidden/three.proto", "no source");
    scene.write("readme.md", "no schema");
    scene.read().await;
    assert_eq!(scene.problems(), [""; 0]);
    let mut names = scene.current();
    names.sort();
    let of_folder = scene.place.path().file_name().unwrap().to_string_lossy().into_owned();
    let mut expected = [of_folder, "sets/next.binpb".to_owned()];
    expected.sort();
    assert_eq!(names, expected);
    assert!(scene.desk.schemas.catalogue().find("Two").is_some());
    let page = scene.desk.page("/schemas").await;
    assert_eq!(page.all("table.table-schemas .mark-state").len(), 2, "where they come from is said");
}

#[tokio::test]
async fn what_changes_becomes_a_version_and_what_goes_stays() {
    let mut scene = Scene::open().await;
    scene.write("a.proto", "syntax = \"proto3\"; message A { string a = 1; }");
    scene.read().await;
    scene.read().await;
    assert_eq!(scene.desk.schemas.catalogue().versions().len(), 1, "the same is not brought twice");
    scene.write("a.proto", "syntax = \"proto3\"; message A { string a = 1; string b = 2; }");
    scene.read().await;
    let catalogue = scene.desk.schemas.catalogue();
    assert_eq!((catalogue.versions().len(), catalogue.current().count()), (2, 1));
    assert_eq!(catalogue.find("A").unwrap().message.fields().len(), 2);
    fs::remove_file(scene.place.path().join("a.proto")).unwrap();
    scene.read().await;
    assert!(scene.desk.schemas.catalogue().find("A").is_some());
}

#[tokio::test]
async fn what_is_wrong_is_said_and_the_version_before_stays() {
    let mut scene = Scene::open().await;
    scene.write("a.proto", "syntax = \"proto3\"; message A { string a = 1; }");
    scene.read().await;
    scene.write("a.proto", "syntax = \"proto3\";\nmessage A { string a 1; }");
    scene.write("b.binpb", "\u{fffd}");
    for _ in 0..2 {
        scene.read().await;
        let problems = scene.problems();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems.iter().any(|problem| problem.starts_with("a.proto:2:22: ")), "{problems:?}");
        assert!(problems.iter().any(|problem| problem.starts_with("b.binpb: ")), "{problems:?}");
    }
    assert_eq!(scene.desk.schemas.catalogue().find("A").unwrap().message.fields().len(), 1);
    assert!(scene.desk.page("/schemas").await.words("[aria-labelledby=folder-title]").contains("a.proto:2:22"));
    scene.write("a.proto", "syntax = \"proto3\"; message A {}");
    fs::remove_file(scene.place.path().join("b.binpb")).unwrap();
    scene.read().await;
    assert_eq!(scene.problems(), [""; 0]);
}

/// Somebody may have uploaded a newer version by hand since.
#[tokio::test]
async fn what_the_database_knows_is_not_brought_again_when_the_server_opens() {
    let mut scene = Scene::open().await;
    scene.write("a.proto", "syntax = \"proto3\"; message A { string a = 1; }");
    scene.read().await;
    let before = scene.desk.store.schema_versions().await.unwrap();
    scene.folder = Folder::new(scene.place.path().to_owned(), scene.desk.schemas.clone());
    scene.read().await;
    assert_eq!(scene.desk.store.schema_versions().await.unwrap(), before);
}

/// Each server that shares the database reads the folder.
#[tokio::test]
async fn what_two_servers_find_is_brought_by_one_of_them() {
    let mut scene = Scene::open().await;
    let schemas = Schemas::new(scene.desk.changes.clone(), scene.desk.clock.clone());
    let mut second = Folder::new(scene.place.path().to_owned(), schemas.clone());
    scene.read().await;
    second.read().await;
    scene.write("a.proto", "syntax = \"proto3\"; message A { string a = 1; }");
    scene.read().await;
    let before = scene.desk.store.schema_versions().await.unwrap();
    scene.desk.clock.advance(Duration::from_secs(1));
    second.read().await;
    assert_eq!(scene.desk.store.schema_versions().await.unwrap(), before);
    assert!(schemas.catalogue().find("A").is_some(), "it counts there, too");
    let activity = scene.desk.get("/api/v1/activity").await.json();
    assert_eq!(activity["items"].as_array().unwrap().len(), 1, "{activity}");
}

#[tokio::test]
async fn what_cannot_be_kept_is_said_and_tried_again() {
    let mut scene = Scene::open().await;
    let raw = sqlx::SqlitePool::connect(&scene.desk.database_url()).await.unwrap();
    const FULL: &str = "CREATE TRIGGER is_full BEFORE INSERT ON schemas BEGIN SELECT RAISE(ABORT, 'full'); END";
    sqlx::query(FULL).execute(&raw).await.unwrap();
    scene.write("a.proto", "syntax = \"proto3\"; message A { string a = 1; }");
    for _ in 0..2 {
        scene.read().await;
        let problems = scene.problems();
        assert!(problems.len() == 1 && problems[0].contains("cannot keep it at the moment"), "{problems:?}");
    }
    let folder = scene.desk.page("/schemas").await.words("[aria-labelledby=folder-title]");
    assert!(folder.contains("cannot keep it") && !folder.contains("All files are loaded"), "{folder}");
    sqlx::query("DROP TRIGGER is_full").execute(&raw).await.unwrap();
    scene.read().await;
    assert_eq!((scene.problems(), scene.current().len()), (vec![], 1));
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_said() {
    let mut scene = Scene::open().await;
    scene.folder = Folder::new(scene.place.path().join("nowhere"), scene.desk.schemas.clone());
    scene.read().await;
    assert!(scene.problems()[0].contains("nowhere") && scene.problems()[0].contains("schemas.folder"));
}

#[tokio::test]
async fn changes_are_noticed_and_it_ends_when_told() {
    let Scene { desk, place, folder } = Scene::open().await;
    let stop = CancellationToken::new();
    let mut told = desk.schemas.subscribe();
    let running = worker::run(folder, stop.clone(), WorkerReport::default());
    let watching = async {
        fs::write(place.path().join("a.proto"), "syntax = \"proto3\"; message A {}").unwrap();
        told.wait_for(|catalogue| catalogue.find("A").is_some()).await.unwrap();
        fs::write(place.path().join("b.proto"), "syntax = \"proto3\"; message B {}").unwrap();
        told.wait_for(|catalogue| catalogue.find("B").is_some()).await.unwrap();
        stop.cancel();
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(running, watching) }).await.unwrap();
}
