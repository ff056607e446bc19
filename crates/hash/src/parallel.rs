//! The same over rayon's threads.

use blake3::Hash;
use rayon::prelude::*;

use crate::Backend;
use crate::each::each;
use crate::mode::Mode;

/// [`hash_each`](crate::hash_each) on all threads of the current rayon pool.
///
/// # Panics
/// If the two slices differ in length.
///
/// # Examples
/// ```
/// use sordino_hash::{Hash, hash, par_hash_each};
///
/// let messages: Vec<[u8; 64]> = (0..=255).map(|byte| [byte; 64]).collect();
/// let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
/// par_hash_each(&messages, &mut digests);
/// assert_eq!(digests[7], hash(&messages[7]));
/// ```
pub fn par_hash_each<M: AsRef<[u8]> + Sync>(messages: &[M], digests: &mut [Hash]) {
    par_each(&Mode::hash(), messages, digests);
}

/// [`keyed_hash_each`](crate::keyed_hash_each) on all threads of the current rayon pool.
///
/// # Panics
/// If the two slices differ in length.
pub fn par_keyed_hash_each<M: AsRef<[u8]> + Sync>(
    key: &[u8; 32],
    messages: &[M],
    tags: &mut [Hash],
) {
    par_each(&Mode::keyed(key), messages, tags);
}

/// [`derive_key_each`](crate::derive_key_each) on all threads of the current rayon pool.
///
/// # Panics
/// If the two slices differ in length.
pub fn par_derive_key_each<M: AsRef<[u8]> + Sync>(
    context: &str,
    materials: &[M],
    keys: &mut [[u8; 32]],
) {
    par_each(&Mode::derive_key(context), materials, keys);
}

fn par_each<M: AsRef<[u8]> + Sync, D: From<[u8; 32]> + Send>(
    mode: &Mode,
    messages: &[M],
    digests: &mut [D],
) {
    assert_eq!(messages.len(), digests.len(), "one digest per message");
    let backend = Backend::detect();
    // Several parts per thread even out lengths; a part of 1024 short messages takes about 10 us,
    // well above what starting it costs.
    let part = messages
        .len()
        .div_ceil(8 * rayon::current_num_threads())
        .clamp(1, 1024);
    messages
        .par_chunks(part)
        .zip(digests.par_chunks_mut(part))
        .for_each(|(messages, digests)| each(backend, mode, messages, digests, true));
}
