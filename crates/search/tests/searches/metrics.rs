//! The recall of every metric, measured with queries that the builder did not use.

use sordino_search::code::Codec;
use sordino_search::manifest::Mode;
use sordino_search::{Form, InProcess, Metric, Routing, Spec, Store, Vectors, synthetic};
use sordino_testkit::{connect, create, rng, serve};

const K: usize = 10;

/// Vectors with different lengths.
fn scaled(unit: &Vectors) -> Vectors {
    let length = |at: u32| 0.7 + (at * 31 % 60) as f32 / 100.0;
    let rows = (0..)
        .zip(unit.rows())
        .flat_map(|(at, row)| row.iter().map(move |x| x * length(at)));
    Vectors::new(unit.dim(), rows.collect()).expect("a matrix")
}

/// Nearer vectors have larger values.
fn nearness(metric: Metric, a: &[f32], b: &[f32]) -> f32 {
    let sum = |of: fn(f32, f32) -> f32| a.iter().zip(b).map(|(&a, &b)| of(a, b)).sum::<f32>();
    match metric {
        Metric::Cosine => sum(|a, b| a * b) / (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt(),
        Metric::InnerProduct => sum(|a, b| a * b),
        Metric::Euclidean => -sum(|a, b| (a - b) * (a - b)),
    }
}

fn nearest(metric: Metric, base: &Vectors, query: &[f32]) -> Vec<u32> {
    let rows = (0u32..).zip(base.rows());
    let mut all: Vec<(f32, u32)> = rows
        .map(|(id, row)| (nearness(metric, row, query), id))
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.iter().take(K).map(|found| found.1).collect()
}

/// A store of this form, and the recall of searches in it.
fn measured(
    metric: Metric,
    form: Form,
    (n, dim, seed): (usize, usize, u64),
    count: usize,
) -> (Store, f64) {
    let (base, queries) = synthetic::clustered(n, count, dim, seed);
    recall_of(metric, form, &scaled(&base), &scaled(&queries))
}

fn recall_of(metric: Metric, form: Form, base: &Vectors, queries: &Vectors) -> (Store, f64) {
    let spec = Spec::new(form).k(K).metric(metric);
    let (dir, store) = create(&spec, Ok(base.clone().into()));
    let server = serve(dir.path());
    let client = connect(&server);
    let (rng, mut transport) = (&mut rng(1), InProcess::new(&server));
    let mut found = 0;
    for query in queries.rows() {
        let truth = nearest(metric, base, query);
        let hits = client
            .search(rng, &mut transport, query)
            .expect("hits")
            .hits;
        found += hits
            .iter()
            .filter(|hit| truth.iter().any(|&row| hit.id == row))
            .count();
    }
    let recall = found as f64 / (K * queries.len()) as f64;
    (store, recall)
}

/// Vectors similar to image descriptors: integers from 0 to 218 in 128 dimensions, with a length of
/// about 512, in clusters whose members have similar distances.
fn descriptors(n: usize, seed: u64) -> Vectors {
    let (units, _) = synthetic::clustered(n, 1, 128, seed);
    let coordinates = units.as_slice().iter();
    let whole = coordinates.map(|x| (512.0 * x.abs()).round().min(218.0));
    Vectors::new(128, whole.collect()).expect("a matrix")
}

/// The distances of such vectors need more than 8 bits per coordinate, with which recall is below
/// 0.96.
#[test]
fn local_searches_by_distance_find_the_nearest_of_whole_numbers() {
    let all = descriptors(12_060, 7);
    let (base, queries) = all.as_slice().split_at(12_000 * 128);
    let matrix = |rows: &[f32]| Vectors::new(128, rows.to_vec()).expect("a matrix");
    let (base, queries) = (matrix(base), matrix(queries));
    for (metric, least) in [(Metric::Euclidean, 0.98), (Metric::InnerProduct, 0.98)] {
        let (store, recall) = recall_of(metric, Form::Local, &base, &queries);
        println!("{metric:?}: recall {recall}");
        assert_eq!(store.manifest().chunk_codec(), Codec::Int12);
        assert!(recall >= least, "{metric:?}: {recall}");
    }
}

#[test]
fn sealed_searches_reach_the_recall_that_the_builder_measured() {
    for metric in Metric::ALL {
        let form = Form::Sealed {
            recall: 0.85,
            queries: 100,
            routing: Some(Routing::Downloaded),
        };
        let (store, recall) = measured(metric, form, (8000, 32, 11), 200);
        let expected = store.measured().expect("it was built").expected_recall;
        assert!(
            (recall - expected).abs() < 0.04,
            "{metric:?}: {recall} for {expected}"
        );
        let Mode::Sealed(mode) = &store.manifest().mode else {
            unreachable!("a sealed index");
        };
        assert!(metric == Metric::Cosine || mode.layout.codec == Codec::Int8);
    }
}

/// A client that compares codes first finds what a scan of all vectors' codes finds, with every
/// metric.
#[test]
fn local_searches_find_what_a_whole_scan_would() {
    for metric in Metric::ALL {
        let (store, recall) = measured(metric, Form::Local, (20_000, 128, 3), 50);
        let Mode::Local(mode) = &store.manifest().mode else {
            unreachable!("a local index");
        };
        println!("{metric:?}: {:?}, recall {recall}", mode.sketch);
        let least = if metric == Metric::Cosine { 0.9 } else { 0.98 };
        assert!(recall > least, "{metric:?} {:?}: {recall}", mode.sketch);
    }
}
