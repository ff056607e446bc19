//! Memory for operands that are read from end to end: aligned, and in huge pages where it is large.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Bytes of a cache line.
const LINE: usize = 64;
/// From this size on an operand gets pages of its own. With pages of 4 KiB a scan from memory spends
/// about as long on address translation as on reading.
const OWN_PAGES: usize = 1 << 20;

/// Bytes that start on a cache line, so that no vector load straddles two.
#[derive(Debug)]
pub struct Pages {
    store: Store,
    len: usize,
}

#[derive(Debug)]
enum Store {
    Heap { bytes: Vec<u8>, start: usize },
    Own(MmapMut),
}

impl Pages {
    /// `len` zeros: from a megabyte on in pages of their own, huge ones where the system has them.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        let own = (len >= OWN_PAGES && !cfg!(miri))
            .then(|| MmapMut::map_anon(len).ok())
            .flatten();
        let store = match own {
            Some(pages) => {
                #[cfg(target_os = "linux")]
                // Advice only: a kernel without huge pages refuses, and nothing changes.
                let _ = pages.advise(memmap2::Advice::HugePage);
                Store::Own(pages)
            }
            None => {
                let bytes = vec![0; len + LINE];
                let start = bytes.as_ptr().align_offset(LINE);
                // Miri may refuse to say where a line starts; correctness does not need it.
                let start = if start > LINE { 0 } else { start };
                Store::Heap { bytes, start }
            }
        };
        Self { store, len }
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.store {
            Store::Heap { bytes, start } => &bytes[*start..*start + self.len],
            Store::Own(pages) => &pages[..self.len],
        }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.store {
            Store::Heap { bytes, start } => &mut bytes[*start..*start + self.len],
            Store::Own(pages) => &mut pages[..self.len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_zeros_as_long_as_asked_for_and_start_on_a_line() {
        let large = [OWN_PAGES - 1, OWN_PAGES, OWN_PAGES + 7];
        let large = large.into_iter().filter(|_| !cfg!(miri));
        for len in [0, 1, 63, 64].into_iter().chain(large) {
            let mut pages = Pages::zeroed(len);
            assert_eq!(pages.len(), len);
            assert!(pages.iter().all(|byte| *byte == 0));
            pages.fill(0xff);
            // Miri need not say where a line starts.
            if !cfg!(miri) {
                assert_eq!(pages.as_ptr().align_offset(LINE), 0, "{len} bytes");
            }
        }
    }
}
