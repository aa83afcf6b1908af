//! Frames (AMQP 0-9-1 specification, 4.2.3).

use std::collections::BTreeMap;

use super::{
    frame_limit::FrameLimit,
    payload::*,
    repairs::{Repair, Repairs},
};

/// The largest frame that is held back until it is complete. Larger ones pass unread; RabbitMQ's
/// default for `frame_max` is an eighth of this.
pub(super) const MAX_HELD: usize = 1024 * 1024;

pub(super) const FRAME_METHOD: u8 = 1;
pub(super) const FRAME_HEADER: u8 = 2;
pub(super) const FRAME_END: u8 = 0xCE;

/// Type, channel and size, which stand before the payload.
pub(super) const FRAME_HEADER_LEN: usize = 7;

pub(super) struct FrameHeader {
    frame_type: u8,
    channel: u16,
    payload_len: usize,
}

impl FrameHeader {
    pub(super) fn parse(octets: &[u8]) -> Option<Self> {
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
    pub(super) fn frame_len(&self) -> usize {
        self.payload_len.saturating_add(FRAME_HEADER_LEN + 1)
    }

    pub(super) fn is_inspected(&self) -> bool {
        matches!(self.frame_type, FRAME_METHOD | FRAME_HEADER) && self.frame_len() <= MAX_HELD
    }
}

/// Goes through the frames of a connection, wherever the reads cut them.
#[derive(Debug)]
pub(super) struct Inspector {
    /// Octets that may pass before the next frame begins.
    pass: usize,
    /// By channel: the delivery tag of the content whose header is to come.
    contents: BTreeMap<u16, u64>,
    repairs: Repairs,
    pub(super) limit: FrameLimit,
}

impl Inspector {
    pub(super) fn new(repairs: Repairs, limit: FrameLimit) -> Self {
        Self { pass: 0, contents: BTreeMap::new(), repairs, limit }
    }

    /// Mends the frames in `octets`; returns how many of them may be seen. The others are the
    /// beginning of a frame that must come again with what is missing.
    pub(super) fn clear(&mut self, octets: &mut [u8]) -> usize {
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
    pub(super) fn inspect(&mut self, header: &FrameHeader, rest: &mut [u8]) {
        let Some((&mut FRAME_END, payload)) = rest.split_last_mut() else {
            return;
        };
        if header.frame_type == FRAME_METHOD {
            self.inspect_method(header.channel, payload);
        } else {
            self.inspect_content_header(header.channel, payload);
        }
    }

    pub(super) fn inspect_method(&mut self, channel: u16, payload: &mut [u8]) {
        let Some(method) = method_id(payload) else {
            return;
        };
        match method {
            CONNECTION_TUNE => self.limit.raise(payload),
            CHANNEL_OPEN_OK => self.repairs.forget_channel(channel),
            _ => {}
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

    pub(super) fn inspect_content_header(&mut self, channel: u16, payload: &mut [u8]) {
        let Some(properties) = present_properties(payload) else {
            return;
        };
        let Some(walk) = Walk::through(payload, CONTENT_HEADER_LEN, properties) else {
            return;
        };
        self.mend(channel, payload, walk.flaws);
    }

    pub(super) fn mend(&self, channel: u16, payload: &mut [u8], flaws: Vec<Flaw>) {
        if flaws.is_empty() {
            return;
        }
        let repairs: Vec<Repair> = flaws.into_iter().map(|flaw| flaw.mend(payload)).collect();
        if let Some(&delivery_tag) = self.contents.get(&channel) {
            self.repairs.record((channel, delivery_tag), repairs.into_iter());
        }
    }
}
