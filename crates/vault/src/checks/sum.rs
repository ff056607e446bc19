//! Sums of a run's products, one for each check row. Bits become masks.

use zeroize::{Zeroize, Zeroizing};

use super::run::Run;
use sordino_index::checks::RUN;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

sordino_cpu::kernels! {
    /// The kernels of sums. All of them give the same bits.
    enum Kernels {
        Avx512: Avx512,
        Avx2: Avx2,
        Neon: Neon,
    }
}

/// Partial sums of each check row, which together are its sum. Each kernel chooses the partial sum
/// to which it adds.
type Lanes<const K: usize> = [[i32; LANES]; K];

const LANES: usize = 16;

/// The products of a run's positions.
type Products = [i32; RUN];

/// The `K` sums of a group's products so far.
pub(super) struct Sums<const K: usize> {
    kernels: Kernels,
    lanes: Lanes<K>,
}

impl<const K: usize> Sums<K> {
    pub(super) fn new(backend: sordino_cpu::Backend) -> Self {
        Self {
            kernels: Kernels::of(backend),
            lanes: [[0; LANES]; K],
        }
    }

    /// Adds the products of a run. The last run of a segment may be shorter.
    pub(super) fn add(&mut self, run: &Run<K>, products: &[i32]) {
        if let Ok(products) = products.try_into() {
            return add(self.kernels, &mut self.lanes, run, products);
        }
        let mut whole = Zeroizing::new([0; RUN]);
        whole[..products.len()].copy_from_slice(products);
        add(self.kernels, &mut self.lanes, run, &whole);
    }

    /// The sums mod 2^32.
    pub(super) fn whole(&self) -> Zeroizing<[i32; K]> {
        let sums = self.lanes.iter();
        let mut sums = sums.map(|lanes| lanes.iter().fold(0i32, |sum, x| sum.wrapping_add(*x)));
        Zeroizing::new(std::array::from_fn(|_| sums.next().unwrap_or_default()))
    }
}

impl<const K: usize> Drop for Sums<K> {
    fn drop(&mut self) {
        self.lanes.zeroize();
    }
}

fn add<const K: usize>(kernels: Kernels, lanes: &mut Lanes<K>, run: &Run<K>, products: &Products) {
    match kernels {
        Kernels::Portable => portable::add(lanes, run, products),
        #[cfg(target_arch = "x86_64")]
        Kernels::Avx2(token) => avx2::add(token, lanes, run, products),
        #[cfg(target_arch = "x86_64")]
        Kernels::Avx512(token) => avx512::add(token, lanes, run, products),
        #[cfg(target_arch = "aarch64")]
        Kernels::Neon(token) => neon::add(token, lanes, run, products),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same<const K: usize>(
        signs: u32,
        bits: &[u32; 32],
        products: &[i32],
    ) -> Result<(), TestCaseError> {
        let bits = std::array::from_fn(|check| bits[check % 32] ^ u32::from(check >= 32));
        let run: Run<K> = Run { signs, bits };
        let sums = |backend| {
            let mut sums = Sums::new(backend);
            sums.add(&run, products);
            sums.add(&run, &products[products.len() / 2..]);
            sums.whole()
        };
        let expected = sums(sordino_cpu::Backend::PORTABLE);
        for backend in sordino_cpu::Backend::available() {
            prop_assert_eq!(sums(backend), expected.clone(), "{:?}", backend);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn every_backend_equals_the_definition(
            signs in any::<u32>(),
            bits in prop::array::uniform32(any::<u32>()),
            products in prop::collection::vec(any::<i32>(), 0..RUN + 1),
        ) {
            same::<{ sordino_index::checks::COUNT }>(signs, &bits, &products)?;
            same::<{ sordino_index::checks::held::COUNT }>(signs, &bits, &products)?;
        }
    }
}
