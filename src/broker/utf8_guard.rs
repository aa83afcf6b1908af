//! Keeps one odd message from taking the connection down, and so every message behind it.
//!
//! AMQP 0-9-1 says that a short string is UTF-8. Nothing enforces it: clients send what they are
//! given and RabbitMQ passes it on. lapin's parser does enforce it, its maintainer's position being
//! that such a string is [invalid by the specification][issue]: a delivery with one in it
//! (`message_id`, a header's name, the routing key…) ends the connection, is requeued, and ends the
//! next one. A quorum queue of RabbitMQ 4 drops the message after twenty of these rounds.
//!
//! [`Utf8Guard`] sits between the clear octets of a connection and lapin. It replaces each octet
//! that isn't UTF-8 by `?` where it stands, so that every length still holds, and tells through
//! [`Repairs`] which delivery it touched and what stood there. It does the same for tables nested
//! deeper than [`MAX_NESTING`], which lapin's recursive parser answers by overflowing the stack and
//! aborting the process.
//!
//! Frames that carry bodies pass unread, and what is malformed in any other way passes unchanged:
//! refusing it is lapin's business.
//!
//! [issue]: https://github.com/amqp-rs/amq-protocol/issues/28

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    io::{self, IoSlice},
    ops::Range,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use futures_io::{AsyncRead, AsyncWrite};

/// Deliveries whose repairs are kept until somebody takes them; beyond it the oldest are forgotten.
const MAX_DELIVERIES: usize = 4096;

/// Repairs kept of one delivery: a table can hold tens of thousands of bad keys.
const MAX_REPAIRS_PER_DELIVERY: usize = 16;

/// The largest frame that is held back until it is complete. Larger ones pass unread; RabbitMQ's
/// default for `frame_max` is an eighth of this.
const MAX_HELD: usize = 1024 * 1024;

/// How much of a held frame is read at a time, so that a size that was only claimed costs nothing.
const READ_STEP: usize = 16 * 1024;

/// How deep tables and arrays may lie in one another. RabbitMQ's own `x-death` needs three levels.
const MAX_NESTING: usize = 64;

// ---------------------------------------------------------------------------------------------
// What was repaired

/// Something in a delivery that was changed so that it could be received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// What was changed, in the words of AMQP: `message_id`, `header key`, `routing key`…
    pub field: String,
    /// The octets that stood there.
    pub original: Vec<u8>,
}

type DeliveryId = (u16, u64);

/// The repairs made on one connection, until the consumer of each delivery takes them.
///
/// A clone is another handle to the same repairs.
#[derive(Clone, Debug, Default)]
pub struct Repairs(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// How many deliveries wait, so that `take` costs one load while all is well.
    waiting: AtomicUsize,
    deliveries: Mutex<Deliveries>,
}

#[derive(Debug, Default)]
struct Deliveries {
    repairs: HashMap<DeliveryId, Vec<Repair>>,
    /// By arrival, for forgetting the oldest; may name deliveries that were taken.
    arrivals: VecDeque<DeliveryId>,
}

impl Repairs {
    /// Takes what was repaired in a delivery of `basic.deliver` or `basic.get-ok`; almost always
    /// nothing. Repairs are there before lapin sees the delivery.
    ///
    /// Two header keys that differ only in octets that were replaced have become one key, of which
    /// lapin keeps the last value.
    #[must_use]
    pub fn take(&self, channel: u16, delivery_tag: u64) -> Vec<Repair> {
        if self.0.waiting.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.change(|deliveries| deliveries.take((channel, delivery_tag)))
    }

    fn record(&self, id: DeliveryId, repairs: impl Iterator<Item = Repair>) {
        self.change(|deliveries| deliveries.record(id, repairs));
    }

    /// Delivery tags begin again at 1 in a channel that is opened again.
    fn forget_channel(&self, channel: u16) {
        self.change(|deliveries| deliveries.forget_channel(channel));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Deliveries) -> T) -> T {
        let mut deliveries = self.0.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = change(&mut deliveries);
        self.0.waiting.store(deliveries.repairs.len(), Ordering::Release);
        answer
    }
}

impl Deliveries {
    fn take(&mut self, id: DeliveryId) -> Vec<Repair> {
        self.repairs.remove(&id).unwrap_or_default()
    }

    fn record(&mut self, id: DeliveryId, repairs: impl Iterator<Item = Repair>) {
        if !self.repairs.contains_key(&id) {
            self.arrivals.push_back(id);
        }
        let kept = self.repairs.entry(id).or_default();
        kept.extend(repairs.take(MAX_REPAIRS_PER_DELIVERY.saturating_sub(kept.len())));
        while self.arrivals.len() > MAX_DELIVERIES {
            if let Some(oldest) = self.arrivals.pop_front() {
                self.repairs.remove(&oldest);
            }
        }
    }

    fn forget_channel(&mut self, channel: u16) {
        self.repairs.retain(|id, _| id.0 != channel);
        self.arrivals.retain(|id| id.0 != channel);
    }
}

// ---------------------------------------------------------------------------------------------
// The stream

/// A stream of AMQP 0-9-1 frames that is mended as it is read. Writing passes straight through.
///
/// What arrives is read into the caller's buffer and inspected there. Only a frame cut off at the
/// end of a read is copied, and held back until the rest of it has come.
#[derive(Debug)]
pub struct Utf8Guard<S> {
    stream: S,
    inspector: Inspector,
    held: Held,
}

/// The beginning of a frame that has to be seen whole and, once it has been, that frame on its way
/// to the caller.
#[derive(Debug, Default)]
struct Held {
    octets: Vec<u8>,
    cleared: bool,
    handed_out: usize,
}

impl<S> Utf8Guard<S> {
    /// Guards `stream`, from its first octet on, and tells `repairs` what it mends.
    pub fn new(stream: S, repairs: Repairs) -> Self {
        Self { stream, inspector: Inspector::new(repairs), held: Held::default() }
    }
}

impl<S: AsyncRead + Unpin> Utf8Guard<S> {
    /// Reads into the caller's buffer; the octets that may be seen, or `None` if there are none yet.
    fn poll_direct(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<Option<usize>>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let cleared = self.inspector.clear(&mut buf[..read]);
        self.held.octets.extend_from_slice(&buf[cleared..read]);
        Poll::Ready(Ok((cleared > 0 || read == 0).then_some(cleared)))
    }

    /// Reads on in the frame that is held back.
    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let octets = &mut self.held.octets;
        let start = octets.len();
        octets.resize(wanted(octets).min(start + READ_STEP), 0);
        let read = Pin::new(&mut self.stream).poll_read(cx, &mut octets[start..]);
        octets.truncate(start + if let Poll::Ready(Ok(read)) = read { read } else { 0 });
        let at_end = ready!(read)? == 0;
        self.held.cleared = at_end || self.inspector.clear(octets) > 0;
        Poll::Ready(Ok(()))
    }
}

/// How many octets to have of the frame that begins here before it can be judged.
fn wanted(octets: &[u8]) -> usize {
    FrameHeader::parse(octets).map_or(FRAME_HEADER_LEN, |header| header.frame_len())
}

impl Held {
    fn hand_out(&mut self, buf: &mut [u8]) -> usize {
        let rest = &self.octets[self.handed_out..];
        let amount = rest.len().min(buf.len());
        buf[..amount].copy_from_slice(&rest[..amount]);
        self.handed_out += amount;
        if self.handed_out == self.octets.len() {
            self.octets.clear();
            self.cleared = false;
            self.handed_out = 0;
        }
        amount
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Utf8Guard<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            if this.held.cleared {
                return Poll::Ready(Ok(this.held.hand_out(buf)));
            }
            if !this.held.octets.is_empty() {
                ready!(this.poll_held(cx))?;
            } else if let Some(amount) = ready!(this.poll_direct(cx, buf))? {
                return Poll::Ready(Ok(amount));
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Utf8Guard<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}

// ---------------------------------------------------------------------------------------------
// Frames (AMQP 0-9-1 specification, 4.2.3)

const FRAME_METHOD: u8 = 1;
const FRAME_HEADER: u8 = 2;
const FRAME_END: u8 = 0xCE;

/// Type, channel and size, which stand before the payload.
const FRAME_HEADER_LEN: usize = 7;

struct FrameHeader {
    frame_type: u8,
    channel: u16,
    payload_len: usize,
}

impl FrameHeader {
    fn parse(octets: &[u8]) -> Option<Self> {
        let &[frame_type, c0, c1, s0, s1, s2, s3, ..] = octets else {
            return None;
        };
        Some(Self {
            frame_type,
            channel: u16::from_be_bytes([c0, c1]),
            payload_len: u32::from_be_bytes([s0, s1, s2, s3]) as usize,
        })
    }

    /// With the header itself and the end octet.
    fn frame_len(&self) -> usize {
        self.payload_len.saturating_add(FRAME_HEADER_LEN + 1)
    }

    fn is_inspected(&self) -> bool {
        matches!(self.frame_type, FRAME_METHOD | FRAME_HEADER) && self.frame_len() <= MAX_HELD
    }
}

/// Goes through the frames of a connection, wherever the reads cut them.
#[derive(Debug)]
struct Inspector {
    /// Octets that may pass before the next frame begins.
    pass: usize,
    /// By channel: the delivery tag of the content whose header is to come.
    contents: BTreeMap<u16, u64>,
    repairs: Repairs,
}

impl Inspector {
    fn new(repairs: Repairs) -> Self {
        Self { pass: 0, contents: BTreeMap::new(), repairs }
    }

    /// Mends the frames in `octets`; returns how many of them may be seen. The others are the
    /// beginning of a frame that must come again with what is missing.
    fn clear(&mut self, octets: &mut [u8]) -> usize {
        let mut at = 0;
        loop {
            let passed = self.pass.min(octets.len() - at);
            self.pass -= passed;
            at += passed;
            let Some(header) = FrameHeader::parse(&octets[at..]) else {
                return at;
            };
            if header.is_inspected() {
                let Some(frame) = octets[at..].get_mut(..header.frame_len()) else {
                    return at;
                };
                self.inspect(&header, &mut frame[FRAME_HEADER_LEN..]);
            }
            self.pass = header.frame_len();
        }
    }

    /// Mends a complete frame, given as payload and end octet.
    fn inspect(&mut self, header: &FrameHeader, rest: &mut [u8]) {
        let Some((&mut FRAME_END, payload)) = rest.split_last_mut() else {
            return;
        };
        if header.frame_type == FRAME_METHOD {
            self.inspect_method(header.channel, payload);
        } else {
            self.inspect_content_header(header.channel, payload);
        }
    }

    fn inspect_method(&mut self, channel: u16, payload: &mut [u8]) {
        let Some(method) = method_id(payload) else {
            return;
        };
        if method == CHANNEL_OPEN_OK {
            self.repairs.forget_channel(channel);
        }
        let Some(walk) = Walk::through(payload, METHOD_ID_LEN, arguments(method)) else {
            return;
        };
        match walk.delivery_tag {
            Some(delivery_tag) => self.contents.insert(channel, delivery_tag),
            None => self.contents.remove(&channel),
        };
        self.mend(channel, payload, walk.flaws);
    }

    fn inspect_content_header(&mut self, channel: u16, payload: &mut [u8]) {
        let Some(properties) = present_properties(payload) else {
            return;
        };
        let Some(walk) = Walk::through(payload, CONTENT_HEADER_LEN, properties) else {
            return;
        };
        self.mend(channel, payload, walk.flaws);
    }

    fn mend(&self, channel: u16, payload: &mut [u8], flaws: Vec<Flaw>) {
        if flaws.is_empty() {
            return;
        }
        let repairs: Vec<Repair> = flaws.into_iter().map(|flaw| flaw.mend(payload)).collect();
        if let Some(&delivery_tag) = self.contents.get(&channel) {
            self.repairs.record((channel, delivery_tag), repairs.into_iter());
        }
    }
}

// ---------------------------------------------------------------------------------------------
// Payloads

/// A piece of a method's arguments or of the content's properties, as far as it matters here.
#[derive(Clone, Copy)]
enum Field {
    ShortString(&'static str),
    DeliveryTag,
    HeadersTable,
    Octets(usize),
}

use Field::{DeliveryTag, HeadersTable, Octets, ShortString};

type MethodId = (u16, u16);

const METHOD_ID_LEN: usize = 4;
const CONNECTION_CLOSE: MethodId = (10, 50);
const CHANNEL_OPEN_OK: MethodId = (20, 11);
const CHANNEL_CLOSE: MethodId = (20, 40);
const BASIC_RETURN: MethodId = (60, 50);
const BASIC_DELIVER: MethodId = (60, 60);
const BASIC_GET_OK: MethodId = (60, 71);

fn method_id(payload: &[u8]) -> Option<MethodId> {
    let &[c0, c1, m0, m1, ..] = payload else {
        return None;
    };
    Some((u16::from_be_bytes([c0, c1]), u16::from_be_bytes([m0, m1])))
}

/// The arguments of the methods whose short strings come from somebody else: a publisher, or, in
/// the reply text of a close, a broker that cuts a text to 255 octets wherever that falls.
fn arguments(method: MethodId) -> impl Iterator<Item = Field> {
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
const CONTENT_HEADER_LEN: usize = 14;

/// The properties of class basic, in the order of their flags from the highest bit down.
const PROPERTIES: [Field; 14] = [
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
fn present_properties(payload: &[u8]) -> Option<impl Iterator<Item = Field>> {
    let &[f0, f1] = payload.get(CONTENT_HEADER_LEN - 2..CONTENT_HEADER_LEN)? else {
        return None;
    };
    let flags = u16::from_be_bytes([f0, f1]);
    let is_present = move |bit: usize| flags & (0x8000 >> bit) != 0;
    Some((0..).zip(PROPERTIES).filter_map(move |(bit, field)| is_present(bit).then_some(field)))
}

/// Something that lapin could not take.
enum Flaw {
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
    fn mend(self, payload: &mut [u8]) -> Repair {
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
                Repair { field: "header nesting".to_owned(), original: vec![original] }
            }
        }
    }
}

fn replace_invalid(mut octets: &mut [u8]) {
    while let Err(error) = std::str::from_utf8(octets) {
        let start = error.valid_up_to();
        let end = error.error_len().map_or(octets.len(), |len| start + len);
        octets[start..end].fill(b'?');
        octets = &mut octets[end..];
    }
}

/// Walks through a payload and notes the flaws. Each step answers `None` when the payload is not
/// what it should be, and then nothing of it is touched.
struct Walk<'a> {
    payload: &'a [u8],
    at: usize,
    delivery_tag: Option<u64>,
    flaws: Vec<Flaw>,
}

impl<'a> Walk<'a> {
    fn through(payload: &'a [u8], start: usize, fields: impl Iterator<Item = Field>) -> Option<Self> {
        let mut walk = Self { payload, at: start, delivery_tag: None, flaws: Vec::new() };
        for field in fields {
            walk.field(field)?;
        }
        Some(walk)
    }

    fn field(&mut self, field: Field) -> Option<()> {
        match field {
            ShortString(name) => self.short_string(name),
            DeliveryTag => self.delivery_tag(),
            HeadersTable => self.table(0),
            Octets(amount) => self.skip(amount),
        }
    }

    fn octets<const N: usize>(&mut self) -> Option<[u8; N]> {
        let octets = self.payload.get(self.at..)?.first_chunk().copied()?;
        self.at += N;
        Some(octets)
    }

    fn skip(&mut self, amount: usize) -> Option<()> {
        self.at = self.at.checked_add(amount).filter(|&end| end <= self.payload.len())?;
        Some(())
    }

    fn length(&mut self) -> Option<usize> {
        self.octets().map(|octets| u32::from_be_bytes(octets) as usize)
    }

    fn delivery_tag(&mut self) -> Option<()> {
        self.delivery_tag = Some(u64::from_be_bytes(self.octets()?));
        Some(())
    }

    fn short_string(&mut self, field: &'static str) -> Option<()> {
        let [len] = self.octets()?;
        let start = self.at;
        self.skip(usize::from(len))?;
        let at = start..self.at;
        if std::str::from_utf8(self.payload.get(at.clone())?).is_err() {
            self.flaws.push(Flaw::NotUtf8 { field, at });
        }
        Some(())
    }

    fn long_string(&mut self) -> Option<()> {
        let len = self.length()?;
        self.skip(len)
    }

    fn table(&mut self, nesting: usize) -> Option<()> {
        self.container(|walk| {
            walk.short_string("header key")?;
            walk.value(nesting)
        })
    }

    fn array(&mut self, nesting: usize) -> Option<()> {
        self.container(|walk| walk.value(nesting))
    }

    /// A length, and that many octets of entries.
    fn container(&mut self, mut entry: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let len = self.length()?;
        let end = self.at.checked_add(len)?;
        while self.at < end {
            entry(self)?;
        }
        (self.at == end).then_some(())
    }

    /// A field value. The types are those that lapin reads, among them RabbitMQ's meaning of `s`,
    /// a signed short integer; so no string in a table but its keys has to be UTF-8.
    fn value(&mut self, nesting: usize) -> Option<()> {
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    const BAD: &[u8] = b"ok\xff\xc3(\xe2\x82";
    const MENDED: &[u8] = b"ok??(??";

    // -- frames --

    fn frame(frame_type: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![frame_type];
        frame.extend(channel.to_be_bytes());
        frame.extend((payload.len() as u32).to_be_bytes());
        frame.extend(payload);
        frame.push(FRAME_END);
        frame
    }

    fn method((class, method): MethodId, channel: u16, arguments: &[&[u8]]) -> Vec<u8> {
        let id = [class.to_be_bytes(), method.to_be_bytes()].concat();
        frame(FRAME_METHOD, channel, &[id, arguments.concat()].concat())
    }

    fn short(string: &[u8]) -> Vec<u8> {
        [&[string.len() as u8][..], string].concat()
    }

    fn long(content: &[u8]) -> Vec<u8> {
        [&(content.len() as u32).to_be_bytes()[..], content].concat()
    }

    fn deliver(channel: u16, delivery_tag: u64, routing_key: &[u8]) -> Vec<u8> {
        let tag = delivery_tag.to_be_bytes();
        let (exchange, routing_key) = (short(b"dlx"), short(routing_key));
        method(BASIC_DELIVER, channel, &[&short(b"ctag"), &tag, &[0], &exchange, &routing_key])
    }

    /// `properties` are the flag's place from the highest bit, and what is encoded there.
    fn content_header(channel: u16, properties: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let flags = properties.iter().fold(0, |flags, (bit, _)| flags | (0x8000 >> bit));
        let mut payload = [&[0, 60, 0, 0][..], &5_u64.to_be_bytes(), &u16::to_be_bytes(flags)].concat();
        properties.iter().for_each(|(_, octets)| payload.extend(octets));
        frame(FRAME_HEADER, channel, &payload)
    }

    const HEADERS: u16 = 2;
    const MESSAGE_ID: u16 = 8;

    fn headers(channel: u16, entries: &[Vec<u8>]) -> Vec<u8> {
        content_header(channel, &[(HEADERS, long(&entries.concat()))])
    }

    fn entry(key: &[u8], value: &[u8]) -> Vec<u8> {
        [&short(key), value].concat()
    }

    fn body(channel: u16) -> Vec<u8> {
        frame(3, channel, b"\xff\x01\x02\xfe\xce")
    }

    /// One value of each type, and a long string that is no UTF-8, as it may be.
    fn one_of_each() -> Vec<Vec<u8>> {
        let fixed = [
            (b'V', 0),
            (b't', 1),
            (b'b', 1),
            (b'B', 1),
            (b's', 2),
            (b'u', 2),
            (b'U', 2),
            (b'i', 4),
            (b'I', 4),
            (b'f', 4),
            (b'D', 5),
            (b'l', 8),
            (b'L', 8),
            (b'd', 8),
            (b'T', 8),
        ];
        let fixed = fixed.iter().map(|&(kind, len)| [&[kind][..], &vec![0xff; len]].concat());
        let values: Vec<Vec<u8>> = fixed.chain([b'S', b'x'].map(|kind| [&[kind][..], &long(BAD)].concat())).collect();
        let array = [&b"A"[..], &long(&values.concat())].concat();
        let mut entries: Vec<Vec<u8>> = values.iter().map(|value| entry(b"k", value)).collect();
        entries.push(entry("ключ".as_bytes(), &array));
        entries.push(entry(b"table", &[&b"F"[..], &long(&entries.concat())].concat()));
        entries
    }

    // -- reading --

    /// Serves its pieces, one at a read, and is never ready twice in a row.
    struct Pieces {
        pieces: VecDeque<Vec<u8>>,
        ready: bool,
    }

    impl AsyncRead for Pieces {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
            self.ready = !self.ready;
            if !self.ready {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let Some(mut piece) = self.pieces.pop_front() else {
                return Poll::Ready(Ok(0));
            };
            let amount = piece.len().min(buf.len());
            buf[..amount].copy_from_slice(&piece[..amount]);
            if amount < piece.len() {
                self.pieces.push_front(piece.split_off(amount));
            }
            Poll::Ready(Ok(amount))
        }
    }

    fn read_all(pieces: &[&[u8]], buf_len: usize) -> (Vec<u8>, Repairs) {
        let repairs = Repairs::default();
        let pieces = pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| piece.to_vec());
        let stream = Pieces { pieces: pieces.collect(), ready: false };
        let mut guard = Utf8Guard::new(stream, repairs.clone());
        let mut all = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut buf = vec![0; buf_len];
            loop {
                let read = poll_fn(|cx| Pin::new(&mut guard).poll_read(cx, &mut buf)).await.unwrap();
                if read == 0 {
                    break;
                }
                all.extend(&buf[..read]);
            }
        });
        (all, repairs)
    }

    /// Through the guard in one piece.
    fn through(frames: &[Vec<u8>]) -> (Vec<u8>, Repairs) {
        read_all(&[&frames.concat()], 1 << 20)
    }

    #[track_caller]
    fn assert_unchanged(frames: &[Vec<u8>]) {
        let (read, repairs) = through(frames);
        assert!(read == frames.concat());
        assert_eq!(repairs.take(1, 1), []);
    }

    fn repair(field: &str, original: &[u8]) -> Repair {
        Repair { field: field.to_owned(), original: original.to_vec() }
    }

    // -- what passes --

    #[test]
    fn valid_frames_pass_unchanged() {
        let properties: Vec<(u16, Vec<u8>)> = (0..)
            .zip(PROPERTIES)
            .map(|(bit, field)| match field {
                HeadersTable => (bit, long(&one_of_each().concat())),
                Octets(amount) => (bit, vec![0xff; amount]),
                _ => (bit, short("grüße".as_bytes())),
            })
            .collect();
        assert_unchanged(&[
            deliver(1, 1, "ключ".as_bytes()),
            content_header(1, &properties),
            body(1),
            frame(8, 0, b""),
            content_header(1, &[]),
        ]);
    }

    #[test]
    fn bodies_pass_unread() {
        assert_unchanged(&[frame(3, 1, &vec![0xff; 300_000]), body(2)]);
    }

    #[test]
    fn a_frame_too_large_to_hold_passes_unread() {
        let large = content_header(1, &[(MESSAGE_ID, [short(BAD), vec![0; MAX_HELD]].concat())]);
        let (read, repairs) = read_all(&[&deliver(1, 1, b"k"), &large], 10_000);
        assert!(read == [deliver(1, 1, b"k"), large].concat());
        assert_eq!(repairs.take(1, 1), []);
    }

    #[test]
    fn malformed_frames_pass_unchanged() {
        let past_the_end = [&[200][..], BAD].concat();
        let table_past_the_end = [&1000_u32.to_be_bytes()[..], &entry(BAD, b"V")].concat();
        let mut no_end = content_header(1, &[(MESSAGE_ID, short(BAD))]);
        no_end.pop();
        no_end.push(0);
        for malformed in [
            content_header(1, &[(MESSAGE_ID, past_the_end.clone())]),
            content_header(1, &[(HEADERS, table_past_the_end)]),
            headers(1, &[entry(BAD, b"?")]),
            headers(1, &[entry(BAD, b"F\xff\xff\xff\xff")]),
            method(BASIC_DELIVER, 1, &[&past_the_end]),
            frame(FRAME_HEADER, 1, b""),
            frame(FRAME_METHOD, 1, b""),
            b"HTTP/1.1 400 Bad Request\r\n".to_vec(),
            no_end,
        ] {
            assert_unchanged(&[deliver(1, 1, b"k"), malformed, body(1)]);
        }
    }

    #[test]
    fn the_beginning_of_a_frame_is_handed_out_when_the_stream_ends() {
        let whole = [deliver(1, 1, BAD), headers(1, &[entry(BAD, b"V")])].concat();
        let deliver_len = deliver(1, 1, BAD).len();
        for cut in 0..deliver_len {
            assert_eq!(read_all(&[&whole[..cut]], 4096).0, &whole[..cut]);
        }
    }

    /// Whatever is in it, a stream keeps its length and the guard comes to its end.
    #[test]
    fn noise_neither_panics_nor_hangs() {
        let frames = [deliver(1, 1, BAD), headers(1, &one_of_each()), body(1)].concat();
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        for _ in 0..20_000 {
            let mut noisy = frames.clone();
            for _ in 0..1 + random() % 4 {
                let at = random() % noisy.len();
                noisy[at] = random() as u8;
            }
            assert_eq!(through(&[noisy.clone()]).0.len(), noisy.len());
        }
    }

    // -- what is mended --

    /// Three messages, of which the second is flawed, as sent and as they should arrive.
    fn conversation() -> (Vec<u8>, Vec<u8>) {
        let message = |tag, string: &[u8]| {
            let key = entry(string, b"V");
            let table = entry(b"t", &[&b"F"[..], &long(&key)].concat());
            let properties = [(HEADERS, long(&[key, table].concat())), (MESSAGE_ID, short(string))];
            [deliver(1, tag, string), content_header(1, &properties), body(1), frame(8, 0, b"")].concat()
        };
        let sent = [message(1, b"good"), message(2, BAD), message(3, b"fine")];
        let mended = [message(1, b"good"), message(2, MENDED), message(3, b"fine")];
        (sent.concat(), mended.concat())
    }

    #[track_caller]
    fn assert_conversation_mended(read: &[u8], repairs: &Repairs) {
        assert_eq!(read, conversation().1);
        assert_eq!(repairs.take(1, 1), []);
        let fields = ["routing key", "header key", "header key", "message_id"];
        assert_eq!(repairs.take(1, 2), fields.map(|field| repair(field, BAD)));
        assert_eq!(repairs.take(1, 3), []);
    }

    #[test]
    fn reads_may_end_anywhere() {
        let (sent, _) = conversation();
        for cut in 0..=sent.len() {
            let (read, repairs) = read_all(&[&sent[..cut], &sent[cut..]], 4096);
            assert_conversation_mended(&read, &repairs);
        }
    }

    #[test]
    fn reads_and_buffers_may_be_of_any_size() {
        let (sent, _) = conversation();
        for piece_len in [1, 2, 3, 7, 8, 50] {
            let pieces: Vec<&[u8]> = sent.chunks(piece_len).collect();
            for buf_len in [1, 2, 7, 8, 13, 4096] {
                let (read, repairs) = read_all(&pieces, buf_len);
                assert_conversation_mended(&read, &repairs);
            }
        }
    }

    #[test]
    fn every_short_string_among_the_properties_is_mended() {
        for (bit, field) in (0..).zip(PROPERTIES) {
            let ShortString(name) = field else { continue };
            let header = |string| content_header(1, &[(bit, short(string))]);
            let (read, repairs) = through(&[deliver(1, 9, b"k"), header(BAD)]);
            assert_eq!(read, [deliver(1, 9, b"k"), header(MENDED)].concat());
            assert_eq!(repairs.take(1, 9), [repair(name, BAD)]);
        }
    }

    #[test]
    fn keys_are_mended_at_any_depth() {
        let nested = |key: &[u8]| {
            let inner = [&b"F"[..], &long(&entry(key, b"V"))].concat();
            let array = [&b"A"[..], &long(&inner)].concat();
            headers(1, &[one_of_each(), vec![entry(b"deep", &array)]].concat())
        };
        let (read, repairs) = through(&[deliver(1, 1, b"k"), nested(BAD)]);
        assert_eq!(read, [deliver(1, 1, b"k"), nested(MENDED)].concat());
        assert_eq!(repairs.take(1, 1), [repair("header key", BAD)]);
    }

    #[test]
    fn what_basic_get_brings_is_mended() {
        let get_ok = |key| {
            let tag = 7_u64.to_be_bytes();
            method(BASIC_GET_OK, 3, &[&tag, &[0], &short(b"x"), &short(key), &[0; 4]])
        };
        let (read, repairs) = through(&[get_ok(BAD)]);
        assert_eq!(read, get_ok(MENDED));
        assert_eq!(repairs.take(3, 7), [repair("routing key", BAD)]);
    }

    /// They have no delivery tag, so they belong to no delivery either, not even to the last one.
    #[test]
    fn returns_and_closes_are_mended_but_not_recorded() {
        for (id, arguments) in [
            (BASIC_RETURN, [[0; 2].to_vec(), short(BAD), short(BAD), short(BAD)].concat()),
            (CHANNEL_CLOSE, [[0; 2].to_vec(), short(BAD), [0; 4].to_vec()].concat()),
            (CONNECTION_CLOSE, [[0; 2].to_vec(), short(BAD), [0; 4].to_vec()].concat()),
        ] {
            let header = content_header(1, &[(MESSAGE_ID, short(BAD))]);
            let (read, repairs) = through(&[deliver(1, 1, b"k"), method(id, 1, &[&arguments]), header]);
            assert!(!read.windows(BAD.len()).any(|octets| octets == BAD));
            assert_eq!(repairs.take(1, 1), []);
        }
    }

    #[test]
    fn contents_of_several_channels_may_interleave() {
        let header = |channel| content_header(channel, &[(MESSAGE_ID, short(BAD))]);
        let (_, repairs) = through(&[deliver(1, 5, b"k"), deliver(2, 6, b"k"), header(1), body(1), header(2)]);
        assert_eq!(repairs.take(1, 5), [repair("message_id", BAD)]);
        assert_eq!(repairs.take(2, 6), [repair("message_id", BAD)]);
    }

    #[test]
    fn only_invalid_octets_are_replaced() {
        for (string, mended) in [
            (&b"\xff"[..], &b"?"[..]),
            ("gr\u{fc}\u{df}e \u{1f480}".as_bytes(), "gr\u{fc}\u{df}e \u{1f480}".as_bytes()),
            (b"\xc3\xbcber\xc3", b"\xc3\xbcber?"),
            (b"\xed\xa0\x80x", b"???x"),
            (b"\xf0\x9f\x92", b"???"),
        ] {
            let mut octets = string.to_vec();
            replace_invalid(&mut octets);
            assert_eq!(octets, mended);
        }
    }

    fn nested_arrays(depth: usize) -> Vec<u8> {
        (0..depth).fold(b"V".to_vec(), |value, _| [&b"A"[..], &long(&value)].concat())
    }

    #[test]
    fn what_is_nested_too_deep_becomes_octets() {
        let sent = headers(1, &[entry(b"h", &nested_arrays(20_000))]);
        let (read, repairs) = through(&[deliver(1, 1, b"k"), sent.clone()]);
        let changed: Vec<(u8, u8)> = read[deliver(1, 1, b"k").len()..]
            .iter()
            .zip(&sent)
            .filter(|(read, sent)| read != sent)
            .map(|(&read, &sent)| (read, sent))
            .collect();
        assert_eq!(changed, [(b'x', b'A')]);
        assert_eq!(repairs.take(1, 1), [repair("header nesting", b"A")]);
        assert_unchanged(&[headers(1, &[entry(b"h", &nested_arrays(MAX_NESTING))])]);
    }

    // -- what is told --

    #[test]
    fn repairs_are_taken_once() {
        let (_, repairs) = through(&[deliver(1, 1, BAD)]);
        assert_eq!(repairs.clone().take(1, 1).len(), 1);
        assert_eq!(repairs.take(1, 1), []);
    }

    #[test]
    fn a_channel_opened_again_begins_without_repairs() {
        let open_ok = method(CHANNEL_OPEN_OK, 1, &[&[0; 4]]);
        let (_, repairs) = through(&[deliver(1, 1, BAD), deliver(2, 1, BAD), open_ok]);
        assert_eq!(repairs.take(1, 1), []);
        assert_eq!(repairs.take(2, 1), [repair("routing key", BAD)]);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let many = MAX_DELIVERIES as u64 + 10;
        let frames: Vec<Vec<u8>> = (1..=many).map(|tag| deliver(1, tag, BAD)).collect();
        let (_, repairs) = through(&frames);
        let kept = (1..=many).filter(|&tag| !repairs.take(1, tag).is_empty());
        assert_eq!(kept.collect::<Vec<_>>(), (11..=many).collect::<Vec<_>>());
    }

    #[test]
    fn one_delivery_cannot_fill_the_memory() {
        let keys = vec![entry(BAD, b"V"); 1000];
        let (read, repairs) = through(&[deliver(1, 1, b"k"), headers(1, &keys)]);
        assert!(!read.windows(BAD.len()).any(|octets| octets == BAD));
        assert_eq!(repairs.take(1, 1).len(), MAX_REPAIRS_PER_DELIVERY);
    }
}
