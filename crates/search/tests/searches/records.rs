//! Records by ids of every kind, their payloads and attributes, and questions about them.

use sordino_search::{
    Attributes, Batch, Client, Column, Contents, Error, Filter, Form, Id, IdKind, InProcess,
    Metric, Question, Server, Spec, Store, Vectors, synthetic,
};
use sordino_testkit::{keys, rng, serve};

const DIM: usize = 12;
const N: usize = 400;

/// Every mode, in one form.
fn forms() -> impl Iterator<Item = Form> {
    sordino_testkit::forms().into_iter().take(5)
}

/// The id of record `at`, in an order that differs from the records' numbers.
fn id(kind: IdKind, at: usize) -> Id {
    let number = (at as u64 * 7919) % 100_003;
    match kind {
        IdKind::Number => Id::Number(u64::MAX - number),
        IdKind::Text => IdKind::Text.parse(&format!("{number}/é")).unwrap(),
        IdKind::Uuid => {
            let text = format!("67e55044-10b1-426f-9247-{number:012x}");
            IdKind::Uuid.parse(&text).unwrap()
        }
    }
}

fn payload(at: usize) -> Vec<u8> {
    format!("record {at}").into_bytes()
}

fn year(at: usize) -> Option<i64> {
    (!at.is_multiple_of(7)).then_some(2000 + at as i64 % 30)
}

fn attributes(rows: std::ops::Range<usize>) -> Attributes {
    let years = Column::Int(rows.clone().map(year).collect());
    let langs = rows
        .clone()
        .map(|at| Some(["en", "de", "fr"][at % 3].into()));
    let columns = [
        ("year".to_owned(), years),
        ("lang".to_owned(), Column::Text(langs.collect())),
    ];
    Attributes::new(rows.len(), columns).unwrap()
}

fn batch(kind: IdKind, base: &Vectors, rows: std::ops::Range<usize>) -> Result<Batch, Error> {
    let data = base.as_slice()[rows.start * DIM..rows.end * DIM].to_vec();
    Batch::new(
        rows.clone().map(|at| id(kind, at)),
        Vectors::new(DIM, data).unwrap(),
    )?
    .with_payloads(rows.clone().map(payload).collect())?
    .with_attributes(attributes(rows))
}

fn verified(store: &Store, dir: &std::path::Path) -> Server {
    assert!(store.verify().is_ok());
    serve(dir)
}

#[test]
fn records_of_every_kind_of_id_are_found_changed_and_read_back() {
    let (base, _) = synthetic::clustered(N, 1, DIM, 3);
    for (kind, form) in IdKind::ALL
        .into_iter()
        .flat_map(|kind| forms().map(move |form| (kind, form)))
    {
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec::new(form).ids(kind);
        let first = [batch(kind, &base, 0..150), batch(kind, &base, 150..250)];
        let store = Store::create(dir.path(), &mut rng(1), &keys(), &spec, first, &mut |_| ());
        let mut store = store.unwrap();
        // Some of these records exist, and some do not.
        let added = store.add(&mut rng(1), [batch(kind, &base, 200..N)], &mut |_| ());
        let added = added.unwrap();
        assert_eq!((added.records, added.replaced), (N - 200, 50));
        let gone: Vec<Id> = (0..30).map(|at| id(kind, at * 13)).collect();
        store.delete(&mut rng(1), &gone).unwrap();
        let again = store.delete(&mut rng(1), &gone);
        assert!(matches!(again, Err(Error::UnknownId { .. })));
        assert!(!store.contains(gone[3].clone()) && store.contains(id(kind, 1)));
        let mut client = None;
        for _ in 0..2 {
            let server = verified(&store, dir.path());
            let mut transport = InProcess::new(&server);
            let client = client.get_or_insert_with(|| {
                Client::connect(&mut transport, &keys().reader(), None).unwrap()
            });
            client.refresh(&mut transport).unwrap();
            let mut found_itself = 0;
            for at in (0..N).step_by(17) {
                let query = base.row(at);
                let found = client.search(&mut rng(1), &mut transport, query).unwrap();
                let hit = found.hits.iter().position(|hit| hit.id == id(kind, at));
                assert!(found.hits.iter().all(|hit| !gone.contains(&hit.id)));
                if let Some(place) = hit {
                    assert_eq!(found.payloads[place], payload(at));
                    found_itself += 1;
                }
            }
            assert!(found_itself >= 19, "{kind:?} {form:?}: {found_itself}");
            let wanted = [id(kind, 2), gone[1].clone(), id(kind, 399)];
            let named = client
                .payloads(&mut rng(1), &mut transport, &wanted)
                .unwrap();
            assert_eq!(named, [Some(payload(2)), None, Some(payload(399))]);
            check_contents(dir.path(), kind, &base, &gone);
            store.compact(&mut rng(1), &mut |_| ()).unwrap();
        }
    }
}

/// All stored values come back, with a reader's key.
fn check_contents(dir: &std::path::Path, kind: IdKind, base: &Vectors, gone: &[Id]) {
    let contents = Contents::open_dir(dir, &keys().reader()).unwrap();
    assert_eq!(contents.len(), N - gone.len());
    let mut seen = 0;
    let wanted = [id(kind, 5), gone[0].clone()];
    let some = contents.get(&wanted);
    for some in contents.all().chain(some) {
        let some = some.unwrap();
        for (row, found) in some.ids.iter().enumerate() {
            let at = (0..N).find(|&at| id(kind, at) == *found).unwrap();
            assert!(!gone.contains(found));
            assert_eq!(some.payloads.as_ref().unwrap()[row], payload(at));
            let Some(Column::Int(years)) = some.attributes.column("year") else {
                panic!("no years");
            };
            assert_eq!(years[row], year(at));
            let vector = base.row(at);
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            for (a, b) in vector.iter().zip(some.vectors.row(row)) {
                assert!((a / length - b).abs() < 0.02);
            }
            seen += 1;
        }
    }
    assert_eq!(seen, N - gone.len() + 1);
}

#[test]
fn questions_are_answered_by_the_client_alone() {
    let (base, queries) = synthetic::clustered(N, 4, DIM, 3);
    for (form, metric) in
        forms().flat_map(|form| [Metric::Cosine, Metric::Euclidean].map(|metric| (form, metric)))
    {
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec::new(form).k(20).metric(metric);
        let kind = IdKind::Number;
        let first = [batch(kind, &base, 0..300)];
        let store = Store::create(dir.path(), &mut rng(1), &keys(), &spec, first, &mut |_| ());
        let mut store = store.unwrap();
        store
            .add(&mut rng(1), [batch(kind, &base, 300..N)], &mut |_| ())
            .unwrap();
        store.delete(&mut rng(1), &[id(kind, 4)]).unwrap();
        let server = verified(&store, dir.path());
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        transport.take_exchanges();
        let number = |id: &Id| (0..N).find(|&at| self::id(kind, at) == *id).unwrap();
        let filter = Filter::parse("year >= 2010 and lang in ('en', 'fr')").unwrap();
        let passes =
            |at: usize| year(at).is_some_and(|year| year >= 2010) && at % 3 != 1 && at != 4;
        let none = Filter::parse("year > 3000").unwrap();
        let mut transcripts = Vec::new();
        for query in queries.rows() {
            let mut question = Question::new(query);
            let plain = client.ask(&mut rng(1), &mut transport, &question).unwrap();
            assert_eq!(plain.hits.len(), 20);
            transcripts.push(transport.take_exchanges());
            question.k = Some(3);
            let few = client.ask(&mut rng(1), &mut transport, &question).unwrap();
            assert_eq!((&few.hits[..], few.payloads.len()), (&plain.hits[..3], 3));
            transcripts.push(transport.take_exchanges());
            question.k = None;
            question.threshold = Some(plain.hits[4].score);
            let near = client.ask(&mut rng(1), &mut transport, &question).unwrap();
            assert!(near.hits.len() >= 5 && near.hits == plain.hits[..near.hits.len()]);
            transcripts.push(transport.take_exchanges());
            question.threshold = None;
            question.filter = Some(&filter);
            let chosen = client.ask(&mut rng(1), &mut transport, &question).unwrap();
            let rows: Vec<usize> = chosen.hits.iter().map(|hit| number(&hit.id)).collect();
            assert!(rows.iter().all(|&at| passes(at)), "{form:?}: {rows:?}");
            transcripts.push(transport.take_exchanges());
            if !matches!(form, Form::Sealed { .. } | Form::Routed { .. }) {
                let truth = nearest(metric, &base, query, passes);
                let right = rows.iter().filter(|at| truth.contains(at)).count();
                assert!(
                    rows.len() == 20 && right >= 19,
                    "{form:?} {metric:?}: {right}"
                );
            }
            question.filter = Some(&none);
            let nothing = client.ask(&mut rng(1), &mut transport, &question).unwrap();
            assert!(nothing.hits.is_empty() && nothing.payloads.is_empty());
            transcripts.push(transport.take_exchanges());
        }
        transcripts.dedup();
        assert_eq!(transcripts.len(), 1, "{form:?}");
        refused(&client, &mut transport, queries.row(0));
    }
}

/// The 20 nearest of the records that pass.
fn nearest(
    metric: Metric,
    base: &Vectors,
    query: &[f32],
    passes: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let score = |at: usize| {
        let row = base.row(at);
        let product: f32 = row.iter().zip(query).map(|(a, b)| a * b).sum();
        let norm = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>();
        match metric {
            Metric::Euclidean => norm(row) - 2.0 * product,
            _ => -product / norm(row).sqrt(),
        }
    };
    let mut rows: Vec<usize> = (0..base.len()).filter(|&at| passes(at)).collect();
    rows.sort_by(|&a, &b| score(a).total_cmp(&score(b)));
    rows.truncate(20);
    rows
}

/// A question that cannot be answered is refused before any message.
fn refused(client: &Client, transport: &mut InProcess<'_>, query: &[f32]) {
    let mut question = Question::new(query);
    for k in [0, 21] {
        question.k = Some(k);
        let error = client.ask(&mut rng(1), transport, &question).unwrap_err();
        assert!(matches!(error, Error::Results { most: 20, .. }));
    }
    question.k = None;
    for (text, expected) in [
        (
            "state = 'x'",
            "filter: no attribute state: there are lang (text), year (int)",
        ),
        (
            "lang > 3",
            "filter: attribute lang is text, and is compared with int: put the value in quotes, or build the index with --attribute lang:int",
        ),
    ] {
        let filter = Filter::parse(text).unwrap();
        let mut question = question;
        question.filter = Some(&filter);
        let error = client.ask(&mut rng(1), transport, &question).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert!(transport.take_exchanges().is_empty());
}

#[test]
fn an_id_that_comes_twice_in_one_change_is_refused_wherever_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let spec = Spec::new(Form::Local);
    let some = |ids: std::ops::Range<u64>| {
        let n = usize::try_from(ids.end - ids.start).unwrap();
        Batch::new(ids, synthetic::uniform(n, 2, 1))
    };
    let store = Store::create(
        dir.path(),
        &mut rng(1),
        &keys(),
        &spec,
        [some(0..5)],
        &mut |_| (),
    );
    let mut store = store.unwrap();
    let version = store.version();
    // More records than a segment has.
    let twice = [some(0..140_000), some(3..4)];
    let error = store.add(&mut rng(1), twice, &mut |_| ()).unwrap_err();
    assert!(matches!(error, Error::RepeatedId { id: Id::Number(3) }));
    assert_eq!(store.version(), version);
    let added = store
        .add(&mut rng(1), [some(0..140_000)], &mut |_| ())
        .unwrap();
    assert!(added.version > version && added.replaced == 5);
    assert_eq!((store.len(), store.next_number()), (140_000, Some(140_000)));
    store.verify().unwrap();
    let wrong = Batch::new(
        [IdKind::Text.parse("x").unwrap()],
        synthetic::uniform(1, 2, 1),
    );
    let error = store.add(&mut rng(1), [wrong], &mut |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "record x is named by a text: this index names records by a number"
    );
    store
        .upsert(&mut rng(1), &[u64::MAX], &synthetic::uniform(1, 2, 1))
        .unwrap();
    let next = store.add(
        &mut rng(1),
        [Ok(synthetic::uniform(1, 2, 1).into())],
        &mut |_| (),
    );
    assert!(matches!(next, Err(Error::NoNextId { highest: u64::MAX })));
}

#[test]
fn columns_are_known_from_the_newest_segments_that_have_them() {
    let (base, _) = synthetic::clustered(N, 1, DIM, 3);
    let kind = IdKind::Number;
    let dir = tempfile::tempdir().unwrap();
    let spec = Spec::default().ids(kind);
    let first = [batch(kind, &base, 0..200)];
    let store = Store::create(dir.path(), &mut rng(1), &keys(), &spec, first, &mut |_| ());
    let mut store = store.unwrap();
    let attributes_of_the_first = store
        .manifest()
        .part(sordino_search::manifest::PartKind::Attributes, Some(0))
        .unwrap();
    let rows = |rows| [batch(kind, &base, rows)];
    store.add(&mut rng(1), rows(200..210), &mut |_| ()).unwrap();
    // The old segment's attributes are many; they are not needed.
    let hex = attributes_of_the_first.digest.map(|b| format!("{b:02x}"));
    std::fs::remove_file(dir.path().join("parts").join(hex.concat())).unwrap();
    let added = store.add(&mut rng(1), rows(210..220), &mut |_| ()).unwrap();

    let one = |name: &str, column| {
        let attributes = Attributes::new(1, [(name.to_owned(), column)]).unwrap();
        let vector = Vectors::new(DIM, base.row(220).to_vec()).unwrap();
        [Batch::new([7u64], vector)
            .unwrap()
            .with_attributes(attributes)]
    };
    let text = Column::Text(vec![Some("x".into())]);
    let refused = store.add(&mut rng(1), one("year", text.clone()), &mut |_| ());
    assert!(
        matches!(refused, Err(Error::Attribute { .. })),
        "{refused:?}"
    );
    // A column that is new may have been there before.
    let refused = store.add(&mut rng(1), one("month", text), &mut |_| ());
    assert!(matches!(refused, Err(Error::File { .. })), "{refused:?}");
    // Refused changes use up no number.
    let next = store.add(&mut rng(1), rows(220..230), &mut |_| ()).unwrap();
    assert_eq!(next.version, added.version + 1);
}
