//! Compaction: makes fewer segments, and removes deleted records.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rand_core::CryptoRng;
use sordino_index::manifest::{Checking, Mode, Routed, Sealed};
use sordino_index::{Disk, Error};
use sordino_vault::attributes::Attributes;
use sordino_vault::directory::UNLABELLED;

use super::Store;
use super::draft::Draft;
use super::payloads::{Carried, Rewrite};
use super::records;
use super::row_buffer::RowBuffer;
use crate::build_context::Build;
use crate::plan::{SEGMENT, Wish};
use crate::random::random;
use crate::room;
use crate::rows::Mark;
use crate::segment::SegmentWriter;
use crate::step::Step;

impl<D: Disk> Store<D> {
    /// Writes the records again in as few segments as possible, without deleted and replaced ones. Returns the new
    /// version, or the old one if there is nothing to do.
    ///
    /// Open, masked and local mode keep the stored vectors exactly, under new pads and keys. (Open mode may change the
    /// last bit of single precision.) An exception is a compaction that writes all records again. It trains a centre
    /// and bases on some records, and tests them on the others. If the others lie clearly nearer to the new centre and
    /// bases, all records are stored relative to them, which rounds them once more. Recall is then measured again.
    /// For this, each stored coordinate moves at random by up to half a rounding step, because the vectors before rounding are
    /// no longer known.
    ///
    /// Content under an older key is written again under its label's newest key. From then on no revoked reader can
    /// read it, and no reader gets older keys. A label that a record has left for another label gets a new key. So a
    /// reader who is granted that label later cannot read the record's old row. Segments at the front stay unchanged if
    /// they are full, under the newest key, and have lost no records. So clients keep their hints.
    ///
    /// Sealed mode clusters all records again from their 8-bit codes. The owner stores these with the buckets for this
    /// purpose (a byte for each coordinate, and a record id). So the precision of 8 bits is kept exactly, too. Routed
    /// mode clusters again from 12-bit codes, to which later additions are rounded once. The exact vectors of a second
    /// look stay unchanged if the frame does.
    ///
    /// The files of the version before stay until the next change or opening.
    ///
    /// # Errors
    /// [`Error::File`] as for [`upsert`](Self::upsert), and the errors of reading the segments.
    pub fn compact<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        progress: &mut dyn FnMut(Step),
    ) -> Result<u64, Error> {
        self.check_base()?;
        let left = self.left();
        let stays = |at: &usize| !left.contains(self.label_at(*at));
        let kept = (0..self.settled()).take_while(stays).count();
        let mut rewrite = self.unchanged()?;
        if self.is_compact(kept) && rewrite == Rewrite::None {
            return Ok(self.version());
        }
        if !left.is_empty() {
            rewrite = Rewrite::All;
        }
        let made = self.compacted(rng, kept, (&left, rewrite), progress);
        self.settle(made)
    }

    /// Rewrites all segments but the first `kept`. Segments of the labels `left` get new keys.
    fn compacted<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        kept: usize,
        (left, rewrite): (&BTreeSet<String>, Rewrite),
        progress: &mut dyn FnMut(Step),
    ) -> Result<u64, Error> {
        let keys = self.keys.clone();
        let writer = self.writer(&keys);
        let mut draft = self.draft();
        draft.records.truncate(kept);
        if kept == 0
            && let Some(frame) = self.retrained_on_first(rng)?
        {
            (draft.frame, draft.framed) = (frame, None);
            draft.recall = Some(self.measurement());
        }
        let rest = self.by_label(kept);
        if let Some(access) = &mut draft.access {
            access.renewed(left, self.salt(rng))?;
        }
        match &mut draft.mode {
            Mode::Open(mode) | Mode::Masked(mode) => {
                mode.segments.truncate(kept);
                if kept == 0 {
                    // All hints are made again, so queries no longer need to share their public polynomials with those
                    // from earlier versions.
                    mode.seed = random(rng);
                }
            }
            Mode::Local(mode) => mode.segments.truncate(kept),
            Mode::Sealed(_) | Mode::Routed(_) => {
                return self.rebuilt(rng, &writer, rewrite, progress);
            }
        }
        // Every reader learns the recall. So it is measured among the records that every reader may read.
        let mut recall = draft.recall.take();
        for (label, segments) in rest {
            if label == UNLABELLED {
                draft.recall = recall.take();
            }
            let writer = writer.of_label(draft.access.as_ref(), &label);
            let mut build = Build {
                rng: &mut *rng,
                folder: &self.folder,
                writer: &writer,
                progress: &mut *progress,
            };
            let mut waiting = self.waiting();
            for at in segments {
                self.read_live(at, &mut waiting)?;
                while waiting.len() > draft.capacity() {
                    let rows = self.in_frame(&draft, waiting.take(draft.capacity())?)?;
                    draft.add(&mut build, rows, kept)?;
                }
            }
            if waiting.len() > 0 {
                let rows = self.in_frame(&draft, waiting.take(usize::MAX)?)?;
                draft.add(&mut build, rows, kept)?;
            }
            if label == UNLABELLED {
                recall = draft.recall.take();
            }
        }
        draft.recall = recall;
        self.commit(rng, &writer, draft, Carried::rewritten(rewrite))
    }

    /// Clusters all records again, in sealed and routed mode.
    fn rebuilt<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        writer: &SegmentWriter<'_>,
        rewrite: Rewrite,
        progress: &mut dyn FnMut(Step),
    ) -> Result<u64, Error> {
        let mut waiting = self.waiting();
        for at in 0..self.records.sets.len() {
            self.read_live(at, &mut waiting)?;
        }
        let rows = waiting.take(usize::MAX)?;
        let (frame, rows) = match self.retrained(rng, &[&rows], rows.ids.len())? {
            Some(frame) if frame.shares_residuals(&self.frame) => (frame, rows),
            Some(frame) => {
                let rows = rows.reframed(&self.frame, &frame)?;
                (frame, rows)
            }
            None => (self.frame.clone(), rows),
        };
        let (k, n) = (self.manifest.k as usize, rows.ids.len());
        let look = self.manifest.second_look();
        let wish = Wish {
            second_look: look.map(|look| look.candidates),
            ..wish(&self.manifest.mode, k, n)
        };
        let mut build = Build {
            rng: &mut *rng,
            folder: &self.folder,
            writer,
            progress,
        };
        let made = match self.manifest.mode {
            Mode::Routed(_) => Draft::routed(&mut build, rows, None, wish, None, frame)?,
            _ => Draft::sealed(&mut build, rows, None, wish, None, frame)?,
        };
        let (mut draft, measured) = made;
        draft.access.clone_from(&self.access);
        let version = self.commit(rng, writer, draft, Carried::rewritten(rewrite))?;
        self.measured = Some(measured);
        Ok(version)
    }

    /// The parts of payloads that compaction rewrites: parts under older keys, and parts that hold replaced or deleted
    /// payloads.
    fn unchanged(&self) -> Result<Rewrite, Error> {
        if self.carries_older() || self.is_overridden()? {
            return Ok(Rewrite::All);
        }
        // A single part that lost nothing cannot shrink. If records were deleted, more is rewritten in any case.
        Ok(match self.manifest.recent.len() {
            0 | 1 => Rewrite::None,
            _ => Rewrite::Recent,
        })
    }

    pub(super) fn waiting(&self) -> RowBuffer {
        RowBuffer::new(self.manifest.ids, self.manifest.stored_dim() as usize)
    }

    /// Adds a segment's records that are neither deleted nor replaced to the waiting records.
    pub(super) fn read_live(&self, at: usize, waiting: &mut RowBuffer) -> Result<(), Error> {
        // Rows added to a routed index do not have the same kind of scales as its clusters.
        let scaled = at == 0 || !self.is_routed();
        let rows: Vec<u32> = self.records.rows(at).collect();
        self.read_rows(at, (&rows, scaled), None, waiting)
    }

    /// Adds rows of a segment to the waiting rows. If `scaled` is true, the rows keep their stored scales. A given attribute
    /// replaces the row's attribute of the same name.
    pub(super) fn read_rows(
        &self,
        at: usize,
        (rows, scaled): (&[u32], bool),
        attributes: Option<Attributes>,
        waiting: &mut RowBuffer,
    ) -> Result<(), Error> {
        let contents = self.contents();
        let (folder, manifest, frame) = (&self.folder, &self.manifest, &self.frame);
        let (marks, residuals) = records::residuals(folder, manifest, &contents, frame, at)?;
        let own = records::attributes(&self.folder, &self.manifest, &contents, at)?;
        let live: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
        let coordinates: Cow<'_, [f32]> = match live.len() == residuals.len() {
            true => residuals.as_slice().into(),
            false => {
                room::check(live.len() * residuals.dim(), size_of::<f32>())?;
                let residual = |&row: &usize| residuals.row(row).iter().copied();
                live.iter().flat_map(residual).collect()
            }
        };
        let marks = live.iter().map(|&row| Mark {
            scale: if scaled { marks[row].scale } else { 0.0 },
            ..marks[row]
        });
        let ids = rows.iter().map(|&row| self.records.sets[at].id(row));
        let mut all = own.select(&live);
        if let Some(attributes) = attributes {
            all = all.overlaid(attributes)?;
        }
        waiting.push_residuals(ids, &coordinates, marks, all)
    }

    /// The segments behind the first `kept`, grouped by the labels of their keys, in order.
    pub(super) fn by_label(&self, kept: usize) -> Vec<(String, Vec<usize>)> {
        let mut all: Vec<(String, Vec<usize>)> = Vec::new();
        for at in kept..self.records.sets.len() {
            let label = self.label_at(at);
            match all.iter_mut().find(|(own, _)| own == label) {
                Some((_, segments)) => segments.push(at),
                None => all.push((label.to_owned(), vec![at])),
            }
        }
        all
    }

    /// True if compacting the segments behind the first `kept` would change nothing useful. Then there are no deleted records,
    /// no two segments of one label, and no content under an older key.
    fn is_compact(&self, kept: usize) -> bool {
        let whole = |at: usize| self.records.dead[at].is_empty() && !self.is_older(at);
        let rest = kept..self.records.sets.len();
        let by_label = self.by_label(kept);
        rest.into_iter().all(whole) && by_label.iter().all(|(_, segments)| segments.len() == 1)
    }

    /// True for routed mode.
    pub(super) fn is_routed(&self) -> bool {
        matches!(self.manifest.mode, Mode::Routed(_))
    }

    /// True if a segment is under a key that is not its label's newest.
    fn is_older(&self, at: usize) -> bool {
        let key = self.manifest.segments()[at].key;
        self.manifest.newest(key) != key
    }

    /// True if some content that records carry is under an older key.
    fn carries_older(&self) -> bool {
        let payloads = self.manifest.all_payloads();
        let mut groups = payloads.flat_map(|payloads| &payloads.groups);
        groups.any(|group| self.manifest.newest(group.key) != group.key)
    }

    /// The number of segments at the front that are full and have lost no records.
    pub(super) fn settled(&self) -> usize {
        if matches!(self.manifest.mode, Mode::Sealed(_) | Mode::Routed(_)) {
            return 0;
        }
        let segments = 0..self.records.sets.len();
        segments.take_while(|&at| self.is_whole(at)).count()
    }

    /// True if a segment is full, has lost no records, and is under its label's newest key.
    pub(super) fn is_whole(&self, at: usize) -> bool {
        let (ids, dead) = (&self.records.sets[at], &self.records.dead[at]);
        ids.len() >= SEGMENT && dead.is_empty() && !self.is_older(at)
    }
}

/// The demands for which an index was planned, adapted to the present number of records.
fn wish(mode: &Mode, k: usize, n: usize) -> Wish {
    let (k, recall, queries, routing) = match mode {
        Mode::Sealed(Sealed {
            recall,
            queries,
            routing,
            ..
        }) => (k.min(n), *recall, *queries, Some(*routing)),
        Mode::Routed(Routed {
            recall, queries, ..
        }) => (k, *recall, *queries, None),
        Mode::Open(_) | Mode::Masked(_) | Mode::Local(_) => return Wish::default(),
    };
    Wish {
        k,
        recall: f64::from(recall) / 1e6,
        queries,
        routing,
        second_look: None,
        checking: Checking::Sums,
        ..Wish::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::frame;
    use crate::spec::Batch;
    use crate::spec::{Form, Spec};
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_index::Id;
    use sordino_index::manifest::{Packing, PartKind};
    use sordino_vault::OwnerKeys;
    use sordino_vectors::Vectors;
    use sordino_vectors::metric::Metric;
    use sordino_vectors::synthetic;
    use std::collections::BTreeMap;
    use tempfile::TempDir;

    const ROUTED: Form = Form::Routed {
        recall: 0.8,
        queries: 5,
    };

    /// The stored form of each record, without regard to its segment.
    fn stored(store: &Store) -> BTreeMap<Id, (u8, Vec<f32>)> {
        let contents = store.contents();
        let mut all = BTreeMap::new();
        for at in 0..store.records.sets.len() {
            let (folder, manifest) = (&store.folder, &store.manifest);
            let read = records::residuals(folder, manifest, &contents, &store.frame, at);
            let (marks, residuals) = read.unwrap();
            let id = |row| store.records.sets[at].id(row);
            let live = store.records.rows(at);
            all.extend(live.map(|row| {
                let at = row as usize;
                (id(row), (marks[at].base, residuals.row(at).to_vec()))
            }));
        }
        all
    }

    #[test]
    fn what_is_stored_of_a_record_survives_compaction_exactly() {
        let keys = OwnerKeys::from_master([4; 32]);
        let rng = &mut StdRng::seed_from_u64(1);
        let sealed = Form::Sealed {
            recall: 0.8,
            queries: 5,
            routing: None,
        };
        let forms = [
            Form::Masked(Packing::T4),
            Form::Open(Packing::T8),
            Form::Local,
            sealed,
        ];
        for form in forms {
            let dir = tempfile::tempdir().unwrap();
            let (base, more) = synthetic::clustered(1300, 40, 40, 3);
            let spec = Spec {
                form,
                ..Spec::default()
            };
            let batches = [Ok(base.into())];
            let made = Store::create(dir.path(), rng, &keys, &spec, batches, &mut |_| ());
            let mut store = made.unwrap();
            let ids: Vec<u32> = (0..40).map(|id| id * 100).collect();
            store.upsert(rng, &ids, &more).unwrap();
            store.delete(rng, &[1u32, 2, 300]).unwrap();
            let before = stored(&store);
            assert_eq!(before.len(), store.len());
            for _ in 0..2 {
                store.compact(rng, &mut |_| ()).unwrap();
                assert_eq!(store.records.sets.len(), 1);
                let after = stored(&store);
                if matches!(form, Form::Open(_)) {
                    for ((a, old), (b, new)) in before.iter().zip(&after) {
                        assert_eq!((a, old.0), (b, new.0));
                        let off = old.1.iter().zip(&new.1).map(|(a, b)| (a - b).abs());
                        assert!(off.fold(0.0, f32::max) < 1e-7);
                    }
                } else {
                    assert!(after == before, "{form:?}");
                }
                // Makes the next compaction have something to do.
                store
                    .upsert(rng, &[9999u32], &synthetic::uniform(1, 40, 1))
                    .unwrap();
                store.delete(rng, &[9999u32]).unwrap();
            }
        }
    }

    fn euclidean(
        form: Form,
        rows: impl IntoIterator<Item = Vectors>,
        k: usize,
    ) -> (TempDir, Store) {
        made(Metric::Euclidean, form, rows, k)
    }

    fn made(
        metric: Metric,
        form: Form,
        rows: impl IntoIterator<Item = Vectors>,
        k: usize,
    ) -> (TempDir, Store) {
        let spec = Spec {
            form,
            k,
            metric,
            ..Spec::default()
        };
        let (rng, keys) = (&mut StdRng::seed_from_u64(1), keys());
        let batches = rows.into_iter().map(|rows| Ok(rows.into()));
        let dir = tempfile::tempdir().unwrap();
        let made = Store::create(dir.path(), rng, &keys, &spec, batches, &mut |_| ());
        (dir, made.unwrap())
    }

    fn keys() -> OwnerKeys {
        OwnerKeys::from_master([4; 32])
    }

    /// Rows, some of which lie far from all others.
    fn with_outliers(n: usize) -> Vectors {
        let (rows, _) = synthetic::clustered(n, 1, 8, 3);
        let mut data = rows.as_slice().to_vec();
        for (at, row) in data.chunks_exact_mut(8).enumerate() {
            let far = if at % 25 == 7 { at as f32 } else { 0.0 };
            row.iter_mut().for_each(|x| *x += far);
        }
        Vectors::new(8, data).unwrap()
    }

    #[test]
    fn the_same_rows_stay_in_their_frame() {
        for n in [40, 300, 1000] {
            let (_dir, mut store) = euclidean(Form::Local, [with_outliers(n)], 5);
            let (frame, recall) = (store.frame.clone(), store.recall());
            assert!(recall.is_some());
            let rng = &mut StdRng::seed_from_u64(2);
            store.delete(rng, &[1u32]).unwrap();
            store.compact(rng, &mut |_| ()).unwrap();
            assert!(store.frame.shares_residuals(&frame), "{n}");
            assert_eq!(store.recall(), recall);
        }
    }

    #[test]
    fn recall_is_measured_again_in_another_frame_and_counts_what_rounding_took() {
        for (form, metric, below) in [
            (Form::Local, Metric::Euclidean, 0.6),
            (Form::Masked(Packing::T4), Metric::Euclidean, 0.4),
            (ROUTED, Metric::InnerProduct, 0.7),
        ] {
            let (_dir, mut store) = made(metric, form, [synthetic::uniform(400, 8, 3)], 5);
            let frame = store.frame.clone();
            let mut data = synthetic::uniform(400, 8, 1).as_slice().to_vec();
            data.iter_mut().for_each(|x| *x += 2000.0);
            let rng = &mut StdRng::seed_from_u64(2);
            let more = Batch::from(Vectors::new(8, data).unwrap());
            store.add(rng, [Ok(more)], &mut |_| ()).unwrap();
            store.compact(rng, &mut |_| ()).unwrap();
            assert!(!store.frame.shares_residuals(&frame));
            let recall = store.recall().unwrap();
            assert!(recall < below, "{form:?} {metric:?}: {recall}");
        }
    }

    #[test]
    fn a_frame_of_clusters_is_of_all_records_in_whatever_order_they_come() {
        let part = |scale: f32, seed| {
            let mut data = synthetic::uniform(frame::SAMPLE, 4, seed)
                .as_slice()
                .to_vec();
            data.iter_mut().for_each(|x| *x *= scale);
            Vectors::new(4, data).unwrap()
        };
        let (_dir, store) = euclidean(ROUTED, [part(1.0, 1), part(100.0, 2)], 5);
        let Mode::Routed(mode) = &store.manifest.mode else {
            unreachable!("routed")
        };
        assert!(mode.tail.segments.is_empty());
    }

    /// Rows that are far longer are stored where all rows are scored, unless too few would be left.
    #[test]
    fn all_records_of_a_clustered_index_may_be_results() {
        let mut data = synthetic::uniform(200, 8, 1).as_slice().to_vec();
        data[..4 * 8].iter_mut().for_each(|x| *x *= 1e4);
        let rows = Vectors::new(8, data).unwrap();
        for (k, tail) in [(190, 1), (198, 0)] {
            let (_dir, store) = euclidean(ROUTED, [rows.clone()], k);
            assert_eq!(store.manifest.segments().len(), 1 + tail, "{k}");
        }
    }

    #[test]
    fn the_bytes_of_a_frame_do_not_tell_how_records_came() {
        let rows = synthetic::uniform(50_000, 4, 1);
        let part = |n: usize| {
            let parts = rows.as_slice().chunks(4 * n);
            parts.map(|data| Vectors::new(4, data.to_vec()).unwrap())
        };
        let len = |n: usize| {
            let (_dir, store) = euclidean(Form::Local, part(n), 5);
            store.manifest.part(PartKind::Frame, None).unwrap().len
        };
        assert_eq!(len(50_000), len(3000));
    }

    #[test]
    fn exact_vectors_stay_as_they_are_where_the_frame_does() {
        let (rng, keys) = (&mut StdRng::seed_from_u64(1), keys());
        let spec = Spec {
            form: ROUTED,
            k: 5,
            metric: Metric::Euclidean,
            second_look: Some(20),
            ..Spec::default()
        };
        let batches = [Ok(with_outliers(600).into())];
        let dir = tempfile::tempdir().unwrap();
        let made = Store::create(dir.path(), rng, &keys, &spec, batches, &mut |_| ());
        let mut store = made.unwrap();
        store.delete(rng, &[1u32]).unwrap();
        let (frame, before) = (store.frame.clone(), store.exact().unwrap());
        store.compact(rng, &mut |_| ()).unwrap();
        assert!(store.frame.shares_residuals(&frame));
        assert_eq!(store.exact().unwrap(), before);
        assert_eq!(before.len(), 599);
    }
}
