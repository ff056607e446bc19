//! Sealed mode: buckets for fetching.

use std::sync::Arc;

use sordino_ckks::dot;
use sordino_index::folder::Span;
use sordino_index::manifest::{self, Manifest, Mode, PartKind, Routing};
use sordino_index::shard::Shard;
use sordino_index::wire::Message;
use sordino_index::{Bytes, Error, code};
use sordino_pir::simple::{self, Params};
use sordino_pir::{Seed, hintless};

use super::read::{Read, all};
use super::retrieval::{Retrieval, Way};
use super::{Kind, Server};

/// The buckets, and the centroids if the server scores them.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) buckets: Retrieval,
    /// The centroids in the clear, if this server scores them.
    pub(super) centroids: Option<dot::Plaintexts>,
}

impl Sealed {
    pub(super) fn new(
        manifest: &Manifest,
        mode: &manifest::Sealed,
        shard: Shard,
        read: &mut dyn Read,
    ) -> Result<Self, Error> {
        let part = manifest.part(PartKind::Buckets, Some(0))?;
        let len = mode.layout.sealed_len();
        if shard != Shard::WHOLE {
            let params = cut_params(mode)?;
            let rows = simple::Share::range(&params, shard.number() - 1, shard.of());
            let span = Span::of_each(rows.start as u64..rows.end as u64, len as u64);
            let bytes = match rows.is_empty() {
                true => Bytes::from(Vec::new()),
                false => read.bytes(&part, span, Vec::new())?,
            };
            let records = (0..params.records()).map(|at| &bytes[at * rows.len()..][..rows.len()]);
            let share = simple::Share::new(&params, rows.clone(), records)?;
            return Self::with(manifest, mode, Way::Share(share), shard, read);
        }
        let buckets = all(read, &part)?;
        let records = buckets.chunks_exact(len);
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
        Self::with(manifest, mode, way, shard, read)
    }

    fn with(
        manifest: &Manifest,
        mode: &manifest::Sealed,
        way: Way,
        shard: Shard,
        read: &mut dyn Read,
    ) -> Result<Self, Error> {
        let centroids = match mode.routing {
            // The first shard scores all centroids.
            Routing::Encrypted if !shard.is_first() => None,
            Routing::Downloaded => None,
            Routing::Encrypted => {
                let width = manifest.stored_dim() as usize;
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

/// The layout of buckets that are cut: a shard has the same range of bytes of every bucket.
///
/// # Errors
/// [`Error::Mode`] if clients fetch the buckets without a hint. A query is then expanded over whole buckets, and
/// cutting would not divide that work.
pub(super) fn cut_params(mode: &manifest::Sealed) -> Result<Params, Error> {
    if mode.hint.is_none() {
        return Err(Error::Mode {
            found: "sealed mode without a hint",
            expected: "masked, open, routed or local, or sealed with a hint, which are cut into shards",
        });
    }
    manifest::pir_params(mode)
}

/// The buckets of the server before, if this version has the same ones.
pub(super) fn shared(before: &Server, manifest: &Manifest) -> Option<Arc<Sealed>> {
    let base = |manifest: &Manifest| match &manifest.mode {
        Mode::Sealed(mode) => {
            let mut mode = mode.clone();
            mode.tail.clear();
            Some((manifest.stored_dim(), mode))
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
