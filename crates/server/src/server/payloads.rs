//! Payloads that are fetched.

use sordino_index::Error;
use sordino_index::manifest::{Manifest, PartKind};
use sordino_index::payload::{Fetch, Payloads};
use sordino_pir::simple;

use super::open::Read;

/// The PIR server of payloads, if those are not downloaded.
pub(super) fn server(
    manifest: &Manifest,
    payloads: &Payloads,
    read: &mut Read<'_>,
) -> Result<Option<simple::Server>, Error> {
    let params = payloads.pir_params()?;
    let (Fetch::Pir { seed, .. }, Some(params)) = (&payloads.fetch, params) else {
        return Ok(None);
    };
    let records = read(&manifest.part(PartKind::Payloads, None)?)?;
    let slots = records.chunks_exact(payloads.class.sealed_len());
    let database = sordino_pir::Database::from_records(&params, slots)?;
    let seed = sordino_pir::Seed(*seed);
    Ok(Some(simple::Server::new(database, &params, &seed)?))
}
