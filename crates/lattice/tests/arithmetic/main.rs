//! Matrices over words, and the errors that samplers draw.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod debug;
mod gaussian;
mod matrix;
mod noise;
