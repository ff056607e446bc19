//! Builds a new routed or sealed index whose records several processes or machines of the owner assign to clusters. They work in
//! tasks that may fail and be repeated.
//!
//! Clusters are trained on a sample. Each task reads its records and reports a [`Nearest`]. Then all records are read once more
//! and the index is made from them. [`Store::create`] does the same with its own lists. Content, keys and measurements are the
//! same. The number of clusters is the planned one, while `Store::create` may train another number after it has
//! measured the recall with the first.

use std::collections::BTreeMap;
use std::path::Path;

use rand_core::CryptoRng;
use sordino_index::folder::Folder;
use sordino_index::{Disk, Error, Files};
use sordino_vault::keys::OwnerKeys;
use sordino_vault::mean::Mean;
use sordino_vectors::Vectors;

use super::centroids::{compared, lifted};
use super::create::Given;
use super::owner_tag::malformed;
use super::reread::{Range, Reread};
use super::{Centroids, Nearest, Store};
use crate::lists::Lists;
use crate::plan::{Grouping, Plan};
use crate::random::{build_name, random};
use crate::spec::{Batch, Form, Spec};
use crate::step::Step;
use crate::trained_centroids::{Assignment, TrainedCentroids};
use crate::{cluster, frame};

/// A new routed or sealed index whose records are assigned to clusters by tasks. It writes nothing until it is
/// [finished](Self::finish).
pub struct Clustering {
    keys: OwnerKeys,
    /// The spec, with the planned routing.
    spec: Spec,
    /// The number of all records.
    n: usize,
    centroids: Centroids,
    taken: BTreeMap<u64, Nearest>,
}

impl Clustering {
    /// The number of vectors on which centroids of an index of `n` vectors of `dim` coordinates are trained. [`Store::create`]
    /// takes the same number, and more do not help.
    ///
    /// # Errors
    /// The errors of [`begin`](Self::begin) about the spec and the sizes.
    pub fn sample(spec: &Spec, n: usize, dim: usize) -> Result<usize, Error> {
        let (_, clusters) = planned(spec, n, dim)?;
        Ok(n.min(clusters.saturating_mul(cluster::SAMPLE)))
    }

    /// Trains the centroids of a new index of `n` records on some of their vectors, chosen at random among all. If a metric needs
    /// a bound and the spec has none, these vectors also determine it.
    ///
    /// # Errors
    /// The errors of [`Store::create`] about the spec and the vectors. [`Error::Mode`] for a mode without centroids:
    /// all but routed and sealed. [`Error::Count`] for a sample of fewer vectors than there are clusters.
    pub fn begin<R: CryptoRng + ?Sized>(
        rng: &mut R,
        keys: &OwnerKeys,
        spec: &Spec,
        n: usize,
        sample: Vectors,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        let (dim, found) = (sample.dim(), sample.len());
        let (spec, clusters) = planned(spec, n, dim)?;
        if found < clusters {
            let expected = clusters;
            return Err(Error::Count { found, expected });
        }
        let build = build_name(rng);
        spec.metric.check(&sample, 0)?;
        let rotation = random(rng);
        progress(Step::Rotate);
        let hidden = spec.own_readers;
        let frame = frame::trained(spec.metric, rotation, &sample, n, random(rng), hidden)?;
        let units = lifted(&frame, &sample)?;
        progress(Step::Cluster);
        let routed = matches!(spec.form, Form::Routed { .. });
        let mean = routed.then(|| Mean::of(units.dim(), units.rows()));
        let mut pulse = || progress(Step::Cluster);
        let vectors = compared(mean.as_ref(), &units)?;
        let trained = TrainedCentroids::new(&*vectors, clusters, random(rng), &mut pulse)?;
        Ok(Self {
            keys: keys.clone(),
            spec,
            n,
            centroids: Centroids {
                build,
                frame,
                rotation,
                dim,
                mean,
                trained,
            },
            taken: BTreeMap::new(),
        })
    }

    /// The facts that tasks need.
    #[must_use]
    pub fn centroids(&self) -> &Centroids {
        &self.centroids
    }

    /// Takes the lists of a task. If a task was repeated, the first lists are taken; the result is false for the others.
    ///
    /// # Errors
    /// [`Error::Malformed`] for lists of another build, for centroids that do not exist, and for records that do not exist or
    /// that another task also has. The clustering is unchanged then.
    pub fn take(&mut self, nearest: Nearest) -> Result<bool, Error> {
        if nearest.build != self.centroids.build {
            return Err(malformed("of another build"));
        }
        if self.taken.contains_key(&nearest.task) {
            return Ok(false);
        }
        let (count, near) = (self.centroids.count(), cluster::NEAREST);
        let lists = &nearest.lists;
        let there = |&(centroid, _): &(u32, f32)| (centroid as usize) < count;
        if lists.each() != near.min(count) || !lists.entries().iter().all(there) {
            return Err(malformed("not of these centroids"));
        }
        let end = |nearest: &Nearest| nearest.first.saturating_add(nearest.lists.len() as u64);
        if end(&nearest) > self.n as u64 {
            return Err(malformed("of more records than there are"));
        }
        let both = |other: &&Nearest| other.first < end(&nearest) && nearest.first < end(other);
        if let Some(other) = self.taken.values().find(both) {
            let why = format!("of records that task {} has too", other.task);
            return Err(malformed(&why));
        }
        self.taken.insert(nearest.task, nearest);
        Ok(true)
    }

    /// Makes the index from the lists of tasks 0 to `tasks - 1` and all records. Records come in the order of their numbers, in
    /// batches of any size.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the lists of a task or of a record are missing, or vectors differ from those that tasks have read.
    /// The errors of [`Store::create`]. The directory is unchanged then, but the lists are gone.
    pub fn finish<R: CryptoRng + ?Sized>(
        self,
        dir: impl AsRef<Path>,
        rng: &mut R,
        tasks: u64,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Store, Error> {
        let folder = Folder::new(dir.as_ref(), Files);
        self.finish_in(folder, rng, tasks, batches, progress)
    }

    /// Like [`finish`](Self::finish), in a folder on any disk.
    ///
    /// # Errors
    /// The errors of `finish`.
    pub fn finish_in<D: Disk, R: CryptoRng + ?Sized>(
        self,
        folder: Folder<D>,
        rng: &mut R,
        tasks: u64,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Store<D>, Error> {
        if let Some(task) = (0..tasks).find(|task| !self.taken.contains_key(task)) {
            return Err(malformed(&format!("no lists of task {task}")));
        }
        let mut all: Vec<Nearest> = self.taken.into_values().collect();
        if all.len() as u64 != tasks {
            let found = all.len();
            return Err(malformed(&format!(
                "lists of {found} tasks, expected {tasks}"
            )));
        }
        all.sort_by_key(|nearest| nearest.first);
        let records: usize = all.iter().map(|nearest| nearest.lists.len()).sum();
        // The lists do not overlap, and do not reach beyond the last record.
        if records != self.n {
            let n = self.n;
            return Err(malformed(&format!(
                "lists of {records} records, expected {n}"
            )));
        }
        let (mut lists, mut ranges) = (
            Lists::with_capacity(all[0].lists.each(), records),
            Vec::new(),
        );
        for nearest in all {
            ranges.push(Range {
                task: nearest.task,
                count: nearest.lists.len(),
                digest: nearest.digest,
            });
            lists.append(&nearest.lists);
        }
        let Centroids {
            frame,
            rotation,
            dim,
            mean,
            trained,
            ..
        } = self.centroids;
        let given = Given {
            frame,
            rotation,
            assigned: Assignment {
                mean,
                trained,
                lists,
            },
        };
        let batches = Reread::new(batches.into_iter(), dim, ranges);
        let (keys, spec) = (&self.keys, &self.spec);
        Store::create_in(folder, rng, keys, spec, Some(given), batches, progress)
    }
}

/// The spec, with its routing chosen, and the number of clusters.
fn planned(spec: &Spec, n: usize, dim: usize) -> Result<(Spec, usize), Error> {
    spec.check(n, dim)?;
    let expected = "routed or sealed, whose records can be assigned apart";
    let other = |found| Err(Error::Mode { found, expected });
    if n == 0 {
        return Err(sordino_vectors::Error::NoVectors.into());
    }
    if u32::try_from(n).is_err() {
        return Err(Error::TooLarge { n, dim });
    }
    let (mut spec, wish) = (spec.clone(), spec.wish());
    let width = dim + spec.metric.added() as usize;
    let questions = spec.questions.is_some();
    let planned = |wish| Plan::of_build(n, width, spec.metric, wish, questions);
    let clusters = match &mut spec.form {
        Form::Routed { .. } => {
            wish.check_recall()?;
            let planned = Grouping::cheapest(n, width, &wish.planned_for(questions));
            planned
                .ok_or(Error::TooLarge { n, dim })?
                .grid
                .all_clusters()
        }
        Form::Sealed { routing, .. } => {
            let plan = planned(wish)?;
            *routing = Some(plan.chosen().routing);
            plan.chosen().clusters
        }
        form @ (Form::Masked(_) | Form::Open(_) | Form::Local) => return other(form.name()),
    };
    Ok((spec, clusters))
}

impl std::fmt::Debug for Clustering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clustering")
            .field("records", &self.n)
            .field("centroids", &self.centroids.count())
            .field("tasks", &self.taken.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_vectors::synthetic;

    /// Rows are clustered in the order of their ids, but tasks read them in the order of the files.
    #[test]
    fn lists_of_tasks_are_those_of_all_rows_in_order() {
        let (n, dim) = (900, 20);
        let all = synthetic::clustered(n, 1, dim, 4).0;
        let forms = [
            Form::Routed {
                recall: 0.9,
                queries: 20,
            },
            Form::Sealed {
                recall: 0.9,
                queries: 20,
                routing: None,
            },
        ];
        for form in forms {
            let spec = Spec {
                form,
                ..Spec::default()
            };
            let (mut rng, keys) = (StdRng::seed_from_u64(1), OwnerKeys::from_master([1; 32]));
            let sample = all.clone();
            let mut clustering =
                Clustering::begin(&mut rng, &keys, &spec, n, sample, &mut |_| ()).unwrap();
            for (task, rows) in (0..).zip([0..1, 1..300, 300..n]) {
                let vectors = rows.clone().flat_map(|row| all.row(row)).copied();
                let batch = Batch::from(Vectors::new(dim, vectors.collect()).unwrap());
                let numbers = (task, rows.start as u64);
                let centroids = &clustering.centroids;
                let nearest = centroids.nearest(numbers, [Ok(batch)], &mut |_| ());
                assert!(clustering.take(nearest.unwrap()).unwrap());
            }
            // Row `i` has number `order[i]`.
            let order: Vec<usize> = (0..n).map(|i| i * 7 % n).collect();
            let mut lists = Lists::default();
            let taken = clustering.taken.into_values();
            taken.for_each(|nearest| lists.append(&nearest.lists));
            let Centroids {
                mean,
                trained,
                frame,
                ..
            } = clustering.centroids;
            let assigned = Assignment {
                mean: mean.clone(),
                trained: trained.clone(),
                lists,
            };
            let lists = assigned.in_order(&order).lists;
            let sorted = order.iter().flat_map(|&row| all.row(row)).copied();
            let sorted = Vectors::new(dim, sorted.collect()).unwrap();
            let units = lifted(&frame, &sorted).unwrap();
            let vectors = compared(mean.as_ref(), &units).unwrap();
            let expected = cluster::lists(&*vectors, &trained.centres, &mut || ());
            assert_eq!(lists, expected);
        }
    }
}
