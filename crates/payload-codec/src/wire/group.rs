//! Finds where a group ends, without recursion.

use super::{
    malformed::{Malformed, Why},
    tag::{self, Tag},
    varint,
};

/// How deep groups may nest: the depth at which prost and the other parsers give up, too.
pub const MAX_GROUP_DEPTH: usize = 100;

/// Where the fields of a group end, and where the field does, behind the tag that closes it.
pub(super) struct GroupEnd {
    pub payload: usize,
    pub field: usize,
}

/// The end of the group that was opened as `number` and whose fields begin at `at`.
pub(super) fn end(bytes: &[u8], number: u32, mut at: usize) -> Result<GroupEnd, Malformed> {
    let mut open = vec![number];
    loop {
        let tag = Tag::read(bytes, at)?;
        match tag.wire {
            tag::START_GROUP => open.push(tag.number),
            tag::END_GROUP if open.pop() != Some(tag.number) => return Err(Why::GroupEnd.at(at)),
            _ => {}
        }
        if open.is_empty() {
            return Ok(GroupEnd { payload: at, field: tag.end });
        }
        if open.len() > MAX_GROUP_DEPTH {
            return Err(Why::GroupDepth.at(at));
        }
        at = after_value(bytes, tag)?;
    }
}

/// The offset behind a field's value. A group's tags stand for themselves.
fn after_value(bytes: &[u8], tag: Tag) -> Result<usize, Malformed> {
    match tag.wire {
        tag::VARINT => varint::read(bytes, tag.end).map(|varint| varint.end),
        tag::FIXED64 => tag::skip(bytes, tag.end, 8),
        tag::FIXED32 => tag::skip(bytes, tag.end, 4),
        tag::LEN => {
            let len = varint::read(bytes, tag.end)?;
            tag::skip(bytes, len.end, len.value)
        }
        _ => Ok(tag.end),
    }
}
