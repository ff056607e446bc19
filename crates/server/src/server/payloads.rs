//! Payloads that are fetched.

use sordino_index::Error;
use sordino_index::payload::{Fetch, Payloads};
use sordino_pir::simple;

/// The PIR server of payloads, if those are not downloaded.
pub(super) fn server(payloads: &Payloads, records: &[u8]) -> Result<Option<simple::Server>, Error> {
    let params = payloads.pir_params()?;
    let (Fetch::Pir { seed, .. }, Some(params)) = (&payloads.fetch, params) else {
        return Ok(None);
    };
    let slots = records.chunks_exact(payloads.class.sealed_len());
    let database = sordino_pir::Database::from_records(&params, slots)?;
    let seed = sordino_pir::Seed(*seed);
    Ok(Some(simple::Server::new(database, &params, &seed)?))
}
