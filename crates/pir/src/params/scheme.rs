//! The two schemes, as numbers in messages and as types.

use std::fmt::Debug;

/// A PIR scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// [`simple`](crate::simple): hint and answer grow with the rows of the matrix.
    Simple,
    /// [`double`](crate::double): hint and answer depend on the record's length alone.
    Double,
}

impl Scheme {
    /// The scheme's number in messages.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Simple => 0,
            Self::Double => 1,
        }
    }
}

/// A scheme, as a type parameter of parameters, databases and messages.
pub trait Protocol: sealed::Sealed + Copy + Debug + Eq {
    /// The scheme.
    const SCHEME: Scheme;
}

/// SimplePIR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimplePir;

/// DoublePIR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoublePir;

impl Protocol for SimplePir {
    const SCHEME: Scheme = Scheme::Simple;
}

impl Protocol for DoublePir {
    const SCHEME: Scheme = Scheme::Double;
}

mod sealed {
    /// Prevents other crates from adding protocols.
    pub trait Sealed {}
    impl Sealed for super::SimplePir {}
    impl Sealed for super::DoublePir {}
}
