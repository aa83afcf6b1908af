//! Where somebody goes after signing in: to a page of ours, and nowhere else.

use url::Url;

/// The path and query, if it leads to a page of this server that one may come back to.
pub fn own_path(address: &str) -> Option<String> {
    // What a browser makes of it is what counts: it takes `\` for `/`, and leaves out tabs and line ends.
    let here = Url::parse("http://here.invalid").ok()?;
    let url = here.join(address).ok().filter(|_| address.starts_with('/'))?;
    let is_ours = url.origin() == here.origin() && url.username().is_empty() && url.password().is_none();
    let path = url.path();
    let leads_back = !path.starts_with("//")
        && !["/login", "/sign-in", "/sign-out", "/set-up"].iter().any(|it| path.starts_with(it));
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    (is_ours && leads_back).then(|| format!("{path}{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_ours() {
        for (good, path) in [
            ("/", "/"),
            ("/letters?status=open&queue=a%2Fb", "/letters?status=open&queue=a%2Fb"),
            ("/groups/0198", "/groups/0198"),
            ("/letters?next=//evil.example", "/letters?next=//evil.example"),
        ] {
            assert_eq!(own_path(good).as_deref(), Some(path));
        }
        for bad in [
            "",
            "letters",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/.//evil.example",
            "/x/..//evil.example",
            "/sign-in?next=/sign-in",
            "/sign-out",
        ] {
            assert_eq!(own_path(bad), None, "{bad:?}");
        }
    }
}
