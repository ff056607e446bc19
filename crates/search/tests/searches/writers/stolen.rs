//! A stolen writer's key, with the help of the one who keeps the index: what it does not do. `index/src/manifest/signed/added.rs` refuses additions of
//! a wrong form; here the form is right, and the content is not.

use sordino_search::{
    Batch, Change, Client, Error, Form, Id, InProcess, Server, SignedManifest, Spec, Store,
    WriterStore,
};
use sordino_testkit::{keys, rng};

use super::bed::{Bed, NOW, writer};
use crate::readers::bed::{K, connect, masked, reader, reads, vectors, words};

/// Mallory adds records of the ids from `first` on, with the vectors of others and a text of its own, under no label.
fn add_false(bed: &mut Bed, first: u64, like: u64) {
    let ids = first..first + 40;
    let payloads = ids.clone().map(|_| b"false".to_vec()).collect();
    let batch = Batch::new(ids, vectors(like)).unwrap();
    let batch = batch.with_payloads(payloads).unwrap();
    let rng = &mut bed.rng();
    let mut store = WriterStore::open(bed.path(), &writer("mallory")).unwrap();
    store.add(rng, NOW, None, [Ok(batch)], &mut |_| ()).unwrap();
}

/// The best record for the first vector from `first` on, with its payload.
fn best(client: &Client, server: &Server, first: u64) -> (Id, Vec<u8>) {
    let mut transport = InProcess::new(server);
    let query = vectors(first).row(0).to_vec();
    let found = client.search(&mut rng(9), &mut transport, &query).unwrap();
    (found.hits[0].id.clone(), found.payloads[0].clone())
}

/// A fault of what a writer added, in this part.
fn blamed<T: std::fmt::Debug>(refused: Result<T, Error>, part: &str) {
    let Err(Error::Addition(_, fault)) = &refused else {
        panic!("{refused:?}");
    };
    assert!(
        matches!(**fault, Error::Malformed { what, .. } if what == part),
        "{fault:?}"
    );
}

/// The test runs in both modes that support writers.
fn beds() -> [Bed; 2] {
    [masked(), Form::Local].map(|form| {
        let mut bed = Bed::of(&Spec::new(form).k(K).own_readers(true));
        bed.let_write("wren", &["finance"]);
        bed.let_write("wren", &[]);
        bed.let_write("mallory", &[]);
        bed
    })
}

#[test]
fn a_record_that_came_first_is_not_hidden_by_one_of_the_same_id() {
    for mut bed in beds() {
        let mut branch = bed.branch(0);
        add_false(&mut branch, 800, 800);
        add_false(&mut branch, 200, 900);
        bed.add("wren", 200, Some("finance"));
        bed.graft(&branch, "mallory", |_| ()).unwrap();
        let server = bed.server();
        assert_eq!(server.manifest().additions().len(), 2);
        // Who can read both has what was there first, and nothing of the other.
        assert_eq!(reads(&server, &reader("alice"), &[0, 200]), [0, 200]);
        let alice = connect(&server, &reader("alice")).unwrap();
        let found = best(&alice, &server, 900);
        assert_ne!(found.1, b"false", "{found:?}");
        // Who reads no finance sees the only record of this id that it can read.
        let bob = connect(&server, &reader("bob")).unwrap();
        assert_eq!(
            best(&bob, &server, 900),
            (Id::Number(200), b"false".to_vec())
        );
        // The owner sees what came first, and with its next change so does everybody.
        let mut store = Store::open(bed.path(), &keys()).unwrap();
        assert_eq!(store.len(), 80);
        let payloads = store.payloads().unwrap().unwrap();
        assert_eq!(payloads[&Id::Number(200)], b"payload 200");
        store.delete(&mut bed.rng(), &[0u64]).unwrap();
        drop(store);
        let server = bed.server();
        assert_eq!(reads(&server, &reader("alice"), &[200]), [200]);
        let bob = connect(&server, &reader("bob")).unwrap();
        assert_ne!(best(&bob, &server, 900).1, b"false");
    }
}

#[test]
fn a_text_of_another_record_is_not_replaced() {
    for mut bed in beds() {
        let mut branch = bed.branch(1);
        // In the branch its records are in the places where wren's are here.
        add_false(&mut branch, 300, 300);
        bed.add("wren", 200, None);
        let there = bed.manifest();
        bed.graft(&branch, "mallory", |_| ()).unwrap();
        let server = bed.server();
        for name in ["alice", "bob"] {
            let refused = connect(&server, &reader(name)).map(drop);
            blamed(refused, "payload places");
        }
        // The owner changes nothing on top of it, and takes it back.
        let mut store = Store::open(bed.path(), &keys()).unwrap();
        blamed(store.delete(&mut bed.rng(), &[0u64]), "payload places");
        drop(store);
        bed.take_back(there.version).unwrap();
        assert_eq!(reads(&bed.server(), &reader("bob"), &[0, 200]), [0, 200]);
    }
}

#[test]
fn what_does_not_open_is_a_nuisance_to_its_label_and_the_owner_takes_it_back() {
    for mut bed in beds() {
        let mut old = connect(&bed.server(), &reader("alice")).unwrap();
        bed.add("wren", 200, Some("finance"));
        let there = bed.manifest();
        let mut branch = bed.branch(0);
        branch.add("wren", 300, Some("finance"));
        let garbage = bed.folder().put(&[5; 144]).unwrap();
        bed.graft(&branch, "wren", |addition| {
            addition.segments[0].segment.ids.digest = garbage;
            addition.segments[0].segment.ids.len = 144;
        })
        .unwrap();
        let server = bed.server();
        // Readers of the label refuse the version; others have no key of it.
        let refused = old.refresh(&mut InProcess::new(&server));
        blamed(refused, "ids");
        assert_eq!(reads(&server, &reader("bob"), &[0]), [0]);
        assert!(Store::open(bed.path(), &keys()).is_err());
        let none = bed.take_back(1).unwrap_err().to_string();
        assert!(none.contains("no additions were made after it"), "{none}");
        bed.take_back(there.version).unwrap();
        let server = bed.server();
        assert!(server.manifest().version > there.version + 1);
        assert_eq!(server.manifest().additions().len(), 0);
        old.refresh(&mut InProcess::new(&server)).unwrap();
        assert_eq!(reads(&server, &reader("alice"), &[0, 200, 300]), [0, 200]);
        assert!(Store::open(bed.path(), &keys()).unwrap().verify().is_ok());
        bed.add("wren", 300, Some("finance"));
        assert_eq!(
            reads(&bed.server(), &reader("alice"), &[0, 200, 300]),
            [0, 200, 300]
        );
    }
}

#[test]
fn a_revoked_writer_adds_to_no_version_that_follows() {
    for mut bed in beds() {
        let mut branch = bed.branch(0);
        add_false(&mut branch, 300, 300);
        bed.change(Change::revoke("mallory"));
        let pin = connect(&bed.server(), &reader("bob")).unwrap().pin();
        let refused = bed.graft(&branch, "mallory", |addition| addition.version += 1);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("writer"), "{refused}");
        // On the branch from before it stands, and who has seen the revocation refuses that.
        let shown = branch.server();
        let fork = Client::connect(&mut InProcess::new(&shown), &reader("bob"), Some(&pin));
        assert!(matches!(fork, Err(Error::Fork { .. })), "{fork:?}");
        let gone = bed.try_add("mallory", 300, None);
        assert!(matches!(gone, Err(Error::Access(_))), "{gone:?}");
        assert_eq!(reads(&bed.server(), &reader("bob"), &[0, 300]), [0]);
    }
}

#[test]
fn a_label_that_was_taken_away_is_written_under_no_more() {
    for mut bed in beds() {
        let mut branch = bed.branch(1);
        branch.add("wren", 300, Some("finance"));
        bed.change(Change::withdraw("wren", &words(&["finance"]), &[]));
        let refused = bed.graft(&branch, "wren", |_| ()).unwrap_err().to_string();
        assert!(refused.contains("under this label"), "{refused}");
        let refused = bed.try_add("wren", 300, Some("finance")).unwrap_err();
        assert!(refused.to_string().contains("did not grant"), "{refused}");
        bed.add("wren", 300, None);
        bed.change(Change::stop_writing("wren"));
        assert!(bed.try_add("wren", 400, None).is_err());
        // It can still read.
        assert_eq!(
            reads(&bed.server(), &writer("wren").reader(), &[0, 300]),
            [0, 300]
        );
    }
}

#[test]
fn a_key_whose_time_is_over_is_named_in_no_version_after() {
    for mut bed in beds() {
        let public = writer("old").secret().public();
        bed.change(Change::grant_writer("old", Some(&public), &[], NOW + 1));
        let named = |manifest: &SignedManifest| {
            let own = public.signing.to_bytes();
            manifest.writers.iter().any(|it| it.public == own)
        };
        // The owner's clock is past that time.
        assert!(!named(&bed.manifest()));
        let refused = bed.try_add("old", 300, None);
        assert!(matches!(refused, Err(Error::Access(_))), "{refused:?}");
        let report = Store::open(bed.path(), &keys()).unwrap().access().unwrap();
        let reading = report.readers.iter().find(|it| it.name == "old").unwrap();
        assert_eq!(reading.writing.as_ref().unwrap().until, NOW + 1);
    }
}
