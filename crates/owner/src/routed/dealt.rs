//! Routed mode's clusters in their stored order, and the parts made from them.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::manifest::{Columns, ENTRY_LEN, Grid, Routed};
use sordino_index::{Disk, Error, code, digest, table};
use sordino_vault::ids::Ids;
use sordino_vault::members::{Cluster, Members};
use sordino_vault::order::RowOrder;
use sordino_vault::purpose::Purpose;
use sordino_vectors::u32_of;

use crate::binding::Content;
use crate::build_context::Build;
use crate::plan::Wish;
use crate::room;
use crate::rows::Rows;
use crate::segment::SegmentWriter;
use crate::spec::TAIL;
use crate::step::Step;

/// Clusters in their stored order.
pub(super) struct Dealt {
    pub(super) centroids: Vec<u8>,
    /// The records of each cluster.
    pub(super) members: Vec<Cluster>,
    /// The codes of its places, in the order of its list.
    pub(super) codes: Vec<Vec<i16>>,
    pub(super) dim: usize,
}

impl Dealt {
    /// Masks and seals everything under one new id, writes each part, and computes the hint of the table. Vectors,
    /// codes and parts are freed as soon as possible.
    pub(super) fn written<D: Disk, R: CryptoRng + ?Sized>(
        mut self,
        build: &mut Build<'_, D, R>,
        rows: Rows,
        grid: Grid,
        wish: &Wish,
    ) -> Result<(Routed, Ids), Error> {
        let (folder, writer) = (build.folder, build.writer);
        let n = u32_of(rows.ids.len());
        let mut members = Members::new(&grid, n);
        let clusters = self.members.iter();
        clusters.for_each(|cluster| members.push(cluster));
        let members = members.as_bytes();
        let id = self.id(build.rng, writer, &rows, &grid, members);
        self.ordered(&writer.key().row_order(&id, grid.slots), grid.slots);
        // An index in memory keeps each part that is written.
        room::check(rows.vectors.as_slice().len(), 2 * size_of::<i16>())?;
        let chunks = writer.chunk_bytes(&id, &rows, code::Codec::Int12);
        let base = writer.written(id, &rows, chunks);
        build.put(&base)?;
        let segment = base.segment.clone();
        let Rows { ids, vectors, .. } = rows;
        drop((base, vectors));
        let (reader, version, dim) = (writer.key(), writer.version(), self.dim);
        let sealed = |purpose, plain: &[u8]| reader.seal(purpose, &id, version).seal(0, &[], plain);
        let mut mode = Routed::new(segment, grid, Columns::new(TAIL, build.seed()));
        mode.recall = wish.millionths();
        mode.queries = wish.queries;
        (mode.seed, mode.hint_seed) = (build.seed(), build.seed());
        mode.centroids = folder.put(&sealed(Purpose::Centroids, &self.centroids))?;
        mode.members = folder.put(&sealed(Purpose::Members, members))?;
        room::check_bytes(2 * mode.table_part(dim).len)?;
        let table = self.masked(writer, &id, &grid);
        drop(self);
        mode.table = folder.put(&table)?;
        build.tell(Step::Hint);
        let pulse = || {
            build.tell(Step::Hint);
            Ok(())
        };
        // The rows are freed as soon as they are in the table's other form.
        let read = move |take: &mut dyn FnMut(&[u8])| {
            take(&table);
            Ok(())
        };
        let hint = table::downloaded(&mode, dim, read, pulse)?;
        mode.hint = digest::of(&hint);
        Ok((mode, ids))
    }

    /// Moves the codes of each cluster from the order of its list to the order of its `slots` places. There may be slightly
    /// more places than in training. These are empty, and have zeros.
    fn ordered(&mut self, order: &RowOrder, slots: u32) {
        let dim = self.dim;
        self.codes.par_iter_mut().for_each(|codes| {
            let mut ordered = vec![0; slots as usize * dim];
            for (place, ordered) in (0..slots).zip(ordered.chunks_exact_mut(dim)) {
                let listed = order.row(place) as usize * dim;
                if let Some(codes) = codes.get(listed..listed + dim) {
                    ordered.copy_from_slice(codes);
                }
            }
            *codes = ordered;
        });
    }

    /// The id of all parts together.
    fn id<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        writer: &SegmentWriter<'_>,
        rows: &Rows,
        grid: &Grid,
        members: &[u8],
    ) -> [u8; 16] {
        // The randomness fixes the cluster of a vector only up to the rounding of sums, which may differ between
        // processors. So the id is bound to everything that is sealed or masked.
        let drawn = rows.vectors.as_slice().iter().map(|x| x.to_bits());
        let bytes = self.centroids.iter().chain(members);
        let codes = self.codes.iter().flatten();
        let codes = codes.map(|code| u32::from(code.cast_unsigned()));
        let words = drawn.chain(bytes.copied().map(u32::from)).chain(codes);
        writer.id(rng, &Content::Routed(grid), &rows.code(), words)
    }

    /// The table. For each group it has a row for each place, followed by a row for each check row. A row has the
    /// codes of the group's clusters, each under its own pad.
    fn masked(&self, writer: &SegmentWriter<'_>, id: &[u8; 16], grid: &Grid) -> Vec<u8> {
        let pad = writer.key().pad(id, writer.version());
        let checks = writer.key().cluster_checks(id);
        let (clusters, stored) = (grid.clusters as usize, grid.stored());
        // Each row is written to its final position. Joining pieces later would need twice the memory.
        let width = self.dim * ENTRY_LEN;
        let mut table = vec![0; grid.scores() * clusters * width];
        let groups = table.chunks_exact_mut(stored * clusters * width);
        for (group, rows) in groups.enumerate() {
            let own = group * clusters..(group + 1) * clusters;
            let sums = own.clone().into_par_iter();
            let sums = sums.map(|cluster| checks.rows(group, &self.codes[cluster], self.dim));
            let sums: Vec<Vec<i32>> = sums.collect();
            let rows = rows.par_chunks_exact_mut(clusters * width).enumerate();
            rows.for_each(|(row, entries)| {
                let places = entries.chunks_exact_mut(width);
                for ((cluster, sums), entries) in own.clone().zip(&sums).zip(places) {
                    let mut codes = self.row(cluster, sums, row);
                    pad.mask(u32_of(cluster * stored + row), &mut codes);
                    let (entries, _) = entries.as_chunks_mut();
                    for (entry, code) in entries.iter_mut().zip(codes) {
                        *entry = table::entry_bytes(code);
                    }
                }
            });
        }
        table
    }

    /// The codes of a cluster's row, which belongs to a place or, behind the places, to a check row.
    fn row(&self, cluster: usize, checks: &[i32], row: usize) -> Vec<i32> {
        let (places, at) = (&self.codes[cluster], row * self.dim);
        match at.checked_sub(places.len()) {
            None => places[at..][..self.dim]
                .iter()
                .copied()
                .map(i32::from)
                .collect(),
            Some(at) => checks[at..][..self.dim].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_lie_in_the_order_of_places() {
        // The clusters of training had 97 places.
        let codes: Vec<i16> = (1..=194).collect();
        let mut dealt = Dealt {
            centroids: Vec::new(),
            members: Vec::new(),
            codes: vec![codes.clone(), codes.clone()],
            dim: 2,
        };
        let order = RowOrder::new(&[1; 32], 100);
        dealt.ordered(&order, 100);
        for ordered in &dealt.codes {
            assert_ne!(*ordered, codes);
            for place in 0..100 {
                let listed = order.row(place) as usize;
                let expected = codes.get(2 * listed..2 * listed + 2).unwrap_or(&[0, 0]);
                assert_eq!(&ordered[2 * place as usize..][..2], expected);
            }
        }
    }
}
