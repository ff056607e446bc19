#![doc = include_str!("../README.md")]

mod cache;
mod client;
mod stages;
mod transport;

// One file for each mode
mod local;
mod masked;
mod open;
mod sealed;

mod chunks;
mod column;
mod download;
mod history;
mod kind;
mod payload;

pub use cache::Cache;
pub use client::{Client, Found};
pub use sordino_index::{Error, OwnerPublicKey, Pin, ReaderKeys};
pub use stages::Stages;
pub use transport::Transport;
