//! The names of an index's files. Files with other names are never removed.

use crate::digest::Digest;

pub(super) const CURRENT: &str = "CURRENT";
pub(super) const LOCK: &str = "LOCK";
pub(super) const MANIFESTS: &str = "manifests";
pub(super) const PARTS: &str = "parts";

/// The suffix of the names of files that are being written.
const TEMPORARY: &str = ".tmp";

/// A version's file name. Its length is the same for every number, so that names sort like numbers.
pub(super) fn of_version(version: u64) -> String {
    format!("{version:020}")
}

/// A part's file name.
pub(super) fn of_digest(digest: &Digest) -> String {
    blake3::Hash::from_bytes(*digest).to_hex().to_string()
}

/// The name of a file while a writer with this mark writes it.
pub(super) fn temporary(name: &str, mark: u64) -> String {
    format!("{name}.{mark:016x}{TEMPORARY}")
}

/// The version whose manifest has this name. Only one spelling is accepted, without a sign.
pub(super) fn version(name: &str) -> Option<u64> {
    let version = name.parse().ok()?;
    (of_version(version) == name).then_some(version)
}

/// The digest of the part that has this name. Only one spelling is accepted, in lower case.
pub(super) fn digest(name: &str) -> Option<Digest> {
    let digest = *blake3::Hash::from_hex(name).ok()?.as_bytes();
    (of_digest(&digest) == name).then_some(digest)
}

/// True if the name belongs to a manifest.
pub(super) fn is_manifest(name: &str) -> bool {
    version(name).is_some()
}

/// True if the name belongs to a part.
pub(super) fn is_part(name: &str) -> bool {
    digest(name).is_some()
}

/// The name of a file that is partly received. It is the same for every attempt, since each attempt continues the
/// one before.
pub(super) fn received(name: &str) -> String {
    format!("{name}{TEMPORARY}")
}

/// The final name of a file that is being written or received.
pub(super) fn finished(name: &str) -> Option<&str> {
    let name = name.strip_suffix(TEMPORARY)?;
    let is_mark = |mark: &str| {
        let mark = mark.as_bytes();
        mark.len() == 16 && mark.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    };
    let marked = name.rsplit_once('.').filter(|(_, mark)| is_mark(mark));
    Some(marked.map_or(name, |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_as_they_are_written_are_read() {
        for number in [0, 7, u64::MAX] {
            assert_eq!(version(&of_version(number)), Some(number));
        }
        for other in ["7", "+0000000000000000007", "00000000000000000007.tmp", ""] {
            assert_eq!(version(other), None, "{other}");
        }
        let name = of_digest(&[0xab; 32]);
        assert_eq!(digest(&name), Some([0xab; 32]));
        for other in [
            name.to_uppercase(),
            temporary(&name, 7),
            name[1..].to_owned(),
        ] {
            assert_eq!(digest(&other), None, "{other}");
        }
        assert_eq!(finished(&temporary(&name, u64::MAX)), Some(&name[..]));
        assert_eq!(finished(&received(&name)), Some(&name[..]));
        assert_eq!(finished("base.index.tmp"), Some("base.index"));
        assert_eq!(finished("thesis.tm"), None);
    }
}
