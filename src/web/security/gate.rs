//! What somebody sees and may not do is disabled on every page, with the reason: by the same table that refuses it.

use std::{borrow::Cow, fmt::Write};

use axum::http::Method;

use super::access::missing;
use crate::web::visitor::Visitor;

/// Puts the page together again, where anything in it is not for this visitor.
///
/// It reads only what our templates write: values of attributes stand in double quotes, and what comes from elsewhere is
/// escaped.
pub fn disable_the_rest(html: &str, visitor: &Visitor) -> String {
    let mut page = String::with_capacity(html.len() + 1024);
    let (mut rest, mut is_in_form) = (html, false);
    while let Some(at) = rest.find('<') {
        page.push_str(&rest[..at]);
        let end = rest[at..].find('>').map_or(rest.len(), |end| at + end + 1);
        let tag = &rest[at..end];
        rest = &rest[end..];
        if is_in_form && tag == "</form>" {
            page.push_str("</fieldset>");
            is_in_form = false;
        }
        // Its own title, which names a key, would stand in place of the reason.
        let tag = if is_in_form && tag.starts_with("<button ") { without_title(tag) } else { Cow::Borrowed(tag) };
        is_in_form |= write_tag(&mut page, &tag, visitor);
    }
    page.push_str(rest);
    page
}

/// Writes a tag as it is for this visitor; says whether it begins a form that is disabled.
fn write_tag(page: &mut String, tag: &str, visitor: &Visitor) -> bool {
    let refused = |method: Method, attribute: &str| {
        let address = value(tag, attribute)?;
        missing(&method, address, |right| visitor.may(right)).map(|right| visitor.refusal(right))
    };
    if tag.starts_with("<form ") {
        let is_sent = tag.contains(" method=\"post\"");
        if let Some(why) = is_sent.then(|| refused(Method::POST, " action=\"")).flatten() {
            let _ = write!(page, "{tag}<fieldset data-gate disabled title=\"{why}\">");
            return true;
        }
    } else if tag.starts_with("<a ")
        && let Some(why) = refused(Method::GET, " href=\"").or_else(|| refused(Method::POST, " data-for=\""))
    {
        page.push_str(&without_title(tag).replacen(" href=", " data-off=", 1));
        close_with(page, &format!(" role=\"link\" aria-disabled=\"true\" title=\"{why}\""));
        return false;
    } else if tag.starts_with("<input ")
        && tag.contains(" form=\"bulk\"")
        && let Some(right) = missing(&Method::POST, "/letters/actions", |right| visitor.may(right))
    {
        page.push_str(tag);
        close_with(page, &format!(" disabled title=\"{}\"", visitor.refusal(right)));
        return false;
    } else if tag.starts_with("<button ")
        && let Some(why) = refused(Method::POST, " formaction=\"")
    {
        page.push_str(&without_title(tag));
        close_with(page, &format!(" disabled title=\"{why}\""));
        return false;
    } else if refused(Method::POST, " hx-post=\"").is_some() {
        page.push_str(&tag.replacen(" hx-post=", " data-off=", 1));
        return false;
    }
    page.push_str(tag);
    false
}

/// Puts attributes at the end of the tag that was written last.
fn close_with(page: &mut String, attributes: &str) {
    if page.pop() == Some('>') {
        page.push_str(attributes);
        page.push('>');
    }
}

/// Of two titles only the first counts.
fn without_title(tag: &str) -> Cow<'_, str> {
    let Some((before, rest)) = tag.split_once(" title=\"") else { return Cow::Borrowed(tag) };
    let after = rest.split_once('"').map_or(rest, |(_, after)| after);
    Cow::Owned(format!("{before}{after}"))
}

/// What stands behind the first of these beginnings of an attribute, up to the quote.
fn value<'a>(tag: &'a str, attribute: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(attribute)?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use amqp_message::time::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::{
        domain::access::{Grants, QueueScope, Role, Source, User, UserId},
        web::visitor::Who,
    };

    fn check(role: Role, html: &str, expected: &str) {
        let user = User {
            id: UserId::from_uuid(Uuid::nil()),
            name: "ada".to_owned(),
            source: Source::Password,
            role,
            teams: Vec::new(),
            is_disabled: false,
            is_withdrawn: false,
            created_at: Timestamp::default(),
            signed_in_at: None,
        };
        let grants =
            Grants::new(|right| if role.may(right) { QueueScope::everything() } else { QueueScope::nothing() });
        let visitor = Visitor::new(Who::Person(user, None), [127, 0, 0, 1].into(), grants);
        assert_eq!(disable_the_rest(html, &visitor), expected);
    }

    #[test]
    fn forms_links_and_buttons_are_disabled_with_the_reason() {
        let why = "Your role, viewer, may not retry, edit, discard or annotate.";
        check(
            Role::Viewer,
            "<form method=\"post\" action=\"/letters/actions\"><button>Retry</button></form><p>",
            &format!(
                "<form method=\"post\" action=\"/letters/actions\"><fieldset data-gate disabled title=\"{why}\">\
                 <button>Retry</button></fieldset></form><p>"
            ),
        );
        check(
            Role::Viewer,
            "<input type=\"checkbox\" form=\"bulk\"><input name=\"q\">",
            &format!("<input type=\"checkbox\" form=\"bulk\" disabled title=\"{why}\"><input name=\"q\">"),
        );
        check(
            Role::Viewer,
            "<a class=\"x\" href=\"/letters/1/edit\">Edit</a>",
            &format!(
                "<a class=\"x\" data-off=\"/letters/1/edit\" role=\"link\" aria-disabled=\"true\" title=\"{why}\">Edit</a>"
            ),
        );
        check(
            Role::Viewer,
            "<a href=\"/groups/1?all=retry\" data-for=\"/groups/1/all\" title=\"r\">Retry</a>",
            &format!(
                "<a data-off=\"/groups/1?all=retry\" data-for=\"/groups/1/all\" role=\"link\" aria-disabled=\"true\" \
                 title=\"{why}\">Retry</a>"
            ),
        );
        let why = "Your role, operator, may not change policies, rules, schemas, digests or users.";
        check(
            Role::Operator,
            "<button name=\"type\" formaction=\"/schemas/map\">Use</button>",
            &format!("<button name=\"type\" formaction=\"/schemas/map\" disabled title=\"{why}\">Use</button>"),
        );
        check(Role::Operator, "<div hx-post=\"/rules/check\">", "<div data-off=\"/rules/check\">");
    }

    #[test]
    fn what_one_may_stays_as_it_is() {
        for html in [
            "<form method=\"post\" action=\"/sign-out\"><button>x</button></form>",
            "<form action=\"/letters\"><input></form>",
            "<a href=\"/letters/1\">a &#60; b</a> 1 < 2",
        ] {
            check(Role::Viewer, html, html);
        }
        let all = "<form method=\"post\" action=\"/users/add\"></form>";
        check(Role::Admin, all, all);
    }
}
