//! A client's pin, and the versions that follow from it.

use sordino_search::manifest::{Mode, Packing};
use sordino_search::{Client, ConnectOptions, Error, Form, InProcess, Index, Pin, Server};
use sordino_testkit::{GET_HISTORY, Hostile, keys, kind, rng};

use super::bed::bed;
use super::owner::{connect, spec};

fn masked() -> sordino_search::Spec {
    spec(Form::Masked(Packing::T4))
}

fn follow(server: &Server, pin: &Pin) -> Result<Client, Error> {
    Client::connect(&mut InProcess::new(server), &keys().reader(), Some(pin))
}

#[test]
fn a_pinned_client_follows_the_index_over_any_number_of_versions() {
    let mut bed = bed(&masked(), 1.0);
    let (client, _) = connect(&bed.server());
    let pin = client.pin();
    assert_eq!(pin, Pin::of(bed.store.manifest()));
    let mut late = client;
    for id in 0..9 {
        bed.delete(&[id]);
        let server = bed.server();
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), Some(&pin)).unwrap();
        assert_eq!(client.manifest(), bed.store.manifest());
        // If the version follows the pinned one directly, its manifest names that one. Otherwise
        // the client asks for the chain.
        let asked = transport.take_exchanges().iter().any(|e| e.kind == 111);
        assert_eq!(asked, id > 0);
    }
    let server = bed.server();
    assert!(late.refresh(&mut InProcess::new(&server)).unwrap());
    assert_eq!(late.pin(), Pin::of(bed.store.manifest()));
    bed.recall(&server, &late);
}

#[test]
fn another_index_of_the_owner_is_refused_before_its_version_is_looked_at() {
    let mut bed = bed(&masked(), 1.0);
    bed.delete(&[1]);
    let (client, _) = connect(&bed.server());
    let other = super::bed::bed(&spec(Form::Local), 1.0);
    // Versions before the pinned one, equal to it, and after it.
    for version in [1, 2, 9] {
        let pin = Pin {
            version,
            ..client.pin()
        };
        let refused = follow(&other.server(), &pin).unwrap_err();
        assert!(matches!(refused, Error::OtherIndex { .. }), "{refused}");
        assert!(
            refused.to_string().contains("this client knows index"),
            "{refused}"
        );
    }
    let pin = Pin {
        manifest: [1; 32],
        ..client.pin()
    };
    let refused = follow(&bed.server(), &pin).unwrap_err();
    assert!(matches!(refused, Error::Fork { version: 2 }), "{refused}");
}

#[test]
fn a_gap_is_refused_unless_the_caller_accepts_it() {
    let mut bed = bed(&masked(), 1.0);
    let (client, _) = connect(&bed.server());
    let pin = client.pin();
    for id in 0..4 {
        bed.delete(&[id]);
    }
    // An index in one file has no earlier manifests.
    let index = Index::open_dir(bed.dir.path(), &keys().public()).unwrap();
    let index = Index::from_bytes(&index.to_bytes(), &keys().public()).unwrap();
    let server = Server::new(index).unwrap();
    let refused = follow(&server, &pin).unwrap_err();
    assert!(
        matches!(
            refused,
            Error::Gap {
                found: 5,
                pinned: 1
            }
        ),
        "{refused}"
    );
    let mut late = client;
    let refused = late.refresh(&mut InProcess::new(&server));
    assert!(matches!(refused, Err(Error::Gap { .. })), "{refused:?}");
    let over_by = |server: &Server, pin: &Pin| {
        let transport = &mut InProcess::new(server);
        let options = ConnectOptions::default().pin(Some(pin)).over_gap(true);
        Client::connect_with(transport, &keys().reader(), options)
    };
    let over = |pin: &Pin| over_by(&server, pin);
    assert_eq!(over(&pin).unwrap().manifest(), bed.store.manifest());
    // An accepted gap permits nothing else.
    let newer = Pin { version: 6, ..pin };
    assert!(matches!(over(&newer), Err(Error::Rollback { .. })));
    let other = Pin {
        index: [1; 16],
        ..pin
    };
    assert!(matches!(over(&other), Err(Error::OtherIndex { .. })));
    let forked = Pin {
        manifest: [1; 32],
        ..pin
    };
    let forked = over_by(&bed.server(), &forked);
    assert!(matches!(forked, Err(Error::Fork { version: 5 })));

    // If a manifest is missing in the folder, the chain ends there.
    let third = bed.dir.path().join("manifests").join(format!("{:020}", 3));
    std::fs::remove_file(third).unwrap();
    let refused = follow(&bed.server(), &pin).unwrap_err();
    assert!(matches!(refused, Error::Gap { .. }), "{refused}");
}

#[test]
fn a_changed_chain_is_refused() {
    let mut bed = bed(&masked(), 1.0);
    let (client, _) = connect(&bed.server());
    let pin = client.pin();
    for id in 0..4 {
        bed.delete(&[id]);
    }
    let server = bed.server();
    let lied = |change: &mut dyn FnMut(&mut Vec<u8>)| {
        // The server changes the earlier manifests that it shows.
        let mut liar = Hostile::new(&server, |request, reply| {
            if kind(request) == GET_HISTORY {
                change(reply);
                let len = (reply.len().max(16) - 16) as u64;
                if let Some(field) = reply.get_mut(8..16) {
                    field.copy_from_slice(&len.to_le_bytes());
                }
            }
        });
        Client::connect(&mut liar, &keys().reader(), Some(&pin)).map(drop)
    };
    let mut len = 0;
    assert!(lied(&mut |reply| len = reply.len()).is_ok());
    for at in (16..len).step_by(97) {
        let refused = lied(&mut |reply| reply[at] ^= 1);
        assert!(refused.is_err(), "byte {at}");
        let refused = lied(&mut |reply| reply.truncate(at));
        assert!(refused.is_err(), "length {at}");
    }
    assert!(lied(&mut |reply| reply.truncate(16)).is_err());
    // The chain has the first manifest twice, and then not at all. Both are refused.
    let first = |reply: &[u8]| {
        let len = u32::from_le_bytes(reply[16..20].try_into().unwrap());
        20 + usize::try_from(len).unwrap()
    };
    assert!(
        lied(&mut |reply| {
            let again = reply[16..first(reply)].to_vec();
            reply.splice(16..16, again);
        })
        .is_err()
    );
    assert!(
        lied(&mut |reply| {
            reply.drain(16..first(reply));
        })
        .is_err()
    );
}

/// A compaction that writes all segments again draws a new seed, so queries before and after it
/// share no public values. Clients follow this version like any other.
#[test]
fn compaction_draws_a_new_seed_when_nothing_is_kept() {
    for form in [Form::Masked(Packing::T4), Form::Open(Packing::T4)] {
        let mut bed = bed(&spec(form), 1.0);
        let seed = |store: &sordino_search::Store| match &store.manifest().mode {
            Mode::Open(mode) | Mode::Masked(mode) => mode.seed,
            _ => unreachable!("columns"),
        };
        let before = seed(&bed.store);
        let (mut client, _) = connect(&bed.server());
        bed.delete(&[3]);
        assert_eq!(seed(&bed.store), before);
        bed.store.compact(&mut rng(3), &mut |_| ()).unwrap();
        assert_ne!(seed(&bed.store), before);
        let server = bed.server();
        assert!(client.refresh(&mut InProcess::new(&server)).unwrap());
        assert!(bed.recall(&server, &client) > 0.97);
    }
}
