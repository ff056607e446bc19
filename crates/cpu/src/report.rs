//! Names of the detected levels and extensions.

use std::vec;
use std::vec::Vec;

/// The names of the levels and extensions that are detected on this processor, for the head of a
/// report.
#[must_use]
pub fn levels() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let detected = {
        use crate::{
            AesNi, Amx, Avx2, Avx2Fma, Avx2Vaes, Avx512, Avx512Ifma, Avx512Popcnt, Avx512Vaes,
            Avx512Vbmi, Avx512Vnni,
        };
        [
            ("avx2", Avx2::detect().is_some()),
            ("avx2-fma", Avx2Fma::detect().is_some()),
            ("aes-ni", AesNi::detect().is_some()),
            ("avx2-vaes", Avx2Vaes::detect().is_some()),
            ("avx512", Avx512::detect().is_some()),
            ("avx512-vnni", Avx512Vnni::detect().is_some()),
            ("avx512-ifma", Avx512Ifma::detect().is_some()),
            ("avx512-vbmi", Avx512Vbmi::detect().is_some()),
            ("avx512-vpopcntdq", Avx512Popcnt::detect().is_some()),
            ("avx512-vaes", Avx512Vaes::detect().is_some()),
            ("amx", Amx::detect().is_some()),
        ]
    };
    #[cfg(target_arch = "aarch64")]
    let detected = {
        use crate::{Neon, NeonAes, NeonDot, NeonSha3};
        [
            ("neon", Neon::detect().is_some()),
            ("neon-aes", NeonAes::detect().is_some()),
            ("neon-sha3", NeonSha3::detect().is_some()),
            ("neon-dot", NeonDot::detect().is_some()),
        ]
    };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let detected: [(&str, bool); 0] = [];
    let mut names = vec!["portable"];
    names.extend(
        detected
            .into_iter()
            .filter(|(_, has)| *has)
            .map(|(name, _)| name),
    );
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    #[test]
    fn a_level_above_the_ceiling_is_not_reported() {
        let names = levels();
        assert_eq!(names[0], "portable");
        let any = |prefix: &str| names.iter().any(|name| name.starts_with(prefix));
        let ceiling = Level::ceiling();
        assert!(ceiling > Level::Portable || names.len() == 1);
        assert!(ceiling >= Level::Neon || !any("neon"));
        assert!(ceiling >= Level::Avx2 || !any("avx2"));
        assert!(ceiling >= Level::Avx512 || !any("avx512"));
        assert!(ceiling >= Level::Amx || !any("amx"));
    }
}
