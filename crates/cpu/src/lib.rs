#![doc = include_str!("../README.md")]

use std::sync::OnceLock;

/// The highest level that detection may report, from the variable `SORDINO_CPU`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ceiling {
    /// No token is given out: every kernel runs its portable definition.
    Portable,
    /// 256-bit vectors at most: no AVX-512 token is given out.
    Avx2,
    /// 512-bit vectors at most: no AMX token is given out.
    Avx512,
    /// Whatever the processor has.
    Native,
}

impl Ceiling {
    /// Reads the variable `SORDINO_CPU` once per process.
    ///
    /// # Panics
    /// If the variable holds anything but `portable`, `avx2`, `avx512` or `native`: a test run that
    /// asked for a level must not silently run another.
    pub fn get() -> Self {
        static CEILING: OnceLock<Ceiling> = OnceLock::new();
        *CEILING.get_or_init(|| match std::env::var("SORDINO_CPU").as_deref() {
            Err(_) | Ok("native") => Self::Native,
            Ok("avx512") => Self::Avx512,
            Ok("avx2") => Self::Avx2,
            Ok("portable") => Self::Portable,
            Ok(other) => {
                panic!("SORDINO_CPU is {other:?}: expected portable, avx2, avx512 or native")
            }
        })
    }
}

/// Declares a token: its name, the lowest ceiling that admits it, the features it proves.
macro_rules! token {
    ($(#[$doc:meta])* $name:ident, $ceiling:ident, $detect:ident, [$($feature:tt),+]) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());

        impl $name {
            /// The token, if this processor has the level and `SORDINO_CPU` admits it.
            #[inline]
            #[must_use]
            pub fn detect() -> Option<Self> {
                // Under Miri only portable code runs.
                (!cfg!(miri)
                    && Ceiling::get() >= Ceiling::$ceiling
                    && $(std::arch::$detect!($feature))&&+)
                .then_some(Self(()))
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
pub use amx::Amx;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::Ceiling;

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
}
#[cfg(target_arch = "x86_64")]
pub use x86_64::{
    AesNi, Avx2, Avx2Fma, Avx512, Avx512Ifma, Avx512Popcnt, Avx512Vaes, Avx512Vbmi, Avx512Vnni,
};

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use super::Ceiling;

    token!(
        /// NEON: 128-bit vectors, in every 64-bit Arm processor.
        Neon, Avx2, is_aarch64_feature_detected, ["neon"]
    );
    token!(
        /// NEON and the AES instructions.
        NeonAes, Avx2, is_aarch64_feature_detected, ["neon", "aes"]
    );
    token!(
        /// NEON and the SHA-3 instructions (`eor3`, `rax1`, `xar`, `bcax`).
        NeonSha3, Avx2, is_aarch64_feature_detected, ["neon", "sha3"]
    );
    token!(
        /// NEON and the dot-product instructions (`udot`, `sdot`).
        NeonDot, Avx2, is_aarch64_feature_detected, ["neon", "dotprod"]
    );
}
#[cfg(target_arch = "aarch64")]
pub use aarch64::{Neon, NeonAes, NeonDot, NeonSha3};

/// The names of the levels that are detected here, for the head of a report.
#[must_use]
pub fn levels() -> Vec<&'static str> {
    let mut names = vec!["portable"];
    #[cfg(target_arch = "x86_64")]
    {
        let detected = [
            ("avx2", Avx2::detect().is_some()),
            ("avx2-fma", Avx2Fma::detect().is_some()),
            ("aes-ni", AesNi::detect().is_some()),
            ("avx512", Avx512::detect().is_some()),
            ("avx512-vnni", Avx512Vnni::detect().is_some()),
            ("avx512-ifma", Avx512Ifma::detect().is_some()),
            ("avx512-vbmi", Avx512Vbmi::detect().is_some()),
            ("avx512-vpopcntdq", Avx512Popcnt::detect().is_some()),
            ("avx512-vaes", Avx512Vaes::detect().is_some()),
            ("amx", Amx::detect().is_some()),
        ];
        names.extend(
            detected
                .iter()
                .filter(|(_, has)| *has)
                .map(|(name, _)| name),
        );
    }
    #[cfg(target_arch = "aarch64")]
    {
        let detected = [
            ("neon", Neon::detect().is_some()),
            ("neon-aes", NeonAes::detect().is_some()),
            ("neon-sha3", NeonSha3::detect().is_some()),
            ("neon-dot", NeonDot::detect().is_some()),
        ];
        names.extend(
            detected
                .iter()
                .filter(|(_, has)| *has)
                .map(|(name, _)| name),
        );
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_orders_levels() {
        assert!(Ceiling::Portable < Ceiling::Avx2);
        assert!(Ceiling::Avx2 < Ceiling::Avx512);
        assert!(Ceiling::Avx512 < Ceiling::Native);
    }

    #[test]
    fn a_level_above_the_ceiling_is_not_reported() {
        let names = levels();
        assert_eq!(names[0], "portable");
        match Ceiling::get() {
            Ceiling::Portable => assert_eq!(names.len(), 1),
            Ceiling::Avx2 => assert!(!names.iter().any(|name| name.starts_with("avx512"))),
            Ceiling::Avx512 => assert!(!names.contains(&"amx")),
            Ceiling::Native => {}
        }
    }

    #[cfg(target_arch = "x86_64")]
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
