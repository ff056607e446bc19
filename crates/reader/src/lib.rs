#![doc = include_str!("../README.md")]

mod cache;
mod client;
mod filter;
mod latch;
mod question;
mod ranking;
mod round;
mod session;
mod stages;
mod transport;
mod verdict;

// One file for each mode but local, which is `chunks` alone
mod masked;
mod open;
mod routed;
mod sealed;

mod choice;
mod chunks;
mod column;
mod download;
mod exact;
mod filter_matches;
mod history;
mod kind;
mod local_pages;
mod payload;
mod pir_session;
mod records;
mod remote_pages;
mod replica;
mod retrieval;
mod stand_in;
mod sums;
mod update;

pub use cache::Cache;
pub use client::{Client, ConnectOptions};
pub use filter::Filter;
pub use latch::graver;
pub use pir_session::KEYS_LEN;
pub use question::{Found, Hit, Question};
pub use replica::{Pulled, pull};
pub use session::{Dial, PinStore, Retry, SearchBatch, Session, SessionOptions};
pub use sordino_index::{Error, Kind, OwnerPublicKey, Pin};
pub use sordino_vault::ReaderKeys;
pub use sordino_vault::pad::Keystream;
pub use stages::Stages;
pub use transport::{AsyncTransport, Transport};
