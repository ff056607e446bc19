//! Hashes of messages, files and trees.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

#[cfg(all(feature = "mmap", feature = "rayon"))]
mod file;
mod merkle;
mod official;
