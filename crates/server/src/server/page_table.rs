//! Pages of payloads that are scanned.

use std::sync::Arc;

use sordino_ckks::column::Segments;
use sordino_index::Error;
use sordino_index::page_scan::PageScan;
use sordino_index::wire::{Message, fetch};
use sordino_lwe::{self as lwe, ByteTable};

use super::pass::{check_packing, in_one_pass};

/// All pages, and the hint of their table, encoded to be multiplied with encrypted secrets.
#[derive(Debug)]
pub(super) struct PageTable {
    scan: PageScan,
    table: ByteTable,
    hint: Segments,
}

impl PageTable {
    pub(super) fn new(
        scan: PageScan,
        table: ByteTable,
        hint_seed: [u8; 32],
    ) -> Result<Self, Error> {
        let mut hint = scan.segments(hint_seed)?;
        for rows in scan.pieces() {
            let (database, _) = scan.encode(&table, &hint, rows)?;
            hint.push(Arc::new(database))?;
        }
        Ok(Self { scan, table, hint })
    }

    /// Bytes of a request.
    pub(super) fn request_len(&self) -> usize {
        // The sizes were checked with the manifest.
        self.scan.query_len().unwrap_or(0)
    }

    /// Answers requests: one scan of the pages and one product with the hint for all.
    pub(super) fn fetch(
        &self,
        [request, reply]: [Message; 2],
        bodies: &[&[u8]],
    ) -> Vec<Result<Vec<u8>, Error>> {
        let read = |body: &[u8]| {
            let (words, secret) = fetch::read_scan(request, &self.scan, body)?;
            check_packing(self.table.check(&words).is_ok())?;
            check_packing(self.hint.check(&secret).is_ok())?;
            Ok((words, secret))
        };
        in_one_pass(bodies, read, |queries| {
            let words: Vec<lwe::Query> = queries.iter().map(|(words, _)| words.clone()).collect();
            let scanned = self.table.answer_batch(&words)?;
            let onto = scanned.iter().map(|words| self.scan.into_pieces(words));
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
