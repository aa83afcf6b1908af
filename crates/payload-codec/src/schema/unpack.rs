//! Uploads: a descriptor set, sources, an archive of either, gzipped or not.

use std::io::{Cursor, Read};

use flate2::read::GzDecoder;
use prost::Message;
use zip::ZipArchive;

use super::{
    compile::compile,
    limits::{self, SOURCE_BYTES},
    problem::SchemaProblem,
    raw::RawSet,
    scan,
    source::Source,
};

/// A file as it was uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// Its path, as far as it is known.
    pub name: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// What to do instead, where something is no schema at all.
const TAKES: &str = "It takes a FileDescriptorSet as `protoc --include_imports --descriptor_set_out=FILE` or `buf build -o \
                     FILE.binpb` write it, .proto sources, or a zip of them.";

/// The bytes of the one `FileDescriptorSet` that the files amount to: sources are compiled together.
///
/// # Errors
/// Everything that is wrong with them.
pub fn unpack(files: Vec<Upload>) -> Result<Vec<u8>, Vec<SchemaProblem>> {
    let (mut unpacked, mut left) = (Vec::new(), SOURCE_BYTES);
    for file in files {
        unpacked.extend(opened(file, &mut left).map_err(|problem| vec![problem])?);
    }
    let (sources, mut sets): (Vec<Upload>, Vec<Upload>) = unpacked.into_iter().partition(is_source);
    match (sources.is_empty(), sets.pop()) {
        (false, None) => {
            compile(sources.into_iter().map(text).collect::<Result<_, _>>().map_err(|problem| vec![problem])?)
        }
        (true, Some(set)) if sets.is_empty() => {
            refuse_other_formats(&set).map_err(|problem| vec![problem])?;
            Ok(set.bytes)
        }
        (true, Some(_)) => {
            refuse("These are several sets.", "Upload them one by one; each is kept as a version of its own.")
        }
        (false, Some(set)) => {
            let what = format!("{:?} stands among sources and is none.", set.name);
            refuse(&what, "Upload sets and sources apart from each other.")
        }
        (true, None) => refuse("There is nothing in it.", TAKES),
    }
}

fn refuse<T>(what: &str, remedy: &str) -> Result<T, Vec<SchemaProblem>> {
    Err(vec![SchemaProblem::new(what, remedy)])
}

/// Its contents, where it is an archive; itself otherwise. `left` bounds what all files of an upload unpack to.
fn opened(file: Upload, left: &mut usize) -> Result<Vec<Upload>, SchemaProblem> {
    if file.bytes.starts_with(b"PK\x03\x04") || file.bytes.starts_with(b"PK\x05\x06") {
        return entries(&file, left);
    }
    if file.bytes.starts_with(&[0x1f, 0x8b]) {
        let bytes = read_at_most(GzDecoder::new(&*file.bytes), left).map_err(|problem| problem.in_file(&file.name))?;
        return Ok(vec![Upload { name: file.name.trim_end_matches(".gz").to_owned(), bytes }]);
    }
    // It is in memory already. One that is too large is refused later, for what it is.
    *left = left.saturating_sub(file.bytes.len());
    Ok(vec![file])
}

fn entries(archive: &Upload, left: &mut usize) -> Result<Vec<Upload>, SchemaProblem> {
    let broken = |why: &dyn std::fmt::Display| {
        SchemaProblem::new(format!("The archive cannot be read: {why}."), "Pack it anew as a plain zip.")
            .in_file(&archive.name)
    };
    let mut zip = ZipArchive::new(Cursor::new(&archive.bytes)).map_err(|error| broken(&error))?;
    if zip.len() > limits::FILES {
        return Err(broken(&format!("it has {} entries, {} are the most", zip.len(), limits::FILES)));
    }
    let mut files = Vec::new();
    for index in 0..zip.len() {
        let entry = zip.by_index(index).map_err(|error| broken(&error))?;
        let name = entry.name().map_err(|error| broken(&error))?.replace('\\', "/");
        if !entry.is_file() || !is_wanted(&name) {
            continue;
        }
        let bytes = read_at_most(entry, left).map_err(|problem| problem.in_file(&name))?;
        files.push(Upload { name, bytes });
    }
    Ok(files)
}

/// Archives hold other files too, and some of the system that packed them.
fn is_wanted(name: &str) -> bool {
    !name.starts_with("__MACOSX/") && (name.ends_with(".proto") || is_set_name(name))
}

/// Whether a file is a descriptor set, by the endings in use.
pub fn is_set_name(name: &str) -> bool {
    const ENDINGS: [&str; 6] = ["binpb", "pb", "desc", "fds", "protoset", "protobin"];
    name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// Never unpacks more than the bytes that are `left`, however small the archive is.
fn read_at_most(reader: impl Read, left: &mut usize) -> Result<Vec<u8>, SchemaProblem> {
    let mut bytes = Vec::new();
    let most = u64::try_from(*left).unwrap_or(u64::MAX).saturating_add(1);
    let read = reader.take(most).read_to_end(&mut bytes);
    read.map_err(|error| SchemaProblem::new(format!("It cannot be unpacked: {error}."), "Pack it anew."))?;
    if let Some(rest) = left.checked_sub(bytes.len()) {
        *left = rest;
        return Ok(bytes);
    }
    let what = format!("Unpacked it is larger than the {SOURCE_BYTES} bytes that are read.");
    Err(SchemaProblem::new(what, "Leave out what no message here is made of."))
}

/// A source by its name, or by how it begins where the name does not say.
fn is_source(file: &Upload) -> bool {
    let looks_so = || begins_like_a_source(&file.bytes) && !is_set(&file.bytes);
    file.name.ends_with(".proto") || (!is_set_name(&file.name) && looks_so())
}

fn begins_like_a_source(bytes: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 7] = [b"//", b"/*", b"syntax", b"edition", b"package", b"import", b"message"];
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

fn text(file: Upload) -> Result<Source, SchemaProblem> {
    let Upload { name, bytes } = file;
    let path = match name.trim_start_matches("./").trim_start_matches('/') {
        "" => "schema.proto".to_owned(),
        path => path.to_owned(),
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let what = format!("It is not UTF-8 from byte {} on.", error.utf8_error().valid_up_to());
        SchemaProblem::new(what, "Save it as UTF-8.").in_file(&path)
    })?;
    Ok(Source { path, text })
}

/// Whether the bytes are a set, whatever they begin like: a set begins with a line feed, then come the length of a file and
/// that of its name, which may be spaces and brackets.
fn is_set(bytes: &[u8]) -> bool {
    // One of too many parts is not built to be told from others.
    scan::check(bytes).is_err() || RawSet::decode(bytes).is_ok()
}

/// What a set is taken for now and then.
fn refuse_other_formats(set: &Upload) -> Result<(), SchemaProblem> {
    let text = set.bytes.trim_ascii_start();
    let what = if set.bytes.is_empty() {
        "The file is empty."
    } else if text.starts_with(b"{") && !is_set(&set.bytes) {
        "This is JSON, not the binary form."
    } else if text.starts_with(b"file {") || text.starts_with(b"file{") || text.starts_with(b"file:") {
        "This is the text form of a set, not the binary one."
    } else {
        return Ok(());
    };
    Err(SchemaProblem::new(what, TAKES).in_file(&set.name))
}
