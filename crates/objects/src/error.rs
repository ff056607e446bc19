//! The reasons why an object store cannot be used at all.

/// An address or a configuration that is not one of an object store. No message has a credential in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not an address of an index in an object store.
    #[error("{address}: {why}; expected s3://BUCKET/PREFIX")]
    Address {
        /// The address.
        address: String,
        /// The fault.
        why: &'static str,
    },
    /// The environment or the system does not say how the store is reached.
    #[error("{address}: {why}")]
    Configuration {
        /// The address.
        address: String,
        /// The fault.
        why: String,
    },
}
