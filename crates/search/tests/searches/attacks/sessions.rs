//! Decryption failures: without a hint, a server changes its answers by less than a step, and learns about the session's
//! secret from each reply that comes out wrong. Sessions are short, and end only when they are used up, whatever was
//! answered. A session that ended early would itself show the reaction.

use sordino_pir::hintless::{Keys, Query};
use sordino_search::{Client, Error, Id, KEYS_LEN, Server};
use sordino_testkit::{FETCH_PAYLOADS, Hostile, connect, kind, rng};

use super::bed::{agreement, without_hint};

const N: usize = 700;
/// The number of requests of a session.
const SESSION: usize = 64;
/// Bytes before a request's body.
const HEADS: usize = 16 + 24;
/// At least the number of bytes before a reply's numbers.
const REPLY_HEADS: usize = 128;

fn server() -> Server {
    without_hint(N, |_| 900)
}

/// The requests of a client that fetches `count` records one after the other. `lies` says which replies are wrong. After a
/// wrong reply, the client that `next` returns continues.
fn requests(
    server: &Server,
    count: usize,
    lies: impl Fn(usize) -> bool,
    next: impl Fn(Client) -> Client,
) -> Vec<Vec<u8>> {
    let mut fetches = 0;
    let mut transport = Hostile::new(server, |request: &[u8], reply: &mut Vec<u8>| {
        if kind(request) == FETCH_PAYLOADS {
            let change = u8::from(lies(fetches)) << 4;
            reply[REPLY_HEADS..]
                .iter_mut()
                .for_each(|byte| *byte ^= change);
            fetches += 1;
        }
    });
    let (mut client, rng) = (connect(server), &mut rng(3));
    for at in 0..count {
        match client.payloads(rng, &mut transport, &[Id::Number(at as u64)]) {
            Ok(payloads) => assert!(payloads[0].is_some() && !lies(at)),
            Err(Error::BadReply) if lies(at) => client = next(client),
            Err(error) => panic!("{at}: {error}"),
        }
    }
    transport.requests
}

/// The positions of requests that bring the keys of a session.
fn beginnings(requests: &[Vec<u8>]) -> Vec<usize> {
    let brings = |at: &usize| requests[*at].len() > KEYS_LEN;
    (0..requests.len()).filter(brings).collect()
}

#[test]
fn sessions_end_when_they_are_used_up_whatever_was_answered() {
    let server = server();
    for lies in [|_| false, |at| at % 10 == 5] {
        let requests = requests(&server, SESSION + 2, lies, |client| client);
        assert_eq!(beginnings(&requests), [0, SESSION]);
    }
    // A client that connects again after a wrong reply shows that the reply was wrong.
    let requests = requests(&server, 20, |at| at % 10 == 5, |_| connect(&server));
    assert_eq!(beginnings(&requests), [0, 6, 16]);
}

/// A learned secret belongs to one session. The keys of the next session have nothing in common with it, and no query names
/// another session's keys.
#[test]
fn sessions_of_a_client_have_nothing_in_common() {
    let server = server();
    let payloads = server.manifest().payloads.clone().unwrap();
    let params = payloads.hintless_params().unwrap().expect("no hint");
    let requests = requests(&server, SESSION + 2, |_| true, |client| client);
    let sessions = requests.chunks(SESSION).map(|session| {
        let (keys, _) = session[0][HEADS..].split_at(KEYS_LEN);
        let name = Keys::from_bytes(keys).unwrap().digest();
        for request in session {
            let query = &request[request.len() - params.query_len()..];
            let query = Query::from_bytes(&params, query).unwrap();
            assert_eq!(*query.session(), name);
        }
        (keys, name)
    });
    let sessions: Vec<_> = sessions.collect();
    let [(keys, name), (others, other)] = sessions[..] else {
        panic!("two sessions");
    };
    assert_ne!(name, other);
    let part = agreement(keys, others);
    assert!(part < 0.02, "{part} of the bytes are equal");
}
