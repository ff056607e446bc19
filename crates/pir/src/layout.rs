//! Layouts of databases, and the named sets that serve them.

use crate::{DoublePir, Error, Params, Protocol, Security, Set, SimplePir};

impl Params<SimplePir> {
    /// A nearly square matrix for `records` records of `record_len` bytes, at 128 bits: queries and
    /// answers have about the square root of the database's size.
    ///
    /// # Errors
    /// [`Error::Empty`] if there are no records or they have no bytes; [`Error::TooLarge`] if no set keeps the failure
    /// bound.
    ///
    /// ```
    /// use sordino_pir::Params;
    /// let params = Params::for_database(1 << 20, 16)?;
    /// assert_eq!((params.rows(), params.columns()), (4096, 4096));
    /// assert!(params.log2_failure() <= -40.0);
    /// # Ok::<(), sordino_pir::Error>(())
    /// ```
    pub fn for_database(records: usize, record_len: usize) -> Result<Self, Error> {
        let side = (records as f64 / record_len.max(1) as f64).sqrt().round();
        // The value is at least 0 and at most 2^32: it is the square root of a usize.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "see above"
        )]
        let per_column = (side as usize).clamp(1, records.max(1));
        Self::with_layout(records, record_len, per_column, Security::default())
    }

    /// One record to a column, at 128 bits: `record_len` rows, `columns` columns.
    ///
    /// # Errors
    /// The errors of [`Self::for_database`].
    pub fn for_columns(columns: usize, record_len: usize) -> Result<Self, Error> {
        Self::with_layout(columns, record_len, 1, Security::default())
    }

    /// `per_column` records to a column.
    ///
    /// # Errors
    /// The errors of [`Self::for_database`].
    pub fn with_layout(
        records: usize,
        record_len: usize,
        per_column: usize,
        security: Security,
    ) -> Result<Self, Error> {
        Self::choose(records, record_len, per_column, security)
    }
}

impl Params<DoublePir> {
    /// DoublePIR's layout for `records` records of `record_len` bytes, at 128 bits. A set with uniform secrets that
    /// serves it gives equal numbers of columns and slots: at most 593 of each, or 518 for long records. The numbers
    /// are equal because the hint has `n^2` words for each byte. Other sets give at least `16 n` columns, if there are
    /// enough records, since the second level's work is `4 n / m` of the first one's.
    ///
    /// # Errors
    /// The errors of [`Self::for_database`].
    pub fn for_double(records: usize, record_len: usize) -> Result<Self, Error> {
        // The square layout may be too large for a set that serves the wide one.
        let square = Self::for_double_with(records, record_len, records.isqrt().max(1));
        if let Ok(square) = square
            && square.set().has_uniform_secrets()
        {
            return Ok(square);
        }
        let columns = (2 * records.isqrt()).max(16 * 1024);
        Self::for_double_with(records, record_len, records.div_ceil(columns).max(1))
    }

    /// [`Self::for_double`] with `per_column` records to a column.
    ///
    /// # Errors
    /// The errors of [`Self::for_database`].
    pub fn for_double_with(
        records: usize,
        record_len: usize,
        per_column: usize,
    ) -> Result<Self, Error> {
        let security = Security::default();
        Self::choose(records, record_len, per_column, security)
    }
}

impl<P: Protocol> Params<P> {
    fn choose(
        records: usize,
        record_len: usize,
        per_column: usize,
        security: Security,
    ) -> Result<Self, Error> {
        Set::ALL
            .into_iter()
            .filter(|set| set.serves(security))
            .find_map(|set| Self::under(set, records, record_len, per_column).transpose())
            .unwrap_or_else(|| {
                let (rows, columns) = (
                    per_column.saturating_mul(record_len),
                    records.div_ceil(per_column.max(1)),
                );
                Err(Error::TooLarge { rows, columns })
            })
    }

    /// The same layout at another level of security.
    ///
    /// # Errors
    /// The errors of [`Self::for_database`].
    pub fn at(&self, security: Security) -> Result<Self, Error> {
        let (records, record_len) = (self.records(), self.record_len());
        Self::choose(records, record_len, self.per_column(), security)
    }

    /// The same layout, with the set that serves `records` records. Use it for a database that will grow to that
    /// number: appended records must not outgrow the set or need hints of more bits.
    ///
    /// # Errors
    /// The errors of [`Self::for_database`].
    ///
    /// ```
    /// use sordino_pir::{Params, Set};
    /// let params = Params::for_columns(500, 32)?;
    /// assert_eq!(params.set(), Set::N384U);
    /// assert_eq!(params.with_room(20_000, Default::default())?.set(), Set::N1024S32);
    /// # Ok::<(), sordino_pir::Error>(())
    /// ```
    pub fn with_room(&self, records: usize, security: Security) -> Result<Self, Error> {
        let (record_len, per_column) = (self.record_len(), self.per_column());
        let most = records.max(self.records());
        let room = Self::choose(most, record_len, per_column, security)?;
        let now = Self::under(room.set(), self.records(), record_len, per_column)?;
        now.ok_or(Error::TooLarge {
            rows: room.rows(),
            columns: room.columns(),
        })
    }

    /// The same layout and set with more records.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if the set, with hints of their present bits, cannot keep the failure
    /// bound.
    pub(crate) fn grown(&self, records: usize) -> Result<Self, Error> {
        let (record_len, per_column) = (self.record_len(), self.per_column());
        Self::under(self.set(), records, record_len, per_column)?
            .filter(|params| params.hint_bits() == self.hint_bits())
            .ok_or(Error::NoRoom { records })
    }

    /// The layout under one set, or `None` if that set cannot keep the failure bound.
    ///
    /// # Errors
    /// [`Error::Empty`] if there are no records or they have no bytes.
    pub(crate) fn under(
        set: Set,
        records: usize,
        record_len: usize,
        per_column: usize,
    ) -> Result<Option<Self>, Error> {
        if records == 0 || record_len == 0 || per_column == 0 {
            return Err(Error::Empty {
                records,
                record_len,
            });
        }
        Ok(Self::new(set, records, record_len, per_column))
    }
}
