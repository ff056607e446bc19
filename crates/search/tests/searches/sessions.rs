//! Sessions of retrieval without a hint. A client sends its keys once, and the server says if it no longer has them. A
//! client that sends malformed data or fills the server's memory does not affect other clients.

use sordino_index::wire::{Message, message_len};
use sordino_pir::hintless::{Client as Pir, Keys, Query, Session};
use sordino_pir::{Error as PirError, Seed};
use sordino_search::manifest::{Mode, Packing, Routing};
use sordino_search::payload::{Fetch, FetchKind};
use sordino_search::plan::Conditions;
use sordino_search::{
    Batch, Client, Error, Exchange, Form, InProcess, Server, Spec, Vectors, synthetic,
};
use sordino_testkit::{FETCH, FETCH_PAYLOADS, create, keys, rng, serve};

/// Numbers of records for which fetching without a hint is the cheapest way; the second is for
/// buckets.
const N: usize = 700;
const MANY: usize = 20_000;
const DIM: usize = 16;
const K: usize = 3;
/// The number of requests of a session.
const REQUESTS: usize = 64;
/// The number of sessions whose keys a server holds.
const HELD: u64 = 128;
/// The payload of one of `n` records, which is shorter if there are many records.
fn payload(row: usize, n: usize) -> Vec<u8> {
    vec![row.to_le_bytes()[0]; if n == N { 900 } else { 400 }]
}

/// Records with payloads in a folder, for clients that connect once.
fn store(form: Form, n: usize) -> (tempfile::TempDir, Vectors) {
    let (base, _) = synthetic::clustered(n, 1, DIM, 3);
    let payloads = (0..n).map(|row| payload(row, n)).collect();
    let batch = Batch::from(base.clone()).with_payloads(payloads);
    let spec = Spec::new(form)
        .k(K)
        .conditions(Conditions::default().prefer(FetchKind::Hintless));
    let (dir, _) = create(&spec, batch);
    (dir, base)
}

const MASKED: Form = Form::Masked(Packing::T4);

/// Searches near a record, whose payload comes with it. Returns the messages that fetch.
fn search(
    client: &Client,
    transport: &mut InProcess<'_>,
    base: &Vectors,
    row: usize,
) -> Vec<Exchange> {
    transport.take_exchanges();
    let seed = row as u64;
    let found = client.search(&mut rng(seed), transport, base.row(row));
    let found = found.expect("a search");
    let nearest = found.hits[0].id.number().expect("a number");
    // In buckets, codes are short, so another record may come first.
    assert!(base.len() == MANY || nearest == row as u64);
    let nearest = usize::try_from(nearest).expect("a row");
    assert_eq!(found.payloads[0], payload(nearest, base.len()));
    let exchanges = transport.take_exchanges().into_iter();
    let fetched = exchanges.filter(|it| [FETCH, FETCH_PAYLOADS].contains(&it.kind));
    fetched.collect()
}

#[test]
fn keys_go_up_once_a_session_and_again_when_they_are_forgotten() {
    let (dir, base) = store(MASKED, N);
    let first = serve(dir.path());
    let mut transport = InProcess::new(&first);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    let with = search(&client, &mut transport, &base, 5);
    let without = search(&client, &mut transport, &base, 9);
    assert_eq!((with.len(), without.len()), (1, 1));
    assert_eq!(with[0].up, without[0].up + Keys::LEN);
    assert_eq!(with[0].down, without[0].down);
    for row in 2..REQUESTS {
        assert_eq!(search(&client, &mut transport, &base, row), without);
    }
    // The next session begins.
    assert_eq!(search(&client, &mut transport, &base, 64), with);
    assert_eq!(search(&client, &mut transport, &base, 65), without);

    // A second server of the same version lacks the keys. It refuses one message, and the next one brings the
    // keys.
    let second = serve(dir.path());
    let mut transport = InProcess::new(&second);
    let refused = Exchange {
        down: 0,
        ..without[0]
    };
    let again = search(&client, &mut transport, &base, 66);
    assert_eq!(again, [refused, with[0]]);
    assert_eq!(search(&client, &mut transport, &base, 67), without);
}

#[test]
fn buckets_and_payloads_of_a_search_share_a_session() {
    let form = Form::Sealed {
        recall: 0.9,
        queries: 1,
        routing: Some(Routing::Downloaded),
    };
    let (dir, base) = store(form, MANY);
    let server = serve(dir.path());
    let Mode::Sealed(mode) = &server.manifest().mode else {
        panic!("sealed");
    };
    assert!(mode.hint.is_none(), "buckets fetched with a hint");
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    // The client downloads only lists of records, digests and centroids.
    let parts = client.manifest().parts().unwrap();
    let given = parts.iter().filter(|part| part.holder.is_given());
    let names: Vec<_> = given.map(|part| part.kind.name()).collect();
    assert!(!names.iter().any(|name| name.contains("hint")), "{names:?}");
    let first = search(&client, &mut transport, &base, 1);
    let later = search(&client, &mut transport, &base, 2);
    assert_eq!(first.len(), 2);
    assert_eq!(first[0].up, later[0].up + Keys::LEN);
    assert_eq!((first[0].kind, later[0].down), (FETCH, first[0].down));
    // The message for buckets brought the keys.
    assert_eq!(first[1], later[1]);
    for row in 3..8 {
        assert_eq!(search(&client, &mut transport, &base, row), later);
    }
}

/// A client with the public facts that sends arbitrary messages.
struct Stranger {
    server: Server,
    pir: Pir,
}

impl Stranger {
    fn new() -> Self {
        let server = serve(store(MASKED, N).0.path());
        let payloads = server.manifest().payloads.clone().expect("payloads");
        let params = payloads.hintless_params().expect("a layout");
        let (Fetch::Hintless { seed }, Some(params)) = (&payloads.fetch, params) else {
            panic!("payloads are fetched without a hint");
        };
        let pir = Pir::new(&params, &Seed(*seed));
        Self { server, pir }
    }

    fn query(&self, session: &Session) -> Query {
        self.pir
            .query(&mut rng(1), session, &[1, 2])
            .expect("in range")
            .1
    }

    fn send(&self, parts: &[&[u8]]) -> Result<Vec<u8>, Error> {
        let edition = self.server.manifest().edition();
        let request = Message::FetchPayloads.about(edition, &parts.concat());
        self.server.handle(&request)
    }
}

#[test]
fn keys_and_queries_that_do_not_belong_together_are_refused() {
    let stranger = Stranger::new();
    let send = |parts: &[&[u8]]| stranger.send(parts).map(drop);
    let (session, keys) = Session::new(&mut rng(1));
    let (other, other_keys) = Session::new(&mut rng(2));
    let (keys, other_keys) = (keys.to_bytes(), other_keys.to_bytes());
    let query = stranger.query(&session).to_bytes();
    let of_other = stranger.query(&other).to_bytes();

    // The server refuses a query whose keys were never sent.
    assert!(matches!(send(&[&query]), Err(Error::Session)));
    // The server refuses keys of another session and does not keep them.
    let found = send(&[&other_keys, &query]);
    assert!(matches!(found, Err(Error::Pir(PirError::SessionMismatch))));
    assert!(matches!(send(&[&of_other]), Err(Error::Session)));
    // The keys are truncated, too long, sent twice, sent after the query or sent alone. The server refuses each.
    let cut = &keys[..keys.len() - 1];
    for parts in [
        &[cut, &query][..],
        &[&keys, &query, &[0]],
        &[&keys, &keys, &query],
        &[&keys],
        &[&keys, &query, &query],
        &[],
    ] {
        assert!(matches!(send(parts), Err(Error::Malformed { .. })));
    }
    assert!(matches!(send(&[&query, &keys]), Err(Error::Pir(_))));
    // The keys are wrong: a coefficient is not below q, the set or the kind is another, or one bit is changed.
    for (at, byte) in [
        (keys.len() - 1, 0xff),
        (7, 9),
        (6, 13),
        (48 + 100, keys[148] ^ 1),
    ] {
        let mut wrong = keys.clone();
        wrong[at] = byte;
        if at == keys.len() - 1 {
            wrong[at - 6..].fill(0xff);
        }
        assert!(
            matches!(send(&[&wrong, &query]), Err(Error::Pir(_))),
            "{at}"
        );
        assert!(matches!(send(&[&query]), Err(Error::Session)));
    }
    // The server refuses a query for another version of the payloads.
    let params = stranger.pir.params();
    let elsewhere = Pir::new(params, &Seed([0; 32]));
    let (_, stale) = elsewhere.query(&mut rng(1), &session, &[1]).unwrap();
    let found = send(&[&keys, &stale.to_bytes()]);
    assert!(matches!(found, Err(Error::Pir(_))), "{found:?}");
    // The server answers correct keys with a correct query, and then the query alone.
    let reply = stranger.send(&[&keys, &query]).unwrap();
    assert_eq!(reply.len(), message_len(params.answer_len()));
    assert_eq!(stranger.send(&[&query]).unwrap(), reply);
    assert!(matches!(send(&[&of_other]), Err(Error::Session)));
}

#[test]
fn a_flood_of_sessions_drives_out_the_oldest_and_no_more_are_held() {
    let stranger = Stranger::new();
    let (session, first) = Session::new(&mut rng(0));
    let query = stranger.query(&session).to_bytes();
    stranger.send(&[&first.to_bytes(), &query]).unwrap();
    for seed in 1..=5 {
        assert!(
            stranger.send(&[&query]).is_ok(),
            "in use, and gone after {seed}"
        );
        let (other, keys) = Session::new(&mut rng(seed));
        let mut asked = stranger.query(&other).to_bytes();
        // The epoch is wrong, because this test needs no answers.
        asked[32] ^= 1;
        let found = stranger.send(&[&keys.to_bytes(), &asked]);
        assert!(matches!(found, Err(Error::Pir(_))), "{found:?}");
    }
    // Since the last request of the first session, `HELD` other sessions have begun.
    for seed in 200..200 + HELD {
        let (other, keys) = Session::new(&mut rng(seed));
        let mut asked = stranger.query(&other).to_bytes();
        asked[32] ^= 1;
        assert!(stranger.send(&[&keys.to_bytes(), &asked]).is_err());
    }
    assert!(matches!(stranger.send(&[&query]), Err(Error::Session)));
    assert!(stranger.send(&[&first.to_bytes(), &query]).is_ok());
}
