//! Hashes many nodes at once, one per lane. Every lane has its own input, length, counter and flags. When a lane has
//! finished its node, it takes the next one while the other lanes go on.
//!
//! A kernel advances all lanes together until one lane has no blocks left. So the work between two kernel calls is per
//! node, not per block.

#[macro_use]
mod rounds;
#[macro_use]
mod kernel;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod portable;

use core::array::from_fn;

use zeroize::Zeroize;

use crate::mode::Mode;
use crate::node::{BLOCK, CHUNK, Node, halves};

/// A backend's kernels for `N` lanes.
pub(crate) trait Kernel<const N: usize>: Copy {
    /// Compresses `n` blocks in every lane, where `n` is the smallest number of blocks that a lane has left. Returns a
    /// bit for every lane that has finished.
    fn advance(self, lanes: &mut Lanes<'_, N>, mode: &Mode) -> u32;

    /// Hashes `N` messages of at most a chunk that have the same number of blocks. Meanwhile it fetches the messages of
    /// the next call into the cache. `tails` is working memory for last blocks. If the messages are not of this kind,
    /// it returns false and does nothing.
    fn uniform<M: AsRef<[u8]>>(
        self,
        messages: &[M; N],
        next: &[M; N],
        mode: &Mode,
        tails: &mut [[u8; BLOCK]; N],
        digests: &mut [[u8; 32]; N],
    ) -> bool;

    /// Fetches the beginning of a node into the cache.
    fn prefetch(self, bytes: &[u8]);
}

/// The input of an idle lane. It has one block more than the longest node.
static IDLE: [u8; CHUNK + BLOCK] = [0; CHUNK + BLOCK];

/// `N` nodes in progress. Arrays are indexed by lane, and `cv` by word and then by lane.
///
/// Every lane satisfies `at + BLOCK * (left - 1) <= bytes.len() <= at + BLOCK * left`, or `left` is 1 and `bytes` is
/// empty.
#[repr(C, align(64))]
pub(crate) struct Lanes<'a, const N: usize> {
    /// Chaining values. A lane that is fresh does not hold the key here yet.
    cv: [[u32; N]; 8],
    /// All ones for a lane at its first block, else 0.
    fresh: [u32; N],
    /// Flags of the first block.
    start: [u32; N],
    /// Flags of the last block.
    end: [u32; N],
    /// Blocks left.
    left: [u32; N],
    /// The bytes of the last block.
    tail_len: [u32; N],
    /// Low words of the chunk counters.
    counter_low: [u32; N],
    /// High words of the chunk counters.
    counter_high: [u32; N],
    /// The position in `bytes` where the next block starts.
    at: [u32; N],
    /// The node's bytes.
    bytes: [&'a [u8]; N],
    /// Memory for padded last blocks.
    tails: [[u8; BLOCK]; N],
}

impl<'a, const N: usize> Lanes<'a, N> {
    /// Lanes that all wait for nodes.
    fn idle() -> Self {
        Self {
            cv: [[0; N]; 8],
            fresh: [0; N],
            start: [0; N],
            end: [0; N],
            left: [IDLE_BLOCKS; N],
            tail_len: [0; N],
            counter_low: [0; N],
            counter_high: [0; N],
            at: [0; N],
            bytes: [&IDLE; N],
            tails: [[0; BLOCK]; N],
        }
    }

    /// Puts a node into a lane.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a node has at most 1024 bytes"
    )]
    fn load(&mut self, lane: usize, node: &Node<'a>) {
        assert!(
            node.bytes.len() <= CHUNK,
            "a node has at most a chunk's bytes"
        );
        let len = node.bytes.len() as u32;
        let full = len.saturating_sub(1) / 64;
        self.fresh[lane] = u32::MAX;
        self.start[lane] = node.start;
        self.end[lane] = node.end;
        self.left[lane] = full + 1;
        self.tail_len[lane] = len - 64 * full;
        (self.counter_low[lane], self.counter_high[lane]) = halves(node.counter);
        self.at[lane] = 0;
        self.bytes[lane] = node.bytes;
    }

    /// Makes a lane idle.
    #[inline]
    fn unload(&mut self, lane: usize) {
        self.left[lane] = IDLE_BLOCKS;
        self.at[lane] = 0;
        self.bytes[lane] = &IDLE;
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
}

/// The number of blocks of [`IDLE`]. There are more than a node has, so an idle lane never finishes.
const IDLE_BLOCKS: u32 = 17;

/// Hashes every node, in any order, and passes each digest to `emit` with the node's tag.
pub(crate) fn run<'a, const N: usize, T: Copy>(
    kernel: impl Kernel<N>,
    mode: &Mode,
    nodes: impl Iterator<Item = (Node<'a>, T)>,
    mut emit: impl FnMut(T, [u8; 32]),
) {
    let mut nodes = ahead(kernel, nodes);
    let Some((node, tag)) = nodes.next() else {
        return;
    };
    let mut lanes = Lanes::<N>::idle();
    let mut tags = [tag; N];
    const ALL: u32 = u32::MAX;
    let mut idle = 0;
    lanes.load(0, &node);
    for (lane, tag) in tags.iter_mut().enumerate().skip(1) {
        if let Some((node, its_tag)) = nodes.next() {
            lanes.load(lane, &node);
            *tag = its_tag;
        } else {
            idle |= 1 << lane;
        }
    }
    while idle != ALL >> (32 - N) {
        let done = kernel.advance(&mut lanes, mode);
        for lane in ones(done) {
            emit(tags[lane], lanes.digest(lane));
            if let Some((node, tag)) = nodes.next() {
                lanes.load(lane, &node);
                tags[lane] = tag;
            } else {
                idle |= 1 << lane;
            }
        }
        for lane in ones(idle) {
            lanes.unload(lane);
        }
    }
    if mode.is_secret() {
        lanes.cv.zeroize();
        lanes.tails.zeroize();
    }
}

/// Nodes that are taken from the iterator before they are needed. Their first bytes are then in the cache when a lane
/// takes them.
const AHEAD: usize = 16;

/// The same nodes in the same order, with the next [`AHEAD`] of them being fetched.
fn ahead<'a, const N: usize, T: Copy>(
    kernel: impl Kernel<N>,
    nodes: impl Iterator<Item = (Node<'a>, T)>,
) -> impl Iterator<Item = (Node<'a>, T)> {
    let mut nodes = nodes
        .fuse()
        .inspect(move |(node, _)| kernel.prefetch(node.bytes));
    let mut ring: [_; AHEAD] = from_fn(|_| nodes.next());
    let mut at = AHEAD - 1;
    core::iter::from_fn(move || {
        at = (at + 1) % AHEAD;
        core::mem::replace(&mut ring[at], nodes.next())
    })
}

/// The positions of the ones.
#[inline]
fn ones(mut word: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        place
    })
}
