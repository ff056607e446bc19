//! The end of a connection that asks: a client's, and that of a server which asks shards.

mod asking;
mod collected;
mod connector;
mod counted;
mod endpoint;
mod failure;
mod trust;

pub(crate) use asking::{ask, calls, wait};
#[cfg(feature = "client")]
pub(crate) use connector::Connector;
pub use endpoint::{Deadlines, Endpoint};
