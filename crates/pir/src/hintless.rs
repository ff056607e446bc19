#![doc = include_str!("../docs/hintless.md")]
//!
//! # Example
//!
//! ```
//! use rand::SeedableRng;
//! use rand::rngs::{StdRng, SysRng};
//! use sordino_pir::Seed;
//! use sordino_pir::hintless::{Client, Database, Params, Server, Session, Sessions};
//!
//! let mut rng = StdRng::try_from_rng(&mut SysRng)?;
//! let records: Vec<String> = (0..100).map(|i| format!("record {i}")).collect();
//!
//! // The server: up to four records of ten bytes at once.
//! let (params, seed) = (Params::new(100, 10, 4)?, Seed::random(&mut rng));
//! let server = Server::from(Database::from_records(&params, &seed, &records)?);
//! let mut sessions = Sessions::new(1000);
//!
//! // The client, which knows `params` and `seed`, once a session: its keys go up.
//! let (session, keys) = Session::new(&mut rng);
//! sessions.insert(&keys);
//!
//! // For every request.
//! let client = Client::new(&params, &seed);
//! let (asked, query) = client.query(&mut rng, &session, &[7, 93])?;
//! let answer = server.answer(&*sessions.get(query.session())?, &query)?;
//! let found = client.recover(&session, asked, &answer)?;
//! assert_eq!(found[1].as_deref(), Some(&b"record 93\0"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod database;
pub mod deal;
mod digits;
mod expand;
mod fold;
mod keys;
mod message;
#[cfg(test)]
mod noise;
mod params;
mod place;
mod ring;
mod selectors;
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
