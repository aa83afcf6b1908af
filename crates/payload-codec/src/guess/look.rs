//! What a text looks like, whatever field it stands in.

/// The shape of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Look {
    Other,
    Email,
    Phone,
    Url,
    Uuid,
    Ip,
    Host,
    TwoCapitals,
    ThreeCapitals,
    Locale,
    TimeZone,
    Region,
    Hex,
    Base64,
    Mime,
    Version,
    Date,
    Integer,
    Decimal,
    Json,
    Sentence,
    Person,
    Capitalized,
    Path,
    Resource,
    Slug,
    Word,
    Constant,
    Identifier,
    Empty,
    Dotted,
    Bech32,
}

use Look::*;

impl Look {
    pub const COUNT: usize = Bech32 as usize + 1;

    /// The look in words, with an article: "an email address".
    pub fn in_words(self) -> &'static str {
        match self {
            Other => "text of no known form",
            Email => "an email address",
            Phone => "a phone number",
            Url => "a URL",
            Uuid => "a UUID",
            Ip => "an IP address",
            Host => "a host name",
            TwoCapitals => "a country code",
            ThreeCapitals => "a code of three capitals, as of a currency",
            Locale => "a language tag",
            TimeZone => "a time zone",
            Region => "a cloud region",
            Hex => "a number in hexadecimal",
            Base64 => "base64 or a token",
            Mime => "a media type",
            Version => "a version",
            Date => "a date or time",
            Integer => "a whole number",
            Decimal => "a decimal number",
            Json => "JSON",
            Sentence => "a sentence",
            Person => "a person's name",
            Capitalized => "a capitalized word",
            Path => "a path",
            Resource => "a resource name",
            Slug => "a slug",
            Word => "a word",
            Constant => "a name in capitals",
            Identifier => "an identifier",
            Empty => "an empty text",
            Dotted => "a dotted name",
            Bech32 => "a Bech32 address",
        }
    }

    /// Classifies by the characters alone. Cheap rather than exact: a false look costs a few nats.
    pub fn of(text: &str) -> Self {
        let text = Sketch::of(text);
        let rules = [marked, coded, numeric, short, separated, worded];
        rules.into_iter().find_map(|rule| rule(&text)).unwrap_or(Other)
    }
}

/// A text and how many characters of each sort it has, in bytes.
struct Sketch<'a> {
    text: &'a str,
    len: usize,
    first: u8,
    last: u8,
    lower: usize,
    upper: usize,
    digits: usize,
    /// The letters a to f.
    hex_letters: usize,
    spaces: usize,
    slashes: usize,
    dashes: usize,
    underscores: usize,
    dots: usize,
    ats: usize,
    colons: usize,
    others: usize,
}

/// A longer text is told by its beginning.
const MAX_LEN: usize = 4096;

impl<'a> Sketch<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.get(..text.floor_char_boundary(MAX_LEN)).unwrap_or(text);
        let edge = |byte: Option<u8>| byte.unwrap_or_default();
        let (first, last) = (edge(text.bytes().next()), edge(text.bytes().next_back()));
        let mut seen = [0; 11];
        for byte in text.bytes() {
            if let Some(count) = seen.get_mut(usize::from(SORTS[usize::from(byte)])) {
                *count += 1;
            }
        }
        let [abc, later, upper, digits, spaces, slashes, dashes, underscores, dots, ats, colons] = seen;
        let (len, lower) = (text.len(), abc + later);
        let others = len - seen.iter().sum::<usize>();
        Self {
            text,
            len,
            first,
            last,
            lower,
            upper,
            digits,
            hex_letters: abc,
            spaces,
            slashes,
            dashes,
            underscores,
            dots,
            ats,
            colons,
            others,
        }
    }

    fn starts_with_any(&self, prefixes: &[&str]) -> bool {
        prefixes.iter().any(|prefix| self.text.starts_with(prefix))
    }

    fn has_dash_at(&self, places: &[usize]) -> bool {
        places.iter().all(|&at| self.text.as_bytes().get(at) == Some(&b'-'))
    }
}

/// The sort of each byte, as an index into the counts of [`Sketch::of`]; 11 for all others.
const SORTS: [u8; 256] = {
    let mut sorts = [11; 256];
    let mut byte = 0;
    while byte < 256 {
        sorts[byte] = match byte as u8 {
            b'a'..=b'f' => 0,
            b'g'..=b'z' => 1,
            b'A'..=b'Z' => 2,
            b'0'..=b'9' => 3,
            b' ' => 4,
            b'/' => 5,
            b'-' => 6,
            b'_' => 7,
            b'.' => 8,
            b'@' => 9,
            b':' => 10,
            _ => 11,
        };
        byte += 1;
    }
    sorts
};

/// What a mark gives away.
fn marked(t: &Sketch) -> Option<Look> {
    if t.len == 0 {
        return Some(Empty);
    }
    let is_json = t.len > 1 && matches!((t.first, t.last), (b'{', b'}') | (b'[', b']'));
    let is_date = t.len >= 10 && t.digits >= 6 && t.dashes == 2 && t.has_dash_at(&[4, 7]);
    match () {
        () if is_json => Some(Json),
        () if t.ats == 1 && t.spaces == 0 && t.dots >= 1 && t.first != b'@' => Some(Email),
        () if t.spaces == 0 && t.text.contains("://") => Some(Url),
        () if t.len == 36 && t.dashes == 4 && t.has_dash_at(&[8, 13, 18, 23]) => Some(Uuid),
        () if t.first == b'+' && t.digits >= 7 && t.digits + 1 == t.len => Some(Phone),
        () if is_date => Some(Date),
        () => None,
    }
}

/// Digits, with what belongs between them.
fn numeric(t: &Sketch) -> Option<Look> {
    let is_ipv4 = t.dots == 3 && t.digits + t.dots == t.len && t.len <= 15;
    let is_ipv6 = (t.colons > 2 || t.text.contains("::")) && t.digits + t.hex_letters + t.colons == t.len;
    let is_decimal = t.digits > 0 && t.dots == 1;
    let is_version = t.dots >= 1 && t.digits >= 2 && t.digits + t.dots + 1 >= t.len;
    match () {
        () if t.digits == t.len => Some(Integer),
        () if is_ipv4 || is_ipv6 => Some(Ip),
        () if is_decimal && (t.digits + 1 == t.len || t.first == b'-' && t.digits + 2 == t.len) => Some(Decimal),
        () if is_version && (t.first == b'v' || t.first.is_ascii_digit()) => Some(Version),
        () => None,
    }
}

/// Long runs of digits and letters.
fn coded(t: &Sketch) -> Option<Look> {
    let is_hex = t.digits > 0 && t.digits < t.len && t.digits + t.hex_letters == t.len;
    let is_prefixed_hex = t.len >= 34 && t.text.starts_with("0x");
    ((t.len >= 16 && is_hex) || is_prefixed_hex).then_some(Hex)
}

/// Codes of two, three or five letters.
fn short(t: &Sketch) -> Option<Look> {
    match t.len {
        3 if t.text == "UTC" => Some(TimeZone),
        2 if t.upper == 2 => Some(TwoCapitals),
        3 if t.upper == 3 => Some(ThreeCapitals),
        2 if t.lower == 2 => Some(Locale),
        5 if t.lower == 2 && t.upper == 2 && t.dashes + t.underscores == 1 => Some(Locale),
        _ => None,
    }
}

const MEDIA: &[&str] = &["application/", "text/", "image/", "video/", "audio/", "multipart/"];
const CONTINENTS: &[&str] = &["us-", "eu-", "europe-", "ap-", "asia-"];

/// Parts with slashes or spaces between them.
fn separated(t: &Sketch) -> Option<Look> {
    let is_pair = t.slashes == 1 && t.spaces == 0 && t.len > 6;
    match () {
        () if is_pair && t.starts_with_any(MEDIA) => Some(Mime),
        () if is_pair && t.first.is_ascii_uppercase() => Some(TimeZone),
        () if t.first == b'/' => Some(Path),
        () if t.slashes >= 2 && t.spaces == 0 => Some(Resource),
        () if t.spaces == 1 && t.upper == 2 && t.first.is_ascii_uppercase() => Some(Person),
        () if t.spaces >= 1 => Some(Sentence),
        () => None,
    }
}

/// One word, or some with dashes, dots or underscores between them.
fn worded(t: &Sketch) -> Option<Look> {
    let plain = t.others == 0;
    let is_region = t.dashes >= 1 && (1..=2).contains(&t.digits) && t.upper == 0 && t.lower > 4;
    let is_bech32 = t.len > 30 && t.lower > 10 && t.digits > 5 && t.lower + t.digits == t.len;
    let is_mixed = t.upper >= 2 && t.lower >= 2 && t.digits >= 1 && t.len >= 14;
    match () {
        () if plain && is_region && t.last.is_ascii_digit() && t.starts_with_any(CONTINENTS) => Some(Region),
        () if is_bech32 => Some(Bech32),
        () if plain && is_mixed => Some(Base64),
        () if t.len >= 20 && t.upper > 5 && t.digits > 2 && t.lower == 0 => Some(Identifier),
        () if plain && t.ats == 0 && t.dots >= 1 && t.lower > 3 && t.underscores == 0 && t.upper == 0 => {
            Some(if t.len > 8 { Host } else { Dotted })
        }
        () if t.upper >= 2 && t.lower == 0 => Some(Constant),
        () if t.lower == t.len => Some(Word),
        () if t.upper == 1 && t.lower + 1 == t.len && t.first.is_ascii_uppercase() => Some(Capitalized),
        () if plain && t.dashes >= 1 && t.lower > 0 && t.upper == 0 => Some(Slug),
        () if t.underscores + t.digits >= 1 => Some(Identifier),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Look) {
        assert_eq!(Look::of(text), expected, "{text:?}");
    }

    #[test]
    fn tells_texts_with_marks() {
        check("", Empty);
        check(r#"{"a":1}"#, Json);
        check("[]", Json);
        check("ann@example.org", Email);
        check("@handle.x", Other);
        check("https://example.org/a?b=c", Url);
        check("0525af50-e6e9-4d58-b5ab-af0b98531052", Uuid);
        check("+15847057099", Phone);
        check("2024-05-01", Date);
        check("2024-05-01T10:00:00Z", Date);
    }

    #[test]
    fn tells_numbers() {
        check("4624", Integer);
        check("12.50", Decimal);
        check("-12.50", Decimal);
        check("v1.2.3", Version);
        check("10.2.33", Version);
        check("214.105.42.245", Ip);
        check("fe80::1", Ip);
        check("9f86d081884c7d659a2feaa0c55ad015", Hex);
        check("12345678901234567890", Integer);
    }

    #[test]
    fn tells_words() {
        check("DE", TwoCapitals);
        check("EUR", ThreeCapitals);
        check("UTC", TimeZone);
        check("Europe/Berlin", TimeZone);
        check("en", Locale);
        check("en-US", Locale);
        check("application/json", Mime);
        check("europe-west1", Region);
        check("/var/log/syslog", Path);
        check("projects/p/topics/t", Resource);
        check("Ann Smith", Person);
        check("it was left with a neighbour", Sentence);
        check("core-raven-ember-98", Slug);
        check("raven", Word);
        check("Raven", Capitalized);
        check("IN_PROGRESS", Constant);
        check("user_17", Identifier);
        check("mail.example.org", Host);
        check("cosmos1pel96zq6j3a8qatszx86yffzrkxz5km6en5n", Bech32);
        check("aGVsbG8gV29ybGQh9", Base64);
        check("日本", Other);
    }

    #[test]
    fn looks_only_at_the_beginning_of_long_texts() {
        check(&"ä".repeat(MAX_LEN), Other);
        check(&"a".repeat(10 * MAX_LEN), Word);
    }
}
