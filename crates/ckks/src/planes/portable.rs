//! The portable definition.

use super::split;

/// Writes the `r`-bit `numbers` to `planes`.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "planes are parts of numbers"
)]
pub(super) fn write(numbers: &[u64], r: u32, planes: &mut [u8]) {
    let (bytes, _) = split(r);
    let (byte_planes, bit_planes) = planes.split_at_mut(bytes * numbers.len());
    for (p, plane) in byte_planes
        .chunks_exact_mut(numbers.len().max(1))
        .enumerate()
    {
        for (byte, &number) in plane.iter_mut().zip(numbers) {
            *byte = (number >> (8 * p)) as u8;
        }
    }
    for (p, plane) in bit_planes
        .chunks_exact_mut(numbers.len().div_ceil(8).max(1))
        .enumerate()
    {
        let shift = 8 * bytes + p;
        for (byte, eight) in plane.iter_mut().zip(numbers.chunks(8)) {
            *byte = (0..).zip(eight).fold(0, |bits, (i, &number)| {
                bits | (((number >> shift) as u8) & 1) << i
            });
        }
    }
}

/// Reads `r`-bit numbers until `out` is full.
#[inline(always)]
pub(super) fn read(planes: &[u8], r: u32, out: &mut [u64]) {
    let count = out.len();
    let (bytes, _) = split(r);
    let (byte_planes, bit_planes) = planes.split_at(bytes * count);
    out.fill(0);
    for (p, plane) in byte_planes.chunks_exact(count.max(1)).enumerate() {
        for (number, &byte) in out.iter_mut().zip(plane) {
            *number |= u64::from(byte) << (8 * p);
        }
    }
    for (p, plane) in bit_planes
        .chunks_exact(count.div_ceil(8).max(1))
        .enumerate()
    {
        let shift = 8 * bytes + p;
        for (&byte, eight) in plane.iter().zip(out.chunks_mut(8)) {
            for (i, number) in (0..).zip(eight) {
                *number |= u64::from(byte >> i & 1) << shift;
            }
        }
    }
}

/// The dot product of `weights.len()` numbers of `r` bits with signed weights, mod `2^64`, in constant
/// time: plane by plane.
#[inline(always)]
pub(super) fn dot(planes: &[u8], r: u32, weights: &[i8]) -> u64 {
    let count = weights.len();
    let (bytes, _) = split(r);
    let (byte_planes, bit_planes) = planes.split_at(bytes * count);
    let mut sum = 0u64;
    for (p, plane) in byte_planes.chunks_exact(count).enumerate() {
        let dot: i32 = plane
            .iter()
            .zip(weights)
            .map(|(&x, &w)| i32::from(x) * i32::from(w))
            .sum();
        sum = sum.wrapping_add(i64::from(dot).cast_unsigned() << (8 * p));
    }
    for (p, plane) in bit_planes.chunks_exact(count.div_ceil(8)).enumerate() {
        let eights = plane.iter().zip(weights.chunks(8));
        let dot: i32 = eights
            .flat_map(|(&bits, eight)| {
                (0..)
                    .zip(eight)
                    .map(move |(i, &w)| i32::from(bits >> i & 1) * i32::from(w))
            })
            .sum();
        sum = sum.wrapping_add(i64::from(dot).cast_unsigned() << (8 * bytes + p));
    }
    sum
}
