//! The server's end. It has no key but its certificate's.

// A service on its ports
mod exporter;
mod grpc;
#[cfg(feature = "tls")]
mod identity;
mod incoming;
mod opening;
mod running;
mod service;
mod shards;

// Who may ask
mod askers;
mod bearers;
mod entry;
mod logins;
mod replay;
mod signed;
mod verifier;

// Bounds on what is in flight
mod address;
mod batcher;
mod door;
mod limits;
mod peer;
mod places;
mod rate;
mod shares;
mod watched;

// Changes by the owner, counts, refusals
mod changes;
mod metrics;
mod refused;

pub use exporter::Exporter;
#[cfg(feature = "tls")]
pub use identity::Identity;
pub use limits::Limits;
#[cfg(all(test, feature = "client"))]
pub(crate) use refused::Refused;
pub use running::{Listen, Running};
pub use service::Service;
pub use shards::Shards;
pub use verifier::Access;
