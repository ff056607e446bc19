#![doc = include_str!("../README.md")]

pub mod bench; // every mode measured on the same vectors
pub mod completions; // scripts for shells
pub mod fpe; // format-preserving encryption of lines and columns
pub mod index; // indexes on disk
pub mod keys; // key files
pub mod plan; // what each mode costs
pub mod query; // searches
pub mod serve; // the server

mod error;
mod mode;
mod output;
mod random;

pub use error::{Error, FAILURE, INTEGRITY, SERVER, SUCCESS};
pub use output::Output;

use random::random;
