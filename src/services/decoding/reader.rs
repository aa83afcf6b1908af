//! Reading letters with the schemas and mappings in force.

use std::{borrow::Cow, sync::Arc};

use payload_codec::{json::MergePatch, message::MASK, unwrap::UnwrapMode};
use rule_language::Decode;
use tokio::{
    sync::{Mutex, Semaphore},
    task::spawn_blocking,
};

use super::{
    confirmed::Confirmed,
    request::{DecodeRequest, MessageContext},
    scrub::scrub,
};
use crate::{
    config::DecodeConfig,
    domain::{
        letter::{Letter, LetterSummary, TypeSource},
        mapping::Route,
    },
    services::{
        decoding::reading::{EditProblem, EditedAs, Library, Named, NoPatch, Question, Reading},
        schemas::Schemas,
    },
};

/// Reads letters; cheap to clone.
#[derive(Clone)]
pub struct Reader {
    schemas: Schemas,
    config: Arc<DecodeConfig>,
    library: Arc<Mutex<Option<Arc<Library>>>>,
}

impl Reader {
    pub fn new(schemas: Schemas, config: DecodeConfig) -> Self {
        Self { schemas, config: Arc::new(config), library: Arc::default() }
    }

    /// The library of the schemas in force. Whoever asks first after these have changed waits until it is made.
    pub async fn library(&self) -> Arc<Library> {
        let mut current = self.library.lock().await;
        let catalogue = self.schemas.catalogue();
        if let Some(library) = current.as_ref().filter(|library| std::ptr::eq(library.catalogue(), &*catalogue)) {
            return Arc::clone(library);
        }
        let config = Arc::clone(&self.config);
        let made = spawn_blocking(move || Arc::new(Library::new(catalogue, &config.hidden_fields, config.max_bytes)));
        match made.await {
            Ok(library) => Arc::clone(current.insert(library)),
            // Only while the program ends, or by a fault that has been logged.
            Err(_) => Arc::new(Library::new(Arc::default(), &self.config.hidden_fields, self.config.max_bytes)),
        }
    }

    /// Stands for the schemas and mappings in force.
    pub fn edition(&self) -> i64 {
        self.schemas.edition()
    }

    /// Reads a letter. `mode` says which encodings to undo; with `reveal` nothing is hidden.
    pub async fn read(&self, letter: &Arc<Letter>, confirmed: Confirmed, mode: UnwrapMode, reveal: bool) -> Reading {
        let (library, reader, letter) = (self.library().await, self.clone(), Arc::clone(letter));
        off_the_runtime(move || {
            reader.ask(&letter, &confirmed, &mode, |question| library.read_to_show(question, reveal))
        })
        .await
    }

    /// Takes out of lists what is hidden by now. Titles were made when their letters came in; an error may quote a hidden
    /// value until it was compared with the payload, a moment after its letter came in.
    pub async fn hide_in_lists(&self, letters: impl IntoIterator<Item = &mut LetterSummary>) {
        let library = self.library().await;
        if !library.hides_anything() {
            return;
        }
        let edition = self.edition();
        for letter in letters {
            // Of what was read otherwise than now, perhaps more is hidden.
            letter.telling = letter.telling.take().filter(|telling| telling.edition == edition);
            letter.title = letter.title.take().map(|title| library.shown_title(title));
            if letter.group.is_none() {
                letter.error_message = letter.error_message.take().map(|_| MASK.to_owned());
            }
        }
    }

    /// The letter without what its headers and its error quote of hidden values.
    pub(crate) fn scrubbed<'a>(&self, library: &Library, letter: &'a Letter, confirmed: &Confirmed) -> Cow<'a, Letter> {
        let says_more = letter.summary.error().is_some() || !letter.message.headers.is_empty();
        if !says_more || !library.hides_anything() {
            return Cow::Borrowed(letter);
        }
        let read = |question: &Question<'_>| library.read(question, false);
        let reading = self.ask(letter, confirmed, &UnwrapMode::Automatic, read);
        if !reading.hides {
            return Cow::Borrowed(letter);
        }
        let mut letter = letter.clone();
        scrub(&mut letter, &reading);
        Cow::Owned(letter)
    }

    /// A letter as it is shown where nothing is revealed, and what its body says.
    pub(crate) fn shown(&self, library: &Library, letter: &Letter, confirmed: &Confirmed) -> (Letter, Reading) {
        let read = |question: &Question<'_>| library.read(question, false);
        let reading = self.ask(letter, confirmed, &UnwrapMode::Automatic, read);
        let mut letter = letter.clone();
        scrub(&mut letter, &reading);
        (letter, reading)
    }

    /// Reads a message that is no letter.
    pub async fn read_message(&self, request: DecodeRequest) -> Reading {
        let (library, reader) = (self.library().await, self.clone());
        off_the_runtime(move || {
            let (context, mappings) = (request.context(), reader.schemas.mappings());
            context.ask(&reader.config.type_headers, &mappings, |question| library.read_to_show(question, false))
        })
        .await
    }

    /// The body of a letter whose payload says what `text` says: what [`read`](Self::read) showed with
    /// nothing revealed, edited.
    ///
    /// # Errors
    /// All that is wrong with `text`.
    pub async fn write(
        &self,
        letter: &Arc<Letter>,
        text: String,
        edited: EditedAs,
    ) -> Result<Vec<u8>, Vec<EditProblem>> {
        let (library, reader, letter) = (self.library().await, self.clone(), Arc::clone(letter));
        off_the_runtime(move || {
            let write = |question: &Question<'_>| library.write(question, &text, edited, false);
            reader.ask(&letter, &Confirmed::default(), &UnwrapMode::Automatic, write)
        })
        .await
    }

    /// The body of a letter whose payload has a merge patch applied.
    ///
    /// # Errors
    /// Why it cannot be edited so.
    pub async fn patch(&self, letter: &Arc<Letter>, patch: &MergePatch) -> Result<Vec<u8>, NoPatch> {
        let (library, reader, letter, patch) = (self.library().await, self.clone(), Arc::clone(letter), patch.clone());
        off_the_runtime(move || {
            let answer = |question: &Question<'_>| library.patch(question, &patch);
            reader.ask(&letter, &Confirmed::default(), &UnwrapMode::Automatic, answer)
        })
        .await
    }

    /// Of which type a letter is and what its payload says, for those that enrich letters; see [`Library::name`].
    pub(crate) fn analyze<T>(
        &self,
        library: &Library,
        letter: &Letter,
        confirmed: &Confirmed,
        use_it: impl FnOnce(Option<Named>, Option<String>, &Decode<'_>) -> T,
    ) -> T {
        self.ask(letter, confirmed, &UnwrapMode::Automatic, |question| library.name(question, use_it))
    }

    /// Puts together what is known of a letter.
    fn ask<T>(
        &self,
        letter: &Letter,
        confirmed: &Confirmed,
        mode: &UnwrapMode,
        answer: impl FnOnce(&Question<'_>) -> T,
    ) -> T {
        let summary = &letter.summary;
        let by_hand = summary.message_type.as_deref().filter(|_| summary.type_source == Some(TypeSource::Manual));
        let route = Route {
            broker: &summary.broker,
            queue: summary.queue.as_deref(),
            exchange: &summary.exchange,
            routing_key: &summary.routing_key,
        };
        let context = MessageContext { message: &letter.message, route, by_hand, confirmed, mode };
        context.ask(&self.config.type_headers, &self.schemas.mappings(), answer)
    }
}

/// Decoding takes a while for a large body, and others are to be served meanwhile. So many decode at once; others wait for their
/// turn.
pub(crate) async fn off_the_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    static TURNS: Semaphore = Semaphore::const_new(16);
    // It is never closed.
    let turn = TURNS.acquire().await.ok();
    let work = move || {
        let _turn = turn;
        work()
    };
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
