//! One lane, in plain Rust: what the other kernels must equal.

use super::{Kernel, Lanes};
use crate::mode::Mode;
use crate::node::{Node, compress};

/// The portable kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Kernel<1> for Portable {
    fn advance(self, lanes: &mut Lanes<'_, 1>, mode: &Mode, n: usize) {
        let counter = u64::from(lanes.counter_high[0]) << 32 | u64::from(lanes.counter_low[0]);
        let mut cv = lanes.cv.map(|words| words[0]);
        let mut flags = mode.flags;
        if lanes.fresh[0] != 0 {
            cv = mode.key;
            flags |= lanes.start[0];
        }
        for k in 0..n - 1 {
            compress(&mut cv, &lanes.blocks[0][k], counter, 64, flags);
            flags = mode.flags;
        }
        if lanes.left[0] as usize == n {
            flags |= lanes.end[0];
            compress(&mut cv, &lanes.tail[0], counter, lanes.tail_len[0], flags);
        } else {
            compress(&mut cv, &lanes.blocks[0][n - 1], counter, 64, flags);
        }
        lanes.cv = cv.map(|word| [word]);
    }

    fn uniform(self, nodes: &[Node<'_>; 1], mode: &Mode, digests: &mut [[u8; 32]; 1]) {
        digests[0] = nodes[0].hash(mode);
    }
}
