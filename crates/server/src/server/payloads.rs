//! Payloads that are fetched.

use sordino_index::Error;
use sordino_index::manifest::{Manifest, PartKind};
use sordino_index::payload::{Fetch, Payloads};
use sordino_index::wire::Message;
use sordino_pir::{Seed, hintless, simple};

use super::page_table::{PageTable, Signed};
use super::read::{Source, all};
use super::retrieval::{Retrieval, Way};

/// The PIR server of payloads, if clients do not download them.
pub(super) fn server(
    manifest: &Manifest,
    payloads: &Payloads,
    source: Source<'_, '_>,
) -> Result<Option<Retrieval>, Error> {
    let Source { read, shelf } = source;
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
            &Fetch::Scan {
                seed,
                hint_seed,
                hint,
                ..
            },
            ..,
        ) => {
            let Some(scan) = payloads.scan()? else {
                return Ok(None);
            };
            let pages = all(read, &part(PartKind::Payloads)?)?;
            let signed = Signed {
                scan,
                content: payloads.content,
                seed,
                hint_seed,
                hint,
            };
            Way::Scan(Box::new(PageTable::new(signed, pages, shelf)?))
        }
        _ => return Ok(None),
    };
    Ok(Some(Retrieval {
        way,
        count: payloads.fetched as usize,
        kinds: [Message::FetchPayloads, Message::Payloads],
    }))
}
