//! The instruction level that an operation uses.

use crate::{Level, Token};

/// A level that this processor has, which determines the kernels of an operation. Kernels of all levels compute the
/// same bits, so the choice affects speed only. Tests and benchmarks choose a level; other code calls
/// [`Backend::detect`].
///
/// A crate may have no kernel for a backend's level, or its kernel may need an extension that the processor lacks. The
/// crate then runs the kernel of the next lower level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Backend(Level);

impl Backend {
    /// The kernels in plain Rust, which run everywhere and define the results of all others.
    pub const PORTABLE: Self = Self(Level::Portable);

    /// The fastest backend that this processor has and `SORDINO_CPU` admits, excluding tiles.
    #[inline]
    #[must_use]
    pub fn detect() -> Self {
        Self::available().next().unwrap_or(Self::PORTABLE)
    }

    /// Every backend that this processor has and `SORDINO_CPU` admits, excluding tiles, fastest first. The last is
    /// [`Backend::PORTABLE`].
    #[inline]
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let vectors = [
            crate::Avx512::detect().map(|_| Level::Avx512),
            crate::Avx2::detect().map(|_| Level::Avx2),
        ];
        #[cfg(target_arch = "aarch64")]
        let vectors = [crate::Neon::detect().map(|_| Level::Neon)];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let vectors = [None];
        vectors
            .into_iter()
            .flatten()
            .chain([Level::Portable])
            .map(Self)
    }

    /// The fastest backend including tiles, for crates that have kernels for them. This asks the system for tiles, see
    /// `Amx`.
    #[must_use]
    pub fn detect_with_tiles() -> Self {
        Self::available_with_tiles()
            .next()
            .unwrap_or(Self::PORTABLE)
    }

    /// Tiles, if the processor has them, and then [`Backend::available`]. This asks the system for tiles, see `Amx`.
    pub fn available_with_tiles() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let tiles = crate::Amx::detect().map(|_| Self(Level::Amx));
        #[cfg(not(target_arch = "x86_64"))]
        let tiles = None;
        tiles.into_iter().chain(Self::available())
    }

    /// The backend's level.
    #[must_use]
    pub const fn level(self) -> Level {
        self.0
    }

    /// The name of the backend's level, for reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name()
    }

    /// The token `T`, if the processor has its instructions and this backend's level includes them.
    #[inline]
    #[must_use]
    pub fn token<T: Token>(self) -> Option<T> {
        if self.0 < T::LEVEL {
            return None;
        }
        T::detect()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn backends_come_fastest_first_and_portable_is_among_them() {
        let all: Vec<Backend> = Backend::available().collect();
        assert!(all.is_sorted_by(|a, b| a > b), "{all:?}");
        assert_eq!(all.first(), Some(&Backend::detect()));
        assert_eq!(all.last(), Some(&Backend::PORTABLE));
        assert!(
            all.iter()
                .all(|backend| backend.level() <= Level::ceiling())
        );
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_backend_gives_no_token_above_its_level() {
        use crate::{Amx, Avx2, Avx512, Bmi};
        for backend in Backend::available_with_tiles() {
            let level = backend.level();
            assert_eq!(
                backend.token::<Avx512>().is_some(),
                level >= Level::Avx512,
                "{backend:?}"
            );
            assert_eq!(
                backend.token::<Avx2>().is_some(),
                level >= Level::Avx2,
                "{backend:?}"
            );
            assert!(backend.token::<Bmi>().is_none() || level >= Level::Avx2);
            assert_eq!(backend.token::<Amx>().is_some(), level == Level::Amx);
        }
    }
}
