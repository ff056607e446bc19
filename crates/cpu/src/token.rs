//! Tokens: values that prove that the processor has certain instructions.

use crate::Level;

/// A proof that this processor has certain instructions. Only this crate's detection makes values of such
/// types.
pub trait Token: Copy + sealed::Sealed {
    /// The lowest level that admits the token.
    const LEVEL: Level;

    /// The token, if this processor has the instructions and `SORDINO_CPU` admits their level.
    fn detect() -> Option<Self>;
}

pub(crate) mod sealed {
    /// Prevents other crates from adding tokens.
    pub trait Sealed {}
}

/// Asks the processor or, without `std`, the compiler.
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

/// Declares a token: its name, the lowest level that admits it, and the features that it proves.
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
                // Miri detects the compile target's features.
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
