#![doc = include_str!("../README.md")]

mod history;
mod server;

pub use server::{Ask, Encodings, OpenOptions, PendingRequest, Server, StaticReply};
pub use sordino_index::shard::Shard;
pub use sordino_index::{Error, Index};
