//! Where the links of a letter lead: its parts, the list it stands in, and the letters beside it there.

use crate::web::query::{
    Parameters, address, borrowed, further,
    letter_tab::{LetterTab, TabQuery},
};

/// Where a letter is shown, which its links have to keep.
pub struct Links {
    /// The letter with another view of its payload: this, and `encoding=…`, `view=…` after it.
    pub view_base: String,
    /// The part of it that is shown.
    pub tab: LetterTab,
    /// Where an action leads back to.
    pub back: String,
    /// The list without this letter, if it stands beside one.
    pub close: Option<String>,
    /// Its own page.
    pub page: String,
    /// The list one came from, with the letters beside it.
    pub list: ListLinks,
}

/// The list that a letter stands in.
#[derive(Default)]
pub struct ListLinks {
    /// The list, at this letter.
    pub href: String,
    pub label: &'static str,
    pub previous: Option<Step>,
    pub next: Option<Step>,
    /// Whether it is known which letters stand beside it.
    pub is_walked: bool,
}

/// To another letter of the list.
pub struct Step {
    pub href: String,
    /// What of the page it replaces.
    pub target: &'static str,
}

impl Links {
    /// The letter with that part of it.
    pub fn of_tab(&self, tab: LetterTab) -> String {
        further(&self.view_base, borrowed(&TabQuery { tab }.pairs()))
    }

    /// Where it is edited, and where that leads back to.
    pub fn edit(&self, id: &str) -> String {
        address(&format!("/letters/{id}/edit"), [("back", &*self.back)].into_iter())
    }

    /// Where forms lead that ask for another view of the payload.
    pub fn path(&self) -> &str {
        self.view_base.split('?').next().unwrap_or_default()
    }

    /// What the address says besides, which such a form has to keep.
    pub fn words(&self) -> Vec<(String, String)> {
        let query = self.view_base.split_once('?').map(|(_, query)| query).unwrap_or_default();
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }
}
