//! DoublePIR (Henzinger et al., eprint 2022/949, section 5). It retrieves privately from SimplePIR's hint and answer,
//! so that a client's download does not grow with the database.
//!
//! `D` is `l x m` for each of the `d` bytes of a record. `byte_k(x)` is byte `k` of a word, as a
//! centred digit; `kappa = 4` of them make a word.
//!
//! | step | formula mod 2^32, for each byte of a record | shape |
//! |---|---|---|
//! | setup | `H1 = D A1`, kept by the server as its digits, transposed: `G` | `kappa n x l` |
//! | | `H2 = G A2`, rounded: the hint | `kappa n x n` |
//! | query | `q1 = A1 s1 + e1 + Delta u_j`, `q2 = A2 s2 + e2 + Delta u_i`, rounded | `m`, `l` |
//! | answer | `a1 = D q1`, expanded to its digits, transposed: `T` | `kappa x l` |
//! | | `h = T A2`, rounded like a hint | `kappa x n` |
//! | | `a2 = G q2` and `b2 = T q2`, rounded like answers | `kappa n`, `kappa` |
//! | recover | row `i` of `H1` from `a2 - H2 s2`, word `i` of `a1` from `b2 - h s2` | `n`, 1 |
//! | | `round((a1_i - H1_i s1) / Delta)` is the byte | 1 |
//!
//! | update | column `i` of `G` changes with every record of slot `i`, by `g`: `H2` by `g A2_i` | `kappa n` |
//!
//! The first level is exact. So a client can put its words together again from digits that it fetched under the second
//! level's own noise.
//!
//! DoublePIR has no verified mode. The check of [`verified`](crate::verified) needs an answer that is linear in the
//! query, and the digits of `a1` are not. A server could send `a1` whole for the check, but that is the long answer of
//! SimplePIR, which this scheme avoids.

mod client;
mod server;
mod update;

pub use client::{Client, Prepared, Secret};
pub use server::Server;
pub use update::Update;

pub use crate::change::Change;
use crate::{DoublePir, database, message, params};

/// Parameters of DoublePIR.
pub type Params = params::Params<DoublePir>;
/// A database that is laid out for DoublePIR.
pub type Database = database::Database<DoublePir>;
/// The hint of DoublePIR.
pub type Hint = message::Hint<DoublePir>;
/// A query of DoublePIR.
pub type Query = message::Query<DoublePir>;
/// An answer of DoublePIR.
pub type Answer = message::Answer<DoublePir>;
