//! DoublePIR (Henzinger et al., eprint 2022/949, section 5): PIR over SimplePIR's hint and answer, so
//! that what a client downloads does not grow with the database.
//!
//! `D` is `l x m` for each of the `d` bytes of a record. `byte_k(x)` is byte `k` of a word, as a
//! centred digit; `kappa = 4` of them make a word.
//!
//! | step | formula mod 2^32, for each byte of a record | shape |
//! |---|---|---|
//! | setup | `H1 = D A1`, kept by the server as its digits, transposed: `G` | `kappa n x l` |
//! | | `H2 = G A2`, rounded: the hint | `kappa n x n` |
//! | query | `q1 = A1 s1 + e1 + Delta u_j`, `q2 = A2 s2 + e2 + Delta u_i` | `m`, `l` |
//! | answer | `a1 = D q1`, expanded to its digits, transposed: `T` | `kappa x l` |
//! | | `h = T A2`, rounded like a hint | `kappa x n` |
//! | | `a2 = G q2` and `b2 = T q2`, rounded like answers | `kappa n`, `kappa` |
//! | recover | row `i` of `H1` from `a2 - H2 s2`, word `i` of `a1` from `b2 - h s2` | `n`, 1 |
//! | | `round((a1_i - H1_i s1) / Delta)` is the byte | 1 |
//!
//! The first level is exact, so its words can be put together again from digits that were fetched
//! under the second level's own noise.

mod client;
mod message;
mod server;

pub use client::{Client, Prepared, Secret};
pub use message::{Answer, Hint, Query};
pub use server::Server;
