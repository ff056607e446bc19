//! A server whose data is with shards: it has what clients download, and joins what the shards answer.

use sordino_ckks::column::Hint;
use sordino_index::digest;
use sordino_index::history;
use sordino_index::manifest::{Holder, MAX_SIGNED_LEN, Manifest, Mode, Part};
use sordino_index::payload::Payloads;
use sordino_index::shard::{HEAD_LEN, Head, Shard};
use sordino_index::wire::{Edition, Message, message_len};
use sordino_index::{Bytes, Error, OwnerPublicKey, Pin, SignedManifest};
use sordino_pir::hintless::Keys;

use super::cut::Cut;
use super::pass::check_len;
use super::retrieval::split_keys;
use super::routed::lens;
use super::{Kind, Server, Sessions, malformed};
use crate::history::History;

/// More than the head of a piece of a hint.
const PIECE_HEAD: usize = 64;

/// Asks a shard: the shard, the request, and the most bytes that a reply may have.
pub type Ask<'a> = dyn FnMut(Shard, &[u8], usize) -> Result<Vec<u8>, Error> + 'a;

/// A version whose data is with shards.
#[derive(Debug)]
pub(super) struct Gathered {
    of: u16,
    cuts: Vec<Cut>,
    query_len: usize,
    payloads: Option<Fetched>,
}

/// The lengths of what is sent where payloads are fetched.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    query: usize,
    /// True if the keys of a session may stand before the query.
    keys: bool,
    reply: usize,
}

/// A request that shards are to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    kind: Message,
    of: u16,
}

impl Asked {
    /// True if payloads are fetched, for which a client may have to send keys.
    #[must_use]
    pub fn is_fetch(self) -> bool {
        self.kind == Message::FetchPayloads
    }

    /// The shards that it goes to: always the same for a kind of request.
    pub fn shards(self) -> impl Iterator<Item = Shard> {
        Shard::all(self.of).take(if self.is_fetch() { 1 } else { self.of.into() })
    }
}

impl Gathered {
    fn new(manifest: &Manifest, of: u16) -> Result<Self, Error> {
        let cuts = Cut::all(manifest, of)?;
        let query_len = match &manifest.mode {
            Mode::Routed(mode) => lens(manifest, mode)?.iter().sum(),
            _ => cuts.iter().map(Cut::query_len).sum::<Result<_, _>>()?,
        };
        let fetched = |payloads| Fetched::new(payloads, manifest.k as usize);
        let payloads = manifest.payloads.as_ref().map(fetched).transpose()?;
        Ok(Self {
            of,
            cuts,
            query_len,
            payloads: payloads.flatten(),
        })
    }

    pub(super) fn longest_query(&self) -> usize {
        self.query_len
            .max(self.payloads.map_or(0, Fetched::longest))
    }

    /// Refuses a shard of another cut.
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
    /// The lengths of what a search of `k` results fetches, if that is not downloaded.
    fn new(payloads: &Payloads, k: usize) -> Result<Option<Self>, Error> {
        if let Some(params) = payloads.pir_params()? {
            let slots = payloads.form.fetched(k);
            return Ok(Some(Self {
                query: slots * params.query_len(),
                keys: false,
                reply: slots * params.answer_len(),
            }));
        }
        let hintless = payloads.hintless_params(k)?;
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
            true => split_keys(kind, body, self.query).map(drop),
            false => check_len(kind, body, self.query),
        }
    }
}

/// Refuses an index in a mode that is not cut.
pub(super) fn check_mode(manifest: &Manifest) -> Result<(), Error> {
    Cut::all(manifest, 1).map(drop)
}

impl Server {
    /// Serves the version that all of `of` shards have: what clients download is fetched from them, checked
    /// against the owner's signature, and kept; queries are answered by them, and [joined](Self::join). None if it is that
    /// of `before`, of whose downloads those that are the same are kept. `ask` asks one shard.
    ///
    /// # Errors
    /// [`Error::Position`] if a shard is another than the one asked; [`Error::OtherIndex`] and [`Error::Stale`] if they
    /// are not all of one index and version, or of another index than `before`; [`Error::Rollback`] if their version is
    /// older, and [`Error::Fork`] if it has another content; [`Error::Mode`] for a mode that is not cut; [`Error::Digest`] and others if a shard gives out something
    /// that the owner did not sign; those of `ask`.
    pub fn gather(
        of: u16,
        owner: &OwnerPublicKey,
        before: Option<&Self>,
        ask: &mut Ask<'_>,
    ) -> Result<Option<Self>, Error> {
        let head = common(of, ask)?;
        if before.is_some_and(|before| before.edition == head.edition) {
            return Ok(None);
        }
        let limit = message_len(MAX_SIGNED_LEN);
        let reply = ask(head.shard, &Message::GetManifest.with(&[]), limit)?;
        let manifest = SignedManifest::from_bytes(Message::Manifest.expect(&reply, None)?, owner)?;
        Head::new(&manifest, head.shard).check(head)?;
        if let Some(before) = before {
            Pin::of(&before.manifest).check(&manifest)?;
        }
        let gathered = Gathered::new(&manifest, of)?;
        let history = match before.and_then(|before| before.history_of(&manifest)) {
            Some(history) => history,
            None => longest_history(&manifest, owner, of, ask)?,
        };
        let mut given = Vec::new();
        let parts = manifest.parts()?;
        let parts = parts.iter().filter(|part| part.holder.is_given());
        for (number, part) in (0..).zip(parts) {
            let held = before.and_then(|before| before.given.iter().find(|g| g.0 == part.digest));
            let bytes = match held {
                Some((_, bytes)) => bytes.clone(),
                None => Bytes::from(download(&manifest, (number, part), of, ask)?),
            };
            given.push((part.digest, bytes));
        }
        Ok(Some(Self {
            edition: manifest.edition(),
            history,
            manifest,
            given,
            kind: Kind::Gathered(Box::new(gathered)),
            shard: None,
            payloads: None,
            sessions: Sessions::default(),
        }))
    }

    /// The shards that a request is for, if it is one that they answer.
    ///
    /// # Errors
    /// Those of [`handle`](Self::handle); [`Error::Malformed`] if this server [gathers](Self::gather) nothing.
    pub fn ask(&self, request: &[u8]) -> Result<Asked, Error> {
        let gathered = self.gathered()?;
        let (kind, body) = Message::read(request)?;
        match (kind, gathered.payloads) {
            (Message::Score, _) => check_len(kind, self.edition.strip(body)?, gathered.query_len)?,
            (Message::FetchPayloads, Some(fetched)) => {
                fetched.check(kind, self.edition.strip(body)?)?;
            }
            _ => {
                let refused = self.handle(request).err();
                return Err(refused.unwrap_or_else(|| malformed(format!("{kind:?} is no query"))));
            }
        }
        let of = gathered.of;
        Ok(Asked { kind, of })
    }

    /// The most bytes of a shard's reply.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a shard of another cut; if the index's parameters have no such length.
    pub fn longest_part(&self, asked: Asked, shard: Shard) -> Result<usize, Error> {
        let gathered = self.gathered()?;
        gathered.check_shard(shard)?;
        let len = match (asked.kind, gathered.payloads) {
            (Message::FetchPayloads, Some(fetched)) => fetched.reply,
            _ => {
                let lens = gathered.cuts.iter().map(|cut| cut.len(shard));
                lens.sum::<Result<_, _>>()?
            }
        };
        Ok(message_len(HEAD_LEN + len))
    }

    /// Refuses a reply that is not the shard's part in this version.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::OtherIndex`], [`Error::Stale`], [`Error::Position`], [`Error::Ckks`].
    pub fn check_part(&self, asked: Asked, shard: Shard, reply: &[u8]) -> Result<(), Error> {
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

    /// The reply to a request from those of all the shards that it is for, in their order: byte for byte that of
    /// a server with all of the data.
    ///
    /// # Errors
    /// Those of [`check_part`](Self::check_part), and if there are not as many replies.
    pub fn join(&self, asked: Asked, replies: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
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
        if asked.kind != Message::Score {
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

    fn gathered(&self) -> Result<&Gathered, Error> {
        match &self.kind {
            Kind::Gathered(gathered) => Ok(gathered),
            _ => Err(malformed("for shards, and the data is here".to_owned())),
        }
    }
}

/// The head of the first shard, if all have the same index and version, and are in their places.
fn common(of: u16, ask: &mut Ask<'_>) -> Result<Head, Error> {
    let mut first: Option<Head> = None;
    for shard in Shard::all(of) {
        let reply = ask(shard, &Message::GetShard.with(&[]), message_len(HEAD_LEN))?;
        let (head, _) = Head::read(Message::Partial.expect(&reply, Some(HEAD_LEN))?)?;
        let expected = first.unwrap_or(head);
        head.check(Head { shard, ..expected })?;
        first = Some(expected);
    }
    first.ok_or_else(|| malformed("no shards".to_owned()))
}

/// The manifests before one, from the shard that shows most of them: one that shows fewer than it has does not make clients
/// that were away believe that nothing leads to the newest.
fn longest_history(
    manifest: &SignedManifest,
    owner: &OwnerPublicKey,
    of: u16,
    ask: &mut Ask<'_>,
) -> Result<History, Error> {
    let first = Edition::new(0, &[0; 32]).to_bytes();
    let request = Message::GetHistory.about(manifest.edition(), &first);
    let mut longest = History::default();
    for shard in Shard::all(of) {
        if longest.is_whole(manifest) {
            break;
        }
        let reply = ask(shard, &request, message_len(history::MAX_LEN))?;
        let history = History::read(Message::History.expect(&reply, None)?, manifest, owner)?;
        if history.len() > longest.len() {
            longest = history;
        }
    }
    Ok(longest)
}

/// A part that clients download, by its number: from the shard that gives it out, or, of a hint, joined from
/// those that computed it.
fn download(
    manifest: &SignedManifest,
    (number, part): (u16, &Part),
    of: u16,
    ask: &mut Ask<'_>,
) -> Result<Vec<u8>, Error> {
    let request = Message::GetParts.about(manifest.edition(), &number.to_le_bytes());
    // All pieces together are no longer than the part and a head for each.
    let len = usize::try_from(part.len).unwrap_or(usize::MAX);
    let mut room = len.saturating_add(usize::from(of) * PIECE_HEAD);
    let mut piece = |shard: Shard| -> Result<Vec<u8>, Error> {
        let limit = message_len(HEAD_LEN).saturating_add(room);
        let reply = ask(shard, &request, limit)?;
        let body = Message::Partial.expect(&reply, None)?;
        let piece = Head::new(manifest, shard).strip(body)?.to_vec();
        room = room.saturating_sub(piece.len());
        Ok(piece)
    };
    let whole = match (part.holder, &manifest.mode, part.segment) {
        (Holder::Clients, Mode::Routed(_), Some(0)) => {
            // The hints of groups, one after the other.
            let mut whole = Vec::new();
            for shard in Shard::all(of) {
                whole.extend(piece(shard)?);
            }
            whole
        }
        (Holder::Clients, ..) => {
            let mut pieces = Vec::new();
            for shard in Shard::all(of) {
                pieces.push(Hint::from_bytes(&piece(shard)?)?);
            }
            // Small segments have fewer blocks than there are shards.
            pieces.retain(|piece| !piece.is_empty());
            Hint::join(&pieces)?.to_bytes()
        }
        _ => {
            let shard = Shard::all(of).find(|shard| shard.gives(&part.digest));
            piece(shard.unwrap_or(Shard::WHOLE))?
        }
    };
    digest::check(part.kind.name(), &whole, &part.digest)?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::look::SecondLook;
    use sordino_index::payload::{Class, Fetch, SlotForm};

    #[test]
    fn a_second_look_fetches_a_slot_for_each_candidate() {
        let form = SlotForm {
            class: Class::of(100).ok(),
            look: Some(SecondLook {
                candidates: 32,
                width: 16,
            }),
        };
        let mut payloads = Payloads::new([1; 16], 1, 4000, form);
        payloads.fetch = Fetch::Pir {
            per_column: 1,
            seed: [2; 32],
            hint: [3; 32],
        };
        let params = payloads.pir_params().unwrap().unwrap();
        let fetched = Fetched::new(&payloads, 10).unwrap().unwrap();
        assert_eq!(fetched.longest(), 32 * params.query_len());
        assert_eq!(fetched.reply, 32 * params.answer_len());
        let body = vec![0; fetched.longest()];
        fetched.check(Message::FetchPayloads, &body).unwrap();
        let short = &body[..10 * params.query_len()];
        fetched.check(Message::FetchPayloads, short).unwrap_err();

        payloads.fetch = Fetch::Hintless { seed: [2; 32] };
        let fetched = Fetched::new(&payloads, 10).unwrap().unwrap();
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
