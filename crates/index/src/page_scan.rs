//! Pages that are fetched by scanning all of them: [`Fetch::Scan`](crate::payload::Fetch::Scan).
//!
//! The pages are the columns of a [table of bytes](sordino_lwe::ByteTable) of `r` rows, and a search fetches `F` of them by one
//! query. The table's hint stays with the server, encoded to be multiplied with the query's encrypted secret; clients download the
//! hint of that.
//!
//! A row of the table has a hint for each of the `F` pages of a search. They are encoded piece by piece: a piece has [`PIECE`](crate::page_scan::PIECE) rows,
//! with the hints of all of them for the first page, then for the second, and so on. Answers have the same order.

use std::ops::Range;

use sordino_ckks::column::{self, Database, Hint, Segments};
use sordino_lwe as lwe;
use sordino_lwe::ByteTable;

use crate::Error;
use crate::secret_packing::SecretPacking;

/// Rows of a piece. A piece is whole blocks of every packing.
pub const PIECE: usize = 128;

/// The sizes of a table of pages and of what is sent for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageScan {
    shape: lwe::Shape,
    packing: SecretPacking,
}

impl PageScan {
    /// A table of `pages` pages, each of `len` bytes, of which a search fetches `fetched`.
    ///
    /// # Errors
    /// [`Error::Lwe`] or [`Error::Ckks`] if no table has this number of them.
    pub fn new(
        (pages, len, fetched): (usize, usize, usize),
        packing: SecretPacking,
    ) -> Result<Self, Error> {
        let shape = Self::params().shape(fetched, len, pages)?;
        let scan = Self { shape, packing };
        scan.reply_len()?;
        Ok(scan)
    }

    /// The parameter set of the table.
    #[must_use]
    pub fn params() -> lwe::Params {
        lwe::Params::module_1536_bytes()
    }

    /// `F`, `r` and the pages.
    #[must_use]
    pub fn shape(&self) -> lwe::Shape {
        self.shape
    }

    /// The parameter set of the product of hint and secret.
    #[must_use]
    pub fn outer(&self) -> column::Params {
        self.packing.params()
    }

    /// The packing of that product.
    #[must_use]
    pub fn packing(&self) -> SecretPacking {
        self.packing
    }

    /// No pieces yet of the hint.
    ///
    /// # Errors
    /// Never for sizes that were checked.
    pub fn segments(&self, seed: [u8; 32]) -> Result<Segments, Error> {
        Ok(Segments::new(&self.outer(), seed, Self::params().n())?)
    }

    /// The rows of each piece.
    pub fn pieces(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let rows = self.shape.rows();
        (0..rows)
            .step_by(PIECE)
            .map(move |first| first..rows.min(first + PIECE))
    }

    /// One piece of the hint, encoded beside `segments`, and the hint of that.
    ///
    /// # Errors
    /// Never for a table of this shape, and the [`segments`](Self::segments) of it.
    pub fn encode(
        &self,
        table: &ByteTable,
        segments: &Segments,
        rows: Range<usize>,
    ) -> Result<(Database, Hint), Error> {
        Ok(segments.encode_modular(&table.hint(0..self.shape.groups(), rows))?)
    }

    /// The hint that clients download: those of all pieces, one after the other.
    ///
    /// # Errors
    /// Never for a table of this shape.
    pub fn downloaded(&self, table: &ByteTable, seed: [u8; 32]) -> Result<Vec<u8>, Error> {
        let segments = self.segments(seed)?;
        let mut downloaded = Vec::with_capacity(self.hint_len()?);
        for rows in self.pieces() {
            let hint = segments.hint_modular(&table.hint(0..self.shape.groups(), rows))?;
            downloaded.extend(hint.to_bytes());
        }
        Ok(downloaded)
    }

    /// Reads what clients download.
    ///
    /// # Errors
    /// If it is not the hint of such a table under this seed.
    pub fn client(&self, seed: [u8; 32], downloaded: &[u8]) -> Result<column::Client, Error> {
        let mut client = column::Client::empty(&self.outer(), seed, Self::params().n())?;
        let mut rest = downloaded;
        for rows in self.pieces() {
            let len = self.piece_len(rows.len())?;
            let piece = rest.split_at_checked(len).ok_or(Error::BadReply)?;
            client.extend(&Hint::from_bytes(piece.0)?)?;
            rest = piece.1;
        }
        if !rest.is_empty() || client.len() != self.words() {
            return Err(Error::BadReply);
        }
        Ok(client)
    }

    /// Values of an answer.
    #[must_use]
    pub fn words(&self) -> usize {
        self.shape.groups() * self.shape.rows()
    }

    /// The table's words for one query, page after page, in the order of the pieces.
    ///
    /// # Panics
    /// If there are more or fewer.
    #[must_use]
    pub fn into_pieces<T: Copy + Default>(&self, words: &[T]) -> Vec<T> {
        assert_eq!(words.len(), self.words(), "the words of an answer");
        let mut out = Vec::with_capacity(words.len());
        for rows in self.pieces() {
            for page in words.chunks_exact(self.shape.rows()) {
                out.extend_from_slice(&page[rows.clone()]);
            }
        }
        out
    }

    /// The pages in an answer's values, which are in the order of the pieces: the opposite of [`into_pieces`](Self::into_pieces).
    ///
    /// # Panics
    /// If there are more or fewer.
    #[must_use]
    pub fn into_pages<T: Copy + Default>(&self, values: &[T]) -> Vec<Vec<T>> {
        assert_eq!(values.len(), self.words(), "the values of an answer");
        let mut pages = vec![Vec::with_capacity(self.shape.rows()); self.shape.groups()];
        let mut rest = values;
        for rows in self.pieces() {
            for page in &mut pages {
                let (own, after) = rest.split_at(rows.len());
                page.extend_from_slice(own);
                rest = after;
            }
        }
        pages
    }

    fn piece_len(&self, rows: usize) -> Result<usize, Error> {
        let count = rows * self.shape.groups();
        Ok(Hint::encoded_len(&self.outer(), Self::params().n(), count)?)
    }

    /// Bytes of the hint that clients download.
    ///
    /// # Errors
    /// [`Error::Ckks`] if there are more values than a hint can be of.
    pub fn hint_len(&self) -> Result<usize, Error> {
        self.pieces().map(|rows| self.piece_len(rows.len())).sum()
    }

    /// Bytes of a query's words, which stand before its encrypted secret.
    #[must_use]
    pub fn words_len(&self) -> usize {
        lwe::Query::encoded_len(self.shape)
    }

    /// Bytes of a query.
    ///
    /// # Errors
    /// Never for sizes that were checked.
    pub fn query_len(&self) -> Result<usize, Error> {
        let secret = column::Query::encoded_len(&self.outer(), Self::params().n())?;
        Ok(self.words_len() + secret)
    }

    /// Bytes of an answer.
    ///
    /// # Errors
    /// [`Error::Ckks`] if there are more values than an answer can have.
    pub fn reply_len(&self) -> Result<usize, Error> {
        Ok(column::Reply::encoded_len(
            &self.outer(),
            Self::params().n(),
            self.words(),
        )?)
    }

    /// Bytes of a server's memory: the table, and the encoded hint, of which a residue of 50 bits takes 7.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let table = self.shape.rows() as u64 * (self.shape.columns() as u64).next_multiple_of(64);
        table + self.encoded_hint_len()
    }

    /// Bytes of the encoded hint alone.
    #[must_use]
    pub fn encoded_hint_len(&self) -> u64 {
        7 * Self::params().n() as u64 * self.words() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_pages_that_the_table_answered() {
        for (len, fetched) in [(1, 1), (127, 2), (128, 3), (129, 3), (700, 10)] {
            let scan = PageScan::new((40, len, fetched), SecretPacking::T64).unwrap();
            let words: Vec<u32> = (0..fetched * len)
                .map(|at| u32::try_from(at).unwrap())
                .collect();
            let pieces = scan.into_pieces(&words);
            let pages = scan.into_pages(&pieces);
            assert!(pages.iter().flatten().eq(words.iter()), "{len} {fetched}");
            let sizes = scan.pieces().map(|rows| rows.len());
            assert_eq!(sizes.sum::<usize>(), len);
            // The first piece has all pages' first rows.
            let first = scan.pieces().next().unwrap().len();
            assert_eq!(
                pieces.get(first),
                words.get(if fetched > 1 { len } else { first })
            );
        }
    }

    #[test]
    fn sizes_that_no_table_has_are_refused() {
        for sizes in [
            (0, 16, 1),
            (1, 0, 1),
            (1, 16, 0),
            (1 << 18, 16, 1),
            (100, 16, 65),
            (1 << 17, 16, 64),
        ] {
            assert!(
                PageScan::new(sizes, SecretPacking::T64).is_err(),
                "{sizes:?}"
            );
        }
    }
}
