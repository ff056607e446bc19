//! Payloads that are fetched.

use sordino_index::Error;
use sordino_index::manifest::{Manifest, PartKind};
use sordino_index::payload::{Fetch, Payloads};
use sordino_index::wire::Message;
use sordino_pir::{Seed, hintless, simple};

use super::read::{Read, all};
use super::retrieval::{Retrieval, Way};

/// The PIR server of payloads, if those are not downloaded.
pub(super) fn server(
    manifest: &Manifest,
    payloads: &Payloads,
    read: &mut dyn Read,
) -> Result<Option<Retrieval>, Error> {
    let mut records = || all(read, &manifest.part(PartKind::Payloads, None)?);
    let len = payloads.form.sealed_len();
    let (simple, hintless) = (
        payloads.pir_params()?,
        payloads.hintless_params(manifest.k as usize)?,
    );
    let way = match (&payloads.fetch, simple, hintless) {
        (Fetch::Pir { seed, .. }, Some(params), _) => {
            let records = records()?;
            let slots = records.chunks_exact(len);
            let database = sordino_pir::Database::from_records(&params, slots)?;
            let server = simple::Server::new(database, &params, &Seed(*seed))?;
            Way::Simple(server)
        }
        (Fetch::Hintless { seed }, _, Some(params)) => {
            let records = records()?;
            let slots = records.chunks_exact(len);
            let database = hintless::Database::from_records(&params, &Seed(*seed), slots)?;
            Way::Hintless(Box::new(database.into()))
        }
        _ => return Ok(None),
    };
    Ok(Some(Retrieval {
        way,
        count: payloads.form.fetched(manifest.k as usize),
        kinds: [Message::FetchPayloads, Message::Payloads],
    }))
}
