//! The package of Debian and the unit of systemd. packaging/try-deb.sh tries the package itself.

use std::{fs, path::Path, process::Command};

use dead_letter_office::config;
use toml::{Table, Value};

use super::read;
use crate::support::systemd_analyze;

/// What `systemd-analyze security` may say at most, in tenths. Sockets cost it 1.
const EXPOSURE: &str = "--threshold=15";

#[test]
fn the_configuration_of_the_package_is_accepted() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/debian/dlo.toml");
    let config = config::load(Some(&file), std::iter::empty()).unwrap();
    assert_eq!(config.database.url.reveal(), "sqlite:///var/lib/dlo/dlo.db");
}

/// A copy that root puts there is root's own, and the service could not open it.
#[test]
fn what_is_restored_belongs_to_the_service() {
    let unit = read("systemd/dlo.service");
    let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    let (user, group, home) = (value("User="), value("Group="), value("StateDirectory="));
    let page = read("../docs/operations/backup.md");
    let restore = page.lines().find(|line| line.ends_with(&format!(" /var/lib/{home}/dlo.db"))).unwrap();
    assert!(restore.starts_with(&format!("install -m 600 -o {user} -g {group} ")), "{restore}");
}

/// Where a command sees another configuration than the service, it may see another database.
#[test]
fn a_command_sees_what_the_service_sees() {
    let unit = read("systemd/dlo.service");
    let page = read("../docs/operations/installation.md");
    let (_, section) = page.split_once("\n### Commands beside the service\n").unwrap();
    let command = section.split("```").nth(1).unwrap();
    for key in ["User=", "EnvironmentFile=", "WorkingDirectory="] {
        let property = unit.lines().find(|line| line.starts_with(key)).unwrap();
        assert!(command.contains(&format!(" --property {property} ")), "{property} is not in{command}");
    }
    let config = unit.lines().find_map(|line| line.strip_prefix("ExecStart=dlo serve ")).unwrap();
    assert!(command.contains(&format!(" dlo {config} \"$@\"\n")), "{config} is not in{command}");
    for page in ["backup", "upgrade"] {
        let text = read(&format!("../docs/operations/{page}.md"));
        assert!(text.contains("[`as_service`](installation.md#commands-beside-the-service)"), "{page}");
        assert!(!text.contains("runuser"), "{page}");
    }
}

#[test]
fn the_package_has_what_it_names() {
    let cargo: Table = read("../Cargo.toml").parse().unwrap();
    let deb = &cargo["package"]["metadata"]["deb"];
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let assets: Vec<Vec<String>> = deb["assets"].as_array().unwrap().iter().map(texts).collect();
    for asset in &assets {
        // What is under target is made by packaging/package.sh.
        assert!(asset[0].starts_with("target/") || root.join(&asset[0]).is_file(), "there is no {}", asset[0]);
    }
    let installed: Vec<String> = assets
        .iter()
        .filter(|asset| asset[1].ends_with('/'))
        .map(|asset| format!("/{}{}", asset[1], asset[0].rsplit('/').next().unwrap()))
        .collect();
    for file in texts(&deb["conf-files"]) {
        assert!(installed.contains(&file), "{file} is not in the package");
    }
    for script in ["postinst", "prerm", "postrm"] {
        let text = read(&format!("debian/{script}"));
        assert!(text.starts_with("#!/bin/sh\nset -e\n") && text.contains("\n#DEBHELPER#\n"), "{script}");
        let checked = Command::new("sh").arg("-n").arg(root.join("packaging/debian").join(script)).status().unwrap();
        assert!(checked.success(), "{script}");
    }
}

#[test]
fn systemd_takes_the_unit() {
    let Some(systemd_analyze) = systemd_analyze() else { return };
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("dlo.service");
    // Only what is installed can be run.
    let here = format!("ExecStart={} ", env!("CARGO_BIN_EXE_dlo"));
    fs::write(&unit, read("systemd/dlo.service").replace("ExecStart=dlo ", &here)).unwrap();
    for arguments in [["verify", "--man=no"].as_slice(), &["security", "--offline=true", EXPOSURE]] {
        let checked = Command::new(&systemd_analyze).args(arguments).arg(&unit).output().unwrap();
        let said = String::from_utf8([checked.stdout, checked.stderr].concat()).unwrap();
        assert!(checked.status.success(), "{said}");
        assert!(arguments[0] == "security" || !said.contains("dlo.service:"), "{said}");
    }
}
