//! Clusters that are trained on a sample. Tasks assign records to them; a task may run again, give its list twice,
//! or belong to another build.

use std::path::Path;

use sordino_search::vectors::Error as Wrong;
use sordino_search::{
    Batch, Centroids, Client, Clustering, Error, Form, Id, IdKind, InProcess, Index, Metric,
    Nearest, Server, Spec, Store, Vectors, synthetic,
};
use sordino_testkit::{ROUTED, keys, rng, strange_keys};

use super::owner::{DIM, spec};

const N: usize = 1500;

/// The first record of each task, and the number of records.
const CUTS: [usize; 5] = [0, 127, 700, 701, N];
const TASKS: u64 = 4;

const FORMS: [Form; 2] = [
    ROUTED,
    Form::Sealed {
        recall: 0.9,
        queries: 10,
        routing: None,
    },
];

fn all() -> Vectors {
    synthetic::clustered(N, 1, DIM, 3).0
}

/// Records with unordered ids, in batches of `size`.
fn records(rows: std::ops::Range<usize>, size: usize) -> Vec<Result<Batch, Error>> {
    let all = all();
    let starts = rows.clone().step_by(size);
    let batches = starts.map(|at| {
        let rows = at..rows.end.min(at + size);
        let ids: Vec<u64> = rows.clone().map(|row| (row * 7919 % 4001) as u64).collect();
        let vectors = rows.flat_map(|row| all.row(row)).copied();
        Batch::new(ids, Vectors::new(DIM, vectors.collect())?)
    });
    batches.collect()
}

fn begin(form: Form, seed: u64) -> Clustering {
    let progress = &mut |_| ();
    Clustering::begin(&mut rng(seed), &keys(), &spec(form), N, all(), progress).unwrap()
}

/// The work of a separate process, which has the keys and the bytes of the centroids.
fn assigned(centroids: &[u8], task: usize, first: usize) -> Vec<u8> {
    let centroids = Centroids::from_bytes(centroids, &keys()).unwrap();
    let rows = CUTS[task]..CUTS[task + 1];
    let (numbers, count) = ((task as u64, first as u64), rows.len());
    let nearest = centroids.nearest(numbers, records(rows, 60), &mut |_| ());
    let nearest = nearest.unwrap();
    assert_eq!(
        (nearest.task(), nearest.records() as usize),
        (task as u64, count)
    );
    nearest.to_bytes(&keys())
}

fn take(clustering: &mut Clustering, bytes: &[u8]) -> Result<bool, Error> {
    clustering.take(Nearest::from_bytes(bytes, &keys())?)
}

/// A clustering with the lists of all tasks, taken in reverse order.
fn filled(form: Form, seed: u64) -> Clustering {
    let mut clustering = begin(form, seed);
    let centroids = clustering.centroids().to_bytes(&keys());
    for task in (0..4).rev() {
        let bytes = assigned(&centroids, task, CUTS[task]);
        assert!(take(&mut clustering, &bytes).unwrap());
    }
    clustering
}

fn finish(
    clustering: Clustering,
    dir: &Path,
    tasks: u64,
    records: Vec<Result<Batch, Error>>,
) -> Result<Store, Error> {
    clustering.finish(dir, &mut rng(9), tasks, records, &mut |_| ())
}

#[test]
fn an_index_of_tasks_is_one_that_is_searched_changed_and_verified() {
    for form in FORMS {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut store = finish(filled(form, 1), dir.path(), TASKS, records(0..N, 400)).unwrap();
        assert_eq!((store.version(), store.len()), (1, N));
        assert_eq!(store.verify().unwrap().records, N);
        let found = |row: usize| {
            let server = Server::open_dir(dir.path(), &keys().public()).unwrap();
            let mut transport = InProcess::new(&server);
            let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
            let found = client.search(&mut rng(2), &mut transport, all().row(row));
            assert_eq!(found.unwrap().hits[0].id, (row * 7919 % 4001) as u64);
        };
        [0, 126, 127, 700, 701, N - 1].into_iter().for_each(found);
        // The recall equals the recall of an index that one process makes.
        let batches = records(0..N, 400);
        let progress = &mut |_| ();
        let whole = Store::create(
            other.path(),
            &mut rng(3),
            &keys(),
            &spec(form),
            batches,
            progress,
        );
        let recall = |store: &Store| store.measured().unwrap().expected_recall;
        let (apart, whole) = (recall(&store), recall(&whole.unwrap()));
        assert!((apart - whole).abs() < 0.02, "{apart} {whole}");
        // The index changes like every index.
        store.delete(&mut rng(3), &[7919u64 % 4001]).unwrap();
        store.compact(&mut rng(4), &mut |_| ()).unwrap();
        assert_eq!(store.verify().unwrap().records, N - 1);
        found(N - 1);
    }
}

/// The bytes are equal, whatever the division into tasks and batches.
#[test]
fn tasks_make_the_index_that_one_process_makes_of_the_same_centroids() {
    for form in FORMS {
        let made = |clustering: Clustering, tasks, size| {
            let dir = tempfile::tempdir().unwrap();
            drop(finish(clustering, dir.path(), tasks, records(0..N, size)).unwrap());
            let index = Index::open_dir(dir.path(), &keys().public()).unwrap();
            let (_, parts) = index.into_parts();
            let parts = parts.into_iter();
            parts
                .map(|(part, bytes)| (part.digest, bytes.to_vec()))
                .collect::<Vec<_>>()
        };
        let mut one = begin(form, 1);
        let nearest = one
            .centroids()
            .nearest((0, 0), records(0..N, N), &mut |_| ());
        assert!(one.take(nearest.unwrap()).unwrap());
        let one = made(one, 1, N);
        assert!(made(filled(form, 1), TASKS, 77) == one);
        assert!(made(filled(form, 2), TASKS, 77) != one);
    }
}

#[test]
fn lists_that_are_none_of_this_build_are_refused() {
    let mut clustering = begin(ROUTED, 1);
    let centroids = clustering.centroids().to_bytes(&keys());
    let good = assigned(&centroids, 0, 0);
    let refused = |clustering: &mut Clustering, bytes: &[u8], text: &str| {
        let error = take(clustering, bytes).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let foreign = begin(ROUTED, 2).centroids().to_bytes(&keys());
    refused(&mut clustering, &assigned(&foreign, 0, 0), "another build");
    refused(
        &mut clustering,
        &assigned(&centroids, 3, 702),
        "than there are",
    );
    refused(&mut clustering, &good[..good.len() - 1], "this owner's key");
    refused(&mut clustering, &[], "this owner's key");
    let stranger = strange_keys();
    assert!(Nearest::from_bytes(&good, &stranger).is_err());
    assert!(Centroids::from_bytes(&centroids, &stranger).is_err());
    assert!(Centroids::from_bytes(&good, &keys()).is_err());
    assert!(Nearest::from_bytes(&centroids, &keys()).is_err());
    for at in (0..centroids.len()).step_by(7) {
        let mut wrong = centroids.clone();
        wrong[at] ^= 0x10;
        assert!(Centroids::from_bytes(&wrong, &keys()).is_err(), "byte {at}");
    }
    // If a task ran twice, only one of its results is taken.
    assert!(take(&mut clustering, &good).unwrap());
    assert!(!take(&mut clustering, &good).unwrap());
    refused(
        &mut clustering,
        &assigned(&centroids, 1, 126),
        "task 0 has too",
    );
    for task in [1, 3] {
        let lists = assigned(&centroids, task, CUTS[task]);
        assert!(take(&mut clustering, &lists).unwrap());
    }
    let dir = tempfile::tempdir().unwrap();
    let error = finish(clustering, dir.path(), TASKS, records(0..N, 99)).unwrap_err();
    assert!(error.to_string().contains("no lists of task 2"), "{error}");
}

#[test]
fn records_that_changed_leave_no_index() {
    let dir = tempfile::tempdir().unwrap();
    let changed = |tasks, records, text: &str| {
        let error = finish(filled(ROUTED, 1), dir.path(), tasks, records).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    };
    changed(3, records(0..N, 99), "lists of 4 tasks, expected 3");
    changed(5, records(0..N, 99), "no lists of task 4");
    changed(TASKS, records(0..N - 1, 99), "fewer records");
    changed(TASKS, vec![], "");
    let more = records(0..N, 99).into_iter().chain(records(0..1, 1));
    changed(TASKS, more.collect(), "more records");
    // The number of records is right, but a record of the third task and one of the fourth are
    // exchanged.
    let mut swapped = records(0..700, 99);
    swapped.extend(records(701..702, 1));
    swapped.extend(records(700..701, 1));
    swapped.extend(records(702..N, 99));
    changed(TASKS, swapped, "others than task 2 has read");
    let narrow = Vectors::new(DIM / 2, vec![1.0; DIM / 2]).unwrap();
    changed(TASKS, vec![Ok(narrow.into())], "dimension");
    let lost = Err(Error::Count {
        found: 1,
        expected: 2,
    });
    changed(TASKS, vec![lost], "1 vectors");
    // An id comes twice, and the error is the usual error of the stream.
    let mut twice = records(0..N, N);
    let vectors = Batch::new(vec![5u64; N], all());
    twice[0] = vectors;
    changed(TASKS, twice, "record 5 is given twice");
}

#[test]
fn what_has_no_centroids_is_refused_at_the_beginning() {
    let begun = |spec: &Spec, n, sample| {
        Clustering::begin(&mut rng(1), &keys(), spec, n, sample, &mut |_| ()).map(drop)
    };
    for form in [Form::Local, Spec::default().form] {
        let refused = begun(&spec(form), N, all());
        assert!(matches!(refused, Err(Error::Mode { .. })), "{refused:?}");
    }
    let few = all().truncated(2).unwrap();
    assert!(matches!(
        begun(&spec(ROUTED), N, few),
        Err(Error::Count { found: 2, .. })
    ));
    let none = spec(ROUTED).k(0);
    assert!(matches!(begun(&none, N, all()), Err(Error::K { .. })));
    assert!(matches!(
        begun(&spec(ROUTED), 0, all()),
        Err(Error::Vectors(Wrong::NoVectors))
    ));
    let beyond = usize::try_from(u64::from(u32::MAX) + 1).unwrap();
    assert!(matches!(
        begun(&spec(ROUTED), beyond, all()),
        Err(Error::TooLarge { .. })
    ));
    let recall = Form::Routed {
        recall: 1.5,
        queries: 1,
    };
    assert!(matches!(
        begun(&spec(recall), N, all()),
        Err(Error::Recall(_))
    ));
    // If there are few records, the sample is all of them.
    assert_eq!(Clustering::sample(&spec(ROUTED), N, DIM).unwrap(), N);
    assert!(Clustering::sample(&spec(ROUTED), 1_000_000, DIM).unwrap() < 1_000_000);
}

#[test]
fn metrics_with_a_bound_and_ids_of_other_kinds_are_assigned_too() {
    let euclidean = spec(ROUTED).metric(Metric::Euclidean).ids(IdKind::Text);
    let progress = &mut |_| ();
    let begun = Clustering::begin(&mut rng(1), &keys(), &euclidean, N, all(), progress);
    let mut clustering = begun.unwrap();
    let bytes = clustering.centroids().to_bytes(&keys());
    let centroids = Centroids::from_bytes(&bytes, &keys()).unwrap();
    assert_eq!(
        centroids.to_bytes(&keys()),
        clustering.centroids().to_bytes(&keys())
    );
    let long = Vectors::new(DIM, vec![1e30; DIM]).unwrap();
    let long = centroids.nearest((0, 0), [Ok(long.into())], &mut |_| ());
    assert!(
        matches!(long, Err(Error::Vectors(Wrong::Norm { .. }))),
        "{long:?}"
    );
    let none = centroids.nearest((0, 0), [], &mut |_| ());
    assert!(
        matches!(none, Err(Error::Vectors(Wrong::NoVectors))),
        "{none:?}"
    );
    let wide = Vectors::new(DIM + 1, vec![1.0; DIM + 1]).unwrap();
    let wide = centroids.nearest((0, 0), [Ok(wide.into())], &mut |_| ());
    assert!(matches!(wide, Err(Error::Dimension { .. })), "{wide:?}");
    let nearest = centroids.nearest((0, 0), [Ok(all().into())], &mut |_| ());
    clustering.take(nearest.unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let ids = (0..N).map(|row| IdKind::Text.parse(&format!("record {row}")).unwrap());
    let batch = Batch::new(ids.collect::<Vec<Id>>(), all());
    let store = finish(clustering, dir.path(), 1, vec![batch]).unwrap();
    assert_eq!(store.verify().unwrap().records, N);
    assert!(store.measured().unwrap().expected_recall > 0.9);
}
