//! Header tables, typed as AMQP 0-9-1 types them, so that what came in can go out again unchanged.

/// One value of a header table.
///
/// The variants are those RabbitMQ reads and writes
/// (<https://www.rabbitmq.com/docs/amqp-0-9-1-errata#section_3>). Floating point numbers are kept as their bits: a
/// NaN has to come back as the same NaN.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FieldValue {
    /// True or false.
    Boolean(bool),
    /// 8 bits with a sign.
    ShortShortInt(i8),
    /// 8 bits.
    ShortShortUInt(u8),
    /// 16 bits with a sign.
    ShortInt(i16),
    /// 16 bits.
    ShortUInt(u16),
    /// 32 bits with a sign.
    LongInt(i32),
    /// 32 bits.
    LongUInt(u32),
    /// 64 bits with a sign.
    LongLongInt(i64),
    /// The bits of an IEEE 754 single.
    Float(u32),
    /// The bits of an IEEE 754 double.
    Double(u64),
    /// `value` divided by ten to the power of `scale`.
    Decimal {
        /// How many digits stand behind the point.
        scale: u8,
        /// All digits.
        value: u32,
    },
    /// Bytes that are meant to be text, but need not be UTF-8.
    LongString(Vec<u8>),
    /// Values of any types, in order.
    Array(Vec<FieldValue>),
    /// Seconds since the Unix epoch.
    Timestamp(u64),
    /// A table within a table.
    Table(FieldTable),
    /// Bytes that are not meant to be text.
    ByteArray(Vec<u8>),
    /// No value.
    Void,
}

impl FieldValue {
    /// A string value.
    pub fn string(text: impl Into<String>) -> Self {
        Self::LongString(text.into().into_bytes())
    }

    /// The text of a string value; `None` for other types and for what is not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::LongString(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Any whole number, whatever its width: clients narrow and widen them at will.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::ShortShortInt(n) => Some(n.into()),
            Self::ShortShortUInt(n) => Some(n.into()),
            Self::ShortInt(n) => Some(n.into()),
            Self::ShortUInt(n) => Some(n.into()),
            Self::LongInt(n) => Some(n.into()),
            Self::LongUInt(n) => Some(n.into()),
            Self::LongLongInt(n) => Some(n),
            _ => None,
        }
    }

    /// The table of a table value.
    pub fn as_table(&self) -> Option<&FieldTable> {
        match self {
            Self::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The values of an array.
    pub fn as_array(&self) -> Option<&[FieldValue]> {
        match self {
            Self::Array(values) => Some(values),
            _ => None,
        }
    }
}

/// A header table: names and values, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldTable(Vec<(String, FieldValue)>);

impl FieldTable {
    /// The value of a name; the first one where a name stands twice.
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The text of a name's value, if it is one.
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(FieldValue::as_str)
    }

    /// Sets `name`, in place of what stood there.
    pub fn set(&mut self, name: &str, value: FieldValue) {
        self.remove_where(|key| key == name);
        self.0.push((name.to_owned(), value));
    }

    /// Sets `name` where it stands or, where it is new, before the first name that is greater: in a table that is in
    /// order by its names it leaves that order.
    pub fn put(&mut self, name: &str, value: FieldValue) {
        let stands = self.0.iter().position(|(key, _)| key == name);
        let place = stands.or_else(|| self.0.iter().position(|(key, _)| key.as_str() > name)).unwrap_or(self.0.len());
        // None of that name stands before this place, so it stays the same.
        self.remove_where(|key| key == name);
        self.0.insert(place, (name.to_owned(), value));
    }

    /// Gives `name` another value where it stands, if it does.
    pub fn replace(&mut self, name: &str, value: FieldValue) {
        if let Some((_, old)) = self.0.iter_mut().find(|(key, _)| key == name) {
            *old = value;
        }
    }

    /// Removes each name that is `unwanted`.
    pub fn remove_where(&mut self, unwanted: impl Fn(&str) -> bool) {
        self.0.retain(|(key, _)| !unwanted(key));
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FieldValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, FieldValue)> for FieldTable {
    fn from_iter<I: IntoIterator<Item = (String, FieldValue)>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}

impl IntoIterator for FieldTable {
    type Item = (String, FieldValue);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_a_value_where_it_belongs() {
        let check = |before: &[&str], name: &str, after: &[&str]| {
            let mut table: FieldTable = before.iter().map(|name| ((*name).to_owned(), FieldValue::Void)).collect();
            table.put(name, FieldValue::string("new"));
            let names: Vec<&str> = table.iter().map(|(name, _)| name).collect();
            assert_eq!((names.as_slice(), table.get_str(name)), (after, Some("new")), "{before:?}");
        };
        check(&[], "b", &["b"]);
        check(&["a", "c"], "b", &["a", "b", "c"]);
        check(&["a", "b", "c"], "b", &["a", "b", "c"]);
        check(&["c", "b", "a", "b"], "b", &["c", "b", "a"]);
        check(&["a"], "b", &["a", "b"]);
    }
}
