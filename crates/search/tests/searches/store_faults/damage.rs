//! Files that are damaged or missing.

use std::path::Path;

use sordino_search::OwnerPublicKey;
use sordino_search::{Error, Form, Index, Store};
use sordino_testkit::keys;

use super::owner::{base, forms};
use super::power::{files, write_all};

/// Opens a directory in every possible way.
pub(crate) fn read(
    dir: &Path,
    owner: &OwnerPublicKey,
) -> (Result<Index, Error>, Result<(), Error>) {
    let index = Index::open_dir(dir, owner);
    let store = Store::open(dir, &keys()).and_then(|store| store.verify().map(drop));
    (index, store)
}

#[test]
fn every_flipped_byte_is_an_error_or_changes_nothing() {
    let owner = keys().public();
    for form in forms() {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let whole = Index::open_dir(start.path(), &owner).unwrap();
        let before = files(start.path());
        for (path, bytes) in &before {
            if path.ends_with("LOCK") {
                continue;
            }
            // In long files only some bytes, by a stride that has no factor in common with fields;
            // of the masked form all.
            let every = matches!(form, Form::Masked(_)) || bytes.len() < 300;
            let stride = if every { 1 } else { bytes.len() / 150 * 2 + 1 };
            for at in (0..bytes.len()).step_by(stride) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                std::fs::write(start.path().join(path), &flipped).unwrap();
                let index = Index::open_dir(start.path(), &owner);
                if let Ok(index) = index {
                    assert_eq!(index, whole, "{} byte {at}", path.display());
                    // A server does not read the owner's parts, nor old manifests.
                }
                if at % 128 == 0 {
                    // Files that opening removes as left over must not be removed for a wrong reason.
                    let store = Store::open(start.path(), &keys());
                    let store = store.and_then(|store| store.verify().map(drop));
                    assert!(store.is_err(), "{} byte {at}", path.display());
                    write_all(start.path(), &before);
                }
            }
            std::fs::write(start.path().join(path), bytes).unwrap();
        }
        let (index, store) = read(start.path(), &owner);
        assert_eq!(index.unwrap(), whole);
        store.unwrap();
    }
}

#[test]
fn every_truncated_or_missing_file_is_an_error_or_changes_nothing() {
    let owner = keys().public();
    for form in forms() {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let whole = Index::open_dir(start.path(), &owner).unwrap();
        let before = files(start.path());
        let manifests = before
            .iter()
            .filter(|(path, _)| path.starts_with("manifests"));
        let oldest = manifests.map(|(path, _)| path).min();
        for (path, bytes) in &before {
            if path.ends_with("LOCK") {
                continue;
            }
            let stride = bytes.len() / 12 + 1;
            let lengths = (0..bytes.len()).step_by(stride).chain([bytes.len() - 1]);
            let mut cases: Vec<Option<Vec<u8>>> =
                lengths.map(|len| Some(bytes[..len].to_vec())).collect();
            cases.push(Some([&bytes[..], &[0]].concat()));
            cases.push(None);
            for case in cases {
                let target = start.path().join(path);
                match &case {
                    Some(bytes) => std::fs::write(&target, bytes).unwrap(),
                    None => std::fs::remove_file(&target).unwrap(),
                }
                let (index, store) = read(start.path(), &owner);
                if let Ok(index) = index {
                    assert_eq!(index, whole, "{}", path.display());
                }
                // A history begins where older versions were forgotten.
                let forgotten = case.is_none() && Some(path) == oldest;
                let len = case.map(|bytes| bytes.len());
                let refused = store.is_err() || forgotten;
                assert!(refused, "{} of {len:?} bytes", path.display());
                write_all(start.path(), &before);
            }
        }
    }
}
