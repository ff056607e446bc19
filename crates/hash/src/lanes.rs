//! Many nodes at once, one per lane: every lane has its own input, length, counter and flags, and a
//! lane whose node is done takes the next node while the others go on.
//!
//! A kernel advances all lanes together for as many blocks as the lane closest to its end has left,
//! so the work between two kernel calls is per node, not per block.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod portable;

use zeroize::Zeroize;

use crate::mode::Mode;
use crate::node::{BLOCK, Node, halves};

/// A backend's kernels over `N` lanes.
pub(crate) trait Kernel<const N: usize>: Copy {
    /// Compresses the next `n` blocks of every lane, where no lane has fewer than `n` left. A lane
    /// that has exactly `n` left ends with its tail.
    fn advance(self, lanes: &mut Lanes<'_, N>, mode: &Mode, n: usize);

    /// Hashes `N` nodes that have the same number of blocks and the same flags.
    fn uniform(self, nodes: &[Node<'_>; N], mode: &Mode, digests: &mut [[u8; 32]; N]);
}

/// Blocks that an idle lane chews on: as many as a node can have.
static IDLE: [[u8; BLOCK]; 16] = [[0; BLOCK]; 16];

/// `N` nodes under way. Arrays are indexed by lane, `cv` by word and then lane.
#[repr(C, align(64))]
pub(crate) struct Lanes<'a, const N: usize> {
    /// Chaining values; those of fresh lanes are not yet the key.
    pub(crate) cv: [[u32; N]; 8],
    /// All ones for a lane at its first block, else 0.
    pub(crate) fresh: [u32; N],
    /// Flags of the first block.
    pub(crate) start: [u32; N],
    /// Flags of the last block.
    pub(crate) end: [u32; N],
    /// Blocks left, the tail counted.
    pub(crate) left: [u32; N],
    /// Bytes of the last block.
    pub(crate) tail_len: [u32; N],
    /// Low words of the chunk counters.
    pub(crate) counter_low: [u32; N],
    /// High words of the chunk counters.
    pub(crate) counter_high: [u32; N],
    /// The last blocks, padded with zeros.
    pub(crate) tail: [[u8; BLOCK]; N],
    /// The blocks before the last.
    pub(crate) blocks: [&'a [[u8; BLOCK]]; N],
}

impl<'a, const N: usize> Lanes<'a, N> {
    /// Lanes that all wait for a node.
    pub(crate) fn idle() -> Self {
        Self {
            cv: [[0; N]; 8],
            fresh: [0; N],
            start: [0; N],
            end: [0; N],
            left: [u32::MAX; N],
            tail_len: [0; N],
            counter_low: [0; N],
            counter_high: [0; N],
            tail: [[0; BLOCK]; N],
            blocks: [&IDLE; N],
        }
    }

    /// Puts a node into a lane.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a node has at most 16 blocks of 64 bytes"
    )]
    pub(crate) fn load(&mut self, lane: usize, node: &Node<'a>) {
        self.fresh[lane] = u32::MAX;
        self.start[lane] = node.start;
        self.end[lane] = node.end;
        self.left[lane] = node.blocks.len() as u32 + 1;
        self.tail_len[lane] = node.tail.len() as u32;
        (self.counter_low[lane], self.counter_high[lane]) = halves(node.counter);
        self.tail[lane] = padded(node.tail);
        self.blocks[lane] = node.blocks;
    }

    /// Lets a lane wait.
    #[inline]
    fn unload(&mut self, lane: usize) {
        self.left[lane] = u32::MAX;
        self.blocks[lane] = &IDLE;
    }

    /// The fewest blocks that any lane has left; at most 16 unless all lanes wait.
    #[inline]
    fn shortest(&self) -> u32 {
        self.left
            .iter()
            .fold(u32::MAX, |least, &left| least.min(left))
    }

    /// The chaining value of a lane.
    #[inline]
    fn digest(&self, lane: usize) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (bytes, words) in bytes.as_chunks_mut().0.iter_mut().zip(&self.cv) {
            *bytes = words[lane].to_le_bytes();
        }
        bytes
    }

    fn zeroize(&mut self) {
        self.cv.zeroize();
        self.tail.zeroize();
    }
}

/// A last block, padded with zeros.
#[inline]
pub(crate) fn padded(tail: &[u8]) -> [u8; BLOCK] {
    if let Ok(full) = tail.try_into() {
        return full;
    }
    let mut block = [0; BLOCK];
    block[..tail.len()].copy_from_slice(tail);
    block
}

/// Hashes every node, in any order, and hands each digest to `emit` with the node's tag.
pub(crate) fn run<'a, const N: usize, T: Copy>(
    kernel: impl Kernel<N>,
    mode: &Mode,
    mut nodes: impl Iterator<Item = (Node<'a>, T)>,
    mut emit: impl FnMut(T, [u8; 32]),
) {
    let Some((node, tag)) = nodes.next() else {
        return;
    };
    let mut lanes = Lanes::<N>::idle();
    let mut tags = [tag; N];
    lanes.load(0, &node);
    for (lane, tag) in tags.iter_mut().enumerate().skip(1) {
        let Some((node, its_tag)) = nodes.next() else {
            break;
        };
        lanes.load(lane, &node);
        *tag = its_tag;
    }
    loop {
        let n = lanes.shortest();
        if n == u32::MAX {
            break;
        }
        kernel.advance(&mut lanes, mode, n as usize);
        for (lane, tag) in tags.iter_mut().enumerate() {
            if lanes.left[lane] == n {
                emit(*tag, lanes.digest(lane));
                match nodes.next() {
                    Some((node, its_tag)) => {
                        lanes.load(lane, &node);
                        *tag = its_tag;
                    }
                    None => lanes.unload(lane),
                }
            } else if lanes.left[lane] != u32::MAX {
                lanes.fresh[lane] = 0;
                lanes.left[lane] -= n;
                lanes.blocks[lane] = &lanes.blocks[lane][n as usize..];
            }
        }
    }
    if mode.is_secret() {
        lanes.zeroize();
    }
}
