//! Sets the shapes of the tiles while a product uses them.

#![expect(unsafe_code, reason = "tiles are for assembly alone")]

use std::arch::asm;

use sordino_cpu::Amx;

/// The number of rows of a tile.
pub(super) const ROWS: usize = 16;

/// The operand of `ldtilecfg`: the shapes of the tiles, at most 16 rows of at most 64 bytes each.
#[repr(C)]
pub(super) struct Config {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Config {
    /// Tiles 0 to 3 hold sums. Tile 4 holds the operand that is multiplied with four others, and tiles 5 to 7 hold
    /// these in turn. Shapes are numbers of rows and bytes of a row.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a tile has 16 rows at most"
    )]
    fn new(sums: (usize, u16), one: (usize, u16), four: (usize, u16)) -> Self {
        let shapes = [sums, sums, sums, sums, one, four, four, four];
        let mut config = Self {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        for (t, (rows, row_bytes)) in shapes.into_iter().enumerate() {
            assert!((1..=ROWS).contains(&rows), "a tile of {rows} rows");
            config.rows[t] = rows as u8;
            config.row_bytes[t] = row_bytes;
        }
        config
    }

    /// Shapes for `multiply_vector`: four words a row, for the sums and for the planes.
    pub(super) fn of_vector() -> Self {
        Self::new((ROWS, 16), (ROWS, 16), (ROWS, 64))
    }

    /// Shapes for `multiply_panel` with blocks of `height` rows.
    pub(super) fn of_panel(height: usize) -> Self {
        Self::new((height, 64), (height, 64), (ROWS, 64))
    }
}

/// Configured tiles, which are released on drop. While they are in use, the system saves and restores them at every
/// switch of threads.
pub(super) struct Tiles;

impl Tiles {
    pub(super) fn configure(_: Amx, config: &Config) -> Self {
        // SAFETY: the token proves the level and that the system admits tiles. `config` is 64 bytes long and of a form
        // that the processor takes: palette 1, shapes that `Config::new` has checked, the rest zeros.
        unsafe {
            asm!(
                "ldtilecfg [{config}]",
                config = in(reg) config,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, preserves_flags, readonly),
            );
        }
        Self
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: tiles were configured, so the processor has them; nothing uses them after this.
        unsafe {
            asm!(
                "tilerelease",
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, preserves_flags, nomem),
            );
        }
    }
}
