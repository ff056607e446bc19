//! Searches that rank their candidates by exact vectors.

use sordino_search::manifest::{ModeKind, Packing};
use sordino_search::payload::FetchKind;
use sordino_search::plan::Way;
use sordino_search::recall;
use sordino_search::{Attributes, Column, Filter, Metric, Question};
use sordino_search::{
    Batch, Client, Error, Exchange, Form, Id, InProcess, Plan, SecondLook, Spec, Store, Vectors,
    Wish, synthetic,
};

use super::{
    ASKED, DIM, FETCH_PAYLOADS, K, ROUTED, by, connect, keys, payload, rng, row, sealed, serve,
    tampering,
};
use sordino_testkit::{copies, dealt};

const N: usize = 2000;
const LONGEST: usize = 1000;
const CANDIDATES: u32 = 8;

/// The number of candidates in indexes whose pages are dealt.
const DEALT: u32 = 32;

/// The largest error of a score by exact vectors with two bytes per coordinate.
const NEARLY: f32 = 2e-5;

fn forms() -> [Form; 3] {
    [Form::Masked(Packing::T4), Form::Open(Packing::T8), ROUTED]
}

fn spec(form: Form) -> Spec {
    spec_by(FetchKind::Hintless, form)
}

fn spec_by(way: FetchKind, form: Form) -> Spec {
    by(way, Spec::new(form).k(K).second_look(Some(CANDIDATES)))
}

fn made(dir: &std::path::Path, spec: &Spec, batch: Batch) -> Store {
    Store::create(dir, &mut rng(1), &keys(), spec, [Ok(batch)], &mut |_| ()).expect("a store")
}

/// A store of records. If `longest` is given, they have payloads of at most this number of bytes.
fn store(dir: &std::path::Path, form: Form, base: &Vectors, longest: Option<usize>) -> Store {
    made(dir, &spec(form), batch(base, longest))
}

fn batch(base: &Vectors, longest: Option<usize>) -> Batch {
    let batch = Batch::from(base.clone());
    match longest {
        None => batch,
        Some(most) => {
            let payloads = (0..base.len()).map(|id| payload(id, most));
            batch.with_payloads(payloads.collect()).expect("a batch")
        }
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    sordino_search::vectors::to_f32(dot(a, b) / (dot(a, a) * dot(b, b)).sqrt())
}

#[test]
fn candidates_are_ranked_exactly_and_an_observer_sees_the_same_for_every_query() {
    let (base, queries) = synthetic::clustered(N, 6, DIM, 3);
    let truth = recall::exact(&base, &queries, K);
    let by_way = |way| forms().map(|form| (form, way, spec_by(way, form)));
    let by_deal = forms().map(|form| {
        let spec = Spec::new(form).k(K).second_look(Some(DEALT));
        (form, FetchKind::Scan, dealt(spec))
    });
    for (form, way, spec) in ASKED.into_iter().flat_map(by_way).chain(by_deal) {
        let dir = tempfile::tempdir().unwrap();
        let store = made(dir.path(), &spec, batch(&base, Some(LONGEST)));
        let payloads = store.manifest().payloads.clone().unwrap();
        let candidates = spec.second_look.unwrap();
        let look = SecondLook {
            candidates,
            width: 16,
        };
        assert_eq!(payloads.form.look, Some(look));
        assert_eq!(payloads.fetch.kind(), way, "{form:?}");
        assert_eq!(copies(store.manifest()) > 0, candidates == DEALT);
        store.verify().unwrap();
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        // The first search brings keys.
        let first = client.search(&mut rng(1), &mut transport, base.row(0));
        assert_eq!(first.unwrap().hits[0].id, 0u32);
        transport.take_exchanges();
        let mut transcripts: Vec<Vec<Exchange>> = Vec::new();
        for (at, query) in queries.rows().enumerate() {
            let mut question = Question::new(query);
            if at == 2 {
                question.threshold = Some(2.0);
            }
            if at == 3 {
                question.k = Some(1);
            }
            let found = client.ask(&mut rng(2), &mut transport, &question).unwrap();
            transcripts.push(transport.take_exchanges());
            let wanted = [K, K, 0, 1, K, K][at];
            assert_eq!((found.hits.len(), found.payloads.len()), (wanted, wanted));
            for (hit, found) in found.hits.iter().zip(&found.payloads) {
                assert_eq!(*found, payload(row(hit), LONGEST), "{form:?}");
                let exact = cosine(query, base.row(row(hit)));
                assert!(
                    (hit.score - exact).abs() < NEARLY,
                    "{form:?}: {hit:?} {exact}"
                );
            }
            assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score));
            if !matches!(form, Form::Routed { .. }) && wanted == K {
                let rows = found.hits.iter().map(row);
                assert!(rows.eq(truth.of(at).iter().map(|&row| row as usize)));
            }
        }
        assert_eq!(transcripts[0].last().unwrap().kind, FETCH_PAYLOADS);
        assert!(transcripts.iter().all(|other| *other == transcripts[0]));
        // A fetch of payloads by id has messages like the last message of a search.
        let ids: Vec<Id> = (0..=u64::from(candidates)).map(Id::Number).collect();
        let named = client.payloads(&mut rng(3), &mut transport, &ids).unwrap();
        let expected = (0..ids.len()).map(|id| Some(payload(id, LONGEST)));
        assert!(named.into_iter().eq(expected));
        let last = *transcripts[0].last().unwrap();
        let pages = ids.len() * payloads.longest as usize;
        let messages = pages.div_ceil(payloads.fetched as usize);
        assert_eq!(transport.take_exchanges(), vec![last; messages]);
    }
}

/// Searches for each of these vectors, and checks that its record comes first.
fn check(client: &mut Client, store: &Store, dir: &std::path::Path, there: &[(u64, &[f32])]) {
    store.verify().expect("a whole index");
    let server = serve(dir);
    let mut transport = InProcess::new(&server);
    client.refresh(&mut transport).expect("a newer version");
    for &(id, vector) in there {
        let found = client.search(&mut rng(4), &mut transport, vector);
        let found = found.expect("an honest server");
        let best = &found.hits[0];
        assert_eq!(best.id, Id::Number(id));
        assert!((best.score - 1.0).abs() < 1e-6, "{best:?}");
        let carried = usize::from(store.manifest().has_payloads()) * found.hits.len();
        assert_eq!(found.payloads.len(), carried);
    }
}

#[test]
fn exact_vectors_follow_their_records_through_changes() {
    let (base, more) = synthetic::clustered(400, 3, DIM, 7);
    for form in forms() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = store(dir.path(), form, &base, None);
        assert!(!store.manifest().has_payloads());
        assert_eq!(store.payloads().unwrap(), None);
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let mut client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        let named = client.payloads(&mut rng(1), &mut transport, &[Id::Number(3)]);
        assert_eq!(named.unwrap(), [None]);
        check(&mut client, &store, dir.path(), &[(7, base.row(7))]);

        let ids = [7u32, 900];
        let both = [more.row(0), more.row(1)].concat();
        let new = Vectors::new(DIM, both).unwrap();
        store.upsert(&mut rng(2), &ids, &new).unwrap();
        let there = [(7, more.row(0)), (900, more.row(1)), (8, base.row(8))];
        check(&mut client, &store, dir.path(), &there);
        store.delete(&mut rng(3), &[8u32, 17]).unwrap();
        let gone = client.search(
            &mut rng(4),
            &mut InProcess::new(&serve(dir.path())),
            base.row(8),
        );
        // This client has another version.
        assert!(matches!(gone, Err(Error::Stale { .. })));
        check(&mut client, &store, dir.path(), &there[..2]);
        let server = serve(dir.path());
        let found = client.search(&mut rng(4), &mut InProcess::new(&server), base.row(8));
        let ids: Vec<Id> = found.unwrap().hits.into_iter().map(|hit| hit.id).collect();
        assert!(!ids.contains(&Id::Number(8)));
        store.compact(&mut rng(5), &mut |_| ()).unwrap();
        assert_eq!(store.manifest().segments().len(), 1);
        assert_eq!(
            store.manifest().second_look().unwrap().candidates,
            CANDIDATES
        );
        check(&mut client, &store, dir.path(), &there[..2]);
        drop(store);

        // Payloads may be added later.
        let mut store = Store::open(dir.path(), &keys()).unwrap();
        let one = Vectors::new(DIM, more.row(2).to_vec()).unwrap();
        let batch = Batch::new([901u32], one).unwrap();
        let batch = batch.with_payloads(vec![b"late".to_vec()]).unwrap();
        store.add(&mut rng(6), [Ok(batch)], &mut |_| ()).unwrap();
        assert!(store.manifest().has_payloads());
        let there = [(7, more.row(0)), (901, more.row(2)), (9, base.row(9))];
        check(&mut client, &store, dir.path(), &there);
        let all = store.payloads().unwrap().unwrap();
        assert_eq!((all.len(), &all[&Id::Number(901)][..]), (400, &b"late"[..]));
    }
}

#[test]
fn scores_of_every_metric_are_exact() {
    let (base, queries) = synthetic::clustered(300, 4, DIM, 5);
    let scaled = |scale: f32, all: &Vectors| {
        let rows = all.rows().zip(1u8..).flat_map(|(row, at)| {
            let length = scale * (1.0 + f32::from(at) / 200.0);
            row.iter().map(move |x| x * length).collect::<Vec<f32>>()
        });
        Vectors::new(DIM, rows.take(all.len() * DIM).collect()).unwrap()
    };
    let few: Vec<f32> = base.rows().take(250).flatten().copied().collect();
    let base = scaled(3.0, &Vectors::new(DIM, few).unwrap());
    let queries = scaled(2.0, &queries);
    for metric in [Metric::InnerProduct, Metric::Euclidean] {
        let dir = tempfile::tempdir().unwrap();
        let spec = spec(Form::Masked(Packing::T4)).metric(metric);
        made(dir.path(), &spec, base.clone().into());
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        for query in queries.rows() {
            let exact = |row: usize| {
                let pairs = || query.iter().zip(base.row(row));
                match metric {
                    Metric::Euclidean => pairs().map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt(),
                    _ => pairs().map(|(a, b)| a * b).sum(),
                }
            };
            let mut all: Vec<f32> = (0..base.len()).map(exact).collect();
            all.sort_by(f32::total_cmp);
            if metric == Metric::InnerProduct {
                all.reverse();
            }
            let found = client.search(&mut rng(2), &mut transport, query).unwrap();
            assert_eq!(found.hits.len(), K);
            for (hit, best) in found.hits.iter().zip(all) {
                let expected = exact(row(hit));
                assert!((hit.score - expected).abs() < 3e-3, "{hit:?} {expected}");
                assert!(
                    (best - expected).abs() < 3e-3,
                    "{metric:?} {best} {expected}"
                );
            }
        }
    }
}

#[test]
fn a_filter_chooses_before_candidates_are_taken() {
    let base = synthetic::uniform(200, DIM, 5);
    let even = (0..200).map(|at| Some(i64::from(at % 2)));
    let attributes = Attributes::new(200, [("odd".to_owned(), Column::Int(even.collect()))]);
    let batch = Batch::from(base.clone());
    let batch = batch.with_attributes(attributes.unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    made(dir.path(), &spec(Form::Masked(Packing::T4)), batch);
    let server = serve(dir.path());
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    let filter = Filter::parse("odd = 1").unwrap();
    let mut question = Question::new(base.row(10));
    question.filter = Some(&filter);
    let found = client.ask(&mut rng(1), &mut transport, &question).unwrap();
    let truth = recall::exact(
        &base,
        &Vectors::new(DIM, base.row(10).to_vec()).unwrap(),
        200,
    );
    let odd = truth.of(0).iter().filter(|row| **row % 2 == 1);
    let odd = odd.take(K).map(|&row| row as usize);
    assert!(found.hits.iter().map(row).eq(odd));
}

#[test]
fn a_wrong_answer_ends_in_one_error_after_the_same_messages() {
    let (base, queries) = synthetic::clustered(N, 1, DIM, 3);
    let by_deal = Spec::new(ROUTED).k(K).second_look(Some(DEALT));
    let specs = [
        spec(Form::Masked(Packing::T4)),
        spec(ROUTED),
        dealt(by_deal),
    ];
    for spec in specs {
        let form = spec.form;
        let dir = tempfile::tempdir().unwrap();
        drop(made(dir.path(), &spec, batch(&base, Some(LONGEST))));
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
        let mut refused = [0; 2];
        for (refused, kind) in refused.iter_mut().zip([105, FETCH_PAYLOADS]) {
            // The positions lie across the whole reply, much of which holds pages that were not wanted. All searches
            // here share one session of 64 requests, so the test tries only a few positions.
            for at in (0..240_000).step_by(9677) {
                let (found, seen) = search(kind, at);
                assert_eq!(seen, messages, "{form:?}, kind {kind}, byte {at}");
                match found {
                    Err(Error::BadReply) => *refused += 1,
                    Err(other) => panic!("{form:?}, kind {kind}, byte {at}: {other}"),
                    // The low bits of an answer are noise.
                    Ok(found) if kind == FETCH_PAYLOADS => assert_eq!(found.hits, honest.hits),
                    // A changed score may choose other candidates, but the scores of all results are
                    // right.
                    Ok(found) => {
                        for (hit, carried) in found.hits.iter().zip(&found.payloads) {
                            let exact = cosine(queries.row(0), base.row(row(hit)));
                            assert!((hit.score - exact).abs() < NEARLY);
                            assert_eq!(*carried, payload(row(hit), LONGEST));
                        }
                    }
                }
            }
        }
        assert!(refused[1] > 0, "{form:?}");
    }
}

#[test]
fn a_second_look_that_there_cannot_be_is_refused_before_anything_is_made() {
    let base = synthetic::uniform(50, DIM, 7);
    let dir = tempfile::tempdir().unwrap();
    let create = |spec: &Spec| {
        let batches = [Ok(base.clone().into())];
        let made = Store::create(dir.path(), &mut rng(1), &keys(), spec, batches, &mut |_| ());
        made.map(drop)
    };
    for form in [Form::Local, sealed(sordino_search::Routing::Downloaded)] {
        let refused = create(&spec(form));
        assert!(matches!(refused, Err(Error::Mode { .. })), "{refused:?}");
    }
    for candidates in [0, 1, 65, u32::MAX] {
        let refused = create(&spec(ROUTED).second_look(Some(candidates)));
        let named = matches!(refused, Err(Error::Candidates(found)) if found == candidates);
        assert!(named, "{refused:?}");
    }
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_plan_counts_a_second_look_where_there_is_one() {
    let wish = Wish::default();
    let plain = Plan::new(100_000, 128, wish).unwrap();
    let second_look = Some(32);
    let wish = wish.second_look(second_look);
    let plan = Plan::new(100_000, 128, wish).unwrap();
    let look = *plan.second_look().unwrap();
    // The plan scans fewer copies than candidates, and moves fewer bytes per search than PIR would.
    let Way::Scan(scan) = look.way else {
        panic!("{}", look.way.name())
    };
    assert!((5..9).contains(&scan.copies()) && look.fetched == 32);
    assert!(look.cost.up + look.cost.down < 1_200_000, "{:?}", look.cost);
    let once = Plan::new(100_000, 128, wish.second_look(second_look).queries(1)).unwrap();
    assert_eq!(once.second_look().unwrap().way.name(), "no hint");
    // In a page, each record's vector has a base, a scale, and 16 bits per coordinate.
    assert!(look.form.page_len >= 1 + 4 + 256 && look.form.vector_len() == 1 + 4 + 256);
    let (table, before) = (
        plan.table(super::Terms::default()),
        plain.table(super::Terms::default()),
    );
    for (row, before) in table.rows().iter().zip(before.rows()) {
        let scored = matches!(
            row.mode,
            ModeKind::Masked | ModeKind::Routed | ModeKind::Open
        );
        let expected = match scored {
            true => before.cost.and(&look.cost),
            false => before.cost,
        };
        assert_eq!(row.cost, expected, "{}", row.mode);
    }
    assert!(table.to_string().contains("2nd look"));
    let too_many = Some(65);
    let refused = Plan::new(100, 128, wish.second_look(too_many));
    assert!(matches!(refused, Err(Error::Candidates(65))));
}
