//! All that is known of types, made ready for reading.

use std::sync::{Arc, Mutex, PoisonError};

use payload_codec::{
    Format, Limits,
    guess::{Candidate, Evidence, Guess, Hints, TypeIndex},
    json,
    message::{self, Masks},
    unwrap::{BodyHints, UnwrapMode, Unwrapped, unwrap},
};
use prost_reflect::{DescriptorPool, MessageDescriptor};

use super::{Content, Named, Question, Reading, Task, content, declared, hiding::Names, naming, task};
use crate::services::decoding::catalogue::{Catalogue, FoundType};

/// Nats by which a payload is likelier that the type that is named for it can have written.
const FITS: f64 = 8.0;

/// The schemas in force with all that is made from them. Making it takes a while; it is made once for a catalogue.
pub struct Library {
    catalogue: Arc<Catalogue>,
    /// In the order of the catalogue; a candidate names its pool by its place here.
    pools: Vec<DescriptorPool>,
    pub(super) index: TypeIndex,
    pub(super) masks: Vec<(DescriptorPool, Masks)>,
    /// Fields of any format that are hidden.
    pub(crate) hidden: Names,
    pub(crate) limits: Limits,
    /// A larger body is not read.
    max_bytes: u64,
}

impl Library {
    /// `hidden` are patterns of names and paths of fields whose values are not for everybody's eyes, see [`Masks::new`].
    /// A body of more than `max_bytes` is not read.
    pub fn new(catalogue: Arc<Catalogue>, hidden: &[String], max_bytes: u64) -> Self {
        let pools = catalogue.pools();
        let mut described: Vec<DescriptorPool> =
            catalogue.versions().iter().filter_map(|it| Some(it.schema.as_ref()?.pool().clone())).collect();
        described.extend(catalogue.find("google.protobuf.Any").map(|any| any.message.parent_pool().clone()));
        Self {
            index: TypeIndex::new(&pools),
            masks: described.into_iter().map(|pool| (pool.clone(), Masks::new(&pool, hidden))).collect(),
            hidden: Names::new(hidden),
            limits: Limits::default(),
            max_bytes,
            catalogue,
            pools,
        }
    }

    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The description of a type: by its full name or, where there is only one, by the last part of it.
    pub fn find(&self, name: &str) -> Option<MessageDescriptor> {
        let name = name.rsplit('/').next().unwrap_or(name).trim_start_matches('.');
        if let Some(FoundType { message, .. }) = self.catalogue.find(name) {
            return Some(message);
        }
        if name.is_empty() || name.contains('.') {
            return None;
        }
        let mut of_that_name =
            self.catalogue.types().iter().filter(|entry| entry.name.rsplit('.').next() == Some(name));
        let found = of_that_name.next()?;
        of_that_name.next().is_none().then(|| self.catalogue.find(&found.name)).flatten().map(|found| found.message)
    }

    /// Finds out what a message is, for those that enrich letters, and shows no contents. What `use_it` is given besides
    /// says what the message says as JSON, where hidden values are marks: to be called once at most, and only where that
    /// matters, for it is most of the work. A message of which no type is named says nothing, and so does one that is
    /// hidden as a whole. Before it stands the title of a message that is a call.
    pub fn name<T>(
        &self,
        question: &Question<'_>,
        use_it: impl FnOnce(Option<Named>, Option<String>, &(dyn Fn() -> Option<String> + Sync)) -> T,
    ) -> T {
        if self.is_too_large(question.body) {
            return use_it(None, None, &|| None);
        }
        let unwrapped = self.unwrap(question);
        let named = naming::name(self, question, &unwrapped, || self.guess(question, &unwrapped));
        if task::may_be_one(question, unwrapped.payload()) {
            let json = self.payload(question, unwrapped, named.clone());
            let title = json.as_deref().and_then(|json| self.title(question, json));
            return use_it(named, title, &move || json.clone());
        }
        let unread = Mutex::new(Some((unwrapped, named.clone())));
        let payload = || {
            let (unwrapped, named) = unread.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            self.payload(question, unwrapped, named)
        };
        use_it(named, None, &payload)
    }

    /// The title of a message that is a call, of what it says as JSON. What is hidden stays so.
    pub(crate) fn title(&self, question: &Question<'_>, payload: &str) -> Option<String> {
        let mut node = json::read(payload, self.limits.elements, self.limits.depth).ok()?;
        self.hidden.hide(&mut node);
        Some(Task::read(question, &node, &self.hidden)?.title())
    }

    fn payload(&self, question: &Question<'_>, mut unwrapped: Unwrapped, named: Option<Named>) -> Option<String> {
        let described = named.as_ref().and_then(|named| self.find(&named.name));
        match &described {
            Some(descriptor)
                if unwrapped.format != Format::Protobuf && self.is_it(question, &unwrapped, descriptor) =>
            {
                unwrapped.format = Format::Protobuf;
            }
            None if unwrapped.format == Format::Protobuf => return None,
            _ => {}
        }
        let guess = if self.hides_anything() { self.guess(question, &unwrapped) } else { Guess::default() };
        match content::read(self, self.subject(question, unwrapped, named, described, guess), false).content {
            Content::Json(json) => Some(json),
            Content::Text(_) | Content::Binary | Content::Hidden(_) => None,
        }
    }

    /// Reads a body. With `reveal` nothing is hidden.
    pub fn read(&self, question: &Question<'_>, reveal: bool) -> Reading {
        let mut reading = self.read_as_asked(question, reveal);
        if !reveal && *question.mode != UnwrapMode::Automatic {
            let found = self.read_as_asked(&Question { mode: &UnwrapMode::Automatic, ..*question }, false);
            if found.hides && found.unwrapped.steps != reading.unwrapped.steps {
                reading.hide("Some values in it are hidden; with this decoding they would show.");
            }
            reading.hidden_values = reading.hidden_values.and(found.hidden_values);
        }
        reading
    }

    /// The same for somebody who looks at it: with what has to be said that costs another look at all of it.
    pub fn read_to_show(&self, question: &Question<'_>, reveal: bool) -> Reading {
        let mut reading = self.read(question, reveal);
        reading.remarks.extend(declared::repeated(&reading.unwrapped, &self.limits));
        reading
    }

    fn read_as_asked(&self, question: &Question<'_>, reveal: bool) -> Reading {
        if self.is_too_large(question.body) {
            let reading = self.unread(question, reveal);
            return if reveal { reading } else { self.with_hidden_headers(reading, question) };
        }
        let mut unwrapped = self.unwrap(question);
        let mut guess = self.guess(question, &unwrapped);
        let named = naming::name(self, question, &unwrapped, || guess.clone());
        let described = named.as_ref().and_then(|named| self.find(&named.name));
        if let Some(descriptor) = &described
            && unwrapped.format != Format::Protobuf
            && self.is_it(question, &unwrapped, descriptor)
        {
            unwrapped.format = Format::Protobuf;
            guess = self.guess(question, &unwrapped);
        }
        let evidence = self.index.explain(unwrapped.payload(), &hints(question), &guess);
        let remarks = [
            declared::no_json(question, &unwrapped),
            described.as_ref().and_then(|of| declared::no_message(&unwrapped, of, &self.limits)),
        ];
        let mut reading = content::read(self, self.subject(question, unwrapped, named, described, guess), reveal);
        reading.remarks.extend(remarks.into_iter().flatten());
        let nothing = Names::new(&[]);
        let hidden = if reveal { &nothing } else { &self.hidden };
        let reading = Reading { evidence, ..reading }.with_task(question, hidden, &self.limits);
        if reveal { reading } else { self.with_hidden_headers(self.with_envelopes(reading), question) }
    }

    /// What repeats the arguments of a call is hidden with them, and where nobody can tell what they are.
    fn with_hidden_headers(&self, mut reading: Reading, question: &Question<'_>) -> Reading {
        let cannot_tell = !self.hidden.is_empty() && reading.json().is_none();
        if reading.hides || cannot_tell {
            reading.hidden_headers = failure_conventions::repeats_body(question.headers).collect();
            reading.hides |= !reading.hidden_headers.is_empty();
        }
        reading
    }

    /// A title that was made with fewer hidden fields than there are now says no more than its name.
    pub fn shown_title(&self, title: String) -> String {
        if !self.hidden.are_in_title(&title) {
            return title;
        }
        let name = title.split_once('(').map_or("", |(name, _)| name);
        format!("{name}(…)")
    }

    fn is_too_large(&self, body: &[u8]) -> bool {
        body.len() as u64 > self.max_bytes
    }

    fn unread(&self, question: &Question<'_>, reveal: bool) -> Reading {
        let body = question.body;
        let (size, max_bytes) = (body.len(), self.max_bytes);
        let remark = format!(
            "The body has {size} bytes, more than decode.max_bytes allows ({max_bytes}), so it was not decoded."
        );
        let unwrapped = Unwrapped {
            steps: Vec::new(),
            payloads: vec![body.to_vec()],
            format: Format::Binary,
            sureness: 0.0,
            type_hints: Vec::new(),
            problems: Vec::new(),
        };
        Reading {
            remarks: vec![remark],
            is_unread: true,
            ..content::read(self, self.subject_unread(question, unwrapped), reveal)
        }
    }

    pub(crate) fn masks(&self, descriptor: &MessageDescriptor) -> Option<&Masks> {
        let pool = descriptor.parent_pool();
        self.masks.iter().find(|(own, _)| own == pool).map(|(_, masks)| masks)
    }

    /// The description of a candidate of a guess.
    pub(crate) fn candidate(&self, name: &payload_codec::guess::TypeName) -> Option<MessageDescriptor> {
        self.pools.get(name.pool)?.get_message_by_name(&name.full_name)
    }

    pub(crate) fn guess(&self, question: &Question<'_>, unwrapped: &Unwrapped) -> Guess {
        if unwrapped.format != Format::Protobuf {
            return Guess::default();
        }
        self.index.guess(unwrapped.payload(), &hints(question))
    }

    pub(crate) fn unwrap(&self, question: &Question<'_>) -> Unwrapped {
        let named = [question.by_hand, question.declared, question.mapped];
        let descriptor = named.into_iter().flatten().find_map(|name| self.find(name));
        let fits = |payload: &[u8]| {
            let descriptor = descriptor.as_ref()?;
            self.fits(payload, descriptor).then_some(FITS)
        };
        let hints = BodyHints {
            content_type: question.properties.content_type.as_deref(),
            content_encoding: question.properties.content_encoding.as_deref(),
            headers: question.headers,
            known: descriptor.is_some().then_some(&fits),
        };
        unwrap(question.body, &hints, question.mode)
    }

    /// Whether that type can have written the payload, and nothing in it is unknown.
    fn fits(&self, payload: &[u8], descriptor: &MessageDescriptor) -> bool {
        message::decode(payload, descriptor, &self.limits).fits_schema()
    }

    /// Whether a payload that looks like text or like nothing is a message of the type that is named for it: a short
    /// message may well look like text.
    fn is_it(&self, question: &Question<'_>, unwrapped: &Unwrapped, descriptor: &MessageDescriptor) -> bool {
        let may_be = matches!(unwrapped.format, Format::Text | Format::Binary);
        may_be && (question.by_hand.is_some() || self.fits(unwrapped.payload(), descriptor))
    }
}

pub(super) fn hints<'a>(question: &Question<'a>) -> Hints<'a> {
    Hints { address: question.address, confirmed: question.confirmed }
}

impl Reading {
    /// The types it may be, each with what speaks for it and against it, the likeliest first: also types that cannot be
    /// told apart, which are likely only together.
    pub fn candidates(&self) -> impl Iterator<Item = (&Candidate, &[Evidence])> {
        let evidence = self.evidence.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
        let mut candidates: Vec<_> = self.guess.candidates.iter().zip(evidence).collect();
        candidates.sort_by(|(a, _), (b, _)| b.confidence.total_cmp(&a.confidence));
        candidates.into_iter()
    }

    /// The payload as JSON, where it has that form.
    pub fn json(&self) -> Option<&str> {
        match &self.content {
            Content::Json(json) => Some(json),
            Content::Text(_) | Content::Binary | Content::Hidden(_) => None,
        }
    }
}
