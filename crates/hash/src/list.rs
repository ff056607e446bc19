//! The schedule of a list: it decides which messages share lanes, and joins the chunks of longer messages.
//!
//! | messages | way |
//! |---|---|
//! | one length of whole blocks, at most a chunk ([`whole`]) | the official crate's kernel for such lists |
//! | at most a chunk each, neighbours with the same number of blocks | [`Kernel::uniform`], `N` at a time |
//! | any mix, lengths that do not fill the lanes ([`mixed`]) | every chunk is a node in the lanes, then every pair of chaining values, level by level |
//! | longer messages | the official crate, which fills its lanes from the message's own chunks |
//! | one or two | [`single`], one after the other |

use zeroize::Zeroize;

use crate::lanes::Kernel;
use crate::lanes::portable::Portable;
use crate::mode::Mode;
use crate::node::BLOCK;
use crate::{Backend, mixed, single, whole};

/// A smaller number of messages than this leaves too many lanes empty.
const FEW: usize = 3;

/// Hashes each message into the digest at the same position. The lists have the same length. `threads` lets very long messages
/// use rayon.
pub(crate) fn hash<M: AsRef<[u8]>, D: From<[u8; 32]>>(
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
        // For 8 messages or fewer, at least half of 16 lanes would be idle, and 8 lanes take less time.
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

/// Hashes messages at the front of the list, in groups of `N`. It stops at a group whose messages differ in their number of
/// blocks, or have one longer than a chunk. Returns how many it hashed.
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
