//! What a user changes in a message before it is sent back.

/// Changes to one message. What they do not name stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The whole body as the database keeps it, in all its encoding.
    pub body: Option<Vec<u8>>,
    /// Each about another header.
    pub headers: Vec<HeaderEdit>,
}

/// A change to one header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HeaderEdit {
    /// To a string, whatever it was; a header that is new takes its place by its name.
    Set {
        name: String,
        value: String,
    },
    Remove {
        name: String,
    },
}

impl HeaderEdit {
    pub fn name(&self) -> &str {
        match self {
            Self::Set { name, .. } | Self::Remove { name } => name,
        }
    }
}

impl Edit {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.body.is_none() && self.headers.is_empty()
    }

    /// `body; header tenant set; header trace removed`
    pub fn summary(&self) -> String {
        let body = self.body.iter().map(|_| "body".to_owned());
        let headers = self.headers.iter().map(|header| match header {
            HeaderEdit::Set { name, .. } => format!("header {name} set"),
            HeaderEdit::Remove { name } => format!("header {name} removed"),
        });
        body.chain(headers).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_it_changes() {
        let set = HeaderEdit::Set { name: "tenant".to_owned(), value: "acme".to_owned() };
        let removed = HeaderEdit::Remove { name: "trace".to_owned() };
        let check = |edit: &Edit, expected| assert_eq!(edit.summary(), expected);
        check(
            &Edit { body: Some(Vec::new()), headers: vec![set, removed.clone()] },
            "body; header tenant set; header trace removed",
        );
        check(&Edit { body: None, headers: vec![removed] }, "header trace removed");
    }
}
