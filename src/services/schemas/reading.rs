//! Reading what was brought. It takes a while, so it is done apart from everything that answers quickly.

use std::{collections::BTreeSet, sync::Arc};

use payload_codec::schema::{Schema, SchemaProblem, Upload, unpack};
use tokio::task::spawn_blocking;

use super::SchemaError;

/// The schema that the files amount to, and the bytes of its set.
pub(crate) async fn read(files: Vec<Upload>, name: String) -> Result<(Arc<Schema>, Vec<u8>), SchemaError> {
    let read = spawn_blocking(move || {
        let bytes = unpack(files)?;
        Ok((Arc::new(Schema::read(&name, &bytes)?), bytes))
    });
    read.await.unwrap_or_else(|_| Err(vec![unreadable()])).map_err(SchemaError::Invalid)
}

pub(crate) async fn read_set(bytes: Vec<u8>, name: String) -> Result<Arc<Schema>, Vec<SchemaProblem>> {
    let read = spawn_blocking(move || Schema::read(&name, &bytes).map(Arc::new));
    read.await.unwrap_or_else(|_| Err(vec![unreadable()]))
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
pub(crate) fn name_by(files: &BTreeSet<String>) -> String {
    and_more(files.first().map_or("schema", String::as_str), files.len())
}

fn and_more(first: &str, n: usize) -> String {
    if n > 1 { format!("{first} and {} more", n - 1) } else { first.to_owned() }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(name_by(&["a/b.proto", "c.proto"].map(str::to_owned).into()), "a/b.proto and 1 more");
    }
}
