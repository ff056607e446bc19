#![doc = include_str!("../README.md")]

/// The messages and calls of `proto/sordino.proto`, for those who write another client or server.
pub mod schema;

// The client
mod collected;
mod connection;
mod connector;
mod counted;
mod endpoint;
mod push;
mod trust;

// The server
mod address;
mod askers;
mod batcher;
mod changes;
mod door;
mod exporter;
mod grpc;
#[cfg(feature = "tls")]
mod identity;
mod incoming;
mod limits;
mod metrics;
mod opening;
mod peer;
mod places;
mod rate;
mod running;
mod service;
mod shares;
mod watched;

// Who may ask
mod key_file;
mod replay;
mod signature;
mod verifier;

mod error;
mod refusal;

pub use connection::{Connection, Traffic};
pub use endpoint::{Deadlines, Endpoint};
pub use error::Error;
pub use exporter::Exporter;
#[cfg(feature = "tls")]
pub use identity::Identity;
pub use key_file::{KeyFile, KeyKind};
pub use limits::Limits;
pub use push::Pushed;
pub use refusal::Refusal;
pub use running::{Listen, Running};
pub use service::Service;
pub use signature::{ClientKey, ClientPublicKey};
pub use verifier::Access;
