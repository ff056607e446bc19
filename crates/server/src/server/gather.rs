//! Opens a version whose data is on shards. It takes what clients download from them, and checks it.

use sordino_ckks::column::Hint;
use sordino_index::digest;
use sordino_index::history;
use sordino_index::manifest::{Holder, MAX_SIGNED_LEN, Mode, Part};
use sordino_index::shard::{HEAD_LEN, Head, Shard};
use sordino_index::wire::{Edition, Message, message_len};
use sordino_index::{Bytes, Error, OwnerPublicKey, SignedManifest};

use super::gateway::Gateway;
use super::{Kind, Server, Sessions, malformed};
use crate::history::History;

/// A number of bytes that is larger than the head of a piece of a hint.
const PIECE_HEAD: usize = 64;

/// A function that asks a shard: the shard, the request, and the most bytes of the reply.
pub type Ask<'a> = dyn FnMut(Shard, &[u8], usize) -> Result<Vec<u8>, Error> + 'a;

impl Server {
    /// Serves the version that all of `of` shards have. It fetches the parts that clients download from the shards,
    /// checks them against the owner's signature, and keeps them. The shards answer queries, and their answers are
    /// [joined](Self::join). `None` if `before` serves this version already. Otherwise parts that are the same in
    /// `before` are reused. This function does not refuse a version that is older or belongs to another index: the
    /// operator chooses the version, and clients refuse a wrong one. `ask` asks one shard.
    ///
    /// # Errors
    /// [`Error::Position`] if a server holds a different shard. [`Error::OtherIndex`] and [`Error::Stale`] if the
    /// shards do not all have one index and version. [`Error::Mode`] for a mode that cannot be cut. [`Error::Digest`]
    /// and others if a shard sends something that the owner did not sign. The errors of `ask`.
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
        // The head shows that the sender is not a client: a shard sends nothing to clients.
        let request = Message::GetManifest.with(&head.to_bytes());
        let reply = ask(head.shard, &request, limit)?;
        let manifest = SignedManifest::from_bytes(Message::Manifest.expect(&reply, None)?, owner)?;
        Head::new(&manifest, head.shard).check(head)?;
        let gathered = Gateway::new(&manifest, of)?;
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
                None => Bytes::from(download(&manifest, number, part, of, ask)?),
            };
            given.push((part.digest, bytes));
        }
        Ok(Some(Self {
            edition: manifest.edition(),
            history,
            manifest,
            given,
            kind: Kind::Gateway(Box::new(gathered)),
            shard: None,
            encodings: None,
            payloads: None,
            sessions: Sessions::default(),
        }))
    }
}

/// The head of the first shard, if all shards have the same index and version, and are in the right order.
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

/// The manifests before `manifest`, from the shard that shows the most of them. So a shard that hides manifests cannot
/// make clients believe that no chain leads to the newest version.
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

/// A part that clients download, by its number. It comes from the shard that serves it. A hint is joined from the
/// pieces of the shards that computed it.
fn download(
    manifest: &SignedManifest,
    number: u16,
    part: &Part,
    of: u16,
    ask: &mut Ask<'_>,
) -> Result<Vec<u8>, Error> {
    let request = Message::GetParts.about(manifest.edition(), &number.to_le_bytes());
    // All pieces together are no longer than the part plus a head for each.
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
            // The hints of groups are joined one after the other.
            let mut whole = Vec::new();
            for shard in Shard::all(of) {
                whole.extend(piece(shard)?);
            }
            whole
        }
        (Holder::Clients, ..) => {
            let mut pieces = Vec::new();
            for shard in Shard::all(of) {
                pieces.push(Hint::from_vec(piece(shard)?)?);
            }
            // Small segments have fewer blocks than there are shards, so some pieces are empty.
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
