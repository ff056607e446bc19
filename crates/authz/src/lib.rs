#![doc = include_str!("../README.md")]

// Requests and decisions
mod context;
mod decision;
mod error;
mod request;
mod value;

// The engine: its parts, its state and its caches
mod cache;
mod engine;
mod key;
mod recent;
mod state;

// The record of decisions
mod audit;

// Policies of similar meaning
mod similar;

// Schemas, entities and policies, as they are read
mod bounds;
mod constructors;
mod convert;
mod graph;
mod names;
mod places;
mod policies;
mod schema;
mod tokens;
mod world;

// Policies, as they are evaluated
mod compile;
mod eval;
mod expr;
mod index;
mod scope;

pub use audit::{AuditKey, AuditLog, Entry, Head};
pub use context::Context;
pub use decision::{Decision, Epochs, Failure, PolicyError, Refusal};
pub use engine::{Engine, Share};
pub use error::Error;
pub use request::{Authorizer, Request};
pub use schema::Schema;
pub use similar::{Match, Similar};
pub use value::{EntityUid, Extension, Record, Set, Uid, Value};
