//! The types of number that files of vectors hold.

use half::f16;

use crate::rounding::Rounding;

/// A type of number, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F64,
    F32,
    F16,
    U8,
    I8,
    U32,
    I32,
    U64,
    I64,
}

impl Element {
    /// Bytes of one number.
    pub(super) fn size(self) -> usize {
        match self {
            Self::F64 | Self::U64 | Self::I64 => 8,
            Self::F32 | Self::U32 | Self::I32 => 4,
            Self::F16 => 2,
            Self::U8 | Self::I8 => 1,
        }
    }

    /// True for a type of coordinates, false for one of row numbers.
    pub(super) fn is_coordinate(self) -> bool {
        match self {
            Self::F64 | Self::F32 | Self::F16 | Self::U8 | Self::I8 => true,
            Self::U32 | Self::I32 | Self::U64 | Self::I64 => false,
        }
    }

    /// Appends the whole numbers of `bytes`, a row, as coordinates; a type of row numbers gives none.
    ///
    /// An f64 that is no number of 32 bits becomes infinite or NaN, and is refused as that by `Vectors`.
    pub(super) fn coordinates(self, bytes: &[u8], rounding: &mut Rounding, out: &mut Vec<f32>) {
        match self {
            Self::F64 => {
                let values = bytes.as_chunks().0.iter();
                rounding.row(values.map(|b| f64::from_le_bytes(*b)), out);
            }
            Self::F32 => {
                let values = bytes.as_chunks().0.iter();
                out.extend(values.map(|b| f32::from_le_bytes(*b)));
            }
            Self::F16 => {
                let values = bytes.as_chunks().0.iter();
                out.extend(values.map(|b| f16::from_le_bytes(*b).to_f32()));
            }
            Self::U8 => out.extend(bytes.iter().map(|&b| f32::from(b))),
            Self::I8 => out.extend(bytes.iter().map(|&b| f32::from(b.cast_signed()))),
            Self::U32 | Self::I32 | Self::U64 | Self::I64 => (),
        }
    }

    /// The whole numbers of `bytes`; a type of coordinates gives none.
    pub(super) fn ids(self, bytes: &[u8]) -> Vec<i128> {
        match self {
            Self::U32 => {
                let values = bytes.as_chunks().0.iter();
                values.map(|b| u32::from_le_bytes(*b).into()).collect()
            }
            Self::I32 => {
                let values = bytes.as_chunks().0.iter();
                values.map(|b| i32::from_le_bytes(*b).into()).collect()
            }
            Self::U64 => {
                let values = bytes.as_chunks().0.iter();
                values.map(|b| u64::from_le_bytes(*b).into()).collect()
            }
            Self::I64 => {
                let values = bytes.as_chunks().0.iter();
                values.map(|b| i64::from_le_bytes(*b).into()).collect()
            }
            Self::F64 | Self::F32 | Self::F16 | Self::U8 | Self::I8 => Vec::new(),
        }
    }
}
