//! A built index: all that a server needs, in one value and one file.

use crate::keys::OwnerPublicKey;
use crate::manifest::{Digest, Masked, Mode, Routing, Sealed, SignedManifest};
use crate::seal::TAG_LEN;
use crate::{Error, columns, router, wire};

/// One version of an index: its manifest and what the manifest's digests name.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    pub(crate) manifest: SignedManifest,
    pub(crate) content: Content,
}

/// An index's content, by mode. All of it may be seen by the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Sealed {
        /// All sealed buckets, one after the other.
        buckets: Vec<u8>,
        /// The digest of each.
        digests: Vec<u8>,
        /// The quantised centroids, sealed or, where the server scores them, in the clear; where
        /// buckets are hashed, the sealed mean.
        centroids: Vec<u8>,
        /// The PIR hint, as clients download it.
        hint: Vec<u8>,
    },
    Local {
        /// All sealed chunks, one after the other.
        chunks: Vec<u8>,
    },
    /// Open and masked mode.
    Columns {
        /// All rows, one after the other.
        rows: Vec<u8>,
    },
}

impl Index {
    /// The index's manifest.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// The index as one file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = wire::file_head(wire::INDEX);
        let manifest = self.manifest.to_bytes();
        bytes.extend((manifest.len() as u64).to_le_bytes());
        bytes.extend(manifest);
        match &self.content {
            Content::Sealed {
                buckets,
                digests,
                centroids,
                hint,
            } => {
                bytes.extend([buckets, digests, centroids, hint].into_iter().flatten());
            }
            Content::Local { chunks: part } | Content::Columns { rows: part } => bytes.extend(part),
        }
        bytes
    }

    /// Reads an index and checks every byte of it against the owner's signature.
    ///
    /// # Errors
    /// If it is truncated, changed, longer than its manifest says, or not signed by `owner`.
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed { what: "index", why };
        let body = wire::strip_file_head(wire::INDEX, bytes)?;
        let (len, body) = body
            .split_first_chunk()
            .ok_or_else(|| malformed("no manifest".into()))?;
        let (manifest, mut rest) = usize::try_from(u64::from_le_bytes(*len))
            .ok()
            .and_then(|len| body.split_at_checked(len))
            .ok_or_else(|| malformed("a manifest longer than the file".into()))?;
        let manifest = SignedManifest::from_bytes(manifest, owner)?;

        let lens = part_lens(&manifest)?;
        let expected: usize = lens.iter().sum();
        if rest.len() != expected {
            return Err(malformed(format!(
                "{} bytes of content, expected {expected}",
                rest.len()
            )));
        }
        let mut parts = lens.iter().map(|&len| {
            let (part, after) = rest.split_at(len);
            rest = after;
            part.to_vec()
        });
        let mut part = || parts.next().unwrap_or_default();
        let content = match &manifest.mode {
            Mode::Sealed(mode) => {
                let (buckets, digests, centroids, hint) = (part(), part(), part(), part());
                check_digest("bucket digests", &digests, &mode.buckets)?;
                check_digest("centroids", &centroids, &mode.centroids)?;
                check_digest("PIR hint", &hint, &mode.hint)?;
                if bucket_digests(&buckets, mode.layout.sealed_len()) != digests {
                    return Err(Error::Digest { what: "buckets" });
                }
                Content::Sealed {
                    buckets,
                    digests,
                    centroids,
                    hint,
                }
            }
            Mode::Local(mode) => {
                let chunks = part();
                check_digest("chunks", &chunks, &mode.chunks)?;
                Content::Local { chunks }
            }
            Mode::Open(mode) | Mode::Masked(Masked { columns: mode, .. }) => {
                let rows = part();
                check_digest("rows", &rows, &mode.rows)?;
                Content::Columns { rows }
            }
        };
        Ok(Self { manifest, content })
    }
}

/// The length of each part of an index's content.
fn part_lens(manifest: &SignedManifest) -> Result<Vec<usize>, Error> {
    let dim = manifest.dim as usize;
    let lens = match &manifest.mode {
        Mode::Sealed(mode) => {
            let clusters = mode.clusters as usize;
            let centroids = match mode.routing {
                Routing::Encrypted => clusters * dim,
                routing => route_len(routing, clusters, dim),
            };
            vec![
                clusters * mode.layout.sealed_len(),
                clusters * size_of::<Digest>(),
                centroids,
                pir_params(mode)?.hint_len(),
            ]
        }
        Mode::Local(mode) => vec![mode.count(manifest.n) as usize * mode.layout.sealed_len()],
        Mode::Open(_) | Mode::Masked(_) => vec![columns::rows_len(manifest)],
    };
    Ok(lens)
}

/// The PIR parameters of an index: a column for each bucket.
pub(crate) fn pir_params(mode: &Sealed) -> Result<sordino_pir::Params, Error> {
    let (columns, len) = (mode.clusters as usize, mode.layout.sealed_len());
    Ok(sordino_pir::Params::for_columns(columns, len)?)
}

/// The length of what clients download to find buckets.
pub(crate) fn route_len(routing: Routing, clusters: usize, dim: usize) -> usize {
    match routing {
        Routing::Downloaded => clusters * dim + TAG_LEN,
        Routing::Encrypted => 0,
        Routing::Hashed => router::mean_len(dim) + TAG_LEN,
    }
}

/// The digests of buckets of one length, one after the other.
pub(crate) fn bucket_digests(buckets: &[u8], len: usize) -> Vec<u8> {
    let buckets: Vec<&[u8]> = buckets.chunks_exact(len).collect();
    let mut digests = vec![sordino_hash::Hash::from_bytes([0; 32]); buckets.len()];
    sordino_hash::par_hash_each(&buckets, &mut digests);
    digests
        .iter()
        .flat_map(sordino_hash::Hash::as_bytes)
        .copied()
        .collect()
}

/// Refuses a part that is not the one that the manifest names.
pub(crate) fn check_digest(
    what: &'static str,
    part: &[u8],
    expected: &Digest,
) -> Result<(), Error> {
    let found = blake3::Hasher::new().update_rayon(part).finalize();
    (found == *expected)
        .then_some(())
        .ok_or(Error::Digest { what })
}
