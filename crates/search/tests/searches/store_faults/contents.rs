//! Records the content of every id that ever existed.

use std::collections::HashMap;
use std::path::Path;

use sordino_search::OwnerPublicKey;
use sordino_search::{
    Digest,
    manifest::{Manifest, Mode},
};

use super::power::files;

/// Every id that segments and lists of deletions ever had, with the digest of what it stood for.
#[derive(Default)]
pub(crate) struct Contents(pub(crate) HashMap<([u8; 16], &'static str), Digest>);

impl Contents {
    pub(crate) fn check(&mut self, manifest: &Manifest) {
        let mut note = |id, part, digest: &Digest| {
            let known = *self.0.entry((id, part)).or_insert(*digest);
            assert_eq!(known, *digest, "one id, two contents: {part}");
        };
        for segment in manifest.segments() {
            note(segment.id, "rows", &segment.rows);
            note(segment.id, "ids", &segment.ids.digest);
        }
        if let Mode::Sealed(mode) = &manifest.mode {
            note(mode.base.id, "buckets", &mode.buckets);
            note(mode.base.id, "centroids", &mode.centroids);
        }
        note(
            manifest.deleted.id,
            "deleted",
            &manifest.deleted.rows.digest,
        );
        let payloads = manifest.payloads.as_ref().unwrap();
        note(payloads.id, "payloads", &payloads.content);
        note(payloads.id, "payload ids", &payloads.places.digest);
    }

    /// All manifests in a directory, also those of versions that never became the newest.
    pub(crate) fn check_all(&mut self, dir: &Path, owner: &OwnerPublicKey) {
        for (path, bytes) in files(dir) {
            if path.starts_with("manifests") && !bytes.is_empty() {
                let signed = sordino_search::manifest::SignedManifest::from_bytes(&bytes, owner);
                if let Ok(signed) = signed {
                    self.check(&signed);
                }
            }
        }
    }
}
