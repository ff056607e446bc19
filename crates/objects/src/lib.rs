#![doc = include_str!("../README.md")]

mod address; // s3://bucket/prefix
mod age; // the time for which a file stays that no version names
mod bounded_body; // replies that are read whole
mod change; // an owner's change, from the lock to the newest version
mod disk; // objects as files
mod download; // files, in pieces
mod error;
mod objects; // an index in a store
mod retry; // callers wait for requests
mod upload; // files, whole or not at all

pub use address::Address;
pub use error::Error;
pub use objects::Objects;
pub use retry::RetryPolicy;
