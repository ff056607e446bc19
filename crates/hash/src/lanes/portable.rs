//! The portable definition: BLAKE3's compression function, and the hashing of one node of its tree. It is plain Rust in
//! the order of the specification (section numbers are the BLAKE3 paper's). The vector kernels give the same result in
//! every lane. Here the definition is also a kernel of one lane.
//!
//! | symbol | meaning |
//! |---|---|
//! | `cv` | chaining value, 8 words |
//! | `v` | state of the compression function, 16 words |
//! | `m` | message block, 16 little-endian words |
//! | node | a chunk of at most 1024 bytes, or the 64 bytes of two children's chaining values |

use super::{Kernel, Lanes};
use crate::mode::Mode;
use crate::node::{BLOCK, CHUNK, IV, Node, SCHEDULE, bytes_of, halves, len_of, words_of};

/// The node's chaining value, or the digest if the node is a root.
fn hash(node: &Node<'_>, mode: &Mode) -> [u8; 32] {
    let mut cv = mode.key;
    let mut flags = mode.flags | node.start;
    let (blocks, tail) = split_tail(node.bytes);
    for block in blocks {
        compress(&mut cv, block, node.counter, 64, flags);
        flags = mode.flags;
    }
    let mut last = [0; BLOCK];
    last[..tail.len()].copy_from_slice(tail);
    compress(&mut cv, &last, node.counter, len_of(tail), flags | node.end);
    bytes_of(&cv)
}

/// Splits a message into every block but the last, and the last block. The last block has 1 to 64 bytes, or none for
/// the empty message.
fn split_tail(bytes: &[u8]) -> (&[[u8; BLOCK]], &[u8]) {
    let (blocks, tail) = bytes.split_at(bytes.len().saturating_sub(1) & !(BLOCK - 1));
    (blocks.as_chunks().0, tail)
}

/// The compression function (section 2.2), truncated to the 8 words that [`hash`] needs.
fn compress(cv: &mut [u32; 8], block: &[u8; BLOCK], counter: u64, block_len: u32, flags: u32) {
    let mut m = [0; 16];
    for (word, bytes) in m.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let mut v = [0; 16];
    v[..8].copy_from_slice(cv);
    v[8..12].copy_from_slice(&IV[..4]);
    (v[12], v[13]) = halves(counter);
    (v[14], v[15]) = (block_len, flags);
    round::<0>(&mut v, &m);
    round::<1>(&mut v, &m);
    round::<2>(&mut v, &m);
    round::<3>(&mut v, &m);
    round::<4>(&mut v, &m);
    round::<5>(&mut v, &m);
    round::<6>(&mut v, &m);
    for i in 0..8 {
        cv[i] = v[i] ^ v[i + 8];
    }
}

/// One round: G on the columns, then on the diagonals.
#[inline(always)]
fn round<const R: usize>(v: &mut [u32; 16], m: &[u32; 16]) {
    let s = const { &SCHEDULE[R] };
    g(v, [0, 4, 8, 12], m[s[0]], m[s[1]]);
    g(v, [1, 5, 9, 13], m[s[2]], m[s[3]]);
    g(v, [2, 6, 10, 14], m[s[4]], m[s[5]]);
    g(v, [3, 7, 11, 15], m[s[6]], m[s[7]]);
    g(v, [0, 5, 10, 15], m[s[8]], m[s[9]]);
    g(v, [1, 6, 11, 12], m[s[10]], m[s[11]]);
    g(v, [2, 7, 8, 13], m[s[12]], m[s[13]]);
    g(v, [3, 4, 9, 14], m[s[14]], m[s[15]]);
}

/// The quarter-round G.
#[inline(always)]
fn g(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(12);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(8);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(7);
}

/// A kernel of one lane, which hashes one message after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Portable {
    /// The digest of a message that is not longer than a chunk.
    pub(crate) fn single(message: &[u8], mode: &Mode) -> [u8; 32] {
        hash(&Node::chunk(message, 0, true), mode)
    }
}

impl Kernel<1> for Portable {
    fn advance(self, lanes: &mut Lanes<'_, 1>, mode: &Mode) -> u32 {
        let counter = u64::from(lanes.counter_high[0]) << 32 | u64::from(lanes.counter_low[0]);
        let node = Node {
            bytes: lanes.bytes[0],
            counter,
            start: lanes.start[0],
            end: lanes.end[0],
        };
        lanes.cv = words_of(&hash(&node, mode)).map(|word| [word]);
        1
    }

    fn uniform<M: AsRef<[u8]>>(
        self,
        messages: &[M; 1],
        _next: &[M; 1],
        mode: &Mode,
        _tails: &mut [[u8; BLOCK]; 1],
        digests: &mut [[u8; 32]; 1],
    ) -> bool {
        let message = messages[0].as_ref();
        let fits = message.len() <= CHUNK;
        if fits {
            digests[0] = Self::single(message, mode);
        }
        fits
    }

    #[inline]
    fn prefetch(self, _bytes: &[u8]) {}
}
