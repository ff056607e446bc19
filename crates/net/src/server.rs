//! The server's end of connections. It has no key of the owner or of readers. Its secrets are the private key of its
//! certificate and the keys of logins.

// A service on its ports
#[cfg(feature = "tls")]
mod certificate;
mod connections;
mod exporter;
mod grpc;
mod handshake;
mod health;
#[cfg(feature = "tls")]
mod identity;
mod indexes;
mod reply;
mod running;
mod served_index;
mod service;
mod service_state;
mod shards;
mod web;

// The clients that may send requests
mod askers;
mod bearers;
mod entry;
mod logins;
mod replay;
mod signed;
mod steps;
mod verifier;

// Limits on requests in flight
mod address;
mod admission;
mod batcher;
mod limits;
mod peer;
mod places;
mod rate;
mod shares;
mod terms;
mod timed_stream;

// Changes by the owner and by writers, counts, refusals
mod changes;
mod counts;
mod metrics;
mod rejection;
mod writers;

#[cfg(feature = "tls")]
pub use certificate::CertificateInfo;
pub use exporter::Exporter;
#[cfg(feature = "tls")]
pub use identity::Identity;
pub use indexes::Indexes;
pub use limits::Limits;
#[cfg(feature = "client")]
pub(crate) use logins::{Entrant, Logins, rate};
#[cfg(all(test, feature = "client"))]
pub(crate) use rejection::Rejection;
pub use running::{Listen, Running};
pub use service::Service;
pub use shards::Shards;
#[cfg(feature = "client")]
pub(crate) use signed::Signed;
pub use terms::Policy;
pub use verifier::Access;
