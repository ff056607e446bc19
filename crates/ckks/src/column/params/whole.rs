//! Variants of the sets whose answers are not rounded.

use super::{Encoding, Params};

/// Marks the number of a set that does not round its answers.
pub(super) const WHOLE: u8 = 0x20;

impl Params {
    /// The same set with answers that are not rounded: they take all bits of `q` for each vector. A
    /// [`Combination`](crate::column::Combination) can check them, and the client rounds them
    /// itself.
    #[must_use]
    pub const fn whole(self) -> Self {
        let answer_bits = match self.encoding {
            Encoding::Real { .. } => self.hint_bits(),
            Encoding::Modular { log_p } if log_p > self.hint_bits() => log_p,
            Encoding::Modular { .. } => self.hint_bits(),
        };
        Self {
            id: self.id | WHOLE,
            name: self.whole_name(),
            answer_bits,
            whole: true,
            ..self
        }
    }

    const fn whole_name(self) -> &'static str {
        match self.id & !WHOLE {
            1 => "column-2048-40-real-t4-whole",
            2 => "column-2048-40-real-t8-whole",
            3 => "column-2048-50-mod26-t4-whole",
            4 => "column-2048-50-mod26-t8-whole",
            6 => "column-2048-50-mod26-t64-whole",
            7 => "column-2048-50-mod26-t128-whole",
            8 => "column-2048-50-mod26-t16-whole",
            9 => "column-2048-50-mod26-t32-whole",
            10 => "column-2048-40-real-t16-whole",
            11 => "column-2048-40-real-t32-whole",
            12 => "column-2048-40-real-t64-whole",
            _ => "column-2048-50-mod18-exact-whole",
        }
    }

    /// True if answers come as residues mod `q`.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.whole
    }
}
