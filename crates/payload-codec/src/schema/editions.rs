//! Files of editions, rewritten as proto2 or proto3.
//!
//! `prost-reflect` 0.16 knows no editions and panics on them. What a file means on the wire can be said in the older
//! syntaxes: packing by the `packed` option, delimited messages as groups, legacy required fields as required ones
//! (<https://protobuf.dev/editions/features/>). A file whose fields all have implicit presence becomes proto3, any
//! other proto2; the single implicit field of such a file is then written also where it is zero, which every reader
//! understands. An enum that is open there is noted as that, as those of proto2 are closed.

use prost::Message;
use prost_reflect::{EnumDescriptor, Syntax};

use super::{
    features::{Features, Presence},
    options::{self, number},
    problem::SchemaProblem,
    raw::{RawEnum, RawField, RawFile, RawMessage, join, kind, label},
};

/// `Edition` in `descriptor.proto`.
const EDITION_PROTO2: i32 = 998;
const EDITION_PROTO3: i32 = 999;
const EDITION_2023: i32 = 1_000;
const EDITION_2024: i32 = 1_001;

/// Brings a file to proto2 or proto3, if it is not in one of them.
pub fn lower(file: &mut RawFile) -> Result<(), SchemaProblem> {
    match (file.syntax.as_deref(), file.edition) {
        (None | Some("proto2" | "proto3"), _) => {}
        (Some(""), _) => file.syntax = None,
        (Some("editions"), Some(EDITION_PROTO2)) => file.syntax = Some("proto2".to_owned()),
        (Some("editions"), Some(EDITION_PROTO3)) => file.syntax = Some("proto3".to_owned()),
        (Some("editions"), Some(EDITION_2023 | EDITION_2024)) => lower_features(file),
        (Some("editions"), edition) => return Err(unknown_edition(edition)),
        (Some(syntax), _) => {
            let what = format!("The syntax {syntax:?} is not known; there are proto2, proto3 and editions.");
            return Err(SchemaProblem::new(what, "Build the set anew with protoc or buf."));
        }
    }
    file.edition = None;
    Ok(())
}

fn unknown_edition(edition: Option<i32>) -> SchemaProblem {
    let edition = edition.map_or_else(|| "none".to_owned(), |number| format!("number {number}"));
    let what = format!("Its edition ({edition}) is not known here; there are 2023 and 2024.");
    SchemaProblem::new(what, "Write the file in one of those, or in proto2 or proto3.")
}

fn lower_features(file: &mut RawFile) {
    let features = Features::DEFAULT.overridden(file.options.as_deref(), number::FILE_FEATURES);
    let package = file.package.clone().unwrap_or_default();
    let mut lowering = Lowering { needs_proto2: !file.extension.is_empty() };
    for message in &mut file.message_type {
        lowering.message(message, &package, features);
    }
    for extension in &mut file.extension {
        lowering.field(extension, features, IsMap::No);
    }
    lowering.enums(&mut file.enum_type, features);
    let syntax = if lowering.needs_proto2 { "proto2" } else { "proto3" };
    file.syntax = Some(syntax.to_owned());
}

struct Lowering {
    /// Something in the file cannot be said in proto3.
    needs_proto2: bool,
}

/// Maps are always length-delimited, their entries too, whatever the features say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsMap {
    Yes,
    No,
}

impl Lowering {
    fn message(&mut self, message: &mut RawMessage, scope: &str, outer: Features) {
        let features = outer.overridden(message.options.as_deref(), number::MESSAGE_FEATURES);
        let name = join(scope, message.name.as_deref().unwrap_or_default());
        let entries: Vec<String> = message
            .nested_type
            .iter()
            .filter(|nested| is_map_entry(nested))
            .map(|nested| entry(&name, nested))
            .collect();
        let is_entry = is_map_entry(message);
        for field in &mut message.field {
            let oneof = field.oneof_index.and_then(|index| message.oneof_decl.get(usize::try_from(index).ok()?));
            let of_oneof =
                features.overridden(oneof.and_then(|oneof| oneof.options.as_deref()), number::ONEOF_FEATURES);
            let is_map = is_entry || field.type_name.as_ref().is_some_and(|name| entries.contains(name));
            self.field(field, of_oneof, if is_map { IsMap::Yes } else { IsMap::No });
        }
        for extension in &mut message.extension {
            self.field(extension, features, IsMap::No);
        }
        self.needs_proto2 |= !message.extension.is_empty() || !message.extension_range.is_empty();
        self.enums(&mut message.enum_type, features);
        for nested in &mut message.nested_type {
            self.message(nested, &name, features);
        }
    }

    fn field(&mut self, field: &mut RawField, outer: Features, is_map: IsMap) {
        let features = outer.overridden(field.options.as_deref(), number::FIELD_FEATURES);
        if field.is_repeated() {
            if field.is_packable() {
                options::set_varint(&mut field.options, number::FIELD_PACKED, u64::from(features.packed));
            }
        } else if is_map == IsMap::No {
            self.presence(field, features.presence);
        }
        if features.delimited && field.kind == Some(kind::MESSAGE) && is_map == IsMap::No {
            field.kind = Some(kind::GROUP);
            self.needs_proto2 = true;
        }
    }

    fn presence(&mut self, field: &mut RawField, presence: Presence) {
        match presence {
            Presence::LegacyRequired => {
                field.label = Some(label::REQUIRED);
                self.needs_proto2 = true;
            }
            // Messages and members of a oneof have it in proto3 too.
            Presence::Explicit => self.needs_proto2 |= !field.is_message() && field.oneof_index.is_none(),
            Presence::Implicit => {}
        }
    }

    fn enums(&mut self, enums: &mut [RawEnum], outer: Features) {
        for declared in enums {
            if outer.overridden(declared.options.as_deref(), number::ENUM_FEATURES).enums_are_closed {
                self.needs_proto2 = true;
            } else {
                options::set_varint(&mut declared.options, number::ENUM_IS_OPEN, 1);
            }
        }
    }
}

/// Whether numbers without a name are no values of the enum at all. That is decided where the enum is declared.
pub fn is_closed(declared: &EnumDescriptor) -> bool {
    let is_noted_as_open = || options::varint(&declared.options().encode_to_vec(), number::ENUM_IS_OPEN).is_some();
    declared.parent_file().syntax() == Syntax::Proto2 && !is_noted_as_open()
}

pub fn is_map_entry(message: &RawMessage) -> bool {
    let options = message.options.as_deref().unwrap_or_default();
    options::varint(options, number::MESSAGE_MAP_ENTRY).is_some_and(|value| value != 0)
}

/// The name by which fields refer to an entry.
fn entry(scope: &str, message: &RawMessage) -> String {
    format!(".{}", join(scope, message.name.as_deref().unwrap_or_default()))
}
