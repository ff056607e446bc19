//! One lane, in plain Rust: what the other kernels must equal.

use super::{Kernel, Lanes};
use crate::mode::Mode;
use crate::node::{BLOCK, Node, words_of};

/// The portable kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Kernel<1> for Portable {
    fn advance(self, lanes: &mut Lanes<'_, 1>, mode: &Mode) -> u32 {
        let counter = u64::from(lanes.counter_high[0]) << 32 | u64::from(lanes.counter_low[0]);
        let (start, end) = (lanes.start[0], lanes.end[0]);
        let digest = Node {
            bytes: lanes.bytes[0],
            counter,
            start,
            end,
        }
        .hash(mode);
        lanes.cv = words_of(&digest).map(|word| [word]);
        1
    }

    fn uniform<M: AsRef<[u8]>>(
        self,
        messages: &[M; 1],
        _next: &[M; 1],
        mode: &Mode,
        _tails: &mut [[u8; BLOCK]; 1],
        digests: &mut [[u8; 32]; 1],
    ) {
        digests[0] = Node::chunk(messages[0].as_ref(), 0, true).hash(mode);
    }

    #[inline]
    fn prefetch(self, _bytes: &[u8]) {}
}
