//! Folders that hold what a server has. An owner or a writer on another machine starts from such a folder.

use sordino_index::folder::Folder;
use sordino_index::manifest::{Part, SignedManifest};
use sordino_index::{Disk, Error, Pin};
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

/// Updates a folder to the version that a server has, or creates it. Everything is checked as a client checks it. At
/// every moment the folder has its old version or the new one.
///
/// The new version must follow from the folder's. With a pin it must follow from the pinned one instead, and other content of the
/// folder is abandoned. That happens with additions that the server did not accept, which their writer makes again. Numbers of
/// abandoned versions are not used again.
///
/// `accept` sees the new version and the versions between it and the folder's, newest first, before anything is stored. If it
/// fails, the folder keeps its version.
///
/// # Errors
/// The errors of `accept`.
/// [`Error::Mode`] if clients do not download everything that a folder needs, as in local mode. [`Error::Rollback`],
/// [`Error::Fork`], [`Error::OtherIndex`] and [`Error::Gap`] if the version does not follow. [`Error::Locked`] if
/// another process is changing the folder. [`Error::Occupied`] if the folder holds other files. [`Error::File`] if a
/// file cannot be read or written. The errors of [`Client::connect`](crate::Client::connect).
pub fn pull<D: Disk>(
    transport: &mut impl Transport,
    keys: &ReaderKeys,
    folder: &Folder<D>,
    pin: Option<&Pin>,
    mut accept: impl FnMut(&SignedManifest, &[SignedManifest]) -> Result<(), Error>,
) -> Result<Pulled, Error> {
    let mut offered = None;
    match folder.current() {
        Err(Error::NoIndex { .. }) => {
            folder.check_free()?;
            // There is no new folder for a version that is refused.
            let (manifest, bytes) = at_once(history::offered(transport, keys))?;
            accept(&manifest, &[])?;
            offered = Some((manifest, bytes));
            folder.create_root()?;
        }
        // An earlier pull was interrupted before it named the version. Its parts are whole.
        Err(Error::Lost { .. }) => drop(folder.recover(keys.owner(), |_| Ok(()))?),
        found => {
            found?;
        }
    }
    let _lock = folder.lock()?;
    let held = match folder.current() {
        Err(Error::NoIndex { .. }) => {
            // Another program may have left something here before the lock.
            folder.check_free()?;
            folder.create()?;
            None
        }
        current => Some(folder.manifest(&current?, keys.owner())?),
    };
    let (manifest, mut bytes) = match offered {
        Some(offered) => offered,
        None => at_once(history::offered(transport, keys))?,
    };
    let own = held.as_ref().map(Pin::of);
    let (mut between, shown) = match pin.or(own.as_ref()) {
        Some(known) => at_once(history::between(known, &manifest, transport, keys))?,
        None => (Vec::new(), 0),
    };
    accept(&manifest, &between)?;
    bytes += shown;
    let mut pulled = Pulled {
        version: manifest.version,
        parts: 0,
        bytes,
    };
    if held.is_some_and(|held| held.digest() == manifest.digest()) {
        return Ok(pulled);
    }
    let missing = missing(folder, &manifest)?;
    let wanted: Vec<(u16, &Part)> = missing
        .iter()
        .map(|(number, part)| (*number, part))
        .collect();
    pulled.parts = wanted.len();
    let put = |_: &Part, bytes: &[u8]| folder.put(bytes).map(drop);
    pulled.bytes += at_once(fetch(transport, &manifest, &wanted, put))?;
    between.reverse();
    for version in between.iter().chain([&manifest]) {
        folder.put_manifest(version)?;
    }
    folder.prepare(&manifest)?;
    folder.switch()?;
    folder.keep();
    folder.drop_shown(&manifest);
    folder.collect(&manifest.parts()?)?;
    Ok(pulled)
}

/// The parts of a version that a folder lacks, each once, with their numbers among those that clients download.
fn missing<D: Disk>(
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
    let absent = folder.missing(manifest)?;
    let numbered = (0u16..).zip(all);
    let mut wanted: Vec<(u16, Part)> = Vec::new();
    for (number, part) in numbered {
        let lacks = absent.iter().any(|(other, _)| other.digest == part.digest);
        if lacks && !wanted.iter().any(|(_, other)| other.digest == part.digest) {
            wanted.push((number, part));
        }
    }
    Ok(wanted)
}
