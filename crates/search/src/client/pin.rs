//! What a client remembers of an index, so that nobody takes it back or to another one.

use crate::Error;
use crate::history::{self, walk};
use crate::keys::ReaderKeys;
use crate::manifest::{Digest, Manifest, SignedManifest};
use crate::transport::Transport;
use crate::wire::{Edition, Message, message_len};

/// The newest version of an index that a client has seen: to be stored where the client's next run finds
/// it. It is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The index's id.
    pub index: [u8; 16],
    /// The version's number.
    pub version: u64,
    /// The digest of its signed manifest.
    pub manifest: Digest,
}

impl Pin {
    /// The pin of this version.
    #[must_use]
    pub fn of(manifest: &SignedManifest) -> Self {
        Self {
            index: manifest.index,
            version: manifest.version,
            manifest: manifest.digest(),
        }
    }

    fn edition(&self) -> Edition {
        Edition::new(self.version, &self.manifest)
    }

    /// Refuses another index, an older version, and another content of the same version. Whether a newer
    /// version follows from this one is not looked at.
    ///
    /// # Errors
    /// [`Error::OtherIndex`], [`Error::Rollback`], [`Error::Fork`].
    pub(super) fn check(&self, manifest: &SignedManifest) -> Result<(), Error> {
        let Manifest { index, version, .. } = **manifest;
        if index != self.index {
            return Err(Error::OtherIndex {
                found: index,
                pinned: self.index,
            });
        }
        if version < self.version {
            return Err(Error::Rollback {
                found: version,
                pinned: self.version,
            });
        }
        if version == self.version && manifest.digest() != self.manifest {
            return Err(Error::Fork { version });
        }
        Ok(())
    }

    /// Refuses all that does not follow from this version, step by step. Where steps are between the two,
    /// the server is asked for their manifests. Bytes that came.
    pub(super) fn follow(
        &self,
        manifest: &SignedManifest,
        transport: &mut impl Transport,
        keys: &ReaderKeys,
    ) -> Result<usize, Error> {
        self.check(manifest)?;
        if manifest.version == self.version || manifest.previous == self.manifest {
            return Ok(0);
        }
        let known = self.edition().to_bytes();
        let request = Message::GetHistory.about(manifest.edition(), &known);
        let reply = transport.call(&request, message_len(history::MAX_LEN))?;
        let body = Message::History.expect(&reply, None)?;
        walk(body, manifest, self, keys.owner())?;
        Ok(reply.len())
    }
}
