//! The kernels of products. Laying out an operand chooses them.

sordino_cpu::kernels! {
    /// The kernels of products. All of them compute the same words.
    ///
    /// `Avx2` uses 16-bit limbs and `vpmaddwd`, `Avx512` uses `vpdpbusd` and `vpdpwssd`, and `Neon` uses
    /// widening moves and `mla`. `Amx` uses `tdpbsud`. For small secrets, and for vectors times a matrix
    /// outside the cache, it uses the kernels of `Avx512`.
    pub(super) enum Kernels {
        Amx: Amx,
        Avx512: Avx512Vnni,
        Avx2: Avx2,
        Neon: Neon,
    }
}
