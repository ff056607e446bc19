//! The connections of a caller: a client, or a server that asks shards.

#[cfg(feature = "sockets")]
mod byte_count;
#[cfg(feature = "sockets")]
mod call;
mod chunked_reply;
#[cfg(feature = "sockets")]
mod connector;
#[cfg(feature = "sockets")]
mod endpoint;
mod failure;
#[cfg(feature = "sockets")]
mod trust;
#[cfg(feature = "sockets")]
mod tunnel;

#[cfg(feature = "sockets")]
pub(crate) use call::{ask, calls, wait};
#[cfg(feature = "web-client")]
pub(crate) use chunked_reply::ChunkedReply;
#[cfg(feature = "client")]
pub(crate) use connector::Connector;
#[cfg(feature = "sockets")]
pub use endpoint::{Deadlines, Endpoint};
#[cfg(feature = "web-client")]
pub(crate) use failure::printable;
