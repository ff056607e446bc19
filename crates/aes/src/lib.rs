#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub mod aesni; // a key with AES-NI
mod block; // one interface
mod key; // a key that knows its backend
#[cfg(all(feature = "std", target_arch = "aarch64"))]
pub mod neon; // a key with the AES instructions of Arm
pub mod portable; // a key of the crate `aes`
#[cfg(all(feature = "std", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod schedule; // round keys
pub mod stream; // counter mode
#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub mod vaes; // four blocks a register

pub use block::{Aes, LANES, Operation};
pub use key::Key;
#[cfg(all(feature = "std", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use schedule::Schedule;
