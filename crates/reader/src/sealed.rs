//! Sealed mode: finds a route, fetches a fixed number of buckets privately, verifies, opens and ranks them. It
//! also searches the additions.

use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_ckks::dot;
use sordino_hash::BatchHasher;
use sordino_index::code::Codec;
use sordino_index::digest::Digest;
use sordino_index::manifest::{self, Routing, Sealed};
use sordino_index::wire::Message;
use sordino_index::{Error, code};
use sordino_pir::{Seed, hintless, simple};
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::content_key::ContentKey;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::frame::{Frame, FrameQuery};
use sordino_vault::numbers::Numbers;
use sordino_vault::purpose::Purpose;
use sordino_vault::seal::Seal;
use sordino_vectors::recall::{Scored, TopK};
use sordino_vectors::u32_of;
use zeroize::Zeroizing;

use crate::choice;
use crate::chunks::Chunks;
use crate::download::Download;
use crate::pir_session::Sessions;
use crate::question::Wanted;
use crate::retrieval::Retrieval;
use crate::round::Round;
use crate::stages::{Stages, time, waited};
use crate::stand_in::StandIn;
use crate::transport::AsyncTransport;
use crate::update::Update;
use crate::verdict::{Ranked, Verdict, Wrong};

/// Fetches buckets: it chooses them for a query, fetches them, and scores their vectors.
pub(crate) struct Fetcher {
    mode: Sealed,
    frame: Frame,
    seal: Seal,
    /// The digest of every sealed bucket.
    digests: Vec<Digest>,
    stand_in: StandIn,
    route: Route,
    retrieval: Retrieval,
    /// The rows of deleted records of the buckets.
    dead: Numbers,
    tail: Chunks,
}

/// The source of the buckets' scores.
enum Route {
    /// The client, from decoded centroids, row by row.
    Centroids(Vec<f32>),
    /// The server, under encryption.
    Server,
}

impl Fetcher {
    /// A fetcher of the base. [`update`](Self::update) adds the other segments.
    pub(crate) fn new(
        mode: &Sealed,
        frame: &Frame,
        key: &ContentKey,
        sessions: &Arc<Sessions>,
        download: &mut Download,
    ) -> Result<Self, Error> {
        let (id, version, width) = (&mode.base.id, mode.base.version, frame.stored_dim());
        let route = match mode.routing {
            Routing::Downloaded => {
                let sealed = download.take(&mode.centroids)?;
                let seal = key.seal(Purpose::Centroids, id, version);
                let codes = seal.open(0, &[], &sealed).ok_or(Error::BadReply)?;
                let rows = codes.chunks_exact(width).flat_map(code::unit_from_int8);
                Route::Centroids(rows.collect())
            }
            Routing::Encrypted => Route::Server,
        };
        let digests = download.take(&mode.digests)?;
        let seed = Seed(mode.pir_seed);
        let retrieval = if let Some(hint) = &mode.hint {
            let params = manifest::pir_params(mode)?;
            let hint = simple::Hint::from_bytes(&params, &download.take(hint)?)?;
            Retrieval::Simple(Box::new(simple::Client::new(&params, &seed, &hint)?))
        } else {
            let pir = hintless::Client::new(&manifest::hintless_params(mode)?, &seed);
            Retrieval::Hintless(Box::new(pir), Arc::clone(sessions))
        };
        Ok(Self {
            mode: mode.clone(),
            frame: frame.clone(),
            seal: key.seal(Purpose::Bucket, id, version),
            digests: digests.as_chunks().0.to_vec(),
            stand_in: StandIn::new(&mode.layout, mode.base.n),
            route,
            retrieval,
            dead: Numbers::default(),
            tail: Chunks::new(frame, Codec::Int8),
        })
    }

    /// Updates the index to this version of the mode, which has the same base.
    pub(crate) fn update(&mut self, mode: &Sealed, update: Update<'_>) -> Result<(), Error> {
        let (dead, update) = update.split_base()?;
        self.tail.update(&mode.tail, None, update)?;
        self.dead = dead.clone();
        self.mode = mode.clone();
        Ok(())
    }

    /// All messages are sent, whatever the server replies.
    pub(crate) async fn search<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        asked: &FrameQuery,
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Result<Ranked, Error> {
        let query = asked.lifted();
        let scores = match &self.route {
            Route::Centroids(centroids) => Ok(self.own_scores(centroids, query, stages)),
            Route::Server => {
                let scores = self.encrypted_scores(round, query, stages).await?;
                round.latch.checked(scores)
            }
        };
        // If a wrong reply left no scores, any buckets will do.
        let none = vec![0.0; self.mode.clusters as usize];
        let known = scores.as_ref().map_or(&none[..], |scores| &scores[..]);
        let buckets = choice::best(known, self.mode.probes as usize);
        let fetched = self.retrieval.fetch(round, Message::Fetch, &buckets);
        let fetched = waited(&mut stages.fetch, fetched).await?;
        let sealed = fetched.as_deref().unwrap_or_default();
        let (opened, good) = time(&mut stages.open, || self.open(&buckets, sealed));
        Ok(Ranked {
            hits: time(&mut stages.rank, || self.rank(&opened, asked, wanted)),
            right: good && scores.is_ok() && fetched.is_ok(),
        })
    }

    /// The scores of downloaded centroids.
    fn own_scores(&self, rows: &[f32], query: &[f32], stages: &mut Stages) -> Zeroizing<Vec<f32>> {
        let rows = rows.chunks_exact(self.frame.stored_dim());
        let scores = || rows.map(|row| sordino_vectors::dot(row, query)).collect();
        Zeroizing::new(time(&mut stages.scores, scores))
    }

    /// The vectors of these buckets, and false if one of them is not the owner's. A made-up bucket is then opened
    /// and ranked instead. Otherwise the next message would leave the sooner, the more buckets were wrong.
    fn open(&self, buckets: &[usize], fetched: &[Vec<u8>]) -> (DecodedRows, bool) {
        let mut opened = DecodedRows::default();
        let digests = BatchHasher::new().hash(fetched);
        let (layout, mut good) = (&self.mode.layout, true);
        for (at, &bucket) in buckets.iter().enumerate() {
            // The bucket's digest is checked before it is opened. A made-up bucket replaces a wrong
            // one.
            let digest = digests.get(at);
            let right = digest.is_some_and(|digest| *digest == self.digests[bucket]);
            let open = right && {
                let (codec, sealed) = (BucketCodec(*layout), &fetched[at][..]);
                let open = codec.open(&self.seal, u32_of(bucket), sealed, &self.frame, &mut opened);
                open.is_ok()
            };
            if !open {
                self.stand_in.open(at, &self.frame, &mut opened);
            }
            good &= open;
        }
        (opened, good)
    }

    /// The best of the fetched buckets and of the additions.
    fn rank(&self, opened: &DecodedRows, query: &FrameQuery, wanted: Wanted<'_>) -> Vec<Scored> {
        let (chosen, added) = wanted.split_base();
        // A row beyond the index belongs to no record, even if the owner sealed it.
        let counts = |row: u32| {
            let passes = |rows: &[bool]| rows.get(row as usize) == Some(&true);
            (row < self.mode.base.n) & !self.dead.contains(row) & chosen.is_none_or(passes)
        };
        let mut best = TopK::with_equal(wanted.k);
        let fetched = opened.nearest(query, counts, wanted.k);
        fetched.into_iter().for_each(|hit| best.offer(hit));
        for Scored { id, score } in self.tail.nearest(query, added) {
            let id = self.mode.base.n + id;
            best.offer(Scored { id, score });
        }
        best.into_ranked()
    }

    /// The centroids' scores from the server.
    async fn encrypted_scores<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        query: &[f32],
        stages: &mut Stages,
    ) -> Result<Verdict<Zeroizing<Vec<f32>>>, Error> {
        let params = dot::Params::rlwe_2048_50();
        let (secret, query) = time(&mut stages.encrypt, || {
            dot::encrypt(round.rng, &params, query)
        })?;
        let clusters = self.mode.clusters as usize;
        let len = dot::Reply::encoded_len(&params, self.frame.stored_dim(), clusters)?;
        let body = query.to_bytes();
        let reply = round.ask(Message::Score, &body, len, |body| {
            Ok(dot::Reply::from_bytes(body)?)
        });
        let reply = waited(&mut stages.scores, reply).await?;
        Ok(reply.and_then(|reply| {
            let scores = time(&mut stages.decrypt, || secret.decrypt(clusters, &reply));
            scores.map(Zeroizing::new).map_err(|_| Wrong)
        }))
    }
}
