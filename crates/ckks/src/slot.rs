//! Slot mode: classic CKKS with rotations. Benchmarks compare the packings with it.
//!
//! | symbol | meaning |
//! |---|---|
//! | `N` | ring degree; a plaintext has `N / 2` real slots |
//! | `q_0, ..., q_L` | the primes of the modulus `Q`; a ciphertext of level `l` lives modulo `q_0 ... q_l` |
//! | `P` | the special prime of key switching |
//! | `Delta` | scale: a plaintext polynomial is the embedding of the slots times `Delta`, rounded |
//! | `s` | ternary secret; a ciphertext `(c0, c1)` decrypts to `c0 + c1 s` |
//!
//! The canonical embedding puts slot `j` at the root `zeta^(5^j)` with `zeta = exp(i pi / N)`. So `X -> X^(5^k)`
//! rotates the slots left by `k` (Cheon, Kim, Kim and Song, eprint 2016/421). The residue number system follows Cheon
//! et al., eprint 2018/931. Key switching is hybrid with one special prime and one digit per prime of `Q` (Han and Ki,
//! eprint 2019/688).
//!
//! # Security
//! The owner of a key decides how long to use it. A decrypted value carries an error that depends on the secret, so it
//! must stay with the key holder (Li and Micciancio, eprint 2020/1533). The scheme does not hide the plaintext
//! operands from the key holder.

mod ciphertext;
mod encoder;
mod evaluator;
mod keys;
mod params;
mod wire;

pub use ciphertext::{Ciphertext, Plaintext};
pub use encoder::Encoder;
pub use evaluator::Evaluator;
pub use keys::{GaloisKey, SecretKey};
pub use params::Params;
