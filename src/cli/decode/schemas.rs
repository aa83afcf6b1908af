//! Schemas from files.

use std::{path::PathBuf, sync::Arc};

use amqp_message::time::Timestamp;
use payload_codec::schema::{Schema, SchemaProblem, Upload, unpack};
use uuid::Uuid;

use super::contents;
use crate::{
    domain::{
        actor::Actor,
        schema::{SchemaId, SchemaRecord, SchemaSource, packaged},
    },
    services::{
        decoding::catalogue::{Catalogue, SchemaVersion},
        schemas::collect,
    },
};

/// What is said of schemas at most, in lines.
const MOST_REMARKS: usize = 10;
/// What all sources that are named one by one are called together.
const SOURCES: &str = "sources";

/// The catalogue of what lies at `paths`, and what is wrong with parts of it. Of several descriptions of a type that of
/// the last path counts.
pub(super) fn read(paths: &[PathBuf]) -> Result<(Catalogue, Vec<String>), String> {
    let (mut versions, mut remarks) = (Vec::new(), Vec::new());
    for (name, files) in grouped(paths, &mut remarks)? {
        let bytes = unpack(files).map_err(|problems| lines(&name, &problems))?;
        let schema = Schema::read(&name, &bytes).map_err(|problems| lines(&name, &problems))?;
        remarks.extend(schema.problems().iter().map(ToString::to_string));
        versions.push(version(versions.len(), name, schema, bytes.len()));
    }
    if remarks.len() > MOST_REMARKS {
        let n_left = remarks.len() - MOST_REMARKS;
        remarks.truncate(MOST_REMARKS);
        remarks.push(format!("And {n_left} more remarks on the schemas."));
    }
    Ok((Catalogue::new(versions), remarks))
}

/// The files of each schema with its name: sources that are named one by one may import each other, so they are one.
fn grouped(paths: &[PathBuf], remarks: &mut Vec<String>) -> Result<Vec<(String, Vec<Upload>)>, String> {
    let (mut groups, mut sources) = (Vec::new(), Vec::new());
    for path in paths {
        if path.is_dir() {
            let found = collect(path).map_err(|why| format!("{}: {why}", path.display()))?;
            if found.is_empty() {
                remarks.push(format!("There is neither a descriptor set nor a .proto file in {}.", path.display()));
            }
            groups.extend(found);
            continue;
        }
        let file = Upload { name: path.to_string_lossy().into_owned(), bytes: contents(path)? };
        if file.name.ends_with(".proto") {
            sources.push(file);
        } else {
            groups.push((file.name.clone(), vec![file]));
        }
    }
    groups.extend((!sources.is_empty()).then(|| (SOURCES.to_owned(), sources)));
    Ok(groups)
}

fn version(n_before: usize, name: String, schema: Schema, size: usize) -> SchemaVersion {
    let place = n_before as u128;
    let record = SchemaRecord {
        id: SchemaId::from_uuid(Uuid::from_u128(place)),
        name,
        hash: schema.hash().to_owned(),
        source: SchemaSource::Folder,
        files: packaged(schema.files()),
        size: size as u64,
        // With the id it says which of them counts.
        uploaded_at: Timestamp::default(),
        uploaded_by: Actor::local(),
    };
    SchemaVersion {
        record: Arc::new(record),
        superseded_by: None,
        schema: Some(Arc::new(schema)),
        unreadable: Vec::new(),
    }
}

fn lines(name: &str, problems: &[SchemaProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!("{name} is no schema that can be used:\n{}", lines.join("\n"))
}
