#![doc = include_str!("../README.md")]
#![expect(
    clippy::missing_panics_doc,
    reason = "a fixture that cannot be made fails the test that asks for it"
)]

mod hostile; // a server that keeps requests and changes replies
mod index; // indexes, stores, servers and clients

pub use hostile::{
    FETCH, FETCH_PAYLOADS, GET_HISTORY, GET_MANIFEST, GET_PARTS, Hostile, SCORE, kind,
};
pub use index::{
    ASKED, ROUTED, Set, WAYS, by, connect, copies, create, dealt, forms, index, sealed, serve,
};

use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_search::OwnerKeys;

/// A generator that gives the same numbers in every run.
#[must_use]
pub fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// The keys of the owner of all test indexes.
#[must_use]
pub fn keys() -> OwnerKeys {
    OwnerKeys::from_master([5; 32])
}

/// The keys of another owner.
#[must_use]
pub fn strange_keys() -> OwnerKeys {
    OwnerKeys::from_master([6; 32])
}
