//! Sealed mode: buckets for PIR queries.

use std::sync::Arc;

use sordino_ckks::dot;
use sordino_index::manifest::{self, Manifest, Mode, PartKind, Routing};
use sordino_index::{Error, code};
use sordino_pir::simple;

use super::open::Read;
use super::{Kind, Server};

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
        read: &mut Read<'_>,
    ) -> Result<Self, Error> {
        let buckets = read(&manifest.part(PartKind::Buckets, Some(0))?, Vec::new())?;
        let params = manifest::pir_params(mode)?;
        let records = buckets.chunks_exact(mode.layout.sealed_len());
        let database = sordino_pir::Database::from_records(&params, records)?;
        let pir = simple::Server::new(database, &params, &sordino_pir::Seed(mode.pir_seed))?;
        let centroids = match mode.routing {
            Routing::Downloaded | Routing::Hashed => None,
            Routing::Encrypted => {
                let width = manifest.width() as usize;
                let centroids = read(&manifest.part(PartKind::Centroids, Some(0))?, Vec::new())?;
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

/// The buckets of the server before, if this version has the same.
pub(super) fn shared(before: &Server, manifest: &Manifest) -> Option<Arc<Sealed>> {
    let base = |manifest: &Manifest| match &manifest.mode {
        Mode::Sealed(mode) => {
            let mut mode = mode.clone();
            mode.tail.clear();
            Some((manifest.width(), mode))
        }
        _ => None,
    };
    match &before.kind {
        Kind::Sealed(sealed) if base(&before.manifest) == base(manifest) => {
            Some(Arc::clone(sealed))
        }
        _ => None,
    }
}
