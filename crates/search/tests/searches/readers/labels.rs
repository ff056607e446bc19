//! Labels and groups: results contain exactly the records that a reader may read.

use sordino_search::manifest::PartKind;
use sordino_search::{
    AccessFault, Change, Contents, Error, Filter, Form, Id, InProcess, Question, Store,
};
use sordino_testkit::{WAYS, keys, rng};

use super::bed::{Bed, EACH, batch, connect, finds, masked, reader, reads, secret, vectors, words};

const ALL: [u64; 3] = [0, 100, 200];

/// Records from 0 on without a label, from 100 on under finance, from 200 on under health.
fn labelled(form: Form) -> Bed {
    labelled_in(Bed::new(form))
}

fn labelled_in(mut bed: Bed) -> Bed {
    bed.grant("alice", &[], &[]);
    bed.grant("bob", &["finance"], &[]);
    let labels = words(&["finance", "health"]);
    bed.change(Change::group("board", &labels)).unwrap();
    bed.grant("carol", &[], &["board"]);
    bed.add(100, Some("finance"));
    bed.add(200, Some("health"));
    bed
}

#[test]
fn a_reader_finds_what_it_may_read_and_nothing_else() {
    let ways = WAYS.map(|way| Bed::by(way, masked()));
    for bed in ways.into_iter().chain([Bed::new(Form::Local)]) {
        let mut bed = labelled_in(bed);
        for _ in 0..2 {
            let server = bed.server();
            for (name, may) in [("alice", &[0][..]), ("bob", &[0, 100]), ("carol", &ALL)] {
                assert_eq!(reads(&server, &reader(name), &ALL), may, "{name}");
            }
            assert_eq!(reads(&server, &keys().reader(), &ALL), ALL);
            // A reader who was granted nothing, and the holders of the shared key.
            let shared = keys().shared();
            let shared =
                sordino_search::ReaderKeys::from_content(*shared.as_bytes(), keys().public());
            for stranger in [reader("mallory"), shared] {
                let refused = connect(&server, &stranger);
                assert!(matches!(refused, Err(Error::NoReader)), "{refused:?}");
            }
            // Adds two more segments. Compaction merges each with the segment under the same label.
            bed.add(0, None);
            bed.add(100, Some("finance"));
            assert_eq!(bed.manifest().segments().len(), 5);
            bed.compact();
            assert_eq!(bed.manifest().segments().len(), 3);
        }
    }
}

#[test]
fn a_label_that_is_granted_later_is_read_by_a_client_that_was_there_before() {
    for form in [masked(), Form::Local] {
        let mut bed = labelled(form);
        let server = bed.server();
        let mut alice = connect(&server, &reader("alice")).unwrap();
        assert_eq!(finds(&alice, &server, &ALL), [0]);
        bed.grant("alice", &["health"], &[]);
        let server = bed.server();
        assert!(alice.refresh(&mut InProcess::new(&server)).unwrap());
        assert_eq!(finds(&alice, &server, &ALL), [0, 200]);
        // A change of records keeps the grants.
        bed.add(300, Some("finance"));
        let server = bed.server();
        assert!(alice.refresh(&mut InProcess::new(&server)).unwrap());
        assert_eq!(finds(&alice, &server, &[0, 100, 200, 300]), [0, 200]);
    }
}

#[test]
fn filters_and_payloads_by_id_see_visible_records_alone() {
    WAYS.into_iter().for_each(visible_alone);
}

fn visible_alone(way: sordino_search::payload::FetchKind) {
    let bed = labelled_in(Bed::by(way, masked()));
    let server = bed.server();
    let mut transport = InProcess::new(&server);
    let alice = connect(&server, &reader("alice")).unwrap();
    let all = vectors(100);
    for text in [
        "nothing = 1",
        "number >= 100",
        "number is null",
        "not number < 40",
        // The value has another type than the attribute. A reader who sees the attribute sends the same search.
        "number = \"x\"",
        "number in (\"x\", true)",
    ] {
        let filter = Filter::parse(text).unwrap();
        let mut question = Question::new(all.row(0));
        question.filter = Some(&filter);
        let found = alice.ask(&mut rng(1), &mut transport, &question).unwrap();
        assert!(found.hits.is_empty(), "{text}: {:?}", found.hits);
    }
    let ids: Vec<Id> = [5u64, 100, 205].into_iter().map(Id::Number).collect();
    let payloads = alice.payloads(&mut rng(1), &mut transport, &ids).unwrap();
    assert_eq!(payloads, [Some(b"payload 5".to_vec()), None, None]);
    assert!(alice.attributes(&Id::Number(100)).is_none());
}

#[test]
fn a_reader_of_nothing_sends_what_others_send() {
    let mut bed = Bed::new(masked());
    bed.grant("alice", &[], &[]);
    bed.add(100, Some("finance"));
    let ids: Vec<u64> = (0..EACH).collect();
    let rng = &mut bed.rng();
    bed.store.delete(rng, &ids).unwrap();
    bed.compact();
    let server = bed.server();
    let alice = connect(&server, &reader("alice")).unwrap();
    assert_eq!(finds(&alice, &server, &[0, 100]), [0; 0]);
}

#[test]
fn labels_are_where_records_are_searched_apart_and_are_not_lost_by_accident() {
    let mut bed = labelled(masked());
    // An addition that replaces a record must name its label.
    let lost = bed.try_add(100, None);
    assert!(
        matches!(lost, Err(Error::Access(AccessFault { what: "record", .. }))),
        "{lost:?}"
    );
    bed.add(100, Some("health"));
    let server = bed.server();
    assert_eq!(reads(&server, &reader("bob"), &ALL), [0]);
    assert_eq!(reads(&server, &reader("carol"), &ALL), ALL);
    for name in ["", " finance", "a\nb", &"x".repeat(65)] {
        let none = bed.try_add(300, Some(name));
        assert!(none.is_err() || name.is_empty(), "{name:?}");
    }
    let mut open = Bed::new(Form::Open(sordino_search::manifest::Packing::T4));
    let refused = open.try_add(100, Some("finance"));
    assert!(
        matches!(refused, Err(Error::Mode { found: "open", .. })),
        "{refused:?}"
    );
    let finance = words(&["finance"]);
    let refused = open.change(Change::group("board", &finance));
    assert!(matches!(refused, Err(Error::Mode { found: "open", .. })));
    let mut shared = Bed::made(masked(), false);
    let refused = shared.try_add(100, Some("finance"));
    assert!(
        matches!(
            refused,
            Err(Error::Access(AccessFault { what: "label", .. }))
        ),
        "{refused:?}"
    );
}

#[test]
fn changes_that_cannot_be_made_change_nothing() {
    let mut bed = labelled(masked());
    let before = bed.manifest();
    let (bob, other) = (secret("bob").public(), secret("xavier").public());
    let (none, finance, board) = (words(&[]), words(&["finance"]), words(&["nobody"]));
    let changes = [
        Change::revoke("dave"),
        Change::withdraw("alice", &finance, &none),
        Change::withdraw("alice", &none, &board),
        Change::grant("dave", None, &none, &none),
        Change::grant("bob", Some(&other), &none, &none),
        Change::grant("dave", Some(&bob), &none, &none),
        Change::grant("alice", None, &none, &board),
        Change::grant("", Some(&other), &none, &none),
        Change::ungroup("nobody"),
    ];
    for change in changes {
        let refused = bed.change(change);
        assert!(matches!(refused, Err(Error::Access(_))), "{change:?}");
    }
    assert_eq!(bed.manifest(), before);
}

/// This also holds for a store in a folder.
#[test]
fn a_folder_gives_a_reader_what_it_may_read() {
    let dir = tempfile::tempdir().unwrap();
    let spec = sordino_search::Spec::new(masked()).own_readers(true);
    let (rng, owner) = (&mut rng(1), keys());
    let made = Store::create(dir.path(), rng, &owner, &spec, [Ok(batch(0))], &mut |_| ());
    let mut store = made.unwrap();
    let (alice, none) = (secret("alice").public(), words(&[]));
    store
        .change_access(rng, Change::grant("alice", Some(&alice), &none, &none))
        .unwrap();
    store
        .add_labelled(rng, Some("finance"), [Ok(batch(100))], &mut |_| ())
        .unwrap();
    store.verify().unwrap();
    drop(store);
    let keys = reader("alice");
    let contents = Contents::open_dir(dir.path(), &keys).unwrap();
    let stored = contents.all().map(|stored| stored.unwrap().ids.len());
    assert_eq!(stored.sum::<usize>() as u64, EACH);
    assert_eq!(contents.len() as u64, EACH);
    assert_eq!(contents.get(&[Id::Number(100)]).count(), 0);
    assert_eq!(contents.attributes().unwrap().columns().count(), 1);
    assert_eq!(
        Store::verify_dir(dir.path(), &keys).unwrap().records as u64,
        EACH
    );
    assert_eq!(Store::count_dir(dir.path(), &keys).unwrap() as u64, EACH);
    assert_eq!(
        Store::verify_dir(dir.path(), &owner.reader())
            .unwrap()
            .records as u64,
        2 * EACH
    );
    assert!(matches!(
        Contents::open_dir(dir.path(), &reader("mallory")),
        Err(Error::NoReader)
    ));
    // An owner that opens the store again knows which reader may read what.
    let store = Store::open(dir.path(), &owner).unwrap();
    let access = store.access().unwrap();
    assert_eq!(access.readers.len(), 1);
    assert_eq!((access.readers[0].records, access.shared), (EACH, 0));
    assert_eq!(
        store.manifest().part(PartKind::Ring, None).unwrap().segment,
        None
    );
}
