//! Macros with which other crates declare kernels for each level and call the right one.

/// Declares the kernels of a crate: an enum with a variant for each level, and `of`, which returns the fastest
/// kernels of a [`Backend`](crate::Backend). A variant holds the token that the level's kernels need.
///
/// ```
/// sordino_cpu::kernels! {
///     /// The kernels of this crate. All give the same bits.
///     pub(crate) enum Kernels {
///         Avx512: Avx512Popcnt,
///         Avx2: Avx2,
///         Neon: Neon,
///     }
/// }
/// let kernels = Kernels::of(sordino_cpu::Backend::PORTABLE);
/// assert!(matches!(kernels, Kernels::Portable));
/// ```
#[macro_export]
macro_rules! kernels {
    (
        $(#[$doc:meta])*
        $vis:vis enum $name:ident {
            $(Amx: $amx:ident,)?
            Avx512: $avx512:ident,
            Avx2: $avx2:ident,
            Neon: $neon:ident,
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        $vis enum $name {
            /// Plain Rust, which defines the results.
            Portable,
            /// 256-bit vectors of x86-64.
            #[cfg(target_arch = "x86_64")]
            Avx2($crate::$avx2),
            /// 512-bit vectors of x86-64.
            #[cfg(target_arch = "x86_64")]
            Avx512($crate::$avx512),
            $(
                /// Tiles of x86-64.
                #[cfg(target_arch = "x86_64")]
                Amx($crate::$amx),
            )?
            /// 128-bit vectors of 64-bit Arm.
            #[cfg(target_arch = "aarch64")]
            Neon($crate::$neon),
        }

        impl $name {
            /// The fastest kernels of a backend.
            #[inline]
            pub(crate) fn of(backend: $crate::Backend) -> Self {
                $(
                    #[cfg(target_arch = "x86_64")]
                    if let Some(token) = backend.token::<$crate::$amx>() {
                        return Self::Amx(token);
                    }
                )?
                #[cfg(target_arch = "x86_64")]
                if let Some(token) = backend.token() {
                    return Self::Avx512(token);
                }
                #[cfg(target_arch = "x86_64")]
                if let Some(token) = backend.token() {
                    return Self::Avx2(token);
                }
                #[cfg(target_arch = "aarch64")]
                if let Some(token) = backend.token() {
                    return Self::Neon(token);
                }
                let _ = backend;
                Self::Portable
            }
        }
    };
}

/// Calls a function in the module for these kernels' level: `portable`, `avx2`, `avx512` or `neon` below `$noun`.
/// The level's token is passed before the arguments, except for the portable level.
///
/// ```
/// mod sum {
///     pub mod portable {
///         pub fn sum(words: &[u32]) -> u32 {
///             words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
///         }
///     }
///     // A level whose kernels are the portable ones hands them on.
///     macro_rules! hand_on {
///         ($($level:ident)*) => {
///             $(pub mod $level {
///                 pub fn sum<T>(_: T, words: &[u32]) -> u32 {
///                     super::portable::sum(words)
///                 }
///             })*
///         };
///     }
///     hand_on!(avx2 avx512 neon);
/// }
/// sordino_cpu::kernels! {
///     enum Kernels { Avx512: Avx512, Avx2: Avx2, Neon: Neon, }
/// }
/// let kernels = Kernels::of(sordino_cpu::Backend::detect());
/// assert_eq!(sordino_cpu::dispatch!(Kernels, kernels, sum::sum(&[1, 2, 3])), 6);
/// ```
#[macro_export]
macro_rules! dispatch {
    ($name:ident, $kernels:expr, $noun:ident::$kernel:ident($($argument:expr),* $(,)?)) => {
        match $kernels {
            $name::Portable => $noun::portable::$kernel($($argument),*),
            #[cfg(target_arch = "x86_64")]
            $name::Avx2(token) => $noun::avx2::$kernel(token, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            $name::Avx512(token) => $noun::avx512::$kernel(token, $($argument),*),
            #[cfg(target_arch = "aarch64")]
            $name::Neon(token) => $noun::neon::$kernel(token, $($argument),*),
        }
    };
}
