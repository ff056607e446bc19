//! Texts of messages that need more than a format string.

use sordino_vectors::id::Id;
use std::path::Path;

/// The advice after a wrong reply. The advice and the client's behaviour are the same for every cause.
pub(super) const WRONG: &str = "Stop using this server, and do not repeat the query. Tell the index's owner through \
     another channel. The owner checks the index with `sordino index verify --deep`; if that finds nothing, the server \
     computes something else";

/// The advice to a client if a server shows something different from what the client knows.
fn shown(what: &str) -> String {
    format!(
        "Stop using this server: it shows {what}. Ask the index's owner through another channel. The owner checks the \
         folder with `sordino index verify`; clients compare what `sordino log fingerprint` prints"
    )
}

/// The message about an older version than one that was seen.
pub(super) fn rollback(found: u64, pinned: u64) -> String {
    let shown = shown("an older version");
    format!(
        "the server offers version {found} of the index: this client has already seen version {pinned}. {shown}"
    )
}

/// The message about an addition of a writer.
pub(super) fn addition(version: u64, fault: &dyn std::fmt::Display) -> String {
    format!(
        "what a writer added as version {version} is not what it should be: {fault}. The owner of the index sees with `sordino index info` \
         who added it, and takes it back with `sordino index take-back`"
    )
}

/// The message about a version of another history.
pub(super) fn fork(version: u64) -> String {
    let shown = shown("another history");
    format!(
        "version {version} of the index does not follow from the one that this client knows. {shown}"
    )
}

/// The message about an index that was not seen before.
pub(super) fn other(found: &[u8; 16], pinned: &[u8; 16]) -> String {
    let (found, pinned) = (hex(found), hex(pinned));
    let shown = shown("another index");
    format!("the server offers index {found}: this client knows index {pinned}. {shown}")
}

/// The message for a caller without a key of an index.
pub(super) const NO_READER: &str = "this key opens nothing of this index. If the index has readers of its own, the \
     owner never granted this key, or revoked it (`sordino keys list`). If it has no readers of its own, use the \
     owner's reader.key";

/// The message about a manifest with another signature.
pub(super) const FOREIGN: &str = "the manifest is not signed by this owner's key: it was changed, or is another \
     owner's. Stop using this index and its server";

/// The message about a part that is not the manifest's.
pub(super) fn digest(what: &str) -> String {
    format!(
        "wrong digest of the {what}: it is damaged, or of another version. Stop using this copy, and restore it \
         from its owner or a backup"
    )
}

/// The message about a change that was interrupted.
pub(super) fn unsure(path: &Path) -> String {
    let path = path.display();
    format!(
        "the last change of {path} was interrupted, and may or may not be stored: open the index again, and compare \
         its version"
    )
}

/// The message about a change that lost to another owner's change.
pub(super) fn overtaken(path: &Path) -> String {
    let path = path.display();
    format!(
        "another owner has changed {path} meanwhile: this change was not stored; open the index again, and repeat it"
    )
}

/// The largest number of results that a search of `n` vectors can have, and why.
pub(super) fn most_results(n: usize) -> String {
    match n {
        0..1024 => format!("{n}, the number of vectors"),
        _ => "1024, the most that a search can have".to_owned(),
    }
}

/// The message about a directory that holds other files.
pub(super) fn occupied(path: &Path, entry: &Path) -> String {
    let (path, entry) = (path.display(), entry.display());
    format!(
        "{path} holds {entry}, which is not part of an index: choose a directory that is empty or new"
    )
}

/// The message about a directory without an index.
pub(super) fn no_index(path: &Path) -> String {
    let path = path.display();
    format!(
        "no index in {path}: expected the folder that `sordino index build` made; while a build runs, its folder has none yet"
    )
}

/// The message about a directory that has lost the name of its newest version.
pub(super) fn lost(path: &Path, versions: &[u64]) -> String {
    let path = path.display();
    let versions = match versions {
        [one] => format!("the manifest of version {one}"),
        [first, .., last] => format!(
            "manifests of {} versions, {first} to {last}",
            versions.len()
        ),
        [] => "manifests".to_owned(),
    };
    format!(
        "{path} has {versions} and no file CURRENT: the copy is incomplete, or a change was interrupted. Nothing was \
         changed. `sordino index restore --from-manifests {path} --key owner.pub`, with the owner's public key, takes the newest whole \
         version; for a new index choose another folder"
    )
}

/// The message about a build that does not fit into memory.
pub(super) fn memory(needed: u64, found: Option<u64>) -> String {
    const MEGA: u64 = 1_000_000;
    let needed = needed.div_ceil(MEGA);
    let found = match found {
        Some(found) => format!("{} MB are free", found / MEGA),
        None => "the system refuses them".to_owned(),
    };
    format!(
        "{needed} MB more memory are needed, and {found}: allow this process or its container more, or use a larger \
         machine. `sordino plan` predicts what a build needs, and what a server needs for payloads. A server can hold \
         one `--shard`, and with `--keep-encoded` it maps what it encodes"
    )
}

/// The message about an index that is larger than a server accepts.
pub(super) fn room(found: u64, most: u64) -> String {
    const MEBI: u64 = 1 << 20;
    let (found, most) = (found.div_ceil(MEBI), most.div_ceil(MEBI));
    format!(
        "the index needs {found} MiB with its encoded form: this server takes at most {most} MiB; start it with a \
         larger --max-index"
    )
}

/// The message about a version of the format that this program does not read.
pub(super) fn form(what: &str, found: u16, expected: u16) -> String {
    format!(
        "{what} of format version {found}, and this program reads version {expected}: use one release everywhere, and \
         build indexes of other releases again"
    )
}

/// The number of manifests that a server keeps: `history::KEPT`.
const KEPT: u64 = 256;

/// The message for a client to which a server does not show the manifests from its version to the newest. The server may hide a
/// fork or an older version in this way.
pub(super) fn gap(found: u64, pinned: u64) -> String {
    // A client that lacks at most one version more than are kept can be shown the manifests.
    let why = match found.saturating_sub(pinned) <= KEPT + 1 {
        true => {
            "the server withholds the manifests between. A server keeps and shows them unless they are very long: \
             suspect that it hides another history"
        }
        false => "a server keeps no manifests that far back, and may hide another history so",
    };
    format!(
        "nothing shows that version {found} of the index follows from version {pinned}, which this client knows: {why}. \
         Stop. Ask the index's owner through another channel before you let this client continue over the gap"
    )
}

/// An index's id as messages show it.
pub(super) fn hex(id: &[u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An id for a message. A text with spaces is in quotes, since spaces at its ends would not be visible.
pub(super) fn quoted(id: &Id) -> String {
    match id {
        Id::Text(text) if text.contains(' ') => format!("{text:?}"),
        id => id.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_away_for_few_versions_is_told_that_some_are_withheld() {
        assert_eq!(KEPT, crate::history::KEPT as u64);
        for (found, few) in [(2, true), (258, true), (259, false), (u64::MAX, false)] {
            let text = gap(found, 1);
            assert_eq!(text.contains("withholds"), few, "{text}");
            assert!(text.contains("Ask the index's owner"), "{text}");
        }
    }
}
