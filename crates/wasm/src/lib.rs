#![doc = include_str!("../README.md")]

mod desk;
mod operation;
mod reader;
mod values;

pub use operation::Operation;
pub use reader::Reader;
