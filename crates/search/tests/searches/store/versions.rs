//! Clients and servers that have different versions.

use sordino_search::manifest::Packing;
use sordino_search::{Client, Error, Form, InProcess, Index, Server, Store, Transport, synthetic};
use sordino_testkit::{keys, rng};

use super::bed::bed;
use super::owner::{DIM, connect, forms, spec};

#[test]
fn a_query_about_another_version_is_refused_by_name() {
    for form in forms() {
        if form == Form::Local {
            continue;
        }
        let mut bed = bed(&spec(form), 1.0);
        let old = bed.server();
        let (client, _) = connect(&old);
        bed.delete(&[8]);
        let new = bed.server();
        let (newer, _) = connect(&new);
        let query = bed.queries.row(0);
        let stale = client.search(&mut rng(1), &mut InProcess::new(&new), query);
        assert!(
            matches!(
                stale,
                Err(Error::Stale {
                    found: 1,
                    serving: 2
                })
            ),
            "{stale:?}"
        );
        let ahead = newer.search(&mut rng(1), &mut InProcess::new(&old), query);
        assert!(matches!(
            ahead,
            Err(Error::Stale {
                found: 2,
                serving: 1
            })
        ));
        let mut newer = newer;
        let back = newer.refresh(&mut InProcess::new(&old));
        assert!(matches!(
            back,
            Err(Error::Rollback {
                found: 1,
                pinned: 2
            })
        ));
        // The client did not change.
        assert!(
            newer
                .search(&mut rng(1), &mut InProcess::new(&new), query)
                .is_ok()
        );
    }
}

/// A server that fails from message number `from` on, or changes the last byte of its replies from then on.
struct Failing<'a> {
    server: &'a Server,
    calls: usize,
    from: usize,
    changes: bool,
}

impl Transport for Failing<'_> {
    fn call(&mut self, request: &[u8], _: usize) -> Result<Vec<u8>, Error> {
        self.calls += 1;
        let mut reply = self.server.handle(request)?;
        if self.calls < self.from {
            return Ok(reply);
        }
        match (self.changes, reply.last_mut()) {
            (true, Some(last)) => *last ^= 1,
            _ => return Err(Error::BadReply),
        }
        Ok(reply)
    }
}

#[test]
fn after_a_refresh_that_fails_the_client_is_as_it_was() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        let old = bed.server();
        let (mut client, _) = connect(&old);
        let query = bed.queries.row(0).to_vec();
        let search = |client: &Client| {
            let found = client.search(&mut rng(1), &mut InProcess::new(&old), &query);
            let found = found.unwrap();
            (
                found.hits,
                found.payloads,
                client.pin(),
                client.bytes_once(),
            )
        };
        let before = search(&client);
        bed.upsert(21, &[3, 4], 1.0);
        bed.delete(&[8]);
        let new = bed.server();
        let mut counted = Failing {
            server: &new,
            calls: 0,
            from: usize::MAX,
            changes: false,
        };
        connect_and_refresh(&old, &mut counted);
        assert!(counted.calls > 1, "{form:?}");
        for from in 1..=counted.calls {
            for changes in [false, true] {
                let mut failing = Failing {
                    server: &new,
                    calls: 0,
                    from,
                    changes,
                };
                let refused = client.refresh(&mut failing);
                assert!(refused.is_err(), "{form:?}, message {from}, {changes}");
                assert_eq!(search(&client), before, "{form:?}, message {from}");
            }
        }
        let followed = client.refresh(&mut InProcess::new(&new));
        assert!(followed.unwrap(), "{form:?}");
    }
}

fn connect_and_refresh(old: &Server, transport: &mut impl Transport) {
    let (mut client, _) = connect(old);
    assert!(client.refresh(transport).unwrap());
}

pub(crate) fn copy(from: &std::path::Path, to: &std::path::Path) {
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

/// A restored backup is changed differently, with the same randomness. Clients that have seen the
/// first history do not follow, and different contents never share a segment id.
#[test]
fn a_restored_backup_is_another_branch_and_shares_no_key() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        let backup = tempfile::tempdir().unwrap();
        copy(bed.dir.path(), backup.path());
        bed.upsert(21, &[3, 4], 1.0);
        let server = bed.server();
        let (mut client, _) = connect(&server);

        let mut restored = Store::open(backup.path(), &keys()).unwrap();
        let (other, _) = synthetic::clustered(2, 1, DIM, 99);
        // Uses the first branch's seed.
        restored.upsert(&mut rng(21), &[3u32, 4], &other).unwrap();
        assert_eq!(restored.version(), bed.store.version());
        let (ours, theirs) = (bed.store.manifest(), restored.manifest());
        assert_eq!(ours.segments()[0], theirs.segments()[0]);
        assert_ne!(ours.segments()[1].id, theirs.segments()[1].id);
        let restored_server = || {
            let index = Index::open_dir(backup.path(), &keys().public());
            Server::new(index.unwrap()).unwrap()
        };
        let fork = client.refresh(&mut InProcess::new(&restored_server()));
        assert!(matches!(fork, Err(Error::Fork { version: 2 })), "{form:?}");
        let stale = client.search(
            &mut rng(1),
            &mut InProcess::new(&restored_server()),
            bed.queries.row(0),
        );
        if form != Form::Local {
            assert!(matches!(
                stale,
                Err(Error::Stale {
                    found: 2,
                    serving: 2
                })
            ));
        }
        restored.delete(&mut rng(1), &[9u32]).unwrap();
        let fork = client.refresh(&mut InProcess::new(&restored_server()));
        assert!(matches!(fork, Err(Error::Fork { version: 3 })), "{form:?}");
        // This holds whatever number of versions follow.
        for id in 10..14u32 {
            restored.delete(&mut rng(1), &[id]).unwrap();
            let server = restored_server();
            let transport = &mut InProcess::new(&server);
            let fork = client.refresh(transport);
            assert!(
                matches!(fork, Err(Error::Fork { .. })),
                "{form:?}: {fork:?}"
            );
            let pin = client.pin();
            let fork = Client::connect(transport, &keys().reader(), Some(&pin));
            assert!(
                matches!(fork, Err(Error::Fork { .. })),
                "{form:?}: {fork:?}"
            );
        }
    }
}

/// A server that replays an older manifest.
pub(crate) struct Replaying<'a> {
    pub(crate) old: &'a Server,
    pub(crate) new: &'a Server,
}

impl Transport for Replaying<'_> {
    fn call(&mut self, request: &[u8], _: usize) -> Result<Vec<u8>, Error> {
        let is_manifest = request[6..8] == 101u16.to_le_bytes();
        if is_manifest { self.old } else { self.new }.handle(request)
    }
}

#[test]
fn a_replayed_manifest_gets_nobody_anywhere() {
    let mut bed = bed(&spec(Form::Masked(Packing::T4)), 1.0);
    let old = bed.server();
    bed.delete(&[8]);
    let new = bed.server();
    let mut replaying = Replaying {
        old: &old,
        new: &new,
    };
    let (mut client, _) = connect(&new);
    let replayed = client.refresh(&mut replaying);
    assert!(matches!(replayed, Err(Error::Rollback { .. })));
    let pin = client.pin();
    let pinned = Client::connect(&mut replaying, &keys().reader(), Some(&pin));
    assert!(matches!(pinned, Err(Error::Rollback { .. })));
    // A client without a pin. It asks for the parts by their version, which the server does not
    // have.
    let unpinned = Client::connect(&mut replaying, &keys().reader(), None);
    assert!(matches!(unpinned, Err(Error::Stale { .. })));
}
