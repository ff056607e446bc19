#![doc = include_str!("../README.md")]

mod history;
mod server;

pub use server::{Prepared, Server};
pub use sordino_index::{Error, Index};
