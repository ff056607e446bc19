//! The printed recall is the real recall. It is high on typical data: with an offset that all rows share, with some much longer
//! rows, with few dimensions.

use sordino_search::manifest::Packing;
use sordino_search::{
    Client, Error, Form, InProcess, Index, Memory, Metric, Server, Spec, Store, Vectors,
};
use sordino_testkit::{keys, rng};

const K: usize = 10;

/// Numbers near to normal: a sum of twelve that are uniform.
fn normal(n: usize, dim: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / 2f64.powi(53)
    };
    (0..n * dim)
        .map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0)
        .collect()
}

fn single(data: &[f64], dim: usize) -> Vectors {
    let data = data.iter().map(|&x| sordino_search::vectors::to_f32(x));
    Vectors::new(dim, data.collect()).unwrap()
}

/// Nearness in double precision, from the numbers that an index is given; larger is nearer.
fn near(metric: Metric, x: &[f32], q: &[f32]) -> f64 {
    let sum = |each: &dyn Fn(f64, f64) -> f64| -> f64 {
        let pairs = x.iter().zip(q);
        pairs.map(|(&x, &q)| each(f64::from(x), f64::from(q))).sum()
    };
    let product = sum(&|x, q| x * q);
    match metric {
        Metric::InnerProduct => product,
        Metric::Euclidean => -sum(&|x, q| (x - q) * (x - q)),
        // By the difference of directions: the cosine itself is rounded where it is near to 1.
        Metric::Cosine => {
            let (a, b) = (sum(&|x, _| x * x).sqrt(), sum(&|_, q| q * q).sqrt());
            -sum(&|x, q| (x / a - q / b) * (x / a - q / b))
        }
    }
}

/// The recall of searches, and the recall that the build measured.
fn recalls(spec: &Spec, base: &Vectors, queries: &Vectors) -> (f64, f64) {
    let keys = keys();
    let rng = &mut rng(1);
    let disk = Memory::default();
    let batches = [Ok(base.clone().into())];
    let store = Store::create_on(disk.clone(), "", rng, &keys, spec, batches, &mut |_| ());
    let measured = store.unwrap().recall().unwrap();
    let server = Server::new(Index::open_on(disk, "", &keys.public()).unwrap()).unwrap();
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys.reader(), None).unwrap();
    assert_eq!(client.recall(), Some(measured));
    let mut sum = 0.0;
    for query in queries.rows() {
        let found = client.search(rng, &mut transport, query).unwrap();
        let mut truth: Vec<f64> = base
            .rows()
            .map(|row| near(spec.metric, row, query))
            .collect();
        truth.sort_unstable_by(|a, b| b.total_cmp(a));
        let last = truth[K - 1];
        for hit in &found.hits {
            let row = usize::try_from(hit.id.number().unwrap()).unwrap();
            let own = near(spec.metric, base.row(row), query);
            sum += f64::from(u8::from(own >= last)) / K as f64;
            assert!(hit.score.is_finite());
            match spec.metric {
                Metric::Cosine => assert!(hit.score <= 1.0, "{}", hit.score),
                Metric::Euclidean => assert!(hit.score > 0.0 || own == 0.0, "{own}"),
                Metric::InnerProduct => {}
            }
        }
    }
    (sum / queries.len() as f64, measured)
}

/// The three forms that score all rows.
fn whole() -> [Form; 3] {
    [
        Form::Masked(Packing::T4),
        Form::Open(Packing::T8),
        Form::Local,
    ]
}

/// All rows of `base` are as good as said in these forms, and the build says so.
fn check(
    name: &str,
    metric: Metric,
    forms: &[Form],
    (base, queries): (&Vectors, &Vectors),
    least: f64,
) {
    for &form in forms {
        let spec = Spec::new(form).metric(metric);
        let (got, said) = recalls(&spec, base, queries);
        // Eight bits a coordinate are downloaded where the build measures .985 with them.
        let least = if form == Form::Local {
            least.min(0.98)
        } else {
            least
        };
        assert!(
            got >= least,
            "{name}, {metric:?}, {form:?}: {got}, said {said}"
        );
        assert!(
            (got - said).abs() < 0.06,
            "{name}, {metric:?}, {form:?}: {got}, said {said}"
        );
    }
}

/// Queries next to some of these rows.
fn beside(rows: &[f64], dim: usize, count: usize, by: f64) -> Vec<f64> {
    let away = normal(count, dim, 77);
    let step = rows.len() / dim / count;
    let some = rows
        .chunks_exact(dim)
        .step_by(step.max(1))
        .take(count)
        .flatten();
    some.zip(away).map(|(x, away)| x + by * away).collect()
}

#[test]
fn one_row_that_is_far_longer_takes_nothing_from_the_others() {
    const DIM: usize = 64;
    let rows = normal(1000, DIM, 5);
    let queries = beside(&rows[..20 * DIM], DIM, 20, 0.1);
    for times in [10.0, 100.0, 1000.0, 1e6] {
        let mut long = rows.clone();
        long[999 * DIM..].iter_mut().for_each(|x| *x *= times);
        let base = single(&long, DIM);
        let name = format!("one row x{times}");
        check(
            &name,
            Metric::Euclidean,
            &whole(),
            (&base, &single(&queries, DIM)),
            0.99,
        );
        // The queries that do not find it first.
        let other: Vec<f64> = queries
            .chunks_exact(DIM)
            .filter(|q| {
                q.iter()
                    .zip(&rows[999 * DIM..])
                    .map(|(a, b)| a * b)
                    .sum::<f64>()
                    < 0.0
            })
            .flatten()
            .copied()
            .collect();
        let away = single(&other, DIM);
        check(
            &name,
            Metric::InnerProduct,
            &whole()[..1],
            (&base, &away),
            0.99,
        );
    }
}

#[test]
fn an_offset_that_all_rows_share_costs_nothing() {
    const DIM: usize = 64;
    let rows = normal(1000, DIM, 5);
    let queries = beside(&rows, DIM, 20, 0.1);
    for (offset, least) in [(10.0, 0.99), (100.0, 0.99), (1000.0, 0.97)] {
        let moved = |rows: &[f64]| -> Vec<f64> { rows.iter().map(|x| x + offset).collect() };
        let (base, queries) = (single(&moved(&rows), DIM), single(&moved(&queries), DIM));
        for metric in [Metric::Euclidean, Metric::Cosine] {
            let name = format!("+{offset}");
            check(&name, metric, &whole(), (&base, &queries), least);
        }
    }
}

/// Positions between 40.6 and 40.9, -74.1 and -73.8, and numbers between 0 and 1.
fn places() -> [(Vectors, Vectors); 2] {
    let uniform = |n: usize, seed| -> Vec<f64> {
        let drawn = normal(n, 12, seed);
        // The part behind the point of a sum of many is as good as uniform.
        let drawn = drawn
            .chunks_exact(12)
            .map(|some| some.iter().sum::<f64>() * 1000.0);
        drawn.map(|x| x - x.floor()).collect()
    };
    let map = |n: usize, seed| {
        let pairs = uniform(2 * n, seed);
        let pairs = pairs.chunks_exact(2);
        let places: Vec<f64> = pairs
            .flat_map(|pair| [40.6 + 0.3 * pair[0], -74.1 + 0.3 * pair[1]])
            .collect();
        single(&places, 2)
    };
    let line = |n: usize, seed| single(&uniform(n, seed), 1);
    [(map(2000, 1), map(50, 2)), (line(1000, 3), line(50, 4))]
}

#[test]
fn few_dimensions_are_searched_as_well() {
    for (base, queries) in &places() {
        let dim = base.dim();
        check(
            &format!("{dim} dimensions"),
            Metric::Euclidean,
            &whole(),
            (base, queries),
            0.97,
        );
        let spec = Spec::default()
            .metric(Metric::Euclidean)
            .second_look(Some(32));
        let (got, _) = recalls(&spec, base, queries);
        assert!(got > 0.999, "{dim} dimensions, second look: {got}");
    }
}

#[test]
fn one_large_coordinate_and_all_magnitudes_are_searched_as_well() {
    const DIM: usize = 48;
    let mut seconds = normal(1500, DIM, 6);
    for (at, row) in seconds.chunks_exact_mut(DIM).enumerate() {
        row[0] = 1.7e9 + 1e4 * at as f64;
    }
    // A quarter of the way from one to the next, so that no two are as near as each other.
    let mut queries = seconds[5 * DIM..45 * DIM].to_vec();
    queries.iter_mut().step_by(DIM).for_each(|x| *x += 2500.0);
    let queries = single(&queries, DIM);
    let base = single(&seconds, DIM);
    check(
        "seconds",
        Metric::Euclidean,
        &whole(),
        (&base, &queries),
        0.95,
    );
    let mut all = normal(1500, DIM, 7);
    for (at, row) in all.chunks_exact_mut(DIM).enumerate() {
        let scale = 10f64.powf((at * 37 % 41) as f64 - 20.0);
        row.iter_mut().for_each(|x| *x *= scale);
    }
    let queries = beside(&normal(1500, DIM, 7), DIM, 25, 0.1);
    let (base, queries) = (single(&all, DIM), single(&queries, DIM));
    for metric in [Metric::Cosine, Metric::InnerProduct] {
        check("magnitudes", metric, &whole(), (&base, &queries), 0.95);
    }
}

/// One encrypted query serves all bases, so that neighbours in a cluster far from the centre are not told apart: then the build says so,
/// and the second look that it advises helps.
#[test]
fn where_precision_does_not_suffice_the_build_says_so() {
    const DIM: usize = 48;
    let mut rows = normal(1500, DIM, 8);
    for (at, row) in rows.chunks_exact_mut(DIM).enumerate() {
        let offset = if at % 2 == 0 { 1000.0 } else { -1000.0 };
        row.iter_mut().for_each(|x| *x += offset);
    }
    // The queries are of both clusters, in turn.
    let queries = single(&beside(&rows, DIM, 23, 0.0), DIM);
    let base = single(&rows, DIM);
    let spec = |second_look| {
        Spec::default()
            .metric(Metric::Euclidean)
            .second_look(second_look)
    };
    let (got, said) = recalls(&spec(None), &base, &queries);
    assert!(
        said < 0.95 && (got - said).abs() < 0.12,
        "{got}, said {said}"
    );
    let (looked, said) = recalls(&spec(Some(64)), &base, &queries);
    assert!(
        looked > got + 0.1 && (looked - said).abs() < 0.12,
        "{looked} after {got}, said {said}"
    );
}

/// Modes that read a part of the rows measure it against the truth, not against their own scores.
#[test]
fn the_recall_of_parts_is_the_one_that_is_got() {
    let [(map, queries), _] = places();
    let normal = normal(3000, 24, 9);
    let mut long = normal.clone();
    long[..24 * 20]
        .iter_mut()
        .for_each(|x| *x = *x * 1000.0 + 50.0);
    long[24 * 20..].iter_mut().for_each(|x| *x += 50.0);
    let beside = beside(&long[24 * 20..], 24, 60, 0.05);
    let sets = [(map, queries), (single(&long, 24), single(&beside, 24))];
    for (base, queries) in &sets {
        let (recall, queries_each) = (0.9, 10);
        for form in [
            Form::Routed {
                recall,
                queries: queries_each,
            },
            Form::Sealed {
                recall,
                queries: queries_each,
                routing: None,
            },
        ] {
            let spec = Spec::new(form).metric(Metric::Euclidean);
            let (got, said) = recalls(&spec, base, queries);
            assert!((got - said).abs() < 0.1, "{form:?}: {got}, said {said}");
            assert!(got > 0.6, "{form:?}: {got}");
        }
    }
}

#[test]
fn rows_whose_scores_would_not_be_numbers_are_refused_by_their_row() {
    let mut rows = vec![1.0; 40 * 8];
    rows[7 * 8..8 * 8].fill(3e38);
    let base = Vectors::new(8, rows).unwrap();
    for metric in [Metric::InnerProduct, Metric::Euclidean] {
        for form in whole() {
            let spec = Spec::new(form).metric(metric);
            let keys = keys();
            let rng = &mut rng(1);
            let batches = [Ok(base.clone().into())];
            let made = Store::create_on(
                Memory::default(),
                "",
                rng,
                &keys,
                &spec,
                batches,
                &mut |_| (),
            );
            let refused = made.map(|_| ());
            assert!(
                matches!(
                    refused,
                    Err(Error::Vectors(sordino_search::vectors::Error::Norm {
                        row: 7,
                        ..
                    }))
                ),
                "{refused:?}"
            );
        }
    }
}
