//! The kernels that an operation runs. The backend determines them once.

use crate::Backend;

sordino_cpu::kernels! {
    /// The kernels of this crate. A value proves that this processor supports them. All of them give
    /// the same bits.
    pub enum Kernels {
        Avx512: Avx512Popcnt,
        Avx2: Avx2,
        Neon: Neon,
    }
}

impl Kernels {
    /// The fastest kernels of this processor.
    #[inline]
    pub(crate) fn detect() -> Self {
        Self::of(Backend::detect())
    }
}
