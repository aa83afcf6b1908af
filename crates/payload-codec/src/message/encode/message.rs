//! Objects of JSON as messages.

use std::collections::{HashMap, HashSet};

use prost_reflect::MessageDescriptor;

use super::{
    Encoder,
    suggest::suggestion,
    twin::{FieldTwin, Twin},
};
use crate::{
    json::{Kind, Member, Node},
    message::{declaration::Declaration, settle::missing, well_known::WellKnown},
};

/// What has been written of a message.
#[derive(Default)]
pub(super) struct Parts {
    /// Field numbers and fields, with their tags.
    pub fields: Vec<(u32, Vec<u8>)>,
    /// What stands behind all fields.
    pub rest: Vec<u8>,
}

/// What has been seen of an object.
#[derive(Default)]
struct Seen<'n> {
    /// Keys of JSON that name no declared field.
    keys: HashSet<&'n str>,
    numbers: HashSet<u32>,
    /// Members by the names of their oneofs.
    oneofs: HashMap<String, String>,
}

impl Encoder<'_> {
    pub(super) fn message(
        &mut self,
        descriptor: &MessageDescriptor,
        node: &Node<'_>,
        twin: Option<Twin<'_>>,
    ) -> Vec<u8> {
        self.deeper(node.at, |this| {
            let Some(well_known) = WellKnown::of(descriptor) else {
                return this.object(descriptor, node, twin);
            };
            match node.as_pair() {
                Some(member) if member.key == "#message" => this.object(descriptor, &member.value, None),
                _ => this.well_known(well_known, descriptor, node),
            }
        })
    }

    fn object(&mut self, descriptor: &MessageDescriptor, node: &Node<'_>, twin: Option<Twin<'_>>) -> Vec<u8> {
        let Kind::Object(members) = &node.kind else {
            let name = descriptor.full_name();
            self.problem(node.at, format!("{name} is an object, and this is {}", node.describe()));
            return Vec::new();
        };
        self.fields(descriptor, members, node.at, twin)
    }

    /// The fields of a message. `at` is where it begins.
    pub(super) fn fields(
        &mut self,
        descriptor: &MessageDescriptor,
        members: &[Member<'_>],
        at: usize,
        twin: Option<Twin<'_>>,
    ) -> Vec<u8> {
        let is_new = twin.is_none();
        let twins = twin.map(Twin::fields).unwrap_or_default();
        let mut parts = Parts::default();
        let mut seen = Seen::default();
        // A field that could not be read to its end takes in whatever of it comes later: what did not belong to it
        // stands behind, but where there is an order to keep.
        let (late, first): (Vec<_>, Vec<_>) =
            members.iter().partition(|member| is_new && is_odd_occurrence(descriptor, &member.key));
        for member in first.into_iter().chain(late) {
            if self.is_full() {
                break;
            }
            let twin = twins.get(&*member.key).copied();
            match Declaration::by_key(descriptor, &member.key) {
                Some(declaration) => self.declared(&declaration, member, twin, &mut seen, &mut parts),
                None => self.undeclared(descriptor, member, twin, &mut seen, &mut parts),
            }
        }
        if parts.rest.is_empty() {
            for name in missing(descriptor, |number| seen.numbers.contains(&number)) {
                self.problem(at, format!("the required field {name} is missing"));
            }
        }
        if self.is_by_number {
            parts.fields.sort_by_key(|(number, _)| *number);
        }
        let fields = parts.fields.iter().flat_map(|(_, bytes)| bytes);
        fields.chain(&parts.rest).copied().collect()
    }

    fn declared(
        &mut self,
        declaration: &Declaration,
        member: &Member<'_>,
        twin: Option<FieldTwin<'_>>,
        seen: &mut Seen<'_>,
        parts: &mut Parts,
    ) {
        self.within(&declaration.name(), |this| {
            if this.is_absent(declaration, &member.value) {
                return;
            }
            if !seen.numbers.insert(declaration.number()) {
                this.problem(member.at, "this field is here twice");
            }
            this.check_oneof(declaration, member, seen);
            let field = this.field(declaration, &member.value, twin);
            parts.fields.push((declaration.number(), field));
        });
    }

    fn undeclared<'n>(
        &mut self,
        descriptor: &MessageDescriptor,
        member: &'n Member<'_>,
        twin: Option<FieldTwin<'_>>,
        seen: &mut Seen<'n>,
        parts: &mut Parts,
    ) {
        if !seen.keys.insert(&member.key) {
            self.problem(member.at, format!("{:?} is here twice", member.key));
        } else if member.key.starts_with('#') {
            self.within(&member.key, |this| this.reserved(member, twin, parts));
        } else {
            let suggestion = suggestion(&member.key, &names(descriptor));
            let name = descriptor.full_name();
            self.problem(member.at, format!("{name} has no field {:?}{suggestion}", shown(&member.key)));
        }
    }

    fn check_oneof(&mut self, declaration: &Declaration, member: &Member<'_>, seen: &mut Seen<'_>) {
        let Some(oneof) = declaration.oneof() else { return };
        let name = declaration.name().into_owned();
        if let Some(other) = seen.oneofs.insert(oneof.name().to_owned(), name.clone())
            && other != name
        {
            let reason = format!("{other} is set already, and {} can have only one of its members", oneof.name());
            self.problem(member.at, reason);
        }
    }
}

/// Whether a key stands for occurrences of a declared field that were not read as the schema says.
fn is_odd_occurrence(descriptor: &MessageDescriptor, key: &str) -> bool {
    let number = key.strip_prefix('#').and_then(|number| number.parse().ok());
    number.is_some_and(|number| Declaration::by_number(descriptor, number).is_some())
}

fn names(descriptor: &MessageDescriptor) -> Vec<String> {
    let fields = descriptor.fields().map(|field| Declaration::Field(field).key().into_owned());
    fields.chain(descriptor.extensions().map(|extension| format!("[{}]", extension.full_name()))).collect()
}

/// Short enough for a message.
pub(super) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
