#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The messages and calls of `proto/sordino.proto`, for other clients and servers.
pub mod schema;

// The two ends of a connection. A server whose index is on shards has both ends.
#[cfg(any(feature = "web-client", feature = "server"))]
mod caller;
#[cfg(feature = "web-client")]
mod client;
#[cfg(feature = "server")]
mod server;

// Modules of both ends.
mod error;
mod index_name;
#[cfg(any(feature = "web-client", feature = "server"))]
mod login;
mod origins;
#[cfg(all(feature = "tls", feature = "sockets"))]
mod pem;
#[cfg(any(feature = "web-client", feature = "server"))]
mod protocol;
mod public_key;
mod refusal;
#[cfg(all(feature = "client", feature = "server"))]
mod rehearsal;
#[cfg(any(feature = "web-client", feature = "server"))]
mod signature;
#[cfg(feature = "web-client")]
mod signing;

#[cfg(feature = "sockets")]
pub use caller::{Deadlines, Endpoint};
#[cfg(feature = "client")]
pub use client::{Connection, Pushed, Traffic};
#[cfg(feature = "web-client")]
pub use client::{KeyFile, KeyKind, Post, WebConnection, WebReply, WebRequest};
pub use error::Error;
pub use index_name::IndexName;
pub use origins::{CrossOrigin, Origin};
pub use public_key::ClientPublicKey;
pub use refusal::Refusal;
#[cfg(all(feature = "client", feature = "server"))]
#[doc(hidden)]
pub use rehearsal::Rehearsal;
#[cfg(feature = "server")]
pub use server::{Access, Exporter, Indexes, Limits, Listen, Policy, Running, Service, Shards};
#[cfg(all(feature = "server", feature = "tls"))]
pub use server::{CertificateInfo, Identity};
#[cfg(feature = "web-client")]
pub use signing::{ChangeSigner, ClientKey};
