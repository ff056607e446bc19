//! Bytes to coefficients and back: z, t1, the hint, w1, and the sampling of A.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod portable;

use crate::params::Set;
use crate::sponge::Output;

/// One polynomial of the hint h, a bit per coefficient: bit `i % 16` of word `i / 16`.
pub(crate) type HintBits = [u16; 16];

/// FIPS 204, Algorithm 21: `HintBitUnpack`, of the last `omega + k` bytes of a signature.
///
/// False for an invalid encoding: positions that do not rise strictly inside a polynomial,
/// counts that fall or exceed omega, bytes after the last position that are not zero. The
/// contents of `hint` are then of no meaning.
pub(crate) fn hint_bit_unpack(set: &Set, bytes: &[u8], hint: &mut [HintBits; 8]) -> bool {
    let (positions, counts) = bytes.split_at(set.omega);
    *hint = [[0; 16]; 8];
    let mut index = 0;
    for (bits, &count) in hint.iter_mut().zip(counts) {
        let end = usize::from(count);
        if end < index || end > set.omega {
            return false;
        }
        let of_row = &positions[index..end];
        if !of_row.is_sorted_by(|a, b| a < b) {
            return false;
        }
        for &position in of_row {
            bits[usize::from(position >> 4)] |= 1 << (position & 15);
        }
        index = end;
    }
    positions[index..].iter().all(|&byte| byte == 0)
}

/// The state of FIPS 204, Algorithm 29 (`SampleInBall`), between blocks of the XOF's output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InBall {
    /// The sign bits not yet used, once the first block has been read.
    signs: Option<u64>,
    /// Next coefficient to be set: from `256 - tau` up to 256.
    next: usize,
}

impl InBall {
    pub(crate) const NEW: Self = Self {
        signs: None,
        next: 0,
    };

    /// Takes one block of SHAKE256 output. `c` must be zero at first.
    pub(crate) fn block(&mut self, set: &Set, mut block: &[u8], c: &mut [i32; 256]) -> Output {
        let mut signs = match self.signs {
            Some(signs) => signs,
            None => {
                let (first, rest) = block.split_first_chunk().expect("a block has 136 bytes");
                block = rest;
                self.next = 256 - set.tau;
                u64::from_le_bytes(*first)
            }
        };
        for &byte in block {
            if self.next == 256 {
                break;
            }
            let j = usize::from(byte);
            if j <= self.next {
                c[self.next] = c[j];
                c[j] = if signs & 1 == 0 { 1 } else { -1 };
                signs >>= 1;
                self.next += 1;
            }
        }
        self.signs = Some(signs);
        if self.next < 256 {
            Output::More
        } else {
            Output::Done
        }
    }
}

#[cfg(test)]
mod tests;
