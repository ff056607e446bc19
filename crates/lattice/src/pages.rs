//! Memory for operands that are read from end to end. It is aligned, and uses huge pages if it is large.

use std::ops::{Deref, DerefMut};

#[cfg(feature = "mmap")]
use memmap2::MmapMut;

/// The size in bytes of a cache line.
const LINE: usize = 64;
/// From this size on, an operand gets its own pages. With pages of 4 KiB, a scan from memory spends about
/// as long on address translation as on reading.
#[cfg(feature = "mmap")]
const OWN_PAGES: usize = 1 << 20;

/// The bytes that start on a cache line, so that no vector load straddles two.
pub struct Pages {
    store: Store,
    len: usize,
}

enum Store {
    Heap {
        bytes: Vec<u8>,
        start: usize,
    },
    #[cfg(feature = "mmap")]
    Own(MmapMut),
}

#[cfg(feature = "mmap")]
impl Store {
    /// Separate pages, if `len` is large enough and the system can give them.
    fn own(len: usize) -> Option<Self> {
        if len < OWN_PAGES || cfg!(miri) {
            return None;
        }
        let pages = MmapMut::map_anon(len).ok()?;
        // This is only advice: if the kernel has no huge pages, it refuses, and nothing changes.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        Some(Self::Own(pages))
    }
}

impl Pages {
    /// `len` zeros. With the feature `mmap`, from a megabyte on they get separate pages, huge ones if the
    /// system has them.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        #[cfg(feature = "mmap")]
        if let Some(store) = Store::own(len) {
            return Self { store, len };
        }
        let bytes = vec![0; len + LINE];
        let start = bytes.as_ptr().align_offset(LINE);
        // Under Miri the start of a line may be unknown; correctness does not need it.
        let start = if start > LINE { 0 } else { start };
        let store = Store::Heap { bytes, start };
        Self { store, len }
    }

    /// `len` words, all zero.
    ///
    /// # Panics
    /// Panics if `len` words overflow the address space.
    #[must_use]
    pub fn zeroed_words(len: usize) -> Self {
        let bytes = len.checked_mul(size_of::<u64>());
        Self::zeroed(bytes.expect("a length of the address space"))
    }

    /// The bytes as words.
    ///
    /// # Panics
    /// Panics if the last word is not whole.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        bytemuck::cast_slice(self)
    }

    /// The bytes as words, for writing.
    ///
    /// # Panics
    /// Panics if the last word is not whole.
    #[must_use]
    pub fn words_mut(&mut self) -> &mut [u64] {
        bytemuck::cast_slice_mut(self)
    }
}

impl std::fmt::Debug for Pages {
    /// Prints only the length: the bytes may be a whole database.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.store {
            Store::Heap { bytes, start } => &bytes[*start..*start + self.len],
            #[cfg(feature = "mmap")]
            Store::Own(pages) => &pages[..self.len],
        }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.store {
            Store::Heap { bytes, start } => &mut bytes[*start..*start + self.len],
            #[cfg(feature = "mmap")]
            Store::Own(pages) => &mut pages[..self.len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_zeros_as_long_as_asked_for_and_start_on_a_line() {
        // Sizes around the one from which operands get separate pages.
        let large = [(1 << 20) - 1, 1 << 20, (1 << 20) + 7];
        let large = large.into_iter().filter(|_| !cfg!(miri));
        for len in [0, 1, 63, 64].into_iter().chain(large) {
            let mut pages = Pages::zeroed(len);
            assert_eq!(pages.len(), len);
            assert!(pages.iter().all(|byte| *byte == 0));
            pages.fill(0xff);
            // Under Miri the start of a line may be unknown.
            if !cfg!(miri) {
                assert_eq!(pages.as_ptr().align_offset(LINE), 0, "{len} bytes");
            }
        }
    }
}
