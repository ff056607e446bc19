//! Hashing every message of a list: which messages share lanes, and how the chunks of longer ones
//! are joined.
//!
//! | messages | way |
//! |---|---|
//! | one length of whole blocks, at most a chunk ([`whole`]) | the official crate's kernel for such lists |
//! | at most a chunk each, neighbours with the same number of blocks | [`Kernel::uniform`], `N` at a time |
//! | any mix, lengths that do not fill the lanes ([`mixed`]) | every chunk is a node in the lanes, then every pair of chaining values, level by level |
//! | longer messages | the official crate, which fills its lanes from the message's own chunks |
//! | one or two | [`single`], one after the other |

use alloc::vec;
use alloc::vec::Vec;

use blake3::Hash;
use zeroize::Zeroize;

use crate::lanes::Kernel;
use crate::lanes::portable::Portable;
use crate::mode::Mode;
use crate::node::BLOCK;
use crate::{Backend, Error, mixed, single, whole};

/// Fewer messages than this do not fill enough lanes to pay for them.
const FEW: usize = 3;

/// A place for a digest, before there is one.
pub(crate) const EMPTY: Hash = Hash::from_bytes([0; 32]);

/// Hashes every message with BLAKE3, digests in the order of the messages.
///
/// Each digest equals [`blake3::hash`] of its message. Messages may have any mix of lengths; messages of
/// one length are fastest. Nothing but the result is allocated.
///
/// # Examples
/// ```
/// use sordino_hash::{hash, hash_each};
///
/// let digests = hash_each(&[b"first".as_slice(), b"", b"third"]);
/// assert_eq!(digests[2], hash(b"third"));
/// ```
#[must_use]
pub fn hash_each<M: AsRef<[u8]>>(messages: &[M]) -> Vec<Hash> {
    let mut digests = vec![EMPTY; messages.len()];
    each(
        Backend::detect(),
        &Mode::hash(),
        messages,
        &mut digests,
        false,
    );
    digests
}

/// [`hash_each`] into room of the caller's: nothing is allocated.
///
/// # Errors
/// [`Error::Digests`] if there are not as many digests as messages; none is written then.
pub fn hash_each_into<M: AsRef<[u8]>>(messages: &[M], digests: &mut [Hash]) -> Result<(), Error> {
    if let ([message], [digest]) = (messages, &mut *digests) {
        *digest = single::hash(&Mode::hash(), message.as_ref(), false).into();
        return Ok(());
    }
    hash_each_into_on(Backend::detect(), messages, digests)
}

/// [`hash_each_into`] on a backend of the caller's choice, for tests and benchmarks.
///
/// # Errors
/// Those of [`hash_each_into`].
pub fn hash_each_into_on<M: AsRef<[u8]>>(
    backend: Backend,
    messages: &[M],
    digests: &mut [Hash],
) -> Result<(), Error> {
    check_lengths(messages, digests)?;
    each(backend, &Mode::hash(), messages, digests, false);
    Ok(())
}

/// Authenticates every message under one key: each tag is [`blake3::keyed_hash`] of its message.
///
/// # Security
/// Time depends on the lengths of the messages only. The key and chaining values that are left in this
/// crate's buffers are overwritten; copies in registers or spilled by the compiler are not.
#[must_use]
pub fn keyed_hash_each<M: AsRef<[u8]>>(key: &[u8; 32], messages: &[M]) -> Vec<Hash> {
    let mut tags = vec![EMPTY; messages.len()];
    each(
        Backend::detect(),
        &Mode::keyed(key),
        messages,
        &mut tags,
        false,
    );
    tags
}

/// [`keyed_hash_each`] into room of the caller's: nothing is allocated.
///
/// # Errors
/// [`Error::Digests`] if there are not as many tags as messages; none is written then.
pub fn keyed_hash_each_into<M: AsRef<[u8]>>(
    key: &[u8; 32],
    messages: &[M],
    tags: &mut [Hash],
) -> Result<(), Error> {
    check_lengths(messages, tags)?;
    each(Backend::detect(), &Mode::keyed(key), messages, tags, false);
    Ok(())
}

/// Derives a key from each key material: each key is [`blake3::derive_key`] of `context` and its material.
///
/// `context` should be hard-coded, globally unique and specific to the application; it is hashed once
/// for the whole list.
///
/// # Security
/// See [`keyed_hash_each`]. The derived keys are the caller's to overwrite.
#[must_use]
pub fn derive_key_each<M: AsRef<[u8]>>(context: &str, materials: &[M]) -> Vec<[u8; 32]> {
    let mut keys = vec![[0; 32]; materials.len()];
    let mode = Mode::derive_key(context);
    each(Backend::detect(), &mode, materials, &mut keys, false);
    keys
}

/// [`derive_key_each`] into room of the caller's: nothing is allocated.
///
/// # Errors
/// [`Error::Digests`] if there are not as many keys as materials; none is written then.
pub fn derive_key_each_into<M: AsRef<[u8]>>(
    context: &str,
    materials: &[M],
    keys: &mut [[u8; 32]],
) -> Result<(), Error> {
    check_lengths(materials, keys)?;
    let mode = Mode::derive_key(context);
    each(Backend::detect(), &mode, materials, keys, false);
    Ok(())
}

pub(crate) fn check_lengths<M, D>(messages: &[M], digests: &[D]) -> Result<(), Error> {
    let (expected, found) = (messages.len(), digests.len());
    if found == expected {
        Ok(())
    } else {
        Err(Error::Digests { found, expected })
    }
}

/// All of the above, for as many digests as messages; `threads` lets very long messages use rayon.
pub(crate) fn each<M: AsRef<[u8]>, D: From<[u8; 32]>>(
    backend: Backend,
    mode: &Mode,
    messages: &[M],
    digests: &mut [D],
    threads: bool,
) {
    let hashed = match whole::platform(backend) {
        Some(platform) if messages.len() >= FEW => whole::hash(platform, mode, messages, digests),
        _ => 0,
    };
    let (messages, digests) = (&messages[hashed..], &mut digests[hashed..]);
    if messages.is_empty() {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    {
        // With 8 messages or fewer half of the 16 lanes would idle, and 8 lanes take less time.
        if messages.len() > 8
            && let Some(kernel) = backend.token::<sordino_cpu::Avx512>()
        {
            return on_lanes(kernel, mode, messages, digests, threads);
        }
        if let Some(kernel) = backend.token::<sordino_cpu::Avx2>() {
            return on_lanes(kernel, mode, messages, digests, threads);
        }
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(kernel) = backend.token::<sordino_cpu::Neon>() {
        return on_lanes(kernel, mode, messages, digests, threads);
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = backend;
    on_lanes(Portable, mode, messages, digests, threads);
}

fn on_lanes<const N: usize, M: AsRef<[u8]>, D: From<[u8; 32]>>(
    kernel: impl Kernel<N>,
    mode: &Mode,
    messages: &[M],
    digests: &mut [D],
    threads: bool,
) {
    let hashed = uniform(kernel, mode, messages, digests);
    let (messages, digests) = (&messages[hashed..], &mut digests[hashed..]);
    if N > 1 && messages.len() < FEW {
        for (message, digest) in messages.iter().zip(digests) {
            *digest = single::hash(mode, message.as_ref(), threads).into();
        }
        return;
    }
    mixed::hash(kernel, mode, messages, digests, threads);
}

/// Hashes the messages at the front of the list that are at most a chunk and, `N` by `N`, have the same
/// number of blocks; returns how many those are.
fn uniform<const N: usize, M: AsRef<[u8]>, D: From<[u8; 32]>>(
    kernel: impl Kernel<N>,
    mode: &Mode,
    messages: &[M],
    digests: &mut [D],
) -> usize {
    let (full, _) = messages.as_chunks::<N>();
    if full.is_empty() {
        return 0;
    }
    let mut tails = [[0; BLOCK]; N];
    let mut batch = [[0; 32]; N];
    let mut hashed = 0;
    for (i, (messages, digests)) in full.iter().zip(digests.as_chunks_mut::<N>().0).enumerate() {
        let next = full.get(i + 1).unwrap_or(messages);
        if !kernel.uniform(messages, next, mode, &mut tails, &mut batch) {
            break;
        }
        for (digest, bytes) in digests.iter_mut().zip(&batch) {
            *digest = D::from(*bytes);
        }
        hashed += N;
    }
    if mode.is_secret() {
        tails.zeroize();
        batch.zeroize();
    }
    hashed
}
