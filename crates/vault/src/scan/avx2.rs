//! The definition, compiled for AVX2. The compiler turns its loop into 256-bit multiply-adds.
#![expect(unsafe_code, reason = "calling a function of a target feature")]

use sordino_cpu::Avx2;

pub(super) fn products(_: Avx2, rows: &[i16], query: &[i16], products: &mut [i32]) {
    #[target_feature(enable = "avx2")]
    fn compiled(rows: &[i16], query: &[i16], products: &mut [i32]) {
        super::portable::products(rows, query, products);
    }
    // SAFETY: the token exists only on a processor with AVX2.
    unsafe { compiled(rows, query, products) }
}
