//! `dlo user` and `dlo token`: who may come in.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::Duration,
};

use amqp_message::time::Timestamp;
use clap::Subcommand;

use super::print;
use crate::{
    app::People,
    config::{Config, values::parse_duration},
    domain::{
        access::{Membership, Role, Scope, Token, User, read_memberships, write_memberships},
        actor::Actor,
    },
    services::sign_in::WantedToken,
};

#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Add somebody; the password is asked for, or read from standard input
    Add {
        name: String,
        /// viewer, operator or admin
        #[arg(long, default_value = "viewer")]
        role: Role,
        /// A team of [auth.teams], as payments (with the role of --role) or payments=viewer; who is in any sees its queues only.
        /// May be repeated
        #[arg(long = "team", value_name = "TEAM[=ROLE]", value_parser = read_team)]
        teams: Vec<String>,
    },
    /// List all users
    List,
    /// Keep somebody out; all their sessions end
    Disable { name: String },
    /// Let somebody in again
    Enable { name: String },
    /// Set another password; all their sessions end
    Reset { name: String },
    /// Remove somebody, with all their sessions and tokens; what they did stays in the activity
    Remove { name: String },
    /// Give somebody another role: viewer, operator or admin
    Role { name: String, role: Role },
    /// Put somebody into these teams and no others; without any they see all again
    Teams {
        name: String,
        #[arg(value_name = "TEAM[=ROLE]", value_parser = read_team)]
        teams: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it; it cannot be seen again
    Add {
        name: String,
        /// What it may, by comma: read, payload, act, markers, admin
        #[arg(long, value_delimiter = ',', default_value = "read")]
        scopes: Vec<Scope>,
        /// Only for the queues of this team of [auth.teams]; may be repeated
        #[arg(long = "team", value_name = "TEAM")]
        teams: Vec<String>,
        /// How long it lasts, as 90d, at most 3650d; `never` for one that does not expire
        #[arg(long, default_value = "90d", value_parser = lasts)]
        expires: Lasts,
    },
    /// List all tokens
    List,
    /// End a token, by its name or its id
    Remove { token: String },
}

/// How long a token lasts; none for ever.
#[derive(Clone, Copy, Debug)]
pub struct Lasts(Option<Duration>);

fn lasts(text: &str) -> Result<Lasts, String> {
    match text {
        "never" => Ok(Lasts(None)),
        _ => match parse_duration(text)? {
            Duration::ZERO => Err("it would have ended already; it takes a time such as 90d, or never".to_owned()),
            lasts => Ok(Lasts(Some(lasts))),
        },
    }
}

pub async fn user(command: UserCommand, config: &Config) -> anyhow::Result<ExitCode> {
    let (users, by) = (People::open(config).await?.users, Actor::command_line());
    let said = match command {
        UserCommand::Add { name, role, teams } => {
            let teams = known_teams(&teams, config)?;
            users.add(&name, &password()?, (role, &teams), &by).await?;
            format!("added {name} as {role}\n")
        }
        UserCommand::List => users.all().await?.iter().map(user_line).collect(),
        UserCommand::Disable { name } => {
            users.disable(&name, true, &by).await?;
            format!("{name} may not come in any more\n")
        }
        UserCommand::Enable { name } => {
            users.disable(&name, false, &by).await?;
            format!("{name} may come in again\n")
        }
        UserCommand::Reset { name } => {
            users.reset(&name, &password()?, &by).await?;
            format!("{name} has another password\n")
        }
        UserCommand::Remove { name } => {
            users.remove(&name, &by).await?;
            format!("{name} is removed\n")
        }
        UserCommand::Teams { name, teams } => {
            let teams = known_teams(&teams, config)?;
            users.set_teams(&name, &teams, &by).await?;
            format!(
                "{name} is in the teams: {}\n",
                if teams.is_empty() { "none".to_owned() } else { write_memberships(&teams) }
            )
        }
        UserCommand::Role { name, role } => {
            users.set_role(&name, role, &by).await?;
            format!("{name} has the role {role}\n")
        }
    };
    Ok(print(said.as_bytes())?)
}

pub async fn token(command: TokenCommand, config: &Config) -> anyhow::Result<ExitCode> {
    let (tokens, by) = (People::open(config).await?.tokens, Actor::command_line());
    let said = match command {
        TokenCommand::Add { name, scopes, teams, expires: Lasts(lasts) } => {
            teams.iter().try_for_each(|team| check_known(team, config))?;
            let wanted = WantedToken { name: &name, scopes, owner: None, teams, lasts };
            format!("{}\n", tokens.add(wanted, &by).await?)
        }
        TokenCommand::List => tokens.all().await?.iter().map(token_line).collect(),
        TokenCommand::Remove { token: which } => {
            let by_id = match which.parse() {
                Ok(id) => tokens.by_id(id).await?,
                Err(_) => None,
            };
            let meant = if by_id.is_some() { by_id.into_iter().collect() } else { tokens.called(&which).await? };
            match &meant[..] {
                [token] => tokens.revoke(token, &by).await?,
                [] => anyhow::bail!("there is no token {which:?}"),
                _ => anyhow::bail!("several tokens are called {which:?}; name it by its id, see `dlo token list`"),
            };
            format!("{which} is removed\n")
        }
    };
    Ok(print(said.as_bytes())?)
}

/// Asked for on a terminal, twice; otherwise the first line of standard input.
fn password() -> anyhow::Result<String> {
    if !io::stdin().is_terminal() {
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        return Ok(line.trim_end_matches(['\n', '\r']).to_owned());
    }
    let password = rpassword::prompt_password("Password: ")?;
    if rpassword::prompt_password("Again: ")? != password {
        anyhow::bail!("the two passwords differ");
    }
    Ok(password)
}

/// A team, with a role or without.
fn read_team(text: &str) -> Result<String, String> {
    Membership::read(text).map(|_| text.to_owned())
}

/// These teams, in order and each once.
fn known_teams(teams: &[String], config: &Config) -> anyhow::Result<Vec<Membership>> {
    let teams = read_memberships(&teams.join(",")).map_err(anyhow::Error::msg)?;
    teams.iter().try_for_each(|membership| check_known(&membership.team, config))?;
    Ok(teams)
}

fn check_known(team: &str, config: &Config) -> anyhow::Result<()> {
    let teams = &config.auth.teams;
    anyhow::ensure!(
        teams.contains_key(team),
        "there is no team {team:?}; the configuration has them as [auth.teams.NAME]"
    );
    Ok(())
}

fn user_line(user: &User) -> String {
    let state = match user {
        User { is_disabled: true, .. } => "disabled",
        User { is_withdrawn: true, .. } => "no role any more",
        _ => "",
    };
    let teams = write_memberships(&user.teams);
    format!("{:<24} {:<9} {:<9} {state:<8} {teams}", user.name, user.role.as_str(), user.source.as_str())
        .trim_end()
        .to_owned()
        + "\n"
}

/// When that was, in UTC.
fn at_second(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn token_line(token: &Token) -> String {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    let owner = token.owner.as_ref().map_or("-", |owner| &*owner.name);
    let teams = token.teams.join(",");
    let used = token
        .used_at
        .map_or_else(|| "never used".to_owned(), |at| format!("used {} from {}", at_second(at), token.used_from));
    let expires =
        token.expires_at.map_or_else(|| "never expires".to_owned(), |at| format!("expires {}", at_second(at)));
    format!(
        "{} {:<24} {:<16} {:<24} {used}, {expires} {teams}",
        token.id.as_uuid(),
        token.name,
        owner,
        scopes.join(",")
    )
    .trim_end()
    .to_owned()
        + "\n"
}
