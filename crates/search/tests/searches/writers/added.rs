//! Records that a writer adds, and the readers who find them.

use sordino_search::{Client, Error, Form, InProcess, Spec, Store, WriterStore};
use sordino_testkit::{GET_HISTORY, Hostile, WAYS, by, keys, kind};

use super::bed::{Bed, NOW, UNTIL, writer};
use crate::readers::bed::{K, batch, connect, finds, masked, reader, reads, vectors};

#[test]
fn what_a_writer_adds_is_found_by_those_who_may_read_it() {
    for way in WAYS {
        let mut bed = Bed::of(&by(way, Spec::new(masked()).k(K).own_readers(true)));
        let main = bed.manifest().payloads.as_ref().unwrap().fetch.kind();
        assert_eq!(main, way);
        bed.let_write("wren", &["finance"]);
        bed.owner_adds(100, Some("finance"));
        let before = bed.server();
        let mut alice = connect(&before, &reader("alice")).unwrap();
        bed.add("wren", 200, Some("finance"));
        bed.add("wren", 300, Some("finance"));
        let server = bed.server();
        let all = [0, 100, 200, 300];
        assert_eq!(reads(&server, &reader("alice"), &all), all);
        assert_eq!(reads(&server, &reader("bob"), &all), [0]);
        assert_eq!(reads(&server, &writer("wren").reader(), &all), all);
        assert_eq!(reads(&server, &keys().reader(), &all), all);
        // An existing client follows without asking for versions between, because the newest version
        // contains them.
        let mut shows = Hostile::new(&server, |_, _| ());
        assert!(alice.refresh(&mut shows).unwrap());
        assert!(shows.requests.iter().all(|it| kind(it) != GET_HISTORY));
        assert_eq!(finds(&alice, &server, &all), all);
        let manifest = bed.manifest();
        assert_eq!(manifest.additions().len(), 2);
        // The main pages do not change.
        assert_eq!(manifest.payloads, before.manifest().payloads);
    }
}

#[test]
fn the_owner_takes_in_what_was_added() {
    takes_in(Bed::new());
}

/// Clients hold the whole index, and score the records that a writer sealed.
#[test]
fn the_owner_takes_in_what_was_added_in_local_mode() {
    takes_in(Bed::of(&Spec::new(Form::Local).k(K).own_readers(true)));
}

fn takes_in(mut bed: Bed) {
    bed.let_write("wren", &[]);
    bed.let_write("finch", &["finance"]);
    let old = bed.server();
    let mut bob = connect(&old, &reader("bob")).unwrap();
    bed.add("wren", 100, None);
    bed.add("finch", 200, Some("finance"));
    bed.add("wren", 300, None);
    let store = bed.owner();
    let by: Vec<Option<&str>> = store.additions().map(|(name, _)| name).collect();
    assert_eq!(by, [Some("wren"), Some("finch"), Some("wren")]);
    assert_eq!(store.len(), 160);
    store.verify().unwrap();
    drop(store);
    Store::verify_dir(bed.path(), &reader("bob")).unwrap();
    bed.owner_adds(400, None);
    let all = [0, 100, 200, 300, 400];
    let server = bed.server();
    let base = server.manifest();
    assert_eq!(base.additions().len(), 0);
    assert!(base.segments().iter().all(|it| !base.is_added(it)));
    assert_eq!(reads(&server, &reader("alice"), &all), all);
    bob.refresh(&mut InProcess::new(&server)).unwrap();
    assert_eq!(finds(&bob, &server, &all), [0, 100, 300, 400]);
    // After compaction the results are the same, and writers can continue.
    bed.owner().compact(&mut bed.rng(), &mut |_| ()).unwrap();
    bed.add("finch", 500, Some("finance"));
    let (server, all) = (bed.server(), [0, 100, 200, 300, 400, 500]);
    assert_eq!(reads(&server, &reader("alice"), &all), all);
    assert_eq!(reads(&server, &reader("bob"), &all), [0, 100, 300, 400]);
    // Every version exists and names the version before. Versions that another version contains have no files of
    // their own.
    let store = bed.owner();
    let versions = store.history().unwrap();
    assert!(versions.last().unwrap().is_first());
    let named = versions
        .windows(2)
        .all(|it| it[0].previous == it[1].digest());
    assert!(named);
    let made: Vec<usize> = versions.iter().map(|it| it.additions().len()).collect();
    assert_eq!(made[..7], [1, 0, 0, 3, 2, 1, 0]);
    let files = std::fs::read_dir(bed.path().join("manifests"))
        .unwrap()
        .count();
    assert!(files < versions.len(), "{files} of {}", versions.len());
    let mut log = sordino_search::log::Log::new(&keys());
    let appended = log.append(versions.iter().rev(), &keys()).unwrap();
    assert_eq!(appended, versions.len());
    // A copy has all versions, too.
    let copy = tempfile::tempdir().unwrap();
    sordino_search::Index::backup(bed.path(), copy.path(), &keys().public()).unwrap();
    drop(store);
    let copied = Store::open(copy.path(), &keys()).unwrap();
    assert_eq!(copied.history().unwrap(), versions);
}

#[test]
fn a_second_look_finds_what_was_added() {
    let spec = Spec::new(masked()).k(K).own_readers(true);
    let mut bed = Bed::of(&spec.second_look(Some(16)));
    bed.let_write("wren", &["finance"]);
    bed.add("wren", 200, Some("finance"));
    let server = bed.server();
    assert_eq!(reads(&server, &reader("alice"), &[0, 200]), [0, 200]);
    bed.owner_adds(300, None);
    let server = bed.server();
    assert_eq!(
        reads(&server, &reader("alice"), &[0, 200, 300]),
        [0, 200, 300]
    );
}

/// Two writers who start from one version cannot both make the next one. The later writer opens the newest
/// version and adds to it.
#[test]
fn of_two_who_add_at_once_one_is_told_to_wait() {
    let mut bed = Bed::new();
    bed.let_write("wren", &[]);
    bed.let_write("finch", &[]);
    let held = WriterStore::open(bed.path(), &writer("wren")).unwrap();
    let refused = bed.try_add("finch", 200, None);
    assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    drop(held);
    bed.add("finch", 200, None);
    bed.add("wren", 100, None);
    assert_eq!(
        reads(&bed.server(), &reader("bob"), &[0, 100, 200]),
        [0, 100, 200]
    );
}

#[test]
fn after_64_additions_the_owner_is_asked_for_and_its_change_makes_room() {
    let mut bed = Bed::new();
    bed.let_write("wren", &[]);
    let keys = writer("wren");
    for at in 0..64 {
        let mut store = WriterStore::open(bed.path(), &keys).unwrap();
        assert_eq!(store.additions_left(), 64 - at);
        let first = u64::try_from(at).unwrap() * 40 + 100;
        let rng = &mut bed.rng();
        store
            .add(rng, NOW, None, [Ok(batch(first))], &mut |_| ())
            .unwrap();
    }
    let refused = bed.try_add("wren", 5000, None).unwrap_err().to_string();
    assert!(refused.contains("the owner's next change"), "{refused}");
    assert_eq!(bed.manifest().recent.len(), 64);
    // The change itself writes no payloads, but it merges the payloads of the additions.
    bed.owner().delete(&mut bed.rng(), &[0u64]).unwrap();
    assert!(bed.manifest().recent.len() <= 24);
    bed.add("wren", 5000, None);
    let firsts = [100, 140, 2620, 5000];
    assert_eq!(reads(&bed.server(), &reader("bob"), &firsts), firsts);
}

#[test]
fn what_a_writer_may_not_add_is_refused_with_what_to_do() {
    let mut bed = Bed::new();
    bed.let_write("wren", &["finance"]);
    let refused = |bed: &mut Bed, name: &str, first: u64, label: Option<&str>| {
        bed.try_add(name, first, label).unwrap_err().to_string()
    };
    let expected = |why: String, part: &str| assert!(why.contains(part), "{why}: {part}");
    let before = bed.manifest();
    expected(refused(&mut bed, "wren", 200, None), "without a label");
    expected(refused(&mut bed, "wren", 200, Some("hr")), "did not grant");
    expected(
        refused(&mut bed, "finch", 200, Some("finance")),
        "none of the index's writers",
    );
    expected(
        refused(&mut bed, "wren", 20, Some("finance")),
        "does not replace",
    );
    let mut store = WriterStore::open(bed.path(), &writer("wren")).unwrap();
    let may = [Some("finance"), Some("hr"), Some(""), None].map(|label| store.may_add(label));
    assert_eq!(may, [true, false, false, false]);
    let rng = &mut bed.rng();
    let mut add = |now, batch| store.add(rng, now, Some("finance"), [Ok(batch)], &mut |_| ());
    expected(add(UNTIL, batch(200)).unwrap_err().to_string(), "has ended");
    let unnamed = add(NOW, vectors(200).into()).unwrap_err().to_string();
    expected(unnamed, "names the id of each");
    let none = sordino_search::Vectors::new(8, vec![1.0; 8]).unwrap();
    let wrong = sordino_search::Batch::new([900u64], none).unwrap();
    assert!(matches!(add(NOW, wrong), Err(Error::Dimension { .. })));
    drop(store);
    // Nothing of the refused addition is left.
    assert_eq!(bed.manifest(), before);
    let folder = bed.folder();
    assert!(folder.missing(&before).unwrap().is_empty());
    let parts = std::fs::read_dir(bed.path().join("parts")).unwrap().count();
    let named = before.parts().unwrap();
    let stored = named.iter().filter(|part| part.holder.is_stored()).count();
    assert!(parts <= stored, "{parts} of {stored}");
}

#[test]
fn other_modes_have_no_writers() {
    for form in sordino_testkit::forms() {
        if matches!(form, Form::Masked(_) | Form::Local) {
            continue;
        }
        let (_dir, mut store) = sordino_testkit::create(&Spec::new(form).k(K), Ok(batch(0)));
        let public = writer("wren").secret().public();
        let grant = sordino_search::Change::grant_writer("wren", Some(&public), &[], UNTIL);
        let refused = store.change_access(&mut sordino_testkit::rng(3), grant);
        let named = matches!(
            refused,
            Err(Error::Mode {
                expected: "masked or local for writers",
                ..
            })
        );
        assert!(named, "{refused:?}");
    }
}

/// A client with a version older than the base is shown only the bases between.
#[test]
fn a_client_that_was_away_is_shown_the_way() {
    let mut bed = Bed::new();
    bed.let_write("wren", &[]);
    let pin = connect(&bed.server(), &reader("bob")).unwrap().pin();
    for round in 0..3 {
        for at in 0..3 {
            bed.add("wren", 100 + 1000 * round + 100 * at, None);
        }
        bed.owner_adds(500 + 1000 * round, None);
    }
    bed.add("wren", 9000, None);
    let server = bed.server();
    let mut shown = 0;
    let mut transport = Hostile::new(&server, |request, reply| {
        if kind(request) == GET_HISTORY {
            shown = reply.len();
        }
    });
    Client::connect(&mut transport, &reader("bob"), Some(&pin)).unwrap();
    assert!(shown > 0);
    // The client is shown three bases and the last forms of two more, not each of the eleven
    // versions.
    let newest = bed.manifest().to_bytes().len();
    assert!(shown < 7 * newest, "{shown} bytes, the newest has {newest}");
    let other = sordino_search::Pin {
        manifest: [7; 32],
        ..pin
    };
    let fork = Client::connect(&mut InProcess::new(&server), &reader("bob"), Some(&other));
    assert!(matches!(fork, Err(Error::Fork { .. })), "{fork:?}");
}

/// For a client with a version from before the forgotten history, there is a gap. Clients of the newest version
/// follow as usual.
#[test]
fn manifests_of_old_versions_are_forgotten_on_purpose() {
    let mut bed = Bed::of(&Spec::new(Form::Local).k(K).own_readers(true));
    bed.let_write("wren", &[]);
    let old = sordino_search::Pin::of(&bed.manifest());
    for round in 0..3 {
        bed.add("wren", 100 + 1000 * round, None);
        bed.add("wren", 200 + 1000 * round, None);
        bed.owner_adds(500 + 1000 * round, None);
    }
    let known = sordino_search::Pin::of(&bed.manifest());
    bed.add("wren", 9000, None);
    let files = |bed: &Bed| {
        std::fs::read_dir(bed.path().join("manifests"))
            .unwrap()
            .count()
    };
    let before = files(&bed);
    let store = bed.owner();
    let all = store.history().unwrap().len();
    let removed = store.forget_versions(4).unwrap();
    assert!(removed > 0 && files(&bed) == before - removed);
    // A remaining form also contains one earlier version.
    let kept = store.history().unwrap().len();
    assert!((5..=8).contains(&kept) && kept < all, "{kept} of {all}");
    store.verify().unwrap();
    store.check_pin(&known).unwrap();
    let gap = store.check_pin(&old).unwrap_err().to_string();
    assert!(gap.contains("version"), "{gap}");
    drop(store);
    let server = bed.server();
    let connect = |pin| Client::connect(&mut InProcess::new(&server), &reader("bob"), Some(pin));
    assert!(connect(&known).is_ok());
    assert!(matches!(connect(&old), Err(Error::Gap { .. })));
    bed.owner_adds(9500, None);
    bed.add("wren", 9600, None);
    let firsts = [100, 1200, 9000, 9500, 9600];
    assert_eq!(reads(&bed.server(), &reader("bob"), &firsts), firsts);
    let copy = tempfile::tempdir().unwrap();
    sordino_search::Index::backup(bed.path(), copy.path(), &keys().public()).unwrap();
    Store::open(copy.path(), &keys()).unwrap().verify().unwrap();
}
