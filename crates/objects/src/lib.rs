#![doc = include_str!("../README.md")]

mod address; // s3://bucket/prefix
mod age; // when files that no version names may be removed
mod bounded_body; // bounds on replies that are read as a whole
mod change; // an owner's change, from the lock to the newest version
mod disk; // objects as files
mod download; // files, in pieces
mod error;
mod objects; // an index in a store
mod retry; // how callers wait for requests
mod upload; // writes files, as a whole or not at all

pub use address::Address;
pub use error::Error;
pub use objects::Objects;
pub use retry::RetryPolicy;
