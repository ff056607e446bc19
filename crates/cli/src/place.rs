//! The place of an index: a folder of this machine, or one in an object store.

use crate::Error;
use sordino_search::{
    Bytes, Copied, Disk, Error as Search, Files, Folder, OwnerPublicKey, Server, Shard,
};
use std::path::Path;

#[cfg(feature = "objects")]
use sordino_objects::{Address, Objects};

/// Bytes of the file that names the newest version, at most.
const CURRENT_LEN: u64 = 1 << 10;

/// The place of an index.
pub(crate) enum Place {
    /// A folder of this machine.
    Here(Folder<Files>),
    /// A folder in an object store.
    #[cfg(feature = "objects")]
    There(Box<(Objects, Folder<Objects>)>),
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
        let folder = objects.folder();
        Ok(Self::There(Box::new((objects, folder))))
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
        Self::Here(Folder::new(folder, Files))
    }

    /// True of a folder of this machine.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }

    /// The file that names the newest version, as it is now; none if it cannot be read.
    pub(crate) fn current(&self) -> Option<Bytes> {
        match self {
            Self::Here(folder) => Files.read(&folder.root().join("CURRENT"), CURRENT_LEN).ok(),
            #[cfg(feature = "objects")]
            Self::There(there) => {
                let (objects, folder) = &**there;
                let path = folder.root().join("CURRENT");
                objects.read(&path, CURRENT_LEN).ok()
            }
        }
    }

    /// Serves the newest version, or a shard of it.
    pub(crate) fn open(
        &self,
        owner: &OwnerPublicKey,
        shard: Option<Shard>,
    ) -> Result<Server, Search> {
        match self {
            Self::Here(folder) => Server::open_folder(folder, owner, shard),
            #[cfg(feature = "objects")]
            Self::There(there) => Server::open_folder(&there.1, owner, shard),
        }
    }

    /// Serves the version that there is now, after the one that a server has.
    pub(crate) fn follow(&self, server: &Server, owner: &OwnerPublicKey) -> Result<Server, Search> {
        match self {
            Self::Here(folder) => server.follow_folder(folder, owner),
            #[cfg(feature = "objects")]
            Self::There(there) => server.follow_folder(&there.1, owner),
        }
    }

    /// Copies the newest version to another place.
    pub(crate) fn copy_to(&self, to: &Self, owner: &OwnerPublicKey) -> Result<Copied, Search> {
        match (self, to) {
            (Self::Here(from), Self::Here(to)) => from.copy_to(to, owner),
            #[cfg(feature = "objects")]
            (Self::Here(from), Self::There(to)) => from.copy_to(&to.1, owner),
            #[cfg(feature = "objects")]
            (Self::There(from), Self::Here(to)) => from.1.copy_to(to, owner),
            #[cfg(feature = "objects")]
            (Self::There(from), Self::There(to)) => from.1.copy_to(&to.1, owner),
        }
    }

    /// Refuses a place that has an index already.
    pub(crate) fn check_free(&self) -> Result<(), Search> {
        match self {
            Self::Here(folder) => folder.check_free(),
            #[cfg(feature = "objects")]
            Self::There(there) => there.1.check_free(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_what_its_protocol_says() {
        let root = |text: &str| match Place::of(Path::new(text)) {
            Ok(Place::Here(folder)) => Ok(folder.root().display().to_string()),
            #[cfg(feature = "objects")]
            Ok(other) => Err(format!("here: {}", other.is_here())),
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
            true => assert_eq!(there, "here: false"),
            false => assert!(there.contains("built without object stores"), "{there}"),
        }
    }
}
