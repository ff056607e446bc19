//! The same over rayon's threads.

use alloc::vec;
use alloc::vec::Vec;

use blake3::Hash;
use rayon::prelude::*;

use crate::each::{EMPTY, check_lengths, each};
use crate::mode::Mode;
use crate::{Backend, Error};

/// [`hash_each`](crate::hash_each) on all threads of the current rayon pool.
///
/// # Examples
/// ```
/// use sordino_hash::{hash, par_hash_each};
///
/// let messages: Vec<[u8; 64]> = (0..=255).map(|byte| [byte; 64]).collect();
/// assert_eq!(par_hash_each(&messages)[7], hash(&messages[7]));
/// ```
#[must_use]
pub fn par_hash_each<M: AsRef<[u8]> + Sync>(messages: &[M]) -> Vec<Hash> {
    let mut digests = vec![EMPTY; messages.len()];
    par_each(&Mode::hash(), messages, &mut digests);
    digests
}

/// [`par_hash_each`] into room of the caller's.
///
/// # Errors
/// [`Error::Digests`] if there are not as many digests as messages; none is written then.
pub fn par_hash_each_into<M: AsRef<[u8]> + Sync>(
    messages: &[M],
    digests: &mut [Hash],
) -> Result<(), Error> {
    check_lengths(messages, digests)?;
    par_each(&Mode::hash(), messages, digests);
    Ok(())
}

/// [`keyed_hash_each`](crate::keyed_hash_each) on all threads of the current rayon pool.
#[must_use]
pub fn par_keyed_hash_each<M: AsRef<[u8]> + Sync>(key: &[u8; 32], messages: &[M]) -> Vec<Hash> {
    let mut tags = vec![EMPTY; messages.len()];
    par_each(&Mode::keyed(key), messages, &mut tags);
    tags
}

/// [`par_keyed_hash_each`] into room of the caller's.
///
/// # Errors
/// [`Error::Digests`] if there are not as many tags as messages; none is written then.
pub fn par_keyed_hash_each_into<M: AsRef<[u8]> + Sync>(
    key: &[u8; 32],
    messages: &[M],
    tags: &mut [Hash],
) -> Result<(), Error> {
    check_lengths(messages, tags)?;
    par_each(&Mode::keyed(key), messages, tags);
    Ok(())
}

/// [`derive_key_each`](crate::derive_key_each) on all threads of the current rayon pool.
#[must_use]
pub fn par_derive_key_each<M: AsRef<[u8]> + Sync>(context: &str, materials: &[M]) -> Vec<[u8; 32]> {
    let mut keys = vec![[0; 32]; materials.len()];
    par_each(&Mode::derive_key(context), materials, &mut keys);
    keys
}

/// [`par_derive_key_each`] into room of the caller's.
///
/// # Errors
/// [`Error::Digests`] if there are not as many keys as materials; none is written then.
pub fn par_derive_key_each_into<M: AsRef<[u8]> + Sync>(
    context: &str,
    materials: &[M],
    keys: &mut [[u8; 32]],
) -> Result<(), Error> {
    check_lengths(materials, keys)?;
    par_each(&Mode::derive_key(context), materials, keys);
    Ok(())
}

fn par_each<M: AsRef<[u8]> + Sync, D: From<[u8; 32]> + Send>(
    mode: &Mode,
    messages: &[M],
    digests: &mut [D],
) {
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
