//! What the name of a field of text lets one expect.

/// The kind of text a name speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextMeaning {
    Any,
    Email,
    Phone,
    Url,
    Uuid,
    Ip,
    Address,
    Host,
    Country,
    Currency,
    Locale,
    TimeZone,
    Region,
    Hash,
    Token,
    Mime,
    Version,
    Date,
    Amount,
    Json,
    Prose,
    Person,
    Path,
    Resource,
    Type,
    Id,
    Name,
    Filter,
    UserAgent,
}

use TextMeaning::*;

/// A name that has one of the words, wherever, or ends with one of the last words, means this. The first rule counts.
struct Rule(TextMeaning, &'static [&'static str], &'static [&'static str]);

const RULES: &[Rule] = &[
    Rule(Email, &["email", "mail"], &[]),
    Rule(Phone, &["phone", "msisdn"], &[]),
    Rule(Url, &["url", "uri", "link", "href", "webhook", "endpoint", "avatar", "icon"], &[]),
    Rule(Uuid, &["uuid", "guid"], &[]),
    Rule(Ip, &["ip", "ipv", "addr"], &[]),
    Rule(Address, &["address"], &[]),
    Rule(Host, &["host", "hostname", "domain", "fqdn", "authority", "dns"], &[]),
    Rule(Country, &["country"], &[]),
    Rule(Currency, &["currency", "denom"], &[]),
    Rule(Locale, &["lang", "language", "locale"], &[]),
    Rule(TimeZone, &["timezone", "tz"], &[]),
    Rule(Region, &["region", "zone", "location", "datacenter"], &[]),
    Rule(Hash, &["sha", "hash", "digest", "checksum", "fingerprint", "etag", "md", "commit", "txhash"], &[]),
    Rule(Token, &["token", "secret", "password", "cursor", "signature", "credential", "nonce"], &[]),
    Rule(Mime, &["mime", "mimetype"], &[]),
    Rule(Version, &[], &["version", "revision"]),
    Rule(Date, &["date", "birthday"], &["at", "time", "timestamp"]),
    Rule(Amount, &["price", "amount", "quantity", "balance", "margin", "fee", "funds", "volume"], &[]),
    Rule(Json, &["json", "manifest", "schema", "payload"], &[]),
    Rule(
        Prose,
        &[
            "description",
            "message",
            "body",
            "text",
            "comment",
            "reason",
            "summary",
            "note",
            "notes",
            "detail",
            "details",
            "error",
            "title",
            "subject",
            "caption",
            "content",
            "query",
        ],
        &[],
    ),
    Rule(Person, &["author", "owner", "creator", "assignee"], &["by"]),
    Rule(Path, &["path", "file", "filename", "dir", "directory", "filepath"], &[]),
    Rule(Resource, &["parent", "resource", "topic", "subscription", "project", "instance", "bucket"], &[]),
    Rule(
        Type,
        &["type", "kind", "category", "status", "state", "level", "mode", "op", "method", "protocol", "format"],
        &[],
    ),
    Rule(Id, &[], &["id", "ids", "key", "ref", "sid", "identifier", "number", "serial"]),
    Rule(
        Name,
        &[],
        &[
            "name",
            "names",
            "label",
            "labels",
            "tag",
            "tags",
            "queue",
            "namespace",
            "cluster",
            "service",
            "table",
            "column",
            "group",
            "role",
        ],
    ),
    Rule(Filter, &["regex", "pattern", "filter", "expression", "condition"], &[]),
];

/// Two words that together say more than each alone.
const PAIRS: &[(TextMeaning, &[&str], &str)] = &[
    (TimeZone, &["time"], "zone"),
    (Mime, &["content"], "type"),
    (UserAgent, &["user"], "agent"),
    (Person, &["first", "given", "last", "family", "full", "display"], "name"),
];

impl TextMeaning {
    pub const COUNT: usize = UserAgent as usize + 1;

    /// What a name of these words means. In the packages of Google `name` is the path of a resource
    /// (<https://google.aip.dev/122>).
    pub fn of(words: &[String], package: &str) -> Self {
        let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
        let last = words.last().map(String::as_str).unwrap_or_default();
        if let Some((meaning, ..)) = PAIRS.iter().find(|(_, first, second)| has(first) && has(&[second])) {
            return *meaning;
        }
        if words.len() == 1 && last == "name" && package.starts_with("google.") {
            return Resource;
        }
        let fits = |rule: &&Rule| has(rule.1) || rule.2.contains(&last);
        // The id of a link is no link.
        RULES.iter().filter(fits).map(|rule| rule.0).find(|meaning| *meaning != Url || last != "id").unwrap_or(Any)
    }
}
