//! Record ids as the index stores them.

use sordino_fpe::{AesKey, Ff1, Ff1Range};

/// Record ids as the index stores them: FF1 (SP 800-38G) over all 32-bit numbers, so that they
/// look random, keep their size, and say nothing about the order of insertion.
pub struct RecordIds(Ff1Range);

impl RecordIds {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let ids =
            Ff1::new(&AesKey::new_256(key), 2).and_then(|ff1| ff1.range(0..=u128::from(u32::MAX)));
        Self(ids.expect("a 256-bit key and a domain of 2^32"))
    }

    /// The stored form of row `id`.
    #[must_use]
    pub fn hide(&self, id: u32) -> u32 {
        record_id(self.0.encrypt_u64(&[], id.into()))
    }

    /// The row that a stored id stands for.
    #[must_use]
    pub fn reveal(&self, hidden: u32) -> u32 {
        record_id(self.0.decrypt_u64(&[], hidden.into()))
    }
}

fn record_id(id: Result<u64, sordino_fpe::Error>) -> u32 {
    id.ok()
        .and_then(|id| u32::try_from(id).ok())
        .expect("a permutation of the 32-bit numbers")
}

impl std::fmt::Debug for RecordIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordIds").finish_non_exhaustive()
    }
}
