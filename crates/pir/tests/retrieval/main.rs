//! Retrieval by honest parties: records come back, at every layout and after changes.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod double;
mod hedge;
mod hintless;
#[cfg(feature = "mmap")]
mod mapped;
mod params;
mod simple;
mod update;
mod verified;
mod worst_rows;
