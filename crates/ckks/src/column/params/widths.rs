//! Widths of the numbers that are sent and stored.

use sordino_lattice::switch::Switch;

use super::Params;
use crate::bits::Width;

impl Params {
    /// The switch that rounds residues to answers. The server applies it, or the client if answers
    /// are whole.
    pub(in crate::column) fn answer_switch(&self) -> Switch {
        self.switch(self.answer_bits)
    }

    /// The width of the numbers of a reply.
    pub(in crate::column) const fn answer_width(&self) -> Width {
        match self.whole {
            true => self.residue_width(),
            false => Width::bits(self.answer_bits),
        }
    }

    /// The width of a residue mod `q`.
    pub(in crate::column) const fn residue_width(&self) -> Width {
        Width::bits(u64::BITS - self.q.leading_zeros())
    }

    /// Bits of a number of the hint, or of the widest numbers if widths alternate.
    pub(in crate::column) const fn hint_bits(&self) -> u32 {
        self.hint_width.most()
    }

    /// The switch to residues mod `2^bits`.
    pub(in crate::column) fn switch(&self, bits: u32) -> Switch {
        Switch::new(self.plan().modulus(), bits)
    }

    /// Bits of an uploaded coefficient.
    pub(in crate::column) const fn upload_bits(&self) -> u32 {
        u64::BITS - self.q.leading_zeros() - self.dropped
    }
}
