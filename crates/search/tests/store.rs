//! Stores that change: what searches find afterwards, what an observer sees, what is refused.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_search::manifest::{MAX_SEGMENTS, Packing};
use sordino_search::transport::Exchange;
use sordino_search::{
    Batch, Client, Error, Form, InProcess, Index, Metric, OwnerKeys, Routing, Server, Spec, Store,
    Transport, Vectors, synthetic,
};
use tempfile::TempDir;

const N: u32 = 1500;
const DIM: usize = 24;
const K: usize = 10;

fn keys() -> OwnerKeys {
    OwnerKeys::from_master([5; 32])
}

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

fn sealed(routing: Routing) -> Form {
    Form::Sealed {
        recall: 0.9,
        queries: 10,
        routing: Some(routing),
    }
}

/// Every mode, and every form of it that differs in messages.
fn forms() -> [Form; 6] {
    [
        Form::Masked(Packing::T4),
        Form::Masked(Packing::T8),
        Form::Open(Packing::T4),
        Form::Local,
        sealed(Routing::Downloaded),
        sealed(Routing::Encrypted),
    ]
}

fn spec(form: Form) -> Spec {
    Spec {
        k: K,
        form,
        ..Spec::default()
    }
}

/// What the store should hold, by id.
#[derive(Clone, Default)]
struct Model(BTreeMap<u32, Vec<f32>>);

impl Model {
    fn put(&mut self, ids: impl IntoIterator<Item = u32>, vectors: &Vectors) {
        let rows = vectors.rows().map(<[f32]>::to_vec);
        self.0.extend(ids.into_iter().zip(rows));
    }

    fn measure(metric: Metric, a: &[f32], b: &[f32]) -> f32 {
        let product: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let norm = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>().sqrt();
        match metric {
            Metric::Cosine => product / norm(a) / norm(b),
            Metric::InnerProduct => product,
            Metric::Euclidean => {
                let difference: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
                norm(&difference)
            }
        }
    }

    /// The ids of the `k` nearest.
    fn nearest(&self, metric: Metric, query: &[f32], k: usize) -> Vec<u32> {
        let mut all: Vec<(f32, u32)> = self
            .0
            .iter()
            .map(|(&id, vector)| (Self::measure(metric, vector, query), id))
            .collect();
        all.sort_by(|a, b| match metric {
            Metric::Euclidean => a.0.total_cmp(&b.0),
            _ => b.0.total_cmp(&a.0),
        });
        all.iter().take(k).map(|found| found.1).collect()
    }
}

struct Bed {
    dir: TempDir,
    store: Store,
    model: Model,
    queries: Vectors,
    metric: Metric,
}

/// A store of records in three batches, the last with ids of its own, out of order.
fn bed(spec: &Spec, scale: f32) -> Bed {
    let (base, queries) = synthetic::clustered(N as usize, 15, DIM, 11);
    let scaled = |rows: &[f32], by: f32| {
        let rows: Vec<f32> = rows.iter().map(|x| x * by).collect();
        Vectors::new(DIM, rows).unwrap()
    };
    // Lengths differ where the metric sees them.
    let data: Vec<f32> = (0u16..)
        .zip(base.rows())
        .flat_map(|(at, row)| row.iter().map(move |x| x * (1.0 + f32::from(at % 7) * 0.2)))
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let (first, rest) = data.split_at(700 * DIM);
    let (second, third) = rest.split_at(500 * DIM);
    let [first, second, third] = [first, second, third].map(|rows| scaled(rows, scale));
    let ids: Vec<u32> = (1200..N).rev().map(|id| id * 10).collect();
    let mut model = Model::default();
    model.put(0..700, &first);
    model.put(700..1200, &second);
    model.put(ids.iter().copied(), &third);
    let batches = [Ok(first.into()), Ok(second.into()), Batch::new(ids, third)];
    let store = Store::create(dir.path(), &mut rng(1), &keys(), spec, batches, &mut |_| ());
    Bed {
        dir,
        store: store.unwrap(),
        model,
        queries: scaled(queries.as_slice(), scale),
        metric: spec.metric,
    }
}

impl Bed {
    fn upsert(&mut self, seed: u64, ids: &[u32], scale: f32) {
        let (vectors, _) = synthetic::clustered(ids.len(), 1, DIM, seed);
        let rows = vectors.as_slice().iter().map(|x| x * scale).collect();
        let vectors = Vectors::new(DIM, rows).unwrap();
        let before = self.store.version();
        let version = self.store.upsert(&mut rng(seed), ids, &vectors).unwrap();
        assert_eq!(version, before + 1);
        self.model.put(ids.iter().copied(), &vectors);
    }

    fn delete(&mut self, ids: &[u32]) {
        self.store.delete(&mut rng(9), ids).unwrap();
        ids.iter().for_each(|id| {
            self.model.0.remove(id).unwrap();
        });
    }

    fn server(&self) -> Server {
        Server::new(Index::open_dir(self.dir.path(), &keys().public()).unwrap()).unwrap()
    }

    /// Recall of all queries; scores are the metric's own, in its order, and no ghosts are found.
    fn recall(&self, server: &Server, client: &Client) -> f64 {
        let mut transport = InProcess::new(server);
        let mut recall = 0.0;
        for (seed, query) in (100..).zip(self.queries.rows()) {
            let found = client
                .search(&mut rng(seed), &mut transport, query)
                .unwrap();
            assert_eq!(found.hits.len(), K.min(self.model.0.len()));
            let truth = self.model.nearest(self.metric, query, K);
            for hit in &found.hits {
                let vector = self.model.0.get(&hit.id).expect("a record that is there");
                let exact = Model::measure(self.metric, vector, query);
                // What a code of 4 bits, which sealed mode may choose, moves a score of unit vectors by.
                let unit = 0.12;
                let bound = f32::from(self.store.manifest().bound).exp2();
                let length = query.iter().map(|x| x * x).sum::<f32>().sqrt();
                let (error, most) = match self.metric {
                    Metric::Cosine => (hit.score - exact, unit),
                    Metric::InnerProduct => (hit.score - exact, unit * bound * length),
                    Metric::Euclidean => (
                        hit.score * hit.score - exact * exact,
                        3.0 * unit * bound * bound,
                    ),
                };
                assert!(error.abs() < most, "{} for {exact}", hit.score);
            }
            assert!(found.hits.is_sorted_by(|a, b| match self.metric {
                Metric::Euclidean => a.score <= b.score,
                _ => a.score >= b.score,
            }));
            let hits = truth
                .iter()
                .filter(|id| found.hits.iter().any(|hit| hit.id == **id));
            recall += hits.count() as f64 / truth.len() as f64 / self.queries.len() as f64;
        }
        recall
    }
}

fn connect(server: &Server) -> (Client, Vec<Exchange>) {
    let mut transport = InProcess::new(server);
    let client = Client::connect(&mut transport, &keys().reader(), 0).unwrap();
    (client, transport.take_exchanges())
}

#[test]
fn searches_follow_every_change_in_every_mode() {
    for form in forms() {
        let least = match form {
            Form::Sealed { .. } => 0.85,
            Form::Local => 0.93,
            _ => 0.97,
        };
        let mut bed = bed(&spec(form), 1.0);
        assert_eq!(bed.store.len(), N as usize);
        let server = bed.server();
        let (mut client, _) = connect(&server);
        let recall = bed.recall(&server, &client);
        assert!(recall > least, "{form:?}: {recall}");

        let fresh: Vec<u32> = (50_000..50_090).collect();
        bed.upsert(21, &fresh, 1.0);
        let old: Vec<u32> = (0..N).step_by(9).filter(|id| *id < 1200).collect();
        bed.upsert(22, &old, 1.0);
        bed.delete(&(300..500).filter(|id| id % 9 != 0).collect::<Vec<_>>());
        bed.delete(&[0, 12_340, 50_007]);
        bed.upsert(23, &[0, 50_007, 7], 1.0);
        assert_eq!(bed.store.len(), bed.model.0.len());
        assert!(bed.store.ids().all(|id| bed.model.0.contains_key(&id)));
        assert!(!bed.store.contains(12_340) && bed.store.contains(7));

        let server = bed.server();
        let refreshed = client.refresh(&mut InProcess::new(&server)).unwrap();
        assert!(refreshed);
        let (new, _) = connect(&server);
        for client in [&client, &new] {
            assert_eq!(client.manifest(), bed.store.manifest());
            let recall = bed.recall(&server, client);
            assert!(recall > least, "{form:?}: {recall}");
        }

        let deleted = bed.store.verify().unwrap().deleted;
        assert!(deleted > 300, "{deleted}");
        let before = bed.store.version();
        assert_eq!(
            bed.store.compact(&mut rng(31), &mut |_| ()).unwrap(),
            before + 1
        );
        let verified = bed.store.verify().unwrap();
        assert_eq!((verified.deleted, verified.versions), (0, 7));
        assert_eq!(verified.records, bed.model.0.len());
        assert_eq!(bed.store.manifest().segments().len(), 1);
        // There is nothing more to do.
        assert_eq!(
            bed.store.compact(&mut rng(32), &mut |_| ()).unwrap(),
            before + 1
        );
        let server = bed.server();
        assert!(client.refresh(&mut InProcess::new(&server)).unwrap());
        assert!(!client.refresh(&mut InProcess::new(&server)).unwrap());
        let recall = bed.recall(&server, &client);
        assert!(recall > least, "{form:?} compacted: {recall}");

        // Another owner's session sees the same.
        let ids: Vec<u32> = bed.store.ids().collect();
        let manifest = bed.store.manifest().clone();
        drop(bed.store);
        let store = Store::open(bed.dir.path(), &keys()).unwrap();
        assert_eq!(store.manifest(), &manifest);
        assert!(store.ids().eq(ids));
        assert_eq!(store.history().unwrap().len(), 7);
    }
}

#[test]
fn every_metric_finds_its_own_nearest() {
    for metric in [Metric::InnerProduct, Metric::Euclidean] {
        for form in forms() {
            let spec = Spec {
                metric,
                norm: Some(250.0),
                ..spec(form)
            };
            let mut bed = bed(&spec, 90.0);
            assert_eq!(bed.store.manifest().bound, 8);
            bed.upsert(41, &[5, 6, 7, 90_000], 120.0);
            bed.delete(&[1, 2, 3]);
            let server = bed.server();
            let (client, _) = connect(&server);
            let recall = bed.recall(&server, &client);
            let least = match form {
                Form::Masked(_) | Form::Open(_) => 0.95,
                // 8 bits a coordinate, of vectors that have their length in one of them; and 4 bits, which
                // the planner may choose for sealed mode.
                Form::Local => 0.7,
                Form::Sealed { .. } => 0.55,
            };
            assert!(recall > least, "{metric:?} {form:?}: {recall}");
            let long = Vectors::new(DIM, vec![60.0; DIM]).unwrap();
            let refused = bed.store.upsert(&mut rng(1), &[1], &long);
            assert!(matches!(refused, Err(Error::Norm { row: 0, .. })));
        }
    }
}

#[test]
fn an_observer_sees_the_same_of_every_query_after_updates() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        bed.upsert(21, &[3, 4, 70_000], 1.0);
        bed.delete(&[5, 6, 700]);
        let server = bed.server();
        let (client, _) = connect(&server);
        let mut transport = InProcess::new(&server);
        let mut one = vec![0.0; DIM];
        one[DIM - 1] = 1.0;
        let extremes = [vec![1e30; DIM], vec![-1e-30; DIM], one];
        let deleted = [bed.queries.row(0).to_vec()];
        let queries = bed.queries.rows().map(<[f32]>::to_vec);
        let mut transcripts: Vec<Vec<Exchange>> = Vec::new();
        for query in queries.chain(extremes).chain(deleted) {
            client.search(&mut rng(2), &mut transport, &query).unwrap();
            transcripts.push(transport.take_exchanges());
        }
        let messages = match form {
            Form::Local => 0,
            Form::Sealed {
                routing: Some(Routing::Encrypted),
                ..
            } => 2,
            _ => 1,
        };
        assert_eq!(transcripts[0].len(), messages, "{form:?}");
        assert!(transcripts.iter().all(|seen| *seen == transcripts[0]));
    }
}

#[test]
fn refreshing_is_the_same_for_all_and_costs_what_is_new() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        let server = bed.server();
        let (mut idle, whole) = connect(&server);
        let (mut busy, _) = connect(&server);
        bed.recall(&server, &busy);
        bed.upsert(21, &[3, 4, 70_000], 1.0);
        bed.delete(&[8]);
        let server = bed.server();
        let seen = [&mut idle, &mut busy].map(|client| {
            let mut transport = InProcess::new(&server);
            assert!(client.refresh(&mut transport).unwrap());
            transport.take_exchanges()
        });
        assert_eq!(seen[0], seen[1], "{form:?}");
        let bytes = |seen: &[Exchange]| seen.iter().map(|e| e.up + e.down).sum::<usize>();
        // The manifest and one block of hints, or three vectors, against everything.
        let (delta, all) = (bytes(&seen[0]), bytes(&whole));
        assert!(
            delta < all * 9 / 10 && delta < 18_000,
            "{form:?}: {delta} of {all}"
        );
        let (new, _) = connect(&server);
        for query in bed.queries.rows() {
            let [a, b] = [&idle, &new].map(|client| {
                let mut transport = InProcess::new(&server);
                client
                    .search(&mut rng(3), &mut transport, query)
                    .unwrap()
                    .hits
            });
            assert_eq!(a, b, "{form:?}");
        }
    }
}

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
        // The client is as it was.
        assert!(
            newer
                .search(&mut rng(1), &mut InProcess::new(&new), query)
                .is_ok()
        );
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
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

/// A directory restored from a backup goes on in another way, even with the same randomness: clients
/// that have seen the first way do not follow, and no content shares a segment id with another.
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
        // The same seed as the first branch's.
        restored.upsert(&mut rng(21), &[3, 4], &other).unwrap();
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
        restored.delete(&mut rng(1), &[9]).unwrap();
        let fork = client.refresh(&mut InProcess::new(&restored_server()));
        assert!(matches!(fork, Err(Error::Fork { version: 3 })), "{form:?}");
    }
}

#[test]
fn what_cannot_be_done_is_named_and_changes_nothing() {
    let mut bed = bed(&spec(Form::Masked(Packing::T4)), 1.0);
    let path = bed.dir.path().to_owned();
    let locked = Store::open(&path, &keys());
    assert!(matches!(locked, Err(Error::Locked { .. })), "{locked:?}");
    let vectors = synthetic::uniform(2, DIM, 1);
    let store = &mut bed.store;
    let before = store.manifest().clone();
    let rng = &mut rng(1);
    let wide = synthetic::uniform(2, DIM + 1, 1);
    assert!(matches!(
        store.upsert(rng, &[1], &vectors),
        Err(Error::Ids {
            found: 1,
            expected: 2
        })
    ));
    assert!(matches!(
        store.upsert(rng, &[1, 1], &vectors),
        Err(Error::RepeatedId { id: 1 })
    ));
    assert!(matches!(
        store.upsert(rng, &[1, 2], &wide),
        Err(Error::Dimension {
            found: 25,
            expected: 24
        })
    ));
    let zero = Vectors::new(DIM, vec![0.0; DIM]).unwrap();
    assert!(matches!(
        store.upsert(rng, &[1], &zero),
        Err(Error::ZeroVector { row: 0 })
    ));
    assert!(matches!(
        store.delete(rng, &[4_000_000]),
        Err(Error::UnknownId { id: 4_000_000 })
    ));
    assert!(matches!(
        store.delete(rng, &[4, 4]),
        Err(Error::RepeatedId { id: 4 })
    ));
    let all: Vec<u32> = store.ids().collect();
    assert!(matches!(store.delete(rng, &all), Err(Error::NoVectors)));
    assert_eq!(store.manifest(), &before);
    store.verify().unwrap();

    // All but one can go, and then fewer than k are found.
    store.delete(rng, &all[1..]).unwrap();
    bed.model.0.retain(|&id, _| id == all[0]);
    let server = bed.server();
    let (client, _) = connect(&server);
    bed.recall(&server, &client);
    bed.store.compact(rng, &mut |_| ()).unwrap();
    let server = bed.server();
    let (client, _) = connect(&server);
    bed.recall(&server, &client);
    drop(bed.store);

    let again = Store::create(
        &path,
        rng,
        &keys(),
        &Spec::default(),
        [Ok(vectors.into())],
        &mut |_| (),
    );
    assert!(matches!(again, Err(Error::Exists { .. })));
    let stranger = Store::open(&path, &OwnerKeys::from_master([6; 32]));
    assert!(matches!(stranger, Err(Error::Signature)));
    let nothing = Store::open(path.join("nothing"), &keys());
    assert!(matches!(nothing, Err(Error::File { .. })));
}

#[test]
fn streams_that_cannot_be_stored_leave_no_index() {
    type Case = (Vec<Result<Batch, Error>>, fn(&Error) -> bool);
    let vectors = || synthetic::uniform(20, DIM, 1);
    let cases: [Case; 6] = [
        (vec![], |e| matches!(e, Error::NoVectors)),
        (vec![Ok(synthetic::uniform(5, DIM, 1).into())], |e| {
            matches!(e, Error::K { k: 10, n: 5 })
        }),
        (
            vec![
                Ok(vectors().into()),
                Ok(synthetic::uniform(5, DIM + 1, 1).into()),
            ],
            |e| matches!(e, Error::Dimension { .. }),
        ),
        (
            vec![
                Ok(vectors().into()),
                Batch::new((19..39).collect(), vectors()),
            ],
            |e| matches!(e, Error::RepeatedId { id: 19 }),
        ),
        (
            vec![Ok(vectors().into()), Err(Error::NegativeNeighbour)],
            |e| matches!(e, Error::NegativeNeighbour),
        ),
        (vec![Batch::new(vec![1], vectors())], |e| {
            matches!(e, Error::Ids { .. })
        }),
    ];
    for (batches, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let make = |batches| {
            Store::create(
                dir.path(),
                &mut rng(1),
                &keys(),
                &Spec::default(),
                batches,
                &mut |_| (),
            )
        };
        let error = make(batches).unwrap_err();
        assert!(expected(&error), "{error}");
        assert!(Index::open_dir(dir.path(), &keys().public()).is_err());
        // The directory can be used all the same.
        let store = make(vec![Ok(vectors().into())]).unwrap();
        store.verify().unwrap();
    }
}

#[test]
fn segments_run_out_and_compaction_makes_room() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = synthetic::uniform(40, DIM, 1);
    let mut store = Store::create(
        dir.path(),
        &mut rng(1),
        &keys(),
        &Spec::default(),
        [Ok(vectors.into())],
        &mut |_| (),
    )
    .unwrap();
    let one = synthetic::uniform(1, DIM, 2);
    let room = u32::try_from(MAX_SEGMENTS).unwrap();
    for id in 1..room {
        store.upsert(&mut rng(2), &[1000 + id], &one).unwrap();
    }
    let full = store.upsert(&mut rng(2), &[1], &one);
    assert!(
        matches!(
            full,
            Err(Error::Segments {
                found: 64,
                most: 64
            })
        ),
        "{full:?}"
    );
    let server = Server::new(Index::open_dir(dir.path(), &keys().public()).unwrap()).unwrap();
    let (mut client, _) = connect(&server);
    let query = synthetic::uniform(1, DIM, 2);
    let found = client.search(&mut rng(1), &mut InProcess::new(&server), query.row(0));
    assert!(found.unwrap().hits.iter().all(|hit| hit.id > 1000));
    store.compact(&mut rng(3), &mut |_| ()).unwrap();
    store.upsert(&mut rng(2), &[1], &one).unwrap();
    assert_eq!(store.manifest().segments().len(), 2);
    assert_eq!(store.verify().unwrap().versions, 66);
    let server = Server::new(Index::open_dir(dir.path(), &keys().public()).unwrap()).unwrap();
    assert!(client.refresh(&mut InProcess::new(&server)).unwrap());
    let found = client.search(&mut rng(1), &mut InProcess::new(&server), query.row(0));
    assert!(
        found
            .unwrap()
            .hits
            .iter()
            .all(|hit| hit.id > 1000 || hit.id == 1)
    );
}

/// A directory and a file hold the same index.
#[test]
fn a_directory_survives_as_one_file() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        bed.upsert(21, &[3, 4], 1.0);
        let index = Index::open_dir(bed.dir.path(), &keys().public()).unwrap();
        let read = Index::from_bytes(&index.to_bytes(), &keys().public()).unwrap();
        assert_eq!(read, index);
        let server = Server::new(read).unwrap();
        let (client, _) = connect(&server);
        bed.recall(&server, &client);
    }
}

/// A server whose manifest is an older one, replayed.
struct Replaying<'a> {
    old: &'a Server,
    new: &'a Server,
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
    // A client that knows the new version.
    let (mut client, _) = connect(&new);
    let replayed = client.refresh(&mut replaying);
    assert!(matches!(replayed, Err(Error::Rollback { .. })));
    let pinned = Client::connect(&mut replaying, &keys().reader(), 2);
    assert!(matches!(pinned, Err(Error::Rollback { .. })));
    // One that does not: the parts are asked for by the version they belong to.
    let unpinned = Client::connect(&mut replaying, &keys().reader(), 0);
    assert!(matches!(unpinned, Err(Error::Stale { .. })));
}
