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

/// Manifests that a server keeps, as `history::KEPT` has it.
const KEPT: u64 = 256;

/// Said to a client that is not shown the way from its version to the newest. It may be a fork or an older version that the server
/// hides so.
pub(super) fn gap(found: u64, pinned: u64) -> String {
    // A client that lacks one version more than are kept is shown the way.
    let why = match found.saturating_sub(pinned) <= KEPT + 1 {
        true => {
            "the server withholds the manifests between, which one that has the index's folder keeps and shows unless they are very \
             long: suspect that it hides another history"
        }
        false => "a server keeps no manifests that far back, and may hide another history so",
    };
    format!(
        "nothing shows that version {found} of the index follows from version {pinned}, which this client knows: {why}. Ask the \
         index's owner, by another way, before you let this client go on over the gap"
    )
}

/// An index's id as it is printed.
pub(super) fn hex(id: &[u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
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
