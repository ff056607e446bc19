//! The inverse transform: of a polynomial, of a product, or of every `2^k`-th coefficient.
//!
//! It starts with cyclic inverses of up to 512 values. Their butterflies are the forward transform's, and their factors
//! are the same in all of them; the first are 1. Multiplying their coefficients by powers of a root turns them into
//! parts of the negacyclic inverse. Gentleman and Sande's butterflies join the parts.
#![expect(
    unsafe_code,
    reason = "intrinsics of the features that the token proves, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::field::{Field, LANES, Words, get, put};
use super::network::{gather, gather_first, join, parts, transpose};
use super::product::Barrett;
use super::tables::{Tables, cyclic_length};
use crate::ntt::{Plan, portable};

pub(in crate::ntt) fn inverse_strided(token: Avx512Ifma, plan: &Plan, a: &mut [u64], k: u32) {
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn entered(token: Avx512Ifma, plan: &Plan, a: &mut [u64], k: u32) {
        let mut len = a.len();
        for _ in 0..k {
            len = half_length(token, plan, &mut a[..len], |words, _| get(token, words));
        }
        inverse(token, plan, &mut a[..len], |words, _| get(token, words));
    }
    // SAFETY: the token proves the target features.
    unsafe { entered(token, plan, a, k) }
}

/// Computes a product and its inverse transform, with the products in registers.
pub(in crate::ntt) fn inverse_product(
    token: Avx512Ifma,
    plan: &Plan,
    (a, b): (&[u64], &[u64]),
    out: &mut [u64],
    k: u32,
) {
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn entered(token: Avx512Ifma, plan: &Plan, (a, b): (&[u64], &[u64]), out: &mut [u64], k: u32) {
        let barrett = Barrett::new(token, plan);
        let (a, _) = a.as_chunks::<LANES>();
        let (b, _) = b.as_chunks::<LANES>();
        assert!(LANES * a.len() == out.len() && a.len() == b.len());
        let product = |_: &Words, i: usize| barrett.mul(get(token, &a[i]), get(token, &b[i]));
        if k == 0 {
            return inverse(token, plan, out, product);
        }
        let len = half_length(token, plan, out, product);
        inverse_strided(token, plan, &mut out[..len], k - 1);
    }
    // SAFETY: the token proves the target features.
    unsafe { entered(token, plan, (a, b), out, k) }
}

/// The first stage of an inverse transform of the canonical registers that `source` gives, with differences only.
/// Returns the remaining length.
#[inline(always)]
fn half_length(
    token: Avx512Ifma,
    plan: &Plan,
    a: &mut [u64],
    source: impl Fn(&Words, usize) -> __m512i,
) -> usize {
    let field = Field::new(token, plan.modulus);
    let len = a.len() / 2;
    if len < LANES {
        portable::prune(plan, a);
        return len;
    }
    let (a, _) = a.as_chunks_mut::<LANES>();
    for i in 0..len / LANES {
        let (x, y) = (source(&a[2 * i], 2 * i), source(&a[2 * i + 1], 2 * i + 1));
        // SAFETY: the token proves the target features.
        let (x, y) = unsafe {
            let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
            (
                _mm512_permutex2var_epi64(x, even, y),
                _mm512_permutex2var_epi64(x, odd, y),
            )
        };
        let factor = plan.tables.pairs(token, 2 * len / LANES, i);
        put(token, &mut a[i], field.difference(x, y, factor));
    }
    len
}

/// An inverse transform of the canonical registers that `source` gives.
#[inline(always)]
fn inverse(
    token: Avx512Ifma,
    plan: &Plan,
    a: &mut [u64],
    source: impl Fn(&Words, usize) -> __m512i,
) {
    if a.len() < 2 * LANES {
        return portable::inverse(plan, a);
    }
    let field = Field::new(token, plan.modulus);
    let tables = &plan.tables;
    let (a, _) = a.as_chunks_mut::<LANES>();
    match a.len() {
        2 => return short::<2>(field, tables, a, source),
        4 => return short::<4>(field, tables, a, source),
        8 => return short::<8>(field, tables, a, source),
        _ => {}
    }
    for (i, block) in a.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let x = first(field, tables, block, |words, k| {
            source(words, LANES * i + k)
        });
        for (words, &x) in block.iter_mut().zip(&x) {
            put(token, words, x);
        }
    }
    match a.len() {
        16 => return pass::<2, true>(field, tables, a),
        32 => return pass::<4, true>(field, tables, a),
        64 => return pass::<8, true>(field, tables, a),
        _ => pass::<8, false>(field, tables, a),
    }
    let mut groups = a.len() * LANES / cyclic_length(a.len() * LANES);
    loop {
        match groups.ilog2() {
            1 => return join_parts::<2, true>(field, tables, a, 1),
            2 => return join_parts::<4, true>(field, tables, a, 1),
            3 => return join_parts::<8, true>(field, tables, a, 1),
            left if left.is_multiple_of(3) => {
                groups /= 8;
                join_parts::<8, false>(field, tables, a, groups);
            }
            _ => {
                groups /= 4;
                join_parts::<4, false>(field, tables, a, groups);
            }
        }
    }
}

/// The first stages of cyclic inverses of `R` registers, at most eight.
#[inline(always)]
fn first<const R: usize>(
    field: Field,
    tables: &Tables,
    a: &[Words; R],
    source: impl Fn(&Words, usize) -> __m512i,
) -> [__m512i; R] {
    let mut block = [field.q; LANES];
    for (k, words) in a.iter().enumerate() {
        block[k] = source(words, k);
    }
    let block = transpose(field.token, block);
    let block = gather_first(field, block, &tables.first(field.token));
    let block = transpose(field.token, block);
    let mut x = [field.q; R];
    x.copy_from_slice(&block[..R]);
    gather(field, x, &tables.near(field.token))
}

/// The last `log2 R` stages of cyclic inverses of `8 R` registers. `LAST` makes the output canonical, if no stages
/// follow.
#[inline(always)]
fn pass<const R: usize, const LAST: bool>(field: Field, tables: &Tables, a: &mut [Words]) {
    let registers = a.len();
    let (rows, _) = a.as_chunks_mut::<LANES>();
    for (part, rows) in rows.as_chunks_mut::<R>().0.iter_mut().enumerate() {
        for i in 0..LANES {
            let mut x = [field.q; R];
            for (x, row) in x.iter_mut().zip(&*rows) {
                *x = get(field.token, &row[i]);
            }
            x = gather(field, x, &tables.far(field.token, i));
            let twists = tables.twists::<R>(field.token, registers, part, i);
            for (k, row) in rows.iter_mut().enumerate() {
                let x = if LAST {
                    field.mul(x[k], twists[k])
                } else {
                    field.mul_lazy(x[k], twists[k])
                };
                put(field.token, &mut row[i], x);
            }
        }
    }
}

/// `log2 R` stages, after which `groups` groups are left.
#[inline(always)]
fn join_parts<const R: usize, const LAST: bool>(
    field: Field,
    tables: &Tables,
    a: &mut [Words],
    groups: usize,
) {
    let len = a.len() / groups;
    for (group, part) in a.chunks_exact_mut(len).enumerate() {
        let factors = tables.backward::<R>(field.token, groups + group);
        let mut parts = parts::<R>(part);
        for i in 0..len / R {
            let mut x = [field.q; R];
            for (x, part) in x.iter_mut().zip(&parts) {
                *x = get(field.token, &part[i]);
            }
            x = join::<R, LAST>(field, x, &factors);
            for (&x, part) in x.iter().zip(&mut parts) {
                put(field.token, &mut part[i], x);
            }
        }
    }
}

/// A transform of `R` registers, at most eight.
#[inline(always)]
fn short<const R: usize>(
    field: Field,
    tables: &Tables,
    a: &mut [Words],
    source: impl Fn(&Words, usize) -> __m512i,
) {
    for a in a.as_chunks_mut::<R>().0 {
        let x = first(field, tables, a, &source);
        let twists = tables.short_twists::<R>(field.token);
        for (k, words) in a.iter_mut().enumerate() {
            put(field.token, words, field.mul(x[k], twists[k]));
        }
    }
}
