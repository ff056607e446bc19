//! FIPS 204, Algorithm 29: the challenge polynomial c, sampled block by block.

use crate::params::Set;
use crate::sponge::Output;

/// The state of FIPS 204, Algorithm 29 (`SampleInBall`), between two blocks of the XOF's output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InBall {
    /// The sign bits that are still unused, or `None` before the first block.
    signs: Option<u64>,
    /// The next coefficient to set: from `256 - tau` up to 256.
    next: usize,
}

impl InBall {
    pub(crate) const NEW: Self = Self {
        signs: None,
        next: 0,
    };

    /// Processes one block of SHAKE256 output. `c` must be zero before the first.
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
mod tests {
    use super::*;
    use crate::field::Poly;
    use crate::params::{MlDsa44, MlDsa65, MlDsa87, Sealed};

    const SETS: [Set; 3] = [MlDsa44::SET, MlDsa65::SET, MlDsa87::SET];

    #[test]
    fn a_ball_may_need_many_blocks() {
        // Bytes that the algorithm refuses until the last position: 255 is above every other
        // position.
        for set in SETS {
            let (mut state, mut c, mut blocks) = (InBall::NEW, Poly::ZERO, 1);
            while state.block(&set, &[255; 136], &mut c.0) == Output::More {
                blocks += 1;
                if blocks == 5 {
                    while state.block(&set, &[7; 136], &mut c.0) == Output::More {}
                    break;
                }
            }
            assert_eq!(blocks, 5);
            assert_eq!(c.0.iter().filter(|c| **c != 0).count(), set.tau);
            assert!(c.0.iter().all(|c| c.abs() <= 1));
        }
    }
}
