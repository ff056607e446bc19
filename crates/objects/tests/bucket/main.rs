//! An index in an object store: its owners, stores that fail or lie, and a real server of the S3
//! protocol.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod fixture;
mod hostile;
mod owners;
mod s3;
mod server;
