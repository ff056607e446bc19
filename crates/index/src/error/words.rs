//! Words of messages that are more than a field.

use std::path::Path;

/// Said to whoever has no key of an index.
pub(super) const NO_READER: &str = "this key opens nothing of this index: it is not, or no longer, among the index's readers; or it is a reader's own, and \
     the index has no readers of its own";

/// The most results that a search of so many vectors can have, and why.
pub(super) fn most_results(n: usize) -> String {
    match n {
        0..1024 => format!("{n}, the number of vectors"),
        _ => "1024, the most that a search can have".to_owned(),
    }
}

/// Said of a directory that holds something else.
pub(super) fn occupied(path: &Path, entry: &Path) -> String {
    let (path, entry) = (path.display(), entry.display());
    format!(
        "{path} holds {entry}, which is not part of an index: choose a directory that is empty or not there yet"
    )
}

/// Said of a form that is not this one.
pub(super) fn form(what: &str, found: u16, expected: u16) -> String {
    format!(
        "{what} of format version {found}, and this program reads version {expected}: use programs of one release, and build \
         indexes of another anew"
    )
}

/// Said to a client that was away for too long.
pub(super) fn gap(found: u64, pinned: u64) -> String {
    format!(
        "nothing shows that version {found} of the index follows from version {pinned}, which this client knows: the server \
         keeps no manifests that far back"
    )
}

/// An index's id as it is printed.
pub(super) fn hex(id: &[u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
