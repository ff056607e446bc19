//! The owner's end of a change over the network, or a writer's.

use std::path::Path;

use bytes::Bytes;
use prost::Message;
use sordino_index::digest::Digest;
use sordino_index::folder::Folder;
use sordino_index::manifest::SignedManifest;
use sordino_index::{Disk, Error as Wrong, Files, NotNext, OwnerFault};

use crate::protocol::PIECE;
use crate::schema::step::Kind;
use crate::schema::{Held, Nothing, Put, Step, StepReply};
use crate::{ChangeSigner, Connection, Error};

/// The largest number of versions by which a server may be behind.
const BEHIND: usize = 4096;

/// The largest number of attempts at a push while other pushes interfere.
const ATTEMPTS: usize = 3;

/// The smallest number of bytes that a server reads and prepares while one byte arrives over the slowest link. This
/// means 64 MiB per second, since the slowest link carries 64 KiB per second.
const READING: u64 = 1024;

/// The work that a push did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// The version that the server has now.
    pub version: u64,
    /// The number of manifests that were sent.
    pub versions: usize,
    /// The number of parts that were sent, completely or from some byte on.
    pub parts: usize,
    /// The bytes of the parts that were sent.
    pub bytes: u64,
}

impl Connection {
    /// Brings the server's index to the newest version of an owner's directory. It sends the manifests after the
    /// server's version, the parts that the server lacks, and the switch. What has arrived stays at the server unless
    /// another push begins. So after an interruption, the same call continues the push.
    ///
    /// # Errors
    /// [`NotNext`](Wrong::NotNext) if the directory's newest version does not follow from the server's, and
    /// [`OwnerFault::OtherServed`] if the server has a different index.
    /// [`Error::Overtaken`], or a refusal that says so, if another change has begun at the server. The errors of
    /// reading the directory, and other refusals of the server.
    pub fn push(
        &mut self,
        dir: impl AsRef<Path>,
        keys: &impl ChangeSigner,
    ) -> Result<Pushed, Wrong> {
        self.push_watched(dir, keys, &mut |_| ())
    }

    /// Like [`push`](Self::push), and calls `watch` with the length of each piece that has arrived.
    ///
    /// # Errors
    /// The errors of `push`.
    pub fn push_watched(
        &mut self,
        dir: impl AsRef<Path>,
        keys: &impl ChangeSigner,
        watch: &mut dyn FnMut(u64),
    ) -> Result<Pushed, Wrong> {
        self.push_from(&Folder::new(dir.as_ref(), Files), keys, watch)
    }

    /// Like [`push_watched`](Self::push_watched), for a folder on any disk.
    ///
    /// # Errors
    /// The errors of `push`.
    pub fn push_from<D: Disk>(
        &mut self,
        folder: &Folder<D>,
        keys: &impl ChangeSigner,
        watch: &mut dyn FnMut(u64),
    ) -> Result<Pushed, Wrong> {
        // Another process may change the directory meanwhile, and remove some of its files.
        folder.newest(&keys.owner(), |newest| {
            self.push_version(folder, keys, &newest, watch)
        })
    }

    fn push_version<D: Disk>(
        &mut self,
        folder: &Folder<D>,
        keys: &impl ChangeSigner,
        newest: &SignedManifest,
        watch: &mut dyn FnMut(u64),
    ) -> Result<Pushed, Wrong> {
        let mut pushed = Pushed::default();
        let mut attempt = 1;
        loop {
            let here = self.step(keys, Kind::State(Nothing {}))?;
            pushed.version = here.version;
            if here.manifest[..] == newest.digest() {
                return Ok(pushed);
            }
            let (error, own) = match self.send(&here, folder, keys, newest, &mut pushed, watch) {
                Ok(()) => {
                    let digest = Bytes::copy_from_slice(&newest.digest());
                    // Before it answers, the server reads and prepares the new version.
                    match self.step_of(keys, Kind::Commit(digest), reading(newest)?) {
                        Ok(there) => {
                            pushed.version = there.version;
                            return Ok(pushed);
                        }
                        // A failed switch may still have taken effect. In that case the server's version is this
                        // one.
                        Err(error) => (Wrong::from(error), Some(newest.digest())),
                    }
                }
                Err(error) => (error, None),
            };
            // If another push interfered, the server now has another version, from which this one may follow too.
            let moved = may_be_overtaken(&error)
                && self.step(keys, Kind::State(Nothing {})).is_ok_and(|now| {
                    now.manifest != here.manifest && own.is_none_or(|own| now.manifest[..] != own)
                });
            if !moved || attempt == ATTEMPTS {
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Sends the parts that the server lacks since its last version.
    fn send<D: Disk>(
        &mut self,
        here: &StepReply,
        folder: &Folder<D>,
        keys: &impl ChangeSigner,
        newest: &SignedManifest,
        pushed: &mut Pushed,
        watch: &mut dyn FnMut(u64),
    ) -> Result<(), Wrong> {
        for manifest in Self::after(here, folder, keys, newest)? {
            let bytes = Bytes::copy_from_slice(manifest.to_bytes());
            self.step(keys, Kind::Manifest(bytes))?;
            pushed.versions += 1;
        }
        let parts = newest.parts()?;
        let mut left = parts.len();
        // A reply names only some of the missing parts.
        loop {
            let missing = self.step(keys, Kind::Missing(Nothing {}))?.missing;
            if missing.is_empty() {
                return Ok(());
            }
            for held in missing {
                let part = parts.iter().find(|part| part.digest[..] == held.part[..]);
                // The missing part belongs to a version that another push has brought after this
                // one.
                let part = part.ok_or(Error::Overtaken)?;
                let more = || Error::Reply("a part that is missing, and was sent".to_owned());
                left = left.checked_sub(1).ok_or_else(more)?;
                let bytes = folder.part(part)?;
                self.send_part(held, &bytes, keys, &mut |len| {
                    pushed.bytes += len;
                    watch(len);
                })?;
                pushed.parts += 1;
            }
        }
    }

    /// Sends the rest of a part. The server holds some of its bytes.
    fn send_part(
        &mut self,
        held: Held,
        bytes: &[u8],
        keys: &impl ChangeSigner,
        sent: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        let Held { part, len } = held;
        let mut at = usize::try_from(len).unwrap_or(usize::MAX);
        if at >= bytes.len() {
            return Err(Error::Reply(format!("{at} bytes of {}", bytes.len())));
        }
        while at < bytes.len() {
            let end = bytes.len().min(at + PIECE);
            let put = Put {
                part: part.clone(),
                offset: at as u64,
                bytes: Bytes::copy_from_slice(&bytes[at..end]),
            };
            self.step(keys, Kind::Put(put))?;
            sent((end - at) as u64);
            at = end;
        }
        Ok(())
    }

    /// The manifests after the server's version, oldest first.
    fn after<D: Disk>(
        here: &StepReply,
        folder: &Folder<D>,
        keys: &impl ChangeSigner,
        newest: &SignedManifest,
    ) -> Result<Vec<SignedManifest>, Wrong> {
        if let Ok(there) = <[u8; 16]>::try_from(&here.index[..])
            && there != newest.index
        {
            let found = newest.index;
            return Err(OwnerFault::OtherServed { found, there }.into());
        }
        let not_next = NotNext {
            found: newest.version,
            there: here.version,
            holder: NotNext::SERVER,
        };
        if not_next.found < not_next.there {
            return Err(not_next.into());
        }
        let mut versions = vec![newest.clone()];
        let mut before = Vec::new();
        // Manifests that the server has already need not be in this folder.
        let between = not_next.found - not_next.there;
        let most = usize::try_from(between).map_or(BEHIND, |between| between.min(BEHIND));
        drop(folder.history(newest, most, &keys.owner(), &mut before));
        versions.append(&mut before);
        let known = |digest: &Digest| digest[..] == here.manifest[..];
        let since = versions.iter().position(|version| known(&version.previous));
        let since = since.ok_or(not_next)?;
        versions.truncate(since + 1);
        // A manifest that a newer one includes need not be sent.
        let mut sent: Vec<SignedManifest> = Vec::with_capacity(versions.len());
        for version in versions {
            let shown = |newer: &SignedManifest| newer.before_shown() == version.digest();
            if sent.last().is_none_or(shown) {
                sent.push(version);
            }
        }
        sent.reverse();
        Ok(sent)
    }

    /// Sends one signed step, and returns its reply.
    fn step(&mut self, keys: &impl ChangeSigner, kind: Kind) -> Result<StepReply, Error> {
        self.step_of(keys, kind, 0)
    }

    /// Sends one signed step, and returns its reply. `read` is the number of bytes that the server
    /// reads in addition to the step.
    fn step_of(
        &mut self,
        keys: &impl ChangeSigner,
        kind: Kind,
        read: usize,
    ) -> Result<StepReply, Error> {
        let step = Step { kind: Some(kind) };
        self.change(keys, step.encode_to_vec().into(), read)
    }
}

/// The number of bytes that would arrive over the slowest link while a server reads and prepares a version.
fn reading(version: &SignedManifest) -> Result<usize, Wrong> {
    let len: u64 = version.parts()?.iter().map(|part| part.len).sum();
    Ok(usize::try_from(len / READING).unwrap_or(usize::MAX))
}

/// True if a step did not fit the server's current state, because another push may have interfered.
fn may_be_overtaken(error: &Wrong) -> bool {
    match Error::of(error) {
        Some(Error::Overtaken) => true,
        Some(Error::Status { code, .. }) => code == "InvalidArgument",
        _ => false,
    }
}
