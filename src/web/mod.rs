//! Floor 4: what a browser and a script see.
//!
//! Pages work as plain HTML; htmx makes them quick by asking for one block of the same page (`?part=`). The JSON API
//! has types of its own. This floor decides how things are shown, asked for and refused. It knows no SQL and no AMQP, and
//! it has nothing to change the database with: each change goes through a service, which takes who makes it, and from there
//! through [`AuditedStore`](crate::services::audited_store::AuditedStore).
//!
//! A request comes in by `server`, which limits it, and `security`, which says who asks. `input` and `query` read it, `orders`
//! makes of it what is to be done. `pages` and `api` answer it with what `shared` finds and, for people, `view` puts into words;
//! what is wrong is an `error`. All of them work with the `state`, and the `router` sends each request where it belongs.

mod api;
mod assets;
mod docs;
mod error;
mod events;
mod handlers;
mod health;
mod htmx;
mod input;
mod orders;
mod pages;
mod problem;
mod query;
mod router;
mod security;
mod server;
mod shared;
mod state;
mod view;
mod visitor;

pub use api::Decoded;
pub use error::codes::{FaultCode, ProblemCode};
pub use router::{probes, router};
pub use security::{Need, Peer, table as routes};
pub use server::{
    Bounds, serve,
    tls::{Certificate, CertificateFiles},
};
pub use state::{
    AppState, WebSettings, last_figures::LastFigures, limits::Limits, seen_changes::SeenChanges,
    view_counts::ViewCounts,
};
pub use visitor::GuardedStore;
