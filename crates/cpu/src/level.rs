//! The levels in order, and the variable that limits the detected level.

use core::fmt;
use core::str::FromStr;

/// A set of instructions for which kernels are written, ordered from low to high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust, which defines what every other level computes.
    Portable,
    /// 128-bit vectors of 64-bit Arm, with or without their extensions.
    Neon,
    /// 256-bit vectors of x86-64.
    Avx2,
    /// 512-bit vectors of x86-64, with or without their extensions.
    Avx512,
    /// Tiles of x86-64, in addition to 512-bit vectors.
    Amx,
}

impl Level {
    /// The level's name in reports and in `SORDINO_CPU`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Amx => "amx",
        }
    }

    /// The highest level that the variable `SORDINO_CPU` admits, or the highest of all if it is not set. Every
    /// call reads the variable.
    ///
    /// # Errors
    /// [`UnknownLevel`] if the variable names no level. Detection ignores such a name. A program that must run at
    /// exactly the requested level calls this first.
    #[cfg(feature = "std")]
    pub fn requested() -> Result<Self, UnknownLevel> {
        match std::env::var_os("SORDINO_CPU") {
            Some(name) => name.to_str().ok_or(UnknownLevel)?.parse(),
            None => Ok(Self::Amx),
        }
    }

    /// The highest level that detection may report, read once per process. A line on standard error reports a
    /// variable that names no level.
    #[cfg(feature = "std")]
    pub(crate) fn ceiling() -> Self {
        static CEILING: std::sync::OnceLock<Level> = std::sync::OnceLock::new();
        *CEILING.get_or_init(|| {
            Self::requested().unwrap_or_else(|unknown| {
                use std::io::Write as _;
                // `eprintln` would panic if standard error is closed.
                let _ = std::writeln!(
                    std::io::stderr(),
                    "sordino: SORDINO_CPU is ignored: {unknown}"
                );
                Self::Amx
            })
        })
    }

    /// Without `std` there is no variable.
    #[cfg(not(feature = "std"))]
    pub(crate) fn ceiling() -> Self {
        Self::Amx
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not the name of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownLevel;

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a level: expected portable, neon, avx2, avx512, amx or native")
    }
}

impl core::error::Error for UnknownLevel {}

impl FromStr for Level {
    type Err = UnknownLevel;

    /// Parses [`Level::name`], or `native` for the highest level.
    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        Ok(match name {
            "portable" => Self::Portable,
            "neon" => Self::Neon,
            "avx2" => Self::Avx2,
            "avx512" => Self::Avx512,
            "amx" | "native" => Self::Amx,
            _ => return Err(UnknownLevel),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_rise() {
        let rising = [
            Level::Portable,
            Level::Neon,
            Level::Avx2,
            Level::Avx512,
            Level::Amx,
        ];
        assert!(rising.is_sorted_by(|a, b| a < b));
        for level in rising {
            assert_eq!(level.name().parse(), Ok(level));
        }
        assert_eq!("native".parse(), Ok(Level::Amx));
        for name in ["", "avx", "AVX2", "avx2 "] {
            assert_eq!(name.parse::<Level>(), Err(UnknownLevel));
        }
    }

    /// If portable code ran instead, runs of kernels under Miri would test nothing.
    #[cfg(all(miri, target_arch = "x86_64"))]
    #[test]
    fn miri_detects_what_it_builds_for() {
        use crate::{AesNi, Avx2, Avx512, Avx512Vaes};
        let avx2 = cfg!(target_feature = "avx2");
        assert_eq!(Avx2::detect().is_some(), avx2);
        assert_eq!(
            AesNi::detect().is_some(),
            avx2 && cfg!(target_feature = "aes")
        );
        let avx512 = cfg!(target_feature = "avx512f");
        assert_eq!(Avx512::detect().is_some(), avx512);
        assert_eq!(
            Avx512Vaes::detect().is_some(),
            avx512 && cfg!(target_feature = "vaes")
        );
    }

    /// A test run for a requested level must not run at another level: a wrong name fails here.
    #[cfg(feature = "std")]
    #[test]
    fn these_tests_run_at_the_level_that_was_asked_for() {
        assert_eq!(
            Level::requested().expect("SORDINO_CPU names a level"),
            Level::ceiling()
        );
    }
}
