//! From the files of a set to a pool of descriptors, without whatever cannot be used.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    panic::catch_unwind,
};

use prost::Message;
use prost_reflect::DescriptorPool;

use super::{
    complete::{Completed, complete},
    editions, limits,
    problem::SchemaProblem,
    raw::{RawFile, RawSet},
    sane_options::{self, Unread},
    validate, well_known,
};

/// Files that are left out, one after the other, until it is clear that the set as a whole is no good. Each costs
/// building all the others again.
const MAX_FAULTY: usize = 20;

pub struct Built {
    pub pool: DescriptorPool,
    /// The files the set describes, each with its package; well-known ones not among them.
    pub files: BTreeMap<String, String>,
    /// Files that are imported and not there, and the first file that imports each.
    pub missing_files: BTreeMap<String, String>,
    /// Types that are used and not there, and the first file that uses each.
    pub missing_types: BTreeMap<String, String>,
    /// Files that were left out or not read in full, and why.
    pub faults: Vec<SchemaProblem>,
}

/// # Errors
/// When nothing of the set can be used: each reason.
pub fn build(set: RawSet) -> Result<Built, Vec<SchemaProblem>> {
    limits::check(&set).map_err(|problem| vec![problem])?;
    let mut faults = Vec::new();
    let mut files = usable(set.file, &mut faults);
    while faults.len() <= MAX_FAULTY && files.iter().any(is_own) {
        let missing_files = missing_imports(&files);
        let Completed { files: completed, missing } = complete(with_well_known(files.clone()));
        match decode(completed) {
            Ok(pool) => {
                let own = files.into_iter().filter(is_own);
                return Ok(Built {
                    pool,
                    files: own.filter_map(|file| Some((file.name?, file.package.unwrap_or_default()))).collect(),
                    missing_files,
                    missing_types: missing,
                    faults,
                });
            }
            Err(problem) if problem.file.is_none() && mend_options(&mut files, &mut faults) => {}
            Err(problem) => {
                let before = files.len();
                files.retain(|file| file.name != problem.file);
                let is_in_vain = files.len() == before;
                faults.push(problem);
                if is_in_vain {
                    break;
                }
            }
        }
    }
    if faults.is_empty() {
        let remedy = "Build it with `protoc --include_imports --descriptor_set_out=FILE …` or `buf build -o FILE`.";
        faults.push(SchemaProblem::new("The set describes no file of its own.", remedy));
    }
    Err(faults)
}

/// Passes over options that do not fit. The answer is whether there were any.
fn mend_options(files: &mut [RawFile], faults: &mut Vec<SchemaProblem>) -> bool {
    let mut bare = files.to_vec();
    for file in &mut bare {
        sane_options::mend(file, Unread::All);
    }
    let Ok(pool) = decode(complete(with_well_known(bare)).files) else { return false };
    let before = faults.len();
    let mended = files.iter_mut().filter_map(|file| sane_options::mend(file, Unread::Unfit(&pool)).then_some(&*file));
    faults.extend(mended.map(passed_over));
    faults.len() > before
}

fn passed_over(file: &RawFile) -> SchemaProblem {
    let remedy = "Build the set anew with protoc or buf, and with the files that declare the options.";
    let problem = SchemaProblem::new("Some of its options cannot be read and are passed over.", remedy);
    problem.in_file(file.name.clone().unwrap_or_default())
}

fn is_own(file: &RawFile) -> bool {
    file.name.as_deref().is_some_and(|name| !well_known::is_well_known(name))
}

/// The files that are in order by themselves.
fn usable(files: Vec<RawFile>, faults: &mut Vec<SchemaProblem>) -> Vec<RawFile> {
    let mut usable = each_once(files, faults);
    for file in &mut usable {
        if sane_options::mend(file, Unread::Uninterpreted) {
            faults.push(passed_over(file));
        }
    }
    usable.retain_mut(|file| {
        let name = file.name.clone().unwrap_or_default();
        let checked = editions::lower(file).and_then(|()| validate::validate(file));
        checked.map_err(|problem| faults.push(problem.in_file(name))).is_ok()
    });
    usable
}

/// `prost-reflect` passes over the second file of a name without a word
/// (<https://github.com/andrewhickman/prost-reflect/issues/39>).
fn each_once(files: Vec<RawFile>, faults: &mut Vec<SchemaProblem>) -> Vec<RawFile> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<RawFile> = Vec::with_capacity(files.len());
    for file in files {
        let name = file.name.clone().unwrap_or_default();
        if name.is_empty() || name.len() > limits::FILE_NAME_BYTES {
            faults.push(SchemaProblem::new("A file has no usable name.", "Build the set with protoc or buf."));
        } else if let Some(first) = places.get(&name).and_then(|place| kept.get(*place)) {
            faults.extend((*first != file).then(|| twice(&name)));
        } else if !well_known::is_ours(&name) {
            places.insert(name, kept.len());
            kept.push(file);
        }
    }
    kept
}

fn twice(name: &str) -> SchemaProblem {
    let what = "The set holds this file twice, with different contents; the first one counts.";
    SchemaProblem::new(what, "Upload the two as sets of their own.").in_file(name)
}

fn missing_imports(files: &[RawFile]) -> BTreeMap<String, String> {
    let there: BTreeSet<&str> =
        files.iter().chain(well_known::files()).filter_map(|file| file.name.as_deref()).collect();
    let mut missing = BTreeMap::new();
    for file in files {
        let imports = file.dependency.iter().filter(|name| !there.contains(&***name));
        for name in imports {
            missing.entry(name.clone()).or_insert_with(|| file.name.clone().unwrap_or_default());
        }
    }
    missing
}

/// Ours come first, so that whatever declares the same types again is what is left out.
fn with_well_known(files: Vec<RawFile>) -> Vec<RawFile> {
    well_known::files().iter().cloned().chain(files).collect()
}

fn decode(file: Vec<RawFile>) -> Result<DescriptorPool, SchemaProblem> {
    let bytes = RawSet { file }.encode_to_vec();
    let decoded = catch_unwind(|| DescriptorPool::decode(bytes.as_slice()));
    let error = match decoded {
        Ok(Ok(pool)) => return Ok(pool),
        Ok(Err(error)) => error,
        Err(_) => return Err(SchemaProblem::new("It has a shape that cannot be read.", "")),
    };
    Err(of_descriptor(&error))
}

/// What is wrong with a file, and what to do about it.
pub fn of_descriptor(error: &prost_reflect::DescriptorError) -> SchemaProblem {
    let reason = error.to_string();
    let remedy = if reason.contains("is not defined") {
        "Mend the name, or import the file that declares it."
    } else if reason.contains("already defined") || reason.contains("defined twice") || reason.contains("already used")
    {
        "Rename or renumber one of the two."
    } else {
        "Mend it in the source and build it again."
    };
    let problem = SchemaProblem::new(sentence(&reason), remedy);
    let problem = error.file().map(|file| problem.clone().in_file(file)).unwrap_or(problem);
    match (error.line(), error.column()) {
        (Some(line), Some(column)) => problem.at(line.saturating_add(1), column.saturating_add(1)),
        _ => problem,
    }
}

/// Messages of libraries are clauses.
pub fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}
