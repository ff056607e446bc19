//! The current version, and the newer versions that a push has offered.

use std::time::{Duration, Instant};

use sordino_index::digest::Digest;
use sordino_index::manifest::SignedManifest;

use crate::schema::StepReply;
use crate::server::writers::Signer;

/// The time after an owner's step in which writers wait, so that they cannot hold up a revocation.
const OWNERS_TURN: Duration = Duration::from_secs(30);

/// The current version, and the versions that are coming.
#[derive(Debug)]
pub(super) struct State {
    pub(super) current: SignedManifest,
    /// The versions after it that are being received, oldest first.
    pub(super) coming: Vec<SignedManifest>,
    /// True if parts may be there of others that were coming.
    pub(super) begun: bool,
    /// The time of the owner's last step, while what is coming is its own: no writer takes its place.
    pub(super) owners: Option<Instant>,
}

impl State {
    /// True if a step of this signer may be taken now: a writer's has to wait while the owner's push goes on.
    pub(super) fn takes(&self, signer: Signer) -> bool {
        let others = signer != Signer::Owner;
        let owners = self.owners.is_some_and(|last| last.elapsed() < OWNERS_TURN);
        !(others && owners)
    }

    /// The newest version, whole or not.
    pub(super) fn newest(&self) -> &SignedManifest {
        self.coming.last().unwrap_or(&self.current)
    }

    pub(super) fn reply(&self) -> StepReply {
        let manifest: Digest = self.current.digest();
        StepReply {
            version: self.current.version,
            manifest: manifest.to_vec().into(),
            missing: Vec::new(),
        }
    }
}
