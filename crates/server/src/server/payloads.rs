//! Payloads that are fetched.

use sordino_index::Error;
use sordino_index::manifest::{Manifest, PartKind};
use sordino_index::page_scan::PageScan;
use sordino_index::payload::{Fetch, Payloads};
use sordino_index::wire::Message;
use sordino_lwe::ByteTable;
use sordino_pir::{Seed, hintless, simple};

use super::page_table::PageTable;
use super::read::{Read, all};
use super::retrieval::{Retrieval, Way};

/// The PIR server of payloads, if those are not downloaded.
pub(super) fn server(
    manifest: &Manifest,
    payloads: &Payloads,
    read: &mut dyn Read,
) -> Result<Option<Retrieval>, Error> {
    let part = |kind| manifest.part(kind, None);
    let len = payloads.form.sealed_len();
    let (simple, hintless) = (payloads.pir_params()?, payloads.hintless_params()?);
    let way = match (&payloads.fetch, simple, hintless) {
        (Fetch::Pir { seed, .. }, Some(params), _) => {
            let content = all(read, &part(PartKind::Payloads)?)?;
            let pages = content.chunks_exact(len);
            let database = sordino_pir::Database::from_records(&params, pages)?;
            let server = simple::Server::new(database, &params, &Seed(*seed))?;
            Way::Simple(server)
        }
        (Fetch::Hintless { seed }, _, Some(params)) => {
            let content = all(read, &part(PartKind::Payloads)?)?;
            let pages = content.chunks_exact(len);
            let database = hintless::Database::from_records(&params, &Seed(*seed), pages)?;
            Way::Hintless(Box::new(database.into()))
        }
        (
            Fetch::Scan {
                seed, hint_seed, ..
            },
            ..,
        ) => {
            let Some(scan) = payloads.scan()? else {
                return Ok(None);
            };
            let content = all(read, &part(PartKind::Payloads)?)?;
            let (params, seed) = (PageScan::params(), Seed(*seed));
            let table = ByteTable::from_slice(&params, scan.shape(), &seed, &content)?;
            drop(content);
            Way::Scan(Box::new(PageTable::new(scan, table, *hint_seed)?))
        }
        _ => return Ok(None),
    };
    Ok(Some(Retrieval {
        way,
        count: payloads.fetched as usize,
        kinds: [Message::FetchPayloads, Message::Payloads],
    }))
}
