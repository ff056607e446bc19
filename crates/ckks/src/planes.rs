//! Lists of `r`-bit numbers as planes: byte `p` of every number, for each whole byte, then one bit
//! of every number, for each bit that is left.
//!
//! As dense as bit packing, without shifts, and the byte planes are what a client's byte-wise dot
//! product reads.

/// Bytes of `count` numbers of `r` bits.
pub(crate) const fn len(count: usize, r: u32) -> usize {
    let (bytes, bits) = split(r);
    bytes * count + bits * count.div_ceil(8)
}

/// Byte planes and bit planes of `r`-bit numbers.
pub(crate) const fn split(r: u32) -> (usize, usize) {
    ((r / 8) as usize, (r % 8) as usize)
}

/// Writes the `r`-bit `numbers` to `planes`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "planes are parts of numbers"
)]
pub(crate) fn write(numbers: &[u64], r: u32, planes: &mut [u8]) {
    debug_assert_eq!(planes.len(), len(numbers.len(), r));
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
pub(crate) fn read(planes: &[u8], r: u32, out: &mut [u64]) {
    let count = out.len();
    debug_assert_eq!(planes.len(), len(count, r));
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

/// Number `i` of `count` numbers of `r` bits.
pub(crate) fn get(planes: &[u8], count: usize, r: u32, i: usize) -> u64 {
    let (bytes, bits) = split(r);
    let low = (0..bytes).fold(0, |low, p| {
        low | u64::from(planes[p * count + i]) << (8 * p)
    });
    let bit_planes = &planes[bytes * count..];
    (0..bits).fold(low, |number, p| {
        let byte = bit_planes[p * count.div_ceil(8) + i / 8];
        number | u64::from(byte >> (i % 8) & 1) << (8 * bytes + p)
    })
}

/// The dot product of `weights.len()` numbers of `r` bits with signed weights, mod `2^64`, in constant
/// time: plane by plane, each as a sum of at most `2^16` products below `2^15`.
pub(crate) fn dot(planes: &[u8], r: u32, weights: &[i8]) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reading_inverts_writing(
            numbers in prop::collection::vec(any::<u64>(), 0..70),
            r in 1..=40u32,
        ) {
            let numbers: Vec<u64> = numbers.iter().map(|x| x & ((1 << r) - 1)).collect();
            let mut planes = vec![0; len(numbers.len(), r)];
            write(&numbers, r, &mut planes);
            let mut found = vec![9; numbers.len()];
            read(&planes, r, &mut found);
            prop_assert_eq!(&found, &numbers);
            for (i, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(get(&planes, numbers.len(), r, i), number);
            }
        }

        #[test]
        fn dot_is_the_sum_of_products(
            pairs in prop::collection::vec((any::<u64>(), any::<i8>()), 1..300),
            r in 1..=40u32,
        ) {
            let numbers: Vec<u64> = pairs.iter().map(|(x, _)| x & ((1 << r) - 1)).collect();
            let weights: Vec<i8> = pairs.iter().map(|&(_, w)| w).collect();
            let mut planes = vec![0; len(numbers.len(), r)];
            write(&numbers, r, &mut planes);
            let expected = numbers.iter().zip(&weights).fold(0u64, |sum, (&x, &w)| {
                sum.wrapping_add(x.wrapping_mul(i64::from(w).cast_unsigned()))
            });
            prop_assert_eq!(dot(&planes, r, &weights), expected);
        }
    }
}
