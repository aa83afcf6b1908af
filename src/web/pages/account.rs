//! What is one's own: sessions, tokens, the password, and what one may.

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{
    extract::State,
    http::{Extensions, HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use uuid::Uuid;

use super::{
    shell::{Page, Shell},
    sign_in::{told, welcome},
    toast::Toast,
};
use crate::{
    domain::access::{Right, Role, Scope, Session, Source, Token, User, write_memberships},
    services::sign_in::{SHORTEST, TokenError, WantedToken},
    web::{
        error::{WebError, codes::FaultCode},
        input::FormPairs,
        security::{Peer, client_of},
        state::AppState,
        view::{agent, time::Moment},
        visitor::{CurrentUser, Visitor},
    },
};

/// How long a token lasts, as offered: days, and words.
const LASTS: [(u64, &str); 4] = [(30, "30 days"), (90, "90 days"), (365, "a year"), (0, "for ever")];

#[derive(Template)]
#[template(path = "account/page.html")]
struct AccountPage {
    shell: Shell,
    name: String,
    role: &'static str,
    teams: String,
    /// For tokens.
    offered_teams: Vec<String>,
    source: String,
    may: Vec<&'static str>,
    may_not: Vec<&'static str>,
    sessions: Vec<SessionRow>,
    tokens: Vec<TokenRow>,
    scopes: Vec<(&'static str, &'static str)>,
    lasts: [(u64, &'static str); 4],
    /// The text of a token that was just made; it is shown once.
    made: Option<String>,
    has_password: bool,
    shortest: usize,
    problem: String,
    /// Why a password was not changed.
    password_problem: String,
}

struct SessionRow {
    id: Uuid,
    browser: String,
    address: String,
    begun: Moment,
    seen: Moment,
    is_this: bool,
}

impl SessionRow {
    fn new(session: &Session, this: Option<&Session>, now: Timestamp) -> Self {
        Self {
            id: session.id,
            browser: agent::describe(&session.agent),
            address: session.address.clone(),
            begun: Moment::new(session.created_at, now),
            seen: Moment::new(session.seen_at, now),
            is_this: this.is_some_and(|this| this.id == session.id),
        }
    }
}

/// A token as it is listed.
pub(super) struct TokenRow {
    pub id: Uuid,
    pub name: String,
    pub owner: String,
    pub scopes: String,
    pub teams: String,
    pub used: Option<Moment>,
    pub used_from: String,
    pub expires: Option<Moment>,
    pub is_over: bool,
}

impl TokenRow {
    pub fn new(token: &Token, now: Timestamp) -> Self {
        Self {
            id: token.id.as_uuid(),
            name: token.name.clone(),
            owner: token.owner.as_ref().map(|owner| owner.name.clone()).unwrap_or_default(),
            scopes: token.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", "),
            teams: token.teams.join(", "),
            used: token.used_at.map(|at| Moment::new(at, now)),
            used_from: token.used_from.clone(),
            expires: token.expires_at.map(|at| Moment::new(at, now)),
            is_over: token.expires_at.is_some_and(|at| at <= now),
        }
    }
}

/// What is new on the page.
#[derive(Default)]
struct News {
    made: Option<String>,
    problem: String,
    password_problem: String,
    status: StatusCode,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let mut page = load(&app, &visitor, News::default()).await?;
    page.shell.toast = Toast::from_cookie(&headers);
    let clears = page.shell.toast.is_some();
    let mut response = Html(page.render()?).into_response();
    if clears {
        response.headers_mut().append(header::SET_COOKIE, Toast::clearing_cookie());
    }
    Ok(response)
}

async fn answer(app: &AppState, visitor: &Visitor, news: News) -> Result<Response, WebError> {
    let status = news.status;
    Ok((status, Html(load(app, visitor, news).await?.render()?)).into_response())
}

async fn load(app: &AppState, visitor: &Visitor, news: News) -> Result<AccountPage, WebError> {
    let (user, now) = (own(visitor)?, app.clock.now());
    let (sessions, tokens) = (app.sign_in.sessions(user.id).await?, app.tokens.of(user.id).await?);
    let rights =
        |may: bool| Right::ALL.iter().filter(|right| visitor.may(**right) == may).map(|right| right.verb()).collect();
    let offered =
        Scope::ALL.iter().filter(|scope| Right::ALL.iter().any(|right| scope.may(*right) && visitor.may(*right)));
    Ok(AccountPage {
        shell: Shell::load(app, Page::Account).await?,
        name: user.name.clone(),
        role: user.role.as_str(),
        teams: write_memberships(&user.teams),
        offered_teams: offered_teams(app, user),
        source: match user.source {
            Source::Password => "by password".to_owned(),
            Source::Oidc => format!("through {}", app.sign_in.oidc().map_or("OpenID", |oidc| oidc.name())),
            Source::Proxy => "by the proxy in front".to_owned(),
        },
        may: rights(true),
        may_not: rights(false),
        sessions: sessions.iter().map(|session| SessionRow::new(session, visitor.session(), now)).collect(),
        tokens: tokens.iter().map(|token| TokenRow::new(token, now)).collect(),
        scopes: offered.map(|scope| (scope.as_str(), about(*scope))).collect(),
        lasts: LASTS,
        has_password: user.source == Source::Password,
        shortest: SHORTEST,
        made: news.made,
        problem: news.problem,
        password_problem: news.password_problem,
    })
}

const fn about(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "lists, counts, and what failed why; metrics",
        Scope::Payload => "what is in messages, and what is hidden in them",
        Scope::Act => "retry, edit, discard, annotate",
        Scope::Markers => "set and remove markers, as CI does",
        Scope::Admin => "policies, rules, schemas, digests",
    }
}

/// The teams that a token can be confined to.
fn offered_teams(app: &AppState, user: &User) -> Vec<String> {
    let theirs = user.teams.iter().map(|membership| &membership.team);
    let config = app.sign_in.config();
    let configured = config.teams.keys();
    if user.teams.is_empty() || user.role == Role::Admin {
        configured.cloned().collect()
    } else {
        theirs.cloned().collect()
    }
}

fn own(visitor: &Visitor) -> Result<&User, WebError> {
    visitor.user().ok_or_else(WebError::unauthorized)
}

pub async fn change_password(
    State(app): State<Arc<AppState>>,
    visitor: Visitor,
    by: CurrentUser,
    headers: HeaderMap,
    extensions: Extensions,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let (old, new) = (pairs.take("old")?.unwrap_or_default(), pairs.take("new")?.unwrap_or_default());
    let client = client_of(&app, Peer::of(&extensions), &headers);
    match app.sign_in.change_password(own(&visitor)?, &old, &new, &by, &client).await {
        Ok(secret) => {
            let mut response = welcome(&app, &secret, "/account");
            let toast = Toast::done("The password is changed. All other sessions have ended.");
            response.headers_mut().extend(toast.to_cookie().map(|cookie| (header::SET_COOKIE, cookie)));
            Ok(response)
        }
        Err(error) => {
            let (status, password_problem) = told(error)?;
            answer(&app, &visitor, News { password_problem, status, ..News::default() }).await
        }
    }
}

/// Ends one session, or all but this one.
pub async fn end_sessions(
    State(app): State<Arc<AppState>>,
    visitor: Visitor,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let user = own(&visitor)?;
    let toast = match pairs.take_parsed::<Uuid>("session")? {
        Some(session) => {
            app.sign_in.end_session(user.id, session).await?;
            "The session has ended."
        }
        None => {
            let this = visitor.session().map(|session| session.id).unwrap_or_default();
            app.sign_in.end_other_sessions(user.id, this).await?;
            "All other sessions have ended."
        }
    };
    Ok(back("/account", &Toast::done(toast)))
}

pub async fn add_token(
    State(app): State<Arc<AppState>>,
    visitor: Visitor,
    by: CurrentUser,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let name = pairs.take("name")?.unwrap_or_default();
    let scopes = pairs.take_all("scope").iter().map(|word| word.parse()).collect::<Result<Vec<Scope>, _>>();
    let scopes = scopes.map_err(|why| WebError::parameter("scope", FaultCode::Choice, why))?;
    let days: u64 = pairs.take_parsed("days")?.unwrap_or(90);
    let lasts = (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60)));
    let (teams, offered) = (pairs.take_all("team"), offered_teams(&app, own(&visitor)?));
    if let Some(unknown) = teams.iter().find(|team| !offered.contains(*team)) {
        return Err(WebError::parameter("team", FaultCode::Choice, format!("there is no team {unknown:?} for you")));
    }
    let wanted = WantedToken { name: &name, scopes, owner: Some(own(&visitor)?.clone()), teams, lasts };
    let news = match app.tokens.add(wanted, &by).await {
        Ok(text) => News { made: Some(text), ..News::default() },
        Err(TokenError::Store(error)) => return Err(error.into()),
        Err(error) => News { problem: error.to_string(), status: StatusCode::UNPROCESSABLE_ENTITY, ..News::default() },
    };
    answer(&app, &visitor, news).await
}

pub async fn revoke(
    State(app): State<Arc<AppState>>,
    visitor: Visitor,
    by: CurrentUser,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id: Uuid = pairs.need("token")?;
    let owner = own(&visitor)?.id;
    let is_own = |token: &Token| token.owner.as_ref().is_some_and(|its| its.id == owner);
    let token = app.tokens.by_id(id).await?.filter(is_own);
    let token = token.ok_or_else(|| WebError::not_found("There is no such token of yours."))?;
    app.tokens.revoke(&token, &by).await?;
    Ok(back("/account", &Toast::done(format!("The token {} is revoked.", token.name))))
}

/// Back to a page of ours, which says what was done.
pub(super) fn back(page: &str, toast: &Toast) -> Response {
    let mut response = Redirect::to(page).into_response();
    response.headers_mut().extend(toast.to_cookie().map(|cookie| (header::SET_COOKIE, cookie)));
    response
}
