//! The client's end of a connection, and the owner's end.

#[cfg(feature = "client")]
mod connection;
mod key_file;
mod login;
#[cfg(feature = "client")]
mod named;
#[cfg(feature = "client")]
mod push;
mod web;

#[cfg(feature = "client")]
pub use connection::{Connection, Traffic};
pub use key_file::{KeyFile, KeyKind};
#[cfg(feature = "server")]
pub(crate) use login::Login;
#[cfg(feature = "client")]
pub use push::Pushed;
pub use web::{Post, WebConnection, WebReply, WebRequest};
