//! Hashing every message of a list: which messages share lanes, and how the chunks of longer ones
//! are joined.
//!
//! | messages | way |
//! |---|---|
//! | at most a chunk each, all with the same number of blocks | [`Kernel::uniform`], `N` at a time |
//! | any mix, lengths that do not fill the lanes ([`mixed`]) | every chunk is a node in the lanes, then every pair of chaining values, level by level |
//! | longer messages | the official crate, which fills its lanes from the message's own chunks |

use blake3::Hash;
#[cfg(target_arch = "x86_64")]
use sordino_cpu::Avx2;
use zeroize::Zeroize;

use crate::Backend;
use crate::lanes::portable::Portable;
use crate::lanes::{Kernel, run};
use crate::mixed;
use crate::mode::Mode;
use crate::node::{BLOCK, CHUNK, Node};

/// Fewer messages than this do not fill enough lanes to pay for them.
const FEW: usize = 3;

/// Hashes every message with BLAKE3: `digests[i]` becomes the digest of `messages[i]`.
///
/// The result equals [`blake3::hash`] of each message. Messages may have any mix of lengths;
/// messages of one length are fastest. Nothing is allocated.
///
/// # Panics
/// If the two slices differ in length.
///
/// # Examples
/// ```
/// use sordino_hash::{Hash, hash, hash_each};
///
/// let messages = [b"first".as_slice(), b"", b"third"];
/// let mut digests = [Hash::from_bytes([0; 32]); 3];
/// hash_each(&messages, &mut digests);
/// assert_eq!(digests[2], hash(b"third"));
/// ```
pub fn hash_each<M: AsRef<[u8]>>(messages: &[M], digests: &mut [Hash]) {
    if let ([message], [digest]) = (messages, &mut *digests) {
        *digest = blake3::hash(message.as_ref());
        return;
    }
    each(Backend::detect(), &Mode::hash(), messages, digests, false);
}

/// [`hash_each`] on a backend of the caller's choice, for tests and benchmarks.
///
/// # Panics
/// If the two slices differ in length.
pub fn hash_each_on<M: AsRef<[u8]>>(backend: Backend, messages: &[M], digests: &mut [Hash]) {
    each(backend, &Mode::hash(), messages, digests, false);
}

/// Authenticates every message under one key: `tags[i]` becomes [`blake3::keyed_hash`] of
/// `messages[i]`.
///
/// # Panics
/// If the two slices differ in length.
///
/// # Security
/// Time depends on the lengths of the messages only. What is left of the key and of chaining values
/// in this crate's buffers is overwritten; copies in registers or spilled by the compiler are not.
pub fn keyed_hash_each<M: AsRef<[u8]>>(key: &[u8; 32], messages: &[M], tags: &mut [Hash]) {
    each(Backend::detect(), &Mode::keyed(key), messages, tags, false);
}

/// Derives a key from each key material: `keys[i]` becomes [`blake3::derive_key`] of `context` and
/// `materials[i]`.
///
/// `context` should be hard-coded, globally unique and specific to the application; the context is
/// hashed once for the whole list.
///
/// # Panics
/// If the two slices differ in length.
///
/// # Security
/// As for [`keyed_hash_each`]. The derived keys are the caller's to overwrite.
pub fn derive_key_each<M: AsRef<[u8]>>(context: &str, materials: &[M], keys: &mut [[u8; 32]]) {
    each(
        Backend::detect(),
        &Mode::derive_key(context),
        materials,
        keys,
        false,
    );
}

/// All of the above; `threads` lets very long messages use rayon.
pub(crate) fn each<M: AsRef<[u8]>, D: From<[u8; 32]>>(
    backend: Backend,
    mode: &Mode,
    messages: &[M],
    digests: &mut [D],
    threads: bool,
) {
    assert_eq!(messages.len(), digests.len(), "one digest per message");
    match backend {
        Backend::Portable => on_lanes(Portable, mode, messages, digests, threads),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2(kernel) => on_lanes(kernel, mode, messages, digests, threads),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512(wide) => match Avx2::detect() {
            // Half of the lanes would idle: half as many take less time.
            Some(kernel) if messages.len() <= 8 => {
                on_lanes(kernel, mode, messages, digests, threads);
            }
            _ => on_lanes(wide, mode, messages, digests, threads),
        },
        #[cfg(target_arch = "aarch64")]
        Backend::Neon(kernel) => on_lanes(kernel, mode, messages, digests, threads),
    }
}

fn on_lanes<const N: usize, M: AsRef<[u8]>, D: From<[u8; 32]>>(
    kernel: impl Kernel<N>,
    mode: &Mode,
    messages: &[M],
    digests: &mut [D],
    threads: bool,
) {
    if N > 1 && messages.len() < FEW {
        for (message, digest) in messages.iter().zip(digests) {
            *digest = mode.official(message.as_ref(), threads).into();
        }
        return;
    }
    if have_common_blocks(messages) {
        return uniform(kernel, mode, messages, digests);
    }
    mixed::hash(kernel, mode, messages, digests, threads);
}

/// Whether all messages have the same number of blocks, and at most a chunk.
fn have_common_blocks<M: AsRef<[u8]>>(messages: &[M]) -> bool {
    let blocks = |message: &M| message.as_ref().len().div_ceil(BLOCK).max(1);
    let Some(first) = messages.first().map(blocks) else {
        return true;
    };
    first <= CHUNK / BLOCK && messages.iter().all(|message| blocks(message) == first)
}

/// Messages of one chunk and one number of blocks.
fn uniform<const N: usize, M: AsRef<[u8]>, D: From<[u8; 32]>>(
    kernel: impl Kernel<N>,
    mode: &Mode,
    messages: &[M],
    digests: &mut [D],
) {
    let mut tails = [[0; BLOCK]; N];
    let mut batch = [[0; 32]; N];
    let (full, rest) = messages.as_chunks::<N>();
    let (full_digests, rest_digests) = digests.as_chunks_mut::<N>();
    for (i, (messages, digests)) in full.iter().zip(full_digests).enumerate() {
        let next = full.get(i + 1).unwrap_or(messages);
        kernel.uniform(messages, next, mode, &mut tails, &mut batch);
        for (digest, bytes) in digests.iter_mut().zip(batch) {
            *digest = bytes.into();
        }
    }
    if mode.is_secret() {
        tails.zeroize();
        batch.zeroize();
    }
    if !rest.is_empty() {
        let nodes = rest
            .iter()
            .enumerate()
            .map(|(i, m)| (Node::chunk(m.as_ref(), 0, true), i));
        run(kernel, mode, nodes, |i, bytes| {
            rest_digests[i] = bytes.into();
        });
    }
}
