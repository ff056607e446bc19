//! The portable definition.

use super::{CENTRE, CHUNK, LANES, LINE, Words};
use crate::packed::BLOCK;

pub(super) fn products(words: &Words, rows: &[u8], out: &mut [u32]) {
    let rows = rows.chunks_exact(words.stride);
    for (row, out) in rows.zip(out.chunks_exact_mut(words.queries)) {
        for (k, out) in out.iter_mut().enumerate() {
            let halves = words.halves.chunks_exact(CHUNK).skip(k);
            let mut halves = halves.step_by(words.queries);
            let (mut low, mut high) = (0i32, 0i32);
            for block in row.chunks((1 + BLOCK) * LINE) {
                let (upper, lines) = block.split_at(LINE);
                for (j, line) in lines.chunks_exact(LINE).enumerate() {
                    let Some((l, h)) = halves.next().map(|halves| halves.split_at(LANES)) else {
                        break;
                    };
                    let entries = line.as_chunks().0.iter().zip(upper.as_chunks().0);
                    for ((&entry, &upper), (&l, &h)) in entries.zip(l.iter().zip(h)) {
                        let x = i32::from((u16::from_le_bytes(entry) ^ 0x8000).cast_signed());
                        let u = i32::from((u16::from_le_bytes(upper) ^ 0xaaaa) >> (2 * j) & 3);
                        low = low.wrapping_add(x * i32::from(l));
                        high = high.wrapping_add(x * i32::from(h));
                        high = high.wrapping_add(u * i32::from(l));
                    }
                }
            }
            let centre = words.sums[k].wrapping_mul(CENTRE);
            *out = low
                .wrapping_add(high << 16)
                .cast_unsigned()
                .wrapping_add(centre);
        }
    }
}
