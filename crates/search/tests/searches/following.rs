//! A server that follows its index. It answers like a newly started server, and reads only new parts.

use std::fs;
use std::path::Path;

use sordino_search::manifest::{Packing, Part, PartKind};
use sordino_search::payload::FetchKind;
use sordino_search::{
    Batch, Client, Form, Id, InProcess, OpenOptions, Server, Spec, Store, synthetic,
};
use sordino_testkit::{WAYS, by, create, forms, keys, rng, strange_keys};
use tempfile::TempDir;

const DIM: usize = 16;
const N: usize = 600;

/// Indexes of every form, with payloads in the way for which clients wait the shortest time, and indexes of one form
/// with every way.
fn built() -> impl Iterator<Item = (TempDir, Store)> {
    let ways = WAYS.map(|way| build_by(way, Form::Masked(Packing::T4)));
    forms().map(build).into_iter().chain(ways)
}

/// An index whose records carry payloads that are fetched in this way.
fn build_by(way: FetchKind, form: Form) -> (TempDir, Store) {
    let (dir, store) = build_with(&by(way, Spec::new(form)));
    let payloads = store.manifest().payloads.as_ref().expect("payloads");
    assert_eq!(payloads.fetch.kind(), way);
    (dir, store)
}

fn build(form: Form) -> (TempDir, Store) {
    build_with(&Spec::new(form))
}

fn build_with(spec: &Spec) -> (TempDir, Store) {
    let batch = Batch::from(synthetic::uniform(N, DIM, 1));
    let payloads = (0..N).map(|at| vec![at.to_le_bytes()[0]; 900]).collect();
    create(&spec.clone().k(3), batch.with_payloads(payloads))
}

fn found(server: &Server, row: u64) -> Vec<(Id, Vec<u8>)> {
    let rng = &mut rng(6);
    let mut transport = InProcess::new(server);
    let client = Client::connect(&mut transport, &keys().reader(), None).expect("a client");
    let query = synthetic::uniform(1, DIM, 100 + row);
    let found = client.search(rng, &mut transport, query.row(0));
    let found = found.expect("a search");
    let ids = found.hits.into_iter().map(|hit| hit.id);
    let payloads = found.payloads;
    ids.zip(payloads).collect()
}

fn assert_alike(followed: &Server, dir: &Path) {
    let restarted = Server::open_dir(dir, &keys().public()).expect("a server");
    assert_eq!(followed.manifest(), restarted.manifest());
    for row in 0..5 {
        assert_eq!(found(followed, row), found(&restarted, row));
    }
}

fn file(dir: &Path, part: &Part) -> std::path::PathBuf {
    let name: String = part.digest.iter().map(|b| format!("{b:02x}")).collect();
    dir.join("parts").join(name)
}

#[test]
fn a_server_that_follows_answers_as_a_restarted_one() {
    for (dir, mut store) in built() {
        let rng = &mut rng(6);
        let owner = keys().public();
        let mut server = Server::open_dir(dir.path(), &owner).expect("a server");
        assert_alike(&server, dir.path());
        for step in 0..4u64 {
            match step {
                0 => store.upsert(rng, &[7u32, 5000], &synthetic::uniform(2, DIM, 200)),
                1 => store.delete(rng, &[5000u32, 11]),
                2 => store.upsert(rng, &[11u32], &synthetic::uniform(1, DIM, 201)),
                _ => store.compact(rng, &mut |_| ()),
            }
            .expect("a change");
            server = OpenOptions::new(&owner)
                .after(&server)
                .open_dir(dir.path())
                .expect("the change");
            assert_alike(&server, dir.path());
        }
        // Without a change the server stays the same.
        server = OpenOptions::new(&owner)
            .after(&server)
            .open_dir(dir.path())
            .expect("the same");
        assert_alike(&server, dir.path());
    }
}

#[test]
fn a_part_that_did_not_change_is_not_read_again() {
    for (dir, mut store) in built() {
        let owner = keys().public();
        let server = Server::open_dir(dir.path(), &owner).expect("a server");
        let old = server.manifest().parts().expect("parts");
        store
            .upsert(&mut rng(6), &[9000u32], &synthetic::uniform(1, DIM, 202))
            .expect("a change");
        // Removes or overwrites all old parts, so a server that reads one of them fails.
        let changes = [
            PartKind::Deleted,
            PartKind::Payloads,
            PartKind::PayloadPlaces,
        ];
        let kept = old.iter().filter(|part| part.holder.is_served());
        for part in kept.filter(|part| !changes.contains(&part.kind)) {
            if part.kind != PartKind::PayloadHint {
                fs::write(file(dir.path(), part), b"something else").expect("room");
            }
        }
        let followed = OpenOptions::new(&owner)
            .after(&server)
            .open_dir(dir.path())
            .expect("the change");
        assert_eq!(followed.manifest().version, 2);
        let error = Server::open_dir(dir.path(), &owner).expect_err("damaged parts");
        assert!(!error.to_string().is_empty());
        assert_eq!(found(&followed, 1).len(), 3);
        // The server of the version before still answers.
        assert_eq!(found(&server, 1).len(), 3);
    }
}

#[test]
fn a_rebuilt_index_shares_nothing() {
    let (first, _store) = build(Form::Masked(Packing::T4));
    let (second, _other) = build(Form::Open(Packing::T4));
    let owner = keys().public();
    let server = Server::open_dir(first.path(), &owner).expect("a server");
    let other = OpenOptions::new(&owner)
        .after(&server)
        .open_dir(second.path())
        .expect("another");
    assert_alike(&other, second.path());
    let stranger = strange_keys().public();
    assert!(
        OpenOptions::new(&stranger)
            .after(&server)
            .open_dir(first.path())
            .is_err()
    );
    assert!(
        OpenOptions::new(&owner)
            .after(&server)
            .open_dir(first.path().join("none"))
            .is_err()
    );
}

/// Servers show the way from every version to the newest: a server that followed step by step, although
/// it did not read the earlier manifests again, and one that missed a step.
#[test]
fn a_server_that_follows_shows_how_it_came_there() {
    let (dir, mut store) = build(Form::Local);
    let (rng, owner) = (&mut rng(6), keys().public());
    let first = Server::open_dir(dir.path(), &owner).expect("a server");
    let pin = |server: &Server| sordino_search::Pin::of(server.manifest());
    let mut pins = vec![pin(&first)];
    let mut server = first;
    for step in 0..6u64 {
        let before = server.manifest().version;
        store
            .upsert(rng, &[7u32], &synthetic::uniform(1, DIM, 300 + step))
            .expect("a change");
        if step == 3 {
            // Makes two versions at once.
            store.delete(rng, &[100u32]).expect("a change");
        }
        server = OpenOptions::new(&owner)
            .after(&server)
            .open_dir(dir.path())
            .expect("the change");
        assert!(server.manifest().version > before);
        pins.push(pin(&server));
        for known in &pins {
            let mut transport = InProcess::new(&server);
            let client = Client::connect(&mut transport, &keys().reader(), Some(known));
            assert_eq!(client.expect("a way").pin(), *pins.last().expect("a pin"));
        }
    }
}
