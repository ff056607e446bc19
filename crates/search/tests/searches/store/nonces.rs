//! Each key and nonce, and each pad, encrypts only one content, whatever happens to a folder and to the
//! owner's generator.

use std::collections::HashMap;
use std::path::Path;

use rand::RngExt;
use sordino_search::manifest::{Mode, Packing, Routing, SignedManifest};
use sordino_search::{Batch, Digest, Form, Metric, Spec, Store, Vectors, synthetic};
use sordino_testkit::{keys, rng, sealed};
use tempfile::TempDir;

use super::owner::{DIM, spec};

/// For each kind of id, each id and each version, the digest of what was encrypted under its key.
type Seen = HashMap<(&'static str, [u8; 16], u64), Digest>;

/// Notes everything that the manifests in a folder name.
fn note(dir: &Path, seen: &mut Seen) {
    for entry in std::fs::read_dir(dir.join("manifests")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let manifest = SignedManifest::from_bytes(&bytes, &keys().public()).unwrap();
        let mut note = |what, id: &[u8; 16], version, digest: Digest| {
            let first = *seen.entry((what, *id, version)).or_insert(digest);
            assert_eq!(first, digest, "{what} of version {version}");
        };
        for segment in manifest.segments() {
            note("rows", &segment.id, segment.version, segment.rows);
            note("ids", &segment.id, segment.version, segment.ids.digest);
        }
        let deleted = &manifest.deleted;
        note("deleted", &deleted.id, deleted.version, deleted.rows.digest);
        if let Some(payloads) = &manifest.payloads {
            note("payloads", &payloads.id, payloads.version, payloads.content);
            note(
                "ids",
                &payloads.id,
                payloads.version,
                payloads.places.digest,
            );
        }
        if let Mode::Sealed(mode) = &manifest.mode {
            note("buckets", &mode.base.id, mode.base.version, mode.buckets);
            note(
                "centroids",
                &mode.base.id,
                mode.base.version,
                mode.centroids,
            );
        }
    }
}

fn copy(from: &Path) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    for sub in ["", "manifests", "parts"] {
        std::fs::create_dir_all(to.path().join(sub)).unwrap();
        for entry in std::fs::read_dir(from.join(sub)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), to.path().join(sub).join(entry.file_name())).unwrap();
            }
        }
    }
    to
}

/// A small number of different sets of vectors, so that contents recur. Some sets differ in only one
/// coordinate.
fn vectors(kind: u32, count: usize) -> Vectors {
    let vectors = synthetic::uniform(count, DIM, u64::from(kind / 2));
    let mut data = vectors.as_slice().to_vec();
    if kind % 2 == 1 {
        data[3] = -data[3];
    }
    Vectors::new(DIM, data).unwrap()
}

/// Restores backups and changes them, changes copies with a common past, and resets the generator before
/// each change.
fn ordeal(spec: &Spec, steps: usize) {
    let mut chance = rng(77);
    let mut seen = Seen::new();
    let first = tempfile::tempdir().unwrap();
    let batches = [Ok(vectors(0, 300).into())];
    Store::create(
        first.path(),
        &mut rng(1),
        &keys(),
        spec,
        batches,
        &mut |_| (),
    )
    .unwrap();
    let mut folders = vec![first];
    for _ in 0..steps {
        let at = chance.random_range(0..folders.len());
        if chance.random_range(0..4) == 0 {
            let backup = copy(folders[at].path());
            folders.push(backup);
        }
        let mut store = Store::open(folders[at].path(), &keys()).unwrap();
        let again = &mut rng(1);
        let start = chance.random_range(0..3u32) * 100;
        let ids: Vec<u32> = (start..start + 3).collect();
        let made = match chance.random_range(0..8) {
            0..=3 => store.upsert(again, &ids, &vectors(chance.random_range(0..4), 3)),
            4 => {
                let payloads = vec![vec![chance.random_range(0..3u8); 5]; 3];
                let batch =
                    Batch::new(ids, vectors(0, 3)).and_then(|it| it.with_payloads(payloads));
                let added = store.add(again, [batch], &mut |_| ());
                added.map(|added| added.version)
            }
            5 => store.compact(again, &mut |_| ()),
            _ => store.delete(again, &ids),
        };
        // A deletion of a missing record fails.
        drop(made);
        note(folders[at].path(), &mut seen);
    }
    let versions: std::collections::HashSet<u64> =
        seen.keys().map(|(_, _, version)| *version).collect();
    assert!(
        seen.len() > 2 * versions.len(),
        "{} of {versions:?}",
        seen.len()
    );
}

#[test]
fn no_key_and_nonce_meets_two_contents() {
    for form in [Form::Masked(Packing::T4), Form::Local] {
        ordeal(&spec(form), 60);
    }
    for routing in Routing::ALL {
        ordeal(&spec(sealed(routing)), 12);
    }
    let metric = Metric::Euclidean;
    ordeal(&spec(Form::Masked(Packing::T8)).metric(metric), 20);
}
