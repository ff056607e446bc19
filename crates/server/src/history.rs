//! The manifests before the served one, except those that a newer one includes.

use sordino_index::digest::Digest;
use sordino_index::history::{KEPT, LEN_LEN, MAX_LEN};
use sordino_index::wire::Edition;
use sordino_index::{Bytes, Error, OwnerPublicKey, SignedManifest};

/// The manifests that a server keeps, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Vec<Entry>);

#[derive(Clone, Debug)]
struct Entry {
    edition: Edition,
    /// The digest of the newest earlier version that it does not include.
    previous: Digest,
    /// The manifest, after its length.
    bytes: Bytes,
}

impl History {
    /// The manifests among these, newest first, that no newer manifest includes.
    pub(crate) fn new(newest: &SignedManifest, manifests: &[SignedManifest]) -> Self {
        let (mut entries, mut previous) = (Vec::new(), newest.before_shown());
        for manifest in manifests {
            if manifest.digest() == previous && entries.len() < KEPT {
                previous = manifest.before_shown();
                entries.push(Entry::new(manifest));
            }
        }
        Self(entries)
    }

    /// Reads the reply that [`since`](Self::since) gives, about the versions before `newest`. Each manifest must be the
    /// owner's, and the manifest after it must name it.
    pub(crate) fn read(
        mut bytes: &[u8],
        newest: &SignedManifest,
        owner: &OwnerPublicKey,
    ) -> Result<Self, Error> {
        let (mut entries, mut previous) = (Vec::new(), newest.before_shown());
        while !bytes.is_empty() && entries.len() < KEPT {
            let split = bytes.split_first_chunk::<LEN_LEN>();
            let split = split.and_then(|(len, rest)| {
                rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)
            });
            let (manifest, rest) = split.ok_or_else(|| Error::Malformed {
                what: "message",
                why: "truncated in a manifest".to_owned(),
            })?;
            let manifest = SignedManifest::from_bytes(manifest, owner)?;
            if manifest.digest() != previous {
                return Err(Error::Digest { what: "manifests" });
            }
            (previous, bytes) = (manifest.before_shown(), rest);
            entries.push(Entry::new(&manifest));
        }
        Ok(Self(entries))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// True if these are all that a server keeps of the versions before this one.
    pub(crate) fn is_whole(&self, newest: &SignedManifest) -> bool {
        let first = self
            .0
            .last()
            .map_or(newest.before_shown(), |oldest| oldest.previous);
        self.len() == KEPT || first == [0; 32]
    }

    /// The history of `next`, the version after `newest`. This is the history of `newest`.
    pub(crate) fn after(&self, newest: &SignedManifest, next: &SignedManifest) -> Self {
        let shown = next.before_shown() != newest.digest();
        let own = (!shown).then(|| Entry::new(newest));
        let entries = own.into_iter().chain(self.0.iter().cloned());
        Self(entries.take(KEPT).collect())
    }

    /// The body of the reply to a client that knows this edition.
    pub(crate) fn since(&self, known: Edition) -> Vec<Bytes> {
        let (mut pieces, mut len) = (Vec::new(), 0);
        for Entry { edition, bytes, .. } in &self.0 {
            len += bytes.len();
            if *edition == known || len > MAX_LEN {
                break;
            }
            pieces.push(bytes.clone());
            if edition.version <= known.version {
                break;
            }
        }
        pieces
    }
}

impl Entry {
    fn new(manifest: &SignedManifest) -> Self {
        let bytes = manifest.to_bytes();
        Self {
            edition: manifest.edition(),
            previous: manifest.before_shown(),
            bytes: [&len(bytes).to_le_bytes()[..], bytes].concat().into(),
        }
    }
}

/// The length of a manifest. It fits into the type, because the length of manifests is bounded.
fn len(manifest: &[u8]) -> u32 {
    u32::try_from(manifest.len()).expect("a manifest of bounded length")
}
