//! What tells letters from other messages that may be the same.

use std::collections::HashMap;

use failure_conventions::identity::Identity;
use sqlx::QueryBuilder;

use super::CHUNK;
use crate::{
    domain::letter::LetterId,
    store::{
        StoreError, StoreReader,
        db::{id_list::push_ids, on},
        letters::rows::{ContentsRow, bigint},
    },
};

/// Bytes of bodies that are read together, unless a single one is larger.
const PAGE: u64 = 8 * 1024 * 1024;

impl StoreReader {
    /// What tells these letters from others, of those that exist, by all but a body of more than `longest` bytes. Each comes with
    /// the size of its body: the bodies are read some at a time, and none is kept.
    pub(crate) async fn identities(
        &self,
        letters: &[(LetterId, u64)],
        longest: u64,
    ) -> Result<HashMap<LetterId, Identity>, StoreError> {
        let mut identities = HashMap::with_capacity(letters.len());
        for page in pages(letters, longest) {
            let rows: Vec<ContentsRow> = on!(self.db.reader(), |pool| {
                let mut query = QueryBuilder::new(
                    "SELECT letter_id, exchange, routing_key, properties, headers, '[]' AS earlier_deaths, '[]' AS remarks,
                    CASE WHEN length(body) <= ",
                );
                query.push_bind(bigint(longest)).push(" THEN body ELSE ").push_bind(Vec::<u8>::new());
                query.push(" END AS body FROM contents WHERE letter_id IN ");
                push_ids(&mut query, &page);
                query.build_query_as().fetch_all(pool).await?
            });
            for row in rows {
                identities.insert(LetterId::from_uuid(row.letter_id), Identity::of(&row.into_message()?));
            }
        }
        Ok(identities)
    }
}

fn pages(letters: &[(LetterId, u64)], longest: u64) -> Vec<Vec<LetterId>> {
    let mut pages: Vec<Vec<LetterId>> = Vec::new();
    let mut bytes = 0;
    for (letter, size) in letters {
        let read = if *size <= longest { *size } else { 0 };
        bytes += read;
        match pages.last_mut().filter(|page| page.len() < CHUNK && bytes <= PAGE) {
            Some(page) => page.push(*letter),
            None => {
                bytes = read;
                pages.push(vec![*letter]);
            }
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_so_many_bytes_and_letters() {
        fn check(sizes: &[u64], expected: &[usize]) {
            let letters: Vec<_> = sizes.iter().map(|size| (LetterId::from_uuid(uuid::Uuid::nil()), *size)).collect();
            let lengths: Vec<usize> = pages(&letters, PAGE).iter().map(Vec::len).collect();
            assert_eq!(lengths, expected, "{sizes:?}");
        }
        check(&[], &[]);
        check(&[PAGE, 0, 1, PAGE - 1, 1], &[2, 2, 1]);
        check(&[PAGE + 1, PAGE, u64::MAX, 0], &[4]);
        check(&[0; CHUNK + 1], &[CHUNK, 1]);
    }
}
