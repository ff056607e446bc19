//! Writers push their additions to a server that accepts changes.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sordino_net::{Access, Connection, Limits, Listen, Pushed, Running, Service};
use sordino_search::manifest::Packing;
use sordino_search::{
    Batch, Change, Client, Error, Files, Folder, Form, Index, Pin, Pulled, ReaderKeys, Server,
    Spec, Store, WriterKeys, WriterSecret, WriterStore, synthetic,
};
use sordino_testkit::{keys, rng};

use crate::parties::{connect, loopback};

const DIM: usize = 16;

fn writer(byte: u8) -> WriterKeys {
    WriterKeys::new(WriterSecret::from_bytes([byte; 32]), keys().public())
}

fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    elapsed.as_secs()
}

fn batch(first: u64) -> Batch {
    let vectors = synthetic::uniform(20, DIM, first);
    Batch::new(first..first + 20, vectors).unwrap()
}

/// A server of an index with the writers 1 and 2, and the owner's own folder of this index.
struct Team {
    folder: tempfile::TempDir,
    running: Running,
}

impl Team {
    fn new() -> Self {
        Self::of(Form::Masked(Packing::T4))
    }

    fn of(form: Form) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let local = folder.path().join("owner");
        let spec = Spec::new(form).k(5).own_readers(true);
        let batches = [Ok(batch(0))];
        let store = Store::create(&local, &mut rng(1), &keys(), &spec, batches, &mut |_| ());
        let mut store = store.unwrap();
        for (name, number) in [("one", 1), ("two", 2)] {
            let public = writer(number).secret().public();
            let grant = Change::grant_writer(name, Some(&public), &[], now() + 3600);
            store.change_access(&mut rng(number.into()), grant).unwrap();
        }
        let remote = folder.path().join("remote");
        Index::backup(&local, &remote, &keys().public()).unwrap();
        let server = Server::open_dir(&remote, &keys().public()).unwrap();
        let service = Service::new(server, &Access::Anyone, Limits::default()).unwrap();
        let owner = keys().public();
        service.accept_changes(&remote, &owner, 1 << 30).unwrap();
        let running = service.listen(&Listen::on(loopback())).unwrap();
        Self { folder, running }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a copy of the server's folder.
    fn copy(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        Index::backup(self.path("remote"), &path, &keys().public()).unwrap();
        path
    }

    /// Pulls the server's version into a folder.
    fn pull(&self, name: &str, keys: &ReaderKeys, pin: Option<&Pin>) -> Result<Pulled, Error> {
        let folder = Folder::new(&self.path(name), Files);
        sordino_search::pull(&mut connect(&self.running), keys, &folder, pin, |_| {
            Ok(Vec::new())
        })
    }

    /// The pin of a client that has seen the server's version.
    fn pin(&self) -> Pin {
        Pin::of(self.running.service().server().manifest())
    }

    fn push(&self, dir: &Path, number: u8) -> Result<Pushed, Error> {
        connect(&self.running).push(dir, &writer(number))
    }

    fn version(&self) -> u64 {
        self.running.service().server().manifest().version
    }

    /// True if a search finds a record of the addition that begins with this number.
    fn finds(&self, first: u64) -> bool {
        let mut connection: Connection = connect(&self.running);
        let client = Client::connect(&mut connection, &writer(1).reader(), None).unwrap();
        let query = synthetic::uniform(20, DIM, first).row(3).to_vec();
        let found = client.search(&mut rng(5), &mut connection, &query).unwrap();
        found.hits[0].id == sordino_search::Id::Number(first + 3)
    }
}

fn add(dir: &Path, number: u8, first: u64, time: u64) -> u64 {
    let mut store = WriterStore::open(dir, &writer(number)).unwrap();
    let rng = &mut rng(first);
    let added = store.add(rng, time, None, [Ok(batch(first))], &mut |_| ());
    added.unwrap().version
}

#[test]
fn writers_push_what_they_added_and_the_later_one_starts_from_that() {
    let team = Team::new();
    let (one, two) = (team.copy("one"), team.copy("two"));
    let version = add(&one, 1, 100, now());
    assert_eq!(add(&one, 1, 200, now()), version + 1);
    // The two additions are in one manifest.
    let pushed = team.push(&one, 1).unwrap();
    assert_eq!((pushed.version, pushed.versions), (version + 1, 1));
    assert_eq!(team.version(), version + 1);
    assert!(team.finds(100) && team.finds(200));
    // This addition follows a version that is not the newest any more.
    add(&two, 2, 300, now());
    let refused = team.push(&two, 2);
    assert!(matches!(refused, Err(Error::NotNext(_))), "{refused:?}");
    let again = team.copy("again");
    add(&again, 2, 300, now());
    team.push(&again, 2).unwrap();
    assert!(team.finds(100) && team.finds(200) && team.finds(300));
    let manifest = team.running.service().server().manifest().clone();
    assert_eq!(manifest.additions().len(), 3);
    // The server's folder keeps two forms of the newest version: this one and the one before.
    let files = std::fs::read_dir(team.path("remote").join("manifests")).unwrap();
    assert!(files.count() <= 5);
    // The owner includes the additions in its next change.
    let owners = team.copy("owners");
    let mut store = Store::open(&owners, &keys()).unwrap();
    store.delete(&mut rng(9), &[0u64]).unwrap();
    drop(store);
    connect(&team.running).push(&owners, &keys()).unwrap();
    assert!(team.finds(100) && team.finds(300));
    add(&owners, 1, 400, now());
    team.push(&owners, 1).unwrap();
    assert!(team.finds(400));
}

#[test]
fn a_writer_pushes_its_own_additions_in_its_time_and_nothing_else() {
    let team = Team::new();
    let one = team.copy("one");
    add(&one, 1, 100, now());
    let why = |pushed: Result<Pushed, Error>| pushed.unwrap_err().to_string();
    // The server refuses a push with a key that is no writer's, or with another writer's key.
    let refused = why(team.push(&one, 7));
    assert!(refused.contains("not known"), "{refused}");
    let refused = why(team.push(&one, 2));
    assert!(refused.contains("each pushes its own"), "{refused}");
    // The server refuses an addition whose time is too far ahead of the server's clock.
    let early = team.copy("early");
    add(&early, 1, 200, now() + 3000);
    let refused = why(team.push(&early, 1));
    assert!(refused.contains("its clock is ahead"), "{refused}");
    // A writer may not push a version of the owner.
    let mut store = Store::open(team.path("owner"), &keys()).unwrap();
    store.delete(&mut rng(9), &[0u64]).unwrap();
    drop(store);
    let refused = team.push(&team.path("owner"), 1);
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(team.version() + 1, add(&team.copy("last"), 1, 500, now()));
    // A revoked writer can push nothing any more.
    let mut store = Store::open(team.path("owner"), &keys()).unwrap();
    let stop = Change::stop_writing("one");
    store.change_access(&mut rng(10), stop).unwrap();
    drop(store);
    connect(&team.running)
        .push(team.path("owner"), &keys())
        .unwrap();
    let refused = why(team.push(&one, 1));
    assert!(refused.contains("not known"), "{refused}");
}

#[test]
fn writers_on_other_machines_start_from_what_the_server_has() {
    let team = Team::of(Form::Local);
    let keys_of = |number| writer(number).reader();
    team.pull("one", &keys_of(1), None).unwrap();
    team.pull("two", &keys_of(2), None).unwrap();
    let (one, two) = (team.path("one"), team.path("two"));
    add(&one, 1, 100, now());
    team.push(&one, 1).unwrap();
    // This addition follows a version that is not the newest any more. A pull keeps it unless its
    // writer gives it up.
    let known = Pin::of(WriterStore::open(&two, &writer(2)).unwrap().manifest());
    let own = add(&two, 2, 300, now());
    let refused = team.push(&two, 2);
    assert!(matches!(refused, Err(Error::NotNext(_))), "{refused:?}");
    let refused = team.pull("two", &keys_of(2), None);
    assert!(matches!(refused, Err(Error::Fork { .. })), "{refused:?}");
    assert_eq!(WriterStore::open(&two, &writer(2)).unwrap().version(), own);
    let pulled = team.pull("two", &keys_of(2), Some(&known)).unwrap();
    assert_eq!(pulled.version, team.version());
    assert!(
        !WriterStore::open(&two, &writer(2))
            .unwrap()
            .contains(300u64)
    );
    add(&two, 2, 300, now());
    team.push(&two, 2).unwrap();
    assert!(team.finds(100) && team.finds(300));
    // The owner's folder also pulls the additions before its next change.
    let owner = Pin::of(Store::open(team.path("owner"), &keys()).unwrap().manifest());
    team.pull("owner", &keys().reader(), None).unwrap();
    let mut store = Store::open(team.path("owner"), &keys()).unwrap();
    store.verify().unwrap();
    store.delete(&mut rng(9), &[0u64]).unwrap();
    drop(store);
    connect(&team.running)
        .push(team.path("owner"), &keys())
        .unwrap();
    assert!(team.finds(100) && team.finds(300));
    // A pull of the same version fetches nothing. A version older than the known one is refused.
    team.pull("one", &keys_of(1), None).unwrap();
    let again = team.pull("one", &keys_of(1), None).unwrap();
    assert_eq!((again.version, again.parts), (team.version(), 0));
    let later = Pin {
        version: owner.version + 1000,
        ..owner
    };
    let refused = team.pull("one", &keys_of(1), Some(&later));
    assert!(
        matches!(refused, Err(Error::Rollback { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_pull_goes_on_where_it_was_interrupted_and_takes_no_folder_of_others() {
    let team = Team::of(Form::Local);
    let reader = writer(1).reader();
    team.pull("one", &reader, None).unwrap();
    let current = team.path("one").join("CURRENT");
    std::fs::remove_file(&current).unwrap();
    team.pull("one", &reader, None).unwrap();
    assert!(current.exists());
    add(&team.path("one"), 1, 100, now());
    // An interrupted pull leaves parts without a manifest, and a lock file. The next pull succeeds.
    std::fs::create_dir_all(team.path("two")).unwrap();
    let parts = std::fs::read_dir(team.path("one").join("parts")).unwrap();
    std::fs::create_dir_all(team.path("two").join("parts")).unwrap();
    std::fs::write(team.path("two").join("LOCK"), "").unwrap();
    for part in parts.take(2) {
        let part = part.unwrap();
        std::fs::copy(
            part.path(),
            team.path("two").join("parts").join(part.file_name()),
        )
        .unwrap();
    }
    team.pull("two", &reader, None).unwrap();
    WriterStore::open(team.path("two"), &writer(2)).unwrap();
    std::fs::create_dir_all(team.path("three")).unwrap();
    std::fs::write(team.path("three").join("letter"), "dear").unwrap();
    let refused = team.pull("three", &reader, None);
    assert!(
        matches!(refused, Err(Error::Occupied { .. })),
        "{refused:?}"
    );
    // In masked mode, only the server has the rows.
    let refused = Team::new().pull("one", &reader, None);
    assert!(matches!(refused, Err(Error::Mode { .. })), "{refused:?}");
}

/// Two machines have one owner's key and copies of its folder. The second push is refused because both copies were changed,
/// and no records are lost.
#[test]
fn of_two_owners_with_one_key_the_later_is_refused_and_begins_from_the_other() {
    let team = Team::of(Form::Local);
    let (first, second) = (team.path("owner"), team.copy("second"));
    let add = |dir: &Path, number: u64, changes: u64| {
        let mut store = Store::open(dir, &keys()).unwrap();
        for at in 0..changes {
            let rng = &mut rng(number + at);
            store
                .add(rng, [Ok(batch(number + 20 * at))], &mut |_| ())
                .unwrap();
        }
        store.version()
    };
    add(&first, 100, 1);
    add(&second, 200, 2);
    let push = |dir: &Path| connect(&team.running).push(dir, &keys());
    push(&first).unwrap();
    let there = team.pin();
    // This also holds if its version number is higher than the server's.
    let refused = push(&second).unwrap_err();
    assert!(matches!(refused, Error::NotNext(_)), "{refused:?}");
    let text = refused.to_string();
    assert!(
        text.contains("both were changed, each in its own way"),
        "{text}"
    );
    assert!(text.contains("`sordino index pull`"), "{text}");
    assert!(text.contains("writers' keys"), "{text}");
    // The refusal changed nothing on either side.
    assert_eq!(team.pin(), there);
    assert!(team.finds(100) && !team.finds(200));
    let store = Store::open(&second, &keys()).unwrap();
    assert!(store.contains(200u64) && store.contains(220u64) && !store.contains(100u64));
    drop(store);
    // A pull does not overwrite the folder either. Its own records are added again to the server's version.
    let refused = team.pull("second", &keys().reader(), None);
    assert!(
        matches!(refused, Err(Error::Rollback { .. })),
        "{refused:?}"
    );
    team.pull("third", &keys().reader(), None).unwrap();
    add(&team.path("third"), 200, 2);
    push(&team.path("third")).unwrap();
    assert!(team.finds(100) && team.finds(200) && team.finds(220));
    // The first copy is now behind the server, which accepts no older version.
    let refused = push(&first).unwrap_err().to_string();
    assert!(refused.contains("an index does not go back"), "{refused}");
    team.pull("owner", &keys().reader(), None).unwrap();
    add(&first, 300, 1);
    push(&first).unwrap();
    assert!(team.finds(220) && team.finds(300));
}
