//! Makes the checks of scores with a segment's key.

mod cluster;
pub mod exact;
pub mod held;
mod rows;
mod run;
mod sum;

pub use cluster::ClusterChecks;
pub use rows::Checks;
