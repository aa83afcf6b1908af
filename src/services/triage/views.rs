//! Saved views, as people save, share and remove them.

use uuid::Uuid;

use super::Triage;
use crate::{
    domain::{
        actor::Actor,
        saved_view::{Keeper, ViewContent},
        version::Expected,
    },
    services::{audited_views::ViewChange, ids},
};

impl Triage {
    /// Saves a new view.
    pub async fn add_view(&self, content: &ViewContent, keeper: &Keeper, by: &Actor) -> ViewChange {
        let id = ids::uuid(self.clock.now());
        self.changes.set_view((id, content), keeper, &Expected::nothing(), by).await
    }

    /// Saves one anew that is there.
    pub async fn set_view(
        &self,
        id: Uuid,
        content: &ViewContent,
        keeper: &Keeper,
        expected: &Expected,
        by: &Actor,
    ) -> ViewChange {
        self.changes.set_view((id, content), keeper, expected, by).await
    }

    /// Removes one, which can be brought back for a day.
    pub async fn remove_view(&self, id: Uuid, keeper: &Keeper, expected: &Expected, by: &Actor) -> ViewChange {
        self.changes.remove_view(id, keeper, expected, by).await
    }

    pub async fn restore_view(&self, id: Uuid, keeper: &Keeper, by: &Actor) -> ViewChange {
        self.changes.restore_view(id, keeper, by).await
    }
}
