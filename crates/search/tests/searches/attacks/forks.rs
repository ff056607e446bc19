//! Forks: a server, or a backup that was changed, has two histories of one index and shows each to a different client. Or
//! the server shows a client an older version than before.

use std::path::Path;

use sordino_index::wire::Message;
use sordino_search::{
    Client, ConnectOptions, Error, Form, InProcess, Pin, Server, Spec, Store, Transport, synthetic,
};
use sordino_testkit::{keys, rng};
use tempfile::TempDir;

use super::bed::K;

const DIM: usize = 4;
/// The number of versions that the histories share, and the number of all versions.
const COMMON: u64 = 3;
const ALL: u64 = 7;

/// A history in a folder, and servers of some of its versions.
struct History {
    dir: TempDir,
    servers: Vec<Server>,
}

impl History {
    fn begin() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec::new(Form::Local).k(K);
        let batches = [Ok(synthetic::uniform(30, DIM, 1).into())];
        let made = Store::create(
            dir.path(),
            &mut rng(1),
            &keys(),
            &spec,
            batches,
            &mut |_| (),
        );
        drop(made.unwrap());
        let servers = Vec::new();
        Self { dir, servers }
    }

    /// Continues to this version, with records of this seed. Makes a server of each further
    /// version.
    fn go_on(&mut self, version: u64, seed: u64) {
        let mut store = Store::open(self.dir.path(), &keys()).unwrap();
        while store.version() < version {
            let more = synthetic::uniform(1, DIM, seed + store.version());
            store.upsert(&mut rng(2), &[7u32], &more).unwrap();
            let server = Server::open_dir(self.dir.path(), &keys().public());
            self.servers.push(server.unwrap());
        }
    }

    /// A restored backup of this history.
    fn copied(&self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(self.dir.path(), dir.path());
        let servers = Vec::new();
        Self { dir, servers }
    }

    fn server(&self, version: u64) -> &Server {
        let of = |server: &&Server| server.manifest().version == version;
        self.servers.iter().find(of).expect("a version")
    }
}

/// Copies a folder and its contents.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn connect(server: &Server, pin: Option<&Pin>) -> Result<Client, Error> {
    Client::connect(&mut InProcess::new(server), &keys().reader(), pin)
}

/// A server of the newest shared version, and two histories that continue from it.
fn histories() -> (Server, [History; 2]) {
    let mut first = History::begin();
    first.go_on(COMMON, 10);
    let mut second = first.copied();
    let common = Server::open_dir(first.dir.path(), &keys().public()).unwrap();
    first.go_on(ALL, 20);
    second.go_on(ALL, 30);
    (common, [first, second])
}

/// A client that saw one history accepts no version of the other, however long that is, and no older version of its
/// own. A client without a pin accepts all of them.
#[test]
fn who_saw_one_history_accepts_no_other() {
    let (common, [first, second]) = histories();
    for seen in COMMON + 1..=ALL {
        let pin = connect(first.server(seen), None).unwrap().pin();
        for offered in COMMON + 1..=ALL {
            let fork = connect(second.server(offered), Some(&pin)).map(drop);
            let refused = match &fork {
                Err(Error::Rollback { .. }) => offered < seen,
                Err(Error::Fork { version }) => offered >= seen && *version == offered,
                _ => false,
            };
            assert!(refused, "{seen}, {offered}: {fork:?}");
            let own = connect(first.server(offered), Some(&pin)).map(drop);
            assert_eq!(own.is_ok(), offered >= seen, "{seen}, {offered}: {own:?}");
            assert!(connect(second.server(offered), None).is_ok());
        }
        let older = connect(&common, Some(&pin)).map(drop);
        assert!(matches!(older, Err(Error::Rollback { .. })), "{older:?}");
    }
    // A pin of the shared version accepts both histories.
    let pin = connect(&common, None).unwrap().pin();
    for history in [&first, &second] {
        assert!(connect(history.server(ALL), Some(&pin)).is_ok());
    }
}

/// Two clients that saw different histories compare their pins. They notice the fork if the pins are of the first version
/// that differs, or of any later version.
#[test]
fn two_clients_that_compare_pins_see_a_fork() {
    let (_, [first, second]) = histories();
    for version in COMMON + 1..=ALL {
        let pin = |history: &History| connect(history.server(version), None).unwrap().pin();
        assert_ne!(pin(&first), pin(&second));
        assert_eq!(pin(&first), pin(&first));
    }
}

/// Clients that store their pins in one place check each other's pins. They accept older and newer pins of their own history
/// and refuse all pins of another, whatever the server shows.
#[test]
fn a_client_refuses_a_pin_of_another_history() {
    let (common, [first, second]) = histories();
    let pin = |server: &Server| connect(server, None).unwrap().pin();
    for at in COMMON + 1..=ALL {
        let client = connect(first.server(at), None).unwrap();
        let check = |server: &Server, pin: &Pin| client.check_pin(&mut InProcess::new(server), pin);
        check(first.server(ALL), &pin(&common)).unwrap();
        for seen in COMMON + 1..=ALL {
            let (own, other) = (pin(first.server(seen)), pin(second.server(seen)));
            check(first.server(ALL), &own).unwrap();
            for shown in [&first, &second] {
                let fork = check(shown.server(ALL), &other);
                assert!(
                    matches!(fork, Err(Error::Fork { version: ALL })),
                    "{at}, {seen}: {fork:?}"
                );
            }
            // A server whose version is older than one of the two pins proves nothing.
            let behind = check(first.server(at), &own);
            assert_eq!(behind.is_ok(), seen <= at, "{at}, {seen}: {behind:?}");
        }
    }
}

/// Shows no manifests between two versions, and counts how often a client asks for them.
struct Withholds<'a>(InProcess<'a>, usize);

impl Transport for Withholds<'_> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let (kind, _) = Message::read(request)?;
        if matches!(kind, Message::GetHistory) {
            self.1 += 1;
            return Ok(Message::History.with(&[]));
        }
        self.0.call(request, limit)
    }
}

/// If the next version belongs to another history, it proves the fork by itself. Withholding manifests does not turn the
/// fork into a gap, which a client may accept.
#[test]
fn a_fork_that_the_offered_version_proves_is_no_gap() {
    let (_, [first, second]) = histories();
    let reader = keys().reader();
    for seen in COMMON + 1..ALL {
        let pin = connect(first.server(seen), None).unwrap().pin();
        for offered in seen + 1..=ALL {
            let mut server = Withholds(InProcess::new(second.server(offered)), 0);
            let refused = Client::connect(&mut server, &reader, Some(&pin)).map(drop);
            let options = ConnectOptions::default().pin(Some(&pin)).over_gap(true);
            let over = Client::connect_with(&mut server, &reader, options).map(drop);
            if offered == seen + 1 {
                for refused in [refused, over] {
                    assert!(
                        matches!(refused, Err(Error::Fork { version }) if version == offered),
                        "{seen}: {refused:?}"
                    );
                }
                assert_eq!(server.1, 0, "it is refused before anything is asked");
            } else {
                assert!(matches!(refused, Err(Error::Gap { .. })), "{refused:?}");
                assert_eq!((over.is_ok(), server.1), (true, 2));
            }
        }
    }
}
