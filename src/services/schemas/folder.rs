//! A folder whose schemas are taken in as they change.
//!
//! Every descriptor set in it is a schema of its own, all `.proto` sources together are one more. What is removed from
//! the folder stays in the database. An event of the file system is only a hint: the folder is read anew then, and every
//! now and then without one.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    path::{Path, PathBuf},
    time::Duration,
};

use amqp_message::time::Timestamp;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use payload_codec::schema::{MAX_FILES, MAX_SOURCE_BYTES, SchemaProblem, Upload, hash, is_set_name, unpack};
use tokio::{sync::mpsc, task::spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::{Delivery, SchemaError, Schemas};
use crate::{
    domain::{actor::Actor, schema::SchemaSource},
    services::worker::{Next, Worker},
};

/// How long after an event the folder is read: a build writes many files.
const SETTLE: Duration = Duration::from_millis(300);
/// How often it is read without an event: network file systems send none.
const POLL: Duration = Duration::from_secs(10);
/// Folders within folders.
const DEPTH: usize = 16;

/// What is known of the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderState {
    pub path: String,
    pub read_at: Timestamp,
    /// What could not be taken in; the version before stays in force.
    pub problems: Vec<SchemaProblem>,
}

pub struct Folder {
    path: PathBuf,
    schemas: Schemas,
    /// The files of each schema as they were last read, as a hash, and what was wrong with them.
    seen: BTreeMap<String, (String, Vec<SchemaProblem>)>,
    is_first: bool,
    hint: mpsc::Sender<()>,
    hints: mpsc::Receiver<()>,
    /// `None` where the folder cannot be watched, or not yet.
    watcher: Option<RecommendedWatcher>,
}

impl Worker for Folder {
    const NAME: &'static str = "schemas' folder";
    type Error = Infallible;

    fn every(&self) -> Duration {
        POLL
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, Infallible> {
        while self.hints.try_recv().is_ok() {}
        if self.watcher.is_none() {
            self.watcher = watch(&self.path, self.hint.clone());
        }
        self.read().await;
        Ok(Next::Later)
    }

    async fn called(&mut self) {
        self.hints.recv().await;
        tokio::time::sleep(SETTLE).await;
    }
}

impl Folder {
    pub fn new(path: PathBuf, schemas: Schemas) -> Self {
        let (hint, hints) = mpsc::channel(1);
        Self { path, schemas, seen: BTreeMap::new(), is_first: true, hint, hints, watcher: None }
    }

    /// Reads the folder and takes in what has changed.
    pub async fn read(&mut self) {
        let path = self.path.clone();
        let found = spawn_blocking(move || collect(&path)).await.unwrap_or_else(|error| Err(error.to_string()));
        let problems = match found {
            Ok(groups) => self.take_in(groups).await,
            Err(why) => vec![self.unreadable(&why)],
        };
        let state = FolderState {
            path: self.path.display().to_string(),
            read_at: self.schemas.clock.now(),
            problems: problems.clone(),
        };
        self.schemas.folder.send_if_modified(|current| {
            let is_new = current.as_ref().is_none_or(|current| current.problems != state.problems);
            if is_new {
                problems.iter().for_each(|problem| tracing::warn!(schemas.folder = state.path, "{problem}"));
            }
            *current = Some(state);
            is_new
        });
    }

    async fn take_in(&mut self, groups: BTreeMap<String, Vec<Upload>>) -> Vec<SchemaProblem> {
        self.seen.retain(|name, _| groups.contains_key(name));
        let mut problems = Vec::new();
        for (name, files) in groups {
            let fingerprint = fingerprint(&files);
            let unchanged = self.seen.get(&name).filter(|(before, _)| *before == fingerprint);
            let found = match unchanged {
                Some((_, problems)) => problems.clone(),
                None => match self.deliver(&name, files).await {
                    Ok(()) => Vec::new(),
                    Err(SchemaError::Invalid(problems)) => problems,
                    // Not noted as seen, so it is tried again.
                    Err(SchemaError::Store(error)) => {
                        tracing::debug!(error = %error, "a schema of the folder cannot be kept at the moment");
                        let what = "The database cannot keep it at the moment.";
                        problems.push(SchemaProblem::new(what, "It is tried again every few seconds.").in_file(&name));
                        continue;
                    }
                },
            };
            problems.extend(found.iter().cloned());
            self.seen.insert(name, (fingerprint, found));
        }
        self.is_first = false;
        problems
    }

    /// What the database knows already when dlo opens is not brought again: somebody may have uploaded a newer
    /// version by hand since.
    async fn deliver(&self, name: &str, files: Vec<Upload>) -> Result<(), SchemaError> {
        if self.is_first {
            let unpacking = files.clone();
            let unpacked = spawn_blocking(move || unpack(unpacking)).await;
            if let Ok(Ok(bytes)) = unpacked
                && self.schemas.knows(&bytes)
            {
                return Ok(());
            }
        }
        let (name, by) = (Some(name.to_owned()), Actor::system());
        self.schemas.upload(Delivery { files, name, source: SchemaSource::Folder, by }).await.map(drop)
    }

    fn unreadable(&self, why: &str) -> SchemaProblem {
        let what = format!("The folder {} cannot be read: {why}.", self.path.display());
        SchemaProblem::new(what, "Mend that, or name another in schemas.folder.")
    }
}

/// `None` where the system does not report changes there; then reading it every now and then has to do.
fn watch(path: &Path, hint: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    // Where a hint waits already, one more says nothing new.
    let tell = move |_: notify::Result<notify::Event>| {
        let _ = hint.try_send(());
    };
    let watching = notify::recommended_watcher(tell)
        .and_then(|mut watcher| watcher.watch(path, RecursiveMode::Recursive).map(|()| watcher));
    watching.inspect_err(|error| tracing::debug!(error = %error, "the folder of schemas is polled")).ok()
}

/// The files of each schema in a folder: sets by their own names, all sources under that of the folder.
///
/// # Errors
/// Why the folder cannot be read.
pub fn collect(root: &Path) -> Result<BTreeMap<String, Vec<Upload>>, String> {
    let mut groups: BTreeMap<String, Vec<Upload>> = BTreeMap::new();
    let mut left = MAX_SOURCE_BYTES.saturating_mul(2);
    for path in files_below(root)? {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let is_source = name.ends_with(".proto");
        if !is_source && !is_set_name(&name) {
            continue;
        }
        let told = |error: std::io::Error| format!("{name}: {error}");
        let size = std::fs::metadata(&path).map_err(told)?.len();
        left = usize::try_from(size).ok().and_then(|size| left.checked_sub(size)).ok_or_else(|| {
            format!("it holds more than the {} bytes that are read", MAX_SOURCE_BYTES.saturating_mul(2))
        })?;
        let bytes = std::fs::read(&path).map_err(told)?;
        let group = if is_source { folder_name(root) } else { name.clone() };
        groups.entry(group).or_default().push(Upload { name, bytes });
    }
    Ok(groups)
}

/// What all sources together are called.
fn folder_name(root: &Path) -> String {
    root.file_name().map_or_else(|| "sources".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// In order of their names; what begins with a dot is left out, and so are links to folders, which may lead in circles.
fn files_below(root: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut folders) = (Vec::new(), vec![(root.to_owned(), 0)]);
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| error.to_string())? {
            let entry = entry.map_err(|error| error.to_string())?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            if kind.is_dir() && depth < DEPTH {
                folders.push((entry.path(), depth + 1));
            } else if entry.path().is_file() {
                files.push(entry.path());
            }
            if files.len() > MAX_FILES {
                return Err(format!("it holds more than {} files", MAX_FILES));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn fingerprint(files: &[Upload]) -> String {
    let lines: Vec<String> = files.iter().map(|file| format!("{} {}", hash(&file.bytes), file.name)).collect();
    hash(lines.join("\n").as_bytes())
}
