//! The kernels that an operation runs, chosen once from its backend.

use crate::Backend;
#[cfg(target_arch = "aarch64")]
use sordino_cpu::Neon;
#[cfg(target_arch = "x86_64")]
use sordino_cpu::{Avx2, Avx512Popcnt};

/// The kernels of this crate; a value proves that this processor has them. All give the same bits.
#[derive(Clone, Copy, Debug)]
pub enum Kernels {
    /// The definition, in plain Rust.
    Portable,
    /// 256-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// 512-bit vectors that count bits.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512Popcnt),
    /// 128-bit vectors.
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

impl Kernels {
    /// The fastest kernels of a backend.
    #[inline]
    pub(crate) fn of(backend: Backend) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = backend.token() {
            return Self::Avx512(token);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = backend.token() {
            return Self::Avx2(token);
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(token) = backend.token() {
            return Self::Neon(token);
        }
        let _ = backend;
        Self::Portable
    }

    /// The fastest kernels of this processor.
    #[inline]
    pub(crate) fn detect() -> Self {
        Self::of(Backend::detect())
    }
}
