//! AMX. `tdpbsud` multiplies tiles: signed digits in the layout of `D`, 16 rows of 64 bytes, times unsigned byte
//! planes. It does not saturate, so sums are exact mod 2^32.
//!
//! The compiler does not know tiles. Only the assembly here names and uses them, so each block of assembly finds the
//! tile shapes that the block before set.

#![expect(
    unsafe_code,
    reason = "tiles are for assembly alone, and kernels need a processor level"
)]

mod tiles;

use std::arch::asm;

use sordino_cpu::Amx;
use tiles::{Config, ROWS, Tiles};

use super::panels::Strip;
use super::{LANES, PANEL, avx512};

/// The number of rows of `D` in one step of [`mul_vec`]. They fill four tiles of sums, so that no product waits for the
/// one before it.
const GROUP: usize = 4 * ROWS;
/// The number of bytes of the largest matrix that tiles multiply with a vector. Beyond the L2 cache tiles gain nothing.
/// Prototypes of both ways on Sapphire Rapids, with one thread, read 129 GB/s by tiles and 56 by vectors from 1 MB.
/// From 13 MB they read 29 and 30, and from 256 MB 13.4 and 15.0.
pub(super) const CACHED: usize = 2 << 20;
/// The number of columns of `D` per cache block of [`mul_panels`]. A panel's block takes 32 KiB and 16 rows of `D` 8
/// KiB. The L1 cache has 48 KiB on Sapphire Rapids.
const DEPTH: usize = 512;
/// The number of rows of `D` per cache block of [`mul_panels`]: 128 KiB of the L2 cache at full depth.
const HEIGHT: usize = 256;

/// `out += D q`, with `q` given in planes for vectors and in planes for tiles.
pub(super) fn mul_vec(token: Amx, d: &[u8], q: &[u32], tiles: &[u32], out: &mut [u32]) {
    let tiled = out.len() - out.len() % GROUP;
    let (out, rest) = out.split_at_mut(tiled);
    if tiled != 0 {
        // SAFETY: the token proves the processor's level.
        unsafe { mul_vec_tiles(token, d, tiles, out) };
    }
    avx512::mul_vec(token.vnni(), &d[tiled * q.len()..], q, false, rest);
}

/// `out += D B`.
pub(super) fn mul_panels(token: Amx, d: &[u8], b: Strip<'_>, out: &mut [u32]) {
    // SAFETY: the token proves the processor's level.
    unsafe { mul_panels_tiles(token, d, b, out) }
}

/// Sums as tiles store them in memory: 16 rows of 16 for every plane, or all four planes of 64 rows.
#[repr(C, align(64))]
struct Sums([u32; 4 * ROWS * PANEL]);

/// The products of `out.len()` rows. This number is a multiple of [`GROUP`].
#[target_feature(enable = "avx512f")]
fn mul_vec_tiles(token: Amx, d: &[u8], planes: &[u32], out: &mut [u32]) {
    let _tiles = Tiles::configure(token, &Config::of_vector());
    let mut sums = Sums([0; _]);
    for (d, out) in d
        .chunks_exact(GROUP * planes.len())
        .zip(out.chunks_exact_mut(GROUP))
    {
        // SAFETY: the tiles were configured for this above.
        unsafe { multiply_vector(d, planes, &mut sums) };
        let (rows, _) = sums.0.as_chunks::<4>();
        for (out, [a, b, c, d]) in out.iter_mut().zip(rows) {
            let high = c.wrapping_add(d << 8) << 16;
            *out = out.wrapping_add(*a).wrapping_add(b << 8).wrapping_add(high);
        }
    }
}

/// The sums of 64 rows with the byte planes of a vector. For 64 columns, five loads of tiles serve four products.
///
/// # Safety
/// Tiles must be configured by [`Config::of_vector`].
unsafe fn multiply_vector(d: &[u8], planes: &[u32], sums: &mut Sums) {
    let stride = planes.len();
    assert!(stride != 0 && stride.is_multiple_of(LANES) && d.len() >= GROUP * stride);
    let part = |t: usize| d[t * ROWS * stride..].as_ptr();
    // SAFETY: a step reads 64 columns of 16 rows from each of four parts of `d`, `stride` bytes a row. It also reads
    // the 256 bytes that are the planes of 64 words. There are `stride / 64` steps. Then 64 rows of 16 bytes are
    // written to `sums`, which has four times that. The shapes are the caller's promise.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{planes} + {row}]",
            "tileloadd tmm5, [{d0} + {stride}]",
            "tileloadd tmm6, [{d1} + {stride}]",
            "tdpbsud tmm0, tmm5, tmm4",
            "tileloadd tmm7, [{d2} + {stride}]",
            "tdpbsud tmm1, tmm6, tmm4",
            "tileloadd tmm5, [{d3} + {stride}]",
            "tdpbsud tmm2, tmm7, tmm4",
            "tdpbsud tmm3, tmm5, tmm4",
            "add {d0}, 64",
            "add {d1}, 64",
            "add {d2}, 64",
            "add {d3}, 64",
            "add {planes}, 256",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{sums} + {row}], tmm0",
            "tilestored [{sums} + {row} + 256], tmm1",
            "tilestored [{sums} + {row} + 512], tmm2",
            "tilestored [{sums} + {row} + 768], tmm3",
            d0 = inout(reg) part(0) => _,
            d1 = inout(reg) part(1) => _,
            d2 = inout(reg) part(2) => _,
            d3 = inout(reg) part(3) => _,
            planes = inout(reg) planes.as_ptr() => _,
            steps = inout(reg) stride / LANES => _,
            stride = in(reg) stride,
            row = in(reg) 16usize,
            sums = in(reg) sums,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

#[target_feature(enable = "avx512f")]
fn mul_panels_tiles(token: Amx, d: &[u8], b: Strip<'_>, out: &mut [u32]) {
    let (stride, columns) = (b.width, b.columns);
    let rows = out.len() / columns;
    let height = ROWS.min(rows);
    let _tiles = Tiles::configure(token, &Config::of_panel(height));
    let mut sums = Sums([0; _]);
    for top in (0..rows).step_by(HEIGHT) {
        let bottom = rows.min(top + HEIGHT);
        for depth in (0..stride).step_by(DEPTH) {
            let end = stride.min(depth + DEPTH);
            for (first, width, panel) in b.panels() {
                let panel = &panel[depth * PANEL..end * PANEL];
                for i in (top..bottom).step_by(height) {
                    // The last block may begin among rows that were added before; these are skipped.
                    let start = i.min(rows - height);
                    let d = &d[start * stride + depth..(start + height - 1) * stride + end];
                    // SAFETY: the tiles were configured for this above.
                    unsafe { multiply_panel(d, stride, panel, height, &mut sums) };
                    for r in i - start..height {
                        let at = (start + r) * columns + first;
                        avx512::add_planes(&sums.0[r * PANEL..], &mut out[at..at + width]);
                    }
                }
            }
        }
    }
}

/// The sums of `height` rows of `D`, `stride` bytes apart, with the four planes of a panel. For 64 columns, five loads
/// of tiles serve four products.
///
/// # Safety
/// Tiles must be configured by [`Config::of_panel`] for this height.
unsafe fn multiply_panel(d: &[u8], stride: usize, panel: &[u32], height: usize, sums: &mut Sums) {
    let depth = panel.len() / PANEL;
    assert!(depth != 0 && depth.is_multiple_of(LANES));
    assert!(height <= ROWS && d.len() >= (height - 1) * stride + depth);
    // SAFETY: a step reads 64 columns of `height` rows of `d` and the 4 KiB that are the planes of 64 rows of the
    // panel. There each plane has 64 bytes of every 256. There are `depth / 64` steps. Then `height` rows of 64 bytes
    // are written to each of the four KiB of `sums`. The shapes are the caller's promise.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{d} + {stride}]",
            "tileloadd tmm5, [{panel} + {row}]",
            "tileloadd tmm6, [{panel} + {row} + 64]",
            "tdpbsud tmm0, tmm4, tmm5",
            "tileloadd tmm7, [{panel} + {row} + 128]",
            "tdpbsud tmm1, tmm4, tmm6",
            "tileloadd tmm5, [{panel} + {row} + 192]",
            "tdpbsud tmm2, tmm4, tmm7",
            "tdpbsud tmm3, tmm4, tmm5",
            "add {d}, 64",
            "add {panel}, 4096",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{sums} + {sum_row}], tmm0",
            "tilestored [{sums} + {sum_row} + 1024], tmm1",
            "tilestored [{sums} + {sum_row} + 2048], tmm2",
            "tilestored [{sums} + {sum_row} + 3072], tmm3",
            d = inout(reg) d.as_ptr() => _,
            panel = inout(reg) panel.as_ptr() => _,
            steps = inout(reg) depth / LANES => _,
            stride = in(reg) stride,
            row = in(reg) 256usize,
            sums = in(reg) sums,
            sum_row = in(reg) 64usize,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}
