//! The parts that a client downloads once: those that it lacks, in the manifest's order.

use std::collections::HashMap;

use sordino_index::Error;
use sordino_index::digest::{self, Digest};
use sordino_index::manifest::{Manifest, Mode, Part, PartKind, Segment, SignedManifest};
use sordino_index::wire::{Message, message_len};
use sordino_vault::ReaderKeys;
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::Frame;

use crate::cache::Cache;
use crate::transport::AsyncTransport;

/// The largest number of bytes of parts in one reply, unless a single part is longer.
const REPLY: u64 = 8 << 20;

/// Downloaded parts, checked against the manifest.
pub(crate) struct Download {
    /// Each part, with the number of times that the manifest names it. In open mode, segments of equal vectors have equal hints.
    parts: HashMap<Digest, (Vec<u8>, usize)>,
    /// The size in bytes of the replies.
    pub(crate) bytes: usize,
}

/// Fetches parts by their numbers among those that clients download, in replies of some MiB. It checks each part before it passes
/// it to `take`. Returns the bytes of the replies.
pub(crate) async fn fetch(
    transport: &mut impl AsyncTransport,
    manifest: &SignedManifest,
    wanted: &[(u16, &Part)],
    mut take: impl FnMut(&Part, &[u8]) -> Result<(), Error>,
) -> Result<usize, Error> {
    let (mut rest, mut received) = (wanted, 0);
    while !rest.is_empty() {
        let mut len = 0u64;
        let mut fits = |part: &Part| {
            len = len.saturating_add(part.len);
            len <= REPLY
        };
        let count = rest.iter().take_while(|(_, part)| fits(part)).count();
        let count = count.max(1);
        let batch;
        (batch, rest) = rest.split_at(count);
        received += fetch_batch(transport, manifest, batch, &mut take).await?;
    }
    Ok(received)
}

/// Fetches parts in one reply.
async fn fetch_batch(
    transport: &mut impl AsyncTransport,
    manifest: &SignedManifest,
    batch: &[(u16, &Part)],
    take: &mut impl FnMut(&Part, &[u8]) -> Result<(), Error>,
) -> Result<usize, Error> {
    let numbers: Vec<u8> = batch.iter().flat_map(|(n, _)| n.to_le_bytes()).collect();
    let len = batch.iter().map(|(_, part)| part.len).sum::<u64>();
    let too_long = |_| Error::Malformed {
        what: "manifest",
        why: format!("parts of {len} bytes"),
    };
    let len = usize::try_from(len).map_err(too_long)?;
    let request = Message::GetParts.about(manifest.edition(), &numbers);
    let reply = transport.exchange(&request, message_len(len)).await?;
    let mut rest = Message::Parts.expect(&reply, Some(len))?;
    for (_, part) in batch {
        let len = usize::try_from(part.len).unwrap_or(usize::MAX);
        let Some((bytes, after)) = rest.split_at_checked(len) else {
            return Err(Error::Malformed {
                what: part.kind.name(),
                why: "truncated".to_owned(),
            });
        };
        digest::check(part.kind.name(), bytes, &part.digest)?;
        take(part, bytes)?;
        transport.keep(&part.digest, bytes).await;
        rest = after;
    }
    Ok(reply.len())
}

impl Download {
    /// Fetches all parts except those in `kept` and in the cache. The requests, and how parts share replies, depend only on these
    /// and on the manifest.
    pub(crate) async fn new(
        transport: &mut impl AsyncTransport,
        manifest: &SignedManifest,
        kept: Kept,
        cache: Option<&Cache>,
    ) -> Result<Self, Error> {
        let mut given = manifest.parts()?;
        given.retain(|part| part.holder.is_given());
        let wanted = (0u16..)
            .zip(&given)
            .filter(|(_, part)| !kept.has(manifest, part));
        let mut download = Self {
            parts: HashMap::new(),
            bytes: 0,
        };
        let mut absent: Vec<(u16, &Part)> = Vec::new();
        for (number, part) in wanted {
            match cache.and_then(|cache| cache.get(part)) {
                Some(bytes) => download.add(part.digest, bytes),
                None => match kept_by(transport, part).await {
                    Some(bytes) => download.add(part.digest, bytes),
                    None => absent.push((number, part)),
                },
            }
        }
        let taken = |part: &Part, bytes: &[u8]| {
            if let Some(cache) = cache {
                cache.put(&part.digest, bytes);
            }
            download.add(part.digest, bytes.to_vec());
            Ok(())
        };
        let received = fetch(transport, manifest, &absent, taken).await?;
        download.bytes = received;
        Ok(download)
    }

    fn add(&mut self, digest: Digest, bytes: Vec<u8>) {
        self.parts.entry(digest).or_insert((bytes, 0)).1 += 1;
    }

    /// A download of parts that were not requested from a server.
    #[cfg(test)]
    pub(crate) fn of(parts: impl Iterator<Item = (Digest, Vec<u8>)>) -> Self {
        let mut download = Self {
            parts: HashMap::new(),
            bytes: 0,
        };
        parts.for_each(|(digest, bytes)| download.add(digest, bytes));
        download
    }

    /// The content keys of a version that the reader's keys open.
    ///
    /// # Errors
    /// [`Error::NoReader`] if the reader's keys open none of them.
    pub(crate) fn contents(
        &mut self,
        manifest: &Manifest,
        keys: &ReaderKeys,
    ) -> Result<ContentKeys, Error> {
        let ring = manifest.readers.as_ref();
        let ring = ring.map(|readers| self.take(&readers.ring.digest));
        keys.contents(manifest, ring.transpose()?.as_deref())
    }

    /// The frame of a version's vectors.
    pub(crate) fn frame(
        &mut self,
        manifest: &Manifest,
        contents: &ContentKeys,
    ) -> Result<Frame, Error> {
        let sealed = self.take(&manifest.frame.part.digest)?;
        contents.open_frame(manifest, &sealed)
    }

    /// True if the part with this digest was downloaded, and not taken as often as the manifest names it.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.parts.contains_key(digest)
    }

    /// Takes the part with this digest. A part can be taken once for each time that the manifest names it.
    pub(crate) fn take(&mut self, digest: &Digest) -> Result<Vec<u8>, Error> {
        let missing = Error::Digest { what: "parts" };
        let (bytes, left) = self.parts.get_mut(digest).ok_or(missing)?;
        *left -= 1;
        if *left > 0 {
            return Ok(bytes.clone());
        }
        let bytes = std::mem::take(bytes);
        self.parts.remove(digest);
        Ok(bytes)
    }
}

/// A part that the transport has kept, if it is undamaged.
async fn kept_by(transport: &mut impl AsyncTransport, part: &Part) -> Option<Vec<u8>> {
    let kept = transport.kept(&part.digest, part.len).await?;
    let whole = kept.len() as u64 == part.len
        && digest::check(part.kind.name(), &kept, &part.digest).is_ok();
    whole.then_some(kept)
}

/// The parts that a client with another version of the index already has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The number of segments that it has, from the first on.
    pub(crate) segments: usize,
    /// True if the sealed ids and attributes of these segments need not be fetched again. A reader who lacked a key may have it
    /// now, and all clients request the same parts.
    pub(crate) records: bool,
    /// True if it has the payloads, or the hint for fetching them.
    pub(crate) payloads: bool,
    /// The number of parts of payloads from changes that it has, from the oldest on.
    pub(crate) recent: usize,
    /// True if it has the frame of the vectors.
    pub(crate) frame: bool,
    /// True if it has the combinations that check scores exactly.
    pub(crate) combined: bool,
}

impl Kept {
    /// The parts that two versions share. They depend only on the versions, so they are the same for all clients.
    pub(crate) fn between(old: &Manifest, new: &Manifest) -> Self {
        let records = old.readers == new.readers;
        let segments = match (&new.mode, records) {
            // In local mode vectors are sealed, too.
            (Mode::Local(_), false) => 0,
            _ => shared(old, new),
        };
        // Compares the digests of the payloads' parts, the values from which their keys are derived, and how many are
        // fetched in one request.
        let payloads =
            records && old.payloads.is_some() && (&old.payloads, old.k) == (&new.payloads, new.k);
        let both = old.recent.iter().zip(&new.recent);
        let recent = match payloads {
            true => both.take_while(|(old, new)| old == new).count(),
            false => 0,
        };
        Self {
            segments,
            records,
            payloads,
            recent,
            frame: records && old.frame == new.frame,
            combined: segments > 0 && old.combined() == new.combined(),
        }
    }

    fn has(self, manifest: &Manifest, part: &Part) -> bool {
        let main = manifest.payloads.iter().filter(|_| self.payloads);
        let recent = manifest.recent.iter().take(self.recent);
        let mut payloads = main.chain(recent);
        match part.segment {
            Some(at) if self.records => at < self.segments,
            Some(at) => {
                let sealed = [
                    PartKind::Ids,
                    PartKind::Attributes,
                    PartKind::Scales,
                    PartKind::Sums,
                ];
                at < self.segments && !sealed.contains(&part.kind)
            }
            None if part.kind == PartKind::Ring => self.records,
            None if part.kind == PartKind::Frame => self.frame,
            None if part.kind == PartKind::Combination => self.combined,
            None => payloads.any(|payloads| payloads.has(&part.digest)),
        }
    }
}

/// The number of segments, from the first on, that two versions of an index share.
fn shared(old: &Manifest, new: &Manifest) -> usize {
    let shape = |m: &Manifest| (m.dim, m.metric, m.rotation);
    let alike = match (&old.mode, &new.mode) {
        (Mode::Sealed(old), Mode::Sealed(new)) => {
            let mut old = old.clone();
            old.tail.clone_from(&new.tail);
            old == *new
        }
        (Mode::Local(old), Mode::Local(new)) => (old.codec, old.sketch) == (new.codec, new.sketch),
        (Mode::Open(old), Mode::Open(new)) | (Mode::Masked(old), Mode::Masked(new)) => {
            (old.packing, old.checking, old.seed) == (new.packing, new.checking, new.seed)
        }
        (Mode::Routed(old), Mode::Routed(new)) => {
            let mut old = old.clone();
            old.tail.segments.clone_from(&new.tail.segments);
            old == *new
        }
        _ => false,
    };
    if !alike || shape(old) != shape(new) {
        return 0;
    }
    let (old, new): (Vec<&Segment>, Vec<&Segment>) = (old.segments(), new.segments());
    old.iter().zip(new).take_while(|(a, b)| **a == *b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_vault::OwnerKeys;
    use sordino_vectors::synthetic;

    use crate::transport::{Transport, at_once};

    /// A server that gives the same reply to every request.
    struct Replies(Vec<u8>);

    impl Transport for Replies {
        fn call(&mut self, _: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
            assert!(self.0.len() <= limit + 1);
            Ok(self.0.clone())
        }
    }

    #[test]
    fn a_part_that_is_not_the_manifests_is_refused_by_name() {
        let (keys, rng) = (
            OwnerKeys::from_master([5; 32]),
            &mut StdRng::seed_from_u64(1),
        );
        let base = synthetic::uniform(20, 16, 1);
        let index = sordino_owner::build::local(rng, &keys, &base, 3, &mut |_| ()).unwrap();
        let (manifest, parts) = index.into_parts();
        let body: Vec<u8> = parts.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
        let download = |reply: Vec<u8>| {
            let mut replies = Replies(reply);
            let download = Download::new(&mut replies, &manifest, Kept::default(), None);
            at_once(download).map(|download| download.bytes)
        };
        let whole = Message::Parts.with(&body);
        assert_eq!(download(whole.clone()).unwrap(), whole.len());
        let mut start = message_len(0);
        for (part, bytes) in &parts {
            for at in [start, start + bytes.len() - 1] {
                let mut changed = whole.clone();
                changed[at] ^= 1;
                let refused = download(changed);
                let named =
                    matches!(refused, Err(Error::Digest { what }) if what == part.kind.name());
                assert!(named, "{refused:?}");
            }
            start += bytes.len();
        }
        // A body is refused if it does not have the length of the requested parts.
        for body in [&body[..body.len() - 1], &[&body[..], &[0]].concat()] {
            let refused = download(Message::Parts.with(body));
            assert!(
                matches!(
                    refused,
                    Err(Error::Malformed {
                        what: "message",
                        ..
                    })
                ),
                "{refused:?}"
            );
        }
    }
}
