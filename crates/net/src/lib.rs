#![doc = include_str!("../README.md")]

/// The messages and calls of `proto/sordino.proto`, for those who write another client or server.
pub mod schema;

// The client
mod connection;
mod counted;
mod endpoint;

// The server
mod addresses;
mod batcher;
mod exporter;
mod grpc;
#[cfg(feature = "tls")]
mod identity;
mod incoming;
mod limits;
mod metrics;
mod rate;
mod running;
mod service;

// Who may ask
mod proof;
mod replay;
mod verifier;

mod error;

pub use connection::{Connection, Traffic};
pub use endpoint::{Deadlines, Endpoint};
pub use error::{Error, Refusal};
#[cfg(feature = "tls")]
pub use identity::Identity;
pub use limits::Limits;
pub use proof::{ClientKey, ClientPublicKey};
pub use running::{Listen, Running};
pub use service::Service;
pub use verifier::Access;
