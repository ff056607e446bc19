//! Sealed mode: buckets that are fetched.

use std::sync::Arc;

use sordino_ckks::dot;
use sordino_index::manifest::{self, Manifest, Mode, PartKind, Routing};
use sordino_index::wire::Message;
use sordino_index::{Error, code};
use sordino_pir::{Seed, hintless, simple};

use super::open::{Read, all};
use super::retrieval::{Retrieval, Way};
use super::{Kind, Server};

/// Buckets, and centroids if the server scores them.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) buckets: Retrieval,
    /// The centroids in the clear, if they are scored here.
    pub(super) centroids: Option<dot::Plaintexts>,
}

impl Sealed {
    pub(super) fn new(
        manifest: &Manifest,
        mode: &manifest::Sealed,
        read: &mut Read<'_>,
    ) -> Result<Self, Error> {
        let buckets = all(read, &manifest.part(PartKind::Buckets, Some(0))?)?;
        let records = buckets.chunks_exact(mode.layout.sealed_len());
        let seed = Seed(mode.pir_seed);
        let way = if mode.hint.is_some() {
            let params = manifest::pir_params(mode)?;
            let database = sordino_pir::Database::from_records(&params, records)?;
            Way::Simple(simple::Server::new(database, &params, &seed)?)
        } else {
            let params = manifest::hintless_params(mode)?;
            let database = hintless::Database::from_records(&params, &seed, records)?;
            Way::Hintless(Box::new(database.into()))
        };
        let centroids = match mode.routing {
            Routing::Downloaded | Routing::Hashed => None,
            Routing::Encrypted => {
                let width = manifest.width() as usize;
                let centroids = all(read, &manifest.part(PartKind::Centroids, Some(0))?)?;
                let decoded: Vec<f32> = centroids
                    .chunks_exact(width)
                    .flat_map(code::unit_from_int8)
                    .collect();
                let params = dot::Params::rlwe_2048_50();
                Some(dot::Plaintexts::encode(&params, &decoded, width)?)
            }
        };
        Ok(Self {
            buckets: Retrieval {
                way,
                count: mode.probes as usize,
                kinds: [Message::Fetch, Message::Fetched],
            },
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
