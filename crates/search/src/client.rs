//! The client: it verifies, encrypts, decrypts and ranks.

use std::time::Duration;

use rand_core::CryptoRng;

use crate::keys::{ReaderKeys, RecordIds};
use crate::manifest::{self, Mode, SignedManifest};
use crate::recall::Scored;
use crate::rotation::Rotation;
use crate::transport::Transport;
use crate::wire::{Message, message_len};
use crate::{Error, index, vectors};

mod column;
mod local;
mod masked;
mod open;
mod sealed;

/// A client of one version of an index: what it downloaded, verified.
pub struct Client {
    manifest: SignedManifest,
    rotation: Rotation,
    ids: RecordIds,
    kind: Kind,
    bytes_once: usize,
}

enum Kind {
    Sealed(Box<sealed::Client>),
    Local(local::Client),
    Open(Box<open::Client>),
    Masked(Box<masked::Client>),
}

/// What a search found, and what it took.
#[derive(Clone, Debug)]
pub struct Found {
    /// The nearest vectors by cosine, best first: rows of the owner's matrix.
    ///
    /// # Security
    /// The scores must not go back to the server, not even rounded: together with the messages
    /// that it saw they would be chosen-plaintext decryptions (IND-CPA-D), and they describe
    /// the query.
    pub hits: Vec<Scored>,
    /// Where the time went.
    pub stages: Stages,
}

/// Time of each stage of one search. A stage that waits for the server includes the server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stages {
    /// Encrypting the query for scores of centroids or, in open and masked mode, of all vectors.
    pub encrypt: Duration,
    /// The server scoring them; scoring the centroids here if they were downloaded.
    pub scores: Duration,
    /// Decrypting the scores.
    pub decrypt: Duration,
    /// Making PIR queries, the server's answers, recovering the buckets.
    pub fetch: Duration,
    /// Checking digests, opening and decoding buckets; in masked mode the pads' products.
    pub open: Duration,
    /// Scoring and ranking.
    pub rank: Duration,
}

impl Client {
    /// Downloads and verifies what searching needs: the manifest and, by mode, the hint, the hint
    /// and the centroids, or the whole index.
    ///
    /// `pinned` is the newest version that this client has seen, 0 if none: a server that offers
    /// an older one is refused.
    ///
    /// # Errors
    /// If a message is malformed, a signature or digest is wrong, or the version goes back.
    pub fn connect(
        transport: &mut impl Transport,
        keys: &ReaderKeys,
        pinned: u64,
    ) -> Result<Self, Error> {
        let reply = transport.call(
            &Message::GetManifest.with(&[]),
            message_len(manifest::MAX_SIGNED_LEN),
        )?;
        let manifest = Message::Manifest.expect(&reply, None)?;
        let manifest = SignedManifest::from_bytes(manifest, keys.owner())?;
        if manifest.version < pinned {
            return Err(Error::Rollback {
                found: manifest.version,
                pinned,
            });
        }
        let limit = message_len(index::setup_len(&manifest)?);
        let setup = transport.call(&Message::GetSetup.with(&[]), limit)?;
        let kind = match &manifest.mode {
            Mode::Sealed(mode) => {
                let client = sealed::Client::new(&manifest, mode, keys, &setup)?;
                Kind::Sealed(Box::new(client))
            }
            Mode::Local(mode) => Kind::Local(local::Client::new(&manifest, mode, keys, &setup)?),
            Mode::Open(mode) => Kind::Open(Box::new(open::Client::new(&manifest, mode, &setup)?)),
            Mode::Masked(mode) => {
                let client = masked::Client::new(&manifest, mode, keys, &setup)?;
                Kind::Masked(Box::new(client))
            }
        };
        let rotation = Rotation::new(manifest.dim as usize, manifest.rotation);
        let ids = keys.ids(&manifest.index);
        let bytes_once = reply.len() + setup.len();
        Ok(Self {
            manifest,
            rotation,
            ids,
            kind,
            bytes_once,
        })
    }

    /// The verified manifest.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// Bytes that were downloaded once.
    #[must_use]
    pub fn bytes_once(&self) -> usize {
        self.bytes_once
    }

    /// Finds the `k` vectors nearest to `query`, where k is the manifest's.
    ///
    /// # Errors
    /// If the query has another dimension than the index, is zero or not finite: before any
    /// message. [`Error::Search`] if what the server sent does not belong to this index: after
    /// all messages, which are the same in number, order and size as those of any other search.
    pub fn search<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        query: &[f32],
    ) -> Result<Found, Error> {
        let expected = self.manifest.dim as usize;
        if query.len() != expected {
            return Err(Error::Dimension {
                found: query.len(),
                expected,
            });
        }
        if let Some(column) = query.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { row: 0, column });
        }
        let mut query = query.to_vec();
        if !vectors::normalise(&mut query) {
            return Err(Error::ZeroVector { row: 0 });
        }
        let query = self.rotation.apply(&query);
        let k = self.manifest.k as usize;
        let (hits, stages) = match &self.kind {
            Kind::Sealed(client) => {
                let (hits, stages) = client.search(rng, transport, &query, k)?;
                (self.revealed(hits)?, stages)
            }
            Kind::Local(client) => {
                let (hits, stages) = client.search(&query, k);
                (self.revealed(hits)?, stages)
            }
            Kind::Open(client) => client.search(rng, transport, &query, k)?,
            Kind::Masked(client) => client.search(rng, transport, &query, k)?,
        };
        Ok(Found { hits, stages })
    }

    /// Hits with the rows that their record ids stand for.
    fn revealed(&self, mut hits: Vec<Scored>) -> Result<Vec<Scored>, Error> {
        for hit in &mut hits {
            hit.id = self.ids.reveal(hit.id);
            if hit.id >= self.manifest.n {
                return Err(Error::Search);
            }
        }
        Ok(hits)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("manifest", &self.manifest)
            .finish_non_exhaustive()
    }
}
