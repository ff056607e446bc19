//! Tokens: values that prove what the processor can do.

use crate::Level;

/// A proof that this processor has certain instructions. It is a value of one of this crate's types, which only
/// detection makes.
pub trait Token: Copy + sealed::Sealed {
    /// The lowest level that admits the token.
    const LEVEL: Level;

    /// The token, if this processor has the instructions and `SORDINO_CPU` admits their level.
    fn detect() -> Option<Self>;
}

pub(crate) mod sealed {
    /// Keeps others from adding tokens.
    pub trait Sealed {}
}

/// The answer of the processor, or of the compiler where there is no `std`.
#[cfg(feature = "std")]
macro_rules! has {
    ($detect:ident, $feature:tt) => {
        std::arch::$detect!($feature)
    };
}
#[cfg(not(feature = "std"))]
macro_rules! has {
    ($detect:ident, $feature:tt) => {
        cfg!(target_feature = $feature)
    };
}

/// Declares a token: its name, the lowest level that admits it, the features it proves.
macro_rules! token {
    ($(#[$doc:meta])* $name:ident, $level:ident, $detect:ident, [$($feature:tt),+]) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());

        impl $name {
            /// The token, if this processor has the instructions and `SORDINO_CPU` admits their level.
            #[inline]
            #[must_use]
            pub fn detect() -> Option<Self> {
                // Miri detects what it was told to build for.
                ($crate::Level::ceiling() >= $crate::Level::$level
                    && $(has!($detect, $feature))&&+)
                .then_some(Self(()))
            }
        }

        impl $crate::token::sealed::Sealed for $name {}

        impl $crate::Token for $name {
            const LEVEL: $crate::Level = $crate::Level::$level;

            #[inline]
            fn detect() -> Option<Self> {
                Self::detect()
            }
        }
    };
}
