//! The mode as it is encoded: forms are added at the end, so that older indexes stay readable.

use serde::{Deserialize, Serialize};

use super::{Columns, Local, Sealed, Segment};
use crate::code::Codec;
use crate::sketch::Sketch;

/// A mode in a manifest of form 2.
#[derive(Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "there is one in a manifest")]
pub(super) enum Mode {
    Sealed(Sealed),
    /// Vectors in 8 bits.
    Local(Local8),
    Open(Columns),
    Masked(Columns),
    /// Vectors in a code that is named. Programs from before 12-bit codes refuse it.
    LocalIn(Local),
}

/// Local mode before there were other codes.
#[derive(Serialize, Deserialize)]
pub(super) struct Local8 {
    segments: Vec<Segment>,
    sketch: Option<Sketch>,
}

impl From<Mode> for super::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Sealed(mode) => Self::Sealed(mode),
            Mode::Local(Local8 { segments, sketch }) => Self::Local(Local {
                codec: Codec::Int8,
                segments,
                sketch,
            }),
            Mode::Open(mode) => Self::Open(mode),
            Mode::Masked(mode) => Self::Masked(mode),
            Mode::LocalIn(mode) => Self::Local(mode),
        }
    }
}

impl From<super::Mode> for Mode {
    fn from(mode: super::Mode) -> Self {
        match mode {
            super::Mode::Sealed(mode) => Self::Sealed(mode),
            super::Mode::Local(Local {
                codec: Codec::Int8,
                segments,
                sketch,
            }) => Self::Local(Local8 { segments, sketch }),
            super::Mode::Local(mode) => Self::LocalIn(mode),
            super::Mode::Open(mode) => Self::Open(mode),
            super::Mode::Masked(mode) => Self::Masked(mode),
        }
    }
}
