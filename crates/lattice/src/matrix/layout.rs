//! Layouts of the word operands. A layout is made of words, which kernels read as little-endian bytes or limbs. Every
//! processor that has such a kernel is little-endian.

use std::ops::{Deref, DerefMut};

#[cfg(target_arch = "x86_64")]
use super::LANES;
use super::PANEL;
use crate::pages::Pages;

/// The words that start on a cache line.
#[derive(Debug)]
pub(super) struct Aligned(Pages);

impl Aligned {
    pub(super) fn zeroed(len: usize) -> Self {
        Self(Pages::zeroed(4 * len))
    }
}

impl Deref for Aligned {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        bytemuck::cast_slice(&self.0)
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u32] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// The encoding of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// The words of 32 bits, in the layout of the kernels.
    Whole,
    /// Multiples of `2^shift`, 24 bits each: planes of balanced 16-bit limbs and of bytes.
    Rounded {
        /// The shift, at least 8.
        shift: u32,
    },
}

impl Encoding {
    /// The number of words that a row of `stride` entries takes.
    pub(super) const fn row_len(self, stride: usize) -> usize {
        match self {
            Self::Whole => stride,
            Self::Rounded { .. } => stride / 4 * 3,
        }
    }
}

/// Like [`Encoding::row_len`], for kernels that are compiled once for each encoding.
#[cfg(target_arch = "x86_64")]
pub(super) const fn row_len<const ROUNDED: bool>(stride: usize) -> usize {
    if ROUNDED {
        Encoding::Rounded { shift: 8 }.row_len(stride)
    } else {
        Encoding::Whole.row_len(stride)
    }
}

/// Row `i` of a strip of `width` columns.
pub(super) fn row(d: &[u8], width: usize, i: usize) -> &[u8] {
    &d[i * width..(i + 1) * width]
}

/// Writes two planes of balanced 16-bit limbs: `q = low + 2^16 high`, both in `[-2^15, 2^15)`.
#[cfg(target_arch = "x86_64")]
pub(super) fn limbs(q: &[u32], out: &mut [u32]) {
    let (low, high) = out.split_at_mut(out.len() / 2);
    for ((two, low), high) in q.chunks(2).zip(low).zip(high) {
        let first = two[0];
        let second = two.get(1).copied().unwrap_or(0);
        // Adding 2^15 carries into the high limb exactly when the kernel will read the low one as negative.
        *low = (first & 0xffff) | second << 16;
        *high = (first.wrapping_add(0x8000) >> 16) | (second.wrapping_add(0x8000) & 0xffff_0000);
    }
}

/// Writes four planes of bytes, 64 columns at a time: `q = b0 + 2^8 b1 + 2^16 b2 + 2^24 b3`.
#[cfg(target_arch = "x86_64")]
pub(super) fn byte_planes(q: &[u32], out: &mut [u32]) {
    let out: &mut [u8] = bytemuck::cast_slice_mut(out);
    for (q, planes) in q.chunks(LANES).zip(out.chunks_exact_mut(4 * LANES)) {
        for (k, plane) in planes.chunks_exact_mut(LANES).enumerate() {
            for (byte, word) in plane.iter_mut().zip(q) {
                *byte = word.to_le_bytes()[k];
            }
        }
    }
}

/// Reads the words from two planes of limbs.
#[cfg(target_arch = "x86_64")]
pub(super) fn from_limbs(limbs: &[u32], out: &mut [u32]) {
    let (low, high) = limbs.split_at(limbs.len() / 2);
    for ((two, low), high) in out.chunks_mut(2).zip(low).zip(high) {
        let carry = |low: u32| low >> 15 & 1;
        two[0] = (low & 0xffff) | (high.wrapping_sub(carry(*low)) << 16);
        if let Some(second) = two.get_mut(1) {
            *second = low >> 16 | ((high >> 16).wrapping_sub(low >> 31) << 16);
        }
    }
}

/// Writes multiples of `2^shift`, as `2^shift (low + 2^16 high)`: two balanced 16-bit limbs to a word, then four
/// bytes to a word. Only the value of the bytes mod 256 counts.
pub(super) fn rounded(q: &[u32], shift: u32, out: &mut [u32]) {
    let (low, high) = out.split_at_mut(out.len() / 3 * 2);
    let mut put = |at: usize, words: [u32; 4]| {
        let limbs = words.map(|word| word >> shift);
        low[2 * at] = (limbs[0] & 0xffff) | limbs[1] << 16;
        low[2 * at + 1] = (limbs[2] & 0xffff) | limbs[3] << 16;
        let [a, b, c, d] = limbs.map(|limb| limb.wrapping_add(0x8000) >> 16 & 0xff);
        high[at] = a | b << 8 | c << 16 | d << 24;
    };
    let (fours, rest) = q.as_chunks::<4>();
    for (at, words) in fours.iter().enumerate() {
        put(at, *words);
    }
    if !rest.is_empty() {
        let word = |j: usize| rest.get(j).copied().unwrap_or(0);
        put(fours.len(), std::array::from_fn(word));
    }
}

/// Reads the words from [`rounded`] planes.
pub(super) fn from_rounded(planes: &[u32], shift: u32, out: &mut [u32]) {
    for (words, values) in out.chunks_mut(4).zip(rounded_values(planes)) {
        for (word, value) in words.iter_mut().zip(values) {
            *word = value << shift;
        }
    }
}

/// The values `low + 2^16 high` of every four entries of [`rounded`] planes.
pub(super) fn rounded_values(planes: &[u32]) -> impl Iterator<Item = [u32; 4]> {
    let (low, high) = planes.split_at(planes.len() / 3 * 2);
    let (low, _) = low.as_chunks::<2>();
    low.iter().zip(high).map(|([first, second], high)| {
        let limb = |word: u32| (word.cast_signed() >> 16).cast_unsigned();
        let limbs = [first << 16, *first, second << 16, *second].map(limb);
        let bytes = [high << 16, high << 8, *high, high >> 8].map(|word| word & 0xff_0000);
        std::array::from_fn(|i| limbs[i].wrapping_add(bytes[i]))
    })
}

/// Writes four words at a time in byte planes: word `k` of four holds byte `k` of each.
#[cfg(target_arch = "x86_64")]
pub(super) fn vector_planes(q: &[u32], out: &mut [u32]) {
    let (outs, _) = out.as_chunks_mut::<4>();
    for (words, out) in q.chunks(4).zip(outs) {
        let mut planes = [[0; 4]; 4];
        for (i, word) in words.iter().enumerate() {
            for (plane, byte) in planes.iter_mut().zip(word.to_le_bytes()) {
                plane[i] = byte;
            }
        }
        *out = planes.map(u32::from_le_bytes);
    }
}

/// Writes four rows of one panel in byte planes, over which `vpdpbusd` sums. Word `c` of plane `k` holds byte `k` of
/// column `c` of the four rows.
#[cfg(target_arch = "x86_64")]
pub(super) fn panel_planes(rows: &[u32], width: usize, first: usize, out: &mut [u32]) {
    let row = |r: usize| rows[r * width + first..].first_chunk::<PANEL>();
    let (Some(a), Some(b), Some(c), Some(d)) = (row(0), row(1), row(2), row(3)) else {
        unreachable!("rows are whole panels wide");
    };
    let (planes, _) = out.as_chunks_mut::<PANEL>();
    for i in 0..PANEL {
        // First bytes 0 and 2, and bytes 1 and 3, of two rows each; then the halves of these words.
        let even = |x: u32, y: u32| (x & 0x00ff_00ff) | (y & 0x00ff_00ff) << 8;
        let odd = |x: u32, y: u32| (x >> 8 & 0x00ff_00ff) | (y & 0xff00_ff00);
        let (ab, cd) = (even(a[i], b[i]), even(c[i], d[i]));
        planes[0][i] = (ab & 0xffff) | cd << 16;
        planes[2][i] = ab >> 16 | (cd & 0xffff_0000);
        let (ab, cd) = (odd(a[i], b[i]), odd(c[i], d[i]));
        planes[1][i] = (ab & 0xffff) | cd << 16;
        planes[3][i] = ab >> 16 | (cd & 0xffff_0000);
    }
}

/// Writes four rows of one panel unchanged.
pub(super) fn panel_rows(rows: &[u32], width: usize, first: usize, out: &mut [u32]) {
    for (row, out) in rows.chunks_exact(width).zip(out.chunks_exact_mut(PANEL)) {
        out.copy_from_slice(&row[first..first + PANEL]);
    }
}
