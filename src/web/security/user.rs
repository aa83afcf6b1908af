//! Who asks.

use std::{net::IpAddr, ops::Deref};

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{
    domain::{
        access::{Right, Role, Session, Token, User},
        actor::{Actor, Origin, Via},
    },
    web::error::WebError,
};

tokio::task_local! {
    /// Who asks for what is being answered, for what surrounds every page.
    static VISITOR: Visitor;
}

/// Who has asked, and from where.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub who: Who,
    pub address: IpAddr,
}

#[derive(Clone, Debug)]
pub enum Who {
    /// Nobody has to sign in: everybody may do everything.
    Local,
    /// Nobody who is known.
    Nobody,
    Person(User, Option<Session>),
    Program(Token),
}

impl Visitor {
    pub fn may(&self, right: Right) -> bool {
        match &self.who {
            Who::Local => true,
            Who::Nobody => false,
            Who::Person(user, _) => user.role.may(right),
            Who::Program(token) => token.may(right),
        }
    }

    pub const fn is_known(&self) -> bool {
        !matches!(self.who, Who::Nobody)
    }

    /// The person with an account here.
    pub const fn user(&self) -> Option<&User> {
        match &self.who {
            Who::Person(user, _) => Some(user),
            _ => None,
        }
    }

    pub const fn session(&self) -> Option<&Session> {
        match &self.who {
            Who::Person(_, session) => session.as_ref(),
            _ => None,
        }
    }

    /// Under which name it is recorded what is done.
    fn actor(&self) -> Option<Actor> {
        let from = |via| Origin { via, address: Some(self.address) };
        match &self.who {
            Who::Local => Some(Actor::local()),
            Who::Nobody => None,
            Who::Person(user, _) => Some(Actor::named(&user.name).asking_from(from(Via::Page))),
            Who::Program(token) => Some(token.actor().asking_from(from(Via::Token))),
        }
    }

    /// How the log calls them.
    pub fn name(&self) -> String {
        self.actor().map_or_else(String::new, |actor| actor.as_str().to_owned())
    }

    /// Why it may not do what takes that right.
    pub fn refusal(&self, right: Right) -> String {
        match &self.who {
            Who::Person(user, _) => format!("Your role, {}, may not {}.", user.role, right.verb()),
            Who::Program(token) => {
                let scopes = token.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ");
                let owner = token.owner.as_ref().filter(|owner| !owner.role.may(right));
                let and = owner.map(|owner| format!(", and its owner is {}", a(owner.role))).unwrap_or_default();
                format!("This token may not {}: it has the scope {scopes}{and}.", right.verb())
            }
            Who::Local | Who::Nobody => "Sign in first.".to_owned(),
        }
    }

    /// Does something in the name of this visitor.
    pub async fn during<T>(self, work: impl Future<Output = T>) -> T {
        VISITOR.scope(self, work).await
    }

    /// Makes something that this visitor looks at.
    pub fn looks_at<T>(&self, work: impl FnOnce() -> T) -> T {
        VISITOR.sync_scope(self.clone(), work)
    }

    /// Who asks for what is being answered; none where that does not depend on it.
    pub fn current() -> Option<Self> {
        VISITOR.try_with(Clone::clone).ok()
    }
}

impl Visitor {
    /// Whether who asks may see what is in messages. What nobody asks for is not withheld.
    pub fn sees_payloads() -> bool {
        Self::current().is_none_or(|visitor| visitor.may(Right::Payload))
    }
}

fn a(role: Role) -> String {
    format!("{} {role}", if role == Role::Viewer { "a" } else { "an" })
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(WebError::unauthorized)
    }
}

/// Who asks, by name; every handler that changes something takes it.
pub struct CurrentUser(Actor);

impl<S: Sync> FromRequestParts<S> for CurrentUser {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        let actor = parts.extensions.get::<Visitor>().and_then(Visitor::actor);
        actor.map(Self).ok_or_else(WebError::unauthorized)
    }
}

impl Deref for CurrentUser {
    type Target = Actor;

    fn deref(&self) -> &Actor {
        &self.0
    }
}
