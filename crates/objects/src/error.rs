//! The reasons why an object store cannot be used.

/// An address or a configuration of an object store is wrong. No message contains a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is not that of an index in an object store.
    #[error("{address}: {why}; expected s3://BUCKET/PREFIX")]
    Address {
        /// The address.
        address: String,
        /// The reason.
        why: &'static str,
    },
    /// The environment or the system does not say how to reach the store.
    #[error("{address}: {why}")]
    Configuration {
        /// The address.
        address: String,
        /// The reason.
        why: String,
    },
}
