//! What deeds were done to, looked up.

use uuid::Uuid;

use super::{Office, error::WebError, view::activity::Subjects};
use crate::domain::{
    activity::{ActivityEntry, Area},
    group::GroupId,
    letter::LetterId,
};

/// What letters and groups are called now that `entries` name by their ids.
pub async fn load(office: &Office, entries: &[ActivityEntry]) -> Result<Subjects, WebError> {
    let deeds = entries.iter().map(|entry| &entry.deed);
    let ids: Vec<Uuid> = deeds
        .filter(|deed| matches!(deed.area, Area::Letters | Area::Groups))
        .filter_map(|deed| Uuid::try_parse(&deed.subject).ok())
        .collect();
    if ids.is_empty() {
        return Ok(Subjects::default());
    }
    let letters: Vec<LetterId> = ids.iter().copied().map(LetterId::from_uuid).collect();
    let groups: Vec<GroupId> = ids.into_iter().map(GroupId::from_uuid).collect();
    let (letters, groups) = tokio::try_join!(office.store.summaries(&letters), office.store.groups_by_id(&groups))?;
    Ok(Subjects::new(&letters, &groups))
}
