//! Which vectors this processor has.

#[cfg(target_arch = "aarch64")]
use sordino_cpu::Neon;
#[cfg(target_arch = "x86_64")]
use sordino_cpu::{Avx2, Avx512Popcnt};

/// The kernels of this crate; a value proves that this processor has them. All give the same bits.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Backend {
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

impl Backend {
    /// The widest backend of this processor (the variable `SORDINO_CPU` lowers it).
    #[inline]
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = Avx512Popcnt::detect() {
            return Self::Avx512(token);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = Avx2::detect() {
            return Self::Avx2(token);
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(token) = Neon::detect() {
            return Self::Neon(token);
        }
        Self::Portable
    }

    /// Every backend of this processor, narrowest first: what a test or a benchmark goes through.
    pub fn all() -> impl Iterator<Item = Self> {
        [
            Some(Self::Portable),
            #[cfg(target_arch = "x86_64")]
            Avx2::detect().map(Self::Avx2),
            #[cfg(target_arch = "x86_64")]
            Avx512Popcnt::detect().map(Self::Avx512),
            #[cfg(target_arch = "aarch64")]
            Neon::detect().map(Self::Neon),
        ]
        .into_iter()
        .flatten()
    }

    /// The backend's name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
        }
    }
}
