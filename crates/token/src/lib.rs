#![cfg_attr(feature = "sign", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "sign"),
    doc = "Capability tokens signed with ML-DSA: verified in batches."
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// A token's parts
mod action;
mod cbor;
mod claims;
mod key;
mod time;

// A token, from its blocks to what it grants
mod block;
mod chain;
mod grant;
mod token;
mod verifier;

mod error;
#[cfg(feature = "sign")]
mod signing_key;

pub use action::{Action, Actions};
pub use chain::{MAX_BLOCKS, MAX_LEN};
pub use claims::{Claims, MAX_AUDIENCE, MAX_INDEXES};
pub use error::Error;
pub use grant::Grant;
pub use key::{Algorithm, PublicKey};
#[cfg(feature = "sign")]
pub use signing_key::SigningKey;
pub use time::rfc3339;
pub use token::Token;
pub use verifier::Verifier;
