//! Tokens for x86-64.

token!(
    /// AVX2: 256-bit integer vectors.
    Avx2, Avx2, is_x86_feature_detected, ["avx2"]
);
token!(
    /// AVX2 and FMA: 256-bit vectors of doubles with fused multiply-add.
    Avx2Fma, Avx2, is_x86_feature_detected, ["avx2", "fma"]
);
token!(
    /// AES-NI and AVX2: `aesenc` on 128-bit vectors.
    AesNi, Avx2, is_x86_feature_detected, ["aes", "avx2", "sse4.1"]
);
token!(
    /// AES-NI, AVX2 and VAES: two AES blocks per instruction, with or without AVX-512.
    Avx2Vaes, Avx2, is_x86_feature_detected, ["aes", "avx2", "sse4.1", "vaes"]
);
token!(
    /// BMI1 and BMI2: `andn`, `rorx` and `mulx` on general registers.
    Bmi, Avx2, is_x86_feature_detected, ["bmi1", "bmi2"]
);
token!(
    /// The instruction `popcnt` on general registers.
    Popcnt, Avx2, is_x86_feature_detected, ["popcnt"]
);
token!(
    /// AVX-512 F, BW, DQ, VL and CD: what every server core with AVX-512 has.
    Avx512, Avx512, is_x86_feature_detected,
    ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"]
);
token!(
    /// `Avx512` and VNNI: `vpdpbusd`, `vpdpwssd`.
    Avx512Vnni, Avx512, is_x86_feature_detected,
    ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx512vnni"]
);
token!(
    /// `Avx512` and IFMA: 52-bit multiply-add.
    Avx512Ifma, Avx512, is_x86_feature_detected,
    ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx512ifma"]
);
token!(
    /// `Avx512Ifma` and VBMI: byte permutes across a whole register.
    Avx512Vbmi, Avx512, is_x86_feature_detected,
    ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx512ifma", "avx512vbmi"]
);
token!(
    /// `Avx512` and VPOPCNTDQ: bit counts of 64-bit lanes.
    Avx512Popcnt, Avx512, is_x86_feature_detected,
    ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx512vpopcntdq"]
);
token!(
    /// `Avx512` and VAES: four AES blocks per instruction.
    Avx512Vaes, Avx512, is_x86_feature_detected,
    ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "vaes", "aes"]
);

impl Avx2Vaes {
    /// The token of AES-NI, which this token includes.
    #[inline]
    #[must_use]
    pub const fn aes_ni(self) -> AesNi {
        AesNi(())
    }
}

impl Avx512Vaes {
    /// The token of AES-NI, which this token includes.
    #[inline]
    #[must_use]
    pub const fn aes_ni(self) -> AesNi {
        AesNi(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_tokens_imply_narrower_ones() {
        if Avx512Vbmi::detect().is_some() {
            assert!(Avx512Ifma::detect().is_some());
        }
        if Avx512Ifma::detect().is_some() {
            assert!(Avx512::detect().is_some());
        }
    }
}
