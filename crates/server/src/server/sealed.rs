//! Sealed mode: buckets for PIR queries.

use sordino_ckks::dot;
use sordino_index::manifest::{self, Manifest, Routing};
use sordino_index::{Error, code};
use sordino_pir::simple;

/// Buckets for PIR queries, and centroids if the server scores them.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) probes: usize,
    pub(super) pir: simple::Server,
    /// The centroids in the clear, if they are scored here.
    pub(super) centroids: Option<dot::Plaintexts>,
}

impl Sealed {
    pub(super) fn new(
        manifest: &Manifest,
        mode: &manifest::Sealed,
        buckets: &[u8],
        centroids: &[u8],
    ) -> Result<Self, Error> {
        let params = manifest::pir_params(mode)?;
        let records = buckets.chunks_exact(mode.layout.sealed_len());
        let database = sordino_pir::Database::from_records(&params, records)?;
        let pir = simple::Server::new(database, &params, &sordino_pir::Seed(mode.pir_seed))?;
        let centroids = match mode.routing {
            Routing::Downloaded | Routing::Hashed => None,
            Routing::Encrypted => {
                let width = manifest.width() as usize;
                let decoded: Vec<f32> = centroids
                    .chunks_exact(width)
                    .flat_map(code::unit_from_int8)
                    .collect();
                let params = dot::Params::rlwe_2048_50();
                Some(dot::Plaintexts::encode(&params, &decoded, width)?)
            }
        };
        Ok(Self {
            probes: mode.probes as usize,
            pir,
            centroids,
        })
    }
}
