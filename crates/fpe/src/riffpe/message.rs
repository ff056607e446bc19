//! The message that keys a step: all digits but one, and the index of that digit.

use alloc::{vec, vec::Vec};
use zeroize::Zeroizing;

/// The message `T` of a step, as blocks of big-endian integers.
pub(super) struct Message {
    pub(super) blocks: Zeroizing<Vec<u128>>,
    width: usize,
}

impl Message {
    #[expect(clippy::cast_possible_truncation, reason = "the padding is below 17")]
    pub(super) fn new(digits: &[u32], width: usize) -> Self {
        let bytes = width * (digits.len() + 1);
        let pad = 16 - bytes % 16;
        let mut message = Self {
            blocks: Zeroizing::new(vec![0; (bytes + pad) / 16]),
            width,
        };
        for at in bytes..bytes + pad {
            message.blocks[at / 16] |= (pad as u128) << (8 * (15 - at % 16));
        }
        for (i, &digit) in digits.iter().enumerate() {
            message.change(i, digit);
        }
        debug_assert!(pad as u32 <= 16);
        message
    }

    /// XORs `delta` into item `i`, a little-endian integer.
    #[inline(always)]
    pub(super) fn change(&mut self, i: usize, delta: u32) {
        let at = self.width * i;
        let delta = u128::from(delta.swap_bytes() >> (32 - 8 * self.width));
        self.blocks[at / 16] ^= delta << (8 * (16 - self.width - at % 16));
    }
}
