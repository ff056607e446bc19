//! Pages of payloads that the server scans.

use std::sync::Arc;

use sordino_ckks::column::Segments;
use sordino_index::digest::{self, Digest};
use sordino_index::manifest::PartKind;
use sordino_index::page_scan::PageScan;
use sordino_index::wire::{Message, fetch};
use sordino_index::{Bytes, Error};
use sordino_lwe::{self as lwe, ByteTable};

use super::encodings::Shelf;
use super::pass::{check_packing, in_one_pass};

/// Scanned pages, as a manifest names them.
#[derive(Debug)]
pub(super) struct Signed {
    pub(super) scan: PageScan,
    /// The digest of all pages.
    pub(super) content: Digest,
    /// The seed of the public polynomials of queries.
    pub(super) seed: [u8; 32],
    /// The seed of the public polynomials of encrypted secrets.
    pub(super) hint_seed: [u8; 32],
    /// The digest of the hint that clients download.
    pub(super) hint: Digest,
}

/// All pages, and the hint of their table, encoded for multiplication with encrypted secrets.
#[derive(Debug)]
pub(super) struct PageTable {
    signed: Signed,
    table: ByteTable,
    hint: Segments,
}

impl PageTable {
    /// The table of all these pages. Its encoded hint comes from the shelf, or is computed and kept there.
    ///
    /// # Errors
    /// [`Error`] if the pages are not the manifest's, or have a different hint.
    pub(super) fn new(signed: Signed, pages: Bytes, shelf: &mut Shelf<'_>) -> Result<Self, Error> {
        let table = signed.scan.table(signed.seed, &pages)?;
        drop(pages);
        let names = signed.names(shelf)?;
        let (mut hint, mut given) = signed.encoded(&table, &names, shelf)?;
        let check = |given: &[u8]| digest::check(PartKind::PayloadHint.name(), given, &signed.hint);
        // Files name the hint of each piece, but only the manifest can prove the hint of all.
        if check(&given).is_err() && shelf.distrust(&names) {
            (hint, given) = signed.encoded(&table, &names, shelf)?;
        }
        check(&given)?;
        drop(given);
        Ok(Self {
            signed,
            table,
            hint,
        })
    }

    /// Marks the files of the encoded hint as in use, for another version with the same pages.
    ///
    /// # Errors
    /// No error, since the sizes were checked before.
    pub(super) fn keep(&self, shelf: &mut Shelf<'_>) -> Result<(), Error> {
        self.signed.names(shelf)?;
        self.hint.databases().for_each(|it| shelf.share(it));
        Ok(())
    }

    /// The size in bytes of a request.
    pub(super) fn request_len(&self) -> usize {
        // The sizes were checked with the manifest.
        self.signed.scan.query_len().unwrap_or(0)
    }

    /// Answers requests with one scan of the pages and one product with the hint.
    pub(super) fn fetch(
        &self,
        [request, reply]: [Message; 2],
        bodies: &[&[u8]],
    ) -> Vec<Result<Vec<u8>, Error>> {
        let read = |body: &[u8]| {
            let (words, secret) = fetch::read_scan(request, &self.signed.scan, body)?;
            check_packing(self.table.check(&words).is_ok())?;
            check_packing(self.hint.check(&secret).is_ok())?;
            Ok((words, secret))
        };
        in_one_pass(bodies, read, |queries| {
            let words: Vec<lwe::Query> = queries.iter().map(|(words, _)| words.clone()).collect();
            let scanned = self.table.answer_batch(&words)?;
            let onto = scanned
                .iter()
                .map(|words| self.signed.scan.into_pieces(words));
            let onto: Vec<Vec<u32>> = onto.collect();
            let onto: Vec<&[u32]> = onto.iter().map(Vec::as_slice).collect();
            let secrets: Vec<_> = queries.iter().map(|(_, secret)| secret.clone()).collect();
            let replies = self.hint.score_onto(&secrets, &onto)?;
            Ok(replies
                .iter()
                .map(|it| reply.with(&it.to_bytes()))
                .collect())
        })
    }
}

impl Signed {
    /// The names of the encoded hints of all pieces. They depend on the pages, on their position, and on the seed.
    fn names(&self, shelf: &mut Shelf<'_>) -> Result<Vec<String>, Error> {
        let shape = self.scan.shape();
        let sizes = [shape.groups(), shape.rows(), shape.columns()].map(|it| it as u64);
        let sizes = sizes.map(u64::to_le_bytes).concat();
        let of = digest::of(&[&self.content[..], &self.seed, &sizes].concat());
        let hint = self.scan.segments(self.hint_seed)?;
        let ranges = self.scan.pieces().map(|it| it.start as u64..it.end as u64);
        Ok(ranges.map(|range| shelf.name(&of, range, &hint)).collect())
    }

    /// The encoded hint of all pieces, and the hint of this encoded hint, which clients download.
    fn encoded(
        &self,
        table: &ByteTable,
        names: &[String],
        shelf: &mut Shelf<'_>,
    ) -> Result<(Segments, Vec<u8>), Error> {
        let mut hint = self.scan.segments(self.hint_seed)?;
        let mut given = Vec::with_capacity(self.scan.hint_len()?);
        for (name, rows) in names.iter().zip(self.scan.pieces()) {
            let encode = || self.scan.encode(table, &hint, rows);
            let (database, bytes) = shelf.database(name, None, &hint, encode)?;
            given.extend(bytes);
            hint.push(Arc::new(database))?;
        }
        Ok((hint, given))
    }
}
