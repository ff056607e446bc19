//! Tests of the families of hashes and of their tables.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod backends;
mod laws;
mod tables;
