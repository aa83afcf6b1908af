//! A group that is part of another, as the API tells it.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{domain::merge::MergedGroup, web::view::time::timestamp};

/// A group that is part of this one.
#[derive(Serialize, ToSchema)]
pub struct MergedItem {
    id: Uuid,
    message_type: Option<String>,
    error: Option<String>,
    merged_by: String,
    #[schema(format = DateTime)]
    merged_at: String,
}

impl From<MergedGroup> for MergedItem {
    fn from(merged: MergedGroup) -> Self {
        Self {
            id: merged.group.id.as_uuid(),
            message_type: merged.group.key.message_type,
            error: Some(merged.group.key.error).filter(|error| !error.is_empty()),
            merged_by: merged.by.to_string(),
            merged_at: timestamp(merged.at),
        }
    }
}
