//! Which type is declared where, and what a name means at the place where it stands.

use std::collections::{HashMap, HashSet};

use super::raw::{RawEnum, RawFile, RawMessage, join};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredAs {
    Message,
    Enum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    pub kind: DeclaredAs,
    /// Which file it stands in.
    pub file: usize,
}

/// The types of a set, by their full names without a leading dot.
#[derive(Default)]
pub struct Names {
    types: HashMap<String, Declaration>,
    /// Every package, and every package around one.
    packages: HashSet<String>,
}

impl Names {
    pub fn of(files: &[RawFile]) -> Self {
        let mut names = Self::default();
        for (index, file) in files.iter().enumerate() {
            let package = file.package.as_deref().unwrap_or_default();
            names.add_package(package);
            file.message_type.iter().for_each(|message| names.add_message(message, package, index));
            names.add_enums(&file.enum_type, package, index);
        }
        names
    }

    pub fn get(&self, name: &str) -> Option<Declaration> {
        self.types.get(name).copied()
    }

    /// Whether a message of that name could be added, in a package made of all but its last part.
    pub fn is_free(&self, name: &str) -> bool {
        let mut around = scopes(name);
        !self.packages.contains(name) && !around.any(|scope| self.types.contains_key(scope))
    }

    /// Adds a message that stands in no file of the set.
    pub fn add_message_in(&mut self, package: &str, name: &str) {
        self.add_package(package);
        self.types.insert(name.to_owned(), Declaration { kind: DeclaredAs::Message, file: usize::MAX });
    }

    /// The full name that `name` stands for in `scope`: itself where it begins with a dot, else the innermost type that
    /// fits (<https://protobuf.dev/programming-guides/proto3/#name-resolution>).
    pub fn resolve(&self, scope: &str, name: &str) -> String {
        if let Some(absolute) = name.strip_prefix('.') {
            return absolute.to_owned();
        }
        let candidates = scopes(scope).map(|scope| join(scope, name)).chain([name.to_owned()]);
        candidates.into_iter().find(|candidate| self.types.contains_key(candidate)).unwrap_or_else(|| name.to_owned())
    }

    fn add_package(&mut self, package: &str) {
        self.packages.extend(scopes(package).map(str::to_owned));
    }

    fn add_message(&mut self, message: &RawMessage, scope: &str, file: usize) {
        let name = join(scope, message.name.as_deref().unwrap_or_default());
        self.add_enums(&message.enum_type, &name, file);
        message.nested_type.iter().for_each(|nested| self.add_message(nested, &name, file));
        self.types.insert(name, Declaration { kind: DeclaredAs::Message, file });
    }

    fn add_enums(&mut self, enums: &[RawEnum], scope: &str, file: usize) {
        for declared in enums {
            let name = join(scope, declared.name.as_deref().unwrap_or_default());
            self.types.insert(name, Declaration { kind: DeclaredAs::Enum, file });
        }
    }
}

/// `a.b.c`, `a.b`, `a`
fn scopes(name: &str) -> impl Iterator<Item = &str> {
    let whole = Some(name).filter(|name| !name.is_empty());
    std::iter::successors(whole, |scope| scope.rsplit_once('.').map(|(outer, _)| outer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let inner = RawMessage { name: Some("Inner".to_owned()), ..RawMessage::default() };
        let outer = RawMessage { name: Some("Outer".to_owned()), nested_type: vec![inner], ..RawMessage::default() };
        let file = |package: &str, message| RawFile {
            package: Some(package.to_owned()),
            message_type: vec![message],
            ..RawFile::default()
        };
        Names::of(&[file("a.b", outer.clone()), file("a", outer)])
    }

    #[test]
    fn the_innermost_type_is_meant() {
        let check = |scope, name, expected: &str| assert_eq!(names().resolve(scope, name), expected, "{scope} {name}");
        check("a.b.Outer", "Inner", "a.b.Outer.Inner");
        check("a.b", "Outer", "a.b.Outer");
        check("a.b", ".a.Outer", "a.Outer");
        check("a.c", "Outer", "a.Outer");
        check("a.c", "b.Outer", "a.b.Outer");
        check("", "a.Outer", "a.Outer");
        check("a.b", "Nowhere", "Nowhere");
    }

    #[test]
    fn a_name_is_free_unless_something_stands_in_its_way() {
        let check = |name, expected| assert_eq!(names().is_free(name), expected, "{name}");
        check("a.b.New", true);
        check("new.New", true);
        check("a.b", false);
        check("a.b.Outer", false);
        check("a.b.Outer.New", false);
    }
}
