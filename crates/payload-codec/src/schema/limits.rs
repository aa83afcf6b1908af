//! How large a schema may be. A larger one is not built, and the reason is reported.
//!
//! A pool takes about 30 bytes of memory for each byte of descriptors, and some of its checks compare every field of a
//! message with every range of it. The largest public collections of types stay well below these bounds.

use super::{
    problem::SchemaProblem,
    raw::{RawEnum, RawMessage, RawSet},
};

/// Of a descriptor set; bytes.
pub const SET_BYTES: usize = 32 * 1024 * 1024;
/// Of all sources of one upload together; bytes.
pub const SOURCE_BYTES: usize = 32 * 1024 * 1024;
/// Files of one schema, and of one upload.
pub const FILES: usize = 10_000;
/// Messages and enums.
pub const TYPES: usize = 60_000;
/// Fields, extensions and values of enums.
pub const MEMBERS: usize = 400_000;
/// Reserved and extension ranges of one type.
pub const RANGES: usize = 2_000;
/// Of one name or one package, bytes. They are joined to full names, so long ones multiply.
pub const NAME_BYTES: usize = 256;
/// Of one name with all that it stands in, bytes.
pub const FULL_NAME_BYTES: usize = 1_024;
/// Of all full names together, bytes: each type, field and value keeps its own.
const ALL_NAMES_BYTES: usize = 64 * 1024 * 1024;
/// Imports of all files together.
const IMPORTS: usize = 200_000;
/// Of the name of a file, bytes.
pub const FILE_NAME_BYTES: usize = 1_024;
/// Brackets within brackets of a source, and parts of a name in it. `protoc` gives up on messages at 32 levels; values of
/// options may go deeper, and the name of an option has a part for each level.
pub const SOURCE_DEPTH: usize = 100;

/// What exceeds its bound, if anything does.
pub fn check(set: &RawSet) -> Result<(), SchemaProblem> {
    let mut count = Count::default();
    for file in &set.file {
        let scope = file.package.as_ref().map_or(0, String::len);
        count.imports = count.imports.saturating_add(file.dependency.len());
        count.members(&file.extension, scope, |field| field.name.as_deref());
        count.enums(&file.enum_type, scope);
        file.message_type.iter().for_each(|message| count.message(message, scope));
    }
    bound("files", set.file.len(), FILES)?;
    check_imports(count.imports)?;
    bound("bytes of names", count.names, ALL_NAMES_BYTES)?;
    bound("types", count.types, TYPES)?;
    bound("fields and values of enums", count.members, MEMBERS)?;
    bound("reserved or extension ranges in one type", count.ranges, RANGES)
}

/// Refuses more imports of all files together than are read.
pub fn check_imports(found: usize) -> Result<(), SchemaProblem> {
    bound("imports", found, IMPORTS)
}

fn bound(what: &str, found: usize, most: usize) -> Result<(), SchemaProblem> {
    if found <= most {
        return Ok(());
    }
    let what = format!("It holds {found} {what}; {most} are the most that is read.");
    Err(SchemaProblem::new(what, "Split it, or leave out what no message here is made of."))
}

#[derive(Default)]
struct Count {
    types: usize,
    members: usize,
    imports: usize,
    /// Bytes of full names.
    names: usize,
    /// The most that any type has.
    ranges: usize,
}

impl Count {
    fn message(&mut self, message: &RawMessage, scope: usize) {
        let scope = self.name(message.name.as_deref(), scope);
        self.types = self.types.saturating_add(1);
        self.members(&message.field, scope, |field| field.name.as_deref());
        self.members(&message.extension, scope, |field| field.name.as_deref());
        self.ranges = self.ranges.max(message.reserved_range.len()).max(message.extension_range.len());
        self.ranges = self.ranges.max(message.reserved_name.len());
        self.enums(&message.enum_type, scope);
        message.nested_type.iter().for_each(|nested| self.message(nested, scope));
    }

    fn enums(&mut self, enums: &[RawEnum], scope: usize) {
        for declared in enums {
            let scope = self.name(declared.name.as_deref(), scope);
            self.types = self.types.saturating_add(1);
            self.members(&declared.value, scope, |value| value.name.as_deref());
            self.ranges = self.ranges.max(declared.reserved_range.len()).max(declared.reserved_name.len());
        }
    }

    fn members<T>(&mut self, members: &[T], scope: usize, name: impl Fn(&T) -> Option<&str>) {
        self.members = self.members.saturating_add(members.len());
        for member in members {
            self.name(name(member), scope);
        }
    }

    /// The length of the full name.
    fn name(&mut self, name: Option<&str>, scope: usize) -> usize {
        let length = scope.saturating_add(1).saturating_add(name.map_or(0, str::len));
        self.names = self.names.saturating_add(length);
        length
    }
}
