//! The kernels that compute, chosen when an operand is laid out for them.

sordino_cpu::kernels! {
    /// The kernels of products. All of them compute the same words.
    ///
    /// `Avx2` are 16-bit limbs and `vpmaddwd`, `Avx512` `vpdpbusd` and `vpdpwssd`, `Neon` widening moves and
    /// `mla`. `Amx` is `tdpbsud`; for vectors that meet a matrix outside the cache, and for small secrets, the
    /// kernels of `Avx512`.
    pub(super) enum Kernels {
        Amx: Amx,
        Avx512: Avx512Vnni,
        Avx2: Avx2,
        Neon: Neon,
    }
}
