//! Sums of a run's products, 40 of them at a time: bits become masks.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "calling functions of target features")
)]

use zeroize::{Zeroize, Zeroizing};

use super::keyed::Run;
use super::{COUNT, RUN};

/// Partial sums of each check row, by the position's place in its run mod 16.
type Lanes = [[i32; LANES]; COUNT];

const LANES: usize = 16;

/// The sums of a group's products so far.
pub(super) struct Sums(Lanes);

impl Default for Sums {
    fn default() -> Self {
        Self([[0; LANES]; COUNT])
    }
}

impl Sums {
    /// Adds the products of a run, of which the last one of a segment may be shorter.
    pub(super) fn add(&mut self, run: &Run, products: &[i32]) {
        let mut whole = Zeroizing::new([0; RUN]);
        whole[..products.len()].copy_from_slice(products);
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::Avx512::detect() {
            return avx512(token, &mut self.0, run, &whole);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::Avx2::detect() {
            return avx2(token, &mut self.0, run, &whole);
        }
        portable(&mut self.0, run, &whole);
    }

    /// The sums mod 2^32.
    pub(super) fn whole(self) -> Zeroizing<[i32; COUNT]> {
        Zeroizing::new(
            self.0
                .map(|lanes| lanes.into_iter().fold(0, i32::wrapping_add)),
        )
    }
}

impl Drop for Sums {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The definition. The compiler makes vectors of it, as wide as it may.
#[inline(always)]
fn portable(sums: &mut Lanes, run: &Run, products: &[i32; RUN]) {
    let mask = |word: u32, at: usize| (word << (RUN - 1 - at)).cast_signed() >> (RUN - 1);
    let signed: [i32; RUN] = std::array::from_fn(|at| {
        let minus = mask(run.signs, at);
        (products[at] ^ minus).wrapping_sub(minus)
    });
    let (halves, _) = signed.as_chunks::<LANES>();
    for (sums, bits) in sums.iter_mut().zip(run.bits) {
        for (half, signed) in halves.iter().enumerate() {
            for lane in 0..LANES {
                let counts = mask(bits, LANES * half + lane);
                sums[lane] = sums[lane].wrapping_add(signed[lane] & counts);
            }
        }
    }
}

/// The definition, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
fn avx2(_: sordino_cpu::Avx2, sums: &mut Lanes, run: &Run, products: &[i32; RUN]) {
    #[target_feature(enable = "avx2")]
    fn compiled(sums: &mut Lanes, run: &Run, products: &[i32; RUN]) {
        portable(sums, run, products);
    }
    // SAFETY: the token exists only on a processor with AVX2.
    unsafe { compiled(sums, run, products) }
}

/// The definition, compiled for AVX-512.
#[cfg(target_arch = "x86_64")]
fn avx512(_: sordino_cpu::Avx512, sums: &mut Lanes, run: &Run, products: &[i32; RUN]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn compiled(sums: &mut Lanes, run: &Run, products: &[i32; RUN]) {
        portable(sums, run, products);
    }
    // SAFETY: the token exists only on a processor with AVX-512 F, BW and VL.
    unsafe { compiled(sums, run, products) }
}
