//! Names of .NET types with the assemblies they come from.

/// Of `Type, Assembly, Version=…` or `Type:Assembly`, the type.
pub(super) fn without(name: &str) -> String {
    let mut depth = 0_u32;
    let ends = |c: char| {
        match c {
            '[' => depth = depth.saturating_add(1),
            ']' => depth = depth.saturating_sub(1),
            // The types within a generic one have assemblies of their own.
            ',' | ':' if depth == 0 => return true,
            _ => {}
        }
        false
    };
    let end = name.find(ends).unwrap_or(name.len());
    name.get(..end).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_the_type() {
        fn check(name: &str, expected: &str) {
            assert_eq!(without(name), expected);
        }
        check("Acme.OrderPlaced, Acme.Contracts", "Acme.OrderPlaced");
        check("acme.Order:Acme.Contracts", "acme.Order");
        check("Acme.OrderPlaced", "Acme.OrderPlaced");
        check("A.List`1[[A.Item, Acme]], Acme", "A.List`1[[A.Item, Acme]]");
        check("]],", "]]");
        check("", "");
    }
}
