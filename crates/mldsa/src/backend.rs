//! Which instructions the kernels use, decided once per operation.

use crate::coding::{self, HintBits};
use crate::field::Poly;
use crate::keccak::{self, Lanes, Mask};
use crate::ntt;
use crate::params::Gamma2;

/// A set of kernels that this processor can run. All sets give the same verdicts, bit for bit.
#[derive(Clone, Copy, Debug)]
pub struct Backend(Level);

#[derive(Clone, Copy, Debug)]
enum Level {
    Portable,
}

/// Calls the kernel of this backend.
macro_rules! dispatch {
    ($self:ident, $noun:ident::$kernel:ident($($argument:expr),*)) => {
        match $self.0 {
            Level::Portable => $noun::portable::$kernel($($argument),*),
        }
    };
}

impl Backend {
    /// The kernels written in plain Rust, which run everywhere and define all others.
    pub const PORTABLE: Self = Self(Level::Portable);

    /// The fastest backend that this processor has and `SORDINO_CPU` admits.
    #[must_use]
    pub fn detect() -> Self {
        Self::available().last().unwrap_or(Self::PORTABLE)
    }

    /// Every backend that this processor has and `SORDINO_CPU` admits, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        let levels = [Some(Level::Portable)];
        levels.into_iter().flatten().map(Self)
    }

    /// `portable`, `avx2`, `avx512`, `neon` or `neon-sha3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Portable => "portable",
        }
    }

    /// Permutes the lanes in `mask`; the others may change or not.
    pub(crate) fn permute(self, lanes: &mut Lanes, mask: Mask) {
        dispatch!(self, keccak::permute_lanes(lanes, mask));
    }

    pub(crate) fn ntt(self, poly: &mut Poly) {
        dispatch!(self, ntt::ntt(poly));
    }

    pub(crate) fn inverse_ntt(self, poly: &mut Poly) {
        dispatch!(self, ntt::inverse_ntt(poly));
    }

    pub(crate) fn transpose(self, poly: &mut Poly) {
        dispatch!(self, ntt::transpose(poly));
    }

    pub(crate) fn product(self, out: &mut Poly, row: &[Poly], vector: &[Poly]) {
        dispatch!(self, ntt::product(out, row, vector));
    }

    pub(crate) fn unpack_z(
        self,
        out: &mut Poly,
        bytes: &[u8],
        gamma1_bits: u32,
        bound: i32,
    ) -> bool {
        dispatch!(self, coding::unpack_z(out, bytes, gamma1_bits, bound))
    }

    pub(crate) fn unpack_t1(self, out: &mut Poly, bytes: &[u8; 320]) {
        dispatch!(self, coding::unpack_t1(out, bytes));
    }

    pub(crate) fn rej_ntt_poly(self, out: &mut Poly, filled: usize, block: &[u8; 168]) -> usize {
        dispatch!(self, coding::rej_ntt_poly(out, filled, block))
    }

    pub(crate) fn use_hint_encode(self, out: &mut [u8], w: &Poly, hint: &HintBits, gamma2: Gamma2) {
        dispatch!(self, coding::use_hint_encode(out, w, hint, gamma2));
    }
}
