//! Folders that hold what a server has. An owner or a writer on another machine starts from such a folder.

use std::collections::BTreeMap;

use sordino_index::folder::Folder;
use sordino_index::manifest::{Part, SignedManifest};
use sordino_index::{Disk, Error, OwnerFault, OwnerPublicKey, Pin};
use sordino_vault::ReaderKeys;

use crate::download::fetch;
use crate::history;
use crate::transport::{Transport, at_once};

/// The version of a folder after [`pull`], and statistics of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The version.
    pub version: u64,
    /// The number of fetched parts.
    pub parts: usize,
    /// The size in bytes of the replies.
    pub bytes: usize,
}

/// Updates a folder to the version that a server has, or creates it. The manifests are checked as a client checks them, and
/// each part that comes is checked against its digest. Parts that the folder has are not read.
///
/// The new version must follow from the folder's. With `after`, it must follow from that version instead, and other content
/// of the folder is abandoned. That happens with additions that the server did not accept, which their writer makes again. Numbers of
/// abandoned versions are not used again.
///
/// `known` returns versions from which the offered version must follow, too, because the owner knows them.
///
/// At every moment the folder has its old version or the new one. There is one exception: an abandoned version may have the
/// number of a new one. Then the folder has no version for a moment, and the next pull completes one that was interrupted.
///
/// # Errors
/// - the errors of `known`, and [`OwnerFault::Undone`] if the version does not follow from one that the owner knows
/// - [`Error::Mode`] if clients do not download everything that a folder needs, as in local mode
/// - [`Error::Rollback`], [`Error::Fork`], [`Error::OtherIndex`] and [`Error::Gap`] if the version does not follow
/// - [`Error::Locked`] if another process is changing the folder
/// - [`Error::Lost`] if the folder names no version, and its newest one is not whole
/// - [`Error::Occupied`] if the folder holds other files
/// - [`Error::File`] if a file cannot be read or written
/// - the errors of [`Client::connect`](crate::Client::connect)
///
/// After the errors about versions, the folder is as it was, except that it names its newest version again if it named none.
pub fn pull<D: Disk>(
    transport: &mut impl Transport,
    keys: &ReaderKeys,
    folder: &Folder<D>,
    after: Option<&Pin>,
    known: impl Fn(&SignedManifest) -> Result<Vec<Pin>, Error>,
) -> Result<Pulled, Error> {
    let mut lock = match exists(folder, keys.owner())? {
        true => Some(folder.lock()?),
        false => None,
    };
    let held = match &lock {
        Some(_) => Some(folder.manifest(&folder.current()?, keys.owner())?),
        None => None,
    };
    let (manifest, mut bytes) = at_once(history::offered(transport, keys))?;
    let own = held.as_ref().map(Pin::of);
    if let Some(own) = own.filter(|own| own.index != manifest.index) {
        let (found, pinned) = (manifest.index, own.index);
        return Err(Error::OtherIndex { found, pinned });
    }
    // All walks lead back from the offered version, so they have the same manifest where they have the same number.
    let mut between = BTreeMap::new();
    let mut follow = |base: &Pin| {
        let (walked, shown) = at_once(history::between(base, &manifest, transport, keys))?;
        bytes += shown;
        between.extend(walked.into_iter().map(|it| (it.version, it)));
        Ok(())
    };
    after.or(own.as_ref()).map_or(Ok(()), &mut follow)?;
    known(&manifest)?
        .iter()
        .filter(|pin| Some(**pin) != own)
        .try_for_each(|pin| follow(pin).map_err(undone))?;
    let between: Vec<SignedManifest> = between.into_values().collect();
    let wanted = wanted(folder, &manifest)?;
    let mut pulled = Pulled {
        version: manifest.version,
        parts: wanted.len(),
        bytes,
    };
    let is_held = own == Some(Pin::of(&manifest));
    if is_held && wanted.is_empty() && between.is_empty() {
        return Ok(pulled);
    }
    if lock.is_none() {
        folder.create_root()?;
        lock = Some(folder.lock()?);
        // Another program may have left something here before the lock.
        folder.check_free()?;
        folder.create()?;
    }
    let numbered: Vec<(u16, &Part)> = wanted.iter().map(|(at, part)| (*at, part)).collect();
    let put = |_: &Part, bytes: &[u8]| folder.put(bytes).map(drop);
    pulled.bytes += at_once(fetch(transport, &manifest, &numbered, put))?;
    folder.adopt(&manifest, &between, keys.owner())?;
    folder.keep();
    folder.drop_shown(&manifest);
    // What cannot be removed now is removed by the next change.
    drop(folder.collect(&manifest.parts()?));
    drop(lock);
    Ok(pulled)
}

/// True if a folder has an index, and false if one can be created there. Completes a pull that was interrupted before it named its
/// version.
fn exists<D: Disk>(folder: &Folder<D>, owner: &OwnerPublicKey) -> Result<bool, Error> {
    match folder.current() {
        Err(Error::NoIndex { .. }) => folder.check_free().map(|()| false),
        Err(Error::Lost { path, versions }) => {
            // A newer version that is not whole may be a change that no other folder has.
            let whole = |_: &SignedManifest, passed: &[(u64, Error)]| match passed.is_empty() {
                true => Ok(()),
                false => Err(Error::Lost { path, versions }),
            };
            folder.recover(owner, whole).map(|_| true)
        }
        found => found.map(|_| true),
    }
}

/// The error for a version that does not follow from one that the owner knows.
fn undone(fault: Error) -> Error {
    match fault {
        Error::Rollback { .. }
        | Error::Fork { .. }
        | Error::Gap { .. }
        | Error::OtherIndex { .. } => OwnerFault::Undone(Box::new(fault)).into(),
        other => other,
    }
}

/// The parts of a version that a folder does not have in their length, each once, with their numbers among those that clients
/// download.
fn wanted<D: Disk>(
    folder: &Folder<D>,
    manifest: &SignedManifest,
) -> Result<Vec<(u16, Part)>, Error> {
    let mut all = manifest.parts()?;
    if all
        .iter()
        .any(|part| part.holder.is_stored() && !part.holder.is_given())
    {
        let found = manifest.mode.kind().name();
        let expected = "local, with texts that clients download, for folders that are pulled";
        return Err(Error::Mode { found, expected });
    }
    all.retain(|part| part.holder.is_given());
    let mut wanted: Vec<(u16, Part)> = Vec::new();
    for (number, part) in (0u16..).zip(all) {
        let is_here = !part.holder.is_stored() || folder.holds(&part);
        if !is_here && !wanted.iter().any(|(_, other)| other.digest == part.digest) {
            wanted.push((number, part));
        }
    }
    Ok(wanted)
}
