use super::*;

#[test]
fn splits_names_into_words() {
    fn check(name: &str, expected: &[&str]) {
        assert_eq!(words(name), expected, "{name}");
    }
    check("user_ids", &["user", "ids"]);
    check("userIds", &["user", "ids"]);
    check("acme.texts.v1.MessageSent", &["acme", "texts", "v", "message", "sent"]);
    check("orders-dlq", &["orders", "dlq"]);
    check("HTTPPort", &["httpport"]);
    check("__", &[]);
}

#[test]
fn knows_what_text_names_mean() {
    fn check(name: &str, expected: TextMeaning) {
        assert_eq!(TextMeaning::of(&words(name), "acme.v1"), expected, "{name}");
    }
    check("email", TextMeaning::Email);
    check("reply_to_email", TextMeaning::Email);
    check("callback_url", TextMeaning::Url);
    check("link_id", TextMeaning::Id);
    check("content_type", TextMeaning::Mime);
    check("time_zone", TextMeaning::TimeZone);
    check("user_agent", TextMeaning::UserAgent);
    check("display_name", TextMeaning::Person);
    check("name", TextMeaning::Name);
    check("created_by", TextMeaning::Person);
    check("frobnicator", TextMeaning::Any);
    assert_eq!(TextMeaning::of(&words("name"), "google.pubsub.v1"), TextMeaning::Resource);
}

#[test]
fn knows_what_number_names_mean() {
    fn check(name: &str, expected: NumberMeaning) {
        assert_eq!(NumberMeaning::of(&words(name)), expected, "{name}");
    }
    check("latitude", NumberMeaning::Coordinate);
    check("created_at", NumberMeaning::Time);
    check("event_time_ms", NumberMeaning::Time);
    check("timeout_ms", NumberMeaning::Duration);
    check("http_status", NumberMeaning::Code);
    check("day", NumberMeaning::Calendar);
    check("size_bytes", NumberMeaning::Size);
    check("frobs", NumberMeaning::Any);
}
