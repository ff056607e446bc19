//! The hint, `H = D A`, which the server keeps. The column engine multiplies it with encrypted secrets.

use std::ops::Range;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::threads;

use crate::params::{HINT_BITS, N, RANK, hint_switch, plan};
use crate::public;
use crate::table::Table;

impl Table {
    /// Rows `rows` of the hint, for all groups in this table. Each row has `n` numbers of `H`, rounded to `h` bits, in
    /// `[-2^(h-1), 2^(h-1))`.
    ///
    /// For coefficient `j` of a product, row `j` of the matrix of a polynomial `a` holds coefficient `j - l` of `a` in
    /// column `l`. So a row `D` of the table has the hint `sum_j D_j a_(j - l)`: coefficient `l` of `D(X) a(X^-1)`.
    ///
    /// # Panics
    /// Panics if the range ends beyond the last row.
    #[must_use]
    pub fn hint(&self, rows: Range<usize>) -> Vec<i32> {
        assert!(rows.end <= self.shape.answers(), "rows of the hint");
        let (per, polys, n) = (self.shape.rows(), self.shape.polys(), RANK * N);
        let mut hint = vec![0; rows.len() * n];
        let mut rest = &mut hint[..];
        let mut first = rows.start;
        while first < rows.end {
            let group = first / per;
            let last = rows.end.min((group + 1) * per);
            let (own, others) = rest.split_at_mut((last - first) * n);
            let a = (self.first + group) * polys;
            let a = reflected(&public::rows(&self.seed, a, polys));
            threads::for_each(
                own.chunks_exact_mut(n).collect(),
                || Aligned::new((2 + RANK) * N),
                |room, i, out| self.hint_row(first + i, &a, room, out),
            );
            (rest, first) = (others, last);
        }
        hint
    }

    /// Computes one row from the reflected polynomials of its group.
    fn hint_row(&self, row: usize, a: &[u64], room: &mut [u64], out: &mut [i32]) {
        let modulus = plan().modulus();
        let (poly, rest) = room.split_at_mut(N);
        let (product, sums) = rest.split_at_mut(N);
        sums.fill(0);
        let mut entries = self.row(row);
        for a in a.chunks_exact(RANK * N) {
            poly.fill(0);
            for (x, entry) in poly.iter_mut().zip(entries.by_ref()) {
                *x = modulus.from_signed(i64::from(entry));
            }
            plan().forward(poly);
            for (a, sum) in a.chunks_exact(N).zip(sums.chunks_exact_mut(N)) {
                product.copy_from_slice(a);
                plan().multiply(product, poly);
                for (sum, x) in sum.iter_mut().zip(product.iter()) {
                    *sum = modulus.add(*sum, *x);
                }
            }
        }
        for (sum, out) in sums.chunks_exact_mut(N).zip(out.chunks_exact_mut(N)) {
            round(sum, out);
        }
    }
}

/// Rounds `N` numbers of the hint, given their values in NTT form, which are overwritten.
#[expect(clippy::cast_possible_truncation, reason = "26 bits, centred")]
pub(crate) fn round(sum: &mut [u64], out: &mut [i32]) {
    plan().inverse(sum);
    hint_switch().apply(sum);
    let unused = 64 - HINT_BITS;
    for (out, &x) in out.iter_mut().zip(sum.iter()) {
        *out = (x.cast_signed() << unused >> unused) as i32;
    }
}

/// `a(X^-1)` for every polynomial, in NTT form.
fn reflected(a: &[u64]) -> Aligned<u64> {
    let from = plan().permutation(2 * N - 1);
    let mut out = Aligned::new(a.len());
    for (a, out) in a.chunks_exact(N).zip(out.chunks_exact_mut(N)) {
        for (out, &i) in out.iter_mut().zip(&from) {
            *out = a[i as usize];
        }
    }
    out
}
