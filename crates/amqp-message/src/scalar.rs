//! Header values that people read and type as one text.

use std::str::FromStr;

use crate::{field::FieldValue, word_enum};

word_enum! {
    /// The type of such a value, by the word it has in [`json`](crate::json); a long string is `text`.
    ScalarType, "type of a header" {
        /// A string in UTF-8.
        Text = "text",
        /// `true` or `false`.
        Boolean = "bool",
        /// 8 bits with a sign.
        ShortShortInt = "byte",
        /// 8 bits.
        ShortShortUInt = "ubyte",
        /// 16 bits with a sign.
        ShortInt = "short",
        /// 16 bits.
        ShortUInt = "ushort",
        /// 32 bits with a sign.
        LongInt = "long",
        /// 32 bits.
        LongUInt = "ulong",
        /// 64 bits with a sign.
        LongLongInt = "longlong",
        /// IEEE 754 single.
        Float = "float",
        /// IEEE 754 double.
        Double = "double",
        /// Seconds since the Unix epoch.
        Timestamp = "timestamp",
    }
}

impl ScalarType {
    /// The type of a value, and its text; `None` of what has no text that could be typed.
    pub fn of(value: &FieldValue) -> Option<(Self, String)> {
        Some(match value {
            FieldValue::LongString(_) => (Self::Text, value.as_str()?.to_owned()),
            FieldValue::Boolean(it) => (Self::Boolean, it.to_string()),
            FieldValue::ShortShortInt(n) => (Self::ShortShortInt, n.to_string()),
            FieldValue::ShortShortUInt(n) => (Self::ShortShortUInt, n.to_string()),
            FieldValue::ShortInt(n) => (Self::ShortInt, n.to_string()),
            FieldValue::ShortUInt(n) => (Self::ShortUInt, n.to_string()),
            FieldValue::LongInt(n) => (Self::LongInt, n.to_string()),
            FieldValue::LongUInt(n) => (Self::LongUInt, n.to_string()),
            FieldValue::LongLongInt(n) => (Self::LongLongInt, n.to_string()),
            FieldValue::Float(bits) => (Self::Float, f32::from_bits(*bits).to_string()),
            FieldValue::Double(bits) => (Self::Double, f64::from_bits(*bits).to_string()),
            FieldValue::Timestamp(seconds) => (Self::Timestamp, seconds.to_string()),
            FieldValue::Decimal { .. }
            | FieldValue::Array(_)
            | FieldValue::Table(_)
            | FieldValue::ByteArray(_)
            | FieldValue::Void => return None,
        })
    }

    /// The value of this type that a text says. Spaces around a number do not count.
    ///
    /// # Errors
    /// What the type takes.
    pub fn read(self, text: &str) -> Result<FieldValue, String> {
        match self {
            Self::Text => Ok(FieldValue::string(text)),
            Self::Boolean => parse(text, "true or false").map(FieldValue::Boolean),
            Self::ShortShortInt => parse(text, "a whole number from -128 to 127").map(FieldValue::ShortShortInt),
            Self::ShortShortUInt => parse(text, "a whole number from 0 to 255").map(FieldValue::ShortShortUInt),
            Self::ShortInt => parse(text, "a whole number from -32768 to 32767").map(FieldValue::ShortInt),
            Self::ShortUInt => parse(text, "a whole number from 0 to 65535").map(FieldValue::ShortUInt),
            Self::LongInt => parse(text, "a whole number of 32 bits, with or without a sign").map(FieldValue::LongInt),
            Self::LongUInt => parse(text, "a whole number of 32 bits without a sign").map(FieldValue::LongUInt),
            Self::LongLongInt => {
                parse(text, "a whole number of 64 bits, with or without a sign").map(FieldValue::LongLongInt)
            }
            Self::Float => parse(text, "a number").map(|n: f32| FieldValue::Float(n.to_bits())),
            Self::Double => parse(text, "a number").map(|n: f64| FieldValue::Double(n.to_bits())),
            Self::Timestamp => parse(text, "seconds since 1970, in digits").map(FieldValue::Timestamp),
        }
    }
}

fn parse<T: FromStr>(text: &str, takes: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is not what its type takes: {takes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_as_the_same_value() {
        let values = [
            FieldValue::string(" a\nb"),
            FieldValue::Boolean(true),
            FieldValue::ShortShortInt(i8::MIN),
            FieldValue::ShortShortUInt(u8::MAX),
            FieldValue::ShortInt(i16::MIN),
            FieldValue::ShortUInt(u16::MAX),
            FieldValue::LongInt(i32::MIN),
            FieldValue::LongUInt(u32::MAX),
            FieldValue::LongLongInt(i64::MIN),
            FieldValue::Float(0.1_f32.to_bits()),
            FieldValue::Double(f64::MIN_POSITIVE.to_bits()),
            FieldValue::Timestamp(u64::MAX),
        ];
        assert_eq!(values.len(), ScalarType::ALL.len());
        for value in values {
            let (kind, text) = ScalarType::of(&value).unwrap();
            assert_eq!(kind.read(&text), Ok(value), "{kind}");
        }
    }

    #[test]
    fn what_a_type_does_not_take_is_refused() {
        for (kind, text) in [
            (ScalarType::Boolean, "yes"),
            (ScalarType::ShortShortInt, "128"),
            (ScalarType::LongUInt, "-1"),
            (ScalarType::LongLongInt, ""),
            (ScalarType::Double, "1,5"),
        ] {
            assert!(kind.read(text).unwrap_err().contains("takes"), "{kind} {text}");
        }
        assert_eq!(ScalarType::LongInt.read(" 7 "), Ok(FieldValue::LongInt(7)));
        assert_eq!(ScalarType::of(&FieldValue::Void), None);
        assert_eq!(ScalarType::of(&FieldValue::LongString(vec![0xff])), None);
    }
}
