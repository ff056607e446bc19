//! The server: it holds an index, answers messages, and learns nothing from them.

use std::sync::Arc;

use sordino_ckks::{column, dot};
use sordino_index::digest::Digest;
use sordino_index::shard::{Head, Shard};
use sordino_index::wire::{EDITION_LEN, Edition, Message, Request, message_len};
use sordino_index::{Bytes, Error, SignedManifest};

use crate::history::History;

mod buckets;
mod columns;
mod cut;
mod encodings;
mod gateway;
mod gather;
mod needed;
mod open;
mod page_table;
mod pass;
mod payloads;
mod read;
mod retrieval;
mod routed;
mod sealed;
mod static_reply;

use columns::Columns;
pub use encodings::Encodings;
use gateway::Gateway;
pub use gateway::PendingRequest;
pub use gather::Ask;
pub use open::OpenOptions;
use pass::Pass;
use retrieval::{Retrieval, Sessions};
use routed::Routed;
use sealed::Sealed;
pub use static_reply::StaticReply;

/// One version of an index that is ready to answer.
///
/// A server does not change. While an index changes, a program makes a new server of the new version and replaces the
/// old one. A server refuses requests about other versions, so that no query is scored with two versions.
///
/// # Security
/// The manifest fixes the work for a request and the length of its reply. Every well-formed request of a kind takes
/// the same path.
#[derive(Debug)]
pub struct Server {
    manifest: SignedManifest,
    edition: Edition,
    /// The manifests before `manifest`.
    history: History,
    /// The parts that clients download once, in the manifest's order. A part is empty if this shard does not serve it.
    given: Vec<(Digest, Bytes)>,
    kind: Kind,
    /// This server's share of the data, if it does not have all of it.
    shard: Option<Shard>,
    /// The folder for encoded data, if there is one.
    encodings: Option<Encodings>,
    /// Payloads for fetching.
    payloads: Option<Arc<Retrieval>>,
    /// Keys of clients that fetch without a hint.
    sessions: Sessions,
}

/// The data from which queries are answered.
#[derive(Debug)]
enum Kind {
    Sealed(Arc<Sealed>),
    /// Local mode: clients ask nothing after the download.
    Local,
    /// Open and masked mode: all vectors, encoded for scoring.
    Columns(Box<Columns>),
    /// Routed mode: some clusters, encoded for scoring.
    Routed(Box<Routed>),
    /// Shards have the data.
    Gateway(Box<Gateway>),
}

impl Server {
    /// The manifest of the index served.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// This server's share of the data, if it does not have all of it. Replies to queries are then parts.
    #[must_use]
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// True if a request names another version. This is false for a request that names none.
    #[must_use]
    pub fn is_other(&self, request: Request<&[u8]>) -> bool {
        match request.kind() {
            Message::GetManifest | Message::GetShard => false,
            _ => self.edition.strip(request.body()).is_err(),
        }
    }

    /// The longest request that this server answers.
    ///
    /// # Errors
    /// [`Error`] if the index's parameters have no such length.
    pub fn longest_request(&self) -> Result<usize, Error> {
        let parts = self.given.len() * size_of::<u16>();
        let query = match &self.kind {
            Kind::Sealed(sealed) => {
                let scores = sealed.centroids.as_ref();
                let score = scores.map_or(0, |centroids| dot::Query::encoded_len(centroids.dim()));
                score.max(sealed.buckets.request_len())
            }
            Kind::Local => 0,
            Kind::Columns(columns) => {
                let segments = &columns.segments;
                column::Query::encoded_len(segments.params(), segments.dim())?
            }
            Kind::Routed(routed) => routed.query_len(),
            Kind::Gateway(gathered) => gathered.longest_query(),
        };
        let payloads = self.payloads.as_ref();
        let payloads = payloads.map_or(0, |payloads| payloads.request_len());
        let longest = query.max(payloads).max(parts).max(EDITION_LEN);
        Ok(message_len(EDITION_LEN + longest))
    }

    /// The reply to `request`, if it is ready and the same for every client. It can be sent without a copy, however
    /// long it is.
    #[must_use]
    pub fn prepared(&self, request: Request<&[u8]>) -> Option<StaticReply> {
        self.ready(request).ok()
    }

    /// The reply to a request that is not a query.
    fn ready(&self, request: Request<&[u8]>) -> Result<StaticReply, Error> {
        let body = request.body();
        match (request.kind(), self.shard) {
            (Message::GetManifest, shard) => match (shard, Head::read(body)) {
                // A gathering server names the shard that it asks. A client does not, and gets a reply that says that
                // this is a shard.
                (Some(_), Ok((_, []))) => Ok(self.manifest_reply()),
                (Some(shard), _) => Err(Error::Share([shard.number(), shard.of()])),
                (None, _) if body.is_empty() => Ok(self.manifest_reply()),
                (None, _) => Err(no_request(request)),
            },
            (Message::GetParts, _) => Ok(self.given(self.parts(self.edition.strip(body)?)?)),
            (Message::GetShard, Some(_)) if body.is_empty() => Ok(self.given(Vec::new())),
            (Message::GetHistory, _) => {
                let known = self.edition.strip(body)?;
                let why = || malformed(format!("a version of {} bytes", known.len()));
                let known = Edition::from_bytes(known).ok_or_else(why)?;
                Ok(StaticReply::new(
                    Message::History,
                    self.history.since(known),
                ))
            }
            _ => Err(no_request(request)),
        }
    }

    fn manifest_reply(&self) -> StaticReply {
        StaticReply::new(
            Message::Manifest,
            vec![self.manifest.to_bytes().to_vec().into()],
        )
    }

    /// A reply with these parts. A shard's reply says that it is one.
    fn given(&self, mut parts: Vec<Bytes>) -> StaticReply {
        let Some(head) = self.head() else {
            return StaticReply::new(Message::Parts, parts);
        };
        parts.insert(0, head.to_bytes().into());
        StaticReply::new(Message::Partial, parts)
    }

    /// The beginning of a shard's replies.
    fn head(&self) -> Option<Head> {
        Some(Head::new(&self.manifest, self.shard?))
    }

    /// The reply to a query. A shard marks it as a part.
    fn own(&self, reply: Vec<u8>) -> Vec<u8> {
        match self.head() {
            None => reply,
            Some(head) => {
                let body = &reply[message_len(0)..];
                Message::Partial.with(&[&head.to_bytes(), body].concat())
            }
        }
    }

    /// The requested parts, each at most once, in the manifest's order.
    fn parts(&self, body: &[u8]) -> Result<Vec<Bytes>, Error> {
        let (numbers, rest) = body.as_chunks();
        let numbers: Vec<u16> = numbers.iter().copied().map(u16::from_le_bytes).collect();
        let parts: Option<Vec<Bytes>> = numbers
            .iter()
            .map(|&number| Some(self.given.get(usize::from(number))?.1.clone()))
            .collect();
        let ascending = rest.is_empty() && numbers.is_sorted_by(|a, b| a < b);
        parts
            .filter(|parts| ascending && !parts.is_empty())
            .ok_or_else(|| {
                let count = self.given.len();
                malformed(format!("not some of {count} parts in their order"))
            })
    }

    /// Answers one message.
    ///
    /// # Errors
    /// [`Error`] if the request is malformed, or the manifest's mode does not have it.
    #[expect(
        clippy::missing_panics_doc,
        reason = "there is a reply for each request"
    )]
    pub fn handle(&self, request: &[u8]) -> Result<Vec<u8>, Error> {
        let mut replies = self.handle_batch(&[request]);
        replies.pop().expect("a reply for each request")
    }

    /// Answers messages of several clients. Messages that need a pass over the index share one. Each reply equals the
    /// one from [`handle`](Self::handle), so it does not depend on the other requests.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "there is a reply for each request"
    )]
    pub fn handle_batch(&self, requests: &[&[u8]]) -> Vec<Result<Vec<u8>, Error>> {
        let read: Vec<_> = requests.iter().map(|bytes| Request::read(*bytes)).collect();
        let good: Vec<_> = read.iter().flatten().map(|good| (0, *good)).collect();
        let mut replies = self.handle_batch_of(&good).into_iter();
        let mut reply = |_| replies.next().expect("a reply for each request");
        read.into_iter()
            .map(|request| request.and_then(&mut reply))
            .collect()
    }

    /// Like [`handle_batch`](Self::handle_batch), for distinguishable clients: each request comes with the number of
    /// its sender. The senders share the room for keys of sessions fairly.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "a request is refused, prepared or in a pass"
    )]
    pub fn handle_batch_of(
        &self,
        requests: &[(u128, Request<&[u8]>)],
    ) -> Vec<Result<Vec<u8>, Error>> {
        let mut scores = Pass::default();
        let (mut fetches, mut payloads) = (Pass::default(), Pass::default());
        let mut replies: Vec<_> = requests
            .iter()
            .enumerate()
            .map(|(at, (holder, request))| {
                let pass = match request.kind() {
                    Message::Score => &mut scores,
                    Message::Fetch => &mut fetches,
                    Message::FetchPayloads => &mut payloads,
                    _ => return Some(self.ready(*request).map(|reply| reply.to_vec())),
                };
                match self.edition.strip(request.body()) {
                    Ok(body) => pass.push(at, *holder, body),
                    Err(error) => return Some(Err(error)),
                }
                None
            })
            .collect();
        let answers = [
            (&scores, self.score(&scores.bodies)),
            (&fetches, self.fetch(&fetches)),
            (&payloads, self.fetch_payloads(&payloads)),
        ];
        for (pass, answers) in answers {
            if let Some(encodings) = &self.encodings {
                encodings.look(&answers);
            }
            for (&at, answer) in pass.places.iter().zip(answers) {
                replies[at] = Some(answer.map(|reply| self.own(reply)));
            }
        }
        let replies = replies.into_iter();
        replies
            .map(|reply| reply.expect("every request is refused or in a pass"))
            .collect()
    }

    /// Scores all vectors or all centroids under encryption, in one pass for all queries.
    fn score(&self, bodies: &[&[u8]]) -> Vec<Result<Vec<u8>, Error>> {
        let centroids = match &self.kind {
            Kind::Columns(columns) => return pass::score_all(&columns.segments, bodies),
            Kind::Routed(routed) => return routed.score(bodies),
            Kind::Sealed(sealed) => sealed.centroids.as_ref(),
            Kind::Local | Kind::Gateway(_) => None,
        };
        let Some(centroids) = centroids else {
            return self.refuse(bodies.len(), "one in which the server scores");
        };
        pass::score_centroids(centroids, bodies)
    }

    /// Answers each request for the number of buckets that the manifest names.
    fn fetch(&self, requests: &Pass<'_>) -> Vec<Result<Vec<u8>, Error>> {
        match &self.kind {
            Kind::Sealed(sealed) => sealed.buckets.fetch(&self.sessions, requests),
            _ => self.refuse(requests.bodies.len(), "sealed"),
        }
    }

    /// Answers each request for payloads, one for each result of a search.
    fn fetch_payloads(&self, requests: &Pass<'_>) -> Vec<Result<Vec<u8>, Error>> {
        let Some(payloads) = &self.payloads else {
            return self.refuse(requests.bodies.len(), "one with payloads to fetch");
        };
        payloads.fetch(&self.sessions, requests)
    }

    /// Refuses requests that the index's mode does not have.
    fn refuse(&self, count: usize, expected: &'static str) -> Vec<Result<Vec<u8>, Error>> {
        let found = self.manifest.mode.kind().name();
        let refusals = (0..count).map(|_| Err(Error::Mode { found, expected }));
        refusals.collect()
    }
}

fn no_request(request: Request<&[u8]>) -> Error {
    let (kind, len) = (request.kind(), request.body().len());
    malformed(format!("{kind:?} of {len} bytes is no request"))
}

fn malformed(why: String) -> Error {
    Error::Malformed {
        what: "message",
        why,
    }
}

#[cfg(test)]
mod tests;
