//! Column packing.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

mod changes;
#[cfg(feature = "mmap")]
mod files;
mod messages;
mod parties;
mod scores;
mod whole;
