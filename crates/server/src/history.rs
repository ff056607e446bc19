//! The manifests before the one that is served.

use sordino_index::history::KEPT;
use sordino_index::wire::Edition;
use sordino_index::{Bytes, SignedManifest};

/// The manifests that a server keeps, newest first.
#[derive(Debug, Default)]
pub(crate) struct History(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    edition: Edition,
    /// With its length before it.
    bytes: Bytes,
}

impl History {
    pub(crate) fn new(manifests: &[SignedManifest]) -> Self {
        let entry = |manifest: &SignedManifest| {
            let bytes = manifest.to_bytes();
            Entry {
                edition: manifest.edition(),
                bytes: [&len(bytes).to_le_bytes()[..], bytes].concat().into(),
            }
        };
        Self(manifests.iter().take(KEPT).map(entry).collect())
    }

    /// The body of the reply to a client that knows this edition.
    pub(crate) fn since(&self, known: Edition) -> Vec<Bytes> {
        let mut pieces = Vec::new();
        for Entry { edition, bytes } in &self.0 {
            if *edition == known {
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

/// The length of a manifest, which is less than 2^16 bytes long.
fn len(manifest: &[u8]) -> u32 {
    u32::try_from(manifest.len()).expect("a manifest of bounded length")
}
