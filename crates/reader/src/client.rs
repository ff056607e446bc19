//! The client: it verifies, encrypts, decrypts and ranks.

mod connect_options;
mod pads; // expanded once
mod pin; // stored, and shared with other clients
mod records; // records by their ids
mod refresh; // the way to a newer version

use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_index::{Error, Pin, SignedManifest};
use sordino_vault::ReaderKeys;
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::Frame;

use crate::cache::Cache;
use crate::download::{Download, Kept};
use crate::filter::Filter;
use crate::filter_matches::FilterMatches;
use crate::kind::Kind;
use crate::latch::Latch;
use crate::pir_session::Sessions;
use crate::question::{Found, Hit, Passing, Question, Wanted};
use crate::ranking::Ranking;
use crate::records::{Fresh, Records};
use crate::round::Round;
use crate::stages::Stages;
use crate::transport::{AsyncTransport, Transport, at_once};
use crate::update::Update;
use crate::verdict::Wrong;
use crate::{history, payload};
pub use connect_options::ConnectOptions;

/// A client of one version of an index, with its verified downloads.
pub struct Client {
    keys: ReaderKeys,
    /// The content keys of this version that the reader's keys open.
    contents: ContentKeys,
    manifest: SignedManifest,
    frame: Frame,
    kind: Kind,
    records: Records,
    payloads: Option<payload::Client>,
    /// Sessions for fetching without a hint.
    sessions: Arc<Sessions>,
    /// The records that the last filters chose, arranged for the mode.
    chosen: FilterMatches,
    cache: Option<Cache>,
    bytes_once: usize,
}

impl Client {
    /// Downloads and verifies what searching needs: the manifest and, by mode, the hint, the hint
    /// and the centroids, or the whole index.
    ///
    /// `pin` is the newest version that this client has seen, from [`pin`](Self::pin), or `None` for the first connection.
    /// The client refuses a server that offers another index, an older version, or one that does not follow from the pinned
    /// one by signed manifests. If there are versions between the two, the client asks the server for their manifests. The
    /// server learns from this which version the client knew.
    ///
    /// # Errors
    /// [`Error`] if a message is malformed, or a signature or digest is wrong. With a pin: [`Error::OtherIndex`] for
    /// another index, [`Error::Rollback`] for an older version, [`Error::Fork`] for a version that does not follow from
    /// the pin. [`Error::Gap`] if the server does not keep manifests that far back. A caller that accepts this sets
    /// [`over_gap`](ConnectOptions::over_gap). [`Error::Stale`] if the server changed to another version in between:
    /// connect again.
    pub fn connect(
        transport: &mut impl Transport,
        keys: &ReaderKeys,
        pin: Option<&Pin>,
    ) -> Result<Self, Error> {
        Self::connect_with(transport, keys, ConnectOptions::default().pin(pin))
    }

    /// [`connect`](Self::connect), with all options.
    ///
    /// # Errors
    /// The errors of [`connect`](Self::connect), except [`Error::Gap`] if `over_gap` is set.
    pub fn connect_with(
        transport: &mut impl Transport,
        keys: &ReaderKeys,
        options: ConnectOptions<'_>,
    ) -> Result<Self, Error> {
        at_once(Self::connect_async(transport, keys, options))
    }

    /// Like [`connect_with`](Self::connect_with), over an asynchronous transport.
    ///
    /// # Errors
    /// The errors of [`connect_with`](Self::connect_with).
    pub async fn connect_async(
        transport: &mut impl AsyncTransport,
        keys: &ReaderKeys,
        options: ConnectOptions<'_>,
    ) -> Result<Self, Error> {
        let (manifest, received) = history::offered(transport, keys).await?;
        let shown = match options.pin {
            None => 0,
            Some(pin) => match history::follow(pin, &manifest, transport, keys).await {
                Err(Error::Gap { .. }) if options.over_gap => 0,
                shown => shown?,
            },
        };
        Self::download(transport, keys, manifest, received + shown, options.cache).await
    }

    /// A client of this version. `received` bytes were downloaded before.
    async fn download(
        transport: &mut impl AsyncTransport,
        keys: &ReaderKeys,
        manifest: SignedManifest,
        received: usize,
        cache: Option<&Cache>,
    ) -> Result<Self, Error> {
        let mut download = Download::new(transport, &manifest, Kept::default(), cache).await?;
        let contents = download.contents(&manifest, keys)?;
        let frame = download.frame(&manifest, &contents)?;
        let sessions = Arc::new(Sessions::default());
        let mut client = Self {
            kind: Kind::new(&manifest, &contents, &frame, &sessions, &mut download)?,
            records: Records::default(),
            chosen: FilterMatches::default(),
            payloads: payload::Client::new(&manifest, &contents, &sessions, &mut download)?,
            sessions,
            frame,
            keys: keys.clone(),
            contents,
            cache: cache.cloned(),
            bytes_once: received + download.bytes,
            manifest,
        };
        let contents = client.contents.clone();
        let records = Fresh::new(
            &client.manifest,
            &contents,
            (&client.records, 0),
            &mut download,
        )?;
        let update = Update {
            keys: &contents,
            kept: 0,
            dead: &records.dead,
            metric: client.manifest.metric,
            download: &mut download,
        };
        client.kind.update(&client.manifest, update)?;
        client.records.update(0, records);
        Ok(client)
    }

    /// The verified manifest.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// The recall of held-out vectors, as the build measured it under the noise of real scores, or `None` if it was not
    /// measured.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        self.frame.recall()
    }

    /// The number of bytes that were downloaded in addition to queries, at first and by refreshing.
    #[must_use]
    pub fn bytes_once(&self) -> usize {
        self.bytes_once
    }

    /// Finds the records nearest to `query`, the manifest's `k` of them.
    ///
    /// # Errors
    /// The errors of [`ask`](Self::ask).
    pub fn search<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        query: &[f32],
    ) -> Result<Found, Error> {
        self.ask(rng, transport, &Question::new(query))
    }

    /// Finds the records nearest to a question's vector that satisfy the question.
    ///
    /// # Security
    /// The messages are the same as in any other search, for every question. The client alone applies the number of results,
    /// the threshold and the filter.
    ///
    /// # Errors
    /// Before any message: [`Error`] if the vector's dimension is not the index's, or the vector is zero or not finite.
    /// [`Error`] also if the question asks for more results than the manifest's `k`, or the filter does not fit the
    /// attributes. [`Error::Stale`] if the server has a newer version: [`refresh`](Self::refresh) and search again.
    /// [`Error::BadReply`] if a reply does not belong to this index. It comes after all messages, which have the same
    /// number, order and size as in any other search. [`Error::AfterBadReply`] if a message failed after that.
    pub fn ask<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        question: &Question<'_>,
    ) -> Result<Found, Error> {
        at_once(self.ask_async(rng, transport, question))
    }

    /// Like [`ask`](Self::ask), over an asynchronous transport. Dropping the future abandons the search. What it has sent
    /// must not be sent again.
    ///
    /// # Errors
    /// The errors of [`ask`](Self::ask).
    pub async fn ask_async<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl AsyncTransport,
        question: &Question<'_>,
    ) -> Result<Found, Error> {
        let asked = self.frame.ask(question.vector)?;
        let most = self.manifest.k as usize;
        let k = question.k.unwrap_or(most);
        if !(1..=most).contains(&k) {
            return Err(Error::Results { k, most });
        }
        let filter = question.filter;
        let chosen = filter.map(|filter| self.chosen(filter)).transpose()?;
        let chosen = chosen.as_ref().map(|chosen| &chosen[..]);
        let candidates = self.payloads.as_ref().and_then(payload::Client::candidates);
        let wanted = Wanted {
            // The next message's time must not reveal how many results are wanted, so all possible ones are found.
            k: candidates.unwrap_or(most),
            chosen,
        };
        let mut stages = Stages::default();
        let round = &mut self.round(rng, transport);
        let found = self.kind.search(round, &asked, wanted, &mut stages).await;
        let found = round.told(found)?;
        round.latch.ranked(&found);
        let ranking = Ranking {
            records: &self.records,
            question,
            metric: self.manifest.metric,
            frame: &self.frame,
            asked: &asked,
            k,
        };
        let slots = self.payloads.as_ref();
        let results = ranking.results(round, slots, found.hits, &mut stages).await;
        let results = round.told(results)?;
        let results = round
            .latch
            .checked(results)
            .map_err(|Wrong| Error::BadReply);
        let (hits, carried) = round.latch.outcome(results)?;
        let truncated = |at: usize| carried.get(at).is_some_and(|it| it.truncated);
        let named = hits.iter().enumerate().map(|(at, hit)| Hit {
            id: self.records.id(hit.id),
            score: hit.score,
            truncated: truncated(at),
        });
        Ok(Found {
            hits: named.collect(),
            payloads: carried.into_iter().map(|it| it.payload).collect(),
            stages,
        })
    }

    fn round<'a, R: ?Sized, T>(&self, rng: &'a mut R, transport: &'a mut T) -> Round<'a, R, T> {
        Round {
            rng,
            transport,
            edition: self.manifest.edition(),
            latch: Latch::default(),
        }
    }

    /// The records that a filter chooses, in the order in which the mode reads rows.
    fn chosen(&self, filter: &Filter) -> Result<Arc<Passing>, Error> {
        self.chosen.by(filter, || {
            let hidden = self.manifest.readers.is_some();
            Ok(self.kind.arranged(self.records.passing(filter, hidden)?))
        })
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("manifest", &self.manifest)
            .finish_non_exhaustive()
    }
}
