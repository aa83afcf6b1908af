//! Frames that are larger than was agreed.
//!
//! To what RabbitMQ dead-letters it adds `x-death` and the like, and delivers it also where its header is larger than
//! `frame_max` by then. lapin ends the connection over such a frame, and each next one, as it is delivered first again. So
//! lapin is told of a larger limit than RabbitMQ names, and RabbitMQ is answered with its own.
//!
//! Only for connections on which nothing is published: lapin cuts bodies by the limit that it was told.

/// How much may have been added, names of 255 octets in fifty queues included.
pub const ROOM: u32 = 64 * 1024;

/// Where `connection.tune` and `connection.tune-ok` have it, behind class, method and `channel_max`.
const FIELD: usize = 6;
/// With what `connection.tune-ok` begins on its channel.
const TUNE_OK: [u8; 11] = [1, 0, 0, 0, 0, 0, 12, 0, 10, 0, 31];
/// With its frame.
pub(super) const TUNE_OK_LEN: usize = 20;
const FIELD_OF_FRAME: usize = 7 + FIELD;

/// How large the frames may be that are received.
#[derive(Debug)]
pub(super) enum FrameLimit {
    AsAgreed,
    /// Larger, once RabbitMQ has said how large it wants them.
    Larger,
    /// RabbitMQ wants them so large, and is not answered yet; of the answer so many octets are written.
    Asked {
        frame_max: u32,
        written: usize,
    },
}

impl FrameLimit {
    /// Raises the limit in `connection.tune`, given with class and method.
    pub(super) fn raise(&mut self, tune: &mut [u8]) {
        let Self::Larger = self else { return };
        let Some(field) = tune.get_mut(FIELD..).and_then(<[u8]>::first_chunk_mut::<4>) else { return };
        *self = match u32::from_be_bytes(*field) {
            // There is no limit.
            0 => Self::AsAgreed,
            frame_max => {
                *field = frame_max.saturating_add(ROOM).to_be_bytes();
                Self::Asked { frame_max, written: 0 }
            }
        };
    }
}

/// Where the answer to `connection.tune` begins in what is written.
pub(super) fn answer_in(octets: &[u8]) -> Option<usize> {
    let at = octets.windows(TUNE_OK.len()).position(|octets| octets == TUNE_OK)?;
    (octets.len() - at >= TUNE_OK_LEN).then_some(at)
}

/// The answer that RabbitMQ takes: without the room.
pub(super) fn lowered(answer: &[u8], frame_max: u32) -> Vec<u8> {
    let mut answer = answer[..TUNE_OK_LEN].to_vec();
    if let Some(field) = answer[FIELD_OF_FRAME..].first_chunk_mut::<4>() {
        *field = u32::from_be_bytes(*field).saturating_sub(ROOM).min(frame_max).to_be_bytes();
    }
    answer
}
