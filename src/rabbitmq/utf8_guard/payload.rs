//! What is inside of a frame: the arguments of methods, the properties of contents.

use std::ops::Range;

use Field::{DeliveryTag, HeadersTable, Octets, ShortString};

use super::repairs::Repair;

/// How deep tables and arrays may lie in one another. RabbitMQ's own `x-death` needs three levels.
pub(super) const MAX_NESTING: usize = 64;

/// The field of a [`Repair`] that says of a table or array that lay too deep.
pub const NESTING: &str = "header nesting";

/// A piece of a method's arguments or of the content's properties, as far as it matters here.
#[derive(Clone, Copy)]
pub(super) enum Field {
    ShortString(&'static str),
    DeliveryTag,
    HeadersTable,
    Octets(usize),
}

pub(super) type MethodId = (u16, u16);

pub(super) const METHOD_ID_LEN: usize = 4;
pub(super) const CONNECTION_TUNE: MethodId = (10, 30);
pub(super) const CONNECTION_CLOSE: MethodId = (10, 50);
pub(super) const CHANNEL_OPEN_OK: MethodId = (20, 11);
pub(super) const CHANNEL_CLOSE: MethodId = (20, 40);
pub(super) const BASIC_RETURN: MethodId = (60, 50);
pub(super) const BASIC_DELIVER: MethodId = (60, 60);
pub(super) const BASIC_GET_OK: MethodId = (60, 71);

pub(super) fn method_id(payload: &[u8]) -> Option<MethodId> {
    let &[c0, c1, m0, m1, ..] = payload else {
        return None;
    };
    Some((u16::from_be_bytes([c0, c1]), u16::from_be_bytes([m0, m1])))
}

/// The arguments of the methods whose short strings come from somebody else: a publisher, or, in
/// the reply text of a close, a broker that cuts a text to 255 octets wherever that falls.
pub(super) fn arguments(method: MethodId) -> impl Iterator<Item = Field> {
    let arguments: &'static [Field] = match method {
        BASIC_DELIVER => {
            &[ShortString("consumer tag"), DeliveryTag, Octets(1), ShortString("exchange"), ShortString("routing key")]
        }
        BASIC_GET_OK => &[DeliveryTag, Octets(1), ShortString("exchange"), ShortString("routing key"), Octets(4)],
        BASIC_RETURN => &[Octets(2), ShortString("reply text"), ShortString("exchange"), ShortString("routing key")],
        CHANNEL_CLOSE | CONNECTION_CLOSE => &[Octets(2), ShortString("reply text"), Octets(4)],
        _ => &[],
    };
    arguments.iter().copied()
}

/// Class, weight, body size and property flags, which stand before the properties.
pub(super) const CONTENT_HEADER_LEN: usize = 14;

/// The properties of class basic, in the order of their flags from the highest bit down.
pub(super) const PROPERTIES: [Field; 14] = [
    ShortString("content_type"),
    ShortString("content_encoding"),
    HeadersTable,
    Octets(1), // delivery_mode
    Octets(1), // priority
    ShortString("correlation_id"),
    ShortString("reply_to"),
    ShortString("expiration"),
    ShortString("message_id"),
    Octets(8), // timestamp
    ShortString("type"),
    ShortString("user_id"),
    ShortString("app_id"),
    ShortString("cluster_id"),
];

/// The properties whose flag is set.
pub(super) fn present_properties(payload: &[u8]) -> Option<impl Iterator<Item = Field>> {
    let &[f0, f1] = payload.get(CONTENT_HEADER_LEN - 2..CONTENT_HEADER_LEN)? else {
        return None;
    };
    let flags = u16::from_be_bytes([f0, f1]);
    let is_present = move |bit: usize| flags & (0x8000 >> bit) != 0;
    Some((0..).zip(PROPERTIES).filter_map(move |(bit, field)| is_present(bit).then_some(field)))
}

/// Something that lapin could not take.
pub(super) enum Flaw {
    NotUtf8 {
        field: &'static str,
        at: Range<usize>,
    },
    /// Where the octet stands that names the type of a table or array.
    TooDeep {
        at: usize,
    },
}

impl Flaw {
    pub(super) fn mend(self, payload: &mut [u8]) -> Repair {
        match self {
            Self::NotUtf8 { field, at } => {
                let string = &mut payload[at];
                let original = string.to_vec();
                replace_invalid(string);
                Repair { field: field.to_owned(), original }
            }
            // A byte array has the same form, a length and octets, and nobody looks inside.
            Self::TooDeep { at } => {
                let original = std::mem::replace(&mut payload[at], b'x');
                Repair { field: NESTING.to_owned(), original: vec![original] }
            }
        }
    }
}

pub(super) fn replace_invalid(mut octets: &mut [u8]) {
    while let Err(error) = std::str::from_utf8(octets) {
        let start = error.valid_up_to();
        let end = error.error_len().map_or(octets.len(), |len| start + len);
        octets[start..end].fill(b'?');
        octets = &mut octets[end..];
    }
}

/// Walks through a payload and notes the flaws. Each step answers `None` when the payload is not
/// what it should be, and then nothing of it is touched.
pub(super) struct Walk<'a> {
    payload: &'a [u8],
    at: usize,
    pub(super) delivery_tag: Option<u64>,
    pub(super) flaws: Vec<Flaw>,
}

impl<'a> Walk<'a> {
    pub(super) fn through(payload: &'a [u8], start: usize, fields: impl Iterator<Item = Field>) -> Option<Self> {
        let mut walk = Self { payload, at: start, delivery_tag: None, flaws: Vec::new() };
        for field in fields {
            walk.field(field)?;
        }
        Some(walk)
    }

    pub(super) fn field(&mut self, field: Field) -> Option<()> {
        match field {
            ShortString(name) => self.short_string(name),
            DeliveryTag => self.delivery_tag(),
            HeadersTable => self.table(0),
            Octets(amount) => self.skip(amount),
        }
    }

    pub(super) fn octets<const N: usize>(&mut self) -> Option<[u8; N]> {
        let octets = self.payload.get(self.at..)?.first_chunk().copied()?;
        self.at += N;
        Some(octets)
    }

    pub(super) fn skip(&mut self, amount: usize) -> Option<()> {
        self.at = self.at.checked_add(amount).filter(|&end| end <= self.payload.len())?;
        Some(())
    }

    pub(super) fn length(&mut self) -> Option<usize> {
        self.octets().map(|octets| u32::from_be_bytes(octets) as usize)
    }

    pub(super) fn delivery_tag(&mut self) -> Option<()> {
        self.delivery_tag = Some(u64::from_be_bytes(self.octets()?));
        Some(())
    }

    pub(super) fn short_string(&mut self, field: &'static str) -> Option<()> {
        let [len] = self.octets()?;
        let start = self.at;
        self.skip(usize::from(len))?;
        let at = start..self.at;
        if std::str::from_utf8(self.payload.get(at.clone())?).is_err() {
            self.flaws.push(Flaw::NotUtf8 { field, at });
        }
        Some(())
    }

    pub(super) fn long_string(&mut self) -> Option<()> {
        let len = self.length()?;
        self.skip(len)
    }

    pub(super) fn table(&mut self, nesting: usize) -> Option<()> {
        self.container(|walk| {
            walk.short_string("header key")?;
            walk.value(nesting)
        })
    }

    pub(super) fn array(&mut self, nesting: usize) -> Option<()> {
        self.container(|walk| walk.value(nesting))
    }

    /// A length, and that many octets of entries.
    pub(super) fn container(&mut self, mut entry: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let len = self.length()?;
        let end = self.at.checked_add(len)?;
        while self.at < end {
            entry(self)?;
        }
        (self.at == end).then_some(())
    }

    /// A field value. The types are those that lapin reads, among them RabbitMQ's meaning of `s`,
    /// a signed short integer; so no string in a table but its keys has to be UTF-8.
    pub(super) fn value(&mut self, nesting: usize) -> Option<()> {
        let type_at = self.at;
        let [field_type] = self.octets()?;
        match field_type {
            b'V' => Some(()),
            b't' | b'b' | b'B' => self.skip(1),
            b's' | b'u' | b'U' => self.skip(2),
            b'i' | b'I' | b'f' => self.skip(4),
            b'D' => self.skip(5),
            b'l' | b'L' | b'd' | b'T' => self.skip(8),
            b'S' | b'x' => self.long_string(),
            b'A' | b'F' if nesting == MAX_NESTING => {
                self.flaws.push(Flaw::TooDeep { at: type_at });
                self.long_string()
            }
            b'A' => self.array(nesting + 1),
            b'F' => self.table(nesting + 1),
            _ => None,
        }
    }
}
