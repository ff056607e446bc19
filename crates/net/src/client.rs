//! The client's end, and the owner's.

// A connection
mod collected;
mod connection;
mod connector;
mod counted;
mod endpoint;
mod failure;
mod trust;

// Keys
mod key_file;
mod login;
mod signing;

// An owner's changes
mod push;

pub use connection::{Connection, Traffic};
pub use endpoint::{Deadlines, Endpoint};
pub use key_file::{KeyFile, KeyKind};
#[cfg(all(test, feature = "server"))]
pub(crate) use login::Login;
pub use push::Pushed;
pub use signing::ClientKey;
