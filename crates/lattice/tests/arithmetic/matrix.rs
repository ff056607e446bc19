//! Every backend returns the words of the definition.

use proptest::prelude::*;
use sordino_lattice::matrix::{Backend, Digits, Panels, STRIP, Small, Vector, Words, scan, stride};

/// Distinct words, made from a seed.
fn words(seed: u64, len: usize) -> Vec<u32> {
    let mut state = seed;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        u32::try_from(state >> 32).unwrap()
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// Digits whose padding holds noise, which must not change results.
fn digits(seed: u64, rows: usize, columns: usize) -> Vec<u8> {
    words(seed, rows * stride(columns))
        .iter()
        .map(|word| word.to_le_bytes()[3])
        .collect()
}

/// Products by the schoolbook method over `i64`, reduced at the end.
fn schoolbook(d: &[u8], rows: usize, b: &[&[u32]]) -> Vec<u32> {
    let columns = b[0].len();
    let mut out = Vec::new();
    for i in 0..rows {
        for column in b {
            let sum = column.iter().enumerate().fold(0i128, |sum, (j, q)| {
                let digit = d[Digits::place(rows, columns, i, j)].cast_signed();
                sum + i128::from(digit) * i128::from(*q)
            });
            out.push(u32::try_from(sum.rem_euclid(1 << 32)).unwrap());
        }
    }
    out
}

/// The largest rows and columns of a random product, and the other factor's columns. Miri gets
/// smaller ones.
const MOST: (usize, usize, usize) = if cfg!(miri) {
    (6, 200, 20)
} else {
    (100, 5000, 40)
};
const AWKWARD: [usize; 12] = [1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 127, 300];
/// Numbers of columns around the ends of strips.
const WIDE: [usize; 4] = [2047, 2048, 2049, 4100];

#[test]
fn strips_lie_one_after_the_other() {
    for columns in AWKWARD.into_iter().chain(WIDE) {
        let mut taken = vec![false; 3 * stride(columns)];
        for i in 0..3 {
            for j in 0..columns {
                let place = Digits::place(3, columns, i, j);
                assert!(!std::mem::replace(&mut taken[place], true), "{i} {j}");
            }
        }
    }
    assert_eq!(Digits::place(10, 5000, 1, 0), STRIP);
    assert_eq!(Digits::place(10, 5000, 0, STRIP), 10 * STRIP);
    let last = stride(5000) - 2 * STRIP;
    assert_eq!(
        Digits::place(10, 5000, 3, 4999),
        20 * STRIP + 3 * last + 4999 - 2 * STRIP
    );
}

#[test]
fn mul_vec_is_the_schoolbook_product() {
    for columns in AWKWARD.into_iter().chain(WIDE) {
        for rows in [1, 2, 3, 4, 5, 8, 13, 63, 64, 65, 130] {
            let d = digits(1, rows, columns);
            // Full words, and rounded words, which have a plane of zeros.
            for mask in [u32::MAX, !0xff] {
                let q: Vec<u32> = words(2, columns).iter().map(|word| word & mask).collect();
                let expected = schoolbook(&d, rows, &[&q]);
                for backend in Backend::available_with_tiles() {
                    let mut out = vec![7; rows];
                    Digits::new(&d, rows, columns).mul_vec(&Vector::new(backend, &q), &mut out);
                    assert_eq!(out, expected, "{} {rows} x {columns}", backend.name());
                }
            }
        }
    }
}

/// Matrices on one thread and on several. Their columns are multiplied alone, as a panel, and both ways.
#[test]
fn scans_are_the_schoolbook_product() {
    let shapes: &[(usize, usize, usize)] = if cfg!(miri) {
        &[(5, 70, 3), (3, 65, 18)]
    } else {
        &[
            (1, 1, 0),
            (5, 70, 3),
            (60, 2100, 10),
            (60, 2100, 27),
            (2000, 300, 14),
            (3000, 300, 10),
            (500, 700, 30),
        ]
    };
    for &(rows, columns, k) in shapes {
        let d = digits(5, rows, columns);
        let b: Vec<_> = (0..k as u64).map(|t| words(200 + t, columns)).collect();
        let b: Vec<_> = b.iter().map(Vec::as_slice).collect();
        let expected = if k == 0 {
            Vec::new()
        } else {
            schoolbook(&d, rows, &b)
        };
        for backend in Backend::available_with_tiles() {
            let found = scan::product(backend, Digits::new(&d, rows, columns), &b);
            assert_eq!(
                found,
                expected,
                "{} {rows} x {columns} x {k}",
                backend.name()
            );
        }
        let apart = scan::columns(&expected, k);
        assert_eq!(apart.len(), k);
        for (t, column) in apart.iter().enumerate() {
            assert!(expected.iter().skip(t).step_by(k).eq(column));
        }
    }
}

#[test]
fn mul_panels_is_the_schoolbook_product() {
    for columns in AWKWARD.into_iter().chain(WIDE) {
        for (rows, k) in [
            (1, 1),
            (6, 16),
            (7, 17),
            (13, 5),
            (15, 33),
            (16, 32),
            (17, 31),
            (33, 2),
            (199, 3),
            (273, 1),
        ] {
            let d = digits(3, rows, columns);
            let b: Vec<_> = (0..k).map(|t| words(100 + t, columns)).collect();
            let b: Vec<_> = b.iter().map(Vec::as_slice).collect();
            let expected = schoolbook(&d, rows, &b);
            for backend in Backend::available_with_tiles() {
                let mut out = vec![7; rows * b.len()];
                let panels = Panels::from_columns(backend, &b);
                Digits::new(&d, rows, columns).mul_panels(&panels, &mut out);
                assert_eq!(out, expected, "{} {rows} x {columns} x {k}", backend.name());
            }
        }
    }
}

#[test]
fn the_extremes_of_every_operand_are_exact() {
    // An odd number of columns, so that the sum of equal products loses no bit of a word.
    let columns = 4097;
    for byte in [0x80, 0x7f, 0xff] {
        let d = vec![byte; 65 * stride(columns)];
        for word in [
            u32::MAX,
            1 << 31,
            (1 << 31) - 1,
            0x8000,
            0x7fff_8000,
            0xffff_7fff,
        ] {
            let q = vec![word; columns];
            let [sum] = schoolbook(&d, 1, &[&q])[..] else {
                unreachable!("one row and one column");
            };
            for backend in Backend::available_with_tiles() {
                let mut out = vec![7; 65];
                Digits::new(&d, 65, columns).mul_vec(&Vector::new(backend, &q), &mut out);
                assert_eq!(out, [sum; 65], "{} {byte:#x} {word:#x}", backend.name());
                let panels = Panels::from_columns(backend, &[&q]);
                Digits::new(&d, 65, columns).mul_panels(&panels, &mut out);
                assert_eq!(out, [sum; 65], "{} {byte:#x} {word:#x}", backend.name());
                for small in [i16::MIN, i16::MAX, -1] {
                    let mut s = Small::zeroed(1, columns);
                    s.row_mut(0).fill(small);
                    let w = Words::from_rows(backend, 1, columns, |_, row| row.fill(word));
                    w.mul(0..1, &s, &mut out[..1]);
                    let sum = word.wrapping_mul(i32::from(small).cast_unsigned());
                    assert_eq!(out[0], sum.wrapping_mul(4097), "{}", backend.name());
                }
            }
        }
    }
}

#[test]
fn empty_shapes_give_empty_or_zero_products() {
    for backend in Backend::available_with_tiles() {
        let mut out = [7; 3];
        Digits::new(&[], 3, 0).mul_vec(&Vector::new(backend, &[]), &mut out);
        assert_eq!(out, [0; 3]);
        Digits::new(&[], 0, 5).mul_vec(&Vector::new(backend, &[1; 5]), &mut []);
        Digits::new(&[], 0, 5).mul_panels(&Panels::from_columns(backend, &[&[1; 5]]), &mut []);
        Words::from_rows(backend, 0, 5, |_, _| ()).mul(0..0, &Small::zeroed(2, 5), &mut []);
        let mut out = [7; 6];
        Words::from_rows(backend, 3, 0, |_, _| ()).mul(0..3, &Small::zeroed(2, 0), &mut out);
        assert_eq!(out, [0; 6]);
        let mut out = [7; 6];
        let rounded = Words::from_rounded_rows(backend, 20, 3, 0, |_, _| ());
        rounded.mul(0..3, &Small::zeroed(2, 0), &mut out);
        assert_eq!(out, [0; 6]);
        let mut out = [7; 6];
        let panels = Panels::from_rows(backend, 0, 2, |_, _| ());
        Digits::new(&[], 3, 0).mul_panels(&panels, &mut out);
        assert_eq!(out, [0; 6]);
        let panels = Panels::from_rows(backend, 5, 0, |_, _| ());
        Digits::new(&digits(1, 3, 5), 3, 5).mul_panels(&panels, &mut []);
    }
}

#[test]
fn a_slice_of_rows_gives_a_slice_of_the_product() {
    for columns in [70, 2100, 4096] {
        let d = digits(9, 30, columns);
        let q = words(4, columns);
        let q = Vector::new(Backend::detect_with_tiles(), &q);
        let (mut whole, mut part) = (vec![0; 30], vec![0; 14]);
        let view = Digits::new(&d, 30, columns);
        view.mul_vec(&q, &mut whole);
        view.slice(3..20).slice(1..15).mul_vec(&q, &mut part);
        assert_eq!(part, whole[4..18]);
    }
}

#[test]
fn a_matrix_beyond_the_cache_and_its_slices_give_the_schoolbook_product() {
    // The matrix is larger than 2 MiB, below which a backend may take another kernel.
    let (rows, columns) = (67, 1 << 15);
    let d = digits(10, rows, columns);
    let q = words(11, columns);
    let expected = schoolbook(&d, rows, &[&q]);
    let whole = Digits::new(&d, rows, columns);
    for backend in Backend::available_with_tiles() {
        let q = Vector::new(backend, &q);
        let mut out = vec![7; rows];
        whole.mul_vec(&q, &mut out);
        assert_eq!(out, expected, "{}", backend.name());
        whole.slice(1..66).mul_vec(&q, &mut out[1..66]);
        assert_eq!(out, expected, "{}", backend.name());
    }
}

#[test]
fn rows_are_changed_and_appended_as_words() {
    for columns in [1, 2, 63, 65] {
        let w = words(5, 4 * columns);
        let row = |i: usize, out: &mut [u32]| {
            out.copy_from_slice(&w[i * columns..(i + 1) * columns]);
        };
        for backend in Backend::available_with_tiles() {
            let mut changed = Words::from_rows(backend, 2, columns, row);
            changed.extend(4, row);
            changed.update_row(1, |out| {
                assert_eq!(out, &w[columns..2 * columns]);
                out.iter_mut().for_each(|word| *word = word.wrapping_mul(3));
            });
            let mut s = Small::zeroed(1, columns);
            s.row_mut(0).copy_from_slice(&vec![7; columns]);
            let mut out = [0; 4];
            changed.mul(0..4, &s, &mut out);
            for (i, sum) in out.into_iter().enumerate() {
                let row = &w[i * columns..(i + 1) * columns];
                let factor = if i == 1 { 21 } else { 7 };
                let expected = row.iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
                assert_eq!(sum, expected.wrapping_mul(factor), "{}", backend.name());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 64 }))]

    #[test]
    fn words_times_small_is_the_schoolbook_product(
        seed: u64, rows in 1usize..9, columns in 1usize..200, k in 1usize..10,
    ) {
        let w = words(seed, rows * columns);
        let mut s = Small::zeroed(k, columns);
        for t in 0..k {
            for (small, word) in s.row_mut(t).iter_mut().zip(words(seed ^ t as u64, columns)) {
                *small = (word >> 16) as i16;
            }
        }
        let mut expected = Vec::new();
        for row in w.chunks_exact(columns) {
            for t in 0..k {
                let sum = row.iter().zip(s.row(t)).fold(0i128, |sum, (w, s)| {
                    sum + i128::from(*w) * i128::from(*s)
                });
                expected.push(u32::try_from(sum.rem_euclid(1 << 32)).unwrap());
            }
        }
        for backend in Backend::available_with_tiles() {
            let mut out = vec![7; rows * k];
            let laid_out = Words::from_rows(backend, rows, columns, |i, row| {
                row.copy_from_slice(&w[i * columns..(i + 1) * columns]);
            });
            laid_out.mul(0..rows, &s, &mut out);
            prop_assert_eq!(&out, &expected, "{}", backend.name());
            laid_out.mul(rows / 2..rows, &s, &mut out[..(rows - rows / 2) * k]);
            prop_assert_eq!(&out[..(rows - rows / 2) * k], &expected[rows / 2 * k..]);
        }
    }

    #[test]
    fn rounded_words_times_small_are_the_whole_ones_product(
        seed: u64, bits in 1u32..=32, rows in 1usize..9, columns in 1usize..200, k in 1usize..10,
    ) {
        // The random values include extremes, whose limbs and bytes carry.
        let extremes = [0, 1, 0x7fff, 0x8000, 0xffff, 0x7f_8000, 0x80_0000, 0xff_ffff, 0xff_8000];
        let mut w = words(seed, rows * columns);
        for (word, extreme) in w.iter_mut().step_by(3).zip(extremes) {
            *word = extreme;
        }
        w.iter_mut().for_each(|word| *word <<= 32 - bits);
        let row = |i: usize, out: &mut [u32]| {
            out.copy_from_slice(&w[i * columns..(i + 1) * columns]);
        };
        let mut s = Small::zeroed(k, columns);
        for t in 0..k {
            for (small, word) in s.row_mut(t).iter_mut().zip(words(seed ^ t as u64, columns)) {
                *small = (word >> 16) as i16;
            }
        }
        let mut expected = vec![7; rows * k];
        Words::from_rows(Backend::PORTABLE, rows, columns, row).mul(0..rows, &s, &mut expected);
        for backend in Backend::available_with_tiles() {
            let mut out = vec![7; rows * k];
            let mut rounded = Words::from_rounded_rows(backend, bits, rows, columns, row);
            rounded.mul(0..rows, &s, &mut out);
            prop_assert_eq!(&out, &expected, "{}", backend.name());
            rounded.mul(rows / 2..rows, &s, &mut out[..(rows - rows / 2) * k]);
            prop_assert_eq!(&out[..(rows - rows / 2) * k], &expected[rows / 2 * k..]);
            // Changes the rounded matrix to one without rounding: adds 1 to each word of the last
            // row.
            rounded.update_row(rows - 1, |row| {
                row.iter_mut().for_each(|word| *word = word.wrapping_add(1));
            });
            rounded.extend(rows + 1, |_, row| row.fill(3));
            let mut out = vec![7; (rows + 1) * k];
            rounded.mul(0..rows + 1, &s, &mut out);
            for t in 0..k {
                let sum = s.row(t).iter().map(|s| i32::from(*s)).sum::<i32>().cast_unsigned();
                let last = (rows - 1) * k + t;
                prop_assert_eq!(out[last], expected[last].wrapping_add(sum));
                prop_assert_eq!(out[last + k], sum.wrapping_mul(3));
            }
            prop_assert_eq!(&out[..(rows - 1) * k], &expected[..(rows - 1) * k]);
        }
    }

    #[test]
    fn products_agree_between_backends(
        seed: u64, rows in 1..MOST.0, columns in 1..MOST.1, k in 1..MOST.2, rounded: bool,
    ) {
        let d = digits(seed, rows, columns);
        let mask = if rounded { !0xff } else { u32::MAX };
        let words = |t| words(seed ^ t, columns).iter().map(|word| word & mask).collect();
        let b: Vec<Vec<u32>> = (0..k as u64).map(words).collect();
        let b: Vec<_> = b.iter().map(Vec::as_slice).collect();
        let expected = schoolbook(&d, rows, &b);
        let view = Digits::new(&d, rows, columns);
        for backend in Backend::available_with_tiles() {
            let mut out = vec![7; rows * k];
            view.mul_panels(&Panels::from_columns(backend, &b), &mut out);
            prop_assert_eq!(&out, &expected, "{}", backend.name());
            for (t, column) in b.iter().enumerate() {
                let mut one = vec![7; rows];
                view.mul_vec(&Vector::new(backend, column), &mut one);
                let column: Vec<_> = expected.iter().skip(t).step_by(k).copied().collect();
                prop_assert_eq!(&one, &column, "{}", backend.name());
            }
        }
    }
}
