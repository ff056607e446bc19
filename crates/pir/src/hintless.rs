#![doc = include_str!("../docs/hintless.md")]

mod client;
mod database;
mod deal;
mod expand;
mod keys;
mod message;
#[cfg(test)]
mod noise;
mod params;
mod place;
mod ring;
mod server;
mod session;
mod sessions;

pub use client::{Asked, Client, Record};
pub use database::Database;
pub use keys::{Digest, Evaluation, Keys};
pub use message::{Answer, Query};
pub use params::{Params, Set};
pub use server::Server;
pub use session::Session;
pub use sessions::Sessions;
