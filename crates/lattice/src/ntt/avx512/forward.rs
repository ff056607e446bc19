//! The forward transform.
#![expect(unsafe_code, reason = "entry into target features")]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::field::{Field, LANES, Words, get, put};
use super::network::{parts, spread, transpose};
use super::tables::Tables;
use crate::ntt::Plan;

pub(in crate::ntt) fn forward(token: Avx512Ifma, plan: &Plan, a: &mut [u64]) {
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn entered(token: Avx512Ifma, plan: &Plan, a: &mut [u64]) {
        forward_stages(Field::new(token, plan.modulus), &plan.tables, a);
    }
    // SAFETY: the token proves the target features.
    unsafe { entered(token, plan, a) }
}

#[inline(always)]
fn forward_stages(field: Field, tables: &Tables, a: &mut [u64]) {
    let (a, _) = a.as_chunks_mut::<LANES>();
    // Stages whose distance is at least eight registers.
    let mut left = match a.len() {
        2 => return short::<2>(field, tables, a),
        4 => return short::<4>(field, tables, a),
        registers => registers.ilog2() - 3,
    };
    left -= match left {
        0 => 0,
        1 => {
            pass::<2, true>(field, tables, a, 1);
            1
        }
        _ if left.is_multiple_of(3) => {
            pass::<8, true>(field, tables, a, 1);
            3
        }
        _ => {
            pass::<4, true>(field, tables, a, 1);
            2
        }
    };
    while left > 0 {
        let groups = a.len() >> (left + 3);
        if left.is_multiple_of(3) {
            pass::<8, false>(field, tables, a, groups);
            left -= 3;
        } else {
            pass::<4, false>(field, tables, a, groups);
            left -= 2;
        }
    }
    blocks(field, tables, a);
}

/// Computes `log2 R` stages, from the stage with `groups` groups on.
#[inline(always)]
fn pass<const R: usize, const FIRST: bool>(
    field: Field,
    tables: &Tables,
    a: &mut [Words],
    groups: usize,
) {
    let len = a.len() / groups;
    for (group, part) in a.chunks_exact_mut(len).enumerate() {
        let factors = tables.forward::<R>(field.token, groups + group);
        let mut parts = parts::<R>(part);
        for i in 0..len / R {
            let mut x = [field.q; R];
            for (x, part) in x.iter_mut().zip(&parts) {
                *x = get(field.token, &part[i]);
            }
            x = spread::<R, FIRST>(field, x, &factors);
            for (&x, part) in x.iter().zip(&mut parts) {
                put(field.token, &mut part[i], x);
            }
        }
    }
}

/// The last six stages.
#[inline(always)]
fn blocks(field: Field, tables: &Tables, a: &mut [Words]) {
    let blocks = a.len() / LANES;
    for (i, block) in a.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut x = [field.q; LANES];
        for (k, x) in x.iter_mut().enumerate() {
            *x = get(field.token, &block[k]);
        }
        let factors = tables.forward(field.token, blocks + i);
        x = spread::<LANES, false>(field, x, &factors);
        x = last(field, tables, x, i);
        for (k, &x) in x.iter().enumerate() {
            put(field.token, &mut block[k], x);
        }
    }
}

/// The last three stages of 64 values, canonical.
#[inline(always)]
fn last(field: Field, tables: &Tables, x: [__m512i; LANES], block: usize) -> [__m512i; LANES] {
    let x = transpose(field.token, x);
    let mut x = spread::<LANES, false>(field, x, &tables.last(field.token, block));
    for x in &mut x {
        *x = field.reduce_thrice(*x);
    }
    transpose(field.token, x)
}

/// A transform of `R` registers, fewer than eight.
#[inline(always)]
fn short<const R: usize>(field: Field, tables: &Tables, a: &mut [Words]) {
    let mut x = [field.q; R];
    for (k, x) in x.iter_mut().enumerate() {
        *x = get(field.token, &a[k]);
    }
    x = spread::<R, true>(field, x, &tables.forward(field.token, 1));
    let mut block = [field.q; LANES];
    block[..R].copy_from_slice(&x);
    block = last(field, tables, block, 0);
    for (words, &x) in a.iter_mut().zip(&block) {
        put(field.token, words, x);
    }
}
