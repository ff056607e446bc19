//! Tables of vectors, ids and other columns that the tests make.

#![cfg_attr(
    feature = "arrow",
    expect(clippy::unwrap_used, reason = "helpers fail as their tests do")
)]

#[cfg(all(feature = "arrow", feature = "text"))]
mod blobs;
#[cfg(all(feature = "arrow", feature = "text"))]
mod columns;
#[cfg(all(feature = "arrow", feature = "text"))]
mod dialects;
#[cfg(feature = "arrow")]
mod files;
#[cfg(all(feature = "arrow", feature = "text"))]
mod others;
#[cfg(all(feature = "arrow", feature = "text"))]
mod promises;
#[cfg(all(feature = "arrow", feature = "text"))]
mod skipped;
#[cfg(feature = "arrow")]
mod structures;
