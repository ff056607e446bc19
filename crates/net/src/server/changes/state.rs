//! The current version, and the newer versions that a push has offered.

use std::time::{Duration, Instant};

use sordino_index::digest::Digest;
use sordino_index::manifest::SignedManifest;
use sordino_index::{Error, OwnerFault};

use crate::schema::StepReply;
use crate::server::writers::Signer;

/// The time after an owner's step during which writers wait, so that they cannot delay a
/// revocation.
const OWNERS_TURN: Duration = Duration::from_secs(30);

/// The current version, and the offered versions.
#[derive(Debug)]
pub(super) struct State {
    pub(super) current: SignedManifest,
    /// The versions after the current one that are being received, oldest first.
    pub(super) coming: Vec<SignedManifest>,
    /// True if parts of other offered versions may be on disk.
    pub(super) begun: bool,
    /// The time of the owner's last step, while the offered versions are the owner's: no writer
    /// replaces them.
    pub(super) owners: Option<Instant>,
}

impl State {
    /// True if a step of this signer may run now. A writer's step waits while the owner's push continues.
    pub(super) fn takes(&self, signer: Signer) -> bool {
        let others = signer != Signer::Owner;
        let owners = self.owners.is_some_and(|last| last.elapsed() < OWNERS_TURN);
        !(others && owners)
    }

    /// The newest version, complete or not.
    pub(super) fn newest(&self) -> &SignedManifest {
        self.coming.last().unwrap_or(&self.current)
    }

    /// Refuses a version of a different index.
    pub(super) fn check_index(&self, offered: &SignedManifest) -> Result<(), Error> {
        let (found, there) = (offered.index, self.current.index);
        if found == there {
            return Ok(());
        }
        Err(OwnerFault::OtherServed { found, there }.into())
    }

    pub(super) fn reply(&self) -> StepReply {
        let manifest: Digest = self.current.digest();
        StepReply {
            version: self.current.version,
            manifest: manifest.to_vec().into(),
            missing: Vec::new(),
            index: self.current.index.to_vec().into(),
        }
    }
}
