//! Damaged files, hostile servers and hostile clients: typed errors, no panic, and the messages of
//! an honest search.

use proptest::prelude::*;
use sordino_index::wire::Message;
use sordino_search::Exchange;
use sordino_search::manifest::Packing;
use sordino_search::{
    Client, Error, Form, Hit, InProcess, Index, Memory, Pin, Routing, Server, Spec, Store, Vectors,
    synthetic,
};
use sordino_testkit::{
    FETCH, GET_MANIFEST, GET_PARTS, Hostile, ROUTED, SCORE, connect, index, keys, kind, rng,
    sealed, strange_keys,
};

const DIM: usize = 16;

fn base() -> Vectors {
    synthetic::clustered(600, 1, DIM, 4).0
}

const OPEN: Form = Form::Open(Packing::T4);
const MASKED: Form = Form::Masked(Packing::T4);

fn of(form: Form) -> Index {
    index(form, 5, &base())
}

fn all() -> [Index; 6] {
    [
        sealed(Routing::Downloaded),
        sealed(Routing::Encrypted),
        Form::Local,
        OPEN,
        MASKED,
        ROUTED,
    ]
    .map(of)
}

#[test]
fn a_damaged_index_file_is_refused() {
    for index in all() {
        let bytes = index.to_bytes();
        let read = |bytes: &[u8]| Index::from_bytes(bytes, &keys().public());
        assert!(read(&bytes).is_ok());
        // Checking a signature takes a fraction of a millisecond, so the test cannot try every
        // byte. The stride shares no factor with the size of a field, so it reaches all fields.
        let stride = (bytes.len() / 400) | 1;
        for at in (0..bytes.len()).step_by(stride).chain(0..64) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            assert!(read(&flipped).is_err(), "byte {at} of {}", bytes.len());
        }
        for len in (0..bytes.len())
            .step_by(stride)
            .chain(0..64)
            .chain([bytes.len() - 1])
        {
            assert!(
                read(&bytes[..len]).is_err(),
                "length {len} of {}",
                bytes.len()
            );
        }
        assert!(read(&[&bytes[..], &[0]].concat()).is_err());
        let other = strange_keys().public();
        assert!(matches!(
            Index::from_bytes(&bytes, &other),
            Err(Error::Signature)
        ));
    }
}

/// A change to a reply.
type Change = Box<dyn Fn(&mut Vec<u8>)>;

/// A server that changes the replies to one kind of message.
fn tampering(
    server: &Server,
    of: u16,
    mut change: impl FnMut(&mut Vec<u8>),
) -> Hostile<'_, impl FnMut(&[u8], &mut Vec<u8>)> {
    Hostile::new(server, move |request, reply| {
        if kind(request) == of {
            change(reply);
        }
    })
}

/// Searches once while the server changes its replies to `kind`. Returns the result and the
/// messages.
fn tampered(
    server: &Server,
    client: &Client,
    kind: u16,
    change: impl FnMut(&mut Vec<u8>),
) -> (Result<Vec<Hit>, Error>, Vec<Exchange>) {
    let mut transport = tampering(server, kind, change);
    let found = client.search(&mut rng(9), &mut transport, base().row(17));
    (
        found.map(|found| found.hits),
        transport.inner.take_exchanges(),
    )
}

#[test]
fn whatever_the_server_answers_the_messages_are_the_same_and_the_error_says_nothing() {
    for routing in Routing::ALL {
        let server = Server::new(of(sealed(routing))).unwrap();
        let client = connect(&server);
        let (honest, messages) = tampered(&server, &client, 0, |_| ());
        let honest = honest.unwrap();
        let kinds = match routing {
            Routing::Downloaded => &[FETCH][..],
            Routing::Encrypted => &[SCORE, FETCH],
        };
        for &kind in kinds {
            let mut replies: Vec<Change> = vec![
                Box::new(|reply| reply.clear()),
                Box::new(|reply| reply.truncate(reply.len() - 1)),
                Box::new(|reply| reply.push(0)),
                Box::new(|reply| reply[4] = 9),
                Box::new(|reply| reply[6] ^= 1),
                Box::new(|reply| reply[16..].fill(0xff)),
                Box::new(|reply| reply[16..].fill(0)),
                Box::new(|reply| *reply = vec![0xa5; 1 << 16]),
            ];
            for at in (0..4000).step_by(61) {
                replies.push(Box::new(move |reply| {
                    let at = at % reply.len();
                    reply[at] ^= 0x80;
                }));
            }
            for (case, change) in replies.iter().enumerate() {
                let (found, seen) = tampered(&server, &client, kind, change);
                assert_eq!(seen, messages, "kind {kind}, case {case}");
                match found {
                    Err(Error::BadReply) => {}
                    Err(other) => panic!("kind {kind}, case {case}: {other}"),
                    // A changed score may route the search elsewhere, and the lowest bits of an
                    // answer are noise. But each result is one of the owner's records.
                    Ok(hits) if kind == FETCH => assert_eq!(hits, honest, "case {case}"),
                    Ok(hits) => assert!(hits.iter().all(|hit| hit.id.number() < Some(600))),
                }
            }
        }
    }
}

type Tamper = fn(&mut Vec<u8>);

/// A server that changes a reply can change scores. Clients refuse replies of another form, and changes that the checks of
/// scores find. No change of a reply can cause other messages, a panic, or a result that the index lacks.
#[test]
fn a_changed_scored_reply_is_refused_by_its_form_or_moves_scores() {
    for index in [OPEN, MASKED].map(of) {
        let server = Server::new(index).unwrap();
        let client = connect(&server);
        let (honest, messages) = tampered(&server, &client, 0, |_| ());
        let honest = honest.unwrap();
        let refused: [(&str, Tamper); 9] = [
            ("empty", |reply| reply.clear()),
            ("short", |reply| reply.truncate(reply.len() - 1)),
            ("long", |reply| reply.push(0)),
            ("another version", |reply| reply[4] = 9),
            ("another kind", |reply| reply[6] ^= 1),
            ("another set", |reply| reply[21] ^= 3),
            ("garbage", |reply| *reply = vec![0xa5; 1 << 16]),
            ("all zero", |reply| reply[16..].fill(0)),
            ("other scores", |reply| {
                let last = reply.len();
                reply[last - 1000..].fill(0x5a);
            }),
        ];
        for (case, change) in refused {
            let (found, seen) = tampered(&server, &client, SCORE, change);
            assert_eq!(seen, messages, "{case}");
            assert!(matches!(found, Err(Error::BadReply)), "{case}: {found:?}");
        }
        for at in (0..1100usize).step_by(13) {
            let change = |reply: &mut Vec<u8>| {
                let at = reply.len() - 1 - at % reply.len();
                reply[at] ^= 0x80;
            };
            let (found, seen) = tampered(&server, &client, SCORE, change);
            assert_eq!(seen, messages, "byte {at}");
            match found {
                Err(Error::BadReply) => {}
                Err(other) => panic!("byte {at}: {other}"),
                Ok(hits) => {
                    assert!(hits.iter().all(|hit| hit.id.number() < Some(600)));
                    // Each byte belongs to the answers of at most two vectors.
                    let same = hits.iter().filter(|hit| honest.contains(hit)).count();
                    assert!(same >= 3, "byte {at}");
                }
            }
        }
    }
}

/// The test above for routed mode, with added records: the reply then has two parts.
#[test]
fn a_changed_routed_reply_is_refused_by_its_form_or_moves_scores() {
    let disk = Memory::default();
    let form = Form::Routed {
        recall: 0.9,
        queries: 10,
    };
    let spec = Spec::new(form).k(5);
    let batches = [Ok(base().into())];
    let made = Store::create_on(
        disk.clone(),
        "",
        &mut rng(1),
        &keys(),
        &spec,
        batches,
        &mut |_| (),
    );
    let mut store = made.unwrap();
    for tail in [false, true] {
        if tail {
            let more = synthetic::uniform(7, DIM, 3);
            let ids: Vec<u32> = (600..607).collect();
            store.upsert(&mut rng(2), &ids, &more).unwrap();
        }
        let index = Index::open_on(disk.clone(), "", &keys().public()).unwrap();
        let server = Server::new(index).unwrap();
        let client = connect(&server);
        let (honest, messages) = tampered(&server, &client, 0, |_| ());
        assert_eq!(messages.len(), 1);
        assert_eq!(honest.unwrap()[0].id, 17u32);
        let refused: [(&str, Tamper); 8] = [
            ("empty", |reply| reply.clear()),
            ("short", |reply| reply.truncate(reply.len() - 1)),
            ("long", |reply| reply.push(0)),
            ("another version", |reply| reply[4] = 9),
            ("another kind", |reply| reply[6] ^= 1),
            ("another set", |reply| reply[22] ^= 3),
            ("garbage", |reply| *reply = vec![0xa5; 1 << 16]),
            ("all zero", |reply| reply[16..].fill(0)),
        ];
        for (case, change) in refused {
            let (found, seen) = tampered(&server, &client, SCORE, change);
            assert_eq!(seen, messages, "{case}");
            assert!(matches!(found, Err(Error::BadReply)), "{case}: {found:?}");
        }
        for at in (0..3000usize).step_by(37) {
            let change = |reply: &mut Vec<u8>| {
                let at = at % reply.len();
                reply[at] ^= 0x80;
            };
            let (found, seen) = tampered(&server, &client, SCORE, change);
            assert_eq!(seen, messages, "byte {at}");
            match found {
                Err(Error::BadReply) => {}
                Err(other) => panic!("byte {at}: {other}"),
                Ok(hits) => assert!(hits.iter().all(|hit| hit.id.number() < Some(607))),
            }
        }
        // The server refuses a query of another shape, and a truncated query.
        let mut wire = Hostile::new(&server, |_, _| ());
        client
            .search(&mut rng(3), &mut wire, base().row(1))
            .unwrap();
        let last = wire.requests.pop().unwrap();
        for (what, at) in [("groups", 48), ("columns", 52), ("seed", 56), ("set", 45)] {
            let mut bad = last.clone();
            bad[at] ^= 1;
            assert!(server.handle(&bad).is_err(), "{what}");
        }
        let whole = &last[16..];
        for len in [24, 30, whole.len() - 1] {
            let cut = Message::Score.with(&whole[..len]);
            assert!(server.handle(&cut).is_err(), "{len} bytes");
        }
        assert!(server.handle(&last).is_ok());
    }
}

#[test]
fn a_changed_manifest_or_setup_is_refused_before_any_query() {
    for index in all() {
        let server = Server::new(index).unwrap();
        for kind in [GET_MANIFEST, GET_PARTS] {
            for at in [
                0usize, 4, 6, 8, 17, 40, 100, 900, 2000, 4000, 5500, 20_000, 100_000,
            ] {
                let change = |reply: &mut Vec<u8>| {
                    let at = at % reply.len();
                    reply[at] ^= 4;
                };
                let mut transport = tampering(&server, kind, change);
                let connected = Client::connect(&mut transport, &keys().reader(), None);
                assert!(connected.is_err(), "kind {kind}, byte {at}");
            }
            for len in [0, 3, 15, 16, 17, 1000] {
                let change = |reply: &mut Vec<u8>| reply.truncate(len);
                let mut transport = tampering(&server, kind, change);
                assert!(Client::connect(&mut transport, &keys().reader(), None).is_err());
            }
        }
    }
}

#[test]
fn an_older_version_and_another_owner_are_refused() {
    let server = Server::new(of(Form::Local)).unwrap();
    let mut transport = InProcess::new(&server);
    let offered = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    let newer = Pin {
        version: 2,
        ..offered.pin()
    };
    let older = Client::connect(&mut transport, &keys().reader(), Some(&newer));
    assert!(matches!(
        older,
        Err(Error::Rollback {
            found: 1,
            pinned: 2
        })
    ));
    let stranger = strange_keys().reader();
    assert!(matches!(
        Client::connect(&mut transport, &stranger, None),
        Err(Error::Signature)
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_server_survives_any_message(
        kind in 99u16..114,
        body in prop::collection::vec(any::<u8>(), 0..3000),
        honest_len in any::<bool>(),
        raw in any::<bool>(),
    ) {
        thread_local! {
            static SERVERS: [Server; 6] = all().map(|index| Server::new(index).unwrap());
        }
        let len = if honest_len { body.len() as u64 } else { u64::MAX };
        let message = if raw {
            body
        } else {
            [b"SRDN\x04\x00", &kind.to_le_bytes()[..], &len.to_le_bytes(), &body].concat()
        };
        SERVERS.with(|servers| for server in servers {
            let _ = server.handle(&message);
            // Sends the message again with the edition of the current version.
            let mut current = message.clone();
            if let Some(edition) = current.get_mut(16..40) {
                edition[..8].copy_from_slice(&server.manifest().version.to_le_bytes());
                edition[8..].copy_from_slice(&server.manifest().digest()[..16]);
                let _ = server.handle(&current);
            }
        });
    }
}
