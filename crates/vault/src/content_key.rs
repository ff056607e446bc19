//! The key of contents. The keys of a segment's contents are derived from it and from the segment's id.

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::checks::exact::Weights;
use crate::checks::held::Signs;
use crate::checks::{Checks, ClusterChecks};
use crate::order::RowOrder;
use crate::pad::Pad;
use crate::purpose::Purpose;
use crate::seal::Seal;
use sordino_index::manifest::TAG_OF_LABEL_LEN;

/// The size in bytes of a content key.
pub(crate) const CONTENT_KEY_LEN: usize = 32;

/// A key of contents. Its holder can read everything that was written under it.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ContentKey([u8; CONTENT_KEY_LEN]);

impl ContentKey {
    /// The key of these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; CONTENT_KEY_LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be stored or wrapped.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; CONTENT_KEY_LEN] {
        &self.0
    }

    /// The cipher for one kind of content in one segment.
    #[must_use]
    pub fn seal(&self, purpose: Purpose, segment: &[u8; 16], version: u64) -> Seal {
        let mut key = self.subkey(purpose, segment);
        let seal = Seal::new(&key, purpose, *segment, version);
        key.zeroize();
        seal
    }

    /// The order in which a masked segment of `n` vectors stores them.
    #[must_use]
    pub fn row_order(&self, segment: &[u8; 16], n: u32) -> RowOrder {
        let key = Zeroizing::new(self.subkey(Purpose::RowOrder, segment));
        RowOrder::new(&key, n)
    }

    /// The order in which `n` payloads are stored.
    #[must_use]
    pub fn slot_order(&self, id: &[u8; 16], n: u32) -> RowOrder {
        let key = Zeroizing::new(self.subkey(Purpose::SlotOrder, id));
        RowOrder::new(&key, n)
    }

    /// The seed of the codes that clients make of a segment's vectors.
    #[must_use]
    pub fn sketch_seed(&self, segment: &[u8; 16]) -> sordino_lsh::Seed {
        sordino_lsh::Seed(self.subkey(Purpose::Sketch, segment))
    }

    /// The pads of a segment's rows.
    #[must_use]
    pub fn pad(&self, segment: &[u8; 16], version: u64) -> Pad {
        Pad::new(Zeroizing::new(self.subkey(Purpose::Pad, segment)), version)
    }

    /// The check rows of a masked segment, for rows of `width` coordinates.
    #[must_use]
    pub fn checks(&self, segment: &[u8; 16], width: usize) -> Checks {
        Checks::new(Zeroizing::new(self.subkey(Purpose::Checks, segment)), width)
    }

    /// The check rows of the clusters of routed mode.
    #[must_use]
    pub fn cluster_checks(&self, base: &[u8; 16]) -> ClusterChecks {
        ClusterChecks::new(Zeroizing::new(self.subkey(Purpose::Checks, base)))
    }

    /// The signs of an open segment's sums, which readers hold.
    #[must_use]
    pub fn signs(&self, segment: &[u8; 16]) -> Signs {
        Signs::new(Zeroizing::new(self.subkey(Purpose::Checks, segment)))
    }

    /// The weights of a segment's rows in exact checks.
    #[must_use]
    pub fn weights(&self, segment: &[u8; 16]) -> Weights {
        Weights::new(Zeroizing::new(self.subkey(Purpose::Weights, segment)))
    }

    /// The tag of a label, made with its newest key. A reader who has the key and knows the label's name recognises it
    /// by the tag.
    #[must_use]
    pub fn label_tag(&self, label: &str) -> [u8; TAG_OF_LABEL_LEN] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        // No derivation for a segment begins with these bytes: an id of 16 bytes and a purpose are shorter.
        hasher
            .update(b"the name of a label that writers are told")
            .update(label.as_bytes());
        let mut tag = [0; TAG_OF_LABEL_LEN];
        tag.copy_from_slice(&hasher.finalize().as_bytes()[..TAG_OF_LABEL_LEN]);
        hasher.zeroize();
        tag
    }

    /// A key for one purpose in one segment. No two contents share one, because an id belongs to one content.
    fn subkey(&self, purpose: Purpose, segment: &[u8; 16]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(segment).update(purpose.label().as_bytes());
        let key = *hasher.finalize().as_bytes();
        hasher.zeroize();
        key
    }
}

impl fmt::Debug for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentKey").finish_non_exhaustive()
    }
}

/// The root of the content keys of indexes with readers of their own. Only the owner has it.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ContentRoot([u8; 32]);

impl ContentRoot {
    pub(crate) fn new(root: [u8; 32]) -> Self {
        Self(root)
    }

    /// The content key of this salt. No other key of this owner has the same salt.
    #[must_use]
    pub fn key(&self, salt: &[u8; 16]) -> ContentKey {
        self.derive(b"content", salt)
    }

    /// The key of the owner's own list of the readers in the ring of this id.
    #[must_use]
    pub fn directory(&self, ring: &[u8; 16]) -> ContentKey {
        self.derive(b"readers", ring)
    }

    fn derive(&self, purpose: &[u8; 7], id: &[u8; 16]) -> ContentKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(purpose).update(id);
        let key = ContentKey::from_bytes(*hasher.finalize().as_bytes());
        hasher.zeroize();
        key
    }
}

impl fmt::Debug for ContentRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentRoot").finish_non_exhaustive()
    }
}
