//! The place of an index: a folder of this machine, or one in an object store.

use crate::Error;
use sordino_search::{
    AnyDisk, Bytes, Contents, Copied, Disk, Encodings, Error as Search, Files, Folder, Index,
    OpenOptions, OwnerPublicKey, Pins, ReaderKeys, Recovered, Server, Shard, SignedManifest, Store,
    Verified,
};
use std::path::{Path, PathBuf};

#[cfg(feature = "objects")]
use sordino_objects::{Address, Objects};

/// The largest size in bytes of the file that names the newest version.
const CURRENT_LEN: u64 = 1 << 10;

/// The place of an index: a folder on this machine, or in an object store.
pub(crate) struct Place {
    root: PathBuf,
    disk: AnyDisk,
    /// True if this is a folder of this machine.
    here: bool,
}

impl Place {
    /// The place that an argument names: a folder, `file://` and a folder, or `s3://BUCKET/PREFIX`.
    pub(crate) fn of(index: &Path) -> Result<Self, Error> {
        let Some((protocol, rest)) = index.to_str().and_then(|text| text.split_once("://")) else {
            return Ok(Self::here(index));
        };
        match protocol {
            "file" if rest.starts_with('/') => Ok(Self::here(Path::new(rest))),
            "s3" => Self::there(index),
            _ => {
                let why = format!(
                    "{}: expected a folder, file:///FOLDER or s3://BUCKET/PREFIX",
                    index.display()
                );
                Err(Error::Arguments(why))
            }
        }
    }

    #[cfg(feature = "objects")]
    fn there(index: &Path) -> Result<Self, Error> {
        let wrong = |error: sordino_objects::Error| Error::Arguments(error.to_string());
        let text = index.to_str().unwrap_or_default();
        let address: Address = text.parse().map_err(wrong)?;
        let objects = Objects::open(&address).map_err(wrong)?;
        Ok(Self {
            root: objects.root().to_owned(),
            disk: AnyDisk::new(objects),
            here: false,
        })
    }

    #[cfg(not(feature = "objects"))]
    fn there(index: &Path) -> Result<Self, Error> {
        let why = format!(
            "{}: this command was built without object stores (cargo's feature `objects`)",
            index.display()
        );
        Err(Error::Arguments(why))
    }

    /// A folder of this machine.
    pub(crate) fn here(folder: &Path) -> Self {
        Self {
            root: folder.to_owned(),
            disk: AnyDisk::new(Files),
            here: true,
        }
    }

    /// True if this is a folder of this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.here
    }

    /// The folder's name on its disk.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The disk that the folder is on.
    pub(crate) fn disk(&self) -> AnyDisk {
        self.disk.clone()
    }

    fn folder(&self) -> Folder<AnyDisk> {
        Folder::new(&self.root, self.disk())
    }

    /// The current content of the file that names the newest version. `None` if it cannot be read.
    pub(crate) fn current(&self) -> Option<Bytes> {
        let path = self.root.join("CURRENT");
        self.disk.read(&path, CURRENT_LEN).ok()
    }

    /// The name under which an owner remembers this place.
    pub(crate) fn name(&self) -> String {
        match self.here {
            true => Pins::place(&self.root),
            false => self.root.display().to_string(),
        }
    }

    /// Refuses a place without an index, or with an index that has lost the name of its newest
    /// version.
    pub(crate) fn check_index(&self) -> Result<(), Search> {
        self.folder().current().map(drop)
    }

    /// The manifest and the parts of the newest version.
    pub(crate) fn index(&self, owner: &OwnerPublicKey) -> Result<Index, Search> {
        Index::open_on(self.disk(), &self.root, owner)
    }

    /// The manifest of the newest version.
    pub(crate) fn manifest(&self, owner: &OwnerPublicKey) -> Result<SignedManifest, Search> {
        Index::manifest_on(self.disk(), &self.root, owner)
    }

    /// Runs `work` with all stored records that a reader may read. Runs it again if a change removes parts meanwhile.
    pub(crate) fn read<T>(
        &self,
        keys: &ReaderKeys,
        work: impl FnMut(&Contents<AnyDisk>) -> Result<T, Search>,
    ) -> Result<T, Search> {
        Contents::read_on(self.disk(), &self.root, keys, work)
    }

    /// Checks everything that a reader can.
    pub(crate) fn verify(&self, keys: &ReaderKeys) -> Result<Verified, Search> {
        Store::verify_on(self.disk(), &self.root, keys)
    }

    /// Makes a server of the newest version, or of a shard of it, with a folder for the encoded
    /// vectors.
    pub(crate) fn open(
        &self,
        owner: &OwnerPublicKey,
        shard: Option<Shard>,
        encodings: Option<&Encodings>,
    ) -> Result<Server, Search> {
        let options = OpenOptions::new(owner).shard(shard).encodings(encodings);
        options.open(&self.folder())
    }

    /// Makes a server of the current version, which replaces `server`.
    pub(crate) fn follow(&self, server: &Server, owner: &OwnerPublicKey) -> Result<Server, Search> {
        OpenOptions::new(owner).after(server).open(&self.folder())
    }

    /// Copies the newest version to another place.
    pub(crate) fn copy_to(&self, to: &Self, owner: &OwnerPublicKey) -> Result<Copied, Search> {
        self.folder().copy_to(&to.folder(), owner)
    }

    /// Copies the newest version to another place, which has no index.
    pub(crate) fn restore_to(&self, to: &Self, owner: &OwnerPublicKey) -> Result<Copied, Search> {
        self.folder().restore_to(&to.folder(), owner)
    }

    /// Makes the newest complete version the newest again, if it passes this check.
    pub(crate) fn recover(
        &self,
        owner: &OwnerPublicKey,
        check: impl FnOnce(&SignedManifest) -> Result<(), Search>,
    ) -> Result<Recovered, Search> {
        self.folder().recover(owner, |manifest, _| check(manifest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_what_its_protocol_says() {
        let root = |text: &str| match Place::of(Path::new(text)) {
            Ok(place) if place.is_here() => Ok(place.root().display().to_string()),
            Ok(_) => Err("elsewhere".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(root("base.index").unwrap(), "base.index");
        assert_eq!(root("/srv/a:b").unwrap(), "/srv/a:b");
        assert_eq!(root("file:///srv/base.index").unwrap(), "/srv/base.index");
        for wrong in [
            "file://srv/base.index",
            "gs://bucket/base",
            "http://host/base",
        ] {
            let error = root(wrong).unwrap_err();
            assert!(error.contains("s3://BUCKET/PREFIX"), "{error}");
        }
        let there = root("s3://bucket/base.index").unwrap_err();
        match cfg!(feature = "objects") {
            true => assert_eq!(there, "elsewhere"),
            false => assert!(there.contains("built without object stores"), "{there}"),
        }
    }
}
