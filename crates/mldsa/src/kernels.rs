//! The kernels that an operation runs, chosen once from its backend.

use crate::Backend;
use crate::coding::{self, HintBits};
use crate::field::Poly;
use crate::keccak::{self, Blocks, Lanes, Mask};
use crate::ntt;
use crate::params::Gamma2;
#[cfg(target_arch = "x86_64")]
use sordino_cpu::{Avx2, Avx512};
#[cfg(target_arch = "aarch64")]
use sordino_cpu::{Neon, NeonSha3};

/// The kernels of an operation. All give the same verdicts, bit for bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels(Level);

#[derive(Clone, Copy, Debug)]
enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(target_arch = "aarch64")]
    NeonSha3(Neon, NeonSha3),
}

/// Calls the kernel of this level.
macro_rules! dispatch {
    ($self:ident, $noun:ident::$kernel:ident($($argument:expr),*)) => {
        match $self.0 {
            Level::Portable => $noun::portable::$kernel($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(token) => $noun::avx2::$kernel(token, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(token) => $noun::avx512::$kernel(token, $($argument),*),
            #[cfg(target_arch = "aarch64")]
            Level::Neon(token) | Level::NeonSha3(token, _) => {
                $noun::neon::$kernel(token, $($argument),*)
            }
        }
    };
}

impl Kernels {
    /// The fastest kernels of a backend.
    pub(crate) fn of(backend: Backend) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = backend.token() {
            return Self(Level::Avx512(token));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = backend.token() {
            return Self(Level::Avx2(token));
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(neon) = backend.token() {
            return Self(match backend.token() {
                Some(sha3) => Level::NeonSha3(neon, sha3),
                None => Level::Neon(neon),
            });
        }
        let _ = backend;
        Self(Level::Portable)
    }

    /// The fastest kernels of this processor.
    pub(crate) fn detect() -> Self {
        Self::of(Backend::detect())
    }

    /// The kernels of every backend, and those of NEON without the SHA-3 instructions where there are both.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "aarch64")]
        let plain = Neon::detect().map(Level::Neon);
        #[cfg(not(target_arch = "aarch64"))]
        let plain = None;
        Backend::available().map(Self::of).chain(plain.map(Self))
    }

    /// A name for the messages of tests.
    #[cfg(test)]
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512",
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => "neon",
            #[cfg(target_arch = "aarch64")]
            Level::NeonSha3(..) => "neon-sha3",
        }
    }

    /// Permutes the lanes in `mask`; the others may change or not.
    pub(crate) fn permute(self, lanes: &mut Lanes, mask: Mask) {
        #[cfg(target_arch = "aarch64")]
        if let Level::NeonSha3(_, sha3) = self.0 {
            return keccak::neon::permute_lanes_sha3(sha3, lanes, mask);
        }
        dispatch!(self, keccak::permute_lanes(lanes, mask));
    }

    pub(crate) fn blocks(self, lanes: &Lanes, blocks: &mut Blocks) {
        dispatch!(self, keccak::blocks(lanes, blocks));
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
