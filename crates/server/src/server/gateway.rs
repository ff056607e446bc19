//! A server whose data is on shards. It has what clients download, and joins the answers of the shards.

use sordino_index::Error;
use sordino_index::manifest::{Manifest, Mode};
use sordino_index::payload::Payloads;
use sordino_index::shard::{HEAD_LEN, Head, Shard};
use sordino_index::wire::{Message, Request, fetch, message_len};
use sordino_pir::hintless::Keys;

use super::buckets::Buckets;
use super::cut::Cut;
use super::routed::lens;
use super::sealed::cut_params;
use super::{Kind, Server, malformed};

/// A version whose data is on shards.
#[derive(Debug)]
pub(super) struct Gateway {
    of: u16,
    cuts: Vec<Cut>,
    query_len: usize,
    payloads: Option<Fetched>,
    buckets: Option<Buckets>,
}

/// The lengths of messages for fetching payloads.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    query: usize,
    /// True if the keys of a session may come before the query.
    keys: bool,
    reply: usize,
}

/// A request for shards to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    kind: Message,
    of: u16,
    /// True if it is only for the first shard.
    first: bool,
}

impl PendingRequest {
    /// True if it fetches payloads, for which a client may have to send keys.
    #[must_use]
    pub fn is_fetch(self) -> bool {
        self.kind == Message::FetchPayloads
    }

    /// The shards to which it goes. They are always the same for a kind of request.
    pub fn shards(self) -> impl Iterator<Item = Shard> {
        let first = self.is_fetch() || self.first;
        Shard::all(self.of).take(if first { 1 } else { self.of.into() })
    }
}

impl Gateway {
    pub(super) fn new(manifest: &Manifest, of: u16) -> Result<Self, Error> {
        let cuts = Cut::all(manifest, of)?;
        let buckets = match &manifest.mode {
            Mode::Sealed(mode) => Some(Buckets::new(mode, manifest.stored_dim() as usize)?),
            _ => None,
        };
        let query_len = match &manifest.mode {
            Mode::Routed(mode) => lens(manifest, mode)?.all(),
            Mode::Sealed(_) => buckets
                .as_ref()
                .and_then(|it| it.centroids)
                .map_or(0, |it| it[0]),
            _ => cuts.iter().map(Cut::query_len).sum::<Result<_, _>>()?,
        };
        let payloads = manifest.payloads.as_ref().map(Fetched::new).transpose()?;
        Ok(Self {
            of,
            cuts,
            query_len,
            payloads: payloads.flatten(),
            buckets,
        })
    }

    pub(super) fn longest_query(&self) -> usize {
        let buckets = self.buckets.as_ref();
        self.query_len
            .max(self.payloads.map_or(0, Fetched::longest))
            .max(buckets.map_or(0, Buckets::request_len))
    }

    /// Checks that a shard belongs to this cut.
    fn check_shard(&self, shard: Shard) -> Result<(), Error> {
        match Shard::new(shard.number(), self.of) {
            Some(expected) if expected == shard => Ok(()),
            _ => Err(malformed(format!(
                "shard {shard}, of an index that is cut into {}",
                self.of
            ))),
        }
    }
}

impl Fetched {
    /// The lengths of what a search fetches, if payloads are not downloaded.
    fn new(payloads: &Payloads) -> Result<Option<Self>, Error> {
        if let Some(params) = payloads.pir_params()? {
            let pages = payloads.fetched as usize;
            return Ok(Some(Self {
                query: pages * params.query_len(),
                keys: false,
                reply: pages * params.answer_len(),
            }));
        }
        if let Some(scan) = payloads.scan()? {
            return Ok(Some(Self {
                query: scan.query_len()?,
                keys: false,
                reply: scan.reply_len()?,
            }));
        }
        let hintless = payloads.hintless_params()?;
        Ok(hintless.map(|params| Self {
            query: params.query_len(),
            keys: true,
            reply: params.answer_len(),
        }))
    }

    fn longest(self) -> usize {
        self.query + if self.keys { Keys::LEN } else { 0 }
    }

    fn check(self, kind: Message, body: &[u8]) -> Result<(), Error> {
        match self.keys {
            true => fetch::split_query(kind, self.query, body).map(drop),
            false => kind.check_len(body, self.query),
        }
    }
}

/// Refuses an index whose mode cannot be cut.
pub(super) fn check_mode(manifest: &Manifest) -> Result<(), Error> {
    if let Mode::Sealed(mode) = &manifest.mode {
        cut_params(mode)?;
    }
    Cut::all(manifest, 1).map(drop)
}

impl Server {
    /// The shards that must answer a request, if any.
    ///
    /// # Errors
    /// The errors of [`handle`](Self::handle); [`Error::Malformed`] if this server [gathers](Self::gather) nothing.
    pub fn ask(&self, request: Request<&[u8]>) -> Result<PendingRequest, Error> {
        let gathered = self.gathered()?;
        let (kind, body) = (request.kind(), request.body());
        let scored = gathered.query_len > 0;
        match (kind, gathered.payloads, &gathered.buckets) {
            (Message::Score, ..) if scored => {
                kind.check_len(self.edition.strip(body)?, gathered.query_len)?;
            }
            (Message::FetchPayloads, Some(fetched), _) => {
                fetched.check(kind, self.edition.strip(body)?)?;
            }
            (Message::Fetch, _, Some(buckets)) => {
                kind.check_len(self.edition.strip(body)?, buckets.request_len())?;
            }
            _ => {
                let mut refused = self.handle_batch_of(&[(0, request)]);
                let refused = refused.pop().and_then(Result::err);
                return Err(refused.unwrap_or_else(|| malformed(format!("{kind:?} is no query"))));
            }
        }
        let of = gathered.of;
        // Centroids are not cut, so only the first shard scores them.
        let first = kind == Message::Score && gathered.buckets.is_some();
        Ok(PendingRequest { kind, of, first })
    }

    /// The largest number of bytes of a shard's reply.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a shard of another cut. [`Error`] if the index's parameters have no such length.
    pub fn longest_part(&self, asked: PendingRequest, shard: Shard) -> Result<usize, Error> {
        let gathered = self.gathered()?;
        gathered.check_shard(shard)?;
        let len = match (asked.kind, gathered.payloads, &gathered.buckets) {
            (Message::FetchPayloads, Some(fetched), _) => fetched.reply,
            (Message::Fetch, _, Some(buckets)) => buckets.part_len(shard),
            (Message::Score, _, Some(buckets)) => buckets.centroids.map_or(0, |lens| lens[1]),
            _ => {
                let lens = gathered.cuts.iter().map(|cut| cut.len(shard));
                lens.sum::<Result<_, _>>()?
            }
        };
        Ok(message_len(HEAD_LEN + len))
    }

    /// Checks that a reply is the shard's part in this version.
    ///
    /// # Errors
    /// - [`Error::Malformed`] if the reply's form or length is wrong
    /// - [`Error::OtherIndex`], [`Error::Stale`] or [`Error::Position`] if the reply is of another index, version or
    ///   shard
    /// - [`Error::Ckks`] if the scores do not fit this shard
    pub fn check_part(
        &self,
        asked: PendingRequest,
        shard: Shard,
        reply: &[u8],
    ) -> Result<(), Error> {
        let expected = self.longest_part(asked, shard)?;
        let body = Message::Partial.expect(reply, Some(expected - message_len(0)))?;
        let mut rest = Head::new(&self.manifest, shard).strip(body)?;
        if asked.kind == Message::Score {
            for cut in &self.gathered()?.cuts {
                let part;
                (part, rest) = rest.split_at(cut.len(shard)?);
                cut.check(shard, part)?;
            }
        }
        Ok(())
    }

    /// The reply to a request, from the replies of all its shards, in order. It is byte for byte the reply of a
    /// server with all of the data.
    ///
    /// # Errors
    /// The errors of [`check_part`](Self::check_part), and an error if the number of replies differs.
    pub fn join(&self, asked: PendingRequest, replies: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
        let shards: Vec<Shard> = asked.shards().collect();
        if replies.len() != shards.len() {
            let (found, expected) = (replies.len(), shards.len());
            return Err(malformed(format!("{found} parts, expected {expected}")));
        }
        for (&shard, reply) in shards.iter().zip(replies) {
            self.check_part(asked, shard, reply)?;
        }
        let begin = message_len(HEAD_LEN);
        let mut rest: Vec<&[u8]> = replies.iter().map(|reply| &reply[begin..]).collect();
        let kind = asked.kind.reply();
        if let (Message::Fetch, Some(buckets)) = (asked.kind, &self.gathered()?.buckets) {
            return Ok(kind.with(&buckets.join(&shards, &rest)?));
        }
        if asked.kind != Message::Score || asked.first {
            return Ok(kind.with(&rest.concat()));
        }
        let len: usize = rest.iter().map(|part| part.len()).sum();
        let mut whole = Vec::with_capacity(message_len(len));
        whole.extend(kind.head(0));
        for cut in &self.gathered()?.cuts {
            let mut parts = Vec::with_capacity(rest.len());
            for (&shard, rest) in shards.iter().zip(&mut rest) {
                let part;
                (part, *rest) = rest.split_at(cut.len(shard)?);
                parts.push(part);
            }
            cut.join(&parts, &mut whole)?;
        }
        let head = kind.head(whole.len() - message_len(0));
        whole[..head.len()].copy_from_slice(&head);
        Ok(whole)
    }

    fn gathered(&self) -> Result<&Gateway, Error> {
        match &self.kind {
            Kind::Gateway(gathered) => Ok(gathered),
            _ => Err(malformed("for shards, and the data is here".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::look::SecondLook;
    use sordino_index::payload::{Fetch, PageForm};

    #[test]
    fn a_second_look_fetches_a_page_for_each_candidate() {
        let form = PageForm {
            page_len: 128,
            payloads: true,
            look: Some(SecondLook {
                candidates: 32,
                width: 16,
            }),
        };
        let mut payloads = Payloads::new([1; 16], 1, form, 32);
        (payloads.records, payloads.pages) = (4000, 4000);
        payloads.fetch = Fetch::Pir {
            per_column: 1,
            seed: [2; 32],
            hint: [3; 32],
        };
        let params = payloads.pir_params().unwrap().unwrap();
        let fetched = Fetched::new(&payloads).unwrap().unwrap();
        assert_eq!(fetched.longest(), 32 * params.query_len());
        assert_eq!(fetched.reply, 32 * params.answer_len());
        let body = vec![0; fetched.longest()];
        fetched.check(Message::FetchPayloads, &body).unwrap();
        let short = &body[..10 * params.query_len()];
        fetched.check(Message::FetchPayloads, short).unwrap_err();

        payloads.fetch = Fetch::Hintless { seed: [2; 32] };
        let fetched = Fetched::new(&payloads).unwrap().unwrap();
        let body = vec![0; fetched.longest()];
        for (len, right) in [
            (fetched.query, true),
            (body.len(), true),
            (Keys::LEN, false),
        ] {
            let checked = fetched.check(Message::FetchPayloads, &body[..len]);
            assert_eq!(checked.is_ok(), right, "{len}");
        }
    }
}
