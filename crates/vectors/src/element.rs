//! The number types in files of vectors.

use half::f16;

use crate::rounding::Rounding;

/// A number type, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F64,
    F32,
    F16,
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
}

impl Element {
    /// The size in bytes of one number.
    pub(super) fn size(self) -> usize {
        match self {
            Self::F64 | Self::U64 | Self::I64 => 8,
            Self::F32 | Self::U32 | Self::I32 => 4,
            Self::F16 | Self::U16 | Self::I16 => 2,
            Self::Bool | Self::U8 | Self::I8 => 1,
        }
    }

    /// True for a type of whole numbers, which ids and row numbers must have.
    pub(super) fn is_whole(self) -> bool {
        match self {
            Self::F64 | Self::F32 | Self::F16 | Self::Bool => false,
            Self::U8
            | Self::I8
            | Self::U16
            | Self::I16
            | Self::U32
            | Self::I32
            | Self::U64
            | Self::I64 => true,
        }
    }

    /// Appends the numbers of one row, given as `bytes`, as coordinates.
    ///
    /// An f64 that does not fit an f32 becomes infinite or NaN, and `Vectors` then refuses it.
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
            Self::Bool => out.extend(bytes.iter().map(|&b| f32::from(u8::from(b != 0)))),
            Self::U8 => out.extend(bytes.iter().map(|&b| f32::from(b))),
            Self::I8 => out.extend(bytes.iter().map(|&b| f32::from(b.cast_signed()))),
            Self::U16 | Self::I16 | Self::U32 | Self::I32 | Self::U64 | Self::I64 => {
                let values = self.whole(bytes);
                rounding.row(values.into_iter().map(|x| x as f64), out);
            }
        }
    }

    /// The whole numbers in `bytes`; empty if the type has other numbers.
    pub(super) fn whole(self, bytes: &[u8]) -> Vec<i128> {
        fn wide<const N: usize, T: Into<i128>>(bytes: &[u8], read: fn([u8; N]) -> T) -> Vec<i128> {
            let values = bytes.as_chunks().0.iter();
            values.map(|b| read(*b).into()).collect()
        }
        match self {
            Self::U8 => wide(bytes, u8::from_le_bytes),
            Self::I8 => wide(bytes, i8::from_le_bytes),
            Self::U16 => wide(bytes, u16::from_le_bytes),
            Self::I16 => wide(bytes, i16::from_le_bytes),
            Self::U32 => wide(bytes, u32::from_le_bytes),
            Self::I32 => wide(bytes, i32::from_le_bytes),
            Self::U64 => wide(bytes, u64::from_le_bytes),
            Self::I64 => wide(bytes, i64::from_le_bytes),
            Self::F64 | Self::F32 | Self::F16 | Self::Bool => Vec::new(),
        }
    }
}
