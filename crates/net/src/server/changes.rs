//! Changes of the index by its owner, over the network.
//!
//! The owner makes parts and manifests where its key is, and sends what the server lacks, in steps. First come the
//! manifests from the one after the server's to the newest, then parts, then the order to switch. The owner signs each
//! step for this run of the server, and the server also checks the step's content. So a step that is recorded,
//! repeated or reordered does no more than the owner once meant.
//!
//! A writer that the served version names pushes its additions in the same steps. [`writers`](super::writers) has the
//! rules.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use prost::Message;
use sordino_index::disk::Lock;
use sordino_index::folder::Folder;
use sordino_index::history::KEPT;
use sordino_index::manifest::{Part, SignedManifest};
use sordino_index::{Error, Files, NotNext, OwnerPublicKey};
use sordino_server::{OpenOptions, Server};

mod state;

use super::rejection::Rejection;
use super::signed::Signed;
use super::steps::Steps;
use super::writers::{self, Signer, Writers, of_no_owner};
use crate::protocol::PIECE;
use crate::schema::step::Kind;
use crate::schema::{Held, Put, Step, StepReply};
use crate::signature::now;
use crate::{Limits, Refusal};
use state::State;

/// The longest request: a piece, or a manifest, which is shorter, with its signature and the fields' tags.
pub(crate) const LONGEST_CHANGE: usize = PIECE + SHORTEST_CHANGE;

/// A size in bytes above a signed step without content.
pub(crate) const SHORTEST_CHANGE: usize = 8192;

/// The largest number of missing parts that a reply names, so that it fits what a client reads in one piece.
pub(crate) const TOLD: usize = 1000;

/// The folder of an index whose owner may change it over the network. No other program changes it meanwhile.
#[derive(Debug)]
pub(crate) struct Changes {
    folder: Folder<Files>,
    owner: OwnerPublicKey,
    /// The digest of the owner's key.
    key: [u8; 32],
    /// The largest number of bytes of an index.
    most: u64,
    /// The steps are outside the state, because they are looked up while a switch may take long.
    steps: Arc<Steps>,
    /// The writers of the served version.
    writers: Writers,
    /// True while the server switches to another version.
    switching: AtomicBool,
    state: Mutex<State>,
    _lock: Lock,
}

impl Changes {
    /// Takes the folder of `server`'s index.
    pub(crate) fn new(
        dir: &Path,
        owner: &OwnerPublicKey,
        most: u64,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let folder = Folder::new(dir, Files);
        folder.current()?;
        let lock = folder.lock()?;
        let current = folder.manifest(&folder.current()?, owner)?;
        Ok(Self {
            writers: Writers::of(&current)?,
            key: *blake3::hash(&owner.to_bytes()).as_bytes(),
            owner: owner.clone(),
            folder,
            most,
            steps: Arc::new(Steps::new(limits)),
            switching: AtomicBool::new(false),
            state: Mutex::new(State {
                current,
                coming: Vec::new(),
                begun: true,
                owners: None,
            }),
            _lock: lock,
        })
    }

    /// Takes over the steps of an earlier index with the same name, so that none of them is accepted again.
    pub(crate) fn after(&mut self, steps: Arc<Steps>) {
        self.steps = steps;
    }

    /// Refuses a step unless the owner or a writer signed it for this run, recently, and it was not seen before.
    /// Returns the signer.
    pub(crate) fn check(&self, signed: &Signed) -> Result<Signer, Refusal> {
        let signer = match signed.key == self.key {
            true => Signer::Owner,
            false => Signer::Writer(signed.key),
        };
        let key = match signer {
            Signer::Owner => self.owner.clone(),
            Signer::Writer(key) => match self.writers.key(&key) {
                Some(key) => key,
                None => return Err(of_no_owner(signed)),
            },
        };
        // Only the signer learns about times and repetitions, so the signature comes first.
        let good = key.verify_change(&signed.statement, &signed.signature);
        good.map_err(|_| Refusal::Signature)?;
        self.steps.accept(signed)?;
        Ok(signer)
    }

    /// Executes a step. The last step makes a server of the new version, with which `place` replaces the old one.
    /// Meanwhile, other steps are refused and may be repeated later.
    pub(crate) fn take(
        &self,
        signer: Signer,
        step: &[u8],
        server: impl FnOnce() -> Arc<Server>,
        place: impl FnOnce(Server),
    ) -> Result<StepReply, Rejection> {
        if self.switching.load(Ordering::Acquire) {
            return Err(Refusal::Busy.into());
        }
        if !self.state().takes(signer) {
            return Err(Refusal::Busy.into());
        }
        let taken = self.take_now(signer, step, server, place);
        taken.map_err(Rejection::Message)
    }

    fn take_now(
        &self,
        signer: Signer,
        step: &[u8],
        server: impl FnOnce() -> Arc<Server>,
        place: impl FnOnce(Server),
    ) -> Result<StepReply, Error> {
        let wrong = |why: &str| Error::Malformed {
            what: "step of a change",
            why: why.to_owned(),
        };
        let step = Step::decode(step).map_err(|error| wrong(&error.to_string()))?;
        let kind = step.kind.ok_or_else(|| wrong("none that is known here"))?;
        let mut state = self.state();
        // From here on, no other step replaces the version.
        let server = &*server();
        match kind {
            Kind::State(_) => (),
            Kind::Manifest(bytes) => {
                let manifest = SignedManifest::from_bytes(&bytes, &self.owner)?;
                state.check_index(&manifest)?;
                if let Signer::Writer(key) = signer {
                    writers::check_offer(&state.current, &manifest, &key, now() / 1000)?;
                }
                self.offer(&mut state, manifest)?;
                state.owners = (signer == Signer::Owner).then(Instant::now);
            }
            Kind::Missing(_) => {
                self.keep(&mut state, server)?;
                let missing = self.folder.missing(state.newest())?;
                let held = |(part, held): &(Part, u64)| Held {
                    part: part.digest.to_vec().into(),
                    len: *held,
                };
                let missing = missing.iter().take(TOLD).map(held).collect();
                return Ok(StepReply {
                    missing,
                    ..state.reply()
                });
            }
            Kind::Put(put) => {
                // If the owner asks first which parts are missing, as it should, this has no effect.
                if state.begun {
                    self.keep(&mut state, server)?;
                }
                self.put(&state, &put)?;
            }
            Kind::Commit(digest) => {
                if let (Signer::Writer(key), Some(newest)) = (signer, state.coming.last()) {
                    writers::check_offer(&state.current, newest, &key, now() / 1000)?;
                }
                let _switching = Switching::begin(&self.switching);
                self.commit(&mut state, &digest, server, place)?;
            }
        }
        // An owner that only asks does not make writers wait.
        if signer == Signer::Owner && state.owners.is_some() {
            state.owners = (!state.coming.is_empty()).then(Instant::now);
        }
        Ok(state.reply())
    }

    /// Removes files that belong neither to a version on disk, nor to a served version, nor to the newest offered version.
    fn keep(&self, state: &mut State, server: &Server) -> Result<(), Error> {
        let mut keep = state.current.parts()?;
        keep.extend(server.manifest().parts()?);
        keep.extend(state.newest().parts()?);
        self.folder.keep_only(&keep)?;
        state.begun = false;
        Ok(())
    }

    /// Adds a version to the offered ones, or makes it the first. Parts of other offers stay until the server knows
    /// which version is the newest. After an interruption, a push begins with the oldest version again.
    fn offer(&self, state: &mut State, manifest: SignedManifest) -> Result<(), Error> {
        let digest = manifest.digest();
        let known = |version: &SignedManifest| version.digest() == digest;
        if known(&state.current) {
            return Ok(());
        }
        if let Some(at) = state.coming.iter().position(known) {
            // Versions are offered oldest first. So later ones belong to another push, or will be offered again.
            state.coming.truncate(at + 1);
            state.begun = true;
            return Ok(());
        }
        let found = manifest.version;
        let not_next = NotNext {
            found,
            there: state.current.version,
            holder: NotNext::SERVER,
        };
        if found <= not_next.there {
            return Err(not_next.into());
        }
        manifest.check_room(self.most)?;
        let follows = |version: &SignedManifest| {
            manifest.follows(&version.digest()) && found > version.version
        };
        if follows(state.newest()) {
            // Each version follows from the one before, so the server needs no more versions than it shows to clients.
            if state.coming.len() == KEPT {
                state.coming.remove(0);
            }
            state.coming.push(manifest);
        } else if follows(&state.current) {
            // This version begins another change, which replaces the unfinished one.
            state.coming = vec![manifest];
        } else {
            return Err(not_next.into());
        }
        state.begun = true;
        Ok(())
    }

    fn put(&self, state: &State, put: &Put) -> Result<(), Error> {
        let named = |part: &Part| part.digest[..] == put.part[..] && part.holder.is_stored();
        let parts = state.newest().parts()?;
        let part = parts.iter().find(|part| named(part));
        let missing = self.folder.missing(state.newest())?;
        match part.filter(|part| missing.iter().any(|(other, _)| other.digest == part.digest)) {
            Some(part) => self.folder.receive(part, put.offset, &put.bytes),
            None => Err(Error::Malformed {
                what: "part",
                why: "not one that the version which is being received lacks: another change may have begun \
                      meanwhile"
                    .to_owned(),
            }),
        }
    }

    /// Switches to the newest offered version, if it is complete and can be served. Its parts are durable on disk. The
    /// manifests are written next, and then the switch.
    fn commit(
        &self,
        state: &mut State,
        digest: &[u8],
        server: &Server,
        place: impl FnOnce(Server),
    ) -> Result<(), Error> {
        if state.current.digest()[..] == *digest {
            return Ok(());
        }
        let newest = match state.coming.last() {
            Some(newest) if newest.digest()[..] == *digest => newest.clone(),
            _ => {
                return Err(Error::Malformed {
                    what: "manifest",
                    why: "not the version that is coming: its manifest was not offered, or another change has begun in its place"
                        .to_owned(),
                });
            }
        };
        if let Some((part, held)) = self.folder.missing(&newest)?.first() {
            let (what, len) = (part.kind.name(), part.len);
            let why = format!("{held} of {len} bytes are here");
            return Err(Error::Malformed { what, why });
        }
        for manifest in &state.coming {
            self.folder.put_manifest(manifest)?;
        }
        let options = OpenOptions::new(&self.owner).after(server);
        let new = options.version(&newest).open(&self.folder)?;
        self.folder.prepare(&newest)?;
        let switched = self.folder.switch();
        // The error may have come before or after the switch took effect.
        state.current = self.folder.manifest(&self.folder.current()?, &self.owner)?;
        if state.current.digest() == newest.digest() {
            self.writers.change(&newest)?;
            place(new);
        }
        switched?;
        let mut keep = server.manifest().parts()?;
        keep.extend(newest.parts()?);
        state.coming.clear();
        self.folder.drop_shown(&newest);
        self.forget(server.manifest().version, &newest);
        // Files that cannot be removed now are removed with the next change.
        drop(self.folder.collect(&keep));
        Ok(())
    }

    /// Removes the manifests that the server no longer shows to clients. This must read all manifests that the server
    /// shows, so it happens once in 256 versions. Files that cannot be removed now are removed the next time.
    fn forget(&self, before: u64, newest: &SignedManifest) {
        let round = |version: u64| version / KEPT as u64;
        if round(newest.version) > round(before) {
            drop(self.folder.forget(newest, KEPT, &self.owner));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a switch in progress, and ends the mark even after a panic.
struct Switching<'a>(&'a AtomicBool);

impl<'a> Switching<'a> {
    fn begin(switching: &'a AtomicBool) -> Self {
        switching.store(true, Ordering::Release);
        Self(switching)
    }
}

impl Drop for Switching<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::CHUNK;

    #[test]
    fn what_is_missing_is_told_in_one_piece() {
        let held = Held {
            part: vec![0xff; 32].into(),
            len: u64::MAX,
        };
        let reply = StepReply {
            version: u64::MAX,
            manifest: vec![0xff; 32].into(),
            missing: vec![held; TOLD],
            index: vec![0xff; 16].into(),
        };
        assert!(reply.encoded_len() <= CHUNK);
    }
}
