//! What holds for the whole house: its floors, the likeness of its two databases, the size of its files, and templates
//! without anything inline.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::store::database::TestDatabase;

/// The modules of the crate by floor, the lowest first; `src/lib.rs` says what each floor is for.
const FLOORS: [&[&str]; 6] = [
    &["domain"],
    &["clock", "config", "crash_point", "grouping"],
    &["metrics", "notify", "rabbitmq", "store"],
    &["services"],
    &["web"],
    &["app", "cli", "demo", "main"],
];

/// Who may use whom on the same floor.
const NEIGHBOURS: [(&str, &str); 3] = [("cli", "app"), ("cli", "demo"), ("demo", "app")];

/// Where it is known who asks.
const CURRENT_USER: &str = "src/web/visitor/mod.rs";

/// Lines of one file, without its tests.
const LONGEST_FILE: usize = 300;

#[test]
fn nothing_reaches_up() {
    let breaches: Vec<String> = sources()
        .iter()
        .flat_map(|file| {
            let user = module_of(file);
            let used = modules_used(&read(file));
            used.into_iter().filter(move |used| !may_use(&user, used)).map(move |used| told(file, &used))
        })
        .collect();
    assert!(breaches.is_empty(), "a module uses only the floors below it and its own folder:\n{}", breaches.join("\n"));
}

#[test]
fn every_module_has_its_floor() {
    let modules: BTreeSet<String> = sources().iter().map(|file| module_of(file)).filter(|name| name != "lib").collect();
    let on_floors: BTreeSet<String> = FLOORS.concat().into_iter().map(str::to_owned).collect();
    assert_eq!(modules, on_floors);
}

/// Pages and API are handed a `StoreReader`. It has nothing that writes, so that only the services they are handed, too,
/// can change anything.
#[test]
fn pages_and_api_have_nothing_to_write_with() {
    for file in sources().iter().filter(|file| module_of(file) == "web") {
        let source = read(file).replace("Error::Store(", "");
        let named = ["Store", "AuditedStore"].into_iter().find(|name| words(&source).any(|word| word == *name));
        assert_eq!(named, None, "{}: it takes a StoreReader", file.display());
    }
    for file in sources().iter().filter(|file| module_of(file) == "store") {
        let source = read(file);
        for block in source.split("\nimpl StoreReader {\n").skip(1).filter_map(|rest| rest.split("\n}\n").next()) {
            let writes = [".writer()", ".begin()", "\"INSERT", "\"UPDATE", "\"DELETE"];
            let found = writes.into_iter().find(|write| block.contains(write));
            assert_eq!(found, None, "{}: a StoreReader only reads", file.display());
        }
    }
}

/// Who asks is known in one place.
#[test]
fn pages_and_api_name_nobody_themselves() {
    for file in sources().iter().filter(|file| module_of(file) == "web" && !file.ends_with(CURRENT_USER)) {
        let source = read(file);
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        assert_eq!(names_somebody(code), None, "{}: who asks comes with the request, as CurrentUser", file.display());
    }
    assert!(names_somebody(&read(&root().join(CURRENT_USER))).is_some());
}

fn names_somebody(code: &str) -> Option<&'static str> {
    ["Actor::local", "Actor::named", "Actor::system"].into_iter().find(|name| code.contains(name))
}

#[test]
fn the_domain_does_no_io() {
    const CLIENTS: [&str; 6] = ["axum", "lapin", "reqwest", "sqlx", "tokio", "tracing"];
    for file in sources().iter().filter(|file| module_of(file) == "domain") {
        let source = read(file);
        let uses = code(&source).filter_map(|line| line.trim_start().trim_start_matches("pub ").strip_prefix("use "));
        for used in uses {
            let first = used.split([':', ';', ' ']).next().unwrap_or_default();
            assert!(!CLIENTS.contains(&first), "{}: the domain uses {first}", file.display());
        }
    }
}

#[test]
fn paths_are_found_however_they_are_written() {
    let source = "use crate::{domain::{a, b}, store::{self, c}, config};
        // crate::comment
        let x = crate::web::y(); $crate::broker::z!();";
    let expected = ["broker", "config", "domain", "store", "web"].map(str::to_owned);
    assert_eq!(modules_used(source), expected.into());
}

#[test]
fn no_file_is_long() {
    let long: Vec<String> = sources()
        .iter()
        .map(|file| (read(file).lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count(), file))
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .map(|(lines, file)| told(file, &format!("{lines} lines")))
        .collect();
    assert!(long.is_empty(), "more than {LONGEST_FILE} lines:\n{}", long.join("\n"));
}

/// What is renamed would no longer be left out of `make test`.
#[test]
fn tests_that_take_long_are_there() {
    let files = files_in(&root().join("tests/it"));
    let tests: String = files.iter().filter(|file| name_of(file).ends_with(".rs")).map(|file| read(file)).collect();
    let named = read(&root().join("tests/long.txt"));
    let named: Vec<&str> = named.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    for name in &named {
        let function = name.rsplit("::").next().unwrap_or_default();
        assert!(tests.contains(&format!("fn {function}(")), "tests/long.txt: there is no test {name}");
    }
    assert_eq!(named.iter().collect::<BTreeSet<_>>().len(), named.len(), "tests/long.txt names some twice");
}

#[test]
fn both_databases_are_migrated_in_the_same_steps() {
    let steps = |database: &str| -> BTreeSet<String> {
        files_in(&root().join("migrations").join(database)).iter().map(|file| name_of(file)).collect()
    };
    assert_eq!(steps("sqlite"), steps("postgres"));
    assert!(!steps("sqlite").is_empty());
}

/// Types, defaults, keys, checks and indexes: whatever is written there.
#[test]
fn both_databases_are_made_by_the_same_words() {
    /// What Postgres calls otherwise, and what only one of them has; the longer first.
    const DIALECT: [(&str, &str); 7] = [
        ("BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "INTEGER PRIMARY KEY"),
        ("DOUBLE PRECISION", "REAL"),
        ("UUID", "BLOB"),
        ("BYTEA", "BLOB"),
        (") WITH (fillfactor = 50);", ");"),
        (") WITHOUT ROWID;", ");"),
        ("INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER PRIMARY KEY"),
    ];
    let words = |database: &str, dialect: &[(&str, &str)]| -> Vec<(String, String)> {
        let mut files = files_in(&root().join("migrations").join(database));
        files.sort();
        let lines = |file: PathBuf| {
            let text = read(&file);
            // Each has its own way to say what a trigger does, to index words, and to keep a row in its key.
            let ways = ["-- Triggers,", "-- Words,", "-- Keys,"];
            let alike = ways.iter().fold(&*text, |text, way| text.split(way).next().unwrap_or_default());
            let lines = alike.lines().map(|line| line.split("--").next().unwrap_or_default().trim());
            let said =
                lines.map(|line| dialect.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to)));
            said.filter(|line| !line.is_empty()).map(|line| (name_of(&file), line)).collect::<Vec<_>>()
        };
        files.into_iter().flat_map(lines).collect()
    };
    let (sqlite, postgres) = (words("sqlite", &DIALECT[5..]), words("postgres", &DIALECT[..5]));
    let differing = sqlite.iter().zip(&postgres).find(|(sqlite, postgres)| sqlite != postgres);
    assert!(differing.is_none(), "{differing:#?}");
    assert_eq!(sqlite.len(), postgres.len());
    assert!(sqlite.len() > 200);
}

#[tokio::test]
async fn both_databases_have_the_same_tables() {
    const SQLITE: &str = "SELECT t.name || '.' || c.name || iif(c.\"notnull\" OR c.pk, '', '?')
        FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
        WHERE t.type = 'table' AND t.name NOT LIKE '\\_%' ESCAPE '\\'
            AND t.name <> 'sqlite_sequence' AND t.name NOT LIKE 'search_index' AND t.name NOT LIKE 'search_words%'";
    const POSTGRES: &str = "SELECT table_name || '.' || column_name || CASE is_nullable WHEN 'NO' THEN '' ELSE '?' END
        FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE '\\_%'
            AND table_name <> 'search_index'";
    check_alike(SQLITE, POSTGRES).await;
}

#[tokio::test]
async fn both_databases_have_the_same_indexes() {
    // Postgres adds parentheses and the types of texts to a condition.
    const SQLITE: &str = "SELECT tbl_name || ' ' || name
            || replace(replace(substr(sql, instr(sql, ' (')), '(', ''), ')', '')
        FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL";
    const POSTGRES: &str = "SELECT tablename || ' ' || indexname
            || replace(translate(substr(indexdef, strpos(indexdef, ' (')), '()', ''), '::text', '')
        FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'search_index'
        AND indexname NOT IN (SELECT conname FROM pg_constraint WHERE contype IN ('p', 'u'))";
    check_alike(SQLITE, POSTGRES).await;
}

/// Asks both databases for names of theirs.
async fn check_alike(sqlite: &str, postgres: &str) {
    let Some(other) = TestDatabase::postgres().await else { return };
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sqlite: BTreeSet<String> = TestDatabase::sqlite().await.texts(sqlite).await.into_iter().map(words).collect();
    let postgres: BTreeSet<String> = other.texts(postgres).await.into_iter().map(words).collect();
    assert_eq!(sqlite, postgres);
    assert!(!sqlite.is_empty());
}

#[test]
fn templates_hold_nothing_inline() {
    let mistakes: Vec<String> = files_in(&root().join("templates"))
        .iter()
        .flat_map(|file| inline_parts(&read(file)).into_iter().map(|what| told(file, &what)).collect::<Vec<_>>())
        .collect();
    assert!(mistakes.is_empty(), "the content security policy forbids what is inline:\n{}", mistakes.join("\n"));
}

#[test]
fn inline_parts_are_found_however_they_are_written() {
    for bad in [
        "{{ x|safe }}",
        "{{ x | safe }}",
        "{% filter safe %}",
        "<p style=\"a\">",
        "<p\nonclick = 'a'>",
        "<a {% if x %}OnLoad=a{% endif %}>",
        "<a href=\"javascript:x\">",
        "<script>x</script>",
        "<script src=a>x</script>",
        "<STYLE>x</style>",
    ] {
        assert_ne!(inline_parts(bad), [""; 0], "{bad}");
    }
    let good = "<script src=\"{{ a }}\" defer></script><p data-style=\"x\" class=\"on\">content = on = {{ safe }}</p>";
    assert_eq!(inline_parts(good), [""; 0]);
}

/// What a template would have the browser run or apply in place, or hands on without escaping.
fn inline_parts(template: &str) -> Vec<String> {
    let template = template.to_lowercase();
    let mut found = Vec::new();
    let tight: String = template.chars().filter(|c| !c.is_whitespace()).collect();
    let forbidden = ["|safe", "filtersafe", "autoescape", "javascript:", "<style"];
    found.extend(forbidden.iter().filter(|text| tight.contains(*text)).map(|text| (*text).to_owned()));
    for tag in template.split('<').skip(1).filter_map(|tag| tag.split_once('>').map(|(tag, _)| tag)) {
        let is_event = |name: &str| name.strip_prefix("on").is_some_and(|event| event.len() > 2);
        found.extend(attributes(tag).filter(|name| *name == "style" || is_event(name)).map(str::to_owned));
    }
    for script in template.split("<script").skip(1) {
        let (tag, content) = script.split_once('>').unwrap_or_default();
        if !tag.contains(" src=") || !content.trim_start().starts_with("</script>") {
            found.push("<script> with content".to_owned());
        }
    }
    found
}

/// The names that stand before an equals sign.
fn attributes(tag: &str) -> impl Iterator<Item = &str> {
    let names = tag.split('=').map(|before| before.trim_end().rsplit(|c: char| !(c.is_alphanumeric() || c == '-')));
    let equals_signs = tag.matches('=').count();
    names.take(equals_signs).filter_map(|mut parts| parts.next())
}

fn may_use(user: &str, used: &str) -> bool {
    user == used || NEIGHBOURS.contains(&(user, used)) || floor_of(used) < floor_of(user)
}

fn floor_of(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// The modules of the crate that a source names.
fn modules_used(source: &str) -> BTreeSet<String> {
    let code: String = code(source).flat_map(|line| [line, "\n"]).collect();
    code.split("crate::").skip(1).flat_map(first_names).collect()
}

/// The first names of a path, or of each path in braces.
fn first_names(path: &str) -> Vec<String> {
    let Some(list) = path.strip_prefix('{') else { return vec![first_name(path)] };
    let mut names = vec![first_name(list)];
    let mut depth = 1;
    for (position, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(first_name(&list[position + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect()
}

/// The names in it, and whatever else is written in letters.
fn words(source: &str) -> impl Iterator<Item = &str> {
    code(source).flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_')))
}

fn code(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// `store` for `src/store/db.rs`.
fn module_of(file: &Path) -> String {
    let path = file.strip_prefix(root().join("src")).unwrap_or(file);
    path.iter().next().map(|name| name.to_string_lossy().trim_end_matches(".rs").to_owned()).unwrap_or_default()
}

/// All of the crate but the files that are tests from beginning to end.
fn sources() -> Vec<PathBuf> {
    let mut files = files_in(&root().join("src"));
    files.retain(|file| file.extension().is_some_and(|end| end == "rs") && !is_test(file));
    files
}

fn is_test(file: &Path) -> bool {
    let name = name_of(file);
    let declaration = format!("#[cfg(test)]\nmod {};", name.trim_end_matches(".rs"));
    fs::read_to_string(file.with_file_name("mod.rs")).is_ok_and(|parent| parent.contains(&declaration))
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    paths.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn name_of(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn told(file: &Path, what: &str) -> String {
    format!("{}: {what}", file.strip_prefix(root()).unwrap_or(file).display())
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Columns of one line of a template.
const WIDEST_TEMPLATE: usize = 140;

#[test]
fn no_line_of_a_template_is_long() {
    let long: Vec<String> = files_in(&root().join("templates"))
        .iter()
        .flat_map(|file| {
            let source = read(file);
            let widths: Vec<usize> = source.lines().map(|line| line.chars().count()).collect();
            let long = (1..).zip(widths).filter(|(_, width)| *width > WIDEST_TEMPLATE);
            long.map(|(line, width)| told(file, &format!("line {line} has {width} columns"))).collect::<Vec<_>>()
        })
        .collect();
    assert!(long.is_empty(), "more than {WIDEST_TEMPLATE} columns:\n{}", long.join("\n"));
}

#[test]
fn every_class_has_a_part_in_its_name_a_style_and_a_use() {
    let styled: BTreeSet<String> =
        files_in(&root().join("static/css")).iter().flat_map(|file| classes_styled(&read(file))).collect();
    let used: BTreeSet<String> =
        files_in(&root().join("templates")).iter().flat_map(|file| classes_used(&read(file))).collect();
    let scripts: String = files_in(&root().join("static/js")).iter().map(|file| read(file)).collect();
    let is_styled = |name: &String| styled.iter().any(|styled| matches(name, styled));
    let is_used =
        |name: &String| used.iter().any(|used| matches(used, name)) || scripts.contains(&format!("\"{name}\""));
    let one_word: Vec<_> = styled.iter().filter(|name| !name.contains('-')).collect();
    assert!(one_word.is_empty(), "classes without the part that they belong to: {one_word:?}");
    let without_style: Vec<_> = used.iter().filter(|name| !is_styled(name)).collect();
    assert!(without_style.is_empty(), "used in templates, without a style: {without_style:?}");
    let unused: Vec<_> = styled.iter().filter(|name| !is_used(name)).collect();
    assert!(unused.is_empty(), "styled, and used by no template and no script: {unused:?}");
}

#[test]
fn classes_are_found_however_they_are_written() {
    let template = r#"<p class="a-b{% if x == "y" %} c-d{% endif %} is-{{ z }} t-{% if u %}one{% else %}two{% endif %}">{{ class }}"#;
    assert_eq!(classes_used(template), ["a-b", "c-d", "is-", "t-"].map(str::to_owned).into());
    let style =
        "/* .no */\n@import \"x.css\";\n.a-b, .c-d:has(.e-f) {\n  margin: .5em;\n  &.g-h > p {\n    top: 0;\n  }\n}";
    assert_eq!(classes_styled(style), ["a-b", "c-d", "e-f", "g-h"].map(str::to_owned).into());
}

/// Whether a class as a template names it, of which the end may come from the page's data, is this one.
fn matches(used: &str, styled: &str) -> bool {
    if used.ends_with('-') { styled.starts_with(used) } else { used == styled }
}

/// The classes in a template; of those that it puts together, the part that is always the same.
fn classes_used(template: &str) -> BTreeSet<String> {
    let values = template.split("class=\"").skip(1).map(attribute_value);
    values
        .flat_map(|value| value.split_whitespace().map(constant_part).collect::<Vec<_>>())
        .filter(|name| !name.is_empty())
        .collect()
}

/// An attribute's value up to its quote, with `\0` for each tag of the template language.
fn attribute_value(rest: &str) -> String {
    let mut value = String::new();
    let mut rest = rest;
    while let Some(at) = rest.find(['"', '{']) {
        value.push_str(&rest[..at]);
        let end = if rest[at..].starts_with("{%") { "%}" } else { "}}" };
        let Some((_, after)) = rest[at..].strip_prefix('{').and_then(|tag| tag.split_once(end)) else { break };
        value.push('\0');
        rest = after;
    }
    value
}

fn constant_part(name: &str) -> String {
    let name = name.trim_start_matches('\0');
    name.split('\0').next().unwrap_or_default().to_owned()
}

/// The classes that the selectors of a stylesheet name.
fn classes_styled(stylesheet: &str) -> BTreeSet<String> {
    let is_selector = |line: &&str| line.ends_with(['{', ',']) && !line.trim_start().starts_with('@');
    let selectors = stylesheet.lines().filter(is_selector);
    let names = selectors.flat_map(|line| line.split('.').skip(1));
    let names =
        names.map(|name| name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap_or_default());
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).map(str::to_owned).collect()
}
