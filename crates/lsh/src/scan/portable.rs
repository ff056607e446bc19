//! The portable definition.

use super::{Best, LANES};

pub(super) fn scan(rows: &[[u64; LANES]], query: &[u64], best: &mut Best) {
    for (i, group) in rows.chunks_exact(query.len()).enumerate() {
        let mut distances = [0; LANES];
        for (row, word) in group.iter().zip(query) {
            for (distance, code) in distances.iter_mut().zip(row) {
                *distance += (code ^ word).count_ones();
            }
        }
        for (lane, distance) in distances.into_iter().enumerate() {
            if distance < best.limit() {
                best.offer(LANES * i + lane, distance);
            }
        }
    }
}
