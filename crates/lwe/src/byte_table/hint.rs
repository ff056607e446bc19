//! The hint of a table of bytes. For every group it is `D`, or the group's own `D_g`, times the group's public
//! matrix.
//!
//! The transforms of a row of `D` serve all groups. A row's sums are computed for eight values at a time, over all
//! polynomials. So the part of the public polynomials that they need stays in the cache for a block of rows:
//!
//! | | order |
//! |---|---|
//! | public polynomials | `[eight values][group][component][polynomial]` |
//! | transformed rows, by twos | `[eight values][two rows][polynomial][row]` |

use std::ops::Range;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::matrix::LANES as LINE;
use sordino_lattice::products::{LANES, Operands};
use sordino_lattice::threads;

use super::ByteTable;
use crate::hint::round;
use crate::params::{N, RANK, plan};
use crate::public;

/// The largest number of values of transformed rows that a thread holds, if a block has more than two rows: 1 MiB.
const HELD: usize = 1 << 17;
/// The largest number of rows of a block.
const ROWS: usize = 16;
/// The number of runs of eight values of a polynomial.
const RUNS: usize = N / LANES;

impl ByteTable {
    /// Rows `rows` of the hints of groups `groups`, group after group. Each row of each group has `n` numbers, as in
    /// [`Table::hint`](crate::Table::hint). A call for all groups transforms every row only once.
    ///
    /// # Panics
    /// Panics if a range ends beyond the last group or row.
    #[must_use]
    pub fn hint(&self, groups: Range<usize>, rows: Range<usize>) -> Vec<i32> {
        assert!(
            groups.end <= self.shape.groups() && rows.end <= self.shape.rows(),
            "groups and rows of the hint"
        );
        let mut hint = vec![0; groups.len() * rows.len() * RANK * N];
        if hint.is_empty() {
            return hint;
        }
        if self.matrices == 1 {
            self.write_hint(groups, rows, &mut hint);
            return hint;
        }
        let each = hint.chunks_exact_mut(rows.len() * RANK * N);
        for (g, hint) in groups.zip(each) {
            self.write_hint(g..g + 1, rows.clone(), hint);
        }
        hint
    }

    /// Writes the hint of groups that share a matrix.
    fn write_hint(&self, groups: Range<usize>, rows: Range<usize>, hint: &mut [i32]) {
        let (polys, n) = (self.shape.polys(), RANK * N);
        let a = self.tiles(groups.clone());
        let count = u32::try_from(groups.len() * RANK * polys).expect("limits of a shape");
        let terms: Vec<u32> = (0..count).collect();
        let block = (HELD / (polys * N)).clamp(2, ROWS) & !1;
        // For each block of rows, its place in each group.
        let mut blocks: Vec<Vec<&mut [i32]>> = (rows.clone().step_by(block))
            .map(|_| Vec::with_capacity(groups.len()))
            .collect();
        for group in hint.chunks_exact_mut(rows.len() * n) {
            for (block, place) in blocks.iter_mut().zip(group.chunks_mut(block * n)) {
                block.push(place);
            }
        }
        let room = || Room {
            poly: Aligned::new(N),
            rows: Aligned::new(block * polys * N),
            sums: Aligned::new(block * groups.len() * n),
            first: Aligned::new(groups.len() * RANK * LANES),
            second: Aligned::new(groups.len() * RANK * LANES),
        };
        threads::for_each(blocks, room, |room, i, places| {
            let first = rows.start + i * block;
            let rows = first..rows.end.min(first + block);
            self.transform(groups.start, rows, room);
            sum(&a, &terms, polys, block, room);
            room.write(places);
        });
    }

    /// The public polynomials of some groups, reflected, in tiles of eight values.
    fn tiles(&self, groups: Range<usize>) -> Aligned<u64> {
        let polys = self.shape.polys();
        let from = plan().permutation(2 * N - 1);
        let mut tiles = Aligned::new(groups.len() * RANK * polys * N);
        let (list, run) = (polys * LANES, groups.len() * RANK * polys * LANES);
        for (at, g) in groups.enumerate() {
            let a = public::rows(&self.seed, g * polys, polys);
            for (p, a) in a.chunks_exact(RANK * N).enumerate() {
                for (c, a) in a.chunks_exact(N).enumerate() {
                    let place = (at * RANK + c) * list + p * LANES;
                    for (run, from) in tiles.chunks_exact_mut(run).zip(from.chunks_exact(LANES)) {
                        for (out, &i) in run[place..][..LANES].iter_mut().zip(from) {
                            *out = a[i as usize];
                        }
                    }
                }
            }
        }
        tiles
    }

    /// Transforms rows of group `g`'s matrix. If the last block has fewer rows, older rows remain behind them.
    fn transform(&self, g: usize, rows: Range<usize>, room: &mut Room) {
        let (modulus, polys, digits) = (plan().modulus(), self.shape.polys(), self.digits(g));
        let columns = self.shape.columns();
        let run = room.rows.len() / RUNS;
        for (r, row) in rows.enumerate() {
            for p in 0..polys {
                room.poly.fill(0);
                for (line, first) in room
                    .poly
                    .chunks_exact_mut(LINE)
                    .zip((p * N..columns).step_by(LINE))
                {
                    let found = digits.line(row, first).iter().take(columns - first);
                    for (x, digit) in line.iter_mut().zip(found) {
                        *x = modulus.from_signed(i64::from(digit.cast_signed()));
                    }
                }
                plan().forward(&mut room.poly);
                let place = ((r / 2 * polys + p) * 2 + r % 2) * LANES;
                let runs = room.rows.chunks_exact_mut(run);
                for (run, values) in runs.zip(room.poly.chunks_exact(LANES)) {
                    run[place..][..LANES].copy_from_slice(values);
                }
            }
        }
    }
}

/// Working memory of a thread.
struct Room {
    poly: Aligned<u64>,
    /// Transformed rows.
    rows: Aligned<u64>,
    /// `[row][group][component][value]`.
    sums: Aligned<u64>,
    /// Eight values of each sum of a pair's first row.
    first: Aligned<u64>,
    /// The same for the second row.
    second: Aligned<u64>,
}

/// The sums of a block of rows.
fn sum(a: &[u64], terms: &[u32], polys: usize, block: usize, room: &mut Room) {
    let Room {
        rows,
        sums,
        first,
        second,
        ..
    } = room;
    let runs = a.chunks_exact(a.len() / RUNS);
    let per_row = sums.len() / block;
    for (run, (a, rows)) in runs.zip(rows.chunks_exact(rows.len() / RUNS)).enumerate() {
        let pairs = rows.chunks_exact(polys * 2 * LANES);
        for (rows, sums) in pairs.zip(sums.chunks_exact_mut(2 * per_row)) {
            first.fill(0);
            second.fill(0);
            let operands = Operands {
                x: a,
                x_step: LANES,
                rows: terms,
                terms: polys,
                list: polys,
                width: LANES,
                y: rows,
                y_step: 2 * LANES,
                second: LANES,
                shared: true,
            };
            operands.add_to(plan().modulus(), first, second);
            let sums = sums.split_at_mut(per_row);
            for (sums, found) in [(sums.0, &*first), (sums.1, &*second)] {
                let found = found.chunks_exact(LANES);
                for (sum, found) in sums.chunks_exact_mut(N).zip(found) {
                    sum[run * LANES..][..LANES].copy_from_slice(found);
                }
            }
        }
    }
}

impl Room {
    /// Writes the sums of a block to its place in every group.
    fn write(&mut self, mut places: Vec<&mut [i32]>) {
        let n = RANK * N;
        let groups = places.len();
        for (r, sums) in self.sums.chunks_exact_mut(groups * n).enumerate() {
            for (sums, place) in sums.chunks_exact_mut(n).zip(&mut places) {
                // The last block may have fewer rows.
                let Some(place) = place.get_mut(r * n..(r + 1) * n) else {
                    return;
                };
                for (sum, out) in sums.chunks_exact_mut(N).zip(place.chunks_exact_mut(N)) {
                    round(sum, out);
                }
            }
        }
    }
}
