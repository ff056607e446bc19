#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// Columns of values next to the vectors.
pub mod column;
/// Record ids, as their owner chooses them.
pub mod id;
/// Files of ids, one for each vector of another file.
pub mod ids;
/// The metrics, each as an inner product of unit vectors.
pub mod metric;
/// NumPy's files.
pub mod npy;
/// The numbers of a vector, as a text.
pub mod numbers;
/// Exact search, and recall against it.
pub mod recall;
/// The public rotation of all vectors.
pub mod rotation;
/// The two built-in sets.
pub mod synthetic;
/// TEXMEX's files.
pub mod texmex;

mod arithmetic;
mod bin;
mod content;
mod element;
mod error;
mod file;
mod format;
mod input;
mod matrix;
mod reader;
mod rounding;
mod rows;
#[cfg(feature = "arrow")]
mod table;
#[cfg(feature = "text")]
mod text;

/// Objects of JSON without two members of one name.
#[cfg(feature = "text")]
pub mod json;

pub use arithmetic::{dot, normalise, to_f32, u32_of};
pub use error::Error;
pub use format::{ColumnNames, FileOptions, Format};
pub use matrix::Vectors;
pub use metric::Metric;
pub use reader::{Chunk, Reader};
pub use rounding::Loss;

use file::{extension, read};

/// The largest number of coordinates of a vector.
pub const MAX_DIM: u32 = 8192;
