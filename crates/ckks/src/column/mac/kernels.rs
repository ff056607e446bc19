//! The kernels of scoring.

use sordino_cpu::Backend;

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::{Pass, portable};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

sordino_cpu::kernels! {
    /// The kernels of scoring. All of them compute the same sums.
    pub(super) enum Kernels {
        Avx512: Avx512Vbmi,
        Avx2: Avx2,
        Neon: Neon,
    }
}

impl Kernels {
    /// The fastest kernels of this processor.
    pub(super) fn detect() -> Self {
        Self::of(Backend::detect())
    }

    pub(super) fn run<const B: usize>(self, pass: &Pass, sums: &mut [u64]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => avx512::run::<B>(token, pass, sums),
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
