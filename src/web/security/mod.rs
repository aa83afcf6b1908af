//! What keeps other sites and other names out, and foreign content quiet.

mod cross_site;
mod headers;
mod hosts;
mod user;

pub use cross_site::refuse_other_sites;
pub use headers::set_headers;
pub use hosts::{Hosts, refuse_foreign_hosts};
pub use user::CurrentUser;
