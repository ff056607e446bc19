//! The schemes that compute scores under encryption, each with its messages, its errors and its
//! parameters.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod column;
mod debug;
mod dot;
mod hedge;
mod params;
mod slot;
mod slot_precision;
mod structure;
