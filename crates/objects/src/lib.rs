#![doc = include_str!("../README.md")]

mod address; // s3://bucket/prefix
mod age; // the time for which a file stays that no version names
mod bounded; // replies that are read whole
mod change; // an owner's change, from the lock to the newest version
mod disk; // objects as files
mod error;
mod objects; // an index in a store
mod reading; // files, in pieces
mod waiting; // callers wait for requests
mod writing; // files, whole or not at all

pub use address::Address;
pub use error::Error;
pub use objects::Objects;
pub use waiting::Patience;
