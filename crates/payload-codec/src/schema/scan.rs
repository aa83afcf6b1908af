//! How many parts a set has, before anything is built from it.
//!
//! An empty field takes two bytes on the wire and a hundred times that in memory, so the parts are counted first.

use super::{
    options::{Value, each_field},
    problem::SchemaProblem,
};

/// Parts that are read at most.
const PARTS: usize = 2_000_000;
/// Levels that are followed; `prost` reads no more than 100.
const DEPTH: usize = 100;

/// Which fields of a message of `descriptor.proto` have parts of their own.
#[derive(Clone, Copy)]
struct Shape(&'static [(u32, Shape)]);

const LEAF: Shape = Shape(&[]);
const FIELD: Shape = Shape(&[(8, LEAF)]);
const ENUM: Shape = Shape(&[(2, Shape(&[(3, LEAF)])), (3, LEAF), (4, LEAF)]);
const SERVICE: Shape = Shape(&[(2, Shape(&[(4, LEAF)])), (3, LEAF)]);
/// Without the nested ones, which have the same shape.
const MESSAGE: Shape = Shape(&[
    (2, FIELD),
    (4, ENUM),
    (5, Shape(&[(3, LEAF)])),
    (6, FIELD),
    (7, LEAF),
    (8, Shape(&[(2, LEAF)])),
    (9, LEAF),
]);
const NESTED: u32 = 3;
const FILE: Shape = Shape(&[(5, ENUM), (6, SERVICE), (7, FIELD), (8, LEAF), (9, Shape(&[(1, LEAF)]))]);
const MESSAGES_OF_FILE: u32 = 4;

/// Refuses a set of more parts than anybody writes.
pub fn check(set: &[u8]) -> Result<(), SchemaProblem> {
    let mut parts = 0;
    each_field(set, |_, value| {
        if let Value::Bytes(file) = value {
            count_file(file, &mut parts);
        }
    });
    if parts <= PARTS {
        return Ok(());
    }
    let what = format!("It consists of more than {PARTS} parts, which is more than is read.");
    Err(SchemaProblem::new(what, "Leave out source information, or what no message here is made of."))
}

fn count_file(file: &[u8], parts: &mut usize) {
    count(file, FILE, parts);
    each_field(file, |number, value| match value {
        Value::Bytes(message) if number == MESSAGES_OF_FILE => count_message(message, parts, 0),
        _ => {}
    });
}

fn count_message(message: &[u8], parts: &mut usize, depth: usize) {
    if depth > DEPTH || *parts > PARTS {
        return;
    }
    count(message, MESSAGE, parts);
    each_field(message, |number, value| match value {
        Value::Bytes(nested) if number == NESTED => count_message(nested, parts, depth + 1),
        _ => {}
    });
}

fn count(message: &[u8], shape: Shape, parts: &mut usize) {
    if *parts > PARTS {
        return;
    }
    each_field(message, |number, value| {
        *parts += 1;
        let inner = shape.0.iter().find(|(of, _)| *of == number);
        if let (Some((_, shape)), Value::Bytes(bytes)) = (inner, value) {
            count(bytes, *shape, parts);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_parts_are_too_many() {
        let delimited = |tag: u8, inner: &[u8]| {
            let mut bytes = vec![tag];
            prost::encoding::encode_varint(inner.len() as u64, &mut bytes);
            bytes.extend_from_slice(inner);
            bytes
        };
        let set = |fields: usize| delimited(0x0a, &delimited(0x22, &[0x12, 0].repeat(fields)));
        assert_eq!(check(&set(1_000)), Ok(()));
        assert!(check(&set(PARTS + 1)).is_err());
        let nested = (0..5_000).fold(Vec::new(), |inner, _| delimited(0x1a, &inner));
        assert_eq!(check(&delimited(0x0a, &delimited(0x22, &nested))), Ok(()), "it ends");
    }
}
