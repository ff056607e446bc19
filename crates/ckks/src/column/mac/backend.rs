//! Which kernels compute.

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::{Pass, portable};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// The backends of this build.
#[derive(Clone, Copy, Debug)]
pub(super) enum Backend {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(sordino_cpu::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi(sordino_cpu::Avx512Vbmi),
    #[cfg(target_arch = "aarch64")]
    Neon(sordino_cpu::Neon),
}

impl Backend {
    #[cfg(target_arch = "x86_64")]
    pub(super) fn detect() -> Self {
        let fastest = sordino_cpu::Avx512Vbmi::detect().map(Self::Avx512Vbmi);
        fastest
            .or_else(|| sordino_cpu::Avx2::detect().map(Self::Avx2))
            .unwrap_or(Self::Portable)
    }

    #[cfg(target_arch = "aarch64")]
    pub(super) fn detect() -> Self {
        sordino_cpu::Neon::detect().map_or(Self::Portable, Self::Neon)
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) fn detect() -> Self {
        Self::Portable
    }

    pub(super) fn run<const B: usize>(self, pass: &Pass, sums: &mut [u64]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vbmi(token) => avx512::run::<B>(token, pass, sums),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => pass.each_tile(sums, |block, x, step, sums| {
                avx2::mac::<B>(token, pass.modulus, block, x, step, sums);
            }),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(token) => pass.each_tile(sums, |block, x, step, sums| {
                neon::mac::<B>(token, pass.modulus, block, x, step, sums);
            }),
            Self::Portable => pass.each_tile(sums, |block, x, step, sums| {
                portable::mac::<B>(pass.modulus, block, x, step, sums);
            }),
        }
    }
}
