//! Makes a set whole that names types it does not hold.
//!
//! A missing message becomes an empty one, in a file of its own, so that whatever else uses it stays usable and its
//! contents show as unknown fields. A missing enum becomes a number, and a message whose name is taken by something
//! else becomes bytes. Extensions of a missing message are left out. Beside that, every file gets exactly the imports
//! it needs: sets that were trimmed, or whose imports are public ones of imports, are read like any other.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    names::{DeclaredAs, Names},
    raw::{RawField, RawFile, RawMessage, join, kind},
};

/// The folder of the files that hold what was missing; no import names it.
pub const MISSING_FOLDER: &str = "dlo-missing/";

pub struct Completed {
    pub files: Vec<RawFile>,
    /// Full names of the types that are not there, and the first file that uses each.
    pub missing: BTreeMap<String, String>,
}

/// `files` have to be valid by themselves.
pub fn complete(mut files: Vec<RawFile>) -> Completed {
    let mut names = Names::of(&files);
    let mut finder = Finder { names: &names, file: String::new(), missing: BTreeMap::new(), messages: BTreeSet::new() };
    files.iter_mut().for_each(|file| walk(file, &mut finder));
    let Finder { missing, messages, .. } = finder;
    files.extend(placeholders(&mut names, messages));
    link(&mut files);
    Completed { files, missing }
}

/// Files with an empty message for each of these names that can be given to one.
fn placeholders(names: &mut Names, messages: BTreeSet<String>) -> Vec<RawFile> {
    let mut added: BTreeMap<String, RawFile> = BTreeMap::new();
    // Shorter names come first, so that what would stand inside of one is found not to be free.
    for name in messages {
        if names.is_free(&name) {
            let (package, last) = name.rsplit_once('.').unwrap_or(("", &name));
            names.add_message_in(package, &name);
            let file = added.entry(package.to_owned()).or_insert_with(|| empty_file(package));
            file.message_type.push(RawMessage { name: Some(last.to_owned()), ..RawMessage::default() });
        }
    }
    added.into_values().collect()
}

/// Gives every file the imports it needs beside those it has.
fn link(files: &mut [RawFile]) {
    let names = Names::of(files);
    let file_names: Vec<String> = files.iter().map(|file| file.name.clone().unwrap_or_default()).collect();
    let known: BTreeSet<&str> = file_names.iter().map(String::as_str).collect();
    for (index, file) in files.iter_mut().enumerate() {
        let mut linker = Linker { names: &names, uses: BTreeSet::new() };
        walk(file, &mut linker);
        linker.uses.remove(&index);
        let used = linker.uses.iter().filter_map(|used| file_names.get(*used)).cloned();
        let own = file.name.clone().unwrap_or_default();
        let imported = file.dependency.drain(..).filter(|name| known.contains(&**name) && *name != own);
        let needed: BTreeSet<String> = used.chain(imported).collect();
        file.dependency = needed.into_iter().collect();
    }
}

fn empty_file(package: &str) -> RawFile {
    RawFile {
        name: Some(format!("{MISSING_FOLDER}{}.proto", package.replace('.', "/"))),
        package: Some(package.to_owned()),
        syntax: Some("proto3".to_owned()),
        ..RawFile::default()
    }
}

/// Visits what refers to types, and decides whether it stays.
trait Visit {
    fn file(&mut self, name: &str);
    fn field(&mut self, scope: &str, field: &mut RawField) -> bool;
    /// A request or a response.
    fn message_name(&mut self, scope: &str, name: &mut Option<String>) -> bool;
}

fn walk(file: &mut RawFile, visit: &mut impl Visit) {
    visit.file(file.name.as_deref().unwrap_or_default());
    let package = file.package.clone().unwrap_or_default();
    file.extension.retain_mut(|extension| visit.field(&package, extension));
    for message in &mut file.message_type {
        walk_message(message, &package, visit);
    }
    for service in &mut file.service {
        service.method.retain_mut(|method| {
            visit.message_name(&package, &mut method.input_type)
                && visit.message_name(&package, &mut method.output_type)
        });
    }
}

fn walk_message(message: &mut RawMessage, scope: &str, visit: &mut impl Visit) {
    let name = join(scope, message.name.as_deref().unwrap_or_default());
    message.field.retain_mut(|field| visit.field(&name, field));
    message.extension.retain_mut(|extension| visit.field(&name, extension));
    for nested in &mut message.nested_type {
        walk_message(nested, &name, visit);
    }
}

/// Turns every name into a full one and notes those that nothing stands for.
struct Finder<'a> {
    names: &'a Names,
    /// The file that is being read.
    file: String,
    missing: BTreeMap<String, String>,
    /// Those of them that are messages.
    messages: BTreeSet<String>,
}

impl Finder<'_> {
    fn note(&mut self, name: &str) {
        self.missing.entry(name.to_owned()).or_insert_with(|| self.file.clone());
    }
}

impl Visit for Finder<'_> {
    fn file(&mut self, name: &str) {
        name.clone_into(&mut self.file);
    }

    fn field(&mut self, scope: &str, field: &mut RawField) -> bool {
        if let Some(extendee) = &field.extendee {
            let name = self.names.resolve(scope, extendee);
            if self.names.get(&name).is_none_or(|found| found.kind != DeclaredAs::Message) {
                self.note(&name);
                return false;
            }
            field.extendee = Some(format!(".{name}"));
        }
        let Some(type_name) = &field.type_name else { return true };
        let name = self.names.resolve(scope, type_name);
        let found = self.names.get(&name).map(|found| found.kind);
        field.kind = match (field.kind, found) {
            (Some(kind), Some(_)) => Some(kind),
            (None, Some(DeclaredAs::Enum)) => Some(kind::ENUM),
            (kind, _) => kind.or(Some(kind::MESSAGE)),
        };
        if found.is_none() {
            self.note(&name);
            if field.is_message() {
                self.messages.insert(name.clone());
            }
        }
        field.type_name = Some(format!(".{name}"));
        true
    }

    fn message_name(&mut self, scope: &str, name: &mut Option<String>) -> bool {
        let full = self.names.resolve(scope, name.as_deref().unwrap_or_default());
        let there = self.names.get(&full).is_some();
        *name = Some(format!(".{full}"));
        // A method says nothing about bodies that would be worth an empty message.
        there
    }
}

/// Notes which files are used, and puts something in place of what still nothing stands for.
struct Linker<'a> {
    names: &'a Names,
    uses: BTreeSet<usize>,
}

impl Linker<'_> {
    fn uses(&mut self, name: Option<&str>) -> bool {
        let found = name.and_then(|name| self.names.get(name.trim_start_matches('.')));
        self.uses.extend(found.map(|found| found.file));
        found.is_some()
    }
}

impl Visit for Linker<'_> {
    fn file(&mut self, _: &str) {}

    fn field(&mut self, _: &str, field: &mut RawField) -> bool {
        if field.extendee.is_some() {
            self.uses(field.extendee.as_deref());
        }
        if field.type_name.is_none() || self.uses(field.type_name.as_deref()) {
            return true;
        }
        field.type_name = None;
        field.default_value = None;
        match field.kind {
            Some(kind::ENUM) => field.kind = Some(kind::INT32),
            Some(kind::MESSAGE) => field.kind = Some(kind::BYTES),
            // Nothing but a message can be written as a group.
            _ => return false,
        }
        true
    }

    fn message_name(&mut self, _: &str, name: &mut Option<String>) -> bool {
        self.uses(name.as_deref())
    }
}
