//! Features of editions, as far as they change the wire
//! (<https://protobuf.dev/editions/features/>, `FeatureSet` in `descriptor.proto`).

use super::options;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Explicit,
    Implicit,
    LegacyRequired,
}

/// The features in force at one place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    pub presence: Presence,
    pub enums_are_closed: bool,
    /// Lists of numbers are packed.
    pub packed: bool,
    /// Messages are written as groups.
    pub delimited: bool,
}

impl Features {
    /// The defaults of editions 2023 and 2024, which do not differ in these.
    pub const DEFAULT: Self =
        Self { presence: Presence::Explicit, enums_are_closed: false, packed: true, delimited: false };

    /// With what the options of an inner place set, whose features stand in their field `number`.
    pub fn overridden(self, options: Option<&[u8]>, number: u32) -> Self {
        const FIELD_PRESENCE: u32 = 1;
        const ENUM_TYPE: u32 = 2;
        const REPEATED_FIELD_ENCODING: u32 = 3;
        const MESSAGE_ENCODING: u32 = 5;
        let Some(options) = options else { return self };
        let set = options::message(options, number);
        Self {
            presence: match options::varint(&set, FIELD_PRESENCE) {
                Some(1) => Presence::Explicit,
                Some(2) => Presence::Implicit,
                Some(3) => Presence::LegacyRequired,
                _ => self.presence,
            },
            enums_are_closed: either(&set, ENUM_TYPE, self.enums_are_closed, 2),
            packed: either(&set, REPEATED_FIELD_ENCODING, self.packed, 1),
            delimited: either(&set, MESSAGE_ENCODING, self.delimited, 2),
        }
    }
}

/// A feature with the values 1 and 2, of which `yes` stands for true; what it was where neither is set.
fn either(set: &[u8], number: u32, before: bool, yes: u64) -> bool {
    match options::varint(set, number) {
        Some(value @ 1..=2) => value == yes,
        _ => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_set_is_overridden() {
        let check = |set: &[u8], expected| {
            let options = [&[0x0a, u8::try_from(set.len()).unwrap_or(0)], set].concat();
            assert_eq!(Features::DEFAULT.overridden(Some(&options), 1), expected, "{set:?}");
        };
        check(&[], Features::DEFAULT);
        check(&[0x08, 2], Features { presence: Presence::Implicit, ..Features::DEFAULT });
        check(&[0x08, 3], Features { presence: Presence::LegacyRequired, ..Features::DEFAULT });
        check(&[0x10, 2], Features { enums_are_closed: true, ..Features::DEFAULT });
        check(&[0x18, 2], Features { packed: false, ..Features::DEFAULT });
        check(&[0x28, 2], Features { delimited: true, ..Features::DEFAULT });
        check(&[0x28, 9], Features::DEFAULT);
        assert_eq!(Features::DEFAULT.overridden(None, 1), Features::DEFAULT);
    }
}
