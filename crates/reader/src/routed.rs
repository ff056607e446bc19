//! Routed mode: the server holds clusters of vectors under pads, and scores one cluster of each group without knowing which.
//! It also scores all additions, as in masked mode.

use rand_core::CryptoRng;
use sordino_ckks::column::{self, Hint, SecretKey};
use sordino_index::Error;
use sordino_index::manifest::{Grid, Routed};
use sordino_index::wire::Message;
use sordino_index::wire::routed::{Query, Reply};
use sordino_lwe as lwe;
use sordino_vault::checks::ClusterChecks;
use sordino_vault::content_key::ContentKey;
use sordino_vault::frame::FrameQuery;
use sordino_vault::members::Members;
use sordino_vault::pad::Pad;
use sordino_vault::residual::{Scores, SplitQuery, bare};
use sordino_vault::route::Route;
use sordino_vault::select::mask;
use sordino_vectors::recall::{Scored, TopK, counting};
use sordino_vectors::u32_of;
use zeroize::Zeroizing;

use crate::download::Download;
use crate::masked;
use crate::question::{Passing, Wanted};
use crate::round::Round;
use crate::stages::{Stages, time, waited};
use crate::transport::AsyncTransport;
use crate::update::Update;
use crate::verdict::{Ranked, Wrong};

/// Reads some clusters: it chooses them for a query, and reads the scores of their records.
pub(crate) struct Scorer {
    mode: Routed,
    width: usize,
    route: Route,
    members: Members,
    /// For each place, the position of its record in a cluster's list.
    order: Zeroizing<Vec<u32>>,
    pad: Pad,
    checks: ClusterChecks,
    /// The largest error of check rows in an honest reply.
    tolerance: u64,
    words: lwe::Client,
    hint: column::Client,
    /// For each row of the clusters, true if its record is deleted. Empty if no record is deleted.
    dead: Vec<bool>,
    tail: masked::Scorer,
}

/// A query that was sent, with the secret for reading its reply.
struct SentQuery {
    /// For each group its chosen cluster, numbered among all clusters, and the query split by the cluster's base.
    split: Vec<(usize, SplitQuery)>,
    secret: SecretKey,
    tail: Option<masked::SentQuery>,
}

impl Scorer {
    /// A scorer of the clusters. [`update`](Self::update) adds the other segments.
    pub(crate) fn new(
        mode: &Routed,
        width: usize,
        key: &ContentKey,
        download: &mut Download,
    ) -> Result<Self, Error> {
        let params = mode.grid.packing.params();
        let mut hint = column::Client::empty(&params, mode.hint_seed, Grid::params().n())?;
        let downloaded = download.take(&mode.hint)?;
        for group in downloaded.chunks_exact(mode.grid.group_hint_len()?) {
            hint.extend(&Hint::from_bytes(group)?)?;
        }
        if hint.len() != mode.grid.scores() {
            return Err(Error::BadReply);
        }
        let shape = mode.grid.shape(width)?;
        let order = key.row_order(&mode.base.id, mode.grid.slots);
        let order = (0..mode.grid.slots).map(|place| order.row(place));
        let order = Zeroizing::new(order.collect::<Vec<u32>>());
        Ok(Self {
            mode: mode.clone(),
            width,
            route: key.open_route(mode, width, &download.take(&mode.centroids)?)?,
            members: key.open_members(mode, &download.take(&mode.members)?)?,
            order,
            pad: key.pad(&mode.base.id, mode.base.version),
            checks: key.cluster_checks(&mode.base.id),
            tolerance: mode.grid.tolerance(width),
            words: lwe::Client::new(&Grid::params(), shape, &lwe::Seed(mode.seed)),
            hint,
            dead: Vec::new(),
            tail: masked::Scorer::new(&mode.tail, width)?,
        })
    }

    /// Updates the scorer to this version of the mode, which has the same clusters.
    pub(crate) fn update(&mut self, mode: &Routed, update: Update<'_>) -> Result<(), Error> {
        let (dead, update) = update.split_base()?;
        self.tail.update(&mode.tail, update)?;
        self.dead = match dead.is_empty() {
            true => Vec::new(),
            false => (0..mode.base.n).map(|row| dead.contains(row)).collect(),
        };
        self.mode = mode.clone();
        Ok(())
    }

    /// The scorer of additions, as in masked mode.
    pub(crate) fn tail(&mut self) -> &mut masked::Scorer {
        &mut self.tail
    }

    /// The flags of the records that pass: by row for the clusters, by position for the additions.
    pub(crate) fn arranged(&self, mut rows: Passing) -> Passing {
        let tail = self.tail.arranged(&rows[1..]);
        rows.truncate(1);
        rows.extend(tail);
        rows
    }

    pub(crate) async fn search<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        asked: &FrameQuery,
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Result<Ranked, Error> {
        let (sent, query) = self.encrypted(round.rng, asked, stages)?;
        let own = self.mode.grid.reply_len()?;
        let len = own + self.tail.reply_len()?;
        let (body, read) = (query.to_bytes(), |body: &[u8]| Reply::from_bytes(own, body));
        let reply = round.ask(Message::Score, &body, len, read);
        let reply = waited(&mut stages.scores, reply).await?;
        Ok(reply.map_or_else(
            |Wrong| Ranked::nothing(),
            |reply| self.best(sent, &reply, asked, wanted, stages),
        ))
    }

    /// The encrypted query, and what reads the reply.
    fn encrypted<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        asked: &FrameQuery,
        stages: &mut Stages,
    ) -> Result<(SentQuery, Query), Error> {
        let (split, secret, mut query) = time(&mut stages.encrypt, || {
            let split = self.split(asked.lifted());
            let message = self.message(&split);
            let (secret, words) = self.words.query(rng, &message)?;
            let negated = secret.into_negated();
            let (secret, encrypted) = self.hint.encrypt_modular(rng, &negated)?;
            let query = Query {
                words,
                secret: encrypted,
                tail: None,
            };
            Ok::<_, Error>((split, secret, query))
        })?;
        let mut sent = SentQuery {
            split,
            secret,
            tail: None,
        };
        if !self.tail.is_empty() {
            let (secret, tail) = self.tail.encrypted(rng, asked, stages)?;
            (sent.tail, query.tail) = (Some(secret), Some(tail));
        }
        Ok((sent, query))
    }

    /// The best cluster of each group, and the query split by the cluster's base.
    fn split(&self, query: &[f32]) -> Vec<(usize, SplitQuery)> {
        let grid = &self.mode.grid;
        let nearest = self.route.nearest(grid, query).into_iter().enumerate();
        let split = nearest.map(|(group, cluster)| {
            let base = self.route.chosen_base(grid, group, cluster);
            let cluster = group * grid.clusters as usize + cluster;
            (cluster, SplitQuery::new(&base, query))
        });
        split.collect()
    }

    /// The codes of each chosen cluster's query in its columns, with zeros in the others. No branch and no address depends
    /// on the choice.
    fn message(&self, split: &[(usize, SplitQuery)]) -> Zeroizing<Vec<i16>> {
        let clusters = self.mode.grid.clusters as usize;
        let mut message = Zeroizing::new(vec![0; split.len() * clusters * self.width]);
        let groups = message.chunks_exact_mut(clusters * self.width);
        for (at, (group, (nearest, query))) in groups.zip(split).enumerate() {
            let codes = Zeroizing::new(query.codes().collect::<Vec<i16>>());
            let all = (at * clusters..).zip(group.chunks_exact_mut(self.width));
            for (cluster, block) in all {
                let [low, high, ..] = mask(cluster == *nearest).to_le_bytes();
                let mask = i16::from_le_bytes([low, high]);
                for (word, &code) in block.iter_mut().zip(codes.iter()) {
                    *word = code & mask;
                }
            }
        }
        message
    }

    /// The best of these scores.
    fn best(
        &self,
        sent: SentQuery,
        reply: &Reply,
        asked: &FrameQuery,
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Ranked {
        let products = time(&mut stages.decrypt, || {
            self.hint.decrypt_modular(sent.secret, &reply.clusters)
        });
        let Ok(products) = products.map(Zeroizing::new) else {
            return Ranked::nothing();
        };
        let (bare, held) = time(&mut stages.open, || self.bare(&sent.split, &products));
        let (chosen, added) = wanted.split_base();
        let found = time(&mut stages.rank, || {
            self.scored(asked, &sent.split, &bare, wanted.k, chosen)
        });
        // If the clusters' products are wrong, the additions are still read, so that the next message leaves after the same
        // time.
        let tail = match (sent.tail, &reply.tail) {
            (Some(sent), Some(reply)) => self.tail.best(sent, reply, asked, added, stages),
            _ => Ranked {
                hits: Vec::new(),
                right: true,
            },
        };
        let mut best = TopK::with_equal(wanted.k);
        found.into_iter().for_each(|hit| best.offer(hit));
        for Scored { id, score } in tail.hits {
            let id = self.mode.base.n + id;
            best.offer(Scored { id, score });
        }
        Ranked {
            hits: best.into_ranked(),
            right: held && tail.right,
        }
    }

    /// The products of all rows of the chosen clusters without their pads, and true if all check rows agree.
    fn bare(&self, split: &[(usize, SplitQuery)], products: &[i64]) -> (Zeroizing<Vec<i32>>, bool) {
        let stored = self.mode.grid.stored();
        let mut whole = Zeroizing::new(Vec::with_capacity(products.len()));
        let mut pads = Zeroizing::new(vec![0; stored]);
        let mut off = 0;
        let clusters = split.iter().zip(products.chunks_exact(stored));
        for (group, ((cluster, query), products)) in clusters.enumerate() {
            let codes: Vec<i32> = query.codes().map(i32::from).collect();
            let (codes, first) = (Zeroizing::new(codes), u32_of(cluster * stored));
            self.pad.products_from(first, &codes, &mut pads);
            let rows = products.iter().zip(pads.iter());
            let at = whole.len();
            whole.extend(rows.map(|(&product, &pad)| bare(masked::low(product), pad)));
            let (places, checks) = whole[at..].split_at(self.mode.grid.slots as usize);
            off = self.checks.off(group, places, checks).max(off);
        }
        (whole, off <= self.tolerance)
    }

    /// The best different records of the chosen clusters. Several clusters may have copies of one record.
    ///
    /// # Security
    /// An impossible score for unit vectors is not refused here. Whether there is one depends on the query. Check rows
    /// already refuse replies that change scores that much.
    fn scored(
        &self,
        asked: &FrameQuery,
        split: &[(usize, SplitQuery)],
        products: &[i32],
        k: usize,
        chosen: Option<&[bool]>,
    ) -> Vec<Scored> {
        let scores = Scores::new(self.width);
        let mut found = Vec::with_capacity(products.len());
        let clusters = products.chunks_exact(self.mode.grid.stored());
        for ((cluster, query), products) in split.iter().zip(clusters) {
            let members = self.members.of(*cluster);
            for (&at, &product) in self.order.iter().zip(products) {
                let Some((id, parts)) = members.get(at as usize) else {
                    continue;
                };
                let rests = scores.of_bare(product);
                let score = query.score(parts, rests);
                let row = id as usize;
                let counts =
                    (self.dead.get(row) != Some(&true)) & chosen.is_none_or(|chosen| chosen[row]);
                let score = counting(counts, asked.key_of_lifted(score));
                found.push(Scored { id, score });
            }
        }
        distinct(&found, k)
    }
}

/// The best `k` different records among these.
fn distinct(found: &[Scored], k: usize) -> Vec<Scored> {
    let mut room = 4 * k;
    loop {
        let mut best = TopK::with_equal(room);
        found.iter().for_each(|hit| best.offer(*hit));
        let best = best.into_ranked();
        let all = best.len() < room;
        let mut unique: Vec<Scored> = Vec::with_capacity(k);
        for hit in best {
            if unique.len() < k && unique.iter().all(|kept| kept.id != hit.id) {
                unique.push(hit);
            }
        }
        if unique.len() == k || all {
            return unique;
        }
        room *= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_take_no_room_however_many() {
        let hit = |id, score| Scored { id, score };
        let copies = (0..100).map(|_| hit(7, 0.9));
        let rest = [hit(1, 0.8), hit(2, 0.7), hit(3, 0.6)];
        let all: Vec<Scored> = copies.chain(rest).collect();
        let ids = |k| -> Vec<u32> { distinct(&all, k).iter().map(|hit| hit.id).collect() };
        assert_eq!(ids(1), [7]);
        assert_eq!(ids(3), [7, 1, 2]);
        assert_eq!(ids(9), [7, 1, 2, 3]);
        assert!(distinct(&[], 3).is_empty());
        // Most records do not count.
        let others = (10..500).map(|id| hit(id, counting(false, 0.95)));
        let all: Vec<Scored> = others.chain(all).collect();
        let ids: Vec<u32> = distinct(&all, 9).iter().map(|hit| hit.id).collect();
        assert_eq!(ids, [7, 1, 2, 3]);
    }
}
