//! The parts of pages, as `?part=` names them.

/// An enum of parts with the word that names each.
macro_rules! parts {
    ($(#[$doc:meta])* $vis:vis $name:ident { $($(#[$part_doc:meta])* $part:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $($(#[$part_doc])* $part),+ }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$part),)+
                    _ => Err($crate::web::pages::part::unknown(word, &[$($word),+])),
                }
            }
        }
    };
}
pub(super) use parts;

pub(super) fn unknown(word: &str, known: &[&str]) -> String {
    let one_of = if known.len() > 1 { "one of " } else { "" };
    format!("{word:?} is no part of this page; it takes {one_of}{}", known.join(", "))
}

parts! {
    /// Of a page that has only one.
    pub MainPart {
        /// All that changes from page to page.
        Main = "main",
    }
}

parts! {
    /// Of a page with a list.
    pub ListPart {
        /// All that changes from page to page.
        Main = "main",
        /// What a changed filter changes; the filter's own fields stay as they are.
        Results = "results",
    }
}

parts! {
    /// Of the page of a group, and of what is told in its place where something has taken that.
    pub GroupPart {
        /// All that changes from page to page.
        Main = "main",
        /// How far people are with it.
        State = "state",
    }
}
