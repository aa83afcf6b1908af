//! The container image, the compose file, the manifests for Kubernetes, the workflows. packaging/try-image.sh tries the
//! image itself, packaging/validate.sh asks the schemas of those who read the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use dead_letter_office::config;

use super::{after_each, read};
use crate::web::run::dlo;

const COMPOSE: &str = "compose.yaml";
const ROLES: [&str; 4] = ["web", "intake", "retry", "notify"];

#[test]
fn the_image_has_a_check_that_the_program_knows() {
    let file = read("image/Containerfile");
    let line = |start: &str| file.lines().find_map(|line| line.trim().strip_prefix(start)).unwrap().trim().to_owned();
    assert_eq!(line("FROM"), "scratch");
    let user = line("USER");
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}: numbers, not root");
    let check: Vec<String> = serde_json::from_str(line("HEALTHCHECK").split_once("CMD").unwrap().1).unwrap();
    let start: Vec<String> = serde_json::from_str(&line("ENTRYPOINT")).unwrap();
    assert_eq!(check[0], start[0]);
    let command: Vec<String> = serde_json::from_str(&line("CMD")).unwrap();
    for arguments in [&check[1..], &command] {
        let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        words.push("--help");
        dlo(&words).run().expect(0);
    }
}

#[test]
fn settings_of_containers_are_accepted() {
    let manifests = read("kubernetes/settings.env");
    let by_secret: BTreeMap<_, _> = [
        ("DLO_DATABASE__URL", "postgres://dlo:x@postgres/dlo"),
        ("DLO_BROKERS__MAIN__URL", "amqp://dlo:x@rabbitmq/%2f"),
        ("DLO_BROKERS__MAIN__MANAGEMENT_URL", "http://dlo:x@rabbitmq:15672"),
    ]
    .into();
    let manifest = read("kubernetes/server.yaml");
    for name in by_secret.keys() {
        assert!(manifest.contains(&format!("- name: {name}\n")), "{name}");
    }
    let manifests = settings(&manifests, '=').chain(by_secret.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())));
    check("the manifests", manifests.collect());
    check(COMPOSE, settings(&read(COMPOSE), ':').collect());
}

/// What the image itself set would go before a file, and beside a secret in a file it would be refused.
#[test]
fn the_image_leaves_the_database_to_whoever_runs_it() {
    const POSTGRES: &str = "postgres://dlo:x@postgres/dlo";
    let image = read("image/Containerfile");
    assert!(image.contains("\nWORKDIR /var/lib/dlo\nVOLUME /var/lib/dlo\n"), "{image}");
    let of_image = image.replace("ENV ", "");
    let folder = tempfile::tempdir().unwrap();
    let (file, secret, empty) = (folder.path().join("dlo.toml"), folder.path().join("secret"), Path::new("/dev/null"));
    fs::write(&file, format!("[database]\nurl = \"{POSTGRES}\"\n")).unwrap();
    fs::write(&secret, POSTGRES).unwrap();
    let in_secret = ("DLO_DATABASE__URL_FILE".to_owned(), secret.to_str().unwrap().to_owned());
    let url = |file: &Path, more: Option<(String, String)>| {
        let config = config::load(Some(file), settings(&of_image, '=').chain(more)).unwrap();
        config.database.url.reveal().to_owned()
    };
    assert_eq!(url(&file, None), POSTGRES);
    assert_eq!(url(empty, Some(in_secret)), POSTGRES);
    assert_eq!(url(empty, None), "sqlite://dlo.db", "in the volume, where it runs");
}

/// Reads them as the program does.
#[track_caller]
fn check(of: &str, settings: BTreeMap<String, String>) {
    assert!(!settings.is_empty(), "{of} has no settings");
    if let Err(error) = config::load(None, settings.into_iter()) {
        panic!("{of}: {error}");
    }
}

/// The variables of ours that a text sets, with something in the place of what it has from elsewhere.
fn settings(text: &str, between: char) -> impl Iterator<Item = (String, String)> {
    let pairs = text.lines().filter_map(move |line| line.trim().split_once(between));
    pairs.filter(|(name, _)| name.starts_with("DLO_")).map(|(name, value)| {
        let value = value.trim().split("${").enumerate().map(|(n, part)| match part.split_once('}') {
            Some((variable, rest)) if n > 0 => format!("{}{rest}", variable.split_once(":-").map_or("x", |(_, it)| it)),
            _ => part.to_owned(),
        });
        (name.to_owned(), value.collect())
    })
}

#[test]
fn every_version_that_is_named_is_this_one() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(read(COMPOSE).contains(&format!("image: ${{DLO_IMAGE:-dlo:{version}}}\n")));
    assert!(read("kubernetes/kustomization.yaml").contains(&format!("newTag: {version}\n")));
}

/// No registry has it.
#[test]
fn the_image_of_the_compose_file_is_loaded_first() {
    let page = read("../docs/operations/installation.md");
    let (_, section) = page.split_once("\n## Compose\n").unwrap();
    let first = section.split("```").nth(1).unwrap().lines().nth(1).unwrap();
    let archive = format!("target/package/dlo-{}.docker.tar", env!("CARGO_PKG_VERSION"));
    assert!(first.starts_with(&format!("docker load --input {archive} ")), "{first}");
    let made = read("package.sh");
    assert!(made.contains("\nout=target/package\n") && made.contains(" archive=$out/dlo-$version.docker.tar\n"));
    let compose = read(COMPOSE);
    let (variable, _) = compose.split_once("image: ${").unwrap().1.split_once(":-").unwrap();
    assert!(read(".env.example").contains(&format!("\n#{variable}=")), "{variable}");
}

#[test]
fn what_the_compose_file_mounts_is_there() {
    let compose = read(COMPOSE);
    let mounted = compose.lines().filter_map(|line| line.trim().strip_prefix("- ./")?.split(':').next());
    let mounted: Vec<_> = mounted.map(super::path).collect();
    assert!(mounted.len() > 3, "{mounted:?}");
    for path in mounted {
        assert!(std::path::Path::new(&path).exists(), "there is no {path}");
    }
}

/// Pages answer to the names of the server alone, to be safe from other sites.
#[test]
fn prometheus_asks_where_any_name_is_answered() {
    let compose = read(COMPOSE);
    let settings: BTreeMap<_, _> = settings(&compose, ':').collect();
    let (_, port) = settings["DLO_WEB__PROBES_LISTEN"].rsplit_once(':').unwrap();
    assert!(read("prometheus/prometheus.yml").contains(&format!("targets: [\"dlo:{port}\"]\n")));
    assert!(compose.contains("\n  dlo:\n") && !compose.contains(&format!(":{port}\"")), "it is not published");
}

#[test]
fn two_servers_have_each_role_and_one_of_them_stays() {
    let kustomization = read("kubernetes/kustomization.yaml");
    let budgets = read("kubernetes/disruption.yaml");
    for role in ROLES {
        assert!(kustomization.contains(&format!("- {role}.yaml\n")), "{role}");
        let manifest = read(&format!("kubernetes/{role}.yaml"));
        // Probes and metrics are asked of every server.
        let roles = if role == "web" { "web".to_owned() } else { format!("web,{role}") };
        assert!(manifest.contains(&format!("[serve, \"--roles={roles}\"]")), "{manifest}");
        let budget = budgets.split("---").find(|budget| budget.contains(&format!("name: dlo-{role}\n"))).unwrap();
        assert!(budget.contains("maxUnavailable: 1"), "{budget}");
        for text in [budget, &manifest] {
            assert!(text.contains(&format!("app.kubernetes.io/component: {role} ")), "{text}");
        }
    }
    let all = read("kubernetes/server.yaml");
    for part in [
        "replicas: 2",
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "allowPrivilegeEscalation: false",
        "drop: [ALL]",
        "livenessProbe:",
        "readinessProbe:",
        "startupProbe:",
    ] {
        assert!(all.contains(part), "{part}");
    }
}

#[test]
fn workflows_name_what_they_use_by_its_content() {
    for workflow in ["check", "release"] {
        let text = read(&format!("../.github/workflows/{workflow}.yml"));
        let used: Vec<_> = text.lines().filter_map(|line| line.split_once("uses: ")).map(|(_, used)| used).collect();
        assert!(!used.is_empty());
        for used in used {
            let (_, version) = used.split_once('@').unwrap();
            let (hash, comment) = version.split_once(" # v").unwrap_or_else(|| panic!("{used} says no version"));
            assert!(hash.len() == 40 && hash.bytes().all(|c| c.is_ascii_hexdigit()) && !comment.is_empty(), "{used}");
        }
        for target in after_each("make ", &text) {
            assert!(read("../Makefile").contains(&format!("\n{target}:")), "there is no make {target}");
        }
    }
}

#[test]
fn every_rabbitmq_of_the_rig_is_tested() {
    let rig = read("../tests/rig/release.sh");
    let unpacked = rig.lines().filter_map(|line| line.trim().split_once(") suite=")).map(|(version, _)| version);
    let rig: BTreeSet<&str> = unpacked.filter(|version| *version != "''").chain(["3.10"]).collect();
    let workflow = read("../.github/workflows/check.yml");
    let (_, list) = workflow.split_once("rabbitmq: [").unwrap();
    let tested = list.split(']').next().unwrap().split(", ").map(|version| version.trim_matches('"')).collect();
    assert_eq!(rig, tested);
}
