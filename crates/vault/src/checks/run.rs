//! Random bits for a group's positions, run after run.

use sordino_aes::stream::{CHUNK, Stream};
use zeroize::{Zeroize, Zeroizing};

/// The random words of a run. Bit `v` of each word belongs to position `v` of the run.
pub(super) struct Run<const K: usize> {
    pub(super) signs: u32,
    pub(super) bits: [u32; K],
}

impl<const K: usize> Run<K> {
    pub(super) const EMPTY: Self = Self {
        signs: 0,
        bits: [0; K],
    };
}

impl<const K: usize> Zeroize for Run<K> {
    fn zeroize(&mut self) {
        self.signs.zeroize();
        self.bits.zeroize();
    }
}

/// The words of the keystream, little-endian.
pub(super) struct Words<'a>(&'a [[u8; 4]]);

impl Words<'_> {
    pub(super) fn at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at])
    }
}

/// The runs of a group. Each is read from the next words of the keystream of AES-256 in counter mode.
pub(super) struct Runs<const K: usize> {
    pub(super) stream: Stream,
    /// The size in bytes of a run, whole blocks.
    pub(super) len: usize,
    pub(super) read: fn(&mut Run<K>, &Words<'_>),
}

impl<const K: usize> Runs<K> {
    /// Calls `f` with each item and its run. The keystream is drawn for many runs at the same time, since a run's few blocks do
    /// not fill the processor's AES pipeline.
    pub(super) fn each<I: ExactSizeIterator>(
        mut self,
        mut items: I,
        mut f: impl FnMut(&Run<K>, I::Item),
    ) {
        let mut run = Zeroizing::new(Run::EMPTY);
        while items.len() > 0 {
            let many = items.len().min(CHUNK / self.len);
            let bytes = self.stream.chunk(many * self.len);
            // The random bytes come first in the zip, so that a used-up chunk does not consume an item.
            for (bytes, item) in bytes.chunks_exact(self.len).zip(items.by_ref()) {
                (self.read)(&mut run, &Words(bytes.as_chunks().0));
                f(&run, item);
            }
        }
    }
}

/// All ones if bit `at` of the word is set, else zero.
pub(super) fn take(word: u32, at: usize) -> i32 {
    0i32.wrapping_sub((word >> at & 1).cast_signed())
}
