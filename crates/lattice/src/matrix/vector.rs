//! The right operand of a scan for one query.

use super::kernels::Kernels;
use super::{Backend, STRIP, layout, stride};

/// `q`: one vector of words mod 2^32, laid out for [`Digits::mul_vec`](super::Digits::mul_vec).
#[derive(Debug)]
pub struct Vector {
    pub(super) kernels: Kernels,
    pub(super) len: usize,
    /// True if all words are multiples of 256, so that kernels can skip their low bytes.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "other kernels have no plane to leave out")
    )]
    pub(super) rounded: bool,
    pub(super) words: layout::Aligned,
    /// The words laid out for tiles, if the kernels use them.
    #[cfg(target_arch = "x86_64")]
    pub(super) tiles: layout::Aligned,
}

impl Vector {
    /// Lays out `q` for the kernels of `backend`.
    #[must_use]
    pub fn new(backend: Backend, q: &[u32]) -> Self {
        let kernels = Kernels::of(backend);
        let mut padded = layout::Aligned::zeroed(stride(q.len()));
        for (q, out) in q.chunks(STRIP).zip(padded.chunks_mut(STRIP)) {
            match kernels {
                #[cfg(target_arch = "x86_64")]
                Kernels::Avx512(_) | Kernels::Amx(_) => layout::byte_planes(q, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::Avx2(_) => layout::limbs(q, out),
                _ => out[..q.len()].copy_from_slice(q),
            }
        }
        #[cfg(target_arch = "x86_64")]
        let tiles = match kernels {
            Kernels::Amx(_) => {
                let mut tiles = layout::Aligned::zeroed(stride(q.len()));
                layout::vector_planes(q, &mut tiles);
                tiles
            }
            _ => layout::Aligned::zeroed(0),
        };
        Self {
            kernels,
            len: q.len(),
            rounded: q.iter().fold(0, |all, word| all | word) & 0xff == 0,
            words: padded,
            #[cfg(target_arch = "x86_64")]
            tiles,
        }
    }
}
