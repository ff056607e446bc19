//! Payloads for fetching.

use sordino_index::Error;
use sordino_index::manifest::{Manifest, PartKind};
use sordino_index::payload::{Fetch, Payloads};
use sordino_index::wire::{Message, Request};
use sordino_pir::{Seed, hintless, simple};

use super::Server;
use super::page_table::{PageTable, Signed};
use super::read::{Source, all};
use super::retrieval::{Retrieval, Way};

impl Server {
    /// True if a request asks for parts that have payloads, or that show where they lie. Clients that may download the
    /// index but not its payloads do not get these parts.
    #[must_use]
    pub fn gives_payloads(&self, request: Request<&[u8]>) -> bool {
        if request.kind() != Message::GetParts || !self.manifest.has_payloads() {
            return false;
        }
        let Ok(numbers) = self.edition.strip(request.body()) else {
            return false;
        };
        let parts = self.manifest.parts().unwrap_or_default();
        let given = parts.iter().filter(|part| part.holder.is_given());
        let is_of_payloads: Vec<bool> = given
            .map(|part| {
                matches!(
                    part.kind,
                    PartKind::Payloads | PartKind::PayloadPlaces | PartKind::PayloadHint
                )
            })
            .collect();
        let (numbers, _) = numbers.as_chunks();
        let mut numbers = numbers
            .iter()
            .map(|number| usize::from(u16::from_le_bytes(*number)));
        numbers.any(|number| is_of_payloads.get(number) == Some(&true))
    }
}

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
