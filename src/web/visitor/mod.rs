//! Who asks, and the database as they see it.

mod store;

pub use store::GuardedStore;

use std::{
    net::IpAddr,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};

use crate::{
    domain::{
        access::{Grants, Right, Role, Session, Token, User},
        actor::{Actor, Origin, Via},
    },
    store::StoreReader,
    web::error::{WebError, codes::ProblemCode},
};

tokio::task_local! {
    /// Who asks for what is being answered, for what surrounds every page.
    static VISITOR: Visitor;
}

/// Who has asked, and from where.
#[derive(Clone)]
pub struct Visitor {
    pub who: Who,
    pub address: IpAddr,
    /// What they may, and with which queues.
    pub grants: Grants,
    /// Broker and queue of what they look at.
    here: Arc<OnceLock<(String, String)>>,
    /// The database as they see it, for one request.
    pub(super) reader: Arc<OnceLock<StoreReader>>,
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
    pub fn new(who: Who, address: IpAddr, grants: Grants) -> Self {
        Self { who, address, grants, here: Arc::default(), reader: Arc::default() }
    }

    /// Whether they may do that here or, as long as they look at nothing in particular, anywhere.
    pub fn may(&self, right: Right) -> bool {
        match self.here.get() {
            Some((broker, queue)) => self.grants.may_at(right, broker, queue),
            None => self.grants.may(right),
        }
    }

    /// Whether nobody has to sign in.
    pub const fn is_local(&self) -> bool {
        matches!(self.who, Who::Local)
    }

    /// Whether there are queues that they do not see.
    pub const fn is_confined(&self) -> bool {
        !self.grants.scope(Right::Read).is_everything()
    }

    /// Whether who asks sees what is of this queue.
    pub fn sees_queue(broker: &str, queue: &str) -> bool {
        Self::current().is_none_or(|visitor| visitor.grants.may_at(Right::Read, broker, queue))
    }

    /// From now on, who asks looks at what is of this queue.
    pub fn looks_at_queue(broker: &str, queue: Option<&str>) {
        let _ = VISITOR.try_with(|visitor| {
            visitor.here.get_or_init(|| (broker.to_owned(), queue.unwrap_or_default().to_owned()));
        });
    }

    /// Refuses who may not do that with what they look at.
    pub fn need(right: Right) -> Result<(), WebError> {
        match Self::current() {
            Some(visitor) if !visitor.may(right) => {
                Err(WebError::new(StatusCode::FORBIDDEN, visitor.refusal(right)).with_code(ProblemCode::NotAllowed))
            }
            _ => Ok(()),
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
            Who::Person(user, _) => {
                Some(Actor::named(&user.name).asking_from(from(Via::Page)).granted(self.grants.clone()))
            }
            Who::Program(token) => Some(token.actor().asking_from(from(Via::Token)).granted(self.grants.clone())),
        }
    }

    /// Under which name they, or whoever has made the token, can be given something.
    pub fn person(&self) -> Option<String> {
        match &self.who {
            Who::Program(token) => token.owner.as_ref().map(|owner| owner.name.clone()),
            _ => self.actor().map(|actor| actor.as_str().to_owned()),
        }
    }

    /// How the log calls them.
    pub fn name(&self) -> String {
        self.actor().map_or_else(String::new, |actor| actor.as_str().to_owned())
    }

    /// Why it may not do what takes that right.
    pub fn refusal(&self, right: Right) -> String {
        match &self.who {
            Who::Person(user, _) if user.teams.is_empty() || user.role == Role::Admin => {
                format!("Your role, {}, may not {}.", user.role, right.verb())
            }
            Who::Person(..) if self.here.get().is_some() => {
                format!("Your role in the team of this queue may not {}.", right.verb())
            }
            Who::Person(..) => format!("Your role in your teams may not {}.", right.verb()),
            Who::Program(token) if token.scopes.iter().any(|scope| scope.may(right)) && self.grants.may(right) => {
                format!("This token may not {} in this queue.", right.verb())
            }
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
