//! A revoked reader keeps everything that it ever had: its secret, its content keys, and a client that uses them on all
//! data of a server.

use sordino_search::manifest::{Manifest, PartKind};
use sordino_search::{Change, Contents, Error, Form, InProcess, Store};
use sordino_testkit::{WAYS, keys, rng};
use sordino_vault::contents::ContentKeys;

use super::bed::{Bed, EACH, connect, masked, reader, reads, words};

const ALL: [u64; 3] = [0, 100, 200];

/// The content keys that a reader gets from the current version.
fn contents(bed: &Bed, name: &str) -> Result<ContentKeys, Error> {
    let ring = bed.part(PartKind::Ring, None);
    reader(name).contents(&bed.manifest(), Some(&ring))
}

/// The segments in which these keys open ids or attributes. The flags say whether the keys open any of the deletion
/// lists, and of the payloads.
fn opened(bed: &Bed, keys: &ContentKeys) -> (Vec<usize>, bool, bool) {
    let manifest = bed.manifest();
    let manifest: &Manifest = &manifest;
    let segments = manifest.segments();
    // Tries each key, whatever number its segment has now.
    let numbers = 0..64;
    let held: Vec<_> = numbers.filter_map(|number| keys.get(number)).collect();
    let opens = |at: &usize| {
        let (segment, at) = (segments[*at], Some(*at));
        let ids = bed.part(PartKind::Ids, at);
        let attributes = bed.part(PartKind::Attributes, at);
        held.iter().any(|key| {
            key.open_ids(segment, manifest.ids, &ids).is_ok()
                || key.open_attributes(segment, &attributes).is_ok()
        })
    };
    let segments = (0..segments.len()).filter(opens).collect();
    let list = bed.part(PartKind::Deleted, None);
    // Without the lists' keys, the reader reads nothing, and nothing fails.
    let deleted = keys.open_deleted(manifest, &list);
    let dead = deleted.is_ok_and(|lists| lists.iter().any(|list| !list.is_empty()));
    let places = bed.part(PartKind::PayloadPlaces, None);
    let payloads = manifest.payloads.as_ref().unwrap();
    let opener = sordino_vault::opener::Opener::new(manifest, payloads, keys, &places);
    let records = bed.part(PartKind::Payloads, None);
    let slots = opener.and_then(|opener| opener.open_all(&records));
    (segments, dead, slots.is_ok_and(|slots| !slots.is_empty()))
}

#[test]
fn what_is_written_after_is_closed_and_compacting_closes_the_rest() {
    let ways = WAYS.map(|way| Bed::by(way, masked()));
    for mut bed in ways.into_iter().chain([Bed::new(Form::Local)]) {
        bed.grant("alice", &[], &[]);
        bed.grant("bob", &[], &[]);
        bed.add(100, None);
        let before = contents(&bed, "bob").unwrap();
        let server = bed.server();
        let mut there = connect(&server, &reader("bob")).unwrap();
        assert_eq!(reads(&server, &reader("bob"), &ALL), [0, 100]);
        assert_eq!(opened(&bed, &before), (vec![0, 1], false, true));

        bed.revoke("bob");
        let server = bed.server();
        for refused in [
            connect(&server, &reader("bob")).map(drop),
            there.refresh(&mut InProcess::new(&server)).map(drop),
        ] {
            assert!(matches!(refused, Err(Error::NoReader)), "{refused:?}");
        }
        assert!(matches!(contents(&bed, "bob"), Err(Error::NoReader)));
        // The kept keys open what was there before, except payloads, which were written again.
        assert_eq!(opened(&bed, &before), (vec![0, 1], false, false));

        bed.add(200, None);
        let rng = &mut bed.rng();
        bed.store.delete(rng, &[1u64, 101]).unwrap();
        // They open neither the new records nor the list of later deletions.
        assert_eq!(opened(&bed, &before), (vec![0, 1], false, false));
        let access = bed.store.access().unwrap();
        let former = &access.readers[1];
        assert_eq!((&former.name[..], &former.key), ("bob", &None));
        assert_eq!((former.records, former.until_compacted), (0, 2 * EACH));

        bed.compact();
        assert_eq!(opened(&bed, &before), (vec![], false, false));
        assert_eq!(bed.store.access().unwrap().readers.len(), 1);
        let server = bed.server();
        let keys = connect(&server, &reader("alice")).unwrap();
        assert_eq!(keys.manifest().readers.as_ref().unwrap().keys.len(), 1);
        assert_eq!(reads(&server, &reader("alice"), &[200]), [200]);
        // A second compaction changes nothing.
        let version = bed.store.version();
        assert_eq!(bed.compact(), version);
    }
}

/// Records get another label. After compaction, a reader who is granted their old label gets no key for their old rows or
/// payloads. If a reader lost that label before, they are under a new key. This holds even if the records were deleted
/// since.
#[test]
fn compacting_gives_a_label_that_records_left_another_key() {
    for (form, lost, deleted) in [
        (masked(), false, false),
        (Form::Local, false, false),
        (masked(), true, false),
        (masked(), false, true),
    ] {
        let mut bed = Bed::new(form);
        bed.grant("alice", &["finance"], &[]);
        bed.grant("carol", &["finance"], &[]);
        bed.add(100, Some("finance"));
        bed.add(200, Some("health"));
        if lost {
            bed.revoke("carol");
        }
        let old = bed.index();
        assert_eq!(bed.added(100, Some("health")).relabelled as u64, EACH);
        assert_eq!(bed.added(200, Some("health")).relabelled, 0);
        if deleted {
            let (rng, ids) = (&mut bed.rng(), (100..100 + EACH).collect::<Vec<u64>>());
            bed.store.delete(rng, &ids).unwrap();
        }
        assert_eq!(bed.added(300, Some("finance")).relabelled, 0);
        let stale = |bed: &Bed| bed.store.access().unwrap().labels[1].stale;
        assert_eq!(stale(&bed), EACH);
        bed.compact();
        assert_eq!(stale(&bed), 0);
        bed.grant("bob", &["finance"], &[]);
        let server = bed.server();
        let all = [0, 100, 200, 300];
        assert_eq!(reads(&server, &reader("bob"), &all), [0, 300]);
        // A reader kept the version before. Bob's keys open nothing of finance in it.
        let later = contents(&bed, "bob").unwrap();
        let (manifest, parts) = old.into_parts();
        let held: Vec<_> = (0..64).filter_map(|number| later.get(number)).collect();
        let part = |kind| parts.iter().filter(move |(part, _)| part.kind == kind);
        let opens = |at: Option<usize>, bytes: &[u8]| {
            let segment = manifest.segments()[at.unwrap()];
            held.iter()
                .any(|key| key.open_ids(segment, manifest.ids, bytes).is_ok())
        };
        let opened = part(PartKind::Ids).map(|(part, bytes)| opens(part.segment, bytes));
        // If carol lost the records without a label too, their key has changed.
        assert_eq!(opened.collect::<Vec<_>>(), [!lost, false, false]);
        let payloads = manifest.payloads.as_ref().unwrap();
        let only = |kind| &part(kind).next().unwrap().1;
        let (places, records) = (only(PartKind::PayloadPlaces), only(PartKind::Payloads));
        let opener =
            sordino_vault::opener::Opener::new(&manifest, payloads, &later, places).unwrap();
        let slots = opener.open_all(records).unwrap();
        assert_eq!(slots.len() as u64, EACH);
        let text = |slot: &sordino_index::payload::Carried| slot.payload.clone();
        assert!(
            slots
                .iter()
                .all(|(place, slot)| text(slot) == format!("payload {place}").into_bytes())
        );
    }
}

#[test]
fn a_record_that_is_replaced_or_deleted_changes_no_keys() {
    let mut bed = Bed::new(masked());
    bed.grant("alice", &["finance"], &[]);
    bed.add(100, Some("finance"));
    bed.add(100, Some("finance"));
    let rng = &mut bed.rng();
    bed.store.delete(rng, &[101u64]).unwrap();
    let number = |bed: &Bed| bed.manifest().segments().last().unwrap().key;
    let before = number(&bed);
    bed.compact();
    assert_eq!(number(&bed), before);
}

/// Without a new key, a reader who was only removed from the list can read later records.
#[test]
fn who_is_only_taken_off_the_list_reads_on() {
    let mut bed = Bed::new(masked());
    bed.grant("alice", &[], &[]);
    let kept = contents(&bed, "alice").unwrap();
    bed.add(100, None);
    assert_eq!(opened(&bed, &kept), (vec![0, 1], false, true));
}

#[test]
fn losing_a_label_or_a_group_is_being_revoked_from_it() {
    let (finance, board) = (words(&["finance"]), words(&["board"]));
    let none = words(&[]);
    let losses = [
        Change::withdraw("bob", &finance, &board),
        Change::ungroup("board"),
        Change::group("board", &none),
    ];
    for (case, loss) in losses.into_iter().enumerate() {
        let mut bed = Bed::new(masked());
        bed.change(Change::group("board", &finance)).unwrap();
        bed.grant("alice", &["finance"], &[]);
        let own = if case == 0 { &["finance"][..] } else { &[] };
        bed.grant("bob", own, &["board"]);
        bed.add(100, Some("finance"));
        let kept = contents(&bed, "bob").unwrap();
        assert_eq!(reads(&bed.server(), &reader("bob"), &ALL), [0, 100]);
        bed.change(loss).unwrap();
        bed.add(200, Some("finance"));
        let server = bed.server();
        assert_eq!(reads(&server, &reader("bob"), &ALL), [0], "{loss:?}");
        assert_eq!(reads(&server, &reader("alice"), &ALL), ALL, "{loss:?}");
        assert_eq!(opened(&bed, &kept).0, [0, 1], "{loss:?}");
        let bob = &bed.store.access().unwrap().readers[1];
        assert_eq!((bob.records, bob.until_compacted), (EACH, EACH));
        bed.compact();
        assert_eq!(opened(&bed, &kept).0, [0], "{loss:?}");
        assert_eq!(bed.store.access().unwrap().readers[1].until_compacted, 0);
        assert_eq!(reads(&bed.server(), &reader("alice"), &ALL), ALL);
    }
}

/// From the first grant until compaction, a reader with a grant has no key for the older records.
#[test]
fn folders_are_read_before_they_are_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let spec = sordino_search::Spec::new(masked());
    let (rng, owner) = (&mut rng(1), keys());
    let batches = [Ok(super::bed::batch(0))];
    let made = Store::create(dir.path(), rng, &owner, &spec, batches, &mut |_| ());
    let mut store = made.unwrap();
    store.delete(rng, &[1u64]).unwrap();
    let (public, none) = (super::bed::secret("alice").public(), words(&[]));
    let grant = Change::grant("alice", Some(&public), &none, &none);
    store.change_access(rng, grant).unwrap();
    let alice = reader("alice");
    for records in [0, EACH - 1] {
        assert_eq!(
            Store::count_dir(dir.path(), &alice).unwrap() as u64,
            records
        );
        let verified = Store::verify_dir(dir.path(), &alice).unwrap();
        assert_eq!(verified.records as u64, records);
        let contents = Contents::open_dir(dir.path(), &alice).unwrap();
        assert_eq!(contents.len() as u64, records);
        store.compact(rng, &mut |_| ()).unwrap();
    }
}

/// A reader who is granted access again reads all records again, and is no former reader any more.
#[test]
fn who_comes_back_reads_again() {
    let mut bed = Bed::new(masked());
    bed.grant("bob", &[], &[]);
    bed.revoke("bob");
    bed.add(100, None);
    bed.grant("bob", &[], &[]);
    assert_eq!(reads(&bed.server(), &reader("bob"), &ALL), [0, 100]);
    let access = bed.store.access().unwrap();
    assert_eq!(access.readers.len(), 1);
    assert_eq!(
        (access.readers[0].records, access.readers[0].until_compacted),
        (2 * EACH, 0)
    );
}

/// An index whose readers share a key becomes an index whose readers have their own keys.
#[test]
fn an_index_without_readers_of_its_own_gets_them() {
    let mut bed = Bed::made(masked(), false);
    let shared =
        sordino_search::ReaderKeys::from_content(*keys().shared().as_bytes(), keys().public());
    assert_eq!(reads(&bed.server(), &shared, &ALL), [0]);
    assert!(bed.manifest().readers.is_none() && bed.store.access().is_none());
    let none = connect(&bed.server(), &reader("alice"));
    assert!(matches!(none, Err(Error::NoReader)));
    bed.grant("alice", &[], &[]);
    bed.add(100, None);
    // No reader on the list was given the shared key, which also opens other indexes.
    let server = bed.server();
    assert_eq!(reads(&server, &reader("alice"), &ALL), [100]);
    assert_eq!(bed.store.access().unwrap().shared, EACH);
    assert!(matches!(connect(&server, &shared), Err(Error::NoReader)));
    assert_eq!(reads(&server, &keys().reader(), &ALL), [0, 100]);
    bed.compact();
    assert_eq!(reads(&bed.server(), &reader("alice"), &ALL), [0, 100]);
    assert_eq!(bed.store.access().unwrap().shared, 0);
    let old = ContentKeys::shared(keys().shared());
    assert_eq!(opened(&bed, &old), (vec![], false, false));
}
