#![doc = include_str!("../README.md")]

mod backend;
mod codes;
mod cross_polytope;
mod dense;
mod e2lsh;
mod error;
mod family;
mod probe;
mod rotation;
mod scan;
mod seed;
mod simhash;
mod tables;
mod transform;
mod vertices;
mod wire;

pub use backend::Backend;
pub use codes::{Codes, Nearest, Neighbour};
pub use cross_polytope::CrossPolytope;
pub use e2lsh::E2Lsh;
pub use error::Error;
pub use family::{Family, SimHashTables};
pub use seed::Seed;
pub use simhash::{Kind, Scratch, SimHash};
pub use tables::{Lookup, Tables};
pub use vertices::Vertices;
