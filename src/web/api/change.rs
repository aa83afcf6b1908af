//! `PATCH /api/v1/letters/{id}`: what people set by hand.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::{letter::summary, model::LetterItem, reply, words};
use crate::{
    domain::{access::Right, command::Command, letter::Letter},
    web::{
        error::{Gathered, WebError},
        input::{
            call_body::{Call, CallBody, JsonBody},
            path_id::PathId,
            precondition::Precondition,
        },
        orders::letters::{read_note, read_set_importance, read_type},
        state::AppState,
        visitor::{CurrentUser, Visitor},
    },
};

/// What to set by hand. What is left out stays as it is, `null` takes back what was set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// `null` gives it back to the rules, which are tried again a moment later, also where the letter is not open.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<words::Importance>)]
    importance: Option<Option<String>>,
    /// `null` or an empty text removes it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 8000, example = "ticket 4711")]
    note: Option<Option<String>>,
    /// Full name of a message type; `null` or an empty text removes the one that was set by hand.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 1024, example = "acme.texts.v1.Text")]
    message_type: Option<Option<String>>,
}

/// Tells `null` from what is left out.
pub(super) fn given<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(value).map(Some)
}

impl CallBody for Change {
    type Read = Vec<Command>;

    async fn read(self, _: &Call<'_>) -> Result<Vec<Command>, WebError> {
        let mut gathered = Gathered::default();
        let importance = self.importance.map(|word| read_set_importance(word.as_deref()).map(Some));
        let note = self.note.map(|text| read_note(&text.unwrap_or_default()).map(|note| Some(Command::SetNote(note))));
        let message_type =
            self.message_type.map(|name| read_type(&name.unwrap_or_default()).map(|name| Some(Command::SetType(name))));
        let given = [importance, note, message_type].into_iter().flatten();
        let commands = given.filter_map(|command| gathered.take(command)).collect();
        gathered.end().map(|()| commands)
    }
}

/// Set importance, note and type by hand: all that is given, or nothing
#[utoipa::path(patch, path = "/letters/{id}", operation_id = "update_letter", tag = "letters",
    params(PathId<Letter>, Precondition), request_body = Change, responses(
    (status = OK, body = LetterItem),
    (status = NO_CONTENT, description = "It is done; the token may not read the letter"),
))]
pub async fn change(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Letter>,
    Precondition(expected): Precondition,
    JsonBody(commands): JsonBody<Change>,
) -> Result<Response, WebError> {
    if commands.is_empty() {
        // That only asks how it stands.
        Visitor::need(Right::Read)?;
    }
    reply::done_or_refused(&app.triage.act_on_one(id, &commands, &expected, &user).await?)?;
    summary(&app, id).await
}
