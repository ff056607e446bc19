//! Column packing: computes the encrypted dot products of one query with all vectors of a database, in one pass.
//!
//! | symbol | meaning |
//! |---|---|
//! | `N = 2048` | ring degree; `R_q = Z_q[X]/(X^N + 1)` |
//! | `q` | a prime of 40 or 50 bits, 1 mod 2N |
//! | `d`, `K` | dimension and number of the vectors |
//! | `t` | coordinates that share a polynomial; more means less upload and a longer hint |
//! | `L = ceil(d / t)` | polynomials of a query |
//! | `a_l` | uniform, from a public seed: fixed for an epoch of the database, in NTT form |
//! | `s`, `e_l` | ternary secret, centred binomial error: fresh for every query |
//! | `P_jl` | polynomial `l` of block `j`, which holds `N / t` vectors |
//! | `H_j` | the hint: `sum_l P_jl a_l`, rounded to `h` bits |
//! | `r` | low bits of `b` that the upload leaves out |
//! | `w` | bits of an answer |
//!
//! ```text
//! encode    P_jl = sum_v sum_u code[v][l t + u] X^(v t + t - 1 - u)
//! encrypt   b_l  = a_l s + e_l + sum_u m[l t + u] X^u                      (rounded by r bits)
//! score     answer[v] = (sum_l P_jl b_l)[v t + t - 1]                      (rounded to w bits)
//! decrypt   answer[v] - (H_j s)[v t + t - 1]
//! ```
//!
//! There are two forms of plaintext. **Real-valued**: codes are `round(8000 x)` and the query is scaled to `m = round(q
//! x / (8000 R))`, without further quantisation. `R = 2.05` is the score window. **Modular**: codes are integers mod
//! `P` and the query is an integer vector, `m = round(x q / P)`. The client obtains `<query, codes> mod P`. So stored
//! codes may carry a pad, whose own product the client subtracts afterwards.
//!
//! Sets whose names end in `whole` leave answers as residues mod `q`. Then every answer is exactly the value of a
//! linear functional at the query's polynomials. A [`Combination`] of the functionals checks all answers at once,
//! before anything is decrypted. The server does not know its weights.
//!
//! A new seed begins an **epoch**, and every change begins a new **version**. Queries name their epoch; hints, deltas
//! and replies name both. A message for another state is refused with an error that names both states.
//!
//! # Security
//! The server sees RLWE samples under fresh secrets, and public values. It learns `K`, `d` and the times of queries and
//! updates. It learns nothing about a query. A [`SecretKey`] is moved into the call that decrypts, so it can make or
//! read only one query. The database is not private from clients: every answer is a linear equation in it, and so is
//! the hint. Scores carry an error that depends on the secret, so they must stay with the client.

mod client;
mod combination;
mod database;
mod hint;
mod mac;
mod params;
mod query;
mod reply;
mod segments;
mod shape;
mod state;

pub use client::Client;
pub use combination::Combination;
pub use database::Database;
pub use hint::{Hint, HintDelta};
pub use params::Params;
pub use query::{Query, SecretKey};
pub use reply::Reply;
pub use segments::Segments;
