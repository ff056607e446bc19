//! Payloads in every mode. Results carry the payloads that the owner gave them, and the server sees
//! the same messages for all queries. A wrong reply gives one error after all messages.

mod contents;
mod long;
mod odd;
mod recent;
mod second_look;
mod shortened;

use std::time::Duration;

use rand::Rng;
use sordino_search::Exchange;
use sordino_search::manifest::Packing;
use sordino_search::manifest::{Part, PartKind};
use sordino_search::payload::{Fetch, FetchKind, MOST_PAYLOAD};
use sordino_search::plan::{Bytes, Cost, Speed, Terms};
use sordino_search::vectors::u32_of;
use sordino_search::{Batch, Form, Hit, Id, Spec};
use sordino_search::{
    Client, Error, InProcess, Plan, Routing, Server, Store, Vectors, Wish, synthetic,
};
use sordino_testkit::{
    ASKED, FETCH_PAYLOADS, Hostile, ROUTED, WAYS, by, connect, create, forms, keys, kind, rng,
    sealed, serve,
};

/// With this number and length of payloads, fetching by PIR moves fewer bytes than downloading all.
const N: usize = 5000;
const LONGEST: usize = 2000;
const DIM: usize = 16;
const K: usize = 2;

/// A record's payload. Its length varies, and its content names the record.
fn payload(id: usize, most: usize) -> Vec<u8> {
    let len = 1 + id * 7919 % most;
    (0..len).map(|at| (id * 31 + at).to_le_bytes()[0]).collect()
}

fn store(dir: &std::path::Path, base: &Vectors, k: usize, form: Form, most: usize) -> Store {
    let kind = match most == LONGEST {
        true => FetchKind::Pir,
        false => FetchKind::Download,
    };
    store_for(kind, dir, base, k, form, most)
}

/// A store whose payloads are fetched in this way.
fn store_for(
    kind: FetchKind,
    dir: &std::path::Path,
    base: &Vectors,
    k: usize,
    form: Form,
    most: usize,
) -> Store {
    let payloads = (0..base.len()).map(|id| payload(id, most)).collect();
    let batch = Batch::from(base.clone())
        .with_payloads(payloads)
        .expect("a batch");
    let spec = by(kind, Spec::new(form).k(k));
    Store::create(dir, &mut rng(1), &keys(), &spec, [Ok(batch)], &mut |_| ()).expect("a store")
}

#[test]
fn payloads_come_with_hits_and_an_observer_sees_the_same_for_every_query() {
    let (base, queries) = synthetic::clustered(N, 12, DIM, 3);
    for (form, way) in forms()
        .into_iter()
        .flat_map(|form| ASKED.map(|way| (form, way)))
    {
        let dir = tempfile::tempdir().unwrap();
        let store = store_for(way, dir.path(), &base, K, form, LONGEST);
        let payloads = store.manifest().payloads.clone().unwrap();
        assert_eq!(payloads.records as usize, N);
        assert!(payloads.form.payloads && payloads.form.look.is_none());
        assert_eq!(payloads.fetch.kind(), way, "{form:?}");
        store.verify().unwrap();
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        // The first search may bring keys.
        client
            .search(&mut rng(1), &mut transport, base.row(4))
            .unwrap();
        transport.take_exchanges();
        let mut transcripts: Vec<Vec<Exchange>> = Vec::new();
        for query in queries.rows().chain(base.rows().take(3)) {
            let found = client.search(&mut rng(2), &mut transport, query).unwrap();
            assert_eq!((found.hits.len(), found.payloads.len()), (K, K));
            for (hit, found) in found.hits.iter().zip(&found.payloads) {
                assert_eq!(*found, payload(row(hit), LONGEST), "{form:?}");
            }
            transcripts.push(transport.take_exchanges());
        }
        let last = transcripts[0].last().unwrap();
        assert_eq!(last.kind, FETCH_PAYLOADS);
        assert!(
            transcripts.iter().all(|other| *other == transcripts[0]),
            "{form:?}, {way:?}"
        );
    }
}

#[test]
fn clients_that_come_once_download_no_payloads_and_no_hint() {
    let (base, queries) = synthetic::clustered(N, 4, DIM, 3);
    for form in [
        Form::Masked(Packing::T4),
        sealed(Routing::Downloaded),
        Form::Local,
    ] {
        let dir = tempfile::tempdir().unwrap();
        let hintless = FetchKind::Hintless;
        let mut store = store_for(hintless, dir.path(), &base, K, form, LONGEST);
        let check = |store: &Store, client: &mut Client| {
            let payloads = store.manifest().payloads.clone().unwrap();
            assert!(matches!(payloads.fetch, Fetch::Hintless { .. }), "{form:?}");
            let parts = store.manifest().parts().unwrap();
            let mut given = parts.iter().filter(|part| part.holder.is_given());
            let of_payloads = [PartKind::Payloads, PartKind::PayloadHint];
            let recent = &store.manifest().recent;
            let recent = |part: &Part| recent.iter().any(|it| it.has(&part.digest));
            assert!(given.all(|part| recent(part) || !of_payloads.contains(&part.kind)));
            let server = serve(dir.path());
            let mut transport = InProcess::new(&server);
            client.refresh(&mut transport).unwrap();
            // The first search brings keys.
            client
                .search(&mut rng(7), &mut transport, base.row(8))
                .unwrap();
            transport.take_exchanges();
            let mut transcripts: Vec<Vec<Exchange>> = Vec::new();
            for query in queries.rows().chain(base.rows().take(2)) {
                let seed = transcripts.len() as u64;
                let found = client.search(&mut rng(seed), &mut transport, query);
                let found = found.unwrap();
                assert_eq!((found.hits.len(), found.payloads.len()), (K, K));
                for (hit, found) in found.hits.iter().zip(&found.payloads) {
                    assert_eq!(*found, payload(row(hit), LONGEST), "{form:?}");
                }
                transcripts.push(transport.take_exchanges());
            }
            let last = transcripts[0].last().unwrap();
            assert_eq!(last.kind, FETCH_PAYLOADS);
            assert!(transcripts.iter().all(|other| *other == transcripts[0]));
            let ids = [7, 4999, 5001].map(Id::Number);
            let found = client.payloads(&mut rng(9), &mut transport, &ids).unwrap();
            let expected = [7, 4999].map(|row| Some(payload(row, LONGEST)));
            assert_eq!(found, [&expected[..], &[None]].concat());
            assert_eq!(transport.take_exchanges(), vec![*last; 2]);
        };
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let mut client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        check(&store, &mut client);
        let more = synthetic::uniform(1, DIM, 10);
        let new = carrying(&[u32_of(N)], &more, &[payload(N, LONGEST)]);
        store.add(&mut rng(3), new, &mut |_| ()).unwrap();
        check(&store, &mut client);
    }
}

fn carrying(ids: &[u32], vectors: &Vectors, payloads: &[Vec<u8>]) -> [Result<Batch, Error>; 1] {
    let batch = Batch::new(ids.iter().copied(), vectors.clone());
    [batch.and_then(|batch| batch.with_payloads(payloads.to_vec()))]
}

/// The row of a record whose id is its row number.
fn row(hit: &Hit) -> usize {
    let number = hit.id.number().expect("a number");
    usize::try_from(number).expect("a row")
}

#[test]
fn few_payloads_are_downloaded_and_fewer_records_than_results_are_no_trouble() {
    let base = synthetic::uniform(40, DIM, 5);
    for form in forms() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = store(dir.path(), &base, 5, form, 20);
        let payloads = store.manifest().payloads.clone().unwrap();
        assert_eq!(payloads.fetch, Fetch::Download);
        let gone: Vec<u32> = (3..40).collect();
        store.delete(&mut rng(2), &gone).unwrap();
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        transport.take_exchanges();
        let found = client
            .search(&mut rng(3), &mut transport, base.row(1))
            .unwrap();
        // Sealed mode only finds records in the buckets that it reads.
        assert!(
            found.hits.len() <= 3 && found.hits[0].id == 1u32,
            "{form:?}"
        );
        assert_eq!(found.payloads.len(), found.hits.len());
        for (hit, found) in found.hits.iter().zip(&found.payloads) {
            assert_eq!(*found, payload(row(hit), 20), "{form:?}");
        }
        let exchanges = transport.take_exchanges();
        assert!(
            exchanges
                .iter()
                .all(|exchange| exchange.kind != FETCH_PAYLOADS)
        );
    }
}

#[test]
fn payloads_follow_their_records_through_changes() {
    WAYS.into_iter().for_each(followed_through_changes);
}

fn followed_through_changes(way: FetchKind) {
    let base = synthetic::uniform(60, DIM, 7);
    let dir = tempfile::tempdir().unwrap();
    let form = Form::Masked(Packing::T4);
    let mut store = store_for(way, dir.path(), &base, 1, form, 20);
    assert_eq!(
        store.manifest().payloads.as_ref().unwrap().fetch.kind(),
        way
    );
    let server = serve(dir.path());
    let mut client = connect(&server);
    let first = store.manifest().payloads.clone().unwrap();

    let new = synthetic::uniform(2, DIM, 8);
    let long = vec![7; 300];
    store
        .add(
            &mut rng(1),
            carrying(&[5, 900], &new, &[b"five".to_vec(), long.clone()]),
            &mut |_| (),
        )
        .unwrap();
    store.delete(&mut rng(2), &[17u32]).unwrap();
    // Records that are added without payloads have empty payloads.
    store
        .upsert(&mut rng(3), &[30u32], &synthetic::uniform(1, DIM, 9))
        .unwrap();
    // A change writes only the new payloads.
    let second = store.manifest().payloads.clone().unwrap();
    assert_eq!((first.records, &second), (60, &first));
    let recent = store.manifest().recent.iter().map(|it| it.records);
    assert_eq!(recent.collect::<Vec<_>>(), [3]);
    store.verify().unwrap();

    let check = |store: &Store, client: &mut Client| {
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        client.refresh(&mut transport).unwrap();
        let all = store.payloads().unwrap().unwrap();
        assert_eq!(all.len(), 60);
        assert!(!all.contains_key(&Id::Number(17)));
        for (query, id, expected) in [
            (new.row(0), 5, b"five".to_vec()),
            (new.row(1), 900, long.clone()),
            (base.row(40), 40, payload(40, 20)),
            (synthetic::uniform(1, DIM, 9).row(0), 30, Vec::new()),
        ] {
            let found = client.search(&mut rng(4), &mut transport, query).unwrap();
            let id = Id::Number(id);
            assert_eq!(found.hits[0].id, id);
            assert_eq!(found.payloads[0], expected);
            assert_eq!(all[&id], expected);
            let ids = [Id::Number(17), id, Id::Number(901)];
            let named = client.payloads(&mut rng(5), &mut transport, &ids);
            assert_eq!(named.unwrap(), [None, Some(expected), None]);
        }
    };
    check(&store, &mut client);
    store.compact(&mut rng(5), &mut |_| ()).unwrap();
    // After compaction the records are in other places, and their payloads are written again.
    let third = store.manifest().payloads.clone().unwrap();
    assert_eq!(third.records, second.records);
    assert!(third.id != second.id && store.manifest().recent.is_empty());
    check(&store, &mut client);
    drop(store);
    let store = Store::open(dir.path(), &keys()).unwrap();
    check(&store, &mut client);
}

#[test]
fn payloads_by_id_are_fetched_like_those_of_a_search() {
    ASKED.into_iter().for_each(fetched_by_id);
}

fn fetched_by_id(way: FetchKind) {
    let base = synthetic::uniform(N, DIM, 3);
    let dir = tempfile::tempdir().unwrap();
    let form = Form::Masked(Packing::T4);
    store_for(way, dir.path(), &base, K, form, LONGEST);
    let server = serve(dir.path());
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    for _ in 0..2 {
        // The keys are sent with the first search.
        transport.take_exchanges();
        client
            .search(&mut rng(1), &mut transport, base.row(0))
            .unwrap();
    }
    let fetch = transport.take_exchanges().pop().unwrap();
    assert_eq!(fetch.kind, FETCH_PAYLOADS);
    for rows in [&[7usize][..], &[4999, 0, 5000], &[1, 1, 1, 1]] {
        let ids: Vec<Id> = rows.iter().map(|&row| Id::Number(row as u64)).collect();
        let found = client.payloads(&mut rng(2), &mut transport, &ids).unwrap();
        for (&row, found) in rows.iter().zip(found) {
            let expected = (row < N).then(|| payload(row, LONGEST));
            assert_eq!(found, expected);
        }
        assert_eq!(
            transport.take_exchanges(),
            vec![fetch; ids.len().div_ceil(K)]
        );
    }
    let none = client.payloads(&mut rng(3), &mut transport, &[]).unwrap();
    assert!(none.is_empty() && transport.take_exchanges().is_empty());

    // A wrong reply does not end the fetch early. Otherwise the last message would reveal which reply held
    // a wanted record.
    let ids: Vec<Id> = (0..=3 * K as u64).map(Id::Number).collect();
    let mut refused = 0;
    for at in (0..6000).step_by(977) {
        let mut transport = tampering(&server, FETCH_PAYLOADS, at);
        let found = client.payloads(&mut rng(4), &mut transport, &ids);
        assert_eq!(transport.inner.take_exchanges(), vec![fetch; 4]);
        refused += usize::from(matches!(found, Err(Error::BadReply)));
    }
    assert!(refused > 0);
}

/// The number of bytes of a message without its body.
const HEAD: usize = 16;

/// The cost of payloads is the difference between the costs of an index with payloads and one
/// without.
#[test]
fn a_plan_says_what_payloads_will_move() {
    let random = &mut rng(3);
    for (n, len, searches, line) in [
        (N, LONGEST, 100, 1e8),
        (60, 20, 100, 1e8),
        (N, LONGEST, 1, 1e6),
    ] {
        let (base, queries) = synthetic::clustered(n, 1, DIM, 3);
        let wish = Wish::default().k(K).queries(searches).line(line);
        let plain = Plan::new(n, DIM, wish).unwrap();
        let plan = plain.clone().with_payloads(len).unwrap();
        let planned = *plan.payloads().unwrap();
        let form = planned.way.name();
        let dir = tempfile::tempdir().unwrap();
        // Payloads of equal lengths, which do not compress.
        let payloads = (0..n).map(|_| {
            let mut payload = vec![0; len];
            random.fill_bytes(&mut payload);
            payload
        });
        let batch = Batch::from(base.clone()).with_payloads(payloads.collect());
        let spec = Spec::default().k(K).conditions(wish.conditions());
        Store::create(
            dir.path(),
            &mut rng(1),
            &keys(),
            &spec,
            [batch],
            &mut |_| (),
        )
        .unwrap();
        let moved = |server: &Server| {
            let mut transport = InProcess::new(server);
            let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
            // The first reply is the manifest.
            let parts = &transport.take_exchanges()[1..];
            let once: usize = parts.iter().map(|seen| seen.down - HEAD).sum();
            let mut search = |seed| {
                let query = queries.row(0);
                client
                    .search(&mut rng(seed), &mut transport, query)
                    .unwrap();
                let search = transport.take_exchanges();
                let sum = |bytes: fn(&Exchange) -> usize| search.iter().map(bytes).sum::<usize>();
                (sum(|seen| seen.up), sum(|seen| seen.down))
            };
            let (first, later) = (search(2), search(3));
            // The keys of a session are sent once.
            (once + first.0 - later.0, later.0, later.1)
        };
        let with = moved(&serve(dir.path()));
        let bare = tempfile::tempdir().unwrap();
        let spec = Spec::default().k(K);
        let batches = [Ok(base.clone().into())];
        Store::create(
            bare.path(),
            &mut rng(1),
            &keys(),
            &spec,
            batches,
            &mut |_| (),
        )
        .unwrap();
        let without = moved(&serve(bare.path()));
        let more = Cost {
            once: (with.0 - without.0) as u64,
            up: (with.1 - without.1) as u64,
            down: (with.2 - without.2) as u64,
        };
        assert_eq!(planned.cost, more);

        // The cost is included in every mode's figures, and also printed below them.
        let (table, before) = (plan.table(Terms::default()), plain.table(Terms::default()));
        let (server, client) = planned.times(&Speed::ZEN5);
        assert_eq!(form != "downloaded", server.min(client) > Duration::ZERO);
        for (row, before) in table.rows().iter().zip(before.rows()) {
            assert_eq!(row.cost, before.cost.and(&planned.cost));
            assert_eq!(
                (row.server, row.client),
                (before.server + server, before.client + client)
            );
        }
        let text = table.to_string();
        let line = text.lines().find(|line| line.contains("payloads")).unwrap();
        for shown in [form.to_owned(), Bytes(more.once).to_string()] {
            assert!(line.contains(&shown), "{line}");
        }
        assert!(!before.to_string().contains("payloads"));
    }
}

/// A refresh downloads the manifest and the changed parts. Clients do not download unchanged
/// payloads, or an unchanged hint, again.
#[test]
fn a_refresh_leaves_out_payloads_that_did_not_change() {
    const PARTS: [PartKind; 3] = [
        PartKind::Payloads,
        PartKind::PayloadPlaces,
        PartKind::PayloadHint,
    ];
    for (n, most, fetched) in [(N, LONGEST, true), (60, 20, false)] {
        let base = synthetic::uniform(n, DIM, 7);
        let dir = tempfile::tempdir().unwrap();
        let mut store = store(dir.path(), &base, K, Form::Masked(Packing::T4), most);
        let client = |dir| {
            let server = serve(dir);
            let mut transport = InProcess::new(&server);
            Client::connect(&mut transport, &keys().reader(), None).unwrap()
        };
        let mut client = client(dir.path());
        // The bytes of the reply with the parts, of the payloads that changes wrote, and of the other
        // new parts.
        let refresh = |store: &Store, client: &mut Client| {
            let server = serve(dir.path());
            let mut transport = InProcess::new(&server);
            assert!(client.refresh(&mut transport).unwrap());
            let exchanges = transport.take_exchanges();
            let parts = store.manifest().parts().unwrap();
            let given = parts.iter().filter(|part| part.holder.is_given());
            // All versions use the frame of the first version.
            let given = given.filter(|part| part.kind != PartKind::Frame);
            let recent = &store.manifest().recent;
            let recent = |part: &Part| recent.iter().any(|it| it.has(&part.digest));
            let sum = |payload: bool| {
                let parts = given.clone();
                let parts = parts.filter(|part| match payload {
                    true => recent(part),
                    false => !PARTS.contains(&part.kind),
                });
                parts.map(|part| part.len).sum::<u64>()
            };
            // The parts may need more than one message.
            let down: usize = exchanges[1..].iter().map(|seen| seen.down - HEAD).sum();
            let found = client.search(&mut rng(4), &mut transport, base.row(9));
            let found = found.unwrap();
            for (hit, payload) in found.hits.iter().zip(&found.payloads) {
                let all = store.payloads().unwrap().unwrap();
                assert_eq!(all.get(&hit.id), Some(payload));
            }
            (down as u64, sum(true), sum(false))
        };
        let first = store.manifest().payloads.clone();
        assert_eq!(
            matches!(first.as_ref().unwrap().fetch, Fetch::Pir { .. }),
            fetched
        );
        // Adds one more record.
        let more = synthetic::uniform(1, DIM, 10);
        let new = carrying(&[u32_of(n)], &more, &[b"new".to_vec()]);
        store.add(&mut rng(3), new, &mut |_| ()).unwrap();
        let second = store.manifest().payloads.clone();
        assert_eq!(second, first);
        let (down, payloads, others) = refresh(&store, &mut client);
        assert!(
            (payloads..=payloads + others).contains(&down),
            "{down} {payloads}"
        );
        // All vectors are then in one segment, in their old order.
        store.compact(&mut rng(2), &mut |_| ()).unwrap();
        assert_eq!(store.manifest().payloads, second);
        let (down, _, others) = refresh(&store, &mut client);
        assert_eq!(down, others);
    }
}

#[test]
fn senseless_payloads_are_refused_before_anything_is_changed() {
    let base = synthetic::uniform(10, DIM, 7);
    let batch = Batch::from(base.clone()).with_payloads(vec![Vec::new(); 9]);
    assert!(matches!(
        batch,
        Err(Error::PayloadCount {
            found: 9,
            expected: 10
        })
    ));
    let dir = tempfile::tempdir().unwrap();
    let mut store = store(dir.path(), &base, 1, Form::Local, 20);
    let version = store.version();
    let one = synthetic::uniform(1, DIM, 1);
    let too_long = vec![0; MOST_PAYLOAD + 1];
    let long = store.add(&mut rng(1), carrying(&[3], &one, &[too_long]), &mut |_| ());
    assert!(matches!(long, Err(Error::Payload { .. })));
    let [many] = carrying(&[3], &one, &[Vec::new(), Vec::new()]);
    assert!(matches!(many, Err(Error::PayloadCount { .. })));
    assert_eq!(store.version(), version);
    store.verify().unwrap();
}

/// A server that changes its replies to one kind of request.
fn tampering(server: &Server, of: u16, at: usize) -> Hostile<'_, impl FnMut(&[u8], &mut Vec<u8>)> {
    Hostile::new(server, move |request, reply| {
        if kind(request) == of {
            let at = reply.len() - 1 - at % (reply.len() - 100);
            reply[at] ^= 0x80;
        }
    })
}

#[test]
fn a_wrong_answer_ends_in_one_error_after_the_same_messages() {
    let (base, queries) = synthetic::clustered(N, 1, DIM, 3);
    let (pir, local) = (FetchKind::Pir, &[FETCH_PAYLOADS][..]);
    let modes = [
        (Form::Masked(Packing::T4), &[105, FETCH_PAYLOADS][..], pir),
        (sealed(Routing::Downloaded), &[107, FETCH_PAYLOADS], pir),
        (ROUTED, &[105, FETCH_PAYLOADS], pir),
    ];
    let ways = ASKED.map(|way| (Form::Local, local, way));
    for (form, kinds, fetched) in modes.into_iter().chain(ways) {
        let dir = tempfile::tempdir().unwrap();
        drop(store_for(fetched, dir.path(), &base, K, form, LONGEST));
        let server = serve(dir.path());
        let client = connect(&server);
        let search = |kind, at| {
            let mut transport = tampering(&server, kind, at);
            let found = client.search(&mut rng(8), &mut transport, queries.row(0));
            (found, transport.inner.take_exchanges())
        };
        // The keys are sent with the first search.
        search(0, 0).0.unwrap();
        let (honest, messages) = search(0, 0);
        let honest = honest.unwrap();
        for &kind in kinds {
            let mut refused = 0;
            for at in (0..6000).step_by(211) {
                let (found, seen) = search(kind, at);
                assert_eq!(seen, messages, "{form:?}, kind {kind}, byte {at}");
                match found {
                    Err(Error::BadReply) => refused += 1,
                    Err(other) => panic!("{form:?}, kind {kind}, byte {at}: {other}"),
                    // The low bits of an answer are noise, and a changed score may rank other
                    // records.
                    Ok(found) if kind == FETCH_PAYLOADS => {
                        assert_eq!(found.payloads, honest.payloads);
                    }
                    Ok(found) => {
                        for (hit, found) in found.hits.iter().zip(&found.payloads) {
                            assert_eq!(*found, payload(row(hit), LONGEST));
                        }
                    }
                }
            }
            assert!(refused > 0, "{form:?}, kind {kind}");
        }
    }
}
