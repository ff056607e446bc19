//! AVX2: the portable loops, compiled for 256-bit registers.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx2;

use super::portable;

pub(super) fn write(_: Avx2, numbers: &[u64], r: u32, planes: &mut [u8]) {
    #[target_feature(enable = "avx2")]
    fn written(numbers: &[u64], r: u32, planes: &mut [u8]) {
        portable::write(numbers, r, planes);
    }
    // SAFETY: the token proves the target features.
    unsafe { written(numbers, r, planes) }
}

pub(super) fn read(_: Avx2, planes: &[u8], r: u32, out: &mut [u64]) {
    #[target_feature(enable = "avx2")]
    fn filled(planes: &[u8], r: u32, out: &mut [u64]) {
        portable::read(planes, r, out);
    }
    // SAFETY: the token proves the target features.
    unsafe { filled(planes, r, out) }
}

pub(super) fn dot(_: Avx2, planes: &[u8], r: u32, weights: &[i8]) -> u64 {
    #[target_feature(enable = "avx2")]
    fn summed(planes: &[u8], r: u32, weights: &[i8]) -> u64 {
        portable::dot(planes, r, weights)
    }
    // SAFETY: the token proves the target features.
    unsafe { summed(planes, r, weights) }
}
