//! Nodes of a message's tree, and the constants of BLAKE3 (section numbers are the BLAKE3 paper's).
//! `lanes/portable.rs` defines how a node is hashed.

/// The number of bytes in a block.
pub(crate) const BLOCK: usize = 64;
/// The number of bytes in a chunk.
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

/// `SCHEDULE[r][i]` is the message word that round `r` uses in position `i`: the permutation of
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
    /// Flags of the first block, in addition to the mode's.
    pub(crate) start: u32,
    /// Flags of the last block, in addition to the mode's.
    pub(crate) end: u32,
}

impl<'a> Node<'a> {
    /// Chunk `counter` of a message. `root` is true if it is the whole message.
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
}

/// A block's length in the type that the compression function takes.
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

/// The low and the high word of a chunk counter.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the halves are what is wanted"
)]
#[inline]
pub(crate) fn halves(counter: u64) -> (u32, u32) {
    (counter as u32, (counter >> 32) as u32)
}
