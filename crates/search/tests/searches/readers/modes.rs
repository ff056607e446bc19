//! Readers with their own keys in every mode: generations of keys, and revocation.

use sordino_search::manifest::Packing;
use sordino_search::{Error, Form, InProcess, Routing};
use sordino_testkit::{keys, rng};

use super::bed::{Bed, EACH, connect, finds, masked, reader};

fn forms() -> [Form; 6] {
    [
        masked(),
        Form::Open(Packing::T8),
        Form::Local,
        Form::Routed {
            recall: 0.9,
            queries: 20,
        },
        Form::Sealed {
            recall: 0.99,
            queries: 10,
            routing: Some(Routing::Downloaded),
        },
        Form::Sealed {
            recall: 0.99,
            queries: 10,
            routing: Some(Routing::Encrypted),
        },
    ]
}

/// The number of records of an addition that a client finds by their own vectors. Clusters and buckets
/// find most of them.
fn share(client: &sordino_search::Client, bed: &Bed, first: u64) -> u64 {
    let server = bed.server();
    let mut transport = InProcess::new(&server);
    let vectors = super::bed::vectors(first);
    let found = (0..).zip(vectors.rows()).filter(|(at, query)| {
        let found = client.search(&mut rng(3), &mut transport, query).unwrap();
        found.hits.first().and_then(|hit| hit.id.number()) == Some(first + at)
    });
    found.count() as u64
}

#[test]
fn every_mode_has_readers_and_closes_to_who_is_revoked() {
    for form in forms() {
        for own in [true, false] {
            let mut bed = Bed::made(form, own);
            bed.grant("alice", &[], &[]);
            bed.grant("bob", &[], &[]);
            if !own {
                // In sealed and routed mode, one key protects the whole base. New readers cannot read it before it is
                // written again.
                bed.compact();
            }
            let server = bed.server();
            let mut alice = connect(&server, &reader("alice")).unwrap();
            assert!(share(&alice, &bed, 0) > EACH / 2, "{form:?}");
            bed.revoke("bob");
            bed.add(100, None);
            let server = bed.server();
            let refused = connect(&server, &reader("bob"));
            assert!(matches!(refused, Err(Error::NoReader)), "{form:?}");
            assert!(alice.refresh(&mut InProcess::new(&server)).unwrap());
            for _ in 0..2 {
                assert!(share(&alice, &bed, 0) > EACH / 2, "{form:?}");
                assert!(share(&alice, &bed, 100) > EACH / 2, "{form:?}");
                bed.compact();
                let server = bed.server();
                alice.refresh(&mut InProcess::new(&server)).unwrap();
            }
            let manifest = bed.manifest();
            let readers = manifest.readers.as_ref().unwrap();
            assert_eq!(readers.keys.len(), 1, "{form:?}");
            assert!(
                manifest
                    .segments()
                    .iter()
                    .all(|it| it.key == readers.keys[0].number)
            );
            let exact = matches!(form, Form::Masked(_) | Form::Open(_) | Form::Local);
            if exact {
                let server = bed.server();
                let owner = connect(&server, &keys().reader()).unwrap();
                assert_eq!(finds(&owner, &server, &[0, 100]), [0, 100]);
            }
        }
    }
}
