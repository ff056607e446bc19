//! The portable definition.

/// It uses sixteen partial sums a row, so that the compiler can use multiply-add instructions. Sums
/// wrap, so their order does not matter.
#[inline(always)]
pub(super) fn products(rows: &[i16], query: &[i16], products: &mut [i32]) {
    let (query16, query_rest) = query.as_chunks::<16>();
    for (row, product) in rows.chunks_exact(query.len()).zip(products) {
        let (row16, row_rest) = row.as_chunks::<16>();
        let mut sums = [0i32; 16];
        for (a, b) in row16.iter().zip(query16) {
            for lane in 0..16 {
                sums[lane] = sums[lane].wrapping_add(i32::from(a[lane]) * i32::from(b[lane]));
            }
        }
        let rest = row_rest.iter().zip(query_rest);
        *product = rest.fold(
            sums.iter().fold(0, |sum: i32, x| sum.wrapping_add(*x)),
            |sum, (&a, &b)| sum.wrapping_add(i32::from(a) * i32::from(b)),
        );
    }
}
