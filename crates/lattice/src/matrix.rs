//! Matrix products mod 2^32 with one small operand. LWE needs nothing else on the server and on the client.
//!
//! | symbol | meaning | type and shape here |
//! |---|---|---|
//! | `D` | digits, centred: each in `[-128, 128)` | [`Digits`], `l x m`, one byte each |
//! | `q` | one vector of words | [`Vector`], `m` |
//! | `B` | many vectors of words, as columns | [`Panels`], `m x k` |
//! | `W` | words that are multiplied by small secrets | [`Words`], `l x n` |
//! | `S` | small secrets, as rows | [`Small`], `k x n`, 16 bits each |
//!
//! [`Digits::mul_vec`] is `D q`, [`Digits::mul_panels`] is `D B`, [`Words::mul`] is `W S^T`; all of them are exact mod
//! 2^32. The word operand is laid out once, for the backend that will read it. It lies in four byte planes (`vpdpbusd`,
//! `tdpbsud`), in two balanced 16-bit limbs (`vpdpwssd` or `vpmaddwd`), or unchanged for NEON and the portable
//! definition. Words that were rounded to 24 bits or fewer take three bytes in all layouts. Every backend returns the
//! same words. [`scan`] shares `D B` between threads.
//!
//! # Security
//! No branch and no address depends on a value in `D`, `W` or `S`. One bit of `q` and `B` chooses between two kernels:
//! whether all words are multiples of 256, as in queries rounded to 24 bits. So `q` and `B` must be known to both
//! sides: queries, answers, and matrices from a seed.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod digits;
mod kernels;
mod layout;
#[cfg(target_arch = "aarch64")]
mod neon;
mod panels;
mod portable;
pub mod scan;
mod small;
mod vector;
mod words;

pub use digits::Digits;
pub use panels::Panels;
pub use small::Small;
pub use sordino_cpu::Backend;
pub use vector::Vector;
pub use words::Words;

/// The rows of every operand are padded to a multiple of this many entries.
pub const LANES: usize = 64;
/// The number of columns of one strip of [`Digits`]. Scans have the same speed with strips of 1024 to 4096 columns (Zen
/// 5). A panel of `B` takes 128 KiB of the L2 cache at this depth.
pub const STRIP: usize = 2048;
/// The number of columns of one panel of [`Panels`].
pub(crate) const PANEL: usize = 16;

/// The length of a row of `columns` entries with its padding.
#[must_use]
pub const fn stride(columns: usize) -> usize {
    columns.next_multiple_of(LANES)
}
