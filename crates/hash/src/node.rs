//! The definition: BLAKE3's compression function and the hashing of one node of its tree, in plain
//! Rust and in the order of the specification (section numbers are the BLAKE3 paper's).
//!
//! | symbol | meaning |
//! |---|---|
//! | `cv` | chaining value, 8 words |
//! | `v` | state of the compression function, 16 words |
//! | `m` | message block, 16 little-endian words |
//! | node | a chunk of at most 1024 bytes, or the 64 bytes of two children's chaining values |

use crate::mode::Mode;

/// Bytes in a block.
pub(crate) const BLOCK: usize = 64;
/// Bytes in a chunk.
pub(crate) const CHUNK: usize = 1024;

/// Flags of the compression function (section 2.2, table 3).
pub(crate) mod flag {
    pub(crate) const CHUNK_START: u32 = 1;
    pub(crate) const CHUNK_END: u32 = 1 << 1;
    pub(crate) const PARENT: u32 = 1 << 2;
    pub(crate) const ROOT: u32 = 1 << 3;
    pub(crate) const KEYED_HASH: u32 = 1 << 4;
    pub(crate) const DERIVE_KEY_MATERIAL: u32 = 1 << 6;
}

/// The initial chaining value (section 2.2, table 1).
pub(crate) const IV: [u32; 8] = [
    0x6A09_E667,
    0xBB67_AE85,
    0x3C6E_F372,
    0xA54F_F53A,
    0x510E_527F,
    0x9B05_688C,
    0x1F83_D9AB,
    0x5BE0_CD19,
];

/// `SCHEDULE[r][i]` is the message word that round `r` uses in place `i`: the permutation of
/// section 2.2, table 2, applied `r` times.
pub(crate) const SCHEDULE: [[usize; 16]; 7] = {
    const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    let mut schedule = [[0; 16]; 7];
    let mut i = 0;
    while i < 16 {
        schedule[0][i] = i;
        i += 1;
    }
    let mut r = 1;
    while r < 7 {
        let mut i = 0;
        while i < 16 {
            schedule[r][i] = schedule[r - 1][PERMUTATION[i]];
            i += 1;
        }
        r += 1;
    }
    schedule
};

/// One node of a message's tree, still to be hashed.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    /// At most [`CHUNK`] bytes.
    pub(crate) bytes: &'a [u8],
    /// Index of the chunk in its message; 0 for parents.
    pub(crate) counter: u64,
    /// Flags of the first block, beside the mode's.
    pub(crate) start: u32,
    /// Flags of the last block, beside the mode's.
    pub(crate) end: u32,
}

impl<'a> Node<'a> {
    /// Chunk `counter` of a message; `root` if it is the whole message.
    #[inline]
    pub(crate) fn chunk(bytes: &'a [u8], counter: u64, root: bool) -> Self {
        let end = flag::CHUNK_END | if root { flag::ROOT } else { 0 };
        Self {
            bytes,
            counter,
            start: flag::CHUNK_START,
            end,
        }
    }

    /// The parent of two chaining values.
    #[inline]
    pub(crate) fn parent(children: &'a [[u8; 32]; 2], root: bool) -> Self {
        let end = flag::PARENT | if root { flag::ROOT } else { 0 };
        Self {
            bytes: children.as_flattened(),
            counter: 0,
            start: 0,
            end,
        }
    }

    /// The node's chaining value, or the digest if the node is a root.
    pub(crate) fn hash(&self, mode: &Mode) -> [u8; 32] {
        let mut cv = mode.key;
        let mut flags = mode.flags | self.start;
        let (blocks, tail) = split_tail(self.bytes);
        for block in blocks {
            compress(&mut cv, block, self.counter, 64, flags);
            flags = mode.flags;
        }
        let mut last = [0; BLOCK];
        last[..tail.len()].copy_from_slice(tail);
        compress(&mut cv, &last, self.counter, len_of(tail), flags | self.end);
        bytes_of(&cv)
    }
}

/// Every block but the last, and the last: 1 to 64 bytes, or none for the empty message.
pub(crate) fn split_tail(bytes: &[u8]) -> (&[[u8; BLOCK]], &[u8]) {
    let (blocks, tail) = bytes.split_at(bytes.len().saturating_sub(1) & !(BLOCK - 1));
    (blocks.as_chunks().0, tail)
}

/// A block's length as the compression function takes it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a block has at most 64 bytes"
)]
#[inline]
pub(crate) fn len_of(block: &[u8]) -> u32 {
    block.len() as u32
}

/// Little-endian bytes of a chaining value.
#[inline]
pub(crate) fn bytes_of(cv: &[u32; 8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(cv) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// The words of 32 little-endian bytes.
pub(crate) fn words_of(bytes: &[u8; 32]) -> [u32; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// The compression function (section 2.2), truncated to the 8 words that `Node::hash` needs.
pub(crate) fn compress(
    cv: &mut [u32; 8],
    block: &[u8; BLOCK],
    counter: u64,
    block_len: u32,
    flags: u32,
) {
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

/// The low and the high word of a chunk counter.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the halves are what is wanted"
)]
#[inline]
pub(crate) fn halves(counter: u64) -> (u32, u32) {
    (counter as u32, (counter >> 32) as u32)
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
