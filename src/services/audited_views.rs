//! Saved views, written with who saved or removed them.

use uuid::Uuid;

use super::{audit_log::log, audited_store::AuditedStore};
use crate::{
    domain::{
        actor::Actor,
        saved_view::{Keeper, SavedView, ViewContent},
        version::Expected,
    },
    store::{ChangeError, ViewRefusal},
};

/// What came of it.
pub type ViewChange = Result<Result<SavedView, ViewRefusal>, ChangeError<SavedView>>;

impl AuditedStore {
    pub(crate) async fn set_view(
        &self,
        view: (Uuid, &ViewContent),
        keeper: &Keeper,
        expected: &Expected,
        by: &Actor,
    ) -> ViewChange {
        let set = self.store.set_view(view, keeper, expected, by, self.clock.now()).await?;
        self.changed_view(&set, "set", by);
        Ok(set)
    }

    pub(crate) async fn remove_view(&self, id: Uuid, keeper: &Keeper, expected: &Expected, by: &Actor) -> ViewChange {
        let removed = self.store.remove_view(id, keeper, expected, by, self.clock.now()).await?;
        self.changed_view(&removed, "remove", by);
        Ok(removed)
    }

    pub(crate) async fn restore_view(&self, id: Uuid, keeper: &Keeper, by: &Actor) -> ViewChange {
        let restored = self.store.restore_view(id, keeper, by, self.clock.now()).await?;
        self.changed_view(&restored, "restore", by);
        Ok(restored)
    }

    fn changed_view(&self, view: &Result<SavedView, ViewRefusal>, action: &str, by: &Actor) {
        let Ok(view) = view else { return };
        // Of what nobody else sees nothing is told.
        if view.content.is_shared {
            log(&view.entry_of(action, by, self.clock.now()));
        }
        self.feed.changed(1);
    }
}
