//! The definition.

use super::{CHUNK, LANES, LINE, Words};

pub(super) fn products(words: &Words, rows: &[u8], out: &mut [u32]) {
    let rows = rows.chunks_exact(words.stride());
    for (row, out) in rows.zip(out.chunks_exact_mut(words.queries)) {
        for (k, out) in out.iter_mut().enumerate() {
            let halves = words.halves.chunks_exact(CHUNK).skip(k);
            let (mut low, mut high) = (0i32, 0i32);
            for (entries, halves) in row.chunks_exact(LINE).zip(halves.step_by(words.queries)) {
                let entries = entries.as_chunks().0.iter().copied();
                let entries = entries.map(i16::from_le_bytes).map(i32::from);
                let (lows, highs) = halves.split_at(LANES);
                for ((entry, &l), &h) in entries.zip(lows).zip(highs) {
                    low = low.wrapping_add(entry * i32::from(l));
                    high = high.wrapping_add(entry * i32::from(h));
                }
            }
            *out = low.wrapping_add(high << 16).cast_unsigned();
        }
    }
}
