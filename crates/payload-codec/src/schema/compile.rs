//! From `.proto` sources to a descriptor set.
//!
//! `protox` parses; resolving is done here, file by file: a missing import is then reported with all others at once, public
//! imports of public imports are found, and no chain of imports is followed by recursion.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

use prost::Message;
use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorProto;
use protox::file::File;

use super::{
    imports, limits, place,
    pool::{of_descriptor, sentence},
    problem::SchemaProblem,
    source::Source,
    well_known,
};

/// Compiles sources that belong together to the bytes of a `FileDescriptorSet`, without the well-known files.
///
/// # Errors
/// Every mistake that could be found, with its place in the source.
pub fn compile(sources: Vec<Source>) -> Result<Vec<u8>, Vec<SchemaProblem>> {
    check_limits(&sources)?;
    let mut sources = imports::rooted(sources);
    sources.retain(|source| !well_known::is_well_known(&source.path));
    check_names(&sources)?;
    let files = parse_all(&sources)?;
    let missing = missing_imports(&sources, &files);
    if !missing.is_empty() {
        return Err(missing);
    }
    let order = in_order(&files)?;
    let pool = resolve(&files, &order)?;
    Ok(encode(&pool, &files))
}

fn check_limits(sources: &[Source]) -> Result<(), Vec<SchemaProblem>> {
    let bytes = sources.iter().fold(0_usize, |sum, source| sum.saturating_add(source.text.len()));
    let problem = if sources.is_empty() {
        SchemaProblem::new("There is no .proto file in it.", "Upload .proto sources, or a set built by protoc or buf.")
    } else if sources.len() > limits::FILES || bytes > limits::SOURCE_BYTES {
        let what = format!(
            "These are {} sources of {bytes} bytes; {} of {} bytes are the most that is compiled.",
            sources.len(),
            limits::FILES,
            limits::SOURCE_BYTES
        );
        SchemaProblem::new(what, "Compile them with protoc or buf and upload the set.")
    } else {
        return Ok(());
    };
    Err(vec![problem])
}

/// Browsers leave out folders, so that different sources may come by one name.
fn check_names(sources: &[Source]) -> Result<(), Vec<SchemaProblem>> {
    let mut seen = BTreeSet::new();
    let twice = sources.iter().filter(|source| !seen.insert(&source.path));
    let problem = |source: &Source| {
        let what = "Several sources have this name.";
        SchemaProblem::new(what, "Upload them as a zip, which keeps their folders.").in_file(&source.path)
    };
    let problems: Vec<SchemaProblem> = twice.map(problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

type Parsed = BTreeMap<String, FileDescriptorProto>;

fn parse_all(sources: &[Source]) -> Result<Parsed, Vec<SchemaProblem>> {
    let (mut parsed, mut problems) = (Parsed::new(), Vec::new());
    for source in sources {
        match parse(source) {
            Ok(file) => {
                parsed.insert(source.path.clone(), file);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(parsed) } else { Err(problems) }
}

fn parse(source: &Source) -> Result<FileDescriptorProto, SchemaProblem> {
    place::check_depth(&source.text).map_err(|problem| problem.in_file(&source.path))?;
    if let Some((line, column)) = place::of_edition(&source.text) {
        let what = "Sources of editions cannot be compiled here, sets built from them can be read.";
        let remedy =
            "Run `protoc --include_imports --descriptor_set_out=FILE …` or `buf build -o FILE` and upload FILE.";
        return Err(SchemaProblem::new(what, remedy).in_file(&source.path).at(line, column));
    }
    let parsed = catch_unwind(|| File::from_source(&source.path, &source.text));
    match parsed {
        Ok(Ok(file)) => Ok(file.file_descriptor_proto().clone()),
        Ok(Err(error)) => Err(of_parser(source, &error)),
        Err(_) => Err(SchemaProblem::new("It cannot be parsed.", "Compile it with protoc.").in_file(&source.path)),
    }
}

/// The parser says its place only in the debug form, as `file:line:column: message`.
fn of_parser(source: &Source, error: &protox::Error) -> SchemaProblem {
    let shown = format!("{error:?}");
    let problem = SchemaProblem::new(sentence(&error.to_string()), "Mend the source there and upload it again.");
    let problem = problem.in_file(&source.path);
    let place = shown.strip_prefix(&source.path).and_then(|rest| rest.strip_prefix(':'));
    let mut numbers = place.unwrap_or_default().splitn(3, ':').map(str::parse::<usize>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(line)), Some(Ok(column))) => problem.at(line, column),
        _ => problem,
    }
}

fn missing_imports(sources: &[Source], files: &Parsed) -> Vec<SchemaProblem> {
    let well_known = well_known::pool();
    let is_there = |name: &str| files.contains_key(name) || well_known.get_file_by_name(name).is_some();
    let mut missing = Vec::new();
    for source in sources {
        let imports = files.get(&source.path).into_iter().flat_map(|file| &file.dependency);
        for name in imports.filter(|name| !is_there(name)) {
            let what = format!("It imports {name:?}, which is not among the sources.");
            let problem = SchemaProblem::new(what, "Upload that file with the others.").in_file(&source.path);
            missing.push(match place::of_import(&source.text, name) {
                Some((line, column)) => problem.at(line, column),
                None => problem,
            });
        }
    }
    missing
}

/// The names of the files, each after those it imports.
fn in_order(files: &Parsed) -> Result<Vec<String>, Vec<SchemaProblem>> {
    let mut left: BTreeMap<&str, BTreeSet<&str>> = files
        .iter()
        .map(|(name, file)| {
            let imports = file.dependency.iter().filter(|import| files.contains_key(*import));
            (&**name, imports.map(String::as_str).collect())
        })
        .collect();
    let mut order = Vec::with_capacity(files.len());
    while !left.is_empty() {
        let ready: Vec<&str> = left.iter().filter(|(_, imports)| imports.is_empty()).map(|(name, _)| *name).collect();
        if ready.is_empty() {
            return Err(vec![cycle(&left)]);
        }
        left.retain(|name, _| !ready.contains(name));
        let done: BTreeSet<&str> = ready.iter().copied().collect();
        left.values_mut().for_each(|imports| imports.retain(|import| !done.contains(import)));
        order.extend(ready.into_iter().map(str::to_owned));
    }
    Ok(order)
}

fn cycle(left: &BTreeMap<&str, BTreeSet<&str>>) -> SchemaProblem {
    let mut walked: Vec<&str> = Vec::new();
    let mut at = left.keys().next().copied();
    while let Some(name) = at.filter(|name| !walked.contains(name)) {
        walked.push(name);
        at = left.get(name).and_then(|imports| imports.first()).copied();
    }
    let begin = at.and_then(|name| walked.iter().position(|walked| *walked == name)).unwrap_or_default();
    let circle = walked.get(begin..).unwrap_or_default();
    let what = format!("Files import each other in a circle: {}.", circle.join(" → "));
    let problem = SchemaProblem::new(what, "Move what they share to a file of its own.");
    circle.first().map(|file| problem.clone().in_file(*file)).unwrap_or(problem)
}

fn resolve(files: &Parsed, order: &[String]) -> Result<DescriptorPool, Vec<SchemaProblem>> {
    let mut pool = well_known::pool();
    let (mut problems, mut failed) = (Vec::new(), BTreeSet::new());
    let mut imports = imports_of_all(files)?;
    for name in order {
        let Some((file, imports)) = files.get(name).zip(imports.remove(name)) else { continue };
        // What is wrong with an import would be reported again as everything that uses it.
        if file.dependency.iter().any(|import| failed.contains(import)) {
            failed.insert(name.clone());
            continue;
        }
        let file = FileDescriptorProto { dependency: imports, public_dependency: Vec::new(), ..file.clone() };
        let added = catch_unwind(AssertUnwindSafe(|| pool.add_file_descriptor_proto(file)));
        let problem = match added {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => of_descriptor(&error),
            Err(_) => {
                return Err(vec![
                    SchemaProblem::new("It cannot be resolved.", "Compile it with protoc.").in_file(name),
                ]);
            }
        };
        failed.insert(name.clone());
        problems.push(if problem.file.is_some() { problem } else { problem.in_file(name) });
    }
    if problems.is_empty() { Ok(pool) } else { Err(problems) }
}

/// What each file imports. Where each imports the one before publicly, that is the square of their number.
fn imports_of_all(files: &Parsed) -> Result<BTreeMap<String, Vec<String>>, Vec<SchemaProblem>> {
    let (mut imports, mut n_imports) = (BTreeMap::new(), 0_usize);
    for (name, file) in files {
        let of_file = with_public_imports(file, files);
        n_imports = n_imports.saturating_add(of_file.len());
        limits::check_imports(n_imports).map_err(|problem| vec![problem])?;
        imports.insert(name.clone(), of_file);
    }
    Ok(imports)
}

/// The imports of a file, and directly what these import publicly.
fn with_public_imports(file: &FileDescriptorProto, files: &Parsed) -> Vec<String> {
    let mut dependency = file.dependency.clone();
    let mut seen: BTreeSet<String> = dependency.iter().cloned().collect();
    let mut next = 0;
    while let Some(import) = dependency.get(next) {
        let imported = files.get(import);
        let public =
            imported.into_iter().flat_map(|file| file.public_dependency.iter().map(move |index| (file, index)));
        let names = public.filter_map(|(file, index)| file.dependency.get(usize::try_from(*index).ok()?));
        let new: Vec<String> = names.filter(|name| seen.insert((*name).clone())).cloned().collect();
        dependency.extend(new);
        next += 1;
    }
    dependency
}

/// The resolved files. Their own bytes hold the options that generated types would drop.
fn encode(pool: &DescriptorPool, files: &Parsed) -> Vec<u8> {
    #[derive(Clone, PartialEq, Message)]
    struct EncodedSet {
        #[prost(bytes = "vec", repeated, tag = "1")]
        file: Vec<Vec<u8>>,
    }
    let own = files.keys().filter_map(|name| pool.get_file_by_name(name));
    EncodedSet { file: own.map(|file| file.encode_to_vec()).collect() }.encode_to_vec()
}
