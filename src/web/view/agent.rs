//! A browser by the name it gives itself.

/// `Firefox on Linux`; what is not known is shown as it is.
pub fn describe(agent: &str) -> String {
    // Each names others it wants to be taken for; the most particular name comes first.
    const BROWSERS: [(&str, &str); 6] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ];
    let known = |all: &[(&str, &'static str)]| all.iter().find(|(part, _)| agent.contains(part)).map(|(_, name)| *name);
    match (known(&BROWSERS), known(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) if agent.is_empty() => "unknown".to_owned(),
        (None, None) => agent.chars().take(40).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_known_by_their_names() {
        let chrome =
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36";
        assert_eq!(describe(chrome), "Chrome on Linux");
        let safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Safari/604.1";
        assert_eq!(describe(safari), "Safari on iPhone");
        assert_eq!(describe("curl/8.0"), "curl");
        assert_eq!(describe(""), "unknown");
        assert_eq!(describe("python-requests/2"), "python-requests/2");
    }
}
