//! Lists of `r`-bit numbers as planes. For each whole byte `p` of the numbers, a plane holds that byte of every
//! number. For each remaining bit, a plane holds that bit of every number.
//!
//! Planes are as dense as bit packing and need no shifts. A client's byte-wise dot product reads them directly.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

/// The length in bytes of `count` numbers of `r` bits.
pub(crate) const fn len(count: usize, r: u32) -> usize {
    let (bytes, bits) = split(r);
    bytes * count + bits * count.div_ceil(8)
}

/// The numbers of byte planes and of bit planes for `r`-bit numbers.
pub(crate) const fn split(r: u32) -> (usize, usize) {
    ((r / 8) as usize, (r % 8) as usize)
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

/// Writes the `r`-bit `numbers` to `planes`.
pub(crate) fn write(numbers: &[u64], r: u32, planes: &mut [u8]) {
    assert_eq!(planes.len(), len(numbers.len(), r), "bytes of the planes");
    #[cfg(target_arch = "x86_64")]
    if let (Some(token), true) = (
        sordino_cpu::Avx512Vbmi::detect(),
        numbers.len().is_multiple_of(avx512::BLOCK),
    ) {
        return avx512::write(token, numbers, r, planes);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = sordino_cpu::Avx2::detect() {
        return avx2::write(token, numbers, r, planes);
    }
    portable::write(numbers, r, planes);
}

/// Reads `r`-bit numbers until `out` is full.
pub(crate) fn read(planes: &[u8], r: u32, out: &mut [u64]) {
    assert_eq!(planes.len(), len(out.len(), r), "bytes of the planes");
    #[cfg(target_arch = "x86_64")]
    if let (Some(token), true) = (
        sordino_cpu::Avx512::detect(),
        out.len().is_multiple_of(avx512::BLOCK),
    ) {
        return avx512::read(token, planes, r, out);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = sordino_cpu::Avx2::detect() {
        return avx2::read(token, planes, r, out);
    }
    portable::read(planes, r, out);
}

/// The dot products of `count` numbers of `r` bits with parts of `weights`, mod `2^64`, in constant time. `dots[i]` is
/// the product with `weights[starts[i]..][..count]`. Weights must be from -64 to 64: with larger ones the sums of the
/// vector kernels overflow their lanes.
///
/// # Panics
/// Panics if `count` is above `2^16`, or a part lies outside the weights.
pub(crate) fn dots(
    planes: &[u8],
    count: usize,
    r: u32,
    weights: &[i8],
    starts: &[usize],
    dots: &mut Vec<u64>,
) {
    assert_eq!(planes.len(), len(count, r), "bytes of the planes");
    // Each product is below 2^15, so the sum of a plane stays within 31 bits.
    assert!(count <= 1 << 16, "numbers of a dot product");
    #[cfg(target_arch = "x86_64")]
    if let (Some(token), true) = (
        sordino_cpu::Avx512Vnni::detect(),
        count.is_multiple_of(avx512::BLOCK),
    ) {
        match split(r) {
            (3, 1) => return avx512::dots::<3, 1, 4>(token, planes, count, weights, starts, dots),
            (3, 4) => return avx512::dots::<3, 4, 2>(token, planes, count, weights, starts, dots),
            _ => {}
        }
    }
    #[cfg(target_arch = "x86_64")]
    if let (Some(token), true) = (
        sordino_cpu::Avx2::detect(),
        count.is_multiple_of(avx2::BLOCK),
    ) {
        match split(r) {
            (3, 1) => return avx2::dots::<3, 1>(token, planes, count, weights, starts, dots),
            (3, 4) => return avx2::dots::<3, 4>(token, planes, count, weights, starts, dots),
            _ => {}
        }
    }
    let windows = starts.iter().map(|&start| &weights[start..start + count]);
    dots.extend(windows.map(|window| portable::dot(planes, r, window)));
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
        fn backends_agree(
            numbers in prop::collection::vec(any::<u64>(), 256),
            weights in prop::collection::vec(-64..=64i8, 300),
            starts in prop::collection::vec(0..44usize, 0..12),
            blocks in 1..=4usize,
            r in 1..=48u32,
        ) {
            for r in [r, 25, 28] {
                let count = 64 * blocks;
                let numbers: Vec<u64> = numbers[..count].iter().map(|x| x & ((1 << r) - 1)).collect();
                let (mut found, mut expected) = (vec![0; len(count, r)], vec![0; len(count, r)]);
                write(&numbers, r, &mut found);
                portable::write(&numbers, r, &mut expected);
                prop_assert_eq!(&found, &expected);
                let mut back = vec![9; count];
                read(&found, r, &mut back);
                prop_assert_eq!(&back, &numbers);
                portable::read(&found, r, &mut back);
                prop_assert_eq!(&back, &numbers);
                let mut products = Vec::new();
                dots(&found, count, r, &weights, &starts, &mut products);
                let expected: Vec<u64> = starts
                    .iter()
                    .map(|&start| portable::dot(&found, r, &weights[start..start + count]))
                    .collect();
                prop_assert_eq!(&products, &expected);
                #[cfg(target_arch = "x86_64")]
                if let Some(token) = sordino_cpu::Avx2::detect() {
                    let mut planes = vec![0; len(count, r)];
                    avx2::write(token, &numbers, r, &mut planes);
                    prop_assert_eq!(&planes, &found);
                    avx2::read(token, &planes, r, &mut back);
                    prop_assert_eq!(&back, &numbers);
                    products.clear();
                    match r {
                        25 => avx2::dots::<3, 1>(token, &planes, count, &weights, &starts, &mut products),
                        28 => avx2::dots::<3, 4>(token, &planes, count, &weights, &starts, &mut products),
                        _ => continue,
                    }
                    prop_assert_eq!(&products, &expected);
                }
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
            prop_assert_eq!(portable::dot(&planes, r, &weights), expected);
        }
    }
}
