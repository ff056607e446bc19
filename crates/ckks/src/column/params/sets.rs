//! The named sets.

use super::{Encoding, HINT_WIDTH, MAX_DIM, Params, Q40};
use crate::bits::Width;
use crate::dot;

impl Params {
    const fn real(id: u8, name: &'static str, t: usize) -> Self {
        Self {
            id,
            name,
            q: Q40,
            t,
            dropped: 7,
            answer_bits: 15,
            whole: false,
            hint_width: HINT_WIDTH,
            encoding: Encoding::Real {
                scale: 8000.0,
                window: 2.05,
            },
            max_dim: MAX_DIM,
        }
    }

    /// The default set: real-valued, `q` of 40 bits, 5 bytes a coefficient, `t = 4`. The standard error of a score is
    /// `4.9e-5`. The upload takes 8,448 bytes per four dimensions, and the hint 9.94 bytes a vector.
    #[must_use]
    pub const fn real_t4() -> Self {
        Self::real(1, "column-2048-40-real-t4", 4)
    }

    /// Like [`Self::real_t4`] with `t = 8`, for long sessions and `d >= 256`. It has half the upload and twice the hint.
    #[must_use]
    pub const fn real_t8() -> Self {
        Self::real(2, "column-2048-40-real-t8", 8)
    }

    const fn wide(id: u8, name: &'static str, t: usize) -> Self {
        Self {
            dropped: 8,
            ..Self::real(id, name, t)
        }
    }

    /// Real-valued, `t = 16`, for `d >= 256`. The upload takes 8,192 bytes per 16 dimensions, and the hint 40 bytes a
    /// vector.
    #[must_use]
    pub const fn real_t16() -> Self {
        Self::wide(10, "column-2048-40-real-t16", 16)
    }

    /// Real-valued, `t = 32`, for `d >= 512`. It has half the upload and twice the hint of `t = 16`.
    #[must_use]
    pub const fn real_t32() -> Self {
        Self::wide(11, "column-2048-40-real-t32", 32)
    }

    /// Real-valued, `t = 64`, for `d >= 1024`. It has half the upload and twice the hint of `t = 32`.
    #[must_use]
    pub const fn real_t64() -> Self {
        Self::wide(12, "column-2048-40-real-t64", 64)
    }

    const fn modular(id: u8, name: &'static str, t: usize) -> Self {
        Self {
            id,
            name,
            q: dot::Q,
            t,
            dropped: 2,
            answer_bits: 15,
            whole: false,
            hint_width: HINT_WIDTH,
            encoding: Encoding::Modular { log_p: 26 },
            max_dim: MAX_DIM,
        }
    }

    /// Modular, `P = 2^26`, `q` of 50 bits, 7 bytes a coefficient, `t = 4`: approximate scores.
    #[must_use]
    pub const fn modular_26_t4() -> Self {
        Self::modular(3, "column-2048-50-mod26-t4", 4)
    }

    /// Like [`Self::modular_26_t4`] with `t = 8`: half the upload, twice the hint, a slightly smaller error.
    #[must_use]
    pub const fn modular_26_t8() -> Self {
        Self::modular(4, "column-2048-50-mod26-t8", 8)
    }

    /// Modular, `P = 2^26`, `t = 16`, for `d >= 256`. The upload takes 11,776 bytes per 16 dimensions, the reply 15 bits
    /// a vector, and the hint 38 bytes a vector. In 1536 dimensions the standard deviation of a score mod `2^26` is
    /// `3.3e3`.
    #[must_use]
    pub const fn modular_26_t16() -> Self {
        Self {
            answer_bits: 15,
            ..Self::packed(8, "column-2048-50-mod26-t16", 16)
        }
    }

    /// Like [`Self::modular_26_t16`] with `t = 32`, for `d >= 512`: half the upload, twice the hint, an error smaller by
    /// a quarter.
    #[must_use]
    pub const fn modular_26_t32() -> Self {
        Self {
            answer_bits: 15,
            ..Self::packed(9, "column-2048-50-mod26-t32", 32)
        }
    }

    const fn packed(id: u8, name: &'static str, t: usize) -> Self {
        Self {
            dropped: 4,
            answer_bits: 16,
            hint_width: Width::bits(19),
            ..Self::modular(id, name, t)
        }
    }

    /// Modular, `P = 2^26`, `t = 64`, for dimensions above a thousand, where the upload outweighs the hint. The upload
    /// takes 11,776 bytes per 64 dimensions, the reply 2 bytes a vector, and the hint 152 bytes a vector. In 1536
    /// dimensions the standard deviation of a score mod `2^26` is `2.0e3`.
    #[must_use]
    pub const fn modular_26_t64() -> Self {
        Self::packed(6, "column-2048-50-mod26-t64", 64)
    }

    /// Like [`Self::modular_26_t64`] with `t = 128`: half the upload, twice the hint, a slightly smaller error.
    #[must_use]
    pub const fn modular_26_t128() -> Self {
        Self::packed(7, "column-2048-50-mod26-t128", 128)
    }

    /// Modular, `P = 2^18`, `t = 8`: exact scores mod `P`. For codes that are uniform mod `P`, such as padded codes, a
    /// score is wrong with probability below `2^-128` up to the largest dimension, 512.
    #[must_use]
    pub const fn modular_18_exact() -> Self {
        Self {
            id: 5,
            name: "column-2048-50-mod18-exact",
            q: dot::Q,
            t: 8,
            dropped: 2,
            answer_bits: 22,
            whole: false,
            hint_width: Width::bits(27),
            encoding: Encoding::Modular { log_p: 18 },
            max_dim: 512,
        }
    }
}
