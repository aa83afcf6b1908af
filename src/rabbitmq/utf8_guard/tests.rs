//! Frames cut at every place.

use std::{
    collections::VecDeque,
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use futures_io::{AsyncRead, AsyncWrite};

use super::{
    frame_limit::{ROOM, TUNE_OK_LEN},
    frames::*,
    payload::{
        Field::{HeadersTable, Octets, ShortString},
        *,
    },
    repairs::*,
    stream::*,
};

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

// -- what is reported --

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

/// Gives a `connection.tune`, and takes so many octets at a time.
struct Broker {
    pieces: Pieces,
    taken: Vec<u8>,
    at_once: usize,
}

impl AsyncRead for Broker {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pieces).poll_read(cx, buf)
    }
}

impl AsyncWrite for Broker {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let amount = buf.len().min(self.at_once);
        self.taken.extend(&buf[..amount]);
        Poll::Ready(Ok(amount))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn tune(method_number: u16, frame_max: u32) -> Vec<u8> {
    let (channel_max, heartbeat) = (2047_u16.to_be_bytes(), 60_u16.to_be_bytes());
    method((10, method_number), 0, &[&channel_max, &frame_max.to_be_bytes(), &heartbeat])
}

/// What lapin reads where the broker wants frames of that size, and what the broker is answered where lapin takes `answered`.
fn agreed(by_broker: u32, answered: u32, at_once: usize) -> (Vec<u8>, Vec<u8>) {
    let pieces = Pieces { pieces: [tune(30, by_broker)].into(), ready: false };
    let broker = Broker { pieces, taken: Vec::new(), at_once };
    let mut guard = Utf8Guard::with_larger_frames(broker, Repairs::default());
    let sent = [&b"before"[..], &tune(31, answered), b"behind"].concat();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (mut buf, mut written) = ([0; 64], 0);
        let read = poll_fn(|cx| Pin::new(&mut guard).poll_read(cx, &mut buf)).await.unwrap();
        while written < sent.len() {
            written += poll_fn(|cx| Pin::new(&mut guard).poll_write(cx, &sent[written..])).await.unwrap();
        }
        (buf[..read].to_vec(), guard.into_inner().taken)
    })
}

#[test]
fn larger_frames_are_taken_than_the_broker_is_told() {
    const AGREED: u32 = 131_072;
    for at_once in [1, 7, TUNE_OK_LEN, 100] {
        let (read, taken) = agreed(AGREED, AGREED + ROOM, at_once);
        assert_eq!(read, tune(30, AGREED + ROOM));
        assert_eq!(taken, [&b"before"[..], &tune(31, AGREED), b"behind"].concat());
    }
    // Somebody may want less, and a broker may have no limit.
    assert_eq!(agreed(AGREED, 4096 + ROOM, 100).1, [&b"before"[..], &tune(31, 4096), b"behind"].concat());
    assert_eq!(agreed(0, AGREED, 100), (tune(30, 0), [&b"before"[..], &tune(31, AGREED), b"behind"].concat()));
}
