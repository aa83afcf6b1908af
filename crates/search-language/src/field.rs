//! The fields that a search may name.

/// A field, and what it takes.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// What stands before the colon; of a path only what it begins with, without the dot.
    pub name: &'static str,
    /// Whether a path follows, as in `payload.total.cents`.
    pub is_path: bool,
    /// Whether values can be compared by `>` and the like.
    pub is_ordered: bool,
    /// Whether it takes several values by comma.
    pub is_list: bool,
    /// Says what is wrong with a value: a clause like `it takes a number`.
    pub check: fn(&str) -> Result<(), String>,
}

/// A language with these fields.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    pub(crate) fields: &'static [Field],
}

impl Language {
    pub const fn new(fields: &'static [Field]) -> Self {
        Self { fields }
    }

    /// The field of that name, or that a path begins with. Names are in small letters, and may be typed in any; a path
    /// behind one stands as it is.
    pub(crate) fn find(&self, name: &str) -> Option<(&'static Field, String)> {
        let (first, path) = name.split_once('.').unwrap_or((name, ""));
        let field = self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(first))?;
        match (field.is_path, path.is_empty()) {
            (true, false) => Some((field, format!("{}.{path}", field.name))),
            (false, true) if !name.contains('.') => Some((field, field.name.to_owned())),
            _ => None,
        }
    }

    /// What to say of a field that is not there.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let first = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
        if let Some(field) = self.fields.iter().find(|field| field.name == first) {
            let name = field.name;
            return match field.is_path {
                true => format!("{name} takes a path behind it, as in {name}.id"),
                false => format!("{name} has no fields of its own"),
            };
        }
        let near = |field: &&Field| strsim::damerau_levenshtein(field.name, &first);
        match self.fields.iter().min_by_key(near).filter(|field| near(field) <= 2 && near(field) < field.name.len()) {
            Some(nearest) => format!("there is no field {name}; did you mean {}?", nearest.name),
            None => {
                let names: Vec<_> = self.fields.iter().map(Field::shown).collect();
                format!("there is no field {name}; there are {}; put a text with a colon in quotes", names.join(", "))
            }
        }
    }
}

impl Field {
    pub(crate) fn no_list(&self) -> String {
        format!("{} takes one value and no list", self.name)
    }

    fn shown(&self) -> String {
        if self.is_path { format!("{}.…", self.name) } else { self.name.to_owned() }
    }
}
