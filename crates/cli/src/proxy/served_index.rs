//! The index that the server serves. The proxy writes and lists no other index: programs would write to one index and
//! search the other.

use crate::owned_index::OwnedIndex;
use sordino_proxy::RecordsError;
use std::path::Path;
use std::sync::OnceLock;

/// The id of the index that the server serves, known after the first contact with the server.
#[derive(Default)]
pub(super) struct ServedIndex(OnceLock<[u8; 16]>);

impl ServedIndex {
    /// Stores the id. A session's index stays the same.
    pub(super) fn put(&self, id: [u8; 16]) {
        self.0.get_or_init(|| id);
    }

    /// Refuses an owner's index that is not the server's. The index is open, so nothing can replace it
    /// meanwhile.
    pub(super) fn check(&self, folder: &Path, index: &OwnedIndex) -> Result<(), RecordsError> {
        let Some(served) = self.0.get() else {
            let why = "the proxy waits for its server, and does not know which index that serves: ask again later";
            return Err(RecordsError::Busy(why.to_owned()));
        };
        let found = index.manifest().index;
        if found == *served {
            return Ok(());
        }
        let (folder, here, there) = (folder.display(), hex::encode(found), hex::encode(served));
        Err(RecordsError::Failed(format!(
            "{folder} is index {here}, and the server of --connect serves index {there}: programs would write to one and search \
             the other. Name the folder of index {there} (--index), or the server of index {here} (--connect); \
             `sordino index info` prints a folder's index"
        )))
    }
}
