//! Sealed mode: route, fetch a fixed number of buckets privately, verify, open, rank; beside them,
//! search what was added since.

use std::collections::HashSet;
use std::time::Instant;

use rand_core::CryptoRng;
use sordino_ckks::dot;
use sordino_pir::{Seed, simple};
use zeroize::Zeroizing;

use super::Stages;
use super::chunks::{Chunks, hidden};
use super::download::Download;
use crate::bucket::Opened;
use crate::code::Codec;
use crate::ids::IdSet;
use crate::keys::{ReaderKeys, RecordIds};
use crate::manifest::{Digest, Routing, Sealed};
use crate::recall::{Scored, TopK, number};
use crate::router::{self, Mean};
use crate::seal::Seal;
use crate::transport::Transport;
use crate::wire::{Edition, Message, message_len};
use crate::{Error, Vectors, code, index, vectors};

pub(super) struct Client {
    mode: Sealed,
    width: usize,
    seal: Seal,
    records: RecordIds,
    /// The digest of every sealed bucket.
    digests: Vec<Digest>,
    route: Route,
    pir: simple::Client,
    /// Deleted records of the buckets, as they are stored.
    dead: HashSet<u32>,
    tail: Chunks,
}

/// What gives every bucket its score.
enum Route {
    /// The decoded centroids, row by row.
    Centroids(Vec<f32>),
    /// The server, under encryption.
    Server,
    /// The directions of a keyed hash, and what vectors are hashed relative to.
    Vertices(Mean, Vectors),
}

impl Client {
    /// A client of the base; [`update`](Self::update) adds the rest.
    pub(super) fn new(
        mode: &Sealed,
        width: usize,
        keys: &ReaderKeys,
        download: &mut Download,
    ) -> Result<Self, Error> {
        let params = index::pir_params(mode)?;
        let (id, version) = (&mode.base.id, mode.base.version);
        let mut opened = |kind| {
            let sealed = download.take(&mode.centroids)?;
            let seal = keys.seal(kind, id, version);
            seal.open(0, &[], &sealed).ok_or(Error::Search)
        };
        let route = match mode.routing {
            Routing::Downloaded => {
                let codes = opened("centroids")?;
                let rows = codes.chunks_exact(width).flat_map(code::unit_from_int8);
                Route::Centroids(rows.collect())
            }
            Routing::Encrypted => Route::Server,
            Routing::Hashed => {
                let mean = Mean::from_bytes(&opened("mean")?).ok_or(Error::Search)?;
                let seed = keys.router_seed(&mode.router_salt());
                Route::Vertices(mean, router::vertices(seed, width, mode.clusters as usize)?)
            }
        };
        let digests = download.take(&mode.digests)?;
        let hint = simple::Hint::from_bytes(&params, &download.take(&mode.hint)?)?;
        Ok(Self {
            mode: mode.clone(),
            width,
            seal: keys.seal("bucket", id, version),
            records: keys.ids(id),
            digests: digests.as_chunks().0.to_vec(),
            route,
            pir: simple::Client::new(&params, &Seed(mode.pir_seed), &hint)?,
            dead: HashSet::new(),
            tail: Chunks::default(),
        })
    }

    /// Keeps the base and as many more segments as make up `kept`.
    pub(super) fn update(
        &mut self,
        mode: &Sealed,
        keys: &ReaderKeys,
        kept: usize,
        dead: &[IdSet],
        download: &mut Download,
    ) -> Result<(), Error> {
        let (base, tail) = dead.split_first().ok_or(Error::Search)?;
        let kept = kept.saturating_sub(1);
        self.tail.update(
            &mode.tail,
            (self.width, Codec::Int8),
            keys,
            kept,
            tail,
            download,
        )?;
        self.dead = hidden(&self.records, base);
        self.mode = mode.clone();
        Ok(())
    }

    /// Whatever the server sends, every step that sends something is taken: what is wrong shows
    /// only after the last message, and then as one error.
    pub(super) fn search<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        edition: Edition,
        query: &[f32],
        k: usize,
    ) -> Result<(Vec<Scored>, Stages), Error> {
        let mut stages = Stages::default();
        let start = Instant::now();
        let scored = |rows: &[f32], query: &[f32]| {
            let rows = rows.chunks_exact(self.width);
            let scores: Vec<f32> = rows.map(|row| vectors::dot(row, query)).collect();
            Zeroizing::new(scores)
        };
        let scores = match &self.route {
            Route::Centroids(centroids) => Ok(scored(centroids, query)),
            Route::Vertices(mean, vertices) => {
                Ok(scored(vertices.as_slice(), &mean.centred(query)))
            }
            Route::Server => self.encrypted_scores(rng, transport, edition, query, &mut stages)?,
        };
        if !matches!(self.route, Route::Server) {
            stages.scores = start.elapsed();
        }

        let start = Instant::now();
        let buckets = self.route(scores.as_ref().map_or(&[], |scores| &scores[..]));
        let (secrets, queries) = self.pir.query_batch(rng, &buckets)?;
        let queries: Vec<_> = queries.iter().map(simple::Query::to_bytes).collect();
        let body = queries.concat();
        let limit = message_len(queries.len() * self.pir.params().answer_len());
        let reply = transport.call(&Message::Fetch.about(edition, &body), limit)?;
        let fetched = self.recover(secrets, &reply);
        stages.fetch = start.elapsed();

        let (fetched, _) = fetched
            .and_then(|f| scores.map(|s| (f, s)))
            .map_err(|_| Error::Search)?;
        let start = Instant::now();
        let mut opened = Opened::default();
        let digests = sordino_hash::hash_each(&fetched);
        let mut good = true;
        for ((&bucket, sealed), digest) in buckets.iter().zip(&fetched).zip(&digests) {
            good &= *digest == self.digests[bucket];
            let open = self
                .mode
                .layout
                .open(&self.seal, number(bucket), sealed, &mut opened);
            good &= open.is_ok();
        }
        stages.open = start.elapsed();
        if !good {
            return Err(Error::Search);
        }

        let start = Instant::now();
        opened.remove(&self.dead);
        let mut best = TopK::new(k);
        let fetched = opened.nearest(query, k, |hidden| self.records.reveal(hidden));
        fetched.into_iter().for_each(|hit| best.offer(hit));
        let added = self.tail.nearest(query, k);
        added.into_iter().for_each(|hit| best.offer(hit));
        let hits = best.into_ranked();
        stages.rank = start.elapsed();
        Ok((hits, stages))
    }

    /// The centroids' scores from the server. The outer error is the transport's or our own;
    /// the inner one says that the reply was wrong, and must not change what is sent next.
    fn encrypted_scores<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        edition: Edition,
        query: &[f32],
        stages: &mut Stages,
    ) -> Result<Result<Zeroizing<Vec<f32>>, Error>, Error> {
        let params = dot::Params::rlwe_2048_50();
        let start = Instant::now();
        let (secret, query) = dot::encrypt(rng, &params, query)?;
        stages.encrypt = start.elapsed();

        let start = Instant::now();
        let clusters = self.mode.clusters as usize;
        let len = dot::Reply::encoded_len(&params, self.width, clusters)?;
        let request = Message::Score.about(edition, &query.to_bytes());
        let reply = transport.call(&request, message_len(len))?;
        stages.scores = start.elapsed();

        let start = Instant::now();
        let scores = Message::Scored
            .expect(&reply, Some(len))
            .and_then(|body| Ok(dot::Reply::from_bytes(body)?))
            .and_then(|reply| Ok(Zeroizing::new(secret.decrypt(clusters, &reply)?)));
        stages.decrypt = start.elapsed();
        Ok(scores)
    }

    /// The manifest's number of buckets: those of the best centroids, or, where a wrong reply
    /// left no scores, any.
    fn route(&self, scores: &[f32]) -> Vec<usize> {
        let probes = self.mode.probes as usize;
        let mut best = TopK::new(probes);
        for (bucket, &score) in scores.iter().enumerate() {
            best.offer(Scored {
                id: number(bucket),
                score,
            });
        }
        let mut buckets: Vec<usize> = best
            .into_ranked()
            .iter()
            .map(|hit| hit.id as usize)
            .collect();
        // Distinct as long as there are no scores at all.
        buckets.extend(buckets.len()..probes);
        buckets
    }

    /// The sealed buckets in the server's reply.
    fn recover(&self, secrets: Vec<simple::Secret>, reply: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let params = self.pir.params();
        let len = secrets.len() * params.answer_len();
        let body = Message::Fetched.expect(reply, Some(len))?;
        let answers = body.chunks_exact(params.answer_len());
        let answers: Result<Vec<_>, _> = answers
            .map(|bytes| simple::Answer::from_bytes(params, bytes))
            .collect();
        Ok(self.pir.recover_batch(secrets, &answers?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Mode;
    use crate::rotation::Rotation;
    use crate::{InProcess, OwnerKeys, Plan, Server, Wish, build, synthetic};
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    /// What the whole protocol returns is what scoring the same buckets in the clear returns:
    /// same rows, same order, same scores.
    #[test]
    fn a_private_search_ranks_as_plain_scoring_of_its_buckets_does() {
        let (base, queries) = synthetic::clustered(2000, 12, 40, 21);
        let keys = OwnerKeys::from_master([1; 32]);
        let wish = Wish {
            k: 7,
            recall: 0.9,
            queries: 10,
            routing: Some(Routing::Downloaded),
        };
        let plan = Plan::new(2000, 40, wish).unwrap();
        let rng = &mut StdRng::seed_from_u64(1);
        let index = build::sealed(rng, &keys, &base, &plan, &mut |_| ())
            .unwrap()
            .index;
        let (manifest, parts) = index.clone().into_parts();
        let Mode::Sealed(mode) = &manifest.mode else {
            unreachable!("a sealed index");
        };
        let served = manifest.parts().unwrap();
        let served: Vec<_> = served
            .iter()
            .filter(|part| part.holder.is_served())
            .collect();
        let named = |name| {
            let at = served.iter().position(|part| part.name == name).unwrap();
            parts[at].to_vec()
        };
        let (buckets, centroids) = (named("buckets"), named("centroids"));
        let reader = keys.reader();
        let server = Server::new(index).unwrap();
        let mut transport = InProcess::new(&server);
        let client = crate::Client::connect(&mut transport, &reader, None).unwrap();

        let seal = |kind| reader.seal(kind, &mode.base.id, mode.base.version);
        let centroids = seal("centroids").open(0, &[], &centroids).unwrap();
        let centroids: Vec<Vec<f32>> = centroids
            .chunks_exact(40)
            .map(code::unit_from_int8)
            .collect();
        let rotation = Rotation::new(40, manifest.rotation);
        for query in queries.rows() {
            let rotated = rotation.apply(query);
            let mut order: Vec<usize> = (0..centroids.len()).collect();
            let score = |bucket: &usize| vectors::dot(&centroids[*bucket], &rotated);
            order.sort_by(|a, b| score(b).total_cmp(&score(a)));
            let mut opened = Opened::default();
            for &bucket in &order[..mode.probes as usize] {
                let len = mode.layout.sealed_len();
                let sealed = &buckets[bucket * len..][..len];
                mode.layout
                    .open(&seal("bucket"), number(bucket), sealed, &mut opened)
                    .unwrap();
            }
            let ids = reader.ids(&mode.base.id);
            let mut expected: Vec<Scored> = opened
                .nearest(&rotated, 7, |hidden| ids.reveal(hidden))
                .into_iter()
                .collect();
            expected.sort_by(Scored::rank);
            let found = client.search(rng, &mut transport, query).unwrap();
            assert_eq!(found.hits, expected);
        }
    }
}
