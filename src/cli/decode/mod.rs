//! `dlo decode`: what a message in a file says, without a server.
//!
//! Knows files and arguments. It must never reach a broker or a database.

mod schemas;
mod text;

use std::{
    fs::File,
    io::{Read, stdin},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::{Message, Properties},
};
use clap::Args;
use payload_codec::{
    json,
    unwrap::{Kind, UnwrapMode},
};

use super::{USAGE_ERROR, fail, print, say};
use crate::{
    config::Config,
    services::decoding::{
        reading::{Library, Reading},
        request::DecodeRequest,
    },
    web::Decoded,
};

/// The largest file that is read, bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Levels of JSON that are indented; what is deeper is printed as it stands.
const MAX_JSON_DEPTH: usize = 512;

#[derive(Debug, Args)]
pub(super) struct DecodeArgs {
    /// The message; standard input if left out or -
    file: Option<PathBuf>,
    /// Descriptor set, .proto source, zip of these or a folder of them, as often as needed; without any, schemas.folder
    /// of the configuration
    #[arg(long = "schema", value_name = "FILE")]
    schemas: Vec<PathBuf>,
    /// Full name of the message type to read it as
    #[arg(long = "type", value_name = "NAME")]
    message_type: Option<String>,
    /// The message's property content_type
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// The message's property content_encoding
    #[arg(long, value_name = "ENCODING")]
    content_encoding: Option<String>,
    /// A header of the message, as often as needed
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// The queue it came from, used to find its type, as are the next two
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// The exchange it was published to
    #[arg(long, value_name = "NAME")]
    exchange: Option<String>,
    /// The routing key it was published under
    #[arg(long, value_name = "KEY")]
    routing_key: Option<String>,
    /// Exactly these encodings, from the outside in, by comma, like base64,gzip; without it those that are found
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    encoding: Option<Vec<Kind>>,
    /// Show the values, too, that schemas or the configuration hide
    #[arg(long)]
    reveal: bool,
    /// As JSON, in the form of the API's POST decode
    #[arg(long, conflicts_with = "raw")]
    json: bool,
    /// Only the bytes inside all encodings
    #[arg(long)]
    raw: bool,
}

/// Decodes, prints and says how it went: 0 for as asked, 1 for not so, 2 where files or arguments cannot be used.
pub(super) fn run(asked: &DecodeArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let (library, request) = match prepare(asked, config) {
        Ok(ready) => ready,
        Err(why) => return Ok(fail(&why, USAGE_ERROR)),
    };
    let reading = request.ask(&config.decode.type_headers, |question| library.read(question, asked.reveal));
    if let Some(why) = reading.refusal(&request.mode) {
        return Ok(fail(&format_args!("it cannot be decoded as requested: {why}"), 1));
    }
    Ok(print(&answer(asked, &reading)?)?)
}

fn prepare(asked: &DecodeArgs, config: &Config) -> Result<(Library, DecodeRequest), String> {
    let configured = Some(&config.schemas.folder).filter(|folder| asked.schemas.is_empty() && !folder.is_empty());
    let paths: Vec<PathBuf> = asked.schemas.iter().cloned().chain(configured.map(PathBuf::from)).collect();
    let (catalogue, remarks) = schemas::read(&paths)?;
    remarks.iter().for_each(say);
    let library = Library::new(Arc::new(catalogue), &config.decode.hidden_fields, MAX_BYTES);
    Ok((library, asked.request()?))
}

fn answer(asked: &DecodeArgs, reading: &Reading) -> Result<Vec<u8>, serde_json::Error> {
    if asked.raw {
        return Ok(reading.unwrapped.payload().to_vec());
    }
    let text = if asked.json { json(reading)? } else { text::text(reading) };
    Ok(text.into_bytes())
}

/// Indented alike, also what the message brings; numbers in it keep every digit.
fn json(reading: &Reading) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(&Decoded::new(reading))?;
    let read = json::read(&json, usize::MAX, MAX_JSON_DEPTH);
    let indented = read.map(|node| node.to_string()).unwrap_or(json);
    Ok(format!("{indented}\n"))
}

impl DecodeArgs {
    fn request(&self) -> Result<DecodeRequest, String> {
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), FieldValue::string(value.as_str())));
        let message = Message {
            exchange: self.exchange.clone().unwrap_or_default(),
            routing_key: self.routing_key.clone().unwrap_or_default(),
            properties: Properties {
                content_type: self.content_type.clone(),
                content_encoding: self.content_encoding.clone(),
                ..Properties::default()
            },
            headers: headers.collect::<FieldTable>(),
            body: body(self.file.as_deref())?,
        };
        let mode = self.encoding.clone().map_or(UnwrapMode::Automatic, UnwrapMode::Exactly);
        Ok(DecodeRequest { message, queue: self.queue.clone(), message_type: self.message_type.clone(), mode })
    }
}

fn body(file: Option<&Path>) -> Result<Vec<u8>, String> {
    match file.filter(|path| *path != Path::new("-")) {
        None => bounded(stdin().lock()).map_err(|why| format!("standard input: {why}")),
        Some(path) => contents(path),
    }
}

/// The bytes of a file.
fn contents(path: &Path) -> Result<Vec<u8>, String> {
    let read = File::open(path).map_err(|error| error.to_string()).and_then(bounded);
    read.map_err(|why| format!("{}: {why}", path.display()))
}

fn bounded(reader: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let fits = bytes.len() as u64 <= MAX_BYTES;
    fits.then_some(bytes).ok_or_else(|| format!("it has more than the {MAX_BYTES} bytes that are read"))
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it takes NAME=VALUE".to_owned()),
    }
}
