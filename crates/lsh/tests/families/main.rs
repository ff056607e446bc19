//! The families of hashes, and tables of them.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod backends;
mod laws;
mod tables;
