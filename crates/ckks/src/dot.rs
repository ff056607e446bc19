//! Row packing: dot products of an encrypted query with a few thousand plaintext vectors.
//!
//! `floor(N / d)` vectors share one polynomial, with their coordinates reversed, so that one
//! product of polynomials holds all their dot products as coefficients. This needs no rotations, no
//! evaluation keys and no embedding, and has depth one.
//!
//! | symbol | meaning |
//! |---|---|
//! | `N = 2048` | ring degree; `R_q = Z_q[X]/(X^N + 1)` |
//! | `q` | a 50-bit prime, 1 mod 2N |
//! | `d`, `K` | dimension and number of the vectors |
//! | `s`, `e` | ternary secret, centred binomial error: fresh for every query |
//! | `a` | uniform, from a 32-byte seed that the query carries, expanded in NTT form |
//! | `D_q`, `D_c` | scales of the query's and the vectors' coordinates |
//! | `R = q / (D_q D_c)` | score window: scores in `(-R/2, R/2)` do not wrap |
//! | `r` | bits of a reply coefficient |
//!
//! ```text
//! encrypt   b = a s + e + sum_j round(D_q q_j) X^j                        (b rounded to 48 bits)
//! encode    p_k = sum_v sum_j round(D_c c_vj) X^(v d + d - 1 - j)         (v counts within pack k)
//! score     c0_k = b p_k at coefficients v d + d - 1,  c1_k = a p_k       (both rounded to r bits)
//! decrypt   <q, c_v> = (c0_k - c1_k s)[v d + d - 1] / (D_q D_c)
//! ```
//!
//! A dimension above `N` is cut into `ceil(d / N)` equal parts with one `b` and one `p` each. The
//! products of the parts are added up.

mod params;
mod plaintexts;
mod query;
mod reply;

pub use params::Params;
pub(crate) use params::{N, Q, plan};
pub use plaintexts::Plaintexts;
pub use query::{Query, SecretKey, encrypt};
pub use reply::Reply;
