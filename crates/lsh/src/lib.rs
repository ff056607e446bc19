#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

// Codes, and the scan over them
mod codes;
mod simhash;

// Families for tables, and the tables
mod cross_polytope;
mod e2lsh;
mod family;
mod lookup;
mod probe;
mod tables;
mod vertices;

// Randomness, saved forms, and errors
mod error;
mod seed;
mod wire;

// The maps before a hash, and the kernels
mod dense;
mod kernels;
mod rotation;
mod scan;
mod transform;

pub use codes::{Codes, Nearest};
pub use cross_polytope::CrossPolytope;
pub use e2lsh::E2Lsh;
pub use error::Error;
pub use family::{Family, SimHashTables};
pub use lookup::Lookup;
pub use scan::Neighbour;
pub use seed::Seed;
pub use simhash::{Kind, Scratch, SimHash};
pub use sordino_cpu::Backend;
pub use tables::Tables;
pub use vertices::Vertices;
