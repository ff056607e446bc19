//! The right operand of a scan for one query.

use super::{Backend, layout, stride};

/// `q`: one vector of words mod 2^32, laid out for [`Digits::mul_vec`](super::Digits::mul_vec).
#[derive(Debug)]
pub struct Vector {
    pub(super) backend: Backend,
    pub(super) len: usize,
    pub(super) words: layout::Aligned,
}

impl Vector {
    /// Lays out `q` for the kernels of `backend`.
    #[must_use]
    pub fn new(backend: Backend, q: &[u32]) -> Self {
        let len = stride(q.len());
        let mut padded = layout::Aligned::zeroed(match backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Amx(_) => 2 * len,
            _ => len,
        });
        match backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Amx(_) => {
                let (limbs, planes) = padded.split_at_mut(len);
                layout::limbs(q, limbs);
                layout::vector_planes(q, planes);
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(_) | Backend::Avx2(_) => layout::limbs(q, &mut padded),
            _ => padded[..q.len()].copy_from_slice(q),
        }
        Self {
            backend,
            len: q.len(),
            words: padded,
        }
    }
}
