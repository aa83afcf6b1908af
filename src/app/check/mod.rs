//! `dlo check`: one line for each thing that has to be reached.

mod machine;
mod risks;

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use payload_codec::schema::{Schema, SchemaProblem, unpack};

use crate::{
    app::{answer, unconfigured},
    clock::Clock,
    config::{AuthMode, BrokerConfig, Config},
    domain::{
        number::plural,
        watch::{HintKind, SettingHint, hints, without_exchange},
    },
    notify::{Channel, Reach, Sender},
    rabbitmq::ConsumingSession,
    services::{notifications::channels::Channels, rules, schemas::collect},
    store::{Store, StoreError},
};

/// Reaches database and brokers and prints how that went.
pub async fn check(config: &Config) -> ExitCode {
    let mut failed = false;
    let mut report = |what: String, outcome: Result<(), String>| {
        failed |= outcome.is_err();
        print(&what, outcome);
    };
    report("configuration".to_owned(), Ok(()));
    let (remark, database) = database(config).await;
    report(format!("database{remark}"), database.as_ref().map(drop).map_err(Clone::clone));
    let store = database.as_ref().ok().and_then(Option::as_ref);
    for (name, broker) in &config.brokers {
        report(format!("broker {name} ({})", broker.address()), reach(name, broker).await);
        if let Some((found, outcome)) = management(broker).await {
            let can_ask = outcome.is_ok();
            report(format!("management API of {name}{found}"), outcome);
            for hint in if can_ask { missing_settings(config, broker).await } else { Vec::new() } {
                note(&hint);
            }
        }
    }
    for (what, outcome) in surroundings(config, store).await {
        report(what, outcome);
    }
    let folder = &config.schemas.folder;
    if !folder.is_empty() {
        let (holds, problem) = match schemas(Path::new(folder)) {
            Ok(holds) => (format!(": {holds}"), Ok(())),
            Err(why) => (String::new(), Err(why)),
        };
        report(format!("schemas in {folder}{holds}"), problem);
    }
    let file = &config.rules.file;
    if !file.is_empty() {
        let read = rules::read_file(Path::new(file)).await.map_err(|why| without_name(file, why));
        let holds = read.as_ref().map(|rules| format!(": {}", plural(rules.len() as u64, "rule"))).unwrap_or_default();
        report(format!("rules in {file}{holds}"), read.map(drop));
    }
    if config.auth.mode == AuthMode::Oidc {
        let provider = format!("OpenID provider {}", config.auth.oidc.issuer);
        report(provider, openid(config).await);
    }
    match Channels::new(&config.notify) {
        Err(why) => report("notify".to_owned(), Err(why.to_string())),
        Ok(channels) => {
            for (name, channel) in channels.all() {
                report(name, probe(config, channel).await);
            }
        }
    }
    if config.auth.mode == AuthMode::Password && database.is_ok() && lacks_admin(store).await {
        note("there is no admin yet: `dlo user add NAME --role admin` makes one, or a link in the log of `dlo serve`");
    }
    if let Some(store) = store {
        // What cannot be read is no failure of a check.
        unconfigured(store, config).await.unwrap_or_default().iter().for_each(|broker| note(broker));
    }
    for risk in risks::risks(config) {
        note(&risk);
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// A remark, and the database, or why it cannot be used. A file that is not there yet is not created by a mere check.
async fn database(config: &Config) -> (String, Result<Option<Store>, String>) {
    if let Some(file) = Store::missing_file(config.database.url.reveal()) {
        let missing = |command: &str| format!("{} does not exist yet; `{command}` creates it", file.display());
        return match config.database.auto_migrate {
            true => (format!(": {}", missing("dlo serve")), Ok(None)),
            false => (String::new(), Err(missing("dlo migrate"))),
        };
    }
    (String::new(), open(config).await.map(Some).map_err(|error| error.to_string()))
}

async fn open(config: &Config) -> Result<Store, StoreError> {
    let store = Store::open(config.database.url.reveal()).await?;
    store.ping().await?;
    match config.database.auto_migrate {
        // An older one is brought to this version by `dlo serve`.
        true => store.refuse_newer().await?,
        false => store.check_version().await?,
    }
    Ok(store)
}

/// Disk, clock and certificate, as far as there are any.
async fn surroundings(config: &Config, store: Option<&Store>) -> Vec<(String, Result<(), String>)> {
    let disk = machine::disk(config.database.url.reveal());
    let clock = database_clock(store).await.map(|outcome| ("clock".to_owned(), outcome));
    let certificate = config.web.tls.is_set().then(|| {
        let read = crate::app::web::certificate(config).map(drop);
        let what = format!("certificate {}", config.web.tls.cert_file.display());
        (what, read.map_err(|error| error.root_cause().to_string()))
    });
    [disk, clock, certificate].into_iter().flatten().collect()
}

/// None where there is no such clock; what else is wrong with the database is said already.
async fn database_clock(store: Option<&Store>) -> Option<Result<(), String>> {
    let theirs = store?.server_time().await.ok()??;
    Some(machine::clock(&Clock::system(), theirs))
}

/// Whether nobody can manage users; nobody is in a database that is not there yet.
async fn lacks_admin(store: Option<&Store>) -> bool {
    match store {
        Some(store) => !store.has_admin().await.unwrap_or(false),
        None => true,
    }
}

/// The line of a check names the file already.
fn without_name(file: &str, why: String) -> String {
    why.strip_prefix(&format!("{file}: ")).map_or(why.clone(), str::to_owned)
}

/// Nothing is declared by a mere check.
async fn reach(name: &str, broker: &BrokerConfig) -> Result<(), String> {
    ConsumingSession::check(name, broker).await.map_err(|error| error.to_string())
}

/// What the management API says of itself, where one is named, and why it does not answer.
async fn management(broker: &BrokerConfig) -> Option<(String, Result<(), String>)> {
    let management = match crate::app::watch::management(broker).transpose()? {
        Err(error) => return Some((String::new(), Err(error.to_string()))),
        Ok(Err(error)) => return Some((String::new(), Err(error.to_string()))),
        Ok(Ok(management)) => management,
    };
    let address = management.address();
    Some(match management.probe().await {
        Ok(probe) => (format!(" ({address}): {probe}"), Ok(())),
        Err(error) => (format!(" ({address})"), Err(error.to_string())),
    })
}

/// Which settings of services are likely missing. What cannot be read is no failure of a check.
async fn missing_settings(config: &Config, broker: &BrokerConfig) -> Vec<String> {
    let Ok(Some(Ok(management))) = crate::app::watch::management(broker) else { return Vec::new() };
    let settings = crate::app::watch::settings(config, broker);
    let Ok(queues) = management.queues().await else { return Vec::new() };
    let feeds = management.feeds(&[&broker.dead_letter_queue, &broker.obituary_queue]).await.ok();
    // One look has to do.
    let mut requeuing: BTreeSet<String> = queues.iter().map(|level| level.name.clone()).collect();
    let hints = hints(&settings, &queues, feeds.as_ref(), &mut requeuing);
    let single = hints.iter().filter(|hint| hint.kind != HintKind::NoDeadLetterExchange);
    let docs = |hint: &SettingHint| {
        let address = config.web.public_url.as_str().trim_end_matches('/');
        hint.docs().map(|page| format!(" {}: {address}{}", page.title, page.path())).unwrap_or_default()
    };
    let single = single.map(|hint| format!("queue {}: {}{}", hint.queue, hint.sentence(&settings), docs(hint)));
    single.chain(without_exchange(&hints, &settings)).collect()
}

/// Nobody is signed in by a mere check.
async fn openid(config: &Config) -> Result<(), String> {
    let provider = crate::app::services::oidc(config).map_err(|error| error.to_string())?;
    provider.probe().await.map_err(|error| error.to_string())
}

/// Nobody is notified by a mere check.
async fn probe(config: &Config, channel: &Channel) -> Result<(), String> {
    let sender =
        Sender::new(Clock::system(), &Reach::new(&config.outgoing.private)).map_err(|error| error.to_string())?;
    sender.check(channel).await.map_err(|error| error.to_string())
}

/// How many schemas the folder holds, and how many types these describe.
fn schemas(folder: &Path) -> Result<String, String> {
    let first = |name: &str, problems: &[SchemaProblem]| match problems.first() {
        Some(problem) => format!("{name}: {problem}"),
        None => format!("{name} cannot be read"),
    };
    let (mut n_schemas, mut types) = (0_usize, BTreeSet::new());
    for (name, files) in collect(folder)? {
        let set = unpack(files).map_err(|problems| first(&name, &problems))?;
        let schema = Schema::read(&name, &set).map_err(|problems| first(&name, &problems))?;
        n_schemas += 1;
        types.extend(schema.types().iter().cloned());
    }
    let (schemas, n_types) = (if n_schemas == 1 { "schema" } else { "schemas" }, types.len());
    Ok(format!("{n_schemas} {schemas}, {n_types} {}", if n_types == 1 { "type" } else { "types" }))
}

fn note(what: &str) {
    answer(format_args!("note  {what}"));
}

fn print(what: &str, outcome: Result<(), String>) {
    match outcome {
        Ok(()) => answer(format_args!("ok    {what}")),
        Err(why) => answer(format_args!("FAIL  {what}: {why}")),
    }
}
