//! The shape of a table.

use crate::Error;
use crate::packed;
use crate::params::{N, Params};

/// `G` matrices of `r` rows and `m` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    groups: usize,
    rows: usize,
    columns: usize,
}

impl Shape {
    /// The largest number of groups.
    pub const MAX_GROUPS: usize = Params::MAX_GROUPS;
    /// The largest number of rows of a group.
    pub const MAX_ROWS: usize = 1 << 24;
    /// The largest number of words of a query, which take 16 MiB.
    pub const MAX_WORDS: usize = 1 << 22;

    /// The shape of `groups` matrices of `rows` rows and `columns` columns, with 18-bit entries. [`Params::shape`]
    /// gives the shapes of other sets.
    ///
    /// # Errors
    /// [`Error::Shape`] if a number is 0, there are more than [`Params::MAX_COLUMNS`] columns, or another number is
    /// above the limits of this type.
    pub const fn new(groups: usize, rows: usize, columns: usize) -> Result<Self, Error> {
        Params::module_1536().shape(groups, rows, columns)
    }

    /// `G`, the matrices that one query scans.
    #[must_use]
    pub const fn groups(&self) -> usize {
        self.groups
    }

    /// `r`, the rows of each matrix.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// `m`, the columns of each matrix.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// `G m`, the words of a query.
    #[must_use]
    pub const fn words(&self) -> usize {
        self.groups * self.columns
    }

    /// `G r`, the words of an answer.
    #[must_use]
    pub const fn answers(&self) -> usize {
        self.groups * self.rows
    }

    /// The bytes that one scan of a [`Table`](crate::Table) reads: nine for every four entries, with rows rounded up to
    /// whole cache lines.
    #[must_use]
    pub const fn scanned_len(&self) -> usize {
        self.answers() * self.stride()
    }

    /// The size in bytes of a row.
    pub(crate) const fn stride(&self) -> usize {
        packed::stride(self.columns)
    }

    /// The number of polynomials of a row. The last one is filled up with zeros.
    pub(crate) const fn polys(&self) -> usize {
        self.columns.div_ceil(N)
    }
}

impl Params {
    /// The shape of `groups` matrices of `rows` rows and `columns` columns, within the limits of the set.
    ///
    /// # Errors
    /// [`Error::Shape`] if a number is 0 or above its limit.
    pub const fn shape(&self, groups: usize, rows: usize, columns: usize) -> Result<Shape, Error> {
        // The match is needed because a constant function cannot use `?`.
        if let Err(error) = check("groups", groups, self.max_groups()) {
            return Err(error);
        }
        if let Err(error) = check("rows of a group", rows, Shape::MAX_ROWS) {
            return Err(error);
        }
        if let Err(error) = check("columns of a group", columns, self.max_columns()) {
            return Err(error);
        }
        if let Err(error) = check("words of a query", groups * columns, Shape::MAX_WORDS) {
            return Err(error);
        }
        Ok(Shape {
            groups,
            rows,
            columns,
        })
    }

    /// True if the set can have tables of this shape.
    pub(crate) const fn has(&self, shape: Shape) -> bool {
        shape.groups <= self.max_groups() && shape.columns <= self.max_columns()
    }
}

const fn check(what: &'static str, found: usize, most: usize) -> Result<(), Error> {
    if 1 <= found && found <= most {
        return Ok(());
    }
    Err(Error::Shape { what, found, most })
}
