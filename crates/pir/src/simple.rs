//! SimplePIR (Henzinger, Hong, Corrigan-Gibbs, Meiklejohn, Vaikuntanathan; eprint 2022/949, Fig. 3).
//!
//! | step | formula mod 2^32 | who |
//! |---|---|---|
//! | setup | `H = D A`, rounded to `hint_bits` | server, once |
//! | query | `b = A s + e + Delta u_j`, `s` and `e` Gaussian | client |
//! | answer | `D b`, rounded to 12 bits | server, one pass over `D` |
//! | recover | `round((D b - H s) / Delta)` is column `j` of `D` | client |
//!
//! The server of a public database needs no secret. A client needs `H` once for each version.

mod client;
#[cfg(test)]
mod noise;
mod raw;
mod server;
mod share;
mod update;

pub use client::{Client, Prepared, Record, Secret};
pub use raw::RawAnswer;
pub use server::Server;
pub use share::Share;
pub use update::Update;

pub use crate::change::Change;
use crate::{SimplePir, database, message, params};

/// Parameters of SimplePIR.
pub type Params = params::Params<SimplePir>;
/// A database that is laid out for SimplePIR.
pub type Database = database::Database<SimplePir>;
/// The hint of SimplePIR.
pub type Hint = message::Hint<SimplePir>;
/// A query of SimplePIR.
pub type Query = message::Query<SimplePir>;
/// An answer of SimplePIR.
pub type Answer = message::Answer<SimplePir>;
