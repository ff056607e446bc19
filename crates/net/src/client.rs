//! The client's end, and the owner's.

mod connection;
mod key_file;
mod push;

pub use connection::{Connection, Traffic};
pub use key_file::{KeyFile, KeyKind};
pub use push::Pushed;
