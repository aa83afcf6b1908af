//! Where the API is, read with care: the address holds a password.

use url::Url;

use super::ManagementError;

/// The address of the API, up to and without `/api`.
pub(super) fn parse(text: &str) -> Result<Url, ManagementError> {
    // The text is not repeated: it may hold a password. The parser does not quote it.
    let mut url = Url::parse(text).map_err(|error| invalid(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(invalid("it begins with neither http:// nor https://".to_owned()));
    }
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

/// The address of a resource: `/api` and then the segments, each percent-encoded.
pub(super) fn join(base: &Url, segments: &[&str]) -> Result<Url, ManagementError> {
    // In a path these two mean something else, however they are encoded.
    if let Some(segment) = segments.iter().find(|segment| matches!(**segment, "" | "." | "..")) {
        return Err(invalid(format!("virtual host {segment:?} cannot be named in an address")));
    }
    let mut url = base.clone();
    match url.path_segments_mut() {
        Ok(mut path) => path.pop_if_empty().push("api").extend(segments),
        Err(()) => return Err(invalid("it can have no path".to_owned())),
    };
    Ok(url)
}

/// Host and port, for people.
pub(super) fn for_people(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{host}{port}")
}

fn invalid(reason: String) -> ManagementError {
    ManagementError::InvalidUrl { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: &str, vhost: &str, expected: &str) {
        let url = parse(base).and_then(|base| join(&base, &["queues", vhost])).unwrap();
        assert_eq!(url.as_str(), expected);
    }

    #[test]
    fn names_are_one_segment_each() {
        check("http://h:15672", "/", "http://h:15672/api/queues/%2F");
        check("http://h:15672/", "a/b", "http://h:15672/api/queues/a%2Fb");
        check("https://h/rabbit", "ö %2f?#", "https://h/rabbit/api/queues/%C3%B6%20%252f%3F%23");
        check("https://h/rabbit/?x=1#y", "...", "https://h/rabbit/api/queues/...");
    }

    #[test]
    fn the_password_stays_for_whoever_connects() {
        check("http://u:p%40w@h:1", "v", "http://u:p%40w@h:1/api/queues/v");
    }

    #[test]
    fn people_see_host_and_port_only() {
        let told = |text: &str| for_people(&parse(text).unwrap());
        assert_eq!(told("http://user:secret@rabbit.example:15672/x?y"), "rabbit.example:15672");
        assert_eq!(told("https://user:secret@[::1]"), "[::1]:443");
    }

    #[test]
    fn what_is_no_address_is_not_repeated() {
        for text in ["", "secret", "amqp://user:secret@h", "http://", "http://user:secret@h:99999", "file:///secret"] {
            let told = parse(text).unwrap_err().to_string();
            assert!(!told.contains("secret") && told.contains("http://USER"), "{told}");
        }
    }

    #[test]
    fn virtual_hosts_that_no_address_can_name_are_refused() {
        let base = parse("http://h").unwrap();
        for vhost in ["", ".", ".."] {
            assert!(join(&base, &["queues", vhost]).is_err(), "{vhost:?}");
        }
    }
}
