//! Who may come in, and as what: for admins.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, StatusCode, request::Parts},
    response::Response,
};
use uuid::Uuid;

use super::{
    account::{TokenRow, back},
    fragment,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    config::AuthMode,
    domain::access::{Membership, Role, Token, TokenId, User, read_memberships, write_memberships},
    services::sign_in::{SHORTEST, UsersError},
    store::UserError,
    web::{
        error::{WebError, codes::FaultCode},
        input::{FormPairs, QueryPairs},
        query::{Pager, address, listed_page},
        state::AppState,
        view::{text, time::Moment},
        visitor::CurrentUser,
    },
};

/// Users, and tokens, of a page.
const ROWS: u32 = 200;
const PAGE: &str = "/users";
/// Where on it the tokens are.
const TOKENS: &str = "#all-tokens-title";

#[derive(Template)]
#[template(path = "users/page.html")]
struct UsersPage {
    shell: Shell,
    /// The query of this page, for forms to lead back to it.
    place: String,
    users: Vec<UserRow>,
    more_users: Pager,
    tokens: Vec<TokenRow>,
    more_tokens: Pager,
    roles: Vec<&'static str>,
    /// Names of those that the configuration has, by comma.
    known_teams: String,
    /// Whether they have passwords and roles here, and not where they come from.
    has_passwords: bool,
    /// Whether nobody has to sign in.
    is_open: bool,
    shortest: usize,
    form: AddForm,
}

/// Who is to be added, as it was typed, and why that was refused.
#[derive(Default)]
struct AddForm {
    user: String,
    role: String,
    teams: String,
    wrong: String,
}

struct UserRow {
    name: String,
    role: &'static str,
    teams: String,
    source: &'static str,
    signed_in: Option<Moment>,
    is_disabled: bool,
    is_withdrawn: bool,
}

impl UserRow {
    fn new(user: &User, now: Timestamp) -> Self {
        Self {
            name: user.name.clone(),
            role: user.role.as_str(),
            teams: write_memberships(&user.teams),
            source: user.source.as_str(),
            signed_in: user.signed_in_at.map(|at| Moment::new(at, now)),
            is_disabled: user.is_disabled,
            is_withdrawn: user.is_withdrawn,
        }
    }
}

/// Behind which user, and which token by name and id, the lists begin.
pub struct Places {
    user: String,
    token: (String, Uuid),
}

impl<S: Sync> FromRequestParts<S> for Places {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, WebError> {
        let QueryPairs(mut pairs) = QueryPairs::from_request_parts(parts, state).await?;
        let mut name = |of| Ok::<_, WebError>(pairs.take(of)?.unwrap_or_default());
        let (user, token) = (name("after")?, name("after_token")?);
        Ok(Self { user, token: (token, pairs.take_parsed("token")?.unwrap_or_default()) })
    }
}

impl Places {
    /// What leads to them behind the address of the page, or of what is done there.
    fn query(&self) -> String {
        let (token, id) = &self.token;
        let id = if token.is_empty() { String::new() } else { id.to_string() };
        address("", [("after", &*self.user), ("after_token", &**token), ("token", &*id)].into_iter())
    }

    fn users(&self, last: Option<User>) -> Pager {
        Pager {
            first: (!self.user.is_empty()).then(|| PAGE.to_owned()),
            next: last.map(|last| address(PAGE, [("after", &*last.name)].into_iter())),
            ..Pager::default()
        }
    }

    fn tokens(&self, last: Option<Token>) -> Pager {
        let list = |page: &str| format!("{page}{TOKENS}");
        let behind = |last: Token| {
            let id = last.id.as_uuid().to_string();
            list(&address(PAGE, [("after_token", &*last.name), ("token", &*id)].into_iter()))
        };
        let first = (!self.token.0.is_empty()).then(|| list(PAGE));
        Pager { first, next: last.map(behind), ..Pager::default() }
    }
}

pub async fn show(State(app): State<Arc<AppState>>, places: Places, headers: HeaderMap) -> Result<Response, WebError> {
    let mut page = load(&app, &places, AddForm::default()).await?;
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

async fn load(app: &AppState, places: &Places, form: AddForm) -> Result<UsersPage, WebError> {
    let (now, token) = (app.clock.now(), (&*places.token.0, TokenId::from_uuid(places.token.1)));
    let (users, last_user) = listed_page(app.users.behind(&places.user, ROWS + 1).await?, ROWS as usize);
    let (tokens, last_token) = listed_page(app.tokens.behind(token, ROWS + 1).await?, ROWS as usize);
    Ok(UsersPage {
        shell: Shell::load(app, Page::Users).await?,
        place: places.query(),
        users: users.iter().map(|user| UserRow::new(user, now)).collect(),
        more_users: places.users(last_user),
        tokens: tokens.iter().map(|token| TokenRow::new(token, now)).collect(),
        more_tokens: places.tokens(last_token),
        roles: Role::ALL.iter().map(|role| role.as_str()).collect(),
        known_teams: app.sign_in.config().teams.keys().cloned().collect::<Vec<_>>().join(", "),
        has_passwords: app.sign_in.mode() == AuthMode::Password,
        is_open: app.sign_in.mode() == AuthMode::None,
        shortest: SHORTEST,
        form,
    })
}

pub async fn add(
    State(app): State<Arc<AppState>>,
    by: CurrentUser,
    places: Places,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    has_passwords(&app)?;
    let (name, password) = (pairs.take("user")?.unwrap_or_default(), pairs.take("password")?.unwrap_or_default());
    let role: Role = pairs.need("role")?;
    let typed = pairs.take("teams")?.unwrap_or_default();
    let (added, teams) = match known_teams(&app, &typed) {
        Ok(teams) => (app.users.add(&name, &password, (role, &teams), &by).await, write_memberships(&teams)),
        Err(why) => (Err(UsersError::Unfit(why)), String::new()),
    };
    match added {
        Err(error) if !matches!(error, UsersError::User(UserError::Store(_))) => {
            let wrong = format!("{}.", text::capitalized(&error.to_string()));
            let form = AddForm { user: name, role: role.to_string(), teams: typed, wrong };
            let page = load(&app, &places, form).await?;
            Ok(fragment::refused(page.render()?, &page.shell))
        }
        added => {
            let with = if teams.is_empty() { String::new() } else { format!(", in the teams {teams}") };
            tell(&places, added, format!("Added {name} as {role}{with}."))
        }
    }
}

/// Another role, or whether they may come in.
pub async fn change(
    State(app): State<Arc<AppState>>,
    by: CurrentUser,
    places: Places,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let name = pairs.take("user")?.unwrap_or_default();
    let what: String = pairs.need("change")?;
    match &*what {
        "role" => {
            has_passwords(&app)?;
            let role: Role = pairs.need("role")?;
            tell(&places, app.users.set_role(&name, role, &by).await, format!("{name} has the role {role}."))
        }
        "teams" => {
            let typed = pairs.take("teams")?.unwrap_or_default();
            let teams = match known_teams(&app, &typed) {
                Ok(teams) => teams,
                Err(why) => return tell(&places, Err(UsersError::Unfit(why)), String::new()),
            };
            let text = match &*teams {
                [] => format!("{name} sees all queues."),
                teams => format!("{name} is in the teams {}.", write_memberships(teams)),
            };
            tell(&places, app.users.set_teams(&name, &teams, &by).await, text)
        }
        "disable" => {
            tell(&places, app.users.disable(&name, true, &by).await, format!("{name} may not come in any more."))
        }
        "enable" => tell(&places, app.users.disable(&name, false, &by).await, format!("{name} may come in again.")),
        _ => Err(WebError::parameter("change", FaultCode::Choice, "it takes role, teams, disable or enable")),
    }
}

/// Those of the configuration that somebody is to be in, or what is wrong with what was typed.
fn known_teams(app: &AppState, typed: &str) -> Result<Vec<Membership>, String> {
    let teams = read_memberships(typed)?;
    let config = app.sign_in.config();
    match teams.iter().find(|membership| !config.teams.contains_key(&membership.team)) {
        Some(unknown) => Err(format!("there is no team {:?}", unknown.team)),
        None => Ok(teams),
    }
}

/// Ends a token, whoever has made it.
pub async fn revoke(
    State(app): State<Arc<AppState>>,
    by: CurrentUser,
    places: Places,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id: Uuid = pairs.need("token")?;
    let token = app.tokens.by_id(id).await?;
    let token = token.ok_or_else(|| WebError::not_found("There is no such token any more."))?;
    app.tokens.revoke(&token, &by).await?;
    let list = format!("{PAGE}{}{TOKENS}", places.query());
    Ok(back(&list, &Toast::done(format!("The token {} is revoked.", token.name))))
}

/// Elsewhere users and roles are what the provider or the proxy says.
fn has_passwords(app: &AppState) -> Result<(), WebError> {
    if app.sign_in.mode() == AuthMode::Password {
        return Ok(());
    }
    let why = "Users and their roles are not kept here: auth.mode and [auth.roles] say where they come from.";
    Err(WebError::new(StatusCode::CONFLICT, why))
}

fn tell(places: &Places, done: Result<(), UsersError>, text: String) -> Result<Response, WebError> {
    let toast = match done {
        Ok(()) => Toast::done(text),
        Err(UsersError::User(UserError::Store(error))) => return Err(error.into()),
        Err(error) => Toast::failed(format!("Nothing was changed: {error}.")),
    };
    Ok(back(&format!("{PAGE}{}", places.query()), &toast))
}
