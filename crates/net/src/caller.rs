//! The end of a connection that asks: a client's, or the end of a server that asks shards.

mod byte_count;
mod call;
mod chunked_reply;
mod connector;
mod endpoint;
mod failure;
mod trust;
mod tunnel;

pub(crate) use call::{ask, calls, wait};
#[cfg(feature = "client")]
pub(crate) use connector::Connector;
pub use endpoint::{Deadlines, Endpoint};
