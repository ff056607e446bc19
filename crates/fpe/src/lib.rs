#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

mod alphabet; // symbols and their numerals
#[cfg(test)]
mod backends; // every backend equals the definition
mod batch; // many strings at once
mod block; // ciphers of blocks
mod decimal; // digits in ASCII
#[cfg(test)]
mod definition; // the components of SP 800-38G, for tests
mod error; // reasons to refuse a call
mod feistel; // the rounds of FF1 and FF3
mod ff1; // FF1 (SP 800-38G)
#[cfg(feature = "legacy-ff3")]
mod ff3; // FF3 and FF3-1, withdrawn
mod format; // formats of common fields, such as card numbers
mod integer; // FF1 on integers of a range
mod key; // keys of a stated size
mod limbs; // integers of many limbs
mod number; // integers from numerals and back
mod numerals; // the interface of every cipher
mod reciprocal; // division by public integers in constant time
mod residue; // sums modulo public integers by two products
mod riffpe; // Riffpe and RiffpeX

pub use alphabet::Alphabet;
pub use batch::Tweaks;
pub use block::{BlockCipher, NativeAes};
pub use error::{Error, SymbolSet};
pub use ff1::{Ff1, Ff1Plan, LEGACY_MIN_DOMAIN, MIN_DOMAIN};
#[cfg(feature = "legacy-ff3")]
pub use ff3::{Ff3, Ff3_1, Ff3Cipher, Ff3Plan};
pub use format::{Check, CheckSymbols, Format, FormatCipher, Segment};
pub use integer::Ff1Range;
pub use key::{AesKey, AesSize};
pub use numerals::NumeralCipher;
pub use riffpe::{
    DigitOrder, MAX_BYTES_PER_VALUE, MAX_RIFFPE_RADIX, Riffpe, RiffpeX, find_best_bases,
};
