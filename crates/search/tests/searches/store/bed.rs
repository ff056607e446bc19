//! A store, and a simple model of its expected contents.

use std::collections::BTreeMap;

use sordino_search::{
    Batch, Client, Hit, InProcess, Metric, Server, Spec, Store, Vectors, synthetic,
};
use sordino_testkit::{keys, rng, serve};
use tempfile::TempDir;

use super::owner::{DIM, K, N};

/// The records that the store should hold, by id.
#[derive(Clone, Default)]
pub(crate) struct Model(pub(crate) BTreeMap<u32, Vec<f32>>);

impl Model {
    pub(crate) fn put(&mut self, ids: impl IntoIterator<Item = u32>, vectors: &Vectors) {
        let rows = vectors.rows().map(<[f32]>::to_vec);
        self.0.extend(ids.into_iter().zip(rows));
    }

    pub(crate) fn measure(metric: Metric, a: &[f32], b: &[f32]) -> f32 {
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

    pub(crate) fn nearest(&self, metric: Metric, query: &[f32], k: usize) -> Vec<u32> {
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

/// The number that is a record's id.
pub(crate) fn number(hit: &Hit) -> u32 {
    u32::try_from(hit.id.number().unwrap()).unwrap()
}

pub(crate) struct Bed {
    pub(crate) dir: TempDir,
    pub(crate) store: Store,
    pub(crate) model: Model,
    pub(crate) queries: Vectors,
    pub(crate) metric: Metric,
}

/// A store of records in three batches. The last batch has unordered ids.
pub(crate) fn bed(spec: &Spec, scale: f32) -> Bed {
    let (base, queries) = synthetic::clustered(N as usize, 15, DIM, 11);
    let scaled = |rows: &[f32], by: f32| {
        let rows: Vec<f32> = rows.iter().map(|x| x * by).collect();
        Vectors::new(DIM, rows).unwrap()
    };
    // The lengths differ if the metric depends on them.
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
    pub(crate) fn upsert(&mut self, seed: u64, ids: &[u32], scale: f32) {
        let (vectors, _) = synthetic::clustered(ids.len(), 1, DIM, seed);
        let rows = vectors.as_slice().iter().map(|x| x * scale).collect();
        let vectors = Vectors::new(DIM, rows).unwrap();
        let before = self.store.version();
        let version = self.store.upsert(&mut rng(seed), ids, &vectors).unwrap();
        assert_eq!(version, before + 1);
        self.model.put(ids.iter().copied(), &vectors);
    }

    pub(crate) fn delete(&mut self, ids: &[u32]) {
        self.store.delete(&mut rng(9), ids).unwrap();
        ids.iter().for_each(|id| {
            self.model.0.remove(id).unwrap();
        });
    }

    pub(crate) fn server(&self) -> Server {
        serve(self.dir.path())
    }

    /// The recall of all queries. Checks that scores are the metric's, in its order, and that no
    /// deleted record is found.
    pub(crate) fn recall(&self, server: &Server, client: &Client) -> f64 {
        let mut transport = InProcess::new(server);
        let mut recall = 0.0;
        for (seed, query) in (100..).zip(self.queries.rows()) {
            let found = client
                .search(&mut rng(seed), &mut transport, query)
                .unwrap();
            assert_eq!(found.hits.len(), K.min(self.model.0.len()));
            let truth = self.model.nearest(self.metric, query, K);
            for hit in &found.hits {
                let vector = self
                    .model
                    .0
                    .get(&number(hit))
                    .expect("a record that is there");
                let exact = Model::measure(self.metric, vector, query);
                // The largest error that a code causes in a score of unit vectors: with 4 bits,
                // which sealed mode may choose for the cosine, or with 8.
                let unit = match self.metric {
                    Metric::Cosine => 0.12,
                    _ => 0.02,
                };
                let norm = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>().sqrt();
                let length = norm(query);
                let bound = norm(vector).max(length);
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
