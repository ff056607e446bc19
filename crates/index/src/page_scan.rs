//! Pages that a server fetches by scanning all of them: [`Fetch::Scan`](crate::payload::Fetch::Scan).
//!
//! The pages are the columns of a [table of bytes](sordino_lwe::ByteTable) of `r` rows, and a search fetches `F` of them by one
//! query. The table's hint stays with the server, encoded for multiplication with the query's encrypted secret. Clients download
//! the hint of that encoded hint.
//!
//! Alternatively, pages are dealt into slots ([`Deal`](sordino_pir::hintless::deal::Deal)). Each page has a place in one slot of
//! each of several groups of slots. Every slot is a separate table, of which a query fetches one page. So a query has words for a
//! few copies of the pages instead of `F`. The answer also has pages that the client did not ask for.
//!
//! A row of the table has a hint for each of the `G` pages of an answer: `F`, or one for each slot. They are encoded piece by
//! piece. A piece has [`PIECE`](crate::page_scan::PIECE) rows, with the hints of all its rows for the first page, then
//! for the second, and so on. Answers have the same order.

use std::ops::Range;

use sordino_ckks::column::{self, Database, Hint, Segments};
use sordino_lwe::ByteTable;
use sordino_lwe::{self as lwe, Seed};
use sordino_pir::hintless::deal::Deal;

use crate::Error;
use crate::secret_packing::SecretPacking;

/// The number of rows of a piece. A piece is whole blocks of every packing.
pub const PIECE: usize = 128;

/// The numbers of copies of pages that a plan tries: none, or a number that a deal may have.
pub const COPIES: [u8; 5] = [0, 5, 6, 7, 8];

/// The sizes of a table of pages and of its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageScan {
    shape: lwe::Shape,
    packing: SecretPacking,
    pages: usize,
    /// The number of copies of every page, each in a separate group of slots, or 0 if pages are not dealt.
    copies: u8,
}

impl PageScan {
    /// A table of `pages` pages of `len` bytes each, from which a search fetches `fetched`. With `copies`, pages are dealt into
    /// that number of groups of slots. With 0 they are not dealt.
    ///
    /// # Errors
    /// [`Error::Lwe`] or [`Error::Ckks`] if no table can have these sizes. [`Error::Malformed`] for a number of copies that no
    /// deal has.
    pub fn new(
        (pages, len, fetched): (usize, usize, usize),
        packing: SecretPacking,
        copies: u8,
    ) -> Result<Self, Error> {
        let (groups, columns) = match usize::from(copies) {
            0 => (fetched, pages),
            copies => {
                // A group of one slot would have all pages, like a table that is not dealt.
                let group = Deal::group(copies, fetched).filter(|group| *group > 1);
                let group = group.ok_or_else(|| Error::Malformed {
                    what: "scan",
                    why: format!("{copies} copies of pages of which {fetched} are fetched, expected 0, or 5 to 8 copies, in groups of at least 2 slots, with at most 64 slots in all"),
                })?;
                (copies * group, pages.div_ceil(group))
            }
        };
        let scan = Self {
            shape: Self::params().shape(groups, len, columns)?,
            packing,
            pages,
            copies,
        };
        scan.reply_len()?;
        Ok(scan)
    }

    /// The deal of the pages for the table's seed, if they are dealt.
    #[must_use]
    pub fn deal(&self, seed: [u8; 32]) -> Option<Deal> {
        let copies = usize::from(self.copies);
        let group = self.shape.groups().checked_div(copies)?;
        let columns = self.shape.columns();
        Some(Deal::new(copies, group, columns, &Seed(seed)))
    }

    /// The table of these pages, which lie one after the other, under this seed.
    ///
    /// # Errors
    /// [`Error::Lwe`] if the pages have another length.
    pub fn table(&self, seed: [u8; 32], pages: &[u8]) -> Result<ByteTable, Error> {
        let (params, shape, len) = (Self::params(), self.shape, self.shape.rows());
        let Some(deal) = self.deal(seed) else {
            return Ok(ByteTable::from_slice(&params, shape, &Seed(seed), pages)?);
        };
        if pages.len() != self.pages * len {
            return Err(Error::Lwe(lwe::Error::Length {
                what: "table of bytes",
                found: pages.len(),
                expected: self.pages * len,
            }));
        }
        let columns = shape.columns();
        let mut order = vec![None; shape.words()];
        for (page, bytes) in pages.chunks_exact(len).enumerate() {
            for copy in 0..deal.groups() {
                let place = deal.place(copy, page);
                order[place.slot * columns + place.column] = Some(bytes);
            }
        }
        // The last run of pages may not fill all slots.
        let rest = vec![0; len];
        let columns = order.into_iter().map(|page| page.unwrap_or(&rest[..]));
        Ok(ByteTable::from_groups(
            &params,
            shape,
            &Seed(seed),
            columns,
        )?)
    }

    /// The parameter set of the table.
    #[must_use]
    pub fn params() -> lwe::Params {
        lwe::Params::module_1536_bytes()
    }

    /// `G`, `r` and the columns of a group: the pages, or the places of a slot.
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

    /// An empty list of pieces of the hint.
    ///
    /// # Errors
    /// No error, since the sizes were checked.
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

    /// One piece of the hint, encoded together with `segments`, and the hint of that piece.
    ///
    /// # Errors
    /// No error for a table of this shape with its [`segments`](Self::segments).
    pub fn encode(
        &self,
        table: &ByteTable,
        segments: &Segments,
        rows: Range<usize>,
    ) -> Result<(Database, Hint), Error> {
        Ok(segments.encode_modular(&table.hint(0..self.shape.groups(), rows))?)
    }

    /// The hint that clients download: the hints of all pieces, one after the other.
    ///
    /// # Errors
    /// No error for a table of this shape.
    pub fn downloaded(&self, table: &ByteTable, seed: [u8; 32]) -> Result<Vec<u8>, Error> {
        let segments = self.segments(seed)?;
        let mut downloaded = Vec::with_capacity(self.hint_len()?);
        for rows in self.pieces() {
            let hint = segments.hint_modular(&table.hint(0..self.shape.groups(), rows))?;
            downloaded.extend(hint.to_bytes());
        }
        Ok(downloaded)
    }

    /// Reads the hint that clients download.
    ///
    /// # Errors
    /// [`Error`] if `downloaded` is not the hint of such a table under this seed.
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

    /// The number of values of an answer.
    #[must_use]
    pub fn words(&self) -> usize {
        self.shape.groups() * self.shape.rows()
    }

    /// The words of an answer to one query are ordered page after page. This method puts them into the order of the pieces.
    ///
    /// # Panics
    /// Panics if the number of `words` is not [`words`](Self::words).
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

    /// The pages in an answer's values, which are in the order of the pieces. It is the inverse of
    /// [`into_pieces`](Self::into_pieces).
    ///
    /// # Panics
    /// Panics if the number of `values` is not [`words`](Self::words).
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

    /// The bytes of the hint that clients download.
    ///
    /// # Errors
    /// [`Error::Ckks`] if there are more values than a hint can have.
    pub fn hint_len(&self) -> Result<usize, Error> {
        self.pieces().map(|rows| self.piece_len(rows.len())).sum()
    }

    /// The size in bytes of a query's words, which come before its encrypted secret.
    #[must_use]
    pub fn words_len(&self) -> usize {
        lwe::Query::encoded_len(self.shape)
    }

    /// The size in bytes of a query.
    ///
    /// # Errors
    /// No error for sizes that were checked.
    pub fn query_len(&self) -> Result<usize, Error> {
        let secret = column::Query::encoded_len(&self.outer(), Self::params().n())?;
        Ok(self.words_len() + secret)
    }

    /// The bytes of an answer.
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

    /// The number of copies of every page, or 0 if pages are not dealt.
    #[must_use]
    pub fn copies(&self) -> u8 {
        self.copies
    }

    /// The size in bytes of a server's memory: the tables and the encoded hint. A residue of 50 bits takes 7 bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let table = self.shape.rows() as u64 * (self.shape.columns() as u64).next_multiple_of(64);
        let tables = match self.copies {
            0 => 1,
            _ => self.shape.groups() as u64,
        };
        tables * table + self.encoded_hint_len()
    }

    /// The size in bytes of the encoded hint.
    #[must_use]
    pub fn encoded_hint_len(&self) -> u64 {
        7 * Self::params().n() as u64 * self.words() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn an_answer_has_the_pages_that_the_table_answered() {
        for (len, fetched) in [(1, 1), (127, 2), (128, 3), (129, 3), (700, 10)] {
            let scan = PageScan::new((40, len, fetched), SecretPacking::T64, 0).unwrap();
            let words: Vec<u32> = (0..fetched * len)
                .map(|at| u32::try_from(at).unwrap())
                .collect();
            let pieces = scan.into_pieces(&words);
            let pages = scan.into_pages(&pieces);
            assert!(pages.iter().flatten().eq(words.iter()), "{len} {fetched}");
            let sizes = scan.pieces().map(|rows| rows.len());
            assert_eq!(sizes.sum::<usize>(), len);
            // The first piece has the first rows of all pages.
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
                PageScan::new(sizes, SecretPacking::T64, 0).is_err(),
                "{sizes:?}"
            );
        }
        let dealt = |fetched, copies| {
            let scan = PageScan::new((1000, 16, fetched), SecretPacking::T64, copies);
            scan.map(|scan| (scan.shape().groups(), scan.shape().columns()))
        };
        assert_eq!(dealt(32, 5).unwrap(), (45, 112));
        assert_eq!(dealt(6, 5).unwrap(), (20, 250));
        for (fetched, copies) in [
            (32, 1),
            (32, 4),
            (32, 9),
            (32, 255),
            (5, 5),
            (64, 5),
            (65, 8),
        ] {
            assert!(dealt(fetched, copies).is_err(), "{fetched} {copies}");
        }
    }

    #[test]
    fn dealt_pages_stand_in_a_slot_of_every_group() {
        for (pages, fetched, copies) in [(1, 6, 5), (3, 16, 8), (100, 10, 5), (101, 32, 6)] {
            let scan = PageScan::new((pages, 16, fetched), SecretPacking::T64, copies).unwrap();
            let content: Vec<u8> = (0..pages * 16).map(|at| at.to_le_bytes()[0] ^ 7).collect();
            let table = scan.table([4; 32], &content).unwrap();
            let deal = scan.deal([4; 32]).unwrap();
            let client = lwe::Client::new(&PageScan::params(), scan.shape(), &Seed([4; 32]));
            let wanted: Vec<usize> = (0..fetched).map(|at| at * 7 % pages).collect();
            let assigned = deal.assign(&wanted);
            let columns: Vec<usize> = assigned.places().iter().map(|it| it.column).collect();
            let rng = &mut StdRng::seed_from_u64(3);
            let message = client.select(&columns).unwrap();
            let (secret, words) = client.query(rng, &message).unwrap();
            let answer = table.answer(&words).unwrap();
            let (hint, n) = (
                table.hint(0..scan.shape().groups(), 0..16),
                PageScan::params().n(),
            );
            let negated = secret.into_negated();
            let values = answer.iter().zip(hint.chunks_exact(n)).map(|(word, hint)| {
                let product = hint.iter().zip(negated.iter());
                let product = product
                    .map(|(h, s)| i64::from(*h) * i64::from(*s))
                    .sum::<i64>();
                (i64::from(*word) >> 6) + product
            });
            let bytes = lwe::decode_bytes(&values.collect::<Vec<_>>());
            for (page, slot) in wanted.iter().zip(assigned.slots()) {
                let found = &bytes[(slot - 1) * 16..][..16];
                assert_eq!(found, &content[page * 16..][..16], "{page} of {pages}");
            }
        }
        let scan = PageScan::new((100, 16, 10), SecretPacking::T64, 5).unwrap();
        assert!(scan.table([4; 32], &[0; 1599]).is_err());
    }
}
