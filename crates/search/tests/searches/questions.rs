//! Builds that plan for the owner's questions, which lie between the records.

use std::path::Path;

use sordino_search::recall::{Truth, nearest};
use sordino_search::{
    Client, Error, Form, InProcess, Metric, OwnerFault, Server, Spec, Store, Vectors, synthetic,
};
use sordino_testkit::{keys, rng};

const K: usize = 10;
const DIM: usize = 32;
const N: usize = 8000;
const RECALL: f64 = 0.9;

const ROUTED: Form = Form::Routed {
    recall: RECALL,
    queries: 100,
};
const SEALED: Form = Form::Sealed {
    recall: RECALL,
    queries: 100,
    routing: None,
};

fn records() -> Vectors {
    synthetic::clustered(N, 1, DIM, 5).0
}

/// Sums of two records and some noise. Their neighbours lie in more clusters than those of a record.
fn questions(count: usize, seed: usize) -> Vectors {
    let (all, noise) = (records(), synthetic::uniform(count, DIM, seed as u64));
    let row = |at: usize| all.row(at * 7919 % N);
    let questions = (0..count).flat_map(|at| {
        let (one, other) = (row(2 * at + seed * 1000), row(2 * at + 1 + seed * 1000));
        let both = one.iter().zip(other).zip(noise.row(at));
        both.map(|((a, b), c)| a + b + 0.5 * c)
            .collect::<Vec<f32>>()
    });
    Vectors::new(DIM, questions.collect()).unwrap()
}

fn create(dir: &Path, spec: &Spec) -> Result<Store, Error> {
    create_of(records(), dir, spec)
}

fn create_of(records: Vectors, dir: &Path, spec: &Spec) -> Result<Store, Error> {
    let batches = [Ok(records.into())];
    Store::create(dir, &mut rng(1), &keys(), spec, batches, &mut |_| ())
}

/// The recall of a client's searches.
fn found(dir: &Path, questions: &Vectors, truth: &Truth) -> f64 {
    let server = Server::open_dir(dir, &keys().public()).unwrap();
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    let hits = questions.rows().enumerate().map(|(at, question)| {
        let result = client.search(&mut rng(at as u64), &mut transport, question);
        let hits = result.unwrap().hits;
        let is_near = |id: &sordino_search::Id| truth.of(at)[..K].iter().any(|row| *id == *row);
        hits.iter().filter(|hit| is_near(&hit.id)).count()
    });
    hits.sum::<usize>() as f64 / (K * questions.len()) as f64
}

#[test]
fn a_search_reads_enough_for_questions_unlike_the_records() {
    for (form, metric) in [
        (ROUTED, Metric::Cosine),
        (ROUTED, Metric::Euclidean),
        (ROUTED, Metric::InnerProduct),
        (SEALED, Metric::Cosine),
    ] {
        let (given, others) = (questions(300, 1), questions(100, 2));
        let truth = nearest(metric, &records(), &others, K);
        let (plain, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let spec = Spec::new(form).metric(metric);
        let without = create(plain.path(), &spec).unwrap();
        let mut store = create(dir.path(), &spec.questions(Some(given))).unwrap();
        let less = found(plain.path(), &others, &truth);
        let recall = found(dir.path(), &others, &truth);
        let measured = store.measured().unwrap();
        let before = without.measured().unwrap();
        assert_eq!(before.question_recall, None);
        let of_questions = measured.question_recall.unwrap();
        assert!((of_questions - recall).abs() < 0.04, "{recall}");
        assert!(measured.reached && recall > RECALL - 0.02, "{recall}");
        assert!(less < recall - 0.02, "{less} {recall}");
        assert!(measured.cost.total(100) > before.cost.total(100));
        let held_out = store.recall().unwrap();
        assert!((held_out - measured.expected_recall).abs() < 1e-6);
        assert!(measured.expected_recall > of_questions);
        // The next build has no questions, and still finds more than a build that never had any.
        store.delete(&mut rng(3), &[5u64]).unwrap();
        store.compact(&mut rng(4), &mut |_| ()).unwrap();
        let later = found(dir.path(), &others, &truth);
        assert!(later > less + 0.02, "{less} {later}");
    }
}

/// By the inner product, the length of a query does not change the order of records.
#[test]
fn the_length_of_questions_changes_nothing_by_the_inner_product() {
    let away = records().into_vec().into_iter().map(|x| x + 3.0);
    let away = Vectors::new(DIM, away.collect()).unwrap();
    for form in [ROUTED, SEALED] {
        let built = |scale: f32| {
            let dir = tempfile::tempdir().unwrap();
            let scaled = questions(200, 4).into_vec().into_iter().map(|x| scale * x);
            let spec = Spec::new(form).metric(Metric::InnerProduct);
            let spec = spec.questions(Some(Vectors::new(DIM, scaled.collect()).unwrap()));
            let store = create_of(away.clone(), dir.path(), &spec);
            let measured = store.unwrap().measured().unwrap();
            (measured.question_recall.unwrap(), measured.cost)
        };
        let (recall, cost) = built(1.0);
        // These are powers of two, which change no digit of a question.
        for scale in [-66, -20, 20, 30].map(|power| 2f32.powi(power)) {
            let (other, bytes) = built(scale);
            assert_eq!((other, bytes), (recall, cost), "{scale}");
        }
    }
}

/// Questions that lie elsewhere never make a search read less than it would read without them.
#[test]
fn questions_from_far_away_do_not_reduce_what_is_read() {
    for metric in [Metric::Cosine, Metric::Euclidean] {
        let (plain, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let far = questions(60, 4).into_vec().into_iter().map(|x| 1e5 + x);
        let far = Vectors::new(DIM, far.collect()).unwrap();
        let spec = Spec::new(ROUTED).metric(metric);
        let without = create(plain.path(), &spec).unwrap();
        let with = create(dir.path(), &spec.questions(Some(far))).unwrap();
        let recall = |store: &Store| store.measured().unwrap().expected_recall;
        assert!(recall(&with) > recall(&without) - 0.01, "{metric:?}");
        assert!(recall(&with) > RECALL, "{metric:?}");
    }
}

#[test]
fn questions_that_say_nothing_are_refused_before_anything_is_written() {
    let refused = |form, metric, questions: Vectors| {
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec::new(form).metric(metric).questions(Some(questions));
        let error = create(&dir.path().join("index"), &spec).unwrap_err();
        assert!(!dir.path().join("index").exists());
        error
    };
    let some = |count| questions(count, 3);
    let copies = [some(49), some(49)].map(Vectors::into_vec).concat();
    let copies = Vectors::new(DIM, copies).unwrap();
    let few = refused(ROUTED, Metric::Cosine, copies);
    assert_eq!(
        few.to_string(),
        "49 different questions: expected at least 50, because fewer say too little about the recall of others"
    );
    let wide = Vectors::new(DIM / 2, some(50).into_vec()).unwrap();
    let wide = refused(SEALED, Metric::Cosine, wide);
    let other = OwnerFault::QuestionDimension {
        found: DIM / 2,
        expected: DIM,
    };
    assert_eq!(wide.to_string(), other.to_string());
    for form in [
        Form::Local,
        Form::Masked(sordino_search::manifest::Packing::T4),
    ] {
        let all = refused(form, Metric::Cosine, some(50));
        assert!(matches!(all, Error::Mode { .. }), "{all}");
    }
    for metric in [Metric::Cosine, Metric::InnerProduct] {
        let mut rows = some(60).into_vec();
        rows[DIM * 7..DIM * 8].fill(0.0);
        let zero = refused(ROUTED, metric, Vectors::new(DIM, rows).unwrap());
        assert!(zero.to_string().contains('7'), "{zero}");
    }
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &Spec::new(ROUTED).questions(Some(some(50)))).unwrap();
}
