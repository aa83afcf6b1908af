//! What an edit makes of a message, and whether that could be sent.
//!
//! An edit that would not reach its consumer as it was meant is refused and not made in silence.

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::{Message, Properties},
};
use failure_conventions::{self, inner_body::InnerBodies};

use crate::{
    domain::{
        command::Refusal,
        content_key::ContentKey,
        edit::{Edit, EditPart, HeaderEdit, Property, PropertyEdit},
        letter::LetterId,
        retry_limits::RetryLimits,
    },
    rabbitmq::outgoing,
    store::{EditedMessage, Original},
};

/// Whether an edit leaves a message as it is. An expiration goes out with a copy only where the edit names it.
pub(crate) fn changes_nothing(edit: &Edit, message: &Message) -> bool {
    let header_is_there = |header: &HeaderEdit| match header {
        HeaderEdit::Set { name, value } => message.headers.get(name) == Some(value),
        HeaderEdit::Remove { .. } => false,
    };
    let property_is_there = |edit: &PropertyEdit| {
        !names_expiration(edit) && edit.property().of(&message.properties).as_deref() == edit.value()
    };
    edit.body.as_ref().is_none_or(|body| *body == message.body)
        && edit.headers.iter().all(header_is_there)
        && edit.properties.iter().all(property_is_there)
}

fn names_expiration(edit: &PropertyEdit) -> bool {
    edit.property() == Property::Expiration && edit.value().is_some()
}

/// The message of the letter `copy`, which is to go out in the place of `original`.
pub(crate) fn apply(
    edit: &Edit,
    original: &Original<'_>,
    copy: LetterId,
    limits: &RetryLimits,
) -> Result<EditedMessage, Refusal> {
    limits.targets.check(original.target).or_else(|why| unfit_part(EditPart::Queue, why))?;
    let bodies = &limits.bodies;
    let mut message = original.message.clone();
    if let Some(body) = &edit.body {
        message.body.clone_from(body);
    }
    for header in &edit.headers {
        change(&mut message, header)?;
    }
    edit.properties.iter().for_each(|property| property.apply(&mut message.properties));
    // An expiration goes out with a copy, and so only that which the edit names.
    if !edit.properties.iter().any(names_expiration) {
        message.properties.expiration = None;
    }
    let (before, account) = (failure_conventions::read(original.message), failure_conventions::read(&message));
    check_framework(before.framework, account.framework)?;
    let danger = account.failure.danger;
    if let Some(danger) = limits.danger(danger, original.failed_queue) {
        if before.failure.danger == Some(danger) {
            return Err(Refusal::Dangerous(danger));
        }
        return unfit(format!("with this edit {}", danger.clause()));
    }
    let clean = failure_conventions::clean(message.clone(), bodies).map_err(Refusal::Dangerous)?;
    let expiration = outgoing::expiration_of_copy(&message, &clean);
    let mut outgoing = outgoing::outgoing(copy, clean, original.failed_queue, original.target, original.count);
    outgoing.properties.expiration = expiration;
    outgoing::check(&outgoing).map_err(Refusal::Unfit)?;
    edit.headers.iter().try_for_each(|header| check_arrives(&outgoing, header))?;
    edit.properties.iter().try_for_each(|property| check_property(&outgoing, property))?;
    let (content, id_key) = (ContentKey::of(&message, &account), ContentKey::of_id(&message));
    Ok(EditedMessage { message, message_type: account.failure.message_type, content, id_key, danger })
}

/// Why a header is none.
pub const NAMELESS: &str = "a header has to have a name";

/// Whether a header of a message can be changed so.
///
/// # Errors
/// Why not, in words.
pub fn check_header(message: &Message, header: &HeaderEdit) -> Result<(), String> {
    let name = header.name();
    if name.is_empty() {
        return Err(NAMELESS.to_owned());
    }
    if outgoing::takes_over(name) {
        return Err(format!("the header {name} is not for editing: a retry takes it off or writes it anew"));
    }
    if matches!(header, HeaderEdit::Remove { .. }) && message.headers.get(name).is_none() {
        return Err(format!("the header {name} cannot be removed: the message has none of that name"));
    }
    Ok(())
}

fn change(message: &mut Message, header: &HeaderEdit) -> Result<(), Refusal> {
    check_header(message, header).or_else(|why| unfit_part(EditPart::of(header), why))?;
    match header {
        HeaderEdit::Set { name, value } => message.headers.put(name, value.clone()),
        HeaderEdit::Remove { name } => message.headers.remove_where(|key| key == name),
    }
    Ok(())
}

/// Which headers and properties of a message can be edited so that it arrives.
pub struct EditReach {
    properties: Properties,
    /// Whether others come in the place of its properties when it goes back.
    replaces_properties: bool,
    /// Those it has, and one that is new.
    headers: FieldTable,
    /// What a retry makes of them; `None` where there is none.
    outgoing: Option<FieldTable>,
    framework: Option<&'static str>,
    /// The stack trace that it has recorded.
    trace: Option<String>,
    /// Headers that repeat what is hidden in the body.
    hidden: Vec<String>,
}

/// A header that no message has yet, to see whether such a one goes out.
const NEW: &str = "\0new";

impl EditReach {
    pub(crate) fn new(message: &Message, bodies: &InnerBodies) -> Self {
        let mut message = message.clone();
        message.headers.put(NEW, FieldValue::Void);
        let headers = message.headers.clone();
        let account = failure_conventions::read(&message);
        let (framework, trace) = (account.framework, account.failure.error.and_then(|error| error.stacktrace));
        let properties = message.properties.clone();
        let clean = failure_conventions::clean(message, bodies).ok();
        let replaces_properties = clean.as_ref().is_some_and(|clean| clean.properties != properties);
        let outgoing = clean.map(|clean| clean.headers);
        Self { properties, replaces_properties, headers, outgoing, framework, trace, hidden: Vec::new() }
    }

    /// Without these headers, which repeat what is hidden.
    #[must_use]
    pub fn without_hidden(self, hidden: Vec<String>) -> Self {
        Self { hidden, ..self }
    }

    /// Those that the message has.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &FieldValue)> {
        self.headers.iter().filter(|(name, _)| *name != NEW)
    }

    /// Why this header is not for editing, whatever it is to be.
    pub fn why_not(&self, name: &str) -> Option<String> {
        if self.hidden.iter().any(|hidden| hidden == name) {
            return Some("it repeats values that are hidden".to_owned());
        }
        if outgoing::takes_over(name) {
            return Some("a retry takes it off or writes it anew".to_owned());
        }
        if self.is_trace(name) {
            return Some("it says where the message failed".to_owned());
        }
        let outgoing = self.outgoing.as_ref()?;
        let goes_out = |name| outgoing.get(name) == self.headers.get(name);
        // Where a new one does not go out, others come in the place of all that there are.
        if goes_out(NEW) && goes_out(name) {
            return None;
        }
        Some(self.comes_from_before())
    }

    fn is_trace(&self, name: &str) -> bool {
        let recorded = self.headers.get_str(name).map(str::trim);
        self.trace.as_deref().is_some_and(|trace| recorded.is_some_and(|text| text == trace.trim()))
    }

    /// Of a letter whose expiration never goes out.
    pub(crate) fn without_expiration(mut self) -> Self {
        self.properties.expiration = None;
        self
    }

    /// What the message has of a property that a retry would send.
    pub fn property(&self, property: Property) -> Option<String> {
        property.of(&self.properties)
    }

    /// Why its properties are not for editing.
    pub fn why_no_properties(&self) -> Option<String> {
        self.replaces_properties.then(|| self.comes_from_before())
    }

    fn comes_from_before(&self) -> String {
        let framework = self.framework.map_or("its framework", named);
        format!("what goes back is the message as it was before {framework} gave it up")
    }

    /// Why there can be no new headers.
    pub fn why_none_new(&self) -> Option<String> {
        self.why_not(NEW)
    }
}

/// Headers that anybody may write are nobody's name.
fn named(framework: &str) -> &str {
    if framework.starts_with("x-") { "its service" } else { framework }
}

/// What a framework has wrapped or marked has to stay so, or its marks would go out to the consumer.
fn check_framework(before: Option<&'static str>, after: Option<&'static str>) -> Result<(), Refusal> {
    match (before, after) {
        (before, after) if before == after => Ok(()),
        (Some(framework), _) => unfit(format!(
            "with this edit the message is no longer one that {0} has given up, and what {0} added \
             would go back to its consumer; keep the encoding and the headers by which it is known",
            named(framework)
        )),
        (None, after) => unfit(format!(
            "with this edit the message looks like one that {} has given up, and would be changed before it goes back",
            after.map(named).unwrap_or_default()
        )),
    }
}

fn check_arrives(outgoing: &Message, header: &HeaderEdit) -> Result<(), Refusal> {
    let name = header.name();
    let is_as_meant = match header {
        HeaderEdit::Set { value, .. } => outgoing.headers.get(name) == Some(value),
        HeaderEdit::Remove { .. } => outgoing.headers.get(name).is_none(),
    };
    if is_as_meant {
        return Ok(());
    }
    let why = format!(
        "the edit of the header {name} would not arrive: what leaves is the message as it was before its framework gave \
         it up"
    );
    unfit_part(EditPart::of(header), why)
}

fn check_property(outgoing: &Message, edit: &PropertyEdit) -> Result<(), Refusal> {
    let property = edit.property();
    if property.of(&outgoing.properties).as_deref() == edit.value() {
        return Ok(());
    }
    let why = format!(
        "the edit of the property {property} would not arrive: what leaves is the message as it was before its framework \
         gave it up"
    );
    unfit_part(EditPart::Property(property), why)
}

fn unfit_part(part: EditPart, why: String) -> Result<(), Refusal> {
    Err(Refusal::UnfitPart { part, why })
}

fn unfit<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Unfit(why.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use failure_conventions::{FailureCount, danger::Danger};

    const COUNT: FailureCount = FailureCount { attempts: 3, rounds: 3 };
    const COPY: &str = "019a8b7c-0000-7000-8000-000000000002";

    fn message(body: &str, headers: &[(&str, &str)]) -> Message {
        let field = |(name, value): &(&str, &str)| ((*name).to_owned(), FieldValue::string(*value));
        Message { body: body.into(), headers: headers.iter().map(field).collect(), ..Message::default() }
    }

    fn set(name: &str, value: &str) -> Edit {
        headers(vec![HeaderEdit::Set { name: name.to_owned(), value: FieldValue::string(value) }])
    }

    fn remove(name: &str) -> Edit {
        headers(vec![HeaderEdit::Remove { name: name.to_owned() }])
    }

    fn headers(headers: Vec<HeaderEdit>) -> Edit {
        Edit::of_headers(headers)
    }

    fn body(body: &str) -> Edit {
        Edit::of_body(body)
    }

    fn edited(message: &Message, edit: &Edit) -> Result<EditedMessage, Refusal> {
        let original = Original { message, failed_queue: Some("orders"), count: COUNT, target: "orders" };
        apply(edit, &original, COPY.parse().unwrap(), &RetryLimits::default())
    }

    fn check(message: &Message, edit: &Edit, expected: &Message) {
        let edited = edited(message, edit).map(|edited| edited.message);
        assert_eq!(edited.as_ref(), Ok(expected), "{edit:?}");
    }

    fn check_refused(message: &Message, edit: &Edit, part: &str) {
        let refusal = edited(message, edit).map(|edited| edited.message).unwrap_err();
        assert!(refusal.to_string().contains(part), "{edit:?}: {refusal}");
    }

    #[test]
    fn changes_what_it_names_and_nothing_else() {
        let before = message("a", &[("tenant", "acme"), ("trace", "1")]);
        check(&before, &body("b"), &message("b", &[("tenant", "acme"), ("trace", "1")]));
        check(&before, &body(""), &message("", &[("tenant", "acme"), ("trace", "1")]));
        check(&before, &set("tenant", "other"), &message("a", &[("tenant", "other"), ("trace", "1")]));
        check(&before, &set("title", "new"), &message("a", &[("tenant", "acme"), ("title", "new"), ("trace", "1")]));
        check(&before, &remove("tenant"), &message("a", &[("trace", "1")]));
    }

    #[test]
    fn a_value_of_another_type_becomes_a_string() {
        let mut before = message("a", &[]);
        before.headers.set("version", FieldValue::LongInt(1));
        check(&before, &set("version", "1"), &message("a", &[("version", "1")]));
    }

    #[test]
    fn properties_change_and_an_expiration_goes_out_only_where_it_is_named() {
        let edit = |property, value: Option<&str>| Edit {
            properties: vec![PropertyEdit::new(property, value.map(str::to_owned)).unwrap()],
            ..Edit::default()
        };
        let mut before = message("a", &[]);
        before.properties = Properties {
            content_type: Some("text/plain".to_owned()),
            expiration: Some("1000".to_owned()),
            ..Properties::default()
        };
        let mut after = before.clone();
        after.properties = Properties { content_type: None, expiration: None, ..after.properties };
        check(&before, &edit(Property::ContentType, None), &after);
        after.properties = Properties { expiration: Some("2000".to_owned()), ..before.properties.clone() };
        check(&before, &edit(Property::Expiration, Some("2000")), &after);
        assert!(changes_nothing(&edit(Property::ContentType, Some("text/plain")), &before));
        assert!(
            !changes_nothing(&edit(Property::Expiration, Some("1000")), &before),
            "it goes out only where it is named"
        );
        // What a framework has put away comes back with its own.
        let retry_info = r#"{"properties":{"content_type":"application/json","headers":{}}}"#;
        let sneakers = message("a", &[("retry_info", retry_info)]);
        check_refused(&sneakers, &edit(Property::Type, Some("order")), "property type would not arrive");
        let reach = EditReach::new(&sneakers, &InnerBodies::default());
        assert!(reach.why_no_properties().is_some_and(|why| why.contains("gave it up")));
        assert_eq!(EditReach::new(&before, &InnerBodies::default()).why_no_properties(), None);
    }

    #[test]
    fn what_changes_nothing_is_known() {
        let before = message("a", &[("tenant", "acme")]);
        for edit in [Edit::default(), set("tenant", "acme"), body("a")] {
            assert!(changes_nothing(&edit, &before), "{edit:?}");
            check(&before, &edit, &before);
        }
        for edit in [set("tenant", "other"), set("new", "acme"), remove("tenant"), body("b")] {
            assert!(!changes_nothing(&edit, &before), "{edit:?}");
        }
        check_refused(&before, &remove("trace"), "none of that name");
    }

    #[test]
    fn what_a_retry_writes_or_takes_off_is_not_for_editing() {
        let before = message("a", &[("dlo-id", "x"), ("x-death", "x")]);
        for name in ["dlo-id", "dlo-anything", "x-death", "x-first-death-queue", "x-last-death-reason", "CC", "x-delay"]
        {
            check_refused(&before, &set(name, "y"), "not for editing");
            check_refused(&before, &remove(name), "not for editing");
        }
        check_refused(&before, &set("", "y"), "a name");
    }

    #[test]
    fn what_amqp_does_not_take_is_refused() {
        let before = message("a", &[]);
        check_refused(&before, &set(&"x".repeat(256), "y"), "256 bytes");
        check_refused(&before, &set("a", &"x".repeat(200_000)), "refuses more than");
    }

    #[test]
    fn what_a_framework_has_marked_stays_so() {
        let spring = message(
            "a",
            &[
                ("tenant", "acme"),
                ("x-exception-message", "out of stock"),
                ("x-exception-stacktrace", "org.springframework.A: no"),
                ("x-original-exchange", ""),
                ("x-original-routingKey", "orders"),
            ],
        );
        assert_eq!(failure_conventions::read(&spring).framework, Some("Spring AMQP"));
        assert!(edited(&spring, &set("tenant", "other")).is_ok());
        assert!(edited(&spring, &body("b")).is_ok());
        check_refused(&spring, &set("x-exception-message", "none"), "would not arrive");
        let marks = spring.headers.iter().map(|(name, _)| name).filter(|name| name.starts_with("x-"));
        let unmarked = marks.map(|name| HeaderEdit::Remove { name: name.to_owned() }).collect();
        check_refused(&spring, &headers(unmarked), "no longer one that Spring AMQP");
        let mark = |name: &str| HeaderEdit::Set { name: name.to_owned(), value: FieldValue::string("at m") };
        let marks = ["x-exception-message", "x-exception-stacktrace", "x-original-exchange", "x-original-routingKey"];
        check_refused(&message("a", &[]), &headers(marks.map(mark).into()), "looks like one that its service");
    }

    #[test]
    fn a_header_that_can_be_edited_arrives() {
        let check = |message: &Message, name: &str, why: Option<&str>| {
            let reach = EditReach::new(message, &InnerBodies::default());
            let told = reach.why_not(name);
            assert_eq!(told.is_some(), why.is_some(), "{name}: {told:?}");
            assert!(told.is_none_or(|told| told.contains(why.unwrap_or_default())));
            let edited = edited(message, &set(name, "other")).map(|_| "it arrives");
            assert_eq!(edited.is_err(), why.is_some(), "{name}: {edited:?}");
        };
        let spring = [
            ("tenant", "acme"),
            ("dlo-id", "x"),
            ("x-exception-message", "out of stock"),
            ("x-exception-stacktrace", "org.springframework.A: no"),
            ("x-original-exchange", ""),
            ("x-original-routingKey", "orders"),
        ];
        let spring = message("a", &spring);
        check(&spring, "tenant", None);
        check(&spring, "new", None);
        check(&spring, "dlo-id", Some("writes it anew"));
        check(&spring, "x-exception-message", Some("before Spring AMQP gave it up"));
        assert_eq!(EditReach::new(&spring, &InnerBodies::default()).why_none_new(), None);
        check(&message("a", &[]), "x-exception", None);
    }

    #[test]
    fn an_edit_that_does_harm_is_refused() {
        let stamped = r#"O:36:\"Symfony\\Component\\Messenger\\Envelope\":2:{s:44:\"\0Symfony\\Component\\Messenger\\Envelope\0stamps\";a:1:{s:61:\"Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportStamp\";a:0:{}}}"#;
        let refusal = edited(&message(stamped, &[]), &set("tenant", "acme")).map(|edited| edited.message);
        assert_eq!(refusal, Err(Refusal::Dangerous(Danger::SymfonySerialized)));
    }
}
