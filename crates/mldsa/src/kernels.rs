//! The kernels that an operation runs. The backend determines them once.

use crate::Backend;
use crate::coding::{self, HintBits};
use crate::field::Poly;
use crate::keccak::{self, Blocks, Lanes, Mask};
use crate::ntt;
use crate::params::Gamma2;
#[cfg(all(test, target_arch = "aarch64"))]
use sordino_cpu::Neon;
#[cfg(target_arch = "aarch64")]
use sordino_cpu::NeonSha3;
use sordino_cpu::dispatch;

sordino_cpu::kernels! {
    /// The vector instructions that an operation uses.
    enum Level {
        Avx512: Avx512,
        Avx2: Avx2,
        Neon: Neon,
    }
}

/// The kernels of an operation. All of them give the same verdicts, bit for bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels {
    level: Level,
    /// Instructions for Keccak, in addition to the level's.
    #[cfg(target_arch = "aarch64")]
    sha3: Option<NeonSha3>,
}

impl Kernels {
    /// The fastest kernels of a backend.
    pub(crate) fn of(backend: Backend) -> Self {
        Self {
            level: Level::of(backend),
            #[cfg(target_arch = "aarch64")]
            sha3: backend.token(),
        }
    }

    /// The fastest kernels of this processor.
    pub(crate) fn detect() -> Self {
        Self::of(Backend::detect())
    }

    /// The kernels of every backend. If the processor has the SHA-3 instructions of NEON, also NEON's
    /// kernels without them.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "aarch64")]
        let plain = Neon::detect().map(|neon| Self {
            level: Level::Neon(neon),
            sha3: None,
        });
        #[cfg(not(target_arch = "aarch64"))]
        let plain = None;
        Backend::available().map(Self::of).chain(plain)
    }

    /// A name for the messages of tests.
    #[cfg(test)]
    pub(crate) fn name(self) -> &'static str {
        match self.level {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512",
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) if self.sha3.is_some() => "neon-sha3",
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => "neon",
        }
    }

    /// Permutes at least the lanes in `mask`. Other lanes have no meaning afterwards.
    pub(crate) fn permute(self, lanes: &mut Lanes, mask: Mask) {
        #[cfg(target_arch = "aarch64")]
        if let (Level::Neon(_), Some(sha3)) = (self.level, self.sha3) {
            return keccak::neon::permute_lanes_sha3(sha3, lanes, mask);
        }
        dispatch!(Level, self.level, keccak::permute_lanes(lanes, mask));
    }

    pub(crate) fn blocks(self, lanes: &Lanes, blocks: &mut Blocks) {
        dispatch!(Level, self.level, keccak::blocks(lanes, blocks));
    }

    pub(crate) fn ntt(self, poly: &mut Poly) {
        dispatch!(Level, self.level, ntt::ntt(poly));
    }

    pub(crate) fn inverse_ntt(self, poly: &mut Poly) {
        dispatch!(Level, self.level, ntt::inverse_ntt(poly));
    }

    pub(crate) fn transpose(self, poly: &mut Poly) {
        dispatch!(Level, self.level, ntt::transpose(poly));
    }

    pub(crate) fn product(self, out: &mut Poly, row: &[Poly], vector: &[Poly]) {
        dispatch!(Level, self.level, ntt::product(out, row, vector));
    }

    pub(crate) fn unpack_z(
        self,
        out: &mut Poly,
        bytes: &[u8],
        gamma1_bits: u32,
        bound: i32,
    ) -> bool {
        dispatch!(
            Level,
            self.level,
            coding::unpack_z(out, bytes, gamma1_bits, bound)
        )
    }

    pub(crate) fn unpack_t1(self, out: &mut Poly, bytes: &[u8; 320]) {
        dispatch!(Level, self.level, coding::unpack_t1(out, bytes));
    }

    pub(crate) fn rej_ntt_poly(self, out: &mut Poly, filled: usize, block: &[u8; 168]) -> usize {
        dispatch!(Level, self.level, coding::rej_ntt_poly(out, filled, block))
    }

    pub(crate) fn use_hint_encode(self, out: &mut [u8], w: &Poly, hint: &HintBits, gamma2: Gamma2) {
        dispatch!(
            Level,
            self.level,
            coding::use_hint_encode(out, w, hint, gamma2)
        );
    }
}
