#![doc = include_str!("../README.md")]

mod error;
mod json; // one member of JSON lines
mod key; // key files
mod parquet; // one column of Parquet
mod record; // records of CSV, with their bytes
mod stream; // lines, and the work on every value
mod table; // one column of CSV

pub use error::Error;
pub use json::{Members, transform_json_lines};
pub use key::{KEY_FILE_PREFIX, generate_key, parse_key, read_key};
pub use parquet::transform_parquet;
pub use stream::{OnError, Transform, transform_lines};
pub use table::{Column, Table, transform_csv};
