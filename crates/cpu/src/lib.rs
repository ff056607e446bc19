#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]

#[cfg(feature = "std")]
extern crate std;

// Levels, the variable that lowers them, and the backend of an operation
mod backend;
mod kernels;
mod level;

// The tokens of each architecture
#[macro_use]
mod token;
#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod x86_64;

// Names for reports
#[cfg(feature = "std")]
mod report;

#[cfg(target_arch = "aarch64")]
pub use aarch64::{Neon, NeonAes, NeonDot, NeonSha3};
#[cfg(target_arch = "x86_64")]
pub use amx::Amx;
pub use backend::Backend;
pub use level::{Level, UnknownLevel};
#[cfg(feature = "std")]
pub use report::levels;
pub use token::Token;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{
    AesNi, Avx2, Avx2Fma, Avx2Vaes, Avx512, Avx512Ifma, Avx512Popcnt, Avx512Vaes, Avx512Vbmi,
    Avx512Vnni, Bmi, Popcnt,
};
