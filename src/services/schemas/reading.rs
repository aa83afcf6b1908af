//! Reading what was brought. It takes a while, so it is done apart from everything that answers quickly.

use std::{collections::BTreeMap, sync::Arc};

use payload_codec::schema::{Schema, SchemaProblem, Upload, unpack};
use tokio::task::spawn_blocking;

/// The schema that the files amount to, and the bytes of its set.
pub(crate) fn read(files: Vec<Upload>, name: &str) -> Result<(Arc<Schema>, Vec<u8>), Vec<SchemaProblem>> {
    let bytes = unpack(files)?;
    Ok((Arc::new(Schema::read(name, &bytes)?), bytes))
}

pub(crate) async fn read_set(
    bytes: Vec<u8>,
    name: String,
    turn: impl Send + 'static,
) -> Result<Arc<Schema>, Vec<SchemaProblem>> {
    let (schema, _) = apart(turn, move || Schema::read(&name, &bytes).map(Arc::new)).await?;
    Ok(schema)
}

/// What `read` gives, and the `turn` that it was read in. The turn lasts until that is done, also where nobody waits for it
/// any more.
pub(crate) async fn apart<T: Send + 'static, G: Send + 'static>(
    turn: G,
    read: impl FnOnce() -> Result<T, Vec<SchemaProblem>> + Send + 'static,
) -> Result<(T, G), Vec<SchemaProblem>> {
    let reading = spawn_blocking(move || read().map(|found| (found, turn)));
    reading.await.unwrap_or_else(|_| Err(vec![unreadable()]))
}

fn unreadable() -> SchemaProblem {
    SchemaProblem::new("It has a shape that cannot be read.", "Build it with protoc or buf.")
}

/// `billing` for `proto/billing.proto`, `billing and 2 more` for three of them; nothing where they have no names.
pub(crate) fn name_of(files: &[Upload]) -> Option<String> {
    let last = files.first()?.name.rsplit(['/', '\\']).next()?;
    let stem = last.split_once('.').map_or(last, |(stem, _)| stem);
    (!stem.is_empty()).then(|| and_more(stem, files.len()))
}

/// By the files that a set describes: `acme/billing.proto and 7 more`.
pub(crate) fn name_by(files: &BTreeMap<String, String>) -> String {
    and_more(files.first_key_value().map_or("schema", |(name, _)| name.as_str()), files.len())
}

fn and_more(first: &str, n: usize) -> String {
    if n > 1 { format!("{first} and {} more", n - 1) } else { first.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt;
    use tokio::sync::Mutex;

    use super::*;

    #[test]
    fn names_are_made_from_files() {
        let check = |files: &[&str], expected: Option<&str>| {
            let upload = |name: &&str| Upload { name: (*name).to_owned(), bytes: Vec::new() };
            assert_eq!(name_of(&files.iter().map(upload).collect::<Vec<_>>()).as_deref(), expected);
        };
        check(&["proto/billing.proto"], Some("billing"));
        check(&["C:\\x\\image.binpb.gz"], Some("image"));
        check(&["a.proto", "b.proto", "c.proto"], Some("a and 2 more"));
        check(&[""], None);
        check(&[], None);
        let files = ["a/b.proto", "c.proto"].map(|name| (name.to_owned(), String::new()));
        assert_eq!(name_by(&files.into()), "a/b.proto and 1 more");
    }

    #[tokio::test]
    async fn a_turn_lasts_until_it_is_read_also_where_nobody_waits() {
        let (turns, (go_on, may_go_on)) = (Arc::new(Mutex::new(())), mpsc::channel::<()>());
        let turn = Arc::clone(&turns).lock_owned().await;
        let reading = apart(turn, move || {
            let _ = may_go_on.recv();
            Ok(())
        });
        assert!(reading.now_or_never().is_none(), "it has begun, and nobody waits for it any more");
        assert!(turns.try_lock().is_err());
        go_on.send(()).unwrap();
        drop(turns.lock().await);
    }
}
