//! Options that can be read.
//!
//! `prost-reflect` refuses a whole set, without a word about where, for one option that does not fit its descriptor.
//! And it interprets what a compiler has left uninterpreted, by following its text however deep that goes.

use prost_reflect::{DescriptorPool, DynamicMessage};

use super::{
    options,
    raw::{RawEnum, RawField, RawFile, RawMessage},
};

/// A kind of options: its message, and the plain ones that matter so much that they are kept in any case.
struct Kind {
    message: &'static str,
    kept: &'static [u32],
}

const FILE: Kind = Kind { message: "google.protobuf.FileOptions", kept: &[] };
/// `deprecated`, `map_entry`
const MESSAGE: Kind = Kind { message: "google.protobuf.MessageOptions", kept: &[3, 7] };
/// `packed`, `deprecated`, `debug_redact`
const FIELD: Kind = Kind { message: "google.protobuf.FieldOptions", kept: &[2, 3, 16] };
const ONEOF: Kind = Kind { message: "google.protobuf.OneofOptions", kept: &[] };
const RANGE: Kind = Kind { message: "google.protobuf.ExtensionRangeOptions", kept: &[] };
const ENUM: Kind = Kind { message: "google.protobuf.EnumOptions", kept: &[options::number::ENUM_IS_OPEN] };
const ENUM_VALUE: Kind = Kind { message: "google.protobuf.EnumValueOptions", kept: &[] };
const SERVICE: Kind = Kind { message: "google.protobuf.ServiceOptions", kept: &[] };
const METHOD: Kind = Kind { message: "google.protobuf.MethodOptions", kept: &[] };

/// Which options are passed over; the plain ones are kept.
#[derive(Clone, Copy)]
pub enum Unread<'a> {
    /// Those that a compiler would still have to interpret.
    Uninterpreted,
    /// Those that do not fit the descriptors of this pool.
    Unfit(&'a DescriptorPool),
    All,
}

/// Passes over options of a file. The answer is whether there were any such.
pub fn mend(file: &mut RawFile, unread: Unread<'_>) -> bool {
    let mut mender = Mender { unread, has_mended: false };
    mender.options(&FILE, &mut file.options);
    file.message_type.iter_mut().for_each(|message| mender.message(message));
    mender.enums(&mut file.enum_type);
    mender.fields(&mut file.extension);
    for service in &mut file.service {
        mender.options(&SERVICE, &mut service.options);
        service.method.iter_mut().for_each(|method| mender.options(&METHOD, &mut method.options));
    }
    mender.has_mended
}

struct Mender<'a> {
    unread: Unread<'a>,
    has_mended: bool,
}

impl Mender<'_> {
    fn message(&mut self, message: &mut RawMessage) {
        self.options(&MESSAGE, &mut message.options);
        self.fields(&mut message.field);
        self.fields(&mut message.extension);
        message.oneof_decl.iter_mut().for_each(|oneof| self.options(&ONEOF, &mut oneof.options));
        message.extension_range.iter_mut().for_each(|range| self.options(&RANGE, &mut range.options));
        self.enums(&mut message.enum_type);
        message.nested_type.iter_mut().for_each(|nested| self.message(nested));
    }

    fn fields(&mut self, fields: &mut [RawField]) {
        fields.iter_mut().for_each(|field| self.options(&FIELD, &mut field.options));
    }

    fn enums(&mut self, enums: &mut [RawEnum]) {
        for declared in enums {
            self.options(&ENUM, &mut declared.options);
            declared.value.iter_mut().for_each(|value| self.options(&ENUM_VALUE, &mut value.options));
        }
    }

    fn options(&mut self, kind: &Kind, options: &mut Option<Vec<u8>>) {
        let Some(bytes) = options.as_deref().filter(|bytes| !bytes.is_empty()) else { return };
        if !self.passes_over(kind, bytes) {
            return;
        }
        let mut plain = None;
        for number in kind.kept {
            if let Some(value) = options::varint(bytes, *number) {
                options::set_varint(&mut plain, *number, value);
            }
        }
        *options = plain;
        self.has_mended = true;
    }

    fn passes_over(&self, kind: &Kind, bytes: &[u8]) -> bool {
        const UNINTERPRETED: u32 = 999;
        match self.unread {
            Unread::All => true,
            Unread::Uninterpreted => options::has(bytes, UNINTERPRETED),
            Unread::Unfit(pool) => {
                let descriptor = pool.get_message_by_name(kind.message);
                descriptor.is_none_or(|descriptor| DynamicMessage::decode(descriptor, bytes).is_err())
            }
        }
    }
}
