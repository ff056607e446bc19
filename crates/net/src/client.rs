//! The client's end, and the owner's.

mod connection;
mod key_file;
mod login;
mod named;
mod push;

pub use connection::{Connection, Traffic};
pub use key_file::{KeyFile, KeyKind};
#[cfg(feature = "server")]
pub(crate) use login::Login;
pub use push::Pushed;
