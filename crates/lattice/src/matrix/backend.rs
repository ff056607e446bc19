//! Which kernels compute.

/// A set of kernels. All of them compute the same words.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// Plain Rust: the definition of every product.
    Portable,
    /// 256-bit vectors: 16-bit limbs and `vpmaddwd`.
    #[cfg(target_arch = "x86_64")]
    Avx2(sordino_cpu::Avx2),
    /// 512-bit vectors: `vpdpbusd` and `vpdpwssd`.
    #[cfg(target_arch = "x86_64")]
    Avx512(sordino_cpu::Avx512Vnni),
    /// Tiles: `tdpbsud`; for vectors that meet a matrix outside the cache, and for small secrets, the kernels
    /// of `Avx512`.
    #[cfg(target_arch = "x86_64")]
    Amx(sordino_cpu::Amx),
    /// 128-bit vectors: widening moves and `mla`.
    #[cfg(target_arch = "aarch64")]
    Neon(sordino_cpu::Neon),
}

impl Backend {
    /// Every backend that this processor has, the fastest last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut backends = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            backends.extend(sordino_cpu::Avx2::detect().map(Self::Avx2));
            backends.extend(sordino_cpu::Avx512Vnni::detect().map(Self::Avx512));
            backends.extend(sordino_cpu::Amx::detect().map(Self::Amx));
        }
        #[cfg(target_arch = "aarch64")]
        backends.extend(sordino_cpu::Neon::detect().map(Self::Neon));
        backends
    }

    /// The fastest backend that this processor has.
    #[must_use]
    pub fn detect() -> Self {
        Self::available().pop().unwrap_or(Self::Portable)
    }

    /// The backend's name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Amx(_) => "amx",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
        }
    }
}
