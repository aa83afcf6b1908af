//! What entries were done to, looked up.

use uuid::Uuid;

use crate::{
    domain::{
        activity::{ActivityEntry, Area},
        group::GroupId,
        letter::LetterId,
    },
    store::{StoreError, StoreReader},
    web::view::activity::Subjects,
};

/// What letters and groups are called now that `entries` name by their ids.
pub async fn load(store: &StoreReader, entries: &[ActivityEntry]) -> Result<Subjects, StoreError> {
    let entries = entries.iter().map(|entry| &entry.entry);
    let ids: Vec<Uuid> = entries
        .filter(|entry| matches!(entry.area, Area::Letters | Area::Groups))
        .filter_map(|entry| Uuid::try_parse(&entry.subject).ok())
        .collect();
    if ids.is_empty() {
        return Ok(Subjects::default());
    }
    let letters: Vec<LetterId> = ids.iter().copied().map(LetterId::from_uuid).collect();
    let groups: Vec<GroupId> = ids.into_iter().map(GroupId::from_uuid).collect();
    let (letters, groups) = tokio::try_join!(store.summaries(&letters), store.groups_ever_by_id(&groups))?;
    Ok(Subjects::new(&letters, &groups))
}
