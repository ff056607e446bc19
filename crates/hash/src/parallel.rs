//! Hashes lists on the threads of rayon.

use alloc::vec;
use alloc::vec::Vec;

use blake3::Hash;
use rayon::prelude::*;

use crate::batch::{BatchHasher, EMPTY, check_lengths};
use crate::{Error, list};

impl BatchHasher {
    /// Like [`Self::hash`], on all threads of the current rayon pool.
    ///
    /// # Examples
    /// ```
    /// use sordino_hash::{BatchHasher, hash};
    ///
    /// let messages: Vec<[u8; 64]> = (0..=255).map(|byte| [byte; 64]).collect();
    /// assert_eq!(BatchHasher::new().par_hash(&messages)[7], hash(&messages[7]));
    /// ```
    #[must_use]
    pub fn par_hash<M: AsRef<[u8]> + Sync>(&self, messages: &[M]) -> Vec<Hash> {
        let mut digests = vec![EMPTY; messages.len()];
        self.par_fill(messages, &mut digests);
        digests
    }

    /// Like [`Self::hash_into`], on all threads of the current rayon pool.
    ///
    /// # Errors
    /// The errors of [`Self::hash_into`].
    pub fn par_hash_into<M: AsRef<[u8]> + Sync, D: From<[u8; 32]> + Send>(
        &self,
        messages: &[M],
        digests: &mut [D],
    ) -> Result<(), Error> {
        check_lengths(messages, digests)?;
        self.par_fill(messages, digests);
        Ok(())
    }

    /// Hashes one message for each digest.
    fn par_fill<M: AsRef<[u8]> + Sync, D: From<[u8; 32]> + Send>(
        &self,
        messages: &[M],
        digests: &mut [D],
    ) {
        let backend = self.present();
        // Several parts per thread balance unequal lengths. A part of 1024 short messages takes about
        // 10 us, well above the cost of starting it.
        let part = messages
            .len()
            .div_ceil(8 * rayon::current_num_threads())
            .clamp(1, 1024);
        messages
            .par_chunks(part)
            .zip(digests.par_chunks_mut(part))
            .for_each(|(messages, digests)| {
                list::hash(backend, &self.mode, messages, digests, true);
            });
    }
}
