//! How vectors lie in a database.

/// The layout of vectors in blocks of polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) dim: usize,
    pub(super) count: usize,
    pub(super) t: usize,
    /// `L`, the polynomials of a query and of a block.
    pub(super) polys: usize,
    /// `N / t`, the vectors of a block.
    pub(super) per: usize,
    pub(super) blocks: usize,
}

impl Shape {
    /// Vectors of block `j`.
    pub(super) fn in_block(&self, j: usize) -> usize {
        self.per.min(self.count - j * self.per)
    }
}
