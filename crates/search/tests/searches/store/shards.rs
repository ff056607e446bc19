//! Shards of an index. Together they reply like one server, byte for byte. A single shard is refused if
//! it is used by mistake.

use std::path::Path;

use sordino_index::wire::Request;
use sordino_search::manifest::{Checking, Mode, Packing};
use sordino_search::{
    Batch, Client, Error, Form, InProcess, OpenOptions, Routing, Server, Shard, Spec, Store,
    Transport, synthetic,
};
use sordino_testkit::{ASKED, ROUTED, by, keys, rng, strange_keys};

use super::bed::{Bed, bed};
use super::owner::{DIM, K, spec};

fn open_shard(dir: &Path, shard: Shard) -> Result<Server, Error> {
    let owner = keys().public();
    OpenOptions::new(&owner).shard(Some(shard)).open_dir(dir)
}

fn open(bed: &Bed, of: u16) -> Vec<Server> {
    Shard::all(of)
        .map(|shard| open_shard(bed.dir.path(), shard).unwrap())
        .collect()
}

/// Asks the shards what a gathering server asks, with that server's bounds.
fn gather(shards: &[Server], before: Option<&Server>) -> Result<Option<Server>, Error> {
    let of = u16::try_from(shards.len()).unwrap();
    Server::gather(
        of,
        &keys().public(),
        before,
        &mut |shard, request, limit| {
            let reply = shards[place(shard)].handle(request)?;
            assert!(reply.len() <= limit, "{} of {limit} bytes", reply.len());
            Ok(reply)
        },
    )
}

fn place(shard: Shard) -> usize {
    usize::from(shard.number()) - 1
}

fn joined(front: &Server, shards: &[Server], request: &[u8]) -> Result<Vec<u8>, Error> {
    let read = Request::read(request)?;
    if let Some(ready) = front.prepared(read) {
        return Ok(ready.range(0, ready.len()));
    }
    let asked = front.ask(read)?;
    let mut replies = Vec::new();
    for shard in asked.shards() {
        let reply = shards[place(shard)].handle(request)?;
        assert_eq!(reply.len(), front.longest_part(asked, shard)?);
        front.check_part(asked, shard, &reply)?;
        replies.push(reply);
    }
    front.join(asked, &replies)
}

/// One server, and a front server over shards, which must give the same replies.
struct Both<'a> {
    one: &'a Server,
    front: &'a Server,
    shards: &'a [Server],
    last: Vec<u8>,
}

impl<'a> Both<'a> {
    fn new(one: &'a Server, front: &'a Server, shards: &'a [Server]) -> Self {
        let last = Vec::new();
        Self {
            one,
            front,
            shards,
            last,
        }
    }
}

impl Transport for Both<'_> {
    fn call(&mut self, request: &[u8], _: usize) -> Result<Vec<u8>, Error> {
        request.clone_into(&mut self.last);
        let joined = joined(self.front, self.shards, request);
        match (self.one.handle(request), &joined) {
            (Ok(one), Ok(joined)) => assert!(one == *joined, "another reply"),
            (Err(one), Err(joined)) => assert_eq!(one.to_string(), joined.to_string()),
            (one, joined) => panic!("{one:?} and {joined:?}"),
        }
        joined
    }
}

const FORMS: [(Form, Checking); 9] = [
    (Form::Masked(Packing::T4), Checking::Sums),
    (Form::Masked(Packing::T8), Checking::Sums),
    (Form::Masked(Packing::T4), Checking::Exact),
    (Form::Open(Packing::T4), Checking::Sums),
    (Form::Open(Packing::T8), Checking::Exact),
    (ROUTED, Checking::Sums),
    (hinted(Routing::Downloaded), Checking::Sums),
    (hinted(Routing::Encrypted), Checking::Sums),
    (Form::Local, Checking::Sums),
];

/// Sealed mode for clients of many searches, which download a hint.
const fn hinted(routing: Routing) -> Form {
    Form::Sealed {
        recall: 0.9,
        queries: 100_000,
        routing: Some(routing),
    }
}

#[test]
fn joined_shards_are_one_server_byte_for_byte() {
    for (form, checking) in FORMS {
        let checked = spec(form).checking(checking);
        let mut bed = bed(&checked, 1.0);
        bed.upsert(21, &[3, 4, 70_000], 1.0);
        bed.delete(&[5, 6, 700]);
        let one = bed.server();
        for of in [1, 2, 4] {
            let shards = open(&bed, of);
            let front = gather(&shards, None).unwrap().unwrap();
            assert_eq!(
                front.longest_request().unwrap(),
                one.longest_request().unwrap()
            );
            let mut both = Both::new(&one, &front, &shards);
            let client = Client::connect(&mut both, &keys().reader(), None).unwrap();
            for query in bed.queries.rows().take(3) {
                client.search(&mut rng(2), &mut both, query).unwrap();
            }
            // Both refuse with the same words.
            let query = both.last.clone();
            for wrong in [&query[..query.len() - 1], &query[..20], &[]] {
                both.call(wrong, 0).unwrap_err();
            }
            let mut other = query.clone();
            // Fetches of buckets, which only sealed mode has, and of payloads.
            for kind in [107, 109] {
                other[6] = kind;
                if kind != query[6] {
                    both.call(&other, 0).unwrap_err();
                }
            }
            other[16] ^= 1;
            both.call(&other, 0).unwrap_err();
            assert!(gather(&shards, Some(&front)).unwrap().is_none());
        }
    }
}

#[test]
fn payloads_come_from_the_first_shard() {
    let (base, queries) = synthetic::clustered(4000, 2, 16, 3);
    for kind in ASKED {
        let dir = tempfile::tempdir().unwrap();
        let payloads = (0..base.len()).map(|at| vec![at.to_le_bytes()[0]; 1500]);
        let batch = Batch::from(base.clone()).with_payloads(payloads.collect());
        let spec = by(kind, Spec::new(Form::Masked(Packing::T4)).k(2));
        let batches = [batch];
        let store = Store::create(
            dir.path(),
            &mut rng(1),
            &keys(),
            &spec,
            batches,
            &mut |_| (),
        )
        .unwrap();
        let fetch = &store.manifest().payloads.as_ref().unwrap().fetch;
        assert_eq!(fetch.kind(), kind);
        let one = Server::open_dir(dir.path(), &keys().public()).unwrap();
        let shards: Vec<Server> = Shard::all(3)
            .map(|shard| open_shard(dir.path(), shard).unwrap())
            .collect();
        let front = gather(&shards, None).unwrap().unwrap();
        assert_eq!(
            front.longest_request().unwrap(),
            one.longest_request().unwrap()
        );
        let mut both = Both::new(&one, &front, &shards);
        let client = Client::connect(&mut both, &keys().reader(), None).unwrap();
        for query in queries.rows() {
            let found = client.search(&mut rng(2), &mut both, query).unwrap();
            for (hit, payload) in found.hits.iter().zip(&found.payloads) {
                assert_eq!(payload.len(), 1500);
                assert_eq!(payload[0], hit.id.number().unwrap().to_le_bytes()[0]);
            }
        }
        for shard in &shards[1..] {
            assert!(matches!(shard.handle(&both.last), Err(Error::Mode { .. })));
        }
    }
}

#[test]
fn shards_follow_the_index_one_after_the_other() {
    for form in [
        Form::Masked(Packing::T4),
        ROUTED,
        hinted(Routing::Encrypted),
    ] {
        let mut bed = bed(&spec(form), 1.0);
        let mut shards = open(&bed, 3);
        let mut front = gather(&shards, None).unwrap().unwrap();
        let mut one = bed.server();
        let mut both = Both::new(&one, &front, &shards);
        let mut client = Client::connect(&mut both, &keys().reader(), None).unwrap();
        client
            .search(&mut rng(1), &mut both, bed.queries.row(0))
            .unwrap();
        for change in 0..3 {
            let request = both_request(&one, &front, &shards, &client, bed.queries.row(1));
            match change {
                0 => bed.upsert(21, &[3, 4, 70_000], 1.0),
                1 => bed.delete(&[7, 8]),
                _ => {
                    bed.store.compact(&mut rng(3), &mut |_| ()).unwrap();
                }
            }
            let before = shards;
            shards = Vec::new();
            let mut mixed = Vec::new();
            for (at, shard) in before.iter().enumerate() {
                let public = keys().public();
                let options = OpenOptions::new(&public).after(shard);
                let next = options.open_dir(bed.dir.path()).unwrap();
                assert_eq!(next.shard(), shard.shard());
                let read = Request::read(&request[..]).unwrap();
                assert!(next.is_other(read) && !shard.is_other(read));
                // It equals a shard that is opened now.
                let fresh = open_shard(bed.dir.path(), shard.shard().unwrap());
                assert_eq!(parts(&next), parts(&fresh.unwrap()));
                mixed.push(next);
                if at + 1 < before.len() {
                    let rest = before.iter().skip(at + 1);
                    let all: Vec<&Server> = mixed.iter().chain(rest).collect();
                    let of = u16::try_from(all.len()).unwrap();
                    let mut ask =
                        |shard: Shard, request: &[u8], _: usize| all[place(shard)].handle(request);
                    let early = Server::gather(of, &keys().public(), Some(&front), &mut ask);
                    assert!(matches!(early, Err(Error::Stale { .. })), "{early:?}");
                }
            }
            shards.append(&mut mixed);
            // The version before is complete while its shards run.
            joined(&front, &before, &request).unwrap();
            let stale = joined(&front, &shards, &request).unwrap_err();
            assert!(matches!(stale, Error::Stale { .. }), "{stale}");
            front = gather(&shards, Some(&front)).unwrap().unwrap();
            one = bed.server();
            let mut both = Both::new(&one, &front, &shards);
            assert!(client.refresh(&mut both).unwrap());
            client
                .search(&mut rng(4), &mut both, bed.queries.row(2))
                .unwrap();
        }
    }
}

/// A request of a search, whose reply is the same from both.
fn both_request(
    one: &Server,
    front: &Server,
    shards: &[Server],
    client: &Client,
    query: &[f32],
) -> Vec<u8> {
    let mut both = Both::new(one, front, shards);
    client.search(&mut rng(5), &mut both, query).unwrap();
    both.last
}

/// Everything that a shard gives for download.
fn parts(shard: &Server) -> Vec<Vec<u8>> {
    let edition = shard.manifest().edition().to_bytes();
    let request = |number: u16| {
        let body = [&edition[..], &number.to_le_bytes()].concat();
        let len = (body.len() as u64).to_le_bytes();
        let message = [b"SRDN\x04\x00", &103_u16.to_le_bytes()[..], &len, &body].concat();
        shard.handle(&message).ok()
    };
    (0..).map_while(request).collect()
}

#[test]
fn shards_that_do_not_belong_together_are_refused_by_what_is_wrong() {
    let masked = bed(&spec(Form::Masked(Packing::T4)), 1.0);
    let shards = open(&masked, 3);
    let refused = |shards: &[&Server]| {
        let of = u16::try_from(shards.len()).unwrap();
        let mut ask = |shard: Shard, request: &[u8], _: usize| shards[place(shard)].handle(request);
        Server::gather(of, &keys().public(), None, &mut ask).unwrap_err()
    };
    let [a, b, c] = &shards[..] else { panic!() };
    assert_eq!(
        refused(&[a, c, b]).to_string(),
        "this server holds shard 3/3, expected shard 2/3: name the shards in their order"
    );
    for wrong in [&[a, b][..], &[a, b, c, c], &[a, a, c], &[b, c]] {
        assert!(matches!(refused(wrong), Error::Position(..)));
    }
    // A client learns from the first reply that it asked a shard.
    for shard in &shards {
        let mut sent = InProcess::new(shard);
        let error = Client::connect(&mut sent, &keys().reader(), None).unwrap_err();
        let Error::Share(named) = error else {
            panic!("{error}");
        };
        assert_eq!(Shard::new(named[0], named[1]), shard.shard());
        assert_eq!(sent.take_exchanges().len(), 1);
    }
    // One server of the whole index is refused as a shard, and so are shards of another index.
    let one = masked.server();
    assert!(matches!(refused(&[&one, b, c]), Error::Malformed { .. }));
    let dir = tempfile::tempdir().unwrap();
    let (base, _) = synthetic::clustered(200, 1, DIM, 1);
    let spec_of = spec(Form::Masked(Packing::T4));
    let batches = [Ok(base.into())];
    Store::create(
        dir.path(),
        &mut rng(7),
        &keys(),
        &spec_of,
        batches,
        &mut |_| (),
    )
    .unwrap();
    let second = Shard::new(2, 3).unwrap();
    let other = open_shard(dir.path(), second).unwrap();
    assert!(matches!(refused(&[a, &other, c]), Error::OtherIndex { .. }));
    let front = gather(&shards, None).unwrap().unwrap();
    let others: Vec<Server> = Shard::all(3)
        .map(|shard| open_shard(dir.path(), shard).unwrap())
        .collect();
    // If all folders have another index, it is served, because the operator decides. Clients refuse an index that went back.
    let follow = gather(&others, Some(&front)).unwrap().unwrap();
    assert_eq!(follow.manifest(), others[0].manifest());
    // An index of another owner.
    let stranger = strange_keys();
    let mut ask = |shard: Shard, request: &[u8], _: usize| shards[place(shard)].handle(request);
    let foreign = Server::gather(3, &stranger.public(), None, &mut ask).unwrap_err();
    assert!(matches!(foreign, Error::Signature), "{foreign}");
    // An older version that an operator restored.
    let mut masked = masked;
    masked.delete(&[1]);
    let newer = gather(&open(&masked, 3), None).unwrap().unwrap();
    let back = gather(&shards, Some(&newer)).unwrap().unwrap();
    assert_eq!(back.manifest(), shards[0].manifest());
}

/// A change of any downloaded byte by a shard is found, because the owner's signature covers it.
#[test]
fn what_a_shard_gives_out_wrongly_is_refused() {
    for form in [
        Form::Masked(Packing::T4),
        ROUTED,
        hinted(Routing::Downloaded),
    ] {
        let bed = bed(&spec(form), 1.0);
        let shards = open(&bed, 2);
        let mut kinds = std::collections::BTreeSet::new();
        for at in 0..200 {
            let mut number = 0;
            let mut touched = false;
            let mut ask = |shard: Shard, request: &[u8], limit: usize| {
                let mut reply = shards[place(shard)].handle(request)?;
                number += 1;
                // A piece of a hint without blocks has no bytes to change.
                let empty = request[6] == 103 && reply.len() == 16 + 44 + 32;
                if number == at + 1 && !empty {
                    touched = true;
                    let last = reply.len() - 1;
                    match request[6] {
                        // The last byte of the head, and of the part after it.
                        113 => reply[last] ^= 1,
                        _ if at % 2 == 0 => reply[last] ^= 1,
                        _ => {
                            reply.push(0);
                            let len = (reply.len() - 16) as u64;
                            reply[8..16].copy_from_slice(&len.to_le_bytes());
                        }
                    }
                }
                assert!(at % 2 == 1 || reply.len() <= limit);
                Ok(reply)
            };
            let gathered = Server::gather(2, &keys().public(), None, &mut ask);
            if !touched {
                gathered.unwrap();
                if number <= at {
                    assert!(at > 6, "{at}");
                    break;
                }
                continue;
            }
            match gathered {
                Err(error) => {
                    kinds.insert(error.to_string());
                }
                Ok(_) => panic!("reply {at} was changed, and taken"),
            }
        }
        assert!(kinds.len() > 2, "{kinds:?}");
    }
}

#[test]
fn replies_of_shards_are_checked_before_they_are_joined() {
    let bed = bed(&spec(ROUTED), 1.0);
    let one = bed.server();
    let shards = open(&bed, 2);
    let front = gather(&shards, None).unwrap().unwrap();
    let mut both = Both::new(&one, &front, &shards);
    let client = Client::connect(&mut both, &keys().reader(), None).unwrap();
    let found = client.search(&mut rng(2), &mut both, bed.queries.row(0));
    assert_eq!(found.unwrap().hits.len(), K);
    let request = both.last;
    let read = Request::read(&request[..]).unwrap();
    let asked = front.ask(read).unwrap();
    let all: Vec<Shard> = asked.shards().collect();
    let replies: Vec<Vec<u8>> = shards
        .iter()
        .map(|shard| shard.handle(&request).unwrap())
        .collect();
    let check = |shard: usize, reply: &[u8]| front.check_part(asked, all[shard], reply);
    check(0, &replies[0]).unwrap();
    assert!(check(0, &replies[1]).is_err() && check(1, &replies[0]).is_err());
    let whole = one.handle(&request).unwrap();
    assert!(check(0, &whole).is_err() && check(0, &[]).is_err());
    // Every byte of both heads, which say what the reply is a part of, and the number of its
    // scores.
    for at in 0..replies[0].len().min(100) {
        let mut changed = replies[0].clone();
        changed[at] ^= 0x40;
        let state = at >= 60 + 16;
        assert!(check(0, &changed).is_err() || state, "byte {at}");
        let both = [changed, replies[1].clone()];
        let joined = front.join(asked, &both);
        assert!(joined.is_err() || joined.unwrap() != whole, "byte {at}");
    }
    for len in [0, 1, 100, replies[0].len() - 1] {
        assert!(check(0, &replies[0][..len]).is_err());
    }
    let longer = [&replies[0][..], &[0]].concat();
    assert!(check(0, &longer).is_err());
    assert_eq!(front.join(asked, &replies).unwrap(), whole);
    for wrong in [&replies[..1], &[], &[&replies[..], &replies].concat()] {
        assert!(front.join(asked, wrong).is_err());
    }
    assert!(one.ask(read).is_err());
}

#[test]
fn what_cannot_be_cut_is_refused_with_the_reason() {
    let once = Form::Sealed {
        recall: 0.9,
        queries: 1,
        routing: Some(Routing::Downloaded),
    };
    let dir = tempfile::tempdir().unwrap();
    let (base, _) = synthetic::clustered(4000, 1, 64, 3);
    let spec_of = spec(once);
    let made = Store::create(
        dir.path(),
        &mut rng(1),
        &keys(),
        &spec_of,
        [Ok(base.into())],
        &mut |_| (),
    );
    let made = made.unwrap();
    let Mode::Sealed(mode) = &made.manifest().mode else {
        panic!("a sealed index");
    };
    assert!(mode.hint.is_none(), "buckets fetched with a hint");
    let refused = open_shard(dir.path(), Shard::WHOLE).unwrap_err();
    assert!(refused.to_string().contains("with a hint"), "{refused}");
    let bed = bed(&spec(ROUTED), 1.0);
    let first = Shard::new(1, 1024).unwrap();
    let refused = open_shard(bed.dir.path(), first).unwrap_err();
    assert!(refused.to_string().contains("for each shard"), "{refused}");
    // A shard tells clients that it serves no clients, and no client takes a part for the whole.
    let shards = open(&bed, 2);
    let mut transport = InProcess::new(&shards[0]);
    Client::connect(&mut transport, &keys().reader(), None).unwrap_err();
}
