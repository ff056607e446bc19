//! Zeroed memory on large pages, for what is streamed through at every query.

use memmap2::MmapMut;

/// A buffer of zeroed bytes, page-aligned; on Linux the kernel is asked for huge pages, so that the
/// processor's prefetch is not stopped at every 4 KiB.
pub(crate) struct Pages(Option<MmapMut>);

impl Pages {
    /// # Panics
    /// If the system has not `len` bytes left, as any allocation does.
    pub(crate) fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Self(None);
        }
        let map = MmapMut::map_anon(len).expect("memory for the database");
        #[cfg(target_os = "linux")]
        {
            // A kernel without huge pages serves small ones: slower, not wrong.
            let _refused = map.advise(memmap2::Advice::HugePage);
        }
        Self(Some(map))
    }
}

impl std::ops::Deref for Pages {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl std::ops::DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().unwrap_or_default()
    }
}
