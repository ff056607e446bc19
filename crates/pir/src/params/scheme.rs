//! The two schemes: by their number, and as types.

use std::fmt::Debug;

/// A scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// [`simple`](crate::simple): the hint grows with the rows of the matrix, the answer too.
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

/// A scheme, as the type parameter of its parameters, databases and messages.
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
    /// Keeps others from adding protocols.
    pub trait Sealed {}
    impl Sealed for super::SimplePir {}
    impl Sealed for super::DoublePir {}
}
