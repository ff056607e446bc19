//! Which of the two schemes.

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
