//! Writers push what they added to a server that takes changes.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sordino_net::{Access, Connection, Limits, Listen, Pushed, Running, Service};
use sordino_search::manifest::Packing;
use sordino_search::{
    Batch, Change, Client, Error, Form, Index, Server, Spec, Store, WriterKeys, WriterSecret,
    WriterStore, synthetic,
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

/// A server of an index with the writers 1 and 2, whose owner has a folder of its own.
struct Team {
    folder: tempfile::TempDir,
    running: Running,
}

impl Team {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let local = folder.path().join("owner");
        let spec = Spec::new(Form::Masked(Packing::T4)).k(5).own_readers(true);
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

    /// A copy of what the server has.
    fn copy(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        Index::backup(self.path("remote"), &path, &keys().public()).unwrap();
        path
    }

    fn push(&self, dir: &Path, number: u8) -> Result<Pushed, Error> {
        connect(&self.running).push(dir, &writer(number))
    }

    fn version(&self) -> u64 {
        self.running.service().server().manifest().version
    }

    /// True if the record of this number is found.
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
    // Two additions are one manifest.
    let pushed = team.push(&one, 1).unwrap();
    assert_eq!((pushed.version, pushed.versions), (version + 1, 1));
    assert_eq!(team.version(), version + 1);
    assert!(team.finds(100) && team.finds(200));
    // Made for a version that is not the newest any more.
    add(&two, 2, 300, now());
    let refused = team.push(&two, 2);
    assert!(matches!(refused, Err(Error::NotNext(_))), "{refused:?}");
    let again = team.copy("again");
    add(&again, 2, 300, now());
    team.push(&again, 2).unwrap();
    assert!(team.finds(100) && team.finds(200) && team.finds(300));
    let manifest = team.running.service().server().manifest().clone();
    assert_eq!(manifest.additions().len(), 3);
    // The server's folder keeps the newest form and the one before it.
    let files = std::fs::read_dir(team.path("remote").join("manifests")).unwrap();
    assert!(files.count() <= 5);
    // The owner takes it in.
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
    // No writer, and a different one.
    let refused = why(team.push(&one, 7));
    assert!(refused.contains("not known"), "{refused}");
    let refused = why(team.push(&one, 2));
    assert!(refused.contains("each pushes its own"), "{refused}");
    // A time ahead of the server's clock.
    let early = team.copy("early");
    add(&early, 1, 200, now() + 3000);
    let refused = why(team.push(&early, 1));
    assert!(refused.contains("its clock is ahead"), "{refused}");
    // A version of the owner's, on the way to the server by a writer.
    let mut store = Store::open(team.path("owner"), &keys()).unwrap();
    store.delete(&mut rng(9), &[0u64]).unwrap();
    drop(store);
    let refused = team.push(&team.path("owner"), 1);
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(team.version() + 1, add(&team.copy("last"), 1, 500, now()));
    // Revoked, it pushes nothing any more.
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
