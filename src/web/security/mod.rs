//! What keeps other sites and other names out, foreign content quiet, and each to what they may.

mod access;
mod address;
mod cookies;
mod cross_site;
mod gate;
mod guard;
mod headers;
mod hosts;
mod identity;
mod own_path;

pub use access::{Need, missing as missing_right, need_of, table};
pub use address::{Peer, is_within};
pub use cookies::{PrivateCookie, cookie};
pub use cross_site::refuse_other_sites;
pub use guard::{guard, sign_in_page};
pub use headers::set_headers;
pub use hosts::{Hosts, PROBES, refuse_foreign_hosts};
pub use identity::{client_of, has_token, visitor_of};
pub use own_path::own_path;
